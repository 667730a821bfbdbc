/* tg_check: derivatives of steps against central differences, along a trajectory that lifts, drops and pushes the
 * model. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "check/judge.h"
#include "check/overlap.h"
#include "contact/rows.h"
#include "model/params.h"

static const uint32_t cookie = 0x5c3d91e7u;

tg_check_options tg_default_check_options(void)
{
    return (tg_check_options){.states = 100, .seed = 1, .cookie = cookie};
}

/* ---- groups ---- */

double *tg_judge_numbers(const tg_cotangent *g, int group)
{
    double *const part[GROUP_PARAMS + 1] = {g->q, g->v, g->act, g->u, g->tau, g->wrench, g->dt, g->params};
    return part[group < GROUP_PARAMS ? group : GROUP_PARAMS];
}

int tg_judge_count(const tg_sizes *n, int group)
{
    const int size[GROUP_PARAMS + 1] = {n->nv, n->nv, n->na, n->nu, n->nv, 6 * n->nbody, 1, n->nparams};
    return size[group];
}

static int kind_named(tg_check_result *r, const char *name)
{
    int group = GROUP_PARAMS;
    while (group < r->ngroup && strcmp(r->group[group].name, name) != 0)
        group++;
    if (group == r->ngroup && r->ngroup < TG_CHECK_GROUPS)
        snprintf(r->group[r->ngroup++].name, sizeof r->group->name, "%s", name);
    return group < TG_CHECK_GROUPS ? group : TG_CHECK_GROUPS - 1;
}

/* every field of every element is a kind: "body.mass", "gravity" */
static void name_groups(tg_judge *c)
{
    static const char *const name[GROUP_PARAMS] = {"q", "v", "act", "u", "tau", "wrench", "dt"};
    for (int i = 0; i < GROUP_PARAMS; i++)
        snprintf(c->r->group[i].name, sizeof c->r->group[i].name, "%s", name[i]);
    c->r->ngroup = GROUP_PARAMS;
    for (int i = 0; i < tg_param_slice_count(c->m); i++)
    {
        tg_param_slice slice;
        char kind[64];
        if (tg_param_slice_get(c->m, i, &slice, NULL) != TG_OK)
            continue;
        if (slice.element == TG_ELEMENT_COUNT)
            snprintf(kind, sizeof kind, "%s", slice.field);
        else
            snprintf(kind, sizeof kind, "%s.%s", tg_element_string(slice.element), slice.field);
        for (int k = 0; k < slice.size; k++)
            c->kind[slice.offset + k] = kind_named(c->r, kind);
    }
}

/* ---- memory ---- */

static void place_numbers(tg_cotangent *g, const tg_sizes *n, tg_arena *arena)
{
    double **const part[GROUP_PARAMS + 1] = {&g->q, &g->v, &g->act, &g->u, &g->tau, &g->wrench, &g->dt, &g->params};
    for (int i = 0; i <= GROUP_PARAMS; i++)
        *part[i] = TG_TAKE(arena, double, tg_judge_count(n, i), "numbers");
}

/* the matrices of everything that goes in but wrenches */
static void place_jacobian(tg_jacobian *j, const tg_sizes *n, tg_arena *arena)
{
    const int rows[3] = {n->nv, n->nv, n->na}, nindex = TG_JUDGE_A_KIND * TG_CHECK_GROUPS;
    const int columns[7] = {n->nv, n->nv, n->na, n->nu, n->nv, 1, nindex};
    double **const block[3][7] = {
        {&j->dq_dq, &j->dq_dv, &j->dq_dact, &j->dq_du, &j->dq_dtau, &j->dq_ddt, &j->dq_dparams},
        {&j->dv_dq, &j->dv_dv, &j->dv_dact, &j->dv_du, &j->dv_dtau, &j->dv_ddt, &j->dv_dparams},
        {&j->dact_dq, &j->dact_dv, &j->dact_dact, &j->dact_du, &j->dact_dtau, &j->dact_ddt, &j->dact_dparams}};
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 7; k++)
            *block[r][k] = TG_TAKE(arena, double, (size_t)rows[r] * (size_t)columns[k], "jacobian");
}

static void place(tg_judge *c, tg_arena *arena)
{
    const tg_sizes *n = &c->n;
    place_numbers(&c->exact, n, arena);
    place_numbers(&c->differences, n, arena);
    place_numbers(&c->spread, n, arena);
    place_numbers(&c->along, n, arena);
    place_numbers(&c->wanted, n, arena);
    tg_walk_place(&c->walk, arena);
    place_jacobian(&c->jacobian, n, arena);
    c->out = TG_TAKE(arena, double, 2 * n->nv + n->na, "out");
    c->change = TG_TAKE(arena, double, 2 * n->nv + n->na, "change");
    c->chosen = TG_TAKE(arena, int, n->nparams, "chosen");
    c->kind = TG_TAKE(arena, int, n->nparams, "kind");
    c->own = TG_TAKE(arena, tg_label_kind, n->nparams, "own labels");
    c->pool = TG_TAKE(arena, int, n->nparams, "pool");
    c->index = TG_TAKE(arena, int, TG_JUDGE_A_KIND *TG_CHECK_GROUPS, "index");
    c->contact = TG_TAKE(arena, tg_step_contact, c->walk.room, "contact");
}

