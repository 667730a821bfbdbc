/* Everything before the solver, in other units: the velocities without constraints, contact points and the number of
 * rows are those of the model, scaled, bit for bit, at every state of a trajectory. Every number is a product of powers
 * of two and the same mantissa, as long as no constant of the code has a unit. (Whole trajectories:
 * test_scale.c.) */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dynamics/work.h"
#include "step/work.h"
#include "support/effort.h"
#include "support/units.h"

enum
{
    STEPS = 30 / TEST_EFFORT
};

typedef struct problems
{
    int smooth, contacts, rows; /* steps in which they differ */
} problems;

static problems compare_problems(const tg_model *m, const units *by)
{
    static const units one = {1, 1, 1};
    unit_run plain = unit_run_open(m, &one), scaled = unit_run_open(m, by);
    problems out = {0};
    for (int i = 0; i < STEPS; i++)
    {
        bool same = true;
        unit_run_follow(&plain, &scaled);
        unit_run_step(&plain, i);
        unit_run_step(&scaled, i);
        for (int k = 0; k < plain.n.nv; k++)
            same = same && plain.w->step->v_free[k] == scaled.w->step->v_free[k] / scaled.v_unit[k];
        out.smooth += !same;
        out.contacts += unit_run_contacts_differ(&plain, &scaled, by->length);
        out.rows += plain.w->rows->nrow != scaled.w->rows->nrow;
    }
    unit_run_close(&plain);
    unit_run_close(&scaled);
    return out;
}

static void test_problems(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < unit_model_count; i++)
    {
        tg_model *m = unit_load(unit_models[i]);
        for (int k = 0; k < UNIT_SCALINGS; k++)
        {
            problems p = compare_problems(m, &unit_scalings[k].by);
            if (p.smooth + p.contacts + p.rows == 0)
                continue;
            failed++;
            print_message("%-12s of %d steps differ: %d in free velocities, %d in contacts, %d in rows  %s\n",
                          unit_scalings[k].name, STEPS, p.smooth, p.contacts, p.rows, unit_models[i]);
        }
        tg_model_destroy(m);
    }
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_problems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
