/* What every block does in a solution, and how far it is from doing something else.
 *
 * A contact breaks when it carries nothing and opens; slides when it is on its cone and slips; sticks when it is
 * strictly inside of its cone. Between these are contacts on their cones without slip, and contacts that are closed
 * with no force: both are immaterial when the strictly held rows alone have the rank of all held rows, because then
 * these determine the motion. Where they do not, other impulses may: redundant rows can be held by many, and if some
 * that do the same to the bodies are strictly inside of all cones, then the motion is that of rows which stick,
 * whichever impulses were selected (a box whose friction about its normals is used up before that along its tangents).
 * Otherwise such a block is at a change of mode: breaking where it carries nothing and opens a little, sliding where it
 * creeps on its cone, or sticking, with margin zero. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/dense.h"
#include "solve/held.h"

static const double inner = 0.9;  /* impulses inside are looked for in cones so much narrower */
static const double empty = 1e-6; /* of the largest x_N: nothing that others could not bear */

enum
{
    INNER_ROUNDS = 60
};

static double diagonal(const tg_island *island, int row)
{
    return island->G[(size_t)row * (size_t)island->ldg + (size_t)row];
}

/* L_N; an interior point leaves a little of it on contacts that open: zero where that is less than the opening */
static double carried(const tg_island *island, const tg_block *block, const double *L, const double *sigma)
{
    double force = diagonal(island, block->row) * L[block->row];
    return force > tg_larger(sigma[block->row], 0) ? L[block->row] : 0;
}

static double slip_of(const tg_block *block, const double *sigma)
{
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += sigma[i] * sigma[i];
    return sqrt(sum);
}

/* 1 - |x_T| / x_N */
static double inside_of(const tg_block *block, const double *L)
{
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += (L[i] / block->mu[i - 1]) * (L[i] / block->mu[i - 1]);
    return 1 - sqrt(sum) / L[0];
}

static tg_block_mode settled(tg_mode mode, double margin)
{
    return (tg_block_mode){.mode = mode, .immaterial = false, .margin = margin};
}

/* until ranks are known, immaterial says: would be if the strictly held rows have the rank */
static tg_block_mode undecided(void)
{
    return (tg_block_mode){.mode = TG_MODE_STICKING, .immaterial = true, .margin = 0};
}

static tg_block_mode contact_mode(const tg_block *block, const double *L, const double *sigma, double G)
{
    double force = G * L[0];
    if (force <= TG_NO_FORCE)
        return sigma[0] >= TG_NO_SLIP ? settled(TG_MODE_BREAKING, sigma[0]) : undecided();
    double slip = block->kind == TG_BLOCK_CONTACT ? slip_of(block, sigma) : 0;
    double inside = block->kind == TG_BLOCK_CONTACT ? inside_of(block, L) : 1;
    if (inside >= TG_ON_CONE)
        return settled(TG_MODE_STICKING, tg_smaller(inside, force));
    return slip >= TG_NO_SLIP ? settled(TG_MODE_SLIDING, tg_smaller(slip, force)) : undecided();
}

/* What slips is at its bound, also where rounding says that it is inside by a little. What is at its bound and does not
 * slip stays there as the bound moves: immaterial if it is redundant. */
static tg_block_mode friction_mode(const tg_block *block, double L, double sigma)
{
    double inside = block->bound > 0 ? 1 - fabs(L) / block->bound : 0;
    if (fabs(sigma) >= TG_NO_SLIP)
        return settled(TG_MODE_SLIDING, fabs(sigma));
    if (inside >= TG_ON_CONE)
        return settled(TG_MODE_STICKING, inside);
    return (tg_block_mode){.mode = TG_MODE_SLIDING, .immaterial = true, .margin = 0};
}

/* island, and the law by which its blocks are judged; NULL: the unrelaxed one */
typedef struct judged
{
    const tg_island *island;
    const tg_mode_law *law;
} judged;

static tg_block_mode block_mode(const judged *j, const tg_block *block, const double *L, const double *sigma)
{
    const tg_island *island = j->island;
    int row = block->row;
    if (j->law != NULL)
        return j->law->mode(j->law->user, island, block, L + row, sigma + row);
    switch (block->kind)
    {
    case TG_BLOCK_EQUALITY:
        return settled(TG_MODE_STICKING, INFINITY);
    case TG_BLOCK_FRICTION:
        return friction_mode(block, L[row], sigma[row]);
    default:
        return contact_mode(block, L + row, sigma + row, diagonal(island, row));
    }
}

