/* The numbers of fronts.h. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/fronts.h"
#include "math/lanes.h"
#include "math/vec3.h"

enum
{
    SMALL = 32,   /* unknowns of a front's own for which calls cost more than work */
    FREE = TWIST, /* of one free body */
    ROWS = 6,     /* a tile of an update: 6 x 8 */
    VECTORS = 2,
    WIDEST = 6 /* vectors that are solved for at a time */
};

/* a front's factors */
typedef struct factors
{
    double *own, *right, *below; /* F11, F12, F21^T: p rows each */
    int p, r, ldp, ldr;
    int *row;
    bool symmetric;
} factors;

static factors factors_of(const tg_fronts *f, const tg_front *x)
{
    int ldp = v4_pad(x->p), ldr = v4_pad(x->r);
    double *own = f->memory + x->factor, *right = own + (ptrdiff_t)x->p * ldp;
    return (factors){own, right, right + (ptrdiff_t)x->p * ldr, x->p, x->r, ldp, ldr, f->row + x->first, f->symmetric};
}

/* ---- sums ---- */

TG_INLINE void add_numbers(int n, const double *from, double *to)
{
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
        v4_storeu(to + i, v4_loadu(to + i) + v4_loadu(from + i));
    for (; i < n; i++)
        to[i] += from[i];
}

/* adds a child's update to where its boundary is in this front: of a symmetric one what is on and above the diagonal */
static void add_update(const tg_fronts *f, const tg_front *child, const double *U, double *A, int ld)
{
    const tg_run *run = f->run + child->into, *end = run + child->ninto;
    int ldu = v4_pad(child->r);
    for (const tg_run *a = run; a < end; a++)
        for (int i = 0; i < a->count; i++)
        {
            const double *from = U + (ptrdiff_t)(a->from + i) * ldu;
            double *to = A + (ptrdiff_t)(a->to + i) * ld;
            if (f->symmetric)
                add_numbers(a->count - i, from + a->from + i, to + a->to + i);
            for (const tg_run *b = f->symmetric ? a + 1 : run; b < end; b++)
                if (b->count == FREE)
                    add_numbers(FREE, from + b->from, to + b->to);
                else
                    add_numbers(b->count, from + b->from, to + b->to);
        }
}

/* ---- few unknowns ---- */

/* the row with the largest |A(i, k)|, i >= k */
TG_INLINE int largest_row(int k, int p, int lda, const double *A)
{
    double most = -1;
    int row = k;
    for (int i = k; i < p; i++)
    {
        double size = fabs(A[(ptrdiff_t)i * lda + k]);
        row = size > most ? i : row;
        most = size > most ? size : most;
    }
    return row;
}

TG_INLINE void exchange(int lda, double *a, double *b)
{
    for (int j = 0; j < lda; j += V4_LANES)
    {
        v4 keep = v4_load(a + j);
        v4_store(a + j, v4_load(b + j));
        v4_store(b + j, keep);
    }
}

/* a row -= l u behind column k, where l comes */
TG_INLINE void subtract_row(int k, int p, int lda, double l, const double *u, double *a)
{
    if (p == FREE) /* few enough to stay in registers */
    {
        a[k] = l;
        for (int j = k + 1; j < p; j++)
            a[j] -= l * u[j];
        return;
    }
    int group = k & ~(V4_LANES - 1);
    v4 first = v4_keep(v4_lanes_from(k % V4_LANES + 1), v4_load(u + group));
    v4_store(a + group, v4_load(a + group) - v4_splat(l) * first);
    a[k] = l;
    for (int j = group + V4_LANES; j < lda; j += V4_LANES)
        v4_store(a + j, v4_load(a + j) - v4_splat(l) * v4_load(u + j));
}

/* P A = L U, rows of lda numbers, whole v4; the diagonal of U is stored inverted, row[i] is the row of A that comes to
 * place i */
