/* Derivatives of the actuators' forces (actuation.c) with respect to q, v, act and u. */
#include "dynamics/actuation.h"
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

/* d length / d q; it is the moment itself except at a ball joint, where length = gear . Log(q). */
static void length_gradient(const tg_model *m, const tg_work *w, int i, const double *q, double *out)
{
    int joint = m->actuator_target[i];
    memset(out, 0, sizeof(double) * (size_t)m->nv);
    if (m->actuator_transmission[i] == TG_TRANSMISSION_SITE)
        return;
    const double *moment = tg_actuator_moment(m, w, i);
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON || m->joint_type[joint] == TG_JOINT_HINGE ||
        m->joint_type[joint] == TG_JOINT_SLIDE)
    {
        memcpy(out, moment, sizeof(double) * (size_t)m->nv);
        return;
    }
    if (m->joint_type[joint] == TG_JOINT_FREE)
        return;
    tg_ball_length_gradient(m, w, i, q, out + m->joint_dof[joint]);
}

/* d moment_j / d q_k of a site's wrench W, which turns with its body. A dof k before j, or of the same node, turns both J_j and W, and
 * their product stays; one behind j turns W alone: J_j . (J_k x* W). */
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

/* d moment / d q into w->hessian, without the gear of a tendon; false where it is zero */
static bool moment_derivative(const tg_model *m, tg_work *w, int i)
{
    switch (m->actuator_transmission[i])
    {
    case TG_TRANSMISSION_TENDON:
        return tg_tendon_hessian(m, w, m->actuator_target[i]);
    case TG_TRANSMISSION_SITE:
        site_hessian(m, w, i);
        return true;
    default:
        return false;
    }
}

/* force_j = moment_j f(s, length, rate):
 * d/dq_k = moment_j (f_length dlength_k + f_rate sum_i H_ik v_i) + H_jk f,  d/dv_k = moment_j f_rate moment_k */
static void add_state_derivatives(const tg_model *m, tg_work *w, int i, const tg_drive *d, const double *q,
                                  const double *v, double *dq, double *dv)
{
    int nv = m->nv;
    const double *gain = TG_PARAM(w->params, actuator_gain) + 3 * i, *bias = TG_PARAM(w->params, actuator_bias) + 3 * i;
    bool clamped = d->force_end >= 0;
    double f_length = clamped ? 0 : gain[1] * d->signal + bias[1], f_rate = clamped ? 0 : gain[2] * d->signal + bias[2];
    const double *moment = tg_actuator_moment(m, w, i);
    for (int j = 0; dv != NULL && j < nv; j++)
        for (int k = 0; k < nv; k++)
            dv[j * nv + k] += moment[j] * f_rate * moment[k];
    if (dq == NULL)
        return;
    double *slope = w->row, gear = 1;
    length_gradient(m, w, i, q, slope);
    for (int k = 0; k < nv; k++)
        slope[k] *= f_length;
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
        gear = TG_PARAM(w->params, actuator_gear)[6 * i];
    if (moment_derivative(m, w, i))
        for (int j = 0; j < nv; j++)
            for (int k = 0; k < nv; k++)
            {
                double H = gear * w->hessian[j * nv + k];
                slope[k] += f_rate * H * v[j];
                dq[j * nv + k] += d->force * H;
            }
    for (int j = 0; j < nv; j++)
        for (int k = 0; k < nv; k++)
            dq[j * nv + k] += moment[j] * slope[k];
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

typedef struct actuation_outputs
{
    double *dq, *dv, *dact, *du, *rate_dact, *rate_du;
} actuation_outputs;

static void add_actuator(const tg_model *m, tg_work *w, int i, const tg_drive *d, const double *q, const double *v,
                         actuation_outputs out)
{
    int act = m->actuator_act[i];
    double by_act = 0, by_u = 0, slope = d->force_end >= 0 ? 0 : d->gain;
    if (act >= 0)
        rate_derivatives(m, w, i, d, &by_act, &by_u);
    double signal_u = act >= 0 ? d->signal_act_rate * by_u : d->control_end >= 0 ? 0 : 1;
    double signal_act = d->signal_act + d->signal_act_rate * by_act;
    const double *moment = tg_actuator_moment(m, w, i);
    for (int k = 0; k < m->nv; k++)
    {
        if (out.du != NULL)
            out.du[k * m->nu + i] = moment[k] * slope * signal_u;
        if (out.dact != NULL && act >= 0)
            out.dact[k * m->na + act] = moment[k] * slope * signal_act;
    }
    if (act >= 0 && out.rate_dact != NULL)
        out.rate_dact[act] = by_act;
    if (act >= 0 && out.rate_du != NULL)
        out.rate_du[act] = by_u;
    if (out.dq != NULL || out.dv != NULL)
        add_state_derivatives(m, w, i, d, q, v, out.dq, out.dv);
}

static void zero_row(double *matrix, int row, int columns)
{
    if (matrix != NULL)
        memset(matrix + (size_t)row * (size_t)columns, 0, sizeof(double) * (size_t)columns);
}

static void zero_rows(const tg_model *m, actuation_outputs out, int dof)
{
    zero_row(out.dq, dof, m->nv);
    zero_row(out.dv, dof, m->nv);
    zero_row(out.dact, dof, m->na);
    zero_row(out.du, dof, m->nu);
}

tg_status tg_actuation_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                                   const double *u, double *dforce_dq, double *dforce_dv, double *dforce_dact,
                                   double *dforce_du, double *drate_dact, double *drate_du)
{
    TG_TRY(tg_check_actuation(m, w, q, v, act, u));
    actuation_outputs out = {dforce_dq, dforce_dv, dforce_dact, dforce_du, drate_dact, drate_du};
    tg_position_stage(m, w, q);
    tg_transmissions(m, w, q);
    tg_actuator_forces(m, w, v, act, u, m->timestep, w->vec, NULL);
    for (int k = 0; k < m->nv; k++)
        zero_rows(m, out, k);
    for (int i = 0; i < m->nu; i++)
    {
        tg_drive d = tg_drive_of(m, w, i, v, act, u, m->timestep);
        add_actuator(m, w, i, &d, q, v, out);
    }
    for (int k = 0; k < m->nv; k++)
    {
        double bound;
        if (tg_joint_force_end(m, w, k, w->vec[k], &bound) >= 0)
            zero_rows(m, out, k);
    }
    return TG_OK;
}
