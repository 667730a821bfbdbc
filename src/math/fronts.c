#include "math/fronts.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"

enum
{
    LEAF = 8 /* nodes that are not cut any further */
};

void tg_fronts_place(tg_fronts *f, int nodes, int edges, int unknowns, size_t capacity, tg_arena *arena)
{
    *f = (tg_fronts){.max_node = nodes, .max_edge = edges, .max_boundary = 64 * nodes, .capacity = capacity};
    f->max_unknown = unknowns;
    f->size = TG_TAKE(arena, int, nodes, "fronts: sizes");
    f->offset = TG_TAKE(arena, int, nodes + 1, "fronts: offsets");
    f->start = TG_TAKE(arena, int, nodes + 1, "fronts: edges of a node");
    f->neighbour = TG_TAKE(arena, int, edges, "fronts: edges");
    f->place = TG_TAKE(arena, double, 3 * (size_t)nodes, "fronts: places");
    f->order = TG_TAKE(arena, int, nodes, "fronts: order");
    f->front_of = TG_TAKE(arena, int, nodes, "fronts: front of a node");
    f->mark = TG_TAKE(arena, int, nodes, "fronts: marks");
    f->local = TG_TAKE(arena, int, nodes, "fronts: places in a front");
    f->boundary = TG_TAKE(arena, int, f->max_boundary, "fronts: boundaries");
    f->pivots = TG_TAKE(arena, int, unknowns, "fronts: pivots");
    f->front = TG_TAKE(arena, tg_front, 2 * (size_t)nodes + 1, "fronts");
    f->vector = TG_TAKE(arena, double, unknowns, "fronts: vector");
    f->memory = TG_TAKE(arena, double, capacity, "fronts: matrices");
}

/* ---- nested dissection ---- */

