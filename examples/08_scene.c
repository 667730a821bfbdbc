/* One model from several files: two quadrupeds on a floor, and a crate that falls on one of them.
 *
 * The same in Python: 08_scene.py. Build it against an installed library with
 *     cc 08_scene.c $(pkg-config --cflags --libs tangere) -lm */
#include "example.h"

enum
{
    STEPS = 500,
    CONSTRAINTS = 512
};

static void add_quadruped(tg_scene *s, const char *prefix, double y)
{
    tg_attach_def def = tg_default_attach();
    def.prefix = prefix;
    def.pos[1] = y;
    check(tg_scene_add(s, "models/quadruped.xml", NULL, &def), tg_scene_message(s));
}

static tg_model *build(void)
{
    tg_scene *s = NULL;
    tg_model *m = NULL;
    check(tg_scene_create(NULL, &s, NULL), "scene");
    check(tg_scene_timestep(s, 0.002), tg_scene_message(s));
    add_quadruped(s, "left", 1);
    add_quadruped(s, "right", -1);
    tg_prop_def crate = tg_default_prop();
    crate.name = "crate";
    crate.pos[1] = 1;
    crate.pos[2] = 0.8;
    crate.geom.type = TG_GEOM_BOX;
    crate.geom.size[0] = crate.geom.size[1] = 0.15;
    crate.geom.size[2] = 0.1;
    crate.geom.mass = 2;
    check(tg_scene_prop(s, &crate, NULL), tg_scene_message(s));
    check(tg_scene_build(s, &m), tg_scene_message(s));
    tg_scene_destroy(s);
    return m;
}

/* Height of a body after tg_kinematics. */
static double height(const tg_model *m, tg_work *w, const char *name)
{
    double pos[3];
    check(tg_body_pose(m, w, tg_find(m, TG_BODY, name), pos, NULL), tg_work_message(w));
    return pos[2];
}

int main(void)
{
    tg_model *m = build();
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    static tg_cache_entry entry[CONSTRAINTS];
    tg_cache cache = {.capacity = CONSTRAINTS, .entry = entry};
    tg_state state = {array(n.nq), array(n.nv), array(n.na), &cache};
    double *u = array(n.nu);
    tg_control control = {.u = u};
    printf("%d bodies, %d dofs, %d actuators\n", n.nbody, n.nv, n.nu);

    /* both have this keyframe */
    check(tg_key_get(m, tg_find(m, TG_KEY, "home"), NULL, state.q, state.v, state.act, u, NULL), "key");
    for (int i = 0; i < STEPS; i++)
        check(tg_step(m, w, NULL, &state, &control, &state, NULL), tg_work_message(w));
    check(tg_kinematics(m, w, state.q, NULL), tg_work_message(w));
    double left = height(m, w, "left/trunk"), right = height(m, w, "right/trunk"), crate = height(m, w, "crate");
    printf("trunks at %.3f m and %.3f m, the crate at %.3f m\n", left, right, crate);
    printf("the crate lies on a trunk: %s\n", crate > left ? "True" : "False");

    double *all[] = {state.q, state.v, state.act, u};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        free(all[i]);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
