/* Rows, laws and forces of constraints along a change of parameters and dt.
 *
 * The frame of a contact (point, normal; tangents by tg_touch_spin) follows its two geoms: the first as a rigid body,
 * and further by what their relative displacement, their sizes and, for points ahead, their velocities do to it
 * (collision/narrow_deriv.h). A row along axis a with relative velocities u, o changes by
 *     a . (du + o x dp) + dtheta . (a x u)   and   a . do + dtheta . (a x o)   (linear and angular rows),
 * du and do of the twists at the point as it was; a force F at the point by dtheta x F there, and by dp x F. */
#include "contact/rows_change.h"

#include <math.h>

#include "collision/narrow_deriv.h"
#include "collision/polytope.h"
#include "contact/collide.h"
#include "dynamics/tendon.h"
#include "model/params.h"
#include "model/reference.h"
#include "tangere/algebra.h"

typedef struct forward
{
    const tg_model *m;
    tg_work *w;
    const double *q;
    const tg_rows_change *d;
    const tg_rows_island *island;
    const tg_constraint *c;
    int block;
    bool own; /* numbers of geoms and their pairs change */
    int geom; /* of this one alone; -1: of any */
} forward;

/* how a frame moves */
typedef struct frame_change
{
    v4 point, turn;
    double gap;
} frame_change;

static double of_param(const forward *x, int index)
{
    return x->d->c->params != NULL && index >= 0 ? x->d->c->params[index] : 0;
}

/* the change of a number of a contact's law */
static double of_law(const forward *x, const tg_law *law, int index)
{
    if (law->given != NULL)
        return index >= 0 ? law->given->change[TG_GIVEN_LAW + index] : 0;
    return of_param(x, index);
}

static v4 from_origin(const forward *x, int body, v4 point)
{
    return point - tg_node_origin(x->m, x->w, x->m->body_node[body]);
}

/* the change of the relative twist of two bodies at a point that stays; and that twist itself */
static spatial relative(const forward *x, const double *twists, const int body[2], v4 point)
{
    spatial T[2];
    for (int k = 0; k < 2; k++)
    {
        T[k] = spatial_load(twists + SPATIAL_SIZE * x->m->body_node[body[k]]);
        T[k].lin = twist_at(T[k], from_origin(x, body[k], point));
    }
    return spatial_sub(T[1], T[0]);
}

/* rows of a bond in a field, added to out */
static void bond_rows(const forward *x, const tg_bond *b, const tg_field_change *field, frame_change f, double *out)
{
    spatial T = relative(x, field->node, b->body, b->point), dT = spatial_zero();
    if (x->d->c->moves)
        dT = relative(x, field->change, b->body, b->point);
    v4 lin = dT.lin + v4_cross(T.ang, f.point) + v4_cross(T.lin, f.turn);
    v4 ang = dT.ang + v4_cross(T.ang, f.turn);
    for (int i = 0; i < b->linear; i++)
        out[i] += v4_dot(b->axis[i], lin);
    for (int i = 0; i < b->angular; i++)
        out[b->linear + i] += v4_dot(b->axis[i], ang);
}

/* the force on the two bodies, at the bond's point */
static void bond_force(const forward *x, const tg_bond *b, frame_change f)
{
    const double *L = x->w->rows->L + x->c->row;
    double scale = 1 / x->d->settings->dt;
    v4 F = v4_zero(), torque = v4_zero();
    for (int i = 0; i < b->linear; i++)
        F += b->axis[i] * v4_splat(scale * L[i]);
    for (int i = 0; i < b->angular; i++)
        torque += b->axis[i] * v4_splat(scale * L[b->linear + i]);
    v4 dF = v4_cross(f.turn, F), moment = v4_cross(f.turn, torque) + v4_cross(f.point, F);
    x->d->c->pushes = true;
    for (int k = 0; k < 2; k++)
    {
        int node = x->m->body_node[b->body[k]];
        if (node == 0)
            continue;
        double *sum = x->d->c->dF + SPATIAL_SIZE * node;
        spatial W = {dF, moment + v4_cross(from_origin(x, b->body[k], b->point), dF)};
        spatial_store(sum, spatial_axpy(spatial_load(sum), k == 0 ? 1 : -1, W));
    }
}

/* ---- contacts ---- */

