/* Points in 2 or 3 dimensions, with masses, constraints, springs and contacts, whose parameters can be learned from
 * trajectories.
 *
 * A body is one point (a ball), or its centre of mass x_0 and a point x_k = x_0 + e_k at distance 1 along each of its
 * axes:
 *     kinetic energy  m/2 |v_0|^2 + m/2 sum_k lambda_k |v_k - v_0|^2,
 * lambda_k the second moment per mass along axis k (a disk of radius R: R^2 / 4 twice). Constraints keep the distances
 * of the points.
 *
 * A step integrates the motion between contacts over dt (3/8-rule, classical Runge-Kutta or Euler; x and v, or x and
 * p), finds the contacts whose distance at the new position is below -1e-12, and changes the velocity instantaneously:
 * v+ = v + M^-1 J^T f with the impulse f of the convex law (compression, then restitution with Poisson's e), see
 * docs/cartesian.md. Positions are never corrected; restitution aims at leaving with depth / (8 dt).
 *
 * Parameters are one vector: masses [bodies], lambda [bodies, dim], mu [kinds], e [kinds], eps [1]; a contact names its
 * kind. Everything is differentiable with respect to x, v and parameters. Arrays hold `count` samples, sample by
 * sample, row-major; x and v are [points, dim]. A sample that fails names itself; its outputs stay as they were, the
 * others are computed. */
#ifndef TANGERE_CARTESIAN_H
#define TANGERE_CARTESIAN_H

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_cartesian tg_cartesian;           /* the system; const, shared by threads */
typedef struct tg_cartesian_work tg_cartesian_work; /* threads and their scratch; one call at a time */

typedef struct tg_cartesian_body
{
    int points; /* 1, or dim + 1 */
    double mass;
    double lambda[3]; /* of dim axes; > 0 where points > 1 */
} tg_cartesian_body;

typedef enum tg_cartesian_constraint_kind
{
    TG_CARTESIAN_DISTANCE, /* |x_i - x_j|^2 = length^2 */
    TG_CARTESIAN_TETHER,   /* |x_i - anchor|^2 = length^2 */
    TG_CARTESIAN_PIVOT,    /* the point with coordinates c in the axes of body i stays at the anchor: dim rows */
    TG_CARTESIAN_CONSTRAINT_KINDS
} tg_cartesian_constraint_kind;

typedef struct tg_cartesian_constraint
{
    tg_cartesian_constraint_kind kind;
    int i, j; /* points; pivot: i is a body */
    double length, c[3], anchor[3];
} tg_cartesian_constraint;

/* energy stiffness / 2 (|x_i - x_j| - rest)^2; j < 0: to the anchor */
typedef struct tg_cartesian_spring
{
    int i, j;
    double stiffness, rest, anchor[3];
} tg_cartesian_spring;

typedef enum tg_cartesian_contact_kind
{
    TG_CARTESIAN_PAIR, /* balls or disks of bodies i and j: |x_i - x_j| - radius - other */
    TG_CARTESIAN_WALL, /* a ball or disk and the wall normal . x + offset = 0: normal . x_i + offset - radius */
    /* the deepest of `mesh` points of a circle about axis 3 of body i, and a wall; angles 6.28 k / mesh */
    TG_CARTESIAN_RIM,
    /* the angle from link (i, j) to link (j, k) is in [-high, high]; i < 0: the anchor. dim 2, one row */
    TG_CARTESIAN_BEND,
    TG_CARTESIAN_STRETCH, /* |x_j - x_i| is in [low, high]; i < 0: the anchor. One row */
    TG_CARTESIAN_CONTACT_KINDS
} tg_cartesian_contact_kind;

typedef struct tg_cartesian_contact
{
    tg_cartesian_contact_kind kind;
    int i, j, k;
    int type; /* which mu and e */
    int mesh;
    double radius, other; /* rim: radius, and the offset of its plane along axis 3 */
    double normal[3], offset;
    double low, high;
    double anchor[3];
} tg_cartesian_contact;

typedef struct tg_cartesian_def
{
    const char *name; /* of the task, for messages; copied */
    int dim, bodies, constraints, springs, contacts, types;
    const tg_cartesian_body *body;
    const tg_cartesian_constraint *constraint;
    const tg_cartesian_spring *spring;
    const tg_cartesian_contact *contact;
    const double *mu, *e; /* [types] */
    double eps;           /* regularisation of the contact problems (CMr); 0: none */
    double gravity[3];
} tg_cartesian_def;

TG_API tg_status tg_cartesian_create(const tg_cartesian_def *def, const tg_allocator *allocator, tg_cartesian **out,
                                     tg_error *error);
TG_API void tg_cartesian_destroy(tg_cartesian *c); /* NULL is allowed */

typedef struct tg_cartesian_sizes
{
    int dim, points, bodies, types;
    int constraints; /* rows */
    int contacts;    /* that could be active */
    int params;      /* bodies (1 + dim) + 2 types + 1 */
} tg_cartesian_sizes;

TG_API tg_cartesian_sizes tg_cartesian_size(const tg_cartesian *c);
/* the current parameters of the system */
TG_API const double *tg_cartesian_params(const tg_cartesian *c);

typedef enum tg_cartesian_integrator
{
    TG_CARTESIAN_RK38,
    TG_CARTESIAN_RK4,
    TG_CARTESIAN_EULER
} tg_cartesian_integrator;

