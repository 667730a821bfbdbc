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
 * compared with that row by itself. */
#include <math.h>
#include <string.h>

#include "contact/rows.h"
#include "math/dense.h"

static const double rank_threshold = 1e-10; /* of the largest column */

typedef struct loops
{
    double *G, *bias, *free, *g, *unmet; /* of the island */
    int rows, ldg;
    int n, *row; /* rows of equalities */
    int *at;     /* row of the island -> its place among them, or -1 */
    int null;    /* columns of Z */
    double *A;   /* n x n: J J^T, normalised, its QR */
    double *Z;   /* n x null, its QR */
    double *N;   /* n x null: Z itself, orthonormal columns */
    double *B;   /* n x rows: what is projected */
    double *tau, *work;
    double *first;    /* n: tau of the QR of A */
    double *own;      /* n: G_ii, */
    double *left;     /* and without their part along Z */
    double *size;     /* by which rows are normalised */
    double *rounding; /* of G_ii */
    int *order;
    int *moved; /* rows that a dof moves */
} loops;

static double *entry(const loops *l, int i, int j)
{
    return l->G + (ptrdiff_t)i * l->ldg + j;
}

/* ---- J J^T ---- */

static void gather_rows(loops *l, const tg_rows *r, const tg_rows_island *island)
{
    for (int i = 0; i < island->rows; i++)
        l->at[i] = -1;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_block *block = &r->block[b];
        for (int i = block->row; block->kind == TG_BLOCK_EQUALITY && i < block->row + block->rows; i++)
        {
            l->at[i] = l->n;
            l->row[l->n++] = i;
        }
    }
}

/* The part of one tree, added to A: of every dof, the few rows that it moves. */
static void add_tree(loops *l, const tg_model *m, const tg_rows *r, const tg_rows_island *island, int tree)
{
    int columns = r->tree_columns[tree], mine = 0;
    const int *row = r->column_row + r->tree_column[tree];
    const double *J = r->J + r->tree_start[tree], *Y = r->Y + r->tree_start[tree];
    int *column = l->order; /* of the tree's, those of equalities */
    double *value = l->work;
    for (int a = 0; a < columns; a++)
        if (l->at[row[a] - island->row] >= 0)
            column[mine++] = a;
    for (int k = 0; k < m->tree_ndof[tree]; k++, J += v4_pad(columns), Y += v4_pad(columns))
    {
        int count = 0, *place = l->moved;
        for (int c = 0; c < mine; c++)
        {
            int i = l->at[row[column[c]] - island->row];
            double y = Y[column[c]];
            l->own[i] += y * y;
            if (J[column[c]] == 0)
                continue;
            place[count] = i;
            value[count++] = J[column[c]];
        }
        for (int a = 0; a < count; a++)
            for (int b = 0; b < count; b++)
                l->A[place[a] * l->n + place[b]] += value[a] * value[b];
    }
}

/* rows first .. first + count - 1 belong together */
static void find_sizes(loops *l, int first, int count)
{
    double largest = 0, answer = 0;
    for (int i = first; i < first + count; i++)
    {
        largest = fmax(largest, l->A[i * (l->n + 1)]);
        answer = fmax(answer, l->own[i]);
    }
    for (int i = first; i < first + count; i++)
    {
        l->size[i] = largest > 0 ? 1 / sqrt(largest) : 0;
        l->rounding[i] = rank_threshold * answer;
    }
}

static void normalise(loops *l, const tg_rows *r, const tg_rows_island *island)
{
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_block *block = &r->block[b];
        int together = block->rows < 3 ? 1 : 3;
        for (int i = 0; block->kind == TG_BLOCK_EQUALITY && i < block->rows; i += together)
            find_sizes(l, l->at[block->row + i], together);
    }
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->n; j++)
            l->A[i * l->n + j] *= l->size[i] * l->size[j];
}

static loops loops_of(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    loops l = {.G = island->filled ? r->G + island->G : NULL,
               .bias = r->bias + island->row,
               .free = r->free + island->row,
               .g = r->g + island->row,
               .unmet = r->unmet + island->row,
               .rows = island->rows,
               .ldg = v4_pad(island->rows)};
    l.row = TG_TAKE(&r->scratch, int, island->rows, "equality rows");
    l.at = TG_TAKE(&r->scratch, int, island->rows, "their places");
    gather_rows(&l, r, island);
    size_t n = (size_t)l.n, columns = (size_t)island->rows + 2;
    l.A = TG_TAKE(&r->scratch, double, n *n, "equalities' J J^T");
    l.Z = TG_TAKE(&r->scratch, double, n *n, "what no velocity follows");
    l.B = TG_TAKE(&r->scratch, double, n *columns, "rows of equalities");
    l.tau = TG_TAKE(&r->scratch, double, n, "reflections");
    l.first = TG_TAKE(&r->scratch, double, n, "reflections of J J^T");
    l.work = TG_TAKE(&r->scratch, double, n + columns, "vector");
    l.size = TG_TAKE(&r->scratch, double, n, "sizes");
    l.rounding = TG_TAKE(&r->scratch, double, n, "rounding");
    l.own = TG_TAKE(&r->scratch, double, n, "own answers");
    l.left = TG_TAKE(&r->scratch, double, n, "what is left of them");
    memset(l.own, 0, n * sizeof *l.own);
    l.order = TG_TAKE(&r->scratch, int, n, "order of columns");
    l.moved = TG_TAKE(&r->scratch, int, n, "rows of a dof");
    memset(l.A, 0, n * n * sizeof *l.A);
    for (int t = 0; t < m->ntree; t++)
        if (r->tree_columns[t] > 0 && &r->island[r->tree_island[t]] == island)
            add_tree(&l, m, r, island, t);
    normalise(&l, r, island);
    return l;
}