static tg_status allocate(tg_judge *c, tg_error *error)
{
    tg_arena counting = {0};
    place(c, &counting);
    c->memory = counting.failed ? NULL : tg_alloc(&c->m->allocator, counting.used);
    if (c->memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_check: no memory for %zu bytes", counting.used);
    tg_arena arena = {.base = c->memory, .capacity = counting.used};
    place(c, &arena);
    return TG_OK;
}

/* ---- the model ---- */

/* What contacts the model can have: any, and with friction. */
static void find_contacts(tg_judge *c)
{
    c->r->touching = c->n.ncandidate + c->n.npair > 0;
    c->r->sliding = c->n.npair > 0;
    for (int i = 0; i < c->n.ngeom; i++)
    {
        tg_geom_info geom;
        c->r->sliding = c->r->sliding || (tg_geom_get(c->m, i, &geom, NULL) == TG_OK && geom.condim > 1);
    }
}

/* Pairs of geoms that overlap in the reference configuration. */
static tg_status find_overlaps(tg_judge *c, tg_error *error)
{
    tg_overlap *overlap = NULL;
    int count = 0;
    tg_status status = tg_overlaps_find(c->m, c->walk.w, &overlap, &count, error);
    for (int i = 0; i < count && status == TG_OK; i++)
    {
        c->r->overlaps += !overlap[i].terrain;
        c->r->deepest = overlap[i].terrain ? c->r->deepest : fmax(c->r->deepest, overlap[i].depth);
    }
    tg_free(&c->m->allocator, overlap);
    return status;
}

static void choose_params(tg_judge *c, const tg_check_options *options)
{
    c->nchosen = options->index != NULL ? options->nindex : c->n.nparams;
    for (int i = 0; i < c->nchosen; i++)
        c->chosen[i] = options->index != NULL ? options->index[i] : i;
}

/* contacts: room for them; 0: chosen by the model. Also after a failure it is to be closed. */
static tg_status open_judge(tg_judge *c, const tg_model *m, const tg_check_options *options, int contacts,
                            tg_check_result *r, tg_error *error)
{
    *r = (tg_check_result){.rare = -1};
    *c = (tg_judge){.m = m, .n = tg_model_sizes(m), .r = r};
    tg_status status = tg_walk_open(&c->walk, m, options, contacts, error);
    if (status == TG_OK)
        status = tg_differences_create(m, contacts, &c->d, error);
    if (status == TG_OK)
        status = allocate(c, error);
    if (status != TG_OK)
        return status;
    tg_walk_start(&c->walk);
    choose_params(c, options);
    name_groups(c);
    find_contacts(c);
    r->implicit_actuators = c->walk.options.implicit_actuators == TG_ON;
    return find_overlaps(c, error);
}

static void close_judge(tg_judge *c)
{
    tg_free(&c->m->allocator, c->memory);
    tg_differences_destroy(c->d);
    tg_walk_close(&c->walk);
}

/* ---- one state ---- */

/* The modes of the contacts of the last step, without redundant ones. Those without rows open. */
static void meet_modes(tg_judge *c)
{
    int count = 0;
    memset(c->met, 0, sizeof c->met);
    if (tg_step_contacts(c->m, c->walk.w, c->contact, c->walk.room, &count) != TG_OK)
        return;
    for (int i = 0; i < count && i < c->walk.room; i++)
        c->met[c->contact[i].mode] += !c->contact[i].immaterial;
    const tg_rows *r = c->walk.w->rows;
    for (int i = 0; i < r->ntouch; i++)
        c->met[TG_CONTACT_BREAKING] += r->touch[i].aside;
}

static void count_modes(tg_judge *c)
{
    for (int mode = 0; mode < TG_CONTACT_MODES; mode++)
    {
        c->r->contacts[mode] += c->met[mode];
        c->r->with_mode[mode] += c->met[mode] > 0;
    }
}

static void count_infinite(tg_judge *c)
{
    for (int group = 0; group <= GROUP_PARAMS; group++)
        for (int i = 0; i < tg_judge_count(&c->n, group); i++)
            c->r->infinite += !isfinite(tg_judge_numbers(&c->exact, group)[i]);
}

/* the derivatives of the step that was taken, and their differences */
static tg_status sample(tg_judge *c, tg_error *error)
{
    int nv = c->n.nv;
    for (int k = 0; k < 2 * nv + c->n.na; k++)
        c->out[k] = tg_walk_noise(&c->walk);
    tg_cotangent out = {.q = c->out, .v = c->out + nv, .act = c->out + 2 * nv};
    tg_status status = tg_step_vjp(c->m, c->walk.w, &out, &c->exact, &c->label);
    if (status == TG_ERR_UNSUPPORTED)
    {
        c->r->states++;
        c->r->refused++;
        c->r->not_exact[c->walk.set]++;
        return TG_OK;
    }
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_work_message(c->walk.w));
    count_modes(c);
    count_infinite(c);
    tg_judge_draw(c);
    c->r->labels[c->label.kind]++;
    c->r->not_exact[c->walk.set] += c->label.kind != TG_LABEL_EXACT;
    status = tg_judge_compare(c, &out);
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_differences_message(c->d));
    status = tg_judge_agree(c);
    if (status != TG_OK)
        return tg_fail(error, status, "%s", tg_work_message(c->walk.w));
    c->r->states++;
    return TG_OK;
}

