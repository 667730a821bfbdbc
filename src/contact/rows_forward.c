/* Derivatives of the rows as matrices.
 *
 * A row is the power of a wrench W on a body along the twists T of a velocity field. With Z the displacement of the
 * body,
 *     dT = (T_l x J) dq - T x Z,
 * and W changes by what the displacements of the two bodies do to the row's points and axes. So the derivative of a row
 * with respect to a dof k that moves the body is W . (T_l x J_k) + c . J_k with one covector c. The force of the rows
 * on a body, which turns with the body in the derivatives of inverse dynamics, changes beyond that by K Z, K 6 x 6. */
#include "contact/rows_forward.h"

#include <math.h>

#include "contact/rows_lanes.h"
#include "dynamics/tendon.h"
#include "tangere/algebra.h"

void tg_twists_along(const tg_model *m, const tg_work *w, const double *node, double *along)
{
    for (int i = 1; i < m->nnode; i++)
    {
        spatial parent = spatial_load(node + SPATIAL_SIZE * m->node_parent[i]);
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
            spatial_store(along + SPATIAL_SIZE * k, motion_cross(parent, spatial_load(w->J + SPATIAL_SIZE * k)));
    }
}

/* ---- forces that follow displacements ---- */

void tg_add_stiffness(const tg_model *m, const tg_work *w, int a, int b, const tg_stiffness *K, const double *x,
                      double *out)
{
    for (int k = tg_last_dof(m, b); k >= 0; k = m->dof_parent[k])
    {
        spatial W = tg_stiffness_mul(K, spatial_load(x + SPATIAL_SIZE * k));
        for (int j = tg_last_dof(m, a); j >= 0; j = m->dof_parent[j])
            out[(size_t)j * (size_t)m->nv + (size_t)k] += spatial_dot(spatial_load(w->J + SPATIAL_SIZE * j), W);
    }
}

tg_stiffness tg_fixed_force(v4 force, v4 torque, v4 point)
{
    tg_stiffness K = {0};
    for (int i = 0; i < DIM; i++)
    {
        v4 unit = v4_unit_vector(i), lin = v4_cross(force, unit);
        K.column[DIM + i] = (spatial){lin, v4_cross(torque, unit) + v4_cross(point, lin)};
    }
    return K;
}

void tg_take_wrench(const tg_model *m, tg_work *w, int node, spatial W)
{
    for (int i = node; i > 0; i = m->node_parent[i])
        spatial_store(w->F + SPATIAL_SIZE * i, spatial_sub(spatial_load(w->F + SPATIAL_SIZE * i), W));
}

/* ---- equalities between bodies ---- */

typedef struct forward
{
    const tg_model *m;
    tg_work *w;
    const double *q;
    const tg_rows_forward *d;
} forward;

static spatial twist_of(const forward *x, const tg_twists *field, const tg_bond *b, int side)
{
    return spatial_load(field->node + SPATIAL_SIZE * x->m->body_node[b->body[side]]);
}

/* The three linear or angular rows of one side, by its twists in a field; error: covectors of the body's displacement
 * at its own point. The bond's point is one of body 2: a . (o x dp), o the relative angular velocity. */
static void bond_side(const forward *x, const tg_constraint *c, const tg_bond *b, int side, bool angular,
                      const tg_twists *field, tg_row_lanes error, double *out)
{
    int node = x->m->body_node[b->body[side]];
    if (node == 0)
        return;
    v4 origin = tg_node_origin(x->m, x->w, node), r = b->point - origin;
    tg_lanes3 axes = tg_lanes3_scale(mat3_transpose((mat3){{b->axis[0], b->axis[1], b->axis[2]}}), side == 0 ? -1 : 1);
    tg_row_lanes W = {0};
    *(angular ? &W.ang : &W.lin) = axes;
    spatial T = twist_of(x, field, b, side), at = {twist_at(T, r), T.ang};
    tg_row_lanes displaced = tg_row_lanes_cross(at, W);
    if (!angular && side == 1)
    {
        v4 o = T.ang - twist_of(x, field, b, 0).ang;
        displaced.lin = mat3_add(displaced.lin, tg_lanes3_scale(tg_lanes3_cross(o, axes), -1));
    }
    displaced = tg_row_lanes_add(tg_row_lanes_shift(displaced, r),
                                 tg_row_lanes_shift(error, side == 0 ? b->anchor - origin : r));
    W = tg_row_lanes_shift(W, r);
    double *to = out + c->row + (angular ? b->linear : 0);
    tg_add_row_lanes(x->m, node, &displaced, x->w->J, to, x->d->ld);
    tg_add_row_lanes(x->m, node, &W, field->along, to, x->d->ld);
}

