/* Actuators, as MuJoCo defines them:
 *
 *   force = clamp(gain(length, rate) s + bias(length, rate)),  gain, bias = c0 + c1 length + c2 rate,
 *
 * with s the control, or the activation where there is one, and rate = moment . v. Generalised force: moment^T force,
 * clamped joint by joint where a joint has a force range. Activation: d act/dt = u (integrator) or (u - act) / tau
 * (filters). */
#include "dynamics/actuation.h"

#include <float.h>
#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "tangere/algebra.h"

/* ---- transmissions ---- */

/* on a ball or free joint */
static double joint_transmission(const tg_model *m, const tg_work *w, int i, const double *q, double *moment)
{
    int joint = m->actuator_target[i], dof = m->joint_dof[joint];
    const double *gear = TG_PARAM(w->params, actuator_gear) + 6 * i, *qj = q + m->joint_q[joint];
    double unit[4], angle[3];
    if (m->joint_type[joint] == TG_JOINT_FREE)
    {
        memcpy(moment + dof, gear, 6 * sizeof(double));
        return 0;
    }
    memcpy(moment + dof, gear, 3 * sizeof(double));
    tg_quat_normalise(qj, unit);
    tg_quat_log(unit, angle);
    return gear[0] * angle[0] + gear[1] * angle[1] + gear[2] * angle[2];
}

spatial tg_site_wrench(const tg_model *m, const tg_work *w, int actuator)
{
    int site = m->actuator_target[actuator], body = m->site_body[site];
    const double *gear = TG_PARAM(w->params, actuator_gear) + 6 * actuator;
    mat3 body_rot = tg_body_rotation(w, body);
    mat3 R = mat3_product(body_rot, mat3_from_quat(TG_PARAM(w->params, site_quat) + 4 * site));
    v4 point = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, m->body_node[body]) +
               mat3_mul_mem(body_rot, TG_PARAM(w->params, site_pos) + 3 * site);
    spatial W = wrench_at(mat3_mul_mem(R, gear), point);
    W.ang += mat3_mul_mem(R, gear + 3);
    return W;
}

static void site_transmission(const tg_model *m, const tg_work *w, int i, double *moment)
{
    int node = m->body_node[m->site_body[m->actuator_target[i]]];
    if (node == 0)
        return;
    spatial W = tg_site_wrench(m, w, i);
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
        moment[k] = spatial_dot(spatial_load(w->J + SPATIAL_SIZE * k), W);
}

const double *tg_actuator_row(const tg_model *m, const tg_work *w, int i)
{
    double *moment = tg_actuator_moment(m, w, i);
    if (m->actuator_transmission[i] != TG_TRANSMISSION_TENDON)
        return moment;
    int tendon = m->actuator_target[i];
    double gear = tg_tendon_gear(m, w, i);
    const double *arm = tg_tendon_moment(m, w, tendon);
    const int *dof = tg_tendon_dofs(m, tendon);
    for (int k = 0; k < m->tendon_ndof[tendon]; k++)
        moment[dof[k]] = gear * arm[dof[k]];
    return moment;
}

void tg_transmissions(const tg_model *m, tg_work *w, const double *q)
{
    tg_tendons(m, w, q);
    for (int i = 0; i < m->nu; i++)
    {
        double *moment = tg_actuator_moment(m, w, i);
        if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON) /* its moment is its tendon's: tg_actuator_row */
        {
            w->actuator_length[i] = tg_tendon_gear(m, w, i) * w->tendon_length[m->actuator_target[i]];
            continue;
        }
        if (tg_actuator_has_axis(m, i))
        {
            int joint = m->actuator_target[i];
            double gear = TG_PARAM(w->params, actuator_gear)[6 * i];
            moment[m->joint_dof[joint]] = gear;
            w->actuator_length[i] = gear * q[m->joint_q[joint]];
            continue;
        }
        tg_span across = tg_actuator_span(m, i);
        memset(moment + across.first, 0, sizeof(double) * (size_t)(across.last - across.first));
        w->actuator_length[i] = 0;
        if (m->actuator_transmission[i] == TG_TRANSMISSION_JOINT)
            w->actuator_length[i] = joint_transmission(m, w, i, q, moment);
        else
            site_transmission(m, w, i, moment);
    }
}

