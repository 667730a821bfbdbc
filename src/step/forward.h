/* The matrices of a step's derivatives, all columns at once.
 *
 * v+ = v + A^-1 (dt f + J^T L), and L obeys the laws on sigma = J v+ + b. At the solution dL = D w
 * (contact/implicit.h), w the change of sigma at frozen L. With dt R the derivatives of dt f - A (v+ - v) + J^T L at
 * frozen v+ and L, S those of J v+ + b,
 *
 *     dv+ = A^-1 (dt R + J^T dL),   dL = D (J A^-1 dt R + S),   D = -C^T E^-1 B
 *         = K dt R + T B S,         T = -A^-1 J^T C^T E^-1,     K = A^-1 + T B J A^-1.
 *
 * In the columns of v, A (v+ - v) adds K A = 1 + T B J. docs/gradients.md has the derivation. */
#ifndef TG_STEP_FORWARD_H
#define TG_STEP_FORWARD_H

#include "contact/rows.h"
#include "dynamics/change.h"
#include "dynamics/rnea_deriv.h"
#include "tangere/step.h"

enum
{
    TG_WITHIN_DIRECTIONS = 16 /* of a step with impacts within, taken at once (within.c) */
};

/* X(name, count): arrays of one call. n: dofs, rows: rows of the problem, both padded; inputs: controls and activations
 */
#define TG_FORWARD_ARRAYS(X)                                                                                           \
    X(node_next, SPATIAL_SIZE *nodes)                                                                                  \
    X(node_spread, SPATIAL_SIZE *nodes)                                                                                \
    X(along_next, SPATIAL_SIZE *n)                                                                                     \
    X(along_start, SPATIAL_SIZE *n)                                                                                    \
    X(along_spread, SPATIAL_SIZE *n)                                                                                   \
    X(force_q, n *n)                                                                                                   \
    X(force_v, n *n)                                                                                                   \
    X(force_u, n *inputs)                                                                                              \
    X(force_act, n *inputs)                                                                                            \
    X(sigma_q, n *rows)                                                                                                \
    X(sigma_v, n *rows)                                                                                                \
    X(spread_q, n *rows)                                                                                               \
    X(spread_v, n *rows)                                                                                               \
    X(friction, 2 * n * rows)                                                                                          \
    X(R_q, n *n)                                                                                                       \
    X(R_v, n *n)                                                                                                       \
    X(R_u, n *inputs)                                                                                                  \
    X(K, n *n)                                                                                                         \
    X(next_q, n *n)                                                                                                    \
    X(next_v, n *n)                                                                                                    \
    X(next_u, n *inputs)                                                                                               \
    X(J, n *rows)                                                                                                      \
    X(S_q, n *rows)                                                                                                    \
    X(S_v, n *rows)                                                                                                    \
    X(BJ, n *rows)                                                                                                     \
    X(BS, n *rows)                                                                                                     \
    X(BJA, n *rows)                                                                                                    \
    X(T, n *rows)                                                                                                      \
    X(kept_K, n *n)                                                                                                    \
    X(kept_Z, n *rows)                                                                                                 \
    X(placing_K, n *n)                                                                                                 \
    X(placing_Z, n *rows)                                                                                              \
    X(loop_impulse, 2 * rows)                                                                                          \
    X(loop_velocity, 2 * n)                                                                                            \
    X(loop_twist, 2 * SPATIAL_SIZE * nodes)                                                                            \
    X(loop_force, 2 * SPATIAL_SIZE * nodes)                                                                            \
    X(free_change, TG_WITHIN_DIRECTIONS *rows)                                                                         \
    X(turned, n *rows)                                                                                                 \
    X(work, 2 * n * rows)

/* Lives in the workspace. kept_K and kept_Z, and those of the second problem of steps with impacts within (placing_K,
 * placing_Z), stay from one call to the next; others do not. */
typedef struct tg_forward
{
    const tg_model *m;
    tg_work *w;
    struct tg_step_work *s;
    double dt;
    int ldr;           /* of matrices with one row per dof, one column per row of the problem */
    bool by_u, by_act; /* force_u, force_act are wanted */
    bool starts;       /* rows depend on the velocities at the start: sigma_v is valid */
    bool more;         /* S_v is not J alone */
    bool spreads;      /* impulses of redundant rows turn with J */
    bool answers;      /* T is that of all rows and dofs: the step has one island, and no other group */
    bool ready;        /* force_q .. spread_v are those of the step; by_u, by_act: force_u, force_act too */
#define X(name, count) double *name;
    TG_FORWARD_ARRAYS(X)
#undef X
    tg_node_stiffness *stiffness; /* of every node */
    bool *slipping;               /* as in tg_rows_forward */
    const double *free;           /* rows: the change of J v_free along the direction; NULL: no law depends on it */
    int *dof;
} tg_forward;

