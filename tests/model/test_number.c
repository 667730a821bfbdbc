/* Numbers in text: the same bits as the C library's in the C locale, and the same in every other locale. */
#include <float.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/number.h"

static void assert_reads(const char *text)
{
    const char *end = text;
    double value = 0;
    assert_true(tg_number_real(&end, &value));
    char *expected_end;
    double expected = strtod(text, &expected_end);
    if (value != expected || signbit(value) != signbit(expected))
        fail_msg("\"%s\": %.17g instead of %.17g", text, value, expected);
    assert_ptr_equal(end, expected_end);
}

static void test_spellings(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "0",       "-0",     "1",       "+1",    "-1.5",          ".5",    "5.",    "1e3",   "1E+3",  "1e-3",
        "12.25e2", "1e",     "1e+",     "1.5 2", "0x10",          "1e22",  "1e23",  "1e-22", "1e-23", "1e308",
        "1e309",   "1e-400", "-1e-400", "0e999", "1e99999999999", "00012", "0.000", "1..2"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    {
        if (strcmp(texts[i], "0x10") != 0) /* hexadecimal is for C, not here */
            assert_reads(texts[i]);
    }
    const char *text = "0x10";
    double value;
    assert_true(tg_number_real(&text, &value));
    assert_true(value == 0 && *text == 'x');
}

/* Numbers that are hard to round: halfway between two doubles, or nearly so. */
static void test_hard(void **state)
{
    (void)state;
    assert_reads("9007199254740993");
    assert_reads("9007199254740992.999999999999999999999999");
    assert_reads("9007199254740993.00000000000000000000000000000000000001");
    assert_reads("2.2250738585072011e-308");
    assert_reads("2.2250738585072012e-308");
    assert_reads("4.9406564584124654e-324");
    assert_reads("2.4703282292062327e-324");
    assert_reads("2.4703282292062328e-324");
    assert_reads("1.7976931348623157e308");
    assert_reads("1.7976931348623159e308");
    assert_reads("0.30000000000000004");
    assert_reads("123456789012345678901234567890");
    assert_reads("0.00000000000000000000000000000000000000000000000000000000000000000000001234567890123456789");
}

static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static void test_random(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++)
    {
        uint64_t bits = next(&seed);
        double value;
        char text[64];
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        snprintf(text, sizeof text, "%.*g", 1 + (int)(next(&seed) % 20), value);
        assert_reads(text);
        snprintf(text, sizeof text, "%.*f", (int)(next(&seed) % 12), (double)(int64_t)bits * 1e-15);
        assert_reads(text);
    }
}

static void test_long(void **state)
{
    (void)state;
    char text[3000];
    memset(text, '0', sizeof text);
    text[1] = '.';
    memcpy(text + 2000, "123456789e2000", 15);
    assert_reads(text);
    memset(text, '7', sizeof text);
    text[1] = '.';
    text[2500] = '\0';
    assert_reads(text);
    text[1] = '7';
    strcpy(text + 2500, "e-2600");
    assert_reads(text);
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", " 1", "x", "-", "+", ".", "e5", "--1", "+-1", "i", "na", ",5"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    {
        const char *text = texts[i];
        double value;
        assert_false(tg_number_real(&text, &value));
        assert_ptr_equal(text, texts[i]);
    }
}

static void test_special(void **state)
{
    (void)state;
    const char *text = "inf";
    double value;
    assert_true(tg_number_real(&text, &value) && isinf(value) && value > 0);
    text = "-Infinity";
    assert_true(tg_number_real(&text, &value) && isinf(value) && value < 0 && *text == '\0');
    text = "NaN";
    assert_true(tg_number_real(&text, &value) && isnan(value));
}

static void test_locale(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    {
        if (setlocale(LC_NUMERIC, names[i]) == NULL)
            continue; /* not installed */
        const char *text = "1.50000000000000000000001";
        double value;
        assert_true(tg_number_real(&text, &value));
        setlocale(LC_NUMERIC, "C");
        assert_true(value == 1.5 && *text == '\0');
    }
}

static void test_integers(void **state)
{
    (void)state;
    static const struct
    {
        const char *text;
        int value, length;
    } good[] = {
        {"0", 0, 1},  {"-7 8", -7, 2}, {"+12", 12, 3}, {"2147483647", 2147483647, 10}, {"-2147483648", INT32_MIN, 11},
        {"3.5", 3, 1}};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    {
        const char *text = good[i].text;
        int value;
        assert_true(tg_number_integer(&text, &value));
        assert_int_equal(value, good[i].value);
        assert_int_equal(text - good[i].text, good[i].length);
    }
    static const char *const bad[] = {"", "x", "-", "2147483648", "-2147483649", "99999999999999999999999", ".5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    {
        const char *text = bad[i];
        int value;
        assert_false(tg_number_integer(&text, &value));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spellings), cmocka_unit_test(test_hard),     cmocka_unit_test(test_random),
        cmocka_unit_test(test_long),      cmocka_unit_test(test_refused),  cmocka_unit_test(test_special),
        cmocka_unit_test(test_locale),    cmocka_unit_test(test_integers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
