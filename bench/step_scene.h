/* One scene in both engines, and its steps timed along the same recorded states. */
#ifndef TANGERE_BENCH_STEP_SCENE_H
#define TANGERE_BENCH_STEP_SCENE_H

#include <mujoco/mujoco.h>

#include "bench.h"
#include "tangere/tangere.h"

typedef struct scene
{
    const char *name;
    tg_model *m;
    tg_work *w;
    mjModel *mj;
    mjData *data;
    double dt;
    int nstate, nq, nv, na, nu, width; /* of a recorded state: q, v, act, u */
    double *states;                    /* of MuJoCo */
    double *own;                       /* of Tangere; NULL: the same */
    tg_cache cache;
    double *q, *v, *act;
    tg_info info;
    int lead;            /* states at the start that only leave a warm start behind and are not counted */
    bool processor_time; /* for long steps: time of this thread alone; else the clock on the wall */
} scene;

/* From a file that both read; dt is MuJoCo's. room: contact points that a step may have. */
void scene_open(scene *s, const char *name, const char *path, int room);
void scene_close(scene *s);

/* nstate consecutive states of MuJoCo, after so many steps that are not kept. Every two seconds a new start: a free
 * base lifted by lift (m), velocities within speed; controls: see steer in step_scene.c. */
void scene_record(scene *s, int skip, int nstate, double lift, double speed);

/* Tangere gets states of its own, from the same start, without controls and activations: beside those of scene_record,
 * or alone. */
void scene_record_own(scene *s, int skip, int nstate, double lift, double speed);

enum
{
    SCENE_OWN,    /* tg_step */
    SCENE_PEER,   /* mj_step with the model's options */
    SCENE_STRICT, /* mj_step with the elliptic cone, Newton, tolerance 1e-10, 100 iterations */
    SCENE_ENGINES
};

/* of one engine along the states */
typedef struct scene_times
{
    double median, mean, most; /* us, over states, each with the smallest of its times */
    double contacts;           /* mean */
    double iterations;         /* mean */
    int most_iterations;
    double residual; /* worst, m/s (ours) */
    int unsolved;    /* states (ours) */
} scene_times;

/* Every engine takes a step from every state, with the warm start that its step from the state before left behind. */
void scene_measure(scene *s, int engines, int repetitions, scene_times times[SCENE_ENGINES]);

#endif
