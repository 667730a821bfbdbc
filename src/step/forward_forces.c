/* What forward mode starts from: the derivatives of all forces at frozen velocities at the end of the step, and of the
 * rows.
 *
 * The derivatives of inverse dynamics at a = (v+ - v) / dt contain those of M and of the bias and, with all other
 * forces taken out of the sums over subtrees, what these do as they turn with their bodies. */
#include "contact/rows_forward.h"
#include "dynamics/actuation.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "dynamics/rnea_deriv.h"
#include "step/step.h"

/* p = A^-1 J^T spread, where redundant rows slide */
static tg_twists spread_field(tg_forward *f)
{
    const tg_rows *r = f->w->rows;
    double *y = f->s->row_gradient, *p = f->s->part;
    f->spreads = false;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_implicit *implicit = &f->s->implicit[i];
        f->spreads = f->spreads || implicit->turns;
        if (implicit->turns)
            memcpy(y + r->island[i].row, implicit->spread, sizeof(double) * (size_t)r->island[i].rows);
        else
            memset(y + r->island[i].row, 0, sizeof(double) * (size_t)r->island[i].rows);
    }
    if (!f->spreads)
        return (tg_twists){0};
    tg_rows_response(f->m, f->w, y, p);
    tg_node_twists(f->m, f->w, p, f->node_spread);
    tg_twists_along(f->m, f->w, f->node_spread, f->along_spread);
    return (tg_twists){p, f->node_spread, f->along_spread};
}

/* whether rows depend on the velocities at the start, beside J v+ */
static bool rows_start(const tg_rows *r)
{
    for (int i = 0; i < r->ntouch; i++)
        if (tg_has_course(&r->touch[i].at) || r->touch[i].impact || r->touch[i].rebound)
            return true;
    return false;
}

static void constraint_forces(tg_forward *f)
{
    const tg_model *m = f->m;
    if (f->w->rows->nrow == 0)
        return;
    tg_node_twists(m, f->w, f->s->v_next, f->node_next);
    tg_twists_along(m, f->w, f->node_next, f->along_next);
    tg_twists_along(m, f->w, f->w->V, f->along_start);
    tg_rows_forward d = {.next = {f->s->v_next, f->node_next, f->along_next},
                         .start = {f->s->v, f->w->V, f->along_start},
                         .spread = spread_field(f),
                         .stiffness = f->stiffness,
                         .force_q = f->force_q,
                         .force_v = f->force_v,
                         .sigma_q = f->sigma_q,
                         .sigma_v = f->sigma_v,
                         .spread_q = f->spread_q,
                         .spread_v = f->spread_v,
                         .friction = f->friction,
                         .slipping = f->slipping,
                         .ld = f->ldr,
                         .open = tg_smooth_speed(f->s) > 0,
                         .settings = &f->s->settings};
    f->starts = rows_start(f->w->rows);
    if (f->starts)
        tg_clear(f->sigma_v, m->nv, f->ldr);
    if (f->spreads)
    {
        tg_clear(f->spread_q, m->nv, f->ldr);
        tg_clear(f->spread_v, m->nv, f->ldr);
    }
    tg_rows_derivatives(m, f->w, f->s->q, &d);
    for (int k = 0; k < m->nv && m->nequality > 0; k++)
        tg_loops_beside(f->w, f->sigma_q + (ptrdiff_t)k * f->ldr);
}

/* A force that does not turn with its body, at a point c of it: beside what does, -turn x force, -turn x torque about
 * c. */
static void wrench_forces(tg_forward *f)
{
    const tg_model *m = f->m;
    for (int body = 1; body < m->nbody && f->s->has_wrench; body++)
    {
        int node = m->body_node[body];
        if (node == 0)
            continue;
        const double *wrench = f->s->wrench + TWIST * body;
        v4 force = v4_load3(wrench), torque = v4_load3(wrench + DIM);
        v4 c = tg_body_centre(m, f->w, body);
        tg_stiffness K = tg_fixed_force(force, torque, c);
        tg_take_wrench(m, f->w, node, (spatial){force, torque + v4_cross(c, force)});
        tg_stiffness_add(&f->stiffness[node], &K);
    }
}

/* -A (v+ - v) of actuators whose damping is implicit: gear^2 gain_2 (v+ - v) d signal */
static void implicit_actuators(tg_forward *f)
{
    const tg_model *m = f->m;
    bool any = f->s->options.implicit_actuators == TG_ON && (f->by_u || f->by_act);
    for (int i = 0; i < m->nu && any; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, f->w, i);
        double by_act, by_u;
        if (d.dof < 0)
            continue;
        tg_signal_derivatives(m, f->w, i, d.drive, &by_act, &by_u);
        double gain = TG_PARAM_OF(f->w->params, actuator_gain, i)[2];
        double factor = d.gear * d.gear * gain * (f->s->v_next[d.dof] - f->s->v[d.dof]);
        if (f->by_u)
            f->force_u[d.dof * m->nu + i] += factor * by_u;
        if (f->by_act && m->actuator_act[i] >= 0)
            f->force_act[d.dof * m->na + m->actuator_act[i]] += factor * by_act;
    }
}

void tg_forward_forces(tg_forward *f)
{
    const tg_model *m = f->m;
    tg_step_work *s = f->s;
    tg_clear(f->force_q, m->nv, m->nv);
    tg_clear(f->force_v, m->nv, m->nv);
    f->ldr = v4_pad(f->w->rows->nrow) + V4_LANES;
    if (f->w->rows->nrow > 0)
        tg_clear(f->sigma_q, m->nv, f->ldr);
    if (s->loops_turn)
        tg_loops_forces(f);
    for (int k = 0; k < m->nv; k++)
        s->acceleration[k] = (s->v_next[k] - s->v[k]) / f->dt;
    tg_newton_euler(m, f->w, s->acceleration, NULL);
    bool acted = f->w->rows->nrow > 0 || s->has_wrench;
    for (int i = 0; i < m->nnode && acted; i++)
        f->stiffness[i].any = false;
    constraint_forces(f);
    wrench_forces(f);
    tg_add_newton_euler_derivatives(m, f->w, -1, acted ? f->stiffness : NULL, f->force_q, f->force_v);
    tg_add_passive_derivatives(m, f->w, s->q, tg_step_tendons(m, f->w), f->force_q, f->force_v);
    tg_actuation_deriv actuators = {f->force_q, f->force_v, f->by_act ? f->force_act : NULL,
                                    f->by_u ? f->force_u : NULL};
    for (int i = 0; i < m->nu && tg_tendons_late(m, f->w); i++)
        s->drive_late[i] = tg_late_drive(m, f->w, i);
    if (m->nu > 0)
        tg_add_actuation_derivatives(m, f->w, s->q, s->v, s->v_next, s->act, s->u, f->dt, tg_step_drives(m, f->w),
                                     &actuators);
    implicit_actuators(f);
    for (int k = 0; k < m->nv && s->options.implicit_springs; k++)
        f->force_v[k * m->nv + k] -= tg_implicit_spring_of(m, f->w, k) * f->dt;
}
