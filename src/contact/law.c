/* The laws of a step, as numbers of the problem: bias, impact gates, friction coefficients.
 *
 *   contact      Signorini on J_N v+ + b_N,  b_N = max(Phi / dt, -v_push); with compliance c: b_N = Phi / dt
 *                (and c / dt^2 in G)
 *   impact       if e > 0, J_N v < -v_rest and Phi + dt J_N v_free <= 0:  b_N = e J_N v and nothing else. Contacts of
 *                the same island that separate (J_N v > 0) take max(Phi / dt, e J_N v) meanwhile (Moreau). Poisson's
 *                law: b_N = 0, and the rest is done after the solve (poisson.c).
 *   friction     mu (kappa + (1 - kappa) exp(-(|J_T v| / v_s)^2)) on the two sliding rows, kappa = kinetic / static
 *   limit        as a contact without impact
 *   equality     b = Phi / dt, no longer than v_push (m/s for positions, rad/s for orientations)
 *   dry friction |L| <= f dt */
#include <math.h>

#include "contact/rows.h"
#include "contact/within.h"

typedef struct setting
{
    const tg_model *m;
    tg_work *w;
    const tg_contact_settings *s;
} setting;

static double push_out(const tg_contact_settings *s, double push, double phi)
{
    double gain = phi < 0 ? s->push_gain : 1;
    return fmax(gain * phi / s->dt, -push);
}

/* ---- contacts ---- */

static void start_velocity(const tg_rows *r, const tg_constraint *c, tg_touch *t)
{
    const double *speed = r->speed + c->row;
    t->approach = speed[0];
    t->free = r->free[c->row];
    t->slip = c->rows >= DIM ? sqrt(speed[1] * speed[1] + speed[2] * speed[2]) : 0;
}

static bool is_impact(const setting *x, const tg_rows_island *island, const tg_constraint *c, const tg_touch *t)
{
    double e = tg_law_number(x->w->params, &t->law, t->law.restitution);
    if (x->s->explicit_law != TG_EXPLICIT_NONE)
        return false;
    if (x->s->within && tg_island_is_dense(x->w->rows, island))
        return tg_law_compliance(x->w->params, &t->law) == 0 && tg_meets_within(x->s, t->phi, t->approach, t->free);
    return e > 0 && t->approach < -x->s->rest_speed && t->phi + x->s->dt * x->w->rows->free[c->row] <= 0;
}

static double friction_factor(const tg_params *p, const tg_touch *t)
{
    double kinetic = tg_law_number(p, &t->law, t->law.kinetic);
    if (kinetic == 1)
        return 1;
    double ratio = t->slip / tg_law_number(p, &t->law, t->law.slip_speed);
    return kinetic + (1 - kinetic) * exp(-ratio * ratio);
}

static void set_friction(const tg_params *p, tg_touch *t, tg_block *block)
{
    const tg_law *law = &t->law;
    t->factor = friction_factor(p, t);
    block->mu[0] = block->mu[1] = t->factor * tg_law_number(p, law, law->friction[0]);
    block->mu[2] = tg_law_number(p, law, law->friction[1]);
    block->mu[TG_AXIS_ROLL] = block->mu[TG_AXIS_ROLL2] = tg_law_number(p, law, law->friction[2]);
}

static double contact_bias(const setting *x, const tg_rows_island *island, tg_touch *t)
{
    const tg_params *p = x->w->params;
    double e = tg_law_number(p, &t->law, t->law.restitution), bounce = e * t->approach;
    double rigid = tg_law_compliance(p, &t->law) > 0 ? t->phi / x->s->dt : push_out(x->s, x->s->push_speed, t->phi);
    t->rebound = false;
    if (t->impact && island->within)
        return -tg_within_of(x->s, t->phi, t->approach, t->free, e).speed;
    if (t->impact)
        return x->s->poisson ? 0 : bounce;
    if (x->s->poisson || !island->impact || t->approach <= 0)
        return rigid;
    t->rebound = bounce > t->phi / x->s->dt;
    return fmax(t->phi / x->s->dt, bounce);
}

/* ---- all ---- */

static uint64_t pair_of(const tg_model *m, const tg_bond *b)
{
    return ((uint64_t)m->body_node[b->body[0]] << 32 | (uint64_t)m->body_node[b->body[1]]) + 1;
}

static void find_impacts(const setting *x)
{
    tg_rows *r = x->w->rows;
    for (int i = 0; i < r->nisland; i++)
    {
        tg_rows_island *island = &r->island[i];
        island->impact = island->within = false;
        for (int b = island->block; b < island->block + island->blocks; b++)
        {
            const tg_constraint *c = &r->constraint[r->order[b]];
            if (c->source != TG_SOURCE_CONTACT)
                continue;
            tg_touch *t = &r->touch[c->index];
            start_velocity(r, c, t);
            t->impact = is_impact(x, island, c, t);
            island->impact = island->impact || t->impact;
        }
        island->within = island->impact && x->s->within && tg_island_is_dense(r, island);
    }
}

