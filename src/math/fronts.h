/* Sparse linear systems whose unknowns sit on the nodes of a graph: a multifrontal factorisation (Duff and Reid 1983)
 * in the order of min_degree.h.
 *
 * The matrix is a sum of elements, each a dense matrix over the unknowns of a few nodes; it is never put together as a
 * whole. The pattern is symmetric, the numbers need not be. A front is a dense matrix over the nodes that it
 * eliminates, its own, and the later ones they are connected to, its boundary:
 *     F = [F11 F12; F21 F22],   F12 <- F11^-1 F12,   U = F22 - F21 F12,
 * where F is the sum of the elements that touch its own nodes (and none that was eliminated before) and of the
 * children's U. Nodes share a front where that costs less than a front for each. Pivots are searched inside a front's
 * own rows only. Where the numbers are symmetric, what is below the diagonal of F22 is left out.
 *
 * Nothing is allocated: arrays come from the caller's arena, and an analysis that needs more room than there is says
 * so. */
#ifndef TG_MATH_FRONTS_H
#define TG_MATH_FRONTS_H

#include <stdbool.h>

#include "base/arena.h"
#include "math/min_degree.h"

/* `count` numbers from `from` on are those from `to` on somewhere else */
typedef struct tg_run
{
    int from, to, count;
} tg_run;

/* children come before their parents, right behind each other */
typedef struct tg_front
{
    int p, r;              /* unknowns of its own, of its boundary */
    int first;             /* its own in vectors of the elimination */
    int own, nown;         /* nodes: own_node[own] .. */
    int bound, nbound;     /* nodes: order.boundary[bound] .., in the order of their elimination */
    int child, sibling;    /* its last child, the child of its parent before it; -1: none */
    int element, nelement; /* element_order[element] .. */
    int into, ninto;       /* its boundary in its parent's matrix: run[into] .. */
    int spread, nspread;   /* its boundary in vectors of the elimination: run[spread] .. */
    size_t factor;         /* F11 (p rows), F12 (p rows) and F21^T (p rows), rows padded to whole v4 */
} tg_front;

typedef struct tg_fronts
{
    int nnode, nelement, nfront;
    int max_edge;
    /* the graph: written by the caller */
    int *size;                         /* unknowns of each node */
    int *offset;                       /* where they start in a vector */
    int *element_start, *element_node; /* nodes of element e: element_node[element_start[e]] .., none twice */
    /* the order of elimination */
    tg_min_degree order;
    int *start, *neighbour;              /* edges of each node */
    int *use_start, *use;                /* elements of each node */
    int *element_order, *element_at;     /* elements front by front; where their nodes are in the front's matrix */
    int *own_node, *front_of, *position; /* of nodes: the place of their unknowns in vectors of the elimination */
    int *parent, *last, *weight, *local, *stack; /* scratch */
    tg_run *run;
    int nrun;
    tg_front *front;
    /* numbers */
    bool symmetric;
    int *row; /* which row of F11 comes first, second, ..: of fronts with few unknowns; of others the exchanges of tg_lu
               */
    double *vector; /* of the elimination */
    double *memory; /* of the factors, from below; of updates that wait for their parent, from above; behind them one
                       front */
    size_t capacity, square;
    double *part; /* scratch: a vector of one front */
} tg_fronts;

/* How many there may be: edges and boundary count each node at both ends, `element_nodes` counts the nodes of all
 * elements, `capacity` numbers. */
typedef struct tg_fronts_room
{
    int nodes, elements, element_nodes, edges, unknowns;
    size_t capacity;
} tg_fronts_room;

/* What bodies that touch need: nodes of `dofs` unknowns altogether (unknowns: with padding). */
tg_fronts_room tg_fronts_usual_room(int nodes, int elements, int element_nodes, int dofs, int unknowns);

void tg_fronts_place(tg_fronts *f, const tg_fronts_room *room, tg_arena *arena);

/* Orders the nodes and lays the fronts out. Before: nnode, nelement, size, offset, element_start, element_node. False
 * when something does not fit. */
bool tg_fronts_analyse(tg_fronts *f);

/* multiplications of one factorisation, after the analysis */
double tg_fronts_work(const tg_fronts *f);

/* Adds an element to A, rows ld apart: the unknowns of its k-th node have the rows and columns from at[k] on. Up to
 * three zeros may be added behind the columns of a node. */
typedef void tg_fronts_add(const void *context, int element, const int *at, double *A, int ld);

/* Of the sum of all elements. symmetric: that it is, and positive definite; then it takes little more than half the
 * time. False when a pivot is zero or not finite, or what should be positive definite is seen not to be. */
bool tg_fronts_factor(tg_fronts *f, bool symmetric, tg_fronts_add *add, const void *context);

/* x = A^-1 x */
void tg_fronts_solve(const tg_fronts *f, double *x);

#endif
