/* Centre of mass, momentum and energy. */
#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/tendon.h"

/* mass of everything that moves, and the sum of m c relative to the world's origin */
static double first_moment(const tg_model *m, const tg_work *w, v4 *moment)
{
    double mass = 0;
    *moment = v4_zero();
    for (int i = 1; i < m->nnode; i++)
    {
        inertia Y = inertia_load(w->inertia + INERTIA_SIZE * i);
        v4 h = v4_set(Y.hm[0], Y.hm[1], Y.hm[2], 0);
        mass += Y.hm[3];
        *moment += h + tg_node_origin(m, w, i) * v4_splat(Y.hm[3]);
    }
    return mass;
}

/* d (sum m c) / d q_k = linear momentum of what dof k moves, moving with J_k; by subtree sums of the momentum map */
static void com_jacobian(const tg_model *m, const tg_work *w, double mass, double *out)
{
    for (int k = 0; k < m->nv; k++)
    {
        spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
        v4 sum = v4_zero();
        int node = m->dof_node[k];
        for (int i = node; i <= m->node_last[node]; i++)
            sum += inertia_mul(inertia_load(w->inertia + INERTIA_SIZE * i), J).lin;
        for (int a = 0; a < 3; a++)
            out[a * m->nv + k] = mass > 0 ? sum[a] / mass : 0;
    }
}

tg_status tg_com(const tg_model *m, tg_work *w, const double *q, double com[3], double *jacobian)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    tg_position_stage(m, w, q);
    v4 moment;
    double mass = first_moment(m, w, &moment);
    if (com != NULL)
        v4_store3(com, mass > 0 ? moment * v4_splat(1 / mass) : v4_zero());
    if (jacobian != NULL)
        com_jacobian(m, w, mass, jacobian);
    return TG_OK;
}

tg_status tg_momentum(const tg_model *m, tg_work *w, const double *q, const double *v, double momentum[6])
{
    TG_TRY(tg_check_state(m, w, q, v));
    TG_TRY(tg_check_output(w, "momentum", momentum, 6));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    v4 moment;
    double mass = first_moment(m, w, &moment);
    v4 com = mass > 0 ? moment * v4_splat(1 / mass) : v4_zero();
    spatial total = spatial_zero();
    for (int i = 1; i < m->nnode; i++)
    {
        spatial h = inertia_mul(inertia_load(w->inertia + INERTIA_SIZE * i), spatial_load(w->V + SPATIAL_SIZE * i));
        total.lin += h.lin;
        total.ang += h.ang + v4_cross(tg_node_origin(m, w, i) - com, h.lin);
    }
    v4_store3(momentum, total.lin);
    v4_store3(momentum + 3, total.ang);
    return TG_OK;
}

static double spring_energy(const tg_model *m, tg_work *w, const double *q)
{
    double energy = 0;
    for (int j = 0; j < m->njoint; j++)
    {
        double k = TG_PARAM(w->params, joint_stiffness)[j], r[3] = {0}, sum = 0;
        const double *rest = w->params->q_spring + m->joint_q[j], *qj = q + m->joint_q[j];
        int linear = m->joint_type[j] == TG_JOINT_FREE ? 3 : m->joint_type[j] == TG_JOINT_BALL ? 0 : 1;
        if (linear != 1)
            tg_ball_deflection(m, w, j, q, r, NULL, NULL);
        for (int i = 0; i < linear; i++)
            sum += (qj[i] - rest[i]) * (qj[i] - rest[i]);
        energy += 0.5 * k * (sum + r[0] * r[0] + r[1] * r[1] + r[2] * r[2]);
    }
    for (int t = 0; t < m->ntendon; t++)
    {
        int end;
        double stretch = tg_tendon_stretch(m, w, t, &end);
        energy += 0.5 * TG_PARAM(w->params, tendon_stiffness)[t] * stretch * stretch;
    }
    return energy;
}

void tg_energy_here(const tg_model *m, tg_work *w, const double *q, const double *v, double *kinetic, double *potential)
{
    double twice = 0;
    for (int i = 1; i < m->nnode; i++)
    {
        spatial V = spatial_load(w->V + SPATIAL_SIZE * i);
        twice += spatial_dot(V, inertia_mul(inertia_load(w->inertia + INERTIA_SIZE * i), V));
    }
    for (int k = 0; k < m->nv; k++)
        twice += w->params->dof_armature[k] * v[k] * v[k];
    v4 moment;
    first_moment(m, w, &moment);
    if (kinetic != NULL)
        *kinetic = 0.5 * twice;
    if (potential != NULL)
        *potential = spring_energy(m, w, q) - v4_dot(moment, v4_load3(TG_PARAM(w->params, gravity_)));
}

tg_status tg_energy(const tg_model *m, tg_work *w, const double *q, const double *v, double *kinetic, double *potential)
{
    TG_TRY(tg_check_state(m, w, q, v));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    if (m->ntendon > 0 && potential != NULL)
        tg_tendons(m, w, q);
    tg_energy_here(m, w, q, v, kinetic, potential);
    return TG_OK;
}
