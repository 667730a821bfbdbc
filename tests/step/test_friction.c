/* Known answers of dry friction: sliding, sticking, jamming, spinning and rolling. Gravity 9.81, dt 1 ms. */
#include "step_test.h"

#define BLOCK                                                                                                          \
    "<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"                           \
    "<geom name='floor' type='plane' size='5 5 0.1' %s/>"                                                              \
    "<body name='block' %s><freejoint name='j'/><geom name='box' type='box' size='0.1 0.1 0.1' mass='1'/></body>"      \
    "</worldbody>%s</mujoco>"

/* ---- a block that slides ---- */

/* v = 1 - n mu g dt while positive: 203 steps, and the sum of dt v is the way. */
static void test_block_slides_and_stops(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, "", "pos='0 0 0.1'", ""));
    const double v0 = 1, loss = 0.5 * gravity * 1e-3;
    const int steps = (int)floor(v0 / loss);
    assert_int_equal(steps, 203);
    double way = 1e-3 * (steps * v0 - loss * steps * (steps + 1) / 2);
    check_near("the way on paper", way, 0.10143707, 1e-15);
    for (int k = 0; k < 16; k++)
    {
        double angle = 2 * PI * k / 16, cosine = cos(angle), sine = sin(angle);
        sim_reset(s);
        s->v[0] = v0 * cosine;
        s->v[1] = v0 * sine;
        for (int i = 1; i <= steps; i++)
        {
            sim_step(s);
            check_near("speed", cosine * s->v[0] + sine * s->v[1], v0 - i * loss, 1e-12);
        }
        check_near("way", cosine * s->q[0] + sine * s->q[1], way, 1e-9);
        check_near("way across", -sine * s->q[0] + cosine * s->q[1], 0, 1e-9);
        sim_run(s, 3);
        check_below("speed at rest", norm(6, s->v), 1e-12);
        check_near("way at rest", cosine * s->q[0] + sine * s->q[1], way, 1e-9);
        check_below("growth of energy", s->growth, 1e-13);
        check_below("work of impulses", s->excess, 1e-13);
    }
    close_passive(s);
}

/* The way comes nearer to v^2 / (2 mu g) linearly in dt. */
static void test_block_converges(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, "", "pos='0 0 0.1'", ""));
    double exact = 1 / gravity, error[2];
    for (int k = 0; k < 2; k++)
    {
        sim_reset(s);
        s->options.dt = k == 0 ? 1e-3 : 1e-4;
        s->v[0] = 1;
        sim_run(s, k == 0 ? 210 : 2100);
        error[k] = fabs(s->q[0] - exact);
    }
    check_below("error at 1 ms", error[0], 5.1e-4);
    check_below("error at 0.1 ms", error[1], 5.1e-5);
    close_passive(s);
}

/* ---- a block on a slope ---- */

static sim *slope(double angle)
{
    double height = 0.1;
    char floor[64], block[128];
    snprintf(floor, sizeof floor, "euler='0 %.17g 0'", angle * 180 / PI);
    snprintf(block, sizeof block, "pos='%.17g 0 %.17g' euler='0 %.17g 0'", height * sin(angle), height * cos(angle),
             angle * 180 / PI);
    return sim_open(text(BLOCK, floor, block, ""));
}

static void test_slope_holds_below_the_angle_of_friction(void **state)
{
    (void)state;
    sim *s = slope(atan(0.5) - 1e-6);
    double x = s->q[0];
    sim_run(s, 500);
    check_below("speed", norm(6, s->v), 1e-12);
    check_near("place", s->q[0], x, 1e-12);
    close_passive(s);
}

/* a = g (sin - mu cos), downhill */
static void test_slope_slides_above_the_angle_of_friction(void **state)
{
    (void)state;
    double angle = atan(0.5) + 1e-6;
    sim *s = slope(angle);
    sim_run(s, 500);
    double speed = cos(angle) * s->v[0] - sin(angle) * s->v[2];
    check_near("speed", speed, 0.5 * gravity * (sin(angle) - 0.5 * cos(angle)), 1e-9);
    close_passive(s);
}

/* ---- Painleve's rod ---- */

