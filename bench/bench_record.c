/* bench_record: contact problems met while stepping robots and made-up scenes, to files that bench_solvers reads.
 *
 *     bench_record FOLDER [PROBLEMS [ROWS [SEED]]]
 *
 * One file a family, FOLDER/<family>.tgp: `robots` ($TANGERE_SHARED/robots: dropped from 0.3 m, or an arm among its
 * links, random controls held for 50 steps), `piles` (boxes, balls and capsules that fall on each other), `grippers`
 * (two pads that pinch an object and are shaken), `stacks` (boxes on boxes: patches of four points, redundant), `feet`
 * (a table on legs with servos, on free boxes). Friction 0 to 2, mass ratios up to 1e6, restitution 0 to 1, condim 1 to
 * 6. PROBLEMS (25000) in all, the same number of each family and about the same of each robot; ROWS: larger problems
 * are passed over. All numbers come from the seeds of the scenes, which SEED (0) changes: the same program writes the
 * same files.
 *
 * A problem is written as its solution was applied: an island that had no solution while its overlaps were pushed out
 * is recorded without the push, and counted. Islands that are too large for a dense matrix have none to record; they
 * are counted too. A scene ends when something moves faster than FASTEST: a light body that was squeezed out of a stack
 * and spins by radians per step is beyond what the integrator follows. */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "contact/rows.h"
#include "dynamics/work.h"
#include "problems.h"
#include "tangere/tangere.h"

enum
{
    CACHE = 1024,
    TEXT = 1 << 16,
    EVERY = 4,      /* steps from one recorded step to the next */
    FASTEST = 10000 /* m/s, rad/s */
};

_Noreturn static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "bench_record: ");
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    exit(1);
}

static double *numbers(int n)
{
    double *x = calloc((size_t)n + 1, sizeof *x);
    if (x == NULL)
        die("no memory");
    return x;
}

/* ---- random numbers ---- */

static double uniform(uint64_t *seed, double low, double high)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(*seed >> 11) / 9007199254740992.0;
}

static int integer(uint64_t *seed, int low, int high)
{
    return low + (int)uniform(seed, 0, high - low + 1);
}

/* between low and high, even in the logarithm */
static double scale(uint64_t *seed, double low, double high)
{
    return low * pow(high / low, uniform(seed, 0, 1));
}

/* 0 and 2 come often: they are the corners of what is asked for */
static double friction(uint64_t *seed)
{
    return fmin(fmax(uniform(seed, -0.3, 2.3), 0), 2);
}

/* ---- made-up scenes, as MJCF ---- */

typedef struct text
{
    char *start;
    size_t used;
} text;

static void put(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(t->start + t->used, TEXT - t->used, format, arguments);
    va_end(arguments);
    if (n < 0 || t->used + (size_t)n >= TEXT)
        die("a scene is longer than %d characters", TEXT);
    t->used += (size_t)n;
}

static void put_start(text *t, uint64_t *seed)
{
    static const int condims[] = {1, 3, 3, 3, 3, 4, 6};
    double mu = friction(seed);
    put(t,
        "<mujoco><option timestep=\"%g\"/><default><geom condim=\"%d\" friction=\"%g %g %g\"/></default><worldbody>"
        "<geom type=\"plane\" size=\"9 9 1\"/>",
        integer(seed, 0, 1) == 0 ? 0.001 : 0.002, condims[integer(seed, 0, 6)], mu, 0.01 * mu, 0.001 * mu);
}

static void put_end(text *t)
{
    put(t, "</worldbody></mujoco>");
}

static void put_geom(text *t, uint64_t *seed, double size, double mass)
{
    static const char *const type[] = {"box", "box", "sphere", "capsule", "cylinder"};
    put(t, "<geom type=\"%s\" size=\"%g %g %g\" mass=\"%g\"/>", type[integer(seed, 0, 4)], size,
        size * uniform(seed, 0.6, 1.4), size * uniform(seed, 0.6, 1.4), mass);
}

