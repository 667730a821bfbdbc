/* Scalars f . (J x) + gphi . Phi, differentiated with respect to where everything is.
 *
 * A bond has F = sum f_i a_i and tau likewise, u and o the relative linear and angular velocity of x at its point:
 *     phi = F . u + tau . o    (a sum of such terms),
 * with the twists held fixed it changes by F . (o x dp) + dtheta . (F x u + tau x o), dp and dtheta the displacement
 * and rotation of the contact's frame. A contact's frame moves as a rigid body with the first geom, and further by what
 * the relative twist of the two does to it (collision/narrow_deriv.h); dtheta = n x dn + n (spin . dn)
 * (tg_touch_spin). */
#include "contact/rows_vjp.h"

#include <math.h>

#include "collision/narrow_deriv.h"
#include "collision/polytope.h"
#include "contact/collide.h"
#include "dynamics/tendon.h"
#include "model/reference.h"
#include "tangere/algebra.h"

typedef struct reverse
{
    const tg_model *m;
    tg_work *w;
    const double *q;
    const tg_row_term *term; /* the current one, or (contacts) the first */
    int terms;
    const double *touch; /* the contacts' own gradients, or NULL */
    double dt, *gdt;
    tg_gradient g;
} reverse;

/* a covector of a displacement: forces at a point */
typedef struct pull
{
    v4 lin, ang;
} pull;

static spatial twist_in(const reverse *r, tg_row_field field, int body)
{
    const double *twists = field == TG_ROW_FIELD_Y ? r->w->Y : field == TG_ROW_FIELD_Z ? r->w->Z : r->w->V;
    return spatial_load(twists + SPATIAL_SIZE * r->m->body_node[body]);
}

static spatial twist_of(const reverse *r, int body)
{
    return twist_in(r, r->term->field, body);
}

static v4 from_origin(const reverse *r, int body, v4 point)
{
    return point - tg_node_origin(r->m, r->w, r->m->body_node[body]);
}

static spatial wrench_of(pull a, v4 p)
{
    return (spatial){a.lin, a.ang + v4_cross(p, a.lin)};
}

/* the seeds of the twists of a field */
static double *seeds_of(tg_work *w, tg_row_field field)
{
    return field == TG_ROW_FIELD_Y ? w->Ybar : field == TG_ROW_FIELD_Z ? w->Zbar : w->Ubar;
}

static void add_seed(double *seeds, int body, spatial x)
{
    double *at = seeds + SPATIAL_SIZE * body;
    spatial_store(at, spatial_add(spatial_load(at), x));
}

/* a body that cannot move has gradients of where it is placed only; the world has none */
static bool is_idle(const reverse *r, int body)
{
    return r->m->body_node[body] == 0 && (body == 0 || r->g.params == NULL);
}

/* One side of a bond: the wrench it feels through its twist, at the bond's point, and the gradient of its displacement,
 * at a point of its own, with twists held. */
static void seed_side(const reverse *r, int body, v4 point, pull through_twist, v4 own, pull displaced)
{
    if (is_idle(r, body))
        return;
    add_seed(r->w->Xbar, body, wrench_of(displaced, from_origin(r, body, own)));
    add_seed(seeds_of(r->w, r->term->field), body, wrench_of(through_twist, from_origin(r, body, point)));
}

static pull combine(const tg_bond *b, const double *f)
{
    pull sum = {v4_zero(), v4_zero()};
    for (int i = 0; i < b->linear; i++)
        sum.lin += b->axis[i] * v4_splat(f[i]);
    for (int i = 0; i < b->angular; i++)
        sum.ang += b->axis[i] * v4_splat(f[b->linear + i]);
    return sum;
}

static pull negative(pull a)
{
    return (pull){-a.lin, -a.ang};
}

/* ---- contacts ---- */

/* Gradients of the contact's point, normal and distance. */
typedef struct point_gradient
{
    v4 point, normal;
    double distance;
} point_gradient;

static double apply(const point_gradient *g, tg_point_motion d)
{
    return v4_dot(g->point, d.point) + v4_dot(g->normal, d.normal) + g->distance * d.distance;
}

/* where a geom sits in its body: from the gradient of its displacement, at its origin */
static void place_gradient(const reverse *r, int geom, pull displaced)
{
    const tg_model *m = r->m;
    mat3 to_body = mat3_transpose(tg_body_rotation(r->w, m->geom_body[geom]));
    tg_add3(r->g.params + TG_PARAM_INDEX(m, geom_pos, geom), mat3_mul(to_body, displaced.lin));
    tg_add3(r->g.params + TG_PARAM_INDEX(m, geom_quat, geom), mat3_mul(to_body, displaced.ang));
}

