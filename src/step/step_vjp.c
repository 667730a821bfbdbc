/* Reverse mode of a step.
 *
 * v+ = v + A^-1 (dt f + J^T L) and L obeys the laws on sigma = J v+ + b. With vbar the gradient of v+ (that of q+
 * included), Lbar = J A^-1 vbar and z = D^T Lbar from the factors of the islands (contact/implicit.h), y = A^-1 (vbar +
 * J^T z),
 *
 *   d(scalar) = d [ dt y . (tau + actuators + passive + wrenches - RNEA(q, v, a)) - y . extra (v+ - v)
 *                   + L . (J y) + z . (J v+ + b) + turn . (J p) ]   with y, z, turn, p, L, v+ held fixed, a = (v+ - v)
 *                       / dt,
 *
 * plus the friction coefficients and bounds of dry friction, which move L itself. One pass over the tree with y and v+,
 * and one with p where redundant rows slide. docs/gradients.md has the derivation. */
#include <math.h>

#include "contact/implicit_large.h"
#include "contact/poisson_vjp.h"
#include "contact/rows_vjp.h"
#include "dynamics/actuation.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/passive.h"
#include "dynamics/rnea.h"
#include "math/lanes.h"
#include "step/gyroscopic.h"
#include "step/step.h"
#include "step/unrolled.h"
#include "tangere/algebra.h"

typedef struct reverse
{
    const tg_model *m;
    tg_work *w;
    tg_step_work *s;
    double dt, *gdt;
    double *vbar, *y, *scaled, *other;            /* nv each; scaled = dt y */
    double *Lbar, *z, *turn, *gphi, *f, *f_start; /* rows each */
    double *impulse;                              /* rows: of impulses of explicit laws, or NULL */
    double *f_free;                               /* rows: of J v_free, where impacts happen within the step, or NULL */
    bool bare;                                    /* z . (J v+) alone, no laws */
    tg_gradient g;
    double *gact, *gu, *wrench;
    const double *touch; /* gradients of the contacts' frames, or NULL */
    bool turns;          /* redundant rows slide */
    bool large;          /* an island has no matrix */
    bool alone;          /* without rows, and with the step's change of velocity held fixed (gyroscopic_reverse) */
    bool starts;         /* rows depend on the velocities at the start: f_start */
    const tg_implicit *factors; /* of the islands */

    /* compression, where Poisson's law acts: the same for its impulses and the velocities after it */
    bool compressed;
    double *compressed_Lbar, *compressed_z, *compressed_turn;
    double *compressed_y, *compressed_scaled, *compressed_v;
} reverse;

/* ---- impulses ---- */

/* whether anybody asks for the gradient of a block's friction coefficients: the parameters, or velocities on which they
 * depend */
static bool friction_counts(const reverse *r, int block)
{
    const tg_rows *rows = r->w->rows;
    const tg_constraint *c = &rows->constraint[rows->order[block]];
    if (c->source != TG_SOURCE_CONTACT)
        return false;
    const tg_law *law = &rows->touch[c->index].law;
    return r->g.params != NULL || law->given != NULL || tg_law_number(r->w->params, law, law->kinetic) != 1;
}

static void poisson_transpose(reverse *r, int i)
{
    const tg_rows_island *island = &r->w->rows->island[i];
    const tg_poisson_gradient g = {.Lbar = r->Lbar + island->row,
                                   .z = r->z + island->row,
                                   .turn = r->turn + island->row,
                                   .compressed_Lbar = r->compressed_Lbar + island->row,
                                   .compressed_z = r->compressed_z + island->row,
                                   .compressed_turn = r->compressed_turn + island->row};
    tg_poisson_transpose(r->w, island, &r->s->compression[i], &r->s->implicit[i], &g, r->g.params);
    r->compressed = true;
}

/* z of an island; more: impulses themselves are asked for */
static tg_status transpose(reverse *r, int i, bool more)
{
    const tg_implicit *f = &r->s->implicit[i];
    const tg_rows_island *island = &r->w->rows->island[i];
    double *z = r->z + island->row, *turn = r->turn + island->row;
    r->turns = r->turns || f->turns;
    if (island->restituted)
    {
        poisson_transpose(r, i);
        return TG_OK;
    }
    r->large = r->large || f->form == TG_IMPLICIT_LARGE;
    if (f->form != TG_IMPLICIT_LARGE)
    {
        tg_implicit_transpose(f, r->Lbar + island->row, z, turn);
        return TG_OK;
    }
    memset(turn, 0, sizeof(double) * (size_t)island->rows);
    memcpy(r->other, r->vbar, sizeof(double) * (size_t)r->m->nv);
    tg_solve_mass(r->m, r->w, r->other);
    return tg_implicit_large_transpose(r->m, r->w, i, tg_smooth_speed(r->s), r->Lbar + island->row, r->other, more, z);
}

