/* A few blocks of a large problem alone, with dense matrices. */
#ifndef TG_CONTACT_LARGE_CLUSTER_H
#define TG_CONTACT_LARGE_CLUSTER_H

#include "contact/large_system.h"

/* The rows that a cluster may have: a dense factorisation takes no more multiplications than a Newton step of all
 * blocks. */
int tg_large_cluster_rows(const tg_large *p);

/* Solves the blocks marked in `seed` (p->nblock) together with those that share a tree with them, with these, and so
 * on, as long as that has no more rows, while the impulses of all others stay as they are. p->s are the velocities of
 * p->x; tolerance: m/s; effort: most factorisations, 0: no bound. Changes p->x alone: p->v and p->s are those of
 * before; its work is added to p->spent. False when it was not solved, or the seeds are too many; then nothing is
 * changed. Takes r->scratch and gives it back. */
bool tg_large_solve_cluster(tg_large *p, const bool *seed, double tolerance, int effort);

#endif
