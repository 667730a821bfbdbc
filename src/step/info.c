/* What a step tells about itself. */
#include <float.h>
#include <math.h>

#include "contact/collide.h"
#include "contact/explicit.h"
#include "contact/within.h"
#include "solve/cone.h"
#include "solve/tolerance.h"
#include "step/balance.h"
#include "step/step.h"

const char *tg_step_status_string(tg_step_status status)
{
    static const char *const name[] = {"solved", "not solved to tolerance", "unstable"};
    _Static_assert(sizeof name / sizeof name[0] == TG_STEP_STATUSES, "a name for every status");
    return (unsigned)status < TG_STEP_STATUSES ? name[status] : "unknown";
}

const char *tg_contact_mode_string(tg_contact_mode mode)
{
    static const char *const name[] = {"breaking", "sticking", "sliding"};
    _Static_assert(sizeof name / sizeof name[0] == TG_CONTACT_MODES, "a name for every mode");
    return (unsigned)mode < TG_CONTACT_MODES ? name[mode] : "unknown";
}

const char *tg_solved_by_string(tg_solved_by stage)
{
    static const char *const name[] = {"nothing",     "warm start",     "soft contacts", "ladder",
                                       "multipliers", "interior point", "path",          "sweeps"};
    _Static_assert(sizeof name / sizeof name[0] == TG_SOLVED_BY_KINDS, "a name for every stage");
    _Static_assert((int)TG_SOLVED_BY_KINDS == (int)TG_ENDED_KINDS, "the same stages");
    return (unsigned)stage < TG_SOLVED_BY_KINDS ? name[stage] : "unknown";
}

static void add_island(tg_info *info, const tg_solve_result *result)
{
    const tg_residual *residual = &result->residual;
    if (result->status != TG_SOLVE_SOLVED)
        info->status = TG_STEP_PARTIAL;
    int factorisations = result->newton + result->interior;
    info->iterations += factorisations;
    if (factorisations >= info->worst)
    {
        info->worst = factorisations;
        info->stage = (tg_solved_by)result->stage;
    }
    info->sweeps += result->sweeps;
    info->primal = tg_larger(info->primal, residual->primal);
    info->dual = tg_larger(info->dual, residual->dual);
    info->complementarity = tg_larger(info->complementarity, residual->complementarity);
    info->residual = tg_larger(info->residual, tg_residual_max(residual));
}

/* Velocities so large that their rounding is more than the tolerance: a residual below it says nothing. */
static bool is_beyond_rounding(const tg_rows *r, double tolerance)
{
    double largest = 0;
    for (int i = 0; i < r->nrow; i++)
        largest = tg_larger(largest, fabs(r->free[i]));
    return DBL_EPSILON * largest > tolerance;
}

/* L . (J v+ + J v_free) / 2, with J v+ = sigma - b less what the compliance of a contact adds: its energy is stored,
 * not spent */
static double impulse_work(const tg_model *m, tg_work *w)
{
    const tg_rows *r = w->rows;
    double work = 0, *v = w->step->row_gradient;
    if (r->eps > 0) /* which is in the problems, and in no velocity */
        tg_rows_velocity(m, w, w->step->v_next, v);
    for (int i = 0; i < r->nrow && r->eps > 0; i++)
        work += 0.5 * r->L[i] * (v[i] + r->free[i]);
    for (int i = 0; i < r->nrow && r->eps == 0; i++)
        work += 0.5 * r->L[i] * (r->sigma[i] - r->bias[i] + r->free[i]);
    return work;
}

tg_status tg_step_report(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    tg_info *info = &s->info;
    *info = (tg_info){.status = TG_STEP_SOLVED, .contacts = r->ntouch, .rows = r->nrow, .islands = r->nisland};
    for (int i = 0; i < r->ntouch; i++)
        info->contacts -= r->touch[i].aside;
    info->law = s->options.law;
    bool relaxed = !tg_cone_law_is_default(tg_step_law(s));
    for (int i = 0; i < r->nisland; i++)
    {
        add_island(info, &r->island[i].result);
        info->unrelaxed = fmax(info->unrelaxed, relaxed ? r->island[i].unrelaxed : info->residual);
    }
    if (is_beyond_rounding(r, s->options.tolerance))
        info->status = TG_STEP_PARTIAL;
    for (int i = 0; i < r->ntouch; i++)
        info->penetration = tg_larger(info->penetration, -r->touch[i].phi);
    info->work = impulse_work(m, w);
    info->capacity = r->capacity.contacts > 0 ? (double)r->ntouch / r->capacity.contacts : 0;
    return tg_balance_needed(m, w) ? tg_step_balance(m, w) : TG_OK;
}

