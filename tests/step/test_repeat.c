/* A step is a function: the same twice, from a saved state, in another workspace, in place or not; and it asks for no
 * memory. */
#define _GNU_SOURCE /* popen, open_memstream, getdelim, readlink */

#include "support/heap_watch.h"

#include <unistd.h>

#include "step_test.h"

#include "support/scenes.h"

enum
{
    STEPS = 400 / TEST_EFFORT
};

static sim *open_scene(void)
{
    char *mjcf = scene_objects(10, -1);
    sim *s = sim_open(mjcf);
    free(mjcf);
    return s;
}

/* everything a trajectory goes on from */
typedef struct saved
{
    double q[256], v[256];
    tg_cache_entry entry[SIM_CONTACTS];
    int count;
} saved;

static saved *save(const sim *s)
{
    saved *x = calloc(1, sizeof *x);
    assert_non_null(x);
    memcpy(x->q, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(x->v, s->v, sizeof(double) * (size_t)s->n.nv);
    memcpy(x->entry, s->cache.entry, sizeof(tg_cache_entry) * (size_t)s->cache.count);
    x->count = s->cache.count;
    return x;
}

static void restore(sim *s, const saved *x)
{
    memcpy(s->q, x->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(s->v, x->v, sizeof(double) * (size_t)s->n.nv);
    memcpy(s->cache.entry, x->entry, sizeof(tg_cache_entry) * (size_t)x->count);
    s->cache.count = x->count;
}

static void check_same(const sim *s, const saved *x)
{
    assert_memory_equal(s->q, x->q, sizeof(double) * (size_t)s->n.nq);
    assert_memory_equal(s->v, x->v, sizeof(double) * (size_t)s->n.nv);
    assert_int_equal(s->cache.count, x->count);
    assert_memory_equal(s->cache.entry, x->entry, sizeof(tg_cache_entry) * (size_t)x->count);
}

static void test_twice_and_from_the_middle(void **state)
{
    (void)state;
    for (int option = 0; option < 3; option++)
    {
        sim *s = open_scene(), *other = open_scene();
        s->options.restitution = other->options.restitution =
            option == 1 ? TG_RESTITUTION_POISSON : TG_RESTITUTION_NEWTON;
        s->options.project = other->options.project = option == 2;
        sim_run(s, STEPS / 2);
        saved *middle = save(s);
        sim_run(s, STEPS / 2);
        saved *end = save(s);
        restore(s, middle);
        sim_run(s, STEPS / 2);
        check_same(s, end);
        sim_reset(s);
        sim_run(s, STEPS);
        check_same(s, end);
        restore(other, middle);
        sim_run(other, STEPS / 2);
        check_same(other, end);
        free(middle);
        free(end);
        sim_close(s);
        sim_close(other);
    }
}

/* into other arrays, without cache, control and info: the same up to the cache, which is empty in both */
static void test_in_place_or_not(void **state)
{
    (void)state;
    sim *s = open_scene();
    double *q = calloc((size_t)s->n.nq, sizeof *q), *v = calloc((size_t)s->n.nv, sizeof *v);
    for (int i = 0; i < STEPS; i++)
    {
        tg_state in = {s->q, s->v, NULL, NULL}, out = {q, v, NULL, NULL};
        assert_int_equal(tg_step(s->m, s->w, NULL, &in, NULL, &out, NULL), TG_OK);
        s->cache.count = 0;
        sim_step(s);
        assert_memory_equal(s->q, q, sizeof(double) * (size_t)s->n.nq);
        assert_memory_equal(s->v, v, sizeof(double) * (size_t)s->n.nv);
    }
    free(q);
    free(v);
    sim_close(s);
}

/* What the cache holds changes no more than the last digits. */
static void test_cache_is_a_start_only(void **state)
{
    (void)state;
    sim *s = open_scene();
    double *v = calloc((size_t)s->n.nv, sizeof *v), *q = calloc((size_t)s->n.nq, sizeof *q);
    for (int i = 0; i < STEPS; i++)
    {
        tg_state in = {s->q, s->v, NULL, NULL}, out = {q, v, NULL, NULL};
        assert_int_equal(tg_step(s->m, s->w, NULL, &in, NULL, &out, NULL), TG_OK);
        sim_step(s);
        for (int j = 0; j < s->n.nv; j++)
            check_near("v with and without cache", s->v[j], v[j], 1e-9);
    }
    free(v);
    free(q);
    sim_close(s);
}

static void test_no_memory_is_asked_for(void **state)
{
    (void)state;
    char *mjcf = scene_objects(10, -1);
    tg_load_options load = tg_default_load_options();
    load.allocator = &watched_allocator;
    tg_model *m = NULL;
    assert_int_equal(tg_load_string(mjcf, strlen(mjcf), NULL, &load, &m, NULL), TG_OK);
    free(mjcf);
    sim *s = sim_open_model(m);
    static tg_step_contact contact[SIM_CONTACTS];
    for (int i = 0; i < STEPS; i++)
    {
        int count;
        tg_state at = {s->q, s->v, s->act, &s->cache};
        tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench};
        s->options.project = i % 2 == 1;
        s->options.restitution = i % 3 == 1 ? TG_RESTITUTION_POISSON : TG_RESTITUTION_NEWTON;
        heap.armed = true;
        tg_status status = tg_step(s->m, s->w, &s->options, &at, &control, &at, &s->info);
        if (status == TG_OK)
            status = tg_step_contacts(s->m, s->w, contact, SIM_CONTACTS, &count);
        heap.armed = false;
        assert_int_equal(status, TG_OK);
    }
    assert_int_equal(heap.asked, 0);
    sim_close(s);
}

/* the last state of a trajectory, in hexadecimal */
static void print_trajectory(FILE *out)
{
    sim *s = open_scene();
    sim_run(s, STEPS);
    for (int i = 0; i < s->n.nq; i++)
        fprintf(out, "%a\n", s->q[i]);
    for (int i = 0; i < s->n.nv; i++)
        fprintf(out, "%a\n", s->v[i]);
    sim_close(s);
}

/* This program, run again with an argument, prints the same numbers. */
static void test_in_another_process(void **state)
{
    (void)state;
    char path[4096], command[4200], *own = NULL, *other = NULL;
    size_t size = 0, room = 0;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length <= 0)
        skip();
    path[length] = 0;
    snprintf(command, sizeof command, "'%s' --print", path);
    FILE *memory = open_memstream(&own, &size);
    print_trajectory(memory);
    fclose(memory);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    ssize_t got = getdelim(&other, &room, 0, pipe);
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal((size_t)got, size);
    assert_memory_equal(own, other, size);
    free(own);
    free(other);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--print") == 0)
    {
        print_trajectory(stdout);
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice_and_from_the_middle), cmocka_unit_test(test_in_place_or_not),
        cmocka_unit_test(test_cache_is_a_start_only),     cmocka_unit_test(test_in_another_process),
        cmocka_unit_test(test_no_memory_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
