/* Impulses from one step to the next. Contacts are kept as world vectors, because their frames may turn. */
#include "step/step.h"

static const tg_bond *bond_of(const tg_rows *r, const tg_constraint *c)
{
    return c->source == TG_SOURCE_CONTACT ? &r->touch[c->index].bond : NULL;
}

static void store_entry(const tg_rows *r, const tg_constraint *c, tg_cache_entry *entry)
{
    const double *L = r->L + c->row;
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
    v4_store3(entry->impulse + 3, torque);
}

static void load_entry(const tg_rows *r, const tg_constraint *c, const tg_cache_entry *entry)
{
    double *L = r->warm + c->row;
    const tg_bond *b = bond_of(r, c);
    if (b == NULL)
    {
        memcpy(L, entry->impulse, sizeof(double) * (size_t)c->rows);
        return;
    }
    v4 force = v4_load3(entry->impulse), torque = v4_load3(entry->impulse + 3);
    for (int i = 0; i < b->linear; i++)
        L[i] = v4_dot(b->axis[i], force);
    for (int i = 0; i < b->angular; i++)
        L[b->linear + i] = v4_dot(b->axis[i], torque);
}

/* Constraints come in nearly the same order as last time: the search starts behind the last hit. */
static const tg_cache_entry *find_entry(const tg_cache *cache, uint64_t id, int *next)
{
    for (int i = 0; i < cache->count; i++)
    {
        int at = *next + i < cache->count ? *next + i : *next + i - cache->count;
        if (cache->entry[at].id == id)
        {
            *next = at + 1 < cache->count ? at + 1 : 0;
            return &cache->entry[at];
        }
    }
    return NULL;
}

void tg_cache_read(const tg_work *w, const tg_cache *cache)
{
    tg_rows *r = w->rows;
    int next = 0;
    memset(r->warm, 0, sizeof(double) * (size_t)r->nrow);
    if (cache == NULL)
        return;
    for (int i = 0; i < r->nconstraint; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        const tg_cache_entry *entry = c->parts > 0 ? find_entry(cache, c->id, &next) : NULL;
        if (entry != NULL)
            load_entry(r, c, entry);
    }
}

static bool carries(const tg_rows *r, const tg_constraint *c)
{
    for (int i = 0; i < c->rows && c->parts > 0; i++)
        if (r->L[c->row + i] != 0)
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
}
