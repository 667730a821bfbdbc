/* Derivatives of inverse dynamics with respect to q and v.
 *
 * Carpentier and Mansard, Analytical Derivatives of Rigid Body Dynamics Algorithms (2018), in world axes. For dof k of
 * node i with parent l, a motion along J_k changes what the bodies behind it see by
 *
 *   dV_k = V_l x J_k,   dA_k = A_l x J_k + V_l x dV_k,   dAv_k = V_i x J_k + dV_k.
 *
 * With the sums over the subtree of node i, Yc = sum I, Fc = sum F, Bc = sum B, where
 * B x = V x* (I x) - I (V x x) + x x* (I V) is the derivative of V x* I V:
 *
 *   rows above (dofs j of nodes before i):  d tau_j / d q_k = J_j . (Bc dV_k + Yc dA_k + J_k x* Fc)
 *                                           d tau_j / d v_k = J_j . (Bc J_k + Yc dAv_k)
 *   rows below and of the node itself, seen from the row k and for a column c on its path:
 *                                           d tau_k / d q_c = (Yc J_k) . dA_c + (Bc^T J_k) . dV_c
 *                                           d tau_k / d v_c = (Yc J_k) . dAv_c + (Bc^T J_k) . J_c
 *
 * B has a closed form. With p = m v + w x h the linear momentum, h = m c, I about the origin:
 *
 *   B (u; w') = (2 w' x p; K w'),   K = [w]x (2 I - tr(I) 1) - 2 [h]x [v]x,
 *
 * because the part of the inertia's rate that acts on u cancels against u x* (I V). So B^T (u; w') = (0; 2 p x u + K^T
 * w'), and the sum of B is one vector and one 3x3 matrix. Derivation: docs/dynamics.md.
 *
 * External forces that change by K Z when their body is displaced by Z, beside turning with it, add -Kc J_k to the rows
 * above and -(Kc^T J_k) . J_c to those below, Kc = sum K over the subtree. */
#include "dynamics/rnea_deriv.h"

#include "dynamics/crba.h"
#include "dynamics/kinematics.h"
#include "dynamics/rnea.h"
#include "math/lanes.h"

/* ---- the sums over subtrees ---- */

static mat3 velocity_matrix(inertia Y, spatial V)
{
    v4 h = v4_set(Y.hm[0], Y.hm[1], Y.hm[2], 0);
    v4 trace = v4_splat(Y.I.c[0][0] + Y.I.c[1][1] + Y.I.c[2][2]);
    v4 hv = v4_splat(v4_dot(h, V.lin));
    mat3 E = mat3_identity(), K;
    for (int j = 0; j < 3; j++) /* -2 [h]x [v]x e_j = 2 ((h.v) e_j - v h_j) */
    {
        v4 rate = v4_cross(V.ang, Y.I.c[j] + Y.I.c[j] - trace * E.c[j]);
        v4 shift = hv * E.c[j] - V.lin * v4_splat(h[j]);
        K.c[j] = rate + shift + shift;
    }
    return K;
}

static void velocity_matrices(const tg_model *m, tg_work *w)
{
    for (int i = 1; i < m->nnode; i++)
    {
        mat3 K = {0};
        v4 p = v4_zero();
        if (m->node_massive[i])
        {
            inertia Y = inertia_load(w->inertia + INERTIA_SIZE * i);
            spatial V = spatial_load(w->V + SPATIAL_SIZE * i);
            K = velocity_matrix(Y, V);
            p = inertia_mul(Y, V).lin;
        }
        mat3_store(w->K + MAT3_SIZE * i, K);
        v4_store(w->p + 4 * i, p);
    }
    for (int i = m->nnode - 1; i > 0; i--)
    {
        int l = m->node_parent[i];
        if (l == 0)
            continue;
        mat3_store(w->K + MAT3_SIZE * l, mat3_add(mat3_load(w->K + MAT3_SIZE * l), mat3_load(w->K + MAT3_SIZE * i)));
        v4_store(w->p + 4 * l, v4_load(w->p + 4 * l) + v4_load(w->p + 4 * i));
    }
}

/* ---- forces that follow displacements ---- */

