/* Status names, the version string, and how messages are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/status.h"

static void every_status_has_its_own_name(void **state)
{
    (void)state;
    assert_string_equal(tg_status_string(TG_OK), "ok");
    assert_string_equal(tg_status_string(TG_ERR_VALUE), "value out of domain");
    assert_string_equal(tg_status_string(TG_ERR_NUMERIC), "numerical failure");
    for (int a = 0; a < TG_STATUS_COUNT; a++)
    {
        assert_true(strlen(tg_status_string((tg_status)a)) > 1);
        for (int b = 0; b < a; b++)
            assert_string_not_equal(tg_status_string((tg_status)a), tg_status_string((tg_status)b));
    }
}

static void a_status_out_of_range_is_named_unknown(void **state)
{
    (void)state;
    assert_string_equal(tg_status_string(TG_STATUS_COUNT), "unknown status");
    assert_string_equal(tg_status_string((tg_status)1000), "unknown status");
}

static void version_string_agrees_with_the_numbers(void **state)
{
    (void)state;
    char expected[32];
    snprintf(expected, sizeof expected, "%d.%d.%d", TG_VERSION_MAJOR, TG_VERSION_MINOR, TG_VERSION_PATCH);
    assert_string_equal(tg_version(), expected);
}

static void fail_writes_status_and_message(void **state)
{
    (void)state;
    tg_error error = {0};
    tg_status status = tg_fail(&error, TG_ERR_VALUE, "body '%s': mass must not be negative, got %g", "trunk", -2.5);
    assert_int_equal(status, TG_ERR_VALUE);
    assert_int_equal(error.status, TG_ERR_VALUE);
    assert_string_equal(error.message, "body 'trunk': mass must not be negative, got -2.5");
}

static void fail_without_an_error_still_returns_the_status(void **state)
{
    (void)state;
    assert_int_equal(tg_fail(NULL, TG_ERR_NAME, "unknown name '%s'", "x"), TG_ERR_NAME);
}

/* a name of any length is cut; what lies behind the message stays as it was */
static void a_long_message_is_cut_and_terminated(void **state)
{
    (void)state;
    struct
    {
        tg_error error;
        unsigned char guard[16];
    } box;
    memset(&box, 0xa5, sizeof box);
    char name[2000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';

    assert_int_equal(tg_fail(&box.error, TG_ERR_NAME, "%s", name), TG_ERR_NAME);
    assert_int_equal(strlen(box.error.message), sizeof box.error.message - 1);
    assert_memory_equal(box.error.message, name, sizeof box.error.message - 1);
    for (size_t i = 0; i < sizeof box.guard; i++)
        assert_int_equal(box.guard[i], 0xa5);
}

static void a_second_failure_replaces_the_first(void **state)
{
    (void)state;
    tg_error error = {0};
    tg_fail(&error, TG_ERR_PARSE, "a long first message, line %d", 12);
    tg_fail(&error, TG_ERR_FILE, "short");
    assert_int_equal(error.status, TG_ERR_FILE);
    assert_string_equal(error.message, "short");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_status_has_its_own_name),
        cmocka_unit_test(a_status_out_of_range_is_named_unknown),
        cmocka_unit_test(version_string_agrees_with_the_numbers),
        cmocka_unit_test(fail_writes_status_and_message),
        cmocka_unit_test(fail_without_an_error_still_returns_the_status),
        cmocka_unit_test(a_long_message_is_cut_and_terminated),
        cmocka_unit_test(a_second_failure_replaces_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
