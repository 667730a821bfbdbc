/* Inside of the MJCF reader.
 *
 * The reader goes in this order: include files are put in place (include.c), the whole tree is checked against the
 * table (table.c, check.c), then the sections are read (mjcf.c and one file a group of sections) and handed
 * to the builder. The structures below hold an element as it was written, before angles, orientations and references
 * are worked out: so a default class is one of each of them, and an element starts as a copy of its class's. */
#ifndef TG_READ_MJCF_MJCF_H
#define TG_READ_MJCF_MJCF_H

#include <stdbool.h>
#include <stdint.h>

#include "model/inertia.h"
#include "model/pool.h"
#include "read/mesh/mesh.h"
#include "read/table.h"
#include "read/xml.h"
#include "tangere/read.h"

/* ---- elements as written ---- */

typedef enum tg_mjcf_form /* of an orientation */
{
    TG_MJCF_QUAT,
    TG_MJCF_AXISANGLE,
    TG_MJCF_XYAXES,
    TG_MJCF_ZAXIS,
    TG_MJCF_EULER
} tg_mjcf_form;

/* Position and orientation. First in each structure that has one, so that one set of attributes reads them all. */
typedef struct tg_mjcf_pose
{
    double pos[3], quat[4];
    tg_mjcf_form form; /* which of the following, if any, replaces quat */
    double axisangle[4], xyaxes[6], zaxis[3], euler[3];
} tg_mjcf_pose;

typedef enum tg_mjcf_limited /* words of limited, ctrllimited, ... */
{
    TG_MJCF_FALSE,
    TG_MJCF_TRUE,
    TG_MJCF_AUTO
} tg_mjcf_limited;

enum
{
    TG_MJCF_POLY = 3, /* numbers of a stiffness or damping polynomial: linear, quadratic, cubic */
    TG_MJCF_PRM = 10, /* numbers of gainprm, biasprm, dynprm */
    TG_MJCF_GEOM_SDF = TG_GEOM_TYPE_COUNT
};

typedef struct tg_mjcf_inertial
{
    tg_mjcf_pose pose;
    double mass, diaginertia[3], fullinertia[6]; /* fullinertia[0] NaN: not given */
} tg_mjcf_inertial;

typedef struct tg_mjcf_body
{
    tg_mjcf_pose pose;
    int fuse;
} tg_mjcf_body;

typedef struct tg_mjcf_replicate
{
    int count;
    double offset[3], euler[3];
    const char *sep;
} tg_mjcf_replicate;

typedef struct tg_mjcf_attach_written
{
    const char *model, *body, *frame, *prefix;
} tg_mjcf_attach_written;

typedef struct tg_mjcf_joint
{
    double pos[3], axis[3];
    int type, limited, force_limited;
    double springdamper[2], stiffness[TG_MJCF_POLY], damping[TG_MJCF_POLY];
    double range[2], force_range[2], margin, ref, springref, armature, frictionloss;
} tg_mjcf_joint;

typedef struct tg_mjcf_geom
{
    tg_mjcf_pose pose;
    int type, contype, conaffinity, condim, group, priority, shell;
    double size[3], friction[3], mass, density, margin, gap; /* mass NaN: not given */
    double fromto[6];                                        /* fromto[0] NaN: not given */
    double fitscale, rgba[4];                                /* rgba[0] NaN: not given */
    const char *mesh, *hfield, *material;
} tg_mjcf_geom;

typedef struct tg_mjcf_site
{
    tg_mjcf_pose pose;
    int type;
    double size[3], fromto[6];
} tg_mjcf_site;

typedef enum tg_mjcf_mesh_inertia
{
    TG_MJCF_CONVEX,
    TG_MJCF_EXACT,
    TG_MJCF_LEGACY,
    TG_MJCF_SHELL
} tg_mjcf_mesh_inertia;

typedef struct tg_mjcf_mesh
{
    double scale[3], refpos[3], refquat[4];
    int inertia;
    const char *file, *vertex, *face, *content_type;
} tg_mjcf_mesh;

typedef struct tg_mjcf_hfield
{
    int nrow, ncol;
    double size[4];
    const char *file, *elevation, *content_type;
} tg_mjcf_hfield;

typedef struct tg_mjcf_pair
{
    const char *geom1, *geom2;
    int condim;
    double friction[5], margin, gap;
} tg_mjcf_pair;

typedef struct tg_mjcf_exclude
{
    const char *body1, *body2;
} tg_mjcf_exclude;

