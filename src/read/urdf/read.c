/* Links and joints as they are written. */
#include <math.h>
#include <string.h>

#include "read/urdf/urdf.h"
#include "tangere/algebra.h"

const tg_xml *tg_urdf_child(const tg_xml *xml, const char *name)
{
    const tg_xml *e = xml->first;
    while (e != NULL && strcmp(e->name, name) != 0)
        e = e->next;
    return e;
}

tg_status tg_urdf_read(tg_urdf *u, const tg_xml *xml, const tg_table_row *parent, void *into)
{
    return tg_table_read(u->base.error, xml, tg_table_child(parent, xml->name), true, into);
}

/* Reads a child that may be missing. */
static tg_status read_child(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const char *name, void *into)
{
    const tg_xml *child = tg_urdf_child(xml, name);
    return child != NULL ? tg_urdf_read(u, child, row, into) : TG_OK;
}

/* Reads a child that must be there. */
static tg_status read_needed(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const char *name, void *into)
{
    if (tg_urdf_child(xml, name) == NULL)
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, xml, "element '%s' is missing", name);
    return read_child(u, xml, row, name, into);
}

static tg_status needed_name(tg_urdf *u, const tg_xml *xml, const char **name)
{
    *name = tg_xml_get(xml, "name");
    if (*name == NULL || (*name)[0] == '\0')
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, xml, "attribute 'name' is missing");
    return TG_OK;
}

/* Roll, pitch, yaw about fixed axes: R = Rz(yaw) Ry(pitch) Rx(roll). */
static void quat_from_rpy(const double rpy[3], double quat[4])
{
    static const double axis[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double total[4] = {1, 0, 0, 0};
    for (int i = 0; i < 3; i++)
    {
        double turn[4];
        tg_quat_from_axis_angle(axis[i], rpy[i], turn);
        tg_quat_multiply(turn, total, total);
    }
    tg_quat_normalise(total, quat);
}

tg_status tg_urdf_read_origin(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, double pose[7])
{
    tg_urdf_origin origin = {0};
    tg_status status = read_child(u, xml, row, "origin", &origin);
    memcpy(pose, origin.xyz, sizeof origin.xyz);
    quat_from_rpy(origin.rpy, pose + 3);
    return status;
}

/* ---- links ---- */

tg_status tg_urdf_read_links(tg_urdf *u)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = u->root->first; e != NULL; e = e->next)
        u->nlink += strcmp(e->name, "link") == 0;
    if (u->nlink == 0)
        return tg_xml_fail(u->base.error, TG_ERR_MODEL, u->root, "there is no link");
    u->link = TG_POOL_TAKE(u->base.pool, tg_urdf_link, u->nlink);
    if (u->link == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    tg_urdf_link *link = u->link;
    for (const tg_xml *e = u->root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "link") != 0)
            continue;
        *link = (tg_urdf_link){.xml = e, .joint = -1, .first = -1, .last = -1, .pose = {0, 0, 0, 1, 0, 0, 0}};
        status = needed_name(u, e, &link->name);
        link++;
    }
    return status;
}

/* The inertial element, in the axes of the link. */
static tg_status read_inertial(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, tg_mjcf_inertial *out)
{
    tg_urdf_inertial written = {0};
    double pose[7], R[9];
    const double zero[3] = {0, 0, 0};
    tg_status status = tg_urdf_read_origin(u, xml, row, pose);
    if (status == TG_OK)
        status = read_needed(u, xml, row, "mass", &written);
    if (status == TG_OK)
        status = read_needed(u, xml, row, "inertia", &written);
    if (status != TG_OK)
        return status;
    tg_lump lump = {.mass = written.mass};
    memcpy(lump.inertia, written.inertia, sizeof lump.inertia);
    tg_quat_to_matrix(pose + 3, R);
    lump = tg_lump_move(&lump, R, zero);
    *out = (tg_mjcf_inertial){.pose = {.quat = {1, 0, 0, 0}}, .mass = lump.mass};
    memcpy(out->pose.pos, pose, sizeof out->pose.pos);
    memcpy(out->fullinertia, lump.inertia, sizeof out->fullinertia);
    return TG_OK;
}

/* The mass of the link's geoms, where it counts. */
static tg_status weigh_geoms(tg_urdf *u, const tg_urdf_link *link, tg_lump *sum)
{
    tg_status status = TG_OK;
    for (int i = 0; i < link->ngeom && status == TG_OK; i++)
    {
        const tg_urdf_geom *geom = (const tg_urdf_geom *)u->geom.data + link->geom + i;
        tg_mjcf_geom written = {.mass = (double)NAN, .density = geom->def.density};
        tg_lump lump;
        status = tg_mjcf_geom_lump(&u->base, geom->xml, &written, &geom->def, &lump);
        tg_lump_add(sum, &lump);
    }
    return status;
}

