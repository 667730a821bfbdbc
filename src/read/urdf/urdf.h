/* Inside of the URDF reader.
 *
 * The reader goes in this order: the whole tree is checked against the table (table.c, check.c), the settings
 * of the <mujoco> element are read (urdf.c), links and joints are read as they are written (read.c) and linked to
 * a tree (tree.c), collision shapes and meshes are read (geom.c, path.c), the tree is cut into bodies
 * and handed to the builder (body.c). What both formats have (numbers in attributes, settings, inertia rules,
 * meshes, the report) is the MJCF reader's, which is why its state is a part of this one's. */
#ifndef TG_READ_URDF_URDF_H
#define TG_READ_URDF_URDF_H

#include "read/mjcf/mjcf.h"

/* ---- the table ---- */

/* Row 0 is <robot>. */
const tg_table_row *tg_urdf_rows(void);

/* Row 0 is the <robot> of an SRDF. */
const tg_table_row *tg_srdf_rows(void);

/* ---- elements as written ---- */

typedef enum tg_urdf_type
{
    TG_URDF_REVOLUTE,
    TG_URDF_CONTINUOUS,
    TG_URDF_PRISMATIC,
    TG_URDF_FIXED,
    TG_URDF_FLOATING,
    TG_URDF_PLANAR,
    TG_URDF_SPHERICAL,
    TG_URDF_TYPE_COUNT
} tg_urdf_type;

typedef struct tg_urdf_origin
{
    double xyz[3], rpy[3];
} tg_urdf_origin;

typedef struct tg_urdf_inertial
{
    double mass, inertia[6]; /* xx yy zz xy xz yz */
} tg_urdf_inertial;

typedef struct tg_urdf_limit
{
    double lower, upper, effort; /* NaN: not given */
} tg_urdf_limit;

typedef struct tg_urdf_dynamics
{
    double damping, friction;
} tg_urdf_dynamics;

typedef struct tg_urdf_mimic
{
    const char *joint;
    double multiplier, offset;
} tg_urdf_mimic;

typedef struct tg_urdf_shape
{
    double size[3], radius, length, scale[3];
    const char *filename;
} tg_urdf_shape;

typedef struct tg_urdf_compiler
{
    tg_mjcf_compiler mjcf;
    int inertiafromgeom, fusestatic, strippath; /* -1: not given */
} tg_urdf_compiler;

typedef struct tg_urdf_reference /* parent, child */
{
    const char *link;
} tg_urdf_reference;

typedef struct tg_srdf_pair
{
    const char *link1, *link2;
} tg_srdf_pair;

/* ---- links and joints ---- */

typedef struct tg_urdf_link
{
    const tg_xml *xml;
    const char *name;
    int joint;       /* that moves it; -1: the root */
    int first, last; /* joints to its children, in the order of the file; -1: none */
    int body;        /* in the list of bodies */
    double pose[7];  /* in that body */
    tg_lump lump;    /* in the frame of the link */
    int geom, ngeom; /* in the list of geoms */
    int geom_id;     /* of the first in the builder */
} tg_urdf_link;

typedef struct tg_urdf_joint
{
    const tg_xml *xml;
    const char *name;
    tg_urdf_type type;
    int parent, child; /* links */
    int next;          /* of the same parent, -1: none */
    double pose[7];    /* origin */
    double axis[3];    /* unit */
    bool limited;
    double range[2], effort; /* effort 0: no bound */
    tg_urdf_dynamics dynamics;
    const tg_xml *mimic_xml; /* NULL: no mimic */
    tg_urdf_mimic mimic;
    int id; /* in the builder; -1: fixed */
} tg_urdf_joint;

/* A collision shape that was read. */
typedef struct tg_urdf_geom
{
    const tg_xml *xml;
    tg_geom_def def; /* body is the link; pose in the link */
} tg_urdf_geom;

/* A body of the model: a link and the links merged into it. The first is the world. */
typedef struct tg_urdf_body
{
    int link;       /* whose name it has; -1: the world */
    int parent;     /* in the list of bodies */
    double pose[7]; /* in the parent */
    bool moves;     /* by a joint of its own */
    bool fixed;     /* to the world, by itself or through its parents */
    tg_lump lump;
    double carried; /* mass and moments of it and of all that hang on it, summed: 0 is nothing at all */
} tg_urdf_body;

