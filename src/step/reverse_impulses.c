/* Reverse mode of a step's impulses: Lbar = J A^-1 vbar and what is asked of L itself, z = D^T Lbar of every island,
 * y = A^-1 (vbar + J^T z), and the gradients of friction coefficients and bounds (step_vjp.c). */
#include "contact/implicit_large.h"
#include "contact/poisson_vjp.h"
#include "dynamics/factors.h"
#include "math/lanes.h"
#include "step/reverse.h"

/* whether anybody asks for the gradient of a block's friction coefficients: the parameters, or velocities on which they
 * depend */
static bool friction_counts(const tg_reverse *r, int block)
{
    const tg_rows *rows = r->w->rows;
    const tg_constraint *c = &rows->constraint[rows->order[block]];
    if (c->source != TG_SOURCE_CONTACT)
        return false;
    const tg_law *law = &rows->touch[c->index].law;
    return r->g.params != NULL || law->given != NULL || tg_law_number(r->w->params, law, law->kinetic) != 1;
}

static void poisson_transpose(tg_reverse *r, int i)
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
static tg_status transpose(tg_reverse *r, int i, bool more)
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
    return tg_implicit_large_transpose(r->m, r->w, i, f, r->Lbar + island->row, r->other, more, z);
}

/* Lbar + G z of all islands, for those that have no G */
static void large_totals(tg_reverse *r)
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
void tg_reverse_coefficients(tg_reverse *r, int i)
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

static v4 three(const double *x, int index)
{
    return x != NULL ? v4_load3(x + DIM * index) : v4_zero();
}

/* force = sum of axes L / dt, and the same for the torque: gradients of L, of turns of the frame (dF = turn x F) and of
 * dt */
static void contact_reverse(tg_reverse *r, const tg_constraint *c, int index, const tg_cotangent *out)
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
void tg_reverse_contacts(tg_reverse *r, const tg_cotangent *out)
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
static double compliance_of(const tg_reverse *r, int block)
{
    const tg_rows *rows = r->w->rows;
    const tg_constraint *c = &rows->constraint[rows->order[block]];
    bool contact = c->source == TG_SOURCE_CONTACT;
    return contact ? tg_law_compliance(r->w->params, &rows->touch[c->index].law) / (r->dt * r->dt) : 0;
}

/* Where Lbar + G z is J y, and what compliance adds to it, as forward mode has it: where matrices are kept, and where
 * impulses of loops turn. G of loops that are redundant only nearly lacks what no velocity follows of their rows
 * (contact/consistent.c). */
static bool totals_are_velocities(const tg_reverse *r, int island)
{
    const tg_implicit *f = &r->s->implicit[island];
    return f->kept || (f->turns && r->w->rows->island[island].redundant > 0);
}

/* y and z of islands whose matrices are kept, and what follows from Lbar + G z of these and of others that need it */
static void velocity_totals(tg_reverse *r)
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
        if (!totals_are_velocities(r, i))
            continue;
        f->total = r->f + row;
        tg_implicit_turn(f, f->total, r->turn + row);
        tg_reverse_coefficients(r, i);
        f->total = NULL;
    }
}

/* Lbar + G z: what acts on a contact's explicit impulse, by itself and through what is solved beside it */
static void explicit_impulses(const tg_reverse *r)
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
static void detach(const tg_reverse *r)
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
tg_status tg_reverse_impulses(tg_reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    const tg_rows *rows = r->w->rows;
    bool any = false;
    memcpy(r->y, r->vbar, sizeof(double) * (size_t)m->nv);
    if (rows->nrow == 0)
    {
        tg_solve_mass(m, r->w, r->y);
        return TG_OK;
    }
    tg_rows_half(m, r->w, r->y, r->Lbar);
    tg_reverse_contacts(r, out);
    for (int i = 0; i < rows->nisland; i++)
        TG_TRY(transpose(r, i, tg_wants_contacts(out)));
    if (r->large)
        large_totals(r);
    for (int i = 0; i < rows->nisland; i++)
    {
        tg_reverse_coefficients(r, i);
        any = any || totals_are_velocities(r, i);
    }
    if (tg_detaches(r->w))
        detach(r);
    if (r->impulse != NULL)
        explicit_impulses(r);
    tg_rows_other_half(m, r->w, r->z, r->y);
    if (any && !tg_wants_contacts(out))
        velocity_totals(r);
    tg_loops_beside(r->w, r->z);
    return TG_OK;
}
