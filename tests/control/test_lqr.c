/* LQR against closed forms and against the recursion; A and B of several steps against differences. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/dynamics_case.h"
#include "support/sim.h"
#include "tangere/control.h"

/* b^2 p^2 + (r - a^2 r - q b^2) p - q r = 0, the positive root */
static double scalar_cost(double a, double b, double q, double r)
{
    double half = (r - a * a * r - q * b * b) / (2 * b * b);
    return -half + sqrt(half * half + q * r / (b * b));
}

static void scalar_systems_have_the_closed_form(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int i = 0; i < 500; i++)
    {
        double a = 3 * test_uniform(&seed), b = 0.1 + fabs(test_uniform(&seed)), q = 0.01 + fabs(test_uniform(&seed)),
               r = 0.01 + fabs(test_uniform(&seed)), K = NAN, P = NAN;
        assert_int_equal(tg_lqr(1, 1, &a, &b, &q, &r, NULL, &K, &P, NULL), TG_OK);
        double p = scalar_cost(a, b, q, r);
        assert_true(fabs(P - p) < 1e-12 * p);
        assert_true(fabs(K - a * b * p / (r + b * b * p)) < 1e-12 * (1 + fabs(K)));
    }
}

/* x + dt v + dt^2/2 u, v + dt u with R -> 0 and a weight on x alone: x and v are zero after two steps (dead beat). */
static void a_double_integrator_is_dead_beat_without_a_cost_of_control(void **state)
{
    (void)state;
    const double dt = 0.1, A[] = {1, dt, 0, 1}, B[] = {dt * dt, dt}, Q[] = {1, 0, 0, 0}, R[] = {1e-14};
    double K[2] = {NAN, NAN};
    assert_int_equal(tg_lqr(2, 1, A, B, Q, R, NULL, K, NULL, NULL), TG_OK);
    /* x+ = x + dt v + dt^2 u = 0 for every x and v: u = -x / dt^2 - v / dt */
    assert_true(fabs(K[0] - 1 / (dt * dt)) < 1e-6 / (dt * dt));
    assert_true(fabs(K[1] - 1 / dt) < 1e-6 / dt);
}

/* P = Q + A'P(A - BK) - NK and K = (R + B'PB)^-1 (B'PA + N'), for random systems with cross terms: residuals in plain
 * loops. */
static void random_systems_solve_the_riccati_equation(void **state)
{
    (void)state;
    enum
    {
        N = 7,
        U = 3
    };
    unsigned seed = 11;
    for (int trial = 0; trial < 100; trial++)
    {
        double A[N * N], B[N * U], L[(N + U) * (N + U)], W[(N + U) * (N + U)] = {0}, Q[N * N], R[U * U], C[N * U],
                                                                          K[U * N], P[N * N], largest = 0;
        for (int i = 0; i < N * N; i++)
            A[i] = 0.8 * test_uniform(&seed);
        for (int i = 0; i < N * U; i++)
            B[i] = test_uniform(&seed);
        for (int i = 0; i < (N + U) * (N + U); i++)
            L[i] = test_uniform(&seed);
        for (int i = 0; i < N + U; i++) /* [Q C; C' R] = L L' is positive definite */
            for (int j = 0; j < N + U; j++)
                for (int k = 0; k < N + U; k++)
                    W[i * (N + U) + j] += L[i * (N + U) + k] * L[j * (N + U) + k];
        for (int i = 0; i < N + U; i++)
            W[i * (N + U + 1)] += 0.05;
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
                Q[i * N + j] = W[i * (N + U) + j];
        for (int i = 0; i < U; i++)
            for (int j = 0; j < U; j++)
                R[i * U + j] = W[(N + i) * (N + U) + N + j];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < U; j++)
                C[i * U + j] = W[i * (N + U) + N + j];
        tg_error error = {.message = ""};
        if (tg_lqr(N, U, A, B, Q, R, C, K, P, &error) != TG_OK)
            fail_msg("%s", error.message);
        for (int i = 0; i < N * N; i++)
            largest = fmax(largest, fabs(P[i]));
        double closed[N * N];
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
            {
                closed[i * N + j] = A[i * N + j];
                for (int k = 0; k < U; k++)
                    closed[i * N + j] -= B[i * U + k] * K[k * N + j];
            }
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++)
            {
                double sum = Q[i * N + j];
                for (int k = 0; k < N; k++)
                    for (int l = 0; l < N; l++)
                        sum += A[k * N + i] * P[k * N + l] * closed[l * N + j];
                for (int k = 0; k < U; k++)
                    sum -= C[i * U + k] * K[k * N + j];
                assert_true(fabs(sum - P[i * N + j]) < 1e-10 * largest);
            }
        double x[N], next[N], size = 0; /* the loop is stable */
        for (int i = 0; i < N; i++)
            x[i] = 1;
        for (int step = 0; step < 3000; step++)
        {
            for (int i = 0; i < N; i++)
            {
                next[i] = 0;
                for (int j = 0; j < N; j++)
                    next[i] += closed[i * N + j] * x[j];
            }
            memcpy(x, next, sizeof x);
        }
        for (int i = 0; i < N; i++)
            size = fmax(size, fabs(x[i]));
        assert_true(size < 1e-6);
    }
}

