/* What a batch does with tapes that the public side has no need of (rollout.c). */
#ifndef TG_STEP_TAPE_H
#define TG_STEP_TAPE_H

#include "tangere/step.h"

/* How many entries the caches of a tape have. */
int tg_tape_entries(const tg_model *m);

/* The state after the last step of the rollout on the tape, its cache included. */
const tg_state *tg_tape_last(const tg_tape *tape);

/* The parameters of the workspace have the values with which the rollout was taken, though they may be others:
 * derivatives may be computed. */
void tg_tape_adopt(tg_tape *tape, const tg_work *w);

/* Called after each step of a rollout; false ends it with TG_ERR_CANCELLED. NULL: nothing is called. */
typedef bool tg_tape_tick(void *user);
void tg_tape_watch(tg_tape *tape, tg_tape_tick *tick, void *user);

#endif