typedef enum tg_cartesian_law
{
    TG_CARTESIAN_CCP, /* convex, two phases, Poisson's restitution */
    TG_CARTESIAN_LCP  /* Coulomb with 2 (dim - 1) directions, Newton's restitution: data only, no derivatives */
} tg_cartesian_law;

typedef struct tg_cartesian_options
{
    double dt;
    tg_cartesian_integrator integrator;
    tg_cartesian_law law;
    int hamiltonian; /* integrate x and p = M v */
    int toi;     /* derivatives with the time of impact (docs/cartesian.md): not those of the step, but of the motion */
    int threads; /* 0: as many as the machine has processors */
    int rows;    /* room for contact rows per sample; 0: all, at most 256 */
    uint32_t cookie;
} tg_cartesian_options;

TG_API tg_cartesian_options tg_cartesian_default_options(void); /* dt 0.01, 3/8-rule, Lagrangian */

/* The system must outlive it. Nothing is allocated later. */
TG_API tg_status tg_cartesian_work_create(const tg_cartesian *c, const tg_cartesian_options *options,
                                          tg_cartesian_work **out, tg_error *error);
TG_API void tg_cartesian_work_destroy(tg_cartesian_work *w); /* NULL is allowed */
TG_API const char *tg_cartesian_message(const tg_cartesian_work *w);

/* ---- motion ----
 * params: one vector for all samples; NULL: the system's. states: [count, steps + 1, 2, points, dim], x and v. */

/* Nullable: contacts (how many were active when a state was reached), residual (of the law, m/s): [count, steps + 1] */
TG_API tg_status tg_cartesian_rollout(tg_cartesian_work *w, int count, int steps, const double *params, const double *x,
                                      const double *v, double *states, int *contacts, double *residual);

/* Gradients from those with respect to all states: x_bar, v_bar [count, points, dim], params_bar [count, params]. */
TG_API tg_status tg_cartesian_rollout_vjp(tg_cartesian_work *w, int count, int steps, const double *params,
                                          const double *states, const double *states_bar, double *x_bar, double *v_bar,
                                          double *params_bar);

/* dstates along dx, dv and dparams [count, params] */
TG_API tg_status tg_cartesian_rollout_jvp(tg_cartesian_work *w, int count, int steps, const double *params,
                                          const double *states, const double *dx, const double *dv,
                                          const double *dparams, double *dstates);

/* ---- its parts, for forces computed elsewhere ---- */

/* a of M a = force - Phi_x^T l, d^2 Phi / dt^2 = 0. force NULL: gravity and springs */
TG_API tg_status tg_cartesian_acceleration(tg_cartesian_work *w, int count, const double *params, const double *x,
                                           const double *v, const double *force, double *a);
/* Nullable: force_bar, with force */
TG_API tg_status tg_cartesian_acceleration_vjp(tg_cartesian_work *w, int count, const double *params, const double *x,
                                               const double *v, const double *force, const double *a_bar, double *x_bar,
                                               double *v_bar, double *force_bar, double *params_bar);

/* The same in x and p = M v: xdot and pdot of the projected Hamiltonian flow (docs/cartesian.md). force NULL: gravity
 * and springs */
TG_API tg_status tg_cartesian_hamiltonian(tg_cartesian_work *w, int count, const double *params, const double *x,
                                          const double *p, const double *force, double *xdot, double *pdot);
/* Nullable: force_bar, with force */
TG_API tg_status tg_cartesian_hamiltonian_vjp(tg_cartesian_work *w, int count, const double *params, const double *x,
                                              const double *p, const double *force, const double *xdot_bar,
                                              const double *pdot_bar, double *x_bar, double *p_bar, double *force_bar,
                                              double *params_bar);

/* The velocity jump at x: v where there is no contact. Nullable: v1 (contacts are only counted, v is not read),
 * contacts, residual [count] */
TG_API tg_status tg_cartesian_jump(tg_cartesian_work *w, int count, const double *params, const double *x,
                                   const double *v, double *v1, int *contacts, double *residual);
TG_API tg_status tg_cartesian_jump_vjp(tg_cartesian_work *w, int count, const double *params, const double *x,
                                       const double *v, const double *v1_bar, double *x_bar, double *v_bar,
                                       double *params_bar);

/* How many velocity jumps of the last reverse call (tg_cartesian_jump_vjp, tg_cartesian_rollout_vjp) had redundant
 * rows: their impulse is not unique, and the derivative leaves the redundant part of it as it is. */
TG_API int tg_cartesian_regularised(const tg_cartesian_work *w);

/* kinetic and potential energy [count, 2], and how far the constraints are from 0 [count] (Nullable) */
TG_API tg_status tg_cartesian_energy(tg_cartesian_work *w, int count, const double *params, const double *x,
                                     const double *v, double *energy, double *violation);

/* The contact problem at x of one sample, as numbers: rows G [rows, rows], g, v* and J [rows, points dim]; slot its
 * contact. *rows: how many there are; arrays have room for `room` rows. Nullable: all arrays. */
TG_API tg_status tg_cartesian_problem(tg_cartesian_work *w, const double *params, const double *x, const double *v,
                                      int room, int *rows, double *G, double *g, double *target, double *J, int *slot,
                                      double *f);

#ifdef __cplusplus
}
#endif

#endif
