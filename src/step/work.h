/* The step's part of a workspace: copies of what went in, and what came out before it is handed over. */
#ifndef TG_STEP_WORK_H
#define TG_STEP_WORK_H

#include "contact/implicit.h"
#include "contact/rows.h"
#include "contact/rows_vjp.h"
#include "dynamics/actuation.h"
#include "dynamics/change.h"
#include "step/forward.h"

enum
{
    TG_DOF_VECTORS = 7, /* of cotangent */
    TG_ROW_VECTORS = 11 /* of row_gradient */
};

/* X(type, name, count, documentation) */
#define TG_STEP_FIELDS(X)                                                                                              \
    X(double, q, m->nq, "at the start")                                                                                \
    X(double, v, m->nv, "")                                                                                            \
    X(double, act, m->na, "")                                                                                          \
    X(double, u, m->nu, "")                                                                                            \
    X(double, tau, m->nv, "")                                                                                          \
    X(double, wrench, TWIST * m->nbody, "")                                                                            \
    X(double, extra, m->nv, "dt damping + dt^2 stiffness, on the diagonal of the mass matrix")                         \
    X(double, force, m->nv, "generalised forces of the smooth part")                                                   \
    X(double, coupling, m->ntendon + m->nu, "c of M + sum c m m^T: of tendons, and of actuators (tendons.c)")          \
    X(tg_drive, drive_late, m->nu, "of the actuators, at v+ where their damping is late")                              \
    X(tg_drive, drive, m->nu, "of the actuators")                                                                      \
    X(double, part, m->nv, "scratch")                                                                                  \
    X(double, v_free, m->nv, "velocities without constraints")                                                         \
    X(double, v_next, m->nv, "at the end")                                                                             \
    X(double, v_placing, m->nv, "with which bodies are displaced, where impacts happen within the step")               \
    X(double, q_next, m->nq, "")                                                                                       \
    X(double, share, m->nv, "of the step that each dof is displaced by, where some tree is held (hold.c)")             \
    X(double, sure, m->ntree + 1, "scratch: shares for which the gaps of each island hold (hold.c)")                   \
    X(double, act_next, m->na, "")                                                                                     \
    X(double, cotangent, TG_DOF_VECTORS * m->nv, "of v+, and what becomes of it (step_vjp.c)")                         \
    X(double, acceleration, m->nv, "(v+ - v) / dt")                                                                    \
    X(double, unit, m->nv + m->na + DIM * c->contacts, "a unit vector, for derivatives row by row; zero between")      \
    X(double, unit_param, m->nparams, "the same of one parameter")                                                     \
    X(double, forward, 3 * m->nv + m->na + m->nu + TWIST * m->nbody + 1,                                               \
      "gradient of one row, for forward mode (jvp.c)")                                                                 \
    X(double, forward_v, m->nv, "change of v+ (jvp.c)")                                                                \
    X(double, gact, m->na + 1, "")                                                                                     \
    X(double, given_gradient, TG_GIVEN_NUMBERS *(size_t)c->contacts, "of contacts from outside (jvp.c)")               \
    X(double, gu, m->nu + 1, "")                                                                                       \
    X(double, saltation, 6 * m->nv + m->na, "directions and slopes of the time of impact (saltation.c)")               \
    X(double, row_gradient, TG_ROW_VECTORS *(size_t)c->rows,                                                           \
      "gradients of rows: Lbar, z, turn, gphi, f, f_start, compression, impulses; changes")                            \
    X(double, disagreement, m->nparams, "of rows that hold each other, with the parameters (brace.c)")                 \
    X(double, gyroscopic, tg_gyroscopic_size(m), "factors of A + dt D, tree by tree (gyroscopic.c)")                   \
    X(v4, gyroscopic_momentum, m->nnode, "angular momentum of the subtree of each node (gyroscopic.c)")                \
    X(int, gyroscopic_pivot, m->nv, "")                                                                                \
    X(double, loops, (size_t)c->loop_rows *(size_t)c->loop_rows, "how loops with redundant rows turn (loops.c)")       \
    X(double, projection, m->nv, "gradient of q+ before its loops were closed (project.c)")                            \
    X(double, zeros, m->nv + TWIST * m->nequality, "")                                                                 \
    X(double, touch_gradient, TG_TOUCH_GRADIENT * c->contacts, "of points and frames of contacts")                     \
    X(double, block_gradient, TG_CONE_MAX *(size_t)c->constraints, "of friction coefficients and bounds")              \
    X(tg_island, problem, m->ntree + 1, "problem of each island")                                                      \
    X(tg_implicit, implicit, m->ntree + 1, "factors of each island")                                                   \
    X(tg_implicit, compression, m->ntree + 1, "those of the first phase where Poisson's law acts")                     \
    X(tg_island, placing_problem, m->ntree + 1, "second problem of each island with impacts within the step")          \
    X(tg_implicit, placing, m->ntree + 1, "its factors; of other islands those of the first")                          \
    X(unsigned char, implicit_memory, tg_implicit_capacity(m, c), "behind them")                                       \
    X(double, q_closed, m->nq, "a configuration on the way to closed loops")

