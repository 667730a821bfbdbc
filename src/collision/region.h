/* Flat regions: a polytope's face or a cylinder's cap, and what lies over them. */
#ifndef TG_COLLISION_REGION_H
#define TG_COLLISION_REGION_H

#include "collision/narrow.h"

typedef struct tg_region
{
    const tg_placed *placed;
    v4 centre, normal; /* a point of the plane (a disc's centre), unit outward normal; world */
    double radius;     /* of a disc */
    int polygon;       /* of a polytope; -1: a cylinder's cap */
    uint32_t feature;
} tg_region;

/* The face of a polytope or the cap of a cylinder that looks most along the unit vector d. False for shapes without
 * any. */
bool tg_region_towards(const tg_placed *shape, v4 d, tg_region *region);

/* How far inside the sides x is (negative: outside); heights do not count. */
double tg_region_depth(const tg_region *region, v4 x);

/* Corners of a region: a polygon's vertices, or the four points of a rim that are fixed in the cylinder. */
int tg_region_corners(const tg_region *region);
v4 tg_region_corner(const tg_region *region, int i);

/* The part of the line x + t e, low <= t <= high, over the region. side[0], side[1]: unit outward normals of the
 * sides that cut it at its ends, zero where none did. False where nothing is left. */
bool tg_region_cut(const tg_region *region, v4 x, v4 e, double *low, double *high, v4 side[2]);

typedef struct tg_crossing
{
    v4 x, side; /* side: unit outward normal of the side there */
    uint32_t feature;
} tg_crossing;

/* Where a circle (centre, axis, radius; not steep to the region) crosses the sides: at most `room` points. */
int tg_region_cross(const tg_region *region, v4 centre, v4 axis, double radius, tg_crossing *crossing, int room);

#endif
