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
    TG_IMPACT_END, /* colliding bodies have their velocity after the impact for the whole step */
    /* the impact happens at a fraction of the step. The step is continuous in the restitution and in the time of
     * impact, so its exact derivatives are those of the motion (docs/contact.md). For Newton's restitution; islands
     * without dense matrices have impacts at the end */
    TG_IMPACT_WITHIN
} tg_impact;

/* Which function is differentiated; the step itself is the same. */
typedef enum tg_backward
{
    TG_BACKWARD_EXACT, /* the step as it is: an impact stays in its step when the state changes */
    /* a smoothed contact law at the same solution. Contacts open by less than smooth_speed already act, sticking
     * contacts already creep, corners and edges are rounded by smooth_width. Labelled regularised */
    TG_BACKWARD_SMOOTHED,
    /* with the time of impact: a gap that closes earlier or later changes the velocities earlier or later (saltation
     * matrix); exact in steps without impact. For impacts at the end of a step */
    TG_BACKWARD_TOI,
    /* "adaptive naive integration": the time of impact in the positions only, as if the approach were shorter by the
     * factor 1 + e. Labelled regularised where it acts. For impacts at the end of a step */
    TG_BACKWARD_ANI,
    /* ani with the approach velocities of an impact held fixed ("detached"): its impulses depend on the coefficients
     * only. For impacts at the end of a step and Newton's restitution */
    TG_BACKWARD_DETACH,
    /* solver "staggered" with staggered_steps > 0: the derivative of these alternations from where they started, as
     * published; it differs from that of the law where they have not converged. Labelled regularised. For Newton's
     * restitution and impacts at the end of a step */
    TG_BACKWARD_UNROLLED
} tg_backward;

typedef struct tg_options
{
    double dt;          /* s; 0: the model's time step */
    const char *solver; /* "newton", "ipm", "pgs", "admm", "staggered" */

    /* solver "staggered": this many alternations, whatever the residual; 0 (default): until it is within the
     * tolerance */
    int staggered_steps;

    /* contact law: "ncp" (default: Signorini, Coulomb's cone, maximum dissipation), "ccp" (its convex relaxation:
     * sliding contacts separate), "lcp-box", "lcp-diamond" (friction pyramids). The last three are for comparison
     * (docs/contact.md): solvers "newton" and "admm", up to 384 rows per island, without impacts within a step,
     * smoothed or ani derivatives; the pyramids without Poisson's restitution. "compliant", "impulse": explicit laws
     * (docs/contact.md), the impulse of each contact by itself, from its gap and its velocity at the start of the
     * step */
    const char *law;

    /* m/s per N s, law "ccp": added to the diagonal of its problems in the rows of contacts, not to the velocities
     * that impulses make (CMr of the paper on learned contact), 0 */
    double eps;

    double tolerance; /* m/s: residual up to which a step counts as solved, 1e-8 */

    /* largest number of factorisations per island and step; 0 (default): no limit. A solve that reaches it is partial
     * (tg_info.status) */
    int effort;

    bool implicit_damping; /* joint damping acts on v+ (default, as MuJoCo's Euler); off: on v */

    /* actuator damping on hinges and slides acts on v+; off: on v, as MuJoCo's Euler. Default: on where the model
     * asks for an implicit integrator */
    tg_switch implicit_actuators;

    /* gyroscopic forces w+ x (I w) instead of w x (I w): (A + dt D) (v_free - v) = dt f with D skew-symmetric, so
     * they add no energy in free flight at any dt. Explicit gyroscopic forces are unstable where a body turns by
     * about a radian per step. Default: on where the model asks for integrator="implicit"; off: as MuJoCo's Euler.
     * Derivatives are computed row by row. Trees of up to 256 dofs */
    tg_switch implicit_gyroscopic;

    /* springs and dampers of tendons, and with implicit_actuators the damping of actuators on tendons and sites, act
     * at the end of the step: at length + dt rate+, to first order, along the tendon's path at the start. Explicit
     * ones are unstable where dt exceeds tg_stable_dt. Trees coupled by tendons are factored together, up to 512
     * dofs. Default: on where the model asks for an implicit integrator; off: as MuJoCo's Euler */
    tg_switch implicit_tendons;

    bool implicit_springs; /* springs of hinges and slides act at q + dt v+; off (default): at q */

    /* a cold solve: the step depends on q, v, act, controls, parameters and options, not on the cache (tg_cache). Where
     * the cache has impulses, the problem is also solved from them, to find out whether they lead to another solution
     * (tg_label.twofold). Costs several times a warm-started step (docs/contact.md) */
    bool cold;

    bool project; /* projects loops to rounding error after the step */
    bool energy;  /* fills tg_info.kinetic, potential and balance: two more passes over the bodies; off by default */
    bool profile; /* fills tg_info.profile: reads the thread's clock once per stage and island; off by default */
    tg_restitution restitution;
    tg_impact impact;
    double push_speed; /* m/s: largest speed at which an overlap is corrected, 0.05 */
    double push_rate;  /* rad/s: the same for rotations: limits of hinges and balls, angles of welds, 0.05 */
    double lever;      /* m: beside linear velocities, and the tolerance, an angular one counts by what it moves at this
                          lever, to a power of two; 1. Changes units, and which of redundant impulses are returned */
    double reach;      /* m, rad: closer pairs and limits are always in the problem, 0.001 */
    double push_gain;  /* fraction of an overlap that is corrected per step, 1 */

    /* explicit laws: largest fraction of the slip that friction stops per step ("eta" of the tensegrity paper), 1 */
    double friction_share;

    /* m/s: slower impacts do not bounce; 0: max(2 |gravity| dt, 1 cm/s). With TG_IMPACT_WITHIN: the larger of this and
     * the change of normal velocity by smooth forces in one step */
    double rest_speed;

    tg_backward backward;
    double smooth_speed; /* m/s, TG_BACKWARD_SMOOTHED: 0.01 */
    double smooth_width; /* m, the same: 0.001, at least 1e-4; 0: no rounding of shapes */

    /* m, the same: pairs closer than this act in the derivative, with a weight that falls to zero at this distance; 0
     * (default): only pairs that could meet in the step */
    double smooth_reach;

    uint32_t cookie;
} tg_options;

