/* bench_instructions: steps, Jacobians and VJPs from recorded states, for valgrind --tool=callgrind to count.
 *
 * `record`: a trajectory of this library from the first keyframe (or the reference) with random controls; every fifth
 * state is written to a file, with its controls and its cache. `run`: one step from each of these states, then the
 * Jacobian and the VJP of that step. Two versions of the library run on the same file, so that they do the same work;
 * instructions.py makes the table. Only public headers: the program links to the library of any version. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#include "tangere/tangere.h"

enum
{
    ROOM = 512,  /* contact points */
    EVERY = 5,   /* steps from one state to the next */
    REDRAW = 20, /* steps with the same controls */
    WARM_UP = 2  /* states at the start that are not counted: the first calls find their options */
};

static _Noreturn void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("bench_instructions: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(2);
}

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count + 1, size);
    if (memory == NULL)
        die("no memory");
    return memory;
}

/* splitmix64: uniform in [-1, 1) */
static double uniform(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-52 - 1;
}

typedef struct scene
{
    tg_model *m;
    tg_work *w;
    tg_sizes size;
    double *q, *v, *act, *u, *key_u;
    double *q_next, *v_next, *act_next;
    tg_cache cache, cache_next;
} scene;

static void open_scene(scene *s, const char *path)
{
    tg_error error;
    if (tg_load(path, NULL, &s->m, &error) != TG_OK || tg_work_create_for(s->m, ROOM, &s->w, &error) != TG_OK)
        die("%s", error.message);
    s->size = tg_model_sizes(s->m);
    double **q[] = {&s->q, &s->q_next}, **v[] = {&s->v, &s->v_next}, **act[] = {&s->act, &s->act_next};
    tg_cache *cache[] = {&s->cache, &s->cache_next};
    for (int i = 0; i < 2; i++)
    {
        *q[i] = zeros((size_t)s->size.nq, sizeof(double));
        *v[i] = zeros((size_t)s->size.nv, sizeof(double));
        *act[i] = zeros((size_t)s->size.na, sizeof(double));
        *cache[i] = (tg_cache){ROOM, 0, zeros(ROOM, sizeof(tg_cache_entry))};
    }
    s->u = zeros((size_t)s->size.nu, sizeof(double));
    s->key_u = zeros((size_t)s->size.nu, sizeof(double));
    tg_status status = s->size.nkey > 0 ? tg_key_get(s->m, 0, NULL, s->q, s->v, s->act, s->key_u, &error)
                                        : tg_default_q(s->m, s->q, &error);
    if (status != TG_OK)
        die("%s", error.message);
}

static void transfer(FILE *file, bool write, void *x, size_t size, int count)
{
    size_t n = (size_t)count;
    if ((write ? fwrite(x, size, n, file) : fread(x, size, n, file)) != n)
        die("the file of states ends early");
}

static void transfer_state(scene *s, FILE *file, bool write)
{
    transfer(file, write, s->q, sizeof(double), s->size.nq);
    transfer(file, write, s->v, sizeof(double), s->size.nv);
    transfer(file, write, s->act, sizeof(double), s->size.na);
    transfer(file, write, s->u, sizeof(double), s->size.nu);
    transfer(file, write, &s->cache.count, sizeof(int), 1);
    transfer(file, write, s->cache.entry, sizeof(tg_cache_entry), s->cache.count);
}

__attribute__((noinline)) static void count_step(scene *s, tg_info *info)
{
    tg_options options = tg_default_options();
    tg_state in = {s->q, s->v, s->act, &s->cache}, out = {s->q_next, s->v_next, s->act_next, &s->cache_next};
    tg_control control = {.u = s->u};
    if (tg_step(s->m, s->w, &options, &in, &control, &out, info) != TG_OK)
        die("%s", tg_work_message(s->w));
}

__attribute__((noinline)) static void count_jacobian(scene *s, tg_jacobian *jacobian)
{
    if (tg_step_jacobian(s->m, s->w, jacobian) != TG_OK)
        die("%s", tg_work_message(s->w));
}

__attribute__((noinline)) static void count_vjp(scene *s, tg_cotangent *out, tg_cotangent *in)
{
    if (tg_step_vjp(s->m, s->w, out, in, NULL) != TG_OK)
        die("%s", tg_work_message(s->w));
}

