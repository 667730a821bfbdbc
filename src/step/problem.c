/* From the free velocities to the impulses: constraints, islands, Delassus matrices, laws, one solve per island. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "contact/explicit.h"
#include "contact/large.h"
#include "contact/parts.h"
#include "contact/units.h"
#include "math/lanes.h"
#include "step/step.h"

/* from the list of constraints to the problem of every island */
static void assemble(const tg_model *m, tg_work *w, const tg_cache *cache)
{
    tg_step_work *s = w->step;
    tg_make_islands(m, w);
    tg_cache_read_pauses(w, cache);
    if (w->rows->nrow == 0)
        return;
    tg_fill_jacobian(m, w, s->q);
    tg_fill_delassus(m, w, s->options.dt, true);
    tg_apply_laws(m, w, s->v, s->v_free, &s->settings);
    if (m->nequality > 0)
        tg_make_consistent(m, w->rows);
}

/* ---- masses ----
 *
 * An impulse that changes the velocity of a heavy body by u moves a light one by the ratio of their masses times u, and
 * is rounded by 2e-16 of that. With u = 1 m/s, what a fall from 5 cm does, a ratio of 2e7 leaves 4e-9 m/s in every term
 * of a velocity; beyond, nothing certifies 1e-8 m/s, the default tolerance. (Boxes dropped by 1 cm: at 1e8 one step of
 * 2,000, that of the impact, has 1.6e-8.) */

static const double most_ratio = 2e7;

static double tree_mass(const tg_work *w, int tree)
{
    return w->composite[INERTIA_SIZE * w->model->tree_node[tree] + V4_LANES - 1];
}

/* the lightest and the heaviest tree of an island (-1: of all); whether their ratio is too large */
static bool find_extremes(const tg_model *m, const tg_work *w, int island, int *light, int *heavy)
{
    *light = *heavy = -1;
    for (int t = 0; t < m->ntree; t++)
    {
        if (island >= 0 && w->rows->tree_island[t] != island)
            continue;
        if (*light < 0 || tree_mass(w, t) < tree_mass(w, *light))
            *light = t;
        if (*heavy < 0 || tree_mass(w, t) > tree_mass(w, *heavy))
            *heavy = t;
    }
    return *light >= 0 && tree_mass(w, *heavy) > most_ratio * tree_mass(w, *light);
}

static tg_status check_masses(const tg_model *m, tg_work *w)
{
    int light, heavy;
    if (!find_extremes(m, w, -1, &light, &heavy))
        return TG_OK;
    for (int i = 0; i < w->rows->nisland; i++)
        if (find_extremes(m, w, i, &light, &heavy))
            return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                           "contacts couple body %d (%g kg, with what it carries) and body %d (%g kg): masses that "
                           "differ by more than %g cannot be solved to the tolerance; make the light one heavier, or "
                           "fix the heavy one to the world",
                           m->tree_body[light], tree_mass(w, light), m->tree_body[heavy], tree_mass(w, heavy),
                           most_ratio);
    return TG_OK;
}

tg_status tg_step_problem(const tg_model *m, tg_work *w, const tg_cache *cache)
{
    tg_step_work *s = w->step;
    tg_list_joints(m, w, s->q, s->v, s->v_free, &s->settings);
    tg_profile_stage(w, TG_STEP_STAGE_ASSEMBLY);
    TG_TRY(tg_list_touches(m, w, s->v_free, &s->settings));
    tg_profile_stage(w, TG_STEP_STAGE_COLLISION);
    tg_cache_take_back(m, w, cache);
    tg_add_touches(m, w);
    assemble(m, w, cache);
    TG_TRY(check_masses(m, w));
    if (w->rows->nrow > 0)
        tg_cache_read(w, cache);
    tg_profile_stage(w, TG_STEP_STAGE_ASSEMBLY);
    return TG_OK;
}

static const double elsewhere = 1e-6; /* m/s: a hundred tolerances; what a cache changes otherwise is 1e-10 */

/* sigma of an island differs from another solution's by more than rounding and selection do */
static bool is_elsewhere(const tg_rows *r, const tg_rows_island *island, const double *other)
{
    double apart = 0;
    for (int i = 0; i < island->rows; i++)
        apart = fmax(apart, fabs(r->sigma[island->row + i] - other[i]));
    return apart > elsewhere;
}