/* of a block among all held rows, or only the strictly held ones; what is closed without force and slips holds its
 * normal alone. on_cone: what a block on its cone holds. */
static tg_phase phase_of(const tg_block *block, const tg_block_mode *mode, double L_N, double slip, bool strict,
                         tg_phase on_cone)
{
    bool contact = block->kind == TG_BLOCK_CONTACT;
    if (mode->mode == TG_MODE_BREAKING)
        return TG_PHASE_BREAK;
    if (mode->mode == TG_MODE_SLIDING)
        return mode->immaterial && !strict ? TG_PHASE_STICK : contact ? on_cone : TG_PHASE_SLIDE;
    if (!mode->immaterial)
        return TG_PHASE_STICK;
    if (!strict)
        return slip >= TG_NO_SLIP ? on_cone : TG_PHASE_STICK;
    return contact && L_N > 0 ? on_cone : TG_PHASE_BREAK;
}

/* Phases that hold all held rows, or not those of the blocks in strict that are not strictly held (NULL: of none).
 * Returns how many rows they hold. */
static int set_phases(tg_solve_work *w, const judged *j, const double *L, const double *sigma,
                      const tg_block_mode *mode, const bool *strict)
{
    const tg_island *island = j->island;
    tg_phase on_cone = j->law == NULL || j->law->closed ? TG_PHASE_SLIDE : TG_PHASE_BREAK;
    int held = 0;
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        const int b = cone->of;
        const tg_block *block = &island->block[b];
        double slip = block->kind == TG_BLOCK_CONTACT ? slip_of(block, sigma + block->row) : 0;
        double carries = carried(island, block, L, sigma);
        tg_phase phase = phase_of(block, &mode[b], carries, slip, strict != NULL && strict[b], on_cone);
        w->state[c].phase = phase;
        held += phase == TG_PHASE_STICK ? cone->dim : phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT;
    }
    return held;
}

static int rank_of(tg_solve_work *w, const judged *j, const double *L, const double *sigma, const tg_block_mode *mode,
                   const bool *strict)
{
    set_phases(w, j, L, sigma, mode, strict);
    return tg_held_rank(w);
}

/* ---- the strictly held rows ---- */

static bool any_undecided(const tg_island *island, const tg_block_mode *mode)
{
    for (int b = 0; b < island->blocks; b++)
        if (mode[b].immaterial)
            return true;
    return false;
}

/* Whether the strictly held rows have the rank; fewer rows have not. w: the held rows that have it stay. */
static bool suffices(tg_solve_work *w, const judged *j, const double *L, const double *sigma, const tg_block_mode *mode,
                     int rank)
{
    const tg_held all = w->held;
    for (int b = 0; b < j->island->blocks; b++)
        w->left_out[b] = true;
    w->held.factor = w->A;
    w->held.size = w->held.square;
    w->held.row = w->pivot;
    w->held.at = w->active;
    bool same = set_phases(w, j, L, sigma, mode, w->left_out) >= rank && tg_held_rank(w) == rank;
    w->held = all;
    if (!same)
        set_phases(w, j, L, sigma, mode, NULL);
    return same;
}

/* the undecided block with the least margin that is not left out yet, or -1 */
static int least_undecided(const tg_island *island, const tg_block_mode *mode, const bool *left_out)
{
    int least = -1;
    for (int b = 0; b < island->blocks; b++)
        if (mode[b].immaterial && !left_out[b] && (least < 0 || mode[b].margin < mode[least].margin))
            least = b;
    return least;
}

/* One block after the other, those nearest to a change first: it is immaterial if the others have the rank without what
 * it does not strictly hold. True when no other is at a change. */
static bool leave_out(tg_solve_work *w, const judged *j, const double *L, const double *sigma, tg_block_mode *mode,
                      int rank)
{
    bool *left_out = w->left_out, good = true;
    memset(left_out, 0, (size_t)j->island->blocks * sizeof *left_out);
    for (int b = least_undecided(j->island, mode, left_out); b >= 0; b = least_undecided(j->island, mode, left_out))
    {
        left_out[b] = true;
        if (rank_of(w, j, L, sigma, mode, left_out) == rank)
            continue;
        left_out[b] = mode[b].immaterial = false;
        good = good && mode[b].margin >= TG_ON_CONE;
    }
    return good;
}

