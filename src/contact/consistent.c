/* Loops with redundant rows (a planar four-bar closed by a connect has one of three) cannot follow every velocity: with
 * Z a basis of the left null space of the equalities' J, Z^T (J v+ + b) = Z^T b whatever v+ is. Nearly redundant rows
 * are no better: the axes of a four-bar whose numbers were rounded to six digits differ by 1e-6, and an impulse could
 * keep the bars from opening along Z by that much only by stopping the mechanism, or by tearing at it 1e6 times harder
 * than anything else. So what is left of the equalities is their part beside Z,
 *     J <- P J,   b <- P b,   P = 1 - Z Z^T,
 * which is G <- P G P and g <- P g; impulses with Z^T L = 0 (selection.c) do the same through J as through P J. Z comes
 * from a pivoted QR of the equalities' J J^T: it is a matter of geometry, whatever the masses are. J^T Z below 1e-5 is
 * nothing, compared with the largest of three rows that belong together (a velocity, an angular velocity): axes of the
 * world mean nothing to a loop, and what one of the three has left when the others have taken their part is not
 * compared with that row by itself.
 *
 * Rows that no dof moves together do not know of each other: J J^T consists of blocks, one per group of rows, and so
 * does Z. (Rows of a loop are zero for what both its ends are on, to the last digit: fill.c.) Couplings of two joints
 * are mostly groups of one row, which are never redundant; what is kept of Z are the rows of groups that are.
 *
 * Equalities are listed first (list.c): they are the first rows of an island and the first columns of a tree. */
#include <math.h>
#include <string.h>

#include "contact/rows.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "solve/tolerance.h"

/* ---- groups of rows ---- */

typedef struct loops
{
    int n;                     /* rows of equalities */
    int groups, *first, *rank; /* group g: members first[g] .. first[g + 1] - 1 */
    int *row, *place;          /* row of a member, place of a row among the members */
    int *group;                /* of a row; while groups are formed, another row of it, or itself */
    double **block;            /* of a group: J J^T, normalised, then its QR */
    double *tau, *size;        /* of members: reflections; by which rows are normalised */
    int *order;                /* of members: columns of the QR */
    int *moved;                /* rows that a dof moves, */
    double *value;             /* by how much */
    double *work, *N;          /* n; J J^T of all rows (n x n), then null x n */
} loops;

static int count_equality_rows(const tg_rows *r, const tg_rows_island *island)
{
    int n = 0;
    const tg_block *block = r->block + island->block;
    for (int b = 0; b < island->blocks && block[b].kind == TG_BLOCK_EQUALITY; b++)
        n += block[b].rows;
    return n;
}

static bool is_of(const tg_rows *r, int tree, const tg_rows_island *island)
{
    return r->tree_columns[tree] > 0 && &r->island[r->tree_island[tree]] == island;
}

/* the columns of equalities in a tree */
static int count_columns(const tg_rows *r, const tg_rows_island *island, int tree, int n)
{
    const int *row = r->column_row + r->tree_column[tree];
    int count = 0;
    while (count < r->tree_columns[tree] && row[count] - island->row < n)
        count++;
    return count;
}

/* the rows that a dof moves; zeros are skipped by fours (padding is zero) */
static int list_moved(const loops *l, const tg_rows *r, const tg_rows_island *island, int tree, int dof, int columns)
{
    const int *row = r->column_row + r->tree_column[tree];
    const double *J = r->J + r->tree_start[tree] + (ptrdiff_t)dof * v4_pad(r->tree_columns[tree]);
    int count = 0;
    for (int first = 0; first < columns; first += V4_LANES)
    {
        v4i bits = (v4i)v4_load(J + first);
        int64_t any = 0;
        for (int k = 0; k < V4_LANES; k++)
            any |= bits[k];
        if (any == 0)
            continue;
        for (int a = first; a < first + V4_LANES && a < columns; a++)
            if (J[a] != 0)
            {
                l->moved[count] = row[a] - island->row;
                l->value[count++] = J[a];
            }
    }
    return count;
}

static int root_of(int *group, int i)
{
    while (group[i] != i)
        i = group[i] = group[group[i]];
    return i;
}

