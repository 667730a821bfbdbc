/* One step of a simulation: state and control in, state out, with the certificate of its contact problem.
 *
 * Semi-implicit Euler on the configuration manifold:
 *     A (v+ - v) = dt (tau + actuators + passive + wrenches - bias) + J^T L,     q+ = q (+) dt v+,
 * A = M + dt damping (+ dt^2 stiffness), and the impulses L obey the unrelaxed laws of contact, friction, limits and
 * equalities at the end of the step (docs/contact.md). */
#ifndef TANGERE_STEP_H
#define TANGERE_STEP_H

#include <stdbool.h>

#include "tangere/contact.h"
#include "tangere/dynamics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what goes in ---- */

typedef enum tg_switch
{
    TG_OFF,
    TG_ON,
    TG_AS_MODEL /* as the model asks for */
} tg_switch;

typedef enum tg_restitution
{
    TG_RESTITUTION_NEWTON, /* speed after = e times speed before; may create energy with friction */
    TG_RESTITUTION_POISSON /* impulse of restitution >= e times that of compression */
} tg_restitution;

/* When in a step impacts happen. */
typedef enum tg_impact
{
    TG_IMPACT_END,   /* bodies that would meet have their speeds of after the impact for the whole step */
    TG_IMPACT_WITHIN /* they meet at a fraction of the step, and leave for its rest: continuous in restitution and in the time of impact, so that exact derivatives are those of the
                        motion (docs/contact.md). With Newton's restitution; islands without dense matrices have impacts at the end. */
} tg_impact;

/* What the derivatives of a step are those of; the step itself is the same. */
typedef enum tg_backward
{
    TG_BACKWARD_EXACT,    /* of the step as it is: an impact stays in its step when the state moves */
    TG_BACKWARD_SMOOTHED, /* of a smoothed law at the same solution: contacts that are open by less than smooth_speed
                             already act, those that stick already creep, and corners and edges are round by
                             smooth_width; labelled regularised */
    TG_BACKWARD_TOI,      /* with the time of impact: where a gap would close earlier or later, the bodies that meet
                             change their velocities earlier or later (saltation); exact in steps without impact. With impacts at the end of a step */
    TG_BACKWARD_ANI /* "adaptive naive integration": the same in the positions after the step alone, as if bodies had (1 + e) of their approach less; labelled
                             regularised where it acts. With impacts at the end of a step */
} tg_backward;

