/* The default solver: solving and selecting as one problem with compliance (soft.h), in stages, fastest first. It stops
 * at the first stage whose result has its certificate.
 *
 *     soft         Newton at the smallest compliance from the impulses of the previous step
 *     ladder       from the result of a few Gauss-Seidel sweeps, Newton at a compliance so large that most phases do
 *                  not matter, then at the smallest one; a third of the way (in log eps) if that fails
 *     multipliers  rounds at much compliance, each centred at the impulses of the last one (multipliers.c), then Newton
 *                  at the smallest compliance
 *
 * The first two leave out what stays open (soft_open.c); the last one works on the whole problem.
 *
 * Each ends at a solution with compliance; select.c then computes its limit. If the limit has no certificate, the
 * problem contradicts itself: with compliance eps impulses grow as 1 / eps, and eps L stays constant. The search then
 * stops if the problem may be replaced by an easier one (o->relaxable), or if infeasibility is proven. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/soft.h"

/* Counts and shares that nothing derives were set on `make bench` (the six robots) and `make bench-step-wide` (the hard
 * robots, keyframe controls and seeds 0 to 2): they decide how soon a stage gives up, not what is a solution. */
enum
{
    SOFT_STEPS = 10,   /* factorisations of one run of Newton: from the previous step, */
    RUNG_STEPS = 20,   /* at the top of the ladder, and from one rung to the next, */
    LADDER_STEPS = 60, /* on all of them */
    IDLE = 6,          /* steps that may fail to halve the residual, */
    SOON = 2,          /* where it is quick or not at all; and steps uphill at the top of the ladder */
    SWEEPS = 10,       /* where the impulses of the previous step are of little use */
    HARDER = 3         /* how often the least compliance may fall */
};

static const double smallest = 0x1p-40, largest = 0x1p-23; /* of the mean G_ii: between these is the least compliance */
static const double usual = 0x1p-33;                       /* where nothing says how large impulses are */
static const double top = 0x1p-13;                         /* of the mean G_ii: on top of the ladder */
static const double creep = 1e-2;      /* of the tolerance: how fast what holds moves with the least compliance */
static const double heap_creep = 0.25; /* the same in heaps, section "many bodies" */
static const double coarse =
    1e-4; /* the violation that a solution may have. Of the tolerance at the least compliance: z of
                                      what creeps is wrong by violation / eps, so it is small beside how fast that
                                      creeps. On a rung above: of eps / mean G_ii times the largest free velocity. */
static const double turned =
    0.02;                      /* of L_N: so near its cone an impulse of the previous step was on it: 10 rad/s, 2 ms */
static const double slow = 10; /* of either creep: less is slow enough */
static const double stays = 0.3;        /* of what it was: it does not fall */
static const double much_less = 0x1p-8; /* of the compliance */
static const double most_speed = 1e2;   /* of the largest free velocity: nothing leaves faster */

/* ---- the least compliance ---- */

/* The compliance at which phases are those of the limit: what holds moves by much less than what redundant rows may
 * contradict each other by. With less, contradictions that count as nothing would decide over impulses. A power of two.
 */
static double least_compliance(const tg_soft *p, double velocity)
{
    double impulse = 0, guess = 0;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        if (!b->contact)
            continue;
        if (p->island->warm != NULL)
            impulse = tg_larger(impulse, fabs(p->island->warm[p->source[b->row]]));
        guess = tg_larger(guess, fabs(p->g[b->row]) / p->own[b->row]);
    }
    impulse = impulse > 0 ? impulse : guess;
    double eps = impulse > 0 ? ldexp(1, ilogb(velocity / impulse)) : usual * p->size;
    return tg_smaller(tg_larger(eps, smallest * p->size), largest * p->size);
}

/* ---- where to start ---- */

