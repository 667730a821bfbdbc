/* Every refusal: a status, and a message that names element, field and value. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "support/models.h"
#include "tangere/model.h"

/* ---- a good model, to which each case adds one bad thing ---- */

enum
{
    LINK = 1,  /* body on a hinge */
    CART = 2,  /* body on a free joint */
    HINGE = 0, /* joints */
    ROOT = 1,
    BALL = 0, /* geoms */
    FLOOR = 1,
    TIP = 0, /* sites */
    BASE = 1,
    ROPE = 0, /* tendon */
    CUBE = 0, /* mesh */
    HILLS = 0 /* height field */
};

static const double tetrahedron[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const int tetrahedron_face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};

static void ok(tg_builder *b, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_builder_message(b));
}

static tg_body_def body_named(const char *name)
{
    tg_body_def def = tg_default_body();
    def.name = name;
    def.inertial = true;
    def.mass = 1;
    def.inertia[0] = def.inertia[1] = def.inertia[2] = 0.1;
    return def;
}

static void add_good_bodies(tg_builder *b)
{
    tg_body_def body = body_named("link");
    ok(b, tg_builder_body(b, &body, NULL));
    body.name = "cart";
    ok(b, tg_builder_body(b, &body, NULL));
    tg_joint_def joint = tg_default_joint();
    joint.name = "hinge";
    joint.body = LINK;
    ok(b, tg_builder_joint(b, &joint, NULL));
    joint.name = "root";
    joint.body = CART;
    joint.type = TG_JOINT_FREE;
    ok(b, tg_builder_joint(b, &joint, NULL));
    tg_geom_def geom = tg_default_geom();
    geom.name = "ball";
    geom.body = LINK;
    geom.size[0] = 0.1;
    ok(b, tg_builder_geom(b, &geom, NULL));
    geom.name = "floor";
    geom.body = 0;
    geom.type = TG_GEOM_PLANE;
    ok(b, tg_builder_geom(b, &geom, NULL));
}

static void add_good_rest(tg_builder *b)
{
    tg_site_def site = tg_default_site();
    site.name = "tip";
    site.body = LINK;
    site.pos[0] = 1;
    ok(b, tg_builder_site(b, &site, NULL));
    site.name = "base";
    site.body = 0;
    ok(b, tg_builder_site(b, &site, NULL));
    tg_tendon_def tendon = tg_default_tendon();
    tendon.name = "rope";
    tendon.npath = 2;
    tendon.path = (const tg_path[]){{TG_PATH_SITE, TIP, 0}, {TG_PATH_SITE, BASE, 0}};
    ok(b, tg_builder_tendon(b, &tendon, NULL));
    tg_mesh_def mesh = tg_default_mesh();
    mesh.name = "cube";
    mesh.nvertex = 4;
    mesh.vertex = tetrahedron;
    mesh.nface = 4;
    mesh.face = tetrahedron_face;
    ok(b, tg_builder_mesh(b, &mesh, NULL));
    tg_hfield_def hfield = tg_default_hfield();
    hfield.name = "hills";
    hfield.nrow = hfield.ncol = 2;
    hfield.elevation = (const double[]){0, 0.5, 1, 0};
    ok(b, tg_builder_hfield(b, &hfield, NULL));
}

static tg_builder *good_builder(void)
{
    tg_builder *b;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    add_good_bodies(b);
    add_good_rest(b);
    return b;
}

static void test_good_model_is_good(void **state)
{
    (void)state;
    tg_builder *b = good_builder();
    tg_model *m;
    ok(b, tg_builder_build(b, &m));
    assert_string_equal(tg_builder_message(b), "");
    tg_model_destroy(m);
    tg_builder_destroy(b);
}

/* ---- cases: a definition with one field made bad ---- */

