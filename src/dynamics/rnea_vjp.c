/* Reverse mode of inverse dynamics: O(nv), no matrix is formed. */
#include <float.h>
#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/rnea.h"
#include "dynamics/vjp.h"
#include "tangere/algebra.h"

tg_gradient tg_gradient_begin(const tg_model *m, tg_work *w, double *params)
{
    double *zeros = w->vec + 4 * m->nv;
    memset(zeros, 0, sizeof(double) * 3 * (size_t)m->nv);
    if (params != NULL)
        memset(params, 0, sizeof(double) * (size_t)m->nparams);
    return (tg_gradient){zeros, zeros + m->nv, zeros + 2 * m->nv, params};
}

/* Of a rotation to those of a quaternion q of any length: dtheta = 2 vec(dq conj(q)) / |q|^2 (tg_quat_raw_tangent). */
static void end_quaternion(const double *q, double *g)
{
    v4 of = v4_loadu(q), x = v4_splat(g[0]), y = v4_splat(g[1]), z = v4_splat(g[2]);
    double square = v4_dot(of, of);
    if (square < DBL_MIN || square > DBL_MAX) /* of numbers that have no squares */
    {
        double T[12];
        tg_quat_raw_tangent(q, T);
        v4_storeu(g, x * v4_loadu(T) + y * v4_loadu(T + 4) + z * v4_loadu(T + 8));
        return;
    }
    const v4 sign_x = {-1, 1, -1, 1}, sign_y = {-1, 1, 1, -1}, sign_z = {-1, -1, 1, 1};
    v4 turned = x * sign_x * V4_SHUFFLE(of, 1, 0, 3, 2) + y * sign_y * V4_SHUFFLE(of, 2, 3, 0, 1) +
                z * sign_z * V4_SHUFFLE(of, 3, 2, 1, 0);
    v4_storeu(g, turned * v4_splat(2 / square));
}

static void end_quaternions(int count, const double *quat, double *g)
{
    for (int i = 0; i < 4 * count; i += 4)
        if (g[i] != 0 || g[i + 1] != 0 || g[i + 2] != 0)
            end_quaternion(quat + i, g + i);
}

void tg_gradient_end(const tg_model *m, const tg_work *w, double *params)
{
    if (params == NULL)
        return;
    const tg_params *p = w->params;
    end_quaternions(m->nbody, TG_PARAM(p, body_quat), params + m->offset.body_quat);
    end_quaternions(m->ngeom, TG_PARAM(p, geom_quat), params + m->offset.geom_quat);
    end_quaternions(m->nsite, TG_PARAM(p, site_quat), params + m->offset.site_quat);
    const double *axis = TG_PARAM(p, joint_axis);
    for (int i = 0; i < 3 * m->njoint; i += 3)
    {
        double square = axis[i] * axis[i] + axis[i + 1] * axis[i + 1] + axis[i + 2] * axis[i + 2];
        if (square == 1)
            continue;
        double norm = sqrt(square);
        for (int k = 0; k < 3 && norm > 0; k++)
            params[m->offset.joint_axis + i + k] /= norm;
    }
}

void tg_gradient_copy(const tg_model *m, const double *gradient, double *out)
{
    if (out != NULL)
        memcpy(out, gradient, sizeof(double) * (size_t)m->nv);
}

void tg_rnea_reverse(const tg_model *m, tg_work *w, const double *a, const double *y, double scale, tg_gradient g)
{
    tg_adjoint_rnea(m, w, scale, g.params);
    for (int k = 0; k < m->nv; k++)
    {
        g.a[k] += scale * w->params->dof_armature[k] * y[k];
        if (g.params != NULL && a != NULL)
            g.params[m->offset.joint_armature + m->dof_joint[k]] += scale * a[k] * y[k];
    }
}

tg_status tg_rnea_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a, const double *y,
                      double *gq, double *gv, double *ga, double *gparams)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (a != NULL)
        TG_TRY(tg_check_vector(w, "a", a, m->nv));
    TG_TRY(tg_check_vector(w, "y", y, m->nv));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    tg_node_accelerations(m, w, a);
    memset(w->vec, 0, sizeof(double) * (size_t)m->nv);
    tg_adjoint_fields fields = {.v = v, .y = y, .a = a != NULL ? a : w->vec};
    tg_gradient g = tg_gradient_begin(m, w, gparams);
    tg_adjoint_begin(m, w, y);
    tg_rnea_reverse(m, w, a, y, 1, g);
    tg_adjoint_end(m, w, q, &fields, g.q, g.v, g.a, g.params);
    tg_gradient_end(m, w, g.params);
    tg_gradient_copy(m, g.q, gq);
    tg_gradient_copy(m, g.v, gv);
    tg_gradient_copy(m, g.a, ga);
    return TG_OK;
}
