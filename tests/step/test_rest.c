/* Known answers of things that rest, stack, slide over seams, start overlapping or arrive too fast to be seen. */
#include "heap.h"

#include "support/dynamics_case.h"

/* ---- stacks ---- */

/* Boxes of half-size 0.1 on the floor, one on another; masses from a list. */
static sim *stack(int count, const double *mass)
{
    char boxes[8192] = "";
    for (int i = 0; i < count; i++)
    {
        size_t length = strlen(boxes);
        snprintf(boxes + length, sizeof boxes - length,
                 "<body pos='0 0 %.17g'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='%g'/></body>",
                 0.1 + 0.2 * i, mass[i]);
    }
    return sim_open(text("<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"
                         "<geom type='plane' size='5 5 0.1'/>%s</worldbody></mujoco>",
                         boxes));
}

/* how far the state is from the default configuration, m or quaternion */
static double distance_from_start(sim *s)
{
    double *q = malloc(sizeof(double) * (size_t)s->n.nq), most = 0;
    assert_int_equal(tg_default_q(s->m, q, NULL), TG_OK);
    for (int i = 0; i < s->n.nq; i++)
        most = fmax(most, fabs(s->q[i] - q[i]));
    free(q);
    return most;
}

static void check_stack(int count, const double *mass, double time)
{
    sim *s = stack(count, mass);
    sim_run(s, (int)(time / 1e-3));
    check_below("drift", distance_from_start(s) / time, 1e-9);
    check_below("speed", norm(s->n.nv, s->v), 1e-9);
    check_below("growth of energy", s->growth, 1e-10);
    close_passive(s);
}

static void test_stack_of_ten(void **state)
{
    (void)state;
    const double mass[10] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    check_stack(10, mass, 10.0 / TEST_EFFORT);
}

static void test_light_under_heavy(void **state)
{
    (void)state;
    const double mass[2] = {0.001, 10};
    check_stack(2, mass, 10.0 / TEST_EFFORT);
}

static void test_heavy_under_light(void **state)
{
    (void)state;
    const double mass[2] = {10, 0.001};
    check_stack(2, mass, 10.0 / TEST_EFFORT);
}

/* Dropped on each other from small heights the boxes come to rest, and no step gains energy on the way. */
static void test_dropped_stack(void **state)
{
    (void)state;
    const double mass[3] = {1, 2, 0.5};
    sim *s = stack(3, mass);
    for (int i = 0; i < 3; i++)
    {
        s->q[7 * i] += 0.01 * i;
        s->q[7 * i + 2] += 0.05 * (i + 1);
    }
    sim_run(s, 1500);
    check_below("speed at rest", norm(s->n.nv, s->v), 1e-9);
    check_near("height", s->q[16], 0.5, 1e-6);
    check_below("growth of energy", s->growth, 1e-9);
    close_passive(s);
}

/* Layers of 4 x 4, 3 x 3, ... boxes, each on four of the layer below, turned a little about the vertical: one island of
 * 864 rows, most of them redundant. */
static sim *pyramid(int layers)
{
    char *boxes = calloc(1, 1 << 16);
    size_t length = 0;
    unsigned seed = 3;
    for (int layer = 0; layer < layers; layer++)
        for (int i = 0; i < layers - layer; i++)
            for (int j = 0; j < layers - layer; j++)
                length += (size_t)snprintf(
                    boxes + length, (1 << 16) - length,
                    "<body pos='%g %g %g' euler='0 0 %g'><freejoint/><geom type='box' size='0.05 "
                    "0.05 0.05'/></body>",
                    0.11 * (i + 0.5 * layer), 0.11 * (j + 0.5 * layer), 0.05 + 0.1 * layer, 3 * test_uniform(&seed));
    sim *s = sim_open(text("<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/>%s"
                           "</worldbody></mujoco>",
                           boxes));
    free(boxes);
    return s;
}