static void make_pile(text *t, uint64_t *seed)
{
    int count = integer(seed, 3, 10);
    put_start(t, seed);
    for (int i = 0; i < count; i++)
    {
        put(t, "<body pos=\"%g %g %g\" euler=\"%g %g %g\"><freejoint/>", uniform(seed, -0.1, 0.1),
            uniform(seed, -0.1, 0.1), 0.12 + 0.15 * i, uniform(seed, -180, 180), uniform(seed, -90, 90),
            uniform(seed, -180, 180));
        put_geom(t, seed, 0.05, scale(seed, 1e-3, 1e3));
        put(t, "</body>");
    }
    put_end(t);
}

static void make_gripper(text *t, uint64_t *seed)
{
    double grip = scale(seed, 1, 100), mass = scale(seed, 1e-3, 3), size = uniform(seed, 0.02, 0.04);
    put_start(t, seed);
    put(t, "<body pos=\"0 0 0.5\"><joint name=\"lift\" type=\"slide\" axis=\"0 0 1\" damping=\"50\"/>"
           "<geom type=\"box\" size=\"0.1 0.02 0.02\" pos=\"0 0 0.15\" mass=\"1\"/>");
    for (int side = -1; side <= 1; side += 2)
        put(t,
            "<body pos=\"%g 0 0\"><joint name=\"finger%d\" type=\"slide\" axis=\"%d 0 0\" damping=\"20\"/>"
            "<geom type=\"box\" size=\"0.01 0.02 0.04\" mass=\"0.1\"/></body>",
            side * (0.011 + 1.5 * size), side + 1, -side);
    put(t, "</body><body pos=\"0 0 0.5\" euler=\"0 %g %g\"><freejoint/>", uniform(seed, -20, 20),
        uniform(seed, -20, 20));
    put_geom(t, seed, size, mass);
    put(t,
        "</body></worldbody><actuator><motor joint=\"finger0\" ctrlrange=\"%g %g\"/><motor joint=\"finger2\" "
        "ctrlrange=\"%g %g\"/><position joint=\"lift\" kp=\"2000\" ctrlrange=\"-0.1 0.1\"/></actuator></mujoco>",
        0.9 * grip, grip, 0.9 * grip, grip);
}

static void make_stack(text *t, uint64_t *seed)
{
    int count = integer(seed, 1, 6);
    double top = 0, slack = integer(seed, 0, 1) * 0.02, tilt = integer(seed, 0, 2) * 0.02;
    put_start(t, seed);
    for (int i = 0; i < count; i++)
    {
        double half = uniform(seed, 0.02, 0.06);
        put(t,
            "<body pos=\"%g %g %g\" euler=\"0 0 %g\"><freejoint/><geom type=\"box\" size=\"%g %g %g\" mass=\"%g\"/>"
            "</body>",
            uniform(seed, -slack, slack), uniform(seed, -slack, slack), top + half + uniform(seed, 0, tilt),
            integer(seed, 0, 1) * uniform(seed, -90, 90), uniform(seed, 0.06, 0.1), uniform(seed, 0.06, 0.1), half,
            scale(seed, 1e-3, 1e3));
        top += 2 * half + tilt;
    }
    put_end(t);
}

static void put_leg(text *t, uint64_t *seed, int x, int y, bool box)
{
    put(t,
        "<body pos=\"%g %g 0\"><joint name=\"hip%d%d\" axis=\"0 1 0\" range=\"-60 60\" damping=\"0.5\" "
        "frictionloss=\"%g\"/><geom type=\"capsule\" fromto=\"0 0 0 0 0 -0.15\" size=\"0.02\" mass=\"0.5\"/>"
        "<body pos=\"0 0 -0.15\"><joint name=\"knee%d%d\" axis=\"0 1 0\" range=\"-100 0\" damping=\"0.5\"/>"
        "<geom type=\"capsule\" fromto=\"0 0 0 0 0 -0.1\" size=\"0.015\" mass=\"0.3\"/>"
        "<geom type=\"%s\" pos=\"0 0 -0.15\" size=\"0.03 0.02 0.01\" mass=\"0.05\"/></body></body>",
        0.2 * x, 0.12 * y, x + 1, y + 1, integer(seed, 0, 1) * 0.2, x + 1, y + 1, box ? "box" : "sphere");
}

