/* Contact points of a state: every pair that could touch within the step.
 *
 * A pair belongs to the problem when distance - margin < dt c + reach (1 mm), where c adds up how fast the two geoms
 * can move: |velocity of the centre| + |omega| times the bounding radius, each the larger of the velocities at the
 * start and without constraints. Where geoms move together, most of these get no impulse. Only those are listed first
 * for which the inequality holds with the speed at which they can close (closing_speed), without boxes that pass each
 * other (stays_apart); those that open at v_free get no rows. Whether any of them is met is asked when v+ is known
 * (tg_misses_touches). The normal of a pair that is apart is chosen for where the geoms will be (collision/narrow.h,
 * dt). */
#include <math.h>

#include "collision/cover.h"
#include "collision/polytope.h"
#include "contact/collide.h"
#include "contact/rows.h"
#include "dynamics/kinematics.h"

/* ---- which law ---- */

static tg_law declared_law(const tg_model *m, int pair)
{
    const tg_param_offsets *at = &m->offset;
    int friction = TG_PARAM_INDEX(m, pair_friction, pair);
    return (tg_law){.condim = m->pair_condim[pair],
                    .friction = {friction, friction + 1, friction + 2},
                    .kinetic = at->pair_kinetic + pair,
                    .slip_speed = at->pair_slip_speed + pair,
                    .restitution = at->pair_restitution + pair,
                    .compliance = {at->pair_compliance + pair, -1},
                    .damping = {at->pair_damping + pair, -1},
                    .margin = {at->pair_margin + pair, -1}};
}

/* the geom whose number counts: the one of higher priority, else the larger number, else the first; higher: by how much
 * the first is */
static int stronger(int higher, tg_geom_pair pair, double first, double second)
{
    return higher > 0 || (higher == 0 && first >= second) ? pair.first : pair.second;
}

/* Coefficients combine component by component as in MuJoCo; kinetic friction comes from the geom of the sliding one. Of
 * two restitutions the larger counts; compliances and margins add. */
tg_law tg_law_of(const tg_model *m, const tg_params *p, tg_geom_pair pair, int declared)
{
    if (declared >= 0)
        return declared_law(m, declared);
    const tg_param_offsets *at = &m->offset;
    int a = pair.first, b = pair.second, higher = m->geom_priority[a] - m->geom_priority[b];
    tg_law law = {.compliance = {at->geom_compliance + a, at->geom_compliance + b},
                  .damping = {at->geom_damping + a, at->geom_damping + b},
                  .margin = {at->geom_margin + a, at->geom_margin + b}};
    const double *mu_a = TG_PARAM_OF(p, geom_friction, a), *mu_b = TG_PARAM_OF(p, geom_friction, b);
    for (int i = 0; i < DIM; i++)
        law.friction[i] = TG_PARAM_INDEX(m, geom_friction, stronger(higher, pair, mu_a[i], mu_b[i])) + i;
    int slider = stronger(higher, pair, mu_a[0], mu_b[0]);
    law.condim = m->geom_condim[stronger(higher, pair, m->geom_condim[a], m->geom_condim[b])];
    law.kinetic = at->geom_kinetic + slider;
    law.slip_speed = at->geom_slip_speed + slider;
    const double *e = TG_PARAM(p, geom_restitution);
    law.restitution = at->geom_restitution + (e[a] >= e[b] ? a : b);
    return law;
}

static double sum_of(const tg_params *p, const tg_law *law, const int index[2])
{
    double first = tg_law_number(p, law, index[0]);
    return first + (index[1] >= 0 ? tg_law_number(p, law, index[1]) : 0);
}

double tg_law_compliance(const tg_params *p, const tg_law *law)
{
    return sum_of(p, law, law->compliance);
}

