/* The energy that a step creates.
 *
 * Along exact motion the energy E (kinetic, of gravity, of springs) changes by the work of all that acts from outside
 * and of what takes energy away:
 *     balance = E(q+, v+) - E(q, v) - dt v . (controls + tau + wrenches) - min(0, dt v . dampers) - v . J^T L,    v <-
 *         (v + v+) / 2.
 * Bias forces do no work, and dampers and the damping of servos take energy; what they add all the same, and springs
 * whose force is that of the start of the step, is the integrator's doing. (Against the work of all forces the change
 * of v^T A v / 2 would be an identity.) As long as a step is much shorter than any period and any turn, balance is a
 * small part of the energy that moves. A step that creates half of its kinetic energy is not the motion of the model
 * any more; there dampers count as 0, so that a transient whose energy falls, but not by as much as its dampers say,
 * is not taken for one that explodes. */
#include "step/balance.h"

#include <math.h>

#include "dynamics/actuation.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "solve/cone.h"
#include "step/stability.h"
#include "step/step.h"

/* Bias forces turn a body's momentum by |omega| dt in a step; what they create is a share of T of that order, squared.
 * Below this angle (rad), and without stiff springs, there is nothing to look for. */
static const double small_turn = 0.25;

static const double share = 0.5; /* of the kinetic energy */

/* Where dt is too long for its springs and dampers (stability.c), what moves with them grows from step to step, whether
 * or not this one happened to lose energy: in collisions, or as bodies turn. A tenth of the motion is more than what
 * any other cause leaves there, or where dt is too long for how bodies turn. */
static const double moving = 0.1;

static bool turns_far(const tg_model *m, const tg_step_work *s)
{
    const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}; /* all bits but the sign */
    v4 dt = v4_splat(s->options.dt), least = v4_splat(small_turn);
    v4i far = {0};
    int k = 0;
    for (; k + V4_LANES <= m->nv; k += V4_LANES)
        far |= (v4_keep(magnitude, v4_loadu(s->v + k)) * dt > least) |
               (v4_keep(magnitude, v4_loadu(s->v_next + k)) * dt > least);
    bool any = v4_any(far);
    for (; k < m->nv && !any; k++)
        any = tg_larger(fabs(s->v[k]), fabs(s->v_next[k])) * s->options.dt > small_turn;
    return any;
}

/* v . M v at the start of the step, without armature: less than all of it */
static double twice_kinetic(const tg_model *m, tg_work *w, const double *v)
{
    double sum = 0;
    tg_node_twists(m, w, v, w->Y);
    for (int i = 1; i < m->nnode; i++)
    {
        spatial V = spatial_load(w->Y + SPATIAL_SIZE * i);
        sum += spatial_dot(V, inertia_mul(inertia_load(w->inertia + INERTIA_SIZE * i), V));
    }
    return sum;
}

/* Where a body turns by more than 1 rad, explicit bias forces make T grow from step to step, and none need create half
 * of it. The kinematics are those of the end of the step. */
static bool turns_too_far(const tg_model *m, tg_work *w)
{
    double most = 0;
    tg_node_twists(m, w, w->step->v_next, w->Y);
    for (int i = 1; i < m->nnode; i++)
    {
        v4 omega = spatial_load(w->Y + SPATIAL_SIZE * i).ang;
        most = tg_larger(most, v4_dot(omega, omega));
    }
    return sqrt(most) * w->step->options.dt > 1;
}

/* Whether springs and dampers may have created so much energy. Springs K create at most dt^2/2 v+ . K v+. Dampers D act
 * with their force of the start: -dt (v + v+)/2 . D v, which is largest at v = -v+/2, dt/8 v+ . D v+. Together not more
 * than 2 v+ . S v+ with S = dt^2/4 K + dt/2 D, to first order. Half of what would count leaves room for the rest. */
static bool springs_create(const tg_model *m, tg_work *w)
{
    const double *v = w->step->v_next;
    return 2 * tg_stiff_motion(m, w, v) > 0.25 * share * twice_kinetic(m, w, v);
}

bool tg_balance_needed(const tg_model *m, tg_work *w)
{
    const tg_step_work *s = w->step;
    return s->options.energy || s->info.status != TG_STEP_SOLVED || turns_far(m, s) ||
           (s->stiff && springs_create(m, w));
}

/* dt v . (controls + tau + wrenches); what of the controls acts on v+ does so here */
static double outer_work(const tg_model *m, tg_work *w, const double *v, double *force)
{
    const tg_step_work *s = w->step;
    tg_outer_forces(m, w, force, NULL);
    for (int i = 0; i < m->nu && s->options.implicit_actuators == TG_ON; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, w, i);
        if (d.dof >= 0)
            force[d.dof] -= d.gear * d.gear * d.slope * (s->v_next[d.dof] - s->v[d.dof]);
    }
    for (int i = 0; i < m->nu && tg_tendons_late(m, w); i++)
        tg_add_actuator_force(m, w, i, tg_late_drive(m, w, i).force - s->drive[i].force, force);
    return s->options.dt * tg_dot(m->nv, force, v);
}

