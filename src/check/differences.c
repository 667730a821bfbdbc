/* Central differences of a step: the judge of its derivatives.
 *
 * With D(h) = (f(x + h) - f(x - h)) / 2h, Richardson's combination R(h) = (4 D(h/2) - D(h)) / 3 has an error of order
 * h^4. Nothing is differenced across a change of mode: every evaluation must have the signature of the step itself.
 *
 * Differences have errors of their own: h^4 where the step bends quickly (a slip that turns within h), rounding / h
 * where it is steep. How large they are is seen from the differences alone: where they can be off by more than 1e-7, R
 * is taken with other h too, and that one counts which agrees best with its neighbour. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "check/judge.h"
#include "check/sides.h"
#include "model/manifold.h"
#include "step/step.h"
#include "tangere/check.h"

/* X(type, name, count) */
#define TG_DIFFERENCES_FIELDS(X)                                                                                       \
    X(double, q, m->nq)                                                                                                \
    X(double, v, m->nv)                                                                                                \
    X(double, act, m->na)                                                                                              \
    X(double, u, m->nu)                                                                                                \
    X(double, tau, m->nv)                                                                                              \
    X(double, wrench, 6 * m->nbody)                                                                                    \
    X(double, q_moved, m->nq)                                                                                          \
    X(double, q_next, m->nq)                                                                                           \
    X(double, v_next, m->nv)                                                                                           \
    X(double, act_next, m->na)                                                                                         \
    X(double, q_base, m->nq)                                                                                           \
    X(double, turn, m->nv)

struct tg_differences
{
    const tg_model *m;
    tg_work *work;
    tg_params *params;
#define X(type, name, count) type *name;
    TG_DIFFERENCES_FIELDS(X)
#undef X
    tg_cache start; /* impulses of the step itself, from which all others start: they hardly differ */
    tg_options options;
    tg_allocator allocator;
};

/* ---- memory ---- */

static void place(tg_differences *d, const tg_model *m, tg_arena *arena)
{
#define X(type, name, count) d->name = TG_TAKE(arena, type, count, #name);
    TG_DIFFERENCES_FIELDS(X)
#undef X
}

/* room for every constraint that a step can have */
static tg_status new_cache(tg_differences *d, tg_error *error)
{
    const tg_model *m = d->m;
    int contacts;
    tg_work_contacts(d->work, &contacts, NULL);
    int room = contacts + m->nequality + m->nv + 2 * m->njoint + 3 * m->ntendon;
    d->start.entry = tg_alloc(&d->allocator, sizeof(tg_cache_entry) * (size_t)room);
    if (d->start.entry == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_differences_create: no memory for the impulses of %d constraints",
                       room);
    d->start.capacity = room;
    return TG_OK;
}

tg_status tg_differences_create(const tg_model *m, int contacts, tg_differences **out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_differences_create: %s is NULL", m == NULL ? "m" : "d");
    tg_differences counted;
    tg_arena arena = {0};
    TG_TAKE(&arena, tg_differences, 1, "tg_differences");
    place(&counted, m, &arena);
    void *memory = arena.failed ? NULL : tg_alloc(&m->allocator, arena.used);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_differences_create: no memory for %zu bytes", arena.used);
    arena = (tg_arena){.base = memory, .capacity = arena.used};
    tg_differences *d = TG_TAKE(&arena, tg_differences, 1, "tg_differences");
    place(d, m, &arena);
    d->m = m;
    d->allocator = m->allocator;
    tg_status status = tg_params_create(m, &d->params, error);
    if (status == TG_OK)
        status = contacts > 0 ? tg_work_create_for(m, contacts, &d->work, error) : tg_work_create(m, &d->work, error);
    if (status == TG_OK)
        status = new_cache(d, error);
    if (status != TG_OK)
    {
        tg_differences_destroy(d);
        return status;
    }
    *out = d;
    return TG_OK;
}

void tg_differences_destroy(tg_differences *d)
{
    if (d == NULL)
        return;
    tg_allocator allocator = d->allocator;
    tg_free(&allocator, d->start.entry);
    tg_work_destroy(d->work);
    tg_params_destroy(d->params);
    tg_free(&allocator, d);
}

const char *tg_differences_message(const tg_differences *d)
{
    return d == NULL ? "" : tg_work_message(d->work);
}

int tg_differences_found(const tg_differences *d)
{
    int found = 0;
    if (d != NULL)
        tg_work_contacts(d->work, NULL, &found);
    return found;
}

/* ---- one evaluation ---- */

