/* Batches: memory, parameters that all share, resets, caches, messages. */
#include "batch/batch.h"

#include <string.h>

#include "base/arena.h"
#include "contact/rows.h"

static const uint32_t batch_cookie = 0x74674261u;

tg_batch_def tg_default_batch(void)
{
    return (tg_batch_def){.n = 1, .max_contacts = 100000, .options = tg_default_options(), .cookie = batch_cookie};
}

/* ---- lanes ---- */

/* Room for every constraint that can carry an impulse, and for what a tape hands over. */
static int cache_room(const tg_batch *b)
{
    const tg_model *m = b->m;
    int room = b->room + m->nequality + m->nv + 2 * m->njoint + 3 * m->ntendon, tape = tg_tape_entries(m);
    return room > tape ? room : tape;
}

/* the state's arrays and the gradient in one block; the cache's entries and the workspace grow, and are apart */
static tg_status make_lane(tg_batch *b, tg_lane *lane, tg_error *error)
{
    const tg_model *m = b->m;
    size_t nq = (size_t)m->nq, nv = (size_t)m->nv, na = (size_t)m->na, np = (size_t)m->nparams;
    TG_TRY(tg_work_create_for(m, b->room, &lane->work, error));
    double *block = tg_alloc(&b->allocator, sizeof(double) * (nq + nv + na + np));
    if (block == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_create: no memory for a thread");
    lane->state = (tg_state){block + np, block + np + nq, block + np + nq + nv, &lane->cache};
    lane->gradient = block;
    lane->cache.capacity = cache_room(b);
    lane->cache.entry = tg_alloc(&b->allocator, sizeof(tg_cache_entry) * (size_t)lane->cache.capacity);
    if (lane->cache.entry == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_create: no memory for a thread");
    return tg_tape_create(m, 100000000, TG_TAPE_NONE, &lane->no_tape, error);
}

static void drop_lane(const tg_batch *b, tg_lane *lane)
{
    tg_work_destroy(lane->work);
    tg_params_destroy(lane->params);
    tg_tape_destroy(lane->tape);
    tg_tape_destroy(lane->no_tape);
    tg_free(&b->allocator, lane->gradient);
    tg_free(&b->allocator, lane->cache.entry);
    tg_free(&b->allocator, lane->values);
    tg_free(&b->allocator, lane->scratch);
}

/* ---- environments ---- */

static tg_status make_environments(tg_batch *b, tg_error *error)
{
    const tg_model *m = b->m;
    size_t n = (size_t)b->n;
    tg_kept *k = &b->kept;
    struct
    {
        double **at;
        int numbers;
    } arrays[] = {{&k->q, m->nq}, {&k->v, m->nv},   {&k->act, m->na},
                  {&k->u, m->nu}, {&k->tau, m->nv}, {&k->wrench, 6 * m->nbody}};
    bool ok = true;
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
    {
        *arrays[i].at = tg_alloc(&b->allocator, sizeof(double) * n * (size_t)arrays[i].numbers);
        ok = ok && *arrays[i].at != NULL;
    }
    k->there = tg_alloc(&b->allocator, n);
    b->cache = tg_alloc(&b->allocator, sizeof *b->cache * n);
    b->before = tg_alloc(&b->allocator, sizeof *b->before * n);
    if (!ok || k->there == NULL || b->cache == NULL || b->before == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_create: no memory for %d environments", b->n);
    return TG_OK;
}

static void drop_environments(const tg_batch *b)
{
    const tg_kept *k = &b->kept;
    void *arrays[] = {k->q, k->v, k->act, k->u, k->tau, k->wrench, k->params, k->there};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        tg_free(&b->allocator, arrays[i]);
    for (int i = 0; i < b->n; i++)
    {
        tg_free(&b->allocator, b->cache != NULL ? b->cache[i].entry : NULL);
        tg_free(&b->allocator, b->before != NULL ? b->before[i].entry : NULL);
    }
    tg_free(&b->allocator, b->cache);
    tg_free(&b->allocator, b->before);
}

/* ---- the batch ---- */

static tg_status check_def(const tg_model *m, const tg_batch_def *def, tg_batch **out, tg_error *error)
{
    if (m == NULL || def == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_batch_create: %s is NULL",
                       m == NULL     ? "m"
                       : def == NULL ? "def"
                                     : "b");
    if (def->cookie != batch_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_batch_create: def was not made with tg_default_batch()");
    if (def->n < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_batch_create: n = %d environments; must be at least 1", def->n);
    if (def->threads < 0 || def->threads > 1024)
        return tg_fail(error, TG_ERR_VALUE, "tg_batch_create: threads = %d; must be 0 .. 1024", def->threads);
    if (def->contacts < 0 || def->max_contacts < 0)
        return tg_fail(error, TG_ERR_VALUE, "tg_batch_create: room for %d contacts, at most %d; must not be negative",
                       def->contacts, def->max_contacts);
    return TG_OK;
}

static tg_status fill_batch(tg_batch *b, tg_error *error)
{
    b->lane = tg_alloc(&b->allocator, sizeof *b->lane * (size_t)b->threads);
    if (b->lane == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_create: no memory for %d threads", b->threads);
    for (int i = 0; i < b->threads; i++)
        TG_TRY(make_lane(b, &b->lane[i], error));
    tg_status status = tg_step_options(b->m, b->lane[0].work, &b->options);
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_work_message(b->lane[0].work));
    TG_TRY(make_environments(b, error));
    return tg_threads_create(b->threads, &b->allocator, &b->pool, error);
}

tg_status tg_batch_create(const tg_model *m, const tg_batch_def *def, tg_batch **out, tg_error *error)
{
    TG_TRY(check_def(m, def, out, error));
    tg_batch *b = tg_alloc(&m->allocator, sizeof *b);
    if (b == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_batch_create: no memory");
    *b = (tg_batch){.m = m,
                    .allocator = m->allocator,
                    .n = def->n,
                    .threads = def->threads > 0 ? def->threads : tg_processors(),
                    .room = def->contacts > 0 ? def->contacts : tg_default_contacts(m),
                    .max_contacts = def->max_contacts,
                    .options = def->options,
                    .params = m->params};
    tg_status status = fill_batch(b, error);
    if (status != TG_OK)
    {
        tg_batch_destroy(b);
        return status;
    }
    *out = b;
    return TG_OK;
}

void tg_batch_destroy(tg_batch *b)
{
    if (b == NULL)
        return;
    tg_threads_destroy(b->pool);
    for (int i = 0; b->lane != NULL && i < b->threads; i++)
        drop_lane(b, &b->lane[i]);
    drop_environments(b);
    tg_allocator allocator = b->allocator;
    void *arrays[] = {b->lane, b->error, b->again, b->rows, b->names.index, b};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++)
        tg_free(&allocator, arrays[i]);
}

int tg_batch_count(const tg_batch *b)
{
    return b == NULL ? 0 : b->n;
}

int tg_batch_threads(const tg_batch *b)
{
    return b == NULL ? 0 : b->threads;
}

const char *tg_batch_message(const tg_batch *b)
{
    return b == NULL ? "" : b->message.message;
}

const tg_error *tg_batch_error(const tg_batch *b, int environment)
{
    return b == NULL || environment < 0 || environment >= b->called ? NULL : &b->error[environment];
}

/* ---- how much it takes ---- */

static size_t lane_bytes(const tg_batch *b, const tg_lane *lane)
{
    const tg_model *m = b->m;
    size_t doubles = (size_t)(m->nq + m->nv + m->na + m->nparams) + (lane->values != NULL ? (size_t)b->names.k : 0) +
                     (lane->params != NULL ? (size_t)m->nparams : 0);
    return sizeof *lane + tg_work_bytes(lane->work) + sizeof(double) * doubles +
           sizeof(tg_cache_entry) * (size_t)lane->cache.capacity + tg_tape_bytes(lane->tape) +
           tg_tape_bytes(lane->no_tape) + lane->scratch_bytes;
}

size_t tg_batch_bytes(const tg_batch *b)
{
    if (b == NULL)
        return 0;
    const tg_model *m = b->m;
    size_t n = (size_t)b->n, k = b->kept.params != NULL ? (size_t)b->names.k : 0;
    size_t doubles = n * ((size_t)(m->nq + 2 * m->nv + m->na + m->nu + 6 * m->nbody) + k) + b->nrows;
    size_t bytes = sizeof *b + sizeof(double) * doubles + n * (2 * sizeof(tg_cache) + 1) +
                   (size_t)b->errors * (sizeof *b->error + sizeof *b->again);
    for (int i = 0; i < b->n; i++)
        bytes += sizeof(tg_cache_entry) * (size_t)(b->cache[i].capacity + b->before[i].capacity);
    for (int i = 0; i < b->threads; i++)
        bytes += lane_bytes(b, &b->lane[i]);
    return bytes;
}

tg_status tg_batch_scratch(tg_batch *b, size_t bytes)
{
    for (int i = 0; i < b->threads; i++)
    {
        tg_lane *lane = &b->lane[i];
        if (lane->scratch_bytes >= bytes)
            continue;
        tg_free(&b->allocator, lane->scratch);
        lane->scratch = tg_alloc(&b->allocator, bytes);
        lane->scratch_bytes = lane->scratch != NULL ? bytes : 0;
        if (lane->scratch == NULL)
            return tg_fail(&b->message, TG_ERR_MEMORY, "no memory for %zu bytes of scratch", bytes);
    }
    return TG_OK;
}

/* ---- caches ---- */

/* Room comes in eights: contacts of a patch appear together. */
tg_status tg_copy_cache(const tg_batch *b, tg_cache *to, const tg_cache *from, tg_error *error)
{
    int count = from == NULL ? 0 : from->count;
    if (count > to->capacity)
    {
        int room = (count + 7) / 8 * 8;
        tg_cache_entry *entry = tg_alloc(&b->allocator, sizeof *entry * (size_t)room);
        if (entry == NULL)
            return tg_fail(error, TG_ERR_MEMORY, "no memory for a cache of %d impulses", room);
        tg_free(&b->allocator, to->entry);
        to->entry = entry;
        to->capacity = room;
    }
    to->count = count;
    if (count > 0)
        memcpy(to->entry, from->entry, sizeof *to->entry * (size_t)count);
    return TG_OK;
}

static tg_status check_environment(tg_batch *b, int i, const char *name)
{
    if (i >= 0 && i < b->n)
        return TG_OK;
    return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: environment %d of %d", name, i, b->n);
}

const tg_cache *tg_batch_cache(const tg_batch *b, int environment)
{
    return b == NULL || environment < 0 || environment >= b->n ? NULL : &b->cache[environment];
}

tg_status tg_batch_set_cache(tg_batch *b, int environment, const tg_cache *cache)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    TG_TRY(check_environment(b, environment, "tg_batch_set_cache"));
    if (cache != NULL && (cache->count < 0 || (cache->entry == NULL && cache->count > 0)))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_set_cache: %d entries%s", cache->count,
                       cache->entry == NULL ? " at NULL" : "");
    TG_TRY(tg_copy_cache(b, &b->cache[environment], cache, &b->message));
    b->kept.there[environment] = false;
    return TG_OK;
}

/* ---- parameters and states ---- */

tg_status tg_batch_set_params(tg_batch *b, const tg_params *params)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (params != NULL && params->model != b->m)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_set_params: the parameters belong to another model");
    b->params = params != NULL ? params : b->m->params;
    return TG_OK;
}

static tg_status write_reset(tg_batch *b, int i, int key, const tg_batch_state *state)
{
    const tg_model *m = b->m;
    double *q = tg_row(state->q, i, (size_t)m->nq), *v = tg_row(state->v, i, (size_t)m->nv),
           *act = m->na > 0 ? tg_row(state->act, i, (size_t)m->na) : NULL;
    if (key >= 0)
        return tg_key_get(m, key, NULL, q, v, act, NULL, &b->message);
    TG_TRY(tg_default_q(m, q, &b->message));
    memset(v, 0, sizeof(double) * (size_t)m->nv);
    if (act != NULL)
        memset(act, 0, sizeof(double) * (size_t)m->na);
    return TG_OK;
}

static tg_status check_reset(tg_batch *b, const int *ids, int count, int key, const tg_batch_state *state)
{
    const tg_model *m = b->m;
    if (key >= m->nkey)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_reset: key %d of %d", key, m->nkey);
    if (state != NULL && (state->q == NULL || state->v == NULL || (state->act == NULL && m->na > 0)))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_reset: an array of the state is NULL");
    for (int i = 0; ids != NULL && i < count; i++)
        TG_TRY(check_environment(b, ids[i], "tg_batch_reset"));
    return TG_OK;
}

tg_status tg_batch_reset(tg_batch *b, const int *ids, int count, int key, tg_batch_state *state)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    TG_TRY(check_reset(b, ids, count, key, state));
    for (int j = 0; j < (ids == NULL ? b->n : count); j++)
    {
        int i = ids == NULL ? j : ids[j];
        if (state != NULL)
            TG_TRY(write_reset(b, i, key, state));
        b->cache[i].count = 0;
        b->kept.there[i] = false;
    }
    return TG_OK;
}
