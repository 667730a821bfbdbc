/* Optimisation: non-linear least squares (Gauss-Newton with Levenberg and Marquardt's damping) and first-order
 * methods (Adam, AdamW, L-BFGS), for identification, inverse problems and control.
 *
 * The function to be minimised is the caller's. It sees x, the numbers as a user knows them (a friction, a mass, ten
 * inertial parameters of a body); inside, steps are taken in transformed numbers z, so that what must be positive
 * stays positive. A solver is created once, with all its memory; a run allocates nothing. A run can be watched and
 * stopped by a callback. */
#ifndef TANGERE_CONTROL_H
#define TANGERE_CONTROL_H

#include <stdbool.h>

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- unknowns ---- */

typedef enum tg_transform
{
    TG_TRANSFORM_NONE, /* z = x */
    TG_TRANSFORM_LOG,  /* z = log x: x stays positive */
    /* of ten numbers in a row, the first of which says so (the other nine are not read): mass, centre of mass (3),
     * inertia about it (xx yy zz xy xz yz), as in the parameters of a body. z is the log-Cholesky factor of the
     * pseudo-inertia: every z gives a physically possible body. No bounds, no ties. */
    TG_TRANSFORM_INERTIA,
    TG_TRANSFORM_COUNT
} tg_transform;

/* What is known about n unknown numbers x. Any array may be NULL; those given must outlive the solver. */
typedef struct tg_unknowns
{
    int n;
    const tg_transform *transform; /* [n]; NULL: none */
    const double *lower, *upper;   /* [n], bounds of x; infinite where there is none */
    const double *prior,
        *spread;    /* [n], x[i] is known to be prior[i] with the standard deviation spread[i]; infinite: not known */
    const int *tie; /* [n]: x[i] = factor[i] x[tie[i]]; -1: x[i] is independent. No chains. */
    const double *factor; /* [n]; NULL: ones */
} tg_unknowns;

/* What a callback receives after each iteration. */
typedef struct tg_iteration
{
    int iteration;   /* from 0: the start */
    int evaluations; /* of the function so far */
    double cost;     /* priors included */
    double step;     /* largest change of a z, relative to 1 + |z| */
    double slope;    /* largest derivative of the cost by a z that is not held by its bound */
    double damping;  /* least squares: factor on the diagonal; otherwise the rate or step length */
    const double *x; /* [n] */
} tg_iteration;

/* Why a run ended. */
typedef enum tg_stop
{
    TG_STOP_STEP,       /* the last step was smaller than the tolerance */
    TG_STOP_COST,       /* no step can lower the cost by more than the tolerance */
    TG_STOP_SLOPE,      /* the derivative is zero, to the tolerance */
    TG_STOP_ITERATIONS, /* the limit of iterations */
    TG_STOP_STUCK,      /* no step along the derivative lowers the cost: a kink, or a derivative that is wrong */
    TG_STOP_ASKED,      /* the callback returned false */
    TG_STOP_COUNT
} tg_stop;

/* "step below tolerance", ... Never NULL. */
TG_API const char *tg_stop_string(tg_stop stop);

typedef struct tg_optimum
{
    tg_stop stop;
    int iterations;
    int evaluations; /* of the function, with or without derivatives */
    double first_cost, cost;
    double slope; /* as in tg_iteration, at the end */
} tg_optimum;

/* ---- non-linear least squares ---- */

typedef enum tg_loss
{
    TG_LOSS_SQUARE, /* r^2 */
    TG_LOSS_HUBER,  /* r^2 up to |r| = width, then 2 width |r| - width^2 */
    TG_LOSS_CAUCHY, /* width^2 log(1 + (r / width)^2) */
    TG_LOSS_COUNT
} tg_loss;

/* Minimises 1/2 sum_i loss(r_i(x)) + 1/2 sum_j ((x_j - prior_j) / spread_j)^2. Residuals come in groups
 * (trajectories, windows): all depend on the first `shared` unknowns, those of group g also on its own locals[g]
 * unknowns (its initial state, ...), which follow the shared ones, group by group. Time and memory are linear in the
 * number of groups. A local unknown can be tied to a shared one or to one of its own group. */
