/* The numbers that are differenced at a state. */
#include <math.h>

#include "check/judge.h"

enum
{
    A_GROUP =
        4, /* numbers of every group but parameters, drawn at random, beside the one on which the step depends most */
    HARD = 30 /* iterations of a step from which on fewer numbers are drawn */
};

static int drawn(tg_judge *c, int count)
{
    return c->pool[(int)(fabs(tg_walk_noise(&c->walk)) * count) % count];
}

static bool is_drawn(const tg_judge *c, int param)
{
    for (int i = 0; i < c->nindex; i++)
        if (c->index[i] == param)
            return true;
    return false;
}

/* Up to TG_JUDGE_A_KIND parameters of a kind: all but one of them of those that the step depends on, as far as there
 * are any. */
static void draw_kind(tg_judge *c, int kind)
{
    int count = 0, all = 0;
    for (int i = 0; i < c->nchosen; i++)
        if (c->kind[c->chosen[i]] == kind && c->exact.params[c->chosen[i]] != 0)
            c->pool[count++] = c->chosen[i];
    for (int i = 0; i < TG_JUDGE_A_KIND - 1 && count > 0; i++)
    {
        int param = drawn(c, count);
        if (!is_drawn(c, param))
            c->index[c->nindex++] = param;
    }
    for (int i = 0; i < c->nchosen; i++)
        if (c->kind[c->chosen[i]] == kind)
            c->pool[all++] = c->chosen[i];
    int param = all > 0 ? drawn(c, all) : -1;
    if (all > 0 && !is_drawn(c, param))
        c->index[c->nindex++] = param;
}

/* A step that took many iterations takes as many at every displacement. */
static bool is_hard(const tg_judge *c)
{
    return c->walk.iterations > HARD;
}

/* every second kind, in turn; of hard steps every eighth */
static void draw_params(tg_judge *c)
{
    int stride = is_hard(c) ? 8 : 2;
    c->nindex = 0;
    for (int kind = GROUP_PARAMS + c->r->states % stride; kind < c->r->ngroup; kind += stride)
        draw_kind(c, kind);
}

/* Numbers of a group that are differenced: the one on which the step depends most, which gives the group its scale, and
 * A_GROUP others; of hard steps one other. */
static void draw_group(tg_judge *c, int group)
{
    int size = tg_judge_count(&c->n, group), others = is_hard(c) ? 1 : A_GROUP, largest = 0;
    const double *J = tg_judge_numbers(&c->exact, group);
    double *wanted = tg_judge_numbers(&c->wanted, group);
    for (int i = 0; i < size; i++)
    {
        wanted[i] = size <= others + 1;
        largest = fabs(J[i]) > fabs(J[largest]) ? i : largest;
    }
    for (int i = 0; i < others && size > others + 1; i++)
        wanted[(int)(fabs(tg_walk_noise(&c->walk)) * size) % size] = 1;
    if (size > 0)
        wanted[largest] = 1;
}

void tg_judge_draw(tg_judge *c)
{
    for (int group = 0; group < GROUP_PARAMS; group++)
        draw_group(c, group);
    draw_params(c);
}
