/* Which of several solutions is returned: the limit eps -> 0 of the solution with compliance eps (G + eps I in place of
 * G), without eps.
 *
 * R: the rows held at zero (normals of closed contacts, all rows of sticking ones, active limits, equalities, joints
 * that friction holds); Z: an orthonormal basis of the null space of G_RR (impulses, not scaled), so that Z^T J_R = 0.
 * A compliant solution has sigma_R + eps L_R = 0 with sigma_R = J_R v+ + b_R, hence eps Z^T L_R = -Z^T b_R: with
 * consistent b_R, Z^T L_R = 0 for every eps. So the equations are
 *     Q Q^T sigma_R + tau Z Z^T L_R = 0,    Q Q^T = I - Z Z^T,    tau = mean G_ii,
 * with matrix G_RR + tau Z Z^T: well conditioned and exact. Q, an orthonormal basis of the range, comes from a pivoted
 * Cholesky factorisation; Z itself is never formed.
 *
 * Where cones forbid Z^T L_R = 0 some contacts of the compliant solution creep on their cones by O(eps), or lift by
 * O(eps). The compliant problem is then solved for eps = 1e-8 mean G_ii; it says which contacts these are and in which
 * direction they press, and the equations above are solved once more with these facts kept: creeping contacts lose
 * their tangents from R and keep x_T = x_N e, lifted ones break. sigma stays exact: the strictly held rows determine
 * it. */
#include <math.h>
#include <string.h>

#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

enum
{
    HOLD_STEPS = 8,
    POLISH_STEPS = 5,
    COMPLIANT_STEPS = 10
};

static const double rank_threshold = 1e-10;      /* of the largest pivot, rows normalised */
static const double consistent = 1e-9;           /* m/s: |Z^T b_R| below is rounding */
static const double no_slip = 1e-7;              /* m/s */
static const double compliance = 1e-8;           /* of mean G_ii */
static const double compliant_velocity = 1e-9;   /* m/s: eps |L| at most */
static const double stands_still = 1e-6;         /* of the largest x: rounding divided by eps is 1e-8 of it */
static const double near = 1e-5;                 /* of the largest |g|: phases can be trusted */
static const double on_boundary = 1e-9;          /* relative: how far outside of its cone a held contact may be */

/* ---- held rows and their range ---- */

static void add_held_rows(tg_held *held, int row, int count)
{
    for (int i = 0; i < count; i++)
        held->row[held->count++] = row + i;
}

static void list_held(tg_solve_work *w)
{
    w->held.count = 0;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (w->state[b].phase == TG_PHASE_STICK)
            add_held_rows(&w->held, cone->row, cone->dim);
        else if (w->state[b].phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT)
            add_held_rows(&w->held, cone->row, 1);
    }
}

static double diagonal(const tg_cones *cones, int row)
{
    return cones->G[(size_t)row * (size_t)(cones->ld + 1)];
}

/* Pivoted Cholesky of D G_RR D, D = diag(G_RR)^-1/2: the columns, one a row of basis. Returns the rank. */
static int pivoted_cholesky(const tg_cones *cones, tg_held *held, double *left, double *size)
{
    int n = held->count, ld = cones->ld, rank = 0;
    for (int i = 0; i < n; i++)
    {
        size[i] = 1 / sqrt(diagonal(cones, held->row[i]));
        left[i] = 1;
    }
    for (; rank < n; rank++)
    {
        int p = 0;
        for (int i = 1; i < n; i++)
            p = left[i] > left[p] ? i : p;
        if (!(left[p] > rank_threshold))
            break;
        double *column = held->basis + (size_t)rank * (size_t)ld;
        const double *row = cones->G + (size_t)held->row[p] * (size_t)ld;
        for (int i = 0; i < n; i++)
            column[i] = row[held->row[i]] * size[i] * size[p];
        for (int j = 0; j < rank; j++)
        {
            const double *before = held->basis + (size_t)j * (size_t)ld;
            v4_subtract_scaled(n, before[p], before, column);
        }
        double inverse = 1 / sqrt(left[p]);
        for (int i = 0; i < n; i++)
        {
            column[i] *= inverse;
            left[i] -= column[i] * column[i];
        }
        left[p] = 0;
    }
    return rank;
}

/* Rows of basis, columns of the factor of D G D, become an orthonormal basis of the range of G_RR: times D^-1 S^-1, then
 * Gram-Schmidt, twice. */
