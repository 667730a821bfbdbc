/* The configuration manifold, without checks. */
#ifndef TG_MODEL_MANIFOLD_H
#define TG_MODEL_MANIFOLD_H

#include "model/model.h"

/* q1 = q (+) dv; q1 may be q */
void tg_advance(const tg_model *m, const double *q, const double *dv, double *q1);

#endif
