/* The tree of links as bodies.
 *
 * A link on a fixed joint is merged into the body of its parent, and stays as a site; so is the root link into the
 * world, unless it floats. With keep_fixed (or fusestatic="false") each link is a body. Bodies are numbered as links
 * are met depth first, so the children of a merged link take its place among the children of its parent. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/urdf/urdf.h"
#include "tangere/algebra.h"

static const double identity[7] = {0, 0, 0, 1, 0, 0, 0};

static tg_urdf_body *body_at(const tg_urdf *u, int i)
{
    return (tg_urdf_body *)u->body.data + i;
}

/* ---- the plan ---- */

static tg_status add_body(tg_urdf *u, int link, int parent, const double pose[7], bool moves)
{
    bool fixed = !moves && (parent < 0 || body_at(u, parent)->fixed);
    tg_urdf_body *body = tg_mjcf_append(&u->base, &u->body, sizeof *body);
    if (body == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    *body = (tg_urdf_body){.link = link, .parent = parent, .moves = moves, .fixed = fixed};
    memcpy(body->pose, pose, sizeof body->pose);
    if (link >= 0)
        u->link[link].body = u->body.count - 1;
    return TG_OK;
}

/* The pose of a fixed body in the world. */
static void world_pose(const tg_urdf *u, int body, double pose[7])
{
    memcpy(pose, identity, sizeof identity);
    for (int i = body; i > 0; i = body_at(u, i)->parent)
        tg_se3_multiply(body_at(u, i)->pose, pose, pose);
}

/* A link that floats hangs on the world itself. */
static tg_status plan_floating(tg_urdf *u, int link, const double pose[7])
{
    const tg_urdf_joint *joint = &u->joint[u->link[link].joint];
    int parent = u->link[joint->parent].body;
    double world[7];
    if (!body_at(u, parent)->fixed)
        return tg_xml_fail(u->base.error, TG_ERR_UNSUPPORTED, joint->xml,
                           "a floating joint on link '%.80s', which moves: only a link fixed to the world can have one",
                           u->link[joint->parent].name);
    world_pose(u, parent, world);
    tg_se3_multiply(world, pose, world);
    return add_body(u, link, 0, world, true);
}

static tg_status plan_link(tg_urdf *u, int index)
{
    tg_urdf_link *link = &u->link[index];
    const tg_urdf_joint *joint = &u->joint[link->joint];
    const tg_urdf_link *parent = &u->link[joint->parent];
    double pose[7];
    tg_se3_multiply(parent->pose, joint->pose, pose);
    if (strcmp(link->name, "world") == 0)
        return tg_xml_fail(u->base.error, TG_ERR_NAME, link->xml, "only the root link can be the world");
    if (joint->type == TG_URDF_FLOATING || index == u->free_link)
        return plan_floating(u, index, pose);
    if (joint->type != TG_URDF_FIXED || !u->merge)
        return add_body(u, index, parent->body, pose, joint->type != TG_URDF_FIXED);
    link->body = parent->body;
    memcpy(link->pose, pose, sizeof pose);
    return TG_OK;
}

/* A root called world is the world: then the floating base is what is fixed to it. */
static tg_status free_child_of_world(tg_urdf *u)
{
    const tg_urdf_link *world = &u->link[u->root_link];
    bool single = world->first >= 0 && world->first == world->last && world->ngeom == 0;
    tg_urdf_type type = single ? u->joint[world->first].type : TG_URDF_TYPE_COUNT;
    if (type == TG_URDF_FLOATING)
        return TG_OK;
    if (type != TG_URDF_FIXED)
        return tg_xml_fail(
            u->base.error, TG_ERR_MODEL, world->xml,
            "floating_base: the root link is the world, and not a link fixed to it alone; give the robot a "
            "floating joint instead");
    u->free_link = u->joint[world->first].child;
    return tg_urdf_report(u, TG_TABLE_APPROXIMATED, u->joint[world->first].xml, "",
                          "floating_base: a free joint takes the place of this fixed one");
}

static tg_status plan_root(tg_urdf *u)
{
    const tg_urdf_link *root = &u->link[u->root_link];
    bool world = strcmp(root->name, "world") == 0;
    tg_status status = add_body(u, -1, -1, identity, false);
    if (status != TG_OK)
        return status;
    if (world)
        return u->options->floating_base ? free_child_of_world(u) : TG_OK;
    if (u->options->floating_base)
    {
        u->free_link = u->root_link;
        return add_body(u, u->root_link, 0, identity, true);
    }
    status = tg_urdf_report(u, TG_TABLE_NOTED, root->xml, "",
                            "the root link is fixed to the world; the load option floating_base frees it");
    return status == TG_OK && !u->merge ? add_body(u, u->root_link, 0, identity, false) : status;
}

/* Adds the mass of a link to its body; the world weighs nothing. */
static void add_mass(tg_urdf *u, const tg_urdf_link *link)
{
    double R[9];
    tg_quat_to_matrix(link->pose + 3, R);
    tg_lump lump = tg_lump_move(&link->lump, R, link->pose);
    if (link->body > 0)
        tg_lump_add(&body_at(u, link->body)->lump, &lump);
}

/* What moves must weigh something. */
static tg_status check_carried(tg_urdf *u)
{
    for (int i = u->body.count - 1; i > 0; i--)
    {
        tg_urdf_body *body = body_at(u, i);
        const tg_urdf_link *link = &u->link[body->link];
        body->carried += body->lump.mass + body->lump.inertia[0] + body->lump.inertia[1] + body->lump.inertia[2];
        body_at(u, body->parent)->carried += body->carried;
        if (body->moves && body->carried == 0)
            return tg_xml_fail(u->base.error, TG_ERR_MODEL, link->xml,
                               "%s%.80s%smoves this link, but it and all that hangs on it weigh nothing: give it an "
                               "inertial, make the joint fixed, or let <mujoco><compiler inertiafromgeom=\"auto\"/> or "
                               "boundmass and boundinertia give it mass",
                               link->joint >= 0 ? "joint '" : "", link->joint >= 0 ? u->joint[link->joint].name : "",
                               link->joint >= 0 ? "' " : "floating_base ");
    }
    return TG_OK;
}

static tg_status note_merged(tg_urdf *u)
{
    const tg_xml *first = NULL;
    int count = 0;
    char note[160];
    for (int i = 1; i < u->nlink; i++)
    {
        const tg_urdf_link *link = &u->link[u->order[i]];
        if (u->joint[link->joint].type != TG_URDF_FIXED || body_at(u, link->body)->link == u->order[i])
            continue;
        first = count++ == 0 ? u->joint[link->joint].xml : first;
    }
    if (count == 0)
        return TG_OK;
    snprintf(note, sizeof note,
             "links on fixed joints are merged, each stays as a site; the load option keep_fixed keeps them; %d in all",
             count);
    return tg_urdf_report(u, TG_TABLE_NOTED, first, "", note);
}

static tg_status plan(tg_urdf *u)
{
    u->free_link = -1;
    tg_status status = plan_root(u);
    for (int i = 0; i < u->nlink && status == TG_OK; i++)
    {
        if (i > 0)
            status = plan_link(u, u->order[i]);
        if (status == TG_OK)
            status = tg_urdf_weigh_link(u, u->order[i]);
        if (status == TG_OK)
            add_mass(u, &u->link[u->order[i]]);
    }
    if (status == TG_OK)
        status = check_carried(u);
    return status == TG_OK ? note_merged(u) : status;
}

/* ---- joints ---- */

/* One scalar joint, or a ball or free joint. */
static tg_status add_joint(tg_urdf *u, const tg_urdf_joint *joint, const char *suffix, tg_joint_type type, int body,
                           const double axis[3], int *id)
{
    char name[512];
    tg_joint_def def = tg_default_joint();
    snprintf(name, sizeof name, "%.480s%s", joint->name, suffix);
    def.name = suffix[0] != '\0' ? name : joint->name;
    def.body = body;
    def.type = type;
    memcpy(def.axis, axis, sizeof def.axis);
    def.limited = joint->limited;
    memcpy(def.range, joint->range, sizeof def.range);
    def.force_limited = joint->effort > 0;
    def.force_range[0] = -joint->effort;
    def.force_range[1] = joint->effort;
    def.damping = joint->dynamics.damping;
    def.frictionloss = joint->dynamics.friction;
    return tg_mjcf_builder_failed(&u->base, joint->xml, tg_builder_joint(u->base.builder, &def, id));
}

/* Two slides in the plane across the axis and a hinge about it. The slides are the x and y axes turned by the shortest
 * rotation that takes z to the axis. */
static tg_status add_planar(tg_urdf *u, const tg_urdf_joint *joint, int body)
{
    static const double x[3] = {1, 0, 0}, y[3] = {0, 1, 0}, z[3] = {0, 0, 1};
    double quat[4] = {0, 1, 0, 0}, along_x[3], along_y[3];
    if (joint->axis[2] > -1 + 1e-12)
        tg_quat_from_vectors(z, joint->axis, quat);
    tg_quat_rotate(quat, x, along_x);
    tg_quat_rotate(quat, y, along_y);
    int id;
    tg_status status = add_joint(u, joint, "_TX", TG_JOINT_SLIDE, body, along_x, &id);
    if (status == TG_OK)
        status = add_joint(u, joint, "_TY", TG_JOINT_SLIDE, body, along_y, &id);
    return status == TG_OK ? add_joint(u, joint, "_RZ", TG_JOINT_HINGE, body, joint->axis, &id) : status;
}

static tg_status add_joints(tg_urdf *u, int body)
{
    const tg_urdf_link *link = &u->link[body_at(u, body)->link];
    if (body_at(u, body)->link == u->free_link)
    {
        tg_urdf_joint free = {.xml = link->xml, .name = link->name};
        return add_joint(u, &free, "_free_joint", TG_JOINT_FREE, body, identity, &free.id);
    }
    tg_urdf_joint *joint = &u->joint[link->joint];
    switch (joint->type)
    {
    case TG_URDF_REVOLUTE:
    case TG_URDF_CONTINUOUS:
        return add_joint(u, joint, "", TG_JOINT_HINGE, body, joint->axis, &joint->id);
    case TG_URDF_PRISMATIC:
        return add_joint(u, joint, "", TG_JOINT_SLIDE, body, joint->axis, &joint->id);
    case TG_URDF_FLOATING:
        return add_joint(u, joint, "", TG_JOINT_FREE, body, joint->axis, &joint->id);
    case TG_URDF_SPHERICAL:
        return add_joint(u, joint, "", TG_JOINT_BALL, body, joint->axis, &joint->id);
    case TG_URDF_PLANAR:
        return add_planar(u, joint, body);
    default:
        return TG_OK;
    }
}

/* ---- bodies, geoms, sites ---- */

static tg_status give_body(tg_urdf *u, int index)
{
    const tg_urdf_body *body = body_at(u, index);
    const tg_urdf_link *link = &u->link[body->link];
    tg_body_def def = tg_default_body();
    def.name = link->name;
    def.parent = body->parent;
    def.inertial = true;
    def.mass = body->lump.mass;
    memcpy(def.pos, body->pose, sizeof def.pos);
    memcpy(def.quat, body->pose + 3, sizeof def.quat);
    memcpy(def.com, body->lump.com, sizeof def.com);
    memcpy(def.inertia, body->lump.inertia, sizeof def.inertia);
    tg_status status = tg_mjcf_builder_failed(&u->base, link->xml, tg_builder_body(u->base.builder, &def, NULL));
    return status == TG_OK && body->moves ? add_joints(u, index) : status;
}

static tg_status give_geoms(tg_urdf *u, tg_urdf_link *link)
{
    tg_status status = TG_OK;
    for (int i = 0; i < link->ngeom && status == TG_OK; i++)
    {
        const tg_urdf_geom *geom = (const tg_urdf_geom *)u->geom.data + link->geom + i;
        tg_geom_def def = geom->def;
        double pose[7];
        int id = 0;
        memcpy(pose, def.pos, sizeof def.pos);
        memcpy(pose + 3, def.quat, sizeof def.quat);
        tg_se3_multiply(link->pose, pose, pose);
        memcpy(def.pos, pose, sizeof def.pos);
        memcpy(def.quat, pose + 3, sizeof def.quat);
        def.body = link->body;
        status = tg_mjcf_builder_failed(&u->base, geom->xml, tg_builder_geom(u->base.builder, &def, &id));
        link->geom_id = i == 0 ? id : link->geom_id;
    }
    return status;
}

/* A merged link leaves its frame as a site. */
static tg_status give_site(tg_urdf *u, int index)
{
    const tg_urdf_link *link = &u->link[index];
    if (body_at(u, link->body)->link == index || strcmp(link->name, "world") == 0)
        return TG_OK;
    tg_site_def def = tg_default_site();
    def.name = link->name;
    def.body = link->body;
    memcpy(def.pos, link->pose, sizeof def.pos);
    memcpy(def.quat, link->pose + 3, sizeof def.quat);
    return tg_mjcf_builder_failed(&u->base, link->xml, tg_builder_site(u->base.builder, &def, NULL));
}

/* ---- mimic ---- */

/* Joints that follow each other in a ring say nothing about where they are. mark: the chain that came by. */
static tg_status check_rings(tg_urdf *u, const int *target)
{
    int *mark = TG_POOL_TAKE(u->base.pool, int, u->njoint);
    if (mark == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    for (int i = 0; i < u->njoint; i++)
    {
        int j = i;
        for (; j >= 0 && mark[j] == 0; j = target[j])
            mark[j] = i + 1;
        if (j >= 0 && mark[j] == i + 1)
            return tg_xml_fail(u->base.error, TG_ERR_MODEL, u->joint[j].xml, "mimic: the joint follows itself");
    }
    return TG_OK;
}

static tg_status find_target(tg_urdf *u, const tg_urdf_joint *joint, int *target)
{
    *target = tg_urdf_find(u->joint_name, u->njoint, joint->mimic.joint);
    if (*target < 0)
        return tg_xml_fail(u->base.error, TG_ERR_NAME, joint->xml, "mimic: there is no joint \"%.80s\"",
                           joint->mimic.joint);
    if (u->joint[*target].type > TG_URDF_FIXED)
        return tg_xml_fail(u->base.error, TG_ERR_UNSUPPORTED, joint->xml,
                           "mimic: joint \"%.80s\" has more than one degree of freedom", joint->mimic.joint);
    return TG_OK;
}

/* q = offset + multiplier q_target; a fixed joint is at 0. */
static tg_status add_equality(tg_urdf *u, const tg_urdf_joint *joint, const tg_urdf_joint *target)
{
    tg_equality_def def = tg_default_equality();
    def.name = joint->name;
    def.type = TG_EQUALITY_JOINT;
    def.obj1 = joint->id;
    def.obj2 = target->id;
    def.data[0] = joint->mimic.offset;
    def.data[1] = target->id >= 0 ? joint->mimic.multiplier : 0;
    for (int i = 2; i < 11; i++)
        def.data[i] = 0;
    return tg_mjcf_builder_failed(&u->base, joint->xml, tg_builder_equality(u->base.builder, &def, NULL));
}

static tg_status give_mimics(tg_urdf *u)
{
    int *target = TG_POOL_TAKE(u->base.pool, int, u->njoint);
    tg_status status = target == NULL ? tg_mjcf_no_memory(&u->base, u->root) : TG_OK;
    for (int i = 0; i < u->njoint && status == TG_OK; i++)
    {
        target[i] = -1;
        if (u->joint[i].mimic_xml != NULL)
            status = find_target(u, &u->joint[i], &target[i]);
    }
    if (status == TG_OK)
        status = check_rings(u, target);
    for (int i = 0; i < u->njoint && status == TG_OK; i++)
    {
        if (target[i] >= 0)
            status = add_equality(u, &u->joint[i], &u->joint[target[i]]);
    }
    return status;
}

/* ---- all of it ---- */

tg_status tg_urdf_bodies(tg_urdf *u)
{
    tg_status status = plan(u);
    for (int i = 1; i < u->body.count && status == TG_OK; i++)
        status = give_body(u, i);
    for (int i = 0; i < u->nlink && status == TG_OK; i++)
    {
        status = give_geoms(u, &u->link[u->order[i]]);
        if (status == TG_OK)
            status = give_site(u, u->order[i]);
    }
    return status == TG_OK ? give_mimics(u) : status;
}
