/* q+ = q (+) dt v+ and its derivatives: dq+ = D_q dq + D_w d(dt v+), in the tangent spaces; trees that are held go a
 * share of dt v+ (hold.c). For slides, hinges and the translation of free joints both are 1; for rotations those of the
 * exponential map. */
#include "model/manifold.h"
#include "step/step.h"
#include "tangere/algebra.h"

typedef struct rotation
{
    mat33 D_q, D_w;
} rotation;

/* dofs of a joint that add up; the three that follow turn, if it is a ball or free joint */
static int linear_dofs(const tg_model *m, int joint, bool *turns)
{
    int type = m->joint_type[joint];
    *turns = type == TG_JOINT_FREE || type == TG_JOINT_BALL;
    return type == TG_JOINT_FREE ? DIM : type == TG_JOINT_BALL ? 0 : 1;
}

/* the share of the step in which a dof moves (hold.c) */
static double share_of(const tg_step_work *s, int dof)
{
    return s->held ? s->share[dof] : 1;
}

/* for how long it moves with v+ */
static double span_of(const tg_step_work *s, int dof)
{
    return s->options.dt * share_of(s, dof);
}

static rotation rotation_of(const tg_step_work *s, int dof)
{
    rotation r;
    vec3 turn;
    vec3_scale(span_of(s, dof), tg_placing_velocity(s) + dof, turn);
    tg_quat_integrate_derivatives(turn, r.D_q, r.D_w);
    return r;
}

void tg_step_integrate(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const double *v = tg_placing_velocity(s);
    for (int k = 0; k < m->nv; k++)
        s->part[k] = span_of(s, k) * v[k];
    tg_advance(m, s->q, s->part, s->q_next);
}

/* q+ = q + dt v+ of dofs first .. end - 1 */
static void add_linear(const tg_step_work *s, int first, int end, const double *g_next, double *gq, double *gv,
                       double *gdt)
{
    double sum = *gdt;
    for (int k = first; k < end; k++)
    {
        gq[k] += g_next[k];
        gv[k] += span_of(s, k) * g_next[k];
        sum += share_of(s, k) * tg_placing_velocity(s)[k] * g_next[k];
    }
    *gdt = sum;
}

void tg_integrator_reverse(const tg_model *m, const tg_work *w, const double *g_next, double *gq, double *gv,
                           double *gdt)
{
    const tg_step_work *s = w->step;
    if (m->nq == m->nv) /* nothing turns */
    {
        add_linear(s, 0, m->nv, g_next, gq, gv, gdt);
        return;
    }
    for (int j = 0; j < m->njoint; j++)
    {
        bool turns;
        int dof = m->joint_dof[j], linear = linear_dofs(m, j, &turns), first = dof + linear;
        add_linear(s, dof, first, g_next, gq, gv, gdt);
        if (!turns)
            continue;
        rotation r = rotation_of(s, first);
        for (int i = 0; i < DIM; i++)
            for (int k = 0; k < DIM; k++)
            {
                double g = g_next[first + k];
                gq[first + i] += r.D_q[DIM * k + i] * g;
                gv[first + i] += span_of(s, first) * r.D_w[DIM * k + i] * g;
                *gdt += r.D_w[DIM * k + i] * g * share_of(s, first) * tg_placing_velocity(s)[first + i];
            }
    }
}

/* rows first .. first + 2 <- D_w times them, and D_q in their own columns */
static void rotation_rows(const rotation *r, int first, int columns, bool of_q, double *dq)
{
    double *row = dq + (ptrdiff_t)first * columns;
    for (int k = 0; k < columns; k++)
    {
        const vec3 x = {row[k], row[columns + k], row[2 * columns + k]};
        for (int i = 0; i < DIM; i++)
            row[i * columns + k] = vec3_dot(r->D_w + DIM * i, x);
    }
    for (int i = 0; i < DIM && of_q; i++)
        for (int k = 0; k < DIM; k++)
            row[i * columns + first + k] += r->D_q[DIM * i + k];
}

/* out = factor in, four at a time; the two may be the same */
static void scale(ptrdiff_t n, double factor, const double *in, double *out)
{
    ptrdiff_t k = 0;
    for (; k + V4_LANES <= n; k += V4_LANES)
        v4_storeu(out + k, v4_splat(factor) * v4_loadu(in + k));
    for (; k < n; k++)
        out[k] = factor * in[k];
}

void tg_integrator_forward(const tg_model *m, const tg_work *w, int columns, bool of_q, const double *dv, double *dq)
{
    const tg_step_work *s = w->step;
    scale((ptrdiff_t)m->nv * columns, s->options.dt, dv, dq);
    for (int k = 0; k < m->nv && s->held; k++)
        scale(columns, share_of(s, k), dq + (ptrdiff_t)k * columns, dq + (ptrdiff_t)k * columns);
    for (int k = 0; k < m->nv && of_q && m->nq == m->nv; k++)
        dq[(ptrdiff_t)k * (columns + 1)] += 1;
    for (int j = 0; j < m->njoint && m->nq > m->nv; j++)
    {
        bool turns;
        int dof = m->joint_dof[j], linear = linear_dofs(m, j, &turns);
        for (int i = dof; i < dof + linear && of_q; i++)
            dq[(ptrdiff_t)i * columns + i] += 1;
        if (!turns)
            continue;
        rotation r = rotation_of(s, dof + linear);
        rotation_rows(&r, dof + linear, columns, of_q, dq);
    }
}

void tg_integrator_change(const tg_model *m, const tg_work *w, const double *dq, const double *ddt, const double *dv,
                          double *dq_next)
{
    const tg_step_work *s = w->step;
    for (int j = 0; j < m->njoint; j++)
    {
        bool turns;
        int dof = m->joint_dof[j], linear = linear_dofs(m, j, &turns), n = linear + (turns ? DIM : 0);
        double x[TWIST], d[TWIST];
        for (int i = 0; i < n; i++)
        {
            d[i] = dq != NULL ? dq[dof + i] : 0;
            x[i] = s->options.dt * dv[dof + i] + (ddt != NULL ? *ddt * tg_placing_velocity(s)[dof + i] : 0);
            x[i] *= share_of(s, dof);
            dq_next[dof + i] = d[i] + x[i];
        }
        if (!turns)
            continue;
        rotation r = rotation_of(s, dof + linear);
        for (int i = 0; i < DIM; i++)
        {
            double sum = 0;
            for (int k = 0; k < DIM; k++)
                sum += r.D_q[DIM * i + k] * d[linear + k] + r.D_w[DIM * i + k] * x[linear + k];
            dq_next[dof + linear + i] = sum;
        }
    }
}