static void make_feet(text *t, uint64_t *seed)
{
    bool box = integer(seed, 0, 1) == 0;
    put_start(t, seed);
    for (int x = -1; x <= 1; x += 2)
        for (int y = -1; y <= 1; y += 2)
            put(t,
                "<body pos=\"%g %g 0.05\"><freejoint/><geom type=\"box\" size=\"0.09 0.09 0.05\" mass=\"%g\"/></body>",
                0.2 * x, 0.12 * y, scale(seed, 1e-2, 1e3));
    put(t, "<body pos=\"0 0 0.45\"><freejoint/><geom type=\"box\" size=\"0.22 0.1 0.04\" mass=\"%g\"/>",
        scale(seed, 1, 30));
    for (int x = -1; x <= 1; x += 2)
        for (int y = -1; y <= 1; y += 2)
            put_leg(t, seed, x, y, box);
    put(t, "</body></worldbody><actuator>");
    for (int x = 0; x <= 2; x += 2)
        for (int y = 0; y <= 2; y += 2)
            put(t,
                "<position joint=\"hip%d%d\" kp=\"100\" ctrlrange=\"-0.3 0.3\"/><position joint=\"knee%d%d\" "
                "kp=\"100\" ctrlrange=\"-0.5 -0.1\"/>",
                x, y, x, y);
    put(t, "</actuator></mujoco>");
}

/* ---- one scene ---- */

typedef struct counts
{
    size_t problems, relaxed, large, unsolved, steps, ended;
} counts;

/* what is wanted of a family */
typedef struct request
{
    size_t problems;
    int rows; /* of the largest problem */
    uint64_t seed;
} request;

typedef struct scene
{
    tg_model *m;
    tg_work *w;
    tg_params *params; /* NULL: the model's */
    tg_sizes n;
    tg_options options;
    double *q, *v, *act, *u, *range;
    tg_cache cache;
} scene;

static void find_ranges(scene *s)
{
    for (int i = 0; i < s->n.nu; i++)
    {
        char name[64];
        int offset = 0;
        tg_error error;
        s->range[2 * i] = -1;
        s->range[2 * i + 1] = 1;
        if (!s->m->actuator_ctrl_limited[i])
            continue;
        snprintf(name, sizeof name, "actuator.#%d.ctrl_range", i);
        if (tg_param_find(s->m, name, &offset, NULL, &error) != TG_OK)
            die("%s", error.message);
        memcpy(s->range + 2 * i, tg_params_view(tg_model_params(s->m)) + offset, 2 * sizeof(double));
    }
}

static void open_scene(scene *s, tg_model *m, double lift)
{
    tg_error error;
    *s = (scene){.m = m, .n = tg_model_sizes(m), .options = tg_default_options()};
    s->q = numbers(s->n.nq);
    s->v = numbers(s->n.nv);
    s->act = numbers(s->n.na);
    s->u = numbers(s->n.nu);
    s->range = numbers(2 * s->n.nu);
    s->cache = (tg_cache){CACHE, 0, calloc(CACHE, sizeof(tg_cache_entry))};
    if (s->cache.entry == NULL || tg_work_create_for(m, CACHE, &s->w, &error) != TG_OK)
        die("no memory");
    if (tg_default_q(m, s->q, &error) != TG_OK ||
        (s->n.nkey > 0 && tg_key_get(m, s->n.nkey - 1, NULL, s->q, NULL, NULL, NULL, &error) != TG_OK))
        die("%s", error.message);
    if (s->n.njoint > 0 && m->joint_type[0] == TG_JOINT_FREE)
        s->q[2] += lift;
    find_ranges(s);
}