/* Lbar + G z of all islands, for those that have no G */
static void large_totals(reverse *r)
{
    const tg_rows *rows = r->w->rows;
    tg_rows_response(r->m, r->w, r->z, r->other);
    tg_rows_velocity(r->m, r->w, r->other, r->f);
    for (int i = 0; i < rows->nrow; i++)
        r->f[i] += r->Lbar[i];
    for (int i = 0; i < rows->nisland; i++)
        r->s->implicit[i].total = r->f + rows->island[i].row;
}

/* gradients of friction coefficients and bounds */
static void coefficients_reverse(reverse *r, int i)
{
    const tg_rows *rows = r->w->rows;
    const tg_rows_island *island = &rows->island[i];
    const tg_implicit *f = &r->factors[i];
    double *mu = r->s->block_gradient, *bound = mu + TG_AXES * rows->nblock;
    const double *Lbar = r->Lbar + island->row, *z = r->z + island->row;
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &rows->block[island->block + b];
        int axes = friction_counts(r, island->block + b) ? block->rows - 1 : 0;
        for (int axis = 0; axis < TG_AXES; axis++)
            mu[TG_AXES * (island->block + b) + axis] = axis < axes ? tg_implicit_mu_gradient(f, b, axis, Lbar, z) : 0;
        bound[island->block + b] = block->kind == TG_BLOCK_FRICTION ? tg_implicit_bound_gradient(f, b, Lbar, z) : 0;
    }
}

/* an island that has no compression */
static void leave_out(reverse *r, int i)
{
    const tg_rows *rows = r->w->rows;
    const tg_rows_island *island = &rows->island[i];
    double *mu = r->s->block_gradient, *bound = mu + TG_AXES * rows->nblock;
    size_t blocks = (size_t)island->blocks, bytes = sizeof(double) * (size_t)island->rows;
    r->s->compression[i] = (tg_implicit){.turns = false};
    memset(mu + TG_AXES * island->block, 0, sizeof(double) * TG_AXES * blocks);
    memset(bound + island->block, 0, sizeof(double) * blocks);
    memset(r->z + island->row, 0, bytes);
    memset(r->turn + island->row, 0, bytes);
}

static v4 three(const double *x, int index)
{
    return x != NULL ? v4_load3(x + 3 * index) : v4_zero();
}

/* force = sum of axes L / dt, and the same for the torque: gradients of L, of turns of the frame (dF = turn x F) and of
 * dt */
static void contact_reverse(reverse *r, const tg_constraint *c, int index, const tg_cotangent *out)
{
    const tg_bond *b = &r->w->rows->touch[c->index].bond;
    v4 g[2] = {three(out->force, index), three(out->torque, index)}, F[2] = {v4_zero(), v4_zero()};
    for (int i = 0; i < b->linear + b->angular; i++)
    {
        int torque = i < b->linear ? 0 : 1;
        v4 axis = b->axis[torque ? i - b->linear : i] * v4_splat(1 / r->dt);
        r->Lbar[c->row + i] += v4_dot(axis, g[torque]);
        F[torque] += axis * v4_splat(r->w->rows->L[c->row + i]);
    }
    double *frame = r->s->touch_gradient + TG_TOUCH_GRADIENT * c->index;
    v4_storeu(frame, three(out->point, index));
    v4_storeu(frame + TG_TOUCH_TURN, v4_cross(F[0], g[0]) + v4_cross(F[1], g[1]));
    *r->gdt -= (v4_dot(F[0], g[0]) + v4_dot(F[1], g[1])) / r->dt;
}

/* requested forces and points of the contacts */
static void contacts_reverse(reverse *r, const tg_cotangent *out)
{
    const tg_rows *rows = r->w->rows;
    if (!tg_wants_contacts(out))
        return;
    r->touch = r->s->touch_gradient;
    for (int b = 0, index = 0; b < rows->nblock; b++)
    {
        const tg_constraint *c = &rows->constraint[rows->order[b]];
        if (c->source == TG_SOURCE_CONTACT)
            contact_reverse(r, c, index++, out);
    }
}