/* A rod of mass 1 and half-length 1, planar, at angle atan 2: its tip is the lowest point of a small ball. */
static sim *rod(double mu)
{
    double x = 1 / sqrt(5), z = 2 / sqrt(5), radius = 1e-3;
    return sim_open(text("<mujoco><option timestep='0.001'/><default><geom friction='%g'/></default><worldbody>"
                         "<geom type='plane' size='5 5 0.1'/>"
                         "<body pos='0 0 %.17g'><joint name='x' type='slide' axis='1 0 0'/>"
                         "<joint name='z' type='slide' axis='0 0 1'/><joint name='y' type='hinge' axis='0 1 0'/>"
                         "<inertial pos='0 0 0' mass='1' diaginertia='0.333333333333333333 0.333333333333333333 0.01'/>"
                         "<geom type='sphere' size='%g' pos='%.17g 0 %.17g' mass='0'/></body></worldbody></mujoco>",
                         mu, z, radius, -x, -z + radius));
}

static void check_rod(double mu, double tangential, double normal, double tip)
{
    sim *s = rod(mu);
    s->v[0] = -1;
    sim_step(s);
    tg_step_contact contact[SIM_CONTACTS];
    assert_int_equal(sim_contacts(s, contact), 1);
    check_near("tangential impulse", 1e-3 * contact[0].force[0], tangential, 5e-7);
    check_near("normal impulse", 1e-3 * contact[0].force[2], normal, 5e-7);
    check_near("tip", s->v[0] - s->v[2] * 2 / sqrt(5), tip, 5e-7);
    check_near("tip, normal", s->v[1] + s->v[2] / sqrt(5), 0, 1e-12);
    close_passive(s);
}

static void test_rod_slides(void **state)
{
    (void)state;
    check_rod(1, 0.024525, 0.024525, -0.946045);
}

static void test_rod_jams(void **state)
{
    (void)state;
    check_rod(2, 0.402943, 0.3083385, 0);
}

/* ---- a cube that slides and spins ---- */

static const double cube_corner[4][2] = {{0.1, 0.1}, {-0.1, 0.1}, {-0.1, -0.1}, {0.1, -0.1}};
static const double cube_impulse[4] = {0.003957, 0.001933, 0.000948, 0.002972};

/* The cube touches by its corners: small balls, in an order of choice. */
static sim *cube(const int order[4])
{
    char feet[1024] = "";
    for (int i = 0; i < 4; i++)
    {
        const double *corner = cube_corner[order[i]];
        size_t length = strlen(feet);
        snprintf(feet + length, sizeof feet - length, "<geom type='sphere' size='0.001' pos='%g %g -0.099' mass='0'/>",
                 corner[0], corner[1]);
    }
    return sim_open(
        text("<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"
             "<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><freejoint/>"
             "<inertial pos='0 0 0' mass='1' diaginertia='%.17g %.17g %.17g'/>%s</body></worldbody></mujoco>",
             0.04 / 6, 0.04 / 6, 0.04 / 6, feet));
}

static void start_cube(sim *s)
{
    const double v[6] = {1, 0.3, 0, 0, 0, 4};
    sim_reset(s);
    memcpy(s->v, v, sizeof v);
}

/* impulse of the contact at each corner */
static void corner_impulses(sim *s, double impulse[4])
{
    tg_step_contact contact[SIM_CONTACTS];
    assert_int_equal(sim_contacts(s, contact), 4);
    for (int c = 0; c < 4; c++)
        for (int k = 0; k < 4; k++)
            if (hypot(contact[k].at.point[0] - cube_corner[c][0], contact[k].at.point[1] - cube_corner[c][1]) < 1e-6)
                impulse[c] = 1e-3 * contact[k].local[0];
}

static void check_cube(sim *s, const double first[4])
{
    static const double v[6] = {0.9959527367, 0.2980290204, 0, 0, 0, 3.9713330966};
    double impulse[4] = {NAN, NAN, NAN, NAN};
    for (int i = 0; i < 6; i++)
        check_near("v+", s->v[i], v[i], 1e-10);
    corner_impulses(s, impulse);
    for (int c = 0; c < 4; c++)
    {
        check_near("impulse", impulse[c], cube_impulse[c], 5e-7);
        if (first != NULL)
            check_near("impulse against the first", impulse[c], first[c], 1e-8);
    }
}