spatial tg_stiffness_mul(const tg_stiffness *K, spatial x)
{
    spatial sum = spatial_zero();
    for (int i = 0; i < 3; i++)
    {
        sum = spatial_axpy(sum, x.lin[i], K->column[i]);
        sum = spatial_axpy(sum, x.ang[i], K->column[3 + i]);
    }
    return sum;
}

static spatial stiffness_mul_t(const tg_stiffness *K, spatial x)
{
    v4 power[6];
    for (int i = 0; i < 6; i++)
        power[i] = K->column[i].lin * x.lin + K->column[i].ang * x.ang;
    return (spatial){v4_sum3(power[0], power[1], power[2]), v4_sum3(power[3], power[4], power[5])};
}

void tg_stiffness_add(tg_node_stiffness *sum, const tg_stiffness *K)
{
    for (int i = 0; i < 6; i++)
        sum->K.column[i] = sum->any ? spatial_add(sum->K.column[i], K->column[i]) : K->column[i];
    sum->any = true;
}

static void sum_stiffness(const tg_model *m, tg_node_stiffness *of)
{
    for (int i = m->nnode - 1; i > 0 && of != NULL; i--)
        if (of[i].any)
            tg_stiffness_add(&of[m->node_parent[i]], &of[i].K);
}

/* ---- columns: dV, dA, dAv of each dof ---- */

static void motion_columns(const tg_model *m, tg_work *w)
{
    for (int i = 1; i < m->nnode; i++)
    {
        int l = m->node_parent[i];
        spatial Vl = spatial_load(w->V + SPATIAL_SIZE * l), Al = spatial_load(w->A + SPATIAL_SIZE * l);
        spatial Vi = spatial_load(w->V + SPATIAL_SIZE * i);
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
        {
            spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
            spatial dV = motion_cross(Vl, J);
            spatial dA = spatial_add(motion_cross(Al, J), motion_cross(Vl, dV));
            spatial dAv = m->node_ndof[i] == 1 ? spatial_scale(dV, 2) : spatial_add(motion_cross(Vi, J), dV);
            spatial_store(w->dV + SPATIAL_SIZE * k, dV);
            spatial_store(w->dA + SPATIAL_SIZE * k, dA);
            spatial_store(w->dAv + SPATIAL_SIZE * k, dAv);
        }
    }
    for (int t = 0; t < m->ntree; t++)
    {
        tg_transpose_panel(m, t, w->dV, w->dVt);
        tg_transpose_panel(m, t, w->dA, w->dAt);
        tg_transpose_panel(m, t, w->dAv, w->dAvt);
    }
}

/* ---- rows ---- */

/* The wrenches that a dof contributes: to the rows above it, and as a row to the columns before it. */
typedef struct dof_wrenches
{
    spatial above_q, above_v; /* Bc dV + Yc dA + J x* Fc, Bc J + Yc dAv */
    spatial YJ;               /* Yc J */
    v4 BJ;                    /* Bc^T J, angular part */
} dof_wrenches;

static spatial velocity_force(mat3 K, v4 p, spatial x) /* B x */
{
    v4 wp = v4_cross(x.ang, p);
    return (spatial){wp + wp, mat3_mul(K, x.ang)};
}

static inline dof_wrenches wrenches_of(const tg_work *w, int node, int k)
{
    inertia Y = inertia_load(w->composite + INERTIA_SIZE * node);
    mat3 K = mat3_load(w->K + MAT3_SIZE * node);
    v4 p = v4_load(w->p + 4 * node);
    spatial F = spatial_load(w->F + SPATIAL_SIZE * node), J = spatial_load(w->J + SPATIAL_SIZE * k);
    spatial dV = spatial_load(w->dV + SPATIAL_SIZE * k);
    spatial from_q = spatial_add(velocity_force(K, p, dV), inertia_mul(Y, spatial_load(w->dA + SPATIAL_SIZE * k)));
    spatial from_v = spatial_add(velocity_force(K, p, J), inertia_mul(Y, spatial_load(w->dAv + SPATIAL_SIZE * k)));
    v4 pu = v4_cross(p, J.lin);
    return (dof_wrenches){
        .above_q = spatial_add(from_q, force_cross(J, F)),
        .above_v = from_v,
        .YJ = inertia_mul(Y, J),
        .BJ = pu + pu + mat3_mul_t(K, J.ang),
    };
}

