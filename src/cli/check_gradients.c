/* tangere check: derivatives of steps against central differences, along a trajectory that lifts, drops and pushes the
 * model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check_step.h"

enum
{
    OPTION_SAMPLES,
    OPTION_SEED,
    OPTION_PARAMS,
    OPTION_JSON,
    A_KIND = 2,    /* parameters of a kind that are differenced at a state */
    A_GROUP = 4,   /* numbers of every other group, drawn at random, beside the one on which the step depends most */
    HARD = 30,     /* iterations of a step from which on fewer numbers are drawn */
    MORE_ROOM = -1 /* not a code of the process */
};

/* Numbers with respect to which steps are differentiated, one allocation. */
typedef struct gradient
{
    tg_cotangent g;
    double *memory;
} gradient;

typedef struct check
{
    tg_cli_walk walk;
    const tg_model *m;
    tg_sizes n;
    tg_differences *d;
    gradient exact, differences, spread, along, wanted;
    double *out, *change;      /* (q+, v+, act+): cotangents, and the change along `along` */
    const int *chosen;         /* parameters to draw from */
    int nchosen, *kind;        /* of every parameter: its group */
    int *pool, *index, nindex; /* the parameters that are differenced at this state */
    tg_label label;
    tg_jacobian jacobian;
    double *matrices;
    tg_step_contact *contact;
    int met[TG_CONTACT_MODES];         /* contacts of the last step */
    tg_cli_group aside[TG_CLI_GROUPS]; /* what a state adds, before it is known whether it counts */
    tg_cli_gradient_check r;
} check;

/* ---- groups ---- */

static double *group_of(const gradient *g, int group)
{
    double *const part[TG_CLI_GROUP_PARAMS + 1] = {g->g.q,   g->g.v,      g->g.act, g->g.u,
                                                   g->g.tau, g->g.wrench, g->g.dt,  g->g.params};
    return part[group < TG_CLI_GROUP_PARAMS ? group : TG_CLI_GROUP_PARAMS];
}

static int group_size(const tg_sizes *n, int group)
{
    const int size[TG_CLI_GROUP_PARAMS + 1] = {n->nv, n->nv, n->na, n->nu, n->nv, 6 * n->nbody, 1, n->nparams};
    return size[group];
}

static int kind_named(tg_cli_gradient_check *r, const char *name)
{
    int group = TG_CLI_GROUP_PARAMS;
    while (group < r->ngroup && strcmp(r->group[group].name, name) != 0)
        group++;
    if (group == r->ngroup && r->ngroup < TG_CLI_GROUPS)
        snprintf(r->group[r->ngroup++].name, sizeof r->group->name, "%s", name);
    return group < TG_CLI_GROUPS ? group : TG_CLI_GROUPS - 1;
}

/* every field of every element is a kind: "body.mass", "gravity" */
static void name_groups(check *c)
{
    static const char *const name[TG_CLI_GROUP_PARAMS] = {"q", "v", "act", "u", "tau", "wrench", "dt"};
    for (int i = 0; i < TG_CLI_GROUP_PARAMS; i++)
        snprintf(c->r.group[i].name, sizeof c->r.group[i].name, "%s", name[i]);
    c->r.ngroup = TG_CLI_GROUP_PARAMS;
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
            c->kind[slice.offset + k] = kind_named(&c->r, kind);
    }
}

/* ---- memory ---- */

static gradient new_gradient(const tg_sizes *n)
{
    size_t total = 0;
    for (int i = 0; i <= TG_CLI_GROUP_PARAMS; i++)
        total += (size_t)group_size(n, i);
    gradient g = {.memory = tg_cli_alloc(total, sizeof(double))};
    double *at = g.memory, **const part[TG_CLI_GROUP_PARAMS + 1] = {&g.g.q,   &g.g.v,      &g.g.act, &g.g.u,
                                                                    &g.g.tau, &g.g.wrench, &g.g.dt,  &g.g.params};
    for (int i = 0; i <= TG_CLI_GROUP_PARAMS; at += group_size(n, i), i++)
        *part[i] = at;
    return g;
}

