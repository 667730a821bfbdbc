/* The position and velocity stages, used by everything below. Nothing here checks its inputs. */
#ifndef TG_DYNAMICS_KINEMATICS_H
#define TG_DYNAMICS_KINEMATICS_H

#include "dynamics/work.h"

/* Poses of the bodies, anchors and axes of the joints at q. */
void tg_place(const tg_model *m, tg_work *w, const double *q);

/* Twist of each dof, J and Jt. After tg_place. */
void tg_subspaces(const tg_model *m, tg_work *w);

/* Inertia of each node in world axes. After tg_place. */
void tg_inertias(const tg_model *m, tg_work *w);

/* All three. */
void tg_position_stage(const tg_model *m, tg_work *w, const double *q);

/* Twist of each node: V_i = V_parent + sum J v. After tg_subspaces. out: nnode spatial vectors. */
void tg_node_twists(const tg_model *m, const tg_work *w, const double *v, double *out);

/* One spatial vector a dof (x: 8 numbers each, with room for three dofs more) as the panel of a tree. */
void tg_transpose_panel(const tg_model *m, int tree, const double *x, double *panel);

/* TG_ERR_STALE unless the workspace holds that stage; the motion subspaces are made when they are first needed. */
tg_status tg_need_stage(const tg_model *m, tg_work *w, tg_stage stage);

#endif
