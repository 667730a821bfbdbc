/* The quadratic part of the cost has its own second derivatives; those of a callback are central differences of its
 * gradient,
 *     H[:, j] = (g(z (+) h e_j) - g(z (+) -h e_j)) / 2 h,   h = eps^(1/3) max(1, |z_j|), symmetrised. */
#include "control/expand.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/linearise.h"
#include "model/manifold.h"

void tg_expansion_place(tg_expansion *e, const tg_model *m, int rows, bool callback, tg_arena *arena)
{
    size_t n = (size_t)tg_tangent_size(m), nu = (size_t)m->nu, nz = n + nu, r = (size_t)rows;
    e->rows = rows;
    e->n = (int)n;
    e->nu = m->nu;
    e->nz = (int)nz;
    e->each = callback ? 1 + 2 * e->nz : 0;
    size_t points = (r + 1) * (size_t)e->each, nq = (size_t)m->nq, nv = (size_t)m->nv, na = (size_t)m->na;
    e->A = TG_TAKE(arena, double, r *n *n, "A");
    e->B = TG_TAKE(arena, double, r *n *nu, "B");
    e->gradient = TG_TAKE(arena, double, (r + 1) * nz, "gradient");
    e->hessian = TG_TAKE(arena, double, (r + 1) * nz * nz, "hessian");
    e->q = TG_TAKE(arena, double, points *nq, "points q");
    e->v = TG_TAKE(arena, double, points *nv, "points v");
    e->act = TG_TAKE(arena, double, points *na, "points act");
    e->u = TG_TAKE(arena, double, points *nu, "points u");
    e->value = TG_TAKE(arena, double, points, "points value");
    e->gq = TG_TAKE(arena, double, points *nv, "points gq");
    e->gv = TG_TAKE(arena, double, points *nv, "points gv");
    e->gact = TG_TAKE(arena, double, points *na, "points gact");
    e->gu = TG_TAKE(arena, double, points *nu, "points gu");
    e->h = TG_TAKE(arena, double, (r + 1) * nz, "h");
    e->row = TG_TAKE(arena, int, points, "points row");
}

/* ---- differences of a callback ---- */

static double *point_at(double *rows, size_t point, int n)
{
    return rows + point * (size_t)n;
}

/* z (+) change e_j at a point that holds z; q is in the tangent space of the one at `origin`. */
static void move_point(const tg_expansion *e, const tg_model *m, size_t point, size_t origin, int j, double change)
{
    int nv = m->nv, na = m->na;
    if (j < nv)
    {
        double *along = point_at(e->gq, point, nv); /* free until the callback is asked */
        memset(along, 0, sizeof(double) * (size_t)nv);
        along[j] = change;
        tg_advance(m, point_at(e->q, origin, m->nq), along, point_at(e->q, point, m->nq));
    }
    else if (j < 2 * nv)
        point_at(e->v, point, nv)[j - nv] += change;
    else if (j < 2 * nv + na)
        point_at(e->act, point, na)[j - 2 * nv] += change;
    else
        point_at(e->u, point, m->nu)[j - 2 * nv - na] += change;
}

/* The size of a number of z, for the length of its difference; of rotations 1. */
static double size_of(const tg_expansion *e, const tg_model *m, size_t origin, int j)
{
    int nv = m->nv, na = m->na;
    double x = j < nv            ? 1
               : j < 2 * nv      ? point_at(e->v, origin, nv)[j - nv]
               : j < 2 * nv + na ? point_at(e->act, origin, na)[j - 2 * nv]
                                 : point_at(e->u, origin, m->nu)[j - 2 * nv - na];
    return fmax(1, fabs(x));
}

