/* Random numbers that are functions of counters: no state, so that they do not depend on who draws them, or when. */
#ifndef TG_CONTROL_COUNTER_H
#define TG_CONTROL_COUNTER_H

#include <stdint.h>

/* Philox 4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, 2011): out = f(counter, key). */
void tg_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Which numbers: those of one sample. */
typedef struct tg_draw
{
    uint64_t seed;
    uint32_t plan, iteration, sample;
} tg_draw;

/* n numbers, uniform in (0, 1) or standard normal (Box and Muller, 1958). A number depends on its draw and its index
 * alone. */
void tg_draw_uniform(const tg_draw *draw, int n, double *out);
void tg_draw_normal(const tg_draw *draw, int n, double *out);

#endif
