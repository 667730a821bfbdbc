/* Tendons: length by hand and from the poses of the sites, moment arms and their derivative by finite differences. */
#include "dynamics/cable.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "dynamics_test.h"
#include "tangere/read.h"

/* ---- the paths of the model two_trees, written once more ---- */

typedef struct piece
{
    const char *from, *to;
    double divisor;
} piece;

static const piece cable[] = {{"on_post", "on_tip", 1}, {"on_tip", "on_lid", 1}};
static const piece tackle[] = {
    {"on_world", "on_arm", 1}, {"on_arm", "on_crate", 2}, {"on_crate", "on_lid", 2}, {"on_tip", "on_crate", 3}};

static double path_length(const dynamics_case *c, const piece *path, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
    {
        double a[3], b[3];
        check_ok(c, tg_site_pose(c->m, c->w, tg_find(c->m, TG_SITE, path[i].from), a, NULL));
        check_ok(c, tg_site_pose(c->m, c->w, tg_find(c->m, TG_SITE, path[i].to), b, NULL));
        for (int k = 0; k < 3; k++)
            a[k] -= b[k];
        sum += sqrt(dot_n(a, a, 3)) / path[i].divisor;
    }
    return sum;
}

static double coupled_length(const dynamics_case *c)
{
    static const struct
    {
        const char *joint;
        double coef;
    } terms[] = {{"arm_yaw", 0.7}, {"lid_hinge", -1.3}, {"arm_out", 2}};
    double sum = 0;
    for (int i = 0; i < 3; i++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(c->m, tg_find(c->m, TG_JOINT, terms[i].joint), &info, NULL), TG_OK);
        sum += terms[i].coef * c->q[info.q];
    }
    return sum;
}

static void tendons_at(dynamics_case *c, const double *q)
{
    tg_position_stage(c->m, c->w, q);
    tg_tendons(c->m, c->w, q);
}

static double lengths(dynamics_case *c)
{
    tendons_at(c, c->q);
    const double *got = c->w->tendon_length;
    double worst = fabs(got[tg_find(c->m, TG_TENDON, "coupled")] - coupled_length(c));
    worst = worse(worst, fabs(got[tg_find(c->m, TG_TENDON, "cable")] - path_length(c, cable, 2)));
    return worse(worst, fabs(got[tg_find(c->m, TG_TENDON, "tackle")] - path_length(c, tackle, 4)));
}

static void test_lengths(void **state)
{
    (void)state;
    print_message("  worst error %.2g\n", check_model(TG_TEST_TWO_TREES, 50, false, 1e-14, lengths));
}

/* ---- derivatives ---- */

static void moved_tendons(dynamics_case *c, int input, double h)
{
    double *dv = c->moved + c->size.nq;
    memset(dv, 0, sizeof(double) * (size_t)c->size.nv);
    dv[input] = h;
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    tendons_at(c, c->moved);
}

static void moved_lengths(void *context, int input, double h, double *out)
{
    dynamics_case *c = context;
    moved_tendons(c, input, h);
    memcpy(out, c->w->tendon_length, sizeof(double) * (size_t)c->size.ntendon);
}

static double moments(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *J = numbers(nv * (size_t)c->size.ntendon);
    tendons_at(c, c->q);
    for (int t = 0; t < c->size.ntendon; t++)
        memcpy(J + (size_t)t * nv, tg_tendon_moment(c->m, c->w, t), sizeof(double) * nv);
    fd_problem p = {c->size.nv, c->size.ntendon, moved_lengths, c};
    fd_result r = fd_compare(&p, J);
    assert_true(r.largest > 0.1);
    free(J);
    return r.error;
}

static void test_moments(void **state)
{
    (void)state;
    double worst = check_model(TG_TEST_TWO_TREES, 20, false, 1e-9, moments);
    worst = worse(worst, check_model(TG_TEST_EVERYTHING, 20, false, 1e-9, moments));
    print_message("  worst error %.2g\n", worst);
}

typedef struct one_tendon
{
    dynamics_case *c;
    int tendon;
} one_tendon;

