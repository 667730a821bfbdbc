/* Broken files: every file of tests/bad is refused, by a message that says where and what, in bounded time and memory,
 * and nothing of it is kept. tests/bad/expected.txt says what the messages must contain; those of tests/bad/strict are
 * only refused in strict mode. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tangere/tangere.h"

static const double seconds_allowed = 2;
static const size_t bytes_allowed = (size_t)64 << 20;

static const char *root(void)
{
    const char *given = getenv("TANGERE_ROOT");
    return given != NULL ? given : TANGERE_ROOT;
}

static char *read_text(const char *path, size_t *size)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL)
        fail_msg("%s cannot be opened", path);
    assert_int_equal(fseek(stream, 0, SEEK_END), 0);
    long length = ftell(stream);
    rewind(stream);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)length, stream), length);
    text[length] = '\0';
    fclose(stream);
    *size = (size_t)length;
    return text;
}

/* ---- memory ---- */

typedef struct meter
{
    size_t used, peak;
} meter;

typedef struct head
{
    size_t size;
    char space[64 - sizeof(size_t)]; /* keeps what follows aligned */
} head;

static void *take(size_t size, size_t align, void *user)
{
    meter *m = user;
    head *h = aligned_alloc(align, sizeof *h + size);
    if (h == NULL)
        return NULL;
    h->size = size;
    m->used += size;
    m->peak = m->used > m->peak ? m->used : m->peak;
    return h + 1;
}

static void give(void *memory, void *user)
{
    meter *m = user;
    if (memory == NULL)
        return;
    head *h = (head *)memory - 1;
    m->used -= h->size;
    free(h);
}

/* ---- refusals ---- */

/* The message of a file (text NULL) or text that must be refused. */
static void refuse(const char *what, const char *path, const char *text, size_t length, bool strict, char message[500])
{
    meter memory = {0};
    tg_allocator allocator = {take, give, &memory};
    tg_load_options options = tg_default_load_options();
    options.allocator = &allocator;
    options.strict = strict;
    tg_model *m = NULL;
    tg_error error = {0};
    clock_t start = clock();
    tg_status status =
        text != NULL ? tg_load_string(text, length, NULL, &options, &m, &error) : tg_load(path, &options, &m, &error);
    double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (status == TG_OK)
        fail_msg("%s was not refused", what);
    if (m != NULL || error.status != status || memory.used != 0)
        fail_msg("%s: left a model, no status, or %zu bytes behind", what, memory.used);
    if (seconds > seconds_allowed || memory.peak > bytes_allowed)
        fail_msg("%s: took %g s and %zu bytes", what, seconds, memory.peak);
    memcpy(message, error.message, sizeof error.message);
}

static void check_contains(const char *what, const char *message, const char *part)
{
    if (strstr(message, part) == NULL)
        fail_msg("%s: \"%s\" does not contain \"%s\"", what, message, part);
}

/* ---- the table: a line "file | file:line | part | part ..." ---- */

/* Cuts the next part off *rest, without spaces around it; NULL at the end. */
static char *next_part(char **rest)
{
    char *part = *rest;
    if (part == NULL)
        return NULL;
    char *end = strchr(part, '|');
    *rest = end != NULL ? end + 1 : NULL;
    end = end != NULL ? end : part + strlen(part);
    while (*part == ' ')
        part++;
    while (end > part && end[-1] == ' ')
        end--;
    *end = '\0';
    return part;
}

static void check_line(char *line)
{
    char *rest = line, *file = next_part(&rest), *place = next_part(&rest), path[1200], message[500], start[1300];
    int parts = 0;
    if (file == NULL || place == NULL)
    {
        fail_msg("expected.txt: a line without a file or a place");
        return;
    }
    snprintf(path, sizeof path, "%s/tests/bad/%s", root(), file);
    refuse(file, path, NULL, 0, strncmp(file, "strict/", 7) == 0, message);
    snprintf(start, sizeof start, "%s: ", place);
    check_contains(file, message, start);
    for (char *part = next_part(&rest); part != NULL; part = next_part(&rest), parts++)
        check_contains(file, message, part);
    if (parts == 0)
        fail_msg("%s: expected.txt says nothing of the message", file);
}

static char *read_table(void)
{
    char path[1000];
    size_t size;
    snprintf(path, sizeof path, "%s/tests/bad/expected.txt", root());
    return read_text(path, &size);
}

static void test_messages(void **state)
{
    (void)state;
    char *table = read_table();
    int count = 0;
    for (char *line = strtok(table, "\n"); line != NULL; line = strtok(NULL, "\n"))
    {
        if (line[0] == '#')
            continue;
        check_line(line);
        count++;
    }
    free(table);
    assert_true(count >= 60);
}

/* Whether the table has a line for a file. */
static bool is_listed(const char *table, const char *file)
{
    size_t n = strlen(file);
    for (const char *c = strstr(table, file); c != NULL; c = strstr(c + 1, file))
    {
        if ((c == table || c[-1] == '\n') && strncmp(c + n, " |", 2) == 0)
            return true;
    }
    return false;
}

