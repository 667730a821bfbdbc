/* Optimisation: non-linear least squares (Gauss-Newton with Levenberg-Marquardt damping) and first-order methods
 * (Adam, AdamW, L-BFGS), for identification, inverse problems and control. Control: LQR, and planners with a receding
 * horizon (random shooting, CEM, MPPI, iLQR, max-entropy iLQG) for any model and cost (docs/control.md).
 *
 * The caller provides the function to be minimised. Its argument x has the user's numbers (a friction, a mass, ten
 * inertial parameters of a body). Internally, steps are taken in transformed numbers z, so that positive numbers stay
 * positive. A solver is created once, with all its memory; a run allocates nothing. A callback can watch and stop a
 * run. */
#ifndef TANGERE_CONTROL_H
#define TANGERE_CONTROL_H

#include <stdbool.h>

#include "tangere/batch.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- unknowns ---- */

typedef enum tg_transform
{
    TG_TRANSFORM_NONE, /* z = x */
    TG_TRANSFORM_LOG,  /* z = log x: x stays positive */
    /* for ten consecutive numbers, set at the first one (the entries of the other nine are ignored): mass, centre of
     * mass (3), inertia about it (xx yy zz xy xz yz), as in the parameters of a body. z is the log-Cholesky factor of
     * the pseudo-inertia: every z gives a physically possible body. No bounds, no ties. */
    TG_TRANSFORM_INERTIA,
    TG_TRANSFORM_COUNT
} tg_transform;

/* What is known about n unknown numbers x. Any array may be NULL; those given must outlive the solver. */
typedef struct tg_unknowns
{
    int n;
    const tg_transform *transform; /* [n]; NULL: none */
    const double *lower, *upper;   /* [n], bounds of x; infinite: none */
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
    double damping;   /* to start with; 1e-4. 0: full Gauss-Newton steps as long as they help */
    double tolerance; /* of steps, relative; its square is that of the decrease of the cost; 1e-10 */
    /* of the cost, absolute: a full step that promises less is the last; 0. With residuals in standard deviations
     * 1e-4 is a step of 0.014 standard errors. */
    double decrease;
    uint32_t cookie;
} tg_least_squares_def;

TG_API tg_least_squares_def tg_default_least_squares(void);

typedef struct tg_least_squares tg_least_squares;

/* def is copied, but not the arrays it points to. allocator: NULL: the C library's. */
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
    double clip; /* the derivative by the transformed unknowns is shortened to this length before Adam, AdamW and
                    gradient descent use it; 0: it is not. L-BFGS refuses it: differences of shortened derivatives are
                    no curvature */
    uint32_t cookie;
} tg_minimiser_def;

TG_API tg_minimiser_def tg_default_minimiser(void);

typedef struct tg_minimiser tg_minimiser;

TG_API tg_status tg_minimiser_create(const tg_minimiser_def *def, const tg_allocator *allocator, tg_minimiser **s,
                                     tg_error *error);
TG_API void tg_minimiser_destroy(tg_minimiser *s); /* NULL is allowed */
/* From x [n] to the minimum, in place. Adam returns the best point that it evaluated. */
TG_API tg_status tg_minimiser_run(tg_minimiser *s, double *x, tg_optimum *result, tg_error *error);

/* ---- linear systems ---- */

/* The gain of the discrete linear-quadratic regulator: u = -K x minimises the sum over all steps of 1/2 x'Q x + x'N u +
 * 1/2 u'R u with x+ = A x + B u. A, Q [n, n], B, N [n, nu] (N may be NULL), R [nu, nu]; K [nu, n]; P [n, n] (may be
 * NULL): the cost to go is 1/2 x'P x. Q and R are symmetric, R is positive definite. TG_ERR_NUMERIC if there is no
 * stabilising gain: a mode does not decay and is either uncontrollable or has no cost. */
TG_API tg_status tg_lqr(int n, int nu, const double *A, const double *B, const double *Q, const double *R,
                        const double *N, double *K, double *P, tg_error *error);

/* Numbers of a state in the tangent space: 2 nv + na, in the order q, v, act. */
TG_API int tg_tangent_size(const tg_model *m);

