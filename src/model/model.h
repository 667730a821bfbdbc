/* Inside of tg_model and tg_params. Only src/model writes to a model; everybody else has it const. */
#ifndef TG_MODEL_MODEL_H
#define TG_MODEL_MODEL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "math/ltl.h"
#include "model/polytope.h"
#include "tangere/model.h"

/* ---- nodes: the kinematic tree that the recursions run over ----
 *
 * A node is one group of degrees of freedom that moves at once: a hinge or slide (1), a ball (3), or the translation of
 * a free joint (3, followed by a ball node for its rotation). Node 0 is the world. Nodes are numbered depth first,
 * parent[i] < i. A body hangs on the node of its last joint, a body without joints on that of its parent. Massless
 * links between the joints of one body, and bodies welded to another, so cost nothing. */
typedef enum tg_node_type
{
    TG_NODE_WORLD,
    TG_NODE_TRANSLATION,
    TG_NODE_BALL,
    TG_NODE_SLIDE,
    TG_NODE_HINGE
} tg_node_type;

/* Offsets of the parameter fields in the vector: offset.body_mass + body, offset.body_pos + 3 * body, ... */
typedef struct tg_param_offsets
{
#define X(ELEMENT, element, field, size, DOMAIN, doc) int element##_##field;
#include "model/params.def"
#undef X
} tg_param_offsets;

