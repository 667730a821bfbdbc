/* Cones { |x_T| <= x_N } of three norms: the second-order cone, and the two friction pyramids.
 *
 *     two   |x_T| = sqrt(sum x_i^2)   Coulomb's cone
 *     max   |x_T| = max |x_i|         pyramid "box": every component is bounded by itself
 *     sum   |x_T| = sum |x_i|         pyramid "diamond"
 * The dual cone is that of the dual norm |s_T|_* = max { s_T . x_T : |x_T| <= 1 }: two of two, sum of max, max of sum.
 */
#ifndef TG_SOLVE_NORM_CONE_H
#define TG_SOLVE_NORM_CONE_H

#include "solve/problem.h"

typedef enum tg_norm
{
    TG_NORM_TWO,
    TG_NORM_MAX,
    TG_NORM_SUM
} tg_norm;

enum
{
    TG_NORM_ROWS = TG_CONE_MAX
};

/* |x|, n entries */
double tg_norm_of(tg_norm norm, int n, const double *x);

/* |s|_*, n entries */
double tg_norm_dual(tg_norm norm, int n, const double *s);

/* Entry i of the slope of |s|_*: the point of |x| <= 1 with the largest s . x; 0 where s is 0, and of several such
 * points the first one. */
double tg_norm_slope(tg_norm norm, int n, const double *s, int i);

/* Nearest point of { |x_T| <= x_N }, in place; y has d <= TG_NORM_ROWS entries, normal first. */
void tg_norm_project(tg_norm norm, int d, double *y);

/* Nearest point of { |x| <= radius }, n entries, in place. */
void tg_norm_ball(tg_norm norm, int n, double radius, double *x);

#endif
