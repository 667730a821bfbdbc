/* Whether rows that hold against each other stay consistent as things are displaced: the change of z . (J v+ + b) with
 * J^T z = 0 and v+ held fixed. Rows between different bodies (contact/implicit_braces.c) are asked about displacements
 * of bodies, and of geoms and joints in them, and whether J^T z is zero to rounding, which the rank of G = J A^-1 J^T,
 * where levers are squared, cannot tell; dry friction at its bound that others hold (contact/implicit_ties.c) about
 * every number with respect to which a step is differentiated; friction along which nothing can move about parameters.
 */
#include <math.h>
#include <string.h>

#include "contact/rows_change.h"
#include "contact/rows_vjp.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "math/lanes.h"
#include "math/random.h"
#include "solve/cone.h"
#include "solve/tolerance.h"
#include "step/step.h"

static const double nothing = 1e-9; /* of a velocity by any number */
static const double little = 1e-8;  /* of what a row's own impulse does */

/* gradient of b: gphi and f_start */
static void biases(const tg_model *m, tg_work *w, const double *z, double *gphi, double *f_start, double *gdt)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    memset(gphi, 0, sizeof(double) * (size_t)r->nrow);
    memset(f_start, 0, sizeof(double) * (size_t)r->nrow);
    memset(s->block_gradient, 0, sizeof(double) * TG_CONE_MAX * (size_t)r->nblock);
    tg_law_gradient g = {.z = z,
                         .gphi = gphi,
                         .f_start = f_start,
                         .mu = s->block_gradient,
                         .bound = s->block_gradient + TG_AXES * r->nblock,
                         .gdt = gdt};
    tg_laws_reverse(m, w, &s->settings, &g);
}

/* The gradient of z . (J x), with that of z . b where `law` says so. params: NULL, or where it goes, too. scratch: 2
 * rows, for the law. */
static tg_gradient disagreement(const tg_model *m, tg_work *w, const double *z, const double *x, bool law,
                                double *scratch, double *params, double *gdt)
{
    tg_step_work *s = w->step;
    double *gphi = scratch, *f_start = scratch != NULL ? scratch + w->rows->capacity.rows : NULL;
    *gdt = 0;
    if (law)
        biases(m, w, z, gphi, f_start, gdt);
    tg_gradient g = tg_gradient_begin(m, w, params);
    tg_adjoint_begin(m, w, x);
    const tg_row_term term[] = {{TG_ROW_FIELD_Y, x, z}, {TG_ROW_FIELD_V, s->v, f_start}};
    tg_rows_reverse(m, w, s->q, term, law ? 2 : 1, law ? gphi : NULL, NULL, s->options.dt, gdt, g);
    tg_adjoint_end(m, w, s->q, &(tg_adjoint_fields){.v = s->v, .y = x}, g.q, g.v, g.a, g.params);
    tg_gradient_end(m, w, g.params);
    return g;
}

typedef enum asked
{
    TIED,   /* islands with dry friction at its bound that others hold */
    BRACED, /* with rows that brace each other */
    ALL     /* that have matrices, and one problem */
} asked;

static bool is_asked(const tg_work *w, int i, asked which)
{
    const tg_implicit *f = &w->step->implicit[i];
    if (which == ALL)
        return f->form != TG_IMPLICIT_LARGE && !w->rows->island[i].restituted;
    return which == TIED ? f->ties > 0 : f->braced;
}

/* What a change of impulses does to v+ is asked with one cotangent, random numbers: y = A^-1 (vbar + J^T D^T J A^-1
 * vbar), in some islands. */
static void find_answer(const tg_model *m, tg_work *w, asked which, double *y, double *Lbar, double *z)
{
    const tg_rows *r = w->rows;
    tg_random_numbers(1, m->nv, y);
    tg_rows_half(m, w, y, Lbar);
    memset(z, 0, sizeof(double) * (size_t)r->nrow);
    for (int i = 0; i < r->nisland; i++)
        if (is_asked(w, i, which))
            tg_implicit_transpose(&w->step->implicit[i], Lbar + r->island[i].row, z + r->island[i].row, NULL);
    tg_rows_other_half(m, w, z, y);
}

/* ---- between bodies ---- */

/* Equalities that contradict each other count without what no velocity can follow, P J (contact/consistent.c): P z.
 * tied: without friction that gives way and is asked for by itself. */
