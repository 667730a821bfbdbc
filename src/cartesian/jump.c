/* The velocity jump (jump.h). */
#include "cartesian/jump.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "cartesian/lemke.h"
#include "cartesian/saddle.h"
#include "cartesian/touch.h"
#include "math/dense.h"

static const double recovery = 8;     /* steps in which a penetration would be gone at the speed v* */
static const double dependent = 1e-9; /* pivots of J J^T below this part of the diagonal: rows depend on each other */
static const double dependent_ridge = 1e-9; /* what is then added to it, in parts of the largest diagonal */

static void zero(int n, double *v)
{
    memset(v, 0, sizeof *v * (size_t)n);
}

/* ---- the problem ---- */

static void set_cones(tg_cartesian_lane *lane, const double *theta)
{
    const tg_cartesian *c = lane->c;
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        int type = c->contact[t->slot].type;
        lane->cone[i] = (tg_ccp_cone){.row = t->row, .rows = t->rows, .e = theta[tg_at_e(c) + type]};
        for (int r = 1; r < t->rows; r++)
            lane->cone[i].mu[r - 1] = theta[tg_at_mu(c) + type];
        lane->depth[t->row] = -t->distance / (recovery * lane->options->dt);
        for (int r = 1; r < t->rows; r++)
            lane->depth[t->row + r] = 0;
    }
}

/* column <- M^-1 column for the bodies of a contact; the others are 0 and stay so. clear: makes these 0 again. */
static void touched_bodies(tg_cartesian_lane *lane, const double *theta, const tg_touch *t, bool clear, double *column)
{
    const tg_cartesian *c = lane->c;
    int d = c->dim, last = -1;
    for (int p = 0; p < t->points; p++)
    {
        int body = c->owner[t->point[p]], n = c->body[body].points * d;
        if (body == last)
            continue;
        if (clear)
            zero(n, column + c->first[body] * d);
        else
            tg_mass_inverse_body(c, theta, body, column, column);
        last = body;
    }
}

/* G = J Mhat^-1 J^T, row by row; without constraints a row reaches the bodies of its contact only */
static void set_matrix(tg_cartesian_lane *lane, const double *theta)
{
    int R = lane->rows, n = lane->n, d = lane->c->dim;
    double *column = lane->n1;
    zero(n, column);
    for (int i = 0; i < lane->touches; i++)
        for (int r = 0; r < lane->touch[i].rows; r++)
        {
            const tg_touch *t = &lane->touch[i];
            for (int p = 0; p < t->points; p++)
                memcpy(column + t->point[p] * d, t->coefficient[r][p], sizeof *column * (size_t)d);
            if (lane->E > 0)
                tg_saddle_solve(lane, column, NULL, column, lane->l);
            else
                touched_bodies(lane, theta, t, false, column);
            tg_touch_product(lane, lane->touch, column, lane->G + (size_t)(t->row + r) * (size_t)R);
            if (lane->E > 0)
                zero(n, column);
            else
                touched_bodies(lane, theta, t, true, column);
        }
    for (int i = 0; i < R; i++)
        for (int j = 0; j < i; j++)
            lane->G[i * R + j] = lane->G[j * R + i] = 0.5 * (lane->G[i * R + j] + lane->G[j * R + i]);
}

/* out += Mhat^-1 J^T f; y = J Mhat^-1 z. Both use n1. */
static void add_impulse(tg_cartesian_lane *lane, const double *f, double *out)
{
    zero(lane->n, lane->n1);
    tg_touch_product_t(lane, lane->touch, 1, f, lane->n1);
    tg_saddle_solve(lane, lane->n1, NULL, lane->n1, lane->l);
    for (int k = 0; k < lane->n; k++)
        out[k] += lane->n1[k];
}

static void mobility(tg_cartesian_lane *lane, const double *z, double *y)
{
    tg_saddle_solve(lane, z, NULL, lane->n1, lane->l);
    tg_touch_product(lane, lane->touch, lane->n1, y);
}

/* ---- v* ---- */

