/* Masses, constraints and their system (saddle.h). */
#include "cartesian/saddle.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/dense.h"

/* ---- masses ---- */

void tg_mass(const tg_cartesian *c, const double *theta, const double *z, double *y)
{
    int d = c->dim;
    for (int b = 0; b < c->bodies; b++)
    {
        const double *lambda = theta + tg_at_lambda(c) + b * d, *z0 = z + c->first[b] * d;
        double m = theta[b], *y0 = y + c->first[b] * d;
        for (int a = 0; a < d; a++)
        {
            double centre = z0[a];
            y0[a] = m * centre;
            for (int k = 1; k < c->body[b].points; k++)
            {
                double p = m * lambda[k - 1] * (z0[k * d + a] - centre);
                y0[k * d + a] = p;
                y0[a] -= p;
            }
        }
    }
}

void tg_mass_inverse_body(const tg_cartesian *c, const double *theta, int b, const double *z, double *y)
{
    int d = c->dim;
    const double *lambda = theta + tg_at_lambda(c) + b * d, *z0 = z + c->first[b] * d;
    double m = theta[b], *y0 = y + c->first[b] * d;
    for (int a = 0; a < d; a++)
    {
        double sum = 0;
        for (int k = 0; k < c->body[b].points; k++)
            sum += z0[k * d + a];
        for (int k = 1; k < c->body[b].points; k++)
            y0[k * d + a] = (sum + z0[k * d + a] / lambda[k - 1]) / m;
        y0[a] = sum / m;
    }
}

void tg_mass_inverse(const tg_cartesian *c, const double *theta, const double *z, double *y)
{
    for (int b = 0; b < c->bodies; b++)
        tg_mass_inverse_body(c, theta, b, z, y);
}

void tg_mass_gradient(const tg_cartesian *c, const double *theta, double factor, const double *a, const double *b,
                      double *theta_bar)
{
    int d = c->dim;
    for (int i = 0; i < c->bodies; i++)
    {
        const double *a0 = a + c->first[i] * d, *b0 = b + c->first[i] * d;
        double sum = tg_dot(d, a0, b0);
        for (int k = 1; k < c->body[i].points; k++)
        {
            double part = 0;
            for (int e = 0; e < d; e++)
                part += (a0[k * d + e] - a0[e]) * (b0[k * d + e] - b0[e]);
            int at = tg_at_lambda(c) + i * d + k - 1;
            theta_bar[at] += factor * theta[i] * part;
            sum += theta[at] * part;
        }
        theta_bar[i] += factor * sum;
    }
}

void tg_mass_change(const tg_cartesian *c, const double *theta, const double *dtheta, double factor, const double *z,
                    double *y)
{
    int d = c->dim;
    for (int b = 0; b < c->bodies; b++)
    {
        const double *z0 = z + c->first[b] * d;
        double *y0 = y + c->first[b] * d;
        for (int a = 0; a < d; a++)
        {
            y0[a] += factor * dtheta[b] * z0[a];
            for (int k = 1; k < c->body[b].points; k++)
            {
                int at = tg_at_lambda(c) + b * d + k - 1;
                double p = factor * (dtheta[b] * theta[at] + theta[b] * dtheta[at]) * (z0[k * d + a] - z0[a]);
                y0[k * d + a] += p;
                y0[a] -= p;
            }
        }
    }
}

/* ---- constraints ---- */

/* weight of point k of a body in the point with coordinates c in its axes */
static double pivot_weight(const tg_cartesian_constraint *q, int dim, int k)
{
    double sum = 1;
    if (k > 0)
        return q->c[k - 1];
    for (int a = 0; a < dim; a++)
        sum -= q->c[a];
    return sum;
}

static double pivot_coordinate(const tg_cartesian *c, const tg_cartesian_constraint *q, const double *z, int a)
{
    double sum = 0;
    for (int k = 0; k <= c->dim; k++)
        sum += pivot_weight(q, c->dim, k) * z[(c->first[q->i] + k) * c->dim + a];
    return sum;
}

/* 2 (p - s) . (z_i - z_j), p = x_i - x_j without the anchor s */
static double quadratic(const tg_cartesian *c, const tg_cartesian_constraint *q, const double *x, const double *anchor,
                        const double *z)
{
    int d = c->dim;
    double sum = 0;
    for (int a = 0; a < d; a++)
    {
        bool pair = q->kind == TG_CARTESIAN_DISTANCE;
        double p = x[q->i * d + a] - (pair ? x[q->j * d + a] : anchor != NULL ? anchor[a] : 0);
        sum += 2 * p * (z[q->i * d + a] - (pair ? z[q->j * d + a] : 0));
    }
    return sum;
}

static void quadratic_t(const tg_cartesian *c, const tg_cartesian_constraint *q, const double *x, const double *anchor,
                        double l, double *y)
{
    int d = c->dim;
    for (int a = 0; a < d; a++)
    {
        bool pair = q->kind == TG_CARTESIAN_DISTANCE;
        double p = 2 * l * (x[q->i * d + a] - (pair ? x[q->j * d + a] : anchor != NULL ? anchor[a] : 0));
        y[q->i * d + a] += p;
        if (pair)
            y[q->j * d + a] -= p;
    }
}

void tg_phi_x(const tg_cartesian *c, const double *x, const double *z, double *y)
{
    for (int i = 0; i < c->constraints; i++)
    {
        const tg_cartesian_constraint *q = &c->constraint[i];
        if (q->kind != TG_CARTESIAN_PIVOT)
            y[c->row[i]] = quadratic(c, q, x, q->anchor, z);
        for (int a = 0; a < c->dim && q->kind == TG_CARTESIAN_PIVOT; a++)
            y[c->row[i] + a] = pivot_coordinate(c, q, z, a);
    }
}

