/* The backward pass over the tree: see adjoint.h. With the sums over everything behind a point of the tree where twist,
 * acceleration and cotangent are V, A, Y,
 *
 *   Ab = sum Abar,  Yb = sum Ybar,  U = sum Vbar + (V_body - V) x* Abar - V x* Abar,
 *   W = sum Xbar + (V_body - V) x* Vbar + ...: a displacement xi of all of it changes the scalar by W . xi.
 *
 * From behind node i to in front of it (parent l, own motion s = V_i - V_l, c = s x* Ab)
 *
 *   W <- W + sum of J_k x* (v_k (U + c) + a_k Ab + y_k Yb),   U <- U + 2 c,
 *
 * and g q_k = J_k . W there,  g v_k = J_k . (U + c),  g a_k = J_k . Ab. */
#include "dynamics/adjoint.h"

#include <math.h>

#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "math/lanes.h"
#include "tangere/algebra.h"

static spatial load(const double *array, int index)
{
    return spatial_load(array + SPATIAL_SIZE * index);
}

static void add(double *array, int index, spatial x)
{
    spatial_store(array + SPATIAL_SIZE * index, spatial_add(load(array, index), x));
}

void tg_adjoint_begin(const tg_model *m, tg_work *w, const double *y)
{
    for (int body = 0; body < m->nbody; body++)
    {
        spatial_store(w->Xbar + SPATIAL_SIZE * body, spatial_zero());
        spatial_store(w->Ubar + SPATIAL_SIZE * body, spatial_zero());
        spatial_store(w->Abar + SPATIAL_SIZE * body, spatial_zero());
        spatial_store(w->Ybar + SPATIAL_SIZE * body, spatial_zero());
    }
    memset(w->tendon_gradient, 0, sizeof(double) * 4 * (size_t)m->ntendon);
    w->arm_of = NULL;
    tg_node_twists(m, w, y, w->Y);
}

void tg_adjoint_second(const tg_model *m, tg_work *w, const double *x)
{
    memset(w->Zbar, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nbody);
    tg_node_twists(m, w, x, w->Z);
}

void tg_adjoint_seed(tg_work *w, int body, spatial Xbar, spatial Vbar, spatial Ybar)
{
    add(w->Xbar, body, Xbar);
    add(w->Ubar, body, Vbar);
    add(w->Ybar, body, Ybar);
}

void tg_adjoint_seed_second(tg_work *w, int body, spatial Zbar)
{
    add(w->Zbar, body, Zbar);
}

/* ---- where a body is placed ---- */

/* moment of a covector about a point: the gradient of a rotation about it */
static v4 moment_about(spatial covector, v4 point)
{
    return covector.ang - v4_cross(point, covector.lin);
}

static void add_body_gradient(const tg_model *m, const tg_work *w, int body, spatial covector, double *gparams)
{
    int parent = m->body_parent[body];
    mat3 R = tg_body_rotation(w, parent), to_parent = mat3_transpose(R);
    v4 at = v4_load(w->body_pos + 4 * parent) + mat3_mul_mem(R, TG_PARAM(w->params, body_pos) + 3 * body) -
            tg_node_origin(m, w, m->body_node[body]);
    tg_add3(gparams + m->offset.body_pos + 3 * body, mat3_mul(to_parent, covector.lin));
    tg_add3(gparams + m->offset.body_quat + 4 * body, mat3_mul(to_parent, moment_about(covector, at)));
}

/* ---- the scalar y . RNEA ---- */

typedef struct body_motion
{
    spatial V, A, Y, Z; /* Z = Y x V */
    mat3 R;
    v4 c; /* centre of mass relative to the origin of the tree */
} body_motion;

static body_motion motion_of(const tg_model *m, const tg_work *w, int body)
{
    int node = m->body_node[body];
    body_motion b = {load(w->V, node), load(w->A, node), load(w->Y, node), .R = tg_body_rotation(w, body)};
    b.Z = motion_cross(b.Y, b.V);
    b.c = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, node) +
          mat3_mul_mem(b.R, TG_PARAM(w->params, body_com) + 3 * body);
    return b;
}

/* the places xy, xz, yz of a symmetric matrix: rows and columns */
#define FIRST(x) V4_SHUFFLE(x, 0, 0, 1, 3)
#define SECOND(x) V4_SHUFFLE(x, 1, 2, 2, 3)

