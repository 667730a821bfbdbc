/* Derivatives with the time of impact.
 *
 * A step in which a gap closes with restitution changes velocities at its start, whatever the gap still is: its
 * derivative does not know that from a displaced state the bodies meet earlier or later. With F the step, phi the gap,
 * t the time by which the impact is late,
 *     dt = -(d phi) / phi',    phi' = J_N v < 0,
 * the bodies of the island go on for dt before the impact with (v, a), and for so much less after it with (v+, a):
 *     DF (I + [v; a] tau) - [v+; a] tau,    tau = -(grad phi) / phi',
 * (the saltation matrix; a: acceleration of the smooth part. What holds during the impact is held by DF before it and
 * by the next step after it.) Of several impacts in one island the mean counts, weighted with their impulses.
 *
 * Adaptive naive integration has of this what DF leaves of the positions at the end alone, (v - v+) tau: for one ball
 * -(1 + e) d phi. (Wang, Aanjaneya, Bekris, 2022; their term is in the velocity, where it grows with every step that
 * follows.) Detached, the impulses of an impact do not answer to velocities either: v+ follows v as if nothing had been
 * hit. */
#include "contact/rows_vjp.h"
#include "step/step.h"

static bool is_impact(const tg_rows *r, int block)
{
    const tg_constraint *c = &r->constraint[r->order[block]];
    return c->source == TG_SOURCE_CONTACT && r->touch[c->index].impact;
}

static bool acts_in(const tg_work *w, const tg_rows_island *island)
{
    tg_backward backward = w->step->options.backward;
    return island->impact && !island->within && backward >= TG_BACKWARD_TOI && backward <= TG_BACKWARD_DETACH;
}

static bool in_positions_only(const tg_step_work *s)
{
    return s->options.backward == TG_BACKWARD_ANI || s->options.backward == TG_BACKWARD_DETACH;
}

bool tg_detaches(const tg_work *w)
{
    return w->step->options.backward == TG_BACKWARD_DETACH && tg_saltation_acts(w);
}

bool tg_saltation_acts(const tg_work *w)
{
    bool any = false;
    for (int i = 0; i < w->rows->nisland; i++)
        any = any || acts_in(w, &w->rows->island[i]);
    return any;
}

/* gphi of an island's impacts for a gradient g of the time */
static void seed_time(const tg_rows *r, const tg_rows_island *island, double g, double *gphi)
{
    double rate = 0;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        rate += is_impact(r, b) ? r->L[c->row] * r->touch[c->index].approach : 0;
    }
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (is_impact(r, b) && rate < 0)
            gphi[c->row] = -g * r->L[c->row] / rate;
    }
}

static bool in_island(const tg_model *m, const tg_work *w, int dof, int island)
{
    return w->rows->tree_island[m->node_tree[m->dof_node[dof]]] == island;
}

static double acceleration(const tg_step_work *s, int dof)
{
    return (s->v_free[dof] - s->v[dof]) / s->options.dt;
}

/* gphi . Phi on to g */
static void gaps_reverse(const tg_model *m, tg_work *w, const double *gphi, tg_gradient g, double *gdt)
{
    tg_step_work *s = w->step;
    double *zero = s->cotangent, *none = s->row_gradient;
    memset(zero, 0, sizeof(double) * (size_t)m->nv);
    memset(none, 0, sizeof(double) * (size_t)w->rows->nrow);
    tg_row_term term = {TG_ROW_FIELD_Y, zero, none};
    tg_adjoint_begin(m, w, zero);
    tg_rows_reverse(m, w, s->q, &term, 1, gphi, NULL, s->options.dt, gdt, g);
    tg_adjoint_end(m, w, s->q, &(tg_adjoint_fields){.v = s->v, .y = zero}, g.q, g.v, g.a, g.params);
}

static double *clear_gphi(tg_work *w)
{
    double *gphi = w->step->row_gradient + w->rows->capacity.rows;
    memset(gphi, 0, sizeof(double) * (size_t)w->rows->nrow);
    return gphi;
}

/* ---- reverse ---- */

static double time_gradient(const tg_model *m, const tg_work *w, int island, const tg_cotangent *out, tg_gradient g)
{
    const tg_step_work *s = w->step;
    double sum = 0;
    for (int k = 0; k < m->nv; k++)
    {
        if (!in_island(m, w, k, island))
            continue;
        if (in_positions_only(s))
        {
            sum += out->q != NULL ? out->q[k] * (s->v[k] - s->v_next[k]) : 0;
            continue;
        }
        double a = acceleration(s, k);
        sum += g.q[k] * s->v[k] + g.v[k] * a;
        sum -= (out->q != NULL ? out->q[k] * s->v_next[k] : 0) + (out->v != NULL ? out->v[k] * a : 0);
    }
    return sum;
}

void tg_saltation_reverse(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_gradient g, double *gdt)
{
    const tg_rows *r = w->rows;
    double *gphi = clear_gphi(w);
    for (int i = 0; i < r->nisland; i++)
        if (acts_in(w, &r->island[i]))
            seed_time(r, &r->island[i], time_gradient(m, w, i, out, g), gphi);
    gaps_reverse(m, w, gphi, g, gdt);
}

/* ---- forward ---- */

/* One island's tau and DF [v; a] - [v+; a]. */
typedef struct column
{
    tg_gradient tau;
    double dt;
    const double *contact; /* of contacts from outside */
    double *q, *v, *act;
} column;

