/* Primal-dual interior point with Nesterov-Todd scaling and Mehrotra's corrector (ccp_interior.h).
 *
 * With s the dual of the cones, p = x_n - bound and w its dual:
 *     H x + q - s - E^T w = 0,    x o s = m e,    p w = m,    m -> 0.
 * Scaling of a cone: W s = W^-1 x = l, W^2 = eta^2 (2 v v^T - J), J = diag(1, -1, ..). A Newton step is
 *     (H + W^-2 + E^T (w / p) E) dx = -r_d + W^-1 (l \ r_c) + E^T r_p / p,
 *     ds = W^-1 (l \ r_c) - W^-2 dx,    dw = (r_p - w dx_n) / p. */
#include "solve/ccp_interior.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

/* of m, relative to |q| = 1: a solution by itself where Newton cannot end it. Where a contact is at a change of its
 * mode, x and s are both about sqrt(m) from the boundary of their cones: the square of what counts as good (ccp.c). */
static const double enough = 1e-20;
static const double enough_dual =
    1e-9; /* of r_d, which rounding keeps above 1e-11 when K is as singular as the ridge allows */
static const double to_boundary = 0.99; /* part of the way to the boundary of the cones (Mehrotra) */
enum
{
    MOST = 60 /* 8 to 15 are usual */
};

static double hyperbolic(int d, const double *a, const double *b)
{
    double sum = a[0] * b[0];
    for (int i = 1; i < d; i++)
        sum -= a[i] * b[i];
    return sum;
}

static double dot(int d, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < d; i++)
        sum += a[i] * b[i];
    return sum;
}

/* x'Jx as (x_n - |x_t|)(x_n + |x_t|): positive inside of the cone in spite of rounding */
static double square(int d, const double *x)
{
    double t = sqrt(dot(d - 1, x + 1, x + 1));
    return (x[0] - t) * (x[0] + t);
}

/* ---- the scaling of a cone ---- */

static void make_scaling(int d, const double *x, const double *s, double *v, double *eta)
{
    double a = sqrt(square(d, x)), b = sqrt(square(d, s));
    double g = sqrt(0.5 * (1 + dot(d, x, s) / (a * b)));
    for (int i = 0; i < d; i++)
        v[i] = (x[i] / a + (i == 0 ? s[i] : -s[i]) / b) / (2 * g);
    *eta = sqrt(a / b);
}

/* y = B(v) x, B(v) = [v_0 v_t^T; v_t I + v_t v_t^T / (1 + v_0)]; flip: B(J v), its inverse */
static void boost(int d, const double *v, bool flip, double factor, const double *x, double *y)
{
    double sign = flip ? -1 : 1, along = sign * dot(d - 1, v + 1, x + 1);
    double rest = x[0] + along / (1 + v[0]), x0 = x[0];
    y[0] = factor * (v[0] * x0 + along);
    for (int i = 1; i < d; i++)
        y[i] = factor * (x[i] + sign * v[i] * rest);
}

/* y = l \ u, the solution of l o y = u */
static void divide(int d, const double *l, const double *u, double *y)
{
    double y0 = hyperbolic(d, l, u) / square(d, l);
    for (int i = 1; i < d; i++)
        y[i] = (u[i] - y0 * l[i]) / l[0];
    y[0] = y0;
}

/* Largest step a <= 1 with x + a dx in the cone. */
static double cone_step(int d, const double *x, const double *dx)
{
    if (d == 1)
        return dx[0] < 0 ? fmin(1, -x[0] / dx[0]) : 1;
    double a = hyperbolic(d, dx, dx), b = hyperbolic(d, x, dx), c = square(d, x), step = 1;
    double root = b * b - a * c;
    if (root >= 0)
    {
        /* c + 2 b t + a t^2 = 0; its smallest positive root, without cancellation */
        double k = b >= 0 ? -(b + sqrt(root)) : -b + sqrt(root);
        double t1 = a != 0 ? k / a : INFINITY, t2 = k != 0 ? c / k : INFINITY;
        if (t1 > 0)
            step = fmin(step, t1);
        if (t2 > 0)
            step = fmin(step, t2);
    }
    return dx[0] < 0 ? fmin(step, -x[0] / dx[0]) : step;
}

