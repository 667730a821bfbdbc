/* B, B^T, C and A^-T of an island's derivative applied to matrices with many columns, form by form. */
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"

static void add(int n, double factor, const double *x, double *sum)
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

/* ---- independent rows: a held row is itself, sliding contacts have few entries ---- */

static void copy_held(const tg_implicit *f, int columns, const double *X, int ldx, double *out, int ldo)
{
    for (int k = 0; k < f->held; k++)
        memcpy(out + (size_t)k * (size_t)ldo, X + (size_t)f->row[k] * (size_t)ldx, (size_t)columns * sizeof *out);
}

static void slider_across(const tg_slider *s, double factor, int columns, const double *X, int ldx, double *out,
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

static void independent_equations(const tg_implicit *f, int columns, const double *X, int ldx, double *out, int ldo)
{
    copy_held(f, columns, X, ldx, out, ldo);
    for (int i = 0; i < f->sliders; i++)
        slider_across(&f->slider[i], f->slider[i].ratio, columns, X, ldx, out, ldo);
}

static void independent_impulses(const tg_implicit *f, int columns, const double *X, int ldx, double *out, int ldo)
{
    copy_held(f, columns, X, ldx, out, ldo);
    for (int i = 0; i < f->sliders; i++)
    {
        const tg_slider *s = &f->slider[i];
        for (int t = 0; t < s->tangents; t++)
            add(columns, s->along[t], X + (size_t)s->row[t] * (size_t)ldx, out + (size_t)s->normal * (size_t)ldo);
        slider_across(s, 1, columns, X, ldx, out, ldo);
    }
}

static void independent_combine(const tg_implicit *f, int columns, const double *X, int ldx, double *out, int ldo)
{
    for (int k = 0; k < f->held; k++)
        memcpy(out + (size_t)f->row[k] * (size_t)ldo, X + (size_t)k * (size_t)ldx, (size_t)columns * sizeof *out);
    for (int i = 0; i < f->sliders; i++)
    {
        const tg_slider *s = &f->slider[i];
        for (int j = 0; j < s->tangents - 1; j++)
            for (int t = 0; t < s->tangents; t++)
                add(columns, s->ratio * s->across[j][t], X + (size_t)(s->first + j) * (size_t)ldx,
                    out + (size_t)s->row[t] * (size_t)ldo);
    }
}

/* ---- all forms ---- */

static void held_equations(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                           int ldo)
{
    tg_held_gather(f, columns, X, ldx, work);
    times(f->rank, f->held, f->range, columns, work, columns, out, ldo);
}

void tg_implicit_equations(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                           int ldo)
{
    int rows = f->island->rows;
    if (f->form == TG_IMPLICIT_INDEPENDENT)
        independent_equations(f, columns, X, ldx, out, ldo);
    else if (f->form == TG_IMPLICIT_HELD)
        held_equations(f, columns, X, ldx, work, out, ldo);
    else
        times(f->unknowns, rows, f->B, columns, X, ldx, out, ldo);
}

void tg_implicit_impulses(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                          int ldo)
{
    int rows = f->island->rows;
    if (f->form == TG_IMPLICIT_INDEPENDENT)
        independent_impulses(f, columns, X, ldx, out, ldo);
    else if (f->form == TG_IMPLICIT_HELD)
        held_equations(f, columns, X, ldx, work, out, ldo);
    else
        times(f->unknowns, rows, f->C, columns, X, ldx, out, ldo);
}

void tg_implicit_responses(const tg_implicit *f, int columns, double *X, int ldx)
{
    if (f->form == TG_IMPLICIT_HELD)
        tg_held_inverse(f, columns, X, ldx);
    else if (f->form == TG_IMPLICIT_INDEPENDENT && f->symmetric)
        tg_chol_solve(f->unknowns, f->A, f->unknowns, columns, X, ldx);
    else
        tg_lu_solve_t(f->unknowns, f->A, f->unknowns, f->pivot, columns, X, ldx);
    for (int k = 0; k < f->unknowns; k++)
        for (int c = 0; c < columns; c++)
            X[(size_t)k * (size_t)ldx + (size_t)c] = -X[(size_t)k * (size_t)ldx + (size_t)c];
}

static void held_combine(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                         int ldo)
{
    times_transposed(f->rank, f->held, f->range, columns, X, ldx, work, columns);
    for (int i = 0; i < f->held; i++)
        memcpy(out + (size_t)f->row[i] * (size_t)ldo, work + (size_t)i * (size_t)columns,
               (size_t)columns * sizeof *out);
}

void tg_implicit_combine(const tg_implicit *f, int columns, const double *X, int ldx, double *work, double *out,
                         int ldo)
{
    int rows = f->island->rows;
    memset(out, 0, ((size_t)(rows - 1) * (size_t)ldo + (size_t)columns) * sizeof *out);
    if (f->form == TG_IMPLICIT_INDEPENDENT)
        independent_combine(f, columns, X, ldx, out, ldo);
    else if (f->form == TG_IMPLICIT_HELD)
        held_combine(f, columns, X, ldx, work, out, ldo);
    else
        times_transposed(f->unknowns, rows, f->B, columns, X, ldx, out, ldo);
}

void tg_implicit_turned(const tg_implicit *f, int columns, const double *n, int ldn, double *work, double *l, int ldl)
{
    double *moved = work, *part = work + (size_t)f->island->rows * (size_t)columns;
    tg_held_gather(f, columns, n, ldn, moved);
    tg_redundant_null_part(f, columns, moved, part);
    tg_gemm_tn(f->island->rows, columns, f->held, f->turn, f->island->rows, moved, columns, TG_GEMM_SET, l, ldl);
}
