/* B, C, their transposes and A^-1 of an island's derivative applied to columns, form by form. */
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

TG_INLINE void add(int n, double factor, const double *x, double *sum)
{
    for (int c = 0; c < n; c++)
        sum[c] += factor * x[c];
}

/* out (m x columns) = A X, A (m x n); one column: by dot products */
static void times(int m, int n, const double *A, int columns, const double *X, int ldx, double *out, int ldo)
{
    if (columns == 1 && ldx == 1)
        tg_gemm_nt(m, 1, n, A, n, X, n, TG_GEMM_SET, out, ldo);
    else
        tg_gemm_nn(m, columns, n, A, n, X, ldx, TG_GEMM_SET, out, ldo);
}

/* out (n x columns) = A^T X, A (m x n); one column: as a row */
static void times_transposed(int m, int n, const double *A, int columns, const double *X, int ldx, double *out, int ldo)
{
    if (columns == 1 && ldx == 1 && ldo == 1)
        tg_gemm_nn(1, n, m, X, m, A, n, TG_GEMM_SET, out, n);
    else
        tg_gemm_tn(n, columns, m, A, n, X, ldx, TG_GEMM_SET, out, ldo);
}

/* ---- independent rows: a held row is itself, sliding contacts have few entries. Inline for one column ---- */

TG_INLINE void copy_held(const tg_implicit *f, int columns, const double *X, int ldx, double *out, int ldo)
{
    for (int k = 0; k < f->held; k++)
        memcpy(out + (size_t)k * (size_t)ldo, X + (size_t)f->row[k] * (size_t)ldx, (size_t)columns * sizeof *out);
}

TG_INLINE void slider_across(const tg_slider *s, double factor, int columns, const double *X, int ldx, double *out,
                             int ldo)
{
    for (int j = 0; j < s->tangents - 1; j++)
    {
        double *to = out + (size_t)(s->first + j) * (size_t)ldo;
        memset(to, 0, (size_t)columns * sizeof *to);
        for (int t = 0; t < s->tangents; t++)
            add(columns, factor * s->across[j][t], X + (size_t)s->row[t] * (size_t)ldx, to);
    }
}

TG_INLINE void independent_times(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx,
                                 double *out, int ldo)
{
    bool impulses = side == TG_IMPLICIT_IMPULSES;
    copy_held(f, columns, X, ldx, out, ldo);
    for (int i = 0; i < f->sliders; i++)
    {
        const tg_slider *s = &f->slider[i];
        for (int t = 0; impulses && t < s->tangents; t++)
            add(columns, s->along[t], X + (size_t)s->row[t] * (size_t)ldx, out + (size_t)s->normal * (size_t)ldo);
        slider_across(s, impulses ? 1 : s->ratio, columns, X, ldx, out, ldo);
    }
}

TG_INLINE void independent_combine(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx,
                                   double *out, int ldo)
{
    bool impulses = side == TG_IMPLICIT_IMPULSES;
    for (int k = 0; k < f->held; k++)
        memcpy(out + (size_t)f->row[k] * (size_t)ldo, X + (size_t)k * (size_t)ldx, (size_t)columns * sizeof *out);
    for (int i = 0; i < f->sliders; i++)
    {
        const tg_slider *s = &f->slider[i];
        for (int t = 0; impulses && t < s->tangents; t++)
            add(columns, s->along[t], X + (size_t)s->normal * (size_t)ldx, out + (size_t)s->row[t] * (size_t)ldo);
        for (int j = 0; j < s->tangents - 1; j++)
            for (int t = 0; t < s->tangents; t++)
                add(columns, (impulses ? 1 : s->ratio) * s->across[j][t], X + (size_t)(s->first + j) * (size_t)ldx,
                    out + (size_t)s->row[t] * (size_t)ldo);
    }
}

/* ---- held rows alone: B = C = Q ---- */

/* the held rows of x, one after the other */
static void held_gather(const tg_implicit *f, int columns, const double *x, int ldx, double *held)
{
    for (int i = 0; i < f->held; i++)
        memcpy(held + (size_t)i * (size_t)columns, x + (size_t)f->row[i] * (size_t)ldx, (size_t)columns * sizeof *held);
}

/* X (rank x columns) <- (Q G_RR Q^T)^-1 X */
static void held_inverse(const tg_implicit *f, int columns, double *X, int ldx)
{
    int rank = f->rank;
    tg_trsm(TG_TRI_LOWER | TG_TRI_TRANSPOSED, rank, f->A, rank, columns, X, ldx);
    for (int k = 0; k < rank; k++)
        for (int c = 0; c < columns; c++)
            X[(size_t)k * (size_t)ldx + (size_t)c] *= f->square[k];
    tg_trsm(TG_TRI_LOWER, rank, f->A, rank, columns, X, ldx);
}

