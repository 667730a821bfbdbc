/* First-order methods: Adam, AdamW, L-BFGS and gradient descent, in the transformed numbers z, projected onto the
 * bounds. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "control/unknowns.h"
#include "math/dense.h"

static const uint32_t minimiser_cookie = 0x74674d49u;

struct tg_minimiser
{
    tg_allocator memory;
    bool own_memory;
    tg_minimiser_def def;
    tg_map map;
    double *x, *gx;           /* [n] */
    double *z, *g;            /* [nz] and the derivative there */
    double *z_try, *g_try;    /* [nz] */
    double *way;              /* [nz] */
    double *best;             /* [nz] */
    double *first, *second;   /* Adam's moments; memory of L-BFGS: [memory, nz] changes of z and of g */
    double *curvature, *part; /* [memory] */
    int kept, newest;         /* pairs of L-BFGS */
    int evaluations;
};

tg_minimiser_def tg_default_minimiser(void)
{
    return (tg_minimiser_def){.method = TG_METHOD_LBFGS,
                              .iterations = 1000,
                              .rate = 0.01,
                              .beta1 = 0.9,
                              .beta2 = 0.999,
                              .decay = 0.01,
                              .memory = 10,
                              .tolerance = 1e-10,
                              .cookie = minimiser_cookie};
}

/* ---- creation ---- */

static tg_status check_def(const tg_minimiser_def *def, tg_error *error)
{
    if (def == NULL || def->cookie != minimiser_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "def must be made by tg_default_minimiser");
    if (def->cost == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "cost must not be NULL");
    if ((unsigned)def->method >= TG_METHOD_COUNT)
        return tg_fail(error, TG_ERR_ARGUMENT, "method = %d is unknown", (int)def->method);
    if (def->iterations < 0 || !(def->rate > 0) || !(def->tolerance >= 0) || !(def->decay >= 0))
        return tg_fail(error, TG_ERR_VALUE,
                       "iterations = %d, rate = %g, tolerance = %g, decay = %g must not be negative, the rate not 0",
                       def->iterations, def->rate, def->tolerance, def->decay);
    if (!(def->beta1 >= 0 && def->beta1 < 1 && def->beta2 >= 0 && def->beta2 < 1))
        return tg_fail(error, TG_ERR_VALUE, "beta1 = %g, beta2 = %g must be in [0, 1)", def->beta1, def->beta2);
    if (!(def->clip >= 0) || isinf(def->clip))
        return tg_fail(error, TG_ERR_VALUE, "clip = %g must be finite and not negative", def->clip);
    if (def->clip > 0 && def->method == TG_METHOD_LBFGS)
        return tg_fail(error, TG_ERR_UNSUPPORTED,
                       "clip = %g with L-BFGS: differences of shortened derivatives are no curvature", def->clip);
    if (def->memory < 1)
        return tg_fail(error, TG_ERR_VALUE, "memory = %d must be at least 1", def->memory);
    return tg_unknowns_check(&def->unknowns, error);
}

static void place_arrays(tg_minimiser *s, tg_arena *arena)
{
    size_t n = (size_t)s->def.unknowns.n, pairs = s->def.method == TG_METHOD_LBFGS ? (size_t)s->def.memory : 1;
    tg_map_place(&s->map, &s->def.unknowns, arena);
    double **vectors[] = {&s->x, &s->gx, &s->z, &s->g, &s->z_try, &s->g_try, &s->way, &s->best};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(arena, double, n, "vector");
    s->first = TG_TAKE(arena, double, n *pairs, "first");
    s->second = TG_TAKE(arena, double, n *pairs, "second");
    s->curvature = TG_TAKE(arena, double, pairs, "curvature");
    s->part = TG_TAKE(arena, double, pairs, "part");
}

