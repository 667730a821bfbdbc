/* bench_step: tg_step beside mj_step, along recorded trajectories.
 *
 * A trajectory is simulated with MuJoCo. Then both engines take one step from each recorded state, each with the warm
 * start that its own step from the state before left behind. Two settings of MuJoCo: the model's own, and `strict`
 * (elliptic cone, Newton, tolerance 1e-10, 100 iterations). Quiet: each state keeps the smallest of its times. Robots
 * come from $TANGERE_SHARED/robots; growth: chains of hinges that fall on the floor, and piles of boxes that fell on
 * each other. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "step_scene.h"

enum
{
    ROOM = 256, /* contact points of a robot */
    LEAD = 5    /* steps before those that count, for the warm start */
};

/* ---- to the terminal, and to the file of results if there is one ---- */

static FILE *results;

static void put(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void put(const char *format, ...)
{
    for (int k = 0; k < (results != NULL ? 2 : 1); k++)
    {
        FILE *out = k == 0 ? stdout : results;
        va_list arguments;
        va_start(arguments, format);
        vfprintf(out, format, arguments);
        va_end(arguments);
        fflush(out);
    }
}

/* ---- files that both engines read ---- */

static const char *shared(void)
{
    const char *folder = getenv("TANGERE_SHARED");
    return folder != NULL ? folder : "../shared";
}

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0)
        bench_die("cannot read %s", path);
    char *content = bench_alloc((size_t)size + 1, 1);
    if (fread(content, 1, (size_t)size, file) != (size_t)size)
        bench_die("cannot read %s", path);
    fclose(file);
    return content;
}

static FILE *create(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_die("cannot write %s", path);
    return file;
}

static void finish(FILE *file, const char *path)
{
    if (fclose(file) != 0)
        bench_die("cannot write %s", path);
}

/* the text with every `from` replaced */
static void write_replaced(FILE *file, const char *content, const char *from, const char *to)
{
    const char *found;
    while ((found = strstr(content, from)) != NULL)
    {
        fwrite(content, 1, (size_t)(found - content), file);
        fputs(to, file);
        content = found + strlen(from);
    }
    fputs(content, file);
}

/* Go1 with feet of condim 3, in a folder of its own */
static void write_go1(const char *folder, char *scene_path, size_t size)
{
    char path[1024], robot[1024], meshes[1100];
    snprintf(path, sizeof path, "%s/robots/unitree_go1/go1.xml", shared());
    char *content = read_text(path);
    snprintf(robot, sizeof robot, "%s/go1.xml", folder);
    FILE *file = create(robot);
    char *middle = bench_alloc(strlen(content) + 2048, 1);
    char *absolute = realpath(shared(), NULL);
    if (absolute == NULL)
        bench_die("no folder %s", shared());
    snprintf(meshes, sizeof meshes, "meshdir=\"%s/robots/unitree_go1/assets\"", absolute);
    FILE *memory = fmemopen(middle, strlen(content) + 2048, "w");
    write_replaced(memory, content, "meshdir=\"assets\"", meshes);
    fclose(memory);
    write_replaced(file, middle, "condim=\"6\"", "condim=\"3\"");
    finish(file, robot);
    free(absolute);
    free(middle);
    free(content);
    snprintf(path, sizeof path, "%s/robots/unitree_go1/scene.xml", shared());
    content = read_text(path);
    snprintf(scene_path, size, "%s/scene.xml", folder);
    file = create(scene_path);
    fputs(content, file);
    finish(file, scene_path);
    free(content);
}

/* n hinges in turn about y and z, links of 5 cm, 0.2 m above the floor at one end */
static void write_chain(const char *path, int n)
{
    FILE *file = create(path);
    fprintf(file, "<mujoco><option timestep=\"0.002\"/><default><joint damping=\"0.02\" armature=\"0.001\"/><geom "
                  "type=\"capsule\" "
                  "size=\"0.015\" mass=\"0.1\" contype=\"0\"/></default><worldbody><geom type=\"plane\" size=\"20 20 "
                  "1\" contype=\"1\"/>\n");
    for (int i = 0; i < n; i++)
        fprintf(file, "<body pos=\"%g 0 %g\"><joint axis=\"0 %d %d\"/><geom fromto=\"0 0 0 0.05 0 0\"/>\n",
                i > 0 ? 0.05 : 0, i > 0 ? 0 : 0.2, i % 2 == 0, i % 2);
    for (int i = 0; i < n; i++)
        fprintf(file, "</body>");
    fprintf(file, "</worldbody></mujoco>\n");
    finish(file, path);
}

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 4294967296.0;
}

