/* The cost of a plan at one point, and its derivatives with respect to z = (q, v, act, u): nz = 2 nv + na + nu numbers.
 */
#ifndef TG_CONTROL_PLAN_COST_H
#define TG_CONTROL_PLAN_COST_H

#include "tangere/control.h"

/* One state with its controls; u is NULL at the end of the plan. */
typedef struct tg_cost_point
{
    int row, rows;
    const double *q, *v, *act, *u;
} tg_cost_point;

/* Refuses weights and references that make no sense. rows: of the plan. */
tg_status tg_plan_cost_check(const tg_model *m, const tg_plan_cost *c, int rows, tg_error *error);

/* Doubles of scratch that tg_cost_quadratic needs. */
size_t tg_plan_cost_scratch(const tg_model *m);

/* The quadratic part. gradient [nz] and hessian [nz, nz] (Gauss-Newton: of features the squares of first derivatives)
 * are written unless NULL. Uses the workspace; its message tells of a failure. */
tg_status tg_cost_quadratic(const tg_model *m, tg_work *w, const tg_plan_cost *c, const tg_cost_point *at,
                            double *scratch, double *value, double *gradient, double *hessian);

/* What a callback said: TG_OK, or a refusal that names the sample, the row and the value. sample: of the first point;
 * points count through the rows 0 .. rows of one sample after the other. Infinity is allowed, where `infinite`. */
tg_status tg_cost_check_values(const double *value, int count, int rows, int sample, bool infinite, tg_error *error);

#endif
