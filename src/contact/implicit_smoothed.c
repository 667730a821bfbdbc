/* The derivative of an island's impulses under a smoothed law.
 *
 * The laws of a block say x = P(x - rho s), P the projection onto its cone (alart_curnier.c), in scaled variables.
 * Smoothed, the block is at the interior point's central path instead (solver_ipm.c),
 *     x_N s_N = k,    x_N psi + x_T . eta = k,    x_N eta + psi x_T = 0,    k = rho v^2,
 * at the place of it where x / rho - s is that of the solution. A contact that is open by less than v carries a little,
 * one that sticks creeps a little, and the derivative has no switches. Where hardly anything moves along the normal,
 * impulses of the size rho_N v would hold what moves across it though it is apart: see path_size. Divided by x_N, with
 * t = x_T / x_N and eta = -psi t,
 *     ds_N + (s_N / x_N) dx_N = 0
 *     (1 - t t^T) ds_T - 2 (psi / x_N) t dx_N + (psi / x_N) (1 + t t^T) dx_T = 0.
 * Dry friction: (bound + x) psi = (bound - x) z = k, s = psi - z. Equalities: ds = 0, of redundant ones some
 * (implicit_orthogonal.c).
 *
 * With dx = -K ds and G = S J A^-1 J^T S the velocity after the step follows the free one by P = 1 - A^-1 J^T S K (1 +
 * G K)^-1 S J. If K + K^T has no negative eigenvalue, none of P dv has more kinetic energy than dv. Of a contact, along
 * t,
 *     dx_N = -a ds_N,    dx_t = b dx_N - d ds_t,    a = x_N / s_N,  b = 2 |t| / (1 + |t|^2),
 *                                                   d = (x_N / psi) (1 - |t|^2) / (1 + |t|^2),
 * that is so where b^2 a <= 4 d: to two thirds of the cone. Friction of what slides follows the normal impulse faster,
 * and where what friction does elsewhere bears that impulse, (1 + G K) is nearly singular. The gain, the largest
 * |P dv| / |dv|, is sqrt(1 + G_tt / G_NN) of a contact that slides by itself, without G_Nt. Where it is more than
 * sqrt(1 + the sum of these G_tt / G_NN) the island has less of b - 2 sqrt(d / a); with none no gain is above 1. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/lanes.h"
#include "math/random.h"

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

/* 2 sqrt(d / a) / b, where that is below 1; t2: |t|^2 */
static double monotone_share(double t2, double stiffness, double compliance)
{
    double part = (1 - t2 * t2) * compliance;
    return part >= stiffness * t2 ? 1 : sqrt(tg_larger(part, 0) / (stiffness * t2));
}

/* s + p, of positive numbers with p - s = y and s p = square */
static double path_sum(double y, double square)
{
    return sqrt(y * y + 4 * square);
}

/* rho: rho_N where the contact presses by more than v, the lesser of rho_N and rho_T where it is apart by more; y: by
 * how much it presses. In between by the share that s_N has of s_N + x_N / rho_N on the path of rho_N. */
static double path_size(const tg_cone *cone, double y, double speed)
{
    if (cone->dim == 1 || cone->rho_t >= cone->rho_n)
        return cone->rho_n;
    double sum = path_sum(y, speed * speed), open = 0.5 * (sum - y) / sum;
    return 1 / (open / cone->rho_t + (1 - open) / cone->rho_n);
}

