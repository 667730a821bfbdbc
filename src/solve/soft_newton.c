/* Newton's method for the problem with compliance (soft.h).
 *
 *     r = J^T P(z) - u,   H du = r,   u += t du,   z -= t J du / eps.
 *
 * The length t is where h(t) = du . (u + t du - J^T P(z(t))) has fallen to a small part of h(0): a trial costs as many
 * operations as there are rows. While phases are those of the factor and the violation falls quickly, the factor is
 * used again (chords). A chord that makes it larger is taken back: where a step went a small part of its way, it would
 * undo that, and the same two steps would follow each other. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/soft.h"

enum
{
    SEARCH = 60 /* trials of one line search, of which few are used: h is smooth there */
};

static const double enough = 0.05; /* of |h(0)|: h(1) beyond that is searched, down to this */
static const double chord_near =
    1e-3;                             /* of the largest free velocity: below this violation the factor is used again, */
static const double chord_pays = 0.1; /* as long as that falls to so much of what it was */

/* ---- the residual ---- */

void tg_soft_measure(tg_soft *p)
{
    tg_soft_push(p, p->L, p->r);
    for (int k = 0; k < p->dims; k++)
        p->r[k] -= p->u[k];
    p->violation = tg_soft_bound(p, p->r);
    p->rounding = TG_ROUNDING * v4_most(p->rows, p->own, p->L);
}

bool tg_soft_same_phases(const tg_soft *p)
{
    if (!p->regular)
        return false;
    for (int k = 0; k < p->blocks; k++)
        if (p->block[k].phase != p->factored[k])
            return false;
    return true;
}

/* ---- one step ---- */

static bool factor(tg_soft *p)
{
    tg_soft_slopes(p);
    return tg_soft_factor(p, true);
}

/* u and z from the linearisation at z alone: H u = J^T (L - D z - D g / eps) */
static void take_first(tg_soft *p)
{
    for (int i = 0; i < p->rows; i++)
        p->force[i] = p->z[i] + p->g[i] / tg_soft_eps(p, i);
    tg_soft_slope(p, p->force);
    for (int i = 0; i < p->rows; i++)
        p->force[i] = p->L[i] - p->force[i];
    tg_soft_push(p, p->force, p->u);
    tg_soft_solve(p, p->u);
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->z[i] = -(p->row[i] + p->g[i]) / tg_soft_eps(p, i);
}

static void take_step(tg_soft *p, double t)
{
    for (int k = 0; k < p->dims; k++)
        p->u[k] += t * p->step[k];
    for (int i = 0; i < p->rows; i++)
        p->z[i] += t * p->dz[i];
}

/* step = H^-1 r, Jstep = J step, dz = -Jstep / eps; returns r . step */
static double solve_step(tg_soft *p)
{
    memcpy(p->step, p->r, sizeof(double) * (size_t)p->dims);
    tg_soft_solve(p, p->step);
    tg_soft_velocity(p, p->step, p->Jstep);
    for (int i = 0; i < p->rows; i++)
        p->dz[i] = -p->Jstep[i] / tg_soft_eps(p, i);
    return v4_dot_of(p->dims, p->r, p->step);
}

/* ---- how far ---- */

/* The first t > 0 at which C + 2 B t + A t^2 falls to zero from C > 0; INFINITY: none. */
static double way_to_zero(double A, double B, double C)
{
    double square = B * B - A * C;
    if (B < 0)
        return square >= 0 ? C / (sqrt(square) - B) : INFINITY;
    return A < 0 ? (B + sqrt(square)) / -A : INFINITY;
}

/* the part of the step after which a contact reaches its cone, from inside or from outside */
static double way_to_cone(const tg_soft *p, const tg_soft_block *b)
{
    const double *z = p->z + b->row, *dz = p->dz + b->row, *mu = p->mu + b->row;
    double A = -dz[0] * dz[0], B = -z[0] * dz[0], C = -z[0] * z[0], sign = b->phase == TG_PHASE_STICK ? -1 : 1;
    for (int i = 1; i < b->dim; i++)
    {
        double x = z[i] / mu[i], dx = dz[i] / mu[i];
        A += dx * dx;
        B += x * dx;
        C += x * x;
    }
    return way_to_zero(sign * A, sign * B, sign * C);
}

