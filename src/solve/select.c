/* From a solution with compliance to its limit, which is the solution that docs/contact.md section 5 selects.
 *
 * As long as no phase changes the solution is u(eps) = u0 + eps u1, and differentiating u = J^T P(z), eps z + J u + g = 0 by eps,
 *     H u1 = -J^T D z / eps,
 * one back-substitution with the factor at hand. In the limit rows move with h = J u0 + g: not at all where they are held, and what is less than redundant rows may
 * contradict each other by counts as nothing. z = c - h / eps, c = -J u1. So the limit solves
 *     u = J^T P(z),     eps (z - c) + J u + g - (h that counts as nothing) = 0,
 * with c = 0 where h is not zero: what holds moves with eps (z - c), which is of the order of eps^2. Newton's increments are those of the problem with compliance, and
 * mostly the factor at hand does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solve/soft.h"

enum
{
    STEPS = 10,
    ROUNDS = 3, /* c is that of other phases where these change */
    HOLDS = 4 /* each takes out nearly all of it */
};

/* x = H^-1 J^T D (h / eps) of the rows' velocities h */
static void respond_to(tg_soft *p, const double *h, double *x)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = 0; i < b->dim; i++)
        {
            double sum = 0;
            for (int j = 0; j < b->dim; j++)
                sum += p->D[b->slope + b->dim * i + j] * h[b->row + j] / tg_soft_eps(p, b->row + j);
            p->L[b->row + i] = sum;
        }
    tg_soft_push(p, p->L, x);
    tg_soft_solve(p, x);
}

/* h = J u + g; rows with a compliance of their own: and what they give way by, at their z of the limit */
static void limit_velocity(tg_soft *p)
{
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->row[i] += p->g[i] + p->give[i] * p->z[i];
}

/* J u1 into p->Jstep */
static void extrapolate(tg_soft *p)
{
    respond_to(p, p->z, p->step);
    for (int k = 0; k < p->dims; k++)
    {
        p->u[k] += p->eps * p->step[k];
        p->step[k] = -p->step[k];
    }
    tg_soft_velocity(p, p->step, p->Jstep);
    for (int i = 0; i < p->rows; i++)
        if (p->give[i] > 0)
            p->z[i] += p->eps / tg_soft_eps(p, i) * (p->z[i] + p->Jstep[i]);
}

/* Takes out of u what held rows can follow: rounding, and what an older factor has left. p->row: what remains of h. */
static void hold(tg_soft *p, double enough)
{
    limit_velocity(p);
    for (int round = 0; round < HOLDS; round++)
    {
        double most = 0;
        respond_to(p, p->row, p->step);
        for (int k = 0; k < p->dims; k++)
        {
            p->u[k] -= p->step[k];
            most = tg_larger(most, fabs(p->step[k]));
        }
        limit_velocity(p);
        if (most * most <= enough * enough / p->size)
            break;
    }
}

/* z = c - h / eps of `count` rows that are still (h counts as nothing) or move together (c does); c = -J u1, or z as it is */
static void start_rows(tg_soft *p, int row, int count, bool still, bool first)
{
    for (int i = row; i < row + count; i++)
        if (p->give[i] > 0)
            continue;
        else if (!still)
            p->z[i] = -p->row[i] / p->eps;
        else if (first)
            p->z[i] = -p->Jstep[i];
}

/* What is still is decided once: what moves about as fast as that would go to and fro. */
static void find_still(tg_soft *p, tg_soft_block *b, double consistent)
{
    const double *h = p->row + b->row;
    double slip = 0;
    for (int i = 1; i < b->dim; i++)
        slip += h[i] * h[i];
    bool opens = b->kind == TG_CONE_UNIT && h[0] > consistent;
    b->closed = fabs(h[0]) <= consistent;
    b->still = !opens && slip <= consistent * consistent;
}

static void start_block(tg_soft *p, const tg_soft_block *b, double inner, bool first)
{
    if (b->kind != TG_CONE_BOX)
    {
        start_rows(p, b->row, 1, b->closed, first);
        start_rows(p, b->row + 1, b->dim - 1, b->still, first);
    }
    else if (first) /* dry friction holds at zero velocity exactly, and what gives way a little does so at its bound */
        p->z[b->row] = -p->Jstep[b->row] - (fabs(p->row[b->row]) > inner ? p->row[b->row] / p->eps : 0);
}

bool tg_soft_select(tg_soft *p, const tg_solve_options *o)
{
    const double consistent = 0.1 * o->tolerance; /* a patch that turns by a is off its plane by a^2 */
    for (int round = 0; round < ROUNDS; round++)
    {
        if (!tg_soft_same_phases(p) && !tg_soft_factor(p, true))
            return false;
        int before = p->factorisations;
        if (round == 0)
            extrapolate(p);
        hold(p, 1e-3 * o->inner);
        for (tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        {
            if (round == 0)
                find_still(p, b, consistent);
            start_block(p, b, o->inner, round == 0);
        }
        if (!tg_soft_newton(p, &(tg_soft_run){.steps = STEPS, .sharp = true, .goal = o->inner}))
            return false;
        if (p->factorisations == before)
            break;
    }
    return true;
}
