/* Derivatives of the convex contact law by its optimality conditions (ccp.h).
 *
 * Within the modes of a phase x moves along N z (and along D dl with Poisson's bound l), and
 *     K z = -N^T (dH x + dq + H D dl),    K = N^T H N + C,    f = scale x.
 * Where the rows of K depend on each other K^+ stands for K^-1: the velocity is exact, redundant impulses do not move.
 * K is symmetric: the gradient x_bar gives z = N K^-1 N^T x_bar and with it -z . (dH x + dq) and D . (x_bar - H z) dl.
 * mu is in scale only: H = scale A scale, q = scale g. At mu = 0 the rows of friction are not in the unit problem; the
 * derivative from above has x_t = -x_n sigma_t / |sigma_t|. */
#include <math.h>
#include <string.h>

#include "solve/ccp.h"

static double phase_eps(const tg_ccp *c, const tg_ccp_problem *p, const tg_ccp_phase *phase)
{
    return p->eps + (phase->redundant ? c->ridge : 0);
}

/* v = A f + (1: g; 2: G f^c + g - v*), the velocity that a phase sees */
static void phase_velocity(const tg_ccp *c, const tg_ccp_problem *p, int k, double *v)
{
    const double *f = c->phase[k].f, *before = c->phase[0].f;
    double eps = phase_eps(c, p, &c->phase[k]);
    for (int i = 0; i < p->rows; i++)
    {
        double sum = p->g[i] + eps * f[i] - (k == 1 && p->target != NULL ? p->target[i] : 0);
        for (int j = 0; j < p->rows; j++)
            sum += p->G[i * p->ldg + j] * (f[j] + (k == 1 ? before[j] : 0));
        v[i] = sum;
    }
}

static double product(const tg_ccp_problem *p, double eps, int row, const double *y)
{
    double sum = eps * y[row];
    for (int j = 0; j < p->rows; j++)
        sum += p->G[row * p->ldg + j] * y[j];
    return sum;
}

/* D: how x moves with the bound. u = x_t / x_n on the cone. */
static void bound_direction(const tg_ccp_unit *u, tg_ccp_mode mode, const double *x, double *D)
{
    D[0] = 1;
    for (int k = 1; k < u->dim; k++)
        D[k] = mode.slides ? x[u->row + k] / x[u->row] : 0;
}

/* The direction of friction of a cone whose mu are all 0: u = -v_t / |v_t|; false where there is none. */
static bool missing_friction(const tg_ccp_cone *cone, const tg_ccp_unit *unit, tg_ccp_mode mode, const double *v,
                             double *u)
{
    double sum = 0;
    if (cone->rows == 1 || unit->dim != 1 || mode.normal == TG_CCP_OPEN)
        return false;
    for (int k = 1; k < cone->rows; k++)
        sum += v[cone->row + k] * v[cone->row + k];
    for (int k = 1; k < cone->rows && sum > 0; k++)
        u[k] = -v[cone->row + k] / sqrt(sum);
    return sum > 0;
}

/* K of a phase for tg_ccp_apply; where it is redundant without the ridge */
static int factor(tg_ccp *c, const tg_ccp_problem *p, const tg_ccp_phase *phase)
{
    tg_ccp_scale(c, p, p->eps);
    int n = tg_ccp_reduce(c, phase);
    if (phase->redundant)
        tg_ccp_diagonalise(c, n);
    else if (!tg_ccp_factor(c, n, true))
        return 0;
    return n;
}

/* ---- reverse ---- */

