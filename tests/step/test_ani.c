/* Derivatives of a bounce: of the step as it is, with the time of impact, and adaptive naive integration. */
#include "flight.h"

/* a ball without gravity that meets the floor after 1.2 steps */
static sim *ball(double e)
{
    return sim_open(text(
        "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><geom name='floor' type='plane' size='1 1 1'/>"
        "<body pos='0 0 0.112'><joint type='slide' axis='0 0 1'/><geom name='ball' type='sphere' size='0.1' mass='2'/>"
        "</body></worldbody><custom><numeric name='tangere:geom.floor.restitution' data='%g'/>"
        "<numeric name='tangere:geom.ball.restitution' data='%g'/></custom></mujoco>",
        e, e));
}

static void test_bounce(void **state)
{
    (void)state;
    static const double restitution[] = {1, 0.5};
    static const tg_backward kind[] = {TG_BACKWARD_EXACT, TG_BACKWARD_TOI, TG_BACKWARD_ANI, TG_BACKWARD_DETACH};
    static const int after[] = {2, 22};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++)
            for (int n = 0; n < 2; n++)
            {
                double e = restitution[i];
                sim *s = ball(e);
                s->options.backward = kind[k];
                s->v[0] = -1;
                flight f = take_off(s, after[n], false);
                fly_for(&f, 0);
                check_near("speed", f.v[after[n]], e, 1e-12);
                check_near("d x / d x", f.dq[0], kind[k] == TG_BACKWARD_EXACT ? 1 : -e, 1e-12);
                assert_int_equal(f.label.kind, kind[k] >= TG_BACKWARD_ANI ? TG_LABEL_REGULARISED : TG_LABEL_EXACT);
                /* x = x_0 + t v_0 before, - e v_0 after; detached: as if nothing was hit */
                double t = 0.01, moves = kind[k] == TG_BACKWARD_DETACH ? 1 : -e;
                if (kind[k] == TG_BACKWARD_ANI || kind[k] == TG_BACKWARD_DETACH)
                    check_near("d x / d v", f.dv[0], -e * t + moves * t * (after[n] - 1), 1e-12);
                /* v+ = -e v in any case */
                check_near("d x / d e", with_respect_to(&f, "geom.floor.restitution"), t * (after[n] - 1), 1e-12);
                tg_trajectory change = {.q = numbers(after[n] + 1), .v = numbers(after[n] + 1)};
                double along = 1;
                assert_int_equal(
                    tg_rollout_jvp(s->m, s->w, f.tape, 1, &(tg_rollout_gradient){.q = &along}, &change, NULL), TG_OK);
                check_near("forward mode", change.q[after[n]], f.dq[0], 1e-12);
                check_near("d v / d x", change.v[after[n]], 0, 1e-12);
                free(change.q);
                free(change.v);
                land(&f);
                sim_close(s);
            }
}

/* matrices, forward and reverse mode of a tumbling box that hits the floor */
static void agree(tg_backward backward)
{
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><worldbody><geom name='floor' type='plane' size='5 5 0.1' friction='0.4'/>"
        "<body pos='0 0 0.2'><freejoint/><geom name='box' type='box' size='0.1 0.07 0.1' mass='1'/></body></worldbody>"
        "<custom><numeric name='tangere:geom.floor.restitution' data='0.6'/></custom></mujoco>");
    s->options.backward = backward;
    s->q[2] = 0.12;
    s->v[2] = -2;
    s->v[3] = 1;
    s->v[4] = -2;
    double J[36], g[6], along[6] = {0.3, -0.2, 0.5, 0.1, -0.4, 0.2}, dq[6], out[6] = {1, 0, -1, 0.5, 0.2, -0.3};
    int regularised = 0;
    for (int k = 0; k < 30; k++)
    {
        sim_step(s);
        tg_jacobian j = {.dq_dq = J};
        tg_label label;
        assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
        assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.q = out}, &(tg_cotangent){.q = g}, &label), TG_OK);
        assert_int_equal(tg_step_jvp(s->m, s->w, &(tg_cotangent){.q = along}, &(tg_cotangent){.q = dq}, NULL), TG_OK);
        double reverse = 0, forward = 0, matrix = 0;
        for (int i = 0; i < 6; i++)
        {
            reverse += g[i] * along[i];
            forward += out[i] * dq[i];
            for (int c = 0; c < 6; c++)
                matrix += out[i] * J[6 * i + c] * along[c];
        }
        check_near("forward mode", forward, reverse, 1e-10 * fmax(1, fabs(reverse)));
        check_near("matrices", matrix, reverse, 1e-10 * fmax(1, fabs(reverse)));
        regularised += label.kind == TG_LABEL_REGULARISED;
    }
    assert_true(regularised > 0);
    sim_close(s);
}

static void test_agreement(void **state)
{
    (void)state;
    agree(TG_BACKWARD_ANI);
    agree(TG_BACKWARD_DETACH);
}

/* with impacts within the step the time of impact is in the step already */
static void test_refused_within(void **state)
{
    (void)state;
    sim *s = ball(1);
    static const tg_backward kind[] = {TG_BACKWARD_TOI, TG_BACKWARD_ANI, TG_BACKWARD_DETACH};
    static const char *const name[] = {"backward = toi", "backward = ani", "backward = detach"};
    s->options.impact = TG_IMPACT_WITHIN;
    for (int i = 0; i < 3; i++)
    {
        tg_state at = {s->q, s->v, s->act, NULL};
        s->options.backward = kind[i];
        assert_int_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, NULL), TG_ERR_UNSUPPORTED);
        assert_non_null(strstr(tg_work_message(s->w), name[i]));
        assert_non_null(strstr(tg_work_message(s->w), "impact = within"));
    }
    sim_close(s);
}

/* The ball of Fig. 10 with impacts within the step: the exact derivative is that of the motion, -e, twenty steps later,
 * too, without any of these. */
static void test_within(void **state)
{
    (void)state;
    static const double restitution[] = {1, 0.5};
    static const int after[] = {2, 22};
    for (int i = 0; i < 2; i++)
        for (int n = 0; n < 2; n++)
        {
            double e = restitution[i], meets = 0.012;
            sim *s = ball(e);
            s->options.impact = TG_IMPACT_WITHIN;
            s->v[0] = -1;
            flight f = take_off(s, after[n], false);
            fly_for(&f, 0);
            check_near("speed", f.v[after[n]], e, 1e-12);
            check_near("height", f.q[after[n]] + meets, e * (0.01 * after[n] - meets), 1e-12);
            check_near("d x / d x", f.dq[0], -e, 1e-9);
            assert_int_equal(f.label.kind, TG_LABEL_EXACT);
            land(&f);
            sim_close(s);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounce),
        cmocka_unit_test(test_agreement),
        cmocka_unit_test(test_refused_within),
        cmocka_unit_test(test_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
