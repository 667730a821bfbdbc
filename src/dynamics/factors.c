#include "dynamics/factors.h"

#include "dynamics/actuation.h"
#include "dynamics/crba.h"
#include "dynamics/tendon.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "math/ltl.h"

static double *matrix_of(const tg_model *m, const tg_work *w, int group)
{
    return w->group + m->group_matrix[group];
}

enum
{
    FREE = 6 /* dofs of a free body */
};

/* ---- order ---- */

/* how far down a tree's first body is */
static double depth_of(const tg_model *m, const tg_work *w, int tree)
{
    return v4_dot(v4_load(w->body_pos + 4 * m->tree_body[tree]), v4_load3(TG_PARAM(w->params, gravity_)));
}

/* whether a tree comes before another of its group */
static bool is_before(const tg_model *m, const tg_work *w, int a, int b)
{
    double depth_a = depth_of(m, w, a), depth_b = depth_of(m, w, b);
    return depth_a < depth_b || (depth_a == depth_b && a < b);
}

/* the trees of one group from where they are to their places */
static void place_trees(const tg_model *m, tg_work *w, int group, int count, const int *tree)
{
    int place = 0;
    for (int i = 0; i < count; i++)
        for (int k = m->tree_dof[tree[i]]; k < m->tree_dof[tree[i]] + m->tree_ndof[tree[i]]; k++, place++)
        {
            w->place[k] = place;
            w->place_dof[m->group_start[group] + place] = k;
        }
}

void tg_order_groups(const tg_model *m, tg_work *w)
{
    for (int g = 0; g < m->ngroup; g++)
    {
        int *tree = w->place_tree + m->group_tree[g], count = m->group_tree[g + 1] - m->group_tree[g], moved = 0;
        for (int i = 1; i < count; i++)
        {
            int at = i, own = tree[i];
            for (; at > 0 && is_before(m, w, own, tree[at - 1]); at--, moved++)
                tree[at] = tree[at - 1];
            tree[at] = own;
        }
        if (moved > 0 || w->place_dof[m->group_start[g]] < 0)
            place_trees(m, w, g, count, tree);
    }
}

/* ---- assembly ---- */

static void add_diagonal(const tg_model *m, tg_work *w, const double *extra)
{
    for (int t = 0; t < m->ntree; t++)
        for (int k = 0; k < m->tree_ndof[t]; k++)
            w->M[m->tree_matrix[t] + k * (m->tree_ld[t] + 1)] += extra[m->tree_dof[t] + k];
}

static void gather_free(const double *M, int ldm, double *A, ptrdiff_t ld)
{
    for (int k = 0; k < FREE; k++)
        for (int i = 0; i <= k; i++)
            A[i * ld + k] = M[k * ldm + i];
}

/* lower triangles of the trees' matrices, transposed, to where they are in their groups */
static void gather_trees(const tg_model *m, const tg_work *w)
{
    for (int t = 0; t < m->ntree; t++)
    {
        if (tg_tree_is_alone(m, w, t))
            continue;
        int group = m->tree_group[t], ld = v4_pad(m->group_ndof[group]), first = w->place[m->tree_dof[t]];
        double *A = matrix_of(m, w, group) + (ptrdiff_t)first * (ld + 1);
        const double *M = w->M + m->tree_matrix[t];
        if (m->tree_ndof[t] == FREE)
        {
            gather_free(M, m->tree_ld[t], A, ld);
            continue;
        }
        for (int k = 0; k < m->tree_ndof[t]; k++, M += m->tree_ld[t])
            for (int i = 0; i <= k; i++)
                A[(ptrdiff_t)i * ld + k] = M[i];
    }
}

/* rows x columns of A += c a b^T */
static void add_outer(int rows, int columns, const double *a, const double *b, double c, double *A, ptrdiff_t ld)
{
    for (int i = 0; i < rows; i++, A += ld)
    {
        v4 by = v4_splat(c * a[i]);
        int k = 0;
        for (; k + V4_LANES <= columns; k += V4_LANES)
            v4_storeu(A + k, v4_loadu(A + k) + v4_loadu(b + k) * by);
        for (; k < columns; k++)
            A[k] += by[0] * b[k];
    }
}