/* Arrays of a model: X(type, name, count, documentation); counts in terms of the model m. */
#define TG_MODEL_FIELDS(X)                                                                                             \
    X(int, body_parent, m->nbody, "parent body; of the world: 0")                                                      \
    X(int, body_tree, m->nbody, "kinematic tree, -1 if the body cannot move")                                          \
    X(int, body_node, m->nbody, "node that carries the body")                                                          \
    X(int, body_weld, m->nbody, "the first body of the group welded together: the one with the joint, or the world")   \
    X(int, body_joint, m->nbody, "first joint")                                                                        \
    X(int, body_njoint, m->nbody, "")                                                                                  \
    X(int, body_dof, m->nbody, "first dof")                                                                            \
    X(int, body_ndof, m->nbody, "")                                                                                    \
    X(int, body_geom, m->nbody, "first geom")                                                                          \
    X(int, body_ngeom, m->nbody, "")                                                                                   \
    X(int, joint_type, m->njoint, "tg_joint_type")                                                                     \
    X(int, joint_body, m->njoint, "")                                                                                  \
    X(int, joint_q, m->njoint, "first entry in q")                                                                     \
    X(int, joint_dof, m->njoint, "first entry in v")                                                                   \
    X(int, joint_node, m->njoint, "its node; of a free joint: that of the translation, the rotation is the next")      \
    X(int, joint_limited, m->njoint, "bool")                                                                           \
    X(int, joint_force_limited, m->njoint, "bool")                                                                     \
    X(int, quat_q, m->nquat, "where the quaternions of q start")                                                       \
    X(int, node_type, m->nnode, "tg_node_type")                                                                        \
    X(int, node_parent, m->nnode, "")                                                                                  \
    X(int, node_dof, m->nnode, "first dof")                                                                            \
    X(int, node_ndof, m->nnode, "")                                                                                    \
    X(int, node_body, m->nnode, "the body whose joint it is")                                                          \
    X(int, node_joint, m->nnode, "")                                                                                   \
    X(int, node_tree, m->nnode, "-1 for the world")                                                                    \
    X(int, node_last, m->nnode, "the last node of its subtree: the subtree is node .. node_last")                      \
    X(int, node_massive, m->nnode, "bool: a body hangs on it (not a link between the joints of one body)")             \
    X(int, dof_node, m->nv, "")                                                                                        \
    X(int, dof_joint, m->nv, "")                                                                                       \
    X(int, dof_body, m->nv, "")                                                                                        \
    X(int, dof_parent, m->nv, "the dof before it on the path to the root, -1 at a root")                               \
    X(int, tree_body, m->ntree, "its first moving body; the origin of its spatial vectors is that body's position")    \
    X(int, tree_node, m->ntree, "first node; they are contiguous")                                                     \
    X(int, tree_nnode, m->ntree, "")                                                                                   \
    X(int, tree_dof, m->ntree, "first dof; they are contiguous")                                                       \
    X(int, tree_ndof, m->ntree, "")                                                                                    \
    X(int, tree_ld, m->ntree, "ndof rounded up to 4: length of a row of the tree's matrices")                          \
    X(int, tree_matrix, m->ntree, "where the tree's ndof x ld matrix starts in an array of nmatrix doubles")           \
    X(int, tree_panel, m->ntree, "where the tree's ld numbers start in an array of npanel doubles")                    \
    X(tg_ltl_pattern, tree_ltl, m->ntree, "ancestors of each dof, for the factorisation")                              \
    X(int, geom_type, m->ngeom, "tg_geom_type")                                                                        \
    X(int, geom_body, m->ngeom, "")                                                                                    \
    X(int, geom_mesh, m->ngeom, "-1: none")                                                                            \
    X(int, geom_hfield, m->ngeom, "-1: none")                                                                          \
    X(int, geom_contype, m->ngeom, "")                                                                                 \
    X(int, geom_conaffinity, m->ngeom, "")                                                                             \
    X(int, geom_condim, m->ngeom, "")                                                                                  \
    X(int, geom_priority, m->ngeom, "")                                                                                \
    X(int, geom_group, m->ngeom, "")                                                                                   \
    X(double, geom_gap, m->ngeom, "stored only")                                                                       \
    X(double, geom_rgba, 4 * m->ngeom, "for looks alone")                                                              \
    X(tg_visual_info, visual, m->nvisual, "in the order in which they were given")                                     \
    X(int, site_body, m->nsite, "")                                                                                    \
    X(int, tendon_type, m->ntendon, "tg_tendon_type")                                                                  \
    X(int, tendon_path, m->ntendon, "first item of its path")                                                          \
    X(int, tendon_npath, m->ntendon, "")                                                                               \
    X(int, tendon_limited, m->ntendon, "bool")                                                                         \
    X(int, tendon_law, m->ntendon, "tg_tendon_law")                                                                    \
    X(int, tendon_ndof, m->ntendon, "how many dofs can change its length")                                             \
    X(int, tendon_dof, (size_t)m->ntendon *(size_t)m->nv, "these, ascending; row by row")                              \
    X(int, tendon_run, (size_t)m->ntendon * 2 * (size_t)m->nv, "runs of consecutive dofs among them: first, count")    \
    X(int, tendon_nrun, m->ntendon, "")                                                                                \
    X(int, tendon_cable, 4 * m->ntendon, "tg_cable_ends: two sites, first dofs of their bodies")                       \
    X(int, cable_site, m->nsite + 1, "sites at which cables end, then -1")                                             \
    X(int, cable_block, 12 * m->ntendon + 1, "cables by the free bodies they pull at (coupling.c)")                    \
    X(int, tree_group, m->ntree, "group of trees that tendons couple (coupling.c), -1: in none")                       \
    X(int, group_ndof, m->ntree, "")                                                                                   \
    X(int, group_tree, m->ntree + 1, "where a group's trees start in an array of those of all groups")                 \
    X(int, group_start, m->ntree + 1, "where a group's dofs start in an array of those of all groups")                 \
    X(int, group_matrix, m->ntree + 1, "where its ndof x v4_pad(ndof) matrix starts in an array of doubles")           \
    X(int, path_type, m->npath, "tg_path_type")                                                                        \
    X(int, path_id, m->npath, "joint or site; -1 for a pulley")                                                        \
    X(int, actuator_transmission, m->nu, "tg_transmission")                                                            \
    X(int, actuator_target, m->nu, "joint, tendon or site")                                                            \
    X(int, actuator_dynamics, m->nu, "tg_dynamics_type")                                                               \
    X(int, actuator_act, m->nu, "entry in act, -1: none")                                                              \
    X(int, actuator_act_early, m->nu, "bool")                                                                          \
    X(int, actuator_ctrl_limited, m->nu, "bool")                                                                       \
    X(int, actuator_force_limited, m->nu, "bool")                                                                      \
    X(int, actuator_act_limited, m->nu, "bool")                                                                        \
    X(int, actuator_drives, m->nu, "tg_drives")                                                                        \
    X(int, equality_type, m->nequality, "tg_equality_type")                                                            \
    X(int, equality_obj1, m->nequality, "")                                                                            \
    X(int, equality_obj2, m->nequality, "-1: none")                                                                    \
    X(int, equality_active, m->nequality, "bool")                                                                      \
    X(int, pair_geom1, m->npair, "")                                                                                   \
    X(int, pair_geom2, m->npair, "")                                                                                   \
    X(int, pair_condim, m->npair, "")                                                                                  \
    X(double, pair_gap, m->npair, "stored only")                                                                       \
    X(int, exclude_body1, m->nexclude, "")                                                                             \
    X(int, exclude_body2, m->nexclude, "")                                                                             \
    X(int, exclude_geom1, m->nexclude, "-1: all geoms of the two bodies")                                              \
    X(int, exclude_geom2, m->nexclude, "")                                                                             \
    X(int, next_collider, m->nbody, "the next body with a geom that can collide; nbody: none")                         \
    X(int, next_mover, m->nbody, "the next such body that is not fixed to the world")                                  \
    X(int, body_apart_start, m->nbody + 1, "of a body, in body_apart: the bodies that an exclude keeps apart from it") \
    X(int, body_apart, 2 * m->nexclude, "")                                                                            \
    X(int, geom_apart_start, m->ngeom + 1, "the same for excludes of two geoms")                                       \
    X(int, geom_apart, 2 * m->nexclude, "")                                                                            \
    X(int, geom_paired_start, m->ngeom + 1, "the same for the geoms that it is a declared pair with")                  \
    X(int, geom_paired, 2 * m->npair, "")                                                                              \
    X(int, geom_pair, 2 * m->npair, "which pair that is")                                                              \
    X(double, key_time, m->nkey, "")                                                                                   \
    X(double, key_q, (size_t)m->nkey * m->nq, "")                                                                      \
    X(double, key_v, (size_t)m->nkey * m->nv, "")                                                                      \
    X(double, key_act, (size_t)m->nkey * m->na, "")                                                                    \
    X(double, key_ctrl, (size_t)m->nkey * m->nu, "")                                                                   \
    X(int, mesh_vertex, m->nmesh, "first vertex")                                                                      \
    X(int, mesh_nvertex, m->nmesh, "")                                                                                 \
    X(int, mesh_face, m->nmesh, "first face")                                                                          \
    X(int, mesh_nface, m->nmesh, "")                                                                                   \
    X(tg_polytope *, mesh_polytope, m->nmesh, "hull of a mesh that a colliding geom has; NULL for others")             \
    X(double, mesh_box, 8 * m->nmesh, "see tg_mesh_box")                                                               \
    X(double, vertex, (size_t)3 * m->nvertex, "")                                                                      \
    X(int, face, (size_t)3 * m->nface, "vertices of a triangle, counted from the mesh's first")                        \
    X(int, hfield_nrow, m->nhfield, "")                                                                                \
    X(int, hfield_ncol, m->nhfield, "")                                                                                \
    X(int, hfield_elevation, m->nhfield, "first number")                                                               \
    X(double, elevation, m->nelevation, "")                                                                            \
    X(tg_param_slice, slice, m->nslice, "in the order of the vector")                                                  \
    X(tg_report_entry, report, m->nreport, "")                                                                         \
    X(char, text, m->ntext, "all strings, each terminated; the first is empty")                                        \
    X(int, name_start, m->nname, "of element e, index i: text + name_start[name_base[e] + i]")                         \
    X(int, name_sorted, m->nname, "indices of each element kind in the order of their names, for tg_find")

