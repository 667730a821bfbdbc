/* Reverse mode through the alternations of solver "staggered" (unrolled.h).
 *
 * In scaled variables x = S^-1 L (solve/cone.h) an alternation has cotangents z of w = dG x + dg, unscaled S z. Friction
 * coefficients act through S: with sigma = G L + g
 *     z_s . (dS sigma + S G dS x) = sum dmu_i (z_i sigma_i + (G z)_i L_i) / mu_i,    L = S x: Lbar_i L_i / mu_i. */
#include "step/unrolled.h"

#include "math/lanes.h"
#include "solve/staggered.h"

/* one island's alternation in scratch memory */
typedef struct island_run
{
    const tg_island *problem;
    const tg_rows_island *island;
    tg_cones cones;
    tg_staggered s;
    double *work, *row, *radius; /* rows (rows + TG_STAGGERED_WORK), rows, rows */
    int *order;
} island_run;

static bool open_island(tg_work *w, int i, island_run *x)
{
    tg_arena *scratch = &w->rows->scratch;
    x->island = &w->rows->island[i];
    x->problem = &w->step->problem[i];
    size_t rows = (size_t)x->island->rows;
    bool fits = tg_cones_take(&x->cones, x->island->rows, scratch);
    x->s = (tg_staggered){.vectors = TG_TAKE(scratch, double, TG_STAGGERED_VECTORS *rows, "vectors"),
                          .indices = TG_TAKE(scratch, int, 2 * rows, "indices"),
                          .sets = TG_TAKE(scratch, tg_set, rows, "sets")};
    for (size_t k = 0; k < sizeof x->s.matrix / sizeof x->s.matrix[0]; k++)
        x->s.matrix[k] = TG_TAKE(scratch, double, rows *rows, "matrix");
    x->work = TG_TAKE(scratch, double, rows *(rows + TG_STAGGERED_WORK), "work");
    x->row = TG_TAKE(scratch, double, rows, "row");
    x->radius = TG_TAKE(scratch, double, rows, "radius");
    x->order = TG_TAKE(scratch, int, rows, "order");
    if (!fits || scratch->failed)
        return false;
    tg_cones_build(&x->cones, x->problem, NULL);
    return true;
}

static tg_status no_room(tg_work *w, int alternations)
{
    w->rows->scratch.failed = false;
    return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                   "backward = unrolled: no room for %d alternations of %d rows; use fewer staggered_steps",
                   alternations, w->rows->nrow);
}

static double *point_of(const tg_work *w, const tg_unrolled *u, int k, const island_run *x)
{
    return u->x + (ptrdiff_t)k * w->rows->nrow + x->island->row;
}

static void run_island(tg_work *w, const tg_unrolled *u, island_run *x)
{
    const tg_options *o = &w->step->options;
    double aim = tg_staggered_aim(o->tolerance), *from = point_of(w, u, 0, x);
    memset(from, 0, sizeof(double) * (size_t)x->island->rows);
    if (!o->cold)
        tg_cones_gather(&x->cones, w->rows->warm + x->island->row, from);
    tg_staggered_start(&x->s, &x->cones, from);
    for (int k = 0; k < u->alternations; k++)
    {
        double *to = point_of(w, u, k + 1, x);
        memcpy(to, point_of(w, u, k, x), sizeof(double) * (size_t)x->island->rows);
        tg_staggered_step(&x->s, aim, to);
    }
}

/* mu += factor . , for the rows of an island's contacts */
static void add_coefficients(const tg_work *w, const tg_unrolled *u, int i, const double *gradient)
{
    const tg_rows_island *island = &w->rows->island[i];
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &w->rows->block[island->block + b];
        for (int axis = 0; block->kind == TG_BLOCK_CONTACT && axis < block->rows - 1; axis++)
            if (block->mu[axis] > 0)
                u->mu[TG_AXES * (island->block + b) + axis] += gradient[block->row + 1 + axis] / block->mu[axis];
    }
}

static void seed_island(const tg_work *w, const tg_unrolled *u, int i, const island_run *x, const double *Lbar)
{
    const double *last = point_of(w, u, u->alternations, x);
    Lbar += x->island->row;
    memset(x->row, 0, sizeof(double) * (size_t)x->island->rows);
    for (int k = 0; k < x->cones.rows; k++)
    {
        int row = x->cones.source[k];
        u->xbar[x->island->row + k] = x->cones.scale[k] * Lbar[row];
        x->row[row] = Lbar[row] * x->cones.scale[k] * last[k];
    }
    add_coefficients(w, u, i, x->row);
}

tg_status tg_unrolled_begin(const tg_model *m, tg_work *w, const double *Lbar, tg_unrolled *u)
{
    tg_rows *r = w->rows;
    size_t rows = (size_t)r->nrow, blocks = (size_t)r->nblock;
    int steps = w->step->options.staggered_steps;
    *u = (tg_unrolled){.mark = tg_arena_mark(&r->scratch), .alternations = steps};
    u->x = TG_TAKE(&r->scratch, double, (size_t)(steps + 1) * rows, "iterates");
    u->xbar = TG_TAKE(&r->scratch, double, rows, "cotangents");
    for (int k = 0; k < 2; k++)
    {
        u->L[k] = TG_TAKE(&r->scratch, double, rows, "impulses");
        u->z[k] = TG_TAKE(&r->scratch, double, rows, "cotangents");
    }
    u->mu = TG_TAKE(&r->scratch, double, (TG_AXES + 1) * blocks, "friction");
    if (r->scratch.failed)
        return no_room(w, steps);
    u->bound = u->mu + TG_AXES * blocks;
    memset(u->xbar, 0, sizeof(double) * rows);
    memset(u->mu, 0, sizeof(double) * (TG_AXES + 1) * blocks);
    for (int i = 0; i < r->nisland; i++)
    {
        island_run x;
        size_t mark = tg_arena_mark(&r->scratch);
        if (!tg_island_is_dense(r, &r->island[i]))
            return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                           "backward = unrolled: an island of %d rows is not solved by alternations",
                           r->island[i].rows);
        tg_need_delassus(m, w, &r->island[i]);
        if (!open_island(w, i, &x))
            return no_room(w, steps);
        run_island(w, u, &x);
        seed_island(w, u, i, &x, Lbar);
        tg_arena_release(&r->scratch, mark);
    }
    return TG_OK;
}

