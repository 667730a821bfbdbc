/* Derivatives of a function of one number on each side of a point, where it may have a kink. */
#ifndef TG_CHECK_SIDES_H
#define TG_CHECK_SIDES_H

#include <stdbool.h>
#include <stdint.h>

#include "tangere/base.h"

typedef struct tg_point
{
    bool valid;
    double value;
    uint64_t signature; /* of the branch of the function */
} tg_point;

typedef struct tg_line
{
    tg_status (*at)(void *user, double h, tg_point *point);
    void *user;
    double middle;      /* the value at 0 */
    double noise;       /* of a value */
    uint64_t signature; /* at 0 */
} tg_line;

typedef struct tg_side
{
    bool taken;
    bool home; /* on the branch of the point itself */
    double value, spread;
} tg_side;

/* The derivative for h > 0, or h < 0: one-sided differences over h, h/2 and h/4, extrapolated, all on one branch:
 *     D(h) = (f(h) - f(0)) / h,   E(h) = 2 D(h/2) - D(h),   (4 E(h/2) - E(h)) / 3,
 * with an error of order h^3. The spread is the difference of E(h) and E(h/2), or what rounding does if that is more: a
 * kink at a distance d < h/4 shows as d/h times the change of the slope. 1/8, 1/64, 8 and 64 times h are tried too,
 * until a spread is below `fine`; differences on the branch of the point itself are preferred. */
tg_status tg_side_of(const tg_line *line, double h, double fine, tg_side *side);

/* Which of the two sides is to be compared with the derivative J; NULL: none. one_sided: J is the derivative of either
 * side. Otherwise the side on the branch of the point itself. If both are, or none is, the one that is farther from J,
 * provided that they agree to the tolerance: only then the function is differentiable. */
const tg_side *tg_side_to_judge(const tg_side side[2], double J, bool one_sided, double tolerance);

#endif