static void test_cube_from_any_warm_start(void **state)
{
    (void)state;
    const int order[4] = {0, 1, 2, 3};
    sim *s = cube(order);
    unsigned seed = 1;
    double first[4];
    start_cube(s);
    sim_step(s);
    check_cube(s, NULL);
    corner_impulses(s, first);
    assert_int_equal(s->cache.count, 4);
    for (int k = 0; k < 10; k++)
    {
        tg_cache cache = s->cache;
        start_cube(s);
        s->cache.count = cache.count;
        for (int i = 0; i < 4; i++)
            for (int j = 0; j < 3; j++)
            {
                seed = seed * 1664525u + 1013904223u;
                s->cache.entry[i].impulse[j] = 0.01 * ((double)(seed >> 8) / (1 << 23) - (j == 2 ? 0 : 1));
            }
        sim_step(s);
        check_cube(s, first);
    }
    close_passive(s);
}

static void test_cube_with_contacts_in_any_order(void **state)
{
    (void)state;
    for (int code = 0; code < 24; code++)
    {
        int left[4] = {0, 1, 2, 3}, order[4], rest = code;
        for (int i = 0; i < 4; i++)
        {
            int pick = rest % (4 - i);
            rest /= 4 - i;
            order[i] = left[pick];
            for (int j = pick; j < 3 - i; j++)
                left[j] = left[j + 1];
        }
        sim *s = cube(order);
        start_cube(s);
        sim_step(s);
        check_cube(s, NULL);
        close_passive(s);
    }
}

/* The same cube as a box geom: its patch has the same four points. */
static void test_cube_of_one_box(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, "", "pos='0 0 0.1'", ""));
    start_cube(s);
    sim_step(s);
    check_cube(s, NULL);
    close_passive(s);
}

/* ---- a disc that spins ---- */

/* Torque mu m g R on I = m R^2 / 2: stops after omega R / (2 mu g). */
static void test_disc_stops(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"
                      "<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.01'><freejoint/>"
                      "<inertial pos='0 0 0' mass='1' diaginertia='0.0025 0.0025 0.005'/>"
                      "<geom type='sphere' size='0.01' pos='0.1 0 0' mass='0'/>"
                      "<geom type='sphere' size='0.01' pos='-0.1 0 0' mass='0'/>"
                      "<geom type='sphere' size='0.01' pos='0 0.1 0' mass='0'/>"
                      "<geom type='sphere' size='0.01' pos='0 -0.1 0' mass='0'/></body></worldbody></mujoco>");
    s->v[5] = 20;
    int steps = 0;
    while (s->v[5] > 1e-9 && steps < 1000)
    {
        sim_step(s);
        steps++;
    }
    check_near("time", 1e-3 * steps, 0.2039, 1e-3);
    check_below("speed", norm(6, s->v), 1e-12);
    check_below("way", hypot(s->q[0], s->q[1]), 1e-12);
    check_below("growth of energy", s->growth, 1e-13);
    close_passive(s);
}

/* ---- static and kinetic friction ---- */

static void test_static_and_kinetic(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, "", "pos='0 0 0.1'",
                           "<custom><numeric name='tangere:geom.box.kinetic' data='0.8'/>"
                           "<numeric name='tangere:geom.floor.kinetic' data='0.8'/></custom>"));
    int step = 0;
    while (s->v[0] < 1e-8 && step < 6000)
    {
        s->tau[0] = 1e-3 * ++step;
        sim_step(s);
    }
    check_near("pull at which it breaks away", s->tau[0], 0.5 * gravity, 1e-3);
    while (s->v[0] < 0.01 && step < 8000)
    {
        s->tau[0] = 1e-3 * ++step;
        sim_step(s);
    }
    double v = s->v[0], slowest = INFINITY;
    s->tau[0] = 4.5;
    for (int i = 0; i < 1000; i++)
    {
        sim_step(s);
        slowest = fmin(slowest, s->v[0]);
    }
    assert_true(slowest >= v);
    check_near("speed after a second at 4.5 N", s->v[0], v + 4.5 - 0.4 * gravity, 1e-9);
    close_passive(s);
}

/* ---- balls that roll and spin ---- */

#define BALL                                                                                                           \
    "<mujoco><option timestep='0.001'/><default><geom friction='0.5 0.005 0.005' condim='%d'/></default><worldbody>"   \
    "<geom type='plane' size='50 5 0.1'/><body pos='0 0 0.1'><freejoint/><geom type='sphere' size='0.1' mass='1'/>"    \
    "</body></worldbody></mujoco>"