/* A [n, n] and B [n, nu] of `hold` steps with the same controls, n = tg_tangent_size: of the state after the steps with
 * respect to the state before them and the controls. options.backward chooses the derivative. next (may be NULL): the
 * state after the steps. The message of a failure is in the workspace. */
TG_API tg_status tg_linearise(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *state,
                              const double *u, int hold, double *A, double *B, tg_state *next);

/* ---- the cost of a plan ----
 *
 * A plan is `rows` rows of controls, each applied for `hold` steps. Its cost is the sum of a cost at the start of each
 * row, with the controls of the row, and of one at the end of the last row (row `rows`), without controls. Each is the
 * sum of a quadratic cost and the cost of a callback. */

/* States at which a callback is evaluated; [count, ...] each. */
typedef struct tg_cost_points
{
    int count;
    const int *row;            /* 0 .. rows */
    const double *q, *v, *act; /* nq, nv, na */
    const double *u;           /* nu; zero in row `rows` */
} tg_cost_points;

/* [count, nv] (in the tangent space), [count, nv], [count, na], [count, nu]; zero when the callback is called */
typedef struct tg_cost_gradient
{
    double *q, *v, *act, *u;
} tg_cost_gradient;

/* NULL: a weight of zero; a reference of zero, of q the model's reference configuration. */
typedef struct tg_plan_cost
{
    bool moving; /* references below have rows + 1 rows, one per row of the plan; otherwise one for all rows */

    /* 1/2 sum weight (x - reference)^2 of positions (in the tangent space), velocities, activations and controls */
    const double *q, *v, *act, *u;                             /* nq, nv, na, nu */
    const double *weight_q, *weight_v, *weight_act, *weight_u; /* nv, nv, na, nu */
    /* the same of the positions of sites (m, world), and of position and velocity of the centre of mass */
    int nsite;
    const int *site;                                /* nsite */
    const double *site_target;                      /* nsite x 3 */
    const double *weight_site;                      /* nsite x 3 */
    const double *com, *com_velocity;               /* 3, 3 */
    const double *weight_com, *weight_com_velocity; /* 3, 3 */
    /* weights in row `rows` in place of those above; NULL: the same */
    const double *last_q, *last_v, *last_act, *last_site, *last_com, *last_com_velocity;

    /* Writes the cost at each point, and unless gradient is NULL its derivatives. Infinity: never to be chosen; NaN
     * ends the plan with TG_ERR_NUMERIC. Second derivatives are differences of the gradient. NULL: none. Return
     * TG_ERR_UNSUPPORTED if a gradient is requested that the callback does not have. */
    tg_status (*points)(void *user, const tg_cost_points *at, double *value, const tg_cost_gradient *gradient);
    void *user;
    bool together; /* it is called in the caller's thread, with the points of all rollouts of an iteration; otherwise by
                      many threads at once, with the points of one rollout */
} tg_plan_cost;

/* ---- planners ---- */

typedef enum tg_plan_method
{
    TG_PLAN_RANDOM, /* random shooting: the best of samples drawn uniformly within the bounds */
    TG_PLAN_CEM,    /* cross-entropy method: a normal distribution is fitted to the best samples, repeatedly */
    TG_PLAN_MPPI,   /* model-predictive path integral: samples u + e, plan u + sum w e, w = exp(-(S - min S) /
                       temperature) / sum */
    TG_PLAN_ILQR,   /* iterative LQR: exact (or smoothed) A, B of the steps, bounds by a quadratic program per row, line
                       search */
    TG_PLAN_ILQG,   /* max-entropy iLQG: a normal policy of covariance temperature Quu^-1, changed by a bounded KL
                       per iteration */
    TG_PLAN_METHODS
} tg_plan_method;

/* "random", "cem", "mppi", "ilqr", "ilqg". Never NULL. */
TG_API const char *tg_plan_method_string(tg_plan_method method);