/* the part of the step after which z_T, and with it friction, has turned round by half */
static double way_to_turn(const tg_soft *p, const tg_soft_block *b)
{
    double square = 0, change = 0;
    for (int i = b->row + 1; i < b->row + b->dim; i++)
    {
        square += p->z[i] * p->z[i];
        change += p->dz[i] * p->dz[i];
    }
    return sqrt(square / change);
}

/* the part of the step after which a block changes its phase */
static double way_to_change(const tg_soft *p, const tg_soft_block *b)
{
    double z = p->z[b->row], dz = p->dz[b->row], way = -z / dz;
    if (b->kind == TG_CONE_FREE)
        return INFINITY;
    if (b->kind == TG_CONE_BOX)
        return (copysign(b->bound, b->phase == TG_PHASE_STICK ? dz : z) - z) / dz;
    if (b->phase == TG_PHASE_BREAK || b->dim == 1)
        return way;
    double cone = way_to_cone(p, b);
    return way > 0 ? tg_smaller(way, cone) : cone;
}

/* Shell 1959, gaps of Hibbard */
static void sort(int count, double *x)
{
    int gap = 1;
    while (gap < count)
        gap = 2 * gap + 1;
    for (; gap > 0; gap /= 2)
        for (int i = gap; i < count; i++)
        {
            double here = x[i];
            int k = i;
            for (; k >= gap && x[k - gap] > here; k -= gap)
                x[k] = x[k - gap];
            x[k] = here;
        }
}

/* Where phases change within the step, in order, into `at`; how many */
static int find_changes(const tg_soft *p, double *at)
{
    int count = 0;
    for (int k = 0; k < p->turnings; k++)
    {
        const tg_soft_block *b = &p->block[p->turning[k]];
        double way = way_to_change(p, b), turn = b->dim > 1 ? way_to_turn(p, b) : INFINITY;
        if (way > 0 && way < 1)
            at[count++] = way;
        if (turn < 1)
            at[count++] = turn;
    }
    sort(count, at);
    return count;
}

/* h(t) = du . (u + t du - J^T P(z(t))), and where it is known to be below and above zero */
typedef struct search
{
    const tg_soft *p;
    double descent, square; /* -h(0), |du|^2 */
    double a, b, ha, hb;
} search;

/* h at t narrows the search; true when it is small enough */
static bool look(search *s, double t)
{
    double h = -s->descent + t * s->square - tg_soft_gain(s->p, t);
    bool above = h > 0;
    if (above)
    {
        s->b = t;
        s->hb = h;
    }
    else
    {
        s->a = t;
        s->ha = h;
    }
    return fabs(h) <= enough * s->descent;
}

/* between two changes of phases: regula falsi with halved ends (Illinois) */
static double between(search *s)
{
    double t = s->b;
    for (int k = 0; k < SEARCH; k++)
    {
        double before = s->a;
        t = (s->a * s->hb - s->b * s->ha) / (s->hb - s->ha);
        if (!(t > s->a && t < s->b))
            t = 0.5 * (s->a + s->b);
        if (look(s, t))
            break;
        *(s->a > before ? &s->hb : &s->ha) *= 0.5;
    }
    return t;
}