static void orthonormalise(const tg_cones *cones, tg_held *held, const double *size)
{
    int n = held->count, ld = cones->ld;
    for (int k = 0; k < held->rank; k++)
    {
        double *q = held->basis + (size_t)k * (size_t)ld;
        for (int i = 0; i < n; i++)
            q[i] /= size[i] * cones->scale[held->row[i]];
        for (int pass = 0; pass < 2; pass++)
            for (int j = 0; j < k; j++)
            {
                const double *before = held->basis + (size_t)j * (size_t)ld;
                v4_subtract_scaled(n, v4_dot_of(n, before, q), before, q);
            }
        double inverse = 1 / sqrt(v4_dot_of(n, q, q));
        for (int i = 0; i < n; i++)
            q[i] *= inverse;
    }
}

/* Z Z^T = I - Q Q^T and |Z^T g_R| */
static void null_projector(const tg_cones *cones, tg_held *held)
{
    int n = held->count, ld = cones->ld;
    double sum = 0;
    tg_syrk_t(n, held->rank, held->basis, ld, TG_GEMM_SET, held->null, ld);
    for (int i = 0; i < n; i++)
    {
        double *row = held->null + (size_t)i * (size_t)ld, part = 0;
        for (int j = 0; j < n; j++)
            row[j] = (i == j ? 1 : 0) - row[j];
        for (int j = 0; j < n; j++)
            part += row[j] * cones->g[held->row[j]] / cones->scale[held->row[j]];
        sum += part * part;
        held->target[i] = 0;
    }
    held->inconsistency = sqrt(sum);
}

static double mean_diagonal(const tg_cones *cones)
{
    double trace = 0;
    for (int i = 0; i < cones->rows; i++)
        trace += diagonal(cones, i) / (cones->scale[i] * cones->scale[i]);
    return cones->rows > 0 ? trace / cones->rows : 0;
}

void tg_held_build(tg_solve_work *w)
{
    tg_held *held = &w->held;
    list_held(w);
    held->inconsistency = 0;
    held->rank = pivoted_cholesky(&w->cones, held, w->rhs, held->target);
    if (held->rank == held->count)
        return;
    orthonormalise(&w->cones, held, held->target);
    null_projector(&w->cones, held);
    held->stiffness = mean_diagonal(&w->cones);
}

/* ---- phases that are kept ---- */

static double slip(const tg_cones *cones, const tg_cone *cone, const double *s)
{
    double sum = 0;
    for (int i = cone->row + 1; i < cone->row + cone->dim; i++)
        sum += (s[i] / cones->scale[i]) * (s[i] / cones->scale[i]);
    return sqrt(sum);
}

/* Contacts on their cones without slip count as sticking, contacts that are closed without force as held. False when
 * that was tried before and the cone forbids it. */
static bool hold_immaterial(tg_solve_work *w, bool *changed)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        tg_cone_state *state = &w->state[b];
        bool still = slip(&w->cones, cone, w->s) < no_slip;
        bool lifted = state->phase == TG_PHASE_BREAK && w->s[cone->row] < no_slip;
        bool creeps = state->phase == TG_PHASE_SLIDE && still;
        if (cone->kind != TG_CONE_UNIT || !(lifted || creeps))
            continue;
        if (state->was_held)
            return false;
        state->phase = still ? TG_PHASE_STICK : TG_PHASE_SLIDE;
        state->was_held = *changed = true;
        tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    }
    return true;
}

/* does the solution obey the inequalities that its phases leave open? */
static bool phase_holds(const tg_solve_work *w, const tg_cone *cone, const tg_cone_state *state)
{
    const double *x = w->x + cone->row, *s = w->s + cone->row;
    double small = on_boundary * cone->rho_n * w->cones.velocity;
    if (cone->kind == TG_CONE_FREE)
        return true;
    if (cone->kind == TG_CONE_BOX)
        return state->phase == TG_PHASE_STICK ? fabs(x[0]) <= cone->bound * (1 + on_boundary)
                                              : s[0] * state->direction[0] <= w->options->inner;
    if (state->phase == TG_PHASE_BREAK)
        return s[0] >= -w->options->inner;
    if (state->phase == TG_PHASE_STICK)
        return x[0] >= -small && tg_cone_tangent(cone->dim, x) <= x[0] * (1 + on_boundary) + small;
    double along = 0;
    for (int i = 1; i < cone->dim; i++)
        along += x[i] * s[i];
    return x[0] >= -small && (state->fixed || along <= 0);
}

