/* Jacobians of bodies and sites in all frames against finite differences of poses, J v, and (dJ/dt) v. */
#include "dynamics_test.h"
#include "tangere/algebra.h"

/* One frame fixed in a body: a body with a point, or a site. */
typedef struct moving_frame
{
    dynamics_case *c;
    int body, site; /* site: -1 for a body */
    const double *point;
    tg_frame frame;
    double pos[3], quat[4]; /* at the undisplaced q */
} moving_frame;

static void place_frame(moving_frame *f, const double *q, double pos[3], double quat[4])
{
    dynamics_case *c = f->c;
    check_ok(c, tg_kinematics(c->m, c->w, q, NULL));
    if (f->site >= 0)
    {
        check_ok(c, tg_site_pose(c->m, c->w, f->site, pos, quat));
        return;
    }
    check_ok(c, tg_body_pose(c->m, c->w, f->body, pos, quat));
    double arm[3];
    tg_quat_rotate(quat, f->point, arm);
    for (int i = 0; i < 3; i++)
        pos[i] += arm[i];
}

/* Position, and the rotation vector from the undisplaced orientation, in the axes of the frame asked for. The
 * displacements are small, so that to first order rotation vectors add, and second-order terms cancel in central
 * differences. */
static void displaced_frame(void *context, int input, double h, double *out)
{
    moving_frame *f = context;
    dynamics_case *c = f->c;
    double *dv = c->moved + c->size.nq, pos[3], quat[4], turn[3];
    memset(dv, 0, sizeof(double) * (size_t)c->size.nv);
    dv[input] = h;
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    place_frame(f, c->moved, pos, quat);
    for (int i = 0; i < 3; i++)
        pos[i] -= f->pos[i];
    tg_quat_difference(f->quat, quat, turn); /* body axes */
    if (f->frame == TG_FRAME_LOCAL)
        tg_quat_rotate_inverse(f->quat, pos, out);
    else
        memcpy(out, pos, sizeof pos);
    if (f->frame == TG_FRAME_LOCAL)
        memcpy(out + 3, turn, sizeof turn);
    else
        tg_quat_rotate(f->quat, turn, out + 3);
}

static double jacobian_error(moving_frame *f)
{
    dynamics_case *c = f->c;
    double *J = numbers(6 * (size_t)c->size.nv);
    memset(J, 0xff, sizeof(double) * 6 * (size_t)c->size.nv);
    place_frame(f, c->q, f->pos, f->quat);
    if (f->site >= 0)
        check_ok(c, tg_site_jacobian(c->m, c->w, f->site, f->frame, J));
    else
        check_ok(c, tg_body_jacobian(c->m, c->w, f->body, f->point, f->frame, J));
    fd_problem p = {c->size.nv, 6, displaced_frame, f};
    fd_result r = fd_compare(&p, J);
    free(J);
    return r.error;
}

static double jacobians(dynamics_case *c)
{
    double worst = 0;
    unsigned seed = 5;
    for (int frame = TG_FRAME_LOCAL; frame <= TG_FRAME_ALIGNED; frame += TG_FRAME_ALIGNED - TG_FRAME_LOCAL)
    {
        for (int i = 0; i < c->size.nbody; i++)
        {
            double point[3] = {test_uniform(&seed), test_uniform(&seed), test_uniform(&seed)};
            moving_frame f = {.c = c, .body = i, .site = -1, .point = point, .frame = (tg_frame)frame};
            worst = worse(worst, jacobian_error(&f));
        }
        for (int i = 0; i < c->size.nsite; i++)
        {
            moving_frame f = {.c = c, .site = i, .frame = (tg_frame)frame};
            worst = worse(worst, jacobian_error(&f));
        }
    }
    return worst;
}

static void test_against_differences(void **state)
{
    (void)state;
    check_models(3, false, 1e-9, jacobians);
}

/* TG_FRAME_WORLD is the Jacobian of the point of the body that is at the world's origin now; no point means the
 * origin of the body; the world itself does not move. */
static double frames(dynamics_case *c)
{
    size_t n = 6 * (size_t)c->size.nv;
    double *J = numbers(n), *K = numbers(n), worst = 0;
    static const double zero[3] = {0, 0, 0};
    check_ok(c, tg_kinematics(c->m, c->w, c->q, NULL));
    for (int i = 0; i < c->size.nbody; i++)
    {
        double pos[3], quat[4], point[3];
        check_ok(c, tg_body_pose(c->m, c->w, i, pos, quat));
        tg_quat_rotate_inverse(quat, pos, point);
        for (int k = 0; k < 3; k++)
            point[k] = -point[k];
        check_ok(c, tg_body_jacobian(c->m, c->w, i, NULL, TG_FRAME_WORLD, J));
        check_ok(c, tg_body_jacobian(c->m, c->w, i, point, TG_FRAME_ALIGNED, K));
        worst = worse(worst, distance(J, K, n) / fmax(1, largest(K, n)));
        if (i == 0)
            assert_true(largest(J, n) == 0);
        for (int frame = TG_FRAME_LOCAL; frame <= TG_FRAME_ALIGNED; frame += 2)
        {
            check_ok(c, tg_body_jacobian(c->m, c->w, i, NULL, (tg_frame)frame, J));
            check_ok(c, tg_body_jacobian(c->m, c->w, i, zero, (tg_frame)frame, K));
            worst = worse(worst, distance(J, K, n));
        }
    }
    for (int i = 0; i < c->size.nsite; i++)
    {
        check_ok(c, tg_site_jacobian(c->m, c->w, i, TG_FRAME_WORLD, J));
        check_ok(c, tg_body_jacobian(c->m, c->w, tg_site_body(c->m, i), NULL, TG_FRAME_WORLD, K));
        worst = worse(worst, distance(J, K, n));
    }
    free(J);
    free(K);
    return worst;
}

