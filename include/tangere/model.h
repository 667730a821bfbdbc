/* The model, made by a loader or the builder: topology, geometry, names and default parameters. It does not change
 * afterwards, so threads can share it.
 *
 * Bodies are numbered depth first, in the order in which they were given; body 0 is the world. The layout of q and v
 * follows that order and is the one of MuJoCo:
 *
 *   joint   q (nq)                                   v (nv), and every tangent vector dq
 *   free    position (world), quaternion w x y z     linear velocity (world axes), angular velocity (body axes)
 *   ball    quaternion w x y z                       angular velocity (body axes)
 *   hinge   angle (rad)                              rad/s
 *   slide   position (m)                             m/s
 *
 * Lengths are metres, masses kilograms, angles radians, everywhere. Quaternions are w x y z and are normalised on use;
 * one whose norm is off by more than 1e-3 is refused. */
#ifndef TANGERE_MODEL_H
#define TANGERE_MODEL_H

#include <stdbool.h>

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tg_model tg_model;
typedef struct tg_builder tg_builder;
typedef struct tg_params tg_params;

/* What a model consists of. */
typedef enum tg_element
{
    TG_BODY,
    TG_JOINT,
    TG_GEOM,
    TG_SITE,
    TG_TENDON,
    TG_ACTUATOR,
    TG_EQUALITY,
    TG_PAIR,
    TG_EXCLUDE,
    TG_KEY,
    TG_MESH,
    TG_HFIELD,
    TG_ELEMENT_COUNT
} tg_element;

/* "body", "joint", ...; NULL for a value that is no element. */
TG_API const char *tg_element_string(tg_element element);

typedef enum tg_joint_type
{
    TG_JOINT_FREE,
    TG_JOINT_BALL,
    TG_JOINT_SLIDE,
    TG_JOINT_HINGE,
    TG_JOINT_TYPE_COUNT
} tg_joint_type; /* a body without a joint is fixed to its parent */

typedef enum tg_geom_type
{
    TG_GEOM_PLANE,     /* size: half x, half y, spacing: for looks only; the plane is infinite, normal +z */
    TG_GEOM_HFIELD,    /* size: none, see tg_hfield_def */
    TG_GEOM_SPHERE,    /* size: radius */
    TG_GEOM_CAPSULE,   /* size: radius, half length of the cylinder; along z */
    TG_GEOM_ELLIPSOID, /* size: three radii */
    TG_GEOM_CYLINDER,  /* size: radius, half length; along z */
    TG_GEOM_BOX,       /* size: three half lengths */
    TG_GEOM_MESH,      /* size: scale of the mesh's vertices along x, y, z (default 1 1 1) */
    TG_GEOM_TYPE_COUNT
} tg_geom_type;

typedef enum tg_tendon_type
{
    TG_TENDON_FIXED,  /* length = sum of coef * q over joints */
    TG_TENDON_SPATIAL /* length of a path through sites */
} tg_tendon_type;

/* The behaviour of a tendon's spring and damper when it is slack. rest: its upper rest length, including the change by
 * actuators. */
typedef enum tg_tendon_law
{
    /* pulls and pushes, except in the band between its two rest lengths; the damper always acts (as in MuJoCo) */
    TG_TENDON_LAW_TWO_SIDED,
    TG_TENDON_LAW_SPRING, /* the spring only pulls, above rest; the damper always acts */
    /* a cable: tension max(0, stiffness (length - rest) + damping rate - force of its actuators), and 0 up to rest */
    TG_TENDON_LAW_ALL,
    TG_TENDON_LAWS
} tg_tendon_law;

TG_API const char *tg_tendon_law_string(tg_tendon_law law);

/* The meaning of the output of an actuator on a tendon. */
typedef enum tg_drives
{
    TG_DRIVES_FORCE, /* a force along the tendon (N); positive lengthens it */
    TG_DRIVES_REST,  /* a change of the tendon's rest length (m): gear[0] times it is added to both */
    TG_DRIVES_COUNT
} tg_drives;

