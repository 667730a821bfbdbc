#include "control/counter.h"

#include <math.h>

/* Multipliers and increments of the key (the golden ratio and sqrt(3) - 1 in 32 bits) are those of the paper, which
 * tested them. */
void tg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3], k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++)
    {
        uint64_t a = (uint64_t)0xD2511F53u * c0, b = (uint64_t)0xCD9E8D57u * c2;
        uint32_t high_a = (uint32_t)(a >> 32), high_b = (uint32_t)(b >> 32);
        c0 = high_b ^ c1 ^ k0;
        c2 = high_a ^ c3 ^ k1;
        c1 = (uint32_t)b;
        c3 = (uint32_t)a;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* (0, 1): 52 bits and a half, so that neither end is met */
static double unit(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 20) | (low >> 12);
    return ((double)bits + 0.5) * 0x1p-52;
}

/* Numbers 2 pair and 2 pair + 1 of a draw. */
static void two_units(const tg_draw *d, int pair, double out[2])
{
    const uint32_t counter[4] = {d->plan, d->iteration, d->sample, (uint32_t)pair};
    const uint32_t key[2] = {(uint32_t)d->seed, (uint32_t)(d->seed >> 32)};
    uint32_t bits[4];
    tg_philox(counter, key, bits);
    out[0] = unit(bits[0], bits[1]);
    out[1] = unit(bits[2], bits[3]);
}

void tg_draw_uniform(const tg_draw *draw, int n, double *out)
{
    for (int i = 0; i < n; i += 2)
    {
        double u[2];
        two_units(draw, i / 2, u);
        out[i] = u[0];
        if (i + 1 < n)
            out[i + 1] = u[1];
    }
}

/* sqrt(-2 log u0) (cos 2 pi u1, sin 2 pi u1) */
void tg_draw_normal(const tg_draw *draw, int n, double *out)
{
    const double turn = 6.283185307179586;
    for (int i = 0; i < n; i += 2)
    {
        double u[2];
        two_units(draw, i / 2, u);
        double radius = sqrt(-2 * log(u[0]));
        out[i] = radius * cos(turn * u[1]);
        if (i + 1 < n)
            out[i + 1] = radius * sin(turn * u[1]);
    }
}
