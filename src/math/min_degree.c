#include "math/min_degree.h"

#include <string.h>

void tg_min_degree_place(tg_min_degree *d, int nodes, int edges, int boundary, int unknowns, tg_arena *arena)
{
    *d = (tg_min_degree){.max_node = nodes, .max_edge = edges, .max_boundary = boundary, .max_unknown = unknowns};
    int **const of_nodes[] = {&d->order,  &d->place, &d->bound,    &d->nbound, &d->start,   &d->nitem,   &d->degree,
                              &d->weight, &d->next,  &d->previous, &d->mark,   &d->outside, &d->stamp_of};
    for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
        *of_nodes[i] = TG_TAKE(arena, int, nodes, "order: nodes");
    d->boundary = TG_TAKE(arena, int, boundary, "order: sets");
    d->item = TG_TAKE(arena, int, edges, "order: edges");
    d->head = TG_TAKE(arena, int, unknowns + 1, "order: degrees");
    d->absorbed = TG_TAKE(arena, bool, nodes, "order: absorbed sets");
}

/* ---- nodes by degree ---- */

static void insert(tg_min_degree *d, int node)
{
    int *head = &d->head[d->degree[node]];
    d->lowest = d->degree[node] < d->lowest ? d->degree[node] : d->lowest;
    d->previous[node] = -1;
    d->next[node] = *head;
    if (*head >= 0)
        d->previous[*head] = node;
    *head = node;
}

static void take_out(tg_min_degree *d, int node)
{
    if (d->next[node] >= 0)
        d->previous[d->next[node]] = d->previous[node];
    if (d->previous[node] >= 0)
        d->next[d->previous[node]] = d->next[node];
    else
        d->head[d->degree[node]] = d->next[node];
}

static int begin(tg_min_degree *d, int n, const int *size, const int *start, const int *neighbour)
{
    int unknowns = 0;
    for (int i = 0; i < n; i++)
        unknowns += size[i];
    for (int i = 0; i <= unknowns; i++)
        d->head[i] = -1;
    memcpy(d->item, neighbour, sizeof(int) * (size_t)start[n]);
    d->nboundary = 0;
    d->lowest = unknowns;
    for (int i = 0; i < n; i++)
    {
        d->start[i] = start[i];
        d->nitem[i] = start[i + 1] - start[i];
        d->mark[i] = d->stamp_of[i] = -1;
        d->absorbed[i] = false;
        d->degree[i] = 0;
        for (int e = start[i]; e < start[i + 1]; e++)
            d->degree[i] += size[neighbour[e]];
    }
    for (int i = n - 1; i >= 0; i--)
        insert(d, i);
    return unknowns;
}

/* ---- one elimination ---- */

static bool add_bound(tg_min_degree *d, int p, int node, int stamp)
{
    if (d->mark[node] == stamp)
        return true;
    if (d->nboundary == d->max_boundary)
        return false;
    d->mark[node] = stamp;
    d->boundary[d->nboundary++] = node;
    d->nbound[p]++;
    return true;
}

/* L_p: its neighbours and what is in its sets, which it absorbs */
static bool make_set(tg_min_degree *d, int p, int stamp, const int *size)
{
    bool fits = true;
    d->bound[p] = d->nboundary;
    d->nbound[p] = 0;
    d->mark[p] = stamp;
    for (int k = d->start[p]; k < d->start[p] + d->nitem[p]; k++)
    {
        int item = d->item[k], set = ~item;
        if (item >= 0)
        {
            fits = fits && add_bound(d, p, item, stamp);
            continue;
        }
        for (int i = 0; i < d->nbound[set]; i++)
            fits = fits && add_bound(d, p, d->boundary[d->bound[set] + i], stamp);
        d->absorbed[set] = true;
    }
    d->weight[p] = 0;
    for (int i = 0; i < d->nbound[p]; i++)
        d->weight[p] += size[d->boundary[d->bound[p] + i]];
    return fits;
}

/* outside[e] = unknowns of L_e that are not in L_p, for every set e that a node of L_p is in */
static void compare_sets(tg_min_degree *d, int p, int stamp, const int *size)
{
    for (int i = 0; i < d->nbound[p]; i++)
    {
        int node = d->boundary[d->bound[p] + i];
        for (int k = d->start[node]; k < d->start[node] + d->nitem[node]; k++)
        {
            int set = ~d->item[k];
            if (set < 0 || d->absorbed[set])
                continue;
            if (d->stamp_of[set] != stamp)
            {
                d->stamp_of[set] = stamp;
                d->outside[set] = d->weight[set];
            }
            d->outside[set] -= size[node];
        }
    }
}

/* What a node of L_p is connected to now: sets that are not inside of L_p, neighbours outside of L_p, and L_p. */
static void update_node(tg_min_degree *d, int p, int node, int stamp, const int *size, int left)
{
    int kept = 0, others = d->weight[p] - size[node], outside = 0, *item = d->item + d->start[node];
    for (int k = 0; k < d->nitem[node]; k++)
    {
        int set = ~item[k];
        if (set < 0 ? d->mark[item[k]] == stamp : d->absorbed[set] || d->outside[set] == 0)
            continue;
        outside += set < 0 ? size[item[k]] : d->outside[set];
        item[kept++] = item[k];
    }
    item[kept++] = ~p; /* at least one was dropped: the edge to p, or a set that p was in */
    d->nitem[node] = kept;
    int most = left - size[node], grown = d->degree[node] + others, sum = outside + others;
    d->degree[node] = grown < sum ? grown : sum;
    d->degree[node] = d->degree[node] < most ? d->degree[node] : most;
}

static bool eliminate(tg_min_degree *d, int p, int stamp, const int *size, int left)
{
    take_out(d, p);
    if (!make_set(d, p, stamp, size))
        return false;
    compare_sets(d, p, stamp, size);
    for (int i = 0; i < d->nbound[p]; i++)
    {
        int node = d->boundary[d->bound[p] + i];
        take_out(d, node);
        update_node(d, p, node, stamp, size, left);
        insert(d, node);
    }
    return true;
}

bool tg_min_degree_order(tg_min_degree *d, int n, const int *size, const int *start, const int *neighbour)
{
    int left = begin(d, n, size, start, neighbour);
    for (int k = 0; k < n; k++)
    {
        while (d->head[d->lowest] < 0)
            d->lowest++;
        int p = d->head[d->lowest];
        left -= size[p];
        d->order[k] = p;
        d->place[p] = k;
        if (!eliminate(d, p, k, size, left))
            return false;
    }
    return true;
}