static int longest_axis(const tg_fronts *f, int low, int high)
{
    int axis = 0;
    double longest = -1;
    for (int k = 0; k < 3; k++)
    {
        double least = INFINITY, most = -INFINITY;
        for (int i = low; i < high; i++)
        {
            double x = f->place[3 * f->order[i] + k];
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        if (most - least > longest)
        {
            longest = most - least;
            axis = k;
        }
    }
    return axis;
}

static bool before(const tg_fronts *f, int a, int b, int axis)
{
    double x = f->place[3 * a + axis], y = f->place[3 * b + axis];
    return x < y || (x == y && a < b);
}

static void swap(int *order, int i, int j)
{
    int keep = order[i];
    order[i] = order[j];
    order[j] = keep;
}

/* order[middle] gets the node that sorting would put there, smaller ones before it (Hoare's selection) */
static void select_middle(const tg_fronts *f, int low, int high, int middle, int axis)
{
    while (high - low > 1)
    {
        int pivot = f->order[low + (high - low) / 2], i = low, j = high - 1;
        while (i <= j)
        {
            while (before(f, f->order[i], pivot, axis))
                i++;
            while (before(f, pivot, f->order[j], axis))
                j--;
            if (i <= j)
                swap(f->order, i++, j--);
        }
        if (middle <= j)
            high = j + 1;
        else if (middle >= i)
            low = i;
        else
            return;
    }
}

static bool touches(const tg_fronts *f, int node, int stamp)
{
    for (int e = f->start[node]; e < f->start[node + 1]; e++)
        if (f->mark[f->neighbour[e]] == stamp)
            return true;
    return false;
}

/* The nodes of the first half that touch the second are the cut. Moves them to the end: [first | second | cut]. */
static void cut_in_two(tg_fronts *f, int low, int high, int *first_end, int *second_end)
{
    int middle = low + (high - low) / 2, stamp = ++f->stamp;
    select_middle(f, low, high, middle, longest_axis(f, low, high));
    for (int i = middle; i < high; i++)
        f->mark[f->order[i]] = stamp;
    int end = middle;
    for (int i = middle - 1; i >= low; i--)
        if (touches(f, f->order[i], stamp))
            swap(f->order, i, --end);
    /* [low, end) first half, [end, middle) cut, [middle, high) second half: exchange the last two */
    int cut = middle - end;
    for (int i = 0; i < cut && i < high - middle; i++)
        swap(f->order, end + i, high - 1 - i);
    *first_end = end;
    *second_end = high - cut;
}

static int add_front(tg_fronts *f, int own, int nown, int child0, int child1)
{
    f->front[f->nfront] = (tg_front){.own = own, .nown = nown, .child = {child0, child1}};
    for (int i = own; i < own + nown; i++)
        f->front_of[f->order[i]] = f->nfront;
    return f->nfront++;
}

static int dissect(tg_fronts *f, int low, int high)
{
    if (high <= low)
        return -1;
    if (high - low <= LEAF)
        return add_front(f, low, high - low, -1, -1);
    int first_end, second_end;
    cut_in_two(f, low, high, &first_end, &second_end);
    int first = dissect(f, low, first_end), second = dissect(f, first_end, second_end);
    return add_front(f, second_end, high - second_end, first, second);
}

/* ---- what a front touches ---- */

static bool add_boundary(tg_fronts *f, tg_front *front, int self, int node)
{
    if (f->front_of[node] <= self || f->mark[node] == f->stamp)
        return true;
    if (f->nboundary == f->max_boundary)
        return false;
    f->mark[node] = f->stamp;
    f->boundary[f->nboundary++] = node;
    front->nbound++;
    return true;
}

static bool find_boundary(tg_fronts *f, int self)
{
    tg_front *front = &f->front[self];
    bool fits = true;
    front->bound = f->nboundary;
    f->stamp++;
    for (int c = 0; c < 2; c++)
    {
        if (front->child[c] < 0)
            continue;
        const tg_front *child = &f->front[front->child[c]];
        for (int i = 0; i < child->nbound; i++)
            fits = fits && add_boundary(f, front, self, f->boundary[child->bound + i]);
    }
    for (int i = front->own; i < front->own + front->nown; i++)
        for (int e = f->start[f->order[i]]; e < f->start[f->order[i] + 1]; e++)
            fits = fits && add_boundary(f, front, self, f->neighbour[e]);
    return fits;
}

static void measure_front(tg_fronts *f, tg_front *front, int *pivot)
{
    front->p = 0;
    for (int i = 0; i < front->nown; i++)
        front->p += f->size[f->order[front->own + i]];
    front->f = front->p;
    for (int i = 0; i < front->nbound; i++)
        front->f += f->size[f->boundary[front->bound + i]];
    front->pivot = *pivot;
    *pivot += front->p;
    front->matrix = f->used;
    f->used += (size_t)front->f * (size_t)front->f;
}

bool tg_fronts_analyse(tg_fronts *f)
{
    int pivot = 0;
    f->nfront = f->nboundary = f->stamp = 0;
    f->used = 0;
    memset(f->mark, 0, sizeof(int) * (size_t)f->nnode);
    for (int i = 0; i < f->nnode; i++)
        f->order[i] = i;
    dissect(f, 0, f->nnode);
    for (int i = 0; i < f->nfront; i++)
    {
        if (!find_boundary(f, i))
            return false;
        measure_front(f, &f->front[i], &pivot);
    }
    return f->used <= f->capacity;
}

/* ---- numbers ---- */

/* where each node of the front starts in its matrix */
static void locate(const tg_fronts *f, const tg_front *front)
{
    int at = 0;
    for (int i = 0; i < front->nown; i++)
    {
        f->local[f->order[front->own + i]] = at;
        at += f->size[f->order[front->own + i]];
    }
    for (int i = 0; i < front->nbound; i++)
    {
        f->local[f->boundary[front->bound + i]] = at;
        at += f->size[f->boundary[front->bound + i]];
    }
}

double *tg_front_block(const tg_fronts *f, int front, int a, int b)
{
    const tg_front *x = &f->front[front];
    return f->memory + x->matrix + (size_t)f->local[a] * (size_t)x->f + (size_t)f->local[b];
}

/* adds the child's F22 to where its nodes are in this front */
static void extend_add(const tg_fronts *f, int self, const tg_front *child)
{
    const double *F22 = f->memory + child->matrix + (size_t)child->p * (size_t)(child->f + 1);
    int row = 0;
    for (int i = 0; i < child->nbound; i++)
    {
        int a = f->boundary[child->bound + i], column = 0;
        for (int j = 0; j < child->nbound; j++)
        {
            int b = f->boundary[child->bound + j];
            double *to = tg_front_block(f, self, a, b);
            for (int r = 0; r < f->size[a]; r++)
                for (int c = 0; c < f->size[b]; c++)
                    to[(size_t)r * (size_t)f->front[self].f + (size_t)c] +=
                        F22[(size_t)(row + r) * (size_t)child->f + (size_t)(column + c)];
            column += f->size[b];
        }
        row += f->size[a];
    }
}

/* F12 <- F11^-1 F12, F22 <- F22 - F21 F12 */
static bool eliminate(const tg_fronts *f, const tg_front *x)
{
    double *F11 = f->memory + x->matrix, *F12 = F11 + x->p, *F21 = F11 + (size_t)x->p * (size_t)x->f;
    if (x->p == 0)
        return true;
    if (tg_lu(x->p, F11, x->f, f->pivots + x->pivot) >= 0)
        return false;
    int rest = x->f - x->p;
    tg_lu_solve(x->p, F11, x->f, f->pivots + x->pivot, rest, F12, x->f);
    tg_gemm_nn(rest, rest, x->p, F21, x->f, F12, x->f, TG_GEMM_SUB, F21 + x->p, x->f);
    return true;
}

bool tg_fronts_factor(tg_fronts *f, tg_front_assemble *assemble, void *context)
{
    for (int i = 0; i < f->nfront; i++)
    {
        const tg_front *x = &f->front[i];
        memset(f->memory + x->matrix, 0, sizeof(double) * (size_t)x->f * (size_t)x->f);
        locate(f, x);
        assemble(f, i, context);
        for (int c = 0; c < 2; c++)
            if (x->child[c] >= 0)
                extend_add(f, i, &f->front[x->child[c]]);
        if (!eliminate(f, x))
            return false;
    }
    return true;
}

/* ---- solving ---- */

static void gather(const tg_fronts *f, const int *node, int count, const double *x, double *out)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < f->size[node[i]]; k++)
            *out++ = x[f->offset[node[i]] + k];
}

