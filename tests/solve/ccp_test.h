/* Problems of the convex contact law for its tests. Include cmocka.h before. */
#ifndef TG_TESTS_CCP_TEST_H
#define TG_TESTS_CCP_TEST_H

#include <math.h>
#include <stdlib.h>

#include "solve/ccp.h"

enum
{
    CCP_MOST = 60 /* rows */
};

typedef struct ccp_case
{
    tg_ccp_problem p;
    tg_ccp_cone cone[CCP_MOST];
    double G[CCP_MOST * CCP_MOST], g[CCP_MOST], target[CCP_MOST];
    tg_ccp c;
    tg_arena arena;
    tg_error error;
} ccp_case;

static inline ccp_case *ccp_new(int cones, int rows)
{
    ccp_case *k = calloc(1, sizeof *k);
    k->p = (tg_ccp_problem){
        .rows = rows, .cones = cones, .cone = k->cone, .G = k->G, .ldg = rows, .g = k->g, .target = k->target};
    tg_ccp_take(&k->c, rows, &k->arena);
    k->arena = (tg_arena){.capacity = k->arena.used, .base = tg_alloc(NULL, k->arena.used)};
    assert_true(tg_ccp_take(&k->c, rows, &k->arena));
    return k;
}

static inline void ccp_free(ccp_case *k)
{
    tg_arena_close(&k->arena);
    tg_free(NULL, k->arena.base);
    free(k);
}

static inline tg_status ccp_solve(ccp_case *k)
{
    return tg_ccp_solve(&k->c, &k->p, &k->error);
}

static inline double ccp_uniform(unsigned long long *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(*state >> 11) / 9007199254740992.0;
}

static inline double ccp_normal(unsigned long long *state)
{
    double sum = 0;
    for (int i = 0; i < 12; i++)
        sum += ccp_uniform(state);
    return sum - 6;
}

/* 1 to 12 cones of 1, 2, 3, 4 or 6 rows over 2 to 30 dofs: some problems are redundant, some have eps, masses differ by
 * 1e4 */
static inline ccp_case *ccp_random(unsigned seed)
{
    unsigned long long r = seed * 977ULL + 5;
    static const int sizes[] = {1, 2, 3, 4, 6};
    double J[CCP_MOST][30], v[30], w[30], inverse[30];
    int cones = 1 + (int)(ccp_uniform(&r) * 10), dofs = 2 + (int)(ccp_uniform(&r) * 29), rows = 0;
    int kinds = seed % 3 == 0 ? 5 : 3, size[12];
    for (int i = 0; i < cones; i++)
        rows += size[i] = sizes[(int)(ccp_uniform(&r) * kinds)];
    ccp_case *k = ccp_new(cones, rows);
    for (int j = 0; j < dofs; j++)
    {
        v[j] = ccp_normal(&r);
        w[j] = 0.2 * ccp_normal(&r);
        inverse[j] = pow(10, 4 * ccp_uniform(&r) - 2);
    }
    for (int i = 0, row = 0; i < cones; row += size[i++])
    {
        k->cone[i] = (tg_ccp_cone){.row = row, .rows = size[i], .e = seed % 4 == 0 ? 0 : ccp_uniform(&r)};
        for (int a = 0; a + 1 < size[i]; a++)
            k->cone[i].mu[a] = a > 0 && size[i] <= 3 ? k->cone[i].mu[0] : 1.5 * ccp_uniform(&r);
    }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < dofs; j++)
        {
            J[i][j] = ccp_uniform(&r) < 0.6 ? ccp_normal(&r) : 0;
            k->g[i] += J[i][j] * v[j];
            k->target[i] += seed % 5 == 0 ? J[i][j] * w[j] : 0; /* within reach: otherwise no impulse is enough */
        }
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < rows; j++)
            for (int a = 0; a < dofs; a++)
                k->G[i * rows + j] += J[i][a] * inverse[a] * J[j][a];
    k->p.eps = seed % 7 == 0 ? 0.01 : 0;
    return k;
}

/* Largest violation of f in K, s in K*, f . s = 0, w >= 0, w (f_n - bound) = 0, relative to the largest |g|;
 * complementarity is divided by the largest impulse. w is what makes the pair (f, s) complementary. */
static inline double ccp_optimality(const ccp_case *k, int phase)
{
    const tg_ccp_problem *p = &k->p;
    const double *f = k->c.phase[phase].f, *before = k->c.phase[0].f;
    double speed = 1e-300, impulse = 1e-300, worst = 0;
    for (int i = 0; i < p->rows; i++)
    {
        speed = fmax(speed, fmax(fabs(p->g[i]), fabs(p->target[i])));
        impulse = fmax(impulse, fmax(fabs(f[i]), fabs(before[i])));
    }
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_cone *cone = &p->cone[i];
        double s[TG_CCP_ROWS] = {0}, t = 0, st = 0, work, bound = phase == 1 ? cone->e * before[cone->row] : 0;
        for (int a = 0; a < cone->rows; a++)
        {
            int row = cone->row + a;
            s[a] = p->g[row] + p->eps * f[row] - (phase == 1 ? p->target[row] : 0);
            for (int j = 0; j < p->rows; j++)
                s[a] += p->G[row * p->ldg + j] * (f[j] + (phase == 1 ? before[j] : 0));
            if (a > 0)
            {
                t += cone->mu[a - 1] > 0 ? pow(f[row] / cone->mu[a - 1], 2) : 0;
                st += pow(s[a] * cone->mu[a - 1], 2);
            }
        }
        t = sqrt(t);
        st = sqrt(st);
        double w = s[0] - st; /* what is above the dual cone presses on the bound, if f_n is at it */
        if (f[cone->row] > bound + 1e-9 * impulse || bound <= 0)
            w = 0;
        work = -w * f[cone->row];
        for (int a = 0; a < cone->rows; a++)
            work += s[a] * f[cone->row + a];
        worst = fmax(worst, (t - f[cone->row]) / impulse);
        worst = fmax(worst, (bound - f[cone->row]) / impulse);
        worst = fmax(worst, (st - s[0]) / speed);
        worst = fmax(worst, fabs(work) / (speed * impulse));
    }
    return worst;
}

#endif
