/* The quadratic cost: 1/2 sum w e^2 over
 *     e = q (-) q*, v - v*, act - act*, u - u*, p_site(q) - p*, com(q) - c*, J_com(q) v - c'*,
 * with de/dq = Jr^-1(e) of rotations, site and centre-of-mass Jacobians, and d(J_com v)/dq the mean over bodies of the
 * derivative of the velocities of their centres of mass. */
#include "control/plan_cost.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "dynamics/work.h"
#include "model/check.h"
#include "tangere/algebra.h"

size_t tg_plan_cost_scratch(const tg_model *m)
{
    return (size_t)(m->nq + 14 * m->nv); /* e, a Jacobian of 6 rows, two of 3 rows side by side */
}

/* What is written, and where parts of z are in it. */
typedef struct sums
{
    const tg_model *m;
    int nz;
    double value;
    double *gradient, *hessian;
} sums;

/* ---- parts that are numbers of z ---- */

/* The row of a reference, or the only one. */
static const double *reference_row(const tg_plan_cost *c, const double *reference, int row, int n)
{
    return reference == NULL || !c->moving ? reference : reference + (size_t)row * (size_t)n;
}

static void add_square(sums *s, int first, int n, const double *weight, const double *x, const double *reference)
{
    for (int i = 0; i < n && weight != NULL; i++)
    {
        double e = x[i] - (reference != NULL ? reference[i] : 0);
        s->value += 0.5 * weight[i] * e * e;
        if (s->gradient != NULL)
            s->gradient[first + i] += weight[i] * e;
        if (s->hessian != NULL)
            s->hessian[(size_t)(first + i) * (size_t)(s->nz + 1)] += weight[i];
    }
}

/* The three numbers of a rotation: g = Jr^-T(e) W e, H = Jr^-T W Jr^-1. */
static void add_rotation(sums *s, int first, const double *weight, const double *e)
{
    double J[9];
    tg_so3_right_jacobian_inverse(e, J);
    for (int k = 0; k < 3; k++)
        s->value += 0.5 * weight[k] * e[k] * e[k];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
        {
            if (s->gradient != NULL)
                s->gradient[first + i] += J[3 * k + i] * weight[k] * e[k];
            for (int j = 0; j < 3 && s->hessian != NULL; j++)
                s->hessian[(size_t)(first + i) * (size_t)s->nz + (size_t)(first + j)] +=
                    J[3 * k + i] * weight[k] * J[3 * k + j];
        }
}

static tg_status add_configuration(sums *s, tg_work *w, const double *weight, const double *q, const double *reference,
                                   double *e)
{
    const tg_model *m = s->m;
    double *fallback = e + m->nv;
    if (weight == NULL)
        return TG_OK;
    if (reference == NULL)
        TG_TRY(tg_default_q(m, fallback, &w->error));
    TG_TRY(tg_difference(m, reference != NULL ? reference : fallback, q, e, &w->error));
    for (int j = 0; j < m->njoint; j++)
    {
        tg_joint_type type = m->joint_type[j];
        int dof = m->joint_dof[j], plain = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
        add_square(s, dof, plain, weight + dof, e + dof, NULL);
        if (plain != 1)
            add_rotation(s, dof + plain, weight + dof + plain, e + dof + plain);
    }
    return TG_OK;
}

/* ---- points in space ---- */

/* Three numbers e with the Jacobian F [3, columns] by the first numbers of z: g = F' W e, H = F' W F. */
static void add_feature(sums *s, const double weight[3], const double e[3], const double *F, int columns)
{
    for (int k = 0; k < 3; k++)
    {
        const double *f = F + (size_t)k * (size_t)columns;
        s->value += 0.5 * weight[k] * e[k] * e[k];
        if (weight[k] == 0)
            continue;
        for (int i = 0; i < columns && s->gradient != NULL; i++)
            s->gradient[i] += weight[k] * e[k] * f[i];
        for (int i = 0; i < columns && s->hessian != NULL; i++)
            for (int j = 0; j < columns && f[i] != 0; j++)
                s->hessian[(size_t)i * (size_t)s->nz + (size_t)j] += weight[k] * f[i] * f[j];
    }
}

static void difference(const double a[3], const double *b, double out[3])
{
    for (int k = 0; k < 3; k++)
        out[k] = a[k] - (b != NULL ? b[k] : 0);
}