/* dot products of a wrench with four columns of a panel; f holds the six numbers as lin, pad, ang, pad */
static inline v4 dot_linear(const double *panel, int ld, const double *f)
{
    return v4_load(panel) * v4_splat(f[0]) + v4_load(panel + ld) * v4_splat(f[1]) +
           v4_load(panel + 2 * ld) * v4_splat(f[2]);
}

static inline v4 dot_angular(const double *panel, int ld, const double *f)
{
    return v4_load(panel + 3 * ld) * v4_splat(f[0]) + v4_load(panel + 4 * ld) * v4_splat(f[1]) +
           v4_load(panel + 5 * ld) * v4_splat(f[2]);
}

static inline v4 dot_panel(const double *panel, int ld, const double *f)
{
    return dot_linear(panel, ld, f) + dot_angular(panel, ld, f + 4);
}

typedef struct row_buffers
{
    double *row_q, *row_v, *column_q, *column_v; /* tree_ld numbers each */
} row_buffers;

/* A tree's square matrices inside of the caller's nv x nv ones, from entry (0, 0) of the tree; NULL: not wanted. */
typedef struct squares
{
    double *q, *v;
} squares;

TG_INLINE void add_entries(squares out, bool by_q, bool by_v, ptrdiff_t at, double q, double v)
{
    if (by_q)
        out.q[at] += q;
    if (by_v)
        out.v[at] += v;
}

/* Adds row k of the lower part in the columns on its path, the upper part in the same rows as a column. */
TG_INLINE void scatter(const tg_model *m, squares out, bool by_q, bool by_v, int tree, int dof, row_buffers from)
{
    const tg_ltl_pattern *p = &m->tree_ltl[tree];
    int tree_dof = m->tree_dof[tree], node = m->dof_node[dof], first = m->node_dof[node] - tree_dof;
    ptrdiff_t nv = m->nv, k = dof - tree_dof;
    for (int j = first; j < first + m->node_ndof[node]; j++)
        add_entries(out, by_q, by_v, k * nv + j, from.row_q[j], from.row_v[j]);
    for (int a = p->path_start[first]; a < p->path_start[first + 1]; a++)
    {
        int j = p->path[a];
        add_entries(out, by_q, by_v, k * nv + j, from.row_q[j], from.row_v[j]);
        add_entries(out, by_q, by_v, j * nv + k, from.column_q[j], from.column_v[j]);
    }
}

/* the six numbers of a wrench, times the sign */
static inline void keep_wrench(double *to, double sign, spatial f)
{
    spatial_store(to, spatial_scale(f, sign));
}

static void derivative_rows(const tg_model *m, tg_work *w, double sign, const tg_node_stiffness *stiffness, int tree,
                            int dof, row_buffers out)
{
    const tg_ltl_pattern *p = &m->tree_ltl[tree];
    int ld = m->tree_ld[tree], node = m->dof_node[dof], base = 6 * m->tree_panel[tree];
    int last = m->node_dof[node] + m->node_ndof[node] - 1 - m->tree_dof[tree];
    bool follows = stiffness != NULL && stiffness[node].any;
    dof_wrenches f = wrenches_of(w, node, dof);
    double aq[8] __attribute__((aligned(32))), av[8] __attribute__((aligned(32)));
    double yj[8] __attribute__((aligned(32))), bj[4] __attribute__((aligned(32))), kj[8] __attribute__((aligned(32)));
    if (follows)
    {
        spatial J = spatial_load(w->J + SPATIAL_SIZE * dof);
        f.above_q = spatial_sub(f.above_q, tg_stiffness_mul(&stiffness[node].K, J));
        keep_wrench(kj, sign, stiffness_mul_t(&stiffness[node].K, J));
    }
    keep_wrench(aq, sign, f.above_q);
    keep_wrench(av, sign, f.above_v);
    keep_wrench(yj, sign, f.YJ);
    v4_store(bj, f.BJ * v4_splat(sign));
    for (int b = p->block_start[last]; b < p->block_start[last + 1]; b++)
    {
        int column = p->blocks[b];
        const double *J = w->Jt + base + column;
        v4_store(out.column_q + column, dot_panel(J, ld, aq));
        v4_store(out.column_v + column, dot_panel(J, ld, av));
        v4 row = dot_panel(w->dAt + base + column, ld, yj) + dot_angular(w->dVt + base + column, ld, bj);
        v4_store(out.row_q + column, follows ? row - dot_panel(J, ld, kj) : row);
        v4_store(out.row_v + column, dot_panel(w->dAvt + base + column, ld, yj) + dot_angular(J, ld, bj));
    }
}

