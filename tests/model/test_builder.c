/* Building: numbering, topology, names, structure, what is derived, memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/model.h"
#include "model/reference.h"
#include "support/models.h"
#include "tangere/algebra.h"
#include "tangere/model.h"

static void ok(tg_builder *b, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_builder_message(b));
}

static void assert_close(double actual, double expected, double tolerance, const char *what)
{
    if (!(fabs(actual - expected) <= tolerance * fmax(1, fabs(expected))))
        fail_msg("%s: %.17g, expected %.17g", what, actual, expected);
}

static int add_body(tg_builder *b, const char *name, int parent)
{
    tg_body_def def = tg_default_body();
    def.name = name;
    def.parent = parent;
    def.inertial = true;
    def.mass = 1;
    def.inertia[0] = def.inertia[1] = def.inertia[2] = 0.1;
    int id;
    ok(b, tg_builder_body(b, &def, &id));
    return id;
}

static int add_joint(tg_builder *b, const char *name, int body, tg_joint_type type)
{
    tg_joint_def def = tg_default_joint();
    def.name = name;
    def.body = body;
    def.type = type;
    int id;
    ok(b, tg_builder_joint(b, &def, &id));
    return id;
}

static tg_builder *new_builder(void)
{
    tg_builder *b;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    return b;
}

static tg_model *build(tg_builder *b)
{
    tg_model *m;
    ok(b, tg_builder_build(b, &m));
    tg_builder_destroy(b);
    return m;
}

/* ---- numbering ---- */

/* Added in any order: a (b (c) d) e, with the children of a after e. */
static tg_model *scrambled(void)
{
    tg_builder *b = new_builder();
    int a = add_body(b, "a", 0);
    int e = add_body(b, "e", 0);
    int child = add_body(b, "b", a);
    int d = add_body(b, "d", a);
    int c = add_body(b, "c", child);
    add_joint(b, "jd", d, TG_JOINT_HINGE);
    add_joint(b, "je", e, TG_JOINT_FREE);
    add_joint(b, "jc", c, TG_JOINT_SLIDE);
    add_joint(b, "jb1", child, TG_JOINT_HINGE);
    add_joint(b, "jb2", child, TG_JOINT_BALL);
    tg_geom_def geom = tg_default_geom();
    const int owner[4] = {e, c, a, 0};
    static const char *const names[4] = {"ge", "gc", "ga", "gw"};
    for (int i = 0; i < 4; i++)
    {
        geom.name = names[i];
        geom.body = owner[i];
        geom.size[0] = 0.1;
        ok(b, tg_builder_geom(b, &geom, NULL));
    }
    tg_site_def site = tg_default_site();
    site.name = "se";
    site.body = e;
    site.pos[0] = 0.3;
    ok(b, tg_builder_site(b, &site, NULL));
    site.name = "sb";
    site.body = child;
    ok(b, tg_builder_site(b, &site, NULL));
    tg_tendon_def tendon = tg_default_tendon();
    tendon.npath = 2;
    tendon.path = (const tg_path[]){{TG_PATH_SITE, 0, 0}, {TG_PATH_SITE, 1, 0}};
    ok(b, tg_builder_tendon(b, &tendon, NULL));
    tg_actuator_def motor = tg_default_actuator();
    motor.target = 0; /* jd */
    ok(b, tg_builder_actuator(b, &motor, NULL));
    tg_pair_def pair = tg_default_pair();
    pair.geom1 = 0; /* ge */
    pair.geom2 = 3; /* gw */
    ok(b, tg_builder_pair(b, &pair, NULL));
    tg_exclude_def exclude = tg_default_exclude();
    exclude.body1 = e;
    exclude.body2 = c;
    ok(b, tg_builder_exclude(b, &exclude, NULL));
    return build(b);
}

static void assert_names(const tg_model *m, tg_element element, const char *const *names, int count)
{
    for (int i = 0; i < count; i++)
    {
        assert_string_equal(tg_name(m, element, i), names[i]);
        assert_int_equal(tg_find(m, element, names[i]), i);
    }
    assert_null(tg_name(m, element, count));
}

