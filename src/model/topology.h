/* Nodes, degrees of freedom and trees: the part of a model that follows from its bodies and joints. */
#ifndef TG_MODEL_TOPOLOGY_H
#define TG_MODEL_TOPOLOGY_H

#include "model/model.h"

/* Entries of a joint in q and v, and its nodes. */
typedef struct tg_joint_size
{
    int nq, nv, nnode;
} tg_joint_size;

tg_joint_size tg_joint_size_of(tg_joint_type type);

/* Fills all node, dof and tree arrays, and of the bodies and joints: first entries, nodes, welded groups. Expects
 * body_parent, body_tree, joint_type, joint_body. */
void tg_topology_fill(tg_model *m);

#endif
