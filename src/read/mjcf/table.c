#include "read/mjcf/mjcf.h"
#include "read/table_rows.h"

/* clang-format off */

/* ---- words ---- */

static const tg_table_word true_false[] = {{"false", 0}, {"true", 1}, {NULL, 0}};
static const tg_table_word true_false_auto[] = {
    {"false", TG_MJCF_FALSE}, {"true", TG_MJCF_TRUE}, {"auto", TG_MJCF_AUTO}, {NULL, 0}};
static const tg_table_word false_auto[] = {{"false", TG_MJCF_FALSE}, {"auto", TG_MJCF_AUTO}, {NULL, 0}};
static const tg_table_word on_off[] = {{"disable", 0}, {"enable", 1}, {NULL, 0}};
static const tg_table_word integrators[] = {{"Euler", 0}, {"RK4", 0}, {"implicit", 2}, {"implicitfast", 1}, {NULL, 0}};
static const tg_table_word angles[] = {{"radian", 0}, {"degree", 1}, {NULL, 0}};
static const tg_table_word coordinates[] = {{"local", 0}, {"global", 1}, {NULL, 0}};
static const tg_table_word joint_types[] = {
    {"free", TG_JOINT_FREE}, {"ball", TG_JOINT_BALL}, {"slide", TG_JOINT_SLIDE}, {"hinge", TG_JOINT_HINGE}, {NULL, 0}};
static const tg_table_word geom_types[] = {
    {"plane", TG_GEOM_PLANE}, {"hfield", TG_GEOM_HFIELD}, {"sphere", TG_GEOM_SPHERE}, {"capsule", TG_GEOM_CAPSULE},
    {"ellipsoid", TG_GEOM_ELLIPSOID}, {"cylinder", TG_GEOM_CYLINDER}, {"box", TG_GEOM_BOX}, {"mesh", TG_GEOM_MESH},
    {"sdf", TG_MJCF_GEOM_SDF}, {NULL, 0}};
static const tg_table_word mesh_inertias[] = {
    {"convex", TG_MJCF_CONVEX}, {"exact", TG_MJCF_EXACT}, {"legacy", TG_MJCF_LEGACY}, {"shell", TG_MJCF_SHELL},
    {NULL, 0}};
static const tg_table_word dynamics_types[] = {
    {"none", TG_DYNAMICS_NONE}, {"integrator", TG_DYNAMICS_INTEGRATOR}, {"filter", TG_DYNAMICS_FILTER},
    {"filterexact", TG_DYNAMICS_FILTEREXACT}, {"muscle", TG_MJCF_DYNAMICS_OTHER}, {"dcmotor", TG_MJCF_DYNAMICS_OTHER},
    {"pid", TG_MJCF_DYNAMICS_OTHER}, {"user", TG_MJCF_DYNAMICS_OTHER}, {NULL, 0}};
static const tg_table_word gain_types[] = {
    {"fixed", TG_MJCF_FIXED}, {"affine", TG_MJCF_AFFINE}, {"muscle", TG_MJCF_OTHER}, {"dcmotor", TG_MJCF_OTHER},
    {"so3", TG_MJCF_OTHER}, {"pid", TG_MJCF_OTHER}, {"user", TG_MJCF_OTHER}, {NULL, 0}};
static const tg_table_word bias_types[] = {
    {"none", TG_MJCF_NONE}, {"affine", TG_MJCF_AFFINE}, {"muscle", TG_MJCF_OTHER}, {"dcmotor", TG_MJCF_OTHER},
    {"so3", TG_MJCF_OTHER}, {"user", TG_MJCF_OTHER}, {NULL, 0}};

#define RIGID "contacts, limits, equalities and friction are rigid here"
#define LEFT_OUT "deformable bodies are left out"
#define FORCELESS "keeps its place in ctrl and act and exerts no force"

/* ---- attributes ---- */

static const tg_table_attribute model_set[] = {{AS("model", HONOURED)}, END};

static const tg_table_attribute compiler_set[] = {
    {AS("autolimits", HONOURED), WORD(tg_mjcf_compiler, autolimits, true_false)},
    {AS("boundmass", HONOURED), REAL(tg_mjcf_compiler, boundmass)},
    {AS("boundinertia", HONOURED), REAL(tg_mjcf_compiler, boundinertia)},
    {AS("settotalmass", HONOURED), REAL(tg_mjcf_compiler, settotalmass)},
    {AS("balanceinertia", HONOURED), WORD(tg_mjcf_compiler, balanceinertia, true_false)},
    {AS("strippath", HONOURED), WORD(tg_mjcf_compiler, strippath, true_false)},
    {AS("coordinate", HONOURED), WORD(tg_mjcf_compiler, coordinate, coordinates)},
    {AS("angle", HONOURED), WORD(tg_mjcf_compiler, degree, angles)},
    {AS("fitaabb", HONOURED), WORD(tg_mjcf_compiler, fitaabb, true_false)},
    {AS("eulerseq", HONOURED), TEXT(tg_mjcf_compiler, eulerseq)},
    {AS("meshdir", HONOURED), TEXT(tg_mjcf_compiler, meshdir)},
    {AS("texturedir", QUIET), TEXT(tg_mjcf_compiler, texturedir)},
    {AS("assetdir", HONOURED), TEXT(tg_mjcf_compiler, assetdir)},
    {AS("discardvisual", HONOURED), WORD(tg_mjcf_compiler, discardvisual, true_false)},
    {AS("fusestatic", HONOURED), WORD(tg_mjcf_compiler, fusestatic, true_false)},
    {AS("inertiafromgeom", HONOURED), WORD(tg_mjcf_compiler, inertiafromgeom, true_false_auto)},
    {AS("inertiagrouprange", HONOURED), INTEGERS(tg_mjcf_compiler, inertiagrouprange, 2)},
    {AS("conflict", APPROXIMATED), .note = "of two options that differ, that of the main file counts",
     .neutral = "warning"},
    {AS("alignfree", APPROXIMATED), .note = "the frame of a free body stays as it is written", .neutral = "false"},
    END};