static void test_depth_first(void **state)
{
    (void)state;
    tg_model *m = scrambled();
    assert_names(m, TG_BODY, (const char *const[]){"world", "a", "b", "c", "d", "e"}, 6);
    assert_names(m, TG_JOINT, (const char *const[]){"jb1", "jb2", "jc", "jd", "je"}, 5);
    assert_names(m, TG_GEOM, (const char *const[]){"gw", "ga", "gc", "ge"}, 4);
    assert_names(m, TG_SITE, (const char *const[]){"sb", "se"}, 2);
    const int parent[6] = {0, 0, 1, 2, 1, 0};
    const int tree[6] = {-1, -1, 0, 0, 1, 2};
    for (int i = 0; i < 6; i++)
    {
        tg_body_info info;
        assert_int_equal(tg_body_get(m, i, &info, NULL), TG_OK);
        assert_int_equal(info.parent, parent[i]);
        assert_int_equal(info.tree, tree[i]);
    }
    tg_model_destroy(m);
}

static void test_references_follow(void **state)
{
    (void)state;
    tg_model *m = scrambled();
    tg_actuator_info motor;
    assert_int_equal(tg_actuator_get(m, 0, &motor, NULL), TG_OK);
    assert_string_equal(tg_name(m, TG_JOINT, motor.target), "jd");
    assert_string_equal(tg_name(m, TG_GEOM, m->pair_geom1[0]), "ge");
    assert_string_equal(tg_name(m, TG_GEOM, m->pair_geom2[0]), "gw");
    assert_string_equal(tg_name(m, TG_BODY, m->exclude_body1[0]), "e");
    assert_string_equal(tg_name(m, TG_BODY, m->exclude_body2[0]), "c");
    assert_string_equal(tg_name(m, TG_SITE, m->path_id[0]), "se");
    assert_string_equal(tg_name(m, TG_SITE, m->path_id[1]), "sb");
    assert_int_equal(tg_site_body(m, 1), 5);
    assert_int_equal(tg_site_body(m, 2), -1);
    /* parameters went along: the site on e is at 0.3 */
    assert_true(TG_PARAM(m->params, site_pos)[3] == 0.3);
    tg_model_destroy(m);
}

static void test_layout_of_q_and_v(void **state)
{
    (void)state;
    tg_model *m = scrambled();
    tg_sizes sizes = tg_model_sizes(m);
    assert_int_equal(sizes.nq, 1 + 4 + 1 + 1 + 7);
    assert_int_equal(sizes.nv, 1 + 3 + 1 + 1 + 6);
    assert_int_equal(sizes.ntree, 3);
    const int q[5] = {0, 1, 5, 6, 7};
    const int dof[5] = {0, 1, 4, 5, 6};
    const tg_joint_type type[5] = {TG_JOINT_HINGE, TG_JOINT_BALL, TG_JOINT_SLIDE, TG_JOINT_HINGE, TG_JOINT_FREE};
    for (int i = 0; i < 5; i++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(m, i, &info, NULL), TG_OK);
        assert_int_equal(info.type, type[i]);
        assert_int_equal(info.q, q[i]);
        assert_int_equal(info.dof, dof[i]);
        assert_false(info.limited);
    }
    assert_int_equal(m->nquat, 2);
    assert_int_equal(m->quat_q[0], 1);
    assert_int_equal(m->quat_q[1], 10);
    tg_model_destroy(m);
}

/* nodes: world, jb1, jb2, jc, jd, je translation, je rotation */
static void test_nodes(void **state)
{
    (void)state;
    tg_model *m = scrambled();
    assert_int_equal(m->nnode, 7);
    const int type[7] = {TG_NODE_WORLD, TG_NODE_HINGE,       TG_NODE_BALL, TG_NODE_SLIDE,
                         TG_NODE_HINGE, TG_NODE_TRANSLATION, TG_NODE_BALL};
    const int parent[7] = {0, 0, 1, 2, 0, 0, 5};
    const int last[7] = {6, 3, 3, 3, 4, 6, 6};
    const int massive[7] = {1, 0, 1, 1, 1, 0, 1};
    const int body[7] = {0, 2, 2, 3, 4, 5, 5};
    for (int i = 0; i < 7; i++)
    {
        assert_int_equal(m->node_type[i], type[i]);
        assert_int_equal(m->node_parent[i], parent[i]);
        assert_int_equal(m->node_last[i], last[i]);
        assert_int_equal(m->node_massive[i], massive[i]);
        assert_int_equal(m->node_body[i], body[i]);
    }
    const int weld[6] = {0, 0, 2, 3, 4, 5};
    for (int i = 0; i < 6; i++)
        assert_int_equal(m->body_weld[i], weld[i]);
    const int dof_parent[12] = {-1, 0, 1, 2, 3, -1, -1, 6, 7, 8, 9, 10};
    for (int i = 0; i < 12; i++)
        assert_int_equal(m->dof_parent[i], dof_parent[i]);
    tg_model_destroy(m);
}