/* the matrices of everything that goes in but wrenches */
static void place_jacobian(check *c)
{
    tg_jacobian *j = &c->jacobian;
    size_t rows[3] = {(size_t)c->n.nv, (size_t)c->n.nv, (size_t)c->n.na}, np = A_KIND * TG_CLI_GROUPS;
    size_t columns[7] = {(size_t)c->n.nv, (size_t)c->n.nv, (size_t)c->n.na, (size_t)c->n.nu, (size_t)c->n.nv, 1, np};
    double **const block[3][7] = {
        {&j->dq_dq, &j->dq_dv, &j->dq_dact, &j->dq_du, &j->dq_dtau, &j->dq_ddt, &j->dq_dparams},
        {&j->dv_dq, &j->dv_dv, &j->dv_dact, &j->dv_du, &j->dv_dtau, &j->dv_ddt, &j->dv_dparams},
        {&j->dact_dq, &j->dact_dv, &j->dact_dact, &j->dact_du, &j->dact_dtau, &j->dact_ddt, &j->dact_dparams}};
    size_t total = 0;
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 7; k++)
            total += rows[r] * columns[k];
    double *at = c->matrices = tg_cli_alloc(total, sizeof(double));
    for (int r = 0; r < 3; r++)
        for (int k = 0; k < 7; at += rows[r] * columns[k], k++)
            *block[r][k] = at;
}

/* What contacts the model can have: any, and with friction. */
static void find_contacts(check *c)
{
    c->r.touching = c->n.ncandidate + c->n.npair > 0;
    c->r.sliding = c->n.npair > 0;
    for (int i = 0; i < c->n.ngeom; i++)
    {
        tg_geom_info geom;
        c->r.sliding = c->r.sliding || (tg_geom_get(c->m, i, &geom, NULL) == TG_OK && geom.condim > 1);
    }
}

static bool is_ground(const tg_model *m, int geom)
{
    tg_geom_info info;
    return tg_geom_get(m, geom, &info, NULL) == TG_OK && (info.type == TG_GEOM_PLANE || info.type == TG_GEOM_HFIELD);
}

/* Pairs of geoms that overlap in the reference configuration. (The points of a pair come one after the other.) */
static void find_overlaps(check *c)
{
    int count = 0, room = c->walk.room, geom1 = -1, geom2 = -1;
    tg_contact *contact = tg_cli_alloc((size_t)room + 1, sizeof *contact);
    if (tg_default_q(c->m, c->walk.q, NULL) != TG_OK ||
        tg_collide(c->m, c->walk.w, c->walk.q, 0, contact, room, &count) != TG_OK)
        count = 0;
    for (int i = 0; i < count && i < room; i++)
    {
        const tg_contact *at = &contact[i];
        if (at->distance > -1e-6 || is_ground(c->m, at->geom1) || is_ground(c->m, at->geom2))
            continue;
        c->r.overlaps += at->geom1 != geom1 || at->geom2 != geom2;
        c->r.deepest = fmax(c->r.deepest, -at->distance);
        geom1 = at->geom1;
        geom2 = at->geom2;
    }
    free(contact);
}

