#include "support/models.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tangere/algebra.h"

/* A builder, random numbers, and the status of the first add that failed; later adds do nothing then. */
typedef struct maker
{
    tg_builder *b;
    tg_status status;
    uint64_t random;
} maker;

/* ---- random numbers ---- */

/* xorshift64* (Vigna 2016), the upper 53 bits */
static double uniform(maker *k, double low, double high)
{
    k->random ^= k->random >> 12;
    k->random ^= k->random << 25;
    k->random ^= k->random >> 27;
    double u = (double)((k->random * 0x2545f4914f6cdd1du) >> 11) * 0x1p-53;
    return low + u * (high - low);
}

static void random_vector(maker *k, double size, double out[3])
{
    for (int i = 0; i < 3; i++)
        out[i] = uniform(k, -size, size);
}

/* a quaternion that is a rotation by less than a radian about each axis; not quite of norm 1, as files have it */
static void random_quat(maker *k, double out[4])
{
    double w[3];
    random_vector(k, 1, w);
    tg_quat_exp(w, out);
    double norm = 1 + uniform(k, -1e-4, 1e-4);
    for (int i = 0; i < 4; i++)
        out[i] *= norm;
}

/* the inertia of a mass distribution: R diag(y2 + z2, x2 + z2, x2 + y2) R^T with positive mean squares */
static void random_inertia(maker *k, double mass, double radius, double out[6])
{
    double square[3];
    double quat[4];
    double R[9];
    for (int i = 0; i < 3; i++)
        square[i] = mass * radius * radius * uniform(k, 0.1, 1);
    const double moment[3] = {square[1] + square[2], square[0] + square[2], square[0] + square[1]};
    random_quat(k, quat);
    tg_quat_normalise(quat, quat);
    tg_quat_to_matrix(quat, R);
    static const int row[6] = {0, 1, 2, 0, 0, 1};
    static const int column[6] = {0, 1, 2, 1, 2, 2};
    for (int c = 0; c < 6; c++)
    {
        out[c] = 0;
        for (int i = 0; i < 3; i++)
            out[c] += R[3 * row[c] + i] * moment[i] * R[3 * column[c] + i];
    }
}

/* ---- adding ---- */

#define ADD(element)                                                                                                   \
    static int add_##element(maker *k, const tg_##element##_def *def)                                                  \
    {                                                                                                                  \
        int id = 0;                                                                                                    \
        if (k->status == TG_OK)                                                                                        \
            k->status = tg_builder_##element(k->b, def, &id);                                                          \
        return id;                                                                                                     \
    }
ADD(body)
ADD(joint)
ADD(geom)
ADD(mesh)
ADD(hfield)
ADD(site)
ADD(tendon)
ADD(actuator)
ADD(equality)
ADD(pair)
ADD(exclude)
ADD(key)

/* A body at pos in its parent, turned, with a mass distribution of the given radius. */
static int add_link(maker *k, const char *name, int parent, const double pos[3], double mass, double radius)
{
    tg_body_def def = tg_default_body();
    def.name = name;
    def.parent = parent;
    memcpy(def.pos, pos, sizeof def.pos);
    random_quat(k, def.quat);
    def.inertial = true;
    def.mass = mass * uniform(k, 0.8, 1.2);
    random_vector(k, 0.3 * radius, def.com);
    random_inertia(k, def.mass, radius, def.inertia);
    return add_body(k, &def);
}

/* A joint with all its passive numbers. scale: of the torques. */
static int add_motion(maker *k, const char *name, int body, tg_joint_type type, double scale)
{
    tg_joint_def def = tg_default_joint();
    def.name = name;
    def.body = body;
    def.type = type;
    random_vector(k, 0.1, def.pos);
    random_vector(k, 1, def.axis);
    def.axis[2] += 1.5; /* never zero, never of norm 1 */
    if (type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE)
    {
        def.ref = uniform(k, -0.3, 0.3);
        def.springref = uniform(k, -0.4, 0.4);
        def.force_limited = true;
        def.force_range[0] = -5;
        def.force_range[1] = 5;
        def.limited = true;
        def.range[0] = -uniform(k, 0.8, 2);
        def.range[1] = uniform(k, 0.8, 2);
    }
    def.stiffness = scale * uniform(k, 0, 2);
    def.damping = scale * uniform(k, 0.05, 0.5);
    def.armature = scale * uniform(k, 0.005, 0.05);
    def.frictionloss = scale * uniform(k, 0, 0.2);
    return add_joint(k, &def);
}

