/* A workspace is one block: the dynamics' arrays, then what the stages above need. */
#include "contact/space.h"

static void place_all(tg_work *w, tg_space *space, const tg_model *m, tg_arena *arena)
{
    tg_work_place(w, m, arena);
    tg_space_place(space, m, arena);
}

tg_status tg_work_create(const tg_model *m, tg_work **out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_work_create: %s is NULL", m == NULL ? "m" : "w");
    tg_arena arena = {0};
    tg_work layout;
    tg_space space_layout;
    TG_TAKE(&arena, tg_work, 1, "tg_work");
    TG_TAKE(&arena, tg_space, 1, "tg_space");
    place_all(&layout, &space_layout, m, &arena);
    tg_work *w = arena.failed ? NULL : tg_alloc(&m->allocator, arena.used);
    if (w == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_work_create: no memory for %zu bytes", arena.used);
    arena = (tg_arena){.base = (unsigned char *)w, .capacity = arena.used};
    TG_TAKE(&arena, tg_work, 1, "tg_work");
    w->space = TG_TAKE(&arena, tg_space, 1, "tg_space");
    w->bytes = arena.capacity;
    place_all(w, w->space, m, &arena);
    tg_work_init(w, m);
    tg_space_init(w->space, m);
    *out = w;
    return TG_OK;
}

void tg_work_destroy(tg_work *w)
{
    if (w == NULL)
        return;
    tg_allocator allocator = w->allocator;
    tg_free(&allocator, w);
}
