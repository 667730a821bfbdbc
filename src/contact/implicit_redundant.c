/* The derivative of an island whose held rows are redundant (held.c, limit.c): B and C are formed. Where nothing slides
 * and only the motion is wanted, any impulses with the same J^T dL will do, and the smallest ones are dL_R = -Q^T (Q
 * G_RR Q^T)^-1 Q w_R. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

/* ---- memory ---- */

typedef struct scratch
{
    tg_solve_work w;
    double *d, *E, *K;
} scratch;

bool tg_redundant_take_kept(tg_implicit *f, int rows, tg_arena *arena)
{
    size_t n = (size_t)rows;
    f->range = TG_TAKE(arena, double, n *n, "implicit: range of held rows");
    f->square = TG_TAKE(arena, double, n, "implicit: squares");
    f->B = TG_TAKE(arena, double, n *n, "implicit: equations");
    f->C = TG_TAKE(arena, double, n *n, "implicit: impulses of unknowns");
    f->turn = TG_TAKE(arena, double, n *n, "implicit: responses");
    return !arena->failed;
}

static bool take_scratch(scratch *s, int rows, tg_arena *arena)
{
    size_t n = (size_t)rows, ld = (size_t)v4_pad(rows);
    tg_solve_work_take(&s->w, rows, arena);
    s->d = TG_TAKE(arena, double, n, "implicit: coordinates");
    s->E = TG_TAKE(arena, double, n *ld, "implicit: derivatives in the range");
    s->K = TG_TAKE(arena, double, n *ld, "implicit: derivatives of responses");
    return !arena->failed;
}

bool tg_redundant_take(tg_implicit *f, int rows, tg_arena *arena)
{
    scratch s;
    return tg_redundant_take_kept(f, rows, arena) && take_scratch(&s, rows, arena);
}

/* ---- phases ---- */

static double slip_of(const tg_solve_work *w, const tg_cone *cone)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (w->s[i] / w->cones.scale[i]) * (w->s[i] / w->cones.scale[i]);
    return sqrt(sum);
}

/* closed without force, or on the cone without slip: what moves is not held; open: nor what opens, however slowly */
static tg_phase phase_of(const tg_solve_work *w, const tg_cone *cone, const tg_block_mode *mode, bool open)
{
    if (cone->kind == TG_CONE_FREE)
        return TG_PHASE_STICK;
    if (mode->mode == TG_MODE_BREAKING)
        return TG_PHASE_BREAK;
    if (mode->mode == TG_MODE_SLIDING)
        return TG_PHASE_SLIDE;
    if (open && cone->kind == TG_CONE_UNIT && mode->immaterial && !(w->x[cone->row] > 0) &&
        w->s[cone->row] > TG_OPENING)
        return TG_PHASE_BREAK;
    bool strict = !mode->immaterial && mode->margin > 0;
    return cone->kind == TG_CONE_UNIT && !strict && slip_of(w, cone) >= TG_NO_SLIP ? TG_PHASE_SLIDE : TG_PHASE_STICK;
}

/* what opens is not held beside loops, which may hold by smaller levers, and where `open` says so */
static void set_phases(tg_solve_work *w, const tg_block_mode *mode, bool open, bool *slides)
{
    const tg_block *block = w->island->block;
    for (int b = 0; b < w->island->blocks; b++)
    {
        slides[b] = mode[b].mode == TG_MODE_SLIDING;
        open = open || block[b].kind == TG_BLOCK_EQUALITY;
    }
    for (int c = 0; c < w->cones.blocks; c++)
    {
        const tg_cone *cone = &w->cones.block[c];
        tg_cone_state *state = &w->state[c];
        *state = (tg_cone_state){.phase = phase_of(w, cone, &mode[cone->of], open)};
        slides[cone->of] = state->phase == TG_PHASE_SLIDE;
        if (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_BOX)
            state->direction[0] = w->x[cone->row] > 0 ? 1 : -1;
        else if (state->phase == TG_PHASE_SLIDE)
            tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    }
}

static void gather_solution(tg_solve_work *w, const double *L, const double *sigma)
{
    tg_cones_gather(&w->cones, L, w->x);
    for (int i = 0; i < w->cones.rows; i++)
        w->s[i] = w->cones.scale[i] * sigma[w->cones.source[i]];
}