/* ---- what holds for every model ---- */

static void check_topology(const tg_model *m)
{
    for (int node = 1; node < m->nnode; node++)
    {
        int parent = m->node_parent[node];
        assert_true(parent < node);
        assert_true(m->node_last[node] <= m->node_last[parent]);
        assert_true(parent == 0 || m->node_tree[parent] == m->node_tree[node]);
    }
    for (int tree = 0; tree < m->ntree; tree++)
    {
        const tg_ltl_pattern *pattern = &m->tree_ltl[tree];
        assert_int_equal(pattern->n, m->tree_ndof[tree]);
        assert_int_equal(pattern->ld, m->tree_ld[tree]);
        for (int i = 0; i < pattern->n; i++)
        {
            int parent = m->dof_parent[m->tree_dof[tree] + i];
            assert_int_equal(pattern->parent[i], parent < 0 ? -1 : parent - m->tree_dof[tree]);
            assert_int_equal(m->node_tree[m->dof_node[m->tree_dof[tree] + i]], tree);
        }
        assert_int_equal(m->node_tree[m->tree_node[tree]], tree);
        assert_int_equal(m->node_parent[m->tree_node[tree]], 0);
    }
    for (int body = 0; body < m->nbody; body++)
        assert_int_equal(m->node_body[m->body_node[body]], m->body_weld[body]);
}

static void test_topology_of_all(void **state)
{
    (void)state;
    for (int i = 0; i < TG_TEST_MODEL_COUNT; i++)
    {
        tg_model *m = tg_test_model(i);
        check_topology(m);
        assert_string_equal(tg_model_name(m), tg_test_model_name(i));
        tg_model_destroy(m);
    }
}

static void test_model_of_nothing(void **state)
{
    (void)state;
    tg_model *m = build(new_builder());
    tg_sizes sizes = tg_model_sizes(m);
    assert_int_equal(sizes.nbody, 1);
    assert_int_equal(sizes.nq, 0);
    assert_int_equal(sizes.ntree, 0);
    assert_string_equal(tg_name(m, TG_BODY, 0), "world");
    assert_string_equal(tg_model_name(m), "");
    assert_true(tg_model_mass(m) == 0);
    assert_true(tg_model_timestep(m) == 0.002);
    tg_model_destroy(m);
}

static void test_deep_chain(void **state)
{
    (void)state;
    enum
    {
        COUNT = 3000
    };
    tg_builder *b = new_builder();
    int parent = 0;
    for (int i = 0; i < COUNT; i++)
    {
        parent = add_body(b, NULL, parent);
        add_joint(b, NULL, parent, TG_JOINT_SLIDE);
    }
    tg_model *m = build(b);
    assert_int_equal(tg_model_sizes(m).nv, COUNT);
    assert_int_equal(m->node_last[1], COUNT);
    tg_model_destroy(m);
}

/* ---- names ---- */

static void test_find(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    assert_int_equal(tg_find(m, TG_GEOM, "plate.bottom"), tg_model_sizes(m).ngeom - 1);
    assert_int_equal(tg_find(m, TG_GEOM, "plate"), -1);
    assert_int_equal(tg_find(m, TG_GEOM, "plate.bottom2"), -1);
    assert_int_equal(tg_find(m, TG_BODY, "plate.bottom"), -1);
    assert_int_equal(tg_find(m, TG_SITE, "#1"), 1);
    assert_int_equal(tg_find(m, TG_SITE, "#2"), -1);
    assert_int_equal(tg_find(m, TG_BODY, "#1"), 1);
    assert_int_equal(tg_find(m, TG_BODY, "#"), -1);
    assert_int_equal(tg_find(m, TG_BODY, "#1x"), -1);
    assert_int_equal(tg_find(m, TG_BODY, "#99999999999999"), -1);
    assert_int_equal(tg_find(m, TG_SITE, ""), -1);
    assert_int_equal(tg_find(m, TG_SITE, NULL), -1);
    assert_int_equal(tg_find(NULL, TG_SITE, "x"), -1);
    assert_int_equal(tg_find(m, TG_ELEMENT_COUNT, "x"), -1);
    assert_string_equal(tg_name(m, TG_SITE, 0), "");
    assert_null(tg_name(m, TG_SITE, -1));
    assert_null(tg_name(NULL, TG_SITE, 0));
    assert_null(tg_element_string(TG_ELEMENT_COUNT));
    assert_string_equal(tg_element_string(TG_HFIELD), "hfield");
    tg_model_destroy(m);
}

