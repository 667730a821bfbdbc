/* The Delassus matrix G = J M^-1 J^T of each island, and products with J and M^-1 J^T. With M = L^T D L: Y_t = D^-1/2
 * L^-T J_t^T, G = sum Y_t^T Y_t. Islands that are solved in velocity space have no G, and Y_t = M^-1 J_t^T. */
#include <math.h>

#include "contact/rows.h"
#include "dynamics/factors.h"
#include "math/lanes.h"
#include "math/support.h"

static void fill_root(const tg_model *m, const tg_work *w)
{
    for (int k = 0; k < m->nv; k++)
        w->rows->root_d[k] = sqrt(w->dinv[k]);
}

static void scale_rows(const tg_model *m, const tg_rows *r, int tree, double *Y)
{
    int ld = v4_pad(r->tree_columns[tree]);
    for (int k = 0; k < m->tree_ndof[tree]; k++)
    {
        v4 root = v4_splat(r->root_d[m->tree_dof[tree] + k]);
        for (int j = 0; j < ld; j += V4_LANES)
            v4_store(Y + (ptrdiff_t)k * ld + j, root * v4_load(Y + (ptrdiff_t)k * ld + j));
    }
}

enum
{
    FREE = TWIST /* dofs of a free body */
};

/* M^-1 = L^-1 D^-1 L^-T of six dofs that follow each other: the columns of the identity, two v4 of them */
static void invert_mass(const double *L, int ld, const double *dinv, v4 inverse[FREE][2])
{
    for (int i = 0; i < FREE; i++)
    {
        inverse[i][0] = inverse[i][1] = v4_zero();
        inverse[i][i / V4_LANES][i % V4_LANES] = 1;
    }
    for (int i = FREE - 1; i >= 0; i--)
        for (int j = 0; j < i; j++)
            for (int c = 0; c < 2; c++)
                inverse[j][c] -= v4_splat(L[i * ld + j]) * inverse[i][c];
    for (int i = 0; i < FREE; i++)
        for (int c = 0; c < 2; c++)
            inverse[i][c] *= v4_splat(dinv[i]);
    for (int i = 0; i < FREE; i++)
        for (int j = 0; j < i; j++)
            for (int c = 0; c < 2; c++)
                inverse[i][c] -= v4_splat(L[i * ld + j]) * inverse[j][c];
}

/* Y = M^-1 J^T of a free body */
static void fill_free(const tg_model *m, const tg_work *w, int tree)
{
    const tg_rows *r = w->rows;
    int ld = v4_pad(r->tree_columns[tree]);
    const double *J = r->J + r->tree_start[tree];
    double *Y = r->Y + r->tree_start[tree];
    v4 inverse[FREE][2];
    invert_mass(w->M + m->tree_matrix[tree], m->tree_ld[tree], w->dinv + m->tree_dof[tree], inverse);
    for (int j = 0; j < ld; j += V4_LANES)
        for (int i = 0; i < FREE; i++)
        {
            v4 sum = v4_zero();
            for (int k = 0; k < FREE; k++)
                sum += v4_splat(inverse[i][k / V4_LANES][k % V4_LANES]) * v4_load(J + (ptrdiff_t)k * ld + j);
            v4_store(Y + (ptrdiff_t)i * ld + j, sum);
        }
}

/* six dofs, each the parent of the next */
static bool is_free(const tg_model *m, int tree)
{
    bool chain = m->tree_ndof[tree] == FREE;
    for (int k = 1; k < FREE && chain; k++)
        chain = m->tree_ltl[tree].parent[k] == k - 1;
    return chain;
}

/* the same for the trees of a group: their rows are in the same columns, all of them (tg_add_part) */
static void fill_group(const tg_model *m, const tg_work *w, int group, bool all)
{
    tg_rows *r = w->rows;
    int tree = tg_group_tree(m, w, group), ld = v4_pad(r->tree_columns[tree]), n = m->group_ndof[group];
    double *Y = r->Y + r->tree_start[tree];
    memcpy(Y, r->J + r->tree_start[tree], sizeof(double) * (size_t)n * (size_t)ld);
    w->group_zeros[group] = n;
    for (int t = 0; t < m->ntree; t++)
        if (m->tree_group[t] == group && r->tree_touched[t] && w->place[m->tree_dof[t]] < w->group_zeros[group])
            w->group_zeros[group] = w->place[m->tree_dof[t]];
    tg_group_half_rows(m, w, group, ld, Y);
    if (all)
        tg_group_other_half_rows(m, w, group, ld, Y);
}

