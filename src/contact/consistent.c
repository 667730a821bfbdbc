/* Loops with redundant rows (a planar four-bar closed by a connect has one of three) cannot be corrected in every direction: with Z a basis of the left
 * null space of the equalities' J, Z^T (J v+ + b) = Z^T b whatever v+ is. Such errors are second order in the motion; what of the bias no velocity can
 * follow is taken out, b <- (1 - Z Z^T) b, with Z from a pivoted QR of the equalities' part of G. */
#include "contact/rows.h"
#include "math/dense.h"

static const double rank_threshold = 1e-9; /* of the largest column */

static int gather_rows(const tg_rows *r, const tg_rows_island *island, int *row)
{
    int n = 0;
    for (int b = island->block; b < island->block + island->blocks; b++)
        for (int i = 0; r->block[b].kind == TG_BLOCK_EQUALITY && i < r->block[b].rows; i++)
            row[n++] = r->block[b].row + i;
    return n;
}

static void project(tg_rows *r, const tg_rows_island *island, int n, const int *row, double *A, double *vectors)
{
    double *tau = vectors, *work = tau + n, *b = work + n, *bias = r->bias + island->row;
    const double *G = r->G + island->G;
    int *order = (int *)(b + n), ldg = v4_pad(island->rows);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            A[i * n + j] = G[(ptrdiff_t)row[i] * ldg + row[j]];
    int rank = tg_qr(n, n, A, n, tau, order, rank_threshold, work);
    if (rank == n)
        return;
    for (int i = 0; i < n; i++)
        b[i] = bias[row[i]];
    tg_qr_apply_t(n, n, A, n, tau, 1, b, 1, work);
    for (int i = rank; i < n; i++)
        b[i] = 0;
    tg_qr_apply(n, n, A, n, tau, 1, b, 1, work);
    for (int i = 0; i < n; i++)
    {
        bias[row[i]] = b[i];
        r->g[island->row + row[i]] = r->free[island->row + row[i]] + b[i];
    }
}

void tg_make_consistent(tg_rows *r)
{
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        size_t mark = tg_arena_mark(&r->scratch);
        if (!tg_island_is_dense(r, island))
            continue;
        int *row = TG_TAKE(&r->scratch, int, island->rows, "equality rows");
        int n = gather_rows(r, island, row);
        if (n > 0)
        {
            double *A = TG_TAKE(&r->scratch, double, (size_t)n *(size_t)n, "equalities' part of G");
            double *vectors = TG_TAKE(&r->scratch, double, 4 * (size_t)n, "vectors");
            project(r, island, n, row, A, vectors);
        }
        tg_arena_release(&r->scratch, mark);
    }
}
