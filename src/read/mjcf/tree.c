/* worldbody: bodies, frames, joints, geoms, sites.
 *
 * A body is read in two walks over its elements (frames are walked through, they only move what is in them): the first
 * collects its inertial, joints, geoms and sites, so that its inertia is known when it is given to the builder; the
 * second reads the bodies inside it. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

#define DEGREE (3.14159265358979323846 / 180)

static const double identity[7] = {0, 0, 0, 1, 0, 0, 0};

/* Where an element stands: the body around it, and the frame and class that hold there. */
typedef struct place
{
    int body;
    const double *frame; /* pose in the body */
    const tg_mjcf_class *class;
    const tg_table_row *row; /* of the element around it */
} place;

typedef struct joint_item
{
    const tg_xml *xml;
    tg_joint_def def;
    double timeconst, dampratio; /* of springdamper; 0: none */
} joint_item;

typedef struct geom_item
{
    const tg_xml *xml;
    tg_geom_def def;
    tg_lump lump;
    int mesh;     /* that it names, also when it is fitted to it; -1: none */
    bool discard; /* for looks alone, and not wanted */
} geom_item;

typedef struct site_item
{
    const tg_xml *xml;
    tg_site_def def;
} site_item;

/* What the first walk finds beside the lists in the reader. */
typedef struct parts
{
    const tg_xml *inertial_xml;
    tg_mjcf_inertial inertial;
} parts;

static void split_pose(const double pose[7], double pos[3], double quat[4])
{
    memcpy(pos, pose, 3 * sizeof *pos);
    memcpy(quat, pose + 3, 4 * sizeof *quat);
}

static tg_status report_polynomial(tg_mjcf *r, const tg_xml *xml, const char *attribute, const double *numbers)
{
    for (int i = 1; i < TG_MJCF_POLY; i++)
    {
        if (numbers[i] != 0)
            return tg_mjcf_report(r, TG_TABLE_IGNORED, xml, attribute, "only the linear coefficient counts");
    }
    return TG_OK;
}

/* ---- joints ---- */

static tg_status joint_limits(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_joint *w, tg_joint_def *def)
{
    def->limited = false;
    memcpy(def->range, w->range, sizeof def->range);
    if (w->type == TG_JOINT_FREE)
        return TG_OK;
    tg_status status = tg_mjcf_limits(r, xml, "", w->limited, w->range, &def->limited);
    if (status != TG_OK || !def->limited)
        return status;
    if (w->type != TG_JOINT_BALL && w->range[0] >= w->range[1])
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'range': %g is not below %g", w->range[0],
                           w->range[1]);
    if (w->type == TG_JOINT_BALL && w->range[0] != 0)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'range': of a ball must start with 0, got %g",
                           w->range[0]);
    if (tg_mjcf_compiler_of(r, xml)->degree && w->type != TG_JOINT_SLIDE)
    {
        def->range[0] *= DEGREE;
        def->range[1] *= DEGREE;
    }
    return TG_OK;
}

static tg_status joint_force_limits(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_joint *w, tg_joint_def *def)
{
    def->force_limited = false;
    memcpy(def->force_range, w->force_range, sizeof def->force_range);
    if (w->type == TG_JOINT_FREE || w->type == TG_JOINT_BALL)
        return TG_OK;
    tg_status status = tg_mjcf_limits(r, xml, "actuatorfrc", w->force_limited, w->force_range, &def->force_limited);
    if (status == TG_OK && def->force_limited && w->force_range[0] >= w->force_range[1])
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'actuatorfrcrange': %g is not below %g",
                           w->force_range[0], w->force_range[1]);
    return status;
}

/* Anchor and axis in the body. */
static tg_status joint_geometry(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_joint *w, const double *frame,
                                tg_joint_def *def)
{
    if (w->type == TG_JOINT_FREE)
        return TG_OK;
    tg_se3_transform(frame, w->pos, def->pos);
    if (w->type == TG_JOINT_BALL)
        return TG_OK;
    double length = sqrt(w->axis[0] * w->axis[0] + w->axis[1] * w->axis[1] + w->axis[2] * w->axis[2]);
    if (length < 1e-14)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'axis': is zero");
    if (fabs(length - 1) <= 1e-15) /* unit to rounding: stays as it is written */
        length = 1;
    double axis[3] = {w->axis[0] / length, w->axis[1] / length, w->axis[2] / length};
    tg_quat_rotate(frame + 3, axis, def->axis);
    return TG_OK;
}

