/* Implicit differentiation of a contact problem at its solution.
 *
 * Unknowns X and equations B dsigma + d X = 0 (island rows, not scaled; S = diag(1; mu), e the direction of x_T, t_j across it):
 *     independent held row    dL_i = X,                 equation dsigma_i = 0
 *     redundant held rows     dz = Q^T X, dL = P' dz,   equations Q dsigma_R = 0    (P: responses, limit.c)
 *     sliding contact         dL_T += S e dL_N + sum_j S t_j X_j,
 *                             equations r t_j . S dsigma_T + (1 - r) / rho X_j = 0,  r = x_N / (x_N + rho |S sigma_T|)
 *     breaking block, joint friction at its bound: no unknown.
 * So dL = C^T X and (B G C^T + d) X = -B w. The coefficients of a sliding contact: L = S x, sigma scaled is S sigma, hence
 *     l = dS x,   w = G l + S^-1 dS sigma,   dL = l + D w.
 * Elsewhere coefficients do not matter. (Of a contact that creeps on its cone the impulse does follow them, the velocity
 * does not.) */
#include "contact/implicit.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

static const double at_switch = 1e-7;    /* margins below: one-sided */
static const double no_slip = 1e-7;      /* m/s */
static const double worst_pivot = 1e-13; /* of the largest: the equations do not determine the derivative */
static const double soft = 1e-6;         /* slope of responses when they do not */

/* ---- memory ---- */

static bool take(tg_implicit *f, int rows, tg_arena *arena)
{
    size_t n = (size_t)rows;
    f->spread = TG_TAKE(arena, double, n, "implicit: spread");
    f->B = TG_TAKE(arena, double, n *n, "implicit: equations");
    f->C = TG_TAKE(arena, double, n *n, "implicit: impulses of unknowns");
    f->A = TG_TAKE(arena, double, n *n, "implicit: matrix");
    f->pivot = TG_TAKE(arena, int, n, "implicit: pivots");
    f->row = TG_TAKE(arena, int, n, "implicit: held rows");
    f->range = TG_TAKE(arena, double, n *n, "implicit: range of held rows");
    f->turn = TG_TAKE(arena, double, n *n, "implicit: responses");
    f->work = TG_TAKE(arena, double, 3 * n, "implicit: work");
    f->slides = TG_TAKE(arena, bool, n, "implicit: sliding blocks");
    return !arena->failed;
}

static bool take_matrices(int rows, tg_arena *arena, double **d, double **E, double **K)
{
    size_t n = (size_t)rows, ld = (size_t)v4_pad(rows);
    *d = TG_TAKE(arena, double, n, "implicit: coordinates");
    *E = TG_TAKE(arena, double, n *ld, "implicit: derivatives in the range");
    *K = TG_TAKE(arena, double, n *ld, "implicit: derivatives of responses");
    return !arena->failed;
}

size_t tg_implicit_bytes(int rows)
{
    tg_arena count = {0};
    tg_implicit f;
    tg_solve_work w;
    double *d, *E, *K;
    take(&f, rows, &count);
    tg_solve_work_take(&w, rows, &count);
    take_matrices(rows, &count, &d, &E, &K);
    return count.used;
}

/* ---- phases ---- */

static double slip_of(const tg_solve_work *w, const tg_cone *cone)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (w->s[i] / w->cones.scale[i]) * (w->s[i] / w->cones.scale[i]);
    return sqrt(sum);
}

/* closed without force, or on the cone without slip: what moves is not held */
static tg_phase phase_of(const tg_solve_work *w, const tg_cone *cone, const tg_block_mode *mode)
{
    if (cone->kind == TG_CONE_FREE)
        return TG_PHASE_STICK;
    if (mode->mode == TG_MODE_BREAKING)
        return TG_PHASE_BREAK;
    if (mode->mode == TG_MODE_SLIDING)
        return TG_PHASE_SLIDE;
    return cone->kind == TG_CONE_UNIT && slip_of(w, cone) >= no_slip ? TG_PHASE_SLIDE : TG_PHASE_STICK;
}

