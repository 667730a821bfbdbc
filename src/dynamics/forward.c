/* Forward dynamics: a = M^-1 (tau + passive - bias), with M = L^T D L factored over the tree. */
#include "dynamics/forward.h"

#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"

tg_status tg_accelerate(const tg_model *m, tg_work *w, const double *q, const double *v, const double *tau, double *a)
{
    double *bias = w->vec, *force = w->vec + m->nv;
    tg_position_stage(m, w, q);
    TG_TRY(tg_factor_mass(m, w, NULL, NULL));
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    tg_newton_euler(m, w, NULL, bias);
    tg_tendon_stage(m, w, q, v);
    tg_passive_force(m, w, q, v, 0, force);
    for (int k = 0; k < m->nv; k++)
        a[k] = (tau != NULL ? tau[k] : 0) + force[k] - bias[k];
    tg_solve_mass(m, w, a);
    return TG_OK;
}

tg_status tg_forward_dynamics(const tg_model *m, tg_work *w, const double *q, const double *v, const double *tau,
                              double *a)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (tau != NULL)
        TG_TRY(tg_check_vector(w, "tau", tau, m->nv));
    TG_TRY(tg_check_output(w, "a", a, m->nv));
    double *result = w->vec + 2 * m->nv;
    TG_TRY(tg_accelerate(m, w, q, v, tau, result));
    memcpy(a, result, sizeof(double) * (size_t)m->nv);
    return TG_OK;
}
