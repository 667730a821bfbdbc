/* Gauss-Newton with Levenberg and Marquardt's damping, bounds, robust losses, priors.
 *
 * With r the residuals, W the weights of the loss and H = J^T W J (+ priors), all by z, a step solves
 *     (H + d diag(H)) s = -J^T W r
 * over the unknowns that no bound holds, and is cut at the bounds. The damping d falls where the cost follows its
 * quadratic model, and rises where it does not. H is arrow-shaped (arrow.h). */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "control/arrow.h"
#include "control/loss.h"
#include "control/unknowns.h"

static const uint32_t least_squares_cookie = 0x74674c53u;

struct tg_least_squares
{
    tg_allocator memory;
    bool own_memory; /* an allocator was given */
    tg_least_squares_def def;
    tg_map map;
    tg_arrow arrow;
    int total_rows;
    size_t entries;    /* of J */
    int *locals;       /* [groups], 0 where there are none */
    int *zlocals;      /* [groups] */
    int zshared;       /* of z */
    int *group_of;     /* [n] of x; -1: shared */
    double *x, *x_try; /* [n] */
    double *z, *z_try, *z_start, *step;
    double *r, *r_try, *J;
    double *A;       /* rows of one group by z, weighted */
    double *scratch; /* of tg_arrow_add */
    double *row;     /* [nz] */
    bool ran;
};

tg_least_squares_def tg_default_least_squares(void)
{
    return (tg_least_squares_def){.groups = 1,
                                  .loss = TG_LOSS_SQUARE,
                                  .width = 1,
                                  .iterations = 100,
                                  .damping = 1e-4,
                                  .tolerance = 1e-10,
                                  .cookie = least_squares_cookie};
}

/* ---- creation ---- */

static int locals_of(const tg_least_squares_def *def, int g)
{
    return def->locals != NULL ? def->locals[g] : 0;
}

static tg_status check_groups(const tg_least_squares_def *def, tg_error *error)
{
    long long unknowns = def->shared;
    if (def->shared < 0 || def->groups < 1 || def->rows == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "shared = %d, groups = %d, rows: there must be a group", def->shared,
                       def->groups);
    for (int g = 0; g < def->groups; g++)
    {
        if (def->rows[g] < 0 || locals_of(def, g) < 0)
            return tg_fail(error, TG_ERR_VALUE, "group %d: rows = %d, locals = %d must not be negative", g,
                           def->rows[g], locals_of(def, g));
        unknowns += locals_of(def, g);
    }
    if (unknowns != def->unknowns.n)
        return tg_fail(error, TG_ERR_ARGUMENT, "shared and local unknowns are %lld, n = %d", unknowns, def->unknowns.n);
    return TG_OK;
}

static tg_status check_ties(const tg_least_squares *s, tg_error *error)
{
    const tg_unknowns *u = &s->def.unknowns;
    for (int i = 0; u->tie != NULL && i < u->n; i++)
        if (u->tie[i] >= 0 && s->group_of[u->tie[i]] >= 0 && s->group_of[u->tie[i]] != s->group_of[i])
            return tg_fail(error, TG_ERR_UNSUPPORTED, "tie[%d] = %d is an unknown of another group", i, u->tie[i]);
    return TG_OK;
}

static tg_status check_def(const tg_least_squares_def *def, tg_error *error)
{
    if (def == NULL || def->cookie != least_squares_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "def must be made by tg_default_least_squares");
    if (def->residuals == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "residuals must not be NULL");
    if ((unsigned)def->loss >= TG_LOSS_COUNT || !(def->width > 0))
        return tg_fail(error, TG_ERR_VALUE, "loss = %d, width = %g: the width must be positive", (int)def->loss,
                       def->width);
    if (def->iterations < 0 || !(def->damping >= 0) || !(def->tolerance >= 0) || !(def->decrease >= 0))
        return tg_fail(error, TG_ERR_VALUE,
                       "iterations = %d, damping = %g, tolerance = %g, decrease = %g must not be negative",
                       def->iterations, def->damping, def->tolerance, def->decrease);
    TG_TRY(tg_unknowns_check(&def->unknowns, error));
    return check_groups(def, error);
}

