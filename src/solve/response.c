/* How one block answers: L = P(z) with eps z minus its velocity, and D = dP / dz.
 *
 *     contact      L_N = max(0, z_N), L_T the point of the ellipse sum (L_i / mu_i)^2 <= L_N^2 nearest to z_T
 *     equality     L = z
 *     dry friction z, clamped to its bound
 *
 * The nearest point of an ellipse is L_i = mu_i^2 z_i / (mu_i^2 + a), with a >= 0 so that it is on it. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/soft.h"

static const double root_rounding = 0x1p-26; /* of a: convergence is quadratic, so the next step would be rounding */

TG_INLINE tg_phase respond_box(const tg_soft_block *b, double z, double *L, double *D)
{
    bool holds = fabs(z) <= b->bound;
    *L = holds ? z : copysign(b->bound, z);
    if (D != NULL)
        *D = holds;
    return holds ? TG_PHASE_STICK : TG_PHASE_SLIDE;
}

/* a circle: L_T = z_N mu z_T / |z_T| */
TG_INLINE void slide_round(const tg_soft_block *b, double mu, double tangent, const double *z, double *L, double *D)
{
    double ratio = z[0] / tangent; /* |L_T| / |z_T|, tangent = |z_T| / mu */
    int d = b->dim;
    for (int i = 1; i < d; i++)
        L[i] = ratio * z[i];
    for (int i = 1; D != NULL && i < d; i++)
    {
        D[d * i] = z[i] / tangent;
        for (int j = 1; j < d; j++)
            D[d * i + j] = ratio * ((i == j) - (z[i] / tangent) * (z[j] / tangent) / (mu * mu));
    }
}

/* The root a of |mu z / (mu^2 + a)| = z_N. 1 / |.| is concave in a, and nearly linear: from the left of its root Newton
 * does not pass it, from the right it lands on the left. Its asymptote has its value at |mu z| / z_N - the mean of
 * mu^2, weighted with |mu z|^2: never on the right, and the root where all coefficients are equal. */
static double ellipse_start(const tg_soft_block *b, const double *mu, const double *z)
{
    double mean = 0, size = 0;
    for (int i = 1; i < b->dim; i++)
    {
        double m = mu[i] * mu[i], weight = m * z[i] * z[i];
        mean += m * weight;
        size += weight;
    }
    return tg_larger(sqrt(size) / z[0] - mean / size, 0);
}

/* from a guess: the last root, 0 where there is none */
static double ellipse_multiplier(const tg_soft_block *b, const double *mu, const double *z, double a)
{
    a = a > 0 ? a : ellipse_start(b, mu, z);
    for (int k = 0; k < TG_ELLIPSE_STEPS; k++)
    {
        double square = 0, slope = 0;
        for (int i = 1; i < b->dim; i++)
        {
            double inverse = 1 / (mu[i] * mu[i] + a), w = mu[i] * z[i] * inverse;
            square += w * w;
            slope += w * w * inverse;
        }
        double step = (sqrt(square) - z[0]) * square / (z[0] * slope); /* one division: two would wait for each other */
        a = a + step >= 0 ? a + step : ellipse_start(b, mu, z);
        if (!(fabs(step) > root_rounding * a))
            break;
    }
    return a;
}

/* dL_i = c_i dz_i - c_i e_i da with c_i = mu_i^2 / (mu_i^2 + a), e_i = L_i / mu_i^2, and sum e_i dL_i = z_N dz_N */
static void slide_ellipse(const tg_soft_block *b, const double *mu, const double *z, double *L, double *D,
                          double *guess)
{
    double a = ellipse_multiplier(b, mu, z, *guess), c[TG_CONE_MAX], e[TG_CONE_MAX], sum = 0;
    int d = b->dim;
    *guess = a;
    for (int i = 1; i < d; i++)
    {
        double m = mu[i] * mu[i], inverse = 1 / (m + a);
        c[i] = m * inverse;
        L[i] = c[i] * z[i];
        e[i] = z[i] * inverse;
        sum += c[i] * e[i] * e[i];
    }
    for (int i = 1; D != NULL && i < d; i++)
    {
        double share = c[i] * e[i] / sum;
        D[d * i] = share * z[0];
        for (int j = 1; j < d; j++)
            D[d * i + j] = (i == j ? c[i] : 0) - share * c[j] * e[j];
    }
}

TG_INLINE tg_phase respond_contact(const tg_soft_block *b, const double *mu, const double *z, double *L, double *D,
                                   double *guess)
{
    int d = b->dim;
    if (!(z[0] > 0))
    {
        memset(L, 0, sizeof(double) * (size_t)d);
        return TG_PHASE_BREAK;
    }
    L[0] = z[0];
    if (D != NULL)
        D[0] = 1;
    double square = 0;
    for (int i = 1; i < d; i++)
        square += (z[i] / mu[i]) * (z[i] / mu[i]);
    if (square <= z[0] * z[0])
    {
        for (int i = 1; i < d; i++)
        {
            L[i] = z[i];
            if (D != NULL)
                D[(d + 1) * i] = 1;
        }
        return TG_PHASE_STICK;
    }
    if (b->round)
        slide_round(b, mu[1], sqrt(square), z, L, D);
    else
        slide_ellipse(b, mu, z, L, D, guess);
    return TG_PHASE_SLIDE;
}

TG_INLINE tg_phase respond(const tg_soft_block *b, const double *mu, const double *z, double *L, double *D,
                           double *guess)
{
    if (b->kind == TG_CONE_UNIT)
        return respond_contact(b, mu, z, L, D, guess);
    if (b->kind == TG_CONE_BOX)
        return respond_box(b, z[0], L, D);
    L[0] = z[0];
    if (D != NULL)
        D[0] = 1;
    return TG_PHASE_STICK;
}