static tg_status follow(tg_judge *c, const tg_check_options *options, tg_error *error)
{
    bool goes_on = true;
    while (goes_on && c->r->states < options->states)
    {
        tg_status status = tg_walk_push(&c->walk, tg_judge_rare(c->r, 0.2), c->r->touching);
        if (status == TG_OK)
            status = tg_walk_step(&c->walk);
        if (status != TG_OK)
            return tg_fail(error, status, "%s", tg_work_message(c->walk.w));
        meet_modes(c);
        if (!tg_walk_due(&c->walk, c->met))
            continue;
        TG_TRY(sample(c, error));
        goes_on = options->progress == NULL || options->progress(options->user, c->r->states, options->states);
    }
    return TG_OK;
}

/* ---- the boundary ---- */

static tg_status check_arguments(const tg_model *m, const tg_check_options *o, const tg_check_result *result,
                                 tg_error *error)
{
    if (m == NULL || result == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_check: %s is NULL", m == NULL ? "m" : "result");
    if (o->cookie != cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_check: options do not start from tg_default_check_options()");
    if (o->params != NULL && o->params->model != m)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_check: params are of another model");
    if (o->states < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_check: states = %d; must be at least 1", o->states);
    if (o->seed < 1)
        return tg_fail(error, TG_ERR_VALUE, "tg_check: seed = %d; must be at least 1", o->seed);
    if (o->index != NULL && (o->nindex < 0 || o->nindex > m->nparams))
        return tg_fail(error, TG_ERR_VALUE, "tg_check: nindex = %d: the model has %d parameters", o->nindex,
                       m->nparams);
    for (int i = 0; o->index != NULL && i < o->nindex; i++)
        if (o->index[i] < 0 || o->index[i] >= m->nparams)
            return tg_fail(error, TG_ERR_ARGUMENT, "tg_check: index[%d] = %d: the model has %d parameters", i,
                           o->index[i], m->nparams);
    return TG_OK;
}

static tg_status find_masked(tg_judge *c, const tg_params *params, tg_error *error)
{
    tg_check_result *r = c->r;
    r->masked = 0;
    for (int i = 0; i < c->nchosen; i++)
    {
        int by;
        TG_TRY(tg_param_masked(c->m, params, c->chosen[i], &by, error));
        if (by < 0)
            continue;
        if (r->masked < TG_CHECK_MASKED)
        {
            r->masked_index[r->masked] = c->chosen[i];
            r->masked_by[r->masked] = by;
        }
        r->masked++;
    }
    return TG_OK;
}

/* The whole check with room for so many contacts; TG_ERR_CAPACITY, and how many there should be, if they do not fit. */
static tg_status check_with(const tg_model *m, const tg_check_options *options, int *contacts, tg_check_result *result,
                            tg_error *error)
{
    tg_judge c;
    tg_status status = open_judge(&c, m, options, *contacts, result, error);
    if (status == TG_OK)
        status = find_masked(&c, options->params, error);
    if (status == TG_OK)
        status = follow(&c, options, error);
    int room = 0, found = 0, beside = tg_differences_found(c.d);
    tg_work_contacts(c.walk.w, &room, &found);
    found = beside > found ? beside : found;
    if (status != TG_OK && found > room)
    {
        status = TG_ERR_CAPACITY;
        *contacts = found + found / 2;
    }
    close_judge(&c);
    return status;
}

tg_status tg_check(const tg_model *m, const tg_check_options *options, tg_check_result *result, tg_error *error)
{
    const tg_check_options defaults = tg_default_check_options();
    options = options != NULL ? options : &defaults;
    TG_TRY(check_arguments(m, options, result, error));
    tg_status status;
    int contacts = 0, before;
    do
    {
        before = contacts;
        status = check_with(m, options, &contacts, result, error);
    } while (status == TG_ERR_CAPACITY && contacts > before);
    if (status == TG_OK)
        tg_judge_sum_up(result);
    return status;
}
