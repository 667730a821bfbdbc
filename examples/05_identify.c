/* Find the friction of a floor from how a cube slid on it: Gauss-Newton with sensitivities in forward mode.
 *
 * The same in Python: 05_identify.py. Build it against an installed library with
 *     cc 05_identify.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

enum
{
    STEPS = 150,
    ITERATIONS = 8
};

/* x of the cube after every step, at these parameters */
static void slide(const tg_model *m, tg_work *w, tg_tape *tape, tg_params *params, const tg_state *start,
                  tg_trajectory *states)
{
    tg_error error;
    tg_controls controls = {.steps = STEPS};
    check(tg_params_changed(params, &error), error.message);
    check(tg_work_set_params(w, params), tg_work_message(w));
    check(tg_rollout(m, w, tape, NULL, start, &controls, states, NULL), tg_work_message(w));
}

int main(void)
{
    tg_model *m = load("models/cube.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_tape *tape = NULL;
    tg_params *params = floor_with(m, 0.4);
    tg_state start = {.q = array(n.nq), .v = array(n.nv)};
    tg_trajectory states = {.q = array((STEPS + 1) * n.nq)};
    tg_trajectory change = {.q = array((STEPS + 1) * n.nv), .v = array((STEPS + 1) * n.nv)};
    tg_rollout_gradient along = {.params = array(n.nparams)};
    double measured[STEPS + 1];
    int mu = position_of(m, "geom.floor.friction");

    check(tg_tape_create(m, STEPS, TG_TAPE_ALL, &tape, NULL), "tape");
    check(tg_key_get(m, tg_find(m, TG_KEY, "rest"), NULL, start.q, NULL, NULL, NULL, NULL), "key");
    start.v[0] = 2;

    /* what was measured: positions of a cube on a floor with another coefficient */
    slide(m, w, tape, params, &start, &states);
    for (int k = 0; k <= STEPS; k++)
        measured[k] = states.q[k * n.nq];

    tg_params_data(params)[mu] = 0.8;
    for (int i = 0; i < ITERATIONS; i++)
    {
        double largest = 0, top = 0, bottom = 0;
        slide(m, w, tape, params, &start, &states);
        along.params[mu] = 1;
        check(tg_rollout_jvp(m, w, tape, 1, &along, &change, NULL), tg_work_message(w));
        for (int k = 0; k <= STEPS; k++)
        {
            double error = states.q[k * n.nq] - measured[k], slope = change.q[k * n.nv];
            largest = fmax(largest, fabs(error));
            top += slope * error;
            bottom += slope * slope;
        }
        printf("iteration %d: mu %.6f, largest error %.4f mm\n", i, tg_params_view(params)[mu], 1e3 * largest);
        if (largest < 1e-9)
            break;
        tg_params_data(params)[mu] -= top / bottom;
    }
    printf("found: %s\n", fabs(tg_params_view(params)[mu] - 0.4) < 1e-8 ? "True" : "False");

    double *all[] = {start.q, start.v, states.q, change.q, change.v, along.params};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    tg_work_destroy(w);
    tg_tape_destroy(tape);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
