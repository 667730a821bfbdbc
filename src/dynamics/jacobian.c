/* Twists of bodies and sites as a user sees them, and their Jacobians. */
#include "dynamics/kinematics.h"

/* Converts a twist at the tree's origin to the requested point and axes. */
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

static void store_column(double *out, int nv, int k, spatial x)
{
    for (int i = 0; i < 3; i++)
    {
        out[i * nv + k] = x.lin[i];
        out[(i + 3) * nv + k] = x.ang[i];
    }
}

static void fill_jacobian(const tg_model *m, const tg_work *w, int body, view s, double *out)
{
    int nv = m->nv;
    memset(out, 0, sizeof(double) * 6 * (size_t)nv);
    int node = m->body_node[body];
    if (node == 0)
        return;
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
        store_column(out, nv, k, seen(s, spatial_load(w->J + SPATIAL_SIZE * k)));
}

tg_status tg_body_jacobian(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame, double *out)
{
    TG_TRY(check_body_query(m, w, TG_STAGE_POSITION, body, point, frame, out));
    fill_jacobian(m, w, body, make_view(m, w, body, point, frame), out);
    return TG_OK;
}

static tg_status site_view(const tg_model *m, tg_work *w, tg_stage stage, int site, tg_frame frame, const double *out,
                           view *s)
{
    TG_TRY(tg_need_stage(m, w, stage));
    TG_TRY(tg_check_index(w, "site", site, m->nsite));
    int body = m->site_body[site];
    const double *pos = TG_PARAM(w->params, site_pos) + 3 * site;
    TG_TRY(check_body_query(m, w, stage, body, frame == TG_FRAME_WORLD ? NULL : pos, frame, out));
    *s = make_view(m, w, body, frame == TG_FRAME_WORLD ? NULL : pos, frame);
    if (s->local) /* the axes of the site, not of its body */
        s->R = mat3_product(s->R, mat3_from_quat(TG_PARAM(w->params, site_quat) + 4 * site));
    return TG_OK;
}

tg_status tg_site_jacobian(const tg_model *m, tg_work *w, int site, tg_frame frame, double *out)
{
    view s;
    TG_TRY(site_view(m, w, TG_STAGE_POSITION, site, frame, out, &s));
    fill_jacobian(m, w, m->site_body[site], s, out);
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

/* A dof k behind node l turns what is behind it: dV = (V_l - V) x J_k at a fixed point; the body's own point p moves
 * besides, and its axes turn. */
static spatial velocity_change(view s, tg_frame frame, spatial V, spatial Vl, spatial J)
{
    spatial dV = motion_cross(spatial_sub(Vl, V), J);
    spatial out = {twist_at(dV, s.point), dV.ang};
    if (frame != TG_FRAME_WORLD)
        out.lin += v4_cross(V.ang, twist_at(J, s.point));
    if (!s.local)
        return out;
    v4 lin = out.lin - v4_cross(J.ang, twist_at(V, s.point)), ang = out.ang - v4_cross(J.ang, V.ang);
    return (spatial){mat3_mul_t(s.R, lin), mat3_mul_t(s.R, ang)};
}

static void fill_velocity_derivative(const tg_model *m, const tg_work *w, int body, view s, tg_frame frame, double *out)
{
    memset(out, 0, sizeof(double) * 6 * (size_t)m->nv);
    int node = m->body_node[body];
    spatial V = spatial_load(w->V + SPATIAL_SIZE * node);
    for (int i = node; i > 0; i = m->node_parent[i])
    {
        spatial Vl = spatial_load(w->V + SPATIAL_SIZE * m->node_parent[i]);
        for (int k = m->node_dof[i]; k < m->node_dof[i] + m->node_ndof[i]; k++)
            store_column(out, m->nv, k, velocity_change(s, frame, V, Vl, spatial_load(w->J + SPATIAL_SIZE * k)));
    }
}

tg_status tg_body_velocity_derivative(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                                      double *out)
{
    TG_TRY(check_body_query(m, w, TG_STAGE_VELOCITY, body, point, frame, out));
    fill_velocity_derivative(m, w, body, make_view(m, w, body, point, frame), frame, out);
    return TG_OK;
}

tg_status tg_site_velocity_derivative(const tg_model *m, tg_work *w, int site, tg_frame frame, double *out)
{
    view s;
    TG_TRY(site_view(m, w, TG_STAGE_VELOCITY, site, frame, out, &s));
    fill_velocity_derivative(m, w, m->site_body[site], s, frame, out);
    return TG_OK;
}

tg_status tg_site_velocity(const tg_model *m, tg_work *w, int site, tg_frame frame, double out[6])
{
    view s;
    TG_TRY(site_view(m, w, TG_STAGE_VELOCITY, site, frame, out, &s));
    store_twist(out, seen(s, spatial_load(w->V + SPATIAL_SIZE * m->body_node[m->site_body[site]])));
    return TG_OK;
}

/* d/dt of the rows of the Jacobian, times v. At the tree's origin it is the sum over the path of V_parent x (J v). Seen
 * from a point p that moves with the body, in world axes, the linear part has + w x (velocity of p), the derivative of
 * w x p; in body axes the turning of the axes, - w x (velocity of p), takes it away again. The world's origin does not
 * move. */
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
