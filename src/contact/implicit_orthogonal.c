/* The equations of an island's derivative in orthogonal bases, for those that elimination alone does not solve
 * accurately.
 *
 * D = -C^T A^-1 B, A = B G C^T + d. Elimination leaves a residual of the size of |A| |X|: where C has directions that
 * are nearly lost (responses at their cones), or rows of different sizes, X is far larger than C^T X, and forward and
 * reverse mode, which round differently, part. Here
 *     rows are scaled to G_ii = 1 (tg_row_size),
 *     the equations and the impulses of held unknowns become orthonormal (rows of B and of C; d is zero there),
 *     A P = Q R with column exchanges: D = -(P^T C)^T R^-1 (Q^T B),
 * so that |X| is |C^T X|, and |R_kk| says how well the equations determine the unknowns. Unknowns with |R_kk| below a
 * share of the largest are left out, and what is left of the equations is met in the sense of least squares: |D| is
 * bounded by the inverse of that share. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

/* column `row` of both matrices times a factor */
static void scale_row(tg_implicit *f, int row, double factor)
{
    size_t n = (size_t)f->island->rows;
    for (size_t at = (size_t)row; at < (size_t)f->unknowns * n; at += n)
    {
        f->B[at] *= factor;
        f->C[at] *= factor;
    }
}

/* rows in units of their sizes, or back */
static void scale_rows(tg_implicit *f, bool back)
{
    for (int b = 0; b < f->island->blocks; b++)
        for (int i = 0; i < f->island->block[b].rows; i++)
        {
            double size = sqrt(tg_row_size(f->island, &f->island->block[b], i));
            if (size > 0)
                scale_row(f, f->island->block[b].row + i, back ? 1 / size : size);
        }
}

double tg_orthonormal_rows(int rows, int n, double *M, double *part)
{
    double least = 1;
    for (int k = 0; k < rows; k++)
    {
        double *row = M + (size_t)k * (size_t)n, length = sqrt(v4_dot_of(n, row, row));
        least = tg_smaller(length > 0 ? tg_orthogonalise(n, k, M, n, row, part) / length : 0, least);
    }
    return least;
}

/* unknowns across slips, and their equations, for impulses of length 1 */
static void unit_across(tg_implicit *f, double *extra)
{
    int n = f->island->rows;
    for (int k = f->rank; k < f->unknowns; k++)
    {
        double *B = f->B + (size_t)k * (size_t)n, *C = f->C + (size_t)k * (size_t)n;
        double inverse = 1 / sqrt(v4_dot_of(n, C, C));
        for (int i = 0; i < n; i++)
        {
            B[i] *= inverse;
            C[i] *= inverse;
        }
        extra[k] *= inverse * inverse;
    }
}

void tg_implicit_matrix(tg_implicit *f, const double *extra, double *CG)
{
    int q = f->unknowns, n = f->island->rows;
    tg_gemm_nn(q, n, n, f->C, n, f->island->G, f->island->ldg, TG_GEMM_SET, CG, n);
    tg_gemm_nt(q, q, n, f->B, n, CG, n, TG_GEMM_SET, f->A, q);
    for (int k = 0; k < q; k++)
        f->A[(size_t)k * (size_t)(q + 1)] += extra[k];
}

/* R, its first `rank` rows and columns, as an LU without exchanges; the impulses in the order of its columns */
static void keep(tg_implicit *f, int rank, const int *order, double *impulses)
{
    int q = f->unknowns, n = f->island->rows;
    memcpy(impulses, f->C, (size_t)q * (size_t)n * sizeof *impulses);
    for (int k = 0; k < rank; k++)
    {
        const double *from = impulses + (size_t)order[k] * (size_t)n;
        memcpy(f->C + (size_t)k * (size_t)n, from, (size_t)n * sizeof *from);
        for (int j = 0; j < rank; j++)
            f->A[(size_t)k * (size_t)rank + (size_t)j] = j < k ? 0 : f->A[(size_t)k * (size_t)q + (size_t)j];
        f->pivot[k] = k;
    }
    f->unknowns = rank;
    f->condition = rank > 0 ? fabs(f->A[0] / f->A[(size_t)rank * (size_t)rank - 1]) : 1;
}

bool tg_orthogonal_triangle(tg_implicit *f, double worst, bool all, int *order, double *space)
{
    int q = f->unknowns, n = f->island->rows;
    double *tau = f->work + n, *part = f->work + 2 * n;
    int rank = tg_qr(q, q, f->A, q, tau, order, worst, part);
    if (all && rank < q)
        return false;
    tg_qr_apply_t(q, q, f->A, q, tau, n, f->B, n, part);
    keep(f, rank, order, space);
    return rank == q;
}

bool tg_orthogonal_factor(tg_implicit *f, double worst, bool all, double *extra, int *order, double *space)
{
    int n = f->island->rows;
    double *part = f->work + 2 * n;
    scale_rows(f, false);
    double share = tg_orthonormal_rows(f->rank, n, f->C, part);
    if (all && !(share > worst))
        return false;
    tg_orthonormal_rows(f->rank, n, f->B, part);
    unit_across(f, extra);
    scale_rows(f, true);
    tg_implicit_matrix(f, extra, space);
    return tg_orthogonal_triangle(f, worst, all, order, space) && share > worst;
}