TG_API tg_options tg_default_options(void);

/* Names of the contact solvers, the default first; NULL past the last. */
TG_API const char *tg_solver_name(int index);

/* Names of the contact laws, the same way. */
TG_API const char *tg_law_name(int index);

/* Impulses of the last step by constraint: the warm start of the next one; may be empty. They affect the speed of a
 * step, its last digits and, in the few friction problems with several isolated solutions (30 of 12,154 recorded
 * ones), which solution is returned. So the cache is part of the state; the option cold removes the dependence.
 * impulse: force and torque in world axes (contacts), or the impulses of the rows (other constraints). Of friction at
 * its bound that did not slip, and of a contact that carried nothing and did not open: what they would be without the
 * bound. An island whose warm start failed has one more entry, with counts. */
typedef struct tg_cache_entry
{
    uint64_t id;
    double impulse[6];
} tg_cache_entry;

typedef struct tg_cache
{
    int capacity, count;
    /* array of capacity entries, owned by the caller; constraints that do not fit start from zero */
    tg_cache_entry *entry;
} tg_cache;

/* Arrays are owned by the caller: q (nq), v (nv), act (na; NULL if na is 0); cache may be NULL. */
typedef struct tg_state
{
    double *q, *v, *act;
    tg_cache *cache;
} tg_state;

/* NULL means zero; contacts: NULL means that the step detects them itself. */
typedef struct tg_control
{
    const double *u;      /* nu, controls of the actuators */
    const double *tau;    /* nv, generalised forces */
    const double *wrench; /* nbody x 6: force (N) and torque (N m) on each body at its centre of mass, world axes */
    const tg_given_contacts *contacts;
} tg_control;

/* ---- what comes out ---- */