static void scatter(const tg_fronts *f, const int *node, int count, const double *in, double *x)
{
    for (int i = 0; i < count; i++)
        for (int k = 0; k < f->size[node[i]]; k++)
            x[f->offset[node[i]] + k] = *in++;
}

void tg_fronts_solve(const tg_fronts *f, double *x)
{
    double *y = f->vector;
    for (int i = 0; i < f->nfront; i++)
    {
        const tg_front *t = &f->front[i];
        const double *F11 = f->memory + t->matrix, *F21 = F11 + (size_t)t->p * (size_t)t->f;
        if (t->p == 0)
            continue;
        gather(f, f->order + t->own, t->nown, x, y);
        gather(f, f->boundary + t->bound, t->nbound, x, y + t->p);
        tg_lu_solve(t->p, F11, t->f, f->pivots + t->pivot, 1, y, 1);
        tg_gemm_nt(t->f - t->p, 1, t->p, F21, t->f, y, t->p, TG_GEMM_SUB, y + t->p, 1);
        scatter(f, f->order + t->own, t->nown, y, x);
        scatter(f, f->boundary + t->bound, t->nbound, y + t->p, x);
    }
    for (int i = f->nfront - 1; i >= 0; i--)
    {
        const tg_front *t = &f->front[i];
        const double *F12 = f->memory + t->matrix + t->p;
        if (t->p == 0)
            continue;
        gather(f, f->order + t->own, t->nown, x, y);
        gather(f, f->boundary + t->bound, t->nbound, x, y + t->p);
        tg_gemm_nt(t->p, 1, t->f - t->p, F12, t->f, y + t->p, t->f - t->p, TG_GEMM_SUB, y, 1);
        scatter(f, f->order + t->own, t->nown, y, x);
    }
}