static bool gather(const tg_model *m, tg_work *w, bool tied, double *z)
{
    tg_rows *r = w->rows;
    bool any = false;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_implicit *f = &w->step->implicit[i];
        bool rest = tied && f->yields;
        if (!(rest ? f->rests : f->braced))
            continue;
        if (!any)
            memset(z, 0, sizeof(double) * (size_t)r->nrow);
        any = true;
        tg_step_need_rows(m, w);
        memcpy(z + r->island[i].row, rest ? f->rest : f->brace, sizeof(double) * (size_t)r->island[i].rows);
        tg_consistent_part(m, r, &r->island[i], z + r->island[i].row);
    }
    return any;
}

/* Whether J^T z is zero at this q only, as at the dead centre of a linkage: rows that were redundant hold something as
 * soon as bodies are displaced, and then hold against motions that were free. The largest change of z . (J x), x a
 * random motion that all other rows allow, of length 1 where they allow any. */
static double rank_changes(const tg_model *m, tg_work *w, const double *z)
{
    int nv = m->nv;
    double *x = w->step->cotangent, *alone = x + nv, *Lbar = w->step->row_gradient + 3 * w->rows->capacity.rows;
    double largest = 0, most = 0, gdt;
    tg_random_numbers(1, nv, alone);
    tg_solve_mass(m, w, alone);
    find_answer(m, w, BRACED, x, Lbar, Lbar + w->rows->capacity.rows);
    for (int k = 0; k < nv; k++)
        most = fmax(most, fabs(alone[k]));
    for (int k = 0; k < nv; k++)
        x[k] /= most;
    tg_gradient g = disagreement(m, w, z, x, false, NULL, NULL, &gdt);
    for (int k = 0; k < nv; k++)
        largest = fmax(largest, fabs(g.q[k]));
    return largest;
}

bool tg_braces_give(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double *z = s->row_gradient, gdt, largest = 0;
    s->braces_known = false;
    if (!gather(m, w, true, z))
        return false;
    tg_gradient g = disagreement(m, w, z, s->v_next, true, z + w->rows->capacity.rows, NULL, &gdt);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(g.q[k]));
    return largest > TG_NO_CHANGE || rank_changes(m, w, z) > TG_NO_CHANGE;
}

/* A change along one parameter: displacements, and the twists of v. */
static void begin_along(const tg_model *m, tg_work *w, int param)
{
    tg_step_work *s = w->step;
    s->unit_param[param] = 1;
    s->change.dt = 0;
    tg_change_begin(m, w, &s->change, s->unit_param, (tg_param_range){param, param + 1}, s->q);
    tg_given_changes(w->rows, NULL);
    tg_change_twists(m, &s->change, s->v, s->change.dV);
}

static void end_along(tg_work *w, int param)
{
    w->step->unit_param[param] = 0;
}

/* sigma (rows): the change of J x + b there; w->Y: the twists of x. y: NULL, or other velocities, and turn (rows) the
 * change of J y. */
static void rows_along(const tg_model *m, tg_work *w, const double *x, double *sigma, const double *y, double *turn)
{
    tg_step_work *s = w->step;
    tg_change *c = &s->change;
    tg_rows_change d = {.c = c,
                        .next = {x, w->Y, c->dN},
                        .start = {s->v, w->V, c->dV},
                        .spread = {y, c->dA, c->dP}, /* forces are not asked for: dA is free */
                        .sigma = sigma,
                        .turn = turn,
                        .mu = s->block_gradient,
                        .bound = s->block_gradient + TG_AXES * w->rows->nblock,
                        .settings = &s->settings};
    tg_change_twists(m, c, x, c->dN);
    if (y != NULL)
    {
        tg_node_twists(m, w, y, c->dA);
        tg_change_twists(m, c, y, c->dP);
    }
    tg_rows_changes(m, w, s->q, &d);
}

/* One or two parameters are asked one by one, more by one sweep for all of the model. */
bool tg_braces_params(const tg_model *m, tg_work *w, const int *index, int count)
{
    tg_step_work *s = w->step;
    double *z = s->row_gradient, *scratch = z + w->rows->capacity.rows, gdt;
    if (s->braces_known)
        return true;
    if (!gather(m, w, false, z))
        return false;
    s->braces_known = count > 2;
    if (s->braces_known)
        disagreement(m, w, z, s->v_next, true, scratch, s->disagreement, &gdt);
    else
        tg_node_twists(m, w, s->v_next, w->Y);
    for (int i = 0; i < count && !s->braces_known; i++)
    {
        begin_along(m, w, index[i]);
        rows_along(m, w, s->v_next, scratch, NULL, NULL);
        s->disagreement[index[i]] = v4_dot_of(w->rows->nrow, z, scratch);
        end_along(w, index[i]);
    }
    return true;
}