double tg_law_damping(const tg_params *p, const tg_law *law)
{
    return sum_of(p, law, law->damping);
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

/* c of each geom times dt, plus half of the distance at which every pair is tested. Geoms of one node follow each
 * other, and turn as it does. */
static void grow_bounds(const tg_model *m, tg_work *w, double dt, double reach)
{
    const double *radius = w->params->geom_radius, *twists[2] = {w->V, w->rows->free_twist};
    tg_space *s = w->space;
    spatial V[2] = {{v4_zero(), v4_zero()}, {v4_zero(), v4_zero()}};
    v4 origin = v4_zero(), turn = v4_zero();
    for (int i = 0, last = 0; i < s->ncollider; i++)
    {
        int g = s->collider[i], node = m->body_node[m->geom_body[g]];
        s->grow[g] = 0.5 * reach;
        if (node == 0)
            continue;
        if (node != last)
        {
            for (int k = 0; k < 2; k++)
                V[k] = spatial_load(twists[k] + SPATIAL_SIZE * node);
            turn = v4_root(v4_sum3(V[0].ang * V[0].ang, V[1].ang * V[1].ang, v4_zero()));
            origin = tg_node_origin(m, w, node);
            last = node;
        }
        v4 arm = tg_geom_centre(w, g) - origin, x = twist_at(V[0], arm), y = twist_at(V[1], arm);
        v4 speed = v4_root(v4_sum3(x * x, y * y, v4_zero()));
        double most = 0;
        for (int k = 0; k < 2; k++)
            most = tg_most(most, speed[k] + (turn[k] > 0 ? turn[k] * radius[g] : 0));
        s->grow[g] += dt * most;
    }
}

/* ---- contact points ---- */

/* Two unit vectors that make an orthogonal right-handed frame with n, without a branch that jumps except at n_z = 0's
 * sign (Duff et al. 2017). Laws with a round cone do not depend on which; pyramids do (tg_touch_spin). */
static void tangents(v4 n, v4 *t1, v4 *t2)
{
    double sign = copysign(1, n[2]), a = -1 / (sign + n[2]), b = n[0] * n[1] * a;
    *t1 = v4_set(1 + sign * n[0] * n[0] * a, sign * b, -sign * n[0], 0);
    *t2 = v4_set(b, sign + n[1] * n[1] * a, -n[1], 0);
}

v4 tg_touch_spin(const tg_rows *r, v4 n)
{
    double share = r->spins ? 1 / (copysign(1, n[2]) + n[2]) : 0;
    return v4_set(share * n[1], -share * n[0], 0, 0);
}

void tg_set_touch(tg_touch *t, const tg_contact_point *at, tg_geom_pair pair, const int body[2], const tg_law *law,
                  double margin)
{
    tg_copy_point(at, &t->at);
    t->pair = pair;
    t->law = *law;
    t->phi = at->distance - margin;
    t->approach = t->slip = t->factor = 0;
    t->impact = t->rebound = t->aside = false;
    t->regime = 0;
    t->bond.point = at->point;
    t->bond.anchor = v4_zero();
    t->bond.axis[0] = at->normal;
    t->bond.body[0] = body[0];
    t->bond.body[1] = body[1];
    t->bond.linear = law->condim == 1 ? 1 : DIM;
    t->bond.angular = law->condim > DIM ? law->condim - DIM : 0;
    tangents(at->normal, &t->bond.axis[1], &t->bond.axis[2]);
}

static void add_touch(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_law *law, double margin,
                      const tg_contact_point *at)
{
    tg_rows *r = w->rows;
    const int body[2] = {m->geom_body[pair.first], m->geom_body[pair.second]};
    if (r->needed++ < r->capacity.contacts)
        tg_set_touch(&r->touch[r->ntouch++], at, pair, body, law, margin);
}

void tg_add_touch_constraint(const tg_model *m, tg_work *w, int touch, uint64_t id)
{
    tg_rows *r = w->rows;
    const tg_touch *t = &r->touch[touch];
    tg_constraint *c = tg_add_constraint(r, TG_SOURCE_CONTACT, touch, 0, t->law.condim);
    c->id = id;
    for (int k = 0; k < 2; k++)
        tg_add_part(r, c, m->body_tree[t->bond.body[k]]);
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

/* ---- pairs that cannot close ---- */

/* The rate of the distance of two shapes is that of their nearest points along the normal, so at most the speed of one
 * of these relative to the other body: |u| + |omega| R, with u the relative velocity at the centre of a shape, R its
 * radius, omega the relative angular velocity. A body that turns by w carries that centre round while it moves on:
 * within dt this changes u by dt w |v_1 - v_2|, half of it on the mean, where |v_1 - v_2| <= |u| + w D, D between the
 * centres. The largest of several velocities. */
static double closing_speed(const tg_model *m, const tg_work *w, tg_geom_pair pair, double dt,
                            const double *const *twists, int count)
{
    const double *radius = w->params->geom_radius;
    bool first = radius[pair.first] < radius[pair.second];
    int g = first ? pair.first : pair.second, other = first ? pair.second : pair.first;
    double between = tg_bound_radius(w, g) + tg_bound_radius(w, other), most = 0;
    int node[2] = {m->body_node[m->geom_body[g]], m->body_node[m->geom_body[other]]};
    v4 centre = tg_geom_centre(w, g), arm[2];
    for (int k = 0; k < 2; k++)
        arm[k] = centre - tg_node_origin(m, w, node[k]);
    for (int i = 0; i < count; i++)
    {
        spatial a = spatial_load(twists[i] + SPATIAL_SIZE * node[0]),
                b = spatial_load(twists[i] + SPATIAL_SIZE * node[1]);
        v4 u = twist_at(a, arm[0]) - twist_at(b, arm[1]), omega = a.ang - b.ang;
        v4 length = v4_root(v4_sum3(u * u, omega * omega, b.ang * b.ang));
        double speed = length[0], turn = length[2];
        double carried = turn > 0 ? 0.5 * dt * turn * (speed + turn * between) : 0;
        most = tg_most(most, speed + length[1] * radius[g] + carried);
    }
    return most;
}

/* How far apart two geoms surely are (m), and two boxes along which direction. */
typedef struct gap
{
    double now;
    bool boxes;
    v4 normal;
} gap;

static gap gap_of(const tg_work *w, tg_geom_pair pair)
{
    const tg_placed *a = &w->space->placed[pair.first], *b = &w->space->placed[pair.second];
    gap g = {.boxes = a->type == TG_GEOM_BOX && b->type == TG_GEOM_BOX};
    g.now = g.boxes ? tg_box_gap(a, b, &g.normal) : tg_pair_distance(w, pair);
    return g;
}

/* Two boxes that are `least` apart would be after dt, along the same direction, with all of their points moving by dt
 * times their velocity: what passes or parts along a direction does not meet. */
static bool stays_apart(const tg_model *m, const tg_work *w, tg_geom_pair pair, const gap *g, double least, double dt,
                        const double *twists)
{
    const int geom[2] = {pair.first, pair.second};
    const tg_placed *box[2];
    v4 move[2], turn[2];
    if (!g->boxes || !(g->now >= least))
        return false;
    for (int k = 0; k < 2; k++)
    {
        box[k] = &w->space->placed[geom[k]];
        motion x = motion_at(m, w, m->geom_body[geom[k]], box[k]->x, twists);
        move[k] = x.linear * v4_splat(dt);
        turn[k] = x.angular * v4_splat(dt);
    }
    return tg_box_gap_after(box[0], box[1], g->normal, move, turn) >= least;
}

/* Points of a pair within reach; false: it has none. */
static bool find_patch(const tg_model *m, const tg_work *w, tg_geom_pair pair, double reach, double dt, tg_patch *patch)
{
    tg_query query;
    tg_touch_query(m, w, pair, dt, reach, &query);
    tg_narrow(&query, patch);
    return patch->count > 0;
}

/* m: how far the two geoms of a pair move at most (grow_bounds) */
static double farthest_way(const tg_work *w, tg_geom_pair pair)
{
    return w->space->grow[pair.first] + w->space->grow[pair.second];
}

static bool both_move(const tg_model *m, tg_geom_pair pair)
{
    return m->body_node[m->geom_body[pair.first]] != 0 && m->body_node[m->geom_body[pair.second]] != 0;
}

/* Adds the points of a pair. Returns the distance beyond its margin up to which all of its points are in the problem:
 * how far its geoms move at most, or what they can close. What stands still gains nothing from the latter. */
static double look_at_pair(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_settings *settings,
                           double reach)
{
    int declared = declared_of(m, pair);
    double dt = settings->dt, margin = margin_of(w, pair, declared), within = farthest_way(w, pair);
    gap g = gap_of(w, pair);
    double apart = g.now - margin;
    tg_patch patch;
    if (apart >= within)
        return within;
    if (settings->closing && within > reach + w->rows->slack && both_move(m, pair))
    {
        const double *twists[2] = {w->V, w->rows->free_twist};
        if (stays_apart(m, w, pair, &g, margin + reach, dt, twists[0]) &&
            stays_apart(m, w, pair, &g, margin + reach, dt, twists[1]))
            return reach;
        within = tg_least(within, reach + dt * closing_speed(m, w, pair, dt, twists, 2));
    }
    if (apart >= within || !find_patch(m, w, pair, margin + within, dt, &patch))
        return within;
    tg_law law = tg_law_of(m, w->params, pair, declared);
    for (int k = 0; k < patch.count; k++)
        add_touch(m, w, pair, &law, margin, &patch.point[k]);
    return within;
}

/* m/s: Phi / dt + J_N v */
static double opening_of(const tg_model *m, const tg_work *w, tg_geom_pair pair, const tg_contact_point *c,
                         double margin, double dt, const double *twists)
{
    const int body[2] = {m->geom_body[pair.first], m->geom_body[pair.second]};
    double opening = (c->distance - margin) / dt;
    for (int k = 0; k < 2; k++)
        if (m->body_node[body[k]] != 0)
            opening += (2 * k - 1) * v4_dot(c->normal, motion_at(m, w, body[k], c->point, twists).linear);
    return opening;
}

/* Finds how fast what is aside opens at the velocities; false: something does not. */
static bool stays_aside(const tg_model *m, tg_work *w, const double *twists, const tg_contact_settings *settings)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < r->ntouch; i++)
    {
        tg_touch *t = &r->touch[i];
        if (!t->aside)
            continue;
        double opening = opening_of(m, w, t->pair, &t->at, t->at.distance - t->phi, settings->dt, twists);
        t->opening = tg_least(t->opening, opening);
        if (!(opening > settings->open))
            return false;
    }
    return true;
}