static const tg_table_attribute option_set[] = {
    {AS("timestep", HONOURED), REAL(tg_mjcf_option, timestep)},
    {AS("gravity", HONOURED), REALS(tg_mjcf_option, gravity, 3)},
    {AS("integrator", APPROXIMATED), WORD(tg_mjcf_option, implicit, integrators),
     .note = "semi-implicit Euler; with implicit and implicitfast, damping of actuators is implicit, with implicit "
             "gyroscopic forces too, unless the step's options say otherwise",
     .neutral = "Euler"},
    {AS("density", IGNORED), .note = "there is no medium", .neutral = "0"},
    {AS("viscosity", IGNORED), .note = "there is no medium", .neutral = "0"},
    {AS("wind", IGNORED), .note = "there is no medium", .neutral = "0"},
    {AS("actuatorgroupdisable", IGNORED), .note = "all actuators act", .neutral = ""},
    END};

static const tg_table_attribute flag_set[] = {
    {AS("gravity", HONOURED), WORD(tg_mjcf_option, flag_gravity, on_off)},
    {AS("clampctrl", HONOURED), WORD(tg_mjcf_option, flag_clampctrl, on_off)},
    {AS("constraint", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("equality", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("frictionloss", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("limit", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("contact", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("spring", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("damper", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("actuation", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("filterparent", IGNORED), .note = "stays enabled", .neutral = "enable"},
    {AS("override", IGNORED), .note = "stays disabled", .neutral = "disable"},
    END};

static const tg_table_attribute size_set[] = {{AS("nkey", HONOURED), INTEGER(tg_mjcf_option, nkey)}, END};

static const tg_table_attribute class_set[] = {{AS("class", HONOURED)}, END};
static const tg_table_attribute named_set[] = {{AS("name", HONOURED)}, {AS("class", HONOURED)}, END};
static const tg_table_attribute name_set[] = {{AS("name", HONOURED)}, END};
static const tg_table_attribute childclass_set[] = {{AS("childclass", HONOURED)}, END};

static const tg_table_attribute pose_set[] = {
    {AS("pos", HONOURED), REALS(tg_mjcf_pose, pos, 3)},
    {AS("quat", HONOURED), REALS(tg_mjcf_pose, quat, 4)},
    {AS("axisangle", HONOURED), REALS(tg_mjcf_pose, axisangle, 4)},
    {AS("xyaxes", HONOURED), REALS(tg_mjcf_pose, xyaxes, 6)},
    {AS("zaxis", HONOURED), REALS(tg_mjcf_pose, zaxis, 3)},
    {AS("euler", HONOURED), REALS(tg_mjcf_pose, euler, 3)},
    END};

static const tg_table_attribute body_set[] = {
    {AS("mocap", IGNORED), .note = "the body stays where it is", .neutral = "false"},
    {AS("gravcomp", IGNORED), .note = "gravity acts in full", .neutral = "0"},
    {AS("fuse", HONOURED), WORD(tg_mjcf_body, fuse, false_auto)},
    END};

static const tg_table_attribute inertial_set[] = {
    {AS("pos", HONOURED), REALS(tg_mjcf_inertial, pose.pos, 3), .required = true},
    {AS("mass", HONOURED), REAL(tg_mjcf_inertial, mass), .required = true},
    {AS("diaginertia", HONOURED), REALS(tg_mjcf_inertial, diaginertia, 3)},
    {AS("fullinertia", HONOURED), REALS(tg_mjcf_inertial, fullinertia, 6)},
    END};

static const tg_table_attribute replicate_set[] = {
    {AS("count", HONOURED), INTEGER(tg_mjcf_replicate, count), .required = true},
    {AS("sep", HONOURED), TEXT(tg_mjcf_replicate, sep)},
    {AS("offset", HONOURED), REALS(tg_mjcf_replicate, offset, 3)},
    {AS("euler", HONOURED), REALS(tg_mjcf_replicate, euler, 3)},
    END};

static const tg_table_attribute attach_set[] = {
    {AS("model", HONOURED), TEXT(tg_mjcf_attach_written, model)},
    {AS("body", HONOURED), TEXT(tg_mjcf_attach_written, body)},
    {AS("frame", HONOURED), TEXT(tg_mjcf_attach_written, frame)},
    {AS("prefix", HONOURED), TEXT(tg_mjcf_attach_written, prefix)},
    END};

static const tg_table_attribute model_asset_set[] = {
    {AS("file", HONOURED)},
    {AS("content_type", QUIET)},
    END};

static const tg_table_attribute joint_set[] = {
    {AS("type", HONOURED), WORD(tg_mjcf_joint, type, joint_types)},
    {AS("pos", HONOURED), REALS(tg_mjcf_joint, pos, 3)},
    {AS("axis", HONOURED), REALS(tg_mjcf_joint, axis, 3)},
    {AS("springdamper", HONOURED), REALS(tg_mjcf_joint, springdamper, 2)},
    {AS("limited", HONOURED), WORD(tg_mjcf_joint, limited, true_false_auto)},
    {AS("range", HONOURED), REALS(tg_mjcf_joint, range, 2)},
    {AS("actuatorfrclimited", HONOURED), WORD(tg_mjcf_joint, force_limited, true_false_auto)},
    {AS("actuatorfrcrange", HONOURED), REALS(tg_mjcf_joint, force_range, 2)},
    {AS("stiffness", HONOURED), REALS(tg_mjcf_joint, stiffness, TG_MJCF_POLY), .fewer = true},
    {AS("damping", HONOURED), REALS(tg_mjcf_joint, damping, TG_MJCF_POLY), .fewer = true},
    {AS("margin", HONOURED), REAL(tg_mjcf_joint, margin)},
    {AS("ref", HONOURED), REAL(tg_mjcf_joint, ref)},
    {AS("springref", HONOURED), REAL(tg_mjcf_joint, springref)},
    {AS("armature", HONOURED), REAL(tg_mjcf_joint, armature)},
    {AS("frictionloss", HONOURED), REAL(tg_mjcf_joint, frictionloss)},
    {AS("solreflimit", APPROXIMATED), .note = RIGID},
    {AS("solimplimit", APPROXIMATED), .note = RIGID},
    {AS("solreffriction", APPROXIMATED), .note = RIGID},
    {AS("solimpfriction", APPROXIMATED), .note = RIGID},
    {AS("actuatorgravcomp", IGNORED), .note = "gravity is not compensated", .neutral = "false"},
    {AS("group", QUIET)},
    {AS("user", QUIET)},
    END};

static const tg_table_attribute freejoint_set[] = {
    {AS("align", APPROXIMATED), .note = "the frame of the body stays as it is written", .neutral = "false auto"},
    {AS("group", QUIET)},
    END};

static const tg_table_attribute geom_set[] = {
    {AS("type", HONOURED), WORD(tg_mjcf_geom, type, geom_types)},
    {AS("size", HONOURED), REALS(tg_mjcf_geom, size, 3), .fewer = true},
    {AS("fromto", HONOURED), REALS(tg_mjcf_geom, fromto, 6)},
    {AS("mesh", HONOURED), TEXT(tg_mjcf_geom, mesh)},
    {AS("hfield", HONOURED), TEXT(tg_mjcf_geom, hfield)},
    {AS("fitscale", HONOURED), REAL(tg_mjcf_geom, fitscale)},
    {AS("mass", HONOURED), REAL(tg_mjcf_geom, mass)},
    {AS("density", HONOURED), REAL(tg_mjcf_geom, density)},
    {AS("shellinertia", HONOURED), WORD(tg_mjcf_geom, shell, true_false)},
    {AS("contype", HONOURED), INTEGER(tg_mjcf_geom, contype)},
    {AS("conaffinity", HONOURED), INTEGER(tg_mjcf_geom, conaffinity)},
    {AS("condim", HONOURED), INTEGER(tg_mjcf_geom, condim)},
    {AS("priority", HONOURED), INTEGER(tg_mjcf_geom, priority)},
    {AS("friction", HONOURED), REALS(tg_mjcf_geom, friction, 3), .fewer = true},
    {AS("margin", HONOURED), REAL(tg_mjcf_geom, margin)},
    {AS("gap", QUIET), REAL(tg_mjcf_geom, gap)},
    {AS("group", QUIET), INTEGER(tg_mjcf_geom, group)},
    {AS("solref", APPROXIMATED), .note = RIGID},
    {AS("solimp", APPROXIMATED), .note = RIGID},
    {AS("solmix", QUIET)},
    {AS("surfacevel", IGNORED), .note = "the surface is at rest in its body", .neutral = "0"},
    {AS("adhesion", IGNORED), .note = "there is no adhesion", .neutral = "0"},
    {AS("material", QUIET), TEXT(tg_mjcf_geom, material)},
    {AS("rgba", QUIET), REALS(tg_mjcf_geom, rgba, 4), .fewer = true},
    {AS("fluidshape", QUIET)},
    {AS("fluidcoef", QUIET)},
    {AS("user", QUIET)},
    END};

static const tg_table_attribute site_set[] = {
    {AS("type", HONOURED), WORD(tg_mjcf_site, type, geom_types)},
    {AS("size", QUIET), REALS(tg_mjcf_site, size, 3), .fewer = true},
    {AS("fromto", HONOURED), REALS(tg_mjcf_site, fromto, 6)},
    {AS("mesh", UNSUPPORTED), .note = "a site that is fitted to a mesh"},
    {AS("group", QUIET)},
    {AS("material", QUIET)},
    {AS("rgba", QUIET)},
    {AS("user", QUIET)},
    END};

#define CAMERA_NAMES                                                                                                   \
    "projection fovy ipd resolution output pos quat axisangle xyaxes zaxis euler mode focal focalpixel "        \
    "principal principalpixel sensorsize user"
#define LIGHT_NAMES                                                                                                    \
    "directional type castshadow active pos dir bulbradius intensity range attenuation cutoff softness exponent "      \
    "ambient diffuse specular mode"
#define MATERIAL_NAMES "texture texrepeat texuniform emission specular shininess reflectance metallic roughness rgba"
#define TEXTURE_NAMES                                                                                                  \
    "builtin colorspace embed gridlayout gridsize height hflip mark markrgb nchannel random rgb1 rgb2 type vflip width"
#define SKIN_NAMES "face file group inflate material rgba texcoord vertex"
#define FLEX_CONTACT_NAMES                                                                                             \
    "activelayers conaffinity condim contype friction gap margin passive priority selfcollide solimp solmix solref"
#define ELASTICITY_NAMES "damping elastic2d poisson section sectionsize thickness young"

static const tg_table_attribute mesh_default_set[] = {
    {AS("scale", HONOURED), REALS(tg_mjcf_mesh, scale, 3)},
    {AS("inertia", HONOURED), WORD(tg_mjcf_mesh, inertia, mesh_inertias)},
    {AS("maxhullvert", APPROXIMATED), .note = "the hull keeps all its vertices", .neutral = "-1"},
    END};

static const tg_table_attribute mesh_set[] = {
    {AS("file", HONOURED), TEXT(tg_mjcf_mesh, file)},
    {AS("content_type", HONOURED), TEXT(tg_mjcf_mesh, content_type)},
    {AS("vertex", HONOURED), TEXT(tg_mjcf_mesh, vertex)},
    {AS("face", HONOURED), TEXT(tg_mjcf_mesh, face)},
    {AS("refpos", HONOURED), REALS(tg_mjcf_mesh, refpos, 3)},
    {AS("refquat", HONOURED), REALS(tg_mjcf_mesh, refquat, 4)},
    {AS("builtin", UNSUPPORTED), .note = "a mesh that is made from a formula"},
    {AS("params", QUIET)},
    {AS("normal", QUIET)},
    {AS("texcoord", QUIET)},
    {AS("smoothnormal", QUIET)},
    {AS("material", QUIET)},
    END};

static const tg_table_attribute hfield_set[] = {
    {AS("nrow", HONOURED), INTEGER(tg_mjcf_hfield, nrow)},
    {AS("ncol", HONOURED), INTEGER(tg_mjcf_hfield, ncol)},
    {AS("size", HONOURED), REALS(tg_mjcf_hfield, size, 4), .required = true},
    {AS("file", HONOURED), TEXT(tg_mjcf_hfield, file)},
    {AS("elevation", HONOURED), TEXT(tg_mjcf_hfield, elevation)},
    {AS("content_type", HONOURED), TEXT(tg_mjcf_hfield, content_type)},
    END};

static const tg_table_attribute pair_set[] = {
    {AS("condim", HONOURED), INTEGER(tg_mjcf_pair, condim)},
    {AS("friction", HONOURED), .note = "of two sliding or rolling coefficients that differ, the larger counts",
     REALS(tg_mjcf_pair, friction, 5), .fewer = true},
    {AS("margin", HONOURED), REAL(tg_mjcf_pair, margin)},
    {AS("gap", QUIET), REAL(tg_mjcf_pair, gap)},
    {AS("solref", APPROXIMATED), .note = RIGID},
    {AS("solreffriction", APPROXIMATED), .note = RIGID},
    {AS("solimp", APPROXIMATED), .note = RIGID},
    {AS("adhesion", IGNORED), .note = "there is no adhesion", .neutral = "0"},
    END};
static const tg_table_attribute pair_geoms_set[] = {
    {AS("geom1", HONOURED), TEXT(tg_mjcf_pair, geom1), .required = true},
    {AS("geom2", HONOURED), TEXT(tg_mjcf_pair, geom2), .required = true},
    END};
static const tg_table_attribute exclude_set[] = {
    {AS("body1", HONOURED), TEXT(tg_mjcf_exclude, body1), .required = true},
    {AS("body2", HONOURED), TEXT(tg_mjcf_exclude, body2), .required = true},
    END};

static const tg_table_attribute equality_set[] = {
    {AS("active", HONOURED), WORD(tg_mjcf_equality, active, true_false)},
    {AS("solref", APPROXIMATED), .note = RIGID},
    {AS("solimp", APPROXIMATED), .note = RIGID},
    END};
static const tg_table_attribute equality_bodies_set[] = {
    {AS("body1", HONOURED), TEXT(tg_mjcf_equality, body1)},
    {AS("body2", HONOURED), TEXT(tg_mjcf_equality, body2)},
    {AS("site1", HONOURED), TEXT(tg_mjcf_equality, site1)},
    {AS("site2", HONOURED), TEXT(tg_mjcf_equality, site2)},
    {AS("anchor", HONOURED), REALS(tg_mjcf_equality, anchor, 3)},
    END};
static const tg_table_attribute weld_set[] = {
    {AS("relpose", HONOURED), REALS(tg_mjcf_equality, relpose, 7)},
    {AS("torquescale", HONOURED), REAL(tg_mjcf_equality, torquescale)},
    END};
static const tg_table_attribute polynomial_set[] = {
    {AS("polycoef", HONOURED), REALS(tg_mjcf_equality, polycoef, 5), .fewer = true}, END};
static const tg_table_attribute equality_joints_set[] = {
    {AS("joint1", HONOURED), TEXT(tg_mjcf_equality, joint1), .required = true},
    {AS("joint2", HONOURED), TEXT(tg_mjcf_equality, joint2)},
    END};
static const tg_table_attribute equality_tendons_set[] = {
    {AS("tendon1", HONOURED), TEXT(tg_mjcf_equality, tendon1), .required = true},
    {AS("tendon2", HONOURED), TEXT(tg_mjcf_equality, tendon2)},
    END};

static const tg_table_attribute tendon_set[] = {
    {AS("limited", HONOURED), WORD(tg_mjcf_tendon, limited, true_false_auto)},
    {AS("range", HONOURED), REALS(tg_mjcf_tendon, range, 2)},
    {AS("frictionloss", HONOURED), REAL(tg_mjcf_tendon, frictionloss)},
    {AS("springlength", HONOURED), REALS(tg_mjcf_tendon, springlength, 2), .fewer = true},
    {AS("margin", HONOURED), REAL(tg_mjcf_tendon, margin)},
    {AS("stiffness", HONOURED), REALS(tg_mjcf_tendon, stiffness, TG_MJCF_POLY), .fewer = true},
    {AS("damping", HONOURED), REALS(tg_mjcf_tendon, damping, TG_MJCF_POLY), .fewer = true},
    {AS("solreflimit", APPROXIMATED), .note = RIGID},
    {AS("solimplimit", APPROXIMATED), .note = RIGID},
    {AS("solreffriction", APPROXIMATED), .note = RIGID},
    {AS("solimpfriction", APPROXIMATED), .note = RIGID},
    {AS("group", QUIET)},
    {AS("user", QUIET)},
    END};
static const tg_table_attribute tendon_looks_set[] = {
    {AS("width", QUIET)}, {AS("material", QUIET)}, {AS("rgba", QUIET)}, END};
static const tg_table_attribute tendon_more_set[] = {
    {AS("armature", IGNORED), .note = "tendons have no inertia", .neutral = "0"},
    {AS("actuatorfrcrange", IGNORED), .note = "the actuators' force on a tendon is not bounded", .neutral = "0"},
    {AS("actuatorfrclimited", QUIET)},
    END};
static const tg_table_attribute path_site_set[] = {
    {AS("site", HONOURED), TEXT(tg_mjcf_path, site), .required = true}, END};
static const tg_table_attribute path_pulley_set[] = {
    {AS("divisor", HONOURED), REAL(tg_mjcf_path, divisor), .required = true}, END};
static const tg_table_attribute path_joint_set[] = {
    {AS("joint", HONOURED), TEXT(tg_mjcf_path, joint), .required = true},
    {AS("coef", HONOURED), REAL(tg_mjcf_path, coef), .required = true},
    END};

static const tg_table_attribute actuator_set[] = {
    {AS("ctrlrange", HONOURED), REALS(tg_mjcf_actuator, ctrl_range, 2)},
    {AS("delay", IGNORED), .note = "the control acts at once", .neutral = "0"},
    {AS("nsample", QUIET)},
    {AS("interp", QUIET)},
    {AS("group", QUIET)},
    {AS("user", QUIET)},
    END};
static const tg_table_attribute ctrllimited_set[] = {
    {AS("ctrllimited", HONOURED), WORD(tg_mjcf_actuator, ctrl_limited, true_false_auto)}, END};
static const tg_table_attribute force_set[] = {
    {AS("forcelimited", HONOURED), WORD(tg_mjcf_actuator, force_limited, true_false_auto)},
    {AS("forcerange", HONOURED), REALS(tg_mjcf_actuator, force_range, 2)},
    END};
static const tg_table_attribute gear_set[] = {
    {AS("gear", HONOURED), REALS(tg_mjcf_actuator, gear, 6), .fewer = true},
    {AS("damping", HONOURED), .note = "added to the joint's", REALS(tg_mjcf_actuator, damping, TG_MJCF_POLY),
     .fewer = true},
    {AS("armature", HONOURED), .note = "added to the joint's", REAL(tg_mjcf_actuator, armature)},
    {AS("cranklength", QUIET)},
    END};
static const tg_table_attribute activation_set[] = {
    {AS("actlimited", HONOURED), WORD(tg_mjcf_actuator, act_limited, true_false_auto)},
    {AS("actrange", HONOURED), REALS(tg_mjcf_actuator, act_range, 2)},
    END};
static const tg_table_attribute target_set[] = {
    {AS("joint", HONOURED), TEXT(tg_mjcf_actuator, joint)},
    {AS("jointinparent", HONOURED), TEXT(tg_mjcf_actuator, jointinparent)},
    {AS("tendon", HONOURED), TEXT(tg_mjcf_actuator, tendon)},
    {AS("cranksite", HONOURED), TEXT(tg_mjcf_actuator, cranksite)},
    {AS("slidersite", HONOURED), TEXT(tg_mjcf_actuator, slidersite)},
    {AS("lengthrange", QUIET)},
    END};
static const tg_table_attribute target_site_set[] = {
    {AS("site", HONOURED), TEXT(tg_mjcf_actuator, site)},
    {AS("refsite", HONOURED), TEXT(tg_mjcf_actuator, refsite)},
    END};
static const tg_table_attribute target_body_set[] = {{AS("body", HONOURED), TEXT(tg_mjcf_actuator, body)}, END};
static const tg_table_attribute general_set[] = {
    {AS("dyntype", HONOURED), WORD(tg_mjcf_actuator, law.dynamics, dynamics_types)},
    {AS("gaintype", HONOURED), WORD(tg_mjcf_actuator, law.gain_type, gain_types)},
    {AS("biastype", HONOURED), WORD(tg_mjcf_actuator, law.bias_type, bias_types)},
    {AS("dynprm", HONOURED), REALS(tg_mjcf_actuator, law.dynprm, TG_MJCF_PRM), .fewer = true},
    {AS("gainprm", HONOURED), REALS(tg_mjcf_actuator, law.gainprm, TG_MJCF_PRM), .fewer = true},
    {AS("biasprm", HONOURED), REALS(tg_mjcf_actuator, law.biasprm, TG_MJCF_PRM), .fewer = true},
    {AS("actearly", HONOURED), WORD(tg_mjcf_actuator, act_early, true_false)},
    {AS("actdim", HONOURED), INTEGER(tg_mjcf_actuator, actdim)},
    {AS("inheritrange", HONOURED), REAL(tg_mjcf_actuator, law.inheritrange)},
    {AS("input", QUIET)},
    {AS("velrange", QUIET)},
    {AS("ffrange", QUIET)},
    END};
static const tg_table_attribute servo_set[] = {
    {AS("kp", HONOURED), REAL(tg_mjcf_actuator, kp)},
    {AS("kv", HONOURED), REAL(tg_mjcf_actuator, kv)},
    {AS("dampratio", HONOURED), REAL(tg_mjcf_actuator, dampratio)},
    {AS("inheritrange", HONOURED), REAL(tg_mjcf_actuator, law.inheritrange)},
    END};
static const tg_table_attribute timeconst_set[] = {{AS("timeconst", HONOURED), REAL(tg_mjcf_actuator, timeconst)}, END};
static const tg_table_attribute kv_set[] = {{AS("kv", HONOURED), REAL(tg_mjcf_actuator, kv)}, END};
static const tg_table_attribute cylinder_set[] = {
    {AS("timeconst", HONOURED), REAL(tg_mjcf_actuator, timeconst)},
    {AS("area", HONOURED), REAL(tg_mjcf_actuator, area)},
    {AS("diameter", HONOURED), REAL(tg_mjcf_actuator, diameter)},
    {AS("bias", HONOURED), REALS(tg_mjcf_actuator, bias, 3)},
    END};

static const tg_table_attribute numeric_set[] = {
    {AS("name", QUIET), TEXT(tg_mjcf_numeric, name), .required = true},
    {AS("size", QUIET), INTEGER(tg_mjcf_numeric, size)},
    {AS("data", QUIET), TEXT(tg_mjcf_numeric, data)},
    END};

static const tg_table_attribute key_set[] = {
    {AS("time", HONOURED), REAL(tg_mjcf_key, time)},
    {AS("qpos", HONOURED), TEXT(tg_mjcf_key, qpos)},
    {AS("qvel", HONOURED), TEXT(tg_mjcf_key, qvel)},
    {AS("act", HONOURED), TEXT(tg_mjcf_key, act)},
    {AS("ctrl", HONOURED), TEXT(tg_mjcf_key, ctrl)},
    {AS("mpos", QUIET)},
    {AS("mquat", QUIET)},
    END};

/* ---- elements ---- */

#define MUSCLE_NAMES "timeconst range force scale lmin lmax vmax fpmax fvmax"
#define DCMOTOR_NAMES "motorconst resistance nominal saturation inductance cogging controller thermal lugre input"
#define PID_NAMES "kp kv dampratio ki imax slewmax inheritrange input posrange velrange ffrange"

/* The actuators, as they stand in default and in the section; the sets behind ONCE are empty in default. */
#define ACTUATOR_ROWS(ONCE, NAMED, TARGET, SITE, BODY, TAUSMOOTH)                                                      \
    {ROW(2, "general", HONOURED), .once = ONCE,                                                                        \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, activation_set, general_set NAMED TARGET SITE BODY}}, \
    {ROW(2, "motor", HONOURED), .once = ONCE,                                                                          \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set NAMED TARGET SITE}},                                   \
    {ROW(2, "position", HONOURED), .once = ONCE,                                                                       \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, servo_set, timeconst_set NAMED TARGET SITE}},         \
    {ROW(2, "velocity", HONOURED), .once = ONCE,                                                                       \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, kv_set NAMED TARGET SITE}},                           \
    {ROW(2, "intvelocity", HONOURED), .once = ONCE,                                                                    \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, servo_set, activation_set NAMED TARGET SITE}},        \
    {ROW(2, "damper", HONOURED), .once = ONCE,                                                                         \
     .set = {actuator_set, force_set, gear_set, kv_set NAMED TARGET SITE}},                                            \
    {ROW(2, "cylinder", HONOURED), .once = ONCE,                                                                       \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, cylinder_set NAMED TARGET SITE}},                     \
    {ROW(2, "muscle", IGNORED), .note = FORCELESS, .once = ONCE, .names = MUSCLE_NAMES TAUSMOOTH,                      \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set NAMED TARGET}},                                        \
    {ROW(2, "adhesion", IGNORED), .note = FORCELESS, .once = ONCE, .names = "gain",                                    \
     .set = {actuator_set, force_set NAMED BODY}},                                                                     \
    {ROW(2, "orientation", UNSUPPORTED), .note = "an actuator with several controls", .once = ONCE,                    \
     .names = "kp kv dampratio input", .set = {actuator_set, force_set NAMED TARGET SITE}},                            \
    {ROW(2, "pid", UNSUPPORTED), .note = "an actuator with several controls", .once = ONCE, .names = PID_NAMES,        \
     .set = {actuator_set, ctrllimited_set, force_set, gear_set NAMED TARGET SITE}},                                   \
    {ROW(2, "dcmotor", UNSUPPORTED), .note = "an actuator with several controls and states", .once = ONCE,             \
     .names = DCMOTOR_NAMES,                                                                                           \
     .set = {actuator_set, ctrllimited_set, gear_set NAMED TARGET SITE}}
#define NOTHING
#define THEN_NAMED , named_set
#define THEN_TARGET , target_set
#define THEN_SITE , target_site_set
#define THEN_BODY , target_body_set

#define PLUGIN_ROWS(depth)                                                                                             \
    {ROW(depth, "plugin", IGNORED), .note = "plugins are not loaded", .names = "plugin instance"},                     \
    {ROW((depth) + 1, "config", QUIET), .names = "key value"}

#define SENSOR_NAMES "name nsample interp delay interval cutoff noise user "
#define SENSOR(name, more) {ROW(2, name, NOTED), .note = "sensors are not evaluated", .names = SENSOR_NAMES more}

static const tg_table_row rows[] = {
    {ROW(0, "mujoco", HONOURED), .set = {model_set}},

    {ROW(1, "compiler", HONOURED), .set = {compiler_set},
     .names = "saveinertial usethread passthrough savecanonical savecompiled"},
    {ROW(2, "lengthrange", QUIET), .once = true,
     .names = "accel interval inttotal maxforce mode timeconst timestep tolrange useexisting uselimit"},

    {ROW(1, "option", HONOURED), .set = {option_set},
     .names = "ccd_iterations ccd_tolerance cone impratio iterations jacobian ls_iterations ls_tolerance magnetic "
              "noslip_iterations noslip_tolerance o_friction o_margin o_solimp o_solref sdf_initpoints sdf_iterations "
              "sleep_tolerance solver tolerance"},
    {ROW(2, "flag", HONOURED), .once = true, .set = {flag_set},
     .names = "autoreset diagexact energy eulerdamp fwdinv invdiscrete ipc island midphase multiccd nativeccd refsafe "
              "sensor sleep warmstart"},

    {ROW(1, "size", HONOURED), .set = {size_set},
     .names = "memory nconmax njmax nstack nuser_actuator nuser_body nuser_cam nuser_geom nuser_jnt nuser_sensor "
              "nuser_site nuser_tendon nuserdata"},
    {ROW(1, "statistic", QUIET), .names = "center extent meaninertia meanmass meansize"},
    {ROW(1, "visual", QUIET)},
    {ROW(2, "global", QUIET), .once = true,
     .names = "azimuth bvactive cameraid elevation ellipsoidinertia fovy glow ipd linewidth offheight offwidth "
              "orthographic realtime"},
    {ROW(2, "quality", QUIET), .once = true, .names = "numquads numslices numstacks offsamples shadowsize"},
    {ROW(2, "headlight", QUIET), .once = true, .names = "active ambient diffuse specular"},
    {ROW(2, "map", QUIET), .once = true,
     .names = "actuatortendon alpha fogend fogstart force haze shadowclip shadowscale stiffness stiffnessrot torque "
              "zfar znear"},
    {ROW(2, "scale", QUIET), .once = true,
     .names = "actuatorlength actuatorwidth camera com connect constraint contactheight contactwidth forcewidth "
              "framelength framewidth frustum jointlength jointwidth light selectpoint slidercrank"},
    {ROW(2, "rgba", QUIET), .once = true,
     .names = "actuator actuatornegative actuatorpositive bv bvactive camera com connect constraint contactforce "
              "contactfriction contactgap contactpoint contacttorque crankbroken fog force frustum haze inertia joint "
              "light rangefinder selectpoint slidercrank"},

    {ROW(1, "default", HONOURED), .set = {class_set}},
    {ROW(2, "mesh", HONOURED), .once = true, .set = {mesh_default_set}},
    {ROW(2, "texture", QUIET), .once = true, .names = TEXTURE_NAMES},
    {ROW(2, "material", QUIET), .once = true, .names = MATERIAL_NAMES},
    {ROW(3, "layer", QUIET), .names = "role texture"},
    {ROW(2, "joint", HONOURED), .once = true, .set = {joint_set}},
    {ROW(2, "geom", HONOURED), .once = true, .set = {pose_set, geom_set}},
    {ROW(2, "site", HONOURED), .once = true, .set = {pose_set, site_set}},
    {ROW(2, "camera", QUIET), .once = true, .names = CAMERA_NAMES},
    {ROW(2, "light", QUIET), .once = true, .names = LIGHT_NAMES},
    {ROW(2, "pair", HONOURED), .once = true, .set = {pair_set}},
    {ROW(2, "equality", HONOURED), .once = true, .set = {equality_set}},
    {ROW(2, "tendon", HONOURED), .once = true, .set = {tendon_set, tendon_looks_set}},
    ACTUATOR_ROWS(true, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING),
    {ROW(2, "default", HONOURED), .set = {class_set}, .again = true},

    {ROW(1, "extension", QUIET)},
    {ROW(2, "plugin", NOTED), .note = "plugins are not loaded", .names = "plugin"},
    {ROW(3, "instance", QUIET), .names = "name"},
    {ROW(4, "config", QUIET), .names = "key value"},

    {ROW(1, "asset", HONOURED)},
    {ROW(2, "mesh", HONOURED), .set = {named_set, mesh_default_set, mesh_set}},
    {ROW(3, "plugin", UNSUPPORTED), .note = "a mesh that is made by a plugin", .names = "plugin instance"},
    {ROW(4, "config", QUIET), .names = "key value"},
    {ROW(2, "hfield", HONOURED), .set = {name_set, hfield_set}},
    {ROW(2, "skin", QUIET), .names = "name " SKIN_NAMES},
    {ROW(3, "bone", QUIET), .names = "bindpos bindquat body vertid vertweight"},
    {ROW(2, "texture", QUIET),
     .names = "name class content_type file fileback filedown filefront fileleft fileright fileup " TEXTURE_NAMES},
    {ROW(2, "material", QUIET), .names = "name class " MATERIAL_NAMES},
    {ROW(3, "layer", QUIET), .names = "role texture"},
    {ROW(2, "model", HONOURED), .set = {name_set, model_asset_set}},

    {ROW(1, "worldbody", HONOURED)},
    {ROW(2, "inertial", HONOURED), .once = true, .set = {inertial_set, pose_set}},
    {ROW(2, "joint", HONOURED), .set = {named_set, joint_set}},
    {ROW(2, "freejoint", HONOURED), .set = {name_set, freejoint_set}},
    {ROW(2, "geom", HONOURED), .set = {named_set, pose_set, geom_set}},
    PLUGIN_ROWS(3),
    {ROW(2, "attach", HONOURED), .set = {attach_set}},
    {ROW(2, "site", HONOURED), .set = {named_set, pose_set, site_set}},
    {ROW(2, "camera", QUIET), .names = "name class target " CAMERA_NAMES},
    {ROW(2, "light", QUIET), .names = "name class target texture " LIGHT_NAMES},
    PLUGIN_ROWS(2),
    {ROW(2, "composite", UNSUPPORTED),
     .note = "bodies that are made from a pattern; MuJoCo writes them one by one (mj_saveLastXML)",
     .names = "prefix type count offset vertex initial curve size quat"},
    {ROW(3, "joint", QUIET),
     .names = "kind group stiffness damping armature solreffix solimpfix type axis limited range margin solreflimit "
              "solimplimit frictionloss solreffriction solimpfriction"},
    {ROW(3, "skin", QUIET), .names = "texcoord material group rgba inflate subgrid"},
    {ROW(3, "geom", QUIET),
     .names = "type contype conaffinity condim group priority size material rgba friction mass density solmix solref "
              "solimp margin gap surfacevel adhesion"},
    {ROW(3, "site", QUIET), .names = "group size material mesh rgba"},
    PLUGIN_ROWS(3),
    {ROW(2, "flexcomp", IGNORED), .note = LEFT_OUT,
     .names = "name type group dim dof count cellcount spacing radius rigid mass inertiabox scale file point element "
              "texcoord material mesh rgba flatskin pos quat axisangle xyaxes zaxis euler origin"},
    {ROW(3, "edge", QUIET), .once = true, .names = "equality solref solimp stiffness damping"},
    {ROW(3, "elasticity", QUIET), .once = true, .names = ELASTICITY_NAMES},
    {ROW(3, "contact", QUIET), .once = true, .names = FLEX_CONTACT_NAMES},
    {ROW(3, "pin", QUIET), .names = "id range grid gridrange"},
    PLUGIN_ROWS(3),
    {ROW(2, "body", HONOURED), .set = {name_set, childclass_set, pose_set, body_set}, .names = "sleep simple user",
     .again = true},
    {ROW(2, "frame", HONOURED), .set = {name_set, childclass_set, pose_set}, .again = true},
    {ROW(2, "replicate", HONOURED), .set = {replicate_set, childclass_set}, .again = true},

    {ROW(1, "deformable", QUIET)},
    {ROW(2, "flex", IGNORED), .note = LEFT_OUT,
     .names = "name group dim dof radius material rgba flatskin body vertex element texcoord elemtexcoord node "
              "nodecoord cellcount"},
    {ROW(3, "contact", QUIET), .once = true, .names = FLEX_CONTACT_NAMES},
    {ROW(3, "edge", QUIET), .once = true, .names = "stiffness damping"},
    {ROW(3, "elasticity", QUIET), .once = true, .names = ELASTICITY_NAMES},
    {ROW(2, "skin", QUIET), .names = "name " SKIN_NAMES},
    {ROW(3, "bone", QUIET), .names = "bindpos bindquat body vertid vertweight"},

    {ROW(1, "contact", HONOURED)},
    {ROW(2, "pair", HONOURED), .set = {named_set, pair_geoms_set, pair_set}},
    {ROW(2, "exclude", HONOURED), .set = {name_set, exclude_set}},

    {ROW(1, "tendon", HONOURED)},
    {ROW(2, "spatial", HONOURED), .set = {named_set, tendon_set, tendon_looks_set, tendon_more_set}},
    {ROW(3, "site", HONOURED), .set = {path_site_set}},
    {ROW(3, "geom", IGNORED), .note = "the tendon runs straight from site to site", .names = "geom sidesite"},
    {ROW(3, "pulley", HONOURED), .set = {path_pulley_set}},
    {ROW(2, "fixed", HONOURED), .set = {named_set, tendon_set, tendon_more_set}},
    {ROW(3, "joint", HONOURED), .set = {path_joint_set}},

    {ROW(1, "equality", HONOURED)},
    {ROW(2, "connect", HONOURED), .set = {named_set, equality_set, equality_bodies_set}},
    {ROW(2, "weld", HONOURED), .set = {named_set, equality_set, equality_bodies_set, weld_set}},
    {ROW(2, "joint", HONOURED), .set = {named_set, equality_set, equality_joints_set, polynomial_set}},
    {ROW(2, "tendon", HONOURED), .set = {named_set, equality_set, equality_tendons_set, polynomial_set}},
    {ROW(2, "flex", IGNORED), .note = LEFT_OUT, .set = {named_set, equality_set}, .names = "flex"},
    {ROW(2, "flexvert", IGNORED), .note = LEFT_OUT, .set = {named_set, equality_set}, .names = "flex"},
    {ROW(2, "flexstrain", IGNORED), .note = LEFT_OUT, .set = {named_set, equality_set}, .names = "flex cell"},

    {ROW(1, "actuator", HONOURED)},
    ACTUATOR_ROWS(false, THEN_NAMED, THEN_TARGET, THEN_SITE, THEN_BODY, " tausmooth"),
    {ROW(2, "plugin", IGNORED), .note = "keeps its place in ctrl, has no activation and exerts no force",
     .names = "plugin instance actlimited actrange actdim dyntype dynprm actearly",
     .set = {actuator_set, ctrllimited_set, force_set, gear_set, named_set, target_set, target_site_set}},
    {ROW(3, "config", QUIET), .names = "key value"},

    {ROW(1, "sensor", QUIET)},
    SENSOR("touch", "site"), SENSOR("accelerometer", "site"), SENSOR("velocimeter", "site"), SENSOR("gyro", "site"),
    SENSOR("force", "site"), SENSOR("torque", "site"), SENSOR("magnetometer", "site"),
    SENSOR("camprojection", "site camera"), SENSOR("rangefinder", "site camera data"), SENSOR("jointpos", "joint"),
    SENSOR("jointvel", "joint"), SENSOR("tendonpos", "tendon"), SENSOR("tendonvel", "tendon"),
    SENSOR("actuatorpos", "actuator"), SENSOR("actuatorvel", "actuator"), SENSOR("actuatorfrc", "actuator"),
    SENSOR("jointactuatorfrc", "joint"), SENSOR("tendonactuatorfrc", "tendon"), SENSOR("ballquat", "joint"),
    SENSOR("ballangvel", "joint"), SENSOR("jointlimitpos", "joint"), SENSOR("jointlimitvel", "joint"),
    SENSOR("jointlimitfrc", "joint"), SENSOR("tendonlimitpos", "tendon"), SENSOR("tendonlimitvel", "tendon"),
    SENSOR("tendonlimitfrc", "tendon"), SENSOR("framepos", "objtype objname reftype refname"),
    SENSOR("framequat", "objtype objname reftype refname"), SENSOR("framexaxis", "objtype objname reftype refname"),
    SENSOR("frameyaxis", "objtype objname reftype refname"), SENSOR("framezaxis", "objtype objname reftype refname"),
    SENSOR("framelinvel", "objtype objname reftype refname"), SENSOR("frameangvel", "objtype objname reftype refname"),
    SENSOR("framelinacc", "objtype objname"), SENSOR("frameangacc", "objtype objname"), SENSOR("subtreecom", "body"),
    SENSOR("subtreelinvel", "body"), SENSOR("subtreeangmom", "body"),
    SENSOR("insidesite", "site objtype objname enclosed"), SENSOR("distance", "geom1 geom2 body1 body2"),
    SENSOR("normal", "geom1 geom2 body1 body2"), SENSOR("fromto", "geom1 geom2 body1 body2"),
    SENSOR("contact", "geom1 geom2 body1 body2 subtree1 subtree2 site num data reduce"), SENSOR("e_potential", ""),
    SENSOR("e_kinetic", ""), SENSOR("clock", ""), SENSOR("tactile", "geom mesh"),
    SENSOR("user", "objtype objname datatype needstage dim"),
    SENSOR("plugin", "plugin instance objtype objname reftype refname"),
    {ROW(3, "config", QUIET), .names = "key value"},

    {ROW(1, "custom", QUIET)},
    {ROW(2, "numeric", QUIET), .set = {numeric_set}},
    {ROW(2, "text", QUIET), .names = "name data"},
    {ROW(2, "tuple", QUIET), .names = "name"},
    {ROW(3, "element", QUIET), .names = "objtype objname prm"},

    {ROW(1, "keyframe", HONOURED)},
    {ROW(2, "key", HONOURED), .set = {name_set, key_set}},
    END};

/* clang-format on */

const tg_table_row *tg_mjcf_rows(void)
{
    return rows;
}