/* The arrays; with a counting arena nothing but the sizes. Sizes by x are upper bounds of those by z. */
static void place_arrays(tg_least_squares *s, tg_arena *arena)
{
    const tg_least_squares_def *def = &s->def;
    size_t n = (size_t)def->unknowns.n, entries = 0, rows = 0, group_entries = 0, widest = 0;
    for (int g = 0; g < def->groups; g++)
    {
        size_t wide = (size_t)def->shared + (size_t)locals_of(def, g), size = (size_t)def->rows[g] * wide;
        entries += size;
        rows += (size_t)def->rows[g];
        group_entries = size > group_entries ? size : group_entries;
        widest = wide > widest ? wide : widest;
    }
    s->total_rows = (int)rows;
    s->entries = entries;
    tg_map_place(&s->map, &def->unknowns, arena);
    s->locals = TG_TAKE(arena, int, def->groups, "locals");
    s->zlocals = TG_TAKE(arena, int, def->groups, "zlocals");
    s->group_of = TG_TAKE(arena, int, n, "group_of");
    s->x = TG_TAKE(arena, double, n, "x");
    s->x_try = TG_TAKE(arena, double, n, "x_try");
    s->z = TG_TAKE(arena, double, n, "z");
    s->z_try = TG_TAKE(arena, double, n, "z_try");
    s->z_start = TG_TAKE(arena, double, n, "z_start");
    s->step = TG_TAKE(arena, double, n, "step");
    s->row = TG_TAKE(arena, double, n, "row");
    s->r = TG_TAKE(arena, double, rows + 1, "r");
    s->r_try = TG_TAKE(arena, double, rows + 1, "r_try");
    s->J = TG_TAKE(arena, double, entries + 1, "J");
    s->A = TG_TAKE(arena, double, group_entries + rows + 1, "A");
    s->scratch = TG_TAKE(arena, double, widest *widest + widest + 1, "scratch");
}

/* Groups of x, and how many z each has; the sizes of the arrow follow from that. */
static void count_groups(tg_least_squares *s)
{
    int i = 0;
    for (; i < s->def.shared; i++)
        s->group_of[i] = -1;
    for (int g = 0; g < s->def.groups; g++)
    {
        s->locals[g] = locals_of(&s->def, g);
        s->zlocals[g] = 0;
        for (int k = 0; k < s->locals[g]; k++)
            s->group_of[i++] = g;
    }
    s->zshared = 0;
    for (int k = 0; k < s->map.nz; k++)
    {
        int g = s->group_of[s->map.x_of[k]];
        *(g < 0 ? &s->zshared : &s->zlocals[g]) += 1;
    }
}

/* The arrow is placed by the counts of x while counting, which are at least those of z. */
static void place_arrow(tg_least_squares *s, tg_arena *arena, int shared, const int *locals)
{
    tg_arrow_place(&s->arrow, shared, s->def.groups, locals, arena);
}

static size_t count_bytes(tg_least_squares *s, const int *locals, bool *failed)
{
    tg_arena arena = {0};
    tg_arena_take(&arena, 1, sizeof *s, "solver");
    place_arrays(s, &arena);
    place_arrow(s, &arena, s->def.shared, locals);
    *failed = arena.failed;
    return arena.used;
}

tg_status tg_least_squares_create(const tg_least_squares_def *def, const tg_allocator *allocator,
                                  tg_least_squares **out, tg_error *error)
{
    if (out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "s must not be NULL");
    TG_TRY(check_def(def, error));
    tg_least_squares counted = {.def = *def};
    bool failed;
    int *none = NULL;
    if (def->locals == NULL && (none = tg_alloc(allocator, (size_t)def->groups * sizeof *none)) == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "no memory for %d groups", def->groups);
    size_t size = count_bytes(&counted, none != NULL ? none : def->locals, &failed);
    tg_free(allocator, none);
    void *memory = failed ? NULL : tg_alloc(allocator, size);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "no memory for %zu bytes", size);

    tg_arena arena = {.base = memory, .capacity = size};
    tg_least_squares *s = TG_TAKE(&arena, tg_least_squares, 1, "solver");
    *s = (tg_least_squares){.def = *def, .own_memory = allocator != NULL};
    if (allocator != NULL)
        s->memory = *allocator;
    place_arrays(s, &arena);
    tg_map_fill(&s->map);
    count_groups(s);
    place_arrow(s, &arena, s->zshared, s->zlocals);
    tg_status status = check_ties(s, error);
    if (status != TG_OK)
        tg_least_squares_destroy(s);
    else
        *out = s;
    return status;
}

