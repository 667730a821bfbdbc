/* Reverse mode of each force law: adds scale * d(y . force) to the gradients of q and v (nv each), and of the
 * parameters (NULL: not wanted). Spatial parts are seeded (adjoint.h) for the backward pass. */
#ifndef TG_DYNAMICS_VJP_H
#define TG_DYNAMICS_VJP_H

#include "dynamics/actuation.h"
#include "dynamics/adjoint.h"
#include "dynamics/cable.h"

typedef struct tg_gradient
{
    double *q, *v, *a; /* nv each */
    double *params;    /* nparams, or NULL */
} tg_gradient;

/* Four zeroed vectors of the workspace; params is also cleared unless NULL. */
tg_gradient tg_gradient_begin(const tg_model *m, tg_work *w, double *params);

/* While gradients are added up, a quaternion's first three numbers hold the gradient of a small rotation in the axes of
 * its parent, its fourth nothing, and a joint's axis the gradient of its direction. This turns them into those of the
 * numbers as they are written, once: which is linear, and depends on the parameters alone. params may be NULL. */
void tg_gradient_end(const tg_model *m, const tg_work *w, double *params);

/* Copies n = nv numbers where out is not NULL. */
void tg_gradient_copy(const tg_model *m, const double *gradient, double *out);

/* y . passive; when tendons act: at v, or ahead with the velocities of tg_adjoint_second. After tg_cables and
 * tg_adjoint_begin(y). */
void tg_passive_reverse(const tg_model *m, tg_work *w, const double *q, const double *v, tg_tendon_when when,
                        const double *y, tg_gradient g);

/* What the gradients of actuators are made from, and where they go. */
typedef struct tg_actuators
{
    const tg_model *m;
    tg_work *w;
    const double *q, *v, *v_late, *act, *y; /* v_late: of those that are late, the second vector of the pass */
    double *gact, *gu;                      /* na, nu: added to */
    tg_gradient g;
} tg_actuators;

/* The force of one actuator, d: y . moment force + g_rate act_rate. After tg_transmissions and tg_adjoint_begin(y). */
void tg_actuator_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_rate);

/* The signal alone (an activation at the end of a step): g_signal signal + g_rate act_rate. */
void tg_signal_reverse(const tg_actuators *x, int i, const tg_drive *d, double g_signal, double g_rate);

/* Where a joint's force range acts on force (nv, of all actuators), the range takes the gradient and passed (nv) is 0
 * instead of y. Returns whether one does. */
bool tg_joint_range_reverse(const tg_model *m, const tg_work *w, const double *force, const double *y, double *passed,
                            double *gparams);

/* y . RNEA(q, v, a) times scale, armature included. After tg_node_accelerations and tg_adjoint_begin(y). */
void tg_rnea_reverse(const tg_model *m, tg_work *w, const double *a, const double *y, double scale, tg_gradient g);

#endif
