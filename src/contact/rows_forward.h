/* Forward mode of the rows: how they and their forces change with q and v, as matrices. The same derivatives as those
 * of rows_vjp.h, which the tests compare with. */
#ifndef TG_CONTACT_ROWS_FORWARD_H
#define TG_CONTACT_ROWS_FORWARD_H

#include "contact/rows.h"
#include "dynamics/rnea_deriv.h"

/* A velocity field of the bodies. A dof k with parent l turns every twist T behind it along: by J_k x T + T_l x J_k. */
typedef struct tg_twists
{
    const double *x;     /* nv: its generalised velocity; NULL: there is no such field */
    const double *node;  /* twist of every node */
    const double *along; /* T_l x J_k of every dof */
} tg_twists;

/* along (a twist a dof) from the twists of the nodes. After the position stage. */
void tg_twists_along(const tg_model *m, const tg_work *w, const double *node, double *along);

typedef struct tg_rows_forward
{
    tg_twists next, start;        /* of v+ and v */
    tg_twists spread;             /* of p, where redundant rows slide (implicit.h) */
    tg_node_stiffness *stiffness; /* one a node, added to: the change of forces on it by its own displacement, beside
                                     turning with it */
    double *force_q,
        *force_v; /* nv x nv, added to: d (J^T L / dt) / d q at frozen L, by other bodies' displacements; d v */
    double *sigma_q, *sigma_v;   /* nv x ld, transposed, added to: d (J v+ + b) / d q at frozen v+; d b / d v */
    double *spread_q, *spread_v; /* nv x ld, transposed, added to: d (J p) / d q, d v at frozen p */
    double *friction;            /* nblock x 2 nv: d mu / d q, d v of contacts whose friction follows their slip */
    bool *slipping;              /* nblock: whether it does */
    int ld;                      /* at least rows + 4 */
    bool open;                   /* those that break count, too: the law is smoothed */
    bool bare;                   /* J v+ alone, without the bias */
    const tg_contact_settings *settings;
} tg_rows_forward;

/* Fills the matrices for every constraint that acts, and takes the constraints' forces out of w->F, the sums over
 * subtrees, so that the derivatives of inverse dynamics contain what turns with its body. */
void tg_rows_derivatives(const tg_model *m, tg_work *w, const double *q, const tg_rows_forward *d);

/* The same for equalities in islands with redundant ones alone; d is bare. */
void tg_loops_derivatives(const tg_model *m, tg_work *w, const double *q, const tg_rows_forward *d);

/* the same for one contact that acts (touch_forward.c) */
void tg_touch_derivatives(const tg_model *m, tg_work *w, const tg_rows_forward *d, const tg_rows_island *island,
                          int block);

/* ---- forces that follow displacements ---- */

/* out (nv x nv) += J_a^T K X_b: J_a the twists of the dofs that move node a, X_b those of x (a twist a dof) that move
 * node b. */
void tg_add_stiffness(const tg_model *m, const tg_work *w, int a, int b, const tg_stiffness *K, const double *x,
                      double *out);

/* A force and a torque at a point of a body that do not turn with it: beside what does, -turn x (force, torque). */
tg_stiffness tg_fixed_force(v4 force, v4 torque, v4 point);

/* Takes a wrench on a node out of w->F. */
void tg_take_wrench(const tg_model *m, tg_work *w, int node, spatial W);

#endif
