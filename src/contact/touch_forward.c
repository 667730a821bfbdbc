/* Derivatives of a contact's rows and forces as matrices.
 *
 * The contact's frame (point, normal; tangents by tg_touch_spin) follows unit displacements of the two bodies at the
 * contact point: that of the first as a rigid body, and further by what their relative displacement does to it
 * (collision/narrow_deriv.h). A row along axis a with relative velocities u, o of a field changes by
 *     a . (o x dp) + dtheta . (a x u)   and   dtheta . (a x o)   (linear and angular rows)
 * beside the changes of the twists; the force (F, tau) on a body by dtheta x F and dtheta x tau + dp x F, dtheta and dp
 * seen from the body, as the rest turns with it. */
#include <math.h>

#include "collision/narrow_deriv.h"
#include "collision/polytope.h"
#include "contact/rows_forward.h"
#include "contact/rows_lanes.h"
#include "tangere/algebra.h"

/* How the frame follows the six units of a twist. */
typedef struct frame_motion
{
    v4 point[TWIST], turn[TWIST];
    double gap[TWIST];
} frame_motion;

typedef struct forward
{
    const tg_model *m;
    tg_work *w;
    const tg_rows_forward *d;
    const tg_touch *t;
    const tg_constraint *c;
    int node[2];
    v4 arm[2];             /* of the contact point, from the origins of the trees */
    frame_motion moved[2]; /* by displacements of the bodies */
    frame_motion rate[2];  /* by their velocities at the start of the step: points ahead only */
    bool ahead;
} forward;

/* ---- the frame ---- */

static void add_motion(frame_motion *f, int i, v4 n, tg_point_motion motion)
{
    f->point[i] += motion.point;
    f->turn[i] += v4_cross(n, motion.normal);
    f->gap[i] += motion.distance;
}

/* the first geom takes the frame along, and the difference of the two displaces it further */
static void frame_by_twists(forward *x)
{
    v4 n = x->t->at.normal;
    tg_point_motion motion[TWIST];
    tg_motion_by_units(&x->t->at, motion);
    for (int side = 0; side < 2; side++)
    {
        frame_motion *f = &x->moved[side];
        double sign = side == 0 ? -1 : 1;
        for (int i = 0; i < TWIST && x->node[side] != 0; i++)
        {
            v4 e = v4_unit_vector(i % DIM), along = side == 0 ? e : v4_zero();
            v4 turn = v4_cross(n, motion[i].normal) * v4_splat(sign), point = motion[i].point * v4_splat(sign);
            f->point[i] = i < DIM ? along + point : point;
            f->turn[i] = i < DIM ? turn : along - n * v4_splat(v4_dot(n, along)) + turn;
            f->gap[i] = sign * motion[i].distance;
        }
    }
}

/* Where a geom will be, x' = x + dt v, R' = E R, E = Exp(dt w), beyond a displacement Z of it as a field:
 *     turn'  = dt Jl(dt w) dw + (E - 1) Z_ang,   shift' = dt (dv + w x Z(x)) - Z_ang x (x' - x)   at x'. */
typedef struct course
{
    v4 x, then, w; /* relative to the contact point; spin */
    mat3 E, Jl;    /* Jl times dt */
    double dt;
} course;

static course course_of(const forward *x, const tg_query *query, int which)
{
    tg_placed then = tg_advanced(query, which);
    double dt = x->d->settings->dt;
    vec3 angle;
    mat33 J;
    v4 p = x->t->at.point, w = query->spin[which];
    course c = {.x = query->shape[which].x - p, .then = then.x - p, .w = w, .dt = dt};
    c.E = mat3_product(then.R, mat3_transpose(query->shape[which].R));
    v4_store3(angle, dt * w);
    tg_so3_left_jacobian(angle, J);
    c.Jl = mat3_from_rows(dt, J);
    return c;
}

static void frame_by_course(forward *x)
{
    v4 n = x->t->at.normal;
    memset(x->rate, 0, sizeof x->rate);
    tg_query query;
    tg_touch_query(x->m, x->w, x->t->pair, x->d->settings->dt, 0, &query);
    for (int k = 0; k < 2; k++)
    {
        if (x->node[k] == 0)
            continue;
        course c = course_of(x, &query, k);
        for (int i = 0; i < TWIST; i++)
        {
            v4 e = v4_unit_vector(i % DIM), at = i < DIM ? e : v4_cross(e, c.x), zero = v4_zero();
            v4 turn = i < DIM ? zero : mat3_mul(c.E, e) - e;
            v4 shift = v4_splat(c.dt) * v4_cross(c.w, at) - (i < DIM ? zero : v4_cross(e, c.then - c.x));
            shift -= v4_cross(turn, c.then);
            add_motion(&x->moved[k], i, n, tg_motion_by_course(&x->t->at, k, shift, turn));
            turn = i < DIM ? zero : mat3_mul(c.Jl, e);
            shift = v4_splat(c.dt) * at - v4_cross(turn, c.then);
            add_motion(&x->rate[k], i, n, tg_motion_by_course(&x->t->at, k, shift, turn));
        }
    }
}

