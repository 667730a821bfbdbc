/* Dynamics and cost around one rollout, to first and second order: what iLQR and iLQG need of it. */
#ifndef TG_CONTROL_EXPAND_H
#define TG_CONTROL_EXPAND_H

#include "control/rolls.h"

/* Of z = (q, v, act, u), nz = n + nu numbers, the first n are x. */
typedef struct tg_expansion
{
    int rows, n, nu, nz;
    double *A, *B;              /* [rows, n, n], [rows, n, nu]: dx+ = A dx + B du */
    double *gradient, *hessian; /* [rows + 1, nz], [rows + 1, nz, nz] of the cost */

    /* where a callback is asked: of each row the state, and every number of z moved by +h and -h */
    int each; /* points per row; 0: there is no callback */
    double *q, *v, *act, *u, *value, *gq, *gv, *gact, *gu, *h;
    int *row;
    tg_rolls *rolls; /* of the call under way */
    int sample;
} tg_expansion;

void tg_expansion_place(tg_expansion *e, const tg_model *m, int rows, bool callback, tg_arena *arena);

/* Around the rollout of a sample, row by row over the threads. */
tg_status tg_expand(tg_expansion *e, tg_rolls *rolls, int sample, tg_error *error);

#endif