TG_INLINE bool factor_rows(int p, int lda, double *A, int *row)
{
    for (int k = 0; k < p; k++)
        row[k] = k;
    for (int k = 0; k < p; k++)
    {
        double *u = A + (ptrdiff_t)k * lda;
        int pivot = largest_row(k, p, lda, A), keep = row[k];
        if (pivot != k)
        {
            exchange(lda, u, A + (ptrdiff_t)pivot * lda);
            row[k] = row[pivot];
            row[pivot] = keep;
        }
        if (u[k] == 0 || !isfinite(u[k]))
            return false;
        u[k] = 1 / u[k];
        for (int i = k + 1; i < p; i++)
            subtract_row(k, p, lda, A[(ptrdiff_t)i * lda + k] * u[k], u, A + (ptrdiff_t)i * lda);
    }
    return true;
}

/* four columns y = U^-1 L^-1 P x of six rows, ldx and ldy numbers apart */
TG_INLINE void solve_six(const double *A, const int *row, const double *x, ptrdiff_t ldx, double *y, ptrdiff_t ldy)
{
    v4 z[FREE];
    for (int i = 0; i < FREE; i++)
    {
        z[i] = v4_load(x + row[i] * ldx);
        for (int j = 0; j < i; j++)
            z[i] -= v4_splat(A[i * v4_pad(FREE) + j]) * z[j];
    }
    for (int i = FREE - 1; i >= 0; i--)
    {
        for (int j = i + 1; j < FREE; j++)
            z[i] -= v4_splat(A[i * v4_pad(FREE) + j]) * z[j];
        z[i] *= v4_splat(A[i * (v4_pad(FREE) + 1)]);
        v4_store(y + i * ldy, z[i]);
    }
}

/* 4 vectors columns of any number of rows */
TG_INLINE void solve_lanes(int vectors, int p, int lda, const double *A, const int *row, const double *x, ptrdiff_t ldx,
                           double *y, ptrdiff_t ldy)
{
    for (int i = 0; i < p; i++)
    {
        const double *a = A + (ptrdiff_t)i * lda;
        v4 z[WIDEST];
        for (int c = 0; c < vectors; c++)
            z[c] = v4_load(x + row[i] * ldx + V4_LANES * c);
        for (int j = 0; j < i; j++)
            for (int c = 0; c < vectors; c++)
                z[c] -= v4_splat(a[j]) * v4_load(y + j * ldy + V4_LANES * c);
        for (int c = 0; c < vectors; c++)
            v4_store(y + i * ldy + V4_LANES * c, z[c]);
    }
    for (int i = p - 1; i >= 0; i--)
    {
        const double *a = A + (ptrdiff_t)i * lda;
        v4 z[WIDEST];
        for (int c = 0; c < vectors; c++)
            z[c] = v4_load(y + i * ldy + V4_LANES * c);
        for (int j = i + 1; j < p; j++)
            for (int c = 0; c < vectors; c++)
                z[c] -= v4_splat(a[j]) * v4_load(y + j * ldy + V4_LANES * c);
        for (int c = 0; c < vectors; c++)
            v4_store(y + i * ldy + V4_LANES * c, z[c] * v4_splat(a[i]));
    }
}

/* one column */
TG_INLINE void solve_column(int p, int lda, const double *A, const int *row, double *x)
{
    double z[SMALL];
    for (int i = 0; i < p; i++)
    {
        z[i] = x[row[i]];
        for (int j = 0; j < i; j++)
            z[i] -= A[(ptrdiff_t)i * lda + j] * z[j];
    }
    for (int i = p - 1; i >= 0; i--)
    {
        for (int j = i + 1; j < p; j++)
            z[i] -= A[(ptrdiff_t)i * lda + j] * z[j];
        z[i] *= A[(ptrdiff_t)i * (lda + 1)];
        x[i] = z[i];
    }
}

/* ---- one front ---- */

static void copy_rows(int rows, int columns, const double *from, ptrdiff_t ld, double *to)
{
    for (int i = 0; i < rows; i++, from += ld, to += columns)
        for (int j = 0; j < columns; j += V4_LANES)
            v4_store(to + j, v4_load(from + j));
}

static bool eliminate_six(const factors *x, const double *A12, ptrdiff_t ld)
{
    if (!factor_rows(FREE, v4_pad(FREE), x->own, x->row))
        return false;
    for (int j = 0; j < x->ldr; j += V4_LANES)
        solve_six(x->own, x->row, A12 + j, ld, x->right + j, x->ldr);
    return true;
}

