/* A model again, with more excludes. */
#ifndef TG_MODEL_EXCLUDE_H
#define TG_MODEL_EXCLUDE_H

#include "model/model.h"

/* A copy of the model in which these pairs of geoms (n x 2) do not collide either, with further lines at the end of its
 * report. All else is as it was: structure, names, parameters, keyframes. */
tg_status tg_model_exclude(const tg_model *m, const int *geom, int n, const tg_report_entry *report, int nreport,
                           tg_model **out, tg_error *error);

#endif
