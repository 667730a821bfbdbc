/* The derivative of an island in velocity space.
 *
 * At the solution a block says (scaled variables x = S^-1 L, s = S sigma, as in large.c)
 *     dx = -N ds:   breaks  N = 0;   sticks  N = 1 / p, p -> 0;
 *                   slides  N = [1 / p, 0; e / p, beta (1 - e e^T)],   beta = r rho_T / (1 - r),
 * and ds = w + G dx, so dx = D w with D = -(1 + N G)^-1 N, and z = D^T g is
 *     z = -N^T y,   y = g + G z.
 * With M u = J^T z that is (M + J^T N^T J) u = -J^T N^T g: the matrix of large_system.c with N^T in place of N. p is
 * small but not zero, so redundant rows are no harm; what it leaves in the equations of rows that hold,
 *     sticks  y = 0,   slides  y_N + e . y_T = 0,
 * the same factors take out, as long as that shrinks (proximal iterations). Where it does not, g asks for the impulses
 * of redundant rows themselves. 1 / p magnifies rounding of y, of which z of redundant rows would keep 1e-8: with g = J
 * v_0, y of rows that hold is J (v_0 + u + du) in products that are not rounded. What is rounded, velocities of dofs,
 * does nothing to impulses that do nothing. The smoothed law (implicit_smoothed.c), E_s ds + E_x dx = 0, has N = E_x^-1
 * E_s. */
#include "contact/implicit_large.h"

#include <math.h>

#include "base/status.h"
#include "contact/implicit_forms.h"
#include "contact/large_system.h"
#include "math/dense.h"
#include "math/random.h"

enum
{
    REFINEMENTS = 30
};

static const double proximal = 1e-8; /* p, in G_ii */
static const double enough = 1e-14;  /* of the largest g */
static const double no_slip = 1e-12; /* 1 - r of a block that slides, at least */

size_t tg_implicit_large_bytes(int rows)
{
    tg_arena count = {0};
    TG_TAKE(&count, bool, rows, "implicit: sliding blocks");
    TG_TAKE(&count, double, rows, "implicit: speeds");
    return count.used;
}

/* ---- the matrix ---- */

/* G_ii of a row that nothing can move, up to rounding: a loop across the plane of its joints. */
static double fixed_row(const tg_large *p)
{
    double largest = 0;
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].cone.dim; i++)
            largest = tg_larger(largest, p->G[p->block[k].matrix + (size_t)((p->block[k].cone.dim + 1) * i)]);
    return TG_FIXED * largest;
}

/* N^T of a block, whose phase is known; rows that nothing moves (fixed_row) hold nothing. give: p */
static void fill_transpose(const tg_large *p, const tg_large_block *b, double fixed, double give)
{
    int dim = b->cone.dim;
    double *N = p->N + b->matrix, pn = give / b->cone.rho_n + b->soft, pt = give / b->cone.rho_t;
    const double *e = b->state.direction;
    memset(N, 0, sizeof(double) * (size_t)(dim * dim));
    if (b->state.phase == TG_PHASE_STICK)
        for (int i = 0; i < dim; i++)
            if (p->G[b->matrix + (size_t)((dim + 1) * i)] > fixed)
                N[(dim + 1) * i] = 1 / (i == 0 ? pn : pt);
    if (b->state.phase != TG_PHASE_SLIDE || b->cone.kind != TG_CONE_UNIT)
        return;
    double beta = b->state.ratio * b->cone.rho_t / tg_larger(1 - b->state.ratio, no_slip);
    N[0] = 1 / pn;
    for (int i = 1; i < dim; i++)
    {
        N[i] = e[i - 1] / pn;
        for (int j = 1; j < dim; j++)
            N[dim * i + j] = beta * ((i == j) - e[i - 1] * e[j - 1]);
    }
}

/* the phases of the solution */
static void classify(const tg_large *p)
{
    const tg_rows *r = p->r;
    for (int k = 0; k < p->nblock; k++)
    {
        tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
        {
            int row = b->constraint->row + b->source[i];
            p->x[b->cone.row + i] = r->L[row] / b->scale[i];
            p->s[b->cone.row + i] = r->sigma[row] * b->scale[i];
        }
        tg_newton_classify_block(&b->cone, p->x, p->s, &b->state);
    }
}

