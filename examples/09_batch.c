/* 64 cubes on 64 floors, each with its own friction, over all processors: how far does each slide?
 *
 * The same in Python: 09_batch.py. Build it against an installed library with
 *     cc 09_batch.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <stdbool.h>

#include "example.h"

enum
{
    COUNT = 64,
    STEPS = 600
};

int main(void)
{
    tg_model *m = load("models/cube.xml");
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    tg_batch *b = NULL;
    tg_batch_def def = tg_default_batch();
    def.n = COUNT;
    def.options.dt = tg_model_timestep(m);
    tg_params *params = floor_with(m, 0.4);
    check(tg_batch_create(m, &def, &b, &error), error.message);
    check(tg_batch_set_params(b, params), tg_batch_message(b));

    /* each environment has its own value of one parameter */
    int name = position_of(m, "geom.floor.friction");
    double friction[COUNT];
    check(tg_batch_name(b, &name, 1), tg_batch_message(b));
    for (int i = 0; i < COUNT; i++)
        friction[i] = 0.2 + 0.6 * i / (COUNT - 1);

    tg_batch_state state = {.q = array(COUNT * n.nq), .v = array(COUNT * n.nv)};
    check(tg_batch_reset(b, NULL, 0, tg_find(m, TG_KEY, "rest"), &state), tg_batch_message(b));
    for (int i = 0; i < COUNT; i++)
        state.v[i * n.nv] = 1;
    tg_batch_input input = {.count = COUNT, .q = state.q, .v = state.v, .params = friction};
    for (int k = 0; k < STEPS; k++)
        check(tg_batch_step(b, &input, &state, NULL), tg_batch_message(b));

    /* v0^2 / (2 mu g), but for the step length */
    double least = INFINITY, most = 0;
    bool good = true;
    for (int i = 0; i < COUNT; i++)
    {
        double x = state.q[i * n.nq];
        least = fmin(least, x);
        most = fmax(most, x);
        good = good && fabs(x - 1 / (2 * friction[i] * 9.81)) < 2e-3;
    }
    printf("from %.4f m to %.4f m\n", least, most);
    printf("as expected: %s\n", good ? "True" : "False");

    free(state.q);
    free(state.v);
    tg_batch_destroy(b);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
