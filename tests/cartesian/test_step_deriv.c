/* Derivatives of steps of Cartesian systems: differences, forward against reverse; four contacts at once, friction, limits, both forms. */
#include <setjmp.h>
#include <stdarg.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(lagrangian), cmocka_unit_test(hamiltonian)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