/* E_s^T (E_x + E_s soft)^-T of the law that is smoothed by a speed, whose gain is not bounded here. A contact along
 * whose normal nothing can move carries nothing, as with matrices (cone.c): 1 / G_NN would be its stiffness. */
static void fill_smoothed(const tg_large *p, tg_large_block *b, double fixed, double speed)
{
    double slide[TG_CONE_MAX];
    tg_block_equations law = tg_smoothed_law_of(&b->cone, p->x, p->s, speed, 1, slide);
    double A[TG_CONE_MAX * TG_CONE_MAX], X[TG_CONE_MAX * TG_CONE_MAX], *N = p->N + b->matrix;
    int dim = b->cone.dim, pivot[TG_CONE_MAX];
    b->state.phase = TG_PHASE_SLIDE;
    memset(N, 0, sizeof(double) * (size_t)(dim * dim));
    if (!(p->G[b->matrix] > fixed))
        return;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
        {
            A[dim * i + j] = law.x[i][j] + (j == 0 ? b->soft * law.s[i][0] : 0);
            X[dim * i + j] = law.s[i][j];
        }
    tg_lu(dim, A, dim, pivot);
    tg_lu_solve(dim, A, dim, pivot, dim, X, dim);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j < dim; j++)
            N[dim * i + j] = X[dim * j + i];
}

/* speed: of the rows of the island; NULL: it is not smoothed */
static bool fill_matrices(tg_large *p, const double *speed, double give)
{
    double fixed = fixed_row(p);
    for (int k = 0; k < p->nblock; k++)
        if (speed != NULL && p->block[k].cone.kind != TG_CONE_FREE)
            fill_smoothed(p, &p->block[k], fixed, speed[p->block[k].constraint->row - p->island->row]);
        else
            fill_transpose(p, &p->block[k], fixed, give);
    return tg_large_factor(p);
}

/* What the memory of large solves holds. */
typedef struct factored
{
    tg_large system;
    int refinements; /* the same for every g; 0: as many as it takes */
} factored;

static tg_large *system_of(const tg_rows *r)
{
    return &((factored *)r->large_memory)->system;
}

static int refinements_of(const tg_rows *r)
{
    return ((const factored *)r->large_memory)->refinements;
}

static int count_refinements(tg_large *p, bool *solved);

static bool any_slides(const tg_large *p)
{
    for (int k = 0; k < p->nblock; k++)
        if (p->block[k].state.phase == TG_PHASE_SLIDE && p->block[k].cone.kind == TG_CONE_UNIT)
            return true;
    return false;
}

static tg_status factor(const tg_model *m, tg_work *w, int island, const double *speed)
{
    tg_rows *r = w->rows;
    tg_arena arena = {.base = r->large_memory, .capacity = r->capacity.large};
    factored *all = TG_TAKE(&arena, factored, 1, "implicit: large system");
    tg_large *p = &all->system;
    r->large_factors = -1;
    all->refinements = 0;
    *p = (tg_large){.m = m, .w = w, .r = r, .island = &r->island[island]};
    tg_large_take(p, m, &r->capacity, &arena);
    bool fits = !arena.failed && tg_large_build(p, NULL, r->dt);
    if (fits)
    {
        classify(p);
        fits = fill_matrices(p, speed, proximal);
    }
    if (!fits)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "derivatives of an island with %d rows: its factors need more room",
                       r->island[island].rows);
    bool solved = true;
    if (speed == NULL && any_slides(p))
        all->refinements = count_refinements(p, &solved);
    if (!solved && fill_matrices(p, speed, TG_SOFT))
        all->refinements = count_refinements(p, &solved);
    r->large_factors = island;
    return TG_OK;
}

/* ---- the label ---- */

/* Notes blocks whose coefficients count. Whether a contact slides. */
static bool has_sliders(const tg_rows *r, bool smoothed, bool *slides)
{
    const tg_large *p = system_of(r);
    const int *order = r->order + p->island->block;
    bool any = false;
    memset(slides, 0, sizeof(bool) * (size_t)p->island->blocks);
    for (int k = 0, i = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        while (&r->constraint[order[i]] != b->constraint)
            i++;
        bool contact = b->cone.kind == TG_CONE_UNIT;
        slides[i] = b->state.phase == TG_PHASE_SLIDE && (contact || !smoothed);
        any = any || (slides[i] && contact);
    }
    return any;
}