/* ---- one iteration ---- */

static void factor_system(tg_ccp *c)
{
    int n = c->units;
    memcpy(c->K, c->H, sizeof *c->K * (size_t)n * (size_t)n);
    for (int i = 0; i < c->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        double factor = 1 / (c->eta[i] * c->eta[i]);
        const double *v = c->wbar + u->row;
        for (int a = 0; a < u->dim; a++)
        {
            double va = a == 0 ? v[a] : -v[a];
            for (int b = 0; b < u->dim; b++)
                c->K[(u->row + a) * n + u->row + b] += 2 * factor * va * (b == 0 ? v[b] : -v[b]);
            c->K[(u->row + a) * (n + 1)] += a == 0 ? -factor : factor;
        }
        if (u->has_bound)
            c->K[u->row * (n + 1)] += c->w[i] / c->p[i];
    }
    for (int i = 0; i < n; i++)
        c->aux[i] = c->K[i * (n + 1)];
}

/* K x = rhs with one step of refinement: the upper triangle of c->K is still K, its diagonal is in c->aux. */
static void solve_refined(tg_ccp *c, double *rhs, double *x)
{
    int n = c->units;
    memcpy(x, rhs, sizeof *x * (size_t)n);
    tg_chol_solve(n, c->K, n, 1, x, 1);
    for (int i = 0; i < n; i++)
    {
        rhs[i] -= c->aux[i] * x[i];
        for (int j = i + 1; j < n; j++)
        {
            rhs[i] -= c->K[i * n + j] * x[j];
            rhs[j] -= c->K[i * n + j] * x[i];
        }
    }
    tg_chol_solve(n, c->K, n, 1, rhs, 1);
    for (int i = 0; i < n; i++)
        x[i] += rhs[i];
}

/* dx, ds, dw for centring m; corrector: with the products of the affine step in dx, ds, dw */
static void solve_system(tg_ccp *c, const double *rd, double m, bool corrector)
{
    double *shift = c->scaled, *rhs = c->r;
    for (int i = 0; i < c->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        int d = u->dim;
        double rc[TG_CCP_ROWS] = {0}, a[TG_CCP_ROWS], b[TG_CCP_ROWS];
        const double *l = c->lambda + u->row, *v = c->wbar + u->row;
        if (d == 0)
            continue;
        rc[0] = m - dot(d, l, l);
        for (int k = 1; k < d; k++)
            rc[k] = -2 * l[0] * l[k];
        if (corrector)
        {
            boost(d, v, true, 1 / c->eta[i], c->dx + u->row, a);
            boost(d, v, false, c->eta[i], c->ds + u->row, b);
            rc[0] -= dot(d, a, b);
            for (int k = 1; k < d; k++)
                rc[k] -= a[0] * b[k] + b[0] * a[k];
        }
        divide(d, l, rc, a);
        boost(d, v, true, 1 / c->eta[i], a, shift + u->row);
        for (int k = 0; k < d; k++)
            rhs[u->row + k] = shift[u->row + k] - rd[u->row + k];
        if (u->has_bound)
        {
            c->dp[i] = m - c->p[i] * c->w[i] - (corrector ? c->dx[u->row] * c->dw[i] : 0);
            rhs[u->row] += c->dp[i] / c->p[i];
        }
    }
    solve_refined(c, rhs, c->dx);
    for (int i = 0; i < c->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        const double *v = c->wbar + u->row, *dx = c->dx + u->row;
        if (u->dim == 0)
            continue;
        double factor = 1 / (c->eta[i] * c->eta[i]), along = hyperbolic(u->dim, v, dx);
        for (int k = 0; k < u->dim; k++)
            c->ds[u->row + k] =
                shift[u->row + k] - factor * ((k == 0 ? 2 * v[k] * along - dx[k] : -2 * v[k] * along + dx[k]));
        if (u->has_bound)
            c->dw[i] = (c->dp[i] - c->w[i] * dx[0]) / c->p[i];
    }
}