void tg_least_squares_destroy(tg_least_squares *s)
{
    if (s == NULL)
        return;
    tg_allocator memory = s->memory;
    tg_free(s->own_memory ? &memory : NULL, s);
}

/* ---- the cost and its model ---- */

static double cost_of(const tg_least_squares *s, const double *x, const double *r)
{
    double sum = 0;
    for (int i = 0; i < s->total_rows; i++)
        sum += tg_loss_value(s->def.loss, s->def.width, r[i]);
    double cost = 0.5 * sum + tg_map_prior(&s->map, x, NULL);
    return isfinite(cost) ? cost : INFINITY;
}

static void add_group(tg_least_squares *s, int g, const double *J, const double *r, int first_x, int first_z)
{
    int rows = s->def.rows[g], wide = s->def.shared + s->locals[g], narrow = s->zshared + s->zlocals[g];
    int skip = first_z - s->zshared;
    double *A = s->A, *weighted = s->A + (size_t)rows * (size_t)narrow;
    memset(A, 0, (size_t)rows * (size_t)narrow * sizeof *A);
    for (int i = 0; i < rows; i++)
    {
        const double *from = J + (size_t)i * (size_t)wide;
        double *to = A + (size_t)i * (size_t)narrow;
        double w = sqrt(tg_loss_weight(s->def.loss, s->def.width, r[i]));
        tg_map_row(&s->map, from, 0, s->def.shared, s->zshared, 0, to);
        tg_map_row(&s->map, from + s->def.shared, first_x, s->locals[g], s->zshared, skip, to);
        for (int k = 0; k < narrow; k++)
            to[k] *= w;
        weighted[i] = w * r[i];
    }
    tg_arrow_add(&s->arrow, g, rows, A, weighted, s->scratch);
}

/* Gradient and H at s->x from s->r and s->J. */
static void assemble(tg_least_squares *s)
{
    const tg_unknowns *u = &s->def.unknowns;
    const double *J = s->J, *r = s->r;
    int first_x = s->def.shared, first_z = s->zshared;
    tg_arrow_clear(&s->arrow);
    for (int g = 0; g < s->def.groups; g++)
    {
        add_group(s, g, J, r, first_x, first_z);
        J += (size_t)s->def.rows[g] * (size_t)(s->def.shared + s->locals[g]);
        r += s->def.rows[g];
        first_x += s->locals[g];
        first_z += s->zlocals[g];
    }
    tg_map_prior(&s->map, s->x, s->arrow.gradient);
    for (int i = 0; u->spread != NULL && i < u->n; i++)
        if (isfinite(u->spread[i]))
        {
            const double one = 1 / u->spread[i];
            memset(s->row, 0, (size_t)s->map.nz * sizeof *s->row);
            tg_map_row(&s->map, &one, i, 1, 0, 0, s->row);
            tg_arrow_add_square(&s->arrow, s->group_of[i], s->row, 1);
        }
}

/* Marks what the bounds hold; returns the largest derivative among the others. */
static double hold_bounds(tg_least_squares *s)
{
    double slope = 0;
    for (int k = 0; k < s->map.nz; k++)
    {
        double g = s->arrow.gradient[k];
        s->arrow.held[k] = s->map.lower[k] == s->map.upper[k] || tg_map_held(&s->map, s->z, g, k);
        if (!s->arrow.held[k])
            slope = fmax(slope, fabs(g));
    }
    return slope;
}

/* ---- iterations ---- */

typedef struct search
{
    double cost, cost_try, damping, raise, slope;
    double size;     /* of the last step */
    double promised; /* by the quadratic model; may be negative where the step was cut */
    bool whole;      /* the step was not cut */
    int evaluations;
} search;

/* Share of a step that changes no positive number by more than a factor of ten: further away its logarithm is no model
 * of it. */
static double share_of(const tg_least_squares *s)
{
    double share = 1, most = log(10.0);
    for (int k = 0; k < s->map.nz; k++)
        if (tg_map_is_log(&s->map, k) && fabs(s->step[k]) * share > most)
            share = most / fabs(s->step[k]);
    return share;
}

/* Cuts the trial at the bounds. A number that would cross one goes nine tenths of its way at first, and all of it where
 * less than a hundredth of its first distance is left: the far end of a range is often where the data no longer depend
 * on it. True if something was cut. */
