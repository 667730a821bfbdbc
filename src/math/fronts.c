/* Which nodes share a front, where everything is; the numbers are in fronts_factor.c. */
#include "math/fronts.h"

#include "base/simd.h"
#include "math/dense.h"

enum
{
    NEIGHBOURS = 24 /* of a node, on average, at most: equal balls touch 12 others */
};

tg_fronts_room tg_fronts_usual_room(int nodes, int elements, int element_nodes, int dofs, int unknowns)
{
    size_t n = (size_t)nodes, size = (size_t)dofs, all = 4 * size * size, usual = 700 * size;
    size_t every = n * (n > 0 ? n - 1 : 0), edges = NEIGHBOURS * n + 64;
    return (tg_fronts_room){.nodes = nodes,
                            .elements = elements,
                            .element_nodes = element_nodes,
                            .edges = (int)(every < edges ? every : edges),
                            .unknowns = unknowns,
                            .capacity = (all < usual ? all : usual) + 64 * (n + 1)};
}

void tg_fronts_place(tg_fronts *f, const tg_fronts_room *room, tg_arena *arena)
{
    int nodes = room->nodes, boundary = room->edges + 64 * nodes;
    *f = (tg_fronts){.max_edge = room->edges, .capacity = room->capacity};
    int **const of_nodes[] = {&f->size,   &f->offset, &f->own_node, &f->front_of, &f->position,
                              &f->parent, &f->last,   &f->weight,   &f->local,    &f->stack};
    for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
        *of_nodes[i] = TG_TAKE(arena, int, nodes, "fronts: nodes");
    f->start = TG_TAKE(arena, int, nodes + 1, "fronts: edges of a node");
    f->use_start = TG_TAKE(arena, int, nodes + 1, "fronts: elements of a node");
    f->neighbour = TG_TAKE(arena, int, room->edges, "fronts: edges");
    f->element_start = TG_TAKE(arena, int, room->elements + 1, "fronts: nodes of an element");
    f->element_order = TG_TAKE(arena, int, room->elements, "fronts: elements");
    int **const of_elements[] = {&f->element_node, &f->element_at, &f->use};
    for (size_t i = 0; i < sizeof of_elements / sizeof *of_elements; i++)
        *of_elements[i] = TG_TAKE(arena, int, room->element_nodes, "fronts: nodes of elements");
    f->run = TG_TAKE(arena, tg_run, 2 * (size_t)boundary, "fronts: runs");
    f->front = TG_TAKE(arena, tg_front, nodes, "fronts");
    int padded = room->unknowns + (V4_LANES - 1) * nodes;
    f->row = TG_TAKE(arena, int, padded, "fronts: rows");
    f->vector = TG_TAKE(arena, double, padded, "fronts: vector");
    f->part = TG_TAKE(arena, double, padded, "fronts: vector of a front");
    f->memory = TG_TAKE(arena, double, room->capacity, "fronts: matrices");
    tg_min_degree_place(&f->order, nodes, room->edges, boundary, room->unknowns, arena);
}

/* ---- the graph ---- */

/* counts become starts; returns their sum */
static int accumulate(int *count, int n)
{
    int sum = 0;
    for (int i = 0; i < n; i++)
    {
        int here = count[i];
        count[i] = sum;
        sum += here;
    }
    return sum;
}

static void list_uses(tg_fronts *f)
{
    int total = f->element_start[f->nelement];
    memset(f->use_start, 0, sizeof(int) * (size_t)(f->nnode + 1));
    for (int k = 0; k < total; k++)
        f->use_start[f->element_node[k]]++;
    accumulate(f->use_start, f->nnode + 1);
    for (int e = 0; e < f->nelement; e++)
        for (int k = f->element_start[e]; k < f->element_start[e + 1]; k++)
            f->use[f->use_start[f->element_node[k]]++] = e;
    memmove(f->use_start + 1, f->use_start, sizeof(int) * (size_t)f->nnode);
    f->use_start[0] = 0;
}

/* the other nodes of a node's elements, each once */
static bool add_edges(tg_fronts *f, int node, int *edges)
{
    f->start[node] = *edges;
    f->local[node] = node;
    for (int u = f->use_start[node]; u < f->use_start[node + 1]; u++)
        for (int k = f->element_start[f->use[u]]; k < f->element_start[f->use[u] + 1]; k++)
        {
            int other = f->element_node[k];
            if (f->local[other] == node)
                continue;
            if (*edges == f->max_edge)
                return false;
            f->local[other] = node;
            f->neighbour[(*edges)++] = other;
        }
    return true;
}

static bool make_graph(tg_fronts *f)
{
    int edges = 0;
    list_uses(f);
    for (int i = 0; i < f->nnode; i++)
        f->local[i] = -1;
    for (int i = 0; i < f->nnode; i++)
        if (!add_edges(f, i, &edges))
            return false;
    f->start[f->nnode] = edges;
    return true;
}

