#include "control/rolls.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "control/linearise.h"
#include "model/check.h"

/* ---- memory ---- */

void tg_rolls_place(tg_rolls *r, tg_arena *arena)
{
    const tg_model *m = r->m;
    size_t points = (size_t)r->most * (size_t)(r->rows + 1), held = r->keep ? (size_t)r->most * (size_t)r->rows : 0;
    size_t nq = (size_t)m->nq, nv = (size_t)m->nv, na = (size_t)m->na, nu = (size_t)m->nu;
    size_t cost = tg_plan_cost_scratch(m), steps = tg_linearise_scratch(m);
    r->room = r->batch != NULL ? r->batch->lane[0].cache.capacity : 0;
    r->each = ((cost > steps ? cost : steps) + TG_ALIGN) / TG_ALIGN * TG_ALIGN; /* threads share no cache line */
    r->q0 = TG_TAKE(arena, double, nq, "q0");
    r->v0 = TG_TAKE(arena, double, nv, "v0");
    r->act0 = TG_TAKE(arena, double, na, "act0");
    r->start = (tg_cache){.capacity = r->room, .entry = TG_TAKE(arena, tg_cache_entry, r->room, "start")};
    r->given = TG_TAKE(arena, double, points *nu, "given");
    r->u = TG_TAKE(arena, double, points *nu, "u");
    r->q = TG_TAKE(arena, double, points *nq, "q");
    r->v = TG_TAKE(arena, double, points *nv, "v");
    r->act = TG_TAKE(arena, double, points *na, "act");
    r->value = TG_TAKE(arena, double, points, "value");
    r->extra = TG_TAKE(arena, double, points, "extra");
    r->row = TG_TAKE(arena, int, points, "row");
    r->total = TG_TAKE(arena, double, r->most, "total");
    r->entry = TG_TAKE(arena, tg_cache_entry, held * (size_t)r->room, "entry");
    r->entries = TG_TAKE(arena, int, held, "entries");
    r->scratch = TG_TAKE(arena, double, (size_t)(r->batch != NULL ? r->batch->threads : 0) * r->each, "scratch");
}

void tg_rolls_fill(tg_rolls *r)
{
    for (int i = 0; i < r->most; i++)
        for (int row = 0; row <= r->rows; row++)
            r->row[i * (r->rows + 1) + row] = row;
}

static void copy_cache(const tg_cache *from, tg_cache *to)
{
    int count = from == NULL ? 0 : from->count;
    to->count = count < to->capacity ? count : to->capacity;
    if (to->count > 0)
        memcpy(to->entry, from->entry, sizeof *to->entry * (size_t)to->count);
}

tg_status tg_rolls_start(tg_rolls *r, const tg_state *now, tg_error *error)
{
    const tg_model *m = r->m;
    if (now == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "now is NULL");
    TG_TRY(tg_check_configuration(m, "now.q", now->q, error));
    TG_TRY(tg_check_numbers("now.v", now->v, m->nv, error));
    TG_TRY(tg_check_numbers("now.act", now->act, m->na, error));
    tg_copy_row(r->q0, now->q, m->nq);
    tg_copy_row(r->v0, now->v, m->nv);
    tg_copy_row(r->act0, now->act, m->na);
    copy_cache(now->cache, &r->start);
    return TG_OK;
}

/* ---- one rollout ---- */

/* Keeps where a row starts. */
static void keep_state(const tg_rolls *r, int sample, int row, const tg_state *state)
{
    const tg_model *m = r->m;
    tg_copy_row(tg_rolls_at(r, r->q, sample, row, m->nq), state->q, m->nq);
    tg_copy_row(tg_rolls_at(r, r->v, sample, row, m->nv), state->v, m->nv);
    tg_copy_row(tg_rolls_at(r, r->act, sample, row, m->na), state->act, m->na);
    if (!r->keep || row == r->rows)
        return;
    size_t at = (size_t)sample * (size_t)r->rows + (size_t)row;
    tg_cache to = {.capacity = r->room, .entry = r->entry + at * (size_t)r->room};
    copy_cache(state->cache, &to);
    r->entries[at] = to.count;
}

