/* The equations of a face: A = T'GT + diag(lambda), its factor, and products with T. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/qcqp.h"

static tg_qcqp_at place(const tg_qcqp_block *block, bool touching, const double *x, const double *s, double *lambda)
{
    *lambda = 0;
    switch (block->set)
    {
    case TG_QCQP_SET_BALL:
        if (block->radius == 0)
            return TG_QCQP_PINNED;
        if (touching)
            *lambda = -tg_dot(block->rows, x, s) / (block->radius * block->radius);
        return *lambda > 0 ? TG_QCQP_ON : TG_QCQP_INSIDE;
    case TG_QCQP_SET_POSITIVE:
        return touching && s[0] > 0 ? TG_QCQP_ON : TG_QCQP_INSIDE;
    case TG_QCQP_SET_PINNED:
        return TG_QCQP_PINNED;
    default:
        return TG_QCQP_INSIDE;
    }
}

bool tg_qcqp_classify(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    bool same = true;
    for (int i = 0; i < p->blocks; i++)
    {
        int row = p->block[i].row;
        tg_qcqp_at at = place(&p->block[i], w->touching[i], w->x + row, w->s + row, &w->lambda[i]);
        same = same && at == w->at[i];
        w->at[i] = at;
    }
    return same;
}

/* Columns 2 .. of the reflection that takes the first axis to -+x: an orthonormal basis of what is orthogonal to x. */
static void tangents(int rows, const double *x, double *basis)
{
    double v[TG_QCQP_SIZE_MAX];
    double length = sqrt(tg_dot(rows, x, x));
    memcpy(v, x, sizeof(double) * (size_t)rows);
    v[0] += x[0] >= 0 ? length : -length;
    double factor = 2 / tg_dot(rows, v, v);
    for (int i = 0; i < rows; i++)
        for (int k = 1; k < rows; k++)
            basis[i * TG_QCQP_SIZE_MAX + k - 1] = (i == k ? 1 : 0) - factor * v[i] * v[k];
}

/* T, and which rows of A belong to which block */
static void choose_basis(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    w->moving = 0;
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *block = &p->block[i];
        w->first[i] = w->moving;
        if (w->at[i] == TG_QCQP_INSIDE)
            w->moving += block->rows;
        else if (w->at[i] == TG_QCQP_ON && block->rows > 1)
        {
            tangents(block->rows, w->x + block->row, w->basis + (ptrdiff_t)block->row * TG_QCQP_SIZE_MAX);
            w->moving += block->rows - 1;
        }
    }
    w->first[p->blocks] = w->moving;
    w->ld = w->moving;
}

/* the part of a row of T'G that belongs to blocks from `block` on, times T: a row of the upper triangle of A */
static void fill_row(const tg_qcqp_problem *p, const tg_qcqp_work *w, int block, const double *row, double *out)
{
    for (int j = block; j < p->blocks; j++)
    {
        const tg_qcqp_block *b = &p->block[j];
        int columns = w->first[j + 1] - w->first[j];
        double *to = out + w->first[j];
        const double *from = row + b->row, *basis = w->basis + (ptrdiff_t)b->row * TG_QCQP_SIZE_MAX;
        if (w->at[j] == TG_QCQP_INSIDE)
            for (int k = 0; k < columns; k++)
                to[k] = from[k];
        else if (columns == 1 && b->rows == 2)
            to[0] = from[0] * basis[0] + from[1] * basis[TG_QCQP_SIZE_MAX];
        else
            for (int k = 0; k < columns; k++)
            {
                double sum = 0;
                for (int r = 0; r < b->rows; r++)
                    sum += from[r] * basis[r * TG_QCQP_SIZE_MAX + k];
                to[k] = sum;
            }
    }
}

