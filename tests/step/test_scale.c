/* A model in other units is the same model. Scaled by 2^10 and 2^-10 in length, mass and time, one at a time, with the
 * law's own speeds and lengths (push_speed, rest_speed, tolerance, v_s, reach, lever) in the scaled unit, its
 * trajectory is that of the model, scaled, bit for bit: every number is a product of powers of two and the same
 * mantissa, as long as no constant of the code has a unit.
 *
 *     test_step_scale [MODEL ...]         by default the models of the project and the robots
 *
 * Everything before the solver does (test_units.c), and so do rows of angular velocities (contact/units.h): what breaks
 * it is in the solver. Prints for every model and unit that is not the same in every bit: the first step that differs
 * and by how much v differs after 20 and after all steps. What counts: bits, or a difference below 1e-9 after 20. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/effort.h"
#include "support/units.h"

enum
{
    STEPS = 60 / TEST_EFFORT,
    SOON = STEPS < 20 ? STEPS : 20
};

/* ---- compared ---- */

typedef struct outcome
{
    int first;     /* step that differs; STEPS: none */
    bool contacts; /* so do its contact points: the solver is not the cause */
    double soon, late;
} outcome;

/* the largest difference of v, in the units of the model, over its largest entry */
static double difference(const unit_run *plain, const unit_run *scaled, bool *same)
{
    double worst = 0, size = 1e-6;
    *same = true;
    for (int i = 0; i < plain->n.nq; i++)
        *same = *same && plain->q[i] == scaled->q[i] / scaled->q_unit[i];
    for (int k = 0; k < plain->n.nv; k++)
    {
        double v = scaled->v[k] / scaled->v_unit[k];
        *same = *same && plain->v[k] == v;
        worst = fmax(worst, fabs(plain->v[k] - v));
        size = fmax(size, fabs(plain->v[k]));
    }
    return worst / size;
}

static outcome compare(const tg_model *m, const units *by)
{
    static const units one = {1, 1, 1};
    unit_run plain = unit_run_open(m, &one), scaled = unit_run_open(m, by);
    outcome out = {.first = STEPS};
    for (int i = 0; i < STEPS; i++)
    {
        bool same;
        unit_run_step(&plain, i);
        unit_run_step(&scaled, i);
        double d = difference(&plain, &scaled, &same);
        if (!same && out.first == STEPS)
        {
            out.first = i;
            out.contacts = unit_run_contacts_differ(&plain, &scaled, by->length);
        }
        out.soon = i < SOON ? fmax(out.soon, d) : out.soon;
        out.late = fmax(out.late, d);
    }
    unit_run_close(&plain);
    unit_run_close(&scaled);
    return out;
}

/* ---- models ---- */

static const char *const *models = unit_models;
static int model_count;

static int judge_model(const char *path)
{
    int failed = 0;
    tg_model *m = unit_load(path);
    for (int k = 0; k < UNIT_SCALINGS; k++)
    {
        outcome out = compare(m, &unit_scalings[k].by);
        bool bits = out.first == STEPS, holds = bits || out.soon < 1e-9;
        failed += !holds;
        if (!bits)
            print_message("%-12s from step %3d (%s): %8.1e soon, %8.1e in the end%s  %s\n", unit_scalings[k].name,
                          out.first, out.contacts ? "contacts" : "solver", out.soon, out.late, holds ? "" : "  BROKEN",
                          path);
    }
    tg_model_destroy(m);
    return failed;
}

static void test_units(void **state)
{
    (void)state;
    int failed = 0;
    for (int i = 0; i < model_count; i++)
        failed += judge_model(models[i]);
    if (failed > 0)
        fail_msg("%d of %d runs in other units differ by 1e-9 or more after 20 steps", failed,
                 UNIT_SCALINGS * model_count);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_units)};
    model_count = unit_model_count;
    if (argc > 1)
    {
        models = (const char *const *)(argv + 1);
        model_count = argc - 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
