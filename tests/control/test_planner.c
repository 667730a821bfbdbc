/* Planners against closed forms, bitwise equality over threads, rollouts that blow up, costs that are no numbers. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/heap_watch.h"

#include "control/counter.h"
#include "tangere/control.h"
#include "tangere/read.h"

enum
{
    ROWS = 12
};

/* m = 2 kg on a rail: q+ = q + dt v+, v+ = v + dt u / m */
static const char rail[] =
    "<mujoco><option timestep='0.1' gravity='0 0 0'/><worldbody><body><joint name='x' type='slide' axis='1 0 0'/>"
    "<geom size='0.1' mass='2'/></body></worldbody><actuator><motor joint='x'/></actuator></mujoco>";

static tg_model *model_of(const char *text)
{
    tg_model *m = NULL;
    tg_error error;
    tg_load_options options = tg_default_load_options();
    options.allocator = &watched_allocator;
    if (tg_load_string(text, strlen(text), NULL, &options, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static tg_model *model_at(const char *name)
{
    char path[500];
    tg_model *m = NULL;
    tg_error error;
    tg_load_options options = tg_default_load_options();
    options.allocator = &watched_allocator;
    snprintf(path, sizeof path, "%s/models/%s.xml", TANGERE_ROOT, name);
    if (tg_load(path, &options, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    return m;
}

static tg_planner *planner_of(const tg_model *m, const tg_planner_def *def)
{
    tg_planner *p = NULL;
    tg_error error;
    if (tg_planner_create(m, def, &p, &error) != TG_OK)
        fail_msg("%s", error.message);
    return p;
}

static tg_plan_result plan_from(tg_planner *p, const tg_state *now, double *u)
{
    tg_plan_result result;
    tg_error error;
    if (tg_plan(p, now, u, &result, &error) != TG_OK)
        fail_msg("%s", error.message);
    return result;
}

/* ---- the rail: the finite-horizon LQR in closed form ---- */

static const double weight_q[] = {1}, weight_v[] = {0.3}, weight_u[] = {0.05}, last_q[] = {40}, last_v[] = {7};

static tg_planner_def rail_def(tg_plan_method method)
{
    tg_planner_def def = tg_default_planner();
    def.method = method;
    def.rows = ROWS;
    def.cost = (tg_plan_cost){
        .weight_q = weight_q, .weight_v = weight_v, .weight_u = weight_u, .last_q = last_q, .last_v = last_v};
    def.threads = 1;
    return def;
}

/* The optimal controls from (q, v) by the Riccati recursion; returns the cost. */
static double rail_optimum(double q, double v, double *u)
{
    const double dt = 0.1, A[2][2] = {{1, dt}, {0, 1}}, B[2] = {dt * dt / 2, dt / 2};
    double P[2][2] = {{last_q[0], 0}, {0, last_v[0]}}, K[ROWS][2];
    for (int row = ROWS - 1; row >= 0; row--)
    {
        double PB[2], PA[2][2], scale = weight_u[0], next[2][2];
        for (int i = 0; i < 2; i++)
        {
            PB[i] = P[i][0] * B[0] + P[i][1] * B[1];
            scale += B[i] * PB[i];
            for (int j = 0; j < 2; j++)
                PA[i][j] = P[i][0] * A[0][j] + P[i][1] * A[1][j];
        }
        scale = weight_u[0] + B[0] * PB[0] + B[1] * PB[1];
        for (int j = 0; j < 2; j++)
            K[row][j] = (PB[0] * A[0][j] + PB[1] * A[1][j]) / scale;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                next[i][j] = (i == j ? (i == 0 ? weight_q[0] : weight_v[0]) : 0) + A[0][i] * PA[0][j] +
                             A[1][i] * PA[1][j] - (PB[0] * A[0][i] + PB[1] * A[1][i]) * K[row][j];
        memcpy(P, next, sizeof P);
    }
    double cost = 0.5 * (P[0][0] * q * q + 2 * P[0][1] * q * v + P[1][1] * v * v);
    for (int row = 0; row < ROWS; row++)
    {
        u[row] = -K[row][0] * q - K[row][1] * v;
        v += dt * u[row] / 2;
        q += dt * v;
    }
    return cost;
}

static void ilqr_solves_a_linear_system_in_one_iteration(void **state)
{
    (void)state;
    tg_model *m = model_of(rail);
    tg_planner_def def = rail_def(TG_PLAN_ILQR);
    def.regularisation = 0;
    def.iterations = 1;
    tg_planner *p = planner_of(m, &def);
    double q = 1.3, v = -0.4, best[ROWS], u[ROWS] = {3, -2, 1};
    double cost = rail_optimum(q, v, best);
    tg_state now = {&q, &v, NULL, NULL};
    tg_plan_result r = plan_from(p, &now, u);
    assert_true(fabs(r.cost - cost) < 1e-12 * cost && r.first_cost > cost);
    assert_true(r.share == 1);
    for (int i = 0; i < ROWS; i++)
        assert_true(fabs(u[i] - best[i]) < 1e-10);
    tg_trajectory t = tg_planner_states(p); /* states and gains are those of the plan */
    assert_true(t.q[0] == q && fabs(t.v[1] - (v + 0.1 * u[0] / 2)) < 1e-15);
    assert_non_null(tg_planner_gains(p));
    /* the first gain is that of the recursion: from another start the feedback alone is optimal */
    double other[ROWS], moved = q + 0.1;
    rail_optimum(moved, v, other);
    assert_true(fabs(u[0] + tg_planner_gains(p)[0] * 0.1 - other[0]) < 1e-10);
    /* nothing is left to gain */
    r = plan_from(p, &now, u);
    assert_int_equal(r.stop, TG_STOP_COST);
    tg_planner_destroy(p);
    tg_model_destroy(m);
}

/* max-entropy iLQG without a bound on KL: the mean is the optimum after one iteration */
static void ilqg_finds_the_mean_of_a_linear_system(void **state)
{
    (void)state;
    const double noise[] = {1};
    tg_model *m = model_of(rail);
    tg_planner_def def = rail_def(TG_PLAN_ILQG);
    def.noise = noise;
    def.kl = 1e6;
    def.iterations = 1;
    def.samples = 1; /* the mean */
    tg_planner *p = planner_of(m, &def);
    double q = 1.3, v = -0.4, best[ROWS], u[ROWS] = {0};
    double cost = rail_optimum(q, v, best);
    tg_state now = {&q, &v, NULL, NULL};
    tg_plan_result r = plan_from(p, &now, u);
    assert_true(fabs(r.cost - cost) < 1e-10 * cost);
    tg_planner_destroy(p);
    /* with a bound each iteration moves by no more than it, and by about as much */
    memset(u, 0, sizeof u);
    def.kl = 0.05;
    def.samples = 8;
    def.temperature = 0.1;
    p = planner_of(m, &def);
    r = plan_from(p, &now, u);
    assert_true(r.share <= 0.05 * ROWS * (1 + 1e-9) && r.share > 0.5 * 0.05 * ROWS);
    double after_one = r.cost;
    assert_true(r.cost < r.first_cost && r.cost > 1.001 * cost);
    for (int i = 0; i < 30; i++)
        r = plan_from(p, &now, u);
    assert_true(r.cost < after_one && r.cost < 1.01 * cost);
    tg_planner_destroy(p);
    tg_model_destroy(m);
}

/* Bounds: against projected gradient descent on the dense problem. */
static double rail_cost(double q, double v, const double *u)
{
    double cost = 0;
    for (int row = 0; row < ROWS; row++)
    {
        cost += 0.5 * (weight_q[0] * q * q + weight_v[0] * v * v + weight_u[0] * u[row] * u[row]);
        v += 0.1 * u[row] / 2;
        q += 0.1 * v;
    }
    return cost + 0.5 * (last_q[0] * q * q + last_v[0] * v * v);
}

static void bounds_are_those_of_the_constrained_problem(void **state)
{
    (void)state;
    const double lower[] = {-1.5}, upper[] = {2.5};
    tg_model *m = model_of(rail);
    tg_planner_def def = rail_def(TG_PLAN_ILQR);
    def.lower = lower;
    def.upper = upper;
    def.iterations = 30;
    def.tolerance = 1e-14;
    double q = 1.3, v = -0.4, u[ROWS] = {0}, x[ROWS] = {0};
    tg_planner *p = planner_of(m, &def);
    tg_state now = {&q, &v, NULL, NULL};
    tg_plan_result r = plan_from(p, &now, u);
    for (int i = 0; i < 200000; i++) /* the gradient of a quadratic by differences is exact to rounding */
    {
        double g[ROWS];
        for (int k = 0; k < ROWS; k++)
        {
            double save = x[k];
            x[k] = save + 1e-3;
            g[k] = rail_cost(q, v, x);
            x[k] = save - 1e-3;
            g[k] = (g[k] - rail_cost(q, v, x)) / 2e-3;
            x[k] = save;
        }
        for (int k = 0; k < ROWS; k++)
            x[k] = fmin(fmax(x[k] - 0.1 * g[k], lower[0]), upper[0]);
        if (i > 20000)
            break;
    }
    int held = 0;
    for (int k = 0; k < ROWS; k++)
    {
        held += u[k] == lower[0] || u[k] == upper[0];
        assert_true(u[k] >= lower[0] && u[k] <= upper[0]);
        assert_true(fabs(u[k] - x[k]) < 1e-5);
    }
    assert_true(held > 0 && held < ROWS);
    assert_true(fabs(r.cost - rail_cost(q, v, u)) < 1e-12 * r.cost);
    tg_planner_destroy(p);
    tg_model_destroy(m);
}

/* One iteration of MPPI by hand: the same draws, costs in closed form, weights, mean. */
static void mppi_weights_are_those_of_the_formula(void **state)
{
    (void)state;
    enum
    {
        SAMPLES = 16
    };
    const double noise[] = {0.7}, lower[] = {-1}, upper[] = {1.2};
    tg_model *m = model_of(rail);
    for (int variant = 0; variant < 3; variant++)
    {
        tg_planner_def def = rail_def(TG_PLAN_MPPI);
        def.noise = noise;
        def.lower = lower;
        def.upper = upper;
        def.samples = SAMPLES;
        def.iterations = 1;
        def.seed = 77;
        def.temperature = variant == 0 ? 0.2 : 3;
        def.absolute = variant > 0;
        def.importance = variant == 2;
        def.correlation = variant == 1 ? 0.6 : 0;
        tg_planner *p = planner_of(m, &def);
        double q = 1.3, v = -0.4, u[ROWS], start[ROWS], S[SAMPLES], e[SAMPLES][ROWS], mean = 0, var = 0,
               least = INFINITY, sum = 0, squares = 0, expected[ROWS] = {0};
        for (int i = 0; i < ROWS; i++)
            u[i] = start[i] = 0.3 * sin(i);
        for (int s = 0; s < SAMPLES; s++)
        {
            double number[ROWS], c = def.correlation;
            tg_draw draw = {77, 0, 0, (uint32_t)s};
            tg_draw_normal(&draw, ROWS, number);
            for (int i = 0; i < ROWS; i++)
            {
                number[i] = i == 0 ? number[i] : c * number[i - 1] + sqrt(1 - c * c) * number[i];
                e[s][i] = s == 0 ? start[i] : fmin(fmax(start[i] + 0.7 * number[i], -1), 1.2);
            }
            S[s] = rail_cost(q, v, e[s]);
            mean += S[s] / SAMPLES;
        }
        for (int s = 0; s < SAMPLES; s++)
            var += (S[s] - mean) * (S[s] - mean) / SAMPLES;
        double temperature = def.absolute ? def.temperature : def.temperature * sqrt(var);
        for (int s = 0; s < SAMPLES; s++)
            for (int i = 0; i < ROWS && def.importance; i++)
                S[s] += temperature * start[i] * (e[s][i] - start[i]) / (0.7 * 0.7);
        for (int s = 0; s < SAMPLES; s++)
            least = fmin(least, S[s]);
        for (int s = 0; s < SAMPLES; s++)
            sum += exp(-(S[s] - least) / temperature);
        for (int s = 0; s < SAMPLES; s++)
        {
            double w = exp(-(S[s] - least) / temperature) / sum;
            squares += w * w;
            for (int i = 0; i < ROWS; i++)
                expected[i] += w * e[s][i];
        }
        tg_state now = {&q, &v, NULL, NULL};
        tg_plan_result r = plan_from(p, &now, u);
        for (int i = 0; i < ROWS; i++)
            assert_true(fabs(u[i] - expected[i]) < 1e-12);
        assert_true(fabs(r.share - 1 / (SAMPLES * squares)) < 1e-12);
        assert_true(fabs(r.cost - rail_cost(q, v, u)) < 1e-12 * r.cost);
        assert_int_equal(r.rollouts, SAMPLES + 1);
        tg_planner_destroy(p);
    }
    tg_model_destroy(m);
}

static void samples_come_near_the_optimum(void **state)
{
    (void)state;
    const double noise[] = {3}, lower[] = {-12}, upper[] = {12};
    tg_model *m = model_of(rail);
    for (tg_plan_method method = TG_PLAN_RANDOM; method <= TG_PLAN_MPPI; method++)
    {
        tg_planner_def def = rail_def(method);
        def.noise = noise;
        def.lower = lower;
        def.upper = upper;
        def.samples = 200;
        def.iterations = 40;
        def.floor = 0;
        def.correlation = 0.7;
        double q = 1.3, v = -0.4, best[ROWS], u[ROWS] = {0}, cost = rail_optimum(q, v, best);
        tg_planner *p = planner_of(m, &def);
        tg_state now = {&q, &v, NULL, NULL};
        tg_plan_result r = plan_from(p, &now, u);
        assert_true(r.cost < r.first_cost && r.cost >= cost * (1 - 1e-12));
        assert_true(r.cost < (method == TG_PLAN_RANDOM ? 1.6 : 1.02) * cost);
        assert_int_equal(r.blown, 0);
        tg_planner_destroy(p);
    }
    tg_model_destroy(m);
}

/* ---- callbacks ---- */

typedef struct watch
{
    int calls, bad_row;
    double bad;
    bool no_gradient, bad_gradient;
} watch;

/* The cost of the rail as a callback. */
static tg_status rail_points(void *user, const tg_cost_points *at, double *value, const tg_cost_gradient *g)
{
    watch *w = user;
    if (g != NULL && w->no_gradient)
        return TG_ERR_UNSUPPORTED;
    for (int i = 0; i < at->count; i++)
    {
        bool last = at->row[i] == ROWS;
        double wq = last ? last_q[0] : weight_q[0], wv = last ? last_v[0] : weight_v[0], wu = last ? 0 : weight_u[0];
        value[i] = 0.5 * (wq * at->q[i] * at->q[i] + wv * at->v[i] * at->v[i] + wu * at->u[i] * at->u[i]);
        if (at->row[i] == w->bad_row)
            value[i] = w->bad;
        if (g == NULL)
            continue;
        g->q[i] = w->bad_gradient && at->row[i] == 3 ? NAN : wq * at->q[i];
        g->v[i] = wv * at->v[i];
        g->u[i] = wu * at->u[i];
    }
    return TG_OK;
}

static void a_callback_is_as_good_as_the_quadratic_cost(void **state)
{
    (void)state;
    tg_model *m = model_of(rail);
    for (int together = 0; together < 2; together++)
        for (int threads = 1; threads <= 3; threads += 2)
        {
            watch w = {.bad_row = -1};
            tg_planner_def def = rail_def(TG_PLAN_ILQR);
            def.cost = (tg_plan_cost){.points = rail_points, .user = &w, .together = together};
            def.regularisation = 0;
            def.iterations = 1;
            def.threads = threads;
            double q = 1.3, v = -0.4, best[ROWS], u[ROWS] = {0}, cost = rail_optimum(q, v, best);
            tg_planner *p = planner_of(m, &def);
            tg_state now = {&q, &v, NULL, NULL};
            tg_plan_result r = plan_from(p, &now, u);
            assert_true(fabs(r.cost - cost) < 1e-9 * cost); /* second derivatives are differences */
            tg_planner_destroy(p);
        }
    tg_model_destroy(m);
}

static void costs_that_are_no_numbers_are_refused(void **state)
{
    (void)state;
    const double noise[] = {1};
    tg_model *m = model_of(rail);
    for (int together = 0; together < 2; together++)
    {
        watch w = {.bad_row = 5, .bad = NAN};
        tg_planner_def def = rail_def(TG_PLAN_MPPI);
        def.noise = noise;
        def.cost = (tg_plan_cost){.points = rail_points, .user = &w, .together = together};
        tg_planner *p = planner_of(m, &def);
        double q = 1, v = 0, u[ROWS] = {0.5};
        tg_state now = {&q, &v, NULL, NULL};
        tg_error error;
        assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_NUMERIC);
        assert_non_null(strstr(error.message, "the cost of sample 0, row 5 is"));
        assert_non_null(strstr(error.message, "nan"));
        assert_true(u[0] == 0.5);
        w.bad = -INFINITY;
        assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_NUMERIC);
        w.bad = INFINITY; /* allowed: but then nothing can be chosen */
        tg_plan_result r = plan_from(p, &now, u);
        assert_true(isinf(r.cost) && r.blown == 0 && u[0] == 0.5);
        tg_planner_destroy(p);
        def.method = TG_PLAN_ILQR;
        w = (watch){.bad_row = -1, .no_gradient = true};
        p = planner_of(m, &def);
        assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_UNSUPPORTED);
        assert_non_null(strstr(error.message, "gradient"));
        w.no_gradient = false;
        w.bad_gradient = true;
        assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_NUMERIC);
        assert_non_null(strstr(error.message, "the gradient of the cost by q[0] in row 3"));
        tg_planner_destroy(p);
    }
    tg_model_destroy(m);
}

/* ---- rollouts that blow up ---- */

static void rollouts_that_blow_up_end_early_and_are_counted(void **state)
{
    (void)state;
    const double noise[] = {10}, wild[] = {1e200};
    tg_model *m = model_of(rail);
    tg_planner_def def = rail_def(TG_PLAN_MPPI);
    def.noise = noise;
    def.samples = 100;
    def.iterations = 3;
    def.speed = 2; /* some do */
    double q = 1, v = 0, u[ROWS] = {0};
    tg_state now = {&q, &v, NULL, NULL};
    for (int method = 0; method < 2; method++)
    {
        def.method = method == 0 ? TG_PLAN_MPPI : TG_PLAN_CEM;
        tg_planner *p = planner_of(m, &def);
        memset(u, 0, sizeof u);
        tg_plan_result r = plan_from(p, &now, u);
        assert_true(r.blown > 0 && r.blown < r.rollouts && isfinite(r.cost));
        assert_int_equal(r.rollouts, 301);
        tg_trajectory t = tg_planner_states(p);
        for (int i = 0; i <= ROWS; i++)
            assert_true(fabs(t.v[i]) <= 2);
        tg_planner_destroy(p);
    }
    /* all of them but the plan so far: it stays */
    def.method = TG_PLAN_MPPI;
    def.noise = wild;
    def.speed = 1e100;
    def.iterations = 1;
    tg_planner *p = planner_of(m, &def);
    u[0] = 0.25;
    tg_plan_result r = plan_from(p, &now, u);
    assert_int_equal(r.blown, 99);
    assert_true(u[0] == 0.25 && isfinite(r.cost));
    tg_planner_destroy(p);
    /* and iLQR has nothing to start from */
    def.method = TG_PLAN_ILQR;
    p = planner_of(m, &def);
    tg_error error;
    for (int i = 0; i < ROWS; i++)
        u[i] = 1e250;
    assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_NUMERIC);
    assert_non_null(strstr(error.message, "blows up"));
    tg_planner_destroy(p);
    tg_model_destroy(m);
}

