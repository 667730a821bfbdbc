/* Reverse mode of everything behind y, z and the impulses (step_vjp.c): forces, laws, rows and the passes over the
 * trees. */
#include "contact/rows_vjp.h"
#include "dynamics/actuation.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "step/reverse.h"

/* ---- forces ---- */

static void wrenches_reverse(tg_reverse *r)
{
    const tg_model *m = r->m;
    for (int body = 1; body < m->nbody; body++)
    {
        const double *f = r->s->wrench + TWIST * body;
        int node = m->body_node[body];
        if (node == 0)
            continue;
        mat3 R = tg_body_rotation(r->w, body);
        v4 com = tg_body_centre(m, r->w, body);
        spatial Y = spatial_load(r->w->Y + SPATIAL_SIZE * node);
        if (r->wrench != NULL)
        {
            double *g = r->wrench + TWIST * body;
            v4_store3(g, v4_load3(g) + twist_at(Y, com));
            v4_store3(g + DIM, v4_load3(g + DIM) + Y.ang);
        }
        if (!r->s->has_wrench)
            continue;
        spatial bar = wrench_load(f, com);
        v4 moved = v4_cross(v4_load3(f), Y.ang);
        tg_adjoint_seed(r->w, body, wrench_at(moved, com), spatial_zero(), bar);
        if (r->g.params != NULL)
            tg_add3(r->g.params + TG_PARAM_INDEX(m, body_com, body), mat3_mul_t(R, moved));
    }
}

static tg_actuators actuators_of(const tg_reverse *r, const double *y)
{
    const tg_step_work *s = r->s;
    return (tg_actuators){r->m, r->w, s->q, s->v, s->v_next, s->act, y, r->gact, r->gu, r->g};
}

/* the actuators with the cotangent y; gdt: activations at the end of the step may depend on dt */
static void actuators_reverse(tg_reverse *r, const double *y)
{
    const tg_model *m = r->m;
    tg_actuators x = actuators_of(r, y);
    for (int i = 0; i < m->nu; i++)
    {
        const tg_drive *d = tg_step_drives(m, r->w) + i;
        if (tg_tendons_late(m, r->w))
            r->s->drive_late[i] = tg_late_drive(m, r->w, i);
        tg_actuator_reverse(&x, i, d, 0);
        if (d->late) /* dt times the force at the end, where r->gdt has that at the start */
            *r->gdt += tg_actuator_along(m, r->w, i, y) / r->dt * (d->force - r->s->drive[i].force);
        if (d->force_end >= 0 || d->signal_dt == 0)
            continue;
        *r->gdt += tg_actuator_along(m, r->w, i, y) * d->gain * d->signal_dt;
    }
}

void tg_reverse_activations(tg_reverse *r, const double *gact_next)
{
    const tg_model *m = r->m;
    const tg_step_work *s = r->s;
    tg_actuators x = actuators_of(r, NULL);
    for (int i = 0; i < m->nu && gact_next != NULL; i++)
    {
        int at = m->actuator_act[i];
        if (at < 0)
            continue;
        tg_drive d = s->drive[i];
        tg_next_activation(m, r->w, i, s->act[at], r->dt, &d);
        tg_signal_reverse(&x, i, &d, gact_next[at], 0);
        *r->gdt += gact_next[at] * d.signal_dt;
    }
}

/* -y . extra (v+ - v) - dt^2 y . stiffness v, extra = dt damping + dt^2 stiffness where implicit */
static void implicit_reverse(tg_reverse *r)
{
    const tg_model *m = r->m;
    const tg_step_work *s = r->s;
    const double *damping = r->w->params->dof_damping;
    double dt = r->dt, gdt = 0;
    for (int k = 0; k < m->nv; k++)
    {
        int joint = m->dof_joint[k], type = m->joint_type[joint];
        double change = s->v_next[k] - s->v[k], y = r->y[k];
        if (!r->alone)
            r->g.v[k] += y * s->extra[k];
        if (s->options.implicit_damping)
        {
            gdt -= y * damping[k] * change;
            if (r->g.params != NULL)
                r->g.params[m->offset.joint_damping + joint] -= dt * y * change;
        }
        if (!s->options.implicit_springs || (type != TG_JOINT_HINGE && type != TG_JOINT_SLIDE))
            continue;
        double stiffness = TG_PARAM(r->w->params, joint_stiffness)[joint];
        r->g.v[k] -= dt * dt * stiffness * y;
        gdt -= 2 * dt * stiffness * y * s->v_next[k];
        if (r->g.params != NULL)
            r->g.params[m->offset.joint_stiffness + joint] -= dt * dt * y * s->v_next[k];
    }
    for (int t = 0; t < m->ntendon && tg_tendons_late(m, r->w); t++)
        gdt += tg_tendon_rate(m, r->w, t, r->y) * tg_late_by_dt(m, r->w, t);
    *r->gdt += gdt;
}

