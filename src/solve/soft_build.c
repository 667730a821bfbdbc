/* Rows of the problem with compliance (soft.h), their groups, and J. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/ltl.h"
#include "solve/soft.h"

/* ---- rows ---- */

static void find_diagonal(tg_soft *p, const tg_island *island)
{
    for (int i = 0; i < island->rows; i++)
        p->diagonal[i] = island->tree != NULL ? island->diagonal[i] : island->G[(size_t)i * (size_t)(island->ldg + 1)];
}

static void add_row(tg_soft *p, int source, double mu)
{
    p->source[p->rows] = source;
    p->mu[p->rows] = mu;
    p->g[p->rows] = p->island->g[source];
    p->own[p->rows] = p->diagonal[source];
    p->give[p->rows] = p->island->tree != NULL ? p->island->give[source] : 0;
    p->rows++;
}

static void add_block(tg_soft *p, tg_cone_kind kind, int row, double bound)
{
    tg_soft_block *b = &p->block[p->blocks++];
    *b = (tg_soft_block){.kind = kind, .row = row, .dim = p->rows - row, .bound = bound, .round = true};
    b->slope = p->blocks > 1 ? b[-1].slope + b[-1].dim * b[-1].dim : 0;
    for (int i = row + 2; i < p->rows; i++)
        b->round = b->round && p->mu[i] == p->mu[row + 1];
}

/* Rows as in cone.c: `fixed` is G_ii of a row that nothing moves, `idle` |g| of one that does not move. */
static void make_rows(tg_soft *p, double fixed, double idle)
{
    const tg_island *island = p->island;
    p->rows = p->blocks = p->groups = 0;
    for (int k = 0; k < island->blocks; k++)
    {
        const tg_block *law = &island->block[k];
        int first = p->rows, row = law->row;
        bool cone = law->kind == TG_BLOCK_CONTACT || law->kind == TG_BLOCK_LIMIT, box = law->kind == TG_BLOCK_FRICTION;
        if ((cone && !(p->diagonal[row] > fixed)) || (p->partial && p->left_out[k]))
            continue;
        for (int i = 0; i < law->rows; i++)
        {
            bool moves = p->diagonal[row + i] > fixed;
            double mu = cone && i > 0 ? law->mu[i - 1] : 1;
            if (cone ? !(mu > 0) || !(moves || fabs(island->g[row + i]) > idle) : !moves || (box && law->bound == 0))
                continue;
            add_row(p, row + i, mu);
            if (!cone)
                add_block(p, box ? TG_CONE_BOX : TG_CONE_FREE, p->rows - 1, law->bound);
        }
        if (cone)
        {
            add_block(p, TG_CONE_UNIT, first, 0);
            p->block[p->blocks - 1].contact = law->kind == TG_BLOCK_CONTACT;
        }
        p->boxes = p->boxes || box;
    }
    p->free = 0;
    while (p->free < p->blocks && p->block[p->free].kind == TG_CONE_FREE)
        p->free++;
}

/* The geometric mean of G_ii: of the normals of contacts, whose impulses carry weights; of all rows where there are
 * none. A power of two: scaling a problem by one scales its solution bit for bit. Of all rows of the island, whatever
 * is left out. */
static double mean_size(const tg_soft *p, double fixed)
{
    const tg_island *island = p->island;
    long sum[2] = {0};
    int count[2] = {0};
    for (const tg_block *b = island->block; b < island->block + island->blocks; b++)
        for (int i = b->row; i < b->row + b->rows; i++)
        {
            bool normal = b->kind == TG_BLOCK_CONTACT && i == b->row;
            if (!(p->diagonal[i] > fixed))
                continue;
            sum[normal] += ilogb(p->diagonal[i]);
            count[normal]++;
        }
    int kind = count[1] > 0;
    return count[kind] > 0 ? ldexp(1, (int)floor((double)sum[kind] / count[kind])) : 1;
}

/* ---- J ---- */

/* whether dof k of a tree moves a row; zeros are skipped by fours */
static bool moves_rows(const tg_soft *p, const tg_tree_rows *tree, int k)
{
    const double *Y = tree->Y + (ptrdiff_t)k * tree->ld;
    for (int first = 0; first < tree->columns; first += V4_LANES)
    {
        v4i any = (v4i)(v4_loadu(Y + first) != v4_zero());
        if (((any[0] | any[1]) | (any[2] | any[V4_LANES - 1])) == 0)
            continue;
        for (int j = first; j < first + V4_LANES && j < tree->columns; j++)
            if (Y[j] != 0 && p->row_of[tree->row[j] - p->island->first_row] >= 0)
                return true;
    }
    return false;
}

