/* Things that do not touch each other move as if they were alone. */
#include "step_test.h"

#include "support/scenes.h"

enum
{
    OBJECTS = 15
};

static sim *open_objects(int only)
{
    char *mjcf = scene_objects(OBJECTS, only);
    sim *s = sim_open(mjcf);
    free(mjcf);
    return s;
}

/* All of them at once, and each alone: the same to the last bit. */
static void test_objects_apart_and_together(void **state)
{
    (void)state;
    sim *all = open_objects(-1), *one[OBJECTS];
    int steps = TEST_EFFORT > 1 ? 400 : 1000, islands = 0, met = 0;
    for (int i = 0; i < OBJECTS; i++)
        one[i] = open_objects(i);
    for (int k = 0; k < steps; k++)
    {
        int q = 0, v = 0, contacts = 0, alone = 0;
        sim_step(all);
        islands = all->info.islands > islands ? all->info.islands : islands;
        for (int i = 0; i < OBJECTS; i++)
        {
            sim_step(one[i]);
            for (int j = 0; j < one[i]->n.nq; j++)
                if (one[i]->q[j] != all->q[q + j])
                    fail_msg("step %d, object %d: q[%d] = %.17g alone, %.17g among others", k, i, j, one[i]->q[j],
                             all->q[q + j]);
            for (int j = 0; j < one[i]->n.nv; j++)
                if (one[i]->v[j] != all->v[v + j])
                    fail_msg("step %d, object %d: v[%d] = %.17g alone, %.17g among others", k, i, j, one[i]->v[j],
                             all->v[v + j]);
            q += one[i]->n.nq;
            v += one[i]->n.nv;
            contacts += one[i]->info.contacts;
            alone += one[i]->info.islands;
            met += one[i]->info.contacts > 0;
        }
        assert_int_equal(contacts, all->info.contacts);
        assert_int_equal(alone, all->info.islands);
    }
    assert_true(islands >= OBJECTS / 2 && met > 0);
    for (int i = 0; i < OBJECTS; i++)
        sim_close(one[i]);
    sim_close(all);
}

/* A contact with the world does not join islands; one between two bodies does. */
static void test_counts(void **state)
{
    (void)state;
    sim *s =
        sim_open("<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                 "<body pos='0 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body>"
                 "<body pos='1 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body>"
                 "<body pos='1 0 0.3'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body></worldbody></mujoco>");
    sim_step(s);
    assert_int_equal(s->info.islands, 2);
    assert_int_equal(s->info.contacts, 12);
    assert_int_equal(s->info.rows, 36);
    sim_close(s);
}

/* An island too large for dense matrices: 64 boxes, each on up to four others, at rest. The floor carries their weight.
 */
static void test_large_island(void **state)
{
    (void)state;
    enum
    {
        ROOM = 1000
    };
    char *mjcf = scene_pile(4, 4);
    sim *s = sim_open(mjcf);
    free(mjcf);
    tg_work_destroy(s->w);
    assert_int_equal(tg_work_create_for(s->m, ROOM, &s->w, NULL), TG_OK);
    tg_state at = {s->q, s->v, s->act, NULL};
    tg_step_contact *contact = calloc(ROOM, sizeof *contact);
    for (int i = 0; i < 20 / TEST_EFFORT; i++)
    {
        if (tg_step(s->m, s->w, NULL, &at, NULL, &at, &s->info) != TG_OK)
            fail_msg("%s", tg_work_message(s->w));
        assert_int_equal(s->info.islands, 1);
        assert_true(s->info.rows > 640);
        check_below("residual", s->info.residual, 1e-8);
        check_below("speed", norm(s->n.nv, s->v), 1e-7);
        int count = 0;
        double floor = 0;
        assert_int_equal(tg_step_contacts(s->m, s->w, contact, ROOM, &count), TG_OK);
        assert_int_equal(count, s->info.contacts);
        for (int k = 0; k < count; k++)
            floor += contact[k].at.geom1 == 0 ? contact[k].force[2] : 0;
        check_near("force on the floor", floor, 64 * gravity, 1e-2);
    }
    free(contact);
    sim_close(s);
}

/* An island in between, at first solved in velocity space, or by the solver that is asked for: the same motion, and
 * derivatives of both. */
static void test_both_ways(void **state)
{
    (void)state;
    char *mjcf = scene_pile(2, 2);
    double v[2][200];
    for (int way = 0; way < 2; way++)
    {
        sim *s = sim_open(mjcf);
        tg_options options = tg_default_options();
        options.solver = way == 0 ? "newton" : "ipm";
        tg_state at = {s->q, s->v, s->act, NULL};
        for (int k = 0; k < s->n.nv; k++)
            s->v[k] = 0.03 * sin(1 + 2.0 * k);
        assert_true(s->n.nv <= 200);
        assert_int_equal(tg_step(s->m, s->w, &options, &at, NULL, &at, &s->info), TG_OK);
        assert_in_range(s->info.rows, 97, 240);
        assert_int_equal(s->info.islands, 1);
        assert_int_equal(s->info.status, TG_STEP_SOLVED);
        memcpy(v[way], s->v, sizeof(double) * (size_t)s->n.nv);
        double seed[200] = {1}, gradient[200] = {0};
        tg_cotangent out = {.v = seed}, in = {.v = gradient};
        assert_int_equal(tg_step_vjp(s->m, s->w, &out, &in, NULL), TG_OK);
        assert_true(gradient[0] != 0);
        for (int k = 0; way == 1 && k < s->n.nv; k++)
            check_near("v", v[1][k], v[0][k], 1e-7);
        sim_close(s);
    }
    free(mjcf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_apart_and_together),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_large_island),
        cmocka_unit_test(test_both_ways),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
