/* The URDF reader from C: what it makes of a robot, its options, what it refuses and how it says so. Kinematics and
 * dynamics are compared with MuJoCo and Pinocchio in tests/python/test_urdf.py. */
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

#include "read/urdf/urdf.h"
#include "tangere/read.h"

#define INERTIAL "<inertial><mass value='2'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
#define LINK(name) "<link name='" name "'>" INERTIAL "</link>"
#define JOINT(name, type, parent, child, inside)                                                                       \
    "<joint name='" name "' type='" type "'><origin xyz='0 0 1'/><parent link='" parent "'/><child link='" child       \
    "'/>" inside "</joint>"
#define LIMIT "<limit lower='-1' upper='0.5' effort='7' velocity='3'/>"

static const char robot[] =
    "<robot name='arm'>\n" LINK("base") "\n" LINK("upper") "\n" LINK("lower") "\n" LINK("tool") "\n" JOINT(
        "shoulder", "revolute", "base", "upper",
        "<axis xyz='0 2 0'/>" LIMIT
        "<dynamics damping='0.3' friction='0.1'/>") "\n" JOINT("elbow", "prismatic", "upper", "lower",
                                                               LIMIT "<mimic joint='shoulder' multiplier='2' "
                                                                     "offset='0.1'/>") "\n" JOINT("flange", "fixed",
                                                                                                  "lower", "tool",
                                                                                                  "") "\n"
                                                                                                      "<transmission "
                                                                                                      "name='t'/>\n"
                                                                                                      "</robot>";

static const char *root(void)
{
    const char *path = getenv("TANGERE_ROOT");
    return path != NULL ? path : TANGERE_ROOT;
}

static tg_model *load(const char *text, const tg_load_options *options)
{
    tg_model *m = NULL;
    tg_error error = {0};
    if (tg_load_string(text, strlen(text), NULL, options, &m, &error) != TG_OK)
        fail_msg("%s\nin %s", error.message, text);
    return m;
}

