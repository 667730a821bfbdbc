/* Implicit differentiation of a contact problem at its solution.
 *
 * Unknowns X and equations B dsigma + d X = 0 (island rows, not scaled; S = diag(1; mu), e the direction of x_T, t_j
 * across it):
 *     independent held row    dL_i = X,                 equation dsigma_i = 0
 *     redundant held rows     dz = Q^T X, dL = P' dz,   equations Q dsigma_R = 0    (P: responses, limit.c)
 *     sliding contact         dL_T += S e dL_N + sum_j S t_j X_j,
 *                             equations r t_j . S dsigma_T + (1 - r) / rho X_j = 0,  r = x_N / (x_N + rho |S sigma_T|)
 *     breaking block, joint friction at its bound: no unknown.
 * So dL = C^T X and (B G C^T + d) X = -B w. The coefficients of a sliding contact: L = S x, sigma scaled is S sigma,
 * hence
 *     l = dS x,   w = G l + S^-1 dS sigma,   dL = l + D w.
 * Elsewhere coefficients do not matter. (Of a contact that creeps on its cone the impulse does follow them, the
 * velocity does not.) The forms in which B, C and the matrix are kept: implicit_independent.c, implicit_redundant.c;
 * where elimination is not accurate, implicit_orthogonal.c. */
#include "contact/implicit.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

/* ---- memory ---- */

static bool take(tg_implicit *f, int rows, tg_arena *arena)
{
    size_t n = (size_t)rows;
    f->spread = TG_TAKE(arena, double, n, "implicit: spread");
    f->brace = TG_TAKE(arena, double, n, "implicit: brace");
    f->rest = TG_TAKE(arena, double, n, "implicit: brace without friction that gives way");
    f->A = TG_TAKE(arena, double, n *n, "implicit: matrix");
    f->pivot = TG_TAKE(arena, int, n, "implicit: pivots");
    f->row = TG_TAKE(arena, int, n, "implicit: held rows");
    f->idle = TG_TAKE(arena, int, n, "implicit: idle rows");
    f->work = TG_TAKE(arena, double, 4 * n, "implicit: work");
    f->slides = TG_TAKE(arena, bool, n, "implicit: sliding blocks");
    f->slider = TG_TAKE(arena, tg_slider, n / DIM, "implicit: sliding contacts");
    return !arena->failed;
}

size_t tg_implicit_bytes(int rows)
{
    tg_arena count = {0};
    tg_implicit f;
    take(&f, rows, &count);
    tg_redundant_take(&f, rows, &count);
    tg_ties_take(&f, rows, rows, &count);
    (void)TG_TAKE(&count, tg_block_mode, (size_t)rows, "implicit: modes with creeping contacts");
    (void)TG_TAKE(&count, tg_block_mode, (size_t)rows, "implicit: modes with yielding friction");
    return count.used;
}

/* ---- factors ---- */

/* the smallest margin of a block */
static double margin_of(const tg_implicit *f, const tg_block_mode *mode)
{
    double margin = INFINITY;
    for (int b = 0; b < f->island->blocks; b++)
        margin = tg_smaller(mode[b].margin, margin);
    return margin;
}

/* ---- labels ---- */

/* The slowest slip of a contact that slides, |S sigma_T| over the largest coefficient, of those above TG_NO_SLIP. */
static double slowest_slip(const tg_implicit *f)
{
    double slowest = INFINITY;
    for (int b = 0; b < f->island->blocks; b++)
    {
        const tg_block *block = &f->island->block[b];
        double slip = 0, largest = 0;
        for (int i = 1; i < block->rows && block->kind == TG_BLOCK_CONTACT && f->slides[b]; i++)
        {
            double mu = block->mu[i - 1], moved = mu * f->sigma[block->row + i];
            slip += moved * moved;
            largest = tg_larger(largest, mu);
        }
        slip = largest > 0 ? sqrt(slip) / largest : 0;
        slowest = slip > TG_NO_SLIP ? tg_smaller(slowest, slip) : slowest;
    }
    return slowest;
}

/* Held rows that contradict each other are not all held, and by what they are off the direction of a slow slip is off
 * (what creeps is slower than that, and follows what they contradict each other by). */