/* -y . dt gear^2 slope (v+ - v), slope = -(bias_2 + gain_2 signal) */
static void implicit_actuators_reverse(tg_reverse *r)
{
    const tg_model *m = r->m;
    tg_actuators x = actuators_of(r, NULL);
    for (int i = 0; i < m->nu && r->s->options.implicit_actuators == TG_ON; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, r->w, i);
        if (d.dof < 0)
            continue;
        double change = r->y[d.dof] * (r->s->v_next[d.dof] - r->s->v[d.dof]), square = d.gear * d.gear;
        double gain = TG_PARAM_OF(r->w->params, actuator_gain, i)[2], g_signal = r->dt * square * gain * change;
        *r->gdt -= square * d.slope * change - g_signal * d.drive->signal_dt;
        tg_signal_reverse(&x, i, d.drive, g_signal, 0);
        if (r->g.params == NULL)
            continue;
        r->g.params[TG_PARAM_INDEX(m, actuator_bias, i) + 2] += r->dt * square * change;
        r->g.params[TG_PARAM_INDEX(m, actuator_gain, i) + 2] += r->dt * square * d.drive->signal * change;
        r->g.params[TG_PARAM_INDEX(m, actuator_gear, i)] -= 2 * r->dt * d.gear * d.slope * change;
    }
}

/* ---- the passes ---- */

static void laws_reverse(tg_reverse *r)
{
    const tg_rows *rows = r->w->rows;
    size_t bytes = sizeof(double) * (size_t)rows->nrow;
    memset(r->gphi, 0, bytes);
    memset(r->f_start, 0, bytes);
    if (r->bare)
        return;
    tg_law_gradient g = {.z = r->z,
                         .gphi = r->gphi,
                         .f_start = r->f_start,
                         .mu = r->s->block_gradient,
                         .bound = r->s->block_gradient + TG_AXES * rows->nblock,
                         .f_free = r->f_free,
                         .impulse = r->impulse,
                         .gdt = r->gdt,
                         .params = r->g.params};
    tg_laws_reverse(r->m, r->w, &r->s->settings, &g);
    for (int i = 0; i < rows->nrow && !r->starts; i++)
        r->starts = r->f_start[i] != 0;
}

static void rows_terms(tg_reverse *r, const tg_row_term *term, int terms, const double *gphi, const double *touch)
{
    tg_rows_reverse(r->m, r->w, r->s->q, term, terms, gphi, touch, r->dt, r->gdt, r->g);
}

/* L . (J y) + z . (J v+) + gaps + what depends on the velocities at the start */
static void rows_reverse(tg_reverse *r)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nrow; i++)
        r->f[i] = rows->L[i] / r->dt;
    tg_row_term term[TG_ROW_TERMS] = {{TG_ROW_FIELD_Y, r->scaled, r->f}, {TG_ROW_FIELD_Z, r->s->v_next, r->z}};
    int terms = 2;
    if (r->starts)
        term[terms++] = (tg_row_term){TG_ROW_FIELD_V, r->s->v, r->f_start};
    rows_terms(r, term, terms, r->gphi, r->touch);
}

void tg_reverse_end_pass(tg_reverse *r, const tg_adjoint_fields *x)
{
    tg_adjoint_end(r->m, r->w, r->s->q, x, r->g.q, r->g.v, r->g.a, r->g.params);
}

/* f . (J x) with x held fixed */
static void pass_with(tg_reverse *r, const double *x, const double *f)
{
    tg_adjoint_begin(r->m, r->w, x);
    rows_terms(r, &(tg_row_term){TG_ROW_FIELD_Y, x, f}, 1, NULL, NULL);
    tg_reverse_end_pass(r, &(tg_adjoint_fields){.v = r->s->v, .y = x});
}

static bool any_joint_range(const tg_model *m)
{
    bool any = false;
    for (int j = 0; j < m->njoint; j++)
        any = any || m->joint_force_limited[j];
    return any;
}

