/* Derivatives of the actuators' forces (actuation.c) with respect to q, v, act and u. */
#include "dynamics/actuation.h"
#include "dynamics/cable.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "tangere/algebra.h"

void tg_ball_length_gradient(const tg_model *m, const tg_work *w, int actuator, const double *q, double out[3])
{
    int joint = m->actuator_target[actuator];
    const double *gear = TG_PARAM(w->params, actuator_gear) + 6 * actuator;
    double unit[4], angle[3], J[9];
    tg_quat_normalise(q + m->joint_q[joint], unit);
    tg_quat_log(unit, angle);
    tg_so3_right_jacobian_inverse(angle, J);
    for (int k = 0; k < 3; k++)
        out[k] = gear[0] * J[k] + gear[1] * J[3 + k] + gear[2] * J[6 + k];
}

/* d length / d q over the actuator's dofs; it is the moment itself except at a ball joint, where length = gear .
 * Log(q). */
static void length_gradient(const tg_model *m, const tg_work *w, int i, tg_span across, const double *q, double *out)
{
    int joint = m->actuator_target[i];
    size_t bytes = sizeof(double) * (size_t)(across.last - across.first);
    memset(out + across.first, 0, bytes);
    if (m->actuator_transmission[i] == TG_TRANSMISSION_SITE)
        return;
    if (m->joint_type[joint] == TG_JOINT_HINGE || m->joint_type[joint] == TG_JOINT_SLIDE)
    {
        memcpy(out + across.first, tg_actuator_row(m, w, i) + across.first, bytes);
        return;
    }
    if (m->joint_type[joint] == TG_JOINT_FREE)
        return;
    tg_ball_length_gradient(m, w, i, q, out + m->joint_dof[joint]);
}

/* d moment_j / d q_k of a site's wrench W, which turns with its body. A dof k before j, or of the same node, turns both
 * J_j and W, and their product stays; one behind j turns W alone: J_j . (J_k x* W). */
static void site_hessian(const tg_model *m, tg_work *w, int actuator)
{
    int node = m->body_node[m->site_body[m->actuator_target[actuator]]], nv = m->nv;
    memset(w->hessian, 0, sizeof(double) * (size_t)nv * (size_t)nv);
    if (node == 0)
        return;
    spatial W = tg_site_wrench(m, w, actuator);
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        spatial turned = force_cross(spatial_load(w->J + SPATIAL_SIZE * k), W);
        for (int j = m->dof_parent[m->node_dof[m->dof_node[k]]]; j >= 0; j = m->dof_parent[j])
            w->hessian[j * nv + k] = spatial_dot(spatial_load(w->J + SPATIAL_SIZE * j), turned);
    }
}

static void add_outer(int nv, const double *a, tg_span rows, const double *b, tg_span columns, double factor,
                      double *out)
{
    for (int j = rows.first; j < rows.last; j++)
        for (int k = columns.first; k < columns.last; k++)
            out[j * nv + k] += a[j] * factor * b[k];
}

/* One actuator: its force on every joint, forces that a joint's range clamps left out. */
typedef struct actuator
{
    const tg_drive *d;
    const double *moment, *acting; /* nv: with and without the clamped joints */
    const double *force;           /* nv: of all actuators, before it is clamped */
    tg_span across;                /* the dofs it acts on */
} actuator;

/* d force / d (length, rate) of an actuator that is not at a bound of its force */
typedef struct slopes
{
    double length, rate;
} slopes;

static slopes slopes_of(const tg_work *w, int i, const tg_drive *d)
{
    const double *gain = TG_PARAM(w->params, actuator_gain) + 3 * i, *bias = TG_PARAM(w->params, actuator_bias) + 3 * i;
    if (d->force_end >= 0)
        return (slopes){0, 0};
    return (slopes){gain[1] * d->signal + bias[1], gain[2] * d->signal + bias[2]};
}

/* the force of an actuator that acts on a dof: 0 where the joint's range clamps */
static double acting_force(const tg_model *m, const tg_work *w, const actuator *a, int dof)
{
    double bound;
    return tg_joint_force_end(m, w, dof, a->force[dof], &bound) >= 0 ? 0 : a->d->force;
}

/* force_j = moment_j f(s, length, rate):
 * d/dq_k = moment_j (f_length dlength_k + f_rate sum_i H_ik v_i) + H_jk f,  d/dv_k = moment_j f_rate moment_k */
static void add_state_derivatives(const tg_model *m, tg_work *w, int i, const actuator *a, const double *q,
                                  const double *v, double *dq, double *dv)
{
    int nv = m->nv;
    slopes f = slopes_of(w, i, a->d);
    if (dv != NULL)
        add_outer(nv, a->acting, a->across, a->moment, a->across, f.rate, dv);
    if (dq == NULL)
        return;
    double *slope = w->row;
    length_gradient(m, w, i, a->across, q, slope);
    for (int k = a->across.first; k < a->across.last; k++)
        slope[k] *= f.length;
    bool curved = m->actuator_transmission[i] == TG_TRANSMISSION_SITE;
    if (curved)
        site_hessian(m, w, i);
    for (int j = 0; j < nv && curved; j++)
    {
        double force = acting_force(m, w, a, j);
        for (int k = 0; k < nv; k++)
        {
            double H = w->hessian[j * nv + k];
            slope[k] += f.rate * H * v[j];
            dq[j * nv + k] += force * H;
        }
    }
    add_outer(nv, a->acting, a->across, slope, curved ? (tg_span){0, nv} : a->across, 1, dq);
}