tg_status tg_minimiser_create(const tg_minimiser_def *def, const tg_allocator *allocator, tg_minimiser **out,
                              tg_error *error)
{
    if (out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "s must not be NULL");
    TG_TRY(check_def(def, error));
    tg_minimiser counted = {.def = *def};
    tg_arena counting = {0};
    tg_arena_take(&counting, 1, sizeof counted, "minimiser");
    place_arrays(&counted, &counting);
    void *memory = counting.failed ? NULL : tg_alloc(allocator, counting.used);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "no memory for %zu bytes", counting.used);
    tg_arena arena = {.base = memory, .capacity = counting.used};
    tg_minimiser *s = TG_TAKE(&arena, tg_minimiser, 1, "minimiser");
    *s = (tg_minimiser){.def = *def, .own_memory = allocator != NULL};
    if (allocator != NULL)
        s->memory = *allocator;
    place_arrays(s, &arena);
    tg_map_fill(&s->map);
    *out = s;
    return TG_OK;
}

void tg_minimiser_destroy(tg_minimiser *s)
{
    if (s == NULL)
        return;
    tg_allocator memory = s->memory;
    tg_free(s->own_memory ? &memory : NULL, s);
}

/* ---- the cost ---- */

/* Cost, and unless g is NULL its derivative by z; infinite where the function cannot be computed. Only TG_ERR_CANCELLED
 * is returned. */
static tg_status evaluate(tg_minimiser *s, const double *z, double *f, double *g)
{
    s->evaluations++;
    tg_map_x(&s->map, z, s->x);
    tg_status status = s->def.cost(s->def.user, s->x, f, g != NULL ? s->gx : NULL);
    if (status == TG_ERR_CANCELLED)
        return status;
    if (status != TG_OK || !isfinite(*f))
    {
        *f = INFINITY;
        return TG_OK;
    }
    if (g != NULL)
    {
        memset(g, 0, (size_t)s->map.nz * sizeof *g);
        tg_map_row(&s->map, s->gx, 0, s->def.unknowns.n, 0, 0, g);
    }
    *f += tg_map_prior(&s->map, s->x, g);
    for (int k = 0; g != NULL && k < s->map.nz; k++)
        if (!isfinite(g[k]))
            *f = INFINITY;
    return TG_OK;
}

static double slope_of(const tg_minimiser *s)
{
    double slope = 0;
    for (int k = 0; k < s->map.nz; k++)
        if (!tg_map_held(&s->map, s->z, s->g[k], k))
            slope = fmax(slope, fabs(s->g[k]));
    return slope;
}

typedef struct run
{
    double cost, size, length;
    int iteration;
} run;

static bool tell(tg_minimiser *s, const run *at)
{
    tg_map_x(&s->map, s->z, s->x);
    tg_iteration now = {.iteration = at->iteration,
                        .evaluations = s->evaluations,
                        .cost = at->cost,
                        .step = at->size,
                        .slope = slope_of(s),
                        .damping = at->length,
                        .x = s->x};
    return s->def.progress == NULL || s->def.progress(s->def.user, &now);
}

/* By which the derivative is shortened: min(1, clip / |g|). |g| is found relative to the largest entry, since the
 * derivatives that need clipping may be too large for their squares. */
static double share_of(const tg_minimiser *s)
{
    double largest = 0, squares = 0;
    for (int k = 0; k < s->map.nz; k++)
        largest = fmax(largest, fabs(s->g[k]));
    if (s->def.clip == 0 || largest == 0)
        return 1;
    for (int k = 0; k < s->map.nz; k++)
        squares += (s->g[k] / largest) * (s->g[k] / largest);
    double length = largest * sqrt(squares);
    return length > s->def.clip ? s->def.clip / length : 1;
}

/* ---- Adam ---- */

/* m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2; z -= rate m^ / (sqrt(v^) + eps), ^: divided by 1 - b^t. */
static void adam_step(tg_minimiser *s, int t)
{
    const tg_minimiser_def *def = &s->def;
    const double eps = 1e-8; /* the paper's */
    double decay = def->method == TG_METHOD_ADAMW ? def->rate * def->decay : 0;
    double grown1 = 1 - pow(def->beta1, t), grown2 = 1 - pow(def->beta2, t), share = share_of(s);
    for (int k = 0; k < s->map.nz; k++)
    {
        double g = share * s->g[k];
        s->first[k] = def->beta1 * s->first[k] + (1 - def->beta1) * g;
        s->second[k] = def->beta2 * s->second[k] + (1 - def->beta2) * g * g;
        double move = def->rate * (s->first[k] / grown1) / (sqrt(s->second[k] / grown2) + eps);
        s->z_try[k] = s->z[k] - move - decay * s->z[k];
    }
    tg_map_clip(&s->map, s->z_try);
}