typedef struct task
{
    tg_differences *d;
    const tg_differences_request *request;
    const tg_cotangent *out;
    tg_options options;
    const tg_cache *start;       /* of evaluations: the step's own impulses; */
    const tg_cache *other;       /* and the caller's, for a second look */
    uint64_t signature, choices; /* of the step itself */
    double middle;               /* its value */
    double noise;                /* of an evaluation: what rounding does to it */
    double largest;              /* derivative of its group so far */
    uint64_t met;                /* signature of the last evaluation */
    tg_differences_count count;
} task;

static tg_status take_step(task *t, const double *q, double dt, uint64_t *signature)
{
    tg_differences *d = t->d;
    tg_options options = t->options;
    options.dt = dt;
    tg_state in = {(double *)q, d->v, d->act, (tg_cache *)t->start}, next = {d->q_next, d->v_next, d->act_next, NULL};
    tg_control control = {.u = d->u, .tau = d->tau, .wrench = d->wrench};
    TG_TRY(tg_step(d->m, d->work, &options, &in, &control, &next, NULL));
    return tg_step_signature(d->m, d->work, signature);
}

/* out . (q+, v+, act+), q+ as a difference from the step's own */
static double weigh(const task *t)
{
    const tg_differences *d = t->d;
    double sum = 0;
    if (t->out->q != NULL)
        (void)tg_difference(d->m, d->q_base, d->q_next, d->turn, NULL);
    for (int k = 0; k < d->m->nv; k++)
        sum +=
            (t->out->q != NULL ? t->out->q[k] * d->turn[k] : 0) + (t->out->v != NULL ? t->out->v[k] * d->v_next[k] : 0);
    for (int k = 0; t->out->act != NULL && k < d->m->na; k++)
        sum += t->out->act[k] * d->act_next[k];
    return sum;
}

typedef enum verdict
{
    TAKEN,
    SWITCHED,
    TIED,
    OUTSIDE,
    KINKED
} verdict;

static tg_status evaluate(task *t, const double *q, double dt, double *value, verdict *outcome)
{
    uint64_t signature, choices;
    TG_TRY(take_step(t, q, dt, &signature));
    tg_step_choices(t->d->work, &choices);
    t->met = signature;
    *outcome = signature != t->signature ? SWITCHED : choices != t->choices ? TIED : TAKEN;
    *value = weigh(t);
    return TG_OK;
}

/* ---- one number ---- */

/* moves input `index` of one kind by h and evaluates */
typedef tg_status (*mover)(task *t, double *x, int index, double h, double *value, verdict *outcome);

static tg_status move_q(task *t, double *x, int index, double h, double *value, verdict *outcome)
{
    tg_differences *d = t->d;
    memset(d->turn, 0, sizeof(double) * (size_t)d->m->nv);
    d->turn[index] = h;
    tg_advance(d->m, x, d->turn, d->q_moved);
    return evaluate(t, d->q_moved, t->options.dt, value, outcome);
}

static tg_status move_number(task *t, double *x, int index, double h, double *value, verdict *outcome)
{
    double kept = x[index];
    x[index] = kept + h;
    tg_status status = evaluate(t, t->d->q, t->options.dt, value, outcome);
    x[index] = kept;
    return status;
}

static tg_status move_dt(task *t, double *x, int index, double h, double *value, verdict *outcome)
{
    (void)x;
    (void)index;
    return evaluate(t, t->d->q, t->options.dt + h, value, outcome);
}

static tg_status move_param(task *t, double *x, int index, double h, double *value, verdict *outcome)
{
    (void)x;
    tg_params *params = t->d->params;
    double kept = tg_params_view(params)[index];
    tg_params_data(params)[index] = kept + h;
    tg_status status = TG_OK;
    *outcome = OUTSIDE;
    if (isfinite(kept) && tg_params_changed(params, NULL) == TG_OK)
        status = evaluate(t, t->d->q, t->options.dt, value, outcome);
    tg_params_data(params)[index] = kept;
    tg_status restored = tg_params_changed(params, &t->d->work->error);
    return status != TG_OK ? status : restored;
}

/* R(h), and how far it can be off: D(h) and D(h/2) are so far apart, or rounding does so much */
typedef struct estimate
{
    verdict outcome;
    double value, spread, apart, rounding;
} estimate;

/* of a difference over h */
static double rounding(const task *t, double h)
{
    return 2 * t->noise / h;
}

/* Second differences / h halve with h where the step is smooth. At a kink that no signature shows (a contact whose
 * normal turns round, a bound at zero) both are the difference of the two slopes. */
