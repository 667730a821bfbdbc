/* Inverse dynamics by recursive Newton-Euler in world axes:
 *
 *   V_i = V_l + J v,  A_i = A_l + J a + V_l x (J v),  A_world = -gravity          (l: parent of node i)
 *   F_i = I_i A_i + V_i x* (I_i V_i) + sum of the children's F,  tau = J^T F
 *
 * Featherstone (2008), section 5.3. V_l x (J v) is the rate of J v, because J moves with the node and J v x J v = 0. */
#include "dynamics/rnea.h"

#include "dynamics/kinematics.h"

void tg_node_accelerations(const tg_model *m, tg_work *w, const double *a)
{
    v4 gravity = v4_load3(TG_PARAM(w->params, gravity_));
    spatial_store(w->A, (spatial){-gravity, v4_zero()});
    for (int i = 1; i < m->nnode; i++)
    {
        int parent = m->node_parent[i];
        spatial Vp = spatial_load(w->V + SPATIAL_SIZE * parent);
        spatial Jv = spatial_sub(spatial_load(w->V + SPATIAL_SIZE * i), Vp);
        spatial A = spatial_add(spatial_load(w->A + SPATIAL_SIZE * parent), motion_cross(Vp, Jv));
        if (a != NULL)
            for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
                A = spatial_axpy(A, a[k], spatial_load(w->J + SPATIAL_SIZE * k));
        spatial_store(w->A + SPATIAL_SIZE * i, A);
    }
}

void tg_node_forces(const tg_model *m, tg_work *w)
{
    spatial_store(w->F, spatial_zero());
    for (int i = 1; i < m->nnode; i++)
    {
        spatial F = spatial_zero();
        if (m->node_massive[i])
        {
            inertia Y = inertia_load(w->inertia + INERTIA_SIZE * i);
            spatial V = spatial_load(w->V + SPATIAL_SIZE * i);
            F = spatial_add(inertia_mul(Y, spatial_load(w->A + SPATIAL_SIZE * i)), force_cross(V, inertia_mul(Y, V)));
        }
        spatial_store(w->F + SPATIAL_SIZE * i, F);
    }
}

void tg_sum_forces(const tg_model *m, tg_work *w, double *tau)
{
    for (int i = m->nnode - 1; i > 0; i--)
    {
        spatial F = spatial_load(w->F + SPATIAL_SIZE * i);
        for (int k = m->node_dof[i]; tau != NULL && k < m->node_dof[i] + m->node_ndof[i]; k++)
            tau[k] = spatial_dot(spatial_load(w->J + SPATIAL_SIZE * k), F);
        double *parent = w->F + SPATIAL_SIZE * m->node_parent[i];
        spatial_store(parent, spatial_add(spatial_load(parent), F));
    }
}

void tg_newton_euler(const tg_model *m, tg_work *w, const double *a, double *tau)
{
    tg_node_accelerations(m, w, a);
    tg_node_forces(m, w);
    tg_sum_forces(m, w, tau);
}

tg_status tg_rnea(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a, double *tau)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (a != NULL)
        TG_TRY(tg_check_vector(w, "a", a, m->nv));
    TG_TRY(tg_check_output(w, "tau", tau, m->nv));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    double *out = w->vec; /* a and tau may be the same array */
    tg_newton_euler(m, w, a, out);
    for (int k = 0; k < m->nv; k++)
        tau[k] = out[k] + (a != NULL ? w->params->dof_armature[k] * a[k] : 0);
    return TG_OK;
}
