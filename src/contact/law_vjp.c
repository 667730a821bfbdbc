/* Reverse mode of the laws (law.c): from gradients of the problem's numbers to those of gaps, start velocities, dt and
 * parameters. */
#include <math.h>

#include "contact/explicit.h"

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

/* to a number of a contact's law */
static void add_law(const reverse *r, const tg_touch *t, int index, double value)
{
    double *g = tg_law_gradient_of(r->g->params, &t->law, index);
    if (g != NULL)
        *g += value;
}

/* b = slope Phi, slope ~ 1 / dt */
static void gap_reverse(const reverse *r, double slope, double phi, double gb, double *gphi)
{
    *gphi += gb * slope;
    *r->g->gdt -= gb * slope * phi / r->s->dt;
}

static void compliance_reverse(const reverse *r, const tg_constraint *c, const tg_touch *t, double gb)
{
    double dt = r->s->dt, L = r->w->rows->L[c->row], compliance = tg_law_compliance(r->w->params, &t->law);
    if (compliance == 0 && r->g->params == NULL && t->law.given == NULL)
        return;
    for (int k = 0; k < 2; k++)
        add_law(r, t, t->law.compliance[k], gb * L / (dt * dt));
    *r->g->gdt -= 2 * gb * compliance * L / (dt * dt * dt);
}

/* mu = mu_s factor, factor = k + (1 - k) E, E = exp(-(slip / v_s)^2) */
static void friction_reverse(const reverse *r, const tg_constraint *c, const tg_touch *t, const double *gmu)
{
    const tg_params *p = r->w->params;
    double slide = gmu[0] + gmu[1], kinetic = tg_law_number(p, &t->law, t->law.kinetic);
    double scale = tg_law_number(p, &t->law, t->law.slip_speed);
    add_law(r, t, t->law.friction[0], slide * t->factor);
    add_law(r, t, t->law.friction[1], gmu[2]);
    add_law(r, t, t->law.friction[2], gmu[TG_AXIS_ROLL] + gmu[TG_AXIS_ROLL2]);
    if (t->slip == 0 || slide == 0) /* E = 1 whatever v_s is, or it is not requested */
        return;
    double ratio = t->slip / scale, E = exp(-ratio * ratio);
    double g_factor = slide * tg_law_number(p, &t->law, t->law.friction[0]);
    add_law(r, t, t->law.kinetic, g_factor * (1 - E));
    if (kinetic == 1)
        return;
    add_law(r, t, t->law.slip_speed, g_factor * (1 - kinetic) * E * 2 * ratio * ratio / scale);
    double g_slip = -g_factor * (1 - kinetic) * E * 2 * ratio / scale;
    for (int i = 1; i < DIM; i++)
        r->g->f_start[c->row + i] += g_slip * r->w->rows->speed[c->row + i] / t->slip;
}

static void contact_reverse(const reverse *r, const tg_rows_island *island, const tg_constraint *c, int block)
{
    const double *gmu = r->g->mu + TG_AXES * block;
    const tg_touch *t = &r->w->rows->touch[c->index];
    if (r->s->explicit_law != TG_EXPLICIT_NONE)
    {
        double own[TG_AXES];
        if (r->g->impulse == NULL)
            return;
        tg_explicit_reverse(r->w, r->s, island, block, r->g->impulse, r->g, own);
        friction_reverse(r, c, t, own);
        for (int k = 0; k < 2; k++)
            add_law(r, t, t->law.margin[k], -r->g->gphi[c->row]);
        return;
    }
    double gb = r->g->z[c->row], *gphi = &r->g->gphi[c->row];
    tg_bias_slope slope = tg_contact_bias_slope(r->w->params, r->s, island, t, r->w->rows->problem);
    friction_reverse(r, c, t, gmu);
    compliance_reverse(r, c, t, gb);
    r->g->f_start[c->row] += gb * slope.start;
    add_law(r, t, t->law.restitution, gb * slope.restitution);
    *gphi += gb * slope.gap;
    *r->g->gdt += gb * slope.dt;
    if (r->g->f_free != NULL)
        r->g->f_free[c->row] += gb * slope.free;
    for (int k = 0; k < 2; k++)
        add_law(r, t, t->law.margin[k], -*gphi);
}

/* b = S Phi; a bias that has reached v_push follows neither the length of Phi nor dt */
static void equality_reverse(const reverse *r, const tg_rows_island *island, double push, int n, const double *phi,
                             const double *gb, double *gphi)
{
    mat33 S;
    tg_equality_bias_slope(r->s, island, push, n, phi, S);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            gphi[i] += S[n * j + i] * gb[j];
            *r->g->gdt -= S[n * j + i] * gb[j] * phi[i] / r->s->dt;
        }
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
        for (int i = 0, n = tg_rows_together(c->rows); i < c->rows; i += n)
            equality_reverse(r, island, tg_push_of(r->s, c, i), n, phi + i, gb + i, gphi + i);
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
        gap_reverse(r, tg_limit_bias_slope(r->s, island, tg_push_of(r->s, c, 0), phi[0]), phi[0], gb[0], gphi);
        break;
    default:
        contact_reverse(r, island, c, block);
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