/* Once it rests most steps find nothing to do: 0.43 factorisations a step. */
static void test_pyramid(void **state)
{
    (void)state;
    sim *s = pyramid(4);
    int steps = 60, factorisations = 0;
    sim_run(s, 30);
    for (int k = 0; k < steps; k++)
    {
        sim_step(s);
        assert_int_equal(s->info.status, TG_STEP_SOLVED);
        assert_true(s->info.iterations <= 3);
        factorisations += s->info.iterations;
    }
    assert_true(factorisations < 0.55 * steps);
    check_below("drift", distance_from_start(s) / 0.12, 1e-9);
    check_below("speed", norm(s->n.nv, s->v), 1e-9);
    close_passive(s);
}

/* Boxes that lie on each other share loads in many ways. A step starts from what the last one chose among these: one
 * factorisation for each island. From impulses alone it would be four. */
static void test_heap_that_lies(void **state)
{
    (void)state;
    for (int bodies = 9; bodies < 12; bodies++)
    {
        sim *s = open_heap(bodies, "<geom type='box' size='0.05 0.06 0.04' mass='1' friction='0.9'/>");
        int steps = 100, factorisations = 0;
        sim_run(s, 1000);
        for (int k = 0; k < steps; k++)
        {
            sim_step(s);
            assert_int_equal(s->info.status, TG_STEP_SOLVED);
            assert_int_not_equal(s->info.stage, TG_SOLVED_BY_NOTHING);
            factorisations += s->info.iterations;
        }
        assert_true(factorisations < 1.2 * steps * s->info.islands);
        sim_close(s);
    }
}

/* ---- seams ---- */

#define SEAM                                                                                                           \
    "<mujoco><option timestep='0.001'/><default><geom friction='0 0 0'/></default><worldbody>"                         \
    "<geom type='box' size='1 1 0.1' pos='-1 0 -0.1'/><geom type='box' size='1 1 0.1' pos='1 0 -0.1'/>"                \
    "<body pos='-0.3 %g 0.1' euler='0 0 %g'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>"         \
    "</worldbody></mujoco>"

static void check_seam(double y, double turn)
{
    sim *s = sim_open(text(SEAM, y, turn));
    s->v[0] = 1;
    for (int i = 0; i < 600; i++)
    {
        sim_step(s);
        check_near("speed", s->v[0], 1, 1e-9);
        check_near("height", s->q[2], 0.1, 1e-9);
    }
    check_below("turning", norm(3, s->v + 3), 1e-9);
    assert_true(s->q[0] > 0.25);
    check_below("growth of energy", s->growth, 1e-12);
    close_passive(s);
}

static void test_box_over_seam(void **state)
{
    (void)state;
    check_seam(0, 0);
    check_seam(0.05, 20);
    check_seam(0.05, 45);
}

/* ---- overlaps and fast bodies ---- */

/* Pushed out at v_push = 0.05 m/s it hops v_push^2 / 2 g = 0.13 mm. */
static void test_start_one_millimetre_deep(void **state)
{
    (void)state;
    const double mass[1] = {1};
    sim *s = stack(1, mass);
    s->q[2] -= 1e-3;
    double top = -INFINITY;
    for (int i = 0; i < 300; i++)
    {
        sim_step(s);
        top = fmax(top, s->q[2] - 0.1);
        check_below("speed", s->v[2], 0.05 + 1e-12);
    }
    check_below("hop", top, 0.2e-3);
    assert_true(top > 0);
    check_near("height at rest", s->q[2], 0.1, 1e-12);
    check_below("speed at rest", norm(6, s->v), 1e-12);
    close_passive(s);
}

static void check_wall(double start, double dt)
{
    sim *s = sim_open(text("<mujoco><option gravity='0 0 0'/><worldbody><geom type='box' size='0.0005 1 1'/>"
                           "<body pos='%.17g 0 0'><freejoint/><geom type='sphere' size='0.01' mass='1'/></body>"
                           "</worldbody></mujoco>",
                           start));
    s->options.dt = dt;
    s->v[0] = 100;
    sim_run(s, (int)(1 / (100 * dt)) + 5);
    check_below("speed", fabs(s->v[0]), 1e-9);
    check_near("place", s->q[0], -0.0105, 1e-6);
    close_passive(s);
}

static void test_fast_sphere_stops_at_a_thin_wall(void **state)
{
    (void)state;
    for (int k = 0; k < 10; k++)
    {
        check_wall(-0.5 - 0.0137 * k, 1e-3);
        check_wall(-0.5 - 0.0137 * k, 1e-2);
    }
}

