/* Sine and cosine of four angles at once. */
#ifndef TG_MATH_SINCOS_H
#define TG_MATH_SINCOS_H

#include <math.h>

#include "base/simd.h"
#include "math/factorials.h"

/* Largest angle that the fast reduction takes: k P1 and k P2 below are exact while k fits into 20 bits. */
#define SINCOS_MAX_ANGLE 1e6

enum
{
    SINCOS_DEGREE = 16, /* of the polynomial for the cosine, and one more than of that for the sine */
    SIGN_BIT = 63
};

/* Both to about 1e-16 for |x| <= SINCOS_MAX_ANGLE.
 *
 * x = k pi/2 + r, |r| <= pi/4, with pi/2 split into P1 + P2 + P3, where P1 and P2 have 33 bits, so that the products
 * with k are exact (Cody and Waite). sin r and cos r are their Taylor polynomials up to r^15 and r^16; the next terms
 * are below 5e-17. */
static inline void v4_sincos(v4 x, v4 *sine, v4 *cosine)
{
    const double P1 = 0x1.921fb544p+0, P2 = 0x1.0b4611a6p-34, P3 = 0x1.3198a2e037073p-69;
    const double round_magic = 0x1.8p52; /* adding it rounds to an integer and leaves that in the low bits */
    v4 shifted = x * v4_splat(0x1.45f306dc9c883p-1) + v4_splat(round_magic);
    v4 k = shifted - v4_splat(round_magic);
    v4i n = (v4i)shifted;
    v4 r = ((x - k * v4_splat(P1)) - k * v4_splat(P2)) - k * v4_splat(P3);
    v4 z = r * r;

    /* sin r = r - r z s, cos r = c */
    v4 s = v4_splat(tg_inverse_factorial[SINCOS_DEGREE - 1]), c = v4_splat(tg_inverse_factorial[SINCOS_DEGREE]);
    for (int i = SINCOS_DEGREE - 2; i > 2; i -= 2)
    {
        s = v4_splat(tg_inverse_factorial[i - 1]) - z * s;
        c = v4_splat(tg_inverse_factorial[i]) - z * c;
    }
    c = 1 - z * (0.5 - z * c);
    s = r - r * z * s;

    /* quadrant: odd swaps the two; sine changes sign in 2 and 3, cosine in 1 and 2 */
    v4i one = {1, 1, 1, 1};
    v4i swap = -(n & one);
    v4i sign_s = ((n >> 1) & one) << SIGN_BIT;
    v4i sign_c = (((n + one) >> 1) & one) << SIGN_BIT;
    v4i si = ((v4i)s & ~swap) | ((v4i)c & swap);
    v4i ci = ((v4i)c & ~swap) | ((v4i)s & swap);
    *sine = (v4)(si ^ sign_s);
    *cosine = (v4)(ci ^ sign_c);
}

/* n angles; x, s and c padded to a multiple of four */
static inline void sincos_many(const double *x, double *s, double *c, int n)
{
    for (int i = 0; i < n; i += V4_LANES)
    {
        v4 a = v4_load(x + i), sine, cosine;
        if (v4_any(a * a > SINCOS_MAX_ANGLE * SINCOS_MAX_ANGLE)) /* the rare long angle goes to the C library */
        {
            for (int k = i; k < i + V4_LANES; k++)
            {
                s[k] = sin(x[k]);
                c[k] = cos(x[k]);
            }
            continue;
        }
        v4_sincos(a, &sine, &cosine);
        v4_store(s + i, sine);
        v4_store(c + i, cosine);
    }
}

#endif
