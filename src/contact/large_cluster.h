/* A few blocks of a large problem alone, with dense matrices. */
#ifndef TG_CONTACT_LARGE_CLUSTER_H
#define TG_CONTACT_LARGE_CLUSTER_H

#include "contact/large_system.h"

/* Solves the blocks that share a tree with one of those in `seed` (of all blocks), while the impulses of all others stay as they are; p->s are the velocities of
 * p->x. Where these are too many for a dense problem, the seeds alone. Changes p->x; false when it was not solved, and nothing is changed. */
bool tg_large_solve_cluster(tg_large *p, const bool *seed, double tolerance);

#endif