typedef struct tg_options
{
    double dt;             /* s; 0: the model's time step */
    const char *solver;    /* "newton", "ipm", "pgs", "admm" */
    double tolerance;      /* m/s: residual up to which a step counts as solved, 1e-8 */
    int effort;            /* most factorisations of an island in a step; 0 (default): as many as it takes. What is cut short is partial (tg_info.status). */
    bool implicit_damping; /* damping of joints acts on v+ (default, as MuJoCo's Euler); off: on v */
    tg_switch
        implicit_actuators; /* what actuators on hinges and slides have of damping acts on v+; off: on v, as MuJoCo's Euler. Default: on where
                                     the model asks for an implicit integrator */
    tg_switch
        implicit_gyroscopic; /* gyroscopic forces w+ x (I w) instead of w x (I w): (A + dt D) (v_free - v) = dt f, D skew-symmetric, so that no free step of any
                                      length gains energy by them. Explicit ones explode where bodies turn by about a radian per step. Default: on where the model asks
                                      for integrator="implicit"; off: free flight as MuJoCo's Euler. Derivatives come row by row. Trees of up to 256 dofs. */
    tg_switch
        implicit_tendons; /* springs and dampers of tendons, and (with implicit_actuators) what actuators on tendons and sites have of damping, act at the end of the step:
                                      at length + dt rate+, to first order, along the tendon as it lies at the start. Explicit ones explode where dt is
                                      longer than tg_stable_dt. Trees that tendons couple are factored together, up to 512 dofs. Default: on where the model asks
                                      for an implicit integrator; off: as MuJoCo's Euler. */
    bool implicit_springs; /* springs of hinges and slides act at q + dt v+; off (default): at q */
    bool
        cold; /* the step starts from nothing: a function of q, v, act, controls, parameters and options alone (tg_cache). Where the cache has impulses the problem
                              is solved from them as well, to tell whether they lead elsewhere (tg_label.twofold): several times the cost of a step
                              whose contacts go on as they were (docs/contact.md) */
    bool project; /* brings loops to rounding after the step */
    bool
        energy; /* fills tg_info.kinetic, potential and balance; costs two more passes over the bodies; off by default */
    bool profile; /* fills tg_info.profile: reads the thread's clock once per stage and island; off by default */
    tg_restitution restitution;
    tg_impact impact;
    double push_speed; /* m/s: how fast an overlap is pushed out at most, 0.05 */
    double push_rate;  /* rad/s: the same for what turns: limits of hinges and balls, angles of welds, 0.05 */
    double
        reach; /* m: pairs and limits that are nearer are in the problem at any speed, 0.001 (joints that turn: 0.001 rad) */
    double push_gain; /* share of an overlap that is pushed out in a step, 1 */
    double
        rest_speed; /* m/s: slower impacts do not bounce; 0: max(2 |gravity| dt, 1 cm/s); within a step: what a contact is pulled by in a step */
    tg_backward backward;
    double smooth_speed; /* m/s, TG_BACKWARD_SMOOTHED: 0.01 */
    double smooth_width; /* m, the same: 0.001, at least 1e-4; 0: shapes stay as they are */
    double
        smooth_reach; /* m, the same: pairs that are apart by less act in the derivative, less and less towards it; 0 (default): those that could meet in the step */
    uint32_t cookie;
} tg_options;

TG_API tg_options tg_default_options(void);

/* Names of the contact solvers, the default first; NULL past the last. */
TG_API const char *tg_solver_name(int index);

/* Impulses of the last step by constraint, from which the next one starts; empty is legal. They decide how fast a step is, its last digits and, in the few problems of
 * unrelaxed friction that have several isolated solutions (30 of 12,154 recorded ones), which of them is returned: the cache is part of the state. A step that must not depend on
 * it: option cold. impulse: force part and torque part in world axes (contacts), or the rows'
 * own (others). */
typedef struct tg_cache_entry
{
    uint64_t id;
    double impulse[6];
} tg_cache_entry;

typedef struct tg_cache
{
    int capacity, count;
    tg_cache_entry *entry; /* capacity of them, the caller's; constraints that find no room start from zero */
} tg_cache;

/* Arrays are the caller's: q (nq), v (nv), act (na; NULL if na is 0); cache may be NULL. */
typedef struct tg_state
{
    double *q, *v, *act;
    tg_cache *cache;
} tg_state;

/* Any of them may be NULL: zero. */
typedef struct tg_control
{
    const double *u;      /* nu, controls of the actuators */
    const double *tau;    /* nv, generalised forces */
    const double *wrench; /* nbody x 6: force (N) and torque (N m) on each body at its centre of mass, world axes */
} tg_control;

/* ---- what comes out ---- */

typedef enum tg_step_status
{
    TG_STEP_SOLVED,  /* every island has residual <= tolerance */
    TG_STEP_PARTIAL, /* some island has not: the best that was met, with its residual */
    TG_STEP_UNSTABLE, /* the step made half of its kinetic energy from nothing (tg_info.balance), whatever its residual: dt is too long for
                         its springs or its turns. The state is handed over all the same. */
    TG_STEP_STATUSES
} tg_step_status;

TG_API const char *tg_step_status_string(tg_step_status status);