/* n and its rotations are known: the rotations of the frame about n */
static void add_spin(const forward *x, frame_motion *f)
{
    v4 n = x->t->at.normal, spin = v4_cross(n, tg_touch_spin(x->w->rows, n));
    for (int i = 0; i < TWIST; i++)
        f->turn[i] += n * v4_splat(v4_dot(spin, f->turn[i]));
}

/* ---- rows ---- */

/* Up to four rows in a velocity field: their wrenches on the second body, at the contact point, and what point, turn
 * and gap of the frame do to them. */
typedef struct row_batch
{
    tg_row_lanes W;
    tg_lanes3 point, turn;
    v4 gap;
} row_batch;

static spatial twist_here(const forward *x, const tg_twists *field, int side)
{
    spatial T = spatial_load(field->node + SPATIAL_SIZE * x->node[side]);
    return (spatial){twist_at(T, x->arm[side]), T.ang};
}

/* rows first .. first + 3, times the weights */
static row_batch batch_of(const forward *x, const tg_twists *field, int first, const double weight[V4_LANES])
{
    const tg_bond *b = &x->t->bond;
    spatial T = spatial_sub(twist_here(x, field, 1), twist_here(x, field, 0));
    v4 lin[V4_LANES], ang[V4_LANES];
    for (int i = 0; i < V4_LANES; i++)
    {
        int row = first + i;
        v4 factor = v4_splat(weight[i]);
        lin[i] = row < b->linear ? factor * b->axis[row] : v4_zero();
        ang[i] = row >= b->linear && row < b->linear + b->angular ? factor * b->axis[row - b->linear] : v4_zero();
    }
    row_batch out = {.gap = v4_zero()};
    out.W.lin = tg_lanes3_of(lin);
    out.W.ang = tg_lanes3_of(ang);
    out.point = tg_lanes3_scale(tg_lanes3_cross(T.ang, out.W.lin), -1);
    out.turn = tg_lanes3_scale(mat3_add(tg_lanes3_cross(T.lin, out.W.lin), tg_lanes3_cross(T.ang, out.W.ang)), -1);
    return out;
}

/* covectors of the twist behind a motion of the frame */
static tg_row_lanes pull_back(const row_batch *b, const frame_motion *f)
{
    tg_row_lanes out;
    for (int i = 0; i < TWIST; i++)
    {
        v4 sum = mat3_mul(b->point, f->point[i]) + mat3_mul(b->turn, f->turn[i]) + b->gap * v4_splat(f->gap[i]);
        *(i < DIM ? &out.lin.c[i] : &out.ang.c[i - DIM]) = sum;
    }
    return out;
}

/* What one side does to a batch: covectors, at the origin, of J_k; of the change of the field's twists; and of the
 * change of the twists at the start. */
typedef struct side_lanes
{
    tg_row_lanes moved, twist, rate;
} side_lanes;

static side_lanes side_of(const forward *x, const tg_twists *field, const row_batch *b, int side)
{
    side_lanes s;
    tg_row_lanes W = tg_row_lanes_scale(b->W, side == 0 ? -1 : 1);
    s.moved = tg_row_lanes_add(pull_back(b, &x->moved[side]), tg_row_lanes_cross(twist_here(x, field, side), W));
    if (x->ahead)
    {
        s.rate = pull_back(b, &x->rate[side]);
        s.moved = tg_row_lanes_add(s.moved, tg_row_lanes_cross(twist_here(x, &x->d->start, side), s.rate));
        s.rate = tg_row_lanes_shift(s.rate, x->arm[side]);
    }
    s.moved = tg_row_lanes_shift(s.moved, x->arm[side]);
    s.twist = tg_row_lanes_shift(W, x->arm[side]);
    return s;
}

static void add_batch(const forward *x, const tg_twists *field, const row_batch *b, int first, double *out_q,
                      double *out_v)
{
    const tg_rows_forward *d = x->d;
    int row = x->c->row + first;
    for (int side = 0; side < 2; side++)
    {
        if (x->node[side] == 0)
            continue;
        side_lanes s = side_of(x, field, b, side);
        tg_add_row_lanes(x->m, x->node[side], &s.moved, x->w->J, out_q + row, d->ld);
        tg_add_row_lanes(x->m, x->node[side], &s.twist, field->along, out_q + row, d->ld);
        if (!x->ahead)
            continue;
        tg_add_row_lanes(x->m, x->node[side], &s.rate, d->start.along, out_q + row, d->ld);
        tg_add_row_lanes(x->m, x->node[side], &s.rate, x->w->J, out_v + row, d->ld);
    }
}