/* the twist of a geom's displacement, at the contact point */
static spatial displaced_geom(const forward *x, const tg_touch *t, int which)
{
    const tg_model *m = x->m;
    const tg_change *c = x->d->c;
    int geom = which == 0 ? t->pair.first : t->pair.second, body = m->geom_body[geom];
    spatial Z = tg_displacement(c, body);
    spatial at = {twist_at(Z, from_origin(x, body, t->at.point)), Z.ang};
    if (!tg_changes(c, m->offset.geom_pos, TG_PARAM_INDEX(m, geom_quat, m->ngeom) - m->offset.geom_pos))
        return at;
    mat3 R = tg_body_rotation(x->w, body);
    v4 turn = mat3_mul(R, tg_quaternion_turn(TG_PARAM_OF(x->w->params, geom_quat, geom),
                                             c->params + TG_PARAM_INDEX(m, geom_quat, geom)));
    v4 centre = tg_body_point(x->w, body, TG_PARAM_OF(x->w->params, geom_pos, geom));
    at.lin += mat3_mul_mem(R, c->params + TG_PARAM_INDEX(m, geom_pos, geom)) + v4_cross(turn, t->at.point - centre);
    at.ang += turn;
    return at;
}

static void add_motion(frame_change *f, v4 n, double factor, tg_point_motion motion)
{
    f->point += motion.point * v4_splat(factor);
    f->turn += v4_cross(n, motion.normal) * v4_splat(factor);
    f->gap += motion.distance * factor;
}

/* sizes of a geom: some move the geom's surface at the contact as a displacement of the geom would */
static void add_sizes(const forward *x, const tg_touch *t, int which, const tg_query *query, spatial *Z,
                      frame_change *f)
{
    const tg_model *m = x->m;
    const tg_contact_point *c = &t->at;
    int geom = which == 0 ? t->pair.first : t->pair.second;
    bool plain = c->kind != TG_POINT_WITNESS || tg_has_course(c) || c->surface[which].flat > 0;
    double side = which == 0 ? -0.5 : 0.5;
    v4 outward = which == 0 ? c->normal : -c->normal, at = c->point + c->normal * v4_splat(side * c->distance);
    for (int k = 0; k < tg_size_count(m->geom_type[geom]); k++)
    {
        double d = of_param(x, tg_size_index(m, geom) + k);
        if (d == 0)
            continue;
        if (plain)
            add_motion(f, c->normal, d, tg_motion_by_size(query, c, which, k));
        else
            Z->lin += tg_size_shift(&query->shape[which], at, outward, k) * v4_splat(d);
    }
}

/* Where geom `which` will be, x' = x + dt v, R' = Exp(dt w) R, beyond its displacement Z as a field (touch_forward.c).
 */
static void add_course(const forward *x, const tg_touch *t, int which, const tg_query *query, spatial Z,
                       frame_change *f)
{
    int body = t->bond.body[which];
    double dt = x->d->settings->dt, by_dt = x->d->c->dt;
    vec3 angle;
    mat33 J;
    tg_placed then = tg_advanced(query, which);
    v4 p = t->at.point, w = query->spin[which], here = query->shape[which].x - p, there = then.x - p;
    spatial dV = tg_twist_change(x->d->c, x->d->start.change, x->m->body_node[body]);
    v4 dv = twist_at(dV, from_origin(x, body, query->shape[which].x)), at = Z.lin + v4_cross(Z.ang, here);
    v4_store3(angle, dt * w);
    tg_so3_left_jacobian(angle, J);
    v4 turn = mat3_mul(then.R, mat3_mul_t(query->shape[which].R, Z.ang)) - Z.ang + w * v4_splat(by_dt);
    turn += dt * mat3_mul(mat3_from_rows(1, J), dV.ang);
    v4 shift = v4_splat(dt) * (dv + v4_cross(w, at)) - v4_cross(Z.ang, there - here) +
               query->velocity[which] * v4_splat(by_dt) - v4_cross(turn, there);
    add_motion(f, t->at.normal, 1, tg_motion_by_course(&t->at, which, shift, turn));
}

/* of a contact from outside: as it is told */
static frame_change given_frame(const tg_touch *t)
{
    const double *change = t->law.given->change;
    return (frame_change){v4_load3(change), v4_cross(t->at.normal, v4_load3(change + TG_GIVEN_NORMAL)),
                          change[TG_GIVEN_GAP]};
}

