/* Rollouts and their derivatives.
 *
 * A tape keeps the state before every step of one segment and the record of the step (record.c: contact points,
 * impulses, modes), and the states, caches included, at which segments start. Going back it brings every step of a
 * segment back from its record, with nothing solved again, and takes its reverse mode (step_vjp.c). With one segment
 * that is all; with sqrt(T) segments the steps of all but the last one are taken once more, from the same state and
 * cache and so bit by bit the same, in the memory of sqrt(T) states and records and sqrt(T) starts. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "math/lanes.h"
#include "step/step.h"
#include "step/tape.h"

/* Memory for records; more is taken when a rollout has more contacts than were foreseen, and kept for the next. */
typedef struct chunk
{
    struct chunk *next;
    size_t capacity, used;
} chunk;

struct tg_tape
{
    const tg_model *m;
    tg_allocator allocator;
    size_t bytes;
    int capacity; /* steps */
    tg_tape_kind kind;
    int length;                   /* steps of a segment */
    int entries;                  /* of a cache */
    tg_state *start;              /* of every segment */
    tg_state *state;              /* before every step of one segment; they share one cache */
    tg_state last;                /* after the last step of the segment */
    tg_cache *cache;              /* of the state that the next step starts from */
    const unsigned char **record; /* of every step of the segment */
    chunk *pool, *filling;        /* where records are; the one that is being filled */
    tg_cotangent g, after;        /* gradients with respect to a state before and after a step */
    tg_cotangent held;            /* those of one step's u, tau and wrench, which share a row with others */
    int segment;                  /* whose states and records are in memory */
    tg_tape_tick *tick;           /* called after each step of a rollout, or NULL */
    void *ticked;                 /* for it */

    /* of the last rollout */
    int steps; /* -1: there is none */
    tg_options options;
    tg_controls controls;
    const tg_params *params;
    uint64_t generation;
    size_t given; /* contacts that the steps before the one at hand were given */
};

/* ---- memory ---- */

static void place_cache(const tg_tape *t, tg_cache **cache, tg_arena *arena)
{
    *cache = TG_TAKE(arena, tg_cache, 1, "cache");
    tg_cache_entry *entry = TG_TAKE(arena, tg_cache_entry, t->entries, "cache entries");
    if (*cache != NULL)
        **cache = (tg_cache){.capacity = t->entries, .entry = entry};
}

static tg_state place_state(const tg_tape *t, tg_arena *arena)
{
    return (tg_state){TG_TAKE(arena, double, t->m->nq, "q"), TG_TAKE(arena, double, t->m->nv, "v"),
                      TG_TAKE(arena, double, t->m->na, "act"), t->cache};
}

static void place_gradient(const tg_model *m, tg_cotangent *g, tg_arena *arena)
{
    *g = (tg_cotangent){.q = TG_TAKE(arena, double, m->nv, "q"),
                        .v = TG_TAKE(arena, double, m->nv, "v"),
                        .act = TG_TAKE(arena, double, m->na, "act"),
                        .dt = TG_TAKE(arena, double, 1, "dt")};
}

static void place(tg_tape *t, tg_arena *arena)
{
    int segments = t->kind == TG_TAPE_NONE ? 1 : (t->capacity + t->length - 1) / t->length;
    bool counting = arena->base == NULL;
    t->start = TG_TAKE(arena, tg_state, segments, "starts");
    t->state = TG_TAKE(arena, tg_state, t->length, "states");
    t->record = TG_TAKE(arena, const unsigned char *, t->length, "records");
    place_cache(t, &t->cache, arena);
    for (int i = 0; i < segments; i++)
    {
        tg_state s = place_state(t, arena);
        place_cache(t, &s.cache, arena);
        if (!counting)
            t->start[i] = s;
    }
    for (int i = 0; i < t->length; i++)
    {
        tg_state s = place_state(t, arena);
        if (!counting)
            t->state[i] = s;
    }
    t->last = place_state(t, arena);
    place_gradient(t->m, &t->g, arena);
    place_gradient(t->m, &t->after, arena);
    t->held = (tg_cotangent){.u = TG_TAKE(arena, double, t->m->nu, "u"),
                             .tau = TG_TAKE(arena, double, t->m->nv, "tau"),
                             .wrench = TG_TAKE(arena, double, TWIST * t->m->nbody, "wrench")};
}

