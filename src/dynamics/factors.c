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

/* lower triangles of the trees' matrices to where they are in their groups */
static void gather_trees(const tg_model *m, const tg_work *w)
{
    for (int t = 0; t < m->ntree; t++)
    {
        if (tg_tree_is_alone(m, w, t))
            continue;
        int group = m->tree_group[t], ld = v4_pad(m->group_ndof[group]), first = m->dof_place[m->tree_dof[t]];
        double *A = matrix_of(m, w, group) + (ptrdiff_t)first * (ld + 1);
        for (int k = 0; k < m->tree_ndof[t]; k++)
            memcpy(A + (ptrdiff_t)k * ld, w->M + m->tree_matrix[t] + (ptrdiff_t)k * m->tree_ld[t],
                   sizeof(double) * (size_t)(k + 1));
    }
}

/* A += c moment moment^T for the moment of a tendon, or of an actuator on it; lower triangle. Dofs ascend, and so do
 * their places; those of a run follow each other there too. What a run of the row's own dof has beyond the diagonal is
 * in the upper triangle, which is never read. */
static void add_moment(const tg_model *m, const tg_work *w, int tendon, const double *moment, double c)
{
    const int *run = tg_tendon_runs(m, tendon);
    int runs = m->tendon_nrun[tendon];
    if (c == 0 || runs == 0)
        return;
    int group = m->tree_group[m->node_tree[m->dof_node[run[0]]]], ld = v4_pad(m->group_ndof[group]);
    double *A = matrix_of(m, w, group);
    for (int a = 0; a < runs; a++)
        for (int i = run[2 * a]; i < run[2 * a] + run[2 * a + 1]; i++)
        {
            double *row = A + (ptrdiff_t)m->dof_place[i] * ld, by = c * moment[i];
            for (int b = 0; b <= a; b++)
            {
                double *to = row + m->dof_place[run[2 * b]];
                const double *from = moment + run[2 * b];
                int n = run[2 * b + 1];
                for (; n >= V4_LANES; n -= V4_LANES, to += V4_LANES, from += V4_LANES)
                    v4_storeu(to, v4_loadu(to) + v4_loadu(from) * v4_splat(by));
                for (int k = 0; k < n; k++)
                    to[k] += by * from[k];
            }
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
            A[(ptrdiff_t)m->dof_place[i] * ld + m->dof_place[k]] += c * moment[i] * moment[k];
}

static void assemble_groups(const tg_model *m, const tg_work *w, const double *coupling)
{
    memset(w->group, 0, sizeof(double) * (size_t)m->group_matrix[m->ngroup]);
    gather_trees(m, w);
    for (int t = 0; t < m->ntendon; t++)
        add_moment(m, w, t, tg_tendon_moment(m, w, t), coupling[t]);
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
        int n = m->group_ndof[g], ld = v4_pad(n), bad = tg_chol(n, matrix_of(m, w, g), ld);
        if (bad >= 0)
            return refuse(m, w, m->group_dof[m->group_start[g] + bad]);
        for (int i = 0; i < n; i++) /* D^-1 of A = L^T D L has the squares of what is on the diagonal of L^-1 here */
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
    LOWER,
    TRANSPOSED
};

static void solve(const tg_model *m, const tg_work *w, int group, unsigned halves, double *x)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    const int *dof = m->group_dof + m->group_start[group];
    const double *L = matrix_of(m, w, group);
    double *own = w->group_vector;
    for (int i = 0; i < n; i++)
        own[i] = x[dof[i]];
    for (int i = 0; i < n && (halves & 1u << LOWER); i++)
    {
        const double *row = L + (ptrdiff_t)i * ld;
        own[i] = (own[i] - v4_dot_of(i, row, own)) / row[i];
    }
    for (int i = n - 1; i >= 0 && (halves & 1u << TRANSPOSED); i--)
    {
        const double *row = L + (ptrdiff_t)i * ld;
        own[i] /= row[i];
        for (int k = 0; k < i; k++)
            own[k] -= row[k] * own[i];
    }
    for (int i = 0; i < n; i++)
        x[dof[i]] = own[i];
}

void tg_group_solve(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, 1u << LOWER | 1u << TRANSPOSED, x);
}

void tg_group_half(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, 1u << LOWER, x);
}

void tg_group_other_half(const tg_model *m, const tg_work *w, int group, double *x)
{
    solve(m, w, group, 1u << TRANSPOSED, x);
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

void tg_group_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *const *row)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    const double *L = matrix_of(m, w, group);
    bool together = true; /* one below the other, as in a matrix */
    for (int i = 1; i < n; i++)
        together = together && row[i] == row[i - 1] + columns;
    if (together)
    {
        tg_trsm(TG_TRI_LOWER, n, L, ld, columns, row[0], columns);
        return;
    }
    for (int i = 0; i < n; i++, L += ld)
    {
        for (int k = 0; k < i; k++)
            subtract_row(columns, L[k], row[k], row[i]);
        scale_row(columns, 1 / L[i], row[i]);
    }
}

void tg_group_other_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *const *row)
{
    int n = m->group_ndof[group], ld = v4_pad(n);
    for (int i = n - 1; i >= 0; i--)
    {
        const double *L = matrix_of(m, w, group) + (ptrdiff_t)i * ld;
        scale_row(columns, 1 / L[i], row[i]);
        for (int k = 0; k < i; k++)
            subtract_row(columns, L[k], row[i], row[k]);
    }
}

void tg_group_inverse(const tg_model *m, const tg_work *w, int group, double *out, int ld)
{
    int n = m->group_ndof[group];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++)
            out[(ptrdiff_t)i * ld + k] = i == k;
    tg_chol_solve(n, matrix_of(m, w, group), v4_pad(n), n, out, ld);
}