void tg_add_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, tg_node_stiffness *stiffness,
                                     double *dtau_dq, double *dtau_dv)
{
    sum_stiffness(m, stiffness);
    velocity_matrices(m, w);
    motion_columns(m, w);
    for (int t = 0; t < m->ntree; t++)
    {
        int first = m->tree_dof[t], ld = m->tree_ld[t];
        size_t corner = (size_t)first * (size_t)m->nv + (size_t)first;
        row_buffers rows = {w->row, w->row + ld, w->row + 2 * ld, w->row + 3 * ld};
        squares out = {dtau_dq != NULL ? dtau_dq + corner : NULL, dtau_dv != NULL ? dtau_dv + corner : NULL};
        for (int k = first; k < first + m->tree_ndof[t]; k++)
        {
            derivative_rows(m, w, sign, stiffness, t, k, rows);
            if (out.q != NULL && out.v != NULL)
                scatter(m, out, true, true, t, k, rows);
            else
                scatter(m, out, out.q != NULL, out.v != NULL, t, k, rows);
        }
    }
}

void tg_add_force_derivatives(const tg_model *m, const tg_work *w, tg_node_stiffness *stiffness, double *out)
{
    sum_stiffness(m, stiffness);
    for (int i = 1; i < m->nnode; i++)
    {
        spatial F = spatial_load(w->F + SPATIAL_SIZE * i);
        int first = m->node_dof[i], end = first + m->node_ndof[i];
        for (int k = first; k < end; k++)
        {
            spatial J = spatial_load(w->J + SPATIAL_SIZE * k), above = force_cross(J, F), own = spatial_zero();
            if (stiffness[i].any)
            {
                above = spatial_sub(above, tg_stiffness_mul(&stiffness[i].K, J));
                own = stiffness_mul_t(&stiffness[i].K, J);
            }
            for (int c = first; c < end; c++)
                out[(ptrdiff_t)k * m->nv + c] += spatial_dot(own, spatial_load(w->J + SPATIAL_SIZE * c));
            for (int c = m->dof_parent[first]; c >= 0; c = m->dof_parent[c])
            {
                spatial there = spatial_load(w->J + SPATIAL_SIZE * c);
                out[(ptrdiff_t)k * m->nv + c] += spatial_dot(own, there);
                out[(ptrdiff_t)c * m->nv + k] -= spatial_dot(above, there);
            }
        }
    }
}

static void clear(const tg_model *m, double *matrix)
{
    if (matrix != NULL)
        memset(matrix, 0, sizeof(double) * (size_t)m->nv * (size_t)m->nv);
}

void tg_newton_euler_derivatives(const tg_model *m, tg_work *w, double sign, double *dtau_dq, double *dtau_dv)
{
    clear(m, dtau_dq);
    clear(m, dtau_dv);
    tg_add_newton_euler_derivatives(m, w, sign, NULL, dtau_dq, dtau_dv);
}

/* ---- public ---- */

tg_status tg_rnea_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a,
                              double *dtau_dq, double *dtau_dv, double *dtau_da)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (a != NULL)
        TG_TRY(tg_check_vector(w, "a", a, m->nv));
    tg_position_stage(m, w, q);
    tg_composites(m, w);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    if (dtau_dq != NULL || dtau_dv != NULL)
    {
        tg_newton_euler(m, w, a, NULL);
        tg_newton_euler_derivatives(m, w, 1, dtau_dq, dtau_dv);
    }
    if (dtau_da != NULL)
    {
        tg_mass_rows(m, w);
        tg_export_mass(m, w, dtau_da);
    }
    return TG_OK;
}