static bool contradicts(const tg_implicit *f)
{
    return f->conflict >= TG_CONSISTENT ||
           (f->conflict > TG_ON_CONE * TG_NO_SLIP && f->conflict > TG_ON_CONE * slowest_slip(f));
}

/* how fast held rows move */
static double largest_held(const tg_implicit *f, const double *sigma)
{
    double largest = 0;
    for (int i = 0; i < f->held; i++)
        largest = tg_larger(largest, fabs(sigma[f->row[i]]));
    return largest;
}

/* the largest G_ii |L_i| */
static double largest_own(const tg_island *island, const double *L)
{
    double largest = 0;
    for (int i = 0; i < island->rows; i++)
        largest = tg_larger(largest, island->G[(size_t)i * (size_t)(island->ldg + 1)] * fabs(L[i]));
    return largest;
}

/* Whether the solver ended with impulses that are known to fewer digits than their derivatives should be: with such
 * equations, bringing held rows to rest changes them by more, dL = D r, r = sigma of held rows. The step is then not
 * quite the one that is differentiated, and what it is off by changes with its inputs. */
static bool is_rough(const tg_implicit *f)
{
    int rows = f->island->rows;
    double *r = f->work + 2 * rows, *dL = f->work + 3 * rows, own = largest_own(f->island, f->L);
    if (own >= f->condition * largest_held(f, f->sigma) / TG_NO_CHANGE)
        return false;
    memset(r, 0, (size_t)rows * sizeof *r);
    for (int i = 0; i < f->held; i++)
        r[f->row[i]] = f->sigma[f->row[i]];
    tg_implicit_forward(f, r, dL);
    return largest_own(f->island, dL) > TG_NO_CHANGE * own;
}

static tg_gradient_kind label(const tg_implicit *f, bool regular)
{
    bool at_change = f->margin < TG_AT_SWITCH || contradicts(f);
    return !regular ? TG_GRADIENT_REGULARISED : at_change ? TG_GRADIENT_ONE_SIDED : TG_GRADIENT_EXACT;
}

void tg_implicit_restrict(tg_implicit *f, double margin)
{
    f->margin = margin < f->margin ? margin : f->margin;
    if (f->kind == TG_GRADIENT_EXACT && f->margin < TG_AT_SWITCH)
        f->kind = TG_GRADIENT_ONE_SIDED;
}

static tg_status refuse(int rows, size_t mark, tg_arena *arena, tg_error *error)
{
    tg_arena_release(arena, mark);
    arena->failed = false;
    return tg_fail(error, TG_ERR_CAPACITY, "derivative of %d rows: needs %zu bytes", rows, tg_implicit_bytes(rows));
}

/* What is asked of a factorisation of these modes. */
typedef struct request
{
    tg_selection selection;
    tg_implicit_use use;
    bool attempt; /* it is of no use where the equations do not determine the derivative */
} request;

/* Rows that may be independent are tried as such first. False when the arena is too small; *regular: whether the
 * equations determine the derivative. */
static bool build(tg_implicit *f, const tg_block_mode *mode, request asked, tg_arena *arena, bool *regular)
{
    bool selected = asked.selection != TG_SELECT_UNSELECTED;
    *regular = true;
    f->form = TG_IMPLICIT_INDEPENDENT;
    f->margin = margin_of(f, mode);
    bool independent =
        asked.selection == TG_SELECT_INDEPENDENT ||
        (selected && !tg_island_sticks_twice(f->island, f->L, f->sigma, mode) && tg_independent_is_whole(f, mode));
    if (independent && tg_independent_build(f, mode))
        return true;
    return tg_redundant_build(f, mode, (tg_redundant_request){selected, asked.attempt, asked.use}, arena, regular);
}

/* What the other rows do, with limits that give way. */
static bool find_rest(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena)
{
    double *brace = f->brace;
    f->brace = f->rest;
    bool fits = tg_find_braces_of(f, mode, arena);
    f->rests = f->braced;
    f->braced = true;
    f->brace = brace;
    return fits;
}

/* Where held rows brace each other, dry friction gives way, if the other rows determine the derivative. It counts as at
 * its bound, held by the others, in what follows: if these bear it whichever way it acts, it slips on both sides
 * (implicit_ties.c). What was found about the braces is kept. */