tg_phase tg_soft_response(const tg_soft_block *b, const double *mu, const double *z, double *L)
{
    double guess = b->multiplier;
    return respond(b, mu, z, L, NULL, &guess);
}

/* the first equalities; returns the block behind them */
static tg_soft_block *respond_free(tg_soft *p)
{
    memcpy(p->L, p->z, sizeof(double) * (size_t)p->free);
    for (int i = 0; i < p->free; i++)
        p->block[i].phase = TG_PHASE_STICK;
    return p->block + p->free;
}

void tg_soft_respond(tg_soft *p)
{
    for (tg_soft_block *b = respond_free(p); b < p->block + p->blocks; b++)
        b->phase = respond(b, p->mu + b->row, p->z + b->row, p->L + b->row, NULL, &b->multiplier);
}

void tg_soft_slopes(tg_soft *p)
{
    for (int i = 0; i < p->free; i++)
        p->D[i] = 1;
    for (tg_soft_block *b = respond_free(p); b < p->block + p->blocks; b++)
    {
        double *D = p->D + b->slope;
        memset(D, 0, sizeof(double) * (size_t)(b->dim * b->dim));
        b->phase = respond(b, p->mu + b->row, p->z + b->row, p->L + b->row, D, &b->multiplier);
    }
}

/* x = D x of a block, D (d x d) */
TG_INLINE void multiply_slope(int d, const double *D, double *x)
{
    double out[TG_CONE_MAX];
    for (int i = 0; i < d; i++)
    {
        out[i] = D[d * i] * x[0];
        for (int j = 1; j < d; j++)
            out[i] += D[d * i + j] * x[j];
    }
    for (int i = 0; i < d; i++)
        x[i] = out[i];
}

void tg_soft_slope(const tg_soft *p, double *x)
{
    for (const tg_soft_block *b = p->block + p->free; b < p->block + p->blocks; b++)
    {
        const double *D = p->D + b->slope;
        double *at = x + b->row;
        if (b->phase == TG_PHASE_STICK)
            continue; /* D = 1 */
        if (b->phase == TG_PHASE_BREAK)
            for (int i = 0; i < b->dim; i++)
                at[i] = 0;
        else if (b->dim == 1)
            at[0] *= D[0];
        else if (b->dim == 1 + 2) /* a normal and two tangents */
            multiply_slope(1 + 2, D, at);
        else
            multiply_slope(b->dim, D, at);
    }
}

/* The line search calls these most often: the response of every kind of block is inlined, without its slopes. */
TG_INLINE double block_gain(const tg_soft *p, const tg_soft_block *b, double t, tg_phase *phase)
{
    const double *Jstep = p->Jstep + b->row, *before = p->L + b->row;
    double z[TG_CONE_MAX], L[TG_CONE_MAX], guess = b->multiplier, sum = 0;
    z[0] = p->z[b->row] + t * p->dz[b->row];
    for (int i = 1; i < b->dim; i++)
        z[i] = p->z[b->row + i] + t * p->dz[b->row + i];
    *phase = respond(b, p->mu + b->row, z, L, NULL, &guess);
    for (int i = 0; i < b->dim; i++)
        sum += (L[i] - before[i]) * Jstep[i];
    return sum;
}

/* Responses are linear where blocks hold, where they are open, and beyond a bound of dry friction; each of these sets
 * of z is convex. */
double tg_soft_whole_gain(tg_soft *p)
{
    double others = 0;
    p->gain = v4_dot_of(p->free, p->dz, p->Jstep);
    p->turnings = 0;
    for (const tg_soft_block *b = p->block + p->free; b < p->block + p->blocks; b++)
    {
        tg_phase after;
        double gain;
        if (b->kind == TG_CONE_UNIT && b->phase == TG_PHASE_BREAK && !(p->z[b->row] + p->dz[b->row] > 0))
            continue; /* open, and stays so */
        gain = block_gain(p, b, 1, &after);
        if (after == b->phase && (after == TG_PHASE_STICK || (b->kind == TG_CONE_BOX && gain == 0)))
            p->gain += gain;
        else
        {
            p->turning[p->turnings++] = (int)(b - p->block);
            others += gain;
        }
    }
    return p->gain + others;
}

double tg_soft_gain(const tg_soft *p, double t)
{
    double sum = t * p->gain;
    for (int k = 0; k < p->turnings; k++)
    {
        tg_phase after;
        sum += block_gain(p, p->block + p->turning[k], t, &after);
    }
    return sum;
}

void tg_block_bound(const tg_block *block, const double *z, double *L)
{
    double square = 0;
    if (block->kind == TG_BLOCK_EQUALITY)
    {
        memcpy(L, z, sizeof(double) * (size_t)block->rows);
        return;
    }
    if (block->kind == TG_BLOCK_FRICTION)
    {
        L[0] = fabs(z[0]) <= block->bound ? z[0] : copysign(block->bound, z[0]);
        return;
    }
    L[0] = tg_larger(z[0], 0);
    for (int i = 1; i < block->rows; i++)
    {
        double mu = block->mu[i - 1];
        L[i] = mu > 0 ? z[i] : 0;
        square += mu > 0 ? (z[i] / mu) * (z[i] / mu) : 0;
    }
    for (int i = 1; i < block->rows && square > L[0] * L[0]; i++)
        L[i] *= L[0] / sqrt(square);
}
