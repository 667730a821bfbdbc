#include "model/order.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/topology.h"

/* ---- bodies, depth first ---- */

typedef struct links
{
    int *child, *sibling; /* first child, next sibling of a body; -1: none. By id. */
} links;

static void link_bodies(const tg_builder *b, links *l)
{
    int nbody = b->list[TG_BODY].count;
    for (int id = 0; id < nbody; id++)
        l->child[id] = l->sibling[id] = -1;
    for (int id = nbody - 1; id > 0; id--) /* backwards, so that the first child comes first */
    {
        int parent = TG_ITEM(b, BODY, body, id)->def.parent;
        l->sibling[id] = l->child[parent];
        l->child[parent] = id;
    }
}

/* Numbers the bodies that hang on the world; returns how many there are. */
static int number_bodies(const tg_builder *b, const links *l, int *of, int *id_of)
{
    int count = 0;
    int id = 0;
    while (id >= 0)
    {
        of[id] = count;
        id_of[count++] = id;
        if (l->child[id] >= 0)
        {
            id = l->child[id];
            continue;
        }
        while (id > 0 && l->sibling[id] < 0)
            id = TG_ITEM(b, BODY, body, id)->def.parent;
        id = id > 0 ? l->sibling[id] : -1;
    }
    return count;
}

static tg_status refuse_cycle(tg_builder *b, const int *of)
{
    int id = 0;
    while (of[id] >= 0)
        id++;
    int nbody = b->list[TG_BODY].count;
    for (int i = 0; i < nbody; i++) /* from anywhere below the cycle into it */
        id = TG_ITEM(b, BODY, body, id)->def.parent;

    char text[300];
    size_t used = 0;
    int first = id;
    do
    {
        const char *name = tg_builder_name_of(b, TG_BODY, id);
        char label[64];
        if (name[0] != '\0')
            snprintf(label, sizeof label, "'%.40s'", name);
        else
            snprintf(label, sizeof label, "#%d", id);
        int written = snprintf(text + used, sizeof text - used, "%s -> ", label);
        used += (size_t)written;
        id = TG_ITEM(b, BODY, body, id)->def.parent;
    } while (id != first && used < sizeof text - 80);
    return tg_fail(&b->error, TG_ERR_MODEL, "body #%d: parent: bodies form a cycle: %s%s", first, text,
                   id == first ? "(the first again)" : "...");
}

/* ---- what hangs on bodies ---- */

static int body_of(const tg_builder *b, tg_element element, int id)
{
    if (element == TG_JOINT)
        return TG_ITEM(b, JOINT, joint, id)->def.body;
    if (element == TG_GEOM)
        return TG_ITEM(b, GEOM, geom, id)->def.body;
    return TG_ITEM(b, SITE, site, id)->def.body;
}

/* Counting sort by body, stable. next: nbody + 1 ints of scratch. */
static void number_by_body(const tg_builder *b, tg_element element, const int *body, int *next, int *of, int *id_of)
{
    int nbody = b->list[TG_BODY].count;
    int count = b->list[element].count;
    memset(next, 0, (size_t)(nbody + 1) * sizeof *next);
    for (int id = 0; id < count; id++)
        next[body[body_of(b, element, id)] + 1]++;
    for (int i = 0; i < nbody; i++)
        next[i + 1] += next[i];
    for (int id = 0; id < count; id++)
    {
        int index = next[body[body_of(b, element, id)]]++;
        of[id] = index;
        id_of[index] = id;
    }
}

/* A tree starts at a body with joints whose ancestors have none. has_joint: by model index. */
static void number_trees(const tg_builder *b, tg_order *order, const int *has_joint)
{
    order->tree[0] = -1;
    for (int i = 1; i < b->list[TG_BODY].count; i++)
    {
        int id = tg_order_id(order, TG_BODY, i);
        int parent = tg_order_of(order, TG_BODY, TG_ITEM(b, BODY, body, id)->def.parent);
        order->tree[i] = order->tree[parent];
        if (order->tree[i] < 0 && has_joint[i])
            order->tree[i] = order->ntree++;
    }
}

/* The dofs of a body are a chain that continues the chain of its parent. last: nbody ints of scratch, the last dof
 * on the way to each body, counted from its tree's first. */
