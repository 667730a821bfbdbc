/* Derivatives of the passive forces (passive.c) with respect to q and v. */
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"

static void spring_derivatives(const tg_model *m, const tg_work *w, const double *q, double *dq)
{
    const double *stiffness = TG_PARAM(w->params, joint_stiffness);
    for (int j = 0; j < m->njoint; j++)
    {
        double k = stiffness[j], r[3], dr[9];
        if (k == 0)
            continue;
        int dof = m->joint_dof[j];
        bool free = m->joint_type[j] == TG_JOINT_FREE;
        if (free || m->joint_type[j] == TG_JOINT_HINGE || m->joint_type[j] == TG_JOINT_SLIDE)
            for (int i = dof; i < dof + (free ? 3 : 1); i++)
                dq[i * m->nv + i] -= k;
        if (!free && m->joint_type[j] != TG_JOINT_BALL)
            continue;
        tg_ball_deflection(m, w, j, q, r, dr, NULL);
        int first = dof + (free ? 3 : 0);
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++)
                dq[(first + a) * m->nv + first + b] -= k * dr[3 * a + b];
    }
}

/* force_j = moment_j f, f = k (stretch - ahead rate) - d rate, rate = moment . x:
 * d/dq_k = moment_j (-k moment_k - (k ahead + d) sum_i H_ik x_i) + H_jk f,   d/dx_k = -(k ahead + d) moment_j moment_k
 */
static void tendon_derivatives(const tg_model *m, tg_work *w, int t, tg_tendon_when when, double *dq, double *dv)
{
    tg_pull pull = tg_tendon_pull(m, w, t, when);
    if (pull.stiffness == 0 && pull.damping == 0)
        return;
    int nv = m->nv, n = m->tendon_ndof[t];
    const double *moment = tg_tendon_moment(m, w, t);
    const int *dof = tg_tendon_dofs(m, t);
    double damping = pull.stiffness * when.ahead + pull.damping, *slope = w->row; /* d f / d q */
    if (tg_cable_ends(m, t) != NULL)
    {
        tg_cable_derivatives(m, w, t, (tg_slopes){pull.force, -pull.stiffness, -damping}, when.x, dq, dv);
        return;
    }
    for (int i = 0; i < n && dv != NULL; i++)
        for (int k = 0; k < n; k++)
            dv[dof[i] * nv + dof[k]] -= damping * moment[dof[i]] * moment[dof[k]];
    if (dq == NULL)
        return;
    for (int k = 0; k < n; k++)
        slope[dof[k]] = -pull.stiffness * moment[dof[k]];
    bool curved = tg_tendon_hessian(m, w, t);
    for (int i = 0; i < n && curved; i++)
        for (int k = 0; k < n; k++)
        {
            double H = w->hessian[dof[i] * nv + dof[k]];
            slope[dof[k]] -= damping * H * when.x[dof[i]];
            dq[dof[i] * nv + dof[k]] += pull.force * H;
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            dq[dof[i] * nv + dof[k]] += moment[dof[i]] * slope[dof[k]];
}

void tg_add_passive_derivatives(const tg_model *m, tg_work *w, const double *q, tg_tendon_when when, double *dq,
                                double *dv)
{
    if (dv != NULL)
        for (int k = 0; k < m->nv; k++)
            dv[k * m->nv + k] -= w->params->dof_damping[k];
    if (dq != NULL)
        spring_derivatives(m, w, q, dq);
    for (int t = 0; t < m->ntendon; t++)
        tendon_derivatives(m, w, t, when, dq, dv);
}

tg_status tg_passive_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, double *dforce_dq,
                                 double *dforce_dv)
{
    TG_TRY(tg_check_state(m, w, q, v));
    size_t bytes = sizeof(double) * (size_t)m->nv * (size_t)m->nv;
    tg_position_stage(m, w, q);
    tg_tendon_stage(m, w, q, v);
    if (dforce_dq != NULL)
        memset(dforce_dq, 0, bytes);
    if (dforce_dv != NULL)
        memset(dforce_dv, 0, bytes);
    tg_add_passive_derivatives(m, w, q, (tg_tendon_when){v, 0}, dforce_dq, dforce_dv);
    return TG_OK;
}
