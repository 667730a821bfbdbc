/* Random quadratic programs of contact, and an independent judge of their solutions. */
#ifndef TG_TESTS_QCQP_TEST_H
#define TG_TESTS_QCQP_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tangere/qcqp.h"

typedef struct source
{
    uint64_t state;
} source;

/* xorshift64* (Vigna 2016) */
static inline uint64_t source_bits(source *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545F4914F6CDD1DULL;
}

static inline double uniform(source *r, double low, double high)
{
    return low + (high - low) * (double)(source_bits(r) >> 11) / 9007199254740992.0;
}

static inline int below(source *r, int n)
{
    return (int)(source_bits(r) % (uint64_t)n);
}

static inline double normal(source *r)
{
    return sqrt(-2 * log(uniform(r, DBL_MIN, 1))) * cos(6.283185307179586 * uniform(r, 0, 1));
}

static inline double *numbers(size_t count)
{
    double *a = malloc(sizeof(double) * (count > 0 ? count : 1));
    assert_non_null(a);
    for (size_t i = 0; i < count; i++)
        a[i] = NAN; /* outputs must be written */
    return a;
}

typedef struct program
{
    tg_qcqp_kind kind;
    int n, blocks, *size;
    double *G, *g, *mu, *l, *x;
    double digits; /* condition 10^digits of the eigenvalues that are not zero */
    int null;      /* how many are */
    tg_qcqp *q;
} program;

typedef struct program_want
{
    tg_qcqp_kind kind;
    int blocks, largest; /* rows of the largest ball */
    double digits;
    double null; /* share of eigenvalues that are zero */
    double none; /* share of balls with mu l = 0 */
    int threads;
} program_want;

static inline tg_qcqp *workspace(const program *p, int threads)
{
    tg_qcqp_def def = tg_default_qcqp();
    tg_error error;
    tg_qcqp *q = NULL;
    def.kind = p->kind;
    def.blocks = p->blocks;
    def.sizes = p->size;
    def.threads = threads;
    if (tg_qcqp_create(&def, &q, &error) != TG_OK)
        fail_msg("%s", error.message);
    return q;
}

/* G = H_1 .. H_k diag(e) H_k .. H_1 with random reflections H: eigenvalues e are known */
static inline void random_matrix(source *r, program *p, double null)
{
    int n = p->n, kept = n - (int)(null * n);
    double scale = pow(10, uniform(r, -3, 3)), *v = numbers((size_t)n), *Gv = numbers((size_t)n);
    memset(p->G, 0, sizeof(double) * (size_t)n * (size_t)n);
    kept = kept < 1 ? 1 : kept;
    p->null = n - kept;
    for (int i = 0; i < kept; i++)
        p->G[(ptrdiff_t)i * (n + 1)] = scale * pow(10, kept > 1 ? -p->digits * i / (kept - 1) : 0);
    for (int k = 0; k < 6; k++)
    {
        double size = 0, vGv = 0;
        for (int i = 0; i < n; i++)
            v[i] = normal(r), size += v[i] * v[i];
        for (int i = 0; i < n; i++)
            v[i] /= sqrt(size);
        for (int i = 0; i < n; i++)
        {
            double sum = 0;
            for (int j = 0; j < n; j++)
                sum += p->G[(ptrdiff_t)i * n + j] * v[j];
            Gv[i] = sum;
            vGv += sum * v[i];
        }
        for (int i = 0; i < n; i++)
            for (int j = 0; j <= i; j++)
                p->G[(ptrdiff_t)i * n + j] = p->G[(ptrdiff_t)j * n + i] +=
                    -2 * (v[i] * Gv[j] + Gv[i] * v[j]) + 4 * vGv * v[i] * v[j];
    }
    free(v);
    free(Gv);
}

/* half of the problems have g = -G z for a random feasible z: solutions inside; with x >= 0 and a null space all do */
static inline void random_linear(source *r, program *p)
{
    int n = p->n;
    double *z = numbers((size_t)n), scale = pow(10, uniform(r, -2, 2));
    bool inside = below(r, 2) == 0 || (p->kind == TG_QCQP_NONNEGATIVE && p->null > 0);
    for (int i = 0; i < n; i++)
    {
        z[i] = p->kind == TG_QCQP_NONNEGATIVE ? fabs(normal(r)) * below(r, 2) : 0.3 * uniform(r, 0, 1) * normal(r);
        p->g[i] = inside ? 0 : scale * normal(r);
    }
    for (int i = 0; inside && i < n; i++)
        for (int j = 0; j < n; j++)
            p->g[i] -= p->G[(ptrdiff_t)i * n + j] * z[j];
    /* closed and pressed rows of a nonnegative problem */
    for (int i = 0; inside && p->kind == TG_QCQP_NONNEGATIVE && i < n; i++)
        p->g[i] += z[i] == 0 ? p->G[(ptrdiff_t)i * (n + 1)] * uniform(r, 0, 1) : 0;
    free(z);
}