static bool build_yielding(tg_implicit *f, const tg_block_mode *mode, request asked, tg_arena *arena, size_t taken,
                           tg_block_mode *yielding)
{
    bool regular = false;
    double conflict = f->conflict;
    if (!f->braced || !tg_yielding_modes(f, mode, arena, yielding))
        return true;
    tg_arena_release(arena, taken);
    f->yields = true;
    asked.attempt = true;
    bool fits = build(f, yielding, asked, arena, &regular);
    for (int b = 0; b < f->island->blocks; b++)
        f->slides[b] = f->slides[b] && yielding[b].mode == mode[b].mode;
    if (fits && !regular)
    {
        tg_arena_release(arena, taken);
        f->yields = asked.attempt = false;
        fits = build(f, mode, asked, arena, &regular);
    }
    f->conflict = conflict;
    for (int b = 0; b < f->island->blocks; b++)
        if (!f->yields || f->island->block[b].kind == TG_BLOCK_LIMIT)
            yielding[b] = mode[b];
    return fits && (!f->yields || find_rest(f, yielding, arena));
}

/* Contacts that creep are tried as such first. */
tg_status tg_implicit_factor(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                             tg_selection selection, tg_implicit_use use, tg_arena *arena, tg_implicit *out,
                             tg_error *error)
{
    size_t mark = tg_arena_mark(arena);
    *out = (tg_implicit){.island = island, .L = L, .sigma = sigma, .fixed = tg_fixed_size(island)};
    bool fits = take(out, island->rows, arena), regular = false, creeps = false;
    request asked = {selection, use, false};
    tg_block_mode *creeping = TG_TAKE(arena, tg_block_mode, (size_t)island->blocks, "implicit: creeping contacts");
    tg_block_mode *yielding = TG_TAKE(arena, tg_block_mode, (size_t)island->blocks, "implicit: yielding friction");
    size_t taken = tg_arena_mark(arena);
    const tg_implicit empty = *out;
    fits = fits && !arena->failed;
    if (fits && selection != TG_SELECT_INDEPENDENT)
        creeps = tg_creeping_modes(out, mode, creeping);
    if (creeps)
        fits = build(out, creeping, (request){selection, use, true}, arena, &regular);
    if (fits && !regular)
    {
        tg_arena_release(arena, taken);
        *out = empty;
        fits = build(out, mode, asked, arena, &regular);
    }
    else
        mode = creeping;
    fits = fits && (!regular || build_yielding(out, mode, asked, arena, taken, yielding));
    if (!fits || !tg_find_ties(out, out->yields ? yielding : mode, arena))
        return refuse(island->rows, mark, arena, error);
    out->margin = margin_of(out, mode);
    out->kind = label(out, regular && !is_rough(out));
    return TG_OK;
}

tg_status tg_implicit_smoothed(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode,
                               const double *speed, tg_arena *arena, tg_implicit *out, tg_error *error)
{
    size_t mark = tg_arena_mark(arena);
    *out = (tg_implicit){.island = island, .L = L, .sigma = sigma, .fixed = tg_fixed_size(island)};
    if (!take(out, island->rows, arena) || !tg_smoothed_build(out, speed, arena))
        return refuse(island->rows, mark, arena, error);
    out->margin = margin_of(out, mode);
    out->kind = TG_GRADIENT_REGULARISED;
    return TG_OK;
}

tg_status tg_implicit_law(const tg_island *island, const tg_cone_law *law, const double *L, const double *sigma,
                          const tg_block_mode *mode, tg_arena *arena, tg_implicit *out, tg_error *error)
{
    size_t mark = tg_arena_mark(arena);
    bool regular = true;
    *out = (tg_implicit){.island = island, .L = L, .sigma = sigma, .law = law, .fixed = tg_fixed_size(island)};
    if (!take(out, island->rows, arena) || !tg_law_build(out, law, mode, arena, &regular) ||
        !tg_law_find_braces(out, mode, arena) || !tg_find_ties(out, mode, arena))
        return refuse(island->rows, mark, arena, error);
    out->margin = margin_of(out, mode);
    out->kind = label(out, regular);
    return TG_OK;
}

void tg_implicit_leave_out(tg_implicit *f, int row)
{
    f->idle[f->idles++] = row;
}

/* ---- forward and transpose ---- */

