/* Loops brought to rounding after a step (option project): Newton on the equalities' position errors Phi, in the metric
 * of the step's mass matrix,
 *     q <- q (+) -M^-1 J^T (J M^-1 J^T)^+ Phi.
 * The equalities are listed in rows of their own, so that those of the step stay as they are; velocities are not
 * touched.
 *
 * Derivatives: where the loops close, q+ moves with what came before as dq+ <- dq+ - M^-1 J^T G^+ (J dq+ + dPhi), dPhi
 * by parameters, up to terms of the size of the correction itself. */
#include <math.h>

#include "contact/rows_vjp.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "math/dense.h"
#include "model/manifold.h"
#include "step/step.h"

static const int most_rounds = 10;
static const double rounding = 1e-14; /* of Phi, relative to where the loops are (m, at least 1) */
static const double redundant =
    1e-8; /* relative size of a pivot of J M^-1 J^T that counts as zero: where a loop is stretched, it stays as it is */

/* ---- memory ---- */

/* the factors of all islands, each from its first row on */
typedef struct fit
{
    double *scale, *tau, *work;
    int *order, *rank;
} fit;

static fit take_fit(int rows, tg_arena *arena)
{
    fit f;
    f.scale = TG_TAKE(arena, double, rows, "scale");
    f.tau = TG_TAKE(arena, double, rows, "tau");
    f.work = TG_TAKE(arena, double, rows, "work");
    f.order = TG_TAKE(arena, int, rows, "order");
    f.rank = TG_TAKE(arena, int, rows, "rank");
    return f;
}

tg_capacity tg_closure_capacity(const tg_model *m)
{
    int trees = m->ntree < 1 ? 1 : m->ntree, most = 0;
    tg_arena arena = {0};
    for (int t = 0; t < m->ntree; t++)
        most = m->tree_ndof[t] > most ? m->tree_ndof[t] : most;
    tg_capacity c = {.constraints = m->nequality, .bonds = m->nequality, .rows = TWIST * m->nequality};
    c.parts = m->nequality * trees;
    c.columns = c.rows * trees;
    c.island_rows = c.rows < TG_DENSE_ROWS ? c.rows : TG_DENSE_ROWS;
    c.jacobian = (size_t)c.columns * (size_t)most + 2 * V4_LANES * (size_t)(m->nv + 1);
    c.delassus = (size_t)c.rows * (size_t)v4_pad(c.island_rows) + V4_LANES;
    c.support = tg_support_room(m, c.columns);
    take_fit(c.rows, &arena);
    c.scratch = arena.used + tg_delassus_scratch(m, &c);
    return c;
}

/* ---- one round ---- */

/* The equalities at q. Returns the largest |Phi| (m, rad), relative to how far from the origin they are. */
static double place_loops(const tg_model *m, tg_work *w, const double *q)
{
    tg_rows *r = w->rows;
    double error = 0, extent = 1;
    tg_position_stage(m, w, q);
    if (m->ntendon > 0)
        tg_tendons(m, w, q);
    tg_list_equalities(m, w);
    tg_make_islands(m, w);
    tg_fill_jacobian(m, w, q);
    for (int i = 0; i < r->nrow; i++)
        error = fmax(error, fabs(r->phi[i]));
    for (int i = 0; i < r->nbond; i++)
        extent = fmax(extent, sqrt(v4_dot(r->bond[i].anchor, r->bond[i].anchor)));
    return error / extent;
}

/* three rows that belong together (a position, a rotation) get the same scale, because their axes mean nothing */
static void scale_together(int count, const double *G, int ld, double *scale)
{
    double largest = 0;
    for (int i = 0; i < count; i++)
        largest = fmax(largest, G[(ptrdiff_t)i * ld + i]);
    for (int i = 0; i < count; i++)
        scale[i] = largest > 0 ? 1 / sqrt(largest) : 0;
}

/* Rows get a diagonal of about one, because metres and radians mix; those that nothing can move are left out. */
static void scale_rows(const tg_rows *r, const tg_rows_island *island, double *scale)
{
    int n = island->rows, ld = v4_pad(n);
    double *G = r->G + island->G;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        int together = tg_rows_together(c->rows);
        for (int i = c->row - island->row; i < c->row - island->row + c->rows; i += together)
            scale_together(together, G + (ptrdiff_t)i * (ld + 1), ld, scale + i);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            G[(ptrdiff_t)i * ld + j] *= scale[i] * scale[j];
}

/* factors of G of every island, in its place */
static tg_status factor_loops(const tg_model *m, tg_work *w, fit *f)
{
    tg_rows *r = w->rows;
    tg_fill_delassus(m, w, w->step->options.dt, true);
    *f = take_fit(r->capacity.rows, &r->scratch);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        int n = island->rows, ld = v4_pad(n), row = island->row;
        if (!tg_island_is_dense(r, island))
            return tg_fail(&w->error, TG_ERR_CAPACITY, "options.project: %d rows of equalities are coupled; at most %d",
                           n, r->capacity.island_rows);
        scale_rows(r, island, f->scale + row);
        f->rank[row] = tg_qr(n, n, r->G + island->G, ld, f->tau + row, f->order + row, redundant, f->work);
    }
    return TG_OK;
}

