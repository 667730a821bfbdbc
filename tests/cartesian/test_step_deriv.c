/* Derivatives of steps of Cartesian systems: differences, forward against reverse; four contacts at once, friction,
 * limits, both forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cartesian/cartesian_test.h"

enum
{
    N = 14,
    MOST_PARAMS = 16,
    STEPS = 3,
    STATE = 2 * N * (STEPS + 1)
};

static double uniform(unsigned long long *r)
{
    *r = *r * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*r >> 11) / 4503599627370496.0 - 1;
}

static void roll(const fixture *f, const double *dx, const double *dv, const double *dp, double t, double *states)
{
    double x[N], v[N], p[MOST_PARAMS];
    for (int i = 0; i < N; i++)
    {
        x[i] = f->x[i] + t * dx[i];
        v[i] = f->v[i] + t * dv[i];
    }
    for (int i = 0; i < f->size.params; i++)
        p[i] = tg_cartesian_params(f->c)[i] + t * dp[i];
    assert_int_equal(tg_cartesian_rollout(f->w, 1, STEPS, p, x, v, states, NULL, NULL), TG_OK);
}

static void compare(double mu, double e, double eps, int hamiltonian)
{
    static double plus[STATE], minus[STATE], wide[2][STATE], states[STATE], change[STATE], bar[STATE];
    fixture f = three_bodies(mu, e, eps, hamiltonian);
    int P = f.size.params;
    double x_bar[N], v_bar[N], p_bar[MOST_PARAMS], worst = 0, size = 0;
    for (unsigned seed = 1; seed <= 20; seed++)
    {
        unsigned long long r = seed;
        double dx[N], dv[N], dp[MOST_PARAMS] = {0}, forward = 0, reverse = 0, h = 1e-6;
        for (int i = 0; i < N; i++)
            dx[i] = 0.1 * uniform(&r), dv[i] = uniform(&r);
        for (int i = 0; i < P; i++)
            dp[i] = 0.3 * tg_cartesian_params(f.c)[i] * uniform(&r);
        roll(&f, dx, dv, dp, 0, states);
        roll(&f, dx, dv, dp, h, plus);
        roll(&f, dx, dv, dp, -h, minus);
        roll(&f, dx, dv, dp, 2 * h, wide[0]);
        roll(&f, dx, dv, dp, -2 * h, wide[1]);
        memset(change, 0xff, sizeof change);
        assert_int_equal(tg_cartesian_rollout_jvp(f.w, 1, STEPS, NULL, states, dx, dv, dp, change), TG_OK);
        for (int i = 0; i < STATE; i++)
        {
            double difference = (8 * (plus[i] - minus[i]) - (wide[0][i] - wide[1][i])) / (12 * h);
            worst = fmax(worst, fabs(difference - change[i]));
            size = fmax(size, fabs(difference));
            bar[i] = uniform(&r);
            forward += bar[i] * change[i];
        }
        assert_int_equal(tg_cartesian_rollout_vjp(f.w, 1, STEPS, NULL, states, bar, x_bar, v_bar, p_bar), TG_OK);
        for (int i = 0; i < N; i++)
            reverse += x_bar[i] * dx[i] + v_bar[i] * dv[i];
        for (int i = 0; i < P; i++)
            reverse += p_bar[i] * dp[i];
        assert_true(fabs(forward) > 1e-3);
        assert_true(fabs(forward - reverse) < 1e-10 * (1 + fabs(forward)));
    }
    print_message("mu %g e %g eps %g: %.1e of %.1e\n", mu, e, eps, worst, size);
    assert_true(worst < 1e-6 * size);
    free_fixture(&f);
}

static void lagrangian(void **state)
{
    (void)state;
    compare(0.5, 0.6, 0, 0);  /* slides and sticks */
    compare(3, 0.6, 0, 0);    /* sticks */
    compare(0.05, 0.3, 0, 0); /* slides */
    compare(0.5, 0.6, 0.01, 0);
    compare(0, 1, 0, 0);
}

static void hamiltonian(void **state)
{
    (void)state;
    compare(0.5, 0.6, 0, 1);
    compare(0.05, 0.3, 0.01, 1);
}

/* bar . (xdot, pdot) of the Hamiltonian flow under a force, moved by t along d (x, p, force, params) */
static double flow(const fixture *f, double given[3][N], double d[3][N], const double *dp, double t, double bar[2][N],
                   bool gravity)
{
    double at[3][N], params[MOST_PARAMS], rate[2][N], sum = 0;
    for (int i = 0; i < 3 * N; i++)
        at[i / N][i % N] = given[i / N][i % N] + t * d[i / N][i % N];
    for (int i = 0; i < f->size.params; i++)
        params[i] = tg_cartesian_params(f->c)[i] + t * dp[i];
    assert_int_equal(tg_cartesian_hamiltonian(f->w, 1, params, at[0], at[1], gravity ? NULL : at[2], rate[0], rate[1]),
                     TG_OK);
    for (int i = 0; i < 2 * N; i++)
        sum += bar[i / N][i % N] * rate[i / N][i % N];
    return sum;
}

