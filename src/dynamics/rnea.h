/* The recursive Newton-Euler passes, also run one by one by the forward dynamics and the derivatives. */
#ifndef TG_DYNAMICS_RNEA_H
#define TG_DYNAMICS_RNEA_H

#include "dynamics/work.h"

/* A of each node for accelerations a (NULL: zero), from V; gravity is an upward acceleration of the world. */
void tg_node_accelerations(const tg_model *m, tg_work *w, const double *a);

/* F = I A + V x* I V of each node alone. */
void tg_node_forces(const tg_model *m, tg_work *w);

/* Sums F over subtrees; tau = J^T F (NULL: not wanted). */
void tg_sum_forces(const tg_model *m, tg_work *w, double *tau);

/* All three after the velocity pass: tau = M a + bias without armature (NULL: not wanted). */
void tg_newton_euler(const tg_model *m, tg_work *w, const double *a, double *tau);

#endif