/* Dofs that a row moves get a place each: limbs before their trunk, as the skyline has it. */
static void number_dofs(tg_soft *p)
{
    const tg_island *island = p->island;
    int first = 0;
    p->dims = 0;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
    {
        const tg_tree_rows *tree = &island->tree[t];
        for (int k = tree->dofs - 1; k >= 0; k--)
        {
            bool any = moves_rows(p, tree, k);
            p->dof[first + k] = any ? p->dims : -1;
            if (any)
                p->dof_at[p->dims++] = first + k;
        }
    }
}

/* elements of the matrix: trees, then groups; false when there is no room for these, or for the factors */
static bool analyse(tg_soft *p)
{
    const tg_island *island = p->island;
    tg_fronts *f = &p->fronts;
    const int room = island->trees + p->most_parts;
    int first = 0, element = 0, *at = f->element_start;
    f->nnode = island->trees;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
    {
        f->size[t] = 0;
        for (int k = first; k < first + island->tree[t].dofs; k++)
            if (p->dof[k] >= 0)
            {
                f->offset[t] = p->dof[k]; /* the last one is the first */
                f->size[t]++;
                p->tree_of[p->dof[k]] = t;
            }
        at[element] = element;
        f->element_node[element++] = t;
    }
    at[element] = element;
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++, element++)
    {
        at[element + 1] = at[element];
        for (int c = 0; c < g->size; c++)
        {
            int tree = p->tree_of[p->support[g->support + c]];
            if (c > 0 && tree == f->element_node[at[element + 1] - 1])
                continue;
            if (at[element + 1] == room)
                return false;
            f->element_node[at[element + 1]++] = tree;
        }
    }
    f->nelement = element;
    for (int t = 0; t < f->nnode; t++)
        if (f->size[t] == 0)
            return false;
    return tg_fronts_analyse(f);
}

/* J with G = J J^T: a Cholesky factorisation that takes the row of which the largest part is left, until that is
 * rounding */
static void factor_delassus(tg_soft *p)
{
    const tg_island *island = p->island;
    double *left = p->z, *product = p->row;
    const double rounding = 1e-12;
    int n = p->rows;
    p->ld = v4_pad(n);
    memset(p->full, 0, sizeof(double) * (size_t)n * (size_t)p->ld);
    for (int i = 0; i < n; i++)
        p->in_full[i] = i;
    memcpy(left, p->own, sizeof(double) * (size_t)n);
    for (p->dims = 0; p->dims < n; p->dims++)
    {
        int best = -1, k = p->dims;
        double most = rounding;
        for (int i = 0; i < n; i++)
            if (left[i] > most * p->own[i])
            {
                most = left[i] / p->own[i];
                best = i;
            }
        if (best < 0)
            break;
        const double *G = island->G + (size_t)p->source[best] * (size_t)island->ldg;
        double root = sqrt(left[best]);
        v4_multiply(n, k, p->full, p->ld, p->full + (ptrdiff_t)best * p->ld, product);
        for (int i = 0; i < n; i++)
        {
            if (left[i] == -INFINITY)
                continue; /* taken */
            double entry = (G[p->source[i]] - product[i]) / root;
            p->full[(ptrdiff_t)i * p->ld + k] = entry;
            left[i] -= entry * entry;
        }
        p->full[(ptrdiff_t)best * p->ld + k] = root;
        left[best] = -INFINITY;
    }
}

/* ---- J of trees: where a row is in each ---- */

/* false when there is no room for the lists */
static bool list_parts(tg_soft *p)
{
    const tg_island *island = p->island;
    int *start = p->part_start, first = 0;
    memset(start, 0, sizeof(int) * (size_t)(p->rows + 1));
    for (const tg_tree_rows *tree = island->tree; tree < island->tree + island->trees; tree++)
        for (int j = 0; j < tree->columns; j++)
        {
            int i = p->row_of[tree->row[j] - island->first_row];
            if (i >= 0)
                start[i]++;
        }
    for (int i = 0, sum = 0; i <= p->rows; i++)
    {
        sum += start[i];
        start[i] = sum - start[i];
    }
    if (start[p->rows] > p->most_parts)
        return false;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
        for (int j = 0; j < island->tree[t].columns; j++)
        {
            int i = p->row_of[island->tree[t].row[j] - island->first_row];
            if (i >= 0)
                p->part[start[i]++] = (tg_soft_part){t, j, first};
        }
    memmove(start + 1, start, sizeof(int) * (size_t)p->rows);
    start[0] = 0;
    return true;
}