/* whether z is beyond the bounds of a block, by more than rounding */
static bool is_beyond(const tg_soft *p, const tg_soft_block *b, const double *z)
{
    double square = 0;
    if (b->kind == TG_CONE_BOX)
        return fabs(z[0]) > (1 + TG_ON_CONE) * b->bound;
    for (int i = 1; i < b->dim; i++)
        square += (z[i] / p->mu[b->row + i]) * (z[i] / p->mu[b->row + i]);
    return b->kind == TG_CONE_UNIT && (z[0] < 0 || square > (1 + TG_ON_CONE) * z[0] * z[0]);
}

/* A contact that carried something is closed; on its cone it slides as fast as it did, where that is against its
 * friction: opposite to it. (Of what slides slowly J v says little about the direction, and Newton does not find back
 * from a wrong one.) Normals turn with their bodies: an impulse on its cone is near it in the frame of now. A contact
 * that carried nothing stays open if its velocity says so, and is otherwise stopped. */
static void start_contact(tg_soft *p, const tg_soft_block *b, const double *L, const double *before)
{
    const double *mu = p->mu + b->row, *own = p->own + b->row, *g = p->g + b->row;
    double *z = p->z + b->row, square = 0, along = 0, slip = 0, size = 0;
    bool carries = L[0] > 0, open = !carries && before[0] > 0;
    for (int i = 1; i < b->dim; i++)
    {
        double scaled = L[i] / mu[i], e = scaled / mu[i]; /* slip is along -e */
        square += scaled * scaled;
        along += L[i] * before[i];
        slip += before[i] * before[i];
        size += e * e;
    }
    bool slides = sqrt(square) > (1 - turned) * L[0] && along < 0;
    double speed = slides ? sqrt(slip / size) : 0;
    z[0] = carries ? L[0] : open ? -before[0] / tg_soft_eps(p, b->row) : -g[0] / own[0];
    for (int i = 1; i < b->dim; i++)
        z[i] = carries                 ? L[i] + speed * L[i] / (mu[i] * mu[i]) / tg_soft_eps(p, b->row + i)
               : open || !(own[i] > 0) ? 0
                                       : -g[i] / own[i];
}

/* z from impulses and velocities */
static void start_block(tg_soft *p, const tg_soft_block *b, const double *L, const double *before)
{
    bool slides = b->kind == TG_CONE_BOX && fabs(L[0]) >= b->bound;
    if (b->kind == TG_CONE_UNIT)
        start_contact(p, b, L, before);
    else
        p->z[b->row] = slides ? copysign(b->bound + fabs(before[0]) / tg_soft_eps(p, b->row), L[0]) : L[0];
}

/* from the previous step */
static void start(tg_soft *p, double eps)
{
    const tg_island *island = p->island;
    p->eps = eps;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        double L[TG_CONE_MAX] = {0}, z[TG_CONE_MAX] = {0}, before[TG_CONE_MAX] = {0};
        for (int i = 0; i < b->dim; i++)
        {
            int row = p->source[b->row + i];
            L[i] = island->warm != NULL ? island->warm[row] : 0;
            z[i] = island->warm_z != NULL ? island->warm_z[row] : 0;
            before[i] = island->speed != NULL ? island->speed[row] + island->bias[row] : island->g[row];
        }
        if (is_beyond(p, b, z))
            memcpy(p->z + b->row, z, sizeof(double) * (size_t)b->dim);
        else
            start_block(p, b, L, before);
    }
}

/* z from p->L and p->u */
static void start_here(tg_soft *p, double eps)
{
    p->eps = eps;
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->row[i] += p->g[i];
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        start_block(p, b, p->L + b->row, p->row + b->row);
}

/* A contact near a solution does what the larger of two velocities says (Alart and Curnier): that of now, or what its
 * impulse moves, and what it has left inside of its cone. A slip is opposite to its friction, as above. */
