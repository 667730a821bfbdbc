/* Passive forces, as MuJoCo defines them:
 *
 *   hinge, slide    -k (q - springref) - d v
 *   ball            -k Log(q_rest^-1 q) - d v, body axes; a free joint also -k (x - x_rest) - d v, world axes
 *   tendon          moment^T (k (rest - length) outside the rest band - d d(length)/dt), or by another slack law
 *       (cable.c) */
#include "dynamics/passive.h"

#include "dynamics/kinematics.h"
#include "tangere/algebra.h"

void tg_ball_deflection(const tg_model *m, const tg_work *w, int joint, const double *q, double r[3], double *dr_dq,
                        double *dr_drest)
{
    int at = m->joint_q[joint] + (m->joint_type[joint] == TG_JOINT_FREE ? 3 : 0);
    double now[4], rest[4], d_rest[9], d_now[9];
    tg_quat_normalise(q + at, now);
    tg_quat_normalise(w->params->q_spring + at, rest);
    tg_quat_difference(rest, now, r);
    if (dr_dq == NULL && dr_drest == NULL)
        return;
    tg_quat_difference_derivatives(rest, now, d_rest, d_now);
    if (dr_dq != NULL)
        memcpy(dr_dq, d_now, sizeof d_now);
    if (dr_drest != NULL)
        memcpy(dr_drest, d_rest, sizeof d_rest);
}

static void joint_springs(const tg_model *m, const tg_work *w, const double *q, double *force)
{
    const double *stiffness = TG_PARAM(w->params, joint_stiffness);
    for (int j = 0; j < m->njoint; j++)
    {
        double k = stiffness[j];
        if (k == 0)
            continue;
        const double *rest = w->params->q_spring + m->joint_q[j], *qj = q + m->joint_q[j];
        double *f = force + m->joint_dof[j], r[3];
        switch (m->joint_type[j])
        {
        case TG_JOINT_FREE:
            for (int i = 0; i < 3; i++)
                f[i] -= k * (qj[i] - rest[i]);
            f += 3;
            /* fall through */
        case TG_JOINT_BALL:
            tg_ball_deflection(m, w, j, q, r, NULL, NULL);
            for (int i = 0; i < 3; i++)
                f[i] -= k * r[i];
            break;
        default:
            f[0] -= k * (qj[0] - rest[0]);
            break;
        }
    }
}

static void tendon_forces(const tg_model *m, const tg_work *w, tg_tendon_when when, double *force)
{
    for (int t = 0; t < m->ntendon; t++)
    {
        tg_pull pull = tg_tendon_pull(m, w, t, when);
        if (pull.stiffness != 0 || pull.damping != 0)
            tg_tendon_add(m, w, t, pull.force, force);
    }
}

static void joint_forces(const tg_model *m, const tg_work *w, const double *q, const double *v, double *force)
{
    for (int k = 0; k < m->nv; k++)
        force[k] = -w->params->dof_damping[k] * v[k];
    joint_springs(m, w, q, force);
}

void tg_passive_force(const tg_model *m, tg_work *w, const double *q, const double *v, double ahead, double *force)
{
    joint_forces(m, w, q, v, force);
    tendon_forces(m, w, (tg_tendon_when){v, ahead}, force);
}

/* what the actuators do along a tendon: their forces, and what they add to the rest length times the stiffness */
static double driven(const tg_work *w, int tendon)
{
    int mode = w->tendon_mode[tendon];
    double force = mode != TG_TENDON_SLACK ? w->tendon_drive[tendon] : 0;
    return force + (mode >= 0 ? TG_PARAM(w->params, tendon_stiffness)[tendon] * w->tendon_shift[tendon] : 0);
}

void tg_passive_and_driven(const tg_model *m, tg_work *w, const double *q, const double *v, double ahead, double *force)
{
    joint_forces(m, w, q, v, force);
    for (int t = 0; t < m->ntendon; t++)
    {
        double pull = tg_tendon_pull(m, w, t, (tg_tendon_when){v, ahead}).force + driven(w, t);
        const int *ends = tg_cable_ends(m, t);
        if (ends != NULL)
            tg_cable_add(ends, tg_tendon_moment(m, w, t), pull, force);
        else if (pull != 0)
            tg_tendon_add(m, w, t, pull, force);
    }
}

tg_status tg_passive(const tg_model *m, tg_work *w, const double *q, const double *v, double *force)
{
    TG_TRY(tg_check_state(m, w, q, v));
    TG_TRY(tg_check_output(w, "force", force, m->nv));
    tg_position_stage(m, w, q);
    tg_tendon_stage(m, w, q, v);
    tg_passive_force(m, w, q, v, 0, w->vec);
    memcpy(force, w->vec, sizeof(double) * (size_t)m->nv);
    return TG_OK;
}