static frame_change frame_of(const forward *x, const tg_touch *t)
{
    if (t->law.given != NULL)
        return given_frame(t);
    const tg_model *m = x->m;
    const tg_change *c = x->d->c;
    frame_change f = {v4_zero(), v4_zero(), 0};
    bool sizes = tg_changes(c, m->offset.geom_size, TG_SIZE_geom_size * m->ngeom) ||
                 tg_changes(c, m->offset.hfield_size, TG_SIZE_hfield_size * m->nhfield);
    bool course = tg_has_course(&t->at);
    v4 n = t->at.normal;
    tg_query query;
    if (course)
        tg_touch_query(m, x->w, t->pair, x->d->settings->dt, 0, &query);
    else if (sizes)
        tg_pair_query(x->w, t->pair, 0, &query);
    spatial Z[2] = {displaced_geom(x, t, 0), displaced_geom(x, t, 1)};
    for (int k = 0; k < 2 && sizes; k++)
        add_sizes(x, t, k, &query, &Z[k], &f);
    for (int k = 0; k < 2 && course; k++)
        add_course(x, t, k, &query, Z[k], &f);
    f.point += Z[0].lin;
    f.turn += Z[0].ang - n * v4_splat(v4_dot(n, Z[0].ang));
    add_motion(&f, n, 1, tg_motion_by_twist(&t->at, Z[1].lin - Z[0].lin, Z[1].ang - Z[0].ang));
    return f;
}

/* mu = mu_s factor, factor = k + (1 - k) E, E = exp(-(slip / v_s)^2); speed: change of J v */
static void friction_change(const forward *x, const tg_touch *t, const double *speed)
{
    const tg_params *p = x->w->params;
    const tg_law *law = &t->law;
    double *mu = x->d->mu + TG_AXES * x->block, mu_s = tg_law_number(p, law, law->friction[0]);
    mu[0] = t->factor * of_law(x, law, law->friction[0]);
    mu[TG_AXIS_SPIN] = of_law(x, law, law->friction[1]);
    mu[TG_AXIS_ROLL] = mu[TG_AXIS_ROLL2] = of_law(x, law, law->friction[2]);
    if (t->slip > 0)
    {
        double kinetic = tg_law_number(p, law, law->kinetic), scale = tg_law_number(p, law, law->slip_speed);
        double ratio = t->slip / scale;
        double E = exp(-ratio * ratio), bend = (1 - kinetic) * E * 2 * ratio / scale;
        const double *now = x->w->rows->speed + x->c->row;
        double slip = (now[1] * speed[1] + now[2] * speed[2]) / t->slip;
        mu[0] +=
            mu_s * (of_law(x, law, law->kinetic) * (1 - E) + bend * (ratio * of_law(x, law, law->slip_speed) - slip));
    }
    mu[1] = mu[0];
}

/* Neither body is displaced, nor does a number of the contact change: nothing does. */
static bool is_untouched(const forward *x, const tg_touch *t)
{
    const tg_change *c = x->d->c;
    bool still = !c->moves || (c->still[t->bond.body[0]] && c->still[t->bond.body[1]]);
    bool own = x->own && (x->geom < 0 || x->geom == t->pair.first || x->geom == t->pair.second);
    return still && !own && c->dt == 0 && t->law.given == NULL;
}

