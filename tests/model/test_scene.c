/* Scenes: names, numbers, references, keyframes, reports, messages. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/builder.h"
#include "model/params.h"
#include "model/reference.h"
#include "support/models.h"
#include "tangere/algebra.h"
#include "tangere/read.h"

static const double pose[7] = {0.3, -0.4, 0.5, 0.5, -0.5, 0.5, 0.5};

static tg_scene *new_scene(void)
{
    tg_scene *s = NULL;
    assert_int_equal(tg_scene_create(NULL, &s, NULL), TG_OK);
    return s;
}

static tg_attach_def attach(const char *prefix, const double *at)
{
    tg_attach_def def = tg_default_attach();
    def.prefix = prefix;
    if (at != NULL)
    {
        memcpy(def.pos, at, sizeof def.pos);
        memcpy(def.quat, at + 3, sizeof def.quat);
    }
    return def;
}

static void add(tg_scene *s, const tg_model *m, const char *prefix, const double *at)
{
    tg_attach_def def = attach(prefix, at);
    if (tg_scene_add_model(s, m, NULL, &def) != TG_OK)
        fail_msg("%s", tg_scene_message(s));
}

static tg_model *built(tg_scene *s)
{
    tg_model *m = NULL;
    if (tg_scene_build(s, &m) != TG_OK)
        fail_msg("%s", tg_scene_message(s));
    return m;
}

/* ---- what is added is what was there ---- */

/* Element i of the part in a scene whose parts all hang on the world, in their order. */
static int index_in_scene(const tg_model *part, tg_element element, int i, int copy)
{
    if (element == TG_BODY)
        return i == 0 ? 0 : i + copy * (part->nbody - 1);
    return i + copy * tg_element_count(part, element);
}

static bool is_moved(const tg_model *m, tg_element element, int i)
{
    if (element == TG_BODY)
        return i == 0 || m->body_parent[i] == 0;
    if (element == TG_GEOM)
        return m->geom_body[i] == 0;
    if (element == TG_SITE)
        return m->site_body[i] == 0;
    if (element == TG_EQUALITY)
        return m->equality_type[i] <= TG_EQUALITY_WELD && (m->equality_obj1[i] == 0 || m->equality_obj2[i] == 0);
    return element == TG_ELEMENT_COUNT; /* gravity */
}

/* Geoms and sites on the world come before those of all bodies, so their numbers differ from the simple rule. */
static int find_copy(const tg_model *scene, const tg_model *part, tg_element element, int i, int copy,
                     const char *prefix)
{
    const char *name = tg_name(part, element, i);
    if (name[0] == '\0' || strcmp(name, "world") == 0)
        return index_in_scene(part, element, i, copy);
    char full[200];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return tg_find(scene, element, full);
}

static bool has_world_parts(const tg_model *m)
{
    return m->body_ngeom[0] > 0 || (m->nsite > 0 && m->site_body[0] == 0);
}

static void compare_part(const tg_model *scene, const tg_model *part, int copy, const char *prefix)
{
    for (int i = 0; i < tg_param_slice_count(part); i++)
    {
        tg_param_slice slice;
        tg_param_slice_get(part, i, &slice, NULL);
        if (is_moved(part, slice.element, slice.index))
            continue;
        bool shifts = has_world_parts(part) && (slice.element == TG_GEOM || slice.element == TG_SITE);
        if (shifts && tg_name(part, slice.element, slice.index)[0] == '\0')
            continue;
        int index = find_copy(scene, part, slice.element, slice.index, copy, prefix), offset, size;
        assert_true(index >= 0);
        char name[200];
        snprintf(name, sizeof name, "%s.#%d.%s", tg_element_string(slice.element), index, slice.field);
        assert_int_equal(tg_param_find(scene, name, &offset, &size, NULL), TG_OK);
        assert_int_equal(size, slice.size);
        assert_memory_equal(scene->params->value + offset, part->params->value + slice.offset,
                            (size_t)size * sizeof(double));
    }
}

