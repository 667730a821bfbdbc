/* From a builder to a model: numbering, one block of memory, topology, parameters, and what follows from them. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/builder.h"
#include "model/hull.h"
#include "model/inertia.h"
#include "model/order.h"
#include "model/params.h"
#include "model/reference.h"
#include "model/topology.h"
#include "model/validate.h"
#include "tangere/algebra.h"

/* What a build works with. */
typedef struct build
{
    tg_builder *b;
    tg_order order;
    int **hull;  /* nmesh: faces of the meshes that were given none; NULL: the mesh has its own */
    int *nhull;  /* nmesh: how many */
    tg_model *m; /* under construction */
} build;

static int id_of(const build *w, tg_element element, int index)
{
    return tg_order_id(&w->order, element, index);
}

static int index_of(const build *w, tg_element element, int id)
{
    return id < 0 ? -1 : tg_order_of(&w->order, element, id);
}

/* ---- hulls of meshes without faces ---- */

static tg_status make_hull(build *w, int mesh)
{
    tg_builder *b = w->b;
    const tg_mesh_item *item = TG_ITEM(b, MESH, mesh, mesh);
    if (item->def.nface > 0)
        return TG_OK;
    tg_error reason = {0};
    tg_status status = tg_hull(&b->allocator, TG_LIST(b, VERTEX, double) + item->start[0], item->def.nvertex,
                               &w->hull[mesh], &w->nhull[mesh], &reason);
    if (status != TG_OK)
        return tg_fail(&b->error, status, "mesh '%.100s' (#%d): vertex: %.300s", tg_builder_name_of(b, TG_MESH, mesh),
                       mesh, reason.message);
    return TG_OK;
}

static tg_status make_hulls(build *w)
{
    int nmesh = w->b->list[TG_MESH].count;
    w->hull = tg_alloc(&w->b->allocator, (size_t)nmesh * sizeof *w->hull);
    w->nhull = tg_alloc(&w->b->allocator, (size_t)nmesh * sizeof *w->nhull);
    if (w->hull == NULL || w->nhull == NULL)
        return tg_fail(&w->b->error, TG_ERR_MEMORY, "model: out of memory for %d meshes", nmesh);
    tg_status status = TG_OK;
    for (int mesh = 0; mesh < nmesh && status == TG_OK; mesh++)
        status = make_hull(w, mesh);
    return status;
}

static void free_hulls(build *w)
{
    for (int mesh = 0; mesh < w->b->list[TG_MESH].count && w->hull != NULL; mesh++)
        tg_free(&w->b->allocator, w->hull[mesh]);
    tg_free(&w->b->allocator, w->hull);
    tg_free(&w->b->allocator, w->nhull);
}

/* ---- sizes ---- */

static void measure_elements(const build *w, tg_model *m)
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
    m->ntext = list[TG_LIST_TEXT].count;
}

static void measure(const build *w, tg_model *m)
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
    place_patterns(arena, order, arrays.tree_ltl);
    if (made != NULL)
        *made = arrays;
    tg_params *params = tg_params_place(arena, made != NULL ? made : sizes);
    if (made == NULL || params == NULL)
        return NULL;
    made->params = params;
    return made;
}

static tg_status allocate(build *w)
{
    tg_model sizes = {.allocator = w->b->allocator, .timestep = w->b->timestep, .model_name = w->b->name};
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

static tg_status fill_names(build *w)
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
            start[index] = (int)(tg_builder_name_of(w->b, element, id_of(w, element, index)) - text);
            sorted[index] = index;
        }
        tg_sort_names(m->text, start, sorted, count);
        for (int i = 1; i < count; i++)
        {
            const char *name = m->text + start[sorted[i]];
            if (name[0] != '\0' && strcmp(name, m->text + start[sorted[i - 1]]) == 0)
                return tg_fail(&w->b->error, TG_ERR_NAME, "%s '%.300s': name is used twice, by #%d and #%d",
                               tg_element_string(element), name, id_of(w, element, sorted[i - 1]),
                               id_of(w, element, sorted[i]));
        }
    }
    return TG_OK;
}

