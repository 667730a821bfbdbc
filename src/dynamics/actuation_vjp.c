/* Reverse mode of the actuators (actuation.c). */
#include "dynamics/actuation.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "dynamics/vjp.h"
#include "tangere/algebra.h"

/* Cotangents of what a transmission gives: length, rate = moment . v (or of the second vector of the pass: late), and
 * arm = moment . y. */
typedef struct transmission_gradient
{
    double length, rate, arm;
    bool late;
} transmission_gradient;

/* gear times something at a ball or free joint; the ball's length is gear . Log(q), the free joint's 0 */
static void joint_reverse(const tg_actuators *x, int i, transmission_gradient t)
{
    const tg_model *m = x->m;
    int joint = m->actuator_target[i], dof = m->joint_dof[joint];
    const double *gear = TG_PARAM(x->w->params, actuator_gear) + 6 * i;
    bool ball = m->joint_type[joint] == TG_JOINT_BALL;
    double unit[6] = {0}, slope[6] = {0}; /* length / gear, d length / d q */
    if (ball)
    {
        double quat[4];
        tg_quat_normalise(x->q + m->joint_q[joint], quat);
        tg_quat_log(quat, unit);
        tg_ball_length_gradient(m, x->w, i, x->q, slope);
    }
    for (int k = 0; k < (ball ? 3 : 6); k++)
    {
        x->g.q[dof + k] += t.length * slope[k];
        x->g.v[dof + k] += t.rate * gear[k];
        if (x->g.params != NULL)
            x->g.params[m->offset.actuator_gear + 6 * i + k] +=
                t.length * unit[k] + t.rate * x->v[dof + k] + t.arm * x->y[dof + k];
    }
}

static inline void tendon_reverse(const tg_actuators *x, int i, double effective, transmission_gradient t)
{
    const tg_model *m = x->m;
    int tendon = m->actuator_target[i];
    double gear = TG_PARAM(x->w->params, actuator_gear)[6 * i];
    if (effective == 0 && (gear != 0 || x->g.params == NULL))
        return; /* slack */
    tg_adjoint_tendon(x->w, tendon,
                      (tg_tendon_gradient){effective * t.length, t.late ? 0 : effective * t.rate, effective * t.arm,
                                           t.late ? effective * t.rate : 0});
    if (x->g.params == NULL)
        return;
    double arm = t.arm * tg_tendon_rate_of(m, x->w, tendon, x->y),
           *by_gear = x->g.params + m->offset.actuator_gear + 6 * i;
    if (m->actuator_drives[i] != TG_DRIVES_REST)
    {
        *by_gear += t.length * x->w->tendon_length[tendon] +
                    t.rate * tg_tendon_rate_of(m, x->w, tendon, t.late ? x->v_late : x->v) + arm;
        return;
    }
    if (x->w->tendon_mode[tendon] < 0)
        return;
    *by_gear += TG_PARAM(x->w->params, tendon_stiffness)[tendon] * arm; /* force = gear stiffness output */
    x->g.params[m->offset.tendon_stiffness + tendon] += gear * arm;
}

/* rate = V . W, arm = Y . W, with the wrench W fixed in the site: S . W with S = rate V + arm Y, through the pose of
 * the body, and through gear, position and orientation of the site */