static void what_has_no_stabilising_gain_is_refused(void **state)
{
    (void)state;
    const double A[] = {1, 0, 0, 0.5}, B[] = {0, 1}, Q[] = {1, 0, 0, 1}, one[] = {1}, minus[] = {-1}, bad[] = {NAN};
    const double B2[] = {1, 1}, Q2[] = {0, 0, 0, 1};
    double K[2];
    tg_error error;
    /* a mode that no control moves; one that costs nothing */
    assert_int_equal(tg_lqr(2, 1, A, B, Q, one, NULL, K, NULL, &error), TG_ERR_NUMERIC);
    assert_non_null(strstr(error.message, "no stabilising gain"));
    assert_int_equal(tg_lqr(2, 1, A, B2, Q2, one, NULL, K, NULL, &error), TG_ERR_NUMERIC);
    assert_int_equal(tg_lqr(2, 1, A, B2, Q, minus, NULL, K, NULL, &error), TG_ERR_NUMERIC);
    assert_non_null(strstr(error.message, "R is not positive definite"));
    assert_int_equal(tg_lqr(2, 1, A, B2, Q, bad, NULL, K, NULL, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "R[0]"));
    assert_int_equal(tg_lqr(2, 0, A, B2, Q, one, NULL, K, NULL, &error), TG_ERR_VALUE);
    assert_int_equal(tg_lqr(2, 1, NULL, B2, Q, one, NULL, K, NULL, &error), TG_ERR_ARGUMENT);
}

/* ---- linearisation ---- */

typedef struct moved
{
    sim *s;
    int hold, n;
    double *q, *v, *act;
} moved;

/* The state after hold steps with number j of (q, v, act, u) moved by h, as a tangent vector from the one without. */
static void evaluate(moved *c, int j, double h, const double *reference, double *out)
{
    sim *s = c->s;
    int nv = s->n.nv, na = s->n.na;
    double *dq = calloc((size_t)nv + 1, sizeof *dq), u0 = 0;
    if (j >= 0 && j < nv)
        dq[j] = h;
    assert_int_equal(tg_integrate(s->m, c->q, dq, s->q, NULL), TG_OK);
    memcpy(s->v, c->v, sizeof(double) * (size_t)nv);
    memcpy(s->act, c->act, sizeof(double) * (size_t)na);
    s->cache.count = 0;
    if (j >= nv && j < 2 * nv)
        s->v[j - nv] += h;
    else if (j >= 2 * nv && j < c->n)
        s->act[j - 2 * nv] += h;
    else if (j >= c->n)
    {
        u0 = s->u[j - c->n];
        s->u[j - c->n] += h;
    }
    sim_run(s, c->hold);
    if (j >= c->n)
        s->u[j - c->n] = u0;
    if (reference != NULL)
        assert_int_equal(tg_difference(s->m, reference, s->q, out, NULL), TG_OK);
    memcpy(out + nv, s->v, sizeof(double) * (size_t)nv);
    memcpy(out + 2 * nv, s->act, sizeof(double) * (size_t)na);
    free(dq);
}

