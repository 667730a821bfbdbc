/* The parts of a step, in the order they run. */
#ifndef TG_STEP_STEP_H
#define TG_STEP_STEP_H

#include "dynamics/actuation.h"
#include "step/work.h"

/* Checks the options, fills in what they leave open, and keeps them. (options.c) */
tg_status tg_step_options(const tg_model *m, tg_work *w, const tg_options *options);

/* What of an actuator's force is damping that acts on v+: -gear^2 slope v. dof -1: nothing. (smooth.c) */
typedef struct tg_actuator_damping
{
    int dof;
    double gear, slope;
    tg_drive drive;
} tg_actuator_damping;

tg_actuator_damping tg_implicit_damping_of(const tg_model *m, const tg_work *w, int actuator);

/* Position and velocity stage, factors of M + dt D (+ dt^2 K), and the velocities without constraints. (smooth.c) */
tg_status tg_step_smooth(const tg_model *m, tg_work *w);

/* The constraints of the step, up to the problem of every island. (problem.c) */
tg_status tg_step_problem(const tg_model *m, tg_work *w, const tg_cache *cache);

/* Impulses and velocities. (problem.c) */
tg_status tg_step_solve(const tg_model *m, tg_work *w);

/* Impulses to start from, and the impulses found. (cache.c) */
void tg_cache_read(const tg_work *w, const tg_cache *cache);
void tg_cache_write(const tg_work *w, tg_cache *cache);

/* Brings loops to rounding: q_next. (project.c) */
tg_status tg_step_project(const tg_model *m, tg_work *w);

/* Modes of all constraints, if they are not there yet. (info.c) */
tg_status tg_step_modes(tg_work *w);

/* tg_info of the step. (info.c) */
tg_status tg_step_report(const tg_model *m, tg_work *w);

/* A number that changes when the coefficient of another geom counts at a contact. (info.c) */
void tg_step_choices(const tg_work *w, uint64_t *hash);

/* Brings back what the derivatives of the last step need, if something else has used the workspace since; the factors of
 * its islands; the label. (derivative.c) */
tg_status tg_step_prepare(const tg_model *m, tg_work *w);

#endif
