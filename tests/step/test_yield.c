/* Joints that dry friction holds against each other, or against a limit: when they are displaced, the friction that is
 * first at its bound gives way, and the derivative is that of the other rows. */
#include "step_test.h"

/* two joints without load, turned by a ratio against each other, with friction */
#define GEARS                                                                                                          \
    "<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom contype='0' conaffinity='0'/></default>"         \
    "<worldbody><body><joint name='a' axis='0 0 1' frictionloss='%g'/><geom type='box' size='0.1 0.02 0.02'/></body>"  \
    "<body pos='0 1 0'><joint name='b' axis='0 0 1' frictionloss='%g'/><geom type='box' size='0.1 0.02 0.02'/></body>" \
    "</worldbody><equality><joint joint1='a' joint2='b' polycoef='0 %g 0 0 0'/></equality></mujoco>"

/* a slider at its upper limit, with friction of 1 N */
#define SLIDER                                                                                                         \
    "<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody><body><joint name='a' type='slide' axis='1 0 0' "    \
    "limited='true' range='-1 0.5' frictionloss='1'/><geom size='0.1' mass='2' contype='0' conaffinity='0'/></body>"   \
    "</worldbody></mujoco>"

/* v+ after a displacement of q, by h */
static void slopes(sim *s, int dof, double h, double slope[2])
{
    double q[2] = {s->q[0], s->n.nq > 1 ? s->q[1] : 0}, v[2] = {0}, q_next[2], v_next[2];
    tg_state in = {q, v, NULL, NULL}, next = {q_next, v_next, NULL, NULL};
    q[dof] += h;
    assert_int_equal(tg_step(s->m, s->w, &s->options, &in, &(tg_control){.tau = s->tau}, &next, NULL), TG_OK);
    for (int k = 0; k < s->n.nv; k++)
        slope[k] = v_next[k] / h;
}

static tg_jacobian matrices(sim *s, double *dv_dq)
{
    tg_jacobian j = {.dv_dq = dv_dq};
    double q_next[2], v_next[2];
    tg_state in = {s->q, s->v, NULL, NULL}, next = {q_next, v_next, NULL, NULL};
    assert_int_equal(tg_step(s->m, s->w, &s->options, &in, &(tg_control){.tau = s->tau}, &next, NULL), TG_OK);
    assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
    return j;
}

/* q_a = q_b: with less friction in a, a moves back by what either was displaced, and b stays */
static void test_weaker_joint_gives_way(void **state)
{
    (void)state;
    for (int weaker = 0; weaker < 2; weaker++)
    {
        sim *s = sim_open(text(GEARS, weaker == 0 ? 0.1 : 0.2, weaker == 0 ? 0.2 : 0.1, 1.0));
        double J[4];
        memset(J, 0xff, sizeof J);
        tg_jacobian j = matrices(s, J);
        assert_int_equal(j.label.kind, TG_LABEL_EXACT); /* whichever way they are displaced */
        for (int row = 0; row < 2; row++)
            for (int dof = 0; dof < 2; dof++)
                check_near("dv/dq", J[2 * row + dof], row != weaker ? 0 : dof == weaker ? -1000 : 1000, 1e-6);
        sim_close(s);
    }
}

/* Loads, frictions and ratios at random: the derivative is that of a side, of both where they agree, and it is labelled
 * exact there and nowhere else; reverse mode and matrices agree. */
static void test_derivative_is_that_of_a_side(void **state)
{
    (void)state;
    int both = 0, differ = 0;
    for (int k = 0; k < 200; k++)
    {
        double one = 0.2 + 0.1 * noise(), other = 0.2 + 0.1 * noise();
        sim *s = sim_open(text(GEARS, one, other, 1 + 0.5 * noise()));
        double J[4], side[2][2], gq[2], back[2];
        s->tau[0] = 0.3 * one * noise();
        s->tau[1] = 0.3 * other * noise();
        matrices(s, J);
        tg_cotangent in = {.q = gq};
        tg_label label;
        assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = (double[]){1, 0.7}}, &in, &label), TG_OK);
        memcpy(back, gq, sizeof back);
        int kinks = 0;
        for (int dof = 0; dof < 2; dof++)
        {
            slopes(s, dof, 1e-7, side[0]);
            slopes(s, dof, -1e-7, side[1]);
            double apart[2];
            for (int i = 0; i < 2; i++)
                apart[i] = fmax(fabs(side[i][0] - J[dof]), fabs(side[i][1] - J[2 + dof]));
            check_below("from a side", fmin(apart[0], apart[1]), 1e-3);
            check_below("zero", -fabs(J[dof]) - fabs(J[2 + dof]), -100);
            check_near("reverse mode", back[dof], J[dof] + 0.7 * J[2 + dof], 1e-9);
            both += fmax(apart[0], apart[1]) < 1e-3;
            kinks += fmax(apart[0], apart[1]) > 1;
        }
        assert_int_equal(label.kind, kinks > 0 ? TG_LABEL_ONE_SIDED : TG_LABEL_EXACT);
        differ += kinks;
        sim_close(s);
    }
    assert_true(both > 200 && differ > 0);
}

/* Friction does not hold against a limit: displaced into it, the slider is pushed out by -1 / dt. */
static void test_limit_moves_what_friction_holds(void **state)
{
    (void)state;
    sim *s = sim_open(SLIDER);
    double J[1] = {NAN}, inside[2];
    s->q[0] = 0.5;
    s->tau[0] = 0.3;
    tg_jacobian j = matrices(s, J);
    assert_true(j.label.kind != TG_LABEL_EXACT);
    slopes(s, 0, 1e-7, inside);
    check_near("differences", inside[0], -1000, 1e-3);
    check_near("dv/dq", J[0], -1000, 1e-6);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weaker_joint_gives_way),
        cmocka_unit_test(test_derivative_is_that_of_a_side),
        cmocka_unit_test(test_limit_moves_what_friction_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
