/* Forward mode of a step: the change of what comes out along a change of what goes in.
 *
 * v+ along q, v, act, u and tau at once (forward.h); along wrenches, dt and parameters, and act+, row by row through reverse mode. q+ = q (+) dt v+ then
 * follows by the derivatives of the integrator, dq+ = D_q dq + D_w (dt dv+ + ddt v+). */
#include "dynamics/vjp.h"
#include "step/step.h"

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

/* change[i] += row i of the outputs behind `unit`, along in */
static tg_status rows_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, int rows, const tg_cotangent *unit,
                              double *change)
{
    row r;
    double *e = w->step->unit;
    take_row(m, w, in, &r);
    for (int i = 0; i < rows; i++)
    {
        e[i] = 1;
        tg_status status = tg_step_reverse(m, w, unit, &r.g);
        e[i] = 0;
        TG_TRY(status);
        change[i] += along(m, &r, in);
    }
    return TG_OK;
}

/* the change of v+ */
static tg_status velocity_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, double *dv)
{
    tg_cotangent rest = *in;
    memset(dv, 0, sizeof(double) * (size_t)m->nv);
    if (tg_forward_fits(m, w))
    {
        if (in->q != NULL || in->v != NULL || in->act != NULL || in->u != NULL || in->tau != NULL)
            TG_TRY(tg_forward_product(m, w, in, dv));
        rest = (tg_cotangent){.wrench = in->wrench, .dt = in->dt, .params = in->params};
        if (rest.wrench == NULL && rest.dt == NULL && rest.params == NULL)
            return TG_OK;
    }
    return rows_forward(m, w, &rest, m->nv, &(tg_cotangent){.v = w->step->unit}, dv);
}

tg_status tg_step_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out)
{
    double *e = w->step->unit, *dv = w->step->forward_v;
    if (out->v != NULL || out->q != NULL)
        TG_TRY(velocity_forward(m, w, in, dv));
    if (out->act != NULL)
    {
        memset(out->act, 0, sizeof(double) * (size_t)m->na);
        TG_TRY(rows_forward(m, w, in, m->na, &(tg_cotangent){.act = e}, out->act));
    }
    tg_gradient_copy(m, dv, out->v);
    if (out->q == NULL)
        return TG_OK;
    if (!tg_projects(m, w))
    {
        tg_integrator_change(m, w, in->q, in->dt, dv, out->q);
        return TG_OK;
    }
    memset(out->q, 0, sizeof(double) * (size_t)m->nv); /* parameters move closed loops themselves */
    return rows_forward(m, w, in, m->nv, &(tg_cotangent){.q = e}, out->q);
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
    TG_TRY(tg_step_forward(m, w, in, out));
    if (tg_saltation_acts(w))
        TG_TRY(tg_saltation_forward(m, w, in, out));
    if (label != NULL)
        *label = w->step->label;
    return TG_OK;
}