tg_status tg_step_modes(tg_work *w)
{
    tg_rows *r = w->rows;
    if (w->step->modes)
        return TG_OK;
    const tg_cone_law *law = tg_step_law(w->step);
    for (int i = 0; i < r->nisland; i++)
    {
        tg_rows_island *island = &r->island[i];
        if (!tg_cone_law_is_default(law))
        {
            tg_island problem = tg_island_problem(r, island);
            TG_TRY(tg_cone_law_modes(law, &problem, r->L + island->row, r->sigma + island->row, &r->scratch,
                                     r->mode + island->block, &w->error));
            continue;
        }
        if (r->explicit_law)
        {
            tg_plain_modes(w->model, r, island, r->mode + island->block);
            tg_explicit_modes(r, island);
            continue;
        }
        if (tg_island_is_dense(r, island))
            tg_need_delassus(w->model, w, island);
        if (!island->filled || (island->impact && w->step->settings.poisson))
        {
            tg_plain_modes(w->model, r, island, r->mode + island->block);
            continue;
        }
        tg_island problem = tg_island_problem(r, island);
        TG_TRY(tg_island_modes(&problem, r->L + island->row, r->sigma + island->row, &r->scratch,
                               r->mode + island->block, &w->error));
        if (!island->within)
            continue;
        problem.g = r->placing_g + island->row;
        TG_TRY(tg_island_modes(&problem, r->placing_L + island->row, r->placing_sigma + island->row, &r->scratch,
                               r->placing_mode + island->block, &w->error));
    }
    w->step->modes = true;
    return TG_OK;
}

static tg_step_contact contact_of(const tg_model *m, const tg_work *w, const tg_constraint *c,
                                  const tg_block_mode *mode)
{
    const tg_rows *r = w->rows;
    const tg_touch *t = &r->touch[c->index];
    double dt = w->step->options.dt;
    tg_step_contact out = {.at = tg_as_contact(m, t->pair, &t->at),
                           .mode = (tg_contact_mode)mode->mode,
                           .island = r->tree_island[r->part[c->part].tree],
                           .immaterial = mode->immaterial,
                           .margin = mode->margin};
    out.at.gap = t->phi;
    if (r->explicit_law)
        out.mode = (tg_contact_mode)t->regime; /* open, within its bound, at it */
    if (t->law.given != NULL)
        out.at.id = c->id;
    v4 force = v4_zero(), torque = v4_zero();
    for (int i = 0; i < c->rows; i++)
    {
        out.local[i] = r->L[c->row + i] / dt;
        if (i < t->bond.linear)
            force += t->bond.axis[i] * v4_splat(out.local[i]);
        else
            torque += t->bond.axis[i - t->bond.linear] * v4_splat(out.local[i]);
    }
    v4_store3(out.force, force);
    v4_store3(out.torque, torque);
    return out;
}

tg_status tg_need_step(const tg_model *m, tg_work *w)
{
    TG_TRY(tg_check_work(m, w));
    const tg_step_work *s = w->step;
    if (!s->done || s->params != w->params || s->generation != w->params->generation)
        return tg_fail(&w->error, TG_ERR_STALE, "%s",
                       !s->done ? "the workspace holds no step; call tg_step first"
                                : "the parameters have changed since the last step");
    return TG_OK;
}

int tg_contact_count(const tg_work *w)
{
    int count = 0;
    for (int b = 0; b < w->rows->nblock; b++)
        count += w->rows->constraint[w->rows->order[b]].source == TG_SOURCE_CONTACT;
    return count;
}

tg_status tg_step_contacts(const tg_model *m, tg_work *w, tg_step_contact *contact, int capacity, int *count)
{
    TG_TRY(tg_need_step(m, w));
    if (count == NULL || capacity < 0 || (contact == NULL && capacity > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s",
                       count == NULL  ? "count is NULL"
                       : capacity < 0 ? "capacity is negative"
                                      : "contact is NULL");
    TG_TRY(tg_step_modes(w));
    const tg_rows *r = w->rows;
    *count = 0;
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source != TG_SOURCE_CONTACT)
            continue;
        if (*count < capacity)
            contact[*count] = contact_of(m, w, c, &r->mode[b]);
        (*count)++;
    }
    return TG_OK;
}

/* ---- the signature ---- */

