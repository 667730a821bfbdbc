/* From a configuration to contact points: geoms are placed, bounds compared, near pairs tested exactly. And how the
 * points move with q: dof k displaces geom1 by its twist if it moves geom1's body, and geom2 likewise; the contact
 * moves as a rigid body with geom1, plus what the difference of the two twists does to it (collision/narrow_deriv.h).
 */
#include "contact/collide.h"

#include <math.h>

#include "collision/narrow_deriv.h"
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

/* ---- how a point moves ---- */

static void add_column(double *matrix, int nv, int k, v4 x)
{
    for (int i = 0; matrix != NULL && i < DIM; i++)
        matrix[i * nv + k] += x[i];
}

typedef struct rows
{
    double *point, *normal, *distance;
} rows;

static void add_motion(rows out, int nv, int k, tg_point_motion motion)
{
    add_column(out.point, nv, k, motion.point);
    add_column(out.normal, nv, k, motion.normal);
    if (out.distance != NULL)
        out.distance[k] += motion.distance;
}

/* sign: +1 for geom2, -1 for geom1, which the contact also moves with */
static void add_body(const tg_model *m, const tg_work *w, int body, const tg_contact_point *c, double sign, rows out)
{
    int node = m->body_node[body];
    if (node == 0)
        return;
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
        v4 turn = J.ang, shift = twist_at(J, c->point - tg_node_origin(m, w, node)), s = v4_splat(sign);
        add_motion(out, m->nv, k, tg_motion_by_twist(c, shift * s, turn * s));
        if (sign < 0)
            add_motion(out, m->nv, k, (tg_point_motion){shift, v4_cross(turn, c->normal), 0});
    }
}

static void add_bodies(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c, rows out)
{
    if (w->stage == TG_STAGE_PLACED)
    {
        tg_subspaces(m, w);
        w->stage = TG_STAGE_POSITION;
    }
    add_body(m, w, m->geom_body[pair.first], c, -1, out);
    add_body(m, w, m->geom_body[pair.second], c, 1, out);
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
                  tg_contact *contact, rows list)
{
    contact[number] = tg_as_contact(m, pair, c);
    contact[number].gap -= tg_pair_margin(m, w->params, pair);
    rows out = {slot(list.point, number, DIM * m->nv), slot(list.normal, number, DIM * m->nv),
                slot(list.distance, number, m->nv)};
    if (out.point != NULL || out.normal != NULL || out.distance != NULL)
        add_bodies(m, w, pair, c, out);
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
        if (tg_pair_apart(w, pair, reach))
            continue;
        tg_pair_query(w, pair, reach, &query);
        tg_narrow(&query, &patch);
        for (int k = 0; k < patch.count; k++, (*count)++)
            if (*count < capacity)
                store(m, w, pair, &patch.point[k], *count, contact, (rows){dpoint, dnormal, ddistance});
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
        add_bodies(m, w, pair, c, (rows){NULL, NULL, slot(dgap, 0, m->nv)});
    return TG_OK;
}