static void fill_report(build *w)
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

/* ---- structure ---- */

static void fill_bodies(build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nbody; i++)
    {
        m->body_parent[i] = i > 0 ? index_of(w, TG_BODY, TG_ITEM(w->b, BODY, body, id_of(w, TG_BODY, i))->def.parent) : 0;
        m->body_tree[i] = w->order.tree[i];
    }
    for (int i = 0; i < m->njoint; i++)
    {
        const tg_joint_def *def = &TG_ITEM(w->b, JOINT, joint, id_of(w, TG_JOINT, i))->def;
        m->joint_type[i] = (int)def->type;
        m->joint_body[i] = index_of(w, TG_BODY, def->body);
        m->joint_limited[i] = def->limited;
        m->joint_force_limited[i] = def->force_limited;
    }
    for (int i = 0; i < m->nsite; i++)
        m->site_body[i] = index_of(w, TG_BODY, TG_ITEM(w->b, SITE, site, id_of(w, TG_SITE, i))->def.body);
}

static void fill_geoms(build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->ngeom; i++)
    {
        const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, id_of(w, TG_GEOM, i))->def;
        m->geom_type[i] = (int)def->type;
        m->geom_body[i] = index_of(w, TG_BODY, def->body);
        m->geom_mesh[i] = def->type == TG_GEOM_MESH ? def->mesh : -1;
        m->geom_hfield[i] = def->type == TG_GEOM_HFIELD ? def->hfield : -1;
        m->geom_contype[i] = def->contype;
        m->geom_conaffinity[i] = def->conaffinity;
        m->geom_condim[i] = def->condim;
        m->geom_priority[i] = def->priority;
        m->geom_group[i] = def->group;
        m->geom_gap[i] = def->gap;
    }
    int geom = 0;
    for (int body = 0; body < m->nbody; body++)
    {
        m->body_geom[body] = geom;
        while (geom < m->ngeom && m->geom_body[geom] == body)
            geom++;
        m->body_ngeom[body] = geom - m->body_geom[body];
    }
}

static void fill_tendons(build *w)
{
    tg_model *m = w->m;
    const tg_path *path = TG_LIST(w->b, PATH, tg_path);
    for (int i = 0; i < m->ntendon; i++)
    {
        const tg_tendon_item *item = TG_ITEM(w->b, TENDON, tendon, i);
        m->tendon_type[i] = (int)item->def.type;
        m->tendon_path[i] = item->start[0];
        m->tendon_npath[i] = item->def.npath;
        m->tendon_limited[i] = item->def.limited;
    }
    for (int i = 0; i < m->npath; i++)
    {
        m->path_type[i] = (int)path[i].type;
        if (path[i].type == TG_PATH_PULLEY)
            m->path_id[i] = -1;
        else
            m->path_id[i] = index_of(w, path[i].type == TG_PATH_JOINT ? TG_JOINT : TG_SITE, path[i].id);
    }
}

static tg_element transmission_target(tg_transmission transmission)
{
    static const tg_element target[] = {TG_JOINT, TG_TENDON, TG_SITE};
    return target[transmission];
}

static void fill_actuators(build *w)
{
    tg_model *m = w->m;
    int act = 0;
    for (int i = 0; i < m->nu; i++)
    {
        const tg_actuator_def *def = &TG_ITEM(w->b, ACTUATOR, actuator, i)->def;
        m->actuator_transmission[i] = (int)def->transmission;
        m->actuator_target[i] = index_of(w, transmission_target(def->transmission), def->target);
        m->actuator_dynamics[i] = (int)def->dynamics;
        m->actuator_act[i] = def->dynamics != TG_DYNAMICS_NONE ? act++ : -1;
        m->actuator_act_early[i] = def->act_early;
        m->actuator_ctrl_limited[i] = def->ctrl_limited;
        m->actuator_force_limited[i] = def->force_limited;
        m->actuator_act_limited[i] = def->act_limited;
    }
}

