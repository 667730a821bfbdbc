/* Derivatives of forward dynamics. From M a + bias - passive = tau, with RNEA(q, v, a) = M a + bias at the solution a:
 *
 *   da/dq = -M^-1 (dRNEA/dq - dpassive/dq),   da/dv = -M^-1 (dRNEA/dv - dpassive/dv),   da/dtau = M^-1. */
#include "dynamics/factors.h"
#include "dynamics/forward.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "dynamics/rnea_deriv.h"
#include "math/ltl.h"

/* X = M^-1 X, X: nv x nv. Rows of a tree that has no tendon to another are zero outside its own columns. */
static void solve_matrix(const tg_model *m, const tg_work *w, double *X)
{
    for (int t = 0; t < m->ntree; t++)
    {
        int first = m->tree_dof[t];
        int column = m->ntendon > 0 ? 0 : first, columns = m->ntendon > 0 ? m->nv : m->tree_ndof[t];
        tg_ltl_solve_many(&m->tree_ltl[t], w->M + m->tree_matrix[t], w->dinv + first, columns,
                          X + (size_t)first * (size_t)m->nv + column, m->nv);
    }
}

/* M^-1, one block a tree */
static void invert_mass(const tg_model *m, const tg_work *w, double *out)
{
    memset(out, 0, sizeof(double) * (size_t)m->nv * (size_t)m->nv);
    for (int t = 0; t < m->ntree; t++)
    {
        int first = m->tree_dof[t];
        tg_ltl_inverse(&m->tree_ltl[t], w->M + m->tree_matrix[t], w->dinv + first,
                       out + (size_t)first * (size_t)m->nv + first, m->nv);
    }
}

tg_status tg_forward_dynamics_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                          const double *tau, double *da_dq, double *da_dv, double *da_dtau)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (tau != NULL)
        TG_TRY(tg_check_vector(w, "tau", tau, m->nv));
    double *a = w->vec + 2 * m->nv;
    TG_TRY(tg_accelerate(m, w, q, v, tau, a));
    if (da_dq != NULL || da_dv != NULL)
    {
        tg_newton_euler(m, w, a, NULL);
        tg_newton_euler_derivatives(m, w, -1, da_dq, da_dv);
        tg_add_passive_derivatives(m, w, q, (tg_tendon_when){v, 0}, da_dq, da_dv);
        if (da_dq != NULL)
            solve_matrix(m, w, da_dq);
        if (da_dv != NULL)
            solve_matrix(m, w, da_dv);
    }
    if (da_dtau != NULL)
        invert_mass(m, w, da_dtau);
    return TG_OK;
}