/* phi = Y.(I A + V x* I V) = Y.I A + Z.I V, with I = (m, c, Ic). A point mass gives m (y_c.a_c + z_c.v_c), x_c the
 * velocity-like vector of x at c; Ic gives y_w.Ic a_w + z_w.Ic v_w. */
static void add_inertial_gradient(const tg_params *p, int body, const body_motion *b, double scale, double *gparams)
{
    const tg_param_offsets *at = &p->model->offset;
    mat3 to_body = mat3_transpose(b->R);
    v4 yc = twist_at(b->Y, b->c), ac = twist_at(b->A, b->c), zc = twist_at(b->Z, b->c), vc = twist_at(b->V, b->c);
    gparams[at->body_mass + body] += scale * v4_sum(yc * ac + zc * vc);
    v4 shift = v4_cross(ac, b->Y.ang) + v4_cross(yc, b->A.ang) + v4_cross(vc, b->Z.ang) + v4_cross(zc, b->V.ang);
    tg_add3(gparams + at->body_com + 3 * body,
            mat3_mul(to_body, shift) * v4_splat(scale * TG_PARAM(p, body_mass)[body]));
    v4 y = mat3_mul(to_body, b->Y.ang * v4_splat(scale)), a = mat3_mul(to_body, b->A.ang);
    v4 z = mat3_mul(to_body, b->Z.ang * v4_splat(scale)), v = mat3_mul(to_body, b->V.ang);
    v4 off = FIRST(y) * SECOND(a) + SECOND(y) * FIRST(a) + FIRST(z) * SECOND(v) + SECOND(z) * FIRST(v);
    tg_add3(gparams + at->body_inertia + 6 * body, y * a + z * v);
    tg_add3(gparams + at->body_inertia + 6 * body + 3, off);
}

static inertia body_inertia(const tg_params *p, int body, const body_motion *b)
{
    const double *I = TG_PARAM(p, body_inertia) + 6 * body;
    double full[MAT3_SIZE] = {I[0], I[3], I[4], 0, I[3], I[1], I[5], 0, I[4], I[5], I[2], 0};
    return inertia_make(TG_PARAM(p, body_mass)[body], b->c, b->R, full);
}

typedef struct inertia_seeds
{
    spatial X, U, A, Y;
} inertia_seeds;

/* phi of a body or of all bodies on a node, times scale: d phi / d A, d Y, d V - V x* d A, and with respect to a
 * displacement that V, A and Y do not follow */
TG_INLINE inertia_seeds seeds_of(inertia I, spatial V, spatial A, spatial Y, double scale)
{
    spatial scaled = spatial_scale(Y, scale), h = inertia_mul(I, V), Abar = inertia_mul(I, scaled);
    spatial Vbar = spatial_sub(inertia_mul(I, motion_cross(scaled, V)), force_cross(scaled, h));
    spatial F = spatial_add(inertia_mul(I, A), force_cross(V, h));
    spatial pull = spatial_add(force_cross(V, Vbar), spatial_add(force_cross(A, Abar), force_cross(scaled, F)));
    return (inertia_seeds){spatial_scale(pull, -1), spatial_sub(Vbar, force_cross(V, Abar)), Abar,
                           spatial_scale(F, scale)};
}

/* all bodies of a node at once, with the inertias of the position stage */
static void seed_nodes(const tg_model *m, tg_work *w, double scale)
{
    for (int i = 1; i < m->nnode; i++)
    {
        if (!m->node_massive[i])
            continue;
        int body = m->node_body[i];
        inertia_seeds s =
            seeds_of(inertia_load(w->inertia + INERTIA_SIZE * i), load(w->V, i), load(w->A, i), load(w->Y, i), scale);
        add(w->Xbar, body, s.X);
        add(w->Ubar, body, s.U);
        add(w->Abar, body, s.A);
        add(w->Ybar, body, s.Y);
    }
}

/* Where a body sits on its node matters to where it and the bodies between are placed. */
static void add_weld_gradient(const tg_model *m, const tg_work *w, int body, const body_motion *b, double scale,
                              double *gparams)
{
    inertia_seeds s = seeds_of(body_inertia(w->params, body, b), b->V, b->A, b->Y, scale);
    for (int at = body; at != m->body_weld[body]; at = m->body_parent[at])
        add_body_gradient(m, w, at, s.X, gparams);
}

