/* What one cable adds to the derivatives of forces (tendon.h: straight between two free bodies, or one and the world).
 *
 * d = p_1 - p_0, l = |d|, u = d / l. With C = (-C_0, C_1) the velocity of d along the dofs of both bodies,
 * C_e = (1, -R_e [s_e]x), the moment arms are moment = C^T u and
 *
 *     H = d moment / d q = (C^T C - moment moment^T) / l + diag(B_0, B_1),   B_e = (g_e s_e^T - (s_e . g_e) 1) in its
 *         rotations, g_e = R_e^T (-u or u): C_e turns with its body.
 *
 * So H x = (C^T (C x) - moment rate) / l + B x, and no matrix but the sum is formed. */
#include "dynamics/cable.h"

typedef struct cable_end
{
    int dof;         /* first, -1: the world */
    double sign;     /* -1, 1 */
    double C[3][6];  /* with the sign */
    double B[3][3];  /* of the rotations */
    double arm[6];   /* moment arms */
    double slope[6]; /* d force / d q, then less the outer product in H */
} cable_end;

static cable_end end_of(const tg_model *m, const tg_work *w, int site, int dof, double sign, const double *moment, v4 u)
{
    cable_end e = {.dof = dof, .sign = sign};
    if (dof < 0)
        return e;
    const double *s = TG_PARAM(w->params, site_pos) + 3 * site;
    mat3 R = tg_body_rotation(w, m->site_body[site]);
    v4 g = mat3_mul_t(R, u * v4_splat(sign));
    double along = s[0] * g[0] + s[1] * g[1] + s[2] * g[2];
    for (int k = 0; k < 3; k++)
    {
        v4 axis = {k == 0, k == 1, k == 2, 0}, column = mat3_mul(R, v4_cross(axis, v4_load3(s)));
        for (int i = 0; i < 3; i++)
        {
            e.C[i][k] = i == k ? sign : 0;
            e.C[i][3 + k] = sign * column[i];
            e.B[i][k] = g[i] * s[k] - (i == k ? along : 0);
        }
    }
    memcpy(e.arm, moment + dof, sizeof(e.arm));
    return e;
}

/* sum += C x of one end */
static void add_velocity(const cable_end *e, const double *x, double sum[3])
{
    for (int i = 0; i < 3 && e->dof >= 0; i++)
        for (int k = 0; k < 6; k++)
            sum[i] += e->C[i][k] * x[e->dof + k];
}

/* slope = length moment + rate H x */
static void fill_slope(cable_end *e, tg_slopes f, double curvature, const double velocity[3], double speed,
                       const double *x)
{
    for (int k = 0; k < 6 && e->dof >= 0; k++)
    {
        double Hx = -e->arm[k] * speed;
        for (int i = 0; i < 3; i++)
            Hx += e->C[i][k] * velocity[i];
        Hx *= curvature;
        for (int i = 0; i < 3 && k >= 3; i++)
            Hx += e->B[i][k - 3] * x[e->dof + 3 + i];
        e->slope[k] = f.length * e->arm[k] + f.rate * Hx;
    }
}

/* rows of one end, columns of another: bend C^T C + arm slope^T */
static void add_block(int nv, const cable_end *row, const cable_end *column, double bend, double *dq)
{
    for (int j = 0; j < 6 && row->dof >= 0 && column->dof >= 0; j++)
    {
        double *to = dq + (ptrdiff_t)(row->dof + j) * nv + column->dof;
        v4 head = v4_loadu(column->slope) * v4_splat(row->arm[j]);
        v2 tail = v2_loadu(column->slope + V4_LANES) * row->arm[j];
        for (int i = 0; i < 3; i++)
        {
            double entry = bend * row->C[i][j];
            head += v4_loadu(column->C[i]) * v4_splat(entry);
            tail += v2_loadu(column->C[i] + V4_LANES) * entry;
        }
        v4_storeu(to, v4_loadu(to) + head);
        v2_storeu(to + V4_LANES, v2_loadu(to + V4_LANES) + tail);
    }
}

static void add_turn(int nv, const cable_end *e, double force, double *dq)
{
    for (int i = 0; i < 3 && e->dof >= 0; i++)
        for (int k = 0; k < 3; k++)
            dq[(ptrdiff_t)(e->dof + 3 + i) * nv + e->dof + 3 + k] += force * e->B[i][k];
}

static void add_rates(int nv, const cable_end *row, const cable_end *column, double rate, double *dv)
{
    for (int j = 0; j < 6 && row->dof >= 0 && column->dof >= 0; j++)
        for (int k = 0; k < 6; k++)
            dv[(ptrdiff_t)(row->dof + j) * nv + column->dof + k] += rate * row->arm[j] * column->arm[k];
}

void tg_cable_derivatives(const tg_model *m, const tg_work *w, int tendon, tg_slopes f, const double *x, double *dq,
                          double *dv)
{
    const int *ends = tg_cable_ends(m, tendon);
    const double *moment = tg_tendon_moment(m, w, tendon);
    int item = 0;
    tg_segment s;
    tg_next_segment(m, w, tendon, &item, &s);
    cable_end e[2];
    for (int i = 0; i < 2; i++)
        e[i] = end_of(m, w, ends[i], ends[2 + i], i == 0 ? -1 : 1, moment, s.direction);
    double curvature = tg_curvature(s.length), velocity[3] = {0}, speed = tg_cable_rate(ends, moment, x);
    for (int i = 0; i < 2; i++)
        add_velocity(&e[i], x, velocity);
    for (int i = 0; i < 2; i++)
    {
        fill_slope(&e[i], f, curvature, velocity, speed, x);
        for (int k = 0; k < 6; k++)
            e[i].slope[k] -= f.force * curvature * e[i].arm[k];
    }
    for (int i = 0; i < 4; i++)
    {
        if (dq != NULL)
            add_block(m->nv, &e[i / 2], &e[i % 2], f.force * curvature, dq);
        if (dv != NULL && f.rate != 0)
            add_rates(m->nv, &e[i / 2], &e[i % 2], f.rate, dv);
    }
    for (int i = 0; i < 2 && dq != NULL; i++)
        add_turn(m->nv, &e[i], f.force, dq);
}
