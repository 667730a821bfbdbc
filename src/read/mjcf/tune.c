/* Numbers that need the finished model: settotalmass, drives, springdamper, dampratio. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "model/params.h"
#include "model/reference.h"
#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

static void scale(double *numbers, int n, double factor)
{
    for (int i = 0; i < n; i++)
        numbers[i] *= factor;
}

/* Masses and inertias are scaled until their sum is settotalmass. */
static void set_total_mass(tg_mjcf *r, tg_model *m)
{
    double wanted = tg_mjcf_compiler_of(r, r->root)->settotalmass, total = 0;
    double *mass = TG_PARAM(m->params, body_mass);
    for (int i = 1; i < m->nbody; i++)
        total += mass[i];
    if (!(wanted > 0))
        return;
    double factor = wanted / fmax(total, TG_MJCF_MASS);
    scale(mass, m->nbody, factor);
    scale(TG_PARAM(m->params, body_inertia), 6 * m->nbody, factor);
}

/* Armature and damping of a drive act on its joint or tendon through the square of the gear. */
static void add_drive(tg_model *m, const tg_mjcf_tuned *t)
{
    double gear = TG_PARAM(m->params, actuator_gear)[6 * t->id], square = gear * gear;
    int target = m->actuator_target[t->id];
    if (t->damping == 0 && t->armature == 0)
        return;
    if (m->actuator_transmission[t->id] == TG_TRANSMISSION_TENDON)
    {
        TG_PARAM(m->params, tendon_damping)[target] += square * t->damping;
        return;
    }
    TG_PARAM(m->params, joint_damping)[target] += square * t->damping;
    TG_PARAM(m->params, joint_armature)[target] += square * t->armature;
}

/* ---- the mass matrix in the reference configuration ---- */

/* How a dof moves the world: point and direction of its axis, or direction only. */
typedef struct motion
{
    bool turns;
    double axis[3], point[3];
} motion;

/* The motions of a joint's dofs; in the reference configuration the joints of a body have not moved it. */
static void joint_motions(const tg_model *m, int joint, const double *pose, motion *motions)
{
    const tg_params *p = m->params;
    const double *X = pose + 7 * (size_t)m->joint_body[joint];
    motion *at = motions + m->joint_dof[joint];
    double point[3];
    int type = m->joint_type[joint];
    tg_se3_transform(X, TG_PARAM(p, joint_pos) + 3 * joint, point);
    if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE)
    {
        at->turns = type == TG_JOINT_HINGE;
        tg_quat_rotate(X + 3, p->joint_axis + 4 * joint, at->axis);
        memcpy(at->point, point, sizeof point);
        return;
    }
    for (int i = 0; i < 3 && type == TG_JOINT_FREE; i++, at++)
    {
        *at = (motion){0};
        at->axis[i] = 1;
    }
    for (int i = 0; i < 3; i++, at++)
    {
        double e[3] = {i == 0, i == 1, i == 2};
        at->turns = true;
        tg_quat_rotate(X + 3, e, at->axis);
        memcpy(at->point, type == TG_JOINT_FREE ? X : point, sizeof point);
    }
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Velocity of a point and angular velocity, for a unit velocity of the dof. */
static void velocity_of(const motion *at, const double point[3], double linear[3], double angular[3])
{
    double arm[3] = {point[0] - at->point[0], point[1] - at->point[1], point[2] - at->point[2]};
    memset(angular, 0, 3 * sizeof *angular);
    memcpy(at->turns ? angular : linear, at->axis, sizeof at->axis);
    if (at->turns)
        cross(at->axis, arm, linear);
}

/* The last dof that moves a body, -1 if it stands still. */
static int last_dof(const tg_model *m, int body)
{
    while (body > 0 && m->body_ndof[body] == 0)
        body = m->body_parent[body];
    return body > 0 ? m->body_dof[body] + m->body_ndof[body] - 1 : -1;
}

/* M += mass Jv^T Jv + Jw^T I Jw of one body, over the dofs on its path to the root */
static void add_body(const tg_model *m, int body, const double *pose, const motion *motions, double *M)
{
    const tg_params *p = m->params;
    const double *X = pose + 7 * (size_t)body;
    double com[3], R[9];
    tg_se3_transform(X, TG_PARAM(p, body_com) + 3 * body, com);
    tg_quat_to_matrix(X + 3, R);
    tg_lump lump = {.mass = TG_PARAM(p, body_mass)[body]};
    memcpy(lump.inertia, TG_PARAM(p, body_inertia) + 6 * body, sizeof lump.inertia);
    const double zero[3] = {0, 0, 0};
    lump = tg_lump_move(&lump, R, zero);
    const double *s = lump.inertia;
    for (int i = last_dof(m, body); i >= 0; i = m->dof_parent[i])
    {
        double v[3], w[3];
        velocity_of(&motions[i], com, v, w);
        double f[6] = {lump.mass * v[0],
                       lump.mass * v[1],
                       lump.mass * v[2],
                       s[0] * w[0] + s[3] * w[1] + s[4] * w[2],
                       s[3] * w[0] + s[1] * w[1] + s[5] * w[2],
                       s[4] * w[0] + s[5] * w[1] + s[2] * w[2]};
        for (int j = i; j >= 0; j = m->dof_parent[j])
        {
            velocity_of(&motions[j], com, v, w);
            double product = f[0] * v[0] + f[1] * v[1] + f[2] * v[2] + f[3] * w[0] + f[4] * w[1] + f[5] * w[2];
            M[(size_t)i * (size_t)m->nv + (size_t)j] += product;
        }
    }
}

