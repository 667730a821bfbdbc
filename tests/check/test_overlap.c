/* Geoms that overlap in the reference pose: what is left out, what is refused, and memory that ends. What a file makes
 * of it is tested in Python. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/tangere.h"

static const char scene[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1'/><body name='a' pos='0 0 0.9'><freejoint/>"
    "<geom name='one' size='1'/><geom name='far' size='0.1' pos='5 0 0'/></body>"
    "<body name='b' pos='0 0 2'><freejoint/><geom name='two' size='1'/></body></worldbody>"
    "<keyframe><key name='k'/></keyframe></mujoco>";

/* ---- memory that ends ---- */

typedef struct budget
{
    int left, alive;
    bool limited;
} budget;

static void *take(size_t size, size_t alignment, void *user)
{
    budget *b = user;
    if (b->limited && b->left-- <= 0)
        return NULL;
    b->alive++;
    return aligned_alloc(alignment, size);
}

static void give(void *memory, void *user)
{
    if (memory != NULL)
        ((budget *)user)->alive--;
    free(memory);
}

static tg_model *load(const tg_allocator *allocator)
{
    tg_load_options options = tg_default_load_options();
    tg_model *m = NULL;
    tg_error error;
    options.allocator = allocator;
    if (tg_load_string(scene, strlen(scene), NULL, &options, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static void test_out_of_memory(void **state)
{
    (void)state;
    budget b = {0};
    const tg_allocator allocator = {take, give, &b};
    tg_model *m = load(&allocator);
    int before = b.alive, pieces = 0;
    tg_status status = TG_ERR_MEMORY;
    for (; status != TG_OK; pieces++)
    {
        tg_model *out = NULL;
        tg_error error = {0};
        b.left = pieces;
        b.limited = true;
        status = tg_exclude_overlaps(m, &out, &error);
        b.limited = false;
        assert_true((status == TG_OK) == (out != NULL));
        if (status != TG_OK)
        {
            assert_int_equal(status, TG_ERR_MEMORY);
            assert_true(strlen(error.message) > 0);
        }
        tg_model_destroy(out);
        assert_int_equal(b.alive, before);
        assert_true(pieces < 10000);
    }
    assert_true(pieces > 5);
    tg_model_destroy(m);
    assert_int_equal(b.alive, 0);
}

/* ---- what is left out ---- */

static void test_pairs(void **state)
{
    (void)state;
    tg_model *m = load(NULL), *out = NULL;
    assert_int_equal(tg_exclude_overlaps(m, &out, NULL), TG_OK);
    tg_sizes before = tg_model_sizes(m), after = tg_model_sizes(out);
    assert_int_equal(after.nexclude, 1);
    assert_int_equal(after.ncandidate, before.ncandidate - 1); /* far and two are of the same bodies, and may */
    assert_int_equal(after.nkey, 1);
    assert_int_equal(tg_report_count(out), tg_report_count(m) + 2);
    tg_report_entry entry;
    assert_int_equal(tg_report_get(out, tg_report_count(m), &entry, NULL), TG_OK);
    assert_string_equal(entry.element, "geom 'floor' and geom 'one'");
    assert_non_null(strstr(entry.note, "overlap by 0.1 m in the reference pose: still collide"));
    assert_int_equal(tg_report_get(out, tg_report_count(m) + 1, &entry, NULL), TG_OK);
    assert_string_equal(entry.element, "geom 'one' and geom 'two'");
    assert_string_equal(entry.note, "overlap by 0.9 m in the reference pose: do not collide");
    tg_model_destroy(m);
    tg_model_destroy(out);
}

static void test_refusals(void **state)
{
    (void)state;
    tg_model *m = load(NULL), *out = m;
    tg_error error = {0};
    assert_int_equal(tg_exclude_overlaps(NULL, &out, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "m is NULL"));
    assert_int_equal(tg_exclude_overlaps(m, NULL, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "out is NULL"));
    tg_model_destroy(m);
}

/* ---- excludes of geoms in the builder ---- */

static int add_ball(tg_builder *b, double x)
{
    tg_body_def body = tg_default_body();
    tg_joint_def joint = tg_default_joint();
    tg_geom_def geom = tg_default_geom();
    int id = -1;
    body.pos[0] = x;
    assert_int_equal(tg_builder_body(b, &body, &geom.body), TG_OK);
    joint.body = geom.body;
    joint.type = TG_JOINT_FREE;
    geom.size[0] = 1;
    assert_int_equal(tg_builder_joint(b, &joint, NULL), TG_OK);
    assert_int_equal(tg_builder_geom(b, &geom, &id), TG_OK);
    return id;
}

static void test_builder(void **state)
{
    (void)state;
    tg_builder *b = NULL;
    tg_model *m = NULL;
    tg_exclude_def def = tg_default_exclude();
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    def.geom1 = add_ball(b, 0);
    def.geom2 = add_ball(b, 1);
    add_ball(b, 2);
    assert_int_equal(tg_builder_exclude(b, &def, NULL), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    assert_int_equal(tg_model_sizes(m).ncandidate, 2);
    tg_model_destroy(m);
    def.geom2 = 3;
    assert_int_equal(tg_builder_exclude(b, &def, NULL), TG_OK);
    assert_int_not_equal(tg_builder_build(b, &m), TG_OK);
    assert_non_null(strstr(tg_builder_message(b), "geom2 = 3"));
    tg_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_builder),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
