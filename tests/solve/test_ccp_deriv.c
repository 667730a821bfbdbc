/* Derivatives of the convex contact law: against Richardson's differences, forward against reverse, in every mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solve/ccp_test.h"

typedef struct direction
{
    double G[CCP_MOST * CCP_MOST], g[CCP_MOST], target[CCP_MOST], mu[CCP_MOST], e[CCP_MOST], eps;
} direction;

/* G stays of low rank: it changes to (I + t S) G (I + t S)^T */
static void random_direction(const ccp_case *k, unsigned seed, direction *d)
{
    unsigned long long r = seed * 31ULL + 7;
    int n = k->p.rows;
    double S[CCP_MOST];
    memset(d, 0, sizeof *d);
    for (int i = 0; i < n; i++)
    {
        S[i] = 0.3 * ccp_normal(&r);
        d->target[i] = ccp_normal(&r);
    }
    for (int i = 0; i < n; i++)
    {
        d->g[i] = S[i] * k->g[i];
        for (int j = 0; j < n; j++)
        {
            d->G[i * n + j] = (S[i] + S[j]) * k->G[i * n + j];
            d->g[i] += 0.2 * k->G[i * n + j] * ccp_normal(&r);
        }
    }
    for (int i = 0; i < k->p.cones; i++)
    {
        d->mu[i] = ccp_normal(&r);
        d->e[i] = ccp_normal(&r);
    }
    d->eps = k->p.eps > 0 ? 0.1 * ccp_normal(&r) : 0;
}

/* Solves at t along the direction; false when a mode differs from those of `kept`. */
static bool impulse_at(const ccp_case *k, const direction *d, double t, ccp_case *moved)
{
    int n = k->p.rows;
    for (int i = 0; i < n * n; i++)
        moved->G[i] = k->G[i] + t * d->G[i];
    for (int i = 0; i < n; i++)
    {
        moved->g[i] = k->g[i] + t * d->g[i];
        moved->target[i] = k->target[i] + t * d->target[i];
    }
    for (int i = 0; i < k->p.cones; i++)
    {
        moved->cone[i] = k->cone[i];
        moved->cone[i].e += t * d->e[i];
        for (int a = 0; a + 1 < k->cone[i].rows; a++)
            moved->cone[i].mu[a] += t * d->mu[i];
    }
    moved->p.eps = k->p.eps + t * d->eps;
    if (ccp_solve(moved) != TG_OK)
        return false;
    for (int phase = 0; phase < 2; phase++)
    {
        if (moved->c.phase[phase].redundant)
            return false;
        for (int i = 0; i < k->p.cones; i++)
        {
            tg_ccp_mode a = k->c.phase[phase].mode[i], b = moved->c.phase[phase].mode[i];
            if (a.normal != b.normal || a.slides != b.slides)
                return false;
        }
    }
    return true;
}

/* Central differences of fourth order with step h; false when a mode changes within. */
static bool differences(const ccp_case *k, const direction *d, double h, double *df)
{
    const double steps[] = {-2, -1, 1, 2}, weight[] = {1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12};
    bool good = true;
    memset(df, 0, sizeof *df * CCP_MOST);
    ccp_case *moved = ccp_new(k->p.cones, k->p.rows);
    for (int s = 0; s < 4 && good; s++)
    {
        good = impulse_at(k, d, h * steps[s], moved);
        for (int i = 0; i < k->p.rows; i++)
            df[i] += weight[s] / h * moved->c.f[i];
    }
    ccp_free(moved);
    return good;
}

static double largest(int n, const double *v)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(v[i]));
    return most;
}

