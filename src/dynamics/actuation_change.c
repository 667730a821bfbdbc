/* Actuators along a change of parameters (change.h): of actuation.c. */
#include "dynamics/change.h"
#include "dynamics/tendon.h"
#include "tangere/algebra.h"

static bool has_signal(const tg_model *m, const tg_change *c)
{
    int fields = m->offset.equality_data - m->offset.actuator_gear;
    return c->dt != 0 || tg_changes(c, m->offset.actuator_gear, fields);
}

/* a control that is clamped follows its bound */
static double control_change(const tg_model *m, const tg_change *c, int i, const tg_drive *d)
{
    if (c->params == NULL || d->control_end < 0)
        return 0;
    return c->params[m->offset.actuator_ctrl_range + 2 * i + d->control_end];
}

double tg_change_signal(const tg_model *m, const tg_work *w, const tg_change *c, int i, double act, const tg_drive *d)
{
    double control = control_change(m, c, i, d);
    if (m->actuator_act[i] < 0)
        return control;
    bool integrator = m->actuator_dynamics[i] == TG_DYNAMICS_INTEGRATOR;
    double tau = integrator ? 1 : TG_PARAM(w->params, actuator_tau)[i];
    double by_tau = integrator || c->params == NULL ? 0 : c->params[m->offset.actuator_tau + i];
    double rate = control / tau - by_tau * (d->control - act) / (tau * tau);
    double change = d->signal_act_rate * rate + d->signal_tau * by_tau + d->signal_dt * c->dt;
    if (c->params != NULL && d->signal_end >= 0)
        change += c->params[m->offset.actuator_act_range + 2 * i + d->signal_end];
    return change;
}

/* ---- length and moment of a transmission ---- */

static double joint_change(const tg_model *m, const tg_change *c, int i, const double *q)
{
    int joint = m->actuator_target[i], dof = m->joint_dof[joint], type = m->joint_type[joint];
    const double *gear = c->params + m->offset.actuator_gear + 6 * i, *qj = q + m->joint_q[joint];
    int n = type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
    memcpy(c->arm + dof, gear, sizeof(double) * (size_t)n);
    if (n != 3)
        return n == 1 ? gear[0] * qj[0] : 0;
    double unit[4], angle[3];
    tg_quat_normalise(qj, unit);
    tg_quat_log(unit, angle);
    return gear[0] * angle[0] + gear[1] * angle[1] + gear[2] * angle[2];
}

/* d of tg_tendon_gear */
static double gear_change(const tg_model *m, const tg_work *w, const tg_change *c, int i)
{
    int tendon = m->actuator_target[i], mode = w->tendon_mode[tendon];
    double d = c->params[m->offset.actuator_gear + 6 * i];
    if (m->actuator_drives[i] != TG_DRIVES_REST)
        return mode != TG_TENDON_SLACK ? d : 0;
    double gear = TG_PARAM(w->params, actuator_gear)[6 * i], dk = c->params[m->offset.tendon_stiffness + tendon];
    return mode >= 0 ? d * TG_PARAM(w->params, tendon_stiffness)[tendon] + gear * dk : 0;
}

static double tendon_change(const tg_model *m, const tg_work *w, const tg_change *c, int i)
{
    int tendon = m->actuator_target[i];
    double gear = tg_tendon_gear(m, w, i), d = gear_change(m, w, c, i);
    const double *moment = tg_tendon_moment(m, w, tendon), *dmoment = c->moment + (size_t)tendon * (size_t)m->nv;
    for (int k = 0; k < m->nv; k++)
        c->arm[k] = d * moment[k] + (c->pulls ? gear * dmoment[k] : 0);
    return d * w->tendon_length[tendon] + (c->pulls ? gear * c->length[tendon] : 0);
}

/* the wrench of a site: gear in its axes; displaced with its body, and by where the site sits in it */
static void site_change(const tg_model *m, const tg_work *w, const tg_change *c, int i)
{
    int site = m->actuator_target[i], body = m->site_body[site], node = m->body_node[body];
    const double *gear = TG_PARAM(w->params, actuator_gear) + 6 * i, *d = c->params + m->offset.actuator_gear + 6 * i;
    const double *quat = TG_PARAM(w->params, site_quat) + 4 * site;
    if (node == 0)
        return;
    mat3 body_rot = tg_body_rotation(w, body), R = mat3_product(body_rot, mat3_from_quat(quat));
    v4 p = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, node) +
           mat3_mul_mem(body_rot, TG_PARAM(w->params, site_pos) + 3 * site);
    v4 force = mat3_mul_mem(R, gear), torque = mat3_mul_mem(R, gear + 3);
    v4 turn = mat3_mul(body_rot, tg_quaternion_turn(quat, c->params + m->offset.site_quat + 4 * site));
    v4 moved = mat3_mul_mem(body_rot, c->params + m->offset.site_pos + 3 * site);
    spatial W = wrench_at(force, p);
    W.ang += torque;
    spatial dW = wrench_at(mat3_mul_mem(R, d) + v4_cross(turn, force), p);
    dW.ang += mat3_mul_mem(R, d + 3) + v4_cross(turn, torque) + v4_cross(moved, force);
    dW = spatial_add(dW, force_cross(tg_displacement(c, body), W));
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        c->arm[k] = spatial_dot(spatial_load(w->J + SPATIAL_SIZE * k), dW);
        if (c->moves)
            c->arm[k] += spatial_dot(spatial_load(c->dJ + SPATIAL_SIZE * k), W);
    }
}