/* The same on a tendon, over the dofs that the tendon has. */
static void add_tendon_derivatives(const tg_model *m, tg_work *w, int i, const actuator *a, const double *v, double *dq,
                                   double *dv)
{
    int nv = m->nv, tendon = m->actuator_target[i], n = m->tendon_ndof[tendon];
    const int *dof = tg_tendon_dofs(m, tendon);
    slopes f = slopes_of(w, i, a->d);
    for (int j = 0; j < n && dv != NULL; j++)
        for (int k = 0; k < n; k++)
            dv[dof[j] * nv + dof[k]] += a->acting[dof[j]] * f.rate * a->moment[dof[k]];
    if (dq == NULL)
        return;
    double *slope = w->row, gear = tg_tendon_gear(m, w, i);
    for (int k = 0; k < n; k++)
        slope[dof[k]] = f.length * a->moment[dof[k]];
    bool curved = gear != 0 && tg_tendon_hessian(m, w, tendon);
    for (int j = 0; j < n && curved; j++)
    {
        double force = acting_force(m, w, a, dof[j]);
        for (int k = 0; k < n; k++)
        {
            double H = gear * w->hessian[dof[j] * nv + dof[k]];
            slope[dof[k]] += f.rate * H * v[dof[j]];
            dq[dof[j] * nv + dof[k]] += force * H;
        }
    }
    for (int j = 0; j < n; j++)
        for (int k = 0; k < n; k++)
            dq[dof[j] * nv + dof[k]] += a->acting[dof[j]] * slope[dof[k]];
}

/* d rate of activation / d (act, u): integrator (0, 1), filters (-1, 1) / tau; a clamped control does not count */
static void rate_derivatives(const tg_model *m, const tg_work *w, int i, const tg_drive *d, double *by_act,
                             double *by_u)
{
    bool integrator = m->actuator_dynamics[i] == TG_DYNAMICS_INTEGRATOR;
    double tau = integrator ? 1 : TG_PARAM(w->params, actuator_tau)[i];
    *by_act = integrator ? 0 : -1 / tau;
    *by_u = d->control_end >= 0 ? 0 : 1 / tau;
}

void tg_signal_derivatives(const tg_model *m, const tg_work *w, int i, const tg_drive *d, double *by_act, double *by_u)
{
    double rate_act = 0, rate_u = 0;
    bool stateless = m->actuator_act[i] < 0;
    if (!stateless)
        rate_derivatives(m, w, i, d, &rate_act, &rate_u);
    *by_act = d->signal_act + d->signal_act_rate * rate_act;
    *by_u = !stateless ? d->signal_act_rate * rate_u : d->control_end >= 0 ? 0 : 1;
}

static void add_actuator(const tg_model *m, tg_work *w, int i, const actuator *a, const double *q, const double *v,
                         const tg_actuation_deriv *out)
{
    int act = m->actuator_act[i];
    double by_act, by_u, slope = a->d->force_end >= 0 ? 0 : a->d->gain;
    tg_signal_derivatives(m, w, i, a->d, &by_act, &by_u);
    for (int k = a->across.first; k < a->across.last; k++)
    {
        if (out->du != NULL)
            out->du[k * m->nu + i] = a->acting[k] * slope * by_u;
        if (out->dact != NULL && act >= 0)
            out->dact[k * m->na + act] = a->acting[k] * slope * by_act;
    }
    if (out->dq == NULL && out->dv == NULL)
        return;
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
        add_tendon_derivatives(m, w, i, a, v, out->dq, out->dv);
    else
        add_state_derivatives(m, w, i, a, q, v, out->dq, out->dv);
}

/* An actuator on a cable (tg_cable_ends), where no joint has a range of force. */
static void add_cable_actuator(const tg_model *m, const tg_work *w, int i, const tg_drive *d, const double *v,
                               const tg_actuation_deriv *out)
{
    int tendon = m->actuator_target[i], act = m->actuator_act[i];
    const double *moment = tg_tendon_moment(m, w, tendon);
    double by_act, by_u, gear = tg_tendon_gear(m, w, i), slope = d->force_end >= 0 ? 0 : gear * d->gain;
    slopes f = slopes_of(w, i, d);
    tg_signal_derivatives(m, w, i, d, &by_act, &by_u);
    for (int k = 0; k < m->tendon_ndof[tendon] && (out->du != NULL || out->dact != NULL); k++)
    {
        int dof = tg_tendon_dofs(m, tendon)[k];
        if (out->du != NULL)
            out->du[dof * m->nu + i] = moment[dof] * slope * by_u;
        if (out->dact != NULL && act >= 0)
            out->dact[dof * m->na + act] = moment[dof] * slope * by_act;
    }
    if (gear != 0 && (out->dq != NULL || out->dv != NULL))
        tg_cable_derivatives(m, w, tendon, (tg_slopes){gear * d->force, gear * gear * f.length, gear * gear * f.rate},
                             v, out->dq, out->dv);
}

