/* Forward mode along parameters: how forces change, at frozen q, v and accelerations, when numbers of the parameter
 * vector do.
 *
 * Parameters that place bodies and joints displace what is behind them in the tree: Z of a body, a twist about the
 * origin of its tree. A dof's twist follows the frame that its joint starts from, dJ = Z x J, and the twist T of a
 * velocity field x by dT = sum of dJ x along the path. Everything else follows from Z, dJ and dT, as in reverse mode
 * (adjoint.h), whose transpose this is: one sweep per direction, whatever it contains. */
#ifndef TG_DYNAMICS_CHANGE_H
#define TG_DYNAMICS_CHANGE_H

#include "dynamics/actuation.h"
#include "dynamics/cable.h"
#include "dynamics/work.h"

/* X(type, name, count, documentation) */
#define TG_CHANGE_FIELDS(X)                                                                                            \
    X(bool, still, m->nbody, "bodies that are not displaced: Z is zero")                                               \
    X(bool, still_node, m->nnode, "nodes whose dofs do not change: dJ, dV and dA of theirs are zero")                  \
    X(double, Z, SPATIAL_SIZE * m->nbody, "displacement of every body")                                                \
    X(double, dJ, SPATIAL_SIZE * m->nv, "change of every dof's twist")                                                 \
    X(double, dV, SPATIAL_SIZE * m->nnode, "change of the nodes' twists")                                              \
    X(double, dA, SPATIAL_SIZE * m->nnode, "of their accelerations")                                                   \
    X(double, dN, SPATIAL_SIZE * m->nnode, "of the twists of a second field: v at the end of a step")                  \
    X(double, dP, SPATIAL_SIZE * m->nnode, "of the twists of a third field")                                           \
    X(double, dF, SPATIAL_SIZE * m->nnode, "of the forces on them: inertial less applied ones; summed over subtrees")  \
    X(double, length, m->ntendon, "of the tendons")                                                                    \
    X(double, moment, (size_t)m->ntendon *(size_t)m->nv, "of their moments")                                           \
    X(double, driven, m->nv, "of the forces of all actuators")                                                         \
    X(double, arm, m->nv, "of one actuator's moment")                                                                  \
    X(double, signal, m->nu, "of the actuators' signals")                                                              \
    X(double, force, m->nv, "of the generalised forces")

/* Numbers first .. last - 1 of the vector. */
typedef struct tg_param_range
{
    int first, last;
} tg_param_range;

/* Outside of which params (nparams, or NULL) is zero. */
tg_param_range tg_range_of(const tg_model *m, const double *params);

/* One direction. */
typedef struct tg_change
{
    const double *params; /* nparams, or NULL */
    tg_param_range range; /* where they may differ from zero */
    double dt;            /* of the time step */
    bool moves;           /* bodies are displaced: Z, dJ, dV, dA are valid */
    bool pulls;           /* tendons change: length, moment are valid */
    bool pushes;          /* dF is not zero */
#define X(type, name, count, doc) type *name;
    TG_CHANGE_FIELDS(X)
#undef X
} tg_change;

void tg_change_place(tg_change *c, const tg_model *m, tg_arena *arena);

/* whether one of count numbers from first on may change */
static inline bool tg_changes(const tg_change *c, int first, int count)
{
    return c->params != NULL && first < c->range.last && first + count > c->range.first;
}

static inline spatial tg_displacement(const tg_change *c, int body)
{
    return c->moves ? spatial_load(c->Z + SPATIAL_SIZE * body) : spatial_zero();
}

/* the change of a vector's twist at a node, from those of tg_change_twists */
static inline spatial tg_twist_change(const tg_change *c, const double *twists, int node)
{
    return c->moves ? spatial_load(twists + SPATIAL_SIZE * node) : spatial_zero();
}

/* a rotation vector in parent axes: of a quaternion whose four numbers change by d */
v4 tg_quaternion_turn(const double *quat, const double *d);

/* Starts a direction (NULL: no parameters): displacements, tendons; clears dF and force. After the velocity stage and
 * tg_transmissions. */
void tg_change_begin(const tg_model *m, tg_work *w, tg_change *c, const double *params, tg_param_range range,
                     const double *q);

/* out (a twist a node): of the twists of x (nv), where bodies are displaced. */
void tg_change_twists(const tg_model *m, const tg_change *c, const double *x, double *out);

/* To dF: inverse dynamics at accelerations a (nv). After tg_node_accelerations(a). */
void tg_change_inertial(const tg_model *m, const tg_work *w, tg_change *c, const double *v, const double *a);

/* To force: springs and dampers of joints and tendons; when those of tendons act. */
void tg_change_passive(const tg_model *m, tg_work *w, tg_change *c, const double *q, const double *v,
                       tg_tendon_when when);

/* To force: actuators, drive: what they do (tg_drive_of), v_late: velocities of those that are late. signal is there
 * afterwards. */
void tg_change_actuation(const tg_model *m, tg_work *w, tg_change *c, const double *q, const double *v,
                         const double *v_late, const double *act, const tg_drive *drive);

/* of an activation's rate or, at the end of a step (d from tg_next_activation), of itself; without that of act and u */
double tg_change_signal(const tg_model *m, const tg_work *w, const tg_change *c, int i, double act, const tg_drive *d);

/* force -= J^T dF + dJ^T F, F: what dF is the change of, summed over subtrees (w->F). */
void tg_change_end(const tg_model *m, const tg_work *w, tg_change *c);

#endif