/* Steady: force F = -a at the contact, torque T about y; slip u and turn w of the contact share the ellipsoid,
 * (F / mu)^2 + (T / roll)^2 = N^2 with (F, T) parallel to (mu^2 u, roll^2 w). */
static void test_ball_rolls(void **state)
{
    (void)state;
    sim *s = sim_open(text(BALL, 6));
    s->v[0] = 1;
    s->v[4] = 10;
    sim_run(s, 200);
    double v0 = s->v[0], slip = 0;
    for (int i = 0; i < 500; i++)
    {
        sim_step(s);
        slip = fmax(slip, fabs(fabs(s->v[0] - 0.1 * s->v[4]) / s->v[0] - 0.0071));
    }
    check_near("deceleration", (v0 - s->v[0]) / 0.5, 0.3495, 0.005 * 0.3495);
    check_below("slip away from 0.71 % of the speed", slip, 5e-5);
    close_passive(s);
}

static void test_ball_spins_on_the_spot(void **state)
{
    (void)state;
    sim *s = sim_open(text(BALL, 4));
    double inertia = 0.4 * 0.01, loss = 0.005 * gravity / inertia;
    s->v[5] = 10;
    sim_run(s, 500);
    check_near("spin", s->v[5], 10 - 0.5 * loss, 1e-9);
    check_below("speed", norm(3, s->v), 1e-12);
    sim_run(s, 500);
    check_below("spin at rest", fabs(s->v[5]), 1e-12);
    check_below("growth of energy", s->growth, 1e-13);
    close_passive(s);
}

/* A wheel that rolls goes on, whatever its pose: a cylinder on its side has no corners. Radii of 3 cm to 50 cm, 0.1 to
 * 20 m/s, 0.5 to 10 ms: turns of up to two radians in a step. */
static void test_wheels_roll(void **state)
{
    (void)state;
    static const char *const floor[] = {"type='plane' size='9 9 1'", "type='box' size='900 900 1' pos='0 0 -1'"};
    int runs = 0;
    for (int k = 0; k < 80; k++)
    {
        double radius = 0.03 * pow(16, 0.5 + 0.5 * sin(1 + 2.3 * k)),
               speed = 0.1 * pow(200, 0.5 + 0.5 * sin(2 + 5.1 * k)), dt = 5e-4 * pow(20, 0.5 + 0.5 * sin(3 + 7.7 * k)),
               phase = 11.3 * k, c = sqrt(0.5) * cos(phase), d = sqrt(0.5) * sin(phase);
        if (speed * dt > 2 * radius)
            continue;
        sim *s = sim_open(text("<mujoco><option timestep='%.17g'/><worldbody><geom %s/><body><freejoint/>"
                               "<geom type='cylinder' size='%.17g %.17g'/></body></worldbody></mujoco>",
                               dt, floor[k % 2], radius, 0.3 * radius));
        const double q[] = {0, 0, radius, c, c, -d, d}, v[] = {speed, 0, 0, 0, 0, -speed / radius};
        memcpy(s->q, q, sizeof q);
        memcpy(s->v, v, sizeof v);
        for (int i = 0; i < 200 / TEST_EFFORT; i++)
        {
            sim_step(s);
            check_near("height", s->q[2], radius, 1e-6);
        }
        check_near("speed", s->v[0] / speed, 1, 1e-6);
        sim_close(s);
        runs++;
    }
    assert_true(runs > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_block_slides_and_stops),
        cmocka_unit_test(test_block_converges),
        cmocka_unit_test(test_slope_holds_below_the_angle_of_friction),
        cmocka_unit_test(test_slope_slides_above_the_angle_of_friction),
        cmocka_unit_test(test_rod_slides),
        cmocka_unit_test(test_rod_jams),
        cmocka_unit_test(test_cube_from_any_warm_start),
        cmocka_unit_test(test_cube_with_contacts_in_any_order),
        cmocka_unit_test(test_cube_of_one_box),
        cmocka_unit_test(test_disc_stops),
        cmocka_unit_test(test_static_and_kinetic),
        cmocka_unit_test(test_ball_rolls),
        cmocka_unit_test(test_wheels_roll),
        cmocka_unit_test(test_ball_spins_on_the_spot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