/* the smaller row becomes the root: groups come in the order of their first rows */
static void join_moved(loops *l, int count)
{
    for (int a = 1; a < count; a++)
    {
        int x = root_of(l->group, l->moved[0]), y = root_of(l->group, l->moved[a]);
        l->group[x > y ? x : y] = x < y ? x : y;
    }
}

/* J J^T, the lower triangle (n x n): of every dof, the few rows that it moves, ascending */
static void add_moved(const loops *l, int count)
{
    for (int a = 0; a < count; a++)
        for (int b = 0; b <= a; b++)
            l->N[l->moved[a] * l->n + l->moved[b]] += l->value[a] * l->value[b];
}

/* runs over the dofs that move equalities: joins their rows, and adds their products to l->N */
static void run_over_dofs(loops *l, const tg_model *m, const tg_rows *r, const tg_rows_island *island)
{
    memset(l->N, 0, sizeof(double) * (size_t)l->n * (size_t)l->n);
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = is_of(r, t, island) ? count_columns(r, island, t, l->n) : 0;
        int words = tg_chain_words(m->tree_ndof[t]);
        for (int w = 0; columns > 0 && w < words; w++)
        {
            uint64_t involved = 0;
            for (int v = 0; V4_LANES * v < columns; v++)
                involved |= tg_tree_support(r, t)[v * words + w];
            for (int k = TG_CHAIN_BITS * w; involved != 0; involved >>= 1, k++)
            {
                int count = involved & 1 ? list_moved(l, r, island, t, k, columns) : 0;
                join_moved(l, count);
                add_moved(l, count);
            }
        }
    }
}

/* of l->N, the rows and columns of a group: its lower triangle */
static void copy_group(const loops *l, int g)
{
    int n = l->first[g + 1] - l->first[g];
    const int *row = l->row + l->first[g]; /* ascending */
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            l->block[g][i * n + j] = l->N[row[i] * l->n + row[j]];
}

/* numbers the groups, and their members one group after the other */
static void number_groups(loops *l)
{
    for (int i = 0; i < l->n; i++)
    {
        int root = root_of(l->group, i);
        l->place[i] = root < i ? l->place[root] : l->groups++;
    }
    memset(l->first, 0, sizeof(int) * (size_t)(l->groups + 1));
    for (int i = 0; i < l->n; i++)
        l->first[(l->group[i] = l->place[i]) + 1]++;
    for (int g = 0; g < l->groups; g++)
        l->first[g + 1] += l->first[g];
    memset(l->rank, 0, sizeof(int) * (size_t)l->groups);
    for (int i = 0; i < l->n; i++)
    {
        int g = l->group[i];
        l->place[i] = l->first[g] + l->rank[g]++;
        l->row[l->place[i]] = i;
    }
}

/* J_i J_i^T of a row */
static double square(const loops *l, int i)
{
    int g = l->group[i], n = l->first[g + 1] - l->first[g];
    return l->block[g][(l->place[i] - l->first[g]) * (n + 1)];
}

/* rows that belong together have one size, that of the largest */
static void find_sizes(loops *l, const tg_rows *r, const tg_rows_island *island)
{
    const tg_block *block = r->block + island->block;
    for (int n = l->n; n > 0; n -= block->rows, block++)
    {
        int together = tg_rows_together(block->rows);
        for (int first = block->row; first < block->row + block->rows; first += together)
        {
            double largest = 0;
            for (int i = first; i < first + together; i++)
                largest = fmax(largest, square(l, i));
            for (int i = first; i < first + together; i++)
                l->size[l->place[i]] = largest > 0 ? 1 / sqrt(largest) : 0;
        }
    }
}

/* x <- (1 - tau v v^T) x, v = (1, ...): x and v from their entry k on */
static void reflect(int count, const double *v, double tau, double *x)
{
    double along = tau * (x[0] + v4_dot_of(count - 1, v + 1, x + 1));
    x[0] -= along;
    v4_subtract_scaled(count - 1, along, v + 1, x + 1);
}