static void start_contact_near(tg_soft *p, const tg_soft_block *b, const double *L, const double *sigma)
{
    const double *mu = p->mu + b->row, *own = p->own + b->row;
    double *z = p->z + b->row, normal = L[0] - sigma[0] / own[0], most = 0, square = 0, slip = 0, size = 0;
    for (int i = 1; i < b->dim; i++)
        most = tg_larger(most, own[i] * mu[i] * mu[i]);
    for (int i = 1; i < b->dim; i++)
    {
        double x = L[i] / mu[i], y = x - mu[i] * sigma[i] / most, e = x / mu[i];
        square += y * y;
        slip += sigma[i] * sigma[i];
        size += e * e;
    }
    bool closed = normal > 0, slides = closed && square > normal * normal && size > 0;
    double speed = slides ? sqrt(slip / size) : 0;
    z[0] = closed ? L[0] : -sigma[0] / tg_soft_eps(p, b->row);
    for (int i = 1; i < b->dim; i++)
        z[i] = closed ? L[i] + speed * L[i] / (mu[i] * mu[i]) / tg_soft_eps(p, b->row + i) : 0;
}

/* z from p->L and p->u, near a solution */
static void start_near(tg_soft *p, double eps)
{
    p->eps = eps;
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        p->row[i] += p->g[i];
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        if (b->kind == TG_CONE_UNIT)
            start_contact_near(p, b, p->L + b->row, p->row + b->row);
        else
            start_block(p, b, p->L + b->row, p->row + b->row);
}

/* the same from the previous step: of what moves with its compliance alone, z is known better than impulses tell */
static void start_known(tg_soft *p, double eps)
{
    const double *known = p->island->warm_z;
    start_near(p, eps);
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks && known != NULL; b++)
    {
        double z[TG_CONE_MAX];
        for (int i = 0; i < b->dim; i++)
            z[i] = known[p->source[b->row + i]];
        if (is_beyond(p, b, z))
            memcpy(p->z + b->row, z, sizeof(double) * (size_t)b->dim);
    }
}

/* L and u of the impulses to start from */
static void load_warm(tg_soft *p)
{
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->island->warm != NULL ? p->island->warm[p->source[i]] : 0;
    tg_soft_push(p, p->L, p->u);
}

void tg_soft_sweep_warm(tg_soft *p)
{
    load_warm(p);
    tg_soft_cones(p);
    tg_soft_sweeps(p, SWEEPS);
}

/* ---- stages ---- */

/* how fast what holds moves */
static double creep_of(const tg_soft *p)
{
    double most = 0;
    for (int i = 0; i < p->rows; i++)
        most = tg_larger(most, fabs(p->L[i]));
    return p->eps * most;
}

static bool has_loops(const tg_soft *p)
{
    for (int b = 0; b < p->blocks; b++)
        if (p->block[b].kind == TG_CONE_FREE)
            return true;
    return false;
}

static double largest_own(const tg_soft *p)
{
    double most = 0;
    for (int i = 0; i < p->rows; i++)
        most = tg_larger(most, p->own[i]);
    return most;
}

static double rung_goal(const tg_soft *p, double eps, const tg_solve_options *o)
{
    return coarse * tg_larger(o->tolerance, eps > p->least ? eps / p->size * p->speed : 0);
}

static bool soft(tg_soft *p, const tg_solve_options *o)
{
    tg_soft_run run = {
        .steps = SOFT_STEPS, .idle = SOON, .uphill = 1, .fresh = true, .goal = rung_goal(p, p->least, o)};
    if (p->resumed) /* from the solution without what closes */
    {
        load_warm(p);
        start_here(p, p->least);
    }
    else
        start(p, p->least);
    return tg_soft_newton(p, &run);
}

/* a number that tells sets of phases apart */
static uint64_t number_of_phases(const tg_soft *p)
{
    uint64_t number = 0;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        number = (TG_PHASE_SLIDE + 1) * number + (uint64_t)b->phase;
    return number;
}

/* From the solution at p->eps to that at the least compliance, with about so many factorisations: all the way, or as
 * far at a time as it goes. The ratio of two compliances is squared where it was good, its cube root taken where it was
 * not: half way would mostly fail, too.
 * From the same phases a step that failed would fail again, from wherever it starts: then it goes half way only. */
