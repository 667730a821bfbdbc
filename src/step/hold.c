/* Shapes that turn far in a step.
 *
 * The rows of a contact are linear in v+ and act at one point: they keep Phi + dt J_N v+ >= 0 there. A body that turns
 * by theta lowers its other points by up to theta times its size, and leaves the straight paths of its points by
 * theta^2 R / 2, so that shapes may overlap at the end though the rows hold: an impact at 300 m/s that sets a capsule
 * of 10 cm turning makes theta several radians. Two shapes A and B are apart by at least s along any unit vector n,
 * where s is the least n . x of B less the largest of A. Along the normal of a contact, to second order of q (+) dt v+:
 *     x+ = c + V + X + (1 + W x) y,   V = sum u_k,   X = sum W_k x (u_k / 2 + sum of u_j behind k),   W = sum W_k,
 * for the point c + y of a shape with its origin at c, where dof k of its chain moves c by u_k and turns the shape by
 * W_k in the step (n . (y + W x y) = (n + n x W) . y: a support point). With Theta = sum |W_k|, B = sum |u_k| and R >=
 * |y|, what is left out is at most Theta^2 (R + B) / 2. Pairs that are apart by this, or overlap by no more than the
 * reach (1 mm: that much is pushed out), are done.
 *
 * Other pairs are checked again, at the end of the step. If they overlap there by more than the reach, the trees
 * of the island go a share h of their way,
 *     q+ = q (+) h dt v+,
 * v+ stays. The linear gap at h is (1 - h) Phi + h (Phi + dt J_N v+), never below the smaller of the two, so a share
 * with h Theta (2 R + Theta (R + B)) below what is allowed always holds: the search for the largest one starts there,
 * and no body stays where it is. What is left of the impact happens in the next step, with the contacts of the new
 * pose. */
#include "step/hold.h"

#include <float.h>
#include <math.h>

#include "collision/gjk.h"
#include "contact/collide.h"
#include "dynamics/kinematics.h"
#include "model/manifold.h"
#include "solve/cone.h"
#include "step/step.h"

/* The share is found to 5 %: what is not gone now is gone in the next step. It is a power of 1 / 1.05, whatever the
 * bound is from which the search starts: so it does not change with the state, but for jumps from one to the next, and
 * derivatives at a fixed share are those of the step. */
static const double fine = 1.05;

/* ---- which islands ---- */

/* How the bodies of a node move in the whole step. Geoms of one node follow each other, and share it. */
typedef struct sweep
{
    int node;
    v4 centre;     /* c, world: the origin of the first geom */
    v4 way;        /* m: V + X of c */
    v4 turn;       /* rad: W */
    double angle;  /* rad: Theta */
    double turned; /* m: B, of what has turning joints before it */
} sweep;

static void fill_sweep(const tg_model *m, const tg_work *w, int node, v4 centre, sweep *s)
{
    const double *v = tg_placing_velocity(w->step);
    double dt = w->step->options.dt, behind = 0, angle = 0, turned = 0;
    v4 from = centre - tg_node_origin(m, w, node), V = v4_zero(), X = v4_zero(), turn = v4_zero();
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
        v4 step = v4_splat(dt * v[k]), W = J.ang * step, u = twist_at(J, from) * step;
        double square = v4_dot(W, W);
        behind += sqrt(v4_dot(u, u));
        if (square > 0)
        {
            X += v4_cross(W, u * v4_splat(0.5) + V);
            turn += W;
            angle += sqrt(square);
            turned = behind;
        }
        V += u;
    }
    *s = (sweep){node, centre, X + V, turn, angle, turned};
}

/* how a geom moves: the last node's sweep, which is replaced where it is another one */
static const sweep *sweep_geom(const tg_model *m, const tg_work *w, int geom, sweep *last)
{
    static const sweep still = {0};
    int node = m->body_node[m->geom_body[geom]];
    if (node == 0)
        return &still;
    if (last->node != node)
        fill_sweep(m, w, node, w->space->placed[geom].x, last);
    return last;
}

/* m: Theta R, R how far the points of a geom are from c, its rounding taken off, which does not turn */
static double turned_radius(const tg_work *w, int geom, const sweep *s)
{
    if (s->angle == 0) /* a plane has no radius */
        return 0;
    v4 off = tg_geom_centre(w, geom) - s->centre;
    return s->angle * (sqrt(v4_dot(off, off)) + w->params->geom_radius[geom] - tg_rounding(&w->space->placed[geom]));
}

/* n . x+ of the point of a shape that is farthest along side * n, its rounding taken off */
static double farthest(const tg_placed *shape, const sweep *s, v4 n, double side)
{
    if (shape->type == TG_GEOM_PLANE) /* which does not move (is_bounded), and whose normal is n */
        return v4_dot(n, shape->x);
    v4 d = n + v4_cross(n, s->turn);
    return v4_dot(n, s->centre + s->way) + v4_dot(d, tg_support(shape, d * v4_splat(side), NULL) - s->centre);
}