typedef struct tg_step_work
{
#define X(type, name, count, doc) type *name;
    TG_STEP_FIELDS(X)
#undef X
    tg_forward matrices;             /* of the derivatives (forward.c) */
    tg_change change;                /* along parameters (forward_change.c) */
    size_t implicit_bytes;           /* of implicit_memory */
    tg_rows *closure;                /* equalities at the end of the step (project.c) */
    tg_options options;              /* with dt and rest_speed filled in */
    tg_options options_given;        /* as they were given (options.c) */
    const tg_params *options_params; /* with which they were completed; NULL: none are */
    uint64_t options_generation;
    const struct tg_cone_law *law; /* of contacts that are solved for */
    bool default_solver;           /* the solver is that of tg_solve_default */
    tg_contact_settings settings;  /* of the contact laws */
    tg_info info;
    tg_profile profile; /* of the step that is being taken (profile.c) */
    double lap;         /* s: when its last stage ended */
    double reading;     /* s: what reading the clock takes */
    bool has_wrench;
    bool within;       /* impacts happened within the step: v_placing is not v_next */
    bool held;         /* trees go a share of their way only: share is valid */
    bool inconsistent; /* loops contradict each other by more than rounding */
    bool loops_turn;   /* derivatives contain how they are projected (loops.c) */
    bool loops_slack;  /* their rows are redundant only nearly */
    bool braces_known; /* disagreement is that of these rows (brace.c) */
    bool answer_known; /* cotangent is what a change of impulses does, for rows that nothing can move (brace.c) */
    bool exchanged;    /* the second problem of such a step is in the place of the first (within.c) */
    bool done;         /* a step has been taken, and nothing else since */
    bool modes;        /* modes of its contacts are valid */
    bool factored;     /* the factors of its islands are valid */
    bool gyroscopic_factored;
    bool rows; /* J of its rows is there, and where its geoms are: not at once when it came back from a record */
    tg_implicit_use use; /* what they are good for */
    tg_label label;
    tg_reserve bounds;             /* of its controls, forces and activations */
    uint64_t cables;               /* changes with the modes of its tendons (tendons.c) */
    bool stiff;                    /* springs are, for stiff_dt (stability.c) */
    const tg_params *stiff_params; /* of these parameters */
    uint64_t stiff_generation;
    bool too_long; /* stiff_dt is, for springs and dampers: there are motions that grow */
    double stiff_dt;
    bool stiff_joints;   /* joints have springs, or dampers that act on v */
    bool stiff_late;     /* with tendons that act at the end of the step */
    uint64_t generation; /* of the parameters at that time */
    uint64_t placement;  /* of the arrays that its derivatives need */
    uint64_t left;       /* the placement in which the step left the workspace: matrices are still its own */
    const tg_params *params;
} tg_step_work;

/* Numbers of the matrices of implicit bias forces. (gyroscopic.c) */
size_t tg_gyroscopic_size(const tg_model *m);

/* Room for the equalities alone. (project.c) */
tg_capacity tg_closure_capacity(const tg_model *m);

/* Bytes for the factors of the islands' derivatives. (derivative.c) */
size_t tg_implicit_capacity(const tg_model *m, const tg_capacity *capacity);

/* TG_ERR_STALE unless the workspace holds the step it took last. */
tg_status tg_need_step(const tg_model *m, tg_work *w);

#endif
