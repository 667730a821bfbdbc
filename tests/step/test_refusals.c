/* Inputs that a step refuses, and steps that cannot be taken: a status, a message that names the thing, and a state
 * that is as it was. */
#include "step_test.h"

#define NOTHING 0x5a

/* A model with everything an input can be wrong in: a free box on the floor, an arm with an actuator with activation.
 */
static const char *const scene =
    "<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1'/>"
    "<body name='box' pos='0 0 0.1'><freejoint name='box'/><geom name='box' type='box' size='0.1 0.1 0.1' "
    "mass='1'/></body>"
    "<body pos='2 0 1'><joint name='arm' axis='0 1 0'/><geom type='capsule' size='0.05 0.2' "
    "mass='1'/></body></worldbody>"
    "<actuator><general joint='arm' dyntype='filter' dynprm='0.1' gainprm='1'/></actuator></mujoco>";

/* Steps from the sim's state into arrays that hold a pattern, and expects a refusal that leaves them. */
static void expect_refusal(sim *s, tg_status expected, const char *message)
{
    tg_state in = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench};
    tg_cache_entry entry[8];
    tg_cache cache = {.capacity = 8, .count = 3, .entry = entry};
    double q[64], v[64], act[8];
    tg_info info;
    memset(q, NOTHING, sizeof q);
    memset(v, NOTHING, sizeof v);
    memset(act, NOTHING, sizeof act);
    memset(entry, NOTHING, sizeof entry);
    memset(&info, NOTHING, sizeof info);
    tg_state out = {q, v, act, &cache};
    tg_status status = tg_step(s->m, s->w, &s->options, &in, &control, &out, &info);
    if (status != expected)
        fail_msg("%s: %s, expected %s", message, tg_status_string(status), tg_status_string(expected));
    if (strstr(tg_work_message(s->w), message) == NULL)
        fail_msg("the message '%s' does not say '%s'", tg_work_message(s->w), message);
    const struct
    {
        const void *at;
        size_t size;
    } kept[] = {{q, sizeof q}, {v, sizeof v}, {act, sizeof act}, {entry, sizeof entry}, {&info, sizeof info}};
    for (size_t i = 0; i < sizeof kept / sizeof kept[0]; i++)
        for (size_t k = 0; k < kept[i].size; k++)
            if (((const unsigned char *)kept[i].at)[k] != NOTHING)
                fail_msg("%s: output %zu was written at byte %zu", message, i, k);
    assert_int_equal(cache.count, 3);
}

/* in place: the state that came in is the state that stays */
static void expect_kept(sim *s, tg_status expected, const char *message)
{
    double q[64], v[64];
    memcpy(q, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(v, s->v, sizeof(double) * (size_t)s->n.nv);
    tg_state state = {s->q, s->v, s->act, &s->cache};
    tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench};
    tg_status status = tg_step(s->m, s->w, &s->options, &state, &control, &state, NULL);
    if (status != expected || strstr(tg_work_message(s->w), message) == NULL)
        fail_msg("%s: '%s', expected %s: '%s'", tg_status_string(status), tg_work_message(s->w),
                 tg_status_string(expected), message);
    assert_memory_equal(q, s->q, sizeof(double) * (size_t)s->n.nq);
    assert_memory_equal(v, s->v, sizeof(double) * (size_t)s->n.nv);
}

static void test_numbers_that_are_none(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    sim *s = sim_open(scene);
    const struct
    {
        const char *name;
        double *at;
        int n;
    } input[] = {
        {"q", s->q, s->n.nq},   {"in.v", s->v, s->n.nv},          {"in.act", s->act, s->n.na},
        {"control.u", s->u, 1}, {"control.tau", s->tau, s->n.nv}, {"control.wrench", s->wrench, 6 * s->n.nbody}};
    for (size_t k = 0; k < sizeof input / sizeof input[0]; k++)
        for (int i = 0; i < input[k].n; i++)
            for (int b = 0; b < 3; b++)
            {
                char message[64];
                double kept = input[k].at[i];
                snprintf(message, sizeof message, "%s[%d]", input[k].name, i);
                input[k].at[i] = bad[b];
                expect_refusal(s, TG_ERR_VALUE, message);
                input[k].at[i] = kept;
            }
    sim_step(s); /* and none of that broke the workspace */
    sim_close(s);
}