/* z sigma + G z L at a point, by which friction coefficients count */
static void through_scales(const island_run *x, const double *L, const double *z, double *out)
{
    const tg_island *p = x->problem;
    for (int i = 0; i < p->rows; i++)
    {
        const double *G = p->G + (ptrdiff_t)i * p->ldg;
        out[i] = z[i] * (p->g[i] + v4_dot_of(p->rows, G, L)) + v4_dot_of(p->rows, G, z) * L[i];
    }
}

static void back_island(const tg_work *w, int i, int k, const tg_unrolled *u, island_run *x)
{
    const double *before = point_of(w, u, k, x), *after = point_of(w, u, k + 1, x);
    int n = x->island->rows, first = x->island->row, rows = x->cones.rows;
    double *xbar = u->xbar + first;
    tg_staggered_start(&x->s, &x->cones, after);
    memset(x->radius, 0, sizeof(double) * (size_t)n);
    tg_staggered_vjp(&x->s, before, after, xbar, u->z[0] + first, u->z[1] + first, x->radius, x->work, x->order);
    for (int part = 0; part < 2; part++)
    {
        double *L = u->L[part] + first, *z = u->z[part] + first;
        memcpy(x->row, z, sizeof(double) * (size_t)rows);
        tg_cones_scatter(&x->cones, x->row, n, z);
        memcpy(x->row, after, sizeof(double) * (size_t)rows);
        for (int j = 0; part == 0 && j < x->s.part[1].n; j++)
            x->row[x->s.part[1].row[j]] = before[x->s.part[1].row[j]];
        tg_cones_scatter(&x->cones, x->row, n, L);
        through_scales(x, L, z, x->work);
        add_coefficients(w, u, i, x->work);
    }
    tg_cones_scatter(&x->cones, x->radius, n, x->work);
    for (int b = 0; b < x->island->blocks; b++)
    {
        const tg_block *block = &w->rows->block[x->island->block + b];
        if (block->kind == TG_BLOCK_FRICTION)
            u->bound[x->island->block + b] += x->work[block->row];
    }
}

tg_status tg_unrolled_back(tg_work *w, int k, tg_unrolled *u)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        island_run x;
        size_t mark = tg_arena_mark(&r->scratch);
        if (!open_island(w, i, &x))
            return no_room(w, u->alternations);
        back_island(w, i, k, u, &x);
        tg_arena_release(&r->scratch, mark);
    }
    return TG_OK;
}

/* L_i = a_i . F with F of the warm start, which the frame's turn does not move: dL_i = turn . (a_i x F) */
static void start_turns(const tg_work *w, const double *L, const double *Lbar, double *touch)
{
    const tg_rows *r = w->rows;
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source != TG_SOURCE_CONTACT)
            continue;
        const tg_bond *bond = &r->touch[c->index].bond;
        v4 F[2] = {v4_zero(), v4_zero()}, g[2] = {v4_zero(), v4_zero()};
        for (int i = 0; i < bond->linear + bond->angular; i++)
        {
            int torque = i >= bond->linear;
            v4 axis = bond->axis[torque ? i - bond->linear : i];
            F[torque] += axis * v4_splat(L[c->row + i]);
            g[torque] += axis * v4_splat(Lbar[c->row + i]);
        }
        double *turn = touch + TG_TOUCH_GRADIENT * c->index + TG_TOUCH_TURN;
        v4_storeu(turn, v4_loadu(turn) + v4_cross(g[0], F[0]) + v4_cross(g[1], F[1]));
    }
}

void tg_unrolled_start(tg_work *w, tg_unrolled *u, double *touch)
{
    tg_rows *r = w->rows;
    double *Lbar = u->L[0], *product = u->z[0];
    memset(Lbar, 0, sizeof(double) * (size_t)r->nrow);
    memset(product, 0, sizeof(double) * (size_t)r->nrow);
    if (w->step->options.cold)
        return;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        island_run x;
        size_t mark = tg_arena_mark(&r->scratch);
        if (open_island(w, i, &x)) /* as before: there was room */
            for (int k = 0; k < x.cones.rows; k++)
            {
                int row = island->row + x.cones.source[k];
                Lbar[row] = u->xbar[island->row + k] / x.cones.scale[k];
                product[row] = -Lbar[row] * r->warm[row];
            }
        add_coefficients(w, u, i, product + island->row);
        tg_arena_release(&r->scratch, mark);
    }
    start_turns(w, r->warm, Lbar, touch);
}

void tg_unrolled_end(tg_work *w, const tg_unrolled *u)
{
    tg_arena_release(&w->rows->scratch, u->mark);
}
