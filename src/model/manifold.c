/* The configuration manifold: a product of lines, of positions and of unit quaternions. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/status.h"
#include "model/check.h"
#include "model/manifold.h"
#include "model/params.h"
#include "tangere/algebra.h"

#define PI 3.14159265358979323846

/* Where a joint keeps its quaternion in q and the rotation in v; -1: it has none. */
static int quaternion_in(const tg_model *m, int joint)
{
    switch ((tg_joint_type)m->joint_type[joint])
    {
    case TG_JOINT_FREE:
        return 3;
    case TG_JOINT_BALL:
        return 0;
    default:
        return -1;
    }
}

static tg_status check_model(const tg_model *m, tg_error *error)
{
    return m != NULL ? TG_OK : tg_fail(error, TG_ERR_ARGUMENT, "m is NULL");
}

tg_status tg_default_q(const tg_model *m, double *q, tg_error *error)
{
    TG_TRY(check_model(m, error));
    TG_TRY(tg_check_present("q", q, m->nq, error));
    if (m->nq > 0)
        memcpy(q, m->params->q0, (size_t)m->nq * sizeof *q);
    return TG_OK;
}

void tg_advance(const tg_model *m, const double *q, const double *dv, double *q1)
{
    for (int joint = 0; joint < m->njoint; joint++)
    {
        const double *from = q + m->joint_q[joint];
        const double *change = dv + m->joint_dof[joint];
        double *to = q1 + m->joint_q[joint];
        int at = quaternion_in(m, joint);
        int linear = at < 0 ? 1 : at;
        for (int i = 0; i < linear; i++)
            to[i] = from[i] + change[i];
        if (at >= 0)
            tg_quat_integrate(from + at, change + at, to + at);
    }
}

tg_status tg_integrate(const tg_model *m, const double *q, const double *dv, double *q1, tg_error *error)
{
    TG_TRY(check_model(m, error));
    TG_TRY(tg_check_configuration(m, "q", q, error));
    TG_TRY(tg_check_numbers("dv", dv, m->nv, error));
    TG_TRY(tg_check_present("q1", q1, m->nq, error));
    tg_advance(m, q, dv, q1);
    return TG_OK;
}

tg_status tg_difference(const tg_model *m, const double *q0, const double *q1, double *dv, tg_error *error)
{
    TG_TRY(check_model(m, error));
    TG_TRY(tg_check_configuration(m, "q0", q0, error));
    TG_TRY(tg_check_configuration(m, "q1", q1, error));
    TG_TRY(tg_check_present("dv", dv, m->nv, error));
    for (int joint = 0; joint < m->njoint; joint++)
    {
        const double *from = q0 + m->joint_q[joint];
        const double *to = q1 + m->joint_q[joint];
        double *change = dv + m->joint_dof[joint];
        int at = quaternion_in(m, joint);
        int linear = at < 0 ? 1 : at;
        for (int i = 0; i < linear; i++)
            change[i] = to[i] - from[i];
        if (at >= 0)
            tg_quat_difference(from + at, to + at, change + at);
    }
    return TG_OK;
}

/* ---- random states ---- */

/* SplitMix64 (Steele, Lea, Flood 2014): a Weyl sequence through a mixing function. */
static uint64_t next_bits(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* in [low, high] */
static double uniform(uint64_t *state, double low, double high)
{
    double u = (double)(next_bits(state) >> 11) * 0x1p-53;
    return low + u * (high - low);
}

/* standard normal, by the transform of Box and Muller */
static double normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(1 - uniform(state, 0, 1)));
    return radius * cos(uniform(state, 0, 2 * PI));
}

/* a direction, evenly distributed over the sphere in n dimensions */
static void random_direction(uint64_t *state, int n, double *out)
{
    double sum;
    do
    {
        sum = 0;
        for (int i = 0; i < n; i++)
        {
            out[i] = normal(state);
            sum += out[i] * out[i];
        }
    } while (sum < 1e-20);
    for (int i = 0; i < n; i++)
        out[i] /= sqrt(sum);
}

static void random_joint(const tg_model *m, int joint, uint64_t *state, double *q)
{
    const double *range = TG_PARAM(m->params, joint_range) + 2 * joint;
    bool limited = m->joint_limited[joint] != 0;
    double axis[3];
    switch ((tg_joint_type)m->joint_type[joint])
    {
    case TG_JOINT_FREE:
        for (int i = 0; i < 3; i++)
            q[i] = uniform(state, -1, 1);
        random_direction(state, 4, q + 3);
        break;
    case TG_JOINT_BALL:
        if (!limited)
        {
            random_direction(state, 4, q);
            break;
        }
        random_direction(state, 3, axis);
        tg_quat_from_axis_angle(axis, uniform(state, 0, fmin(range[1], PI)), q);
        break;
    case TG_JOINT_SLIDE:
        q[0] = limited ? uniform(state, range[0], range[1]) : uniform(state, -1, 1);
        break;
    default:
        q[0] = limited ? uniform(state, range[0], range[1]) : uniform(state, -PI, PI);
    }
}

tg_status tg_random_state(const tg_model *m, uint64_t seed, double *q, double *v, tg_error *error)
{
    TG_TRY(check_model(m, error));
    TG_TRY(tg_check_present("q", q, m->nq, error));
    uint64_t state = seed;
    for (int joint = 0; joint < m->njoint; joint++)
        random_joint(m, joint, &state, q + m->joint_q[joint]);
    for (int i = 0; i < m->nv && v != NULL; i++)
        v[i] = normal(&state);
    return TG_OK;
}