tg_status tg_implicit_large(const tg_model *m, tg_work *w, int island, const tg_island *problem, const double *speed,
                            tg_arena *arena, tg_implicit *out)
{
    const tg_rows *r = w->rows;
    const tg_rows_island *i = &r->island[island];
    *out = (tg_implicit){.island = problem,
                         .L = r->L + i->row,
                         .sigma = r->sigma + i->row,
                         .form = TG_IMPLICIT_LARGE,
                         .margin = INFINITY,
                         .condition = 1};
    TG_TRY(factor(m, w, island, speed));
    out->slides = TG_TAKE(arena, bool, i->blocks, "implicit: sliding blocks");
    if (speed != NULL)
        out->speed = TG_TAKE(arena, double, i->rows, "implicit: speeds");
    if (arena->failed)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "derivatives of an island with %d rows: no room for its blocks",
                       i->rows);
    if (speed != NULL)
        memcpy(out->speed, speed, sizeof(double) * (size_t)i->rows);
    for (int b = i->block; b < i->block + i->blocks; b++)
        out->margin = tg_smaller(r->mode[b].margin, out->margin);
    out->kind = has_sliders(r, speed != NULL, out->slides) || speed != NULL ? TG_GRADIENT_REGULARISED
                : out->margin < TG_AT_SWITCH                                ? TG_GRADIENT_ONE_SIDED
                                                                            : TG_GRADIENT_EXACT;
    return TG_OK;
}

/* ---- the transpose ---- */

/* A sum of products, and what rounding leaves out of it. */
typedef struct exact_sum
{
    double high, low;
} exact_sum;

static void add_product(double a, double x, exact_sum *sum)
{
    double product = a * x, rest = fma(a, x, -product), before = sum->high;
    sum->high = before + product;
    double back = sum->high - before;
    sum->low += rest + ((before - (sum->high - back)) + (product - back));
}

/* y of row i of a block at velocities v + dv (NULL: v) of its nodes */
static exact_sum row_velocity(const tg_large *p, const tg_large_block *b, int i, const double *v, const double *dv)
{
    exact_sum sum = {p->bias[b->cone.row + i], 0};
    for (const tg_large_part *part = p->part + b->part; part < p->part + b->part + b->parts; part++)
    {
        const double *J = p->J + part->rows + (ptrdiff_t)i * p->width[part->node];
        for (int k = 0, first = p->first[part->node]; k < part->extent; k++)
        {
            add_product(J[k], v[first + k], &sum);
            if (dv != NULL)
                add_product(J[k], dv[first + k], &sum);
        }
    }
    if (i == 0)
        add_product(b->soft, p->x[b->cone.row], &sum);
    return sum;
}

/* -N y of rows that hold: all of what sticks, the normal of what slides, y_N + e . y_T */
static void hold_rows(const tg_large *p, const tg_large_block *b, const double *dv, bool smoothed)
{
    const double *N = p->N + b->matrix;
    double *k = p->k + b->cone.row;
    int dim = b->cone.dim;
    for (int i = 0; i < dim && b->state.phase == TG_PHASE_STICK; i++)
    {
        exact_sum y = row_velocity(p, b, i, p->v, dv);
        k[i] = -N[(dim + 1) * i] * (y.high + y.low);
    }
    if (b->state.phase != TG_PHASE_SLIDE || smoothed || N[0] <= 0)
        return;
    exact_sum sum = {0, 0};
    for (int j = 0; j < dim; j++)
    {
        exact_sum y = row_velocity(p, b, j, p->v, dv);
        add_product(N[j] / N[0], y.high, &sum);
        sum.low += N[j] / N[0] * y.low;
    }
    k[0] = -N[0] * (sum.high + sum.low);
}

/* The change of z that the equations of a block ask for at z (p->x) and y (p->s); returns how far they are from it, in
 * y. */
static double fill_change(const tg_large *p, const tg_large_block *b, bool smoothed)
{
    const double *z = p->x + b->cone.row, *y = p->s + b->cone.row, *N = p->N + b->matrix;
    double *k = p->k + b->cone.row, off = 0;
    int dim = b->cone.dim;
    for (int i = 0; i < dim; i++)
    {
        double own = N[(dim + 1) * i];
        bool holds = own > 0 && (b->state.phase == TG_PHASE_STICK || (i == 0 && !smoothed));
        double sum = N[dim * i] * (y[0] - (holds ? 0 : b->soft * z[0]));
        for (int j = 1; j < dim; j++)
            sum += N[dim * i + j] * y[j];
        k[i] = holds ? -sum : -sum - z[i];
        off = tg_larger(off, holds ? fabs(sum / own) : fabs(k[i]) / (i == 0 ? b->cone.rho_n : b->cone.rho_t));
    }
    return off;
}

