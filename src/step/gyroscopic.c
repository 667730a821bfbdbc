/* Implicit gyroscopic forces.
 *
 * A body that turns with w feels w x I w, I about its centre of mass. In the free step the momentum h = I w is that of
 * the start, and the angular velocity across it that of the end:
 *     A x = dt f(q, v) - dt D x,    x = v_free - v,    D_jk = -sum over bodies of J_j . (h x J_k),
 * where f has all bias forces at v, gyroscopic ones among them, J_j is the angular velocity of a body per unit of dof
 * j, and D x is what h adds as w changes by J x. So
 *     B x = dt f,    B = A + dt D.
 * D is skew-symmetric: y . B y = y . A y > 0, and B has an inverse at any speed and any dt. A body that turns freely
 * has D w = w x I w, so that
 *     I (w+ - w) + dt w+ x h = dt torque,    and, times w+,    w+ . I w+ / 2 = w . I w / 2 - (w+ - w) . I (w+ - w) / 2
 *         + dt w+ . torque:
 * no free step of any length gains energy. Bias forces of a linkage that come from its changing mass matrix stay at v.
 *
 * B is not symmetric, so impulses still act through A: v+ = v_free + A^-1 J^T L. */
#include "step/gyroscopic.h"

#include <math.h>

#include "dynamics/crba.h"
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

/* The angular momenta of the nodes about their own centres of mass, summed over subtrees. */
static void fill_momenta(const tg_model *m, const tg_work *w, v4 *momentum)
{
    for (int i = 0; i < m->nnode; i++)
        momentum[i] = v4_zero();
    for (int i = m->nnode - 1; i > 0; i--)
    {
        inertia Y = inertia_load(w->inertia + INERTIA_SIZE * i);
        if (m->node_massive[i])
            momentum[i] += inertia_mul(Y, inertia_turn(Y, spatial_load(w->V + SPATIAL_SIZE * i).ang)).ang;
        momentum[m->node_parent[i]] += momentum[i];
    }
}

/* B of a tree, n x n: A_jk = J_j . (Yc J_k) and D_jk = h . (J_j x J_k) for j on the path from k to the root, Yc and h
 * of all that dof k moves */
static void fill_tree(const tg_model *m, const tg_work *w, int tree, const v4 *momentum, double *B)
{
    const tg_step_work *s = w->step;
    int n = m->tree_ndof[tree], first = m->tree_dof[tree];
    memset(B, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int k = first; k < first + n; k++)
    {
        int node = m->dof_node[k];
        spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
        spatial F = inertia_mul(inertia_load(w->composite + INERTIA_SIZE * node), J);
        v4 h = momentum[node];
        for (int j = m->node_dof[node] + m->node_ndof[node] - 1; j >= 0; j = m->dof_parent[j])
        {
            spatial Jj = spatial_load(w->J + SPATIAL_SIZE * j);
            double mass = spatial_dot(Jj, F), across = s->options.dt * v4_dot(h, v4_cross(Jj.ang, J.ang));
            B[(ptrdiff_t)(j - first) * n + k - first] = mass + across;
            B[(ptrdiff_t)(k - first) * n + j - first] = mass - across;
        }
        B[(ptrdiff_t)(k - first) * (n + 1)] += w->params->dof_armature[k] + s->extra[k];
    }
}

tg_status tg_gyroscopic_factor(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double *B = s->gyroscopic;
    tg_composites(m, w);
    fill_momenta(m, w, s->gyroscopic_momentum);
    for (int t = 0; t < m->ntree; t++)
    {
        int n = m->tree_ndof[t];
        fill_tree(m, w, t, s->gyroscopic_momentum, B);
        if (tg_lu(n, B, n, s->gyroscopic_pivot + m->tree_dof[t]) >= 0)
            return tg_fail(&w->error, TG_ERR_NUMERIC,
                           "implicit_gyroscopic: the matrix of the tree with dofs %d .. %d is not finite",
                           m->tree_dof[t], m->tree_dof[t] + n - 1);
        B += (ptrdiff_t)n * n;
    }
    s->gyroscopic_factored = true;
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