/* New phases where the old ones do not hold; directions of contacts that slide on. */
static void update_phases(tg_solve_work *w, bool *changed)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        tg_cone_state *state = &w->state[b];
        if (!phase_holds(w, cone, state))
        {
            state->was_held = state->was_held || (state->phase == TG_PHASE_STICK && cone->kind == TG_CONE_UNIT);
            tg_newton_classify_block(cone, w->x, w->s, state);
            *changed = true;
        }
        else if (state->phase == TG_PHASE_SLIDE && cone->dim > 1)
            tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, state);
    }
}

/* 1e-12 m/s, or what rounding leaves of the largest term */
static double aim(const tg_solve_work *w)
{
    double largest = 0;
    for (int i = 0; i < w->cones.rows; i++)
        largest = fmax(largest, diagonal(&w->cones, i) * fabs(w->x[i]) / w->cones.scale[i]);
    return fmax(w->options->inner, 1e-15 * largest * w->cones.rows);
}

static void update_directions(tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (w->state[b].phase == TG_PHASE_SLIDE && !w->state[b].fixed && cone->dim > 1)
            tg_newton_direction(cone, w->x + cone->row, w->s + cone->row, &w->state[b]);
    }
}

/* One more step with the factors of the last one: Newton is quadratic, so it ends in rounding. */
static void refine(tg_solve_work *w)
{
    double before = tg_newton_violation(w);
    memcpy(w->best, w->x, (size_t)w->cones.rows * sizeof *w->best);
    tg_newton_chord(w, &w->held);
    if (tg_newton_violation(w) <= before)
        return;
    memcpy(w->x, w->best, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
}

/* Newton steps with phases kept, directions of sliding contacts updated; true when the equations hold */
static bool polish(tg_solve_work *w)
{
    for (int k = 0; k < POLISH_STEPS; k++)
    {
        if (!(tg_newton_step(w, 0, &w->held) < INFINITY))
            return false;
        update_directions(w);
        if (tg_newton_violation(w) > aim(w) + w->held.inconsistency)
            continue;
        refine(w);
        return true;
    }
    return false;
}

static void clear_marks(tg_solve_work *w)
{
    for (int b = 0; b < w->cones.blocks; b++)
        w->state[b].fixed = w->state[b].was_held = false;
}

/* Newton on the equations with Z^T L_R = 0, phases as the solution has them and changed where they do not hold */
static bool select_projected(tg_solve_work *w)
{
    bool changed = true;
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
    clear_marks(w);
    hold_immaterial(w, &changed);
    for (int k = 0; k < HOLD_STEPS; k++)
    {
        if (changed)
            tg_held_build(w);
        if (w->held.inconsistency >= consistent || !(tg_newton_step(w, 0, &w->held) < INFINITY))
            return false;
        changed = false;
        update_phases(w, &changed);
        if (!hold_immaterial(w, &changed))
            return false;
        if (changed || tg_newton_violation(w) > aim(w) + w->held.inconsistency)
            continue;
        refine(w);
        return true;
    }
    return false;
}

/* ---- the compliant problem ---- */

/* G + eps I, and b_R made consistent when it is up to rounding; what they were goes to w->saved */
static void make_compliant(tg_solve_work *w, double eps)
{
    tg_cones *cones = &w->cones;
    const tg_held *held = &w->held;
    size_t ld = (size_t)cones->ld;
    for (int i = 0; i < cones->rows; i++)
    {
        w->saved[i] = diagonal(cones, i);
        cones->G[(size_t)i * (ld + 1)] += eps * cones->scale[i] * cones->scale[i];
    }
    memcpy(w->saved + ld, cones->g, (size_t)cones->rows * sizeof *cones->g);
    if (held->rank == held->count || held->inconsistency >= consistent)
        return;
    for (int i = 0; i < held->count; i++)
        for (int j = 0; j < held->count; j++)
            cones->g[held->row[i]] -= cones->scale[held->row[i]] * held->null[(size_t)i * ld + (size_t)j] *
                                      w->saved[ld + (size_t)held->row[j]] / cones->scale[held->row[j]];
}

static void make_rigid(tg_solve_work *w)
{
    tg_cones *cones = &w->cones;
    for (int i = 0; i < cones->rows; i++)
        cones->G[(size_t)i * (size_t)(cones->ld + 1)] = w->saved[i];
    memcpy(cones->g, w->saved + cones->ld, (size_t)cones->rows * sizeof *cones->g);
}

static double largest(int n, const double *a)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(a[i]));
    return most;
}

