/* The parts of a step, in the order they run. */
#ifndef TG_STEP_STEP_H
#define TG_STEP_STEP_H

#include "contact/cone_law.h"
#include "dynamics/actuation.h"
#include "dynamics/cable.h"
#include "dynamics/vjp.h"
#include "step/work.h"

/* Checks the options, fills in what they leave open, and keeps them. (options.c) */
tg_status tg_step_options(const tg_model *m, tg_work *w, const tg_options *options);

/* A step that is profiled begins; a stage of it ends; so does the solve of an island, in that stage. Nothing without
 * the option. (profile.c) */
void tg_profile_begin(tg_work *w);
void tg_profile_stage(tg_work *w, tg_step_stage stage);
void tg_profile_island(tg_work *w, int island);

/* Checks and copies state and control. (step.c) */
tg_status tg_step_inputs(const tg_model *m, tg_work *w, const tg_state *in, const tg_control *control);

/* What of an actuator's force is damping that acts on v+: -gear^2 slope v. dof -1: nothing. (smooth.c) */
typedef struct tg_actuator_damping
{
    int dof;
    double gear, slope;
    const tg_drive *drive;
} tg_actuator_damping;

tg_actuator_damping tg_implicit_damping_of(const tg_model *m, const tg_work *w, int actuator);

/* Whether springs and dampers of tendons act at the end of the step; and when that is. (tendons.c) */
static inline bool tg_tendons_late(const tg_model *m, const tg_work *w)
{
    return w->step->options.implicit_tendons == TG_ON && m->ngroup > 0;
}
static inline tg_tendon_when tg_step_tendons(const tg_model *m, const tg_work *w)
{
    bool late = tg_tendons_late(m, w);
    return (tg_tendon_when){late ? w->step->v_next : w->step->v, late ? w->step->options.dt : 0};
}

/* What of the damping of an actuator on a tendon or a site acts on v+: slope, its force is -slope moment . v+; 0:
 * nothing. */
double tg_late_slope(const tg_model *m, const tg_work *w, int actuator);

/* What an actuator does, at v+ where its damping is late. */
tg_drive tg_late_drive(const tg_model *m, const tg_work *w, int actuator);

/* What the actuators do, as derivatives see it: s->drive, or drive_late where tendons act at the end of the step. */
static inline const tg_drive *tg_step_drives(const tg_model *m, const tg_work *w)
{
    return tg_tendons_late(m, w) ? w->step->drive_late : w->step->drive;
}

/* d (dt pull) / d dt of a tendon that acts at the end of the step, less what it pulls with at the start. */
double tg_late_by_dt(const tg_model *m, const tg_work *w, int tendon);

/* Which of its tendons' springs, dampers and actuators act: s->cables, and how near they are to a change, added to
 * bounds (NULL: not wanted). After the drives. */
void tg_step_cables(const tg_model *m, tg_work *w, tg_reserve *bounds);

/* s->coupling: dt damping + dt^2 stiffness of every tendon, dt slope of every actuator on a tendon or a site. */
void tg_step_couplings(const tg_model *m, tg_work *w);

/* The stiffness of a dof's spring if it acts at the end of the step, else 0. (smooth.c) */
double tg_implicit_spring_of(const tg_model *m, const tg_work *w, int dof);

/* force (nv) = what acts from outside: actuators, tau and wrenches. After the transmissions and drives. bounds: of
 * joints, added to; NULL: not wanted. (smooth.c) */
void tg_outer_forces(const tg_model *m, const tg_work *w, double *force, tg_reserve *bounds);

/* Position and velocity stage, transmissions, what the actuators do, factors of M + dt D (+ dt^2 K), forces, and the
 * velocities without constraints. (smooth.c) */
tg_status tg_step_smooth(const tg_model *m, tg_work *w);

/* The constraints of the step, up to the problem of every island. (problem.c) */
tg_status tg_step_problem(const tg_model *m, tg_work *w, const tg_cache *cache);

/* Impulses and velocities. (problem.c) */
tg_status tg_step_solve(const tg_model *m, tg_work *w);

/* Touches that carried something in the last step are not set aside. (cache.c) */
void tg_cache_take_back(const tg_model *m, const tg_work *w, const tg_cache *cache);

/* Impulses to start from, and the impulses found. (cache.c) */
void tg_cache_read(const tg_work *w, const tg_cache *cache);

