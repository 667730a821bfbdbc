/* M = L^T D L over a kinematic tree: the factorisation that keeps the sparsity of branches (Featherstone, Rigid Body
 * Dynamics Algorithms, 2008, section 6.5). L is unit lower triangular, D diagonal; L(k, j) is non-zero only where dof j
 * is an ancestor of dof k, as in M itself, so there is no fill-in.
 *
 * A pattern describes one tree (or several, side by side) of n dofs in depth-first order: parent[k] is k - 1 or an
 * ancestor of k - 1, or -1. Then the descendants of k are the dofs k + 1 .. end[k] - 1.
 *
 * Storage: row-major with leading dimension ld, a multiple of 4, rows aligned to 32 bytes. Row k is cut into blocks of
 * four columns, of which only those that hold an ancestor of k, or k itself, are stored: nothing else of the row is
 * ever read or written. Inside the blocks
 *   columns of ancestors and of k       the matrix (before), L and zero in column k (after factorisation);
 *   other columns below k               exact zeros, before and after;
 *   columns above k in the last block   anything before, zero after factorisation.
 * Vectors need neither alignment nor padding. Sizes of zero are allowed. */
#ifndef TG_MATH_LTL_H
#define TG_MATH_LTL_H

#include <limits.h>
#include <stdint.h>

#include "base/arena.h"

enum
{
    TG_CHAIN_BITS = sizeof(uint64_t) * CHAR_BIT /* dofs of a word */
};

static inline int tg_chain_words(int n)
{
    return (n + TG_CHAIN_BITS - 1) / TG_CHAIN_BITS;
}

typedef struct tg_ltl_pattern
{
    int n;                  /* number of dofs */
    int ld;                 /* leading dimension of M: n rounded up to a multiple of 4 */
    const int *parent;      /* n: parent dof, -1 at a root */
    const int *depth;       /* n: number of ancestors */
    const int *end;         /* n: one past the last descendant of k (k + 1 when there is none) */
    const int *block_start; /* n + 1: blocks of row k are blocks[block_start[k]] .. blocks[block_start[k + 1] - 1] */
    const int *blocks;      /* first column of each block, ascending; the last one of row k holds k */
    const int *path_start;  /* n + 1: ancestors of k are path[path_start[k]] .. path[path_start[k + 1] - 1] */
    const int *path;        /* ancestors, ascending */
    const uint64_t *chain;  /* n x tg_chain_words(n): k and its ancestors, one bit each */
    bool six;               /* one chain of six dofs, as that of a free body */
} tg_ltl_pattern;

/* Lays the arrays of a pattern out in arena, and fills them unless the arena only counts (arena.h) or has failed; n and
 * ld are set in any case. parent is copied. Returns -1, or the first dof whose parent breaks the depth-first order
 * (nothing is taken then). */
int tg_ltl_pattern_place(tg_ltl_pattern *pattern, tg_arena *arena, int n, const int *parent);

/* M = L^T D L in place; dinv[k] = 1 / D_k (n). Returns -1, or the dof whose pivot is not positive and finite: M is then
 * half done. The first one that is met, from the leaves to the root. */
int tg_ltl_factor(const tg_ltl_pattern *p, double *M, double *dinv);

/* x <- M^-1 x = L^-1 D^-1 L^-T x, and the two halves x <- L^-T x (leaves to root), x <- L^-1 x (root to leaves) */
void tg_ltl_solve(const tg_ltl_pattern *p, const double *L, const double *dinv, double *x);
void tg_ltl_solve_lt(const tg_ltl_pattern *p, const double *L, double *x);
void tg_ltl_solve_l(const tg_ltl_pattern *p, const double *L, double *x);

/* M^-1 X and L^-1 X for every column of X (n x columns, row-major, ldx >= columns). */
void tg_ltl_solve_many(const tg_ltl_pattern *p, const double *L, const double *dinv, int columns, double *X, int ldx);
void tg_ltl_solve_l_many(const tg_ltl_pattern *p, const double *L, int columns, double *X, int ldx);

/* W (n x n, both triangles) = M^-1 */
void tg_ltl_inverse(const tg_ltl_pattern *p, const double *L, const double *dinv, double *W, int ldw);

#endif