/* A law that is not the unrelaxed one, which needs G. */
static tg_status run_law(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_cone_law *law)
{
    tg_rows *r = w->rows;
    double *L = r->L + island->row, *sigma = r->sigma + island->row;
    tg_solve_options options = tg_solve_default();
    options.solver = w->step->options.solver;
    options.tolerance = w->step->options.tolerance;
    if (!tg_island_is_dense(r, island))
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED, "law '%s': an island of %d rows is too large for it", law->name,
                       island->rows);
    tg_need_delassus(m, w, island);
    tg_island problem = tg_island_problem(r, island);
    TG_TRY(tg_cone_law_solve(law, &problem, &options, &r->scratch, L, sigma, &island->result, &w->error));
    tg_residual unrelaxed = tg_residual_of(&problem, problem.G, problem.ldg + 1, L, sigma);
    island->unrelaxed = tg_residual_max(&unrelaxed);
    return TG_OK;
}

static void add_counts(tg_solve_result *result, const tg_solve_result *more)
{
    result->newton += more->newton;
    result->interior += more->interior;
    result->sweeps += more->sweeps;
}

/* What so many alternations give is wanted, not the solution. */
static bool takes_fixed_steps(const tg_options *o)
{
    return o->staggered_steps > 0 && strcmp(o->solver, "staggered") == 0;
}

/* An island of many bodies that has room for dense matrices. Newton on the problem with compliance solves and selects
 * most of these at once. The others are solved in velocity space, and the solution is selected from there. */
static void solve_sparse(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_solve_options *options)
{
    tg_rows *r = w->rows;
    const tg_options *o = &w->step->options;
    double *L = r->L + island->row, *sigma = r->sigma + island->row;
    tg_need_half(m, w, island);
    tg_island problem = tg_island_problem(r, island);
    problem.warm_z = r->warm_z + island->row;
    problem.z = o->cold ? NULL : r->z + island->row;
    if (tg_island_first(&problem, options, &r->scratch, L, sigma, &island->result))
        return;
    const tg_solve_result before = island->result;
    if (before.status != TG_SOLVE_SOLVED)
    {
        tg_need_whole(m, w, island);
        tg_solve_large(m, w, island, w->step->v_free, o->dt, o->tolerance, o->effort, &before, NULL);
        tg_need_half(m, w, island);
    }
    if (island->result.status == TG_SOLVE_SOLVED)
        tg_island_select(&problem, options, &r->scratch, L, sigma, &island->result);
}

/* The problem with compliance (soft.h) of an island that is too large for dense matrices and was not solved in velocity
 * space, in the memory of that; what is better stays. */
static tg_status solve_compliant(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_solve_options *options)
{
    tg_rows *r = w->rows;
    double *L = r->L + island->row, *sigma = r->sigma + island->row;
    size_t bytes = sizeof(double) * (size_t)island->rows;
    tg_arena arena = {.base = r->large_memory, .capacity = r->capacity.large};
    tg_solve_result before = island->result, after;
    tg_need_half(m, w, island);
    tg_island problem = tg_island_problem(r, island);
    for (int t = 0; t < problem.trees; t++)
    {
        problem.columns += problem.tree[t].columns;
        problem.tree_dofs = problem.tree[t].dofs > problem.tree_dofs ? problem.tree[t].dofs : problem.tree_dofs;
    }
    memcpy(r->trial + island->row, L, bytes);
    memcpy(r->trial_sigma + island->row, sigma, bytes);
    problem.warm = r->trial + island->row;
    tg_status status = tg_island_solve(&problem, options, &arena, L, sigma, &after, &w->error);
    tg_need_whole(m, w, island);
    if (status != TG_OK && status != TG_ERR_CAPACITY)
        return status;
    if (status == TG_ERR_CAPACITY || tg_residual_max(&after.residual) >= tg_residual_max(&before.residual))
    {
        memcpy(L, r->trial + island->row, bytes);
        memcpy(sigma, r->trial_sigma + island->row, bytes);
    }
    else
        island->result = after;
    if (status != TG_OK)
        return TG_OK;
    island->result.newton = before.newton + after.newton;
    island->result.interior = before.interior + after.interior;
    island->result.sweeps = before.sweeps + after.sweeps;
    return TG_OK;
}

enum
{
    LONGEST_WARM = 63, /* of 64 tries that fail one is left: a few hundredths of the work */
    LONGEST_PUSH = 15  /* what overlaps begins to part after this many steps at the latest */
};

