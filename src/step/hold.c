/* Shapes that turn far in a step.
 *
 * The rows of a contact are linear in v+: they keep Phi + dt J_N v+ >= 0. A body that turns by theta in the step leaves
 * the straight paths of its points by up to theta^2 R / 2, R their distance from its origin, so that the shapes may
 * overlap at the end though the rows hold: an impact at 300 m/s that sets a capsule of 10 cm turning makes theta
 * several radians. Where that can be more than half of the reach (1 mm), or than what an overlap leaves of the reach, the
 * shapes are looked at once more, at the end of the step. If they overlap there by more than the reach
 * (less is pushed out), the trees of the island go a share h of their way,
 *     q+ = q (+) h dt v+,
 * v+ stays. The linear gap at h is (1 - h) Phi + h (Phi + dt J_N v+), never below the smaller of the two, so a share
 * with h^2 theta^2 R / 2 <= slack always holds: the search for the largest one starts there, and no body stays where it
 * is. What is left of the impact happens in the next step, with the contacts of the new pose. */
#include "step/hold.h"

#include <float.h>
#include <math.h>

#include "contact/collide.h"
#include "dynamics/kinematics.h"
#include "model/manifold.h"
#include "step/step.h"

static const double fine = 1.05; /* the share is found to 5 %: what is not gone now is gone in the next step */

/* ---- which islands ---- */

/* rad/s: how fast a node turns at v+ */
static double turn_of(const tg_model *m, const tg_work *w, int node)
{
    const double *v = tg_placing_velocity(w->step);
    v4 sum = v4_zero();
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
        sum += spatial_load(w->J + SPATIAL_SIZE * k).ang * v4_splat(v[k]);
    return sqrt(v4_dot(sum, sum));
}

/* A bound of that: the sum over the dofs of a tree. */
static double most_turn(const tg_model *m, const tg_work *w, int tree)
{
    const double *v = tg_placing_velocity(w->step);
    double sum = 0;
    for (int k = m->tree_dof[tree]; k < m->tree_dof[tree] + m->tree_ndof[tree]; k++)
        sum += fabs(v[k]);
    return sum;
}

/* The dofs of a tree together. */
typedef struct tree_turn
{
    int tree;
    double most; /* rad */
} tree_turn;

/* m: the farthest point of a geom from the origin of its body, about which the body turns */
static double arm_of(const tg_model *m, const tg_work *w, int geom)
{
    v4 arm = tg_geom_centre(w, geom) - v4_load(w->body_pos + 4 * m->geom_body[geom]);
    return sqrt(v4_dot(arm, arm)) + w->params->geom_radius[geom];
}

/* m: how far the points of a geom leave their straight paths at most, theta^2 R / 2; by the bound of its tree's turn,
 * or by its own turn */
static double leaves(const tg_model *m, const tg_work *w, int geom, bool own, tree_turn *last)
{
    int body = m->geom_body[geom], node = m->body_node[body], tree = m->body_tree[body];
    if (node == 0)
        return 0;
    if (!own && last->tree != tree)
        *last = (tree_turn){tree, w->step->options.dt * most_turn(m, w, tree)};
    double theta = own ? w->step->options.dt * turn_of(m, w, node) : last->most;
    return 0.5 * theta * theta * arm_of(m, w, geom);
}

/* The share of the step in which the two geoms of a touch leave their straight paths by the slack at most, together.
 * 1: they need not be looked at, because they stay within half of the reach in the whole step or, where they overlap,
 * within what the overlap leaves of the reach. Every query has the slack, so less than that is never asked for. */
static double sure_share(const tg_model *m, const tg_work *w, const tg_touch *t, tree_turn last[2])
{
    double reach = w->step->options.reach, slack = w->rows->slack;
    double most = fmax(fmin(0.5 * reach, reach + t->phi), slack);
    int first = t->pair.first, second = t->pair.second;
    if (leaves(m, w, first, false, &last[0]) + leaves(m, w, second, false, &last[1]) <= most)
        return 1;
    double way = leaves(m, w, first, true, NULL) + leaves(m, w, second, true, NULL);
    return way <= most ? 1 : sqrt(slack / way);
}

static int island_of(const tg_model *m, const tg_rows *r, const tg_touch *t)
{
    int tree = m->body_tree[t->bond.body[0]];
    return r->tree_island[tree >= 0 ? tree : m->body_tree[t->bond.body[1]]];
}

/* ---- whether they overlap ---- */