/* Room for every joint, tendon and equality and for the contacts that a workspace has room for by default; what finds
 * none starts from zero, the same way each time. */
int tg_tape_entries(const tg_model *m)
{
    return m->nequality + m->nv + 2 * m->njoint + 3 * m->ntendon + tg_default_contacts(m);
}

static size_t rounded(size_t bytes)
{
    return (bytes + TG_ALIGN - 1) / TG_ALIGN * TG_ALIGN;
}

static chunk *add_chunk(tg_tape *t, size_t bytes)
{
    size_t header = rounded(sizeof(chunk));
    chunk *c = tg_alloc(&t->allocator, header + bytes);
    if (c == NULL)
        return NULL;
    *c = (chunk){.capacity = bytes};
    chunk **end = &t->pool;
    while (*end != NULL)
        end = &(*end)->next;
    *end = c;
    t->bytes += header + bytes;
    return c;
}

/* for the record of one step; NULL: no memory */
static unsigned char *take_record(tg_tape *t, size_t bytes)
{
    bytes = rounded(bytes);
    while (t->filling != NULL && t->filling->capacity - t->filling->used < bytes)
        t->filling = t->filling->next;
    if (t->filling == NULL)
        t->filling = add_chunk(t, bytes * (size_t)((t->length + 7) / 8));
    if (t->filling == NULL)
        return NULL;
    unsigned char *record = (unsigned char *)t->filling + rounded(sizeof(chunk)) + t->filling->used;
    t->filling->used += bytes;
    return record;
}

static void clear_records(tg_tape *t)
{
    for (chunk *c = t->pool; c != NULL; c = c->next)
        c->used = 0;
    t->filling = t->pool;
    memset(t->record, 0, sizeof *t->record * (size_t)t->length);
}

tg_status tg_tape_create(const tg_model *m, int steps, tg_tape_kind kind, tg_tape **out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_tape_create: %s is NULL", m == NULL ? "m" : "tape");
    if (steps < 1 || steps > 100000000)
        return tg_fail(error, TG_ERR_VALUE, "tg_tape_create: %d steps; must be 1 .. 100000000", steps);
    tg_tape plan = {.m = m, .allocator = m->allocator, .capacity = steps, .entries = tg_tape_entries(m), .steps = -1};
    plan.kind = kind;
    plan.length = kind == TG_TAPE_NONE ? 2 : kind == TG_TAPE_CHECKPOINTS ? (int)ceil(sqrt(steps)) : steps;
    tg_arena arena = {0};
    TG_TAKE(&arena, tg_tape, 1, "tape");
    place(&plan, &arena);
    plan.bytes = arena.used;
    void *memory = arena.failed ? NULL : tg_alloc(&m->allocator, plan.bytes);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_tape_create: no memory for %zu bytes", plan.bytes);
    arena = (tg_arena){.base = memory, .capacity = plan.bytes};
    tg_tape *t = TG_TAKE(&arena, tg_tape, 1, "tape");
    *t = plan;
    place(t, &arena);
    size_t records = rounded(tg_step_record_foreseen(m)) * (size_t)t->length;
    if (kind != TG_TAPE_NONE && add_chunk(t, records) == NULL)
    {
        tg_tape_destroy(t);
        return tg_fail(error, TG_ERR_MEMORY, "tg_tape_create: no memory for %zu bytes of records", records);
    }
    *out = t;
    return TG_OK;
}

void tg_tape_destroy(tg_tape *t)
{
    if (t == NULL)
        return;
    tg_allocator allocator = t->allocator;
    for (chunk *c = t->pool, *next; c != NULL; c = next)
    {
        next = c->next;
        tg_free(&allocator, c);
    }
    tg_free(&allocator, t);
}

size_t tg_tape_bytes(const tg_tape *t)
{
    return t == NULL ? 0 : t->bytes;
}

const tg_state *tg_tape_last(const tg_tape *t)
{
    return &t->last;
}

void tg_tape_adopt(tg_tape *t, const tg_work *w)
{
    t->params = w->params;
    t->generation = w->params->generation;
}

