/* Trees that turn so far in a step that its linear gaps do not hold. */
#ifndef TG_STEP_HOLD_H
#define TG_STEP_HOLD_H

#include "step/work.h"

/* Where bodies of an island would overlap at the end of the step because they turn, the trees of the island are
 * displaced by a share of the step: fills held, share and q_next. After tg_step_integrate. */
void tg_step_hold(const tg_model *m, tg_work *w);

/* A pair without rows may overlap at the end of the step because its bodies turn. Before tg_step_hold. */
bool tg_step_turns_aside(const tg_model *m, tg_work *w);

#endif
