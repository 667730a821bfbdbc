/* Forward mode along parameters, wrenches and dt: what they do to forces and rows at a frozen state, v+ and impulses.
 * (dynamics/change.h, contact/rows_change.h) */
#include "contact/rows_change.h"
#include "step/step.h"

/* wrenches act at the centre of mass, and do not turn with the body */
static void wrench_change(const tg_forward *f, const double *wrench)
{
    const tg_model *m = f->m;
    tg_change *c = &f->s->change;
    bool moved = f->s->has_wrench && (c->moves || tg_changes(c, m->offset.body_com, TG_SIZE_body_com * m->nbody));
    for (int body = 1; body < m->nbody && (wrench != NULL || moved); body++)
    {
        int node = m->body_node[body];
        if (node == 0)
            continue;
        mat3 R = tg_body_rotation(f->w, body);
        v4 com = tg_body_centre(m, f->w, body);
        spatial W = spatial_zero();
        if (wrench != NULL)
            W = wrench_load(wrench + TWIST * body, com);
        if (moved)
        {
            v4 shift = twist_at(tg_displacement(c, body), com) +
                       mat3_mul_mem(R, c->params + TG_PARAM_INDEX(m, body_com, body));
            W.ang += v4_cross(shift, v4_load3(f->s->wrench + TWIST * body));
        }
        double *sum = c->dF + SPATIAL_SIZE * node;
        c->pushes = true;
        spatial_store(sum, spatial_sub(spatial_load(sum), W));
    }
}

/* -extra (v+ - v) - dt^2 stiffness v: extra = dt damping + dt^2 stiffness; divided by dt, but for what dt itself does
 */
static void implicit_change(const tg_forward *f, double *by_dt)
{
    const tg_model *m = f->m;
    const tg_step_work *s = f->s;
    const double *damping = f->w->params->dof_damping;
    const tg_change *c = &s->change;
    bool damped = tg_changes(c, m->offset.joint_damping, m->njoint);
    bool sprung = tg_changes(c, m->offset.joint_stiffness, m->njoint);
    for (int k = 0; k < m->nv && (c->dt != 0 || damped || sprung); k++)
    {
        int joint = m->dof_joint[k], type = m->joint_type[joint];
        double change = s->v_next[k] - s->v[k];
        by_dt[k] = s->force[k];
        if (s->options.implicit_damping)
        {
            by_dt[k] -= damping[k] * change;
            if (damped)
                c->force[k] -= c->params[m->offset.joint_damping + joint] * change;
        }
        if (!s->options.implicit_springs || (type != TG_JOINT_HINGE && type != TG_JOINT_SLIDE))
            continue;
        by_dt[k] -= 2 * f->dt * TG_PARAM(f->w->params, joint_stiffness)[joint] * s->v_next[k];
        if (sprung)
            c->force[k] -= f->dt * c->params[m->offset.joint_stiffness + joint] * s->v_next[k];
    }
}

/* -dt gear^2 slope (v+ - v), slope = -(bias_2 + gain_2 signal) */
static void implicit_actuator_change(const tg_forward *f, double *by_dt)
{
    const tg_model *m = f->m;
    const tg_step_work *s = f->s;
    const tg_change *c = &s->change;
    for (int i = 0; i < m->nu && s->options.implicit_actuators == TG_ON; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, f->w, i);
        if (d.dof < 0)
            continue;
        double change = s->v_next[d.dof] - s->v[d.dof], square = d.gear * d.gear;
        by_dt[d.dof] -= square * d.slope * change;
        c->force[d.dof] += square * TG_PARAM_OF(f->w->params, actuator_gain, i)[2] * c->signal[i] * change;
        if (c->params == NULL)
            continue;
        double slope = c->params[TG_PARAM_INDEX(m, actuator_bias, i) + 2] +
                       c->params[TG_PARAM_INDEX(m, actuator_gain, i) + 2] * d.drive->signal;
        c->force[d.dof] +=
            (square * slope - 2 * d.gear * d.slope * c->params[TG_PARAM_INDEX(m, actuator_gear, i)]) * change;
    }
}