void tg_tape_watch(tg_tape *t, tg_tape_tick *tick, void *user)
{
    t->tick = tick;
    t->ticked = user;
}

/* ---- forward ---- */

static void copy_state(const tg_model *m, tg_state *to, const tg_state *from)
{
    memcpy(to->q, from->q, sizeof(double) * (size_t)m->nq);
    memcpy(to->v, from->v, sizeof(double) * (size_t)m->nv);
    if (m->na > 0)
        memcpy(to->act, from->act, sizeof(double) * (size_t)m->na);
    const tg_cache *cache = from->cache;
    int count = cache == NULL ? 0 : cache->count;
    to->cache->count = count < to->cache->capacity ? count : to->cache->capacity;
    if (to->cache->count > 0)
        memcpy(to->cache->entry, cache->entry, sizeof(tg_cache_entry) * (size_t)to->cache->count);
}

/* which row of the controls a step has */
static int held_row(const tg_controls *c, int step)
{
    return c->hold > 1 ? step / c->hold : step;
}

static tg_control control_of(const tg_model *m, const tg_controls *c, int step)
{
    size_t row = (size_t)held_row(c, step);
    return (tg_control){.u = c->u == NULL ? NULL : c->u + row * (size_t)m->nu,
                        .tau = c->tau == NULL ? NULL : c->tau + row * (size_t)m->nv,
                        .wrench = c->wrench == NULL ? NULL : c->wrench + row * TWIST * (size_t)m->nbody,
                        .contacts = c->contacts == NULL ? NULL : c->contacts + step};
}

/* contacts that a step was given */
static size_t given_to(const tg_controls *c, int step)
{
    return c->contacts == NULL ? 0 : (size_t)c->contacts[step].count;
}

static double *given_row(const tg_tape *t, double *rows)
{
    return rows == NULL ? NULL : rows + TG_GIVEN_NUMBERS * t->given;
}

/* where a step's result is: the last step of a segment has a place of its own */
static tg_state *next_of(tg_tape *t, int step)
{
    bool last = ((step + 1) % t->length == 0 && t->kind != TG_TAPE_NONE) || step + 1 == t->controls.steps;
    return last ? &t->last : &t->state[(step + 1) % t->length];
}

static tg_status record(tg_work *w, tg_tape *t, int step)
{
    TG_TRY(tg_step_modes(w));
    size_t bytes = tg_step_record_bytes(w);
    unsigned char *to = take_record(t, bytes);
    if (to == NULL)
        return tg_fail(&w->error, TG_ERR_MEMORY, "tg_rollout: no memory for the %zu bytes of step %d", bytes, step);
    tg_step_record(w, to);
    t->record[step % t->length] = to;
    return TG_OK;
}

static tg_status step_at(const tg_model *m, tg_work *w, tg_tape *t, int step, bool keep, tg_info *info)
{
    tg_control control = control_of(m, &t->controls, step);
    TG_TRY(tg_step(m, w, &t->options, &t->state[step % t->length], &control, next_of(t, step), info));
    return keep ? record(w, t, step) : TG_OK;
}

/* the step as it was taken */
static tg_status restore_step(const tg_model *m, tg_work *w, tg_tape *t, int step, tg_restore_use use)
{
    tg_control control = control_of(m, &t->controls, step);
    if (use == TG_RESTORE_STATES && t->options.backward == TG_BACKWARD_SMOOTHED)
        use = TG_RESTORE_PARAMETERS;
    return tg_step_restore(m, w, &t->state[step % t->length], &control, next_of(t, step), t->record[step % t->length],
                           use);
}

static void keep_row(double *rows, int row, const double *x, int n)
{
    if (rows != NULL && n > 0)
        memcpy(rows + (size_t)row * (size_t)n, x, sizeof(double) * (size_t)n);
}

static void keep(const tg_model *m, const tg_trajectory *out, int row, const tg_state *s)
{
    if (out == NULL)
        return;
    keep_row(out->q, row, s->q, m->nq);
    keep_row(out->v, row, s->v, m->nv);
    keep_row(out->act, row, s->act, m->na);
}

