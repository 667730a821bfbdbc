#include "math/fronts.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    SMALL = 12, /* unknowns of a front's own for which calls cost more than work */
    FREE = 6    /* of one free body */
};

void tg_fronts_place(tg_fronts *f, int nodes, int edges, int unknowns, size_t values, size_t capacity, tg_arena *arena)
{
    *f = (tg_fronts){
        .max_node = nodes, .max_edge = edges, .max_unknown = unknowns, .max_value = values, .capacity = capacity};
    f->size = TG_TAKE(arena, int, nodes, "fronts: sizes");
    f->offset = TG_TAKE(arena, int, nodes, "fronts: offsets");
    f->start = TG_TAKE(arena, int, nodes + 1, "fronts: edges of a node");
    f->neighbour = TG_TAKE(arena, int, edges, "fronts: edges");
    f->node_block = TG_TAKE(arena, size_t, nodes, "fronts: blocks of nodes");
    f->edge_block = TG_TAKE(arena, size_t, edges, "fronts: blocks of edges");
    f->value = TG_TAKE(arena, double, values, "fronts: blocks");
    int **const of_nodes[] = {&f->own_node, &f->front_of, &f->local, &f->parent, &f->merged, &f->post};
    for (size_t i = 0; i < sizeof of_nodes / sizeof *of_nodes; i++)
        *of_nodes[i] = TG_TAKE(arena, int, nodes, "fronts: nodes");
    f->pivots = TG_TAKE(arena, int, unknowns, "fronts: pivots");
    f->front = TG_TAKE(arena, tg_front, nodes, "fronts");
    f->vector = TG_TAKE(arena, double, unknowns, "fronts: vector");
    f->memory = TG_TAKE(arena, double, capacity, "fronts: matrices");
    tg_min_degree_place(&f->order, nodes, edges, edges + 64 * nodes, unknowns, arena);
}

/* ---- the blocks of the matrix ---- */

static size_t block_size(const tg_fronts *f, int a, int b)
{
    return (size_t)f->size[a] * (size_t)v4_pad(f->size[b]);
}

static bool place_blocks(tg_fronts *f)
{
    f->values = 0;
    for (int i = 0; i < f->nnode; i++)
    {
        f->node_block[i] = f->values;
        f->values += block_size(f, i, i);
        for (int e = f->start[i]; e < f->start[i + 1]; e++)
        {
            f->edge_block[e] = f->values;
            f->values += block_size(f, i, f->neighbour[e]);
        }
    }
    return f->values <= f->max_value;
}

/* ---- which nodes share a front ---- */

/* by insertion: sets are short, and partly sorted */
static void sort_by_place(const int *place, int *node, int count)
{
    for (int i = 1; i < count; i++)
    {
        int moved = node[i], k = i;
        for (; k > 0 && place[node[k - 1]] > place[moved]; k--)
            node[k] = node[k - 1];
        node[k] = moved;
    }
}

/* A node joins the front of its parent when L of the two is the same but for the parent; one child of a parent only. */
static void merge_nodes(tg_fronts *f)
{
    const tg_min_degree *o = &f->order;
    for (int i = 0; i < f->nnode; i++)
    {
        sort_by_place(o->place, o->boundary + o->bound[i], o->nbound[i]);
        f->parent[i] = o->nbound[i] > 0 ? o->boundary[o->bound[i]] : -1;
        f->merged[i] = -1;
    }
    for (int k = 0; k < f->nnode; k++)
    {
        int node = o->order[k], parent = f->parent[node];
        if (parent >= 0 && f->merged[parent] < 0 && o->nbound[node] == o->nbound[parent] + 1)
            f->merged[parent] = node;
    }
}

static bool is_last(const tg_fronts *f, int node)
{
    return f->parent[node] < 0 || f->merged[f->parent[node]] != node;
}