struct tg_model
{
    /* sizes; nbody and nnode count the world */
    int nq, nv, nu, na, nbody, njoint, ngeom, nsite, ntendon, npath, nequality, npair, nexclude, nkey, nmesh, nhfield;
    int nnode, ntree, nvertex, nface, nelevation, nparams, nslice, nreport, ntext, nname, nquat, nvisual;
    int nmatrix;    /* doubles in all trees' ndof x ld matrices */
    int npanel;     /* doubles in all trees' rows of ld */
    int ncandidate; /* pairs of geoms that the filters let collide */
    int ngroup;     /* groups of trees that tendons and actuators on sites couple */
    double timestep;
    bool implicit;            /* damping of actuators acts on v+ unless the step's options say otherwise */
    bool implicit_gyroscopic; /* the same for gyroscopic forces */
    int model_name;           /* start in text */
    int name_base[TG_ELEMENT_COUNT];
    tg_param_offsets offset;

#define X(type, name, count, doc) type *name;
    TG_MODEL_FIELDS(X)
#undef X

    tg_params *params;                 /* the model's own */
    atomic_uint_fast64_t *generations; /* how many generations its parameters, all together, have had */
    tg_allocator allocator;
    size_t bytes;
};

/* ---- parameters and what is derived from them ---- */

