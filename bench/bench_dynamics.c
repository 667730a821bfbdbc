/* Rigid-body dynamics and derivatives beside Pinocchio: same model, same states, same run, one core. README.md says
 * how. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

enum
{
    CHECKED_STATES = 20,
    ROUNDS = 3,
    RUNS_MAX = 16
};

static const char usage[] =
    "bench_dynamics [options]\n"
    "  --states N        random states per robot (1000)\n"
    "  --repetitions N   runs over the list of states in each of three rounds (25)\n"
    "  --robot NAME      only this one: humanoid, go1, h1, atlas, iiwa\n"
    "  --trees           trees of the robots' shapes instead of their files\n"
    "  --growth          chains of 6 to 200 hinges instead of the robots\n"
    "  --shared FOLDER   where robots/ is (TANGERE_SHARED, or ../shared)\n"
    "  --out FOLDER      where the results are written (bench/results when all robots are run, otherwise nowhere)\n"
    "  --cpu N           processor to run on (the last one)\n";

typedef struct robot
{
    const char *name, *file;
} robot;

static const robot robots[] = {
    {"humanoid", "mujoco_humanoid/humanoid.xml"},
    {"go1", "unitree_go1/go1.xml"},
    {"h1", "unitree_h1/h1.xml"},
    {"atlas", "atlas/atlas.xml"},
    {"iiwa", "kuka_iiwa_14/iiwa14.xml"},
};

static const robot chains[] = {
    {"chain6", NULL}, {"chain12", NULL}, {"chain25", NULL}, {"chain50", NULL}, {"chain100", NULL}, {"chain200", NULL},
};

typedef struct options
{
    bench_context context;
    const char *robot, *shared, *out;
    bool trees, growth;
} options;

static int positive(const char *option, const char *text)
{
    char *end;
    errno = 0;
    long value = text != NULL ? strtol(text, &end, 10) : 0;
    if (text == NULL || *end != 0 || errno != 0 || value < (strcmp(option, "--cpu") == 0 ? 0 : 1) || value > 1000000)
        bench_die("%s needs a number\n%s", option, usage);
    return (int)value;
}

static options parse(int argc, char **argv)
{
    const char *shared = getenv("TANGERE_SHARED");
    options o = {.context = {.cpu = -1, .states = 1000, .rounds = ROUNDS, .repetitions = 25},
                 .shared = shared != NULL ? shared : "../shared"};
    for (int i = 1; i < argc; i++)
    {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL, *option = argv[i];
        if (strcmp(option, "--trees") == 0)
            o.trees = true;
        else if (strcmp(option, "--growth") == 0)
            o.growth = true;
        else if (strcmp(option, "--help") == 0)
        {
            fputs(usage, stdout);
            exit(0);
        }
        else if (value == NULL)
            bench_die("%s?\n%s", option, usage);
        else
        {
            i++;
            if (strcmp(option, "--states") == 0)
                o.context.states = positive(option, value);
            else if (strcmp(option, "--repetitions") == 0)
                o.context.repetitions = positive(option, value);
            else if (strcmp(option, "--cpu") == 0)
                o.context.cpu = positive(option, value);
            else if (strcmp(option, "--robot") == 0)
                o.robot = value;
            else if (strcmp(option, "--shared") == 0)
                o.shared = value;
            else if (strcmp(option, "--out") == 0)
                o.out = value;
            else
                bench_die("%s?\n%s", option, usage);
        }
    }
    if (o.out == NULL && o.robot == NULL)
        o.out = "bench/results";
    return o;
}

/* The robot's file, or, when it cannot be read, a tree of its shape; the run says which. */
static tg_model *load_model(const options *o, const robot *r, bench_run *run)
{
    tg_model *model = NULL;
    tg_error error = {.message = ""};
    char path[512];
    if (r->file != NULL && !o->trees)
    {
        snprintf(path, sizeof path, "%s/robots/%s", o->shared, r->file);
        if (tg_load(path, NULL, &model, &error) == TG_OK)
        {
            snprintf(run->source, sizeof run->source, "%s", r->file);
            return model;
        }
        snprintf(run->source, sizeof run->source, "a tree of its shape; %s", error.message);
    }
    else
        snprintf(run->source, sizeof run->source, "made in code");
    return bench_make_tree(r->name);
}