/* b = S Phi, Phi = point - anchor, or Log(R_2 (R_1 R_rel)^T) with dPhi = Jl^-1 turn_2 - Jr^-1 turn_1 */
static tg_row_lanes bias_lanes(const forward *x, const tg_rows_island *island, const tg_constraint *c, int side,
                               bool angular)
{
    tg_row_lanes out = {0};
    int first = angular ? DIM : 0;
    const double *phi = x->w->rows->phi + c->row + first;
    double sign = side == 0 ? -1 : 1;
    mat33 S, J;
    if (x->d->bare)
        return out;
    tg_equality_bias_slope(x->d->settings, island, tg_push_of(x->d->settings, c, first), DIM, phi, S);
    if (!angular)
    {
        out.lin = mat3_from_rows(sign, S);
        return out;
    }
    if (side == 0)
        tg_so3_right_jacobian_inverse(phi, J);
    else
        tg_so3_left_jacobian_inverse(phi, J);
    out.ang = mat3_product(mat3_from_rows(sign, S), mat3_from_rows(1, J));
    return out;
}

/* columns dp x F of unit twists, dp = lin + ang x r the displacement of a point */
static tg_stiffness moved_force(v4 F, v4 r)
{
    tg_stiffness K;
    for (int i = 0; i < TWIST; i++)
    {
        v4 unit = v4_unit_vector(i % DIM);
        K.column[i] = (spatial){v4_zero(), v4_cross(i < DIM ? unit : v4_cross(unit, r), F)};
    }
    return K;
}

/* body 1 feels its force at a point of body 2 */
static void anchor_force(const forward *x, const tg_bond *b, v4 F)
{
    int node = x->m->body_node[b->body[0]], other = x->m->body_node[b->body[1]];
    tg_stiffness K = moved_force(-F, b->point - tg_node_origin(x->m, x->w, node));
    tg_stiffness_add(&x->d->stiffness[node], &K);
    if (other == 0)
        return;
    K = moved_force(F, b->point - tg_node_origin(x->m, x->w, other));
    if (other == node)
        tg_stiffness_add(&x->d->stiffness[node], &K);
    else
        tg_add_stiffness(x->m, x->w, node, other, &K, x->w->J, x->d->force_q);
}

/* The force does not turn with the bodies, and stays at a point of body 2. */
static void bond_force(const forward *x, const tg_constraint *c, const tg_bond *b, int side)
{
    int node = x->m->body_node[b->body[side]];
    if (node == 0)
        return;
    const double *L = x->w->rows->L + c->row;
    double scale = (side == 0 ? -1 : 1) / x->d->settings->dt;
    v4 r = b->point - tg_node_origin(x->m, x->w, node), F = v4_zero(), torque = v4_zero();
    for (int i = 0; i < b->linear; i++)
        F += b->axis[i] * v4_splat(scale * L[i]);
    for (int i = 0; i < b->angular; i++)
        torque += b->axis[i] * v4_splat(scale * L[b->linear + i]);
    tg_take_wrench(x->m, x->w, node, (spatial){F, torque + v4_cross(r, F)});
    tg_stiffness K = tg_fixed_force(F, torque, r);
    tg_stiffness_add(&x->d->stiffness[node], &K);
    if (side == 0)
        anchor_force(x, b, F);
}