static tg_element equality_object(tg_equality_type type)
{
    static const tg_element object[] = {TG_BODY, TG_BODY, TG_JOINT, TG_TENDON};
    return object[type];
}

static void fill_constraints(build *w)
{
    tg_model *m = w->m;
    for (int i = 0; i < m->nequality; i++)
    {
        const tg_equality_def *def = &TG_ITEM(w->b, EQUALITY, equality, i)->def;
        m->equality_type[i] = (int)def->type;
        m->equality_obj1[i] = index_of(w, equality_object(def->type), def->obj1);
        m->equality_obj2[i] = index_of(w, equality_object(def->type), def->obj2);
        m->equality_active[i] = def->active;
    }
    for (int i = 0; i < m->npair; i++)
    {
        const tg_pair_def *def = &TG_ITEM(w->b, PAIR, pair, i)->def;
        m->pair_geom1[i] = index_of(w, TG_GEOM, def->geom1);
        m->pair_geom2[i] = index_of(w, TG_GEOM, def->geom2);
        m->pair_condim[i] = def->condim;
        m->pair_gap[i] = def->gap;
    }
    for (int i = 0; i < m->nexclude; i++)
    {
        const tg_exclude_def *def = &TG_ITEM(w->b, EXCLUDE, exclude, i)->def;
        m->exclude_body1[i] = index_of(w, TG_BODY, def->body1);
        m->exclude_body2[i] = index_of(w, TG_BODY, def->body2);
    }
}

static void copy_if_any(void *out, const void *from, size_t bytes)
{
    if (bytes > 0)
        memcpy(out, from, bytes);
}

static void fill_assets(build *w)
{
    tg_model *m = w->m;
    int face = 0;
    for (int i = 0; i < m->nmesh; i++)
    {
        const tg_mesh_item *item = TG_ITEM(w->b, MESH, mesh, i);
        bool own = w->hull[i] == NULL;
        m->mesh_vertex[i] = item->start[0] / 3;
        m->mesh_nvertex[i] = item->def.nvertex;
        m->mesh_face[i] = face;
        m->mesh_nface[i] = own ? item->def.nface : w->nhull[i];
        copy_if_any(m->face + 3 * (size_t)face, own ? TG_LIST(w->b, FACE, int) + item->start[1] : w->hull[i],
                    3 * (size_t)m->mesh_nface[i] * sizeof *m->face);
        face += m->mesh_nface[i];
    }
    for (int i = 0; i < m->nhfield; i++)
    {
        const tg_hfield_item *item = TG_ITEM(w->b, HFIELD, hfield, i);
        m->hfield_nrow[i] = item->def.nrow;
        m->hfield_ncol[i] = item->def.ncol;
        m->hfield_elevation[i] = item->start[0];
    }
    copy_if_any(m->vertex, w->b->list[TG_LIST_VERTEX].data, 3 * (size_t)m->nvertex * sizeof *m->vertex);
    copy_if_any(m->elevation, w->b->list[TG_LIST_ELEVATION].data, (size_t)m->nelevation * sizeof *m->elevation);
}

static void fill_structure(build *w)
{
    fill_report(w);
    fill_bodies(w);
    fill_geoms(w);
    fill_tendons(w);
    fill_actuators(w);
    fill_constraints(w);
    fill_assets(w);
    tg_topology_fill(w->m);
    tg_params_slices(w->m);
}

/* A plane is infinite and cannot move. */
static tg_status check_planes(const build *w)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->ngeom; i++)
    {
        int id = id_of(w, TG_GEOM, i);
        if (m->geom_type[i] == TG_GEOM_PLANE && m->body_tree[m->geom_body[i]] >= 0)
            return tg_fail(&w->b->error, TG_ERR_MODEL, "geom '%.100s' (#%d): body = %d: a plane on a body that moves",
                           tg_builder_name_of(w->b, TG_GEOM, id), id, TG_ITEM(w->b, GEOM, geom, id)->def.body);
    }
    return TG_OK;
}

