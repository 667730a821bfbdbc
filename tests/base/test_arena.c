/* The arena: counting and placing agree, overflow and exhaustion are refused by name, marks give memory back, and all
 * memory comes from the caller's allocator. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"

/* an object with arrays of three types, laid out as the library lays out its own */
typedef struct layout
{
    double *mass;
    char *name;
    int *parent;
} layout;

static layout take_layout(tg_arena *arena)
{
    layout l;
    l.mass = TG_TAKE(arena, double, 10, "mass");
    l.name = TG_TAKE(arena, char, 3, "name");
    l.parent = TG_TAKE(arena, int, 17, "parent");
    return l;
}

/* 80, 3 and 68 bytes, each rounded up to 64 */
enum
{
    LAYOUT_BYTES = 128 + 64 + 128
};

static void counting_gives_the_size_and_no_memory(void **state)
{
    (void)state;
    tg_arena arena = {0};
    layout l = take_layout(&arena);
    assert_null(l.mass);
    assert_null(l.name);
    assert_null(l.parent);
    assert_int_equal(arena.used, LAYOUT_BYTES);
    assert_int_equal(arena.peak, LAYOUT_BYTES);
    assert_false(arena.failed);
}

static void placing_fills_exactly_what_was_counted(void **state)
{
    (void)state;
    unsigned char *block = tg_alloc(NULL, LAYOUT_BYTES);
    assert_non_null(block);
    tg_arena arena = {.base = block, .capacity = LAYOUT_BYTES};
    layout l = take_layout(&arena);
    assert_false(arena.failed);
    assert_int_equal(arena.used, LAYOUT_BYTES);
    assert_ptr_equal(l.mass, block);
    assert_ptr_equal(l.name, block + 128);
    assert_ptr_equal(l.parent, block + 192);
    memset(l.mass, 1, 10 * sizeof(double));
    memset(l.name, 2, 3);
    memset(l.parent, 3, 17 * sizeof(int));
    assert_int_equal(((unsigned char *)l.mass)[79], 1);
    assert_int_equal(l.name[2], 2);
    tg_free(NULL, block);
}

static void every_take_is_aligned(void **state)
{
    (void)state;
    unsigned char *block = tg_alloc(NULL, 64 * 200);
    assert_non_null(block);
    tg_arena arena = {.base = block, .capacity = 64 * 200};
    for (size_t count = 0; count < 100; count++)
    {
        char *taken = TG_TAKE(&arena, char, count, "text");
        assert_non_null(taken);
        assert_int_equal((uintptr_t)taken % TG_ALIGN, 0);
    }
    tg_free(NULL, block);
}

static void a_product_that_overflows_is_refused_by_name(void **state)
{
    (void)state;
    tg_arena arena = {0};
    TG_TAKE(&arena, double, 4, "first");
    assert_null(TG_TAKE(&arena, double, SIZE_MAX / 4, "huge"));
    assert_true(arena.failed);
    assert_string_equal(arena.failed_name, "huge");
    assert_int_equal(arena.used, 64);

    /* the first name is kept */
    assert_null(TG_TAKE(&arena, double, SIZE_MAX / 8, "later"));
    assert_string_equal(arena.failed_name, "huge");
}

static void a_product_that_overflows_when_rounded_up_is_refused(void **state)
{
    (void)state;
    tg_arena arena = {0};
    assert_null(TG_TAKE(&arena, char, SIZE_MAX - 10, "nearly all"));
    assert_true(arena.failed);
    assert_int_equal(arena.used, 0);
}

static void a_sum_that_overflows_is_refused(void **state)
{
    (void)state;
    tg_arena arena = {0};
    TG_TAKE(&arena, char, SIZE_MAX / 2, "half");
    TG_TAKE(&arena, char, SIZE_MAX / 4, "quarter");
    assert_false(arena.failed);
    assert_null(TG_TAKE(&arena, char, SIZE_MAX / 2, "other half"));
    assert_true(arena.failed);
    assert_string_equal(arena.failed_name, "other half");
}

static void running_out_says_how_much_was_needed(void **state)
{
    (void)state;
    unsigned char *block = tg_alloc(NULL, LAYOUT_BYTES - 64);
    assert_non_null(block);
    tg_arena arena = {.base = block, .capacity = LAYOUT_BYTES - 64};
    layout l = take_layout(&arena);
    assert_non_null(l.mass);
    assert_non_null(l.name);
    assert_null(l.parent);
    assert_true(arena.failed);
    assert_string_equal(arena.failed_name, "parent");
    assert_int_equal(arena.peak, LAYOUT_BYTES);
    tg_free(NULL, block);
}

static void release_gives_back_to_the_mark_and_keeps_the_peak(void **state)
{
    (void)state;
    unsigned char *block = tg_alloc(NULL, 1024);
    assert_non_null(block);
    tg_arena arena = {.base = block, .capacity = 1024};
    double *kept = TG_TAKE(&arena, double, 8, "kept");
    kept[7] = 7;

    size_t mark = tg_arena_mark(&arena);
    double *scratch = TG_TAKE(&arena, double, 64, "scratch");
    scratch[63] = 1;
    tg_arena_release(&arena, mark);
    assert_int_equal(arena.used, 64);
    assert_int_equal(arena.peak, 64 + 512);

    double *again = TG_TAKE(&arena, double, 16, "again");
    assert_ptr_equal(again, scratch);
    again[15] = 2;
    assert_true(kept[7] == 7);

    tg_arena_close(&arena);
    memset(block, 0, 1024);
    tg_free(NULL, block);
}

