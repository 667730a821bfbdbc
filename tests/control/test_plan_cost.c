/* The quadratic cost of a plan: gradient against differences on several models; second derivatives where Gauss-Newton's
 * are exact. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "control/plan_cost.h"
#include "support/dynamics_case.h"
#include "support/numbers.h"

typedef struct place
{
    tg_model *m;
    tg_work *w;
    tg_sizes n;
    int nz;
    double *q, *v, *act, *u;     /* the point */
    double *q1, *v1, *act1, *u1; /* moved */
    double *scratch;
    tg_plan_cost cost;
    double *weights, *references;
    int site[4];
} place;

static place open_place(const char *name, uint64_t seed)
{
    place p = {0};
    char path[500];
    tg_error error;
    unsigned state = (unsigned)seed * 7 + 1;
    snprintf(path, sizeof path, "%s/models/%s.xml", TANGERE_ROOT, name);
    if (tg_load(path, NULL, &p.m, &error) != TG_OK || tg_work_create(p.m, &p.w, &error) != TG_OK)
        fail_msg("%s", error.message);
    p.n = tg_model_sizes(p.m);
    int nq = p.n.nq, nv = p.n.nv, na = p.n.na, nu = p.n.nu, wide = 2 * nv + na + nu + 18;
    p.nz = 2 * nv + na + nu;
    double **arrays[] = {&p.q, &p.v, &p.act, &p.u, &p.q1, &p.v1, &p.act1, &p.u1};
    const int size[] = {nq, nv, na, nu, nq, nv, na, nu};
    for (int i = 0; i < 8; i++)
        *arrays[i] = numbers(size[i]);
    p.scratch = numbers((int)tg_plan_cost_scratch(p.m));
    p.weights = numbers(wide);
    p.references = numbers(nq + wide);
    assert_int_equal(tg_random_state(p.m, seed, p.q, p.v, &error), TG_OK);
    assert_int_equal(tg_random_state(p.m, seed + 1000, p.references, p.v1, &error), TG_OK);
    for (int i = 0; i < na; i++)
        p.act[i] = test_uniform(&state);
    for (int i = 0; i < nu; i++)
        p.u[i] = test_uniform(&state);
    for (int i = 0; i < wide; i++)
    {
        p.weights[i] = fabs(test_uniform(&state));
        p.references[nq + i] = test_uniform(&state);
    }
    const double *w = p.weights, *r = p.references + nq;
    p.cost = (tg_plan_cost){.q = p.references,
                            .weight_q = w,
                            .v = r + nv,
                            .weight_v = w + nv,
                            .act = na > 0 ? r + 2 * nv : NULL,
                            .weight_act = na > 0 ? w + 2 * nv : NULL,
                            .u = r + 2 * nv + na,
                            .weight_u = w + 2 * nv + na,
                            .com = r + p.nz,
                            .weight_com = w + p.nz,
                            .com_velocity = r + p.nz + 3,
                            .weight_com_velocity = w + p.nz + 3};
    p.cost.nsite = p.n.nsite < 4 ? p.n.nsite : 4;
    for (int i = 0; i < p.cost.nsite; i++)
        p.site[i] = p.n.nsite - 1 - i;
    p.cost.site_target = r + p.nz + 6;
    p.cost.weight_site = w + p.nz + 6;
    return p;
}

static void close_place(place *p)
{
    double *owned[] = {p->q, p->v, p->act, p->u, p->q1, p->v1, p->act1, p->u1, p->scratch, p->weights, p->references};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    tg_work_destroy(p->w);
    tg_model_destroy(p->m);
}

static double cost_at(place *p, const double *q, const double *v, const double *act, const double *u, double *g,
                      double *H)
{
    tg_cost_point at = {0, 5, q, v, act, u};
    double value = NAN;
    p->cost.site = p->site;
    if (tg_cost_quadratic(p->m, p->w, &p->cost, &at, p->scratch, &value, g, H) != TG_OK)
        fail_msg("%s", tg_work_message(p->w));
    return value;
}

/* Value, and unless NULL gradient, with number j of z moved by h. */
static double moved_cost(place *p, int j, double h, double *g)
{
    int nv = p->n.nv, na = p->n.na;
    double *dq = numbers(nv);
    if (j < nv)
        dq[j] = h;
    assert_int_equal(tg_integrate(p->m, p->q, dq, p->q1, NULL), TG_OK);
    memcpy(p->v1, p->v, sizeof(double) * (size_t)nv);
    memcpy(p->act1, p->act, sizeof(double) * (size_t)na);
    memcpy(p->u1, p->u, sizeof(double) * (size_t)p->n.nu);
    if (j >= nv && j < 2 * nv)
        p->v1[j - nv] += h;
    else if (j >= 2 * nv && j < 2 * nv + na)
        p->act1[j - 2 * nv] += h;
    else if (j >= 2 * nv + na)
        p->u1[j - 2 * nv - na] += h;
    free(dq);
    return cost_at(p, p->q1, p->v1, p->act1, p->u1, g, NULL);
}

