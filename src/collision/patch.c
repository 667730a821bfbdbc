/* Points over a flat region. The reference region's normal is the normal of all of them:
 *   - points of the incident shape that lie over the region: ends of its line, vertices of its face, the deepest
 *     point and four fixed points of its rim;
 *   - points where its line, edges or rim cross the region's sides (clipped);
 *   - corners of the region that lie under the incident face. */
#include "collision/patch.h"

#include <math.h>

#include "collision/curved.h"
#include "collision/surface.h"

/* A cap that looks less than this along the region's normal (cosine) is not a face of the patch. */
#define FACING 0.5
/* A cylinder that stands straighter than this (sine) has no deepest point. */
#define STANDING 1e-5
#define ALIGNED 2e-5

typedef struct over
{
    const tg_query *q;
    const tg_region *region;
    int incident;
    double near; /* m: points closer than this are one */
    tg_gather *gather;
} over;

static bool known(const over *o, v4 point)
{
    for (int i = 0; i < o->gather->count; i++)
    {
        v4 d = o->gather->point[i].point - point;
        if (v4_dot(d, d) < o->near * o->near)
            return true;
    }
    return false;
}

/* x: on the incident surface */
static tg_contact_point *add(const over *o, v4 x, double distance, uint32_t feature)
{
    const tg_region *r = o->region;
    v4 point = x - r->normal * v4_splat(0.5 * distance);
    if (!(distance < o->q->reach) || o->gather->count == TG_GATHER_MAX || known(o, point))
        return NULL;
    tg_contact_point *c = &o->gather->point[o->gather->count++];
    tg_init_point(c, point, o->incident == 1 ? r->normal : -r->normal, distance, INFINITY,
                  0x20000000u + (2 * r->feature + (uint32_t)o->incident) * 0x10000u + feature);
    c->reference = 1 - o->incident;
    return c;
}

static double height(const over *o, v4 x)
{
    return v4_dot(o->region->normal, x - o->region->centre);
}

static void add_witness(const over *o, v4 x, tg_surface surface, double inside, uint32_t feature)
{
    tg_contact_point *c = add(o, x, height(o, x), feature);
    if (c == NULL)
        return;
    c->kind = TG_POINT_WITNESS;
    c->surface[1 - o->incident] = tg_surface_face();
    c->surface[o->incident] = surface;
    c->margin = fabs(inside);
}

static void add_inside(const over *o, v4 x, tg_surface surface, uint32_t feature)
{
    double inside = tg_region_depth(o->region, x);
    if (inside >= -o->near)
        add_witness(o, x, surface, inside, feature);
}

static void add_clipped(const over *o, v4 x, v4 edge, v4 side, tg_surface surface, double margin, uint32_t feature)
{
    tg_contact_point *c = add(o, x, height(o, x), feature);
    if (c == NULL)
        return;
    c->kind = TG_POINT_CLIPPED;
    c->surface[o->incident] = surface;
    c->incident_edge = edge;
    c->side_normal = side;
    c->margin = margin;
}

/* ---- a line: the side of a capsule or a cylinder ---- */

static void line_over(const over *o, v4 middle, v4 e, double half, tg_surface surface, uint32_t feature)
{
    double t[2] = {-half, half};
    v4 side[2];
    if (!tg_region_cut(o->region, middle, e, &t[0], &t[1], side))
        return;
    for (int i = 0; i < 2; i++)
    {
        v4 x = middle + e * v4_splat(t[i]);
        if (v4_dot(side[i], side[i]) > 0)
            add_clipped(o, x, e, side[i], surface, t[1] - t[0], feature + 2 + (uint32_t)i);
        else
            add_witness(o, x, surface, tg_least(t[1] - t[0], fabs(tg_region_depth(o->region, x))),
                        feature + (uint32_t)i);
    }
}

static void capsule_over(const over *o)
{
    const tg_placed *p = &o->q->shape[o->incident];
    v4 down = -o->region->normal;
    tg_surface round = tg_surface_round(p->size[0]);
    line_over(o, p->x + down * v4_splat(p->size[0]), p->R.c[2], p->size[1], round, 0);
}

/* The side's lowest line, from rim to rim. Its points follow the rims when the cylinder turns. */
static void cylinder_line_over(const over *o, v4 radial)
{
    const tg_placed *p = &o->q->shape[o->incident];
    tg_surface rim = tg_surface_rim(p->R.c[2], radial, -o->region->normal, p->size[0]);
    line_over(o, p->x + radial * v4_splat(p->size[0]), p->R.c[2], p->size[1], rim, 4);
}

/* ---- a face against the region ---- */