/* J J^T = L L^T in lane->JJ, with a ridge where its rows depend on each other */
static void factor_rows(tg_cartesian_lane *lane)
{
    int R = lane->rows;
    double ridge = 0;
    for (int attempt = 0; attempt < 2; attempt++)
    {
        bool good = true;
        for (int i = 0; i < R; i++)
        {
            zero(R, lane->r1);
            lane->r1[i] = 1;
            zero(lane->n, lane->n1);
            tg_touch_product_t(lane, lane->touch, 1, lane->r1, lane->n1);
            tg_touch_product(lane, lane->touch, lane->n1, lane->JJ + (size_t)i * (size_t)R);
            lane->r2[i] = lane->JJ[i * R + i];
            lane->JJ[i * R + i] += ridge;
        }
        good = tg_chol(R, lane->JJ, R) < 0;
        for (int i = 0; i < R && good; i++)
            good = lane->JJ[i * R + i] * lane->JJ[i * R + i] >= dependent * lane->r2[i];
        if (good)
            return;
        lane->ridged = true;
        for (int i = 0; i < R; i++)
            ridge = fmax(ridge, dependent_ridge * lane->r2[i]);
    }
}

static tg_status factor_constraints(tg_cartesian_lane *lane, const double *x)
{
    const tg_cartesian *c = lane->c;
    int E = lane->E;
    for (int i = 0; i < E; i++)
    {
        zero(E, lane->l);
        lane->l[i] = 1;
        zero(lane->n, lane->n1);
        tg_phi_x_t(c, x, 1, lane->l, lane->n1);
        tg_phi_x(c, x, lane->n1, lane->E2 + (size_t)i * (size_t)E);
    }
    if (E > 0 && tg_chol(E, lane->E2, E) >= 0)
        return tg_fail(&lane->error, TG_ERR_NUMERIC, "%s: constraints depend on each other", c->name);
    return TG_OK;
}

/* out = z - Je^T k, k = (Je Je^T)^-1 Je z */
static void project(tg_cartesian_lane *lane, const double *x, const double *z, double *out, double *k)
{
    const tg_cartesian *c = lane->c;
    memcpy(out, z, sizeof *z * (size_t)lane->n);
    if (lane->E == 0)
        return;
    tg_phi_x(c, x, z, k);
    tg_chol_solve(lane->E, lane->E2, lane->E, 1, k, 1);
    tg_phi_x_t(c, x, -1, k, out);
}

/* G of full rank: every velocity of the rows can be reached */
static bool all_reachable(tg_cartesian_lane *lane)
{
    int R = lane->rows;
    memcpy(lane->JJ, lane->G, sizeof *lane->G * (size_t)R * (size_t)R);
    bool good = tg_chol(R, lane->JJ, R) < 0;
    for (int i = 0; i < R && good; i++)
        good = lane->JJ[i * R + i] * lane->JJ[i * R + i] >= dependent * lane->G[i * R + i];
    return good;
}

static tg_status set_target(tg_cartesian_lane *lane, const double *x)
{
    int R = lane->rows;
    memcpy(lane->target, lane->depth, sizeof *lane->target * (size_t)R);
    lane->ridged = false;
    lane->projected = !all_reachable(lane);
    if (!lane->projected)
        return TG_OK;
    factor_rows(lane);
    TG_TRY(factor_constraints(lane, x));
    memcpy(lane->eta, lane->depth, sizeof *lane->eta * (size_t)R);
    tg_chol_solve(R, lane->JJ, R, 1, lane->eta, 1);
    zero(lane->n, lane->reach);
    tg_touch_product_t(lane, lane->touch, 1, lane->eta, lane->reach);
    project(lane, x, lane->reach, lane->reached, lane->kappa);
    tg_touch_product(lane, lane->touch, lane->reached, lane->target);
    return TG_OK;
}

/* From the gradient of v*_c: adds to those of J (lane->change) and of x; writes that of depth to depth_bar. */
static void target_vjp(tg_cartesian_lane *lane, const double *x, const double *bar, double *depth_bar, double *x_bar)
{
    int R = lane->rows;
    double *wb = lane->n1, *W = lane->n2, *K = lane->l;
    memcpy(depth_bar, bar, sizeof *bar * (size_t)R);
    if (!lane->projected)
        return;
    tg_touch_gradient_add(lane, 1, bar, lane->reached);
    zero(lane->n, wb);
    tg_touch_product_t(lane, lane->touch, 1, bar, wb);
    project(lane, x, wb, W, K);
    tg_phi_xx_t(lane->c, W, -1, lane->kappa, x_bar);
    tg_phi_xx_t(lane->c, lane->reached, -1, K, x_bar);
    tg_touch_product(lane, lane->touch, W, depth_bar);
    tg_chol_solve(R, lane->JJ, R, 1, depth_bar, 1);
    tg_touch_gradient_add(lane, -1, depth_bar, lane->reach);
    tg_touch_product_t(lane, lane->touch, -1, depth_bar, W);
    tg_touch_gradient_add(lane, 1, lane->eta, W);
}