/* After tg_kinematics. */
static tg_status add_sites(sums *s, tg_work *w, const tg_plan_cost *c, const tg_cost_point *at, const double *weight,
                           double *J)
{
    const double *target = reference_row(c, c->site_target, at->row, 3 * c->nsite);
    for (int i = 0; i < c->nsite; i++)
    {
        double p[3], e[3];
        TG_TRY(tg_site_pose(s->m, w, c->site[i], p, NULL));
        if (s->gradient != NULL)
            TG_TRY(tg_site_jacobian(s->m, w, c->site[i], TG_FRAME_ALIGNED, J));
        difference(p, target != NULL ? target + 3 * i : NULL, e);
        add_feature(s, weight + 3 * i, e, J, s->m->nv);
    }
    return TG_OK;
}

/* D [3, 2 nv], its first half += the mean over moving bodies of the derivative of the velocity of their centres of mass
 * by q. After tg_kinematics with v. J: 6 nv numbers. */
static tg_status com_velocity_by_q(const tg_model *m, tg_work *w, double *J, double *D)
{
    double mass = 0;
    for (int b = 1; b < m->nbody; b++)
        mass += m->body_node[b] > 0 ? TG_PARAM(w->params, body_mass)[b] : 0;
    for (int b = 1; b < m->nbody; b++)
    {
        double share = TG_PARAM(w->params, body_mass)[b] / mass;
        if (m->body_node[b] == 0 || share == 0)
            continue;
        const double *com = TG_PARAM(w->params, body_com) + 3 * (size_t)b;
        TG_TRY(tg_body_velocity_derivative(m, w, b, com, TG_FRAME_ALIGNED, J));
        for (int k = 0; k < 3; k++)
            for (int i = 0; i < m->nv; i++)
                D[k * 2 * m->nv + i] += share * J[k * m->nv + i];
    }
    return TG_OK;
}

static tg_status add_com(sums *s, tg_work *w, const tg_plan_cost *c, const tg_cost_point *at, const double *weight,
                         const double *weight_velocity, double *J)
{
    const tg_model *m = s->m;
    int nv = m->nv;
    double com[3], velocity[3] = {0, 0, 0}, e[3], *D = J + 6 * (size_t)nv;
    TG_TRY(tg_com(m, w, at->q, com, J));
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < nv; i++)
            velocity[k] += J[k * nv + i] * at->v[i];
    if (weight != NULL)
    {
        difference(com, reference_row(c, c->com, at->row, 3), e);
        add_feature(s, weight, e, J, nv);
    }
    if (weight_velocity == NULL)
        return TG_OK;
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < nv; i++)
        {
            D[k * 2 * nv + i] = 0;
            D[k * 2 * nv + nv + i] = J[k * nv + i];
        }
    if (s->gradient != NULL)
    {
        TG_TRY(tg_kinematics(m, w, at->q, at->v));
        TG_TRY(com_velocity_by_q(m, w, J, D));
    }
    difference(velocity, reference_row(c, c->com_velocity, at->row, 3), e);
    add_feature(s, weight_velocity, e, D, 2 * nv);
    return TG_OK;
}

/* ---- all of it ---- */

static const double *last_or(bool last, const double *at_end, const double *otherwise)
{
    return last && at_end != NULL ? at_end : otherwise;
}

tg_status tg_cost_quadratic(const tg_model *m, tg_work *w, const tg_plan_cost *c, const tg_cost_point *at,
                            double *scratch, double *value, double *gradient, double *hessian)
{
    int nv = m->nv, na = m->na, n = 2 * nv + na;
    bool last = at->row == at->rows;
    sums s = {.m = m, .nz = n + m->nu, .gradient = gradient, .hessian = hessian};
    if (gradient != NULL)
        memset(gradient, 0, sizeof(double) * (size_t)s.nz);
    if (hessian != NULL)
        memset(hessian, 0, sizeof(double) * (size_t)s.nz * (size_t)s.nz);
    TG_TRY(add_configuration(&s, w, last_or(last, c->last_q, c->weight_q), at->q,
                             reference_row(c, c->q, at->row, m->nq), scratch));
    add_square(&s, nv, nv, last_or(last, c->last_v, c->weight_v), at->v, reference_row(c, c->v, at->row, nv));
    add_square(&s, 2 * nv, na, last_or(last, c->last_act, c->weight_act), at->act,
               reference_row(c, c->act, at->row, na));
    if (at->u != NULL)
        add_square(&s, n, m->nu, c->weight_u, at->u, reference_row(c, c->u, at->row, m->nu));
    const double *site = last_or(last, c->last_site, c->weight_site), *com = last_or(last, c->last_com, c->weight_com),
                 *velocity = last_or(last, c->last_com_velocity, c->weight_com_velocity);
    if (site != NULL && c->nsite > 0)
    {
        TG_TRY(tg_kinematics(m, w, at->q, NULL));
        TG_TRY(add_sites(&s, w, c, at, site, scratch));
    }
    if (com != NULL || velocity != NULL)
        TG_TRY(add_com(&s, w, c, at, com, velocity, scratch));
    *value = s.value;
    return TG_OK;
}

