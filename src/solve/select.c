/* From a solution with compliance to its limit, which is the solution that docs/contact.md section 5 selects.
 *
 * As long as no phase changes the solution is u(eps) = u0 + eps u1. Differentiating u = J^T P(z), eps z + J u + g = 0
 * by eps gives
 *     H u1 = -J^T D z / eps,
 * one back-substitution with the current factor. In the limit rows move with h = J u0 + g, which is zero for held rows
 * and counts as zero below the consistency tolerance of redundant rows. z = c - h / eps, c = -J u1. So the limit solves
 *     u = J^T P(z),     eps (z - c) + J u + g - (h that counts as zero) = 0,
 * with c = L where h is not zero (then z - L is along h, as maximum dissipation requires). Held rows move with
 * eps (z - c), which is of order eps^2. Newton's increments are those of the problem with compliance, and usually the
 * current factor is enough. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "solve/soft.h"

enum
{
    STEPS = 10,
    ROUNDS = 4 /* each takes out nearly all of it */
};

static const double harder = 0x1p-12; /* of the compliance, at a time: rounding in H grows as it falls */
static const double creeps = 0.05;    /* of the velocity that its compliance gives a contact: h is nothing beside it */

/* x = H^-1 J^T D (h / eps) of the rows' velocities h */
static void respond_to(tg_soft *p, const double *h, double *x)
{
    for (int i = 0; i < p->rows; i++)
        p->force[i] = h[i] / tg_soft_eps(p, i);
    tg_soft_slope(p, p->force);
    tg_soft_push(p, p->force, x);
    tg_soft_solve(p, x);
}

/* p->row: h = J u + g; plus the deformation of rows with their own compliance, at their z of the limit */
static void limit_velocity(tg_soft *p)
{
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->row[i] += p->g[i] + p->give[i] * p->z[i];
}

/* u0 = u - eps u1, c = -J u1 and h. That was -eps z, but for the rounding of all of Newton's steps. */
static void extrapolate(tg_soft *p)
{
    respond_to(p, p->z, p->step);
    for (int k = 0; k < p->dims; k++)
        p->u[k] += p->eps * p->step[k];
    tg_soft_velocity(p, p->step, p->c);
    for (int i = 0; i < p->rows && p->gives; i++)
        if (p->give[i] > 0)
            p->z[i] += p->eps / tg_soft_eps(p, i) * (p->z[i] - p->c[i]);
    limit_velocity(p);
}

/* Rows with their own compliance are not held: they follow u, with more or less impulse. */
static void follow(tg_soft *p)
{
    for (int i = 0; i < p->rows && p->gives; i++)
        if (p->give[i] > 0)
        {
            double change = -p->row[i] / tg_soft_eps(p, i);
            p->z[i] += change;
            p->row[i] += p->give[i] * change;
        }
}

/* h after the step was taken off u. Computed anew it would have the rounding of J u, which small levers enlarge. */
static void follow_step(tg_soft *p)
{
    tg_soft_velocity(p, p->step, p->Jstep);
    for (int i = 0; i < p->rows; i++)
        p->row[i] -= p->Jstep[i];
}

/* Takes out of u what held rows can follow: rounding, and what an older factor has left. p->row: h, and what remains of
 * it. Returns how much there was of it (m/s). What redundant normals contradict each other by stays, and pushes what
 * slides on them along: the same in every round. */
static double hold(tg_soft *p, double enough)
{
    double first = 0, before = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
    {
        double most = 0;
        respond_to(p, p->row, p->step);
        for (int k = 0; k < p->dims; k++)
        {
            p->u[k] -= p->step[k];
            most = tg_larger(most, fabs(p->step[k]));
        }
        most *= sqrt(p->size);
        first = round == 0 ? most : first;
        if (most > enough)
            follow_step(p);
        follow(p);
        if (most <= enough || (round > 0 && most >= 0.5 * before))
            break;
        before = most;
    }
    return first;
}

/* What a block does in the limit is decided once: what moves about as fast as that would go to and fro.
 *
 * Held rows have left of h what they contradict each other by, which counts as nothing if it is little. Tangents of a
 * contact on its cone creep, h = 0 up to a small part of eps c, or slide. */