/* ---- which nodes share a front ---- */

/* multiplications of a front with p unknowns of its own and r others */
static double work_of(double p, double r)
{
    return tg_chol_work(p) + p * r * (p + r);
}

/* About how long it takes (ns): what is the same for all, copies of what it shares with its parent, and the
 * elimination. */
static double time_of(double p, double r)
{
    return 100 + 0.5 * r * r + 0.2 * work_of(p, r);
}

double tg_fronts_work(const tg_fronts *f)
{
    double work = 0;
    for (int k = 0; k < f->nfront; k++)
        work += work_of(f->front[k].p, f->front[k].r);
    return work;
}

/* Each node joins the front of the next node it is connected to when that is quicker: then its boundary may be larger
 * than it must be. */
static void merge_nodes(tg_fronts *f)
{
    const tg_min_degree *o = &f->order;
    for (int i = 0; i < f->nnode; i++)
    {
        f->parent[i] = -1;
        f->weight[i] = f->size[i];
        f->last[i] = i;
        for (int k = o->bound[i]; k < o->bound[i] + o->nbound[i]; k++)
            if (f->parent[i] < 0 || o->place[o->boundary[k]] < o->place[f->parent[i]])
                f->parent[i] = o->boundary[k];
    }
    for (int k = 0; k < f->nnode; k++)
    {
        int node = o->order[k], next = f->parent[node];
        if (next < 0 || time_of(f->weight[node] + f->weight[next], o->weight[next]) >
                            time_of(f->weight[node], o->weight[node]) + time_of(f->weight[next], o->weight[next]))
            continue;
        f->weight[next] += f->weight[node];
        f->last[node] = next;
    }
    for (int k = f->nnode - 1; k >= 0; k--)
    {
        int node = o->order[k];
        f->last[node] = f->last[f->last[node]];
    }
}

/* Numbers the fronts, each right behind its children: children are listed last first, so that going down from the roots
 * and turning the order round does it. */
static void number_fronts(tg_fronts *f)
{
    int *head = f->local, *next = f->position, root = -1, depth = 0;
    f->nfront = 0;
    for (int i = 0; i < f->nnode; i++)
        head[i] = -1;
    for (int k = 0; k < f->nnode; k++)
    {
        int node = f->order.order[k];
        if (f->last[node] != node)
            continue;
        int *list = f->parent[node] < 0 ? &root : &head[f->last[f->parent[node]]];
        next[node] = *list;
        *list = node;
        f->nfront++;
    }
    int count = f->nfront;
    for (; root >= 0; root = next[root])
    {
        f->stack[depth++] = root;
        while (depth > 0)
        {
            int node = f->stack[--depth];
            f->front_of[node] = --count;
            for (int c = head[node]; c >= 0; c = next[c])
                f->stack[depth++] = c;
        }
    }
}

/* nodes of the fronts in the order of their elimination, and their unknowns in vectors */
static void place_nodes(tg_fronts *f)
{
    const tg_min_degree *o = &f->order;
    for (int k = 0; k < f->nfront; k++)
        f->front[k] = (tg_front){.child = -1, .sibling = -1};
    for (int i = 0; i < f->nnode; i++)
    {
        int last = f->last[i];
        tg_front *x = &f->front[f->front_of[last]];
        x->nown++;
        x->p += f->size[i];
        x->r = o->weight[last];
        x->bound = o->bound[last];
        x->nbound = o->nbound[last];
        f->front_of[i] = f->front_of[last];
    }
    int own = 0, first = 0;
    for (int k = 0; k < f->nfront; k++)
    {
        tg_front *x = &f->front[k];
        x->own = own;
        x->first = f->stack[k] = first;
        own += x->nown;
        first += v4_pad(x->p);
        x->nown = 0;
    }
    for (int k = 0; k < f->nnode; k++)
    {
        int node = o->order[k], front = f->front_of[node];
        tg_front *x = &f->front[front];
        f->own_node[x->own + x->nown++] = node;
        f->position[node] = f->stack[front];
        f->stack[front] += f->size[node];
    }
}

/* by insertion: boundaries are short, and partly sorted */
static void sort_boundary(const int *position, int *node, int count)
{
    for (int i = 1; i < count; i++)
    {
        int moved = node[i], k = i;
        for (; k > 0 && position[node[k - 1]] > position[moved]; k--)
            node[k] = node[k - 1];
        node[k] = moved;
    }
}