static const char *const models[] = {"quadruped", "superball", "arm", "planar_walker", "humanoid36"};

static void the_gradient_is_that_of_differences(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (uint64_t seed = 0; seed < 10; seed++)
        {
            place p = open_place(models[i], seed);
            double *g = numbers(p.nz), *none = numbers(p.nz), worst = 0, most = 0;
            cost_at(&p, p.q, p.v, p.act, p.u, g, NULL);
            for (int j = 0; j < p.nz; j++)
            {
                const double h = 1e-3;
                double d1 = (moved_cost(&p, j, h, NULL) - moved_cost(&p, j, -h, NULL)) / (2 * h);
                double d2 = (moved_cost(&p, j, h / 2, NULL) - moved_cost(&p, j, -h / 2, NULL)) / h;
                double d = (4 * d2 - d1) / 3;
                worst = fmax(worst, fabs(d - g[j]));
                most = fmax(most, fabs(d));
                assert_true(g[j] != 0);
            }
            assert_true(worst < 1e-8 * fmax(1, most));
            free(g);
            free(none);
            close_place(&p);
        }
}

/* With all references at the state itself the residuals vanish, and Gauss-Newton's matrix is the second derivative. */
static void second_derivatives_are_exact_where_residuals_vanish(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    {
        place p = open_place(models[i], 3);
        int nv = p.n.nv, na = p.n.na, nz = p.nz;
        double *r = p.references + p.n.nq, *J = numbers(3 * nv), *H = numbers(nz * nz), *high = numbers(nz),
               *low = numbers(nz), worst = 0, most = 0;
        memcpy(p.references, p.q, sizeof(double) * (size_t)p.n.nq);
        memcpy(r + nv, p.v, sizeof(double) * (size_t)nv);
        memcpy(r + 2 * nv, p.act, sizeof(double) * (size_t)na);
        memcpy(r + 2 * nv + na, p.u, sizeof(double) * (size_t)p.n.nu);
        assert_int_equal(tg_com(p.m, p.w, p.q, r + nz, J), TG_OK);
        for (int k = 0; k < 3; k++)
        {
            r[nz + 3 + k] = 0;
            for (int j = 0; j < nv; j++)
                r[nz + 3 + k] += J[k * nv + j] * p.v[j];
        }
        assert_int_equal(tg_kinematics(p.m, p.w, p.q, NULL), TG_OK);
        for (int k = 0; k < p.cost.nsite; k++)
            assert_int_equal(tg_site_pose(p.m, p.w, p.site[k], r + nz + 6 + 3 * k, NULL), TG_OK);
        double *g = numbers(nz);
        assert_true(cost_at(&p, p.q, p.v, p.act, p.u, g, H) < 1e-20);
        for (int j = 0; j < nz; j++)
        {
            const double h = 1e-5;
            moved_cost(&p, j, h, high);
            moved_cost(&p, j, -h, low);
            for (int k = 0; k < nz; k++)
            {
                double d = (high[k] - low[k]) / (2 * h);
                worst = fmax(worst, fabs(d - H[k * nz + j]));
                most = fmax(most, fabs(d));
            }
        }
        assert_true(worst < 1e-7 * most);
        double *owned[] = {J, H, high, low, g};
        for (size_t k = 0; k < sizeof owned / sizeof *owned; k++)
            free(owned[k]);
        close_place(&p);
    }
}

static void wrong_costs_are_refused(void **state)
{
    (void)state;
    place p = open_place("quadruped", 1);
    tg_error error;
    int far = 99;
    p.weights[2] = -1;
    assert_int_equal(tg_plan_cost_check(p.m, &p.cost, 5, &error), TG_ERR_ARGUMENT); /* sites without an array */
    p.cost.site = p.site;
    assert_int_equal(tg_plan_cost_check(p.m, &p.cost, 5, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "cost.weight_q[2] = -1"));
    p.weights[2] = 1;
    p.references[3] = 2;
    assert_int_equal(tg_plan_cost_check(p.m, &p.cost, 5, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "cost.q"));
    p.cost.q = NULL;
    p.cost.nsite = 1;
    p.cost.site = &far;
    assert_int_equal(tg_plan_cost_check(p.m, &p.cost, 5, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "cost.site[0] = 99"));
    const double values[] = {1, INFINITY, 2, 3, NAN, 0};
    assert_int_equal(tg_cost_check_values(values, 6, 2, 7, true, &error), TG_ERR_NUMERIC);
    assert_non_null(strstr(error.message, "sample 8, row 1 is"));
    assert_int_equal(tg_cost_check_values(values, 3, 2, 7, false, &error), TG_ERR_NUMERIC);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_gradient_is_that_of_differences),
        cmocka_unit_test(second_derivatives_are_exact_where_residuals_vanish),
        cmocka_unit_test(wrong_costs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