typedef struct tg_urdf_mesh
{
    const char *path, *name, *stem;
    double scale[3];
    int id;
} tg_urdf_mesh;

typedef struct tg_urdf_counter tg_urdf_counter;

/* Elements sorted by name. */
typedef struct tg_urdf_name
{
    const char *name;
    int index;
} tg_urdf_name;

typedef struct tg_urdf
{
    tg_mjcf base;
    const tg_load_options *options;
    const char *dir; /* of the file */
    const tg_xml *root;
    bool merge; /* links on fixed joints are merged */
    tg_urdf_compiler compiler;

    tg_urdf_link *link;
    tg_urdf_joint *joint;
    int nlink, njoint;
    tg_urdf_name *link_name, *joint_name;
    int root_link;
    int free_link;     /* that the option for a floating base frees; -1: none */
    int *order;        /* links, depth first */
    tg_mjcf_list body; /* tg_urdf_body */
    tg_mjcf_list geom; /* tg_urdf_geom, by link in the order of the file */
    tg_mjcf_list mesh; /* tg_urdf_mesh */
    tg_urdf_counter *counter, *last_counter;
} tg_urdf;

/* ---- urdf.c ---- */

/* root is <robot>. */
tg_status tg_urdf_load(tg_xml *root, const char *dir, const tg_load_options *options, tg_pool *pool, int nelement,
                       tg_model **model, tg_error *error);

/* ---- check.c ---- */

/* Checks a tree against a table and reports what is not honoured; in strict mode refuses ignored physics. */
tg_status tg_urdf_check(tg_urdf *u, const tg_xml *xml, const tg_table_row *rows);

/* Writes what was counted to the report. */
tg_status tg_urdf_report_counted(tg_urdf *u);

/* A line in the report. */
tg_status tg_urdf_report(tg_urdf *u, tg_table_handling kind, const tg_xml *xml, const char *attribute,
                         const char *note);

/* ---- read.c ---- */

/* The first child of that name, or NULL. */
const tg_xml *tg_urdf_child(const tg_xml *xml, const char *name);

/* Reads the attributes of an element; row: that of its parent. */
tg_status tg_urdf_read(tg_urdf *u, const tg_xml *xml, const tg_table_row *parent, void *into);

/* The pose of the origin in an element; identity when there is none. */
tg_status tg_urdf_read_origin(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, double pose[7]);

/* Links and joints as written. */
tg_status tg_urdf_read_links(tg_urdf *u);
tg_status tg_urdf_read_joints(tg_urdf *u);

/* Mass of a link by its inertial element and, where the settings say so, its geoms. */
tg_status tg_urdf_weigh_link(tg_urdf *u, int index);

/* ---- tree.c ---- */

/* By name, then by index. */
void tg_urdf_sort(tg_urdf_name *names, int count);

/* -1: there is none of that name. */
int tg_urdf_find(const tg_urdf_name *names, int count, const char *name);

/* Sorts names; refuses duplicates. */
tg_status tg_urdf_sort_links(tg_urdf *u);
tg_status tg_urdf_sort_joints(tg_urdf *u);

/* Parents, children, the root, the order. */
tg_status tg_urdf_link_tree(tg_urdf *u);

/* ---- geom.c, path.c ---- */

tg_status tg_urdf_read_geoms(tg_urdf *u);

/* Where a mesh is. *path NULL: nowhere; looked then says where it was looked for. *note: not NULL when the place is not
 * the one that was written. */
tg_status tg_urdf_find_mesh(tg_urdf *u, const tg_xml *xml, const char *filename, const char **path, const char **note,
                            char *looked, size_t size);

/* ---- visual.c ---- */

/* The visual shapes of a link, whose body and pose are known. */
tg_status tg_urdf_give_visuals(tg_urdf *u, const tg_urdf_link *link);

/* ---- body.c ---- */

/* Cuts the tree into bodies, and gives them to the builder. */
tg_status tg_urdf_bodies(tg_urdf *u);

/* ---- srdf.c ---- */

tg_status tg_urdf_srdf(tg_urdf *u, const char *path);

#endif
