#include "model/number.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

bool tg_is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

const char *tg_skip_space(const char *text)
{
    while (tg_is_space(*text))
        text++;
    return text;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* A number as digits: value = mantissa * 10^exponent, exact while `exact`. */
typedef struct decimal
{
    uint64_t mantissa;
    int exponent;
    int power; /* as written behind the e */
    bool exact;
    const char *end;
} decimal;

static void add_digit(decimal *d, char c, bool fraction)
{
    if (d->mantissa < 900000000000000u) /* then the sum stays below 2^53 */
    {
        d->mantissa = 10 * d->mantissa + (uint64_t)(c - '0');
        d->exponent -= fraction ? 1 : 0;
    }
    else
    {
        d->exact = d->exact && c == '0';
        d->exponent += fraction ? 0 : 1;
    }
}

/* Scans digits, point and exponent; false when there is no digit. */
static bool scan_decimal(const char *text, decimal *d)
{
    *d = (decimal){.exact = true};
    const char *c = text;
    int digits = 0;
    for (; is_digit(*c); c++, digits++)
        add_digit(d, *c, false);
    if (*c == '.')
    {
        for (c++; is_digit(*c); c++, digits++)
            add_digit(d, *c, true);
    }
    if (digits == 0)
        return false;
    if (*c == 'e' || *c == 'E')
    {
        const char *e = c + 1;
        bool negative = *e == '-';
        if (*e == '-' || *e == '+')
            e++;
        if (is_digit(*e))
        {
            int exponent = 0;
            for (; is_digit(*e); e++)
                exponent = exponent < 100000 ? 10 * exponent + (*e - '0') : exponent;
            d->power = negative ? -exponent : exponent;
            d->exponent += d->power;
            c = e;
        }
    }
    d->end = c;
    return true;
}

/* The C library's strtod on "digits e exponent": without a point, so that the locale does not matter. 340 digits are
 * more than any halfway case between two doubles is told apart by in practice; later ones only shift the exponent. */
static double convert_slowly(const char *text, int power)
{
    enum
    {
        DIGITS = 340
    };
    char buffer[DIGITS + 16];
    int n = 0;
    bool fraction = false;
    for (const char *c = text; is_digit(*c) || (*c == '.' && !fraction); c++)
    {
        if (*c == '.')
        {
            fraction = true;
            continue;
        }
        bool keep = n < DIGITS && (n > 0 || *c != '0');
        if (keep)
            buffer[n++] = *c;
        power += (fraction ? -1 : 0) + (!keep && n > 0 ? 1 : 0);
    }
    if (n == 0)
        return 0;
    snprintf(buffer + n, 16, "e%d", power);
    return strtod(buffer, NULL);
}

static bool word(const char **text, const char *expected)
{
    const char *c = *text;
    for (; *expected != '\0'; c++, expected++)
    {
        if ((*c | 0x20) != *expected)
            return false;
    }
    *text = c;
    return true;
}

bool tg_number_real(const char **text, double *value)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *c = *text;
    double sign = *c == '-' ? -1 : 1;
    if (*c == '-' || *c == '+')
        c++;
    decimal d;
    if (!scan_decimal(c, &d))
    {
        bool infinite = word(&c, "infinity") || word(&c, "inf");
        if (!infinite && !word(&c, "nan"))
            return false;
        *value = infinite ? sign * (double)INFINITY : (double)NAN;
        *text = c;
        return true;
    }
    /* mantissa below 2^53 and power of ten both exact: one rounding (Clinger 1990) */
    if (d.exact && d.exponent >= -22 && d.exponent <= 22)
    {
        double m = (double)d.mantissa;
        *value = sign * (d.exponent < 0 ? m / powers[-d.exponent] : m * powers[d.exponent]);
    }
    else
    {
        *value = sign * convert_slowly(c, d.power);
    }
    *text = d.end;
    return true;
}

bool tg_number_integer(const char **text, int *value)
{
    const char *c = *text;
    bool negative = *c == '-';
    if (*c == '-' || *c == '+')
        c++;
    if (!is_digit(*c))
        return false;
    int64_t n = 0;
    for (; is_digit(*c); c++)
    {
        n = 10 * n + (*c - '0');
        if (n > (int64_t)INT_MAX + 1)
            return false;
    }
    n = negative ? -n : n;
    if (n > INT_MAX || n < INT_MIN)
        return false;
    *value = (int)n;
    *text = c;
    return true;
}
