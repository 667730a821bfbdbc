/* The MJCF reader from C: what it makes of a file, what it refuses and how it says so. The rules of the format are
 * compared with MuJoCo in tests/python/test_mjcf.py. */
#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/read.h"

static const char *root(void)
{
    const char *path = getenv("TANGERE_ROOT");
    return path != NULL ? path : TANGERE_ROOT;
}

static tg_model *load(const char *text)
{
    tg_model *m = NULL;
    tg_error error = {0};
    if (tg_load_string(text, strlen(text), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s\nin %s", error.message, text);
    return m;
}

static void assert_param(const tg_model *m, const char *name, int count, const double *wanted)
{
    int offset, size;
    tg_error error = {0};
    if (tg_param_find(m, name, &offset, &size, &error) != TG_OK)
        fail_msg("%s", error.message);
    assert_int_equal(size, count);
    const double *value = tg_params_view(tg_model_params(m)) + offset;
    for (int i = 0; i < count; i++)
    {
        if (!(fabs(value[i] - wanted[i]) <= 1e-14 * (1 + fabs(wanted[i]))))
            fail_msg("%s[%d] is %.17g, not %.17g", name, i, value[i], wanted[i]);
    }
}

#define ASSERT_PARAM(m, name, ...)                                                                                     \
    assert_param(m, name, (int)(sizeof(double[]){__VA_ARGS__} / sizeof(double)), (double[]){__VA_ARGS__})

/* ---- what is read ---- */

static const char robot[] = "<mujoco model='robot'>"
                            "  <compiler angle='radian'/>"
                            "  <option timestep='0.001' gravity='0 0 -10'/>"
                            "  <default>"
                            "    <joint damping='0.5'/>"
                            "    <default class='leg'><geom type='capsule' size='0.05'/></default>"
                            "  </default>"
                            "  <worldbody>"
                            "    <geom name='floor' type='plane' size='1 1 1'/>"
                            "    <body name='trunk' pos='0 0 1'>"
                            "      <freejoint name='root'/>"
                            "      <inertial pos='0 0 0.1' mass='3' diaginertia='0.1 0.2 0.25'/>"
                            "      <frame pos='0 0 -0.1'>"
                            "        <body name='leg' childclass='leg' pos='0.1 0 0'>"
                            "          <joint name='hip' axis='0 2 0' range='-1 0.5'/>"
                            "          <geom name='leg' fromto='0 0 0 0 0 -0.4' mass='2'/>"
                            "          <site name='foot' pos='0 0 -0.4'/>"
                            "        </body>"
                            "      </frame>"
                            "    </body>"
                            "  </worldbody>"
                            "  <actuator><position name='hip' joint='hip' kp='20' kv='1'/></actuator>"
                            "  <keyframe><key name='up' qpos='0 0 2 2 0 0 0 0.25' ctrl='0.25'/></keyframe>"
                            "</mujoco>";

static void test_robot(void **state)
{
    (void)state;
    tg_model *m = load(robot);
    tg_sizes n = tg_model_sizes(m);
    assert_string_equal(tg_model_name(m), "robot");
    assert_int_equal(n.nq, 8);
    assert_int_equal(n.nv, 7);
    assert_int_equal(n.nu, 1);
    assert_int_equal(n.nbody, 3);
    assert_int_equal(n.ngeom, 2);
    assert_int_equal(n.nkey, 1);
    assert_true(tg_model_timestep(m) == 0.001);
    assert_true(fabs(tg_model_mass(m) - 5) < 1e-14);
    ASSERT_PARAM(m, "gravity", 0, 0, -10);
    ASSERT_PARAM(m, "body.trunk.com", 0, 0, 0.1);
    ASSERT_PARAM(m, "body.trunk.inertia", 0.1, 0.2, 0.25, 0, 0, 0);
    ASSERT_PARAM(m, "body.leg.pos", 0.1, 0, -0.1);
    ASSERT_PARAM(m, "body.leg.com", 0, 0, -0.2);
    ASSERT_PARAM(m, "joint.hip.axis", 0, 1, 0);
    ASSERT_PARAM(m, "joint.hip.range", -1, 0.5);
    ASSERT_PARAM(m, "joint.hip.damping", 0.5);
    ASSERT_PARAM(m, "joint.root.damping", 0);
    ASSERT_PARAM(m, "geom.leg.size", 0.05, 0.2, 0);
    ASSERT_PARAM(m, "actuator.hip.gain", 20, 0, 0);
    ASSERT_PARAM(m, "actuator.hip.bias", 0, -20, -1);
    tg_model_destroy(m);
}

static void test_key(void **state)
{
    (void)state;
    tg_model *m = load(robot);
    double q[8], ctrl[1];
    assert_int_equal(tg_find(m, TG_KEY, "up"), 0);
    assert_int_equal(tg_key_get(m, 0, NULL, q, NULL, NULL, ctrl, NULL), TG_OK);
    const double wanted[8] = {0, 0, 2, 1, 0, 0, 0, 0.25}; /* the quaternion is normalised */
    for (int i = 0; i < 8; i++)
        assert_true(fabs(q[i] - wanted[i]) < 1e-15);
    assert_true(ctrl[0] == 0.25);
    tg_model_destroy(m);
}

/* The same turn of 90 degrees about z, five times. */
static void test_orientations(void **state)
{
    (void)state;
    tg_model *m = load("<mujoco><worldbody>"
                       "<site name='a' quat='1 0 0 1'/><site name='b' axisangle='0 0 3 90'/>"
                       "<site name='c' euler='0 0 90'/><site name='d' xyaxes='0 1 0 -1 0 0'/>"
                       "<site name='e' zaxis='1 0 0'/>"
                       "</worldbody></mujoco>");
    double h = sqrt(0.5);
    ASSERT_PARAM(m, "site.a.quat", h, 0, 0, h);
    ASSERT_PARAM(m, "site.b.quat", h, 0, 0, h);
    ASSERT_PARAM(m, "site.c.quat", h, 0, 0, h);
    ASSERT_PARAM(m, "site.d.quat", h, 0, 0, h);
    ASSERT_PARAM(m, "site.e.quat", h, 0, h, 0);
    tg_model_destroy(m);
}

static void test_classes(void **state)
{
    (void)state;
    tg_model *m =
        load("<mujoco><default><geom size='1' friction='0.1'/>"
             "<default class='a'><geom friction='0.2'/><default class='b'><geom size='3'/></default></default>"
             "</default><worldbody><body childclass='a'><geom name='a'/><geom name='b' class='b'/>"
             "<body><geom name='c' size='4'/></body></body><geom name='d'/></worldbody></mujoco>");
    ASSERT_PARAM(m, "geom.a.size[0]", 1);
    ASSERT_PARAM(m, "geom.a.friction[0]", 0.2);
    ASSERT_PARAM(m, "geom.b.size[0]", 3);
    ASSERT_PARAM(m, "geom.b.friction[0]", 0.2);
    ASSERT_PARAM(m, "geom.c.size[0]", 4);
    ASSERT_PARAM(m, "geom.c.friction[0]", 0.2);
    ASSERT_PARAM(m, "geom.d.friction[0]", 0.1);
    tg_model_destroy(m);
}

static void test_closed_loops(void **state)
{
    (void)state;
    tg_model *m =
        load("<mujoco><worldbody>"
             "<body name='a' pos='1 0 0'><joint name='j'/><geom size='0.1'/><site name='s' pos='0 1 0'/></body>"
             "<body name='b' pos='0 0 1'><joint name='k'/><geom size='0.1'/><site name='t' pos='0 0 2'/></body>"
             "</worldbody><equality>"
             "<connect name='bodies' body1='a' body2='b' anchor='0.1 0.2 0.3'/>"
             "<connect name='sites' site1='s' site2='t'/>"
             "<weld name='weld' body1='a' body2='b'/>"
             "<joint name='joint' joint1='j' joint2='k' polycoef='0 2 3'/>"
             "</equality></mujoco>");
    ASSERT_PARAM(m, "equality.bodies.data", 0.1, 0.2, 0.3, 1.1, 0.2, -0.7, 0, 0, 0, 0, 0);
    ASSERT_PARAM(m, "equality.sites.data", 0, 1, 0, 0, 0, 2, 0, 0, 0, 0, 0);
    ASSERT_PARAM(m, "equality.weld.data", 0, 0, 0, -1, 0, 1, 1, 0, 0, 0, 1);
    ASSERT_PARAM(m, "equality.joint.data", 0, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0);
    tg_model_destroy(m);
}

static void test_own_models(void **state)
{
    (void)state;
    static const struct
    {
        const char *name;
        int nv, nu;
    } models[] = {{"pendulum", 1, 1},     {"planar_walker", 9, 6}, {"quadruped", 18, 12}, {"arm", 7, 7},
                  {"humanoid36", 36, 30}, {"cube", 6, 0},          {"cable_toy", 18, 0}};
    tg_load_options strict = tg_default_load_options();
    strict.strict = true;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
    {
        char path[1000];
        tg_model *m = NULL;
        tg_error error = {0};
        snprintf(path, sizeof path, "%s/models/%s.xml", root(), models[i].name);
        if (tg_load(path, &strict, &m, &error) != TG_OK)
            fail_msg("%s", error.message);
        assert_string_equal(tg_model_name(m), models[i].name);
        assert_int_equal(tg_model_sizes(m).nv, models[i].nv);
        assert_int_equal(tg_model_sizes(m).nu, models[i].nu);
        tg_model_destroy(m);
    }
}

/* ---- the report ---- */

static const tg_report_entry *find_entry(const tg_model *m, const char *attribute, tg_report_entry *entry)
{
    for (int i = 0; i < tg_report_count(m); i++)
    {
        assert_int_equal(tg_report_get(m, i, entry, NULL), TG_OK);
        if (strcmp(entry->attribute, attribute) == 0)
            return entry;
    }
    return NULL;
}

static const char reported[] = "<mujoco>\n"
                               "  <option density='1.2' viscosity='0' integrator='RK4'/>\n"
                               "  <worldbody>\n"
                               "    <body name='b'><joint/>\n"
                               "      <geom name='g' size='0.1' solref='0.1 1' rgba='1 0 0 1'/>\n"
                               "    </body>\n"
                               "  </worldbody>\n"
                               "</mujoco>\n";

static void test_report(void **state)
{
    (void)state;
    tg_model *m = load(reported);
    tg_report_entry e;
    assert_non_null(find_entry(m, "density", &e));
    assert_int_equal(e.kind, TG_REPORT_IGNORED_PHYSICS);
    assert_string_equal(e.file, "<string>");
    assert_int_equal(e.line, 2);
    assert_string_equal(e.element, "option");
    assert_null(find_entry(m, "viscosity", &e)); /* 0 has no effect */
    assert_null(find_entry(m, "rgba", &e));
    assert_non_null(find_entry(m, "solref", &e));
    assert_int_equal(e.kind, TG_REPORT_APPROXIMATED);
    assert_string_equal(e.element, "geom 'g'");
    assert_int_equal(e.line, 5);
    assert_non_null(find_entry(m, "integrator", &e));
    assert_int_equal(e.kind, TG_REPORT_APPROXIMATED);
    assert_non_null(find_entry(m, "size", &e));
    assert_int_equal(e.kind, TG_REPORT_HONOURED);
    assert_int_not_equal(tg_report_get(m, tg_report_count(m), &e, NULL), TG_OK);
    tg_model_destroy(m);
}

static void test_strict(void **state)
{
    (void)state;
    tg_model *m = NULL;
    tg_error error = {0};
    tg_load_options options = tg_default_load_options();
    options.strict = true;
    assert_int_equal(tg_load_string(reported, strlen(reported), NULL, &options, &m, &error), TG_ERR_UNSUPPORTED);
    assert_null(m);
    assert_non_null(strstr(error.message, "<string>:2: option: attribute 'density' is ignored physics"));
}

/* ---- refusals ---- */

static void refuse(const char *text, tg_status status, const char *message)
{
    tg_model *m = (tg_model *)(uintptr_t)1;
    tg_error error = {0};
    assert_int_equal(tg_load_string(text, strlen(text), NULL, NULL, &m, &error), status);
    assert_null(m);
    assert_int_equal(error.status, status);
    if (strstr(error.message, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, message);
}

#define BODY(inside) "<mujoco>\n<worldbody>\n<body name='b'>\n" inside "\n</body>\n</worldbody>\n</mujoco>"

static void test_refusals(void **state)
{
    (void)state;
    refuse(BODY("<geom size='1' colour='red'/>"), TG_ERR_PARSE, "<string>:4: geom: unknown attribute 'colour'=\"red\"");
    refuse(BODY("<wheel/>"), TG_ERR_PARSE, "<string>:4: wheel: unknown element inside 'body'");
    refuse(BODY("<geom name='g' size='1 x'/>"), TG_ERR_PARSE, "<string>:4: geom 'g': attribute 'size'=\"x\"");
    refuse(BODY("<geom pos='0 nan 0' size='1'/>"), TG_ERR_VALUE, "attribute 'pos': numbers must be finite");
    refuse(BODY("<geom class='c' size='1'/>"), TG_ERR_NAME, "there is no default class \"c\"");
    refuse(BODY("<joint type='screw'/>"), TG_ERR_PARSE, "attribute 'type': unknown word \"screw\"");
    refuse(BODY("<joint range='2 1' limited='true'/><geom size='1'/>"), TG_ERR_VALUE, "'range': 2 is not below 1");
    refuse(BODY("<inertial pos='0 0 0' diaginertia='1 1 1'/>"), TG_ERR_PARSE, "attribute 'mass' is missing");
    refuse(BODY("<geom type='mesh' mesh='m'/>"), TG_ERR_NAME, "attribute 'mesh': there is no mesh \"m\"");
    refuse(BODY("<geom type='sdf' mesh='m'/>"), TG_ERR_UNSUPPORTED, "'type'=\"sdf\" is not built");
    refuse(BODY("<geom name='x' size='1'/><geom name='x' size='1'/>"), TG_ERR_NAME, "\"x\" is used twice");
    refuse("<mujoco><asset><mesh file='none.stl'/></asset></mujoco>", TG_ERR_FILE, "cannot open none.stl");
    refuse("<mujoco><include file='none.xml'/></mujoco>", TG_ERR_FILE, "cannot open none.xml");
    refuse("<mujoco>", TG_ERR_PARSE, "<string>:1: not well-formed XML");
    refuse("", TG_ERR_PARSE, "<string>:1: not well-formed XML");
    refuse("<cad/>", TG_ERR_PARSE, "<string>:1: cad: the root element is");
}

/* What the builder finds out at the end has its place in the file too. */
static void test_places_of_late_refusals(void **state)
{
    (void)state;
    refuse(BODY("<joint name='j' damping='-1'/>\n<geom size='1'/>"), TG_ERR_VALUE, "<string>:4: joint.j.damping");
    refuse(BODY("<joint/>\n<geom name='g' size='1' condim='2'/>"), TG_ERR_VALUE, "<string>:5: geom 'g'");
    refuse(BODY("<joint/>\n<geom size='1' condim='2'/>"), TG_ERR_VALUE, "<string>:5: geom #0");
    refuse(BODY("<joint/>\n<geom size='1' friction='-1'/>"), TG_ERR_VALUE, "<string>:5: geom.#0.friction");
    refuse(BODY("<joint name='j'/>"), TG_ERR_MODEL, "<string>:4: joint.j");
}

static void test_arguments(void **state)
{
    (void)state;
    tg_model *m = NULL;
    tg_error error = {0};
    tg_load_options options = {0};
    assert_int_equal(tg_load(NULL, NULL, &m, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_load("x.xml", NULL, NULL, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_load("x.xml", &options, &m, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_load_string(NULL, 0, NULL, NULL, &m, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_load_string("<mujoco/>", (size_t)1 << 40, NULL, NULL, &m, NULL), TG_ERR_FILE);
    assert_int_equal(tg_load("there/is/no/such.xml", NULL, &m, &error), TG_ERR_FILE);
    assert_non_null(strstr(error.message, "there/is/no/such.xml"));
    assert_int_equal(tg_load(root(), NULL, &m, &error), TG_ERR_FILE); /* a folder */
    assert_int_equal(tg_load("there/is/no/such.xml", NULL, &m, NULL), TG_ERR_FILE);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* Every file of tests/bad is refused, with its name (or that of a file it includes) and a line. */
static void test_bad_files(void **state)
{
    (void)state;
    char folder[900];
    snprintf(folder, sizeof folder, "%s/tests/bad", root());
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    int count = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
    {
        if (!ends_with(entry->d_name, ".xml"))
            continue;
        char path[1200];
        tg_model *m = NULL;
        tg_error error = {0};
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (tg_load(path, NULL, &m, &error) == TG_OK)
            fail_msg("%s was not refused", entry->d_name);
        assert_null(m);
        bool includes = strncmp(entry->d_name, "include_", 8) == 0;
        const char *name = strstr(error.message, includes ? folder : path);
        const char *line = name != NULL ? strchr(name, ':') : NULL;
        if (line == NULL || line[1] < '1' || line[1] > '9')
            fail_msg("%s: \"%s\" names no file and line", entry->d_name, error.message);
        count++;
    }
    closedir(dir);
    assert_true(count >= 60);
}

/* ---- memory ---- */

/* An allocator that gives out `left` pieces and counts what is not given back. */
typedef struct budget
{
    int left, alive;
} budget;

static void *take(size_t size, size_t align, void *user)
{
    budget *b = user;
    if (b->left == 0)
        return NULL;
    b->left--;
    b->alive++;
    return aligned_alloc(align, size);
}

static void give(void *memory, void *user)
{
    budget *b = user;
    b->alive -= memory != NULL ? 1 : 0;
    free(memory);
}

/* Copies, a shape fitted to a mesh, bodies that are fused, geoms that are thrown away. */
static const char copied[] =
    "<mujoco><compiler fusestatic='true' discardvisual='true'/>"
    "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/><mesh name='n' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>"
    "<worldbody><replicate count='300' offset='1 0 0' euler='1 2 3'><body name='b'><joint name='j'/>"
    "<geom type='box' mesh='m'/><geom type='mesh' mesh='n' contype='0' conaffinity='0'/>"
    "<body><geom name='g' type='mesh' mesh='m'/><site name='s'/></body></body></replicate>"
    "<frame pos='0 0 9'><attach body='b007' prefix='p_'/></frame></worldbody>"
    "<contact><exclude body1='b' body2='world'/></contact>"
    "<tendon><fixed name='t'><joint joint='j' coef='1'/></fixed></tendon>"
    "<equality><tendon tendon1='t'/></equality><actuator><motor joint='j'/></actuator></mujoco>";

static void test_copies(void **state)
{
    (void)state;
    tg_model *m = NULL;
    tg_error error = {0};
    if (tg_load_string(copied, strlen(copied), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    tg_sizes n = tg_model_sizes(m);
    assert_int_equal(n.nbody, 302);
    assert_int_equal(n.nv, 301);
    assert_int_equal(n.ngeom, 602);
    assert_int_equal(n.nmesh, 1);
    assert_int_equal(n.nexclude, 301);
    assert_int_equal(n.nequality, 301);
    assert_int_equal(n.nu, 301);
    assert_true(tg_find(m, TG_BODY, "b299") > 0 && tg_find(m, TG_BODY, "p_b007") == 301);
    assert_int_equal(tg_find(m, TG_ACTUATOR, "b"), -1);
    tg_model_destroy(m);
}

typedef tg_status (*loader)(const tg_load_options *options, tg_model **m, tg_error *error);

static tg_status load_quadruped(const tg_load_options *options, tg_model **m, tg_error *error)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/models/quadruped.xml", root());
    return tg_load(path, options, m, error);
}

static tg_status load_copied(const tg_load_options *options, tg_model **m, tg_error *error)
{
    return tg_load_string(copied, strlen(copied), NULL, options, m, error);
}

/* Memory may run out at any allocation: a status, nothing kept. */
static void run_out_of_memory(loader load_it)
{
    int pieces = 0;
    for (;; pieces++)
    {
        budget b = {pieces, 0};
        tg_allocator allocator = {take, give, &b};
        tg_load_options options = tg_default_load_options();
        options.allocator = &allocator;
        tg_model *m = NULL;
        tg_error error = {0};
        tg_status status = load_it(&options, &m, &error);
        if (status == TG_OK)
        {
            tg_model_destroy(m);
            assert_int_equal(b.alive, 0);
            break;
        }
        assert_int_equal(status, TG_ERR_MEMORY);
        assert_null(m);
        assert_int_equal(b.alive, 0);
        assert_true(pieces < 10000);
    }
    assert_true(pieces > 5);
}

static void test_out_of_memory(void **state)
{
    (void)state;
    run_out_of_memory(load_quadruped);
    run_out_of_memory(load_copied);
}

/* A file that is cut anywhere is refused, or is a model. */
static void test_cut_anywhere(void **state)
{
    (void)state;
    for (size_t n = 0; n < strlen(robot); n++)
    {
        tg_model *m = NULL;
        tg_error error = {0};
        assert_int_equal(tg_load_string(robot, n, NULL, NULL, &m, &error), TG_ERR_PARSE);
        assert_null(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_robot),        cmocka_unit_test(test_key),
        cmocka_unit_test(test_orientations), cmocka_unit_test(test_classes),
        cmocka_unit_test(test_closed_loops), cmocka_unit_test(test_own_models),
        cmocka_unit_test(test_report),       cmocka_unit_test(test_strict),
        cmocka_unit_test(test_refusals),     cmocka_unit_test(test_places_of_late_refusals),
        cmocka_unit_test(test_arguments),    cmocka_unit_test(test_bad_files),
        cmocka_unit_test(test_copies),       cmocka_unit_test(test_out_of_memory),
        cmocka_unit_test(test_cut_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