/* A hinge seen from the frame that it starts from. The first joint of a body starts from the parent's frame, with the
 * fixed rotation F of body.quat in between; a later joint starts from the body's frame as the joints before have turned
 * it, with F = 1. The rotation is R(q) = R0 + cos(q - ref) R1 + sin(q - ref) R2, from Rodrigues' formula: R0 = F a a^T,
 * R1 = F (1 - a a^T), R2 = F [a]x; columns, each padded to 4. The anchor in the starting frame, joint_point, is
 * body.pos + F joint.pos for the first joint, joint.pos for a later one. */
typedef struct tg_hinge_const
{
    double r0[12], r1[12], r2[12];
} tg_hinge_const;

/* Arrays of tg_params: X(type, name, count, documentation); counts in terms of the model m. */
#define TG_PARAMS_FIELDS(X)                                                                                            \
    X(double, value, m->nparams, "the vector itself")                                                                  \
    X(double, q0, m->nq, "reference configuration")                                                                    \
    X(double, q_spring, m->nq, "configuration in which the joint springs are at rest")                                 \
    X(double, q0_pose, m->ntendon > 0 ? 7 * m->nbody : 0, "poses of the bodies in the reference configuration")        \
    X(double, tendon_length0, m->ntendon, "lengths in the reference configuration")                                    \
    X(double, body_rot, 12 * m->nbody, "rotation of body.quat, three columns padded to 4")                             \
    X(double, weld_pos, 4 * m->nbody, "origin of the body in the frame of body_weld; zero for that body itself")       \
    X(double, weld_rot, 12 * m->nbody, "rotation of the body in the frame of body_weld, columns padded to 4")          \
    X(double, joint_axis, 4 * m->njoint, "normalised axis of a hinge or slide, body frame; of others zero")            \
    X(double, joint_point, 4 * m->njoint, "anchor in the frame the joint starts from: see tg_hinge_const")             \
    X(tg_hinge_const, hinge, m->njoint, "of hinge joints")                                                             \
    X(double, node_mass, m->nnode, "of the bodies on the node, lumped")                                                \
    X(double, node_com, 4 * m->nnode, "their centre of mass, frame of node_body")                                      \
    X(double, node_inertia, 12 * m->nnode, "about node_com, axes of node_body; symmetric, columns padded to 4")        \
    X(double, dof_armature, m->nv, "")                                                                                 \
    X(double, dof_damping, m->nv, "")                                                                                  \
    X(double, geom_rot, 12 * m->ngeom, "rotation of geom.quat, three columns padded to 4")                             \
    X(double, geom_centre, 4 * m->ngeom, "of the box around the geom, its own frame")                                  \
    X(double, geom_half, 4 * m->ngeom, "half lengths of that box; a plane's are infinite")                             \
    X(double, geom_radius, m->ngeom, "of the sphere around geom_centre")                                               \
    X(double, dof_inertia, m->nv, "diagonal of the mass matrix in the reference configuration, with armature")         \
    X(double, subtree, 10 * m->nbody, "tg_lump of a body and all below it in the reference configuration")

struct tg_params
{
    const tg_model *model;
    bool ready;          /* false between tg_params_data and tg_params_changed */
    uint64_t generation; /* of these values: another one after tg_params_changed, and of no others of the model */

#define X(type, name, count, doc) type *name;
    TG_PARAMS_FIELDS(X)
#undef X

    tg_allocator allocator;
};

/* A field as an array over its elements: TG_PARAM(p, body_mass)[body], TG_PARAM(p, body_pos) + 3 * body. */
#define TG_PARAM(p, field) ((p)->value + (p)->model->offset.field)

/* Numbers that an element has of each field: TG_SIZE_body_pos, ... */
enum
{
#define X(ELEMENT, element, field, size, DOMAIN, doc) TG_SIZE_##element##_##field = size,
#include "model/params.def"
#undef X
};

/* Where the numbers of one element are, in the vector (or in a gradient or a change of it), and these numbers. */
#define TG_PARAM_INDEX(m, field, element) ((m)->offset.field + TG_SIZE_##field * (element))
#define TG_PARAM_OF(p, field, element) ((p)->value + TG_PARAM_INDEX((p)->model, field, element))

#endif
