/* From a configuration to contact points: geoms are placed, bounds compared, near pairs tested exactly. */
#include "contact/collide.h"

#include <math.h>

#include "dynamics/kinematics.h"
#include "tangere/contact.h"

void tg_pair_query(const tg_work *w, tg_geom_pair pair, double reach, tg_query *query)
{
    query->shape[0] = w->space->placed[pair.first];
    query->shape[1] = w->space->placed[pair.second];
    query->reach = reach;
    query->dt = query->slack = 0;
    query->velocity[0] = query->velocity[1] = query->spin[0] = query->spin[1] = v4_zero();
    query->hint = tg_hint_of(w->space, pair);
}

bool tg_pair_apart(const tg_work *w, tg_geom_pair pair, double reach)
{
    const tg_space *s = w->space;
    const tg_hint *hint = tg_hint_of(s, pair);
    return hint != NULL && tg_out_of_reach(&s->placed[pair.first], &s->placed[pair.second], reach, hint);
}

tg_contact tg_as_contact(const tg_model *m, tg_geom_pair pair, const tg_contact_point *c)
{
    tg_contact out = {.geom1 = pair.first,
                      .geom2 = pair.second,
                      .distance = c->distance,
                      .margin = tg_most(0, c->margin),
                      .gap = c->distance};
    v4_store3(out.point, c->point);
    v4_store3(out.normal, c->normal);
    out.id = ((uint64_t)pair.first * (uint64_t)m->ngeom + (uint64_t)pair.second) << 32 | c->feature;
    return out;
}

tg_status tg_visit_contacts(const tg_model *m, tg_work *w, const double *q, double margin, tg_visit_function *visit,
                            void *context, int *count)
{
    tg_place(m, w, q);
    w->stage = TG_STAGE_PLACED;
    tg_space_update(m, w);
    TG_TRY(tg_space_near(m, w, margin));
    *count = 0;
    for (int i = 0; i < w->space->npair; i++)
    {
        tg_geom_pair pair = w->space->pair[i];
        tg_query query;
        tg_patch patch;
        double reach = tg_pair_margin(m, w->params, pair) + margin;
        if (tg_pair_apart(w, pair, reach))
            continue;
        tg_pair_query(w, pair, reach, &query);
        tg_narrow(&query, &patch);
        for (int k = 0; k < patch.count; k++)
            visit(m, w, pair, &patch.point[k], (*count)++, context);
    }
    return TG_OK;
}

tg_status tg_check_collide(const tg_model *m, tg_work *w, const double *q, double margin, const tg_contact *contact,
                           int capacity, const int *count)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    if (!isfinite(margin))
        return tg_fail(&w->error, TG_ERR_VALUE, "margin = %g: must be finite", margin);
    if (capacity < 0 || (contact == NULL && capacity > 0) || count == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s",
                       capacity < 0    ? "capacity is negative"
                       : count == NULL ? "count is NULL"
                                       : "contact is NULL");
    return TG_OK;
}

typedef struct contact_list
{
    tg_contact *contact;
    int capacity;
} contact_list;

static void store_contact(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c, int number,
                          void *context)
{
    contact_list *list = context;
    if (list->contact == NULL || number >= list->capacity)
        return;
    list->contact[number] = tg_as_contact(m, pair, c);
    list->contact[number].gap -= tg_pair_margin(m, w->params, pair);
}

tg_status tg_collide(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact, int capacity,
                     int *count)
{
    TG_TRY(tg_check_collide(m, w, q, margin, contact, capacity, count));
    contact_list list = {contact, capacity};
    return tg_visit_contacts(m, w, q, margin, store_contact, &list, count);
}