static void test_frames(void **state)
{
    (void)state;
    check_models(10, false, 1e-14, frames);
}

static double velocities(dynamics_case *c)
{
    double *J = numbers(6 * (size_t)c->size.nv), worst = 0, twist[6], product[6];
    unsigned seed = 11;
    check_ok(c, tg_kinematics(c->m, c->w, c->q, c->v));
    for (int i = 0; i < c->size.nbody; i++)
        for (int frame = TG_FRAME_LOCAL; frame <= TG_FRAME_ALIGNED; frame++)
        {
            double point[3] = {test_uniform(&seed), test_uniform(&seed), test_uniform(&seed)};
            const double *at = frame == TG_FRAME_WORLD ? NULL : point;
            check_ok(c, tg_body_jacobian(c->m, c->w, i, at, (tg_frame)frame, J));
            check_ok(c, tg_body_velocity(c->m, c->w, i, at, (tg_frame)frame, twist));
            multiply_matrix(J, c->v, 6, c->size.nv, product);
            worst = worse(worst, distance(twist, product, 6) / fmax(1, largest(product, 6)));
        }
    free(J);
    return worst;
}

static void test_velocity_is_jacobian_times_v(void **state)
{
    (void)state;
    check_models(10, false, 1e-14, velocities);
}

/* J(q + t v) v as a function of t */
static void along_v(void *context, int input, double t, double *out)
{
    (void)input;
    moving_frame *f = context;
    dynamics_case *c = f->c;
    double *dv = c->moved + c->size.nq;
    for (int k = 0; k < c->size.nv; k++)
        dv[k] = t * c->v[k];
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    check_ok(c, tg_kinematics(c->m, c->w, c->moved, c->v));
    check_ok(c, tg_body_velocity(c->m, c->w, f->body, f->point, f->frame, out));
}

static double jacobian_rates(dynamics_case *c)
{
    double worst = 0, rate[6];
    unsigned seed = 17;
    for (int i = 0; i < c->size.nbody; i++)
        for (int frame = TG_FRAME_LOCAL; frame <= TG_FRAME_ALIGNED; frame++)
        {
            double point[3] = {test_uniform(&seed), test_uniform(&seed), test_uniform(&seed)};
            const double *at = frame == TG_FRAME_WORLD ? NULL : point;
            moving_frame f = {.c = c, .body = i, .point = at, .frame = (tg_frame)frame};
            check_ok(c, tg_kinematics(c->m, c->w, c->q, c->v));
            check_ok(c, tg_body_jacobian_dot_v(c->m, c->w, i, at, (tg_frame)frame, rate));
            fd_problem p = {1, 6, along_v, &f};
            worst = worse(worst, fd_compare(&p, rate).error);
        }
    return worst;
}

static void test_jacobian_rate_times_v(void **state)
{
    (void)state;
    check_models(5, false, 1e-9, jacobian_rates);
}

/* the twist at q (+) t e_input; a site where body is negative */
static void along_dof(void *context, int input, double t, double *out)
{
    moving_frame *f = context;
    dynamics_case *c = f->c;
    double *dv = c->moved + c->size.nq;
    for (int k = 0; k < c->size.nv; k++)
        dv[k] = k == input ? t : 0;
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    check_ok(c, tg_kinematics(c->m, c->w, c->moved, c->v));
    if (f->body < 0)
        check_ok(c, tg_site_velocity(c->m, c->w, f->site, f->frame, out));
    else
        check_ok(c, tg_body_velocity(c->m, c->w, f->body, f->point, f->frame, out));
}

static double velocity_derivatives(dynamics_case *c)
{
    double worst = 0, *D = numbers(6 * (size_t)c->size.nv);
    unsigned seed = 23;
    for (int i = -c->size.nsite; i < c->size.nbody; i++)
        for (int frame = TG_FRAME_LOCAL; frame <= TG_FRAME_ALIGNED; frame++)
        {
            double point[3] = {test_uniform(&seed), test_uniform(&seed), test_uniform(&seed)};
            moving_frame f = {.c = c, .body = i, .site = -1 - i, .frame = (tg_frame)frame};
            f.point = frame == TG_FRAME_WORLD ? NULL : point;
            check_ok(c, tg_kinematics(c->m, c->w, c->q, c->v));
            if (i < 0)
                check_ok(c, tg_site_velocity_derivative(c->m, c->w, f.site, f.frame, D));
            else
                check_ok(c, tg_body_velocity_derivative(c->m, c->w, i, f.point, f.frame, D));
            fd_problem p = {c->size.nv, 6, along_dof, &f};
            worst = worse(worst, fd_compare(&p, D).error);
        }
    free(D);
    return worst;
}

static void test_velocity_derivatives(void **state)
{
    (void)state;
    check_models(2, false, 1e-9, velocity_derivatives);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_differences),          cmocka_unit_test(test_frames),
        cmocka_unit_test(test_velocity_is_jacobian_times_v), cmocka_unit_test(test_jacobian_rate_times_v),
        cmocka_unit_test(test_velocity_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