/* ---- other impulses that do the same ----
 *
 * Rows R that stick, in scaled variables: V x = V x_0 for all x that do to the bodies what x_0 does, with V^T V = G_RR.
 * Projections in turn onto this plane and onto narrower cones end in both, if there is such a point. */

/* slope of the largest circular cone inside of the law's: |x_T|_1 <= sqrt(m) |x_T| in m dimensions */
static double slope_of(const judged *j, const tg_cone *cone)
{
    return j->law != NULL && j->law->pointed && cone->dim > 1 ? 1 / sqrt(cone->dim - 1) : 1;
}

/* nearest point of |y_T| <= slope y_N */
static void narrow(int dim, double slope, double *y)
{
    double tangent = tg_cone_tangent(dim, y), normal = (y[0] + slope * tangent) / (1 + slope * slope);
    if (tangent <= slope * y[0])
        return;
    normal = tg_larger(normal, 0);
    for (int i = 1; i < dim; i++)
        y[i] *= slope * normal / tangent;
    y[0] = normal;
}

/* every row that sticks; impulses of contacts that slide and of dry friction stay as they are. Whether these are the
 * held rows of the phases before. */
static bool hold_sticking(tg_solve_work *w, const tg_island *island, const tg_block_mode *mode, const double *sigma)
{
    bool same = true;
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const int b = w->cones.block[c].of;
        const tg_block *block = &island->block[b];
        bool still = mode[b].mode == TG_MODE_STICKING && block->kind != TG_BLOCK_FRICTION;
        if (block->kind == TG_BLOCK_CONTACT && mode[b].immaterial)
            still = still && slip_of(block, sigma + block->row) < TG_NO_SLIP;
        tg_phase phase = still ? TG_PHASE_STICK : TG_PHASE_BREAK;
        same = same && w->state[c].phase == phase;
        w->state[c].phase = phase;
    }
    return same;
}

static void narrow_all(tg_solve_work *w, const judged *j)
{
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        if (w->state[c].phase == TG_PHASE_STICK && cone->kind == TG_CONE_UNIT)
            narrow(cone->dim, inner * slope_of(j, cone), w->x + cone->row);
    }
}

/* Z, orthonormal rows with V Z^T = 0, into held.range: with V = U D^-1 (held.c) and U = [U_1 U_2], U_1 triangular, it
 * spans D (-U_1^-1 U_2, 1). Returns how many, 0 when nothing is redundant. ranked: held rows were factored. */
static int find_plane(tg_solve_work *w, bool ranked)
{
    tg_held *held = &w->held;
    int ld = w->cones.ld, n = held->count, rank = ranked ? held->rank : tg_held_rank(w), free = held->count - rank;
    double *X = held->chol;
    for (int i = 0; i < rank; i++)
        memcpy(X + (size_t)i * (size_t)free, held->factor + (size_t)i * (size_t)ld + rank, (size_t)free * sizeof *X);
    tg_trsm(TG_TRI_UPPER, rank, held->factor, ld, free, X, free);
    for (int k = 0; k < free; k++)
    {
        double *row = held->range + (size_t)k * (size_t)ld;
        for (int i = 0; i < rank; i++)
            row[i] = -held->size[i] * X[(size_t)i * (size_t)free + (size_t)k];
        for (int i = rank; i < n; i++)
            row[i] = i == rank + k ? held->size[i] : 0;
        tg_orthogonalise(n, k, held->range, ld, row, held->part);
    }
    return free;
}

/* x_R <- x_0 + Z^T Z (x_R - x_0) */
static void return_to_plane(tg_solve_work *w, int free, const double *start)
{
    const tg_held *held = &w->held;
    int n = held->count, ld = w->cones.ld;
    double *off = w->rhs;
    for (int i = 0; i < n; i++)
        off[i] = w->x[held->row[i]] - start[held->row[i]];
    tg_gemm_nt(free, 1, n, held->range, ld, off, n, TG_GEMM_SET, held->part, 1);
    tg_gemm_nn(1, n, free, held->part, free, held->range, ld, TG_GEMM_SET, off, n);
    for (int i = 0; i < n; i++)
        w->x[held->row[i]] = start[held->row[i]] + off[i];
}

static double largest_normal(const tg_solve_work *w)
{
    double largest = 0;
    for (int c = 0; c < w->cones.blocks; c++)
        if (w->state[c].phase == TG_PHASE_STICK && w->cones.block[c].kind == TG_CONE_UNIT)
            largest = tg_larger(largest, w->x[w->cones.block[c].row]);
    return largest;
}

