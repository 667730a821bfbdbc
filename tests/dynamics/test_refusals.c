/* Bad arguments to every public function of the dynamics stage: a status, a message that names array, index and
 * value, and outputs that are as they were. */
#include "dynamics_test.h"
#include "support/dynamics_calls.h"

enum
{
    PATTERN = 0x5a
};

/* What is being tried, and how often something was. */
typedef struct trial
{
    const dynamics_call *call;
    dynamics_case *c;
    call_arguments x;
    int *count;
} trial;

static void check_untouched(const trial *t, const call_arguments *x, const char *what)
{
    unsigned char *bytes;
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        bytes = (unsigned char *)x->out[o];
        for (size_t i = 0; bytes != NULL && i < sizeof(double) * (call_output_size(t->call, x, o) + 1); i++)
            if (bytes[i] != PATTERN)
                fail_msg("%s, %s: output %s was written at byte %zu", t->call->name, what, t->call->out[o].name, i);
    }
}

/* Calls with the arguments x, and expects a refusal whose message contains a text. */
static void expect_refusal(trial *t, const call_arguments *x, tg_status expected, const char *text, const char *what)
{
    call_arguments sized = *x; /* for sizes, when x has no model */
    sized.m = t->x.m;
    sized.n = t->x.n;
    call_fill(t->call, &sized, PATTERN);
    tg_status status = t->call->run(x);
    if (status != expected)
        fail_msg("%s, %s: %s, expected %s", t->call->name, what, tg_status_string(status), tg_status_string(expected));
    if (x->w != NULL && strstr(tg_work_message(x->w), text) == NULL)
        fail_msg("%s, %s: the message '%s' does not say '%s'", t->call->name, what, tg_work_message(x->w), text);
    check_untouched(t, &sized, what);
    (*t->count)++;
}

/* the poses that the queries need */
static void prepare(const trial *t)
{
    if (t->call->after_kinematics)
        check_ok(t->c, tg_kinematics(t->c->m, t->c->w, t->c->q, t->c->v));
}

static void refuse_objects(trial *t, tg_model *other_model, tg_work *other_work)
{
    call_arguments x = t->x;
    x.m = NULL;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "m is NULL", "no model");
    x = t->x;
    x.w = NULL;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "", "no workspace");
    x.w = other_work;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "another model", "workspace of another model");
    x = t->x;
    x.m = other_model;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "another model", "another model");
    tg_params_data(t->c->params);
    expect_refusal(t, &t->x, TG_ERR_STALE, "tg_params_changed", "changed parameters");
    assert_int_equal(tg_params_changed(t->c->params, NULL), TG_OK);
    if (t->call->after_kinematics)
        expect_refusal(t, &t->x, TG_ERR_STALE, "parameters have changed", "poses of other parameters");
    prepare(t);
}

static void refuse_numbers(trial *t, call_input input)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    int n = call_input_size(t->x.m, input);
    double *copy = numbers((size_t)n);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++)
        {
            char text[40];
            call_arguments x = t->x;
            memcpy(copy, t->x.in[input], sizeof(double) * (size_t)n);
            copy[i] = bad[k];
            x.in[input] = copy;
            snprintf(text, sizeof text, "%s[%d] = ", call_input_name(input), i);
            expect_refusal(t, &x, TG_ERR_VALUE, text, text);
            snprintf(text, sizeof text, "%g", bad[k]);
            assert_non_null(strstr(tg_work_message(x.w), text));
        }
    free(copy);
}

static void refuse_quaternions(trial *t)
{
    static const double scale[] = {0, 0.5, 1 - 1.1e-3, 1 + 1.1e-3, 1e100};
    double *copy = numbers((size_t)t->c->size.nq);
    for (int j = 0; j < t->c->size.njoint; j++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(t->c->m, j, &info, NULL), TG_OK);
        if (info.type == TG_JOINT_HINGE || info.type == TG_JOINT_SLIDE)
            continue;
        int at = info.q + (info.type == TG_JOINT_FREE ? 3 : 0);
        for (size_t k = 0; k < sizeof scale / sizeof *scale; k++)
        {
            char text[40];
            call_arguments x = t->x;
            memcpy(copy, t->c->q, sizeof(double) * (size_t)t->c->size.nq);
            for (int i = 0; i < 4; i++)
                copy[at + i] *= scale[k];
            x.in[CALL_Q] = copy;
            snprintf(text, sizeof text, "q[%d..%d]", at, at + 3);
            expect_refusal(t, &x, TG_ERR_VALUE, text, text);
        }
    }
    free(copy);
}

static void refuse_inputs(trial *t)
{
    for (int input = 0; input < CALL_INPUTS; input++)
    {
        unsigned bit = 1u << input;
        if (((t->call->needs | t->call->takes) & bit) == 0)
            continue;
        refuse_numbers(t, (call_input)input);
        if ((t->call->needs & bit) == 0 || call_input_size(t->x.m, (call_input)input) == 0)
            continue;
        char text[40];
        call_arguments x = t->x;
        x.in[input] = NULL;
        snprintf(text, sizeof text, "%s is NULL", call_input_name((call_input)input));
        expect_refusal(t, &x, TG_ERR_ARGUMENT, text, text);
    }
    if (t->call->needs & (1u << CALL_Q))
        refuse_quaternions(t);
}