static void test_find_in_builder(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    add_body(b, "twin", 0);
    int second = add_body(b, "twin", 0);
    assert_int_equal(tg_builder_find(b, TG_BODY, "twin"), second);
    assert_int_equal(tg_builder_find(b, TG_BODY, "world"), 0);
    assert_int_equal(tg_builder_find(b, TG_BODY, "none"), -1);
    assert_int_equal(tg_builder_find(b, TG_JOINT, "twin"), -1);
    assert_int_equal(tg_builder_find(b, TG_BODY, ""), -1);
    tg_builder_destroy(b);
}

/* ---- queries ---- */

static void test_infos(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    tg_geom_info geom;
    assert_int_equal(tg_geom_get(m, tg_find(m, TG_GEOM, "wedge"), &geom, NULL), TG_OK);
    assert_int_equal(geom.type, TG_GEOM_MESH);
    assert_int_equal(geom.mesh, 0);
    assert_int_equal(geom.hfield, -1);
    assert_int_equal(geom.condim, 3);
    assert_int_equal(tg_geom_get(m, tg_find(m, TG_GEOM, "ground"), &geom, NULL), TG_OK);
    assert_int_equal(geom.hfield, 0);
    assert_int_equal(geom.mesh, -1);
    tg_actuator_info actuator;
    assert_int_equal(tg_actuator_get(m, 0, &actuator, NULL), TG_OK);
    assert_int_equal(actuator.transmission, TG_TRANSMISSION_TENDON);
    assert_int_equal(actuator.act, 0);
    assert_true(actuator.ctrl_limited && actuator.force_limited);
    assert_int_equal(tg_actuator_get(m, 1, &actuator, NULL), TG_OK);
    assert_int_equal(actuator.act, -1);
    assert_int_equal(tg_actuator_get(m, 2, &actuator, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_geom_get(m, -1, &geom, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_body_get(m, 0, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_joint_get(NULL, 0, NULL, NULL), TG_ERR_ARGUMENT);
    assert_true(tg_model_timestep(m) == 0.001);
    tg_report_entry entry;
    assert_int_equal(tg_report_count(m), 1);
    assert_int_equal(tg_report_get(m, 0, &entry, NULL), TG_OK);
    assert_int_equal(entry.kind, TG_REPORT_NOTED);
    assert_int_equal(entry.line, 12);
    assert_string_equal(entry.file, "everything.xml");
    assert_string_equal(entry.element, "camera 'front'");
    assert_string_equal(entry.attribute, "");
    assert_string_equal(entry.note, "not used");
    assert_int_equal(tg_report_get(m, 1, &entry, NULL), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
}

static void test_null_model(void **state)
{
    (void)state;
    tg_sizes zero = {0};
    tg_sizes sizes = tg_model_sizes(NULL);
    assert_memory_equal(&sizes, &zero, sizeof zero);
    assert_null(tg_model_name(NULL));
    assert_null(tg_model_params(NULL));
    assert_true(tg_model_mass(NULL) == 0);
    assert_int_equal(tg_report_count(NULL), 0);
    assert_int_equal(tg_site_body(NULL, 0), -1);
    assert_int_equal(tg_key_get(NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL), TG_ERR_ARGUMENT);
}

static void test_keys(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    int body = add_body(b, "body", 0);
    tg_joint_def slide = tg_default_joint();
    slide.body = body;
    slide.type = TG_JOINT_SLIDE;
    slide.ref = 0.7;
    ok(b, tg_builder_joint(b, &slide, NULL));
    add_joint(b, "ball", body, TG_JOINT_BALL);
    tg_key_def key = tg_default_key();
    key.time = 3;
    ok(b, tg_builder_key(b, &key, NULL));
    const double q[5] = {1, 0, 1, 0, 0};
    const double v[4] = {1, 2, 3, 4};
    key.name = "given";
    key.q = q;
    key.nq = 5;
    key.v = v;
    key.nv = 4;
    ok(b, tg_builder_key(b, &key, NULL));
    tg_model *m = build(b);
    double time;
    double out_q[5];
    double out_v[4];
    assert_int_equal(tg_key_get(m, 0, &time, out_q, out_v, NULL, NULL, NULL), TG_OK);
    const double reference[5] = {0.7, 1, 0, 0, 0};
    const double zero[4] = {0};
    assert_true(time == 3);
    assert_memory_equal(out_q, reference, sizeof reference);
    assert_memory_equal(out_v, zero, sizeof zero);
    assert_int_equal(tg_key_get(m, tg_find(m, TG_KEY, "given"), NULL, out_q, out_v, NULL, NULL, NULL), TG_OK);
    assert_memory_equal(out_q, q, sizeof q);
    assert_memory_equal(out_v, v, sizeof v);
    assert_int_equal(tg_key_get(m, 2, NULL, out_q, NULL, NULL, NULL, NULL), TG_ERR_ARGUMENT);
    tg_model_destroy(m);
}

/* ---- reference configuration ---- */

/* A hinge about z through (1, 0, 0), a quarter turn away from its ref: the origin goes to (1, -1, 0). */
static void test_hinge_with_anchor_and_ref(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    int body = add_body(b, "body", 0);
    tg_joint_def hinge = tg_default_joint();
    hinge.body = body;
    hinge.pos[0] = 1;
    hinge.ref = 0.25;
    ok(b, tg_builder_joint(b, &hinge, NULL));
    tg_model *m = build(b);
    double pose[14];
    const double q[1] = {0.25 + 1.5707963267948966};
    tg_reference_poses(m->params, q, pose);
    const double expected[7] = {1, -1, 0, sqrt(0.5), 0, 0, sqrt(0.5)};
    for (int i = 0; i < 7; i++)
        assert_close(pose[7 + i], expected[i], 1e-15, "pose");
    tg_model_destroy(m);
}

/* In the reference configuration every body is where its frame was put. */
static void test_reference_poses(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        double *pose = malloc(7 * (size_t)m->nbody * sizeof *pose);
        double *q = malloc((size_t)m->nq * sizeof *q);
        assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
        tg_reference_poses(m->params, q, pose);
        for (int body = 1; body < m->nbody; body++)
        {
            double fixed[7];
            memcpy(fixed, TG_PARAM(m->params, body_pos) + 3 * body, 3 * sizeof *fixed);
            tg_quat_normalise(TG_PARAM(m->params, body_quat) + 4 * body, fixed + 3);
            tg_se3_multiply(pose + 7 * m->body_parent[body], fixed, fixed);
            for (int i = 0; i < 7; i++)
                assert_close(pose[7 * body + i], fixed[i], 1e-14, tg_name(m, TG_BODY, body));
        }
        free(q);
        free(pose);
        tg_model_destroy(m);
    }
}

static void test_rest_lengths(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    int body = add_body(b, "body", 0);
    tg_joint_def slide = tg_default_joint();
    slide.body = body;
    slide.type = TG_JOINT_SLIDE;
    slide.springref = 3;
    ok(b, tg_builder_joint(b, &slide, NULL));
    tg_site_def site = tg_default_site();
    ok(b, tg_builder_site(b, &site, NULL)); /* 0: the world's origin */
    site.pos[0] = 4;
    ok(b, tg_builder_site(b, &site, NULL)); /* 1: on the world */
    site.body = body;
    site.pos[0] = 4;
    ok(b, tg_builder_site(b, &site, NULL)); /* 2: (4, 0, 3) where the spring is at rest */
    tg_tendon_def tendon = tg_default_tendon();
    tendon.npath = 5;
    tendon.path = (const tg_path[]){
        {TG_PATH_SITE, 0, 0}, {TG_PATH_SITE, 2, 0}, {TG_PATH_PULLEY, 0, 2}, {TG_PATH_SITE, 2, 0}, {TG_PATH_SITE, 1, 0}};
    ok(b, tg_builder_tendon(b, &tendon, NULL));
    tendon.type = TG_TENDON_FIXED;
    tendon.npath = 1;
    tendon.path = (const tg_path[]){{TG_PATH_JOINT, 0, -0.5}};
    ok(b, tg_builder_tendon(b, &tendon, NULL));
    tg_model *m = build(b);
    const double *rest = TG_PARAM(m->params, tendon_rest);
    const double expected[4] = {5 + 1.5, 5 + 1.5, -1.5, -1.5};
    for (int i = 0; i < 4; i++)
        assert_close(rest[i], expected[i], 1e-15, "rest");
    tg_model_destroy(m);
}

/* Anchors left open meet in the reference configuration. */
static void test_open_equalities(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    double pose[7 * 16];
    tg_reference_poses(m->params, m->params->q0, pose);
    const double *pin = TG_PARAM(m->params, equality_data);
    double first[3];
    double second[3];
    tg_se3_transform(pose + 7 * m->equality_obj1[0], pin, first);
    tg_se3_transform(pose + 7 * m->equality_obj2[0], pin + 3, second);
    for (int i = 0; i < 3; i++)
        assert_close(second[i], first[i], 1e-14, "anchor");
    const double *glue = pin + 11;
    double relative[7];
    tg_se3_multiply(pose + 7 * m->equality_obj1[1], glue + 3, relative);
    const double *object = pose + 7 * m->equality_obj2[1];
    double off[3];
    tg_quat_difference(relative + 3, object + 3, off);
    for (int i = 0; i < 3; i++)
    {
        assert_close(relative[i], object[i], 1e-14, "position");
        assert_close(off[i], 0, 1e-14, "orientation");
    }
    assert_false(m->equality_active[1]);
    tg_model_destroy(m);
}

/* ---- what is derived ---- */

/* The three terms of a hinge are its rotation. */
static void test_hinge_constants(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_HUMANOID);
    const tg_params *p = m->params;
    for (int joint = 0; joint < m->njoint; joint++)
    {
        if (m->joint_type[joint] != TG_JOINT_HINGE)
            continue;
        const double angle = 0.8;
        double quat[4] = {1, 0, 0, 0};
        double turn[4];
        double R[9];
        int body = m->joint_body[joint];
        if (m->body_joint[body] == joint)
            tg_quat_normalise(TG_PARAM(p, body_quat) + 4 * body, quat);
        tg_quat_from_axis_angle(TG_PARAM(p, joint_axis) + 3 * joint, angle, turn);
        tg_quat_multiply(quat, turn, quat);
        tg_quat_to_matrix(quat, R);
        const tg_hinge_const *h = &p->hinge[joint];
        for (int i = 0; i < 3; i++)
        {
            for (int j = 0; j < 3; j++)
                assert_close(h->r0[4 * j + i] + cos(angle) * h->r1[4 * j + i] + sin(angle) * h->r2[4 * j + i],
                             R[3 * i + j], 1e-14, "rotation");
        }
    }
    tg_model_destroy(m);
}

/* Twice the kinetic energy of the bodies when dof moves with unit speed: sum of m |v|^2 + w.I w, with the velocities
 * from differences of poses. */
static double inertia_by_differences(const tg_model *m, int dof, double *q, double *v, double *before, double *after)
{
    const double h = 1e-5;
    const tg_params *p = m->params;
    memset(v, 0, (size_t)m->nv * sizeof *v);
    v[dof] = -h;
    assert_int_equal(tg_integrate(m, p->q0, v, q, NULL), TG_OK);
    tg_reference_poses(p, q, before);
    v[dof] = h;
    assert_int_equal(tg_integrate(m, p->q0, v, q, NULL), TG_OK);
    tg_reference_poses(p, q, after);
    double sum = 0;
    for (int body = 1; body < m->nbody; body++)
    {
        double x0[3];
        double x1[3];
        double w[3];
        const double *s = TG_PARAM(p, body_inertia) + 6 * body;
        tg_se3_transform(before + 7 * body, TG_PARAM(p, body_com) + 3 * body, x0);
        tg_se3_transform(after + 7 * body, TG_PARAM(p, body_com) + 3 * body, x1);
        tg_quat_difference(before + 7 * body + 3, after + 7 * body + 3, w);
        double linear = 0;
        for (int i = 0; i < 3; i++)
        {
            linear += pow((x1[i] - x0[i]) / (2 * h), 2);
            w[i] /= 2 * h;
        }
        sum += TG_PARAM(p, body_mass)[body] * linear + s[0] * w[0] * w[0] + s[1] * w[1] * w[1] + s[2] * w[2] * w[2] +
               2 * (s[3] * w[0] * w[1] + s[4] * w[0] * w[2] + s[5] * w[1] * w[2]);
    }
    return sum;
}

static void test_dof_inertia(void **state)
{
    (void)state;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        size_t count = 7 * (size_t)m->nbody;
        double *pose = malloc(2 * count * sizeof *pose);
        double *q = malloc(2 * (size_t)m->nq * sizeof *q);
        for (int dof = 0; dof < m->nv; dof++)
        {
            double expected = inertia_by_differences(m, dof, q, q + m->nq, pose, pose + count);
            assert_close(m->params->dof_inertia[dof], expected + m->params->dof_armature[dof], 1e-8, tg_model_name(m));
        }
        free(q);
        free(pose);
        tg_model_destroy(m);
    }
}

/* Welded bodies count on their node: mass, first and second moments are those of the bodies themselves. */
static void test_node_lumps(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_FREE_BODIES);
    const tg_params *p = m->params;
    double pose[7 * 16];
    tg_reference_poses(p, p->q0, pose);
    int frame = tg_find(m, TG_BODY, "frame");
    int node = m->body_node[frame];
    assert_int_equal(m->body_node[tg_find(m, TG_BODY, "bolt")], node);
    double mass = 0;
    double moment[3] = {0};
    double trace = 0; /* of the inertia about the frame's origin, which no rotation changes */
    for (int body = 1; body < m->nbody; body++)
    {
        if (m->body_node[body] != node)
            continue;
        double inverse[7];
        double x[3];
        double own = TG_PARAM(p, body_mass)[body];
        tg_se3_transform(pose + 7 * body, TG_PARAM(p, body_com) + 3 * body, x);
        tg_se3_inverse(pose + 7 * frame, inverse);
        tg_se3_transform(inverse, x, x);
        mass += own;
        for (int i = 0; i < 3; i++)
        {
            moment[i] += own * x[i];
            trace += TG_PARAM(p, body_inertia)[6 * body + i] + 2 * own * x[i] * x[i];
        }
    }
    const double *c = p->node_com + 4 * node;
    const double *I = p->node_inertia + 12 * node;
    assert_close(p->node_mass[node], mass, 1e-14, "mass");
    double lump = I[0] + I[5] + I[10];
    for (int i = 0; i < 3; i++)
    {
        assert_close(c[i] * p->node_mass[node], moment[i], 1e-14, "moment");
        lump += 2 * mass * c[i] * c[i];
    }
    assert_close(lump, trace, 1e-14, "trace");
    assert_true(I[1] == I[4] && I[2] == I[8] && I[6] == I[9]);
    tg_model_destroy(m);
}