/* L = G^+ c of every island, up to what J^T does not see */
static void closing_impulses(tg_work *w, const fit *f, const double *c)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        int n = island->rows, row = island->row;
        double *L = r->L + row;
        for (int k = 0; k < n; k++)
            L[k] = f->scale[row + k] * c[row + k];
        tg_qr_solve(n, n, f->rank[row], r->G + island->G, v4_pad(n), f->tau + row, f->order + row, 1, L, 1, f->work);
        for (int k = 0; k < n; k++)
            L[k] *= f->scale[row + k];
    }
}

/* ---- all ---- */

/* one round: q_closed from q_next */
static tg_status close_once(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    size_t mark = tg_arena_mark(&r->scratch);
    fit f;
    tg_status status = factor_loops(m, w, &f);
    if (status == TG_OK)
        closing_impulses(w, &f, r->phi);
    tg_arena_release(&r->scratch, mark);
    TG_TRY(status);
    tg_rows_response(m, w, r->L, s->part);
    for (int k = 0; k < m->nv; k++)
        s->part[k] = -s->part[k];
    tg_advance(m, s->q_next, s->part, s->q_closed);
    return TG_OK;
}

static tg_status close_loops(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double error = place_loops(m, w, s->q_next);
    for (int round = 0; round < most_rounds && error > rounding; round++)
    {
        TG_TRY(close_once(m, w));
        double next = place_loops(m, w, s->q_closed);
        if (!(next < error))
            break; /* as near as rounding, or loops that cannot close, let it come */
        memcpy(s->q_next, s->q_closed, sizeof(double) * (size_t)m->nq);
        error = next;
    }
    return TG_OK;
}

tg_status tg_step_project(const tg_model *m, tg_work *w)
{
    tg_rows *rows = w->rows;
    if (m->nequality == 0)
        return TG_OK;
    w->step->closure->grouped = w->rows->grouped;
    w->rows = w->step->closure;
    tg_status status = close_loops(m, w);
    w->rows = rows;
    return status;
}

/* ---- derivatives ---- */

bool tg_projects(const tg_model *m, const tg_work *w)
{
    return w->step->options.project && m->nequality > 0;
}

/* What follows happens at q+, with rows of its own; the step comes back behind it. */
static tg_status enter(const tg_model *m, tg_work *w, fit *f)
{
    w->step->closure->grouped = w->rows->grouped;
    w->rows = w->step->closure;
    place_loops(m, w, w->step->q_next);
    return factor_loops(m, w, f);
}

static tg_status leave(const tg_model *m, tg_work *w, tg_rows *rows, size_t mark, tg_status status)
{
    tg_arena_release(&w->rows->scratch, mark);
    w->rows = rows;
    TG_TRY(status);
    return tg_step_return(m, w);
}

/* dq+ <- dq+ - A^-1 J^T G^+ J dq+, column by column */
tg_status tg_project_forward(const tg_model *m, tg_work *w, int columns, double *dq)
{
    tg_step_work *s = w->step;
    tg_rows *rows = w->rows;
    size_t mark = tg_arena_mark(&s->closure->scratch);
    fit f;
    tg_status status = enter(m, w, &f);
    double *x = s->cotangent, *c = s->row_gradient;
    for (int k = 0; k < columns && status == TG_OK; k++)
    {
        for (int i = 0; i < m->nv; i++)
            x[i] = dq[(ptrdiff_t)i * columns + k];
        tg_rows_velocity(m, w, x, c);
        closing_impulses(w, &f, c);
        tg_rows_response(m, w, w->rows->L, x);
        for (int i = 0; i < m->nv; i++)
            dq[(ptrdiff_t)i * columns + k] -= x[i];
    }
    return leave(m, w, rows, mark, status);
}

/* the gradient of Phi, at q+ */
static void errors_reverse(const tg_model *m, tg_work *w, const double *gphi, double *gq, double *params)
{
    tg_step_work *s = w->step;
    double gdt = 0, *zero = s->zeros;
    tg_gradient g = tg_gradient_begin(m, w, NULL);
    g.q = gq;
    g.params = params;
    tg_adjoint_begin(m, w, zero);
    tg_rows_reverse(m, w, s->q_next, &(tg_row_term){TG_ROW_FIELD_Y, zero, zero}, 1, gphi, NULL, s->options.dt, &gdt, g);
    tg_adjoint_end(m, w, s->q_next, &(tg_adjoint_fields){.v = zero, .y = zero}, g.q, g.v, g.a, params);
}

/* gphi = -G^+ J A^-1 g; g <- g + J^T gphi */
tg_status tg_project_reverse(const tg_model *m, tg_work *w, double *g, double *params)
{
    tg_step_work *s = w->step;
    tg_rows *rows = w->rows;
    size_t mark = tg_arena_mark(&s->closure->scratch);
    fit f;
    tg_status status = enter(m, w, &f);
    if (status == TG_OK)
    {
        double *x = s->cotangent, *c = s->row_gradient;
        memcpy(x, g, sizeof(double) * (size_t)m->nv);
        tg_solve_mass(m, w, x);
        tg_rows_velocity(m, w, x, c);
        closing_impulses(w, &f, c);
        for (int i = 0; i < w->rows->nrow; i++)
            w->rows->L[i] = -w->rows->L[i];
        errors_reverse(m, w, w->rows->L, g, params);
    }
    return leave(m, w, rows, mark, status);
}