static int add_free(maker *k, const char *name, int body)
{
    tg_joint_def def = tg_default_joint();
    def.name = name;
    def.body = body;
    def.type = TG_JOINT_FREE;
    return add_joint(k, &def);
}

static int add_hinge_about(maker *k, const char *name, int body, const double axis[3], double low, double high)
{
    tg_joint_def def = tg_default_joint();
    def.name = name;
    def.body = body;
    memcpy(def.axis, axis, sizeof def.axis);
    def.limited = true;
    def.range[0] = low;
    def.range[1] = high;
    def.damping = 0.5;
    def.armature = 0.01;
    def.stiffness = uniform(k, 0, 3);
    def.springref = uniform(k, low, high);
    return add_joint(k, &def);
}

static int add_point(maker *k, const char *name, int body, double size)
{
    tg_site_def def = tg_default_site();
    def.name = name;
    def.body = body;
    random_vector(k, size, def.pos);
    random_quat(k, def.quat);
    return add_site(k, &def);
}

static int add_shape(maker *k, const char *name, int body, tg_geom_type type, double x, double y, double z)
{
    tg_geom_def def = tg_default_geom();
    def.name = name;
    def.body = body;
    def.type = type;
    def.size[0] = x;
    def.size[1] = y;
    def.size[2] = z;
    if (type != TG_GEOM_PLANE)
    {
        random_vector(k, 0.05, def.pos);
        random_quat(k, def.quat);
    }
    def.friction[0] = uniform(k, 0.3, 1.2);
    return add_geom(k, &def);
}

static int add_path(maker *k, const char *name, tg_tendon_type type, const tg_path *path, int npath)
{
    tg_tendon_def def = tg_default_tendon();
    def.name = name;
    def.type = type;
    def.path = path;
    def.npath = npath;
    def.stiffness = uniform(k, 5, 20);
    def.damping = uniform(k, 0.1, 1);
    return add_tendon(k, &def);
}

static int add_motor(maker *k, const char *name, tg_transmission transmission, int target)
{
    tg_actuator_def def = tg_default_actuator();
    def.name = name;
    def.transmission = transmission;
    def.target = target;
    for (int i = 0; i < 6; i++)
        def.gear[i] = uniform(k, -2, 2);
    return add_actuator(k, &def);
}

/* gain and bias with all their terms, activation, limits */
static int add_servo(maker *k, const char *name, tg_transmission transmission, int target, tg_dynamics_type dynamics)
{
    tg_actuator_def def = tg_default_actuator();
    def.name = name;
    def.transmission = transmission;
    def.target = target;
    def.dynamics = dynamics;
    def.tau = 0.05;
    def.act_early = dynamics == TG_DYNAMICS_FILTEREXACT || dynamics == TG_DYNAMICS_INTEGRATOR;
    for (int i = 0; i < 6; i++)
        def.gear[i] = uniform(k, -2, 2);
    for (int i = 0; i < 3; i++)
    {
        def.gain[i] = uniform(k, 0.5, 2);
        def.bias[i] = -uniform(k, 0.1, 2);
    }
    def.ctrl_limited = true;
    def.ctrl_range[0] = -2;
    def.ctrl_range[1] = 2;
    def.force_limited = true;
    def.force_range[0] = -50;
    def.force_range[1] = 50;
    def.act_limited = dynamics == TG_DYNAMICS_INTEGRATOR;
    def.act_range[0] = -1;
    def.act_range[1] = 1.5;
    return add_actuator(k, &def);
}