static void held_combine(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                         int ldo)
{
    times_transposed(f->rank, f->held, f->range, columns, X, ldx, work, columns);
    for (int i = 0; i < f->held; i++)
        memcpy(out + (size_t)f->row[i] * (size_t)ldo, work + (size_t)i * (size_t)columns,
               (size_t)columns * sizeof *out);
}

/* ---- all forms ---- */

static const double *matrix_of(const tg_implicit *f, tg_implicit_side side)
{
    return side == TG_IMPLICIT_IMPULSES ? f->C : f->B;
}

void tg_implicit_times(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx, double *work,
                       double *out, int ldo)
{
    if (f->form == TG_IMPLICIT_INDEPENDENT && columns == 1 && ldx == 1 && ldo == 1)
        independent_times(f, side, 1, X, 1, out, 1);
    else if (f->form == TG_IMPLICIT_INDEPENDENT)
        independent_times(f, side, columns, X, ldx, out, ldo);
    else if (f->form == TG_IMPLICIT_HELD)
    {
        held_gather(f, columns, X, ldx, work);
        times(f->rank, f->held, f->range, columns, work, columns, out, ldo);
    }
    else
        times(f->unknowns, f->island->rows, matrix_of(f, side), columns, X, ldx, out, ldo);
}

void tg_implicit_solve(const tg_implicit *f, bool transposed, int columns, double *X, int ldx)
{
    if (f->form == TG_IMPLICIT_HELD)
        held_inverse(f, columns, X, ldx);
    else if (f->form == TG_IMPLICIT_INDEPENDENT && f->symmetric)
        tg_chol_solve(f->unknowns, f->A, f->unknowns, columns, X, ldx);
    else
        (transposed ? tg_lu_solve_t : tg_lu_solve)(f->unknowns, f->A, f->unknowns, f->pivot, columns, X, ldx);
    for (int k = 0; k < f->unknowns; k++)
        for (int c = 0; c < columns; c++)
            X[(size_t)k * (size_t)ldx + (size_t)c] = -X[(size_t)k * (size_t)ldx + (size_t)c];
}

void tg_implicit_combine(const tg_implicit *f, tg_implicit_side side, int columns, const double *X, int ldx,
                         double *work, double *out, int ldo)
{
    int rows = f->island->rows;
    memset(out, 0, ((size_t)(rows - 1) * (size_t)ldo + (size_t)columns) * sizeof *out);
    if (f->form == TG_IMPLICIT_INDEPENDENT && columns == 1 && ldx == 1 && ldo == 1)
        independent_combine(f, side, 1, X, 1, out, 1);
    else if (f->form == TG_IMPLICIT_INDEPENDENT)
        independent_combine(f, side, columns, X, ldx, out, ldo);
    else if (f->form == TG_IMPLICIT_HELD)
        held_combine(f, columns, X, ldx, work, out, ldo);
    else
        times_transposed(f->unknowns, rows, matrix_of(f, side), columns, X, ldx, out, ldo);
}

/* ---- how redundant rows turn ---- */

void tg_redundant_null_part(const tg_implicit *f, int columns, double *n, double *part)
{
    for (int round = 0; round < 2; round++)
    {
        tg_gemm_nn(f->rank, columns, f->held, f->range, f->held, n, columns, TG_GEMM_SET, part, columns);
        tg_gemm_tn(f->held, columns, f->rank, f->range, f->held, part, columns, TG_GEMM_SUB, n, columns);
    }
}

void tg_implicit_turned(const tg_implicit *f, int columns, const double *n, int ldn, double *work, double *l, int ldl)
{
    double *moved = work, *part = work + (size_t)f->island->rows * (size_t)columns;
    held_gather(f, columns, n, ldn, moved);
    tg_redundant_null_part(f, columns, moved, part);
    tg_gemm_tn(f->island->rows, columns, f->held, f->turn, f->island->rows, moved, columns, TG_GEMM_SET, l, ldl);
}

void tg_implicit_turn(const tg_implicit *f, const double *total, double *turn)
{
    int rows = f->island->rows;
    double *part = f->work, *held = f->work + 2 * rows;
    memset(turn, 0, (size_t)rows * sizeof *turn);
    if (!f->turns)
        return;
    tg_gemm_nt(f->held, 1, rows, f->turn, rows, total, rows, TG_GEMM_SET, held, 1);
    tg_redundant_null_part(f, 1, held, part);
    for (int i = 0; i < f->held; i++)
        turn[f->row[i]] = held[i];
}
