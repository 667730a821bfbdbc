/* Dofs that change a tendon's length: those on the ways from its sites (or joints) to the root. Trees that have dofs of
 * one tendon in common, directly or through other tendons, form a group: with springs and dampers at the end of a step,
 * M + sum c m m^T has entries between any two of them. */
#include "model/coupling.h"

#include "base/simd.h"

/* marks the dofs from one dof to the root */
static void mark(const tg_model *m, int dof, int *marked)
{
    for (int k = dof; k >= 0; k = m->dof_parent[k])
        marked[k] = 1;
}

static int last_dof(const tg_model *m, int body)
{
    int node = m->body_node[body];
    return node == 0 ? -1 : m->node_dof[node] + m->node_ndof[node] - 1;
}

/* A row of marks becomes the list of what is marked. */
static void fill_dofs(tg_model *m, int tendon)
{
    int *row = m->tendon_dof + (size_t)tendon * (size_t)m->nv, count = 0;
    for (int i = m->tendon_path[tendon]; i < m->tendon_path[tendon] + m->tendon_npath[tendon]; i++)
    {
        if (m->path_type[i] == TG_PATH_JOINT)
            row[m->joint_dof[m->path_id[i]]] = 1;
        else if (m->path_type[i] == TG_PATH_SITE)
            mark(m, last_dof(m, m->site_body[m->path_id[i]]), row);
    }
    for (int k = 0; k < m->nv; k++)
        if (row[k])
            row[count++] = k;
    m->tendon_ndof[tendon] = count;
    int *run = m->tendon_run + (size_t)tendon * 2 * (size_t)m->nv, runs = 0;
    for (int i = 0; i < count; i++)
    {
        bool goes_on = runs > 0 && row[i] == run[2 * runs - 2] + run[2 * runs - 1] &&
                       m->node_tree[m->dof_node[row[i]]] == m->node_tree[m->dof_node[row[i - 1]]];
        if (goes_on)
            run[2 * runs - 1]++;
        else
        {
            run[2 * runs] = row[i];
            run[2 * runs++ + 1] = 1;
        }
    }
    m->tendon_nrun[tendon] = runs;
}

/* first dof of a body that moves freely and alone and is no body welded to it; -1: a body that cannot move; -2: others
 */
static int free_dof(const tg_model *m, int body)
{
    int node = m->body_node[body];
    if (node == 0)
        return -1;
    bool free = m->joint_type[m->node_joint[node]] == TG_JOINT_FREE && m->tree_ndof[m->node_tree[node]] == 6;
    return free && m->body_weld[body] == body ? m->tree_dof[m->node_tree[node]] : -2;
}

/* cables between two bodies, of which one may be the world */
static void fill_cable(tg_model *m, int tendon)
{
    int *cable = m->tendon_cable + 4 * tendon;
    const int *type = m->path_type + m->tendon_path[tendon], *site = m->path_id + m->tendon_path[tendon];
    cable[0] = -1;
    if (m->tendon_npath[tendon] != 2 || type[0] != TG_PATH_SITE || type[1] != TG_PATH_SITE)
        return;
    int from = free_dof(m, m->site_body[site[0]]), to = free_dof(m, m->site_body[site[1]]);
    if (from == -2 || to == -2 || from == to)
        return;
    cable[0] = site[0];
    cable[1] = site[1];
    cable[2] = from;
    cable[3] = to;
}

/* appends the cables that have an end at both of two dofs, or at one (the same twice): the dofs, how many, and which */
static int *list_block(const tg_model *m, int a, int b, int *block)
{
    int count = 0;
    for (int t = 0; t < m->ntendon; t++)
    {
        const int *cable = m->tendon_cable + 4 * t, *dof = cable + 2;
        if (cable[0] >= 0 && (dof[0] == a || dof[1] == a) && (dof[0] == b || dof[1] == b))
            block[3 + count++] = t;
    }
    block[0] = a;
    block[1] = b;
    block[2] = count;
    return count > 0 ? block + 3 + count : block;
}