/* The largest of the columns k .. n - 1, below their entry k, comes first; returns the square of its norm. */
static double choose_column(int n, double *A, int *order, int k)
{
    double largest = -1;
    int best = k;
    for (int j = k; j < n; j++)
    {
        const double *x = A + (ptrdiff_t)j * n + k;
        double size = v4_dot_of(n - k, x, x);
        best = size > largest ? j : best;
        largest = size > largest ? size : largest;
    }
    for (int i = 0; i < n && best != k; i++)
    {
        double x = A[best * n + i];
        A[best * n + i] = A[k * n + i];
        A[k * n + i] = x;
    }
    int j = order[best];
    order[best] = order[k];
    order[k] = j;
    return largest;
}

/* QR of the normalised matrix of a group, by reflections (math/qr.c), up to its rank. A is symmetric: its columns are
 * its rows. */
static void factor_group(loops *l, int g)
{
    int first = l->first[g], n = l->first[g + 1] - first, k = 0;
    double *A = l->block[g], *size = l->size + first, threshold = 0;
    for (int i = 0; i < n; i++)
    {
        l->order[first + i] = i;
        for (int j = 0; j <= i; j++)
            A[j * n + i] = A[i * n + j] *= size[i] * size[j];
    }
    for (; k < n; k++)
    {
        double left = sqrt(choose_column(n, A, l->order + first, k)), *x = A + (ptrdiff_t)k * (n + 1);
        threshold = k == 0 ? TG_RANK * left : threshold;
        if (!(left > threshold))
            break;
        double beta = -copysign(left, x[0]), scale = 1 / (x[0] - beta);
        l->tau[first + k] = (beta - x[0]) / beta;
        for (int i = 1; i < n - k; i++)
            x[i] *= scale;
        x[0] = beta;
        for (int j = k + 1; j < n; j++)
            reflect(n - k, x, l->tau[first + k], A + (ptrdiff_t)j * n + k);
    }
    l->rank[g] = k;
}

static loops loops_of(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    loops l = {.n = count_equality_rows(r, island)};
    size_t n = (size_t)l.n;
    int **lists[] = {&l.row, &l.place, &l.group, &l.order, &l.moved, &l.rank};
    double **vectors[] = {&l.tau, &l.size, &l.value, &l.work};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        *lists[i] = TG_TAKE(&r->scratch, int, n, "rows of equalities");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(&r->scratch, double, n, "numbers of rows");
    l.first = TG_TAKE(&r->scratch, int, n + 1, "groups of rows");
    l.block = TG_TAKE(&r->scratch, double *, n, "matrices of groups");
    double *A = TG_TAKE(&r->scratch, double, n *n, "equalities' J J^T");
    l.N = TG_TAKE(&r->scratch, double, n *n, "what no velocity follows");
    for (int i = 0; i < l.n; i++)
        l.group[i] = i;
    run_over_dofs(&l, m, r, island);
    number_groups(&l);
    for (int g = 0; g < l.groups; g++)
    {
        int rows = l.first[g + 1] - l.first[g];
        l.block[g] = A;
        copy_group(&l, g);
        A += (ptrdiff_t)rows * rows;
    }
    find_sizes(&l, r, island);
    for (int g = 0; g < l.groups; g++)
        factor_group(&l, g);
    return l;
}

/* ---- Z ---- */

/* Z of D J J^T D, D the sizes, is D^-1 times that of J J^T: N (null x n) of a group, orthonormal rows */
static void form_null(const loops *l, int g, double *N)
{
    int first = l->first[g], n = l->first[g + 1] - first, rank = l->rank[g], null = n - rank;
    const double *A = l->block[g], *size = l->size + first;
    memset(N, 0, sizeof(double) * (size_t)null * (size_t)n);
    for (int c = 0; c < null; c++)
    {
        double *x = N + (ptrdiff_t)c * n;
        x[rank + c] = 1;
        for (int k = rank - 1; k >= 0; k--)
            reflect(n - k, A + (ptrdiff_t)k * (n + 1), l->tau[first + k], x + k);
        for (int i = 0; i < n; i++)
            x[i] *= size[i] > 0 ? size[i] : 1;
        double before, norm = sqrt(v4_dot_of(n, x, x));
        do /* once more where digits were lost: twice is enough */
        {
            before = norm;
            for (int b = 0; b < c; b++)
                v4_subtract_scaled(n, v4_dot_of(n, N + (ptrdiff_t)b * n, x), N + (ptrdiff_t)b * n, x);
            norm = sqrt(v4_dot_of(n, x, x));
        } while (norm < 0.5 * before);
        for (int i = 0; i < n; i++)
            x[i] /= norm;
    }
}