bool tg_misses_touches(const tg_model *m, tg_work *w, const double *v, const tg_contact_settings *settings)
{
    const tg_space *s = w->space;
    const double *twists = w->rows->free_twist;
    double dt = settings->dt;
    tg_node_twists(m, w, v, w->rows->free_twist);
    if (!stays_aside(m, w, twists, settings))
        return true;
    for (int i = 0; i < s->npair; i++)
    {
        tg_geom_pair pair = s->pair[i];
        double most = farthest_way(w, pair), looked = s->looked[i];
        double within = looked < most ? tg_least(most, dt * closing_speed(m, w, pair, dt, &twists, 1)) : looked;
        if (within <= looked)
            continue;
        tg_patch patch;
        double margin = margin_of(w, pair, declared_of(m, pair));
        gap g = gap_of(w, pair);
        if (g.now >= margin + within || stays_apart(m, w, pair, &g, margin, dt, twists) ||
            !find_patch(m, w, pair, margin + within, dt, &patch))
            continue;
        for (int k = 0; k < patch.count; k++)
            if (patch.point[k].distance - margin >= looked &&
                opening_of(m, w, pair, &patch.point[k], margin, dt, twists) < 0)
                return true;
    }
    return false;
}

/* ---- what neighbours cover ---- */

/* A touch seen from one of its two sides, and the next one on the same geom. */
static int geom_of(const tg_touch *t, int side)
{
    return side == 0 ? t->pair.first : t->pair.second;
}