/* of dt times the force of a tendon at the end of the step, beside dt times s->force: its own change, and its spring
 * acts later */
static void late_by_dt(const tg_forward *f, double *by_dt)
{
    const tg_model *m = f->m;
    for (int t = 0; t < m->ntendon; t++)
        tg_tendon_add(m, f->w, t, tg_late_by_dt(m, f->w, t), by_dt);
    for (int i = 0; i < m->nu; i++)
        tg_add_actuator_force(m, f->w, i, f->s->drive_late[i].force - f->s->drive[i].force, by_dt);
}

static void row_changes(tg_forward *f, double *sigma, double *turn)
{
    const tg_model *m = f->m;
    tg_step_work *s = f->s;
    tg_change *c = &s->change;
    tg_change_twists(m, c, s->v_next, c->dN);
    if (turn != NULL)
        tg_change_twists(m, c, s->part, c->dP);
    tg_rows_change d = {.c = c,
                        .next = {s->v_next, f->node_next, c->dN},
                        .start = {s->v, f->w->V, c->dV},
                        .spread = {turn != NULL ? s->part : NULL, f->node_spread, c->dP},
                        .sigma = sigma,
                        .turn = turn,
                        .mu = s->block_gradient,
                        .bound = s->block_gradient + TG_AXES * f->w->rows->nblock,
                        .open = tg_smooth_speed(s) > 0,
                        .settings = &s->settings};
    tg_rows_changes(m, f->w, s->q, &d);
}

void tg_forward_change(tg_forward *f, const tg_cotangent *in, tg_param_range range, double *by_dt, double *sigma,
                       double *turn)
{
    const tg_model *m = f->m;
    tg_step_work *s = f->s;
    tg_change *c = &s->change;
    c->dt = in->dt != NULL ? *in->dt : 0;
    tg_change_begin(m, f->w, c, in->params, range, s->q);
    tg_change_inertial(m, f->w, c, s->v, s->acceleration);
    tg_change_passive(m, f->w, c, s->q, s->v, tg_step_tendons(m, f->w));
    tg_change_actuation(m, f->w, c, s->q, s->v, s->v_next, s->act, tg_step_drives(m, f->w));
    memset(by_dt, 0, sizeof(double) * (size_t)m->nv);
    implicit_change(f, by_dt);
    implicit_actuator_change(f, by_dt);
    if (tg_tendons_late(m, f->w) && c->dt != 0)
        late_by_dt(f, by_dt);
    wrench_change(f, in->wrench);
    tg_given_changes(f->w->rows, in->contact);
    if (f->w->rows->nrow > 0)
        row_changes(f, sigma, turn);
    tg_change_end(m, f->w, c);
    if (s->loops_turn)
        tg_loops_change(f, sigma);
    if (f->w->rows->nrow > 0)
        tg_loops_beside(f->w, sigma);
    for (int k = 0; k < m->nv; k++)
        by_dt[k] *= c->dt;
}

void tg_forward_activations(const tg_model *m, tg_work *w, const tg_cotangent *in, double *dact)
{
    tg_step_work *s = w->step;
    tg_change c = {.params = in->params, .range = {0, m->nparams}, .dt = in->dt != NULL ? *in->dt : 0};
    memset(dact, 0, sizeof(double) * (size_t)m->na);
    for (int i = 0; i < m->nu; i++)
    {
        int at = m->actuator_act[i];
        if (at < 0)
            continue;
        tg_drive d = s->drive[i];
        double by_act, by_u;
        tg_next_activation(m, w, i, s->act[at], s->options.dt, &d);
        tg_signal_derivatives(m, w, i, &d, &by_act, &by_u);
        dact[at] = tg_change_signal(m, w, &c, i, s->act[at], &d);
        dact[at] += (in->act != NULL ? by_act * in->act[at] : 0) + (in->u != NULL ? by_u * in->u[i] : 0);
    }
}