/* how many rows are in groups with redundant ones, and how many columns Z has */
static void count_null(const loops *l, tg_rows_island *island)
{
    island->loops = island->redundant = 0;
    for (int g = 0; g < l->groups; g++)
    {
        int n = l->first[g + 1] - l->first[g];
        island->loops += l->rank[g] < n ? n : 0;
        island->redundant += n - l->rank[g];
    }
}

static void store_null(const loops *l, tg_rows *r, const tg_rows_island *island)
{
    int at = 0, column = 0, ld = island->redundant;
    double *Z = r->Z + island->Z, *N = l->N;
    memset(Z, 0, sizeof(double) * (size_t)island->loops * (size_t)ld);
    for (int g = 0; g < l->groups; g++)
    {
        int n = l->first[g + 1] - l->first[g], null = n - l->rank[g];
        if (null == 0)
            continue;
        form_null(l, g, N);
        for (int i = 0; i < n; i++, at++)
        {
            r->loop_row[island->loop + at] = l->row[l->first[g] + i];
            r->loop_column[island->loop + at] = column;
            for (int j = 0; j < null; j++)
                Z[at * ld + column + j] = N[j * n + i];
        }
        column += null;
    }
}

/* Z of an island: from this step's rows, or once more where rows were restored */
static void need_null(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    if (r->null_known)
        return;
    size_t mark = tg_arena_mark(&r->scratch);
    loops l = loops_of(m, r, island);
    store_null(&l, r, island);
    tg_arena_release(&r->scratch, mark);
}

/* Of Z, the part of one group: rows first .. first + rows - 1 of the list, columns from `column` on. */
typedef struct part
{
    int first, rows, column, columns;
    const int *row;  /* of the island */
    const double *Z; /* at the first row and column; leading dimension redundant */
} part;

static part part_at(const tg_rows *r, const tg_rows_island *island, int first)
{
    const int *column = r->loop_column + island->loop;
    part p = {.first = first, .column = column[first], .row = r->loop_row + island->loop + first};
    while (first + p.rows < island->loops && column[first + p.rows] == p.column)
        p.rows++;
    p.columns = (first + p.rows < island->loops ? column[first + p.rows] : island->redundant) - p.column;
    p.Z = r->Z + island->Z + (ptrdiff_t)first * island->redundant + p.column;
    return p;
}

/* column c of Z, times x over the rows of the island */
static double along_column(const part *p, int redundant, int c, const double *x)
{
    double along = 0;
    for (int i = 0; i < p->rows; i++)
        along += p->Z[i * redundant + c] * x[p->row[i]];
    return along;
}

/* x <- P x, over the rows of the island; the columns of Z one after the other */
static void project(const tg_rows *r, const tg_rows_island *island, double *x)
{
    part p;
    for (int first = 0; first < island->loops; first += p.rows)
    {
        p = part_at(r, island, first);
        for (int c = 0; c < p.columns; c++)
        {
            double along = along_column(&p, island->redundant, c, x);
            for (int i = 0; i < p.rows; i++)
                x[p.row[i]] -= p.Z[i * island->redundant + c] * along;
        }
    }
}

/* ---- what is left of the rows ---- */

/* Of which G_ii only rounding is left, by the largest of rows that belong together; G_ii are `step` apart. */
static double *find_rounding(tg_rows *r, const tg_rows_island *island, const double *diagonal, ptrdiff_t step)
{
    int n = count_equality_rows(r, island);
    double *rounding = TG_TAKE(&r->scratch, double, n, "rounding");
    const tg_block *block = r->block + island->block;
    for (; n > 0; n -= block->rows, block++)
    {
        int together = tg_rows_together(block->rows);
        for (int first = block->row; first < block->row + block->rows; first += together)
        {
            double largest = 0;
            for (int i = first; i < first + together; i++)
                largest = fmax(largest, diagonal[i * step]);
            for (int i = first; i < first + together; i++)
                rounding[i] = TG_RANK * largest;
        }
    }
    return rounding;
}

