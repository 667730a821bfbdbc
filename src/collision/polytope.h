/* Patches between polytopes: boxes, meshes, and the cores of spheres and capsules (a point, a segment).
 *
 * A pair is first reduced to an axis: a direction, how far the shapes are apart along it, and the features that
 * define it (box_axes.c for two boxes, gjk.c otherwise). The axis then gives the patch: points over a face (clip.c)
 * where it is the normal of one, else one point, or two between parallel edges. */
#ifndef TG_COLLISION_POLYTOPE_H
#define TG_COLLISION_POLYTOPE_H

#include "collision/narrow.h"

/* Directions that differ by less (rad) count as parallel: a face that is so close to orthogonal to the axis is the
 * reference of the patch, of the first shape if both have one. The distances of the patch are then wrong by less
 * than the square of it, relatively, and which shape holds the normal does not depend on rounding. */
#define TG_PARALLEL 1e-5

typedef struct tg_axis
{
    v4 normal;         /* world, unit, from shape 0 to 1 */
    double separation; /* of the cores along it: negative where they overlap */
    double margin;     /* m: how much worse the next axis is */
    bool nearest;      /* it is the direction between the nearest points, or of the smallest translation */
    v4 point[2];       /* that hold it: point[1] - point[0] = separation normal */
    int count[2];      /* vertices of the cores that they lie between: 1 or 2; 3: inside a face */
    int vertex[2][3];
} tg_axis;

/* of the extent: axes whose separations differ by less are equal, the first one counts */
#define TG_TIE 1e-10

/* ---- cores ---- */

/* Vertices of a core: polytopes their own, a capsule its two ends, a sphere its centre. */
static inline int tg_core_vertices(const tg_placed *p)
{
    return p->type == TG_GEOM_CAPSULE ? 2 : p->type == TG_GEOM_SPHERE ? 1 : p->polytope->nvertex;
}

/* in its own frame */
static inline v4 tg_core_local(const tg_placed *p, int vertex)
{
    if (p->type == TG_GEOM_CAPSULE)
        return v4_set(0, 0, vertex == 0 ? -p->size[1] : p->size[1], 0);
    if (p->type == TG_GEOM_SPHERE)
        return v4_zero();
    return v4_load(p->polytope->vertex + 4 * vertex) * v4_load(p->size);
}

static inline v4 tg_core_vertex(const tg_placed *p, int vertex)
{
    return p->x + mat3_mul(p->R, tg_core_local(p, vertex));
}

/* a polytope, or the rounding of one: a box, mesh, sphere or capsule */
static inline bool tg_is_polytope(const tg_placed *p)
{
    return p->polytope != NULL || p->type == TG_GEOM_SPHERE || p->type == TG_GEOM_CAPSULE;
}

static inline bool tg_has_polygons(const tg_placed *p)
{
    return p->polytope != NULL && p->polytope->npolygon > 0;
}

/* The polygon at a vertex that looks most along the unit vector `local` (its own frame), -1: there are none. *cosine:
 * of the angle between them; *second: of the next one, -1 if there is none. */
int tg_facing_polygon(const tg_placed *p, int vertex, v4 local, double *cosine, double *second);

/* of both shapes */
static inline double tg_roundings(const tg_query *q)
{
    return tg_rounding(&q->shape[0]) + tg_rounding(&q->shape[1]);
}

/* ---- axes ---- */

/* How the axis between the nearest points of two shapes is found. False where their cores are limit apart, or
 * farther. */
typedef bool tg_axis_function(const tg_placed *a, const tg_placed *b, double limit, tg_hint *hint, tg_axis *axis);

/* by gjk.c; any two cores */
tg_axis_function tg_search_axis;

/* The axis that these features hold; false where they do not, or not by so much that a search would surely find them.
 * Not for curved cores. */
bool tg_features_axis(const tg_placed *a, const tg_placed *b, const tg_features *features, tg_axis *axis);

/* The features of an axis that a search found between cores that are apart, and the axis that they hold; false where
 * there are none of the kind above, which leaves the axis as it is. */
bool tg_find_features(const tg_placed *a, const tg_placed *b, tg_features *features, tg_axis *axis);

/* dt > 0. Of the axis between the nearest points now and that of where the shapes will be: the latter, if they are
 * apart along it now. Only for pairs that would close. True: the axis is held by no face, and its point is in the
 * patch. */
bool tg_choose_axis(const tg_query *q, tg_axis_function *find, tg_axis *axis, tg_patch *patch);

/* The separation of the cores along the unit vector n, and the vertices that hold it. */
double tg_separation_along(const tg_placed *a, const tg_placed *b, v4 n, int vertex[2]);