/* ---- the parameter vector ---- */

/* Field of element i in the vector = the same field of the definition `def`. */
#define PUT(element, field)                                                                                            \
    memcpy(TG_PARAM(p, element##_##field) + (size_t)i * (sizeof def->field / sizeof(double)), &def->field,             \
           sizeof def->field)

static void put_bodies(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nbody; i++)
    {
        const tg_body_def *def = &TG_ITEM(w->b, BODY, body, id_of(w, TG_BODY, i))->def;
        PUT(body, pos);
        PUT(body, quat);
        if (!def->inertial)
            continue; /* from the geoms, once these are known to be good */
        PUT(body, mass);
        PUT(body, com);
        PUT(body, inertia);
    }
}

static void put_joints(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->njoint; i++)
    {
        const tg_joint_def *def = &TG_ITEM(w->b, JOINT, joint, id_of(w, TG_JOINT, i))->def;
        PUT(joint, pos);
        PUT(joint, axis);
        PUT(joint, ref);
        PUT(joint, springref);
        PUT(joint, stiffness);
        PUT(joint, damping);
        PUT(joint, armature);
        PUT(joint, frictionloss);
        PUT(joint, range);
        PUT(joint, margin);
        PUT(joint, force_range);
    }
}

static void put_geoms(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->ngeom; i++)
    {
        const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, id_of(w, TG_GEOM, i))->def;
        PUT(geom, pos);
        PUT(geom, quat);
        PUT(geom, size);
        PUT(geom, friction);
        PUT(geom, kinetic);
        PUT(geom, slip_speed);
        PUT(geom, restitution);
        PUT(geom, compliance);
        PUT(geom, margin);
        double *size = TG_PARAM(p, geom_size) + 3 * i;
        if (def->type == TG_GEOM_MESH && size[0] == 0 && size[1] == 0 && size[2] == 0)
            size[0] = size[1] = size[2] = 1;
    }
}

static void put_sites(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nsite; i++)
    {
        const tg_site_def *def = &TG_ITEM(w->b, SITE, site, id_of(w, TG_SITE, i))->def;
        PUT(site, pos);
        PUT(site, quat);
    }
}

/* Is the rest length left to the reference configuration of the springs? */
static bool is_rest_open(const tg_tendon_def *def)
{
    return def->rest[0] == -1 && def->rest[1] == -1;
}

static void put_tendons(const build *w, tg_params *p)
{
    const tg_path *path = TG_LIST(w->b, PATH, tg_path);
    for (int i = 0; i < w->m->ntendon; i++)
    {
        const tg_tendon_def *def = &TG_ITEM(w->b, TENDON, tendon, i)->def;
        PUT(tendon, stiffness);
        PUT(tendon, damping);
        PUT(tendon, frictionloss);
        PUT(tendon, range);
        PUT(tendon, margin);
        if (!is_rest_open(def))
            PUT(tendon, rest);
    }
    for (int i = 0; i < w->m->npath; i++)
        TG_PARAM(p, tendon_coef)[i] = path[i].type == TG_PATH_SITE ? 0 : path[i].value;
}

static void put_actuators(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nu; i++)
    {
        const tg_actuator_def *def = &TG_ITEM(w->b, ACTUATOR, actuator, i)->def;
        PUT(actuator, gear);
        PUT(actuator, gain);
        PUT(actuator, bias);
        PUT(actuator, tau);
        PUT(actuator, ctrl_range);
        PUT(actuator, force_range);
        PUT(actuator, act_range);
    }
}

/* The numbers of an equality that may be left to the reference configuration: first, and how many. */
static int open_numbers(tg_equality_type type, int *count)
{
    *count = type == TG_EQUALITY_CONNECT ? 3 : type == TG_EQUALITY_WELD ? 7 : 0;
    return 3;
}