/* The lower triangle of the mass matrix, nv x nv, from the pool; NULL when memory runs out. */
static double *reference_mass_matrix(tg_mjcf *r, const tg_model *m)
{
    size_t n = (size_t)m->nv;
    double *M = TG_POOL_TAKE(r->pool, double, n *n);
    double *pose = TG_POOL_TAKE(r->pool, double, 7 * (size_t)m->nbody);
    motion *motions = TG_POOL_TAKE(r->pool, motion, n);
    if (M == NULL || pose == NULL || motions == NULL)
        return NULL;
    tg_reference_poses(m->params, m->params->q0, pose);
    for (int i = 0; i < m->njoint; i++)
        joint_motions(m, i, pose, motions);
    for (int i = 1; i < m->nbody; i++)
        add_body(m, i, pose, motions, M);
    for (size_t i = 0; i < n; i++)
        M[i * n + i] += m->params->dof_armature[i];
    return M;
}

/* ---- what follows from it ---- */

/* The mass matrix in the reference configuration, factorised, and a vector for its solutions. */
typedef struct inertia
{
    int n;
    double *L, *x;
} inertia;

static tg_status prepare(tg_mjcf *r, const tg_model *m, inertia *in)
{
    in->n = m->nv;
    in->L = reference_mass_matrix(r, m);
    in->x = TG_POOL_TAKE(r->pool, double, m->nv);
    if (in->L == NULL || in->x == NULL)
        return tg_mjcf_no_memory(r, r->root);
    if (tg_chol(in->n, in->L, in->n) >= 0)
        return tg_xml_fail(r->error, TG_ERR_NUMERIC, r->root, "the mass matrix at rest is not positive definite");
    return TG_OK;
}

/* x^T M^-1 x = |L^-1 x|^2; x is used up. */
static double inverse_inertia(const inertia *in)
{
    double sum = 0;
    tg_trsm(TG_TRI_LOWER, in->n, in->L, in->n, 1, in->x, 1);
    for (int i = 0; i < in->n; i++)
        sum += in->x[i] * in->x[i];
    return sum;
}

static void clear(const inertia *in)
{
    memset(in->x, 0, (size_t)in->n * sizeof *in->x);
}

static int dof_count(int joint_type)
{
    return joint_type == TG_JOINT_FREE ? 6 : joint_type == TG_JOINT_BALL ? 3 : 1;
}

/* springdamper: with the mean inertia I = n / sum of (M^-1)_ii over the joint's dofs,
 * stiffness = I / (timeconst dampratio)^2, damping = 2 I / timeconst. */
static void set_spring(tg_model *m, const tg_mjcf_tuned *t, const inertia *in)
{
    int count = dof_count(m->joint_type[t->id]);
    double sum = 0;
    for (int k = 0; k < count; k++)
    {
        clear(in);
        in->x[m->joint_dof[t->id] + k] = 1;
        sum += inverse_inertia(in);
    }
    double mean = count / sum, reach = t->timeconst * t->dampratio;
    TG_PARAM(m->params, joint_stiffness)[t->id] = mean / (reach * reach);
    TG_PARAM(m->params, joint_damping)[t->id] = 2 * mean / t->timeconst;
}

/* The moment arms J of an actuator on a joint or a fixed tendon, into x. */
static void set_moment(const tg_model *m, int actuator, const inertia *in)
{
    const double *gear = TG_PARAM(m->params, actuator_gear) + 6 * actuator;
    int target = m->actuator_target[actuator];
    clear(in);
    if (m->actuator_transmission[actuator] == TG_TRANSMISSION_TENDON)
    {
        for (int k = m->tendon_path[target]; k < m->tendon_path[target] + m->tendon_npath[target]; k++)
            in->x[m->joint_dof[m->path_id[k]]] += gear[0] * TG_PARAM(m->params, tendon_coef)[k];
        return;
    }
    for (int k = 0; k < dof_count(m->joint_type[target]); k++)
        in->x[m->joint_dof[target] + k] = gear[k];
}

/* dampratio: damping = dampratio 2 sqrt(kp I), I = 1 / (J M^-1 J^T) */
static void set_damping_ratio(tg_model *m, const tg_mjcf_tuned *t, const inertia *in)
{
    double kp = TG_PARAM(m->params, actuator_gain)[3 * t->id];
    set_moment(m, t->id, in);
    double inverse = inverse_inertia(in);
    TG_PARAM(m->params, actuator_bias)[3 * t->id + 2] = inverse > 0 ? -t->dampratio * 2 * sqrt(kp / inverse) : 0;
}

static tg_status commit(tg_mjcf *r, tg_model *m)
{
    tg_error inner = {0};
    tg_status status = tg_params_changed(m->params, &inner);
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, r->root, "%.350s", inner.message);
    return TG_OK;
}

tg_status tg_mjcf_tune(tg_mjcf *r, tg_model *m)
{
    const tg_mjcf_tuned *servo = r->servo.data;
    bool matrix = r->spring.count > 0;
    if (tg_mjcf_compiler_of(r, r->root)->settotalmass <= 0 && r->servo.count == 0 && !matrix)
        return TG_OK;
    tg_params_data(m->params);
    set_total_mass(r, m);
    for (int i = 0; i < r->servo.count; i++)
    {
        add_drive(m, &servo[i]);
        matrix = matrix || servo[i].dampratio > 0;
    }
    tg_status status = commit(r, m);
    if (status != TG_OK || !matrix)
        return status;
    inertia in;
    status = prepare(r, m, &in);
    if (status != TG_OK)
        return status;
    tg_params_data(m->params);
    for (int i = 0; i < r->servo.count; i++)
    {
        if (servo[i].dampratio > 0)
            set_damping_ratio(m, &servo[i], &in);
    }
    for (int i = 0; i < r->spring.count; i++)
        set_spring(m, (const tg_mjcf_tuned *)r->spring.data + i, &in);
    return commit(r, m);
}
