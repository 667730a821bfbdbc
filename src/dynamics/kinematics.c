/* Where the bodies are and how fast: the first stage of everything. */
#include "dynamics/kinematics.h"

#include "math/sincos.h"
#include "tangere/algebra.h"

/* A frame on its way from the parent's to the body's, joint by joint. */
typedef struct pose
{
    mat3 R;
    v4 x;
} pose;

static pose body_frame(const tg_work *w, int body)
{
    return (pose){tg_body_rotation(w, body), v4_load(w->body_pos + 4 * body)};
}

/* The rotation between the frame that a joint starts from and the body's: body.quat for the first joint, none later. */
static mat3 starting_rotation(const tg_model *m, const tg_params *p, int joint, mat3 R)
{
    int body = m->joint_body[joint];
    return joint == m->body_joint[body] ? mat3_product(R, mat3_load(p->body_rot + MAT3_SIZE * body)) : R;
}

/* Moves f across a hinge, and gives its anchor and axis in the world: R' = R (R0 + c R1 + s R2), x' = anchor - R' a. */
static inline pose cross_hinge(const tg_work *w, int joint, pose f, v4 *anchor, v4 *axis)
{
    const tg_params *p = w->params;
    const tg_hinge_const *h = &p->hinge[joint];
    v4 c = v4_splat(w->joint_cos[joint]), s = v4_splat(w->joint_sin[joint]);
    double local[MAT3_SIZE] __attribute__((aligned(32))); /* in memory, where a broadcast is a load */
    for (int i = 0; i < MAT3_SIZE; i += 4)
        v4_store(local + i, v4_load(h->r0 + i) + c * v4_load(h->r1 + i) + s * v4_load(h->r2 + i));
    pose g;
    for (int i = 0; i < 3; i++)
        g.R.c[i] = mat3_mul_mem(f.R, local + 4 * i);
    *anchor = f.x + mat3_mul_mem(f.R, p->joint_point + 4 * joint);
    *axis = mat3_mul_mem(g.R, p->joint_axis + 4 * joint);
    g.x = *anchor - mat3_mul_mem(g.R, TG_PARAM(p, joint_pos) + 3 * joint);
    return g;
}

/* The same for the other joints. Slide: along the axis; ball: R' = R F Rot(q), x' = anchor - R' a; free: q itself. */
static pose cross_other(const tg_model *m, const tg_work *w, int joint, const double *q, pose f, v4 *anchor, v4 *axis)
{
    const tg_params *p = w->params;
    const double *qj = q + m->joint_q[joint], *local_anchor = TG_PARAM(p, joint_pos) + 3 * joint;
    pose g;
    *anchor = f.x + mat3_mul_mem(f.R, p->joint_point + 4 * joint);
    *axis = v4_zero();
    switch (m->joint_type[joint])
    {
    case TG_JOINT_SLIDE:
        g.R = starting_rotation(m, p, joint, f.R);
        *axis = mat3_mul_mem(g.R, p->joint_axis + 4 * joint);
        g.x = *anchor - mat3_mul_mem(g.R, local_anchor) + *axis * v4_splat(qj[0] - TG_PARAM(p, joint_ref)[joint]);
        return g;
    case TG_JOINT_BALL:
        g.R = mat3_product(starting_rotation(m, p, joint, f.R), mat3_from_quat(qj));
        g.x = *anchor - mat3_mul_mem(g.R, local_anchor);
        return g;
    default: /* TG_JOINT_FREE */
        g.R = mat3_from_quat(qj + 3);
        g.x = *anchor = v4_load3(qj);
        return g;
    }
}

static inline pose cross_joint(const tg_model *m, const tg_work *w, int joint, const double *q, pose f, v4 *anchor,
                               v4 *axis)
{
    if (m->joint_type[joint] == TG_JOINT_HINGE)
        return cross_hinge(w, joint, f, anchor, axis);
    return cross_other(m, w, joint, q, f, anchor, axis);
}

/* The frame that a body has before its first joint: its parent's, with body.pos and body.quat. */
static pose fixed_frame(const tg_model *m, const tg_work *w, int body)
{
    pose f = body_frame(w, m->body_parent[body]);
    f.x += mat3_mul_mem(f.R, TG_PARAM(w->params, body_pos) + 3 * body);
    f.R = mat3_product(f.R, mat3_load(w->params->body_rot + MAT3_SIZE * body));
    return f;
}

