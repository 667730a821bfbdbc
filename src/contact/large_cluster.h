/* A few blocks of a large problem alone, with dense matrices. */
#ifndef TG_CONTACT_LARGE_CLUSTER_H
#define TG_CONTACT_LARGE_CLUSTER_H

#include "contact/large_system.h"

/* Solves the blocks marked in `seed` (p->nblock) together with those that share a tree with them, with these, and so
 * on, as long as that costs no more than all blocks, while the impulses of all others stay as they are. p->s are the
 * velocities of p->x; tolerance: m/s; effort: most factorisations, 0: no bound. Changes p->x alone: p->v and p->s are
 * those of before. False when it was not solved, or the seeds are too many; then nothing is changed. Takes r->scratch
 * and gives it back. */
bool tg_large_solve_cluster(tg_large *p, const bool *seed, double tolerance, int effort);

#endif
