/* Every step has its certificate: a hand with random controls, heaps in a bin, a heavy body on a light one. A mass
 * ratio that is too large for it may be refused, with advice. Prints for every scene that has steps without one how
 * many, and the worst residual. TANGERE_HEAPS=first:count (`make unsolved`) is the long version, with the seeds of the
 * heaps: which hard problems come up is chance, so that many heaps say more than one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/numbers.h"
#include "tangere/tangere.h"

enum
{
    TEXT = 1 << 18,
    ROOM_PER_BODY = 32,
    REFUSED = -1
};

/* of the long version: what a test run has time for */
enum
{
    SHARE = 10
};

static const char *const hand = TANGERE_SHARED "/robots/hard/shadow_hand.xml";

/* ---- runs ---- */

static bool is_long(void)
{
    return getenv("TANGERE_HEAPS") != NULL;
}

static double uniform(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) * 0x1p-53;
}

static void draw_controls(const tg_model *m, uint64_t *seed, double *u)
{
    for (int i = 0; i < tg_model_sizes(m).nu; i++)
    {
        char name[64];
        int at, size;
        tg_actuator_info info;
        snprintf(name, sizeof name, "actuator.#%d.ctrl_range", i);
        assert_int_equal(tg_actuator_get(m, i, &info, NULL), TG_OK);
        assert_int_equal(tg_param_find(m, name, &at, &size, NULL), TG_OK);
        const double *range = tg_params_view(tg_model_params(m)) + at;
        double low = info.ctrl_limited ? range[0] : -1, high = info.ctrl_limited ? range[1] : 1;
        u[i] = low + (high - low) * uniform(seed);
    }
}

/* How many of so many steps are not solved; REFUSED: one was, and says why. hold: steps with the same
 * controls; 0: none. */
static int count_unsolved(const tg_model *m, const char *name, int steps, int hold, uint64_t seed)
{
    tg_sizes n = tg_model_sizes(m);
    int room = 256 + ROOM_PER_BODY * n.nbody, unsolved = 0;
    double *q = numbers(n.nq), *v = numbers(n.nv), *act = numbers(n.na), *u = numbers(n.nu), worst = 0;
    tg_cache cache = {room, 0, calloc((size_t)room, sizeof(tg_cache_entry))};
    tg_state state = {q, v, act, &cache};
    tg_control control = {.u = u};
    tg_work *w;
    tg_info info;
    assert_int_equal(tg_work_create_for(m, room, &w, NULL), TG_OK);
    assert_int_equal(tg_default_q(m, q, NULL), TG_OK);
    for (int i = 0; i < steps && unsolved != REFUSED; i++)
    {
        if (hold > 0 && i % hold == 0)
            draw_controls(m, &seed, u);
        tg_status status = tg_step(m, w, NULL, &state, &control, &state, &info);
        if (status != TG_OK && strstr(tg_work_message(w), "masses that differ") != NULL)
            unsolved = REFUSED;
        else if (status != TG_OK)
            fail_msg("%s, step %d: %s", name, i, tg_work_message(w));
        else if (info.status != TG_STEP_SOLVED)
        {
            unsolved++;
            worst = fmax(worst, info.residual);
        }
    }
    if (unsolved == REFUSED)
        print_message("%-28s refused: %s\n", name, tg_work_message(w));
    else if (unsolved > 0)
        print_message("%-28s %d of %d steps not solved, worst residual %.1e m/s\n", name, unsolved, steps, worst);
    free(q);
    free(v);
    free(act);
    free(u);
    free(cache.entry);
    tg_work_destroy(w);
    return unsolved;
}

