/* Springs and dampers: known answers for every joint type and for tendons. */
#include "dynamics_test.h"
#include "tangere/algebra.h"

#define TOLERANCE 1e-14

static void expect_force(small_model *s, const double *q, const double *v, const double *expected, int nv)
{
    double force[12];
    assert_int_equal(tg_model_sizes(s->m).nv, nv);
    memset(force, 0xff, sizeof force);
    small_ok(s, tg_passive(s->m, s->w, q, v, force));
    check_numbers(force, expected, nv, TOLERANCE);
}

/* ---- joints ---- */

static tg_joint_def sprung(tg_joint_type type)
{
    tg_joint_def def = plain_joint(type, 0, 1, 0);
    def.stiffness = 20;
    def.damping = 0.5;
    def.armature = 0.1;
    return def;
}

/* -k (q - springref) - d v; ref moves the body, not the spring */
static void test_hinge_and_slide(void **state)
{
    (void)state;
    for (int type = TG_JOINT_SLIDE; type <= TG_JOINT_HINGE; type++)
    {
        small_model s = small_begin();
        tg_joint_def def = sprung((tg_joint_type)type);
        def.ref = 0.3;
        def.springref = -0.2;
        small_joint(&s, def, small_body(&s, 0, 0, 0, 1));
        small_build(&s);
        const double q = 0.7, v = -3, expected = -20 * (0.7 + 0.2) + 0.5 * 3;
        expect_force(&s, &q, &v, &expected, 1);
        small_end(&s);
    }
}

/* -k Log(q) - d v in body axes, the shortest way back whatever the sign of the quaternion */
static void test_ball_joint(void **state)
{
    (void)state;
    small_model s = small_begin();
    small_joint(&s, sprung(TG_JOINT_BALL), small_body(&s, 0, 0, 0, 1));
    small_build(&s);
    const double turn[3] = {0.3, -0.6, 0.2}, v[3] = {1, 2, 3};
    double q[4], expected[3];
    tg_quat_exp(turn, q);
    for (int i = 0; i < 3; i++)
        expected[i] = -20 * turn[i] - 0.5 * v[i];
    expect_force(&s, q, v, expected, 3);
    for (int i = 0; i < 4; i++)
        q[i] = -q[i];
    expect_force(&s, q, v, expected, 3);
    const double rest[4] = {1, 0, 0, 0}, damping[3] = {-0.5, -1, -1.5};
    expect_force(&s, rest, v, damping, 3);
    small_end(&s);
}

/* -k (x - x0) in world axes and -k Log(q0^-1 q) in body axes, x0 and q0 those of the body's definition */
static void test_free_joint(void **state)
{
    (void)state;
    small_model s = small_begin();
    tg_body_def def = tg_default_body();
    int body = 0;
    const double q0[4] = {0.5, 0.5, -0.5, 0.5}, turn[3] = {-0.1, 0.4, 0.25};
    def.inertial = true;
    def.mass = 1;
    def.inertia[0] = def.inertia[1] = def.inertia[2] = 0.1;
    def.pos[0] = 1;
    def.pos[1] = 2;
    def.pos[2] = 3;
    memcpy(def.quat, q0, sizeof q0);
    small_ok(&s, tg_builder_body(s.b, &def, &body));
    small_joint(&s, sprung(TG_JOINT_FREE), body);
    small_build(&s);
    double q[7] = {1.5, 1.75, 3.125};
    const double v[6] = {1, -2, 3, -4, 5, -6};
    tg_quat_integrate(q0, turn, q + 3);
    double expected[6] = {-20 * 0.5, 20 * 0.25, -20 * 0.125, -20 * turn[0], -20 * turn[1], -20 * turn[2]};
    for (int i = 0; i < 6; i++)
        expected[i] -= 0.5 * v[i];
    expect_force(&s, q, v, expected, 6);
    small_end(&s);
}