/* dv*_c along d depth and dJ (lane->change), dx */
static void target_jvp(tg_cartesian_lane *lane, const double *x, const double *dx, const double *ddepth, double *out)
{
    int R = lane->rows, E = lane->E, n = lane->n;
    double *dw = lane->n1, *dw2 = lane->n2, *k = lane->l;
    memcpy(out, ddepth, sizeof *out * (size_t)R);
    if (!lane->projected)
        return;
    /* (J J^T) deta = ddepth - dJ w - J dJ^T eta */
    double *deta = lane->r1, *part = lane->r2;
    zero(n, dw);
    tg_touch_product_t(lane, lane->change, 1, lane->eta, dw);
    tg_touch_product(lane, lane->touch, dw, part);
    tg_touch_product(lane, lane->change, lane->reach, deta);
    for (int i = 0; i < R; i++)
        deta[i] = ddepth[i] - deta[i] - part[i];
    tg_chol_solve(R, lane->JJ, R, 1, deta, 1);
    tg_touch_product_t(lane, lane->touch, 1, deta, dw);
    /* w' of (I Je^T; Je 0): rows -dJe w', right side dw - dJe^T kappa */
    tg_phi_xx_t(lane->c, dx, -1, lane->kappa, dw);
    project(lane, x, dw, dw2, k);
    if (E > 0)
    {
        tg_phi_xx(lane->c, dx, lane->reached, k);
        tg_chol_solve(E, lane->E2, E, 1, k, 1);
        tg_phi_x_t(lane->c, x, -1, k, dw2);
    }
    tg_touch_product(lane, lane->touch, dw2, out);
    tg_touch_product(lane, lane->change, lane->reached, part);
    for (int i = 0; i < R; i++)
        out[i] += part[i];
}

/* ---- the jump ---- */

static tg_ccp_problem problem_of(const tg_cartesian_lane *lane, const double *theta)
{
    return (tg_ccp_problem){.rows = lane->rows,
                            .cones = lane->touches,
                            .cone = lane->cone,
                            .G = lane->G,
                            .ldg = lane->rows,
                            .g = lane->g,
                            .target = lane->target,
                            .eps = theta[tg_at_eps(lane->c)]};
}

tg_status tg_jump(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v, double *v1)
{
    int n = lane->n;
    lane->residual = 0;
    TG_TRY(tg_touch_find(lane, x));
    if (v1 != v)
        memcpy(v1, v, sizeof *v * (size_t)n);
    if (lane->touches == 0)
        return TG_OK;
    TG_TRY(tg_saddle_factor(lane, theta, x));
    set_cones(lane, theta);
    set_matrix(lane, theta);
    tg_touch_product(lane, lane->touch, v, lane->g);
    TG_TRY(set_target(lane, x));
    tg_ccp_problem p = problem_of(lane, theta);
    if (lane->options->law == TG_CARTESIAN_LCP)
        TG_TRY(tg_lcp_impulse(lane, &p, lane->ccp.f));
    else
    {
        TG_TRY(tg_ccp_solve(&lane->ccp, &p, &lane->error));
        lane->residual = fmax(lane->ccp.phase[0].residual, lane->ccp.phase[1].residual);
    }
    add_impulse(lane, lane->ccp.f, v1);
    return TG_OK;
}

/* With f^c, f = f^c + f^r and the vectors yc, yr of the law's reverse (ccp.h) the gradient is that of
 *     v1_bar . (v + Mhat^-1 J^T f) - yc . J (v + Mhat^-1 J^T f^c) - yr . (J (v + Mhat^-1 J^T f) - v*)
 * in which f and y do not change. */