typedef struct tg_mjcf_equality
{
    int active;
    const char *body1, *body2, *site1, *site2, *joint1, *joint2, *tendon1, *tendon2;
    double anchor[3], relpose[7], torquescale, polycoef[5]; /* anchor[0], relpose[0] NaN: not given */
} tg_mjcf_equality;

typedef struct tg_mjcf_tendon
{
    int limited, force_limited;
    double range[2], force_range[2], frictionloss, springlength[2], margin, armature;
    double stiffness[TG_MJCF_POLY], damping[TG_MJCF_POLY];
} tg_mjcf_tendon;

/* One item of a tendon's path. */
typedef struct tg_mjcf_path
{
    const char *joint, *site, *geom;
    double coef, divisor;
} tg_mjcf_path;

typedef enum tg_mjcf_gain /* words of gaintype and biastype: those that are built, and the rest */
{
    TG_MJCF_NONE,
    TG_MJCF_FIXED,
    TG_MJCF_AFFINE,
    TG_MJCF_OTHER
} tg_mjcf_gain;

enum
{
    TG_MJCF_DYNAMICS_OTHER = TG_DYNAMICS_FILTEREXACT + 1 /* words of dyntype that are not built */
};

/* Elements that are actuators: the general one, and shortcuts that fill in its numbers. */
typedef enum tg_mjcf_actuator_kind
{
    TG_MJCF_GENERAL,
    TG_MJCF_MOTOR,
    TG_MJCF_POSITION,
    TG_MJCF_VELOCITY,
    TG_MJCF_INTVELOCITY,
    TG_MJCF_DAMPER,
    TG_MJCF_CYLINDER,
    TG_MJCF_MUSCLE,
    TG_MJCF_ADHESION,
    TG_MJCF_PLUGIN,
    TG_MJCF_ACTUATOR_KINDS /* and none of them */
} tg_mjcf_actuator_kind;

/* The numbers that a shortcut fills in. */
typedef struct tg_mjcf_law
{
    int gain_type, bias_type, dynamics;
    double gainprm[TG_MJCF_PRM], biasprm[TG_MJCF_PRM], dynprm[TG_MJCF_PRM], inheritrange;
} tg_mjcf_law;

typedef struct tg_mjcf_actuator
{
    const char *joint, *jointinparent, *tendon, *site, *refsite, *cranksite, *slidersite, *body;
    int ctrl_limited, force_limited, act_limited;
    double ctrl_range[2], force_range[2], act_range[2];
    double gear[6], damping[TG_MJCF_POLY], armature;
    int act_early, actdim;
    tg_mjcf_law law;
    /* of the shortcuts; NaN: not given in this element */
    double kp, kv, dampratio, timeconst, area, diameter, bias[3];
} tg_mjcf_actuator;

typedef struct tg_mjcf_key
{
    double time;
    const char *qpos, *qvel, *act, *ctrl;
} tg_mjcf_key;

typedef struct tg_mjcf_numeric
{
    const char *name, *data;
    int size;
} tg_mjcf_numeric;

/* ---- settings ---- */

typedef struct tg_mjcf_compiler
{
    int autolimits, degree, inertiafromgeom, balanceinertia, strippath, discardvisual, fusestatic, fitaabb, coordinate;
    int inertiagrouprange[2];
    double boundmass, boundinertia, settotalmass;
    const char *eulerseq, *meshdir, *texturedir, *assetdir;
} tg_mjcf_compiler;

typedef struct tg_mjcf_option
{
    double timestep, gravity[3];
    int implicit;                     /* the integrator is: 2 for all of it */
    int flag_gravity, flag_clampctrl; /* false: disabled */
    int nkey;                         /* of size */
} tg_mjcf_option;

/* A default class. */
typedef struct tg_mjcf_class tg_mjcf_class;
struct tg_mjcf_class
{
    const char *name;
    tg_mjcf_joint joint;
    tg_mjcf_geom geom;
    tg_mjcf_site site;
    tg_mjcf_mesh mesh;
    tg_mjcf_pair pair;
    tg_mjcf_equality equality;
    tg_mjcf_tendon tendon;
    tg_mjcf_actuator actuator;
    tg_mjcf_actuator_kind actuator_kind; /* the element that set the law of this class last; none: the parent's holds */
    const tg_mjcf_class *parent;
    tg_mjcf_class *next;
};

/* A file with settings and classes of its own: the main one, or a model inside it that is attached. Elements know
 * their scope by its number (tg_xml.scope). */
