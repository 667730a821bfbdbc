/* Normal equations of grouped least squares: shared unknowns, and unknowns of each group.
 *
 *     [ S    B_1  B_2 .. ] [ s   ]   [ g_s ]
 *     [ B_1' D_1         ] [ l_1 ] = [ g_1 ]      H is arrow-shaped: D_g is eliminated first,
 *     [ B_2'      D_2    ] [ l_2 ]   [ g_2 ]      S - sum B_g D_g^-1 B_g' is left. */
#ifndef TG_CONTROL_ARROW_H
#define TG_CONTROL_ARROW_H

#include <stdbool.h>

#include "base/arena.h"

typedef struct tg_arrow
{
    int shared, groups;
    const int *locals; /* [groups] */
    int most;          /* of locals */
    int total;         /* all unknowns */
    double *S;         /* [shared, shared] */
    double *B;         /* [shared, locals[g]] each */
    double *D;         /* [locals[g], locals[g]] each */
    double *gradient;  /* [total] shared first */
    double *diagonal;  /* [total], of H */
    bool *held;        /* [total], unknowns that a step does not move */
    double *schur;     /* [shared, shared] */
    double *factor;    /* as D */
    double *lifted;    /* [locals[g], shared] each: D^-1 B' */
} tg_arrow;

void tg_arrow_place(tg_arrow *a, int shared, int groups, const int *locals, tg_arena *arena);
void tg_arrow_clear(tg_arrow *a);

/* Adds A' A and A' r of a group, A [rows, shared + locals[g]]. D_at, B_at, l_at: where the group's blocks start. */
void tg_arrow_add(tg_arrow *a, int group, int rows, const double *A, const double *r, double *scratch);

/* Adds a dense symmetric rank-one term w v v' among unknowns of the shared part and one group (-1: shared only); v
 * [total] is zero elsewhere. */
void tg_arrow_add_square(tg_arrow *a, int group, const double *v, double w);

/* step = -(H + damping diag)^-1 gradient over what is not held; false if that is not positive definite. */
bool tg_arrow_solve(tg_arrow *a, double damping, double *step);

/* The undamped Schur complement, into schur. What has no information among the unknowns of a group is left out. */
void tg_arrow_schur(tg_arrow *a);

/* x' H x over all */
double tg_arrow_quadratic(const tg_arrow *a, const double *x);

#endif