tg_status tg_jump_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                      const double *v1_bar, double *x_bar, double *v_bar, double *theta_bar)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n, R = lane->rows;
    for (int i = 0; i < n; i++)
        v_bar[i] += v1_bar[i];
    if (lane->touches == 0)
        return TG_OK;
    if (lane->options->law == TG_CARTESIAN_LCP)
        return tg_fail(&lane->error, TG_ERR_UNSUPPORTED, "%s: the lcp law has no derivatives", c->name);
    tg_ccp_problem p = problem_of(lane, theta);
    const double *f = lane->ccp.f, *fc = lane->ccp.phase[0].f;
    double *yc = lane->yc, *yr = lane->yr, eps;
    mobility(lane, v1_bar, lane->r3);
    tg_ccp_vjp(&lane->ccp, &p, lane->r3, yc, yr, lane->mu, lane->e, &eps);
    lane->regularised += lane->ridged || lane->ccp.phase[0].redundant || lane->ccp.phase[1].redundant;
    theta_bar[tg_at_eps(c)] += eps;
    for (int i = 0; i < lane->touches; i++)
    {
        theta_bar[tg_at_mu(c) + c->contact[lane->touch[i].slot].type] += lane->mu[i];
        theta_bar[tg_at_e(c) + c->contact[lane->touch[i].slot].type] += lane->e[i];
    }
    double *P = lane->n1, *Q = lane->n2, *F = lane->n3, *Fc = lane->n4;
    memcpy(P, v1_bar, sizeof *P * (size_t)n);
    tg_touch_product_t(lane, lane->touch, -1, yr, P);
    zero(n, Q);
    tg_touch_product_t(lane, lane->touch, -1, yc, Q);
    for (int i = 0; i < n; i++)
        v_bar[i] += P[i] - v1_bar[i] + Q[i]; /* -J^T (yc + yr) */
    zero(n, F);
    zero(n, Fc);
    tg_touch_product_t(lane, lane->touch, 1, f, F);
    tg_touch_product_t(lane, lane->touch, 1, fc, Fc);
    tg_saddle_solve(lane, P, NULL, P, lane->l);
    tg_saddle_solve(lane, F, NULL, F, lane->l2);
    tg_saddle_gradient(lane, F, lane->l2, P, lane->l, x_bar, theta_bar);
    tg_saddle_solve(lane, Q, NULL, Q, lane->l);
    tg_saddle_solve(lane, Fc, NULL, Fc, lane->l2);
    tg_saddle_gradient(lane, Fc, lane->l2, Q, lane->l, x_bar, theta_bar);
    tg_touch_gradient_clear(lane);
    tg_touch_gradient_add(lane, 1, f, P);
    tg_touch_gradient_add(lane, 1, fc, Q);
    for (int i = 0; i < n; i++)
    {
        F[i] += v[i];
        Fc[i] += v[i];
    }
    tg_touch_gradient_add(lane, -1, yr, F);
    tg_touch_gradient_add(lane, -1, yc, Fc);
    target_vjp(lane, x, yr, lane->zeta, x_bar);
    for (int i = 0; i < R; i++)
        lane->zeta[i] *= -1 / (recovery * lane->options->dt);
    tg_touch_gradient(lane, x, lane->zeta, x_bar);
    return TG_OK;
}

/* out = d(Mhat^-1 J^T) f at fixed f: solve of dJ^T f - dM a - .. */
static void impulse_change(tg_cartesian_lane *lane, const double *dx, const double *dtheta, const double *f,
                           double *out)
{
    double *a = lane->n1, *b = lane->l3;
    zero(lane->n, a);
    tg_touch_product_t(lane, lane->touch, 1, f, a);
    tg_saddle_solve(lane, a, NULL, a, lane->l2);
    zero(lane->n, out);
    zero(lane->E, b);
    tg_touch_product_t(lane, lane->change, 1, f, out);
    tg_saddle_change(lane, dx, dtheta, a, lane->l2, out, b);
    tg_saddle_solve(lane, out, b, out, lane->l);
}