static void row_t(const tg_cartesian *c, const tg_cartesian_constraint *q, int a, const double *x, double l, double *y)
{
    if (q->kind != TG_CARTESIAN_PIVOT)
        quadratic_t(c, q, x, q->anchor, l, y);
    else
        for (int k = 0; k <= c->dim; k++)
            y[(c->first[q->i] + k) * c->dim + a] += pivot_weight(q, c->dim, k) * l;
}

void tg_phi_x_t(const tg_cartesian *c, const double *x, double factor, const double *l, double *y)
{
    for (int i = 0; i < c->constraints; i++)
        for (int a = 0; a < (c->constraint[i].kind == TG_CARTESIAN_PIVOT ? c->dim : 1); a++)
            row_t(c, &c->constraint[i], a, x, factor * l[c->row[i] + a], y);
}

void tg_phi_xx(const tg_cartesian *c, const double *a, const double *z, double *y)
{
    for (int i = 0; i < c->constraints; i++)
    {
        const tg_cartesian_constraint *q = &c->constraint[i];
        if (q->kind != TG_CARTESIAN_PIVOT)
            y[c->row[i]] = quadratic(c, q, a, NULL, z);
        for (int k = 0; k < c->dim && q->kind == TG_CARTESIAN_PIVOT; k++)
            y[c->row[i] + k] = 0;
    }
}

void tg_phi_xx_t(const tg_cartesian *c, const double *a, double factor, const double *l, double *y)
{
    for (int i = 0; i < c->constraints; i++)
        if (c->constraint[i].kind != TG_CARTESIAN_PIVOT)
            quadratic_t(c, &c->constraint[i], a, NULL, factor * l[c->row[i]], y);
}

void tg_phi(const tg_cartesian *c, const double *x, double *y)
{
    for (int i = 0; i < c->constraints; i++)
    {
        const tg_cartesian_constraint *q = &c->constraint[i];
        int d = c->dim;
        double sum = -q->length * q->length;
        for (int a = 0; a < d; a++)
        {
            if (q->kind == TG_CARTESIAN_PIVOT)
            {
                y[c->row[i] + a] = pivot_coordinate(c, q, x, a) - q->anchor[a];
                continue;
            }
            double p = x[q->i * d + a] - (q->kind == TG_CARTESIAN_DISTANCE ? x[q->j * d + a] : q->anchor[a]);
            sum += p * p;
        }
        if (q->kind != TG_CARTESIAN_PIVOT)
            y[c->row[i]] = sum;
    }
}

/* ---- the system ---- */

tg_status tg_saddle_factor(tg_cartesian_lane *lane, const double *theta, const double *x)
{
    const tg_cartesian *c = lane->c;
    int E = lane->E;
    lane->saddle = (tg_saddle){.x = x, .theta = theta, .S = lane->S};
    for (int i = 0; i < c->constraints; i++)
        for (int a = 0; a < (c->constraint[i].kind == TG_CARTESIAN_PIVOT ? c->dim : 1); a++)
        {
            memset(lane->column, 0, sizeof *lane->column * (size_t)lane->n);
            row_t(c, &c->constraint[i], a, x, 1, lane->column);
            tg_mass_inverse(c, theta, lane->column, lane->column);
            tg_phi_x(c, x, lane->column, lane->S + (size_t)(c->row[i] + a) * (size_t)E);
        }
    int bad = E > 0 ? tg_chol(E, lane->S, E) : -1;
    if (bad >= 0)
        return tg_fail(&lane->error, TG_ERR_NUMERIC, "%s: row %d of the constraints depends on the rows before it",
                       c->name, bad);
    return TG_OK;
}

/* l = S^-1 (Je M^-1 f - b), a = M^-1 (f - Je^T l) */
void tg_saddle_solve(tg_cartesian_lane *lane, const double *f, const double *b, double *a, double *l)
{
    const tg_cartesian *c = lane->c;
    int E = lane->E, n = lane->n;
    if (E == 0)
    {
        tg_mass_inverse(c, lane->saddle.theta, f, a);
        return;
    }
    tg_mass_inverse(c, lane->saddle.theta, f, lane->column);
    tg_phi_x(c, lane->saddle.x, lane->column, lane->rhs);
    for (int i = 0; i < E; i++)
        lane->rhs[i] -= b != NULL ? b[i] : 0;
    tg_chol_solve(E, lane->S, E, 1, lane->rhs, 1);
    memcpy(l, lane->rhs, sizeof *l * (size_t)E);
    memcpy(lane->column, f, sizeof *f * (size_t)n);
    tg_phi_x_t(c, lane->saddle.x, -1, l, lane->column);
    tg_mass_inverse(c, lane->saddle.theta, lane->column, a);
}

void tg_saddle_gradient(const tg_cartesian_lane *lane, const double *a, const double *l, const double *A,
                        const double *L, double *x_bar, double *theta_bar)
{
    tg_mass_gradient(lane->c, lane->saddle.theta, -1, A, a, theta_bar);
    tg_phi_xx_t(lane->c, A, -1, l, x_bar);
    tg_phi_xx_t(lane->c, a, -1, L, x_bar);
}

void tg_saddle_change(const tg_cartesian_lane *lane, const double *dx, const double *dtheta, const double *a,
                      const double *l, double *f, double *b)
{
    const tg_cartesian *c = lane->c;
    tg_mass_change(c, lane->saddle.theta, dtheta, -1, a, f);
    tg_phi_xx_t(c, dx, -1, l, f);
    if (lane->E == 0)
        return;
    tg_phi_xx(c, dx, a, lane->rhs);
    for (int i = 0; i < lane->E; i++)
        b[i] -= lane->rhs[i];
}
