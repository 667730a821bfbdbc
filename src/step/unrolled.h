/* The derivative of a fixed number of alternations of solver "staggered" in a step (solve/staggered.h).
 *
 * Every problem of an alternation is a step of its own: impulses L, velocities v_free + A^-1 J^T L, and cotangents z of
 * its rows. The gradient is the sum over all of them, behind that of v+ itself. */
#ifndef TG_STEP_UNROLLED_H
#define TG_STEP_UNROLLED_H

#include "step/step.h"

typedef struct tg_unrolled
{
    size_t mark;
    int alternations;
    double *x;           /* (alternations + 1) x rows: scaled impulses, those of the start first */
    double *xbar;        /* rows: their cotangents */
    double *mu, *bound;  /* of friction coefficients (5 per block) and bounds (one), so far */
    double *L[2], *z[2]; /* rows each, of one alternation: normals and friction (tg_unrolled_back) */
} tg_unrolled;

/* Whether the options ask for it. */
static inline bool tg_unrolls(const tg_work *w)
{
    return w->step->options.backward == TG_BACKWARD_UNROLLED;
}

/* Runs the alternations of the last step again; takes scratch until tg_unrolled_end. Lbar (rows): cotangents of the
 * step's impulses. */
tg_status tg_unrolled_begin(const tg_model *m, tg_work *w, const double *Lbar, tg_unrolled *u);

/* L and z of alternation k; from the last, alternations - 1, down to 0. */
tg_status tg_unrolled_back(tg_work *w, int k, tg_unrolled *u);

/* After all of them: the impulses at the start do not turn with the contacts. touch: gradients of the contacts' frames,
 * added to; mu and bound are complete. */
void tg_unrolled_start(tg_work *w, tg_unrolled *u, double *touch);

void tg_unrolled_end(tg_work *w, const tg_unrolled *u);

#endif
