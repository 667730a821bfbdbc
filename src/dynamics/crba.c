/* The mass matrix by composite rigid bodies: M_kj = J_j . (Yc_k J_k) for every j on the path from k to the root, where
 * Yc_k is the inertia of everything that dof k moves. Featherstone (2008), section 6.2. */
#include "dynamics/crba.h"

#include "dynamics/kinematics.h"
#include "math/ltl.h"

#define LANES(i)                                                                                                       \
    {                                                                                                                  \
        (i) & 1, ((i) >> 1) & 1, ((i) >> 2) & 1, ((i) >> 3) & 1                                                        \
    }
const double tg_lane_mask[16][4] = {
    LANES(0), LANES(1), LANES(2),  LANES(3),  LANES(4),  LANES(5),  LANES(6),  LANES(7),
    LANES(8), LANES(9), LANES(10), LANES(11), LANES(12), LANES(13), LANES(14), LANES(15),
};

void tg_composites(const tg_model *m, tg_work *w)
{
    memcpy(w->composite, w->inertia, sizeof(double) * INERTIA_SIZE * (size_t)m->nnode);
    for (int i = m->nnode - 1; i > 0; i--)
    {
        int parent = m->node_parent[i];
        if (parent == 0)
            continue;
        double *Y = w->composite + INERTIA_SIZE * parent;
        inertia_store(Y, inertia_add(inertia_load(Y), inertia_load(w->composite + INERTIA_SIZE * i)));
    }
}

/* Row k of a tree: dot products of the wrench F with four columns of J at a time, over the blocks of its path. */
static void mass_row(const tg_model *m, tg_work *w, int tree, int dof, spatial F)
{
    const tg_ltl_pattern *p = &m->tree_ltl[tree];
    int ld = m->tree_ld[tree], node = m->dof_node[dof];
    int last = m->node_dof[node] + m->node_ndof[node] - 1 - m->tree_dof[tree];
    const double *Jt = w->Jt + 6 * m->tree_panel[tree];
    double *row = w->M + m->tree_matrix[tree] + (dof - m->tree_dof[tree]) * ld;
    const uint8_t *bits = w->block_bits + w->block_start[dof];
    for (int b = p->block_start[last]; b < p->block_start[last + 1]; b++)
    {
        const double *J = Jt + p->blocks[b];
        v4 sum = v4_load(J) * v4_splat(F.lin[0]) + v4_load(J + ld) * v4_splat(F.lin[1]) +
                 v4_load(J + 2 * ld) * v4_splat(F.lin[2]) + v4_load(J + 3 * ld) * v4_splat(F.ang[0]) +
                 v4_load(J + 4 * ld) * v4_splat(F.ang[1]) + v4_load(J + 5 * ld) * v4_splat(F.ang[2]);
        v4_store(row + p->blocks[b], sum * v4_loadu(tg_lane_mask[*bits++]));
    }
}

/* The six rows of a free joint, nodes i (translation, world axes) and i + 1 (rotation, axes a_k of the body): with the
 * composite (m, h = m c, I about the origin), where the body is, M = [m 1, .; a_k x h, a_j . I a_k]. */
static void free_rows(const tg_model *m, tg_work *w, int i)
{
    inertia Y = inertia_load(w->composite + INERTIA_SIZE * i);
    int tree = m->node_tree[i], ld = m->tree_ld[tree], first = m->node_dof[i];
    double *row = w->M + m->tree_matrix[tree], mass = Y.hm[3];
    const double *armature = w->params->dof_armature + first, *axis = w->J + SPATIAL_SIZE * (first + 3) + 4;
    mat3 a = {{v4_load(axis), v4_load(axis + SPATIAL_SIZE), v4_load(axis + 2 * SPATIAL_SIZE)}};
    for (int k = 0; k < 3; k++, row += ld)
    {
        v4_store(row, v4_zero());
        row[k] = mass + armature[k];
    }
    for (int k = 0; k < 3; k++, row += ld)
    {
        v4 push = v4_cross(a.c[k], Y.hm), turn = mat3_mul_t(a, mat3_mul(Y.I, a.c[k]));
        v4_store(row, V4_SHUFFLE2(push, turn, 0, 1, 2, 4));
        v4_store(row + V4_LANES, V4_SHUFFLE2(turn, v4_zero(), 1, 2, 4, 5));
        row[3 + k] += armature[3 + k];
    }
}

void tg_mass_rows(const tg_model *m, tg_work *w)
{
    for (int i = 1; i < m->nnode; i++)
    {
        if (m->node_type[i] == TG_NODE_TRANSLATION)
        {
            free_rows(m, w, i++);
            continue;
        }
        inertia Y = inertia_load(w->composite + INERTIA_SIZE * i);
        int tree = m->node_tree[i];
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
        {
            int local = k - m->tree_dof[tree];
            mass_row(m, w, tree, k, inertia_mul(Y, spatial_load(w->J + SPATIAL_SIZE * k)));
            w->M[m->tree_matrix[tree] + local * m->tree_ld[tree] + local] += w->params->dof_armature[k];
        }
    }
}

/* Rows r .. r+3, columns c .. c+3 of the lower triangle, to the upper one. */
static void mirror_block(const double *M, int ld, int r, int c, double *out, int nv)
{
    v4 x0 = v4_load(M + r * ld + c), x1 = v4_load(M + (r + 1) * ld + c);
    v4 x2 = v4_load(M + (r + 2) * ld + c), x3 = v4_load(M + (r + 3) * ld + c);
    v4_transpose(&x0, &x1, &x2, &x3);
    v4_storeu(out + c * nv + r, x0);
    v4_storeu(out + (c + 1) * nv + r, x1);
    v4_storeu(out + (c + 2) * nv + r, x2);
    v4_storeu(out + (c + 3) * nv + r, x3);
}

/* One tree's block. What a row holds outside the blocks of its path is zero since the workspace was made, and inside
 * them tg_mass_rows writes zeros off the path, so that whole rows can be copied. */
static void export_tree(const tg_model *m, const tg_work *w, int tree, double *out)
{
    int nv = m->nv, n = m->tree_ndof[tree], ld = m->tree_ld[tree], even = n & ~(V4_LANES - 1);
    const double *M = w->M + m->tree_matrix[tree];
    for (int k = 0; k < n; k++)
        memcpy(out + k * nv, M + k * ld, sizeof(double) * (size_t)(k + 1));
    for (int r = 0; r < even; r += V4_LANES)
        for (int c = 0; c < r; c += V4_LANES)
            mirror_block(M, ld, r, c, out, nv);
    for (int k = 0; k < n; k++) /* the blocks on the diagonal, and the rows behind the last full block */
        for (int j = k < even ? k & ~(V4_LANES - 1) : 0; j < k; j++)
            out[j * nv + k] = M[k * ld + j];
}

void tg_export_mass(const tg_model *m, const tg_work *w, double *M)
{
    size_t nv = (size_t)m->nv;
    if (m->ntree > 1)
        memset(M, 0, sizeof(double) * nv * nv);
    for (int t = 0; t < m->ntree; t++)
        export_tree(m, w, t, M + (size_t)m->tree_dof[t] * (nv + 1));
}

tg_status tg_mass_matrix(const tg_model *m, tg_work *w, const double *q, double *M)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    TG_TRY(tg_check_output(w, "M", M, m->nv));
    tg_position_stage(m, w, q);
    tg_composites(m, w);
    tg_mass_rows(m, w);
    tg_export_mass(m, w, M);
    return TG_OK;
}
