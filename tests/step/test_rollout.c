/* Rollouts: reverse and forward mode, tapes with and without checkpoints. */
#include <time.h>

#include "support/heap_watch.h"

#include "flight.h"

/* A quadruped that falls onto its feet and slides. */
static void throw_quadruped(sim *s)
{
    sim_reset(s);
    for (int i = 0; i < s->n.nv; i++)
        s->v[i] = 0.1 * sin(i);
}

/* A step that comes back from the tape is the step that was taken: its reverse mode is the same to the last bit as
 * right after the step. */
static void test_steps_come_back(void **state)
{
    (void)state;
    enum
    {
        STEPS = 60
    };
    sim *s = open_file("models/quadruped.xml");
    flight f = take_off(s, STEPS, true);
    int nv = s->n.nv, np = s->n.nparams;
    throw_quadruped(s);
    for (int i = 0; i < nv; i++)
        f.gv[STEPS * nv + i] = sin(3 * i);
    fly(&f);
    fly_back(&f);
    tg_cache cache[STEPS + 1];
    for (int i = 0; i <= STEPS; i++)
    {
        cache[i] = (tg_cache){.capacity = s->cache.capacity};
        cache[i].entry = malloc(sizeof(tg_cache_entry) * (size_t)s->cache.capacity);
        assert_non_null(cache[i].entry);
    }
    double *q = numbers(s->n.nq), *v = numbers(nv), *g[2] = {numbers(2 * nv), numbers(2 * nv)}, *par = numbers(np),
           *sum = numbers(np), *tau = numbers(nv), dt, total = 0;
    int contacts = 0;
    memcpy(g[0] + nv, f.gv + STEPS * nv, sizeof(double) * (size_t)nv);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < STEPS; k++)
        {
            int i = pass == 0 ? k : STEPS - 1 - k;
            tg_info info;
            tg_state in = {f.q + i * s->n.nq, f.v + i * nv, NULL, &cache[i]}, out = {q, v, NULL, &cache[i + 1]};
            assert_int_equal(tg_step(s->m, s->w, &s->options, &in, NULL, &out, &info), TG_OK);
            assert_memory_equal(v, f.v + (i + 1) * nv, sizeof(double) * (size_t)nv);
            contacts = info.contacts > contacts ? info.contacts : contacts;
            if (pass == 0)
                continue;
            tg_cotangent back = {.q = g[1], .v = g[1] + nv, .tau = tau, .params = par, .dt = &dt};
            assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.q = g[0], .v = g[0] + nv}, &back, NULL), TG_OK);
            assert_memory_equal(tau, f.dtau + i * nv, sizeof(double) * (size_t)nv);
            for (int p = 0; p < np; p++)
                sum[p] += par[p];
            total += dt;
            double *swap = g[0];
            g[0] = g[1];
            g[1] = swap;
        }
    assert_true(contacts > 2);
    assert_memory_equal(g[0], f.dq, sizeof(double) * (size_t)nv);
    assert_memory_equal(g[0] + nv, f.dv, sizeof(double) * (size_t)nv);
    for (int p = 0; p < np; p++) /* added up in another order */
        check_near("gradient of a parameter", f.dpar[p], sum[p], 1e-12 * fmax(1, norm(np, sum)));
    assert_true(total == f.dt);
    double *owned[] = {q, v, g[0], g[1], par, sum, tau};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    for (int i = 0; i <= STEPS; i++)
        free(cache[i].entry);
    land(&f);
    sim_close(s);
}

/* Checkpoints change how much is kept, not one bit of what comes out. */
static void test_checkpoints(void **state)
{
    (void)state;
    const int steps = 100;
    sim *s = open_file("models/quadruped.xml");
    flight f[2] = {take_off(s, steps, false), take_off(s, steps, true)};
    int nv = s->n.nv;
    for (int k = 0; k < 2; k++)
    {
        throw_quadruped(s);
        for (int i = 0; i < (steps + 1) * nv; i++)
        {
            f[k].gq[i] = sin(3 * i);
            f[k].gv[i] = 0.01 * cos(2 * i);
        }
        fly(&f[k]);
        fly_back(&f[k]);
    }
    assert_memory_equal(f[0].q, f[1].q, sizeof(double) * (size_t)((steps + 1) * s->n.nq));
    assert_memory_equal(f[0].dq, f[1].dq, sizeof(double) * (size_t)nv);
    assert_memory_equal(f[0].dv, f[1].dv, sizeof(double) * (size_t)nv);
    assert_memory_equal(f[0].dtau, f[1].dtau, sizeof(double) * (size_t)(steps * nv));
    assert_memory_equal(f[0].dpar, f[1].dpar, sizeof(double) * (size_t)s->n.nparams);
    assert_true(norm(nv, f[0].dv) > 1e-3);
    assert_true(tg_tape_bytes(f[1].tape) < tg_tape_bytes(f[0].tape) / 3);
    land(&f[0]);
    land(&f[1]);
    sim_close(s);
}