static void contact_change(const forward *x)
{
    const tg_rows_change *d = x->d;
    const tg_touch *t = &x->w->rows->touch[x->c->index];
    double *sigma = d->sigma + x->c->row, dt = d->settings->dt, speed[TG_CONE_MAX] = {0};
    if (is_untouched(x, t))
        return;
    tg_bias_slope slope = tg_contact_bias_slope(x->w->params, d->settings, x->island, t, x->w->rows->problem);
    frame_change f = frame_of(x, t);
    v4 n = t->at.normal;
    f.turn += n * v4_splat(v4_dot(tg_touch_spin(x->w->rows, n), v4_cross(f.turn, n)));
    bond_force(x, &t->bond, f);
    bond_rows(x, &t->bond, &d->next, f, sigma);
    bond_rows(x, &t->bond, &d->start, f, speed);
    if (d->turn != NULL)
        bond_rows(x, &t->bond, &d->spread, f, d->turn + x->c->row);
    double gap = f.gap - of_law(x, &t->law, t->law.margin[0]) - of_law(x, &t->law, t->law.margin[1]);
    double L = x->w->rows->L[x->c->row], compliance = tg_law_compliance(x->w->params, &t->law);
    sigma[0] += slope.gap * gap + slope.dt * d->c->dt + slope.start * speed[0];
    sigma[0] += slope.restitution * of_law(x, &t->law, t->law.restitution);
    for (int k = 0; k < 2; k++)
        sigma[0] += L / (dt * dt) * of_law(x, &t->law, t->law.compliance[k]);
    sigma[0] -= 2 * L * compliance * d->c->dt / (dt * dt * dt);
    friction_change(x, t, speed);
}

/* ---- equalities between bodies ---- */

static void add_bias(const forward *x, int first, int n, const double *dphi)
{
    const double *phi = x->w->rows->phi + x->c->row + first;
    if (x->d->bare)
        return;
    mat33 S;
    double *sigma = x->d->sigma + x->c->row + first, ratio = x->d->c->dt / x->d->settings->dt;
    tg_equality_bias_slope(x->d->settings, x->island, tg_push_of(x->d->settings, x->c, first), n, phi, S);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            sigma[i] += S[n * i + j] * (dphi[j] - phi[j] * ratio);
}

/* three numbers of an equality's data, in the axes of a body; its anchor there */
static v4 moved_anchor(const forward *x, int body, v4 at, int first)
{
    spatial Z = tg_displacement(x->d->c, body);
    v4 moved = twist_at(Z, from_origin(x, body, at));
    if (x->d->c->params == NULL)
        return moved;
    const double *data = x->d->c->params + TG_PARAM_INDEX(x->m, equality_data, x->c->index);
    return moved + mat3_mul_mem(tg_body_rotation(x->w, body), data + first);
}

/* Phi = Log(R_2 (R_1 R_rel)^T): dPhi = Jl^-1 turn_2 - Jr^-1 turn_1 */
static void weld_turn(const forward *x, const tg_bond *b, vec3 dphi)
{
    mat33 Jl, Jr;
    v4 turn[2] = {tg_displacement(x->d->c, b->body[0]).ang, tg_displacement(x->d->c, b->body[1]).ang};
    int at = TG_PARAM_INDEX(x->m, equality_data, x->c->index) + TG_EQUALITY_QUAT;
    if (x->d->c->params != NULL)
        turn[0] += mat3_mul(tg_body_rotation(x->w, b->body[0]),
                            tg_quaternion_turn(x->w->params->value + at, x->d->c->params + at));
    tg_so3_left_jacobian_inverse(x->w->rows->phi + x->c->row + DIM, Jl);
    tg_so3_right_jacobian_inverse(x->w->rows->phi + x->c->row + DIM, Jr);
    v4_store3(dphi, mat3_mul(mat3_from_rows(1, Jl), turn[1]) - mat3_mul(mat3_from_rows(1, Jr), turn[0]));
}

/* whether neither numbers of equalities, nor what this one couples, nor dt change */
static bool is_at_rest(const forward *x, bool moved)
{
    const tg_change *c = x->d->c;
    const tg_param_offsets *at = &x->m->offset;
    return !moved && !c->pulls && c->dt == 0 &&
           !tg_changes(c, at->equality_data, at->pair_friction - at->equality_data);
}

static void bond_change(const forward *x)
{
    const tg_bond *b = &x->w->rows->bond[x->c->bond];
    const tg_change *change = x->d->c;
    if (is_at_rest(x, change->moves && !(change->still[b->body[0]] && change->still[b->body[1]])))
        return;
    bool weld = x->m->equality_type[x->c->index] == TG_EQUALITY_WELD;
    v4 anchor = moved_anchor(x, b->body[0], b->anchor, weld ? TG_EQUALITY_ANCHOR : 0);
    frame_change f = {moved_anchor(x, b->body[1], b->point, weld ? 0 : TG_EQUALITY_ANCHOR), v4_zero(), 0};
    vec3 dphi;
    bond_force(x, b, f);
    bond_rows(x, b, &x->d->next, f, x->d->sigma + x->c->row);
    if (x->d->turn != NULL)
        bond_rows(x, b, &x->d->spread, f, x->d->turn + x->c->row);
    v4_store3(dphi, f.point - anchor);
    add_bias(x, 0, DIM, dphi);
    if (b->angular == 0)
        return;
    weld_turn(x, b, dphi);
    add_bias(x, DIM, DIM, dphi);
}