static void assert_refused(const char *text, const tg_load_options *options, tg_status status, const char *message)
{
    tg_model *m = NULL;
    tg_error error = {0};
    assert_int_equal(tg_load_string(text, strlen(text), NULL, options, &m, &error), status);
    assert_null(m);
    if (strstr(error.message, message) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", error.message, message);
}

static void assert_param(const tg_model *m, const char *name, int count, const double *wanted)
{
    int offset, size;
    tg_error error = {0};
    if (tg_param_find(m, name, &offset, &size, &error) != TG_OK)
        fail_msg("%s", error.message);
    assert_true(size >= count);
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

static void test_robot(void **state)
{
    (void)state;
    tg_model *m = load(robot, NULL);
    tg_sizes s = tg_model_sizes(m);
    assert_string_equal(tg_model_name(m), "arm");
    assert_int_equal(s.nv, 2);
    assert_int_equal(s.nbody, 3);
    assert_int_equal(s.nequality, 1);
    assert_int_equal(s.nsite, 2);
    assert_int_equal(tg_find(m, TG_BODY, "tool"), -1);
    assert_int_equal(tg_site_body(m, tg_find(m, TG_SITE, "tool")), tg_find(m, TG_BODY, "lower"));
    assert_int_equal(tg_site_body(m, tg_find(m, TG_SITE, "base")), 0);
    ASSERT_PARAM(m, "body.lower.mass", 4);
    ASSERT_PARAM(m, "body.lower.com", 0, 0, 0.5);
    ASSERT_PARAM(m, "body.lower.inertia", 3, 3, 2, 0, 0, 0);
    ASSERT_PARAM(m, "joint.shoulder.axis", 0, 1, 0);
    ASSERT_PARAM(m, "joint.shoulder.range", -1, 0.5);
    ASSERT_PARAM(m, "joint.shoulder.force_range", -7, 7);
    ASSERT_PARAM(m, "joint.shoulder.damping", 0.3);
    ASSERT_PARAM(m, "joint.shoulder.frictionloss", 0.1);
    ASSERT_PARAM(m, "joint.elbow.axis", 1, 0, 0);
    ASSERT_PARAM(m, "equality.elbow.data", 0.1, 2, 0, 0, 0);
    tg_model_destroy(m);
}

static void test_options(void **state)
{
    (void)state;
    tg_load_options options = tg_default_load_options();
    options.keep_fixed = true;
    tg_model *m = load(robot, &options);
    assert_int_equal(tg_model_sizes(m).nbody, 5);
    assert_int_equal(tg_model_sizes(m).nsite, 0);
    tg_model_destroy(m);

    options.floating_base = true;
    m = load(robot, &options);
    assert_int_equal(tg_model_sizes(m).nv, 8);
    assert_int_equal(tg_find(m, TG_JOINT, "base_free_joint"), 0);
    tg_model_destroy(m);

    const char *const folders[] = {"somewhere", NULL};
    options.package_path = folders;
    options.npackage_path = 2;
    assert_refused(robot, &options, TG_ERR_ARGUMENT, "package_path[1] is NULL");
    options.package_path = NULL;
    assert_refused(robot, &options, TG_ERR_ARGUMENT, "package_path is NULL");
    options.npackage_path = -1;
    assert_refused(robot, &options, TG_ERR_ARGUMENT, "npackage_path is -1");
    options.npackage_path = 0;
    options.srdf = "/nowhere/at/all.srdf";
    assert_refused(robot, &options, TG_ERR_FILE, "/nowhere/at/all.srdf: cannot be opened");
}

/* ---- the report ---- */

static const tg_report_entry *find_entry(const tg_model *m, tg_report_kind kind, const char *element,
                                         const char *attribute, tg_report_entry *entry)
{
    for (int i = 0; i < tg_report_count(m); i++)
    {
        assert_int_equal(tg_report_get(m, i, entry, NULL), TG_OK);
        if (entry->kind == kind && strcmp(entry->element, element) == 0 && strcmp(entry->attribute, attribute) == 0)
            return entry;
    }
    fail_msg("no entry about %s %s", element, attribute);
    return NULL;
}

static void test_report(void **state)
{
    (void)state;
    tg_report_entry entry;
    tg_model *m = load(robot, NULL);
    assert_int_equal(find_entry(m, TG_REPORT_NOTED, "transmission", "", &entry)->line, 9);
    assert_int_equal(find_entry(m, TG_REPORT_HONOURED, "joint", "type", &entry)->line, 6);
    assert_string_equal(entry.note, "3 in all");
    assert_non_null(strstr(find_entry(m, TG_REPORT_NOTED, "limit", "velocity", &entry)->note, "not bounded; 2 in all"));
    assert_non_null(strstr(find_entry(m, TG_REPORT_HONOURED, "mimic", "", &entry)->note, "equality"));
    find_entry(m, TG_REPORT_NOTED, "joint 'flange'", "", &entry);
    find_entry(m, TG_REPORT_NOTED, "link 'base'", "", &entry);
    tg_model_destroy(m);

    const char unknown[] = "<robot name='r'>\n" LINK("a") "\n<loop_joint name='l'/><anything/></robot>";
    m = load(unknown, NULL);
    assert_int_equal(find_entry(m, TG_REPORT_IGNORED_PHYSICS, "loop_joint 'l'", "", &entry)->line, 3);
    find_entry(m, TG_REPORT_IGNORED_PHYSICS, "anything", "", &entry);
    tg_model_destroy(m);
    tg_load_options strict = tg_default_load_options();
    strict.strict = true;
    assert_refused(unknown, &strict, TG_ERR_UNSUPPORTED,
                   "<string>:3: loop_joint 'l': is ignored physics: the loop stays open");
}

/* The guide prints the tables: rows stand inside rows, names are there, every deviation has a note. */
static void check_rows(const tg_table_row *rows)
{
    assert_int_equal(rows->depth, 0);
    for (const tg_table_row *r = rows; r->name != NULL; r++)
    {
        assert_true(r == rows || (r->depth > 0 && r->depth <= r[-1].depth + 1));
        assert_true(r->handling == TG_TABLE_HONOURED || r->handling == TG_TABLE_QUIET || r->note != NULL);
        for (int s = 0; s < TG_TABLE_SETS && r->set[s] != NULL; s++)
        {
            for (const tg_table_attribute *a = r->set[s]; a->name != NULL; a++)
                assert_true(a->handling == TG_TABLE_HONOURED || a->handling == TG_TABLE_QUIET || a->note != NULL);
        }
    }
}

static void test_tables(void **state)
{
    (void)state;
    check_rows(tg_urdf_rows());
    check_rows(tg_srdf_rows());
    assert_null(tg_table_child(tg_urdf_rows(), "nothing"));
    assert_string_equal(tg_table_child(tg_urdf_rows(), "mujoco")->name, "mujoco");
}

/* ---- refusals ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static void assert_file_refused(const char *folder, const char *name)
{
    char path[1200];
    tg_model *m = NULL;
    tg_error error = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tg_load(path, NULL, &m, &error) == TG_OK)
        fail_msg("%s was not refused", name);
    assert_null(m);
    const char *line = strncmp(error.message, path, strlen(path)) == 0 ? error.message + strlen(path) : "";
    if (line[0] != ':' || line[1] < '1' || line[1] > '9')
        fail_msg("%s: \"%s\" does not begin with file and line", name, error.message);
}

/* Every .urdf of tests/bad. */
static void test_bad_files(void **state)
{
    (void)state;
    char folder[900];
    int count = 0;
    snprintf(folder, sizeof folder, "%s/tests/bad", root());
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir))
    {
        if (!ends_with(entry->d_name, ".urdf"))
            continue;
        assert_file_refused(folder, entry->d_name);
        count++;
    }
    closedir(dir);
    assert_true(count >= 30);
}

