/* What the tests of the dynamics stage share. */
#ifndef TG_TESTS_DYNAMICS_TEST_H
#define TG_TESTS_DYNAMICS_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/dynamics_case.h"
#include "support/models.h"
#include "support/numbers.h"

/* Everything must work, and says why if not. */
static inline void check_ok(const dynamics_case *c, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s: %s", tg_status_string(status), tg_work_message(c->w));
}

static inline double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = isnan(x[i]) ? INFINITY : fmax(most, fabs(x[i]));
    return most;
}

/* max |a - b|; NaN counts as infinite */
static inline double distance(const double *a, const double *b, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = isnan(a[i] - b[i]) ? INFINITY : fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* the larger error; NaN is the largest of all */
static inline double worse(double a, double b)
{
    return isnan(a) || isnan(b) ? INFINITY : fmax(a, b);
}

static inline double dot_n(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* y = A x, A: rows x columns */
static inline void multiply_matrix(const double *A, const double *x, int rows, int columns, double *y)
{
    for (int i = 0; i < rows; i++)
        y[i] = dot_n(A + (size_t)i * (size_t)columns, x, columns);
}

/* Runs a check on `states` random states of every test model, with the parameters of dynamics_case (own: with the
 * model's own). The check returns an error that must not exceed the tolerance; the worst one is printed. */
typedef double case_check(dynamics_case *c);

static inline double check_model(int model, unsigned states, bool own, double tolerance, case_check *check)
{
    double worst = 0;
    tg_model *m = tg_test_model(model);
    dynamics_case *c = dynamics_case_create(m);
    if (own)
        check_ok(c, tg_work_set_params(c->w, NULL));
    for (unsigned s = 0; s < states; s++)
    {
        dynamics_case_randomise(c, 1000 + s);
        double error = check(c);
        if (!(error <= tolerance))
            fail_msg("%s, state %u: error %.3g, allowed %.3g", tg_test_model_name(model), s, error, tolerance);
        worst = worse(worst, error);
    }
    dynamics_case_destroy(c);
    tg_model_destroy(m);
    return worst;
}

static inline void check_models(unsigned states, bool own, double tolerance, case_check *check)
{
    double worst = 0;
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
        worst = worse(worst, check_model(k, states, own, tolerance, check));
    print_message("  worst error %.2g, allowed %.2g\n", worst, tolerance);
}

/* ---- small models made in a test ---- */

typedef struct small_model
{
    tg_builder *b;
    tg_model *m;
    tg_work *w;
} small_model;

static inline small_model small_begin(void)
{
    small_model s = {0};
    assert_int_equal(tg_builder_create(NULL, &s.b, NULL), TG_OK);
    return s;
}

static inline void small_ok(const small_model *s, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s: %s", tg_status_string(status), s->w != NULL ? tg_work_message(s->w) : tg_builder_message(s->b));
}

/* A body of 1 kg with the inertia of a unit ball at pos in its parent. */
static inline int small_body(small_model *s, int parent, double x, double y, double z)
{
    tg_body_def def = tg_default_body();
    int id = 0;
    def.parent = parent;
    def.pos[0] = x;
    def.pos[1] = y;
    def.pos[2] = z;
    def.inertial = true;
    def.mass = 1;
    def.inertia[0] = def.inertia[1] = def.inertia[2] = 0.4;
    small_ok(s, tg_builder_body(s->b, &def, &id));
    return id;
}

static inline int small_joint(small_model *s, tg_joint_def def, int body)
{
    int id = 0;
    def.body = body;
    small_ok(s, tg_builder_joint(s->b, &def, &id));
    return id;
}

/* A joint without passive forces along (or about) an axis. */
static inline tg_joint_def plain_joint(tg_joint_type type, double x, double y, double z)
{
    tg_joint_def def = tg_default_joint();
    def.type = type;
    def.axis[0] = x;
    def.axis[1] = y;
    def.axis[2] = z;
    return def;
}

static inline int small_site(small_model *s, int body, double x, double y, double z)
{
    tg_site_def def = tg_default_site();
    int id = 0;
    def.body = body;
    def.pos[0] = x;
    def.pos[1] = y;
    def.pos[2] = z;
    small_ok(s, tg_builder_site(s->b, &def, &id));
    return id;
}

static inline int small_tendon(small_model *s, tg_tendon_def def)
{
    int id = 0;
    small_ok(s, tg_builder_tendon(s->b, &def, &id));
    return id;
}

static inline int small_actuator(small_model *s, tg_actuator_def def)
{
    int id = 0;
    small_ok(s, tg_builder_actuator(s->b, &def, &id));
    return id;
}

static inline void small_build(small_model *s)
{
    small_ok(s, tg_builder_build(s->b, &s->m));
    assert_int_equal(tg_work_create(s->m, &s->w, NULL), TG_OK);
}

static inline void small_end(small_model *s)
{
    tg_work_destroy(s->w);
    tg_model_destroy(s->m);
    tg_builder_destroy(s->b);
}

/* n numbers, each within tolerance * max(1, |expected|) of what was computed by hand */
static inline void check_numbers(const double *got, const double *expected, int n, double tolerance)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(got[i] - expected[i]) <= tolerance * fmax(1, fabs(expected[i]))))
            fail_msg("number %d is %.17g, expected %.17g", i, got[i], expected[i]);
}

#endif