/* n cubes of 0.1 m, turned at random, that fall on each other */
static void write_pile(const char *path, int n)
{
    unsigned seed = 1;
    int side = (int)ceil(cbrt(n) - 1e-9);
    FILE *file = create(path);
    fprintf(file, "<mujoco><size memory=\"500M\"/><option timestep=\"0.002\"/><worldbody><geom type=\"plane\" size=\"5 "
                  "5 1\"/>\n");
    for (int i = 0; i < n; i++)
    {
        double turn = 90 * uniform(&seed), tilt = 90 * uniform(&seed);
        fprintf(file,
                "<body pos=\"%g %g %g\" euler=\"%g %g 0\"><freejoint/><geom type=\"box\" size=\"0.05 0.05 "
                "0.05\"/></body>\n",
                0.15 * (i % side), 0.15 * (i / side % side), 0.1 + 0.17 * (i / side / side), turn, tilt);
    }
    fprintf(file, "</worldbody></mujoco>\n");
    finish(file, path);
}

/* cubes of 0.1 m in layers of k x k, k = layers, ..., 2, 1, each on four of the layer below, turned about the vertical
 * by up to 3 degrees; returns how many */
static int write_pyramid(const char *path, int layers)
{
    unsigned seed = 1;
    int n = 0;
    FILE *file = create(path);
    fprintf(file, "<mujoco><size memory=\"500M\"/><option timestep=\"0.002\"/><worldbody><geom type=\"plane\" size=\"5 "
                  "5 1\"/>\n");
    for (int layer = 0; layer < layers; layer++)
        for (int i = 0; i < layers - layer; i++)
            for (int j = 0; j < layers - layer; j++, n++)
                fprintf(file,
                        "<body pos=\"%g %g %g\" euler=\"0 0 %g\"><freejoint/><geom type=\"box\" size=\"0.05 0.05 "
                        "0.05\"/></body>\n",
                        0.11 * (i + 0.5 * layer), 0.11 * (j + 0.5 * layer), 0.05 + 0.1 * layer, 6 * uniform(&seed) - 3);
    fprintf(file, "</worldbody></mujoco>\n");
    finish(file, path);
    return n;
}

/* ---- tables ---- */

static void robot_head(void)
{
    put("| robot | Tangere | MuJoCo | strict | ratio | to strict | mean: Tangere | MuJoCo | strict | contacts | "
        "iterations, mean (most) "
        "| residual (not solved) |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: "
        "|\n");
}

static void robot_row(const char *name, const scene_times t[SCENE_ENGINES])
{
    put("| %s | %.2f | %.2f | %.2f | **%.2f** | %.2f | %.2f | %.2f | %.2f | %.1f / %.1f | %.2f (%d) / %.2f (%d) / %.2f "
        "(%d) | %.1e (%d) "
        "|\n",
        name, t[0].median, t[1].median, t[2].median, t[0].median / t[1].median, t[0].median / t[2].median, t[0].mean,
        t[1].mean, t[2].mean, t[0].contacts, t[1].contacts, t[0].iterations, t[0].most_iterations, t[1].iterations,
        t[1].most_iterations, t[2].iterations, t[2].most_iterations, t[0].residual, t[0].unsolved);
}

static void run_robot(const char *name, const char *path, int repetitions, int nstate)
{
    scene s;
    scene_times times[SCENE_ENGINES];
    scene_open(&s, name, path, ROOM);
    scene_record(&s, 0, nstate, 0.2, 0.3);
    scene_measure(&s, SCENE_ENGINES, repetitions, times);
    robot_row(name, times);
    scene_close(&s);
}