static void test_none(void **state)
{
    (void)state;
    small_model s = small_begin();
    small_joint(&s, plain_joint(TG_JOINT_HINGE, 0, 0, 1), small_body(&s, 0, 0, 0, 1));
    small_joint(&s, plain_joint(TG_JOINT_BALL, 0, 0, 1), small_body(&s, 0, 0, 0, 1));
    small_build(&s);
    const double q[5] = {1, 0.5, 0.5, 0.5, 0.5}, v[4] = {1, 2, 3, 4}, expected[4] = {0};
    expect_force(&s, q, v, expected, 4);
    small_end(&s);
}

/* ---- tendons ---- */

/* two slides along x: bodies at 3 + q0 and 7 + q1 */
static small_model two_slides(void)
{
    small_model s = small_begin();
    int a = small_body(&s, 0, 3, 0, 0), b = small_body(&s, 0, 7, 0, 0);
    tg_joint_def first = plain_joint(TG_JOINT_SLIDE, 1, 0, 0), second = first;
    first.springref = 0.5; /* has no spring, but tendons take their rest length there */
    small_joint(&s, first, a);
    small_joint(&s, second, b);
    small_site(&s, 0, 0, 4, 0);
    small_site(&s, a, 0, 0, 0);
    small_site(&s, b, 0, 0, 0);
    return s;
}

static tg_tendon_def spring_tendon(tg_tendon_type type, const tg_path *path, int npath, double low, double high)
{
    tg_tendon_def def = tg_default_tendon();
    def.type = type;
    def.path = path;
    def.npath = npath;
    def.stiffness = 10;
    def.damping = 2;
    def.rest[0] = low;
    def.rest[1] = high;
    return def;
}

/* length 2 q0 - 3 q1, slack between -1 and 1 */
static void test_fixed_tendon_band(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_JOINT, 0, 2}, {TG_PATH_JOINT, 1, -3}};
    small_model s = two_slides();
    small_tendon(&s, spring_tendon(TG_TENDON_FIXED, path, 2, -1, 1));
    small_build(&s);
    static const struct
    {
        double q[2], v[2], pull;
    } table[] = {
        {{0.2, 0.1}, {0, 0}, 0},                          /* 0.1: slack */
        {{0.5, 0}, {0, 0}, 0},                            /* 1: at the end of the band */
        {{1.5, 0}, {0, 0}, -10 * 2},                      /* 3: too long by 2 */
        {{0, 1.5}, {0, 0}, 10 * 3.5},                     /* -4.5: too short by 3.5 */
        {{0.2, 0.1}, {1, -1}, -2 * (2 + 3)},              /* slack, but damped */
        {{1.5, 0}, {0.5, 0.25}, -10 * 2 - 2 * (1 - 0.75)} /* both */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    {
        const double expected[2] = {2 * table[i].pull, -3 * table[i].pull};
        expect_force(&s, table[i].q, table[i].v, expected, 2);
    }
    small_end(&s);
}

/* sites at (0, 4, 0) and (3 + q0, 0, 0): length 5 and arm 3/5 at q0 = 0, sqrt(80) and 8/sqrt(80) at q0 = 5 */
static void test_spatial_tendon_band(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_SITE, 0, 0}, {TG_PATH_SITE, 1, 0}};
    const struct
    {
        double low, high, q, v, expected;
    } table[] = {
        {4, 6, 0, 0, 0},
        {4, 6, 0, 2, -2 * (0.6 * 2) * 0.6},
        {1, 3, 0, 0, -10 * 2 * 0.6},
        {7, 8, 0, 0, 10 * 2 * 0.6},
        {0, 0, 0, 0, -10 * 5 * 0.6},
        {2, 4, 5, 0, -10 * (sqrt(80) - 4) * 8 / sqrt(80)},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    {
        small_model s = two_slides();
        small_tendon(&s, spring_tendon(TG_TENDON_SPATIAL, path, 2, table[i].low, table[i].high));
        small_build(&s);
        const double q[2] = {table[i].q, 0}, v[2] = {table[i].v, 0}, expected[2] = {table[i].expected, 0};
        expect_force(&s, q, v, expected, 2);
        small_end(&s);
    }
}

