#include "read/table_rows.h"
#include "read/urdf/urdf.h"

/* clang-format off */

#define RIGID "contacts and limits are rigid here"
#define FRICTION "friction stays at its default; set the parameters geom.*.friction"

static const tg_table_word true_false[] = {{"false", 0}, {"true", 1}, {NULL, 0}};
static const tg_table_word true_false_auto[] = {
    {"false", TG_MJCF_FALSE}, {"true", TG_MJCF_TRUE}, {"auto", TG_MJCF_AUTO}, {NULL, 0}};

/* ---- attributes ---- */

static const tg_table_attribute name_set[] = {{AS("name", HONOURED)}, END};

static const tg_table_attribute origin_set[] = {
    {AS("xyz", HONOURED), REALS(tg_urdf_origin, xyz, 3)},
    {AS("rpy", HONOURED), REALS(tg_urdf_origin, rpy, 3)},
    END};

static const tg_table_attribute mass_set[] = {
    {AS("value", HONOURED), REAL(tg_urdf_inertial, mass), .required = true}, END};

static const tg_table_attribute inertia_set[] = {
    {AS("ixx", HONOURED), REAL(tg_urdf_inertial, inertia[0]), .required = true},
    {AS("iyy", HONOURED), REAL(tg_urdf_inertial, inertia[1]), .required = true},
    {AS("izz", HONOURED), REAL(tg_urdf_inertial, inertia[2]), .required = true},
    {AS("ixy", HONOURED), REAL(tg_urdf_inertial, inertia[3])},
    {AS("ixz", HONOURED), REAL(tg_urdf_inertial, inertia[4])},
    {AS("iyz", HONOURED), REAL(tg_urdf_inertial, inertia[5])},
    END};

static const tg_table_attribute collision_set[] = {
    {AS("name", HONOURED)},
    {AS("group", NOTED), .note = "groups of collision shapes are not made"},
    END};

static const tg_table_attribute box_set[] = {
    {AS("size", HONOURED), REALS(tg_urdf_shape, size, 3), .required = true}, END};
static const tg_table_attribute sphere_set[] = {
    {AS("radius", HONOURED), REAL(tg_urdf_shape, radius), .required = true}, END};
static const tg_table_attribute cylinder_set[] = {
    {AS("radius", HONOURED), REAL(tg_urdf_shape, radius), .required = true},
    {AS("length", HONOURED), REAL(tg_urdf_shape, length), .required = true},
    END};
static const tg_table_attribute mesh_set[] = {
    {AS("filename", HONOURED), TEXT(tg_urdf_shape, filename), .required = true},
    {AS("scale", HONOURED), REALS(tg_urdf_shape, scale, 3)},
    END};

static const tg_table_attribute joint_set[] = {{AS("name", HONOURED)}, {AS("type", HONOURED)}, END};
static const tg_table_attribute reference_set[] = {
    {AS("link", HONOURED), TEXT(tg_urdf_reference, link), .required = true}, END};
static const tg_table_attribute axis_set[] = {
    {AS("xyz", HONOURED), REALS(tg_urdf_origin, xyz, 3), .required = true}, END};
static const tg_table_attribute limit_set[] = {
    {AS("lower", HONOURED), REAL(tg_urdf_limit, lower)},
    {AS("upper", HONOURED), REAL(tg_urdf_limit, upper)},
    {AS("effort", HONOURED), .note = "bounds the sum of the actuators' forces on the joint; 0 is no bound",
     REAL(tg_urdf_limit, effort)},
    {AS("velocity", NOTED), .note = "velocities are not bounded"},
    {AS("acceleration", NOTED), .note = "accelerations are not bounded"},
    {AS("deceleration", NOTED), .note = "accelerations are not bounded"},
    {AS("jerk", NOTED), .note = "accelerations are not bounded"},
    END};
static const tg_table_attribute dynamics_set[] = {
    {AS("damping", HONOURED), REAL(tg_urdf_dynamics, damping)},
    {AS("friction", HONOURED), .note = "as friction loss", REAL(tg_urdf_dynamics, friction)},
    END};
