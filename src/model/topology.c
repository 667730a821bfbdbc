#include "model/topology.h"

#include "base/simd.h"

tg_joint_size tg_joint_size_of(tg_joint_type type)
{
    switch (type)
    {
    case TG_JOINT_FREE:
        return (tg_joint_size){7, 6, 2};
    case TG_JOINT_BALL:
        return (tg_joint_size){4, 3, 1};
    default:
        return (tg_joint_size){1, 1, 1};
    }
}

/* ---- joints: q, v ---- */

static void fill_joints(tg_model *m)
{
    int q = 0;
    int dof = 0;
    int joint = 0;
    int nquat = 0;
    for (int body = 0; body < m->nbody; body++)
    {
        m->body_joint[body] = joint;
        m->body_dof[body] = dof;
        for (; joint < m->njoint && m->joint_body[joint] == body; joint++)
        {
            tg_joint_size size = tg_joint_size_of((tg_joint_type)m->joint_type[joint]);
            m->joint_q[joint] = q;
            m->joint_dof[joint] = dof;
            q += size.nq;
            dof += size.nv;
            if (size.nq > size.nv) /* the last four of q are a quaternion */
                m->quat_q[nquat++] = q - 4;
        }
        m->body_njoint[body] = joint - m->body_joint[body];
        m->body_ndof[body] = dof - m->body_dof[body];
    }
}

/* ---- nodes ---- */

static int add_node(tg_model *m, int node, tg_node_type type, int parent, int joint, int dof, int ndof)
{
    m->node_type[node] = type;
    m->node_parent[node] = parent;
    m->node_dof[node] = dof;
    m->node_ndof[node] = ndof;
    m->node_body[node] = m->joint_body[joint];
    m->node_joint[node] = joint;
    m->node_tree[node] = m->body_tree[m->joint_body[joint]];
    m->node_massive[node] = 0;
    return node;
}

/* The nodes of a joint below parent; returns the last one. */
static int add_joint_nodes(tg_model *m, int joint, int parent, int *nnode)
{
    int dof = m->joint_dof[joint];
    m->joint_node[joint] = *nnode;
    switch ((tg_joint_type)m->joint_type[joint])
    {
    case TG_JOINT_FREE:
        parent = add_node(m, (*nnode)++, TG_NODE_TRANSLATION, parent, joint, dof, 3);
        return add_node(m, (*nnode)++, TG_NODE_BALL, parent, joint, dof + 3, 3);
    case TG_JOINT_BALL:
        return add_node(m, (*nnode)++, TG_NODE_BALL, parent, joint, dof, 3);
    case TG_JOINT_SLIDE:
        return add_node(m, (*nnode)++, TG_NODE_SLIDE, parent, joint, dof, 1);
    default:
        return add_node(m, (*nnode)++, TG_NODE_HINGE, parent, joint, dof, 1);
    }
}

static void fill_nodes(tg_model *m)
{
    m->node_type[0] = TG_NODE_WORLD;
    m->node_parent[0] = 0;
    m->node_dof[0] = 0;
    m->node_ndof[0] = 0;
    m->node_body[0] = 0;
    m->node_joint[0] = -1;
    m->node_tree[0] = -1;
    int nnode = 1;
    for (int body = 0; body < m->nbody; body++)
    {
        int node = m->body_node[m->body_parent[body]]; /* the world's own is 0 */
        for (int i = 0; i < m->body_njoint[body]; i++)
            node = add_joint_nodes(m, m->body_joint[body] + i, node, &nnode);
        m->body_node[body] = node;
        m->body_weld[body] = m->node_body[node];
        m->node_massive[node] = 1;
    }
    for (int node = m->nnode - 1; node >= 0; node--) /* subtrees are contiguous */
    {
        if (m->node_last[node] < node)
            m->node_last[node] = node;
        int parent = m->node_parent[node];
        if (m->node_last[parent] < m->node_last[node])
            m->node_last[parent] = m->node_last[node];
    }
}

/* ---- degrees of freedom ---- */

static void fill_dofs(tg_model *m)
{
    for (int node = 1; node < m->nnode; node++)
    {
        int parent = m->node_parent[node];
        int before = parent > 0 ? m->node_dof[parent] + m->node_ndof[parent] - 1 : -1;
        for (int i = 0; i < m->node_ndof[node]; i++)
        {
            int dof = m->node_dof[node] + i;
            m->dof_node[dof] = node;
            m->dof_joint[dof] = m->node_joint[node];
            m->dof_body[dof] = m->node_body[node];
            m->dof_parent[dof] = before;
            before = dof;
        }
    }
}

/* ---- trees ---- */

static void fill_trees(tg_model *m)
{
    for (int node = m->nnode - 1; node > 0; node--)
    {
        int tree = m->node_tree[node];
        m->tree_node[tree] = node;
        m->tree_body[tree] = m->node_body[node];
        m->tree_dof[tree] = m->node_dof[node];
        m->tree_nnode[tree]++;
        m->tree_ndof[tree] += m->node_ndof[node];
    }
    for (int tree = 0; tree < m->ntree; tree++)
    {
        int ld = v4_pad(m->tree_ndof[tree]);
        m->tree_ld[tree] = ld;
        m->tree_matrix[tree] = m->nmatrix;
        m->tree_panel[tree] = m->npanel;
        m->nmatrix += m->tree_ndof[tree] * ld;
        m->npanel += ld;
    }
}

void tg_topology_fill(tg_model *m)
{
    fill_joints(m);
    fill_nodes(m);
    fill_dofs(m);
    fill_trees(m);
}
