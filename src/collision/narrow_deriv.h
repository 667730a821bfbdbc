/* Derivatives of a contact point, features held fixed. */
#ifndef TG_COLLISION_NARROW_DERIV_H
#define TG_COLLISION_NARROW_DERIV_H

#include "collision/narrow.h"

/* How a contact point moves, seen from the first shape. */
typedef struct tg_point_motion
{
    v4 point, normal;
    double distance;
} tg_point_motion;

/* With the first shape held and the second one displaced by the twist: `shift` of its material point that is at the
 * contact point, and rotation vector `turn` (world axes). The motion for displacements of both shapes is that of the
 * first, applied to the contact as a rigid body, plus this one for the difference. */
tg_point_motion tg_motion_by_twist(const tg_contact_point *c, v4 shift, v4 turn);

/* The same for unit shifts and unit turns along x, y, z. */
void tg_motion_by_units(const tg_contact_point *c, tg_point_motion out[6]);

/* Its transpose: gradients of a scalar with respect to point, normal and distance become those with respect to shift
 * and turn. */
typedef struct tg_twist_gradient
{
    v4 shift, turn;
} tg_twist_gradient;

tg_twist_gradient tg_twist_reverse(const tg_contact_point *c, tg_point_motion gradient);

/* A contact that depends on where the shapes will be (tg_has_course): tg_motion_by_twist displaces that place by the
 * same twist as the shape, as a field. Whatever displaces it further (the shape's velocity is another one, or the shape
 * turns while its velocity does not) comes on top: `shift` at the contact point, and rotation vector `turn`, of where
 * shape `which` (0, 1) will be. Zero for all other points. */
tg_point_motion tg_motion_by_course(const tg_contact_point *c, int which, v4 shift, v4 turn);

/* With both shapes held and size k (0, 1, 2) of shape `which` (0, 1) changed. */
tg_point_motion tg_motion_by_size(const tg_query *query, const tg_contact_point *c, int which, int k);

/* The displacement of a surface point (world) when size k of its shape grows, at a frozen outward normal. */
v4 tg_size_shift(const tg_placed *shape, v4 point, v4 outward, int k);

/* A x, A the linear map by which the material of a polytope or cylinder moves when size k grows. A face's normal n
 * turns by minus the tangential part of A n. */
v4 tg_size_strain(const tg_placed *shape, v4 x, int k);

#endif