static void mu_gradient(tg_ccp *c, const tg_ccp_problem *p, int k, const double *f_bar, const double *y, double *mu)
{
    const tg_ccp_phase *phase = &c->phase[k];
    const double *z = c->dx;
    double *v = c->ds, eps = phase_eps(c, p, phase), inverse = 1 / (c->speed * c->speed);
    phase_velocity(c, p, k, v);
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_unit *unit = &c->unit[i];
        double u[TG_CCP_ROWS], sum = 0;
        for (int a = unit->row + 1; a < unit->row + unit->dim; a++)
        {
            int row = c->source[a];
            sum += f_bar[row] * phase->x[a] - z[a] * v[row] * inverse - phase->x[a] * product(p, eps, row, y);
        }
        if (missing_friction(&p->cone[i], unit, phase->mode[i], v, u))
            for (int a = 1; a < p->cone[i].rows; a++)
            {
                int row = p->cone[i].row + a;
                double x = phase->x[unit->row] * u[a];
                double along = phase->mode[i].normal == TG_CCP_CLOSED ? z[unit->row] * u[a] : 0;
                sum += f_bar[row] * x - along * v[row] * inverse - x * product(p, eps, row, y);
            }
        mu[i] += c->size[i] * sum;
    }
}

/* y, and per cone the gradient of mu (added) and of the bound of x_n */
static void phase_vjp(tg_ccp *c, const tg_ccp_problem *p, int k, const double *f_bar, double *y, double *mu,
                      double *bound)
{
    const tg_ccp_phase *phase = &c->phase[k];
    int n = factor(c, p, phase), units = c->units;
    double *x_bar = c->y, *z = c->dx, inverse = 1 / (c->speed * c->speed);
    for (int i = 0; i < units; i++)
        x_bar[i] = c->scale[i] * f_bar[c->source[i]], z[i] = 0;
    tg_ccp_gather(c, n, x_bar, c->r);
    tg_ccp_apply(c, n, phase->redundant, c->r);
    tg_ccp_expand(c, n, c->r, z);
    memset(y, 0, sizeof *y * (size_t)p->rows);
    for (int i = 0; i < units; i++)
        y[c->source[i]] = c->scale[i] * z[i] * inverse;
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        double D[TG_CCP_ROWS];
        bound[i] = 0;
        if (phase->mode[i].normal != TG_CCP_CLAMPED)
            continue;
        bound_direction(u, phase->mode[i], phase->x, D);
        for (int a = 0; a < u->dim; a++)
        {
            double sum = x_bar[u->row + a];
            for (int b = 0; b < units; b++)
                sum -= c->H[(u->row + a) * units + b] * z[b];
            bound[i] += D[a] * sum;
        }
    }
    mu_gradient(c, p, k, f_bar, y, mu);
}

void tg_ccp_vjp(tg_ccp *c, const tg_ccp_problem *p, const double *f_bar, double *yc, double *yr, double *mu, double *e,
                double *eps)
{
    double *first = c->lambda, *bound = c->w;
    memset(mu, 0, sizeof *mu * (size_t)p->cones);
    memset(e, 0, sizeof *e * (size_t)p->cones);
    memset(yr, 0, sizeof *yr * (size_t)p->rows);
    memset(yc, 0, sizeof *yc * (size_t)p->rows);
    memcpy(first, f_bar, sizeof *first * (size_t)p->rows);
    *eps = 0;
    if (!(c->speed > 0))
        return;
    if (!p->compression)
    {
        phase_vjp(c, p, 1, f_bar, yr, mu, bound);
        for (int i = 0; i < p->cones; i++)
            if (c->unit[i].dim > 0)
            {
                e[i] = bound[i] * c->phase[0].x[c->unit[i].row];
                first[p->cone[i].row] += p->cone[i].e * bound[i] / c->size[i];
            }
        for (int i = 0; i < p->rows; i++)
            first[i] -= product(p, 0, i, yr);
    }
    phase_vjp(c, p, 0, first, yc, mu, bound);
    for (int i = 0; i < p->rows; i++)
        *eps -= yc[i] * c->phase[0].f[i] + yr[i] * c->phase[1].f[i];
}

/* ---- forward ---- */

