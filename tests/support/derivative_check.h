/* The checks that every derivative of the dynamics stage goes through, on all test models and many states. */
#ifndef TG_TEST_DERIVATIVE_CHECK_H
#define TG_TEST_DERIVATIVE_CHECK_H

#include "support/dynamics_case.h"

enum
{
    CHECK_STATES = 20
};

/* Writes d function / d input at the case's state: outputs x inputs. */
typedef void matrix_function(dynamics_case *c, double *J);

/* Writes the gradient of y . function with respect to the input. */
typedef void gradient_function(dynamics_case *c, double *g);

/* Against finite differences (1e-7), and not zero on at least one model. */
void check_matrix(dynamics_function f, dynamics_input i, matrix_function *matrix);

/* Reverse mode against the matrix: y^T J = g to 1e-12. */
void check_gradient(dynamics_function f, dynamics_input i, matrix_function *matrix, gradient_function *gradient);

/* Every parameter: gradient of y . function against finite differences (1e-7); the kinds of parameters (pattern like
 * "body.*.mass") in the list, ended by NULL, must have a gradient that is not zero on at least one model. */
void check_parameters(dynamics_function f, gradient_function *gradient, const char *const *kinds);

/* Chosen columns of the parameter matrix against the gradients, 1e-12. */
typedef void columns_function(dynamics_case *c, const int *index, int n, double *J);
void check_parameter_columns(dynamics_function f, columns_function *columns, gradient_function *gradient);

#endif
