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

/* ---- assembly ---- */

static void add_diagonal(const tg_model *m, tg_work *w, const double *extra)
{
    for (int t = 0; t < m->ntree; t++)
        for (int k = 0; k < m->tree_ndof[t]; k++)
            w->M[m->tree_matrix[t] + k * (m->tree_ld[t] + 1)] += extra[m->tree_dof[t] + k];
}

/* lower triangles of the trees' matrices, transposed, to where they are in their groups */
static void gather_trees(const tg_model *m, const tg_work *w)
{
    for (int t = 0; t < m->ntree; t++)
    {
        if (tg_tree_is_alone(m, w, t))
            continue;
        int group = m->tree_group[t], ld = v4_pad(m->group_ndof[group]), first = m->dof_place[m->tree_dof[t]];
        double *A = matrix_of(m, w, group) + (ptrdiff_t)first * (ld + 1);
        const double *M = w->M + m->tree_matrix[t];
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

/* the same for free bodies; two columns behind the six get zero added */
TG_INLINE void add_outer_free(const double *a, const double *b, double c, double *A, ptrdiff_t ld)
{
    v4 left = v4_loadu(b), right = v4_set(b[4], b[5], 0, 0);
    for (int i = 0; i < 6; i++, A += ld)
    {
        v4 by = v4_splat(c * a[i]);
        v4_storeu(A, v4_loadu(A) + left * by);
        v4_storeu(A + V4_LANES, v4_loadu(A + V4_LANES) + right * by);
    }
}

/* A += c moment moment^T for the moment of a tendon, or of an actuator on it; upper triangle. Dofs ascend, and so do
 * their places; those of a run follow each other there too. What a run of the row's own dof has before the diagonal is
 * in the lower triangle, which is never read. */
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
            const int *row = run + 2 * a, *column = run + 2 * b;
            double *to = A + (ptrdiff_t)m->dof_place[row[0]] * ld + m->dof_place[column[0]];
            if (row[1] == 6 && column[1] == 6)
                add_outer_free(moment + row[0], moment + column[0], c, to, ld);
            else
                add_outer(row[1], column[1], moment + row[0], moment + column[0], c, to, ld);
        }
}

/* an actuator on a site: the dofs on its way to the root */
static void add_site(const tg_model *m, const tg_work *w, int actuator, double c)
{
    int node = m->body_node[m->site_body[m->actuator_target[actuator]]];
    if (c == 0 || node == 0)
        return;
    int tree = m->node_tree[node], group = m->tree_group[tree], ld = v4_pad(m->group_ndof[group]);
    const double *moment = tg_actuator_moment(m, w, actuator);
    double *A = matrix_of(m, w, group);
    for (int i = m->node_dof[node] + m->node_ndof[node] - 1; i >= 0; i = m->dof_parent[i])
        for (int k = i; k >= 0; k = m->dof_parent[k])
            A[(ptrdiff_t)m->dof_place[k] * ld + m->dof_place[i]] += c * moment[i] * moment[k];
}

/* the same for a cable between two free bodies */
static void add_cable(const tg_model *m, const tg_work *w, const int *ends, const double *moment, double c)
{
    int first = ends[2] < ends[3] ? ends[2] : ends[3], second = ends[2] < ends[3] ? ends[3] : ends[2];
    int group = m->tree_group[m->node_tree[m->dof_node[first]]], ld = v4_pad(m->group_ndof[group]);
    int across = m->dof_place[second] - m->dof_place[first];
    double *A = matrix_of(m, w, group) + (ptrdiff_t)m->dof_place[first] * (ld + 1);
    const double *a = moment + first, *b = moment + second;
    v4 a_left = v4_loadu(a), a_right = v4_set(a[4], a[5], 0, 0), b_left = v4_loadu(b);
    v4 b_right = v4_set(b[4], b[5], 0, 0);
    for (int i = 0; i < 6; i++, A += ld)
    {
        v4 by = v4_splat(c * a[i]);
        v4_storeu(A, v4_loadu(A) + a_left * by);
        v4_storeu(A + V4_LANES, v4_loadu(A + V4_LANES) + a_right * by);
        v4_storeu(A + across, v4_loadu(A + across) + b_left * by);
        v4_storeu(A + across + V4_LANES, v4_loadu(A + across + V4_LANES) + b_right * by);
    }
    A += (ptrdiff_t)(across - 6) * ld + across;
    add_outer_free(b, b, c, A, ld);
}