/* contacts: room for them; 0: chosen by the model */
static int open_check(check *c, const tg_model *m, int contacts, int samples, int seed)
{
    tg_error error;
    *c = (check){.m = m, .n = tg_model_sizes(m)};
    int code = tg_cli_walk_open(&c->walk, m, contacts, samples, seed);
    if (code != TG_CLI_OK)
        return code;
    if (tg_differences_create(m, contacts, &c->d, &error) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    c->exact = new_gradient(&c->n);
    c->differences = new_gradient(&c->n);
    c->spread = new_gradient(&c->n);
    c->along = new_gradient(&c->n);
    c->wanted = new_gradient(&c->n);
    c->out = tg_cli_alloc((size_t)(2 * c->n.nv + c->n.na), sizeof(double));
    c->change = tg_cli_alloc((size_t)(2 * c->n.nv + c->n.na), sizeof(double));
    c->kind = tg_cli_alloc((size_t)c->n.nparams + 1, sizeof(int));
    c->pool = tg_cli_alloc((size_t)c->n.nparams + 1, sizeof(int));
    c->index = tg_cli_alloc(A_KIND * TG_CLI_GROUPS, sizeof(int));
    c->contact = tg_cli_alloc((size_t)c->walk.room + 1, sizeof *c->contact);
    place_jacobian(c);
    name_groups(c);
    find_contacts(c);
    find_overlaps(c);
    c->r.implicit = c->walk.options.implicit_actuators == TG_ON;
    return TG_CLI_OK;
}

static void close_check(check *c)
{
    void *const all[] = {c->exact.memory,  c->differences.memory,
                         c->spread.memory, c->along.memory,
                         c->wanted.memory, c->out,
                         c->change,        c->kind,
                         c->pool,          c->index,
                         c->contact,       c->matrices};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
    tg_differences_destroy(c->d);
    tg_cli_walk_close(&c->walk);
}

/* ---- the numbers that are differenced at a state ---- */

static int drawn(check *c, int count)
{
    return c->pool[(int)(fabs(tg_cli_walk_noise(&c->walk)) * count) % count];
}

static bool is_drawn(const check *c, int param)
{
    for (int i = 0; i < c->nindex; i++)
        if (c->index[i] == param)
            return true;
    return false;
}

/* Up to A_KIND parameters of a kind: all but one of them of those that the step depends on, as far as there are any. */
static void draw_kind(check *c, int kind)
{
    int count = 0, all = 0;
    for (int i = 0; i < c->nchosen; i++)
        if (c->kind[c->chosen[i]] == kind && c->exact.g.params[c->chosen[i]] != 0)
            c->pool[count++] = c->chosen[i];
    for (int i = 0; i < A_KIND - 1 && count > 0; i++)
    {
        int param = drawn(c, count);
        if (!is_drawn(c, param))
            c->index[c->nindex++] = param;
    }
    for (int i = 0; i < c->nchosen; i++)
        if (c->kind[c->chosen[i]] == kind)
            c->pool[all++] = c->chosen[i];
    int param = all > 0 ? drawn(c, all) : -1;
    if (all > 0 && !is_drawn(c, param))
        c->index[c->nindex++] = param;
}

/* A step that took many iterations takes as many at every displacement. */
static bool is_hard(const check *c)
{
    return c->walk.iterations > HARD;
}

/* every second kind, in turn; of hard steps every eighth */
static void draw_params(check *c)
{
    int stride = is_hard(c) ? 8 : 2;
    c->nindex = 0;
    for (int kind = TG_CLI_GROUP_PARAMS + c->r.states % stride; kind < c->r.ngroup; kind += stride)
        draw_kind(c, kind);
}

/* Numbers of a group that are differenced: the one on which the step depends most, which gives the group its scale, and A_GROUP
 * others; of hard steps one other. */
static void draw_group(check *c, int group)
{
    int size = group_size(&c->n, group), others = is_hard(c) ? 1 : A_GROUP, largest = 0;
    const double *J = group_of(&c->exact, group);
    double *wanted = group_of(&c->wanted, group);
    for (int i = 0; i < size; i++)
    {
        wanted[i] = size <= others + 1;
        largest = fabs(J[i]) > fabs(J[largest]) ? i : largest;
    }
    for (int i = 0; i < others && size > others + 1; i++)
        wanted[(int)(fabs(tg_cli_walk_noise(&c->walk)) * size) % size] = 1;
    if (size > 0)
        wanted[largest] = 1;
}

static void draw_numbers(check *c)
{
    for (int group = 0; group < TG_CLI_GROUP_PARAMS; group++)
        draw_group(c, group);
    draw_params(c);
}

/* ---- against differences ---- */

static void name_entry(const check *c, int group, int i, char *name, size_t size)
{
    snprintf(name, size, "%d", i);
    if (group >= TG_CLI_GROUP_PARAMS)
        tg_param_name(c->m, i, false, name, size, NULL);
    else if (group == TG_CLI_GROUP_U)
        snprintf(name, size, "%s", tg_cli_label_of(c->m, TG_ACTUATOR, i).text);
    else if (group == TG_CLI_GROUP_WRENCH)
        snprintf(name, size, "%.200s[%d]", tg_cli_label_of(c->m, TG_BODY, i / 6).text, i % 6);
    else if (group == TG_CLI_GROUP_DT)
        snprintf(name, size, "dt");
    bool by_joint = group == TG_CLI_GROUP_Q || group == TG_CLI_GROUP_V || group == TG_CLI_GROUP_TAU;
    for (int j = 0; by_joint && j < c->n.njoint; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(c->m, j, &joint, NULL) == TG_OK && joint.dof <= i)
            snprintf(name, size, "%.200s[%d]", tg_cli_label_of(c->m, TG_JOINT, j).text, i - joint.dof);
    }
}

