/* The Delassus matrix G = J M^-1 J^T of each island, and products with J and M^-1 J^T. With M = L^T D L:
 * Y_t = D^-1/2 L^-T J_t^T, G = sum Y_t^T Y_t, M^-1 J^T L = L^-1 D^-1/2 Y L. */
#include <math.h>

#include "contact/rows.h"
#include "math/dense.h"
#include "math/lanes.h"

static void fill_root(const tg_model *m, const tg_work *w)
{
    for (int k = 0; k < m->nv; k++)
        w->rows->root_d[k] = sqrt(w->dinv[k]);
}

static void tree_half(const tg_model *m, const tg_work *w, int tree)
{
    tg_rows *r = w->rows;
    int ld = v4_pad(r->tree_columns[tree]), n = m->tree_ndof[tree];
    double *Y = r->Y + r->tree_start[tree];
    memcpy(Y, r->J + r->tree_start[tree], sizeof(double) * (size_t)n * (size_t)ld);
    tg_ltl_solve_lt_many(&m->tree_ltl[tree], w->M + m->tree_matrix[tree], ld, Y, ld);
    for (int k = 0; k < n; k++)
    {
        v4 root = v4_splat(r->root_d[m->tree_dof[tree] + k]);
        for (int j = 0; j < ld; j += V4_LANES)
            v4_store(Y + (ptrdiff_t)k * ld + j, root * v4_load(Y + (ptrdiff_t)k * ld + j));
    }
}

/* G of an island with several trees: the products of each tree's columns go to its rows */
static void scatter_tree(const tg_model *m, const tg_rows *r, int tree, const tg_rows_island *island, double *G)
{
    int columns = r->tree_columns[tree], ld = v4_pad(columns), n = m->tree_ndof[tree], ldg = v4_pad(island->rows);
    const double *Y = r->Y + r->tree_start[tree];
    const int *row = r->column_row + r->tree_column[tree];
    for (int i = 0; i < columns; i++)
        for (int j = 0; j <= i; j++)
        {
            double sum = 0;
            for (int k = 0; k < n; k++)
                sum += Y[(ptrdiff_t)k * ld + i] * Y[(ptrdiff_t)k * ld + j];
            int a = row[i] - island->row, b = row[j] - island->row;
            G[(ptrdiff_t)a * ldg + b] += sum;
            if (a != b)
                G[(ptrdiff_t)b * ldg + a] += sum;
        }
}

static void add_compliance(const tg_work *w, double dt)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        int ldg = v4_pad(island->rows);
        if (!tg_island_is_dense(r, island))
            continue; /* large.c adds it itself */
        for (int b = island->block; b < island->block + island->blocks; b++)
        {
            const tg_constraint *c = &r->constraint[r->order[b]];
            if (c->source != TG_SOURCE_CONTACT)
                continue;
            double compliance = tg_law_compliance(w->params, &r->touch[c->index].law);
            r->G[island->G + (size_t)(c->row - island->row) * (size_t)(ldg + 1)] += compliance / (dt * dt);
        }
    }
}

void tg_fill_delassus(const tg_model *m, tg_work *w, double dt)
{
    tg_rows *r = w->rows;
    fill_root(m, w);
    for (int i = 0; i < r->nisland; i++)
        if (r->island[i].tree < 0 && tg_island_is_dense(r, &r->island[i]))
            memset(r->G + r->island[i].G, 0,
                   sizeof(double) * (size_t)r->island[i].rows * (size_t)v4_pad(r->island[i].rows));
    for (int t = 0; t < m->ntree; t++)
    {
        if (r->tree_columns[t] == 0)
            continue;
        tree_half(m, w, t);
        const tg_rows_island *island = &r->island[r->tree_island[t]];
        if (!tg_island_is_dense(r, island))
            continue;
        int ld = v4_pad(r->tree_columns[t]);
        if (island->tree == t)
            tg_syrk_t(island->rows, m->tree_ndof[t], r->Y + r->tree_start[t], ld, TG_GEMM_SET, r->G + island->G, ld);
        else
            scatter_tree(m, r, t, island, r->G + island->G);
    }
    add_compliance(w, dt);
}

/* ---- products ---- */

void tg_rows_velocity(const tg_model *m, const tg_work *w, const double *x, double *out)
{
    const tg_rows *r = w->rows;
    memset(out, 0, sizeof(double) * (size_t)r->nrow);
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = r->tree_columns[t], ld = v4_pad(columns);
        const double *J = r->J + r->tree_start[t], *xt = x + m->tree_dof[t];
        const int *row = r->column_row + r->tree_column[t];
        for (int j = 0; j < columns; j += V4_LANES)
        {
            v4 sum = v4_zero();
            for (int k = 0; k < m->tree_ndof[t]; k++)
                sum += v4_splat(xt[k]) * v4_load(J + (ptrdiff_t)k * ld + j);
            for (int i = 0; i < V4_LANES && j + i < columns; i++)
                out[row[j + i]] += sum[i];
        }
    }
}

/* the impulses of a tree's columns, with zeros in the padding */
static const double *gather_columns(const tg_rows *r, int tree, const double *L, double *out)
{
    const int *row = r->column_row + r->tree_column[tree];
    int columns = r->tree_columns[tree];
    for (int j = 0; j < columns; j++)
        out[j] = L[row[j]];
    for (int j = columns; j < v4_pad(columns); j++)
        out[j] = 0;
    return out;
}

void tg_rows_response(const tg_model *m, const tg_work *w, const double *L, double *x)
{
    const tg_rows *r = w->rows;
    for (int t = 0; t < m->ntree; t++)
    {
        double *xt = x + m->tree_dof[t];
        int n = m->tree_ndof[t], ld = v4_pad(r->tree_columns[t]);
        const double *Y = r->Y + r->tree_start[t], *root = r->root_d + m->tree_dof[t];
        if (ld == 0)
        {
            memset(xt, 0, sizeof(double) * (size_t)n);
            continue;
        }
        const double *Lt = gather_columns(r, t, L, r->gathered);
        for (int k = 0; k < n; k++)
            xt[k] = root[k] * v4_dot_of(ld, Y + (ptrdiff_t)k * ld, Lt);
        tg_ltl_solve_l(&m->tree_ltl[t], w->M + m->tree_matrix[t], xt);
    }
}