/* What the damping of all servos on v creates: dt v . damping, if that is positive, which no damper's work is. Not more
 * than what acts from outside gave in all: a joint's force range may have cut it. */
static double servo_work(const tg_model *m, const tg_work *w, const double *v, double outer)
{
    const tg_step_work *s = w->step;
    double sum = 0;
    for (int i = 0; i < m->nu; i++)
    {
        const tg_drive *d = &s->drive[i];
        bool late = tg_late_slope(m, w, i) > 0 || tg_implicit_damping_of(m, w, i).dof >= 0;
        double slope =
            TG_PARAM_OF(w->params, actuator_bias, i)[2] + TG_PARAM_OF(w->params, actuator_gain, i)[2] * d->signal;
        if (!late && d->force_end < 0 && slope < 0 && m->actuator_drives[i] == TG_DRIVES_FORCE)
            sum += s->options.dt * slope * d->rate * tg_dot(m->nv, tg_actuator_row(m, w, i), v);
    }
    return fmin(fmax(0, sum), fmax(0, outer));
}

/* dt v . dampers, at most 0: passive forces at v less those at rest */
static double damper_work(const tg_model *m, tg_work *w, const double *v, double *force, double *springs)
{
    const tg_step_work *s = w->step;
    tg_passive_force(m, w, s->q, s->v, 0, force);
    tg_passive_force(m, w, s->q, s->zeros, 0, springs);
    for (int t = 0; t < m->ntendon && tg_tendons_late(m, w); t++)
    {
        tg_pull start = tg_tendon_pull(m, w, t, (tg_tendon_when){s->v, 0});
        tg_tendon_add(m, w, t, start.damping * (start.rate - tg_tendon_rate(m, w, t, s->v_next)), force);
    }
    for (int k = 0; k < m->nv; k++)
    {
        double late = s->options.implicit_damping ? w->params->dof_damping[k] * (s->v_next[k] - s->v[k]) : 0;
        force[k] -= springs[k] + late;
    }
    return fmin(0, s->options.dt * tg_dot(m->nv, force, v));
}

static double impulse_work(const tg_model *m, tg_work *w, const double *v)
{
    const tg_rows *r = w->rows;
    if (r->nrow == 0)
        return 0;
    tg_rows_velocity(m, w, v, w->step->row_gradient);
    return tg_dot(r->nrow, r->L, w->step->row_gradient);
}

/* Gravity acts for a step with the mean velocity and lifts with the last one: a body that lands or bounces has a
 * balance of m |g| dt |v+ - v| / 2 <= m |g| dt |v|, which is more than half its kinetic energy only below |v| = 4 |g|
 * dt, where it is less than 4 m (g dt)^2. With v_rest >= 2 |g| dt: */
static double least(const tg_model *m, const tg_work *w)
{
    double mass = 0, slow = w->step->options.rest_speed;
    for (int i = 1; i < m->nbody; i++)
        mass += m->body_node[i] > 0 ? TG_PARAM(w->params, body_mass)[i] : 0;
    return mass * slow * slow;
}

tg_status tg_step_balance(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double *v = s->cotangent, *force = v + m->nv, *springs = v + 2 * m->nv, kinetic, potential;
    for (int k = 0; k < m->nv; k++)
        v[k] = 0.5 * (s->v[k] + s->v_next[k]);
    double outer = outer_work(m, w, v, force), given = outer - servo_work(m, w, v, outer) + impulse_work(m, w, v);
    double taken = damper_work(m, w, v, force, springs);
    if (s->placement == w->placement) /* the end of the step has not been computed yet (hold.c) */
        tg_energy_here(m, w, s->q, s->v, &kinetic, &potential);
    else
        TG_TRY(tg_energy(m, w, s->q, s->v, &kinetic, &potential));
    TG_TRY(tg_energy(m, w, s->q_next, s->v_next, &s->info.kinetic, &s->info.potential));
    double gain = s->info.kinetic + s->info.potential - kinetic - potential - given;
    s->info.balance = gain - taken;
    bool grows = s->too_long && tg_stiff_motion(m, w, s->v_next) > moving * 2 * s->info.kinetic;
    double created = (turns_too_far(m, w) ? moving : share) * fmax(kinetic, s->info.kinetic);
    if ((grows && s->info.kinetic > least(m, w)) || (gain > created && gain > least(m, w)))
        s->info.status = TG_STEP_UNSTABLE;
    return TG_OK;
}
