/* Reverse mode of the passive forces (passive.c). */
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/vjp.h"
#include "tangere/algebra.h"

/* -k Log(rest^-1 q): the rest orientation of a free joint is its body's quaternion, of a ball the identity */
static void ball_spring(const tg_model *m, const tg_work *w, int joint, const double *q, const double *y, tg_gradient g)
{
    bool free = m->joint_type[joint] == TG_JOINT_FREE;
    int dof = m->joint_dof[joint] + (free ? 3 : 0), body = m->joint_body[joint];
    double k = TG_PARAM(w->params, joint_stiffness)[joint], r[3], dq[9], drest[9];
    bool off = k == 0; /* then only the stiffness itself counts */
    tg_ball_deflection(m, w, joint, q, r, off ? NULL : dq, off ? NULL : drest);
    for (int i = 0; i < 3 && !off; i++)
        g.q[dof + i] -= k * (dq[i] * y[dof] + dq[3 + i] * y[dof + 1] + dq[6 + i] * y[dof + 2]);
    if (g.params == NULL)
        return;
    for (int i = 0; i < 3; i++)
        g.params[m->offset.joint_stiffness + joint] -= r[i] * y[dof + i];
    if (!free || off)
        return;
    v4 turn = v4_zero(); /* gradient in the axes of the rest orientation, then of its parent */
    for (int i = 0; i < 3; i++)
        turn[i] = -k * (drest[i] * y[dof] + drest[3 + i] * y[dof + 1] + drest[6 + i] * y[dof + 2]);
    turn = mat3_mul(mat3_load(w->params->body_rot + MAT3_SIZE * body), turn);
    tg_add3(g.params + m->offset.body_quat + 4 * body, turn);
}

/* -k (x - rest) of a hinge, a slide or the place of a free joint, whose rest is its body's place */
static void joint_spring(const tg_model *m, const tg_work *w, int j, const double *q, const double *y, tg_gradient g)
{
    double k = TG_PARAM(w->params, joint_stiffness)[j], by_stiffness = 0;
    if (k == 0 && g.params == NULL)
        return;
    int dof = m->joint_dof[j], at = m->joint_q[j], type = m->joint_type[j];
    int n = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
    int rest = type == TG_JOINT_FREE ? m->offset.body_pos + 3 * m->joint_body[j] : m->offset.joint_springref + j;
    for (int i = 0; i < n; i++)
    {
        g.q[dof + i] -= k * y[dof + i];
        by_stiffness -= (q[at + i] - w->params->q_spring[at + i]) * y[dof + i];
        if (g.params != NULL)
            g.params[rest + i] += k * y[dof + i];
    }
    if (g.params != NULL)
        g.params[m->offset.joint_stiffness + j] += by_stiffness;
    if (n != 1)
        ball_spring(m, w, j, q, y, g);
}

/* arm f, f = k (stretch - ahead rate) - d rate, arm = moment . y, rate = moment . x: through length, rate and moment. x
 * is v where ahead is 0, else the second vector of the pass. */
static void tendon(const tg_model *m, tg_work *w, int t, tg_tendon_when when, const double *y, tg_gradient g)
{
    tg_pull pull = tg_tendon_pull(m, w, t, when);
    if (w->tendon_mode[t] == TG_TENDON_SLACK || (pull.stiffness == 0 && pull.damping == 0 && g.params == NULL))
        return;
    double arm = tg_tendon_rate_of(m, w, t, y), along = -(pull.stiffness * when.ahead + pull.damping) * arm;
    bool now = when.ahead == 0;
    tg_adjoint_tendon(w, t, (tg_tendon_gradient){-pull.stiffness * arm, now ? along : 0, pull.force, now ? 0 : along});
    if (g.params == NULL)
        return;
    g.params[m->offset.tendon_damping + t] -= arm * pull.rate;
    if (pull.end < 0)
        return;
    g.params[m->offset.tendon_stiffness + t] += arm * (pull.stretch - when.ahead * pull.rate);
    g.params[m->offset.tendon_rest + 2 * t + pull.end] += pull.stiffness * arm;
    g.params[m->offset.tendon_length + t] += pull.stiffness * arm;
}

void tg_passive_reverse(const tg_model *m, tg_work *w, const double *q, const double *v, tg_tendon_when when,
                        const double *y, tg_gradient g)
{
    for (int k = 0; k < m->nv; k++)
    {
        g.v[k] -= w->params->dof_damping[k] * y[k];
        if (g.params != NULL)
            g.params[m->offset.joint_damping + m->dof_joint[k]] -= v[k] * y[k];
    }
    for (int j = 0; j < m->njoint; j++)
        joint_spring(m, w, j, q, y, g);
    if (m->ntendon > 0)
        tg_tendon_arms(m, w, y);
    for (int t = 0; t < m->ntendon; t++)
        tendon(m, w, t, when, y, g);
}

tg_status tg_passive_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *y, double *gq,
                         double *gv, double *gparams)
{
    TG_TRY(tg_check_state(m, w, q, v));
    TG_TRY(tg_check_vector(w, "y", y, m->nv));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    tg_tendon_stage(m, w, q, v);
    tg_gradient g = tg_gradient_begin(m, w, gparams);
    tg_adjoint_begin(m, w, y);
    tg_passive_reverse(m, w, q, v, (tg_tendon_when){v, 0}, y, g);
    tg_adjoint_end(m, w, q, &(tg_adjoint_fields){.v = v, .y = y}, g.q, g.v, g.a, g.params);
    tg_gradient_end(m, w, g.params);
    tg_gradient_copy(m, g.q, gq);
    tg_gradient_copy(m, g.v, gv);
    return TG_OK;
}
