/* tg_step_differences: numbers that are chosen, kinks that no signature shows, what cannot be displaced. */
#include "step/step_test.h"

/* two masses on a line, the first with an actuator */
#define MASSES                                                                                                         \
    "<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody>"                                                    \
    "<body name='a'><joint name='a' type='slide' axis='1 0 0' damping='0.5'/>"                                         \
    "<geom size='0.1' mass='2' contype='0' conaffinity='0'/></body>"                                                   \
    "<body name='b'><joint name='b' type='slide' axis='0 1 0'/>"                                                       \
    "<geom size='0.1' mass='1' contype='0' conaffinity='0'/></body></worldbody>"                                       \
    "<actuator><general name='m' joint='a' gainprm='3' biastype='affine' biasprm='0 0 %g'/></actuator></mujoco>"

typedef struct judge
{
    sim *s;
    tg_differences *d;
    double q[2], v[2], u[1];
} judge;

static judge open_judge(double slope)
{
    judge j = {.s = sim_open(text(MASSES, slope)), .v = {0.7, -0.4}, .u = {0.2}};
    assert_int_equal(tg_differences_create(j.s->m, 0, &j.d, NULL), TG_OK);
    return j;
}

static void close_judge(judge *j)
{
    tg_differences_destroy(j->d);
    sim_close(j->s);
}

static tg_differences_count ask(judge *j, tg_differences_request request, tg_cotangent *in)
{
    tg_differences_count count;
    tg_state state = {j->q, j->v, NULL, NULL};
    tg_control control = {.u = j->u};
    request.state = &state;
    request.control = &control;
    tg_cotangent out = {.v = (double[]){1, 2}};
    if (tg_step_differences(j->s->m, j->d, &request, &out, in, &count) != TG_OK)
        fail_msg("%s", tg_differences_message(j->d));
    return count;
}

/* v+ = (2 v + dt 3 u) / (2 + dt 0.5) for the first mass, v for the second */
static void test_only_what_is_chosen(void **state)
{
    (void)state;
    judge j = open_judge(0);
    double v[2] = {7, 7}, u[1] = {7}, whole = 2 + 0.002 * 0.5;
    tg_cotangent chosen = {.v = (double[]){0, 1}, .u = (double[]){1}}, in = {.v = v, .u = u};
    tg_differences_count count = ask(&j, (tg_differences_request){.chosen = &chosen}, &in);
    assert_int_equal(count.taken, 2);
    check_near("not chosen", v[0], 7, 0);
    check_near("d/dv", v[1], 2, 1e-8);
    check_near("d/du", u[0], 0.002 * 3 / whole, 1e-8);
    count = ask(&j, (tg_differences_request){0}, &in);
    assert_int_equal(count.taken, 3);
    check_near("d/dv", v[0], 2 / whole, 1e-8);
    close_judge(&j);
}

/* Damping of an actuator that acts on v+ has a derivative; at zero it has two, one of them 0, and no signature differs.
 */
static void test_kink(void **state)
{
    (void)state;
    for (int kinked = 0; kinked < 2; kinked++)
    {
        judge j = open_judge(kinked ? 0 : -0.1);
        j.u[0] = 1000; /* v+ - v = 3 m/s */
        tg_options options = tg_default_options();
        options.implicit_actuators = TG_ON;
        int index, size;
        assert_int_equal(tg_param_find(j.s->m, "actuator.m.bias", &index, &size, NULL), TG_OK);
        index += 2;
        double *params = calloc((size_t)tg_model_sizes(j.s->m).nparams, sizeof *params);
        tg_cotangent in = {.params = params};
        tg_differences_count count =
            ask(&j, (tg_differences_request){.options = &options, .index = &index, .nindex = 1}, &in);
        assert_int_equal(count.kinked, kinked);
        assert_int_equal(count.taken, !kinked);
        assert_int_equal(isnan(params[index]), kinked);
        free(params);
        close_judge(&j);
    }
}

/* Damping of 0 cannot become less. */
static void test_edge_of_the_domain(void **state)
{
    (void)state;
    judge j = open_judge(0);
    int index, size;
    assert_int_equal(tg_param_find(j.s->m, "joint.b.damping", &index, &size, NULL), TG_OK);
    double *params = calloc((size_t)tg_model_sizes(j.s->m).nparams, sizeof *params);
    tg_cotangent in = {.params = params};
    tg_differences_count count = ask(&j, (tg_differences_request){.index = &index, .nindex = 1}, &in);
    assert_int_equal(count.outside, 1);
    assert_true(isnan(params[index]));
    free(params);
    close_judge(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_what_is_chosen),
        cmocka_unit_test(test_kink),
        cmocka_unit_test(test_edge_of_the_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
