/* What a step says about itself: the contacts with their forces, and the numbers of tg_info. */
#include "heap.h"
#include "step_test.h"

#define ON_FLOOR                                                                                                       \
    "<mujoco><option timestep='0.001'/><default><geom friction='0.5 0.02 0.01' condim='%d'/></default><worldbody>"     \
    "<geom name='floor' type='plane' size='5 5 0.1'/><body pos='0 0 %.17g'><freejoint/>%s</body></worldbody></mujoco>"

static const char *const box = "<geom type='box' size='0.1 0.1 0.1' mass='2'/>";
static const char *const ball = "<geom type='sphere' size='0.1' mass='2'/>";

/* Forces are those on geom2, in world axes, at the point; the normal points from geom1 to geom2. */
static void test_forces_at_rest(void **state)
{
    (void)state;
    sim *s = sim_open(text(ON_FLOOR, 3, 0.1, box));
    tg_step_contact contact[SIM_CONTACTS];
    double sum[3] = {0};
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 4);
    for (int i = 0; i < 4; i++)
    {
        assert_int_equal(contact[i].at.geom1, 0);
        assert_int_equal(contact[i].at.geom2, 1);
        check_near("normal", contact[i].at.normal[2], 1, 0);
        check_near("distance", contact[i].at.distance, 0, 1e-15);
        check_near("point", fabs(contact[i].at.point[0]), 0.1, 1e-15);
        check_near("force in the frame", contact[i].local[0], contact[i].force[2], 1e-15);
        assert_int_equal(contact[i].mode, TG_CONTACT_STICKING);
        for (int j = 0; j < 3; j++)
            sum[j] += contact[i].force[j];
    }
    check_near("sum of forces", sum[2], 2 * gravity, 1e-9);
    check_near("sum of forces, across", hypot(sum[0], sum[1]), 0, 1e-9);
    assert_int_equal(s->info.contacts, 4);
    assert_int_equal(s->info.rows, 12);
    assert_int_equal(s->info.islands, 1);
    assert_true(s->info.capacity > 0 && s->info.capacity <= 1);
    check_near("kinetic energy", s->info.kinetic, 0, 1e-15);
    check_near("potential energy", s->info.potential, 2 * gravity * 0.1, 1e-12);
    assert_string_equal(tg_contact_mode_string(contact[0].mode), "sticking");
    assert_string_equal(tg_step_status_string(s->info.status), "solved");
    sim_close(s);
}

/* Friction of a sliding box: against the slip, mu times the normal force, and its work. */
static void test_forces_of_sliding(void **state)
{
    (void)state;
    sim *s = sim_open(text(ON_FLOOR, 3, 0.1, box));
    tg_step_contact contact[SIM_CONTACTS];
    double sum[3] = {0};
    s->v[0] = 0.6;
    s->v[1] = -0.8;
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 4);
    for (int i = 0; i < 4; i++)
    {
        assert_int_equal(contact[i].mode, TG_CONTACT_SLIDING);
        assert_true(contact[i].margin > 0);
        for (int j = 0; j < 3; j++)
            sum[j] += contact[i].force[j];
    }
    check_near("friction", sum[0], -0.6 * 0.5 * 2 * gravity, 1e-9);
    check_near("friction", sum[1], 0.8 * 0.5 * 2 * gravity, 1e-9);
    double loss = 0.5 * gravity * 1e-3, gravity_work = 0.5 * 2 * (gravity * 1e-3) * (gravity * 1e-3);
    check_near("work", s->info.work, 0.5 * 2 * ((1 - loss) * (1 - loss) - 1) - gravity_work, 1e-12);
    sim_close(s);
}

/* On geom2, a ball that spins: the torque of a condim-4 contact. */
static void test_torque(void **state)
{
    (void)state;
    sim *s = sim_open(text(ON_FLOOR, 4, 0.1, ball));
    tg_step_contact contact[SIM_CONTACTS];
    s->v[5] = 5;
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 1);
    check_near("torque", contact[0].torque[2], -0.02 * 2 * gravity, 1e-9);
    check_near("torque in the frame", contact[0].local[3], contact[0].torque[2], 1e-12);
    sim_close(s);
}

/* Near the floor, and not to be reached in this step: not in the problem, but its distance is the margin of the
 * derivative. Faster: it carries the force that stops it. */
static void test_contact_that_is_apart(void **state)
{
    (void)state;
    sim *s = sim_open(text(ON_FLOOR, 3, 0.1005, ball));
    tg_step_contact contact[SIM_CONTACTS];
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 0);
    assert_int_equal(s->info.contacts, 0);
    check_near("speed: it falls", s->v[2], -gravity * 1e-3, 1e-15);
    assert_true(s->info.penetration == 0);
    double J[36];
    tg_jacobian j = {.dv_dv = J};
    assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
    assert_int_equal(j.label.kind, TG_LABEL_EXACT);
    check_near("margin", j.label.margin, 0.5 - gravity * 1e-3, 1e-12);
    sim_reset(s);
    s->v[2] = -1;
    sim_step(s);
    assert_int_equal(sim_contacts(s, contact), 1);
    check_near("speed: it arrives", s->v[2], -0.5, 1e-12);
    check_near("force", contact[0].force[2], 2 * (0.5 + gravity * 1e-3) / 1e-3, 1e-9);
    check_near("height", s->q[2], 0.1, 1e-15);
    sim_close(s);
}