static tg_status make_column(const tg_model *m, tg_work *w, int island, bool params, column *c)
{
    tg_step_work *s = w->step;
    int nv = m->nv;
    double *p = s->saltation + 2 * nv, *along_q = tg_next(&p, (size_t)nv), *along_v = tg_next(&p, (size_t)nv);
    *c = (column){.q = tg_next(&p, (size_t)nv)};
    c->v = tg_next(&p, (size_t)nv);
    c->act = p;
    for (int k = 0; k < nv; k++)
    {
        bool inside = in_island(m, w, k, island);
        along_q[k] = inside ? s->v[k] : 0;
        along_v[k] = inside ? acceleration(s, k) : 0;
    }
    if (in_positions_only(s))
    {
        memcpy(c->q, along_q, sizeof(double) * (size_t)nv);
        memset(along_v, 0, sizeof(double) * (size_t)nv);
        memset(c->v, 0, sizeof(double) * (size_t)(nv + m->na));
    }
    else
        TG_TRY(tg_step_forward(m, w, 1, &(tg_cotangent){.q = along_q, .v = along_v}, NULL,
                               &(tg_cotangent){.q = c->q, .v = c->v, .act = c->act}));
    for (int k = 0; k < nv; k++)
    {
        c->q[k] -= in_island(m, w, k, island) ? s->v_next[k] : 0;
        c->v[k] -= along_v[k];
    }
    c->tau = tg_gradient_begin(m, w, params ? w->param_gradient : NULL);
    double *gphi = clear_gphi(w);
    seed_time(w->rows, &w->rows->island[island], 1, gphi);
    tg_given_clear(w->rows);
    gaps_reverse(m, w, gphi, c->tau, &c->dt);
    tg_gradient_end(m, w, c->tau.params);
    tg_given_gradients(w->rows, s->given_gradient);
    c->contact = s->given_gradient;
    return TG_OK;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; b != NULL && i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(int n, double factor, const double *x, double *sum)
{
    for (int i = 0; sum != NULL && i < n; i++)
        sum[i] += factor * x[i];
}

tg_status tg_saltation_forward(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out)
{
    for (int i = 0; i < w->rows->nisland; i++)
    {
        column c;
        if (!acts_in(w, &w->rows->island[i]))
            continue;
        TG_TRY(make_column(m, w, i, in->params != NULL, &c));
        double late = dot(m->nv, c.tau.q, in->q) + dot(m->nv, c.tau.v, in->v) + dot(1, &c.dt, in->dt);
        if (in->params != NULL)
            late += dot(m->nparams, c.tau.params, in->params);
        late += dot(TG_GIVEN_NUMBERS * w->rows->ngiven, c.contact, in->contact);
        add(m->nv, late, c.q, out->q);
        add(m->nv, late, c.v, out->v);
        add(m->na, late, c.act, out->act);
    }
    return TG_OK;
}

/* matrix (rows x n) += column tau^T */
static void add_outer(int rows, const double *x, int n, const double *tau, double *matrix)
{
    for (int i = 0; matrix != NULL && i < rows; i++)
        add(n, x[i], tau, matrix + (size_t)i * (size_t)n);
}

static void add_params(int rows, const double *x, const tg_jacobian *j, const double *tau, double *matrix)
{
    for (int i = 0; matrix != NULL && i < rows; i++)
        for (int k = 0; k < j->nindex; k++)
            matrix[(size_t)i * (size_t)j->nindex + (size_t)k] += x[i] * tau[j->index[k]];
}

tg_status tg_saltation_jacobian(const tg_model *m, tg_work *w, tg_jacobian *j)
{
    bool params = j->dq_dparams != NULL || j->dv_dparams != NULL || j->dact_dparams != NULL;
    for (int i = 0; i < w->rows->nisland; i++)
    {
        column c;
        if (!acts_in(w, &w->rows->island[i]))
            continue;
        TG_TRY(make_column(m, w, i, params, &c));
        add_outer(m->nv, c.q, TG_GIVEN_NUMBERS * w->rows->ngiven, c.contact, j->dq_dcontact);
        add_outer(m->nv, c.v, TG_GIVEN_NUMBERS * w->rows->ngiven, c.contact, j->dv_dcontact);
        add_outer(m->nv, c.q, m->nv, c.tau.q, j->dq_dq);
        add_outer(m->nv, c.q, m->nv, c.tau.v, j->dq_dv);
        add_outer(m->nv, c.q, 1, &c.dt, j->dq_ddt);
        add_outer(m->nv, c.v, m->nv, c.tau.q, j->dv_dq);
        add_outer(m->nv, c.v, m->nv, c.tau.v, j->dv_dv);
        add_outer(m->nv, c.v, 1, &c.dt, j->dv_ddt);
        add_outer(m->na, c.act, m->nv, c.tau.q, j->dact_dq);
        add_outer(m->na, c.act, m->nv, c.tau.v, j->dact_dv);
        add_outer(m->na, c.act, 1, &c.dt, j->dact_ddt);
        if (!params)
            continue;
        add_params(m->nv, c.q, j, c.tau.params, j->dq_dparams);
        add_params(m->nv, c.v, j, c.tau.params, j->dv_dparams);
        add_params(m->na, c.act, j, c.tau.params, j->dact_dparams);
    }
    return TG_OK;
}
