/* Impulses from one step to the next. Contacts are kept as world vectors, because their frames may turn. */
#include <limits.h>

#include "step/step.h"

static const tg_bond *bond_of(const tg_rows *r, const tg_constraint *c)
{
    return c->source == TG_SOURCE_CONTACT ? &r->touch[c->index].bond : NULL;
}

/* what is kept of a constraint: z of its solve, or its impulses */
static const double *kept_of(const tg_rows *r, const tg_constraint *c)
{
    bool z = c->parts > 0 && r->island[r->tree_island[r->part[c->part].tree]].result.z;
    return (z ? r->z : r->L) + c->row;
}

static void store_entry(const tg_rows *r, const tg_constraint *c, tg_cache_entry *entry)
{
    const double *L = kept_of(r, c);
    const tg_bond *b = bond_of(r, c);
    *entry = (tg_cache_entry){.id = c->id};
    if (b == NULL)
    {
        memcpy(entry->impulse, L, sizeof(double) * (size_t)c->rows);
        return;
    }
    v4 force = v4_zero(), torque = v4_zero();
    for (int i = 0; i < b->linear; i++)
        force += b->axis[i] * v4_splat(L[i]);
    for (int i = 0; i < b->angular; i++)
        torque += b->axis[i] * v4_splat(L[b->linear + i]);
    v4_store3(entry->impulse, force);
    v4_store3(entry->impulse + DIM, torque);
}

static void load_entry(const tg_rows *r, const tg_constraint *c, const tg_cache_entry *entry)
{
    double *L = r->warm_z + c->row;
    const tg_bond *b = bond_of(r, c);
    if (b == NULL)
    {
        memcpy(L, entry->impulse, sizeof(double) * (size_t)c->rows);
        return;
    }
    v4 force = v4_load3(entry->impulse), torque = v4_load3(entry->impulse + DIM);
    for (int i = 0; i < b->linear; i++)
        L[i] = v4_dot(b->axis[i], force);
    for (int i = 0; i < b->angular; i++)
        L[b->linear + i] = v4_dot(b->axis[i], torque);
}

/* ---- where an entry is ---- */

enum
{
    FEW = 16 /* entries that are searched linearly */
};

/* Entries by their ids: the place after which a free one is looked for comes from the id. */
typedef struct index
{
    const tg_cache *cache;
    int *slot; /* an entry, -1: free */
    int slots; /* a power of two; 0: linear search */
    int next;  /* behind the last hit: constraints come in nearly the same order as last time */
} index;

static int home_of(const index *x, uint64_t id)
{
    return (int)(id * 0x9E3779B97F4A7C15u >> 32) & (x->slots - 1);
}

static index index_of(const tg_rows *r, const tg_cache *cache)
{
    index x = {.cache = cache, .slot = r->slot};
    if (cache->count <= FEW || cache->count > r->capacity.constraints)
        return x;
    x.slots = tg_slot_count(cache->count);
    memset(x.slot, 0xff, sizeof(int) * (size_t)x.slots);
    for (int i = 0; i < cache->count; i++)
    {
        int at = home_of(&x, cache->entry[i].id);
        while (x.slot[at] >= 0)
            at = (at + 1) & (x.slots - 1);
        x.slot[at] = i;
    }
    return x;
}

static int look_up(const index *x, uint64_t id)
{
    for (int at = home_of(x, id); x->slot[at] >= 0; at = (at + 1) & (x->slots - 1))
        if (x->cache->entry[x->slot[at]].id == id)
            return x->slot[at];
    return -1;
}

static int search(const index *x, uint64_t id)
{
    int count = x->cache->count;
    for (int i = 0; i < count; i++)
    {
        int at = x->next + i < count ? x->next + i : x->next + i - count;
        if (x->cache->entry[at].id == id)
            return at;
    }
    return -1;
}

static const tg_cache_entry *find_entry(index *x, uint64_t id)
{
    const tg_cache *cache = x->cache;
    bool expected = x->next < cache->count && cache->entry[x->next].id == id;
    int at = expected ? x->next : x->slots > 0 ? look_up(x, id) : search(x, id);
    if (at < 0)
        return NULL;
    x->next = at + 1 < cache->count ? at + 1 : 0;
    return &cache->entry[at];
}

/* ---- pauses ---- */

/* Contacts have other ids (collide.c), and other constraints smaller ones: counts are behind everything else. */
static uint64_t pause_id(int attempt, int root)
{
    return tg_constraint_id(TG_SOURCE_CONTACT, attempt, root);
}