/* The touches of a pair of geoms follow each other, but for those beside a cover: first .. the one before *end. */
static const tg_touch *pair_from(const tg_rows *r, int first, int *end, double *overlap)
{
    const tg_touch *t = &r->touch[first];
    *overlap = 0;
    for (*end = first; *end < r->ntouch; ++*end)
    {
        const tg_touch *u = &r->touch[*end];
        if (u->pair.first != t->pair.first || u->pair.second != t->pair.second)
            break;
        *overlap = fmax(*overlap, -u->phi);
    }
    return t;
}

/* The pair, where it now is, overlaps by more than `most`, or has come out on the other side of a contact that acts. */
static bool is_through(const tg_model *m, tg_work *w, const tg_touch *t, double most, bool acts)
{
    tg_query query;
    tg_patch patch;
    const tg_placed *placed = w->space->placed;
    bool field = placed[t->pair.first].type == TG_GEOM_HFIELD || placed[t->pair.second].type == TG_GEOM_HFIELD;
    double margin = t->at.distance - t->phi, least = INFINITY;
    tg_space_update_pair(m, w, t->pair);
    tg_pair_query(w, t->pair, acts && !field ? INFINITY : margin, &query);
    tg_narrow(&query, &patch);
    v4 normal = t->at.normal;
    for (int i = 0; i < patch.count; i++)
        if (patch.point[i].distance < least)
        {
            least = patch.point[i].distance;
            normal = patch.point[i].normal;
        }
    return least - margin < -most || (acts && v4_dot(normal, t->at.normal) < 0);
}

/* the constraint of touch i is in the problem with an impulse */
static bool acts_on(const tg_rows *r, int first, int end)
{
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source == TG_SOURCE_CONTACT && c->index >= first && c->index < end && r->L[c->row] > 0)
            return true;
    }
    return false;
}

/* After the share of the step some pair of the island overlaps by more than it did at the start and than `most`. */
static bool goes_through(const tg_model *m, tg_work *w, int island, double share, double most)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    const double *v = tg_placing_velocity(s);
    double overlap;
    bool through = false;
    for (int k = 0; k < m->nv; k++)
        s->part[k] = share * s->options.dt * v[k];
    tg_advance(m, s->q, s->part, s->q_closed);
    tg_place(m, w, s->q_closed);
    for (int i = 0, end; i < r->ntouch && !through; i = end)
    {
        const tg_touch *t = pair_from(r, i, &end, &overlap);
        bool rigid = tg_law_compliance(w->params, &t->law) == 0; /* others overlap as they should */
        through = rigid && island_of(m, r, t) == island && is_through(m, w, t, fmax(overlap, most), acts_on(r, i, end));
    }
    return through;
}

/* ---- the share ---- */

static double share_of(const tg_model *m, tg_work *w, int island, double sure)
{
    double low = fmax(sure, DBL_EPSILON), high = 1; /* a smaller share would move nothing */
    double slack = w->rows->slack;
    if (!goes_through(m, w, island, 1, w->step->options.reach))
        return 1;
    if (goes_through(m, w, island, low, slack)) /* a side of an ellipsoid is flatter than its radius says */
    {
        high = low;
        low *= 0.5 * 0.5 * 0.5 * 0.5; /* beyond the slack by 1/256 of it, or a few times that on such a side */
    }
    while (high > fine * low)
    {
        double middle = sqrt(low * high);
        *(goes_through(m, w, island, middle, slack) ? &high : &low) = middle;
    }
    return low;
}

static void hold_island(const tg_model *m, tg_work *w, int island, double share)
{
    tg_step_work *s = w->step;
    if (!s->held)
        for (int k = 0; k < m->nv; k++)
            s->share[k] = 1;
    s->held = true;
    for (int t = 0; t < m->ntree; t++)
        for (int k = m->tree_dof[t]; w->rows->tree_island[t] == island && k < m->tree_dof[t] + m->tree_ndof[t]; k++)
            s->share[k] = share;
}

void tg_step_hold(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    s->held = false;
    for (int i = 0; i < r->nisland; i++)
        s->sure[i] = 1;
    bool any = false;
    tree_turn last[2] = {{.tree = -1}, {.tree = -1}};
    for (int i = 0; i < r->ntouch; i++)
    {
        const tg_touch *t = &r->touch[i];
        double sure = sure_share(m, w, t, last);
        int island = sure < 1 ? island_of(m, r, t) : -1;
        if (island < 0)
            continue;
        s->sure[island] = fmin(s->sure[island], sure);
        any = true;
    }
    for (int i = 0; i < r->nisland && any; i++)
    {
        double share = s->sure[i] < 1 ? share_of(m, w, i, s->sure[i]) : 1;
        if (share < 1)
            hold_island(m, w, i, share);
    }
    if (s->held)
        tg_step_integrate(m, w);
}
