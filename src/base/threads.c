#include "base/threads.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/status.h"

typedef struct worker
{
    tg_threads *pool;
    int index;
    pthread_t thread;
} worker;

struct tg_threads
{
    tg_allocator allocator;
    worker *workers; /* 1 .. threads - 1 are threads */
    int threads;
    int started; /* running workers, the caller included */
    pid_t owner; /* the process in which they are */
    atomic_flag busy;

    /* guarded by the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t start, finish;
    unsigned long generation; /* of the job */
    int working;              /* workers that have not finished it */
    bool closing;

    /* the job: constant while workers are at it */
    tg_threads_job *job;
    void *context;
    int count, chunk;
    atomic_int next; /* first item not taken yet */
};

int tg_processors(void)
{
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online < 1 ? 1 : online > 1024 ? 1024 : (int)online;
}

/* ---- workers ---- */

static void work(tg_threads *p, int index)
{
    for (;;)
    {
        int first = atomic_fetch_add_explicit(&p->next, p->chunk, memory_order_relaxed);
        if (first >= p->count)
            return;
        int end = p->count - first < p->chunk ? p->count : first + p->chunk;
        p->job(p->context, index, first, end);
    }
}

/* Waits for a job that is newer than the last one; false: the pool is closing. */
static bool next_job(tg_threads *p, unsigned long *last)
{
    pthread_mutex_lock(&p->mutex);
    while (p->generation == *last && !p->closing)
        pthread_cond_wait(&p->start, &p->mutex);
    *last = p->generation;
    bool closing = p->closing;
    pthread_mutex_unlock(&p->mutex);
    return !closing;
}

static void *serve(void *argument)
{
    worker *self = argument;
    tg_threads *p = self->pool;
    unsigned long last = 0;
    while (next_job(p, &last))
    {
        work(p, self->index);
        pthread_mutex_lock(&p->mutex);
        if (--p->working == 0)
            pthread_cond_signal(&p->finish);
        pthread_mutex_unlock(&p->mutex);
    }
    return NULL;
}

/* Workers take no signals: those belong to the caller's threads. */
static tg_status start_workers(tg_threads *p, tg_error *error)
{
    sigset_t all, before;
    int failure = 0;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->start, NULL);
    pthread_cond_init(&p->finish, NULL);
    p->owner = getpid();
    p->generation = 0;
    p->closing = false;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (p->started = 1; p->started < p->threads && failure == 0; p->started += failure == 0)
    {
        worker *w = &p->workers[p->started];
        *w = (worker){.pool = p, .index = p->started};
        failure = pthread_create(&w->thread, NULL, serve, w);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failure != 0)
        return tg_fail(error, TG_ERR_MEMORY, "thread %d of %d could not be started (error %d)", p->started + 1,
                       p->threads, failure);
    return TG_OK;
}

static void stop_workers(tg_threads *p)
{
    if (p->owner != getpid()) /* they stayed in the parent, and so did what they hold */
        return;
    pthread_mutex_lock(&p->mutex);
    p->closing = true;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 1; i < p->started; i++)
        pthread_join(p->workers[i].thread, NULL);
    pthread_cond_destroy(&p->finish);
    pthread_cond_destroy(&p->start);
    pthread_mutex_destroy(&p->mutex);
}

/* ---- the pool ---- */

tg_status tg_threads_create(int threads, const tg_allocator *allocator, tg_threads **out, tg_error *error)
{
    if (threads < 1 || threads > 1024)
        return tg_fail(error, TG_ERR_VALUE, "threads = %d; must be 1 .. 1024", threads);
    tg_threads *p = tg_alloc(allocator, sizeof *p);
    worker *workers = tg_alloc(allocator, sizeof *workers * (size_t)threads);
    if (p == NULL || workers == NULL)
    {
        tg_free(allocator, p);
        tg_free(allocator, workers);
        return tg_fail(error, TG_ERR_MEMORY, "no memory for a pool of %d threads", threads);
    }
    *p = (tg_threads){.workers = workers, .threads = threads, .busy = ATOMIC_FLAG_INIT};
    if (allocator != NULL)
        p->allocator = *allocator;
    tg_status status = start_workers(p, error);
    if (status != TG_OK)
    {
        tg_threads_destroy(p);
        return status;
    }
    *out = p;
    return TG_OK;
}

void tg_threads_destroy(tg_threads *p)
{
    if (p == NULL)
        return;
    stop_workers(p);
    tg_allocator allocator = p->allocator;
    tg_free(&allocator, p->workers);
    tg_free(&allocator, p);
}

static tg_status claim(tg_threads *p, tg_error *error)
{
    bool forked = p->owner != getpid();
    if (atomic_flag_test_and_set_explicit(&p->busy, memory_order_acquire))
        return tg_fail(error, TG_ERR_STALE, "%s",
                       forked ? "the threads were at work while the process forked; make new ones in the child"
                              : "another thread is using these threads; one job at a time");
    if (!forked)
        return TG_OK;
    tg_status status = start_workers(p, error);
    if (status != TG_OK)
    {
        stop_workers(p);
        p->owner = -1; /* so that the next job tries again */
        atomic_flag_clear_explicit(&p->busy, memory_order_release);
    }
    return status;
}

static void share(tg_threads *p)
{
    pthread_mutex_lock(&p->mutex);
    p->working = p->threads - 1;
    p->generation++;
    pthread_cond_broadcast(&p->start);
    pthread_mutex_unlock(&p->mutex);
    work(p, 0);
    pthread_mutex_lock(&p->mutex);
    while (p->working > 0)
        pthread_cond_wait(&p->finish, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

tg_status tg_threads_run(tg_threads *p, int count, int chunk, tg_threads_job *job, void *context, tg_error *error)
{
    TG_TRY(claim(p, error));
    p->job = job;
    p->context = context;
    p->count = count;
    p->chunk = chunk < 1 ? 1 : chunk;
    atomic_store_explicit(&p->next, 0, memory_order_relaxed);
    if (p->threads == 1 || count <= p->chunk)
        work(p, 0);
    else
        share(p);
    atomic_flag_clear_explicit(&p->busy, memory_order_release);
    return TG_OK;
}