static tg_status joint_definition(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_joint *w, const double *frame,
                                  joint_item *item)
{
    tg_joint_def *def = &item->def;
    *def = tg_default_joint();
    def->name = tg_xml_get(xml, "name");
    def->type = (tg_joint_type)w->type;
    double angle = tg_mjcf_compiler_of(r, xml)->degree && w->type == TG_JOINT_HINGE ? DEGREE : 1;
    def->ref = angle * w->ref;
    def->springref = angle * w->springref;
    def->stiffness = w->stiffness[0];
    def->damping = w->damping[0];
    def->armature = w->armature;
    def->frictionloss = w->frictionloss;
    def->margin = w->margin;
    item->timeconst = w->springdamper[0];
    item->dampratio = w->springdamper[1];
    if ((item->timeconst != 0 || item->dampratio != 0) && !(item->timeconst > 0 && item->dampratio > 0))
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'springdamper': %g %g must be positive",
                           item->timeconst, item->dampratio);
    tg_status status = joint_geometry(r, xml, w, frame, def);
    if (status == TG_OK)
        status = joint_limits(r, xml, w, def);
    if (status == TG_OK)
        status = joint_force_limits(r, xml, w, def);
    if (status == TG_OK)
        status = report_polynomial(r, xml, "stiffness", w->stiffness);
    return status == TG_OK ? report_polynomial(r, xml, "damping", w->damping) : status;
}

static tg_status collect_joint(tg_mjcf *r, const tg_xml *xml, const place *at, bool free)
{
    if (at->body == 0)
        return tg_xml_fail(r->error, TG_ERR_MODEL, xml, "the world cannot have joints");
    tg_mjcf_joint written = at->class->joint;
    tg_status status = TG_OK;
    if (free) /* takes nothing from a class */
        written = (tg_mjcf_joint){.type = TG_JOINT_FREE};
    else
        status = tg_table_read(r->error, xml, tg_table_child(at->row, xml->name), true, &written);
    joint_item *item = status == TG_OK ? tg_mjcf_append(r, &r->joints, sizeof *item) : NULL;
    if (item == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    item->xml = xml;
    return joint_definition(r, xml, &written, at->frame, item);
}

/* ---- geoms ---- */

/* The numbers of size that a type needs must be positive. */
static tg_status check_size(tg_mjcf *r, const tg_xml *xml, tg_geom_type type, const double size[3])
{
    static const int needed[TG_GEOM_TYPE_COUNT] = {
        [TG_GEOM_SPHERE] = 1, [TG_GEOM_CAPSULE] = 2, [TG_GEOM_CYLINDER] = 2, [TG_GEOM_ELLIPSOID] = 3, [TG_GEOM_BOX] = 3,
    };
    for (int i = 0; i < needed[type]; i++)
    {
        if (!(size[i] > 0))
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'size': number %d must be positive, got %g",
                               i + 1, size[i]);
    }
    if (type == TG_GEOM_PLANE && (size[0] < 0 || size[1] < 0 || !(size[2] > 0)))
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'size': of a plane, got %g %g %g", size[0], size[1],
                           size[2]);
    return TG_OK;
}

static tg_status geom_references(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *w, tg_geom_def *def)
{
    bool mesh = w->mesh != NULL && w->mesh[0] != '\0', hfield = w->hfield != NULL && w->hfield[0] != '\0';
    if (w->type == TG_MJCF_GEOM_SDF)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "attribute 'type'=\"sdf\" is not built");
    if (mesh && (w->type == TG_GEOM_PLANE || w->type == TG_GEOM_HFIELD))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'mesh'=\"%.80s\": a %s is not fitted to a mesh",
                           w->mesh, w->type == TG_GEOM_PLANE ? "plane" : "height field");
    if (mesh && !isnan(w->fromto[0]))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes 'mesh' and 'fromto' exclude each other");
    if (w->type == TG_GEOM_MESH && w->shell)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml,
                           "attribute 'shellinertia': of a mesh, inertia is chosen in its asset");
    if (!mesh && w->type == TG_GEOM_MESH)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'mesh' is missing");
    if (hfield != (w->type == TG_GEOM_HFIELD))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'hfield' and the type hfield belong together");
    if (mesh)
        return tg_mjcf_refer(r, xml, "mesh", w->mesh, TG_MESH, &def->mesh);
    return hfield ? tg_mjcf_refer(r, xml, "hfield", w->hfield, TG_HFIELD, &def->hfield) : TG_OK;
}

