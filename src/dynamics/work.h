/* Inside of tg_work: the scratch of one thread. Every array is declared once, in TG_WORK_FIELDS. */
#ifndef TG_DYNAMICS_WORK_H
#define TG_DYNAMICS_WORK_H

#include "base/arena.h"
#include "base/status.h"
#include "math/spatial.h"
#include "model/check.h"
#include "model/model.h"
#include "tangere/dynamics.h"

/* X(type, name, count, documentation), grouped by the stage that writes them. Spatial vectors (8 doubles) are in world
 * axes with the origin of their tree. A panel holds six rows (lin x y z, ang x y z) of tree_ld numbers for each tree,
 * so that a kernel can run over four dofs at a time. */
#define TG_WORK_FIELDS(X)                                                                                              \
    /* fixed at creation */                                                                                            \
    X(uint8_t, block_bits, nblock, "per dof and block of its ltl pattern: which columns its node depends on")          \
    X(int, block_start, m->nv, "first entry of a dof in block_bits")                                                   \
    /* tg_place: depends on q */                                                                                       \
    X(double, joint_angle, v4_pad(m->njoint), "q - ref of hinges")                                                     \
    X(double, joint_sin, v4_pad(m->njoint), "")                                                                        \
    X(double, joint_cos, v4_pad(m->njoint), "")                                                                        \
    X(double, body_pos, 4 * m->nbody, "world")                                                                         \
    X(double, body_rot, MAT3_SIZE * m->nbody, "body to world, by columns")                                             \
    X(double, joint_anchor, 4 * m->njoint, "world")                                                                    \
    X(double, joint_axis, 4 * m->njoint, "world")                                                                      \
    X(double, ball_rot, MAT3_SIZE * m->njoint, "body axes right after a ball or free joint")                           \
    /* tg_subspaces: motion subspaces and inertias */                                                                  \
    X(double, J, SPATIAL_SIZE *(m->nv + 3), "twist of each dof")                                                       \
    X(double, Jt, 6 * m->npanel, "the same as a panel")                                                                \
    X(double, inertia, INERTIA_SIZE * m->nnode, "of the bodies on each node")                                          \
    /* tg_composites, tg_mass_rows */                                                                                  \
    X(double, composite, INERTIA_SIZE * m->nnode, "of the subtree of each node")                                       \
    X(double, M, m->nmatrix, "mass matrix, lower triangle a tree; L after factoring")                                  \
    X(double, dinv, m->nv, "1 / D of M = L^T D L")                                                                     \
    X(double, group, m->group_matrix[m->ngroup], "U of A = U^T U of groups of trees (factors.h)")                      \
    X(int, place, m->ngroup > 0 ? m->nv : 0, "of a dof in the matrix of its tree's group (tg_order_groups)")           \
    X(int, place_dof, m->ngroup > 0 ? m->nv : 0, "dofs of all groups, group by group, in their places")                \
    X(int, place_tree, m->ngroup > 0 ? m->ntree : 0, "trees of all groups, group by group in their order, the others") \
    X(int, group_zeros, m->ngroup, "rows at the top of H J^T that are zero (contact/delassus.c)")                      \
    X(double, group_inverse, m->ngroup > 0 ? m->nv : 0, "1 / the diagonal of U")                                       \
    X(double, group_vector, m->ngroup > 0 ? m->nv : 0, "a group's part of a vector")                                   \
    /* tg_velocities, tg_accelerations, tg_node_forces */                                                              \
    X(double, V, SPATIAL_SIZE * m->nnode, "twist after the node's motion")                                             \
    X(double, A, SPATIAL_SIZE * m->nnode, "spatial acceleration, less gravity")                                        \
    X(double, F, SPATIAL_SIZE * m->nnode, "I A + V x* I V, summed over the subtree by tg_sum_forces")                  \
    X(double, vec, 8 * m->nv, "eight generalised vectors of scratch")                                                  \
    /* derivatives */                                                                                                  \
    X(double, K, MAT3_SIZE * m->nnode, "see rnea_deriv.c")                                                             \
    X(double, p, 4 * m->nnode, "linear momentum of the subtree")                                                       \
    X(double, dV, SPATIAL_SIZE *(m->nv + 3), "")                                                                       \
    X(double, dA, SPATIAL_SIZE *(m->nv + 3), "")                                                                       \
    X(double, dAv, SPATIAL_SIZE *(m->nv + 3), "")                                                                      \
    X(double, dVt, 6 * m->npanel, "")                                                                                  \
    X(double, dAt, 6 * m->npanel, "")                                                                                  \
    X(double, dAvt, 6 * m->npanel, "")                                                                                 \
    /* reverse mode: sums over subtrees of bodies, and the twist of the cotangent */                                   \
    X(double, row, 4 * v4_pad(m->nv), "rows of the matrices of one dof")                                               \
    X(double, Y, SPATIAL_SIZE * m->nnode, "sum of J y along the path")                                                 \
    X(double, Xbar, SPATIAL_SIZE * m->nbody, "gradient with respect to a displacement that velocities do not follow")  \
    X(double, Ubar, SPATIAL_SIZE * m->nbody, "that with respect to the velocity of a body, less V x* Abar")            \
    X(double, Abar, SPATIAL_SIZE * m->nbody, "gradient with respect to the acceleration")                              \
    X(double, Ybar, SPATIAL_SIZE * m->nbody, "the same for Y")                                                         \
    X(double, Z, SPATIAL_SIZE * m->nnode, "sum of J x along the path, of a second vector x")                           \
    X(double, Zbar, SPATIAL_SIZE * m->nbody, "gradient with respect to it")                                            \
    /* tendons */                                                                                                      \
    X(double, cable_point, m->ntendon > 0 ? 4 * m->nsite : 0, "world, of sites where cables end")                      \
    X(double, cable_lever, m->ntendon > 0 ? 12 * m->nsite : 0, "S R^T, S p = site x p, by columns (tendon.c)")         \
    X(double, cable_speed, m->ntendon > 0 ? 12 * m->nsite : 0, "V, Y, Z there, of one pass of reverse mode")           \
    X(double, cable_seed, m->ntendon > 0 ? 16 * m->nsite : 0, "gradients there (adjoint.c)")                           \
    X(double, tendon_length, m->ntendon, "")                                                                           \
    X(double, tendon_moment, m->ntendon *v4_pad(m->nv) + V4_LANES, "d length / d q by rows; zero but for tendon_dof")  \
    X(double, tendon_gradient, 4 * m->ntendon, "tg_tendon_gradient, of one pass of reverse mode")                      \
    X(double, tendon_rate, m->ntendon, "of the velocities rate_of")                                                    \
    X(double, tendon_arm, m->ntendon, "moment . y of the vector arm_of")                                               \
    X(double, tendon_shift, m->ntendon, "m: what actuators add to the rest lengths")                                   \
    X(double, tendon_drive, m->ntendon, "N: sum of the actuators' forces along it")                                    \
    X(int, tendon_mode, m->ntendon, "tg_tendon_mode: tg_cables, all act before")                                       \
    X(double, actuator_length, m->nu, "")                                                                              \
    X(double, actuator_moment, m->nu *v4_pad(m->nv), "generalised force per unit of force, row by row")                \
    X(double, actuator_gradient, 2 * m->nu, "with respect to act and u")                                               \
    X(double, unit, m->nv, "a unit vector, for derivatives row by row")                                                \
    X(double, param_gradient, m->nparams, "one row of a derivative with respect to the parameters")                    \
    X(double, end_column, m->ntendon > 0 ? 8 * m->nv : 0, "velocities of the two ends of a tendon's segment, by dof")  \
    X(double, hessian, hessian_size, "d moment / d q of one tendon or actuator, nv x nv; row: moment")