/* Where the time of a step goes, in the order of its stages. */
typedef enum tg_step_stage
{
    TG_STEP_STAGE_SMOOTH,    /* kinematics, mass matrix, forces, velocities without constraints */
    TG_STEP_STAGE_COLLISION, /* contacts, limits and equalities that can matter */
    TG_STEP_STAGE_ASSEMBLY,  /* islands, their Jacobians, matrices and laws */
    TG_STEP_STAGE_SOLVE,     /* impulses */
    TG_STEP_STAGE_END,       /* integration and what the step tells */
    TG_STEP_STAGES
} tg_step_stage;

TG_API const char *tg_step_stage_string(tg_step_stage stage);

/* Processor time of the thread (s). All zero, and costliest -1, unless the option profile asks for it. */
typedef struct tg_profile
{
    double time[TG_STEP_STAGES];
    int costliest;            /* island whose impulses took longest: tg_step_contact.island; -1: there is none */
    double costliest_time;    /* that long */
    int rows, factorisations; /* of that island */
} tg_profile;

/* What ended the solution of an island (docs/contact.md section 4), from the quickest on. */
typedef enum tg_solved_by
{
    TG_SOLVED_BY_NOTHING,  /* not solved */
    TG_SOLVED_BY_WARM,     /* the modes of the step before, or few changes of them */
    TG_SOLVED_BY_SOFT,     /* Newton with a small compliance from its impulses */
    TG_SOLVED_BY_LADDER,   /* Newton from a larger compliance */
    TG_SOLVED_BY_INTERIOR, /* the interior point */
    TG_SOLVED_BY_PATH,     /* its path where that turns back */
    TG_SOLVED_BY_SWEEPS,   /* block Gauss-Seidel */
    TG_SOLVED_BY_KINDS
} tg_solved_by;

TG_API const char *tg_solved_by_string(tg_solved_by stage);

typedef struct tg_info
{
    tg_step_status status;
    int iterations; /* factorisations of the contact solver: Newton and interior-point steps, summed over islands */
    int sweeps;     /* Gauss-Seidel sweeps */
    int worst;      /* factorisations of the island that took most, */
    tg_solved_by stage; /* and what ended it */
    int contacts, rows, islands;

    /* of the unrelaxed laws, recomputed from the problem, m/s: the largest over all islands */
    double residual; /* the largest of the three */
    double primal, dual, complementarity;

    double penetration;        /* m: max(0, margin - distance) over the contacts at the start of the step */
    double kinetic, potential; /* J, after the step (option energy) */
    double work;               /* J, of all impulses: L . (J v+ + J v_free) / 2 */
    double
        balance; /* J: energy that the step created. Change of kinetic and potential energy, less the work of controls, tau, wrenches and impulses, and of
                                  dampers where they take energy, at the mean of v and v+. With the option energy, and where a step might be unstable: stiff springs, a
                                  dof that moves by more than 0.25 in the step, impulses that were not found; else 0, as kinetic and potential are. */
    double capacity;    /* share of the workspace's contacts that was used */
    tg_profile profile; /* (option profile) */
} tg_info;

typedef enum tg_contact_mode
{
    TG_CONTACT_BREAKING,
    TG_CONTACT_STICKING,
    TG_CONTACT_SLIDING,
    TG_CONTACT_MODES
} tg_contact_mode;

TG_API const char *tg_contact_mode_string(tg_contact_mode mode);

/* A contact point that was in the problem of the last step. */
typedef struct tg_step_contact
{
    tg_contact at; /* point, normal (from geom1 to geom2), distance at the start of the step, feature margin, id */
    tg_contact_mode mode;       /* breaking: it did nothing */
    int island;                 /* contacts of the same island are solved together; counted from 0 */
    bool immaterial;            /* counts as sticking, has no margin of its own: others hold what it would hold */
    double margin;              /* to the next change of mode: m/s; sticking: 1 - |L_T| / (mu L_N) */
    double force[3], torque[3]; /* N, N m: impulse / dt, world axes, on geom2 at the point */
    double local[6];            /* the same in the contact's frame: normal first, then the rows of its condim */
} tg_step_contact;