/* Rows of loops, J <- (1 - Z Z^T) J, whole in p->full: each gets the dofs of all rows that are redundant with it. */
static void project_loops(tg_soft *p)
{
    const tg_island *island = p->island;
    int null = island->redundant;
    memset(p->full, 0, sizeof(double) * (size_t)island->loops * (size_t)p->ld);
    for (int l = 0; l < island->loops; l++)
    {
        int i = p->row_of[island->loop_row[l]];
        double *out = p->full + (ptrdiff_t)l * p->ld;
        if (i < 0)
            continue; /* nothing moves it */
        p->in_full[i] = l;
        for (const tg_soft_part *part = p->part + p->part_start[i]; part < p->part + p->part_start[i + 1]; part++)
        {
            const tg_tree_rows *tree = &island->tree[part->tree];
            for (int k = 0; k < tree->dofs; k++)
                if (p->dof[part->dof + k] >= 0)
                    out[p->dof[part->dof + k]] = tree->Y[(ptrdiff_t)k * tree->ld + part->column];
        }
    }
    tg_gemm_tn(null, p->dims, island->loops, island->Z, null, p->full, p->ld, TG_GEMM_SET, p->packed, p->ld);
    tg_gemm_nn(island->loops, p->dims, null, island->Z, null, p->packed, p->ld, TG_GEMM_SUB, p->full, p->ld);
}

/* Whether products J x and J^T L are over all dofs: to gather those of a group would take as long (soft_spread.c). */
static bool is_spread(const tg_soft *p)
{
    return p->dims <= TG_CHAIN_BITS && !p->narrow && !p->sparse && p->island->tree != NULL;
}

static bool gather_trees(tg_soft *p)
{
    const tg_island *island = p->island;
    for (int i = 0; i < island->rows; i++)
        p->row_of[i] = -1;
    for (int i = 0; i < p->rows; i++)
    {
        p->row_of[p->source[i]] = i;
        p->in_full[i] = -1;
    }
    number_dofs(p);
    p->sparse = p->narrow || (p->sparse && island->trees > 1 && p->dims > TG_SOFT_MANY);
    p->ld = v4_pad(p->dims);
    if (is_spread(p))
        return true;
    if (!list_parts(p) || (p->narrow && island->loops > 0))
        return false;
    if (island->loops > 0)
        project_loops(p);
    return true;
}

/* Columns of a tree, at most four: where to load them from so that nothing behind a row is read, and which lanes. */
typedef struct lanes
{
    int first;
    v4i mask;
} lanes;

static lanes lanes_of(const tg_tree_rows *tree, int column, int count)
{
    int first = column + V4_LANES <= tree->ld ? column : tree->ld - V4_LANES;
    return (lanes){first, v4_lanes_from(column - first) & ~v4_lanes_from(column - first + count)};
}

static bool any_of(const double *row, lanes l)
{
    v4i any = (v4i)(v4_loadu(row + l.first) != v4_zero()) & l.mask;
    return ((any[0] | any[1]) | (any[2] | any[V4_LANES - 1])) != 0;
}

/* dofs 64 w .. of a tree in which some of `count` columns may not be zero */
static uint64_t support_of(const tg_tree_rows *tree, int column, int count, int w)
{
    int words = tg_chain_words(tree->dofs), last = tree->dofs - TG_CHAIN_BITS * w;
    uint64_t bits = 0;
    if (tree->support == NULL)
        return last < TG_CHAIN_BITS ? ((uint64_t)1 << last) - 1 : ~(uint64_t)0;
    for (int v = column / V4_LANES; v <= (column + count - 1) / V4_LANES; v++)
        bits |= tree->support[v * words + w];
    return bits;
}