static void set_phases(tg_solve_work *w, const tg_block_mode *mode, bool *slides)
{
    const tg_block *block = w->island->block;
    for (int b = 0; b < w->island->blocks; b++)
        slides[b] = mode[b].mode == TG_MODE_SLIDING;
    for (int c = 0, b = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        while (w->cones.source[cone->row] >= block[b].row + block[b].rows)
            b++;
        tg_cone_state *state = &w->state[c];
        *state = (tg_cone_state){.phase = phase_of(w, cone, &mode[b])};
        slides[b] = state->phase == TG_PHASE_SLIDE;
        if (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_BOX)
            state->direction[0] = w->x[cone->row] > 0 ? 1 : -1;
        else if (state->phase == TG_PHASE_SLIDE)
            tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    }
}

static void gather_solution(tg_solve_work *w, const double *L, const double *sigma)
{
    tg_cones_gather(&w->cones, L, w->x);
    for (int i = 0; i < w->cones.rows; i++)
        w->s[i] = w->cones.scale[i] * sigma[w->cones.source[i]];
}

/* ---- equations ---- */

typedef struct builder
{
    tg_implicit *f;
    tg_solve_work *w;
    double *d, *E, *K;
    int n;         /* rows of the island */
    double *extra; /* diagonal of the last equations */
} builder;

/* the impulses of a row of changes dx of held rows, tangents of sliding contacts included */
static void impulses_of(const builder *p, const double *dx, double *out)
{
    const tg_solve_work *w = p->w;
    for (int i = 0; i < w->held.count; i++)
        out[w->cones.source[w->held.row[i]]] = dx[i] * w->cones.scale[w->held.row[i]];
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        for (int i = 1; w->state[b].phase == TG_PHASE_SLIDE && i < cone->dim; i++)
            out[w->cones.source[cone->row + i]] =
                w->cones.scale[cone->row + i] * w->state[b].direction[i - 1] * dx[w->held.at[cone->row]];
    }
}

static void held_equations(builder *p)
{
    const tg_held *held = &p->w->held;
    tg_implicit *f = p->f;
    bool unique = held->rank == held->count;
    double *unit = p->w->rhs;
    for (int k = 0; k < held->rank; k++)
    {
        double *B = f->B + (size_t)k * (size_t)p->n, *C = f->C + (size_t)k * (size_t)p->n;
        memset(B, 0, (size_t)p->n * sizeof *B);
        memset(C, 0, (size_t)p->n * sizeof *C);
        p->extra[k] = 0;
        if (unique)
        {
            memset(unit, 0, (size_t)held->count * sizeof *unit);
            unit[k] = 1 / p->w->cones.scale[held->row[k]];
            B[p->w->cones.source[held->row[k]]] = 1;
            impulses_of(p, unit, C);
            continue;
        }
        for (int i = 0; i < held->count; i++)
            B[f->row[i]] = f->range[(size_t)k * (size_t)held->count + (size_t)i];
        impulses_of(p, p->E + (size_t)k * (size_t)p->w->cones.ld, C);
    }
    f->unknowns = held->rank;
}

/* t_j of one sliding contact */
static void across_equations(builder *p, const tg_cone *cone, const tg_cone_state *state)
{
    int m = cone->dim - 1;
    const int *source = p->w->cones.source + cone->row + 1;
    const double *scale = p->w->cones.scale + cone->row + 1;
    double R[(TG_CONE_MAX - 1) * (TG_CONE_MAX - 1)];
    tg_cone_frame(m, state->direction, R);
    for (int j = 1; j < m; j++)
    {
        int k = p->f->unknowns++;
        double *B = p->f->B + (size_t)k * (size_t)p->n, *C = p->f->C + (size_t)k * (size_t)p->n;
        memset(B, 0, (size_t)p->n * sizeof *B);
        memset(C, 0, (size_t)p->n * sizeof *C);
        for (int i = 0; i < m; i++)
        {
            C[source[i]] = scale[i] * R[m * i + j];
            B[source[i]] = state->ratio * C[source[i]];
        }
        p->extra[k] = (1 - state->ratio) / cone->rho_t;
    }
}