TG_API const char *tg_drives_string(tg_drives drives);

typedef enum tg_path_type
{
    TG_PATH_JOINT, /* fixed tendon: id is a hinge or slide joint, value its coefficient */
    TG_PATH_SITE,  /* spatial tendon: id is a site */
    TG_PATH_PULLEY /* spatial tendon: following lengths are divided by value; the next site starts a new branch */
} tg_path_type;

typedef struct tg_path
{
    tg_path_type type;
    int id;
    double value;
} tg_path;

typedef enum tg_transmission
{
    TG_TRANSMISSION_JOINT,  /* hinge, slide: gear[0]; ball: gear[0..2], body axes; free: gear[0..5], as v */
    TG_TRANSMISSION_TENDON, /* gear[0] */
    TG_TRANSMISSION_SITE    /* wrench gear[0..5] = force, torque in the axes of the site; length 0 */
} tg_transmission;

typedef enum tg_dynamics_type /* activation dynamics of an actuator */
{
    TG_DYNAMICS_NONE,       /* the control acts directly */
    TG_DYNAMICS_INTEGRATOR, /* d act / dt = u */
    TG_DYNAMICS_FILTER,     /* d act / dt = (u - act) / tau, explicit Euler */
    TG_DYNAMICS_FILTEREXACT /* the same, integrated exactly */
} tg_dynamics_type;

typedef enum tg_equality_type
{
    TG_EQUALITY_CONNECT, /* obj1, obj2 bodies; data[0..2] anchor in obj1's frame, data[3..5] in obj2's */
    TG_EQUALITY_WELD,    /* obj1, obj2 bodies; data[0..2] anchor in obj2's frame, data[3..5] position and data[6..9]
                            quaternion of obj2 relative to obj1, data[10] torque scale */
    TG_EQUALITY_JOINT,   /* q1 - q1_0 = polynomial data[0..4] of (q2 - q2_0); obj2 = -1: q1 - q1_0 = data[0] */
    TG_EQUALITY_TENDON   /* the same for two tendon lengths */
} tg_equality_type;

/* Sizes of a model. */
typedef struct tg_sizes
{
    int nq, nv, nu, na;
    int nbody; /* with the world */
    int njoint, ngeom, nsite, ntendon, nequality, npair, nexclude, nkey, nmesh, nhfield;
    int ntree;      /* kinematic trees that move */
    int nparams;    /* doubles in a parameter vector */
    int ncandidate; /* pairs of geoms that may collide after filtering */
    int nvisual;    /* visual shapes, not counted as geoms */
} tg_sizes;

/* All zeros when m is NULL. */
TG_API tg_sizes tg_model_sizes(const tg_model *m);
TG_API void tg_model_destroy(tg_model *m); /* NULL is allowed */

/* The name of the model; the name of an element, "" if it has none, NULL if there is no such element. */
TG_API const char *tg_model_name(const tg_model *m);
TG_API const char *tg_name(const tg_model *m, tg_element element, int index);

/* The index of a named element, -1 if there is none. "#7" finds element 7, named or not. */
TG_API int tg_find(const tg_model *m, tg_element element, const char *name);

/* Total mass, kg, at the default parameters; default time step, s. */
TG_API double tg_model_mass(const tg_model *m);
TG_API double tg_model_timestep(const tg_model *m);

/* Whether the model asks for an implicit integrator (tg_options.implicit_actuators). */
TG_API bool tg_model_implicit(const tg_model *m);

/* Whether the model asks for implicit gyroscopic forces: integrator="implicit" (tg_options.implicit_gyroscopic). */
TG_API bool tg_model_implicit_gyroscopic(const tg_model *m);

/* The structure around an element, for tools that draw or convert a model. */
typedef struct tg_body_info
{
    int parent, tree; /* tree: -1 for a body that cannot move */
    int joint, njoint, dof, ndof, geom, ngeom;
} tg_body_info;

