/* Rows that hold against each other: redundant ones between different bodies, such as a loop whose joints friction holds, two boxes that are welded together
 * and lie on a floor, a brick on two others.
 *
 * Redundant rows, J_R^T Z = 0, agree at the solution: Z^T (J_R v+ + b_R) = 0. Where a derivative is to exist they must go on agreeing as bodies are displaced:
 * d/dq of Z^T (J v+ + b) at fixed v+ is zero. Contacts between two rigid bodies do (a patch stays one), and so do equalities, which were made consistent
 * (consistent.c). Between other rows it is a matter of geometry: where they do not, one of them opens or slips, and which one depends on the side.
 * Here is found whether there are such rows, and a random combination of Z, by which the step (src/step/brace.c) asks. Contacts that are immaterial count; dry
 * friction at its bound does not: where it begins to slip, one way or the other, those that hold it bear what it bore. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

static const uint64_t equalities = UINT64_MAX; /* one group */

/* ---- groups ---- */

/* what a cone's rows belong to; 0: a group of their own */
static uint64_t group_of(const tg_solve_work *w, const tg_cone *cone, int *b)
{
    const tg_block *block = w->island->block;
    while (w->cones.source[cone->row] >= block[*b].row + block[*b].rows)
        ++*b;
    return block[*b].kind == TG_BLOCK_EQUALITY ? equalities : block[*b].pair;
}

/* how many held rows of a group are redundant by themselves; phase: of all cones */
static int own_redundancy(tg_solve_work *w, const tg_phase *phase, uint64_t group)
{
    for (int c = 0, b = 0; c < w->cones.blocks; c++)
        w->state[c].phase = group_of(w, &w->cones.block[c], &b) == group ? phase[c] : TG_PHASE_BREAK;
    int rank = tg_held_rank(w);
    return w->held.count - rank;
}

static bool is_held(const tg_cone *cone, tg_phase phase)
{
    return phase == TG_PHASE_STICK || (phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT);
}

/* the same of all groups; group: scratch of a number a cone */
static int redundancy_within(tg_solve_work *w, const tg_phase *phase, uint64_t *group)
{
    int sum = 0;
    for (int c = 0, b = 0; c < w->cones.blocks; c++)
        group[c] = is_held(&w->cones.block[c], phase[c]) ? group_of(w, &w->cones.block[c], &b) : 0;
    for (int c = 0; c < w->cones.blocks; c++)
    {
        bool first = group[c] != 0;
        for (int k = 0; k < c && first; k++)
            first = group[k] != group[c];
        sum += first ? own_redundancy(w, phase, group[c]) : 0;
    }
    return sum;
}

/* ---- impulses that do nothing ---- */

/* a vector of numbers between -1 and 1 without its part in the range of the held rows, of length 1 */
static void null_vector(tg_solve_work *w, double *z)
{
    const tg_held *held = &w->held;
    int n = held->count, ld = w->cones.ld;
    double *x = w->rhs, *part = w->held.part;
    uint64_t seed = 1;
    for (int i = 0; i < n; i++)
    {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        x[i] = (double)(seed >> 11) / 4503599627370496.0 - 1;
    }
    for (int k = 0; k < held->rank; k++)
        for (int i = 0; i < n; i++)
            held->range[(size_t)k * (size_t)ld + (size_t)i] *= w->cones.scale[held->row[i]];
    for (int round = 0; round < 2; round++)
    {
        tg_gemm_nt(held->rank, 1, n, held->range, ld, x, n, TG_GEMM_SET, part, 1);
        tg_gemm_nn(1, n, held->rank, part, held->rank, held->range, ld, TG_GEMM_SUB, x, n);
    }
    double inverse = 1 / sqrt(v4_dot_of(n, x, x));
    for (int i = 0; i < n; i++)
        z[w->cones.source[held->row[i]]] = x[i] * inverse;
}

void tg_find_braces(tg_implicit *f, tg_solve_work *w)
{
    int redundant = w->held.count - w->held.rank;
    f->braced = false;
    if (redundant == 0)
        return;
    memset(f->brace, 0, (size_t)f->island->rows * sizeof *f->brace);
    null_vector(w, f->brace);
    tg_phase *phase = (tg_phase *)w->active;
    for (int c = 0; c < w->cones.blocks; c++)
        phase[c] = w->state[c].phase;
    f->braced = redundant > redundancy_within(w, phase, (uint64_t *)w->best);
}