static bool climb_down(tg_soft *p, const tg_solve_options *o, int steps)
{
    size_t rows = sizeof(double) * (size_t)p->rows;
    double ratio = p->least / p->eps, failed = 0;
    uint64_t phases = 0;
    int last = p->factorisations + steps;
    for (;;)
    {
        double from = p->eps, to = tg_larger(ratio * from, p->least), middle = sqrt(from * failed);
        uint64_t here = number_of_phases(p);
        if (here == phases && middle < 0.5 * from)
            to = tg_larger(to, middle);
        memcpy(p->kept_z, p->z, rows);
        tg_soft_rescale(p, to);
        bool solved = tg_soft_newton(
            p, &(tg_soft_run){.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = rung_goal(p, to, o)});
        if (solved && to <= p->least)
            return true;
        if (solved)
        {
            ratio *= ratio;
            continue;
        }
        memcpy(p->z, p->kept_z, rows);
        p->eps = from;
        failed = to;
        phases = here;
        ratio = cbrt(to / from);
        if (ratio > 0.5 || p->factorisations > last)
            return false;
    }
}

/* What was left out and closes after the sweeps comes back at once, not when all the way down is known to be wrong.
 * A step that does not descend says that friction is not monotone with so little compliance: of 804 times that Newton
 * failed at the top 767 had two or more, of 10,555 that it ended 925. Multipliers, with more compliance, are sooner
 * then. */
static bool ladder_from(tg_soft *p, double eps, const tg_solve_options *o, int steps)
{
    tg_soft_sweep_warm(p);
    start_here(p, eps);
    p->again = p->swept = tg_soft_closes(p);
    if (p->again)
        return false;
    p->steep = !tg_soft_newton(
        p, &(tg_soft_run){.steps = RUNG_STEPS, .uphill = SOON, .fresh = true, .goal = rung_goal(p, eps, o)});
    if (p->steep)
        return false;
    p->creep = creep_of(p);
    return climb_down(p, o, steps);
}

static bool ladder(tg_soft *p, const tg_solve_options *o)
{
    return ladder_from(p, top * p->size, o, LADDER_STEPS);
}

/* From the solution that the method of multipliers ends at, if it does, to the one at the least compliance. */
static bool multipliers(tg_soft *p, const tg_solve_options *o)
{
    if (!tg_soft_multipliers(p, o))
        return false;
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->offer.L[p->source[i]];
    tg_soft_push(p, p->L, p->u);
    start_near(p, p->least);
    tg_soft_run run = {.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = rung_goal(p, p->least, o)};
    return tg_soft_newton(p, &run);
}

static bool path(tg_soft *p, const tg_solve_options *o)
{
    p->eps = p->least;
    if (!(tg_soft_interior(p, o) <= o->tolerance))
        return false;
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_PATH);
    return tg_soft_newton(p, &(tg_soft_run){.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = o->inner});
}

/* ---- less compliance ---- */

/* Impulses may be much larger than was thought: a light body carries a heavy one. Then the compliance falls until what
 * holds moves slowly enough. False when it goes on moving as fast: the problem contradicts itself. */
static bool harden(tg_soft *p, const tg_solve_options *o)
{
    double goal = p->pace, now = creep_of(p), floor = TG_SOFT_LEAST * largest_own(p);
    for (int k = 0; k < HARDER && now > slow * goal; k++)
    {
        double eps = tg_larger(p->eps * ldexp(1, ilogb(goal / now)), floor), before = now;
        if (!(eps < 0.5 * p->eps))
            break;
        p->least = eps;
        if (!climb_down(p, o, LADDER_STEPS))
        {
            /* as far as it came: the solution there, once more */
            p->least = p->eps;
            tg_soft_newton(p, &(tg_soft_run){.steps = RUNG_STEPS, .fresh = true, .goal = o->inner});
            break;
        }
        now = creep_of(p);
        if (now > stays * before)
            return false;
    }
    return true;
}

/* Impulses may be much smaller, too: those of the previous step were of an impact. Then rounding of what rows
 * contradict each other by, which counts as nothing, would decide over impulses: more compliance. */