static bool is_kink(const task *t, const double value[4], double h)
{
    double wide = (value[0] - 2 * t->middle + value[1]) / h, narrow = (value[2] - 2 * t->middle + value[3]) / (h / 2);
    double steepest = fmax(fabs(value[1] - t->middle), fabs(value[0] - t->middle)) / h;
    double least = fmax(1e-6 * fmax(fmax(1, t->largest), steepest), 32 * t->noise / h);
    return fabs(wide) > least && fabs(narrow) > least && fabs(wide - narrow) < 0.25 * fabs(wide);
}

static tg_status richardson(task *t, mover move, double *x, int index, double h, estimate *e)
{
    double value[4] = {0};
    const double at[4] = {-h, h, -h / 2, h / 2}; /* a number at the edge of its domain is met first */
    e->outcome = TAKEN;
    for (int i = 0; i < 4 && e->outcome == TAKEN; i++)
        TG_TRY(move(t, x, index, at[i], &value[i], &e->outcome));
    e->outcome = e->outcome == TAKEN && is_kink(t, value, h) ? KINKED : e->outcome;
    double wide = (value[1] - value[0]) / (2 * h), narrow = (value[3] - value[2]) / h;
    e->value = e->outcome == TAKEN ? narrow + (narrow - wide) / 3 : NAN;
    e->rounding = rounding(t, h);
    e->apart = fabs(narrow - wide);
    e->spread = e->outcome == TAKEN ? fmax(e->apart, e->rounding) : NAN;
    return TG_OK;
}

/* differences that are off by no more than this, relative to max(1, the largest derivative), need no second look */
static const double fine = 1e-7;

static bool is_fine(const task *t, double spread, double value)
{
    return spread <= fine * fmax(fmax(1, t->largest), fabs(value));
}

/* Of two neighbouring displacements the one that has less to fear, if the two agree better than what is best. D(h) and
 * D(h/2) come apart as h grows, unless it is rounding that parts them: then R is no better than they are, also where
 * two of them agree by chance. */
static void prefer(const estimate *narrow, const estimate *wide, estimate *best)
{
    if (narrow->outcome != TAKEN || wide->outcome != TAKEN)
        return;
    const estimate *finer = narrow->spread < wide->spread ? narrow : wide;
    double spread = fmax(fabs(narrow->value - wide->value), finer->rounding);
    if (wide->apart < narrow->apart)
        spread = fmax(spread, finer->apart);
    if (spread < best->spread)
        *best = (estimate){TAKEN, finer->value, spread, finer->apart, finer->rounding};
}

/* R with 8, 64 and 512 times as much, and 8 and 64 times as little, until two neighbours agree. */
static tg_status refine(task *t, mover move, double *x, int index, double h, estimate *best)
{
    enum
    {
        DISPLACEMENTS = 6,
        FIRST = 2
    };
    static const double factor[DISPLACEMENTS] = {1.0 / 64, 1.0 / 8, 1, 8, 64, 512};
    static const int order[DISPLACEMENTS - 1] = {3, 1, 4, 0, 5};
    estimate all[DISPLACEMENTS];
    for (int k = 0; k < DISPLACEMENTS; k++)
        all[k] = k == FIRST ? *best : (estimate){.outcome = OUTSIDE};
    for (int i = 0; i < DISPLACEMENTS - 1 && !is_fine(t, best->spread, best->value); i++)
    {
        int k = order[i];
        if (rounding(t, factor[k] * h) >= best->spread)
            continue; /* cannot be better */
        TG_TRY(richardson(t, move, x, index, factor[k] * h, &all[k]));
        if (k > 0)
            prefer(&all[k - 1], &all[k], best);
        if (k + 1 < DISPLACEMENTS)
            prefer(&all[k], &all[k + 1], best);
    }
    t->count.refined++;
    return TG_OK;
}

/* ---- at kinks ---- */

typedef struct number
{
    task *t;
    mover move;
    double *x;
    int index;
} number;

static tg_status evaluate_number(void *user, double h, tg_point *point)
{
    const number *n = user;
    verdict outcome;
    tg_status status = n->move(n->t, n->x, n->index, h, &point->value, &outcome);
    point->valid = outcome == TAKEN || outcome == SWITCHED;
    point->signature = n->t->met;
    return status;
}

