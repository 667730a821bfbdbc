/* Knuth's linear congruential generator of 64 bits (MMIX), of which the upper 53 are used. */
#include "math/random.h"

void tg_random_numbers(uint64_t seed, int n, double *x)
{
    for (int i = 0; i < n; i++)
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(seed >> 11) / 4503599627370496.0 - 1;
    }
}