void tg_redundant_phases(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w, bool *slides)
{
    tg_cones_build(&w->cones, f->island, NULL);
    gather_solution(w, f->L, f->sigma);
    set_phases(w, mode, false, slides);
}

/* ---- equations ---- */

typedef struct builder
{
    tg_implicit *f;
    tg_solve_work *w;
    double *d, *E, *K;
    int n;         /* rows of the island */
    double *extra; /* diagonal of the last equations */
} builder;

/* the impulses of a row of changes dx of held rows, tangents of sliding contacts included */
static void impulses_of(const builder *p, const double *dx, double *out)
{
    const tg_solve_work *w = p->w;
    for (int i = 0; i < w->held.count; i++)
        out[w->cones.source[w->held.row[i]]] = dx[i] * w->cones.scale[w->held.row[i]];
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        for (int i = 1; w->state[b].phase == TG_PHASE_SLIDE && i < cone->dim; i++)
            out[w->cones.source[cone->row + i]] =
                w->cones.scale[cone->row + i] * w->state[b].direction[i - 1] * dx[w->held.at[cone->row]];
    }
}

/* equation and unknown k, empty */
static void clear_equation(builder *p, int k, double **B, double **C)
{
    *B = p->f->B + (size_t)k * (size_t)p->n;
    *C = p->f->C + (size_t)k * (size_t)p->n;
    memset(*B, 0, (size_t)p->n * sizeof **B);
    memset(*C, 0, (size_t)p->n * sizeof **C);
    p->extra[k] = 0;
}

static void held_equations(builder *p)
{
    const tg_held *held = &p->w->held;
    tg_implicit *f = p->f;
    double *B, *C;
    for (int k = 0; k < held->rank; k++)
    {
        clear_equation(p, k, &B, &C);
        for (int i = 0; i < held->count; i++)
            B[f->row[i]] = f->range[(size_t)k * (size_t)held->count + (size_t)i];
        impulses_of(p, p->E + (size_t)k * (size_t)p->w->cones.ld, C);
    }
    f->unknowns = held->rank;
}

/* the same where no row is redundant */
static void independent_equations(builder *p)
{
    const tg_held *held = &p->w->held;
    double *B, *C, *unit = p->E;
    memset(unit, 0, (size_t)held->count * sizeof *unit);
    for (int k = 0; k < held->count; k++)
    {
        clear_equation(p, k, &B, &C);
        B[p->f->row[k]] = 1;
        unit[k] = 1 / p->w->cones.scale[held->row[k]];
        impulses_of(p, unit, C);
        unit[k] = 0;
    }
    p->f->unknowns = held->count;
}

/* t_j of one sliding contact */
static void across_equations(builder *p, const tg_cone *cone, const tg_cone_state *state)
{
    int m = cone->dim - 1;
    const int *source = p->w->cones.source + cone->row + 1;
    const double *scale = p->w->cones.scale + cone->row + 1;
    double R[(TG_CONE_MAX - 1) * (TG_CONE_MAX - 1)];
    tg_cone_frame(m, state->direction, R);
    for (int j = 1; j < m; j++)
    {
        int k = p->f->unknowns++;
        double *B, *C;
        clear_equation(p, k, &B, &C);
        for (int i = 0; i < m; i++)
        {
            C[source[i]] = scale[i] * R[m * i + j];
            B[source[i]] = state->ratio * C[source[i]];
        }
        p->extra[k] = (1 - state->ratio) / cone->rho_t;
    }
}

/* by elimination; false when it is singular, or nearly */
static bool factor(builder *p)
{
    tg_implicit *f = p->f;
    tg_implicit_matrix(f, p->extra, p->w->range);
    return tg_implicit_eliminate(f, tg_good_pivot(f));
}

/* whether a response is outside of its cone */
static bool equations(builder *p, double slope)
{
    tg_solve_work *w = p->w;
    bool redundant = w->held.rank < w->held.count;
    bool outside = redundant && tg_limit_derivative(w, slope, p->d, p->E, p->K);
    if (redundant)
        held_equations(p);
    else
        independent_equations(p);
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->state[b].phase == TG_PHASE_SLIDE && w->cones.block[b].dim > 1)
            across_equations(p, &w->cones.block[b], &w->state[b]);
    return outside;
}

