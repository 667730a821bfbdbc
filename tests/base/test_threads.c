/* Threads that share out items: each item once, whatever the number of threads; two callers; forks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/threads.h"

enum
{
    ITEMS = 1000
};

typedef struct counts
{
    atomic_int done[ITEMS];
    atomic_int in_worker[8]; /* whether a worker is in a call */
    atomic_int largest;
} counts;

static void count(void *context, int worker, int first, int end)
{
    counts *c = context;
    assert_int_equal(atomic_fetch_add(&c->in_worker[worker], 1), 0);
    for (int i = first; i < end; i++)
        atomic_fetch_add(&c->done[i], 1);
    if (end - first > atomic_load(&c->largest))
        atomic_store(&c->largest, end - first);
    atomic_fetch_sub(&c->in_worker[worker], 1);
}

static void test_each_item_once(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++)
    {
        tg_threads *t = NULL;
        assert_int_equal(tg_threads_create(threads, NULL, &t, NULL), TG_OK);
        for (int run = 0; run < 50; run++)
        {
            counts c = {0};
            int items = run % 7 == 0 ? run : ITEMS, chunk = 1 + run % 9;
            assert_int_equal(tg_threads_run(t, items, chunk, count, &c, NULL), TG_OK);
            for (int i = 0; i < ITEMS; i++)
                assert_int_equal(c.done[i], i < items ? 1 : 0);
            assert_true(c.largest <= chunk);
        }
        tg_threads_destroy(t);
    }
}

static void test_numbers_of_threads(void **state)
{
    (void)state;
    tg_error error;
    tg_threads *t = NULL;
    assert_true(tg_processors() >= 1);
    assert_int_equal(tg_threads_create(0, NULL, &t, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "threads = 0"));
    assert_int_equal(tg_threads_create(-2, NULL, &t, &error), TG_ERR_VALUE);
    assert_null(t);
    tg_threads_destroy(NULL);
}

/* ---- a second caller ---- */

typedef struct gate
{
    atomic_bool inside, open;
} gate;

static void wait_there(void *context, int worker, int first, int end)
{
    (void)worker;
    (void)first;
    (void)end;
    gate *g = context;
    atomic_store(&g->inside, true);
    while (!atomic_load(&g->open))
        sched_yield();
}

typedef struct caller
{
    tg_threads *t;
    gate *g;
} caller;

static void *call(void *argument)
{
    caller *c = argument;
    assert_int_equal(tg_threads_run(c->t, 1, 1, wait_there, c->g, NULL), TG_OK);
    return NULL;
}

static void pass(void *context, int worker, int first, int end)
{
    (void)worker;
    atomic_fetch_add((atomic_int *)context, end - first);
}

#if !defined(__SANITIZE_THREAD__) /* which does not follow a fork of several threads */
static int child_result(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
#endif

/* While one thread is at work another is refused, and so is a child that was forked meanwhile. */
static void test_one_job_at_a_time(void **state)
{
    (void)state;
    tg_threads *t = NULL;
    gate g = {false, false};
    pthread_t other;
    tg_error error;
    atomic_int done = 0;
    assert_int_equal(tg_threads_create(2, NULL, &t, NULL), TG_OK);
    caller c = {t, &g};
    assert_int_equal(pthread_create(&other, NULL, call, &c), 0);
    while (!atomic_load(&g.inside))
        sched_yield();
    assert_int_equal(tg_threads_run(t, 4, 1, pass, &done, &error), TG_ERR_STALE);
    assert_non_null(strstr(error.message, "another thread"));
#if !defined(__SANITIZE_THREAD__)
    pid_t child = fork();
    if (child == 0)
    {
        bool ok =
            tg_threads_run(t, 4, 1, pass, &done, &error) == TG_ERR_STALE && strstr(error.message, "forked") != NULL;
        _exit(ok ? 7 : 1);
    }
    assert_int_equal(child_result(child), 7);
#endif
    atomic_store(&g.open, true);
    pthread_join(other, NULL);
    assert_int_equal(done, 0);
    assert_int_equal(tg_threads_run(t, 4, 1, pass, &done, &error), TG_OK);
    assert_int_equal(done, 4);
    tg_threads_destroy(t);
}

static void test_fork(void **state)
{
    (void)state;
#if !defined(__SANITIZE_THREAD__)
    tg_threads *t = NULL;
    atomic_int done = 0;
    assert_int_equal(tg_threads_create(3, NULL, &t, NULL), TG_OK);
    assert_int_equal(tg_threads_run(t, 100, 1, pass, &done, NULL), TG_OK);
    pid_t child = fork();
    if (child == 0)
    {
        bool ok = tg_threads_run(t, 100, 1, pass, &done, NULL) == TG_OK && done == 200;
        tg_threads_destroy(t);
        _exit(ok ? 7 : 1);
    }
    assert_int_equal(child_result(child), 7);
    child = fork();
    if (child == 0) /* and without a job */
    {
        tg_threads_destroy(t);
        _exit(7);
    }
    assert_int_equal(child_result(child), 7);
    assert_int_equal(tg_threads_run(t, 100, 1, pass, &done, NULL), TG_OK);
    assert_int_equal(done, 200);
    tg_threads_destroy(t);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_item_once),
        cmocka_unit_test(test_numbers_of_threads),
        cmocka_unit_test(test_one_job_at_a_time),
        cmocka_unit_test(test_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
