/* Rows over a kinematic tree: the columns of a matrix X (dofs x rows) are zero but in the chains of the bodies that a
 * row acts on. L^-T leads from a dof to its ancestors only (ltl.h), so that X and L^-T X are zero outside of the same
 * dofs if these have all their ancestors among them: the support of a column. It is kept for every four columns
 * together, one bit per dof, tg_chain_words words each. Columns are padded with zeros to a multiple of four. */
#ifndef TG_MATH_SUPPORT_H
#define TG_MATH_SUPPORT_H

#include <stdint.h>

#include "math/ltl.h"

/* Y = D^-1/2 L^-T J, both with the same support (vectors of four columns, leading dimension ld); root (n) = D^-1/2;
 * list: scratch, n. */
void tg_support_half(const tg_ltl_pattern *p, const double *L, const double *root, int vectors, const uint64_t *support,
                     const double *J, double *Y, int ld, int *list);

/* G (leading dimension ldg) = Y^T Y, Y (n rows, columns, leading dimension ldy), both triangles, and zeros in the
 * padding of its rows. With `row`, entry (i, j) is added to row row[i] - first, column row[j] - first of G instead;
 * these ascend. */
void tg_support_product(int n, int columns, const uint64_t *support, const double *Y, int ldy, const int *row,
                        int first, double *G, int ldg);

/* out[row[j]] += sum over the dofs of x J_j, and of Y_j^2. Two velocities at once; the second may be NULL. */
void tg_support_velocity(int n, int columns, const uint64_t *support, const double *J, int ldj,
                         const double *const x[2], const int *row, double *const out[2]);
void tg_support_squares(int n, int columns, const uint64_t *support, const double *Y, int ldy, const int *row,
                        double *out);

#endif