/* what compliance adds to G */
static double compliance_of(const reverse *r, int block)
{
    const tg_rows *rows = r->w->rows;
    const tg_constraint *c = &rows->constraint[rows->order[block]];
    bool contact = c->source == TG_SOURCE_CONTACT;
    return contact ? tg_law_compliance(r->w->params, &rows->touch[c->index].law) / (r->dt * r->dt) : 0;
}

/* y and z of islands whose matrices are kept; Lbar + G z is then J y and what compliance adds to it */
static void kept_reverse(reverse *r)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nisland; i++)
        if (r->s->implicit[i].kept)
            tg_forward_kept_transpose(r->w, i, r->vbar, r->z, r->y);
    tg_rows_velocity(r->m, r->w, r->y, r->f);
    for (int b = 0; b < rows->nblock; b++)
    {
        int row = rows->constraint[rows->order[b]].row; /* of the step; tg_block.row counts within the island */
        r->f[row] += compliance_of(r, b) * r->z[row];
    }
    for (int i = 0; i < rows->nisland; i++)
    {
        tg_implicit *f = &r->s->implicit[i];
        int row = rows->island[i].row;
        if (!f->kept)
            continue;
        f->total = r->f + row;
        tg_implicit_turn(f, f->total, r->turn + row);
        coefficients_reverse(r, i);
        f->total = NULL;
    }
}

/* Lbar + G z: what acts on a contact's explicit impulse, by itself and through what is solved beside it */
static void explicit_impulses(const reverse *r)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_rows_island *island = &rows->island[i];
        const double *G = rows->G + island->G, *z = r->z + island->row;
        for (int k = 0; k < island->rows; k++)
            r->impulse[island->row + k] =
                r->Lbar[island->row + k] + v4_dot_of(island->rows, G + (ptrdiff_t)k * v4_pad(island->rows), z);
    }
}

/* Impulses of impacts that are detached follow restitution, z J_N v de, and friction, whose gradients are there
 * already; nothing else of z counts. */
static void detach(const reverse *r)
{
    const tg_rows *rows = r->w->rows;
    for (int b = 0; b < rows->nblock; b++)
    {
        const tg_constraint *c = &rows->constraint[rows->order[b]];
        const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &rows->touch[c->index] : NULL;
        if (t == NULL || !t->impact)
            continue;
        double *e = tg_law_gradient_of(r->g.params, &t->law, t->law.restitution);
        if (e != NULL)
            *e += r->z[c->row] * t->approach;
        memset(r->z + c->row, 0, sizeof(double) * (size_t)c->rows);
    }
}

/* Lbar = J A^-1 vbar + what is asked of L itself, z of every island, y = A^-1 (vbar + J^T z) */
static tg_status impulses_reverse(reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    const tg_rows *rows = r->w->rows;
    bool any_kept = false;
    memcpy(r->y, r->vbar, sizeof(double) * (size_t)m->nv);
    if (rows->nrow == 0)
    {
        tg_solve_mass(m, r->w, r->y);
        return TG_OK;
    }
    tg_rows_half(m, r->w, r->y, r->Lbar);
    contacts_reverse(r, out);
    for (int i = 0; i < rows->nisland; i++)
        TG_TRY(transpose(r, i, tg_wants_contacts(out)));
    if (r->large)
        large_totals(r);
    for (int i = 0; i < rows->nisland; i++)
    {
        coefficients_reverse(r, i);
        any_kept = any_kept || r->s->implicit[i].kept;
    }
    if (tg_detaches(r->w))
        detach(r);
    if (r->impulse != NULL)
        explicit_impulses(r);
    tg_rows_other_half(m, r->w, r->z, r->y);
    if (any_kept && !tg_wants_contacts(out))
        kept_reverse(r);
    return TG_OK;
}

/* ---- forces ---- */

static void wrenches_reverse(reverse *r)
{
    const tg_model *m = r->m;
    for (int body = 1; body < m->nbody; body++)
    {
        const double *f = r->s->wrench + 6 * body;
        int node = m->body_node[body];
        if (node == 0)
            continue;
        mat3 R = tg_body_rotation(r->w, body);
        v4 com = v4_load(r->w->body_pos + 4 * body) - tg_node_origin(m, r->w, node) +
                 mat3_mul_mem(R, TG_PARAM(r->w->params, body_com) + 3 * body);
        spatial Y = spatial_load(r->w->Y + SPATIAL_SIZE * node);
        if (r->wrench != NULL)
        {
            double *g = r->wrench + 6 * body;
            v4_store3(g, v4_load3(g) + twist_at(Y, com));
            v4_store3(g + 3, v4_load3(g + 3) + Y.ang);
        }
        if (!r->s->has_wrench)
            continue;
        spatial bar = wrench_at(v4_load3(f), com);
        bar.ang += v4_load3(f + 3);
        v4 moved = v4_cross(v4_load3(f), Y.ang), local = mat3_mul_t(R, moved);
        tg_adjoint_seed(r->w, body, wrench_at(moved, com), spatial_zero(), bar);
        for (int i = 0; i < 3 && r->g.params != NULL; i++)
            r->g.params[m->offset.body_com + 3 * body + i] += local[i];
    }
}