static void marks_nest(void **state)
{
    (void)state;
    tg_arena arena = {0};
    size_t outer = tg_arena_mark(&arena);
    TG_TAKE(&arena, char, 100, "outer");
    size_t inner = tg_arena_mark(&arena);
    TG_TAKE(&arena, char, 100, "inner");
    tg_arena_release(&arena, inner);
    assert_int_equal(arena.used, 128);
    tg_arena_release(&arena, outer);
    assert_int_equal(arena.used, 0);
    assert_int_equal(arena.peak, 256);
}

/* scratch that did not fit is released like any other, and there is room again */
static void release_after_running_out_recovers_the_room(void **state)
{
    (void)state;
    unsigned char *block = tg_alloc(NULL, 256);
    assert_non_null(block);
    tg_arena arena = {.base = block, .capacity = 256};
    size_t mark = tg_arena_mark(&arena);
    assert_non_null(TG_TAKE(&arena, char, 200, "fits"));
    assert_null(TG_TAKE(&arena, char, 200, "does not"));
    tg_arena_release(&arena, mark);
    char *text = TG_TAKE(&arena, char, 256, "all");
    assert_ptr_equal(text, block);
    text[255] = 'x';
    tg_arena_close(&arena);
    tg_free(NULL, block);
}

/* what an allocator was asked for */
typedef struct record
{
    int allocs, frees;
    size_t size, align;
    void *freed;
} record;

static void *record_alloc(size_t size, size_t align, void *user)
{
    record *r = user;
    r->allocs++;
    r->size = size;
    r->align = align;
    void *memory = aligned_alloc(align, size);
    if (memory != NULL)
        memset(memory, 0xff, size);
    return memory;
}

static void record_free(void *memory, void *user)
{
    record *r = user;
    r->frees++;
    r->freed = memory;
    free(memory);
}

static void *refuse_alloc(size_t size, size_t align, void *user)
{
    (void)size;
    (void)align;
    (void)user;
    return NULL;
}

static void memory_comes_zeroed_from_the_callers_allocator(void **state)
{
    (void)state;
    record r = {0};
    tg_allocator allocator = {record_alloc, record_free, &r};
    unsigned char *memory = tg_alloc(&allocator, 100);
    assert_non_null(memory);
    assert_int_equal(r.allocs, 1);
    assert_true(r.size >= 100);
    assert_int_equal(r.size % TG_ALIGN, 0);
    assert_int_equal(r.align, TG_ALIGN);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(memory[i], 0);
    tg_free(&allocator, memory);
    assert_int_equal(r.frees, 1);
    assert_ptr_equal(r.freed, memory);
}

static void freeing_nothing_asks_the_allocator_nothing(void **state)
{
    (void)state;
    record r = {0};
    tg_allocator allocator = {record_alloc, record_free, &r};
    tg_free(&allocator, NULL);
    assert_int_equal(r.frees, 0);
    tg_free(NULL, NULL);
}

static void an_allocator_that_refuses_gives_null(void **state)
{
    (void)state;
    tg_allocator allocator = {refuse_alloc, NULL, NULL};
    assert_null(tg_alloc(&allocator, 64));
}

static void sizes_at_both_ends_are_handled(void **state)
{
    (void)state;
    record r = {0};
    tg_allocator allocator = {record_alloc, record_free, &r};
    void *nothing = tg_alloc(&allocator, 0);
    assert_non_null(nothing);
    tg_free(&allocator, nothing);

    assert_null(tg_alloc(&allocator, SIZE_MAX));
    assert_null(tg_alloc(&allocator, SIZE_MAX - TG_ALIGN + 1));
    assert_int_equal(r.allocs, 1);
}

static void the_default_allocator_aligns_and_zeroes(void **state)
{
    (void)state;
    for (size_t size = 1; size < 300; size += 13)
    {
        unsigned char *memory = tg_alloc(NULL, size);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % TG_ALIGN, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 0xff, size);
        tg_free(NULL, memory);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_gives_the_size_and_no_memory),
        cmocka_unit_test(placing_fills_exactly_what_was_counted),
        cmocka_unit_test(every_take_is_aligned),
        cmocka_unit_test(a_product_that_overflows_is_refused_by_name),
        cmocka_unit_test(a_product_that_overflows_when_rounded_up_is_refused),
        cmocka_unit_test(a_sum_that_overflows_is_refused),
        cmocka_unit_test(running_out_says_how_much_was_needed),
        cmocka_unit_test(release_gives_back_to_the_mark_and_keeps_the_peak),
        cmocka_unit_test(marks_nest),
        cmocka_unit_test(release_after_running_out_recovers_the_room),
        cmocka_unit_test(memory_comes_zeroed_from_the_callers_allocator),
        cmocka_unit_test(freeing_nothing_asks_the_allocator_nothing),
        cmocka_unit_test(an_allocator_that_refuses_gives_null),
        cmocka_unit_test(sizes_at_both_ends_are_handled),
        cmocka_unit_test(the_default_allocator_aligns_and_zeroes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