static double distance(int n, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* Differences that two steps agree on. */
static bool resolved(const ccp_case *k, const direction *d, double *df)
{
    double coarse[CCP_MOST];
    int n = k->p.rows;
    return differences(k, d, 4e-5, coarse) && differences(k, d, 1e-5, df) && largest(n, df) > 0 &&
           distance(n, df, coarse) < 3e-7 * largest(n, df);
}

static void forward(ccp_case *k, const direction *d, double *df)
{
    double Gc[CCP_MOST] = {0}, Gr[CCP_MOST] = {0};
    int n = k->p.rows;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            Gc[i] += d->G[i * n + j] * k->c.phase[0].f[j];
            Gr[i] += d->G[i * n + j] * k->c.phase[1].f[j];
        }
    tg_ccp_change change = {.Gc = Gc, .Gr = Gr, .g = d->g, .target = d->target, .mu = d->mu, .e = d->e, .eps = d->eps};
    tg_ccp_jvp(&k->c, &k->p, &change, df);
}

static double reverse(ccp_case *k, const direction *d, const double *f_bar)
{
    double yc[CCP_MOST], yr[CCP_MOST], mu[CCP_MOST], e[CCP_MOST], eps, sum = 0;
    int n = k->p.rows;
    tg_ccp_vjp(&k->c, &k->p, f_bar, yc, yr, mu, e, &eps);
    for (int i = 0; i < n; i++)
    {
        double c = d->g[i], r = d->g[i] - d->target[i];
        for (int j = 0; j < n; j++)
        {
            c += d->G[i * n + j] * k->c.phase[0].f[j];
            r += d->G[i * n + j] * k->c.f[j];
        }
        sum -= yc[i] * c + yr[i] * r;
    }
    for (int i = 0; i < k->p.cones; i++)
        sum += mu[i] * d->mu[i] + e[i] * d->e[i];
    return sum + eps * d->eps;
}

static void against_differences(void **state)
{
    (void)state;
    double worst = 0, duality = 0;
    int compared = 0, modes[3][2] = {{0}};
    for (unsigned seed = 1; seed <= 1500; seed++)
    {
        ccp_case *k = ccp_random(seed);
        direction d;
        double df[CCP_MOST], exact[CCP_MOST], f_bar[CCP_MOST], product = 0;
        unsigned long long r = seed;
        int n = k->p.rows;
        assert_int_equal(ccp_solve(k), TG_OK);
        if (!k->c.phase[0].redundant && !k->c.phase[1].redundant)
        {
            random_direction(k, seed, &d);
            forward(k, &d, exact);
            for (int i = 0; i < n; i++)
            {
                f_bar[i] = ccp_normal(&r);
                product += f_bar[i] * exact[i];
            }
            duality = fmax(duality, fabs(product - reverse(k, &d, f_bar)) / (1e-300 + largest(n, exact) * n));
            if (resolved(k, &d, df))
            {
                worst = fmax(worst, distance(n, df, exact) / largest(n, df));
                compared++;
                for (int phase = 0; phase < 2; phase++)
                    for (int i = 0; i < k->p.cones; i++)
                        modes[k->c.phase[phase].mode[i].normal][k->c.phase[phase].mode[i].slides]++;
            }
        }
        ccp_free(k);
    }
    print_message("%d compared, worst %.2g, forward - reverse %.2g; clamped %d + %d, closed %d + %d\n", compared, worst,
                  duality, modes[1][0], modes[1][1], modes[2][0], modes[2][1]);
    assert_true(compared > 300);
    assert_true(worst < 1e-6);
    assert_true(duality < 1e-10);
    for (int i = 1; i < 3; i++)
        assert_true(modes[i][0] > 100 && modes[i][1] > 100);
}

/* The same contact twice, at rest rows that depend on each other: forward and reverse agree, and a change of g that the
 * rows cannot follow (rounding of a state has one) does not move the impulse by its inverse. */
