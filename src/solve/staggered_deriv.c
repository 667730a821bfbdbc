/* Forward mode through one alternation of staggered projections (staggered.h).
 *
 * A set of one of the two problems, with s = G x + g + (what the other does), ds = G dx + w:
 *     carries nothing (x = 0 on x >= 0)   dx = 0
 *     inside, or free                     ds = 0
 *     on its ball, x = r u                u . dx = dr,   t . ds + (|s| / r) t . dx = 0 for all t across u
 * Rows and unknowns are scaled by the sizes d of their sets; redundant rows have the change of least norm, as ADMM has
 * the impulses of least norm from a cold start. */
#include <math.h>
#include <string.h>

#include "solve/staggered.h"
#include "math/dense.h"

static const double ridge =
    1e-9; /* H_ii = 1: others change by so much, and redundant rows get the solution of least norm */
static const double on_bound = 1e-9; /* of the radius: ADMM ends so near to the boundary of a ball */

typedef struct system
{
    const tg_stagger *p;
    double *A, *rhs; /* n x n, n */
} system;

/* row i: sum_j c_j ds_j = 0 over the rows of a set, coefficients c */
static void add_velocity(const system *y, int i, const tg_set *set, const double *c, const double *w)
{
    ptrdiff_t n = y->p->n;
    const double *d = y->p->admm.d;
    for (int r = 0; r < set->dim; r++)
    {
        const double *G = y->p->G + (set->row + r) * n;
        for (ptrdiff_t k = 0; k < n && c[r] != 0; k++)
            y->A[i * n + k] += d[set->row] * c[r] * G[k] * d[k];
        y->rhs[i] -= d[set->row] * c[r] * w[set->row + r];
    }
}

/* row i: factor sum_j c_j dx_j */
static void add_impulse(const system *y, int i, const tg_set *set, const double *c, double factor)
{
    for (int r = 0; r < set->dim; r++)
        y->A[(ptrdiff_t)i * y->p->n + set->row + r] += factor * c[r];
}

static void hold(const system *y, const tg_set *set, const double *w)
{
    for (int i = 0; i < set->dim; i++)
    {
        double c[TG_CONE_MAX] = {0};
        c[i] = 1;
        add_velocity(y, set->row + i, set, c, w);
    }
}

/* x on the ball of radius r that changes by dr; s: its velocity */
static void slide(const system *y, const tg_set *set, double r, double dr, const double *x, const double *s,
                  const double *w)
{
    int m = set->dim;
    double u[TG_CONE_MAX], R[TG_CONE_MAX * TG_CONE_MAX], d = y->p->admm.d[set->row];
    double length = tg_norm_of(TG_NORM_TWO, m, r > 0 ? x : s), slip = tg_norm_of(TG_NORM_TWO, m, s);
    for (int i = 0; i < m; i++)
        u[i] = length > 0 ? (r > 0 ? x[i] : -s[i]) / length : i == 0;
    tg_cone_frame(m, u, R);
    add_impulse(y, set->row, set, u, 1);
    y->rhs[set->row] = dr / d;
    for (int j = 1; j < m; j++)
    {
        double t[TG_CONE_MAX];
        for (int i = 0; i < m; i++)
            t[i] = R[i * m + j];
        if (r > 0)
            add_velocity(y, set->row + j, set, t, w);
        add_impulse(y, set->row + j, set, t, r > 0 ? slip / r * d * d : 1);
    }
}

static void fill(const system *y, const double *dx, const double *x, const double *s, const double *w)
{
    const tg_stagger *p = y->p;
    memset(y->A, 0, sizeof(double) * (size_t)p->n * (size_t)p->n);
    memset(y->rhs, 0, sizeof(double) * (size_t)p->n);
    for (int k = 0; k < p->sets; k++)
    {
        const tg_set *set = &p->set[k];
        double r = p->normal[k] >= 0 ? set->bound : 0, dr = p->normal[k] >= 0 ? dx[p->normal[k]] : 0;
        const double *x_k = x + set->row, *s_k = s + set->row;
        bool ball = set->kind == TG_SET_BALL;
        r = ball ? set->bound : r;
        if (ball && tg_norm_of(TG_NORM_TWO, set->dim, x_k) >= (1 - on_bound) * r)
            slide(y, set, r, dr, x_k, s_k, w);
        else if (set->kind == TG_SET_POSITIVE && !(x_k[0] > 0))
            y->A[(ptrdiff_t)set->row * (p->n + 1)] = 1;
        else
            hold(y, set, w);
    }
}

/* dx of one of the problems, at x of all rows */
static void follow(const tg_staggered *s, int part, const double *x, const double *w, double *dx, double *work,
                   int *order)
{
    const tg_stagger *p = &s->part[part], *other = &s->part[1 - part];
    int n = p->n, rows = s->cones->rows;
    if (n == 0)
        return;
    double *A = work, *rhs = A + (ptrdiff_t)rows * rows, *mine = rhs + rows, *speed = mine + rows,
           *change = speed + rows;
    for (int i = 0; i < n; i++)
    {
        const double *G = s->cones->G + (ptrdiff_t)p->row[i] * s->cones->ld;
        mine[i] = x[p->row[i]];
        speed[i] = s->cones->g[p->row[i]];
        for (int j = 0; j < rows; j++)
            speed[i] += G[j] * x[j];
        change[i] = w[p->row[i]];
        for (int j = 0; j < other->n; j++)
            change[i] += G[other->row[j]] * dx[other->row[j]];
    }
    system y = {p, A, rhs};
    fill(&y, dx, mine, speed, change);
    for (int i = 0; i < n; i++)
        A[(ptrdiff_t)i * (n + 1)] += ridge;
    if (tg_lu(n, A, n, order) >= 0)
        memset(rhs, 0, sizeof(double) * (size_t)n);
    else
        tg_lu_solve(n, A, n, order, 1, rhs, 1);
    for (int i = 0; i < n; i++)
        dx[p->row[i]] = p->admm.d[i] * rhs[i];
}

void tg_staggered_jvp(const tg_staggered *s, const double *before, const double *after, tg_staggered_change *change,
                      void *user, double *dx, double *work, int *order)
{
    int rows = s->cones->rows;
    double *x = work, *w = x + rows;
    work += 2 * rows;
    memcpy(x, after, sizeof(double) * (size_t)rows);
    for (int i = 0; i < s->part[1].n; i++)
        x[s->part[1].row[i]] = before[s->part[1].row[i]];
    change(user, x, w);
    follow(s, 0, x, w, dx, work, order);
    change(user, after, w);
    follow(s, 1, after, w, dx, work, order);
}