/* Y of one row of the island: its column in every tree, one after the other */
static void gather_row(const tg_model *m, const tg_rows *r, const tg_rows_island *island, int row, double *y)
{
    for (int t = 0; t < m->ntree; t++)
    {
        if (!is_of(r, t, island))
            continue;
        const int *own = r->column_row + r->tree_column[t];
        const double *Y = r->Y + r->tree_start[t];
        int column = 0, ld = v4_pad(r->tree_columns[t]);
        while (column < r->tree_columns[t] && own[column] - island->row < row)
            column++;
        bool here = column < r->tree_columns[t] && own[column] - island->row == row;
        for (int k = 0; k < m->tree_ndof[t]; k++)
            *y++ = here ? Y[(ptrdiff_t)k * ld + column] : 0;
    }
}

/* G_ii without their part along Z: the squares of P Y^T */
static void find_left(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *left)
{
    int dofs = island->dofs;
    part p;
    for (int first = 0; first < island->loops; first += p.rows)
    {
        p = part_at(r, island, first);
        memset(left + first, 0, sizeof(double) * (size_t)p.rows);
        if (p.columns == p.rows)
            continue;
        size_t mark = tg_arena_mark(&r->scratch);
        double *Y = TG_TAKE(&r->scratch, double, (size_t)p.rows *(size_t)dofs, "rows of a group");
        double *along = TG_TAKE(&r->scratch, double, dofs, "their part along Z");
        for (int i = 0; i < p.rows; i++)
            gather_row(m, r, island, p.row[i], Y + (ptrdiff_t)i * dofs);
        for (int c = 0; c < p.columns; c++)
        {
            memset(along, 0, sizeof(double) * (size_t)dofs);
            for (int i = 0; i < p.rows; i++)
                v4_subtract_scaled(dofs, -p.Z[i * island->redundant + c], Y + (ptrdiff_t)i * dofs, along);
            for (int i = 0; i < p.rows; i++)
                v4_subtract_scaled(dofs, p.Z[i * island->redundant + c], along, Y + (ptrdiff_t)i * dofs);
        }
        for (int i = 0; i < p.rows; i++)
            left[first + i] = v4_dot_of(dofs, Y + (ptrdiff_t)i * dofs, Y + (ptrdiff_t)i * dofs);
        tg_arena_release(&r->scratch, mark);
    }
}

/* ---- G and g ---- */

/* G <- P G P for the rows of one group: those rows, and of these their own columns. The other columns follow. */
static void project_part(tg_rows *r, const tg_rows_island *island, const part *p)
{
    size_t mark = tg_arena_mark(&r->scratch);
    int n = island->rows, ldg = v4_pad(n), own = p->rows, null = p->columns, ldz = island->redundant;
    double *G = r->G + island->G;
    double *B = TG_TAKE(&r->scratch, double, (size_t)own *(size_t)ldg, "rows of a group");
    double *C = TG_TAKE(&r->scratch, double, (size_t)own *(size_t)own, "their own columns");
    double *along = TG_TAKE(&r->scratch, double, (size_t)null *(size_t)ldg, "part along Z");
    for (int i = 0; i < own; i++)
        memcpy(B + (ptrdiff_t)i * ldg, G + (ptrdiff_t)p->row[i] * ldg, sizeof(double) * (size_t)n);
    tg_gemm_tn(null, n, own, p->Z, ldz, B, ldg, TG_GEMM_SET, along, ldg);
    tg_gemm_nn(own, n, null, p->Z, ldz, along, ldg, TG_GEMM_SUB, B, ldg);
    for (int i = 0; i < own; i++)
        for (int j = 0; j < own; j++)
            C[i * own + j] = B[(ptrdiff_t)i * ldg + p->row[j]];
    tg_gemm_nn(own, null, own, C, own, p->Z, ldz, TG_GEMM_SET, along, null);
    tg_gemm_nt(own, own, null, along, null, p->Z, ldz, TG_GEMM_SUB, C, own);
    for (int i = 0; i < own; i++)
    {
        double *row = G + (ptrdiff_t)p->row[i] * ldg;
        memcpy(row, B + (ptrdiff_t)i * ldg, sizeof(double) * (size_t)n);
        for (int j = 0; j < own; j++)
            row[p->row[j]] = C[i * own + j];
    }
    tg_arena_release(&r->scratch, mark);
}

