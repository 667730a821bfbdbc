/* Pieces of surfaces, and where two of them are nearest: what turns an approximate normal into an exact answer. */
#ifndef TG_COLLISION_CURVED_H
#define TG_COLLISION_CURVED_H

#include "collision/region.h"
#include "collision/surface.h"

/* A smooth piece of a surface, taken without its ends. */
typedef enum tg_piece_kind
{
    TG_PIECE_POINT,    /* centre, rounded by radius: a vertex, a sphere, a capsule's end */
    TG_PIECE_LINE,     /* through centre along axis, rounded by radius: an edge, a capsule's or a cylinder's side */
    TG_PIECE_PLANE,    /* through centre with outward normal axis: a face, a cylinder's cap */
    TG_PIECE_RIM,      /* a circle of that radius about centre, orthogonal to axis */
    TG_PIECE_ELLIPSOID /* the shape itself */
} tg_piece_kind;

typedef struct tg_piece
{
    tg_piece_kind kind;
    uint32_t feature; /* of the shape: stable id */
    v4 centre, axis;
    double half, radius; /* half: of a line's length */
    const tg_placed *placed;
    int polygon; /* PLANE of a polytope; -1: a cylinder's cap */
} tg_piece;

enum
{
    TG_PIECES_MAX = 16
};

/* The flat region of a PLANE. */
tg_region tg_piece_region(const tg_piece *plane);

/* The pieces of a shape whose outward normals come within `tolerance` (rad) of the unit vector d; flat pieces first. */
int tg_pieces(const tg_placed *p, v4 d, double tolerance, tg_piece piece[TG_PIECES_MAX]);

typedef struct tg_witness
{
    v4 normal, point[2];
    double distance;
    tg_surface surface[2];
    uint32_t feature[2];
    double margin;
} tg_witness;

/* Nearest (or deepest) points of two pieces, from a normal near the answer. False where it does not converge, or
 * where the two leave the points open (two planes, a plane and a line in it). */
bool tg_piece_witness(const tg_piece *a, const tg_piece *b, v4 start, tg_witness *w);

/* Nearest (or deepest) points of two shapes whose normal is about `start`: searches the pieces there for a pair that
 * satisfies the conditions of an extremum. False where there is none. */
bool tg_exact_witness(const tg_query *q, v4 start, tg_witness *w);

/* The smallest radius of curvature of two surfaces together (of S_a + S_b), over directions in which no line holds
 * the normal. */
double tg_least_curvature(v4 n, const tg_surface *a, const tg_surface *b);

/* n.(s_b(-n) - s_a(n)): how far the shapes, roundings included, are apart along n. */
double tg_separation(const tg_placed *a, const tg_placed *b, v4 n);

/* about how large a shape is, from its origin */
static inline double tg_extent(const tg_placed *p)
{
    v4 s = tg_support(p, p->R.c[0] + p->R.c[1] + p->R.c[2], NULL) - p->x;
    return __builtin_sqrt(v4_dot(s, s)) + tg_rounding(p);
}

/* Writes the witness as a contact point. */
void tg_add_witness(const tg_query *q, tg_patch *patch, const tg_witness *w, uint32_t base);

/* A witness from the search alone, where no exact one was found; its derivative is that of two vertices. */
tg_witness tg_search_witness(const tg_query *q, const tg_gjk_result *r);

/* The search is good to about 1e-6 where shapes touch or overlap, and coarser deep inside: an axis of the two frames
 * (a box's faces, a cylinder's caps, an ellipsoid's radii) or a mesh's face near n along which the shapes are
 * farther apart than `now`. False where there is none; *n is then unchanged. */
bool tg_better_axis(const tg_query *q, double now, v4 *n);

/* Turns an approximate normal (0.03 rad, sometimes 0.2) into exact points within reach. False where it finds no
 * extremum there. */
typedef bool tg_polish_function(const tg_query *q, v4 n, tg_patch *patch);

tg_polish_function tg_polish_point; /* one point */

/* A direction along which the shapes are out of reach of each other, unit, from the first to the second: the next hint.
 */
void tg_remember(const tg_query *q, v4 n);

/* Two convex shapes of which one is curved: finds a normal, polishes it, and makes sure that it is the answer. */
void tg_search_patch(const tg_query *q, tg_polish_function *polish, tg_patch *patch);

/* True where the deepest point of a patch (not empty) is known to be the answer: the shapes are apart, or overlap by
 * less than the radii of balls inside them that touch there, or by little where sharp features cross. */
bool tg_patch_certain(const tg_query *q, const tg_patch *patch);

/* ---- a point against a curved shape: signed distance and unit outward normal d at the nearest point ---- */

double tg_point_ellipsoid(const tg_placed *ellipsoid, v4 p, v4 *d);

typedef double tg_point_distance(const tg_placed *shape, v4 p, v4 *d);

/* About the nearest point of a capsule's axis to a shape: distance of the axis, and the normal from the capsule to
 * the shape. INFINITY where the axis goes through the shape from side to side, so that points of it do not tell the
 * way out. */
double tg_capsule_start(const tg_placed *capsule, const tg_placed *shape, tg_point_distance *distance, v4 *normal);

/* ---- lines ---- */

typedef struct tg_segment
{
    v4 centre, axis; /* axis: unit */
    double half;
} tg_segment;

static inline tg_segment tg_axis_of(const tg_placed *p)
{
    return (tg_segment){p->x, p->R.c[2], p->size[1]};
}

static inline double tg_clamp(double x, double bound)
{
    return tg_least(tg_most(x, -bound), bound);
}

static inline v4 tg_along(const tg_segment *s, double t)
{
    return s->centre + s->axis * v4_splat(t);
}

/* Capsules and cylinders: true where their axes are so far apart that nothing is within reach. A cylinder lies in the
 * capsule around its axis. */
bool tg_axes_clear(const tg_query *q);

/* Sides of capsules and cylinders that are nearly parallel: the two ends of the stretch that they share. False where
 * they are not, or share none. */
bool tg_add_parallel(const tg_query *q, tg_patch *patch);

/* The same for the side of the first shape, a cylinder, and an edge of the second, a polytope, near the normal n.
 * exactly: they are parallel to rounding, and the two ends are all. */
bool tg_add_parallel_edge(const tg_query *q, v4 n, bool *exactly, tg_patch *patch);

#endif