static void moved_moment(void *context, int input, double h, double *out)
{
    one_tendon *t = context;
    moved_tendons(t->c, input, h);
    memcpy(out, tg_tendon_moment(t->c->m, t->c->w, t->tendon), sizeof(double) * (size_t)t->c->size.nv);
}

static double hessians(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *H = numbers(nv * nv), worst = 0;
    for (int t = 0; t < c->size.ntendon; t++)
    {
        one_tendon context = {c, t};
        tendons_at(c, c->q);
        memset(H, 0, sizeof(double) * nv * nv);
        memset(c->w->hessian, 0, sizeof(double) * nv * nv); /* written at the tendon's own dofs alone */
        if (tg_tendon_hessian(c->m, c->w, t))
            memcpy(H, c->w->hessian, sizeof(double) * nv * nv);
        fd_problem p = {c->size.nv, c->size.nv, moved_moment, &context};
        worst = worse(worst, fd_compare(&p, H).error);
    }
    free(H);
    return worst;
}

static void test_derivative_of_moments(void **state)
{
    (void)state;
    double worst = check_model(TG_TEST_TWO_TREES, 10, false, 1e-8, hessians);
    worst = worse(worst, check_model(TG_TEST_EVERYTHING, 10, false, 1e-8, hessians));
    print_message("  worst error %.2g\n", worst);
}

static void lengths_along_v(void *context, int input, double t, double *out)
{
    (void)input;
    dynamics_case *c = context;
    double *dv = c->moved + c->size.nq;
    for (int k = 0; k < c->size.nv; k++)
        dv[k] = t * c->v[k];
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    tendons_at(c, c->moved);
    memcpy(out, c->w->tendon_length, sizeof(double) * (size_t)c->size.ntendon);
}

/* the rate is that of the length along v */
static double rates(dynamics_case *c)
{
    double *rate = numbers((size_t)c->size.ntendon);
    tendons_at(c, c->q);
    for (int t = 0; t < c->size.ntendon; t++)
        rate[t] = tg_tendon_rate(c->m, c->w, t, c->v);
    fd_problem p = {1, c->size.ntendon, lengths_along_v, c};
    double error = fd_compare(&p, rate).error;
    free(rate);
    return error;
}

static void test_rates(void **state)
{
    (void)state;
    double worst = check_model(TG_TEST_TWO_TREES, 20, false, 1e-9, rates);
    worst = worse(worst, check_model(TG_TEST_EVERYTHING, 20, false, 1e-9, rates));
    print_message("  worst error %.2g\n", worst);
}

/* ---- by hand: two blocks on rails ---- */

enum
{
    LEFT_SITE, /* at (0, 4, 0) in the world */
    FIRST,     /* block at (3 + q0, 0, 0) */
    SECOND     /* block at (3, 0, 5 + q1), rail along z */
};

static small_model blocks(const tg_path *path, int npath)
{
    small_model s = small_begin();
    int first = small_body(&s, 0, 3, 0, 0), second = small_body(&s, 0, 3, 0, 5);
    small_joint(&s, plain_joint(TG_JOINT_SLIDE, 1, 0, 0), first);
    small_joint(&s, plain_joint(TG_JOINT_SLIDE, 0, 0, 1), second);
    small_site(&s, 0, 0, 4, 0);
    small_site(&s, first, 0, 0, 0);
    small_site(&s, second, 0, 0, 0);
    tg_tendon_def def = tg_default_tendon();
    def.path = path;
    def.npath = npath;
    small_tendon(&s, def);
    small_build(&s);
    return s;
}

static void check_tendon(const tg_path *path, int npath, const double q[2], double length, double arm0, double arm1)
{
    small_model s = blocks(path, npath);
    tg_position_stage(s.m, s.w, q);
    tg_tendons(s.m, s.w, q);
    const double expected[3] = {length, arm0, arm1};
    const double *arms = tg_tendon_moment(s.m, s.w, 0);
    const double got[3] = {s.w->tendon_length[0], arms[0], arms[1]};
    check_numbers(got, expected, 3, 1e-14);
    small_end(&s);
}

