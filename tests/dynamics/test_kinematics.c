/* Poses, velocities and accelerations of bodies against a plain reference; what is accepted as q; staleness. */
#include "dynamics_test.h"
#include "support/reference.h"
#include "tangere/algebra.h"

/* the same rotation: q or -q */
static double quat_distance(const double *a, const double *b)
{
    double minus[4] = {-b[0], -b[1], -b[2], -b[3]};
    return fmin(distance(a, b, 4), distance(a, minus, 4));
}

static double frame_error(const double *pos, const double *quat, const double *right_pos, const double *right_quat)
{
    double scale = fmax(1, largest(right_pos, 3));
    return fmax(distance(pos, right_pos, 3) / scale, quat_distance(quat, right_quat));
}

static double pose_error(const dynamics_case *c, const reference *r, const reference_body *motion)
{
    static const double origin[3] = {0, 0, 0};
    double worst = 0, pos[3], quat[4], right_pos[3], right_quat[4];
    for (int i = 0; i < c->size.nbody; i++)
    {
        check_ok(c, tg_body_pose(c->m, c->w, i, pos, quat));
        reference_frame(&motion[i], origin, NULL, right_pos, right_quat);
        worst = worse(worst, frame_error(pos, quat, right_pos, right_quat));
    }
    for (int i = 0; i < c->size.nsite; i++)
    {
        check_ok(c, tg_site_pose(c->m, c->w, i, pos, quat));
        reference_frame(&motion[tg_site_body(c->m, i)], reference_param(r, TG_SITE, i, "pos"),
                        reference_param(r, TG_SITE, i, "quat"), right_pos, right_quat);
        worst = worse(worst, frame_error(pos, quat, right_pos, right_quat));
    }
    for (int i = 0; i < c->size.ngeom; i++)
    {
        tg_geom_info info;
        assert_int_equal(tg_geom_get(c->m, i, &info, NULL), TG_OK);
        check_ok(c, tg_geom_pose(c->m, c->w, i, pos, quat));
        reference_frame(&motion[info.body], reference_param(r, TG_GEOM, i, "pos"),
                        reference_param(r, TG_GEOM, i, "quat"), right_pos, right_quat);
        worst = worse(worst, frame_error(pos, quat, right_pos, right_quat));
    }
    return worst;
}

/* Poses at the case's state against the reference. */
static double poses(dynamics_case *c)
{
    reference *r = reference_create(c->m, tg_params_view(c->params));
    reference_body *motion = calloc((size_t)c->size.nbody, sizeof *motion);
    reference_motion(r, c->q, NULL, NULL, motion);
    check_ok(c, tg_kinematics(c->m, c->w, c->q, NULL));
    double error = pose_error(c, r, motion);
    free(motion);
    reference_destroy(r);
    return error;
}

static void test_poses(void **state)
{
    (void)state;
    check_models(20, false, 1e-14, poses);
}

/* quaternions of a norm that is a little off are normalised */
static double poses_unnormalised(dynamics_case *c)
{
    for (int j = 0; j < c->size.njoint; j++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(c->m, j, &info, NULL), TG_OK);
        if (info.type == TG_JOINT_HINGE || info.type == TG_JOINT_SLIDE)
            continue;
        int at = info.q + (info.type == TG_JOINT_FREE ? 3 : 0);
        for (int i = 0; i < 4; i++)
            c->q[at + i] *= j % 2 == 0 ? 1 + 0.9e-3 : 1 - 0.9e-3;
    }
    return poses(c);
}

static void test_unnormalised_quaternions(void **state)
{
    (void)state;
    check_models(10, false, 1e-14, poses_unnormalised);
}

/* hinges that have turned very often: up to 1e6 rad by the fast sine, beyond by the C library's */
static double poses_far(dynamics_case *c)
{
    static const double turns[] = {1e3, -1e5, 0.999999e6, 1e6, -1.000001e6, 3e7, 1e12, -1e300};
    for (int j = 0; j < c->size.njoint; j++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(c->m, j, &info, NULL), TG_OK);
        if (info.type == TG_JOINT_HINGE)
            c->q[info.q] += turns[j % 8];
    }
    return poses(c);
}

static void test_long_angles(void **state)
{
    (void)state;
    check_models(10, false, 1e-14, poses_far);
}

/* Velocity and acceleration at a = 0 of a random point of every body: J v and (dJ/dt) v. */
static double motions(dynamics_case *c)
{
    reference *r = reference_create(c->m, tg_params_view(c->params));
    reference_body *motion = calloc((size_t)c->size.nbody, sizeof *motion);
    reference_motion(r, c->q, c->v, NULL, motion);
    check_ok(c, tg_kinematics(c->m, c->w, c->q, c->v));
    double worst = 0;
    unsigned seed = 3;
    for (int i = 0; i < c->size.nbody; i++)
    {
        double point[3], got[6], rate[6], right[6], right_rate[6];
        for (int k = 0; k < 3; k++)
            point[k] = test_uniform(&seed);
        check_ok(c, tg_body_velocity(c->m, c->w, i, point, TG_FRAME_ALIGNED, got));
        check_ok(c, tg_body_jacobian_dot_v(c->m, c->w, i, point, TG_FRAME_ALIGNED, rate));
        reference_point(&motion[i], point, right, right_rate);
        for (int k = 0; k < 3; k++)
        {
            right[3 + k] = (double)motion[i].omega[k];
            right_rate[3 + k] = (double)motion[i].alpha[k];
        }
        worst = worse(worst, distance(got, right, 6) / fmax(1, largest(right, 6)));
        worst = worse(worst, distance(rate, right_rate, 6) / fmax(1, largest(right_rate, 6)));
    }
    free(motion);
    reference_destroy(r);
    return worst;
}