/* ---- memory ---- */

typedef struct counter
{
    long calls, fail_at; /* fail_at: the call that returns NULL, 0: none */
    long live;
} counter;

static void *counted_alloc(size_t size, size_t align, void *user)
{
    counter *c = user;
    c->calls++;
    if (c->calls == c->fail_at)
        return NULL;
    c->live++;
    return aligned_alloc(align, size);
}

static void counted_free(void *memory, void *user)
{
    if (memory == NULL)
        return;
    ((counter *)user)->live--;
    free(memory);
}

/* A mesh without faces, so that the hull's memory is part of it. */
static tg_status add_hull(tg_builder *b)
{
    static const double vertex[15] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0.1, 0.1, 0.1};
    tg_mesh_def mesh = tg_default_mesh();
    mesh.name = "cloud";
    mesh.vertex = vertex;
    mesh.nvertex = 5;
    return tg_builder_mesh(b, &mesh, NULL);
}

static tg_status make_with(const tg_allocator *allocator, int which, tg_model **m)
{
    tg_builder *b;
    *m = NULL;
    tg_error error = {0};
    tg_status status = tg_builder_create(allocator, &b, &error);
    if (status != TG_OK)
        return status;
    status = tg_test_model_add(b, which);
    if (status == TG_OK)
        status = add_hull(b);
    if (status == TG_OK)
        status = tg_builder_build(b, m);
    if (status == TG_ERR_UNSUPPORTED) /* a build without qhull */
        skip();
    if (status != TG_OK)
        assert_true(strlen(tg_builder_message(b)) > 0);
    tg_builder_destroy(b);
    if (status != TG_OK)
        assert_null(*m);
    return status;
}