typedef struct tg_least_squares_def
{
    tg_unknowns unknowns;
    int shared;
    int groups;        /* 1 or more */
    const int *rows;   /* [groups], residuals of each */
    const int *locals; /* [groups]; NULL: none */

    /* Writes the residuals r, groups one after the other, and unless J is NULL their derivatives by x: for each
     * group a matrix [rows[g], shared + locals[g]], one after the other. TG_ERR_CANCELLED ends the run; with any
     * other failure x counts as a point of infinite cost, and is refused at the start. */
    tg_status (*residuals)(void *user, const double *x, double *r, double *J);
    /* Called after each iteration; false ends the run. NULL: none. */
    bool (*progress)(void *user, const tg_iteration *now);
    void *user;

    tg_loss loss;
    double width;     /* of the loss, in units of r: 1.345 standard deviations for Huber's, 2.385 for Cauchy's */
    int iterations;   /* at most; 100 */
    double damping;   /* to start with; 1e-4. 0: Gauss and Newton's full steps as long as they help */
    double tolerance; /* of steps, relative; its square is that of the decrease of the cost; 1e-10 */
    /* of the cost, absolute: a full step that promises less is the last; 0. With residuals in standard deviations
     * 1e-4 is a step of 0.014 standard errors. */
    double decrease;
    uint32_t cookie;
} tg_least_squares_def;

TG_API tg_least_squares_def tg_default_least_squares(void);

typedef struct tg_least_squares tg_least_squares;

/* def is copied, what it points to is not. allocator: NULL: the C library's. */
TG_API tg_status tg_least_squares_create(const tg_least_squares_def *def, const tg_allocator *allocator,
                                         tg_least_squares **s, tg_error *error);
TG_API void tg_least_squares_destroy(tg_least_squares *s); /* NULL is allowed */

/* From x [n] to the minimum, in place. A start outside its bounds is refused. After a failure x is as it was. */
TG_API tg_status tg_least_squares_run(tg_least_squares *s, double *x, tg_optimum *result, tg_error *error);

/* After a run: the information matrix [shared, shared] of the shared unknowns x with the local ones eliminated (the
 * Schur complement of J^T W J plus the priors). Its inverse, times the variance of r, is their covariance. A tied
 * unknown has zeros. */
TG_API tg_status tg_least_squares_information(const tg_least_squares *s, double *information, tg_error *error);

/* ---- first-order methods ---- */

typedef enum tg_method
{
    TG_METHOD_ADAM,    /* Kingma and Ba, 2014 */
    TG_METHOD_ADAMW,   /* with decoupled decay of the weights (Loshchilov and Hutter, 2017) */
    TG_METHOD_LBFGS,   /* limited-memory BFGS with a backtracking line search, projected onto the bounds */
    TG_METHOD_DESCENT, /* z - rate dz: gradient descent with the same line search, rate being the first length */
    TG_METHOD_COUNT
} tg_method;

typedef struct tg_minimiser_def
{
    tg_unknowns unknowns;
    /* Writes the cost f and, unless g is NULL, its derivatives g [n] by x. Failures as those of residuals. */
    tg_status (*cost)(void *user, const double *x, double *f, double *g);
    bool (*progress)(void *user, const tg_iteration *now);
    void *user;

    tg_method method;
    int iterations;      /* at most; 1000 */
    double rate;         /* Adam's step; 0.01 */
    double beta1, beta2; /* 0.9, 0.999 */
    double decay;        /* of AdamW, per step and unit of rate; 0.01 */
    int memory;          /* pairs that L-BFGS keeps; 10 */
    double tolerance;    /* as that of least squares; Adam stops at it only by the slope; 1e-10 */
    double
        clip; /* the derivative by the transformed unknowns is shortened to this length before Adam, AdamW and gradient descent use it; 0: it is not. L-BFGS refuses it:
                        differences of shortened derivatives are no curvature */
    uint32_t cookie;
} tg_minimiser_def;

TG_API tg_minimiser_def tg_default_minimiser(void);

typedef struct tg_minimiser tg_minimiser;

TG_API tg_status tg_minimiser_create(const tg_minimiser_def *def, const tg_allocator *allocator, tg_minimiser **s,
                                     tg_error *error);
TG_API void tg_minimiser_destroy(tg_minimiser *s); /* NULL is allowed */
/* From x [n] to the minimum, in place. Adam returns the best point that it evaluated. */
TG_API tg_status tg_minimiser_run(tg_minimiser *s, double *x, tg_optimum *result, tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
