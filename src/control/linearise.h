/* A and B of the steps of a row. */
#ifndef TG_CONTROL_LINEARISE_H
#define TG_CONTROL_LINEARISE_H

#include "tangere/control.h"

/* Doubles of scratch that tg_linearise_in needs. */
size_t tg_linearise_scratch(const tg_model *m);

/* As tg_linearise, without checks; state is moved on in place. */
tg_status tg_linearise_in(const tg_model *m, tg_work *w, const tg_options *options, tg_state *state, const double *u,
                          int hold, double *scratch, double *A, double *B);

#endif
