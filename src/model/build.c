/* From a builder to a model: numbering, one block of memory, topology, parameters, and what follows from them. */
#include <string.h>

#include "base/status.h"
#include "model/build.h"
#include "model/candidates.h"
#include "model/params.h"
#include "model/topology.h"
#include "model/validate.h"

/* ---- sizes ---- */

static void measure_elements(const tg_build *w, tg_model *m)
{
    const tg_list *list = w->b->list;
    m->nbody = list[TG_BODY].count;
    m->njoint = list[TG_JOINT].count;
    m->ngeom = list[TG_GEOM].count;
    m->nsite = list[TG_SITE].count;
    m->ntendon = list[TG_TENDON].count;
    m->nu = list[TG_ACTUATOR].count;
    m->nequality = list[TG_EQUALITY].count;
    m->npair = list[TG_PAIR].count;
    m->nexclude = list[TG_EXCLUDE].count;
    m->nkey = list[TG_KEY].count;
    m->nmesh = list[TG_MESH].count;
    m->nhfield = list[TG_HFIELD].count;
    m->npath = list[TG_LIST_PATH].count;
    m->nvertex = list[TG_LIST_VERTEX].count / 3;
    m->nface = list[TG_LIST_FACE].count / 3;
    for (int mesh = 0; mesh < m->nmesh; mesh++)
        m->nface += w->nhull[mesh];
    m->nelevation = list[TG_LIST_ELEVATION].count;
    m->nreport = list[TG_LIST_REPORT].count;
    m->nvisual = list[TG_LIST_VISUAL].count;
    m->ntext = list[TG_LIST_TEXT].count;
}

static void measure(const tg_build *w, tg_model *m)
{
    measure_elements(w, m);
    m->nnode = 1;
    for (int id = 0; id < m->njoint; id++)
    {
        tg_joint_size size = tg_joint_size_of(TG_ITEM(w->b, JOINT, joint, id)->def.type);
        m->nq += size.nq;
        m->nv += size.nv;
        m->nnode += size.nnode;
        m->nquat += size.nq - size.nv; /* a quaternion has one number more than its velocity */
    }
    for (int id = 0; id < m->nu; id++)
        m->na += TG_ITEM(w->b, ACTUATOR, actuator, id)->def.dynamics != TG_DYNAMICS_NONE;
    m->ntree = w->order.ntree;
    for (tg_element element = 0; element < TG_ELEMENT_COUNT; element++)
    {
        m->name_base[element] = m->nname;
        m->nname += tg_element_count(m, element);
    }
    tg_params_measure(m);
}

/* ---- memory ---- */

static void place_patterns(tg_arena *arena, const tg_order *order, tg_ltl_pattern *pattern)
{
    for (int tree = 0; tree < order->ntree; tree++)
    {
        tg_ltl_pattern counted;
        int first = order->tree_dof[tree];
        tg_ltl_pattern_place(pattern != NULL ? &pattern[tree] : &counted, arena, order->tree_dof[tree + 1] - first,
                             order->dof_parent + first);
    }
}

/* Places the model, its arrays and its parameters; sizes holds the counts. Returns NULL while the arena counts. */
static tg_model *place(tg_arena *arena, const tg_order *order, const tg_model *sizes)
{
    tg_model *made = TG_TAKE(arena, tg_model, 1, "model");
    tg_model arrays = *sizes;
    const tg_model *m = sizes;
#define X(type, name, count, doc) arrays.name = TG_TAKE(arena, type, count, #name);
    TG_MODEL_FIELDS(X)
#undef X
    arrays.generations = TG_TAKE(arena, atomic_uint_fast64_t, 1, "generations");
    place_patterns(arena, order, arrays.tree_ltl);
    if (made != NULL)
    {
        *made = arrays;
        atomic_init(made->generations, 0);
    }
    tg_params *params = tg_params_place(arena, made != NULL ? made : sizes);
    if (made == NULL || params == NULL)
        return NULL;
    made->params = params;
    return made;
}

static tg_status allocate(tg_build *w)
{
    tg_model sizes = {.allocator = w->b->allocator,
                      .timestep = w->b->timestep,
                      .implicit = w->b->implicit,
                      .implicit_gyroscopic = w->b->implicit_gyroscopic,
                      .model_name = w->b->name};
    measure(w, &sizes);
    tg_arena arena = {0};
    place(&arena, &w->order, &sizes);
    sizes.bytes = arena.used;
    void *memory = arena.failed ? NULL : tg_alloc(&w->b->allocator, sizes.bytes);
    if (memory == NULL)
        return tg_fail(&w->b->error, TG_ERR_MEMORY, "model: out of memory (%zu bytes)", sizes.bytes);
    arena = (tg_arena){.base = memory, .capacity = sizes.bytes};
    w->m = place(&arena, &w->order, &sizes);
    w->m->params->allocator = w->b->allocator;
    return TG_OK;
}