typedef struct tg_joint_info
{
    tg_joint_type type;
    int body, q, dof; /* first entry in q and in v */
    bool limited;
} tg_joint_info;

typedef struct tg_geom_info
{
    tg_geom_type type;
    int body, mesh, hfield; /* -1: none */
    int contype, conaffinity, condim, priority, group;
    double rgba[4]; /* colour, 0 .. 1; for looks alone */
} tg_geom_info;

typedef struct tg_actuator_info
{
    tg_transmission transmission;
    int target;                /* joint, tendon or site */
    tg_dynamics_type dynamics; /* TG_DYNAMICS_NONE: no activation */
    int act;                   /* first entry in act, or -1 */
    bool ctrl_limited, force_limited, act_limited;
    tg_drives drives;
} tg_actuator_info;

TG_API tg_status tg_body_get(const tg_model *m, int body, tg_body_info *info, tg_error *error);
TG_API tg_status tg_joint_get(const tg_model *m, int joint, tg_joint_info *info, tg_error *error);
TG_API tg_status tg_geom_get(const tg_model *m, int geom, tg_geom_info *info, tg_error *error);
TG_API tg_status tg_actuator_get(const tg_model *m, int actuator, tg_actuator_info *info, tg_error *error);
TG_API int tg_site_body(const tg_model *m, int site); /* -1: no such site */

/* ---- further data for viewers ----
 *
 * Arrays belong to the model. */

/* The triangles of a mesh as given, or those of its hull if none were given; without the geom's scale. */
typedef struct tg_mesh_info
{
    int nvertex, nface;
    const double *vertex; /* nvertex x 3, m */
    const int *face;      /* nface x 3, counter-clockwise from outside */
} tg_mesh_info;

/* The convex hull used for the collisions of a mesh; no vertices if no colliding geom uses the mesh. */
typedef struct tg_hull_info
{
    int nvertex, npolygon;
    const double *vertex;     /* nvertex x 4: x y z 0, m, without the geom's scale */
    const int *polygon_start; /* npolygon + 1 */
    const int *polygon;       /* vertices of polygon i: polygon[polygon_start[i] .. polygon_start[i + 1]), from outside
                                 counter-clockwise */
} tg_hull_info;

/* Elevations of a height field; its size is a parameter. */
typedef struct tg_hfield_info
{
    int nrow, ncol;
    const double *elevation; /* nrow x ncol, 0 .. 1, row 0 at -y */
} tg_hfield_info;

/* The path of a tendon: npath items of each array. */
typedef struct tg_tendon_info
{
    tg_tendon_type type;
    int npath;
    const int *path_type; /* tg_path_type */
    const int *path_id;   /* joint or site; -1 for a pulley */
    tg_tendon_law law;
} tg_tendon_info;

/* A declared pair of geoms. */
typedef struct tg_pair_info
{
    int geom1, geom2, condim;
} tg_pair_info;

/* A visual shape, such as the <visual> of a URDF. It has no effect on physics or parameters. */
typedef struct tg_visual_info
{
    const char *name; /* "": none */
    const char *file; /* of a mesh; "" for other shapes */
    tg_geom_type type;
    int body;
    double pos[3], quat[4]; /* in the body's frame */
    double size[3];         /* as a geom's; scale of a mesh */
    double rgba[4];
} tg_visual_info;

TG_API tg_status tg_mesh_get(const tg_model *m, int mesh, tg_mesh_info *info, tg_error *error);
TG_API tg_status tg_hull_get(const tg_model *m, int mesh, tg_hull_info *info, tg_error *error);
TG_API tg_status tg_hfield_get(const tg_model *m, int hfield, tg_hfield_info *info, tg_error *error);
TG_API tg_status tg_tendon_get(const tg_model *m, int tendon, tg_tendon_info *info, tg_error *error);
TG_API tg_status tg_pair_get(const tg_model *m, int pair, tg_pair_info *info, tg_error *error);
TG_API tg_status tg_visual_get(const tg_model *m, int visual, tg_visual_info *info, tg_error *error);