int tg_size_index(const tg_model *m, int geom)
{
    return m->geom_type[geom] == TG_GEOM_HFIELD ? TG_PARAM_INDEX(m, hfield_size, m->geom_hfield[geom])
                                                : TG_PARAM_INDEX(m, geom_size, geom);
}

int tg_size_count(int type)
{
    static const int count[] = {
        [TG_GEOM_PLANE] = 0,       [TG_GEOM_HFIELD] = DIM, [TG_GEOM_SPHERE] = 1, [TG_GEOM_CAPSULE] = 2,
        [TG_GEOM_ELLIPSOID] = DIM, [TG_GEOM_CYLINDER] = 2, [TG_GEOM_BOX] = DIM,  [TG_GEOM_MESH] = DIM};
    _Static_assert(sizeof count / sizeof count[0] == TG_GEOM_TYPE_COUNT, "one a type");
    return count[type];
}

/* A curved surface that grows is displaced at the contact, and its normals stay: by its shift, as the geom itself would
 * be. */
static double size_gradient(const tg_touch *t, const tg_query *query, int which, int k, const point_gradient *g,
                            pull displaced)
{
    const tg_contact_point *c = &t->at;
    if (c->kind != TG_POINT_WITNESS || tg_has_course(c) || c->surface[which].flat > 0)
        return apply(g, tg_motion_by_size(query, c, which, k));
    double side = which == 0 ? -0.5 : 0.5;
    v4 outward = which == 0 ? c->normal : -c->normal, at = c->point + c->normal * v4_splat(side * c->distance);
    return v4_dot(displaced.lin, tg_size_shift(&query->shape[which], at, outward, k));
}

/* place and size of a geom; displaced: at the contact point */
static void geom_gradient(const reverse *r, const tg_touch *t, const tg_query *query, int which,
                          const point_gradient *g, pull displaced)
{
    int geom = which == 0 ? t->pair.first : t->pair.second;
    v4 arm = t->at.point - query->shape[which].x;
    place_gradient(r, geom, (pull){displaced.lin, displaced.ang + v4_cross(arm, displaced.lin)});
    const tg_model *m = r->m;
    for (int k = 0; k < tg_size_count(m->geom_type[geom]); k++)
        r->g.params[tg_size_index(m, geom) + k] += size_gradient(t, query, which, k, g, displaced);
}

/* A contact whose normal is that of where the geoms will be, x' = x + dt v, R' = Exp(dt w) R: what displaces these
 * places beyond the geoms' own displacement. With (s, t) the gradient of such a displacement at the contact point and
 * of its rotation, a = p - x', b = x' - x, E = Exp(dt w):
 *     a turn of the geom    (E - 1)^T (t + a x s) - b x s
 *     its velocity          dt s,  dt Jl(dt w)^T (t + a x s)
 *     dt                    s . (v + w x a) + t . w */
static void course_reverse(const reverse *r, const tg_touch *t, const tg_query *query, int which,
                           const point_gradient *g)
{
    int geom = which == 0 ? t->pair.first : t->pair.second, body = r->m->geom_body[geom];
    tg_placed then = tg_advanced(query, which);
    v4 s = v4_zero(), c = v4_zero(), v = query->velocity[which], w = query->spin[which], x = query->shape[which].x;
    for (int i = 0; i < DIM; i++)
    {
        v4 unit = v4_unit_vector(i);
        s[i] = apply(g, tg_motion_by_course(&t->at, which, unit, v4_zero()));
        c[i] = apply(g, tg_motion_by_course(&t->at, which, v4_zero(), unit));
    }
    v4 a = t->at.point - then.x, moment = c + v4_cross(a, s), turn_then = v4_zero();
    v4 back = mat3_mul(query->shape[which].R, mat3_mul_t(then.R, moment)); /* E^T */
    vec3 angle;
    mat33 Jl;
    v4_store3(angle, r->dt * w);
    tg_so3_left_jacobian(angle, Jl);
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            turn_then[i] += r->dt * Jl[DIM * j + i] * moment[j];
    *r->gdt += v4_dot(s, v + v4_cross(w, a)) + v4_dot(c, w);
    v4 gv = s * v4_splat(r->dt);
    pull displaced = {v4_cross(gv, w), back - moment - v4_cross(then.x - x, s)};
    if (r->m->body_node[body] == 0)
        return;
    v4 at = from_origin(r, body, x);
    spatial Vbar = wrench_of((pull){gv, turn_then}, at);
    tg_adjoint_seed(r->w, body, wrench_of(displaced, at), Vbar, spatial_zero());
    if (r->g.params != NULL)
        place_gradient(r, geom, displaced);
}

