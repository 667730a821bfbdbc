/* Names, and the tree that the joints make of the links. */
#include <stdlib.h>
#include <string.h>

#include "read/urdf/urdf.h"

/* ---- names ---- */

static int compare(const void *a, const void *b)
{
    const tg_urdf_name *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

void tg_urdf_sort(tg_urdf_name *names, int count)
{
    if (count > 0)
        qsort(names, (size_t)count, sizeof *names, compare);
}

int tg_urdf_find(const tg_urdf_name *names, int count, const char *name)
{
    int low = 0, high = count;
    while (low < high)
    {
        int middle = low + (high - low) / 2;
        int order = strcmp(names[middle].name, name);
        if (order == 0)
            return names[middle].index;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

static const tg_xml *xml_of(const tg_urdf *u, bool links, int index)
{
    return links ? u->link[index].xml : u->joint[index].xml;
}

static tg_status sort(tg_urdf *u, bool links, int count, tg_urdf_name **names)
{
    *names = TG_POOL_TAKE(u->base.pool, tg_urdf_name, count);
    if (*names == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    for (int i = 0; i < count; i++)
        (*names)[i] = (tg_urdf_name){links ? u->link[i].name : u->joint[i].name, i};
    tg_urdf_sort(*names, count);
    for (int i = 1; i < count; i++)
    {
        const tg_urdf_name *a = &(*names)[i - 1], *b = &(*names)[i];
        const tg_xml *first = xml_of(u, links, a->index);
        if (strcmp(a->name, b->name) == 0)
            return tg_xml_fail(u->base.error, TG_ERR_NAME, xml_of(u, links, b->index),
                               "name is used twice; the first is in %s:%d", first->file, first->line);
    }
    return TG_OK;
}

tg_status tg_urdf_sort_links(tg_urdf *u)
{
    return sort(u, true, u->nlink, &u->link_name);
}

tg_status tg_urdf_sort_joints(tg_urdf *u)
{
    return sort(u, false, u->njoint, &u->joint_name);
}

/* ---- the tree ---- */

/* Hangs the child of a joint on its parent. */
static tg_status hang(tg_urdf *u, int index)
{
    tg_urdf_joint *joint = &u->joint[index];
    tg_urdf_link *parent = &u->link[joint->parent], *child = &u->link[joint->child];
    if (joint->parent == joint->child)
        return tg_xml_fail(u->base.error, TG_ERR_MODEL, joint->xml, "link \"%.80s\" is its own parent", child->name);
    if (child->joint >= 0)
        return tg_xml_fail(u->base.error, TG_ERR_MODEL, joint->xml,
                           "link \"%.80s\" has two parents; the other joint is '%.80s' in line %d", child->name,
                           u->joint[child->joint].name, u->joint[child->joint].xml->line);
    child->joint = index;
    if (parent->first < 0)
        parent->first = index;
    else
        u->joint[parent->last].next = index;
    parent->last = index;
    return TG_OK;
}

static tg_status find_root(tg_urdf *u)
{
    u->root_link = -1;
    for (int i = 0; i < u->nlink; i++)
    {
        if (u->link[i].joint >= 0)
            continue;
        if (u->root_link >= 0)
            return tg_xml_fail(
                u->base.error, TG_ERR_MODEL, u->link[i].xml,
                "a second root: no joint has it as its child, and the same holds for link '%.80s' in line "
                "%d; join them by a joint",
                u->link[u->root_link].name, u->link[u->root_link].xml->line);
        u->root_link = i;
    }
    if (u->root_link < 0)
        return tg_xml_fail(u->base.error, TG_ERR_MODEL, u->link[0].xml,
                           "every link has a parent: the joints make a cycle");
    return TG_OK;
}

/* The links depth first: after a link, the children of its first joint come before those of the second. `next` in a
 * stack of joints: the one whose child is to be visited. */
static tg_status make_order(tg_urdf *u)
{
    int *stack = TG_POOL_TAKE(u->base.pool, int, u->nlink);
    bool *seen = TG_POOL_TAKE(u->base.pool, bool, u->nlink);
    u->order = TG_POOL_TAKE(u->base.pool, int, u->nlink);
    if (stack == NULL || seen == NULL || u->order == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    int count = 0, depth = 0, link = u->root_link;
    for (;;)
    {
        u->order[count++] = link;
        seen[link] = true;
        if (u->link[link].first >= 0)
            stack[depth++] = u->link[link].first;
        if (depth == 0)
            break;
        int joint = stack[depth - 1];
        link = u->joint[joint].child;
        if (u->joint[joint].next >= 0)
            stack[depth - 1] = u->joint[joint].next;
        else
            depth--;
    }
    for (int i = 0; i < u->nlink && count < u->nlink; i++)
    {
        if (!seen[i])
            return tg_xml_fail(u->base.error, TG_ERR_MODEL, u->joint[u->link[i].joint].xml,
                               "link \"%.80s\" is in a cycle of joints that does not reach the root '%.80s'",
                               u->link[i].name, u->link[u->root_link].name);
    }
    return TG_OK;
}

tg_status tg_urdf_link_tree(tg_urdf *u)
{
    tg_status status = TG_OK;
    for (int i = 0; i < u->njoint && status == TG_OK; i++)
        status = hang(u, i);
    if (status == TG_OK)
        status = find_root(u);
    return status == TG_OK ? make_order(u) : status;
}