static void test_by_hand(void **state)
{
    (void)state;
    const double rest[2] = {0, 0};
    const tg_path one[] = {{TG_PATH_SITE, LEFT_SITE, 0}, {TG_PATH_SITE, FIRST, 0}}; /* 3, 4, 5 */
    check_tendon(one, 2, rest, 5, 3. / 5, 0);
    const double farther[2] = {5, 0}; /* sqrt(64 + 16) */
    check_tendon(one, 2, farther, sqrt(80), 8 / sqrt(80), 0);
    const tg_path two[] = {{TG_PATH_SITE, LEFT_SITE, 0}, {TG_PATH_SITE, FIRST, 0}, {TG_PATH_SITE, SECOND, 0}};
    check_tendon(two, 3, rest, 10, 3. / 5, 1);
    /* a pulley: the second branch counts half */
    const tg_path pulley[] = {{TG_PATH_SITE, LEFT_SITE, 0},
                              {TG_PATH_SITE, FIRST, 0},
                              {TG_PATH_PULLEY, 0, 2},
                              {TG_PATH_SITE, FIRST, 0},
                              {TG_PATH_SITE, SECOND, 0}};
    check_tendon(pulley, 5, rest, 5 + 5. / 2, 3. / 5, 1. / 2);
    /* a pulley at the start divides all that follows, until the next */
    const tg_path pulleys[] = {{TG_PATH_PULLEY, 0, 4}, {TG_PATH_SITE, LEFT_SITE, 0}, {TG_PATH_SITE, FIRST, 0},
                               {TG_PATH_PULLEY, 0, 2}, {TG_PATH_SITE, FIRST, 0},     {TG_PATH_SITE, SECOND, 0}};
    check_tendon(pulleys, 6, rest, 5. / 4 + 5. / 2, 3. / 20, 1. / 2);
}

/* Two sites at one place: no length, no direction, no pull, and no NaN. */
static void test_no_length(void **state)
{
    (void)state;
    const tg_path path[] = {{TG_PATH_SITE, LEFT_SITE, 0}, {TG_PATH_SITE, FIRST, 0}, {TG_PATH_SITE, SECOND, 0}};
    const double q[2] = {0, -5}; /* the second block stands on the first */
    check_tendon(path, 3, q, 5, 3. / 5, 0);
}

/* Straight from site to site between free bodies, one of them by a body welded to it, and to the world, both ways: what
 * is written in closed form, and what is not (a welded site, a body with a joint more). */
static const char *const cables =
    "<mujoco><worldbody><site name='post' pos='0.3 -0.2 1.5'/>"
    "<body name='a' pos='0 0 1'><freejoint/><geom size='0.1' mass='1'/><site name='a' pos='0.1 0.2 -0.3'/>"
    "  <body name='lid' pos='0.2 -0.1 0.4' euler='30 40 50'><geom size='0.1' mass='2'/>"
    "    <site name='lid' pos='-0.3 0.1 0.2'/></body></body>"
    "<body name='b' pos='1 0 1'><freejoint/><geom type='capsule' size='0.1 0.3' mass='1'/>"
    "  <site name='b' pos='0.05 -0.1 0.3'/></body>"
    "<body name='c' pos='0 1 1'><freejoint/><geom size='0.1' mass='1'/><site name='c' pos='0.1 0 0.1'/>"
    "  <body pos='0 0 0.3'><joint axis='0 1 0'/><geom size='0.1' mass='1'/><site name='tip' pos='0 0 "
    "0.2'/></body></body>"
    "</worldbody><tendon>"
    "<spatial name='free' stiffness='9' damping='2'><site site='a'/><site site='b'/></spatial>"
    "<spatial name='welded' stiffness='9'><site site='lid'/><site site='b'/></spatial>"
    "<spatial name='hung' stiffness='9'><site site='post'/><site site='b'/></spatial>"
    "<spatial name='down' stiffness='9'><site site='a'/><site site='post'/></spatial>"
    "<spatial name='jointed' stiffness='9'><site site='c'/><site site='tip'/></spatial>"
    "<spatial name='own' stiffness='9'><site site='a'/><site site='lid'/></spatial></tendon></mujoco>";

