/* Forward dynamics without its checks. */
#ifndef TG_DYNAMICS_FORWARD_H
#define TG_DYNAMICS_FORWARD_H

#include "dynamics/work.h"

/* Everything up to a = M^-1 (tau + passive - bias): position stage, factors of M, twists, passive forces. tau may be
 * NULL, a may be tau. */
tg_status tg_accelerate(const tg_model *m, tg_work *w, const double *q, const double *v, const double *tau, double *a);

#endif
