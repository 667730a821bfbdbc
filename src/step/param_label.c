/* What the derivative by one parameter is: that of the step, or one-sided where this number alone has two sides.
 *
 * Of two equal coefficients of two geoms either may count. Restitution of 0 has one side only, and so has one whose
 * gate is within reach: nearer than the change of the approach that the free motion makes in a step. Friction of a
 * contact that jams has other solutions beside its own (Painleve): n - mu t, its impulse as it slides along t, draws it
 * in, G_NN < mu G_NT . t. Rows that hold against each other may cease to agree as one parameter changes, and friction
 * along which nothing moved may begin to act (brace.c). */
#include <math.h>

#include "solve/tolerance.h"
#include "step/step.h"

static bool is_geom_field(int index, int field, int size, const tg_touch *t, int component)
{
    return index == field + size * t->pair.first + component || index == field + size * t->pair.second + component;
}

/* whether the two geoms of a contact have the same number, and neither goes before the other */
static bool is_tied(const tg_model *m, const tg_params *p, const tg_touch *t, int field, int size, int component,
                    bool ranked)
{
    double first = p->value[field + size * t->pair.first + component];
    double second = p->value[field + size * t->pair.second + component];
    bool same_rank = !ranked || m->geom_priority[t->pair.first] == m->geom_priority[t->pair.second];
    return first == second && same_rank && t->pair.first != t->pair.second;
}

static bool of_geoms(const tg_model *m, const tg_touch *t)
{
    return m->npair == 0 || tg_declared_pair(m, t->pair) < 0;
}

/* friction coefficients count where a contact slides */
static bool friction_is_tied(const tg_model *m, const tg_work *w, const tg_touch *t, tg_mode mode, int index)
{
    bool tied = false;
    for (int i = 0; i < TG_SIZE_geom_friction && mode == TG_MODE_SLIDING && of_geoms(m, t); i++)
        tied = tied || (is_geom_field(index, m->offset.geom_friction, TG_SIZE_geom_friction, t, i) &&
                        is_tied(m, w->params, t, m->offset.geom_friction, TG_SIZE_geom_friction, i, true));
    return tied;
}

/* a contact that meets in this step faster than what rests, and its restitution */
static bool restitution_has_sides(const tg_model *m, const tg_work *w, const tg_touch *t, int index)
{
    const double near = TG_NO_SLIP;
    const tg_contact_settings *s = &w->step->settings;
    bool mine =
        of_geoms(m, t) ? is_geom_field(index, m->offset.geom_restitution, 1, t, 0) : index == t->law.restitution;
    double meets = t->phi / s->dt + t->free, fast = -s->rest_speed - t->approach;
    double reach = fmax(near, fabs(t->free - t->approach));
    if (!mine || meets > near || (!s->within && fast < -reach))
        return false;
    bool gate = !s->within && (fabs(fast) < reach || fabs(meets) < near);
    bool tied = of_geoms(m, t) && is_tied(m, w->params, t, m->offset.geom_restitution, 1, 0, false);
    return gate || tied || w->params->value[t->law.restitution] == 0;
}

/* a contact that slid at the start of the step, and carries: whether its friction pulls it in faster than its normal
 * impulse pushes it out */
static bool friction_jams(const tg_work *w, const tg_rows_island *island, const tg_constraint *c, int b, int index)
{
    const tg_rows *r = w->rows;
    const tg_touch *t = &r->touch[c->index];
    const tg_island *problem = &w->step->problem[island - r->island];
    const double *slip = r->speed + c->row;
    if (index != t->law.friction[0] || t->slip == 0 || r->L[c->row] <= 0 || !island->filled)
        return false;
    const double *G = problem->G + (size_t)(c->row - island->row) * (size_t)(problem->ldg + 1);
    return G[0] * t->slip < r->block[b].mu[0] * (G[1] * slip[1] + G[2] * slip[2]);
}

/* whether a parameter is a number of contacts' laws */
static bool is_of_contacts(const tg_model *m, int index)
{
    const tg_param_offsets *at = &m->offset;
    return (index >= at->geom_friction && index < at->site_pos) ||
           (index >= at->pair_friction && index < at->hfield_size);
}

/* of a step whose derivative is exact; braced, fixed: it has such rows (tg_braces_params, tg_fixed_rows) */
static tg_label_kind label_of(const tg_model *m, tg_work *w, bool braced, bool fixed, int index)
{
    const tg_rows *r = w->rows;
    tg_label_kind kind = TG_LABEL_EXACT;
    if ((braced && tg_brace_gives(w, index)) || (fixed && tg_param_places(m, index) && tg_fixed_row_gives(m, w, index)))
        return TG_LABEL_ONE_SIDED;
    if (!is_of_contacts(m, index))
        return kind;
    for (int b = 0; b < r->nblock && kind == TG_LABEL_EXACT; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source != TG_SOURCE_CONTACT || r->touch[c->index].law.given != NULL)
            continue;
        const tg_touch *t = &r->touch[c->index];
        const tg_rows_island *island = &r->island[r->tree_island[r->part[c->part].tree]];
        if (friction_is_tied(m, w, t, r->mode[b].mode, index) || restitution_has_sides(m, w, t, index) ||
            friction_jams(w, island, c, b, index))
            kind = TG_LABEL_ONE_SIDED;
    }
    return kind;
}

tg_status tg_step_param_labels(const tg_model *m, tg_work *w, const int *index, int count, tg_label_kind *kind)
{
    TG_TRY(tg_check_work(m, w));
    if (count < 0 || ((index == NULL || kind == NULL) && count > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_step_param_labels: %d parameters", count);
    TG_TRY(tg_step_prepare(m, w));
    bool exact = w->step->label.kind == TG_LABEL_EXACT, any = false;
    for (int i = 0; i < count; i++)
    {
        TG_TRY(tg_check_index(w, "parameter", index[i], m->nparams));
        any = any || tg_param_places(m, index[i]);
    }
    bool braced = exact && tg_braces_params(m, w, index, count), fixed = exact && any && tg_fixed_rows(w);
    for (int i = 0; i < count; i++)
        kind[i] = exact ? label_of(m, w, braced, fixed, index[i]) : w->step->label.kind;
    return TG_OK;
}