/* ---- names and report ---- */

static tg_status fill_names(tg_build *w)
{
    tg_model *m = w->m;
    const char *text = TG_LIST(w->b, TEXT, char);
    memcpy(m->text, text, (size_t)m->ntext);
    for (tg_element element = 0; element < TG_ELEMENT_COUNT; element++)
    {
        int count = tg_element_count(m, element);
        int *start = m->name_start + m->name_base[element];
        int *sorted = m->name_sorted + m->name_base[element];
        for (int index = 0; index < count; index++)
        {
            start[index] = (int)(tg_builder_name_of(w->b, element, tg_build_id(w, element, index)) - text);
            sorted[index] = index;
        }
        tg_sort_names(m->text, start, sorted, count);
        for (int i = 1; i < count; i++)
        {
            const char *name = m->text + start[sorted[i]];
            if (name[0] != '\0' && strcmp(name, m->text + start[sorted[i - 1]]) == 0)
                return tg_fail(&w->b->error, TG_ERR_NAME, "%s '%.300s': name is used twice, by #%d and #%d",
                               tg_element_string(element), name, tg_build_id(w, element, sorted[i - 1]),
                               tg_build_id(w, element, sorted[i]));
        }
    }
    return TG_OK;
}

static void fill_report(tg_build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nreport; i++)
    {
        const tg_report_item *item = &TG_LIST(w->b, REPORT, tg_report_item)[i];
        m->report[i] = (tg_report_entry){
            .kind = item->kind,
            .file = m->text + item->file,
            .line = item->line,
            .element = m->text + item->element,
            .attribute = m->text + item->attribute,
            .note = m->text + item->note,
        };
    }
}

/* ---- all of it ---- */

/* The polytopes belong to the model from here on. */
static void hand_over_polytopes(tg_build *w)
{
    for (int mesh = 0; mesh < w->m->nmesh; mesh++)
    {
        w->m->mesh_polytope[mesh] = w->polytope[mesh];
        w->polytope[mesh] = NULL;
    }
}

static tg_status make(tg_build *w)
{
    tg_status status = tg_build_hulls(w);
    if (status == TG_OK)
        status = allocate(w);
    if (status == TG_OK)
        status = fill_names(w);
    if (status != TG_OK)
        return status;
    fill_report(w);
    status = tg_build_structure(w);
    if (status == TG_OK)
        hand_over_polytopes(w);
    return status != TG_OK ? status : tg_build_parameters(w);
}

/* Candidate pairs are checked one by one: their number must be bounded. */
static tg_status check_pairs(const tg_build *w)
{
    enum
    {
        MOST_PAIRS = 1 << 28
    };
    const tg_model *m = w->m;
    int ngeom = 0, fixed = 0; /* of the geoms, those on the world do not collide with each other */
    for (int geom = 0; geom < m->ngeom; geom++)
    {
        bool collides = (m->geom_contype[geom] | m->geom_conaffinity[geom]) != 0;
        ngeom += collides;
        fixed += collides && m->body_weld[m->geom_body[geom]] == 0;
    }
    double pairs = ((double)ngeom * ngeom - (double)fixed * fixed) / 2;
    if (pairs <= MOST_PAIRS)
        return TG_OK;
    return tg_fail(&w->b->error, TG_ERR_MODEL,
                   "%d geoms make %.3g pairs that could collide, at most %d can: join some, or leave out geoms", ngeom,
                   pairs, MOST_PAIRS);
}

tg_status tg_builder_build(tg_builder *b, tg_model **m)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (m == NULL)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "tg_builder_build: m is NULL");
    *m = NULL;
    tg_build w = {.b = b};
    int nreport = b->list[TG_LIST_REPORT].count;
    tg_status status = tg_builder_check(b);
    if (status == TG_OK)
        status = tg_order_make(b, &w.order);
    if (status != TG_OK)
        return status;
    status = make(&w);
    if (status == TG_OK)
        status = check_pairs(&w);
    b->list[TG_LIST_REPORT].count = nreport; /* what the build says of meshes is the model's, not the builder's */
    tg_build_free_hulls(&w);
    tg_order_free(b, &w.order);
    if (status != TG_OK)
    {
        tg_model_destroy(w.m);
        return status;
    }
    tg_chain_colliders(w.m);
    w.m->ncandidate = tg_list_candidates(w.m, NULL, 0);
    *m = w.m;
    return TG_OK;
}
