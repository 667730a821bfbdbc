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