/* h is smooth between changes of phases, of which there may be many: first between which two it has its root. */
static double step_length(tg_soft *p, double descent)
{
    if (!(descent > 0))
        return 1;
    search s = {.p = p, .descent = descent, .square = v4_dot_of(p->dims, p->step, p->step), .b = 1, .ha = -descent};
    s.hb = s.ha + s.square - tg_soft_whole_gain(p);
    if (!(s.hb > enough * descent))
        return 1;
    double *at = p->force;
    for (int low = 0, high = find_changes(p, at); low < high;)
    {
        int middle = (low + high) / 2;
        if (look(&s, at[middle]))
            return at[middle];
        if (s.b <= at[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return between(&s);
}

/* Whether the whole step leaves all phases as they are, and half of the residual at most: that is then J^T of what
 * responses differ by from their linearisation. */
static bool step_is_good(tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        const double *D = p->D + b->slope, *change = p->dz + b->row;
        double z[TG_CONE_MAX], *apart = p->force + b->row;
        for (int i = 0; i < b->dim; i++)
            z[i] = p->z[b->row + i] + change[i];
        if (tg_soft_response(b, p->mu + b->row, z, apart) != b->phase)
            return false;
        for (int i = 0; i < b->dim; i++)
        {
            apart[i] -= p->L[b->row + i];
            for (int j = 0; j < b->dim; j++)
                apart[i] -= D[b->dim * i + j] * change[j];
        }
    }
    tg_soft_push(p, p->force, p->trial);
    double before = v4_dot_of(p->dims, p->r, p->r), after = v4_dot_of(p->dims, p->trial, p->trial);
    return sqrt(after) <= 0.5 * sqrt(before);
}

/* Where the step does not descend, and is not good all the same, friction is not coupled to its normals: then H is
 * positive definite. uphill: how many such steps there were; the run may end with one. */
static bool newton_step(tg_soft *p, const tg_soft_run *run, int *uphill)
{
    if (!factor(p))
        return false;
    double descent = solve_step(p);
    if (!(descent > 0) && !step_is_good(p))
    {
        if (++*uphill == run->uphill || !tg_soft_factor(p, false))
            return false;
        descent = solve_step(p);
        p->regular = false; /* not the factor of H */
    }
    take_step(p, step_length(p, descent));
    return true;
}

/* ---- all ---- */

typedef struct progress
{
    double before; /* violation at the last look */
    double best;   /* the smallest |r| so far */
    bool was_chord, chords;
    int idle, uphill;
} progress;

/* whether the last factor does once more */
static bool chord_is_good(const tg_soft *p, progress *at)
{
    if (at->was_chord)
        at->chords = p->violation <= chord_pays * at->before;
    else
        at->chords = true;
    at->before = p->violation;
    at->was_chord = false;
    return at->chords && p->violation <= chord_near * p->speed && tg_soft_same_phases(p);
}

/* With the last factor once more; true when that reaches the goal, if it takes as much off as the last time. */
static bool take_chord(tg_soft *p, double goal, double rate)
{
    solve_step(p);
    take_step(p, 1);
    tg_soft_respond(p);
    return rate * p->violation <= tg_larger(goal, p->rounding) && tg_soft_same_phases(p);
}

static void undo_step(tg_soft *p)
{
    take_step(p, -1);
    tg_soft_respond(p);
    tg_soft_measure(p);
}

static bool is_idle(const tg_soft *p, const tg_soft_run *run, progress *at)
{
    double size = sqrt(v4_dot_of(p->dims, p->r, p->r));
    bool idle = run->idle > 0 && size > 0.5 * at->best && ++at->idle >= run->idle;
    at->best = tg_smaller(size, at->best);
    return idle;
}

/* Steps of a few trees alone, while these halve the residual of all; false when Newton goes round in circles there. */
static bool settle(tg_soft *p, const tg_soft_run *run)
{
    tg_soft_end end = TG_SOFT_NEARER;
    tg_soft_measure(p);
    while (end == TG_SOFT_NEARER && p->violation > tg_larger(run->goal, p->rounding))
        end = tg_soft_local(p, run);
    return end != TG_SOFT_STUCK;
}

bool tg_soft_newton(tg_soft *p, const tg_soft_run *run)
{
    int last = p->factorisations + run->steps;
    progress at = {.before = INFINITY, .best = INFINITY, .chords = true};
    p->violation = INFINITY;
    if (run->fresh)
    {
        if (!factor(p))
            return false;
        take_first(p);
    }
    tg_soft_respond(p);
    for (;;)
    {
        tg_soft_measure(p);
        if (at.was_chord && !(p->violation <= at.before))
            undo_step(p);
        bool reached = p->violation <= tg_larger(run->goal, p->rounding);
        if (reached && !(run->sharp && p->violation > p->rounding))
            return true;
        double rate = at.was_chord ? p->violation / at.before : INFINITY;
        if (chord_is_good(p, &at))
        {
            if (take_chord(p, run->sharp ? 0 : run->goal, rate))
                return true;
            at.was_chord = true;
            continue;
        }
        if (reached)
            return true;
        if (!(p->violation < INFINITY) || is_idle(p, run, &at) || p->factorisations >= last ||
            !newton_step(p, run, &at.uphill))
            return false;
        tg_soft_respond(p);
        if (p->few != NULL && !settle(p, run))
            return false;
    }
}

void tg_soft_rescale(tg_soft *p, double eps)
{
    tg_soft_respond(p);
    for (int i = 0; i < p->rows; i++)
        p->z[i] = p->L[i] + (p->z[i] - p->L[i]) * tg_soft_eps(p, i) / (eps + p->give[i]);
    p->eps = eps;
}
