/* SUPERball hangs by one rod: 24 cables hold five rods, and a control shortens a cable. Steps of 10 ms, ten times as
 * long as explicit cables allow.
 *
 * The same in Python: 13_hang.py. Build it against an installed library with
 *     cc 13_hang.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <string.h>

#include "example.h"

enum
{
    STEPS = 1000,
    SHOWN = 200,
    RODS = 6,
    HELD = 3,  /* rod 3, joint "free3" */
    RAISED = 1 /* m */
};

/* A spring and a damper on the rod's own joint hold it, a metre higher than in the file: the others are off the floor.
 */
static tg_params *hold_rod(const tg_model *m)
{
    tg_error error;
    tg_params *params = NULL;
    check(tg_params_create(m, &params, &error), error.message);
    tg_params_data(params)[position_of(m, "body.rod3.pos[2]")] += RAISED;
    tg_params_data(params)[position_of(m, "joint.free3.stiffness")] = 1e5;
    tg_params_data(params)[position_of(m, "joint.free3.damping")] = 1e4;
    check(tg_params_changed(params, &error), error.message);
    return params;
}

int main(void)
{
    tg_model *m = load("models/superball.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_params *params = hold_rod(m);
    tg_error error;
    check(tg_work_set_params(w, params), tg_work_message(w));
    tg_state state = {array(n.nq), array(n.nv), array(n.na), NULL};
    check(tg_default_q(m, state.q, &error), error.message);
    for (int b = 0; b < RODS; b++)
        state.q[7 * b + 2] += RAISED;
    tg_options options = tg_default_options();
    double explicit_dt = 0, late_dt = 0, *u = array(n.nu), before = 0;
    check(tg_stable_dt(m, w, &options, &explicit_dt), tg_work_message(w));
    options.implicit_tendons = TG_ON;
    check(tg_stable_dt(m, w, &options, &late_dt), tg_work_message(w));
    printf("largest stable step: %.3f ms explicit, more than 10 ms with implicit_tendons: %s\n", 1e3 * explicit_dt,
           late_dt > 0.01 ? "True" : "False");
    options.dt = 0.01;
    u[0] = -1; /* 100 N, after a while */
    tg_info info;
    bool solved = true;
    before = state.q[7 * HELD + 2];
    for (int i = 1; i <= STEPS; i++)
    {
        check(tg_step(m, w, &options, &state, &(tg_control){.u = u}, &state, &info), tg_work_message(w));
        solved = solved && info.status == TG_STEP_SOLVED;
        if (i % SHOWN == 0)
            printf("%.0f s: activation %.3f, rod 0 at height %.4f m\n", i * options.dt, state.act[0], state.q[2]);
    }
    printf("every step solved: %s\n", solved ? "True" : "False");
    printf("it hangs off the floor: %s\n", info.contacts == 0 ? "True" : "False");
    printf("the rod is held within 2 cm: %s\n", fabs(state.q[7 * HELD + 2] - before) < 0.02 ? "True" : "False");
    free(state.q);
    free(state.v);
    free(state.act);
    free(u);
    tg_work_destroy(w);
    tg_params_destroy(params);
    tg_model_destroy(m);
    return 0;
}