void tg_adjoint_rnea(const tg_model *m, tg_work *w, double scale, double *gparams)
{
    seed_nodes(m, w, scale);
    for (int body = 1; body < m->nbody && gparams != NULL; body++)
    {
        if (m->body_node[body] == 0)
            continue;
        body_motion b = motion_of(m, w, body);
        add_inertial_gradient(w->params, body, &b, scale, gparams);
        if (body != m->body_weld[body])
            add_weld_gradient(m, w, body, &b, scale, gparams);
    }
}

/* ---- the scalar of implicit gyroscopic forces ---- */

/* psi = p . I w of a node, p = z x y, with angular velocities w, y, z of V, Y, Z and the inertia I about its centre of
 * mass. Both twists about the centre have no momentum, so that psi does not move with the centre; all seeds are
 * couples. */
static double seed_gyroscopic(const tg_model *m, tg_work *w, int node, double scale, double *gparams)
{
    inertia I = inertia_load(w->inertia + INERTIA_SIZE * node);
    v4 turn = load(w->V, node).ang, y = load(w->Y, node).ang, z = load(w->Z, node).ang, p = v4_cross(z, y);
    spatial W = inertia_turn(I, turn), P = inertia_turn(I, p);
    v4 h = inertia_mul(I, W).ang * v4_splat(scale), g = inertia_mul(I, P).ang * v4_splat(scale), none = v4_zero();
    int body = m->node_body[node];
    add(w->Xbar, body, (spatial){none, v4_cross(g, turn) + v4_cross(h, p)});
    add(w->Ubar, body, (spatial){none, g});
    add(w->Ybar, body, (spatial){none, v4_cross(h, z)});
    add(w->Zbar, body, (spatial){none, v4_cross(y, h)});
    for (int b = body; b < m->nbody && gparams != NULL; b++)
    {
        if (m->body_node[b] != node)
            continue;
        body_motion motion = motion_of(m, w, b);
        motion = (body_motion){spatial_zero(), W, P, spatial_zero(), motion.R, motion.c};
        add_inertial_gradient(w->params, b, &motion, scale, gparams);
        if (b != m->body_weld[b])
            add_weld_gradient(m, w, b, &motion, scale, gparams);
    }
    return v4_dot(p, h);
}

double tg_adjoint_gyroscopic(const tg_model *m, tg_work *w, double scale, double *gparams)
{
    double sum = 0;
    for (int i = 1; i < m->nnode; i++)
        if (m->node_massive[i])
            sum += seed_gyroscopic(m, w, i, scale, gparams);
    return sum;
}

/* ---- the scalar g_length L + moment . (g_rate v + g_moment y + g_second x) of a tendon ----
 *
 * Spatial: per segment with direction u, and the differences V, Y, Z of the velocities of its ends, weight (g_length
 * |p_b - p_a| + u . (g_rate V + g_moment Y + g_second Z)), where d u = (1 - u u^T)(dp_b - dp_a) / length. */

/* An end of a segment: where it is, and the twist g_rate V + g_moment Y + g_second Z of its body. */
typedef struct segment_end
{
    v4 p;
    spatial S;
    int body, site;
} segment_end;

TG_INLINE segment_end end_of(const tg_model *m, const tg_work *w, int site, v4 p, const double *g)
{
    int body = m->site_body[site], node = m->body_node[body];
    spatial S = spatial_axpy(spatial_scale(load(w->V, node), g[1]), g[2], load(w->Y, node));
    return (segment_end){p, g[3] != 0 ? spatial_axpy(S, g[3], load(w->Z, node)) : S, body, site};
}

/* pull: sign weight u; position: the gradient of the end with its velocities held fixed */
TG_INLINE void seed_end(const tg_model *m, tg_work *w, const segment_end *e, v4 pull, v4 position, const double *g,
                        double *gparams)
{
    spatial W = wrench_at(pull, e->p);
    v4 total = position + v4_cross(pull, e->S.ang);
    tg_adjoint_seed(w, e->body, wrench_at(total, e->p), spatial_scale(W, g[1]), spatial_scale(W, g[2]));
    if (g[3] != 0)
        tg_adjoint_seed_second(w, e->body, spatial_scale(W, g[3]));
    if (gparams != NULL)
        tg_add3(gparams + m->offset.site_pos + 3 * e->site, mat3_mul_t(tg_body_rotation(w, e->body), total));
}