/* excess: how much of b beyond what is monotone; slide: t where there is such, else zero */
static void contact_equations(const tg_cone *cone, const double *x, const double *s, double speed, double excess,
                              tg_block_equations *e, double slide[TG_CONE_MAX])
{
    double y = x[0] / cone->rho_n - s[0], rho = path_size(cone, y, speed), k = rho * speed * speed;
    double sum = path_sum(y, k / cone->rho_n), y_t[TG_CONE_MAX] = {0};
    double x_n = y > 0 ? 0.5 * cone->rho_n * (y + sum) : 2 * k / (sum - y);
    x_n = tg_larger(x_n, least_part * rho * speed);
    e->s[0][0] = 1;
    e->x[0][0] = k / (x_n * x_n);
    if (cone->dim == 1)
        return;
    for (int i = 1; i < cone->dim; i++)
        y_t[i] = x[i] / cone->rho_t - s[i];
    double psi = find_psi(x_n, tg_cone_tangent(cone->dim, y_t), cone->rho_t, k), stiffness = psi / x_n;
    double size = tg_cone_tangent(cone->dim, y_t) / (x_n / cone->rho_t + psi);
    double share = monotone_share(size * size, stiffness, e->x[0][0]);
    for (int i = 1; i < cone->dim; i++)
    {
        double t_i = y_t[i] / (x_n / cone->rho_t + psi);
        for (int j = 1; j < cone->dim; j++)
        {
            double t_j = y_t[j] / (x_n / cone->rho_t + psi);
            e->s[i][j] = (i == j) - t_i * t_j;
            e->x[i][j] = stiffness * ((i == j) + t_i * t_j);
        }
        e->x[i][0] = -2 * (share + excess * (1 - share)) * stiffness * t_i;
        slide[i] = share < 1 ? t_i : 0;
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

tg_block_equations tg_smoothed_law_of(const tg_cone *cone, const double *x, const double *s, double speed,
                                      double excess, double slide[TG_CONE_MAX])
{
    tg_block_equations e = {.dim = cone->dim};
    memset(slide, 0, sizeof(double) * TG_CONE_MAX);
    if (cone->kind == TG_CONE_UNIT)
        contact_equations(cone, x + cone->row, s + cone->row, speed, excess, &e, slide);
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
    double excess;
    double *most; /* sum of t^T G t / G_NN of contacts whose response is not monotone */
} smoothing;

/* t^T G t / G_NN */
static double own_gain(const tg_cones *cones, const tg_cone *cone, const double slide[TG_CONE_MAX])
{
    double sum = 0;
    for (int i = 1; i < cone->dim; i++)
        for (int j = 1; j < cone->dim; j++)
            sum +=
                slide[i] * cones->G[(size_t)(cone->row + i) * (size_t)cones->ld + (size_t)(cone->row + j)] * slide[j];
    return sum == 0 ? 0 : sum / cones->G[(size_t)cone->row * (size_t)(cones->ld + 1)];
}

static tg_block_equations smoothed_block(const void *user, int block, const double *x, const double *s)
{
    const smoothing *u = user;
    const tg_cone *cone = &u->cones->block[block];
    double slide[TG_CONE_MAX];
    tg_block_equations e = tg_smoothed_law_of(cone, x, s, u->speed[u->cones->source[cone->row]], u->excess, slide);
    *u->most += own_gain(u->cones, cone, slide);
    return e;
}

/* ---- gain ---- */

/* y <- y + D G y or y + D^T G y; Gy: G y before */
static void respond(const tg_implicit *f, bool forward, const double *Gy, double *dL, double *y)
{
    if (forward)
        tg_implicit_forward(f, Gy, dL);
    else
        tg_implicit_transpose(f, Gy, dL, NULL);
    for (int i = 0; i < f->island->rows; i++)
        y[i] += dL[i];
}

/* G y, and y^T G y */
static double weigh(const tg_island *island, const double *y, double *Gy)
{
    double sum = 0;
    for (int i = 0; i < island->rows; i++)
    {
        Gy[i] = v4_dot_of(island->rows, island->G + (size_t)i * (size_t)island->ldg, y);
        sum += y[i] * Gy[i];
    }
    return tg_larger(sum, 0);
}

/* The largest |P dv| / |dv| in the norm of kinetic energy, dv = A^-1 J^T y, by powers of P^* P: P y = y + D G y,
 * P^* y = y + D^T G y. Of random numbers a share of 1 / n has it, which grows fourfold by each where all others have
 * sqrt(2) less: by as many as n^2 has digits in base 2. */
static bool find_gain(const tg_implicit *f, tg_arena *arena, double *gain)
{
    int n = f->island->rows;
    size_t mark = tg_arena_mark(arena);
    double *y = TG_TAKE(arena, double, n, "smoothed: impulses"), *Gy = TG_TAKE(arena, double, n, "their velocities"),
           *dL = TG_TAKE(arena, double, n, "smoothed: responses");
    bool fits = !arena->failed;
    *gain = 0;
    if (fits)
        tg_random_numbers(1, n, y);
    for (int left = n * n; left > 0 && fits; left /= 2)
    {
        double before = sqrt(weigh(f->island, y, Gy)), after;
        if (!(before > 0))
            break;
        respond(f, true, Gy, dL, y);
        after = sqrt(weigh(f->island, y, Gy));
        *gain = tg_larger(*gain, after / before);
        respond(f, false, Gy, dL, y);
        for (int k = 0; k < n && after > 0; k++)
            y[k] /= after;
    }
    tg_arena_release(arena, mark);
    return fits;
}

static bool build(tg_implicit *f, const double *speed, double excess, double *most, tg_arena *arena)
{
    tg_cones cones;
    smoothing user = {&cones, speed, excess, most};
    bool regular;
    *most = 0;
    return tg_blocks_build(f, &cones, smoothed_block, &user, TG_WORST_PIVOT, arena, &regular);
}

/* As much of Coulomb's coupling as keeps the gain: all, a half, or none of what is not monotone. */
bool tg_smoothed_build(tg_implicit *f, const double *speed, tg_arena *arena)
{
    const size_t mark = tg_arena_mark(arena);
    double gain, most;
    for (int b = 0; b < f->island->blocks; b++)
        f->slides[b] = f->island->block[b].kind == TG_BLOCK_CONTACT;
    for (double excess = 1;; excess = excess == 1 ? 0.5 : 0)
    {
        tg_arena_release(arena, mark);
        f->bounded = excess < 1;
        if (!build(f, speed, excess, &most, arena))
            return false;
        if (most == 0 || excess == 0)
            return true;
        if (!find_gain(f, arena, &gain))
            return false;
        if (gain * gain <= 1 + most)
            return true;
    }
}
