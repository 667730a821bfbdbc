/* What tg_params_changed recomputes from the vector. */
#include <math.h>
#include <string.h>

#include "model/bounds.h"
#include "model/inertia.h"
#include "model/params.h"
#include "model/reference.h"
#include "tangere/algebra.h"

_Static_assert(sizeof(tg_lump) == 10 * sizeof(double), "tg_params.subtree is an array of tg_lump");

/* ---- rotations: row-major to columns padded to 4, and back ---- */

static void store_columns(const double R[9], double out[12])
{
    for (int j = 0; j < 3; j++)
    {
        for (int i = 0; i < 3; i++)
            out[4 * j + i] = R[3 * i + j];
        out[4 * j + 3] = 0;
    }
}

static void load_columns(const double columns[12], double R[9])
{
    for (int j = 0; j < 3; j++)
    {
        for (int i = 0; i < 3; i++)
            R[3 * i + j] = columns[4 * j + i];
    }
}

static void multiply(const double A[9], const double B[9], double out[9])
{
    for (int i = 0; i < 3; i++)
    {
        for (int j = 0; j < 3; j++)
            out[3 * i + j] = A[3 * i] * B[j] + A[3 * i + 1] * B[3 + j] + A[3 * i + 2] * B[6 + j];
    }
}

static void apply(const double A[9], const double u[3], double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = A[3 * i] * u[0] + A[3 * i + 1] * u[1] + A[3 * i + 2] * u[2];
}

/* ---- bodies ---- */

static void derive_body_rotations(tg_params *p)
{
    for (int body = 0; body < p->model->nbody; body++)
    {
        double quat[4];
        double R[9];
        tg_quat_normalise(TG_PARAM(p, body_quat) + 4 * body, quat);
        tg_quat_to_matrix(quat, R);
        store_columns(R, p->body_rot + 12 * body);
    }
}

/* Pose in the frame of the welded group's first body: X = X_parent (pos, quat). */
static void derive_welds(tg_params *p)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    const tg_model *m = p->model;
    for (int body = 0; body < m->nbody; body++)
    {
        double *pos = p->weld_pos + 4 * body;
        memset(pos, 0, 4 * sizeof *pos);
        if (m->body_weld[body] == body)
        {
            store_columns(identity, p->weld_rot + 12 * body);
            continue;
        }
        int parent = m->body_parent[body];
        double above[9];
        double own[9];
        double R[9];
        load_columns(p->weld_rot + 12 * parent, above);
        load_columns(p->body_rot + 12 * body, own);
        multiply(above, own, R);
        store_columns(R, p->weld_rot + 12 * body);
        apply(above, TG_PARAM(p, body_pos) + 3 * body, pos);
        for (int i = 0; i < 3; i++)
            pos[i] += p->weld_pos[4 * parent + i];
    }
}

static tg_lump body_lump(const tg_params *p, int body)
{
    tg_lump lump = {.mass = TG_PARAM(p, body_mass)[body]};
    memcpy(lump.com, TG_PARAM(p, body_com) + 3 * body, sizeof lump.com);
    memcpy(lump.inertia, TG_PARAM(p, body_inertia) + 6 * body, sizeof lump.inertia);
    return lump;
}

/* ---- joints ---- */

static bool has_axis(int joint_type)
{
    return joint_type == TG_JOINT_HINGE || joint_type == TG_JOINT_SLIDE;
}

static void derive_axes(tg_params *p)
{
    for (int joint = 0; joint < p->model->njoint; joint++)
    {
        double *axis = p->joint_axis + 4 * joint;
        memset(axis, 0, 4 * sizeof *axis);
        if (!has_axis(p->model->joint_type[joint]))
            continue;
        const double *given = TG_PARAM(p, joint_axis) + 3 * joint;
        double largest = fmax(fabs(given[0]), fmax(fabs(given[1]), fabs(given[2])));
        double sum = 0;
        for (int i = 0; i < 3; i++)
        {
            axis[i] = given[i] / largest;
            sum += axis[i] * axis[i];
        }
        for (int i = 0; i < 3; i++)
            axis[i] /= sqrt(sum);
    }
}

/* The fixed rotation F and translation between the frame that a joint starts from and the body's. */
static void start_frame(const tg_params *p, int joint, double F[9], double pos[3])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    int body = p->model->joint_body[joint];
    bool first = joint == p->model->body_joint[body];
    memcpy(F, identity, sizeof identity);
    memset(pos, 0, 3 * sizeof *pos);
    if (!first)
        return;
    load_columns(p->body_rot + 12 * body, F);
    memcpy(pos, TG_PARAM(p, body_pos) + 3 * body, 3 * sizeof *pos);
}

static void derive_point(tg_params *p, int joint)
{
    double F[9];
    double pos[3];
    double *point = p->joint_point + 4 * joint;
    start_frame(p, joint, F, pos);
    apply(F, TG_PARAM(p, joint_pos) + 3 * joint, point);
    for (int i = 0; i < 3; i++)
        point[i] += pos[i];
    point[3] = 0;
}

static void derive_hinge(tg_params *p, int joint)
{
    const double *a = p->joint_axis + 4 * joint;
    double F[9];
    double pos[3];
    start_frame(p, joint, F, pos);
    double aa[9];
    double rest[9];
    for (int i = 0; i < 9; i++)
    {
        aa[i] = a[i / 3] * a[i % 3];
        rest[i] = (i % 4 == 0 ? 1.0 : 0.0) - aa[i];
    }
    const double skew[9] = {0, -a[2], a[1], a[2], 0, -a[0], -a[1], a[0], 0};
    tg_hinge_const *h = &p->hinge[joint];
    double product[9];
    multiply(F, aa, product);
    store_columns(product, h->r0);
    multiply(F, rest, product);
    store_columns(product, h->r1);
    multiply(F, skew, product);
    store_columns(product, h->r2);
}

