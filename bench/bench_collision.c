/* bench_collision: broad and narrow phase beside MuJoCo's mj_collision, along recorded falls.
 *
 * The configurations come from simulations with MuJoCo, and both engines get the same. Kinematics is done before the
 * clock starts. Tangere's time includes placing the geoms in the world, which MuJoCo does in mj_kinematics, untimed.
 * Protocol: measure.c. */
#include <mujoco/mujoco.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "contact/collide.h"
#include "dynamics/kinematics.h"
#include "tangere/step.h"

enum
{
    CONTACTS = 20000,
    RESET_SECONDS = 2,
    PILE_SIDE = 10
};

/* ---- one scene in both engines ---- */

typedef struct scene
{
    const char *name;
    tg_model *m;
    tg_work *w;
    mjModel *mj;
    mjData *data;
    double *states; /* nstate x nq */
    int nstate, nq;
    tg_contact *contact;
    int count;
} scene;

static void open_scene(scene *s, const char *path)
{
    char message[1000] = "";
    tg_error error;
    if (tg_load(path, NULL, &s->m, &error) != TG_OK)
        bench_die("%s", error.message);
    s->mj = mj_loadXML(path, NULL, message, sizeof message);
    if (s->mj == NULL)
        bench_die("MuJoCo: %s", message);
    s->nq = tg_model_sizes(s->m).nq;
    if (s->nq != s->mj->nq || tg_work_create(s->m, &s->w, &error) != TG_OK)
        bench_die("%s: not the same model, or no memory", path);
    s->data = mj_makeData(s->mj);
    s->contact = bench_alloc(CONTACTS, sizeof *s->contact);
}

static void close_scene(scene *s)
{
    mj_deleteData(s->data);
    mj_deleteModel(s->mj);
    tg_work_destroy(s->w);
    tg_model_destroy(s->m);
    free(s->states);
    free(s->contact);
}

/* ---- states ---- */

static double uniform(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)*seed / 2147483648.0 - 1;
}

/* The first keyframe, else the reference; a free or planar base 0.2 m higher; velocities in +-0.3. */
static void restart(scene *s, unsigned *seed)
{
    mjModel *mj = s->mj;
    mj_resetData(mj, s->data);
    if (mj->nkey > 0)
        mj_resetDataKeyframe(mj, s->data, 0);
    if (mj->jnt_type[0] == mjJNT_FREE)
        s->data->qpos[2] += 0.2;
    else if (mj->jnt_type[0] == mjJNT_SLIDE && mj->njnt > 1)
        s->data->qpos[1] += 0.2;
    for (int i = 0; i < mj->nv; i++)
        s->data->qvel[i] = 0.3 * uniform(seed);
}

/* A robot on a fixed base does not fall: it is sent to random targets instead. */
static void steer(scene *s, unsigned *seed)
{
    if (s->mj->jnt_type[0] != mjJNT_HINGE)
        return;
    for (int i = 0; i < s->mj->nu; i++)
    {
        const mjtNum *range = s->mj->actuator_ctrlrange + 2 * i;
        s->data->ctrl[i] = 0.5 * (range[0] + range[1]) + 0.25 * (range[1] - range[0]) * uniform(seed);
    }
}

static void record_fall(scene *s, int nstate, int every)
{
    unsigned seed = 1;
    int period = (int)(RESET_SECONDS / s->mj->opt.timestep);
    s->nstate = nstate;
    s->states = bench_alloc((size_t)nstate * (size_t)s->nq, sizeof(double));
    for (int step = 0; step < nstate * every; step++)
    {
        if (step % period == 0)
            restart(s, &seed);
        if (step % (period / 4) == 0)
            steer(s, &seed);
        mj_step(s->mj, s->data);
        if (step % every == 0)
            memcpy(s->states + (size_t)(step / every) * (size_t)s->nq, s->data->qpos, sizeof(double) * (size_t)s->nq);
    }
}

