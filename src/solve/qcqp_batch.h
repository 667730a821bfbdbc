/* The workspace of a batch of quadratic programs: sizes, one scratch per thread, checks. */
#ifndef TG_SOLVE_QCQP_BATCH_H
#define TG_SOLVE_QCQP_BATCH_H

#include "base/status.h"
#include "base/threads.h"
#include "solve/qcqp.h"

/* what a thread has of its own */
typedef struct tg_qcqp_lane
{
    tg_qcqp_work work;
    tg_qcqp_block *block;
    tg_error error; /* of the first problem that this thread refused */
    int refused;    /* its number; INT_MAX: none */
} tg_qcqp_lane;

struct tg_qcqp
{
    tg_qcqp_def def;
    tg_allocator allocator;
    int n, blocks, threads;
    tg_qcqp_block *block; /* without radii */
    tg_qcqp_lane *lane;
    tg_threads *pool;
    tg_arena arena;
    tg_error error;
};

/* what one problem of a call does; the lane's blocks have their radii */
typedef void tg_qcqp_job(void *call, tg_qcqp_lane *lane, const tg_qcqp_problem *p, int index);

/* Checks the data, then does the job for every problem. x: NULL, or points that must be finite. definite: whether G is
 * positive semidefinite is checked, unless the caller guarantees it. */
tg_status tg_qcqp_run(tg_qcqp *q, const char *name, const tg_qcqp_data *data, const double *x, bool definite,
                      tg_qcqp_job *job, void *call);

#endif
