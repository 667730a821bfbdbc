/* Reverse mode of inverse dynamics: O(nv), no matrix is formed. */
#include "dynamics/kinematics.h"
#include "dynamics/rnea.h"
#include "dynamics/vjp.h"

tg_gradient tg_gradient_begin(const tg_model *m, tg_work *w, double *params)
{
    double *zeros = w->vec + 4 * m->nv;
    memset(zeros, 0, sizeof(double) * 3 * (size_t)m->nv);
    if (params != NULL)
        memset(params, 0, sizeof(double) * (size_t)m->nparams);
    return (tg_gradient){zeros, zeros + m->nv, zeros + 2 * m->nv, params};
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
    tg_gradient g = tg_gradient_begin(m, w, gparams);
    tg_adjoint_begin(m, w, y);
    tg_rnea_reverse(m, w, a, y, 1, g);
    tg_adjoint_end(m, w, q, true, g.q, g.v, g.a, g.params);
    tg_gradient_copy(m, g.q, gq);
    tg_gradient_copy(m, g.v, gv);
    tg_gradient_copy(m, g.a, ga);
    return TG_OK;
}
