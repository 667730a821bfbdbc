/* The mass matrix. Its factors: factors.h. */
#ifndef TG_DYNAMICS_CRBA_H
#define TG_DYNAMICS_CRBA_H

#include "dynamics/work.h"

/* Inertia of the subtree of each node. After the position stage. */
void tg_composites(const tg_model *m, tg_work *w);

/* Rows of the mass matrix into w->M, lower triangle a tree, exact zeros off the branch; armature on the diagonal. */
void tg_mass_rows(const tg_model *m, tg_work *w);

/* w->M as a full nv x nv matrix, both triangles. */
void tg_export_mass(const tg_model *m, const tg_work *w, double *M);

/* Masks of a block of four columns: lane i is one where bit i is set. */
extern const double tg_lane_mask[16][4];

#endif
