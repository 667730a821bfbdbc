/* Transforms, ties, bounds and priors of unknowns. */
#include "control/unknowns.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/inertia.h"

/* ---- what is refused ---- */

static tg_transform kind_of(const tg_unknowns *u, int i)
{
    return u->transform != NULL ? u->transform[i] : TG_TRANSFORM_NONE;
}

static double bound_of(const double *bounds, int i, double none)
{
    return bounds != NULL ? bounds[i] : none;
}

static int leader_of(const tg_unknowns *u, int i)
{
    return u->tie != NULL && u->tie[i] >= 0 ? u->tie[i] : i;
}

static tg_status check_body(const tg_unknowns *u, int first, tg_error *error)
{
    if (first + TG_INERTIA_SIZE > u->n)
        return tg_fail(error, TG_ERR_ARGUMENT, "x[%d]: the ten numbers of a body need %d unknowns, there are %d", first,
                       first + TG_INERTIA_SIZE, u->n);
    for (int i = first; i < first + TG_INERTIA_SIZE; i++)
        if (leader_of(u, i) != i || bound_of(u->lower, i, -INFINITY) != -INFINITY ||
            bound_of(u->upper, i, INFINITY) != INFINITY)
            return tg_fail(error, TG_ERR_UNSUPPORTED, "x[%d]: the ten numbers of a body take no bounds and no ties", i);
    return TG_OK;
}

static tg_status check_one(const tg_unknowns *u, int i, tg_error *error)
{
    double low = bound_of(u->lower, i, -INFINITY), high = bound_of(u->upper, i, INFINITY);
    int leader = leader_of(u, i);
    if (!(low <= high))
        return tg_fail(error, TG_ERR_VALUE, "x[%d]: the lower bound %g is above the upper bound %g", i, low, high);
    if (kind_of(u, i) == TG_TRANSFORM_LOG && !(high > 0))
        return tg_fail(error, TG_ERR_VALUE, "x[%d]: the upper bound %g of a logarithm must be positive", i, high);
    if (u->spread != NULL && !(u->spread[i] > 0))
        return tg_fail(error, TG_ERR_VALUE, "spread[%d] = %g must be positive", i, u->spread[i]);
    if (u->spread != NULL && isfinite(u->spread[i]) && (u->prior == NULL || !isfinite(u->prior[i])))
        return tg_fail(error, TG_ERR_VALUE, "prior[%d] must be finite", i);
    if (u->factor != NULL && leader != i && !(isfinite(u->factor[i]) && u->factor[i] != 0))
        return tg_fail(error, TG_ERR_VALUE, "factor[%d] = %g must be finite and not 0", i, u->factor[i]);
    if (leader >= u->n || leader_of(u, leader) != leader)
        return tg_fail(error, TG_ERR_ARGUMENT, "tie[%d] = %d is not an unknown of its own", i, leader);
    return TG_OK;
}

tg_status tg_unknowns_check(const tg_unknowns *u, tg_error *error)
{
    if (u->n < 1)
        return tg_fail(error, TG_ERR_ARGUMENT, "n = %d unknowns; must be at least 1", u->n);
    for (int i = 0; i < u->n; i++)
    {
        if ((unsigned)kind_of(u, i) >= TG_TRANSFORM_COUNT)
            return tg_fail(error, TG_ERR_ARGUMENT, "transform[%d] = %d is unknown", i, (int)kind_of(u, i));
        TG_TRY(check_one(u, i, error));
        if (kind_of(u, i) == TG_TRANSFORM_INERTIA)
        {
            TG_TRY(check_body(u, i, error));
            i += TG_INERTIA_SIZE - 1;
        }
    }
    for (int i = 0; u->tie != NULL && i < u->n; i++)
        for (int k = 0; k < TG_INERTIA_SIZE && leader_of(u, i) != i && leader_of(u, i) - k >= 0; k++)
            if (kind_of(u, leader_of(u, i) - k) == TG_TRANSFORM_INERTIA)
                return tg_fail(error, TG_ERR_UNSUPPORTED, "tie[%d] = %d: the ten numbers of a body take no ties", i,
                               leader_of(u, i));
    return TG_OK;
}

/* ---- the map ---- */

void tg_map_place(tg_map *map, const tg_unknowns *u, tg_arena *arena)
{
    int n = u->n;
    map->of = *u;
    map->z_of = TG_TAKE(arena, int, n, "z_of");
    map->x_of = TG_TAKE(arena, int, n, "x_of");
    map->kind = TG_TAKE(arena, tg_transform, n, "kind");
    map->lower = TG_TAKE(arena, double, n, "lower");
    map->upper = TG_TAKE(arena, double, n, "upper");
    map->slope = TG_TAKE(arena, double, n, "slope");
    bool bodies = false;
    for (int i = 0; i < n; i++)
        bodies = bodies || kind_of(u, i) == TG_TRANSFORM_INERTIA;
    map->body = TG_TAKE(arena, double, bodies ? (size_t)n *TG_INERTIA_SIZE : 1, "body");
    map->body_first = TG_TAKE(arena, int, n, "body_first");
}

static double bound_of_z(tg_transform kind, double bound)
{
    if (kind != TG_TRANSFORM_LOG)
        return bound;
    return bound > 0 ? log(bound) : -INFINITY;
}

