#include "support/dynamics_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define Q x->in[CALL_Q]
#define V x->in[CALL_V]
#define A x->in[CALL_A]
#define TAU x->in[CALL_TAU]
#define ACT x->in[CALL_ACT]
#define U x->in[CALL_U]
#define Y x->in[CALL_Y]
#define Y_RATE x->in[CALL_Y_RATE]
#define POINT x->in[CALL_POINT]
#define OUT(i) x->out[i]

/* The functions with their arguments taken from x, which is also how each is spelled in the table below. */
#define CALL(name, ...)                                                                                                \
    static tg_status run_##name(const call_arguments *x)                                                               \
    {                                                                                                                  \
        return tg_##name(x->m, x->w, __VA_ARGS__);                                                                     \
    }

CALL(kinematics, Q, V)
CALL(body_pose, x->element, OUT(0), OUT(1))
CALL(site_pose, x->element, OUT(0), OUT(1))
CALL(geom_pose, x->element, OUT(0), OUT(1))
CALL(body_jacobian, x->element, POINT, x->frame, OUT(0))
CALL(site_jacobian, x->element, x->frame, OUT(0))
CALL(body_velocity, x->element, POINT, x->frame, OUT(0))
CALL(body_jacobian_dot_v, x->element, POINT, x->frame, OUT(0))
CALL(com, Q, OUT(0), OUT(1))
CALL(momentum, Q, V, OUT(0))
CALL(energy, Q, V, OUT(0), OUT(1))
CALL(mass_matrix, Q, OUT(0))
CALL(rnea, Q, V, A, OUT(0))
CALL(passive, Q, V, OUT(0))
CALL(actuation, Q, V, ACT, U, OUT(0), OUT(1))
CALL(forward_dynamics, Q, V, TAU, OUT(0))
CALL(rnea_derivatives, Q, V, A, OUT(0), OUT(1), OUT(2))
CALL(rnea_regressor, Q, V, A, OUT(0))
CALL(passive_derivatives, Q, V, OUT(0), OUT(1))
CALL(actuation_derivatives, Q, V, ACT, U, OUT(0), OUT(1), OUT(2), OUT(3), OUT(4), OUT(5))
CALL(forward_dynamics_derivatives, Q, V, TAU, OUT(0), OUT(1), OUT(2))
CALL(rnea_vjp, Q, V, A, Y, OUT(0), OUT(1), OUT(2), OUT(3))
CALL(passive_vjp, Q, V, Y, OUT(0), OUT(1), OUT(2))
CALL(actuation_vjp, Q, V, ACT, U, Y, Y_RATE, OUT(0), OUT(1), OUT(2), OUT(3), OUT(4))
CALL(forward_dynamics_vjp, Q, V, TAU, Y, OUT(0), OUT(1), OUT(2), OUT(3))
CALL(rnea_param_derivatives, Q, V, A, x->index, x->n, OUT(0))
CALL(forward_dynamics_param_derivatives, Q, V, TAU, x->index, x->n, OUT(0))
CALL(passive_param_derivatives, Q, V, x->index, x->n, OUT(0))
CALL(actuation_param_derivatives, Q, V, ACT, U, x->index, x->n, OUT(0))

#define BIT(input) (1u << (input))
#define BITS_QV (BIT(CALL_Q) | BIT(CALL_V))
#define BITS_DRIVE (BITS_QV | BIT(CALL_ACT) | BIT(CALL_U))
#define NAME(function) .name = "tg_" #function, .run = run_##function
#define NO_ELEMENT .element = TG_ELEMENT_COUNT