static void find_still(tg_soft *p, tg_soft_block *b, double consistent)
{
    const double *h = p->row + b->row, *c = p->c + b->row;
    double slip = 0, push = 0;
    for (int i = 1; i < b->dim; i++)
    {
        slip += h[i] * h[i];
        push += c[i] * c[i];
    }
    b->normal = fabs(h[0]) <= consistent;
    b->closed = b->phase != TG_PHASE_BREAK || b->normal;
    b->tangent = slip <= consistent * consistent;
    b->still = b->phase == TG_PHASE_STICK || (b->phase == TG_PHASE_BREAK && b->normal && b->tangent) ||
               (b->phase == TG_PHASE_SLIDE && slip <= creeps * creeps * p->eps * p->eps * push);
}

/* z = c - h / eps of `count` rows: h counts as nothing where it is consistent; where they move L in place of c: then
 * what is left of an impulse, z - L, is along h */
static void start_rows(tg_soft *p, int row, int count, bool still, bool consistent)
{
    for (int i = row; i < row + count; i++)
        if (!(p->give[i] > 0))
            p->z[i] = (still ? p->c[i] : p->L[i]) - (still && consistent ? 0 : p->row[i] / p->eps);
}

static void start_block(tg_soft *p, const tg_soft_block *b, double inner)
{
    bool held = b->phase == TG_PHASE_STICK;
    if (b->kind == TG_CONE_BOX) /* dry friction holds at zero velocity exactly */
        start_rows(p, b->row, 1, true, fabs(p->row[b->row]) <= inner);
    else
    {
        start_rows(p, b->row, 1, b->closed, b->normal);
        start_rows(p, b->row + 1, b->dim - 1, b->still, !held || b->tangent);
    }
}

/* what moves has z of its velocity */
static void restart_block(tg_soft *p, const tg_soft_block *b)
{
    for (int i = b->row; b->kind != TG_CONE_BOX && i < b->row + b->dim; i++)
        if (!(p->give[i] > 0) && !(i == b->row ? b->closed : b->still))
            p->z[i] = p->L[i] - p->row[i] / p->eps;
}

/* h of rows that are held although it does not count as nothing: with less compliance they would yield */
static double contradiction(const tg_soft *p, const tg_soft_block *b, double consistent, double inner)
{
    const double *h = p->row + b->row;
    bool wrong =
        b->phase == TG_PHASE_STICK || h[0] * p->L[b->row] > 0; /* dry friction that does not oppose its velocity */
    if (b->kind == TG_CONE_BOX)
        return wrong && fabs(h[0]) > inner ? fabs(h[0]) : 0;
    double worst = b->phase == TG_PHASE_BREAK ? 0 : fabs(h[0]);
    for (int i = 1; i < b->dim && b->phase == TG_PHASE_STICK; i++)
        worst = tg_larger(worst, fabs(h[i]));
    return worst > consistent ? worst : 0;
}

static void start_limit(tg_soft *p, const tg_solve_options *o)
{
    /* a patch that turns by a is off its plane by a^2; not where dry friction is, which holds at zero velocity exactly
     */
    const double consistent = p->boxes ? o->inner : 0.1 * o->tolerance;
    p->contradiction = 0;
    for (tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        find_still(p, b, consistent);
        start_block(p, b, o->inner);
        p->contradiction = tg_larger(p->contradiction, contradiction(p, b, consistent, o->inner));
    }
}

/* Newton's few steps here leave h + eps z as it is: that with sign 1 before them, h with -1 after them. */
static void find_velocity(tg_soft *p, double sign)
{
    for (int i = 0; i < p->rows; i++)
        p->row[i] += sign * p->eps * p->z[i];
}

/* Newton to the limit as c and h are now, to rounding. False when it does not find it. */
static bool sharpen(tg_soft *p, const tg_solve_options *o)
{
    find_velocity(p, 1);
    bool found = tg_soft_newton(p, &(tg_soft_run){.steps = STEPS, .sharp = true, .goal = o->inner});
    find_velocity(p, -1);
    return found;
}

/* Rows that move bodies by a small lever only, as those of a linkage near its dead centre: eps is not little beside
 * lever^2, and a round leaves eps / (eps + lever^2) of what they move. With less compliance, down to what
 * would be lost in H, it leaves less. */
static bool harden(tg_soft *p)
{
    double largest = 0;
    for (int i = 0; i < p->rows; i++)
        largest = tg_larger(largest, p->own[i]);
    double eps = tg_larger(harder * p->eps, TG_SOFT_LEAST * largest);
    if (!(eps < p->eps))
        return false;
    p->eps = eps;
    p->regular = false; /* the factor is of another H */
    return true;
}

