#include "fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_require(bool holds, const char *what, const char *detail)
{
    if (holds)
        return;
    fprintf(stderr, "fuzz: %s: %s\n", what, detail);
    abort();
}

/* ---- files ---- */

enum
{
    MAX_FILES = 16
};

typedef struct memory_file
{
    const char *name;
    char *data;
    size_t size;
} memory_file;

static struct
{
    bool active; /* between fuzz_begin and fuzz_end */
    char *text;
    memory_file file[MAX_FILES];
    int nfile;
} input;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

/* While an input runs, only its own files can be read. Writing is libFuzzer's, of an input that failed. */
FILE *__wrap_fopen(const char *path, const char *mode)
{
    if (!input.active || mode[0] != 'r')
        return __real_fopen(path, mode);
    for (int i = 0; i < input.nfile; i++)
    {
        if (strcmp(input.file[i].name, path) == 0 && input.file[i].size > 0)
            return fmemopen(input.file[i].data, input.file[i].size, "rb");
    }
    return NULL;
}

static const char marker[] = "\n#file ";

size_t fuzz_split(size_t size)
{
    size_t main_length = size;
    char *text = input.text, *end = text + size;
    for (char *c = strstr(text, marker); c != NULL && input.nfile < MAX_FILES;)
    {
        if (input.nfile == 0)
            main_length = (size_t)(c + 1 - text);
        char *name = c + sizeof marker - 1, *line_end = strchr(name, '\n');
        if (line_end == NULL)
            break;
        *line_end = '\0';
        char *next = strstr(line_end + 1, marker), *data = line_end + 1;
        input.file[input.nfile++] = (memory_file){name, data, (size_t)((next != NULL ? next + 1 : end) - data)};
        c = next;
    }
    return main_length;
}

/* ---- memory ---- */

typedef struct block_head
{
    size_t size;
    char space[64 - sizeof(size_t)]; /* keeps what follows aligned */
} block_head;

static struct
{
    size_t used, count;
    size_t fail_at; /* number of the allocation that fails; 0: none */
    bool refused;
} memory;

static void *take(size_t size, size_t align, void *user)
{
    (void)user;
    memory.count++;
    if (size > FUZZ_MEMORY_LIMIT || memory.used + size > FUZZ_MEMORY_LIMIT || memory.count == memory.fail_at)
    {
        memory.refused = true;
        return NULL;
    }
    block_head *head = aligned_alloc(align, sizeof *head + size);
    fuzz_require(head != NULL, "the machine is out of memory", "");
    head->size = size;
    memory.used += size;
    return head + 1;
}

static void give_back(void *data, void *user)
{
    (void)user;
    if (data == NULL)
        return;
    block_head *head = (block_head *)data - 1;
    memory.used -= head->size;
    free(head);
}

const tg_allocator *fuzz_allocator(void)
{
    static const tg_allocator allocator = {take, give_back, NULL};
    return &allocator;
}

bool fuzz_memory_refused(void)
{
    return memory.refused;
}

/* ---- an input ---- */

static uint32_t hash(const uint8_t *data, size_t size)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < size; i++)
        h = (h ^ data[i]) * 16777619u;
    return h ^ (h >> 15);
}

const char *fuzz_begin(const uint8_t *data, size_t size)
{
    input.nfile = 0;
    input.text = malloc(size + 1);
    fuzz_require(input.text != NULL, "the machine is out of memory", "");
    if (size > 0)
        memcpy(input.text, data, size);
    input.text[size] = '\0';
    input.active = true;
    uint32_t h = hash(data, size);
    memset(&memory, 0, sizeof memory);
    memory.fail_at = h % 16 == 0 ? 1 + (h >> 4) % 96 : 0;
    return input.text;
}

void fuzz_end(void)
{
    input.active = false;
    free(input.text);
    fuzz_require(memory.used == 0, "memory was not given back", "");
}