static bool can_be_covered(const tg_space *s, int geom)
{
    tg_geom_type type = s->placed[geom].type;
    return type != TG_GEOM_PLANE && type != TG_GEOM_HFIELD;
}

static tg_footing footing_of(const tg_model *m, const tg_work *w, const tg_touch *t, int side, double dt)
{
    tg_query query;
    tg_touch_query(m, w, t->pair, dt, 0, &query);
    tg_footing f = tg_footing_of(&query, &t->at, side);
    f.shape = &w->space->placed[geom_of(t, side)];
    return f;
}

/* A touch of the geom `other` with a neighbour, a geom of the same body as `geom` is: from k on in the chain of
 * `other`; -1: there is none. */
static int next_neighbour(const tg_model *m, const tg_work *w, int geom, int k)
{
    const tg_rows *r = w->rows;
    int node = m->body_node[m->geom_body[geom]];
    for (; k >= 0; k = r->touch[k / 2].next[k % 2])
    {
        int neighbour = geom_of(&r->touch[k / 2], 1 - k % 2);
        if (neighbour != geom && m->body_node[m->geom_body[neighbour]] == node)
            return k;
    }
    return -1;
}

static bool in_bounds(const tg_space *s, int geom, v4 x)
{
    const tg_bounds *b = &s->bounds;
    for (int k = 0; k < DIM; k++)
        if (!(fabs(x[k] - b->centre[k][s->place[geom]]) <= b->half[k][s->place[geom]]))
            return false;
    return true;
}