/* a segment with direction u and 1 / length: curvature; returns u . (its ends' speeds) */
TG_INLINE double seed_segment(const tg_model *m, tg_work *w, const segment_end e[2], v4 u, double curvature,
                              double weight, const double *g, double *gparams)
{
    v4 speed = twist_at(e[1].S, e[1].p) - twist_at(e[0].S, e[0].p), by = v4_splat(weight);
    double along = v4_dot(u, speed);
    v4 position = by * (u * v4_splat(g[0]) + (speed - u * v4_splat(along)) * v4_splat(curvature));
    seed_end(m, w, &e[0], -by * u, -position, g, gparams);
    seed_end(m, w, &e[1], by * u, position, g, gparams);
    return along;
}

static void spatial_tendon(const tg_model *m, tg_work *w, int tendon, const double *g, double *gparams)
{
    tg_segment s;
    for (int item = 0; tg_next_segment(m, w, tendon, &item, &s);)
    {
        segment_end e[2];
        for (int i = 0; i < 2; i++)
            e[i] = end_of(m, w, s.site[i], s.point[i] - tg_node_origin(m, w, m->body_node[s.body[i]]), g);
        double along = seed_segment(m, w, e, s.direction, tg_curvature(s.length), s.weight, g, gparams);
        if (gparams != NULL && s.divisor >= 0) /* weight = 1 / divisor */
            gparams[m->offset.tendon_coef + s.divisor] -= s.weight * s.weight * (g[0] * s.length + along);
    }
}

static void fixed_tendon(const tg_model *m, const tg_work *w, int tendon, const double *g, const double *q,
                         const tg_adjoint_fields *x, double *gq, double *gv, double *gparams)
{
    for (int i = m->tendon_path[tendon]; i < m->tendon_path[tendon] + m->tendon_npath[tendon]; i++)
    {
        int at = m->joint_q[m->path_id[i]], dof = m->joint_dof[m->path_id[i]];
        double coef = TG_PARAM(w->params, tendon_coef)[i];
        gq[dof] += g[0] * coef;
        gv[dof] += g[1] * coef;
        if (gparams != NULL)
            gparams[m->offset.tendon_coef + i] +=
                g[0] * q[at] + g[1] * x->v[dof] + g[2] * x->y[dof] + (g[3] != 0 ? g[3] * x->second[dof] : 0);
    }
}

/* ---- the same for cables ----
 *
 * The sites are few, and several cables end at each. With the velocities of the sites, V, Y and Z at their points, a
 * cable needs differences of these alone; what cables pull a site with is summed there, and becomes a wrench at its
 * body once: forces F = sum g u of each kind, and sum of the positions' gradients + F_rate x V.ang + F_moment x Y.ang
 * + F_second x Z.ang. */

enum
{
    SITE_FIELDS = 3, /* V, Y, Z */
    SITE_SEEDS = 4   /* by position, by V, Y, Z */
};

static void begin_cable_sites(const tg_model *m, const tg_work *w, const double *const twists[SITE_FIELDS], int fields)
{
    for (const int *site = m->cable_site; *site >= 0; site++)
    {
        int node = m->body_node[m->site_body[*site]];
        double *speed = w->cable_speed + 4 * SITE_FIELDS * *site, *seed = w->cable_seed + 4 * SITE_SEEDS * *site;
        v4 p = v4_load(w->cable_point + 4 * *site) - tg_node_origin(m, w, node);
        for (int f = 0; f < fields; f++)
            v4_store(speed + 4 * f, twist_at(load(twists[f], node), p));
        for (int f = 0; f <= fields; f++)
            v4_store(seed + 4 * f, v4_zero());
    }
}