static bool is_open(const tg_equality_def *def)
{
    int count;
    int first = open_numbers(def->type, &count);
    for (int i = 0; i < count; i++)
    {
        if (!isnan(def->data[first + i]))
            return false;
    }
    return count > 0;
}

static void put_equalities(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nequality; i++)
    {
        const tg_equality_def *def = &TG_ITEM(w->b, EQUALITY, equality, i)->def;
        PUT(equality, data);
        if (!is_open(def))
            continue;
        double *data = TG_PARAM(p, equality_data) + 11 * i; /* any valid numbers, until they are resolved */
        memcpy(data + 3, (const double[7]){0, 0, 0, 1, 0, 0, 0}, 7 * sizeof *data);
        if (def->type == TG_EQUALITY_CONNECT)
            memcpy(data + 6, def->data + 6, 4 * sizeof *data);
    }
}

static void put_pairs(const build *w, tg_params *p)
{
    for (int i = 0; i < w->m->npair; i++)
    {
        const tg_pair_def *def = &TG_ITEM(w->b, PAIR, pair, i)->def;
        PUT(pair, friction);
        PUT(pair, kinetic);
        PUT(pair, slip_speed);
        PUT(pair, restitution);
        PUT(pair, compliance);
        PUT(pair, margin);
    }
    for (int i = 0; i < w->m->nhfield; i++)
    {
        const tg_hfield_def *def = &TG_ITEM(w->b, HFIELD, hfield, i)->def;
        PUT(hfield, size);
    }
}

static void put_parameters(const build *w)
{
    tg_params *p = w->m->params;
    put_bodies(w, p);
    put_joints(w, p);
    put_geoms(w, p);
    put_sites(w, p);
    put_tendons(w, p);
    put_actuators(w, p);
    put_equalities(w, p);
    put_pairs(w, p);
    memcpy(TG_PARAM(p, gravity_), w->b->gravity, sizeof w->b->gravity);
}

/* ---- mass from geoms ---- */

/* A height field counts as the box of its mean height. */
static tg_lump unit_lump(const build *w, int geom)
{
    const tg_model *m = w->m;
    const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, id_of(w, TG_GEOM, geom))->def;
    const double *size = TG_PARAM(m->params, geom_size) + 3 * geom;
    if (def->type == TG_GEOM_MESH)
        return tg_mesh_lump(m->vertex + 3 * (size_t)m->mesh_vertex[def->mesh],
                            m->face + 3 * (size_t)m->mesh_face[def->mesh], m->mesh_nface[def->mesh], size, def->shell);
    if (def->type == TG_GEOM_HFIELD)
    {
        const double *s = TG_PARAM(m->params, hfield_size) + 4 * def->hfield;
        const double box[3] = {s[0], s[1], s[2] / 4 + s[3] / 2};
        return tg_shape_lump(TG_GEOM_BOX, box, def->shell);
    }
    return tg_shape_lump(def->type, size, def->shell);
}

/* A geom with its mass (given, or from its density) in the frame of its body. */
static tg_status geom_lump(build *w, int geom, tg_lump *out)
{
    const tg_params *p = w->m->params;
    int id = id_of(w, TG_GEOM, geom);
    const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, id)->def;
    *out = (tg_lump){0};
    if (def->mass == 0 || (def->mass < 0 && def->density == 0) || def->type == TG_GEOM_PLANE)
        return TG_OK;
    tg_lump unit = unit_lump(w, geom);
    if (def->type == TG_GEOM_MESH && !(unit.mass > 1e-15))
        return tg_fail(&w->b->error, TG_ERR_MODEL,
                       "geom '%.100s' (#%d): mesh = '%.100s' (#%d): its %s is %g: must be positive (faces counter-"
                       "clockwise seen from outside)",
                       tg_builder_name_of(w->b, TG_GEOM, id), id, tg_builder_name_of(w->b, TG_MESH, def->mesh),
                       def->mesh, def->shell ? "area" : "volume", unit.mass);
    double mass = def->mass >= 0 ? def->mass : def->density * unit.mass;
    double scale = unit.mass > 0 ? mass / unit.mass : 0; /* a sphere of radius 0 is a point */
    for (int i = 0; i < 6; i++)
        unit.inertia[i] *= scale;
    unit.mass = mass;
    double quat[4];
    double R[9];
    tg_quat_normalise(TG_PARAM(p, geom_quat) + 4 * geom, quat);
    tg_quat_to_matrix(quat, R);
    *out = tg_lump_move(&unit, R, TG_PARAM(p, geom_pos) + 3 * geom);
    return TG_OK;
}

