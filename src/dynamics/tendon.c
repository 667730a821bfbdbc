/* Tendons.
 *
 * fixed:    length = sum coef_i q_i
 * spatial:  length = sum over the segments of |p_b - p_a| / divisor, through sites; a pulley starts a new branch
 *
 * The moment arm of dof k is d length / d q_k = sum u . (c_bk - c_ak) / divisor, where u is the direction of the
 * segment and c_pk the velocity of point p when dof k moves. */
#include "dynamics/tendon.h"

#include <math.h>

#include "dynamics/crba.h"
#include "math/lanes.h"

static v4 site_point(const tg_model *m, const tg_work *w, int site)
{
    int body = m->site_body[site];
    return v4_load(w->body_pos + 4 * body) +
           mat3_mul_mem(tg_body_rotation(w, body), TG_PARAM(w->params, site_pos) + 3 * site);
}

bool tg_next_segment(const tg_model *m, const tg_work *w, int tendon, int *item, tg_segment *s)
{
    int first = m->tendon_path[tendon], end = m->tendon_npath[tendon];
    for (; *item + 1 < end; (*item)++)
    {
        int at = first + *item;
        if (m->path_type[at] != TG_PATH_SITE || m->path_type[at + 1] != TG_PATH_SITE)
            continue;
        s->divisor = -1;
        for (int i = *item; i >= 0 && s->divisor < 0; i--)
            if (m->path_type[first + i] == TG_PATH_PULLEY)
                s->divisor = first + i;
        s->weight = s->divisor < 0 ? 1 : 1 / TG_PARAM(w->params, tendon_coef)[s->divisor];
        for (int e = 0; e < 2; e++)
        {
            s->site[e] = m->path_id[at + e];
            s->body[e] = m->site_body[s->site[e]];
            s->point[e] = site_point(m, w, s->site[e]);
        }
        v4 d = s->point[1] - s->point[0];
        s->length = sqrt(v4_dot(d, d));
        s->direction = s->length > TG_SHORTEST_SEGMENT ? d * v4_splat(1 / s->length) : v4_zero();
        (*item)++;
        return true;
    }
    return false;
}

/* velocity of a point of a body when dof k moves */
static v4 point_column(const tg_model *m, const tg_work *w, int body, v4 point, int k)
{
    v4 p = point - tg_node_origin(m, w, m->body_node[body]);
    return twist_at(spatial_load(w->J + SPATIAL_SIZE * k), p);
}

/* the last dof that moves a body, -1 if none does */
static int last_dof(const tg_model *m, int body)
{
    int node = m->body_node[body];
    return node == 0 ? -1 : m->node_dof[node] + m->node_ndof[node] - 1;
}

static double fixed_tendon(const tg_model *m, const tg_work *w, int tendon, const double *q, double *moment)
{
    double length = 0;
    for (int i = m->tendon_path[tendon]; i < m->tendon_path[tendon] + m->tendon_npath[tendon]; i++)
    {
        double coef = TG_PARAM(w->params, tendon_coef)[i];
        length += coef * q[m->joint_q[m->path_id[i]]];
        moment[m->joint_dof[m->path_id[i]]] += coef;
    }
    return length;
}

/* moment += J^T W for the dofs that move a body, four at a time: zero in the lanes of other dofs (work.h, block_bits)
 */