/* half of the made-up scenes bounce */
static void set_restitution(scene *s, uint64_t *seed)
{
    double e = fmax(uniform(seed, -1, 1), 0);
    tg_error error;
    if (tg_params_create(s->m, &s->params, &error) != TG_OK)
        die("%s", error.message);
    for (int i = 0; i < s->n.ngeom; i++)
    {
        char name[64];
        int offset;
        snprintf(name, sizeof name, "geom.#%d.restitution", i);
        if (tg_param_find(s->m, name, &offset, NULL, &error) != TG_OK)
            die("%s", error.message);
        tg_params_data(s->params)[offset] = e;
    }
    if (tg_params_changed(s->params, &error) != TG_OK || tg_work_set_params(s->w, s->params) != TG_OK)
        die("restitution %g is refused", e);
}

static void close_scene(scene *s)
{
    tg_work_destroy(s->w);
    tg_params_destroy(s->params);
    tg_model_destroy(s->m);
    free(s->q);
    free(s->v);
    free(s->act);
    free(s->u);
    free(s->range);
    free(s->cache.entry);
}

static void write_islands(scene *s, FILE *file, int most_rows, counts *c)
{
    const tg_rows *r = s->w->rows;
    for (int i = 0; r->nrow > 0 && i < r->nisland; i++)
    {
        tg_rows_island *island = &s->w->rows->island[i];
        c->relaxed += island->relaxed;
        c->unsolved += island->result.status != TG_SOLVE_SOLVED;
        if (!tg_island_is_dense(r, island))
        {
            c->large++;
            continue;
        }
        if (island->rows > most_rows)
            continue;
        tg_need_delassus(s->m, s->w, island); /* what is solved in velocity space has no G yet */
        tg_island given = tg_island_problem(r, island);
        if (!problem_write(file, &given))
            die("cannot write");
        c->problems++;
    }
}

static bool is_too_fast(const scene *s)
{
    for (int i = 0; i < s->n.nv; i++)
        if (!(fabs(s->v[i]) <= FASTEST))
            return true;
    return false;
}

/* false: the step was refused */
static bool step(scene *s, uint64_t *seed, int index)
{
    tg_state state = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = s->u};
    if (index % 50 == 0)
        for (int i = 0; i < s->n.nu; i++)
            s->u[i] = uniform(seed, s->range[2 * i], s->range[2 * i + 1]);
    return tg_step(s->m, s->w, &s->options, &state, &control, &state, NULL) == TG_OK;
}

static void run_scene(scene *s, FILE *file, uint64_t *seed, int steps, const request *want, counts *c)
{
    int every = steps / ((int)want->problems + 1);
    every = every > EVERY ? every : EVERY;
    for (int i = 0; i < steps && c->problems < want->problems; i++)
    {
        if (!step(s, seed, i))
            die("step %d: %s", i, tg_work_message(s->w));
        c->steps++;
        if (is_too_fast(s))
        {
            c->ended++;
            return;
        }
        if (i % every == every - 1)
            write_islands(s, file, want->rows, c);
    }
}

/* ---- families ---- */

typedef void (*maker)(text *t, uint64_t *seed);

static const struct
{
    const char *name;
    maker make; /* NULL: the robots */
    int steps;
} families[] = {
    {"robots", NULL, 2000},      {"piles", make_pile, 500}, {"grippers", make_gripper, 500},
    {"stacks", make_stack, 200}, {"feet", make_feet, 400},
};