/* The reference configuration: every joint at its `ref`, free joints at their body's pose. q: nq. */
TG_API tg_status tg_default_q(const tg_model *m, double *q, tg_error *error);

/* Keyframe key: time (s), q (nq), v (nv), act (na), ctrl (nu); any output may be NULL. */
TG_API tg_status tg_key_get(const tg_model *m, int key, double *time, double *q, double *v, double *act, double *ctrl,
                            tg_error *error);

/* ---- the configuration manifold ---- */

/* q1 = q (+) dv: q, q1: nq (may be the same array), dv: nv, in the frames of v. */
TG_API tg_status tg_integrate(const tg_model *m, const double *q, const double *dv, double *q1, tg_error *error);

/* dv with q1 = q0 (+) dv, the shortest one. */
TG_API tg_status tg_difference(const tg_model *m, const double *q0, const double *q1, double *dv, tg_error *error);

/* A state inside the joint limits (unlimited hinges within pi, slides and free positions within 1 m), velocities
 * standard normal; the same for the same seed on every machine. q: nq, v: nv, v may be NULL. */
TG_API tg_status tg_random_state(const tg_model *m, uint64_t seed, double *q, double *v, tg_error *error);

/* ---- parameters: every run-time number of the model, as one flat vector ----
 *
 * A parameter has a name like "body.trunk.mass", "geom.floor.friction", "gravity": element, name, field. An element
 * without a name is "#" and its index ("geom.#12.size"). "[i]" picks one number of a field ("geom.floor.friction[0]").
 * The fields are listed in docs/parameters.md. A gradient has the layout of the vector itself; the gradient with
 * respect to a quaternion is that of the normalised quaternion in its four raw numbers, with respect to a joint axis
 * that of the normalised axis. */

typedef struct tg_param_slice
{
    tg_element element; /* TG_ELEMENT_COUNT: a number of the model as a whole (gravity) */
    int index;          /* of the element */
    const char *field;  /* "mass", "friction", ... */
    int offset, size;   /* doubles in the vector */
} tg_param_slice;

TG_API int tg_param_slice_count(const tg_model *m);
TG_API tg_status tg_param_slice_get(const tg_model *m, int slice, tg_param_slice *out, tg_error *error);

/* Writes the name of the slice that contains number `offset` of the vector, with "[i]" when the slice has several
 * numbers and whole is false, to name (size bytes, terminated). */
TG_API tg_status tg_param_name(const tg_model *m, int offset, bool whole, char *name, size_t size, tg_error *error);

/* Where a named parameter is. */
TG_API tg_status tg_param_find(const tg_model *m, const char *name, int *offset, int *size, tg_error *error);

/* All numbers whose name matches a pattern with * and ? ("body.*.mass", "*"; the name is the whole slice's, an "[i]" in
 * the pattern picks a number in it), in the order of the vector. Writes at most capacity indices and always the full
 * count; no match is TG_ERR_NAME. Numbers of the world body, which have no effect, are included only if the pattern is
 * "*" or contains "world". */
TG_API tg_status tg_param_match(const tg_model *m, const char *pattern, int *index, int capacity, int *count,
                                tg_error *error);

/* The model's own parameters. */
TG_API const tg_params *tg_model_params(const tg_model *m);

/* A copy of the model's parameters that can be changed: write into tg_params_data, then call tg_params_changed, which
 * validates the vector and recomputes what is derived from it. Until then (and when it fails) every function refuses
 * to work with these parameters. */
TG_API tg_status tg_params_create(const tg_model *m, tg_params **params, tg_error *error);
TG_API void tg_params_destroy(tg_params *params); /* NULL is allowed */
TG_API double *tg_params_data(tg_params *params); /* nparams doubles; NULL if params is NULL. Marks them as changed. */
TG_API const double *tg_params_view(const tg_params *params);
TG_API tg_status tg_params_changed(tg_params *params, tg_error *error);