/* the direction of a cable is in its moment */
TG_INLINE void seed_cable(const tg_model *m, const tg_work *w, int tendon, const int *ends, const double *g, int fields)
{
    const double *moment = tg_tendon_moment(m, w, tendon);
    v4 u = ends[3] >= 0 ? v4_loadu(moment + ends[3]) : -v4_loadu(moment + ends[2]);
    u = v4_keep(~v4_lanes_from(3), u);
    const double *speed[2] = {w->cable_speed + 4 * SITE_FIELDS * ends[0], w->cable_speed + 4 * SITE_FIELDS * ends[1]};
    double *seed[2] = {w->cable_seed + 4 * SITE_SEEDS * ends[0], w->cable_seed + 4 * SITE_SEEDS * ends[1]};
    v4 apart = v4_zero(), by[SITE_SEEDS];
    for (int f = 0; f < fields; f++)
    {
        apart += (v4_load(speed[1] + 4 * f) - v4_load(speed[0] + 4 * f)) * v4_splat(g[1 + f]);
        by[1 + f] = u * v4_splat(g[1 + f]);
    }
    v4 across = apart - u * v4_splat(v4_dot(u, apart));
    by[0] = u * v4_splat(g[0]) + across * v4_splat(tg_curvature(w->tendon_length[tendon]));
    for (int f = 0; f <= fields; f++)
    {
        v4_store(seed[0] + 4 * f, v4_load(seed[0] + 4 * f) - by[f]);
        v4_store(seed[1] + 4 * f, v4_load(seed[1] + 4 * f) + by[f]);
    }
}

static void end_cable_sites(const tg_model *m, tg_work *w, const double *const twists[SITE_FIELDS], int fields,
                            double *gparams)
{
    for (const int *site = m->cable_site; *site >= 0; site++)
    {
        int body = m->site_body[*site], node = m->body_node[body];
        const double *seed = w->cable_seed + 4 * SITE_SEEDS * *site;
        v4 p = v4_load(w->cable_point + 4 * *site) - tg_node_origin(m, w, node), total = v4_load(seed);
        for (int f = 0; f < fields; f++)
            total += v4_cross(v4_load(seed + 4 + 4 * f), load(twists[f], node).ang);
        add(w->Xbar, body, wrench_at(total, p));
        add(w->Ubar, body, wrench_at(v4_load(seed + 4), p));
        add(w->Ybar, body, wrench_at(v4_load(seed + 8), p));
        if (fields == SITE_FIELDS)
            add(w->Zbar, body, wrench_at(v4_load(seed + 12), p));
        if (gparams != NULL)
            tg_add3(gparams + m->offset.site_pos + 3 * *site, mat3_mul_t(tg_body_rotation(w, body), total));
    }
}

/* those whose cotangents are not zero; Z counts where the pass has a second vector */
static void seed_cables(const tg_model *m, tg_work *w, bool second, double *gparams)
{
    const double *const twists[SITE_FIELDS] = {w->V, w->Y, w->Z};
    if (m->cable_site[0] < 0)
        return;
    begin_cable_sites(m, w, twists, second ? SITE_FIELDS : SITE_FIELDS - 1);
    for (int t = 0; t < m->ntendon; t++)
    {
        const int *ends = tg_cable_ends(m, t);
        const double *g = w->tendon_gradient + 4 * t;
        if (ends == NULL)
            continue;
        if (second)
            seed_cable(m, w, t, ends, g, SITE_FIELDS);
        else
            seed_cable(m, w, t, ends, g, SITE_FIELDS - 1);
    }
    end_cable_sites(m, w, twists, second ? SITE_FIELDS : SITE_FIELDS - 1, gparams);
}

/* all that was added to the cotangents of tendons */
static void seed_tendons(const tg_model *m, tg_work *w, const double *q, const tg_adjoint_fields *x, double *gq,
                         double *gv, double *gparams)
{
    if (m->ntendon > 0)
        seed_cables(m, w, x->second != NULL, gparams);
    for (int t = 0; t < m->ntendon; t++)
    {
        const double *g = w->tendon_gradient + 4 * t;
        if (tg_cable_ends(m, t) != NULL || (g[0] == 0 && g[1] == 0 && g[2] == 0 && g[3] == 0))
            continue;
        if (m->tendon_type[t] == TG_TENDON_SPATIAL)
            spatial_tendon(m, w, t, g, gparams);
        else
            fixed_tendon(m, w, t, g, q, x, gq, gv, gparams);
    }
}

/* ---- where a joint is ---- */

/* What a joint does to vectors between the frames before and after it, in the world: R_after = E R_before. */
typedef struct joint_turn
{
    v4 axis, c, s; /* E x = c x + s axis x x + (1 - c) (axis . x) axis */
} joint_turn;