/* the same of what the islands' warm starts do */
void tg_cache_read_pauses(const tg_work *w, const tg_cache *cache);
void tg_cache_write(const tg_work *w, tg_cache *cache);

/* with which bodies are displaced: v_next, unless impacts happened within the step */
static inline const double *tg_placing_velocity(const tg_step_work *s)
{
    return s->within && !s->exchanged ? s->v_placing : s->v_next;
}

/* q_next = q (+) dt v_placing; gradients of q, v+ and dt, added to, from that of q+. (integrator.c) */
void tg_step_integrate(const tg_model *m, tg_work *w);
void tg_integrator_reverse(const tg_model *m, const tg_work *w, const double *g_next, double *gq, double *gv,
                           double *gdt);

/* Brings loops to rounding: q_next. (project.c) */
tg_status tg_step_project(const tg_model *m, tg_work *w);

/* Whether a step does; derivatives of q+ (nv x columns) behind it from those before; gradients of q+ before it from
 * those behind, in place, with those of parameters (NULL: not wanted) added. (project.c) */
bool tg_projects(const tg_model *m, const tg_work *w);
tg_status tg_project_forward(const tg_model *m, tg_work *w, int columns, double *dq);
tg_status tg_project_reverse(const tg_model *m, tg_work *w, double *g, double *params);

/* e (rows): J v+ + b of equalities in islands where these are redundant, that part of b included which no velocity can
 * follow; zero elsewhere. Needs J. (derivative.c) */
void tg_unmet_velocities(const tg_model *m, const tg_work *w, double *e);

/* How loops with redundant rows turn, for derivatives: once, and then x (rows) <- answer^T x and x <- Z Z^T x, zero
 * where nothing is redundant. (loops.c) */
void tg_loops_prepare(const tg_model *m, tg_work *w);
void tg_loops_answer(const tg_work *w, double *x);
void tg_loops_along(const tg_work *w, double *x);
/* x <- P x, x (rows) */
void tg_loops_beside(const tg_work *w, double *x);

/* What most derivatives of a step that came back from a record do without: J, and where the geoms of its contacts are.
 * Whoever reads them asks first. (record.c) */
void tg_step_need_rows(const tg_model *m, tg_work *w);

/* Everything that follows from where the bodies are and how fast they move at the start of the step, but for matrices
 * and the modes of tendons. (record.c) */
void tg_step_place(const tg_model *m, tg_work *w);

/* Brings back the arrays of the step, if something else has used the workspace since. (derivative.c) */
tg_status tg_step_return(const tg_model *m, tg_work *w);

/* Modes of all constraints, if they are not there yet. (info.c) */
tg_status tg_step_modes(tg_work *w);

/* How many contacts tg_step_contacts lists. (info.c) */
int tg_contact_count(const tg_work *w);

/* Whether gradients of what came out contain forces or points of contacts. (step_vjp.c) */
bool tg_wants_contacts(const tg_cotangent *out);

/* tg_info of the step. (info.c) */
tg_status tg_step_report(const tg_model *m, tg_work *w);

/* A number that changes when the coefficient of another geom counts at a contact. (info.c) */
void tg_step_choices(const tg_work *w, uint64_t *hash);

/* What the last step had and gave, modes included: bytes, and their copy to memory of that size; bytes that a step of
 * the model is likely to take. (record.c) */
size_t tg_step_record_bytes(const tg_work *w);
void tg_step_record(const tg_work *w, unsigned char *to);
size_t tg_step_record_foreseen(const tg_model *m);

/* What a step is brought back for. */
typedef enum tg_restore_use
{
    TG_RESTORE_STATES,     /* gradients of states and controls */
    TG_RESTORE_PARAMETERS, /* and of parameters: where geoms are counts */
    TG_RESTORE_COLUMNS     /* forward mode too */
} tg_restore_use;

/* Brings the workspace to where tg_step(in, control) left it, with nothing searched for and nothing solved: contact
 * points, impulses and modes are those of the record, the rest is computed again, bit by bit the same. next: the state
 * that came out. The options of the step are already there (tg_step_options). (record.c) */
tg_status tg_step_restore(const tg_model *m, tg_work *w, const tg_state *in, const tg_control *control,
                          const tg_state *next, const unsigned char *record, tg_restore_use use);

/* Reverse and forward mode of the step as it is, whatever the option backward says, without checks. range: where each
 * direction has parameters, NULL: anywhere. (step_vjp.c, jvp.c) */