static void link_fronts(tg_fronts *f)
{
    for (int k = 0; k < f->nfront; k++)
    {
        tg_front *x = &f->front[k];
        if (x->nbound == 0)
            continue;
        sort_boundary(f->position, f->order.boundary + x->bound, x->nbound);
        int parent = f->front_of[f->order.boundary[x->bound]];
        x->sibling = f->front[parent].child;
        f->front[parent].child = k;
    }
}

/* ---- what goes where ---- */

/* where each node of the front starts in its matrix */
static void locate(tg_fronts *f, const tg_front *x)
{
    int at = 0;
    for (int i = x->own; i < x->own + x->nown; i++)
    {
        f->local[f->own_node[i]] = at;
        at += f->size[f->own_node[i]];
    }
    at = v4_pad(x->p);
    for (int i = x->bound; i < x->bound + x->nbound; i++)
    {
        f->local[f->order.boundary[i]] = at;
        at += f->size[f->order.boundary[i]];
    }
}

/* the front's boundary where `place` says; returns how many runs that are */
static int add_runs(tg_fronts *f, const tg_front *x, const int *place)
{
    int from = 0, first = f->nrun;
    for (int i = x->bound; i < x->bound + x->nbound; i++)
    {
        int node = f->order.boundary[i], to = place[node];
        tg_run *before = &f->run[f->nrun - 1];
        if (f->nrun > first && before->to + before->count == to)
            before->count += f->size[node];
        else
            f->run[f->nrun++] = (tg_run){from, to, f->size[node]};
        from += f->size[node];
    }
    return f->nrun - first;
}

/* each element goes to the front that eliminates the first of its nodes */
static void sort_elements(tg_fronts *f)
{
    int *front_of_element = f->element_at, sum = 0; /* its entries at element_start are free still */
    for (int e = 0; e < f->nelement; e++)
    {
        int first = f->nfront;
        for (int k = f->element_start[e]; k < f->element_start[e + 1]; k++)
            first = f->front_of[f->element_node[k]] < first ? f->front_of[f->element_node[k]] : first;
        front_of_element[f->element_start[e]] = first;
        f->front[first].nelement++;
    }
    for (int k = 0; k < f->nfront; k++)
    {
        f->front[k].element = sum;
        sum += f->front[k].nelement;
        f->front[k].nelement = 0;
    }
    for (int e = 0; e < f->nelement; e++)
    {
        tg_front *x = &f->front[front_of_element[f->element_start[e]]];
        f->element_order[x->element + x->nelement++] = e;
    }
}

static void place_elements(tg_fronts *f, const tg_front *x)
{
    for (int i = x->element; i < x->element + x->nelement; i++)
    {
        int e = f->element_order[i];
        for (int k = f->element_start[e]; k < f->element_start[e + 1]; k++)
            f->element_at[k] = f->local[f->element_node[k]];
    }
}

static void map_fronts(tg_fronts *f)
{
    f->nrun = 0;
    sort_elements(f);
    for (int k = 0; k < f->nfront; k++)
    {
        tg_front *x = &f->front[k];
        locate(f, x);
        place_elements(f, x);
        x->spread = f->nrun;
        x->nspread = add_runs(f, x, f->position);
        for (int c = x->child; c >= 0; c = f->front[c].sibling)
        {
            f->front[c].into = f->nrun;
            f->front[c].ninto = add_runs(f, &f->front[c], f->local);
        }
    }
}

/* ---- memory ---- */

/* Factors from below, updates in a stack from above, behind them the front that is being eliminated: whether they never
 * meet. A few numbers between them may get zeros added. */
static bool measure(tg_fronts *f)
{
    size_t factors = 0, waiting = 0, most = 0;
    f->square = 0;
    for (int k = 0; k < f->nfront; k++)
    {
        tg_front *x = &f->front[k];
        size_t p = (size_t)x->p, own = (size_t)v4_pad(x->p), r = (size_t)x->r, bound = (size_t)v4_pad(x->r);
        size_t square = x->r > 0 ? (own + r) * (own + bound) : 0;
        f->square = square > f->square ? square : f->square;
        x->factor = factors;
        factors += p * (own + 2 * bound);
        for (int c = x->child; c >= 0; c = f->front[c].sibling)
            waiting -= (size_t)f->front[c].r * (size_t)v4_pad(f->front[c].r);
        waiting += r * bound;
        most = waiting > most ? waiting : most;
    }
    f->square += 2 * V4_LANES;
    f->square &= ~(size_t)(V4_LANES - 1);
    return factors + V4_LANES + most + f->square <= f->capacity;
}

bool tg_fronts_analyse(tg_fronts *f)
{
    if (!make_graph(f) || !tg_min_degree_order(&f->order, f->nnode, f->size, f->start, f->neighbour))
        return false;
    merge_nodes(f);
    number_fronts(f);
    place_nodes(f);
    link_fronts(f);
    map_fronts(f);
    return measure(f);
}