static void bond_derivatives(const forward *x, const tg_rows_island *island, const tg_constraint *c)
{
    const tg_bond *b = &x->w->rows->bond[c->bond];
    const tg_rows_forward *d = x->d;
    for (int side = 0; side < 2; side++)
    {
        bond_force(x, c, b, side);
        for (int angular = 0; angular < (b->angular > 0 ? 2 : 1); angular++)
        {
            bond_side(x, c, b, side, angular, &d->next, bias_lanes(x, island, c, side, angular), d->sigma_q);
            if (d->spread.x != NULL)
                bond_side(x, c, b, side, angular, &d->spread, (tg_row_lanes){0}, d->spread_q);
        }
    }
}

/* ---- rows of dofs and tendons ---- */

/* One row whose entries are d (value) / d q, in the sum factor times value, with the bias slope times value. */
typedef struct scalar_row
{
    int row;
    double factor, slope;
} scalar_row;

static double *entry(const forward *x, double *matrix, int dof, int row)
{
    return matrix + (size_t)dof * (size_t)x->d->ld + (size_t)row;
}

/* the Hessian H of the value in the place (i, j) */
static void add_hessian(const forward *x, const scalar_row *s, int i, int j, double H)
{
    const tg_rows_forward *d = x->d;
    double L = x->w->rows->L[s->row] / d->settings->dt;
    d->force_q[(size_t)i * (size_t)x->m->nv + (size_t)j] += s->factor * L * H;
    *entry(x, d->sigma_q, j, s->row) += s->factor * H * d->next.x[i];
    if (d->spread.x != NULL)
        *entry(x, d->spread_q, j, s->row) += s->factor * H * d->spread.x[i];
}

static void tendon_derivatives(const forward *x, const scalar_row *s, int tendon)
{
    const double *moment = tg_tendon_moment(x->m, x->w, tendon);
    int nv = x->m->nv;
    for (int k = 0; k < nv; k++)
        *entry(x, x->d->sigma_q, k, s->row) += s->slope * s->factor * moment[k];
    if (!tg_tendon_hessian(x->m, x->w, tendon))
        return;
    const int *dof = tg_tendon_dofs(x->m, tendon);
    for (int i = 0; i < x->m->tendon_ndof[tendon]; i++)
        for (int j = 0; j < x->m->tendon_ndof[tendon]; j++)
            add_hessian(x, s, dof[i], dof[j], x->w->hessian[(size_t)dof[i] * (size_t)nv + (size_t)dof[j]]);
}

/* row = x_1 - p'(x) x_2, Phi = e_1 - p(e_2): the second term has p''(x) times the gradient of x_2, squared */
static void coupling_derivatives(const forward *x, const tg_rows_island *island, const tg_constraint *c)
{
    const tg_model *m = x->m;
    int first = m->equality_obj1[c->index], second = m->equality_obj2[c->index];
    tg_coupling k = tg_coupling_of(m, x->w, c->index, x->q);
    double slope = 0;
    if (!x->d->bare)
        tg_equality_bias_slope(x->d->settings, island, tg_push_of(x->d->settings, c, 0), 1, x->w->rows->phi + c->row,
                               &slope);
    scalar_row one = {c->row, 1, slope}, two = {c->row, -k.slope, slope}, curved = {c->row, -k.bend, 0};
    if (m->equality_type[c->index] != TG_EQUALITY_TENDON)
    {
        *entry(x, x->d->sigma_q, m->joint_dof[first], c->row) += slope;
        if (second < 0)
            return;
        *entry(x, x->d->sigma_q, m->joint_dof[second], c->row) -= slope * k.slope;
        add_hessian(x, &curved, m->joint_dof[second], m->joint_dof[second], 1);
        return;
    }
    tendon_derivatives(x, &one, first);
    if (second < 0)
        return;
    tendon_derivatives(x, &two, second);
    const double *moment = tg_tendon_moment(m, x->w, second);
    for (int i = 0; i < m->nv && k.bend != 0; i++)
        for (int j = 0; j < m->nv; j++)
            add_hessian(x, &curved, i, j, moment[i] * moment[j]);
}