/* ---- the report: what a reader used, approximated or left out ---- */

typedef enum tg_report_kind
{
    TG_REPORT_HONOURED,
    TG_REPORT_APPROXIMATED,    /* taken in a different sense; the note says which */
    TG_REPORT_IGNORED_PHYSICS, /* would change the motion, and is not there */
    TG_REPORT_NOTED            /* kept or left out without effect on the motion */
} tg_report_kind;

typedef struct tg_report_entry
{
    tg_report_kind kind;
    const char *file; /* strings belong to the model */
    int line;
    const char *element;   /* "geom 'floor'" */
    const char *attribute; /* "solref", or "" for the element itself */
    const char *note;
} tg_report_entry;

/* How many entries there are, and one of them, in the order of the file. */
TG_API int tg_report_count(const tg_model *m);
TG_API tg_status tg_report_get(const tg_model *m, int index, tg_report_entry *entry, tg_error *error);

/* ---- building a model in code ----
 *
 * Make a builder, add elements (each add returns the element's id in *id, which may be NULL), build. Every definition
 * starts from its tg_default_...(). Strings and arrays are copied. Names may be NULL or "". The add functions check
 * only that the definition is one; tg_builder_build validates everything, and makes a model or a message. */

typedef struct tg_body_def
{
    const char *name;
    int parent;             /* id of a body; 0: world */
    double pos[3], quat[4]; /* frame of the body in its parent's, at the reference configuration */
    bool inertial;          /* true: mass, com, inertia are used; false: they are computed from the geoms of the body */
    double mass;            /* kg */
    double com[3];          /* centre of mass, body frame */
    double inertia[6];      /* about com, axes of the body: xx yy zz xy xz yz */
    uint32_t cookie;
} tg_body_def;

typedef struct tg_joint_def
{
    const char *name;
    int body;
    tg_joint_type type;
    double pos[3], axis[3]; /* anchor and axis, body frame; a free joint has neither, a ball no axis */
    double ref;             /* hinge, slide: q in the reference configuration */
    double springref;       /* hinge, slide: q where the spring is at rest */
    double stiffness;       /* N m / rad or N / m */
    double damping;         /* N m s / rad or N s / m */
    double armature;        /* kg m^2 or kg, added to the diagonal of the mass matrix */
    double frictionloss;    /* N m or N */
    bool limited;
    double range[2]; /* rad or m; ball: (0, largest angle) */
    double margin;
    bool force_limited; /* clamps the sum of the actuators' forces on the joint (hinge, slide) */
    double force_range[2];
    uint32_t cookie;
} tg_joint_def;

typedef struct tg_geom_def
{
    const char *name;
    int body;
    tg_geom_type type;
    double pos[3], quat[4];   /* body frame */
    double size[3];           /* see tg_geom_type; mesh: 0 0 0 is 1 1 1 */
    int mesh, hfield;         /* ids, -1: none */
    double mass;              /* kg; negative: density counts */
    double density;           /* kg / m^3 */
    bool shell;               /* mass on the surface instead of in the volume */
    int contype, conaffinity; /* collide when (contype1 & conaffinity2) or (contype2 & conaffinity1) */
    int condim;               /* 1, 3, 4, 6 */
    int priority, group;
    double friction[3]; /* slide, spin (m), roll (m) */
    double kinetic;     /* kinetic sliding friction / static, in (0, 1] */
    double slip_speed;  /* m/s at which friction has become kinetic */
    double restitution; /* 0 .. 1 */
    double compliance;  /* m / N; 0: rigid */
    double damping;     /* N s / m, of the normal force; law "compliant" only (tg_options) */
    double margin, gap; /* m */
    double rgba[4];     /* colour, for looks alone */
    uint32_t cookie;
} tg_geom_def;