static const struct
{
    const char *name, *file; /* NULL: made from Go1 */
} robots[] = {
    {"half-cheetah", "gymnasium/half_cheetah.xml"},
    {"humanoid", "mujoco_humanoid/humanoid.xml"},
    {"UR5e", "universal_robots_ur5e/scene.xml"},
    {"Go1", "unitree_go1/scene.xml"},
    {"Go1, condim 3", NULL},
    {"H1", "unitree_h1/scene.xml"},
    {"Atlas", "atlas/scene.xml"},
};

static void run_robots(const char *folder, int repetitions, int nstate, const char *only)
{
    put("## Robots\n\n%d repetitions of %d states; us.\n\n", repetitions, nstate);
    robot_head();
    for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    {
        char path[1024];
        if (only != NULL && strcmp(only, robots[i].name) != 0)
            continue;
        if (robots[i].file != NULL)
            snprintf(path, sizeof path, "%s/robots/%s", shared(), robots[i].file);
        else
            write_go1(folder, path, sizeof path);
        run_robot(robots[i].name, path, repetitions, nstate);
    }
}

static void growth_row(int size, const scene_times t[SCENE_ENGINES], double unit, bool peer)
{
    if (!peer)
    {
        put("| %d | %.1f | %.1f | | | %.3f | %.3f | | %.1f | %.1f (%d) | %.1e (%d) |\n", size, t[0].contacts,
            t[0].median, t[0].median / unit, t[0].mean / unit, t[0].most, t[0].iterations, t[0].most_iterations,
            t[0].residual, t[0].unsolved);
        return;
    }
    put("| %d | %.1f / %.1f | %.1f | %.1f | **%.2f** | %.3f | %.3f | %.3f | %.1f | %.1f (%d) / %.1f (%d) | %.1e (%d) "
        "|\n",
        size, t[0].contacts, t[1].contacts, t[0].median, t[1].median, t[0].median / t[1].median, t[0].median / unit,
        t[0].mean / unit, t[1].median / (unit == t[0].contacts ? t[1].contacts : unit), t[0].most, t[0].iterations,
        t[0].most_iterations, t[1].iterations, t[1].most_iterations, t[0].residual, t[0].unsolved);
}

static void growth_head(const char *title, const char *size, const char *unit)
{
    put("\n### %s\n\n| %s | contacts | Tangere | MuJoCo | ratio | Tangere a %s | mean | MuJoCo a %s | Tangere, slowest "
        "| "
        "iterations, mean (most) | "
        "residual (not solved) |\n| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
        title, size, unit, unit);
}

/* each engine along its own trajectory: `skip` steps from the start, then `nstate` that are timed; peer: MuJoCo too */
static void run_grown(const char *name, const char *path, int size, int skip, int nstate, int repetitions,
                      bool by_contact, bool peer)
{
    scene s;
    scene_times times[SCENE_ENGINES];
    scene_open(&s, name, path, 16 * size + ROOM);
    s.processor_time = size >= 30;
    s.lead = LEAD;
    skip -= skip < LEAD ? skip : LEAD;
    if (peer)
        scene_record(&s, skip, LEAD + nstate, 0, 0);
    scene_record_own(&s, skip, LEAD + nstate, 0, 0);
    scene_measure(&s, peer ? SCENE_STRICT : SCENE_OWN + 1, repetitions, times);
    growth_row(size, times, by_contact ? times[0].contacts : size, peer);
    scene_close(&s);
}

/* from step `skip` on; the largest that has a row, and the largest for MuJoCo */
static void run_piles(const char *title, const char *path, int skip, int most, int most_peer, int repetitions)
{
    static const int piles[] = {10, 30, 100, 300, 1000};
    growth_head(title, "boxes", "contact");
    for (size_t i = 0; i < sizeof piles / sizeof *piles && piles[i] <= most; i++)
    {
        bool large = piles[i] > 100;
        write_pile(path, piles[i]);
        run_grown("pile", path, piles[i], skip, large ? 10 : 50, repetitions, true, piles[i] <= most_peer);
    }
}