/* ---- rows of dofs and tendons ---- */

/* factor times a tendon's moment as a row: its entries change */
static void tendon_row(const forward *x, int tendon, double factor)
{
    const tg_rows_change *d = x->d;
    if (!d->c->pulls)
        return;
    const double *moment = d->c->moment + (size_t)tendon * (size_t)x->m->nv;
    double force = factor * x->w->rows->L[x->c->row] / d->settings->dt;
    for (int k = 0; k < x->m->nv; k++)
    {
        d->sigma[x->c->row] += factor * moment[k] * d->next.x[k];
        d->c->force[k] += force * moment[k];
        if (d->turn != NULL)
            d->turn[x->c->row] += factor * moment[k] * d->spread.x[k];
    }
}

static double tendon_length(const forward *x, int tendon)
{
    return x->d->c->pulls ? x->d->c->length[tendon] : 0;
}

/* in the reference configuration */
static double reference_length(const forward *x, int tendon)
{
    const double *params = x->d->c->params;
    return params == NULL ? 0 : tg_reference_tendon_slope(x->w->params, tendon, params, 0, NULL);
}

/* e of a coupled joint or tendon */
static double coupled_error(const forward *x, bool tendon, int index)
{
    if (index < 0)
        return 0;
    return tendon ? tendon_length(x, index) - reference_length(x, index) : -of_param(x, x->m->offset.joint_ref + index);
}

/* the velocity of a coupled joint or tendon along y */
static double coupled_rate(const forward *x, bool tendon, int index, const double *y)
{
    return tendon ? tg_tendon_rate(x->m, x->w, index, y) : y[x->m->joint_dof[index]];
}

/* factor times the row of a joint or tendon is added to the coupling's */
static void add_coupled(const forward *x, bool tendon, int index, double factor)
{
    const tg_rows_change *d = x->d;
    double force = factor * x->w->rows->L[x->c->row] / d->settings->dt;
    d->sigma[x->c->row] += factor * coupled_rate(x, tendon, index, d->next.x);
    if (d->turn != NULL)
        d->turn[x->c->row] += factor * coupled_rate(x, tendon, index, d->spread.x);
    if (!tendon)
        d->c->force[x->m->joint_dof[index]] += force;
    for (int k = 0; k < x->m->nv && tendon; k++)
        d->c->force[k] += force * tg_tendon_moment(x->m, x->w, index)[k];
}

/* row = x_1 - p'(x) x_2, Phi = e_1 - p(e_2) for a polynomial p */
static void coupling_change(const forward *x)
{
    const tg_model *m = x->m;
    int at = TG_PARAM_INDEX(m, equality_data, x->c->index);
    bool tendon = m->equality_type[x->c->index] == TG_EQUALITY_TENDON;
    if (is_at_rest(x, x->d->c->moves || (tendon && x->d->c->params != NULL)))
        return;
    int first = m->equality_obj1[x->c->index], second = m->equality_obj2[x->c->index];
    tg_coupling k = tg_coupling_of(m, x->w, x->c->index, x->q);
    double e1 = coupled_error(x, tendon, first), e2 = coupled_error(x, tendon, second);
    double value = 0, slope = k.bend * e2, power = 1, below = 0;
    for (int i = 0; i < (second < 0 ? 1 : TG_COEFFICIENTS); i++)
    {
        value += of_param(x, at + i) * power;
        slope += of_param(x, at + i) * i * below;
        below = power;
        power *= k.x;
    }
    double dphi = e1 - value - (second < 0 ? 0 : k.slope * e2);
    add_bias(x, 0, 1, &dphi);
    if (tendon)
        tendon_row(x, first, 1);
    if (second < 0)
        return;
    if (tendon)
        tendon_row(x, second, -k.slope);
    add_coupled(x, tendon, second, -slope);
}