static bool cut_at_bounds(tg_least_squares *s)
{
    bool cut = false;
    for (int k = 0; k < s->map.nz; k++)
    {
        double low = s->map.lower[k], high = s->map.upper[k];
        if (s->z_try[k] >= low && s->z_try[k] <= high)
            continue;
        double bound = s->z_try[k] < low ? low : high, left = bound - s->z[k];
        bool near = fabs(left) <= 0.01 * fabs(bound - s->z_start[k]);
        s->z_try[k] = near ? bound : s->z[k] + 0.9 * left;
        cut = true;
    }
    return cut;
}

/* One trial: step, cut, cost. TG_OK also where the point is refused: its cost is infinite. */
static tg_status try_step(tg_least_squares *s, search *at)
{
    double linear = 0;
    at->cost_try = INFINITY;
    at->size = INFINITY;
    if (!tg_arrow_solve(&s->arrow, at->damping, s->step))
        return TG_OK;
    double share = share_of(s);
    for (int k = 0; k < s->map.nz; k++)
        s->z_try[k] = s->z[k] + share * s->step[k];
    at->whole = !cut_at_bounds(s) && share == 1;
    for (int k = 0; k < s->map.nz; k++)
    {
        s->step[k] = s->z_try[k] - s->z[k];
        linear += s->arrow.gradient[k] * s->step[k];
    }
    at->size = tg_map_size(&s->map, s->z, s->step);
    at->promised = -linear - 0.5 * tg_arrow_quadratic(&s->arrow, s->step);
    tg_map_x(&s->map, s->z_try, s->x_try);
    at->evaluations++;
    tg_status status = s->def.residuals(s->def.user, s->x_try, s->r_try, NULL);
    if (status == TG_ERR_CANCELLED)
        return status;
    if (status == TG_OK)
        at->cost_try = cost_of(s, s->x_try, s->r_try);
    return TG_OK;
}

/* Damping after a trial (K. Madsen, H. Nielsen, O. Tingleff 2004: raised by 2, 4, 8, ... as long as trials fail); falls
 * tenfold where the model was good. */
static void adapt(search *at, bool better)
{
    double gain = (at->cost - at->cost_try) / fmax(at->promised, DBL_MIN);
    if (!better)
    {
        at->damping = fmax(at->damping, DBL_EPSILON) * at->raise;
        at->raise *= 2;
        return;
    }
    at->raise = 2;
    if (gain > 0.75)
        at->damping *= 0.1;
    else if (gain < 0.25)
        at->damping = fmax(at->damping, DBL_EPSILON) * 4;
}

/* Residuals and derivatives at z. */
static tg_status linearise(tg_least_squares *s, search *at)
{
    tg_map_x(&s->map, s->z, s->x);
    at->evaluations++;
    TG_TRY(s->def.residuals(s->def.user, s->x, s->r, s->J));
    assemble(s);
    at->cost = cost_of(s, s->x, s->r);
    at->slope = hold_bounds(s);
    for (size_t i = 0; i < s->entries; i++)
        if (!isfinite(s->J[i]))
            return TG_ERR_NUMERIC;
    return TG_OK;
}

static bool tell(const tg_least_squares *s, const search *at, int iteration)
{
    tg_iteration now = {.iteration = iteration,
                        .evaluations = at->evaluations,
                        .cost = at->cost,
                        .step = iteration == 0 ? 0 : at->size,
                        .slope = at->slope,
                        .damping = at->damping,
                        .x = s->x};
    return s->def.progress == NULL || s->def.progress(s->def.user, &now);
}

/* Decrease of the cost that counts as none: near a minimum it goes with the square of a step. */
static double least_decrease(const tg_least_squares *s, double cost)
{
    return fmax(fmax(s->def.tolerance * s->def.tolerance, DBL_EPSILON) * cost, s->def.decrease);
}

/* Trials until one lowers the cost; TG_STOP_COUNT: one did. A trial that promises less than rounding or moves less than
 * the tolerance ends it. */
static tg_status improve(tg_least_squares *s, search *at, tg_stop *stop)
{
    const double most = 1 / DBL_EPSILON; /* of the damping: a step then is rounding of the steepest descent */
    *stop = TG_STOP_COUNT;
    at->raise = 2;
    for (;;)
    {
        TG_TRY(try_step(s, at));
        bool better = at->cost_try < at->cost;
        bool least = at->whole && at->promised <= least_decrease(s, at->cost);
        if (!better && isfinite(at->size) && (at->size <= s->def.tolerance || least))
        {
            *stop = at->size <= s->def.tolerance ? TG_STOP_STEP : TG_STOP_COST;
            return TG_OK;
        }
        adapt(at, better);
        if (better)
            return TG_OK;
        if (at->damping > most)
        {
            *stop = TG_STOP_STUCK;
            return TG_OK;
        }
    }
}

