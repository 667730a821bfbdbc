/* Default classes. A class starts as a copy of the one it stands in, so a nested class inherits what was set before it;
 * "main" is the outermost. */
#include <math.h>
#include <string.h>

#include "model/mjcf.h"

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

static tg_mjcf_class *add_class(tg_mjcf *r, const char *name, const tg_mjcf_class *parent)
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
    if (r->last != NULL)
        r->last->next = c;
    r->last = c;
    return c;
}

static tg_mjcf_class *find_class(const tg_mjcf *r, const char *name)
{
    for (tg_mjcf_class *c = r->main; c != NULL; c = c->next)
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
    *found = name == NULL ? fallback : find_class(r, name);
    if (*found == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "attribute '%s': there is no default class \"%.80s\"", attribute,
                           name);
    return TG_OK;
}

/* One element of a class. */
static tg_status read_default(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row, tg_mjcf_class *c)
{
    if (strcmp(xml->name, "joint") == 0)
        return tg_mjcf_read(r, xml, row, false, &c->joint);
    if (strcmp(xml->name, "geom") == 0)
    {
        tg_status status = tg_mjcf_read(r, xml, row, false, &c->geom);
        return status == TG_OK ? tg_mjcf_pose_form(r, xml, &c->geom.pose) : status;
    }
    if (strcmp(xml->name, "site") == 0)
    {
        tg_status status = tg_mjcf_read(r, xml, row, false, &c->site);
        return status == TG_OK ? tg_mjcf_pose_form(r, xml, &c->site.pose) : status;
    }
    if (strcmp(xml->name, "mesh") == 0)
        return tg_mjcf_read(r, xml, row, false, &c->mesh);
    if (strcmp(xml->name, "pair") == 0)
        return tg_mjcf_read(r, xml, row, false, &c->pair);
    if (strcmp(xml->name, "equality") == 0)
        return tg_mjcf_read(r, xml, row, false, &c->equality);
    if (strcmp(xml->name, "tendon") == 0)
        return tg_mjcf_read_tendon(r, xml, row, &c->tendon);
    if (tg_mjcf_actuator_kind_of(xml->name) != TG_MJCF_ACTUATOR_KINDS)
        return tg_mjcf_default_actuator(r, xml, row, c);
    return TG_OK; /* looks: camera, light, material, texture */
}

/* The elements of a class first, then the classes inside it. */
static tg_status read_class(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row, tg_mjcf_class *c)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "default") != 0)
            status = read_default(r, e, tg_mjcf_child_row(row, e->name), c);
    }
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "default") != 0)
            continue;
        const char *name = tg_xml_get(e, "class");
        if (name == NULL || name[0] == '\0')
            return tg_xml_fail(r->error, TG_ERR_PARSE, e, "attribute 'class' is missing in a nested default");
        if (find_class(r, name) != NULL)
            return tg_xml_fail(r->error, TG_ERR_NAME, e, "default class \"%.80s\" is defined twice", name);
        tg_mjcf_class *inner = add_class(r, name, c);
        if (inner == NULL)
            return tg_mjcf_no_memory(r, e);
        status = read_class(r, e, tg_mjcf_child_row(row, "default"), inner);
    }
    return status;
}

tg_status tg_mjcf_first_class(tg_mjcf *r)
{
    r->main = add_class(r, "main", NULL);
    return r->main != NULL ? TG_OK : tg_mjcf_no_memory(r, r->root);
}

tg_status tg_mjcf_defaults(tg_mjcf *r, const tg_xml *section)
{
    const char *name = tg_xml_get(section, "class");
    if (name != NULL && name[0] != '\0' && strcmp(name, "main") != 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, section, "the outermost default class is \"main\", got \"%.80s\"",
                           name);
    return read_class(r, section, tg_mjcf_child_row(tg_mjcf_rows(), "default"), r->main);
}
