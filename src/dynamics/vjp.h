/* Reverse mode of each force law: adds scale * d(y . force) to the gradients of q and v (nv each), and of the parameters
 * (NULL: not wanted). Spatial parts are seeded (adjoint.h) for the backward pass. */
#ifndef TG_DYNAMICS_VJP_H
#define TG_DYNAMICS_VJP_H

#include "dynamics/adjoint.h"

typedef struct tg_gradient
{
    double *q, *v, *a; /* nv each */
    double *params;    /* nparams, or NULL */
} tg_gradient;

/* Four zeroed vectors of the workspace; params is cleared too if it is there. */
tg_gradient tg_gradient_begin(const tg_model *m, tg_work *w, double *params);

/* Copies n = nv numbers where out is not NULL. */
void tg_gradient_copy(const tg_model *m, const double *gradient, double *out);

/* y . passive. After tg_passive_force and tg_adjoint_begin(y). */
void tg_passive_reverse(const tg_model *m, tg_work *w, const double *q, const double *v, const double *y,
                        tg_gradient g);

/* A tendon's length, rate and moment . y with their cotangents. After tg_tendons and tg_adjoint_begin(y). */
void tg_tendon_reverse(const tg_model *m, tg_work *w, int tendon, const double *q, const double *v, const double *y,
                       double g_length, double g_rate, double g_moment, tg_gradient g);

/* y . RNEA(q, v, a) times scale, armature included. After tg_node_accelerations and tg_adjoint_begin(y). */
void tg_rnea_reverse(const tg_model *m, tg_work *w, const double *a, const double *y, double scale, tg_gradient g);

#endif