static void test_options(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    const tg_options good = s->options;
#define WITH(field, value, status, message)                                                                            \
    s->options = good;                                                                                                 \
    s->options.field = value;                                                                                          \
    expect_refusal(s, status, message)
    WITH(dt, -1e-3, TG_ERR_VALUE, "dt = -0.001");
    WITH(dt, NAN, TG_ERR_VALUE, "dt = nan");
    WITH(dt, INFINITY, TG_ERR_VALUE, "dt = inf");
    WITH(dt, 2e6, TG_ERR_VALUE, "dt = 2e+06");
    WITH(tolerance, 0, TG_ERR_VALUE, "tolerance = 0");
    WITH(tolerance, NAN, TG_ERR_VALUE, "tolerance = nan");
    WITH(push_speed, -1, TG_ERR_VALUE, "push_speed = -1");
    WITH(push_gain, 1.5, TG_ERR_VALUE, "push_gain = 1.5");
    WITH(rest_speed, -1, TG_ERR_VALUE, "rest_speed = -1");
    WITH(solver, "magic", TG_ERR_NAME, "magic");
    WITH(solver, NULL, TG_ERR_NAME, "solver");
    WITH(restitution, (tg_restitution)7, TG_ERR_VALUE, "restitution = 7");
    WITH(cookie, 0, TG_ERR_ARGUMENT, "tg_default_options");
#undef WITH
    sim_close(s);
}

static void test_arrays(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    tg_state good = {s->q, s->v, s->act, NULL};
    tg_cache cache = {.capacity = 2, .count = 3};
    const struct
    {
        tg_state in;
        const char *name;
    } wrong[] = {{{NULL, s->v, s->act, NULL}, ".q is NULL"},
                 {{s->q, NULL, s->act, NULL}, ".v is NULL"},
                 {{s->q, s->v, NULL, NULL}, ".act is NULL"},
                 {{s->q, s->v, s->act, &cache}, ".cache"}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
    {
        tg_state bad = wrong[i].in;
        assert_int_equal(tg_step(s->m, s->w, NULL, &bad, NULL, &good, NULL), TG_ERR_ARGUMENT);
        assert_non_null(strstr(tg_work_message(s->w), wrong[i].name));
        assert_non_null(strstr(tg_work_message(s->w), "in"));
        assert_int_equal(tg_step(s->m, s->w, NULL, &good, NULL, &bad, NULL), TG_ERR_ARGUMENT);
        assert_non_null(strstr(tg_work_message(s->w), wrong[i].name));
        assert_non_null(strstr(tg_work_message(s->w), "out"));
    }
    assert_int_equal(tg_step(s->m, s->w, NULL, NULL, NULL, &good, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_step(s->m, s->w, NULL, &good, NULL, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_step(NULL, s->w, NULL, &good, NULL, &good, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_step(s->m, NULL, NULL, &good, NULL, &good, NULL), TG_ERR_ARGUMENT);
    sim *other = sim_open(scene);
    assert_int_equal(tg_step(s->m, other->w, NULL, &good, NULL, &good, NULL), TG_ERR_ARGUMENT);
    sim_close(other);
    sim_close(s);
}

static void test_contacts_without_a_step(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    tg_step_contact contact[8];
    int count = -1;
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, 8, &count), TG_ERR_STALE);
    assert_int_equal(count, -1);
    sim_step(s);
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, 2, &count), TG_OK);
    assert_int_equal(count, 4);
    assert_int_equal(tg_step_contacts(s->m, s->w, NULL, 0, &count), TG_OK);
    assert_int_equal(tg_step_contacts(s->m, s->w, NULL, 1, &count), TG_ERR_ARGUMENT);
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, -1, &count), TG_ERR_ARGUMENT);
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, 8, NULL), TG_ERR_ARGUMENT);
    s->v[0] = NAN;
    expect_refusal(s, TG_ERR_VALUE, "in.v[0]");
    assert_int_equal(tg_step_contacts(s->m, s->w, contact, 8, &count), TG_ERR_STALE);
    sim_close(s);
}