/* Pose and size. */
static tg_status geom_shape(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *w, const double *frame, geom_item *item)
{
    tg_geom_def *def = &item->def;
    double pose[7];
    memcpy(def->size, w->size, sizeof def->size);
    bool ends = !isnan(w->fromto[0]);
    tg_status status = ends ? tg_mjcf_fromto(r, xml, w->type, w->fromto, w->pose.pos, pose, def->size)
                            : tg_mjcf_pose_resolve(r, xml, &w->pose, pose);
    item->mesh = def->mesh;
    if (status == TG_OK && def->mesh >= 0 && def->type != TG_GEOM_MESH)
    {
        double fitted[7];
        status = tg_mjcf_fit(r, xml, w, def->mesh, def->size, fitted);
        tg_se3_multiply(pose, fitted, pose);
        def->mesh = -1;
    }
    if (status != TG_OK)
        return status;
    tg_se3_multiply(frame, pose, pose);
    split_pose(pose, def->pos, def->quat);
    if (def->type == TG_GEOM_MESH || def->type == TG_GEOM_HFIELD)
        def->size[0] = def->size[1] = def->size[2] = 1;
    return check_size(r, xml, def->type, def->size);
}

static tg_status geom_definition(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *w, const place *at, geom_item *item)
{
    tg_geom_def *def = &item->def;
    *def = tg_default_geom();
    def->name = tg_xml_get(xml, "name");
    def->mass = isnan(w->mass) ? -1 : w->mass;
    def->density = w->density;
    def->shell = w->shell != 0;
    def->contype = w->contype;
    def->conaffinity = w->conaffinity;
    def->condim = w->condim;
    def->priority = w->priority;
    def->group = w->group;
    def->margin = w->margin;
    def->gap = w->gap;
    memcpy(def->friction, w->friction, sizeof def->friction);
    tg_mjcf_colour(r, xml, w, def->rgba);
    tg_status status = geom_references(r, xml, w, def);
    if (status != TG_OK)
        return status;
    def->type = (tg_geom_type)w->type;
    status = geom_shape(r, xml, w, at->frame, item);
    if (status != TG_OK || at->body == 0)
        return status;
    return tg_mjcf_geom_lump(r, xml, w, def, &item->lump);
}