static void add_wrench(const tg_model *m, const tg_work *w, int body, spatial W, double *moment)
{
    int last = last_dof(m, body);
    if (last < 0)
        return;
    int tree = m->node_tree[m->body_node[body]], ld = m->tree_ld[tree], first = m->tree_dof[tree];
    const tg_ltl_pattern *p = &m->tree_ltl[tree];
    const double *Jt = w->Jt + 6 * m->tree_panel[tree];
    const uint8_t *bits = w->block_bits + w->block_start[last];
    for (int b = p->block_start[last - first]; b < p->block_start[last - first + 1]; b++)
    {
        const double *J = Jt + p->blocks[b];
        v4 sum = v4_load(J) * v4_splat(W.lin[0]) + v4_load(J + ld) * v4_splat(W.lin[1]) +
                 v4_load(J + 2 * ld) * v4_splat(W.lin[2]) + v4_load(J + 3 * ld) * v4_splat(W.ang[0]) +
                 v4_load(J + 4 * ld) * v4_splat(W.ang[1]) + v4_load(J + 5 * ld) * v4_splat(W.ang[2]);
        double *to = moment + first + p->blocks[b];
        v4_storeu(to, v4_loadu(to) + sum * v4_loadu(tg_lane_mask[*bits++]));
    }
}

/* The sites of all cables: their points, and the matrices that turn a pull on them into a torque in the axes of their
 * bodies, site x (R^T pull). Rows of the matrices are in the order y, z, -, x: their products then lie as they are
 * stored behind the three numbers of a pull. */
static void place_cable_sites(const tg_model *m, const tg_work *w)
{
    for (const int *site = m->cable_site; *site >= 0; site++)
    {
        const double *local = TG_PARAM(w->params, site_pos) + 3 * *site;
        mat3 R = tg_body_rotation(w, m->site_body[*site]), back = mat3_transpose(R);
        v4 p = v4_set(local[0], local[1], local[2], local[2]), p_next = V4_SHUFFLE(p, 1, 2, 0, 3); /* the last: any */
        v4_store(w->cable_point + 4 * *site, v4_load(w->body_pos + 4 * m->site_body[*site]) + mat3_mul_mem(R, local));
        for (int i = 0; i < 3; i++)
        {
            v4 z_x_y = p * V4_SHUFFLE(back.c[i], 1, 2, 0, 3) - p_next * back.c[i]; /* of the cross product */
            v4_store(w->cable_lever + 12 * *site + 4 * i, V4_SHUFFLE(z_x_y, 2, 0, 3, 1));
        }
    }
}

TG_INLINE void cable_end(const double *lever, v4 x, v4 y, v4 z, v4 pull, double *moment)
{
    v4 turn = v4_load(lever) * x + v4_load(lever + 4) * y + v4_load(lever + 8) * z;
    v4_storeu(moment, V4_SHUFFLE2(pull, turn, 0, 1, 2, 7));
    v2_storeu(moment + V4_LANES, (v2){turn[0], turn[1]});
}

/* Writes the moment where the cable has dofs: elsewhere it is zero since the workspace was made. */
static double cable(const tg_work *w, const int *ends, double *moment)
{
    v4 d = v4_load(w->cable_point + 4 * ends[1]) - v4_load(w->cable_point + 4 * ends[0]);
    double length = sqrt(v4_dot(d, d));
    v4 u = length > TG_SHORTEST_SEGMENT ? d * v4_splat(1 / length) : v4_zero();
    v4 x = v4_splat(u[0]), y = v4_splat(u[1]), z = v4_splat(u[2]);
    if (ends[2] >= 0)
        cable_end(w->cable_lever + 12 * ends[0], -x, -y, -z, -u, moment + ends[2]);
    if (ends[3] >= 0)
        cable_end(w->cable_lever + 12 * ends[1], x, y, z, u, moment + ends[3]);
    return length;
}

static double spatial_tendon(const tg_model *m, const tg_work *w, int tendon, double *moment)
{
    double length = 0;
    tg_segment s;
    for (int item = 0; tg_next_segment(m, w, tendon, &item, &s);)
    {
        length += s.weight * s.length;
        for (int e = 0; e < 2; e++)
        {
            v4 pull = s.direction * v4_splat(e == 0 ? -s.weight : s.weight);
            v4 p = s.point[e] - tg_node_origin(m, w, m->body_node[s.body[e]]);
            add_wrench(m, w, s.body[e], wrench_at(pull, p), moment);
        }
    }
    return length;
}