static void test_allocator_that_fails(void **state)
{
    (void)state;
    const int which[] = {TG_TEST_EVERYTHING, TG_TEST_TWO_TREES};
    for (size_t i = 0; i < sizeof which / sizeof *which; i++)
    {
        long failures = 0;
        for (long fail_at = 1;; fail_at++)
        {
            counter c = {.fail_at = fail_at};
            tg_allocator allocator = {counted_alloc, counted_free, &c};
            tg_model *m;
            tg_status status = make_with(&allocator, which[i], &m);
            if (status == TG_OK)
            {
                assert_true(c.calls < fail_at); /* nothing failed: all places were tried */
                tg_model_destroy(m);
                assert_int_equal(c.live, 0);
                break;
            }
            assert_int_equal(status, TG_ERR_MEMORY);
            assert_int_equal(c.live, 0);
            failures++;
        }
        assert_true(failures > 20);
    }
}

static void test_params_out_of_memory(void **state)
{
    (void)state;
    counter c = {0};
    tg_allocator allocator = {counted_alloc, counted_free, &c};
    tg_model *m;
    assert_int_equal(make_with(&allocator, TG_TEST_WALKER, &m), TG_OK);
    tg_params *p;
    tg_error error = {0};
    c.fail_at = c.calls + 1;
    assert_int_equal(tg_params_create(m, &p, &error), TG_ERR_MEMORY);
    assert_null(p);
    assert_true(strlen(error.message) > 0);
    assert_int_equal(c.live, 1);
    tg_model_destroy(m);
    assert_int_equal(c.live, 0);
}