/* the fronts in the order of their last nodes: children before parents */
static void list_fronts(tg_fronts *f)
{
    int own = 0;
    f->nfront = 0;
    for (int k = 0; k < f->nnode; k++)
    {
        int last = f->order.order[k];
        if (!is_last(f, last))
            continue;
        tg_front *x = &f->front[f->nfront];
        *x = (tg_front){
            .own = own, .bound = f->order.bound[last], .nbound = f->order.nbound[last], .child = -1, .sibling = -1};
        for (int node = last; node >= 0; node = f->merged[node])
        {
            f->own_node[own++] = node;
            f->front_of[node] = f->nfront;
            x->nown++;
        }
        f->nfront++;
    }
}

/* Children are listed last first, so that going down from the roots and turning the order round puts each front right behind its children. */
static int visit_fronts(tg_fronts *f)
{
    int root = -1, count = 0, depth = 0, *stack = f->local;
    for (int i = 0; i < f->nfront; i++)
    {
        tg_front *x = &f->front[i];
        int *list = x->nbound > 0 ? &f->front[f->front_of[f->order.boundary[x->bound]]].child : &root;
        x->sibling = *list;
        *list = i;
    }
    for (int r = root; r >= 0; r = f->front[r].sibling)
    {
        stack[depth++] = r;
        while (depth > 0)
        {
            int here = stack[--depth];
            f->post[f->nfront - 1 - count++] = here;
            for (int c = f->front[here].child; c >= 0; c = f->front[c].sibling)
                stack[depth++] = c;
        }
    }
    return count;
}

/* ---- memory ---- */

static size_t update_size(const tg_front *x)
{
    return (size_t)(x->f - x->p) * (size_t)(x->f - x->p);
}

/* rows of [F11 F12] end in whole groups of four */
static int upper_ld(const tg_front *x)
{
    return x->p + v4_pad(x->f - x->p);
}

static void measure_front(const tg_fronts *f, tg_front *x)
{
    x->p = 0;
    for (int i = 0; i < x->nown; i++)
        x->p += f->size[f->own_node[x->own + i]];
    x->f = x->p;
    for (int i = 0; i < x->nbound; i++)
        x->f += f->size[f->order.boundary[x->bound + i]];
}

/* Factors from below, updates F22 in a stack from above: whether they never meet. */
static bool measure(tg_fronts *f)
{
    size_t factors = 0, waiting = 0, most = 0;
    int pivot = 0;
    for (int k = 0; k < f->nfront; k++)
    {
        tg_front *x = &f->front[f->post[k]];
        measure_front(f, x);
        x->pivot = pivot;
        pivot += x->p;
        x->upper = factors;
        x->lower = factors + (size_t)x->p * (size_t)upper_ld(x);
        factors = x->lower + (size_t)(x->f - x->p) * (size_t)x->p;
        waiting += update_size(x);
        most = waiting > most ? waiting : most;
        for (int c = x->child; c >= 0; c = f->front[c].sibling)
            waiting -= update_size(&f->front[c]);
    }
    return factors + most <= f->capacity;
}

bool tg_fronts_analyse(tg_fronts *f)
{
    if (!place_blocks(f) || !tg_min_degree_order(&f->order, f->nnode, f->size, f->start, f->neighbour))
        return false;
    merge_nodes(f);
    list_fronts(f);
    visit_fronts(f);
    return measure(f);
}

/* ---- numbers ---- */

/* a front's matrix in its three parts */
typedef struct matrix
{
    double *upper, *lower, *update; /* p x f with rows of ld numbers, (f - p) x p, (f - p) x (f - p) */
    int p, f, ld;
} matrix;

/* where row i, column j starts; columns on one side of p are next to each other */
static double *entry(const matrix *m, int i, int j)
{
    if (i < m->p)
        return m->upper + (ptrdiff_t)i * m->ld + j;
    if (j < m->p)
        return m->lower + (ptrdiff_t)(i - m->p) * m->p + j;
    return m->update + (ptrdiff_t)(i - m->p) * (m->f - m->p) + j - m->p;
}

static int row_length(const matrix *m, int i, int j)
{
    return i < m->p ? m->ld : j < m->p ? m->p : m->f - m->p;
}

