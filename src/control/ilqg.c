/* Max-entropy iLQG with a bounded step (Levine and Koltun, 2013; Levine and Abbeel, 2014), with the derivatives of the
 * steps in place of a fit to samples.
 *
 * The policy of row t is normal: u ~ N(u_t + K_t (x (-) x_t), P_t^-1). Per iteration, with l the cost and T the
 * temperature, the policy p minimises
 *     E_p[l] / T - entropy(p) + eta KL(p || p_old),
 * which is the LQR problem of the cost (l / T - eta log p_old) / (1 + eta): P = Quu, k and K from the backward pass.
 * eta is 0, or as large as the bound on KL needs, by bisection of its logarithm. Then samples of the policy are rolled
 * out, the first without noise, and the cheapest of them is the next nominal rollout. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/planner.h"
#include "math/dense.h"

void tg_ilqg_place(tg_planner *p, tg_arena *arena)
{
    size_t n = (size_t)tg_tangent_size(p->m), nu = (size_t)p->m->nu, nz = n + nu, rows = (size_t)p->def.rows;
    p->gradient = TG_TAKE(arena, double, (rows + 1) * nz, "gradient");
    p->hessian = TG_TAKE(arena, double, (rows + 1) * nz * nz, "hessian");
    p->K_old = TG_TAKE(arena, double, rows *nu *n, "K_old");
    p->P_old = TG_TAKE(arena, double, rows *nu *nu, "P_old");
    p->state_mean = TG_TAKE(arena, double, 2 * n, "state_mean");
    double **squares[] = {&p->state_cov, &p->closed, &p->square};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = TG_TAKE(arena, double, n *n, "square");
    p->wide = TG_TAKE(arena, double, 3 * nu * n, "wide");
    p->factor = TG_TAKE(arena, double, nu *nu, "factor");
    p->deviation = TG_TAKE(arena, double, 2 * nu, "deviation");
}

/* ---- the problem with the old policy in it ---- */

/* gradient and hessian = those of (l / T - eta log p_old) / (1 + eta), log p_old = -1/2 |du - K dx|^2_P + a constant */
static void weigh(tg_planner *p, double eta)
{
    const tg_expansion *e = &p->expansion;
    int n = e->n, nu = e->nu, nz = e->nz;
    double cost = 1 / (p->def.temperature * (1 + eta)), old = eta / (1 + eta);
    for (int i = 0; i < (e->rows + 1) * nz; i++)
        p->gradient[i] = cost * e->gradient[i];
    for (size_t i = 0; i < (size_t)(e->rows + 1) * (size_t)(nz * nz); i++)
        p->hessian[i] = cost * e->hessian[i];
    for (int row = 0; row < e->rows && eta > 0; row++)
    {
        const double *P = p->P_old + (size_t)row * (size_t)(nu * nu), *K = p->K_old + (size_t)row * (size_t)(nu * n);
        double *H = p->hessian + (size_t)row * (size_t)(nz * nz), *PK = p->wide;
        tg_gemm_nn(nu, n, nu, P, nu, K, n, TG_GEMM_SET, PK, n);
        tg_gemm_tn(n, n, nu, K, n, PK, n, TG_GEMM_SET, p->square, n);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                H[i * nz + j] += old * p->square[i * n + j];
        for (int i = 0; i < nu; i++)
            for (int j = 0; j < n; j++)
            {
                H[(n + i) * nz + j] -= old * PK[i * n + j];
                H[j * nz + n + i] -= old * PK[i * n + j];
            }
        for (int i = 0; i < nu; i++)
            for (int j = 0; j < nu; j++)
                H[(n + i) * nz + n + j] += old * P[i * nu + j];
    }
}

/* ---- KL ---- */

/* log det of a symmetric matrix; its factor stays in p->factor */
static double log_det(const tg_planner *p, const double *M)
{
    int nu = p->m->nu;
    double sum = 0;
    memcpy(p->factor, M, sizeof(double) * (size_t)(nu * nu));
    if (tg_chol(nu, p->factor, nu) >= 0)
        return NAN;
    for (int i = 0; i < nu; i++)
        sum += 2 * log(p->factor[i * nu + i]);
    return sum;
}

/* KL of a row: 1/2 (tr(P_old P^-1) - nu + log det P - log det P_old + E|k + (K - K_old) x|^2_Pold), x of the given mean
 * and covariance. Leaves the factor of P in p->factor. */