/* ---- a model ---- */

/* Numbers in the range in which nothing overflows: of those, no result may be NaN or infinite. */
static bool is_moderate(const tg_model *m)
{
    const double *p = tg_params_view(tg_model_params(m));
    int n = tg_model_sizes(m).nparams;
    for (int i = 0; i < n; i++)
    {
        double size = fabs(p[i]);
        if (size > 1e6 || (size > 0 && size < 1e-6))
            return false;
    }
    return true;
}

static void check_finite(const double *x, int n, const char *what)
{
    for (int i = 0; i < n; i++)
        fuzz_require(isfinite(x[i]), what, "is not finite");
}

typedef struct state
{
    double *q, *v, *a, *tau, *act, *rate, *u;
} state;

static double *numbers(int n, double value)
{
    double *x = malloc((size_t)(n > 0 ? n : 1) * sizeof *x);
    fuzz_require(x != NULL, "the machine is out of memory", "");
    for (int i = 0; i < n; i++)
        x[i] = value;
    return x;
}

static void run_dynamics(const tg_model *m, tg_work *w, const state *s)
{
    tg_sizes n = tg_model_sizes(m);
    bool moderate = is_moderate(m);
    if (tg_kinematics(m, w, s->q, s->v) != TG_OK)
        return;
    for (int i = 0; i < n.nbody; i++)
    {
        double pose[7];
        fuzz_require(tg_body_pose(m, w, i, pose, pose + 3) == TG_OK, "tg_body_pose", tg_work_message(w));
        if (moderate)
            check_finite(pose, 7, "the pose of a body");
    }
    if (tg_rnea(m, w, s->q, s->v, s->v, s->tau) == TG_OK && moderate)
        check_finite(s->tau, n.nv, "tau");
    if (tg_passive(m, w, s->q, s->v, s->tau) == TG_OK && moderate)
        check_finite(s->tau, n.nv, "passive");
    if (tg_actuation(m, w, s->q, s->v, s->act, s->u, s->tau, s->rate) == TG_OK && moderate)
        check_finite(s->tau, n.nv, "actuation");
    if (tg_forward_dynamics(m, w, s->q, s->v, NULL, s->a) == TG_OK && moderate)
        check_finite(s->a, n.nv, "acceleration");
}

static void use_report(const tg_model *m)
{
    for (int i = 0; i < tg_report_count(m); i++)
    {
        tg_report_entry e;
        fuzz_require(tg_report_get(m, i, &e, NULL) == TG_OK, "tg_report_get", "");
        fuzz_require(e.file != NULL && e.element != NULL && e.attribute != NULL && e.note != NULL && e.line >= 0,
                     "an entry of the report", "lacks a part");
    }
}

void fuzz_use_model(const tg_model *m)
{
    tg_sizes n = tg_model_sizes(m);
    use_report(m);
    if (n.nv > 200 || n.nbody > 500) /* a large model is as good as a small one, and slow */
        return;
    state s = {numbers(n.nq, 0),   numbers(n.nv, 0.25), numbers(n.nv, 0),  numbers(n.nv, 0),
               numbers(n.na, 0.5), numbers(n.na, 0),    numbers(n.nu, 0.5)};
    tg_work *w = NULL;
    tg_error error = {0};
    fuzz_require(tg_default_q(m, s.q, NULL) == TG_OK, "tg_default_q", "");
    tg_status status = tg_work_create(m, &w, &error);
    fuzz_require(status == TG_OK || status == TG_ERR_MEMORY, "tg_work_create", error.message);
    if (status == TG_OK)
        run_dynamics(m, w, &s);
    if (status == TG_OK && tg_random_state(m, 1, s.q, s.v, NULL) == TG_OK)
        run_dynamics(m, w, &s);
    tg_work_destroy(w);
    double *const all[] = {s.q, s.v, s.a, s.tau, s.act, s.rate, s.u};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}