/* ---- Z ---- */

/* Z of D J J^T D, D the sizes, is D^-1 times that of J J^T: returns the number of its columns, a QR of Z in l->Z */
static int find_null(loops *l)
{
    int n = l->n, rank = tg_qr(n, n, l->A, n, l->first, l->order, rank_threshold, l->work);
    l->null = n - rank;
    if (l->null == 0)
        return 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < l->null; j++)
            l->Z[i * l->null + j] = i == rank + j;
    tg_qr_apply(n, n, l->A, n, l->first, l->null, l->Z, l->null, l->work);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < l->null; j++)
            l->Z[i * l->null + j] *= l->size[i] > 0 ? l->size[i] : 1;
    tg_qr(n, l->null, l->Z, l->null, l->tau, NULL, 0, l->work);
    return l->null;
}

/* Z itself, orthonormal columns */
static void form_null(loops *l, double *Z)
{
    for (int i = 0; i < l->n * l->null; i++)
        Z[i] = i % (l->null + 1) == 0 && i / l->null < l->null;
    tg_qr_apply(l->n, l->null, l->Z, l->null, l->tau, l->null, Z, l->null, l->work);
    l->N = Z;
}

/* B (n x columns) <- P B = B - Z (Z^T B), as many columns at a time as A has room for products with Z */
static void project(loops *l, int columns)
{
    for (int first = 0; first < columns; first += l->n)
    {
        int some = columns - first < l->n ? columns - first : l->n;
        double *B = l->B + first;
        tg_gemm_tn(l->null, some, l->n, l->N, l->null, B, columns, TG_GEMM_SET, l->A, some);
        tg_gemm_nn(l->n, some, l->null, l->N, l->null, l->A, some, TG_GEMM_SUB, B, columns);
    }
}

/* ---- what is left of the rows ---- */

/* G_ii without their part along Z, and zero where that is rounding */
static void find_left(loops *l, const tg_rows *r, const tg_rows_island *island)
{
    const double *Z = r->Z + island->Z;
    double *along = l->work;
    memset(l->left, 0, sizeof(double) * (size_t)l->n);
    for (int t = 0; t < island->trees; t++)
    {
        const tg_tree_rows *tree = &r->tree_rows[island->first_tree + t];
        for (int k = 0; k < tree->dofs; k++)
        {
            const double *Y = tree->Y + (ptrdiff_t)k * tree->ld;
            bool any = false;
            memset(along, 0, sizeof(double) * (size_t)l->null);
            memset(l->B, 0, sizeof(double) * (size_t)l->n);
            for (int j = 0; j < tree->columns; j++)
            {
                int at = l->at[tree->row[j] - island->row];
                if (at < 0 || Y[j] == 0)
                    continue;
                l->B[at] = Y[j];
                for (int c = 0; c < l->null; c++)
                    along[c] += Z[at * l->null + c] * Y[j];
                any = true;
            }
            for (int i = 0; i < l->n && any; i++)
            {
                double left = l->B[i];
                for (int c = 0; c < l->null; c++)
                    left -= Z[i * l->null + c] * along[c];
                l->left[i] += left * left;
            }
        }
    }
    for (int i = 0; i < l->n; i++)
        l->left[i] = l->left[i] <= l->rounding[i] ? 0 : l->left[i];
}

/* what a solver is told of the rows */
static void store_null(const loops *l, tg_rows *r, const tg_rows_island *island)
{
    for (int i = 0; i < l->n; i++)
    {
        r->loop_row[island->loop + i] = l->row[i];
        r->diagonal[island->row + l->row[i]] = l->left[i];
    }
}

/* ---- G and g ---- */

/* Rows of equalities, then their columns among these: G <- P G P, whose other columns are the rows' transpose. */
static void project_matrix(loops *l)
{
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->rows; j++)
            l->B[i * l->rows + j] = *entry(l, j, l->row[i]);
    project(l, l->rows);
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->rows; j++)
            *entry(l, l->row[i], j) = l->B[i * l->rows + j];
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->n; j++)
            l->B[i * l->n + j] = *entry(l, l->row[j], l->row[i]);
    project(l, l->n);
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->n; j++)
            *entry(l, l->row[i], l->row[j]) = l->B[i * l->n + j];
    for (int i = 0; i < l->n; i++)
    {
        /* a row of which nothing is left but rounding */
        bool gone = *entry(l, l->row[i], l->row[i]) <= l->rounding[i];
        l->left[i] = gone ? 0 : *entry(l, l->row[i], l->row[i]);
        for (int j = 0; j < l->rows; j++)
            *entry(l, j, l->row[i]) = *entry(l, l->row[i], j) = gone ? 0 : *entry(l, l->row[i], j);
    }
}