/* dG f = dJ Mhat^-1 J^T f + J d(Mhat^-1 J^T) f */
static void matrix_change(tg_cartesian_lane *lane, const double *dx, const double *dtheta, const double *f, double *out)
{
    impulse_change(lane, dx, dtheta, f, lane->n2);
    tg_touch_product(lane, lane->change, lane->n1, out);
    tg_touch_product(lane, lane->touch, lane->n2, lane->r3);
    for (int i = 0; i < lane->rows; i++)
        out[i] += lane->r3[i];
}

tg_status tg_jump_jvp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v, const double *dx,
                      const double *dv, const double *dtheta, double *dv1)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n, R = lane->rows;
    if (dv1 != dv)
        memcpy(dv1, dv, sizeof *dv * (size_t)n);
    if (lane->touches == 0)
        return TG_OK;
    if (lane->options->law == TG_CARTESIAN_LCP)
        return tg_fail(&lane->error, TG_ERR_UNSUPPORTED, "%s: the lcp law has no derivatives", c->name);
    tg_ccp_problem p = problem_of(lane, theta);
    double *dg = lane->eta, *df = lane->zeta, *target = lane->e;
    tg_touch_change(lane, x, dx, lane->mu);
    for (int i = 0; i < R; i++)
        lane->mu[i] *= -1 / (recovery * lane->options->dt);
    target_jvp(lane, x, dx, lane->mu, target);
    matrix_change(lane, dx, dtheta, lane->ccp.phase[0].f, lane->yc);
    matrix_change(lane, dx, dtheta, lane->ccp.phase[1].f, lane->yr);
    tg_touch_product(lane, lane->change, v, dg);
    tg_touch_product(lane, lane->touch, dv, lane->r3);
    for (int i = 0; i < R; i++)
        dg[i] += lane->r3[i];
    for (int i = 0; i < lane->touches; i++)
    {
        lane->r1[i] = dtheta[tg_at_mu(c) + c->contact[lane->touch[i].slot].type];
        lane->r2[i] = dtheta[tg_at_e(c) + c->contact[lane->touch[i].slot].type];
    }
    tg_ccp_change change = {.Gc = lane->yc,
                            .Gr = lane->yr,
                            .g = dg,
                            .target = target,
                            .mu = lane->r1,
                            .e = lane->r2,
                            .eps = dtheta[tg_at_eps(c)]};
    tg_ccp_jvp(&lane->ccp, &p, &change, df);
    impulse_change(lane, dx, dtheta, lane->ccp.f, lane->n2);
    for (int k = 0; k < n; k++)
        dv1[k] += lane->n2[k];
    add_impulse(lane, df, dv1);
    return TG_OK;
}

/* ---- time of impact ---- */

/* Contact i happens t_i = depth_i / |J_n v| before the end of the step; from then on the bodies move with the new
 * velocity:
 *     x1 + sum_i t_i dv_i,  dv_i = Mhat^-1 J_i^T f_i.    With t_i -> 0 its derivative is I - sum_i dv_i J_n / |J_n v|.
 */
static double approach(const tg_cartesian_lane *lane, const tg_touch *t)
{
    return lane->depth[t->row] > 0 && lane->g[t->row] < 0 ? -lane->g[t->row] : 0;
}

void tg_jump_toi_vjp(tg_cartesian_lane *lane, double *x_bar)
{
    if (lane->touches == 0)
        return;
    mobility(lane, x_bar, lane->r2);
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        double speed = approach(lane, t), sum = tg_dot(t->rows, lane->ccp.f + t->row, lane->r2 + t->row);
        lane->r1[t->row] = speed > 0 ? -sum / speed : 0;
        for (int r = 1; r < t->rows; r++)
            lane->r1[t->row + r] = 0;
    }
    tg_touch_product_t(lane, lane->touch, 1, lane->r1, x_bar);
}

void tg_jump_toi_jvp(tg_cartesian_lane *lane, double *dx)
{
    if (lane->touches == 0)
        return;
    tg_touch_product(lane, lane->touch, dx, lane->r1);
    for (int i = 0; i < lane->touches; i++)
    {
        const tg_touch *t = &lane->touch[i];
        double speed = approach(lane, t), factor = speed > 0 ? -lane->r1[t->row] / speed : 0;
        for (int r = 0; r < t->rows; r++)
            lane->r2[t->row + r] = factor * lane->ccp.f[t->row + r];
    }
    add_impulse(lane, lane->r2, dx);
}