static tg_status collect_geom(tg_mjcf *r, const tg_xml *xml, const place *at)
{
    tg_mjcf_geom written = at->class->geom;
    tg_status status = tg_table_read(r->error, xml, tg_table_child(at->row, xml->name), true, &written);
    if (status == TG_OK)
        status = tg_mjcf_pose_form(r, xml, &written.pose);
    geom_item *item = status == TG_OK ? tg_mjcf_append(r, &r->geoms, sizeof *item) : NULL;
    if (item == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    *item = (geom_item){.xml = xml};
    status = geom_definition(r, xml, &written, at, item);
    bool looks = written.contype == 0 && written.conaffinity == 0 && tg_mjcf_compiler_of(r, r->root)->discardvisual;
    item->discard = looks && !tg_mjcf_used(r, TG_GEOM, item->def.name);
    if (status == TG_OK && item->mesh >= 0 && !item->discard)
        ((tg_mjcf_mesh_known *)r->mesh.data)[item->mesh].used = true;
    return status;
}

/* ---- sites ---- */

static tg_status collect_site(tg_mjcf *r, const tg_xml *xml, const place *at)
{
    tg_mjcf_site written = at->class->site;
    double pose[7];
    tg_status status = tg_table_read(r->error, xml, tg_table_child(at->row, xml->name), true, &written);
    if (status == TG_OK)
        status = tg_mjcf_pose_form(r, xml, &written.pose);
    if (status != TG_OK)
        return status;
    if (written.type == TG_GEOM_MESH || written.type == TG_GEOM_HFIELD || written.type == TG_GEOM_PLANE)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'type': a site is no mesh, hfield or plane");
    status = !isnan(written.fromto[0])
                 ? tg_mjcf_fromto(r, xml, written.type, written.fromto, written.pose.pos, pose, written.size)
                 : tg_mjcf_pose_resolve(r, xml, &written.pose, pose);
    site_item *item = status == TG_OK ? tg_mjcf_append(r, &r->sites, sizeof *item) : NULL;
    if (item == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    tg_se3_multiply(at->frame, pose, pose);
    item->xml = xml;
    item->def = tg_default_site();
    item->def.name = tg_xml_get(xml, "name");
    split_pose(pose, item->def.pos, item->def.quat);
    return TG_OK;
}

/* ---- the first walk ---- */

/* Whether it counts or not. */
static tg_status check_full_inertia(tg_mjcf *r, const tg_xml *xml, const double inertia[6])
{
    double moment[3];
    if (isnan(inertia[0]))
        return TG_OK;
    tg_principal_moments(inertia, moment);
    if (moment[0] >= TG_MJCF_FULL_INERTIA)
        return TG_OK;
    return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'fullinertia': its moments must be at least %g, got %g",
                       TG_MJCF_FULL_INERTIA, moment[0]);
}

static tg_status collect_inertial(tg_mjcf *r, const tg_xml *xml, const place *at, parts *found)
{
    if (at->body == 0)
        return tg_xml_fail(r->error, TG_ERR_MODEL, xml, "the world has no inertia");
    if (found->inertial_xml != NULL)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "a body has one inertial; the first is in %s:%d",
                           found->inertial_xml->file, found->inertial_xml->line);
    found->inertial_xml = xml;
    found->inertial = (tg_mjcf_inertial){.pose = {.quat = {1, 0, 0, 0}}, .fullinertia = {(double)NAN}};
    tg_status status = tg_table_read(r->error, xml, tg_table_child(at->row, xml->name), true, &found->inertial);
    if (status == TG_OK)
        status = check_full_inertia(r, xml, found->inertial.fullinertia);
    return status == TG_OK ? tg_mjcf_pose_form(r, xml, &found->inertial.pose) : status;
}

/* The place inside a frame. */
static tg_status enter_frame(tg_mjcf *r, const tg_xml *xml, const place *at, double pose[7], place *inside)
{
    tg_mjcf_body written = {.pose = {.quat = {1, 0, 0, 0}}};
    *inside = *at;
    inside->row = tg_table_child(at->row, xml->name);
    inside->frame = pose;
    tg_status status = tg_mjcf_find_class(r, xml, "childclass", at->class, &inside->class);
    if (status == TG_OK)
        status = tg_table_read(r->error, xml, inside->row, true, &written);
    if (status == TG_OK)
        status = tg_mjcf_pose_form(r, xml, &written.pose);
    if (status == TG_OK)
        status = tg_mjcf_pose_resolve(r, xml, &written.pose, pose);
    if (status == TG_OK)
        tg_se3_multiply(at->frame, pose, pose);
    return status;
}

static tg_status collect(tg_mjcf *r, const tg_xml *xml, const place *at, parts *found)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        place here = *at;
        if (strcmp(e->name, "frame") == 0)
        {
            double pose[7];
            status = enter_frame(r, e, at, pose, &here);
            if (status == TG_OK)
                status = collect(r, e, &here, found);
            continue;
        }
        status = tg_mjcf_find_class(r, e, "class", at->class, &here.class);
        if (status != TG_OK)
            return status;
        if (strcmp(e->name, "inertial") == 0)
            status = collect_inertial(r, e, &here, found);
        else if (strcmp(e->name, "joint") == 0)
            status = collect_joint(r, e, &here, false);
        else if (strcmp(e->name, "freejoint") == 0)
            status = collect_joint(r, e, &here, true);
        else if (strcmp(e->name, "geom") == 0)
            status = collect_geom(r, e, &here);
        else if (strcmp(e->name, "site") == 0)
            status = collect_site(r, e, &here);
    }
    return status;
}

/* ---- bodies without a joint that become a part of the body around them ---- */

static bool has_joint(const tg_xml *xml)
{
    bool found = false;
    for (const tg_xml *e = xml->first; e != NULL && !found; e = e->next)
        found = strcmp(e->name, "joint") == 0 || strcmp(e->name, "freejoint") == 0 ||
                (strcmp(e->name, "frame") == 0 && has_joint(e));
    return found;
}