/* Velocities, forces and places so large that a step overflows are refused; smaller ones are stepped. Nothing is NaN.
 */
static void test_huge_numbers(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    double *const input[] = {s->q, s->v, s->tau, s->wrench + 6};
    const int length[] = {s->n.nq, s->n.nv, s->n.nv, 6};
    int refused = 0, stepped = 0;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < length[k]; i++)
            for (int exponent = 3; exponent <= 308; exponent += exponent < 20 ? 4 : 48)
            {
                sim_reset(s);
                input[k][i] = pow(10, exponent);
                double q[64], v[64];
                memcpy(q, s->q, sizeof(double) * (size_t)s->n.nq);
                memcpy(v, s->v, sizeof(double) * (size_t)s->n.nv);
                tg_state at = {s->q, s->v, s->act, &s->cache};
                tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench};
                tg_status status = tg_step(s->m, s->w, &s->options, &at, &control, &at, NULL);
                refused += status != TG_OK;
                stepped += status == TG_OK;
                if (status != TG_OK)
                {
                    assert_true(strlen(tg_work_message(s->w)) > 0);
                    assert_memory_equal(q, s->q, sizeof(double) * (size_t)s->n.nq);
                    assert_memory_equal(v, s->v, sizeof(double) * (size_t)s->n.nv);
                }
                for (int j = 0; j < s->n.nq; j++)
                    assert_true(isfinite(s->q[j]));
                for (int j = 0; j < s->n.nv; j++)
                    assert_true(isfinite(s->v[j]));
            }
    assert_true(refused > 0 && stepped > 0);
    sim_close(s);
}

static void test_quaternion_of_length_zero(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    memset(s->q + 3, 0, sizeof(double) * 4);
    expect_kept(s, TG_ERR_VALUE, "q[3..6]: a quaternion");
    sim_close(s);
}

/* A body that moves without mass is refused when the model is made, and when its mass is taken away later. */
static void test_massless_bodies(void **state)
{
    (void)state;
    static const char *const massless = "<mujoco><worldbody><body><freejoint name='ghost'/>"
                                        "<geom type='sphere' size='0.1' mass='0'/></body></worldbody></mujoco>";
    tg_model *m = NULL;
    tg_error error;
    assert_int_equal(tg_load_string(massless, strlen(massless), NULL, NULL, &m, &error), TG_ERR_MODEL);
    assert_non_null(strstr(error.message, "ghost"));
    sim *s = sim_open(scene);
    tg_params *params = NULL;
    int offset, size;
    assert_int_equal(tg_params_create(s->m, &params, NULL), TG_OK);
    assert_int_equal(tg_param_find(s->m, "body.box.mass", &offset, &size, NULL), TG_OK);
    tg_params_data(params)[offset] = 0;
    assert_int_not_equal(tg_params_changed(params, &error), TG_OK);
    assert_non_null(strstr(error.message, "box"));
    assert_int_equal(tg_work_set_params(s->w, params), TG_OK);
    expect_kept(s, TG_ERR_STALE, "tg_params_changed");
    tg_work_destroy(s->w);
    s->w = NULL;
    tg_params_destroy(params);
    sim_close(s);
}

/* Two hinges on one axis with next to nothing between them: their mass matrix is singular. With armature it is not. */
static void test_singular_mass_matrix(void **state)
{
    (void)state;
    static const char *const format =
        "<mujoco><default><joint armature='%g'/></default><worldbody><body><joint name='first' axis='0 1 0'/>"
        "<inertial pos='0 0 0' mass='1e-15' diaginertia='1e-15 1e-15 1e-15'/>"
        "<body><joint name='second' axis='0 1 0'/><geom type='sphere' size='0.1' pos='1 0 0' "
        "mass='1000'/></body></body>"
        "</worldbody></mujoco>";
    sim *s = sim_open(text(format, 0.01));
    sim_step(s);
    sim_close(s);
    s = sim_open(text(format, 0.));
    expect_kept(s, TG_ERR_NUMERIC, "mass matrix");
    sim_close(s);
}

