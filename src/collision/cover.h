/* Surfaces that a neighbour covers: what the tiles of a floor have between them. */
#ifndef TG_COLLISION_COVER_H
#define TG_COLLISION_COVER_H

#include "collision/narrow.h"

/* A contact of a shape, seen from it. */
typedef struct tg_footing
{
    const tg_placed *shape;
    v4 point;     /* on its surface, world */
    v4 normal;    /* unit, out of it */
    double slack; /* m: what is nearer counts as touching; of the query */
} tg_footing;

/* The footing of shape i (0, 1) in a contact of the query: where it will be, as point and normal of the shape as it is,
 * if the contact's normal was chosen for then. (Of two edges, the normal that the contact has now may lean to the other
 * side.) */
tg_footing tg_footing_of(const tg_query *q, const tg_contact_point *c, int i);

/* x is in the shape, or as near to its faces as shapes that touch may be. False for what has no flat face. */
bool tg_holds(const tg_placed *shape, v4 x, double slack);

/* Two shapes of one rigid body stand against the same other shape, f on the first, `face` on the second, on or nearly
 * on a flat face, whose normal is *m. True where what f.normal supports of its shape does not stand out above it. */
bool tg_is_below(const tg_footing *f, const tg_footing *face, v4 *m);

/* f.normal differs from m by more than what lies on several faces, level with each other, may. */
bool tg_leans(const tg_footing *f, v4 m);

/* True where the surface continues next to f.point, on the side to which f.normal leans out of m: a third shape of that
 * body, or the second, has material there. */
bool tg_goes_on(const tg_footing *f, v4 m, const tg_placed *neighbour);

/* The points that the other shape has over the flat face of shape i with outward normal m, if it has such a face. Not
 * for an ellipsoid, and for a sphere only over a polygon. */
void tg_level_points(const tg_query *q, int i, v4 m, tg_patch *patch);

#endif