typedef struct tg_mjcf_scope
{
    const char *name; /* of a model inside; "" for the main file */
    const char *path;
    const char *dir; /* where relative paths start */
    tg_xml *root;
    tg_mjcf_compiler compiler;
    tg_mjcf_class *main, *last;
    int around; /* the scope in which the model was named; -1: none */
} tg_mjcf_scope;

/* ---- the reader ---- */

/* A named or unnamed element that was given to the builder. */
typedef struct tg_mjcf_thing
{
    const tg_xml *xml;
    const char *name; /* "" without one */
    tg_element element;
    int id;
    int next; /* of the same hash, -1: none */
} tg_mjcf_thing;

/* What the reader must know of an element that others refer to. */
typedef struct tg_mjcf_joint_known
{
    tg_joint_type type;
    int q, dof;      /* first entries in q and v */
    double range[2]; /* in radians; equal: none */
    double q0[7];    /* in the reference configuration, as many as it has */
} tg_mjcf_joint_known;

typedef struct tg_mjcf_site_known
{
    int body;
    double pose[7];
} tg_mjcf_site_known;

typedef struct tg_mjcf_geom_known
{
    int body;
} tg_mjcf_geom_known;

typedef struct tg_mjcf_mesh_known
{
    bool used; /* by a geom that is more than looks */
    tg_mjcf_mesh_inertia inertia;
    tg_mesh_data data; /* scaled */
    bool weighed;      /* lump is valid */
    tg_lump lump;      /* at unit density */
} tg_mjcf_mesh_known;

typedef struct tg_mjcf_hfield_known
{
    double size[4];
} tg_mjcf_hfield_known;

typedef struct tg_mjcf_tendon_known
{
    tg_tendon_type type;
    double range[2];
} tg_mjcf_tendon_known;

/* A growing list in the pool. */
typedef struct tg_mjcf_list
{
    void *data;
    int count, capacity;
} tg_mjcf_list;

typedef struct tg_mjcf_counter tg_mjcf_counter;
typedef struct tg_mjcf_names tg_mjcf_names;

/* A keyframe of an attached file: whose numbers it has, in their order. */
typedef struct tg_mjcf_key_item
{
    tg_xml *from; /* in its own file */
    tg_xml *now;  /* where it was copied to; NULL: it was not attached */
} tg_mjcf_key_item;

typedef struct tg_mjcf_key_map
{
    tg_mjcf_list joint, actuator; /* tg_mjcf_key_item */
} tg_mjcf_key_map;

/* What the reader must know of an actuator. */
typedef struct tg_mjcf_actuator_known
{
    int act; /* its place among the activations; -1: none */
} tg_mjcf_actuator_known;

/* Numbers that need the finished model: a joint whose spring and damper follow from its inertia; an actuator whose
 * damping does, and whose drive adds to its joint. */
typedef struct tg_mjcf_tuned
{
    int id;
    double timeconst, dampratio, armature, damping;
} tg_mjcf_tuned;

typedef struct tg_mjcf
{
    tg_pool *pool;
    const tg_allocator *allocator;
    tg_error *error;
    tg_builder *builder;
    bool strict;
    const tg_xml *root; /* of the main file */
    int nelement;

    tg_mjcf_list scope; /* pointers to tg_mjcf_scope; the first is the main file */
    tg_mjcf_option option;

    tg_mjcf_list thing; /* tg_mjcf_thing */
    int *bucket;        /* heads of the hash chains */
    int nbucket;
    tg_mjcf_list joint, site, geom, mesh, hfield, tendon, actuator; /* of tg_mjcf_..._known, by id */
    tg_mjcf_list spring, servo;                                     /* tg_mjcf_tuned */
    tg_mjcf_list numeric;                                           /* tg_xml *: custom numbers for parameters */
    tg_mjcf_list word;                                              /* the same: custom texts for laws */
    tg_mjcf_list joints, geoms, sites;                              /* of the body that is being read (tree.c) */
    tg_mjcf_list by_xml;  /* joints and actuators by the element they were made from (key.c) */
    tg_mjcf_list key_map; /* tg_mjcf_key_map */
    tg_mjcf_names *used;  /* what sections refer to; NULL: not asked yet */
    int nbody, nq, nv, nu, na, nkey;
    int nlooked; /* elements visited by copying */

    tg_mjcf_counter **counter; /* honoured attributes, a list a row of the table */
} tg_mjcf;

/* Item i of a list of pointers. */
static inline void *tg_mjcf_pointer(const tg_mjcf_list *list, int i)
{
    return ((void **)list->data)[i];
}