static void hamiltonian_flow(void **state)
{
    (void)state;
    fixture f = three_bodies(0.5, 0.6, 0, 1);
    double worst = 0, size = 0;
    for (unsigned seed = 1; seed <= 100; seed++)
    {
        unsigned long long r = seed;
        bool gravity = seed % 2 == 0;
        double at[3][N], d[3][N], bar[2][N], dp[MOST_PARAMS] = {0}, back[3][N] = {{0}}, p_bar[MOST_PARAMS], sum = 0;
        double h = 1e-4, value[4];
        for (int i = 0; i < N; i++)
        {
            at[0][i] = f.x[i];
            at[1][i] = uniform(&r);
            at[2][i] = 3 * uniform(&r);
            for (int k = 0; k < 3; k++)
                d[k][i] = uniform(&r);
            bar[0][i] = uniform(&r);
            bar[1][i] = uniform(&r);
        }
        for (int i = 0; i < f.size.params; i++)
            dp[i] = 0.3 * tg_cartesian_params(f.c)[i] * uniform(&r);
        for (int k = 0; k < 4; k++)
            value[k] = flow(&f, at, d, dp, h * (double[]){1, -1, 2, -2}[k], bar, gravity);
        double difference = (8 * (value[0] - value[1]) - (value[2] - value[3])) / (12 * h);
        assert_int_equal(tg_cartesian_hamiltonian_vjp(f.w, 1, NULL, at[0], at[1], gravity ? NULL : at[2], bar[0],
                                                      bar[1], back[0], back[1], gravity ? NULL : back[2], p_bar),
                         TG_OK);
        for (int i = 0; i < 3 * N; i++)
            sum += back[i / N][i % N] * d[i / N][i % N];
        for (int i = 0; i < f.size.params; i++)
            sum += p_bar[i] * dp[i];
        worst = fmax(worst, fabs(sum - difference));
        size = fmax(size, fabs(difference));
    }
    print_message("flow: %.1e of %.1e\n", worst, size);
    assert_true(size > 1 && worst < 1e-8 * size);
    double bad[N] = {0}, rate[2][N];
    bad[3] = NAN;
    assert_int_equal(tg_cartesian_hamiltonian(f.w, 1, NULL, f.x, bad, NULL, rate[0], rate[1]), TG_ERR_VALUE);
    assert_non_null(strstr(tg_cartesian_message(f.w), "of p ("));
    free_fixture(&f);
}

/* A ball that sticks in a corner: two contacts, four rows, two ways to move. Beside one wall no row is redundant. */
static void redundant_rows_are_counted(void **state)
{
    (void)state;
    tg_cartesian_body body = {1, 0.2, {0}};
    tg_cartesian_contact wall[2] = {{.kind = TG_CARTESIAN_WALL, .radius = 0.1, .normal = {1, 0}},
                                    {.kind = TG_CARTESIAN_WALL, .radius = 0.1, .normal = {0, 1}}};
    double mu = 1.5, e = 0.5, bar[3][2] = {{1, 2}, {3, 4}, {5, 6}}, x_bar[6], v_bar[6], p_bar[3 * 6];
    double x[3][2] = {{0.09, 0.09}, {0.09, 0.5}, {0.09, 0.08}}, v[3][2] = {{-1, -0.8}, {-1, -0.8}, {-0.5, -0.6}};
    tg_cartesian_def def = {.name = "corner", .dim = 2, .bodies = 1, .contacts = 2, .types = 1, .body = &body};
    def.contact = wall;
    def.mu = &mu;
    def.e = &e;
    fixture f = {0};
    tg_cartesian_options options = tg_cartesian_default_options();
    options.threads = 2;
    finish_fixture(&f, &def, options);
    assert_int_equal(f.size.params, 6);
    assert_int_equal(tg_cartesian_regularised(f.w), 0);
    assert_int_equal(tg_cartesian_jump_vjp(f.w, 3, NULL, x[0], v[0], bar[0], x_bar, v_bar, p_bar), TG_OK);
    assert_int_equal(tg_cartesian_regularised(f.w), 2);
    assert_int_equal(tg_cartesian_jump_vjp(f.w, 1, NULL, x[1], v[1], bar[1], x_bar, v_bar, p_bar), TG_OK);
    assert_int_equal(tg_cartesian_regularised(f.w), 0);
    assert_int_equal(tg_cartesian_regularised(NULL), 0);
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lagrangian), cmocka_unit_test(hamiltonian),
                                       cmocka_unit_test(hamiltonian_flow),
                                       cmocka_unit_test(redundant_rows_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
