/* How the contact points of a model move with q. Dof k displaces geom1 by its twist if it moves geom1's body, and geom2
 * likewise; the contact moves as a rigid body with geom1, plus what the difference of the two twists does to it
 * (collision/narrow_deriv.h). */
#include "collision/narrow_deriv.h"
#include "contact/collide.h"
#include "dynamics/kinematics.h"

static void add_column(double *matrix, int nv, int k, v4 x)
{
    for (int i = 0; matrix != NULL && i < DIM; i++)
        matrix[i * nv + k] += x[i];
}

static void add_motion(const tg_contact_motion *out, int nv, int k, tg_point_motion motion)
{
    add_column(out->point, nv, k, motion.point);
    add_column(out->normal, nv, k, motion.normal);
    if (out->distance != NULL)
        out->distance[k] += motion.distance;
}

/* sign: +1 for geom2, -1 for geom1, which the contact also moves with */
static void add_body(const tg_model *m, const tg_work *w, int body, const tg_contact_point *c, double sign,
                     const tg_contact_motion *out)
{
    int node = m->body_node[body];
    if (node == 0)
        return;
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
        v4 turn = J.ang, shift = twist_at(J, c->point - tg_node_origin(m, w, node)), s = v4_splat(sign);
        add_motion(out, m->nv, k, tg_motion_by_twist(c, shift * s, turn * s));
        if (sign < 0)
            add_motion(out, m->nv, k, (tg_point_motion){shift, v4_cross(turn, c->normal), 0});
    }
}

void tg_move_contact(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c,
                     const tg_contact_motion *out)
{
    if (w->stage == TG_STAGE_PLACED)
    {
        tg_subspaces(m, w);
        w->stage = TG_STAGE_POSITION;
    }
    add_body(m, w, m->geom_body[pair.first], c, -1, out);
    add_body(m, w, m->geom_body[pair.second], c, 1, out);
}