static void record(scene *s, FILE *file, int states, unsigned long long seed)
{
    tg_info info;
    for (int i = 0; i < s->size.nv; i++)
        s->v[i] += 0.1 * uniform(&seed);
    for (int step = 0; step < states * EVERY; step++)
    {
        for (int i = 0; i < s->size.nu && step % REDRAW == 0; i++)
            s->u[i] = s->key_u[i] + 0.2 * fmax(1, fabs(s->key_u[i])) * uniform(&seed);
        if (step % EVERY == 0)
            transfer_state(s, file, true);
        count_step(s, &info);
        memcpy(s->q, s->q_next, sizeof(double) * (size_t)s->size.nq);
        memcpy(s->v, s->v_next, sizeof(double) * (size_t)s->size.nv);
        memcpy(s->act, s->act_next, sizeof(double) * (size_t)s->size.na);
        tg_cache swap = s->cache;
        s->cache = s->cache_next;
        s->cache_next = swap;
    }
}

/* FNV-1a of the bits of the results: equal where nothing but work was saved */
static unsigned long long hash(unsigned long long h, const double *x, int n)
{
    for (size_t i = 0; i < sizeof(double) * (size_t)n; i++)
        h = (h ^ ((const unsigned char *)x)[i]) * 0x100000001b3u;
    return h;
}

static void run(scene *s, FILE *file, int states)
{
    size_t nv = (size_t)s->size.nv, na = (size_t)s->size.na, nu = (size_t)s->size.nu;
    tg_jacobian jacobian = {.dq_dq = zeros(nv * nv, sizeof(double)),
                            .dq_dv = zeros(nv * nv, sizeof(double)),
                            .dq_dact = zeros(nv * na, sizeof(double)),
                            .dq_du = zeros(nv * nu, sizeof(double)),
                            .dv_dq = zeros(nv * nv, sizeof(double)),
                            .dv_dv = zeros(nv * nv, sizeof(double)),
                            .dv_dact = zeros(nv * na, sizeof(double)),
                            .dv_du = zeros(nv * nu, sizeof(double))};
    tg_cotangent out = {.q = zeros(nv, sizeof(double)), .v = zeros(nv, sizeof(double)), .act = zeros(na, sizeof(double))};
    tg_cotangent in = {.q = zeros(nv, sizeof(double)),
                       .v = zeros(nv, sizeof(double)),
                       .act = zeros(na, sizeof(double)),
                       .u = zeros(nu, sizeof(double)),
                       .params = zeros((size_t)s->size.nparams, sizeof(double))};
    for (size_t i = 0; i < nv; i++)
        out.q[i] = sin(1 + 2.3 * (double)i), out.v[i] = cos(2 + 1.7 * (double)i);
    unsigned long long steps = 0xcbf29ce484222325u, derivatives = steps;
    double contacts = 0, factorisations = 0;
    for (int i = 0; i < states; i++)
    {
        tg_info info;
        transfer_state(s, file, false);
        if (i == WARM_UP)
        {
            CALLGRIND_START_INSTRUMENTATION;
        }
        count_step(s, &info);
        count_jacobian(s, &jacobian);
        count_step(s, &info); /* what the Jacobian found does not help the VJP */
        count_vjp(s, &out, &in);
        steps = hash(hash(hash(steps, s->q_next, s->size.nq), s->v_next, s->size.nv), s->act_next, s->size.na);
        derivatives = hash(hash(derivatives, jacobian.dv_dq, (int)(nv * nv)), jacobian.dv_dv, (int)(nv * nv));
        derivatives = hash(hash(derivatives, in.q, s->size.nv), in.params, s->size.nparams);
        contacts += info.contacts;
        factorisations += info.iterations;
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    printf("states %d, contacts %.2f, factorisations %.2f, steps %016llx, derivatives %016llx\n", states - WARM_UP,
           contacts / states, factorisations / states, steps, derivatives);
}

int main(int argc, char **argv)
{
    if (argc != 6)
        die("usage: bench_instructions record|run <model> <file of states> <states> <seed>");
    bool write = strcmp(argv[1], "record") == 0;
    scene s = {0};
    open_scene(&s, argv[2]);
    FILE *file = fopen(argv[3], write ? "wb" : "rb");
    if (file == NULL)
        die("cannot open %s", argv[3]);
    if (write)
        record(&s, file, atoi(argv[4]), strtoull(argv[5], NULL, 10));
    else
        run(&s, file, atoi(argv[4]));
    if (fclose(file) != 0)
        die("cannot write %s", argv[3]);
    return 0;
}