static void begin_segment(const tg_model *m, tg_tape *t, int segment)
{
    if (segment > 0)
        copy_state(m, &t->state[0], &t->last);
    copy_state(m, &t->start[segment], &t->state[0]);
    clear_records(t);
    t->segment = segment;
}

/* only the last segment is kept */
static tg_status run(const tg_model *m, tg_work *w, tg_tape *t, tg_trajectory *out, tg_info *worst)
{
    int steps = t->controls.steps, last = (steps - 1) / t->length;
    bool records = t->kind != TG_TAPE_NONE;
    keep(m, out, 0, &t->state[0]);
    for (int step = 0; step < steps; step++)
    {
        tg_info info;
        if (records && step % t->length == 0)
            begin_segment(m, t, step / t->length);
        TG_TRY(step_at(m, w, t, step, records && t->segment == last, &info));
        keep(m, out, step + 1, next_of(t, step));
        if (out != NULL && out->residual != NULL)
            out->residual[step] = info.residual;
        if (out != NULL && out->info != NULL)
            out->info[step] = info;
        if (worst != NULL && (step == 0 || info.residual > worst->residual))
            *worst = info;
        if (t->tick != NULL && !t->tick(t->ticked))
            return tg_fail(&w->error, TG_ERR_CANCELLED, "tg_rollout: stopped after %d of %d steps", step + 1, steps);
    }
    return TG_OK;
}

static tg_status check_rollout(const tg_model *m, tg_work *w, const tg_tape *t, const tg_state *start,
                               const tg_controls *controls)
{
    TG_TRY(tg_check_work(m, w));
    if (t == NULL || start == NULL || controls == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout: %s is NULL",
                       t == NULL       ? "tape"
                       : start == NULL ? "start"
                                       : "controls");
    if (t->m != m)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout: the tape was created for another model");
    if (controls->hold < 0)
        return tg_fail(&w->error, TG_ERR_VALUE, "tg_rollout: controls.hold = %d is negative", controls->hold);
    if (controls->steps < 1 || controls->steps > t->capacity)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "tg_rollout: %d steps; the tape has room for %d", controls->steps,
                       t->capacity);
    TG_TRY(tg_check_q(m, w, start->q));
    TG_TRY(tg_check_vector(w, "start.v", start->v, m->nv));
    return tg_check_vector(w, "start.act", start->act, m->na);
}

tg_status tg_rollout(const tg_model *m, tg_work *w, tg_tape *t, const tg_options *options, const tg_state *start,
                     const tg_controls *controls, tg_trajectory *out, tg_info *worst)
{
    TG_TRY(check_rollout(m, w, t, start, controls));
    t->steps = -1;
    t->options = options != NULL ? *options : tg_default_options();
    t->controls = *controls;
    t->params = w->params;
    t->generation = w->params->generation;
    copy_state(m, &t->state[0], start);
    TG_TRY(run(m, w, t, out, worst));
    t->steps = t->kind == TG_TAPE_NONE ? -1 : controls->steps;
    return TG_OK;
}

/* ---- reverse ---- */

/* states and records of a segment, from its start */
static tg_status restore_segment(const tg_model *m, tg_work *w, tg_tape *t, int segment)
{
    if (t->segment == segment)
        return TG_OK;
    copy_state(m, &t->state[0], &t->start[segment]);
    clear_records(t);
    t->segment = segment;
    int end = (segment + 1) * t->length;
    for (int step = segment * t->length; step < end && step < t->steps; step++)
        TG_TRY(step_at(m, w, t, step, true, NULL));
    return TG_OK;
}

static void add_row(double *to, const double *rows, int row, int n)
{
    for (int i = 0; rows != NULL && i < n; i++)
        to[i] += rows[(size_t)row * (size_t)n + (size_t)i];
}

static void add_given(const tg_model *m, tg_cotangent *g, const tg_trajectory *out, int row)
{
    add_row(g->q, out->q, row, m->nv);
    add_row(g->v, out->v, row, m->nv);
    add_row(g->act, out->act, row, m->na);
}

static void clear_gradient(const tg_model *m, tg_cotangent *g)
{
    memset(g->q, 0, sizeof(double) * (size_t)m->nv);
    memset(g->v, 0, sizeof(double) * (size_t)m->nv);
    memset(g->act, 0, sizeof(double) * (size_t)m->na);
}