static bool eliminate_few(const factors *x, const double *A12, ptrdiff_t ld)
{
    if (!factor_rows(x->p, x->ldp, x->own, x->row))
        return false;
    int j = 0;
    for (; j + WIDEST * V4_LANES <= x->ldr; j += WIDEST * V4_LANES)
        solve_lanes(WIDEST, x->p, x->ldp, x->own, x->row, A12 + j, ld, x->right + j, x->ldr);
    for (; j + VECTORS * V4_LANES <= x->ldr; j += VECTORS * V4_LANES)
        solve_lanes(VECTORS, x->p, x->ldp, x->own, x->row, A12 + j, ld, x->right + j, x->ldr);
    if (j < x->ldr)
        solve_lanes(1, x->p, x->ldp, x->own, x->row, A12 + j, ld, x->right + j, x->ldr);
    return true;
}

static bool factor_many(const factors *x)
{
    return x->symmetric ? tg_chol(x->p, x->own, x->ldp) < 0 : tg_lu(x->p, x->own, x->ldp, x->row) < 0;
}

/* y <- F11^-1 y of so many columns */
static void solve_many(const factors *x, int columns, double *y)
{
    if (x->symmetric)
        tg_chol_solve(x->p, x->own, x->ldp, columns, y, columns);
    else
        tg_lu_solve(x->p, x->own, x->ldp, x->row, columns, y, columns);
}

/* F11 and F12 <- F11^-1 F12; A: the front's matrix */
static bool eliminate_own(const factors *x, const double *A, ptrdiff_t ld)
{
    const double *A12 = A + x->ldp;
    if (x->p > SMALL)
    {
        if (!factor_many(x))
            return false;
        copy_rows(x->p, x->ldr, A12, ld, x->right);
        solve_many(x, x->ldr, x->right);
        return true;
    }
    return x->p == FREE ? eliminate_six(x, A12, ld) : eliminate_few(x, A12, ld);
}

/* F21: rows and columns so far apart; of a symmetric front it is F12^T */
typedef struct lower
{
    const double *at;
    ptrdiff_t row, column;
} lower;

/* U = C - L R of rows x 4 vectors entries: C with rows ld apart, R and U with rows ldr apart */
TG_INLINE void update_tile(int rows, int vectors, int p, lower L, const double *C, ptrdiff_t ld, const double *R,
                           double *U, ptrdiff_t ldr)
{
    v4 sum[ROWS][VECTORS];
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++)
            sum[i][j] = v4_load(C + i * ld + V4_LANES * j);
    TG_NO_UNROLL
    for (int k = 0; k < p; k++, L.at += L.column, R += ldr)
    {
        v4 r[VECTORS];
        for (int j = 0; j < vectors; j++)
            r[j] = v4_load(R + V4_LANES * j);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < vectors; j++)
                sum[i][j] -= L.at[i * L.row] * r[j];
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < vectors; j++)
            v4_store(U + i * ldr + V4_LANES * j, sum[i][j]);
}

/* the same from row i on */
TG_INLINE void update_rows(int rows, int vectors, int p, int i, lower L, const double *C, ptrdiff_t ld, const double *R,
                           double *U, ptrdiff_t ldr)
{
    L.at += i * L.row;
    update_tile(rows, vectors, p, L, C + i * ld, ld, R, U + i * ldr, ldr);
}

/* the columns of a tile, r rows */
TG_INLINE void update_columns(int vectors, int p, int r, lower L, const double *C, ptrdiff_t ld, const double *R,
                              double *U, ptrdiff_t ldr)
{
    int i = 0;
    for (; i + ROWS <= r; i += ROWS)
        update_rows(ROWS, vectors, p, i, L, C, ld, R, U, ldr);
    for (; i + 2 <= r; i += 2)
        update_rows(2, vectors, p, i, L, C, ld, R, U, ldr);
    if (i < r)
        update_rows(1, vectors, p, i, L, C, ld, R, U, ldr);
}

