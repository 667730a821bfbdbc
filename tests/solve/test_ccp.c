/* The convex contact law: closed forms, random problems against their optimality conditions, redundancy, refusals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "solve/ccp_test.h"

static double speed_after(double m, double u, double e, double eps, double target)
{
    ccp_case *k = ccp_new(1, 1);
    k->G[0] = 1 / m;
    k->g[0] = -u;
    k->cone[0] = (tg_ccp_cone){.rows = 1, .e = e};
    k->target[0] = target;
    k->p.eps = eps;
    assert_int_equal(ccp_solve(k), TG_OK);
    double sigma = k->c.sigma[0];
    ccp_free(k);
    return sigma;
}

static void one_frictionless_contact(void **state)
{
    (void)state;
    assert_true(fabs(speed_after(0.3, 2, 0.6, 0, 0) - 1.2) < 1e-10);
    assert_true(fabs(speed_after(0.3, 2, 0.6, 0, 1.5) - 1.5) < 1e-10); /* max(e u, v*) */
    assert_true(fabs(speed_after(0.3, 2, 0.6, 0, 1.1) - 1.2) < 1e-10);
    double a = 1 / 0.3;
    assert_true(fabs(speed_after(0.3, 2, 0.6, 0.01, 0) - 2 * (a * 0.6 - 0.01) / (a + 0.01)) < 1e-10);
    assert_true(fabs(speed_after(0.3, 2, 0.6, 0.01, 0) - 1.1904287138) < 1e-10);
    assert_true(fabs(speed_after(0.3, -2, 0.6, 0, 0) - 2) < 1e-12); /* separates */
}

/* A rod of mass 1 and half-length 1 at 45 degrees whose tip moves with v: G and g of its tip. */
static ccp_case *rod(double side, double vx, double vy, double mu, double e)
{
    ccp_case *k = ccp_new(1, 2);
    double r[2] = {side * sqrt(0.5), -sqrt(0.5)}, inertia = 1.0 / 3;
    double n[2] = {-r[1] * 0 + r[0] * 1, 0}; /* moment of the normal (0, 1) and of the tangent (1, 0) */
    n[1] = -r[1];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            k->G[2 * i + j] = (i == j) + n[i] * n[j] / inertia;
    k->g[0] = vy;
    k->g[1] = vx;
    k->cone[0] = (tg_ccp_cone){.rows = 2, .mu = {mu}, .e = e};
    return k;
}

/* change of the kinetic energy over that of a rod that translates with (0.5, -1) */
static double energy_change(const ccp_case *k)
{
    double work = 0;
    for (int i = 0; i < 2; i++)
        work += k->c.f[i] * 0.5 * (k->g[i] + k->c.sigma[i]);
    return work / (0.5 * (0.25 + 1));
}

static void rod_loses_energy(void **state)
{
    (void)state;
    ccp_case *k = rod(-1, 0.5, -1, 0.5, 1);
    assert_int_equal(ccp_solve(k), TG_OK);
    double t = k->c.f[1], n = k->c.f[0], energy = energy_change(k);
    ccp_free(k);
    k = rod(1, 0.5, -1, 0.5, 1);
    assert_int_equal(ccp_solve(k), TG_OK);
    double t2 = k->c.f[1], n2 = k->c.f[0], energy2 = energy_change(k);
    ccp_free(k);
    bool first_is_plain = fabs(t - 0.28125) < 1e-3;
    assert_true(fabs((first_is_plain ? t : t2) - 0.28125) < 1e-10);
    assert_true(fabs((first_is_plain ? n : n2) - 0.875) < 1e-10);
    assert_true(fabs((first_is_plain ? energy : energy2) + 0.0762) < 5e-5);
    assert_true(fabs((first_is_plain ? t2 : t) + 0.769230769) < 1e-8);
    assert_true(fabs((first_is_plain ? n2 : n) - 1.538461538) < 1e-8);
    assert_true(fabs(first_is_plain ? energy2 : energy) < 1e-9);
}

/* Optimality of both phases from the problem and f alone. */
static void random_problems(void **state)
{
    (void)state;
    double worst[2] = {0};
    int interior = 0, redundant = 0, unsolved = 0, modes[3][2] = {{0}};
    for (unsigned seed = 1; seed <= 3000; seed++)
    {
        ccp_case *k = ccp_random(seed);
        bool solved = ccp_solve(k) == TG_OK;
        unsolved += !solved;
        for (int phase = 0; solved && phase < 2; phase++)
        {
            bool shared = k->c.phase[phase].redundant;
            worst[shared] = fmax(worst[shared], ccp_optimality(k, phase));
            redundant += shared;
            interior += k->c.phase[phase].interior > 0;
            for (int i = 0; i < k->p.cones; i++)
                modes[k->c.phase[phase].mode[i].normal][k->c.phase[phase].mode[i].slides]++;
        }
        ccp_free(k);
    }
    print_message(
        "%d unsolved; residual %.2g, of %d redundant phases %.2g; by interior point %d; open %d, clamped %d + %d, "
        "closed %d + %d\n",
        unsolved, worst[0], redundant, worst[1], interior, modes[0][0], modes[1][0], modes[1][1], modes[2][0],
        modes[2][1]);
    assert_true(interior > 0 && redundant > 100);
    assert_true(worst[0] < 1e-10);
    assert_true(unsolved <= 3);
    assert_true(worst[1] < 1e-8); /* masses differ by 1e4 and rows depend on each other */
    for (int i = 1; i < 3; i++)
        assert_true(modes[i][0] > 0 && modes[i][1] > 0);
}