/* ---- the step ---- */

/* A workspace with room for so many contact points in one step; tg_work_create chooses a number by the model. */
TG_API tg_status tg_work_create(const tg_model *m, tg_work **w, tg_error *error);
TG_API tg_status tg_work_create_for(const tg_model *m, int contacts, tg_work **w, tg_error *error);
TG_API void tg_work_destroy(tg_work *w); /* NULL is allowed */

/* Contact points for which a workspace has room, and how many its last step found: more than that where it failed with
 * TG_ERR_CAPACITY for want of room. Either may be NULL. */
TG_API void tg_work_contacts(const tg_work *w, int *room, int *found);

/* One step. options, control and info may be NULL. out may be in, or share its arrays. On failure out is untouched. A
 * step whose contact problem has residual > tolerance is TG_OK with info->status TG_STEP_PARTIAL, and one that creates energy with TG_STEP_UNSTABLE. */
TG_API tg_status tg_step(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *in,
                         const tg_control *control, tg_state *out, tg_info *info);

/* The largest time step for which springs, dampers and servos that act with the state at the start of a step are stable: at the reference configuration, without contacts, to
 * 1 %; INFINITY where up to 1 s nothing is unstable. options (may be NULL): which of them act implicitly; its dt does not count. A model whose dt is longer may explode: implicit_springs,
 * implicit_actuators, a shorter dt. The workspace holds no step afterwards. */
TG_API tg_status tg_stable_dt(const tg_model *m, tg_work *w, const tg_options *options, double *dt);

/* The same of a model that was just loaded, with default options and a workspace of its own. Where it is shorter than tg_model_timestep, `tangere` and tangere.load warn. error may be NULL. */
TG_API tg_status tg_model_stable_dt(const tg_model *m, double *dt, tg_error *error);

/* The contacts of the last step in this workspace: at most capacity of them, and always the full count. TG_ERR_STALE when
 * the workspace has done something else since. */
TG_API tg_status tg_step_contacts(const tg_model *m, tg_work *w, tg_step_contact *contact, int capacity, int *count);

/* A number that stays the same from one state to a neighbouring one while the step is smooth between them: it changes when a contact, limit, dry
 * friction or equality enters or leaves the problem or changes its mode, features or gate, a push reaches its bound, or a tendon becomes slack or taut. */
TG_API tg_status tg_step_signature(const tg_model *m, tg_work *w, uint64_t *signature);

/* ---- derivatives of the last step ----
 *
 * By implicit differentiation of the solution that was selected (docs/gradients.md), with respect to everything that went in. q and q+ are
 * taken in the tangent space (nv entries). A workspace answers for the step it took last, and refuses (TG_ERR_STALE) when the parameters have changed since. */

typedef enum tg_label_kind
{
    TG_LABEL_EXACT,
    TG_LABEL_ONE_SIDED,  /* something is at a change of mode: the derivative of the side that its mode names */
    TG_LABEL_REGULARISED /* the derivative does not exist or is not unique; a finite, documented choice */
} tg_label_kind;

TG_API const char *tg_label_string(tg_label_kind kind);

typedef struct tg_label
{
    tg_label_kind kind;
    double margin;    /* the smallest distance to a change of mode or features (m/s; m) */
    double condition; /* of the equations of the modes: ratio of pivots, the largest over islands */
    double residual;  /* of the step (m/s) */
    bool
        twofold; /* another solution of its contact problem was met, elsewhere: the derivative is that of the one that was returned, and another cache may return the other */
} tg_label;

/* A gradient of a scalar (or a change), with respect to what came out of a step or what went in. NULL: zero, or not wanted. */
typedef struct tg_cotangent
{
    double *q, *v, *act;      /* nv, nv, na */
    double *u, *tau, *wrench; /* nu, nv, 6 nbody: of what went in */
    double *dt;               /* 1 */
    double *params;           /* nparams */

    /* of what came out: three numbers for each contact of tg_step_contacts, in its order (reverse mode only) */
    double *force, *torque, *point;
} tg_cotangent;