static void soften(tg_soft *p, const tg_solve_options *o)
{
    double goal = p->pace, now = creep_of(p), before = p->eps;
    double eps = now > 0 ? tg_smaller(p->eps * ldexp(1, ilogb(goal / now)), largest * p->size) : 0;
    if (p->boxes || !(now < goal / slow) || !(eps > before))
        return;
    memcpy(p->kept_z, p->z, sizeof(double) * (size_t)p->rows);
    tg_soft_rescale(p, eps);
    p->least = eps;
    if (tg_soft_newton(p,
                       &(tg_soft_run){.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = rung_goal(p, eps, o)}))
        return;
    memcpy(p->z, p->kept_z, sizeof(double) * (size_t)p->rows);
    p->eps = p->least = before;
    tg_soft_newton(p, &(tg_soft_run){.steps = RUNG_STEPS, .fresh = true, .goal = rung_goal(p, before, o)});
}

/* ---- contradictions ---- */

/* The largest |J_ik| of every dof k, into p->step: a dof that moves with x moves some row with x times that. */
static void find_columns(tg_soft *p)
{
    memset(p->step, 0, sizeof(double) * (size_t)p->dims);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
        for (int i = 0; i < g->rows; i++)
        {
            const double *J = p->J + g->J + (size_t)i * (size_t)g->ld;
            for (int c = 0; c < g->size; c++)
            {
                double *most = p->step + p->support[g->support + c];
                *most = tg_larger(*most, fabs(J[c]));
            }
        }
}

/* Every solution has sigma_N >= 0 and sigma = 0 at equalities. With y >= 0 on normals, any sign on equalities, zero
 * elsewhere, y . sigma = y . g + (J^T y) . u, and where that is below zero for every u that comes into question there
 * is no solution (Farkas). y: the impulses that have grown. u: no dof moves a row faster than anything leaves, whatever
 * the masses are. */
static bool is_proven(tg_soft *p)
{
    double along = 0, reach = 0;
    memset(p->row, 0, sizeof(double) * (size_t)p->rows);
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        if (b->kind != TG_CONE_BOX)
        {
            p->row[b->row] = p->L[b->row];
            along += p->L[b->row] * p->g[b->row];
        }
    tg_soft_push(p, p->row, p->r);
    find_columns(p);
    for (int k = 0; k < p->dims; k++)
        reach += p->step[k] > 0 ? fabs(p->r[k]) / p->step[k] : 0;
    return most_speed * p->speed * reach < -along;
}

/* ---- all ---- */

/* z for the next step: what moves with its compliance alone is kept, of what slips or opens the impulse. */
static void keep_z(tg_soft *p)
{
    double *out = p->island->z;
    if (out == NULL)
        return;
    memset(out, 0, sizeof(double) * (size_t)p->island->rows);
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        double speed = 0;
        for (int i = b->row; i < b->row + b->dim; i++)
            speed = tg_larger(speed, tg_soft_eps(p, i) * fabs(p->z[i] - p->L[i]));
        for (int i = b->row; i < b->row + b->dim; i++)
            out[p->source[i]] = speed < TG_NO_SLIP ? p->z[i] : p->L[i];
    }
    p->kept = true;
}

/* whether impulses are far larger than velocities ask for */
static bool is_huge(const tg_soft *p)
{
    double most = 0;
    for (int i = 0; i < p->rows; i++)
        most = tg_larger(most, p->own[i] * fabs(p->L[i]));
    return most > TG_MOST_IMPULSE * p->speed;
}

/* Where what holds moves about as fast as with much more compliance, on top of the ladder, impulses grow as 1 / eps.
 * Of huge ones that were not found on the ladder this is asked first: to harden them only to find the same takes tens
 * of factorisations, which rounding spoils. */
