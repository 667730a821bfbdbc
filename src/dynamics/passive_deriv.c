/* Derivatives of the passive forces (passive.c) with respect to q and v. */
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/tendon.h"

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

/* to += factor x */
static void add_row(int n, double factor, const double *restrict x, double *restrict to)
{
    if (factor == 0)
        return;
    for (int k = 0; k < n; k++)
        to[k] += factor * x[k];
}

/* force_j = moment_j f, f = k stretch - d rate:
 * d/dq_k = moment_j (-k moment_k [outside the band] - d sum_i H_ik v_i) + H_jk f,   d/dv_k = -d moment_j moment_k */
static void tendon_derivatives(const tg_model *m, tg_work *w, int t, const double *v, double *dq, double *dv)
{
    double stiffness = TG_PARAM(w->params, tendon_stiffness)[t], damping = TG_PARAM(w->params, tendon_damping)[t];
    if (stiffness == 0 && damping == 0)
        return;
    int nv = m->nv, end;
    double stretch = tg_tendon_stretch(w, t, &end), spring = end < 0 ? 0 : stiffness;
    const double *moment = tg_tendon_moment(m, w, t);
    if (dv != NULL)
        for (int j = 0; j < nv; j++)
            add_row(nv, -damping * moment[j], moment, dv + j * nv);
    if (dq == NULL)
        return;
    double *slope = w->row; /* d f / d q */
    for (int k = 0; k < nv; k++)
        slope[k] = -spring * moment[k];
    if (tg_tendon_hessian(m, w, t))
    {
        double pull = stiffness * stretch - damping * tg_tendon_rate(m, w, t, v);
        for (int j = 0; j < nv; j++)
        {
            add_row(nv, -damping * v[j], w->hessian + j * nv, slope);
            add_row(nv, pull, w->hessian + j * nv, dq + j * nv);
        }
    }
    for (int j = 0; j < nv; j++)
        add_row(nv, moment[j], slope, dq + j * nv);
}

void tg_add_passive_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, double *dq, double *dv)
{
    if (dv != NULL)
        for (int k = 0; k < m->nv; k++)
            dv[k * m->nv + k] -= w->params->dof_damping[k];
    if (dq != NULL)
        spring_derivatives(m, w, q, dq);
    for (int t = 0; t < m->ntendon; t++)
        tendon_derivatives(m, w, t, v, dq, dv);
}

tg_status tg_passive_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, double *dforce_dq,
                                 double *dforce_dv)
{
    TG_TRY(tg_check_state(m, w, q, v));
    size_t bytes = sizeof(double) * (size_t)m->nv * (size_t)m->nv;
    tg_position_stage(m, w, q);
    tg_passive_force(m, w, q, v, w->vec);
    if (dforce_dq != NULL)
        memset(dforce_dq, 0, bytes);
    if (dforce_dv != NULL)
        memset(dforce_dv, 0, bytes);
    tg_add_passive_derivatives(m, w, q, v, dforce_dq, dforce_dv);
    return TG_OK;
}