static tg_actuators actuators_of(const reverse *r, const double *y)
{
    const tg_step_work *s = r->s;
    return (tg_actuators){r->m, r->w, s->q, s->v, s->v_next, s->act, y, r->gact, r->gu, r->g};
}

/* the actuators with the cotangent y; gdt: activations at the end of the step may depend on dt */
static void actuators_reverse(reverse *r, const double *y)
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

static void activations_reverse(reverse *r, const double *gact_next)
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
static void implicit_reverse(reverse *r)
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
static void implicit_actuators_reverse(reverse *r)
{
    const tg_model *m = r->m;
    tg_actuators x = actuators_of(r, NULL);
    for (int i = 0; i < m->nu && r->s->options.implicit_actuators == TG_ON; i++)
    {
        tg_actuator_damping d = tg_implicit_damping_of(m, r->w, i);
        if (d.dof < 0)
            continue;
        double change = r->y[d.dof] * (r->s->v_next[d.dof] - r->s->v[d.dof]), square = d.gear * d.gear;
        double gain = TG_PARAM(r->w->params, actuator_gain)[3 * i + 2], g_signal = r->dt * square * gain * change;
        *r->gdt -= square * d.slope * change - g_signal * d.drive->signal_dt;
        tg_signal_reverse(&x, i, d.drive, g_signal, 0);
        if (r->g.params == NULL)
            continue;
        r->g.params[m->offset.actuator_bias + 3 * i + 2] += r->dt * square * change;
        r->g.params[m->offset.actuator_gain + 3 * i + 2] += r->dt * square * d.drive->signal * change;
        r->g.params[m->offset.actuator_gear + 6 * i] -= 2 * r->dt * d.gear * d.slope * change;
    }
}

/* ---- the passes ---- */

static void laws_reverse(reverse *r)
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

static void rows_terms(reverse *r, const tg_row_term *term, int terms, const double *gphi, const double *touch)
{
    tg_rows_reverse(r->m, r->w, r->s->q, term, terms, gphi, touch, r->dt, r->gdt, r->g);
}

/* L . (J y) + z . (J v+) + gaps + what depends on the velocities at the start */
static void rows_reverse(reverse *r)
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

static void end_pass(reverse *r, const tg_adjoint_fields *x)
{
    tg_adjoint_end(r->m, r->w, r->s->q, x, r->g.q, r->g.v, r->g.a, r->g.params);
}

/* f . (J x) with x held fixed */
static void pass_with(reverse *r, const double *x, const double *f)
{
    tg_adjoint_begin(r->m, r->w, x);
    rows_terms(r, &(tg_row_term){TG_ROW_FIELD_Y, x, f}, 1, NULL, NULL);
    end_pass(r, &(tg_adjoint_fields){.v = r->s->v, .y = x});
}

static bool any_joint_range(const tg_model *m)
{
    bool any = false;
    for (int j = 0; j < m->njoint; j++)
        any = any || m->joint_force_limited[j];
    return any;
}

/* forces of actuators; false where the force range of a joint clamps them: they need a pass without these joints */
static bool forces_reverse(reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    if (m->nu == 0)
        return true;
    if (any_joint_range(m))
    {
        memset(s->part, 0, sizeof(double) * (size_t)m->nv);
        for (int i = 0; i < m->nu; i++)
            tg_add_actuator_force(m, r->w, i, s->drive[i].force, s->part);
        if (tg_joint_range_reverse(m, r->w, s->part, r->scaled, r->other, r->g.params))
            return false;
    }
    actuators_reverse(r, r->scaled);
    return true;
}

/* Everything but the turn of redundant rows: the twists of dt y, and beside them, where something asks for them, those
 * of v+. */
static void passes(reverse *r)
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
    end_pass(r, &(tg_adjoint_fields){s->v, r->scaled, s->acceleration, both ? s->v_next : NULL});
    if (passed)
        return;
    tg_adjoint_begin(m, w, r->other);
    actuators_reverse(r, r->other);
    end_pass(r, &(tg_adjoint_fields){.v = s->v, .y = r->other});
}

