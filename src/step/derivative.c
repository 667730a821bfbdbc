/* What all derivatives of a step start from. */
#include <math.h>

#include "collision/smoothing.h"
#include "contact/explicit.h"
#include "contact/implicit_large.h"
#include "contact/poisson_vjp.h"
#include "contact/within.h"
#include "solve/cone.h"
#include "solve/tolerance.h"
#include "step/step.h"
#include "step/unrolled.h"

const char *tg_label_string(tg_label_kind kind)
{
    static const char *const name[] = {"exact", "one-sided", "regularised"};
    return (unsigned)kind <= TG_LABEL_REGULARISED ? name[kind] : "unknown";
}

static const tg_rows_island *island_of(const tg_work *w, const tg_constraint *c)
{
    const tg_rows *r = w->rows;
    return &r->island[r->tree_island[r->part[c->part].tree]];
}

/* what is kept of an island is quadratic in its rows: the largest one, or many smaller ones */
size_t tg_implicit_capacity(const tg_model *m, const tg_capacity *c)
{
    size_t rows = (size_t)c->island_rows, dofs = (size_t)(m->nv < TG_DENSE_DOFS ? m->nv : TG_DENSE_DOFS);
    size_t levers = m->nequality > 0 ? sizeof(double) * rows * (rows + dofs) + TG_ALIGN : 0;
    size_t more = c->rows > c->island_rows ? tg_implicit_bytes(TG_DENSE_COUPLED) + tg_implicit_large_bytes(c->rows) : 0;
    return tg_implicit_bytes(c->island_rows) + levers + more;
}

/* Whether a unit of w of one row does nothing to v+: to rounding, against what the row's own impulse does. */
static bool is_idle(const tg_model *m, tg_work *w, const tg_rows_island *island, const tg_implicit *f, int row)
{
    const double rounding = 1e-13;
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    size_t bytes = sizeof(double) * (size_t)r->nrow;
    tg_step_need_rows(m, w);
    double *unit = s->row_gradient, *dL = unit + r->capacity.rows, *all = s->cotangent, *alone = all + m->nv;
    memset(unit, 0, bytes);
    memset(dL, 0, bytes);
    unit[row] = 1;
    tg_implicit_forward(f, unit, dL + island->row);
    tg_rows_response(m, w, dL, all);
    double own = dL[island->row + row], most = 0, left = 0;
    memset(dL, 0, bytes);
    dL[island->row + row] = own;
    tg_rows_response(m, w, dL, alone);
    for (int k = 0; k < m->nv; k++)
    {
        left = fmax(left, fabs(all[k]));
        most = fmax(most, fabs(alone[k]));
    }
    return own != 0 && left <= rounding * most;
}

/* A contact with compliance between bodies that rigid rows hold already has no part in the motion. z of its row is then
 * zero, not what rounding leaves of it: gradients of compliance are L_N / dt^2 times z. */
static void find_idle(const tg_model *m, tg_work *w, const tg_rows_island *island, tg_implicit *f)
{
    const tg_rows *r = w->rows;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source == TG_SOURCE_CONTACT && tg_law_compliance(w->params, &r->touch[c->index].law) > 0 &&
            is_idle(m, w, island, f, c->row - island->row))
            tg_implicit_leave_out(f, c->row - island->row);
    }
}

/* A contact that is apart, within reach, is smoothed by a share of the speed at which it opens, (1 - (Phi / reach)^2):
 * it then transmits a share of its relative velocity that does not depend on how far apart it is in steps, and falls to
 * zero, with its slope, towards the reach. */
const double *tg_smooth_speeds(tg_work *w, const tg_rows_island *island, const double *sigma)
{
    const tg_rows *r = w->rows;
    const tg_contact_settings *s = &w->step->settings;
    double *speed = w->step->row_gradient + 8 * (size_t)r->capacity.rows;
    for (int i = 0; i < island->rows; i++)
        speed[i] = s->smooth;
    for (int b = island->block; b < island->block + island->blocks && s->smooth_reach > 0; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        double phi = c->source == TG_SOURCE_CONTACT ? r->touch[c->index].phi : 0;
        int row = c->row - island->row;
        if (phi <= 0 || phi >= s->smooth_reach)
            continue;
        double share = 1 - phi / s->smooth_reach * (phi / s->smooth_reach);
        for (int i = row; i < row + c->rows; i++)
            speed[i] = fmax(s->smooth, share * sigma[row]);
    }
    return speed;
}

