/* Time steps for which springs and dampers that act with the state at the start of a step are stable. */
#ifndef TG_STEP_STABILITY_H
#define TG_STEP_STABILITY_H

#include "step/work.h"

/* Whether springs and explicit dampers are so stiff for the step's dt that they may create energy: within half of the
 * largest stable step, at the reference configuration. Depends on parameters and options alone; uses the workspace,
 * where they have changed. Before the step is taken. */
tg_status tg_step_find_stiff(const tg_model *m, tg_work *w);

/* v . (dt^2/4 K + dt/2 D) v of springs and dampers that act with the state at the start of a step: above v . M v,
 * motion along v grows. After tg_tendons. */
double tg_stiff_motion(const tg_model *m, tg_work *w, const double *v);

#endif