/* A neighbour, from k on, has material at the footing of `geom`, -1: none. */
static int next_material(const tg_model *m, const tg_work *w, const tg_footing *f, int geom, int k)
{
    const tg_rows *r = w->rows;
    for (int last = -1, neighbour; k >= 0; k = r->touch[k / 2].next[k % 2], last = neighbour)
    {
        k = next_neighbour(m, w, geom, k);
        if (k < 0)
            break;
        neighbour = geom_of(&r->touch[k / 2], 1 - k % 2);
        if (neighbour != last && in_bounds(w->space, neighbour, f->point) &&
            tg_holds(&w->space->placed[neighbour], f->point, f->slack))
            return k;
    }
    return -1;
}

/* Neighbours, from k on, have material beside it, too. */
static bool goes_on(const tg_model *m, const tg_work *w, const tg_footing *f, v4 normal, int geom, int k)
{
    const tg_rows *r = w->rows;
    for (; k >= 0; k = next_material(m, w, f, geom, r->touch[k / 2].next[k % 2]))
        if (tg_goes_on(f, normal, &w->space->placed[geom_of(&r->touch[k / 2], 1 - k % 2)]))
            return true;
    return false;
}

/* What covers a footing: the touch, -1: none, with the normal of the face. */
typedef struct cover
{
    int touch;
    v4 normal;
    bool leans; /* the footing's normal leans out of it */
} cover;

/* An edge or a vertex that the other shape will be at: it holds nothing now, however little its normal leans. */
static bool passes(const tg_contact_point *c)
{
    bool face = c->kind == TG_POINT_SLIDING || c->surface[0].flat == 2 || c->surface[1].flat == 2;
    return c->when == TG_WHEN_THERE && !face;
}

/* The outward normals of two contacts' sides differ by more than rounding. */
static bool other_normal(const tg_contact_point *a, int side, const tg_contact_point *b, int other)
{
    v4 off = side == other ? a->normal - b->normal : a->normal + b->normal;
    return v4_dot(off, off) > 1e-18;
}

