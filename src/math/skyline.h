/* Matrices that are sparse as a kinematic tree is: row i is zero before its first column, column i above the same row
 * (the skyline, Jennings 1977). A factorisation without exchanges of far rows fills nothing outside. Limbs before the
 * trunk: a limb's rows start at its own first dof, only those of the trunk reach far back. Where everything is coupled
 * it is a dense factorisation.
 *
 * Rows are taken four at a time. A block of four rows is stored column by column, so that a v4 has one column of it;
 * what is above the diagonal is stored in the same way, transposed.
 *
 *     symmetric   A = L L^T (positive definite)
 *     otherwise   A = L U with exchanges inside of a block of four; the caller takes another factorisation where that
 *                 is not enough */
#ifndef TG_MATH_SKYLINE_H
#define TG_MATH_SKYLINE_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct tg_skyline
{
    int n, blocks;
    int *start;       /* of each block of rows: its first block of columns */
    ptrdiff_t *block; /* where column 0 of a block of rows is, or would be */
    int *order;       /* rows of a block after their exchanges */
    bool symmetric;
    double *lower, *upper;
    double *kept;    /* a symmetric matrix from which others are made */
    double *inverse; /* 1 / diagonal of L or U */
    double *x;       /* scratch: a vector */
} tg_skyline;

/* room for matrices of up to n rows */
void tg_skyline_place(tg_skyline *s, int n, tg_arena *arena);

/* The shape: begin, a call for every set of rows that are coupled (ascending), end. */
void tg_skyline_begin(tg_skyline *s, int n);
void tg_skyline_couple(tg_skyline *s, int count, const int *row);
void tg_skyline_end(tg_skyline *s);

/* A = 1, then A += J^T P in the rows and columns that were coupled. J and P have `rows` rows, ld apart, and a column
 * for each of row[0] .. row[count - 1], which are whole blocks of four (or the rest of the last one, with columns of
 * zeros behind it). symmetric: J^T P is, as it must be where A is. */
void tg_skyline_set_one(tg_skyline *s, bool symmetric);
void tg_skyline_add(tg_skyline *s, int count, const int *row, int rows, const double *J, const double *P, int ld,
                    bool symmetric);

/* Keeps A, which is symmetric and not factored yet; A = what was kept. */
void tg_skyline_keep(tg_skyline *s);
void tg_skyline_set_kept(tg_skyline *s, bool symmetric);

/* The blocks of four of n rows in which some of these (ascending) are, into out; returns how many rows. */
int tg_skyline_widen(int n, int count, const int *row, int *out);

/* False when a pivot is zero, not finite, not positive (symmetric), or so small beside its column that rounding grows.
 */
bool tg_skyline_factor(tg_skyline *s);

/* b = A^-1 b */
void tg_skyline_solve(const tg_skyline *s, double *b);

#endif