tg_status tg_step_reverse(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in);
tg_status tg_step_forward(const tg_model *m, tg_work *w, int count, const tg_cotangent *in, const tg_param_range *range,
                          tg_cotangent *out);

/* tg_step_jvp along several changes at once, without checks of the numbers. (jvp.c) */
tg_status tg_step_jvp_many(const tg_model *m, tg_work *w, int count, const tg_cotangent *in,
                           const tg_param_range *range, tg_cotangent *out, tg_label *label);

/* Refuses a change with numbers that are not finite. (jvp.c) */
tg_status tg_check_change(const tg_model *m, tg_work *w, const tg_cotangent *in);

/* tg_step_vjp that adds to in->params, whose turns are left to tg_gradient_end (dynamics/vjp.h). (step_vjp.c) */
tg_status tg_step_vjp_add(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label);

/* The second problem of a step with impacts within takes the place of the first, or gives it back; and the velocities
 * without constraints, with no impulses. Forward mode of such a step, without checks; by_u, by_act: as for
 * tg_forward_begin. (within.c) */
void tg_within_exchange(tg_work *w);
void tg_within_free(tg_work *w);
tg_status tg_within_forward(const tg_model *m, tg_work *w, int count, const tg_cotangent *in,
                            const tg_param_range *range, bool by_u, bool by_act, tg_cotangent *out);

/* the speed by which derivatives smooth the law of contact; 0: they do not */
static inline double tg_smooth_speed(const tg_step_work *s)
{
    return s->options.backward == TG_BACKWARD_SMOOTHED ? s->options.smooth_speed : 0;
}

/* The speeds by which the rows of an island are smoothed, whose velocities are sigma; valid until the next call.
 * (derivative.c) */
const double *tg_smooth_speeds(tg_work *w, const tg_rows_island *island, const double *sigma);

/* Whether the last step had impacts whose time counts. (saltation.c) */
bool tg_saltation_acts(const tg_work *w);

/* The cone law of the step; that of the constraints beside contacts where these have an explicit one. */
static inline const tg_cone_law *tg_step_law(const tg_step_work *s)
{
    return s->law;
}

/* Whether impulses of the last step's impacts are held fixed in its derivatives; these come row by row then.
 * (saltation.c) */
bool tg_detaches(const tg_work *w);

/* Adds what the time of impact adds: to g and *gdt, from the gradients out; to out, along in; to the matrices.
 * (saltation.c) */
void tg_saltation_reverse(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_gradient g, double *gdt);
tg_status tg_saltation_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out);
tg_status tg_saltation_jacobian(const tg_model *m, tg_work *w, tg_jacobian *j);

/* Whether rows that hold against each other cease to agree as bodies are displaced: one of them opens or slips then;
 * and dry friction at its bound with those that hold it, as anything is displaced. After the islands were factored.
 * (brace.c) */
bool tg_braces_give(const tg_model *m, tg_work *w);
bool tg_ties_give(const tg_model *m, tg_work *w);

/* The same as geoms and joints are displaced within their bodies, parameter by parameter: whether there are rows that
 * brace each other; if so the first call computes, for these parameters, what the second reads. After tg_braces_give.
 * (brace.c) */
bool tg_braces_params(const tg_model *m, tg_work *w, const int *index, int count);
bool tg_brace_gives(const tg_work *w, int param);

/* Friction of rows that nothing can move, and that a parameter may tilt: whether there are any; and then, right after,
 * whether a parameter lets them do something to v+. (brace.c) */
bool tg_fixed_rows(tg_work *w);
bool tg_fixed_row_gives(const tg_model *m, tg_work *w, int param);
/* whether a parameter may: it displaces geoms */
bool tg_param_places(const tg_model *m, int param);

/* Whether rows judged redundant are in fact slightly independent, below the rank tolerance of G, as at the dead centre
 * of a linkage: the motion then depends on how they share the load. */
bool tg_braces_move(const tg_model *m, tg_work *w);

/* Brings back what the derivatives of the last step need, if something else has used the workspace since; the factors
 * of its islands; the label. (derivative.c) */
tg_status tg_step_prepare(const tg_model *m, tg_work *w);

/* The same for derivatives of the impulses themselves, which redundant rows share by the selection rule. (derivative.c)
 */
tg_status tg_step_prepare_forces(const tg_model *m, tg_work *w);

#endif