/* Corners of the region under the incident face. */
static void corners_under(const over *o, const tg_region *face)
{
    double facing = v4_dot(face->normal, o->region->normal);
    for (int i = 0; i < tg_region_corners(o->region); i++)
    {
        v4 w = tg_region_corner(o->region, i);
        double up = v4_dot(face->normal, face->centre - w) / facing;
        v4 x = w + o->region->normal * v4_splat(up);
        double inside = tg_region_depth(face, x);
        if (inside < -o->near)
            continue;
        tg_contact_point *c = add(o, x, up, 0x2000 + (uint32_t)i);
        if (c == NULL)
            continue;
        c->kind = TG_POINT_CORNER;
        c->side_normal = face->normal;
        c->margin = fabs(inside);
    }
}

/* A point at an angle phi from the deepest one of a rim of radius r, tilted by a, is r sin a (1 - cos phi) above that.
 * Spin about the axis takes it down by at most dt spin r sin a sin phi within a step, but another point of the rim
 * comes in its place: the rim is where it was. Where that would be below the deepest point, tan(phi / 2) < dt |spin|, a
 * wheel or a coin that rolls would hop whenever one of the points comes by. */
bool tg_rim_point_counts(const tg_query *q, int which, v4 n, v4 arm, v4 down)
{
    v4 axis = q->shape[which].R.c[2];
    double turn = q->dt * v4_dot(axis, q->spin[which] - q->spin[1 - which]);
    double cosine = v4_dot(arm, down) / sqrt(v4_dot(arm, arm) * v4_dot(down, down));
    return fabs(v4_dot(axis, n)) >= FACING && !(1 - cosine < turn * turn * (1 + cosine));
}

/* a circle crosses a convex polygon at most twice a side; more than eight sides crossed are more than a patch holds */
enum
{
    CROSSINGS = 16
};

/* radial: towards the deepest point of the rim, if it is tilted */
static void cap_over(const over *o, const tg_region *face, bool tilted, v4 radial)
{
    v4 axis = face->placed->R.c[2];
    tg_crossing crossing[CROSSINGS];
    for (int i = 0; i < 4; i++)
    {
        v4 at = tg_region_corner(face, i);
        if (!tilted || tg_rim_point_counts(o->q, o->incident, o->region->normal, at - face->centre, radial))
            add_inside(o, at, tg_surface_vertex(), 16 + 4 * face->feature + (uint32_t)i);
    }
    int count = tg_region_cross(o->region, face->centre, axis, face->radius, crossing, CROSSINGS);
    for (int i = 0; i < count; i++)
    {
        const tg_crossing *c = &crossing[i];
        v4 tangent = tg_unit(v4_cross(axis, c->x - face->centre));
        double margin = face->radius * fabs(v4_dot(tangent, c->side));
        add_clipped(o, c->x, tangent, c->side, tg_surface_vertex(), margin, 0x4000 + c->feature);
    }
}

static void polygon_over(const over *o, const tg_region *face)
{
    int count = tg_region_corners(face);
    for (int i = 0; i < count; i++)
    {
        v4 from = tg_region_corner(face, i), to = tg_region_corner(face, i + 1 == count ? 0 : i + 1), e = to - from;
        double length = sqrt(v4_dot(e, e)), t[2] = {0, length};
        e = e * v4_splat(1 / length);
        v4 side[2];
        uint32_t feature = 0x8000 + 4 * (uint32_t)i;
        add_inside(o, from, tg_surface_vertex(), feature);
        if (!tg_region_cut(o->region, from, e, &t[0], &t[1], side))
            continue;
        for (int k = 0; k < 2; k++)
            if (v4_dot(side[k], side[k]) > 0)
                add_clipped(o, from + e * v4_splat(t[k]), e, side[k], tg_surface_vertex(), t[1] - t[0],
                            feature + 1 + (uint32_t)k);
    }
}

/* ---- by shape ---- */

static void cylinder_over(const over *o)
{
    const tg_placed *p = &o->q->shape[o->incident];
    v4 n = o->region->normal, axis = p->R.c[2];
    double along = v4_dot(n, axis);
    v4 radial = axis * v4_splat(along) - n; /* downhill, in the plane of the rims */
    double tilt = sqrt(v4_dot(radial, radial));
    bool tilted = tilt >= STANDING;
    if (tilted)
        cylinder_line_over(o, tg_unit_across(radial, axis, tilt));
    tg_region face;
    if (fabs(along) < FACING || !tg_region_towards(p, -n, &face))
        return;
    cap_over(o, &face, tilted, radial);
    corners_under(o, &face);
}

static void polytope_over(const over *o)
{
    tg_region face;
    if (!tg_region_towards(&o->q->shape[o->incident], -o->region->normal, &face))
        return;
    polygon_over(o, &face);
    if (-v4_dot(face.normal, o->region->normal) >= FACING)
        corners_under(o, &face);
}