/* The supports of what has no bound along n are not there. */
static bool is_bounded(const tg_model *m, const tg_work *w, int geom)
{
    tg_geom_type type = w->space->placed[geom].type;
    bool fixed = m->body_node[m->geom_body[geom]] == 0;
    return type != TG_GEOM_HFIELD && (type != TG_GEOM_PLANE || fixed);
}

/* m: by how much more a pair may overlap after a share of the step: the share of the slack that its overlap leaves of
 * the reach, so that a pair that is held step after step stays within the reach; beyond it so little that it moves on,
 * in proportion to the overlap: parts that a model lets overlap by centimetres do not hold its motion. */
static double allowance(const tg_work *w, double overlap)
{
    double reach = w->step->options.reach, slack = w->rows->slack, left = reach - overlap;
    return slack * (left > 0 ? left : slack * slack / reach * (overlap / reach)) / reach;
}

/* The share of the step after which a pair, of which t is a touch, overlaps by no more than it may; 1: it need not be
 * looked at. */
static double sure_share(const tg_model *m, const tg_work *w, const tg_touch *t, double overlap, sweep last[2])
{
    int first = t->pair.first, second = t->pair.second;
    const tg_placed *placed = w->space->placed;
    const sweep *a = sweep_geom(m, w, first, &last[0]), *b = sweep_geom(m, w, second, &last[1]);
    double ra = turned_radius(w, first, a), rb = turned_radius(w, second, b), reach = w->step->options.reach;
    double rest = 0.5 * (a->angle * (ra + a->angle * a->turned) + b->angle * (rb + b->angle * b->turned));
    double margin = t->at.distance - t->phi;
    double apart = -INFINITY;
    if (is_bounded(m, w, first) && is_bounded(m, w, second))
        apart = farthest(&placed[second], b, t->at.normal, -1) - farthest(&placed[first], a, t->at.normal, 1) -
                tg_rounding(&placed[first]) - tg_rounding(&placed[second]) - margin - rest;
    if (apart >= -reach)
        return 1;
    double more = allowance(w, overlap), way = 2 * (ra + rb) + 2 * rest;
    return apart >= -(overlap + more) || way <= more ? 1 : more / way;
}

static int island_of(const tg_model *m, const tg_rows *r, const tg_touch *t)
{
    int tree = m->body_tree[t->bond.body[0]];
    return r->tree_island[tree >= 0 ? tree : m->body_tree[t->bond.body[1]]];
}

/* ---- whether they overlap ---- */

/* the touches of a pair of geoms: first .. the one before *end */
static const tg_touch *pair_from(const tg_rows *r, int first, int *end, double *overlap)
{
    *overlap = 0;
    *end = tg_end_of_pair(r, first, r->ntouch);
    for (int i = first; i < *end; i++)
        *overlap = tg_larger(*overlap, -r->touch[i].phi);
    return &r->touch[first];
}

/* n . x of the point of a shape that is farthest along side * n, its rounding taken off */
static double reaches(const tg_placed *shape, v4 n, double side)
{
    return v4_dot(n, shape->type == TG_GEOM_PLANE ? shape->x : tg_support(shape, n * v4_splat(side), NULL));
}

/* Along the normal of the touch the pair, where it now is, overlaps by no more than `most`: then it overlaps by no more
 * along the normal that it now has, and each is still on its side. */
