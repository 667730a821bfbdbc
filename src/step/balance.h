/* The energy that a step creates, beyond what acted on it. */
#ifndef TG_STEP_BALANCE_H
#define TG_STEP_BALANCE_H

#include "step/work.h"

/* Whether tg_info.balance of the last step is requested (option energy), or might say that the step is
 * unstable: stiff springs, fast turns, impulses that were not found. */
bool tg_balance_needed(const tg_model *m, tg_work *w);

/* balance, kinetic and potential of tg_info, and the status TG_STEP_UNSTABLE. Uses the workspace for another
 * configuration: tg_step_return. */
tg_status tg_step_balance(const tg_model *m, tg_work *w);

#endif
