/* Patches: many points over a flat region, and the choice of a few. */
#ifndef TG_COLLISION_PATCH_H
#define TG_COLLISION_PATCH_H

#include "collision/region.h"

enum
{
    TG_GATHER_MAX = 64
};

/* More points than a patch holds, before the choice. */
typedef struct tg_gather
{
    int count;
    tg_contact_point point[TG_GATHER_MAX];
} tg_gather;

/* The points that the shape `incident` (0, 1) has over a region of the other: a cylinder's cap or side, a capsule's
 * side, a polytope's face. Points at q->reach or farther are left out. */
void tg_points_over(const tg_query *q, const tg_region *region, int incident, tg_gather *gather);

/* Whether a fixed point of the rim of the cylinder `which` has a part in a patch with the normal n: the cap faces n,
 * and the cylinder's spin does not make up the point. arm, down: from the rim's centre to it, and to the deepest point.
 */
bool tg_rim_point_counts(const tg_query *q, int which, v4 n, v4 arm, v4 down);

/* True where a face, an edge or the side of the incident shape that is nearest to the region is parallel to it (to
 * 2e-5 rad): the nearest points are then a matter of rounding, and the region's normal is as good as any. */
bool tg_parallel_over(const tg_query *q, const tg_region *region, int incident);

/* Keeps `keep` of count points: the deepest, the farthest from it, the two that add most area on either side of the
 * line between them, then whichever is farthest from all that are kept. In all of these a point counts as nearer by
 * slope times its gap. Ties go to the lower feature id. Where points are left out, the margins of those that are kept
 * are at most the length by which the closest of these choices was made. Returns the count. */
int tg_choose_points(tg_contact_point *point, int count, int keep, double slope);

/* Adds as many of them to a patch as it has room for. */
void tg_take_points(tg_gather *gather, tg_patch *patch);

#endif