void tg_points_over(const tg_query *q, const tg_region *region, int incident, tg_gather *gather)
{
    const tg_placed *p = &q->shape[incident];
    over o = {q, region, incident, 1e-9 * (fabs(p->size[0]) + fabs(p->size[1])), gather};
    switch (p->type)
    {
    case TG_GEOM_CAPSULE:
        capsule_over(&o);
        break;
    case TG_GEOM_CYLINDER:
        cylinder_over(&o);
        break;
    default:
        polytope_over(&o);
        break;
    }
}

static bool parallel_edge(const tg_placed *p, v4 n)
{
    const tg_polytope *t = p->polytope;
    int vertex = -1;
    v4 at = tg_support(p, -n, &vertex);
    for (int i = t->neighbour_start[vertex]; i < t->neighbour_start[vertex + 1]; i++)
    {
        v4 other = v4_load(t->vertex + 4 * t->neighbour[i]) * v4_load(p->size);
        v4 e = p->x + mat3_mul(p->R, other) - at;
        double along = v4_dot(e, n);
        if (along * along < ALIGNED * ALIGNED * v4_dot(e, e))
            return true;
    }
    return false;
}

bool tg_parallel_over(const tg_query *q, const tg_region *region, int incident)
{
    const tg_placed *p = &q->shape[incident];
    v4 n = region->normal;
    if (p->polytope != NULL)
        return parallel_edge(p, n);
    double along = v4_dot(p->R.c[2], n);
    if (fabs(along) < ALIGNED)
        return true;
    return p->type == TG_GEOM_CYLINDER && 1 - along * along < ALIGNED * ALIGNED;
}

/* ---- the choice ---- */

static double squared(v4 d)
{
    return v4_dot(d, d);
}

static void move_to(tg_contact_point *point, int from, int to)
{
    tg_contact_point c = point[from];
    point[from] = point[to];
    point[to] = c;
}

/* A score is a length (m). */
typedef double score_function(const tg_contact_point *point, int kept, int i);

/* The index in [kept, count) that scores most, less slope times its gap; ties to the lower feature id, which does
 * not depend on the order of the points. *lead: by how much. */
static int best_of(const tg_contact_point *point, int kept, int count, score_function *score, double slope,
                   double *lead)
{
    int best = kept;
    double most = score(point, kept, kept) - slope * tg_most(0, point[kept].distance), second = -INFINITY;
    for (int i = kept + 1; i < count; i++)
    {
        double s = score(point, kept, i) - slope * tg_most(0, point[i].distance);
        if (s > most || (s == most && point[i].feature < point[best].feature))
        {
            second = most;
            most = s;
            best = i;
        }
        else
            second = tg_most(second, s);
    }
    *lead = most - second;
    return best;
}

static double score_depth(const tg_contact_point *point, int kept, int i)
{
    (void)kept;
    return -point[i].distance;
}

/* distance from the nearest point that is kept */
static double score_far(const tg_contact_point *point, int kept, int i)
{
    double least = INFINITY;
    for (int k = 0; k < kept; k++)
        least = tg_least(least, squared(point[i].point - point[k].point));
    return sqrt(least);
}

/* distance from the line through the first two, positive to its left */
static double aside(const tg_contact_point *point, int i)
{
    v4 base = point[1].point - point[0].point;
    double length = sqrt(squared(base));
    return length > 0 ? v4_dot(v4_cross(base, point[i].point - point[0].point), point[0].normal) / length : 0;
}

static double score_area(const tg_contact_point *point, int kept, int i)
{
    (void)kept;
    return fabs(aside(point, i));
}

/* on the other side of the line from the third */
static double score_opposite(const tg_contact_point *point, int kept, int i)
{
    (void)kept;
    return aside(point, 2) > 0 ? -aside(point, i) : aside(point, i);
}

int tg_choose_points(tg_contact_point *point, int count, int keep, double slope)
{
    score_function *const first[4] = {score_depth, score_far, score_area, score_opposite};
    if (count <= keep)
        return count;
    double margin = INFINITY;
    for (int k = 0; k < keep; k++)
    {
        double lead;
        move_to(point, best_of(point, k, count, k < 4 ? first[k] : score_far, slope, &lead), k);
        margin = tg_least(margin, lead / (1 + slope));
    }
    for (int k = 0; k < keep; k++)
        point[k].margin = tg_least(point[k].margin, margin);
    return keep;
}

void tg_take_points(tg_gather *gather, tg_patch *patch)
{
    int count = tg_choose_points(gather->point, gather->count, TG_PATCH_MAX - patch->count, 0);
    for (int i = 0; i < count; i++)
        patch->point[patch->count++] = gather->point[i];
}