/* ---- robots ---- */

static void fill_quadruped(const tg_model *m, double *q, double *v, double *u, int rows)
{
    tg_sizes n = tg_model_sizes(m);
    double ctrl[32];
    assert_int_equal(tg_key_get(m, 0, NULL, q, v, NULL, ctrl, NULL), TG_OK);
    for (int i = 0; i < rows; i++)
        memcpy(u + i * n.nu, ctrl, sizeof(double) * (size_t)n.nu);
}

/* Three plans in a row of every method, on a robot with contacts: the same bits for 1, 2, 3 and 5 threads. */
static void answers_do_not_depend_on_threads(void **state)
{
    (void)state;
    tg_model *m = model_at("quadruped");
    tg_sizes n = tg_model_sizes(m);
    double weights[18], speeds[18], efforts[12], noise[12], target[19];
    int foot = tg_find(m, TG_SITE, "front_left_foot");
    const double lift[] = {0.27, 0.13, 0.1}, much[] = {0, 0, 500}, com_velocity[] = {0.3, 0, 0}, push[] = {5, 5, 0};
    for (int i = 0; i < 18; i++)
    {
        weights[i] = i < 6 ? 20 : 1;
        speeds[i] = 0.05;
    }
    for (int i = 0; i < 12; i++)
    {
        efforts[i] = 0.1;
        noise[i] = 0.1;
    }
    double q[19], v[18], first[5][8 * 12], costs[5] = {0};
    for (int threads = 1; threads <= 5; threads += threads == 3 ? 2 : 1)
        for (tg_plan_method method = 0; method < TG_PLAN_METHODS; method++)
        {
            double u[8 * 12];
            fill_quadruped(m, q, v, u, 8);
            memcpy(target, q, sizeof target);
            tg_planner_def def = tg_default_planner();
            def.method = method;
            def.rows = 8;
            def.hold = 5;
            def.samples = 10;
            def.iterations = 2;
            def.threads = threads;
            def.noise = noise;
            def.seed = 5;
            def.options.backward = TG_BACKWARD_SMOOTHED;
            def.cost = (tg_plan_cost){.q = target,
                                      .weight_q = weights,
                                      .weight_v = speeds,
                                      .weight_u = efforts,
                                      .u = u + 12,
                                      .nsite = 1,
                                      .site = &foot,
                                      .site_target = lift,
                                      .weight_site = much,
                                      .com_velocity = com_velocity,
                                      .weight_com_velocity = push};
            double reference[12];
            memcpy(reference, u, sizeof reference);
            def.cost.u = reference;
            tg_planner *p = planner_of(m, &def);
            tg_state now = {q, v, NULL, NULL};
            tg_plan_result r = {0};
            for (int plan = 0; plan < 3; plan++)
            {
                r = plan_from(p, &now, u);
                assert_true(r.cost < INFINITY && r.blown == 0);
                if (plan == 0 && method >= TG_PLAN_ILQR) /* means of few samples may cost more */
                    assert_true(r.cost < r.first_cost);
                assert_int_equal(tg_plan_shift(p, u, NULL), TG_OK);
            }
            if (threads == 1)
            {
                memcpy(first[method], u, sizeof u);
                costs[method] = r.cost;
            }
            else
            {
                assert_memory_equal(first[method], u, sizeof(double) * (size_t)(8 * n.nu));
                assert_true(costs[method] == r.cost);
            }
            tg_planner_destroy(p);
        }
    for (int method = 1; method < TG_PLAN_METHODS; method++) /* the methods are not one */
        assert_memory_not_equal(first[0], first[method], sizeof first[0]);
    tg_model_destroy(m);
}