/* A += c moment moment^T for the moment of a tendon, or of an actuator on it; upper triangle. Dofs of a run are in
 * places that follow each other. What a run of the row's own dof has before the diagonal is in the lower triangle,
 * which is never read. */
static void add_moment(const tg_model *m, const tg_work *w, int tendon, const double *moment, double c)
{
    const int *run = tg_tendon_runs(m, tendon);
    int runs = m->tendon_nrun[tendon];
    if (c == 0 || runs == 0)
        return;
    int group = m->tree_group[m->node_tree[m->dof_node[run[0]]]], ld = v4_pad(m->group_ndof[group]);
    double *A = matrix_of(m, w, group);
    for (int a = 0; a < runs; a++)
        for (int b = a; b < runs; b++)
        {
            bool ascends = w->place[run[2 * a]] <= w->place[run[2 * b]];
            const int *row = run + 2 * (ascends ? a : b), *column = run + 2 * (ascends ? b : a);
            double *to = A + (ptrdiff_t)w->place[row[0]] * ld + w->place[column[0]];
            add_outer(row[1], column[1], moment + row[0], moment + column[0], c, to, ld);
        }
}

/* an actuator on a site: the dofs on its way to the root */
static void add_site(const tg_model *m, const tg_work *w, int actuator, double c)
{
    int node = m->body_node[m->site_body[m->actuator_target[actuator]]];
    if (node == 0)
        return;
    int tree = m->node_tree[node], group = m->tree_group[tree], ld = v4_pad(m->group_ndof[group]);
    const double *moment = tg_actuator_moment(m, w, actuator);
    double *A = matrix_of(m, w, group);
    for (int i = m->node_dof[node] + m->node_ndof[node] - 1; i >= 0; i = m->dof_parent[i])
        for (int k = i; k >= 0; k = m->dof_parent[k])
            A[(ptrdiff_t)w->place[k] * ld + w->place[i]] += c * moment[i] * moment[k];
}

/* A block of coupling.c: A += sum c a b^T over its cables, a and b their moments at its two bodies, in registers. What
 * is behind the six numbers of b is not stored. */
static void add_cables(const tg_model *m, const tg_work *w, const int *block, const double *coupling)
{
    bool ascends = w->place[block[0]] <= w->place[block[1]];
    int row = block[ascends ? 0 : 1], column = block[ascends ? 1 : 0];
    int group = m->tree_group[m->node_tree[m->dof_node[row]]], ld = v4_pad(m->group_ndof[group]);
    double *A = matrix_of(m, w, group) + (ptrdiff_t)w->place[row] * ld + w->place[column];
    v4 left[FREE], right[FREE];
    for (int n = 0; n < block[2]; n++)
    {
        const double *moment = tg_tendon_moment(m, w, block[3 + n]), *a = moment + row, *b = moment + column;
        v4 c = v4_splat(coupling[block[3 + n]]), b_left = v4_loadu(b) * c, b_right = v4_loadu(b + V4_LANES) * c;
        for (int i = 0; i < FREE; i++)
        {
            v4 each = v4_splat(a[i]);
            left[i] = n == 0 ? b_left * each : left[i] + b_left * each;
            right[i] = n == 0 ? b_right * each : right[i] + b_right * each;
        }
    }
    for (int i = 0; i < FREE; i++, A += ld)
    {
        v2 rest = {right[i][0], right[i][1]};
        v4_storeu(A, row == column ? v4_loadu(A) + left[i] : left[i]);
        v2_storeu(A + V4_LANES, row == column ? v2_loadu(A + V4_LANES) + rest : rest);
    }
}