/* Whether a force or torque is measured at a site of the body: then it stays a body. */
static bool has_used_site(tg_mjcf *r, const tg_xml *xml)
{
    bool found = false;
    for (const tg_xml *e = xml->first; e != NULL && !found; e = e->next)
    {
        found = strcmp(e->name, "site") == 0 && tg_mjcf_used(r, TG_SITE, tg_xml_get(e, "name"));
        found = found || (strcmp(e->name, "frame") == 0 && has_used_site(r, e));
    }
    return found;
}

/* compiler.fusestatic: a body without a joint to which nothing refers. */
static bool is_fused(tg_mjcf *r, const tg_xml *xml)
{
    const char *fuse = tg_xml_get(xml, "fuse"), *mocap = tg_xml_get(xml, "mocap");
    if (!tg_mjcf_compiler_of(r, r->root)->fusestatic || strcmp(xml->name, "body") != 0)
        return false;
    if ((fuse != NULL && strcmp(fuse, "false") == 0) || (mocap != NULL && strcmp(mocap, "true") == 0))
        return false;
    return !has_joint(xml) && !tg_mjcf_used(r, TG_BODY, tg_xml_get(xml, "name")) && !has_used_site(r, xml);
}

/* The place inside a body: what is in it is collected in its own frame. pose: its frame in the place around. */
static tg_status enter_body(tg_mjcf *r, const tg_xml *xml, const place *at, tg_mjcf_body *written, double pose[7],
                            place *inside)
{
    *written = (tg_mjcf_body){.pose = {.quat = {1, 0, 0, 0}}};
    *inside = (place){.body = at->body, .frame = identity, .row = tg_table_child(at->row, xml->name)};
    tg_status status = tg_mjcf_find_class(r, xml, "childclass", at->class, &inside->class);
    if (status == TG_OK)
        status = tg_table_read(r->error, xml, inside->row, true, written);
    if (status == TG_OK)
        status = tg_mjcf_pose_form(r, xml, &written->pose);
    if (status == TG_OK)
        status = tg_mjcf_pose_resolve(r, xml, &written->pose, pose);
    if (status == TG_OK)
        tg_se3_multiply(at->frame, pose, pose);
    return status;
}

static void move_parts(tg_mjcf *r, int first_geom, int first_site, const double pose[7])
{
    for (int i = first_geom; i < r->geoms.count; i++)
    {
        tg_geom_def *def = &((geom_item *)r->geoms.data + i)->def;
        tg_se3_transform(pose, def->pos, def->pos);
        tg_quat_multiply(pose + 3, def->quat, def->quat);
    }
    for (int i = first_site; i < r->sites.count; i++)
    {
        tg_site_def *def = &((site_item *)r->sites.data + i)->def;
        tg_se3_transform(pose, def->pos, def->pos);
        tg_quat_multiply(pose + 3, def->quat, def->quat);
    }
}

static tg_lump sum_geoms(const tg_mjcf *r, int first, int end)
{
    tg_lump sum = {0};
    for (int i = first; i < end; i++)
        tg_lump_add(&sum, &((const geom_item *)r->geoms.data)[i].lump);
    return sum;
}

static tg_status fuse_body(tg_mjcf *r, const tg_xml *xml, const place *at, tg_lump *sum);

/* The fused bodies inside a body or frame, each before those inside it: their parts follow those collected so far,
 * their mass is added to sum. */
static tg_status collect_fused(tg_mjcf *r, const tg_xml *xml, const place *at, tg_lump *sum)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        place inside;
        double pose[7];
        bool frame = strcmp(e->name, "frame") == 0;
        if (frame)
            status = enter_frame(r, e, at, pose, &inside);
        if (frame && status == TG_OK)
            status = collect_fused(r, e, &inside, sum);
        if (is_fused(r, e))
            status = fuse_body(r, e, at, sum);
    }
    return status;
}