/* ds of mu: what changes in f with x fixed (rows), and in the equation of (1, u) of cones without friction */
static void mu_change(tg_ccp *c, const tg_ccp_problem *p, int k, const double *dmu, double *direct, double *r)
{
    const tg_ccp_phase *phase = &c->phase[k];
    double *v = c->ds, inverse = 1 / (c->speed * c->speed);
    memset(direct, 0, sizeof *direct * (size_t)p->rows);
    memset(r, 0, sizeof *r * (size_t)c->units);
    if (dmu == NULL)
        return;
    phase_velocity(c, p, k, v);
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_unit *unit = &c->unit[i];
        double u[TG_CCP_ROWS], change = c->size[i] * dmu[i];
        if (unit->dim == 0)
            continue;
        for (int a = unit->row + 1; a < unit->row + unit->dim; a++)
        {
            direct[c->source[a]] = change * phase->x[a];
            r[a] = change * v[c->source[a]] * inverse;
        }
        if (missing_friction(&p->cone[i], unit, phase->mode[i], v, u))
            for (int a = 1; a < p->cone[i].rows; a++)
            {
                int row = p->cone[i].row + a;
                direct[row] = change * phase->x[unit->row] * u[a];
                r[unit->row] += phase->mode[i].normal == TG_CCP_CLOSED ? change * u[a] * v[row] * inverse : 0;
            }
    }
}

/* df from the change dv of the velocity at fixed f (rows), of mu and of the bounds of x_n (cones) */
static void phase_jvp(tg_ccp *c, const tg_ccp_problem *p, int k, const double *dv, const double *dmu,
                      const double *bound, double *df)
{
    const tg_ccp_phase *phase = &c->phase[k];
    int n = factor(c, p, phase), units = c->units;
    double *dx = c->dx, *r = c->y, *z = c->r, *direct = c->p;
    double eps = phase_eps(c, p, phase), inverse = 1 / (c->speed * c->speed);
    mu_change(c, p, k, dmu, direct, r);
    memset(dx, 0, sizeof *dx * (size_t)units);
    for (int i = 0; i < p->cones; i++)
        if (phase->mode[i].normal == TG_CCP_CLAMPED && bound != NULL)
        {
            double D[TG_CCP_ROWS];
            bound_direction(&c->unit[i], phase->mode[i], phase->x, D);
            for (int a = 0; a < c->unit[i].dim; a++)
                dx[c->unit[i].row + a] = D[a] * bound[i];
        }
    for (int i = 0; i < units; i++)
    {
        int row = c->source[i];
        r[i] += c->scale[i] * inverse * (dv[row] + product(p, eps, row, direct));
        for (int j = 0; j < units; j++)
            r[i] += c->H[i * units + j] * dx[j];
    }
    tg_ccp_gather(c, n, r, z);
    tg_ccp_apply(c, n, phase->redundant, z);
    for (int a = 0; a < n; a++)
        z[a] = -z[a];
    tg_ccp_expand(c, n, z, dx);
    memcpy(df, direct, sizeof *df * (size_t)p->rows);
    for (int i = 0; i < units; i++)
        df[c->source[i]] += c->scale[i] * dx[i];
}

void tg_ccp_jvp(tg_ccp *c, const tg_ccp_problem *p, const tg_ccp_change *change, double *df)
{
    const double *fc = c->phase[0].f, *fr = c->phase[1].f;
    double *dv = c->lambda, *bound = c->w, *dfc = c->eta, *second = c->wbar;
    memset(df, 0, sizeof *df * (size_t)p->rows);
    if (!(c->speed > 0))
        return;
    for (int i = 0; i < p->rows; i++)
        dv[i] = change->Gc[i] + change->g[i] + change->eps * fc[i];
    phase_jvp(c, p, 0, dv, change->mu, NULL, dfc);
    memcpy(df, dfc, sizeof *df * (size_t)p->rows);
    if (p->compression)
        return;
    for (int i = 0; i < p->cones; i++)
        if (c->unit[i].dim > 0)
            bound[i] = (change->e != NULL ? change->e[i] : 0) * c->phase[0].x[c->unit[i].row] +
                       p->cone[i].e * dfc[p->cone[i].row] / c->size[i];
    for (int i = 0; i < p->rows; i++)
        dv[i] = change->Gc[i] + change->Gr[i] + change->g[i] + change->eps * fr[i] + product(p, 0, i, dfc) -
                (change->target != NULL ? change->target[i] : 0);
    phase_jvp(c, p, 1, dv, change->mu, bound, second);
    for (int i = 0; i < p->rows; i++)
        df[i] += second[i];
}
