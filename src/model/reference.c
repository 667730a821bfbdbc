#include "model/reference.h"

#include <math.h>
#include <string.h>

#include "tangere/algebra.h"

/* Turns the body about the anchor (body frame) by the quaternion turn, also in its frame: the anchor stays. */
static void turn_about(double pose[7], const double anchor[3], const double turn[4])
{
    double before[3];
    double after[3];
    tg_se3_transform(pose, anchor, before);
    tg_quat_multiply(pose + 3, turn, pose + 3);
    tg_quat_normalise(pose + 3, pose + 3);
    tg_quat_rotate(pose + 3, anchor, after);
    for (int i = 0; i < 3; i++)
        pose[i] = before[i] - after[i];
}

static void apply_joint(const tg_params *p, int joint, const double *q, double pose[7])
{
    const double *anchor = TG_PARAM(p, joint_pos) + 3 * joint;
    const double *axis = p->joint_axis + 4 * joint;
    double moved = q[0] - TG_PARAM(p, joint_ref)[joint];
    double turn[4];
    double along[3];
    switch ((tg_joint_type)p->model->joint_type[joint])
    {
    case TG_JOINT_FREE:
        memcpy(pose, q, 3 * sizeof *pose);
        tg_quat_normalise(q + 3, pose + 3);
        break;
    case TG_JOINT_BALL:
        tg_quat_normalise(q, turn);
        turn_about(pose, anchor, turn);
        break;
    case TG_JOINT_SLIDE:
        tg_quat_rotate(pose + 3, axis, along);
        for (int i = 0; i < 3; i++)
            pose[i] += moved * along[i];
        break;
    default:
        tg_quat_from_axis_angle(axis, moved, turn);
        turn_about(pose, anchor, turn);
    }
}

void tg_reference_poses(const tg_params *p, const double *q, double *pose)
{
    const tg_model *m = p->model;
    memcpy(pose, (const double[7]){0, 0, 0, 1, 0, 0, 0}, 7 * sizeof *pose);
    for (int body = 1; body < m->nbody; body++)
    {
        double fixed[7];
        memcpy(fixed, TG_PARAM(p, body_pos) + 3 * body, 3 * sizeof *fixed);
        tg_quat_normalise(TG_PARAM(p, body_quat) + 4 * body, fixed + 3);
        tg_se3_multiply(pose + 7 * m->body_parent[body], fixed, pose + 7 * body);
        for (int i = 0; i < m->body_njoint[body]; i++)
        {
            int joint = m->body_joint[body] + i;
            apply_joint(p, joint, q + m->joint_q[joint], pose + 7 * body);
        }
    }
}

static double fixed_length(const tg_params *p, int tendon, const double *q)
{
    const tg_model *m = p->model;
    double length = 0;
    for (int i = 0; i < m->tendon_npath[tendon]; i++)
    {
        int item = m->tendon_path[tendon] + i;
        length += TG_PARAM(p, tendon_coef)[item] * q[m->joint_q[m->path_id[item]]];
    }
    return length;
}

/* Straight lines between neighbouring sites; behind a pulley a new branch starts, whose lengths are divided. */
static double spatial_length(const tg_params *p, int tendon, const double *pose)
{
    const tg_model *m = p->model;
    double length = 0;
    double divisor = 1;
    double before[3];
    bool started = false;
    for (int i = 0; i < m->tendon_npath[tendon]; i++)
    {
        int item = m->tendon_path[tendon] + i;
        if (m->path_type[item] == TG_PATH_PULLEY)
        {
            divisor = TG_PARAM(p, tendon_coef)[item];
            started = false;
            continue;
        }
        int site = m->path_id[item];
        double here[3];
        tg_se3_transform(pose + 7 * m->site_body[site], TG_PARAM(p, site_pos) + 3 * site, here);
        if (started)
            length +=
                sqrt(pow(here[0] - before[0], 2) + pow(here[1] - before[1], 2) + pow(here[2] - before[2], 2)) / divisor;
        memcpy(before, here, sizeof before);
        started = true;
    }
    return length;
}

double tg_reference_tendon_length(const tg_params *p, int tendon, const double *q, const double *pose)
{
    return p->model->tendon_type[tendon] == TG_TENDON_FIXED ? fixed_length(p, tendon, q)
                                                            : spatial_length(p, tendon, pose);
}

/* ---- slopes of lengths ---- */

typedef struct slope
{
    const tg_params *p;
    const double *change;
    double g, *gradient;
    double sum; /* slopes times change */
} slope;