/* the second problem of an island with impacts within the step */
static tg_status factor_placing(tg_work *w, int i, tg_arena *arena)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    const tg_rows_island *island = &r->island[i];
    const double *L = r->placing_L + island->row, *sigma = r->placing_sigma + island->row;
    const tg_block_mode *mode = r->placing_mode + island->block;
    s->placing[i] = s->implicit[i];
    if (!island->within)
        return TG_OK;
    s->placing_problem[i] = s->problem[i];
    s->placing_problem[i].g = r->placing_g + island->row;
    if (tg_smooth_speed(s) > 0)
        return tg_implicit_smoothed(&s->placing_problem[i], L, sigma, mode, tg_smooth_speeds(w, island, sigma), arena,
                                    &s->placing[i], &w->error);
    return tg_implicit_factor(&s->placing_problem[i], L, sigma, mode, island->placing, TG_IMPLICIT_MOTION, arena,
                              &s->placing[i], &w->error);
}

/* Between the nodes of two bodies, of which parents come before children. */
static int dofs_between(const tg_model *m, int a, int b)
{
    int dofs = 0;
    while (a != b)
    {
        int *further = a > b ? &a : &b;
        dofs += m->node_ndof[*further];
        *further = m->node_parent[*further];
    }
    return dofs;
}

/* Whether the two bodies of contacts that stick still turn against each other, J_N v+ = -b, by more than counts beside
 * the slope of b by gaps, which is that of v+: the derivative by a tilt has two sides that differ by what they turn. */
static bool turn_apart(const tg_work *w, int b, int other)
{
    const tg_rows *r = w->rows;
    const tg_constraint *c = &r->constraint[r->order[b]];
    double apart = fabs(r->bias[c->row] - r->bias[r->constraint[r->order[other]].row]);
    if (r->block[b].pair != r->block[other].pair || apart <= TG_NO_CHANGE)
        return false;
    tg_bias_slope slope =
        tg_contact_bias_slope(w->params, &w->step->settings, island_of(w, c), &r->touch[c->index], r->problem);
    return apart > TG_AT_SWITCH * slope.gap;
}

/* Which contacts need not stay consistent with others between the same bodies (implicit_braces.c). */
static void find_alone(const tg_model *m, const tg_work *w)
{
    const tg_rows *r = w->rows;
    int last = -1; /* that sticks; those of a pair follow each other */
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        if (c->source != TG_SOURCE_CONTACT)
            continue;
        const int *body = r->touch[c->index].bond.body;
        r->block[b].alone = dofs_between(m, m->body_node[body[0]], m->body_node[body[1]]) < TWIST;
        if (r->mode[b].mode != TG_MODE_STICKING)
            continue;
        if (last >= 0 && turn_apart(w, b, last))
            r->block[b].alone = r->block[last].alone = true;
        last = b;
    }
}

/* The tangents of a contact's frame jump where its normal crosses the horizontal (touch.c), and the sides of a pyramid
 * with them. */
static bool frames_jump(const tg_work *w, const tg_rows_island *island)
{
    const tg_rows *r = w->rows;
    for (int b = island->block; b < island->block + island->blocks && r->spins; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        bool acts = c->source == TG_SOURCE_CONTACT && c->rows > 1 && r->mode[b].mode != TG_MODE_BREAKING;
        if (acts && fabs(r->touch[c->index].at.normal[2]) < TG_ON_CONE)
            return true;
    }
    return false;
}