/* rows of the island, Q */
static void list_held(builder *p)
{
    const tg_held *held = &p->w->held;
    const tg_cones *cones = &p->w->cones;
    tg_implicit *f = p->f;
    f->held = held->count;
    f->rank = held->rank;
    for (int i = 0; i < f->held; i++)
        f->row[i] = cones->source[held->row[i]];
    for (int k = 0; k < held->rank && (held->rank < held->count || held->small); k++)
        for (int i = 0; i < held->count; i++)
            f->range[(size_t)k * (size_t)held->count + (size_t)i] =
                held->range[(size_t)k * (size_t)cones->ld + (size_t)i] * cones->scale[held->row[i]];
}

/* what follows from a change of z, and y with G_RR y = z: y = Q^T (C^T L^-2 C)^-1 d */
static void turn_and_spread(builder *p)
{
    const tg_held *held = &p->w->held;
    tg_implicit *f = p->f;
    memset(f->spread, 0, (size_t)p->n * sizeof *f->spread);
    for (int i = 0; i < held->count; i++)
    {
        double *turn = f->turn + (size_t)i * (size_t)p->n;
        memset(turn, 0, (size_t)p->n * sizeof *turn);
        impulses_of(p, p->K + (size_t)i * (size_t)p->w->cones.ld, turn);
    }
    tg_held_precondition(&p->w->cones, held, 1, p->d, 1);
    tg_trsm(TG_TRI_LOWER, held->rank, held->chol, p->w->cones.ld, 1, p->d, 1);
    double *y = p->w->rhs;
    tg_gemm_nn(1, held->count, held->rank, p->d, held->rank, f->range, held->count, TG_GEMM_SET, y, held->count);
    for (int i = 0; i < held->count; i++)
        f->spread[f->row[i]] = y[i];
}

/* ---- forms ---- */

static bool anything_slides(const tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->state[b].phase == TG_PHASE_SLIDE && w->cones.block[b].kind == TG_CONE_UNIT && w->cones.block[b].dim > 1)
            return true;
    return false;
}

/* Q and the factors of Q G_RR Q^T = C^T L^-2 C */
static void build_held(builder *p)
{
    const tg_held *held = &p->w->held;
    tg_implicit *f = p->f;
    double largest = 0, smallest = INFINITY;
    list_held(p);
    f->form = TG_IMPLICIT_HELD;
    f->turns = false;
    f->unknowns = held->rank;
    for (int k = 0; k < held->rank; k++)
    {
        const double *from = held->chol + (size_t)k * (size_t)p->w->cones.ld;
        memcpy(f->A + (size_t)k * (size_t)held->rank, from, (size_t)(k + 1) * sizeof *f->A);
        f->square[k] = held->square[k];
        double size = from[k] * from[k] / held->square[k];
        largest = tg_larger(size, largest);
        smallest = tg_smaller(size, smallest);
    }
    f->condition = held->rank > 0 ? largest / smallest : 1;
    memset(f->spread, 0, (size_t)p->n * sizeof *f->spread);
}

/* By elimination. A contact on its cone may leave impulses hardly any freedom: that is not for the unknowns to make up
 * for. */
static bool build_redundant(builder *p)
{
    tg_implicit *f = p->f;
    list_held(p);
    f->form = TG_IMPLICIT_REDUNDANT;
    f->turns = true;
    f->condition = INFINITY;
    if (equations(p, 0) && !(tg_orthonormal_rows(f->rank, p->n, f->C, f->work + 2 * p->n) > tg_good_pivot(f)))
        return false;
    if (!factor(p))
        return false;
    turn_and_spread(p);
    return true;
}

/* Any rows, where elimination is not accurate. all: nothing is wanted where that does not determine all unknowns. */
static bool build_orthogonal(builder *p, double slope, double worst, bool all)
{
    tg_implicit *f = p->f;
    list_held(p);
    f->form = TG_IMPLICIT_REDUNDANT;
    f->turns = f->rank < f->held;
    tg_cones_gather(&p->w->cones, f->L, p->w->x);
    equations(p, slope);
    bool determined = tg_orthogonal_factor(f, worst, all, p->extra, p->w->active, p->w->range);
    if (all && !determined)
        return false;
    if (f->turns)
        turn_and_spread(p);
    else
        memset(f->spread, 0, (size_t)p->n * sizeof *f->spread);
    return determined;
}

