/* The rows themselves: J_t^T column by column, and each row's position error.
 *
 * A row along axis d at point p of a body is the wrench (d; p x d), of an angular velocity (0; d): its entry for dof k
 * is the power of that wrench along the dof's twist. Up to four rows of a bond are done at once, one a lane. */
#include <math.h>

#include "contact/rows.h"
#include "contact/rows_lanes.h"
#include "dynamics/tendon.h"
#include "math/ltl.h"
#include "model/reference.h"
#include "tangere/algebra.h"

/* Columns of a tree involve a dof and its ancestors. */
static inline void support_columns(const tg_model *m, const tg_rows *r, int tree, int column, int rows, int dof)
{
    int words = tg_chain_words(m->tree_ndof[tree]), first = column / V4_LANES, last = (column + rows - 1) / V4_LANES;
    const uint64_t *chain = m->tree_ltl[tree].chain + dof * words;
    uint64_t *support = r->support + r->tree_support[tree] + first * words;
    for (int w = 0; w < words; w++)
    {
        uint64_t bits = chain[w], *word = support + w;
        *word |= bits;
        for (int c = first; c < last; c++)
            *(word += words) |= bits;
    }
}

/* ---- rows between two bodies ---- */

static spatial bond_wrench(const tg_bond *b, int row, v4 p)
{
    if (row < b->linear)
        return wrench_at(b->axis[row], p);
    return (spatial){v4_zero(), b->axis[row - b->linear]};
}

static tg_row_lanes gather_wrenches(const tg_bond *b, int first, v4 p, double sign)
{
    v4 lin[V4_LANES], ang[V4_LANES];
    for (int i = 0; i < V4_LANES; i++)
    {
        spatial s =
            first + i < b->linear + b->angular ? spatial_scale(bond_wrench(b, first + i, p), sign) : spatial_zero();
        lin[i] = s.lin;
        ang[i] = s.ang;
    }
    return (tg_row_lanes){tg_lanes3_of(lin), tg_lanes3_of(ang)};
}

/* Adds four rows at a time; lanes past the last row add zero to their neighbours. */
static void add_body_rows(const tg_model *m, const tg_work *w, const tg_bond *b, int side, int column)
{
    tg_rows *r = w->rows;
    int node = m->body_node[b->body[side]], tree = m->node_tree[node];
    if (node == 0)
        return;
    int ld = v4_pad(r->tree_columns[tree]), first_dof = m->tree_dof[tree];
    r->tree_touched[tree] = true;
    v4 p = b->point - tg_node_origin(m, w, node);
    support_columns(m, r, tree, column, b->linear + b->angular, tg_last_dof(m, node) - first_dof);
    for (int first = 0; first < b->linear + b->angular; first += V4_LANES)
    {
        tg_row_lanes W = gather_wrenches(b, first, p, side == 0 ? -1 : 1);
        tg_add_row_lanes(m, node, &W, w->J, r->J + r->tree_start[tree] + column + first - (ptrdiff_t)first_dof * ld,
                         ld);
    }
}

static int column_in(const tg_rows *r, const tg_constraint *c, int tree)
{
    for (int k = c->part; k < c->part + c->parts; k++)
        if (r->part[k].tree == tree)
            return r->part[k].column;
    return -1;
}

static void fill_bond(const tg_model *m, const tg_work *w, const tg_constraint *c, const tg_bond *b)
{
    for (int side = 0; side < 2; side++)
        add_body_rows(m, w, b, side, column_in(w->rows, c, m->body_tree[b->body[side]]));
}

/* rotation vector (world axes) from where body 2 should be to where it is: Log(R_2 (R_1 R_rel)^T) */
static void weld_error(const tg_model *m, const tg_work *w, int equality, vec3 out)
{
    const double *data = TG_PARAM_OF(w->params, equality_data, equality);
    mat3 target =
        mat3_product(tg_body_rotation(w, m->equality_obj1[equality]), mat3_from_quat(data + TG_EQUALITY_QUAT));
    mat3 error = mat3_product(tg_body_rotation(w, m->equality_obj2[equality]), mat3_transpose(target));
    mat33 R;
    mat3 T = mat3_transpose(error);
    for (int i = 0; i < DIM; i++)
        v4_store3(R + DIM * i, T.c[i]);
    tg_so3_log(R, out);
}

/* ---- rows of single dofs and tendons ---- */

static void add_entry(const tg_model *m, tg_rows *r, const tg_constraint *c, int dof, double value)
{
    int tree = m->node_tree[m->dof_node[dof]], column = column_in(r, c, tree), k = dof - m->tree_dof[tree];
    r->tree_touched[tree] = true;
    support_columns(m, r, tree, column, 1, k);
    r->J[r->tree_start[tree] + (size_t)k * (size_t)v4_pad(r->tree_columns[tree]) + (size_t)column] += value;
}

static void add_tendon(const tg_model *m, const tg_work *w, const tg_constraint *c, int tendon, double factor)
{
    const double *moment = tg_tendon_moment(m, w, tendon);
    for (int k = 0; k < m->nv; k++)
        if (moment[k] != 0)
            add_entry(m, w->rows, c, k, factor * moment[k]);
}