static void test_messages_of_the_model_have_a_place(void **state)
{
    (void)state;
    assert_refused("<robot>\n" LINK("a")
                       LINK("b") "\n" JOINT("j", "revolute", "a", "b", LIMIT "<dynamics damping='-1'/>") "</robot>",
                   NULL, TG_ERR_VALUE, "<string>:3: joint.j.damping");
    /* a point on the axis of its joint */
    assert_refused("<robot>\n" LINK(
                       "a") "\n<link name='b'><inertial><mass value='1'/><inertia ixx='0' iyy='0' izz='0'/></inertial>"
                            "</link>\n" JOINT("j", "continuous", "a", "b", "") "</robot>",
                   NULL, TG_ERR_MODEL, "<string>:4: joint.j.armature");
}

/* ---- bounds ---- */

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

/* A chain of very many links: no recursion, no quadratic time. */
static void test_long_chain(void **state)
{
    (void)state;
    enum
    {
        N = 50000
    };
    size_t size = (size_t)N * 160 + 1000, used = 0;
    char *text = malloc(size);
    assert_non_null(text);
    used += (size_t)snprintf(text, size, "<robot name='chain'><link name='l0'/>");
    for (int i = 1; i < N; i++)
        used += (size_t)snprintf(
            text + used, size - used,
            "<link name='l%d'/><joint name='j%d' type='fixed'><parent link='l%d'/><child link='l%d'/></joint>", i, i,
            i - 1, i);
    snprintf(text + used, size - used, "</robot>");
    tg_model *m = load(text, NULL);
    assert_int_equal(tg_model_sizes(m).nsite, N);
    tg_model_destroy(m);
    free(text);
}

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

/* Memory may run out at any allocation: a status, nothing kept. */
static void test_out_of_memory(void **state)
{
    (void)state;
    int pieces = 0;
    for (;; pieces++)
    {
        budget b = {pieces, 0};
        tg_allocator allocator = {take, give, &b};
        tg_load_options options = tg_default_load_options();
        options.allocator = &allocator;
        tg_model *m = NULL;
        tg_error error = {0};
        tg_status status = tg_load_string(robot, strlen(robot), NULL, &options, &m, &error);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_robot),         cmocka_unit_test(test_options),
        cmocka_unit_test(test_report),        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_bad_files),     cmocka_unit_test(test_messages_of_the_model_have_a_place),
        cmocka_unit_test(test_long_chain),    cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