static void limit_change(const forward *x)
{
    const tg_model *m = x->m;
    bool tendon = x->c->source == TG_SOURCE_TENDON_LIMIT;
    double sign = x->c->side == 0 ? 1 : -1, phi = x->w->rows->phi[x->c->row];
    int range = (tendon ? m->offset.tendon_range : m->offset.joint_range) + 2 * x->c->index + x->c->side;
    int margin = (tendon ? m->offset.tendon_margin : m->offset.joint_margin) + x->c->index;
    if (!tg_changes(x->d->c, range, 1) && !tg_changes(x->d->c, margin, 1) && !x->d->c->pulls && x->d->c->dt == 0)
        return;
    double slope = tg_limit_bias_slope(x->d->settings, x->island, tg_push_of(x->d->settings, x->c, 0), phi);
    double dphi = -sign * of_param(x, range) - of_param(x, margin);
    if (tendon)
    {
        dphi += sign * tendon_length(x, x->c->index);
        tendon_row(x, x->c->index, sign);
    }
    x->d->sigma[x->c->row] += slope * (dphi - phi * x->d->c->dt / x->d->settings->dt);
}

static void dry_friction_change(const forward *x)
{
    const tg_model *m = x->m;
    bool tendon = x->c->source == TG_SOURCE_TENDON_FRICTION;
    int at =
        tendon ? m->offset.tendon_frictionloss + x->c->index : m->offset.joint_frictionloss + m->dof_joint[x->c->index];
    x->d->bound[x->block] = x->d->settings->dt * of_param(x, at) + x->d->c->dt * x->w->params->value[at];
    if (tendon)
        tendon_row(x, x->c->index, 1);
}

/* ---- all ---- */

static void equality_change(const forward *x)
{
    if (x->c->bond >= 0)
        bond_change(x);
    else
        coupling_change(x);
}

static void constraint_change(const forward *x)
{
    const tg_rows *r = x->w->rows;
    if (r->problem == TG_PROBLEM_FREE ? !tg_meets(r, x->island, x->c)
                                      : tg_mode_of(r, x->island, x->block)->mode == TG_MODE_BREAKING && !x->d->open)
        return;
    switch (x->c->source)
    {
    case TG_SOURCE_EQUALITY:
        equality_change(x);
        break;
    case TG_SOURCE_JOINT_FRICTION:
    case TG_SOURCE_TENDON_FRICTION:
        dry_friction_change(x);
        break;
    case TG_SOURCE_JOINT_LIMIT:
    case TG_SOURCE_TENDON_LIMIT:
        limit_change(x);
        break;
    default:
        contact_change(x);
        break;
    }
}

void tg_rows_changes(const tg_model *m, tg_work *w, const double *q, const tg_rows_change *d)
{
    const tg_rows *r = w->rows;
    const tg_param_offsets *at = &m->offset;
    bool own = tg_changes(d->c, at->geom_pos, at->site_pos - at->geom_pos) ||
               tg_changes(d->c, at->pair_friction, at->gravity_ - at->pair_friction);
    int geom = own && d->c->range.last == d->c->range.first + 1 ? tg_geom_of_param(m, d->c->range.first) : -1;
    memset(d->sigma, 0, sizeof(double) * (size_t)r->nrow);
    memset(d->mu, 0, sizeof(double) * TG_AXES * (size_t)r->nblock);
    memset(d->bound, 0, sizeof(double) * (size_t)r->nblock);
    if (d->turn != NULL)
        memset(d->turn, 0, sizeof(double) * (size_t)r->nrow);
    for (int i = 0; i < r->nisland; i++)
        for (int b = r->island[i].block; b < r->island[i].block + r->island[i].blocks; b++)
        {
            forward x = {m, w, q, d, &r->island[i], &r->constraint[r->order[b]], b, own, geom};
            constraint_change(&x);
        }
}

void tg_loops_changes(const tg_model *m, tg_work *w, const double *q, const tg_rows_change *d)
{
    const tg_rows *r = w->rows;
    memset(d->sigma, 0, sizeof(double) * (size_t)r->nrow);
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        const tg_rows_island *island = &r->island[r->tree_island[r->part[c->part].tree]];
        forward x = {m, w, q, d, island, c, b, false, -1};
        if (c->source == TG_SOURCE_EQUALITY && island->redundant > 0)
            equality_change(&x);
    }
}