/* The separation along an axis after dt: a face's normal turns with its shape. */
double tg_separation_after(const tg_query *q, const tg_placed moved[2], const tg_axis *axis);

/* the polygon of shape i that is orthogonal to the axis, or -1 */
int tg_parallel_polygon(const tg_query *q, const tg_axis *axis, int i);

/* the features of the two shapes, whatever the order of their vertices: sums and products of these, mixed by odd
 * numbers; the top bits are those that points over faces do not use. Without a branch. */
static inline uint32_t tg_witness_id(const tg_axis *axis)
{
    uint32_t sum[2] = {0, 0}, product[2] = {1, 1};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++)
        {
            uint32_t vertex = (uint32_t)axis->vertex[i][k] & -(uint32_t)(k < axis->count[i]);
            sum[i] += vertex;
            product[i] *= 2 * vertex + 1;
        }
    uint32_t id = sum[0] * 0x9E3779B1u + product[0] * 0x85EBCA6Bu + sum[1] * 0xC2B2AE35u + product[1] * 0x27D4EB2Fu;
    return 3u << 30 | ((id ^ id >> 15) & 0x3FFFFFFFu);
}

/* ---- two boxes ---- */

enum
{
    TG_BOX_AXES =
        15 /* 0-2: faces of the first, 3-5: of the second, 6 + 3 i + j: edge i of the first x edge j of the second */
};

typedef struct tg_box_axes
{
    double separation[TG_BOX_AXES + 1]; /* along each; -INFINITY for edges that are parallel */
    v4 t[2]; /* from the first centre to the second, in the frame of the first and of the second */
} tg_box_axes;

tg_box_axes tg_box_separations(const tg_placed *a, const tg_placed *b);

/* How far apart two boxes are at least, along the normal of a face of one of them: the one along which they are
 * farthest apart, less what rounding could do. *n: that, unit, from the first to the second. */
double tg_box_gap(const tg_placed *a, const tg_placed *b, v4 *n);

/* How far apart they are along n when each of their points has moved by move + turn x (x - centre). */
double tg_box_gap_after(const tg_placed *a, const tg_placed *b, v4 n, const v4 move[2], const v4 turn[2]);

/* The unit vector along axis k, in either sense. */
v4 tg_box_normal(const tg_placed *a, const tg_placed *b, int k);

/* Axis k with the points that hold it. */
tg_axis tg_box_axis(const tg_placed *a, const tg_placed *b, const tg_box_axes *s, int k);

/* The points of axis k >= 6, of which the normal is known: where the lines along the two edges cross, seen along the
 * normal, but not farther from the middle of an edge than `ends` times half its length. */
void tg_box_edges(const tg_placed *a, const tg_placed *b, int k, double ends, tg_axis *axis);

/* The patch of two boxes. */
void tg_box_patch(const tg_query *q, tg_patch *patch);

/* The patch of a sphere and a box. */
void tg_sphere_box(const tg_query *q, tg_patch *patch);

/* ---- patches ---- */

/* The patch of an axis. */
void tg_add_axis(const tg_query *q, const tg_axis *axis, tg_patch *patch);

/* Points over a face, if the axis has one; they hold the axis to `tolerance` of the extent. An axis along which the
 * shapes are not nearest may have nothing over its face yet: then what comes there first. */
bool tg_add_face_points(const tg_query *q, const tg_axis *axis, double tolerance, tg_patch *patch);

/* The one point between the points that hold the axis. */
void tg_add_axis_point(const tg_query *q, const tg_axis *axis, tg_patch *patch);

/* The points that the other shape has over a polygon of shape `reference`, whose normal becomes theirs: corners of
 * the incident face, crossings of its edges with the sides of the polygon, corners of the polygon under it. Of those
 * with distance < reach at most eight (see tg_select). Returns the smallest distance before that selection, INFINITY
 * where nothing lies over the polygon. widen: a side beyond which all of the incident face lies is moved out to it
 * first, so that there is always something. */
double tg_clip(const tg_query *q, const tg_axis *axis, int reference, int polygon, bool widen, tg_patch *patch);

/* The feature id of a vertex over a polygon of shape `reference`. */
uint32_t tg_vertex_feature(int reference, int vertex);

/* Which of `count` points to keep, at (x, y) in a plane with height h: at[i] = x y h 0. All up to eight; of more,
 * those that are extreme along seven directions of the plane, and the lowest, if it is lower than these by more than
 * 1e-7 of their extent. Writes their indices, ascending, and returns how many. */
int tg_select(const v4 *at, int count, int which[TG_PATCH_MAX]);

/* Shape i where its velocity takes it in dt. */
tg_placed tg_advanced(const tg_query *q, int i);

#endif