static void link_dofs(const tg_builder *b, tg_order *order, int *last)
{
    int njoint = b->list[TG_JOINT].count;
    int joint = 0;
    int dof = 0;
    int ntree = 0;
    last[0] = -1;
    for (int body = 1; body < b->list[TG_BODY].count; body++)
    {
        int parent = TG_ITEM(b, BODY, body, tg_order_id(order, TG_BODY, body))->def.parent;
        int before = last[tg_order_of(order, TG_BODY, parent)];
        if (order->tree[body] == ntree)
            order->tree_dof[ntree++] = dof;
        for (; joint < njoint; joint++)
        {
            const tg_joint_def *def = &TG_ITEM(b, JOINT, joint, tg_order_id(order, TG_JOINT, joint))->def;
            if (tg_order_of(order, TG_BODY, def->body) != body)
                break;
            for (int i = 0; i < tg_joint_size_of(def->type).nv; i++)
            {
                order->dof_parent[dof] = before;
                before = dof++ - order->tree_dof[ntree - 1];
            }
        }
        last[body] = before;
    }
    order->tree_dof[ntree] = dof;
}

/* ---- all of it ---- */

static int count_dofs(const tg_builder *b)
{
    int count = 0;
    for (int id = 0; id < b->list[TG_JOINT].count; id++)
        count += tg_joint_size_of(TG_ITEM(b, JOINT, joint, id)->def.type).nv;
    return count;
}

static int *place(const tg_builder *b, tg_arena *arena, tg_order *order, links *l)
{
    int nbody = b->list[TG_BODY].count;
    const tg_element sorted[] = {TG_BODY, TG_JOINT, TG_GEOM, TG_SITE};
    for (int i = 0; i < 4; i++)
    {
        int count = b->list[sorted[i]].count;
        order->of[sorted[i]] = TG_TAKE(arena, int, count, "order");
        order->id[sorted[i]] = TG_TAKE(arena, int, count, "order");
        order->origin.of[sorted[i]] = order->id[sorted[i]];
    }
    order->tree = TG_TAKE(arena, int, nbody, "tree");
    order->tree_dof = TG_TAKE(arena, int, nbody + 1, "tree_dof");
    order->dof_parent = TG_TAKE(arena, int, count_dofs(b), "dof_parent");
    l->child = TG_TAKE(arena, int, nbody, "child");
    l->sibling = TG_TAKE(arena, int, nbody, "sibling");
    return TG_TAKE(arena, int, nbody + 1, "scratch");
}

tg_status tg_order_make(tg_builder *b, tg_order *order)
{
    memset(order, 0, sizeof *order);
    links l;
    tg_arena arena = {0};
    place(b, &arena, order, &l);
    size_t bytes = arena.used;
    order->memory = arena.failed ? NULL : tg_alloc(&b->allocator, bytes);
    if (order->memory == NULL)
        return tg_fail(&b->error, TG_ERR_MEMORY, "model: out of memory for its numbering (%zu bytes)", bytes);
    arena = (tg_arena){.base = order->memory, .capacity = bytes};
    int *scratch = place(b, &arena, order, &l);

    link_bodies(b, &l);
    int nbody = b->list[TG_BODY].count;
    int *body = order->of[TG_BODY];
    for (int id = 0; id < nbody; id++)
        body[id] = -1;
    if (number_bodies(b, &l, body, order->id[TG_BODY]) < nbody)
    {
        tg_status status = refuse_cycle(b, body);
        tg_order_free(b, order);
        return status;
    }
    const tg_element sorted[] = {TG_JOINT, TG_GEOM, TG_SITE};
    for (int i = 0; i < 3; i++)
        number_by_body(b, sorted[i], body, scratch, order->of[sorted[i]], order->id[sorted[i]]);

    memset(scratch, 0, (size_t)nbody * sizeof *scratch);
    for (int id = 0; id < b->list[TG_JOINT].count; id++)
        scratch[body[body_of(b, TG_JOINT, id)]] = 1;
    number_trees(b, order, scratch);
    link_dofs(b, order, scratch);
    return TG_OK;
}

void tg_order_free(const tg_builder *b, tg_order *order)
{
    tg_free(&b->allocator, order->memory);
    order->memory = NULL;
}

/* ---- names: heap sort, which needs no memory ---- */

static int compare_names(const char *text, const int *start, int a, int b)
{
    int order = strcmp(text + start[a], text + start[b]);
    return order != 0 ? order : a - b;
}

static void sift_down(const char *text, const int *start, int *index, int root, int n)
{
    for (int child = 2 * root + 1; child < n; child = 2 * root + 1)
    {
        if (child + 1 < n && compare_names(text, start, index[child], index[child + 1]) < 0)
            child++;
        if (compare_names(text, start, index[root], index[child]) >= 0)
            return;
        int swap = index[root];
        index[root] = index[child];
        index[child] = swap;
        root = child;
    }
}

void tg_sort_names(const char *text, const int *start, int *index, int n)
{
    for (int root = n / 2 - 1; root >= 0; root--)
        sift_down(text, start, index, root, n);
    for (int end = n - 1; end > 0; end--)
    {
        int swap = index[0];
        index[0] = index[end];
        index[end] = swap;
        sift_down(text, start, index, 0, end);
    }
}