static inline tg_mjcf_scope *tg_mjcf_scope_of(const tg_mjcf *r, const tg_xml *xml)
{
    return tg_mjcf_pointer(&r->scope, xml->scope);
}

static inline const tg_mjcf_compiler *tg_mjcf_compiler_of(const tg_mjcf *r, const tg_xml *xml)
{
    return &tg_mjcf_scope_of(r, xml)->compiler;
}

/* ---- mjcf.c ---- */

/* Reads a checked format: root is <mujoco>. */
tg_status tg_mjcf_load(tg_xml *root, const char *dir, const tg_load_options *options, tg_pool *pool, int nelement,
                       tg_model **model, tg_error *error);

/* A failure of the builder, with the place of the element it was given. */
tg_status tg_mjcf_builder_failed(tg_mjcf *r, const tg_xml *xml, tg_status status);
tg_status tg_mjcf_no_memory(tg_mjcf *r, const tg_xml *xml);

/* The last section of that name, the root if there is none: for messages. */
const tg_xml *tg_mjcf_section(const tg_mjcf *r, const char *name);

tg_status tg_mjcf_add_scope(tg_mjcf *r, const tg_mjcf_scope *settings); /* a copy of it */

/* Makes a file a scope: includes, checks, settings, and replicate and attach worked out. around: -1 for the main file.
 */
tg_status tg_mjcf_open_file(tg_mjcf *r, tg_xml *root, const char *name, const char *path, const char *dir, int around);

/* ---- expand.c, attach.c ---- */

tg_status tg_mjcf_expand(tg_mjcf *r, tg_xml *root);
tg_status tg_mjcf_models(tg_mjcf *r, const tg_xml *root); /* the files that assets `model` name */
tg_status tg_mjcf_attach(tg_mjcf *r, tg_xml *xml, const tg_table_row *row, tg_xml *root);

/* What stands for an element now: itself, or its first copy where it was replaced. */
static inline tg_xml *tg_mjcf_standing(tg_xml *xml)
{
    while (xml != NULL && xml->gone)
        xml = xml->copy;
    return xml;
}

/* ---- include.c ---- */

/* Puts included files into the tree. dir: where relative paths start. */
tg_status tg_mjcf_include(tg_mjcf *r, tg_xml *root, const char *dir);

/* The file that an attribute `file` names: from dir, or else beside the file in which it stands. */
tg_status tg_mjcf_find_path(tg_mjcf *r, const tg_xml *xml, const char *dir, const char **path);

/* ---- table.c, check.c ---- */

/* The table of MJCF; row 0 is <mujoco>. */
const tg_table_row *tg_mjcf_rows(void);

/* Checks a whole file against the table and reports what is not honoured; in strict mode refuses it. */
tg_status tg_mjcf_check(tg_mjcf *r, const tg_xml *root);

/* Adds a line to the report; in strict mode ignored physics is refused. */
tg_status tg_mjcf_report(tg_mjcf *r, tg_table_handling kind, const tg_xml *xml, const char *attribute,
                         const char *note);

/* Writes the counted honoured attributes to the report. */
tg_status tg_mjcf_report_honoured(tg_mjcf *r);

/* A custom tuple of two geoms with this name, then "." and the name of the exclude, or "#" and any number, is an
 * exclude of the two. */
#define TG_MJCF_EXCLUDE "tangere:exclude"

/* ---- names.c: names and references ---- */

tg_status tg_mjcf_remember(tg_mjcf *r, const tg_xml *xml, tg_element element, const char *name, int id);

/* The element of that name; TG_ERR_NAME with the attribute that asked when there is none. */
tg_status tg_mjcf_refer(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *name, tg_element element,
                        int *id);
const tg_mjcf_thing *tg_mjcf_thing_of(const tg_mjcf *r, tg_element element, int id);

/* Room for one more item; NULL when memory runs out. */
void *tg_mjcf_append(tg_mjcf *r, tg_mjcf_list *list, size_t size);
bool tg_mjcf_append_pointer(tg_mjcf *r, tg_mjcf_list *list, void *pointer); /* false: no memory */

/* ---- default.c ---- */

/* The classes of a scope: "main", with what holds where a file says nothing, and those of its sections. */
tg_status tg_mjcf_classes(tg_mjcf *r, tg_mjcf_scope *scope);

/* The class an attribute of an element names; fallback when it names none. */
tg_status tg_mjcf_find_class(tg_mjcf *r, const tg_xml *xml, const char *attribute, const tg_mjcf_class *fallback,
                             const tg_mjcf_class **found);