static void test_velocities_and_accelerations(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, motions);
}

/* ---- what is not accepted ---- */

static void test_quaternion_norms(void **state)
{
    (void)state;
    static const struct
    {
        double norm;
        tg_status status;
    } table[] = {{1, TG_OK},
                 {1 + 0.99e-3, TG_OK},
                 {1 - 0.99e-3, TG_OK},
                 {1 + 1.01e-3, TG_ERR_VALUE},
                 {1 - 1.01e-3, TG_ERR_VALUE},
                 {0.5, TG_ERR_VALUE},
                 {0, TG_ERR_VALUE},
                 {1e200, TG_ERR_VALUE}};
    tg_model *m = tg_test_model(TG_TEST_TWO_TREES);
    dynamics_case *c = dynamics_case_create(m);
    int joint = tg_find(m, TG_JOINT, "tip_ball");
    tg_joint_info info;
    assert_int_equal(tg_joint_get(m, joint, &info, NULL), TG_OK);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    {
        dynamics_case_randomise(c, 1);
        for (int k = 0; k < 4; k++)
            c->q[info.q + k] *= table[i].norm;
        assert_int_equal(tg_kinematics(m, c->w, c->q, NULL), table[i].status);
    }
    assert_non_null(strstr(tg_work_message(c->w), "quaternion"));
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

/* Every query of positions, then of velocities. */
static void expect_queries(dynamics_case *c, tg_status position, tg_status velocity)
{
    double *out = numbers(6 * (size_t)c->size.nv);
    assert_int_equal(tg_body_pose(c->m, c->w, 1, out, NULL), position);
    assert_int_equal(tg_site_pose(c->m, c->w, 0, out, NULL), position);
    assert_int_equal(tg_geom_pose(c->m, c->w, 0, out, NULL), position);
    assert_int_equal(tg_body_jacobian(c->m, c->w, 1, NULL, TG_FRAME_WORLD, out), position);
    assert_int_equal(tg_site_jacobian(c->m, c->w, 0, TG_FRAME_WORLD, out), position);
    assert_int_equal(tg_body_velocity(c->m, c->w, 1, NULL, TG_FRAME_WORLD, out), velocity);
    assert_int_equal(tg_body_jacobian_dot_v(c->m, c->w, 1, NULL, TG_FRAME_WORLD, out), velocity);
    free(out);
}

static void test_staleness(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    dynamics_case *c = dynamics_case_create(m);
    dynamics_case_randomise(c, 1);
    expect_queries(c, TG_ERR_STALE, TG_ERR_STALE);
    assert_non_null(strstr(tg_work_message(c->w), "tg_kinematics"));
    check_ok(c, tg_kinematics(m, c->w, c->q, NULL));
    expect_queries(c, TG_OK, TG_ERR_STALE);
    check_ok(c, tg_kinematics(m, c->w, c->q, c->v));
    expect_queries(c, TG_OK, TG_OK);
    check_ok(c, tg_work_set_params(c->w, NULL));
    expect_queries(c, TG_ERR_STALE, TG_ERR_STALE);
    check_ok(c, tg_work_set_params(c->w, c->params));
    check_ok(c, tg_kinematics(m, c->w, c->q, c->v));
    tg_params_data(c->params);
    expect_queries(c, TG_ERR_STALE, TG_ERR_STALE);
    assert_int_equal(tg_params_changed(c->params, NULL), TG_OK);
    expect_queries(c, TG_ERR_STALE, TG_ERR_STALE); /* poses of other parameters */
    assert_non_null(strstr(tg_work_message(c->w), "parameters"));
    check_ok(c, tg_kinematics(m, c->w, c->q, c->v));
    expect_queries(c, TG_OK, TG_OK);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

/* A function that takes q leaves its own poses behind; a refused one leaves those of before. */
static void test_whose_poses(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_HUMANOID);
    dynamics_case *c = dynamics_case_create(m);
    double before[3], after[3], again[3], *tau = numbers((size_t)c->size.nv);
    dynamics_case_randomise(c, 1);
    check_ok(c, tg_kinematics(m, c->w, c->q, NULL));
    check_ok(c, tg_body_pose(m, c->w, 5, before, NULL));
    dynamics_case_randomise(c, 2);
    check_ok(c, tg_rnea(m, c->w, c->q, c->v, c->a, tau));
    check_ok(c, tg_body_pose(m, c->w, 5, after, NULL));
    check_ok(c, tg_kinematics(m, c->w, c->q, NULL));
    check_ok(c, tg_body_pose(m, c->w, 5, again, NULL));
    assert_memory_equal(after, again, sizeof after);
    assert_true(distance(before, after, 3) > 1e-3);
    c->q[0] = NAN;
    assert_int_equal(tg_kinematics(m, c->w, c->q, NULL), TG_ERR_VALUE);
    check_ok(c, tg_body_pose(m, c->w, 5, again, NULL));
    assert_memory_equal(after, again, sizeof after);
    free(tau);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_poses),
        cmocka_unit_test(test_unnormalised_quaternions),
        cmocka_unit_test(test_long_angles),
        cmocka_unit_test(test_velocities_and_accelerations),
        cmocka_unit_test(test_quaternion_norms),
        cmocka_unit_test(test_staleness),
        cmocka_unit_test(test_whose_poses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