/* Newton on the compliant problem until x stands still */
static bool compliant_newton(tg_solve_work *w, int steps)
{
    tg_cones_velocity(&w->cones, w->x, w->s);
    for (int k = 0; k < steps; k++)
    {
        memcpy(w->best, w->x, (size_t)w->cones.rows * sizeof *w->best);
        tg_newton_classify(&w->cones, w->x, w->s, w->state);
        if (!(tg_newton_step(w, 0, NULL) < INFINITY))
            return false;
        double change = 0, size = largest(w->cones.rows, w->x);
        for (int i = 0; i < w->cones.rows; i++)
            change = fmax(change, fabs(w->x[i] - w->best[i]));
        if (change <= stands_still * size)
            return true;
    }
    return false;
}

static double largest_impulse(const tg_solve_work *w)
{
    double most = 0;
    for (int i = 0; i < w->cones.rows; i++)
        most = fmax(most, w->cones.scale[i] * fabs(w->x[i]));
    return most;
}

/* phases and directions of the compliant solution in w->state; its x in w->x */
static bool solve_compliant(tg_solve_work *w)
{
    make_compliant(w, fmin(compliance * mean_diagonal(&w->cones), compliant_velocity / largest_impulse(w)));
    bool solved = compliant_newton(w, COMPLIANT_STEPS);
    if (!solved)
    {
        tg_interior_run(w, 1e-3 * compliant_velocity);
        solved = compliant_newton(w, COMPLIANT_STEPS);
    }
    tg_newton_classify(&w->cones, w->x, w->s, w->state);
    clear_marks(w);
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->state[b].phase == TG_PHASE_SLIDE && w->cones.block[b].kind == TG_CONE_UNIT &&
            slip(&w->cones, &w->cones.block[b], w->s) < no_slip)
        {
            w->state[b].fixed = true;
            w->state[b].ratio = 0;
        }
    make_rigid(w);
    tg_cones_velocity(&w->cones, w->x, w->s);
    return solved;
}

static void keep_null_component(tg_solve_work *w)
{
    for (int i = 0; i < w->held.count; i++)
        w->held.target[i] = w->cones.scale[w->held.row[i]] * w->x[w->held.row[i]];
}

static bool certified(const tg_solve_work *w)
{
    return tg_newton_residual(&w->cones, w->x, w->s) <= 0.5 * w->options->tolerance;
}

static bool select_compliant(tg_solve_work *w)
{
    if (!solve_compliant(w))
        return false;
    memcpy(w->best, w->x, (size_t)w->cones.rows * sizeof *w->best);
    tg_held_build(w);
    if (w->held.inconsistency >= consistent)
        keep_null_component(w);
    if (polish(w) && certified(w))
        return true;
    /* the strictly held rows do not determine the velocity: hold all, and keep the null component */
    memcpy(w->x, w->best, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    for (int b = 0; b < w->cones.blocks; b++)
        if (w->state[b].fixed)
            w->state[b].phase = TG_PHASE_STICK;
    clear_marks(w);
    tg_held_build(w);
    keep_null_component(w);
    return polish(w) && certified(w);
}

/* ---- */

static void keep(tg_solve_work *w, tg_selection selection)
{
    double here = tg_newton_residual(&w->cones, w->x, w->s), tolerance = w->options->tolerance;
    bool chosen = selection != TG_SELECT_UNSELECTED && here <= tolerance;
    bool kept_chosen = w->kept_selection != TG_SELECT_UNSELECTED && w->kept_residual <= tolerance;
    if (!chosen && (kept_chosen || !(here < w->kept_residual)))
        return;
    memcpy(w->kept, w->x, (size_t)w->cones.rows * sizeof *w->kept);
    w->kept_residual = here;
    w->kept_selection = selection;
}

bool tg_solve_accept(tg_solve_work *w)
{
    size_t bytes = (size_t)w->cones.rows * sizeof *w->x;
    tg_cones_velocity(&w->cones, w->x, w->s);
    keep(w, TG_SELECT_UNSELECTED);
    if (!w->options->select)
        return w->kept_residual <= 0.1 * w->options->tolerance;
    memcpy(w->start, w->x, bytes);
    if (select_projected(w))
    {
        keep(w, w->held.rank < w->held.count ? TG_SELECT_PROJECTED : TG_SELECT_UNIQUE);
        return w->kept_residual <= w->options->tolerance;
    }
    memcpy(w->x, w->start, bytes);
    tg_cones_velocity(&w->cones, w->x, w->s);
    bool redundant = w->held.rank < w->held.count;
    if ((redundant || tg_newton_residual(&w->cones, w->x, w->s) <= near * w->cones.velocity) && select_compliant(w))
    {
        keep(w, TG_SELECT_COMPLIANT);
        return w->kept_residual <= w->options->tolerance;
    }
    return false;
}