/* what each term pulls with, and their sum's gradient of the contact point */
static point_gradient touch_terms(const reverse *r, const tg_touch *t, int row, double gphi, pull F[TG_ROW_TERMS])
{
    const tg_bond *b = &t->bond;
    v4 p1 = from_origin(r, b->body[0], t->at.point), p2 = from_origin(r, b->body[1], t->at.point);
    v4 turn = v4_zero();
    point_gradient g = {v4_zero(), v4_zero(), gphi};
    for (int i = 0; i < r->terms; i++)
    {
        F[i] = combine(b, r->term[i].f + row);
        spatial T1 = twist_in(r, r->term[i].field, b->body[0]), T2 = twist_in(r, r->term[i].field, b->body[1]);
        v4 u = twist_at(T2, p2) - twist_at(T1, p1), o = T2.ang - T1.ang;
        turn += v4_cross(F[i].lin, u) + v4_cross(F[i].ang, o);
        g.point += v4_cross(F[i].lin, o);
    }
    if (r->touch != NULL)
    {
        const double *own = r->touch + TG_TOUCH_GRADIENT * (t - r->w->rows->touch);
        g.point += v4_loadu(own);
        turn += v4_loadu(own + TG_TOUCH_TURN);
    }
    v4 n = t->at.normal;
    g.normal = v4_cross(turn, n) + tg_touch_spin(r->w->rows, n) * v4_splat(v4_dot(n, turn));
    return g;
}

static void seed_touch(const reverse *r, const tg_touch *t, int side, const pull F[TG_ROW_TERMS], pull displaced)
{
    int body = t->bond.body[side];
    if (is_idle(r, body))
        return;
    v4 p = from_origin(r, body, t->at.point);
    add_seed(r->w->Xbar, body, wrench_of(displaced, p));
    for (int i = 0; i < r->terms; i++)
        add_seed(seeds_of(r->w, r->term[i].field), body, wrench_of(side == 0 ? negative(F[i]) : F[i], p));
}

/* The gradients of a contact from outside are outputs. */
static void given_reverse(const reverse *r, const tg_touch *t, const pull F[TG_ROW_TERMS], const point_gradient *g)
{
    double *out = t->law.given->gradient;
    const pull none = {v4_zero(), v4_zero()};
    seed_touch(r, t, 0, F, none);
    seed_touch(r, t, 1, F, none);
    tg_add3(out, g->point);
    tg_add3(out + TG_GIVEN_NORMAL, g->normal);
    out[TG_GIVEN_GAP] += g->distance;
}

static void touch_reverse(const reverse *r, const tg_touch *t, int row, double gphi)
{
    pull F[TG_ROW_TERMS];
    point_gradient g = touch_terms(r, t, row, gphi, F);
    if (t->law.given != NULL)
    {
        given_reverse(r, t, F, &g);
        return;
    }
    tg_twist_gradient relative = tg_twist_reverse(&t->at, (tg_point_motion){g.point, g.normal, g.distance});
    pull second = {relative.shift, relative.turn};
    pull first = {g.point - second.lin, v4_cross(t->at.normal, g.normal) - second.ang};
    seed_touch(r, t, 0, F, first);
    seed_touch(r, t, 1, F, second);
    if (r->g.params == NULL && !tg_has_course(&t->at))
        return;
    bool course = tg_has_course(&t->at); /* velocities count */
    tg_query query;
    if (course)
        tg_touch_query(r->m, r->w, t->pair, r->dt, 0, &query);
    else
        tg_pair_query(r->w, t->pair, 0, &query);
    for (int k = 0; k < 2; k++)
    {
        if (r->g.params != NULL)
            geom_gradient(r, t, &query, k, &g, k == 0 ? first : second);
        if (course)
            course_reverse(r, t, &query, k, &g);
    }
}

/* ---- equalities between bodies ---- */

/* gradient of Phi = Log(R_2 (R_1 R_rel)^T): Jl^-T for body 2, -Jr^-T for body 1 */
static void weld_turns(const vec3 phi, const vec3 gphi, v4 turn[2])
{
    mat33 Jl, Jr;
    tg_so3_left_jacobian_inverse(phi, Jl);
    tg_so3_right_jacobian_inverse(phi, Jr);
    vec3 of[2] = {{0}};
    mat33_mul_t_add(Jr, gphi, of[0]);
    mat33_mul_t_add(Jl, gphi, of[1]);
    turn[0] = -v4_load3(of[0]);
    turn[1] = v4_load3(of[1]);
}

