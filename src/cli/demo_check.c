#include "cli/demo_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

tg_cli_state tg_cli_random(const tg_model *m, unsigned seed)
{
    tg_sizes n = tg_model_sizes(m);
    size_t nq = (size_t)n.nq, nv = (size_t)n.nv;
    double *block = tg_cli_alloc(2 * nq + 4 * nv, sizeof *block), *other = block + nq + 4 * nv;
    tg_cli_state s = {block, block + nq, block + nq + nv, block + nq + 2 * nv, block + nq + 3 * nv};
    tg_random_state(m, 4 * (uint64_t)seed, s.q, s.v, NULL);
    tg_random_state(m, 4 * (uint64_t)seed + 1, other, s.a, NULL);
    tg_random_state(m, 4 * (uint64_t)seed + 2, other, s.tau, NULL);
    tg_random_state(m, 4 * (uint64_t)seed + 3, other, s.y, NULL);
    return s;
}

/* the larger of two; NaN if one is NaN */
static double larger(double a, double b)
{
    return a > b || isnan(a) ? a : b;
}

/* ---- one block: d function / d input ---- */

typedef enum function
{
    INVERSE, /* tau(q, v, a) */
    FORWARD  /* a(q, v, tau) */
} function;

typedef enum input
{
    BY_Q,
    BY_V,
    BY_THIRD, /* a or tau */
    INPUT_COUNT
} input;

/* What a block of derivatives is compared on. */
typedef struct problem
{
    const tg_model *m;
    tg_work *w;
    const tg_cli_state *state;
    function function;
    int nv;
    double *q, *x, *step; /* displaced inputs */
    double *plus, *minus; /* values there */
} problem;

static const double *third_of(const problem *p)
{
    return p->function == INVERSE ? p->state->a : p->state->tau;
}

/* The function with number `column` of an input displaced by h. */
static tg_status displaced(const problem *p, input by, int column, double h, double *out)
{
    const tg_cli_state *s = p->state;
    const double *q = s->q, *v = s->v, *third = third_of(p);
    if (by == BY_Q)
    {
        memset(p->step, 0, sizeof(double) * (size_t)p->nv);
        p->step[column] = h;
        tg_status status = tg_integrate(p->m, s->q, p->step, p->q, NULL);
        if (status != TG_OK)
            return status;
        q = p->q;
    }
    else
    {
        memcpy(p->x, by == BY_V ? v : third, sizeof(double) * (size_t)p->nv);
        p->x[column] += h;
        if (by == BY_V)
            v = p->x;
        else
            third = p->x;
    }
    return p->function == INVERSE ? tg_rnea(p->m, p->w, q, v, third, out)
                                  : tg_forward_dynamics(p->m, p->w, q, v, third, out);
}

/* out = (f(h) - f(-h)) / 2h for one column, scaled and added */
static tg_status add_difference(const problem *p, input by, int column, double h, double scale, double *out)
{
    tg_status status = displaced(p, by, column, h, p->plus);
    if (status == TG_OK)
        status = displaced(p, by, column, -h, p->minus);
    for (int i = 0; i < p->nv; i++)
        out[i] += scale * (p->plus[i] - p->minus[i]) / (2 * h);
    return status;
}

/* max |J - F| / max(1, max |F|) with Richardson's F = (4 D(h/2) - D(h)) / 3 */
static tg_status error_at(const problem *p, input by, const double *J, double h, double *error)
{
    double deviation = 0, size = 1, *F = tg_cli_alloc((size_t)p->nv, sizeof *F);
    tg_status status = TG_OK;
    for (int k = 0; k < p->nv && status == TG_OK; k++)
    {
        memset(F, 0, sizeof(double) * (size_t)p->nv);
        status = add_difference(p, by, k, h / 2, 4.0 / 3, F);
        if (status == TG_OK)
            status = add_difference(p, by, k, h, -1.0 / 3, F);
        for (int i = 0; i < p->nv; i++)
        {
            deviation = larger(deviation, fabs(J[i * p->nv + k] - F[i]));
            size = fmax(size, fabs(F[i]));
        }
    }
    free(F);
    *error = deviation / size;
    return status;
}

static tg_status check_block(const problem *p, input by, const double *J, tg_cli_check *worst)
{
    static const double steps[] = {1e-2, 1e-3, 1e-4, 1e-5};
    static const char *const names[2][INPUT_COUNT] = {{"d tau / d q", "d tau / d v", "d tau / d a"},
                                                      {"d a / d q", "d a / d v", "d a / d tau"}};
    double best = INFINITY;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    {
        double error;
        tg_status status = error_at(p, by, J, steps[i], &error);
        if (status != TG_OK)
            return status;
        best = fmin(best, error);
    }
    if (best >= worst->error)
    {
        worst->error = best;
        worst->block = names[p->function][by];
    }
    return TG_OK;
}

/* ---- the adjoint of inverse dynamics: y^T J ---- */

static tg_status check_adjoint(const problem *p, double *const J[INPUT_COUNT], tg_cli_check *worst)
{
    const tg_cli_state *s = p->state;
    double *g = tg_cli_alloc(INPUT_COUNT * (size_t)p->nv, sizeof *g);
    tg_status status = tg_rnea_vjp(p->m, p->w, s->q, s->v, s->a, s->y, g, g + p->nv, g + 2 * p->nv, NULL);
    for (int by = 0; by < INPUT_COUNT && status == TG_OK; by++)
    {
        double deviation = 0, size = 1;
        for (int k = 0; k < p->nv; k++)
        {
            double sum = 0;
            for (int i = 0; i < p->nv; i++)
                sum += s->y[i] * J[by][i * p->nv + k];
            deviation = larger(deviation, fabs(sum - g[by * p->nv + k]));
            size = fmax(size, fabs(sum));
        }
        worst->adjoint = larger(worst->adjoint, deviation / size);
    }
    free(g);
    return status;
}

/* ---- */

static tg_status check_function(problem *p, double *const J[INPUT_COUNT], tg_cli_check *worst)
{
    const tg_cli_state *s = p->state;
    tg_status status =
        p->function == INVERSE
            ? tg_rnea_derivatives(p->m, p->w, s->q, s->v, s->a, J[BY_Q], J[BY_V], J[BY_THIRD])
            : tg_forward_dynamics_derivatives(p->m, p->w, s->q, s->v, s->tau, J[BY_Q], J[BY_V], J[BY_THIRD]);
    for (int by = 0; by < INPUT_COUNT && status == TG_OK; by++)
        status = check_block(p, (input)by, J[by], worst);
    if (status == TG_OK && p->function == INVERSE)
        status = check_adjoint(p, J, worst);
    return status;
}

tg_status tg_cli_check_state(const tg_model *m, tg_work *w, const tg_cli_state *state, tg_cli_check *worst)
{
    tg_sizes n = tg_model_sizes(m);
    size_t nq = (size_t)n.nq, nv = (size_t)n.nv;
    double *block = tg_cli_alloc(nq + 4 * nv + 3 * nv * nv, sizeof *block), *vectors = block + nq;
    double *matrices = vectors + 4 * nv, *const J[INPUT_COUNT] = {matrices, matrices + nv * nv, matrices + 2 * nv * nv};
    problem p = {.m = m, .w = w, .state = state, .nv = n.nv, .q = block, .x = vectors, .step = vectors + nv};
    p.plus = vectors + 2 * nv;
    p.minus = vectors + 3 * nv;
    p.function = INVERSE;
    tg_status status = check_function(&p, J, worst);
    p.function = FORWARD;
    if (status == TG_OK)
        status = check_function(&p, J, worst);
    free(block);
    return status;
}
