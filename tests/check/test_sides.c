/* Derivatives on each side of a kink: of functions that are known. */
#include "check/sides.h"
#include "step/step_test.h"

/* a x + b x^2 + c x^3, and another slope beyond a kink; each part has a signature */
typedef struct curve
{
    double a, b, c;
    double kink, change;
} curve;

static tg_status at(void *user, double x, tg_point *point)
{
    const curve *f = user;
    double beyond = x > f->kink ? x - f->kink : 0;
    point->valid = true;
    point->value = 3 + f->a * x + f->b * x * x + f->c * x * x * x + f->change * beyond;
    point->signature = x > f->kink ? 7 : 5;
    return TG_OK;
}

static tg_side side_of(curve *f, double h)
{
    tg_line line = {at, f, 3, 1e-16, 5};
    tg_side side;
    assert_int_equal(tg_side_of(&line, h, 1e-9, &side), TG_OK);
    return side;
}

static void test_each_side_of_a_kink(void **state)
{
    (void)state;
    curve f = {.a = 2, .b = 40, .c = 900, .kink = 0, .change = 5};
    tg_side side[2] = {side_of(&f, 1e-4), side_of(&f, -1e-4)};
    assert_true(side[0].taken && side[1].taken && !side[0].home && side[1].home);
    check_near("beyond", side[0].value, 7, 1e-7);
    check_near("before", side[1].value, 2, 1e-7);
    assert_ptr_equal(tg_side_to_judge(side, 7, true, 1e-6), &side[0]);
    assert_ptr_equal(tg_side_to_judge(side, 2, true, 1e-6), &side[1]);
    assert_ptr_equal(tg_side_to_judge(side, 7, false, 1e-6), &side[1]);
}

/* within 1/64 of the displacement nothing changes: the point's own branch is found */
static void test_kink_at_a_distance(void **state)
{
    (void)state;
    curve f = {.a = 2, .b = 1, .kink = 1e-5, .change = 5};
    tg_side side = side_of(&f, 1e-4);
    assert_true(side.taken && side.home);
    check_near("before the kink", side.value, 2, 1e-7);
}

/* a kink too near to be resolved: the spread says so */
static void test_kink_that_is_too_near(void **state)
{
    (void)state;
    curve f = {.a = 2, .b = 1, .kink = 1e-8, .change = 5};
    tg_side side = side_of(&f, 1e-4);
    assert_true(side.taken && !side.home);
    assert_true(side.spread > 0.1 * fabs(side.value - 7) && side.spread > 1e-6);
}

/* Both sides are other branches: the function is differentiable if they agree, and then both are judged. */
static void test_other_branches(void **state)
{
    (void)state;
    tg_side same[2] = {{true, false, 4, 0}, {true, false, 4 + 1e-8, 0}};
    tg_side apart[2] = {{true, false, 4, 0}, {true, false, 5, 0}};
    assert_ptr_equal(tg_side_to_judge(same, 4, false, 1e-6), &same[1]);
    assert_null(tg_side_to_judge(apart, 4, false, 1e-6));
    assert_ptr_equal(tg_side_to_judge(apart, 4.9, true, 1e-6), &apart[1]);
    tg_side none[2] = {{0}, {0}};
    assert_null(tg_side_to_judge(none, 4, true, 1e-6));
    assert_null(tg_side_to_judge(none, 4, false, 1e-6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_side_of_a_kink),
        cmocka_unit_test(test_kink_at_a_distance),
        cmocka_unit_test(test_kink_that_is_too_near),
        cmocka_unit_test(test_other_branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