static inline program random_program(source *r, const program_want *want)
{
    program p = {.kind = want->kind, .blocks = want->blocks, .digits = want->digits};
    p.size = malloc(sizeof(int) * (size_t)p.blocks);
    assert_non_null(p.size);
    for (int i = 0; i < p.blocks; i++)
        p.n += p.size[i] = p.kind == TG_QCQP_NONNEGATIVE ? 1 : 1 + below(r, want->largest);
    size_t n = (size_t)p.n, blocks = (size_t)p.blocks;
    p.G = numbers(n * n), p.g = numbers(n), p.mu = numbers(blocks), p.l = numbers(blocks), p.x = numbers(n);
    random_matrix(r, &p, want->null);
    random_linear(r, &p);
    for (int i = 0; i < p.blocks; i++)
    {
        bool none = uniform(r, 0, 1) < want->none, by_mu = below(r, 2) == 0;
        p.mu[i] = none && by_mu ? 0 : uniform(r, 0.1, 1);
        p.l[i] = none && !by_mu ? 0 : pow(10, uniform(r, -1, 1));
    }
    p.q = workspace(&p, want->threads);
    return p;
}

static inline void drop(program *p)
{
    tg_qcqp_destroy(p->q);
    free(p->size), free(p->G), free(p->g), free(p->mu), free(p->l), free(p->x);
}

static inline tg_qcqp_data data_of(const program *p)
{
    return (tg_qcqp_data){1, p->G, p->g, p->mu, p->l};
}

static inline tg_qcqp_info solve(program *p)
{
    tg_qcqp_data data = data_of(p);
    tg_qcqp_info info;
    memset(&info, 0xff, sizeof info);
    if (tg_qcqp_solve(p->q, &data, NULL, p->x, &info) != TG_OK)
        fail_msg("%s", tg_qcqp_message(p->q));
    return info;
}

typedef struct verdict
{
    double infeasible; /* how far x is outside, relative to the radius or the largest x */
    double gap;        /* value less a lower bound of it, over max |g| times the sum of the radii, or of x */
    double residual;   /* of the natural map, over max |g| */
    double rounding;   /* of s, over max |g| */
} verdict;

/* The optimality gap: the value is at most sum_i max over C_i of s.(x - z) above the minimum. sums in long double. */
static inline verdict judge(const program *p)
{
    verdict out = {0};
    double scale = 0, size = 0, largest = 0;
    long double gap = 0, value = 0; /* value: how much g'x can be */
    int row = 0;
    for (int i = 0; i < p->n; i++)
    {
        scale = fmax(scale, fabs(p->g[i]));
        largest = fmax(largest, p->G[(ptrdiff_t)i * (p->n + 1)]);
        size += fabs(p->x[i]);
    }
    out.rounding = DBL_EPSILON * (largest * size / scale + 1);
    for (int i = 0; i < p->blocks; row += p->size[i], i++)
    {
        long double xs = 0, ss = 0, xx = 0, natural = 0, s[5];
        for (int r = 0; r < p->size[i]; r++)
        {
            s[r] = p->g[row + r];
            for (int j = 0; j < p->n; j++)
                s[r] += (long double)p->G[(ptrdiff_t)(row + r) * p->n + j] * p->x[j];
            xs += p->x[row + r] * s[r], ss += s[r] * s[r], xx += (long double)p->x[row + r] * p->x[row + r];
        }
        double radius = p->mu[i] * p->l[i];
        if (p->kind == TG_QCQP_NONNEGATIVE)
        {
            out.infeasible = fmax(out.infeasible, -p->x[row]);
            gap += fabsl(xs);
            value += scale * p->x[row];
            long double e = p->x[row] > 0 ? fabsl(s[0]) : fmaxl(0, -s[0]);
            out.residual = fmax(out.residual, (double)e / scale);
            continue;
        }
        gap += xs + radius * sqrtl(ss);
        value += scale * radius;
        out.infeasible = fmax(out.infeasible, radius > 0 ? (double)sqrtl(xx) / radius - 1 : (double)xx);
        if (radius == 0)
            continue;
        /* the natural map with the largest row sum of |G_ii| */
        double c = 0;
        for (int r = 0; r < p->size[i]; r++)
        {
            double sum = 0;
            for (int j = 0; j < p->size[i]; j++)
                sum += fabs(p->G[(ptrdiff_t)(row + r) * p->n + row + j]);
            c = fmax(c, sum);
        }
        long double y[5], length = 0;
        for (int r = 0; r < p->size[i]; r++)
            y[r] = p->x[row + r] - s[r] / c, length += y[r] * y[r];
        for (int r = 0; r < p->size[i]; r++)
        {
            long double part = p->x[row + r] - y[r] * (sqrtl(length) > radius ? radius / sqrtl(length) : 1);
            natural += part * part;
        }
        out.residual = fmax(out.residual, (double)sqrtl(natural) * c / scale);
    }
    out.gap = value > 0 ? (double)(gap / value) : (double)gap;
    return out;
}

#endif