/* whether every block is well inside, if not as far as was tried, or carries nothing to speak of */
static bool is_inside(const tg_solve_work *w, const judged *j)
{
    const double most = 0.5 * (1 + inner), nothing = empty * largest_normal(w);
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        const double *x = w->x + cone->row;
        if (w->state[c].phase != TG_PHASE_STICK || cone->kind != TG_CONE_UNIT)
            continue;
        if (x[0] < -nothing || tg_cone_tangent(cone->dim, x) > nothing + most * slope_of(j, cone) * x[0])
            return false;
    }
    return true;
}

/* dry friction at its bound, which would have to be moved with the contacts, and in other units */
static bool any_friction(const tg_island *island, const tg_block_mode *mode)
{
    for (int b = 0; b < island->blocks; b++)
        if (mode[b].immaterial && mode[b].mode == TG_MODE_SLIDING)
            return true;
    return false;
}

/* Modes by impulses that do the same as L, which are then in w->L; false when there are none inside of all cones. w:
 * the held rows of its phases, ranked. */
static bool find_inside(tg_solve_work *w, const judged *j, const double *L, const double *sigma, tg_block_mode *mode)
{
    const tg_island *island = j->island;
    double *start = w->best, *other = w->L;
    bool ranked = hold_sticking(w, island, mode, sigma);
    int free = any_friction(island, mode) ? 0 : find_plane(w, ranked);
    if (free == 0)
        return false;
    tg_cones_gather(&w->cones, L, start);
    memcpy(w->x, start, (size_t)w->cones.rows * sizeof *start);
    for (int k = 0; k < INNER_ROUNDS && !is_inside(w, j); k++)
    {
        narrow_all(w, j);
        return_to_plane(w, free, start);
    }
    if (!is_inside(w, j))
        return false;
    memcpy(other, L, (size_t)island->rows * sizeof *other);
    for (int i = 0; i < w->held.count; i++)
    {
        int row = w->held.row[i];
        other[w->cones.source[row]] = w->x[row] * w->cones.scale[row];
    }
    for (int b = 0; b < island->blocks; b++)
        if (mode[b].mode == TG_MODE_STICKING || mode[b].immaterial)
            mode[b] = block_mode(j, &island->block[b], other, sigma);
    return true;
}

/* ---- what is at a change of mode ---- */

/* In a solution normals rest, whatever slides. */
double tg_island_unrest(const tg_island *island, const double *L, const double *sigma)
{
    double sum = 0;
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        if (block->kind == TG_BLOCK_CONTACT && L[block->row] > 0)
            sum += fabs(sigma[block->row]);
    }
    return sum;
}

/* 1 - cos of the angle by which a slip may be off: the solver ends when velocities are off by so much. What is off by
 * more has no direction. */
static double unsure(double off, double slip)
{
    double angle = off / slip;
    return angle < TG_NEAR ? tg_larger(TG_ON_CONE, 0.5 * angle * angle) : TG_ON_CONE;
}

/* What carries nothing is at the tip of its cone, and holds its normal alone. */
bool tg_block_creeps(const tg_block *block, const double *L, const double *sigma, double off)
{
    double impulse = 0, slip = 0, against = 0;
    for (int i = 1; i < block->rows; i++)
    {
        double mu = block->mu[i - 1];
        impulse += mu > 0 ? (L[i] / mu) * (L[i] / mu) : 0;
        slip += mu > 0 ? (mu * sigma[i]) * (mu * sigma[i]) : 0;
        against -= mu > 0 ? L[i] * sigma[i] : 0;
    }
    impulse = sqrt(impulse);
    slip = sqrt(slip);
    if (!(L[0] > 0))
        return slip > TG_OPENING;
    return slip > TG_OPENING && fabs(impulse - L[0]) <= TG_ON_CONE * L[0] &&
           impulse * slip - against <= unsure(off, slip) * impulse * slip;
}

/* The side on which a block is that is neither strictly held nor immaterial: it opens, or creeps on its cone, a little;
 * otherwise it sticks, with margin zero. */
