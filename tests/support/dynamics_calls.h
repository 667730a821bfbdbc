/* Every function of tangere/dynamics.h that takes a workspace, as a row of a table that says what it reads and
 * writes, so that a test can call them all, with any argument replaced. */
#ifndef TG_TEST_DYNAMICS_CALLS_H
#define TG_TEST_DYNAMICS_CALLS_H

#include "support/dynamics_case.h"

typedef enum call_input
{
    CALL_Q,
    CALL_V,
    CALL_A,
    CALL_TAU,
    CALL_ACT,
    CALL_U,
    CALL_Y,
    CALL_Y_RATE,
    CALL_POINT,
    CALL_INPUTS
} call_input;

enum
{
    CALL_OUTPUTS = 6
};

typedef struct call_arguments
{
    const tg_model *m;
    tg_work *w;
    const double *in[CALL_INPUTS];
    int element; /* body, site or geom */
    tg_frame frame;
    const int *index;
    int n; /* of index */
    double *out[CALL_OUTPUTS];
} call_arguments;

typedef enum call_size
{
    SIZE_NONE,
    SIZE_1,
    SIZE_3,
    SIZE_4,
    SIZE_6,
    SIZE_NV,
    SIZE_NA,
    SIZE_NU,
    SIZE_NPARAMS,
    SIZE_10_NBODY,
    SIZE_N /* length of index */
} call_size;

typedef struct call_output
{
    const char *name; /* of the argument */
    call_size rows, columns;
    bool needed; /* must not be NULL */
} call_output;

typedef struct dynamics_call
{
    const char *name;
    tg_status (*run)(const call_arguments *x);
    unsigned needs, takes; /* inputs that must be there and that may be there: bits 1 << call_input */
    tg_element element;    /* that x->element counts; TG_ELEMENT_COUNT: the function takes none */
    bool framed, indexed;
    bool after_kinematics; /* reads what tg_kinematics(q, v) left in the workspace */
    call_output out[CALL_OUTPUTS];
} dynamics_call;

extern const dynamics_call dynamics_calls[];
extern const int dynamics_call_count;

const char *call_input_name(call_input input);
int call_input_size(const tg_model *m, call_input input);
int call_element_count(const tg_model *m, const dynamics_call *call);

/* Numbers in one output; 0 if the function has no such output. */
size_t call_output_size(const dynamics_call *call, const call_arguments *x, int output);

/* Arguments at the state of a case (whose arrays they share), some twenty parameters, and outputs that hold those
 * of any function, with room for one number behind each. */
call_arguments call_arguments_create(dynamics_case *c);
void call_arguments_destroy(call_arguments *x);

/* Fills the outputs of a call, and the number behind each, with a byte. */
void call_fill(const dynamics_call *call, const call_arguments *x, int byte);

/* tg_kinematics first where the function needs it; fails the test when a status is not TG_OK. */
void call_run(const dynamics_call *call, const call_arguments *x);

#endif