/* J of a number by its mover, and whether it is that of one side only */
static double judged(const number *n, bool *one_sided)
{
    const tg_differences *d = n->t->d;
    const tg_differences_request *r = n->t->request;
    const tg_cotangent *J = r->judged;
    *one_sided = r->label != TG_LABEL_EXACT;
    if (n->move == move_q)
        return J->q[n->index];
    if (n->move == move_dt)
        return *J->dt;
    if (n->move == move_param)
    {
        *one_sided = *one_sided || (r->own != NULL && r->own[n->index] != TG_LABEL_EXACT);
        return J->params[n->index];
    }
    const double *of = n->x == d->v     ? J->v
                       : n->x == d->act ? J->act
                       : n->x == d->u   ? J->u
                       : n->x == d->tau ? J->tau
                                        : J->wrench;
    return of[n->index];
}

/* A number whose signature changes within the displacement, or that has a kink: judged by one side. The derivative of
 * one side that agrees with neither is not judged: where several rows give way, each side has many branches. */
static tg_status difference_beside(number *n, double h, estimate *best)
{
    task *t = n->t;
    bool one_sided;
    double J = judged(n, &one_sided), scale = fmax(fmax(1, t->largest), fabs(J));
    tg_line line = {evaluate_number, n, t->middle, t->noise, t->signature};
    tg_side side[2];
    if (best->outcome == KINKED && !one_sided)
        return TG_OK;
    for (int k = 0; k < 2; k++)
        TG_TRY(tg_side_of(&line, k == 0 ? h : -h, fine * scale, &side[k]));
    const tg_side *of = tg_side_to_judge(side, J, one_sided, TG_CHECK_TOLERANCE * scale);
    if (of != NULL && (!one_sided || fabs(of->value - J) <= TG_CHECK_TOLERANCE * scale))
        *best = (estimate){.outcome = TAKEN, .value = of->value, .spread = of->spread};
    return TG_OK;
}

static tg_status look(number *n, double h, estimate *best)
{
    task *t = n->t;
    TG_TRY(richardson(t, n->move, n->x, n->index, h, best));
    bool beside = (best->outcome == SWITCHED || best->outcome == KINKED) && t->request->judged != NULL;
    if (beside)
        return difference_beside(n, h, best);
    bool fine_enough = best->outcome != TAKEN || is_fine(t, best->spread, best->value);
    return fine_enough ? TG_OK : refine(t, n->move, n->x, n->index, h, best);
}

static void swap_starts(task *t)
{
    const tg_cache *start = t->start;
    t->start = t->other;
    t->other = start;
}

/* Whether the derivative that is judged is not that of the differences. */
static bool is_off(const number *n, const estimate *best)
{
    bool one_sided;
    if (n->t->request->judged == NULL || best->outcome != TAKEN)
        return false;
    double J = judged(n, &one_sided), scale = fmax(fmax(1, n->t->largest), fabs(best->value));
    return !(fabs(best->value - J) <= TG_CHECK_TOLERANCE * scale);
}

/* The solver ends when it is near enough, and what is left depends on where it started, often smoothly: then
 * differences agree among themselves, but not with those from another start. */
static tg_status look_twice(number *n, double h, estimate *best)
{
    task *t = n->t;
    estimate other = *best;
    double middle = t->middle;
    verdict outcome;
    swap_starts(t);
    tg_status status = evaluate(t, t->d->q, t->options.dt, &t->middle, &outcome);
    if (status == TG_OK && outcome == TAKEN)
        status = look(n, h, &other);
    swap_starts(t);
    t->middle = middle;
    if (status == TG_OK && other.outcome == TAKEN)
        best->spread = fmax(best->spread, fabs(best->value - other.value));
    return status;
}

static tg_status difference(task *t, mover move, double *x, int index, double h, double *derivative, double *spread)
{
    estimate best;
    number n = {t, move, x, index};
    TG_TRY(look(&n, h, &best));
    if (is_off(&n, &best))
        TG_TRY(look_twice(&n, h, &best));
    *derivative = best.value;
    if (spread != NULL)
        *spread = best.spread;
    t->largest = best.outcome == TAKEN ? fmax(t->largest, fabs(best.value)) : t->largest;
    t->count.taken += best.outcome == TAKEN;
    t->count.switched += best.outcome == SWITCHED;
    t->count.tied += best.outcome == TIED;
    t->count.outside += best.outcome == OUTSIDE;
    t->count.kinked += best.outcome == KINKED;
    return TG_OK;
}

/* ---- all numbers ---- */

