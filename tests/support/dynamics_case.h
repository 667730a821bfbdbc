/* One state of one model, and every function of tangere/dynamics.h as a function of any of its inputs, for finite
 * differences and for comparing reverse with forward mode. */
#ifndef TG_TEST_DYNAMICS_CASE_H
#define TG_TEST_DYNAMICS_CASE_H

#include "support/fd.h"
#include "tangere/tangere.h"

typedef enum dynamics_function
{
    CASE_RNEA,
    CASE_FORWARD,
    CASE_PASSIVE,
    CASE_ACTUATION,
    CASE_ACTUATION_RATE
} dynamics_function;

typedef enum dynamics_input
{
    INPUT_Q,
    INPUT_V,
    INPUT_A, /* acceleration of RNEA, tau of forward dynamics */
    INPUT_ACT,
    INPUT_U,
    INPUT_PARAMS
} dynamics_input;

typedef struct dynamics_case
{
    const tg_model *m;
    tg_sizes size;
    tg_params *params; /* own copy, all joints with springs, dampers, armature */
    tg_work *w;
    double *q, *v, *a, *act, *u, *y, *y_rate;
    double *moved; /* scratch for displaced inputs */
    dynamics_function function;
    dynamics_input input;
    const int *index; /* INPUT_PARAMS: which numbers */
    int refused;      /* displaced parameters that tg_params_changed did not take */
} dynamics_case;

dynamics_case *dynamics_case_create(const tg_model *m);
void dynamics_case_destroy(dynamics_case *c);

/* Random q, v, a, act, u, y; the same for the same seed. */
void dynamics_case_randomise(dynamics_case *c, unsigned seed);

int dynamics_case_outputs(const dynamics_case *c, dynamics_function f);
int dynamics_case_inputs(const dynamics_case *c, dynamics_input i); /* nparams for INPUT_PARAMS */

/* Function f against input i; nin columns (for INPUT_PARAMS, those of index). */
fd_problem dynamics_case_problem(dynamics_case *c, dynamics_function f, dynamics_input i, const int *index, int nin);

/* numbers in [-1, 1] */
double test_uniform(unsigned *state);

#endif