static void several_steps_are_linearised(void **state)
{
    (void)state;
    static const char *const models[] = {"models/arm.xml", "models/superball.xml", "models/pendulum.xml"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int hold = 1; hold <= 4; hold += 3)
        {
            char path[500];
            tg_model *m = NULL;
            tg_error error;
            snprintf(path, sizeof path, "%s/%s", TANGERE_ROOT, models[i]);
            if (tg_load(path, NULL, &m, &error) != TG_OK)
                fail_msg("%s", error.message);
            sim *s = sim_open_model(m);
            unsigned seed = 5;
            int nv = s->n.nv, nu = s->n.nu, n = tg_tangent_size(m), nz = n + nu;
            moved c = {.s = s, .hold = hold, .n = n};
            c.q = calloc((size_t)s->n.nq, sizeof(double));
            c.v = calloc((size_t)nv, sizeof(double));
            c.act = calloc((size_t)s->n.na + 1, sizeof(double));
            assert_int_equal(tg_random_state(m, 4, c.q, c.v, &error), TG_OK);
            if (i == 1) /* the tensegrity as it stands, off the ground */
                for (int k = 0; k < s->n.nq; k++)
                    c.q[k] = s->q[k] + (k % 7 == 2 ? 0.5 : 0);
            for (int k = 0; k < nv; k++)
                c.v[k] = 0.3 * test_uniform(&seed);
            for (int k = 0; k < s->n.na; k++)
                c.act[k] = 0.3 * test_uniform(&seed);
            for (int k = 0; k < nu; k++)
                s->u[k] =
                    i == 0 ? c.q[k] + 0.05 * test_uniform(&seed) : 0.3 * test_uniform(&seed); /* servos within bounds */
            double *A = calloc((size_t)(n * n), sizeof *A), *B = calloc((size_t)(n * nu), sizeof *B);
            double *end = calloc((size_t)s->n.nq + 1, sizeof *end), *ends = calloc((size_t)n, sizeof *ends);
            double *high = calloc((size_t)n, sizeof *high), *low = calloc((size_t)n, sizeof *low), worst = 0, most = 0;
            tg_cache none = {s->cache.capacity, 0, s->cache.entry}; /* filled on the way, as in evaluate */
            tg_state now = {c.q, c.v, c.act, &none};
            tg_state after = {end, ends, ends + nv, NULL};
            if (tg_linearise(m, s->w, &s->options, &now, s->u, hold, A, B, &after) != TG_OK)
                fail_msg("%s", tg_work_message(s->w));
            const double h = 1e-6;
            for (int j = 0; j < nz; j++)
            {
                evaluate(&c, j, h, end, high);
                evaluate(&c, j, -h, end, low);
                for (int k = 0; k < n; k++)
                {
                    double d = (high[k] - low[k]) / (2 * h), exact = j < n ? A[k * n + j] : B[k * nu + j - n];
                    worst = fmax(worst, fabs(d - exact) / fmax(1, fabs(d)));
                    most = fmax(most, j < n ? 0 : fabs(exact));
                }
            }
            assert_true(most > 0);
            assert_true(worst < 1e-6);
            double *owned[] = {c.q, c.v, c.act, A, B, end, ends, high, low};
            for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
                free(owned[k]);
            sim_close(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalar_systems_have_the_closed_form),
        cmocka_unit_test(a_double_integrator_is_dead_beat_without_a_cost_of_control),
        cmocka_unit_test(random_systems_solve_the_riccati_equation),
        cmocka_unit_test(what_has_no_stabilising_gain_is_refused),
        cmocka_unit_test(several_steps_are_linearised),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
