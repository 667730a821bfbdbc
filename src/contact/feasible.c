/* Whether held rows contradict each other so that a problem has no solution (Farkas), or hardly one.
 *
 * Every solution has sigma_N >= 0 at contacts and limits and sigma = 0 at equalities, whatever friction does. With y >= 0 on normals, any sign on
 * equalities, zero on all other rows, and G y = 0,
 *     y . sigma = y . g + (G y) . L = y . g
 * for all impulses L: where y . g < 0 there is no solution. Such a y is -Z Z^T g_A (held.c) of a set A of equalities and normals in which no normal has the
 * wrong sign; those that have leave it, one by one. Overlaps that are pushed out against each other, or against a loop, are found in this way.
 *
 * A body that friction wedges in is not: there y is in the cones of contacts, tangents included. Then y . sigma = y . g < 0 says that one of them slips, against
 * which its friction pushes on; mostly, but not always, no impulse does it, and paths of the interior point go to infinity along y. */
#include <math.h>
#include <string.h>

#include "contact/solver.h"
#include "math/lanes.h"

enum
{
    MOST_DROPPED = 24
};

static const double nothing = 1e-12;    /* of |y|: rounding */
static const double most_impulse = 1e4; /* of what the largest free velocity asks of a row alone */
static const double proves = 0.5;       /* of -y . g: more than rounding of (G y) . L */

/* Holds equalities and what blocks that do not break hold, of contacts only the normals unless `friction`; joints with friction give way. */
static void hold(tg_solve_work *w, bool friction)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        tg_cone_kind kind = w->cones.block[b].kind;
        if (kind == TG_CONE_FREE)
            w->state[b].phase = TG_PHASE_STICK;
        else if (kind == TG_CONE_BOX || (w->state[b].phase == TG_PHASE_STICK && !friction))
            w->state[b].phase = TG_PHASE_SLIDE;
    }
}

/* how far y = -Z Z^T g_A is outside of the cone of a block; its normal part */
static double outside(const tg_solve_work *w, int b, double *normal)
{
    const tg_cone *cone = &w->cones.block[b];
    const int *at = w->held.at + cone->row;
    double square = 0;
    *normal = -w->held.gap[at[0]];
    for (int i = 1; w->state[b].phase == TG_PHASE_STICK && i < cone->dim; i++)
    {
        double tangent = w->held.gap[at[i]] / w->cones.scale[cone->row + i];
        square += tangent * tangent;
    }
    return sqrt(square) - *normal;
}

/* The block that is farthest outside of its cone no longer holds its tangents, or not at all; false when all are inside. */
static bool drop_worst(tg_solve_work *w)
{
    int worst = -1;
    double most = nothing * w->held.inconsistency, normal = 0, normal_of_worst = 0;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        double here = cone->kind == TG_CONE_UNIT && w->held.at[cone->row] >= 0 ? outside(w, b, &normal) : 0;
        if (!(here > most))
            continue;
        most = here;
        worst = b;
        normal_of_worst = normal;
    }
    if (worst < 0)
        return false;
    bool slides = w->state[worst].phase == TG_PHASE_STICK && normal_of_worst > 0;
    w->state[worst].phase = slides ? TG_PHASE_SLIDE : TG_PHASE_BREAK;
    return true;
}

/* y . g < 0, and G y is so near zero that no impulse of any size that is met makes up for it */
static bool is_proof(tg_solve_work *w)
{
    const tg_cones *cones = &w->cones;
    double *y = w->rhs, work = 0, rounding = 0;
    memset(y, 0, (size_t)cones->ld * sizeof *y);
    for (int i = 0; i < w->held.count; i++)
        if (fabs(w->held.gap[i]) > nothing * w->held.inconsistency)
            y[w->held.row[i]] = -w->held.gap[i] / cones->scale[w->held.row[i]];
    for (int i = 0; i < cones->rows; i++)
    {
        const double *row = cones->G + (size_t)i * (size_t)cones->ld;
        work += y[i] * cones->g[i];
        rounding += row[i] > 0 ? fabs(v4_dot_of(cones->rows, row, y)) * most_impulse * cones->velocity / row[i] : 0;
    }
    return rounding < -proves * work;
}

static bool contradicts(tg_solve_work *w, bool friction)
{
    hold(w, friction);
    for (int k = 0; k < MOST_DROPPED; k++)
    {
        tg_held_build(w);
        if (w->held.rank == w->held.count || !(w->held.inconsistency > w->options->tolerance))
            return false;
        if (!drop_worst(w))
            return is_proof(w);
    }
    return false;
}

bool tg_solve_infeasible(tg_solve_work *w)
{
    return contradicts(w, false);
}

bool tg_solve_jammed(tg_solve_work *w)
{
    return contradicts(w, true);
}