static void test_numbers_are_the_same(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *part = tg_test_model(which);
        tg_scene *s = new_scene();
        add(s, part, "left", NULL);
        add(s, part, "right_", pose);
        tg_model *m = built(s);
        tg_sizes n = tg_model_sizes(part), both = tg_model_sizes(m);
        assert_int_equal(both.nq, 2 * n.nq);
        assert_int_equal(both.nv, 2 * n.nv);
        assert_int_equal(both.nu, 2 * n.nu);
        assert_int_equal(both.na, 2 * n.na);
        assert_int_equal(both.nbody, 2 * n.nbody - 1);
        assert_int_equal(both.nmesh, 2 * n.nmesh);
        assert_int_equal(both.nequality, 2 * n.nequality);
        assert_int_equal(both.npair, 2 * n.npair);
        assert_int_equal(both.nexclude, 2 * n.nexclude);
        compare_part(m, part, 0, "left/");
        compare_part(m, part, 1, "right_");
        tg_model_destroy(m);
        tg_scene_destroy(s);
        tg_model_destroy(part);
    }
}

/* Poses of all bodies, lengths of all tendons: those of the part, moved; at any configuration. */
static void test_poses(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *part = tg_test_model(which);
        tg_scene *s = new_scene();
        add(s, part, "a", pose);
        tg_model *m = built(s);
        size_t n = (size_t)m->nbody;
        double *q = calloc((size_t)m->nq, sizeof *q), *moved = calloc((size_t)m->nq, sizeof *q);
        double *x = calloc(7 * n, sizeof *x), *y = calloc(7 * n, sizeof *y);
        tg_random_state(part, 7, q, NULL, NULL);
        memcpy(moved, q, (size_t)m->nq * sizeof *q);
        for (int i = 0; i < m->njoint; i++)
        {
            if (m->joint_type[i] == TG_JOINT_FREE)
                tg_se3_multiply(pose, moved + m->joint_q[i], moved + m->joint_q[i]);
        }
        tg_reference_poses(part->params, q, x);
        tg_reference_poses(m->params, moved, y);
        for (size_t i = 1; i < n; i++)
        {
            double expected[7];
            tg_se3_multiply(pose, x + 7 * i, expected);
            double sign = expected[3] * y[7 * i + 3] + expected[4] * y[7 * i + 4] + expected[5] * y[7 * i + 5] +
                          expected[6] * y[7 * i + 6];
            for (int k = 0; k < 7; k++)
                assert_true(fabs((k < 3 || sign > 0 ? 1 : -1) * expected[k] - y[7 * i + (size_t)k]) < 1e-13);
        }
        for (int i = 0; i < m->ntendon; i++)
            assert_true(fabs(tg_reference_tendon_length(part->params, i, q, x) -
                             tg_reference_tendon_length(m->params, i, moved, y)) < 1e-13);
        free(q);
        free(moved);
        free(x);
        free(y);
        tg_model_destroy(m);
        tg_scene_destroy(s);
        tg_model_destroy(part);
    }
}

/* ---- equalities with the world ---- */

