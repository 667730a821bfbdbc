/* What every function of the dynamics stage keeps, on every model: no memory is asked for once a workspace is
 * there, outputs are written completely and no further, and the result depends on the arguments alone, to the bit. */
#include "dynamics_test.h"
#include "support/dynamics_calls.h"
#include "support/heap_watch.h"

/* ---- memory ---- */

static tg_model *watched_model(int which)
{
    tg_builder *b = NULL;
    tg_model *m = NULL;
    assert_int_equal(tg_builder_create(&watched_allocator, &b, NULL), TG_OK);
    assert_int_equal(tg_test_model_add(b, which), TG_OK);
    if (tg_builder_build(b, &m) != TG_OK)
        fail_msg("%s", tg_builder_message(b));
    tg_builder_destroy(b);
    return m;
}

/* ---- running a check for every function on every model ---- */

typedef void call_check(const dynamics_call *call, dynamics_case *c, call_arguments *x);

static bool applies(const dynamics_call *call, const tg_model *m)
{
    return call->element == TG_ELEMENT_COUNT || call_element_count(m, call) > 0;
}

static void for_every_call(call_check *check)
{
    int count = 0;
    for (int k = 0; k < TG_TEST_MODEL_COUNT; k++)
    {
        tg_model *m = watched_model(k);
        dynamics_case *c = dynamics_case_create(m);
        call_arguments x = call_arguments_create(c);
        for (int i = 0; i < dynamics_call_count; i++)
        {
            if (!applies(&dynamics_calls[i], m))
                continue;
            dynamics_case_randomise(c, 10 + (unsigned)i);
            x.element =
                dynamics_calls[i].element == TG_ELEMENT_COUNT ? 0 : call_element_count(m, &dynamics_calls[i]) - 1;
            check(&dynamics_calls[i], c, &x);
            count++;
        }
        call_arguments_destroy(&x);
        dynamics_case_destroy(c);
        tg_model_destroy(m);
    }
    print_message("  %d calls\n", count);
}

static void without_memory(const dynamics_call *call, dynamics_case *c, call_arguments *x)
{
    double *bad = numbers((size_t)c->size.nq + 3);
    call_arguments refused = *x;
    bad[0] = NAN;
    refused.in[CALL_Q] = refused.in[CALL_POINT] = bad;
    heap.asked = 0;
    heap.armed = true;
    call_run(call, x);
    tg_status status = call->run(&refused); /* a message needs none either */
    tg_work_set_params(c->w, NULL);
    tg_work_set_params(c->w, c->params);
    heap.armed = false;
    if (heap.asked != 0)
        fail_msg("%s asked for memory", call->name);
    if (call->needs & (1u << CALL_Q))
        assert_int_equal(status, TG_ERR_VALUE);
    free(bad);
}

static void test_no_allocation(void **state)
{
    (void)state;
    for_every_call(without_memory);
    print_message("  the C library's functions are %s\n", COUNT_HEAP ? "counted too" : "not counted here");
}

/* the watch itself works */
static void test_the_watch(void **state)
{
    (void)state;
    heap.asked = 0;
    heap.armed = COUNT_HEAP;
    void *volatile block = malloc(10);
    free(block);
    heap.armed = false;
    assert_int_equal(heap.asked, COUNT_HEAP ? 2 : 0);
}

/* ---- outputs ---- */

static void complete(const dynamics_call *call, dynamics_case *c, call_arguments *x)
{
    (void)c;
    double behind;
    memset(&behind, 0xff, sizeof behind);
    call_fill(call, x, 0xff);
    call_run(call, x);
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        size_t n = call_output_size(call, x, o);
        for (size_t i = 0; i < n; i++)
            if (!isfinite(x->out[o][i]))
                fail_msg("%s on %s: %s[%zu] = %g", call->name, tg_model_name(c->m), call->out[o].name, i, x->out[o][i]);
        assert_memory_equal(&x->out[o][n], &behind, sizeof behind);
    }
}

static void test_outputs_are_complete(void **state)
{
    (void)state;
    for_every_call(complete);
}

