/* The warm start of an island that failed pauses, and what stays open is left out: the outcome is the same. A push that
 * contradicts itself pauses, too, and comes back; one that would shoot something off is left out. */
#include "contact/rows.h"
#include "flight.h"

enum
{
    ROOM = 64
};

typedef struct result
{
    double v[ROOM], gradient[ROOM];
    tg_info info;
    tg_label label;
} result;

/* a step and the gradient of the sum of its velocities with respect to v */
static result take(sim *s, tg_cache *cache)
{
    result r;
    double q[ROOM], ones[ROOM];
    tg_state in = {s->q, s->v, NULL, cache}, out = {q, r.v, NULL, NULL};
    for (int k = 0; k < ROOM; k++)
        ones[k] = 1;
    if (tg_step(s->m, s->w, &s->options, &in, &(tg_control){.u = s->u}, &out, &r.info) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    tg_cotangent gradient = {.v = r.gradient};
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = ones}, &gradient, &r.label), TG_OK);
    return r;
}

static double apart(int n, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* the cache without counts of warm starts; whether there were any that pause */
static bool forget_pauses(const tg_model *m, const tg_cache *from, tg_cache *to)
{
    bool any = false;
    to->count = 0;
    for (int i = 0; i < from->count; i++)
    {
        bool count = false;
        for (int t = 0; t < m->ntree; t++)
            for (int k = TG_ATTEMPT_WARM; k <= TG_ATTEMPT_WARM_RELAXED; k++)
                count = count || from->entry[i].id == tg_constraint_id(TG_SOURCE_CONTACT, k, t);
        if (!count)
            to->entry[to->count++] = from->entry[i];
        any = any || (count && from->entry[i].impulse[0] > 0);
    }
    return any;
}

/* Thrown about, with and without pauses: certified alike, and where the solution is the same one its derivatives are,
 * too. In a few problems there are several. */
static void check_model(const char *path, int steps, int least)
{
    sim *s = open_file(path);
    tg_cache plain = {.capacity = s->cache.capacity, .entry = calloc((size_t)s->cache.capacity, sizeof *plain.entry)};
    int nv = s->n.nv, paused = 0, same = 0, exact = 0;
    assert_true(s->n.nq <= ROOM && s->n.na == 0);
    s->options.energy = false;
    for (int t = 0; t < steps; t++)
    {
        if (t % 250 == 0)
            sim_reset(s);
        for (int i = 0; i < s->n.nu && t % 20 == 0; i++)
            s->u[i] = 0.5 * noise();
        if (forget_pauses(s->m, &s->cache, &plain))
        {
            result with = take(s, &s->cache), without = take(s, &plain);
            paused++;
            assert_int_equal(with.info.status, TG_STEP_SOLVED);
            assert_int_equal(without.info.status, TG_STEP_SOLVED);
            bool one = apart(nv, with.v, without.v) < 1e-6;
            same += one;
            if (one && with.label.kind == TG_LABEL_EXACT && without.label.kind == TG_LABEL_EXACT)
            {
                double scale = 1;
                for (int k = 0; k < nv; k++)
                    scale = fmax(scale, fabs(without.gradient[k]));
                check_below("gradient", apart(nv, with.gradient, without.gradient) / scale, 1e-5);
                exact++;
            }
        }
        tg_state at = {s->q, s->v, NULL, &s->cache};
        assert_int_equal(tg_step(s->m, s->w, &s->options, &at, &(tg_control){.u = s->u}, &at, NULL), TG_OK);
    }
    print_message("%s: %d of %d steps paused, %d the same, %d exact\n", path, paused, steps, same, exact);
    assert_true(paused > least / TEST_EFFORT && exact > least / TEST_EFFORT / 2);
    assert_true(same >= 0.95 * paused);
    free(plain.entry);
    sim_close(s);
}

static void test_same_outcome(void **state)
{
    (void)state;
    check_model("models/planar_walker.xml", 3000 / TEST_EFFORT, 10);
    check_model("models/humanoid36.xml", 3000 / TEST_EFFORT, 50);
}

/* Counts that no step writes do no harm: they are nothing, or the first failure ends them. */
static void test_wrong_counts(void **state)
{
    (void)state;
    sim *s = open_file("models/quadruped.xml");
    sim_run(s, 200);
    static const double wrong[] = {-1, 1e300, NAN, INFINITY};
    result none = take(s, &s->cache);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    {
        tg_cache cache = {.capacity = s->cache.count + 1, .count = s->cache.count};
        cache.entry = calloc((size_t)cache.capacity, sizeof *cache.entry);
        forget_pauses(s->m, &s->cache, &cache);
        tg_cache_entry *entry = &cache.entry[cache.count++];
        *entry = (tg_cache_entry){.id = tg_constraint_id(TG_SOURCE_CONTACT, 0, 0)};
        for (int k = 0; k < 6; k++)
            entry->impulse[k] = wrong[i];
        result r = take(s, &cache);
        assert_int_equal(r.info.status, TG_STEP_SOLVED);
        check_below("velocities", apart(s->n.nv, r.v, none.v), 1e-7);
        free(cache.entry);
    }
    sim_close(s);
}

/* Limits of b and c and a tendon contradict each other while b = c = 0. The push pauses for longer and longer, at most
 * for 15 steps, and v+ = 0 with and without the pause. With b = -0.5, c = 0.6 the limit of c is alone: it is pushed out
 * with push_speed after at most 16 steps, and then in every step; with `cold` at once. */
static void check_push(double overlap)
{
    enum
    {
        LONGEST = 15
    };
    static const char model[] =
        "<mujoco><option timestep='0.002'/><worldbody><body>"
        "<joint name='b' type='slide' axis='1 0 0' range='-1 -%g' limited='true'/>"
        "<geom type='sphere' size='0.05' mass='0.5' contype='0' conaffinity='0'/><body>"
        "<joint name='c' type='slide' axis='1 0 0' range='-1 -%g' limited='true'/>"
        "<geom type='sphere' size='0.05' mass='0.5' contype='0' conaffinity='0'/></body></body></worldbody>"
        "<tendon><fixed name='sum' range='%g 1' limited='true'><joint joint='b' coef='1'/>"
        "<joint joint='c' coef='1'/></fixed></tendon></mujoco>";
    char text[sizeof model + 100];
    snprintf(text, sizeof text, model, overlap, overlap, overlap);
    sim *s = sim_open(text);
    int c = sim_v(s, "c"), waited = 0;
    for (int k = 0; k < 4 * LONGEST; k++)
    {
        sim_step(s);
        assert_int_equal(s->info.status, TG_STEP_SOLVED);
        check_below("speed", fmax(fabs(s->v[0]), fabs(s->v[1])), 1e-8);
    }
    s->q[sim_q(s, "b")] = -0.5;
    s->q[sim_q(s, "c")] = 0.6;
    s->options.cold = true;
    result cold = take(s, &s->cache);
    check_near("pushed out at once", cold.v[c], -s->options.push_speed, 1e-9);
    s->options.cold = false;
    for (; fabs(s->v[c]) < 1e-8 && waited <= LONGEST + 1; waited++)
        sim_step(s);
    assert_in_range(waited, 2, LONGEST + 1); /* it did pause */
    for (int k = 0; k < LONGEST; k++, sim_step(s))
        check_near("pushed out", s->v[c], -s->options.push_speed, 1e-9);
    sim_close(s);
}

/* with overlaps of centimetres and of micrometres */
static void test_push_comes_back(void **state)
{
    (void)state;
    check_push(0.01);
    check_push(1e-6);
}

/* A box is jammed between a floor and a ceiling that is tilted by 0.05: both push, and friction holds it. That the
 * solution with compliance has no limit is seen from its impulses with more compliance, not by following it down, which
 * takes twice as many factorisations. */
static void test_contradiction_is_seen_early(void **state)
{
    (void)state;
    sim *s = sim_open("<mujoco><option timestep='0.002'/><default><geom friction='0.3'/></default><worldbody>"
                      "<geom type='plane' size='1 1 1'/>"
                      "<geom type='plane' pos='0 0 0.19' euler='182.865 0 0' size='1 1 1'/>"
                      "<body pos='0 0 0.095'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>"
                      "</worldbody></mujoco>");
    sim_step(s);
    assert_int_equal(s->info.status, TG_STEP_SOLVED);
    check_below("speed", fabs(s->v[2]), 1e-8);
    assert_in_range(s->info.iterations, 1, 7);
    sim_close(s);
}

/* A ball at the end of an arm is 0.1 mm in a wall, off the arm's axis by `aside`: a push with push_speed turns the arm
 * with push_speed / aside. Nearly stretched against the wall it would be shot off: no push. */
static void check_stretched(double aside, bool pushed)
{
    static const char model[] =
        "<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody>"
        "<geom type='plane' pos='0.2 0 0' zaxis='-1 0 0' size='1 1 1' condim='1'/>"
        "<body><joint type='hinge' axis='0 0 1'/><geom type='sphere' size='0.05' pos='0.1501 %g 0' mass='1' "
        "condim='1'/></body></worldbody></mujoco>";
    char text[sizeof model + 20];
    snprintf(text, sizeof text, model, aside);
    sim *s = sim_open(text);
    sim_step(s);
    assert_int_equal(s->info.status, TG_STEP_SOLVED);
    check_near("speed", fabs(s->v[0]), pushed ? s->options.push_speed / aside : 0, 1e-9);
    sim_close(s);
}

static void test_push_does_not_shoot_off(void **state)
{
    (void)state;
    check_stretched(0.1, true);
    check_stretched(0.02, true);
    check_stretched(1e-4, false);
}

/* A box that lies on four corners has 12 rows that carry something, and 6 dofs: no warm start, which a ball of 3 rows
 * has. With `cold` both have it, and the box does the same. */
static void test_wide_island(void **state)
{
    static const char *const geom[2] = {"<geom type='box' size='0.1 0.1 0.05' mass='1'/>",
                                        "<geom type='sphere' size='0.05' mass='1'/>"};
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        char text[512];
        snprintf(text, sizeof text,
                 "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 0.05'><freejoint/>%s</body>"
                 "</worldbody></mujoco>",
                 geom[k]);
        sim *s = sim_open(text);
        for (int i = 0; i < 20; i++)
            sim_step(s);
        result r = take(s, &s->cache);
        assert_int_equal(r.info.stage, k == 0 ? TG_SOLVED_BY_SOFT : TG_SOLVED_BY_WARM);
        s->options.cold = true;
        result cold = take(s, &s->cache);
        assert_int_equal(cold.info.stage, TG_SOLVED_BY_WARM);
        check_below("velocities", apart(s->n.nv, r.v, cold.v), 1e-12);
        check_below("derivatives", apart(s->n.nv, r.gradient, cold.gradient), 1e-10);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_same_outcome),
                                       cmocka_unit_test(test_wide_island),
                                       cmocka_unit_test(test_wrong_counts),
                                       cmocka_unit_test(test_push_comes_back),
                                       cmocka_unit_test(test_push_does_not_shoot_off),
                                       cmocka_unit_test(test_contradiction_is_seen_early)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
