/* The scalar functions behind the Jacobians of SO(3) and SE(3). Internal: the public side is tangere/algebra.h.
 *
 * With K = [w], s = |w|^2, t = |w|:
 *   J_r    = I - b K + c K^2,       b(s) = (1 - cos t) / t^2,  c(s) = (t - sin t) / t^3
 *   J_r^-1 = I + K/2 + d K^2,       d(s) = (1 - (t/2) cot(t/2)) / t^2
 * and the left ones are their transposes. All three are analytic in s. */
#ifndef TG_MATH_SO3_H
#define TG_MATH_SO3_H

#include "math/vec3.h"

/* b, c, d and their derivatives by s */
typedef struct tg_so3_scalars
{
    double b, c, d;
    double b_s, c_s, d_s;
} tg_so3_scalars;

/* the ones that J_r needs (b, c) and the one that J_r^-1 needs (d), the others untouched */
void tg_so3_scalars_exp(double s, tg_so3_scalars *f);
void tg_so3_scalars_log(double s, tg_so3_scalars *f);

/* below this s = |w|^2 the scalars are summed as power series, above in closed form */
#define TG_SO3_SERIES_BELOW 1.0

#endif