/* |F|, 0 if it is not of the group or could not be taken */
static double size_in(const check *c, int group, int i)
{
    double F = group_of(&c->differences, group)[i];
    return (group < TG_CLI_GROUP_PARAMS || c->kind[i] == group) && isfinite(F) ? fabs(F) : 0;
}

/* One number of a group, added to `to`; its error if it was judged. A judge must be finer than what is judged: where differences are
 * apart by more than a tenth of the tolerance, and derivatives are not within it, they are counted, not judged. */
static double compare_number(const check *c, int group, int i, double scale, tg_cli_group *to)
{
    double J = group_of(&c->exact, group)[i], F = group_of(&c->differences, group)[i];
    double spread = group_of(&c->spread, group)[i] / scale, error = fabs(J - F) / scale;
    if (group >= TG_CLI_GROUP_PARAMS && c->kind[i] != group)
        return 0;
    bool taken = isfinite(F), good = error <= tg_cli_check_tolerance;
    bool judged = taken && (good || !(spread > 0.1 * tg_cli_check_tolerance));
    to->skipped += !taken;
    to->unresolved += taken && !judged;
    to->compared += judged;
    to->largest = fmax(to->largest, size_in(c, group, i));
    if (judged && !(error <= to->error))
    {
        to->error = error;
        to->found = J;
        to->expected = F;
        to->state = c->r.states;
        to->set = c->walk.set;
        to->condition = c->label.condition;
        name_entry(c, group, i, to->entry, sizeof to->entry);
    }
    return judged ? error : 0;
}

/* One group at one state, added to `to`: the largest error. */
static double compare_group(const check *c, int group, tg_cli_group *to)
{
    bool params = group >= TG_CLI_GROUP_PARAMS;
    int count = params ? c->nindex : group_size(&c->n, group);
    const double *wanted = params ? NULL : group_of(&c->wanted, group);
    double scale = 1, worst = 0;
    for (int k = 0; k < count; k++)
        if (params || wanted[k] != 0)
            scale = fmax(scale, size_in(c, group, params ? c->index[k] : k));
    for (int k = 0; k < count; k++)
        if (params || wanted[k] != 0)
            worst = fmax(worst, compare_number(c, group, params ? c->index[k] : k, scale, to));
    return worst;
}

static tg_status difference(check *c, const tg_cotangent *out, tg_differences_count *count)
{
    tg_cli_walk *walk = &c->walk;
    tg_state start = {walk->q_before, walk->v_before, walk->act_before, &walk->cache_before};
    tg_control control = {walk->u, walk->tau, walk->wrench};
    tg_differences_request request = {.params = walk->params[walk->set],
                                      .options = &walk->options,
                                      .state = &start,
                                      .control = &control,
                                      .index = c->index,
                                      .nindex = c->nindex,
                                      .chosen = &c->wanted.g,
                                      .spread = &c->spread.g};
    return tg_step_differences(c->m, c->d, &request, out, &c->differences.g, count);
}

/* ---- what a state adds ---- */

static void add_group(const tg_cli_group *from, tg_cli_group *to)
{
    tg_cli_group sum = !(from->error <= to->error) ? *from : *to; /* not finite: the worst */
    memcpy(sum.name, to->name, sizeof sum.name);
    sum.compared = to->compared + from->compared;
    sum.skipped = to->skipped + from->skipped;
    sum.unresolved = to->unresolved + from->unresolved;
    sum.largest = fmax(to->largest, from->largest);
    *to = sum;
}

static void add_state(check *c, const tg_differences_count *count)
{
    tg_cli_gradient_check *r = &c->r;
    for (int group = 0; group < r->ngroup; group++)
        add_group(&c->aside[group], &r->group[group]);
    r->refined += count->refined;
    r->switched += count->switched;
    r->tied += count->tied;
    r->outside += count->outside;
    r->kinked += count->kinked;
}

