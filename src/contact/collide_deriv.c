/* How the contact points of a model move with q. Dof k displaces geom1 by its twist if it moves geom1's body, and geom2
 * likewise; the contact moves as a rigid body with geom1, plus what the difference of the two twists does to it
 * (collision/narrow_deriv.h). */
#include "collision/narrow_deriv.h"
#include "contact/collide.h"
#include "dynamics/kinematics.h"

typedef struct derivative_list
{
    tg_contact *contact;
    int capacity;
    double *dpoint, *dnormal, *ddistance;
} derivative_list;

/* Velocity of the point and rotation of the body when dof k moves. */
static void displacement(const tg_model *m, const tg_work *w, int body, v4 point, int k, v4 *shift, v4 *turn)
{
    spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
    *shift = twist_at(J, point - tg_node_origin(m, w, m->body_node[body]));
    *turn = J.ang;
}

static void add_column(double *matrix, int nv, int k, v4 x)
{
    for (int i = 0; matrix != NULL && i < DIM; i++)
        matrix[i * nv + k] += x[i];
}

typedef struct rows
{
    double *point, *normal, *distance;
} rows;

static void add_motion(rows out, int nv, int k, tg_point_motion motion)
{
    add_column(out.point, nv, k, motion.point);
    add_column(out.normal, nv, k, motion.normal);
    if (out.distance != NULL)
        out.distance[k] += motion.distance;
}

/* sign: +1 for geom2, -1 for geom1, which the contact also moves with */
static void add_body(const tg_model *m, const tg_work *w, int body, const tg_contact_point *c, double sign, rows out)
{
    int node = m->body_node[body];
    if (node == 0)
        return;
    for (int k = m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
    {
        v4 shift, turn, s = v4_splat(sign);
        displacement(m, w, body, c->point, k, &shift, &turn);
        add_motion(out, m->nv, k, tg_motion_by_twist(c, shift * s, turn * s));
        if (sign < 0)
            add_motion(out, m->nv, k, (tg_point_motion){shift, v4_cross(turn, c->normal), 0});
    }
}

static double *slot(double *array, int number, int size)
{
    if (array == NULL)
        return NULL;
    double *at = array + (size_t)number * (size_t)size;
    memset(at, 0, sizeof(double) * (size_t)size);
    return at;
}

static void store_derivative(const tg_model *m, tg_work *w, tg_geom_pair pair, const tg_contact_point *c, int number,
                             void *context)
{
    derivative_list *list = context;
    if (number >= list->capacity)
        return;
    if (w->stage == TG_STAGE_PLACED)
    {
        tg_subspaces(m, w);
        w->stage = TG_STAGE_POSITION;
    }
    list->contact[number] = tg_as_contact(m, pair, c);
    list->contact[number].gap -= tg_pair_margin(m, w->params, pair);
    rows out = {slot(list->dpoint, number, DIM * m->nv), slot(list->dnormal, number, DIM * m->nv),
                slot(list->ddistance, number, m->nv)};
    add_body(m, w, m->geom_body[pair.first], c, -1, out);
    add_body(m, w, m->geom_body[pair.second], c, 1, out);
}

tg_status tg_collide_derivatives(const tg_model *m, tg_work *w, const double *q, double margin, tg_contact *contact,
                                 int capacity, int *count, double *dpoint, double *dnormal, double *ddistance)
{
    TG_TRY(tg_check_collide(m, w, q, margin, contact, capacity, count));
    derivative_list list = {contact, capacity, dpoint, dnormal, ddistance};
    return tg_visit_contacts(m, w, q, margin, store_derivative, &list, count);
}
