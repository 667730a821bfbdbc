/* The processor's time of this thread. */
#ifndef TG_BASE_CLOCK_H
#define TG_BASE_CLOCK_H

/* s since some fixed point; what other threads and programs do does not count. */
double tg_clock(void);

#endif
