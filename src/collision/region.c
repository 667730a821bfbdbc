/* Flat regions. The sides of a polygon are planes through its edges along its normal; the side of a disc is its
 * cylinder. */
#include "collision/region.h"

#include <math.h>

#include "collision/curved.h"
#include "collision/surface.h"

static v4 polygon_vertex(const tg_region *r, int i)
{
    const tg_polytope *t = r->placed->polytope;
    int vertex = t->polygon[t->polygon_start[r->polygon] + i];
    return r->placed->x + mat3_mul(r->placed->R, v4_load(t->vertex + 4 * vertex) * v4_load(r->placed->size));
}

static int polygon_count(const tg_region *r)
{
    const tg_polytope *t = r->placed->polytope;
    return t->polygon_start[r->polygon + 1] - t->polygon_start[r->polygon];
}

/* +1, or -1 where the scale mirrors the polytope, so that its polygons run clockwise */
static double orientation(const tg_placed *p)
{
    return p->size[0] * p->size[1] * p->size[2] < 0 ? -1 : 1;
}

/* side i: from its vertex to the next */
static v4 polygon_side(const tg_region *r, int i, v4 *at)
{
    *at = polygon_vertex(r, i);
    v4 next = polygon_vertex(r, i + 1 == polygon_count(r) ? 0 : i + 1);
    return tg_unit(v4_cross(next - *at, r->normal)) * v4_splat(orientation(r->placed));
}

static v4 in_plane(const tg_region *r, v4 x)
{
    return x - r->normal * v4_splat(v4_dot(x, r->normal));
}

static tg_region cap(const tg_placed *p, double sign)
{
    v4 normal = p->R.c[2] * v4_splat(sign);
    return (tg_region){.placed = p,
                       .normal = normal,
                       .centre = p->x + normal * v4_splat(p->size[1]),
                       .radius = p->size[0],
                       .polygon = -1,
                       .feature = sign > 0};
}

bool tg_region_towards(const tg_placed *p, v4 d, tg_region *region)
{
    if (p->type == TG_GEOM_CYLINDER)
    {
        *region = cap(p, v4_dot(p->R.c[2], d) < 0 ? -1 : 1);
        return true;
    }
    const tg_polytope *t = p->polytope;
    if (t == NULL || t->npolygon == 0)
        return false;
    int vertex = -1, best = -1;
    v4 at = tg_support(p, d, &vertex), local = mat3_mul_t(p->R, d), normal = v4_zero();
    double most = -INFINITY;
    for (int i = t->around_start[vertex]; i < t->around_start[vertex + 1]; i++)
    {
        v4 n = tg_scaled_normal(p, t->around[i]);
        if (v4_dot(n, local) > most)
        {
            most = v4_dot(n, local);
            best = t->around[i];
            normal = n;
        }
    }
    *region = (tg_region){
        .placed = p, .normal = mat3_mul(p->R, normal), .centre = at, .polygon = best, .feature = (uint32_t)best};
    return true;
}

double tg_region_depth(const tg_region *r, v4 x)
{
    if (r->polygon < 0)
    {
        v4 arm = in_plane(r, x - r->centre);
        return r->radius - sqrt(v4_dot(arm, arm));
    }
    double least = INFINITY;
    for (int i = 0; i < polygon_count(r); i++)
    {
        v4 at, m = polygon_side(r, i, &at);
        least = tg_least(least, v4_dot(m, at - x));
    }
    return least;
}

int tg_region_corners(const tg_region *r)
{
    return r->polygon < 0 ? 4 : polygon_count(r);
}

v4 tg_region_corner(const tg_region *r, int i)
{
    if (r->polygon >= 0)
        return polygon_vertex(r, i);
    return r->centre + r->placed->R.c[i / 2] * v4_splat(i % 2 == 0 ? r->radius : -r->radius);
}

static bool cut_by_disc(const tg_region *r, v4 x, v4 e, double *low, double *high, v4 side[2])
{
    v4 arm = in_plane(r, x - r->centre), along = in_plane(r, e);
    double a = v4_dot(along, along), b = v4_dot(along, arm), c = v4_dot(arm, arm) - r->radius * r->radius;
    double disc = b * b - a * c;
    if (a < 1e-24)
        return c <= 0;
    if (disc <= 0)
        return false;
    double root = sqrt(disc), t[2] = {(-b - root) / a, (-b + root) / a};
    for (int i = 0; i < 2; i++)
    {
        v4 radial = (arm + along * v4_splat(t[i])) * v4_splat(1 / r->radius);
        if (i == 0 && t[0] > *low)
        {
            *low = t[0];
            side[0] = radial;
        }
        if (i == 1 && t[1] < *high)
        {
            *high = t[1];
            side[1] = radial;
        }
    }
    return *low < *high;
}

