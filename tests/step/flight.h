/* Rollouts of a sim and the gradient of one number of their last state. */
#ifndef TG_TESTS_FLIGHT_H
#define TG_TESTS_FLIGHT_H

#include "step_test.h"

#define BLOCK                                                                                                          \
    "<mujoco><option timestep='0.001'/><default><geom friction='%g'/></default><worldbody>"                            \
    "<geom name='floor' type='plane' size='5 5 0.1'/>"                                                                 \
    "<body name='block' pos='0 0 0.1'><freejoint name='j'/><geom name='box' type='box' size='0.1 0.1 0.1' mass='1'/>"  \
    "</body></worldbody></mujoco>"

/* ---- a rollout and the gradient of one number of its last state ---- */

typedef struct flight
{
    sim *s;
    tg_tape *tape;
    int steps;
    double *q, *v;                 /* states */
    double *gq, *gv;               /* gradients with respect to them */
    double *dq, *dv, *dtau, *dpar; /* with respect to what went in */
    const double *u;               /* controls of every step, or NULL */
    double dt;
    tg_label label;
} flight;

static inline flight take_off(sim *s, int steps, bool checkpoints)
{
    flight f = {.s = s, .steps = steps};
    int nv = s->n.nv, rows = steps + 1;
    tg_error error;
    if (tg_tape_create(s->m, steps, checkpoints, &f.tape, &error) != TG_OK)
        fail_msg("%s", error.message);
    f.q = numbers(rows * s->n.nq);
    f.v = numbers(rows * nv);
    f.gq = numbers(rows * nv);
    f.gv = numbers(rows * nv);
    f.dq = numbers(nv);
    f.dv = numbers(nv);
    f.dtau = numbers(steps * nv);
    f.dpar = numbers(s->n.nparams);
    return f;
}

static inline void land(flight *f)
{
    double *owned[] = {f->q, f->v, f->gq, f->gv, f->dq, f->dv, f->dtau, f->dpar};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    tg_tape_destroy(f->tape);
}

/* from the state of the sim, without cache and controls */
static inline void fly(flight *f)
{
    sim *s = f->s;
    tg_info worst;
    tg_trajectory out = {.q = f->q, .v = f->v};
    if (tg_rollout(s->m, s->w, f->tape, &s->options, &(tg_state){s->q, s->v, s->act, NULL},
                   &(tg_controls){.steps = f->steps, .u = f->u}, &out, &worst) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    assert_int_equal(worst.status, TG_STEP_SOLVED);
}

static inline void fly_back(flight *f)
{
    sim *s = f->s;
    tg_rollout_gradient in = {.q = f->dq, .v = f->dv, .tau = f->dtau, .params = f->dpar, .dt = &f->dt};
    if (tg_rollout_vjp(s->m, s->w, f->tape, &(tg_trajectory){.q = f->gq, .v = f->gv}, &in, &f->label) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
}

/* the gradient of q[dof] after the last step */
static inline void fly_for(flight *f, int dof)
{
    fly(f);
    f->gq[f->steps * f->s->n.nv + dof] = 1;
    fly_back(f);
    f->gq[f->steps * f->s->n.nv + dof] = 0;
}

static inline double with_respect_to(const flight *f, const char *parameter)
{
    int offset, size;
    assert_int_equal(tg_param_find(f->s->m, parameter, &offset, &size, NULL), TG_OK);
    return f->dpar[offset];
}

/* a model of this project */
static inline sim *open_file(const char *file)
{
    char path[512];
    tg_model *m = NULL;
    tg_error error;
    snprintf(path, sizeof path, "%s/%s", TANGERE_ROOT, file);
    if (tg_load(path, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return sim_open_model(m);
}

#endif