static void site_reverse(const tg_actuators *x, int i, transmission_gradient t)
{
    const tg_model *m = x->m;
    tg_work *w = x->w;
    int site = m->actuator_target[i], body = m->site_body[site], node = m->body_node[body];
    spatial W = tg_site_wrench(m, w, i);
    const double *twists = t.late ? w->Z : w->V;
    spatial S = spatial_add(spatial_scale(spatial_load(twists + SPATIAL_SIZE * node), t.rate),
                            spatial_scale(spatial_load(w->Y + SPATIAL_SIZE * node), t.arm));
    tg_adjoint_seed(w, body, spatial_scale(force_cross(S, W), -1), spatial_scale(W, t.late ? 0 : t.rate),
                    spatial_scale(W, t.arm));
    if (t.late)
        tg_adjoint_seed_second(w, body, spatial_scale(W, t.rate));
    if (x->g.params == NULL)
        return;
    const double *gear = TG_PARAM(w->params, actuator_gear) + 6 * i, *quat = TG_PARAM(w->params, site_quat) + 4 * site;
    mat3 body_rot = tg_body_rotation(w, body), R = mat3_product(body_rot, mat3_from_quat(quat));
    v4 force = mat3_mul_mem(R, gear), torque = mat3_mul_mem(R, gear + 3);
    v4 p = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, node) +
           mat3_mul_mem(body_rot, TG_PARAM(w->params, site_pos) + 3 * site);
    v4 at_site = twist_at(S, p);
    v4 g_force = mat3_mul_t(R, at_site), g_torque = mat3_mul_t(R, S.ang);
    v4 g_pos = mat3_mul_t(body_rot, v4_cross(force, S.ang));
    v4 turn = mat3_mul_t(body_rot, v4_cross(force, at_site) + v4_cross(torque, S.ang));
    tg_add3(x->g.params + m->offset.actuator_gear + 6 * i, g_force);
    tg_add3(x->g.params + m->offset.actuator_gear + 6 * i + 3, g_torque);
    tg_add3(x->g.params + m->offset.site_pos + 3 * site, g_pos);
    tg_add3(x->g.params + m->offset.site_quat + 4 * site, turn);
}

/* a signal that is an activation; the gradient of its control */
static double activation_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_signal, double g_rate)
{
    const tg_model *m = x->m;
    bool integrator = m->actuator_dynamics[i] == TG_DYNAMICS_INTEGRATOR;
    double tau = integrator ? 1 : TG_PARAM(x->w->params, actuator_tau)[i], *params = x->g.params;
    g_rate += g_signal * d->signal_act_rate;
    x->gact[m->actuator_act[i]] += g_signal * d->signal_act - (integrator ? 0 : g_rate / tau);
    if (params != NULL && !integrator)
        params[m->offset.actuator_tau + i] +=
            g_signal * d->signal_tau - g_rate * (d->control - x->act[m->actuator_act[i]]) / (tau * tau);
    if (params != NULL && d->signal_end >= 0)
        params[m->offset.actuator_act_range + 2 * i + d->signal_end] += g_signal;
    return g_rate / tau;
}

static inline void signal_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_signal, double g_rate)
{
    double g_control = x->m->actuator_act[i] >= 0 ? activation_reverse(x, i, d, g_signal, g_rate) : g_signal;
    if (d->control_end < 0)
        x->gu[i] += g_control;
    else if (x->g.params != NULL)
        x->g.params[x->m->offset.actuator_ctrl_range + 2 * i + d->control_end] += g_control;
}

void tg_signal_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_signal, double g_rate)
{
    signal_reverse(x, i, d, g_signal, g_rate);
}

static void law_gradient(const tg_actuators *x, int i, const tg_drive *d, double arm, double g_force)
{
    double *gain = x->g.params + x->m->offset.actuator_gain + 3 * i, signal = g_force * d->signal;
    double *bias = x->g.params + x->m->offset.actuator_bias + 3 * i;
    gain[0] += signal;
    gain[1] += signal * d->length;
    gain[2] += signal * d->rate;
    bias[0] += g_force;
    bias[1] += g_force * d->length;
    bias[2] += g_force * d->rate;
    if (d->force_end >= 0)
        x->g.params[x->m->offset.actuator_force_range + 2 * i + d->force_end] += arm;
}

/* gear times q of a hinge or slide */
static inline void axis_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_rate)
{
    const tg_model *m = x->m;
    const double *value = x->w->params->value, *gain = value + m->offset.actuator_gain + 3 * i;
    const double *bias = value + m->offset.actuator_bias + 3 * i;
    int joint = m->actuator_target[i], dof = m->joint_dof[joint];
    double gear = value[m->offset.actuator_gear + 6 * i], arm = gear * x->y[dof], g_force = d->force_end < 0 ? arm : 0;
    double length = g_force * (gain[1] * d->signal + bias[1]), rate = g_force * (gain[2] * d->signal + bias[2]);
    x->g.q[dof] += length * gear;
    x->g.v[dof] += rate * gear;
    signal_reverse(x, i, d, g_force * d->gain, g_rate);
    if (x->g.params == NULL)
        return;
    x->g.params[m->offset.actuator_gear + 6 * i] +=
        length * x->q[m->joint_q[joint]] + rate * x->v[dof] + d->force * x->y[dof];
    law_gradient(x, i, d, arm, g_force);
}