typedef enum tg_step_status
{
    TG_STEP_SOLVED,  /* every island has residual <= tolerance */
    TG_STEP_PARTIAL, /* some island does not: its best iterate is used, with its residual */
    /* the step created more than half of its kinetic energy (tg_info.balance), or a tenth where a body turns by more
     * than 1 rad, whatever its residual: dt is too long for its springs or rotations. The state after the step is still
     * returned */
    TG_STEP_UNSTABLE,
    TG_STEP_STATUSES
} tg_step_status;

TG_API const char *tg_step_status_string(tg_step_status status);

/* The stages of a step, in order. */
typedef enum tg_step_stage
{
    TG_STEP_STAGE_SMOOTH,    /* kinematics, mass matrix, forces, velocities without constraints */
    TG_STEP_STAGE_COLLISION, /* contacts */
    TG_STEP_STAGE_ASSEMBLY,  /* limits and equalities; islands, their Jacobians, matrices and laws */
    TG_STEP_STAGE_SOLVE,     /* impulses */
    TG_STEP_STAGE_END,       /* integration and tg_info */
    TG_STEP_STAGES
} tg_step_stage;

TG_API const char *tg_step_stage_string(tg_step_stage stage);

/* CPU time of the thread (s). All zero, and costliest -1, without the option profile. */
typedef struct tg_profile
{
    double time[TG_STEP_STAGES];
    int costliest;            /* island whose solve took longest: tg_step_contact.island; -1: none */
    double costliest_time;    /* time of that solve */
    int rows, factorisations; /* of that island */
} tg_profile;

/* The solver stage that solved an island (docs/contact.md section 4), fastest first. */
typedef enum tg_solved_by
{
    TG_SOLVED_BY_NOTHING,     /* not solved */
    TG_SOLVED_BY_WARM,        /* warm start: the modes of the previous step, with few changes */
    TG_SOLVED_BY_SOFT,        /* Newton with a small compliance, from the impulses of the previous step */
    TG_SOLVED_BY_LADDER,      /* Newton from a larger compliance */
    TG_SOLVED_BY_MULTIPLIERS, /* the method of multipliers */
    TG_SOLVED_BY_INTERIOR,    /* the interior point */
    TG_SOLVED_BY_PATH,        /* the path of the interior point, followed by arc length */
    TG_SOLVED_BY_SWEEPS,      /* block Gauss-Seidel */
    TG_SOLVED_BY_KINDS
} tg_solved_by;

TG_API const char *tg_solved_by_string(tg_solved_by stage);

typedef struct tg_info
{
    tg_step_status status;
    int iterations;     /* factorisations of the contact solver: Newton and interior-point steps, summed over islands */
    int sweeps;         /* Gauss-Seidel sweeps */
    int worst;          /* factorisations of the island that took most, */
    tg_solved_by stage; /* and the stage that solved it */
    int contacts, rows, islands;

    /* of the law of the step, recomputed from the problem, m/s: the largest over all islands */
    double residual; /* the largest of the three */
    double primal, dual, complementarity;
    const char *law;  /* tg_options.law */
    double unrelaxed; /* m/s: the residual of the unrelaxed law at the same impulses; law "ncp": the residual */

    double penetration;        /* m: max(0, margin - distance) over the contacts at the start of the step */
    double kinetic, potential; /* J, after the step (option energy) */
    double work;               /* J, of all impulses: L . (J v+ + J v_free) / 2 */

    /* J: energy created by the step: the change of kinetic and potential energy, minus the work of controls, tau,
     * wrenches and impulses, and of dampers where they dissipate, at the mean of v and v+. Computed with the option
     * energy, and where a step may be unstable (stiff springs, a dof that moves by more than 0.25 in the step, an
     * unsolved contact problem); otherwise 0, like kinetic and potential */
    double balance;

    double capacity;    /* fraction of the workspace's contacts that was used */
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
    tg_contact_mode mode;       /* breaking: no force */
    int island;                 /* contacts of the same island are solved together; counted from 0 */
    bool immaterial;            /* counts as sticking, has no margin: redundant, other contacts prevent its slip */
    double margin;              /* to the next change of mode: m/s; sticking: 1 - |L_T| / (mu L_N) */
    double force[3], torque[3]; /* N, N m: impulse / dt, world axes, on geom2 at the point */
    double local[6];            /* the same in the contact's frame: normal first, then the rows of its condim */
} tg_step_contact;

