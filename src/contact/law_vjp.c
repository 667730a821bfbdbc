/* Reverse mode of the laws (law.c): from gradients of the problem's numbers to those of gaps, start velocities, dt and parameters. */
#include <math.h>

#include "contact/rows_vjp.h"

typedef struct reverse
{
    const tg_work *w;
    const tg_contact_settings *s;
    const tg_law_gradient *g;
} reverse;

static void add(double *params, int index, double value)
{
    if (params != NULL && index >= 0)
        params[index] += value;
}

/* b = max(gain Phi / dt, -v_push) */
static void push_reverse(const reverse *r, double phi, double gb, double *gphi)
{
    double gain = phi < 0 ? r->s->push_gain : 1, dt = r->s->dt;
    if (gain * phi / dt <= -r->s->push_speed)
        return;
    *gphi += gb * gain / dt;
    *r->g->gdt -= gb * gain * phi / (dt * dt);
}

/* b = Phi / dt without a bound */
static void gap_reverse(const reverse *r, double phi, double gb, double *gphi)
{
    *gphi += gb / r->s->dt;
    *r->g->gdt -= gb * phi / (r->s->dt * r->s->dt);
}

static void compliance_reverse(const reverse *r, const tg_constraint *c, const tg_touch *t, double gb)
{
    double dt = r->s->dt, L = r->w->rows->L[c->row], compliance = tg_law_compliance(r->w->params, &t->law);
    for (int k = 0; k < 2; k++)
        add(r->g->params, t->law.compliance[k], gb * L / (dt * dt));
    *r->g->gdt -= 2 * gb * compliance * L / (dt * dt * dt);
}

/* mu = mu_s factor, factor = k + (1 - k) E, E = exp(-(slip / v_s)^2) */
static void friction_reverse(const reverse *r, const tg_constraint *c, const tg_touch *t, const double *gmu)
{
    const double *value = r->w->params->value;
    double slide = gmu[0] + gmu[1], kinetic = value[t->law.kinetic], scale = value[t->law.slip_speed];
    add(r->g->params, t->law.friction[0], slide * t->factor);
    add(r->g->params, t->law.friction[1], gmu[2]);
    add(r->g->params, t->law.friction[2], gmu[3] + gmu[4]);
    if (t->slip == 0 || slide == 0) /* E = 1 whatever v_s is, or nobody asks */
        return;
    double ratio = t->slip / scale, E = exp(-ratio * ratio), g_factor = slide * value[t->law.friction[0]];
    add(r->g->params, t->law.kinetic, g_factor * (1 - E));
    if (kinetic == 1)
        return;
    add(r->g->params, t->law.slip_speed, g_factor * (1 - kinetic) * E * 2 * ratio * ratio / scale);
    double g_slip = -g_factor * (1 - kinetic) * E * 2 * ratio / scale;
    for (int i = 1; i < 3; i++)
        r->g->f_start[c->row + i] += g_slip * r->w->rows->speed[c->row + i] / t->slip;
}

static void contact_reverse(const reverse *r, const tg_rows_island *island, const tg_constraint *c, const double *gmu)
{
    const tg_touch *t = &r->w->rows->touch[c->index];
    double gb = r->g->z[c->row], *gphi = &r->g->gphi[c->row];
    bool soft = tg_law_compliance(r->w->params, &t->law) > 0;
    friction_reverse(r, c, t, gmu);
    compliance_reverse(r, c, t, gb);
    if (t->impact || t->rebound)
    {
        r->g->f_start[c->row] += gb * r->w->params->value[t->law.restitution];
        add(r->g->params, t->law.restitution, gb * t->approach);
    }
    else if (island->relaxed && t->phi < 0)
        return; /* the push was dropped: b = 0 */
    else if (soft || (island->impact && t->approach > 0))
        gap_reverse(r, t->phi, gb, gphi);
    else
        push_reverse(r, t->phi, gb, gphi);
    for (int k = 0; k < 2; k++)
        add(r->g->params, t->law.margin[k], -*gphi);
}

/* b = Phi / dt, no longer than v_push */
static void equality_reverse(const reverse *r, int n, const double *phi, const double *gb, double *gphi)
{
    double sum = 0, along = 0, dt = r->s->dt;
    for (int i = 0; i < n; i++)
    {
        sum += phi[i] * phi[i];
        along += phi[i] * gb[i];
    }
    double length = sqrt(sum);
    if (length <= r->s->push_speed * dt)
    {
        for (int i = 0; i < n; i++)
            gphi[i] += gb[i] / dt;
        *r->g->gdt -= along / (dt * dt);
        return;
    }
    for (int i = 0; i < n; i++)
        gphi[i] += r->s->push_speed / length * (gb[i] - phi[i] * along / sum);
}

static void law_reverse(const reverse *r, const tg_model *m, const tg_rows_island *island, int block)
{
    const tg_rows *rows = r->w->rows;
    const tg_constraint *c = &rows->constraint[rows->order[block]];
    const double *phi = rows->phi + c->row, *gb = r->g->z + c->row;
    double *gphi = r->g->gphi + c->row, dt = r->s->dt, bound = r->g->bound[block];
    switch (c->source)
    {
    case TG_SOURCE_EQUALITY:
        for (int i = 0; i < c->rows && !island->relaxed; i += 3)
            equality_reverse(r, c->rows < 3 ? c->rows : 3, phi + i, gb + i, gphi + i);
        break;
    case TG_SOURCE_JOINT_FRICTION:
        add(r->g->params, m->offset.joint_frictionloss + m->dof_joint[c->index], dt * bound);
        *r->g->gdt += bound * TG_PARAM(r->w->params, joint_frictionloss)[m->dof_joint[c->index]];
        break;
    case TG_SOURCE_TENDON_FRICTION:
        add(r->g->params, m->offset.tendon_frictionloss + c->index, dt * bound);
        *r->g->gdt += bound * TG_PARAM(r->w->params, tendon_frictionloss)[c->index];
        break;
    case TG_SOURCE_JOINT_LIMIT:
    case TG_SOURCE_TENDON_LIMIT:
        if (!(island->relaxed && phi[0] < 0))
            push_reverse(r, phi[0], gb[0], gphi);
        break;
    default:
        contact_reverse(r, island, c, r->g->mu + 5 * block);
        break;
    }
}

void tg_laws_reverse(const tg_model *m, const tg_work *w, const tg_contact_settings *settings, const tg_law_gradient *g)
{
    const tg_rows *rows = w->rows;
    reverse r = {w, settings, g};
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_rows_island *island = &rows->island[i];
        for (int b = island->block; b < island->block + island->blocks; b++)
            law_reverse(&r, m, island, b);
    }
}