/* ---- energy ---- */

/* A box thrown with spin onto the floor and a second one: with e = 0 the impulses of no step do positive work. */
static void test_impulses_do_no_work(void **state)
{
    (void)state;
    const double mass[2] = {1, 0.3};
    sim *s = stack(2, mass);
    for (int k = 0; k < 40 / TEST_EFFORT; k++)
    {
        sim_reset(s);
        for (int i = 0; i < 2; i++)
        {
            double *q = s->q + 7 * i, *v = s->v + 6 * i;
            q[2] += 0.2 + 0.2 * i;
            for (int j = 0; j < 6; j++)
                v[j] = 2 * sin(1 + 1.7 * k + 2.3 * i + 5.1 * j) * (j < 3 ? 1 : 3);
        }
        sim_run(s, 600);
        check_below("work of impulses", s->excess, 1e-10);
    }
    close_passive(s);
}

/* ---- at rest ---- */

/* An arm that dry friction holds, three balls of which are nearly on the floor: gaps of 1e-11 to 1e-8 m, closed within
 * a step by speeds on both sides of what counts as none. */
static sim *held_arm(int seed)
{
    const double z = -0.27;
    double gap[3];
    for (int k = 0; k < 3; k++)
        gap[k] = pow(10, -9.5 + 1.5 * sin(1 + 3.7 * seed + 2.1 * k));
    return sim_open(text(
        "<mujoco><option timestep='0.002'/><default><joint frictionloss='50'/></default><worldbody>"
        "<geom type='plane' size='2 2 1'/><body pos='0 0 0.3'><joint axis='0 1 0'/><inertial pos='0.2 0 0' mass='1' "
        "diaginertia='0.01 0.01 0.01'/><body pos='0.3 0 0'><joint axis='0 1 0'/><joint axis='1 0 0'/>"
        "<joint axis='0 0 1'/><geom size='0.03' mass='0.1' pos='0 0 %.17g'/>"
        "<geom size='0.03' mass='0.1' pos='0.1 0.05 %.17g'/><geom size='0.03' mass='0.1' pos='0.2 0 %.17g'/>"
        "</body></body></worldbody></mujoco>",
        z + gap[0], z + gap[1], z + gap[2]));
}

/* Every step of what stands still is the one before: the warm start has nothing to look for. */
static void test_standing_still_takes_few_factorisations(void **state)
{
    (void)state;
    int worst = 0;
    double sum = 0;
    for (int seed = 0; seed < 40; seed++)
    {
        sim *s = held_arm(seed);
        sim_run(s, 20);
        sim_step(s);
        worst = s->info.iterations > worst ? s->info.iterations : worst;
        sum += s->info.iterations / 40.0;
        sim_close(s);
    }
    print_message("standing still: %.2f factorisations, at most %d\n", sum, worst);
    assert_true(sum <= 2.5 && worst <= 3);
}

/* What relaxes to rest does not go through denormal numbers. */
static void test_no_denormals(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option gravity='0 0 0'/><worldbody><body><joint axis='0 0 1' damping='1'/>"
                      "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody></mujoco>");
    s->v[0] = 1;
    int steps = 0;
    for (; steps < 20000 && s->v[0] != 0; steps++)
    {
        sim_step(s);
        assert_int_not_equal(fpclassify(s->v[0]), FP_SUBNORMAL);
    }
    assert_true(steps > 100 && steps < 20000);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_standing_still_takes_few_factorisations),
        cmocka_unit_test(test_no_denormals),
        cmocka_unit_test(test_stack_of_ten),
        cmocka_unit_test(test_light_under_heavy),
        cmocka_unit_test(test_heavy_under_light),
        cmocka_unit_test(test_dropped_stack),
        cmocka_unit_test(test_pyramid),
        cmocka_unit_test(test_heap_that_lies),
        cmocka_unit_test(test_box_over_seam),
        cmocka_unit_test(test_start_one_millimetre_deep),
        cmocka_unit_test(test_fast_sphere_stops_at_a_thin_wall),
        cmocka_unit_test(test_impulses_do_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
