/* Guesses at misspelt names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static const char *guess(const char *word)
{
    static const char *const names[] = {"damping", "armature", "range", "pos", "stiffness"};
    tg_nearest nearest = tg_nearest_begin(word);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        tg_nearest_try(&nearest, names[i]);
    return nearest.name;
}

static void a_letter_too_many_too_few_or_changed(void **state)
{
    (void)state;
    assert_string_equal(guess("dampping"), "damping");
    assert_string_equal(guess("damping"), "damping");
    assert_string_equal(guess("dampening"), "damping");
    assert_string_equal(guess("armatur"), "armature");
    assert_string_equal(guess("rangs"), "range");
}

static void what_is_near_nothing_has_no_guess(void **state)
{
    (void)state;
    assert_null(guess(""));
    assert_null(guess("colour"));
    assert_null(guess("x")); /* as far from "pos" as it is long */
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_null(guess(longest));
    tg_nearest nearest = tg_nearest_begin("a");
    tg_nearest_try(&nearest, longest);
    assert_null(nearest.name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_letter_too_many_too_few_or_changed),
        cmocka_unit_test(what_is_near_nothing_has_no_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
