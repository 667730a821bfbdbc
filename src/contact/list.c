/* Limits, dry friction and equalities of a state: which are in the problem, and how far they are from where they should
 * be. A limit enters as a contact does: when it could be met within the step, or is nearer than the reach (1 mm; 1
 * mrad). */
#include <math.h>

#include "contact/rows.h"
#include "dynamics/tendon.h"
#include "tangere/algebra.h"

static const double nearby = 1e-3; /* rad: limits of what turns */

typedef struct listing
{
    const tg_model *m;
    tg_work *w;
    const double *q, *v, *v_free;
    double dt, reach;
} listing;

/* ---- equalities ---- */

static tg_constraint *add_bond(listing *s, int equality, int rows)
{
    tg_rows *r = s->w->rows;
    tg_constraint *c = tg_add_constraint(r, TG_SOURCE_EQUALITY, equality, 0, rows);
    c->bond = r->nbond++;
    r->bond[c->bond] = (tg_bond){.body = {s->m->equality_obj1[equality], s->m->equality_obj2[equality]},
                                 .axis = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}},
                                 .linear = DIM,
                                 .angular = rows - DIM};
    for (int k = 0; k < 2; k++)
        tg_add_part(r, c, s->m->body_tree[r->bond[c->bond].body[k]]);
    return c;
}

/* a connect holds two points together; a weld also orientations, unless its torque scale is zero */
static void list_bond(listing *s, int equality)
{
    const double *data = TG_PARAM_OF(s->w->params, equality_data, equality);
    bool weld = s->m->equality_type[equality] == TG_EQUALITY_WELD;
    tg_constraint *c = add_bond(s, equality, weld && data[TG_EQUALITY_TORQUE] > 0 ? TWIST : DIM);
    tg_bond *b = &s->w->rows->bond[c->bond];
    b->anchor = tg_body_point(s->w, b->body[0], data + (weld ? TG_EQUALITY_ANCHOR : 0));
    b->point = tg_body_point(s->w, b->body[1], data + (weld ? 0 : TG_EQUALITY_ANCHOR));
}

static bool joint_turns(const tg_model *m, int joint)
{
    return m->joint_type[joint] != TG_JOINT_SLIDE;
}

/* whether the length of a tendon is an angle: a sum over hinges */
static bool tendon_turns(const tg_model *m, int tendon)
{
    int first = m->tendon_path[tendon];
    return m->tendon_type[tendon] == TG_TENDON_FIXED && m->tendon_npath[tendon] > 0 &&
           joint_turns(m, m->path_id[first]);
}

/* q1 - q1_0 = polynomial of q2 - q2_0, for joints or tendon lengths */
static void list_coupling(listing *s, int equality)
{
    tg_rows *r = s->w->rows;
    int first = s->m->equality_obj1[equality], second = s->m->equality_obj2[equality];
    tg_constraint *c = tg_add_constraint(r, TG_SOURCE_EQUALITY, equality, 0, 1);
    bool tendons = s->m->equality_type[equality] == TG_EQUALITY_TENDON;
    c->turns = tendons ? tendon_turns(s->m, first) : joint_turns(s->m, first);
    if (tendons)
    {
        tg_add_tendon_parts(s->m, s->w, c, first);
        if (second >= 0)
            tg_add_tendon_parts(s->m, s->w, c, second);
        return;
    }
    tg_add_part(r, c, s->m->body_tree[s->m->joint_body[first]]);
    if (second >= 0)
        tg_add_part(r, c, s->m->body_tree[s->m->joint_body[second]]);
}

static void list_equalities(listing *s)
{
    for (int i = 0; i < s->m->nequality; i++)
    {
        if (!s->m->equality_active[i])
            continue;
        bool bodies = s->m->equality_type[i] == TG_EQUALITY_CONNECT || s->m->equality_type[i] == TG_EQUALITY_WELD;
        if (bodies)
            list_bond(s, i);
        else
            list_coupling(s, i);
    }
}

/* ---- dry friction ---- */

void tg_add_tendon_parts(const tg_model *m, tg_work *w, tg_constraint *c, int tendon)
{
    const double *moment = tg_tendon_moment(m, w, tendon);
    for (int t = 0; t < m->ntree; t++)
        for (int k = m->tree_dof[t]; k < m->tree_dof[t] + m->tree_ndof[t]; k++)
            if (moment[k] != 0)
            {
                tg_add_part(w->rows, c, t);
                break;
            }
}

static void list_friction(listing *s)
{
    const tg_model *m = s->m;
    tg_rows *r = s->w->rows;
    const double *loss = TG_PARAM(s->w->params, joint_frictionloss);
    for (int k = 0; k < m->nv; k++)
        if (loss[m->dof_joint[k]] > 0)
            tg_add_part(r, tg_add_constraint(r, TG_SOURCE_JOINT_FRICTION, k, 0, 1), m->node_tree[m->dof_node[k]]);
    for (int t = 0; t < m->ntendon; t++)
        if (TG_PARAM(s->w->params, tendon_frictionloss)[t] > 0)
        {
            tg_constraint *c = tg_add_constraint(r, TG_SOURCE_TENDON_FRICTION, t, 0, 1);
            c->turns = tendon_turns(m, t);
            tg_add_tendon_parts(m, s->w, c, t);
        }
}