/* What failed is likely to fail again in the next step: it pauses for one step, then for three, and so on. As soon as
 * it succeeds it is back. */
static void count_pause(tg_pause *pause, int longest, bool tried, bool success)
{
    if (!tried)
        pause->left--;
    else if (success)
        *pause = (tg_pause){0};
    else
    {
        pause->length = pause->length < longest ? 2 * pause->length + 1 : longest;
        pause->left = pause->length;
    }
}

/* Rows that hold against each other: dry friction against a contact that is pushed out slowly. They give way with less
 * compliance, which takes many factorisations to find, in every step of what stands pressed between walls. */
static double known_compliance(const tg_pause *p)
{
    if (p->left == 0)
        return 0;
    return p->work > 0 ? ldexp(1, DBL_MAX_EXP - p->work) : -1;
}

/* Known for one step; where it has to be found again right after that, for three, and so on. */
static void keep_compliance(tg_pause *p, const tg_solve_result *result)
{
    bool found = result->refined != 0;
    if (!found && !result->began)
        *p = (tg_pause){0};
    else
        count_pause(p, LONGEST_WARM, found, false);
    if (found)
        p->work = result->refined > 0 ? DBL_MAX_EXP - ilogb(result->refined) : 0;
}

/* An island of several trees that falls into parts. True when its result is that of the island. */
static bool solve_parts(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_solve_options *options)
{
    const tg_options *o = &w->step->options;
    bool one = island->tree >= 0 || island->equality || w->rows->grouped != NULL || o->effort > 0 || o->lever != 1 ||
               o->tolerance != tg_solve_default().tolerance || !w->step->default_solver;
    island->result = (tg_solve_result){0};
    if (one)
        return false;
    tg_need_half(m, w, island);
    bool done = tg_solve_parts(m, w, island, w->step->v_free, options) != TG_PARTS_NONE;
    if (!tg_island_is_dense(w->rows, island))
        tg_need_whole(m, w, island);
    return done;
}

static tg_status run_solver(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    const tg_options *o = &w->step->options;
    const tg_cone_law *law = tg_step_law(w->step);
    /* of the same island with its push: where warm start and ladder have failed, the warm start mostly fails again */
    const tg_solve_result pushed = island->result;
    bool tried = !o->cold && island->relaxed && pushed.steep && pushed.newton + pushed.interior > pushed.beside_warm;
    if (w->step->settings.explicit_law != TG_EXPLICIT_NONE)
        return tg_explicit_solve(m, w, island, &w->step->settings, o->solver, o->tolerance);
    if (!tg_cone_law_is_default(law))
        return run_law(m, w, island, law);
    if (r->grouped != NULL && !tg_island_is_dense(r, island))
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                       "implicit_tendons: an island of %d rows; at most %d where tendons couple trees", island->rows,
                       r->capacity.island_rows);
    bool dense = tg_island_is_dense(r, island);
    bool sparse = island->sparse && (!dense || w->step->default_solver);
    tg_solve_options options = tg_solve_default();
    if (dense)
        options.solver = o->solver;
    const double share = o->tolerance / options.tolerance;
    options.tolerance = o->tolerance;
    options.inner *= share;
    options.effort = o->effort;
    double push = island->relaxed ? 0 : island->push;
    options.relaxable = tg_is_strong_push(push);
    options.staggered_steps = o->staggered_steps;
    options.select = !takes_fixed_steps(o);
    if (solve_parts(m, w, island, &options))
        return TG_OK;
    const tg_solve_result parts = island->result;
    if (!dense)
    {
        tg_need_whole(m, w, island);
        tg_solve_large(m, w, island, w->step->v_free, o->dt, o->tolerance, o->effort, NULL, NULL);
        add_counts(&island->result, &parts);
        return island->result.status == TG_SOLVE_SOLVED || options.relaxable || o->effort > 0
                   ? TG_OK
                   : solve_compliant(m, w, island, &options);
    }
    if (sparse)
    {
        solve_sparse(m, w, island, &options);
        add_counts(&island->result, &parts);
    }
    if (sparse && (island->result.status == TG_SOLVE_SOLVED || o->effort > 0))
        return TG_OK;
    const tg_solve_result before = sparse ? island->result : parts;
    tg_pause *pause = &island->pause[island->relaxed ? TG_ATTEMPT_WARM_RELAXED : TG_ATTEMPT_WARM];
    tg_island here = tg_island_problem(r, island);
    bool wide = !o->cold && tg_island_is_wide(&here);
    options.skip_warm = pause->left > 0 || sparse || wide || tried; /* what comes first in a heap starts there, too */
    options.warm_effort = pause->work;
    options.refined = known_compliance(&island->pause[TG_ATTEMPT_REFINE]);
    options.droppable = !island->sparse && push > 0;
    options.steep = pushed.steep;
    (options.skip_warm ? tg_need_half : tg_need_delassus)(m, w, island);
    const bool scaled = o->lever != 1 || share != 1;
    const tg_units units = scaled ? tg_units_of(o->lever, share) : (tg_units){1, 1};
    options.tolerance *= units.speed;
    options.inner *= units.speed;
    if (scaled)
        tg_units_enter(m, r, island, &units);
    tg_island problem = tg_island_problem(r, island);
    problem.warm_z = r->warm_z + island->row;
    problem.z = o->cold ? NULL : r->z + island->row;
    tg_status status = tg_island_solve(&problem, &options, &r->scratch, r->L + island->row, r->sigma + island->row,
                                       &island->result, &w->error);
    if (scaled)
        tg_units_leave(r, island, &units);
    TG_TRY(status);
    add_counts(&island->result, &before);
    keep_compliance(&island->pause[TG_ATTEMPT_REFINE], &island->result);
    if (sparse || wide || tried)
        return TG_OK;
    /* a warm start that fails costs as much as what solves the problem: then it may take as many factorisations */
    count_pause(pause, LONGEST_WARM, !options.skip_warm, island->result.stage == TG_ENDED_WARM);
    if (pause->length > 0)
        pause->work = island->result.beside_warm;
    return TG_OK;
}