static bool stays_apart(const tg_model *m, const tg_work *w, const tg_touch *t, double most)
{
    const tg_placed *a = &w->space->placed[t->pair.first], *b = &w->space->placed[t->pair.second];
    if (!is_bounded(m, w, t->pair.first) || !is_bounded(m, w, t->pair.second))
        return false;
    return reaches(b, t->at.normal, -1) - reaches(a, t->at.normal, 1) - tg_rounding(a) - tg_rounding(b) -
               (t->at.distance - t->phi) >=
           -most;
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

static bool is_rigid(const tg_work *w, const tg_touch *t)
{
    return tg_law_compliance(w->params, &t->law) == 0; /* others overlap as they should */
}

/* By more than a radian (`make bullets`, seeds 2000 to 2019): then a body may come out on the other side of a contact
 * that its linear motion opens. */
static bool turns_round(const tg_model *m, const tg_work *w, int geom)
{
    const double *v = tg_placing_velocity(w->step);
    int node = m->body_node[m->geom_body[geom]], last = node == 0 ? -1 : m->node_dof[node] + m->node_ndof[node] - 1;
    v4 turn = v4_zero();
    for (int k = last; k >= 0; k = m->dof_parent[k])
        turn += spatial_load(w->J + SPATIAL_SIZE * k).ang * v4_splat(w->step->options.dt * v[k]);
    return v4_dot(turn, turn) > 1;
}

/* The pair of touches first .. end - 1, where it now is, overlaps by more than `most`, or has come out on the other
 * side of a contact whose side counts. */
static bool is_through(const tg_model *m, tg_work *w, int first, int end, double most)
{
    const tg_touch *t = &w->rows->touch[first];
    tg_query query;
    tg_patch patch;
    const tg_placed *placed = w->space->placed;
    bool field = placed[t->pair.first].type == TG_GEOM_HFIELD || placed[t->pair.second].type == TG_GEOM_HFIELD;
    double margin = t->at.distance - t->phi, least = INFINITY;
    tg_space_update_pair(m, w, t->pair);
    if (stays_apart(m, w, t, most))
        return false;
    bool sided = acts_on(w->rows, first, end) || turns_round(m, w, t->pair.first) || turns_round(m, w, t->pair.second);
    tg_pair_query(w, t->pair, sided && !field ? INFINITY : margin, &query);
    tg_narrow(&query, &patch);
    v4 normal = t->at.normal;
    for (int i = 0; i < patch.count; i++)
        if (patch.point[i].distance < least)
        {
            least = patch.point[i].distance;
            normal = patch.point[i].normal;
        }
    return least - margin < -most || (sided && v4_dot(normal, t->at.normal) < 0);
}

/* bodies to where they are after a share of the step */
static void place_at(const tg_model *m, tg_work *w, double share)
{
    tg_step_work *s = w->step;
    const double *v = tg_placing_velocity(s);
    for (int k = 0; k < m->nv; k++)
        s->part[k] = share * s->options.dt * v[k];
    tg_advance(m, s->q, s->part, s->q_closed);
    tg_place(m, w, s->q_closed);
}

/* m: by how much a pair that overlapped may overlap then */
static double most_overlap(const tg_work *w, double overlap, double share)
{
    double may = overlap + allowance(w, overlap);
    return share < 1 ? may : fmax(may, w->step->options.reach);
}

/* After the share of the step some pair of the island overlaps by more than it may; after the whole of it, by more than
 * the reach, too. At the end of the whole step pairs that are sure not to are left out. */
static bool goes_through(const tg_model *m, tg_work *w, int island, double share)
{
    const tg_rows *r = w->rows;
    double overlap;
    bool through = false;
    place_at(m, w, share);
    for (int i = 0, end; i < r->ntouch && !through; i = end)
    {
        const tg_touch *t = pair_from(r, i, &end, &overlap);
        if (t->aside || (share == 1 && !t->turns_far))
            continue;
        through =
            is_rigid(w, t) && island_of(m, r, t) == island && is_through(m, w, i, end, most_overlap(w, overlap, share));
    }
    return through;
}

/* ---- the share ---- */

static double share_of(const tg_model *m, tg_work *w, int island, double sure)
{
    double low = ceil(-log(fmax(sure, DBL_EPSILON)) / log(fine)),
           high = 0; /* exponents; a smaller share moves nothing */
    if (!goes_through(m, w, island, 1))
        return 1;
    while (low > high + 1)
    {
        double middle = floor((low + high) / 2);
        *(goes_through(m, w, island, pow(fine, -middle)) ? &high : &low) = middle;
    }
    return pow(fine, -low);
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

bool tg_step_turns_aside(const tg_model *m, tg_work *w)
{
    const tg_rows *r = w->rows;
    double overlap;
    bool placed = false, through = false;
    sweep last[2] = {{.node = -1}, {.node = -1}};
    for (int i = 0, end; i < r->ntouch; i = end)
    {
        const tg_touch *t = pair_from(r, i, &end, &overlap);
        r->touch[i].turns_far = t->aside && is_rigid(w, t) && sure_share(m, w, t, overlap, last) < 1;
    }
    for (int i = 0, end; i < r->ntouch && !through; i = end)
    {
        const tg_touch *t = pair_from(r, i, &end, &overlap);
        if (!t->turns_far)
            continue;
        if (!placed)
            place_at(m, w, 1);
        placed = true;
        through = is_through(m, w, i, end, most_overlap(w, overlap, 1));
    }
    if (placed)
        tg_place(m, w, w->step->q);
    for (int i = 0, end; i < r->ntouch && placed; i = end)
        if (pair_from(r, i, &end, &overlap)->turns_far)
            tg_space_update_pair(m, w, r->touch[i].pair);
    return through;
}

void tg_step_hold(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    s->held = false;
    for (int i = 0; i < r->nisland; i++)
        s->sure[i] = 1;
    bool any = false;
    double overlap;
    sweep last[2] = {{.node = -1}, {.node = -1}};
    for (int i = 0, end; i < r->ntouch; i = end)
    {
        const tg_touch *t = pair_from(r, i, &end, &overlap);
        if (t->aside) /* tg_step_turns_aside has looked */
            continue;
        double sure = is_rigid(w, t) ? sure_share(m, w, t, overlap, last) : 1;
        int island = sure < 1 ? island_of(m, r, t) : -1;
        r->touch[i].turns_far = sure < 1;
        if (island < 0 || r->island[island].result.status != TG_SOLVE_SOLVED)
            continue; /* where rows do not hold, no share of the way need be better than the whole */
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
