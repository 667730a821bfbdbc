/* The scaled problem a solver sees: only unit second-order cones, free rows and boxes.
 *
 * With S = diag(1; mu_1 .. mu_{d-1}) of each contact
 *     x = S^-1 L,    s = S sigma,    Gs = S G S,    gs = S g,    s = Gs x + gs
 * the cone is |x_T| <= x_N, De Saxce's term |s_T|, maximum dissipation x_T = -x_N s_T / |s_T|. Rows without friction
 * (mu_i = 0), rows nothing can move and boxes of width zero are left out: their impulse is zero. A limit and a contact
 * without friction are cones of dimension 1, each row of an equality is a free block. */
#ifndef TG_SOLVE_CONE_H
#define TG_SOLVE_CONE_H

#include "solve/problem.h"

typedef enum tg_cone_kind
{
    TG_CONE_UNIT, /* |x_T| <= x_N, dimension 1 and up */
    TG_CONE_FREE, /* one row, s = 0 */
    TG_CONE_BOX   /* one row, |x| <= bound */
} tg_cone_kind;

typedef struct tg_cone
{
    tg_cone_kind kind;
    int row, dim;
    int of;              /* block of the island */
    double bound;        /* box */
    bool parted;         /* as in tg_block */
    double rho_n, rho_t; /* 1 / G_NN and (d - 1) / tr G_TT: impulse per velocity */
} tg_cone;

typedef struct tg_cones
{
    int rows, blocks, ld;
    tg_cone *block;
    int *source;     /* row of the island */
    double *scale;   /* S */
    double *least;   /* reference size for the rank test of a free row: the largest G_ii of its block; others: 0 */
    double *G;       /* rows x rows, leading dimension ld (a multiple of 4) */
    double *g;       /* rows */
    double velocity; /* largest |g| */
    double fixed;    /* tg_fixed_size */
    double idle;     /* |g| of a row that does not move */
} tg_cones;

/* fmax and fmin without their care for NaN, which costs a call: b when a comparison is not true */
static inline double tg_larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double tg_smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Takes the arrays of a problem of so many rows (there are never more blocks than rows) from scratch; false when
 * scratch was too small. A counting arena (base NULL) only counts. */
bool tg_cones_take(tg_cones *cones, int rows, tg_arena *scratch);

/* G_ii of a row that nothing can move, up to rounding (TG_FIXED); of an island with G */
double tg_fixed_size(const tg_island *island);

/* What is left of row i of a block is compared with this: its G_ii; of the three rows of an equality that are one
 * velocity or angular velocity, whose axes mean nothing, the largest. */
double tg_row_size(const tg_island *island, const tg_block *block, int i);

/* left_out (NULL: none) marks blocks of the island that carry nothing and are ignored */
void tg_cones_build(tg_cones *cones, const tg_island *island, const bool *left_out);

/* Recomputes G, g and step sizes, for the rows and the scale that cones has */
void tg_cones_scale(tg_cones *cones, const tg_island *island);

/* x = S^-1 L for the rows that are left, and L = S x with zeros in the others */
void tg_cones_gather(const tg_cones *cones, const double *L, double *x);
void tg_cones_scatter(const tg_cones *cones, const double *x, int rows, double *L);

/* s = Gs x + gs */
void tg_cones_velocity(const tg_cones *cones, const double *x, double *s);

/* Nearest point of the unit cone |y_T| <= y_N, in place; y has d entries, normal first. The cone is its own dual. */
void tg_cone_project(int d, double *y);

/* |y_T| of a block of d rows */
double tg_cone_tangent(int d, const double *y);

/* R = [e t_1 .. t_{m-1}], orthonormal columns, row-major m x m, for a unit vector e */
void tg_cone_frame(int m, const double *e, double *R);

/* The exact solution of one block alone: x in the law of the block with s = G x + c, G (d x d, leading dimension ld)
 * its own part of Gs and c the velocity when x = 0. */
void tg_cone_solve(const tg_cone *cone, const double *G, int ld, const double *c, double *x);

/* The same, a hundredth off its cone at most, from the s_T = -alpha x_T of the last time; alpha is that of now. s_T is
 * opposite to x_T all the same. Of what slides slowly the direction says more than the length: an impulse that is cut
 * to its cone would move it elsewhere. */
void tg_cone_nearly(const tg_cone *cone, const double *G, int ld, const double *c, double *alpha, double *x);

/* One block Gauss-Seidel sweep with exact solves of every block, in place. */
void tg_cones_sweep(const tg_cones *cones, double *x);

#endif