static double step_length(const tg_ccp *c, const double *x, const double *s)
{
    double step = 1;
    for (int i = 0; i < c->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        if (u->dim == 0)
            continue;
        step = fmin(step, cone_step(u->dim, x + u->row, c->dx + u->row));
        step = fmin(step, cone_step(u->dim, s + u->row, c->ds + u->row));
        if (u->has_bound)
        {
            step = fmin(step, cone_step(1, &c->p[i], &c->dx[u->row]));
            step = fmin(step, cone_step(1, &c->w[i], &c->dw[i]));
        }
    }
    return step;
}

/* mean of x . s and p w after a step of that length */
static double gap(const tg_ccp *c, const double *x, const double *s, double step)
{
    double sum = 0;
    int count = 0;
    for (int i = 0; i < c->cones; i++)
    {
        const tg_ccp_unit *u = &c->unit[i];
        for (int k = u->row; k < u->row + u->dim; k++)
            sum += (x[k] + step * c->dx[k]) * (s[k] + step * c->ds[k]);
        if (u->has_bound)
            sum += (c->p[i] + step * c->dx[u->row]) * (c->w[i] + step * c->dw[i]);
        count += (u->dim > 0) + u->has_bound;
    }
    return count > 0 ? sum / count : 0;
}

static void start(tg_ccp *c, tg_ccp_phase *phase)
{
    memset(phase->x, 0, sizeof *phase->x * (size_t)c->units);
    memset(phase->s, 0, sizeof *phase->s * (size_t)c->units);
    memset(c->dx, 0, sizeof *c->dx * (size_t)c->units);
    memset(c->ds, 0, sizeof *c->ds * (size_t)c->units);
    for (int i = 0; i < c->cones; i++)
    {
        tg_ccp_unit *u = &c->unit[i];
        u->has_bound = u->dim > 0 && phase->bound[i] > 0;
        c->dw[i] = 0;
        if (u->dim == 0)
            continue;
        phase->x[u->row] = fmax(1, 2 * phase->bound[i]);
        phase->s[u->row] = 1;
        c->p[i] = phase->x[u->row] - phase->bound[i];
        c->w[i] = 1;
    }
}

static double dual_residual(const tg_ccp *c, const double *x, const double *s, double *rd)
{
    int n = c->units;
    double largest = 0;
    for (int i = 0; i < n; i++)
        rd[i] = c->q[i] - s[i] + dot(n, c->H + (size_t)i * (size_t)n, x);
    for (int i = 0; i < c->cones; i++)
        if (c->unit[i].has_bound)
            rd[c->unit[i].row] -= c->w[i];
    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(rd[i]));
    return largest;
}

static void move(tg_ccp *c, double *x, double *s, double step)
{
    for (int i = 0; i < c->units; i++)
    {
        x[i] += step * c->dx[i];
        s[i] += step * c->ds[i];
    }
    for (int i = 0; i < c->cones; i++)
        if (c->unit[i].has_bound)
        {
            c->p[i] += step * c->dx[c->unit[i].row];
            c->w[i] += step * c->dw[i];
        }
}

bool tg_ccp_interior(tg_ccp *c, tg_ccp_phase *phase)
{
    double *x = phase->x, *s = phase->s, *rd = c->y;
    start(c, phase);
    for (int k = 0; k < MOST; k++)
    {
        double m = gap(c, x, s, 0), residual = dual_residual(c, x, s, rd);
        if (m <= enough && residual <= enough_dual)
            return true;
        phase->interior++;
        for (int i = 0; i < c->cones; i++)
            if (c->unit[i].dim > 0)
            {
                int row = c->unit[i].row, d = c->unit[i].dim;
                make_scaling(d, x + row, s + row, c->wbar + row, &c->eta[i]);
                boost(d, c->wbar + row, false, c->eta[i], s + row, c->lambda + row);
            }
        factor_system(c);
        if (tg_chol(c->units, c->K, c->units) >= 0)
            return m <= enough_dual; /* rounding ends it */
        solve_system(c, rd, 0, false);
        double ahead = gap(c, x, s, step_length(c, x, s)) / m;
        solve_system(c, rd, fmax(ahead * ahead * ahead, 0) * m, true);
        double step = to_boundary * step_length(c, x, s);
        if (!isfinite(gap(c, x, s, step)))
            return false; /* rounding: x is on the boundary of a cone. The point before is the end */
        move(c, x, s, step);
    }
    return false;
}
