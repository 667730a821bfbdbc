/* Numbers that are like random ones and always the same: steps and derivatives repeat to the bit. */
#ifndef TG_MATH_RANDOM_H
#define TG_MATH_RANDOM_H

#include <stdint.h>

/* n numbers between -1 and 1, others for each seed */
void tg_random_numbers(uint64_t seed, int n, double *x);

#endif