static tg_status run_adam(tg_minimiser *s, run *at, tg_stop *stop)
{
    size_t bytes = (size_t)s->map.nz * sizeof *s->z;
    double best = at->cost;
    memset(s->first, 0, bytes);
    memset(s->second, 0, bytes);
    memcpy(s->best, s->z, bytes);
    *stop = TG_STOP_ITERATIONS;
    while (at->iteration < s->def.iterations)
    {
        if (slope_of(s) <= s->def.tolerance * fabs(at->cost))
        {
            *stop = TG_STOP_SLOPE;
            break;
        }
        adam_step(s, at->iteration + 1);
        for (int k = 0; k < s->map.nz; k++)
            s->way[k] = s->z_try[k] - s->z[k];
        at->size = tg_map_size(&s->map, s->z, s->way);
        at->length = s->def.rate;
        TG_TRY(evaluate(s, s->z_try, &at->cost, s->g));
        if (!isfinite(at->cost))
        {
            *stop = TG_STOP_STUCK;
            break;
        }
        memcpy(s->z, s->z_try, bytes);
        if (at->cost < best)
        {
            best = at->cost;
            memcpy(s->best, s->z, bytes);
        }
        at->iteration++;
        if (!tell(s, at))
        {
            *stop = TG_STOP_ASKED;
            break;
        }
    }
    memcpy(s->z, s->best, bytes);
    return evaluate(s, s->z, &at->cost, s->g);
}

/* ---- L-BFGS and descent ---- */

/* way = -H g by the two loops over the kept pairs; components that bounds hold do not move. */
static void choose_way(tg_minimiser *s)
{
    int n = s->map.nz, memory = s->def.memory;
    double share = share_of(s);
    for (int k = 0; k < n; k++)
        s->way[k] = tg_map_held(&s->map, s->z, s->g[k], k) ? 0 : -share * s->g[k];
    if (s->def.method == TG_METHOD_DESCENT || s->kept == 0)
        return;
    for (int i = 0; i < s->kept; i++) /* from the newest to the oldest */
    {
        int at = (s->newest - i + memory) % memory;
        s->part[at] = tg_dot(n, s->first + at * n, s->way) / s->curvature[at];
        for (int k = 0; k < n; k++)
            s->way[k] -= s->part[at] * s->second[at * n + k];
    }
    const double *y = s->second + s->newest * n;
    double scale = s->curvature[s->newest] / tg_dot(n, y, y);
    for (int k = 0; k < n; k++)
        s->way[k] *= scale;
    for (int i = s->kept - 1; i >= 0; i--)
    {
        int at = (s->newest - i + memory) % memory;
        double part = s->part[at] - tg_dot(n, s->second + at * n, s->way) / s->curvature[at];
        for (int k = 0; k < n; k++)
            s->way[k] += part * s->first[at * n + k];
    }
    for (int k = 0; k < n; k++)
        if (tg_map_held(&s->map, s->z, s->g[k], k))
            s->way[k] = 0;
    if (!(tg_dot(n, s->way, s->g) < 0)) /* pairs of another face of the bounds: start again */
    {
        s->kept = 0;
        choose_way(s);
    }
}

/* Keeps a pair where its curvature is positive, to rounding. */
static void keep_pair(tg_minimiser *s)
{
    int n = s->map.nz, at = (s->newest + 1) % s->def.memory;
    double *change = s->first + at * n, *turn = s->second + at * n;
    for (int k = 0; k < n; k++)
    {
        change[k] = s->z_try[k] - s->z[k];
        turn[k] = s->g_try[k] - s->g[k];
    }
    double curvature = tg_dot(n, change, turn);
    if (!(curvature > DBL_EPSILON * sqrt(tg_dot(n, change, change) * tg_dot(n, turn, turn))))
        return;
    s->curvature[at] = curvature;
    s->newest = at;
    s->kept = s->kept < s->def.memory ? s->kept + 1 : s->kept;
}

/* Armijo's rule on the projected path, the length halved until the cost falls by 1e-4 of what the slope promises
 * (Nocedal and Wright, 3.1). */
