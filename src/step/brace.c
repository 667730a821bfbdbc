/* Whether rows that hold against each other stay consistent as things are displaced: the change of z . (J v+ + b) with
 * J^T z = 0 and v+ held fixed. Rows between different bodies (contact/implicit_braces.c) are asked about displacements
 * of bodies, and of geoms and joints in them, and whether J^T z is zero to rounding, which the rank of G = J A^-1 J^T,
 * where levers are squared, cannot tell; dry friction at its bound that others hold (contact/implicit_ties.c) about
 * every number with respect to which a step is differentiated. */
#include <math.h>
#include <string.h>

#include "contact/rows_vjp.h"
#include "solve/cone.h"
#include "step/step.h"

static const double none = 1e-6;    /* m/s by m or rad */
static const double nothing = 1e-9; /* of a velocity by any number */
static const double little = 1e-8;  /* of what a row's own impulse does */

/* gradient of b: gphi and f_start */
static void biases(const tg_model *m, tg_work *w, const double *z, double *gphi, double *f_start, double *gdt)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    memset(gphi, 0, sizeof(double) * (size_t)r->nrow);
    memset(f_start, 0, sizeof(double) * (size_t)r->nrow);
    memset(s->block_gradient, 0, sizeof(double) * 6 * (size_t)r->nblock);
    tg_law_gradient g = {.z = z,
                         .gphi = gphi,
                         .f_start = f_start,
                         .mu = s->block_gradient,
                         .bound = s->block_gradient + TG_AXES * r->nblock,
                         .gdt = gdt};
    tg_laws_reverse(m, w, &s->settings, &g);
}

/* The gradient of z . (J x), with that of z . b where `law` says so. params: NULL, or where it goes, too. scratch: 2
 * rows. */
static tg_gradient disagreement(const tg_model *m, tg_work *w, const double *z, const double *x, bool law,
                                double *scratch, double *params, double *gdt)
{
    tg_step_work *s = w->step;
    double *gphi = scratch, *f_start = scratch + w->rows->capacity.rows;
    *gdt = 0;
    if (law)
        biases(m, w, z, gphi, f_start, gdt);
    tg_gradient g = tg_gradient_begin(m, w, params);
    tg_adjoint_begin(m, w, x);
    const tg_row_term term[] = {{TG_ROW_FIELD_Y, x, z}, {TG_ROW_FIELD_V, s->v, f_start}};
    tg_rows_reverse(m, w, s->q, term, law ? 2 : 1, law ? gphi : NULL, NULL, s->options.dt, gdt, g);
    tg_adjoint_end(m, w, s->q, &(tg_adjoint_fields){.v = s->v, .y = x}, g.q, g.v, g.a, g.params);
    return g;
}

/* ---- between bodies ---- */

static bool gather(const tg_work *w, double *z)
{
    const tg_rows *r = w->rows;
    bool any = false;
    memset(z, 0, sizeof(double) * (size_t)r->nrow);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_implicit *f = &w->step->implicit[i];
        any = any || f->braced;
        if (f->braced)
            memcpy(z + r->island[i].row, f->brace, sizeof(double) * (size_t)r->island[i].rows);
    }
    return any;
}

bool tg_braces_give(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double *z = s->row_gradient, gdt, largest = 0;
    if (!gather(w, z))
        return false;
    tg_step_need_rows(m, w);
    tg_gradient g = disagreement(m, w, z, s->v_next, true, z + w->rows->capacity.rows, s->disagreement, &gdt);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(g.q[k]));
    for (int k = 0; k < m->nparams; k++)
        largest = fmax(largest, fabs(g.params[k]));
    return largest > none;
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
    if (!gather(w, z))
        return false;
    tg_step_need_rows(m, w);
    tg_rows_response(m, w, z, p);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(p[k]));
    return largest > little * own_effect(w, z);
}

/* ---- dry friction ---- */

/* What a change of impulses does to v+ is asked with one cotangent, random numbers: y = A^-1 (vbar + J^T D^T J A^-1
 * vbar), in islands with such rows. */
static void find_answer(const tg_model *m, tg_work *w, double *y, double *Lbar, double *z)
{
    const tg_rows *r = w->rows;
    uint64_t seed = 1;
    for (int k = 0; k < m->nv; k++)
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        y[k] = (double)(seed >> 11) / 4503599627370496.0 - 1;
    }
    tg_rows_half(m, w, y, Lbar);
    memset(z, 0, sizeof(double) * (size_t)r->nrow);
    for (int i = 0; i < r->nisland; i++)
        if (w->step->implicit[i].ties > 0)
            tg_implicit_transpose(&w->step->implicit[i], Lbar + r->island[i].row, z + r->island[i].row, NULL);
    tg_rows_other_half(m, w, z, y);
}

/* whether one of n numbers makes rows disagree, and turns impulses that then do something; jump: they do so anyway */
static bool any_kink(int n, const double *apart, const double *turned, double bound, bool jump)
{
    for (int k = 0; k < n; k++)
        if (fabs(apart[k]) > nothing && (jump || 2 * bound * fabs(turned[k]) > nothing))
            return true;
    return false;
}

/* One such row. y: the answer; scratch: 2 nv numbers, row_scratch: 2 rows. */
static bool tie_gives(const tg_model *m, tg_work *w, const double *z, double bound, const double *y, bool jump,
                      double *scratch, double *row_scratch)
{
    tg_step_work *s = w->step;
    double *apart_q = scratch, *apart_v = scratch + m->nv, apart_dt, turned_dt;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    tg_gradient apart = disagreement(m, w, z, s->v_next, true, row_scratch, s->disagreement, &apart_dt);
    memcpy(apart_q, apart.q, bytes);
    memcpy(apart_v, apart.v, bytes);
    tg_gradient turned = disagreement(m, w, z, y, false, row_scratch, w->param_gradient, &turned_dt);
    return any_kink(m->nv, apart_q, turned.q, bound, jump) || any_kink(m->nv, apart_v, turned.v, bound, jump) ||
           any_kink(1, &apart_dt, &turned_dt, bound, jump) ||
           any_kink(m->nparams, s->disagreement, w->param_gradient, bound, jump);
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
    find_answer(m, w, y, motion, z);
    tg_rows_velocity(m, w, y, motion);
    for (int i = 0; i < r->nisland; i++)
    {
        const tg_implicit *f = &s->implicit[i];
        for (int k = 0; k < f->ties && !gives; k++)
        {
            double bound = bound_of(f->island, f->tied[k]);
            bool jump = 2 * bound * fabs(motion[r->island[i].row + f->tied[k]]) > nothing;
            memset(z, 0, sizeof(double) * (size_t)r->nrow);
            memcpy(z + r->island[i].row, f->tie + (size_t)k * (size_t)f->island->rows,
                   sizeof(double) * (size_t)f->island->rows);
            gives = tie_gives(m, w, z, bound, y, jump, y + m->nv, row_scratch);
        }
    }
    return gives;
}