/* ---- the step ---- */

/* A workspace for at most `contacts` contact points per step; tg_work_create chooses the number from the model. */
TG_API tg_status tg_work_create(const tg_model *m, tg_work **w, tg_error *error);
TG_API tg_status tg_work_create_for(const tg_model *m, int contacts, tg_work **w, tg_error *error);
TG_API void tg_work_destroy(tg_work *w); /* NULL is allowed */

/* The contact capacity of a workspace, and the number of contacts that its last step found. found > room where the step
 * failed with TG_ERR_CAPACITY. Either may be NULL. */
TG_API void tg_work_contacts(const tg_work *w, int *room, int *found);

/* One step. options, control and info may be NULL. out may be in, or share its arrays. On failure out is unchanged.
 * A step with residual > tolerance returns TG_OK with info->status TG_STEP_PARTIAL; one that creates energy,
 * TG_STEP_UNSTABLE. */
TG_API tg_status tg_step(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *in,
                         const tg_control *control, tg_state *out, tg_info *info);

/* The largest time step for which explicit springs, dampers and servos are stable, at the reference configuration,
 * without contacts, to 1 %; INFINITY where nothing is unstable up to 1 s. options (may be NULL) says which of them
 * act implicitly; its dt is not used. With a longer dt the simulation may explode: use implicit_springs,
 * implicit_actuators, implicit_tendons or a shorter dt. The workspace holds no step afterwards. */
TG_API tg_status tg_stable_dt(const tg_model *m, tg_work *w, const tg_options *options, double *dt);

/* The same with default options and a temporary workspace. The command and tangere.load warn where it is shorter than
 * tg_model_timestep. error may be NULL. */
TG_API tg_status tg_model_stable_dt(const tg_model *m, double *dt, tg_error *error);

/* The contacts of the last step in this workspace that were in its problem. Writes at most capacity of them, and the
 * full count. TG_ERR_STALE if the workspace was used for something else since. */
TG_API tg_status tg_step_contacts(const tg_model *m, tg_work *w, tg_step_contact *contact, int capacity, int *count);

/* A hash of the discrete choices of the last step. Two neighbouring states with the same signature have a smooth
 * step between them. It changes when a contact, limit, dry friction or equality enters or leaves the problem or
 * changes its mode, features or gate, when a correction reaches its largest speed, and when a tendon becomes slack
 * or taut. */
TG_API tg_status tg_step_signature(const tg_model *m, tg_work *w, uint64_t *signature);

/* ---- derivatives of the last step ----
 *
 * By implicit differentiation of the returned solution (docs/gradients.md), with respect to all inputs. q and q+ are
 * in the tangent space (nv entries). They are those of the last step of the workspace; TG_ERR_STALE if the
 * parameters have changed since. */

typedef enum tg_label_kind
{
    TG_LABEL_EXACT,
    TG_LABEL_ONE_SIDED,  /* the state is at a change of mode: the derivative on the side of the current mode */
    TG_LABEL_REGULARISED /* the derivative does not exist or is not unique: a finite, documented choice */
} tg_label_kind;

TG_API const char *tg_label_string(tg_label_kind kind);

typedef struct tg_label
{
    tg_label_kind kind;
    double margin;    /* the smallest distance to a change of mode or features (m/s; m) */
    double condition; /* of the equations of the modes: ratio of pivots, the largest over islands */
    double residual;  /* of the step (m/s) */

    /* another solution of the contact problem was found. The derivative is that of the returned one; another cache
     * may lead to the other */
    bool twofold;
} tg_label;