/* FNV-1a over 64-bit words */
static const uint64_t hash_start = 14695981039346656037u;

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 1099511628211u;
}

/* whether the bias is at -v_push: that of the points, or of the angles, of an equality */
static bool push_is_full(const tg_work *w, const tg_constraint *c)
{
    const tg_contact_settings *s = &w->step->settings;
    const double *phi = w->rows->phi + c->row;
    bool full = false, overlaps = c->source == TG_SOURCE_EQUALITY || phi[0] < 0;
    for (int i = 0; i < c->rows; i += DIM)
    {
        double sum = 0;
        for (int k = i; k < i + DIM && k < c->rows; k++)
            sum += phi[k] * phi[k];
        full = full || s->push_gain * sqrt(sum) >= tg_push_of(s, c, i) * s->dt;
    }
    return overlaps && full;
}

/* what a block does in Poisson's two phases */
static uint64_t phases_of(const tg_rows *r, const tg_constraint *c, int block)
{
    const double *L = r->compressed + c->row, *sigma = r->compressed_sigma + c->row;
    double slip = 0;
    for (int i = c->source == TG_SOURCE_CONTACT ? 1 : 0; i < c->rows; i++)
        slip = fmax(slip, fabs(sigma[i]));
    return r->leaves[block] + 2u * (L[0] > 0) + 4u * (slip >= TG_NO_SLIP);
}

/* what a block does in the second problem of a step with impacts within, and in which branch of their law it is */
static uint64_t within_of(const tg_work *w, const tg_constraint *c, int block)
{
    const tg_rows *r = w->rows;
    const tg_block_mode *mode = &r->placing_mode[block];
    uint64_t does = mode->immaterial ? TG_MODES : (uint64_t)mode->mode;
    const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &r->touch[c->index] : NULL;
    if (t == NULL || !t->impact)
        return does;
    double e = tg_law_number(w->params, &t->law, t->law.restitution);
    int regime = tg_within_of(&w->step->settings, t->phi, t->approach, t->free, e).regime;
    return does + 16u * (uint64_t)regime;
}

static uint64_t constraint_signature(const tg_work *w, int block)
{
    const tg_rows *r = w->rows;
    const tg_constraint *c = &r->constraint[r->order[block]];
    const tg_block_mode *mode = &r->mode[block];
    uint64_t hash = mix(c->id, mode->immaterial ? TG_MODES : (uint64_t)mode->mode);
    hash = mix(hash, mode->mode != TG_MODE_BREAKING && push_is_full(w, c));
    if (c->source == TG_SOURCE_CONTACT)
        hash = mix(hash, r->touch[c->index].impact + 2u * r->touch[c->index].rebound);
    if (c->source == TG_SOURCE_CONTACT && r->explicit_law)
        hash = mix(hash, (uint64_t)r->touch[c->index].regime + 4u * (r->touch[c->index].phi < 0) +
                             8u * (r->speed[c->row] < 0));
    if (r->island[r->tree_island[r->part[c->part].tree]].within)
        hash = mix(hash, within_of(w, c, block));
    if (r->island[r->tree_island[r->part[c->part].tree]].restituted)
        hash = mix(hash, phases_of(r, c, block));
    return hash;
}

void tg_step_choices(const tg_work *w, uint64_t *hash)
{
    *hash = hash_start;
    for (int i = 0; i < w->rows->ntouch; i++)
    {
        const tg_touch *t = &w->rows->touch[i];
        for (int k = 0; k < DIM; k++)
            *hash = mix(*hash, (uint64_t)t->law.friction[k]);
        *hash = mix(*hash, (uint64_t)t->law.restitution);
    }
}

tg_status tg_step_signature(const tg_model *m, tg_work *w, uint64_t *signature)
{
    TG_TRY(tg_need_step(m, w));
    if (signature == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "signature is NULL");
    TG_TRY(tg_step_modes(w));
    uint64_t hash = hash_start;
    for (int b = 0; b < w->rows->nblock; b++)
        hash = mix(hash, constraint_signature(w, b));
    for (int i = 0; i < w->rows->nisland; i++)
        hash = mix(mix(hash, w->rows->island[i].relaxed), (uint64_t)w->rows->island[i].redundant);
    for (int k = 0; k < m->nv && w->step->held; k++)
    {
        uint64_t share;
        memcpy(&share, &w->step->share[k], sizeof share);
        hash = mix(hash, share);
    }
    *signature = mix(hash, w->step->cables);
    return TG_OK;
}
