/* How a call is shared out among the lanes, and what becomes of environments that fail. */
#include "batch/batch.h"

#include <stdio.h>

#include "base/arena.h"
#include "model/check.h"

typedef struct job
{
    tg_batch *b;
    tg_batch_task *task;
    void *context;
    const int *ids; /* NULL: all */
} job;

/* Few enough that the threads end together, many enough that two threads rarely write to the same cache line. */
static int chunk_of(const tg_batch *b, int count)
{
    int chunk = count / (8 * b->threads);
    return chunk < 1 ? 1 : chunk > 16 ? 16 : chunk;
}

static void fail_environment(tg_batch *b, tg_lane *lane, int i, tg_status status)
{
    int room, found;
    tg_work_contacts(lane->work, &room, &found);
    if (status == TG_ERR_CAPACITY && found > room)
        lane->needed = found > lane->needed ? found : lane->needed;
    const char *message = lane->error.status != TG_OK ? lane->error.message : tg_work_message(lane->work);
    tg_fail(&b->error[i], status, "%s", message);
}

static void do_chunk(void *context, int worker, int first, int end)
{
    const job *j = context;
    tg_lane *lane = &j->b->lane[worker];
    for (int at = first; at < end; at++)
    {
        int i = j->ids == NULL ? at : j->ids[at];
        lane->error.status = TG_OK;
        tg_status status = j->task(j->context, lane, i);
        if (status == TG_OK)
            j->b->error[i].status = TG_OK;
        else
            fail_environment(j->b, lane, i, status);
    }
}

static tg_status room_for_errors(tg_batch *b, int count)
{
    if (b->errors >= count)
        return TG_OK;
    tg_error *error = tg_alloc(&b->allocator, sizeof *error * (size_t)count);
    int *again = tg_alloc(&b->allocator, sizeof *again * (size_t)count);
    if (error == NULL || again == NULL)
    {
        tg_free(&b->allocator, error);
        tg_free(&b->allocator, again);
        return tg_fail(&b->message, TG_ERR_MEMORY, "no memory for %d environments", count);
    }
    tg_free(&b->allocator, b->error);
    tg_free(&b->allocator, b->again);
    b->error = error;
    b->again = again;
    b->errors = count;
    return TG_OK;
}

/* ---- more contacts than there is room for ---- */

static int most_needed(const tg_batch *b)
{
    int most = 0;
    for (int i = 0; i < b->threads; i++)
        most = b->lane[i].needed > most ? b->lane[i].needed : most;
    return most;
}

static tg_status grow_lane(tg_batch *b, tg_lane *lane, int contacts)
{
    tg_work *work = NULL;
    int room = lane->cache.capacity + contacts - b->room;
    tg_cache_entry *entry = tg_alloc(&b->allocator, sizeof *entry * (size_t)room);
    if (entry == NULL)
        return tg_fail(&b->message, TG_ERR_MEMORY, "no memory for a cache of %d impulses", room);
    tg_status status = tg_work_create_for(b->m, contacts, &work, &b->message);
    if (status != TG_OK)
    {
        tg_free(&b->allocator, entry);
        return status;
    }
    tg_work_destroy(lane->work);
    tg_free(&b->allocator, lane->cache.entry);
    lane->work = work;
    lane->cache = (tg_cache){.capacity = room, .entry = entry};
    return TG_OK;
}

/* All lanes get the same room, so that results do not depend on which of them has an environment. False: not possible.
 */
static bool grow(tg_batch *b)
{
    int needed = most_needed(b), contacts = needed + needed / 2;
    if (needed <= b->room || needed > b->max_contacts)
        return false;
    for (int i = 0; i < b->threads; i++)
        if (grow_lane(b, &b->lane[i], contacts) != TG_OK)
            return false;
    b->room = contacts;
    return true;
}

static int list_again(tg_batch *b, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (b->error[i].status == TG_ERR_CAPACITY)
            b->again[found++] = i;
    return found;
}

/* ---- a call ---- */

static tg_status first_failure(tg_batch *b, int count)
{
    int failed = 0, first = -1;
    for (int i = count - 1; i >= 0; i--)
        if (b->error[i].status != TG_OK)
        {
            failed++;
            first = i;
        }
    if (failed == 0)
        return TG_OK;
    char others[48] = "";
    if (failed > 1)
        snprintf(others, sizeof others, " (and %d others failed)", failed - 1);
    return tg_fail(&b->message, b->error[first].status, "environment %d: %.400s%s", first, b->error[first].message,
                   others);
}

tg_status tg_batch_run(tg_batch *b, int count, tg_batch_task *task, void *context)
{
    TG_TRY(room_for_errors(b, count));
    job j = {.b = b, .task = task, .context = context};
    b->message.status = TG_OK;
    b->message.message[0] = '\0';
    b->called = count;
    for (int todo = count; todo > 0;)
    {
        for (int i = 0; i < b->threads; i++)
            b->lane[i].needed = 0;
        tg_status status = tg_threads_run(b->pool, todo, chunk_of(b, todo), do_chunk, &j, &b->message);
        if (status != TG_OK)
        {
            b->called = 0;
            return status;
        }
        todo = grow(b) ? list_again(b, count) : 0;
        j.ids = b->again;
    }
    return first_failure(b, count);
}

/* ---- what goes in ---- */

/* rows: of u, tau and wrench, for each environment */
static tg_status check_numbers(tg_batch *b, const tg_batch_input *in, int rows)
{
    const tg_model *m = b->m;
    struct
    {
        const char *name;
        const double *rows;
        int numbers;
    } arrays[] = {{"v", in->v, m->nv},
                  {"act", in->act, m->na},
                  {"u", in->u, rows * m->nu},
                  {"tau", in->tau, rows * m->nv},
                  {"wrench", in->wrench, rows * 6 * m->nbody},
                  {"params", in->params, b->names.k}};
    for (int i = 0; i < in->count; i++)
    {
        tg_error error = {0};
        tg_status status = tg_check_configuration(m, "q", in->q + (size_t)i * (size_t)m->nq, &error);
        for (size_t a = 0; a < sizeof arrays / sizeof arrays[0] && status == TG_OK; a++)
            if (arrays[a].rows != NULL && arrays[a].numbers > 0)
                status = tg_check_numbers(arrays[a].name, arrays[a].rows + (size_t)i * (size_t)arrays[a].numbers,
                                          arrays[a].numbers, &error);
        if (status != TG_OK)
            return tg_fail(&b->message, status, "environment %d: %.400s", i, error.message);
    }
    return TG_OK;
}

tg_status tg_batch_check_input(tg_batch *b, const tg_batch_input *in, int rows, const char *name)
{
    const tg_model *m = b->m;
    if (in == NULL)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: in is NULL", name);
    if (in->cold ? in->count < 1 : in->count != b->n)
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: %d environments; the batch has %d", name, in->count, b->n);
    if (in->q == NULL || in->v == NULL || (in->act == NULL && m->na > 0))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "%s: in.%s is NULL", name,
                       in->q == NULL   ? "q"
                       : in->v == NULL ? "v"
                                       : "act");
    if (rows < 1)
        return tg_fail(&b->message, TG_ERR_VALUE, "%s: %d steps; must be at least 1", name, in->steps);
    if (!b->params->ready)
        return tg_fail(&b->message, TG_ERR_STALE, "%s: the parameters were changed without tg_params_changed", name);
    return in->strict ? check_numbers(b, in, rows) : TG_OK;
}