static int create_engines(const tg_model *model, const bench_states *states, bench_engine *engines)
{
    bench_tree tree = bench_describe(model);
    int settings[8], n = bench_pinocchio_settings(&tree, settings);
    engines[0] = bench_tangere_create(model, states);
    for (int i = 0; i < n; i++)
    {
        const char *message = "";
        if (!bench_pinocchio_create(&tree, states, settings[i], &engines[i + 1], &message))
            bench_die("Pinocchio: %s", message);
    }
    bench_tree_free(&tree);
    return n + 1;
}

/* One round: everything is made, checked, timed. */
static void run_round(const options *o, const robot *r, bench_run *run)
{
    bench_engine engines[BENCH_ENGINES_MAX];
    tg_model *model = load_model(o, r, run);
    bench_states states = bench_random_states(model, o->context.states);
    tg_sizes sizes = tg_model_sizes(model);
    snprintf(run->robot, sizeof run->robot, "%s", r->name);
    run->nbody = sizes.nbody;
    run->nv = sizes.nv;
    run->nengine = create_engines(model, &states, engines);
    for (int e = 0; e < run->nengine; e++)
    {
        memcpy(run->setting[e], engines[e].setting, sizeof run->setting[e]);
        for (int f = 0; f < BENCH_FUNCTION_COUNT; f++)
            run->has[e][f] = engines[e].run[f] != NULL;
        double difference = e > 0 ? bench_check(&engines[0], &engines[e], &states, CHECKED_STATES) : 0.0;
        run->difference = difference > run->difference ? difference : run->difference;
    }
    bench_measure(engines, run->nengine, &states, o->context.repetitions, r->name, &run->times);
    bench_measure_stages(model, &states, o->context.repetitions, &run->stages);
    for (int e = 0; e < run->nengine; e++)
        engines[e].destroy(engines[e].self);
    bench_states_free(&states);
    tg_model_destroy(model);
}

/* Where an engine's memory lies can change its time by a sixth, and stays the same for as long as the engine lives. So
 * each round is a process of its own, with a fresh heap that starts somewhere else, and of the rounds the best counts.
 */
static void run_robot(const options *o, const robot *r, bench_run *best)
{
    bench_run *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        bench_die("mmap failed");
    for (size_t round = 0; round < ROUNDS; round++)
    {
        memset(shared, 0, sizeof *shared);
        fflush(stdout);
        pid_t child = fork();
        if (child == 0)
        {
            void *shift = bench_alloc(1 + 17 * round, 64);
            run_round(o, r, shared);
            free(shift);
            _exit(0);
        }
        int status;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
            bench_die("%s was not measured", r->name);
        bench_merge(best, shared);
    }
    munmap(shared, sizeof *shared);
}

int main(int argc, char **argv)
{
    static bench_run runs[RUNS_MAX];
    options o = parse(argc, argv);
    o.context.cpu = bench_pin(o.context.cpu);
    const robot *list = o.growth ? chains : robots;
    size_t count = o.growth ? sizeof chains / sizeof chains[0] : sizeof robots / sizeof robots[0];
    int nrun = 0;
    for (size_t i = 0; i < count; i++)
    {
        if (o.robot != NULL && strcmp(o.robot, list[i].name) != 0)
            continue;
        run_robot(&o, &list[i], &runs[nrun]);
        bench_print_run(stdout, &runs[nrun++]);
        fflush(stdout);
    }
    if (nrun == 0)
        bench_die("no robot is called %s", o.robot);
    bench_print_summary(stdout, runs, nrun);
    if (o.out != NULL)
        bench_write_results(o.out, o.growth ? "growth" : o.trees ? "trees" : "dynamics", &o.context, runs, nrun);
    return 0;
}