static const char *const robots[] = {
    "agility_cassie/scene.xml", "anybotics_anymal_c/scene.xml", "atlas/scene.xml",
    "gymnasium/ant.xml",        "gymnasium/half_cheetah.xml",   "gymnasium/hopper.xml",
    "gymnasium/humanoid.xml",   "gymnasium/walker2d_v5.xml",    "mujoco_humanoid/humanoid.xml",
    "unitree_go1/scene.xml",    "unitree_h1/scene.xml",         "universal_robots_ur5e/scene.xml",
};

enum
{
    ROBOTS = sizeof robots / sizeof *robots
};

static tg_model *load_robot(const char *file)
{
    char path[1024];
    const char *shared = getenv("TANGERE_SHARED");
    tg_model *m;
    tg_error error;
    snprintf(path, sizeof path, "%s/robots/%s", shared != NULL ? shared : "../shared", file);
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        die("%s", error.message);
    return m;
}

static tg_model *make_model(maker make, uint64_t *seed)
{
    text t = {malloc(TEXT), 0};
    tg_model *m;
    tg_error error;
    if (t.start == NULL)
        die("no memory");
    make(&t, seed);
    if (tg_load_string(t.start, t.used, NULL, NULL, &m, &error) != TG_OK)
        die("%s in %s", error.message, t.start);
    free(t.start);
    return m;
}

static void print_counts(const char *name, const counts *c)
{
    printf("| %s | %zu | %zu | %zu | %zu | %zu | %zu |\n", name, c->steps, c->ended, c->problems, c->relaxed, c->large,
           c->unsolved);
    fflush(stdout);
}

static void add_counts(counts *sum, const counts *c)
{
    sum->steps += c->steps;
    sum->problems += c->problems;
    sum->relaxed += c->relaxed;
    sum->large += c->large;
    sum->unsolved += c->unsolved;
    sum->ended += c->ended;
}

/* scene k of a family */
static counts record_scene(int family, int k, FILE *file, const request *want)
{
    bool robot = families[family].make == NULL;
    uint64_t seed = 1000003u * (uint64_t)(family + 1) + (uint64_t)k + 7919u * want->seed;
    counts c = {0};
    scene s;
    open_scene(&s, robot ? load_robot(robots[k]) : make_model(families[family].make, &seed), robot ? 0.3 : 0);
    if (!robot)
        set_restitution(&s, &seed);
    run_scene(&s, file, &seed, families[family].steps, want, &c);
    close_scene(&s);
    if (robot)
        print_counts(robots[k], &c);
    return c;
}

static counts record_family(int family, const char *folder, const request *want)
{
    counts sum = {0};
    char path[1024];
    bool robot = families[family].make == NULL;
    snprintf(path, sizeof path, "%s/%s.tgp", folder, families[family].name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        die("cannot write %s", path);
    for (int k = 0; sum.problems < want->problems && (!robot || k < ROBOTS); k++)
    {
        request part = {want->problems / ROBOTS + 1, want->rows, want->seed};
        counts c = record_scene(family, k, file, &part);
        add_counts(&sum, &c);
        fprintf(stderr, "\r%-10s %zu of %zu", families[family].name, sum.problems, want->problems);
    }
    fprintf(stderr, "\n");
    if (fclose(file) != 0)
        die("cannot write %s", path);
    return sum;
}

int main(int argc, char **argv)
{
    size_t number = sizeof families / sizeof *families;
    request want = {(argc > 2 ? (size_t)atol(argv[2]) : 25000) / number, argc > 3 ? atoi(argv[3]) : INT_MAX,
                    argc > 4 ? (uint64_t)atoll(argv[4]) : 0};
    if (argc < 2 || argc > 5 || want.problems < 1 || want.rows < 1)
        die("usage: bench_record FOLDER [PROBLEMS [ROWS [SEED]]]");
    printf("| scenes | steps | ended early | problems | relaxed | without a dense matrix | not solved |\n"
           "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n");
    for (int f = 0; f < (int)number; f++)
    {
        counts c = record_family(f, argv[1], &want);
        print_counts(families[f].name, &c);
    }
    return 0;
}