static double fill_changes(const tg_large *p, bool smoothed)
{
    double off = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        off = tg_larger(off, fill_change(p, &p->block[k], smoothed));
        hold_rows(p, &p->block[k], NULL, smoothed);
    }
    return off;
}

/* Constant part of y: J v_0, v_0 (nv), and what Lbar has beside it; z starts from zero. Returns the size of Lbar. */
static double load(tg_large *p, const double *Lbar, const double *v_0, bool more)
{
    double largest = 0;
    int row = p->island->row;
    for (int node = 0; node < p->nnode; node++)
        memcpy(p->v_free + p->first[node], v_0 + p->m->tree_dof[p->tree[node]],
               sizeof(double) * (size_t)p->m->tree_ndof[p->tree[node]]);
    memset(p->x, 0, sizeof(double) * (size_t)p->nx);
    memset(p->bias, 0, sizeof(double) * (size_t)p->nx);
    tg_large_velocity(p, p->x, p->s);
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
        {
            double g = b->scale[i] * Lbar[b->constraint->row + b->source[i] - row];
            if (more)
                p->bias[b->cone.row + i] = g - p->s[b->cone.row + i];
            largest = tg_larger(fabs(g), largest);
        }
    }
    if (more)
        tg_large_velocity(p, p->x, p->s);
    return largest;
}

static void change_rows(tg_large *p, bool smoothed)
{
    tg_large_solve(p, p->k);
    for (int k = 0; k < p->nblock; k++)
        hold_rows(p, &p->block[k], p->dv, smoothed);
}

/* Iterations from z = 0, at most so many; fixed: exactly so many. Returns how many; *left: how far the equations are
 * from holding before the last. */
static int refine(tg_large *p, double size, bool smoothed, int most, bool fixed, double *left)
{
    double before = INFINITY;
    for (int i = 0; i < most; i++)
    {
        double off = fill_changes(p, smoothed);
        *left = off;
        if (i > 0 && !fixed && (off <= enough * size || !(off < 0.5 * before)))
            return i;
        before = off;
        change_rows(p, smoothed);
        for (int k = 0; k < p->nx; k++)
            p->x[k] += p->k[k];
        tg_large_velocity(p, p->x, p->s);
    }
    return most;
}

/* Where contacts slide, the equations of redundant rows need not have a solution. z is then what some iterations leave,
 * and linear in g only if there are as many of them for every g: as a random one needs. What is left of the equations
 * goes into z, divided by p: rows give way more then, so that z stays below 1e4, as of dense matrices, and rounding of
 * it far below what it does. */
static int count_refinements(tg_large *p, bool *solved)
{
    double largest = 0, left;
    tg_random_numbers(1, p->nv, p->v_free);
    memset(p->x, 0, sizeof(double) * (size_t)p->nx);
    memset(p->bias, 0, sizeof(double) * (size_t)p->nx);
    tg_large_velocity(p, p->x, p->s);
    for (int k = 0; k < p->nx; k++)
        largest = tg_larger(largest, fabs(p->s[k]));
    int count = refine(p, largest, false, REFINEMENTS, false, &left);
    *solved = left <= enough / TG_SOFT * largest;
    memset(p->v_free, 0, sizeof(double) * (size_t)p->nv);
    return count;
}

tg_status tg_implicit_large_transpose(const tg_model *m, tg_work *w, int island, const tg_implicit *f,
                                      const double *Lbar, const double *v_0, bool more, double *z)
{
    tg_rows *r = w->rows;
    if (r->large_factors != island)
        TG_TRY(factor(m, w, island, f->speed));
    tg_large *p = system_of(r);
    double size = load(p, Lbar, v_0, more), left;
    int count = refinements_of(r);
    refine(p, size, f->speed != NULL, count > 0 ? count : REFINEMENTS, count > 0, &left);
    memset(z, 0, sizeof(double) * (size_t)p->island->rows);
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
            z[b->constraint->row + b->source[i] - p->island->row] = b->scale[i] * p->x[b->cone.row + i];
    }
    return TG_OK;
}
