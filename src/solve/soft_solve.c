/* The stages of solving with compliance (soft.h), from the quickest on:
 *
 *     warm      Newton at eps from the impulses of the step before
 *     ladder    Newton at a compliance so large that most phases do not matter, then at eps; half way (in log eps) where that fails
 *
 * and from the solution at eps to its limit (select.c). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/soft.h"

static const double least = 0x1p-33; /* of the mean G_ii: 1e-10 */
static const double most = 0x1p-10;  /* the same at the top of the ladder */
static const double middle = 0x1p-17; /* the same of the interior point: 1e-5 */
static const double coarse = 1e-4;   /* of eps / mean G_ii times the largest free velocity: the violation that a rung may have */

enum
{
    WARM_STEPS = 10,
    TOP_STEPS = 12,
    RUNG_STEPS = 20,
    LADDER_STEPS = 60,
    IDLE = 6
};

/* ---- where to start ---- */

/* A contact that carried something is closed; on its cone it slides as it did. One that carried nothing stays open if its velocity says so, and is otherwise stopped. */
static void start_contact(tg_soft *p, const tg_soft_block *b, const double *L, const double *before)
{
    const double on_cone = 1 - 1e-6;
    const double *mu = p->mu + b->row;
    double *z = p->z + b->row, tangent = 0, slip = 0;
    if (!(L[0] > 0))
    {
        bool open = before[0] > 0;
        z[0] = open ? -before[0] / tg_soft_eps(p, b->row) : -p->g[b->row] / p->own[b->row];
        for (int i = 1; i < b->dim; i++)
            z[i] = open || !(p->own[b->row + i] > 0) ? 0 : -p->g[b->row + i] / p->own[b->row + i];
        return;
    }
    z[0] = L[0];
    for (int i = 1; i < b->dim; i++)
    {
        tangent += (L[i] / mu[i]) * (L[i] / mu[i]);
        slip += before[i] * before[i];
    }
    bool slides = tangent > on_cone * L[0] * L[0];
    for (int i = 1; i < b->dim; i++)
        z[i] = slides ? L[i] - before[i] / tg_soft_eps(p, b->row + i) : L[i];
    (void)slip;
}

static void start_block(tg_soft *p, const tg_soft_block *b)
{
    const tg_island *island = p->island;
    double L[TG_CONE_MAX] = {0}, before[TG_CONE_MAX] = {0};
    for (int i = 0; i < b->dim; i++)
    {
        int row = p->source[b->row + i];
        L[i] = island->warm != NULL ? island->warm[row] : 0;
        before[i] = island->speed != NULL ? island->speed[row] + island->bias[row] : island->g[row];
    }
    if (b->kind == TG_CONE_UNIT)
    {
        start_contact(p, b, L, before);
        return;
    }
    bool slides = b->kind == TG_CONE_BOX && fabs(L[0]) >= b->bound;
    p->z[b->row] = slides ? copysign(b->bound + fabs(before[0]) / tg_soft_eps(p, b->row), L[0]) : L[0];
}

static void start(tg_soft *p, double eps)
{
    p->eps = eps;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        start_block(p, b);
}

/* ---- the ladder ---- */

static double rung_goal(const tg_soft *p, double eps, const tg_solve_options *o)
{
    return eps > 1.5 * least * p->size ? tg_larger(o->inner, coarse * eps / p->size * p->speed) : o->inner;
}

static bool climb_down(tg_soft *p, const tg_solve_options *o)
{
    size_t rows = sizeof(double) * (size_t)p->rows;
    double from = p->eps, to = least * p->size;
    int first = p->factorisations;
    for (;;)
    {
        memcpy(p->kept_z, p->z, rows);
        tg_soft_rescale(p, to);
        if (tg_soft_newton(p, &(tg_soft_run){
                                  .steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = rung_goal(p, to, o)}))
        {
            if (to <= least * p->size)
                return true;
            from = to;
            to = least * p->size;
            continue;
        }
        memcpy(p->z, p->kept_z, rows);
        p->eps = from;
        to = sqrt(from * to);
        if (to > 0.5 * from || p->factorisations - first > LADDER_STEPS)
            return false;
    }
}

