/* Sparse linear systems whose unknowns sit on the nodes of a graph: a multifrontal block factorisation (Duff and Reid 1983) with nested
 * dissection by position (George 1973).
 *
 * A node has a few unknowns; the matrix has a block (a, b) only where a = b or the graph has an edge a - b. The pattern is symmetric, the
 * numbers need not be. Nodes are cut in two halves along their longest extent, again and again; the nodes of the cut are eliminated after
 * both halves, as one dense matrix, a front. Pivots are searched inside a front's own rows only.
 *
 * Nothing is allocated: arrays come from the caller's arena, and a factorisation that needs more room than there is says so. */
#ifndef TG_MATH_FRONTS_H
#define TG_MATH_FRONTS_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct tg_front
{
    int own, nown;     /* nodes it eliminates: order[own] .. */
    int bound, nbound; /* later nodes it touches: boundary[bound] .. */
    int child[2];      /* -1: none */
    int p, f;          /* unknowns of its own, of all */
    size_t matrix;     /* f x f: [F11 F12; F21 F22] */
    int pivot;
} tg_front;

typedef struct tg_fronts
{
    int nnode, nfront, nboundary;
    int max_node, max_edge, max_boundary, max_unknown;
    int *size, *offset;     /* unknowns of each node, and where they start in a vector */
    int *start, *neighbour; /* edges: those of node i are neighbour[start[i]] .. neighbour[start[i + 1] - 1] */
    double *place;          /* 3 numbers a node: where it is */
    int *order, *front_of, *mark, *local, *boundary, *pivots;
    tg_front *front;
    double *vector; /* scratch */
    double *memory; /* of the fronts */
    size_t capacity, used;
    int stamp;
} tg_fronts;

/* Room for so many nodes, edges (each counted twice) and unknowns in all; capacity: numbers in all fronts. */
void tg_fronts_place(tg_fronts *f, int nodes, int edges, int unknowns, size_t capacity, tg_arena *arena);

/* Orders the nodes. Before: nnode, size, offset, start, neighbour, place. False when the fronts do not fit. */
bool tg_fronts_analyse(tg_fronts *f);

/* Writes the blocks of the front's own nodes: called once for each front, in order, with its matrix at zero. */
typedef void tg_front_assemble(const tg_fronts *f, int front, void *context);

/* Where block (a, b) starts in the front's matrix, of leading dimension front[i].f; both nodes must be in the front. For tg_front_assemble. */
double *tg_front_block(const tg_fronts *f, int front, int a, int b);

/* False when a pivot is zero or not finite. */
bool tg_fronts_factor(tg_fronts *f, tg_front_assemble *assemble, void *context);

/* x = A^-1 x */
void tg_fronts_solve(const tg_fronts *f, double *x);

#endif