/* A = B G C^T + diagonal, factored; false when it is singular */
static bool factor(builder *p)
{
    tg_implicit *f = p->f;
    int q = f->unknowns, n = p->n;
    double *CG = p->w->range, largest = 0, smallest = INFINITY;
    tg_gemm_nn(q, n, n, f->C, n, f->island->G, f->island->ldg, TG_GEMM_SET, CG, n);
    tg_gemm_nt(q, q, n, f->B, n, CG, n, TG_GEMM_SET, f->A, q);
    for (int k = 0; k < q; k++)
        f->A[(size_t)k * (size_t)(q + 1)] += p->extra[k];
    f->condition = 1;
    if (tg_lu(q, f->A, q, f->pivot) >= 0)
        return false;
    for (int k = 0; k < q; k++)
    {
        double size = fabs(f->A[(size_t)k * (size_t)(q + 1)]);
        largest = tg_larger(size, largest);
        smallest = tg_smaller(size, smallest);
    }
    f->condition = q > 0 ? largest / smallest : 1;
    return q == 0 || smallest > worst_pivot * largest;
}

static bool equations(builder *p, double slope)
{
    const tg_held *held = &p->w->held;
    if (held->rank < held->count)
        tg_limit_derivative(p->w, slope, p->d, p->E, p->K);
    held_equations(p);
    for (int b = 0; b < p->w->cones.blocks; b++)
        if (p->w->state[b].phase == TG_PHASE_SLIDE && p->w->cones.block[b].dim > 1)
            across_equations(p, &p->w->cones.block[b], &p->w->state[b]);
    return factor(p);
}

/* rows of the island, Q, what follows from a change of z, and y with G_RR y = z: y = Q^T (C^T L^-2 C)^-1 d */
static void redundant(builder *p)
{
    const tg_held *held = &p->w->held;
    const tg_cones *cones = &p->w->cones;
    tg_implicit *f = p->f;
    for (int k = 0; k < held->rank; k++)
        for (int i = 0; i < held->count; i++)
            f->range[(size_t)k * (size_t)held->count + (size_t)i] =
                held->range[(size_t)k * (size_t)cones->ld + (size_t)i] * cones->scale[held->row[i]];
}

static void turn_and_spread(builder *p)
{
    const tg_held *held = &p->w->held;
    tg_implicit *f = p->f;
    memset(f->spread, 0, (size_t)p->n * sizeof *f->spread);
    if (held->rank == held->count)
        return;
    for (int i = 0; i < held->count; i++)
    {
        double *turn = f->turn + (size_t)i * (size_t)p->n;
        memset(turn, 0, (size_t)p->n * sizeof *turn);
        impulses_of(p, p->K + (size_t)i * (size_t)p->w->cones.ld, turn);
    }
    tg_held_precondition(&p->w->cones, held, 1, p->d, 1);
    tg_trsm(TG_TRI_LOWER, held->rank, held->chol, p->w->cones.ld, 1, p->d, 1);
    double *y = p->w->rhs;
    tg_gemm_nn(1, held->count, held->rank, p->d, held->rank, f->range, held->count, TG_GEMM_SET, y, held->count);
    for (int i = 0; i < held->count; i++)
        f->spread[f->row[i]] = y[i];
}

static void label(tg_implicit *f, const tg_block_mode *mode, tg_selection selection, bool regular)
{
    f->margin = INFINITY;
    for (int b = 0; b < f->island->blocks; b++)
        f->margin = tg_smaller(mode[b].margin, f->margin);
    f->kind = !regular || selection == TG_SELECT_UNSELECTED ? TG_GRADIENT_REGULARISED
              : f->margin < at_switch                       ? TG_GRADIENT_ONE_SIDED
                                                            : TG_GRADIENT_EXACT;
}