static tg_status put_inertia_from_geoms(build *w)
{
    const tg_model *m = w->m;
    tg_params *p = m->params;
    for (int body = 1; body < m->nbody; body++)
    {
        if (TG_ITEM(w->b, BODY, body, id_of(w, TG_BODY, body))->def.inertial)
            continue;
        tg_lump sum = {0};
        for (int i = 0; i < m->body_ngeom[body]; i++)
        {
            tg_lump lump;
            tg_status status = geom_lump(w, m->body_geom[body] + i, &lump);
            if (status != TG_OK)
                return status;
            tg_lump_add(&sum, &lump);
        }
        TG_PARAM(p, body_mass)[body] = sum.mass;
        memcpy(TG_PARAM(p, body_com) + 3 * body, sum.com, sizeof sum.com);
        memcpy(TG_PARAM(p, body_inertia) + 6 * body, sum.inertia, sizeof sum.inertia);
    }
    return TG_OK;
}

/* ---- what the reference configuration decides ---- */

static void resolve_equality(const build *w, int equality, const double *pose)
{
    const tg_model *m = w->m;
    double *data = TG_PARAM(m->params, equality_data) + 11 * equality;
    double inverse[7];
    const double *pose1 = pose + 7 * m->equality_obj1[equality];
    const double *pose2 = pose + 7 * m->equality_obj2[equality];
    if (m->equality_type[equality] == TG_EQUALITY_CONNECT)
    {
        tg_se3_transform(pose1, data, data + 3);
        tg_se3_inverse(pose2, inverse);
        tg_se3_transform(inverse, data + 3, data + 3);
        return;
    }
    tg_se3_inverse(pose1, inverse);
    tg_se3_multiply(inverse, pose2, data + 3);
}

static tg_status resolve_reference(build *w)
{
    tg_model *m = w->m;
    tg_params *p = m->params;
    double *pose = tg_alloc(&w->b->allocator, 7 * (size_t)m->nbody * sizeof *pose);
    if (pose == NULL)
        return tg_fail(&w->b->error, TG_ERR_MEMORY, "model: out of memory for the poses of %d bodies", m->nbody);
    tg_reference_poses(p, p->q0, pose);
    for (int i = 0; i < m->nequality; i++)
    {
        if (is_open(&TG_ITEM(w->b, EQUALITY, equality, i)->def))
            resolve_equality(w, i, pose);
    }
    tg_reference_poses(p, p->q_spring, pose);
    for (int i = 0; i < m->ntendon; i++)
    {
        double *rest = TG_PARAM(p, tendon_rest) + 2 * i;
        if (is_rest_open(&TG_ITEM(w->b, TENDON, tendon, i)->def))
            rest[0] = rest[1] = tg_reference_tendon_length(p, i, p->q_spring, pose);
    }
    tg_free(&w->b->allocator, pose);
    return TG_OK;
}