/* A link with shapes and no mass is more often an omission than a wish. */
static tg_status note_weightless(tg_urdf *u, const tg_urdf_link *link)
{
    return tg_urdf_report(u, TG_TABLE_NOTED, link->xml, "",
                          "has collision shapes and no inertial: by URDF it weighs nothing; "
                          "<mujoco><compiler inertiafromgeom=\"auto\"/></mujoco> weighs it by density");
}

tg_status tg_urdf_weigh_link(tg_urdf *u, int index)
{
    tg_urdf_link *link = &u->link[index];
    const tg_table_row *row = tg_table_child(tg_urdf_rows(), "link");
    const tg_xml *xml = tg_urdf_child(link->xml, "inertial");
    tg_mjcf_inertial written;
    tg_lump geoms = {0};
    tg_body_def body = tg_default_body();
    const double *pos = link->joint >= 0 ? u->joint[link->joint].pose : link->pose;
    tg_status status = TG_OK;
    if (xml != NULL)
        status = read_inertial(u, xml, tg_table_child(row, "inertial"), &written);
    if (status == TG_OK && tg_mjcf_compiler_of(&u->base, u->root)->inertiafromgeom != TG_MJCF_FALSE)
        status = weigh_geoms(u, link, &geoms);
    if (status == TG_OK && xml == NULL && link->ngeom > 0 && u->compiler.inertiafromgeom < 0)
        status = note_weightless(u, link);
    if (status == TG_OK)
        status = tg_mjcf_body_inertia(&u->base, xml != NULL ? xml : link->xml, xml != NULL ? &written : NULL, &geoms,
                                      pos, &body);
    link->lump.mass = body.mass;
    memcpy(link->lump.com, body.com, sizeof body.com);
    memcpy(link->lump.inertia, body.inertia, sizeof body.inertia);
    return status;
}

/* ---- joints ---- */

static tg_status read_type(tg_urdf *u, const tg_xml *xml, tg_urdf_type *type)
{
    static const char *const word[TG_URDF_TYPE_COUNT] = {"revolute", "continuous", "prismatic", "fixed",
                                                         "floating", "planar",     "spherical"};
    const char *written = tg_xml_get(xml, "type");
    if (written == NULL)
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, xml, "attribute 'type' is missing");
    for (int i = 0; i < TG_URDF_TYPE_COUNT; i++)
    {
        if (strcmp(written, word[i]) == 0)
        {
            *type = (tg_urdf_type)i;
            return TG_OK;
        }
    }
    return tg_xml_fail(
        u->base.error, TG_ERR_VALUE, xml,
        "attribute 'type'=\"%.60s\": a joint is revolute, continuous, prismatic, fixed, floating, planar "
        "or spherical",
        written);
}

static tg_status read_axis(tg_urdf *u, tg_urdf_joint *joint, const tg_table_row *row)
{
    tg_urdf_origin axis = {.xyz = {1, 0, 0}};
    tg_status status = read_child(u, joint->xml, row, "axis", &axis);
    double length = sqrt(axis.xyz[0] * axis.xyz[0] + axis.xyz[1] * axis.xyz[1] + axis.xyz[2] * axis.xyz[2]);
    bool needed = joint->type != TG_URDF_FIXED && joint->type != TG_URDF_FLOATING && joint->type != TG_URDF_SPHERICAL;
    if (status == TG_OK && needed && !(length > 1e-12))
        return tg_xml_fail(u->base.error, TG_ERR_VALUE, joint->xml, "axis: is zero");
    for (int i = 0; i < 3; i++)
        joint->axis[i] = needed ? axis.xyz[i] / length : axis.xyz[i];
    return status;
}

/* lower and upper of a revolute or prismatic joint; one that is missing is 0, as the format says. */
static tg_status take_range(tg_urdf *u, tg_urdf_joint *joint, const tg_xml *xml, const tg_urdf_limit *limit)
{
    if (isnan(limit->lower) && isnan(limit->upper))
        return tg_urdf_report(u, TG_TABLE_APPROXIMATED, joint->xml, "limit",
                              "there is no lower and no upper: the joint moves without bounds");
    joint->range[0] = isnan(limit->lower) ? 0 : limit->lower;
    joint->range[1] = isnan(limit->upper) ? 0 : limit->upper;
    if (joint->range[0] > joint->range[1])
        return tg_xml_fail(
            u->base.error, TG_ERR_VALUE, joint->xml,
            "limit: lower = %g is above upper = %g; a joint without bounds has no lower and upper, or is "
            "continuous",
            joint->range[0], joint->range[1]);
    joint->limited = joint->range[0] < joint->range[1];
    if (joint->limited)
        return TG_OK;
    return tg_urdf_report(u, TG_TABLE_APPROXIMATED, xml, "lower",
                          "lower and upper are the same: taken as no bounds; a joint that does not move is fixed");
}