static const tg_table_attribute mimic_set[] = {
    {AS("joint", HONOURED), TEXT(tg_urdf_mimic, joint), .required = true},
    {AS("multiplier", HONOURED), REAL(tg_urdf_mimic, multiplier)},
    {AS("offset", HONOURED), REAL(tg_urdf_mimic, offset)},
    END};

static const tg_table_attribute compiler_set[] = {
    {AS("boundmass", HONOURED), REAL(tg_urdf_compiler, mjcf.boundmass)},
    {AS("boundinertia", HONOURED), REAL(tg_urdf_compiler, mjcf.boundinertia)},
    {AS("settotalmass", HONOURED), REAL(tg_urdf_compiler, mjcf.settotalmass)},
    {AS("balanceinertia", HONOURED), WORD(tg_urdf_compiler, mjcf.balanceinertia, true_false)},
    {AS("inertiafromgeom", HONOURED), .note = "left out, a link without inertial weighs nothing",
     WORD(tg_urdf_compiler, inertiafromgeom, true_false_auto)},
    {AS("inertiagrouprange", HONOURED), INTEGERS(tg_urdf_compiler, mjcf.inertiagrouprange, 2)},
    {AS("meshdir", HONOURED), TEXT(tg_urdf_compiler, mjcf.meshdir)},
    {AS("assetdir", HONOURED), TEXT(tg_urdf_compiler, mjcf.assetdir)},
    {AS("strippath", HONOURED), WORD(tg_urdf_compiler, strippath, true_false)},
    {AS("fusestatic", HONOURED), .note = "false keeps links on fixed joints, as the option does",
     WORD(tg_urdf_compiler, fusestatic, true_false)},
    {AS("discardvisual", NOTED),
     .note = "visual shapes are always kept for viewers, and never geoms",
     .neutral = "true"},
    {AS("autolimits", QUIET)},
    {AS("angle", QUIET)},
    {AS("eulerseq", QUIET)},
    {AS("coordinate", QUIET)},
    {AS("texturedir", QUIET)},
    {AS("fitaabb", QUIET)},
    {AS("alignfree", APPROXIMATED), .note = "the frame of a free body stays as it is written", .neutral = "false"},
    END};

/* ---- elements ---- */