static void clear_moment(const tg_model *m, int tendon, double *moment)
{
    const int *run = tg_tendon_runs(m, tendon);
    for (const int *end = run + 2 * m->tendon_nrun[tendon]; run < end; run += 2)
    {
        double *a = moment + run[0];
        int n = run[1];
        for (; n >= V4_LANES; n -= V4_LANES, a += V4_LANES)
            v4_storeu(a, v4_zero());
        for (int k = 0; k < n; k++)
            a[k] = 0;
    }
}

void tg_tendon_all(const tg_model *m, const tg_work *w, const double *x, double *rate)
{
    for (int t = 0; t < m->ntendon; t++)
    {
        const int *ends = tg_cable_ends(m, t);
        rate[t] = ends != NULL ? tg_cable_rate(ends, tg_tendon_moment(m, w, t), x) : tg_tendon_rate(m, w, t, x);
    }
}

void tg_tendon_rates(const tg_model *m, tg_work *w, const double *v)
{
    tg_tendon_all(m, w, v, w->tendon_rate);
    w->rate_of = v;
}

void tg_tendons(const tg_model *m, tg_work *w, const double *q)
{
    tg_tendon_forget(w);
    if (m->ntendon > 0)
        place_cable_sites(m, w);
    for (int t = 0; t < m->ntendon; t++)
    {
        double *moment = tg_tendon_moment(m, w, t);
        const int *ends = tg_cable_ends(m, t);
        w->tendon_mode[t] = TG_TENDON_UPPER;
        if (ends != NULL)
        {
            w->tendon_length[t] = cable(w, ends, moment);
            continue;
        }
        clear_moment(m, t, moment);
        w->tendon_length[t] =
            m->tendon_type[t] == TG_TENDON_FIXED ? fixed_tendon(m, w, t, q, moment) : spatial_tendon(m, w, t, moment);
    }
}

double tg_tendon_rate(const tg_model *m, const tg_work *w, int tendon, const double *v)
{
    const double *moment = tg_tendon_moment(m, w, tendon);
    const int *run = tg_tendon_runs(m, tendon), *ends = tg_cable_ends(m, tendon);
    if (ends != NULL)
        return tg_cable_rate(ends, moment, v);
    v4 sum = v4_zero();
    double rest = 0;
    for (const int *end = run + 2 * m->tendon_nrun[tendon]; run < end; run += 2)
    {
        const double *a = moment + run[0], *b = v + run[0];
        int n = run[1];
        for (; n >= V4_LANES; n -= V4_LANES, a += V4_LANES, b += V4_LANES)
            sum += v4_loadu(a) * v4_loadu(b);
        rest += n > 0 ? a[0] * b[0] : 0;
        rest += n > 1 ? a[1] * b[1] : 0;
        rest += n > 2 ? a[2] * b[2] : 0;
    }
    return v4_sum(sum) + rest;
}

void tg_tendon_add(const tg_model *m, const tg_work *w, int tendon, double factor, double *sum)
{
    const double *moment = tg_tendon_moment(m, w, tendon);
    const int *run = tg_tendon_runs(m, tendon), *ends = tg_cable_ends(m, tendon);
    if (ends != NULL)
    {
        tg_cable_add(ends, moment, factor, sum);
        return;
    }
    for (const int *end = run + 2 * m->tendon_nrun[tendon]; run < end; run += 2)
    {
        const double *a = moment + run[0];
        double *b = sum + run[0];
        int n = run[1];
        for (; n >= V4_LANES; n -= V4_LANES, a += V4_LANES, b += V4_LANES)
            v4_storeu(b, v4_loadu(b) + v4_loadu(a) * v4_splat(factor));
        for (int k = 0; k < n; k++)
            b[k] += a[k] * factor;
    }
}

