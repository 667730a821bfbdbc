/* The derivative of an island's impulses under a smoothed law.
 *
 * The laws of a block say x = P(x - rho s), P the projection onto its cone (alart_curnier.c), in scaled variables.
 * Smoothed, the block is at the interior point's central path instead (solver_ipm.c),
 *     x_N s_N = k,    x_N psi + x_T . eta = k,    x_N eta + psi x_T = 0,    k = rho v^2,
 * at the place of it where x / rho - s is that of the solution. A contact that is open by less than v carries a little,
 * one that sticks creeps a little, and the derivative has no switches. Divided by x_N, with t = x_T / x_N and eta =
 * -psi t,
 *     ds_N + (s_N / x_N) dx_N = 0
 *     (1 - t t^T) ds_T - 2 (psi / x_N) t dx_N + (psi / x_N) (1 + t t^T) dx_T = 0.
 * Dry friction: (bound + x) psi = (bound - x) z = k, s = psi - z. Equalities: ds = 0, of redundant ones some
 * (implicit_orthogonal.c). */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"

enum
{
    HALVINGS = 60
};

static const double least_part = 1e-12; /* of an impulse or its bound: what rounding leaves is no less */

/* psi with psi (x_N^2 - |x_T|^2) = k x_N, x_T = y_T / (1 / rho + psi / x_N): the left side grows with psi */
static double find_psi(double x_n, double y_t, double rho, double k)
{
    double low = 0, high = 2 * (k / x_n + y_t);
    for (int i = 0; i < HALVINGS; i++)
    {
        double psi = 0.5 * (low + high), x_t = y_t / (1 / rho + psi / x_n);
        if (psi * (x_n * x_n - x_t * x_t) < k * x_n)
            low = psi;
        else
            high = psi;
    }
    return high;
}

static void contact_equations(const tg_cone *cone, const double *x, const double *s, double speed,
                              tg_block_equations *e)
{
    double k = cone->rho_n * speed * speed, y = x[0] / cone->rho_n - s[0], y_t[TG_CONE_MAX] = {0};
    double x_n = 0.5 * cone->rho_n * (y + sqrt(y * y + 4 * speed * speed));
    x_n = tg_larger(x_n, least_part * cone->rho_n * speed);
    e->s[0][0] = 1;
    e->x[0][0] = k / (x_n * x_n);
    if (cone->dim == 1)
        return;
    for (int i = 1; i < cone->dim; i++)
        y_t[i] = x[i] / cone->rho_t - s[i];
    double psi = find_psi(x_n, tg_cone_tangent(cone->dim, y_t), cone->rho_t, k), stiffness = psi / x_n;
    for (int i = 1; i < cone->dim; i++)
    {
        double t_i = y_t[i] / (x_n / cone->rho_t + psi);
        for (int j = 1; j < cone->dim; j++)
        {
            double t_j = y_t[j] / (x_n / cone->rho_t + psi);
            e->s[i][j] = (i == j) - t_i * t_j;
            e->x[i][j] = stiffness * ((i == j) + t_i * t_j);
        }
        e->x[i][0] = -2 * stiffness * t_i;
    }
}

/* x / rho - k / (bound + x) + k / (bound - x) = y grows with x */
static void box_equations(const tg_cone *cone, double x, double s, double speed, tg_block_equations *e)
{
    double k = cone->rho_n * speed * speed, y = x / cone->rho_n - s, low = -cone->bound, high = cone->bound;
    for (int i = 0; i < HALVINGS; i++)
    {
        double middle = 0.5 * (low + high);
        if (middle / cone->rho_n - k / (cone->bound + middle) + k / (cone->bound - middle) < y)
            low = middle;
        else
            high = middle;
    }
    double above = tg_larger(cone->bound + low, least_part * cone->bound),
           below = tg_larger(cone->bound - high, least_part * cone->bound);
    e->s[0][0] = 1;
    e->x[0][0] = k / (above * above) + k / (below * below);
}

tg_block_equations tg_smoothed_law_of(const tg_cone *cone, const double *x, const double *s, double speed)
{
    tg_block_equations e = {.dim = cone->dim};
    if (cone->kind == TG_CONE_UNIT)
        contact_equations(cone, x + cone->row, s + cone->row, speed, &e);
    else if (cone->kind == TG_CONE_BOX)
        box_equations(cone, x[cone->row], s[cone->row], speed, &e);
    else
        e.s[0][0] = 1;
    return e;
}

/* what the equations of a block are asked with */
typedef struct smoothing
{
    const tg_cones *cones;
    const double *speed; /* of the rows of the island */
} smoothing;

static tg_block_equations smoothed_block(const void *user, int block, const double *x, const double *s)
{
    const smoothing *u = user;
    const tg_cone *cone = &u->cones->block[block];
    return tg_smoothed_law_of(cone, x, s, u->speed[u->cones->source[cone->row]]);
}

bool tg_smoothed_build(tg_implicit *f, const double *speed, tg_arena *arena)
{
    tg_cones cones;
    smoothing user = {&cones, speed};
    bool regular;
    for (int b = 0; b < f->island->blocks; b++)
        f->slides[b] = f->island->block[b].kind == TG_BLOCK_CONTACT;
    return tg_blocks_build(f, &cones, smoothed_block, &user, TG_WORST_PIVOT, arena, &regular);
}
