/* Problems with two solutions: the label says so, and the cache decides between them unless the step is cold. */
#include "flight.h"

typedef struct result
{
    double q[64], v[64];
    tg_info info;
} result;

static result take(sim *s, bool cold, const double *q, const double *v, tg_cache *cache)
{
    result r;
    tg_state in = {(double *)q, (double *)v, NULL, cache}, out = {r.q, r.v, NULL, NULL};
    s->options.cold = cold;
    if (tg_step(s->m, s->w, &s->options, &in, &(tg_control){.u = s->u}, &out, &r.info) != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
    return r;
}

static bool is_twofold(sim *s)
{
    double gv[64] = {0}, dv[64];
    tg_label label;
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = gv}, &(tg_cotangent){.v = dv}, &label), TG_OK);
    return label.twofold;
}

static double apart(int n, const double *a, const double *b)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i] - b[i]));
    return most;
}

/* A quadruped that is thrown about. Where a cold step says twofold, the cache leads to another solution, both are
 * certified, and the cold step does not follow the cache; where it says nothing, the two steps are one. */
static void test_label(void **state)
{
    (void)state;
    enum
    {
        STEPS = 6000 / TEST_EFFORT
    };
    sim *s = open_file("models/quadruped.xml");
    int nq = s->n.nq, nv = s->n.nv, found = 0, checked = 0;
    s->options.energy = false;
    assert_true(nq <= 64 && s->n.na == 0);
    for (int t = 0; t < STEPS; t++)
    {
        if (t % 250 == 0)
            sim_reset(s);
        for (int i = 0; i < s->n.nu && t % 20 == 0; i++)
            s->u[i] = 0.5 * noise();
        result warm = take(s, false, s->q, s->v, &s->cache), cold = take(s, true, s->q, s->v, &s->cache);
        bool twofold = is_twofold(s);
        result none = take(s, true, s->q, s->v, NULL);
        assert_int_equal(apart(nv, cold.v, none.v), 0);
        if (warm.info.status == TG_STEP_SOLVED && cold.info.status == TG_STEP_SOLVED)
        {
            double off = apart(nv, warm.v, cold.v);
            if (twofold)
                assert_true(off > 1e-7);
            else
                check_below("warm and cold, one solution", off, 1e-3);
            found += twofold;
            checked++;
        }
        s->options.cold = true;
        tg_state at = {s->q, s->v, NULL, &s->cache};
        assert_int_equal(tg_step(s->m, s->w, &s->options, &at, &(tg_control){.u = s->u}, &at, NULL), TG_OK);
    }
    print_message("two solutions in %d of %d steps\n", found, checked);
    assert_true(found > 2 / TEST_EFFORT && checked > STEPS / 2);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_label)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