/* phi / dt, shortened to v_push: n numbers */
static void equality_bias(const tg_contact_settings *s, double push, int n, const double *phi, double *bias)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += phi[i] * phi[i];
    double length = sqrt(sum), scale = length > push * s->dt ? push / length : 1 / s->dt;
    for (int i = 0; i < n; i++)
        bias[i] = scale * phi[i];
}

static double friction_bound(const setting *x, const tg_constraint *c)
{
    const tg_params *p = x->w->params;
    return x->s->dt * (c->source == TG_SOURCE_JOINT_FRICTION
                           ? TG_PARAM(p, joint_frictionloss)[x->m->dof_joint[c->index]]
                           : TG_PARAM(p, tendon_frictionloss)[c->index]);
}

static void apply_law(const setting *x, const tg_rows_island *island, const tg_constraint *c, tg_block *block)
{
    tg_rows *r = x->w->rows;
    double *bias = r->bias + c->row;
    const double *phi = r->phi + c->row;
    *block = (tg_block){.row = c->row - island->row, .rows = c->rows};
    for (int i = 0; i < c->rows; i++)
        bias[i] = 0;
    switch (c->source)
    {
    case TG_SOURCE_EQUALITY:
        block->kind = TG_BLOCK_EQUALITY;
        for (int i = 0, n = tg_rows_together(c->rows); i < c->rows; i += n)
            equality_bias(x->s, tg_push_of(x->s, c, i), n, phi + i, bias + i);
        break;
    case TG_SOURCE_JOINT_FRICTION:
    case TG_SOURCE_TENDON_FRICTION:
        block->kind = TG_BLOCK_FRICTION;
        block->bound = friction_bound(x, c);
        break;
    case TG_SOURCE_JOINT_LIMIT:
    case TG_SOURCE_TENDON_LIMIT:
        block->kind = TG_BLOCK_LIMIT;
        bias[0] = push_out(x->s, tg_push_of(x->s, c, 0), phi[0]);
        break;
    default:
        block->kind = TG_BLOCK_CONTACT;
        block->pair = pair_of(x->m, &r->touch[c->index].bond);
        set_friction(x->w->params, &r->touch[c->index], block);
        bias[0] = x->s->explicit_law != TG_EXPLICIT_NONE ? 0 : contact_bias(x, island, &r->touch[c->index]);
        break;
    }
}

void tg_apply_laws(const tg_model *m, tg_work *w, const double *v, const double *v_free,
                   const tg_contact_settings *settings)
{
    tg_rows *r = w->rows;
    setting x = {m, w, settings};
    tg_rows_velocities(m, w, (const double *const[2]){v, v_free}, (double *const[2]){r->speed, r->free});
    find_impacts(&x);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        for (int b = island->block; b < island->block + island->blocks; b++)
            apply_law(&x, island, &r->constraint[r->order[b]], &r->block[b]);
    }
    for (int i = 0; i < r->nrow; i++)
        r->g[i] = r->free[i] + r->bias[i];
}

void tg_placing_laws(tg_work *w, const tg_contact_settings *s, const tg_rows_island *island)
{
    tg_rows *r = w->rows;
    memcpy(r->placing_g + island->row, r->g + island->row, sizeof(double) * (size_t)island->rows);
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &r->touch[c->index] : NULL;
        if (t == NULL || !t->impact)
            continue;
        double e = tg_law_number(w->params, &t->law, t->law.restitution);
        double speed = tg_within_of(s, t->phi, t->approach, t->free, e).placing;
        r->placing_g[c->row] = r->free[c->row] - (island->relaxed ? fmin(speed, 0) : speed);
    }
}

/* ---- without the push ---- */

static const double strong_push = 1e-3; /* m/s: overlaps of micrometres occur in every step */

static bool pushes(const tg_rows *r, const tg_constraint *c, int row)
{
    return r->bias[row] < 0 || (c->source == TG_SOURCE_EQUALITY && r->bias[row] > 0);
}

double tg_constraint_push(const tg_rows *r, const tg_constraint *c)
{
    double most = 0;
    for (int i = c->row; i < c->row + c->rows; i++)
        most = pushes(r, c, i) ? fmax(most, fabs(r->bias[i])) : most;
    return most;
}

double tg_island_push(const tg_rows *r, const tg_rows_island *island)
{
    double most = 0;
    for (int b = island->block; b < island->block + island->blocks && !island->relaxed; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source == TG_SOURCE_CONTACT && r->touch[c->index].impact)
            return 0;
        most = fmax(most, tg_constraint_push(r, c));
    }
    return most;
}

bool tg_is_strong_push(double push)
{
    return push > strong_push;
}

bool tg_island_can_relax(const tg_rows *r, const tg_rows_island *island)
{
    return tg_is_strong_push(tg_island_push(r, island));
}

bool tg_island_relax(tg_rows *r, tg_rows_island *island)
{
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        for (int i = c->row; i < c->row + c->rows; i++)
        {
            bool drop = pushes(r, c, i);
            island->relaxed = island->relaxed || drop;
            r->bias[i] = drop ? 0 : r->bias[i];
            r->unmet[i] = drop ? 0 : r->unmet[i];
            r->g[i] = r->free[i] + r->bias[i];
        }
    }
    return island->relaxed;
}