static bool impulses_grow(tg_soft *p, const tg_solve_options *o)
{
    size_t dims = sizeof(double) * (size_t)p->dims, rows = sizeof(double) * (size_t)p->rows;
    double now = creep_of(p), eps = p->eps;
    if (!(p->creep < INFINITY) && is_huge(p))
    {
        memcpy(p->kept_u, p->u, dims);
        memcpy(p->kept_z, p->z, rows);
        tg_soft_rescale(p, eps / much_less);
        tg_soft_run run = {.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = rung_goal(p, p->eps, o)};
        if (tg_soft_newton(p, &run))
            p->creep = creep_of(p);
        memcpy(p->u, p->kept_u, dims);
        memcpy(p->z, p->kept_z, rows);
        p->eps = eps;
        p->regular = false; /* the factor is of another compliance */
        tg_soft_respond(p);
    }
    return now > stays * p->creep;
}

/* Whether the search ends: the limit has its certificate, or the problem contradicts itself. */
static bool ends(tg_soft *p, const tg_solve_options *o, tg_solve_stage stage)
{
    size_t dims = sizeof(double) * (size_t)p->dims, rows = sizeof(double) * (size_t)p->rows;
    bool grows = impulses_grow(p, o);
    p->again = !grows && tg_soft_closes(p);
    if (p->again)
        return true;
    bool solvable = !grows && harden(p, o);
    /* Small levers of loops let impulses grow like contradictions do: what moves less than the tolerance tells. */
    bool selected = o->select && (solvable || (!grows && has_loops(p) && creep_of(p) <= o->tolerance));
    if (solvable && selected)
        soften(p, o);
    if (solvable)
        keep_z(p);
    memcpy(p->kept_u, p->u, dims);
    memcpy(p->kept_z, p->z, rows);
    for (int k = 0; k < HARDER && selected; k++)
    {
        double eps = p->eps;
        selected = tg_soft_select(p, o);
        if (selected)
            tg_soft_offer(p, tg_soft_selection(p, o), stage);
        /* rows that hold against each other, as dry friction does against a contact that is pushed out slowly, give way
         * with less compliance */
        p->least = much_less * eps;
        if (!selected || p->contradiction == 0 || p->least < TG_SOFT_LEAST * largest_own(p))
            break;
        p->began = p->began || o->refined < 0;
        if (o->refined < 0)
            break;
        p->eps = eps;
        memcpy(p->u, p->kept_u, dims);
        memcpy(p->z, p->kept_z, rows);
        selected = climb_down(p, o, RUNG_STEPS);
        p->refined = selected ? p->eps : -1;
        if (selected)
            keep_z(p);
        memcpy(p->kept_u, p->u, dims);
        memcpy(p->kept_z, p->z, rows);
    }
    if (p->offer.residual <= o->tolerance)
        return true;
    memcpy(p->z, p->kept_z, rows);
    tg_soft_respond(p);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, stage);
    p->contradicts = p->offer.residual > o->tolerance && (o->relaxable || is_proven(p));
    return p->offer.residual <= o->tolerance || p->contradicts;
}

/* pace: how fast what holds may move with the least compliance (m/s) */
static void begin_at(tg_soft *p, double pace)
{
    p->pace = pace;
    p->least = least_compliance(p, pace);
    p->creep = INFINITY;
}

static void begin(tg_soft *p, const tg_solve_options *o)
{
    begin_at(p, creep * o->tolerance);
}

void tg_soft_finish(tg_soft *p, const tg_solve_options *o, tg_solve_stage stage)
{
    tg_soft_build(p);
    tg_soft_push(p, p->L, p->u);
    begin(p, o);
    start_here(p, p->least);
    if (tg_soft_newton(p, &(tg_soft_run){.steps = RUNG_STEPS, .idle = IDLE, .fresh = true, .goal = o->inner}))
        ends(p, o, stage);
}

/* ---- many bodies ---- */

/* In a heap redundant rows contradict each other by 1e-10 m/s or so everywhere. This counts as nothing, but with so
 * little compliance it decides which corners of a box carry it, and on the way down solutions turn back there. With
 * this much the solution has its certificate. The share matters little: of the tolerance 0.05, 0.1 and 0.3 take 21.8,
 * 21.4 and 20.6 factorisations per step (bench/wide.py, heaps of 30, seeds 0 to 23). */
