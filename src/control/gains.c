/* With V, Vx the cost to go at the end of a row (Tassa, Erez and Todorov, 2012; bounds: 2014):
 *     Qx = lx + A'Vx,  Qu = lu + B'Vx,  Qxx = lxx + A'VA,  Qux = lux + B'VA,  Quu = luu + B'VB,
 *     k = argmin 1/2 k'(Quu + r D) k + Qu'k within the bounds,  K = -(Quu + r D)^-1 Qux of the controls that no bound
 *         holds,
 *     Vx = Qx + K'Quu k + K'Qu + Qux'k,  V = Qxx + K'Quu K + K'Qux + Qux'K. */
#include "control/gains.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

void tg_gains_place(tg_gains *g, const tg_model *m, int rows, tg_arena *arena)
{
    size_t n = (size_t)tg_tangent_size(m), nu = (size_t)m->nu, r = (size_t)rows;
    g->rows = rows;
    g->n = (int)n;
    g->nu = m->nu;
    g->k = TG_TAKE(arena, double, r *nu, "k");
    g->K = TG_TAKE(arena, double, r *nu *n, "K");
    g->Quu = TG_TAKE(arena, double, r *nu *nu, "Quu");
    double **squares[] = {&g->V, &g->VA, &g->Qxx};
    for (size_t i = 0; i < sizeof squares / sizeof *squares; i++)
        *squares[i] = TG_TAKE(arena, double, n *n, "square");
    double **wide[] = {&g->VB, &g->Qux, &g->T, &g->Kf};
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        *wide[i] = TG_TAKE(arena, double, n *nu, "wide");
    g->Vx = TG_TAKE(arena, double, n, "Vx");
    g->Qx = TG_TAKE(arena, double, n, "Qx");
    double **controls[] = {&g->Qu, &g->lower, &g->upper, &g->box.work, &g->box.way};
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        *controls[i] = TG_TAKE(arena, double, nu, "controls");
    g->plain = TG_TAKE(arena, double, nu *nu, "plain");
    g->box.next = TG_TAKE(arena, double, 2 * nu, "next");
    g->box.factor = TG_TAKE(arena, double, nu *nu, "factor");
    g->box.free = TG_TAKE(arena, int, nu, "free");
}

/* to (rows x columns) = the block at (row, column) of a matrix with ld columns */
static void cut(const double *from, int ld, int row, int column, int rows, int columns, double *to)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + i * columns, from + (size_t)(row + i) * (size_t)ld + column, sizeof(double) * (size_t)columns);
}

static void symmetrise(int n, double *x)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            x[i * n + j] = x[j * n + i] = 0.5 * (x[i * n + j] + x[j * n + i]);
}

/* Q of a row from V behind it. */
static void expand_value(tg_gains *g, const tg_expansion *e, int row)
{
    int n = g->n, nu = g->nu, nz = e->nz;
    const double *A = e->A + (size_t)row * (size_t)(n * n), *B = e->B + (size_t)row * (size_t)(n * nu);
    const double *H = e->hessian + (size_t)row * (size_t)(nz * nz), *l = e->gradient + (size_t)row * (size_t)nz;
    memcpy(g->Qx, l, sizeof(double) * (size_t)n);
    memcpy(g->Qu, l + n, sizeof(double) * (size_t)nu);
    cut(H, nz, 0, 0, n, n, g->Qxx);
    cut(H, nz, n, 0, nu, n, g->Qux);
    cut(H, nz, n, n, nu, nu, g->plain);
    tg_gemm_nn(1, n, n, g->Vx, n, A, n, TG_GEMM_ADD, g->Qx, n);
    tg_gemm_nn(1, nu, n, g->Vx, n, B, nu, TG_GEMM_ADD, g->Qu, nu);
    tg_gemm_nn(n, n, n, g->V, n, A, n, TG_GEMM_SET, g->VA, n);
    tg_gemm_nn(n, nu, n, g->V, n, B, nu, TG_GEMM_SET, g->VB, nu);
    tg_gemm_tn(n, n, n, A, n, g->VA, n, TG_GEMM_ADD, g->Qxx, n);
    tg_gemm_tn(nu, n, n, B, nu, g->VA, n, TG_GEMM_ADD, g->Qux, n);
    tg_gemm_tn(nu, nu, n, B, nu, g->VB, nu, TG_GEMM_ADD, g->plain, nu);
    symmetrise(nu, g->plain);
}

