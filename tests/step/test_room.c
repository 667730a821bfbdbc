/* What a workspace says about its room for contacts, and the names of the solvers. */
#include "step_test.h"

#include "tangere/tangere.h"

static const char box[] = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.1'><freejoint/>"
                          "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody></mujoco>";

static tg_model *load_box(void)
{
    tg_model *m = NULL;
    assert_int_equal(tg_load_string(box, strlen(box), ".", NULL, &m, NULL), TG_OK);
    return m;
}

static tg_status step_box(const tg_model *m, tg_work *w)
{
    double q[7], v[6] = {0};
    tg_state state = {.q = q, .v = v};
    assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
    return tg_step(m, w, NULL, &state, NULL, &state, NULL);
}

/* the number found says how large a workspace is needed, also where the step failed */
static void room_and_found(void **state)
{
    (void)state;
    tg_model *m = load_box();
    tg_work *w = NULL;
    int room = -1, found = -1;
    assert_int_equal(tg_work_create_for(m, 3, &w, NULL), TG_OK);
    tg_work_contacts(w, &room, &found);
    assert_int_equal(room, 3);
    assert_int_equal(found, 0);
    assert_int_equal(step_box(m, w), TG_ERR_CAPACITY);
    tg_work_contacts(w, NULL, &found);
    assert_int_equal(found, 4);
    tg_work_destroy(w);
    assert_int_equal(tg_work_create_for(m, found, &w, NULL), TG_OK);
    assert_int_equal(step_box(m, w), TG_OK);
    tg_work_contacts(w, &room, &found);
    assert_int_equal(room, 4);
    assert_int_equal(found, 4);
    tg_work_destroy(w);
    tg_work_contacts(NULL, &room, &found);
    assert_int_equal(room + found, 0);
    tg_model_destroy(m);
}

/* every name that is listed is taken, the default first */
static void solver_names(void **state)
{
    (void)state;
    tg_model *m = load_box();
    tg_work *w = NULL;
    tg_options options = tg_default_options();
    double q[7], v[6] = {0};
    tg_state at = {.q = q, .v = v};
    int n = 0;
    assert_int_equal(tg_work_create(m, &w, NULL), TG_OK);
    assert_string_equal(tg_solver_name(0), options.solver);
    for (; tg_solver_name(n) != NULL; n++)
    {
        options.solver = tg_solver_name(n);
        assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
        assert_int_equal(tg_step(m, w, &options, &at, NULL, &at, NULL), TG_OK);
    }
    assert_true(n >= 3);
    assert_null(tg_solver_name(-1));
    tg_work_destroy(w);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(room_and_found), cmocka_unit_test(solver_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