static tg_status factor_islands(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    tg_arena arena = {.base = s->implicit_memory, .capacity = s->implicit_bytes};
    const tg_cone_law *law = tg_step_law(s);
    find_alone(m, w);
    for (int i = 0; i < r->nisland; i++)
    {
        tg_rows_island *island = &r->island[i];
        bool dense = tg_island_is_dense(r, island), smoothed = tg_smooth_speed(s) > 0;
        if (island->restituted && smoothed)
            return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                           "smoothed derivatives of an impact with Poisson's restitution");
        s->problem[i] = tg_island_problem(r, island);
        if (!tg_cone_law_is_default(law) && !island->restituted)
        {
            tg_need_delassus(m, w, island);
            TG_TRY(tg_implicit_law(&s->problem[i], law, r->L + island->row, r->sigma + island->row,
                                   r->mode + island->block, &arena, &s->implicit[i], &w->error));
            if (s->implicit[i].kind == TG_GRADIENT_EXACT && frames_jump(w, island))
                s->implicit[i].kind = TG_GRADIENT_ONE_SIDED;
        }
        else if (island->restituted)
        {
            tg_need_delassus(m, w, island);
            TG_TRY(
                tg_poisson_factor(w, island, &s->problem[i], s->use, law, &arena, &s->compression[i], &s->implicit[i]));
        }
        else if (!dense)
            TG_TRY(tg_implicit_large(m, w, i, &s->problem[i],
                                     smoothed ? tg_smooth_speeds(w, island, r->sigma + island->row) : NULL, &arena,
                                     &s->implicit[i]));
        else if (smoothed)
            TG_TRY(tg_implicit_smoothed(&s->problem[i], r->L + island->row, r->sigma + island->row,
                                        r->mode + island->block, tg_smooth_speeds(w, island, r->sigma + island->row),
                                        &arena, &s->implicit[i], &w->error));
        else
        {
            TG_TRY(tg_implicit_factor(&s->problem[i], r->L + island->row, r->sigma + island->row,
                                      r->mode + island->block, island->result.selection, s->use, &arena,
                                      &s->implicit[i], &w->error));
            if (s->use == TG_IMPLICIT_MOTION && !r->explicit_law)
                find_idle(m, w, island, &s->implicit[i]);
        }
        if (s->within)
            TG_TRY(factor_placing(w, i, &arena));
    }
    return TG_OK;
}

/* Whether rounding might let forward and reverse mode of an island part by more than 1e-11 or so: where dofs are so
 * light, or redundant rows so light beside others, that hardly anything of A^-1 is left in K, or where the equations
 * are ill-conditioned. */
static bool is_delicate(const tg_model *m, const tg_work *w, int island)
{
    const double light = 1e5 /* 1 / kg, 1 / (kg m^2) */, apart = 1e3;
    const tg_implicit *f = &w->step->implicit[island];
    double lightest = 0, most = 0, least = INFINITY;
    for (int t = 0; t < m->ntree; t++)
        for (int k = m->tree_dof[t]; w->rows->tree_island[t] == island && k < m->tree_dof[t] + m->tree_ndof[t]; k++)
            lightest = tg_larger(lightest, w->dinv[k]);
    for (int k = 0; k < f->held && f->form != TG_IMPLICIT_INDEPENDENT; k++)
    {
        double own = f->island->G[(size_t)f->row[k] * (size_t)(f->island->ldg + 1)];
        most = tg_larger(most, own);
        least = tg_smaller(least, own);
    }
    return lightest > light || most > apart * least || f->condition > apart * apart;
}

static void keep_delicate(const tg_model *m, tg_work *w)
{
    for (int i = 0; i < w->rows->nisland; i++)
        if (!w->step->implicit[i].kept && is_delicate(m, w, i))
        {
            tg_step_need_rows(m, w);
            tg_forward_keep(m, w, i);
        }
}

/* The contact points of the step, from now on as those of smoothed surfaces: where they are does not change, how they
 * move does. */
static void smooth_points(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    for (int i = 0; i < w->rows->ntouch; i++)
    {
        tg_touch *t = &w->rows->touch[i];
        tg_query query;
        if (t->law.given != NULL) /* without shapes */
            continue;
        tg_touch_query(m, w, t->pair, s->options.dt, 0, &query);
        t->at = tg_smooth_point(&query, &t->at, s->options.smooth_width);
    }
}

static void add_label(tg_label *label, const tg_implicit *f)
{
    label->kind = (tg_label_kind)f->kind > label->kind ? (tg_label_kind)f->kind : label->kind;
    label->margin = tg_smaller(label->margin, f->margin);
    label->condition = tg_larger(label->condition, f->condition);
}

/* several impacts at once: which comes first is a choice */
static bool is_ambiguous(const tg_work *w)
{
    const tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland && w->step->options.backward == TG_BACKWARD_TOI; i++)
    {
        int impacts = 0;
        for (int b = r->island[i].block; b < r->island[i].block + r->island[i].blocks; b++)
        {
            const tg_constraint *c = &r->constraint[r->order[b]];
            impacts += c->source == TG_SOURCE_CONTACT && r->touch[c->index].impact;
        }
        if (impacts > 1)
            return true;
    }
    return false;
}