double tg_actuator_along_all(const tg_model *m, const tg_work *w, int i, const double *x)
{
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
        return tg_tendon_gear(m, w, i) * tg_tendon_rate_of(m, w, m->actuator_target[i], x);
    const double *moment = tg_actuator_moment(m, w, i);
    tg_span across = tg_actuator_span(m, i);
    double sum = 0;
    for (int k = across.first; k < across.last; k++)
        sum += moment[k] * x[k];
    return sum;
}

/* ---- forces ---- */

/* On a bound the derivative is that of the inner side, so that what minimises something by clipped controls can leave
 * it again. A control counts as on its bound where single precision, in which policies compute, cannot tell the two
 * apart. */
static inline double clamp(double x, const double range[2], int *end, tg_reserve *b)
{
    double low = fabs(range[0]), high = fabs(range[1]), size = low > high ? low : high;
    double near = size <= DBL_MAX ? FLT_EPSILON * size : 0;
    double below = x - range[0], above = range[1] - x, inside = below < above ? below : above;
    if (inside > near)
    {
        *end = -1;
        if (b != NULL && inside < b->margin)
            b->margin = inside;
        return x;
    }
    *end = below < -near ? 0 : above < -near ? 1 : -1;
    if (b != NULL)
        tg_reserve_add(b, (tg_reserve){fmin(fabs(below), fabs(above)), fabs(below) <= near || fabs(above) <= near});
    return below < 0 ? range[0] : above < 0 ? range[1] : x;
}

/* The activation at the end of the step, and its derivatives: act + h act_rate, where h = dt, or tau (1 - exp(-dt/tau))
 * for the exact filter. */
void tg_next_activation(const tg_model *m, const tg_work *w, int i, double act, double dt, tg_drive *d)
{
    double h = dt, h_tau = 0, h_dt = 1;
    if (m->actuator_dynamics[i] == TG_DYNAMICS_FILTEREXACT)
    {
        double tau = TG_PARAM(w->params, actuator_tau)[i], decay = exp(-dt / tau);
        h = tau * (1 - decay);
        h_tau = 1 - decay - dt / tau * decay;
        h_dt = decay;
    }
    d->signal = act + h * d->act_rate;
    d->signal_act = 1;
    d->signal_act_rate = h;
    d->signal_tau = h_tau * d->act_rate;
    d->signal_dt = h_dt * d->act_rate;
    if (m->actuator_act_limited[i])
        d->signal = clamp(d->signal, TG_PARAM(w->params, actuator_act_range) + 2 * i, &d->signal_end, &d->bounds);
    if (d->signal_end >= 0)
        d->signal_act = d->signal_act_rate = d->signal_tau = d->signal_dt = 0;
}

static void set_signal(const tg_model *m, const tg_work *w, int i, const double *act, double dt, tg_drive *d)
{
    d->signal = d->control;
    if (m->actuator_act[i] < 0)
        return;
    double now = act[m->actuator_act[i]];
    bool integrator = m->actuator_dynamics[i] == TG_DYNAMICS_INTEGRATOR;
    d->act_rate = integrator ? d->control : (d->control - now) / TG_PARAM(w->params, actuator_tau)[i];
    d->signal = now;
    d->signal_act = 1;
    if (m->actuator_act_early[i])
        tg_next_activation(m, w, i, now, dt, d);
}

static inline void fill_drive(const tg_model *m, const tg_work *w, int i, const double *v, const double *act,
                              const double *u, double dt, tg_drive *d)
{
    const tg_params *p = w->params;
    d->control = u[i]; /* field by field: a literal costs a call of memset, for every actuator and step */
    d->control_end = d->force_end = d->signal_end = -1;
    d->bounds = tg_no_reserve();
    d->act_rate = d->signal_act = d->signal_act_rate = d->signal_tau = d->signal_dt = 0;
    d->late = false;
    if (m->actuator_ctrl_limited[i])
        d->control = clamp(u[i], TG_PARAM(p, actuator_ctrl_range) + 2 * i, &d->control_end, &d->bounds);
    set_signal(m, w, i, act, dt, d);
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
        d->rate = tg_tendon_gear(m, w, i) * tg_tendon_rate_of(m, w, m->actuator_target[i], v);
    else
        d->rate = tg_actuator_along(m, w, i, v);
    d->length = w->actuator_length[i];
    const double *gain = TG_PARAM(p, actuator_gain) + 3 * i, *bias = TG_PARAM(p, actuator_bias) + 3 * i;
    d->gain = gain[0] + gain[1] * d->length + gain[2] * d->rate;
    d->bias = bias[0] + bias[1] * d->length + bias[2] * d->rate;
    d->force = d->gain * d->signal + d->bias;
    if (m->actuator_force_limited[i])
    {
        tg_reserve force = tg_no_reserve();
        d->force = clamp(d->force, TG_PARAM(p, actuator_force_range) + 2 * i, &d->force_end, &force);
        if (d->force_end >= 0 && m->actuator_act[i] < 0) /* then the control does not matter */
            d->bounds = tg_no_reserve();
        tg_reserve_add(&d->bounds, force);
    }
}