static void fill_points(const tg_expansion *e, int row)
{
    const tg_rolls *r = e->rolls;
    const tg_model *m = r->m;
    size_t origin = (size_t)row * (size_t)e->each;
    for (int i = 0; i < e->each; i++)
    {
        size_t at = origin + (size_t)i;
        e->row[at] = row;
        tg_copy_row(point_at(e->q, at, m->nq), tg_rolls_at(r, r->q, e->sample, row, m->nq), m->nq);
        tg_copy_row(point_at(e->v, at, m->nv), tg_rolls_at(r, r->v, e->sample, row, m->nv), m->nv);
        tg_copy_row(point_at(e->act, at, m->na), tg_rolls_at(r, r->act, e->sample, row, m->na), m->na);
        tg_copy_row(point_at(e->u, at, m->nu), tg_rolls_at(r, r->u, e->sample, row, m->nu), m->nu);
    }
    for (int j = 0; j < (row < e->rows ? e->nz : e->n); j++)
    {
        double h = cbrt(DBL_EPSILON) * size_of(e, m, origin, j);
        e->h[row * e->nz + j] = h;
        move_point(e, m, origin + 1 + 2 * (size_t)j, origin, j, h);
        move_point(e, m, origin + 2 + 2 * (size_t)j, origin, j, -h);
    }
}