/* Whether a round takes out something: lever^2 = eps (before / moved - 1) is more than rounding. */
static bool falls(const tg_soft *p, double moved, double before)
{
    return p->eps * (before - moved) > TG_SOFT_LEAST * p->size * moved;
}

/* Whether what holds moves with eps (z - c) by no more than rounding: then another round would find nothing. Loops,
 * whose levers may be small, and rows with their own compliance are always looked at. */
static bool is_still(const tg_soft *p, double enough)
{
    double most = 0;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = b->row; i < b->row + b->dim; i++)
        {
            bool held = b->kind == TG_CONE_BOX ? b->phase == TG_PHASE_STICK : i == b->row ? b->closed : b->still;
            if (b->kind == TG_CONE_FREE || p->give[i] > 0)
                return false;
            most = held ? tg_larger(most, fabs(p->z[i] - p->c[i])) : most;
        }
    return p->eps * most <= enough;
}

static bool any_gives(const tg_soft *p)
{
    for (int i = 0; i < p->rows; i++)
        if (p->give[i] > 0)
            return true;
    return false;
}

static bool any_slides(const tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        if (b->phase == TG_PHASE_SLIDE && b->kind == TG_CONE_UNIT && b->dim > 1)
            return true;
    return false;
}

/* Whether held rows move bodies by a small lever: a round leaves most of that. What rounding of h moves is less: by any
 * lever, |du| = lever h / (eps + lever^2) < h / eps^1/2. What rows contradict each other by moves only what slides. */
static bool stalls(const tg_soft *p, double moved, double before)
{
    return moved > 0.5 * before && moved > DBL_EPSILON * p->speed * sqrt(p->size / p->eps) && !any_slides(p);
}

/* Once more where c was not that of the solution: then held rows still move, with eps (z - c). Not where that does not
 * fall, unless small levers are the reason. They tell whether it falls only in the next round but one: the first at a
 * compliance has the error of the extrapolation, or of the compliance before. They may take as many rounds as a
 * factorisation costs. */
bool tg_soft_select(tg_soft *p, const tg_solve_options *o)
{
    const double enough = 1e-3 * o->inner;
    double before = INFINITY;
    bool levers = false;
    p->gives = any_gives(p);
    for (int round = 0; round < ROUNDS + (levers ? p->dims : 0); round++)
    {
        tg_soft_slopes(p); /* of now: D z = L, whichever factor is used */
        if (!tg_soft_same_phases(p) && !tg_soft_factor(p, true))
            return false;
        if (round == 0)
            extrapolate(p);
        double moved = hold(p, enough), left = moved / before; /* of what moved in the round before */
        bool stalled = stalls(p, moved, before);
        if (round == 0)
            start_limit(p, o);
        else if (moved <= enough || !(levers ? falls(p, moved, before) : left <= 0.5 || stalled))
            return true;
        bool anew = levers && left * left * moved > enough && harden(p); /* two more rounds would not be enough */
        for (const tg_soft_block *b = p->block; b < p->block + p->blocks && round > 0; b++)
            restart_block(p, b);
        /* what the next round would find, if this one needs no other factor */
        double next = round > 0 && before < INFINITY ? left * moved : moved;
        before = anew ? INFINITY : moved;
        levers = levers || stalled;
        int factorisations = p->factorisations;
        if (!sharpen(p, o))
            return levers && round > 1; /* where impulses are large rounding is in the way; the residual decides */
        bool same = !anew && p->factorisations == factorisations;
        if (same && next <= enough && (round > 0 || is_still(p, enough)))
            return true;
    }
    return true;
}

tg_selection tg_soft_selection(const tg_soft *p, const tg_solve_options *o)
{
    const double still = 10 * o->tolerance;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        double slip = 0;
        for (int i = b->row + 1; i < b->row + b->dim; i++)
            slip = tg_larger(slip, p->eps * fabs(p->z[i]));
        bool empty = b->phase == TG_PHASE_BREAK && -p->eps * p->z[b->row] < still;
        if (b->kind == TG_CONE_UNIT && (empty || (b->phase == TG_PHASE_SLIDE && slip < still)))
            return TG_SELECT_COMPLIANT;
    }
    return TG_SELECT_PROJECTED;
}