/* turn . (J p), p = A^-1 J^T spread */
static void pass_with_spread(reverse *r)
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
static void pass_between(reverse *r, const double *f, const double *from)
{
    tg_consistent_motion(r->m, r->w->rows, from, r->other);
    pass_with(r, r->other, f);
}

/* Loops with redundant rows are P (J v+ + b) = 0, with impulses P L, P what is beside the directions that no velocity
 * follows (contact/consistent.c), and P turns with J: L . dP (J y) + z . dP e, e = J v+ + b. */
static void pass_with_loops(reverse *r)
{
    tg_rows *rows = r->w->rows;
    const tg_loop_turn all = {r->f, r->gphi, r->f_start, r->turn}; /* the other passes are done with these */
    bool slack = false;                                            /* otherwise J^T Z = 0 */
    size_t bytes = sizeof(double) * (size_t)rows->nrow;
    tg_step_need_rows(r->m, r->w);
    memcpy(all.impulse, rows->L, bytes);
    memcpy(all.z, r->z, bytes);
    tg_rows_velocity(r->m, r->w, r->y, all.motion);
    tg_unmet_velocities(r->m, r->w, all.unmet);
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_rows_island *island = &rows->island[i];
        const tg_loop_turn own = {all.impulse + island->row, all.z + island->row, all.motion + island->row,
                                  all.unmet + island->row};
        size_t size = sizeof(double) * (size_t)island->rows;
        if (island->redundant > 0)
        {
            tg_consistent_turn(r->m, rows, island, &own);
            slack = slack || island->slack;
            continue;
        }
        memset(own.impulse, 0, size);
        memset(own.z, 0, size);
        memset(own.motion, 0, size);
        memset(own.unmet, 0, size);
    }
    pass_between(r, all.unmet, all.z);
    if (!slack)
        return;
    pass_between(r, all.z, all.unmet);
    pass_between(r, all.impulse, all.motion);
    pass_between(r, all.motion, all.impulse);
}

/* everything behind y, z and the impulses, at the velocities v+ */
static void sweep(reverse *r)
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

/* Impulses of compression; islands without have z = 0, and it does not matter which are theirs. */
static void compressed_impulses(const reverse *r, double *L)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_rows_island *island = &rows->island[i];
        memcpy(L + island->row, (island->restituted ? rows->compressed : rows->L) + island->row,
               sizeof(double) * (size_t)island->rows);
    }
}

/* y . (dt f + J^T L^c - A (v^c - v)) + z . (J v^c + b) of compression, which is a step of its own */
static void compression_reverse(const reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    tg_rows *rows = r->w->rows;
    reverse c = *r;
    double *v_next = s->v_next, *L = rows->L;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    c.y = r->compressed_y;
    c.z = r->compressed_z;
    c.turn = r->compressed_turn;
    c.scaled = r->compressed_scaled;
    c.Lbar = r->compressed_Lbar;
    c.factors = s->compression;
    c.touch = NULL;
    c.turns = c.starts = false;
    for (int i = 0; i < rows->nisland; i++)
    {
        if (rows->island[i].restituted)
            coefficients_reverse(&c, i);
        else
            leave_out(&c, i);
        c.turns = c.turns || c.factors[i].turns;
    }
    memset(c.y, 0, bytes);
    tg_rows_other_half(m, r->w, c.z, c.y);
    compressed_impulses(r, rows->warm);
    memset(r->compressed_v, 0, bytes);
    tg_rows_other_half(m, r->w, rows->warm, r->compressed_v);
    for (int k = 0; k < m->nv; k++)
        r->compressed_v[k] += s->v_free[k];
    s->v_next = r->compressed_v;
    rows->L = rows->warm;
    sweep(&c);
    s->v_next = v_next;
    rows->L = L;
    for (int k = 0; k < m->nv; k++)
        r->scaled[k] += c.scaled[k];
}

/* Implicit gyroscopic forces (gyroscopic.c): with x = v_free - v the step is A (v+ - v) = dt (f - D x) + J^T L, and B x
 * = dt f, B = A + dt D. The cotangent of x is -dt D^T y, so that l = -dt B^-T D^T y = B^-T A y - y belongs to the
 * second equation, whose terms are those of a step of its own without rows; -dt (y + l) . D x is the scalar of
 * tg_adjoint_gyroscopic. */
