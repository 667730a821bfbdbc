/* Contact points of a state: every pair that could meet within the step, found before it does.
 *
 * A pair enters when distance - margin < dt c + reach (1 mm), where c adds up how fast the two geoms can move: |velocity of the
 * centre| + |omega| times the bounding radius, each the larger of the velocities at the start and without constraints.
 * The normal of a pair that is apart is chosen for where the geoms will be (collision/narrow.h, dt). */
#include <math.h>

#include "contact/collide.h"
#include "contact/rows.h"
#include "dynamics/kinematics.h"

/* ---- which law ---- */

static tg_law declared_law(const tg_model *m, int pair)
{
    const tg_param_offsets *at = &m->offset;
    return (tg_law){
        .condim = m->pair_condim[pair],
        .friction = {at->pair_friction + 3 * pair, at->pair_friction + 3 * pair + 1, at->pair_friction + 3 * pair + 2},
        .kinetic = at->pair_kinetic + pair,
        .slip_speed = at->pair_slip_speed + pair,
        .restitution = at->pair_restitution + pair,
        .compliance = {at->pair_compliance + pair, -1},
        .margin = {at->pair_margin + pair, -1}};
}

/* the geom whose number counts: the one of higher priority, else the larger number, else the first */
static int stronger(const tg_model *m, tg_geom_pair pair, double first, double second)
{
    int higher = m->geom_priority[pair.first] - m->geom_priority[pair.second];
    return higher > 0 || (higher == 0 && first >= second) ? pair.first : pair.second;
}

/* Coefficients combine component by component as in MuJoCo; kinetic friction comes from the geom of the sliding one. Of
 * two restitutions the larger counts; compliances and margins add. */
tg_law tg_law_of(const tg_model *m, const tg_params *p, tg_geom_pair pair, int declared)
{
    if (declared >= 0)
        return declared_law(m, declared);
    const tg_param_offsets *at = &m->offset;
    int a = pair.first, b = pair.second;
    tg_law law = {.compliance = {at->geom_compliance + a, at->geom_compliance + b},
                  .margin = {at->geom_margin + a, at->geom_margin + b}};
    for (int i = 0; i < 3; i++)
    {
        const double *friction = TG_PARAM(p, geom_friction) + i;
        law.friction[i] = at->geom_friction + i + 3 * stronger(m, pair, friction[3 * a], friction[3 * b]);
    }
    int slider = (law.friction[0] - at->geom_friction) / 3;
    law.condim = m->geom_condim[stronger(m, pair, m->geom_condim[a], m->geom_condim[b])];
    law.kinetic = at->geom_kinetic + slider;
    law.slip_speed = at->geom_slip_speed + slider;
    const double *e = TG_PARAM(p, geom_restitution);
    law.restitution = at->geom_restitution + (e[a] >= e[b] ? a : b);
    return law;
}

static double sum_of(const tg_params *p, const int index[2])
{
    return p->value[index[0]] + (index[1] >= 0 ? p->value[index[1]] : 0);
}

double tg_law_compliance(const tg_params *p, const tg_law *law)
{
    return sum_of(p, law->compliance);
}

/* ---- how far geoms move ---- */

typedef struct motion
{
    v4 linear, angular; /* of a point */
} motion;

static motion motion_at(const tg_model *m, const tg_work *w, int body, v4 point, const double *twists)
{
    int node = m->body_node[body];
    spatial V = spatial_load(twists + SPATIAL_SIZE * node);
    return (motion){twist_at(V, point - tg_node_origin(m, w, node)), V.ang};
}

static double reach_of_motion(motion x, double radius)
{
    double turn = sqrt(v4_dot(x.angular, x.angular));
    return sqrt(v4_dot(x.linear, x.linear)) + (turn > 0 ? turn * radius : 0);
}

/* c of each geom times dt, plus half of the distance at which every pair is looked at */
static void grow_bounds(const tg_model *m, tg_work *w, double dt, double reach)
{
    const tg_params *p = w->params;
    tg_space *s = w->space;
    for (int g = 0; g < m->ngeom; g++)
    {
        int body = m->geom_body[g];
        s->grow[g] = 0.5 * reach;
        if (m->body_node[body] == 0)
            continue;
        v4 centre = s->placed[g].x + mat3_mul_mem(s->placed[g].R, p->geom_centre + 4 * g);
        double now = reach_of_motion(motion_at(m, w, body, centre, w->V), p->geom_radius[g]);
        double free = reach_of_motion(motion_at(m, w, body, centre, w->rows->free_twist), p->geom_radius[g]);
        s->grow[g] += dt * tg_most(now, free);
    }
}