/* chosen: NULL, or not 0 where a number is wanted */
static tg_status differences(task *t, mover move, double *x, int n, double h, const double *chosen, double *derivative,
                             double *spread)
{
    t->largest = 0;
    for (int i = 0; derivative != NULL && i < n; i++)
        if (chosen == NULL || chosen[i] != 0)
            TG_TRY(difference(t, move, x, i, h, &derivative[i], spread != NULL ? &spread[i] : NULL));
    return TG_OK;
}

/* 1, or the largest of n numbers if that is more */
static double size_of(const double *x, int n)
{
    double size = 1;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(x[i]));
    return size;
}

/* the largest number of the parameter's slice, kept in 1e-3 .. 1; 0.1 where all are zero */
static double param_size(const task *t, int index)
{
    const tg_differences *d = t->d;
    const double *p = tg_params_view(d->params);
    double size = 0;
    int offset = index, count = 1;
    char name[256];
    if (tg_param_name(d->m, index, true, name, sizeof name, NULL) == TG_OK)
        tg_param_find(d->m, name, &offset, &count, NULL);
    for (int i = offset; i < offset + count; i++)
        size = isfinite(p[i]) ? fmax(size, fabs(p[i])) : size;
    return size == 0 ? 0.1 : fmin(fmax(size, 1e-3), 1);
}

static tg_status param_differences(task *t, double *derivative, double *spread)
{
    const tg_differences_request *r = t->request;
    int n = r->index != NULL ? r->nindex : t->d->m->nparams;
    for (int i = 0; derivative != NULL && i < n; i++)
    {
        int index = r->index != NULL ? r->index[i] : i;
        if (index < 0 || index >= t->d->m->nparams)
            return tg_fail(&t->d->work->error, TG_ERR_ARGUMENT, "index[%d] = %d: the model has %d parameters", i, index,
                           t->d->m->nparams);
        t->largest = 0;
        TG_TRY(difference(t, move_param, NULL, index, 1e-6 * param_size(t, index), &derivative[index],
                          spread != NULL ? &spread[index] : NULL));
    }
    return TG_OK;
}

/* ---- the boundary ---- */

static void copy_or_zero(double *to, const double *from, int n)
{
    if (from != NULL)
        memcpy(to, from, sizeof(double) * (size_t)n);
    else
        memset(to, 0, sizeof(double) * (size_t)n);
}

/* The step from the caller's warm start. Its own impulses are that of all others, unless they lead elsewhere: Coulomb's
 * law can have several solutions. */
static tg_status find_start(task *t)
{
    tg_differences *d = t->d;
    tg_state in = {d->q, d->v, d->act, t->request->state->cache}, next = {d->q_next, d->v_next, d->act_next, &d->start};
    tg_control control = {.u = d->u, .tau = d->tau, .wrench = d->wrench};
    uint64_t signature;
    d->start.count = 0;
    t->start = &d->start;
    t->other = t->request->state->cache;
    TG_TRY(tg_step(d->m, d->work, &t->options, &in, &control, &next, NULL));
    TG_TRY(tg_step_signature(d->m, d->work, &signature));
    TG_TRY(take_step(t, d->q, t->options.dt, &t->signature));
    if (signature == t->signature)
        return TG_OK;
    swap_starts(t);
    return take_step(t, d->q, t->options.dt, &t->signature);
}

static tg_status begin(task *t)
{
    tg_differences *d = t->d;
    const tg_model *m = d->m;
    const tg_differences_request *r = t->request;
    const tg_control none = {0}, *control = r->control != NULL ? r->control : &none;
    const tg_params *params = r->params != NULL ? r->params : tg_model_params(m);
    memcpy(tg_params_data(d->params), tg_params_view(params), sizeof(double) * (size_t)m->nparams);
    TG_TRY(tg_params_changed(d->params, &d->work->error));
    TG_TRY(tg_work_set_params(d->work, d->params));
    copy_or_zero(d->q, r->state->q, m->nq);
    copy_or_zero(d->v, r->state->v, m->nv);
    copy_or_zero(d->act, r->state->act, m->na);
    copy_or_zero(d->u, control->u, m->nu);
    copy_or_zero(d->tau, control->tau, m->nv);
    copy_or_zero(d->wrench, control->wrench, 6 * m->nbody);
    t->options = r->options != NULL ? *r->options : tg_default_options();
    t->options.dt = t->options.dt > 0 ? t->options.dt : tg_model_timestep(m);
    t->options.energy = false;
    TG_TRY(find_start(t));
    tg_step_choices(d->work, &t->choices);
    memcpy(d->q_base, d->q_next, sizeof(double) * (size_t)m->nq);
    t->middle = weigh(t);
    return TG_OK;
}