static void build(tg_solve_work *w, tg_implicit *f, const tg_block_mode *mode, tg_selection selection,
                  double *const m[3])
{
    builder p = {.f = f, .w = w, .d = m[0], .E = m[1], .K = m[2], .n = f->island->rows, .extra = f->work};
    tg_cones_build(&w->cones, f->island, NULL);
    gather_solution(w, f->L, f->sigma);
    set_phases(w, mode, f->slides);
    tg_held_build(w);
    f->held = w->held.count;
    f->rank = w->held.rank;
    for (int i = 0; i < f->held; i++)
        f->row[i] = w->cones.source[w->held.row[i]];
    if (f->rank < f->held)
        redundant(&p);
    bool regular = equations(&p, 0);
    if (!regular && f->rank < f->held)
    {
        tg_cones_gather(&w->cones, f->L, w->x);
        equations(&p, soft);
    }
    turn_and_spread(&p);
    label(f, mode, selection, regular);
}

tg_status tg_implicit_factor(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                             tg_selection selection, tg_arena *arena, tg_implicit *out, tg_error *error)
{
    size_t mark = tg_arena_mark(arena);
    *out = (tg_implicit){.island = island, .L = L, .sigma = sigma};
    bool fits = take(out, island->rows, arena);
    size_t kept = tg_arena_mark(arena);
    tg_solve_options options = tg_solve_default();
    tg_solve_work w = {.island = island, .options = &options};
    double *m[3] = {NULL, NULL, NULL};
    if (!fits || !tg_solve_work_take(&w, island->rows, arena) ||
        !take_matrices(island->rows, arena, &m[0], &m[1], &m[2]))
    {
        tg_arena_release(arena, mark);
        arena->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "derivative of %d rows: needs %zu bytes", island->rows,
                       tg_implicit_bytes(island->rows));
    }
    build(&w, out, mode, selection, m);
    tg_arena_release(arena, kept);
    return TG_OK;
}

/* ---- forward ---- */

/* Z Z^T n_R = n_R - Q^T Q n_R, in place (held x columns); part: rank x columns */
static void null_part(const tg_implicit *f, int columns, double *n, double *part)
{
    for (int round = 0; round < 2; round++)
    {
        tg_gemm_nn(f->rank, columns, f->held, f->range, f->held, n, columns, TG_GEMM_SET, part, columns);
        tg_gemm_tn(f->held, columns, f->rank, f->range, f->held, part, columns, TG_GEMM_SUB, n, columns);
    }
}

tg_status tg_implicit_forward(const tg_implicit *f, int columns, const double *w, const double *n, int ldw,
                              tg_arena *scratch, double *dL, int ldl, tg_error *error)
{
    int rows = f->island->rows, q = f->unknowns;
    size_t mark = tg_arena_mark(scratch), count = (size_t)rows * (size_t)columns;
    double *X = TG_TAKE(scratch, double, count, "implicit: unknowns");
    double *turned = TG_TAKE(scratch, double, count, "implicit: turned impulses");
    double *moved = TG_TAKE(scratch, double, count, "implicit: their velocities");
    if (scratch->failed)
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "derivative of %d rows: %d columns do not fit the scratch", rows,
                       columns);
    }
    bool turns = n != NULL && f->rank < f->held;
    tg_gemm_nn(q, columns, rows, f->B, rows, w, ldw, TG_GEMM_SET, X, columns);
    if (turns)
    {
        for (int i = 0; i < f->held; i++)
            memcpy(moved + (size_t)i * (size_t)columns, n + (size_t)f->row[i] * (size_t)ldw,
                   (size_t)columns * sizeof *moved);
        null_part(f, columns, moved, turned);
        tg_gemm_tn(rows, columns, f->held, f->turn, rows, moved, columns, TG_GEMM_SET, turned, columns);
        tg_gemm_nn(rows, columns, rows, f->island->G, f->island->ldg, turned, columns, TG_GEMM_SET, moved, columns);
        tg_gemm_nn(q, columns, rows, f->B, rows, moved, columns, TG_GEMM_ADD, X, columns);
    }
    tg_lu_solve(q, f->A, q, f->pivot, columns, X, columns);
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c++)
            dL[(size_t)i * (size_t)ldl + (size_t)c] = turns ? turned[(size_t)i * (size_t)columns + (size_t)c] : 0;
    tg_gemm_tn(rows, columns, q, f->C, rows, X, columns, TG_GEMM_SUB, dL, ldl);
    tg_arena_release(scratch, mark);
    return TG_OK;
}