/* where each node of the front starts in its matrix */
static void locate(const tg_fronts *f, const tg_front *x)
{
    int at = 0;
    for (int i = 0; i < x->nown; i++)
    {
        int node = f->own_node[x->own + i];
        f->local[node] = at;
        at += f->size[node];
    }
    for (int i = 0; i < x->nbound; i++)
    {
        int node = f->order.boundary[x->bound + i];
        f->local[node] = at;
        at += f->size[node];
    }
}

/* short rows: a call of memcpy costs more */
TG_INLINE void copy_numbers(int n, const double *from, double *to)
{
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
        v4_storeu(to + i, v4_loadu(from + i));
    for (; i < n; i++)
        to[i] = from[i];
}

static void copy_block(const tg_fronts *f, const matrix *m, int a, int b, size_t from)
{
    int i = f->local[a], j = f->local[b], rows = f->size[a], columns = f->size[b], length = row_length(m, i, j);
    double *to = entry(m, i, j);
    const double *block = f->value + from;
    for (int r = 0; r < rows; r++, to += length, block += v4_pad(columns))
        if (columns == FREE)
            copy_numbers(FREE, block, to);
        else
            copy_numbers(columns, block, to);
}

/* the blocks of its own nodes with each other and with later ones */
static void assemble(const tg_fronts *f, const tg_front *x, int self, const matrix *m)
{
    const int *place = f->order.place;
    for (int i = x->own; i < x->own + x->nown; i++)
    {
        int a = f->own_node[i];
        copy_block(f, m, a, a, f->node_block[a]);
        for (int e = f->start[a]; e < f->start[a + 1]; e++)
        {
            int b = f->neighbour[e];
            if (f->front_of[b] == self || place[b] > place[a])
                copy_block(f, m, a, b, f->edge_block[e]);
        }
    }
    for (int i = 0; i < x->nbound; i++)
    {
        int a = f->order.boundary[x->bound + i];
        for (int e = f->start[a]; e < f->start[a + 1]; e++)
            if (f->front_of[f->neighbour[e]] == self)
                copy_block(f, m, a, f->neighbour[e], f->edge_block[e]);
    }
}

TG_INLINE void add_numbers(int n, const double *from, double *to)
{
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
        v4_storeu(to + i, v4_loadu(to + i) + v4_loadu(from + i));
    for (; i < n; i++)
        to[i] += from[i];
}

/* adds the rows of block (a, b) of a child's update, `width` numbers apart */
static void add_block(const tg_fronts *f, const matrix *m, int a, int b, const double *from, int width)
{
    int i = f->local[a], j = f->local[b], rows = f->size[a], columns = f->size[b], length = row_length(m, i, j);
    double *to = entry(m, i, j);
    for (int r = 0; r < rows; r++, to += length, from += width)
        if (columns == FREE)
            add_numbers(FREE, from, to);
        else
            add_numbers(columns, from, to);
}

/* adds a child's update to where its nodes are in this front */
static void extend_add(const tg_fronts *f, const matrix *m, const tg_front *child, const double *update)
{
    const int *node = f->order.boundary + child->bound;
    int width = child->f - child->p;
    for (int i = 0; i < child->nbound; i++)
    {
        int column = 0;
        for (int j = 0; j < child->nbound; j++)
        {
            add_block(f, m, node[i], node[j], update + column, width);
            column += f->size[node[j]];
        }
        update += (ptrdiff_t)f->size[node[i]] * width;
    }
}