static tg_status fill_parameters(build *w)
{
    tg_params *p = w->m->params;
    tg_error *error = &w->b->error;
    const tg_origin *origin = &w->order.origin;
    put_parameters(w);
    tg_status status = tg_params_check(p, origin, error);
    if (status == TG_OK)
        status = put_inertia_from_geoms(w);
    if (status != TG_OK)
        return status;
    tg_params_derive(p);
    status = resolve_reference(w);
    if (status == TG_OK)
        status = tg_params_check(p, origin, error); /* once more, with what was computed */
    if (status == TG_OK)
        status = tg_params_check_inertia(p, origin, error);
    p->ready = status == TG_OK;
    return status;
}

/* ---- keyframes ---- */

static tg_status check_key_length(build *w, int key, const char *field, int given, int expected)
{
    if (given == expected)
        return TG_OK;
    return tg_fail(&w->b->error, TG_ERR_MODEL, "key '%.200s' (#%d): %s = %d: the model has %d",
                   tg_builder_name_of(w->b, TG_KEY, key), key, field, given, expected);
}

static tg_status fill_key_part(build *w, int key, int part, const char *field, int given, const double *fallback,
                               double *out, int expected)
{
    int start = TG_ITEM(w->b, KEY, key, key)->start[part];
    if (start < 0)
    {
        if (fallback != NULL)
            copy_if_any(out, fallback, (size_t)expected * sizeof *out);
        return TG_OK;
    }
    tg_status status = check_key_length(w, key, field, given, expected);
    if (status == TG_OK)
        copy_if_any(out, TG_LIST(w->b, NUMBER, double) + start, (size_t)expected * sizeof *out);
    return status;
}

static tg_status check_key_quaternions(build *w, int key, const double *q)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->nquat; i++)
    {
        int at = m->quat_q[i];
        double unit[4];
        double norm = tg_quat_normalise(q + at, unit);
        if (fabs(norm - 1) > 1e-3)
            return tg_fail(&w->b->error, TG_ERR_VALUE, "key '%.200s' (#%d): q[%d..%d]: quaternion of norm %g: must be 1",
                           tg_builder_name_of(w->b, TG_KEY, key), key, at, at + 3, norm);
    }
    return TG_OK;
}

static tg_status fill_key(build *w, int key)
{
    tg_model *m = w->m;
    const tg_key_def *def = &TG_ITEM(w->b, KEY, key, key)->def;
    double *q = m->key_q + (size_t)key * m->nq;
    m->key_time[key] = def->time;
    tg_status status = fill_key_part(w, key, 0, "nq", def->nq, m->params->q0, q, m->nq);
    if (status == TG_OK)
        status = fill_key_part(w, key, 1, "nv", def->nv, NULL, m->key_v + (size_t)key * m->nv, m->nv);
    if (status == TG_OK)
        status = fill_key_part(w, key, 2, "na", def->na, NULL, m->key_act + (size_t)key * m->na, m->na);
    if (status == TG_OK)
        status = fill_key_part(w, key, 3, "nu", def->nu, NULL, m->key_ctrl + (size_t)key * m->nu, m->nu);
    return status != TG_OK ? status : check_key_quaternions(w, key, q);
}

/* ---- all of it ---- */

static tg_status make(build *w)
{
    tg_status status = make_hulls(w);
    if (status == TG_OK)
        status = allocate(w);
    if (status == TG_OK)
        status = fill_names(w);
    if (status != TG_OK)
        return status;
    fill_structure(w);
    status = check_planes(w);
    if (status == TG_OK)
        status = fill_parameters(w);
    for (int key = 0; key < w->m->nkey && status == TG_OK; key++)
        status = fill_key(w, key);
    return status;
}

tg_status tg_builder_build(tg_builder *b, tg_model **m)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (m == NULL)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "tg_builder_build: m is NULL");
    *m = NULL;
    build w = {.b = b};
    tg_status status = tg_builder_check(b);
    if (status == TG_OK)
        status = tg_order_make(b, &w.order);
    if (status != TG_OK)
        return status;
    status = make(&w);
    free_hulls(&w);
    tg_order_free(b, &w.order);
    if (status == TG_OK)
        *m = w.m;
    else
        tg_model_destroy(w.m);
    return status;
}