/* u = given + K (x (-) reference), within the bounds */
static tg_status apply_feedback(const tg_rolls *r, tg_lane *lane, int row, const double *given, double *u)
{
    const tg_model *m = r->m;
    const tg_feedback *f = r->feedback;
    int nv = m->nv, n = 2 * nv + m->na;
    double *e = tg_rolls_scratch(r, lane);
    tg_copy_row(u, given, m->nu);
    if (f != NULL && f->K != NULL)
    {
        const double *v = f->v + (size_t)row * (size_t)nv, *act = f->act + (size_t)row * (size_t)m->na;
        TG_TRY(tg_difference(m, f->q + (size_t)row * (size_t)m->nq, lane->state.q, e, &lane->error));
        for (int i = 0; i < nv; i++)
            e[nv + i] = lane->state.v[i] - v[i];
        for (int i = 0; i < m->na; i++)
            e[2 * nv + i] = lane->state.act[i] - act[i];
        const double *K = f->K + (size_t)row * (size_t)m->nu * (size_t)n;
        for (int i = 0; i < m->nu; i++)
            for (int j = 0; j < n; j++)
                u[i] += K[i * n + j] * e[j];
    }
    for (int i = 0; i < m->nu; i++)
        u[i] = fmin(fmax(u[i], r->lower[i]), r->upper[i]);
    return TG_OK;
}

static bool too_fast(const tg_rolls *r, const tg_state *state)
{
    for (int i = 0; i < r->m->nv; i++)
        if (!(fabs(state->v[i]) <= r->speed))
            return true;
    return false;
}

/* The steps of a row; blown: a step was refused, or the state is too fast. */
static tg_status roll_row(const tg_rolls *r, tg_lane *lane, const double *u, bool *blown)
{
    const tg_control control = {.u = u};
    for (int step = 0; step < r->hold; step++)
    {
        tg_status status = tg_step(r->m, lane->work, &r->batch->options, &lane->state, &control, &lane->state, NULL);
        if (status == TG_ERR_CAPACITY || status == TG_ERR_MEMORY || status == TG_ERR_ARGUMENT)
            return status;
        if (status != TG_OK)
        {
            *blown = true;
            return TG_OK;
        }
    }
    *blown = too_fast(r, &lane->state);
    return TG_OK;
}

static tg_status cost_of(const tg_rolls *r, tg_lane *lane, int sample)
{
    const tg_model *m = r->m;
    double *scratch = tg_rolls_scratch(r, lane);
    for (int row = 0; row <= r->rows; row++)
    {
        tg_cost_point at = {.row = row,
                            .rows = r->rows,
                            .q = tg_rolls_at(r, r->q, sample, row, m->nq),
                            .v = tg_rolls_at(r, r->v, sample, row, m->nv),
                            .act = tg_rolls_at(r, r->act, sample, row, m->na),
                            .u = row < r->rows ? tg_rolls_at(r, r->u, sample, row, m->nu) : NULL};
        double *value = tg_rolls_at(r, r->value, sample, row, 1);
        TG_TRY(tg_cost_quadratic(m, lane->work, r->cost, &at, scratch, value, NULL, NULL));
    }
    return TG_OK;
}

/* Adds what a callback says about samples first .. first + count - 1. extra: as many numbers as points. */
static tg_status add_callback(const tg_rolls *r, int first, int count, double *extra, tg_error *error)
{
    const tg_model *m = r->m;
    int points = count * (r->rows + 1);
    tg_cost_points at = {.count = points,
                         .row = r->row,
                         .q = tg_rolls_at(r, r->q, first, 0, m->nq),
                         .v = tg_rolls_at(r, r->v, first, 0, m->nv),
                         .act = tg_rolls_at(r, r->act, first, 0, m->na),
                         .u = tg_rolls_at(r, r->u, first, 0, m->nu)};
    double *value = tg_rolls_at(r, r->value, first, 0, 1);
    for (int i = 0; i < points; i++)
        extra[i] = NAN; /* what it does not write is found */
    tg_status status = r->cost->points(r->cost->user, &at, extra, NULL);
    if (status != TG_OK)
        return tg_fail(error, status, "the cost of sample %d was refused: %s", first, tg_status_string(status));
    for (int i = 0; i < points; i++)
        extra[i] = isinf(r->total[first + i / (r->rows + 1)]) ? 0 : extra[i]; /* those that blew up do not count */
    TG_TRY(tg_cost_check_values(extra, points, r->rows, first, true, error));
    for (int i = 0; i < points; i++)
        value[i] += extra[i];
    return TG_OK;
}