enum
{
    DIRECTIONS = 4
};

/* out . (q+, v+, act+) with v, or q, displaced along some direction: the first few are of all dofs, others of one */
static tg_status evaluate_along(task *t, bool of_q, int direction, double h, double *value, verdict *outcome)
{
    tg_differences *d = t->d;
    int nv = d->m->nv;
    for (int k = 0; k < nv; k++)
        d->turn[k] = direction < DIRECTIONS ? h * cos(1 + direction + 2.3 * k) : k == direction - DIRECTIONS ? h : 0;
    tg_advance(d->m, d->q, d->turn, d->q_moved);
    for (int k = 0; k < nv && !of_q; k++)
        d->v[k] += d->turn[k];
    tg_status status = evaluate(t, of_q ? d->q_moved : d->q, t->options.dt, value, outcome);
    memcpy(d->v, t->request->state->v, sizeof(double) * (size_t)nv);
    return status;
}

/* What rounding does to an evaluation: second differences over displacements so small that nothing else is left of
 * them, unless a mode changes. Those of q see what positions lose, which counts for parameters too. */
static tg_status measure_noise(task *t, bool of_q, double *noise)
{
    static const double tiny = 1e-12;
    double middle, value[2];
    verdict outcome[2];
    int taken = 0;
    TG_TRY(evaluate_along(t, of_q, 0, 0, &middle, &outcome[0]));
    *noise = 1.1e-16 * fabs(middle);
    for (int i = 0; i < DIRECTIONS + t->d->m->nv && (i < DIRECTIONS || taken == 0); i++)
    {
        for (int side = 0; side < 2; side++)
            TG_TRY(evaluate_along(t, of_q, i, side == 0 ? tiny : -tiny, &value[side], &outcome[side]));
        if (outcome[0] != TAKEN || outcome[1] != TAKEN)
            continue;
        *noise = fmax(*noise, 0.5 * fabs(value[0] - 2 * middle + value[1]));
        taken++;
    }
    return TG_OK;
}

tg_status tg_step_differences(const tg_model *m, tg_differences *d, const tg_differences_request *request,
                              const tg_cotangent *out, tg_cotangent *in, tg_differences_count *count)
{
    if (d == NULL)
        return TG_ERR_ARGUMENT;
    if (m != d->m || request == NULL || request->state == NULL || out == NULL || in == NULL)
        return tg_fail(&d->work->error, TG_ERR_ARGUMENT, "tg_step_differences: %s",
                       m != d->m                ? "d was created for another model"
                       : request == NULL        ? "request is NULL"
                       : request->state == NULL ? "request.state is NULL"
                       : out == NULL            ? "out is NULL"
                                                : "in is NULL");
    task t = {.d = d, .request = request, .out = out};
    TG_TRY(begin(&t));
    double rough, smooth;
    TG_TRY(measure_noise(&t, true, &rough));
    TG_TRY(measure_noise(&t, false, &smooth));
    const tg_cotangent none = {0}, *apart = request->spread != NULL ? request->spread : &none;
    const tg_cotangent *of = request->chosen != NULL ? request->chosen : &none;
    int nwrench = 6 * m->nbody;
    double hu = 1e-6 * size_of(d->u, m->nu), htau = 1e-6 * size_of(d->tau, m->nv);
    double hwrench = 1e-6 * size_of(d->wrench, nwrench);
    t.noise = rough;
    TG_TRY(differences(&t, move_q, d->q, m->nv, 1e-7, of->q, in->q, apart->q));
    t.noise = smooth;
    TG_TRY(differences(&t, move_number, d->v, m->nv, 1e-6, of->v, in->v, apart->v));
    TG_TRY(differences(&t, move_number, d->act, m->na, 1e-6, of->act, in->act, apart->act));
    TG_TRY(differences(&t, move_number, d->u, m->nu, hu, of->u, in->u, apart->u));
    TG_TRY(differences(&t, move_number, d->tau, m->nv, htau, of->tau, in->tau, apart->tau));
    TG_TRY(differences(&t, move_number, d->wrench, nwrench, hwrench, of->wrench, in->wrench, apart->wrench));
    TG_TRY(differences(&t, move_dt, NULL, 1, 1e-5 * t.options.dt, of->dt, in->dt, apart->dt));
    t.noise = rough;
    TG_TRY(param_differences(&t, in->params, apart->params));
    if (count != NULL)
        *count = t.count;
    return TG_OK;
}