static tg_status fuse_body(tg_mjcf *r, const tg_xml *xml, const place *at, tg_lump *sum)
{
    tg_mjcf_body written;
    place inside;
    parts found = {0};
    double pose[7], R[9];
    int first_geom = r->geoms.count, first_site = r->sites.count;
    tg_body_def def = tg_default_body();
    tg_status status = enter_body(r, xml, at, &written, pose, &inside);
    inside.body = -1; /* no world: it may have an inertia */
    if (status == TG_OK)
        status = collect(r, xml, &inside, &found);
    if (status != TG_OK)
        return status;
    tg_lump geoms = sum_geoms(r, first_geom, r->geoms.count);
    status = tg_mjcf_body_inertia(r, found.inertial_xml != NULL ? found.inertial_xml : xml,
                                  found.inertial_xml != NULL ? &found.inertial : NULL, &geoms, written.pose.pos, &def);
    if (status != TG_OK)
        return status;
    move_parts(r, first_geom, first_site, pose);
    tg_lump own = {.mass = def.mass};
    memcpy(own.com, def.com, sizeof own.com);
    memcpy(own.inertia, def.inertia, sizeof own.inertia);
    tg_quat_to_matrix(pose + 3, R);
    own = tg_lump_move(&own, R, pose);
    if (own.mass > 0)
        tg_lump_add(sum, &own);
    inside = (place){at->body, pose, inside.class, inside.row};
    return collect_fused(r, xml, &inside, sum);
}

/* ---- to the builder ---- */