/* Differences do not agree, and the label has said so. */
static void leave_out(check *c)
{
    c->r.left_out[c->label.kind]++;
    for (int group = 0; group < c->r.ngroup; group++)
        c->r.beside += c->aside[group].compared + c->aside[group].skipped + c->aside[group].unresolved;
}

/* A state whose derivative is not exact counts like any other where differences agree, and is skipped where they do not, or where the
 * step is not solved: then they mean nothing. */
static tg_status compare(check *c, const tg_cotangent *out)
{
    bool exact = c->label.kind == TG_LABEL_EXACT;
    tg_differences_count count;
    if (!exact && c->label.residual > c->walk.options.tolerance)
    {
        c->r.unsolved++;
        return TG_OK;
    }
    tg_status status = difference(c, out, &count);
    if (status != TG_OK)
        return status;
    double worst = 0;
    memset(c->aside, 0, sizeof c->aside);
    for (int group = 0; group < c->r.ngroup; group++)
        worst = fmax(worst, compare_group(c, group, &c->aside[group]));
    if (exact || worst <= tg_cli_check_tolerance)
        add_state(c, &count);
    else
        leave_out(c);
    return TG_OK;
}

/* ---- reverse mode against forward mode and matrices ---- */

static void note_apart(check *c, double *most, double apart)
{
    if (apart > fmax(c->r.jvp, c->r.jacobian))
    {
        c->r.apart_state = c->r.states;
        c->r.apart_set = c->walk.set;
        c->r.apart_label = c->label.kind;
    }
    *most = fmax(*most, apart);
}

/* out . (J in) forwards and backwards */
static tg_status compare_forward(check *c)
{
    int nv = c->n.nv, na = c->n.na;
    double reverse = 0, forward = 0, size = 1;
    for (int group = 0; group <= TG_CLI_GROUP_PARAMS; group++)
        for (int i = 0; i < group_size(&c->n, group); i++)
        {
            double *along = group_of(&c->along, group);
            along[i] = (group == TG_CLI_GROUP_DT ? 1e-3 : 1) * tg_cli_walk_noise(&c->walk);
            reverse += along[i] * group_of(&c->exact, group)[i];
            size += fabs(along[i] * group_of(&c->exact, group)[i]);
        }
    tg_cotangent change = {.q = c->change, .v = c->change + nv, .act = c->change + 2 * nv};
    tg_status status = tg_step_jvp(c->m, c->walk.w, &c->along.g, &change, NULL);
    for (int k = 0; k < 2 * nv + na && status == TG_OK; k++)
        forward += c->out[k] * c->change[k];
    note_apart(c, &c->r.jvp, fabs(forward - reverse) / size);
    return status;
}

/* out J of one column; size: 1 and that of its terms */
static double column_along(const check *c, double *const J[3], int columns, int k, double *size)
{
    const int rows[3] = {c->n.nv, c->n.nv, c->n.na};
    const double *out = c->out;
    double sum = 0;
    *size = 1;
    for (int block = 0; block < 3; out += rows[block], block++)
        for (int row = 0; row < rows[block]; row++)
        {
            double term = out[row] * J[block][row * columns + k];
            sum += term;
            *size += fabs(term);
        }
    return sum;
}

/* the largest size of a column; index: of parameters of one kind */
static double largest_column(const check *c, double *const J[3], int columns, const int *index, int kind)
{
    double largest = 0, size;
    for (int k = 0; k < columns; k++)
        if (index == NULL || c->kind[index[k]] == kind)
        {
            column_along(c, J, columns, k, &size);
            largest = fmax(largest, size);
        }
    return largest;
}

/* out J of the matrices of one input. Relative errors are those of a block: of the largest column, or that of the same kind of parameters. */
static void compare_columns(check *c, double *const J[3], int columns, const double *g, const int *index)
{
    double largest = index == NULL ? largest_column(c, J, columns, NULL, 0) : 0, size;
    for (int k = 0; k < columns; k++)
    {
        double sum = column_along(c, J, columns, k, &size);
        if (index != NULL)
            largest = largest_column(c, J, columns, index, c->kind[index[k]]);
        note_apart(c, &c->r.jacobian, fabs(sum - g[index != NULL ? index[k] : k]) / largest);
    }
}

