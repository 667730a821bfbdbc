/* Surfaces that a neighbour covers: what the tiles of a floor have between them. */
#ifndef TG_COLLISION_COVER_H
#define TG_COLLISION_COVER_H

#include "collision/contact_point.h"

/* A contact of a shape, seen from it. */
typedef struct tg_footing
{
    const tg_placed *shape;
    v4 point;  /* on its surface, world */
    v4 normal; /* unit, out of it */
} tg_footing;

/* The footing of shape i (0, 1) of a contact. */
tg_footing tg_footing_of(const tg_contact_point *c, const tg_placed *shape, int i);

/* How far the normal of a footing is from that of a flat face of its shape, as 1 - cosine; 1 where it has none. */
double tg_tilt(const tg_footing *f);

/* Two shapes of one rigid body stand against the same other shape. True where `cover` hides the surface on which `f` stands: beside f.point, on the side to
 * which f.normal leans, lies material of the cover, and what f.normal supports of its own shape does not stand out above the cover's face. A shape that stays outside of
 * the cover does not meet that surface. tilt, of both: see tg_tilt. */
bool tg_is_covered(const tg_footing *f, double tilt, const tg_footing *cover, double cover_tilt);

#endif
