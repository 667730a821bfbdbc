/* Between q as nq numbers and the tangent space. */
#include "_core_batch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool tg_chart_make(const tg_model *m, tg_chart *c)
{
    tg_sizes n = tg_model_sizes(m);
    *c = (tg_chart){.nq = n.nq, .nv = n.nv};
    c->quat_q = malloc(sizeof(int) * 2 * (size_t)(n.njoint + 1));
    if (c->quat_q == NULL)
        return false;
    c->quat_v = c->quat_q + n.njoint + 1;
    for (int i = 0; i < n.njoint; i++)
    {
        tg_joint_info joint;
        if (tg_joint_get(m, i, &joint, NULL) != TG_OK || (joint.type != TG_JOINT_FREE && joint.type != TG_JOINT_BALL))
            continue;
        int place = joint.type == TG_JOINT_FREE ? 3 : 0; /* a position comes first */
        c->quat_q[c->nquat] = joint.q + place;
        c->quat_v[c->nquat++] = joint.dof + place;
    }
    return true;
}

void tg_chart_drop(tg_chart *c)
{
    free(c->quat_q);
    *c = (tg_chart){0};
}

static double norm2(const double q[4])
{
    return q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
}

/* out = s Q(q) t: the quaternion product q (0, t) */
static void apply(const double q[4], double s, const double t[3], double out[4])
{
    out[0] = s * (-q[1] * t[0] - q[2] * t[1] - q[3] * t[2]);
    out[1] = s * (q[0] * t[0] - q[3] * t[1] + q[2] * t[2]);
    out[2] = s * (q[3] * t[0] + q[0] * t[1] - q[1] * t[2]);
    out[3] = s * (-q[2] * t[0] + q[1] * t[1] + q[0] * t[2]);
}

/* t = s Q(q)^T x */
static void apply_transpose(const double q[4], double s, const double x[4], double t[3])
{
    t[0] = s * (-q[1] * x[0] + q[0] * x[1] + q[3] * x[2] - q[2] * x[3]);
    t[1] = s * (-q[2] * x[0] - q[3] * x[1] + q[0] * x[2] + q[1] * x[3]);
    t[2] = s * (-q[3] * x[0] + q[2] * x[1] - q[1] * x[2] + q[0] * x[3]);
}

bool tg_chart_normalise(const tg_chart *c, size_t rows, const double *q, double *to)
{
    bool ok = true;
    memcpy(to, q, sizeof(double) * rows * (size_t)c->nq);
    for (size_t row = 0; row < rows; row++)
        for (int i = 0; i < c->nquat; i++)
        {
            double *x = to + row * (size_t)c->nq + c->quat_q[i], size = sqrt(norm2(x));
            bool good = size > 0 && isfinite(size);
            ok = ok && good;
            for (int j = 0; j < 4 && good; j++)
                x[j] /= size;
        }
    return ok;
}

/* Numbers between quaternions are the same in q and in the tangent space. */
static void copy_plain(const tg_chart *c, double *to, bool to_tangent, const double *from)
{
    int q = 0, v = 0;
    for (int i = 0; i <= c->nquat; i++)
    {
        int end = i < c->nquat ? c->quat_q[i] : c->nq;
        size_t bytes = sizeof(double) * (size_t)(end - q);
        if (end > q)
            memcpy(to + (to_tangent ? v : q), from + (to_tangent ? q : v), bytes);
        v += end - q + 3;
        q = end + 4;
    }
}

/* tangent = scale(q) Q(q)^T x, quaternion by quaternion */
static void to_tangent(const tg_chart *c, size_t rows, const double *q, const double *x, double *tangent, bool in)
{
    for (size_t row = 0; row < rows; row++)
    {
        const double *at = q + row * (size_t)c->nq, *from = x + row * (size_t)c->nq;
        double *to = tangent + row * (size_t)c->nv;
        copy_plain(c, to, true, from);
        for (int i = 0; i < c->nquat; i++)
        {
            const double *quat = at + c->quat_q[i];
            apply_transpose(quat, in ? 2 / norm2(quat) : 0.5, from + c->quat_q[i], to + c->quat_v[i]);
        }
    }
}

static void from_tangent(const tg_chart *c, size_t rows, const double *q, const double *tangent, double *x, bool in)
{
    for (size_t row = 0; row < rows; row++)
    {
        const double *at = q + row * (size_t)c->nq, *from = tangent + row * (size_t)c->nv;
        double *to = x + row * (size_t)c->nq;
        copy_plain(c, to, false, from);
        for (int i = 0; i < c->nquat; i++)
        {
            const double *quat = at + c->quat_q[i];
            apply(quat, in ? 2 / norm2(quat) : 0.5, from + c->quat_v[i], to + c->quat_q[i]);
        }
    }
}

void tg_chart_gradient_out(const tg_chart *c, size_t rows, const double *q, const double *gq, double *tangent)
{
    to_tangent(c, rows, q, gq, tangent, false);
}

void tg_chart_gradient_in(const tg_chart *c, size_t rows, const double *q, const double *tangent, double *gq)
{
    from_tangent(c, rows, q, tangent, gq, true);
}

void tg_chart_change_in(const tg_chart *c, size_t rows, const double *q, const double *dq, double *tangent)
{
    to_tangent(c, rows, q, dq, tangent, true);
}

void tg_chart_change_out(const tg_chart *c, size_t rows, const double *q, const double *tangent, double *dq)
{
    from_tangent(c, rows, q, tangent, dq, false);
}
