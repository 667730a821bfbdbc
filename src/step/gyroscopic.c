/* Implicit bias forces.
 *
 * bias(q, v) = h(v, v) + gravity's is quadratic in v, so that its slope along x is exactly (bias(v + x) - bias(v - x)) / 2. One Newton step of v_free at its own bias is
 *     B (v_free - v) = dt f(q, v),    B = A + dt d bias / d v,
 * MuJoCo's integrator "implicit". B is not symmetric, so impulses go on acting through A: v+ = v_free + A^-1 J^T L. Column k of B is dt times half the difference of inverse
 * dynamics at (v + s e_k, s/dt e_k) and (v - s e_k, -s/dt e_k), whatever s is; trees do not meet in it, so one pair of sweeps makes a column of each. */
#include "step/gyroscopic.h"

#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/rnea.h"
#include "math/dense.h"
#include "step/step.h"

bool tg_gyroscopic_fits(const tg_model *m)
{
    bool fits = true;
    for (int t = 0; t < m->ntree; t++)
        fits = fits && m->tree_ndof[t] <= TG_GYROSCOPIC_DOFS;
    return fits;
}

size_t tg_gyroscopic_size(const tg_model *m)
{
    size_t sum = 0;
    for (int t = 0; t < m->ntree; t++)
        sum += (size_t)m->tree_ndof[t] * (size_t)m->tree_ndof[t];
    return tg_gyroscopic_fits(m) ? sum : 0;
}

/* inverse dynamics at v + s e, s/dt e of all trees' dof number k; without armature */
static void sweep(const tg_model *m, tg_work *w, int k, double s, double *tau)
{
    tg_step_work *x = w->step;
    double *v = x->cotangent, *a = v + m->nv;
    memcpy(v, x->v, sizeof(double) * (size_t)m->nv);
    memset(a, 0, sizeof(double) * (size_t)m->nv);
    for (int t = 0; t < m->ntree; t++)
        if (k < m->tree_ndof[t])
        {
            v[m->tree_dof[t] + k] += s;
            a[m->tree_dof[t] + k] = s / x->options.dt;
        }
    tg_node_twists(m, w, v, w->V);
    tg_newton_euler(m, w, a, tau);
}

static void set_column(const tg_model *m, const tg_work *w, int k, double scale, const double *up, const double *down)
{
    double *B = w->step->gyroscopic;
    for (int t = 0; t < m->ntree; t++)
    {
        int n = m->tree_ndof[t], first = m->tree_dof[t];
        for (int i = 0; i < n && k < n; i++)
            B[(ptrdiff_t)i * n + k] = scale * (up[first + i] - down[first + i]);
        if (k < n)
            B[(ptrdiff_t)k * (n + 1)] += w->params->dof_armature[first + k] + w->step->extra[first + k];
        B += (ptrdiff_t)n * n;
    }
}

tg_status tg_gyroscopic_factor(const tg_model *m, tg_work *w)
{
    tg_step_work *x = w->step;
    double *up = x->cotangent + 2 * m->nv, *down = x->cotangent + 3 * m->nv, size = 1;
    int most = 0;
    for (int t = 0; t < m->ntree; t++)
        most = m->tree_ndof[t] > most ? m->tree_ndof[t] : most;
    for (int k = 0; k < m->nv; k++)
        size = fmax(size, fabs(x->v[k])); /* so that neither v nor e is lost in the sum */
    for (int k = 0; k < most; k++)
    {
        sweep(m, w, k, size, up);
        sweep(m, w, k, -size, down);
        set_column(m, w, k, 0.5 * x->options.dt / size, up, down);
    }
    tg_node_twists(m, w, x->v, w->V);
    double *B = x->gyroscopic;
    for (int t = 0; t < m->ntree; t++)
    {
        int n = m->tree_ndof[t];
        if (tg_lu(n, B, n, x->gyroscopic_pivot + m->tree_dof[t]) >= 0)
            return tg_fail(&w->error, TG_ERR_NUMERIC,
                           "implicit_gyroscopic: the matrix of the tree with dofs %d .. %d is singular", m->tree_dof[t],
                           m->tree_dof[t] + n - 1);
        B += (ptrdiff_t)n * n;
    }
    x->gyroscopic_factored = true;
    return TG_OK;
}

static void solve(const tg_model *m, const tg_work *w, bool transposed, double *x)
{
    const double *B = w->step->gyroscopic;
    for (int t = 0; t < m->ntree; t++)
    {
        int n = m->tree_ndof[t], first = m->tree_dof[t];
        (transposed ? tg_lu_solve_t : tg_lu_solve)(n, B, n, w->step->gyroscopic_pivot + first, 1, x + first, 1);
        B += (ptrdiff_t)n * n;
    }
}

void tg_gyroscopic_solve(const tg_model *m, const tg_work *w, double *x)
{
    solve(m, w, false, x);
}

void tg_gyroscopic_solve_t(const tg_model *m, const tg_work *w, double *x)
{
    solve(m, w, true, x);
}

void tg_gyroscopic_mass(const tg_model *m, tg_work *w, const double *x, double *out)
{
    double *still = w->step->part;
    tg_newton_euler(m, w, NULL, still);
    tg_newton_euler(m, w, x, out);
    for (int k = 0; k < m->nv; k++)
        out[k] += (w->params->dof_armature[k] + w->step->extra[k]) * x[k] - still[k];
}