static const tg_table_row rows[] = {
    {ROW(0, "robot", HONOURED), .set = {name_set}, .names = "version"},

    {ROW(1, "link", HONOURED), .set = {name_set}, .names = "type"},
    {ROW(2, "inertial", HONOURED), .once = true},
    {ROW(3, "origin", HONOURED), .set = {origin_set}, .once = true},
    {ROW(3, "mass", HONOURED), .set = {mass_set}, .once = true},
    {ROW(3, "inertia", HONOURED), .set = {inertia_set}, .once = true},
    {ROW(2, "visual", NOTED), .note = "kept for viewers; physics does not know them"},
    {ROW(2, "collision", HONOURED), .set = {collision_set}},
    {ROW(3, "origin", HONOURED), .set = {origin_set}, .once = true},
    {ROW(3, "geometry", HONOURED), .once = true},
    {ROW(4, "box", HONOURED), .set = {box_set}, .once = true},
    {ROW(4, "sphere", HONOURED), .set = {sphere_set}, .once = true},
    {ROW(4, "cylinder", HONOURED), .set = {cylinder_set}, .once = true},
    {ROW(4, "capsule", HONOURED), .set = {cylinder_set}, .once = true},
    {ROW(4, "mesh", HONOURED), .set = {mesh_set}, .once = true, .note = "collides as its convex hull"},
    {ROW(3, "material", QUIET)},
    {ROW(3, "verbose", QUIET)},
    {ROW(2, "contact", IGNORED), .note = FRICTION},
    {ROW(2, "material", QUIET)},

    {ROW(1, "joint", HONOURED), .set = {joint_set}},
    {ROW(2, "origin", HONOURED), .set = {origin_set}, .once = true},
    {ROW(2, "parent", HONOURED), .set = {reference_set}, .once = true},
    {ROW(2, "child", HONOURED), .set = {reference_set}, .once = true},
    {ROW(2, "axis", HONOURED), .set = {axis_set}, .once = true},
    {ROW(2, "limit", HONOURED), .set = {limit_set}, .once = true},
    {ROW(2, "dynamics", HONOURED), .set = {dynamics_set}, .once = true},
    {ROW(2, "mimic", HONOURED), .note = "as an equality between the joints", .set = {mimic_set}, .once = true},
    {ROW(2, "safety_controller", NOTED), .note = "is for a controller; there is none"},
    {ROW(2, "calibration", NOTED), .note = "is for a controller; there is none"},

    {ROW(1, "material", QUIET)},
    {ROW(1, "transmission", NOTED), .note = "no actuator is made of it; give forces to the joints"},
    {ROW(1, "ros2_control", NOTED), .note = "no actuator is made of it; give forces to the joints"},
    {ROW(1, "sensor", NOTED), .note = "sensors are not built"},
    {ROW(1, "frame", NOTED), .note = "no site is made of it"},
    {ROW(1, "loop_joint", IGNORED), .note = "the loop stays open"},
    {ROW(1, "force_element", IGNORED), .note = "exerts no force"},
    {ROW(1, "collision_filter_group", IGNORED),
     .note = "filters no pairs; give an SRDF with disable_collisions in the load options"},
    {ROW(1, "gazebo", NOTED), .note = "settings of another simulator are not read", .names = "reference"},
    {ROW(2, "mu", IGNORED), .note = FRICTION},
    {ROW(2, "mu1", IGNORED), .note = FRICTION},
    {ROW(2, "mu2", IGNORED), .note = FRICTION},
    {ROW(2, "turnGravityOff", IGNORED), .note = "gravity acts on all links"},
    {ROW(2, "gravity", IGNORED), .note = "gravity acts on all links"},
    {ROW(2, "springStiffness", IGNORED), .note = "the joint has no spring; set the parameter joint.*.stiffness"},
    {ROW(2, "dampingFactor", IGNORED), .note = "links are not damped"},
    {ROW(2, "selfCollide", NOTED), .note = "links of a robot collide; an SRDF in the load options excludes pairs"},
    {ROW(2, "kp", APPROXIMATED), .note = RIGID},
    {ROW(2, "kd", APPROXIMATED), .note = RIGID},
    {ROW(2, "stopCfm", APPROXIMATED), .note = RIGID},
    {ROW(2, "stopErp", APPROXIMATED), .note = RIGID},

    {ROW(1, "mujoco", HONOURED), .once = true},
    {ROW(2, "compiler", HONOURED), .set = {compiler_set}, .once = true},
    {ROW(2, "option", HONOURED), .note = "as in MJCF", .once = true},
    {ROW(2, "size", HONOURED), .note = "as in MJCF", .once = true},
    {ROW(2, "visual", QUIET)},
    {ROW(2, "statistic", QUIET)},
    END};

static const tg_table_attribute disable_set[] = {
    {AS("link1", HONOURED), TEXT(tg_srdf_pair, link1), .required = true},
    {AS("link2", HONOURED), TEXT(tg_srdf_pair, link2), .required = true},
    {AS("reason", QUIET)},
    END};

static const tg_table_row srdf_rows[] = {
    {ROW(0, "robot", HONOURED), .set = {name_set}, .names = "version"},
    {ROW(1, "disable_collisions", HONOURED), .set = {disable_set}},
    {ROW(1, "enable_collisions", IGNORED), .note = "pairs are enabled unless they are disabled one by one"},
    {ROW(1, "disable_default_collisions", IGNORED), .note = "pairs are disabled one by one"},
    {ROW(1, "virtual_joint", NOTED), .note = "use the load option for a floating base"},
    {ROW(1, "passive_joint", QUIET)},
    {ROW(1, "joint_property", QUIET)},
    {ROW(1, "group", QUIET)},
    {ROW(1, "group_state", QUIET)},
    {ROW(1, "end_effector", QUIET)},
    {ROW(1, "link_sphere_approximation", QUIET)},
    END};

/* clang-format on */

const tg_table_row *tg_urdf_rows(void)
{
    return rows;
}

const tg_table_row *tg_srdf_rows(void)
{
    return srdf_rows;
}