/* pose: of the body, in its parent */
static tg_status add_joint(tg_mjcf *r, int body, const double *pose, joint_item *item)
{
    static const int nq[] = {[TG_JOINT_FREE] = 7, [TG_JOINT_BALL] = 4, [TG_JOINT_SLIDE] = 1, [TG_JOINT_HINGE] = 1};
    static const int nv[] = {[TG_JOINT_FREE] = 6, [TG_JOINT_BALL] = 3, [TG_JOINT_SLIDE] = 1, [TG_JOINT_HINGE] = 1};
    int id = -1;
    item->def.body = body;
    tg_status status = tg_mjcf_builder_failed(r, item->xml, tg_builder_joint(r->builder, &item->def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, item->xml, TG_JOINT, item->def.name, id);
    if (status != TG_OK)
        return status;
    tg_mjcf_joint_known *known = tg_mjcf_append(r, &r->joint, sizeof *known);
    tg_mjcf_tuned *spring = item->timeconst > 0 ? tg_mjcf_append(r, &r->spring, sizeof *spring) : NULL;
    if (known == NULL || (item->timeconst > 0 && spring == NULL))
        return tg_mjcf_no_memory(r, item->xml);
    *known = (tg_mjcf_joint_known){
        .type = item->def.type, .q = r->nq, .dof = r->nv, .range = {item->def.range[0], item->def.range[1]}};
    r->nq += nq[item->def.type];
    r->nv += nv[item->def.type];
    known->q0[0] = item->def.type == TG_JOINT_BALL ? 1 : item->def.ref;
    if (item->def.type == TG_JOINT_FREE)
        memcpy(known->q0, pose, sizeof known->q0);
    if (spring != NULL)
        *spring = (tg_mjcf_tuned){.id = id, .timeconst = item->timeconst, .dampratio = item->dampratio};
    return TG_OK;
}

static tg_status add_geom(tg_mjcf *r, int body, geom_item *item)
{
    int id = -1;
    item->def.body = body;
    tg_status status = tg_mjcf_builder_failed(r, item->xml, tg_builder_geom(r->builder, &item->def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, item->xml, TG_GEOM, item->def.name, id);
    tg_mjcf_geom_known *known = status == TG_OK ? tg_mjcf_append(r, &r->geom, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, item->xml) : status;
    *known = (tg_mjcf_geom_known){body};
    return TG_OK;
}

static tg_status add_site(tg_mjcf *r, int body, site_item *item)
{
    int id = -1;
    item->def.body = body;
    tg_status status = tg_mjcf_builder_failed(r, item->xml, tg_builder_site(r->builder, &item->def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, item->xml, TG_SITE, item->def.name, id);
    tg_mjcf_site_known *known = status == TG_OK ? tg_mjcf_append(r, &r->site, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, item->xml) : status;
    known->body = body;
    memcpy(known->pose, item->def.pos, sizeof item->def.pos);
    memcpy(known->pose + 3, item->def.quat, sizeof item->def.quat);
    return TG_OK;
}

/* Gives the collected parts to the builder, and empties the lists. */
static tg_status add_parts(tg_mjcf *r, int body, const double *pose)
{
    tg_status status = TG_OK;
    for (int i = 0; i < r->joints.count && status == TG_OK; i++)
        status = add_joint(r, body, pose, (joint_item *)r->joints.data + i);
    for (int i = 0; i < r->geoms.count && status == TG_OK; i++)
    {
        geom_item *geom = (geom_item *)r->geoms.data + i;
        status = geom->discard ? TG_OK : add_geom(r, body, geom);
    }
    for (int i = 0; i < r->sites.count && status == TG_OK; i++)
        status = add_site(r, body, (site_item *)r->sites.data + i);
    r->joints.count = r->geoms.count = r->sites.count = 0;
    return status;
}

/* own: how many of the collected geoms are its own; fused: mass of the bodies that became a part of it */
static tg_status add_body(tg_mjcf *r, const tg_xml *xml, tg_body_def *def, const double written_pos[3],
                          const parts *found, int own, const tg_lump *fused, int *id)
{
    tg_lump geoms = sum_geoms(r, 0, own);
    const tg_xml *at = found->inertial_xml != NULL ? found->inertial_xml : xml;
    tg_status status =
        tg_mjcf_body_inertia(r, at, found->inertial_xml != NULL ? &found->inertial : NULL, &geoms, written_pos, def);
    if (status == TG_OK && fused->mass > 0)
    {
        tg_lump sum = {.mass = def->mass};
        memcpy(sum.com, def->com, sizeof sum.com);
        memcpy(sum.inertia, def->inertia, sizeof sum.inertia);
        tg_lump_add(&sum, fused);
        def->mass = sum.mass;
        memcpy(def->com, sum.com, sizeof sum.com);
        memcpy(def->inertia, sum.inertia, sizeof sum.inertia);
    }
    if (status == TG_OK && def->name != NULL && strcmp(def->name, "world") == 0)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "the name \"world\" is taken");
    if (status == TG_OK)
        status = tg_mjcf_builder_failed(r, xml, tg_builder_body(r->builder, def, id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, xml, TG_BODY, def->name, *id);
    r->nbody = *id + 1;
    return status;
}

/* ---- the second walk ---- */

static tg_status read_children(tg_mjcf *r, const tg_xml *xml, const place *at);

static tg_status read_body(tg_mjcf *r, const tg_xml *xml, const place *at)
{
    tg_mjcf_body written;
    place inside;
    double pose[7];
    parts found = {0};
    tg_lump fused = {0};
    tg_status status = enter_body(r, xml, at, &written, pose, &inside);
    inside.body = r->nbody;
    if (status == TG_OK)
        status = collect(r, xml, &inside, &found);
    int own = r->geoms.count;
    if (status == TG_OK)
        status = collect_fused(r, xml, &inside, &fused);
    if (status != TG_OK)
        return status;
    tg_body_def def = tg_default_body();
    def.name = tg_xml_get(xml, "name");
    def.parent = at->body;
    split_pose(pose, def.pos, def.quat);
    status = add_body(r, xml, &def, written.pose.pos, &found, own, &fused, &inside.body);
    if (status == TG_OK)
        status = add_parts(r, inside.body, pose);
    return status == TG_OK ? read_children(r, xml, &inside) : status;
}

static tg_status read_children(tg_mjcf *r, const tg_xml *xml, const place *at)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        place inside;
        double pose[7];
        bool frame = strcmp(e->name, "frame") == 0, fused = is_fused(r, e);
        if (fused)
        {
            tg_mjcf_body written;
            status = enter_body(r, e, at, &written, pose, &inside);
            inside.frame = pose;
        }
        else if (frame)
        {
            status = enter_frame(r, e, at, pose, &inside);
        }
        else if (strcmp(e->name, "body") == 0)
        {
            status = read_body(r, e, at);
        }
        if ((frame || fused) && status == TG_OK)
            status = read_children(r, e, &inside);
    }
    return status;
}

tg_status tg_mjcf_world(tg_mjcf *r, const tg_xml *section)
{
    place at = {0, identity, tg_mjcf_scope_of(r, section)->main, tg_table_child(tg_mjcf_rows(), "worldbody")};
    parts found = {0};
    if (section->nattribute > 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, section, "the world has no attributes, got '%.60s'",
                           section->attribute[0].name);
    tg_lump nothing = {0}; /* the world has no mass */
    tg_status status = collect(r, section, &at, &found);
    if (status == TG_OK)
        status = collect_fused(r, section, &at, &nothing);
    if (status == TG_OK)
        status = add_parts(r, 0, identity);
    return status == TG_OK ? read_children(r, section, &at) : status;
}
