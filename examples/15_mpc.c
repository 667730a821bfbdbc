/* Model-predictive control: a quadruped lifts two feet while iLQR plans through its contacts.
 *
 * Plans are 15 rows of 10 ms; A and B come from the exact steps, smoothed where contacts are made and broken. The same
 * in Python: 15_mpc.py. Build it against an installed library with
 *     cc 15_mpc.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <string.h>

#include "example.h"

enum
{
    ROWS = 15,
    HOLD = 5,
    CONTROLS = 60,
    ROOM = 256
};

int main(void)
{
    tg_model *m = load("models/quadruped.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    double *q = array(n.nq), *v = array(n.nv), *home = array(n.nq), *ctrl = array(n.nu), *u = array(ROWS * n.nu);
    double *weight_q = array(n.nv), *weight_v = array(n.nv), *weight_u = array(n.nu), highest[2] = {0, 0}, tilt = 0;
    const double stand[] = {0.19, 0.13, 0.025, -0.19, -0.13, 0.025},
                 raised[] = {0.19, 0.13, 0.085, -0.19, -0.13, 0.085};
    const double weight_site[] = {0, 0, 400, 0, 0, 400};
    const int feet[] = {tg_find(m, TG_SITE, "front_left_foot"), tg_find(m, TG_SITE, "hind_right_foot")};
    int blown = 0;

    check(tg_key_get(m, 0, NULL, home, v, NULL, ctrl, &error), error.message);
    memcpy(q, home, sizeof(double) * (size_t)n.nq);
    for (int i = 0; i < n.nv; i++)
    {
        weight_q[i] = i < 6 ? 20 : 1;
        weight_v[i] = 0.02;
    }
    for (int i = 0; i < n.nu; i++)
        weight_u[i] = 0.05;
    for (int row = 0; row < ROWS; row++)
        memcpy(u + row * n.nu, ctrl, sizeof(double) * (size_t)n.nu);

    tg_planner_def def = tg_default_planner();
    def.method = TG_PLAN_ILQR;
    def.rows = ROWS;
    def.hold = HOLD;
    def.iterations = 2;
    def.options.backward = TG_BACKWARD_SMOOTHED;
    def.options.smooth_speed = 0.1;
    def.cost = (tg_plan_cost){.q = home,
                              .weight_q = weight_q,
                              .weight_v = weight_v,
                              .u = ctrl,
                              .weight_u = weight_u,
                              .nsite = 2,
                              .site = feet,
                              .site_target = stand,
                              .weight_site = weight_site};
    tg_planner *planner = NULL;
    check(tg_planner_create(m, &def, &planner, &error), error.message);

    tg_cache_entry entries[ROOM];
    tg_cache cache = {.capacity = ROOM, .entry = entries};
    tg_state now = {q, v, NULL, &cache};
    for (int k = 0; k < CONTROLS; k++)
    {
        tg_plan_result result;
        tg_plan_cost cost = def.cost;
        cost.site_target = k >= 10 && k < 40 ? raised : stand; /* a diagonal pair of feet is up between 0.1 and 0.4 s */
        check(tg_planner_set_cost(planner, &cost, &error), error.message);
        check(tg_plan(planner, &now, u, &result, &error), error.message);
        blown += result.blown;
        const tg_control control = {.u = u};
        for (int i = 0; i < HOLD; i++)
            check(tg_step(m, w, NULL, &now, &control, &now, NULL), tg_work_message(w));
        check(tg_plan_shift(planner, u, &error), error.message);
        check(tg_kinematics(m, w, q, NULL), tg_work_message(w));
        for (int i = 0; i < 2; i++)
        {
            double p[3];
            check(tg_site_pose(m, w, feet[i], p, NULL), tg_work_message(w));
            highest[i] = fmax(highest[i], p[2]);
        }
        tilt = fmax(tilt, 2 * acos(fmin(1, fabs(q[3]))));
    }
    printf("highest: %.1f and %.1f cm\n", 100 * highest[0], 100 * highest[1]);
    printf("both feet were lifted by 3 cm: %s\n", highest[0] > 0.055 && highest[1] > 0.055 ? "True" : "False");
    printf("it stays upright: %s\n", tilt < 15 * acos(-1.0) / 180 ? "True" : "False");
    printf("no rollout blew up: %s\n", blown == 0 ? "True" : "False");

    double *owned[] = {q, v, home, ctrl, u, weight_q, weight_v, weight_u};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    tg_planner_destroy(planner);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