static tg_status search_line(tg_minimiser *s, run *at, double length, double *cost)
{
    const double least = 1e-4;
    int n = s->map.nz;
    for (; length > DBL_EPSILON * DBL_EPSILON; length /= 2)
    {
        double promise = 0;
        for (int k = 0; k < n; k++)
            s->z_try[k] = s->z[k] + length * s->way[k];
        tg_map_clip(&s->map, s->z_try);
        for (int k = 0; k < n; k++)
            promise += s->g[k] * (s->z_try[k] - s->z[k]);
        TG_TRY(evaluate(s, s->z_try, cost, s->g_try));
        at->length = length;
        if (*cost <= at->cost + least * promise && *cost < at->cost)
            return TG_OK;
    }
    *cost = INFINITY;
    return TG_OK;
}

static tg_status run_line_search(tg_minimiser *s, run *at, tg_stop *stop)
{
    int n = s->map.nz;
    double next = s->def.rate;
    s->kept = 0;
    s->newest = 0;
    for (*stop = TG_STOP_COUNT; *stop == TG_STOP_COUNT;)
    {
        double slope = slope_of(s), cost;
        if (slope <= s->def.tolerance * fabs(at->cost) || slope == 0)
            *stop = TG_STOP_SLOPE;
        else if (at->iteration == s->def.iterations)
            *stop = TG_STOP_ITERATIONS;
        if (*stop != TG_STOP_COUNT)
            break;
        choose_way(s);
        bool quasi = s->def.method == TG_METHOD_LBFGS && s->kept > 0;
        double first = quasi ? 1 : s->def.method == TG_METHOD_DESCENT ? next : fmin(1, 1 / slope);
        TG_TRY(search_line(s, at, first, &cost));
        if (!isfinite(cost) && s->kept > 0) /* once more along the gradient */
        {
            s->kept = 0;
            continue;
        }
        if (!isfinite(cost))
        {
            *stop = TG_STOP_STUCK;
            break;
        }
        next = 2 * at->length;
        if (s->def.method == TG_METHOD_LBFGS)
            keep_pair(s);
        for (int k = 0; k < n; k++)
            s->way[k] = s->z_try[k] - s->z[k];
        at->size = tg_map_size(&s->map, s->z, s->way);
        bool last = at->cost - cost <= s->def.tolerance * fabs(at->cost);
        memcpy(s->z, s->z_try, (size_t)n * sizeof *s->z);
        memcpy(s->g, s->g_try, (size_t)n * sizeof *s->g);
        at->cost = cost;
        at->iteration++;
        if (at->size <= s->def.tolerance)
            *stop = TG_STOP_STEP;
        else if (last)
            *stop = TG_STOP_COST;
        if (!tell(s, at) && *stop == TG_STOP_COUNT)
            *stop = TG_STOP_ASKED;
    }
    return TG_OK;
}

/* ---- */

tg_status tg_minimiser_run(tg_minimiser *s, double *x, tg_optimum *result, tg_error *error)
{
    if (s == NULL || x == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "s and x must not be NULL");
    run at = {0};
    tg_optimum found = {.stop = TG_STOP_ASKED};
    s->evaluations = 0;
    TG_TRY(tg_map_start(&s->map, x, s->z, error));
    tg_status status = evaluate(s, s->z, &at.cost, s->g);
    if (status != TG_OK || !isfinite(at.cost))
        return tg_fail(error, status != TG_OK ? status : TG_ERR_NUMERIC, "the cost cannot be computed at the start");
    found.first_cost = at.cost;
    bool adam = s->def.method == TG_METHOD_ADAM || s->def.method == TG_METHOD_ADAMW;
    if (tell(s, &at))
        status = adam ? run_adam(s, &at, &found.stop) : run_line_search(s, &at, &found.stop);
    if (status != TG_OK)
        return tg_fail(error, status, "the cost function asked to stop");
    found.iterations = at.iteration;
    found.evaluations = s->evaluations;
    found.cost = at.cost;
    found.slope = slope_of(s);
    tg_map_x(&s->map, s->z, x);
    if (result != NULL)
        *result = found;
    return TG_OK;
}