static void redundant_rows(void **state)
{
    (void)state;
    int seen = 0;
    double duality = 0, most = 0;
    for (unsigned seed = 1; seed <= 400; seed++)
    {
        ccp_case *k = ccp_new(2, 6);
        unsigned long long r = seed;
        double B[3][3], mass = 0.5 + ccp_uniform(&r), exact[CCP_MOST], f_bar[CCP_MOST], product = 0;
        direction d = {0};
        for (int i = 0; i < 9; i++)
            B[i / 3][i % 3] = ccp_normal(&r);
        for (int i = 0; i < 36; i++)
        {
            int a = i / 6 % 3, b = i % 6 % 3;
            k->G[i] = mass * (a == b) + B[a][0] * B[b][0] + B[a][1] * B[b][1] + B[a][2] * B[b][2];
        }
        for (int i = 0; i < 3; i++)
            k->g[i] = k->g[i + 3] = i == 0 ? -1 - ccp_uniform(&r) : 0.1 * ccp_normal(&r);
        for (int i = 0; i < 2; i++)
        {
            k->cone[i] = (tg_ccp_cone){.row = 3 * i, .rows = 3, .e = 0.5, .mu = {2, 2}};
            d.e[i] = ccp_normal(&r);
        }
        assert_int_equal(ccp_solve(k), TG_OK);
        if (k->c.phase[0].redundant)
        {
            for (int i = 0; i < 6; i++)
            {
                d.g[i] = ccp_normal(&r);
                f_bar[i] = ccp_normal(&r);
            }
            forward(k, &d, exact);
            for (int i = 0; i < 6; i++)
                product += f_bar[i] * exact[i];
            duality = fmax(duality, fabs(product - reverse(k, &d, f_bar)) / (1e-300 + largest(6, exact) * 6));
            most = fmax(most, largest(6, exact) * mass);
            seen++;
        }
        ccp_free(k);
    }
    print_message("%d redundant, forward - reverse %.2g, largest change %.2g\n", seen, duality, most);
    assert_true(seen > 100);
    assert_true(duality < 1e-10);
    assert_true(most < 1e3); /* with a ridge d it is 1 / d */
}

/* At mu = 0 the derivative is the one from above. */
static void no_friction_yet(void **state)
{
    (void)state;
    int compared = 0;
    for (unsigned seed = 1; seed <= 300; seed++)
    {
        ccp_case *k = ccp_random(seed), *moved = ccp_new(k->p.cones, k->p.rows);
        int n = k->p.rows;
        direction d = {0};
        double exact[CCP_MOST], f_bar[CCP_MOST], product = 0, error = 0, f[2][CCP_MOST];
        unsigned long long r = seed;
        for (int i = 0; i < k->p.cones; i++)
        {
            memset(k->cone[i].mu, 0, sizeof k->cone[i].mu);
            d.mu[i] = 0.5 + ccp_uniform(&r);
        }
        assert_int_equal(ccp_solve(k), TG_OK);
        forward(k, &d, exact);
        for (int i = 0; i < n; i++)
        {
            f_bar[i] = ccp_normal(&r);
            product += f_bar[i] * exact[i];
        }
        bool shared = k->c.phase[0].redundant || k->c.phase[1].redundant;
        assert_true(shared || fabs(product - reverse(k, &d, f_bar)) <= 1e-10 * (1 + n * largest(n, exact)));
        for (int s = 0; s < 2; s++)
        {
            for (int i = 0; i < n * n; i++)
                moved->G[i] = k->G[i];
            impulse_at(k, &d, 1e-6 * (1 + s), moved);
            memcpy(f[s], moved->c.f, sizeof f[s]);
        }
        for (int i = 0; i < n; i++)
            error = fmax(error, fabs((4 * f[0][i] - f[1][i] - 3 * k->c.f[i]) / 2e-6 - exact[i]));
        if (!shared && largest(n, exact) > 0 && error <= 1e-4 * largest(n, exact))
            compared++;
        ccp_free(moved);
        ccp_free(k);
    }
    print_message("%d of 300 agree from above\n", compared);
    assert_true(compared > 150);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(against_differences), cmocka_unit_test(redundant_rows),
                                       cmocka_unit_test(no_friction_yet)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