/* y = sum c_i x^i and its derivatives */
static double polynomial(const double c[TG_COEFFICIENTS], double x, double *slope, double *bend)
{
    double y = 0, half_bend = 0;
    *slope = 0;
    for (int i = TG_COEFFICIENTS - 1; i >= 0; i--)
    {
        half_bend = half_bend * x + *slope;
        *slope = *slope * x + y;
        y = y * x + c[i];
    }
    *bend = 2 * half_bend;
    return y;
}

tg_coupling tg_coupling_of(const tg_model *m, const tg_work *w, int equality, const double *q)
{
    const double *data = TG_PARAM_OF(w->params, equality_data, equality);
    int obj[2] = {m->equality_obj1[equality], m->equality_obj2[equality]};
    bool tendon = m->equality_type[equality] == TG_EQUALITY_TENDON;
    double x[2] = {0, 0};
    for (int k = 0; k < 2 && obj[k] >= 0; k++)
        x[k] = tendon ? w->tendon_length[obj[k]] - w->params->tendon_length0[obj[k]]
                      : q[m->joint_q[obj[k]]] - w->params->q0[m->joint_q[obj[k]]];
    tg_coupling out = {.x = x[1]};
    double target = polynomial(data, x[1], &out.slope, &out.bend);
    if (obj[1] < 0)
    {
        out.slope = out.bend = 0;
        target = data[0];
    }
    out.error = x[0] - target;
    return out;
}

static void fill_coupling(const tg_model *m, const tg_work *w, const tg_constraint *c, const double *q)
{
    int first = m->equality_obj1[c->index], second = m->equality_obj2[c->index];
    tg_coupling k = tg_coupling_of(m, w, c->index, q);
    w->rows->phi[c->row] = k.error;
    if (m->equality_type[c->index] == TG_EQUALITY_TENDON)
    {
        add_tendon(m, w, c, first, 1);
        if (second >= 0)
            add_tendon(m, w, c, second, -k.slope);
        return;
    }
    add_entry(m, w->rows, c, m->joint_dof[first], 1);
    if (second >= 0)
        add_entry(m, w->rows, c, m->joint_dof[second], -k.slope);
}

/* ---- all ---- */

static void fill_equality(const tg_model *m, const tg_work *w, const tg_constraint *c, const double *q)
{
    if (c->bond < 0)
    {
        fill_coupling(m, w, c, q);
        return;
    }
    const tg_bond *b = &w->rows->bond[c->bond];
    double *phi = w->rows->phi + c->row;
    fill_bond(m, w, c, b);
    v4_store3(phi, b->point - b->anchor);
    if (b->angular > 0)
        weld_error(m, w, c->index, phi + DIM);
}

static void fill_joint_limit(const tg_model *m, const tg_work *w, const tg_constraint *c, const double *q)
{
    vec3 J;
    w->rows->phi[c->row] = tg_joint_limit(m, w, c->index, c->side, q, J);
    int n = m->joint_type[c->index] == TG_JOINT_BALL ? DIM : 1;
    for (int i = 0; i < n; i++)
        add_entry(m, w->rows, c, m->joint_dof[c->index] + i, J[i]);
}

static void fill_constraint(const tg_model *m, const tg_work *w, const tg_constraint *c, const double *q)
{
    tg_rows *r = w->rows;
    for (int i = 0; i < c->rows; i++)
        r->phi[c->row + i] = 0;
    switch (c->source)
    {
    case TG_SOURCE_EQUALITY:
        fill_equality(m, w, c, q);
        break;
    case TG_SOURCE_JOINT_FRICTION:
        add_entry(m, r, c, c->index, 1);
        break;
    case TG_SOURCE_TENDON_FRICTION:
        add_tendon(m, w, c, c->index, 1);
        break;
    case TG_SOURCE_JOINT_LIMIT:
        fill_joint_limit(m, w, c, q);
        break;
    case TG_SOURCE_TENDON_LIMIT:
        r->phi[c->row] = tg_tendon_limit(w, c->index, c->side);
        add_tendon(m, w, c, c->index, c->side == 0 ? 1 : -1);
        break;
    default:
        fill_bond(m, w, c, &r->touch[c->index].bond);
        r->phi[c->row] = r->touch[c->index].phi;
        break;
    }
}

static void clear_support(const tg_model *m, tg_rows *r)
{
    size_t words = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        r->tree_support[t] = words;
        words += (size_t)(v4_pad(r->tree_columns[t]) / V4_LANES) * (size_t)tg_chain_words(m->tree_ndof[t]);
    }
    memset(r->support, 0, sizeof *r->support * words);
}

void tg_fill_jacobian(const tg_model *m, tg_work *w, const double *q)
{
    tg_rows *r = w->rows;
    clear_support(m, r);
    for (size_t i = 0; i < r->tree_start[m->ntree] + V4_LANES; i += V4_LANES)
        v4_store(r->J + i, v4_zero());
    r->null_known = false;
    memset(r->tree_touched, 0, sizeof *r->tree_touched * (size_t)m->ntree);
    for (int i = 0; i < r->nconstraint; i++)
        if (r->constraint[i].parts > 0)
            fill_constraint(m, w, &r->constraint[i], q);
}