/* ---- checks ---- */

static tg_status check_weights(const char *name, const double *weight, int n, tg_error *error)
{
    if (weight == NULL)
        return TG_OK;
    TG_TRY(tg_check_numbers(name, weight, n, error));
    for (int i = 0; i < n; i++)
        if (weight[i] < 0)
            return tg_fail(error, TG_ERR_VALUE, "%s[%d] = %g is negative", name, i, weight[i]);
    return TG_OK;
}

static tg_status check_references(const tg_model *m, const tg_plan_cost *c, int rows, tg_error *error)
{
    int count = c->moving ? rows + 1 : 1;
    const struct
    {
        const char *name;
        const double *at;
        int n;
    } references[] = {{"cost.v", c->v, m->nv}, {"cost.act", c->act, m->na},
                      {"cost.u", c->u, m->nu}, {"cost.site_target", c->site_target, 3 * c->nsite},
                      {"cost.com", c->com, 3}, {"cost.com_velocity", c->com_velocity, 3}};
    for (size_t i = 0; i < sizeof references / sizeof *references; i++)
        if (references[i].at != NULL)
            TG_TRY(tg_check_numbers(references[i].name, references[i].at, count * references[i].n, error));
    for (int row = 0; c->q != NULL && row < count; row++)
        TG_TRY(tg_check_configuration(m, "cost.q", c->q + (size_t)row * (size_t)m->nq, error));
    return TG_OK;
}

tg_status tg_plan_cost_check(const tg_model *m, const tg_plan_cost *c, int rows, tg_error *error)
{
    const struct
    {
        const char *name;
        const double *at;
        int n;
    } weights[] = {{"cost.weight_q", c->weight_q, m->nv},
                   {"cost.weight_v", c->weight_v, m->nv},
                   {"cost.weight_act", c->weight_act, m->na},
                   {"cost.weight_u", c->weight_u, m->nu},
                   {"cost.weight_site", c->weight_site, 3 * c->nsite},
                   {"cost.weight_com", c->weight_com, 3},
                   {"cost.weight_com_velocity", c->weight_com_velocity, 3},
                   {"cost.last_q", c->last_q, m->nv},
                   {"cost.last_v", c->last_v, m->nv},
                   {"cost.last_act", c->last_act, m->na},
                   {"cost.last_site", c->last_site, 3 * c->nsite},
                   {"cost.last_com", c->last_com, 3},
                   {"cost.last_com_velocity", c->last_com_velocity, 3}};
    if (c->nsite < 0 || (c->nsite > 0 && c->site == NULL))
        return tg_fail(error, TG_ERR_ARGUMENT, "cost.nsite = %d%s", c->nsite,
                       c->nsite > 0 ? ", cost.site is NULL" : "");
    for (int i = 0; i < c->nsite; i++)
        if (c->site[i] < 0 || c->site[i] >= m->nsite)
            return tg_fail(error, TG_ERR_ARGUMENT, "cost.site[%d] = %d; the model has %d", i, c->site[i], m->nsite);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++)
        TG_TRY(check_weights(weights[i].name, weights[i].at, weights[i].n, error));
    return check_references(m, c, rows, error);
}

tg_status tg_cost_check_values(const double *value, int count, int rows, int sample, bool infinite, tg_error *error)
{
    for (int i = 0; i < count; i++)
        if (isnan(value[i]) || (isinf(value[i]) && !(infinite && value[i] > 0)))
            return tg_fail(error, TG_ERR_NUMERIC, "the cost of sample %d, row %d is %g", sample + i / (rows + 1),
                           i % (rows + 1), value[i]);
    return TG_OK;
}