static tg_status compare_matrices(check *c)
{
    tg_jacobian *j = &c->jacobian;
    const tg_cotangent *g = &c->exact.g;
    j->index = c->index;
    j->nindex = c->nindex;
    tg_status status = tg_step_jacobian(c->m, c->walk.w, j);
    if (status != TG_OK)
        return status;
    compare_columns(c, (double *[]){j->dq_dq, j->dv_dq, j->dact_dq}, c->n.nv, g->q, NULL);
    compare_columns(c, (double *[]){j->dq_dv, j->dv_dv, j->dact_dv}, c->n.nv, g->v, NULL);
    compare_columns(c, (double *[]){j->dq_dact, j->dv_dact, j->dact_dact}, c->n.na, g->act, NULL);
    compare_columns(c, (double *[]){j->dq_du, j->dv_du, j->dact_du}, c->n.nu, g->u, NULL);
    compare_columns(c, (double *[]){j->dq_dtau, j->dv_dtau, j->dact_dtau}, c->n.nv, g->tau, NULL);
    compare_columns(c, (double *[]){j->dq_ddt, j->dv_ddt, j->dact_ddt}, 1, g->dt, NULL);
    compare_columns(c, (double *[]){j->dq_dparams, j->dv_dparams, j->dact_dparams}, c->nindex, g->params, c->index);
    return TG_OK;
}

/* ---- one state ---- */

/* The modes of the contacts of the last step, those left out for which others hold what they would hold. */
static void meet_modes(check *c)
{
    int count = 0;
    memset(c->met, 0, sizeof c->met);
    if (tg_step_contacts(c->m, c->walk.w, c->contact, c->walk.room, &count) != TG_OK)
        return;
    for (int i = 0; i < count && i < c->walk.room; i++)
        c->met[c->contact[i].mode] += !c->contact[i].immaterial;
}

static void count_modes(check *c)
{
    for (int mode = 0; mode < TG_CONTACT_MODES; mode++)
    {
        c->r.contacts[mode] += c->met[mode];
        c->r.with_mode[mode] += c->met[mode] > 0;
    }
}

static void count_infinite(check *c)
{
    for (int group = 0; group <= TG_CLI_GROUP_PARAMS; group++)
        for (int i = 0; i < group_size(&c->n, group); i++)
            c->r.infinite += !isfinite(group_of(&c->exact, group)[i]);
}

/* The message of a workspace; none where there was no room for the contacts of a step, which is tried again with more. */
static int failure(const check *c)
{
    int room, found;
    tg_work_contacts(c->walk.w, &room, &found);
    return found > room ? MORE_ROOM : tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(c->walk.w));
}

