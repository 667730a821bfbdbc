/* The law of an impact within the step, as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "contact/within.h"

static const tg_contact_settings settings = {.dt = 0.005, .push_speed = 0.05, .push_gain = 1, .within = true};

/* between 0 and 1 */
static double draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 9007199254740992.0;
}

/* gap at the end of the step, and speed there: those of the continuous motion */
static void test_parabola(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 1000; i++)
    {
        double dt = settings.dt, a = -20 * draw(&seed), start = -0.5 - 3 * draw(&seed), free = start + a * dt;
        double w = start + a * dt / 2, e = 0.3 + 0.7 * draw(&seed), share = draw(&seed);
        double phi = -(w * share * dt + a * share * dt * share * dt / 2), r = dt - share * dt;
        double u = -(w + a * share * dt);
        assert_true(tg_meets_within(&settings, phi, start, free));
        tg_within x = tg_within_of(&settings, phi, start, free, e);
        assert_true(fabs(phi + dt * x.placing - (e * u * r + a * r * r / 2)) < 1e-14);
        assert_true(fabs(x.speed - (e * u + a * r - a * dt / 2)) < 1e-12);
    }
}

/* Continuous in e, from 0 on, in the speed, from none at all on, and never an overlap. */
static void test_continuous(void **state)
{
    (void)state;
    const double dt = settings.dt, step = 1e-7;
    uint64_t seed = 2;
    for (int i = 0; i < 20000; i++)
    {
        double a = -20 * draw(&seed), start = -0.6 * draw(&seed), free = start + a * dt, e = draw(&seed);
        double phi = -draw(&seed) * dt * free;
        if (!tg_meets_within(&settings, phi, start, free))
            continue;
        tg_within x = tg_within_of(&settings, phi, start, free, e);
        tg_within more = tg_within_of(&settings, phi, start, free, fmin(e + step, 1));
        assert_true(fabs(x.speed - more.speed) < 100 * step && fabs(x.placing - more.placing) < 100 * step);
        assert_true(phi + dt * x.placing > -1e-15);
        tg_within other = tg_within_of(&settings, phi, start - step, free - step, e);
        assert_true(fabs(x.speed - other.speed) < 1e3 * step && fabs(x.placing - other.placing) < 1e3 * step);
        tg_within none = tg_within_of(&settings, phi, start, free, 0);
        assert_true(none.placing * dt + phi < 1e-15);
    }
    /* as slow as what rests: the law without impact */
    double a = -9.81, u = 9.81 * dt * (1 + 1e-9), phi = 1e-4, w = -sqrt(u * u + 2 * a * phi);
    tg_within x = tg_within_of(&settings, phi, w - a * dt / 2, w + a * dt / 2, 0.7);
    assert_true(fabs(x.speed + phi / dt) < 1e-8 && fabs(x.placing + phi / dt) < 1e-8);
}

static double value_of(const double x[5], bool placing)
{
    tg_contact_settings s = settings;
    s.dt = x[4];
    tg_within y = tg_within_of(&s, x[0], x[1], x[2], x[3]);
    return placing ? -y.placing : -y.speed;
}

/* slopes against central differences, in every branch */
static void test_slopes(void **state)
{
    (void)state;
    uint64_t seed = 3;
    int met[8] = {0};
    for (int i = 0; i < 4000; i++)
    {
        double dt = settings.dt, a = 30 * draw(&seed) - 25, start = -1.5 * draw(&seed);
        double x[5] = {0, start, start + a * dt, draw(&seed) * draw(&seed), dt};
        x[0] = (1.2 * draw(&seed) - 0.2) * -dt * x[2];
        if (x[2] >= 0 || !tg_meets_within(&settings, x[0], x[1], x[2]))
            continue;
        tg_within y = tg_within_of(&settings, x[0], x[1], x[2], x[3]);
        if (y.margin < 1e-3)
            continue;
        met[y.regime - 1]++;
        for (int placing = 0; placing < 2; placing++)
        {
            tg_bias_slope b = placing ? y.of_placing : y.of_speed;
            const double slope[5] = {b.gap, b.start, b.free, b.restitution, b.dt};
            static const double h[5] = {1e-8, 1e-6, 1e-6, 1e-6, 1e-9};
            for (int k = 0; k < 5; k++)
            {
                double up[5], down[5];
                for (int j = 0; j < 5; j++)
                    up[j] = down[j] = x[j];
                up[k] += h[k];
                down[k] -= h[k];
                double difference = (value_of(up, placing) - value_of(down, placing)) / (2 * h[k]);
                if (!(fabs(difference - slope[k]) < 1e-4 * fmax(1, fabs(slope[k]))))
                    fail_msg("slope %d of %s: %.12g, differences %.12g (branch %d)", k, placing ? "placing" : "speed",
                             slope[k], difference, y.regime);
            }
        }
    }
    for (int i = 4; i < 8; i++)
        if (met[i] < 10)
            fail_msg("branch %d was met %d times", i + 1, met[i]);
}

/* Overlaps meet at the start of the step, gaps after it: the slopes by the gap of both sides differ, and the margin
 * says how far the other one is. */
static void test_gap_of_zero(void **state)
{
    (void)state;
    const double gap = 1e-12, start = -0.5, free = -0.6, e = 0.5;
    tg_within open = tg_within_of(&settings, gap, start, free, e);
    tg_within closed = tg_within_of(&settings, 0, start, free, e);
    assert_true(fabs(open.of_placing.gap - closed.of_placing.gap) > 1);
    assert_true(open.margin > 0 && open.margin <= 1.01 * gap / settings.dt);
    assert_true(closed.margin == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parabola),
        cmocka_unit_test(test_continuous),
        cmocka_unit_test(test_slopes),
        cmocka_unit_test(test_gap_of_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
