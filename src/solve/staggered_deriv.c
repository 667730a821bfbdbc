/* Reverse mode through one alternation of staggered projections (staggered.h).
 *
 * A set of one of the two problems, with s = G x + g + (what the other does), ds = G dx + w:
 *     carries nothing (x = 0 on x >= 0)   dx = 0
 *     inside, or free                     ds = 0
 *     on its ball, x = r u                u . dx = dr,   t . ds + (|s| / r) t . dx = 0 for all t across u
 * Rows and unknowns are scaled by the sizes d of their sets; redundant rows have the change of least norm, as ADMM has
 * the impulses of least norm from a cold start. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/staggered.h"

static const double ridge =
    1e-9; /* H_ii = 1: others change by so much, and redundant rows get the solution of least norm */
static const double on_bound = 1e-9; /* of the radius: ADMM ends so near to the boundary of a ball */

/* The equations of one set: velocity ds + impulse dx / d = (dr / d, 0, ...), in rows scaled by d. */
typedef struct set_equations
{
    double velocity[TG_CONE_MAX][TG_CONE_MAX], impulse[TG_CONE_MAX][TG_CONE_MAX];
    bool on_ball; /* the first one is u . dx = dr */
} set_equations;

/* x on the ball of radius r; s: its velocity */
static void slide(set_equations *e, int m, double d, double r, const double *x, const double *s)
{
    double u[TG_CONE_MAX], R[TG_CONE_MAX * TG_CONE_MAX];
    double length = tg_norm_of(TG_NORM_TWO, m, r > 0 ? x : s), slip = tg_norm_of(TG_NORM_TWO, m, s);
    e->on_ball = true;
    for (int i = 0; i < m; i++)
        u[i] = length > 0 ? (r > 0 ? x[i] : -s[i]) / length : i == 0;
    tg_cone_frame(m, u, R);
    for (int i = 0; i < m; i++)
        e->impulse[0][i] = u[i];
    for (int j = 1; j < m; j++)
        for (int i = 0; i < m; i++)
        {
            e->velocity[j][i] = r > 0 ? R[i * m + j] : 0;
            e->impulse[j][i] = R[i * m + j] * (r > 0 ? slip / r * d * d : 1);
        }
}

/* One of the two problems at a point: x of all rows; own numbers of its rows. */
typedef struct system
{
    const tg_stagger *p;
    const double *all;
    double *A, *rhs, *x, *s; /* n x n, n */
} system;

static set_equations equations_of(const system *y, int k)
{
    const tg_stagger *p = y->p;
    const tg_set *set = &p->set[k];
    set_equations e = {.on_ball = false};
    const double *x = y->x + set->row, *s = y->s + set->row;
    double r = p->normal[k] >= 0 ? fmax(y->all[p->normal[k]], 0) : set->bound;
    if (set->kind == TG_SET_BALL && tg_norm_of(TG_NORM_TWO, set->dim, x) >= (1 - on_bound) * r)
        slide(&e, set->dim, p->admm.d[set->row], r, x, s);
    else if (set->kind == TG_SET_POSITIVE && !(x[0] > 0))
        e.impulse[0][0] = 1;
    else
        for (int i = 0; i < set->dim; i++)
            e.velocity[i][i] = 1;
    return e;
}

/* rows of A that a set has */
static void add_rows(const system *y, const tg_set *set, const set_equations *e)
{
    ptrdiff_t n = y->p->n;
    const double *d = y->p->admm.d;
    for (int i = 0; i < set->dim; i++)
        for (int r = 0; r < set->dim; r++)
        {
            const double *G = y->p->G + (set->row + r) * n;
            double *A = y->A + (set->row + i) * n, c = d[set->row] * e->velocity[i][r];
            for (ptrdiff_t k = 0; k < n && c != 0; k++)
                A[k] += c * G[k] * d[k];
            A[set->row + r] += e->impulse[i][r];
        }
}

/* The point and the factors of its equations; false where these are singular. */
static bool factor(const tg_staggered *s, int part, const double *x, double *work, int *order, system *y)
{
    const tg_stagger *p = &s->part[part];
    ptrdiff_t n = p->n, rows = s->cones->rows;
    *y = (system){p, x, work, work + rows * rows, work + rows * (rows + 1), work + rows * (rows + 2)};
    for (ptrdiff_t i = 0; i < n; i++)
    {
        const double *G = s->cones->G + (ptrdiff_t)p->row[i] * s->cones->ld;
        y->x[i] = x[p->row[i]];
        y->s[i] = s->cones->g[p->row[i]];
        for (ptrdiff_t j = 0; j < rows; j++)
            y->s[i] += G[j] * x[j];
    }
    memset(y->A, 0, sizeof(double) * (size_t)n * (size_t)n);
    for (int k = 0; k < p->sets; k++)
    {
        set_equations e = equations_of(y, k);
        add_rows(y, &p->set[k], &e);
    }
    for (ptrdiff_t i = 0; i < n; i++)
        y->A[i * (n + 1)] += ridge;
    return tg_lu(p->n, y->A, p->n, order) < 0;
}

/* friction of `before`, normals of `after`: where the problem of the normals was solved */
static void normals_point(const tg_staggered *s, const double *before, const double *after, double *x)
{
    memcpy(x, after, sizeof(double) * (size_t)s->cones->rows);
    for (int i = 0; i < s->part[1].n; i++)
        x[s->part[1].row[i]] = before[s->part[1].row[i]];
}

/* The change dx of one of the problems at x of all rows, transposed: xbar of its own rows goes to z, to the others'
 * xbar and to the radii. */
static void precede(const tg_staggered *s, int part, const double *x, double *xbar, double *z, double *radius,
                    double *work, int *order)
{
    const tg_stagger *p = &s->part[part], *other = &s->part[1 - part];
    int n = p->n;
    system y;
    memset(z, 0, sizeof(double) * (size_t)s->cones->rows);
    if (n == 0)
        return;
    bool good = factor(s, part, x, work, order, &y);
    for (int i = 0; i < n; i++)
    {
        y.rhs[i] = good ? p->admm.d[i] * xbar[p->row[i]] : 0;
        xbar[p->row[i]] = 0;
    }
    if (good)
        tg_lu_solve_t(n, y.A, n, order, 1, y.rhs, 1);
    for (int k = 0; k < p->sets; k++)
    {
        const tg_set *set = &p->set[k];
        set_equations e = equations_of(&y, k);
        double *to = p->normal[k] >= 0 ? &xbar[p->normal[k]] : &radius[p->row[set->row]];
        if (e.on_ball)
            *to += y.rhs[set->row] / p->admm.d[set->row];
        for (int r = 0; r < set->dim; r++)
            for (int i = 0; i < set->dim; i++)
                z[p->row[set->row + r]] -= p->admm.d[set->row] * e.velocity[i][r] * y.rhs[set->row + i];
    }
    for (int j = 0; j < other->n; j++)
        for (int i = 0; i < n; i++)
            xbar[other->row[j]] += s->cones->G[(ptrdiff_t)p->row[i] * s->cones->ld + other->row[j]] * z[p->row[i]];
}

void tg_staggered_vjp(const tg_staggered *s, const double *before, const double *after, double *xbar, double *z_normals,
                      double *z_friction, double *radius, double *work, int *order)
{
    double *x = work;
    work += s->cones->rows;
    precede(s, 1, after, xbar, z_friction, radius, work, order);
    normals_point(s, before, after, x);
    precede(s, 0, x, xbar, z_normals, radius, work, order);
}