static void test_penetration(void **state)
{
    (void)state;
    sim *s = sim_open(text(ON_FLOOR, 3, 0.0997, ball));
    sim_step(s);
    check_near("penetration", s->info.penetration, 3e-4, 1e-15);
    check_near("pushed out at", s->v[2], 0.05, 1e-12);
    s->options.push_speed = 1;
    sim_reset(s);
    sim_step(s);
    check_near("pushed out in one step at", s->v[2], 0.3, 1e-12);
    s->options.push_gain = 0.5;
    sim_reset(s);
    sim_step(s);
    check_near("half of it pushed out at", s->v[2], 0.15, 1e-12);
    sim_close(s);
}

/* Margins of two geoms add: the ball stops above the floor. */
static void test_margin(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1' margin='0.002'/>"
        "<body pos='0 0 0.15'><freejoint/><geom type='sphere' size='0.1' margin='0.003'/></body></worldbody></mujoco>");
    sim_run(s, 400);
    check_near("height", s->q[2], 0.105, 1e-12);
    check_below("speed at rest", norm(6, s->v), 1e-12);
    sim_close(s);
}

/* Two boxes that lie apart are two islands. The clock is read only when it is asked for, and changes nothing. */
static void test_profile(void **state)
{
    (void)state;
    sim *s =
        sim_open(text("<mujoco><worldbody><geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><freejoint/>%s</body>"
                      "<body pos='1 0 0.1'><freejoint/>%s</body></worldbody></mujoco>",
                      box, box));
    tg_step_contact contact[SIM_CONTACTS];
    double q[14];
    sim_step(s);
    memcpy(q, s->q, sizeof q);
    assert_int_equal(s->info.profile.costliest, -1);
    for (int i = 0; i < TG_STEP_STAGES; i++)
        check_near("time that nobody asked for", s->info.profile.time[i], 0, 0);
    sim_close(s);

    s = sim_open(text("<mujoco><worldbody><geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><freejoint/>%s</body>"
                      "<body pos='1 0 0.1'><freejoint/>%s</body></worldbody></mujoco>",
                      box, box));
    s->options.profile = true;
    sim_step(s);
    assert_memory_equal(q, s->q, sizeof q);
    assert_int_equal(sim_contacts(s, contact), 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(contact[i].island, contact[i].at.geom2 - 1);
    const tg_profile *p = &s->info.profile;
    assert_in_range(p->costliest, 0, 1);
    assert_int_equal(p->rows, 12);
    assert_true(p->costliest_time > 0 && p->costliest_time <= p->time[TG_STEP_STAGE_SOLVE]);
    double sum[TG_STEP_STAGES] = {0};
    for (int k = 0; k < 20; k++, sim_step(s)) /* in one step a stage may take less than reading the clock varies by */
        for (int i = 0; i < TG_STEP_STAGES; i++)
        {
            assert_true(p->time[i] >= 0 && p->time[i] < 10);
            sum[i] += p->time[i];
        }
    for (int i = 0; i < TG_STEP_STAGES; i++)
    {
        assert_true(sum[i] > 0);
        assert_string_not_equal(tg_step_stage_string((tg_step_stage)i), "unknown");
    }
    assert_string_equal(tg_step_stage_string(TG_STEP_STAGES), "unknown");
    sim_close(s);
}

/* ---- effort ---- */

/* Boxes that fall into a bin, with few factorisations: never more than that (twice, where the push is dropped),
 * labelled where it was not enough, and nothing flies away or falls through: the whole heap has no more energy than it
 * came with, and overlaps little more than without a bound. */
static void test_effort(void **state)
{
    (void)state;
    static const int effort[4] = {0, 1, 3, 12};
    int partial[4] = {0};
    double unbounded = 0;
    for (int k = 0; k < 4; k++)
    {
        sim *s = open_heap(12, "<geom type='box' size='0.05 0.04 0.03' mass='1'/>");
        s->options.effort = effort[k];
        s->options.energy = true;
        double most = 0, first = 0, deepest = 0;
        for (int step = 0; step < 300 / TEST_EFFORT; step++)
        {
            tg_state at = {s->q, s->v, s->act, &s->cache};
            assert_int_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, &s->info), TG_OK);
            double energy = s->info.kinetic + s->info.potential;
            first = step == 0 ? energy : first;
            most = fmax(most, energy);
            deepest = fmax(deepest, s->info.penetration);
            partial[k] += s->info.status == TG_STEP_PARTIAL;
            assert_true(effort[k] == 0 || s->info.worst <= 2 * effort[k]);
            assert_true(s->info.status == TG_STEP_PARTIAL || s->info.residual <= s->options.tolerance);
            assert_true(s->info.worst == 0 || s->info.status == TG_STEP_PARTIAL ||
                        s->info.stage != TG_SOLVED_BY_NOTHING);
        }
        check_below("energy", most, 1.05 * first);
        unbounded = k == 0 ? deepest : unbounded;
        check_below("overlap", deepest, 1.5 * unbounded);
        sim_close(s);
    }
    assert_int_equal(partial[0], 0);
    if (TEST_EFFORT == 1) /* in fewer steps the boxes do not come together */
        assert_true(partial[1] > partial[2] && partial[2] >= partial[3]);
    assert_string_equal(tg_solved_by_string(TG_SOLVED_BY_LADDER), "ladder");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_profile),        cmocka_unit_test(test_effort),
        cmocka_unit_test(test_forces_at_rest), cmocka_unit_test(test_forces_of_sliding),
        cmocka_unit_test(test_torque),         cmocka_unit_test(test_contact_that_is_apart),
        cmocka_unit_test(test_penetration),    cmocka_unit_test(test_margin),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
