/* The quadratic cost of a rollout and its gradient:
 *     sum over t of 1/2 |q_t (-) q*|^2_Wq + 1/2 |v_t - v*|^2_Wv + 1/2 |u_t - u*|^2_Wu,
 * with e = q (-) q* the tangent vector from q* to q: de = Jr^-1(e) dq for rotations, dq elsewhere. */
#include <string.h>

#include "base/status.h"
#include "math/vec3.h"
#include "model/model.h"
#include "tangere/algebra.h"
#include "tangere/step.h"

/* the gradient with respect to a vector e = x - reference, and half the sum of weighted squares */
static double square(int n, const double *weight, const double *x, const double *reference, double *gradient)
{
    double sum = 0;
    for (int i = 0; i < n && weight != NULL; i++)
    {
        double e = x[i] - (reference != NULL ? reference[i] : 0);
        sum += 0.5 * weight[i] * e * e;
        if (gradient != NULL)
            gradient[i] = weight[i] * e;
    }
    return sum;
}

/* g <- Jr^-T(e) g of every rotation, e the difference it belongs to */
static void turn_gradient(const tg_model *m, const double *e, double *g)
{
    for (int j = 0; j < m->njoint; j++)
    {
        bool free = m->joint_type[j] == TG_JOINT_FREE;
        if (!free && m->joint_type[j] != TG_JOINT_BALL)
            continue;
        int first = m->joint_dof[j] + (free ? DIM : 0);
        mat33 J;
        vec3 out = {0};
        tg_so3_right_jacobian_inverse(e + first, J);
        mat33_mul_t_add(J, g + first, out);
        vec3_copy(out, g + first);
    }
}

static tg_status configuration_cost(const tg_model *m, const double *weight, const double *q, const double *reference,
                                    double *scratch, double *gradient, double *sum, tg_error *error)
{
    if (weight == NULL)
        return TG_OK;
    TG_TRY(tg_difference(m, reference, q, scratch, error));
    *sum += square(m->nv, weight, scratch, NULL, gradient);
    if (gradient != NULL)
        turn_gradient(m, scratch, gradient);
    return TG_OK;
}

static void clear(double *x, size_t n)
{
    if (x != NULL)
        memset(x, 0, n * sizeof *x);
}

static double *row_of(double *rows, int row, int n)
{
    return rows == NULL ? NULL : rows + (size_t)row * (size_t)n;
}

static tg_status check(const tg_model *m, const tg_quadratic_cost *c, const tg_trajectory *states,
                       const tg_controls *controls, const double *value, tg_error *error)
{
    if (m == NULL || c == NULL || states == NULL || controls == NULL || value == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_rollout_cost: %s is NULL",
                       m == NULL          ? "m"
                       : c == NULL        ? "cost"
                       : states == NULL   ? "states"
                       : controls == NULL ? "controls"
                                          : "value");
    if (controls->steps < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_rollout_cost: controls.steps is %d; must be at least 1",
                       controls->steps);
    bool q = c->weight_q != NULL || c->last_q != NULL, v = c->weight_v != NULL || c->last_v != NULL;
    const char *missing = q && states->q == NULL                       ? "states.q"
                          : q && c->q == NULL                          ? "cost.q"
                          : v && states->v == NULL                     ? "states.v"
                          : c->weight_u != NULL && controls->u == NULL ? "controls.u"
                                                                       : NULL;
    return missing != NULL ? tg_fail(error, TG_ERR_ARGUMENT, "tg_rollout_cost: %s is NULL", missing) : TG_OK;
}

tg_status tg_rollout_cost(const tg_model *m, const tg_quadratic_cost *c, const tg_trajectory *states,
                          const tg_controls *controls, double *scratch, double *value, tg_trajectory *gradient,
                          double *gu, tg_error *error)
{
    TG_TRY(check(m, c, states, controls, value, error));
    if (scratch == NULL && m->nv > 0)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_rollout_cost: scratch is NULL");
    tg_trajectory none = {0}, *g = gradient != NULL ? gradient : &none;
    size_t rows = (size_t)controls->steps + 1;
    clear(g->q, rows * (size_t)m->nv);
    clear(g->v, rows * (size_t)m->nv);
    clear(g->act, rows * (size_t)m->na);
    clear(gu, (rows - 1) * (size_t)m->nu);
    *value = 0;
    for (int t = 0; t <= controls->steps; t++)
    {
        bool last = t == controls->steps;
        const double *weight_q = last && c->last_q != NULL ? c->last_q : c->weight_q;
        const double *weight_v = last && c->last_v != NULL ? c->last_v : c->weight_v;
        TG_TRY(configuration_cost(m, weight_q, row_of(states->q, t, m->nq), c->q, scratch, row_of(g->q, t, m->nv),
                                  value, error));
        *value += square(m->nv, weight_v, row_of(states->v, t, m->nv), c->v, row_of(g->v, t, m->nv));
        if (!last && c->weight_u != NULL)
            *value += square(m->nu, c->weight_u, controls->u + (size_t)t * (size_t)m->nu, c->u, row_of(gu, t, m->nu));
    }
    return TG_OK;
}
