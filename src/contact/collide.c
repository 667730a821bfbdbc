/* From a configuration to contact points: geoms are placed, bounds compared, near pairs tested exactly. */
#include "contact/collide.h"

#include <math.h>

#include "dynamics/kinematics.h"
#include "model/candidates.h"
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

double tg_pair_distance(const tg_work *w, tg_geom_pair pair)
{
    const tg_space *s = w->space;
    tg_hint *hint = tg_hint_of(s, pair);
    return hint != NULL ? tg_sure_distance(&s->placed[pair.first], &s->placed[pair.second], hint) : -INFINITY;
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

/* ---- all of them ---- */

static tg_status check_collide(const tg_model *m, tg_work *w, const double *q, double margin, const tg_contact *contact,
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

static double *slot(double *array, int number, int size)
{
    if (array == NULL)
        return NULL;
    double *at = array + (size_t)number * (size_t)size;
    memset(at, 0, sizeof(double) * (size_t)size);
    return at;
}

/* Contact number of a list with as many derivatives; any array of these may be NULL. */
static void store(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c, int number,
                  tg_contact *contact, tg_contact_motion list)
{
    contact[number] = tg_as_contact(m, pair, c);
    contact[number].gap -= tg_pair_margin(m, w->params, pair);
    tg_contact_motion out = {slot(list.point, number, DIM * m->nv), slot(list.normal, number, DIM * m->nv),
                             slot(list.distance, number, m->nv)};
    if (out.point != NULL || out.normal != NULL || out.distance != NULL)
        tg_move_contact(m, w, pair, c, &out);
}

static void place_geoms(const tg_model *m, tg_work *w, const double *q)
{
    tg_place(m, w, q);
    w->stage = TG_STAGE_PLACED;
    tg_space_update(m, w);
}

tg_status tg_collide_derivatives(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact,
                                 int capacity, int *count, double *dpoint, double *dnormal, double *ddistance)
{
    TG_TRY(check_collide(m, w, q, margin, contact, capacity, count));
    place_geoms(m, w, q);
    TG_TRY(tg_space_near(m, w, margin));
    *count = 0;
    for (int i = 0; i < w->space->npair; i++)
    {
        tg_geom_pair pair = w->space->pair[i];
        tg_query query;
        tg_patch patch;
        double reach = tg_pair_margin(m, w->params, pair) + margin;
        if (tg_pair_distance(w, pair) >= reach)
            continue;
        tg_pair_query(w, pair, reach, &query);
        tg_narrow(&query, &patch);
        for (int k = 0; k < patch.count; k++, (*count)++)
            if (*count < capacity)
                store(m, w, pair, &patch.point[k], *count, contact, (tg_contact_motion){dpoint, dnormal, ddistance});
    }
    return TG_OK;
}

tg_status tg_collide(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact, int capacity,
                     int *count)
{
    return tg_collide_derivatives(m, w, q, margin, contact, capacity, count, NULL, NULL, NULL);
}

/* ---- one pair ---- */

/* The point of a placed pair with the smallest distance. */
static const tg_contact_point *nearest_point(tg_work *w, tg_geom_pair pair, tg_patch *patch)
{
    tg_query query;
    tg_pair_query(w, pair, INFINITY, &query);
    tg_narrow(&query, patch);
    const tg_contact_point *least = &patch->point[0];
    for (int k = 1; k < patch->count; k++)
        least = patch->point[k].distance < least->distance ? &patch->point[k] : least;
    return least;
}

tg_status tg_gap(const tg_model *m, tg_work *w, const double *q, int geom1, int geom2, double *gap, double *dgap)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    if (gap == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "gap is NULL");
    if (geom1 < 0 || geom1 >= m->ngeom || geom2 < 0 || geom2 >= m->ngeom)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "geoms %d and %d: the model has %d", geom1, geom2, m->ngeom);
    if (geom1 == geom2 || !tg_geoms_may_meet(m, geom1, geom2))
        return tg_fail(&w->error, TG_ERR_VALUE,
                       "geoms %d ('%s') and %d ('%s') never collide: one body, parent and child, masks or an exclusion",
                       geom1, tg_name(m, TG_GEOM, geom1), geom2, tg_name(m, TG_GEOM, geom2));
    tg_geom_pair pair = {geom1 < geom2 ? geom1 : geom2, geom1 < geom2 ? geom2 : geom1};
    place_geoms(m, w, q);
    tg_patch patch;
    const tg_contact_point *c = nearest_point(w, pair, &patch);
    if (patch.count == 0)
        return tg_fail(&w->error, TG_ERR_VALUE, "geoms %d and %d: no distance was found", geom1, geom2);
    *gap = c->distance - tg_pair_margin(m, w->params, pair);
    if (dgap != NULL)
        tg_move_contact(m, w, pair, c, &(tg_contact_motion){NULL, NULL, slot(dgap, 0, m->nv)});
    return TG_OK;
}
