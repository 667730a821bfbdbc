/* A rollout and its way back, timed. */
#ifndef TG_BENCH_ROLLOUTS_H
#define TG_BENCH_ROLLOUTS_H

#include <stdbool.h>
#include <stddef.h>

/* Processor times in us a step, medians over repetitions; forward and backward sweeps take turns. */
typedef struct bench_rollout
{
    int nv;
    double contacts; /* of the step with the largest residual */
    double forward;  /* tg_rollout with its tape */
    double backward; /* tg_rollout_vjp: gradients of the start and the controls of every step */
    double params;   /* and of all parameters */
    size_t bytes;    /* of the tape */
} bench_rollout;

/* A model that stands, by its first keyframe, and is shaken by its controls. */
bench_rollout bench_rollout_of(const char *path, int steps, bool checkpoints, int repetitions);

#endif
