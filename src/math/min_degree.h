/* The order in which the nodes of a sparse symmetric pattern are eliminated: approximate minimum degree (Amestoy, Davis
 * and Duff 1996).
 *
 * The next node is one that the fewest unknowns are connected to, through edges or through nodes eliminated before.
 * What is left of an eliminated node p is the set L_p of nodes that it connects to each other. Sets are never unfolded
 * into edges, and a node's degree is bounded from above by the sizes of the sets it is in, less what they share with
 * the newest one. */
#ifndef TG_MATH_MIN_DEGREE_H
#define TG_MATH_MIN_DEGREE_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct tg_min_degree
{
    int max_node, max_edge, max_boundary, max_unknown;
    /* the result */
    int *order;          /* node that is eliminated at each place */
    int *place;          /* place of each node */
    int *bound, *nbound; /* L of each node: boundary[bound] .. */
    int *boundary, nboundary;
    /* scratch */
    int *item, *start, *nitem;      /* of each node: neighbours j, and sets it is in as ~p */
    int *degree, *weight;           /* upper bound of the unknowns it is connected to; unknowns in its set */
    int *head, *next, *previous;    /* nodes by degree */
    int *mark, *outside, *stamp_of; /* stamps of nodes; of sets: unknowns that are not in the newest set */
    bool *absorbed;
    int lowest; /* no node has a smaller degree */
} tg_min_degree;

/* Room for so many nodes, edges (each counted twice), numbers in all sets, and unknowns. */
void tg_min_degree_place(tg_min_degree *d, int nodes, int edges, int boundary, int unknowns, tg_arena *arena);

/* Orders n nodes with size[i] unknowns; the edges of node i are neighbour[start[i]] .. neighbour[start[i + 1] - 1], no
 * edge twice. False when the sets do not fit. */
bool tg_min_degree_order(tg_min_degree *d, int n, const int *size, const int *start, const int *neighbour);

#endif