/* U = F22 - F21 F12, rows of ldr numbers: of a symmetric front what is on and above the diagonal */
TG_INLINE void update_rest(int p, const factors *x, lower L, const double *A, ptrdiff_t ld, double *U)
{
    const double *C = A + x->ldp * (ld + 1);
    int j = 0;
    for (; j + VECTORS * V4_LANES <= x->ldr; j += VECTORS * V4_LANES)
    {
        int last = j + VECTORS * V4_LANES, rows = x->symmetric && last < x->r ? last : x->r;
        update_columns(VECTORS, p, rows, L, C + j, ld, x->right + j, U + j, x->ldr);
    }
    if (j < x->ldr)
        update_columns(1, p, x->r, L, C + j, ld, x->right + j, U + j, x->ldr);
}

/* F21^T; behind its last column the last one is repeated */
static void keep_below(const factors *x, const double *A, ptrdiff_t ld)
{
    const double *L = A + x->ldp * ld;
    for (int i = 0; i < x->r; i += V4_LANES)
    {
        const double *row[V4_LANES];
        for (int k = 0; k < V4_LANES; k++)
            row[k] = L + (i + k < x->r ? i + k : x->r - 1) * ld;
        for (int j = 0; j < x->p; j += V4_LANES)
        {
            v4 t[V4_LANES];
            for (int k = 0; k < V4_LANES; k++)
                t[k] = v4_load(row[k] + j);
            v4_transpose_rows(t);
            for (int k = 0; k < V4_LANES && j + k < x->p; k++)
                v4_store(x->below + (ptrdiff_t)(j + k) * x->ldr + i, t[k]);
        }
    }
}

/* what is below the diagonal from what is above */
static void mirror(const factors *x)
{
    for (int i = 1; i < x->p; i++)
        for (int j = 0; j < i; j++)
            x->own[(ptrdiff_t)i * x->ldp + j] = x->own[(ptrdiff_t)j * x->ldp + i];
}

TG_INLINE void update(const factors *x, lower L, const double *A, ptrdiff_t ld, double *U)
{
    if (x->p == FREE)
        update_rest(FREE, x, L, A, ld, U);
    else if (x->p == 2 * FREE)
        update_rest(2 * FREE, x, L, A, ld, U);
    else
        update_rest(x->p, x, L, A, ld, U);
}

/* U: where the update goes; a front without boundary is its own factor already */
static bool eliminate(const factors *x, const double *A, ptrdiff_t ld, double *U)
{
    if (x->r > 0)
        copy_rows(x->p, x->ldp, A, ld, x->own);
    if (x->symmetric)
        mirror(x);
    if (!eliminate_own(x, A, ld))
        return false;
    if (x->symmetric)
    {
        update(x, (lower){A + x->ldp, 1, ld}, A, ld, U);
        copy_rows(x->p, x->ldr, A + x->ldp, ld, x->below);
        return true;
    }
    update(x, (lower){A + x->ldp * ld, ld, 1}, A, ld, U);
    keep_below(x, A, ld);
    return true;
}

/* The children's updates are the last of the stack, the last child's on top: adds them, and returns where the stack is
 * without them. */
static double *add_children(const tg_fronts *f, const tg_front *x, double *A, int ld, double *top)
{
    for (int c = x->child; c >= 0; c = f->front[c].sibling)
    {
        const tg_front *child = &f->front[c];
        add_update(f, child, top, A, ld);
        top += (ptrdiff_t)child->r * v4_pad(child->r);
    }
    return top;
}

bool tg_fronts_factor(tg_fronts *f, bool symmetric, tg_fronts_add *add, const void *context)
{
    f->symmetric = symmetric;
    double *square = f->memory + ((f->capacity - f->square) & ~(size_t)(V4_LANES - 1)), *top = square;
    for (int k = 0; k < f->nfront; k++)
    {
        const tg_front *x = &f->front[k];
        factors factor = factors_of(f, x);
        double *A = x->r > 0 ? square : factor.own;
        int ld = factor.ldp + factor.ldr;
        memset(A, 0, sizeof(double) * (size_t)(x->r > 0 ? factor.ldp + x->r : x->p) * (size_t)ld);
        for (int i = x->element; i < x->element + x->nelement; i++)
        {
            int e = f->element_order[i];
            add(context, e, f->element_at + f->element_start[e], A, ld);
        }
        top = add_children(f, x, A, ld, top) - (ptrdiff_t)x->r * factor.ldr;
        if (!eliminate(&factor, A, ld, top))
            return false;
    }
    return true;
}

