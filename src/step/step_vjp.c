/* Reverse mode of a step.
 *
 * v+ = v + A^-1 (dt f + J^T L) and L obeys the laws on sigma = J v+ + b. With vbar the gradient of v+ (that of q+
 * included), Lbar = J A^-1 vbar and z = D^T Lbar from the factors of the islands (contact/implicit.h), y = A^-1 (vbar +
 * J^T z),
 *
 *   d(scalar) = d [ dt y . (tau + actuators + passive + wrenches - RNEA(q, v, a)) - y . extra (v+ - v)
 *                   + L . (J y) + z . (J v+ + b) + turn . (J p) ]   with y, z, turn, p, L, v+ held fixed, a = (v+ - v)
 *                       / dt,
 *
 * plus the friction coefficients and bounds of dry friction, which move L itself. One pass over the tree with y and v+,
 * and one with p where redundant rows slide. docs/gradients.md has the derivation.
 *
 * reverse_impulses.c has Lbar, z and y, reverse_sweep.c what is behind them, reverse_problems.c steps of more than one
 * problem; here is their order, and the boundary. */
#include "step/gyroscopic.h"
#include "step/reverse.h"
#include "step/unrolled.h"
#include "tangere/algebra.h"

static tg_status reverse_step(tg_reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    if (r->s->within)
        TG_TRY(tg_reverse_within(r, out));
    else
    {
        if (out->q != NULL)
            tg_integrator_reverse(m, r->w, out->q, r->g.q, r->vbar, r->gdt);
        if (tg_unrolls(r->w) && r->w->rows->nrow > 0)
            TG_TRY(tg_reverse_unrolled(r, out));
        else
        {
            TG_TRY(tg_reverse_impulses(r, out));
            tg_reverse_sweep(r);
        }
        if (r->compressed)
            tg_reverse_compression(r);
    }
    if (r->s->options.implicit_gyroscopic == TG_ON)
        TG_TRY(tg_reverse_gyroscopic(r));
    tg_reverse_activations(r, out->act);
    for (int k = 0; k < m->nv; k++) /* a = (v+ - v) / dt */
        r->g.v[k] -= r->g.a[k] / r->dt;
    return TG_OK;
}

/* ---- the boundary ---- */

static tg_status check_cotangent(const tg_model *m, tg_work *w, const tg_cotangent *out)
{
    if (out == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "out is NULL");
    if (out->q != NULL)
        TG_TRY(tg_check_vector(w, "out.q", out->q, m->nv));
    if (out->v != NULL)
        TG_TRY(tg_check_vector(w, "out.v", out->v, m->nv));
    if (out->act != NULL)
        TG_TRY(tg_check_vector(w, "out.act", out->act, m->na));
    const struct
    {
        const char *name;
        const double *x;
    } part[] = {{"out.force", out->force}, {"out.torque", out->torque}, {"out.point", out->point}};
    for (size_t i = 0; i < sizeof part / sizeof *part; i++)
        if (part[i].x != NULL)
            TG_TRY(tg_check_vector(w, part[i].name, part[i].x, DIM * tg_contact_count(w)));
    return TG_OK;
}

bool tg_wants_contacts(const tg_cotangent *out)
{
    return out->force != NULL || out->torque != NULL || out->point != NULL;
}

static tg_status prepare(const tg_model *m, tg_work *w, const tg_cotangent *out)
{
    return tg_wants_contacts(out) ? tg_step_prepare_forces(m, w) : tg_step_prepare(m, w);
}

