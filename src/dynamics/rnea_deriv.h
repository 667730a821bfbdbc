/* The matrices of the derivatives of inverse dynamics, for the functions that build on them. */
#ifndef TG_DYNAMICS_RNEA_DERIV_H
#define TG_DYNAMICS_RNEA_DERIV_H

#include "dynamics/work.h"

/* A 6 x 6 matrix by columns: the wrench for each unit of a twist (linear, then angular), both about the origin of the
 * tree. */
typedef struct tg_stiffness
{
    spatial column[6];
} tg_stiffness;

spatial tg_stiffness_mul(const tg_stiffness *K, spatial x);

/* That of a node; none at all on most. */
typedef struct tg_node_stiffness
{
    tg_stiffness K; /* not there unless any */
    bool any;
} tg_node_stiffness;

void tg_stiffness_add(tg_node_stiffness *sum, const tg_stiffness *K);

/* After tg_newton_euler (V, A, F summed over subtrees) and tg_composites: sign (1 or -1) times the derivatives is added
 * to dtau_dq and dtau_dv, nv x nv each, or written. stiffness (one a node, or NULL; becomes its sum over subtrees):
 * forces on the bodies that were taken out of F change by K Z when the node is displaced by Z, beside turning with it.
 */
void tg_add_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, tg_node_stiffness *stiffness,
                                     double *dtau_dq, double *dtau_dv);
/* The same for forces on bodies alone, at rest and without inertia: out (nv x nv) += d (J^T W) / d q, W summed over
 * subtrees taken out of a cleared w->F. */
void tg_add_force_derivatives(const tg_model *m, const tg_work *w, tg_node_stiffness *stiffness, double *out);
void tg_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, double *dtau_dq, double *dtau_dv);

#endif