/* ---- the models ---- */

static void pendulum(maker *k)
{
    tg_body_def body = tg_default_body();
    body.name = "pole";
    body.pos[2] = 1;
    int pole = add_body(k, &body);
    tg_joint_def joint = tg_default_joint();
    joint.name = "pivot";
    joint.body = pole;
    joint.axis[0] = 0;
    joint.axis[1] = 1;
    joint.axis[2] = 0;
    joint.damping = 0.05;
    int pivot = add_joint(k, &joint);
    tg_geom_def rod = tg_default_geom();
    rod.name = "rod";
    rod.body = pole;
    rod.type = TG_GEOM_CAPSULE;
    rod.size[0] = 0.02;
    rod.size[1] = 0.25;
    rod.pos[2] = -0.25;
    add_geom(k, &rod);
    add_motor(k, "motor", TG_TRANSMISSION_JOINT, pivot);
}

static void double_pendulum(maker *k)
{
    int upper = add_link(k, "upper", 0, (const double[3]){0.1, -0.2, 1.5}, 2, 0.2);
    add_motion(k, "shoulder", upper, TG_JOINT_HINGE, 1);
    add_motion(k, "telescope", upper, TG_JOINT_SLIDE, 5);
    int lower = add_link(k, "lower", upper, (const double[3]){0.3, 0.1, -0.4}, 1, 0.15);
    add_motion(k, "lower_x", lower, TG_JOINT_SLIDE, 5);
    add_motion(k, "lower_turn", lower, TG_JOINT_HINGE, 0.5);
    add_motion(k, "lower_y", lower, TG_JOINT_SLIDE, 5);
    int hand = add_link(k, "hand", lower, (const double[3]){0, 0.2, -0.3}, 0.5, 0.1);
    add_motion(k, "wrist_hinge", hand, TG_JOINT_HINGE, 0.2);
    add_motion(k, "wrist_ball", hand, TG_JOINT_BALL, 0.2);
    add_motion(k, "wrist_slide", hand, TG_JOINT_SLIDE, 1);
    add_shape(k, "palm", hand, TG_GEOM_BOX, 0.05, 0.04, 0.02);
}

static void ball_chain(maker *k)
{
    int parent = 0;
    for (int i = 0; i < 5; i++)
    {
        char name[16];
        snprintf(name, sizeof name, "link%d", i);
        parent = add_link(k, name, parent, (const double[3]){0.05, 0.02 * i, -0.3}, 1, 0.1);
        tg_joint_def def = tg_default_joint();
        snprintf(name, sizeof name, "ball%d", i);
        def.name = name;
        def.body = parent;
        def.type = TG_JOINT_BALL;
        random_vector(k, 0.1, def.pos);
        def.stiffness = uniform(k, 0, 2);
        def.damping = uniform(k, 0.01, 0.2);
        def.armature = uniform(k, 0, 0.01);
        def.limited = i % 2 == 1;
        def.range[1] = 1.2;
        add_joint(k, &def);
    }
}