/* A gradient (or a change) of the inputs or the outputs of a step. NULL: zero, or not wanted. */
typedef struct tg_cotangent
{
    double *q, *v, *act;      /* nv, nv, na */
    double *u, *tau, *wrench; /* nu, nv, 6 nbody: inputs */
    double *dt;               /* 1 */
    double *params;           /* nparams */

    /* outputs: three numbers for each contact of tg_step_contacts, in its order (reverse mode only) */
    double *force, *torque, *point;

    /* inputs: TG_GIVEN_NUMBERS for each contact that the step was given, in their order. The part of a normal is
     * orthogonal to it */
    double *contact;
} tg_cotangent;

/* Matrices of derivatives of outputs with respect to inputs, row-major and dense, rows x length of the input; q in the
 * tangent space. NULL fields are skipped. */
typedef struct tg_jacobian
{
    double *dq_dq, *dq_dv, *dq_dact, *dq_du, *dq_dtau, *dq_ddt;             /* rows: nv */
    double *dv_dq, *dv_dv, *dv_dact, *dv_du, *dv_dtau, *dv_ddt;             /* rows: nv */
    double *dact_dq, *dact_dv, *dact_dact, *dact_du, *dact_dtau, *dact_ddt; /* rows: na */
    const int *index; /* nindex positions in the parameter vector (tg_param_find, tg_param_match) */
    int nindex;
    double *dq_dparams, *dv_dparams, *dact_dparams; /* rows x nindex */
    /* nv x 6 nbody: force (N) and torque (N m) on each body at its centre of mass, world axes; needs those of tau */
    double *dq_dwrench, *dv_dwrench;
    double *dq_dcontact, *dv_dcontact; /* nv x TG_GIVEN_NUMBERS for each contact that the step was given */
    tg_label label;

    /* forces (N, world) and points (m, world) of the contacts of tg_step_contacts: three rows for each of the first
     * ncontact */
    int ncontact;
    double *dforce_dq, *dforce_dv, *dforce_dact, *dforce_du, *dforce_dtau, *dforce_ddt, *dforce_dparams;
    double *dpoint_dq, *dpoint_dv, *dpoint_dact, *dpoint_du, *dpoint_dtau, *dpoint_ddt, *dpoint_dparams;
} tg_jacobian;

TG_API tg_status tg_step_jacobian(const tg_model *m, tg_work *w, tg_jacobian *jacobian);

/* Labels of the derivatives of the last step with respect to each of count parameters: that of the step, or one-sided
 * where the derivative is one-sided for that parameter alone (one of two equal coefficients of two geoms; a restitution
 * of 0 at an impact, or one at its threshold; what tilts friction along which nothing could move). */
TG_API tg_status tg_step_param_labels(const tg_model *m, tg_work *w, const int *index, int count, tg_label_kind *kind);

/* Forward mode: the change of q+, v+ (nv each, tangent) and act+ along a change of the inputs. NULL in `in`: zero,
 * in `out`: not wanted. params: the whole vector. */
TG_API tg_status tg_step_jvp(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out, tg_label *label);

/* Reverse mode: from the gradients with respect to the outputs, those with respect to the inputs. label may be NULL.
 * The cost does not depend on the number of parameters. */
TG_API tg_status tg_step_vjp(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label);

/* ---- rollouts ---- */

/* The record of a rollout for its derivatives: states, and the contact problem of every step with its solution. */
typedef struct tg_tape tg_tape;

typedef enum tg_tape_kind
{
    TG_TAPE_ALL,         /* every step is recorded; derivatives solve nothing again */
    TG_TAPE_CHECKPOINTS, /* states every sqrt(steps) steps; derivatives repeat the steps of each segment */
    TG_TAPE_NONE         /* nothing is recorded: forward only, derivatives are refused */
} tg_tape_kind;

/* A tape for at most `steps` steps. Records of contacts that need more memory than expected allocate it during the
 * first rollout, and keep it. */
TG_API tg_status tg_tape_create(const tg_model *m, int steps, tg_tape_kind kind, tg_tape **tape, tg_error *error);
TG_API void tg_tape_destroy(tg_tape *tape); /* NULL is allowed */
TG_API size_t tg_tape_bytes(const tg_tape *tape);