static tg_model *tied_model(void)
{
    tg_builder *b = NULL;
    tg_model *m = NULL;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    tg_body_def body = tg_default_body();
    body.name = "kite";
    body.pos[1] = 0.7;
    body.inertial = true;
    body.mass = 1;
    body.inertia[0] = body.inertia[1] = body.inertia[2] = 1;
    assert_int_equal(tg_builder_body(b, &body, NULL), TG_OK);
    tg_joint_def joint = tg_default_joint();
    joint.body = 1;
    joint.type = TG_JOINT_FREE;
    assert_int_equal(tg_builder_joint(b, &joint, NULL), TG_OK);
    for (int i = 0; i < 4; i++)
    {
        tg_equality_def def = tg_default_equality();
        def.type = i < 2 ? TG_EQUALITY_CONNECT : TG_EQUALITY_WELD;
        def.obj1 = i % 2;
        def.obj2 = 1 - i % 2;
        def.data[0] = 0.1 + i;
        def.data[2] = -0.2;
        for (int k = 3; k < (i < 2 ? 6 : 10); k++)
            def.data[k] = (double)NAN; /* from the reference configuration */
        def.data[10] = 1;
        assert_int_equal(tg_builder_equality(b, &def, NULL), TG_OK);
    }
    tg_geom_def wall = tg_default_geom();
    wall.name = "wall";
    wall.size[0] = 0.3;
    wall.pos[2] = 2;
    assert_int_equal(tg_builder_geom(b, &wall, NULL), TG_OK);
    tg_site_def hook = tg_default_site();
    hook.name = "hook";
    hook.pos[0] = 1;
    assert_int_equal(tg_builder_site(b, &hook, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    tg_builder_destroy(b);
    return m;
}

/* Where an equality is open at the poses of its bodies: zero in the reference configuration, wherever that is. */
static double violation(const tg_model *m, int i)
{
    double x[2 * 7], error = 0;
    const double *data = TG_PARAM(m->params, equality_data) + 11 * i;
    tg_reference_poses(m->params, m->params->q0, x);
    const double *x1 = x + 7 * m->equality_obj1[i], *x2 = x + 7 * m->equality_obj2[i];
    double p1[3], p2[3];
    if (m->equality_type[i] == TG_EQUALITY_CONNECT)
    {
        tg_se3_transform(x1, data, p1);
        tg_se3_transform(x2, data + 3, p2);
    }
    else
    {
        double target[7];
        tg_se3_multiply(x1, data + 3, target);
        tg_se3_transform(target, data, p1);
        tg_se3_transform(x2, data, p2);
    }
    for (int k = 0; k < 3; k++)
        error = fmax(error, fabs(p1[k] - p2[k]));
    return error;
}

static void test_equalities_move_with_the_world(void **state)
{
    (void)state;
    tg_model *part = tied_model();
    tg_scene *s = new_scene();
    add(s, part, "", pose);
    tg_model *m = built(s);
    for (int i = 0; i < m->nequality; i++)
    {
        assert_true(violation(part, i) < 1e-14);
        assert_true(violation(m, i) < 1e-14);
        const double *data = TG_PARAM(m->params, equality_data) + 11 * i;
        const double *before = TG_PARAM(part->params, equality_data) + 11 * i;
        bool same = memcmp(data, before, 11 * sizeof *data) == 0;
        assert_false(same);
    }
    double expected[3] = {0, 0, 2};
    tg_se3_transform(pose, expected, expected);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(TG_PARAM(m->params, geom_pos)[k] - expected[k]) < 1e-15);
    const double one[3] = {1, 0, 0};
    tg_se3_transform(pose, one, expected);
    for (int k = 0; k < 3; k++)
        assert_true(fabs(TG_PARAM(m->params, site_pos)[k] - expected[k]) < 1e-15);
    tg_model_destroy(m);
    tg_scene_destroy(s);
    tg_model_destroy(part);
}

/* ---- options, props ---- */

static void test_own_settings(void **state)
{
    (void)state;
    const double moon[3] = {0, 0, -1.62};
    tg_model *part = tg_test_model(TG_TEST_EVERYTHING);
    tg_scene *s = new_scene();
    add(s, part, "x", NULL);
    tg_model_destroy(part); /* is not needed any more */
    tg_model *m = built(s);
    assert_string_equal(tg_model_name(m), "scene");
    assert_true(TG_PARAM(m->params, gravity_)[2] == -9.81);
    assert_true(tg_model_timestep(m) == 0.002);
    tg_model_destroy(m);
    assert_int_equal(tg_scene_name(s, "moon"), TG_OK);
    assert_int_equal(tg_scene_gravity(s, moon), TG_OK);
    assert_int_equal(tg_scene_timestep(s, 0.01), TG_OK);
    m = built(s);
    assert_string_equal(tg_model_name(m), "moon");
    assert_true(TG_PARAM(m->params, gravity_)[2] == -1.62);
    assert_true(tg_model_timestep(m) == 0.01);
    tg_model_destroy(m);
    tg_scene_destroy(s);
}

static void test_props(void **state)
{
    (void)state;
    static const double hills[6] = {0, 0.5, 1, 0.2, 0.1, 0};
    tg_scene *s = new_scene();
    tg_prop_def crate = tg_default_prop();
    crate.name = "crate";
    crate.pos[2] = 1;
    crate.geom.type = TG_GEOM_BOX;
    crate.geom.size[0] = crate.geom.size[1] = crate.geom.size[2] = 0.1;
    crate.geom.mass = 2;
    int body = -1;
    assert_int_equal(tg_scene_prop(s, &crate, &body), TG_OK);
    assert_int_equal(body, 1);
    tg_prop_def post = crate;
    post.name = "post";
    post.fixed = true;
    post.geom.name = "shaft";
    assert_int_equal(tg_scene_prop(s, &post, NULL), TG_OK);
    assert_int_equal(tg_scene_floor(s, NULL), TG_OK);
    tg_hfield_def hfield = tg_default_hfield();
    hfield.name = "hills";
    hfield.nrow = 2;
    hfield.ncol = 3;
    hfield.elevation = hills;
    assert_int_equal(tg_scene_hfield(s, &hfield, NULL), TG_OK);
    tg_model *m = built(s);
    assert_int_equal(m->nv, 6);
    assert_int_equal(m->ntree, 1);
    assert_int_equal(tg_find(m, TG_JOINT, "crate"), 0);
    assert_int_equal(m->geom_body[tg_find(m, TG_GEOM, "shaft")], tg_find(m, TG_BODY, "post"));
    assert_int_equal(m->geom_type[tg_find(m, TG_GEOM, "floor")], TG_GEOM_PLANE);
    assert_int_equal(m->geom_hfield[tg_find(m, TG_GEOM, "hills")], tg_find(m, TG_HFIELD, "hills"));
    assert_true(TG_PARAM(m->params, body_mass)[1] == 2);
    assert_true(fabs(TG_PARAM(m->params, body_inertia)[6] - 2 * 0.04 / 6) < 1e-15);
    tg_model_destroy(m);
    tg_scene_destroy(s);
}

/* The builder connects parts. */
static void test_builder_of_a_scene(void **state)
{
    (void)state;
    tg_model *part = tg_test_model(TG_TEST_PENDULUM);
    tg_scene *s = new_scene();
    add(s, part, "a", NULL);
    add(s, part, "b", pose);
    tg_builder *b = tg_scene_builder(s);
    tg_equality_def tie = tg_default_equality();
    tie.type = TG_EQUALITY_JOINT;
    tie.obj1 = 0;
    tie.obj2 = 1;
    tie.data[1] = 1;
    assert_int_equal(tg_builder_equality(b, &tie, NULL), TG_OK);
    tg_model *m = built(s);
    assert_int_equal(m->nequality, 1);
    assert_int_equal(m->joint_body[m->equality_obj2[0]], 2);
    tg_model_destroy(m);
    tg_scene_destroy(s);
    tg_model_destroy(part);
}

/* ---- keyframes ---- */

static const char arm[] = "<mujoco model='arm'>"
                          "<worldbody><body name='base' pos='0 0 1'><freejoint/><geom size='0.1'/>"
                          "<body name='link' pos='0.2 0 0'><joint name='elbow' axis='0 1 0'/><geom size='0.05'/></body>"
                          "</body></worldbody>"
                          "<actuator><motor joint='elbow'/>"
                          "<general joint='elbow' dyntype='filter' dynprm='0.1'/></actuator>"
                          "<keyframe><key name='home' time='2' qpos='1 2 3 0 1 0 0 0.4' qvel='1 2 3 4 5 6 7' act='0.8'"
                          " ctrl='0.5 0.6'/><key name='own_%s' qpos='0 0 0 1 0 0 0 0.1'/></keyframe></mujoco>";

static tg_model *arm_model(const char *word)
{
    char text[sizeof arm + 20];
    tg_model *m = NULL;
    tg_error error = {0};
    const char *mark = strstr(arm, "%s");
    snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - arm), arm, word, mark + 2);
    if (tg_load_string(text, strlen(text), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static void assert_near(const double *actual, const double *expected, int n)
{
    for (int i = 0; i < n; i++)
    {
        if (!(fabs(actual[i] - expected[i]) < 1e-14))
            fail_msg("number %d is %.17g, expected %.17g", i, actual[i], expected[i]);
    }
}

static void test_keyframes(void **state)
{
    (void)state;
    const double turned[7] = {0, 0, 10, sqrt(0.5), 0, 0, sqrt(0.5)}; /* x to y */
    tg_model *one = arm_model("one"), *two = arm_model("two");
    tg_scene *s = new_scene();
    tg_prop_def ball = tg_default_prop();
    ball.geom.size[0] = 0.1;
    ball.pos[0] = 9;
    assert_int_equal(tg_scene_prop(s, &ball, NULL), TG_OK);
    add(s, one, "a", NULL);
    add(s, two, "b", turned);
    for (int again = 0; again < 2; again++) /* a second build gives the same */
    {
        tg_model *m = built(s);
        static const char *const names[] = {"a/home", "a/own_one", "b/home", "b/own_two", "home"};
        assert_int_equal(m->nkey, 5);
        double q[23], v[20], act[2], ctrl[4], time;
        const double rest[8] = {0, 0, 1, 1, 0, 0, 0, 0}, home[8] = {1, 2, 3, 0, 1, 0, 0, 0.4};
        const double there[8] = {-2, 1, 13, 0, sqrt(0.5), sqrt(0.5), 0, 0.4}, zero[7] = {0};
        const double home_v[7] = {1, 2, 3, 4, 5, 6, 7}, there_v[7] = {-2, 1, 3, 4, 5, 6, 7};
        for (int k = 0; k < 5; k++)
            assert_string_equal(tg_name(m, TG_KEY, k), names[k]);
        assert_int_equal(tg_key_get(m, 0, &time, q, v, act, ctrl, NULL), TG_OK);
        assert_true(time == 2 && q[0] == 9);
        assert_near(q + 7, home, 8);
        assert_near(q + 15, (const double[]){0, 0, 11, sqrt(0.5), 0, 0, sqrt(0.5), 0}, 8);
        assert_near(v + 6, home_v, 7);
        assert_near(v + 13, zero, 7);
        assert_near(act, (const double[]){0.8, 0}, 2);
        assert_near(ctrl, (const double[]){0.5, 0.6, 0, 0}, 4);
        assert_int_equal(tg_key_get(m, 2, NULL, q, v, act, ctrl, NULL), TG_OK);
        assert_near(q + 7, rest, 8);
        assert_near(q + 15, there, 8);
        assert_near(v + 13, there_v, 7);
        assert_near(act, (const double[]){0, 0.8}, 2);
        assert_int_equal(tg_key_get(m, 4, &time, q, v, act, ctrl, NULL), TG_OK);
        assert_true(time == 2);
        assert_near(q + 7, home, 8);
        assert_near(q + 15, there, 8);
        assert_near(ctrl, (const double[]){0.5, 0.6, 0.5, 0.6}, 4);
        tg_model_destroy(m);
    }
    tg_scene_destroy(s);
    tg_model_destroy(one);
    tg_model_destroy(two);
}

/* A name that a part without a prefix has is not taken for all. */
static void test_common_keyframe_needs_a_free_name(void **state)
{
    (void)state;
    tg_model *one = arm_model("one");
    tg_scene *s = new_scene();
    add(s, one, NULL, NULL);
    add(s, one, "b", NULL);
    tg_model *m = built(s);
    assert_int_equal(m->nkey, 4);
    assert_string_equal(tg_name(m, TG_KEY, 0), "home");
    assert_string_equal(tg_name(m, TG_KEY, 2), "b/home");
    tg_model_destroy(m);
    tg_scene_destroy(s);
    tg_model_destroy(one);
}

/* ---- report, order, files ---- */

static void test_report_has_each_line_once(void **state)
{
    (void)state;
    tg_model *part = tg_test_model(TG_TEST_EVERYTHING), *arm_part = arm_model("x");
    tg_scene *s = new_scene();
    add(s, part, "a", NULL);
    add(s, part, "b", pose);
    add(s, arm_part, "c", NULL);
    tg_model *m = built(s);
    assert_int_equal(tg_report_count(m), tg_report_count(part) + tg_report_count(arm_part));
    tg_report_entry entry;
    assert_int_equal(tg_report_get(m, 0, &entry, NULL), TG_OK);
    assert_string_equal(entry.file, "everything.xml");
    assert_int_equal(entry.line, 12);
    tg_model_destroy(m);
    tg_scene_destroy(s);
    tg_model_destroy(part);
    tg_model_destroy(arm_part);
}

/* A scene comes back from a file as it is: pairs and excludes are already in the order of their bodies. */
static void test_scenes_are_written(void **state)
{
    (void)state;
    tg_model *part = tg_test_model(TG_TEST_EVERYTHING), *back = NULL;
    tg_scene *s = new_scene();
    add(s, part, "a", pose);
    add(s, part, "b", NULL);
    tg_model *m = built(s);
    char *text = NULL;
    tg_error error = {0};
    if (tg_save_string(m, NULL, NULL, &text, NULL, &error) != TG_OK ||
        tg_load_string(text, strlen(text), NULL, NULL, &back, &error) != TG_OK)
        fail_msg("%s", error.message);
    assert_memory_equal(m->params->value, back->params->value, (size_t)m->nparams * sizeof(double));
    for (int i = 0; i < m->npair; i++)
        assert_string_equal(tg_name(m, TG_PAIR, i), tg_name(back, TG_PAIR, i));
    tg_save_string_free(NULL, text);
    tg_model_destroy(back);
    tg_model_destroy(m);
    tg_scene_destroy(s);
    tg_model_destroy(part);
}

static void test_files(void **state)
{
    (void)state;
    const char *path = TANGERE_ROOT "/models/quadruped.xml";
    tg_scene *s = new_scene();
    for (int i = 0; i < 3; i++)
    {
        char prefix[16];
        const double at[7] = {i, 0, 0, 1, 0, 0, 0};
        snprintf(prefix, sizeof prefix, "r%d", i);
        tg_attach_def def = attach(prefix, at);
        assert_int_equal(tg_scene_add(s, path, NULL, &def), TG_OK);
    }
    tg_model *m = built(s);
    assert_int_equal(m->nv, 3 * 18);
    assert_true(tg_find(m, TG_BODY, "r2/trunk") > 0);
    double *at = TG_PARAM(m->params, body_pos) + 3 * tg_find(m, TG_BODY, "r2/trunk");
    assert_true(at[0] == 2);
    tg_model_destroy(m);
    tg_scene_destroy(s);
}

/* ---- refusals ---- */

static void assert_message(const tg_scene *s, const char *part)
{
    if (strstr(tg_scene_message(s), part) == NULL)
        fail_msg("no '%s' in: %s", part, tg_scene_message(s));
}

static void test_refusals(void **state)
{
    (void)state;
    tg_model *part = tg_test_model(TG_TEST_PENDULUM), *other = tg_test_model(TG_TEST_WALKER), *m = NULL;
    tg_scene *s = new_scene();
    tg_attach_def def = attach("a", NULL), bad = {0};
    tg_params *p = NULL;
    assert_int_equal(tg_params_create(part, &p, NULL), TG_OK);
    assert_int_equal(tg_scene_add_model(NULL, part, NULL, &def), TG_ERR_ARGUMENT);
    assert_int_equal(tg_scene_add_model(s, NULL, NULL, &def), TG_ERR_ARGUMENT);
    assert_int_equal(tg_scene_add_model(s, part, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_scene_add_model(s, part, NULL, &bad), TG_ERR_ARGUMENT);
    assert_message(s, "tg_default_attach()");
    assert_int_equal(tg_scene_add_model(s, part, tg_model_params(other), &def), TG_ERR_ARGUMENT);
    assert_message(s, "another model");
    tg_params_data(p);
    assert_int_equal(tg_scene_add_model(s, part, p, &def), TG_ERR_STALE);
    def.quat[0] = 2;
    assert_int_equal(tg_scene_add_model(s, part, NULL, &def), TG_ERR_VALUE);
    assert_message(s, "quaternion of norm 2");
    def = attach("a", NULL);
    def.pos[1] = (double)INFINITY;
    assert_int_equal(tg_scene_add_model(s, part, NULL, &def), TG_ERR_VALUE);
    assert_message(s, "pos[1] = inf");
    def = attach("a", NULL);
    assert_int_equal(tg_scene_add(s, "/no/such.xml", NULL, &def), TG_ERR_FILE);
    assert_message(s, "/no/such.xml");
    assert_int_equal(tg_scene_build(s, NULL), TG_ERR_ARGUMENT);
    tg_geom_def ball = tg_default_geom();
    assert_int_equal(tg_scene_floor(s, &ball), TG_ERR_ARGUMENT);
    assert_message(s, "a floor is a plane");
    assert_int_equal(tg_scene_create(NULL, NULL, NULL), TG_ERR_ARGUMENT);

    /* two parts with the same names */
    def.label = "first.xml";
    assert_int_equal(tg_scene_add_model(s, part, NULL, &def), TG_OK);
    def.label = "second.xml";
    assert_int_equal(tg_scene_add_model(s, part, NULL, &def), TG_OK);
    assert_int_equal(tg_scene_build(s, &m), TG_ERR_NAME);
    assert_null(m);
    assert_message(s, "name is used twice");
    assert_message(s, "in first.xml and second.xml: give them different prefixes");
    tg_scene_destroy(s);

    /* a prop that is wrong */
    s = new_scene();
    tg_prop_def prop = tg_default_prop();
    prop.name = "pea";
    prop.geom.size[0] = -1;
    assert_int_equal(tg_scene_prop(s, &prop, NULL), TG_OK);
    assert_int_equal(tg_scene_build(s, &m), TG_ERR_VALUE);
    assert_message(s, "the scene itself: geom.pea.size");
    prop = tg_default_prop();
    prop.geom = (tg_geom_def){0};
    assert_int_equal(tg_scene_prop(s, &prop, NULL), TG_ERR_ARGUMENT); /* and nothing of it stays */
    assert_int_equal(tg_builder_find(tg_scene_builder(s), TG_BODY, "pea"), 1);
    assert_int_equal(tg_scene_builder(s)->list[TG_BODY].count, 2);
    prop = (tg_prop_def){0};
    assert_int_equal(tg_scene_prop(s, &prop, NULL), TG_ERR_ARGUMENT);
    tg_scene_destroy(s);
    tg_scene_destroy(NULL);
    tg_params_destroy(p);
    tg_model_destroy(part);
    tg_model_destroy(other);
}

typedef struct heap
{
    int left, live;
} heap;

static void *heap_alloc(size_t size, size_t align, void *user)
{
    heap *h = user;
    if (h->left-- <= 0)
        return NULL;
    h->live++;
    return aligned_alloc(align, (size + align - 1) / align * align);
}

static void heap_free(void *memory, void *user)
{
    heap *h = user;
    h->live -= memory != NULL;
    free(memory);
}

static tg_status make_scene(const tg_allocator *allocator, const tg_model *part)
{
    tg_scene *s = NULL;
    tg_model *m = NULL;
    tg_status status = tg_scene_create(allocator, &s, NULL);
    tg_attach_def a = attach("a", NULL), b = attach("b", pose);
    if (status == TG_OK)
        status = tg_scene_add_model(s, part, NULL, &a);
    if (status == TG_OK)
        status = tg_scene_add_model(s, part, NULL, &b);
    if (status == TG_OK)
        status = tg_scene_build(s, &m);
    tg_model_destroy(m);
    tg_scene_destroy(s);
    return status;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    tg_model *part = tg_test_model(TG_TEST_EVERYTHING);
    tg_status status = TG_ERR_MEMORY;
    int n = 0;
    for (; status == TG_ERR_MEMORY && n < 10000; n++)
    {
        heap h = {.left = n};
        tg_allocator allocator = {heap_alloc, heap_free, &h};
        status = make_scene(&allocator, part);
        assert_int_equal(h.live, 0);
    }
    assert_int_equal(status, TG_OK);
    assert_true(n > 10);
    tg_model_destroy(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_are_the_same),
        cmocka_unit_test(test_poses),
        cmocka_unit_test(test_equalities_move_with_the_world),
        cmocka_unit_test(test_own_settings),
        cmocka_unit_test(test_props),
        cmocka_unit_test(test_builder_of_a_scene),
        cmocka_unit_test(test_keyframes),
        cmocka_unit_test(test_common_keyframe_needs_a_free_name),
        cmocka_unit_test(test_report_has_each_line_once),
        cmocka_unit_test(test_scenes_are_written),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