/* forces of actuators; false where the force range of a joint clamps them: they need a pass without these joints */
static bool forces_reverse(tg_reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    if (m->nu == 0)
        return true;
    if (any_joint_range(m))
    {
        memset(s->part, 0, sizeof(double) * (size_t)m->nv);
        tg_add_drives(m, r->w, s->drive, false, s->part);
        if (tg_joint_range_reverse(m, r->w, s->part, r->scaled, r->other, r->g.params))
            return false;
    }
    actuators_reverse(r, r->scaled);
    return true;
}

/* Everything but the turn of redundant rows: the twists of dt y, and beside them, where something asks for them, those
 * of v+. */
static void passes(tg_reverse *r)
{
    const tg_model *m = r->m;
    tg_work *w = r->w;
    tg_step_work *s = r->s;
    bool rows = w->rows->nrow > 0 && !r->alone, both = rows || tg_tendons_late(m, w);
    tg_node_accelerations(m, w, s->acceleration);
    tg_adjoint_begin(m, w, r->scaled);
    if (both)
        tg_adjoint_second(m, w, s->v_next);
    tg_rnea_reverse(m, w, s->acceleration, r->scaled, -1, r->g);
    tg_passive_reverse(m, w, s->q, s->v, tg_step_tendons(m, w), r->scaled, r->g);
    bool passed = forces_reverse(r);
    if (s->has_wrench || r->wrench != NULL)
        wrenches_reverse(r);
    if (rows)
        rows_reverse(r);
    tg_reverse_end_pass(r, &(tg_adjoint_fields){s->v, r->scaled, s->acceleration, both ? s->v_next : NULL});
    if (passed)
        return;
    tg_adjoint_begin(m, w, r->other);
    actuators_reverse(r, r->other);
    tg_reverse_end_pass(r, &(tg_adjoint_fields){.v = s->v, .y = r->other});
}

/* turn . (J p), p = A^-1 J^T spread */
static void pass_with_spread(tg_reverse *r)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_implicit *f = &r->factors[i];
        const double *spread = f->turns ? f->spread : NULL;
        for (int k = 0; k < rows->island[i].rows; k++)
            r->f[rows->island[i].row + k] = spread != NULL ? spread[k] : 0;
    }
    memset(r->other, 0, sizeof(double) * (size_t)r->m->nv);
    tg_rows_other_half(r->m, r->w, r->f, r->other);
    pass_with(r, r->other, r->turn);
}

/* f . (dJ J^T from) */
static void pass_between(tg_reverse *r, const double *f, const double *from)
{
    tg_consistent_motion(r->m, r->w->rows, from, r->other);
    pass_with(r, r->other, f);
}

/* L . dP (J y) + z . dP e, e = J v+ + b (loops.c) */
static void pass_with_loops(tg_reverse *r)
{
    const tg_rows *rows = r->w->rows;
    double *impulse = r->f, *z = r->gphi, *motion = r->f_start, *unmet = r->turn; /* other passes are done with these */
    size_t bytes = sizeof(double) * (size_t)rows->nrow;
    tg_step_need_rows(r->m, r->w);
    memcpy(z, r->z, bytes);
    tg_unmet_velocities(r->m, r->w, unmet);
    tg_loops_answer(r->w, z);
    tg_loops_along(r->w, unmet);
    pass_between(r, unmet, z);
    if (!r->s->loops_slack)
        return;
    memcpy(impulse, rows->L, bytes);
    tg_rows_velocity(r->m, r->w, r->y, motion);
    tg_loops_answer(r->w, impulse);
    tg_loops_along(r->w, motion);
    pass_between(r, z, unmet);
    pass_between(r, impulse, motion);
    pass_between(r, motion, impulse);
}

/* everything behind y, z and the impulses, at the velocities v+ */
void tg_reverse_sweep(tg_reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    double gdt = 0;
    for (int k = 0; k < m->nv; k++)
    {
        r->scaled[k] = r->dt * r->y[k];
        s->acceleration[k] = (s->v_next[k] - s->v[k]) / r->dt;
        gdt += r->y[k] * s->force[k];
    }
    *r->gdt += gdt;
    if (r->w->rows->nrow > 0 && !r->alone)
        laws_reverse(r);
    passes(r);
    if (r->turns)
        pass_with_spread(r);
    if (r->s->loops_turn && !r->alone && !r->bare)
        pass_with_loops(r);
    implicit_reverse(r);
    implicit_actuators_reverse(r);
}