/* A model is one block, and one for the hull of each mesh that collides; parameters are one block. */
static void test_one_block(void **state)
{
    (void)state;
    counter c = {0};
    tg_allocator allocator = {counted_alloc, counted_free, &c};
    tg_model *m;
    assert_int_equal(make_with(&allocator, TG_TEST_EVERYTHING, &m), TG_OK);
    long blocks = c.live;
    assert_int_equal(blocks, 2); /* one of its two meshes collides */
    long calls = c.calls;
    tg_params *p;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    assert_int_equal(c.live, blocks + 1);
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    assert_int_equal(c.calls, calls + 1);
    tg_model_destroy(m); /* parameters may be destroyed after their model */
    tg_params_destroy(p);
    assert_int_equal(c.live, 0);
}

/* The same builder gives the same model twice, and goes on. */
static void test_build_again(void **state)
{
    (void)state;
    tg_builder *b = new_builder();
    ok(b, tg_test_model_add(b, TG_TEST_EVERYTHING));
    tg_model *first;
    tg_model *second;
    ok(b, tg_builder_build(b, &first));
    ok(b, tg_builder_build(b, &second));
    assert_int_equal(first->nparams, second->nparams);
    assert_memory_equal(first->params->value, second->params->value, (size_t)first->nparams * sizeof(double));
    add_body(b, "one more", 0);
    tg_model *third;
    ok(b, tg_builder_build(b, &third));
    assert_int_equal(third->nbody, first->nbody + 1);
    tg_model_destroy(first);
    tg_model_destroy(second);
    tg_model_destroy(third);
    tg_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_depth_first),
        cmocka_unit_test(test_references_follow),
        cmocka_unit_test(test_layout_of_q_and_v),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_topology_of_all),
        cmocka_unit_test(test_model_of_nothing),
        cmocka_unit_test(test_deep_chain),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_find_in_builder),
        cmocka_unit_test(test_infos),
        cmocka_unit_test(test_null_model),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_hinge_with_anchor_and_ref),
        cmocka_unit_test(test_reference_poses),
        cmocka_unit_test(test_rest_lengths),
        cmocka_unit_test(test_open_equalities),
        cmocka_unit_test(test_hinge_constants),
        cmocka_unit_test(test_dof_inertia),
        cmocka_unit_test(test_node_lumps),
        cmocka_unit_test(test_allocator_that_fails),
        cmocka_unit_test(test_params_out_of_memory),
        cmocka_unit_test(test_one_block),
        cmocka_unit_test(test_build_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