static tg_status roll_one(void *context, tg_lane *lane, int sample)
{
    const tg_rolls *r = context;
    const tg_model *m = r->m;
    const tg_param_source params = {r->batch->params, &r->batch->names, NULL};
    bool blown = false;
    int row = 0;
    TG_TRY(tg_lane_params(lane, &params, 0));
    tg_copy_row(lane->state.q, r->q0, m->nq);
    tg_copy_row(lane->state.v, r->v0, m->nv);
    tg_copy_row(lane->state.act, r->act0, m->na);
    copy_cache(&r->start, lane->state.cache);
    keep_state(r, sample, 0, &lane->state);
    for (; row < r->rows && !blown; row++)
    {
        double *u = tg_rolls_at(r, r->u, sample, row, m->nu);
        TG_TRY(apply_feedback(r, lane, row, tg_rolls_at(r, r->given, sample, row, m->nu), u));
        TG_TRY(roll_row(r, lane, u, &blown));
        if (!blown)
            keep_state(r, sample, row + 1, &lane->state);
    }
    r->total[sample] = blown ? INFINITY : 0;
    if (!blown)
        return cost_of(r, lane, sample);
    for (int i = row; i <= r->rows; i++) /* row - 1 is the last valid one */
    {
        tg_state last = {tg_rolls_at(r, r->q, sample, row - 1, m->nq), tg_rolls_at(r, r->v, sample, row - 1, m->nv),
                         tg_rolls_at(r, r->act, sample, row - 1, m->na), NULL};
        keep_state(r, sample, i, &last);
    }
    for (int i = 0; i <= r->rows; i++)
        *tg_rolls_at(r, r->value, sample, i, 1) = 0;
    return TG_OK;
}

/* ---- all of them ---- */

static tg_status roll_and_ask(void *context, tg_lane *lane, int sample)
{
    tg_rolls *r = context;
    TG_TRY(roll_one(context, lane, sample));
    if (r->cost->points == NULL || r->cost->together || isinf(r->total[sample]))
        return TG_OK;
    return add_callback(r, sample, 1, r->extra + (size_t)sample * (size_t)(r->rows + 1), &lane->error);
}

tg_status tg_rolls_run(tg_rolls *r, int count, const tg_feedback *feedback, tg_error *error)
{
    r->feedback = feedback;
    tg_status status = tg_batch_run(r->batch, count, roll_and_ask, r);
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_batch_message(r->batch));
    if (r->cost->points != NULL && r->cost->together)
        TG_TRY(add_callback(r, 0, count, r->extra, error));
    r->rollouts += count;
    for (int i = 0; i < count; i++)
    {
        r->blown += isinf(r->total[i]);
        for (int row = 0; row <= r->rows; row++)
            r->total[i] += *tg_rolls_at(r, r->value, i, row, 1);
    }
    return TG_OK;
}

int tg_rolls_cheapest(const tg_rolls *r, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (r->total[i] < r->total[best])
            best = i;
    return best;
}

void tg_rolls_copy(tg_rolls *r, int from, int to)
{
    const tg_model *m = r->m;
    const struct
    {
        double *at;
        int n;
    } arrays[] = {{r->u, m->nu}, {r->q, m->nq}, {r->v, m->nv}, {r->act, m->na}, {r->value, 1}};
    if (from == to)
        return;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        if (arrays[i].n > 0)
            memcpy(tg_rolls_at(r, arrays[i].at, to, 0, arrays[i].n), tg_rolls_at(r, arrays[i].at, from, 0, arrays[i].n),
                   sizeof(double) * (size_t)(r->rows + 1) * (size_t)arrays[i].n);
    r->total[to] = r->total[from];
    if (!r->keep)
        return;
    size_t rows = (size_t)r->rows, room = (size_t)r->room;
    memcpy(r->entries + (size_t)to * rows, r->entries + (size_t)from * rows, sizeof *r->entries * rows);
    memcpy(r->entry + (size_t)to * rows * room, r->entry + (size_t)from * rows * room, sizeof *r->entry * rows * room);
}
