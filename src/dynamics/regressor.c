/* The regressor of inverse dynamics: tau is linear in the inertial parameters pi = (m, m c, I about the body's origin)
 * of each body, with the wrench of one parameter f = (dI) A + V x* (dI) V and tau_k = J_k . f for every dof k that
 * moves the body.
 *
 * At the origin of the body frame, in its axes: a the spatial acceleration there, with w and alpha,
 *   m     force  a + w x v
 *   m c_i force  alpha x e_i + w x (w x e_i),  moment  e_i x (a + w x v)
 *   I_ij  moment E alpha + w x E w,  E the symmetric unit matrix of i, j */
#include "dynamics/kinematics.h"
#include "dynamics/rnea.h"

typedef struct local_motion
{
    v4 acceleration; /* a + w x v of the body's origin */
    v4 w, alpha;
} local_motion;

static spatial unit_wrench(const local_motion *b, int parameter)
{
    static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
    mat3 E = mat3_identity();
    if (parameter == 0)
        return (spatial){b->acceleration, v4_zero()};
    if (parameter < 4)
    {
        v4 e = E.c[parameter - 1];
        return (spatial){v4_cross(b->alpha, e) + v4_cross(b->w, v4_cross(b->w, e)), v4_cross(e, b->acceleration)};
    }
    int i = row[parameter - 4], j = column[parameter - 4];
    v4 Ew = E.c[i] * v4_splat(b->w[j]), Ea = E.c[i] * v4_splat(b->alpha[j]);
    if (i != j)
    {
        Ew += E.c[j] * v4_splat(b->w[i]);
        Ea += E.c[j] * v4_splat(b->alpha[i]);
    }
    return (spatial){v4_zero(), Ea + v4_cross(b->w, Ew)};
}

static void body_columns(const tg_model *m, const tg_work *w, int body, double *Y)
{
    int node = m->body_node[body];
    mat3 R = tg_body_rotation(w, body);
    v4 p = v4_load(w->body_pos + 4 * body) - tg_node_origin(m, w, node);
    spatial V = spatial_load(w->V + SPATIAL_SIZE * node), A = spatial_load(w->A + SPATIAL_SIZE * node);
    v4 a = twist_at(A, p) + v4_cross(V.ang, twist_at(V, p));
    local_motion b = {mat3_mul_t(R, a), mat3_mul_t(R, V.ang), mat3_mul_t(R, A.ang)};
    for (int i = 0; i < 10; i++)
    {
        spatial f = unit_wrench(&b, i);
        spatial world = wrench_at(mat3_mul(R, f.lin), p);
        world.ang += mat3_mul(R, f.ang);
        for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
            Y[(size_t)k * 10 * (size_t)m->nbody + 10 * (size_t)body + (size_t)i] =
                spatial_dot(spatial_load(w->J + SPATIAL_SIZE * k), world);
    }
}

tg_status tg_rnea_regressor(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a, double *Y)
{
    TG_TRY(tg_check_state(m, w, q, v));
    if (a != NULL)
        TG_TRY(tg_check_vector(w, "a", a, m->nv));
    TG_TRY(tg_check_output(w, "Y", Y, m->nv));
    tg_position_stage(m, w, q);
    tg_node_twists(m, w, v, w->V);
    w->stage = TG_STAGE_VELOCITY;
    tg_node_accelerations(m, w, a);
    memset(Y, 0, sizeof(double) * 10 * (size_t)m->nbody * (size_t)m->nv);
    for (int body = 1; body < m->nbody; body++)
        if (m->body_node[body] != 0)
            body_columns(m, w, body, Y);
    return TG_OK;
}