static joint_turn turn_of(const tg_model *m, const tg_work *w, int joint)
{
    bool hinge = m->joint_type[joint] == TG_JOINT_HINGE;
    return (joint_turn){v4_load(w->joint_axis + 4 * joint), v4_splat(hinge ? w->joint_cos[joint] : 1),
                        v4_splat(hinge ? w->joint_sin[joint] : 0)};
}

static v4 turned(const joint_turn *t, v4 x)
{
    v4 along = t->axis * v4_splat(v4_dot(t->axis, x));
    return t->c * (x - along) + t->s * v4_cross(t->axis, x) + along;
}

/* A moved anchor is a displacement of what comes before the joint and the opposite one of what comes after it; a turned
 * axis likewise: Exp((S a) q) = S Exp(a q) S^T, and theta = a x da / |a|. ref shifts q without its rate. to_after =
 * R_after^T. */
static void add_axis_joint_gradient(const tg_model *m, const tg_work *w, int joint, const double *q, mat3 to_after,
                                    spatial before, spatial after, double *gparams)
{
    joint_turn t = turn_of(m, w, joint);
    v4 at_before = v4_load(w->joint_anchor + 4 * joint) - tg_node_origin(m, w, m->joint_node[joint]);
    v4 at_after = at_before;
    if (m->joint_type[joint] == TG_JOINT_SLIDE)
        at_after += t.axis * v4_splat(q[m->joint_q[joint]] - TG_PARAM(w->params, joint_ref)[joint]);
    v4 force = turned(&t, before.lin) - after.lin;
    v4 turn = turned(&t, moment_about(before, at_before)) - moment_about(after, at_after);
    tg_add3(gparams + m->offset.joint_pos + 3 * joint, mat3_mul(to_after, force));
    tg_add3(gparams + m->offset.joint_axis + 3 * joint, mat3_mul(to_after, v4_cross(turn, t.axis)));
    gparams[m->offset.joint_ref + joint] -= spatial_dot(before, load(w->J, m->joint_dof[joint]));
}

/* Adds the gradients of a joint, and makes to_after what it is for the joint before this one. */
static void add_joint_gradient(const tg_model *m, const tg_work *w, int joint, const double *q, mat3 *to_after,
                               spatial before, spatial after, double *gparams)
{
    bool more = joint > m->body_joint[m->joint_body[joint]];
    if (m->joint_type[joint] == TG_JOINT_FREE)
        return;
    if (m->joint_type[joint] == TG_JOINT_BALL)
    {
        v4 own = mat3_mul(*to_after, after.lin);
        *to_after = mat3_product(mat3_from_quat(q + m->joint_q[joint]), *to_after);
        tg_add3(gparams + m->offset.joint_pos + 3 * joint, mat3_mul(*to_after, before.lin) - own);
        return;
    }
    add_axis_joint_gradient(m, w, joint, q, *to_after, before, after, gparams);
    if (!more || m->joint_type[joint] != TG_JOINT_HINGE)
        return;
    joint_turn t = turn_of(m, w, joint);
    t.s = -t.s; /* R_before = E^T R_after */
    mat3 R = mat3_transpose(*to_after);
    *to_after = mat3_transpose((mat3){{turned(&t, R.c[0]), turned(&t, R.c[1]), turned(&t, R.c[2])}});
}

/* ---- the pass ---- */

/* which fields a scalar has besides V and Y, and whether parameters are wanted; constants, so that each combination
 * is a pass of its own */
enum
{
    USE_A = 1,
    USE_SECOND = 2,
    USE_PARAMS = 4
};

/* The sums behind one point of the tree. */
typedef struct sums
{
    spatial W, U, A, Y, Z;
} sums;

typedef struct backward
{
    const tg_model *m;
    tg_work *w;
    const double *q;
    const tg_adjoint_fields *x;
    double *gq, *gv, *ga, *params;
} backward;