static void quadruped(maker *k)
{
    static const char *const leg[4] = {"fl", "fr", "hl", "hr"};
    int trunk = add_link(k, "trunk", 0, (const double[3]){0, 0, 0.4}, 8, 0.25);
    add_free(k, "root", trunk);
    add_shape(k, "floor", 0, TG_GEOM_PLANE, 5, 5, 0.1);
    for (int i = 0; i < 4; i++)
    {
        char name[32];
        double x = i < 2 ? 0.2 : -0.2;
        double y = i % 2 == 0 ? 0.1 : -0.1;
        snprintf(name, sizeof name, "%s_hip", leg[i]);
        int hip = add_link(k, name, trunk, (const double[3]){x, y, 0}, 0.8, 0.06);
        int abduct = add_hinge_about(k, name, hip, (const double[3]){1, 0, 0}, -0.8, 0.8);
        snprintf(name, sizeof name, "%s_thigh", leg[i]);
        int thigh = add_link(k, name, hip, (const double[3]){0, y, 0}, 1, 0.08);
        int swing = add_hinge_about(k, name, thigh, (const double[3]){0, 1, 0}, -1, 2.5);
        snprintf(name, sizeof name, "%s_calf", leg[i]);
        int calf = add_link(k, name, thigh, (const double[3]){0, 0, -0.2}, 0.3, 0.06);
        int knee = add_hinge_about(k, name, calf, (const double[3]){0, 1, 0}, -2.6, -0.5);
        snprintf(name, sizeof name, "%s_foot", leg[i]);
        int foot = add_link(k, name, calf, (const double[3]){0, 0, -0.2}, 0.05, 0.02);
        add_shape(k, name, foot, TG_GEOM_SPHERE, 0.02, 0, 0);
        const int joint[3] = {abduct, swing, knee};
        for (int j = 0; j < 3; j++)
            add_servo(k, NULL, TG_TRANSMISSION_JOINT, joint[j], TG_DYNAMICS_NONE);
    }
}

/* A limb: three hinges in the first body, one in the second, two in the third. */
static int add_limb(maker *k, const char *name, int parent, const double at[3], double mass)
{
    char text[32];
    snprintf(text, sizeof text, "%s_upper", name);
    int upper = add_link(k, text, parent, at, mass, 0.1);
    for (int i = 0; i < 3; i++)
    {
        snprintf(text, sizeof text, "%s_upper_%c", name, 'x' + i);
        add_motion(k, text, upper, TG_JOINT_HINGE, 1);
    }
    snprintf(text, sizeof text, "%s_lower", name);
    int lower = add_link(k, text, upper, (const double[3]){0.02, 0, -0.3}, 0.6 * mass, 0.08);
    add_motion(k, text, lower, TG_JOINT_HINGE, 0.5);
    snprintf(text, sizeof text, "%s_end", name);
    int end = add_link(k, text, lower, (const double[3]){0, 0.02, -0.3}, 0.3 * mass, 0.04);
    for (int i = 0; i < 2; i++)
    {
        snprintf(text, sizeof text, "%s_end_%c", name, 'x' + i);
        add_motion(k, text, end, TG_JOINT_HINGE, 0.3);
    }
    add_shape(k, text, end, TG_GEOM_CAPSULE, 0.03, 0.06, 0);
    return end;
}

static void humanoid(maker *k)
{
    int pelvis = add_link(k, "pelvis", 0, (const double[3]){0, 0, 1}, 8, 0.15);
    add_free(k, "root", pelvis);
    int waist = add_link(k, "waist", pelvis, (const double[3]){0, 0, 0.1}, 4, 0.1);
    add_motion(k, "waist_z", waist, TG_JOINT_HINGE, 2);
    add_motion(k, "waist_y", waist, TG_JOINT_HINGE, 2);
    int torso = add_link(k, "torso", waist, (const double[3]){0, 0, 0.2}, 12, 0.2);
    add_motion(k, "torso_x", torso, TG_JOINT_HINGE, 2);
    int head = add_link(k, "head", torso, (const double[3]){0, 0, 0.3}, 4, 0.1);
    add_motion(k, "neck", head, TG_JOINT_BALL, 1);
    add_limb(k, "left_arm", torso, (const double[3]){0, 0.2, 0.2}, 2);
    add_limb(k, "right_arm", torso, (const double[3]){0, -0.2, 0.2}, 2);
    add_limb(k, "left_leg", pelvis, (const double[3]){0, 0.1, -0.1}, 5);
    add_limb(k, "right_leg", pelvis, (const double[3]){0, -0.1, -0.1}, 5);
    for (int joint = 1; joint < 10; joint++)
        add_motor(k, NULL, TG_TRANSMISSION_JOINT, joint);
}

