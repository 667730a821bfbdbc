/* Inside of a batch: what each thread has (a lane), what is kept of each environment, and how a call is shared out. */
#ifndef TG_BATCH_BATCH_H
#define TG_BATCH_BATCH_H

#include "base/threads.h"
#include "step/step.h"
#include "step/tape.h"
#include "tangere/batch.h"

/* k parameters by position. Two lists with the same id are the same list. */
typedef struct tg_names
{
    int *index;
    int k;
    uint64_t id;
} tg_names;

/* Where an environment's parameters come from: those that all share, with its row of `values` in place of the named
 * ones. */
typedef struct tg_param_source
{
    const tg_params *shared;
    const tg_names *names;
    const double *values; /* [count, k]; NULL: the shared ones */
} tg_param_source;

/* What one thread has to itself. */
typedef struct tg_lane
{
    _Alignas(TG_ALIGN) tg_work *work; /* lanes share no cache line */
    tg_error error;                   /* of what has no workspace; status TG_OK: the message is the workspace's */
    int needed;                       /* contacts for which a workspace had no room in this call */
    tg_state state;   /* a step's result on its way out; its cache has room for all that a step can leave */
    tg_cache cache;   /* behind it */
    double *gradient; /* nparams; zero between calls */

    /* parameters that differ from the shared ones */
    tg_params *params; /* NULL: not needed so far */
    double *values;    /* the k that are in it; NULL: nothing valid is */
    const tg_params *base;
    uint64_t generation, names; /* of base; id of the names */

    tg_tape *no_tape; /* of rollouts forward only */
    tg_tape *tape;    /* of a rollout whose derivatives are taken at once */
    int tape_steps;
    void *scratch; /* for the directions of forward mode */
    size_t scratch_bytes;
} tg_lane;

/* Input of the last step, environment by environment. */
typedef struct tg_kept
{
    double *q, *v, *act, *u, *tau, *wrench, *params; /* params: [n, k] */
    bool has_wrench, has_params;
    bool *there; /* whether the environment's step was taken */
    const tg_params *shared;
    uint64_t generation, names;
} tg_kept;

struct tg_batch
{
    const tg_model *m;
    tg_allocator allocator;
    int n, threads, room, max_contacts;
    tg_options options;
    tg_threads *pool;
    tg_lane *lane; /* one per thread */
    const tg_params *params;
    tg_names names;

    /* one per environment of a call; room for `errors` */
    tg_error *error;
    int *again; /* those to be done once more */
    int errors;
    int called; /* environments of the last call */
    tg_error message;

    tg_cache *cache, *before; /* n: after and before the last step */
    tg_kept kept;
    double *rows; /* [errors, k]: gradients on their way into a sum */
    size_t nrows;
};

/* ---- memory (batch.c) ---- */

/* Copies entries; the room of `to` grows where it must. */
tg_status tg_copy_cache(const tg_batch *b, tg_cache *to, const tg_cache *from, tg_error *error);

/* At least so many bytes of scratch in every lane. */
tg_status tg_batch_scratch(tg_batch *b, size_t bytes);

/* ---- parameters (parameters.c) ---- */

/* The workspace of the lane uses the parameters of an environment. */
tg_status tg_lane_params(tg_lane *lane, const tg_param_source *source, int environment);
tg_status tg_names_copy(const tg_allocator *allocator, tg_names *to, const tg_names *from);

/* Room for values of so many parameters in every lane. */
tg_status tg_batch_ready_params(tg_batch *b, const tg_names *names);

/* Picks the named numbers of a gradient, and clears it. */
void tg_pick_named(const tg_names *names, double *gradient, int nparams, double *to);

/* gradient += the k numbers; and takes them away again. */
void tg_spread_named(const tg_names *names, const double *from, double *gradient);
void tg_clear_named(const tg_names *names, double *gradient);

/* The sum of the rows [count, k] of environments that did not fail, pairwise in a tree over their numbers. */
tg_status tg_batch_sum(tg_batch *b, int count, int k, const double *rows, double *sum);

/* Where the gradients of environments go: `to`, or memory of the batch if that is NULL and a sum is wanted. */
tg_status tg_batch_rows(tg_batch *b, int count, int k, double *to, const double *sum, double **rows);

/* ---- sharing out (run.c) ---- */

/* One environment. A failure's message is in lane->error, or in the workspace. */
typedef tg_status tg_batch_task(void *context, tg_lane *lane, int environment);

/* Does environments 0 .. count - 1. Those that found more contacts than the workspaces have room for are done once more
 * with larger ones. */
tg_status tg_batch_run(tg_batch *b, int count, tg_batch_task *task, void *context);

/* Checks what steps and rollouts share. rows: of controls, for each environment. */
tg_status tg_batch_check_input(tg_batch *b, const tg_batch_input *in, int rows, const char *name);

/* row i of [.., n] */
static inline double *tg_row(double *rows, int i, size_t n)
{
    return rows == NULL ? NULL : rows + (size_t)i * n;
}

static inline const double *tg_const_row(const double *rows, int i, size_t n)
{
    return rows == NULL ? NULL : rows + (size_t)i * n;
}

static inline void tg_copy_row(double *to, const double *from, int n)
{
    if (to != NULL && from != NULL && n > 0)
        memcpy(to, from, sizeof(double) * (size_t)n);
}

#endif