static double row_divergence(tg_planner *p, int row)
{
    const tg_gains *g = &p->gains;
    int n = g->n, nu = g->nu;
    const double *Po = p->P_old + (size_t)row * (size_t)(nu * nu), *P = g->Quu + (size_t)row * (size_t)(nu * nu);
    const double *K = g->K + (size_t)row * (size_t)(nu * n), *Ko = p->K_old + (size_t)row * (size_t)(nu * n);
    double *D = p->wide, *PD = D + (size_t)(nu * n), *DS = PD + (size_t)(nu * n), trace = 0, square = 0;
    double *shift = p->deviation, *pushed = shift + nu;
    double logs = -log_det(p, Po);
    logs += log_det(p, P);
    for (int i = 0; i < nu; i++) /* column i of P^-1, times row i of P_old */
    {
        memset(shift, 0, sizeof(double) * (size_t)nu);
        shift[i] = 1;
        tg_chol_solve(nu, p->factor, nu, 1, shift, 1);
        for (int j = 0; j < nu; j++)
            trace += Po[i * nu + j] * shift[j];
    }
    for (int i = 0; i < nu; i++)
    {
        shift[i] = g->k[row * nu + i];
        for (int j = 0; j < n; j++)
        {
            D[i * n + j] = K[i * n + j] - Ko[i * n + j];
            shift[i] += D[i * n + j] * p->state_mean[j];
        }
    }
    tg_gemm_nt(nu, 1, nu, Po, nu, shift, nu, TG_GEMM_SET, pushed, 1);
    tg_gemm_nn(nu, n, nu, Po, nu, D, n, TG_GEMM_SET, PD, n);
    tg_gemm_nn(nu, n, n, D, n, p->state_cov, n, TG_GEMM_SET, DS, n);
    for (int i = 0; i < nu; i++)
        square += shift[i] * pushed[i];
    for (int i = 0; i < nu * n; i++)
        square += PD[i] * DS[i];
    return 0.5 * (trace - nu + logs + square);
}

/* Mean and covariance of the state behind a row: m <- A m + B (k + K m), S <- (A + B K) S (A + B K)' + B P^-1 B'.
 * p->factor: of P. */
static void propagate(tg_planner *p, int row)
{
    const tg_gains *g = &p->gains;
    const tg_expansion *e = &p->expansion;
    int n = g->n, nu = g->nu;
    size_t nn = (size_t)(n * n);
    const double *A = e->A + (size_t)row * nn, *B = e->B + (size_t)row * (size_t)(n * nu);
    double *mean = p->state_mean, *next = mean + n, *T = p->wide;
    memcpy(p->closed, A, sizeof(double) * nn);
    tg_gemm_nn(n, n, nu, B, nu, g->K + (size_t)row * (size_t)(nu * n), n, TG_GEMM_ADD, p->closed, n);
    tg_gemm_nt(n, 1, n, p->closed, n, mean, n, TG_GEMM_SET, next, 1);
    tg_gemm_nt(n, 1, nu, B, nu, g->k + (size_t)row * (size_t)nu, nu, TG_GEMM_ADD, next, 1);
    memcpy(mean, next, sizeof(double) * (size_t)n);
    tg_gemm_nn(n, n, n, p->closed, n, p->state_cov, n, TG_GEMM_SET, p->square, n);
    tg_gemm_nt(n, n, n, p->square, n, p->closed, n, TG_GEMM_SET, p->state_cov, n);
    for (int i = 0; i < n; i++) /* T (nu x n) = L^-1 B', so that B P^-1 B' = T'T */
        for (int j = 0; j < nu; j++)
            T[j * n + i] = B[i * nu + j];
    tg_trsm(TG_TRI_LOWER, nu, p->factor, nu, n, T, n);
    tg_gemm_tn(n, n, nu, T, n, T, n, TG_GEMM_ADD, p->state_cov, n);
}

static double divergence(tg_planner *p)
{
    size_t n = (size_t)p->gains.n;
    double sum = 0;
    memset(p->state_mean, 0, sizeof(double) * n);
    memset(p->state_cov, 0, sizeof(double) * n * n);
    for (int row = 0; row < p->def.rows; row++)
    {
        sum += row_divergence(p, row);
        propagate(p, row);
    }
    return sum;
}

/* The policy for an eta: its KL; infinite where a Quu is not positive definite. */
static double solve_for(tg_planner *p, double eta)
{
    weigh(p, eta);
    tg_expansion weighed = p->expansion;
    weighed.gradient = p->gradient;
    weighed.hessian = p->hessian;
    if (!tg_backward_pass(&p->gains, &weighed, 0, NULL, NULL, NULL))
        return INFINITY;
    double kl = divergence(p);
    return isfinite(kl) ? kl : INFINITY;
}

