/* Forward mode of a step: the change of what comes out along changes of what goes in, several at once.
 *
 * v+ (forward.h) and act+ along everything; q+ = q (+) dt v+ then follows by the derivatives of the integrator, dq+ =
 * D_q dq + D_w (dt dv+ + ddt v+). Row by row through reverse mode where a step has no matrices, and where loops are
 * projected: one sweep per row for all directions. */
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
    size_t nv = (size_t)m->nv;
    r->g = (tg_cotangent){.q = tg_next(&next, nv)};
    r->g.v = tg_next(&next, nv);
    r->g.tau = tg_next(&next, nv);
    r->g.act = tg_next(&next, (size_t)m->na);
    r->g.u = tg_next(&next, (size_t)m->nu);
    r->g.wrench = next;
    r->g.dt = &r->dt;
    r->g.params = in->params != NULL ? w->param_gradient : NULL;
    r->g.contact = w->rows->ngiven > 0 ? w->step->given_gradient : NULL;
}

static double along(const tg_model *m, const tg_work *w, const row *r, const tg_cotangent *in)
{
    return dot(m->nv, r->g.q, in->q) + dot(m->nv, r->g.v, in->v) + dot(m->na, r->g.act, in->act) +
           dot(m->nu, r->g.u, in->u) + dot(m->nv, r->g.tau, in->tau) + dot(TWIST * m->nbody, r->g.wrench, in->wrench) +
           dot(1, r->g.dt, in->dt) + dot(m->nparams, r->g.params, in->params) +
           dot(TG_GIVEN_NUMBERS * w->rows->ngiven, r->g.contact, in->contact);
}

/* which of what comes out */
typedef enum output
{
    OUT_Q,
    OUT_V,
    OUT_ACT
} output;

static double *output_of(const tg_cotangent *out, output which)
{
    return which == OUT_Q ? out->q : which == OUT_V ? out->v : out->act;
}

/* out of all directions, one reverse sweep a row */
static tg_status rows_forward(const tg_model *m, tg_work *w, int count, const tg_cotangent *in, output which,
                              const tg_cotangent *out)
{
    double *e = w->step->unit;
    tg_cotangent unit = {
        .q = which == OUT_Q ? e : NULL, .v = which == OUT_V ? e : NULL, .act = which == OUT_ACT ? e : NULL};
    tg_cotangent all = {0};
    row r;
    for (int d = 0; d < count; d++)
        all.params = in[d].params != NULL ? in[d].params : all.params;
    take_row(m, w, &all, &r);
    for (int i = 0; i < (which == OUT_ACT ? m->na : m->nv); i++)
    {
        e[i] = 1;
        tg_status status = tg_step_reverse(m, w, &unit, &r.g);
        e[i] = 0;
        TG_TRY(status);
        for (int d = 0; d < count; d++)
            if (output_of(&out[d], which) != NULL)
                output_of(&out[d], which)[i] = along(m, w, &r, &in[d]);
    }
    return TG_OK;
}

/* v+ and q+, unless loops were closed, of one direction */
static tg_status direction_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range,
                                   tg_cotangent *out)
{
    double *dv = w->step->forward_v;
    if (out->v != NULL || out->q != NULL)
        TG_TRY(tg_forward_product(m, w, in, range, dv));
    if (out->act != NULL)
        tg_forward_activations(m, w, in, out->act);
    tg_gradient_copy(m, dv, out->v);
    if (out->q != NULL && !tg_projects(m, w))
        tg_integrator_change(m, w, in->q, in->dt, dv, out->q);
    return TG_OK;
}

tg_status tg_step_forward(const tg_model *m, tg_work *w, int count, const tg_cotangent *in, const tg_param_range *range,
                          tg_cotangent *out)
{
    bool q = false, v = false, act = false, by_u = false, by_act = false;
    for (int d = 0; d < count; d++)
    {
        q = q || out[d].q != NULL;
        v = v || out[d].v != NULL;
        act = act || out[d].act != NULL;
        by_u = by_u || in[d].u != NULL;
        by_act = by_act || in[d].act != NULL;
    }
    if (tg_forward_fits(m, w))
    {
        if (w->step->within)
            TG_TRY(tg_within_forward(m, w, count, in, range, by_u, by_act, out));
        else
            tg_forward_begin(m, w, by_u, by_act);
        for (int d = 0; d < count && !w->step->within; d++)
            TG_TRY(direction_forward(m, w, &in[d], range != NULL ? range[d] : tg_range_of(m, in[d].params), &out[d]));
        return q && tg_projects(m, w) ? rows_forward(m, w, count, in, OUT_Q, out) : TG_OK;
    }
    if (q)
        TG_TRY(rows_forward(m, w, count, in, OUT_Q, out));
    if (v)
        TG_TRY(rows_forward(m, w, count, in, OUT_V, out));
    for (int d = 0; d < count && act; d++)
        if (out[d].act != NULL)
            tg_forward_activations(m, w, &in[d], out[d].act);
    return TG_OK;
}

tg_status tg_check_change(const tg_model *m, tg_work *w, const tg_cotangent *in)
{
    const struct
    {
        const char *name;
        const double *x;
        int n;
    } part[] = {{"in.q", in->q, m->nv},
                {"in.v", in->v, m->nv},
                {"in.act", in->act, m->na},
                {"in.u", in->u, m->nu},
                {"in.tau", in->tau, m->nv},
                {"in.wrench", in->wrench, TWIST * m->nbody},
                {"in.dt", in->dt, 1},
                {"in.params", in->params, m->nparams},
                {"in.contact", in->contact, TG_GIVEN_NUMBERS * w->rows->ngiven}};
    for (size_t i = 0; i < sizeof part / sizeof part[0]; i++)
        if (part[i].x != NULL)
            TG_TRY(tg_check_vector(w, part[i].name, part[i].x, part[i].n));
    return TG_OK;
}

tg_status tg_step_jvp_many(const tg_model *m, tg_work *w, int count, const tg_cotangent *in,
                           const tg_param_range *range, tg_cotangent *out, tg_label *label)
{
    TG_TRY(tg_step_prepare(m, w));
    TG_TRY(tg_step_forward(m, w, count, in, range, out));
    for (int d = 0; d < count && tg_saltation_acts(w); d++)
        TG_TRY(tg_saltation_forward(m, w, &in[d], &out[d]));
    if (label != NULL)
        *label = w->step->label;
    return TG_OK;
}

tg_status tg_step_jvp(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out, tg_label *label)
{
    TG_TRY(tg_check_work(m, w));
    if (in == NULL || out == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s is NULL", in == NULL ? "in" : "out");
    TG_TRY(tg_check_change(m, w, in));
    return tg_step_jvp_many(m, w, 1, in, NULL, out, label);
}