bool tg_region_cut(const tg_region *r, v4 x, v4 e, double *low, double *high, v4 side[2])
{
    side[0] = side[1] = v4_zero();
    if (r->polygon < 0)
        return cut_by_disc(r, x, e, low, high, side);
    for (int i = 0; i < polygon_count(r); i++)
    {
        v4 at, m = polygon_side(r, i, &at);
        double inside = v4_dot(m, at - x), rate = v4_dot(m, e); /* outside where rate t > inside */
        if (fabs(rate) < 1e-12)
        {
            if (inside < 0)
                return false;
            continue;
        }
        double t = inside / rate;
        if (rate > 0 && t < *high)
        {
            *high = t;
            side[1] = m;
        }
        if (rate < 0 && t > *low)
        {
            *low = t;
            side[0] = m;
        }
    }
    return *low < *high;
}

/* c + R (u cos a + v sin a) on the plane m.(x - at) = 0, u the direction in which the circle rises fastest towards m */
static int cross_plane(v4 c, v4 axis, double R, v4 m, v4 at, v4 x[2])
{
    v4 u = m - axis * v4_splat(v4_dot(m, axis));
    double slope = sqrt(v4_dot(u, u));
    double cosine = v4_dot(m, at - c) / (R * slope);
    if (!(fabs(cosine) < 1))
        return 0;
    u = u * v4_splat(1 / slope);
    v4 v = v4_cross(axis, u);
    double sine = sqrt(1 - cosine * cosine);
    x[0] = c + (u * v4_splat(cosine) - v * v4_splat(sine)) * v4_splat(R);
    x[1] = c + (u * v4_splat(cosine) + v * v4_splat(sine)) * v4_splat(R);
    return 2;
}

/* One crossing of a tilted circle with the disc's side, from where it would be without the tilt. False where the two
 * are nearly tangent. */
static bool settle_crossing(const tg_region *r, v4 c, v4 axis, double R, v4 *x)
{
    double over = INFINITY;
    for (int step = 0; step < 8; step++)
    {
        v4 arm = *x - c, radial = tg_unit(arm - axis * v4_splat(v4_dot(arm, axis))), t = v4_cross(axis, radial);
        *x = c + radial * v4_splat(R);
        v4 out = in_plane(r, *x - r->centre);
        double rate = 2 * v4_dot(out, t);
        over = v4_dot(out, out) - r->radius * r->radius;
        if (fabs(rate) < 1e-3 * r->radius)
            return false;
        if (fabs(over) < 1e-15 * r->radius * r->radius)
            break;
        *x -= t * v4_splat(over / rate);
    }
    return fabs(over) < 1e-12 * r->radius * r->radius;
}

/* Two parallel circles cross on either side of the line between their centres. */
static int cross_disc(const tg_region *r, v4 c, v4 axis, double R, tg_crossing crossing[2])
{
    v4 D = in_plane(r, c - r->centre);
    double d = sqrt(v4_dot(D, D));
    if (!(d > fabs(r->radius - R) && d < r->radius + R))
        return 0;
    v4 u = D * v4_splat(1 / d), v = v4_cross(r->normal, u);
    double along = (d * d + r->radius * r->radius - R * R) / (2 * d);
    double up = sqrt(tg_most(0, r->radius * r->radius - along * along));
    int count = 0;
    for (int i = 0; i < 2; i++)
    {
        v4 x = r->centre + u * v4_splat(along) + v * v4_splat(i == 0 ? -up : up);
        if (!settle_crossing(r, c, axis, R, &x))
            continue;
        crossing[count++] = (tg_crossing){x, tg_unit(in_plane(r, x - r->centre)), (uint32_t)i};
    }
    return count;
}

static int cross_side(const tg_region *r, int i, v4 c, v4 axis, double R, tg_crossing *crossing, int room)
{
    v4 at, m = polygon_side(r, i, &at), e = polygon_vertex(r, i + 1 == polygon_count(r) ? 0 : i + 1) - at, x[2];
    double length2 = v4_dot(e, e);
    int found = cross_plane(c, axis, R, m, at, x), count = 0;
    for (int k = 0; k < found && count < room; k++)
    {
        double along = v4_dot(x[k] - at, e); /* between the two ends of the side */
        if (along >= 0 && along <= length2)
            crossing[count++] = (tg_crossing){x[k], m, 2 * (uint32_t)i + (uint32_t)k};
    }
    return count;
}

int tg_region_cross(const tg_region *r, v4 c, v4 axis, double R, tg_crossing *crossing, int room)
{
    if (r->polygon < 0)
        return room >= 2 ? cross_disc(r, c, axis, R, crossing) : 0;
    int count = 0;
    for (int i = 0; i < polygon_count(r); i++)
        count += cross_side(r, i, c, axis, R, crossing + count, room - count);
    return count;
}
