/* A model as bytes and back: the same structure, names, report and, bit for bit, parameters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/model.h"
#include "tangere/read.h"

static const char *const files[] = {
    TANGERE_ROOT "/models/quadruped.xml",
    TANGERE_SHARED "/robots/agility_cassie/scene.xml",             /* loops, meshes, tendons, keyframes */
    TANGERE_SHARED "/robots/unitree_h1/scene_mesh.xml",            /* hulls */
    TANGERE_SHARED "/robots/hard/robotiq_2f85.xml",                /* pairs and excludes */
    TANGERE_SHARED "/robots/universal_robots_ur5e/scene_mesh.xml", /* a report */
};

static tg_model *load(const char *file)
{
    tg_model *m = NULL;
    tg_load_options options = tg_default_load_options();
    assert_int_equal(tg_load(file, &options, &m, NULL), TG_OK);
    return m;
}

static unsigned char *bytes_of(const tg_model *m, size_t *size)
{
    *size = tg_model_to_bytes(m, NULL, 0);
    assert_true(*size > 0);
    unsigned char *bytes = calloc(1, *size);
    assert_non_null(bytes);
    assert_int_equal(tg_model_to_bytes(m, bytes, *size - 1), *size); /* too little room: nothing is written */
    assert_int_equal(bytes[0], 0);
    assert_int_equal(tg_model_to_bytes(m, bytes, *size), *size);
    return bytes;
}

static void same_names_and_numbers(const tg_model *a, const tg_model *b)
{
    tg_sizes n = tg_model_sizes(a), other = tg_model_sizes(b);
    assert_memory_equal(&n, &other, sizeof n);
    assert_string_equal(tg_model_name(a), tg_model_name(b));
    for (int element = 0; element < TG_ELEMENT_COUNT; element++)
    {
        for (int i = 0; tg_name(a, (tg_element)element, i) != NULL; i++)
            assert_string_equal(tg_name(a, (tg_element)element, i), tg_name(b, (tg_element)element, i));
    }
    assert_memory_equal(tg_params_view(tg_model_params(a)), tg_params_view(tg_model_params(b)),
                        (size_t)n.nparams * sizeof(double));
    assert_int_equal(tg_report_count(a), tg_report_count(b));
    for (int i = 0; i < tg_report_count(a); i++)
    {
        tg_report_entry x, y;
        assert_int_equal(tg_report_get(a, i, &x, NULL), TG_OK);
        assert_int_equal(tg_report_get(b, i, &y, NULL), TG_OK);
        assert_true(x.kind == y.kind && x.line == y.line);
        assert_string_equal(x.file, y.file);
        assert_string_equal(x.element, y.element);
        assert_string_equal(x.attribute, y.attribute);
        assert_string_equal(x.note, y.note);
    }
    for (int i = 0; i < n.nvisual; i++)
    {
        tg_visual_info x, y;
        assert_int_equal(tg_visual_get(a, i, &x, NULL), TG_OK);
        assert_int_equal(tg_visual_get(b, i, &y, NULL), TG_OK);
        assert_string_equal(x.name, y.name);
        assert_string_equal(x.file, y.file);
        assert_memory_equal(x.pos, y.pos, sizeof x.pos);
        assert_true(x.type == y.type && x.body == y.body && x.rgba[3] == y.rgba[3]);
    }
}

static tg_model *copy_of(const tg_model *m, unsigned char **bytes, size_t *size)
{
    tg_model *copy = NULL;
    *bytes = bytes_of(m, size);
    assert_int_equal(tg_model_from_bytes(*bytes, *size, NULL, &copy, NULL), TG_OK);
    return copy;
}

/* Strings of a file lie in the order in which they were met; from the first copy on bytes are equal. */
static void bytes_make_the_same_model(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    {
        unsigned char *bytes, *second, *third;
        size_t size, size2, size3;
        tg_model *m = load(files[i]), *copy = copy_of(m, &bytes, &size), *again = copy_of(copy, &second, &size2);
        third = bytes_of(again, &size3);
        same_names_and_numbers(m, copy);
        assert_int_equal(size2, size3);
        assert_memory_equal(second, third, size2);
        tg_model_destroy(m);
        tg_model_destroy(copy);
        tg_model_destroy(again);
        free(bytes);
        free(second);
        free(third);
    }
}

static void damaged_bytes_are_refused(void **state)
{
    (void)state;
    size_t size;
    tg_model *m = load(files[0]), *copy = NULL;
    tg_error error = {.message = ""};
    unsigned char *bytes = bytes_of(m, &size);
    for (size_t i = 0; i < size; i += 1 + size / 997)
    {
        bytes[i] ^= 0x10;
        assert_int_equal(tg_model_from_bytes(bytes, size, NULL, &copy, &error), TG_ERR_PARSE);
        assert_null(copy);
        bytes[i] ^= 0x10;
    }
    for (size_t cut = 0; cut < size; cut += 1 + size / 97)
        assert_int_equal(tg_model_from_bytes(bytes, cut, NULL, &copy, &error), TG_ERR_PARSE);
    bytes[8] = '9'; /* of the version */
    assert_int_equal(tg_model_from_bytes(bytes, size, NULL, &copy, &error), TG_ERR_PARSE);
    assert_non_null(strstr(error.message, "version 9"));
    assert_int_equal(tg_model_from_bytes(NULL, size, NULL, &copy, &error), TG_ERR_ARGUMENT);
    assert_int_equal(tg_model_to_bytes(NULL, NULL, 0), 0);
    tg_model_destroy(m);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_make_the_same_model),
        cmocka_unit_test(damaged_bytes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
