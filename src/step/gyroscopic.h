/* Gyroscopic forces at the end of the free step: v_free of the option implicit_gyroscopic. */
#ifndef TG_STEP_GYROSCOPIC_H
#define TG_STEP_GYROSCOPIC_H

#include "step/work.h"

enum
{
    TG_GYROSCOPIC_DOFS = 256 /* of a tree: its matrix is dense */
};

/* Whether every tree is small enough; where one is not, there is no room for any (tg_gyroscopic_size). */
bool tg_gyroscopic_fits(const tg_model *m);

/* Factors B = A + dt D at the step's q and v, tree by tree. After the velocity stage. */
tg_status tg_gyroscopic_factor(const tg_model *m, tg_work *w);

/* x <- B^-1 x, B^-T x */
void tg_gyroscopic_solve(const tg_model *m, const tg_work *w, double *x);
void tg_gyroscopic_solve_t(const tg_model *m, const tg_work *w, double *x);

/* out = A x. After the velocity stage. */
void tg_gyroscopic_mass(const tg_model *m, tg_work *w, const double *x, double *out);

#endif