/* Y = D^-1/2 L^-T J^T, or all of M^-1 J^T */
static void fill_tree(const tg_model *m, const tg_work *w, int tree, bool all)
{
    tg_rows *r = w->rows;
    const tg_ltl_pattern *pattern = &m->tree_ltl[tree];
    const double *L = w->M + m->tree_matrix[tree];
    int ld = v4_pad(r->tree_columns[tree]), n = m->tree_ndof[tree];
    double *Y = r->Y + r->tree_start[tree];
    if (!tg_tree_is_alone(m, w, tree))
    {
        if (tg_tree_leads(m, w, tree))
            fill_group(m, w, m->tree_group[tree], all);
        return;
    }
    if (all && is_free(m, tree))
    {
        fill_free(m, w, tree);
        return;
    }
    size_t mark = tg_arena_mark(&r->scratch);
    tg_support_half(pattern, L, r->root_d + m->tree_dof[tree], ld / V4_LANES, tg_tree_support(r, tree),
                    r->J + r->tree_start[tree], Y, ld, TG_TAKE(&r->scratch, int, n, "dofs"));
    tg_arena_release(&r->scratch, mark);
    if (!all)
        return;
    scale_rows(m, r, tree, Y);
    tg_ltl_solve_l_many(pattern, L, ld, Y, ld);
}

/* c / dt^2 of the normals, and eps of all rows of contacts */
static void fill_compliance(const tg_work *w, tg_rows *r)
{
    memset(r->give, 0, sizeof(double) * (size_t)r->nrow);
    r->gives = false;
    for (int i = 0; i < r->nconstraint && !r->explicit_law; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        if (c->source != TG_SOURCE_CONTACT || c->parts == 0)
            continue;
        double compliance = tg_law_compliance(w->params, &r->touch[c->index].law);
        if (compliance == 0 && r->eps == 0)
            continue;
        r->give[c->row] = compliance / (r->dt * r->dt);
        for (int k = 0; k < c->rows && r->eps > 0; k++)
            r->give[c->row + k] += r->eps;
        r->gives = true;
    }
}

/* G_ii of one tree, from its half of M^-1 */
static void add_diagonal(const tg_model *m, const tg_work *w, int tree)
{
    const tg_rows *r = w->rows;
    int columns = r->tree_columns[tree];
    const int *row = r->column_row + r->tree_column[tree];
    const double *Y = r->Y + r->tree_start[tree];
    if (tg_tree_is_alone(m, w, tree))
    {
        tg_support_squares(m->tree_ndof[tree], columns, tg_tree_support(r, tree), Y, v4_pad(columns), row, r->diagonal);
        return;
    }
    for (int k = 0; k < m->tree_ndof[tree]; k++, Y += v4_pad(columns))
        for (int j = 0; j < columns; j++)
            r->diagonal[row[j]] += Y[j] * Y[j];
}

/* the first of an island's trees from this one on */
static int tree_from(const tg_rows *r, const tg_rows_island *island, int tree)
{
    while (r->tree_island[tree] != island - r->island)
        tree++;
    return tree;
}

/* G_ii of an island from Y */
static void sum_diagonal(const tg_model *m, const tg_work *w, const tg_rows_island *island)
{
    const tg_rows *r = w->rows;
    memcpy(r->diagonal + island->row, r->give + island->row, sizeof(double) * (size_t)island->rows);
    for (int i = 0, t = island->root; i < island->trees; i++, t++)
    {
        t = tree_from(r, island, t);
        add_diagonal(m, w, t);
    }
}

/* the same from G */
static void copy_diagonal(const tg_rows *r, const tg_rows_island *island)
{
    const double *G = r->G + island->G;
    double *out = r->diagonal + island->row;
    size_t next = (size_t)v4_pad(island->rows) + 1;
    for (int i = 0; i < island->rows; i++, G += next)
        out[i] = *G;
}

/* Islands of which it is not yet known whether they need G have their diagonal from it, or when they do without. */
static void fill_diagonals(const tg_model *m, const tg_work *w)
{
    const tg_rows *r = w->rows;
    for (tg_rows_island *island = r->island; island < r->island + r->nisland; island++)
    {
        island->sized = island->filled || island->sparse || !island->late || island->equality;
        if (island->filled)
            copy_diagonal(r, island);
        else if (island->sized)
            sum_diagonal(m, w, island);
    }
}