/* Controls, row by row. The caller owns them, and keeps them until the derivatives are computed. NULL: zero. A row
 * is held for `hold` steps: there are ceil(steps / hold) rows. */
typedef struct tg_controls
{
    int steps;
    const double *u;      /* rows x nu */
    const double *tau;    /* rows x nv */
    const double *wrench; /* rows x 6 nbody: at the centres of mass, world axes */
    int hold;             /* 0 or 1: one row per step */
    /* steps, whatever hold is: the contacts of each step, in place of collision. NULL: every step finds its own. */
    const tg_given_contacts *contacts;
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

/* Steps from `start` with the given controls. options, out and worst may be NULL; worst: the info of the step with the
 * largest residual. */
TG_API tg_status tg_rollout(const tg_model *m, tg_work *w, tg_tape *tape, const tg_options *options,
                            const tg_state *start, const tg_controls *controls, tg_trajectory *out, tg_info *worst);

/* Gradients with respect to the inputs of a rollout (NULL: not wanted), or a change of them (NULL: zero). */
typedef struct tg_rollout_gradient
{
    double *q, *v, *act; /* nv, nv, na: of the start */
    double *u, *tau;     /* rows x nu, rows x nv, as the controls */
    double *dt;          /* 1: the same in every step */
    double *params;      /* nparams */
    double *wrench;      /* rows x 6 nbody */
    double *contact;     /* TG_GIVEN_NUMBERS for each contact that the rollout was given, step after step */
} tg_rollout_gradient;

/* Reverse mode of the rollout on the tape, from the gradients with respect to its states. TG_ERR_STALE if the
 * parameters have changed since. label: the worst of all steps, may be NULL. The workspace holds no step afterwards. */
TG_API tg_status tg_rollout_vjp(const tg_model *m, tg_work *w, tg_tape *tape, const tg_trajectory *out,
                                tg_rollout_gradient *in, tg_label *label);

/* Forward mode, for several directions at once: the changes of all states, out[i], along in[i], i < count. A
 * direction costs a fraction of a rollout, whatever it contains. q and v of every out are needed, and act where the
 * model has activations. */
TG_API tg_status tg_rollout_jvp(const tg_model *m, tg_work *w, tg_tape *tape, int count, const tg_rollout_gradient *in,
                                tg_trajectory *out, tg_label *label);

/* Restores the workspace to the end of step `step` (from 0) of the rollout on the tape: tg_step_contacts,
 * tg_step_jacobian, tg_step_vjp and tg_step_jvp then refer to that step. */
TG_API tg_status tg_rollout_return(const tg_model *m, tg_work *w, tg_tape *tape, int step);

/* The labels of all steps of the rollout on the tape (array of steps). */
TG_API tg_status tg_rollout_labels(const tg_model *m, tg_work *w, tg_tape *tape, tg_label *label);

/* A quadratic cost of a rollout, with diagonal weights: half the sum over states of weight_q |q (-) q*|^2 + weight_v
 * |v - v*|^2, and over steps of weight_u |u - u*|^2. NULL: weights zero, references v* and u* zero. For any other
 * cost, pass its gradient to tg_rollout_vjp. */
typedef struct tg_quadratic_cost
{
    const double *q, *v, *u;                      /* q*, v*, u*: nq, nv, nu */
    const double *weight_q, *weight_v, *weight_u; /* nv, nv, nu */
    const double *last_q, *last_v; /* nv, nv: in the last state, in place of those above; NULL: the same */
} tg_quadratic_cost;

/* The cost of the states and controls of a rollout, and its gradients as tg_rollout_vjp takes them: gradient (NULL,
 * also in its fields: not wanted), gu (steps x nu: the direct part of the controls, to be added to the part that
 * comes through the states; may be NULL). scratch: nv numbers. */
TG_API tg_status tg_rollout_cost(const tg_model *m, const tg_quadratic_cost *cost, const tg_trajectory *states,
                                 const tg_controls *controls, double *scratch, double *value, tg_trajectory *gradient,
                                 double *gu, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