/* returns the largest bias that was taken out (m/s) */
static double project_velocities(loops *l)
{
    double removed = 0;
    for (int i = 0; i < l->n; i++)
    {
        l->B[2 * i] = l->free[l->row[i]];
        l->B[2 * i + 1] = l->bias[l->row[i]];
    }
    project(l, 2);
    for (int i = 0; i < l->n; i++)
    {
        int row = l->row[i];
        bool gone = l->left[i] == 0; /* the others say what it would */
        l->unmet[row] = l->bias[row] - l->B[2 * i + 1];
        removed = fmax(removed, fabs(l->unmet[row]));
        l->free[row] = gone ? 0 : l->B[2 * i];
        l->bias[row] = gone ? 0 : l->B[2 * i + 1];
        l->g[row] = l->free[row] + l->bias[row];
    }
    return removed;
}

static void make_consistent(const tg_model *m, tg_rows *r, tg_rows_island *island)
{
    loops l = loops_of(m, r, island);
    island->removed = 0;
    island->redundant = find_null(&l);
    if (island->redundant == 0)
        return;
    island->loops = l.n;
    form_null(&l, r->Z + island->Z);
    if (island->filled)
        project_matrix(&l);
    else
        find_left(&l, r, island);
    store_null(&l, r, island);
    island->removed = project_velocities(&l);
}

void tg_project_delassus(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    size_t mark = tg_arena_mark(&r->scratch);
    loops l = loops_of(m, r, island);
    find_null(&l);
    form_null(&l, r->Z + island->Z);
    project_matrix(&l);
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
        loop += island->redundant > 0 ? island->loops : 0;
        Z += (size_t)island->redundant * (size_t)island->loops;
        tg_arena_release(&r->scratch, mark);
    }
}

/* ---- how Z turns ---- */

/* Whether the rows are redundant only nearly: J^T Z is more than rounding, compared with the largest row. */
static bool is_slack(const loops *l, const tg_model *m, const tg_rows *r, const tg_rows_island *island)
{
    double largest = 0, size = 0;
    for (int i = 0; i < l->n; i++)
        size = l->size[i] > 0 ? fmax(size, 1 / l->size[i]) : size;
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = r->tree_columns[t];
        const int *row = r->column_row + r->tree_column[t];
        const double *J = r->J + r->tree_start[t];
        bool own = columns > 0 && &r->island[r->tree_island[t]] == island;
        for (int k = 0; own && k < m->tree_ndof[t]; k++, J += v4_pad(columns))
            for (int c = 0; c < l->null; c++)
            {
                double sum = 0;
                for (int a = 0; a < columns; a++)
                    if (l->at[row[a] - island->row] >= 0)
                        sum += J[a] * l->N[l->at[row[a] - island->row] * l->null + c];
                largest = fmax(largest, fabs(sum));
            }
    }
    return largest > rank_threshold * size;
}

/* out (n x n) = (N^+T P)^T. With D the sizes, D J J_p^T D_p = Q R: N^+T P = D_p R^-1 Q^T D P, zero in rows not in p. */
static void invert(loops *l, double *out)
{
    int n = l->n;
    double *X = l->B;
    for (int i = 0; i < n * n; i++)
        X[i] = i % (n + 1) == 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            for (int c = 0; c < l->null; c++)
                X[i * n + j] -= l->N[i * l->null + c] * l->N[j * l->null + c];
            X[i * n + j] *= l->size[i];
        }
    tg_qr_solve(n, n, n - l->null, l->A, n, l->first, l->order, n, X, n, l->work);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            out[j * n + i] = l->size[i] * X[i * n + j];
}

bool tg_consistent_turn(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *answer)
{
    size_t mark = tg_arena_mark(&r->scratch);
    loops l = loops_of(m, r, island);
    find_null(&l);
    form_null(&l, r->Z + island->Z);
    for (int i = 0; i < l.n; i++)
        r->loop_row[island->loop + i] = l.row[i];
    invert(&l, answer);
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
    size_t mark = tg_arena_mark(&r->scratch);
    loops l = loops_of(m, r, island);
    find_null(&l);
    form_null(&l, r->Z + island->Z);
    for (int i = 0; i < l.n; i++)
        l.B[i] = x[l.row[i]];
    project(&l, 1);
    for (int i = 0; i < l.n; i++)
        x[l.row[i]] = l.B[i];
    tg_arena_release(&r->scratch, mark);
}

/* Impulses along Z do nothing to G L, which is P G P L, but J^T Z is not exactly zero: L <- P L. */
void tg_select_consistent(const tg_model *m, tg_rows *r, const tg_rows_island *island)
{
    if (island->result.selection == TG_SELECT_UNSELECTED)
        tg_consistent_part(m, r, island, r->L + island->row);
}