/* Blocks of the matrix of a group to which cables add, those of single bodies and of pairs: the parts of all cables of
 * a block are summed in registers. A list of list_block's, then -1. And the sites of all cables. */
static void list_cables(tg_model *m)
{
    int *block = m->cable_block, *site = m->cable_site;
    for (int i = 0; i < m->nsite; i++)
    {
        bool ends = false;
        for (int t = 0; t < m->ntendon && !ends; t++)
            ends = m->tendon_cable[4 * t] >= 0 && (m->tendon_cable[4 * t] == i || m->tendon_cable[4 * t + 1] == i);
        if (ends)
            *site++ = i;
    }
    *site = -1;
    for (int t = 0; t < m->ntree && m->ntendon > 0; t++)
        for (int other = t; other < m->ntree; other++)
            if (m->tree_ndof[t] == 6 && m->tree_ndof[other] == 6)
                block = list_block(m, m->tree_dof[t], m->tree_dof[other], block);
    *block = -1;
}

/* ---- groups ---- */

static int root_of(const int *parent, int tree)
{
    while (parent[tree] != tree)
        tree = parent[tree];
    return tree;
}

/* joins two trees; the smaller number stays the root */
static void join(int *parent, int a, int b)
{
    a = root_of(parent, a);
    b = root_of(parent, b);
    parent[a < b ? b : a] = a < b ? a : b;
}

static int tree_of(const tg_model *m, int dof)
{
    return m->node_tree[m->dof_node[dof]];
}

/* root: of every tree (a tree by itself: its own); coupled: it is in a group at all */
static void find_groups(const tg_model *m, int *root, int *coupled)
{
    for (int t = 0; t < m->ntree; t++)
        root[t] = t;
    for (int t = 0; t < m->ntendon; t++)
    {
        const int *dof = m->tendon_dof + (size_t)t * (size_t)m->nv;
        for (int i = 0; i < m->tendon_ndof[t]; i++)
        {
            coupled[tree_of(m, dof[i])] = 1;
            join(root, tree_of(m, dof[0]), tree_of(m, dof[i]));
        }
    }
    for (int i = 0; i < m->nu; i++)
    {
        int tree = m->actuator_transmission[i] == TG_TRANSMISSION_SITE
                       ? m->body_tree[m->site_body[m->actuator_target[i]]]
                       : -1;
        if (tree >= 0)
            coupled[tree] = 1;
    }
}

static void fill_group(tg_model *m, int group)
{
    int count = 0, trees = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        count += m->tree_group[t] == group ? m->tree_ndof[t] : 0;
        trees += m->tree_group[t] == group;
    }
    m->group_tree[group + 1] = m->group_tree[group] + trees;
    m->group_ndof[group] = count;
    m->group_start[group + 1] = m->group_start[group] + count;
    int size = count <= TG_GROUP_DOFS ? count * v4_pad(count) : 0;
    m->group_matrix[group + 1] = m->group_matrix[group] + size;
}

void tg_coupling_fill(tg_model *m)
{
    for (int t = 0; t < m->ntendon; t++)
    {
        fill_dofs(m, t);
        fill_cable(m, t);
    }
    list_cables(m);
    int *root = m->group_ndof, *coupled = m->group_matrix; /* until they are needed */
    find_groups(m, root, coupled);
    m->ngroup = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        int of = root_of(root, t);
        m->tree_group[t] = !coupled[t] ? -1 : of < t ? m->tree_group[of] : m->ngroup++;
    }
    m->group_tree[0] = m->group_start[0] = m->group_matrix[0] = 0;
    for (int g = 0; g < m->ngroup; g++)
        fill_group(m, g);
}

bool tg_groups_fit(const tg_model *m, int *group)
{
    for (int g = 0; g < m->ngroup; g++)
    {
        *group = g;
        if (m->group_ndof[g] > TG_GROUP_DOFS)
            return false;
    }
    return true;
}
