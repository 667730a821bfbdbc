/* Staggered projections (staggered.h). */
#include "solve/staggered.h"

#include <math.h>
#include <string.h>

enum
{
    MOST_CHECKS = 40 /* looks at the residual of one problem, TG_ADMM_CHECK iterations each: mostly two or three */
};

/* Memory of a part from number `first` of the rows on: the two have all rows together. */
static void place(tg_staggered *s, tg_stagger *p, int first)
{
    ptrdiff_t rows = s->cones->rows, before = (ptrdiff_t)first * first;
    double **matrix[] = {&p->G, &p->admm.H, &p->admm.factor};
    double **vector[TG_STAGGERED_VECTORS] = {&p->g,      &p->x,      &p->admm.q,      &p->admm.d,    &p->admm.x,
                                             &p->admm.z, &p->admm.u, &p->admm.before, &p->admm.right};
    for (ptrdiff_t i = 0; i < (ptrdiff_t)(sizeof matrix / sizeof matrix[0]); i++)
        *matrix[i] = s->matrix[i] + before;
    for (ptrdiff_t i = 0; i < TG_STAGGERED_VECTORS; i++)
        *vector[i] = s->vectors + i * rows + first;
    p->row = s->indices + first;
    p->normal = s->indices + rows + first;
    p->set = s->sets + first;
    p->n = p->sets = 0;
}

static void add_set(tg_stagger *p, tg_set_kind kind, int row, int dim, double bound, int normal)
{
    p->normal[p->sets] = normal;
    p->set[p->sets++] = (tg_set){kind, p->n, dim, bound};
    for (int i = 0; i < dim; i++)
        p->row[p->n++] = row + i;
}

static void divide(tg_staggered *s)
{
    tg_stagger *normals = &s->part[0], *friction = &s->part[1];
    int count = 0;
    for (int b = 0; b < s->cones->blocks; b++)
        count += s->cones->block[b].kind != TG_CONE_BOX;
    place(s, normals, 0);
    place(s, friction, count);
    for (int b = 0; b < s->cones->blocks; b++)
    {
        const tg_cone *c = &s->cones->block[b];
        if (c->kind == TG_CONE_BOX)
            add_set(friction, TG_SET_BALL, c->row, 1, c->bound, -1);
        else
            add_set(normals, c->kind == TG_CONE_FREE ? TG_SET_FREE : TG_SET_POSITIVE, c->row, 1, 0, -1);
        if (c->kind == TG_CONE_UNIT && c->dim > 1)
            add_set(friction, TG_SET_BALL, c->row + 1, c->dim - 1, 0, c->row);
    }
}

static void set_up(const tg_cones *cones, tg_stagger *p)
{
    tg_admm *a = &p->admm;
    for (ptrdiff_t i = 0; i < p->n; i++)
        for (ptrdiff_t j = 0; j < p->n; j++)
            p->G[i * p->n + j] = cones->G[(ptrdiff_t)p->row[i] * cones->ld + p->row[j]];
    a->n = a->ldg = p->n;
    a->sets = p->sets;
    a->set = p->set;
    a->G = p->G;
    a->g = p->g;
    a->shift = false;
    memset(p->g, 0, sizeof(double) * (size_t)p->n);
    tg_admm_start(a, p->x);
    a->relax = 1; /* impulses of redundant rows then stay next to where they started, as derivatives assume */
}

void tg_staggered_start(tg_staggered *s, const tg_cones *cones, const double *x)
{
    s->cones = cones;
    s->iterations = 0;
    divide(s);
    for (int k = 0; k < 2; k++)
    {
        tg_stagger *p = &s->part[k];
        for (int i = 0; i < p->n; i++)
            p->x[i] = x[p->row[i]];
        for (int i = 0; i < p->sets; i++)
            if (p->normal[i] >= 0)
                p->set[i].bound = fmax(x[p->normal[i]], 0);
        if (p->n > 0)
            set_up(cones, p);
    }
}

/* g + G_other x_other, and the bounds of friction */
static void follow(const tg_staggered *s, tg_stagger *p, const tg_stagger *other, const double *x)
{
    for (int i = 0; i < p->n; i++)
    {
        const double *G = s->cones->G + (ptrdiff_t)p->row[i] * s->cones->ld;
        p->g[i] = s->cones->g[p->row[i]];
        for (int j = 0; j < other->n; j++)
            p->g[i] += G[other->row[j]] * other->x[j];
    }
    for (int i = 0; i < p->sets; i++)
        if (p->normal[i] >= 0)
            p->set[i].bound = fmax(x[p->normal[i]], 0);
    tg_admm_change(&p->admm);
}

/* How far z is from x = P(x - s), in m/s: rows of their sets' own sizes. */
static double violation(const tg_stagger *p, double *y)
{
    const tg_admm *a = &p->admm;
    double worst = 0;
    tg_admm_point(a, p->x);
    for (int i = 0; i < p->sets; i++)
    {
        const tg_set *set = &p->set[i];
        double rho = a->d[set->row] * a->d[set->row];
        for (int r = set->row; r < set->row + set->dim; r++)
        {
            double s = p->g[r];
            for (int j = 0; j < p->n; j++)
                s += p->G[(ptrdiff_t)r * p->n + j] * p->x[j];
            y[r] = p->x[r] - rho * s;
        }
        if (set->kind == TG_SET_POSITIVE)
            y[set->row] = fmax(y[set->row], 0);
        else if (set->kind == TG_SET_BALL)
            tg_norm_ball(TG_NORM_TWO, set->dim, set->bound, y + set->row);
        for (int r = set->row; r < set->row + set->dim; r++)
            worst = fmax(worst, fabs(y[r] - p->x[r]) / rho);
    }
    return worst;
}

static void solve(tg_staggered *s, tg_stagger *p, double aim)
{
    for (int k = 0; k < MOST_CHECKS && p->n > 0; k++)
    {
        tg_admm_run(&p->admm, TG_ADMM_CHECK);
        s->iterations += TG_ADMM_CHECK;
        if (violation(p, p->admm.right) <= aim || !p->admm.good)
            return;
    }
}

void tg_staggered_step(tg_staggered *s, double aim, double *x)
{
    for (int k = 0; k < 2; k++)
    {
        tg_stagger *p = &s->part[k];
        if (p->n > 0)
            follow(s, p, &s->part[1 - k], x);
        solve(s, p, aim);
        for (int i = 0; i < p->n; i++)
            x[p->row[i]] = p->x[i];
    }
}