/* four rows of a matrix at a time, from the v4 of their diagonal on */
static void clear_upper(int n, double *A, int ld)
{
    for (int i = 0; i < n; i += V4_LANES)
    {
        double *row[V4_LANES];
        for (int r = 0; r < V4_LANES; r++)
            row[r] = A + (ptrdiff_t)(i + r < n ? i + r : i) * ld;
        for (int k = i; k < ld; k += V4_LANES)
            for (int r = 0; r < V4_LANES; r++)
                v4_store(row[r] + k, v4_zero());
    }
}

static void assemble_groups(const tg_model *m, const tg_work *w, const double *coupling)
{
    for (int g = 0; g < m->ngroup; g++)
        clear_upper(m->group_ndof[g], matrix_of(m, w, g), v4_pad(m->group_ndof[g]));
    gather_trees(m, w);
    for (const int *block = m->cable_block; *block >= 0; block += 3 + block[2])
        add_cables(m, w, block, coupling);
    for (int t = 0; t < m->ntendon; t++)
        if (tg_cable_ends(m, t) == NULL)
            add_moment(m, w, t, tg_tendon_moment(m, w, t), coupling[t]);
    for (int i = 0; i < m->nu; i++)
    {
        double c = coupling[m->ntendon + i];
        if (c == 0)
            continue;
        if (m->actuator_transmission[i] == TG_TRANSMISSION_SITE)
            add_site(m, w, i, c);
        else if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
            add_moment(m, w, m->actuator_target[i], tg_actuator_row(m, w, i), c);
    }
}

/* ---- factors ---- */

static tg_status refuse(const tg_model *m, tg_work *w, int dof)
{
    int joint = m->dof_joint[dof];
    return tg_fail(&w->error, TG_ERR_NUMERIC, "the mass matrix is not positive definite at joint #%d '%s' (dof %d)",
                   joint, tg_name(m, TG_JOINT, joint), dof);
}

/* D^-1 of A = L^T D L of a tree has the squares of what is on the diagonal of U^-1 of its group */
static void fill_dinv(const tg_model *m, const tg_work *w, int tree, const double *inverse)
{
    double *out = w->dinv + m->tree_dof[tree];
    const double *in = inverse + w->place[m->tree_dof[tree]];
    int k = 0, n = m->tree_ndof[tree];
    for (; k + V4_LANES <= n; k += V4_LANES)
        v4_storeu(out + k, v4_loadu(in + k) * v4_loadu(in + k));
    for (; k < n; k++)
        out[k] = in[k] * in[k];
}

tg_status tg_factor_mass(const tg_model *m, tg_work *w, const double *extra, const double *coupling)
{
    tg_composites(m, w);
    tg_mass_rows(m, w);
    if (extra != NULL)
        add_diagonal(m, w, extra);
    w->grouped = coupling != NULL && m->ngroup > 0;
    for (int t = 0; t < m->ntree; t++)
    {
        if (!tg_tree_is_alone(m, w, t))
            continue;
        int bad = tg_ltl_factor(&m->tree_ltl[t], w->M + m->tree_matrix[t], w->dinv + m->tree_dof[t]);
        if (bad >= 0)
            return refuse(m, w, m->tree_dof[t] + bad);
    }
    if (!w->grouped)
        return TG_OK;
    tg_order_groups(m, w);
    assemble_groups(m, w, coupling);
    for (int g = 0; g < m->ngroup; g++)
    {
        int n = m->group_ndof[g], ld = v4_pad(n), bad = tg_chol_upper(n, matrix_of(m, w, g), ld);
        if (bad >= 0)
            return refuse(m, w, w->place_dof[m->group_start[g] + bad]);
        double *inverse = w->group_inverse + m->group_start[g];
        tg_upper_inverse(n, matrix_of(m, w, g), ld, inverse);
        for (int i = m->group_tree[g]; i < m->group_tree[g + 1]; i++)
            fill_dinv(m, w, w->place_tree[i], inverse);
    }
    return TG_OK;
}

