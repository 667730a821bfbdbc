/* The search for nearest points, split between gjk.c (apart) and epa.c (overlapping). */
#ifndef TG_COLLISION_GJK_H
#define TG_COLLISION_GJK_H

#include "collision/narrow.h"

/* A vertex of the Minkowski difference second - first. */
typedef struct tg_corner
{
    v4 y;         /* b - a */
    v4 point[2];  /* a, b */
    int vertex[2];
} tg_corner;

typedef struct tg_simplex
{
    int count;
    tg_corner corner[4];
    double weight[4]; /* of the point nearest to the origin */
} tg_simplex;

/* The corner farthest along d. */
tg_corner tg_minkowski_support(const tg_placed *a, const tg_placed *b, v4 d, const int start[2]);

/* Expands from a simplex whose hull contains the origin (or touches it): normal and depth of the smallest translation that separates. */
void tg_epa(const tg_placed *a, const tg_placed *b, tg_simplex *simplex, tg_gjk_result *result);

#endif
