/* The quadratic cost of a rollout against central differences. */
#include "flight.h"

enum
{
    STEPS = 3
};

typedef struct costs
{
    tg_model *m;
    tg_sizes n;
    tg_quadratic_cost cost;
    double *q, *v, *u, *scratch;
} costs;

static double *random_numbers(int n, double size)
{
    double *x = malloc(sizeof(double) * (size_t)(n > 0 ? n : 1));
    assert_non_null(x);
    for (int i = 0; i < n; i++)
        x[i] = size * sin(1.7 * i + 0.3);
    return x;
}

static double value_of(const costs *c, tg_trajectory *gradient, double *gu)
{
    double value;
    tg_error error;
    tg_trajectory states = {.q = c->q, .v = c->v};
    tg_controls controls = {.steps = STEPS, .u = c->u};
    if (tg_rollout_cost(c->m, &c->cost, &states, &controls, c->scratch, &value, gradient, gu, &error) != TG_OK)
        fail_msg("%s", error.message);
    return value;
}

static double central(const costs *c, double *x, double h)
{
    double keep = *x, f[2];
    for (int i = 0; i < 2; i++)
    {
        *x = keep + (i == 0 ? h : -h);
        f[i] = value_of(c, NULL, NULL);
    }
    *x = keep;
    return (f[0] - f[1]) / (2 * h);
}

/* the derivative along a tangent unit vector of one configuration */
static double central_q(const costs *c, int row, int dof, double h)
{
    double *q = c->q + row * c->n.nq, *keep = random_numbers(c->n.nq, 0), *d = random_numbers(c->n.nv, 0), f[2];
    memcpy(keep, q, sizeof(double) * (size_t)c->n.nq);
    for (int i = 0; i < 2; i++)
    {
        d[dof] = i == 0 ? h : -h;
        assert_int_equal(tg_integrate(c->m, keep, d, q, NULL), TG_OK);
        f[i] = value_of(c, NULL, NULL);
    }
    memcpy(q, keep, sizeof(double) * (size_t)c->n.nq);
    free(keep);
    free(d);
    return (f[0] - f[1]) / (2 * h);
}

static void test_gradient(void **state)
{
    (void)state;
    sim *s = open_file("models/quadruped.xml");
    costs c = {.m = s->m, .n = s->n};
    int nq = s->n.nq, nv = s->n.nv, nu = s->n.nu, rows = STEPS + 1;
    double *reference = random_numbers(nq, 0), *weight[5], *g[3];
    for (int i = 0; i < 5; i++)
    {
        weight[i] = random_numbers(nv > nu ? nv : nu, 1);
        for (int k = 0; k < (nv > nu ? nv : nu); k++)
            weight[i][k] = 1.5 + weight[i][k] + i;
    }
    c.q = random_numbers(rows * nq, 0);
    c.v = random_numbers(rows * nv, 1);
    c.u = random_numbers(STEPS * nu, 1);
    c.scratch = random_numbers(nv, 0);
    assert_int_equal(tg_random_state(s->m, 9, reference, NULL, NULL), TG_OK);
    for (int t = 0; t < rows; t++)
        assert_int_equal(tg_random_state(s->m, (uint64_t)t, c.q + t * nq, NULL, NULL), TG_OK);
    c.cost = (tg_quadratic_cost){.q = reference,
                                 .weight_q = weight[0],
                                 .weight_v = weight[1],
                                 .weight_u = weight[2],
                                 .last_q = weight[3],
                                 .last_v = weight[4]};
    g[0] = random_numbers(rows * nv, 0);
    g[1] = random_numbers(rows * nv, 0);
    g[2] = random_numbers(STEPS * nu, 0);
    assert_true(value_of(&c, &(tg_trajectory){.q = g[0], .v = g[1]}, g[2]) > 1);
    for (int t = 0; t < rows; t++)
        for (int k = 0; k < nv; k++)
        {
            check_near("d cost / d q", central_q(&c, t, k, 1e-6), g[0][t * nv + k], 1e-6);
            check_near("d cost / d v", central(&c, &c.v[t * nv + k], 1e-6), g[1][t * nv + k], 1e-6);
            assert_true(g[0][t * nv + k] != 0 && g[1][t * nv + k] != 0);
        }
    for (int i = 0; i < STEPS * nu; i++)
        check_near("d cost / d u", central(&c, &c.u[i], 1e-6), g[2][i], 1e-6);
    for (int i = 0; i < 5; i++)
        free(weight[i]);
    for (int i = 0; i < 3; i++)
        free(g[i]);
    free(reference);
    free(c.q);
    free(c.v);
    free(c.u);
    free(c.scratch);
    sim_close(s);
}

static void refuse(const char *expected, const tg_quadratic_cost *cost, const tg_trajectory *states, int steps)
{
    sim *s = open_file("models/pendulum.xml");
    tg_error error;
    double scratch[8], value;
    assert_int_not_equal(
        tg_rollout_cost(s->m, cost, states, &(tg_controls){.steps = steps}, scratch, &value, NULL, NULL, &error),
        TG_OK);
    if (strstr(error.message, expected) == NULL)
        fail_msg("the message does not name %s: %s", expected, error.message);
    sim_close(s);
}

static void test_refusals(void **state)
{
    (void)state;
    double x[8] = {0};
    refuse("cost", NULL, &(tg_trajectory){.q = x}, 1);
    refuse("states", &(tg_quadratic_cost){.q = x}, NULL, 1);
    refuse("steps is 0", &(tg_quadratic_cost){.q = x}, &(tg_trajectory){.q = x}, 0);
    refuse("cost.q", &(tg_quadratic_cost){.weight_q = x}, &(tg_trajectory){.q = x}, 1);
    refuse("states.v", &(tg_quadratic_cost){.last_v = x}, &(tg_trajectory){.q = x}, 1);
    refuse("controls.u", &(tg_quadratic_cost){.weight_u = x}, &(tg_trajectory){.q = x}, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gradient), cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