/* ---- solving ---- */

static void copy_numbers(int n, const double *from, double *to)
{
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

/* y <- F11^-1 y */
static void solve_own(const factors *x, double *y)
{
    if (x->p == FREE)
        solve_column(FREE, 2 * V4_LANES, x->own, x->row, y);
    else if (x->p <= SMALL)
        solve_column(x->p, x->ldp, x->own, x->row, y);
    else
        solve_many(x, 1, y);
}

/* out = F21 y, 4 vectors columns of F21^T */
TG_INLINE void below_columns(int vectors, int p, const factors *x, int j, const double *y, double *out)
{
    v4 sum[V4_LANES] = {{0}};
    const double *below = x->below + j;
    for (int k = 0; k < p; k++, below += x->ldr)
        for (int i = 0; i < vectors; i++)
            sum[i] += v4_splat(y[k]) * v4_load(below + V4_LANES * i);
    for (int i = 0; i < vectors; i++)
        v4_store(out + j + V4_LANES * i, sum[i]);
}

TG_INLINE void multiply_below(int p, const factors *x, const double *y, double *out)
{
    int j = 0;
    for (; j + V4_LANES * V4_LANES <= x->ldr; j += V4_LANES * V4_LANES)
        below_columns(V4_LANES, p, x, j, y, out);
    for (; j < x->ldr; j += V4_LANES)
        below_columns(1, p, x, j, y, out);
}

/* the boundary's part of y -= F21 y of its own */
static void pass_on(const tg_fronts *f, const tg_front *front, const factors *x, const double *own)
{
    double *part = f->part;
    if (x->p == FREE)
        multiply_below(FREE, x, own, part);
    else
        multiply_below(x->p, x, own, part);
    for (const tg_run *run = f->run + front->spread; run < f->run + front->spread + front->nspread; run++)
    {
        double *y = f->vector + run->to;
        for (int i = 0; i < run->count; i++)
            y[i] -= part[run->from + i];
    }
}

/* y of its own -= F12 y of the boundary */
TG_INLINE void subtract_right(int p, const factors *x, const double *bound, double *y)
{
    v4 sum[SMALL] = {{0}};
    for (int j = 0; j < x->ldr; j += V4_LANES)
        for (int k = 0; k < p; k++)
            sum[k] += v4_load(x->right + (ptrdiff_t)k * x->ldr + j) * v4_load(bound + j);
    for (int k = 0; k < p; k++)
        y[k] -= v4_sum(sum[k]);
}

static void take_back(const tg_fronts *f, const tg_front *front, const factors *x, double *own)
{
    double *part = f->part;
    for (int j = x->r; j < x->ldr; j++)
        part[j] = 0;
    for (const tg_run *run = f->run + front->spread; run < f->run + front->spread + front->nspread; run++)
        copy_numbers(run->count, f->vector + run->to, part + run->from);
    if (x->p == FREE)
        subtract_right(FREE, x, part, own);
    else if (x->p <= SMALL)
        subtract_right(x->p, x, part, own);
    else
        tg_gemm_nt(x->p, 1, x->ldr, x->right, x->ldr, part, x->ldr, TG_GEMM_SUB, own, 1);
}

void tg_fronts_solve(const tg_fronts *f, double *x)
{
    for (int i = 0; i < f->nnode; i++)
        copy_numbers(f->size[i], x + f->offset[i], f->vector + f->position[i]);
    for (int k = 0; k < f->nfront; k++)
    {
        factors factor = factors_of(f, &f->front[k]);
        double *own = f->vector + f->front[k].first;
        solve_own(&factor, own);
        if (factor.r > 0)
            pass_on(f, &f->front[k], &factor, own);
    }
    for (int k = f->nfront - 1; k >= 0; k--)
    {
        factors factor = factors_of(f, &f->front[k]);
        if (factor.r > 0)
            take_back(f, &f->front[k], &factor, f->vector + f->front[k].first);
    }
    for (int i = 0; i < f->nnode; i++)
        copy_numbers(f->size[i], f->vector + f->position[i], x + f->offset[i]);
}
