/* Hulls of a few points in general position, without the cost of starting the hull code. */
#ifndef TG_MODEL_SMALL_HULL_H
#define TG_MODEL_SMALL_HULL_H

#include <stdbool.h>

enum
{
    TG_SMALL_HULL_POINTS = 64,
    TG_SMALL_HULL_FACES = 2 * TG_SMALL_HULL_POINTS - 4
};

/* The triangles of the hull of npoint x 3 numbers, counter-clockwise from outside: at most TG_SMALL_HULL_FACES x 3.
 * False for more points than TG_SMALL_HULL_POINTS, where the hull has thin triangles, and where points are so near to a
 * plane through others (1e-12 to 1e-9 of the extent) that rounding could decide: then nothing is known. */
bool tg_small_hull(const double *point, int npoint, int *face, int *nface);

#endif
