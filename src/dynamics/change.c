/* Displacements of bodies, and forces of inertia, springs and tendons along a change of parameters: see change.h. */
#include "dynamics/change.h"

#include <math.h>

#include "dynamics/passive.h"
#include "tangere/algebra.h"

static spatial load(const double *array, int index)
{
    return spatial_load(array + SPATIAL_SIZE * index);
}

static void store(double *array, int index, spatial x)
{
    spatial_store(array + SPATIAL_SIZE * index, x);
}

void tg_change_place(tg_change *c, const tg_model *m, tg_arena *arena)
{
#define X(type, name, count, doc) c->name = TG_TAKE(arena, type, count, #name);
    TG_CHANGE_FIELDS(X)
#undef X
}

v4 tg_quaternion_turn(const double *quat, const double *d)
{
    double T[12];
    v4 turn = v4_zero();
    if (d[0] == 0 && d[1] == 0 && d[2] == 0 && d[3] == 0)
        return turn;
    tg_quat_raw_tangent(quat, T);
    for (int i = 0; i < 3; i++)
        turn[i] = T[4 * i] * d[0] + T[4 * i + 1] * d[1] + T[4 * i + 2] * d[2] + T[4 * i + 3] * d[3];
    return turn;
}

/* ---- where bodies are ---- */

/* a rotation about a point */
static spatial rotation_about(v4 turn, v4 point)
{
    return (spatial){v4_cross(point, turn), turn};
}

/* E x, E the rotation of a joint by its angle (sign 1) or back (sign -1) */
static v4 turned(const tg_model *m, const tg_work *w, int joint, double sign, v4 x)
{
    if (m->joint_type[joint] != TG_JOINT_HINGE)
        return x;
    v4 axis = v4_load(w->joint_axis + 4 * joint), along = axis * v4_splat(v4_dot(axis, x));
    return v4_splat(w->joint_cos[joint]) * (x - along) + v4_splat(sign * w->joint_sin[joint]) * v4_cross(axis, x) +
           along;
}

/* axes of the body right after a joint, in the world */
static mat3 axes_after(const tg_model *m, const tg_work *w, int joint, const double *q)
{
    int body = m->joint_body[joint];
    mat3 R = tg_body_rotation(w, body);
    for (int j = m->body_joint[body] + m->body_njoint[body] - 1; j > joint; j--)
    {
        if (m->joint_type[j] == TG_JOINT_BALL)
            R = mat3_product(R, mat3_transpose(mat3_from_quat(q + m->joint_q[j])));
        for (int i = 0; i < 3; i++)
            R.c[i] = turned(m, w, j, -1, R.c[i]);
    }
    return R;
}

/* body.pos and body.quat: of what comes before the first joint */
static spatial own_displacement(const tg_model *m, const tg_work *w, const tg_change *c, int body)
{
    int parent = m->body_parent[body];
    mat3 R = tg_body_rotation(w, parent);
    v4 at = v4_load(w->body_pos + 4 * parent) + mat3_mul_mem(R, TG_PARAM(w->params, body_pos) + 3 * body) -
            tg_node_origin(m, w, m->body_node[body]);
    v4 turn = tg_quaternion_turn(TG_PARAM(w->params, body_quat) + 4 * body, c->params + m->offset.body_quat + 4 * body);
    spatial Z = rotation_about(mat3_mul(R, turn), at);
    Z.lin += mat3_mul_mem(R, c->params + m->offset.body_pos + 3 * body);
    return Z;
}

/* What a joint's anchor, axis and ref displace: what comes before it, its axis included, and then what comes after it.
 */
typedef struct joint_change
{
    spatial before, after;
} joint_change;

