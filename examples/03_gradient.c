/* Differentiate one step of a sliding cube through its contact with the floor.
 *
 * The same in Python: 03_gradient.py. Build it against an installed library with
 *     cc 03_gradient.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

enum
{
    STEPS = 10
};

int main(void)
{
    tg_model *m = load("models/cube.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_state state = {.q = array(n.nq), .v = array(n.nv)};
    double *slope = array(n.nv);
    double dt = tg_model_timestep(m);
    tg_params *params = floor_with(m, 0.4);

    check(tg_work_set_params(w, params), tg_work_message(w));
    check(tg_key_get(m, tg_find(m, TG_KEY, "rest"), NULL, state.q, NULL, NULL, NULL, NULL), "key");
    state.v[0] = 1;
    for (int i = 0; i < STEPS; i++)
        check(tg_step(m, w, NULL, &state, NULL, &state, NULL), tg_work_message(w));

    /* friction takes mu g dt of the speed per step, so d vx / d mu = -g dt */
    int friction = position_of(m, "geom.floor.friction");
    tg_jacobian J = {.index = &friction, .nindex = 1, .dv_dparams = slope};
    check(tg_step_jacobian(m, w, &J), tg_work_message(w));
    printf("d vx / d mu: %.6f, -g dt: %.6f\n", slope[0], -9.81 * dt);
    printf("they agree: %s\n", fabs(slope[0] + 9.81 * dt) < 1e-9 ? "True" : "False");

    /* every derivative says what it is: "exact", "one-sided" or "regularised" */
    printf("label: %s\n", tg_label_string(J.label.kind));

    free(state.q);
    free(state.v);
    free(slope);
    tg_work_destroy(w);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