/* Matrices of derivatives, row-major and dense: d(what came out) / d(what went in), rows x length of what went in; q in the tangent space. NULL
 * fields are skipped. */
typedef struct tg_jacobian
{
    double *dq_dq, *dq_dv, *dq_dact, *dq_du, *dq_dtau, *dq_ddt;             /* rows: nv */
    double *dv_dq, *dv_dv, *dv_dact, *dv_du, *dv_dtau, *dv_ddt;             /* rows: nv */
    double *dact_dq, *dact_dv, *dact_dact, *dact_du, *dact_dtau, *dact_ddt; /* rows: na */
    const int *index; /* nindex positions in the parameter vector (tg_param_find, tg_param_match) */
    int nindex;
    double *dq_dparams, *dv_dparams, *dact_dparams; /* rows x nindex */
    double *dq_dwrench,
        *dv_dwrench; /* nv x 6 nbody: of force (N) and torque (N m) on each body at its centre of mass, world axes; with those of tau */
    tg_label label;

    /* of the forces (N, world) and points (m, world) of the contacts of tg_step_contacts: three rows for each of the first ncontact */
    int ncontact;
    double *dforce_dq, *dforce_dv, *dforce_dact, *dforce_du, *dforce_dtau, *dforce_ddt, *dforce_dparams;
    double *dpoint_dq, *dpoint_dv, *dpoint_dact, *dpoint_du, *dpoint_dtau, *dpoint_ddt, *dpoint_dparams;
} tg_jacobian;

TG_API tg_status tg_step_jacobian(const tg_model *m, tg_work *w, tg_jacobian *jacobian);

/* What the derivative of the last step by each of count parameters is: the label of the step, or one-sided where that number alone has two sides (of two equal coefficients of two
 * geoms either may count; a restitution of 0 at an impact, or one whose gate is at hand). */
TG_API tg_status tg_step_param_labels(const tg_model *m, tg_work *w, const int *index, int count, tg_label_kind *kind);

/* Forward mode: the change of q+, v+ (nv each, tangent) and act+ along a change of what went in; NULL in `in`: zero, in `out`: not wanted. params: of
 * the whole vector. */
TG_API tg_status tg_step_jvp(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out, tg_label *label);

/* Reverse mode: out holds the gradients with respect to q+, v+, act+; writes those of in. label may be NULL. The cost does not depend on the
 * number of parameters. */
TG_API tg_status tg_step_vjp(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label);

/* ---- rollouts ---- */

/* What a rollout leaves behind for its derivatives: states, and what every step's contact problem had and gave. */
typedef struct tg_tape tg_tape;

typedef enum tg_tape_kind
{
    TG_TAPE_ALL, /* everything is kept, and derivatives solve nothing again */
    TG_TAPE_CHECKPOINTS, /* a segment of sqrt(steps) steps, and the states at which the others start: derivatives take their steps once more */
    TG_TAPE_NONE /* nothing is kept or recorded: a rollout forward only, derivatives are refused */
} tg_tape_kind;

/* For up to so many steps. Records of contacts take memory as they need it: what was not foreseen is allocated during the first rollout and kept. */
TG_API tg_status tg_tape_create(const tg_model *m, int steps, tg_tape_kind kind, tg_tape **tape, tg_error *error);
TG_API void tg_tape_destroy(tg_tape *tape); /* NULL is allowed */
TG_API size_t tg_tape_bytes(const tg_tape *tape);

/* Controls, row by row; the caller's, and still there when the derivatives are taken. NULL: zero. A row is held for `hold` steps: there are ceil(steps / hold) rows. */
typedef struct tg_controls
{
    int steps;
    const double *u;      /* rows x nu */
    const double *tau;    /* rows x nv */
    const double *wrench; /* rows x 6 nbody: at the centres of mass, world axes */
    int hold;             /* 0 or 1: one row a step */
} tg_controls;