/* 1,000 cubes of 0.1 m, turned at random, 0.11 m apart: most touch several others. */
static void write_pile(const char *path)
{
    FILE *file = fopen(path, "w");
    if (file == NULL)
        bench_die("cannot write %s", path);
    fprintf(file, "<mujoco><size memory=\"200M\"/><worldbody><geom type=\"plane\" size=\"1 1 1\"/>\n");
    for (int i = 0; i < PILE_SIDE * PILE_SIDE * PILE_SIDE; i++)
        fprintf(file, "<body pos=\"%g %g %g\"><freejoint/><geom type=\"box\" size=\"0.05 0.05 0.05\"/></body>\n",
                0.11 * (i % PILE_SIDE), 0.11 * (i / PILE_SIDE % PILE_SIDE), 0.06 + 0.11 * (i / PILE_SIDE / PILE_SIDE));
    fprintf(file, "</worldbody></mujoco>\n");
    if (fclose(file) != 0)
        bench_die("cannot write %s", path);
}

static void shake_pile(scene *s, int nstate)
{
    unsigned seed = 1;
    s->nstate = nstate;
    s->states = bench_alloc((size_t)nstate * (size_t)s->nq, sizeof(double));
    for (int k = 0; k < nstate; k++)
        for (int i = 0; i < s->nq / 7; i++)
        {
            double *q = s->states + (size_t)k * (size_t)s->nq + 7 * i;
            for (int j = 0; j < 7; j++)
                q[j] = j < 3 ? s->mj->qpos0[7 * i + j] + 0.005 * uniform(&seed) : uniform(&seed);
            mju_normalize4(q + 3);
        }
}

/* ---- the calls ---- */

static void prepare_peer(scene *s, int state)
{
    memcpy(s->data->qpos, s->states + (size_t)state * (size_t)s->nq, sizeof(double) * (size_t)s->nq);
    mj_kinematics(s->mj, s->data);
    mj_comPos(s->mj, s->data);
}

static void prepare_own(scene *s, int state)
{
    tg_place(s->m, s->w, s->states + (size_t)state * (size_t)s->nq);
}

static void run_peer(scene *s)
{
    mj_collision(s->mj, s->data);
}

/* What tg_collide does once the bodies are placed. */
static void run_own(scene *s)
{
    s->count = 0;
    tg_space_update(s->m, s->w);
    if (tg_space_near(s->m, s->w, 0) != TG_OK)
        bench_die("%s: %s", s->name, tg_work_message(s->w));
    for (int i = 0; i < s->w->space->npair; i++)
    {
        tg_geom_pair pair = s->w->space->pair[i];
        tg_query query;
        tg_pair_query(s->w, pair, tg_pair_margin(s->m, s->w->params, pair), &query);
        tg_patch patch;
        tg_narrow(&query, &patch);
        for (int k = 0; k < patch.count && s->count < CONTACTS; k++)
            s->contact[s->count++] = tg_as_contact(s->m, pair, &patch.point[k]);
    }
}

/* ---- before the clock: the same pairs overlap ---- */

static bool is_new(int a, int b, int *seen, int n)
{
    for (int i = 0; i < n; i++)
        if (seen[2 * i] == a && seen[2 * i + 1] == b)
            return false;
    seen[2 * n] = a;
    seen[2 * n + 1] = b;
    return true;
}

static int own_pairs(const scene *s, int *seen)
{
    int n = 0;
    for (int i = 0; i < s->count; i++)
        if (s->contact[i].distance < -1e-9)
            n += is_new(s->contact[i].geom1, s->contact[i].geom2, seen, n);
    return n;
}

static int peer_pairs(const scene *s, int *seen)
{
    int n = 0;
    for (int i = 0; i < s->data->ncon; i++)
    {
        const mjContact *c = &s->data->contact[i];
        int a = c->geom[0] < c->geom[1] ? c->geom[0] : c->geom[1],
            b = c->geom[0] < c->geom[1] ? c->geom[1] : c->geom[0];
        if (c->dist < -1e-9)
            n += is_new(a, b, seen, n);
    }
    return n;
}

typedef struct result
{
    double own, peer, near, overlap, contacts, peer_contacts; /* us, us; means over states */
    int differ;                                               /* states whose numbers of overlapping pairs differ */
} result;

static void compare(scene *s, result *r)
{
    int *seen = bench_alloc(2 * CONTACTS, sizeof *seen);
    for (int i = 0; i < s->nstate; i++)
    {
        prepare_peer(s, i);
        run_peer(s);
        prepare_own(s, i);
        run_own(s);
        int mine = own_pairs(s, seen), theirs = peer_pairs(s, seen);
        r->differ += mine != theirs;
        r->near += (double)s->w->space->npair / s->nstate;
        r->overlap += (double)mine / s->nstate;
        r->contacts += (double)s->count / s->nstate;
        r->peer_contacts += (double)s->data->ncon / s->nstate;
    }
    free(seen);
}