/* What covers touch i on its side `side`. */
static cover cover_of(const tg_model *m, const tg_work *w, int i, int side, double dt)
{
    const tg_rows *r = w->rows;
    const tg_touch *t = &r->touch[i];
    int geom = geom_of(t, side), first = -1;
    if (can_be_covered(w->space, geom))
        first = next_neighbour(m, w, geom, w->space->touch_of[geom_of(t, 1 - side)]);
    if (first < 0)
        return (cover){.touch = -1};
    tg_footing f = {.shape = NULL};
    int material = -1;
    for (int k = first; k >= 0; k = next_neighbour(m, w, geom, r->touch[k / 2].next[k % 2]))
    {
        const tg_touch *u = &r->touch[k / 2];
        if (!other_normal(&t->at, side, &u->at, 1 - k % 2))
            continue;
        if (f.shape == NULL)
        {
            f = footing_of(m, w, t, side, dt);
            material = next_material(m, w, &f, geom, first);
            if (material < 0)
                break;
        }
        tg_footing face = footing_of(m, w, u, 1 - k % 2, dt);
        v4 normal;
        if (tg_is_below(&f, &face, &normal) && goes_on(m, w, &f, normal, geom, material))
            return (cover){k / 2, normal, passes(&t->at) || tg_leans(&f, normal)};
    }
    return (cover){.touch = -1};
}

/* Chains the touches of each geom: 2 i + k is touch i seen from its side k. */
static void chain_touches(const tg_model *m, tg_work *w)
{
    tg_rows *r = w->rows;
    for (int g = 0; g < m->ngeom; g++)
        w->space->touch_of[g] = -1;
    for (int i = r->ntouch - 1; i >= 0; i--)
        for (int k = 0; k < 2; k++)
        {
            int geom = geom_of(&r->touch[i], k);
            r->touch[i].next[k] = w->space->touch_of[geom];
            w->space->touch_of[geom] = 2 * i + k;
        }
}

/* In place of what is left out of a pair: the points that its other geom has over the face of the geom on `side` with
 * normal m, which is level with the cover. How many. */
static int add_level(const tg_model *m, tg_work *w, const tg_touch *t, int side, v4 normal, double dt)
{
    double margin = t->at.distance - t->phi;
    tg_geom_pair pair = t->pair;
    tg_law law = t->law;
    tg_query query;
    tg_patch patch;
    patch.count = 0;
    tg_touch_query(m, w, pair, dt, margin + w->space->grow[pair.first] + w->space->grow[pair.second], &query);
    tg_level_points(&query, side, normal, &patch);
    for (int k = 0; k < patch.count; k++)
        add_touch(m, w, pair, &law, margin, &patch.point[k]);
    return patch.count;
}

/* Touches first .. last - 1 are those of one pair. What holds for the deepest holds for all: their normal is its. */
static bool is_covered(const tg_model *m, tg_work *w, int first, int last, double dt)
{
    tg_rows *r = w->rows;
    int deepest = first, side = 0;
    for (int i = first + 1; i < last; i++)
        if (r->touch[i].phi < r->touch[deepest].phi)
            deepest = i;
    tg_geom_pair pair = r->touch[first].pair;
    if (w->space->placed[pair.first].type == TG_GEOM_PLANE || w->space->placed[pair.second].type == TG_GEOM_PLANE)
        return false;
    cover c = cover_of(m, w, deepest, 0, dt);
    if (c.touch < 0)
        c = cover_of(m, w, deepest, side = 1, dt);
    if (c.touch < 0)
        return false;
    int level = add_level(m, w, &r->touch[deepest], side, c.normal, dt);
    if (!c.leans && level == 0)
        return false;
    tg_contact_point *at = &r->touch[c.touch].at; /* where this choice would be another */
    at->margin = tg_least(at->margin, r->touch[deepest].at.margin);
    return true;
}

int tg_end_of_pair(const tg_rows *r, int i, int touches)
{
    tg_geom_pair pair = r->touch[i].pair;
    while (i < touches && r->touch[i].pair.first == pair.first && r->touch[i].pair.second == pair.second)
        i++;
    return i;
}

/* Contacts with planes are not covered: a plane has one normal, whatever else touches it. */
static bool none_can_be_covered(const tg_rows *r, const tg_space *s)
{
    for (int i = 0; i < r->ntouch; i++)
        if (s->placed[r->touch[i].pair.first].type != TG_GEOM_PLANE &&
            s->placed[r->touch[i].pair.second].type != TG_GEOM_PLANE)
            return false;
    return true;
}