static void check_folder(const char *table, const char *folder)
{
    char path[1200];
    snprintf(path, sizeof path, "%s/tests/bad/%s", root(), folder);
    DIR *entries = opendir(path);
    assert_non_null(entries);
    for (struct dirent *e = readdir(entries); e != NULL; e = readdir(entries))
    {
        const char *dot = strrchr(e->d_name, '.');
        char file[600];
        snprintf(file, sizeof file, "%s%s", folder, e->d_name);
        bool model = dot != NULL && (strcmp(dot, ".xml") == 0 || strcmp(dot, ".urdf") == 0);
        if (model && !is_listed(table, file))
            fail_msg("tests/bad/%s is not in expected.txt", file);
    }
    closedir(entries);
}

static void test_table_is_complete(void **state)
{
    (void)state;
    char *table = read_table();
    check_folder(table, "");
    check_folder(table, "strict/");
    free(table);
}

/* ---- what is too large to keep as a file ---- */

/* start, then piece count times, then end */
static char *repeat(const char *start, const char *piece, size_t count, const char *end)
{
    size_t n = strlen(piece), used = strlen(start);
    char *text = malloc(used + n * count + strlen(end) + 1);
    assert_non_null(text);
    memcpy(text, start, used);
    for (size_t i = 0; i < count; i++, used += n)
        memcpy(text + used, piece, n);
    strcpy(text + used, end);
    return text;
}

static void refuse_repeated(const char *what, const char *start, const char *piece, size_t count, const char *end,
                            const char *expected)
{
    char *text = repeat(start, piece, count, end), message[500];
    refuse(what, NULL, text, strlen(text), false, message);
    check_contains(what, message, expected);
    check_contains(what, message, "<string>:");
    free(text);
}

static void test_large(void **state)
{
    (void)state;
    refuse_repeated("10,000 bodies in each other", "<mujoco><worldbody>", "<body>", 10000, "",
                    "nested deeper than 500");
    refuse_repeated("10,000 defaults in each other", "<mujoco><default>", "<default class='a'>", 10000, "",
                    "nested deeper than 500");
    refuse_repeated("10,000 links in each other", "<robot name='r'>", "<link name='a'>", 10000, "",
                    "nested deeper than 500");
    refuse_repeated("a name of 4 MB", "<mujoco><worldbody><geom siz='", "1", 4 << 20, "'/></worldbody></mujoco>",
                    "unknown attribute 'siz'");
    refuse_repeated("a million numbers", "<mujoco><worldbody><geom size='", "1 ", 1000000, "'/></worldbody></mujoco>",
                    "attribute 'size'");
    refuse_repeated("a number of a million digits", "<mujoco><worldbody><geom size='", "9", 1000000,
                    "'/></worldbody></mujoco>", "must be finite");
    refuse_repeated("a million spaces", "<mujoco>", " ", 1000000, "<bodie/></mujoco>", "unknown element");
    refuse_repeated("a path of a million folders",
                    "<robot name='r'><link name='a'><collision><geometry><mesh filename='package://p", "/a", 1000000,
                    ".stl'/></geometry></collision></link></robot>", "attribute 'filename'");
    refuse_repeated("100,000 comments", "<mujoco>", "<!-- -->", 100000, "", "not well-formed");
}

/* A file that ends anywhere is refused, or is one that has lost only the blanks at its end. */
static void test_truncated(void **state)
{
    (void)state;
    char path[1000], message[500], what[40];
    size_t size;
    snprintf(path, sizeof path, "%s/models/quadruped.xml", root());
    char *text = read_text(path, &size);
    size_t last = size;
    while (last > 0 && text[last - 1] != '>')
        last--;
    for (size_t length = 0; length < last; length += 1 + length / 40)
    {
        snprintf(what, sizeof what, "the first %zu bytes", length);
        refuse(what, NULL, text, length, false, message);
        check_contains(what, message, "<string>:");
    }
    free(text);
}

/* ---- text without a folder ---- */

static void test_paths(void **state)
{
    (void)state;
    static const char *const outside[] = {
        "<mujoco><include file='../a.xml'/></mujoco>",
        "<mujoco><include file='/etc/hostname'/></mujoco>",
        "<mujoco><include file='a/../../b.xml'/></mujoco>",
        "<mujoco><compiler meshdir='..'/></mujoco>",
        "<mujoco><compiler assetdir='/'/></mujoco>",
        "<mujoco><asset><mesh file='c:\\a.stl'/></asset></mujoco>",
        "<robot name='r'><link name='a'><collision><geometry><mesh filename='package://a/../b.stl'/></geometry>"
        "</collision></link></robot>",
        "<robot name='r'><link name='a'><collision><geometry><mesh filename='file:///b.stl'/></geometry></collision>"
        "</link></robot>",
    };
    char message[500];
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
    {
        refuse(outside[i], NULL, outside[i], strlen(outside[i]), false, message);
        check_contains(outside[i], message, "leaves the current folder");
        check_contains(outside[i], message, "<string>:1: ");
    }
    /* with a folder, the same path is looked up */
    tg_model *m = NULL;
    tg_error error = {0};
    const char *text = "<mujoco><include file='../no_such_file.xml'/></mujoco>";
    assert_int_equal(tg_load_string(text, strlen(text), "folder", NULL, &m, &error), TG_ERR_FILE);
    check_contains(text, error.message, "folder/../no_such_file.xml");
    text = "<mujoco><include file='a..b/..c/no_such_file.xml'/></mujoco>"; /* no part is ".." */
    assert_int_equal(tg_load_string(text, strlen(text), NULL, NULL, &m, &error), TG_ERR_FILE);
    check_contains(text, error.message, "cannot open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages), cmocka_unit_test(test_table_is_complete),
        cmocka_unit_test(test_large),    cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