/* ---- limits ---- */

static bool within_reach(const listing *s, double phi, bool turns, double speed, double free_speed)
{
    return phi < (turns ? nearby : s->reach) + s->dt * tg_most(fabs(speed), fabs(free_speed));
}

static void add_joint_limit(const listing *s, int joint, int side)
{
    tg_rows *r = s->w->rows;
    tg_constraint *c = tg_add_constraint(r, TG_SOURCE_JOINT_LIMIT, joint, side, 1);
    c->turns = joint_turns(s->m, joint);
    tg_add_part(r, c, s->m->body_tree[s->m->joint_body[joint]]);
}

/* of a hinge or slide: both sides at once, since their speeds differ by their sign only (tg_joint_limit) */
static void list_axis_limits(listing *s, int joint)
{
    const double *range = TG_PARAM(s->w->params, joint_range) + 2 * joint;
    int dof = s->m->joint_dof[joint];
    double at = s->q[s->m->joint_q[joint]], margin = TG_PARAM(s->w->params, joint_margin)[joint];
    double speed = s->v[dof], free_speed = s->v_free[dof];
    bool turns = joint_turns(s->m, joint);
    if (within_reach(s, at - range[0] - margin, turns, speed, free_speed))
        add_joint_limit(s, joint, 0);
    if (within_reach(s, range[1] - at - margin, turns, speed, free_speed))
        add_joint_limit(s, joint, 1);
}

static void list_ball_limits(listing *s, int joint)
{
    int dof = s->m->joint_dof[joint];
    for (int side = 0; side < 2; side++)
    {
        vec3 J;
        double phi = tg_joint_limit(s->m, s->w, joint, side, s->q, J);
        if (within_reach(s, phi, true, vec3_dot(J, s->v + dof), vec3_dot(J, s->v_free + dof)))
            add_joint_limit(s, joint, side);
    }
}

double tg_ball_turn(const tg_model *m, int joint, const double *q, vec3 turn)
{
    quat4 unit;
    tg_quat_normalise(q + m->joint_q[joint], unit);
    tg_quat_log(unit, turn);
    return sqrt(vec3_dot(turn, turn));
}

double tg_joint_limit(const tg_model *m, const tg_work *w, int joint, int side, const double *q, vec3 J)
{
    const double *range = TG_PARAM(w->params, joint_range) + 2 * joint, *at = q + m->joint_q[joint];
    double margin = TG_PARAM(w->params, joint_margin)[joint];
    if (m->joint_type[joint] != TG_JOINT_BALL)
    {
        J[0] = side == 0 ? 1 : -1;
        return (side == 0 ? at[0] - range[0] : range[1] - at[0]) - margin;
    }
    vec3 turn;
    double angle = tg_ball_turn(m, joint, q, turn);
    for (int i = 0; i < DIM; i++)
        J[i] = angle > 0 ? -turn[i] / angle : 0;
    return side == 1 && angle > 0 ? range[1] - angle - margin : INFINITY;
}

double tg_tendon_limit(const tg_work *w, int tendon, int side)
{
    const double *range = TG_PARAM(w->params, tendon_range) + 2 * tendon;
    double margin = TG_PARAM(w->params, tendon_margin)[tendon], length = w->tendon_length[tendon];
    return (side == 0 ? length - range[0] : range[1] - length) - margin;
}

static void list_tendon_limits(listing *s, int tendon)
{
    double speed = tg_tendon_rate_of(s->m, s->w, tendon, s->v),
           free_speed = tg_tendon_rate(s->m, s->w, tendon, s->v_free);
    bool turns = tendon_turns(s->m, tendon);
    for (int side = 0; side < 2; side++)
    {
        if (!within_reach(s, tg_tendon_limit(s->w, tendon, side), turns, speed, free_speed))
            continue;
        tg_constraint *c = tg_add_constraint(s->w->rows, TG_SOURCE_TENDON_LIMIT, tendon, side, 1);
        c->turns = turns;
        tg_add_tendon_parts(s->m, s->w, c, tendon);
    }
}

static void list_limits(listing *s)
{
    for (int j = 0; j < s->m->njoint; j++)
        if (s->m->joint_limited[j] && s->m->joint_type[j] != TG_JOINT_FREE)
        {
            if (s->m->joint_type[j] == TG_JOINT_BALL)
                list_ball_limits(s, j);
            else
                list_axis_limits(s, j);
        }
    for (int t = 0; t < s->m->ntendon; t++)
        if (s->m->tendon_limited[t])
            list_tendon_limits(s, t);
}

/* ---- all ---- */

static void clear(tg_rows *r)
{
    r->ntouch = r->nbond = r->nconstraint = r->npart = r->nrow = r->nisland = r->needed = r->ngiven = 0;
    r->left_out = false;
}

void tg_list_equalities(const tg_model *m, tg_work *w)
{
    listing s = {.m = m, .w = w};
    clear(w->rows);
    list_equalities(&s);
}

void tg_list_joints(const tg_model *m, tg_work *w, const double *q, const double *v, const double *v_free,
                    const tg_contact_settings *settings)
{
    listing s = {m, w, q, v, v_free, settings->dt, settings->reach};
    clear(w->rows);
    list_equalities(&s);
    list_friction(&s);
    list_limits(&s);
}
