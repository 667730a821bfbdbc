/* Drop a robot on the floor, let its servos hold a pose, and look at the contact forces.
 *
 * The same in Python: 02_drop.py. Build it against an installed library with
 *     cc 02_drop.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

enum
{
    STEPS = 3000,
    SHOWN = 500,
    CONTACTS = 64
};

/* Steps the state, with the impulses of each step as the start of the next; the worst residual. */
static double simulate(const tg_model *m, tg_work *w, const tg_options *options, const double *u, tg_state *state)
{
    tg_control control = {.u = u};
    tg_info info;
    double worst = 0;
    for (int i = 1; i <= STEPS; i++)
    {
        check(tg_step(m, w, options, state, &control, state, &info), tg_work_message(w));
        worst = fmax(worst, info.residual);
        if (i % SHOWN == 0)
            printf("%.1f s: height %.4f m, %d contacts\n", i * options->dt, state->q[2], info.contacts);
    }
    return worst;
}

/* Forces on geom2 (a foot; the floor is geom1) in the last step, and how each contact holds. */
static void print_contacts(const tg_model *m, tg_work *w)
{
    static tg_step_contact contact[CONTACTS];
    const double *gravity;
    double vertical = 0;
    int count = 0, offset = 0, size = 0;
    check(tg_step_contacts(m, w, contact, CONTACTS, &count), tg_work_message(w));
    check(tg_param_find(m, "gravity", &offset, &size, NULL), "gravity");
    gravity = tg_params_view(tg_model_params(m)) + offset;
    for (int k = 0; k < count && k < CONTACTS; k++)
        vertical += contact[k].force[2];
    printf("vertical force %.3f N, weight %.3f N\n", vertical,
           tg_model_mass(m) * sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]));
    for (int k = 0; k < count && k < CONTACTS; k++)
        printf("%s: %.3f N, %s\n", tg_name(m, TG_GEOM, contact[k].at.geom2), contact[k].force[2],
               tg_contact_mode_string(contact[k].mode));
}

static void drop(const tg_model *m, tg_work *w)
{
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    tg_cache_entry entry[2 * CONTACTS];
    tg_cache cache = {.capacity = 2 * CONTACTS, .entry = entry};
    tg_state state = {array(n.nq), array(n.nv), array(n.na), &cache};
    double *u = array(n.nu);
    tg_options options = tg_default_options();
    options.dt = 0.001;

    /* 0.3 m above the pose of the keyframe, at rest */
    check(tg_key_get(m, tg_find(m, TG_KEY, "home"), NULL, state.q, state.v, state.act, u, &error), error.message);
    state.q[2] += 0.3;

    /* every step comes with a certificate: how far the laws of contact and friction are from holding */
    double worst = simulate(m, w, &options, u, &state);
    printf("every step solved to 1e-8 m/s: %s\n", worst <= 1e-8 ? "True" : "False");

    /* it stands: the floor carries its weight, and every foot sticks */
    print_contacts(m, w);
    double *all[] = {state.q, state.v, state.act, u};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
}

int main(int argc, char **argv)
{
    tg_model *m = load(argc > 1 ? argv[1] : "models/quadruped.xml");
    tg_work *w = workspace(m);
    drop(m, w);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
