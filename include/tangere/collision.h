/* Collision: where shapes touch, and how that changes when they move.
 *
 * Conventions of every contact point: the normal n points from the first shape to the second; p1 and p2 are the
 * points of the two surfaces; p2 = p1 + distance n, with distance signed, negative inside; point = (p1 + p2) / 2.
 * World frame, metres. Apart, n is the direction between the nearest points; overlapping, the direction of the
 * smallest translation that separates the shapes. Translating the second shape by -distance n makes the two touch.
 *
 * A pair that touches along faces or edges gives a patch, up to eight points, each with its own distance. A patch
 * depends only on the two poses: there is no memory of earlier calls. */
#ifndef TANGERE_COLLISION_H
#define TANGERE_COLLISION_H

#include <stdbool.h>

#include "tangere/base.h"
#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

enum
{
    TG_CONTACTS_A_PAIR = 8
};

/* ---- shapes without a model ---- */

/* The convex hull of a set of points, for queries without a model. */
typedef struct tg_hull tg_hull;

/* vertex: nvertex x 3. One point, points on a line or in a plane are allowed: the hull is then flat. */
TG_API tg_status tg_hull_create(const double *vertex, int nvertex, const tg_allocator *allocator, tg_hull **hull,
                                tg_error *error);
TG_API void tg_hull_destroy(tg_hull *hull); /* NULL is allowed */

typedef struct tg_shape
{
    tg_geom_type type;
    double size[3];      /* see tg_geom_type; mesh: scale, {1, 1, 1} */
    const tg_hull *hull; /* TG_GEOM_MESH */
    /* TG_GEOM_HFIELD */
    int nrow, ncol;
    const double *elevation; /* nrow x ncol, 0 .. 1 */
    double terrain[4];       /* half x, half y, height of elevation 1, depth of the base */
    uint32_t cookie;
} tg_shape;

TG_API tg_shape tg_default_shape(void); /* a sphere of radius 1 */

typedef struct tg_collide_options
{
    double reach; /* m: contact points with distance < reach are wanted */
    bool four;    /* at most four points per pair (deepest, farthest, largest area); off: all, up to eight */

    /* For separated shapes, the normal is chosen for their poses after dt at these velocities, so that a box that
     * slides over a seam is not stopped by a side that it never reaches. dt = 0: the direction between the nearest
     * points. Twists (linear velocity of the shape's origin; angular), world axes. */
    double dt;
    double velocity1[6], velocity2[6];
    uint32_t cookie;
} tg_collide_options;

TG_API tg_collide_options tg_default_collide_options(void); /* reach 0, all points, dt 0 */

typedef struct tg_contact
{
    int geom1, geom2; /* -1 in queries without a model */
    double point[3], normal[3], distance;
    double margin; /* m: distance to the next change of features, INFINITY if there is none */
    uint64_t id;   /* of the pair and the features: the same while they stay the same */
    double gap; /* m: distance minus the margins of the pair, which a step closes to 0. Without a model: the distance */
} tg_contact;

/* Contact points of two shapes at poses (x y z, w x y z). Writes at most capacity points and the full count (0:
 * nothing within reach). */
TG_API tg_status tg_collide_pair(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                                 const double pose2[7], const tg_collide_options *options, tg_contact *contact,
                                 int capacity, int *count, tg_error *error);

/* The nearest (or deepest) pair of points, at any distance. */
TG_API tg_status tg_distance(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                             const double pose2[7], tg_contact *contact, tg_error *error);

/* Derivatives of one contact point. Columns 0-5 are the twist of shape 1 (displacement of its origin; rotation
 * vector), 6-11 of shape 2, world axes; 12-14 and 15-17 the three sizes of shape 1 and 2. Features are held fixed. */
typedef struct tg_contact_derivative
{
    double point[3][18], normal[3][18], distance[18];
} tg_contact_derivative;

TG_API tg_status tg_collide_pair_derivatives(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                                             const double pose2[7], const tg_collide_options *options,
                                             tg_contact *contact, tg_contact_derivative *derivative, int capacity,
                                             int *count, tg_error *error);

/* Randomised smoothing: derivatives of shapes whose corners and edges are blurred, for optimisers that would
 * otherwise see a constant normal. They are not derivatives of what tg_distance returns, and never the default.
 * Order 1: features stay, curvatures are those of the smoothed support functions; costs no further query. Order 0:
 * mean of (c(M + width Z) - c(M - width Z)) Z^T / (2 width) over random displacements Z of the two poses (m and rad,
 * standard normal), two queries per sample; its variance falls as 1 / samples. Both are for the poses; the columns
 * of the sizes are exact. */
typedef enum tg_smoothing_order
{
    TG_SMOOTHING_NONE, /* exact */
    TG_SMOOTHING_ORDER_0,
    TG_SMOOTHING_ORDER_1
} tg_smoothing_order;

typedef struct tg_smoothing
{
    tg_smoothing_order order;
    double width;  /* m */
    int samples;   /* order 0 */
    uint64_t seed; /* order 0: the same seed, the same result */
    uint32_t cookie;
} tg_smoothing;

TG_API tg_smoothing tg_default_smoothing(void); /* none; width 1 mm, 100 samples, seed 0 */

/* The nearest (or deepest) points and their derivative. smoothing: NULL for none. */
TG_API tg_status tg_distance_derivatives(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                                         const double pose2[7], const tg_smoothing *smoothing, tg_contact *contact,
                                         tg_contact_derivative *derivative, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