void tg_unmet_velocities(const tg_model *m, const tg_work *w, double *e)
{
    const tg_rows *r = w->rows;
    tg_rows_velocity(m, w, w->step->v_next, e);
    for (int b = 0; b < r->nblock; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        bool counts = c->source == TG_SOURCE_EQUALITY && island_of(w, c)->redundant > 0;
        for (int k = c->row; k < c->row + c->rows; k++)
            e[k] = counts ? e[k] + r->bias[k] + r->unmet[k] : 0;
    }
}

/* Loops that cannot close are held as well as they can be: whether what is left of J v+ + b is more than rounding. */
static bool is_inconsistent(const tg_model *m, tg_work *w)
{
    const tg_rows *r = w->rows;
    double *e = w->step->row_gradient, largest = 0;
    bool any = false;
    for (int i = 0; i < r->nisland && m->nequality > 0; i++)
        any = any || r->island[i].redundant > 0;
    if (!any)
        return false;
    tg_step_need_rows(m, w);
    tg_unmet_velocities(m, w, e);
    for (int k = 0; k < r->nrow; k++)
        largest = fmax(largest, fabs(e[k]));
    return largest > TG_NO_SLIP;
}

/* Whether reverse mode follows how such loops turn (step_vjp.c): not with Poisson's law. */
static bool loops_can_turn(const tg_work *w)
{
    const tg_rows *r = w->rows;
    bool can = w->step->options.backward != TG_BACKWARD_SMOOTHED && !tg_unrolls(w);
    for (int i = 0; i < r->nisland && can; i++)
        can = r->island[i].redundant == 0 || (r->island[i].filled && !r->island[i].restituted);
    return can;
}

/* The point of a contact that acts, or NULL: features of what carries nothing, or has no part, do not matter. */
static const tg_contact_point *acting_point(const tg_rows *r, int b)
{
    bool acts = r->mode[b].mode != TG_MODE_BREAKING && !r->mode[b].immaterial;
    return acts && r->block[b].kind == TG_BLOCK_CONTACT ? &r->touch[r->constraint[r->order[b]].index].at : NULL;
}

/* The least margin of a contact point that acts; below zero: it does not move as its surfaces say
 * (collision/contact_point.h). *at_edge: it is about to change its features (two capsules whose axes cross, an edge
 * across an edge). Margins of shapes that hardly overlap also say how far they are from looking ahead
 * (collision/ahead.c), and by how much points were chosen, which need not change anything: there, where they are more
 * than rounding of positions. */
static double feature_margin(const tg_work *w, bool *at_edge)
{
    const double slack = w->rows->slack, edge = TG_AT_EDGE * slack, rounding = 1e-8 * slack;
    double least = INFINITY;
    *at_edge = false;
    for (int b = 0; b < w->rows->nblock; b++)
    {
        const tg_contact_point *at = acting_point(w->rows, b);
        if (at == NULL)
            continue;
        least = tg_smaller(least, at->margin);
        *at_edge = *at_edge || at->margin < (at->distance < -slack ? edge : rounding);
    }
    return least;
}

/* Whether a kink of a bias is at hand (law_slopes.c), or a branch of an impact within the step. */
static bool is_at_branch(const tg_work *w, double *margin)
{
    const tg_rows *r = w->rows;
    double nearest = r->explicit_law ? INFINITY : tg_bias_margin(w, &w->step->settings);
    for (int b = 0; b < r->nblock && w->step->within; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &r->touch[c->index] : NULL;
        if (t == NULL || !t->impact || !island_of(w, c)->within)
            continue;
        double e = tg_law_number(w->params, &t->law, t->law.restitution);
        nearest = fmin(nearest, tg_within_of(&w->step->settings, t->phi, t->approach, t->free, e).margin);
    }
    *margin = fmin(*margin, nearest);
    return nearest < TG_NO_SLIP;
}

/* Contacts from outside that are redundant agree with each other only as they are: any change of one of them opens or
 * closes another. */