static tg_reverse begin(const tg_model *m, tg_work *w, const tg_cotangent *out, const tg_cotangent *in, double *gdt)
{
    tg_step_work *s = w->step;
    size_t rows = (size_t)w->rows->capacity.rows, nv = (size_t)m->nv;
    double *c = s->cotangent, *p = s->row_gradient;
    tg_reverse r = {.m = m, .w = w, .s = s, .dt = s->options.dt, .gdt = gdt, .gact = s->gact, .gu = s->gu};
    double **const of_dofs[TG_DOF_VECTORS] = {
        &r.vbar, &r.y, &r.scaled, &r.other, &r.compressed_y, &r.compressed_scaled, &r.compressed_v};
    double **const of_rows[TG_ROW_VECTORS] = {&r.Lbar,
                                              &r.z,
                                              &r.turn,
                                              &r.gphi,
                                              &r.f,
                                              &r.f_start,
                                              &r.compressed_Lbar,
                                              &r.compressed_z,
                                              &r.compressed_turn,
                                              &r.f_free,
                                              &r.impulse};
    for (int i = 0; i < TG_DOF_VECTORS; i++)
        *of_dofs[i] = tg_next(&c, nv);
    for (int i = 0; i < TG_ROW_VECTORS; i++)
        *of_rows[i] = tg_next(&p, rows);
    r.f_free = s->within ? r.f_free : NULL;
    r.impulse = w->rows->explicit_law ? r.impulse : NULL;
    r.factors = s->implicit;
    r.wrench = in->wrench;
    r.g = tg_gradient_begin(m, w, NULL);
    r.g.params = in->params;
    tg_given_clear(w->rows);
    memset(s->gact, 0, sizeof(double) * (size_t)m->na);
    memset(s->gu, 0, sizeof(double) * (size_t)m->nu);
    for (int k = 0; k < m->nv; k++)
        r.vbar[k] = out->v != NULL ? out->v[k] : 0;
    if (r.wrench != NULL)
        memset(r.wrench, 0, sizeof(double) * TWIST * (size_t)m->nbody);
    return r;
}

static void copy_out(double *to, const double *from, int n)
{
    if (to != NULL && n > 0)
        memcpy(to, from, sizeof(double) * (size_t)n);
}

/* the gradient of q+ before its loops were closed */
static tg_status before_projection(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out)
{
    double *g = w->step->projection;
    if (out->q == NULL || !tg_projects(m, w))
        return TG_OK;
    memcpy(g, out->q, sizeof(double) * (size_t)m->nv);
    out->q = g;
    return tg_project_reverse(m, w, g, in->params);
}

/* adds to in->params, writes the others */
static tg_status take_reverse(const tg_model *m, tg_work *w, tg_cotangent out, tg_cotangent *in, bool saltation)
{
    double gdt = 0;
    w->step->matrices.ready = false; /* its fields and spreads go */
    TG_TRY(before_projection(m, w, in, &out));
    if (w->step->options.implicit_gyroscopic == TG_ON && !w->step->gyroscopic_factored)
        TG_TRY(tg_gyroscopic_factor(m, w));
    tg_reverse r = begin(m, w, &out, in, &gdt);
    TG_TRY(reverse_step(&r, &out));
    copy_out(in->tau, r.scaled, m->nv);
    if (saltation)
        tg_saltation_reverse(m, w, &out, r.g, &gdt);
    copy_out(in->q, r.g.q, m->nv);
    copy_out(in->v, r.g.v, m->nv);
    copy_out(in->act, r.gact, m->na);
    copy_out(in->u, r.gu, m->nu);
    copy_out(in->dt, &gdt, 1);
    tg_given_gradients(w->rows, in->contact);
    return TG_OK;
}

static void clear_params(const tg_model *m, tg_cotangent *in)
{
    if (in->params != NULL)
        memset(in->params, 0, sizeof(double) * (size_t)m->nparams);
}

tg_status tg_step_reverse(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in)
{
    clear_params(m, in);
    TG_TRY(take_reverse(m, w, *out, in, false));
    tg_gradient_end(m, w, in->params);
    return TG_OK;
}

tg_status tg_step_vjp_add(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label)
{
    TG_TRY(check_cotangent(m, w, out));
    TG_TRY(prepare(m, w, out));
    TG_TRY(take_reverse(m, w, *out, in, tg_saltation_acts(w)));
    if (label != NULL)
        *label = w->step->label;
    return TG_OK;
}

tg_status tg_step_vjp(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label)
{
    TG_TRY(tg_check_work(m, w));
    if (in == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "in is NULL");
    clear_params(m, in);
    TG_TRY(tg_step_vjp_add(m, w, out, in, label));
    tg_gradient_end(m, w, in->params);
    return TG_OK;
}