/* The class that counts for an element of the tree or of a section, from what it and the elements around it say. */
tg_status tg_mjcf_class_at(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_class **found);

/* ---- values.c: what written values mean ---- */

/* Reads which form of orientation an element has into its pose (its numbers are already there). */
tg_status tg_mjcf_pose_form(tg_mjcf *r, const tg_xml *xml, tg_mjcf_pose *pose);

/* pose[7] (position, unit quaternion) of a written pose. */
tg_status tg_mjcf_pose_resolve(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_pose *written, double pose[7]);

/* Position, orientation and sizes of a geom or site given by its two ends. */
tg_status tg_mjcf_fromto(tg_mjcf *r, const tg_xml *xml, int type, const double fromto[6], const double pos[3],
                         double pose[7], double size[3]);

double tg_mjcf_angle(const tg_mjcf *r, const tg_xml *xml, double written);

/* Whether limits hold: the word of xxlimited, the range, and autolimits. prefix: "", "ctrl", "force", ... */
tg_status tg_mjcf_limits(tg_mjcf *r, const tg_xml *xml, const char *prefix, int limited, const double range[2],
                         bool *on);

/* ---- sections ---- */

tg_status tg_mjcf_assets(tg_mjcf *r, const tg_xml *section);                                     /* asset.c */
void tg_mjcf_colour(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, double rgba[4]); /* material.c */
tg_status tg_mjcf_world(tg_mjcf *r, const tg_xml *section);                                      /* tree.c */
tg_status tg_mjcf_fit(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, int mesh, double size[3],
                      double pose[7]); /* fit.c: size of a shape that stands for a mesh, and its pose in the geom */
tg_status tg_mjcf_weigh_mesh(tg_mjcf *r, const tg_xml *xml, tg_mjcf_mesh_known *mesh); /* fills in its lump */
tg_status tg_mjcf_geom_lump(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, const tg_geom_def *geom,
                            tg_lump *lump); /* inertia.c: mass of a geom, in the frame of its body */
tg_status tg_mjcf_body_inertia(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_inertial *written, const tg_lump *geoms,
                               const double pos[3], tg_body_def *body);

/* What MuJoCo asks of a body that moves, and of a full inertia. */
#define TG_MJCF_MASS 1e-15
#define TG_MJCF_FULL_INERTIA 1e-14

/* Whether mass and moments of a body are at least TG_MJCF_MASS; and whether each body with a joint, or one fixed to it,
 * is such. */
bool tg_mjcf_has_mass(const tg_params *p, int body);
tg_status tg_mjcf_check_moving(tg_mjcf *r, const tg_model *m);

tg_status tg_mjcf_contact(tg_mjcf *r, const tg_xml *root); /* contact.c */

/* Excludes of two geoms, of all custom sections; and whether an element is one. */
tg_status tg_mjcf_geom_excludes(tg_mjcf *r, const tg_xml *root);
bool tg_mjcf_is_exclude(const tg_xml *xml);
tg_status tg_mjcf_equality_section(tg_mjcf *r, const tg_xml *section); /* equality.c */
tg_status tg_mjcf_tendons(tg_mjcf *r, const tg_xml *section);          /* tendon.c */
tg_status tg_mjcf_read_tendon(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_tendon *into);
tg_status tg_mjcf_actuators(tg_mjcf *r, const tg_xml *section); /* actuator.c */
extern const tg_mjcf_law tg_mjcf_first_law;
tg_mjcf_actuator_kind tg_mjcf_actuator_kind_of(const char *element);
/* Whether an actuator has an activation. */
tg_status tg_mjcf_actuator_has_act(tg_mjcf *r, const tg_xml *xml, bool *has);
tg_status tg_mjcf_default_actuator(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_class *class);
tg_status tg_mjcf_keys(tg_mjcf *r, const tg_xml *section);                      /* key.c */
const tg_mjcf_key_map *tg_mjcf_key_map_of(const tg_mjcf *r, const tg_xml *key); /* NULL: a key of the main file */
tg_status tg_mjcf_custom(tg_mjcf *r, const tg_xml *section);                    /* key.c */
bool tg_mjcf_used(tg_mjcf *r, tg_element element, const char *name); /* used.c: whether something refers to it */
tg_status tg_mjcf_discard_meshes(tg_mjcf *r);
tg_status tg_mjcf_custom_apply(tg_mjcf *r, tg_model *m);
tg_status tg_mjcf_missing_keys(tg_mjcf *r);
tg_status tg_mjcf_tune(tg_mjcf *r, tg_model *m); /* tune.c */

#endif
