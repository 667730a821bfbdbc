/* Threads that share out the items of one job at a time.
 *
 * The caller works along as worker 0, so one thread starts none. Items are handed out in chunks from one atomic
 * counter; locks are taken when a job starts and ends, never between. After fork() a child has no workers: the next job
 * starts new ones, or is refused where the pool was at work while the process forked. */
#ifndef TG_BASE_THREADS_H
#define TG_BASE_THREADS_H

#include "tangere/base.h"

typedef struct tg_threads tg_threads;

/* Items first .. end - 1, by a worker (0 .. threads - 1). A worker does one call at a time. */
typedef void tg_threads_job(void *context, int worker, int first, int end);

/* How many threads this process may run at once, at least 1. */
int tg_processors(void);

tg_status tg_threads_create(int threads, const tg_allocator *allocator, tg_threads **out, tg_error *error);
void tg_threads_destroy(tg_threads *pool); /* NULL is allowed */

/* Does items 0 .. count - 1, at most `chunk` of them in one call, and returns when all are done. TG_ERR_STALE when
 * another thread is using the pool, or did while the process forked. */
tg_status tg_threads_run(tg_threads *pool, int count, int chunk, tg_threads_job *job, void *context, tg_error *error);

#endif