static void assemble(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    choose_basis(p, w);
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *G = p->G + (ptrdiff_t)b->row * p->n, *basis = w->basis + (ptrdiff_t)b->row * TG_QCQP_SIZE_MAX;
        for (int k = w->first[i]; k < w->first[i + 1]; k++)
        {
            int column = k - w->first[i];
            double *out = w->A + (ptrdiff_t)k * w->ld;
            if (w->at[i] == TG_QCQP_INSIDE)
            {
                fill_row(p, w, i, G + (ptrdiff_t)column * p->n, out);
                continue;
            }
            const double first = basis[column];
            for (int j = b->row; j < p->n; j++)
                w->r[j] = first * G[j];
            for (int r = 1; r < b->rows; r++)
            {
                const double factor = basis[r * TG_QCQP_SIZE_MAX + column], *from = G + (ptrdiff_t)r * p->n;
                for (int j = b->row; j < p->n; j++)
                    w->r[j] += factor * from[j];
            }
            fill_row(p, w, i, w->r, out);
            out[k] += w->lambda[i];
        }
    }
}

/* The factor of A + shift diag(A), or of A + shift max(A_ii), which leaves the null space orthogonal to the rest; how
 * many pivots are shift or rounding, or -1 where there is no factor. */
static int factor(const tg_qcqp_problem *p, tg_qcqp_work *w, double shift, bool uniform)
{
    double largest = 0;
    int null = 0;
    assemble(p, w);
    for (int i = 0; i < w->moving; i++)
        largest = fmax(largest, w->A[(ptrdiff_t)i * (w->ld + 1)]);
    for (int i = 0; i < w->moving; i++)
    {
        double *diagonal = &w->A[(ptrdiff_t)i * (w->ld + 1)];
        w->r[i] = *diagonal > 0 && !uniform ? *diagonal : largest > 0 ? largest : 1; /* 1: no curvature at all */
        *diagonal += shift * w->r[i];
    }
    if (tg_chol_upper(w->moving, w->A, w->ld) >= 0)
        return -1;
    for (int i = 0; i < w->moving; i++)
    {
        double root = w->A[(ptrdiff_t)i * (w->ld + 1)];
        null += root * root <= TG_QCQP_NULL / TG_QCQP_SHIFT * shift * w->r[i];
    }
    return null;
}

void tg_qcqp_factor(const tg_qcqp_problem *p, tg_qcqp_work *w, double shift)
{
    w->factored = true;
    w->null = factor(p, w, TG_QCQP_SHIFT, false);
    while (w->null != 0 && shift < 1)
    {
        int null = factor(p, w, shift, true);
        w->null = w->null > 0 ? w->null : null > 0 ? null : 1; /* rounding that is negative: one at least */
        if (null >= 0)
            return;
        shift *= TG_QCQP_NULL / TG_QCQP_SHIFT;
    }
}

void tg_qcqp_restrict(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *x, double *y)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *from = x + b->row, *basis = w->basis + (ptrdiff_t)b->row * TG_QCQP_SIZE_MAX;
        double *to = y + w->first[i];
        for (int k = 0; k < w->first[i + 1] - w->first[i]; k++)
        {
            double sum = 0;
            if (w->at[i] == TG_QCQP_INSIDE)
                sum = from[k];
            else
                for (int r = 0; r < b->rows; r++)
                    sum += from[r] * basis[r * TG_QCQP_SIZE_MAX + k];
            to[k] = sum;
        }
    }
}

void tg_qcqp_extend(const tg_qcqp_problem *p, const tg_qcqp_work *w, const double *y, double *x)
{
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        const double *from = y + w->first[i], *basis = w->basis + (ptrdiff_t)b->row * TG_QCQP_SIZE_MAX;
        for (int r = 0; r < b->rows; r++)
        {
            double sum = 0;
            if (w->at[i] == TG_QCQP_INSIDE)
                sum = from[r];
            else
                for (int k = 0; k < w->first[i + 1] - w->first[i]; k++)
                    sum += basis[r * TG_QCQP_SIZE_MAX + k] * from[k];
            x[b->row + r] = sum;
        }
    }
}
