/* Sparse linear systems whose unknowns sit on the nodes of a graph: a multifrontal block factorisation (Duff and Reid 1983) in the order of
 * min_degree.h.
 *
 * A node has a few unknowns; the matrix has a block (a, b) only where a = b or the graph has an edge a - b. The pattern is symmetric, the
 * numbers need not be. A front is a dense matrix over the nodes that it eliminates and the later ones they are connected to; nodes that follow each other and are
 * connected to the same ones share a front. Pivots are searched inside a front's own rows only.
 *
 * Nothing is allocated: arrays come from the caller's arena, and an analysis that needs more room than there is says so. */
#ifndef TG_MATH_FRONTS_H
#define TG_MATH_FRONTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "math/min_degree.h"

typedef struct tg_front
{
    int own, nown;       /* nodes it eliminates: own_node[own] .. */
    int bound, nbound;   /* later nodes it touches, in the order of their elimination: boundary[bound] .. */
    int child, sibling;  /* its first child, the next child of its parent; -1: none */
    int p, f;            /* unknowns of its own, of all */
    size_t upper, lower; /* [F11 F12], p x f, and F21, (f - p) x p */
    int pivot;
} tg_front;

typedef struct tg_fronts
{
    int nnode, nfront;
    int max_node, max_edge, max_unknown;
    /* the graph and its matrix: written by the caller */
    int *size;   /* unknowns of each node */
    int *offset; /* where they start in a vector */
    int *start,
        *neighbour;     /* edges: those of node i are neighbour[start[i]] .. neighbour[start[i + 1] - 1], none twice */
    size_t *node_block; /* value[node_block[i]]: block (i, i), rows of v4_pad(size) numbers */
    size_t *edge_block; /* value[edge_block[e]]: block (i, neighbour[e]), the same */
    double *value;
    size_t values; /* how many there are; room for max_value */
    size_t max_value;
    /* the factors */
    tg_min_degree order;
    int *own_node, *front_of, *local, *pivots;
    int *parent, *merged,
        *post; /* of nodes: the next node it is connected to, the one before it in its front; scratch */
    tg_front *front;
    double *vector; /* scratch */
    double *memory; /* of the factors, from below; of updates that wait for their parent, from above */
    size_t capacity;
} tg_fronts;

/* Room for so many nodes, edges (each counted twice), unknowns in all; values: numbers in all blocks; capacity: numbers in the factors. */
void tg_fronts_place(tg_fronts *f, int nodes, int edges, int unknowns, size_t values, size_t capacity, tg_arena *arena);

/* Lays the blocks out and orders the nodes. Before: nnode, size, offset, start, neighbour. False when something does not fit. */
bool tg_fronts_analyse(tg_fronts *f);

/* Of the matrix in value. False when a pivot is zero or not finite. */
bool tg_fronts_factor(tg_fronts *f);

/* x = A^-1 x */
void tg_fronts_solve(const tg_fronts *f, double *x);

#endif