typedef struct tg_mesh_def
{
    const char *name;
    int nvertex, nface;
    const double *vertex; /* nvertex x 3 */
    const int *face;      /* nface x 3, counter-clockwise from outside; nface 0: the convex hull of the vertices */
    uint32_t cookie;
} tg_mesh_def;

typedef struct tg_hfield_def
{
    const char *name;
    int nrow, ncol;
    const double *elevation; /* nrow x ncol, 0 .. 1, row 0 at -y */
    double size[4];          /* half x, half y, height of elevation 1, depth of the base (m) */
    uint32_t cookie;
} tg_hfield_def;

typedef struct tg_site_def
{
    const char *name;
    int body;
    double pos[3], quat[4];
    uint32_t cookie;
} tg_site_def;

typedef struct tg_tendon_def
{
    const char *name;
    tg_tendon_type type;
    int npath;
    const tg_path *path;
    double stiffness, damping; /* N / m, N s / m (per unit of the tendon's length) */
    double rest[2];            /* no spring force between rest[0] and rest[1]; -1 -1 (default): both are the length in
                                  the configuration in which the joint springs are at rest */
    double frictionloss;
    bool limited;
    double range[2];
    double margin;
    tg_tendon_law law;
    uint32_t cookie;
} tg_tendon_def;

/* force = gain * s + bias, s = activation or control, gain = gain[0] + gain[1] length + gain[2] velocity, bias the
 * same; then clamped to force_range; then multiplied with the transmission's moment arms. */
typedef struct tg_actuator_def
{
    const char *name;
    tg_transmission transmission;
    int target; /* id of a joint, tendon or site */
    double gear[6];
    double gain[3], bias[3];
    tg_dynamics_type dynamics;
    double tau;     /* s, time constant of the filters */
    bool act_early; /* the force uses the activation at the end of the step */
    bool ctrl_limited, force_limited, act_limited;
    double ctrl_range[2], force_range[2], act_range[2];
    tg_drives drives; /* TG_DRIVES_REST: on a tendon, with gain and bias that do not depend on length and velocity */
    uint32_t cookie;
} tg_actuator_def;

typedef struct tg_equality_def
{
    const char *name;
    tg_equality_type type;
    int obj1, obj2;
    double data
        [11]; /* see tg_equality_type; NaN in the second half of a connect or weld: from the reference configuration */
    bool active;
    uint32_t cookie;
} tg_equality_def;

typedef struct tg_pair_def
{
    const char *name;
    int geom1, geom2;
    int condim;
    double friction[3], kinetic, slip_speed, restitution, compliance, damping, margin, gap;
    uint32_t cookie;
} tg_pair_def;

typedef struct tg_exclude_def
{
    const char *name;
    int body1, body2; /* no geom of the one collides with one of the other */
    int geom1, geom2; /* not -1: these two geoms alone, and the bodies do not count */
    uint32_t cookie;
} tg_exclude_def;

typedef struct tg_key_def
{
    const char *name;
    double time;
    const double *q, *v, *act, *ctrl; /* NULL: reference configuration, zeros */
    int nq, nv, na, nu;               /* lengths of these arrays; must fit the model */
    uint32_t cookie;
} tg_key_def;

/* A visual shape; see tg_visual_info. Its file is not opened. */
typedef struct tg_visual_def
{
    const char *name, *file; /* may be NULL */
    int body;
    tg_geom_type type; /* no plane, no height field */
    double pos[3], quat[4], size[3], rgba[4];
    uint32_t cookie;
} tg_visual_def;

TG_API tg_body_def tg_default_body(void);   /* inertial: false */
TG_API tg_joint_def tg_default_joint(void); /* hinge about z */
TG_API tg_geom_def tg_default_geom(void);   /* sphere; friction 1, 0.005, 0.0001; density 1000 */
TG_API tg_mesh_def tg_default_mesh(void);
TG_API tg_hfield_def tg_default_hfield(void);
TG_API tg_site_def tg_default_site(void);
TG_API tg_tendon_def tg_default_tendon(void);     /* spatial */
TG_API tg_actuator_def tg_default_actuator(void); /* motor on a joint: gear 1, gain 1, no bias, no limits */
TG_API tg_equality_def tg_default_equality(void); /* active */
TG_API tg_pair_def tg_default_pair(void);         /* condim 3, friction as a geom's */
TG_API tg_exclude_def tg_default_exclude(void);
TG_API tg_key_def tg_default_key(void);
TG_API tg_visual_def tg_default_visual(void); /* grey sphere */