tg_drive tg_drive_of(const tg_model *m, const tg_work *w, int i, const double *v, const double *act, const double *u,
                     double dt)
{
    tg_drive d;
    fill_drive(m, w, i, v, act, u, dt, &d);
    return d;
}

void tg_drives_fill(const tg_model *m, const tg_work *w, const double *v, const double *act, const double *u, double dt,
                    tg_drive *drive, tg_reserve *bounds)
{
    for (int i = 0; i < m->nu; i++)
    {
        fill_drive(m, w, i, v, act, u, dt, &drive[i]);
        tg_reserve_add(bounds, drive[i].bounds);
    }
}

int tg_joint_force_end(const tg_model *m, const tg_work *w, int dof, double force, double *bound)
{
    int joint = m->dof_joint[dof], end = -1;
    if (m->joint_force_limited[joint])
        *bound = clamp(force, TG_PARAM(w->params, joint_force_range) + 2 * joint, &end, NULL);
    return end;
}

void tg_clamp_joint_forces(const tg_model *m, const tg_work *w, double *force, tg_reserve *bounds)
{
    int end;
    for (int k = 0; k < m->nv; k++)
    {
        int joint = m->dof_joint[k];
        if (m->joint_force_limited[joint])
            force[k] = clamp(force[k], TG_PARAM(w->params, joint_force_range) + 2 * joint, &end, bounds);
    }
}

static inline void add_force(const tg_model *m, const tg_work *w, int i, double force, double *sum)
{
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
    {
        tg_tendon_add(m, w, m->actuator_target[i], tg_tendon_gear(m, w, i) * force, sum);
        return;
    }
    const double *moment = tg_actuator_moment(m, w, i);
    if (tg_actuator_has_axis(m, i))
    {
        int dof = m->joint_dof[m->actuator_target[i]];
        sum[dof] += moment[dof] * force;
        return;
    }
    tg_span across = tg_actuator_span(m, i);
    for (int k = across.first; k < across.last; k++)
        sum[k] += moment[k] * force;
}

void tg_add_actuator_force(const tg_model *m, const tg_work *w, int i, double force, double *sum)
{
    add_force(m, w, i, force, sum);
}

void tg_add_drives(const tg_model *m, const tg_work *w, const tg_drive *drive, bool beside, double *sum)
{
    for (int i = 0; i < m->nu; i++)
        if (!beside || m->actuator_transmission[i] != TG_TRANSMISSION_TENDON)
            add_force(m, w, i, drive[i].force, sum);
}

void tg_actuator_forces(const tg_model *m, const tg_work *w, const double *v, const double *act, const double *u,
                        double dt, double *force, double *act_rate)
{
    memset(force, 0, sizeof(double) * (size_t)m->nv);
    for (int i = 0; i < m->nu; i++)
    {
        tg_drive d = tg_drive_of(m, w, i, v, act, u, dt);
        tg_add_actuator_force(m, w, i, d.force, force);
        if (act_rate != NULL && m->actuator_act[i] >= 0)
            act_rate[m->actuator_act[i]] = d.act_rate;
    }
}

tg_status tg_check_actuation(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                             const double *u)
{
    TG_TRY(tg_check_state(m, w, q, v));
    TG_TRY(tg_check_vector(w, "act", act, m->na));
    return tg_check_vector(w, "u", u, m->nu);
}

tg_status tg_actuation(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                       const double *u, double *force, double *act_rate)
{
    TG_TRY(tg_check_actuation(m, w, q, v, act, u));
    TG_TRY(tg_check_output(w, "force", force, m->nv));
    tg_position_stage(m, w, q);
    tg_transmissions(m, w, q);
    tg_actuator_forces(m, w, v, act, u, m->timestep, force, act_rate);
    tg_clamp_joint_forces(m, w, force, NULL);
    return TG_OK;
}