static void add_compliance(const tg_rows *r, const tg_rows_island *island)
{
    int ldg = v4_pad(island->rows);
    for (int i = 0; i < island->rows && r->gives; i++)
        r->G[island->G + (size_t)i * (size_t)(ldg + 1)] += r->give[island->row + i];
}

size_t tg_delassus_scratch(const tg_model *m, const tg_capacity *c)
{
    tg_arena count = {0};
    TG_TAKE(&count, int, m->nv, "dofs");
    TG_TAKE(&count, uint64_t, (size_t)tg_chain_words(m->nv) * (size_t)v4_pad(c->island_rows), "dofs of a group");
    return count.used;
}

/* all of n dofs, of every column */
static const uint64_t *whole_support(tg_rows *r, int n, int columns)
{
    int words = tg_chain_words(n), vectors = v4_pad(columns) / V4_LANES;
    uint64_t *support = TG_TAKE(&r->scratch, uint64_t, (size_t)words * (size_t)vectors, "dofs of a group");
    memset(support, 0, sizeof *support * (size_t)words * (size_t)vectors);
    for (int v = 0; v < vectors; v++)
        for (int k = 0; k < n; k++)
            support[v * words + k / TG_CHAIN_BITS] |= (uint64_t)1 << k % TG_CHAIN_BITS;
    return support;
}

/* the part of one tree in the matrix of its island, of which it may be all; the first tree of a group has the part of
 * all */
static void add_tree(const tg_model *m, const tg_work *w, int tree, const tg_rows_island *island)
{
    tg_rows *r = w->rows;
    int columns = r->tree_columns[tree], ld = v4_pad(columns), ldg = v4_pad(island->rows), n = m->tree_ndof[tree];
    const double *Y = r->Y + r->tree_start[tree];
    const uint64_t *support = tg_tree_support(r, tree);
    size_t mark = tg_arena_mark(&r->scratch);
    bool alone = tg_tree_is_alone(m, w, tree), all = island->tree == tree;
    if (!alone && !tg_tree_leads(m, w, tree))
        return;
    if (!alone)
    {
        int zeros = w->group_zeros[m->tree_group[tree]];
        n = m->group_ndof[m->tree_group[tree]] - zeros;
        Y += (ptrdiff_t)zeros * ld;
        support = whole_support(r, n, columns);
    }
    const int *row = all ? NULL : r->column_row + r->tree_column[tree];
    tg_support_product(n, columns, support, Y, ld, row, island->row, r->G + island->G, ldg);
    tg_arena_release(&r->scratch, mark);
}

static void begin_island(const tg_rows *r, tg_rows_island *island)
{
    island->filled = true;
    if (island->tree < 0)
        memset(r->G + island->G, 0, sizeof(double) * (size_t)island->rows * (size_t)v4_pad(island->rows));
}

static void end_island(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    add_compliance(r, island);
    if (island->redundant > 0)
        tg_project_delassus(m, r, island);
}

/* the trees of each island, as its solver sees them; supports: those of J are there */
static void list_trees(const tg_model *m, tg_rows *r, bool supports)
{
    memset(r->tree_rows, 0, sizeof *r->tree_rows * (size_t)m->ntree);
    for (int t = 0; t < m->ntree; t++)
    {
        if (r->tree_columns[t] == 0)
            continue;
        const tg_rows_island *island = &r->island[r->tree_island[t]];
        tg_tree_rows *at = &r->tree_rows[island->first_tree];
        while (at->Y != NULL)
            at++;
        *at = (tg_tree_rows){.dofs = m->tree_ndof[t],
                             .columns = r->tree_columns[t],
                             .ld = v4_pad(r->tree_columns[t]),
                             .row = r->column_row + r->tree_column[t],
                             .support = supports ? tg_tree_support(r, t) : NULL,
                             .Y = r->Y + r->tree_start[t]};
    }
}