static void add(slope *s, int at, int count, const double *by)
{
    for (int i = 0; i < count; i++)
    {
        s->sum += s->change != NULL ? by[i] * s->change[at + i] : 0;
        if (s->gradient != NULL)
            s->gradient[at + i] += s->g * by[i];
    }
}

/* by: per rotation of the body, parent axes */
static void add_turn(slope *s, int body, const double by[3])
{
    int at = TG_PARAM_INDEX(s->p->model, body_quat, body);
    double T[12];
    tg_quat_raw_tangent(s->p->value + at, T);
    for (int i = 0; i < 3 && s->change != NULL; i++)
        for (int k = 0; k < 4; k++)
            s->sum += by[i] * T[4 * i + k] * s->change[at + k];
    for (int i = 0; i < 3 && s->gradient != NULL; i++)
        s->gradient[at + i] += s->g * by[i];
}

/* A length that grows by f . dx with the site's point x. In the reference configuration joints displace nothing: x
 * follows body.pos and body.quat of the bodies from the site's to the root, R_parent^T f and R_parent^T ((x - o) x f).
 */
static void add_site(slope *s, int site, const double f[3])
{
    const tg_model *m = s->p->model;
    int body = m->site_body[site];
    double x[3], by[3];
    tg_se3_transform(s->p->q0_pose + 7 * body, TG_PARAM_OF(s->p, site_pos, site), x);
    tg_quat_rotate_inverse(s->p->q0_pose + 7 * body + 3, f, by);
    add(s, TG_PARAM_INDEX(m, site_pos, site), 3, by);
    for (; body > 0; body = m->body_parent[body])
    {
        const double *o = s->p->q0_pose + 7 * body, *parent = s->p->q0_pose + 7 * m->body_parent[body];
        double arm[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
        double moment[3] = {arm[1] * f[2] - arm[2] * f[1], arm[2] * f[0] - arm[0] * f[2],
                            arm[0] * f[1] - arm[1] * f[0]};
        tg_quat_rotate_inverse(parent + 3, f, by);
        add(s, TG_PARAM_INDEX(m, body_pos, body), 3, by);
        tg_quat_rotate_inverse(parent + 3, moment, by);
        add_turn(s, body, by);
    }
}

static void add_fixed(slope *s, int tendon)
{
    const tg_model *m = s->p->model;
    for (int i = m->tendon_path[tendon]; i < m->tendon_path[tendon] + m->tendon_npath[tendon]; i++)
    {
        add(s, m->offset.tendon_coef + i, 1, s->p->q0 + m->joint_q[m->path_id[i]]);
        add(s, m->offset.joint_ref + m->path_id[i], 1, TG_PARAM(s->p, tendon_coef) + i);
    }
}

/* the line between the sites of two items, of a branch behind a pulley (-1: the first) */
static void add_line(slope *s, int from, int to, int pulley)
{
    const tg_model *m = s->p->model;
    int site[2] = {m->path_id[from], m->path_id[to]};
    double end[2][3], line[3], divisor = pulley < 0 ? 1 : TG_PARAM(s->p, tendon_coef)[pulley];
    for (int k = 0; k < 2; k++)
        tg_se3_transform(s->p->q0_pose + 7 * m->site_body[site[k]], TG_PARAM_OF(s->p, site_pos, site[k]), end[k]);
    for (int i = 0; i < 3; i++)
        line[i] = end[1][i] - end[0][i];
    double length = sqrt(line[0] * line[0] + line[1] * line[1] + line[2] * line[2]);
    if (pulley >= 0)
        add(s, m->offset.tendon_coef + pulley, 1, &(double){-length / (divisor * divisor)});
    if (length == 0)
        return;
    for (int k = 0; k < 2; k++)
    {
        double scale = (k == 0 ? -1 : 1) / (length * divisor);
        add_site(s, site[k], (const double[3]){scale * line[0], scale * line[1], scale * line[2]});
    }
}

static void add_spatial(slope *s, int tendon)
{
    const tg_model *m = s->p->model;
    int before = -1, pulley = -1;
    for (int i = m->tendon_path[tendon]; i < m->tendon_path[tendon] + m->tendon_npath[tendon]; i++)
    {
        bool site = m->path_type[i] == TG_PATH_SITE;
        if (site && before >= 0)
            add_line(s, before, i, pulley);
        before = site ? i : -1;
        pulley = site ? pulley : i;
    }
}

double tg_reference_tendon_slope(const tg_params *p, int tendon, const double *change, double g, double *gradient)
{
    slope s = {.p = p, .change = change, .g = g, .gradient = gradient};
    if (p->model->tendon_type[tendon] == TG_TENDON_FIXED)
        add_fixed(&s, tendon);
    else
        add_spatial(&s, tendon);
    return s.sum;
}
