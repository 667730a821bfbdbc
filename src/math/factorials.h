/* 1 / n!, the coefficients of every series of sines and cosines. */
#ifndef TG_MATH_FACTORIALS_H
#define TG_MATH_FACTORIALS_H

static const double tg_inverse_factorial[] = {
    1,
    1,
    1.0 / 2,
    1.0 / 6,
    1.0 / 24,
    1.0 / 120,
    1.0 / 720,
    1.0 / 5040,
    1.0 / 40320,
    1.0 / 362880,
    1.0 / 3628800,
    1.0 / 39916800,
    1.0 / 479001600,
    1.0 / 6227020800,
    1.0 / 87178291200,
    1.0 / 1307674368000,
    1.0 / 20922789888000,
    1.0 / 355687428096000,
    1.0 / 6402373705728000,
    1.0 / 121645100408832000,
    1.0 / 2432902008176640000,
    1.0 / 5.109094217170944e19,
    1.0 / 1.12400072777760768e21,
    1.0 / 2.585201673888497664e22,
};

enum
{
    TG_FACTORIALS = sizeof tg_inverse_factorial / sizeof *tg_inverse_factorial
};

#endif