static void planning_allocates_nothing_and_can_be_repeated(void **state)
{
    (void)state;
    tg_model *m = model_at("planar_walker");
    tg_sizes n = tg_model_sizes(m);
    double weight[9], q[9], v[9], u[2][60];
    for (int i = 0; i < 9; i++)
        weight[i] = 1;
    for (tg_plan_method method = 0; method < TG_PLAN_METHODS; method++)
    {
        tg_planner_def def = tg_default_planner();
        def.method = method;
        def.rows = 10;
        def.samples = 6;
        def.threads = 1;
        def.iterations = 3;
        def.cost = (tg_plan_cost){.weight_q = weight, .weight_v = weight};
        tg_planner *p = planner_of(m, &def);
        tg_state now = {q, v, NULL, NULL};
        tg_error error;
        assert_int_equal(tg_key_get(m, 0, NULL, q, v, NULL, NULL, NULL), TG_OK);
        for (int run = 0; run < 3; run++)
        {
            double *plan = u[run > 0];
            memset(plan, 0, sizeof u[0]);
            tg_planner_reset(p);
            heap.asked = 0;
            heap.armed = run > 0; /* the first call may grow what reports the failures of samples */
            tg_status status = tg_plan(p, &now, plan, NULL, &error);
            heap.armed = false;
            assert_int_equal(status, TG_OK);
            assert_int_equal(heap.asked, 0);
        }
        assert_memory_equal(u[0], u[1], sizeof(double) * (size_t)(10 * n.nu));
        tg_planner_destroy(p);
    }
    tg_model_destroy(m);
}

