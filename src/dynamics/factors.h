/* The factors of A = M + diag(extra) + sum c m m^T, m the moments of tendons: of each tree by itself, A = L^T D L, or,
 * where tendons act at the end of a step, of each group of trees that they couple (model/coupling.h), A = U^T U, dense.
 * Whoever needs A^-1 = H^T H has it through solve, half (H), other half (H^T) and inverse. */
#ifndef TG_DYNAMICS_FACTORS_H
#define TG_DYNAMICS_FACTORS_H

#include "dynamics/work.h"

/* The order of elimination in groups: trees by their height, the lowest last. Half solves start at the first dof that a
 * column has, so that rows of contacts with the ground are short. A function of the poses and the parameters alone;
 * without gravity trees are as in the model. tg_factor_mass calls it. */
void tg_order_groups(const tg_model *m, tg_work *w);

/* The mass matrix, then its factors in place; a status if A is not positive definite. extra: nv, NULL: zero. coupling:
 * c of every tendon and, behind them, of every actuator (its own moment), NULL: trees stay by themselves. After the
 * position stage, and tg_tendons where coupling is given. */
tg_status tg_factor_mass(const tg_model *m, tg_work *w, const double *extra, const double *coupling);

/* x (nv) = A^-1 x with the factors. */
void tg_solve_mass(const tg_model *m, const tg_work *w, double *x);

/* whether a tree's factors are its own, and whether it is the first tree of a group */
static inline bool tg_tree_is_alone(const tg_model *m, const tg_work *w, int tree)
{
    return !w->grouped || m->tree_group[tree] < 0;
}
static inline bool tg_tree_leads(const tg_model *m, const tg_work *w, int tree)
{
    return !tg_tree_is_alone(m, w, tree) && w->place[m->tree_dof[tree]] == 0;
}

/* the first tree of a group in its order */
static inline int tg_group_tree(const tg_model *m, const tg_work *w, int group)
{
    return m->node_tree[m->dof_node[w->place_dof[m->group_start[group]]]];
}

/* x (nv) of a group's dofs <- A^-1 x, H x, H^T x. */
void tg_group_solve(const tg_model *m, const tg_work *w, int group, double *x);
void tg_group_half(const tg_model *m, const tg_work *w, int group, double *x);
void tg_group_other_half(const tg_model *m, const tg_work *w, int group, double *x);

/* The same for matrices X, a row per dof of the group in their places, aligned, a multiple of four columns. The first
 * group_zeros rows are zero for the first half. */
void tg_group_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *X);
void tg_group_other_half_rows(const tg_model *m, const tg_work *w, int group, int columns, double *X);

/* out (n x n, n dofs of the group, leading dimension ld) = A^-1. */
void tg_group_inverse(const tg_model *m, const tg_work *w, int group, double *out, int ld);

#endif