/* the derivatives of the step that was taken, and their differences */
static int sample(check *c)
{
    int nv = c->n.nv;
    for (int k = 0; k < 2 * nv + c->n.na; k++)
        c->out[k] = tg_cli_walk_noise(&c->walk);
    tg_cotangent out = {.q = c->out, .v = c->out + nv, .act = c->out + 2 * nv};
    tg_status status = tg_step_vjp(c->m, c->walk.w, &out, &c->exact.g, &c->label);
    if (status == TG_ERR_UNSUPPORTED)
    {
        c->r.states++;
        c->r.refused++;
        c->r.loose[c->walk.set]++;
        return TG_CLI_OK;
    }
    if (status != TG_OK)
        return failure(c);
    count_modes(c);
    count_infinite(c);
    draw_numbers(c);
    c->r.labels[c->label.kind]++;
    c->r.loose[c->walk.set] += c->label.kind != TG_LABEL_EXACT;
    if (compare(c, &out) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_differences_message(c->d));
    if (compare_forward(c) != TG_OK || compare_matrices(c) != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", tg_work_message(c->walk.w));
    c->r.states++;
    return TG_CLI_OK;
}

static int follow(check *c, int samples)
{
    tg_cli_progress progress = tg_cli_progress_begin("states");
    int code = TG_CLI_OK;
    while (c->r.states < samples && code == TG_CLI_OK)
    {
        if (tg_cli_walk_push(&c->walk, tg_cli_check_rare(&c->r, 0.2), c->r.touching) != TG_OK ||
            tg_cli_walk_step(&c->walk) != TG_OK)
        {
            code = failure(c);
            continue;
        }
        meet_modes(c);
        if (tg_cli_walk_due(&c->walk, c->met))
        {
            code = sample(c);
            tg_cli_progress_show(&progress, c->r.states, samples);
        }
    }
    tg_cli_progress_end(&progress);
    return code;
}

/* ---- the command ---- */

static int match_params(const tg_cli_call *call, const tg_model *m, int *chosen, int *count)
{
    const char *pattern = call->option[OPTION_PARAMS] != NULL ? call->option[OPTION_PARAMS] : "*";
    tg_error error;
    if (tg_param_match(m, pattern, chosen, tg_model_sizes(m).nparams, count, &error) == TG_OK)
        return TG_CLI_OK;
    return tg_cli_fail(TG_CLI_FAILED, "names and patterns: tangere params MODEL", "%s", error.message);
}

/* The whole check with room for so many contacts; MORE_ROOM, and how many there should be, if they do not fit. */
static int check_with(const tg_cli_call *call, const tg_cli_model *model, int samples, int seed, const int *chosen,
                      int nchosen, int *contacts)
{
    check c;
    int code = open_check(&c, model->m, *contacts, samples, seed);
    c.chosen = chosen;
    c.nchosen = nchosen;
    if (code == TG_CLI_OK)
        code = follow(&c, samples);
    if (code == MORE_ROOM)
    {
        tg_work_contacts(c.walk.w, NULL, contacts);
        *contacts += *contacts / 2;
    }
    if (code == TG_CLI_OK)
    {
        if (call->option[OPTION_JSON] != NULL)
            tg_cli_check_json(call->out.file, model, &c.r);
        else
            tg_cli_check_print(&call->out, model, &c.r);
        code = tg_cli_check_passes(&c.r) ? TG_CLI_OK : TG_CLI_FAILED;
    }
    close_check(&c);
    return code;
}

static int check_model(const tg_cli_call *call, const tg_cli_model *model, int samples, int seed)
{
    int nchosen = 0, contacts = 0;
    int *chosen = tg_cli_alloc((size_t)tg_model_sizes(model->m).nparams + 1, sizeof *chosen);
    int code = match_params(call, model->m, chosen, &nchosen);
    if (code == TG_CLI_OK)
        do
            code = check_with(call, model, samples, seed, chosen, nchosen, &contacts);
        while (code == MORE_ROOM);
    free(chosen);
    return code;
}

static int run(const tg_cli_call *call)
{
    int samples = 100, seed = 1;
    tg_cli_model model;
    int code = TG_CLI_OK;
    if (call->option[OPTION_SAMPLES] != NULL)
        code = tg_cli_count("--samples", call->option[OPTION_SAMPLES], 1000000, &samples);
    if (code == TG_CLI_OK && call->option[OPTION_SEED] != NULL)
        code = tg_cli_count("--seed", call->option[OPTION_SEED], 1000000, &seed);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    code = check_model(call, &model, samples, seed);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_check_command = {
    .name = "check",
    .usage = "MODEL [OPTIONS]",
    .summary = "derivatives against differences",
    .details =
        "Compares the derivatives of steps with central differences, along a trajectory that lifts, drops, drives\n"
        "and presses the model until every mode of contacts was met, at numbers that are drawn at every state, and\n"
        "prints the worst entry of every kind of input by name, and what was skipped and why: numbers across a\n"
        "change of mode, at other kinks, and where differences do not agree among themselves; and whole states whose\n"
        "label says one-sided or regularised where differences do not agree with the derivative. Exit code 1 if an\n"
        "error is past 1e-6, if forward mode, reverse mode and matrices differ by more than 1e-10, or if 5 % of the\n"
        "states or 5 % of the numbers had to be skipped.",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_SAMPLES] = {"--samples", "N", "states to compare (100)"},
                [OPTION_SEED] = {"--seed", "N", "of the trajectory, and of what is drawn (1)"},
                [OPTION_PARAMS] = {"--params", "PATTERN", "parameters to draw from ('*')"},
                [OPTION_JSON] = {"--json", NULL, "the result as an object"}},
    .run = run,
};
