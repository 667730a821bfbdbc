/* Anderson acceleration of a fixed-point iteration y <- T(y).
 *
 * With steps f = T(y) - y, the last differences dy and df of points and of their steps, and w the least-squares
 * solution of df w = f,
 *     y <- T(y) - (dy + df) w,
 * the point at which an affine T would have the smallest step (Anderson 1965; Walker and Ni 2011). T may be nonsmooth:
 * where the step after an extrapolated point is more than twice as long as the one before, the iteration returns to T
 * of the point before, and starts to remember anew. */
#ifndef TG_SOLVE_ANDERSON_H
#define TG_SOLVE_ANDERSON_H

#include <stdbool.h>

enum
{
    TG_ANDERSON_MEMORY = 10 /* differences: usual, SCS's */
};

typedef struct tg_anderson
{
    int n, ld;        /* numbers of a point; from one difference to the next */
    int memory;       /* at most TG_ANDERSON_MEMORY, and n */
    double *dy, *df;  /* memory x ld, the caller's */
    double *y, *f;    /* n: the last point and its step */
    double *image;    /* n: T of it */
    double length;    /* |f|, where the present point is extrapolated; else INFINITY */
    int count, place; /* differences; where the next one goes */
    bool started;     /* there is a last point */
    double gram[TG_ANDERSON_MEMORY * TG_ANDERSON_MEMORY]; /* df . df */
} tg_anderson;

/* forgets all points: T has changed */
void tg_anderson_restart(tg_anderson *a);

/* y, T(y) -> the next y, in place */
void tg_anderson_next(tg_anderson *a, const double *image, double *y);

#endif
