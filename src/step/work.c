/* A workspace is one block: the dynamics' arrays, then what each stage above needs. */
#include "step/work.h"

typedef struct parts
{
    tg_work *work;
    tg_space *space;
    tg_rows *rows, *closure;
    tg_step_work *step;
} parts;

static void place_step(tg_step_work *s, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
#define X(type, name, count, doc) s->name = TG_TAKE(arena, type, count, #name);
    TG_STEP_FIELDS(X)
#undef X
    tg_forward_place(&s->matrices, m, c, arena);
    tg_change_place(&s->change, m, arena);
}

static parts take_parts(tg_arena *arena)
{
    parts p;
    p.work = TG_TAKE(arena, tg_work, 1, "tg_work");
    p.space = TG_TAKE(arena, tg_space, 1, "tg_space");
    p.rows = TG_TAKE(arena, tg_rows, 1, "tg_rows");
    p.closure = TG_TAKE(arena, tg_rows, 1, "closure");
    p.step = TG_TAKE(arena, tg_step_work, 1, "tg_step_work");
    return p;
}

static void place_arrays(parts p, const tg_model *m, const tg_capacity *capacity, tg_arena *arena)
{
    tg_capacity closure = tg_closure_capacity(m);
    tg_work_place(p.work, m, arena);
    tg_space_place(p.space, m, arena);
    tg_rows_place(p.rows, m, capacity, arena);
    tg_rows_place(p.closure, m, &closure, arena);
    place_step(p.step, m, capacity, arena);
}

static size_t count_bytes(const tg_model *m, const tg_capacity *capacity)
{
    tg_arena arena = {0};
    tg_work work;
    tg_space space;
    tg_rows rows, closure;
    tg_step_work step;
    take_parts(&arena);
    place_arrays((parts){&work, &space, &rows, &closure, &step}, m, capacity, &arena);
    return arena.failed ? 0 : arena.used;
}

tg_status tg_work_create_for(const tg_model *m, int contacts, tg_work **out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_work_create: %s is NULL", m == NULL ? "m" : "w");
    if (contacts < 0 || contacts > 1000000)
        return tg_fail(error, TG_ERR_VALUE, "tg_work_create: room for %d contacts; must be 0 .. 1000000", contacts);
    tg_capacity capacity = tg_capacity_of(m, contacts);
    size_t bytes = count_bytes(m, &capacity);
    void *memory = bytes == 0 ? NULL : tg_alloc(&m->allocator, bytes);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_work_create: no memory for %zu bytes", bytes);
    tg_arena arena = {.base = memory, .capacity = bytes};
    parts p = take_parts(&arena);
    place_arrays(p, m, &capacity, &arena);
    p.work->space = p.space;
    p.work->rows = p.rows;
    p.work->step = p.step;
    p.step->closure = p.closure;
    p.step->implicit_bytes = tg_implicit_capacity(m, &capacity);
    p.work->bytes = bytes;
    tg_work_init(p.work, m);
    tg_space_init(p.space, m);
    tg_rows_init(p.rows, &capacity);
    tg_capacity closure = tg_closure_capacity(m);
    tg_rows_init(p.closure, &closure);
    *out = p.work;
    return TG_OK;
}

tg_status tg_work_create(const tg_model *m, tg_work **out, tg_error *error)
{
    return tg_work_create_for(m, m == NULL ? 0 : tg_default_contacts(m), out, error);
}

void tg_work_contacts(const tg_work *w, int *room, int *found)
{
    if (room != NULL)
        *room = w == NULL ? 0 : w->rows->capacity.contacts;
    if (found != NULL)
        *found = w == NULL ? 0 : w->rows->needed;
}

void tg_work_destroy(tg_work *w)
{
    if (w == NULL)
        return;
    tg_allocator allocator = w->allocator;
    tg_arena_close(&w->rows->scratch);
    tg_arena_close(&w->step->closure->scratch);
    tg_free(&allocator, w);
}