/* b_N follows the velocity at the start: slope J_N v */
static void add_start(const forward *x, double slope)
{
    const tg_rows_forward *d = x->d;
    row_batch b = batch_of(x, &d->start, 0, (const double[V4_LANES]){slope});
    add_batch(x, &d->start, &b, 0, d->sigma_q, d->sigma_v);
    for (int side = 0; side < 2; side++)
    {
        tg_row_lanes W = tg_row_lanes_shift(tg_row_lanes_scale(b.W, side == 0 ? -1 : 1), x->arm[side]);
        if (x->node[side] != 0)
            tg_add_row_lanes(x->m, x->node[side], &W, x->w->J, d->sigma_v + x->c->row, d->ld);
    }
}

static void contact_rows(const forward *x, tg_bias_slope slope)
{
    const tg_rows_forward *d = x->d;
    static const double ones[V4_LANES] = {1, 1, 1, 1};
    for (int first = 0; first < x->c->rows; first += V4_LANES)
    {
        row_batch b = batch_of(x, &d->next, first, ones);
        if (first == 0)
            b.gap[0] = slope.gap;
        add_batch(x, &d->next, &b, first, d->sigma_q, d->sigma_v);
        if (d->spread.x == NULL)
            continue;
        b = batch_of(x, &d->spread, first, ones);
        add_batch(x, &d->spread, &b, first, d->spread_q, d->spread_v);
    }
    if (slope.start != 0)
        add_start(x, slope.start);
}

/* ---- friction that follows the slip ---- */

/* mu = mu_s (k + (1 - k) E), E = exp(-(slip / v_s)^2), slip = |J_T v| */
static double friction_slope(const tg_params *p, const tg_touch *t)
{
    double kinetic = tg_law_number(p, &t->law, t->law.kinetic), mu = tg_law_number(p, &t->law, t->law.friction[0]);
    double scale = tg_law_number(p, &t->law, t->law.slip_speed), ratio = t->slip / scale;
    return -mu * (1 - kinetic) * exp(-ratio * ratio) * 2 * ratio / scale;
}

static void add_powers(const tg_model *m, int node, const tg_row_lanes *f, const double *x, double *out)
{
    for (int k = tg_last_dof(m, node); k >= 0; k = m->dof_parent[k])
        out[k] += v4_sum(tg_row_lanes_power(f, x + SPATIAL_SIZE * k));
}

static void contact_friction(const forward *x, int block)
{
    const tg_rows_forward *d = x->d;
    const tg_touch *t = x->t;
    int nv = x->m->nv;
    if (x->c->rows < DIM || t->slip == 0 || tg_law_number(x->w->params, &t->law, t->law.kinetic) == 1)
        return;
    double *by_q = d->friction + 2 * (size_t)nv * (size_t)block, *by_v = by_q + nv,
           slope = friction_slope(x->w->params, t);
    const double *speed = x->w->rows->speed + x->c->row;
    row_batch b = batch_of(x, &d->start, 0,
                           (const double[V4_LANES]){0, slope * speed[1] / t->slip, slope * speed[2] / t->slip, 0});
    d->slipping[block] = true;
    memset(by_q, 0, sizeof(double) * 2 * (size_t)nv);
    for (int side = 0; side < 2; side++)
    {
        if (x->node[side] == 0)
            continue;
        side_lanes s = side_of(x, &d->start, &b, side);
        add_powers(x->m, x->node[side], &s.moved, x->w->J, by_q);
        add_powers(x->m, x->node[side], &s.twist, d->start.along, by_q);
        add_powers(x->m, x->node[side], &s.twist, x->w->J, by_v);
        if (!x->ahead)
            continue;
        add_powers(x->m, x->node[side], &s.rate, d->start.along, by_q);
        add_powers(x->m, x->node[side], &s.rate, x->w->J, by_v);
    }
}

/* ---- forces ---- */

static void combine_force(const forward *x, v4 *F, v4 *torque)
{
    const tg_bond *b = &x->t->bond;
    const double *L = x->w->rows->L + x->c->row;
    double scale = 1 / x->d->settings->dt;
    *F = *torque = v4_zero();
    for (int i = 0; i < b->linear; i++)
        *F += b->axis[i] * v4_splat(scale * L[i]);
    for (int i = 0; i < b->angular; i++)
        *torque += b->axis[i] * v4_splat(scale * L[b->linear + i]);
}