static void derive_joints(tg_params *p)
{
    const tg_model *m = p->model;
    derive_axes(p);
    for (int joint = 0; joint < m->njoint; joint++)
    {
        derive_point(p, joint);
        if (m->joint_type[joint] == TG_JOINT_HINGE)
            derive_hinge(p, joint);
    }
    for (int dof = 0; dof < m->nv; dof++)
    {
        p->dof_armature[dof] = TG_PARAM(p, joint_armature)[m->dof_joint[dof]];
        p->dof_damping[dof] = TG_PARAM(p, joint_damping)[m->dof_joint[dof]];
    }
}

/* q with hinges and slides at the numbers of a field, balls and free joints as their bodies are placed */
static void derive_configuration(const tg_params *p, const double *coordinate, double *q)
{
    const tg_model *m = p->model;
    for (int joint = 0; joint < m->njoint; joint++)
    {
        double *out = q + m->joint_q[joint];
        int body = m->joint_body[joint];
        switch ((tg_joint_type)m->joint_type[joint])
        {
        case TG_JOINT_FREE:
            memcpy(out, TG_PARAM(p, body_pos) + 3 * body, 3 * sizeof *out);
            tg_quat_normalise(TG_PARAM(p, body_quat) + 4 * body, out + 3);
            break;
        case TG_JOINT_BALL:
            memcpy(out, (const double[4]){1, 0, 0, 0}, 4 * sizeof *out);
            break;
        default:
            out[0] = coordinate[joint];
        }
    }
}

/* ---- nodes ---- */

static void store_node(tg_params *p, int node, const tg_lump *lump)
{
    const double *s = lump->inertia;
    const double full[9] = {s[0], s[3], s[4], s[3], s[1], s[5], s[4], s[5], s[2]};
    p->node_mass[node] = lump->mass;
    memcpy(p->node_com + 4 * node, lump->com, 3 * sizeof(double));
    p->node_com[4 * node + 3] = 0;
    store_columns(full, p->node_inertia + 12 * node);
}

/* All bodies on a node, in the frame of node_body. The bodies of a node are not contiguous, so the sum is kept where
 * the subtree's will be, at node_body. */
static void derive_nodes(tg_params *p)
{
    const tg_model *m = p->model;
    tg_lump *sum = (tg_lump *)p->subtree;
    memset(sum, 0, (size_t)m->nbody * sizeof *sum);
    for (int body = 0; body < m->nbody; body++)
    {
        double R[9];
        tg_lump own = body_lump(p, body);
        if (m->body_weld[body] != body)
        {
            load_columns(p->weld_rot + 12 * body, R);
            own = tg_lump_move(&own, R, p->weld_pos + 4 * body);
        }
        tg_lump_add(&sum[m->body_weld[body]], &own);
    }
    static const tg_lump nothing;
    for (int node = 0; node < m->nnode; node++)
        store_node(p, node, m->node_massive[node] ? &sum[m->node_body[node]] : &nothing);
}

/* ---- the reference configuration, in which every body is where body.pos and body.quat put it ---- */

static void derive_subtrees(tg_params *p)
{
    const tg_model *m = p->model;
    tg_lump *subtree = (tg_lump *)p->subtree;
    for (int body = 0; body < m->nbody; body++)
        subtree[body] = body_lump(p, body);
    for (int body = m->nbody - 1; body > 0; body--)
    {
        double R[9];
        load_columns(p->body_rot + 12 * body, R);
        tg_lump moved = tg_lump_move(&subtree[body], R, TG_PARAM(p, body_pos) + 3 * body);
        tg_lump_add(&subtree[m->body_parent[body]], &moved);
    }
}

/* What resists one dof: the mass of the subtree, or its moment of inertia about the axis. */
static double dof_resistance(const tg_params *p, int dof)
{
    static const double unit[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    static const double origin[3] = {0, 0, 0};
    const tg_model *m = p->model;
    int node = m->dof_node[dof];
    int joint = m->dof_joint[dof];
    const tg_lump *lump = (const tg_lump *)p->subtree + m->dof_body[dof];
    const double *anchor = m->joint_type[joint] == TG_JOINT_FREE ? origin : TG_PARAM(p, joint_pos) + 3 * joint;
    switch ((tg_node_type)m->node_type[node])
    {
    case TG_NODE_BALL:
        return tg_lump_about(lump, anchor, unit[dof - m->node_dof[node]]);
    case TG_NODE_HINGE:
        return tg_lump_about(lump, anchor, p->joint_axis + 4 * joint);
    default:
        return lump->mass;
    }
}

static void derive_tendons(tg_params *p)
{
    if (p->model->ntendon == 0)
        return;
    tg_reference_poses(p, p->q0, p->q0_pose);
    for (int tendon = 0; tendon < p->model->ntendon; tendon++)
        p->tendon_length0[tendon] = tg_reference_tendon_length(p, tendon, p->q0, p->q0_pose);
}

void tg_params_derive(tg_params *p)
{
    derive_body_rotations(p);
    derive_welds(p);
    derive_joints(p);
    derive_configuration(p, TG_PARAM(p, joint_ref), p->q0);
    derive_configuration(p, TG_PARAM(p, joint_springref), p->q_spring);
    derive_nodes(p);
    derive_subtrees(p);
    derive_tendons(p);
    tg_params_bounds(p);
    for (int dof = 0; dof < p->model->nv; dof++)
        p->dof_inertia[dof] = p->dof_armature[dof] + dof_resistance(p, dof);
}