void tg_map_fill(tg_map *map)
{
    const tg_unknowns *u = &map->of;
    int nz = 0, body_end = 0, body_first = 0;
    for (int i = 0; i < u->n; i++)
    {
        tg_transform kind = i < body_end ? TG_TRANSFORM_INERTIA : kind_of(u, i);
        if (i >= body_end && kind == TG_TRANSFORM_INERTIA)
        {
            body_first = nz;
            body_end = i + TG_INERTIA_SIZE;
        }
        map->kind[i] = kind;
        map->body_first[i] = body_first;
        if (leader_of(u, i) != i)
            continue;
        map->lower[nz] = bound_of_z(kind, bound_of(u->lower, i, -INFINITY));
        map->upper[nz] = bound_of_z(kind, bound_of(u->upper, i, INFINITY));
        map->x_of[nz] = i;
        map->z_of[i] = nz++;
    }
    for (int i = 0; i < u->n; i++)
        map->z_of[i] = map->z_of[leader_of(u, i)];
    map->nz = nz;
}

static tg_status check_start(const tg_map *map, const double *x, int i, tg_error *error)
{
    const tg_unknowns *u = &map->of;
    double low = bound_of(u->lower, i, -INFINITY), high = bound_of(u->upper, i, INFINITY);
    if (!isfinite(x[i]))
        return tg_fail(error, TG_ERR_VALUE, "x[%d] = %g must be finite", i, x[i]);
    if (x[i] < low || x[i] > high)
        return tg_fail(error, TG_ERR_VALUE, "x[%d] = %g is outside of its bounds %g to %g", i, x[i], low, high);
    if (map->kind[i] == TG_TRANSFORM_LOG && leader_of(u, i) == i && !(x[i] > 0))
        return tg_fail(error, TG_ERR_VALUE, "x[%d] = %g must be positive: its logarithm is taken", i, x[i]);
    return TG_OK;
}

tg_status tg_map_start(const tg_map *map, const double *x, double *z, tg_error *error)
{
    for (int i = 0; i < map->of.n; i++)
        TG_TRY(check_start(map, x, i, error));
    for (int k = 0; k < map->nz; k++)
    {
        int i = map->x_of[k];
        if (map->kind[i] != TG_TRANSFORM_INERTIA)
            z[k] = map->kind[i] == TG_TRANSFORM_LOG ? log(x[i]) : x[i];
        else if (k == map->body_first[i] && !tg_inertia_to_z(x + i, z + k))
            return tg_fail(error, TG_ERR_VALUE, "x[%d] to x[%d]: no body has this mass and inertia", i,
                           i + TG_INERTIA_SIZE - 1);
    }
    return TG_OK;
}

void tg_map_x(tg_map *map, const double *z, double *x)
{
    for (int k = 0; k < map->nz; k++)
    {
        int i = map->x_of[k];
        if (map->kind[i] == TG_TRANSFORM_INERTIA)
        {
            if (k == map->body_first[i])
                tg_inertia_to_x(z + k, x + i, (double(*)[TG_INERTIA_SIZE])(map->body + (size_t)i * TG_INERTIA_SIZE));
            continue;
        }
        x[i] = map->kind[i] == TG_TRANSFORM_LOG ? exp(z[k]) : z[k];
        map->slope[i] = map->kind[i] == TG_TRANSFORM_LOG ? x[i] : 1;
    }
    for (int i = 0; i < map->of.n; i++)
    {
        int leader = leader_of(&map->of, i);
        double factor = map->of.factor != NULL ? map->of.factor[i] : 1;
        if (leader == i)
            continue;
        x[i] = factor * x[leader];
        map->slope[i] = factor * map->slope[leader];
    }
}

void tg_map_row(const tg_map *map, const double *row, int first, int count, int keep, int skip, double *out)
{
    for (int c = 0; c < count; c++)
    {
        int i = first + c, z = map->kind[i] == TG_TRANSFORM_INERTIA ? map->body_first[i] : map->z_of[i];
        int at = z < keep ? z : z - skip;
        if (map->kind[i] != TG_TRANSFORM_INERTIA)
            out[at] += row[c] * map->slope[i];
        else
            for (int k = 0; k < TG_INERTIA_SIZE; k++)
                out[at + k] += row[c] * map->body[(size_t)i * TG_INERTIA_SIZE + (size_t)k];
    }
}

double tg_map_prior(const tg_map *map, const double *x, double *gradient)
{
    const tg_unknowns *u = &map->of;
    double cost = 0;
    for (int i = 0; u->spread != NULL && i < u->n; i++)
    {
        if (!isfinite(u->spread[i]))
            continue;
        double miss = (x[i] - u->prior[i]) / u->spread[i], slope = miss / u->spread[i];
        cost += 0.5 * miss * miss;
        if (gradient != NULL)
            tg_map_row(map, &slope, i, 1, 0, 0, gradient);
    }
    return cost;
}

bool tg_map_clip(const tg_map *map, double *z)
{
    bool moved = false;
    for (int k = 0; k < map->nz; k++)
    {
        double inside = fmin(fmax(z[k], map->lower[k]), map->upper[k]);
        moved = moved || inside != z[k];
        z[k] = inside;
    }
    return moved;
}

bool tg_map_is_log(const tg_map *map, int k)
{
    int i = map->x_of[k];
    /* of a body: half the logarithm of the mass, and those of three lengths */
    return map->kind[i] == TG_TRANSFORM_LOG || (map->kind[i] == TG_TRANSFORM_INERTIA && k < map->body_first[i] + 4);
}

double tg_map_size(const tg_map *map, const double *z, const double *change)
{
    double largest = 0;
    for (int k = 0; k < map->nz; k++)
        largest = fmax(largest, fabs(change[k]) / (1 + fabs(z[k])));
    return largest;
}

const char *tg_stop_string(tg_stop stop)
{
    static const char *const words[] = {"step below tolerance", "cost cannot fall further", "derivative is zero",
                                        "limit of iterations",  "no step lowers the cost",  "stopped by the callback"};
    _Static_assert(sizeof words / sizeof *words == TG_STOP_COUNT, "a word for each");
    return (unsigned)stop < TG_STOP_COUNT ? words[stop] : "unknown";
}