static void worse_label(tg_label *label, const tg_label *step)
{
    label->kind = step->kind > label->kind ? step->kind : label->kind;
    label->margin = fmin(label->margin, step->margin);
    label->condition = fmax(label->condition, step->condition);
    label->residual = fmax(label->residual, step->residual);
    label->twofold = label->twofold || step->twofold;
}

/* Inlined, because calls of functions that only prefetch count as without effect. */
TG_INLINE void fetch(const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes && from != NULL; i += 64)
        __builtin_prefetch((const unsigned char *)from + i);
}

TG_INLINE void fetch_row(const double *rows, int row, int n)
{
    if (rows != NULL)
        fetch(rows + (size_t)row * (size_t)n, sizeof(double) * (size_t)n);
}

/* What a step needs, on its way from memory while the step after it is looked at. Records follow each other. */
TG_INLINE void fetch_step(const tg_model *m, const tg_tape *t, int step, const tg_trajectory *out,
                          const tg_rollout_gradient *in)
{
    int at = step % t->length;
    if (step < 0 || at == t->length - 1)
        return;
    uintptr_t first = (uintptr_t)t->record[at], end = (uintptr_t)t->record[at + 1];
    if (first < end && end - first < 65536) /* in the same chunk */
        fetch(t->record[at], end - first);
    fetch(t->state[at].q, sizeof(double) * (size_t)m->nq);
    fetch(t->state[at].v, sizeof(double) * (size_t)m->nv);
    fetch_row(t->controls.u, held_row(&t->controls, step), m->nu);
    fetch_row(t->controls.tau, held_row(&t->controls, step), m->nv);
    fetch_row(out->q, step, m->nv);
    fetch_row(out->v, step, m->nv);
    fetch_row(in->u, held_row(&t->controls, step), m->nu);
    fetch_row(in->tau, held_row(&t->controls, step), m->nv);
}

/* where the gradient of a step's own controls goes: the last step of a row writes it, those before add theirs */
static double *own_row(double *rows, int row, int n, bool first, double *held)
{
    return rows == NULL ? NULL : first ? rows + (size_t)row * (size_t)n : held;
}

static void add_held(double *rows, int row, int n, const double *held)
{
    for (int i = 0; rows != NULL && i < n; i++)
        rows[(size_t)row * (size_t)n + (size_t)i] += held[i];
}

static tg_status step_back(const tg_model *m, tg_work *w, tg_tape *t, int step, tg_rollout_gradient *in,
                           tg_label *label)
{
    tg_label now;
    tg_cotangent g = t->g;
    int row = held_row(&t->controls, step), wrenches = TWIST * m->nbody;
    bool first = step + 1 == t->steps || held_row(&t->controls, step + 1) != row;
    g.u = own_row(in->u, row, m->nu, first, t->held.u);
    g.tau = own_row(in->tau, row, m->nv, first, t->held.tau);
    g.wrench = own_row(in->wrench, row, wrenches, first, t->held.wrench);
    g.params = in->params;
    g.contact = given_row(t, in->contact);
    TG_TRY(restore_step(m, w, t, step, in->params != NULL ? TG_RESTORE_PARAMETERS : TG_RESTORE_STATES));
    TG_TRY(tg_step_vjp_add(m, w, &(tg_cotangent){.q = t->after.q, .v = t->after.v, .act = t->after.act}, &g, &now));
    if (!first)
    {
        add_held(in->u, row, m->nu, t->held.u);
        add_held(in->tau, row, m->nv, t->held.tau);
        add_held(in->wrench, row, wrenches, t->held.wrench);
    }
    if (in->dt != NULL)
        *in->dt += *t->g.dt;
    worse_label(label, &now);
    return TG_OK;
}