bool tg_brace_gives(const tg_work *w, int param)
{
    return fabs(w->step->disagreement[param]) > TG_NO_CHANGE;
}

/* the least that the impulse of a row in z does by itself (G_ii) */
static double own_effect(const tg_work *w, const double *z)
{
    const tg_rows *r = w->rows;
    double least = INFINITY;
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_island *problem = &w->step->problem[i];
        for (int b = 0; b < problem->blocks && w->step->implicit[i].braced; b++)
            for (int k = 0; k < problem->block[b].rows; k++)
                if (z[r->island[i].row + problem->block[b].row + k] != 0)
                    least = fmin(least, tg_row_size(problem, &problem->block[b], k));
    }
    return least;
}

bool tg_braces_move(const tg_model *m, tg_work *w)
{
    double *z = w->step->row_gradient, *p = w->step->cotangent, largest = 0;
    if (!gather(m, w, false, z))
        return false;
    tg_rows_response(m, w, z, p);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(p[k]));
    return largest > little * own_effect(w, z);
}

/* ---- dry friction ---- */

/* whether one of n numbers makes rows disagree, and turns impulses that then do something (NULL: anything) */
static bool any_kink(int n, const double *apart, const double *turned, double bound)
{
    if (!v4_any_beyond(n, apart, nothing))
        return false;
    for (int k = 0; k < n; k++)
        if (fabs(apart[k]) > nothing && (turned == NULL || 2 * bound * fabs(turned[k]) > nothing))
            return true;
    return false;
}

/* One such row. y: the answer; jump: what turns does something anyway; scratch: 2 nv numbers, row_scratch: 2 rows. */
static bool tie_gives(const tg_model *m, tg_work *w, const double *z, double bound, const double *y, bool jump,
                      double *scratch, double *row_scratch)
{
    tg_step_work *s = w->step;
    double *apart_q = scratch, *apart_v = scratch + m->nv, apart_dt, turned_dt;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    s->braces_known = false;
    tg_gradient apart = disagreement(m, w, z, s->v_next, true, row_scratch, s->disagreement, &apart_dt);
    bool disagrees = any_kink(m->nv, apart.q, NULL, bound) || any_kink(m->nv, apart.v, NULL, bound) ||
                     any_kink(1, &apart_dt, NULL, bound) || any_kink(m->nparams, s->disagreement, NULL, bound);
    if (!disagrees || jump)
        return disagrees;
    memcpy(apart_q, apart.q, bytes);
    memcpy(apart_v, apart.v, bytes);
    tg_gradient turned = disagreement(m, w, z, y, false, row_scratch, w->param_gradient, &turned_dt);
    return any_kink(m->nv, apart_q, turned.q, bound) || any_kink(m->nv, apart_v, turned.v, bound) ||
           any_kink(1, &apart_dt, &turned_dt, bound) || any_kink(m->nparams, s->disagreement, w->param_gradient, bound);
}

static double bound_of(const tg_island *island, int row)
{
    for (int b = 0; b < island->blocks; b++)
        if (island->block[b].row == row)
            return island->block[b].bound;
    return 0;
}

bool tg_ties_give(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    size_t rows = (size_t)r->capacity.rows;
    double *z = s->row_gradient, *motion = z + rows, *row_scratch = z + 2 * rows, *y = s->cotangent;
    int ties = 0;
    bool gives = false;
    for (int i = 0; i < r->nisland; i++)
        ties += s->implicit[i].ties;
    if (ties == 0)
        return false;
    tg_step_need_rows(m, w);
    find_answer(m, w, TIED, y, motion, z);
    tg_rows_velocity(m, w, y, motion);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_implicit *f = &s->implicit[i];
        for (int k = 0; k < f->ties && !gives; k++)
        {
            double bound = bound_of(f->island, f->tied[k]);
            bool jump = !f->borne[k] || 2 * bound * fabs(motion[r->island[i].row + f->tied[k]]) > nothing;
            memset(z, 0, sizeof(double) * (size_t)r->nrow);
            memcpy(z + r->island[i].row, f->tie + (size_t)k * (size_t)f->island->rows,
                   sizeof(double) * (size_t)f->island->rows);
            gives = tie_gives(m, w, z, bound, y, jump, y + m->nv, row_scratch);
        }
    }
    return gives;
}

