/* Before anything is timed: do both engines compute the same?
 *
 * tau, M and the derivatives of tau are compared as they are. Accelerations are as uncertain as M is badly conditioned,
 * so their differences are compared as forces, M (a - a'), against the forces that made them. */
#include <math.h>
#include <stdlib.h>

#include "bench.h"

static const double tolerance = 1e-10;           /* of tau and M */
static const double derivative_tolerance = 1e-9; /* of the rest */

static bench_results make_results(size_t nv)
{
    return (bench_results){
        .tau = bench_alloc(nv, sizeof(double)),
        .acceleration = bench_alloc(nv, sizeof(double)),
        .mass = bench_alloc(nv * nv, sizeof(double)),
        .dtau_dq = bench_alloc(nv * nv, sizeof(double)),
        .dtau_dv = bench_alloc(nv * nv, sizeof(double)),
        .da_dq = bench_alloc(nv * nv, sizeof(double)),
        .da_dv = bench_alloc(nv * nv, sizeof(double)),
        .da_dtau = bench_alloc(nv * nv, sizeof(double)),
    };
}

static void free_results(bench_results *r)
{
    free(r->tau);
    free(r->acceleration);
    free(r->mass);
    free(r->dtau_dq);
    free(r->dtau_dv);
    free(r->da_dq);
    free(r->da_dv);
    free(r->da_dtau);
}

static double largest(const double *x, size_t n)
{
    double max = 0.0;
    for (size_t i = 0; i < n; i++)
        max = isnan(x[i]) ? NAN : fmax(max, fabs(x[i]));
    return max;
}

/* z = x - y */
static void subtract(const double *x, const double *y, double *z, size_t n)
{
    for (size_t i = 0; i < n; i++)
        z[i] = x[i] - y[i];
}

/* Z = A X, A n x n, X n x columns */
static void multiply(const double *A, const double *X, double *Z, size_t n, size_t columns)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < columns; j++)
        {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++)
                sum += A[i * n + k] * X[k * columns + j];
            Z[i * columns + j] = sum;
        }
}

typedef struct comparison
{
    const bench_engine *peer;
    int state;
    double worst;
} comparison;

static void judge(comparison *c, const char *what, double difference, double scale, double limit)
{
    double relative = difference / scale;
    if (!(relative <= limit))
        bench_die("%s differs from Pinocchio's (%s) by %.2e (allowed %.0e) at state %d; nothing is timed", what,
                  c->peer->setting, relative, limit, c->state);
    c->worst = fmax(c->worst, relative);
}

static void compare(comparison *c, const char *what, const double *x, const double *y, size_t n, double limit)
{
    double *z = bench_alloc(n, sizeof(double));
    subtract(x, y, z, n);
    judge(c, what, largest(z, n), largest(y, n), limit);
    free(z);
}

/* Accelerations x, y (nv x columns) by the forces they need; scale: the size of the forces that made them. */
static void compare_as_forces(comparison *c, const char *what, const double *M, const double *x, const double *y,
                              size_t nv, size_t columns, double scale)
{
    double *z = bench_alloc(2 * nv * columns, sizeof(double));
    subtract(x, y, z, nv * columns);
    multiply(M, z, z + nv * columns, nv, columns);
    judge(c, what, largest(z + nv * columns, nv * columns), scale, derivative_tolerance);
    free(z);
}

/* Adds X dF, the part that springs and dampers have in the derivative of the acceleration, X = da/dtau. */
static void add_passive(const double *X, const double *dF, double *da, size_t nv)
{
    double *z = bench_alloc(nv * nv, sizeof(double));
    multiply(X, dF, z, nv, nv);
    for (size_t i = 0; i < nv * nv; i++)
        da[i] += z[i];
    free(z);
}

/* force: what acts in the forward dynamics (nv), with springs and dampers, and their derivatives (nv x nv each) */
static void compare_derivatives(comparison *c, const bench_results *ours, bench_results *theirs, const double *force,
                                size_t nv)
{
    const double *force_dq = force + nv, *force_dv = force_dq + nv * nv;
    add_passive(theirs->da_dtau, force_dq, theirs->da_dq, nv);
    add_passive(theirs->da_dtau, force_dv, theirs->da_dv, nv);
    double scale_dq = fmax(largest(theirs->dtau_dq, nv * nv), largest(force_dq, nv * nv));
    double scale_dv = fmax(largest(theirs->dtau_dv, nv * nv), largest(force_dv, nv * nv));
    compare(c, "dtau/dq", ours->dtau_dq, theirs->dtau_dq, nv * nv, derivative_tolerance);
    compare(c, "dtau/dv", ours->dtau_dv, theirs->dtau_dv, nv * nv, derivative_tolerance);
    compare_as_forces(c, "da/dq", ours->mass, ours->da_dq, theirs->da_dq, nv, nv, scale_dq);
    compare_as_forces(c, "da/dv", ours->mass, ours->da_dv, theirs->da_dv, nv, nv, scale_dv);
    compare_as_forces(c, "da/dtau", ours->mass, ours->da_dtau, theirs->da_dtau, nv, nv, 1.0);
}

static void compare_state(comparison *c, const bench_engine *tangere, const bench_states *s, bench_results *ours,
                          bench_results *theirs)
{
    size_t nv = (size_t)s->nv, k = (size_t)c->state;
    const double *q = s->q + k * (size_t)s->nq, *v = s->v + k * nv, *a = s->a + k * nv, *tau = s->tau + k * nv;
    double *force = bench_alloc(nv + 2 * nv * nv, sizeof(double));
    tangere->results(tangere->self, q, v, a, tau, ours);
    bench_tangere_passive(tangere, q, v, force, force + nv, force + nv + nv * nv);
    for (size_t i = 0; i < nv; i++)
        force[i] += tau[i];
    c->peer->results(c->peer->self, q, v, a, force, theirs);

    compare(c, "tau", ours->tau, theirs->tau, nv, tolerance);
    compare(c, "the mass matrix", ours->mass, theirs->mass, nv * nv, tolerance);
    double scale = fmax(largest(force, nv), largest(theirs->tau, nv));
    compare_as_forces(c, "the acceleration", ours->mass, ours->acceleration, theirs->acceleration, nv, 1, scale);
    if (c->peer->run[BENCH_RNEA_DERIVATIVES] != NULL)
        compare_derivatives(c, ours, theirs, force, nv);
    free(force);
}

double bench_check(const bench_engine *tangere, const bench_engine *peer, const bench_states *states, int count)
{
    bench_results ours = make_results((size_t)states->nv), theirs = make_results((size_t)states->nv);
    comparison c = {.peer = peer};
    for (c.state = 0; c.state < count && c.state < states->n; c.state++)
        compare_state(&c, tangere, states, &ours, &theirs);
    free_results(&ours);
    free_results(&theirs);
    return c.worst;
}