static void begin_heap(tg_soft *p, const tg_solve_options *o)
{
    begin_at(p, heap_creep * o->tolerance);
}

/* Newton at the least compliance from p->z, and the rule; false when nothing is selected */
static bool select_near(tg_soft *p, const tg_solve_options *o, int idle, tg_solve_stage stage)
{
    tg_soft_run run = {.steps = SOFT_STEPS, .idle = idle, .fresh = true, .goal = rung_goal(p, p->least, o)};
    return tg_soft_newton(p, &run) && ends(p, o, stage) && p->offer.selection != TG_SELECT_UNSELECTED;
}

bool tg_soft_first(tg_soft *p, const tg_solve_options *o)
{
    begin_heap(p, o);
    load_warm(p);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_WARM);
    if (p->offer.residual < TG_NEAR * p->speed)
    {
        start_known(p, p->least);
        if (select_near(p, o, SOON, TG_ENDED_SOFT))
            return true;
    }
    begin_heap(p, o);
    tg_soft_sweep_warm(p);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_SWEEPS);
    start_near(p, p->least);
    return select_near(p, o, SOON, TG_ENDED_SOFT);
}

void tg_soft_choose(tg_soft *p, const tg_solve_options *o, tg_solve_stage stage)
{
    begin_heap(p, o);
    load_warm(p);
    start_near(p, p->least);
    if (select_near(p, o, IDLE, stage))
        return;
    begin_heap(p, o);
    if (ladder(p, o))
        ends(p, o, stage);
}

typedef struct stage
{
    bool (*run)(tg_soft *p, const tg_solve_options *o);
    tg_solve_stage name;
} stage;

/* From the previous step, at the compliance at which rows that held against each other gave way. */
static bool begins_refined(tg_soft *p, const tg_solve_options *o)
{
    tg_soft_run run = {.steps = SOFT_STEPS, .idle = SOON, .fresh = true};
    if (!(o->refined > 0) || !(o->refined < p->least) || p->resumed)
        return false;
    p->least = o->refined;
    run.goal = rung_goal(p, p->least, o);
    start(p, p->least);
    p->began = tg_soft_newton(p, &run) && ends(p, o, TG_ENDED_SOFT);
    return p->began;
}

/* Where an easier problem can take its place, no long search follows. Multipliers come before the ladder in islands
 * that large.c has not solved, where the search failed without the contacts that stay open, and where the ladder has
 * failed on the same problem with its push: they are then the first. Where contacts have come back because Newton from
 * the previous step led nowhere it is not tried again: of 220 times it would fail in 216. */
void tg_solver_newton(tg_soft *p, const tg_solve_options *o)
{
    const stage near = {soft, TG_ENDED_SOFT}, down = {ladder, TG_ENDED_LADDER},
                rounds = {multipliers, TG_ENDED_MULTIPLIERS}, end = {NULL, TG_ENDED_NONE};
    const stage all[] = {near, down, rounds, end}, quick[] = {near, down, end}, sooner[] = {near, rounds, down, end};
    bool easier = o->relaxable || o->droppable;    /* an easier problem can take the place of this one */
    bool again = p->whole || p->swept || o->steep; /* what comes first has failed */
    const stage *list = easier || p->partial ? quick : p->whole || p->narrow || o->steep ? sooner : all;
    begin(p, o);
    if (begins_refined(p, o))
        return;
    begin(p, o);
    for (const stage *k = list + again;
         k->run != NULL && p->factorisations < p->limit && p->offer.residual > o->tolerance; k++)
        if (!k->run(p, o) && !p->again)
            tg_soft_offer(p, TG_SELECT_UNSELECTED, k->name);
        else if (p->again || ends(p, o, k->name))
            return;
}

void tg_solver_interior(tg_soft *p, const tg_solve_options *o)
{
    begin(p, o);
    bool solved = path(p, o);
    tg_soft_offer(p, TG_SELECT_UNSELECTED, TG_ENDED_PATH);
    if (solved)
        ends(p, o, TG_ENDED_PATH);
}