/* columns for unit twists at the contact point as columns for unit twists at the origin, arm the contact point seen
 * from there: what is at the contact point moves by lin + ang x arm */
static void from_origin(tg_stiffness *K, v4 arm)
{
    for (int i = 0; i < DIM; i++)
    {
        v4 shift = v4_cross(v4_unit_vector(i), arm);
        for (int j = 0; j < DIM; j++)
            K->column[DIM + i] = spatial_axpy(K->column[DIM + i], shift[j], K->column[j]);
    }
}

/* The change of the force on side a by motions of the frame that unit twists of side b cause; own: less what moves with
 * side a itself. */
static tg_stiffness force_motion(const forward *x, const frame_motion *f, int a, int b, bool own, v4 F, v4 torque)
{
    tg_stiffness K;
    double sign = a == 0 ? -1 : 1;
    for (int i = 0; i < TWIST; i++)
    {
        v4 unit = own ? v4_unit_vector(i % DIM) : v4_zero();
        v4 turn = i < DIM ? f->turn[i] : f->turn[i] - unit, point = i < DIM ? f->point[i] - unit : f->point[i];
        v4 lin = v4_cross(turn, F), ang = v4_cross(turn, torque) + v4_cross(point, F) + v4_cross(x->arm[a], lin);
        K.column[i] = spatial_scale((spatial){lin, ang}, sign);
    }
    from_origin(&K, x->arm[b]);
    return K;
}

/* K (-V x Z), V the twist of the node at the start */
static void add_turned(const forward *x, int side, const tg_stiffness *rate, tg_stiffness *K)
{
    spatial V = spatial_load(x->d->start.node + SPATIAL_SIZE * x->node[side]);
    for (int i = 0; i < TWIST; i++)
    {
        v4 e = v4_unit_vector(i % DIM), zero = v4_zero();
        spatial turned = motion_cross(V, i < DIM ? (spatial){e, zero} : (spatial){zero, e});
        K->column[i] = spatial_sub(K->column[i], tg_stiffness_mul(rate, turned));
    }
}

static void contact_force(const forward *x)
{
    const tg_rows_forward *d = x->d;
    v4 F, torque;
    combine_force(x, &F, &torque);
    for (int a = 0; a < 2; a++)
    {
        if (x->node[a] == 0)
            continue;
        spatial W = {F, torque + v4_cross(x->arm[a], F)};
        tg_take_wrench(x->m, x->w, x->node[a], spatial_scale(W, a == 0 ? -1 : 1));
        for (int b = 0; b < 2; b++)
        {
            if (x->node[b] == 0)
                continue;
            tg_stiffness K = force_motion(x, &x->moved[b], a, b, a == b, F, torque);
            if (x->ahead)
            {
                tg_stiffness rate = force_motion(x, &x->rate[b], a, b, false, F, torque);
                add_turned(x, b, &rate, &K);
                tg_add_stiffness(x->m, x->w, x->node[a], x->node[b], &rate, d->start.along, d->force_q);
                tg_add_stiffness(x->m, x->w, x->node[a], x->node[b], &rate, x->w->J, d->force_v);
            }
            if (x->node[a] == x->node[b])
                tg_stiffness_add(&d->stiffness[x->node[a]], &K);
            else
                tg_add_stiffness(x->m, x->w, x->node[a], x->node[b], &K, x->w->J, d->force_q);
        }
    }
}

void tg_touch_derivatives(const tg_model *m, tg_work *w, const tg_rows_forward *d, const tg_rows_island *island,
                          int block)
{
    const tg_rows *r = w->rows;
    const tg_constraint *c = &r->constraint[r->order[block]];
    const tg_touch *t = &r->touch[c->index];
    forward x; /* motions of the frame are large, and filled on request */
    x.m = m;
    x.w = w;
    x.d = d;
    x.t = t;
    x.c = c;
    x.ahead = tg_has_course(&t->at);
    for (int k = 0; k < 2; k++)
    {
        x.node[k] = m->body_node[t->bond.body[k]];
        x.arm[k] = t->at.point - tg_node_origin(m, w, x.node[k]);
    }
    if (t->law.given != NULL) /* stays where it is */
        memset(x.moved, 0, sizeof x.moved);
    else
        frame_by_twists(&x);
    if (x.ahead)
        frame_by_course(&x);
    for (int k = 0; k < 2 && r->spins; k++)
    {
        if (x.node[k] != 0)
            add_spin(&x, &x.moved[k]);
        if (x.node[k] != 0 && x.ahead)
            add_spin(&x, &x.rate[k]);
    }
    contact_force(&x);
    contact_rows(&x, tg_contact_bias_slope(w->params, d->settings, island, t, r->problem));
    contact_friction(&x, block);
}