/* columns of `count` listed rows, from first on, by symmetry: in the rows i of all, or of the list */
static void mirror(tg_rows *r, const tg_rows_island *island, int first, int count, bool all)
{
    const int *row = r->loop_row + island->loop;
    ptrdiff_t ldg = v4_pad(island->rows);
    double *G = r->G + island->G;
    for (int i = 0; i < (all ? island->rows : island->loops); i++)
        for (int k = first; k < first + count; k++)
            G[(all ? i : row[i]) * ldg + row[k]] = G[row[k] * ldg + (all ? i : row[i])];
}

/* of all groups; a row of which nothing is left but rounding is zero */
static void project_matrix(tg_rows *r, const tg_rows_island *island, const double *rounding)
{
    int n = island->rows, ldg = v4_pad(n);
    double *G = r->G + island->G;
    part p;
    for (int first = 0; first < island->loops; first += p.rows)
    {
        p = part_at(r, island, first);
        project_part(r, island, &p);
        mirror(r, island, first, p.rows, false);
    }
    for (int k = 0; k < island->loops; k++)
    {
        ptrdiff_t i = r->loop_row[island->loop + k];
        if (!(G[i * (ldg + 1)] <= rounding[i]))
            continue;
        memset(G + i * ldg, 0, sizeof(double) * (size_t)n);
        mirror(r, island, k, 1, false);
    }
    mirror(r, island, 0, island->loops, true);
}

/* what a solver is told of the rows: G_ii beside Z, 0 where that is rounding */
static void store_left(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    double *own = r->diagonal + island->row,
           *left = TG_TAKE(&r->scratch, double, island->loops, "what is left of G_ii");
    const double *rounding = find_rounding(r, island, own, 1), *G = r->G + island->G;
    const int *row = r->loop_row + island->loop;
    size_t next = (size_t)v4_pad(island->rows) + 1;
    if (island->filled)
        project_matrix(r, island, rounding);
    else
        find_left(m, r, island, left);
    for (int i = 0; i < island->loops; i++)
    {
        double beside = island->filled ? G[(size_t)row[i] * next] : left[i];
        own[row[i]] = beside <= rounding[row[i]] ? 0 : beside;
    }
}

/* returns the largest bias that was taken out (m/s) */
static double project_velocities(tg_rows *r, const tg_rows_island *island)
{
    double removed = 0, *unmet = r->unmet + island->row, *bias = r->bias + island->row;
    double *free = r->free + island->row, *g = r->g + island->row;
    int n = count_equality_rows(r, island);
    memcpy(unmet, bias, sizeof(double) * (size_t)n);
    project(r, island, bias);
    project(r, island, free);
    for (int i = 0; i < n; i++)
        unmet[i] -= bias[i];
    for (int k = 0; k < island->loops; k++)
    {
        int i = r->loop_row[island->loop + k];
        removed = fmax(removed, fabs(unmet[i]));
        if (r->diagonal[island->row + i] == 0) /* the others say what it would */
            free[i] = bias[i] = 0;
        g[i] = free[i] + bias[i];
    }
    return removed;
}

static void make_consistent(const tg_model *m, tg_rows *r, tg_rows_island *island)
{
    loops l = loops_of(m, r, island);
    island->removed = 0;
    count_null(&l, island);
    if (island->redundant == 0)
        return;
    store_null(&l, r, island);
    store_left(m, r, island);
    island->removed = project_velocities(r, island);
}

void tg_project_delassus(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    size_t mark = tg_arena_mark(&r->scratch);
    need_null(m, r, island);
    project_matrix(r, island, find_rounding(r, island, r->G + island->G, (ptrdiff_t)v4_pad(island->rows) + 1));
    tg_arena_release(&r->scratch, mark);
}

void tg_make_consistent(const tg_model *m, tg_rows *r)
{
    int loop = 0;
    size_t Z = 0;
    for (int i = 0; i < r->nisland; i++)
    {
        tg_rows_island *island = &r->island[i];
        size_t mark = tg_arena_mark(&r->scratch);
        island->loop = loop;
        island->Z = Z;
        if (island->equality && tg_island_is_dense(r, island))
            make_consistent(m, r, island);
        loop += island->loops;
        Z += (size_t)island->redundant * (size_t)island->loops;
        tg_arena_release(&r->scratch, mark);
    }
    r->null_known = true;
}

