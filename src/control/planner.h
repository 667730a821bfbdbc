/* Inside of a planner: one file per method, one call each. */
#ifndef TG_CONTROL_PLANNER_H
#define TG_CONTROL_PLANNER_H

#include "control/counter.h"
#include "control/gains.h"

struct tg_planner
{
    const tg_model *m;
    tg_allocator allocator;
    tg_planner_def def; /* cost is the one in use */
    bool callback;      /* there was one when it was created */
    tg_batch *batch;
    tg_rolls rolls;
    uint32_t plans;                /* so far */
    double *lower, *upper, *noise; /* nu */

    /* sampling */
    double *mean, *spread; /* [rows, nu] */
    double *weight;        /* [samples] */
    int *order;            /* [samples] */
    double *number;        /* [rows, nu]: random ones of a sample */

    /* iLQR, iLQG: the last sample of the rollouts, for which there is room, is the nominal one */
    int nominal;
    double damping; /* iLQR: regularisation with which the next plan starts */
    tg_expansion expansion;
    tg_gains gains;
    double *gradient, *hessian; /* iLQG: of the cost with the old policy in it, as those of the expansion */
    double *K_old, *P_old;      /* iLQG: [rows, nu, n], [rows, nu, nu] gains and inverse covariances of the policy */
    double *state_mean, *state_cov, *closed, *square, *wide; /* iLQG: [n], [n, n], [n, n], [n, n], [nu, n] */
    double *factor, *deviation;                              /* iLQG: [nu, nu], [nu] */

    /* the last plan */
    double *u, *q, *v, *act; /* [rows + 1, ...] */
    double *K;               /* [rows, nu, n] */
    bool policy;             /* K is valid */
};

/* From the plan p->rolls.given of sample 0 to the result, which is left in sample *found of the rollouts. */
tg_status tg_plan_shooting(tg_planner *p, int *found, tg_plan_result *result, tg_error *error); /* shooting.c */
tg_status tg_plan_ilqr(tg_planner *p, int *found, tg_plan_result *result, tg_error *error);     /* ilqr.c */
tg_status tg_plan_ilqg(tg_planner *p, int *found, tg_plan_result *result, tg_error *error);     /* ilqg.c */

void tg_ilqg_place(tg_planner *p, tg_arena *arena);

/* The nominal rollout: the plan as it was handed in, or with the feedback that the last plan left behind, whichever is
 * cheaper (ilqr.c). */
tg_status tg_plan_nominal(tg_planner *p, tg_plan_result *result, tg_error *error);

/* p->number [rows, nu] = standard normal noise of a sample, correlated from row to row (shooting.c). */
void tg_plan_noise(tg_planner *p, int iteration, int sample);

#endif