/* k and K of a row; false: Quu is not positive definite. */
static bool solve_row(tg_gains *g, int row, double regularisation, const double *u, const double *lower,
                      const double *upper)
{
    int n = g->n, nu = g->nu;
    double *H = g->Quu + (size_t)row * (size_t)(nu * nu), *k = g->k + (size_t)row * (size_t)nu;
    double *K = g->K + (size_t)row * (size_t)(nu * n);
    memcpy(H, g->plain, sizeof(double) * (size_t)(nu * nu));
    for (int i = 0; i < nu; i++)
    {
        H[i * nu + i] += regularisation * fabs(H[i * nu + i]);
        g->lower[i] = lower != NULL ? lower[i] - u[row * nu + i] : -INFINITY;
        g->upper[i] = upper != NULL ? upper[i] - u[row * nu + i] : INFINITY;
        k[i] = 0;
    }
    tg_box_qp *box = &g->box;
    box->n = nu;
    box->H = H;
    box->g = g->Qu;
    box->lower = g->lower;
    box->upper = g->upper;
    box->x = k;
    if (!tg_box_qp_solve(box))
        return false;
    for (int i = 0; i < box->nfree; i++)
        for (int j = 0; j < n; j++)
            g->Kf[i * n + j] = -g->Qux[box->free[i] * n + j];
    tg_chol_solve(box->nfree, box->factor, box->nfree, n, g->Kf, n);
    memset(K, 0, sizeof(double) * (size_t)(nu * n));
    for (int i = 0; i < box->nfree; i++)
        memcpy(K + box->free[i] * n, g->Kf + i * n, sizeof(double) * (size_t)n);
    return true;
}

/* V and Vx at the start of a row. */
static void pull_back(tg_gains *g, int row)
{
    int n = g->n, nu = g->nu;
    const double *k = g->k + (size_t)row * (size_t)nu, *K = g->K + (size_t)row * (size_t)(nu * n);
    double slope = 0, curvature = 0;
    for (int i = 0; i < nu; i++)
    {
        double sum = 0;
        for (int j = 0; j < nu; j++)
            sum += g->plain[i * nu + j] * k[j];
        slope += k[i] * g->Qu[i];
        curvature += 0.5 * k[i] * sum;
        g->upper[i] = sum + g->Qu[i]; /* Quu k + Qu */
    }
    g->slope += slope;
    g->curvature += curvature;
    memcpy(g->Vx, g->Qx, sizeof(double) * (size_t)n);
    tg_gemm_nn(1, n, nu, g->upper, nu, K, n, TG_GEMM_ADD, g->Vx, n);
    tg_gemm_nn(1, n, nu, k, nu, g->Qux, n, TG_GEMM_ADD, g->Vx, n);
    memcpy(g->V, g->Qxx, sizeof(double) * (size_t)(n * n));
    tg_gemm_nn(nu, n, nu, g->plain, nu, K, n, TG_GEMM_SET, g->T, n);
    for (int i = 0; i < nu * n; i++)
        g->T[i] += g->Qux[i]; /* Quu K + Qux */
    tg_gemm_tn(n, n, nu, K, n, g->T, n, TG_GEMM_ADD, g->V, n);
    tg_gemm_tn(n, n, nu, g->Qux, n, K, n, TG_GEMM_ADD, g->V, n);
    symmetrise(n, g->V);
}

bool tg_backward_pass(tg_gains *g, const tg_expansion *e, double regularisation, const double *u, const double *lower,
                      const double *upper)
{
    int nz = e->nz;
    g->slope = g->curvature = 0;
    memcpy(g->Vx, e->gradient + (size_t)e->rows * (size_t)nz, sizeof(double) * (size_t)g->n);
    cut(e->hessian + (size_t)e->rows * (size_t)(nz * nz), nz, 0, 0, g->n, g->n, g->V);
    for (int row = e->rows - 1; row >= 0; row--)
    {
        expand_value(g, e, row);
        if (!solve_row(g, row, regularisation, u, lower, upper))
            return false;
        pull_back(g, row);
    }
    return isfinite(g->slope) && isfinite(g->curvature);
}