void tg_implicit_forward(const tg_implicit *f, const double *w, double *dL)
{
    double *X = f->work, *held = f->work + f->island->rows;
    tg_implicit_times(f, TG_IMPLICIT_VELOCITIES, 1, w, 1, held, X, 1);
    tg_implicit_solve(f, false, 1, X, 1);
    tg_implicit_combine(f, TG_IMPLICIT_IMPULSES, 1, X, 1, held, dL, 1);
}

void tg_implicit_transpose(const tg_implicit *f, const double *Lbar, double *z, double *turn)
{
    int rows = f->island->rows;
    double *X = f->work, *total = f->work + rows;
    tg_implicit_times(f, TG_IMPLICIT_IMPULSES, 1, Lbar, 1, total, X, 1);
    tg_implicit_solve(f, true, 1, X, 1);
    tg_implicit_combine(f, TG_IMPLICIT_VELOCITIES, 1, X, 1, total, z, 1);
    if (turn != NULL)
    {
        memcpy(total, Lbar, (size_t)rows * sizeof *total);
        if (f->turns)
            tg_gemm_nt(rows, 1, rows, f->island->G, f->island->ldg, z, rows, TG_GEMM_ADD, total, 1);
        tg_implicit_turn(f, total, turn);
    }
    for (int k = 0; k < f->idles; k++)
        z[f->idle[k]] = 0;
}

/* ---- parameters of the laws ---- */

/* x_i = L_i / mu_i; without friction the limit from above: against the slip */
double tg_implicit_unit_impulse(const tg_implicit *f, int b, int axis)
{
    const tg_block *block = &f->island->block[b];
    int row = block->row + 1 + axis;
    double slip[TG_CONE_MAX] = {0};
    if (block->mu[axis] > 0)
        return f->slides[b] ? f->L[row] / block->mu[axis] : 0;
    for (int i = 1; i < block->rows; i++)
        slip[i - 1] = block->mu[i - 1] == 0 ? f->sigma[block->row + i] : 0;
    return -f->L[block->row] * tg_norm_slope(f->law != NULL ? f->law->norm : TG_NORM_TWO, block->rows - 1, slip, axis);
}

/* ccp: s_N + |s_T| = 0 of a contact that slides, also where friction is yet to come */
double tg_implicit_normal_change(const tg_implicit *f, int b, int axis)
{
    const tg_block *block = &f->island->block[b];
    if (f->law == NULL || f->law->shift || block->mu[axis] > 0 || !(f->L[block->row] > 0))
        return 0;
    return tg_implicit_unit_impulse(f, b, axis) * f->sigma[block->row + 1 + axis] / f->L[block->row];
}

double tg_implicit_slip_change(const tg_implicit *f, int b, int axis)
{
    const tg_block *block = &f->island->block[b];
    return f->slides[b] && block->mu[axis] > 0 ? f->sigma[block->row + 1 + axis] / block->mu[axis] : 0;
}

static double single_gradient(const tg_implicit *f, int row, double value, const double *Lbar, const double *z)
{
    if (value == 0)
        return 0;
    if (f->total != NULL)
        return value * f->total[row];
    const double *G = f->island->G + (size_t)row * (size_t)f->island->ldg;
    return value * (Lbar[row] + v4_dot_of(f->island->rows, G, z));
}

double tg_implicit_mu_gradient(const tg_implicit *f, int block, int axis, const double *Lbar, const double *z)
{
    int row = f->island->block[block].row + 1 + axis;
    return single_gradient(f, row, tg_implicit_unit_impulse(f, block, axis), Lbar, z) +
           tg_implicit_slip_change(f, block, axis) * z[row] +
           tg_implicit_normal_change(f, block, axis) * z[f->island->block[block].row];
}

double tg_implicit_bound_impulse(const tg_implicit *f, int b)
{
    int row = f->island->block[b].row;
    if (!f->slides[b])
        return 0;
    return f->L[row] > 0 || (f->L[row] == 0 && f->sigma[row] <= 0) ? 1 : -1;
}

double tg_implicit_bound_gradient(const tg_implicit *f, int block, const double *Lbar, const double *z)
{
    return single_gradient(f, f->island->block[block].row, tg_implicit_bound_impulse(f, block), Lbar, z);
}