/* the moment without the joints whose forces are clamped */
static void leave_out_clamped(const tg_model *m, const tg_work *w, tg_span across, const double *force,
                              const double *moment, double *acting)
{
    double bound;
    for (int k = across.first; k < across.last; k++)
        acting[k] = tg_joint_force_end(m, w, k, force[k], &bound) >= 0 ? 0 : moment[k];
}

/* A hinge or slide: force = gear f(s, gear q, gear v). acts: the joint's range does not clamp its force. */
static void add_axis_actuator(const tg_model *m, const tg_work *w, int i, const tg_drive *d, bool acts,
                              const tg_actuation_deriv *out)
{
    const double *gain = TG_PARAM(w->params, actuator_gain) + 3 * i, *bias = TG_PARAM(w->params, actuator_bias) + 3 * i;
    int dof = m->joint_dof[m->actuator_target[i]], at = dof * (m->nv + 1), act = m->actuator_act[i];
    double gear = TG_PARAM(w->params, actuator_gear)[6 * i], by_act, by_u;
    double slope = d->force_end >= 0 || !acts ? 0 : gear;
    if (out->dq != NULL)
        out->dq[at] += slope * gear * (gain[1] * d->signal + bias[1]);
    if (out->dv != NULL)
        out->dv[at] += slope * gear * (gain[2] * d->signal + bias[2]);
    if (out->du == NULL && out->dact == NULL)
        return;
    tg_signal_derivatives(m, w, i, d, &by_act, &by_u);
    if (out->du != NULL)
        out->du[dof * m->nu + i] = slope * d->gain * by_u;
    if (out->dact != NULL && act >= 0)
        out->dact[dof * m->na + act] = slope * d->gain * by_act;
}

static void zero(double *matrix, int rows, int columns)
{
    if (matrix != NULL)
        memset(matrix, 0, sizeof(double) * (size_t)rows * (size_t)columns);
}

static bool any_force_range(const tg_model *m)
{
    for (int j = 0; j < m->njoint; j++)
        if (m->joint_force_limited[j])
            return true;
    return false;
}

void tg_add_actuation_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *v_late,
                                  const double *act, const double *u, double dt, const tg_drive *drive,
                                  const tg_actuation_deriv *out)
{
    double *force = w->row + v4_pad(m->nv), *acting = force + v4_pad(m->nv), bound;
    zero(out->dact, m->nv, m->na);
    zero(out->du, m->nv, m->nu);
    bool ranged = any_force_range(m);
    if (ranged)
        tg_actuator_forces(m, w, v, act, u, dt, force, NULL);
    for (int i = 0; i < m->nu; i++)
    {
        tg_drive made;
        const tg_drive *d = &made;
        if (drive != NULL)
            d = &drive[i];
        else
            made = tg_drive_of(m, w, i, v, act, u, dt);
        tg_span across = tg_actuator_span(m, i);
        if (tg_actuator_has_axis(m, i))
        {
            add_axis_actuator(m, w, i, d, tg_joint_force_end(m, w, across.first, force[across.first], &bound) < 0, out);
            continue;
        }
        if (!ranged && m->actuator_transmission[i] == TG_TRANSMISSION_TENDON &&
            tg_cable_ends(m, m->actuator_target[i]) != NULL)
        {
            add_cable_actuator(m, w, i, d, d->late ? v_late : v, out);
            continue;
        }
        const double *moment = tg_actuator_row(m, w, i);
        leave_out_clamped(m, w, across, force, moment, acting);
        add_actuator(m, w, i, &(actuator){d, moment, acting, force, across}, q, d->late ? v_late : v, out);
    }
}

tg_status tg_actuation_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                                   const double *u, double *dforce_dq, double *dforce_dv, double *dforce_dact,
                                   double *dforce_du, double *drate_dact, double *drate_du)
{
    TG_TRY(tg_check_actuation(m, w, q, v, act, u));
    tg_position_stage(m, w, q);
    tg_transmissions(m, w, q);
    zero(dforce_dq, m->nv, m->nv);
    zero(dforce_dv, m->nv, m->nv);
    tg_add_actuation_derivatives(m, w, q, v, NULL, act, u, m->timestep, NULL,
                                 &(tg_actuation_deriv){dforce_dq, dforce_dv, dforce_dact, dforce_du});
    for (int i = 0; i < m->nu; i++)
    {
        double by_act, by_u;
        int at = m->actuator_act[i];
        if (at < 0)
            continue;
        tg_drive d = tg_drive_of(m, w, i, v, act, u, m->timestep);
        rate_derivatives(m, w, i, &d, &by_act, &by_u);
        if (drate_dact != NULL)
            drate_dact[at] = by_act;
        if (drate_du != NULL)
            drate_du[at] = by_u;
    }
    return TG_OK;
}