static bool arm_changes(const tg_model *m, const tg_change *c, int i)
{
    int kind = m->actuator_transmission[i];
    bool placed = c->moves || tg_changes(c, m->offset.site_pos, 7 * m->nsite);
    bool sprung = kind == TG_TRANSMISSION_TENDON && m->actuator_drives[i] == TG_DRIVES_REST &&
                  tg_changes(c, m->offset.tendon_stiffness, m->ntendon);
    return sprung || tg_changes(c, m->offset.actuator_gear + 6 * i, 6) ||
           (kind == TG_TRANSMISSION_TENDON && c->pulls) ||
           (kind != TG_TRANSMISSION_JOINT && kind != TG_TRANSMISSION_TENDON && placed);
}

/* ---- force ---- */

static double force_change(const tg_model *m, const tg_work *w, const tg_change *c, int i, const tg_drive *d,
                           double length, double rate)
{
    const double *gain = TG_PARAM(w->params, actuator_gain) + 3 * i, *bias = TG_PARAM(w->params, actuator_bias) + 3 * i;
    if (d->force_end >= 0)
        return c->params != NULL ? c->params[m->offset.actuator_force_range + 2 * i + d->force_end] : 0;
    double change =
        (gain[1] * d->signal + bias[1]) * length + (gain[2] * d->signal + bias[2]) * rate + d->gain * c->signal[i];
    if (!tg_changes(c, m->offset.actuator_gain, m->offset.actuator_tau - m->offset.actuator_gain))
        return change;
    const double *dgain = c->params + m->offset.actuator_gain + 3 * i;
    const double *dbias = c->params + m->offset.actuator_bias + 3 * i;
    return change + d->signal * (dgain[0] + dgain[1] * d->length + dgain[2] * d->rate) + dbias[0] +
           dbias[1] * d->length + dbias[2] * d->rate;
}

static void drive_change(const tg_model *m, const tg_work *w, tg_change *c, int i, const double *q, const double *v,
                         const tg_drive *d)
{
    tg_span across = tg_actuator_span(m, i);
    double length = 0, rate = 0;
    bool arm = arm_changes(m, c, i);
    if (arm)
    {
        memset(c->arm + across.first, 0, sizeof(double) * (size_t)(across.last - across.first));
        if (m->actuator_transmission[i] == TG_TRANSMISSION_JOINT)
            length = joint_change(m, c, i, q);
        else if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
            length = tendon_change(m, w, c, i);
        else
            site_change(m, w, c, i);
        for (int k = across.first; k < across.last; k++)
            rate += c->arm[k] * v[k];
    }
    double change = force_change(m, w, c, i, d, length, rate);
    const double *moment = tg_actuator_row(m, w, i);
    for (int k = across.first; k < across.last; k++)
        c->driven[k] += moment[k] * change + (arm ? c->arm[k] * d->force : 0);
}

/* whether anything of an actuator changes; own: numbers of actuators, or dt */
static bool drive_changes(const tg_model *m, const tg_change *c, int i, bool own)
{
    const tg_param_offsets *at = &m->offset;
    if (!own && m->actuator_transmission[i] == TG_TRANSMISSION_JOINT)
        return false;
    return c->signal[i] != 0 || arm_changes(m, c, i) || tg_changes(c, at->actuator_gain + 3 * i, 3) ||
           tg_changes(c, at->actuator_bias + 3 * i, 3) || tg_changes(c, at->actuator_force_range + 2 * i, 2);
}

/* a dof whose actuators are clamped together follows the bound */
static void clamped_change(const tg_model *m, tg_work *w, tg_change *c, const tg_drive *drive)
{
    double *force = c->arm, bound; /* of all actuators, before the joints' ranges */
    memset(force, 0, sizeof(double) * (size_t)m->nv);
    for (int i = 0; i < m->nu; i++)
        tg_add_actuator_force(m, w, i, drive[i].force, force);
    for (int k = 0; k < m->nv; k++)
    {
        int end = m->joint_force_limited[m->dof_joint[k]] ? tg_joint_force_end(m, w, k, force[k], &bound) : -1;
        if (end >= 0)
            c->driven[k] = c->params != NULL ? c->params[m->offset.joint_force_range + 2 * m->dof_joint[k] + end] : 0;
    }
}

static bool any_clamped(const tg_model *m)
{
    for (int j = 0; j < m->njoint; j++)
        if (m->joint_force_limited[j])
            return true;
    return false;
}

void tg_change_actuation(const tg_model *m, tg_work *w, tg_change *c, const double *q, const double *v,
                         const double *v_late, const double *act, const tg_drive *drive)
{
    bool signals = has_signal(m, c), any = tg_changes(c, m->offset.joint_force_range, 2 * m->njoint);
    bool may = signals || any || c->moves || c->pulls || tg_changes(c, m->offset.site_pos, 7 * m->nsite) ||
               tg_changes(c, m->offset.tendon_stiffness, m->ntendon);
    memset(c->signal, 0, sizeof(double) * (size_t)m->nu);
    if (m->nu == 0 || !may)
        return;
    for (int i = 0; i < m->nu && signals; i++)
        c->signal[i] = tg_change_signal(m, w, c, i, m->actuator_act[i] >= 0 ? act[m->actuator_act[i]] : 0, &drive[i]);
    for (int i = 0; i < m->nu && !any; i++)
        any = drive_changes(m, c, i, signals);
    if (!any)
        return;
    memset(c->driven, 0, sizeof(double) * (size_t)m->nv);
    for (int i = 0; i < m->nu; i++)
        if (drive_changes(m, c, i, signals))
            drive_change(m, w, c, i, q, drive[i].late ? v_late : v, &drive[i]);
    if (any_clamped(m))
        clamped_change(m, w, c, drive);
    for (int k = 0; k < m->nv; k++)
        c->force[k] += c->driven[k];
}