const dynamics_call dynamics_calls[] = {
    {NAME(kinematics), .needs = BIT(CALL_Q), .takes = BIT(CALL_V), NO_ELEMENT},
    {NAME(body_pose), .element = TG_BODY, .after_kinematics = true,
     .out = {{"pos", SIZE_3, SIZE_1, false}, {"quat", SIZE_4, SIZE_1, false}}},
    {NAME(site_pose), .element = TG_SITE, .after_kinematics = true,
     .out = {{"pos", SIZE_3, SIZE_1, false}, {"quat", SIZE_4, SIZE_1, false}}},
    {NAME(geom_pose), .element = TG_GEOM, .after_kinematics = true,
     .out = {{"pos", SIZE_3, SIZE_1, false}, {"quat", SIZE_4, SIZE_1, false}}},
    {NAME(body_jacobian), .takes = BIT(CALL_POINT), .element = TG_BODY, .framed = true, .after_kinematics = true,
     .out = {{"out", SIZE_6, SIZE_NV, true}}},
    {NAME(site_jacobian), .element = TG_SITE, .framed = true, .after_kinematics = true,
     .out = {{"out", SIZE_6, SIZE_NV, true}}},
    {NAME(body_velocity), .takes = BIT(CALL_POINT), .element = TG_BODY, .framed = true, .after_kinematics = true,
     .out = {{"out", SIZE_6, SIZE_1, true}}},
    {NAME(body_jacobian_dot_v), .takes = BIT(CALL_POINT), .element = TG_BODY, .framed = true, .after_kinematics = true,
     .out = {{"out", SIZE_6, SIZE_1, true}}},
    {NAME(com), .needs = BIT(CALL_Q), NO_ELEMENT,
     .out = {{"com", SIZE_3, SIZE_1, false}, {"jacobian", SIZE_3, SIZE_NV, false}}},
    {NAME(momentum), .needs = BITS_QV, NO_ELEMENT, .out = {{"momentum", SIZE_6, SIZE_1, true}}},
    {NAME(energy), .needs = BITS_QV, NO_ELEMENT,
     .out = {{"kinetic", SIZE_1, SIZE_1, false}, {"potential", SIZE_1, SIZE_1, false}}},
    {NAME(mass_matrix), .needs = BIT(CALL_Q), NO_ELEMENT, .out = {{"M", SIZE_NV, SIZE_NV, true}}},
    {NAME(rnea), .needs = BITS_QV, .takes = BIT(CALL_A), NO_ELEMENT, .out = {{"tau", SIZE_NV, SIZE_1, true}}},
    {NAME(passive), .needs = BITS_QV, NO_ELEMENT, .out = {{"force", SIZE_NV, SIZE_1, true}}},
    {NAME(actuation), .needs = BITS_DRIVE, NO_ELEMENT,
     .out = {{"force", SIZE_NV, SIZE_1, true}, {"act_rate", SIZE_NA, SIZE_1, false}}},
    {NAME(forward_dynamics), .needs = BITS_QV, .takes = BIT(CALL_TAU), NO_ELEMENT,
     .out = {{"a", SIZE_NV, SIZE_1, true}}},
    {NAME(rnea_derivatives), .needs = BITS_QV, .takes = BIT(CALL_A), NO_ELEMENT,
     .out = {{"dtau_dq", SIZE_NV, SIZE_NV, false},
             {"dtau_dv", SIZE_NV, SIZE_NV, false},
             {"dtau_da", SIZE_NV, SIZE_NV, false}}},
    {NAME(rnea_regressor), .needs = BITS_QV, .takes = BIT(CALL_A), NO_ELEMENT,
     .out = {{"Y", SIZE_NV, SIZE_10_NBODY, true}}},
    {NAME(passive_derivatives), .needs = BITS_QV, NO_ELEMENT,
     .out = {{"dforce_dq", SIZE_NV, SIZE_NV, false}, {"dforce_dv", SIZE_NV, SIZE_NV, false}}},
    {NAME(actuation_derivatives), .needs = BITS_DRIVE, NO_ELEMENT,
     .out = {{"dforce_dq", SIZE_NV, SIZE_NV, false},
             {"dforce_dv", SIZE_NV, SIZE_NV, false},
             {"dforce_dact", SIZE_NV, SIZE_NA, false},
             {"dforce_du", SIZE_NV, SIZE_NU, false},
             {"drate_dact", SIZE_NA, SIZE_1, false},
             {"drate_du", SIZE_NA, SIZE_1, false}}},
    {NAME(forward_dynamics_derivatives), .needs = BITS_QV, .takes = BIT(CALL_TAU), NO_ELEMENT,
     .out = {{"da_dq", SIZE_NV, SIZE_NV, false},
             {"da_dv", SIZE_NV, SIZE_NV, false},
             {"da_dtau", SIZE_NV, SIZE_NV, false}}},
    {NAME(rnea_vjp), .needs = BITS_QV | BIT(CALL_Y), .takes = BIT(CALL_A), NO_ELEMENT,
     .out = {{"gq", SIZE_NV, SIZE_1, false},
             {"gv", SIZE_NV, SIZE_1, false},
             {"ga", SIZE_NV, SIZE_1, false},
             {"gparams", SIZE_NPARAMS, SIZE_1, false}}},
    {NAME(passive_vjp), .needs = BITS_QV | BIT(CALL_Y), NO_ELEMENT,
     .out = {{"gq", SIZE_NV, SIZE_1, false}, {"gv", SIZE_NV, SIZE_1, false}, {"gparams", SIZE_NPARAMS, SIZE_1, false}}},
    {NAME(actuation_vjp), .needs = BITS_DRIVE | BIT(CALL_Y), .takes = BIT(CALL_Y_RATE), NO_ELEMENT,
     .out = {{"gq", SIZE_NV, SIZE_1, false},
             {"gv", SIZE_NV, SIZE_1, false},
             {"gact", SIZE_NA, SIZE_1, false},
             {"gu", SIZE_NU, SIZE_1, false},
             {"gparams", SIZE_NPARAMS, SIZE_1, false}}},
    {NAME(forward_dynamics_vjp), .needs = BITS_QV | BIT(CALL_Y), .takes = BIT(CALL_TAU), NO_ELEMENT,
     .out = {{"gq", SIZE_NV, SIZE_1, false},
             {"gv", SIZE_NV, SIZE_1, false},
             {"gtau", SIZE_NV, SIZE_1, false},
             {"gparams", SIZE_NPARAMS, SIZE_1, false}}},
    {NAME(rnea_param_derivatives), .needs = BITS_QV, .takes = BIT(CALL_A), NO_ELEMENT, .indexed = true,
     .out = {{"out", SIZE_NV, SIZE_N, true}}},
    {NAME(forward_dynamics_param_derivatives), .needs = BITS_QV, .takes = BIT(CALL_TAU), NO_ELEMENT, .indexed = true,
     .out = {{"out", SIZE_NV, SIZE_N, true}}},
    {NAME(passive_param_derivatives), .needs = BITS_QV, NO_ELEMENT, .indexed = true,
     .out = {{"out", SIZE_NV, SIZE_N, true}}},
    {NAME(actuation_param_derivatives), .needs = BITS_DRIVE, NO_ELEMENT, .indexed = true,
     .out = {{"out", SIZE_NV, SIZE_N, true}}},
};

