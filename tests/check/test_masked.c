/* Parameters that cannot matter because another counts in their place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/tangere.h"

static const char scene[] =
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' friction='1 0.01 0.001'/>"
    "<body pos='0 0 1'><freejoint/><geom name='cube' type='box' size='0.1 0.1 0.1' friction='0.3 0.02 0.001'/></body>"
    "<body pos='1 0 1'><freejoint/><geom name='ghost' size='0.1' contype='0' conaffinity='0' friction='0.1'/></body>"
    "<body pos='2 0 1'><freejoint/><geom name='first' size='0.1' priority='1' friction='0.2 0.005 0.0001'/></body>"
    "</worldbody></mujoco>";

static int masker(const tg_model *m, const char *name)
{
    int offset, size, by = -2;
    assert_int_equal(tg_param_find(m, name, &offset, &size, NULL), TG_OK);
    assert_int_equal(tg_param_masked(m, NULL, offset, &by, NULL), TG_OK);
    return by;
}

static int place(const tg_model *m, const char *name)
{
    int offset, size;
    assert_int_equal(tg_param_find(m, name, &offset, &size, NULL), TG_OK);
    return offset;
}

static tg_model *open_scene(void)
{
    tg_model *m = NULL;
    tg_error error;
    if (tg_load_string(scene, strlen(scene), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static void test_the_larger_counts(void **state)
{
    (void)state;
    tg_model *m = open_scene();
    int first = place(m, "geom.first.friction[0]");
    int by = masker(m, "geom.cube.friction[0]");
    assert_true(by == place(m, "geom.floor.friction[0]") || by == first); /* of the floor, or of the higher priority */
    assert_int_equal(masker(m, "geom.cube.friction[1]"), -1);             /* larger than the floor's */
    assert_int_equal(masker(m, "geom.cube.friction[2]"), -1);             /* equal: either may count */
    assert_int_equal(masker(m, "geom.floor.friction[0]"), -1);
    assert_int_equal(masker(m, "geom.first.friction[0]"), -1); /* smaller, but of higher priority */
    assert_int_equal(masker(m, "geom.ghost.friction[0]"), -1); /* meets nothing */
    assert_true(masker(m, "geom.cube.kinetic") >= 0);          /* goes with the sliding friction */
    assert_int_equal(masker(m, "geom.cube.margin"), -1);
    tg_model_destroy(m);
}

static void test_refusals(void **state)
{
    (void)state;
    tg_model *m = open_scene();
    tg_error error;
    int by;
    assert_int_equal(tg_param_masked(m, NULL, -1, &by, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "index = -1"));
    assert_int_equal(tg_param_masked(m, NULL, 0, NULL, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "by is NULL"));
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_larger_counts),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