/* Lays the arrays out in the workspace's block (or counts them); none for models with too many dofs. */
void tg_forward_place(tg_forward *f, const tg_model *m, const tg_capacity *capacity, tg_arena *arena);

/* Whether forward mode of the last step is available, and its matrices can be had at once (not where impacts happened
 * within it): its dofs and rows are not too many. */
bool tg_forward_fits(const tg_model *m, const tg_work *w);
bool tg_matrices_fit(const tg_model *m, const tg_work *w);

/* R: force_q, force_v, force_u, force_act. S of all rows, transposed: sigma_q, sigma_v; spread_q, spread_v.
 * (forward_forces.c) */
void tg_forward_forces(tg_forward *f);

/* Writes d(q+, v+) / d(q, v, act, u, tau) of j where they are wanted. After tg_step_prepare. (forward.c) */
void tg_forward_matrices(const tg_model *m, tg_work *w, const tg_jacobian *j);

/* What products start from, once for all directions: by_u, by_act: some of them have changes of these. After
 * tg_step_prepare. (forward.c) */
void tg_forward_begin(const tg_model *m, tg_work *w, bool by_u, bool by_act);

/* dv (nv) = the change of v+ along a change of everything that went in; NULL: zero; range: of its parameters
 * (tg_range_of). After tg_forward_begin. (forward.c) */
tg_status tg_forward_product(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range, double *dv);

/* The same along parameters alone, with the matrix of tau (nv x nv), which saves solutions with the mass matrix; after
 * tg_forward_matrices. (forward.c) */
tg_status tg_forward_parameter(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range,
                               const double *by_tau, double *dv);

/* out (rows) = the change of J v_free, of contacts that meet within the step; rows->problem is TG_PROBLEM_FREE.
 * (forward.c) */
void tg_forward_free(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range, double *out);

/* The part of parameters, wrenches and dt in it: s->change.force, by_dt (nv): of dt f - A (v+ - v) by dt, at a frozen
 * f; sigma, turn (rows, turn may be NULL); s->block_gradient: of friction coefficients and bounds. (forward_change.c)
 */
void tg_forward_change(tg_forward *f, const tg_cotangent *in, tg_param_range range, double *by_dt, double *sigma,
                       double *turn);

/* How loops with redundant rows turn: added to force_q and sigma_q; along parameters, after tg_change_end, to
 * s->change.force and sigma. The former clears w->F. (loops.c) */
void tg_loops_forces(tg_forward *f);
void tg_loops_change(tg_forward *f, double *sigma);

/* act+ (na) along a change of act, u, parameters and dt. (forward_change.c) */
void tg_forward_activations(const tg_model *m, tg_work *w, const tg_cotangent *in, double *dact);

/* Where rounding would let the modes part, both use the same matrices: K, and Z = B^T T^T of all rows of an island,
 * kept (docs/gradients.md, Conditioning). With tendons all islands are one. After the islands were factored; where
 * tg_forward_fits. (forward.c) */
void tg_forward_keep(const tg_model *m, tg_work *w, int island);
/* z = Z vbar in the rows of an island, y = K^T vbar in its dofs; rows and dofs of the model */
void tg_forward_kept_transpose(tg_work *w, int island, const double *vbar, double *z, double *y);

/* dq+ = D_q dq + D_w (dt dv+) of q+ = q (+) dt v+. dv, dq: nv x columns, may be the same; of_q: the columns are those
 * of q. (integrator.c) */
void tg_integrator_forward(const tg_model *m, const tg_work *w, int columns, bool of_q, const double *dv, double *dq);

/* The same for one direction: dq and ddt (NULL: zero) of what went in, dv of v+; dq and dq_next may be the same.
 * (integrator.c) */
void tg_integrator_change(const tg_model *m, const tg_work *w, const double *dq, const double *ddt, const double *dv,
                          double *dq_next);

static inline void tg_clear(double *x, int rows, int columns)
{
    memset(x, 0, sizeof(double) * (size_t)rows * (size_t)columns);
}

#endif