/* ---- how Z turns ---- */

/* Whether the rows are redundant only nearly: J^T Z is more than rounding, compared with the largest row. */
static bool is_slack(const loops *l, const tg_model *m, const tg_rows *r, const tg_rows_island *island)
{
    double largest = 0, size = 0, *x = l->work;
    for (int i = 0; i < l->n; i++)
        size = l->size[i] > 0 ? fmax(size, 1 / l->size[i]) : size;
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = is_of(r, t, island) ? count_columns(r, island, t, l->n) : 0;
        const int *row = r->column_row + r->tree_column[t];
        const double *J = r->J + r->tree_start[t];
        for (int k = 0; columns > 0 && k < m->tree_ndof[t]; k++, J += v4_pad(r->tree_columns[t]))
        {
            memset(x, 0, sizeof(double) * (size_t)l->n);
            for (int a = 0; a < columns; a++)
                x[row[a] - island->row] = J[a];
            part p;
            for (int first = 0; first < island->loops; first += p.rows)
            {
                p = part_at(r, island, first);
                for (int c = 0; c < p.columns; c++)
                    largest = fmax(largest, fabs(along_column(&p, island->redundant, c, x)));
            }
        }
    }
    return largest > TG_RANK * size;
}

/* out (loops x loops) = (N^+T P)^T, group by group. With D the sizes, D J J_p^T D_p = Q R: N^+T P = D_p R^-1 Q^T D P,
 * zero in rows not in p. */
static void invert(const loops *l, const tg_rows *r, const tg_rows_island *island, double *out)
{
    part p;
    memset(out, 0, sizeof(double) * (size_t)island->loops * (size_t)island->loops);
    for (int at = 0; at < island->loops; at += p.rows)
    {
        p = part_at(r, island, at);
        int g = l->group[p.row[0]], first = l->first[g], n = p.rows, rank = l->rank[g];
        const double *A = l->block[g], *size = l->size + first;
        double *b = l->value;
        for (int j = 0; j < n; j++)
        {
            for (int i = 0; i < n; i++)
            {
                double along = v4_dot_of(p.columns, p.Z + (ptrdiff_t)i * island->redundant,
                                         p.Z + (ptrdiff_t)j * island->redundant);
                b[i] = size[i] * ((i == j) - along);
            }
            for (int k = 0; k < rank; k++)
                reflect(n - k, A + (ptrdiff_t)k * (n + 1), l->tau[first + k], b + k);
            for (int k = rank - 1; k >= 0; k--)
            {
                b[k] /= A[k * (n + 1)];
                v4_subtract_scaled(k, b[k], A + (ptrdiff_t)k * n, b);
            }
            for (int k = 0; k < rank; k++)
            {
                int i = l->order[first + k];
                out[(ptrdiff_t)(at + j) * island->loops + at + i] = size[i] * b[k];
            }
        }
    }
}

bool tg_consistent_turn(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *answer)
{
    size_t mark = tg_arena_mark(&r->scratch);
    loops l = loops_of(m, r, island);
    store_null(&l, r, island);
    invert(&l, r, island, answer);
    bool slack = is_slack(&l, m, r, island);
    tg_arena_release(&r->scratch, mark);
    return slack;
}

/* x = J^T f, as a velocity */
void tg_consistent_motion(const tg_model *m, const tg_rows *r, const double *f, double *x)
{
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = r->tree_columns[t];
        const int *row = r->column_row + r->tree_column[t];
        const double *J = r->J + r->tree_start[t];
        for (int k = 0; k < m->tree_ndof[t]; k++, J += v4_pad(columns))
        {
            double sum = 0;
            for (int a = 0; a < columns; a++)
                sum += J[a] * f[row[a]];
            x[m->tree_dof[t] + k] = sum;
        }
    }
}

void tg_consistent_part(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *x)
{
    if (island->redundant == 0)
        return;
    need_null(m, r, island);
    project(r, island, x);
}

/* Impulses along Z do nothing to G L, which is P G P L, but J^T Z is not exactly zero: L <- P L. */
void tg_select_consistent(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    if (island->result.selection == TG_SELECT_UNSELECTED)
        tg_consistent_part(m, r, island, r->L + island->row);
}