static joint_change change_of_joint(const tg_model *m, const tg_work *w, const tg_change *c, int joint, const double *q)
{
    joint_change out = {spatial_zero(), spatial_zero()};
    const double *pos = c->params + m->offset.joint_pos + 3 * joint, *d = c->params + m->offset.joint_axis + 3 * joint;
    int type = m->joint_type[joint];
    if (type == TG_JOINT_FREE)
        return out;
    mat3 R = axes_after(m, w, joint, q);
    v4 shift = mat3_mul_mem(R, pos);
    out.after.lin = -shift;
    if (type == TG_JOINT_BALL)
    {
        out.before.lin =
            mat3_mul(mat3_product(R, mat3_transpose(mat3_from_quat(q + m->joint_q[joint]))), v4_load3(pos));
        return out;
    }
    out.before.lin = turned(m, w, joint, -1, shift);
    double ref = c->params[m->offset.joint_ref + joint];
    out.before = spatial_axpy(out.before, -ref, load(w->J, m->joint_dof[joint]));
    const double *a = TG_PARAM(w->params, joint_axis) + 3 * joint;
    double norm = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    v4 axis = v4_load(w->joint_axis + 4 * joint);
    v4 turn = v4_cross(axis, mat3_mul_mem(R, d)) * v4_splat(1 / norm);
    v4 at = v4_load(w->joint_anchor + 4 * joint) - tg_node_origin(m, w, m->joint_node[joint]), there = at;
    if (type == TG_JOINT_SLIDE)
        there += axis * v4_splat(q[m->joint_q[joint]] - TG_PARAM(w->params, joint_ref)[joint]);
    out.before = spatial_add(out.before, rotation_about(turned(m, w, joint, -1, turn), at));
    out.after = spatial_sub(out.after, rotation_about(turn, there));
    return out;
}

/* the parent's displacement, about the origin of the body's tree */
static spatial from_parent(const tg_model *m, const tg_work *w, const tg_change *c, int body)
{
    int parent = m->body_parent[body];
    spatial Z = load(c->Z, parent);
    v4 by = tg_node_origin(m, w, m->body_node[body]) - tg_node_origin(m, w, m->body_node[parent]);
    Z.lin += v4_cross(Z.ang, by);
    return Z;
}