/* v+ alone is wanted, and does not depend on which impulses hold */
static bool holds_alone(const tg_solve_work *w, tg_implicit_use use)
{
    return (w->held.rank < w->held.count || w->held.small) && use == TG_IMPLICIT_MOTION && !anything_slides(w);
}

static bool is_resolved(const tg_solve_work *w)
{
    return w->held.small && w->levers != NULL;
}

static bool build_form(builder *p, const tg_block_mode *mode, tg_implicit_use use, double worst)
{
    tg_solve_work *w = p->w;
    if (holds_alone(w, use))
    {
        build_held(p);
        return tg_held_smallest_pivot(w) > (is_resolved(w) && worst < TG_SOFT ? TG_LEAST_LEVER : worst);
    }
    bool independent = w->held.rank == w->held.count;
    return (independent ? tg_independent_build(p->f, mode) : build_redundant(p)) || build_orthogonal(p, 0, worst, true);
}

/* The equations do not determine the derivative: what they hardly say is left out. */
static void build_regularised(builder *p, tg_implicit_use use)
{
    tg_held_build_to(p->w, TG_SOFT);
    if (holds_alone(p->w, use))
        build_held(p);
    else
        build_orthogonal(p, TG_SOFT, TG_SOFT, false);
}

/* Whether contacts without load open, however slowly, that the phases hold. */
static bool any_opens(const tg_solve_work *w, const tg_block_mode *mode)
{
    for (int c = 0; c < w->cones.blocks; c++)
        if (w->state[c].phase != phase_of(w, &w->cones.block[c], &mode[w->cones.block[c].of], true))
            return true;
    return false;
}

/* Held rows contradict each other where contacts without load open, however slowly, and other rows were judged to hold
 * the same: by levers that G does not resolve these contacts are not held. True when the others agree. */
static bool open_phases(builder *p, const tg_block_mode *mode)
{
    set_phases(p->w, mode, true, p->f->slides);
    tg_held_build(p->w);
    return p->w->held.inconsistency < TG_CONSISTENT;
}

/* Which impulses hold makes no difference to the motion, unless redundant rows slide: only then it matters that a rule
 * has selected them. Where it has not, and at a change of mode, the derivative is a choice, and one that is hardly
 * determined is none. */
static bool build(builder *p, const tg_block_mode *mode, tg_redundant_request asked)
{
    const tg_implicit_use use = asked.use;
    tg_solve_work *w = p->w;
    tg_implicit *f = p->f;
    tg_redundant_phases(f, mode, w, f->slides);
    tg_held_build(w);
    f->conflict = w->held.inconsistency;
    bool disagrees = f->conflict >= TG_CONSISTENT, opens = disagrees && any_opens(w, mode);
    bool contradicts = disagrees && !(opens && open_phases(p, mode));
    bool at_change = f->margin < TG_OPENING || contradicts || f->yields;
    if (contradicts && opens)
    {
        set_phases(w, mode, false, f->slides);
        tg_held_build(w);
    }
    bool determined = build_form(p, mode, use, at_change ? TG_SOFT : TG_WORST_PIVOT);
    /* What is held by small levers is held in the step, too, if it was selected: the derivative says so as well as
     * rounding lets it. */
    bool held = f->form == TG_IMPLICIT_HELD && w->held.small && !at_change;
    bool chosen = asked.selected || !(f->turns || w->held.small);
    if (asked.attempt && !(determined && chosen))
        return false;
    if ((!determined && !held) || (!chosen && f->condition > 1 / TG_SOFT))
        build_regularised(p, use);
    return determined && chosen;
}

bool tg_redundant_build(tg_implicit *f, const tg_block_mode *mode, tg_redundant_request asked, tg_arena *arena,
                        bool *regular)
{
    scratch s = {0};
    s.w = (tg_solve_work){.island = f->island};
    bool fits = tg_redundant_take_kept(f, f->island->rows, arena);
    size_t kept = tg_arena_mark(arena);
    if (!fits || !take_scratch(&s, f->island->rows, arena))
        return false;
    tg_held_levers_take(&s.w, arena);
    builder p = {.f = f, .w = &s.w, .d = s.d, .E = s.E, .K = s.K, .n = f->island->rows, .extra = f->work};
    *regular = build(&p, mode, asked);
    if (*regular || !asked.attempt)
        tg_find_braces(f, &s.w);
    tg_arena_release(arena, kept);
    return true;
}