static tg_status gyroscopic_reverse(reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    reverse c = *r;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    double *x = r->compressed_v, *ga = r->vbar, *v_next = s->v_next;
    for (int k = 0; k < m->nv; k++)
    {
        x[k] = s->v_free[k] - s->v[k];
        r->other[k] = r->scaled[k] / r->dt; /* y, with that of compression */
    }
    c.y = r->compressed_y;
    c.scaled = r->compressed_scaled;
    tg_gyroscopic_mass(m, r->w, r->other, c.y);
    tg_gyroscopic_solve_t(m, r->w, c.y);
    for (int k = 0; k < m->nv; k++)
        c.y[k] -= r->other[k];
    c.alone = true;
    c.turns = false;
    memcpy(ga, r->g.a, bytes); /* x does not move with v */
    s->v_next = s->v_free;
    sweep(&c);
    s->v_next = v_next;
    for (int k = 0; k < m->nv; k++)
        r->scaled[k] += c.scaled[k];
    tg_adjoint_begin(m, r->w, r->scaled);
    tg_adjoint_second(m, r->w, x);
    *r->gdt += tg_adjoint_gyroscopic(m, r->w, 1, r->g.params) / r->dt;
    end_pass(r, &(tg_adjoint_fields){.v = s->v, .y = r->scaled, .a = s->zeros, .second = x});
    memcpy(r->g.a, ga, bytes);
    return TG_OK;
}

/* ---- impacts within the step ---- */

/* the second problem takes the place of the first, or gives it back */
static void exchange(reverse *r)
{
    tg_within_exchange(r->w);
    r->factors = r->s->implicit;
}

static void add_scaled(const reverse *r, double *sum)
{
    for (int k = 0; k < r->m->nv; k++)
        sum[k] += r->scaled[k];
}

/* q+ = q (+) dt v of the second problem */
static tg_status placing_reverse(reverse *r, const tg_cotangent *out)
{
    memset(r->vbar, 0, sizeof(double) * (size_t)r->m->nv);
    tg_integrator_reverse(r->m, r->w, out->q, r->g.q, r->vbar, r->gdt);
    exchange(r);
    r->touch = NULL;
    r->turns = r->starts = false;
    tg_status status = impulses_reverse(r, &(tg_cotangent){.q = NULL});
    if (status == TG_OK)
        sweep(r);
    exchange(r);
    return status;
}

/* f_free . (J v_free): a step without impulses */
static void free_reverse(reverse *r)
{
    memcpy(r->z, r->f_free, sizeof(double) * (size_t)r->w->rows->nrow);
    memset(r->y, 0, sizeof(double) * (size_t)r->m->nv);
    tg_rows_other_half(r->m, r->w, r->z, r->y);
    r->touch = NULL;
    r->turns = r->starts = false;
    r->bare = true;
    tg_within_free(r->w);
    sweep(r);
    tg_within_free(r->w);
}

/* v+ of the first problem, q+ of the second, and the velocities without constraints on which the laws of both depend */
static tg_status within_reverse(reverse *r, const tg_cotangent *out)
{
    double *sum = r->compressed_y; /* which Poisson's law alone has */
    memset(r->f_free, 0, sizeof(double) * (size_t)r->w->rows->nrow);
    memset(sum, 0, sizeof(double) * (size_t)r->m->nv);
    TG_TRY(impulses_reverse(r, out));
    sweep(r);
    add_scaled(r, sum);
    if (out->q != NULL)
    {
        TG_TRY(placing_reverse(r, out));
        add_scaled(r, sum);
    }
    free_reverse(r);
    add_scaled(r, sum);
    memcpy(r->scaled, sum, sizeof(double) * (size_t)r->m->nv);
    return TG_OK;
}

/* ---- alternations that are unrolled ---- */

/* z . (J v + b) and y . (dt f + J^T L - A (v - v_0)) of one of the problems: a step of its own; sum: of scaled */
static void problem_reverse(const reverse *r, double *L, double *z, double *sum)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    tg_rows *rows = r->w->rows;
    reverse c = *r;
    double *v_next = s->v_next, *impulses = rows->L;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    c.y = r->compressed_y;
    c.scaled = r->compressed_scaled;
    c.z = z;
    c.touch = NULL;
    c.turns = c.starts = false;
    memset(c.y, 0, bytes);
    tg_rows_other_half(m, r->w, z, c.y);
    memset(r->compressed_v, 0, bytes);
    tg_rows_other_half(m, r->w, L, r->compressed_v);
    for (int k = 0; k < m->nv; k++)
        r->compressed_v[k] += s->v_free[k];
    s->v_next = r->compressed_v;
    rows->L = L;
    sweep(&c);
    s->v_next = v_next;
    rows->L = impulses;
    for (int k = 0; k < m->nv; k++)
        sum[k] += c.scaled[k];
}

