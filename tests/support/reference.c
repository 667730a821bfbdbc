#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct link
{
    tg_body_info info;
    const double *pos, *quat, *mass, *com, *inertia;
} link;

typedef struct hinge
{
    tg_joint_info info;
    const double *pos, *axis, *ref, *armature;
} hinge;

struct reference
{
    const tg_model *m;
    tg_sizes size;
    double *params;
    const double *gravity;
    link *body;
    hinge *joint;
};

/* ---- parameters ---- */

const double *reference_param(const reference *r, tg_element element, int index, const char *field)
{
    char name[100];
    int offset = 0;
    snprintf(name, sizeof name, "%s.#%d.%s", tg_element_string(element), index, field);
    tg_error error = {0};
    if (tg_param_find(r->m, name, &offset, NULL, &error) != TG_OK)
        fail_msg("%s", error.message);
    return r->params + offset;
}

reference *reference_create(const tg_model *m, const double *params)
{
    reference *r = calloc(1, sizeof *r);
    r->m = m;
    r->size = tg_model_sizes(m);
    r->params = malloc(sizeof(double) * (size_t)r->size.nparams);
    memcpy(r->params, params, sizeof(double) * (size_t)r->size.nparams);
    r->body = calloc((size_t)r->size.nbody, sizeof *r->body);
    r->joint = calloc((size_t)r->size.njoint + 1, sizeof *r->joint);
    for (int i = 0; i < r->size.nbody; i++)
    {
        assert_int_equal(tg_body_get(m, i, &r->body[i].info, NULL), TG_OK);
        r->body[i].pos = reference_param(r, TG_BODY, i, "pos");
        r->body[i].quat = reference_param(r, TG_BODY, i, "quat");
        r->body[i].mass = reference_param(r, TG_BODY, i, "mass");
        r->body[i].com = reference_param(r, TG_BODY, i, "com");
        r->body[i].inertia = reference_param(r, TG_BODY, i, "inertia");
    }
    for (int i = 0; i < r->size.njoint; i++)
    {
        assert_int_equal(tg_joint_get(m, i, &r->joint[i].info, NULL), TG_OK);
        r->joint[i].pos = reference_param(r, TG_JOINT, i, "pos");
        r->joint[i].axis = reference_param(r, TG_JOINT, i, "axis");
        r->joint[i].ref = reference_param(r, TG_JOINT, i, "ref");
        r->joint[i].armature = reference_param(r, TG_JOINT, i, "armature");
    }
    int offset = 0;
    assert_int_equal(tg_param_find(m, "gravity", &offset, NULL, NULL), TG_OK);
    r->gravity = r->params + offset;
    return r;
}

void reference_destroy(reference *r)
{
    free(r->params);
    free(r->body);
    free(r->joint);
    free(r);
}

/* ---- vectors and quaternions ---- */

static void cross(const real a[3], const real b[3], real out[3])
{
    real c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    memcpy(out, c, sizeof c);
}