typedef struct tg_planner_def
{
    tg_plan_method method; /* MPPI */
    int rows;              /* of controls; 20 */
    int hold;              /* steps per row; 1 */
    int threads;           /* 0: as many as the machine has processors. Results are bitwise the same for any number */
    tg_options options;    /* of the steps */
    /* its arrays must stay valid until the planner is destroyed, or tg_planner_set_cost is called */
    tg_plan_cost cost;
    const double *lower, *upper; /* nu; copied. NULL: ranges of the actuators; infinite: none */
    double speed;                /* a rollout diverges when a velocity exceeds this, or a step is refused; infinite */
    int iterations;              /* 5; random shooting: rounds; iLQR and iLQG: at most */

    /* sampling methods */
    int samples;         /* per iteration; 64. The first of them is the current plan */
    uint64_t seed;       /* a number is a function of (seed, plan, iteration, sample, row, control) */
    const double *noise; /* nu, standard deviations of controls; copied. NULL: a quarter of the bounded range */
    double correlation;  /* of the noise of one row with that of the next, [0, 1); 0 */

    double elite;     /* CEM: share of samples that are fitted; 0.1, at least 2 of them */
    double smoothing; /* CEM: mean and deviation keep this share of their old values, [0, 1); 0 */
    double floor;     /* CEM: deviations stay above this share of the noise; 0.01 */

    double temperature; /* MPPI: in standard deviations of the costs of an iteration, 0.2. iLQG: in units of the cost */
    bool absolute;      /* MPPI: the temperature is in units of the cost */
    bool importance;    /* MPPI: temperature u' Sigma^-1 e is added to the cost of a sample (Williams et al., 2017) */

    double regularisation; /* iLQR: initial value, relative to the diagonal of Quu; 1e-6 */
    int searches;          /* iLQR: number of step lengths 1, 1/2, 1/4, ... to try; 10 */
    double tolerance;      /* iLQR and iLQG end when the cost falls by a smaller share; 1e-6 */
    double kl;             /* iLQG: largest KL divergence per iteration and row; 1 */
    uint32_t cookie;
} tg_planner_def;

TG_API tg_planner_def tg_default_planner(void);

typedef struct tg_planner tg_planner;

/* All memory is allocated here, by the model's allocator. The model must outlive the planner. */
TG_API tg_status tg_planner_create(const tg_model *m, const tg_planner_def *def, tg_planner **p, tg_error *error);
TG_API void tg_planner_destroy(tg_planner *p); /* NULL is allowed */

/* Sets another cost, or new references. A callback cannot be added if the planner was created without one. */
TG_API tg_status tg_planner_set_cost(tg_planner *p, const tg_plan_cost *cost, tg_error *error);
/* As tg_batch_set_params. */
TG_API tg_status tg_planner_set_params(tg_planner *p, const tg_params *params, tg_error *error);

typedef struct tg_plan_result
{
    tg_stop stop;
    int iterations;
    double first_cost, cost; /* of the given plan (infinite: it diverged) and of the result */
    int rollouts;            /* all of them */
    int blown;               /* those that diverged: they ended early, with infinite cost */
    double share; /* sampling: effective share of the last samples, 1 / (samples sum w^2); iLQR: the last length; iLQG:
                     the last KL */
} tg_plan_result;

/* Improves the plan u [rows, nu] in place, for the state `now`. Rollouts are warm-started from its cache (may be NULL).
 * The given plan is clipped to the bounds. iLQR and iLQG also try the feedback of the last plan (tg_plan_shift shifts
 * it, too). On failure u is unchanged. */
TG_API tg_status tg_plan(tg_planner *p, const tg_state *now, double *u, tg_plan_result *result, tg_error *error);

/* Removes the first row of a plan, which has been applied: rows move up, the last one is repeated. */
TG_API tg_status tg_plan_shift(tg_planner *p, double *u, tg_error *error);

/* Resets the planner: the next plan draws the random numbers of a new planner and starts without feedback. */
TG_API void tg_planner_reset(tg_planner *p);

/* Of the last plan, until the next call: states at the start of each row and at the end [rows + 1, ...]; gains of iLQR
 * and iLQG [rows, nu, 2 nv + na], with which u + K (x (-) state) may be applied between plans; NULL for the other
 * methods. */
TG_API tg_trajectory tg_planner_states(const tg_planner *p);
TG_API const double *tg_planner_gains(const tg_planner *p);

#ifdef __cplusplus
}
#endif

#endif
