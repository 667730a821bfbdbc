/* The parts of the benchmark that know Tangere. */
#ifndef TANGERE_BENCH_BENCH_H
#define TANGERE_BENCH_BENCH_H

#include <stddef.h>
#include <stdio.h>

#include "engine.h"
#include "tangere/read.h"

enum
{
    BENCH_ENGINES_MAX = 9, /* Tangere and eight settings of Pinocchio */
    BENCH_STAGES_MAX = 16
};

/* Prints to stderr and ends the program: a benchmark that goes on after a failure measures nothing. */
_Noreturn void bench_die(const char *format, ...);

/* Zeroed memory, aligned to 64 bytes, or bench_die. Given back with free. */
void *bench_alloc(size_t count, size_t size);

/* ---- trees.c: models in code ---- */

/* "humanoid", "go1", "h1", "atlas", "iiwa": a tree of the robot's shape with inertias of no robot; "chain<n>": a chain
 * of n hinges on a fixed base. */
tg_model *bench_make_tree(const char *shape);

/* ---- engine_tangere.c ---- */

/* The tree of a model at its default parameters. */
bench_tree bench_describe(const tg_model *model);
void bench_tree_free(bench_tree *tree);

/* n states: tg_random_state, accelerations and forces uniform in +-1 and +-10. */
bench_states bench_random_states(const tg_model *model, int n);
void bench_states_free(bench_states *states);

bench_engine bench_tangere_create(const tg_model *model, const bench_states *states);

/* Forces that Tangere's forward dynamics adds to tau (springs, dampers) and their derivatives: nv, nv x nv, nv x nv. */
void bench_tangere_passive(const bench_engine *engine, const double *q, const double *v, double *force,
                           double *dforce_dq, double *dforce_dv);

/* ---- check.c ---- */

/* Compares all results of the two engines at the first `count` states; on a difference above the tolerance bench_die.
 * Returns the largest relative difference seen. */
double bench_check(const bench_engine *tangere, const bench_engine *peer, const bench_states *states, int count);

/* ---- measure.c ---- */

/* Microseconds. quiet: each state keeps the smallest of its repetitions, then the median over states. raw: the median
 * of all. Without the cost of the clock. */
typedef struct bench_time
{
    double quiet, raw;
} bench_time;

typedef struct bench_times
{
    bench_time time[BENCH_ENGINES_MAX][BENCH_FUNCTION_COUNT]; /* of functions that an engine has */
    bench_time clock;
} bench_times;

/* Binds the program to one processor: cpu, or the last one it may use when cpu is negative. Returns which. */
int bench_pin(int cpu);

/* The value of the first line "key : value" of /proc/cpuinfo; "unknown" if there is none. */
void bench_cpu_field(const char *key, char *value, size_t size);

/* The processor as part of a file name: lower-case letters, digits and single underscores. */
void bench_processor(char *name, size_t size);

/* Today (UTC), and how many programs want the processor. */
typedef struct bench_moment
{
    char date[32], load[64];
} bench_moment;

bench_moment bench_now(void);

/* Seconds since some fixed point. */
double bench_clock(void);

/* The median of n numbers, which are sorted. */
double bench_median(double *x, size_t n);

void bench_measure(const bench_engine *engines, int nengine, const bench_states *states, int repetitions,
                   const char *label, bench_times *times);

/* ---- stages.c: where our time goes ---- */

typedef struct bench_stage_times
{
    int n;
    const char *name[BENCH_STAGES_MAX], *used_by[BENCH_STAGES_MAX];
    double quiet[BENCH_STAGES_MAX];
} bench_stage_times;

void bench_measure_stages(const tg_model *model, const bench_states *states, int repetitions, bench_stage_times *times);

/* ---- report.c ---- */

typedef struct bench_run
{
    char robot[64], source[768];
    int nbody, nv, nengine;
    char setting[BENCH_ENGINES_MAX][32]; /* 0 is Tangere */
    bool has[BENCH_ENGINES_MAX][BENCH_FUNCTION_COUNT];
    double difference; /* largest relative difference of results */
    bench_times times;
    bench_stage_times stages;
} bench_run;

/* Keeps the smaller of each two times; a best without engines becomes a copy. */
void bench_merge(bench_run *best, const bench_run *other);

typedef struct bench_context
{
    int cpu, states, rounds, repetitions;
} bench_context;

void bench_print_run(FILE *out, const bench_run *run);
void bench_print_summary(FILE *out, const bench_run *runs, int nrun);

/* <folder>/<name>_<cpu>.md and .csv. */
void bench_write_results(const char *folder, const char *name, const bench_context *context, const bench_run *runs,
                         int nrun);

#endif
