/* Reverse mode of forward dynamics. From M a + bias - passive = tau, with z = M^-1 y:
 *
 *   d(y . a) = z . (d tau + d passive - d RNEA(q, v, a) at fixed a). */
#include "dynamics/factors.h"
#include "dynamics/forward.h"
#include "dynamics/rnea.h"
#include "dynamics/vjp.h"

tg_status tg_forward_dynamics_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *tau,
                                  const double *y, double *gq, double *gv, double *gtau, double *gparams)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (tau != NULL)
        TG_TRY(tg_check_vector(w, "tau", tau, m->nv));
    TG_TRY(tg_check_vector(w, "y", y, m->nv));
    double *a = w->vec + 2 * m->nv, *z = w->vec + 3 * m->nv;
    memcpy(z, y, sizeof(double) * (size_t)m->nv);
    TG_TRY(tg_accelerate(m, w, q, v, tau, a));
    tg_solve_mass(m, w, z);
    tg_node_accelerations(m, w, a);
    tg_gradient g = tg_gradient_begin(m, w, gparams);
    tg_adjoint_begin(m, w, z);
    tg_rnea_reverse(m, w, a, z, -1, g);
    tg_passive_reverse(m, w, q, v, (tg_tendon_when){v, 0}, z, g);
    tg_adjoint_end(m, w, q, &(tg_adjoint_fields){.v = v, .y = z, .a = a}, g.q, g.v, g.a, g.params);
    tg_gradient_end(m, w, g.params);
    tg_gradient_copy(m, g.q, gq);
    tg_gradient_copy(m, g.v, gv);
    tg_gradient_copy(m, z, gtau);
    return TG_OK;
}
