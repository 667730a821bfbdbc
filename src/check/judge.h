/* Inside of tg_check: one state after the other is taken from the trajectory, numbers are drawn (draw.c), and the
 * derivatives by them are compared with differences (compare.c) and with each other (agree.c). verdict.c sums up. */
#ifndef TG_CHECK_JUDGE_H
#define TG_CHECK_JUDGE_H

#include "check/walk.h"

enum
{
    TG_JUDGE_A_KIND = 2 /* parameters of a kind that are differenced at a state */
};

/* Groups of tg_check_result: what goes into a step, then one for each kind of parameter. */
enum
{
    GROUP_Q,
    GROUP_V,
    GROUP_ACT,
    GROUP_U,
    GROUP_TAU,
    GROUP_WRENCH,
    GROUP_DT,
    GROUP_PARAMS
};

typedef struct tg_judge
{
    tg_walk walk;
    const tg_model *m;
    tg_sizes n;
    tg_differences *d;
    void *memory;
    tg_cotangent exact, differences, spread, along, wanted; /* by what goes into a step */
    double *out, *change;      /* (q+, v+, act+): cotangents, and the change along `along` */
    int *chosen, nchosen;      /* parameters to draw from */
    int *kind;                 /* of every parameter: its group */
    int *pool, *index, nindex; /* the parameters that are differenced at this state */
    tg_label label;
    tg_label_kind *own; /* of those parameters, by themselves */
    tg_jacobian jacobian;
    tg_step_contact *contact;
    int met[TG_CONTACT_MODES];             /* contacts of the last step */
    tg_check_group aside[TG_CHECK_GROUPS]; /* what a state adds, before it is known whether it counts */
    tg_check_result *r;
} tg_judge;

/* The numbers of a group (those of all parameters from GROUP_PARAMS on), and how many there are. */
double *tg_judge_numbers(const tg_cotangent *g, int group);
int tg_judge_count(const tg_sizes *n, int group);

/* Chooses the numbers that are differenced at this state: wanted, index. */
void tg_judge_draw(tg_judge *c);

/* The derivative of out . (q+, v+, act+) against differences. */
tg_status tg_judge_compare(tg_judge *c, const tg_cotangent *out);

/* Contacts of the last step that was differenced; NULL: 0. A displaced state may have more than the step itself. */
int tg_differences_found(const tg_differences *d);

/* Forward mode and matrices against reverse mode. */
tg_status tg_judge_agree(tg_judge *c);

/* Of the modes that the model can have and that fewer than this share of the states have met, the rarest; -1: none */
int tg_judge_rare(const tg_check_result *r, double share);

/* Fills in what follows from the rest: sums, shares, passed. */
void tg_judge_sum_up(tg_check_result *r);

#endif