/* ---- second derivative ----
 *
 * d/dq_k of u . (c_bj - c_aj):  u turns by (1 - u u^T)(c_bk - c_ak) / length, and
 * d c_pj / d q_k = w_k x c_pj when k moves the axis of j (k before j, or of the same node), else w_j x c_pk. */

static v4 angular(const tg_work *w, int k)
{
    return v4_load(w->J + SPATIAL_SIZE * k + 4);
}

/* u . d c_pj / d q_k for all pairs of dofs that move one end: u . (w_k x c_pj) = w_k . (c_pj x u) where k is before j,
 * whose pair (k, j) has the same; within a node both orders */
static void add_end(const tg_model *m, tg_work *w, int body, v4 point, v4 pull)
{
    size_t nv = (size_t)m->nv;
    for (int j = last_dof(m, body); j >= 0; j = m->dof_parent[j])
    {
        v4 lever = v4_cross(point_column(m, w, body, point, j), pull);
        for (int k = last_dof(m, body); k >= 0; k = m->dof_parent[k])
        {
            if (k > j && m->dof_node[k] != m->dof_node[j])
                continue;
            double entry = v4_dot(angular(w, k), lever);
            w->hessian[(size_t)j * nv + (size_t)k] += entry;
            if (m->dof_node[k] != m->dof_node[j])
                w->hessian[(size_t)k * nv + (size_t)j] += entry;
        }
    }
}

/* columns (one v4 per dof, in the order of the path to the root) = velocities of an end of a segment */
static void end_columns(const tg_model *m, const tg_work *w, const tg_segment *s, int end, double *columns)
{
    int count = 0;
    for (int k = last_dof(m, s->body[end]); k >= 0; k = m->dof_parent[k])
        v4_store(columns + 4 * count++, point_column(m, w, s->body[end], s->point[end], k));
}

/* (c_bj - c_aj) . (1 - u u^T) (c_bk - c_ak) weight / length, end by end */
static void add_turn(const tg_model *m, tg_work *w, const tg_segment *s, int end_j, int end_k)
{
    double scale = (end_j == end_k ? s->weight : -s->weight) * tg_curvature(s->length);
    const double *column_j = w->end_column + 4 * (size_t)m->nv * (size_t)end_j;
    for (int j = last_dof(m, s->body[end_j]); j >= 0; j = m->dof_parent[j], column_j += 4)
    {
        v4 cj = v4_load(column_j);
        v4 across = (cj - s->direction * v4_splat(v4_dot(s->direction, cj))) * v4_splat(scale);
        const double *column_k = w->end_column + 4 * (size_t)m->nv * (size_t)end_k;
        for (int k = last_dof(m, s->body[end_k]); k >= 0; k = m->dof_parent[k], column_k += 4)
            w->hessian[(size_t)j * (size_t)m->nv + (size_t)k] += v4_dot(across, v4_load(column_k));
    }
}

bool tg_tendon_hessian(const tg_model *m, tg_work *w, int tendon)
{
    if (m->tendon_type[tendon] != TG_TENDON_SPATIAL)
        return false;
    const int *dof = tg_tendon_dofs(m, tendon);
    for (int i = 0; i < m->tendon_ndof[tendon]; i++)
        for (int k = 0; k < m->tendon_ndof[tendon]; k++)
            w->hessian[(size_t)dof[i] * (size_t)m->nv + (size_t)dof[k]] = 0;
    tg_segment s;
    for (int item = 0; tg_next_segment(m, w, tendon, &item, &s);)
    {
        for (int e = 0; e < 2; e++)
            end_columns(m, w, &s, e, w->end_column + 4 * (size_t)m->nv * (size_t)e);
        add_end(m, w, s.body[0], s.point[0], s.direction * v4_splat(-s.weight));
        add_end(m, w, s.body[1], s.point[1], s.direction * v4_splat(s.weight));
        for (int e = 0; e < 4; e++)
            add_turn(m, w, &s, e / 2, e % 2);
    }
    return true;
}