static void find_sides(tg_solve_work *w, const judged *j, const double *L, const double *sigma, tg_block_mode *mode)
{
    const tg_island *island = j->island;
    double unrest = tg_island_unrest(island, L, sigma);
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        const int b = cone->of;
        const tg_block *block = &island->block[b];
        if (!mode[b].immaterial || cone->kind != TG_CONE_UNIT)
            continue;
        if (carried(island, block, L, sigma) <= 0 && sigma[block->row] > TG_OPENING)
            mode[b] = settled(TG_MODE_BREAKING, sigma[block->row]);
        else if (diagonal(island, block->row) * L[block->row] > TG_NO_FORCE &&
                 tg_block_creeps(block, L + block->row, sigma + block->row, unrest))
            mode[b] = settled(TG_MODE_SLIDING, slip_of(block, sigma + block->row));
    }
}

/* Two points of two rigid bodies that stick: six rows, but what turns the bodies about the line through both moves
 * neither of them. Then the rows depend on each other, and nothing need be factored to know. */
bool tg_island_sticks_twice(const tg_island *island, const double *L, const double *sigma, const tg_block_mode *mode)
{
    uint64_t last = 0;
    for (int b = 0; b < island->blocks && island->give != NULL; b++)
    {
        const tg_block *block = &island->block[b];
        if (block->kind != TG_BLOCK_CONTACT || block->rows < 3 || block->pair == 0 || !(block->mu[0] > 0) ||
            !(block->mu[1] > 0) || island->give[block->row] > 0)
            continue;
        double slip = slip_of(block, sigma + block->row);
        if (phase_of(block, &mode[b], carried(island, block, L, sigma), slip, false, TG_PHASE_SLIDE) != TG_PHASE_STICK)
            continue;
        if (block->pair == last)
            return true;
        last = block->pair;
    }
    return false;
}

static void judge_all(const judged *j, const double *L, const double *sigma, tg_block_mode *mode)
{
    for (int b = 0; b < j->island->blocks; b++)
        mode[b] = block_mode(j, &j->island->block[b], L, sigma);
}

static void decide(tg_solve_work *w, const judged *j, const double *L, const double *sigma, tg_block_mode *mode)
{
    int rank = rank_of(w, j, L, sigma, mode, NULL);
    if (suffices(w, j, L, sigma, mode, rank))
        return;
    if (find_inside(w, j, L, sigma, mode) &&
        (!any_undecided(j->island, mode) || suffices(w, j, w->L, sigma, mode, rank)))
        return;
    judge_all(j, L, sigma, mode);
    find_sides(w, j, L, sigma, mode);
    bool rest = suffices(w, j, L, sigma, mode, rank_of(w, j, L, sigma, mode, NULL));
    for (int b = 0; b < j->island->blocks; b++)
        mode[b].immaterial = mode[b].immaterial && rest;
}

static void decide_by_law(tg_solve_work *w, const judged *j, const double *L, const double *sigma, tg_block_mode *mode)
{
    int rank = rank_of(w, j, L, sigma, mode, NULL);
    if (leave_out(w, j, L, sigma, mode, rank))
        return;
    judge_all(j, L, sigma, mode);
    if (find_inside(w, j, L, sigma, mode) && leave_out(w, j, w->L, sigma, mode, rank))
        return;
    judge_all(j, L, sigma, mode);
    leave_out(w, j, L, sigma, mode, rank);
}

tg_status tg_island_modes_by(const tg_mode_law *law, const tg_island *island, const double *L, const double *sigma,
                             tg_arena *scratch, tg_block_mode *mode, tg_error *error)
{
    const judged j = {island, law};
    judge_all(&j, L, sigma, mode);
    if (!any_undecided(island, mode))
        return TG_OK;
    size_t mark = tg_arena_mark(scratch);
    tg_solve_work w;
    if (!tg_solve_work_take(&w, island->rows, scratch))
    {
        tg_arena_release(scratch, mark);
        scratch->failed = false;
        return tg_fail(error, TG_ERR_CAPACITY, "modes of %d rows: needs %zu bytes of scratch", island->rows,
                       tg_island_scratch((tg_island_size){.rows = island->rows}));
    }
    tg_cones_build(&w.cones, island, NULL);
    (law == NULL ? decide : decide_by_law)(&w, &j, L, sigma, mode);
    tg_arena_release(scratch, mark);
    for (int b = 0; b < island->blocks; b++)
        mode[b].margin = mode[b].immaterial ? INFINITY : mode[b].margin;
    return TG_OK;
}

tg_status tg_island_modes(const tg_island *island, const double *L, const double *sigma, tg_arena *scratch,
                          tg_block_mode *mode, tg_error *error)
{
    return tg_island_modes_by(NULL, island, L, sigma, scratch, mode, error);
}
