/* The narrow phase: one function a pair of shape types, in one table. */
#ifndef TG_COLLISION_NARROW_H
#define TG_COLLISION_NARROW_H

#include <stdbool.h>

#include "collision/contact_point.h"

/* Features of two cores: a vertex, the two ends of an edge, ascending, or a polygon. */
typedef struct tg_features
{
    int count[2];     /* 1: vertex, 2: edge, 3: polygon; zero: none */
    int vertex[2][3]; /* of a polygon its number, in the first place */
} tg_features;

enum
{
    TG_TRAIL = 48
};

/* The vertices that a search met, in order: the next one mostly meets the same. */
typedef struct tg_trail
{
    int count, at;
    uint16_t vertex[TG_TRAIL][2];
} tg_trail;

/* What a search remembers for the next time the same pair is looked at: a direction along which the two were out of
 * reach of each other, or the features that held the axis between them. Where they still are (tg_sure_distance), or
 * still do (tg_features_axis), nothing has to be searched. Changes how fast an answer comes, not one bit of it. */
typedef struct tg_hint
{
    float direction[3]; /* frame of the shape whose type comes first, from that one to the other; zero: none */
    uint16_t vertex[2]; /* that were farthest along it when it was last used, of the shapes in that order */
    tg_features features;
    tg_trail trail;
} tg_hint;

/* m: the default of tg_query.slack, a tenth of the reach of a step's contacts */
#define TG_SLACK 1e-4

typedef struct tg_query
{
    tg_placed shape[2];
    double reach;            /* points with distance < reach are wanted */
    double dt;               /* see tg_collide_options */
    double slack;            /* m, dt > 0: shapes that overlap by less along an axis count as apart along it */
    v4 velocity[2], spin[2]; /* of the shapes' origins; world */
    tg_hint *hint;           /* written; may be NULL */
} tg_query;

/* Fills the patch; an empty one when nothing is within reach. The types of the two shapes are those of the function's
 * place in the table. */
typedef void tg_narrow_function(const tg_query *query, tg_patch *patch);

/* Any two types: looks the function up, swaps the shapes and mirrors the answer where the table holds the other order.
 * False where the table is empty (two planes, two height fields, plane and height field). */
bool tg_narrow(const tg_query *query, tg_patch *patch);

/* ---- the entries of the table, type of the first shape before that of the second; one file each family ---- */

tg_narrow_function tg_plane_sphere, tg_plane_capsule, tg_plane_ellipsoid, tg_plane_cylinder, tg_plane_polytope;
tg_narrow_function tg_sphere_sphere, tg_sphere_capsule, tg_sphere_ellipsoid, tg_sphere_cylinder, tg_sphere_polytope;
tg_narrow_function tg_capsule_capsule, tg_capsule_ellipsoid, tg_capsule_cylinder, tg_capsule_polytope;
tg_narrow_function tg_ellipsoid_ellipsoid, tg_ellipsoid_cylinder, tg_ellipsoid_polytope;
tg_narrow_function tg_cylinder_cylinder, tg_cylinder_polytope;
tg_narrow_function tg_polytope_polytope; /* boxes and meshes, any order */
tg_narrow_function tg_terrain_convex;    /* a height field against anything but planes and height fields */

/* ---- support ---- */

/* The point of the shape farthest along direction d (world, need not be unit), without its rounding. Not for planes and
 * height fields. *vertex: the vertex of a polytope that was found (a capsule's end 0, 1; a sphere 0; -1: curved);
 * before, a guess or -1, which does not change the answer; may be NULL. */
v4 tg_support(const tg_placed *shape, v4 d, int *vertex);

/* ---- nearest points of two convex shapes ---- */

typedef enum tg_gjk_status
{
    TG_GJK_APART,   /* distance > 0; points, normal and features are valid */
    TG_GJK_OVERLAP, /* distance < 0 by EPA; likewise */
    TG_GJK_TOUCH,   /* the surfaces meet to rounding: distance 0, normal from EPA or from the features */
    TG_GJK_LIMIT    /* the iteration limit was reached: the best answer so far, with its bound in tolerance */
} tg_gjk_status;

enum
{
    TG_GJK_OTHERS = 4
};

typedef struct tg_gjk_result
{
    tg_gjk_status status;
    int iterations;
    double distance;  /* of the cores (roundings taken off), signed */
    double tolerance; /* upper bound minus lower bound of distance at the end */
    double margin;    /* OVERLAP, TOUCH: how much deeper the next direction is, at least; else INFINITY */
    v4 normal;        /* from shape 0 to 1, unit */
    v4 point[2];      /* on the cores */
    int count;        /* vertices of the closest simplex of the Minkowski difference: 1 .. 3 */
    int vertex[2][3]; /* their polytope vertices, -1 for curved shapes and segments' ends 0, 1 */
    int nother; /* curved shapes: other directions, not near the normal, that may be as good within the tolerance */
    v4 other[TG_GJK_OTHERS];
} tg_gjk_result;

/* The two shapes are apart by this or more, along the hint, and so surely that a search with that reach would find
 * nothing. -INFINITY where there is no hint. Along another direction they may be farther apart. In any order. */
double tg_sure_distance(const tg_placed *a, const tg_placed *b, tg_hint *hint);

/* Distance of the cores; stops early with distance > reach when that is certain, and writes the hint, which may be
 * NULL. */
tg_gjk_result tg_gjk(const tg_placed *a, const tg_placed *b, double reach, tg_hint *hint);

#endif