static tg_status read_limit(tg_urdf *u, tg_urdf_joint *joint, const tg_table_row *row)
{
    tg_urdf_limit limit = {(double)NAN, (double)NAN, (double)NAN};
    const tg_xml *xml = tg_urdf_child(joint->xml, "limit");
    tg_status status = read_child(u, joint->xml, row, "limit", &limit);
    if (status != TG_OK)
        return status;
    bool scalar = joint->type == TG_URDF_REVOLUTE || joint->type == TG_URDF_PRISMATIC;
    if (scalar || joint->type == TG_URDF_CONTINUOUS)
        joint->effort = isnan(limit.effort) ? 0 : fabs(limit.effort);
    if (scalar)
        return take_range(u, joint, xml, &limit);
    bool given = !isnan(limit.lower) || !isnan(limit.upper);
    bool zero = limit.lower == 0 && limit.upper == 0;
    if (given && !zero && joint->type != TG_URDF_FIXED)
        return tg_urdf_report(u, TG_TABLE_NOTED, xml, "lower", "a joint of this type has no bounds");
    return TG_OK;
}

static tg_status read_mimic(tg_urdf *u, tg_urdf_joint *joint, const tg_table_row *row)
{
    joint->mimic_xml = tg_urdf_child(joint->xml, "mimic");
    joint->mimic = (tg_urdf_mimic){.multiplier = 1};
    if (joint->mimic_xml == NULL)
        return TG_OK;
    if (joint->type == TG_URDF_FIXED)
    {
        const tg_xml *xml = joint->mimic_xml;
        joint->mimic_xml = NULL;
        return tg_urdf_report(u, TG_TABLE_NOTED, xml, "", "a fixed joint cannot follow another");
    }
    if (joint->type > TG_URDF_PRISMATIC)
        return tg_xml_fail(u->base.error, TG_ERR_UNSUPPORTED, joint->xml,
                           "mimic: only a revolute, continuous or prismatic joint can follow another");
    return tg_urdf_read(u, joint->mimic_xml, row, &joint->mimic);
}

/* A link that parent or child names. */
static tg_status refer(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const char *which, int *link)
{
    tg_urdf_reference reference = {0};
    tg_status status = read_needed(u, xml, row, which, &reference);
    if (status != TG_OK)
        return status;
    *link = tg_urdf_find(u->link_name, u->nlink, reference.link);
    if (*link < 0)
        return tg_xml_fail(u->base.error, TG_ERR_NAME, xml, "%s: there is no link \"%.80s\"", which, reference.link);
    return TG_OK;
}

static tg_status read_joint(tg_urdf *u, const tg_xml *xml, tg_urdf_joint *joint)
{
    const tg_table_row *row = tg_table_child(tg_urdf_rows(), "joint");
    *joint = (tg_urdf_joint){.xml = xml, .next = -1, .id = -1};
    tg_status status = needed_name(u, xml, &joint->name);
    if (status == TG_OK)
        status = read_type(u, xml, &joint->type);
    if (status == TG_OK)
        status = refer(u, xml, row, "parent", &joint->parent);
    if (status == TG_OK)
        status = refer(u, xml, row, "child", &joint->child);
    if (status == TG_OK)
        status = tg_urdf_read_origin(u, xml, row, joint->pose);
    if (status == TG_OK)
        status = read_axis(u, joint, row);
    if (status == TG_OK)
        status = read_limit(u, joint, row);
    if (status == TG_OK)
        status = read_child(u, xml, row, "dynamics", &joint->dynamics);
    return status == TG_OK ? read_mimic(u, joint, row) : status;
}

tg_status tg_urdf_read_joints(tg_urdf *u)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = u->root->first; e != NULL; e = e->next)
        u->njoint += strcmp(e->name, "joint") == 0;
    u->joint = TG_POOL_TAKE(u->base.pool, tg_urdf_joint, u->njoint);
    if (u->joint == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    tg_urdf_joint *joint = u->joint;
    for (const tg_xml *e = u->root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "joint") == 0)
            status = read_joint(u, e, joint++);
    }
    return status;
}
