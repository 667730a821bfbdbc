/* Forward mode of a step: the change of what comes out along a change of what goes in.
 *
 * Row by row through reverse mode for v+ and act+, whose rows are exact; q+ = q (+) dt v+ then follows from them by the
 * derivatives of the integrator, dq+ = D_q dq + D_w (dt dv+ + ddt v+). */
#include "dynamics/vjp.h"
#include "step/step.h"
#include "tangere/algebra.h"

/* the gradient of one row */
typedef struct row
{
    tg_cotangent g;
    double dt;
} row;

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; a != NULL && b != NULL && i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void take_row(const tg_model *m, tg_work *w, const tg_cotangent *in, row *r)
{
    double *next = w->step->forward;
    r->g = (tg_cotangent){.q = next, .v = next + m->nv, .tau = next + 2 * m->nv, .act = next + 3 * m->nv};
    r->g.u = r->g.act + m->na;
    r->g.wrench = r->g.u + m->nu;
    r->g.dt = &r->dt;
    r->g.params = in->params != NULL ? w->param_gradient : NULL;
}

static double along(const tg_model *m, const row *r, const tg_cotangent *in)
{
    return dot(m->nv, r->g.q, in->q) + dot(m->nv, r->g.v, in->v) + dot(m->na, r->g.act, in->act) +
           dot(m->nu, r->g.u, in->u) + dot(m->nv, r->g.tau, in->tau) + dot(6 * m->nbody, r->g.wrench, in->wrench) +
           dot(1, r->g.dt, in->dt) + dot(m->nparams, r->g.params, in->params);
}

/* change[i] = row i of the outputs behind `unit`, along in */
static tg_status rows_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, int rows, const tg_cotangent *unit,
                              double *change)
{
    row r;
    double *e = w->step->unit;
    take_row(m, w, in, &r);
    for (int i = 0; i < rows; i++)
    {
        e[i] = 1;
        tg_status status = tg_step_vjp(m, w, unit, &r.g, NULL);
        e[i] = 0;
        TG_TRY(status);
        change[i] = along(m, &r, in);
    }
    return TG_OK;
}

/* D_q dq + D_w (dt dv+ + ddt v+) of a rotation's three numbers */
static void rotation_forward(const double turn[3], const double dq[3], const double dw[3], double out[3])
{
    double D_q[9], D_w[9];
    tg_quat_integrate_derivatives(turn, D_q, D_w);
    for (int i = 0; i < 3; i++)
    {
        out[i] = 0;
        for (int k = 0; k < 3; k++)
            out[i] += D_q[3 * i + k] * dq[k] + D_w[3 * i + k] * dw[k];
    }
}

static void integrator_forward(const tg_model *m, const tg_step_work *s, const tg_cotangent *in, const double *dv_next,
                               double *dq_next)
{
    double dt = s->options.dt, ddt = in->dt != NULL ? *in->dt : 0;
    for (int j = 0; j < m->njoint; j++)
    {
        tg_joint_type type = (tg_joint_type)m->joint_type[j];
        int dof = m->joint_dof[j], linear = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
        for (int k = dof; k < dof + linear; k++)
            dq_next[k] = (in->q != NULL ? in->q[k] : 0) + dt * dv_next[k] + ddt * s->v_next[k];
        if (type != TG_JOINT_FREE && type != TG_JOINT_BALL)
            continue;
        double turn[3], dq[3], dw[3];
        for (int i = 0; i < 3; i++)
        {
            int k = dof + linear + i;
            turn[i] = dt * s->v_next[k];
            dq[i] = in->q != NULL ? in->q[k] : 0;
            dw[i] = dt * dv_next[k] + ddt * s->v_next[k];
        }
        rotation_forward(turn, dq, dw, dq_next + dof + linear);
    }
}

static tg_status check_change(const tg_model *m, tg_work *w, const tg_cotangent *in)
{
    const struct
    {
        const char *name;
        const double *x;
        int n;
    } part[] = {{"in.q", in->q, m->nv},     {"in.v", in->v, m->nv},
                {"in.act", in->act, m->na}, {"in.u", in->u, m->nu},
                {"in.tau", in->tau, m->nv}, {"in.wrench", in->wrench, 6 * m->nbody},
                {"in.dt", in->dt, 1},       {"in.params", in->params, m->nparams}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (part[i].x != NULL)
            TG_TRY(tg_check_vector(w, part[i].name, part[i].x, part[i].n));
    return TG_OK;
}

tg_status tg_step_jvp(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out, tg_label *label)
{
    TG_TRY(tg_check_work(m, w));
    if (in == NULL || out == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s is NULL", in == NULL ? "in" : "out");
    TG_TRY(check_change(m, w, in));
    TG_TRY(tg_step_prepare(m, w));
    double *e = w->step->unit, *dv = w->step->forward_v;
    if (out->v != NULL || out->q != NULL)
        TG_TRY(rows_forward(m, w, in, m->nv, &(tg_cotangent){.v = e}, dv));
    if (out->act != NULL)
        TG_TRY(rows_forward(m, w, in, m->na, &(tg_cotangent){.act = e}, out->act));
    if (out->q != NULL)
        integrator_forward(m, w->step, in, dv, out->q);
    tg_gradient_copy(m, dv, out->v);
    if (label != NULL)
        *label = w->step->label;
    return TG_OK;
}