void tg_fill_delassus(const tg_model *m, tg_work *w, double dt, bool matrices)
{
    tg_rows *r = w->rows;
    r->dt = dt;
    fill_root(m, w);
    fill_compliance(w, r);
    list_trees(m, r, r->grouped == NULL);
    for (int i = 0; i < r->nisland; i++)
    {
        r->island[i].half = r->island[i].dense; /* what is solved with them wants this half first (parts.h) */
        if (!r->island[i].sparse && !r->island[i].late && matrices)
            begin_island(r, &r->island[i]);
    }
    for (int t = 0; t < m->ntree; t++)
    {
        if (r->tree_columns[t] == 0)
            continue;
        const tg_rows_island *island = &r->island[r->tree_island[t]];
        fill_tree(m, w, t, tg_rows_are_whole(island));
        if (island->filled)
            add_tree(m, w, t, island);
    }
    for (int i = 0; i < r->nisland; i++)
        if (r->island[i].filled)
            end_island(m, r, &r->island[i]);
    fill_diagonals(m, w);
}

void tg_return_delassus(const tg_model *m, tg_work *w)
{
    fill_compliance(w, w->rows);
    list_trees(m, w->rows, false);
}

/* Y as its half of M^-1 */
static void halve(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    if (!tg_rows_are_whole(island))
        return;
    island->half = true;
    for (int i = 0, t = island->root; i < island->trees; i++, t++)
    {
        t = tree_from(w->rows, island, t);
        fill_tree(m, w, t, false);
    }
    sum_diagonal(m, w, island);
}

void tg_need_half(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    halve(m, w, island);
    if (!island->sized)
        sum_diagonal(m, w, island);
    island->sized = true;
}

void tg_need_whole(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    if (!island->sparse || !island->half)
        return;
    island->half = false;
    for (int i = 0, t = island->root; i < island->trees; i++, t++)
    {
        t = tree_from(w->rows, island, t);
        fill_tree(m, w, t, true);
    }
}

void tg_need_delassus(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    if (!tg_island_is_dense(r, island))
        return;
    halve(m, w, island);
    if (island->filled)
        return;
    begin_island(r, island);
    for (int i = 0, t = island->root; i < island->trees; i++, t++)
    {
        t = tree_from(r, island, t);
        add_tree(m, w, t, island);
    }
    end_island(m, r, island);
    if (!island->sized)
        copy_diagonal(r, island);
    island->sized = true;
}

bool tg_need_matrices(const tg_model *m, tg_work *w)
{
    bool any = false;
    for (int i = 0; i < w->rows->nisland; i++)
    {
        tg_rows_island *island = &w->rows->island[i];
        any = any || (!island->filled && tg_island_is_dense(w->rows, island));
        tg_need_delassus(m, w, island);
    }
    return any;
}

/* ---- products ---- */

/* out += A^T x, for the columns of one tree in their rows */
static void add_columns(int columns, int n, const double *A, const double *x, const int *row, double *out)
{
    int ld = v4_pad(columns);
    for (int j = 0; j < columns; j += V4_LANES)
    {
        v4 sum = v4_zero();
        for (int k = 0; k < n; k++)
            sum += v4_splat(x[k]) * v4_load(A + (ptrdiff_t)k * ld + j);
        if (j + V4_LANES <= columns && row[j + V4_LANES - 1] == row[j] + V4_LANES - 1) /* rows ascend */
        {
            v4_storeu(out + row[j], v4_loadu(out + row[j]) + sum);
            continue;
        }
        for (int i = 0; i < V4_LANES && j + i < columns; i++)
            out[row[j + i]] += sum[i];
    }
}

void tg_rows_velocities(const tg_model *m, const tg_work *w, const double *const x[2], double *const out[2])
{
    const tg_rows *r = w->rows;
    for (int i = 0; i < 2 && x[i] != NULL; i++)
        memset(out[i], 0, sizeof(double) * (size_t)r->nrow);
    for (int t = 0; t < m->ntree; t++)
    {
        const double *own[2] = {x[0] + m->tree_dof[t], x[1] != NULL ? x[1] + m->tree_dof[t] : NULL};
        if (r->tree_touched[t])
            tg_support_velocity(m->tree_ndof[t], r->tree_columns[t], tg_tree_support(r, t), r->J + r->tree_start[t],
                                v4_pad(r->tree_columns[t]), own, r->column_row + r->tree_column[t], out);
    }
}

void tg_rows_velocity(const tg_model *m, const tg_work *w, const double *x, double *out)
{
    const double *const one[2] = {x, NULL};
    double *const to[2] = {out, NULL};
    tg_rows_velocities(m, w, one, to);
}

