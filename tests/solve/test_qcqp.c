/* Quadratic programs of contact: known solutions, random ones judged independently, refusals, threads, memory. */
#include "qcqp_test.h"

#include "support/effort.h"
#include "support/heap_watch.h"

static int problems(int usual)
{
    const char *text = getenv("TANGERE_PROBLEMS");
    return text != NULL ? atoi(text) : usual;
}

/* of the random problems */
static uint64_t seed(void)
{
    const char *text = getenv("TANGERE_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 19;
}

/* |x| <= r around a centre: the solution is the nearest point. x >= 0: negative parts are cut. */
static void known(void **state)
{
    (void)state;
    int two = 2;
    double G[4] = {1, 0, 0, 1}, g[2] = {-3, -4}, mu = 0.5, l = 2, x[2] = {NAN, NAN};
    program p = {.kind = TG_QCQP_BALLS, .n = 2, .blocks = 1, .size = &two, .G = G, .g = g, .mu = &mu, .l = &l, .x = x};
    p.q = workspace(&p, 1);
    tg_qcqp_info info = solve(&p);
    assert_int_equal(info.status, TG_QCQP_SOLVED);
    assert_true(fabs(x[0] - 0.6) < 1e-15 && fabs(x[1] - 0.8) < 1e-15);
    assert_true(fabs(info.value - (0.5 - 5)) < 1e-14);
    l = 20;
    solve(&p);
    assert_true(fabs(x[0] - 3) < 1e-15 && fabs(x[1] - 4) < 1e-15);
    l = 0;
    info = solve(&p);
    assert_int_equal(info.status, TG_QCQP_SOLVED);
    assert_true(x[0] == 0 && x[1] == 0);
    tg_qcqp_destroy(p.q);

    int one[2] = {1, 1};
    double H[4] = {2, 1, 1, 2}, h[2] = {-2, 5};
    program n = {
        .kind = TG_QCQP_NONNEGATIVE, .n = 2, .blocks = 2, .size = one, .G = H, .g = h, .mu = H, .l = H, .x = x};
    n.q = workspace(&n, 1);
    solve(&n);
    assert_true(fabs(x[0] - 1) < 1e-15 && x[1] == 0);
    tg_qcqp_destroy(n.q);
}

/* G = [1 1; 1 1], x1 + x2 = c: of all sums the one of least norm is halved, or held back by a small ball. */
static void least_norm(void **state)
{
    (void)state;
    int one[2] = {1, 1};
    double G[4] = {1, 1, 1, 1}, g[2] = {-1, -1}, mu[2] = {1, 1}, l[2] = {3, 3}, x[2];
    program p = {.kind = TG_QCQP_BALLS, .n = 2, .blocks = 2, .size = one, .G = G, .g = g, .mu = mu, .l = l, .x = x};
    p.q = workspace(&p, 1);
    tg_qcqp_info info = solve(&p);
    assert_int_equal(info.redundant, 1);
    assert_true(info.least_norm);
    assert_true(fabs(x[0] - 0.5) < 1e-10 && fabs(x[1] - 0.5) < 1e-10);
    l[1] = 0.2;
    info = solve(&p);
    assert_true(info.least_norm);
    assert_true(fabs(x[0] - 0.8) < 1e-10 && fabs(x[1] - 0.2) < 1e-10);
    tg_qcqp_destroy(p.q);
}

/* A direction without curvature that falls for ever. */
static void unbounded(void **state)
{
    (void)state;
    int one[2] = {1, 1};
    double G[4] = {1, -1, -1, 1}, g[2] = {-1, -1}, x[2];
    program p = {
        .kind = TG_QCQP_NONNEGATIVE, .n = 2, .blocks = 2, .size = one, .G = G, .g = g, .mu = g, .l = g, .x = x};
    p.q = workspace(&p, 1);
    tg_qcqp_info info = solve(&p);
    if (info.status != TG_QCQP_UNBOUNDED)
        fail_msg("status %d, x = %g, %g", (int)info.status, x[0], x[1]);
    tg_qcqp_destroy(p.q);
}

enum
{
    SHOWN = 10 /* of a kind */
};

typedef struct tally
{
    int count, solved, labelled, wrong, redundant, selected, interior;
    double residual, gap;
} tally;

static void judge_one(program *p, tally *t)
{
    tg_qcqp_info info = solve(p);
    verdict v = judge(p);
    t->count++;
    t->interior += info.interior > 0;
    if (info.status != TG_QCQP_SOLVED)
    {
        if (++t->labelled <= SHOWN)
            printf("labelled: kind %d, %d rows, %d blocks, condition 1e%.1f, null %d: status %d, residual %.1e, %d "
                   "newton, %d "
                   "interior\n",
                   (int)p->kind, p->n, p->blocks, p->digits, p->null, (int)info.status, v.residual, info.newton,
                   info.interior);
        return;
    }
    t->solved++;
    t->redundant += info.redundant > 0;
    t->selected += info.redundant > 0 && info.least_norm;
    double allowed = fmax(1e-8, 10 * p->n * v.rounding);
    bool wrong = !(v.infeasible <= 1e-13) || !(v.residual <= allowed) || !(v.gap <= 1e-8);
    if (wrong && ++t->wrong <= SHOWN)
        printf("wrong: kind %d, %d rows, %d blocks, condition 1e%.1f, null %d: outside %.1e, residual %.1e of %.1e, "
               "gap %.1e\n",
               (int)p->kind, p->n, p->blocks, p->digits, p->null, v.infeasible, v.residual, allowed, v.gap);
    t->residual = fmax(t->residual, v.residual);
    t->gap = fmax(t->gap, v.gap);
}

/* 1 to 200 contacts, condition to 1e8, null spaces, mu l = 0: at least 99.9 % solved, the others labelled, none wrong.
 * TANGERE_PROBLEMS: how many. */
static void random_problems(void **state)
{
    (void)state;
    source r = {seed()};
    int count = problems(600 / TEST_EFFORT);
    tally t[2] = {{0}};
    for (int k = 0; k < count; k++)
    {
        double small = uniform(&r, 0, 1);
        program_want want = {.kind = below(&r, 4) == 0 ? TG_QCQP_NONNEGATIVE : TG_QCQP_BALLS,
                             .blocks = 1 + (int)(200 * small * small),
                             .largest = 1 + below(&r, 5),
                             .digits = uniform(&r, 0, 8),
                             .null = below(&r, 3) == 0 ? uniform(&r, 0, 0.8) : 0,
                             .none = below(&r, 3) == 0 ? 0.3 : 0,
                             .threads = 1};
        program p = random_program(&r, &want);
        judge_one(&p, &t[want.kind]);
        drop(&p);
    }
    for (int i = 0; i < 2; i++)
        printf("%s: %d problems, %d solved, %d labelled, %d wrong; %d redundant, %d of least norm; %d by the interior "
               "point; "
               "worst residual %.1e, gap %.1e\n",
               i == 0 ? "x >= 0" : "balls", t[i].count, t[i].solved, t[i].labelled, t[i].wrong, t[i].redundant,
               t[i].selected, t[i].interior, t[i].residual, t[i].gap);
    assert_int_equal(t[0].wrong + t[1].wrong, 0);
    assert_true(t[0].solved + t[1].solved >= 0.999 * count);
}

/* The number of threads and the neighbours in a batch change no bit. */
static void threads(void **state)
{
    (void)state;
    enum
    {
        COUNT = 1000,
        BLOCKS = 8,
        N = 2 * BLOCKS
    };
    source r = {7};
    double *G = numbers((size_t)COUNT * N * N), *g = numbers((size_t)COUNT * N), *mu = numbers((size_t)COUNT * BLOCKS);
    double *l = numbers((size_t)COUNT * BLOCKS), *x[2], *bar[2], *dG[2];
    program first = {0};
    for (int k = 0; k < COUNT; k++)
    {
        program_want want = {.kind = TG_QCQP_BALLS, .blocks = BLOCKS, .largest = 1, .digits = 4, .threads = 1};
        program p = {.kind = want.kind, .blocks = BLOCKS, .n = N, .digits = want.digits};
        p.G = G + (ptrdiff_t)k * N * N, p.g = g + (ptrdiff_t)k * N;
        random_matrix(&r, &p, 0);
        random_linear(&r, &p);
        first = k == 0 ? p : first;
        for (int i = 0; i < BLOCKS; i++)
            mu[k * BLOCKS + i] = uniform(&r, 0, 1), l[k * BLOCKS + i] = uniform(&r, 0, 1);
    }
    for (int i = 0; i < 2; i++)
    {
        x[i] = numbers((size_t)COUNT * N), bar[i] = numbers((size_t)COUNT * N), dG[i] = numbers((size_t)COUNT * N * N);
        tg_qcqp *q = workspace(
            &(program){.kind = TG_QCQP_BALLS, .blocks = BLOCKS, .size = (int[]){2, 2, 2, 2, 2, 2, 2, 2}}, i + 1);
        tg_qcqp_data data = {COUNT, G, g, mu, l};
        assert_int_equal(tg_qcqp_solve(q, &data, NULL, x[i], NULL), TG_OK);
        assert_int_equal(tg_qcqp_vjp(q, &data, x[i], x[i], &(tg_qcqp_tangent){.G = dG[i], .g = bar[i]}, NULL), TG_OK);
        /* one at a time */
        tg_qcqp_data one = {1, G + (ptrdiff_t)99 * N * N, g + (ptrdiff_t)99 * N, mu + 99 * BLOCKS, l + 99 * BLOCKS};
        double alone[N];
        assert_int_equal(tg_qcqp_solve(q, &one, NULL, alone, NULL), TG_OK);
        assert_memory_equal(alone, x[i] + (ptrdiff_t)99 * N, sizeof alone);
        tg_qcqp_destroy(q);
    }
    assert_memory_equal(x[0], x[1], sizeof(double) * (size_t)COUNT * N);
    assert_memory_equal(bar[0], bar[1], sizeof(double) * (size_t)COUNT * N);
    assert_memory_equal(dG[0], dG[1], sizeof(double) * (size_t)COUNT * N * N);
    for (int i = 0; i < 2; i++)
        free(x[i]), free(bar[i]), free(dG[i]);
    free(G), free(g), free(mu), free(l);
}

/* A warm start changes the work, not the solution. */
static void warm(void **state)
{
    (void)state;
    source r = {23};
    for (int k = 0; k < 50; k++)
    {
        program p = random_program(
            &r, &(program_want){.kind = TG_QCQP_BALLS, .blocks = 12, .largest = 3, .digits = 3, .threads = 1});
        tg_qcqp_info cold = solve(&p), info;
        tg_qcqp_data data = data_of(&p);
        double *again = numbers((size_t)p.n);
        assert_int_equal(tg_qcqp_solve(p.q, &data, p.x, again, &info), TG_OK);
        assert_true(info.newton <= cold.newton);
        for (int i = 0; i < p.n; i++)
            assert_true(fabs(again[i] - p.x[i]) <= 1e-10);
        free(again);
        drop(&p);
    }
}

static void no_allocation(void **state)
{
    (void)state;
    source r = {5};
    program p = random_program(
        &r, &(program_want){.kind = TG_QCQP_BALLS, .blocks = 10, .largest = 5, .digits = 8, .null = 0.5, .threads = 2});
    tg_qcqp_data data = data_of(&p);
    double *dx = numbers((size_t)p.n), *G = numbers((size_t)p.n * (size_t)p.n);
    heap.asked = 0;
    heap.armed = true;
    tg_status a = tg_qcqp_solve(p.q, &data, NULL, p.x, NULL);
    tg_status b = tg_qcqp_vjp(p.q, &data, p.x, p.x, &(tg_qcqp_tangent){.G = G}, NULL);
    tg_status c = tg_qcqp_jvp(p.q, &data, p.x, &(tg_qcqp_tangent){.G = G}, dx, NULL);
    tg_status d = tg_qcqp_jacobians(p.q, &data, p.x, &(tg_qcqp_jacobian){.dx_dg = G}, NULL);
    heap.armed = false;
    assert_int_equal(heap.asked, 0);
    assert_true(a == TG_OK && b == TG_OK && c == TG_OK && d == TG_OK);
    free(dx), free(G);
    drop(&p);
}

static void refuse(program *p, const char *part)
{
    tg_qcqp_data data = data_of(p);
    double *x = numbers((size_t)p->n);
    x[0] = 42;
    assert_int_equal(tg_qcqp_solve(p->q, &data, NULL, x, NULL), TG_ERR_VALUE);
    if (strstr(tg_qcqp_message(p->q), part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", tg_qcqp_message(p->q), part);
    assert_true(x[0] == 42);
    free(x);
}

static void bad_input(void **state)
{
    (void)state;
    source r = {11};
    program p = random_program(
        &r, &(program_want){.kind = TG_QCQP_BALLS, .blocks = 4, .largest = 1, .digits = 1, .threads = 2});
    double kept = p.G[5];
    p.G[5] = -1;
    refuse(&p, "G[0][1][1] = -1");
    p.G[5] = NAN;
    refuse(&p, "G[0][1][1] = nan");
    p.G[5] = kept;
    kept = p.G[1];
    p.G[1] += 0.1 * p.G[0];
    refuse(&p, "must be symmetric");
    p.G[1] = p.G[4] = 10 * (p.G[0] + p.G[5]);
    refuse(&p, "is indefinite: its first 2 rows");
    p.G[1] = p.G[4] = kept;
    p.g[2] = INFINITY;
    refuse(&p, "g[0][2] = inf");
    p.g[2] = 0;
    p.mu[3] = -0.5;
    refuse(&p, "mu[0][3] = -0.5");
    p.mu[3] = 0.5;
    p.l[1] = NAN;
    refuse(&p, "l[0][1] = nan");
    p.l[1] = 1;
    assert_int_equal(solve(&p).status, TG_QCQP_SOLVED);

    tg_qcqp_data data = data_of(&p);
    data.mu = NULL;
    assert_int_equal(tg_qcqp_solve(p.q, &data, NULL, p.x, NULL), TG_ERR_ARGUMENT);
    assert_string_equal(tg_qcqp_message(p.q), "tg_qcqp_solve: mu is NULL");
    assert_int_equal(tg_qcqp_solve(NULL, &data, NULL, p.x, NULL), TG_ERR_ARGUMENT);
    drop(&p);

    tg_qcqp_def def = tg_default_qcqp();
    tg_error error;
    tg_qcqp *q;
    def.sizes = (int[]){2, 6};
    def.blocks = 2;
    assert_int_equal(tg_qcqp_create(&def, &q, &error), TG_ERR_VALUE);
    assert_string_equal(error.message, "tg_qcqp_create: sizes[1] = 6 rows; must be 1 .. 5");
    def.blocks = 0;
    assert_int_equal(tg_qcqp_create(&def, &q, &error), TG_ERR_VALUE);
    def.cookie = 0;
    assert_int_equal(tg_qcqp_create(&def, &q, &error), TG_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known),           cmocka_unit_test(least_norm), cmocka_unit_test(unbounded),
        cmocka_unit_test(random_problems), cmocka_unit_test(threads),    cmocka_unit_test(warm),
        cmocka_unit_test(no_allocation),   cmocka_unit_test(bad_input),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