static real dot(const real a[3], const real b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void add_scaled(real a[3], real s, const real b[3])
{
    for (int i = 0; i < 3; i++)
        a[i] += s * b[i];
}

static void widen(const double *a, int n, real *out)
{
    for (int i = 0; i < n; i++)
        out[i] = a != NULL ? a[i] : 0;
}

static void normalise(real *a, int n)
{
    real sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * a[i];
    for (int i = 0; i < n; i++)
        a[i] /= sqrtl(sum);
}

static void multiply(const real a[4], const real b[4], real out[4])
{
    real c[4] = {
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    };
    memcpy(out, c, sizeof c);
}

/* q (0, u) q^-1 */
static void rotate(const real q[4], const real u[3], real out[3])
{
    real p[4] = {0, u[0], u[1], u[2]}, inverse[4] = {q[0], -q[1], -q[2], -q[3]}, half[4], full[4];
    multiply(q, p, half);
    multiply(half, inverse, full);
    memcpy(out, full + 1, 3 * sizeof *out);
}

static void rotate_double(const real q[4], const double *u, real out[3])
{
    real wide[3];
    widen(u, 3, wide);
    rotate(q, wide, out);
}

/* ---- kinematics ---- */

/* velocity and acceleration of what is at arm from the origin of b, and turns with it */
static void carry(const reference_body *b, const real arm[3], real velocity[3], real acceleration[3])
{
    real swing[3], turn[3], centripetal[3];
    cross(b->omega, arm, swing);
    cross(b->alpha, arm, turn);
    cross(b->omega, swing, centripetal);
    for (int i = 0; i < 3; i++)
    {
        velocity[i] = b->velocity[i] + swing[i];
        acceleration[i] = b->acceleration[i] + turn[i] + centripetal[i];
    }
}

/* b's origin moves to arm from where it is, as a point of the same rigid body */
static void shift(reference_body *b, const real arm[3])
{
    reference_body before = *b;
    carry(&before, arm, b->velocity, b->acceleration);
    add_scaled(b->pos, 1, arm);
}

/* b starts to turn with spin relative to what it is now: omega' = omega + spin, alpha' = alpha + omega x spin + rate */
static void turn(reference_body *b, const real spin[3], const real rate[3])
{
    real gyro[3];
    cross(b->omega, spin, gyro);
    for (int i = 0; i < 3; i++)
    {
        b->omega[i] += spin[i];
        b->alpha[i] += gyro[i] + rate[i];
    }
}

static void cross_slide(const hinge *j, reference_body *b, real distance, real speed, real rate)
{
    real axis[3], offset[3] = {0}, coriolis[3];
    widen(j->axis, 3, axis);
    normalise(axis, 3);
    rotate(b->quat, axis, axis);
    add_scaled(offset, distance, axis);
    shift(b, offset);
    cross(b->omega, axis, coriolis);
    add_scaled(b->velocity, speed, axis);
    add_scaled(b->acceleration, rate, axis);
    add_scaled(b->acceleration, 2 * speed, coriolis);
}

/* The anchor stays where the body before the joint carries it; the body turns about it. */
static void cross_rotation(const hinge *j, reference_body *b, const real by[4], const real spin[3], const real rate[3])
{
    real arm[3], world_spin[3], world_rate[3];
    rotate_double(b->quat, j->pos, arm);
    shift(b, arm);
    multiply(b->quat, by, b->quat);
    rotate(b->quat, spin, world_spin);
    rotate(b->quat, rate, world_rate);
    turn(b, world_spin, world_rate);
    rotate_double(b->quat, j->pos, arm);
    for (int i = 0; i < 3; i++)
        arm[i] = -arm[i];
    shift(b, arm);
}

static void cross_hinge(const hinge *j, reference_body *b, double q, real v, real a)
{
    real axis[3], spin[3] = {0}, rate[3] = {0};
    widen(j->axis, 3, axis);
    normalise(axis, 3);
    add_scaled(spin, v, axis);
    add_scaled(rate, a, axis);
    double angle = q - *j->ref; /* rounded as a double: what a long angle means */
    real s = sinl((real)angle / 2), by[4] = {cosl((real)angle / 2), s * axis[0], s * axis[1], s * axis[2]};
    cross_rotation(j, b, by, spin, rate);
}

static void cross_ball(const hinge *j, reference_body *b, const double *q, const real v[3], const real a[3])
{
    real by[4];
    widen(q, 4, by);
    normalise(by, 4);
    cross_rotation(j, b, by, v, a);
}

static void set_free(reference_body *b, const double *q, const real v[6], const real a[6])
{
    widen(q, 3, b->pos);
    widen(q + 3, 4, b->quat);
    normalise(b->quat, 4);
    memcpy(b->velocity, v, sizeof b->velocity);
    memcpy(b->acceleration, a, sizeof b->acceleration);
    rotate(b->quat, v + 3, b->omega);
    rotate(b->quat, a + 3, b->alpha);
}

static void cross_joint(const hinge *j, reference_body *b, const double *q, const double *v, const double *a)
{
    static const int dofs[TG_JOINT_TYPE_COUNT] = {6, 3, 1, 1};
    real vj[6], aj[6];
    int n = dofs[j->info.type];
    widen(v != NULL ? v + j->info.dof : NULL, n, vj);
    widen(a != NULL ? a + j->info.dof : NULL, n, aj);
    q += j->info.q;
    switch (j->info.type)
    {
    case TG_JOINT_FREE:
        set_free(b, q, vj, aj);
        break;
    case TG_JOINT_BALL:
        cross_ball(j, b, q, vj, aj);
        break;
    case TG_JOINT_SLIDE:
        cross_slide(j, b, (real)q[0] - *j->ref, vj[0], aj[0]);
        break;
    default:
        cross_hinge(j, b, q[0], vj[0], aj[0]);
    }
}

void reference_motion(const reference *r, const double *q, const double *v, const double *a, reference_body *out)
{
    memset(out, 0, sizeof *out);
    out[0].quat[0] = 1;
    for (int i = 1; i < r->size.nbody; i++)
    {
        const link *body = &r->body[i];
        reference_body *b = &out[i];
        real arm[3], quat[4];
        *b = out[body->info.parent];
        rotate_double(b->quat, body->pos, arm);
        shift(b, arm);
        widen(body->quat, 4, quat);
        normalise(quat, 4);
        multiply(b->quat, quat, b->quat);
        for (int j = body->info.joint; j < body->info.joint + body->info.njoint; j++)
            cross_joint(&r->joint[j], b, q, v, a);
    }
}

static void narrow(const real *a, int n, double *out)
{
    for (int i = 0; i < n && out != NULL; i++)
        out[i] = (double)a[i];
}

void reference_frame(const reference_body *b, const double *pos, const double *quat, double out_pos[3],
                     double out_quat[4])
{
    real x[3], turned[4] = {1, 0, 0, 0};
    rotate_double(b->quat, pos, x);
    add_scaled(x, 1, b->pos);
    if (quat != NULL)
        widen(quat, 4, turned);
    normalise(turned, 4);
    multiply(b->quat, turned, turned);
    narrow(x, 3, out_pos);
    narrow(turned, 4, out_quat);
}

void reference_point(const reference_body *b, const double point[3], double velocity[3], double acceleration[3])
{
    real arm[3], speed[3], rate[3];
    rotate_double(b->quat, point, arm);
    carry(b, arm, speed, rate);
    narrow(speed, 3, velocity);
    narrow(rate, 3, acceleration);
}

/* ---- dynamics ---- */

/* I u, world axes: the inertia of a body about its centre of mass */
static void inertia_times(const link *body, const real quat[4], const real u[3], real out[3])
{
    const double *s = body->inertia;
    const real full[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    real inverse[4] = {quat[0], -quat[1], -quat[2], -quat[3]}, local[3], product[3];
    rotate(inverse, u, local);
    for (int i = 0; i < 3; i++)
        product[i] = dot(full[i], local);
    rotate(quat, product, out);
}

/* Newton and Euler for one body: m (a_com - g), and I alpha + omega x I omega */
static void inertial_wrench(const reference *r, int i, const reference_body *b, real force[3], real moment[3])
{
    const link *body = &r->body[i];
    real arm[3], velocity[3], acceleration[3], spin[3];
    rotate_double(b->quat, body->com, arm);
    carry(b, arm, velocity, acceleration);
    for (int k = 0; k < 3; k++)
        force[k] = *body->mass * (acceleration[k] - r->gravity[k]);
    inertia_times(body, b->quat, b->alpha, moment);
    inertia_times(body, b->quat, b->omega, spin);
    cross(b->omega, spin, spin);
    add_scaled(moment, 1, spin);
}

/* What the wrenches of all bodies do against the velocities that one dof gives them. */
static real virtual_work(const reference *r, const reference_body *unit, const real *wrench)
{
    real work = 0;
    for (int i = 1; i < r->size.nbody; i++)
    {
        real arm[3], velocity[3], unused[3];
        rotate_double(unit[i].quat, r->body[i].com, arm);
        carry(&unit[i], arm, velocity, unused);
        work += dot(velocity, wrench + 6 * i) + dot(unit[i].omega, wrench + 6 * i + 3);
    }
    return work;
}

void reference_rnea(const reference *r, const double *q, const double *v, const double *a, double *tau)
{
    size_t nbody = (size_t)r->size.nbody;
    reference_body *motion = calloc(nbody, sizeof *motion);
    real *wrench = calloc(6 * nbody, sizeof *wrench);
    double *unit = calloc((size_t)r->size.nv + 1, sizeof *unit);
    reference_motion(r, q, v, a, motion);
    for (int i = 1; i < r->size.nbody; i++)
        inertial_wrench(r, i, &motion[i], wrench + 6 * i, wrench + 6 * i + 3);
    for (int k = 0; k < r->size.nv; k++)
    {
        unit[k] = 1;
        reference_motion(r, q, unit, NULL, motion);
        unit[k] = 0;
        tau[k] = (double)virtual_work(r, motion, wrench);
    }
    static const int dofs[TG_JOINT_TYPE_COUNT] = {6, 3, 1, 1};
    for (int j = 0; j < r->size.njoint && a != NULL; j++)
        for (int k = 0; k < dofs[r->joint[j].info.type]; k++)
            tau[r->joint[j].info.dof + k] += *r->joint[j].armature * a[r->joint[j].info.dof + k];
    free(motion);
    free(wrench);
    free(unit);
}

reference_total reference_sum(const reference *r, const double *q, const double *v)
{
    reference_body *motion = calloc((size_t)r->size.nbody, sizeof *motion);
    real mass = 0, first[3] = {0}, linear[3] = {0}, angular[3] = {0};
    reference_motion(r, q, v, NULL, motion);
    for (int i = 1; i < r->size.nbody; i++)
    {
        const link *body = &r->body[i];
        if (body->info.tree < 0)
            continue;
        real arm[3], velocity[3], unused[3], place[3], spin[3], moment[3];
        rotate_double(motion[i].quat, body->com, arm);
        carry(&motion[i], arm, velocity, unused);
        for (int k = 0; k < 3; k++)
            place[k] = motion[i].pos[k] + arm[k];
        inertia_times(body, motion[i].quat, motion[i].omega, spin);
        cross(place, velocity, moment);
        mass += *body->mass;
        add_scaled(first, *body->mass, place);
        add_scaled(linear, *body->mass, velocity);
        add_scaled(angular, *body->mass, moment);
        add_scaled(angular, 1, spin);
    }
    for (int k = 0; k < 3; k++)
        first[k] /= mass;
    real orbital[3];
    cross(first, linear, orbital); /* about the world's origin to about the centre of mass */
    add_scaled(angular, -1, orbital);
    reference_total total = {.mass = (double)mass};
    narrow(first, 3, total.com);
    narrow(linear, 3, total.momentum);
    narrow(angular, 3, total.momentum + 3);
    free(motion);
    return total;
}
