/* Steps of Cartesian systems: closed forms, constraints, energy, no memory in a step, threads, refusals. */
#include "support/heap_watch.h"

#include "cartesian/cartesian_test.h"

/* A ball of mass m thrown at a wall with speed u, depth 0 to rounding: v+ = e u; with eps u (a e - eps) / (a + eps). */
static double bounce(double m, double u, double e, double eps, double depth)
{
    tg_cartesian_body body = {1, m, {0}};
    tg_cartesian_contact contact = {.kind = TG_CARTESIAN_WALL, .radius = 0.1, .normal = {0, 1}};
    double mu = 0, v1[2], x[2] = {0, 0.1 - depth}, v[2] = {0.3, -u};
    int contacts;
    tg_cartesian_def def = {.name = "ball",
                            .dim = 2,
                            .bodies = 1,
                            .contacts = 1,
                            .types = 1,
                            .body = &body,
                            .contact = &contact,
                            .mu = &mu,
                            .e = &e,
                            .eps = eps};
    fixture f = {0};
    finish_fixture(&f, &def, tg_cartesian_default_options());
    assert_int_equal(tg_cartesian_jump(f.w, 1, NULL, x, v, v1, &contacts, NULL), TG_OK);
    assert_int_equal(contacts, depth > 1e-12);
    assert_true(fabs(v1[0] - 0.3) < 1e-12);
    free_fixture(&f);
    return v1[1];
}

static void one_ball(void **state)
{
    (void)state;
    assert_true(fabs(bounce(0.3, 2, 0.6, 0, 1e-9) - 1.2) < 1e-10);
    assert_true(fabs(bounce(0.3, 2, 0.6, 0.01, 1e-9) - 1.1904287138) < 1e-9);
    assert_true(fabs(bounce(0.3, 2, 0.6, 0, 0.12) - 1.5) < 1e-10); /* depth / (8 dt) */
    assert_true(fabs(bounce(0.3, 2, 0.6, 0, 0) + 2) < 1e-15);      /* touching exactly is apart */
}

static void all_contacts_are_met(void **state)
{
    (void)state;
    fixture f = three_bodies(0.5, 0.6, 0, 0);
    double v1[64], residual;
    int contacts;
    assert_int_equal(tg_cartesian_jump(f.w, 1, NULL, f.x, f.v, v1, &contacts, &residual), TG_OK);
    assert_int_equal(contacts, 4);
    assert_true(residual < 1e-12);
    free_fixture(&f);
}

/* A rigid body that turns freely keeps its energy to the order of the integrator, and its constraints. */
static double drift(int steps, double time, tg_cartesian_integrator integrator, int hamiltonian)
{
    tg_cartesian_body body = {3, 0.2, {0.25, 0.25}};
    tg_cartesian_constraint q[3] = {
        {.i = 0, .j = 1, .length = 1}, {.i = 0, .j = 2, .length = 1}, {.i = 1, .j = 2, .length = sqrt(2)}};
    tg_cartesian_def def = {
        .name = "free", .dim = 2, .bodies = 1, .constraints = 3, .body = &body, .constraint = q, .gravity = {0, -9.81}};
    tg_cartesian_options options = tg_cartesian_default_options();
    options.dt = time / steps;
    options.integrator = integrator;
    options.hamiltonian = hamiltonian;
    fixture f = {0};
    finish_fixture(&f, &def, options);
    double x[6] = {0, 0, 1, 0, 0, 1}, v[6] = {1, 2, 1, 5, -2, 2}, energy[2][2], states[2000 * 12], violation;
    assert_true(steps < 2000);
    assert_int_equal(tg_cartesian_rollout(f.w, 1, steps, NULL, x, v, states, NULL, NULL), TG_OK);
    assert_int_equal(tg_cartesian_energy(f.w, 1, NULL, x, v, energy[0], &violation), TG_OK);
    assert_true(violation < 1e-15);
    assert_int_equal(
        tg_cartesian_energy(f.w, 1, NULL, states + 12 * steps, states + 12 * steps + 6, energy[1], &violation), TG_OK);
    free_fixture(&f);
    return fabs(energy[1][0] + energy[1][1] - energy[0][0] - energy[0][1]) + violation;
}

static void integrators_have_their_order(void **state)
{
    (void)state;
    for (int hamiltonian = 0; hamiltonian < 2; hamiltonian++)
    {
        double ratio = drift(50, 1, TG_CARTESIAN_RK38, hamiltonian) / drift(100, 1, TG_CARTESIAN_RK38, hamiltonian);
        assert_true(ratio > 12);
        ratio = drift(50, 1, TG_CARTESIAN_RK4, hamiltonian) / drift(100, 1, TG_CARTESIAN_RK4, hamiltonian);
        assert_true(ratio > 12);
        ratio = drift(400, 1, TG_CARTESIAN_EULER, hamiltonian) / drift(800, 1, TG_CARTESIAN_EULER, hamiltonian);
        assert_true(ratio > 1.7 && ratio < 2.5);
    }
}

enum
{
    COUNT = 12,
    STEPS = 8
};