const int dynamics_call_count = sizeof dynamics_calls / sizeof *dynamics_calls;

/* ---- sizes ---- */

const char *call_input_name(call_input input)
{
    static const char *const names[CALL_INPUTS] = {"q", "v", "a", "tau", "act", "u", "y", "y_rate", "point"};
    return names[input];
}

int call_input_size(const tg_model *m, call_input input)
{
    tg_sizes s = tg_model_sizes(m);
    const int sizes[CALL_INPUTS] = {s.nq, s.nv, s.nv, s.nv, s.na, s.nu, s.nv, s.na, 3};
    return sizes[input];
}

int call_element_count(const tg_model *m, const dynamics_call *call)
{
    tg_sizes s = tg_model_sizes(m);
    return call->element == TG_BODY ? s.nbody : call->element == TG_SITE ? s.nsite : s.ngeom;
}

static size_t size_of(const tg_model *m, call_size size, int n)
{
    tg_sizes s = tg_model_sizes(m);
    const int sizes[] = {0, 1, 3, 4, 6, s.nv, s.na, s.nu, s.nparams, 10 * s.nbody, n};
    return (size_t)sizes[size];
}

size_t call_output_size(const dynamics_call *call, const call_arguments *x, int output)
{
    const call_output *o = &call->out[output];
    return size_of(x->m, o->rows, x->n) * size_of(x->m, o->columns, x->n);
}

/* ---- arguments ---- */

call_arguments call_arguments_create(dynamics_case *c)
{
    enum
    {
        CHOSEN = 20
    };
    static const double point[3] = {0.1, -0.2, 0.3};
    int *index = calloc(CHOSEN, sizeof *index);
    for (int i = 0; i < CHOSEN; i++)
        index[i] = (int)((long)i * (c->size.nparams - 1) / (CHOSEN - 1));
    call_arguments x = {.m = c->m, .w = c->w, .frame = TG_FRAME_ALIGNED, .index = index, .n = CHOSEN};
    const double *in[CALL_INPUTS] = {c->q, c->v, c->a, c->a, c->act, c->u, c->y, c->y_rate, point};
    memcpy(x.in, in, sizeof in);
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        size_t most = 0;
        for (int k = 0; k < dynamics_call_count; k++)
        {
            size_t size = call_output_size(&dynamics_calls[k], &x, o);
            most = size > most ? size : most;
        }
        x.out[o] = calloc(most + 1, sizeof(double));
    }
    return x;
}

void call_arguments_destroy(call_arguments *x)
{
    for (int o = 0; o < CALL_OUTPUTS; o++)
        free(x->out[o]);
    free((void *)x->index);
}

void call_fill(const dynamics_call *call, const call_arguments *x, int byte)
{
    for (int o = 0; o < CALL_OUTPUTS; o++)
        if (x->out[o] != NULL)
            memset(x->out[o], byte, sizeof(double) * (call_output_size(call, x, o) + 1));
}

void call_run(const dynamics_call *call, const call_arguments *x)
{
    tg_status status = TG_OK;
    if (call->after_kinematics)
        status = tg_kinematics(x->m, x->w, x->in[CALL_Q], x->in[CALL_V]);
    if (status == TG_OK)
        status = call->run(x);
    if (status != TG_OK)
        fail_msg("%s: %s: %s", call->name, tg_status_string(status), tg_work_message(x->w));
}