static bool ladder(tg_soft *p, const tg_solve_options *o)
{
    start(p, most * p->size);
    return tg_soft_newton(p, &(tg_soft_run){.steps = TOP_STEPS, .fresh = true, .goal = rung_goal(p, p->eps, o)}) &&
           climb_down(p, o);
}

/* ---- the interior point ---- */

/* with a compliance that its path hardly notices, then as on the ladder */
static bool from_interior(tg_soft *p, const tg_solve_options *o)
{
    double eps = middle * p->size;
    tg_soft_interior(p, eps, 1e-4 * o->tolerance, o->tolerance);
    return tg_soft_newton(p, &(tg_soft_run){
                                 .steps = TOP_STEPS, .idle = 3, .fresh = true, .goal = rung_goal(p, eps, o)}) &&
           climb_down(p, o);
}

/* without: Newton ends it */
static bool from_path(tg_soft *p, const tg_solve_options *o)
{
    p->eps = least * p->size;
    return tg_soft_interior(p, 0, 1e-2 * o->tolerance, o->tolerance) <= o->tolerance &&
           tg_soft_newton(p, &(tg_soft_run){.steps = TOP_STEPS, .idle = 3, .fresh = true, .goal = o->inner});
}

/* ---- all ---- */

static bool warm(tg_soft *p, const tg_solve_options *o)
{
    start(p, least * p->size);
    return tg_soft_newton(p, &(tg_soft_run){.steps = WARM_STEPS, .idle = IDLE, .fresh = true, .goal = o->inner});
}

/* whether a contact is on its cone without slip, or closed without force, up to rounding */
static bool has_immaterial(const tg_soft *p, const tg_solve_options *o)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        double slip = 0;
        for (int i = 1; i < b->dim; i++)
            slip = tg_larger(slip, tg_soft_eps(p, b->row + i) * fabs(p->z[b->row + i]));
        if (b->kind != TG_CONE_UNIT)
            continue;
        if (b->phase == TG_PHASE_BREAK && -p->eps * p->z[b->row] < 10 * o->tolerance)
            return true;
        if (b->phase == TG_PHASE_SLIDE && slip < 10 * o->tolerance)
            return true;
    }
    return false;
}

tg_solve_stage tg_soft_run_stages(tg_soft *p, const tg_solve_options *o, tg_selection *selection)
{
    if (p->dims == 0)
    {
        *selection = TG_SELECT_UNIQUE;
        memset(p->L, 0, sizeof(double) * (size_t)p->rows);
        return TG_ENDED_WARM;
    }
    tg_solve_stage stage = warm(p, o)             ? TG_ENDED_WARM
                           : ladder(p, o)         ? TG_ENDED_LADDER
                           : from_interior(p, o)  ? TG_ENDED_INTERIOR
                           : o->relaxable         ? TG_ENDED_NONE
                           : from_path(p, o)      ? TG_ENDED_PATH
                                                  : TG_ENDED_NONE;
    if (getenv("STAGES")) fprintf(stderr, "stage %d f %d relaxable %d\n", stage, p->factorisations, o->relaxable);
    *selection = TG_SELECT_UNSELECTED;
    if (stage == TG_ENDED_NONE)
        return stage;
    memcpy(p->kept_u, p->u, sizeof(double) * (size_t)p->dims);
    memcpy(p->kept_z, p->z, sizeof(double) * (size_t)p->rows);
    double eps = p->eps;
    int f0 = p->factorisations;
    bool okk = tg_soft_select(p, o);
    if (getenv("STAGES")) fprintf(stderr, "select %d f %d\n", okk, p->factorisations - f0);
    if (okk)
    {
        *selection = has_immaterial(p, o) ? TG_SELECT_COMPLIANT : TG_SELECT_PROJECTED;
        return stage;
    }
    memcpy(p->u, p->kept_u, sizeof(double) * (size_t)p->dims);
    memcpy(p->z, p->kept_z, sizeof(double) * (size_t)p->rows);
    p->eps = eps;
    tg_soft_respond(p);
    return stage;
}