TG_API tg_status tg_builder_create(const tg_allocator *allocator, tg_builder **b, tg_error *error);
TG_API void tg_builder_destroy(tg_builder *b);              /* NULL is allowed */
TG_API const char *tg_builder_message(const tg_builder *b); /* of the last failure; "" if there was none */

TG_API tg_status tg_builder_name(tg_builder *b, const char *name);
TG_API tg_status tg_builder_gravity(tg_builder *b, const double gravity[3]); /* default 0 0 -9.81 */
TG_API tg_status tg_builder_timestep(tg_builder *b, double dt);              /* default 0.002 s */
/* default false; see tg_model_implicit and tg_model_implicit_gyroscopic */
TG_API tg_status tg_builder_implicit(tg_builder *b, bool implicit, bool gyroscopic);
TG_API tg_status tg_builder_body(tg_builder *b, const tg_body_def *def, int *id);
TG_API tg_status tg_builder_joint(tg_builder *b, const tg_joint_def *def, int *id);
TG_API tg_status tg_builder_geom(tg_builder *b, const tg_geom_def *def, int *id);
TG_API tg_status tg_builder_mesh(tg_builder *b, const tg_mesh_def *def, int *id);
TG_API tg_status tg_builder_hfield(tg_builder *b, const tg_hfield_def *def, int *id);
TG_API tg_status tg_builder_site(tg_builder *b, const tg_site_def *def, int *id);
TG_API tg_status tg_builder_tendon(tg_builder *b, const tg_tendon_def *def, int *id);
TG_API tg_status tg_builder_actuator(tg_builder *b, const tg_actuator_def *def, int *id);
TG_API tg_status tg_builder_equality(tg_builder *b, const tg_equality_def *def, int *id);
TG_API tg_status tg_builder_pair(tg_builder *b, const tg_pair_def *def, int *id);
TG_API tg_status tg_builder_exclude(tg_builder *b, const tg_exclude_def *def, int *id);
TG_API tg_status tg_builder_key(tg_builder *b, const tg_key_def *def, int *id);
TG_API tg_status tg_builder_visual(tg_builder *b, const tg_visual_def *def);
TG_API tg_status tg_builder_report(tg_builder *b, const tg_report_entry *entry);

/* The id of the last element of that kind with this name, -1 if there is none; for references while building. */
TG_API int tg_builder_find(const tg_builder *b, tg_element element, const char *name);

/* Validates and makes the model. Bodies are renumbered depth first (children of a body in the order they were
 * added); joints, geoms and sites are renumbered to follow their bodies, in the order they were added to each; all
 * other elements keep their ids. The builder stays as it was and can be built again. */
TG_API tg_status tg_builder_build(tg_builder *b, tg_model **m);

/* ---- a model as bytes: to hand it to another process ---- */

/* Writes a model, with its default parameters, and returns how many bytes that takes; nothing is written where
 * capacity is less or bytes is NULL. 0: m is NULL, or memory ran out. */
TG_API size_t tg_model_to_bytes(const tg_model *m, void *bytes, size_t capacity);

/* The model again: same structure, names, report and, bit for bit, parameters. Bytes that are damaged, or were
 * written by another version of the library, are refused. They are trusted otherwise: take them from no stranger. */
TG_API tg_status tg_model_from_bytes(const void *bytes, size_t size, const tg_allocator *allocator, tg_model **m,
                                     tg_error *error);

#ifdef __cplusplus
}
#endif

#endif
