#include "model/append.h"

#include <string.h>

#include "base/status.h"
#include "model/contact_order.h"
#include "model/text.h"
#include "tangere/algebra.h"

typedef struct append
{
    tg_builder *b;
    const tg_model *m;
    const tg_params *p;
    const char *prefix;
    const double *pose; /* NULL: the identity */
    int *first;
    tg_text name; /* of the element that is being added */
} append;

/* ---- names, references, poses ---- */

static const char *name_of(append *a, tg_element element, int index)
{
    const char *name = tg_name(a->m, element, index);
    if (name[0] == '\0')
        return "";
    a->name.length = 0;
    tg_text_string(&a->name, a->prefix);
    tg_text_string(&a->name, name);
    return a->name.failed ? "" : a->name.data;
}

static int id_of(const append *a, tg_element element, int index)
{
    if (index < 0)
        return -1;
    if (element == TG_BODY)
        return index == 0 ? 0 : a->first[TG_BODY] + index - 1;
    return a->first[element] + index;
}

/* A pose in the model's world, in the builder's. */
static void move_pose(const append *a, double pos[3], double quat[4])
{
    double T[7];
    if (a->pose == NULL)
        return;
    memcpy(T, pos, 3 * sizeof *pos);
    tg_quat_normalise(quat, T + 3);
    tg_se3_multiply(a->pose, T, T);
    memcpy(pos, T, 3 * sizeof *pos);
    memcpy(quat, T + 3, 4 * sizeof *quat);
}

static void move_point(const append *a, double point[3])
{
    if (a->pose != NULL)
        tg_se3_transform(a->pose, point, point);
}