/* ---- time ---- */

typedef void call(scene *s);
typedef void prepare(scene *s, int state);

static void nothing(scene *s)
{
    (void)s;
}

static void pass(scene *s, prepare *before, call *run, double *smallest)
{
    for (int i = 0; i < s->nstate; i++)
    {
        before(s, i);
        double start = bench_clock();
        run(s);
        double time = 1e6 * (bench_clock() - start);
        smallest[i] = smallest[i] == 0 || time < smallest[i] ? time : smallest[i];
    }
}

static void measure(scene *s, int repetitions, result *r)
{
    size_t n = (size_t)s->nstate;
    double *own = bench_alloc(n, sizeof *own), *peer = bench_alloc(n, sizeof *peer),
           *empty = bench_alloc(n, sizeof *empty);
    for (int k = 0; k < repetitions; k++)
    {
        pass(s, prepare_own, nothing, empty);
        if (k % 2 == 0)
            pass(s, prepare_own, run_own, own);
        pass(s, prepare_peer, run_peer, peer);
        if (k % 2 == 1)
            pass(s, prepare_own, run_own, own);
    }
    double clock = bench_median(empty, n);
    r->own = bench_median(own, n) - clock;
    r->peer = bench_median(peer, n) - clock;
    free(own);
    free(peer);
    free(empty);
}

/* ---- */

static void print_row(const scene *s, const result *r)
{
    printf("| %s | %.2f | %.2f | %.2f | %.1f | %.1f | %.1f / %.1f | %d of %d |\n", s->name, r->own, r->peer,
           r->own / r->peer, r->near, r->overlap, r->contacts, r->peer_contacts, r->differ, s->nstate);
    fflush(stdout);
}

static void run_scene(const char *name, const char *path, bool pile, int nstate, int repetitions)
{
    scene s = {.name = name};
    result r = {0};
    open_scene(&s, path);
    if (pile)
        shake_pile(&s, nstate);
    else
        record_fall(&s, nstate, 5);
    compare(&s, &r);
    measure(&s, repetitions, &r);
    print_row(&s, &r);
    close_scene(&s);
}

int main(int argc, char **argv)
{
    static const struct
    {
        const char *name, *file;
    } robots[] = {
        {"half-cheetah", "gymnasium/half_cheetah.xml"},
        {"humanoid", "mujoco_humanoid/humanoid.xml"},
        {"UR5e", "universal_robots_ur5e/scene.xml"},
        {"UR5e, meshes", "universal_robots_ur5e/scene_mesh.xml"},
        {"Go1", "unitree_go1/scene.xml"},
        {"H1", "unitree_h1/scene.xml"},
        {"H1, meshes", "unitree_h1/scene_mesh.xml"},
        {"Atlas", "atlas/scene.xml"},
    };
    const char *shared = getenv("TANGERE_SHARED"), *pile = "/tmp/tangere_bench_pile.xml";
    int repetitions = argc > 1 ? atoi(argv[1]) : 15;
    char path[1024];
    const char *only = argc > 2 ? argv[2] : NULL;
    if (argc > 3 || repetitions < 1)
        bench_die("usage: bench_collision [REPETITIONS [SCENE]]; robots are read from $TANGERE_SHARED/robots");
    int cpu = bench_pin(-1);
    printf("Tangere %s, MuJoCo %s, core %d, %d repetitions; us, quiet medians\n\n", tg_version(), mj_versionString(),
           cpu, repetitions);
    printf("| scene | Tangere | MuJoCo | ratio | near pairs | overlapping pairs | contacts, Tangere / MuJoCo "
           "| states that differ in their number |\n| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (size_t i = 0; i < sizeof robots / sizeof *robots; i++)
    {
        if (only != NULL && strcmp(only, robots[i].name) != 0)
            continue;
        snprintf(path, sizeof path, "%s/robots/%s", shared != NULL ? shared : "../shared", robots[i].file);
        run_scene(robots[i].name, path, false, 1000, repetitions);
    }
    if (only != NULL && strcmp(only, "1,000 boxes") != 0)
        return 0;
    write_pile(pile);
    run_scene("1,000 boxes", pile, true, 5, 6 * repetitions); /* a call takes milliseconds: fewer states, more often */
    remove(pile);
    return 0;
}