/* rest -1 -1: the length where the joint springs are at rest, q = (0.5, 0) */
static void test_rest_from_the_springs(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_SITE, 0, 0}, {TG_PATH_SITE, 1, 0}};
    small_model s = two_slides();
    small_tendon(&s, spring_tendon(TG_TENDON_SPATIAL, path, 2, -1, -1));
    small_build(&s);
    const double q[2] = {0, 0}, v[2] = {0, 0}, expected[2] = {10 * (sqrt(3.5 * 3.5 + 16) - 5) * 0.6, 0};
    expect_force(&s, q, v, expected, 2);
    small_end(&s);
}

/* (0, 4) - first, then through a pulley of 2: first - second: length 5 + 4/2 = 7, arms 3/5 - 1/2 and 1/2 */
static void test_pulley(void **state)
{
    (void)state;
    const tg_path path[] = {
        {TG_PATH_SITE, 0, 0}, {TG_PATH_SITE, 1, 0}, {TG_PATH_PULLEY, 0, 2}, {TG_PATH_SITE, 1, 0}, {TG_PATH_SITE, 2, 0}};
    small_model s = two_slides();
    small_tendon(&s, spring_tendon(TG_TENDON_SPATIAL, path, 5, 0, 6));
    small_build(&s);
    const double q[2] = {0, 0}, v[2] = {1, -3}, rate = 0.1 * 1 - 0.5 * 3, pull = -10 * 1 - 2 * rate;
    const double expected[2] = {0.1 * pull, 0.5 * pull};
    expect_force(&s, q, v, expected, 2);
    small_end(&s);
}

/* a damper alone, and a spring alone */
static void test_one_of_the_two(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_JOINT, 0, 2}};
    const double q = 0.5, v = 3, damper = -2 * (2 * 3) * 2, spring = -10 * 1 * 2;
    for (int i = 0; i < 2; i++)
    {
        small_model s = small_begin();
        small_joint(&s, plain_joint(TG_JOINT_SLIDE, 1, 0, 0), small_body(&s, 0, 0, 0, 1));
        tg_tendon_def def = spring_tendon(TG_TENDON_FIXED, path, 1, 0, 0);
        *(i == 0 ? &def.stiffness : &def.damping) = 0;
        small_tendon(&s, def);
        small_build(&s);
        expect_force(&s, &q, &v, i == 0 ? &damper : &spring, 1);
        small_end(&s);
    }
}

/* Springs and dampers of joints and tendons add up. */
static void test_sum(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_JOINT, 0, 1}};
    small_model s = small_begin();
    tg_joint_def def = sprung(TG_JOINT_SLIDE);
    small_joint(&s, def, small_body(&s, 0, 0, 0, 1));
    small_tendon(&s, spring_tendon(TG_TENDON_FIXED, path, 1, 0, 0));
    small_tendon(&s, spring_tendon(TG_TENDON_FIXED, path, 1, 1, 2));
    small_build(&s);
    const double q = 0.5, v = 1, expected = -20 * 0.5 - 0.5 - 10 * 0.5 - 2 + 10 * 0.5 - 2;
    expect_force(&s, &q, &v, &expected, 1);
    small_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hinge_and_slide),
        cmocka_unit_test(test_ball_joint),
        cmocka_unit_test(test_free_joint),
        cmocka_unit_test(test_none),
        cmocka_unit_test(test_fixed_tendon_band),
        cmocka_unit_test(test_spatial_tendon_band),
        cmocka_unit_test(test_rest_from_the_springs),
        cmocka_unit_test(test_pulley),
        cmocka_unit_test(test_one_of_the_two),
        cmocka_unit_test(test_sum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