#define CASE(name, element, make, change)                                                                              \
    static void name(tg_builder *b)                                                                                    \
    {                                                                                                                  \
        tg_##element##_def def = make;                                                                                 \
        change;                                                                                                        \
        ok(b, tg_builder_##element(b, &def, NULL));                                                                    \
    }

static tg_joint_def bad_joint(void)
{
    tg_joint_def def = tg_default_joint();
    def.name = "bad";
    def.body = LINK;
    def.axis[0] = 1;
    return def;
}

static tg_geom_def bad_geom(tg_geom_type type)
{
    tg_geom_def def = tg_default_geom();
    def.name = "bad";
    def.body = LINK;
    def.type = type;
    def.size[0] = def.size[1] = def.size[2] = 0.1;
    return def;
}

static tg_site_def bad_site(void)
{
    tg_site_def def = tg_default_site();
    def.name = "bad";
    return def;
}

static const tg_path good_path[] = {{TG_PATH_SITE, TIP, 0}, {TG_PATH_SITE, BASE, 0}};

static tg_tendon_def bad_tendon(void)
{
    tg_tendon_def def = tg_default_tendon();
    def.name = "bad";
    def.path = good_path;
    def.npath = 2;
    return def;
}

static const tg_path fixed_path[] = {{TG_PATH_JOINT, HINGE, 2}};

static tg_tendon_def bad_fixed_tendon(void)
{
    tg_tendon_def def = bad_tendon();
    def.type = TG_TENDON_FIXED;
    def.path = fixed_path;
    def.npath = 1;
    return def;
}

static tg_actuator_def bad_actuator(void)
{
    tg_actuator_def def = tg_default_actuator();
    def.name = "bad";
    def.target = HINGE;
    return def;
}

static tg_equality_def bad_equality(tg_equality_type type, int obj1, int obj2)
{
    tg_equality_def def = tg_default_equality();
    def.name = "bad";
    def.type = type;
    def.obj1 = obj1;
    def.obj2 = obj2;
    def.data[6] = type == TG_EQUALITY_WELD ? 1 : 0;
    return def;
}

static tg_pair_def bad_pair(void)
{
    tg_pair_def def = tg_default_pair();
    def.name = "bad";
    def.geom1 = BALL;
    def.geom2 = FLOOR;
    return def;
}

static tg_key_def bad_key(void)
{
    tg_key_def def = tg_default_key();
    def.name = "bad";
    return def;
}

static tg_mesh_def bad_mesh(void)
{
    tg_mesh_def def = tg_default_mesh();
    def.name = "bad";
    def.vertex = tetrahedron;
    def.nvertex = 4;
    def.face = tetrahedron_face;
    def.nface = 4;
    return def;
}

static tg_hfield_def bad_hfield(void)
{
    static const double elevation[4] = {0, 0.5, 1, 0};
    tg_hfield_def def = tg_default_hfield();
    def.name = "bad";
    def.nrow = def.ncol = 2;
    def.elevation = elevation;
    return def;
}

/* bodies */
CASE(body_parent, body, body_named("bad"), def.parent = 9)
CASE(body_parent_negative, body, body_named("bad"), def.parent = -1)
CASE(body_parent_self, body, body_named("bad"), def.parent = 3)
CASE(body_mass, body, body_named("bad"), def.mass = -1)
CASE(body_mass_nan, body, body_named("bad"), def.mass = NAN)
CASE(body_pos_nan, body, body_named("bad"), def.pos[1] = NAN)
CASE(body_pos_inf, body, body_named("bad"), def.pos[2] = INFINITY)
CASE(body_quat, body, body_named("bad"), def.quat[0] = 1.01)
CASE(body_quat_zero, body, body_named("bad"), def.quat[0] = 0)
CASE(body_com_nan, body, body_named("bad"), def.com[0] = NAN)
CASE(body_inertia_triangle, body, body_named("bad"), def.inertia[2] = 0.3)
CASE(body_inertia_negative, body, body_named("bad"), def.inertia[1] = -0.1)
CASE(body_inertia_indefinite, body, body_named("bad"), def.inertia[3] = 0.2)
CASE(body_name_twice, body, body_named("link"), def.parent = 0)
CASE(body_name_world, body, body_named("world"), def.parent = 0)
CASE(body_name_number, body, body_named("#4"), def.parent = 0)

static void body_cycle(tg_builder *b)
{
    static const char *const names[] = {"one", "two", "three"};
    for (int i = 0; i < 3; i++) /* ids 3, 4, 5 */
    {
        tg_body_def def = body_named(names[i]);
        def.parent = 3 + (i + 1) % 3;
        ok(b, tg_builder_body(b, &def, NULL));
    }
    tg_body_def below = body_named("below");
    below.parent = 4;
    ok(b, tg_builder_body(b, &below, NULL));
}

static void body_massless(tg_builder *b)
{
    tg_body_def body = body_named("ghost");
    body.mass = 0;
    memset(body.inertia, 0, sizeof body.inertia);
    int id;
    ok(b, tg_builder_body(b, &body, &id));
    tg_joint_def joint = bad_joint();
    joint.body = id;
    joint.name = "ghostly";
    ok(b, tg_builder_joint(b, &joint, NULL));
}

/* a point mass on the axis of its hinge */
static void body_without_inertia(tg_builder *b)
{
    tg_body_def body = body_named("point");
    memset(body.inertia, 0, sizeof body.inertia);
    body.com[2] = 0.3;
    int id;
    ok(b, tg_builder_body(b, &body, &id));
    tg_joint_def joint = tg_default_joint();
    joint.body = id;
    joint.name = "needle";
    ok(b, tg_builder_joint(b, &joint, NULL));
}

/* joints */
CASE(joint_body, joint, bad_joint(), def.body = 12)
CASE(joint_world, joint, bad_joint(), def.body = 0)
CASE(joint_type, joint, bad_joint(), def.type = (tg_joint_type)17)
CASE(joint_axis, joint, bad_joint(), memset(def.axis, 0, sizeof def.axis))
CASE(joint_axis_nan, joint, bad_joint(), def.axis[1] = NAN)
CASE(joint_pos_nan, joint, bad_joint(), def.pos[2] = NAN)
CASE(joint_ref_nan, joint, bad_joint(), def.ref = NAN)
CASE(joint_springref_inf, joint, bad_joint(), def.springref = -INFINITY)
CASE(joint_stiffness, joint, bad_joint(), def.stiffness = -2)
CASE(joint_damping, joint, bad_joint(), def.damping = -0.5)
CASE(joint_armature, joint, bad_joint(), def.armature = -1e-3)
CASE(joint_frictionloss, joint, bad_joint(), def.frictionloss = -3)
CASE(joint_margin, joint, bad_joint(), def.margin = NAN)
CASE(joint_range, joint, bad_joint(), (def.limited = true, def.range[0] = 1, def.range[1] = -1))
CASE(joint_range_empty, joint, bad_joint(), def.limited = true)
CASE(joint_range_nan, joint, bad_joint(), def.range[1] = NAN)
CASE(joint_ball_range, joint, bad_joint(),
     (def.type = TG_JOINT_BALL, def.limited = true, def.range[0] = -1, def.range[1] = 1))
CASE(joint_force_range, joint, bad_joint(), (def.force_limited = true, def.force_range[0] = 5))
CASE(joint_ball_force, joint, bad_joint(), (def.type = TG_JOINT_BALL, def.force_limited = true))
CASE(joint_second_free, joint, bad_joint(), (def.body = CART, def.type = TG_JOINT_HINGE))
CASE(joint_name_twice, joint, bad_joint(), def.name = "hinge")

static void joint_deep_free(tg_builder *b)
{
    tg_body_def body = body_named("deep");
    body.parent = LINK;
    int id;
    ok(b, tg_builder_body(b, &body, &id));
    tg_joint_def joint = bad_joint();
    joint.body = id;
    joint.type = TG_JOINT_FREE;
    ok(b, tg_builder_joint(b, &joint, NULL));
}

static void joint_free_limited(tg_builder *b)
{
    tg_body_def body = body_named("new");
    int id;
    ok(b, tg_builder_body(b, &body, &id));
    tg_joint_def joint = bad_joint();
    joint.body = id;
    joint.type = TG_JOINT_FREE;
    joint.limited = true;
    joint.range[1] = 1;
    ok(b, tg_builder_joint(b, &joint, NULL));
}

static void joint_ball_then_hinge(tg_builder *b)
{
    tg_joint_def joint = bad_joint();
    joint.type = TG_JOINT_BALL;
    ok(b, tg_builder_joint(b, &joint, NULL));
    joint.type = TG_JOINT_HINGE;
    joint.name = "after";
    ok(b, tg_builder_joint(b, &joint, NULL));
}

static void joint_seven(tg_builder *b)
{
    for (int i = 0; i < 6; i++)
    {
        char name[16];
        tg_joint_def joint = bad_joint();
        snprintf(name, sizeof name, "bad%d", i);
        joint.name = name;
        joint.type = TG_JOINT_SLIDE;
        ok(b, tg_builder_joint(b, &joint, NULL));
    }
}

/* geoms */
CASE(geom_body, geom, bad_geom(TG_GEOM_BOX), def.body = -2)
CASE(geom_type, geom, bad_geom(TG_GEOM_BOX), def.type = (tg_geom_type)99)
CASE(geom_sphere_size, geom, bad_geom(TG_GEOM_SPHERE), def.size[0] = -0.1)
CASE(geom_capsule_size, geom, bad_geom(TG_GEOM_CAPSULE), def.size[1] = 0)
CASE(geom_box_size, geom, bad_geom(TG_GEOM_BOX), def.size[2] = 0)
CASE(geom_ellipsoid_size, geom, bad_geom(TG_GEOM_ELLIPSOID), def.size[1] = -3)
CASE(geom_cylinder_size, geom, bad_geom(TG_GEOM_CYLINDER), def.size[0] = 0)
CASE(geom_size_nan, geom, bad_geom(TG_GEOM_SPHERE), def.size[0] = NAN)
CASE(geom_plane_size, geom, bad_geom(TG_GEOM_PLANE), (def.body = 0, def.size[0] = -1))
CASE(geom_plane_moves, geom, bad_geom(TG_GEOM_PLANE), def.body = LINK)
CASE(geom_mesh, geom, bad_geom(TG_GEOM_MESH), def.mesh = 7)
CASE(geom_mesh_none, geom, bad_geom(TG_GEOM_MESH), def.mesh = -1)
CASE(geom_mesh_scale, geom, bad_geom(TG_GEOM_MESH), (def.mesh = CUBE, def.size[1] = 0))
CASE(geom_hfield, geom, bad_geom(TG_GEOM_HFIELD), def.hfield = 4)
CASE(geom_quat, geom, bad_geom(TG_GEOM_BOX), def.quat[3] = 0.5)
CASE(geom_pos, geom, bad_geom(TG_GEOM_BOX), def.pos[0] = NAN)
CASE(geom_mass, geom, bad_geom(TG_GEOM_BOX), def.mass = NAN)
CASE(geom_density, geom, bad_geom(TG_GEOM_BOX), def.density = -5)
CASE(geom_condim, geom, bad_geom(TG_GEOM_BOX), def.condim = 2)
CASE(geom_friction, geom, bad_geom(TG_GEOM_BOX), def.friction[2] = -0.1)
CASE(geom_kinetic, geom, bad_geom(TG_GEOM_BOX), def.kinetic = 1.5)
CASE(geom_kinetic_zero, geom, bad_geom(TG_GEOM_BOX), def.kinetic = 0)
CASE(geom_slip_speed, geom, bad_geom(TG_GEOM_BOX), def.slip_speed = 0)
CASE(geom_restitution, geom, bad_geom(TG_GEOM_BOX), def.restitution = 1.25)
CASE(geom_compliance, geom, bad_geom(TG_GEOM_BOX), def.compliance = -1e-6)
CASE(geom_margin, geom, bad_geom(TG_GEOM_BOX), def.margin = INFINITY)
CASE(geom_gap, geom, bad_geom(TG_GEOM_BOX), def.gap = NAN)

/* a mesh turned inside out makes the mass of a body */
static void geom_inside_out(tg_builder *b)
{
    static const int face[12] = {0, 1, 2, 0, 3, 1, 0, 2, 3, 1, 3, 2};
    tg_mesh_def mesh = bad_mesh();
    mesh.face = face;
    tg_body_def body = tg_default_body();
    tg_geom_def geom = bad_geom(TG_GEOM_MESH);
    ok(b, tg_builder_mesh(b, &mesh, &geom.mesh));
    ok(b, tg_builder_body(b, &body, &geom.body));
    ok(b, tg_builder_geom(b, &geom, NULL));
}

/* sites, meshes, height fields */
CASE(site_body, site, bad_site(), def.body = 5)
CASE(site_pos, site, bad_site(), def.pos[2] = NAN)
CASE(site_quat, site, bad_site(), def.quat[0] = 2)
CASE(mesh_vertex, mesh, bad_mesh(), def.vertex = ((const double[12]){0, 0, 0, 1, 0, 0, 0, 1, NAN, 0, 0, 1}))
CASE(mesh_face, mesh, bad_mesh(), def.face = ((const int[12]){0, 2, 1, 0, 1, 3, 0, 4, 2, 1, 2, 3}))
CASE(mesh_few, mesh, bad_mesh(), def.nvertex = 2)
CASE(mesh_few_for_hull, mesh, bad_mesh(), (def.nface = 0, def.nvertex = 3))
CASE(hfield_elevation, hfield, bad_hfield(), def.elevation = ((const double[4]){0, 0, 1.5, 0}))
CASE(hfield_rows, hfield, bad_hfield(), def.nrow = 1)
CASE(hfield_size, hfield, bad_hfield(), def.size[2] = 0)

static void mesh_flat(tg_builder *b)
{
    static const double flat[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 1, 0};
    tg_mesh_def mesh = bad_mesh();
    mesh.vertex = flat;
    mesh.nface = 0;
    ok(b, tg_builder_mesh(b, &mesh, NULL));
}

/* tendons */
CASE(tendon_type, tendon, bad_tendon(), def.type = (tg_tendon_type)3)
CASE(tendon_empty, tendon, bad_fixed_tendon(), def.npath = 0)
CASE(tendon_one_site, tendon, bad_tendon(), def.npath = 1)
CASE(tendon_site, tendon, bad_tendon(), def.path = ((const tg_path[2]){{TG_PATH_SITE, TIP, 0}, {TG_PATH_SITE, 8, 0}}))
CASE(tendon_same_site, tendon, bad_tendon(),
     def.path = ((const tg_path[2]){{TG_PATH_SITE, TIP, 0}, {TG_PATH_SITE, TIP, 0}}))
CASE(tendon_mixed, tendon, bad_tendon(),
     def.path = ((const tg_path[2]){{TG_PATH_SITE, TIP, 0}, {TG_PATH_JOINT, HINGE, 0}}))
CASE(tendon_pulley_last, tendon, bad_tendon(),
     (def.npath = 3, def.path = ((const tg_path[3]){good_path[0], good_path[1], {TG_PATH_PULLEY, 0, 2}})))
CASE(tendon_pulley_alone, tendon, bad_tendon(),
     (def.npath = 4, def.path = ((const tg_path[4]){good_path[0], good_path[1], {TG_PATH_PULLEY, 0, 2}, good_path[0]})))
CASE(tendon_divisor, tendon, bad_tendon(),
     (def.npath = 5,
      def.path = ((const tg_path[5]){good_path[0], good_path[1], {TG_PATH_PULLEY, 0, -2}, good_path[0], good_path[1]})))
CASE(tendon_joint, tendon, bad_fixed_tendon(), def.path = ((const tg_path[1]){{TG_PATH_JOINT, 44, 1}}))
CASE(tendon_free_joint, tendon, bad_fixed_tendon(), def.path = ((const tg_path[1]){{TG_PATH_JOINT, ROOT, 1}}))
CASE(tendon_joint_twice, tendon, bad_fixed_tendon(),
     (def.npath = 2, def.path = ((const tg_path[2]){{TG_PATH_JOINT, HINGE, 1}, {TG_PATH_JOINT, HINGE, 2}})))
CASE(tendon_coef, tendon, bad_fixed_tendon(), def.path = ((const tg_path[1]){{TG_PATH_JOINT, HINGE, NAN}}))
CASE(tendon_stiffness, tendon, bad_tendon(), def.stiffness = -1)
CASE(tendon_rest, tendon, bad_tendon(), (def.rest[0] = 2, def.rest[1] = 1))
CASE(tendon_rest_nan, tendon, bad_tendon(), def.rest[0] = NAN)
CASE(tendon_range, tendon, bad_tendon(), (def.limited = true, def.range[0] = 1, def.range[1] = 0.5))
CASE(tendon_frictionloss, tendon, bad_tendon(), def.frictionloss = -0.5)

/* actuators */
CASE(actuator_transmission, actuator, bad_actuator(), def.transmission = (tg_transmission)5)
CASE(actuator_target, actuator, bad_actuator(), def.target = 77)
CASE(actuator_tendon, actuator, bad_actuator(), (def.transmission = TG_TRANSMISSION_TENDON, def.target = 1))
CASE(actuator_site, actuator, bad_actuator(), (def.transmission = TG_TRANSMISSION_SITE, def.target = -1))
CASE(actuator_dynamics, actuator, bad_actuator(), def.dynamics = (tg_dynamics_type)8)
CASE(actuator_tau, actuator, bad_actuator(), (def.dynamics = TG_DYNAMICS_FILTER, def.tau = 0))
CASE(actuator_gear, actuator, bad_actuator(), def.gear[4] = NAN)
CASE(actuator_gain, actuator, bad_actuator(), def.gain[1] = INFINITY)
CASE(actuator_bias, actuator, bad_actuator(), def.bias[2] = NAN)
CASE(actuator_ctrl_range, actuator, bad_actuator(), (def.ctrl_limited = true, def.ctrl_range[0] = 3))
CASE(actuator_force_range, actuator, bad_actuator(), (def.force_limited = true, def.force_range[1] = -4))
CASE(actuator_act_range, actuator, bad_actuator(),
     (def.dynamics = TG_DYNAMICS_INTEGRATOR, def.act_limited = true, def.act_range[0] = 2))
CASE(actuator_no_act, actuator, bad_actuator(), (def.act_limited = true, def.act_range[1] = 2))

/* equalities */
CASE(equality_type, equality, bad_equality((tg_equality_type)9, LINK, CART), (void)0)
CASE(equality_obj1, equality, bad_equality(TG_EQUALITY_CONNECT, 30, CART), (void)0)
CASE(equality_obj2, equality, bad_equality(TG_EQUALITY_CONNECT, LINK, -1), (void)0)
CASE(equality_same, equality, bad_equality(TG_EQUALITY_WELD, LINK, LINK), (void)0)
CASE(equality_free, equality, bad_equality(TG_EQUALITY_JOINT, ROOT, -1), (void)0)
CASE(equality_data, equality, bad_equality(TG_EQUALITY_JOINT, HINGE, -1), def.data[0] = NAN)
CASE(equality_half_open, equality, bad_equality(TG_EQUALITY_CONNECT, LINK, CART), def.data[4] = NAN)
CASE(equality_quat, equality, bad_equality(TG_EQUALITY_WELD, LINK, CART), def.data[7] = 1)
CASE(equality_torque, equality, bad_equality(TG_EQUALITY_WELD, LINK, CART), def.data[10] = -1)

/* pairs, excludes, keys, the whole */
CASE(pair_geom, pair, bad_pair(), def.geom2 = 14)
CASE(pair_same, pair, bad_pair(), def.geom2 = BALL)
CASE(pair_condim, pair, bad_pair(), def.condim = 5)
CASE(pair_friction, pair, bad_pair(), def.friction[0] = NAN)
CASE(pair_restitution, pair, bad_pair(), def.restitution = -0.5)
CASE(exclude_body, exclude, tg_default_exclude(), def.body2 = 21)
CASE(key_time, key, bad_key(), def.time = NAN)
CASE(key_q_length, key, bad_key(), (def.q = tetrahedron, def.nq = 3))
CASE(key_v_length, key, bad_key(), (def.v = tetrahedron, def.nv = 8))
CASE(key_ctrl_length, key, bad_key(), (def.ctrl = tetrahedron, def.nu = 1))
CASE(key_quat, key, bad_key(), (def.q = ((const double[8]){0, 0, 0, 0, 0.5, 0.5, 0, 0}), def.nq = 8))
CASE(key_nan, key, bad_key(), (def.v = ((const double[7]){0, 0, 0, NAN, 0, 0, 0}), def.nv = 7))

static void timestep(tg_builder *b)
{
    ok(b, tg_builder_timestep(b, -0.01));
}

static void timestep_nan(tg_builder *b)
{
    ok(b, tg_builder_timestep(b, NAN));
}

static void gravity(tg_builder *b)
{
    ok(b, tg_builder_gravity(b, (const double[3]){0, NAN, 0}));
}

static const struct
{
    const char *name;
    void (*add)(tg_builder *b);
    tg_status status;
    const char *says[3]; /* element, field, value */
} refusals[] = {
#define REFUSE(name, status, element, field, value)                                                                    \
    {                                                                                                                  \
#name, name, status,                                                                                           \
        {                                                                                                              \
            element, field, value                                                                                      \
        }                                                                                                              \
    }
    REFUSE(body_parent, TG_ERR_ARGUMENT, "body 'bad'", "parent", "= 9"),
    REFUSE(body_parent_negative, TG_ERR_ARGUMENT, "body 'bad'", "parent", "= -1"),
    REFUSE(body_parent_self, TG_ERR_MODEL, "body #3", "parent", "'bad' -> (the first again)"),
    REFUSE(body_cycle, TG_ERR_MODEL, "'two'", "parent", "'three'"),
    REFUSE(body_mass, TG_ERR_VALUE, "body.bad.", "mass", "= -1: must not be negative"),
    REFUSE(body_mass_nan, TG_ERR_VALUE, "body.bad.", "mass", "= nan"),
    REFUSE(body_pos_nan, TG_ERR_VALUE, "body.bad.", "pos[1]", "= nan"),
    REFUSE(body_pos_inf, TG_ERR_VALUE, "body.bad.", "pos[2]", "= inf"),
    REFUSE(body_quat, TG_ERR_VALUE, "body.bad.", "quat", "norm 1.01"),
    REFUSE(body_quat_zero, TG_ERR_VALUE, "body.bad.", "quat", "norm 0"),
    REFUSE(body_com_nan, TG_ERR_VALUE, "body.bad.", "com[0]", "= nan"),
    REFUSE(body_inertia_triangle, TG_ERR_VALUE, "body.bad.", "inertia", "0.1 0.1 0.3: principal moments must"),
    REFUSE(body_inertia_negative, TG_ERR_VALUE, "body.bad.", "inertia", "-0.1"),
    REFUSE(body_inertia_indefinite, TG_ERR_VALUE, "body.bad.", "inertia", "semidefinite"),
    REFUSE(body_name_twice, TG_ERR_NAME, "body", "name", "'link'"),
    REFUSE(body_name_world, TG_ERR_NAME, "body", "name", "'world'"),
    REFUSE(body_name_number, TG_ERR_NAME, "body #3", "name", "'#4'"),
    REFUSE(body_massless, TG_ERR_MODEL, "joint.ghostly.", "armature", "= 0"),
    REFUSE(body_without_inertia, TG_ERR_MODEL, "joint.needle.", "armature", "= 0"),
    REFUSE(joint_body, TG_ERR_ARGUMENT, "joint 'bad'", "body", "= 12"),
    REFUSE(joint_world, TG_ERR_MODEL, "joint 'bad'", "body", "= 0"),
    REFUSE(joint_type, TG_ERR_ARGUMENT, "joint 'bad'", "type", "= 17"),
    REFUSE(joint_axis, TG_ERR_VALUE, "joint.bad.", "axis", "= 0 0 0"),
    REFUSE(joint_axis_nan, TG_ERR_VALUE, "joint.bad.", "axis[1]", "= nan"),
    REFUSE(joint_pos_nan, TG_ERR_VALUE, "joint.bad.", "pos[2]", "= nan"),
    REFUSE(joint_ref_nan, TG_ERR_VALUE, "joint.bad.", "ref", "= nan"),
    REFUSE(joint_springref_inf, TG_ERR_VALUE, "joint.bad.", "springref", "= -inf"),
    REFUSE(joint_stiffness, TG_ERR_VALUE, "joint.bad.", "stiffness", "= -2"),
    REFUSE(joint_damping, TG_ERR_VALUE, "joint.bad.", "damping", "= -0.5"),
    REFUSE(joint_armature, TG_ERR_VALUE, "joint.bad.", "armature", "= -0.001"),
    REFUSE(joint_frictionloss, TG_ERR_VALUE, "joint.bad.", "frictionloss", "= -3"),
    REFUSE(joint_margin, TG_ERR_VALUE, "joint.bad.", "margin", "= nan"),
    REFUSE(joint_range, TG_ERR_VALUE, "joint.bad.", "range", "= 1 -1"),
    REFUSE(joint_range_empty, TG_ERR_VALUE, "joint.bad.", "range", "= 0 0"),
    REFUSE(joint_range_nan, TG_ERR_VALUE, "joint.bad.", "range[1]", "= nan"),
    REFUSE(joint_ball_range, TG_ERR_VALUE, "joint.bad.", "range", "= -1 1"),
    REFUSE(joint_force_range, TG_ERR_VALUE, "joint.bad.", "force_range", "= 5 0"),
    REFUSE(joint_ball_force, TG_ERR_MODEL, "joint 'bad'", "force_limited", "= 1"),
    REFUSE(joint_second_free, TG_ERR_MODEL, "joint 'bad'", "body", "= 2: the body has more than 6"),
    REFUSE(joint_name_twice, TG_ERR_NAME, "joint", "name", "'hinge'"),
    REFUSE(joint_deep_free, TG_ERR_MODEL, "joint 'bad'", "body", "= 3: a free joint"),
    REFUSE(joint_free_limited, TG_ERR_MODEL, "joint 'bad'", "limited", "= 1"),
    REFUSE(joint_ball_then_hinge, TG_ERR_MODEL, "joint 'after'", "type", "= 3: a ball cannot"),
    REFUSE(joint_seven, TG_ERR_MODEL, "joint 'bad5'", "body", "= 1: the body has more than 6"),
    REFUSE(geom_body, TG_ERR_ARGUMENT, "geom 'bad'", "body", "= -2"),
    REFUSE(geom_type, TG_ERR_ARGUMENT, "geom 'bad'", "type", "= 99"),
    REFUSE(geom_sphere_size, TG_ERR_VALUE, "geom.bad.", "size[0]", "= -0.1"),
    REFUSE(geom_capsule_size, TG_ERR_VALUE, "geom.bad.", "size[1]", "= 0: must be positive"),
    REFUSE(geom_box_size, TG_ERR_VALUE, "geom.bad.", "size[2]", "= 0"),
    REFUSE(geom_ellipsoid_size, TG_ERR_VALUE, "geom.bad.", "size[1]", "= -3"),
    REFUSE(geom_cylinder_size, TG_ERR_VALUE, "geom.bad.", "size[0]", "= 0"),
    REFUSE(geom_size_nan, TG_ERR_VALUE, "geom.bad.", "size[0]", "= nan"),
    REFUSE(geom_plane_size, TG_ERR_VALUE, "geom.bad.", "size[0]", "= -1"),
    REFUSE(geom_plane_moves, TG_ERR_MODEL, "geom 'bad'", "body", "= 1: a plane"),
    REFUSE(geom_mesh, TG_ERR_ARGUMENT, "geom 'bad'", "mesh", "= 7"),
    REFUSE(geom_mesh_none, TG_ERR_ARGUMENT, "geom 'bad'", "mesh", "= -1"),
    REFUSE(geom_mesh_scale, TG_ERR_VALUE, "geom.bad.", "size[1]", "= 0: the scale"),
    REFUSE(geom_hfield, TG_ERR_ARGUMENT, "geom 'bad'", "hfield", "= 4"),
    REFUSE(geom_quat, TG_ERR_VALUE, "geom.bad.", "quat", "1 0 0 0.5"),
    REFUSE(geom_pos, TG_ERR_VALUE, "geom.bad.", "pos[0]", "= nan"),
    REFUSE(geom_mass, TG_ERR_VALUE, "geom 'bad'", "mass", "= nan"),
    REFUSE(geom_density, TG_ERR_VALUE, "geom 'bad'", "density", "= -5"),
    REFUSE(geom_condim, TG_ERR_VALUE, "geom 'bad'", "condim", "= 2"),
    REFUSE(geom_friction, TG_ERR_VALUE, "geom.bad.", "friction[2]", "= -0.1"),
    REFUSE(geom_kinetic, TG_ERR_VALUE, "geom.bad.", "kinetic", "= 1.5"),
    REFUSE(geom_kinetic_zero, TG_ERR_VALUE, "geom.bad.", "kinetic", "= 0"),
    REFUSE(geom_slip_speed, TG_ERR_VALUE, "geom.bad.", "slip_speed", "= 0"),
    REFUSE(geom_restitution, TG_ERR_VALUE, "geom.bad.", "restitution", "= 1.25"),
    REFUSE(geom_compliance, TG_ERR_VALUE, "geom.bad.", "compliance", "e-07"),
    REFUSE(geom_margin, TG_ERR_VALUE, "geom.bad.", "margin", "= inf"),
    REFUSE(geom_gap, TG_ERR_VALUE, "geom 'bad'", "gap", "= nan"),
    REFUSE(geom_inside_out, TG_ERR_MODEL, "geom 'bad'", "mesh", "volume is -0.000166"),
    REFUSE(site_body, TG_ERR_ARGUMENT, "site 'bad'", "body", "= 5"),
    REFUSE(site_pos, TG_ERR_VALUE, "site.bad.", "pos[2]", "= nan"),
    REFUSE(site_quat, TG_ERR_VALUE, "site.bad.", "quat", "norm 2"),
    REFUSE(mesh_vertex, TG_ERR_VALUE, "mesh 'bad'", "vertex[8]", "= nan"),
    REFUSE(mesh_face, TG_ERR_VALUE, "mesh 'bad'", "face[7]", "= 4"),
    REFUSE(mesh_few, TG_ERR_MODEL, "mesh 'bad'", "nvertex", "= 2"),
    REFUSE(mesh_few_for_hull, TG_ERR_MODEL, "mesh 'bad'", "nvertex", "= 3"),
    REFUSE(hfield_elevation, TG_ERR_VALUE, "hfield 'bad'", "elevation[2]", "= 1.5"),
    REFUSE(hfield_rows, TG_ERR_MODEL, "hfield 'bad'", "nrow", "= 1"),
    REFUSE(hfield_size, TG_ERR_VALUE, "hfield.bad.", "size[2]", "= 0"),
    REFUSE(tendon_type, TG_ERR_ARGUMENT, "tendon 'bad'", "type", "= 3"),
    REFUSE(tendon_empty, TG_ERR_MODEL, "tendon 'bad'", "npath", "= 0"),
    REFUSE(tendon_one_site, TG_ERR_MODEL, "tendon 'bad'", "npath", "= 1"),
    REFUSE(tendon_site, TG_ERR_MODEL, "tendon 'bad'", "path[1].id", "= 8"),
    REFUSE(tendon_same_site, TG_ERR_MODEL, "tendon 'bad'", "path[1].id", "= 0: is the same"),
    REFUSE(tendon_mixed, TG_ERR_MODEL, "tendon 'bad'", "path[", "= 0"),
    REFUSE(tendon_pulley_last, TG_ERR_MODEL, "tendon 'bad'", "path[2].type", "= 2: a pulley"),
    REFUSE(tendon_pulley_alone, TG_ERR_MODEL, "tendon 'bad'", "path[3].id", "= 0: a site needs"),
    REFUSE(tendon_divisor, TG_ERR_VALUE, "tendon.bad.", "coef[2]", "= -2"),
    REFUSE(tendon_joint, TG_ERR_MODEL, "tendon 'bad'", "path[0].id", "= 44"),
    REFUSE(tendon_free_joint, TG_ERR_MODEL, "tendon 'bad'", "path[0].id", "= 1: the joint must"),
    REFUSE(tendon_joint_twice, TG_ERR_MODEL, "tendon 'bad'", "path[1].id", "= 0: the joint is already"),
    REFUSE(tendon_coef, TG_ERR_VALUE, "tendon.bad.", "coef", "= nan"),
    REFUSE(tendon_stiffness, TG_ERR_VALUE, "tendon.bad.", "stiffness", "= -1"),
    REFUSE(tendon_rest, TG_ERR_VALUE, "tendon.bad.", "rest", "= 2 1"),
    REFUSE(tendon_rest_nan, TG_ERR_VALUE, "tendon.bad.", "rest[0]", "= nan"),
    REFUSE(tendon_range, TG_ERR_VALUE, "tendon.bad.", "range", "= 1 0.5"),
    REFUSE(tendon_frictionloss, TG_ERR_VALUE, "tendon.bad.", "frictionloss", "= -0.5"),
    REFUSE(actuator_transmission, TG_ERR_ARGUMENT, "actuator 'bad'", "transmission", "= 5"),
    REFUSE(actuator_target, TG_ERR_ARGUMENT, "actuator 'bad'", "target", "= 77: there is no such joint"),
    REFUSE(actuator_tendon, TG_ERR_ARGUMENT, "actuator 'bad'", "target", "= 1: there is no such tendon"),
    REFUSE(actuator_site, TG_ERR_ARGUMENT, "actuator 'bad'", "target", "= -1: there is no such site"),
    REFUSE(actuator_dynamics, TG_ERR_ARGUMENT, "actuator 'bad'", "dynamics", "= 8"),
    REFUSE(actuator_tau, TG_ERR_VALUE, "actuator.bad.", "tau", "= 0"),
    REFUSE(actuator_gear, TG_ERR_VALUE, "actuator.bad.", "gear[4]", "= nan"),
    REFUSE(actuator_gain, TG_ERR_VALUE, "actuator.bad.", "gain[1]", "= inf"),
    REFUSE(actuator_bias, TG_ERR_VALUE, "actuator.bad.", "bias[2]", "= nan"),
    REFUSE(actuator_ctrl_range, TG_ERR_VALUE, "actuator.bad.", "ctrl_range", "= 3 0"),
    REFUSE(actuator_force_range, TG_ERR_VALUE, "actuator.bad.", "force_range", "= 0 -4"),
    REFUSE(actuator_act_range, TG_ERR_VALUE, "actuator.bad.", "act_range", "= 2 0"),
    REFUSE(actuator_no_act, TG_ERR_MODEL, "actuator 'bad'", "act_limited", "= 1"),
    REFUSE(equality_type, TG_ERR_ARGUMENT, "equality 'bad'", "type", "= 9"),
    REFUSE(equality_obj1, TG_ERR_ARGUMENT, "equality 'bad'", "obj1", "= 30"),
    REFUSE(equality_obj2, TG_ERR_ARGUMENT, "equality 'bad'", "obj2", "= -1"),
    REFUSE(equality_same, TG_ERR_MODEL, "equality 'bad'", "obj2", "= 1: is the same"),
    REFUSE(equality_free, TG_ERR_MODEL, "equality 'bad'", "obj1", "= 1: the joint must"),
    REFUSE(equality_data, TG_ERR_VALUE, "equality.bad.", "data[0]", "= nan"),
    REFUSE(equality_half_open, TG_ERR_VALUE, "equality.bad.", "data[4]", "= nan"),
    REFUSE(equality_quat, TG_ERR_VALUE, "equality.bad.", "data", "1 1 0 0: quaternion"),
    REFUSE(equality_torque, TG_ERR_VALUE, "equality.bad.", "data[10]", "= -1"),
    REFUSE(pair_geom, TG_ERR_ARGUMENT, "pair 'bad'", "geom2", "= 14"),
    REFUSE(pair_same, TG_ERR_MODEL, "pair 'bad'", "geom2", "= 0"),
    REFUSE(pair_condim, TG_ERR_VALUE, "pair 'bad'", "condim", "= 5"),
    REFUSE(pair_friction, TG_ERR_VALUE, "pair.bad.", "friction[0]", "= nan"),
    REFUSE(pair_restitution, TG_ERR_VALUE, "pair.bad.", "restitution", "= -0.5"),
    REFUSE(exclude_body, TG_ERR_ARGUMENT, "exclude #0", "body2", "= 21"),
    REFUSE(key_time, TG_ERR_VALUE, "key 'bad'", "time", "= nan"),
    REFUSE(key_q_length, TG_ERR_MODEL, "key 'bad'", "nq", "= 3: the model has 8"),
    REFUSE(key_v_length, TG_ERR_MODEL, "key 'bad'", "nv", "= 8: the model has 7"),
    REFUSE(key_ctrl_length, TG_ERR_MODEL, "key 'bad'", "nu", "= 1: the model has 0"),
    REFUSE(key_quat, TG_ERR_VALUE, "key 'bad'", "q[4..7]", "norm 0.707"),
    REFUSE(key_nan, TG_ERR_VALUE, "key 'bad'", "v[3]", "= nan"),
    REFUSE(timestep, TG_ERR_VALUE, "", "timestep", "= -0.01"),
    REFUSE(timestep_nan, TG_ERR_VALUE, "", "timestep", "= nan"),
    REFUSE(gravity, TG_ERR_VALUE, "", "gravity[1]", "= nan"),
};

static void check_message(const char *name, const char *message, const char *const says[3])
{
    for (int i = 0; i < 3; i++)
    {
        if (strstr(message, says[i]) == NULL)
            fail_msg("%s: message \"%s\" does not say \"%s\"", name, message, says[i]);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
    {
        tg_builder *b = good_builder();
        refusals[i].add(b);
        for (int attempt = 0; attempt < 2; attempt++) /* a refusal leaves the builder as it was */
        {
            int sentinel;
            tg_model *m = (tg_model *)(void *)&sentinel;
            tg_status status = tg_builder_build(b, &m);
            if (status != refusals[i].status)
                fail_msg("%s: status %d (%s), expected %d", refusals[i].name, status, tg_builder_message(b),
                         refusals[i].status);
            check_message(refusals[i].name, tg_builder_message(b), refusals[i].says);
            assert_null(m);
        }
        tg_builder_destroy(b);
    }
}

static void test_flat_mesh_has_no_hull(void **state)
{
    (void)state;
    tg_builder *b = good_builder();
    tg_model *m;
    mesh_flat(b);
    tg_status status = tg_builder_build(b, &m);
    if (status != TG_ERR_UNSUPPORTED) /* a build without qhull */
        assert_int_equal(status, TG_ERR_MODEL);
    check_message("flat", tg_builder_message(b), (const char *const[3]){"mesh 'bad'", "vertex", "4 vertices"});
    tg_builder_destroy(b);
}

/* Elements without a name are called by the number they were added with, also when the model numbers them otherwise. */
static void test_unnamed_elements_keep_their_number(void **state)
{
    (void)state;
    tg_builder *b = good_builder();
    tg_geom_def geom = tg_default_geom(); /* geom #2, on the world: before the others in the model */
    geom.friction[1] = -1;
    ok(b, tg_builder_geom(b, &geom, NULL));
    tg_model *m;
    assert_int_equal(tg_builder_build(b, &m), TG_ERR_VALUE);
    check_message("unnamed", tg_builder_message(b), (const char *const[3]){"geom.#2.", "friction[1]", "= -1"});
    tg_builder_destroy(b);
}

/* ---- definitions that are none ---- */

static tg_status add_null(tg_builder *b)
{
    return tg_builder_body(b, NULL, NULL);
}

static tg_status add_without_default(tg_builder *b)
{
    tg_geom_def def = {.type = TG_GEOM_SPHERE, .size = {1}};
    return tg_builder_geom(b, &def, NULL);
}

static tg_status add_other_cookie(tg_builder *b)
{
    tg_site_def def = tg_default_site();
    def.cookie = tg_default_body().cookie;
    return tg_builder_site(b, &def, NULL);
}

static tg_status add_negative_count(tg_builder *b)
{
    tg_mesh_def def = bad_mesh();
    def.nvertex = -3;
    return tg_builder_mesh(b, &def, NULL);
}

static tg_status add_negative_faces(tg_builder *b)
{
    tg_mesh_def def = bad_mesh();
    def.nface = -1;
    return tg_builder_mesh(b, &def, NULL);
}

static tg_status add_null_vertices(tg_builder *b)
{
    tg_mesh_def def = bad_mesh();
    def.vertex = NULL;
    return tg_builder_mesh(b, &def, NULL);
}

static tg_status add_null_path(tg_builder *b)
{
    tg_tendon_def def = bad_tendon();
    def.path = NULL;
    return tg_builder_tendon(b, &def, NULL);
}

static tg_status add_negative_path(tg_builder *b)
{
    tg_tendon_def def = bad_tendon();
    def.npath = -5;
    return tg_builder_tendon(b, &def, NULL);
}

static tg_status add_huge_hfield(tg_builder *b)
{
    tg_hfield_def def = bad_hfield();
    def.nrow = def.ncol = 2000000;
    return tg_builder_hfield(b, &def, NULL);
}

static tg_status add_null_hfield(tg_builder *b)
{
    tg_hfield_def def = bad_hfield();
    def.elevation = NULL;
    return tg_builder_hfield(b, &def, NULL);
}

static tg_status add_negative_key(tg_builder *b)
{
    tg_key_def def = bad_key();
    def.nq = -8;
    return tg_builder_key(b, &def, NULL);
}

static tg_status add_null_gravity(tg_builder *b)
{
    return tg_builder_gravity(b, NULL);
}

static tg_status add_null_report(tg_builder *b)
{
    return tg_builder_report(b, NULL);
}

static tg_status add_report_kind(tg_builder *b)
{
    return tg_builder_report(b, &(tg_report_entry){.kind = (tg_report_kind)12});
}

static tg_status build_to_null(tg_builder *b)
{
    return tg_builder_build(b, NULL);
}

static void test_definitions_that_are_none(void **state)
{
    (void)state;
    static const struct
    {
        const char *name;
        tg_status (*add)(tg_builder *b);
        const char *says[3];
    } cases[] = {
        {"null", add_null, {"body", "definition", "NULL"}},
        {"no default", add_without_default, {"geom", "definition", "tg_default_geom()"}},
        {"other cookie", add_other_cookie, {"site", "definition", "tg_default_site()"}},
        {"negative count", add_negative_count, {"mesh 'bad'", "nvertex", "= -3"}},
        {"negative faces", add_negative_faces, {"mesh 'bad'", "nface", "= -1"}},
        {"null vertices", add_null_vertices, {"mesh 'bad'", "vertex", "NULL"}},
        {"null path", add_null_path, {"tendon 'bad'", "path", "NULL"}},
        {"negative path", add_negative_path, {"tendon 'bad'", "npath", "= -5"}},
        {"huge hfield", add_huge_hfield, {"hfield 'bad'", "nrow x ncol", "= 4000000000000"}},
        {"null hfield", add_null_hfield, {"hfield 'bad'", "elevation", "NULL"}},
        {"negative key", add_negative_key, {"key 'bad'", "nq", "= -8"}},
        {"null gravity", add_null_gravity, {"gravity", "NULL", ""}},
        {"null report", add_null_report, {"report", "NULL", ""}},
        {"report kind", add_report_kind, {"report", "kind", "= 12"}},
        {"build to null", build_to_null, {"tg_builder_build", "m", "NULL"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        tg_builder *b = good_builder();
        tg_status status = cases[i].add(b);
        if (status != TG_ERR_ARGUMENT)
            fail_msg("%s: status %d", cases[i].name, status);
        check_message(cases[i].name, tg_builder_message(b), cases[i].says);
        tg_model *m; /* nothing was added */
        ok(b, tg_builder_build(b, &m));
        tg_model_destroy(m);
        tg_builder_destroy(b);
    }
}

static void test_null_builder(void **state)
{
    (void)state;
    tg_model *m;
    tg_error error = {0};
    assert_int_equal(tg_builder_create(NULL, NULL, &error), TG_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "NULL"));
    assert_int_equal(tg_builder_build(NULL, &m), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_body(NULL, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_mesh(NULL, NULL, NULL), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_name(NULL, "x"), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_timestep(NULL, 1), TG_ERR_ARGUMENT);
    assert_int_equal(tg_builder_find(NULL, TG_BODY, "x"), -1);
    assert_string_equal(tg_builder_message(NULL), "");
    tg_builder_destroy(NULL);
    tg_model_destroy(NULL);
    tg_params_destroy(NULL);
}

/* ---- the same rules for a vector that was changed ---- */

static void test_changed_parameters(void **state)
{
    (void)state;
    static const struct
    {
        const char *name;
        double value;
        tg_status status;
        const char *says;
    } cases[] = {
        {"body.base.mass", -1, TG_ERR_VALUE, "body.base.mass = -1: must not be negative"},
        {"body.base.quat[0]", 3, TG_ERR_VALUE, "body.base.quat"},
        {"body.hook.inertia[0]", -1, TG_ERR_VALUE, "body.hook.inertia = -1"},
        {"joint.crane_hinge.axis[1]", NAN, TG_ERR_VALUE, "joint.crane_hinge.axis[1] = nan"},
        {"joint.crane_hinge.damping", -1, TG_ERR_VALUE, "joint.crane_hinge.damping = -1"},
        {"joint.crane_hinge.range[0]", 9, TG_ERR_VALUE, "joint.crane_hinge.range = 9"},
        {"geom.box.size[1]", 0, TG_ERR_VALUE, "geom.box.size[1] = 0: must be positive"},
        {"geom.plate.bottom.friction[0]", -1, TG_ERR_VALUE, "geom.plate.bottom.friction[0] = -1"},
        {"geom.wedge.kinetic", 2, TG_ERR_VALUE, "geom.wedge.kinetic = 2"},
        {"site.#1.pos[2]", INFINITY, TG_ERR_VALUE, "site.#1.pos[2] = inf"},
        {"tendon.line.stiffness", -1, TG_ERR_VALUE, "tendon.line.stiffness = -1"},
        {"tendon.line.rest[0]", 1e3, TG_ERR_VALUE, "tendon.line.rest = 1000"},
        {"actuator.winch.tau", 0, TG_ERR_VALUE, "actuator.winch.tau = 0"},
        {"actuator.#1.gear[5]", NAN, TG_ERR_VALUE, "actuator.#1.gear[5] = nan"},
        {"equality.glue.data[6]", 5, TG_ERR_VALUE, "equality.glue.data"},
        {"pair.plate.ground.restitution", 2, TG_ERR_VALUE, "pair.plate.ground.restitution = 2"},
        {"hfield.terrain.size[0]", -1, TG_ERR_VALUE, "hfield.terrain.size[0] = -1"},
        {"gravity[1]", NAN, TG_ERR_VALUE, "gravity[1] = nan"},
    };
    tg_model *m = tg_test_model(TG_TEST_EVERYTHING);
    tg_params *p;
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    {
        int offset;
        tg_error error = {0};
        assert_int_equal(tg_param_find(m, cases[i].name, &offset, NULL, NULL), TG_OK);
        double before = tg_params_view(p)[offset];
        tg_params_data(p)[offset] = cases[i].value;
        assert_int_equal(tg_params_changed(p, &error), cases[i].status);
        assert_int_equal(error.status, cases[i].status);
        if (strstr(error.message, cases[i].says) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", cases[i].name, error.message, cases[i].says);
        tg_params_data(p)[offset] = before;
        assert_int_equal(tg_params_changed(p, &error), TG_OK);
    }
    tg_params_destroy(p);
    tg_model_destroy(m);
}

static void test_changed_to_massless(void **state)
{
    (void)state;
    tg_model *m = tg_test_model(TG_TEST_PENDULUM);
    tg_params *p;
    tg_error error = {0};
    assert_int_equal(tg_params_create(m, &p, NULL), TG_OK);
    int mass;
    int inertia;
    assert_int_equal(tg_param_find(m, "body.pole.mass", &mass, NULL, NULL), TG_OK);
    assert_int_equal(tg_param_find(m, "body.pole.inertia", &inertia, NULL, NULL), TG_OK);
    double *x = tg_params_data(p);
    x[mass] = 0;
    memset(x + inertia, 0, 6 * sizeof *x);
    assert_int_equal(tg_params_changed(p, &error), TG_ERR_MODEL);
    assert_non_null(strstr(error.message, "joint.pivot.armature = 0"));
    tg_params_destroy(p);
    tg_model_destroy(m);
}

/* ---- what is unusual and good ---- */

static void test_accepted(void **state)
{
    (void)state;
    tg_builder *b = good_builder();
    tg_body_def body = body_named("plate"); /* flat: A + B = C */
    body.inertia[2] = 0.2;
    ok(b, tg_builder_body(b, &body, NULL));
    body = body_named("rounded"); /* A + B a little below C */
    body.inertia[2] = 0.2 * (1 + 1e-7);
    ok(b, tg_builder_body(b, &body, NULL));
    body = body_named("point");
    memset(body.inertia, 0, sizeof body.inertia);
    body.quat[0] = 1.0005;
    ok(b, tg_builder_body(b, &body, NULL));
    tg_joint_def joint = bad_joint(); /* a range that is not used need not be ordered */
    joint.range[0] = 1;
    joint.axis[2] = -1e-6;
    ok(b, tg_builder_joint(b, &joint, NULL));
    tg_geom_def geom = tg_default_geom(); /* a point, with the name of a body */
    geom.name = "link";
    geom.body = LINK;
    ok(b, tg_builder_geom(b, &geom, NULL));
    tg_tendon_def tendon = bad_fixed_tendon(); /* lengths of fixed tendons may be negative */
    tendon.rest[0] = -2;
    tendon.rest[1] = 0;
    ok(b, tg_builder_tendon(b, &tendon, NULL));
    tg_model *m;
    ok(b, tg_builder_build(b, &m));
    int offset;
    assert_int_equal(tg_param_find(m, "tendon.bad.rest", &offset, NULL, NULL), TG_OK);
    assert_true(tg_params_view(tg_model_params(m))[offset] == -2);
    tg_model_destroy(m);
    tg_builder_destroy(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_model_is_good),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_flat_mesh_has_no_hull),
        cmocka_unit_test(test_unnamed_elements_keep_their_number),
        cmocka_unit_test(test_definitions_that_are_none),
        cmocka_unit_test(test_null_builder),
        cmocka_unit_test(test_changed_parameters),
        cmocka_unit_test(test_changed_to_massless),
        cmocka_unit_test(test_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