/* ---- contact points ---- */

/* Two unit vectors that make an orthogonal right-handed frame with n, without a branch that jumps except at n_z = 0's sign
 * (Duff et al. 2017). The law does not depend on which. */
static void tangents(v4 n, v4 *t1, v4 *t2)
{
    double sign = copysign(1, n[2]), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    *t1 = v4_set(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0], 0);
    *t2 = v4_set(b, sign + n[1] * n[1] * a, -n[1], 0);
}

static void add_touch(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_law *law, double margin,
                      const tg_contact_point *at)
{
    tg_rows *r = w->rows;
    if (r->needed++ >= r->capacity.contacts)
        return;
    tg_touch *t = &r->touch[r->ntouch];
    int body1 = m->geom_body[pair.first], body2 = m->geom_body[pair.second];
    tg_copy_point(at, &t->at);
    t->pair = pair;
    t->law = *law;
    t->phi = at->distance - margin;
    t->approach = t->slip = t->factor = 0;
    t->impact = t->rebound = false;
    t->bond = (tg_bond){.point = at->point,
                        .axis = {at->normal},
                        .body = {body1, body2},
                        .linear = law->condim == 1 ? 1 : 3,
                        .angular = law->condim > 3 ? law->condim - 3 : 0};
    tangents(at->normal, &t->bond.axis[1], &t->bond.axis[2]);
    tg_constraint *c = tg_add_constraint(r, TG_SOURCE_CONTACT, r->ntouch++, 0, law->condim);
    c->id = tg_as_contact(m, pair, at).id;
    tg_add_part(r, c, m->body_tree[body1]);
    tg_add_part(r, c, m->body_tree[body2]);
}

void tg_touch_query(const tg_model *m, const tg_work *w, tg_geom_pair pair, double dt, double reach, tg_query *query)
{
    const int geom[2] = {pair.first, pair.second};
    tg_pair_query(w, pair, reach, query);
    query->dt = dt;
    query->slack = w->rows->slack;
    for (int k = 0; k < 2; k++)
    {
        motion x = motion_at(m, w, m->geom_body[geom[k]], query->shape[k].x, w->V);
        query->velocity[k] = x.linear;
        query->spin[k] = x.angular;
    }
}

static double margin_of(const tg_work *w, tg_geom_pair pair, int declared)
{
    const double *margins = TG_PARAM(w->params, geom_margin);
    return declared < 0 ? margins[pair.first] + margins[pair.second] : TG_PARAM(w->params, pair_margin)[declared];
}

static int declared_of(const tg_model *m, tg_geom_pair pair)
{
    return m->npair > 0 ? tg_declared_pair(m, pair) : -1;
}

static void look_at_pair(const tg_model *m, tg_work *w, tg_geom_pair pair, double dt)
{
    int declared = declared_of(m, pair);
    const double *grow = w->space->grow;
    double margin = margin_of(w, pair, declared);
    tg_query query;
    tg_patch patch;
    tg_touch_query(m, w, pair, dt, margin + grow[pair.first] + grow[pair.second], &query);
    tg_narrow(&query, &patch);
    if (patch.count == 0)
        return;
    tg_law law = tg_law_of(m, w->params, pair, declared);
    for (int k = 0; k < patch.count; k++)
        add_touch(m, w, pair, &law, margin, &patch.point[k]);
}

tg_status tg_list_touches(const tg_model *m, tg_work *w, const double *v_free, const tg_contact_settings *settings)
{
    tg_rows *r = w->rows;
    if (m->ncandidate == 0)
        return TG_OK;
    tg_node_twists(m, w, v_free, r->free_twist);
    tg_space_update(m, w);
    grow_bounds(m, w, settings->dt, settings->reach);
    TG_TRY(tg_space_near_each(m, w, w->space->grow));
    for (int i = 0; i < w->space->npair; i++)
        look_at_pair(m, w, w->space->pair[i], settings->dt);
    if (r->needed > r->capacity.contacts)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "%d contact points, the workspace has room for %d", r->needed,
                       r->capacity.contacts);
    return TG_OK;
}
