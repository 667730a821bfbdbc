#include "support/derivative_check.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "support/numbers.h"

static double largest(const double *x, size_t n)
{
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(x[i]));
    return most;
}

void check_matrix(dynamics_function f, dynamics_input i, matrix_function *matrix)
{
    double seen = 0, worst = 0;
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
    {
        tg_model *m = tg_test_model(k);
        dynamics_case *c = dynamics_case_create(m);
        int rows = dynamics_case_outputs(c, f), columns = dynamics_case_inputs(c, i);
        double *J = numbers((size_t)rows * (size_t)columns);
        for (unsigned s = 0; s < CHECK_STATES && rows * columns > 0; s++)
        {
            dynamics_case_randomise(c, 100 + s);
            memset(J, 0xff, sizeof(double) * (size_t)rows * (size_t)columns);
            matrix(c, J);
            fd_problem p = dynamics_case_problem(c, f, i, NULL, columns);
            fd_result r = fd_compare(&p, J);
            if (!(r.error < 1e-7))
                fail_msg("%s, state %u: relative error %.3g at (%d, %d)", tg_test_model_name(k), s, r.error, r.row,
                         r.column);
            worst = fmax(worst, r.error);
            seen = fmax(seen, r.largest);
        }
        free(J);
        dynamics_case_destroy(c);
        tg_model_destroy(m);
    }
    print_message("  worst relative error %.2g, largest entry %.3g\n", worst, seen);
    assert_true(seen > 1e-3);
}

void check_gradient(dynamics_function f, dynamics_input i, matrix_function *matrix, gradient_function *gradient)
{
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
    {
        tg_model *m = tg_test_model(k);
        dynamics_case *c = dynamics_case_create(m);
        int rows = dynamics_case_outputs(c, f), columns = dynamics_case_inputs(c, i);
        double *J = numbers((size_t)rows * (size_t)columns), *g = numbers((size_t)columns);
        const double *y = f == CASE_ACTUATION_RATE ? c->y_rate : c->y;
        for (unsigned s = 0; s < CHECK_STATES && rows * columns > 0; s++)
        {
            dynamics_case_randomise(c, 200 + s);
            memset(g, 0xff, sizeof(double) * (size_t)columns);
            matrix(c, J);
            gradient(c, g);
            double scale = fmax(1, largest(J, (size_t)rows * (size_t)columns));
            for (int j = 0; j < columns; j++)
            {
                double sum = 0;
                for (int r = 0; r < rows; r++)
                    sum += y[r] * J[r * columns + j];
                if (!(fabs(sum - g[j]) < 1e-12 * scale))
                    fail_msg("%s, state %u: gradient[%d] = %.17g, y^T J = %.17g (scale %g)", tg_test_model_name(k), s,
                             j, g[j], sum, scale);
            }
        }
        free(J);
        free(g);
        dynamics_case_destroy(c);
        tg_model_destroy(m);
    }
}

static void name_of(const tg_model *m, int number, char *name)
{
    assert_int_equal(tg_param_name(m, number, false, name, 200, NULL), TG_OK);
}

/* y^T (Richardson central difference) with respect to one parameter, for the best of three steps */
static double parameter_error(dynamics_case *c, dynamics_function f, int number, double expected, double scale)
{
    static const double steps[] = {1e-3, 1e-4, 1e-5};
    double best = INFINITY, *F = numbers((size_t)c->size.nv);
    fd_problem p = dynamics_case_problem(c, f, INPUT_PARAMS, &number, 1);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
    {
        fd_matrix(&p, steps[s] * scale, F);
        double sum = 0;
        for (int i = 0; i < p.nout; i++)
            sum += c->y[i] * F[i];
        double error = fabs(sum - expected) / fmax(1, fabs(sum));
        if (error < best)
            best = error;
    }
    free(F);
    return best;
}

static void mark_kinds(const tg_model *m, const double *g, const char *const *kinds, double *seen)
{
    tg_sizes size = tg_model_sizes(m);
    int *index = calloc((size_t)size.nparams + 1, sizeof(int)), count;
    for (int k = 0; kinds[k] != NULL; k++)
        if (tg_param_match(m, kinds[k], index, size.nparams, &count, NULL) == TG_OK)
            for (int i = 0; i < count; i++)
                seen[k] = fmax(seen[k], fabs(g[index[i]]));
    free(index);
}

void check_parameters(dynamics_function f, gradient_function *gradient, const char *const *kinds)
{
    double seen[64] = {0}, worst = 0;
    int tried = 0, refused = 0;
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
    {
        tg_model *m = tg_test_model(k);
        dynamics_case *c = dynamics_case_create(m);
        double *g = numbers((size_t)c->size.nparams);
        for (unsigned s = 0; s < 2; s++)
        {
            dynamics_case_randomise(c, 300 + s);
            memset(g, 0xff, sizeof(double) * (size_t)c->size.nparams);
            gradient(c, g);
            mark_kinds(m, g, kinds, seen);
            for (int i = 0; i < c->size.nparams; i++)
            {
                c->refused = 0;
                double error = parameter_error(c, f, i, g[i], fmin(1, fmax(0.01, fabs(tg_params_view(c->params)[i]))));
                tried++;
                char name[200];
                name_of(m, i, name);
                if (c->refused > 0 && isinf(error)) /* massless bodies, the zero of a ball's range */
                {
                    refused++;
                    continue;
                }
                if (!(error < 1e-7))
                    fail_msg("%s, state %u: %s: gradient %.10g, relative error %.3g", tg_test_model_name(k), s, name,
                             g[i], error);
                worst = fmax(worst, error);
            }
        }
        free(g);
        dynamics_case_destroy(c);
        tg_model_destroy(m);
    }
    print_message("  %d parameters, worst relative error %.2g, %d at the edge of their domain\n", tried, worst,
                  refused);
    for (int k = 0; kinds[k] != NULL; k++)
        if (!(seen[k] > 1e-6))
            fail_msg("the gradient of %s is zero on every model", kinds[k]);
    assert_true(refused < tried / 20);
}

void check_parameter_columns(dynamics_function f, columns_function *columns, gradient_function *gradient)
{
    (void)f;
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
    {
        tg_model *m = tg_test_model(k);
        dynamics_case *c = dynamics_case_create(m);
        int n = c->size.nparams, nv = c->size.nv, *index = calloc((size_t)n + 1, sizeof(int));
        double *J = numbers((size_t)n * (size_t)nv), *g = numbers((size_t)n);
        for (int i = 0; i < n; i++)
            index[i] = n - 1 - i;
        dynamics_case_randomise(c, 400);
        columns(c, index, n, J);
        gradient(c, g);
        for (int i = 0; i < n; i++)
        {
            double sum = 0, scale = 1;
            for (int r = 0; r < nv; r++)
            {
                sum += c->y[r] * J[r * n + i];
                scale = fmax(scale, fabs(J[r * n + i]));
            }
            if (!(fabs(sum - g[index[i]]) < 1e-11 * scale))
                fail_msg("%s: parameter %d: %.17g against %.17g", tg_test_model_name(k), index[i], sum, g[index[i]]);
        }
        free(index);
        free(J);
        free(g);
        dynamics_case_destroy(c);
        tg_model_destroy(m);
    }
}