static tg_status alternations_reverse(reverse *r, tg_unrolled *u, double *sum)
{
    size_t blocks = (size_t)r->w->rows->nblock;
    TG_TRY(tg_unrolled_begin(r->m, r->w, r->Lbar, u));
    memset(r->s->block_gradient, 0, sizeof(double) * (TG_AXES + 1) * blocks); /* added at the end */
    for (int k = u->alternations - 1; k >= 0; k--)
    {
        TG_TRY(tg_unrolled_back(r->w, k, u));
        for (int part = 0; part < 2; part++)
            problem_reverse(r, u->L[part], u->z[part], sum);
    }
    if (r->touch == NULL)
        memset(r->s->touch_gradient, 0, sizeof(double) * TG_TOUCH_GRADIENT * (size_t)r->w->rows->ntouch);
    r->touch = r->s->touch_gradient;
    tg_unrolled_start(r->w, u, r->s->touch_gradient);
    memcpy(r->s->block_gradient, u->mu, sizeof(double) * (TG_AXES + 1) * blocks);
    return TG_OK;
}

static tg_status unrolled_reverse(reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    tg_unrolled u = {.mark = tg_arena_mark(&r->w->rows->scratch)};
    double *sum = r->vbar; /* has gone into y */
    memcpy(r->y, r->vbar, sizeof(double) * (size_t)m->nv);
    tg_rows_half(m, r->w, r->y, r->Lbar);
    contacts_reverse(r, out);
    memset(r->z, 0, sizeof(double) * (size_t)r->w->rows->nrow);
    tg_rows_other_half(m, r->w, r->z, r->y);
    memset(sum, 0, sizeof(double) * (size_t)m->nv);
    tg_status status = alternations_reverse(r, &u, sum);
    tg_unrolled_end(r->w, &u);
    TG_TRY(status);
    sweep(r);
    for (int k = 0; k < m->nv; k++)
        r->scaled[k] += sum[k];
    return TG_OK;
}

static tg_status reverse_step(reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    if (r->s->within)
        TG_TRY(within_reverse(r, out));
    else
    {
        if (out->q != NULL)
            tg_integrator_reverse(m, r->w, out->q, r->g.q, r->vbar, r->gdt);
        if (tg_unrolls(r->w) && r->w->rows->nrow > 0)
            TG_TRY(unrolled_reverse(r, out));
        else
        {
            TG_TRY(impulses_reverse(r, out));
            sweep(r);
        }
        if (r->compressed)
            compression_reverse(r);
    }
    if (r->s->options.implicit_gyroscopic == TG_ON)
        TG_TRY(gyroscopic_reverse(r));
    activations_reverse(r, out->act);
    for (int k = 0; k < m->nv; k++) /* a = (v+ - v) / dt */
        r->g.v[k] -= r->g.a[k] / r->dt;
    return TG_OK;
}

/* ---- the boundary ---- */

static tg_status check_cotangent(const tg_model *m, tg_work *w, const tg_cotangent *out)
{
    if (out == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "out is NULL");
    if (out->q != NULL)
        TG_TRY(tg_check_vector(w, "out.q", out->q, m->nv));
    if (out->v != NULL)
        TG_TRY(tg_check_vector(w, "out.v", out->v, m->nv));
    if (out->act != NULL)
        TG_TRY(tg_check_vector(w, "out.act", out->act, m->na));
    const struct
    {
        const char *name;
        const double *x;
    } part[] = {{"out.force", out->force}, {"out.torque", out->torque}, {"out.point", out->point}};
    for (int i = 0; i < 3; i++)
        if (part[i].x != NULL)
            TG_TRY(tg_check_vector(w, part[i].name, part[i].x, 3 * tg_contact_count(w)));
    return TG_OK;
}

bool tg_wants_contacts(const tg_cotangent *out)
{
    return out->force != NULL || out->torque != NULL || out->point != NULL;
}

static tg_status prepare(const tg_model *m, tg_work *w, const tg_cotangent *out)
{
    return tg_wants_contacts(out) ? tg_step_prepare_forces(m, w) : tg_step_prepare(m, w);
}