void tg_solve_mass(const tg_model *m, const tg_work *w, double *x)
{
    for (int t = 0; t < m->ntree; t++)
        if (tg_tree_is_alone(m, w, t))
            tg_ltl_solve(&m->tree_ltl[t], w->M + m->tree_matrix[t], w->dinv + m->tree_dof[t], x + m->tree_dof[t]);
    for (int g = 0; g < m->ngroup && w->grouped; g++)
        tg_group_solve(m, w, g, x);
}

/* ---- groups ---- */

enum
{
    HALF = 1,
    OTHER_HALF = 2
};

/* returns what follows */
static double *copy_few(int n, const double *from, double *to)
{
    int k = 0;
    for (; k + V4_LANES <= n; k += V4_LANES)
        v4_storeu(to + k, v4_loadu(from + k));
    for (; k < n; k++)
        to[k] = from[k];
    return to + n;
}

static void solve(const tg_model *m, const tg_work *w, int group, unsigned halves, double *x)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    const double *U = matrix_of(m, w, group), *inverse = w->group_inverse + m->group_start[group];
    double *own = w->group_vector;
    for (int i = m->group_tree[group]; i < m->group_tree[group + 1]; i++)
        own = copy_few(m->tree_ndof[w->place_tree[i]], x + m->tree_dof[w->place_tree[i]], own);
    own = w->group_vector;
    if (halves & HALF)
        tg_upper_half(n, U, ld, inverse, own);
    if (halves & OTHER_HALF)
        tg_upper_other_half(n, U, ld, inverse, own);
    for (int i = m->group_tree[group]; i < m->group_tree[group + 1]; i++)
    {
        int tree = w->place_tree[i];
        copy_few(m->tree_ndof[tree], own, x + m->tree_dof[tree]);
        own += m->tree_ndof[tree];
    }
}

void tg_group_solve(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, HALF | OTHER_HALF, x);
}

void tg_group_half(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, HALF, x);
}

void tg_group_other_half(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, OTHER_HALF, x);
}

/* how many rows at the top are zero, in groups of four; one v4 or two of each row */
static int zeros_above(int n, int vectors, const double *X, int ldx)
{
    int i = 0;
    for (; i < n; i++, X += ldx)
    {
        v4i differs = v4_load(X) != v4_zero();
        differs |= v4_load(X + (vectors > 1 ? V4_LANES : 0)) != v4_zero();
        if (differs[0] | differs[1] | differs[2] | differs[3])
            break;
    }
    return i & ~(V4_LANES - 1);
}

/* X (n x columns) <- U^-T X. A contact's columns are zero but for the bodies it touches: each group of columns starts
 * at its first row that is not. */
void tg_group_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *X)
{
    const int wide = 2 * V4_LANES; /* a tile */
    int n = m->group_ndof[group], ld = v4_pad(n), zeros = w->group_zeros[group] & ~(V4_LANES - 1);
    const double *U = matrix_of(m, w, group), *inverse = w->group_inverse + m->group_start[group];
    for (int j = 0; j < columns; j += wide)
    {
        int width = columns - j < wide ? columns - j : wide;
        int first = zeros + zeros_above(n - zeros, width / V4_LANES, X + (ptrdiff_t)zeros * columns + j, columns);
        tg_upper_half_many(n - first, U + (ptrdiff_t)first * (ld + 1), ld, inverse + first, width,
                           X + (ptrdiff_t)first * columns + j, columns);
    }
}

void tg_group_other_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *X)
{
    int n = m->group_ndof[group];
    tg_trsm(TG_TRI_UPPER, n, matrix_of(m, w, group), v4_pad(n), columns, X, columns);
}

void tg_group_inverse(const tg_model *m, const tg_work *w, int group, double *out, int ld)
{
    int n = m->group_ndof[group];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            out[(ptrdiff_t)i * ld + k] = i == k;
    tg_chol_upper_solve(n, matrix_of(m, w, group), v4_pad(n), n, out, ld);
}