/* ---- transpose ---- */

void tg_implicit_transpose(const tg_implicit *f, const double *Lbar, double *z, double *turn)
{
    int rows = f->island->rows, q = f->unknowns;
    double *X = f->work, *total = f->work + rows, *held = f->work + 2 * rows;
    tg_gemm_nt(q, 1, rows, f->C, rows, Lbar, rows, TG_GEMM_SET, X, 1);
    tg_lu_solve_t(q, f->A, q, f->pivot, 1, X, 1);
    memset(z, 0, (size_t)rows * sizeof *z);
    tg_gemm_nn(1, rows, q, X, q, f->B, rows, TG_GEMM_SUB, z, rows);
    if (turn == NULL)
        return;
    memset(turn, 0, (size_t)rows * sizeof *turn);
    if (f->rank == f->held)
        return;
    memcpy(total, Lbar, (size_t)rows * sizeof *total);
    tg_gemm_nt(rows, 1, rows, f->island->G, f->island->ldg, z, rows, TG_GEMM_ADD, total, 1);
    tg_gemm_nt(f->held, 1, rows, f->turn, rows, total, rows, TG_GEMM_SET, held, 1);
    null_part(f, 1, held, X);
    for (int i = 0; i < f->held; i++)
        turn[f->row[i]] = held[i];
}

/* ---- parameters of the laws ---- */

/* x_i = L_i / mu_i; without friction the limit from above: against the slip */
static double unit_impulse(const tg_implicit *f, int b, int axis)
{
    const tg_block *block = &f->island->block[b];
    int row = block->row + 1 + axis;
    if (block->mu[axis] > 0)
        return f->slides[b] ? f->L[row] / block->mu[axis] : 0;
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        sum += block->mu[i - 1] == 0 ? f->sigma[block->row + i] * f->sigma[block->row + i] : 0;
    return sum > 0 ? -f->L[block->row] * f->sigma[row] / sqrt(sum) : 0;
}

static double slip_change(const tg_implicit *f, int b, int axis)
{
    const tg_block *block = &f->island->block[b];
    return f->slides[b] && block->mu[axis] > 0 ? f->sigma[block->row + 1 + axis] / block->mu[axis] : 0;
}

/* w = G l for l with one entry, that is a row of G */
static void single(const tg_implicit *f, int row, double value, double *w, double *l)
{
    const double *G = f->island->G + (size_t)row * (size_t)f->island->ldg;
    memset(l, 0, (size_t)f->island->rows * sizeof *l);
    l[row] = value;
    for (int i = 0; i < f->island->rows; i++)
        w[i] = value * G[i];
}

static double single_gradient(const tg_implicit *f, int row, double value, const double *Lbar, const double *z)
{
    const double *G = f->island->G + (size_t)row * (size_t)f->island->ldg;
    return value * (Lbar[row] + v4_dot_of(f->island->rows, G, z));
}

void tg_implicit_mu(const tg_implicit *f, int block, int axis, double *w, double *l)
{
    int row = f->island->block[block].row + 1 + axis;
    single(f, row, unit_impulse(f, block, axis), w, l);
    w[row] += slip_change(f, block, axis);
}

double tg_implicit_mu_gradient(const tg_implicit *f, int block, int axis, const double *Lbar, const double *z)
{
    int row = f->island->block[block].row + 1 + axis;
    return single_gradient(f, row, unit_impulse(f, block, axis), Lbar, z) + slip_change(f, block, axis) * z[row];
}

/* which way joint friction at its bound acts; 0 when it holds */
static double bound_direction(const tg_implicit *f, int b)
{
    double sigma = f->sigma[f->island->block[b].row];
    if (!f->slides[b])
        return 0;
    return sigma > 0 ? -1 : 1;
}

void tg_implicit_bound(const tg_implicit *f, int block, double *w, double *l)
{
    single(f, f->island->block[block].row, bound_direction(f, block), w, l);
}

double tg_implicit_bound_gradient(const tg_implicit *f, int block, const double *Lbar, const double *z)
{
    return single_gradient(f, f->island->block[block].row, bound_direction(f, block), Lbar, z);
}