/* Dofs in which one of a block's rows is not zero, ascending; returns how many. All of its rows have the same trees. */
static int find_support(const tg_soft *p, const tg_soft_block *b, int *out)
{
    int count = 0, parts = p->part_start[b->row + 1] - p->part_start[b->row];
    for (int q = 0; q < parts; q++)
    {
        const tg_soft_part *part = p->part + p->part_start[b->row] + q;
        const tg_tree_rows *tree = &p->island->tree[part->tree];
        int columns = p->part[p->part_start[b->row + b->dim - 1] + q].column - part->column + 1;
        int ahead = columns < V4_LANES ? columns : V4_LANES;
        lanes first = lanes_of(tree, part->column, ahead), rest = lanes_of(tree, part->column + ahead, columns - ahead);
        for (int w = tg_chain_words(tree->dofs) - 1; w >= 0; w--)
            for (uint64_t bits = support_of(tree, part->column, columns, w); bits != 0;)
            {
                int bit = TG_CHAIN_BITS - 1 - __builtin_clzll(bits), k = TG_CHAIN_BITS * w + bit;
                const double *Y = tree->Y + (ptrdiff_t)k * tree->ld;
                bits &= ~((uint64_t)1 << bit);
                if (p->dof[part->dof + k] >= 0 && (any_of(Y, first) || (columns > ahead && any_of(Y, rest))))
                    out[count++] = p->dof[part->dof + k];
            }
    }
    return count;
}

static void copy_row(const tg_soft *p, const tg_soft_group *g, int row, double *J)
{
    const int *support = p->support + g->support;
    memset(J, 0, sizeof(double) * (size_t)g->ld);
    for (const tg_soft_part *part = p->part + p->part_start[row]; part < p->part + p->part_start[row + 1]; part++)
    {
        const tg_tree_rows *tree = &p->island->tree[part->tree];
        const double *Y = tree->Y + part->column;
        for (int c = 0; c < g->size; c++)
        {
            int k = p->dof_at[support[c]] - part->dof;
            if (k >= 0 && k < tree->dofs)
                J[c] = Y[(ptrdiff_t)k * tree->ld];
        }
    }
}

/* whether four rows are in one tree alone, in columns that follow each other */
static bool are_four(const tg_soft *p, int row, int end)
{
    if (row + V4_LANES > end || p->in_full[row] >= 0)
        return false;
    const tg_soft_part *part = p->part + p->part_start[row];
    for (int i = row; i < row + V4_LANES; i++)
        if (p->in_full[i] >= 0 || p->part_start[i + 1] - p->part_start[i] != 1 || part[i - row].tree != part->tree ||
            part[i - row].column != part->column + i - row)
            return false;
    return true;
}

static void copy_four(const tg_soft *p, const tg_soft_group *g, int row, double *J)
{
    const int *support = p->support + g->support;
    const tg_soft_part *part = p->part + p->part_start[row];
    const tg_tree_rows *tree = &p->island->tree[part->tree];
    for (int c = 0; c < g->ld; c += V4_LANES)
    {
        v4 x[V4_LANES];
        for (int i = 0; i < V4_LANES; i++)
        {
            int k = c + i < g->size ? p->dof_at[support[c + i]] - part->dof : -1;
            x[i] = k >= 0 && k < tree->dofs ? v4_loadu(tree->Y + (ptrdiff_t)k * tree->ld + part->column) : v4_zero();
        }
        v4_transpose(&x[0], &x[1], &x[2], &x[V4_LANES - 1]);
        for (int i = 0; i < V4_LANES; i++)
            v4_storeu(J + (ptrdiff_t)i * g->ld + c, x[i]);
    }
}

/* ---- the same of rows in p->full ---- */

static int find_full_support(const tg_soft *p, int row, int rows, int *out)
{
    int count = 0;
    for (int k = 0; k < p->dims; k++)
    {
        const double *J = p->full + (ptrdiff_t)row * p->ld + k, *end = J + (ptrdiff_t)rows * p->ld;
        while (J < end && *J == 0)
            J += p->ld;
        if (J < end)
            out[count++] = k;
    }
    return count;
}

static void copy_full_row(const tg_soft *p, const tg_soft_group *g, int row, double *J)
{
    memset(J, 0, sizeof(double) * (size_t)g->ld);
    for (int c = 0; c < g->size; c++)
        J[c] = p->full[(ptrdiff_t)row * p->ld + p->support[g->support + c]];
}

/* ---- groups ---- */

/* Whether the rows of a block are cheaper in the group before it: if they have its dofs, and some more of them are few.
 * The links of a chain have those of the links before. */