/* Whether the impulses of the previous step, in warm, lead to another solution than that in L and sigma, which stays.
 * The next step hears nothing of it. kept: 2 rows. */
static tg_status look_elsewhere(const tg_model *m, tg_work *w, tg_rows_island *island, double *kept)
{
    double *L = w->rows->L + island->row, *sigma = w->rows->sigma + island->row;
    size_t n = (size_t)island->rows, bytes = sizeof(double) * n;
    tg_solve_result result = island->result;
    tg_pause pause[TG_ATTEMPTS];
    memcpy(pause, island->pause, sizeof pause);
    memcpy(kept, L, bytes);
    memcpy(kept + n, sigma, bytes);
    TG_TRY(run_solver(m, w, island));
    bool solved = island->result.status == TG_SOLVE_SOLVED;
    island->twofold = island->twofold || (solved && is_elsewhere(w->rows, island, kept + n));
    island->result = result;
    memcpy(island->pause, pause, sizeof pause);
    memcpy(L, kept, bytes);
    memcpy(sigma, kept + n, bytes);
    return TG_OK;
}

/* Option cold: no warm start. */
static tg_status solve_cold(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    double *warm = w->rows->warm + island->row, *warm_z = w->rows->warm_z + island->row;
    double *given = w->step->row_gradient, *given_z = given + island->rows;
    size_t bytes = sizeof(double) * (size_t)island->rows;
    bool any = false;
    for (int i = 0; i < island->rows && !any; i++)
        any = warm[i] != 0;
    memcpy(given, warm, bytes);
    memcpy(given_z, warm_z, bytes);
    memset(warm, 0, bytes);
    memset(warm_z, 0, bytes);
    TG_TRY(run_solver(m, w, island));
    if (!any || island->result.status != TG_SOLVE_SOLVED)
        return TG_OK;
    memcpy(warm, given, bytes);
    memcpy(warm_z, given_z, bytes);
    return look_elsewhere(m, w, island, given_z + island->rows);
}

/* kg: of all bodies of an island */
static double island_mass(const tg_model *m, const tg_work *w, const tg_rows_island *island)
{
    const tg_rows *r = w->rows;
    double mass = 0;
    for (int i = 0; i < m->nbody; i++)
        if (m->body_tree[i] >= 0 && r->tree_island[m->body_tree[i]] == island - r->island)
            mass += TG_PARAM(w->params, body_mass)[i];
    return mass;
}

/* Where bodies can hardly move along a normal, an arm that is stretched against a wall or links that lock each other,
 * even a slow push takes huge impulses, which shoot off whatever moves across it. What is pushed apart as it should be
 * gets at most about the energy of the island at the speed of the push. Created energy: L . (J v+ + J v_free) / 2. */
