/* Default classes. A class starts as a copy of the one it stands in, so a nested class inherits what was set before it;
 * "main" is the outermost. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"

static const tg_mjcf_pose no_pose = {.quat = {1, 0, 0, 0}};

/* What holds where a file says nothing. */
static void set_initial(tg_mjcf_class *c)
{
    c->joint = (tg_mjcf_joint){
        .axis = {0, 0, 1}, .type = TG_JOINT_HINGE, .limited = TG_MJCF_AUTO, .force_limited = TG_MJCF_AUTO};
    c->geom = (tg_mjcf_geom){.pose = no_pose,
                             .type = TG_GEOM_SPHERE,
                             .contype = 1,
                             .conaffinity = 1,
                             .condim = 3,
                             .friction = {1, 0.005, 0.0001},
                             .mass = (double)NAN,
                             .density = 1000,
                             .fromto = {(double)NAN},
                             .fitscale = 1};
    c->site =
        (tg_mjcf_site){.pose = no_pose, .type = TG_GEOM_SPHERE, .size = {0.005, 0.005, 0.005}, .fromto = {(double)NAN}};
    c->mesh = (tg_mjcf_mesh){.scale = {1, 1, 1}, .refquat = {1, 0, 0, 0}, .inertia = TG_MJCF_LEGACY};
    c->pair = (tg_mjcf_pair){.condim = 3, .friction = {1, 1, 0.005, 0.0001, 0.0001}};
    c->equality = (tg_mjcf_equality){
        .active = 1, .anchor = {(double)NAN}, .relpose = {(double)NAN}, .torquescale = 1, .polycoef = {0, 1, 0, 0, 0}};
    c->tendon = (tg_mjcf_tendon){.limited = TG_MJCF_AUTO, .force_limited = TG_MJCF_AUTO, .springlength = {-1, -1}};
    c->actuator = (tg_mjcf_actuator){.ctrl_limited = TG_MJCF_AUTO,
                                     .force_limited = TG_MJCF_AUTO,
                                     .act_limited = TG_MJCF_AUTO,
                                     .gear = {1},
                                     .actdim = -1,
                                     .law = tg_mjcf_first_law};
}

static tg_mjcf_class *add_class(tg_mjcf *r, tg_mjcf_scope *scope, const char *name, const tg_mjcf_class *parent)
{
    tg_mjcf_class *c = TG_POOL_TAKE(r->pool, tg_mjcf_class, 1);
    if (c == NULL)
        return NULL;
    if (parent != NULL)
        *c = *parent;
    else
        set_initial(c);
    c->name = name;
    c->actuator_kind = TG_MJCF_ACTUATOR_KINDS;
    c->parent = parent;
    c->next = NULL;
    if (scope->last != NULL)
        scope->last->next = c;
    scope->last = c;
    return c;
}

static tg_mjcf_class *find_class(const tg_mjcf_scope *scope, const char *name)
{
    for (tg_mjcf_class *c = scope->main; c != NULL; c = c->next)
    {
        if (strcmp(c->name, name) == 0)
            return c;
    }
    return NULL;
}

tg_status tg_mjcf_find_class(tg_mjcf *r, const tg_xml *xml, const char *attribute, const tg_mjcf_class *fallback,
                             const tg_mjcf_class **found)
{
    const char *name = tg_xml_get(xml, attribute);
    const tg_mjcf_scope *scope = tg_mjcf_scope_of(r, xml);
    if (fallback == NULL)
        fallback = scope->main;
    *found = name == NULL ? fallback : find_class(scope, name);
    if (*found == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "attribute '%s': there is no default class \"%.80s\"", attribute,
                           name);
    return TG_OK;
}

tg_status tg_mjcf_class_at(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_class **found)
{
    const tg_xml *e = tg_xml_get(xml, "class") != NULL ? xml : xml->parent;
    while (e != xml && e->parent != NULL && tg_xml_get(e, "childclass") == NULL)
        e = e->parent;
    return tg_mjcf_find_class(r, e, e == xml ? "class" : "childclass", NULL, found);
}

/* One element of a class. */
static tg_status read_default(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_class *c)
{
    if (strcmp(xml->name, "joint") == 0)
        return tg_table_read(r->error, xml, row, false, &c->joint);
    if (strcmp(xml->name, "geom") == 0)
    {
        tg_status status = tg_table_read(r->error, xml, row, false, &c->geom);
        return status == TG_OK ? tg_mjcf_pose_form(r, xml, &c->geom.pose) : status;
    }
    if (strcmp(xml->name, "site") == 0)
    {
        tg_status status = tg_table_read(r->error, xml, row, false, &c->site);
        return status == TG_OK ? tg_mjcf_pose_form(r, xml, &c->site.pose) : status;
    }
    if (strcmp(xml->name, "mesh") == 0)
        return tg_table_read(r->error, xml, row, false, &c->mesh);
    if (strcmp(xml->name, "pair") == 0)
        return tg_table_read(r->error, xml, row, false, &c->pair);
    if (strcmp(xml->name, "equality") == 0)
        return tg_table_read(r->error, xml, row, false, &c->equality);
    if (strcmp(xml->name, "tendon") == 0)
        return tg_mjcf_read_tendon(r, xml, row, &c->tendon);
    if (tg_mjcf_actuator_kind_of(xml->name) != TG_MJCF_ACTUATOR_KINDS)
        return tg_mjcf_default_actuator(r, xml, row, c);
    return TG_OK; /* looks: camera, light, material, texture */
}

/* The elements of a class first, then the classes inside it. */
static tg_status read_class(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_class *c)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "default") != 0)
            status = read_default(r, e, tg_table_child(row, e->name), c);
    }
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "default") != 0)
            continue;
        const char *name = tg_xml_get(e, "class");
        if (name == NULL || name[0] == '\0')
            return tg_xml_fail(r->error, TG_ERR_PARSE, e, "attribute 'class' is missing in a nested default");
        tg_mjcf_scope *scope = tg_mjcf_scope_of(r, e);
        if (find_class(scope, name) != NULL)
            return tg_xml_fail(r->error, TG_ERR_NAME, e, "default class \"%.80s\" is defined twice", name);
        tg_mjcf_class *inner = add_class(r, scope, name, c);
        if (inner == NULL)
            return tg_mjcf_no_memory(r, e);
        status = read_class(r, e, tg_table_child(row, "default"), inner);
    }
    return status;
}

static tg_status read_section(tg_mjcf *r, const tg_xml *section, tg_mjcf_class *main)
{
    const char *name = tg_xml_get(section, "class");
    if (name != NULL && name[0] != '\0' && strcmp(name, "main") != 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, section, "the outermost default class is \"main\", got \"%.80s\"",
                           name);
    return read_class(r, section, tg_table_child(tg_mjcf_rows(), "default"), main);
}

tg_status tg_mjcf_classes(tg_mjcf *r, tg_mjcf_scope *scope)
{
    scope->main = add_class(r, scope, "main", NULL);
    tg_status status = scope->main != NULL ? TG_OK : tg_mjcf_no_memory(r, scope->root);
    for (const tg_xml *e = scope->root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "default") == 0)
            status = read_section(r, e, scope->main);
    }
    return status;
}
