/* An inverse problem: how fast must a cube be pushed to come to rest half a metre away? Newton's method on a rollout.
 *
 * The same in Python: 06_aim.py. Build it against an installed library with
 *     cc 06_aim.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

enum
{
    STEPS = 400,
    ITERATIONS = 10
};

int main(void)
{
    const double target = 0.5;
    tg_model *m = load("models/cube.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_tape *tape = NULL;
    tg_state start = {.q = array(n.nq), .v = array(n.nv)};
    tg_trajectory states = {.q = array((STEPS + 1) * n.nq)}, last = {.q = array((STEPS + 1) * n.nv)};
    tg_rollout_gradient by = {.v = array(n.nv)};
    tg_controls controls = {.steps = STEPS};
    tg_params *params = floor_with(m, 0.4);
    double error = INFINITY;

    check(tg_work_set_params(w, params), tg_work_message(w));
    check(tg_tape_create(m, STEPS, TG_TAPE_ALL, &tape, NULL), "tape");
    check(tg_key_get(m, tg_find(m, TG_KEY, "rest"), NULL, start.q, NULL, NULL, NULL, NULL), "key");
    start.v[0] = 1;
    last.q[STEPS * n.nv] = 1;
    for (int i = 0; i < ITERATIONS; i++)
    {
        check(tg_rollout(m, w, tape, NULL, &start, &controls, &states, NULL), tg_work_message(w));
        error = states.q[STEPS * n.nq] - target;
        printf("iteration %d: %.6f m/s, %+.4f mm from the target\n", i, start.v[0], 1e3 * error);
        if (fabs(error) < 1e-9)
            break;
        check(tg_rollout_vjp(m, w, tape, &last, &by, NULL), tg_work_message(w));
        start.v[0] -= error / by.v[0];
    }
    printf("at the target: %s\n", fabs(error) < 1e-9 ? "True" : "False");

    double *all[] = {start.q, start.v, states.q, last.q, by.v};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    tg_tape_destroy(tape);
    tg_work_destroy(w);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
