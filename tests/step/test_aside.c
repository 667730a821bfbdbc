/* Contacts that open faster than anything closes have no rows. The step is that of the problem with all of them, which
 * a cold step has. */
#include "flight.h"

/* v+ of the next step, the number of its contacts, and of its contacts with all rows */
typedef struct both
{
    double v[2][256];
    int contacts[2];
    bool solved, twofold;
} both;

static both take_both(sim *s)
{
    both b = {.solved = true};
    double q[256], gv[256] = {0}, dv[256];
    assert_true(s->n.nq <= 256);
    for (int cold = 0; cold < 2; cold++)
    {
        tg_info info;
        tg_state in = {s->q, s->v, s->act, &s->cache}, out = {q, b.v[cold], s->act, NULL};
        s->options.cold = cold;
        if (tg_step(s->m, s->w, &s->options, &in, &(tg_control){.u = s->u}, &out, &info) != TG_OK)
            fail_msg("%s", tg_work_message(s->w));
        b.contacts[cold] = info.contacts;
        b.solved = b.solved && info.status == TG_STEP_SOLVED;
    }
    tg_label label;
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = gv}, &(tg_cotangent){.v = dv}, &label), TG_OK);
    b.twofold = label.twofold;
    s->options.cold = false;
    return b;
}

/* Returns how many contacts were without rows. */
static int compare_steps(sim *s, int steps, double push)
{
    int aside = 0, off = 0;
    for (int t = 0; t < steps; t++)
    {
        for (int i = 0; i < s->n.nu && t % 20 == 0; i++)
            s->u[i] = push * noise();
        both b = take_both(s);
        aside += b.contacts[1] - b.contacts[0];
        assert_true(b.contacts[0] <= b.contacts[1]);
        double apart = 0;
        for (int k = 0; k < s->n.nv && b.solved && !b.twofold; k++)
            apart = fmax(apart, fabs(b.v[0][k] - b.v[1][k]));
        check_below("v+ with and without rows that open", apart, 1e-3); /* as for warm and cold (test_twofold.c) */
        off += apart > 1e-6;
        sim_step(s);
    }
    print_message("%d of %d steps differ by more than 1e-6 m/s, %d contacts without rows\n", off, steps, aside);
    assert_true(100 * off <= steps);
    sim_close(s);
    return aside;
}

static void test_same_step(void **state)
{
    (void)state;
    int quadruped = compare_steps(open_file("models/quadruped.xml"), 600 / TEST_EFFORT, 0.5);
    int humanoid = compare_steps(open_file("models/humanoid36.xml"), 300 / TEST_EFFORT, 0.5);
    assert_true(quadruped > 10 / TEST_EFFORT && humanoid > 10 / TEST_EFFORT);
}

/* A light bar on a hinge is hit near its pivot, at 1 m/s from below. Its tip is 0.9 mm below a bump, 0.9 m/s at 1 ms:
 * open at v_free, faster than the 0.5 m/s by which the ball closes, and driven into it by the lever. */
static void test_driven_together(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>"
                      "<geom name='bump' size='0.05' pos='1 0 0.0609'/>"
                      "<body><joint type='hinge' axis='0 1 0'/>"
                      "<geom type='capsule' fromto='0 0 0 1 0 0' size='0.01' mass='0.01'/></body>"
                      "<body pos='0.1 0 -0.0605'><joint type='slide' axis='0 0 1'/>"
                      "<geom size='0.05' mass='1'/></body></worldbody></mujoco>");
    s->v[1] = 1;
    both b = take_both(s);
    assert_int_equal(b.contacts[0], 2); /* solved again, with both */
    assert_int_equal(b.contacts[1], 2);
    check_near("the tip", b.v[0][0], -0.9, 1e-9);
    for (int k = 0; k < 2; k++)
        check_near("v+", b.v[0][k], b.v[1][k], 1e-12);
    s->v[1] = 0.6; /* too slow to be met: 0.1 m/s closes, the tip follows by 1 m/s at most */
    b = take_both(s);
    assert_int_equal(b.contacts[0] + 1, b.contacts[1]);
    sim_close(s);
}

/* Boxes that pass each other at 10 m/s, 3 mm apart, and turn a little: they do not meet. Turning a box into the other's
 * way, or the way into the other, they do. */
static void test_passing(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody>"
                      "<body><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='1'/></body>"
                      "<body pos='0 0.103 0'><freejoint/><geom type='box' size='0.05 0.05 0.05' mass='1'/></body>"
                      "</worldbody></mujoco>");
    s->v[0] = 10;
    s->v[5] = 5;
    both b = take_both(s);
    assert_int_equal(b.contacts[0], 0);
    assert_int_equal(b.contacts[1], 0);
    check_near("v+", b.v[0][0], 10, 1e-12);
    s->v[1] = 2;
    b = take_both(s);
    assert_true(b.contacts[0] > 0 && b.v[0][7] > 0.1);
    s->v[1] = 0;
    s->v[5] = -100;
    b = take_both(s);
    assert_true(b.contacts[0] > 0 && b.v[0][7] > 0.1);
    sim_close(s);
}

/* Three boxes in a row at 5 m/s, the first at 15 m/s; the gaps are 0.5 and 5 mm, at 2 ms. At v_free the last two stay
 * apart, and are driven together: v_1 - v_2 = 0.25 m/s, v_2 - v_3 = 2.5 m/s, and the sum is 25 m/s. */
static void test_row(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody>"
        "<body><joint type='slide' axis='1 0 0'/><geom type='box' size='0.05 0.05 0.05' mass='1'/></body>"
        "<body pos='0.1005 0 0'><joint type='slide' axis='1 0 0'/><geom type='box' size='0.05 0.05 0.05' mass='1'/>"
        "</body><body pos='0.2055 0 0'><joint type='slide' axis='1 0 0'/>"
        "<geom type='box' size='0.05 0.05 0.05' mass='1'/></body></worldbody></mujoco>");
    s->v[0] = 15;
    s->v[1] = s->v[2] = 5;
    both b = take_both(s);
    for (int k = 0; k < 2; k++)
    {
        check_near("v_1", b.v[k][0], 5 + 13 / 3.0, 1e-8);
        check_near("v_2", b.v[k][1], 5 + 49 / 12.0, 1e-8);
        check_near("v_3", b.v[k][2], 5 + 19 / 12.0, 1e-8);
    }
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_step), cmocka_unit_test(test_driven_together),
                                       cmocka_unit_test(test_passing), cmocka_unit_test(test_row)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