static void place_body(const tg_model *m, tg_work *w, const double *q, int body)
{
    int first = m->body_joint[body], count = m->body_njoint[body];
    pose f = count == 0 ? fixed_frame(m, w, body) : body_frame(w, m->body_parent[body]);
    for (int j = first; j < first + count; j++)
    {
        v4 anchor, axis;
        f = cross_joint(m, w, j, q, f, &anchor, &axis);
        v4_store(w->joint_anchor + 4 * j, anchor);
        v4_store(w->joint_axis + 4 * j, axis);
        if (m->joint_type[j] == TG_JOINT_BALL || m->joint_type[j] == TG_JOINT_FREE)
            mat3_store(w->ball_rot + MAT3_SIZE * j, f.R);
    }
    v4_store(w->body_pos + 4 * body, f.x);
    mat3_store(w->body_rot + MAT3_SIZE * body, f.R);
}

void tg_place(const tg_model *m, tg_work *w, const double *q)
{
    w->placement++;
    w->generation = w->params->generation;
    const double *ref = TG_PARAM(w->params, joint_ref);
    for (int j = 0; j < m->njoint; j++)
        w->joint_angle[j] = m->joint_type[j] == TG_JOINT_HINGE ? q[m->joint_q[j]] - ref[j] : 0;
    sincos_many(w->joint_angle, w->joint_sin, w->joint_cos, m->njoint);
    v4_store(w->body_pos, v4_zero());
    mat3_store(w->body_rot, mat3_identity());
    for (int b = 1; b < m->nbody; b++)
        place_body(m, w, q, b);
}

/* ---- motion subspaces ---- */

/* rotation about an axis through an anchor: the point at the origin moves with anchor x axis */
static spatial rotation_twist(v4 anchor, v4 axis)
{
    return (spatial){v4_cross(anchor, axis), axis};
}

static void node_subspace(const tg_model *m, tg_work *w, int node)
{
    static const double unit[3][4] __attribute__((aligned(32))) = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}};
    int joint = m->node_joint[node];
    double *J = w->J + SPATIAL_SIZE * m->node_dof[node];
    v4 anchor = v4_load(w->joint_anchor + 4 * joint) - tg_node_origin(m, w, node);
    v4 axis = v4_load(w->joint_axis + 4 * joint);
    switch (m->node_type[node])
    {
    case TG_NODE_HINGE:
        spatial_store(J, rotation_twist(anchor, axis));
        break;
    case TG_NODE_SLIDE:
        spatial_store(J, (spatial){axis, v4_zero()});
        break;
    case TG_NODE_BALL:
        for (int k = 0; k < 3; k++)
            spatial_store(J + SPATIAL_SIZE * k,
                          rotation_twist(anchor, v4_load(w->ball_rot + MAT3_SIZE * joint + 4 * k)));
        break;
    default: /* TG_NODE_TRANSLATION */
        for (int k = 0; k < 3; k++)
            spatial_store(J + SPATIAL_SIZE * k, (spatial){v4_load(unit[k]), v4_zero()});
        break;
    }
}

void tg_transpose_panel(const tg_model *m, int tree, const double *x, double *panel)
{
    int ld = m->tree_ld[tree], n = m->tree_ndof[tree];
    for (int k = 0; k < n; k += V4_LANES)
        for (int half = 0; half < 2; half++)
        {
            const double *from = x + SPATIAL_SIZE * (m->tree_dof[tree] + k) + 4 * half;
            double *to = panel + 6 * m->tree_panel[tree] + 3 * half * ld + k;
            v4 a = v4_load(from), b = v4_load(from + SPATIAL_SIZE);
            v4 c = v4_load(from + 2 * SPATIAL_SIZE), d = v4_load(from + 3 * SPATIAL_SIZE);
            v4_transpose(&a, &b, &c, &d);
            v4_store(to, a);
            v4_store(to + ld, b);
            v4_store(to + 2 * ld, c);
        }
}

void tg_subspaces(const tg_model *m, tg_work *w)
{
    for (int i = 1; i < m->nnode; i++)
        node_subspace(m, w, i);
    for (int t = 0; t < m->ntree; t++)
        tg_transpose_panel(m, t, w->J, w->Jt);
}

void tg_inertias(const tg_model *m, tg_work *w)
{
    const tg_params *p = w->params;
    for (int i = 1; i < m->nnode; i++)
    {
        inertia Y = {0};
        if (m->node_massive[i])
        {
            int body = m->node_body[i];
            mat3 R = tg_body_rotation(w, body);
            v4 c = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, i) + mat3_mul_mem(R, p->node_com + 4 * i);
            Y = inertia_make(p->node_mass[i], c, R, p->node_inertia + MAT3_SIZE * i);
        }
        inertia_store(w->inertia + INERTIA_SIZE * i, Y);
    }
}

