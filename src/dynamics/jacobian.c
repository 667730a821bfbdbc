/* Twists of bodies and sites as a user sees them, and their Jacobians. */
#include "dynamics/kinematics.h"

/* How a twist at the tree's origin becomes what the caller asked for. */
typedef struct view
{
    v4 point; /* relative to the origin of the tree */
    mat3 R;   /* to world axes */
    bool local;
} view;

static view make_view(const tg_model *m, const tg_work *w, int body, const double *point, tg_frame frame)
{
    mat3 R = tg_body_rotation(w, body);
    v4 world = v4_zero();
    if (frame != TG_FRAME_WORLD)
        world = v4_load(w->body_pos + 4 * body) + (point != NULL ? mat3_mul_mem(R, point) : v4_zero());
    return (view){world - tg_node_origin(m, w, m->body_node[body]), R, frame == TG_FRAME_LOCAL};
}

static spatial seen(view s, spatial V)
{
    v4 lin = twist_at(V, s.point);
    if (s.local)
        return (spatial){mat3_mul_t(s.R, lin), mat3_mul_t(s.R, V.ang)};
    return (spatial){lin, V.ang};
}

static tg_status check_body_query(const tg_model *m, tg_work *w, tg_stage stage, int body, const double *point,
                                  tg_frame frame, const double *out)
{
    TG_TRY(tg_need_stage(m, w, stage));
    TG_TRY(tg_check_index(w, "body", body, m->nbody));
    if ((unsigned)frame > TG_FRAME_ALIGNED)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "frame %d does not exist", (int)frame);
    if (frame == TG_FRAME_WORLD && point != NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "TG_FRAME_WORLD takes no point");
    if (out == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "out is NULL");
    return point == NULL ? TG_OK : tg_check_vector(w, "point", point, 3);
}

static void fill_jacobian(const tg_model *m, const tg_work *w, int body, view s, double *out)
{
    int nv = m->nv;
    memset(out, 0, sizeof(double) * 6 * (size_t)nv);
    int node = m->body_node[body];
    if (node == 0)
        return;
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        spatial J = seen(s, spatial_load(w->J + SPATIAL_SIZE * k));
        for (int i = 0; i < 3; i++)
        {
            out[i * nv + k] = J.lin[i];
            out[(i + 3) * nv + k] = J.ang[i];
        }
    }
}

tg_status tg_body_jacobian(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame, double *out)
{
    TG_TRY(check_body_query(m, w, TG_STAGE_POSITION, body, point, frame, out));
    fill_jacobian(m, w, body, make_view(m, w, body, point, frame), out);
    return TG_OK;
}

tg_status tg_site_jacobian(const tg_model *m, tg_work *w, int site, tg_frame frame, double *out)
{
    TG_TRY(tg_need_stage(m, w, TG_STAGE_POSITION));
    TG_TRY(tg_check_index(w, "site", site, m->nsite));
    int body = m->site_body[site];
    const double *pos = TG_PARAM(w->params, site_pos) + 3 * site;
    TG_TRY(check_body_query(m, w, TG_STAGE_POSITION, body, frame == TG_FRAME_WORLD ? NULL : pos, frame, out));
    view s = make_view(m, w, body, frame == TG_FRAME_WORLD ? NULL : pos, frame);
    if (s.local) /* the axes of the site, not of its body */
        s.R = mat3_product(s.R, mat3_from_quat(TG_PARAM(w->params, site_quat) + 4 * site));
    fill_jacobian(m, w, body, s, out);
    return TG_OK;
}

static void store_twist(double *out, spatial V)
{
    v4_store3(out, V.lin);
    v4_store3(out + 3, V.ang);
}

tg_status tg_body_velocity(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                           double out[6])
{
    TG_TRY(check_body_query(m, w, TG_STAGE_VELOCITY, body, point, frame, out));
    spatial V = spatial_load(w->V + SPATIAL_SIZE * m->body_node[body]);
    store_twist(out, seen(make_view(m, w, body, point, frame), V));
    return TG_OK;
}

/* d/dt of the rows of the Jacobian, times v. At the tree's origin it is the sum over the path of V_parent x (J v). Seen
 * from a point p that moves with the body, in world axes, the linear part has + w x (velocity of p), the derivative of
 * w x p; in body axes the turning of the axes, - w x (velocity of p), takes it away again. The world's origin does not move. */
tg_status tg_body_jacobian_dot_v(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                                 double out[6])
{
    TG_TRY(check_body_query(m, w, TG_STAGE_VELOCITY, body, point, frame, out));
    int node = m->body_node[body];
    spatial V = spatial_load(w->V + SPATIAL_SIZE * node), bias = spatial_zero();
    for (int i = node; i > 0; i = m->node_parent[i])
    {
        spatial Vp = spatial_load(w->V + SPATIAL_SIZE * m->node_parent[i]);
        bias = spatial_add(bias, motion_cross(Vp, spatial_sub(spatial_load(w->V + SPATIAL_SIZE * i), Vp)));
    }
    view s = make_view(m, w, body, point, frame);
    spatial D = seen(s, bias);
    if (frame == TG_FRAME_ALIGNED)
        D.lin += v4_cross(V.ang, twist_at(V, s.point));
    store_twist(out, D);
    return TG_OK;
}