typedef enum tg_stage
{
    TG_STAGE_NONE,
    TG_STAGE_PLACED,   /* poses are valid */
    TG_STAGE_POSITION, /* and motion subspaces */
    TG_STAGE_VELOCITY  /* and the twists of the nodes */
} tg_stage;

struct tg_work
{
    const tg_model *model;
    const tg_params *params;
    tg_stage stage;
    uint64_t generation;   /* of the parameters that the stage was made with */
    bool grouped;          /* the factors are those of groups of trees (factors.h) */
    const double *rate_of; /* velocities of which tendon_rate is; NULL: of none (tendon.h) */
    const double *arm_of;  /* the same of tendon_arm */
    uint64_t placement;    /* counts tg_place: what the arrays hold belongs to the last one */

#define X(type, name, count, doc) type *name;
    TG_WORK_FIELDS(X)
#undef X

    struct tg_space *space; /* the contact stage's parts */
    struct tg_rows *rows;
    struct tg_step_work *step; /* the step stage's part */
    tg_error error;
    tg_allocator allocator;
    size_t bytes;
};

/* Lays the arrays above out in a block (or counts them); fills what does not change. tg_work_create is in the highest
 * stage that has a part in the block. */
void tg_work_place(tg_work *w, const tg_model *m, tg_arena *arena);
void tg_work_init(tg_work *w, const tg_model *m);

/* Where a node's spatial vectors have their origin, world. */
static inline v4 tg_node_origin(const tg_model *m, const tg_work *w, int node)
{
    int tree = m->node_tree[node];
    return tree < 0 ? v4_zero() : v4_load(w->body_pos + 4 * m->tree_body[tree]);
}

/* where the body's frame has its origin, world */
static inline v4 tg_body_position(const tg_work *w, int body)
{
    return v4_load(w->body_pos + V4_LANES * body);
}

static inline mat3 tg_body_rotation(const tg_work *w, int body)
{
    return mat3_load(w->body_rot + MAT3_SIZE * body);
}

/* a point of a body, given in its frame, in the world */
static inline v4 tg_body_point(const tg_work *w, int body, const double *local)
{
    return tg_body_position(w, body) + mat3_mul_mem(tg_body_rotation(w, body), local);
}

/* the centre of mass of a body, from the origin of its node's spatial vectors */
static inline v4 tg_body_centre(const tg_model *m, const tg_work *w, int body)
{
    return tg_body_position(w, body) - tg_node_origin(m, w, m->body_node[body]) +
           mat3_mul_mem(tg_body_rotation(w, body), TG_PARAM_OF(w->params, body_com, body));
}

/* ---- checks at the boundary ---- */

/* Model, workspace and parameters fit together. */
tg_status tg_check_work(const tg_model *m, tg_work *w);

/* n finite numbers; x must not be NULL when n > 0. name is for the message. */
tg_status tg_check_vector(tg_work *w, const char *name, const double *x, int n);

/* the same for q, with the norms of its quaternions */
tg_status tg_check_q(const tg_model *m, tg_work *w, const double *q);

/* an output of n numbers is not NULL */
tg_status tg_check_output(tg_work *w, const char *name, const double *out, int n);

tg_status tg_check_index(tg_work *w, const char *element, int index, int count);

/* all of the above for the arguments that most functions share; v may be NULL if optional */
tg_status tg_check_state(const tg_model *m, tg_work *w, const double *q, const double *v);

#endif