static void assemble_groups(const tg_model *m, const tg_work *w, const double *coupling)
{
    for (int i = 0; i < m->group_matrix[m->ngroup]; i += V4_LANES)
        v4_store(w->group + i, v4_zero());
    gather_trees(m, w);
    for (int t = 0; t < m->ntendon; t++)
    {
        const int *ends = tg_cable_ends(m, t);
        if (ends != NULL && ends[2] >= 0 && ends[3] >= 0)
            add_cable(m, w, ends, tg_tendon_moment(m, w, t), coupling[t]);
        else
            add_moment(m, w, t, tg_tendon_moment(m, w, t), coupling[t]);
    }
    for (int i = 0; i < m->nu; i++)
    {
        double c = coupling[m->ntendon + i];
        int tendon = m->actuator_target[i];
        if (m->actuator_transmission[i] == TG_TRANSMISSION_SITE)
            add_site(m, w, i, c);
        else if (c != 0 && m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
            add_moment(m, w, tendon, tg_actuator_row(m, w, i), c);
    }
}

/* ---- factors ---- */

static tg_status refuse(const tg_model *m, tg_work *w, int dof)
{
    int joint = m->dof_joint[dof];
    return tg_fail(&w->error, TG_ERR_NUMERIC, "the mass matrix is not positive definite at joint #%d '%s' (dof %d)",
                   joint, tg_name(m, TG_JOINT, joint), dof);
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
    assemble_groups(m, w, coupling);
    for (int g = 0; g < m->ngroup; g++)
    {
        int n = m->group_ndof[g], ld = v4_pad(n), bad = tg_chol_upper(n, matrix_of(m, w, g), ld);
        if (bad >= 0)
            return refuse(m, w, m->group_dof[m->group_start[g] + bad]);
        for (int i = 0; i < n; i++) /* D^-1 of A = L^T D L has the squares of what is on the diagonal of U^-1 here */
        {
            double root = 1 / matrix_of(m, w, g)[(ptrdiff_t)i * (ld + 1)];
            w->dinv[m->group_dof[m->group_start[g] + i]] = root * root;
        }
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

static void solve(const tg_model *m, const tg_work *w, int group, unsigned halves, double *x)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    const int *dof = m->group_dof + m->group_start[group];
    const double *U = matrix_of(m, w, group);
    double *own = w->group_vector;
    for (int i = 0; i < n; i++)
        own[i] = x[dof[i]];
    if (halves & HALF)
        tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n, U, ld, 1, own, 1);
    if (halves & OTHER_HALF)
        tg_trsm(TG_TRI_UPPER, n, U, ld, 1, own, 1);
    for (int i = 0; i < n; i++)
        x[dof[i]] = own[i];
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

/* to -= factor from */
static void subtract_row(int columns, double factor, const double *from, double *to)
{
    v4 by = v4_splat(factor);
    for (int j = 0; j < columns; j += V4_LANES)
        v4_store(to + j, v4_load(to + j) - by * v4_load(from + j));
}

static void scale_row(int columns, double factor, double *row)
{
    for (int j = 0; j < columns; j += V4_LANES)
        v4_store(row + j, v4_load(row + j) * v4_splat(factor));
}

/* whether rows are one below the other, as in a matrix */
static bool are_together(int n, int columns, double *const *row)
{
    bool together = true;
    for (int i = 1; i < n; i++)
        together = together && row[i] == row[i - 1] + columns;
    return together;
}

/* how many rows at the top are zero, in groups of four; `vectors` v4 of each row */
static int zeros_above(int n, int vectors, const double *X, int ldx)
{
    int i = 0;
    for (; i < n; i++, X += ldx)
        for (int c = 0; c < vectors; c++)
        {
            v4i differs = v4_load(X + V4_LANES * c) != v4_zero();
            if (differs[0] | differs[1] | differs[2] | differs[3])
                return i & ~(V4_LANES - 1);
        }
    return i & ~(V4_LANES - 1);
}

/* X (n x columns, one row below the other) <- U^-T X. A contact's columns are zero but for the bodies it touches: each
 * group of columns starts at its first row that is not. */
static void half_together(int n, const double *U, int ld, int columns, double *X)
{
    const int wide = 2 * V4_LANES; /* a tile of tg_trsm */
    for (int j = 0; j < columns; j += wide)
    {
        int width = columns - j < wide ? columns - j : wide;
        int first = zeros_above(n, width / V4_LANES, X + j, columns);
        tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n - first, U + (ptrdiff_t)first * (ld + 1), ld, width,
                X + (ptrdiff_t)first * columns + j, columns);
    }
}

void tg_group_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *const *row)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    const double *U = matrix_of(m, w, group);
    if (are_together(n, columns, row))
    {
        half_together(n, U, ld, columns, row[0]);
        return;
    }
    for (int i = 0; i < n; i++, U += ld)
    {
        scale_row(columns, 1 / U[i], row[i]);
        for (int k = i + 1; k < n; k++)
            subtract_row(columns, U[k], row[i], row[k]);
    }
}

void tg_group_other_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *const *row)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    for (int i = n - 1; i >= 0; i--)
    {
        const double *U = matrix_of(m, w, group) + (ptrdiff_t)i * ld;
        for (int k = i + 1; k < n; k++)
            subtract_row(columns, U[k], row[k], row[i]);
        scale_row(columns, 1 / U[i], row[i]);
    }
}

void tg_group_inverse(const tg_model *m, const tg_work *w, int group, double *out, int ld)
{
    int n = m->group_ndof[group];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            out[(ptrdiff_t)i * ld + k] = i == k;
    tg_chol_upper_solve(n, matrix_of(m, w, group), v4_pad(n), n, out, ld);
}