static bool all_zero(const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* whether n numbers from first on change */
static bool any_change(const tg_change *c, int first, int n)
{
    return tg_changes(c, first, n) && !all_zero(c->params + first, n);
}

/* Neither the body's own numbers nor its joints' change, nor is its parent displaced. A free body is where q says. */
static bool is_still(const tg_model *m, const tg_change *c, int body, int first, int end)
{
    const tg_param_offsets *at = &m->offset;
    bool still = c->still[m->body_parent[body]];
    if (end > first && m->joint_type[first] == TG_JOINT_FREE)
        return true;
    still = still && !any_change(c, at->body_pos + 3 * body, 3) && !any_change(c, at->body_quat + 4 * body, 4);
    return still && !any_change(c, at->joint_pos + 3 * first, 3 * (end - first)) &&
           !any_change(c, at->joint_axis + 3 * first, 3 * (end - first)) &&
           !any_change(c, at->joint_ref + first, end - first);
}

static void displace_body(const tg_model *m, const tg_work *w, tg_change *c, int body, const double *q)
{
    int first = m->body_joint[body], end = first + m->body_njoint[body];
    c->still[body] = is_still(m, c, body, first, end);
    if (c->still[body])
        return;
    c->moves = true;
    spatial Z = from_parent(m, w, c, body);
    if (any_change(c, m->offset.body_pos + 3 * body, 3) || any_change(c, m->offset.body_quat + 4 * body, 4))
        Z = spatial_add(Z, own_displacement(m, w, c, body));
    for (int j = first; j < end; j++)
    {
        joint_change own = {spatial_zero(), spatial_zero()};
        int node = m->joint_node[j];
        if (any_change(c, m->offset.joint_pos + 3 * j, 3) || any_change(c, m->offset.joint_axis + 3 * j, 3) ||
            any_change(c, m->offset.joint_ref + j, 1))
            own = change_of_joint(m, w, c, j, q);
        Z = spatial_add(Z, own.before);
        for (int k = m->joint_dof[j]; k < m->node_dof[node] + m->node_ndof[node]; k++)
            store(c->dJ, k, motion_cross(Z, load(w->J, k)));
        c->still_node[node] = false;
        Z = spatial_add(Z, own.after);
    }
    store(c->Z, body, Z);
}

static void displace(const tg_model *m, const tg_work *w, tg_change *c, const double *q)
{
    int placed = m->offset.body_mass - m->offset.body_pos, jointed = m->offset.joint_springref - m->offset.joint_pos;
    bool may = tg_changes(c, m->offset.body_pos, placed) || tg_changes(c, m->offset.joint_pos, jointed);
    c->moves = false;
    if (!may)
        return;
    c->still[0] = true;
    memset(c->Z, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nbody);
    memset(c->dJ, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nv);
    memset(c->still_node, true, sizeof(bool) * (size_t)m->nnode);
    for (int body = 1; body < m->nbody; body++)
        displace_body(m, w, c, body, q);
}

void tg_change_twists(const tg_model *m, const tg_change *c, const double *x, double *out)
{
    if (!c->moves)
        return;
    memset(out, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
    for (int i = 1; i < m->nnode; i++)
    {
        spatial T = load(out, m->node_parent[i]);
        if (c->still_node[i])
            continue;
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
            T = spatial_axpy(T, x[k], load(c->dJ, k));
        store(out, i, T);
    }
}

/* ---- tendons ---- */

static bool fixed_tendon(const tg_model *m, tg_change *c, int t, const double *q, double *moment)
{
    bool any = false;
    for (int i = m->tendon_path[t]; i < m->tendon_path[t] + m->tendon_npath[t]; i++)
    {
        double d = c->params[m->offset.tendon_coef + i];
        c->length[t] += d * q[m->joint_q[m->path_id[i]]];
        moment[m->joint_dof[m->path_id[i]]] += d;
        any = any || d != 0;
    }
    return any;
}

/* a point of the path */
static v4 moved_site(const tg_model *m, const tg_work *w, const tg_change *c, const tg_segment *s, int end)
{
    int body = s->body[end];
    v4 p = s->point[end] - tg_node_origin(m, w, m->body_node[body]);
    return twist_at(tg_displacement(c, body), p) +
           mat3_mul_mem(tg_body_rotation(w, body), c->params + m->offset.site_pos + 3 * s->site[end]);
}

/* sum over the ends of +-weight u . c_k, c_k the velocity of the end when dof k moves: u turns, the end moves, dJ */
static void segment_moment(const tg_model *m, const tg_work *w, const tg_change *c, const tg_segment *s, int end,
                           v4 moved, v4 turn, double by_weight, double *moment)
{
    int node = m->body_node[s->body[end]], sign = end == 0 ? -1 : 1;
    v4 p = s->point[end] - tg_node_origin(m, w, node), pull = s->direction * v4_splat(sign * s->weight);
    v4 other = turn * v4_splat(sign * s->weight) + s->direction * v4_splat(sign * by_weight);
    int last = node == 0 ? -1 : m->node_dof[node] + m->node_ndof[node] - 1;
    for (int k = last; k >= 0; k = m->dof_parent[k])
    {
        spatial J = load(w->J, k);
        moment[k] += v4_dot(other, twist_at(J, p)) + v4_dot(pull, v4_cross(J.ang, moved));
        if (c->moves)
            moment[k] += v4_dot(pull, twist_at(load(c->dJ, k), p));
    }
}

static void spatial_tendon(const tg_model *m, const tg_work *w, tg_change *c, int t, double *moment)
{
    tg_segment s;
    for (int item = 0; tg_next_segment(m, w, t, &item, &s);)
    {
        v4 moved[2] = {moved_site(m, w, c, &s, 0), moved_site(m, w, c, &s, 1)}, apart = moved[1] - moved[0];
        double longer = v4_dot(s.direction, apart);
        double by_weight = s.divisor < 0 ? 0 : -s.weight * s.weight * c->params[m->offset.tendon_coef + s.divisor];
        v4 turn = (apart - s.direction * v4_splat(longer)) * v4_splat(tg_curvature(s.length));
        c->length[t] += s.weight * longer + by_weight * s.length;
        for (int e = 0; e < 2; e++)
            segment_moment(m, w, c, &s, e, moved[e], turn, by_weight, moment);
    }
}

static void pull_tendons(const tg_model *m, const tg_work *w, tg_change *c, const double *q)
{
    bool sites = c->moves || tg_changes(c, m->offset.site_pos, 3 * m->nsite);
    c->pulls = m->ntendon > 0 && (sites || tg_changes(c, m->offset.tendon_coef, m->npath));
    for (int t = 0; t < m->ntendon && c->pulls; t++)
    {
        double *moment = c->moment + (size_t)t * (size_t)m->nv;
        c->length[t] = 0;
        memset(moment, 0, sizeof(double) * (size_t)m->nv);
        if (m->tendon_type[t] == TG_TENDON_FIXED)
            fixed_tendon(m, c, t, q, moment);
        else
            spatial_tendon(m, w, c, t, moment);
    }
}

/* ---- a direction ---- */

tg_param_range tg_range_of(const tg_model *m, const double *params)
{
    tg_param_range r = {0, params != NULL ? m->nparams : 0};
    while (r.first < r.last && params[r.first] == 0)
        r.first++;
    while (r.last > r.first && params[r.last - 1] == 0)
        r.last--;
    return r;
}

void tg_change_begin(const tg_model *m, tg_work *w, tg_change *c, const double *params, tg_param_range range,
                     const double *q)
{
    c->params = params;
    c->range = range;
    c->pushes = false;
    memset(c->dF, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
    memset(c->force, 0, sizeof(double) * (size_t)m->nv);
    displace(m, w, c, q);
    pull_tendons(m, w, c, q);
}

void tg_change_end(const tg_model *m, const tg_work *w, tg_change *c)
{
    for (int i = m->nnode - 1; i > 0 && (c->pushes || c->moves); i--)
    {
        spatial dF = load(c->dF, i), F = load(w->F, i);
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
        {
            c->force[k] -= spatial_dot(load(w->J, k), dF);
            if (c->moves && !c->still_node[i])
                c->force[k] -= spatial_dot(load(c->dJ, k), F);
        }
        int parent = m->node_parent[i];
        store(c->dF, parent, spatial_add(load(c->dF, parent), dF));
    }
}

/* ---- inertia ---- */

static void add_force(tg_change *c, int node, spatial F)
{
    c->pushes = true;
    store(c->dF, node, spatial_add(load(c->dF, node), F));
}

typedef struct body_motion
{
    spatial V, A;
    mat3 R;
    v4 c; /* centre of mass relative to the origin of the tree */
} body_motion;

static body_motion motion_of(const tg_model *m, const tg_work *w, int body)
{
    int node = m->body_node[body];
    body_motion b = {load(w->V, node), load(w->A, node), .R = tg_body_rotation(w, body)};
    b.c = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, node) +
          mat3_mul_mem(b.R, TG_PARAM(w->params, body_com) + 3 * body);
    return b;
}

static void full_matrix(const double *I, double out[MAT3_SIZE])
{
    const double full[MAT3_SIZE] = {I[0], I[3], I[4], 0, I[3], I[1], I[5], 0, I[4], I[5], I[2], 0};
    memcpy(out, full, sizeof full);
}

/* I A + V x* I V */
static spatial inertial_force(inertia I, spatial V, spatial A)
{
    return spatial_add(inertia_mul(I, A), force_cross(V, inertia_mul(I, V)));
}

/* the inertia's own change: m, c, Ic */
static void inertia_change(const tg_model *m, const tg_work *w, tg_change *c, int body)
{
    double mass = c->params[m->offset.body_mass + body], full[MAT3_SIZE] __attribute__((aligned(32)));
    const double *com = c->params + m->offset.body_com + 3 * body, *d = c->params + m->offset.body_inertia + 6 * body;
    if (mass == 0 && !any_change(c, m->offset.body_com + 3 * body, 3) &&
        !any_change(c, m->offset.body_inertia + 6 * body, 6))
        return;
    body_motion b = motion_of(m, w, body);
    full_matrix(d, full);
    inertia I = inertia_make(mass, b.c, b.R, full);
    v4 h = mat3_mul_mem(b.R, com) * v4_splat(TG_PARAM(w->params, body_mass)[body]), e[3];
    for (int i = 0; i < 3; i++) /* m (2 c.dc 1 - c dc^T - dc c^T) */
    {
        e[i] = v4_zero();
        e[i][i] = 2 * v4_dot(b.c, h);
        I.I.c[i] += e[i] - b.c * v4_splat(h[i]) - h * v4_splat(b.c[i]);
    }
    I.hm += v4_set(h[0], h[1], h[2], 0);
    add_force(c, m->body_node[body], inertial_force(I, b.V, b.A));
}

/* What moves with a body turns with it, Z x* F; beyond that V and A change by dV - Z x V, dA - Z x A. */
static spatial displaced_force(inertia I, spatial V, spatial A, spatial Z, spatial dV, spatial dA)
{
    spatial h = inertia_mul(I, V), F = spatial_add(inertia_mul(I, A), force_cross(V, h));
    dV = spatial_sub(dV, motion_cross(Z, V));
    dA = spatial_sub(dA, motion_cross(Z, A));
    spatial moved = spatial_add(force_cross(Z, F), inertia_mul(I, dA));
    return spatial_add(moved, spatial_add(force_cross(dV, h), force_cross(V, inertia_mul(I, dV))));
}

/* all that hangs on a node, as displaced as the body whose joint it is */
static void displaced_node(const tg_model *m, const tg_work *w, tg_change *c, int node)
{
    if (!m->node_massive[node] || c->still_node[node])
        return;
    inertia I = inertia_load(w->inertia + INERTIA_SIZE * node);
    spatial V = load(w->V, node), A = load(w->A, node), Z = load(c->Z, m->node_body[node]);
    add_force(c, node, displaced_force(I, V, A, Z, load(c->dV, node), load(c->dA, node)));
}

/* a body without joints that is displaced in its node */
static void displaced_body(const tg_model *m, const tg_work *w, tg_change *c, int body)
{
    int node = m->body_node[body];
    double full[MAT3_SIZE] __attribute__((aligned(32)));
    spatial none = spatial_zero(), Z = spatial_sub(load(c->Z, body), load(c->Z, m->node_body[node]));
    if (spatial_dot(Z, Z) == 0)
        return;
    body_motion b = motion_of(m, w, body);
    full_matrix(TG_PARAM(w->params, body_inertia) + 6 * body, full);
    inertia I = inertia_make(TG_PARAM(w->params, body_mass)[body], b.c, b.R, full);
    add_force(c, node, displaced_force(I, b.V, b.A, Z, none, none));
}

/* A_i = A_l + V_l x s + J a, s = V_i - V_l */
static void change_accelerations(const tg_model *m, const tg_work *w, const tg_change *c, const double *a)
{
    memset(c->dA, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
    for (int i = 1; i < m->nnode; i++)
    {
        if (c->still_node[i])
            continue;
        int l = m->node_parent[i];
        spatial Vl = load(w->V, l), dVl = load(c->dV, l), s = spatial_sub(load(w->V, i), Vl);
        spatial ds = spatial_sub(load(c->dV, i), dVl);
        spatial dA = spatial_add(load(c->dA, l), spatial_add(motion_cross(dVl, s), motion_cross(Vl, ds)));
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
            dA = spatial_axpy(dA, a[k], load(c->dJ, k));
        store(c->dA, i, dA);
    }
}

/* the world accelerates with -gravity, and all nodes with it */
static void gravity_change(const tg_model *m, const tg_work *w, tg_change *c)
{
    spatial dA = {-v4_load3(c->params + m->offset.gravity_), v4_zero()};
    for (int i = 1; i < m->nnode; i++)
        if (m->node_massive[i])
            add_force(c, i, inertia_mul(inertia_load(w->inertia + INERTIA_SIZE * i), dA));
}

void tg_change_inertial(const tg_model *m, const tg_work *w, tg_change *c, const double *v, const double *a)
{
    int inertial = m->offset.joint_pos - m->offset.body_mass;
    tg_change_twists(m, c, v, c->dV);
    if (c->moves)
        change_accelerations(m, w, c, a);
    bool own = tg_changes(c, m->offset.body_mass, inertial);
    for (int body = 1; body < m->nbody && (own || c->moves); body++)
    {
        if (m->body_node[body] == 0)
            continue;
        if (own)
            inertia_change(m, w, c, body);
        if (c->moves && m->body_njoint[body] == 0)
            displaced_body(m, w, c, body);
    }
    for (int i = 1; i < m->nnode && c->moves; i++)
        displaced_node(m, w, c, i);
    if (tg_changes(c, m->offset.gravity_, 3))
        gravity_change(m, w, c);
    for (int k = 0; k < m->nv && tg_changes(c, m->offset.joint_armature, m->njoint); k++)
        c->force[k] -= c->params[m->offset.joint_armature + m->dof_joint[k]] * a[k];
}

/* ---- springs and dampers ---- */

/* the part of a ball or free joint that turns */
static void ball_spring(const tg_model *m, const tg_work *w, tg_change *c, int joint, const double *q)
{
    bool free = m->joint_type[joint] == TG_JOINT_FREE;
    int dof = m->joint_dof[joint] + (free ? 3 : 0), body = m->joint_body[joint];
    double k = TG_PARAM(w->params, joint_stiffness)[joint], dk = c->params[m->offset.joint_stiffness + joint];
    double r[3], drest[9];
    tg_ball_deflection(m, w, joint, q, r, NULL, k == 0 ? NULL : drest);
    for (int i = 0; i < 3; i++)
        c->force[dof + i] -= dk * r[i];
    if (!free || k == 0)
        return;
    v4 turn = tg_quaternion_turn(TG_PARAM(w->params, body_quat) + 4 * body, c->params + m->offset.body_quat + 4 * body);
    v4 rest = mat3_mul_t(mat3_load(w->params->body_rot + MAT3_SIZE * body), turn);
    for (int i = 0; i < 3; i++)
        c->force[dof + i] -= k * (drest[3 * i] * rest[0] + drest[3 * i + 1] * rest[1] + drest[3 * i + 2] * rest[2]);
}

static void joint_spring(const tg_model *m, const tg_work *w, tg_change *c, int j, const double *q)
{
    double k = TG_PARAM(w->params, joint_stiffness)[j], dk = c->params[m->offset.joint_stiffness + j];
    if (k == 0 && dk == 0)
        return;
    int dof = m->joint_dof[j], at = m->joint_q[j], type = m->joint_type[j];
    int n = type == TG_JOINT_FREE ? 3 : type == TG_JOINT_BALL ? 0 : 1;
    int rest = type == TG_JOINT_FREE ? m->offset.body_pos + 3 * m->joint_body[j] : m->offset.joint_springref + j;
    for (int i = 0; i < n; i++)
        c->force[dof + i] += k * c->params[rest + i] - dk * (q[at + i] - w->params->q_spring[at + i]);
    if (n != 1)
        ball_spring(m, w, c, j, q);
}

/* moment f, f = k (stretch - ahead rate) - d rate */
static void tendon_spring(const tg_model *m, tg_work *w, tg_change *c, int t, tg_tendon_when when)
{
    const double *dmoment = c->moment + (size_t)t * (size_t)m->nv;
    const int *dof = tg_tendon_dofs(m, t);
    tg_pull pull = tg_tendon_pull(m, w, t, when);
    if (w->tendon_mode[t] == TG_TENDON_SLACK)
        return;
    double change = -c->params[m->offset.tendon_damping + t] * pull.rate, drate = 0;
    if (pull.end >= 0)
        change += c->params[m->offset.tendon_stiffness + t] * (pull.stretch - when.ahead * pull.rate) +
                  pull.stiffness *
                      (c->params[m->offset.tendon_rest + 2 * t + pull.end] + c->params[m->offset.tendon_length + t]);
    for (int i = 0; i < m->tendon_ndof[t] && c->pulls; i++)
    {
        drate += dmoment[dof[i]] * when.x[dof[i]];
        c->force[dof[i]] += dmoment[dof[i]] * pull.force;
    }
    if (c->pulls)
        change -= pull.stiffness * (c->length[t] + when.ahead * drate) + pull.damping * drate;
    tg_tendon_add(m, w, t, change, c->force);
}

void tg_change_passive(const tg_model *m, tg_work *w, tg_change *c, const double *q, const double *v,
                       tg_tendon_when when)
{
    const tg_param_offsets *at = &m->offset;
    bool placed = tg_changes(c, at->body_pos, at->body_mass - at->body_pos);
    if (placed || tg_changes(c, at->joint_springref, at->joint_damping - at->joint_springref))
        for (int j = 0; j < m->njoint; j++)
            joint_spring(m, w, c, j, q);
    for (int k = 0; k < m->nv && tg_changes(c, at->joint_damping, m->njoint); k++)
        c->force[k] -= c->params[at->joint_damping + m->dof_joint[k]] * v[k];
    bool sprung = c->pulls || tg_changes(c, at->tendon_stiffness, at->tendon_frictionloss - at->tendon_stiffness);
    for (int t = 0; t < m->ntendon && sprung; t++)
        tendon_spring(m, w, c, t, when);
}