static bool joins(const tg_soft *p, const tg_soft_group *last, const tg_soft_block *b, const int *dof, int size)
{
    const int *wide = p->support + last->support, *narrow = dof;
    int most = last->size, least = size, found = 0;
    if (size > last->size)
    {
        wide = dof;
        narrow = p->support + last->support;
        most = size;
        least = last->size;
    }
    if (p->sparse && most > least) /* elements have the dofs that they have */
        return false;
    for (int k = 0; k < most && found < least; k++)
        found += wide[k] == narrow[found];
    return found == least &&
           (most == least || tg_soft_group_cost(last->rows + b->dim, most) <=
                                 tg_soft_group_cost(last->rows, last->size) + tg_soft_group_cost(b->dim, size));
}

/* false when one of them is too wide */
static bool find_groups(tg_soft *p)
{
    int used = 0;
    for (int k = 0; k < p->blocks; k++)
    {
        const tg_soft_block *b = &p->block[k];
        tg_soft_group *last = p->groups > 0 ? &p->group[p->groups - 1] : NULL;
        int *support = p->support + used, *exact = p->sparse ? support : p->place;
        int whole = p->in_full[b->row];
        int size = whole >= 0 ? find_full_support(p, whole, b->dim, exact) : find_support(p, b, exact);
        size = p->sparse ? size : tg_skyline_widen(p->dims, size, exact, support);
        if (p->narrow && size > p->widest)
            return false;
        if (last == NULL || !joins(p, last, b, support, size))
        {
            p->group[p->groups++] = (tg_soft_group){.row = b->row, .block = k, .support = used, .size = size};
            used += size;
            last = &p->group[p->groups - 1];
        }
        else if (size > last->size)
        {
            memmove(p->support + last->support, support, sizeof(int) * (size_t)size);
            last->size = size;
            used = last->support + size;
        }
        last->blocks++;
        last->rows += b->dim;
        for (int i = b->row; i < b->row + b->dim; i++)
            last->own = tg_larger(last->own, p->own[i]);
    }
    return true;
}

/* false when there is no room for them */
static bool make_groups(tg_soft *p)
{
    size_t J = 0;
    p->spread = is_spread(p);
    if (p->spread)
    {
        tg_soft_spread(p);
        return true;
    }
    if (!find_groups(p))
        return false;
    for (tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        g->ld = v4_pad(g->size);
        g->J = J;
        for (int i = g->row, count = 0; i < g->row + g->rows; i += count, J += (size_t)count * (size_t)g->ld)
        {
            count = are_four(p, i, g->row + g->rows) ? V4_LANES : 1;
            if (count > 1)
                copy_four(p, g, i, p->J + J);
            else if (p->in_full[i] >= 0)
                copy_full_row(p, g, p->in_full[i], p->J + J);
            else
                copy_row(p, g, i, p->J + J);
        }
    }
    return true;
}

void tg_soft_rows(tg_soft *p)
{
    const tg_island *island = p->island;
    double largest = 0;
    p->speed = 0;
    p->boxes = p->regular = p->built = false;
    find_diagonal(p, island);
    for (int i = 0; i < island->rows; i++)
    {
        largest = tg_larger(largest, p->diagonal[i]);
        p->speed = tg_larger(p->speed, fabs(island->g[i]));
    }
    p->size = mean_size(p, TG_FIXED * largest);
    make_rows(p, TG_FIXED * largest, TG_IDLE * p->speed);
}

static void find_skyline(tg_soft *p)
{
    tg_skyline_begin(&p->skyline, p->dims);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
        tg_skyline_couple(&p->skyline, g->size, p->support + g->support);
    tg_skyline_end(&p->skyline);
    p->kept_eps = 0;
}

bool tg_soft_build(tg_soft *p)
{
    bool gathered = true;
    if (p->built)
        return true;
    p->built = true;
    if (p->island->tree != NULL)
        gathered = gather_trees(p);
    else
    {
        p->sparse = false;
        factor_delassus(p);
    }
    if (!gathered || !make_groups(p))
        return false;
    if (p->sparse && !analyse(p))
    {
        p->sparse = false;
        p->groups = 0;
        if (p->narrow || !make_groups(p))
            return false;
    }
    if (!p->narrow)
        find_skyline(p);
    return p->sparse || !p->narrow;
}