/* The unit of mass, of length and of time do not matter. */
static void units_do_not_matter(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 50; seed++)
    {
        ccp_case *k = ccp_random(seed);
        int n = k->p.rows;
        double f[CCP_MOST], largest = 0;
        if (n > CCP_MOST || ccp_solve(k) != TG_OK || k->c.phase[0].redundant || k->c.phase[1].redundant)
        {
            ccp_free(k);
            continue;
        }
        memcpy(f, k->c.f, sizeof *f * (size_t)n);
        for (int i = 0; i < n * n; i++)
            k->G[i] *= 0x1p24; /* powers of 4: scaling is exact, so nothing but units changes */
        for (int i = 0; i < n; i++)
        {
            k->g[i] *= 0x1p-16;
            k->target[i] *= 0x1p-16;
            largest = fmax(largest, fabs(f[i]));
        }
        k->p.eps *= 0x1p24;
        assert_int_equal(ccp_solve(k), TG_OK);
        for (int i = 0; i < n; i++)
            assert_true(fabs(k->c.f[i] * 0x1p40 - f[i]) <= 1e-12 * largest);
        ccp_free(k);
    }
}

/* A ball in a corner, both walls sticking: 4 rows on 2 dofs. The velocity is 0, the load is shared by least norm. */
static void redundant_rows_share(void **state)
{
    (void)state;
    ccp_case *k = ccp_new(2, 4);
    double J[4][2] = {{1, 0}, {0, 1}, {0, 1}, {1, 0}}, v[2] = {-1, -1};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            k->G[4 * i + j] = J[i][0] * J[j][0] + J[i][1] * J[j][1];
    for (int i = 0; i < 4; i++)
        k->g[i] = J[i][0] * v[0] + J[i][1] * v[1];
    for (int i = 0; i < 2; i++)
        k->cone[i] = (tg_ccp_cone){.row = 2 * i, .rows = 2, .mu = {2}};
    assert_int_equal(ccp_solve(k), TG_OK);
    assert_true(k->c.phase[0].redundant);
    for (int i = 0; i < 4; i++)
    {
        assert_true(fabs(k->c.sigma[i]) < 1e-9);
        assert_true(fabs(k->c.f[i] - 0.5) < 1e-4); /* rounding over the ridge */
    }
    ccp_free(k);
}

/* The rim of a gyroscope on its wall: nothing moves along the line through its pivot, and the impulses that stop the
 * contact are a line that touches the cone. */
static void rim_that_all_but_sticks(void **state)
{
    (void)state;
    static const double G[9] = {4.330238825519246,   -1.5589660894500437, -2.571555274968836,
                                -1.5589660894500437, 5.414825070819704,   -1.97774876066679,
                                -2.571555274968836,  -1.97774876066679,   3.2641416348655516};
    static const double g[3] = {-1.5659457901923082, 0.7055533735640973, 0.8451328797793364};
    ccp_case *k = ccp_new(1, 3);
    memcpy(k->G, G, sizeof G);
    memcpy(k->g, g, sizeof g);
    k->cone[0] = (tg_ccp_cone){.rows = 3, .mu = {0.1, 0.1}, .e = 0.8};
    assert_int_equal(ccp_solve(k), TG_OK);
    for (int phase = 0; phase < 2; phase++)
        assert_true(k->c.phase[phase].residual < 1e-12);
    ccp_free(k);
}

static void refusals(void **state)
{
    (void)state;
    ccp_case *k = ccp_new(2, 2);
    for (int i = 0; i < 2; i++)
        k->cone[i] = (tg_ccp_cone){.row = i, .rows = 1}, k->G[3 * i] = 1, k->g[i] = -1;
    k->cone[1].e = -0.5;
    assert_int_equal(ccp_solve(k), TG_ERR_VALUE);
    assert_non_null(strstr(k->error.message, "cone 1: e is -0.5"));
    k->cone[1].e = 0;
    k->g[1] = NAN;
    assert_int_equal(ccp_solve(k), TG_ERR_VALUE);
    assert_non_null(strstr(k->error.message, "row 1"));
    k->g[1] = 0;
    k->p.eps = -1;
    assert_int_equal(ccp_solve(k), TG_ERR_VALUE);
    k->p.eps = 0;
    k->c.room = 1;
    assert_int_equal(ccp_solve(k), TG_ERR_CAPACITY);
    ccp_free(k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_frictionless_contact), cmocka_unit_test(rod_loses_energy),
        cmocka_unit_test(random_problems),          cmocka_unit_test(units_do_not_matter),
        cmocka_unit_test(redundant_rows_share),     cmocka_unit_test(refusals),
        cmocka_unit_test(rim_that_all_but_sticks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