static void weld_parameters(const reverse *r, const tg_constraint *c, const tg_bond *b, const pull displaced[2])
{
    const double *data = TG_PARAM_OF(r->w->params, equality_data, c->index);
    double *g = r->g.params + TG_PARAM_INDEX(r->m, equality_data, c->index);
    bool weld = r->m->equality_type[c->index] == TG_EQUALITY_WELD;
    for (int k = 0; k < 2; k++)
    {
        int first = weld == (k == 0) ? TG_EQUALITY_ANCHOR : 0;
        tg_add3(g + first, mat3_mul_t(tg_body_rotation(r->w, b->body[k]), displaced[k].lin));
    }
    if (b->angular == 0)
        return;
    v4 turn = mat3_mul_t(tg_body_rotation(r->w, b->body[0]), displaced[0].ang);
    double T[DIM * QUAT];
    tg_quat_raw_tangent(data + TG_EQUALITY_QUAT, T);
    for (int i = 0; i < QUAT; i++)
        g[TG_EQUALITY_QUAT + i] += T[i] * turn[0] + T[QUAT + i] * turn[1] + T[2 * QUAT + i] * turn[2];
}

/* the point is one of body 2; its error is seen from the anchor, one of body 1 */
static void bond_reverse(const reverse *r, const tg_constraint *c, const double *f, const double *gphi)
{
    const tg_bond *b = &r->w->rows->bond[c->bond];
    pull F = combine(b, f), displaced[2];
    v4 turn[2] = {v4_zero(), v4_zero()};
    v4 error = gphi != NULL ? v4_load3(gphi) : v4_zero();
    if (gphi != NULL && b->angular > 0)
        weld_turns(r->w->rows->phi + c->row + DIM, gphi + DIM, turn);
    v4 o = twist_of(r, b->body[1]).ang - twist_of(r, b->body[0]).ang;
    displaced[0] = (pull){-error, turn[0]};
    displaced[1] = (pull){error + v4_cross(F.lin, o), turn[1]};
    seed_side(r, b->body[0], b->point, negative(F), b->anchor, displaced[0]);
    seed_side(r, b->body[1], b->point, F, b->point, displaced[1]);
    if (r->g.params != NULL)
        weld_parameters(r, c, b, displaced);
}

/* ---- rows of dofs and tendons ---- */

/* the length of a tendon in the reference configuration, with gradient g */
static void reference_length_reverse(const reverse *r, int tendon, double g)
{
    if (r->g.params != NULL)
        tg_reference_tendon_slope(r->w->params, tendon, NULL, g, r->g.params);
}

/* g of a tendon's length and f of moment . x, the vector of the term */
static void tendon_reverse(const reverse *r, int tendon, double g, double f)
{
    bool second = r->term->field == TG_ROW_FIELD_Z;
    tg_adjoint_tendon(r->w, tendon,
                      (tg_tendon_gradient){.length = g, .moment = second ? 0 : f, .second = second ? f : 0});
}

/* row = x_1 - p'(x) x_2, Phi = e_1 - p(e_2) for a polynomial p */
static void coupling_reverse(const reverse *r, const tg_constraint *c, double f, double gphi)
{
    const tg_model *m = r->m;
    int first = m->equality_obj1[c->index], second = m->equality_obj2[c->index];
    tg_coupling k = tg_coupling_of(m, r->w, c->index, r->q);
    bool tendon = m->equality_type[c->index] == TG_EQUALITY_TENDON;
    double x2 = second < 0 ? 0
                : tendon   ? tg_tendon_rate(m, r->w, second, r->term->x)
                           : r->term->x[m->joint_dof[second]];
    double g1 = gphi, g2 = second < 0 ? 0 : -k.slope * gphi - f * k.bend * x2;
    if (r->g.params != NULL)
    {
        double *g = r->g.params + TG_PARAM_INDEX(m, equality_data, c->index), power = 1, below = 0;
        for (int i = 0; i < (second < 0 ? 1 : TG_COEFFICIENTS); i++)
        {
            g[i] -= gphi * power + f * x2 * i * below;
            below = power;
            power *= k.x;
        }
    }
    if (tendon)
    {
        tendon_reverse(r, first, g1, f);
        reference_length_reverse(r, first, -g1);
        if (second >= 0)
        {
            tendon_reverse(r, second, g2, -k.slope * f);
            reference_length_reverse(r, second, -g2);
        }
        return;
    }
    r->g.q[m->joint_dof[first]] += g1;
    if (second >= 0)
        r->g.q[m->joint_dof[second]] += g2;
    if (r->g.params == NULL)
        return;
    r->g.params[m->offset.joint_ref + first] -= g1;
    if (second >= 0)
        r->g.params[m->offset.joint_ref + second] -= g2;
}