/* ---- refusals ---- */

static void wrong_definitions_are_refused(void **state)
{
    (void)state;
    tg_model *m = model_of(rail);
    tg_planner *p = NULL;
    tg_error error;
    tg_planner_def def = rail_def(TG_PLAN_RANDOM);
    const double lower[] = {1}, upper[] = {-1};
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_VALUE); /* nothing to draw within */
    assert_non_null(strstr(error.message, "control 0 has no bounds"));
    def.method = TG_PLAN_MPPI;
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "noise must be given"));
    def.method = TG_PLAN_ILQR;
    def.lower = lower;
    def.upper = upper;
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "lower[0] = 1 is above upper[0] = -1"));
    def.lower = def.upper = NULL;
    def.rows = 0;
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "rows = 0"));
    def = rail_def(TG_PLAN_ILQR);
    def.correlation = 1;
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "correlation = 1"));
    def = rail_def(TG_PLAN_ILQR);
    def.cookie = 0;
    assert_int_equal(tg_planner_create(m, &def, &p, &error), TG_ERR_ARGUMENT);
    def = rail_def(TG_PLAN_ILQR);
    p = planner_of(m, &def);
    double q = NAN, v = 0, u[ROWS] = {0};
    tg_state now = {&q, &v, NULL, NULL};
    assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "now.q"));
    q = 0;
    u[3] = INFINITY;
    assert_int_equal(tg_plan(p, &now, u, NULL, &error), TG_ERR_VALUE);
    assert_non_null(strstr(error.message, "u[3]"));
    tg_plan_cost cost = {.points = rail_points};
    assert_int_equal(tg_planner_set_cost(p, &cost, &error), TG_ERR_UNSUPPORTED);
    const double negative[] = {-1};
    cost = (tg_plan_cost){.weight_u = negative};
    assert_int_equal(tg_planner_set_cost(p, &cost, &error), TG_ERR_VALUE);
    for (tg_plan_method k = 0; k <= TG_PLAN_METHODS; k++)
        assert_true(strlen(tg_plan_method_string(k)) > 2);
    tg_planner_destroy(p);
    tg_planner_destroy(NULL);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ilqr_solves_a_linear_system_in_one_iteration),
        cmocka_unit_test(ilqg_finds_the_mean_of_a_linear_system),
        cmocka_unit_test(bounds_are_those_of_the_constrained_problem),
        cmocka_unit_test(mppi_weights_are_those_of_the_formula),
        cmocka_unit_test(samples_come_near_the_optimum),
        cmocka_unit_test(a_callback_is_as_good_as_the_quadratic_cost),
        cmocka_unit_test(costs_that_are_no_numbers_are_refused),
        cmocka_unit_test(rollouts_that_blow_up_end_early_and_are_counted),
        cmocka_unit_test(answers_do_not_depend_on_threads),
        cmocka_unit_test(planning_allocates_nothing_and_can_be_repeated),
        cmocka_unit_test(wrong_definitions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
