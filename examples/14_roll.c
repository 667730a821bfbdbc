/* SUPERball rolls over the ground, and the derivatives of how far it comes by stiffness and rest length of a cable.
 *
 * The same in Python: 14_roll.py, which also rolls over hills. Build it against an installed library with
 *     cc 14_roll.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <string.h>

#include "example.h"

enum
{
    STEPS = 200,
    RODS = 6
};

/* how far the middle of the rods comes along x */
static double travel(const tg_sizes *n, const double *q)
{
    double sum = 0;
    for (int b = 0; b < RODS; b++)
        sum += (q[STEPS * n->nq + 7 * b] - q[7 * b]) / RODS;
    return sum;
}

int main(void)
{
    tg_model *m = load("models/superball.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    tg_options options = tg_default_options();
    tg_state start = {array(n.nq), array(n.nv), array(n.na), NULL};
    check(tg_default_q(m, start.q, &error), error.message);
    for (int b = 0; b < RODS; b++)
        start.v[6 * b] = 1.5;
    options.dt = 0.005;
    options.implicit_tendons = TG_ON;
    double *q = array((STEPS + 1) * n.nq), *v = array((STEPS + 1) * n.nv), *gq = array((STEPS + 1) * n.nv),
           *gparams = array(n.nparams);
    tg_tape *tape = NULL;
    tg_trajectory states = {.q = q, .v = v}, gradient = {.q = gq};
    tg_rollout_gradient in = {.params = gparams};
    tg_label label;
    tg_info worst;
    check(tg_tape_create(m, STEPS, TG_TAPE_ALL, &tape, &error), error.message);
    check(tg_rollout(m, w, tape, &options, &start, &(tg_controls){.steps = STEPS}, &states, &worst),
          tg_work_message(w));
    for (int b = 0; b < RODS; b++)
        gq[STEPS * n.nv + 6 * b] = 1.0 / RODS;
    check(tg_rollout_vjp(m, w, tape, &gradient, &in, &label), tg_work_message(w));
    printf("%.1f s: %.4f m, every step solved: %s\n", STEPS * options.dt, travel(&n, q),
           worst.status == TG_STEP_SOLVED ? "True" : "False");
    printf("by the stiffness of cable 3: %.4g m per N/m\n", gparams[position_of(m, "tendon.c3.stiffness")]);
    printf("by the rest length of cable 3: %.4g m per m\n", gparams[position_of(m, "tendon.c3.length")]);
    double *own[] = {q, v, gq, gparams, start.q, start.v, start.act};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        free(own[i]);
    tg_tape_destroy(tape);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