static void refuse_outputs(trial *t)
{
    for (int o = 0; o < CALL_OUTPUTS; o++)
    {
        if (!t->call->out[o].needed)
            continue;
        char text[40];
        call_arguments x = t->x;
        x.out[o] = NULL;
        snprintf(text, sizeof text, "%s is NULL", t->call->out[o].name);
        expect_refusal(t, &x, TG_ERR_ARGUMENT, text, text);
    }
}

static void refuse_elements(trial *t)
{
    if (t->call->element == TG_ELEMENT_COUNT)
        return;
    int count = call_element_count(t->x.m, t->call);
    const int bad[] = {-1, count, INT32_MAX, INT32_MIN};
    for (int k = 0; k < 4; k++)
    {
        char text[60];
        call_arguments x = t->x;
        x.element = bad[k];
        snprintf(text, sizeof text, "%s %d does not exist", tg_element_string(t->call->element), bad[k]);
        expect_refusal(t, &x, TG_ERR_ARGUMENT, text, text);
    }
}

static void refuse_frames(trial *t)
{
    if (!t->call->framed)
        return;
    const int bad[] = {-1, 3, 1000};
    for (int k = 0; k < 3; k++)
    {
        char text[40];
        call_arguments x = t->x;
        x.frame = (tg_frame)bad[k];
        snprintf(text, sizeof text, "frame %d does not exist", bad[k]);
        expect_refusal(t, &x, TG_ERR_ARGUMENT, text, text);
    }
    call_arguments x = t->x;
    x.frame = TG_FRAME_WORLD;
    if (t->call->takes & (1u << CALL_POINT))
        expect_refusal(t, &x, TG_ERR_ARGUMENT, "takes no point", "a point in the world frame");
}

static void refuse_indices(trial *t)
{
    if (!t->call->indexed)
        return;
    call_arguments x = t->x;
    x.n = -1;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "n = -1", "negative count");
    x = t->x;
    x.index = NULL;
    expect_refusal(t, &x, TG_ERR_ARGUMENT, "index is NULL", "no indices");
    const int bad[] = {-1, t->c->size.nparams, INT32_MAX};
    int copy[64];
    memcpy(copy, t->x.index, sizeof *copy * (size_t)t->x.n);
    x.index = copy;
    for (int k = 0; k < 3; k++)
    {
        char text[40];
        copy[7] = bad[k];
        snprintf(text, sizeof text, "index[7] = %d", bad[k]);
        expect_refusal(t, &x, TG_ERR_ARGUMENT, text, text);
    }
}

/* Before tg_kinematics. */
static void refuse_without_poses(trial *t)
{
    if (!t->call->after_kinematics)
        return;
    check_ok(t->c, tg_work_set_params(t->c->w, t->c->params)); /* forgets the poses */
    expect_refusal(t, &t->x, TG_ERR_STALE, "tg_kinematics", "no poses");
    prepare(t);
}

/* What may be absent is absent: accepted. */
static void accept_least(const trial *t)
{
    call_arguments x = t->x;
    for (int input = 0; input < CALL_INPUTS; input++)
        if ((t->call->needs & (1u << input)) == 0 && !t->call->after_kinematics)
            x.in[input] = NULL;
    if (t->call->after_kinematics)
        x.in[CALL_POINT] = NULL;
    for (int o = 0; o < CALL_OUTPUTS; o++)
        if (!t->call->out[o].needed)
            x.out[o] = NULL;
    call_run(t->call, &x);
    x.n = 0;
    x.index = NULL;
    call_run(t->call, &x);
}

static int refuse_all(int model)
{
    int count = 0;
    tg_model *m = tg_test_model(model), *other_model = tg_test_model(model);
    dynamics_case *c = dynamics_case_create(m), *other = dynamics_case_create(other_model);
    dynamics_case_randomise(c, 1);
    call_arguments x = call_arguments_create(c);
    for (int k = 0; k < dynamics_call_count; k++)
    {
        trial t = {&dynamics_calls[k], c, x, &count};
        if (t.call->element != TG_ELEMENT_COUNT && call_element_count(m, t.call) == 0)
            continue;
        prepare(&t);
        call_run(t.call, &x);
        refuse_objects(&t, other_model, other->w);
        refuse_inputs(&t);
        refuse_outputs(&t);
        refuse_elements(&t);
        refuse_frames(&t);
        refuse_indices(&t);
        refuse_without_poses(&t);
        accept_least(&t);
    }
    call_arguments_destroy(&x);
    dynamics_case_destroy(c);
    dynamics_case_destroy(other);
    tg_model_destroy(m);
    tg_model_destroy(other_model);
    return count;
}

static void test_every_function(void **state)
{
    (void)state;
    int count = refuse_all(TG_TEST_EVERYTHING) + refuse_all(TG_TEST_TWO_TREES) + refuse_all(TG_TEST_PENDULUM);
    print_message("  %d refusals of %d functions\n", count, dynamics_call_count);
    assert_int_equal(dynamics_call_count, 29);
    assert_true(count > 5000);
}