/* After a step that helped: is it the last one? */
static tg_stop judge(const tg_least_squares *s, const search *at, double before)
{
    if (at->size <= s->def.tolerance)
        return TG_STOP_STEP;
    double least = least_decrease(s, before);
    if (before - at->cost <= least && at->promised <= least && at->whole)
        return TG_STOP_COST;
    return TG_STOP_COUNT;
}

static tg_status iterate(tg_least_squares *s, search *at, tg_optimum *result)
{
    tg_stop stop = TG_STOP_COUNT;
    int iteration = 0;
    if (!tell(s, at, 0))
        stop = TG_STOP_ASKED;
    while (stop == TG_STOP_COUNT)
    {
        if (at->slope == 0)
            stop = TG_STOP_SLOPE;
        else if (iteration == s->def.iterations)
            stop = TG_STOP_ITERATIONS;
        else
            TG_TRY(improve(s, at, &stop));
        if (stop != TG_STOP_COUNT)
            break;
        double before = at->cost;
        memcpy(s->z, s->z_try, (size_t)s->map.nz * sizeof *s->z);
        TG_TRY(linearise(s, at));
        stop = judge(s, at, before);
        if (!tell(s, at, ++iteration) && stop == TG_STOP_COUNT)
            stop = TG_STOP_ASKED;
    }
    result->stop = stop;
    result->iterations = iteration;
    return TG_OK;
}

tg_status tg_least_squares_run(tg_least_squares *s, double *x, tg_optimum *result, tg_error *error)
{
    if (s == NULL || x == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "s and x must not be NULL");
    search at = {.damping = s->def.damping};
    tg_optimum found = {.stop = TG_STOP_COUNT};
    s->ran = false;
    TG_TRY(tg_map_start(&s->map, x, s->z, error));
    memcpy(s->z_start, s->z, (size_t)s->map.nz * sizeof *s->z);
    tg_status status = linearise(s, &at);
    if (status != TG_OK || !isfinite(at.cost))
        return tg_fail(error, status != TG_OK ? status : TG_ERR_NUMERIC,
                       "the residuals cannot be computed at the start");
    found.first_cost = at.cost;
    status = iterate(s, &at, &found);
    if (status != TG_OK)
        return tg_fail(error, status, "the residuals cannot be computed at a point that was better: %s",
                       tg_status_string(status));
    found.cost = at.cost;
    found.slope = at.slope;
    found.evaluations = at.evaluations;
    memcpy(x, s->x, (size_t)s->def.unknowns.n * sizeof *x);
    s->ran = true;
    if (result != NULL)
        *result = found;
    return TG_OK;
}

/* ---- information ---- */

/* S_z is G' S_x G with G = dx/dz, square over the unknowns that are not tied: S_x = G^-T S_z G^-1, by blocks of 1 and
 * 10. */
static bool to_x(const tg_least_squares *s, const double *Sz, double *out)
{
    const tg_map *map = &s->map;
    int n = s->def.shared;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            bool plain = map->kind[i] != TG_TRANSFORM_INERTIA && map->kind[j] != TG_TRANSFORM_INERTIA;
            bool free = map->x_of[map->z_of[i]] == i && map->x_of[map->z_of[j]] == j;
            if (free && !plain)
                return false;
            out[i * n + j] = free ? Sz[map->z_of[i] * s->zshared + map->z_of[j]] / (map->slope[i] * map->slope[j]) : 0;
        }
    return true;
}

tg_status tg_least_squares_information(const tg_least_squares *s, double *information, tg_error *error)
{
    if (s == NULL || information == NULL || !s->ran)
        return tg_fail(error, s == NULL || information == NULL ? TG_ERR_ARGUMENT : TG_ERR_STALE,
                       "information is that of a run which has ended well");
    /* a step without damping leaves the Schur complement behind; nothing is held for it */
    tg_arrow a = s->arrow;
    memset(a.held, 0, (size_t)a.total * sizeof *a.held);
    tg_arrow_schur(&a);
    if (!to_x(s, a.schur, information))
        return tg_fail(error, TG_ERR_UNSUPPORTED, "information about the ten numbers of a body");
    return TG_OK;
}