/* y . force of one actuator: force arm, arm = moment . y */
void tg_actuator_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_rate)
{
    const tg_model *m = x->m;
    if (tg_actuator_has_axis(m, i))
    {
        axis_reverse(x, i, d, g_rate);
        return;
    }
    const double *gain = TG_PARAM(x->w->params, actuator_gain) + 3 * i;
    const double *bias = TG_PARAM(x->w->params, actuator_bias) + 3 * i;
    bool tendon = m->actuator_transmission[i] == TG_TRANSMISSION_TENDON;
    double gear = tendon ? tg_tendon_gear(m, x->w, i) : 0;
    double arm = tendon ? gear * tg_tendon_rate_of(m, x->w, m->actuator_target[i], x->y)
                        : tg_actuator_along_all(m, x->w, i, x->y);
    double g_force = d->force_end < 0 ? arm : 0;
    transmission_gradient t = {g_force * (gain[1] * d->signal + bias[1]), g_force * (gain[2] * d->signal + bias[2]),
                               d->force, d->late};
    if (m->actuator_transmission[i] == TG_TRANSMISSION_JOINT)
        joint_reverse(x, i, t);
    else if (tendon)
        tendon_reverse(x, i, gear, t);
    else
        site_reverse(x, i, t);
    signal_reverse(x, i, d, g_force * d->gain, g_rate);
    if (x->g.params != NULL)
        law_gradient(x, i, d, arm, g_force);
}

/* Where a joint's force range acts, the range takes the gradient and y does not reach the actuators. */
bool tg_joint_range_reverse(const tg_model *m, const tg_work *w, const double *force, const double *y, double *passed,
                            double *gparams)
{
    bool clamped = false;
    for (int k = 0; k < m->nv; k++)
    {
        double bound;
        int end = tg_joint_force_end(m, w, k, force[k], &bound);
        passed[k] = end < 0 ? y[k] : 0;
        clamped = clamped || end >= 0;
        if (end >= 0 && gparams != NULL)
            gparams[m->offset.joint_force_range + 2 * m->dof_joint[k] + end] += y[k];
    }
    return clamped;
}

tg_status tg_actuation_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                           const double *u, const double *y, const double *y_rate, double *gq, double *gv, double *gact,
                           double *gu, double *gparams)
{
    TG_TRY(tg_check_actuation(m, w, q, v, act, u));
    TG_TRY(tg_check_vector(w, "y", y, m->nv));
    if (y_rate != NULL)
        TG_TRY(tg_check_vector(w, "y_rate", y_rate, m->na));
    double *force = w->vec, *passed = w->vec + m->nv, *g_act = w->actuator_gradient, *g_u = g_act + m->nu;
    memset(g_act, 0, sizeof(double) * 2 * (size_t)m->nu);
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    tg_transmissions(m, w, q);
    tg_actuator_forces(m, w, v, act, u, m->timestep, force, NULL);
    tg_gradient g = tg_gradient_begin(m, w, gparams);
    tg_joint_range_reverse(m, w, force, y, passed, gparams);
    tg_adjoint_begin(m, w, passed);
    tg_actuators x = {m, w, q, v, NULL, act, passed, g_act, g_u, g};
    for (int i = 0; i < m->nu; i++)
    {
        tg_drive d = tg_drive_of(m, w, i, v, act, u, m->timestep);
        double g_rate = y_rate != NULL && m->actuator_act[i] >= 0 ? y_rate[m->actuator_act[i]] : 0;
        tg_actuator_reverse(&x, i, &d, g_rate);
    }
    tg_adjoint_end(m, w, q, &(tg_adjoint_fields){.v = v, .y = passed}, g.q, g.v, g.a, g.params);
    tg_gradient_end(m, w, g.params);
    tg_gradient_copy(m, g.q, gq);
    tg_gradient_copy(m, g.v, gv);
    if (gact != NULL)
        memcpy(gact, g_act, sizeof(double) * (size_t)m->na);
    if (gu != NULL)
        memcpy(gu, g_u, sizeof(double) * (size_t)m->nu);
    return TG_OK;
}