static reverse begin(const tg_model *m, tg_work *w, const tg_cotangent *out, const tg_cotangent *in, double *gdt)
{
    tg_step_work *s = w->step;
    size_t rows = (size_t)w->rows->capacity.rows;
    double *c = s->cotangent, *p = s->row_gradient;
    reverse r = {.m = m, .w = w, .s = s, .dt = s->options.dt, .gdt = gdt, .gact = s->gact, .gu = s->gu};
    r.vbar = c;
    r.y = c + m->nv;
    r.scaled = c + 2 * m->nv;
    r.other = c + 3 * m->nv;
    r.Lbar = p;
    r.z = p + rows;
    r.turn = p + 2 * rows;
    r.gphi = p + 3 * rows;
    r.f = p + 4 * rows;
    r.f_start = p + 5 * rows;
    r.compressed_Lbar = p + 6 * rows;
    r.compressed_z = p + 7 * rows;
    r.compressed_turn = p + 8 * rows;
    r.compressed_y = c + 4 * m->nv;
    r.compressed_scaled = c + 5 * m->nv;
    r.compressed_v = c + 6 * m->nv;
    r.f_free = s->within ? p + 9 * rows : NULL;
    r.impulse = w->rows->explicit_law ? p + 10 * rows : NULL;
    r.factors = s->implicit;
    r.wrench = in->wrench;
    r.g = tg_gradient_begin(m, w, NULL);
    r.g.params = in->params;
    tg_given_clear(w->rows);
    memset(s->gact, 0, sizeof(double) * (size_t)m->na);
    memset(s->gu, 0, sizeof(double) * (size_t)m->nu);
    for (int k = 0; k < m->nv; k++)
        r.vbar[k] = out->v != NULL ? out->v[k] : 0;
    if (r.wrench != NULL)
        memset(r.wrench, 0, sizeof(double) * 6 * (size_t)m->nbody);
    return r;
}

static void copy_out(double *to, const double *from, int n)
{
    if (to != NULL && n > 0)
        memcpy(to, from, sizeof(double) * (size_t)n);
}

/* the gradient of q+ before its loops were closed */
static tg_status before_projection(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_cotangent *out)
{
    double *g = w->step->projection;
    if (out->q == NULL || !tg_projects(m, w))
        return TG_OK;
    memcpy(g, out->q, sizeof(double) * (size_t)m->nv);
    out->q = g;
    return tg_project_reverse(m, w, g, in->params);
}

/* adds to in->params, writes the others */
static tg_status take_reverse(const tg_model *m, tg_work *w, tg_cotangent out, tg_cotangent *in, bool saltation)
{
    double gdt = 0;
    w->step->matrices.ready = false; /* its fields and spreads go */
    TG_TRY(before_projection(m, w, in, &out));
    if (w->step->options.implicit_gyroscopic == TG_ON && !w->step->gyroscopic_factored)
        TG_TRY(tg_gyroscopic_factor(m, w));
    reverse r = begin(m, w, &out, in, &gdt);
    TG_TRY(reverse_step(&r, &out));
    copy_out(in->tau, r.scaled, m->nv);
    if (saltation)
        tg_saltation_reverse(m, w, &out, r.g, &gdt);
    copy_out(in->q, r.g.q, m->nv);
    copy_out(in->v, r.g.v, m->nv);
    copy_out(in->act, r.gact, m->na);
    copy_out(in->u, r.gu, m->nu);
    copy_out(in->dt, &gdt, 1);
    tg_given_gradients(w->rows, in->contact);
    return TG_OK;
}

static void clear_params(const tg_model *m, tg_cotangent *in)
{
    if (in->params != NULL)
        memset(in->params, 0, sizeof(double) * (size_t)m->nparams);
}

tg_status tg_step_reverse(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in)
{
    clear_params(m, in);
    TG_TRY(take_reverse(m, w, *out, in, false));
    tg_gradient_end(m, w, in->params);
    return TG_OK;
}

tg_status tg_step_vjp_add(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label)
{
    TG_TRY(check_cotangent(m, w, out));
    TG_TRY(prepare(m, w, out));
    TG_TRY(take_reverse(m, w, *out, in, tg_saltation_acts(w)));
    if (label != NULL)
        *label = w->step->label;
    return TG_OK;
}

tg_status tg_step_vjp(const tg_model *m, tg_work *w, const tg_cotangent *out, tg_cotangent *in, tg_label *label)
{
    TG_TRY(tg_check_work(m, w));
    if (in == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "in is NULL");
    clear_params(m, in);
    TG_TRY(tg_step_vjp_add(m, w, out, in, label));
    tg_gradient_end(m, w, in->params);
    return TG_OK;
}
