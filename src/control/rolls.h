/* Rollouts of many plans from one state, over the threads of a batch, and what they cost. */
#ifndef TG_CONTROL_ROLLS_H
#define TG_CONTROL_ROLLS_H

#include "base/arena.h"
#include "batch/batch.h"
#include "control/plan_cost.h"

/* Controls that answer to the state: u + K (x (-) reference). */
typedef struct tg_feedback
{
    const double *K;           /* [rows, nu, n]; NULL: none */
    const double *q, *v, *act; /* [rows + 1, ...] */
} tg_feedback;

typedef struct tg_rolls
{
    const tg_model *m;
    tg_batch *batch;
    const tg_plan_cost *cost;
    const double *lower, *upper; /* nu */
    double speed;                /* a rollout that is faster has blown up */
    int rows, hold, most;        /* most: samples for which there is room */
    bool keep;                   /* caches at the start of each row are kept */

    /* where all of them start */
    double *q0, *v0, *act0;
    tg_cache start;

    /* [most, rows + 1, ...]; controls in the last row are zero. Behind a failure the last state is repeated. */
    double *given;           /* controls before feedback and bounds */
    double *u, *q, *v, *act; /* controls that were applied, states */
    double *value;           /* of each row */
    double *extra;           /* what a callback adds */
    int *row;                /* 0 .. rows, again and again */
    double *total;           /* [most]; infinite where it blew up */
    tg_cache_entry *entry;   /* [most, rows, room] */
    int *entries, room;      /* [most, rows] */

    double *scratch; /* [threads, each] */
    size_t each;
    const tg_feedback *feedback; /* of the call that is under way */
    int rollouts, blown;         /* since they were set to 0 */
} tg_rolls;

/* Takes the arrays from an arena, which may be counting. m, batch, rows, hold, most and keep are set. */
void tg_rolls_place(tg_rolls *r, tg_arena *arena);
void tg_rolls_fill(tg_rolls *r);

/* All rollouts start here from now on. */
tg_status tg_rolls_start(tg_rolls *r, const tg_state *now, tg_error *error);

/* Rolls samples 0 .. count - 1 out with their controls r->given, to which the feedback (NULL: none) is added, clipped
 * to the bounds. Writes the controls that were applied, states, values and totals. */
tg_status tg_rolls_run(tg_rolls *r, int count, const tg_feedback *feedback, tg_error *error);

/* Controls, states and caches of one sample to another. */
void tg_rolls_copy(tg_rolls *r, int from, int to);

/* The cheapest of samples 0 .. count - 1; the first of equal ones. */
int tg_rolls_cheapest(const tg_rolls *r, int count);

/* Scratch of a thread. */
static inline double *tg_rolls_scratch(const tg_rolls *r, const tg_lane *lane)
{
    return r->scratch + (size_t)(lane - r->batch->lane) * r->each;
}

/* row `row` of sample `sample` of an array [most, rows + 1, n] */
static inline double *tg_rolls_at(const tg_rolls *r, double *rows, int sample, int row, int n)
{
    return rows + ((size_t)sample * (size_t)(r->rows + 1) + (size_t)row) * (size_t)n;
}

#endif