/* the sum over every tenth state of weight . (q_t (-) reference_t) */
static double sway(const flight *f, const double *reference, const double *weight)
{
    double sum = 0, turn[64];
    int nv = f->s->n.nv, nq = f->s->n.nq;
    assert_true(nv <= 64);
    for (int t = 0; t <= f->steps; t += 10)
    {
        assert_int_equal(tg_difference(f->s->m, reference + t * nq, f->q + t * nq, turn, NULL), TG_OK);
        for (int i = 0; i < nv; i++)
            sum += weight[i] * turn[i];
    }
    return sum;
}

static double seconds(void)
{
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A walking machine that stands and sways for a second, along a random direction of the initial velocities. */
static void test_quadruped(void **state)
{
    (void)state;
    const int steps = 1000 / TEST_EFFORT;
    sim *s = open_file("models/quadruped.xml");
    int nv = s->n.nv, nq = s->n.nq;
    double *u = numbers(steps * s->n.nu), *weight = numbers(nv), *q = numbers((steps + 1) * nq), *v = numbers(nv);
    assert_int_equal(tg_key_get(s->m, 0, NULL, s->q, s->v, s->act, s->u, NULL), TG_OK);
    sim_run(s, 100);
    for (int i = 0; i < steps * s->n.nu; i++)
        u[i] = s->u[i % s->n.nu] + 0.01 * sin(i);
    for (int i = 0; i < nv; i++)
        weight[i] = cos(7 * i);
    flight f = take_off(s, steps, false);
    f.u = u;
    double start = seconds();
    fly(&f);
    double middle = seconds();
    memcpy(q, f.q, sizeof(double) * (size_t)((steps + 1) * nq));
    memcpy(v, s->v, sizeof(double) * (size_t)nv);
    for (int t = 0; t <= steps; t += 10)
        memcpy(f.gq + t * nv, weight, sizeof(double) * (size_t)nv);
    fly_back(&f);
    printf("%d steps: %.2f ms forward, %.2f ms back, %zu KB\n", steps, 1e3 * (middle - start),
           1e3 * (seconds() - middle), tg_tape_bytes(f.tape) / 1024);
    assert_int_equal(f.label.kind, TG_LABEL_EXACT);
    double value[2], h = 1e-6, slope = 0;
    for (int k = 0; k < 2; k++)
    {
        for (int i = 0; i < nv; i++)
            s->v[i] = v[i] + (k == 0 ? h : -h) * sin(5 * i);
        fly(&f);
        value[k] = sway(&f, q, weight);
    }
    for (int i = 0; i < nv; i++)
        slope += f.dv[i] * sin(5 * i);
    check_near("slope", slope, (value[0] - value[1]) / (2 * h), 1e-5 * fabs(slope));
    assert_true(fabs(slope) > 1e-3);
    free(u);
    free(weight);
    free(q);
    free(v);
    land(&f);
    sim_close(s);
}

/* Forward mode along two directions against reverse mode: the sum over all states of gradient times change. */
static void test_forward_mode(void **state)
{
    (void)state;
    const int steps = 30;
    sim *s = open_file("models/quadruped.xml");
    flight f = take_off(s, steps, true);
    int nv = s->n.nv, np = s->n.nparams, size = (steps + 1) * nv;
    double *dq[2], *dv[2], *start[2], *tau[2], *par = numbers(np), ddt = 1e-3;
    tg_rollout_gradient in[2] = {0};
    tg_trajectory out[2] = {0};
    throw_quadruped(s);
    for (int i = 0; i < np; i++)
        par[i] = 0.01 * cos(i);
    for (int k = 0; k < 2; k++)
    {
        dq[k] = numbers(size);
        dv[k] = numbers(size);
        start[k] = numbers(2 * nv);
        tau[k] = numbers(steps * nv);
        for (int i = 0; i < 2 * nv; i++)
            start[k][i] = sin(2 * i + k);
        for (int i = 0; i < steps * nv; i++)
            tau[k][i] = cos(3 * i - k);
        in[k] = (tg_rollout_gradient){.q = start[k], .v = start[k] + nv, .tau = tau[k]};
        out[k] = (tg_trajectory){.q = dq[k], .v = dv[k]};
    }
    in[1].params = par;
    in[1].dt = &ddt;
    for (int i = 0; i < size; i++)
    {
        f.gq[i] = sin(i);
        f.gv[i] = 0.1 * cos(i);
    }
    fly(&f);
    fly_back(&f);
    assert_int_equal(tg_rollout_jvp(s->m, s->w, f.tape, 2, in, out, NULL), TG_OK);
    for (int k = 0; k < 2; k++)
    {
        double forward = 0, reverse = k == 1 ? ddt * f.dt : 0;
        for (int i = 0; i < size; i++)
            forward += f.gq[i] * dq[k][i] + f.gv[i] * dv[k][i];
        for (int i = 0; i < nv; i++)
            reverse += f.dq[i] * start[k][i] + f.dv[i] * start[k][nv + i];
        for (int i = 0; i < steps * nv; i++)
            reverse += f.dtau[i] * tau[k][i];
        for (int i = 0; i < np && k == 1; i++)
            reverse += f.dpar[i] * par[i];
        check_near("forward mode", forward, reverse, 1e-9 * fmax(1, fabs(reverse)));
        assert_true(fabs(forward) > 1e-3);
    }
    out[1].v = NULL;
    assert_int_equal(tg_rollout_jvp(s->m, s->w, f.tape, 2, in, out, NULL), TG_ERR_ARGUMENT);
    assert_non_null(strstr(tg_work_message(s->w), "out[1].v is NULL"));
    for (int k = 0; k < 2; k++)
    {
        double *owned[] = {dq[k], dv[k], start[k], tau[k]};
        for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
            free(owned[i]);
    }
    free(par);
    land(&f);
    sim_close(s);
}

/* Nothing is allocated on the way, and a tape that has grown serves the next rollout. */
static void test_no_allocation(void **state)
{
    (void)state;
    sim *s = open_file("models/quadruped.xml");
    for (int checkpoints = 0; checkpoints < 2; checkpoints++)
    {
        flight f = take_off(s, 50, checkpoints == 1);
        throw_quadruped(s);
        f.gv[50 * s->n.nv] = 1;
        size_t before = tg_tape_bytes(f.tape);
        heap.asked = 0;
        heap.armed = true;
        fly(&f);
        fly_back(&f);
        heap.armed = false;
        assert_int_equal(heap.asked, 0);
        assert_int_equal(tg_tape_bytes(f.tape), before);
        land(&f);
    }
    sim_close(s);
}

/* A pile has more contacts than a tape foresees: it grows once. */
static void test_tape_grows(void **state)
{
    (void)state;
    char bodies[8192] = "";
    size_t length = 0;
    for (int i = 0; i < 12; i++)
        length += (size_t)snprintf(
            bodies + length, sizeof bodies - length,
            "<body pos='%g 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>", 0.3 * i);
    sim *s = sim_open(
        text("<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='5 5 0.1'/>%s</worldbody></mujoco>",
             bodies));
    flight f = take_off(s, 20, false);
    size_t bytes[3];
    f.gq[20 * s->n.nv] = 1;
    for (int k = 0; k < 3; k++)
    {
        bytes[k] = tg_tape_bytes(f.tape);
        fly(&f);
        fly_back(&f);
        assert_true(isfinite(f.dq[0]));
    }
    assert_true(bytes[1] > bytes[0]);
    assert_int_equal(bytes[2], bytes[1]);
    land(&f);
    sim_close(s);
}

/* Memory with checkpoints grows like the root of the number of steps. */
static void test_tape_memory(void **state)
{
    (void)state;
    sim *s = open_file("models/quadruped.xml");
    size_t bytes[2];
    for (int k = 0; k < 2; k++)
    {
        tg_tape *tape;
        assert_int_equal(tg_tape_create(s->m, k == 0 ? 100 : 10000, true, &tape, NULL), TG_OK);
        bytes[k] = tg_tape_bytes(tape);
        tg_tape_destroy(tape);
    }
    assert_true(bytes[1] < 11 * bytes[0]);
    sim_close(s);
}

static void test_refusals(void **state)
{
    (void)state;
    sim *s = sim_open(text(BLOCK, 0.5));
    flight f = take_off(s, 3, false);
    tg_rollout_gradient in = {.q = f.dq};
    tg_trajectory out = {0};
    tg_state start = {s->q, s->v, s->act, NULL};
    assert_int_equal(tg_rollout_vjp(s->m, s->w, f.tape, &out, &in, NULL), TG_ERR_STALE);
    assert_int_equal(tg_rollout(s->m, s->w, f.tape, NULL, &start, &(tg_controls){.steps = 4}, NULL, NULL),
                     TG_ERR_CAPACITY);
    assert_non_null(strstr(tg_work_message(s->w), "4 steps; the tape has room for 3"));
    assert_int_equal(tg_rollout(s->m, s->w, NULL, NULL, &start, &(tg_controls){.steps = 1}, NULL, NULL),
                     TG_ERR_ARGUMENT);
    fly(&f);
    tg_params *params;
    assert_int_equal(tg_params_create(s->m, &params, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(s->w, params), TG_OK);
    assert_int_equal(tg_rollout_vjp(s->m, s->w, f.tape, &out, &in, NULL), TG_ERR_STALE);
    assert_int_equal(tg_work_set_params(s->w, NULL), TG_OK);
    tg_params_destroy(params);
    tg_error error;
    tg_tape *tape;
    assert_int_equal(tg_tape_create(s->m, 0, false, &tape, &error), TG_ERR_VALUE);
    land(&f);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps_come_back), cmocka_unit_test(test_checkpoints),   cmocka_unit_test(test_quadruped),
        cmocka_unit_test(test_forward_mode),    cmocka_unit_test(test_no_allocation), cmocka_unit_test(test_tape_grows),
        cmocka_unit_test(test_tape_memory),     cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests_name("rollout", tests, NULL, NULL);
}