/* Leaves out what a neighbour covers (collision/cover.c). */
static void drop_covered(const tg_model *m, tg_work *w, double dt)
{
    tg_rows *r = w->rows;
    int found = r->ntouch, kept = 0;
    if (none_can_be_covered(r, w->space))
        return;
    chain_touches(m, w);
    for (int i = 0, end; i < found; i = end)
    {
        end = tg_end_of_pair(r, i, found);
        bool covered = is_covered(m, w, i, end, dt);
        for (int k = i; k < end; k++)
            r->touch[k].covered = covered;
    }
    for (int i = 0; i < r->ntouch; i++)
    {
        if (i < found && r->touch[i].covered)
            continue;
        if (kept < i)
            r->touch[kept] = r->touch[i];
        kept++;
    }
    r->ntouch = kept;
}

/* m/s: the largest closing speed of the touches at v_free, *fastest: their largest opening; finds their openings */
static double find_openings(const tg_model *m, tg_work *w, double dt, double *fastest)
{
    tg_rows *r = w->rows;
    double closing = 0;
    *fastest = 0;
    for (int i = 0; i < r->ntouch; i++)
    {
        tg_touch *t = &r->touch[i];
        t->opening = opening_of(m, w, t->pair, &t->at, t->at.distance - t->phi, dt, r->free_twist);
        closing = tg_most(closing, -t->opening);
        *fastest = tg_most(*fastest, t->opening);
    }
    return closing;
}

/* Sets aside the touches of pairs that open at v_free, all of their points faster than anything closes: impulses
 * change velocities by about what they have to stop, so others are unlikely to drive them together, unless they did so
 * in the last step (tg_cache_take_back). v+ will tell. */
static void set_aside(const tg_model *m, tg_work *w, const tg_contact_settings *settings)
{
    tg_rows *r = w->rows;
    if (!settings->closing || settings->open == INFINITY)
        return;
    double fastest, most = tg_most(find_openings(m, w, settings->dt, &fastest), settings->open);
    for (int i = 0, end; i < r->ntouch && fastest > most; i = end)
    {
        bool open = true;
        end = tg_end_of_pair(r, i, r->ntouch);
        for (int k = i; k < end && open; k++)
            open = r->touch[k].opening > most;
        for (int k = i; k < end && open; k++)
            r->touch[k].aside = true;
    }
}

tg_status tg_list_touches(const tg_model *m, tg_work *w, const double *v_free, const tg_contact_settings *settings)
{
    tg_rows *r = w->rows;
    if (settings->given != NULL)
    {
        tg_list_given(m, w, settings->given);
        return TG_OK;
    }
    if (m->ncandidate == 0)
        return TG_OK;
    tg_node_twists(m, w, v_free, r->free_twist);
    double reach = fmax(settings->reach, settings->smooth_reach);
    grow_bounds(m, w, settings->dt, reach);
    TG_TRY(tg_space_near_each(m, w, w->space->grow));
    for (int i = 0; i < w->space->npair; i++)
    {
        tg_geom_pair pair = w->space->pair[i];
        w->space->looked[i] = look_at_pair(m, w, pair, settings, reach);
        r->left_out = r->left_out || w->space->looked[i] < farthest_way(w, pair);
    }
    drop_covered(m, w, settings->dt);
    if (r->needed > r->capacity.contacts)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "%d contact points, the workspace has room for %d", r->needed,
                       r->capacity.contacts);
    set_aside(m, w, settings);
    return TG_OK;
}

uint64_t tg_touch_id(const tg_model *m, const tg_touch *t)
{
    return tg_as_contact(m, t->pair, &t->at).id;
}

void tg_add_touches(const tg_model *m, tg_work *w)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < r->ntouch && r->ngiven == 0; i++)
    {
        if (!r->touch[i].aside)
            tg_add_touch_constraint(m, w, i, tg_touch_id(m, &r->touch[i]));
        r->left_out = r->left_out || r->touch[i].aside;
    }
}
