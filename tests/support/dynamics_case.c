#include "support/dynamics_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/numbers.h"

double test_uniform(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)(*state >> 8) / (double)(1u << 23) - 1;
}

/* Makes sure that every joint has every force, and that no parameter sits at the edge of its domain: a derivative of
 * nothing proves nothing, and there are no central differences at an edge. New value: keep * old + shift * random in
 * (0.2, 0.8). */
static void enliven(dynamics_case *c)
{
    static const struct
    {
        const char *pattern;
        double keep, shift;
    } changes[] = {
        {"joint.*.stiffness", 1, 1},
        {"joint.*.damping", 1, 1},
        {"joint.*.armature", 1, 1},
        {"tendon.*.stiffness", 1, 1},
        {"tendon.*.damping", 1, 1},
        {"tendon.*.rest[1]", 1, 0.1},
        {"*.frictionloss", 1, 1},
        {"*.restitution", 0, 1},
        {"*.compliance", 1, 1},
        {"*.kinetic", 0, 1},
        {"actuator.*.gain[0]", 1, 5},
        {"actuator.*.force_range[1]", 0, 1},
        {"joint.*.force_range[1]", 0, 0.1},
    };
    unsigned seed = 7;
    int *index = calloc((size_t)c->size.nparams + 1, sizeof(int));
    double *p = tg_params_data(c->params);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
    {
        int count = 0;
        if (tg_param_match(c->m, changes[i].pattern, index, c->size.nparams, &count, NULL) != TG_OK)
            continue;
        for (int k = 0; k < count; k++)
            p[index[k]] = changes[i].keep * p[index[k]] + changes[i].shift * (0.5 + 0.3 * test_uniform(&seed));
    }
    free(index);
    tg_error error = {0};
    if (tg_params_changed(c->params, &error) != TG_OK)
        fail_msg("%s", error.message);
}

dynamics_case *dynamics_case_create(const tg_model *m)
{
    dynamics_case *c = calloc(1, sizeof *c);
    c->m = m;
    c->size = tg_model_sizes(m);
    assert_int_equal(tg_params_create(m, &c->params, NULL), TG_OK);
    assert_int_equal(tg_work_create(m, &c->w, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(c->w, c->params), TG_OK);
    c->q = numbers(c->size.nq);
    c->v = numbers(c->size.nv);
    c->a = numbers(c->size.nv);
    c->y = numbers(c->size.nv);
    c->act = numbers(c->size.na);
    c->y_rate = numbers(c->size.na);
    c->u = numbers(c->size.nu);
    c->moved = numbers(c->size.nq + 3 * c->size.nv + c->size.na + c->size.nu);
    enliven(c);
    return c;
}

void dynamics_case_destroy(dynamics_case *c)
{
    tg_work_destroy(c->w);
    tg_params_destroy(c->params);
    double *arrays[] = {c->q, c->v, c->a, c->y, c->act, c->y_rate, c->u, c->moved};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        free(arrays[i]);
    free(c);
}

static void fill(double *x, int n, double scale, unsigned *seed)
{
    for (int i = 0; i < n; i++)
        x[i] = scale * test_uniform(seed);
}

void dynamics_case_randomise(dynamics_case *c, unsigned seed)
{
    assert_int_equal(tg_random_state(c->m, seed, c->q, c->v, NULL), TG_OK);
    unsigned state = seed * 2654435761u + 1;
    fill(c->a, c->size.nv, 3, &state);
    fill(c->y, c->size.nv, 1, &state);
    fill(c->act, c->size.na, 2, &state);
    fill(c->y_rate, c->size.na, 1, &state);
    fill(c->u, c->size.nu, 3, &state);
}

int dynamics_case_outputs(const dynamics_case *c, dynamics_function f)
{
    return f == CASE_ACTUATION_RATE ? c->size.na : c->size.nv;
}

int dynamics_case_inputs(const dynamics_case *c, dynamics_input i)
{
    int sizes[] = {c->size.nv, c->size.nv, c->size.nv, c->size.na, c->size.nu, c->size.nparams};
    return sizes[i];
}

static tg_status call(dynamics_case *c, const double *q, const double *v, const double *a, const double *act,
                      const double *u, double *out)
{
    switch (c->function)
    {
    case CASE_RNEA:
        return tg_rnea(c->m, c->w, q, v, a, out);
    case CASE_FORWARD:
        return tg_forward_dynamics(c->m, c->w, q, v, a, out);
    case CASE_PASSIVE:
        return tg_passive(c->m, c->w, q, v, out);
    case CASE_ACTUATION:
        return tg_actuation(c->m, c->w, q, v, act, u, out, NULL);
    default:
    {
        double *force = numbers(c->size.nv);
        tg_status status = tg_actuation(c->m, c->w, q, v, act, u, force, out);
        free(force);
        return status;
    }
    }
}

static void check(dynamics_case *c, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_work_message(c->w));
}

/* One number of a copy of an input, displaced. */
static const double *displaced(const double *x, int n, int at, double h, double *copy)
{
    memcpy(copy, x, sizeof(double) * (size_t)n);
    copy[at] += h;
    return copy;
}

static void evaluate_parameter(dynamics_case *c, int number, double h, double *out)
{
    double before = tg_params_view(c->params)[number];
    tg_params_data(c->params)[number] = before + h;
    if (tg_params_changed(c->params, NULL) == TG_OK)
        check(c, call(c, c->q, c->v, c->a, c->act, c->u, out));
    else
    {
        c->refused++;
        for (int i = 0; i < dynamics_case_outputs(c, c->function); i++)
            out[i] = NAN;
    }
    tg_params_data(c->params)[number] = before;
    assert_int_equal(tg_params_changed(c->params, NULL), TG_OK);
}

static void evaluate(void *context, int input, double h, double *out)
{
    dynamics_case *c = context;
    const double *q = c->q, *v = c->v, *a = c->a, *act = c->act, *u = c->u;
    if (input >= 0 && c->input == INPUT_PARAMS)
    {
        evaluate_parameter(c, c->index[input], h, out);
        return;
    }
    if (input >= 0 && c->input == INPUT_Q)
    {
        double *dv = c->moved + c->size.nq;
        memset(dv, 0, sizeof(double) * (size_t)c->size.nv);
        dv[input] = h;
        check(c, tg_integrate(c->m, c->q, dv, c->moved, NULL));
        q = c->moved;
    }
    else if (input >= 0 && c->input == INPUT_V)
        v = displaced(v, c->size.nv, input, h, c->moved);
    else if (input >= 0 && c->input == INPUT_A)
        a = displaced(a, c->size.nv, input, h, c->moved);
    else if (input >= 0 && c->input == INPUT_ACT)
        act = displaced(act, c->size.na, input, h, c->moved);
    else if (input >= 0 && c->input == INPUT_U)
        u = displaced(u, c->size.nu, input, h, c->moved);
    check(c, call(c, q, v, a, act, u, out));
}

fd_problem dynamics_case_problem(dynamics_case *c, dynamics_function f, dynamics_input i, const int *index, int nin)
{
    c->function = f;
    c->input = i;
    c->index = index;
    return (fd_problem){nin, dynamics_case_outputs(c, f), evaluate, c};
}