static int count_of(double x)
{
    return x >= 0 && x <= INT_MAX ? (int)x : 0;
}

/* the one that keeps more than impulses */
static bool has_default_solver(const tg_work *w)
{
    return w->step->default_solver;
}

void tg_cache_read_pauses(const tg_work *w, const tg_cache *cache)
{
    const tg_rows *r = w->rows;
    const uint64_t first = pause_id(0, 0), next = pause_id(1, 0) - first;
    if (cache == NULL || w->step->options.cold || !has_default_solver(w))
        return;
    for (int i = cache->count - 1; i >= 0 && cache->entry[i].id >= first; i--)
    {
        const double *count = cache->entry[i].impulse;
        uint64_t attempt = (cache->entry[i].id - first) / next, root = (cache->entry[i].id - first) % next;
        int at = root < (uint64_t)w->model->ntree ? r->tree_island[root] : -1;
        if (at >= 0 && r->island[at].root == (int)root && attempt < TG_ATTEMPTS)
            r->island[at].pause[attempt] = (tg_pause){count_of(count[0]), count_of(count[1]), count_of(count[2])};
    }
    for (tg_rows_island *island = r->island; island < r->island + r->nisland; island++)
        island->late = true;
}

static void write_pauses(const tg_rows *r, tg_cache *cache)
{
    for (const tg_rows_island *island = r->island; island < r->island + r->nisland; island++)
    {
        for (int k = 0; k < TG_ATTEMPTS; k++)
        {
            const tg_pause *p = &island->pause[k];
            if (p->length > 0 && cache->count < cache->capacity)
                cache->entry[cache->count++] =
                    (tg_cache_entry){.id = pause_id(k, island->root), .impulse = {p->left, p->length, p->work}};
        }
    }
}

void tg_cache_take_back(const tg_model *m, const tg_work *w, const tg_cache *cache)
{
    tg_rows *r = w->rows;
    index x = {.cache = NULL};
    for (int i = 0, end; i < r->ntouch && cache != NULL; i = end)
    {
        bool back = false;
        end = tg_end_of_pair(r, i, r->ntouch);
        if (!r->touch[i].aside)
            continue;
        if (x.cache == NULL)
            x = index_of(r, cache);
        for (int k = i; k < end && !back; k++)
            back = find_entry(&x, tg_touch_id(m, &r->touch[k])) != NULL;
        for (int k = i; k < end && back; k++)
            r->touch[k].aside = false;
    }
}

void tg_cache_read(const tg_work *w, const tg_cache *cache)
{
    tg_rows *r = w->rows;
    memset(r->warm_z, 0, sizeof(double) * (size_t)r->nrow);
    if (cache == NULL)
    {
        memset(r->warm, 0, sizeof(double) * (size_t)r->nrow);
        return;
    }
    index x = index_of(r, cache);
    for (int i = 0; i < r->nconstraint; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        const tg_cache_entry *entry = c->parts > 0 ? find_entry(&x, c->id) : NULL;
        if (entry != NULL)
            load_entry(r, c, entry);
    }
    if (!has_default_solver(w))
    {
        memcpy(r->warm, r->warm_z, sizeof(double) * (size_t)r->nrow);
        return;
    }
    for (const tg_rows_island *island = r->island; island < r->island + r->nisland; island++)
        for (const tg_block *b = r->block + island->block; b < r->block + island->block + island->blocks; b++)
            tg_block_bound(b, r->warm_z + island->row + b->row, r->warm + island->row + b->row);
}

/* constraints of a solve that stopped early with unsafe impulses start cold in the next step */
static bool carries(const tg_rows *r, const tg_constraint *c)
{
    if (c->parts > 0 && r->island[r->tree_island[r->part[c->part].tree]].result.guarded)
        return false;
    const double *kept = kept_of(r, c);
    for (int i = 0; i < c->rows && c->parts > 0; i++)
        if (kept[i] != 0)
            return true;
    return false;
}

void tg_cache_write(const tg_work *w, tg_cache *cache)
{
    const tg_rows *r = w->rows;
    if (cache == NULL)
        return;
    cache->count = 0;
    for (int i = 0; i < r->nconstraint && cache->count < cache->capacity; i++)
        if (carries(r, &r->constraint[i]))
            store_entry(r, &r->constraint[i], &cache->entry[cache->count++]);
    write_pauses(r, cache);
}