static tg_model *load_text(const char *text)
{
    tg_model *m;
    tg_error error;
    if (tg_load_string(text, strlen(text), NULL, NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

/* ---- scenes ---- */

static void test_hand(void **state)
{
    (void)state;
    tg_model *m;
    int unsolved = 0;
    assert_int_equal(tg_load(hand, NULL, &m, NULL), TG_OK);
    int hold = (int)lround(0.1 / tg_model_timestep(m));
    for (uint64_t seed = 0; seed < (is_long() ? 60 : 60 / SHARE); seed++)
    {
        char name[64];
        snprintf(name, sizeof name, "shadow hand, seed %d", (int)seed);
        unsolved += count_unsolved(m, name, 6 * hold, hold, seed + 1);
    }
    tg_model_destroy(m);
    assert_int_equal(unsolved, 0);
}

/* bodies of 10 cm, turned at random, that fall into a bin */
static tg_model *heap(int count, bool mixed, uint64_t seed)
{
    static const char *const shape[] = {"type='box' size='0.05 0.05 0.05'", "type='capsule' size='0.03 0.05'",
                                        "type='cylinder' size='0.04 0.05'", "type='sphere' size='0.05'",
                                        "type='ellipsoid' size='0.05 0.04 0.03'"};
    char *text = calloc(TEXT, 1);
    int side = (int)ceil(cbrt(count / 2.0)), used = 0;
    double half = 0.075 * side + 0.05, high = 0.1 * side + 0.3;
    used += snprintf(text, TEXT, "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/>");
    for (int k = 0; k < 4; k++)
        used += snprintf(text + used, TEXT - (size_t)used, "<geom type='box' pos='%g %g %g' size='%g %g %g'/>",
                         k % 2 ? 0 : (k - 1) * (half + 0.05), k % 2 ? (k - 2) * (half + 0.05) : 0, high / 2,
                         k % 2 ? half + 0.1 : 0.05, k % 2 ? 0.05 : half + 0.1, high / 2);
    for (int i = 0; i < count; i++)
    {
        double turn[4];
        for (int k = 0; k < 4; k++)
            turn[k] = uniform(&seed) - 0.5;
        used += snprintf(text + used, TEXT - (size_t)used,
                         "<body pos='%g %g %g' quat='%g %g %g %g'><freejoint/><geom %s mass='1'/></body>",
                         0.15 * (i % side - (side - 1) / 2.0), 0.15 * (i / side % side - (side - 1) / 2.0),
                         0.1 + 0.16 * (i / side / side), turn[0], turn[1], turn[2], turn[3], shape[mixed ? i % 5 : 0]);
    }
    snprintf(text + used, TEXT - (size_t)used, "</worldbody></mujoco>");
    tg_model *m = load_text(text);
    free(text);
    return m;
}

static int count_in_heaps(int bodies, bool mixed, int steps, int heaps)
{
    const char *given = getenv("TANGERE_HEAPS");
    int first = 1, unsolved = 0;
    if (given != NULL && sscanf(given, "%d:%d", &first, &heaps) != 2)
        fail_msg("TANGERE_HEAPS=%s: first:count", given);
    for (int seed = first; seed < first + heaps; seed++)
    {
        char name[64];
        snprintf(name, sizeof name, "%d %s in a bin, seed %d", bodies, mixed ? "mixed shapes" : "boxes", seed);
        tg_model *m = heap(bodies, mixed, (uint64_t)seed);
        unsolved += count_unsolved(m, name, steps, 0, 0);
        tg_model_destroy(m);
    }
    return unsolved;
}

static void test_mixed_heap(void **state)
{
    (void)state;
    assert_int_equal(is_long() ? count_in_heaps(100, true, 600, 3) : count_in_heaps(20, true, 600 / SHARE, 1), 0);
}

static void test_heap_of_boxes(void **state)
{
    (void)state;
    assert_int_equal(is_long() ? count_in_heaps(300, false, 550, 1) : count_in_heaps(30, false, 550 / SHARE, 1), 0);
}

/* a heavy body on a light box: equal boxes, one above the other or beside it, a large box, a ball; lying, or dropped */
static const struct
{
    const char *name, *geom;
    double half, x, gap;
} loads[] = {
    {"box", "type='box' size='0.05 0.05 0.05'", 0.05, 0, 0},
    {"box, beside", "type='box' size='0.05 0.05 0.05'", 0.05, 0.003, 0},
    {"box, dropped", "type='box' size='0.05 0.05 0.05'", 0.05, 0.003, 0.01},
    {"large box", "type='box' size='0.5 0.5 0.5'", 0.5, 0.01, 0},
    {"large box, dropped", "type='box' size='0.5 0.5 0.5'", 0.5, 0.01, 0.01},
    {"ball", "type='sphere' size='0.1'", 0.1, 0, 0},
};

static int judge_load(int kind, int power)
{
    char text[1000], name[64];
    snprintf(text, sizeof text,
             "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 1'/><body pos='0 0 0.05'>"
             "<freejoint/><geom type='box' size='0.05 0.05 0.05' mass='0.001'/></body><body pos='%g 0.002 %g'>"
             "<freejoint/><geom %s mass='%g'/></body></worldbody></mujoco>",
             loads[kind].x, 0.1 + loads[kind].half + loads[kind].gap, loads[kind].geom, 1e-3 * pow(10, power));
    snprintf(name, sizeof name, "ratio 1e%d, %s", power, loads[kind].name);
    tg_model *m = load_text(text);
    int unsolved = count_unsolved(m, name, is_long() ? 2000 : 2000 / SHARE, 0, 0);
    tg_model_destroy(m);
    return unsolved;
}

/* Ratios up to 1e7 must be solved; larger ones (1e6 kg on 1 g) solved, or refused with advice. */
static void test_mass_ratios(void **state)
{
    (void)state;
    int bad = 0;
    for (int power = 7; power <= 9; power++)
        for (int kind = 0; kind < (int)(sizeof loads / sizeof *loads); kind++)
        {
            int unsolved = judge_load(kind, power);
            bad += unsolved > 0 || (unsolved == REFUSED && power < 8);
        }
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mass_ratios), cmocka_unit_test(test_hand),
                                       cmocka_unit_test(test_mixed_heap), cmocka_unit_test(test_heap_of_boxes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
