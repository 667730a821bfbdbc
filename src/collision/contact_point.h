/* One point of a contact patch: what a query gives, and what its derivative needs. */
#ifndef TG_COLLISION_CONTACT_POINT_H
#define TG_COLLISION_CONTACT_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "collision/shape.h"

/* How a surface looks at its witness point, in the plane orthogonal to the normal n. The support function's Hessian
 *   S = round (1 - n n^T) + bend edge edge^T
 * (its eigenvalues are the principal radii of curvature: round, and round + bend along the edge) is finite, except
 * along flat directions, where the normal is held by the body and the witness point slides:
 *   a vertex: S = 0, flat 0; a sphere: round r; an edge along e: flat 1, S = 0; a face: flat 2; a capsule's or
 *   cylinder's side: flat 1 along its axis and S = r across it, round r and bend -r; an ellipsoid: S from its radii;
 *   a cylinder's rim: bend along the rim's tangent. */
typedef struct tg_surface
{
    v4 edge; /* unit, orthogonal to the normal; zero where flat != 1 and bend == 0 */
    double round, bend;
    int flat; /* number of flat directions: 0, 1 (along edge), 2 */
} tg_surface;

/* S x, x orthogonal to the normal */
static inline v4 tg_bend(const tg_surface *s, v4 x)
{
    return x * v4_splat(s->round) + s->edge * v4_splat(s->bend * v4_dot(s->edge, x));
}

typedef enum tg_point_kind
{
    TG_POINT_WITNESS, /* nearest points (or deepest) of two surfaces: surface[0], surface[1] */
    TG_POINT_CLIPPED, /* a point of an incident edge where it crosses a side plane of the reference face */
    TG_POINT_CORNER,  /* a corner of the reference face over the incident face, measured along the reference normal */
    TG_POINT_AHEAD,   /* points of two surfaces along the normal of where the shapes will be: surface[0], surface[1],
                         course */
    TG_POINT_SLIDING  /* a point of the incident shape that will come over the reference face, which holds the normal:
                       * surface of the incident shape, course */
} tg_point_kind;

/* The contact of the shapes where they will be from which a point was made: fields as in tg_contact_point. */
typedef struct tg_there
{
    v4 point, normal;
    double distance;
    tg_point_kind kind;
    int reference;
    tg_surface surface[2];
    v4 incident_edge, side_normal;
} tg_there;

/* How a contact follows where the shapes will be: through what it has from there.
 *   AHEAD:   the normal. The contact's two surface points are distance n + offset apart. Of two lines the one that is
 *            not flat here also has its place along its edge from there.
 *   SLIDING: the place of the incident point in its shape.
 * back: the rotation, from there to now, of the shape whose point has its place from there. */
typedef struct tg_course
{
    tg_there there;
    mat3 back;
    v4 offset;
} tg_course;

/* For when a contact's normal was chosen. */
typedef enum tg_when
{
    TG_WHEN_NOW,  /* for where the shapes are */
    TG_WHEN_OVER, /* for where they will be: the normal of a face, over which its points come as their shape moves */
    TG_WHEN_THERE /* for where they will be: course.there is the contact there */
} tg_when;

enum
{
    TG_PATCH_MAX = 8
};

/* A margin below this share of the slack of a step's queries (a tenth of the reach): at a change of features. What
 * looks ahead then looks whether it is one. */
#define TG_AT_EDGE 1e-3

/* A margin: the point is where it should be, but does not move as its surfaces say. Below zero, so that it is the least
 * of any margins. */
#define TG_NO_DERIVATIVE (-1.0)

typedef struct tg_contact_point
{
    v4 point;        /* in the middle of the two witness points, world */
    v4 normal;       /* from the first shape to the second */
    double distance; /* signed: p2 = p1 + distance normal */
    double
        margin; /* m: how far the next choice of features is away; INFINITY where there is none; or TG_NO_DERIVATIVE */
    uint32_t feature; /* stable id of the features of this point in its pair */

    tg_when when;

    /* for the derivative */
    tg_point_kind kind;
    int reference; /* CLIPPED, CORNER, SLIDING: which shape (0, 1) has the reference face, whose normal the contact
                      normal is */
    tg_surface surface[2];
    /* undefined where the kind has no use for them */
    v4 incident_edge; /* CLIPPED: direction of the incident edge (unit) */
    v4 side_normal;   /* CLIPPED: normal of the side plane of the reference face (unit, in the face); CORNER: of the
                         incident face */
    tg_course course; /* AHEAD, SLIDING; there: wherever TG_WHEN_THERE */
} tg_contact_point;

/* true where the contact depends on where the shapes will be, that is on their velocities and dt */
static inline bool tg_has_course(const tg_contact_point *c)
{
    return c->kind == TG_POINT_AHEAD || c->kind == TG_POINT_SLIDING;
}

/* which shape's flat face holds the normal of a point, -1: none */
static inline int tg_held_by(const tg_contact_point *c)
{
    if (c->kind != TG_POINT_WITNESS)
        return c->reference;
    return c->surface[0].flat == 2 ? 0 : c->surface[1].flat == 2 ? 1 : -1;
}

/* A witness point of two vertices. Field by field: a compound literal would be made elsewhere and copied. */
static inline void tg_init_point(tg_contact_point *c, v4 point, v4 normal, double distance, double margin,
                                 uint32_t feature)
{
    c->point = point;
    c->normal = normal;
    c->distance = distance;
    c->margin = margin;
    c->feature = feature;
    c->when = TG_WHEN_NOW;
    c->kind = TG_POINT_WITNESS;
    c->surface[0] = c->surface[1] = (tg_surface){0};
    c->reference = 0;
}

/* without the course of a point that has none, which is most of it */
static inline void tg_copy_point(const tg_contact_point *from, tg_contact_point *to)
{
    memcpy(to, from, from->when == TG_WHEN_THERE ? sizeof *from : offsetof(tg_contact_point, course));
}

typedef struct tg_patch
{
    int count;
    tg_contact_point point[TG_PATCH_MAX];
} tg_patch;

#endif