/* A loop stretched to a line, where its rows lose their rank, is stepped: nothing blows up. */
static void test_singular_loop(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0' type='capsule' "
                      "size='0.02' mass='1'/>"
                      "<joint axis='0 1 0'/></default><worldbody><body name='a'><joint/><geom fromto='0 0 0 0.5 0 0'/>"
                      "<body name='b' pos='0.5 0 0'><joint/><geom fromto='0 0 0 0.5 0 0'/></body></body></worldbody>"
                      "<equality><connect body1='b' body2='world' anchor='0.5 0 0'/></equality></mujoco>");
    for (int project = 0; project < 2; project++)
    {
        sim_reset(s);
        s->options.project = project == 1;
        for (int i = 0; i < 200; i++)
        {
            sim_step(s);
            check_below("speed", norm(2, s->v), 0.1);
        }
    }
    sim_close(s);
}

/* Four contact points and room for two. */
static void test_too_many_contacts(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    tg_work *large = s->w;
    assert_int_equal(tg_work_create_for(s->m, 2, &s->w, NULL), TG_OK);
    expect_refusal(s, TG_ERR_CAPACITY, "4 contact points, the workspace has room for 2");
    expect_kept(s, TG_ERR_CAPACITY, "4 contact points, the workspace has room for 2");
    s->q[2] = 1;
    sim_step(s); /* in the air it has room */
    tg_work_destroy(s->w);
    s->w = large;
    tg_work *w = NULL;
    assert_int_equal(tg_work_create_for(s->m, -1, &w, NULL), TG_ERR_VALUE);
    assert_int_equal(tg_work_create_for(NULL, 1, &w, NULL), TG_ERR_ARGUMENT);
    sim_close(s);
}

/* A cache of any content is a start, or is refused. */
static void test_bad_cache(void **state)
{
    (void)state;
    sim *s = sim_open(scene);
    sim_step(s);
    double v[7];
    memcpy(v, s->v, sizeof v);
    assert_true(s->cache.count > 0);
    for (int i = 0; i < 6; i++)
        s->cache.entry[0].impulse[i] = 1e12;
    tg_cache huge = s->cache;
    sim_reset(s);
    s->cache = huge;
    sim_step(s);
    for (int i = 0; i < 7; i++)
        check_near("v after a start from 1e12", s->v[i], v[i], 1e-10);
    s->cache.entry[0].impulse[0] = NAN;
    expect_refusal(s, TG_ERR_VALUE, "impulse");
    sim_close(s);
}

/* Masses that differ by more than what rounding leaves of a velocity: refused where contacts couple them, with advice;
 * apart from each other, and up to 2e7, they are taken. */
static void test_masses_that_differ(void **state)
{
    (void)state;
    const struct
    {
        double mass, gap;
        bool refused;
    } load[] = {{1e6, 0, true}, {1e5, 0, true}, {1e6, 1, false}, {1.9e4, 0, false}};
    for (size_t k = 0; k < sizeof load / sizeof *load; k++)
    {
        sim *s = sim_open(text("<mujoco><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.05'><freejoint/>"
                               "<geom type='box' size='0.05 0.05 0.05' mass='0.001'/></body><body pos='0 0 %g'>"
                               "<freejoint/><geom type='box' size='0.05 0.05 0.05' mass='%g'/></body></worldbody>"
                               "</mujoco>",
                               0.15 + load[k].gap, load[k].mass));
        if (load[k].refused)
            expect_refusal(s, TG_ERR_UNSUPPORTED, "make the light one heavier");
        else
            sim_step(s);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_are_none),
        cmocka_unit_test(test_options),
        cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_contacts_without_a_step),
        cmocka_unit_test(test_huge_numbers),
        cmocka_unit_test(test_masses_that_differ),
        cmocka_unit_test(test_quaternion_of_length_zero),
        cmocka_unit_test(test_massless_bodies),
        cmocka_unit_test(test_singular_mass_matrix),
        cmocka_unit_test(test_singular_loop),
        cmocka_unit_test(test_too_many_contacts),
        cmocka_unit_test(test_bad_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