static double many_x[COUNT * 14], many_v[COUNT * 14], states[COUNT * (STEPS + 1) * 28], bar[COUNT * (STEPS + 1) * 28];
static double x_bar[COUNT * 14], v_bar[COUNT * 14], params_bar[COUNT * 16], other[COUNT * (STEPS + 1) * 28];

static void many(const fixture *f)
{
    for (int i = 0; i < COUNT; i++)
        for (int k = 0; k < 14; k++)
        {
            many_x[14 * i + k] = f->x[k];
            many_v[14 * i + k] = f->v[k] * (1 + 0.03 * i);
        }
}

static void nothing_is_allocated(void **state)
{
    (void)state;
    fixture f = three_bodies(0.5, 0.6, 0, 0);
    many(&f);
    for (size_t k = 0; k < sizeof bar / sizeof *bar; k++)
        bar[k] = 1;
    heap.asked = 0;
    heap.armed = true;
    tg_status a = tg_cartesian_rollout(f.w, COUNT, STEPS, NULL, many_x, many_v, states, NULL, NULL);
    tg_status b = tg_cartesian_rollout_vjp(f.w, COUNT, STEPS, NULL, states, bar, x_bar, v_bar, params_bar);
    heap.armed = false;
    assert_int_equal(a, TG_OK);
    assert_int_equal(b, TG_OK);
    assert_int_equal(heap.asked, 0);
    free_fixture(&f);
}

/* Bit by bit the same alone as among others, over two threads. */
static void samples_do_not_see_each_other(void **state)
{
    (void)state;
    fixture f = three_bodies(0.5, 0.6, 0, 0);
    many(&f);
    assert_int_equal(tg_cartesian_rollout(f.w, COUNT, STEPS, NULL, many_x, many_v, states, NULL, NULL), TG_OK);
    for (int i = 0; i < COUNT; i++)
    {
        int size = (STEPS + 1) * 28;
        assert_int_equal(tg_cartesian_rollout(f.w, 1, STEPS, NULL, many_x + 14 * i, many_v + 14 * i, other, NULL, NULL),
                         TG_OK);
        assert_memory_equal(other, states + i * size, sizeof *other * (size_t)size);
    }
    free_fixture(&f);
}

static void refusals(void **state)
{
    (void)state;
    fixture f = three_bodies(0.5, 0.6, 0, 0);
    many(&f);
    many_v[14 * 5 + 3] = NAN;
    assert_int_equal(tg_cartesian_rollout(f.w, COUNT, STEPS, NULL, many_x, many_v, states, NULL, NULL), TG_ERR_VALUE);
    assert_non_null(
        strstr(tg_cartesian_message(f.w), "three bodies: trajectory 5: row 1 of v (point 1, coordinate 1) is nan"));
    double params[32];
    memcpy(params, tg_cartesian_params(f.c), sizeof *params * (size_t)f.size.params);
    params[1] = -2;
    assert_int_equal(tg_cartesian_rollout(f.w, 1, STEPS, params, f.x, f.v, states, NULL, NULL), TG_ERR_VALUE);
    assert_non_null(strstr(tg_cartesian_message(f.w), "row 1 of params (mass) is -2"));
    free_fixture(&f);
    tg_cartesian_body body = {1, -1, {0}};
    tg_cartesian_def def = {.name = "bad", .dim = 2, .bodies = 1, .body = &body};
    tg_error error;
    tg_cartesian *c = NULL;
    assert_int_equal(tg_cartesian_create(&def, NULL, &c, &error), TG_ERR_VALUE);
    assert_string_equal(error.message, "bad: body 0: mass is -1, must be positive");
    assert_null(c);
    body.mass = 1;
    def.dim = 4;
    assert_int_equal(tg_cartesian_create(&def, NULL, &c, &error), TG_ERR_VALUE);
}

/* Three points on a line with three distances: the constraints depend on each other. */
static void dependent_constraints(void **state)
{
    (void)state;
    tg_cartesian_body body[3] = {{1, 1, {0}}, {1, 1, {0}}, {1, 1, {0}}};
    tg_cartesian_constraint q[3] = {
        {.i = 0, .j = 1, .length = 1}, {.i = 1, .j = 2, .length = 1}, {.i = 0, .j = 2, .length = 2}};
    tg_cartesian_def def = {.name = "line", .dim = 2, .bodies = 3, .constraints = 3, .body = body, .constraint = q};
    fixture f = {0};
    finish_fixture(&f, &def, tg_cartesian_default_options());
    double x[6] = {0, 0, 1, 0, 2, 0}, v[6] = {0}, out[24];
    assert_int_equal(tg_cartesian_rollout(f.w, 1, 1, NULL, x, v, out, NULL, NULL), TG_ERR_NUMERIC);
    assert_non_null(strstr(tg_cartesian_message(f.w), "line: trajectory 0"));
    free_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_ball),
        cmocka_unit_test(all_contacts_are_met),
        cmocka_unit_test(integrators_have_their_order),
        cmocka_unit_test(nothing_is_allocated),
        cmocka_unit_test(samples_do_not_see_each_other),
        cmocka_unit_test(refusals),
        cmocka_unit_test(dependent_constraints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
