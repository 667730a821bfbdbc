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
    int steps = 1000 / TEST_EFFORT, islands = 0, met = 0;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_objects_apart_and_together),
        cmocka_unit_test(test_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