static bool is_whole(const tg_rows *r, int tree)
{
    return r->tree_columns[tree] > 0 && tg_rows_are_whole(&r->island[r->tree_island[tree]]);
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

/* rows of Y of a tree in a group that are zero, all of them */
static bool is_zero(const tg_model *m, const tg_work *w, int tree)
{
    return !is_whole(w->rows, tree) && w->place[m->tree_dof[tree]] < w->group_zeros[m->tree_group[tree]];
}

/* With H J^T in Y (a group's), A^-1 J^T L = H^T (Y L): one half is saved. */
void tg_rows_response(const tg_model *m, const tg_work *w, const double *L, double *x)
{
    const tg_rows *r = w->rows;
    for (int t = 0; t < m->ntree; t++)
    {
        double *xt = x + m->tree_dof[t];
        int n = m->tree_ndof[t], ld = v4_pad(r->tree_columns[t]);
        bool alone = tg_tree_is_alone(m, w, t);
        if (ld == 0 || (alone ? !r->tree_touched[t] : is_zero(m, w, t)))
        {
            memset(xt, 0, sizeof(double) * (size_t)n);
            continue;
        }
        const double *A = (alone || is_whole(r, t) ? r->J : r->Y) + r->tree_start[t];
        const double *Lt = gather_columns(r, t, L, r->gathered);
        for (int k = 0; k < n; k++)
            xt[k] = v4_dot_of(ld, A + (ptrdiff_t)k * ld, Lt);
        if (alone)
            tg_ltl_solve(&m->tree_ltl[t], w->M + m->tree_matrix[t], w->dinv + m->tree_dof[t], xt);
    }
    for (int t = 0; t < m->ntree && w->grouped; t++)
        if (tg_tree_leads(m, w, t) && r->tree_columns[t] > 0)
            (is_whole(r, t) ? tg_group_solve : tg_group_other_half)(m, w, m->tree_group[t], x);
}

void tg_rows_half(const tg_model *m, const tg_work *w, double *x, double *out)
{
    const tg_rows *r = w->rows;
    memset(out, 0, sizeof(double) * (size_t)r->nrow);
    for (int t = 0; t < m->ntree && w->grouped; t++)
        if (tg_tree_leads(m, w, t) && !is_whole(r, t))
            tg_group_half(m, w, m->tree_group[t], x);
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = r->tree_columns[t], first = m->tree_dof[t];
        bool whole = is_whole(r, t);
        whole = whole || !tg_tree_is_alone(m, w, t);
        if (!whole)
            tg_ltl_solve_lt(&m->tree_ltl[t], w->M + m->tree_matrix[t], x + first);
        for (int k = first; k < first + m->tree_ndof[t] && !whole; k++)
            x[k] *= r->root_d[k];
        add_columns(columns, m->tree_ndof[t], r->Y + r->tree_start[t], x + first, r->column_row + r->tree_column[t],
                    out);
    }
}

void tg_rows_other_half(const tg_model *m, const tg_work *w, const double *L, double *x)
{
    const tg_rows *r = w->rows;
    for (int t = 0; t < m->ntree && w->grouped; t++)
        if (tg_tree_leads(m, w, t) && is_whole(r, t))
            tg_group_solve(m, w, m->tree_group[t], x);
    for (int t = 0; t < m->ntree; t++)
    {
        int ld = v4_pad(r->tree_columns[t]), first = m->tree_dof[t];
        const double *Y = r->Y + r->tree_start[t], *Lt = gather_columns(r, t, L, r->gathered),
                     *A = w->M + m->tree_matrix[t];
        bool whole = is_whole(r, t), alone = tg_tree_is_alone(m, w, t);
        if (whole && alone)
            tg_ltl_solve(&m->tree_ltl[t], A, w->dinv + first, x + first);
        for (int k = 0; k < m->tree_ndof[t]; k++)
        {
            double sum = x[first + k] + v4_dot_of(ld, Y + (ptrdiff_t)k * ld, Lt);
            x[first + k] = whole || !alone ? sum : r->root_d[first + k] * sum;
        }
        if (!whole && alone)
            tg_ltl_solve_l(&m->tree_ltl[t], A, x + first);
    }
    for (int t = 0; t < m->ntree; t++)
        if (tg_tree_leads(m, w, t) && !is_whole(r, t))
            tg_group_other_half(m, w, m->tree_group[t], x);
}