static bool is_overdetermined(const tg_work *w)
{
    bool any = false;
    for (int i = 0; i < w->rows->nisland && w->rows->ngiven > 0; i++)
        any = any || (w->step->implicit[i].form != TG_IMPLICIT_INDEPENDENT && w->step->implicit[i].law == NULL);
    return any;
}

static void make_label(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    s->label = (tg_label){TG_LABEL_EXACT, INFINITY, 1, s->info.residual, false};
    for (int i = 0; i < r->nisland; i++)
    {
        add_label(&s->label, &s->implicit[i]);
        s->label.twofold = s->label.twofold || r->island[i].twofold;
        if (r->island[i].restituted)
            add_label(&s->label, &s->compression[i]);
        if (r->island[i].within)
            add_label(&s->label, &s->placing[i]);
    }
    for (int i = 0; i < r->nisland && r->explicit_law; i++)
    {
        tg_label_kind own = (tg_label_kind)tg_explicit_label(w, &r->island[i], &s->settings, &s->label.margin);
        s->label.kind = own > s->label.kind ? own : s->label.kind;
    }
    for (int i = 0; i < r->ntouch; i++)
        if (r->touch[i].aside)
            s->label.margin = tg_smaller(s->label.margin, r->touch[i].opening);
    bool at_edge;
    double features = feature_margin(w, &at_edge);
    s->label.margin = tg_smaller(s->label.margin, tg_larger(0, features));
    s->label.margin = tg_smaller(s->label.margin, s->bounds.margin);
    bool at_branch = is_at_branch(w, &s->label.margin);
    s->braces_known = false;
    if (s->label.kind == TG_LABEL_EXACT && (s->bounds.at || at_branch || is_ambiguous(w) || at_edge ||
                                            is_overdetermined(w) || tg_braces_give(m, w) || tg_ties_give(m, w)))
        s->label.kind = TG_LABEL_ONE_SIDED;
    bool solved = true;
    for (int i = 0; i < r->nisland; i++)
        solved = solved && r->island[i].result.status == TG_SOLVE_SOLVED;
    bool moved = s->label.kind != TG_LABEL_REGULARISED && tg_braces_move(m, w);
    bool ani = s->options.backward >= TG_BACKWARD_ANI && tg_saltation_acts(w);
    if (moved || ani || features < 0 || s->options.backward == TG_BACKWARD_SMOOTHED || tg_unrolls(w) || !solved ||
        (s->inconsistent && !s->loops_turn) || tg_projects(w->model, w)) /* whose correction counts as small */
        s->label.kind = TG_LABEL_REGULARISED;
}

tg_status tg_step_return(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    if (s->placement == w->placement)
        return TG_OK;
    s->matrices.ready = false;
    if (w->placement == s->left &&
        !s->options.project) /* it looked at the end of the step itself (balance.c, hold.c) */
    {
        tg_step_place(m, w);
        tg_step_cables(m, w, NULL);
    }
    else
        TG_TRY(tg_step_smooth(m, w));
    tg_space_update(m, w);
    s->placement = w->placement;
    return TG_OK;
}

tg_status tg_step_prepare_forces(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    s->factored = s->factored && s->use == TG_IMPLICIT_FORCES;
    s->use = TG_IMPLICIT_FORCES;
    return tg_step_prepare(m, w);
}

tg_status tg_step_prepare(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    TG_TRY(tg_need_step(m, w));
    TG_TRY(tg_step_return(m, w));
    if (s->factored)
        return TG_OK;
    s->matrices.ready = false;
    if (tg_need_matrices(m, w))
        s->modes = false;
    TG_TRY(tg_step_modes(w));
    if (s->options.backward == TG_BACKWARD_SMOOTHED && s->options.smooth_width > 0)
        smooth_points(m, w);
    TG_TRY(factor_islands(m, w));
    s->loops_turn = false; /* what is kept of delicate islands does not depend on it */
    if (tg_forward_fits(m, w))
        keep_delicate(m, w);
    if (tg_forward_fits(m, w) && s->within)
    {
        tg_within_exchange(w);
        keep_delicate(m, w);
        tg_within_exchange(w);
    }
    s->inconsistent = is_inconsistent(m, w);
    s->loops_turn = s->inconsistent && loops_can_turn(w);
    if (s->loops_turn)
        tg_loops_prepare(m, w);
    make_label(m, w);
    s->factored = true;
    return TG_OK;
}
