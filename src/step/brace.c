/* Rows that hold against each other (contact/implicit_braces.c), J^T z = 0: whether they go on agreeing as bodies are displaced, d/dq of z . (J v+ + b) with v+ held fixed;
 * and whether J^T z is zero to rounding, which the rank of G = J A^-1 J^T, where levers are squared, cannot tell. */
#include <math.h>
#include <string.h>

#include "contact/cone.h"
#include "contact/rows_vjp.h"
#include "step/step.h"

static const double none = 1e-6;   /* m/s by m or rad */
static const double little = 1e-8; /* of what a row's own impulse does */

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

/* gradient of b: gphi and f_start */
static void biases(const tg_model *m, tg_work *w, const double *z, double *gphi, double *f_start)
{
    tg_step_work *s = w->step;
    const tg_rows *r = w->rows;
    double gdt = 0;
    memset(gphi, 0, sizeof(double) * (size_t)r->nrow);
    memset(f_start, 0, sizeof(double) * (size_t)r->nrow);
    memset(s->block_gradient, 0, sizeof(double) * 6 * (size_t)r->nblock);
    tg_law_gradient g = {z, gphi, f_start, s->block_gradient, s->block_gradient + 5 * r->nblock, &gdt, NULL};
    tg_laws_reverse(m, w, &s->settings, &g);
}

bool tg_braces_give(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    size_t rows = (size_t)w->rows->capacity.rows;
    double *z = s->row_gradient, *gphi = z + rows, *f_start = gphi + rows, gdt = 0, largest = 0;
    if (!gather(w, z))
        return false;
    biases(m, w, z, gphi, f_start);
    tg_gradient g = tg_gradient_begin(m, w, NULL);
    tg_adjoint_begin(m, w, s->v_next);
    const tg_row_term term[] = {{TG_ROW_FIELD_Y, s->v_next, z}, {TG_ROW_FIELD_V, s->v, f_start}};
    tg_rows_reverse(m, w, s->q, term, 2, gphi, NULL, s->options.dt, &gdt, g);
    tg_adjoint_end(m, w, s->q, &(tg_adjoint_fields){.v = s->v, .y = s->v_next}, g.q, g.v, g.a, NULL);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(g.q[k]));
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
    tg_rows_response(m, w, z, p);
    for (int k = 0; k < m->nv; k++)
        largest = fmax(largest, fabs(p[k]));
    return largest > little * own_effect(w, z);
}