static bool shoots_off(const tg_model *m, const tg_work *w, const tg_rows_island *island)
{
    const tg_rows *r = w->rows;
    const double push = w->step->settings.push_speed;
    double twice = 0;
    for (int i = island->row; i < island->row + island->rows; i++)
        twice += r->L[i] * (r->sigma[i] - r->bias[i] + r->free[i]);
    return twice > 0 && twice > TG_MOST_IMPULSE * island_mass(m, w, island) * push * push;
}

/* Once more without the push where that was not solved or shoots something off; its factorisations count, too. The next
 * steps do without it; not those of a large heap, in which one contradiction would let everything overlap. */
static tg_status solve_island(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    tg_pause *push = &island->pause[TG_ATTEMPT_PUSH];
    island->push = tg_island_push(r, island);
    bool pushes = island->push > 0;
    bool pauses = pushes && push->left > 0 && tg_island_is_dense(r, island);
    if (pauses)
        tg_island_relax(r, island);
    TG_TRY((w->step->options.cold ? solve_cold : run_solver)(m, w, island));
    tg_solve_result before = island->result;
    bool solved = before.status == TG_SOLVE_SOLVED;
    if (pushes && !pauses && tg_island_is_dense(r, island))
        solved = solved && !shoots_off(m, w, island);
    if (pushes)
        count_pause(push, LONGEST_PUSH, !pauses, solved);
    if (!solved && !pauses && !takes_fixed_steps(&w->step->options) && tg_island_relax(r, island))
    {
        TG_TRY(run_solver(m, w, island));
        add_counts(&island->result, &before);
    }
    tg_select_consistent(m, r, island);
    return TG_OK;
}

/* The second problem of an island with impacts within the step, from the impulses of the first: the same but for the
 * bias of what met. The result of the island is that of the worse one. */
static tg_status solve_placing(const tg_model *m, tg_work *w, tg_rows_island *island)
{
    tg_rows *r = w->rows;
    size_t bytes = sizeof(double) * (size_t)island->rows;
    tg_solve_options options = tg_solve_default();
    tg_solve_result result;
    options.solver = w->step->options.solver;
    options.tolerance = w->step->options.tolerance;
    tg_placing_laws(w, &w->step->settings, island);
    tg_need_delassus(m, w, island);
    memcpy(r->warm + island->row, r->L + island->row, bytes);
    tg_island problem = tg_island_problem(r, island);
    problem.g = r->placing_g + island->row;
    TG_TRY(tg_island_solve(&problem, &options, &r->scratch, r->placing_L + island->row, r->placing_sigma + island->row,
                           &result, &w->error));
    island->placing = result.selection;
    island->result.newton += result.newton;
    island->result.interior += result.interior;
    island->result.sweeps += result.sweeps;
    if (tg_residual_max(&result.residual) > tg_residual_max(&island->result.residual))
        island->result.residual = result.residual;
    if (result.status != TG_SOLVE_SOLVED)
        island->result.status = result.status;
    return TG_OK;
}

/* v_placing, from the impulses of the second problem where there is one */
static void place_velocities(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    for (int i = 0; i < r->nisland; i++)
        if (!r->island[i].within)
            memcpy(r->placing_L + r->island[i].row, r->L + r->island[i].row,
                   sizeof(double) * (size_t)r->island[i].rows);
    tg_rows_response(m, w, r->placing_L, s->v_placing);
    for (int k = 0; k < m->nv; k++)
        s->v_placing[k] += s->v_free[k];
}

tg_status tg_step_solve(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    s->within = false;
    for (int i = 0; i < r->nisland; i++)
    {
        TG_TRY(solve_island(m, w, &r->island[i]));
        if (r->island[i].within)
            TG_TRY(solve_placing(m, w, &r->island[i]));
        s->within = s->within || r->island[i].within;
        if (r->island[i].impact && s->settings.poisson)
            TG_TRY(tg_poisson_restitution(w, &r->island[i], tg_step_law(s), s->options.solver, s->options.tolerance));
        tg_profile_island(w, i);
    }
    if (r->nrow == 0)
    {
        memcpy(s->v_next, s->v_free, sizeof(double) * (size_t)m->nv);
        return TG_OK;
    }
    tg_rows_response(m, w, r->L, s->v_next);
    v4_subtract_scaled(m->nv, -1, s->v_free, s->v_next);
    if (s->within)
        place_velocities(m, w);
    return TG_OK;
}