/* ---- friction along which nothing can move ----
 *
 * J = 0 in such a row: friction across the plane of a planar robot. A parameter that tilts it makes it J = h a: it
 * slips by h a . v+, and its impulse, as much as the cone has left, acts on h a against that: v+ changes by |h|. Where
 * other rows hold what it acts on, it is still the slip that the contact's friction is against, and what stuck in its
 * other rows follows: they slip by a share of h a . v+. The derivative is the mean of both sides. A contact that slides
 * has its friction along its slip, which turns smoothly; but in a box each component has a bound of its own. */

static bool may_kink(const tg_rows *r, const tg_implicit *f, int b)
{
    bool box = f->law != NULL && f->law->norm == TG_NORM_MAX;
    return r->mode[b].mode == TG_MODE_STICKING || (r->mode[b].mode == TG_MODE_SLIDING && box);
}

/* Leaves such rows of an island in z, each with a share of its largest impulse; whether there are any. */
static bool leave_fixed(const tg_rows *r, const tg_rows_island *island, const tg_implicit *f, double *z)
{
    const double *G = r->G + island->G;
    size_t step = (size_t)v4_pad(island->rows) + 1;
    bool any = false;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_block *block = &r->block[b];
        double normal = r->L[island->row + block->row];
        for (int k = 0; k < block->rows; k++)
        {
            int row = block->row + k;
            bool friction = block->kind == TG_BLOCK_CONTACT && k > 0 && may_kink(r, f, b);
            bool fixed = friction && block->mu[k - 1] * normal > 0 && G[(size_t)row * step] <= f->fixed;
            z[island->row + row] *= fixed ? block->mu[k - 1] * normal : 0;
            any = any || fixed;
        }
    }
    return any;
}

bool tg_fixed_rows(tg_work *w)
{
    const tg_rows *r = w->rows;
    tg_step_work *s = w->step;
    double *z = s->row_gradient;
    bool any = false;
    s->answer_known = false;
    tg_random_numbers(1, r->nrow, z);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_rows_island *island = &r->island[i];
        if (island->filled && is_asked(w, i, ALL))
            any = leave_fixed(r, island, &s->implicit[i], z) || any;
        else
            memset(z + island->row, 0, sizeof(double) * (size_t)island->rows);
    }
    return any;
}

bool tg_param_places(const tg_model *m, int param)
{
    const tg_param_offsets *at = &m->offset;
    return param < at->body_mass || (param >= at->joint_pos && param < at->joint_springref) ||
           (param >= at->geom_pos && param < at->geom_friction) || (param >= at->hfield_size && param < at->gravity_);
}

/* the largest of these rows (z is not zero) */
static double fastest(int rows, const double *z, const double *moved)
{
    double slip = 0;
    for (int i = 0; i < rows; i++)
        slip = z[i] != 0 ? tg_larger(slip, fabs(moved[i])) : slip;
    return slip;
}

/* Most parameters tilt none of these rows, at any velocities: random ones tell. Slips count beside the slopes of v+ by
 * gaps, 1 / dt, as those of patches do that still turn (derivative.c). */
static bool fixed_rows_tilt(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    int rows = w->rows->nrow;
    size_t room = (size_t)w->rows->capacity.rows;
    double *y = s->cotangent, *any = y + m->nv, *z = s->row_gradient, *moved = z + room, *other = moved + room;
    tg_random_numbers(1, m->nv, any);
    for (int k = 0; k < m->nv; k++)
        any[k] += s->v_next[k];
    tg_node_twists(m, w, s->v_next, w->Y);
    rows_along(m, w, s->v_next, moved, any, other);
    if (fastest(rows, z, other) <= nothing)
        return false;
    if (fastest(rows, z, moved) * s->options.dt > TG_AT_SWITCH)
        return true;
    if (!s->answer_known)
    {
        tg_step_need_rows(m, w);
        find_answer(m, w, ALL, y, moved, other);
        s->answer_known = true;
    }
    tg_node_twists(m, w, y, w->Y);
    rows_along(m, w, y, moved, NULL, NULL);
    return fabs(v4_dot_of(rows, z, moved)) > nothing;
}

bool tg_fixed_row_gives(const tg_model *m, tg_work *w, int param)
{
    begin_along(m, w, param);
    bool gives = fixed_rows_tilt(m, w);
    end_along(w, param);
    return gives;
}