/* The callback's gradients at the points of rows first .. first + count - 1. */
static tg_status ask(const tg_expansion *e, int first, int count, tg_error *error)
{
    const tg_model *m = e->rolls->m;
    const tg_plan_cost *c = e->rolls->cost;
    size_t from = (size_t)first * (size_t)e->each, points = (size_t)count * (size_t)e->each;
    int nv = m->nv, na = m->na, nu = m->nu;
    tg_cost_points at = {.count = (int)points,
                         .row = e->row + from,
                         .q = point_at(e->q, from, m->nq),
                         .v = point_at(e->v, from, nv),
                         .act = point_at(e->act, from, na),
                         .u = point_at(e->u, from, nu)};
    tg_cost_gradient g = {point_at(e->gq, from, nv), point_at(e->gv, from, nv), point_at(e->gact, from, na),
                          point_at(e->gu, from, nu)};
    memset(g.q, 0, sizeof(double) * points * (size_t)nv);
    memset(g.v, 0, sizeof(double) * points * (size_t)nv);
    memset(g.act, 0, sizeof(double) * points * (size_t)na);
    memset(g.u, 0, sizeof(double) * points * (size_t)nu);
    tg_status status = c->points(c->user, &at, e->value + from, &g);
    if (status != TG_OK)
        return tg_fail(error, status, "the gradient of the cost was refused at row %d: %s", first,
                       tg_status_string(status));
    const struct
    {
        const char *name;
        const double *at;
        int n;
    } parts[] = {{"q", g.q, nv}, {"v", g.v, nv}, {"act", g.act, na}, {"u", g.u, nu}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
        for (size_t i = 0; i < points * (size_t)parts[p].n; i++)
            if (!isfinite(parts[p].at[i]))
                return tg_fail(error, TG_ERR_NUMERIC, "the gradient of the cost by %s[%d] in row %d is %g",
                               parts[p].name, (int)(i % (size_t)parts[p].n),
                               first + (int)(i / (size_t)parts[p].n / (size_t)e->each), parts[p].at[i]);
    return TG_OK;
}

/* Number i of the gradient by z at a point. */
static double slope_at(const tg_expansion *e, const tg_model *m, size_t point, int i)
{
    int nv = m->nv, na = m->na;
    return i < nv            ? point_at(e->gq, point, nv)[i]
           : i < 2 * nv      ? point_at(e->gv, point, nv)[i - nv]
           : i < 2 * nv + na ? point_at(e->gact, point, na)[i - 2 * nv]
                             : point_at(e->gu, point, m->nu)[i - 2 * nv - na];
}

static void add_differences(const tg_expansion *e, int row)
{
    const tg_model *m = e->rolls->m;
    int used = row < e->rows ? e->nz : e->n;
    size_t origin = (size_t)row * (size_t)e->each, nz = (size_t)e->nz;
    double *g = e->gradient + (size_t)row * nz, *H = e->hessian + (size_t)row * nz * nz;
    for (int i = 0; i < used; i++)
        g[i] += slope_at(e, m, origin, i);
    for (int j = 0; j < used; j++)
        for (int i = 0; i < used; i++)
        {
            double d = (slope_at(e, m, origin + 1 + 2 * (size_t)j, i) - slope_at(e, m, origin + 2 + 2 * (size_t)j, i)) /
                       (2 * e->h[(size_t)row * nz + (size_t)j]);
            H[(size_t)i * nz + (size_t)j] += 0.5 * d;
            H[(size_t)j * nz + (size_t)i] += 0.5 * d;
        }
}

/* ---- rows ---- */

static tg_status expand_cost(const tg_expansion *e, tg_lane *lane, int row)
{
    const tg_rolls *r = e->rolls;
    const tg_model *m = r->m;
    double value, *scratch = tg_rolls_scratch(r, lane);
    size_t nz = (size_t)e->nz;
    tg_cost_point at = {.row = row,
                        .rows = e->rows,
                        .q = tg_rolls_at(r, r->q, e->sample, row, m->nq),
                        .v = tg_rolls_at(r, r->v, e->sample, row, m->nv),
                        .act = tg_rolls_at(r, r->act, e->sample, row, m->na),
                        .u = row < e->rows ? tg_rolls_at(r, r->u, e->sample, row, m->nu) : NULL};
    TG_TRY(tg_cost_quadratic(m, lane->work, r->cost, &at, scratch, &value, e->gradient + (size_t)row * nz,
                             e->hessian + (size_t)row * nz * nz));
    if (e->each == 0)
        return TG_OK;
    fill_points(e, row);
    if (r->cost->together)
        return TG_OK;
    TG_TRY(ask(e, row, 1, &lane->error));
    add_differences(e, row);
    return TG_OK;
}

static tg_status expand_dynamics(const tg_expansion *e, tg_lane *lane, int row)
{
    const tg_rolls *r = e->rolls;
    const tg_model *m = r->m;
    size_t n = (size_t)e->n, at = (size_t)e->sample * (size_t)r->rows + (size_t)row;
    int room = lane->cache.capacity < r->room ? lane->cache.capacity : r->room;
    tg_copy_row(lane->state.q, tg_rolls_at(r, r->q, e->sample, row, m->nq), m->nq);
    tg_copy_row(lane->state.v, tg_rolls_at(r, r->v, e->sample, row, m->nv), m->nv);
    tg_copy_row(lane->state.act, tg_rolls_at(r, r->act, e->sample, row, m->na), m->na);
    lane->cache.count = r->entries[at] < room ? r->entries[at] : room;
    if (lane->cache.count > 0)
        memcpy(lane->cache.entry, r->entry + at * (size_t)r->room, sizeof(tg_cache_entry) * (size_t)lane->cache.count);
    return tg_linearise_in(m, lane->work, &r->batch->options, &lane->state, tg_rolls_at(r, r->u, e->sample, row, m->nu),
                           r->hold, tg_rolls_scratch(r, lane), e->A + (size_t)row * n * n,
                           e->B + (size_t)row * n * (size_t)m->nu);
}

static tg_status expand_row(void *context, tg_lane *lane, int row)
{
    const tg_expansion *e = context;
    const tg_batch *b = e->rolls->batch;
    const tg_param_source params = {b->params, &b->names, NULL};
    TG_TRY(tg_lane_params(lane, &params, 0));
    if (row < e->rows)
        TG_TRY(expand_dynamics(e, lane, row));
    return expand_cost(e, lane, row);
}

tg_status tg_expand(tg_expansion *e, tg_rolls *rolls, int sample, tg_error *error)
{
    e->rolls = rolls;
    e->sample = sample;
    tg_status status = tg_batch_run(rolls->batch, e->rows + 1, expand_row, e);
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_batch_message(rolls->batch));
    if (e->each == 0 || !rolls->cost->together)
        return TG_OK;
    TG_TRY(ask(e, 0, e->rows + 1, error));
    for (int row = 0; row <= e->rows; row++)
        add_differences(e, row);
    return TG_OK;
}