/* P A = L U of a few rows; the diagonal of U is stored inverted */
static bool factor_small(int p, int lda, double *A, int *pivot)
{
    for (int k = 0; k < p; k++)
    {
        double *u = A + (ptrdiff_t)k * lda, most = -1;
        int row = k;
        for (int i = k; i < p; i++)
        {
            double size = fabs(A[(ptrdiff_t)i * lda + k]);
            row = size > most ? i : row;
            most = size > most ? size : most;
        }
        pivot[k] = row;
        for (int j = 0; row != k && j < p; j++)
        {
            double keep = u[j];
            u[j] = A[(ptrdiff_t)row * lda + j];
            A[(ptrdiff_t)row * lda + j] = keep;
        }
        if (u[k] == 0 || !isfinite(u[k]))
            return false;
        u[k] = 1 / u[k];
        for (int i = k + 1; i < p; i++)
        {
            double *a = A + (ptrdiff_t)i * lda;
            a[k] *= u[k];
            for (int j = k + 1; j < p; j++)
                a[j] -= a[k] * u[j];
        }
    }
    return true;
}

/* four columns y <- U^-1 L^-1 P y, rows ldy numbers apart */
TG_INLINE void solve_lanes(int p, int lda, const double *A, const int *row, double *y, int ldy)
{
    v4 x[SMALL];
    for (int i = 0; i < p; i++)
    {
        x[i] = v4_loadu(y + (ptrdiff_t)row[i] * ldy);
        for (int j = 0; j < i; j++)
            x[i] -= v4_splat(A[(ptrdiff_t)i * lda + j]) * x[j];
    }
    for (int i = p - 1; i >= 0; i--)
    {
        for (int j = i + 1; j < p; j++)
            x[i] -= v4_splat(A[(ptrdiff_t)i * lda + j]) * x[j];
        x[i] *= v4_splat(A[(ptrdiff_t)i * (lda + 1)]);
    }
    for (int i = 0; i < p; i++)
        v4_storeu(y + (ptrdiff_t)i * ldy, x[i]);
}

/* the rows that end up in each place */
static void permutation(int p, const int *pivot, int *row)
{
    for (int k = 0; k < p; k++)
        row[k] = k;
    for (int k = 0; k < p; k++)
    {
        int keep = row[k];
        row[k] = row[pivot[k]];
        row[pivot[k]] = keep;
    }
}

/* columns (a multiple of four) <- A^-1 columns, with these factors */
static void solve_small(int p, int lda, const double *A, const int *pivot, int columns, double *y, int ldy)
{
    int row[SMALL];
    permutation(p, pivot, row);
    for (int j = 0; j < columns; j += V4_LANES)
        if (p == FREE)
            solve_lanes(FREE, lda, A, row, y + j, ldy);
        else
            solve_lanes(p, lda, A, row, y + j, ldy);
}

/* one column */
static void solve_vector(int p, int lda, const double *A, const int *pivot, double *y)
{
    double x[SMALL];
    int row[SMALL];
    permutation(p, pivot, row);
    for (int i = 0; i < p; i++)
    {
        x[i] = y[row[i]];
        for (int j = 0; j < i; j++)
            x[i] -= A[(ptrdiff_t)i * lda + j] * x[j];
    }
    for (int i = p - 1; i >= 0; i--)
    {
        for (int j = i + 1; j < p; j++)
            x[i] -= A[(ptrdiff_t)i * lda + j] * x[j];
        x[i] *= A[(ptrdiff_t)i * (lda + 1)];
        y[i] = x[i];
    }
}

/* F12 <- F11^-1 F12, F22 <- F22 - F21 F12 */
static bool eliminate(const tg_fronts *f, const tg_front *x, const matrix *m)
{
    int rest = m->f - m->p, *pivot = f->pivots + x->pivot;
    double *F11 = m->upper, *F12 = m->upper + m->p;
    if (m->p <= SMALL)
    {
        if (!factor_small(m->p, m->ld, F11, pivot))
            return false;
        solve_small(m->p, m->ld, F11, pivot, v4_pad(rest), F12, m->ld);
    }
    else
    {
        if (tg_lu(m->p, F11, m->ld, pivot) >= 0)
            return false;
        tg_lu_solve(m->p, F11, m->ld, pivot, rest, F12, m->ld);
    }
    tg_gemm_nn(rest, rest, m->p, m->lower, m->p, F12, m->ld, TG_GEMM_SUB, m->update, rest);
    return true;
}