void tg_position_stage(const tg_model *m, tg_work *w, const double *q)
{
    w->stage = TG_STAGE_NONE;
    tg_place(m, w, q);
    tg_subspaces(m, w);
    tg_inertias(m, w);
    w->stage = TG_STAGE_POSITION;
}

/* ---- velocities ---- */

void tg_node_twists(const tg_model *m, const tg_work *w, const double *v, double *out)
{
    spatial_store(out, spatial_zero());
    for (int i = 1; i < m->nnode; i++)
    {
        spatial V = spatial_load(out + SPATIAL_SIZE * m->node_parent[i]);
        int dof = m->node_dof[i], end = dof + m->node_ndof[i];
        for (int k = dof; k < end; k++)
            V = spatial_axpy(V, v[k], spatial_load(w->J + SPATIAL_SIZE * k));
        spatial_store(out + SPATIAL_SIZE * i, V);
    }
}

/* ---- public ---- */

tg_status tg_kinematics(const tg_model *m, tg_work *w, const double *q, const double *v)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    if (v != NULL)
        TG_TRY(tg_check_vector(w, "v", v, m->nv));
    w->stage = TG_STAGE_NONE;
    tg_place(m, w, q);
    w->stage = TG_STAGE_PLACED;
    if (v != NULL)
    {
        tg_subspaces(m, w);
        tg_node_twists(m, w, v, w->V);
        w->stage = TG_STAGE_VELOCITY;
    }
    return TG_OK;
}

tg_status tg_need_stage(const tg_model *m, tg_work *w, tg_stage stage)
{
    TG_TRY(tg_check_work(m, w));
    if (w->stage != TG_STAGE_NONE && w->generation != w->params->generation)
        return tg_fail(&w->error, TG_ERR_STALE, "the parameters have changed since tg_kinematics");
    if (w->stage == TG_STAGE_PLACED && stage == TG_STAGE_POSITION)
    {
        tg_subspaces(m, w);
        w->stage = TG_STAGE_POSITION;
    }
    if (w->stage >= stage)
        return TG_OK;
    return tg_fail(&w->error, TG_ERR_STALE, "call tg_kinematics%s first",
                   stage == TG_STAGE_VELOCITY ? " with velocities" : "");
}

/* A frame fixed in a body at (pos, quat), in the world. */
static void world_pose(const tg_work *w, int body, const double *local_pos, const double *local_quat, double *pos,
                       double *quat)
{
    pose f = body_frame(w, body);
    if (local_pos != NULL)
        f.x += mat3_mul_mem(f.R, local_pos);
    if (local_quat != NULL)
        f.R = mat3_product(f.R, mat3_from_quat(local_quat));
    if (pos != NULL)
        v4_store3(pos, f.x);
    if (quat != NULL)
    {
        mat3 T = mat3_transpose(f.R);
        double R[9];
        for (int i = 0; i < 3; i++)
            v4_store3(R + 3 * i, T.c[i]);
        tg_quat_from_matrix(R, quat);
    }
}

tg_status tg_body_pose(const tg_model *m, tg_work *w, int body, double pos[3], double quat[4])
{
    TG_TRY(tg_need_stage(m, w, TG_STAGE_PLACED));
    TG_TRY(tg_check_index(w, "body", body, m->nbody));
    world_pose(w, body, NULL, NULL, pos, quat);
    return TG_OK;
}

tg_status tg_site_pose(const tg_model *m, tg_work *w, int site, double pos[3], double quat[4])
{
    TG_TRY(tg_need_stage(m, w, TG_STAGE_PLACED));
    TG_TRY(tg_check_index(w, "site", site, m->nsite));
    world_pose(w, m->site_body[site], TG_PARAM(w->params, site_pos) + 3 * site,
               TG_PARAM(w->params, site_quat) + 4 * site, pos, quat);
    return TG_OK;
}

tg_status tg_geom_pose(const tg_model *m, tg_work *w, int geom, double pos[3], double quat[4])
{
    TG_TRY(tg_need_stage(m, w, TG_STAGE_PLACED));
    TG_TRY(tg_check_index(w, "geom", geom, m->ngeom));
    world_pose(w, m->geom_body[geom], TG_PARAM(w->params, geom_pos) + 3 * geom,
               TG_PARAM(w->params, geom_quat) + 4 * geom, pos, quat);
    return TG_OK;
}
