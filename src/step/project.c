/* Loops brought to rounding after a step (option project): Newton on the equalities' position errors Phi, in the metric of the
 * step's mass matrix,
 *     q <- q (+) -M^-1 J^T (J M^-1 J^T)^+ Phi.
 * The equalities are listed in rows of their own, so that those of the step stay as they are; velocities are not touched. */
#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "math/dense.h"
#include "model/manifold.h"
#include "step/step.h"

static const int most_rounds = 10;
static const double rounding = 1e-14;  /* of Phi, relative to where the loops are (m, at least 1) */
static const double redundant = 1e-12; /* relative size of a pivot of J M^-1 J^T that counts as zero */

/* ---- memory ---- */

/* one least-squares solve with an island's matrix */
typedef struct fit
{
    double *scale, *tau, *work;
    int *order;
} fit;

static fit take_fit(int rows, tg_arena *arena)
{
    fit f;
    f.scale = TG_TAKE(arena, double, rows, "scale");
    f.tau = TG_TAKE(arena, double, rows, "tau");
    f.work = TG_TAKE(arena, double, rows, "work");
    f.order = TG_TAKE(arena, int, rows, "order");
    return f;
}

tg_capacity tg_closure_capacity(const tg_model *m)
{
    int trees = m->ntree < 1 ? 1 : m->ntree, most = 0;
    tg_arena arena = {0};
    for (int t = 0; t < m->ntree; t++)
        most = m->tree_ndof[t] > most ? m->tree_ndof[t] : most;
    tg_capacity c = {.constraints = m->nequality, .bonds = m->nequality, .rows = 6 * m->nequality};
    c.parts = m->nequality * trees;
    c.columns = c.rows * trees;
    c.island_rows = c.rows < TG_DENSE_ROWS ? c.rows : TG_DENSE_ROWS;
    c.jacobian = (size_t)c.columns * (size_t)most + 2 * V4_LANES * (size_t)(m->nv + 1);
    c.delassus = (size_t)c.rows * (size_t)v4_pad(c.island_rows) + V4_LANES;
    take_fit(c.island_rows, &arena);
    c.scratch = arena.used;
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
        extent = fmax(extent, sqrt(v4_dot(r->bond[i].point[0], r->bond[i].point[0])));
    return error / extent;
}

/* Rows that nothing can move are left out; the others get a unit diagonal, because metres and radians mix. */
static void scale_rows(int n, double *G, int ld, double *scale)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, G[(ptrdiff_t)i * ld + i]);
    for (int i = 0; i < n; i++)
    {
        double d = G[(ptrdiff_t)i * ld + i];
        scale[i] = d > redundant * largest ? 1 / sqrt(d) : 0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            G[(ptrdiff_t)i * ld + j] *= scale[i] * scale[j];
}

/* L = G^+ Phi of one island, up to what J^T does not see; destroys G */
static tg_status closing_impulses(tg_work *w, const tg_rows_island *island)
{
    tg_rows *r = w->rows;
    int n = island->rows, ld = v4_pad(n);
    if (!tg_island_is_dense(r, island))
        return tg_fail(&w->error, TG_ERR_CAPACITY, "options.project: %d rows of equalities are coupled; at most %d", n,
                       r->capacity.island_rows);
    double *G = r->G + island->G, *L = r->L + island->row;
    size_t mark = tg_arena_mark(&r->scratch);
    fit f = take_fit(n, &r->scratch);
    scale_rows(n, G, ld, f.scale);
    for (int i = 0; i < n; i++)
        L[i] = f.scale[i] * r->phi[island->row + i];
    int rank = tg_qr(n, n, G, ld, f.tau, f.order, redundant, f.work);
    tg_qr_solve(n, n, rank, G, ld, f.tau, f.order, 1, L, 1, f.work);
    for (int i = 0; i < n; i++)
        L[i] *= f.scale[i];
    tg_arena_release(&r->scratch, mark);
    return TG_OK;
}

/* ---- all ---- */

static tg_status close_loops(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    double error = place_loops(m, w, s->q_next);
    for (int round = 0; round < most_rounds && error > rounding; round++)
    {
        tg_fill_delassus(m, w, s->options.dt);
        for (int i = 0; i < r->nisland; i++)
            TG_TRY(closing_impulses(w, &r->island[i]));
        tg_rows_response(m, w, r->L, s->part);
        for (int k = 0; k < m->nv; k++)
            s->part[k] = -s->part[k];
        tg_advance(m, s->q_next, s->part, s->q_closed);
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
    w->rows = w->step->closure;
    tg_status status = close_loops(m, w);
    w->rows = rows;
    return status;
}