/* The message is that of the last failure, and stays when a later call works. */
static void test_message(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    tg_work *w = NULL;
    assert_int_equal(tg_work_create(m, &w, NULL), TG_OK);
    assert_string_equal(tg_work_message(w), "");
    double q = NAN, zero = 0, tau = 0;
    assert_int_equal(tg_rnea(m, w, &q, &zero, NULL, &tau), TG_ERR_VALUE);
    assert_string_equal(tg_work_message(w), "q[0] = nan: must be finite");
    assert_int_equal(tg_rnea(m, w, &zero, &zero, NULL, &tau), TG_OK);
    assert_string_equal(tg_work_message(w), "q[0] = nan: must be finite");
    tg_work_destroy(w);
    tg_model_destroy(m);
}

/* ---- the workspace itself ---- */

static void test_workspace(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM), *other = tg_test_model(TG_TEST_PENDULUM);
    tg_work *w = (tg_work *)(uintptr_t)64, *kept = w;
    tg_error error = {TG_OK, ""};
    assert_int_equal(tg_work_create(NULL, &w, &error), TG_ERR_ARGUMENT);
    assert_int_equal(error.status, TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "m is NULL"));
    assert_int_equal(tg_work_create(m, NULL, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "w is NULL"));
    assert_int_equal(tg_work_create(NULL, &w, NULL), TG_ERR_ARGUMENT);
    assert_ptr_equal(w, kept);
    assert_int_equal(tg_work_create(m, &w, NULL), TG_OK);
    assert_true(tg_work_bytes(w) > 0);
    assert_int_equal(tg_work_set_params(NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_work_set_params(w, tg_model_params(other)), TG_ERR_ARGUMENT);
    assert_non_null(strstr(tg_work_message(w), "another model"));
    double q = 0.3, v = 0, before = 0, after = 0;
    assert_int_equal(tg_rnea(m, w, &q, &v, NULL, &before), TG_OK); /* still works with its own */
    assert_int_equal(tg_work_set_params(w, NULL), TG_OK);
    assert_int_equal(tg_rnea(m, w, &q, &v, NULL, &after), TG_OK);
    assert_true(before == after && before != 0);
    assert_string_equal(tg_work_message(NULL), "");
    assert_int_equal(tg_work_bytes(NULL), 0);
    tg_work_destroy(NULL);
    tg_work_destroy(w);
    tg_model_destroy(m);
    tg_model_destroy(other);
}

/* A builder's allocator is that of its model and of the model's workspaces. */
typedef struct limited_memory
{
    int left;
} limited_memory;

static void *limited_alloc(size_t size, size_t align, void *user)
{
    limited_memory *memory = user;
    return memory->left-- > 0 ? aligned_alloc(align, (size + align - 1) & ~(align - 1)) : NULL;
}

static void limited_free(void *block, void *user)
{
    (void)user;
    free(block);
}

static void test_no_memory(void **state)
{
    (void)state;
    limited_memory memory = {INT32_MAX};
    tg_allocator allocator = {limited_alloc, limited_free, &memory};
    tg_builder *b = NULL;
    tg_model *m = NULL;
    assert_int_equal(tg_builder_create(&allocator, &b, NULL), TG_OK);
    assert_int_equal(tg_test_model_add(b, TG_TEST_HUMANOID), TG_OK);
    assert_int_equal(tg_builder_build(b, &m), TG_OK);
    memory.left = 0;
    tg_work *w = NULL;
    tg_error error = {TG_OK, ""};
    assert_int_equal(tg_work_create(m, &w, &error), TG_ERR_MEMORY);
    assert_null(w);
    assert_non_null(strstr(error.message, "bytes"));
    memory.left = 1; /* one allocation is all it takes */
    assert_int_equal(tg_work_create(m, &w, &error), TG_OK);
    tg_work_destroy(w);
    tg_model_destroy(m);
    tg_builder_destroy(b);
}

/* Parameters that were refused stay unusable until they are mended. */
static void test_refused_parameters(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    dynamics_case *c = dynamics_case_create(m);
    int mass = 0;
    double tau = 1, old;
    assert_int_equal(tg_param_find(m, "body.pole.mass", &mass, NULL, NULL), TG_OK);
    dynamics_case_randomise(c, 1);
    old = tg_params_view(c->params)[mass];
    tg_params_data(c->params)[mass] = -1;
    assert_int_equal(tg_params_changed(c->params, NULL), TG_ERR_VALUE);
    assert_int_equal(tg_rnea(m, c->w, c->q, c->v, c->a, &tau), TG_ERR_STALE);
    assert_true(tau == 1);
    tg_params_data(c->params)[mass] = old;
    assert_int_equal(tg_params_changed(c->params, NULL), TG_OK);
    check_ok(c, tg_rnea(m, c->w, c->q, c->v, c->a, &tau));
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_function),     cmocka_unit_test(test_message),
        cmocka_unit_test(test_workspace),          cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_refused_parameters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