static int add_planar_leg(maker *k, const char *side, int torso)
{
    static const double y[3] = {0, -1, 0};
    char name[32];
    int parent = torso;
    static const char *const part[3] = {"thigh", "leg", "foot"};
    for (int i = 0; i < 3; i++)
    {
        tg_body_def body = tg_default_body();
        snprintf(name, sizeof name, "%s_%s", side, part[i]);
        body.name = name;
        body.parent = parent;
        body.pos[2] = i == 0 ? -0.2 : -0.45;
        parent = add_body(k, &body);
        add_hinge_about(k, name, parent, y, i == 1 ? -2.6 : -0.8, 0.8);
        tg_geom_def geom = tg_default_geom();
        geom.body = parent;
        geom.type = TG_GEOM_CAPSULE;
        geom.size[0] = 0.05;
        geom.size[1] = i == 2 ? 0.1 : 0.2;
        geom.pos[2] = i == 2 ? 0 : -0.2;
        add_geom(k, &geom);
    }
    return parent;
}

static void walker(maker *k)
{
    tg_body_def body = tg_default_body();
    body.name = "torso";
    body.pos[2] = 1.25;
    int torso = add_body(k, &body);
    static const double axes[3][3] = {{1, 0, 0}, {0, 0, 1}, {0, 1, 0}};
    static const char *const names[3] = {"rootx", "rootz", "rooty"};
    for (int i = 0; i < 3; i++)
    {
        tg_joint_def root = tg_default_joint();
        root.name = names[i];
        root.body = torso;
        root.type = i < 2 ? TG_JOINT_SLIDE : TG_JOINT_HINGE;
        memcpy(root.axis, axes[i], sizeof root.axis);
        root.ref = i == 1 ? 1.25 : 0;
        add_joint(k, &root);
    }
    tg_geom_def trunk = tg_default_geom();
    trunk.name = "trunk";
    trunk.body = torso;
    trunk.type = TG_GEOM_CAPSULE;
    trunk.size[0] = 0.05;
    trunk.size[1] = 0.2;
    add_geom(k, &trunk);
    add_planar_leg(k, "right", torso);
    add_planar_leg(k, "left", torso);
    for (int joint = 3; joint < 9; joint++)
        add_motor(k, NULL, TG_TRANSMISSION_JOINT, joint);
}

static void two_trees(maker *k)
{
    int post = add_link(k, "post", 0, (const double[3]){0, 0, 1}, 5, 0.2); /* fixed to the world */
    int arm = add_link(k, "arm", post, (const double[3]){0.2, 0, 0.5}, 1, 0.2);
    int j0 = add_motion(k, "arm_yaw", arm, TG_JOINT_HINGE, 1);
    int j1 = add_motion(k, "arm_out", arm, TG_JOINT_SLIDE, 3);
    int tip = add_link(k, "tip", arm, (const double[3]){0.3, 0, 0}, 0.4, 0.1);
    int j2 = add_motion(k, "tip_ball", tip, TG_JOINT_BALL, 0.3);
    int crate = add_link(k, "crate", 0, (const double[3]){1, 0.3, 0.2}, 3, 0.2);
    int j3 = add_free(k, "crate_free", crate);
    int lid = add_link(k, "lid", crate, (const double[3]){0, 0, 0.2}, 0.5, 0.1);
    int j4 = add_motion(k, "lid_hinge", lid, TG_JOINT_HINGE, 0.4);

    int s0 = add_point(k, "on_world", 0, 0.5);
    int s1 = add_point(k, "on_post", post, 0.3);
    int s2 = add_point(k, "on_arm", arm, 0.2);
    int s3 = add_point(k, "on_tip", tip, 0.2);
    int s4 = add_point(k, "on_crate", crate, 0.2);
    int s5 = add_point(k, "on_lid", lid, 0.2);

    const tg_path coupled[] = {{TG_PATH_JOINT, j0, 0.7}, {TG_PATH_JOINT, j4, -1.3}, {TG_PATH_JOINT, j1, 2}};
    int t0 = add_path(k, "coupled", TG_TENDON_FIXED, coupled, 3);
    const tg_path cable[] = {{TG_PATH_SITE, s1, 0}, {TG_PATH_SITE, s3, 0}, {TG_PATH_SITE, s5, 0}};
    int t1 = add_path(k, "cable", TG_TENDON_SPATIAL, cable, 3);
    const tg_path tackle[] = {{TG_PATH_SITE, s0, 0},  {TG_PATH_SITE, s2, 0}, {TG_PATH_PULLEY, 0, 2},
                              {TG_PATH_SITE, s2, 0},  {TG_PATH_SITE, s4, 0}, {TG_PATH_SITE, s5, 0},
                              {TG_PATH_PULLEY, 0, 3}, {TG_PATH_SITE, s3, 0}, {TG_PATH_SITE, s4, 0}};
    add_path(k, "tackle", TG_TENDON_SPATIAL, tackle, 9);

    add_motor(k, "yaw_motor", TG_TRANSMISSION_JOINT, j0);
    add_servo(k, "out_servo", TG_TRANSMISSION_JOINT, j1, TG_DYNAMICS_INTEGRATOR);
    add_motor(k, "ball_motor", TG_TRANSMISSION_JOINT, j2);
    add_motor(k, "free_motor", TG_TRANSMISSION_JOINT, j3);
    add_servo(k, "coupled_servo", TG_TRANSMISSION_TENDON, t0, TG_DYNAMICS_FILTER);
    add_servo(k, "cable_servo", TG_TRANSMISSION_TENDON, t1, TG_DYNAMICS_FILTEREXACT);
    add_motor(k, "tip_thruster", TG_TRANSMISSION_SITE, s3);
    add_servo(k, "lid_thruster", TG_TRANSMISSION_SITE, s5, TG_DYNAMICS_FILTER);
}

