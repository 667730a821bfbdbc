/* The backward pass of iLQR: from the expansion of dynamics and cost to du = length k + K dx. */
#ifndef TG_CONTROL_GAINS_H
#define TG_CONTROL_GAINS_H

#include "control/box_qp.h"
#include "control/expand.h"

typedef struct tg_gains
{
    int rows, n, nu;
    double *k, *K;    /* [rows, nu], [rows, nu, n] */
    double *Quu;      /* [rows, nu, nu], regularised */
    double slope;     /* the cost changes by length slope + length^2 curvature, */
    double curvature; /* where the expansion holds */

    /* of the pass under way */
    double *V, *Vx;             /* [n, n], [n] cost to go */
    double *VA, *VB, *Qxx, *Qx; /* [n, n], [n, nu], [n, n], [n] */
    double *Qux, *Qu, *plain;   /* [nu, n], [nu], Quu [nu, nu] */
    double *T, *Kf;             /* [nu, n] each */
    double *lower, *upper;      /* [nu] of k */
    tg_box_qp box;
} tg_gains;

void tg_gains_place(tg_gains *g, const tg_model *m, int rows, tg_arena *arena);

/* regularisation: Quu + regularisation diag |Quu|. u [rows, nu]: the controls of the expansion, between lower and upper
 * (NULL: no bounds). False: a Quu is not positive definite. */
bool tg_backward_pass(tg_gains *g, const tg_expansion *e, double regularisation, const double *u, const double *lower,
                      const double *upper);

#endif