/* The children's updates are the last of the stack, the first child's deepest: adds them, and returns where they ended. */
static double *finish_children(const tg_fronts *f, const tg_front *x, const matrix *m, double *top)
{
    double *bottom = top;
    for (int c = x->child; c >= 0; c = f->front[c].sibling)
        bottom += update_size(&f->front[c]);
    double *update = bottom;
    for (int c = x->child; c >= 0; c = f->front[c].sibling)
    {
        update -= update_size(&f->front[c]);
        extend_add(f, m, &f->front[c], update);
    }
    return bottom;
}

bool tg_fronts_factor(tg_fronts *f)
{
    double *top = f->memory + f->capacity;
    for (int k = 0; k < f->nfront; k++)
    {
        int self = f->post[k];
        const tg_front *x = &f->front[self];
        matrix m = {f->memory + x->upper, f->memory + x->lower, top - update_size(x), x->p, x->f, upper_ld(x)};
        memset(m.upper, 0, sizeof(double) * (x->lower - x->upper + (size_t)(x->f - x->p) * (size_t)x->p));
        memset(m.update, 0, sizeof(double) * update_size(x));
        locate(f, x);
        assemble(f, x, self, &m);
        double *bottom = finish_children(f, x, &m, top);
        if (!eliminate(f, x, &m))
            return false;
        top = bottom - update_size(x);
        if (top != m.update)
            memmove(top, m.update, sizeof(double) * update_size(x));
    }
    return true;
}

/* ---- solving ---- */

static void gather(const tg_fronts *f, const int *node, int count, const double *x, double *out)
{
    for (int i = 0; i < count; i++)
    {
        int n = f->size[node[i]];
        if (n == FREE)
            copy_numbers(FREE, x + f->offset[node[i]], out);
        else
            copy_numbers(n, x + f->offset[node[i]], out);
        out += n;
    }
}

static void scatter(const tg_fronts *f, const int *node, int count, const double *in, double *x)
{
    for (int i = 0; i < count; i++)
    {
        int n = f->size[node[i]];
        if (n == FREE)
            copy_numbers(FREE, in, x + f->offset[node[i]]);
        else
            copy_numbers(n, in, x + f->offset[node[i]]);
        in += n;
    }
}

/* y <- F11^-1 y */
static void solve_own(const tg_fronts *f, const tg_front *x, double *y)
{
    const double *F11 = f->memory + x->upper;
    const int *pivot = f->pivots + x->pivot;
    if (x->p <= SMALL)
        solve_vector(x->p, upper_ld(x), F11, pivot, y);
    else
        tg_lu_solve(x->p, F11, upper_ld(x), pivot, 1, y, 1);
}

void tg_fronts_solve(const tg_fronts *f, double *x)
{
    double *y = f->vector;
    for (int k = 0; k < f->nfront; k++)
    {
        const tg_front *t = &f->front[f->post[k]];
        const int *own = f->own_node + t->own, *bound = f->order.boundary + t->bound;
        gather(f, own, t->nown, x, y);
        gather(f, bound, t->nbound, x, y + t->p);
        solve_own(f, t, y);
        tg_gemm_nt(t->f - t->p, 1, t->p, f->memory + t->lower, t->p, y, t->p, TG_GEMM_SUB, y + t->p, 1);
        scatter(f, own, t->nown, y, x);
        scatter(f, bound, t->nbound, y + t->p, x);
    }
    for (int k = f->nfront - 1; k >= 0; k--)
    {
        const tg_front *t = &f->front[f->post[k]];
        const int *own = f->own_node + t->own;
        if (t->nbound == 0)
            continue;
        gather(f, own, t->nown, x, y);
        gather(f, f->order.boundary + t->bound, t->nbound, x, y + t->p);
        tg_gemm_nt(t->p, 1, t->f - t->p, f->memory + t->upper + t->p, upper_ld(t), y + t->p, t->f - t->p, TG_GEMM_SUB,
                   y, 1);
        scatter(f, own, t->nown, y, x);
    }
}