static int add_tetrahedron(maker *k)
{
    static const double vertex[12] = {0, 0, 0, 0.2, 0, 0, 0, 0.2, 0, 0, 0, 0.2};
    static const int face[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    tg_mesh_def mesh = tg_default_mesh();
    mesh.name = "tetrahedron";
    mesh.nvertex = 4;
    mesh.nface = 4;
    mesh.vertex = vertex;
    mesh.face = face;
    return add_mesh(k, &mesh);
}

static int add_terrain(maker *k)
{
    static const double elevation[12] = {0, 0.1, 0.2, 0, 0.3, 0.5, 0.6, 0.2, 0, 0.2, 1, 0};
    tg_hfield_def hfield = tg_default_hfield();
    hfield.name = "terrain";
    hfield.nrow = 3;
    hfield.ncol = 4;
    hfield.elevation = elevation;
    hfield.size[2] = 0.2;
    hfield.size[3] = 0.1;
    return add_hfield(k, &hfield);
}

static void add_all_shapes(maker *k, int body)
{
    add_shape(k, "sphere", body, TG_GEOM_SPHERE, 0.1, 0, 0);
    add_shape(k, "capsule", body, TG_GEOM_CAPSULE, 0.05, 0.1, 0);
    add_shape(k, "ellipsoid", body, TG_GEOM_ELLIPSOID, 0.1, 0.08, 0.05);
    add_shape(k, "cylinder", body, TG_GEOM_CYLINDER, 0.05, 0.1, 0);
    add_shape(k, "box", body, TG_GEOM_BOX, 0.1, 0.2, 0.05);
    tg_geom_def mesh = tg_default_geom();
    mesh.name = "wedge";
    mesh.body = body;
    mesh.type = TG_GEOM_MESH;
    mesh.mesh = add_tetrahedron(k);
    mesh.size[0] = 1.5;
    mesh.size[1] = -1;
    mesh.size[2] = 0.7;
    mesh.mass = 0.3;
    add_geom(k, &mesh);
}

static void add_equalities(maker *k, int first, int second, int hinge, int slide)
{
    tg_equality_def def = tg_default_equality();
    def.name = "pin";
    def.obj1 = first;
    def.obj2 = second;
    random_vector(k, 0.1, def.data);
    def.data[3] = def.data[4] = def.data[5] = NAN;
    add_equality(k, &def);
    def = tg_default_equality();
    def.name = "glue";
    def.type = TG_EQUALITY_WELD;
    def.obj1 = second;
    def.obj2 = 0;
    for (int i = 3; i < 10; i++)
        def.data[i] = NAN;
    def.data[10] = 1;
    def.active = false;
    add_equality(k, &def);
    def = tg_default_equality();
    def.name = "gear";
    def.type = TG_EQUALITY_JOINT;
    def.obj1 = hinge;
    def.obj2 = slide;
    def.data[1] = 0.5;
    def.data[2] = 0.1;
    add_equality(k, &def);
    def = tg_default_equality();
    def.name = "rope";
    def.type = TG_EQUALITY_TENDON;
    def.obj1 = 0;
    add_equality(k, &def);
}

static void everything(maker *k)
{
    static const double gravity[3] = {0.3, -0.2, -9.7};
    if (k->status == TG_OK)
        k->status = tg_builder_name(k->b, "everything");
    if (k->status == TG_OK)
        k->status = tg_builder_gravity(k->b, gravity);
    if (k->status == TG_OK)
        k->status = tg_builder_timestep(k->b, 0.001);
    tg_geom_def ground = tg_default_geom();
    ground.name = "ground";
    ground.type = TG_GEOM_HFIELD;
    ground.hfield = add_terrain(k);
    int floor = add_geom(k, &ground);
    tg_body_def body = tg_default_body();
    body.name = "base";
    body.pos[2] = 1;
    random_quat(k, body.quat);
    int base = add_body(k, &body);
    add_free(k, "base_free", base);
    add_all_shapes(k, base);
    int crane = add_link(k, "crane", 0, (const double[3]){1, 0, 0.5}, 2, 0.2);
    int hinge = add_motion(k, "crane_hinge", crane, TG_JOINT_HINGE, 1);
    int slide = add_motion(k, "crane_slide", crane, TG_JOINT_SLIDE, 3);
    int hook = add_link(k, "hook", crane, (const double[3]){0, 0, -0.4}, 0.5, 0.1);
    add_motion(k, "hook_ball", hook, TG_JOINT_BALL, 0.2);
    int plate = add_link(k, "plate", hook, (const double[3]){0, 0, -0.1}, 0.2, 0.05);
    int contact = add_shape(k, "plate.bottom", plate, TG_GEOM_BOX, 0.05, 0.05, 0.01);
    int s0 = add_point(k, NULL, base, 0.1);
    int s1 = add_point(k, NULL, plate, 0.1);
    const tg_path line[] = {{TG_PATH_SITE, s0, 0}, {TG_PATH_SITE, s1, 0}};
    int tendon = add_path(k, "line", TG_TENDON_SPATIAL, line, 2);
    add_servo(k, "winch", TG_TRANSMISSION_TENDON, tendon, TG_DYNAMICS_FILTER);
    add_motor(k, NULL, TG_TRANSMISSION_SITE, s1);
    add_equalities(k, base, plate, hinge, slide);
    tg_pair_def pair = tg_default_pair();
    pair.name = "plate.ground";
    pair.geom1 = contact;
    pair.geom2 = floor;
    pair.condim = 6;
    pair.restitution = 0.4;
    pair.kinetic = 0.8;
    add_pair(k, &pair);
    tg_exclude_def exclude = tg_default_exclude();
    exclude.body1 = crane;
    exclude.body2 = plate;
    add_exclude(k, &exclude);
    tg_key_def key = tg_default_key();
    key.name = "home";
    key.time = 0.5;
    add_key(k, &key);
    if (k->status == TG_OK)
        k->status = tg_builder_report(
            k->b, &(tg_report_entry){TG_REPORT_NOTED, "everything.xml", 12, "camera 'front'", "", "not used"});
}

static void free_bodies(maker *k)
{
    static const char *const names[3] = {"stone", "rod", "frame"};
    int body = 0;
    for (int i = 0; i < 3; i++)
    {
        body = add_link(k, names[i], 0, (const double[3]){0.5 * i, -0.2, 0.3 + i}, 1 + i, 0.1 + 0.1 * i);
        tg_joint_def joint = tg_default_joint();
        joint.body = body;
        joint.type = TG_JOINT_FREE;
        joint.damping = 0.1 * i;
        joint.armature = 0.02 * i;
        joint.stiffness = 0.5 * i;
        add_joint(k, &joint);
    }
    int part = add_link(k, "strut", body, (const double[3]){0.2, 0, 0}, 0.3, 0.1);
    part = add_link(k, "bracket", part, (const double[3]){0, 0.2, 0.1}, 0.2, 0.05);
    add_link(k, "bolt", part, (const double[3]){0, 0, 0.1}, 0.1, 0.02);
    int flap = add_link(k, "flap", part, (const double[3]){-0.1, 0, 0.1}, 0.2, 0.1);
    add_motion(k, "flap", flap, TG_JOINT_HINGE, 0.2);
}

static void massless_links(maker *k)
{
    int parent = 0;
    for (int i = 0; i < 3; i++)
    {
        tg_body_def link = tg_default_body();
        link.parent = parent;
        link.pos[2] = -0.1;
        random_quat(k, link.quat);
        link.inertial = true;
        parent = add_body(k, &link);
        add_motion(k, NULL, parent, TG_JOINT_HINGE, 0.1);
    }
    tg_body_def bob = tg_default_body();
    bob.name = "bob";
    bob.parent = parent;
    bob.pos[0] = 0.4;
    bob.inertial = true;
    bob.mass = 0.7;
    bob.com[1] = 0.2;
    int weight = add_body(k, &bob);
    tg_body_def rotor = tg_default_body();
    rotor.name = "rotor";
    rotor.parent = weight;
    rotor.inertial = true;
    int wheel = add_body(k, &rotor);
    tg_joint_def spin = tg_default_joint();
    spin.name = "spin";
    spin.body = wheel;
    spin.armature = 0.03;
    add_joint(k, &spin);
}

/* ---- the table ---- */

static const struct
{
    const char *name;
    void (*make)(maker *k);
} models[TG_TEST_MODEL_COUNT] = {
    [TG_TEST_PENDULUM] = {"pendulum", pendulum},
    [TG_TEST_DOUBLE_PENDULUM] = {"double_pendulum", double_pendulum},
    [TG_TEST_BALL_CHAIN] = {"ball_chain", ball_chain},
    [TG_TEST_QUADRUPED] = {"quadruped", quadruped},
    [TG_TEST_HUMANOID] = {"humanoid", humanoid},
    [TG_TEST_WALKER] = {"walker", walker},
    [TG_TEST_TWO_TREES] = {"two_trees", two_trees},
    [TG_TEST_EVERYTHING] = {"everything", everything},
    [TG_TEST_FREE_BODIES] = {"free_bodies", free_bodies},
    [TG_TEST_MASSLESS_LINKS] = {"massless_links", massless_links},
};

const char *tg_test_model_name(int which)
{
    return models[which].name;
}

tg_status tg_test_model_add(tg_builder *b, int which)
{
    maker k = {.b = b, .random = 0x9e3779b97f4a7c15u + (uint64_t)which};
    k.status = tg_builder_name(b, models[which].name);
    models[which].make(&k);
    return k.status;
}

tg_model *tg_test_model(int which)
{
    tg_builder *b = NULL;
    tg_model *m = NULL;
    assert_int_equal(tg_builder_create(NULL, &b, NULL), TG_OK);
    tg_status status = tg_test_model_add(b, which);
    if (status == TG_OK)
        status = tg_builder_build(b, &m);
    if (status != TG_OK)
        fail_msg("%s: %s", models[which].name, tg_builder_message(b));
    tg_builder_destroy(b);
    return m;
}