/* Phi = range - |Log q|, row -a . x, a = Log q / |Log q|: da = (1 - a a^T) / |Log q| Jr^-1 dq */
static void ball_limit_derivatives(const forward *x, const scalar_row *s, int joint)
{
    vec3 turn;
    mat33 J;
    double angle = tg_ball_turn(x->m, joint, x->q, turn);
    int dof = x->m->joint_dof[joint];
    tg_so3_right_jacobian_inverse(turn, J);
    for (int j = 0; j < DIM; j++)
    {
        double along = 0;
        for (int i = 0; i < DIM; i++)
            along += turn[i] / angle * J[DIM * i + j];
        *entry(x, x->d->sigma_q, dof + j, s->row) -= s->slope * along;
        for (int i = 0; i < DIM; i++)
            add_hessian(x, s, dof + i, dof + j, -(J[DIM * i + j] - turn[i] / angle * along) / angle);
    }
}

static void limit_derivatives(const forward *x, const tg_rows_island *island, const tg_constraint *c)
{
    double sign = c->side == 0 ? 1 : -1;
    scalar_row s = {
        c->row, sign,
        tg_limit_bias_slope(x->d->settings, island, tg_push_of(x->d->settings, c, 0), x->w->rows->phi[c->row])};
    if (c->source == TG_SOURCE_TENDON_LIMIT)
        tendon_derivatives(x, &s, c->index);
    else if (x->m->joint_type[c->index] == TG_JOINT_BALL)
        ball_limit_derivatives(x, &(scalar_row){c->row, 1, s.slope}, c->index);
    else
        *entry(x, x->d->sigma_q, x->m->joint_dof[c->index], c->row) += s.slope * sign;
}

/* ---- all ---- */

/* Of a step that is not solved, what breaks may have impulses all the same: they turn with the bodies. */
static bool does_nothing(const tg_rows *r, const tg_rows_island *island, const tg_constraint *c, int block)
{
    bool nothing = tg_mode_of(r, island, block)->mode == TG_MODE_BREAKING;
    for (int i = c->row; i < c->row + c->rows && nothing; i++)
        nothing = r->L[i] == 0;
    return nothing;
}

static void equality_derivatives(const forward *x, const tg_rows_island *island, const tg_constraint *c)
{
    if (c->bond >= 0)
        bond_derivatives(x, island, c);
    else
        coupling_derivatives(x, island, c);
}

static void constraint_derivatives(const forward *x, const tg_rows_island *island, int block)
{
    const tg_rows *r = x->w->rows;
    const tg_constraint *c = &r->constraint[r->order[block]];
    x->d->slipping[block] = false;
    if (r->problem == TG_PROBLEM_FREE ? !tg_meets(r, island, c) : !x->d->open && does_nothing(r, island, c, block))
        return;
    switch (c->source)
    {
    case TG_SOURCE_EQUALITY:
        equality_derivatives(x, island, c);
        break;
    case TG_SOURCE_TENDON_FRICTION:
        tendon_derivatives(x, &(scalar_row){c->row, 1, 0}, c->index);
        break;
    case TG_SOURCE_JOINT_LIMIT:
    case TG_SOURCE_TENDON_LIMIT:
        limit_derivatives(x, island, c);
        break;
    case TG_SOURCE_CONTACT:
        tg_touch_derivatives(x->m, x->w, x->d, island, block);
        break;
    default: /* TG_SOURCE_JOINT_FRICTION: a constant row */
        break;
    }
}

void tg_rows_derivatives(const tg_model *m, tg_work *w, const double *q, const tg_rows_forward *d)
{
    const tg_rows *r = w->rows;
    forward x = {m, w, q, d};
    for (int i = 0; i < r->nisland; i++)
        for (int b = r->island[i].block; b < r->island[i].block + r->island[i].blocks; b++)
            constraint_derivatives(&x, &r->island[i], b);
}

void tg_loops_derivatives(const tg_model *m, tg_work *w, const double *q, const tg_rows_forward *d)
{
    const tg_rows *r = w->rows;
    forward x = {m, w, q, d};
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        const tg_rows_island *island = &r->island[r->tree_island[r->part[c->part].tree]];
        if (c->source == TG_SOURCE_EQUALITY && island->redundant > 0)
            equality_derivatives(&x, island, c);
    }
}