/* from 0.1 s on; the largest for MuJoCo */
static void run_pyramids(const char *path, int most_peer, int repetitions)
{
    static const int layers[] = {3, 4, 6, 9, 14};
    growth_head(
        "Pyramids of boxes that rest on each other, each on four others: 30 steps from 0.1 s on (MuJoCo: up to 91 "
        "boxes)",
        "boxes", "contact");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
    {
        int boxes = write_pyramid(path, layers[i]);
        run_grown("pyramid", path, boxes, 50, 30, repetitions, true, boxes <= most_peer);
    }
}

static void run_chains(const char *path, int repetitions)
{
    static const int chains[] = {6, 12, 25, 50, 100, 200};
    growth_head("Chains of hinges that fall on the floor, 0.5 s", "dof", "dof");
    for (size_t i = 0; i < sizeof chains / sizeof *chains; i++)
    {
        write_chain(path, chains[i]);
        run_grown("chain", path, chains[i], 0, 250, repetitions, false, true);
    }
}

static void run_growth(const char *folder, int repetitions)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/growth.xml", folder);
    put("\n## Growth\n\nEach engine along its own trajectory from the same start; us; %d repetitions. From 30 boxes "
        "and 50 dof on it is the "
        "processor's time, which other programs lengthen less than that of the wall.\n",
        repetitions);
    run_chains(path, repetitions);
    run_piles("Piles of boxes that fell on each other, from 0.6 s on, when they tumble: 50 steps, of more than 100 "
              "boxes 10 (MuJoCo: up "
              "to 300 boxes)",
              path, 300, 1000, 300, repetitions);
    run_piles("The same from 3 s on, when they lie", path, 1500, 300, 0, repetitions);
    run_pyramids(path, 91, repetitions);
}

static void put_title(int cpu)
{
    bench_moment now = bench_now();
    put("# tg_step beside mj_step\n\n- Date: %s. One core (%d); load of the machine at the start: %s. Tangere %s, "
        "MuJoCo %s (pip package).\n"
        "- Both take one step from each recorded state, each with its own warm start. quiet: each state keeps its "
        "smallest time; the median over "
        "states, where nothing else is said. strict: elliptic cone, Newton, tolerance 1e-10.\n"
        "- iterations: factorisations, ours / MuJoCo's (/ strict), summed over islands. residual: of the unrelaxed "
        "laws, m/s.\n\n",
        now.date, cpu, now.load, tg_version(), mj_versionString());
}

typedef struct arguments
{
    int repetitions, states;
    bool growth;            /* no robots */
    const char *only, *out; /* one robot; the folder of the results */
} arguments;

static arguments read_arguments(int argc, char **argv)
{
    arguments a = {.repetitions = 7, .states = 5000};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--growth") == 0)
            a.growth = true;
        else if (i + 1 < argc && strcmp(argv[i], "--repetitions") == 0)
            a.repetitions = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--states") == 0)
            a.states = atoi(argv[++i]);
        else if (i + 1 < argc && strcmp(argv[i], "--robot") == 0)
            a.only = argv[++i];
        else if (i + 1 < argc && strcmp(argv[i], "--out") == 0)
            a.out = argv[++i];
        else
            bench_die("usage: bench_step [--repetitions N] [--states N] [--robot NAME | --growth] [--out FOLDER]");
    if (a.repetitions < 1 || a.states < 1)
        bench_die("repetitions and states must be positive");
    return a;
}

static void remove_folder(const char *folder)
{
    static const char *const files[] = {"go1.xml", "scene.xml", "growth.xml"};
    char path[1024];
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv)
{
    arguments a = read_arguments(argc, argv);
    char folder[] = "/tmp/bench_step_XXXXXX", processor[128], path[1024] = "";
    if (mkdtemp(folder) == NULL)
        bench_die("cannot write to /tmp");
    bench_processor(processor, sizeof processor);
    if (a.out != NULL)
    {
        snprintf(path, sizeof path, "%s/%s_%s.md", a.out, a.growth ? "step_growth" : "step", processor);
        results = create(path);
    }
    put_title(bench_pin(-1));
    if (!a.growth)
        run_robots(folder, a.repetitions, a.states, a.only);
    if (a.only == NULL)
        run_growth(folder, a.repetitions);
    if (results != NULL)
        finish(results, path);
    remove_folder(folder);
    return 0;
}
