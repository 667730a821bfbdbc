/* The line search looks at a part of a step by the blocks that slide or change their phase, and takes the others as
 * linear: the same as all blocks, one by one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solve/soft.h"

enum
{
    BLOCKS = 40,
    ROWS = TG_CONE_MAX * BLOCKS
};

static double number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 2 * (double)(*seed >> 11) * 0x1p-53 - 1;
}

typedef struct problem
{
    tg_soft p;
    tg_soft_block block[BLOCKS];
    int turning[BLOCKS];
    double mu[ROWS], z[ROWS], dz[ROWS], L[ROWS], Jstep[ROWS];
} problem;

static void add_block(problem *q, tg_cone_kind kind, int dim, uint64_t *seed)
{
    tg_soft *p = &q->p;
    bool round = number(seed) > 0;
    p->block[p->blocks++] =
        (tg_soft_block){.kind = kind, .row = p->rows, .dim = dim, .round = round, .bound = 0.3 + 0.2 * number(seed)};
    for (int i = p->rows; i < p->rows + dim; i++)
    {
        p->mu[i] = i == p->rows ? 1 : round && i > p->rows + 1 ? p->mu[i - 1] : 0.6 + 0.5 * number(seed);
        p->z[i] = number(seed);
    }
    p->rows += dim;
}

/* equalities first, as in a problem; another one is behind */
static void make(problem *q, uint64_t seed)
{
    static const int dims[] = {1, 3, 4, TG_CONE_MAX};
    tg_soft *p = &q->p;
    memset(q, 0, sizeof *q);
    *p = (tg_soft){.block = q->block, .turning = q->turning, .mu = q->mu, .z = q->z, .dz = q->dz};
    p->L = q->L;
    p->Jstep = q->Jstep;
    for (int k = 0; k < BLOCKS; k++)
        if (k < BLOCKS / 4 || k == BLOCKS - 1)
            add_block(q, TG_CONE_FREE, 1, &seed);
        else if (k < BLOCKS / 2)
            add_block(q, TG_CONE_BOX, 1, &seed);
        else
            add_block(q, TG_CONE_UNIT, dims[k % 4], &seed);
    p->free = BLOCKS / 4;
    tg_soft_respond(p);
    double size = number(&seed) > 0 ? 2 : 0.2;
    for (int i = 0; i < p->rows; i++)
    {
        p->dz[i] = number(&seed) > 0.5 ? 0 : size * number(&seed);
        p->Jstep[i] = -0.5 * p->dz[i];
    }
}

static double gain_of_all(const problem *q, double t)
{
    double sum = 0;
    for (const tg_soft_block *b = q->block; b < q->block + BLOCKS; b++)
    {
        double z[TG_CONE_MAX], L[TG_CONE_MAX];
        for (int i = 0; i < b->dim; i++)
            z[i] = q->z[b->row + i] + t * q->dz[b->row + i];
        tg_soft_response(b, q->mu + b->row, z, L);
        for (int i = 0; i < b->dim; i++)
            sum += (L[i] - q->L[b->row + i]) * q->Jstep[b->row + i];
    }
    return sum;
}

static void test_parts_of_a_step(void **state)
{
    (void)state;
    static problem q;
    int linear = 0, turning = 0;
    for (uint64_t seed = 0; seed < 500; seed++)
    {
        make(&q, seed);
        assert_float_equal(tg_soft_whole_gain(&q.p), gain_of_all(&q, 1), 1e-12);
        for (double t = 0; t <= 1; t += 0x1p-4)
            assert_float_equal(tg_soft_gain(&q.p, t), gain_of_all(&q, t), 1e-12);
        turning += q.p.turnings;
        linear += BLOCKS - q.p.turnings;
    }
    assert_true(linear > 500 * BLOCKS / 4 && turning > 500 * BLOCKS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_parts_of_a_step)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
