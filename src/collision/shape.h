/* What the narrow phase works on: a shape placed in the world. */
#ifndef TG_COLLISION_SHAPE_H
#define TG_COLLISION_SHAPE_H

#include "math/spatial.h"
#include "model/polytope.h"
#include "tangere/model.h"

/* A height field: elevations on a grid, scaled by size. */
typedef struct tg_terrain
{
    int nrow, ncol;
    const double *elevation; /* nrow x ncol, 0 .. 1 */
    double size[4];          /* half x, half y, height, depth of the base (m) */
} tg_terrain;

typedef struct tg_placed
{
    mat3 R;         /* to the world */
    v4 x;           /* position, world */
    double size[4]; /* see tg_geom_type; box: half lengths; mesh: scale; the last is zero. Aligned as a v4. */
    tg_geom_type type;
    const tg_polytope *polytope; /* box (the unit cube) and mesh: corners are size * vertex */
    const tg_terrain *terrain;   /* height field */
} tg_placed;

/* fmin and fmax without their rules for NaN, which cost a call */
static inline double tg_least(double a, double b)
{
    return a < b ? a : b;
}

static inline double tg_most(double a, double b)
{
    return a > b ? a : b;
}

/* What is left of a shape when its rounding is taken off: sphere -> point, capsule -> segment, others themselves. */
static inline double tg_rounding(const tg_placed *s)
{
    return s->type == TG_GEOM_SPHERE || s->type == TG_GEOM_CAPSULE ? s->size[0] : 0;
}

#endif
