/* The search for nearest points, split between gjk.c (apart) and epa.c (overlapping). Both work in the frame of the
 * first shape, where numbers are as small as the shapes, wherever they are in the world. */
#ifndef TG_COLLISION_GJK_H
#define TG_COLLISION_GJK_H

#include "collision/narrow.h"

/* Two shapes, seen from the first. */
typedef struct tg_pair_frame
{
    const tg_placed *shape[2];
    mat3 R, Rt; /* of the second shape in the frame of the first, and its transpose */
    v4 x;
    tg_trail *trail; /* vertices of the last search, and of this one; NULL: none */
    bool curved;     /* one of them has a curved core: the search does not end at a vertex */
    double gain;     /* of the extent: EPA ends when a step gains less */
} tg_pair_frame;

/* A vertex of the Minkowski difference second - first. */
typedef struct tg_corner
{
    v4 y;        /* b - a */
    v4 point[2]; /* a, b */
    int vertex[2];
} tg_corner;

typedef struct tg_simplex
{
    int count;
    tg_corner corner[4];
} tg_simplex;

/* The point of the shape farthest along d, both in its own frame; *vertex: that of a polytope, segment or point, -1:
 * a curved shape. Before: a guess, or -1; a good one saves the search, and none changes the answer. */
v4 tg_support_local(const tg_placed *shape, v4 d, int *vertex);

/* The corner farthest along d (frame of the first shape). */
tg_corner tg_minkowski_support(const tg_pair_frame *pair, v4 d);

/* About the direction between the nearest points of two shapes (world, unit unless the two have one point only), and
 * how far apart the cores are along it: for curved shapes, where a rough answer is enough to start from. Ends where
 * that is `enough`. Overlapping shapes: the direction along which they overlap least among those that the search met.
 */
v4 tg_gjk_direction(const tg_placed *a, const tg_placed *b, double enough, double *separation);

/* tg_gjk of curved shapes, whose answer is polished by others: deep inside, EPA ends when it is good to 1e-4 of the
 * extent, and lists all directions behind which the answer can be. */
tg_gjk_result tg_gjk_rough(const tg_placed *a, const tg_placed *b, double reach);

/* Expands from a simplex of one to four corners whose hull contains the origin, or touches it to rounding: normal
 * and depth of the smallest translation that separates. Fills all of the result but its iterations so far; normal
 * and points in the frame of the first shape. */
void tg_epa(const tg_pair_frame *pair, const tg_simplex *simplex, tg_gjk_result *result);

#endif