/* Phi = range - |Log q|, row -a . x with a the axis of Log q */
static void ball_limit_reverse(const reverse *r, int joint, double f, double gphi)
{
    const double *x = r->term->x + r->m->joint_dof[joint];
    mat33 J;
    vec3 turn, across;
    double along = 0, angle = tg_ball_turn(r->m, joint, r->q, turn);
    tg_so3_right_jacobian_inverse(turn, J);
    for (int i = 0; i < DIM; i++)
        along += turn[i] / angle * x[i];
    for (int i = 0; i < DIM; i++)
        across[i] = -f * (x[i] - along * turn[i] / angle) / angle - gphi * turn[i] / angle;
    mat33_mul_t_add(J, across, r->g.q + r->m->joint_dof[joint]);
}

static void joint_limit_reverse(const reverse *r, const tg_constraint *c, double f, double gphi)
{
    const tg_model *m = r->m;
    double sign = c->side == 0 ? 1 : -1;
    if (m->joint_type[c->index] == TG_JOINT_BALL)
        ball_limit_reverse(r, c->index, f, gphi);
    else
        r->g.q[m->joint_dof[c->index]] += sign * gphi;
    if (r->g.params == NULL)
        return;
    r->g.params[m->offset.joint_range + 2 * c->index + c->side] -= sign * gphi;
    r->g.params[m->offset.joint_margin + c->index] -= gphi;
}

static void tendon_limit_reverse(const reverse *r, const tg_constraint *c, double f, double gphi)
{
    const tg_model *m = r->m;
    double sign = c->side == 0 ? 1 : -1;
    tendon_reverse(r, c->index, sign * gphi, sign * f);
    if (r->g.params == NULL)
        return;
    r->g.params[m->offset.tendon_range + 2 * c->index + c->side] -= sign * gphi;
    r->g.params[m->offset.tendon_margin + c->index] -= gphi;
}

/* ---- all ---- */

static bool is_zero(const double *x, int n)
{
    for (int i = 0; i < n && x != NULL; i++)
        if (x[i] != 0)
            return false;
    return true;
}

static void constraint_reverse(const reverse *r, const tg_constraint *c, const double *f, const double *gphi)
{
    double error = gphi != NULL ? gphi[0] : 0;
    switch (c->source)
    {
    case TG_SOURCE_EQUALITY:
        if (c->bond >= 0)
            bond_reverse(r, c, f, gphi);
        else
            coupling_reverse(r, c, f[0], error);
        break;
    case TG_SOURCE_TENDON_FRICTION:
        tendon_reverse(r, c->index, 0, f[0]);
        break;
    case TG_SOURCE_JOINT_LIMIT:
        joint_limit_reverse(r, c, f[0], error);
        break;
    case TG_SOURCE_TENDON_LIMIT:
        tendon_limit_reverse(r, c, f[0], error);
        break;
    default: /* TG_SOURCE_JOINT_FRICTION: a constant row */
        break;
    }
}

static bool acts(const reverse *r, const tg_constraint *c, const double *gphi)
{
    bool zero = gphi == NULL || is_zero(gphi, c->rows);
    for (int i = 0; i < r->terms && zero; i++)
        zero = is_zero(r->term[i].f + c->row, c->rows);
    return c->parts > 0 && !zero;
}

void tg_rows_reverse(const tg_model *m, tg_work *w, const double *q, const tg_row_term *term, int terms,
                     const double *gphi, const double *touch, double dt, double *gdt, tg_gradient g)
{
    const tg_rows *rows = w->rows;
    reverse all = {m, w, q, term, terms, touch, dt, gdt, g};
    for (int i = 0; i < rows->nconstraint; i++)
    {
        const tg_constraint *c = &rows->constraint[i];
        const double *own = gphi != NULL ? gphi + c->row : NULL;
        if (!acts(&all, c, own) && !(touch != NULL && c->source == TG_SOURCE_CONTACT))
            continue;
        if (c->source == TG_SOURCE_CONTACT)
        {
            touch_reverse(&all, &rows->touch[c->index], c->row, own != NULL ? own[0] : 0);
            continue;
        }
        for (int k = 0; k < terms && term[k].field != TG_ROW_FIELD_V; k++)
        {
            reverse one = {m, w, q, &term[k], 1, NULL, dt, gdt, g};
            constraint_reverse(&one, c, term[k].f + c->row, k == 0 ? own : NULL);
        }
    }
}
