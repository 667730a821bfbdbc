/* Plain forward kinematics at a configuration, for what is resolved when a model is built. */
#ifndef TG_MODEL_REFERENCE_H
#define TG_MODEL_REFERENCE_H

#include "model/model.h"

/* Poses of all bodies in the world at q: nbody x 7 (tangere/algebra.h). Needs derived parameters. */
void tg_reference_poses(const tg_params *p, const double *q, double *pose);

/* The length of a tendon at q, where the bodies have these poses. */
double tg_reference_tendon_length(const tg_params *p, int tendon, const double *q, const double *pose);

/* How a tendon's length in the reference configuration follows the parameters: returns its change along `change`
 * (nparams), and adds g times its gradient to `gradient`, where the first three numbers of a quaternion take the
 * gradient of a rotation in parent axes. Either may be NULL. */
double tg_reference_tendon_slope(const tg_params *p, int tendon, const double *change, double g, double *gradient);

#endif