static tg_status sweep(const tg_model *m, tg_work *w, tg_tape *t, const tg_trajectory *out, tg_rollout_gradient *in,
                       tg_label *label)
{
    clear_gradient(m, &t->after);
    add_given(m, &t->after, out, t->steps);
    t->given = 0;
    for (int step = 0; step < t->steps; step++)
        t->given += given_to(&t->controls, step);
    for (int step = t->steps - 1; step >= 0; step--)
    {
        t->given -= given_to(&t->controls, step);
        TG_TRY(restore_segment(m, w, t, step / t->length));
        fetch_step(m, t, step - 1, out, in);
        TG_TRY(step_back(m, w, t, step, in, label));
        tg_cotangent swap = t->after;
        t->after = t->g;
        t->g = swap;
        add_given(m, &t->after, out, step);
    }
    return TG_OK;
}

static void copy_out(double *to, const double *from, int n)
{
    if (to != NULL && n > 0)
        memcpy(to, from, sizeof(double) * (size_t)n);
}

static tg_status check_tape(const tg_model *m, tg_work *w, const char *name, const tg_tape *t)
{
    TG_TRY(tg_check_work(m, w));
    if (t == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s: tape is NULL", name);
    if (t->kind == TG_TAPE_NONE)
        return tg_fail(&w->error, TG_ERR_STALE, "%s: the tape records nothing (TG_TAPE_NONE, Python: tape=False)",
                       name);
    if (t->m != m || t->steps < 0)
        return tg_fail(&w->error, TG_ERR_STALE, "%s: the tape holds no rollout of this model", name);
    if (t->params != w->params || t->generation != w->params->generation)
        return tg_fail(&w->error, TG_ERR_STALE, "%s: the parameters have changed since the rollout", name);
    return TG_OK;
}

tg_status tg_rollout_vjp(const tg_model *m, tg_work *w, tg_tape *t, const tg_trajectory *out, tg_rollout_gradient *in,
                         tg_label *label)
{
    TG_TRY(check_tape(m, w, "tg_rollout_vjp", t));
    if (out == NULL || in == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout_vjp: %s is NULL", out == NULL ? "out" : "in");
    TG_TRY(tg_step_options(m, w, &t->options));
    tg_label worst = {TG_LABEL_EXACT, INFINITY, 1, 0, false};
    if (in->params != NULL)
        memset(in->params, 0, sizeof(double) * (size_t)m->nparams);
    if (in->dt != NULL)
        *in->dt = 0;
    TG_TRY(sweep(m, w, t, out, in, &worst));
    tg_gradient_end(m, w, in->params);
    w->step->done = false; /* where geoms are may belong to another step */
    copy_out(in->q, t->after.q, m->nv);
    copy_out(in->v, t->after.v, m->nv);
    copy_out(in->act, t->after.act, m->na);
    if (label != NULL)
        *label = worst;
    return TG_OK;
}

/* ---- forward mode ---- */

static void begin_row(double *row, const double *start, int n)
{
    for (int i = 0; i < n; i++)
        row[i] = start != NULL ? start[i] : 0;
}

static tg_status begin_changes(const tg_model *m, tg_work *w, int count, const tg_rollout_gradient *in,
                               tg_trajectory *out)
{
    if (count < 0 || ((in == NULL || out == NULL) && count > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout_jvp: %d directions%s", count,
                       in == NULL    ? ", in is NULL"
                       : out == NULL ? ", out is NULL"
                                     : "");
    for (int i = 0; i < count; i++)
    {
        if (out[i].q == NULL || out[i].v == NULL || (out[i].act == NULL && m->na > 0))
            return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout_jvp: out[%d].%s is NULL", i,
                           out[i].q == NULL   ? "q"
                           : out[i].v == NULL ? "v"
                                              : "act");
        tg_cotangent start = {.q = in[i].q, .v = in[i].v, .act = in[i].act, .dt = in[i].dt, .params = in[i].params};
        TG_TRY(tg_check_change(m, w, &start));
        begin_row(out[i].q, in[i].q, m->nv);
        begin_row(out[i].v, in[i].v, m->nv);
        begin_row(out[i].act, in[i].act, m->na);
    }
    return TG_OK;
}

static double *row_of(double *rows, int row, int n)
{
    return rows == NULL ? NULL : rows + (size_t)row * (size_t)n;
}

enum
{
    DIRECTIONS = 64 /* taken at once; more take the sweep once more */
};

static tg_status changes_at(const tg_model *m, tg_work *w, const tg_tape *t, int step, int count,
                            const tg_rollout_gradient *in, const tg_param_range *range, tg_trajectory *out,
                            tg_label *label)
{
    tg_cotangent before[DIRECTIONS], after[DIRECTIONS];
    int row = held_row(&t->controls, step);
    for (int i = 0; i < count; i++)
    {
        before[i] = (tg_cotangent){.q = row_of(out[i].q, step, m->nv),
                                   .v = row_of(out[i].v, step, m->nv),
                                   .act = row_of(out[i].act, step, m->na),
                                   .u = row_of(in[i].u, row, m->nu),
                                   .tau = row_of(in[i].tau, row, m->nv),
                                   .wrench = row_of(in[i].wrench, row, TWIST * m->nbody),
                                   .dt = in[i].dt,
                                   .params = in[i].params,
                                   .contact = given_row(t, in[i].contact)};
        after[i] = (tg_cotangent){.q = row_of(out[i].q, step + 1, m->nv),
                                  .v = row_of(out[i].v, step + 1, m->nv),
                                  .act = m->na > 0 ? row_of(out[i].act, step + 1, m->na) : NULL};
        tg_cotangent given = before[i];
        given.q = given.v = given.act = given.dt = given.params = NULL; /* judged at the start, or our own */
        TG_TRY(tg_check_change(m, w, &given));
    }
    return tg_step_jvp_many(m, w, count, before, range, after, label);
}

static tg_status sweep_forward(const tg_model *m, tg_work *w, tg_tape *t, int count, const tg_rollout_gradient *in,
                               tg_trajectory *out, tg_label *worst)
{
    tg_label now;
    tg_param_range range[DIRECTIONS];
    for (int i = 0; i < count; i++)
        range[i] = tg_range_of(m, in[i].params);
    t->given = 0;
    for (int step = 0; step < t->steps; step++)
    {
        TG_TRY(restore_segment(m, w, t, step / t->length));
        TG_TRY(restore_step(m, w, t, step, TG_RESTORE_COLUMNS));
        TG_TRY(changes_at(m, w, t, step, count, in, range, out, &now));
        t->given += given_to(&t->controls, step);
        worse_label(worst, &now);
    }
    return TG_OK;
}

tg_status tg_rollout_jvp(const tg_model *m, tg_work *w, tg_tape *t, int count, const tg_rollout_gradient *in,
                         tg_trajectory *out, tg_label *label)
{
    TG_TRY(check_tape(m, w, "tg_rollout_jvp", t));
    TG_TRY(begin_changes(m, w, count, in, out));
    TG_TRY(tg_step_options(m, w, &t->options));
    tg_label worst = {TG_LABEL_EXACT, INFINITY, 1, 0, false};
    for (int first = 0; first < count; first += DIRECTIONS)
    {
        int some = count - first < DIRECTIONS ? count - first : DIRECTIONS;
        TG_TRY(sweep_forward(m, w, t, some, in + first, out + first, &worst));
    }
    w->step->done = false;
    if (label != NULL)
        *label = worst;
    return TG_OK;
}

/* ---- one step ---- */

tg_status tg_rollout_return(const tg_model *m, tg_work *w, tg_tape *t, int step)
{
    TG_TRY(check_tape(m, w, "tg_rollout_return", t));
    if (step < 0 || step >= t->steps)
        return tg_fail(&w->error, TG_ERR_VALUE, "tg_rollout_return: step %d; the rollout has %d", step, t->steps);
    TG_TRY(tg_step_options(m, w, &t->options));
    TG_TRY(restore_segment(m, w, t, step / t->length));
    return restore_step(m, w, t, step, TG_RESTORE_COLUMNS);
}

tg_status tg_rollout_labels(const tg_model *m, tg_work *w, tg_tape *t, tg_label *label)
{
    TG_TRY(check_tape(m, w, "tg_rollout_labels", t));
    if (label == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_rollout_labels: label is NULL");
    for (int step = 0; step < t->steps; step++)
    {
        TG_TRY(tg_rollout_return(m, w, t, step));
        TG_TRY(tg_step_prepare(m, w));
        label[step] = w->step->label;
    }
    w->step->done = false;
    return TG_OK;
}