/* Moves the sums from behind node i to in front of it and takes the gradients of its dofs. */
TG_INLINE void pass_node(const backward *b, int i, unsigned use, sums *s)
{
    const tg_model *m = b->m;
    const tg_adjoint_fields *x = b->x;
    spatial W = s->W, U = s->U, c = spatial_zero();
    if (use & USE_A)
    {
        c = force_cross(spatial_sub(load(b->w->V, i), load(b->w->V, m->node_parent[i])), s->A);
        U = spatial_add(U, c);
    }
    int first = m->node_dof[i], end = first + m->node_ndof[i];
    for (int k = first; k < end; k++)
    {
        spatial along = spatial_axpy(spatial_scale(U, x->v[k]), x->y[k], s->Y);
        if (use & USE_A)
            along = spatial_axpy(along, x->a[k], s->A);
        if (use & USE_SECOND)
            along = spatial_axpy(along, x->second[k], s->Z);
        W = spatial_add(W, force_cross(load(b->w->J, k), along));
    }
    for (int k = first; k < end; k++)
    {
        spatial J = load(b->w->J, k);
        b->gq[k] += spatial_dot(J, W);
        b->gv[k] += spatial_dot(J, U);
        if (use & USE_A)
            b->ga[k] += spatial_dot(J, s->A);
    }
    s->W = W;
    s->U = use & USE_A ? spatial_add(U, c) : U;
}

/* Bodies that cannot move have the world's origin; of their sums only those count that move them and accelerate them.
 */
static spatial about_world(const backward *b, int body, spatial f)
{
    v4 shift = tg_node_origin(b->m, b->w, b->m->body_node[body]);
    return (spatial){f.lin, f.ang + v4_cross(shift, f.lin)};
}

TG_INLINE void add_to_parent(const backward *b, int body, unsigned use, const sums *s)
{
    tg_work *w = b->w;
    int parent = b->m->body_parent[body];
    if (b->m->body_node[parent] == 0)
    {
        add(w->Xbar, parent, about_world(b, body, s->W));
        if (use & USE_A)
            add(w->Abar, parent, about_world(b, body, s->A));
        return;
    }
    add(w->Xbar, parent, s->W);
    add(w->Ubar, parent, s->U);
    add(w->Ybar, parent, s->Y);
    if (use & USE_A)
        add(w->Abar, parent, s->A);
    if (use & USE_SECOND)
        add(w->Zbar, parent, s->Z);
}

TG_INLINE void pass_body(const backward *b, int body, unsigned use)
{
    const tg_model *m = b->m;
    tg_work *w = b->w;
    sums s = {load(w->Xbar, body), load(w->Ubar, body), spatial_zero(), load(w->Ybar, body), spatial_zero()};
    if (use & USE_A)
        s.A = load(w->Abar, body);
    if (use & USE_SECOND)
        s.Z = load(w->Zbar, body);
    mat3 to_after = mat3_identity();
    if (use & USE_PARAMS)
        to_after = mat3_transpose(tg_body_rotation(w, body));
    for (int j = m->body_joint[body] + m->body_njoint[body] - 1; j >= m->body_joint[body]; j--)
    {
        spatial after = s.W;
        if (m->joint_type[j] == TG_JOINT_FREE)
            pass_node(b, m->joint_node[j] + 1, use, &s);
        pass_node(b, m->joint_node[j], use, &s);
        if (use & USE_PARAMS)
            add_joint_gradient(m, w, j, b->q, &to_after, s.W, after, b->params);
    }
    bool free = m->body_njoint[body] > 0 && m->joint_type[m->body_joint[body]] == TG_JOINT_FREE;
    if ((use & USE_PARAMS) && !free)
        add_body_gradient(m, w, body, s.W, b->params);
    add_to_parent(b, body, use, &s);
}

TG_INLINE void pass(const backward *b, unsigned use)
{
    for (int body = b->m->nbody - 1; body > 0; body--)
        pass_body(b, body, use);
    if ((use & USE_PARAMS) && (use & USE_A)) /* the world accelerates with -gravity */
        for (int i = 0; i < 3; i++)
            b->params[b->m->offset.gravity_ + i] -= b->w->Abar[i];
}

TG_INLINE void pass_fields(const backward *b, unsigned params)
{
    if (b->x->second != NULL && b->x->a != NULL)
        pass(b, USE_A | USE_SECOND | params);
    else if (b->x->a != NULL)
        pass(b, USE_A | params);
    else
        pass(b, params);
}

void tg_adjoint_end(const tg_model *m, tg_work *w, const double *q, const tg_adjoint_fields *x, double *gq, double *gv,
                    double *ga, double *gparams)
{
    backward b = {m, w, q, x, gq, gv, ga, gparams};
    seed_tendons(m, w, q, x, gq, gv, gparams);
    if (gparams != NULL)
        pass_fields(&b, USE_PARAMS);
    else
        pass_fields(&b, 0);
}