/* Field of the definition `def` = the same field of element i in the vector. */
#define GET(element, field)                                                                                            \
    memcpy(&def.field, (const char *)TG_PARAM(a->p, element##_##field) + (size_t)i * sizeof def.field, sizeof def.field)

/* ---- the elements ---- */

static tg_status add_body(append *a, int i)
{
    tg_body_def def = tg_default_body();
    if (i == 0)
        return TG_OK; /* the world already exists */
    def.name = name_of(a, TG_BODY, i);
    def.parent = id_of(a, TG_BODY, a->m->body_parent[i]);
    def.inertial = true;
    GET(body, pos);
    GET(body, quat);
    GET(body, mass);
    GET(body, com);
    GET(body, inertia);
    if (def.parent == 0)
        move_pose(a, def.pos, def.quat);
    return tg_builder_body(a->b, &def, NULL);
}

static tg_status add_joint(append *a, int i)
{
    tg_joint_def def = tg_default_joint();
    def.name = name_of(a, TG_JOINT, i);
    def.body = id_of(a, TG_BODY, a->m->joint_body[i]);
    def.type = (tg_joint_type)a->m->joint_type[i];
    def.limited = a->m->joint_limited[i] != 0;
    def.force_limited = a->m->joint_force_limited[i] != 0;
    GET(joint, pos);
    GET(joint, axis);
    GET(joint, ref);
    GET(joint, springref);
    GET(joint, stiffness);
    GET(joint, damping);
    GET(joint, armature);
    GET(joint, frictionloss);
    GET(joint, range);
    GET(joint, margin);
    GET(joint, force_range);
    return tg_builder_joint(a->b, &def, NULL);
}

static tg_status add_geom(append *a, int i)
{
    const tg_model *m = a->m;
    tg_geom_def def = tg_default_geom();
    def.name = name_of(a, TG_GEOM, i);
    def.body = id_of(a, TG_BODY, m->geom_body[i]);
    def.type = (tg_geom_type)m->geom_type[i];
    def.mesh = id_of(a, TG_MESH, m->geom_mesh[i]);
    def.hfield = id_of(a, TG_HFIELD, m->geom_hfield[i]);
    def.mass = 0; /* the body has its inertia */
    def.contype = m->geom_contype[i];
    def.conaffinity = m->geom_conaffinity[i];
    def.condim = m->geom_condim[i];
    def.priority = m->geom_priority[i];
    def.group = m->geom_group[i];
    def.gap = m->geom_gap[i];
    memcpy(def.rgba, m->geom_rgba + 4 * i, sizeof def.rgba);
    GET(geom, pos);
    GET(geom, quat);
    GET(geom, size);
    GET(geom, friction);
    GET(geom, kinetic);
    GET(geom, slip_speed);
    GET(geom, damping);
    GET(geom, restitution);
    GET(geom, compliance);
    GET(geom, margin);
    if (def.body == 0)
        move_pose(a, def.pos, def.quat);
    return tg_builder_geom(a->b, &def, NULL);
}

/* Its name needs no prefix: nothing refers to it. */
static tg_status add_visual(append *a, int i)
{
    const tg_visual_info *info = &a->m->visual[i];
    tg_visual_def def = tg_default_visual();
    def.name = info->name;
    def.file = info->file;
    def.type = info->type;
    def.body = id_of(a, TG_BODY, info->body);
    memcpy(def.pos, info->pos, sizeof def.pos);
    memcpy(def.quat, info->quat, sizeof def.quat);
    memcpy(def.size, info->size, sizeof def.size);
    memcpy(def.rgba, info->rgba, sizeof def.rgba);
    if (def.body == 0)
        move_pose(a, def.pos, def.quat);
    return tg_builder_visual(a->b, &def);
}

static tg_status add_site(append *a, int i)
{
    tg_site_def def = tg_default_site();
    def.name = name_of(a, TG_SITE, i);
    def.body = id_of(a, TG_BODY, a->m->site_body[i]);
    GET(site, pos);
    GET(site, quat);
    if (def.body == 0)
        move_pose(a, def.pos, def.quat);
    return tg_builder_site(a->b, &def, NULL);
}

static tg_status add_tendon(append *a, int i)
{
    const tg_model *m = a->m;
    tg_tendon_def def = tg_default_tendon();
    int npath = m->tendon_npath[i];
    tg_path *path = tg_alloc(&a->b->allocator, (size_t)npath * sizeof *path);
    if (path == NULL)
        return tg_fail(&a->b->error, TG_ERR_MEMORY, "builder: out of memory");
    for (int k = 0; k < npath; k++)
    {
        int item = m->tendon_path[i] + k;
        tg_path_type type = (tg_path_type)m->path_type[item];
        path[k].type = type;
        path[k].id = id_of(a, type == TG_PATH_JOINT ? TG_JOINT : TG_SITE, m->path_id[item]);
        path[k].value = TG_PARAM(a->p, tendon_coef)[item];
    }
    def.name = name_of(a, TG_TENDON, i);
    def.type = (tg_tendon_type)m->tendon_type[i];
    def.npath = npath;
    def.path = path;
    def.limited = m->tendon_limited[i] != 0;
    def.law = (tg_tendon_law)m->tendon_law[i];
    GET(tendon, stiffness);
    GET(tendon, damping);
    GET(tendon, rest);
    for (int k = 0; k < 2; k++)
        def.rest[k] += TG_PARAM(a->p, tendon_length)[i];
    GET(tendon, frictionloss);
    GET(tendon, range);
    GET(tendon, margin);
    tg_status status = tg_builder_tendon(a->b, &def, NULL);
    tg_free(&a->b->allocator, path);
    return status;
}

static tg_status add_actuator(append *a, int i)
{
    static const tg_element target[] = {TG_JOINT, TG_TENDON, TG_SITE};
    const tg_model *m = a->m;
    tg_actuator_def def = tg_default_actuator();
    def.name = name_of(a, TG_ACTUATOR, i);
    def.transmission = (tg_transmission)m->actuator_transmission[i];
    def.target = id_of(a, target[def.transmission], m->actuator_target[i]);
    def.dynamics = (tg_dynamics_type)m->actuator_dynamics[i];
    def.act_early = m->actuator_act_early[i] != 0;
    def.ctrl_limited = m->actuator_ctrl_limited[i] != 0;
    def.force_limited = m->actuator_force_limited[i] != 0;
    def.act_limited = m->actuator_act_limited[i] != 0;
    def.drives = (tg_drives)m->actuator_drives[i];
    GET(actuator, gear);
    GET(actuator, gain);
    GET(actuator, bias);
    GET(actuator, tau);
    GET(actuator, ctrl_range);
    GET(actuator, force_range);
    GET(actuator, act_range);
    return tg_builder_actuator(a->b, &def, NULL);
}

/* An equality with the world has numbers in the frame of the world, which is moved by P:
 *   connect: the anchor on that side becomes P anchor;
 *   weld: body 2 in body 1 is X1^-1 X2, so it becomes P X when body 1 is the world, X P^-1 when body 2 is. */
static void move_equality(const append *a, int i, tg_equality_def *def)
{
    bool world1 = a->m->equality_obj1[i] == 0, world2 = a->m->equality_obj2[i] == 0;
    if (a->pose == NULL || (!world1 && !world2))
        return;
    if (def->type == TG_EQUALITY_CONNECT)
    {
        move_point(a, world1 ? def->data : def->data + 3);
    }
    else if (def->type == TG_EQUALITY_WELD)
    {
        double inverse[7];
        tg_se3_inverse(a->pose, inverse);
        tg_quat_normalise(def->data + 6, def->data + 6);
        tg_se3_multiply(world1 ? a->pose : def->data + 3, world1 ? def->data + 3 : inverse, def->data + 3);
        if (world2)
            move_point(a, def->data);
    }
}

static tg_status add_equality(append *a, int i)
{
    static const tg_element object[] = {TG_BODY, TG_BODY, TG_JOINT, TG_TENDON};
    const tg_model *m = a->m;
    tg_equality_def def = tg_default_equality();
    def.name = name_of(a, TG_EQUALITY, i);
    def.type = (tg_equality_type)m->equality_type[i];
    def.obj1 = id_of(a, object[def.type], m->equality_obj1[i]);
    def.obj2 = id_of(a, object[def.type], m->equality_obj2[i]);
    def.active = m->equality_active[i] != 0;
    GET(equality, data);
    move_equality(a, i, &def);
    return tg_builder_equality(a->b, &def, NULL);
}

static tg_status add_pair(append *a, int i)
{
    tg_pair_def def = tg_default_pair();
    def.name = name_of(a, TG_PAIR, i);
    def.geom1 = id_of(a, TG_GEOM, a->m->pair_geom1[i]);
    def.geom2 = id_of(a, TG_GEOM, a->m->pair_geom2[i]);
    def.condim = a->m->pair_condim[i];
    def.gap = a->m->pair_gap[i];
    GET(pair, friction);
    GET(pair, kinetic);
    GET(pair, slip_speed);
    GET(pair, damping);
    GET(pair, restitution);
    GET(pair, compliance);
    GET(pair, margin);
    return tg_builder_pair(a->b, &def, NULL);
}

static tg_status add_exclude(append *a, int i)
{
    tg_exclude_def def = tg_default_exclude();
    def.name = name_of(a, TG_EXCLUDE, i);
    def.body1 = id_of(a, TG_BODY, a->m->exclude_body1[i]);
    def.body2 = id_of(a, TG_BODY, a->m->exclude_body2[i]);
    def.geom1 = id_of(a, TG_GEOM, a->m->exclude_geom1[i]);
    def.geom2 = id_of(a, TG_GEOM, a->m->exclude_geom2[i]);
    return tg_builder_exclude(a->b, &def, NULL);
}

static tg_status add_mesh(append *a, int i)
{
    const tg_model *m = a->m;
    tg_mesh_def def = tg_default_mesh();
    def.name = name_of(a, TG_MESH, i);
    def.nvertex = m->mesh_nvertex[i];
    def.vertex = m->vertex + 3 * (size_t)m->mesh_vertex[i];
    def.nface = m->mesh_nface[i];
    def.face = m->face + 3 * (size_t)m->mesh_face[i];
    return tg_builder_mesh(a->b, &def, NULL);
}

static tg_status add_hfield(append *a, int i)
{
    const tg_model *m = a->m;
    tg_hfield_def def = tg_default_hfield();
    def.name = name_of(a, TG_HFIELD, i);
    def.nrow = m->hfield_nrow[i];
    def.ncol = m->hfield_ncol[i];
    def.elevation = m->elevation + m->hfield_elevation[i];
    GET(hfield, size);
    return tg_builder_hfield(a->b, &def, NULL);
}

/* ---- all of them ---- */

static tg_status add_elements(append *a)
{
    const tg_model *m = a->m;
    const struct
    {
        tg_status (*add)(append *a, int i);
        int count;
    } kinds[] = {
        {add_mesh, m->nmesh},         {add_hfield, m->nhfield}, {add_body, m->nbody},       {add_joint, m->njoint},
        {add_geom, m->ngeom},         {add_site, m->nsite},     {add_tendon, m->ntendon},   {add_actuator, m->nu},
        {add_equality, m->nequality}, {add_pair, m->npair},     {add_exclude, m->nexclude}, {add_visual, m->nvisual},
    };
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    {
        for (int i = 0; i < kinds[k].count; i++)
        {
            tg_status status = kinds[k].add(a, i);
            if (status == TG_OK && a->name.failed)
                status = tg_fail(&a->b->error, TG_ERR_MEMORY, "builder: out of memory");
            if (status != TG_OK)
                return status;
        }
    }
    return TG_OK;
}

tg_status tg_builder_append(tg_builder *b, const tg_model *m, const tg_params *p, const char *prefix,
                            const double *pose, int first[TG_ELEMENT_COUNT])
{
    tg_builder_mark before = tg_builder_mark_of(b);
    memcpy(first, before.count, TG_ELEMENT_COUNT * sizeof *first);
    append a = {b, m, p, prefix, pose, first, {.allocator = &b->allocator}};
    tg_status status = add_elements(&a);
    tg_text_free(&a.name);
    if (status != TG_OK)
        tg_builder_rewind(b, &before);
    return status;
}

/* ---- the order of pairs and excludes ---- */

static int body_of(const tg_builder *b, int geom)
{
    return TG_ITEM(b, GEOM, geom, geom)->def.body;
}

static tg_contact_key key_of(const tg_builder *b, tg_element element, int id)
{
    if (element == TG_PAIR)
    {
        const tg_pair_def *def = &TG_ITEM(b, PAIR, pair, id)->def;
        return (tg_contact_key){.geoms = true, .body1 = body_of(b, def->geom1), .body2 = body_of(b, def->geom2)};
    }
    const tg_exclude_def *def = &TG_ITEM(b, EXCLUDE, exclude, id)->def;
    bool geoms = def->geom1 >= 0;
    return (tg_contact_key){.geoms = geoms,
                            .body1 = geoms ? body_of(b, def->geom1) : def->body1,
                            .body2 = geoms ? body_of(b, def->geom2) : def->body2};
}

static bool sort_kind(tg_builder *b, tg_element element, size_t size)
{
    tg_list *list = &b->list[element];
    size_t n = (size_t)list->count;
    tg_contact_key *key = tg_alloc(&b->allocator, n * sizeof *key);
    char *sorted = tg_alloc(&b->allocator, (size_t)list->capacity * size);
    bool done = key != NULL && sorted != NULL;
    for (size_t i = 0; i < n && done; i++)
        key[i] = key_of(b, element, (int)i);
    if (done)
        tg_contact_sort(key, list->count);
    for (size_t i = 0; i < n && done; i++)
        memcpy(sorted + i * size, (const char *)list->data + (size_t)key[i].index * size, size);
    tg_free(&b->allocator, key);
    tg_free(&b->allocator, done ? list->data : sorted);
    if (done)
        list->data = sorted;
    return done;
}

tg_status tg_builder_sort_contacts(tg_builder *b)
{
    if ((b->list[TG_PAIR].count > 0 && !sort_kind(b, TG_PAIR, sizeof(tg_pair_item))) ||
        (b->list[TG_EXCLUDE].count > 0 && !sort_kind(b, TG_EXCLUDE, sizeof(tg_exclude_item))))
        return tg_fail(&b->error, TG_ERR_MEMORY, "builder: out of memory");
    return TG_OK;
}