/* States of a rollout, or gradients with respect to them. NULL: not wanted; in gradients: zero. */
typedef struct tg_trajectory
{
    double *q;        /* (steps + 1) x nq; a gradient: (steps + 1) x nv, in the tangent space */
    double *v;        /* (steps + 1) x nv */
    double *act;      /* (steps + 1) x na */
    double *residual; /* steps: of every step (m/s); not a gradient */
    tg_info *info;    /* steps: of every step; not a gradient */
} tg_trajectory;

/* Steps from `start` with every step's controls. options, out and worst may be NULL; worst: the info of the step with the largest
 * residual. */
TG_API tg_status tg_rollout(const tg_model *m, tg_work *w, tg_tape *tape, const tg_options *options,
                            const tg_state *start, const tg_controls *controls, tg_trajectory *out, tg_info *worst);

/* Gradients with respect to what went into a rollout (NULL: not wanted), or a change of it (NULL: zero). */
typedef struct tg_rollout_gradient
{
    double *q, *v, *act; /* nv, nv, na: of the start */
    double *u, *tau;     /* rows x nu, rows x nv, as the controls */
    double *dt;          /* 1: the same in every step */
    double *params;      /* nparams */
    double *wrench;      /* rows x 6 nbody */
} tg_rollout_gradient;

/* Reverse mode of the rollout on the tape, from the gradients with respect to its states. Refuses (TG_ERR_STALE) when the parameters
 * have changed since. label: the worst of all steps, may be NULL. The workspace holds no step afterwards. */
TG_API tg_status tg_rollout_vjp(const tg_model *m, tg_work *w, tg_tape *tape, const tg_trajectory *out,
                                tg_rollout_gradient *in, tg_label *label);

/* Forward mode, for several directions at once: the changes of all states, out[i], along in[i], i < count. A direction costs a fraction of a step a step, whatever
 * it contains. q and v of every out are needed, and act where the model has activations. */
TG_API tg_status tg_rollout_jvp(const tg_model *m, tg_work *w, tg_tape *tape, int count, const tg_rollout_gradient *in,
                                tg_trajectory *out, tg_label *label);

/* Brings the workspace to where step `step` (from 0) of the rollout on the tape left it: tg_step_contacts, tg_step_jacobian, tg_step_vjp and tg_step_jvp then answer for
 * that step. */
TG_API tg_status tg_rollout_return(const tg_model *m, tg_work *w, tg_tape *tape, int step);

/* The label of every step of the rollout on the tape: steps of them. */
TG_API tg_status tg_rollout_labels(const tg_model *m, tg_work *w, tg_tape *tape, tg_label *label);

/* A quadratic cost of a rollout, with diagonal weights: half the sum over states of weight_q |q (-) q*|^2 + weight_v |v - v*|^2, and over steps of
 * weight_u |u - u*|^2. NULL: weights zero, references v* and u* zero. Any other cost: give tg_rollout_vjp its gradient. */
typedef struct tg_quadratic_cost
{
    const double *q, *v, *u;                      /* q*, v*, u*: nq, nv, nu */
    const double *weight_q, *weight_v, *weight_u; /* nv, nv, nu */
    const double *last_q, *last_v; /* nv, nv: in the last state, in place of those above; NULL: the same */
} tg_quadratic_cost;

/* The cost of the states and controls of a rollout, and its gradients as tg_rollout_vjp takes them: gradient (fields that are NULL, or all: not wanted), gu
 * (steps x nu: what the controls cost themselves, to be added to what comes back through the states; may be NULL). scratch: nv numbers. */
TG_API tg_status tg_rollout_cost(const tg_model *m, const tg_quadratic_cost *cost, const tg_trajectory *states,
                                 const tg_controls *controls, double *scratch, double *value, tg_trajectory *gradient,
                                 double *gu, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
