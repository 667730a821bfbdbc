/* The smooth part of a step: A (v_free - v) = dt (tau + actuators + passive + wrenches - bias), with A = M + dt damping
 * + dt^2 stiffness where these are implicit (those of tendons: tendons.c). An implicit spring acts at q + dt v+: -k (q
 * + dt v+ - q_0) = -k (q - q_0) - dt k v - dt k (v+ - v). */
#include "dynamics/actuation.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "math/lanes.h"
#include "step/gyroscopic.h"
#include "step/step.h"

double tg_implicit_spring_of(const tg_model *m, const tg_work *w, int dof)
{
    int joint = m->dof_joint[dof], type = m->joint_type[joint];
    bool implicit = w->step->options.implicit_springs && (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE);
    return implicit ? TG_PARAM(w->params, joint_stiffness)[joint] : 0;
}

tg_actuator_damping tg_implicit_damping_of(const tg_model *m, const tg_work *w, int actuator)
{
    const tg_step_work *s = w->step;
    tg_actuator_damping none = {.dof = -1};
    int joint = m->actuator_target[actuator];
    if (s->options.implicit_actuators != TG_ON || m->actuator_transmission[actuator] != TG_TRANSMISSION_JOINT ||
        (m->joint_type[joint] != TG_JOINT_HINGE && m->joint_type[joint] != TG_JOINT_SLIDE))
        return none;
    tg_actuator_damping d = {.dof = m->joint_dof[joint], .drive = &s->drive[actuator]};
    d.gear = *TG_PARAM_OF(w->params, actuator_gear, actuator);
    d.slope = -(TG_PARAM_OF(w->params, actuator_bias, actuator)[2] +
                TG_PARAM_OF(w->params, actuator_gain, actuator)[2] * d.drive->signal);
    return d.drive->force_end < 0 && d.slope > 0 ? d : none;
}

static void fill_drives(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    if (m->ntendon > 0)
        tg_tendon_rates(m, w, s->v);
    tg_drives_fill(m, w, s->v, s->act, s->u, s->options.dt, s->drive, &s->bounds);
}

static void fill_extra(const tg_model *m, const tg_work *w)
{
    tg_step_work *s = w->step;
    double dt = s->options.dt;
    for (int k = 0; k < m->nv; k++)
        s->extra[k] = s->options.implicit_damping ? dt * w->params->dof_damping[k] : 0;
    for (int k = 0; k < m->nv && s->options.implicit_springs; k++)
        s->extra[k] += dt * dt * tg_implicit_spring_of(m, w, k);
    for (int i = 0; i < m->nu && s->options.implicit_actuators == TG_ON; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, w, i);
        if (d.dof >= 0)
            s->extra[d.dof] += dt * d.gear * d.gear * d.slope;
    }
}

static void add(int n, const double *x, double *sum)
{
    v4_subtract_scaled(n, -1, x, sum);
}

/* J^T of every body's wrench at its centre of mass */
static void add_wrenches(const tg_model *m, const tg_work *w, const double *wrench, double *force)
{
    for (int body = 1; body < m->nbody; body++)
    {
        const double *f = wrench + TWIST * body;
        int node = m->body_node[body];
        if (node == 0 || (vec3_is_zero(f) && vec3_is_zero(f + DIM)))
            continue;
        spatial W = wrench_load(f, tg_body_centre(m, w, body));
        for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
            force[k] += spatial_dot(spatial_load(w->J + SPATIAL_SIZE * k), W);
    }
}

static void next_activations(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    for (int i = 0; i < m->nu && m->na > 0; i++)
    {
        int at = m->actuator_act[i];
        if (at < 0)
            continue;
        if (!m->actuator_act_limited[i] && m->actuator_dynamics[i] != TG_DYNAMICS_FILTEREXACT)
        {
            s->act_next[at] = s->act[at] + s->options.dt * s->drive[i].act_rate;
            continue;
        }
        tg_drive d = s->drive[i];
        tg_next_activation(m, w, i, s->act[at], s->options.dt, &d);
        s->act_next[at] = d.signal;
        tg_reserve_add(&s->bounds, d.bounds);
    }
}

/* beside: without actuators on tendons */
static void outer_forces(const tg_model *m, const tg_work *w, double *force, tg_reserve *bounds, bool beside)
{
    const tg_step_work *s = w->step;
    memset(force, 0, sizeof(double) * (size_t)m->nv);
    tg_add_drives(m, w, s->drive, beside, force);
    if (m->nu > 0)
        tg_clamp_joint_forces(m, w, force, bounds);
    add(m->nv, s->tau, force);
    if (s->has_wrench)
        add_wrenches(m, w, s->wrench, force);
}

void tg_outer_forces(const tg_model *m, const tg_work *w, double *force, tg_reserve *bounds)
{
    outer_forces(m, w, force, bounds, false);
}

/* Actuators on tendons go with the tendons' own forces, unless the force range of a joint clamps actuators by
 * themselves. */
static bool drives_tendons(const tg_model *m)
{
    bool clamps = false;
    for (int j = 0; j < m->njoint && m->ntendon > 0; j++)
        clamps = clamps || m->joint_force_limited[j];
    return m->ntendon > 0 && m->nu > 0 && !clamps;
}

static void smooth_forces(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    bool together = drives_tendons(m);
    tg_newton_euler(m, w, NULL, s->part);
    (together ? tg_passive_and_driven : tg_passive_force)(m, w, s->q, s->v, tg_tendons_late(m, w) ? s->options.dt : 0,
                                                          s->force);
    v4_subtract_scaled(m->nv, 1, s->part, s->force);
    outer_forces(m, w, s->part, &s->bounds, together);
    add(m->nv, s->part, s->force);
}

static tg_status make_stages(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_position_stage(m, w, s->q);
    if (m->nu > 0)
    {
        tg_transmissions(m, w, s->q);
        fill_drives(m, w);
    }
    else if (m->ntendon > 0)
    {
        tg_tendons(m, w, s->q);
        tg_tendon_rates(m, w, s->v);
    }
    tg_step_cables(m, w, &s->bounds);
    fill_extra(m, w);
    bool late = tg_tendons_late(m, w);
    if (late)
        tg_step_couplings(m, w);
    w->rows->grouped = late ? m : NULL;
    TG_TRY(tg_factor_mass(m, w, s->extra, late ? s->coupling : NULL));
    tg_node_twists(m, w, s->v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    return TG_OK;
}

tg_status tg_step_smooth(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double dt = s->options.dt;
    s->bounds = tg_no_reserve();
    TG_TRY(make_stages(m, w));
    smooth_forces(m, w);
    for (int k = 0; k < m->nv; k++)
        s->v_free[k] = dt * s->force[k];
    for (int k = 0; k < m->nv && s->options.implicit_springs; k++)
        s->v_free[k] -= dt * dt * tg_implicit_spring_of(m, w, k) * s->v[k];
    s->gyroscopic_factored = false;
    if (s->options.implicit_gyroscopic == TG_ON)
    {
        TG_TRY(tg_gyroscopic_factor(m, w));
        tg_gyroscopic_solve(m, w, s->v_free);
    }
    else
        tg_solve_mass(m, w, s->v_free);
    add(m->nv, s->v, s->v_free);
    next_activations(m, w);
    return TG_OK;
}