static void test_cables(void **state)
{
    (void)state;
    static const bool closed[] = {true, false, true, true, false, false};
    tg_model *m = NULL;
    tg_error error;
    if (tg_load_string(cables, strlen(cables), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    for (int t = 0; t < 6; t++)
        assert_true((tg_cable_ends(m, t) != NULL) == closed[t]);
    dynamics_case *c = dynamics_case_create(m);
    double worst = 0, worst_hessian = 0;
    for (unsigned s = 0; s < 20; s++)
    {
        dynamics_case_randomise(c, 2000 + s);
        worst = worse(worst, moments(c));
        worst_hessian = worse(worst_hessian, hessians(c));
        tendons_at(c, c->q);
        for (int t = 0; t < 6; t++) /* the dot product by runs and by all dofs */
        {
            double rate = dot_n(tg_tendon_moment(m, c->w, t), c->v, c->size.nv);
            assert_true(fabs(tg_tendon_rate(m, c->w, t, c->v) - rate) < 1e-13 * (1 + fabs(rate)));
        }
    }
    print_message("  worst error %.2g, of the second derivative %.2g\n", worst, worst_hessian);
    assert_true(worst < 1e-9 && worst_hessian < 1e-8);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

/* dq, dv of a force f along a tendon, with its second derivative as a matrix: moment_j f(length, moment . x) */
static void with_hessian(dynamics_case *c, int tendon, tg_slopes f, double *dq, double *dv)
{
    int nv = c->m->nv;
    const double *moment = tg_tendon_moment(c->m, c->w, tendon);
    assert_true(tg_tendon_hessian(c->m, c->w, tendon));
    memset(dq, 0, sizeof(double) * (size_t)nv * (size_t)nv);
    memset(dv, 0, sizeof(double) * (size_t)nv * (size_t)nv);
    for (int i = 0; i < c->m->tendon_ndof[tendon]; i++)
        for (int j = 0; j < c->m->tendon_ndof[tendon]; j++)
        {
            int row = tg_tendon_dofs(c->m, tendon)[i], column = tg_tendon_dofs(c->m, tendon)[j];
            double turned = 0;
            for (int k = 0; k < c->m->tendon_ndof[tendon]; k++)
            {
                int dof = tg_tendon_dofs(c->m, tendon)[k];
                turned += c->w->hessian[dof * nv + column] * c->v[dof];
            }
            dq[row * nv + column] = f.force * c->w->hessian[row * nv + column] +
                                    moment[row] * (f.length * moment[column] + f.rate * turned);
            dv[row * nv + column] = f.rate * moment[row] * moment[column];
        }
}

/* The closed form of cables, beside the form with matrices that all tendons have. */
static void test_cable_derivatives(void **state)
{
    (void)state;
    tg_model *m = NULL;
    tg_error error;
    if (tg_load_string(cables, strlen(cables), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    dynamics_case *c = dynamics_case_create(m);
    size_t n = (size_t)m->nv * (size_t)m->nv;
    double *expected = calloc(4 * n, sizeof(double)), *got = expected + 2 * n, worst = 0;
    const tg_slopes f = {2.3, -1.1, -0.7};
    for (unsigned s = 0; s < 20; s++)
        for (int t = 0; t < m->ntendon; t++)
        {
            dynamics_case_randomise(c, 3000 + s);
            tendons_at(c, c->q);
            if (tg_cable_ends(m, t) == NULL)
                continue;
            with_hessian(c, t, f, expected, expected + n);
            assert_true(dot_n(expected, expected, (int)n) > 1);
            memset(got, 0, 2 * n * sizeof(double));
            tg_cable_derivatives(m, c->w, t, f, c->v, got, got + n);
            for (size_t i = 0; i < 2 * n; i++)
                worst = worse(worst, fabs(got[i] - expected[i]));
        }
    print_message("  worst error %.2g\n", worst);
    assert_true(worst < 1e-13);
    free(expected);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_moments),
        cmocka_unit_test(test_derivative_of_moments),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_no_length),
        cmocka_unit_test(test_cables),
        cmocka_unit_test(test_cable_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