/* The smallest eta, within a tenth of the bound, whose policy keeps it. */
static bool bounded_policy(tg_planner *p, double bound, double *kl)
{
    double low = 1e-3, high = 1e-3; /* eta of 0.001 weighs the old policy by a thousandth: as good as none */
    *kl = solve_for(p, 0);
    if (*kl <= bound)
        return true;
    for (; (*kl = solve_for(p, high)) > bound; high *= 10)
    {
        if (high > 1e12)
        {
            memcpy(p->gains.K, p->K_old, sizeof(double) * (size_t)(p->def.rows * p->m->nu) * (size_t)p->gains.n);
            return false;
        }
        low = high;
    }
    for (int i = 0; i < 20 && *kl < 0.9 * bound && high > 1.01 * low; i++)
    {
        double middle = sqrt(low * high), at = solve_for(p, middle);
        if (at > bound)
            low = middle;
        else
        {
            high = middle;
            *kl = at;
        }
    }
    *kl = solve_for(p, high);
    return true;
}

/* ---- samples of the policy ---- */

/* given = nominal + k + L^-T n, P = L L'; sample 0 without n */
static void fill_samples(tg_planner *p, int iteration)
{
    tg_rolls *r = &p->rolls;
    int nu = p->m->nu;
    const double *u = tg_rolls_at(r, r->u, p->nominal, 0, nu);
    for (int s = 0; s < p->def.samples; s++)
    {
        double *given = tg_rolls_at(r, r->given, s, 0, nu);
        tg_plan_noise(p, iteration, s);
        for (int row = 0; row < p->def.rows; row++)
        {
            double *number = p->number + row * nu;
            log_det(p, p->gains.Quu + (size_t)row * (size_t)(nu * nu));
            tg_trsm(TG_TRI_LOWER | TG_TRI_TRANSPOSED, nu, p->factor, nu, 1, number, 1);
            for (int i = 0; i < nu; i++)
            {
                int at = row * nu + i;
                given[at] = u[at] + p->gains.k[at] + (s > 0 ? number[i] : 0);
            }
        }
    }
}

static void first_policy(tg_planner *p)
{
    size_t n = (size_t)p->gains.n, nu = (size_t)p->m->nu, rows = (size_t)p->def.rows;
    if (p->policy)
        memcpy(p->K_old, p->K, sizeof(double) * rows * nu * n);
    else
        memset(p->K_old, 0, sizeof(double) * rows * nu * n);
    memset(p->P_old, 0, sizeof(double) * rows * nu * nu);
    for (size_t row = 0; row < rows; row++)
        for (size_t i = 0; i < nu; i++)
            p->P_old[(row * nu + i) * nu + i] = 1 / (p->noise[i] * p->noise[i]);
}

/* The policy that was sampled is the old one from now on. */
static void take_policy(tg_planner *p)
{
    size_t n = (size_t)p->gains.n, nu = (size_t)p->m->nu, rows = (size_t)p->def.rows;
    memcpy(p->K_old, p->gains.K, sizeof(double) * rows * nu * n);
    memcpy(p->P_old, p->gains.Quu, sizeof(double) * rows * nu * nu);
}

static tg_status roll_policy(tg_planner *p, int iteration, int *best, tg_error *error)
{
    tg_rolls *r = &p->rolls;
    const tg_model *m = p->m;
    const tg_feedback feedback = {p->gains.K, tg_rolls_at(r, r->q, p->nominal, 0, m->nq),
                                  tg_rolls_at(r, r->v, p->nominal, 0, m->nv),
                                  tg_rolls_at(r, r->act, p->nominal, 0, m->na)};
    fill_samples(p, iteration);
    TG_TRY(tg_rolls_run(r, p->def.samples, &feedback, error));
    *best = tg_rolls_cheapest(r, p->def.samples);
    return TG_OK;
}

tg_status tg_plan_ilqg(tg_planner *p, int *found, tg_plan_result *result, tg_error *error)
{
    tg_rolls *r = &p->rolls;
    double most = p->def.kl * p->def.rows, bound = most;
    bool fresh = false;
    *found = p->nominal;
    result->stop = TG_STOP_ITERATIONS;
    TG_TRY(tg_plan_nominal(p, result, error));
    first_policy(p);
    for (; result->iterations < p->def.iterations && result->stop == TG_STOP_ITERATIONS; result->iterations++)
    {
        int best = 0;
        if (!fresh)
            TG_TRY(tg_expand(&p->expansion, r, p->nominal, error));
        fresh = true;
        if (!bounded_policy(p, bound, &result->share))
        {
            result->stop = TG_STOP_STUCK;
            break;
        }
        TG_TRY(roll_policy(p, result->iterations, &best, error));
        double before = r->total[p->nominal], after = r->total[best];
        if (!(after < before)) /* the expansion does not hold that far */
        {
            bound /= 4;
            if (bound < 1e-6 * most)
                result->stop = TG_STOP_STUCK;
            continue;
        }
        tg_rolls_copy(r, best, p->nominal);
        take_policy(p);
        fresh = false;
        bound = fmin(most, 2 * bound);
        if (before - after <= p->def.tolerance * fabs(before))
            result->stop = TG_STOP_COST;
    }
    return TG_OK;
}