/* ---- results depend on the arguments alone ---- */

typedef struct results
{
    double *out[CALL_OUTPUTS];
} results;

static results results_of(const dynamics_call *call, const call_arguments *x)
{
    results r = {{NULL}};
    call_fill(call, x, 0xff);
    call_run(call, x);
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        size_t bytes = sizeof(double) * call_output_size(call, x, o);
        r.out[o] = malloc(bytes + 1);
        if (x->out[o] != NULL)
            memcpy(r.out[o], x->out[o], bytes);
    }
    return r;
}

static void results_free(results *r)
{
    for (int o = 0; o < CALL_OUTPUTS; o++)
        free(r->out[o]);
}

static void expect_same(const dynamics_call *call, const call_arguments *x, const results *right, const char *what)
{
    call_fill(call, x, 0xff);
    call_run(call, x);
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        size_t bytes = sizeof(double) * call_output_size(call, x, o);
        if (x->out[o] != NULL && bytes > 0 && memcmp(x->out[o], right->out[o], bytes) != 0)
            fail_msg("%s on %s: %s is different %s", call->name, tg_model_name(x->m), call->out[o].name, what);
    }
}

static void repeated(const dynamics_call *call, dynamics_case *c, call_arguments *x)
{
    results right = results_of(call, x);
    expect_same(call, x, &right, "the second time");
    call_arguments fresh = *x;
    fresh.w = NULL;
    assert_int_equal(tg_work_create(c->m, &fresh.w, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(fresh.w, c->params), TG_OK);
    expect_same(call, &fresh, &right, "in a fresh workspace");
    tg_work_destroy(fresh.w);
    results_free(&right);
}

static void test_repeated(void **state)
{
    (void)state;
    for_every_call(repeated);
}

/* after any other function, at another state */
static void after_others(const dynamics_call *call, dynamics_case *c, call_arguments *x)
{
    results right = results_of(call, x);
    dynamics_case *other = dynamics_case_create(c->m);
    dynamics_case_randomise(other, 999);
    call_arguments before = call_arguments_create(other);
    before.w = c->w;
    for (int i = 0; i < dynamics_call_count; i++)
    {
        if (!applies(&dynamics_calls[i], c->m))
            continue;
        call_run(&dynamics_calls[i], &before);
        expect_same(call, x, &right, dynamics_calls[i].name);
    }
    call_arguments_destroy(&before);
    dynamics_case_destroy(other);
    results_free(&right);
}

static void test_after_others(void **state)
{
    (void)state;
    for_every_call(after_others);
}

/* each output alone is what it is among all */
static void one_by_one(const dynamics_call *call, dynamics_case *c, call_arguments *x)
{
    (void)c;
    results right = results_of(call, x);
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        if (call->out[o].name == NULL)
            continue;
        call_arguments alone = *x;
        for (int k = 0; k < CALL_OUTPUTS; k++)
            if (k != o && !call->out[k].needed)
                alone.out[k] = NULL;
        expect_same(call, &alone, &right, "when it is asked for alone");
    }
    results_free(&right);
}

static void test_one_output_at_a_time(void **state)
{
    (void)state;
    for_every_call(one_by_one);
}

/* tau over a, and a over tau */
static double in_place(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *apart = numbers(nv), *over = numbers(nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, c->a, apart));
    memcpy(over, c->a, sizeof(double) * nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, over, over));
    double error = distance(apart, over, nv);
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, c->a, apart));
    memcpy(over, c->a, sizeof(double) * nv);
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, over, over));
    error = worse(error, distance(apart, over, nv));
    free(apart);
    free(over);
    return error;
}

static void test_in_place(void **state)
{
    (void)state;
    check_models(5, false, 0, in_place);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_watch),
        cmocka_unit_test(test_no_allocation),
        cmocka_unit_test(test_outputs_are_complete),
        cmocka_unit_test(test_repeated),
        cmocka_unit_test(test_after_others),
        cmocka_unit_test(test_one_output_at_a_time),
        cmocka_unit_test(test_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
