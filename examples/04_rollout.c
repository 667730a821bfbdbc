/* The gradient of where a sliding cube comes to rest, by one backward pass over 400 steps.
 *
 * The same in Python: 04_rollout.py. Build it against an installed library with
 *     cc 04_rollout.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

enum
{
    STEPS = 400
};

int main(void)
{
    const double v0 = 1, friction = 0.4;
    tg_model *m = load("models/cube.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_tape *tape = NULL;
    tg_state start = {.q = array(n.nq), .v = array(n.nv)};
    tg_trajectory states = {.q = array((STEPS + 1) * n.nq)}, gradient = {.q = array((STEPS + 1) * n.nv)};
    tg_rollout_gradient by = {.v = array(n.nv), .params = array(n.nparams)};
    tg_controls controls = {.steps = STEPS};
    tg_params *params = floor_with(m, friction);

    check(tg_work_set_params(w, params), tg_work_message(w));
    check(tg_tape_create(m, STEPS, TG_TAPE_ALL, &tape, NULL), "tape");
    check(tg_key_get(m, tg_find(m, TG_KEY, "rest"), NULL, start.q, NULL, NULL, NULL, NULL), "key");
    start.v[0] = v0;
    check(tg_rollout(m, w, tape, NULL, &start, &controls, &states, NULL), tg_work_message(w));
    printf("it slides %.4f m\n", states.q[STEPS * n.nq]);

    /* a cost of the last state alone: x */
    gradient.q[STEPS * n.nv] = 1;
    check(tg_rollout_vjp(m, w, tape, &gradient, &by, NULL), tg_work_message(w));
    double slope = by.params[position_of(m, "geom.floor.friction")];
    printf("d x / d v0: %.4f\n", by.v[0]);
    printf("d x / d mu: %.4f\n", slope);

    /* the continuous motion has x = v0^2 / (2 mu g): the step length changes it by a few thousandths */
    printf("near v0 / (mu g): %s\n", fabs(by.v[0] - v0 / (friction * 9.81)) < 0.01 ? "True" : "False");
    printf("near -v0^2 / (2 mu^2 g): %s\n",
           fabs(slope + v0 * v0 / (2 * friction * friction * 9.81)) < 0.01 ? "True" : "False");

    double *all[] = {start.q, start.v, states.q, gradient.q, by.v, by.params};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    tg_tape_destroy(tape);
    tg_work_destroy(w);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
