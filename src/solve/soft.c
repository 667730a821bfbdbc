#include "solve/soft.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"

/* ---- memory ---- */

static void take_fronts(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    int dofs = size->dofs, trees = size->trees, parts = size->columns > 0 ? size->columns : 4 * size->rows;
    p->narrow = size->columns > 0;
    p->sparse = p->narrow || (trees > 1 && dofs > TG_SOFT_MANY);
    p->tree_of = TG_TAKE(scratch, int, dofs, "soft: trees of dofs");
    p->place = TG_TAKE(scratch, int, dofs, "soft: places of dofs");
    if (!p->sparse)
        return;
    tg_fronts_room room = tg_fronts_usual_room(trees, trees + size->rows, trees + parts, dofs, dofs);
    tg_fronts_place(&p->fronts, &room, scratch);
    p->most_parts = parts;
    p->part_start = TG_TAKE(scratch, int, size->rows + 1, "soft: trees of a row");
    p->part = TG_TAKE(scratch, tg_soft_part, parts, "soft: trees of rows");
}

/* There are never more dims than rows (tg_soft_build) unless there are fronts. Narrow: a row has at most two trees, and
 * nothing is as large as rows x rows. */
bool tg_soft_take(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    int rows = size->rows, dofs = size->dofs;
    take_fronts(p, size, scratch);
    if (p->sparse && dofs > rows)
        rows = dofs;
    size_t n = (size_t)rows, ld = (size_t)v4_pad(rows), square = n * ld, wide = 2 * (size_t)v4_pad(size->tree_dofs);
    size_t numbers = p->narrow ? (size_t)size->columns * (size_t)v4_pad(size->tree_dofs) : square;
    p->widest = p->narrow ? (int)wide : dofs;
    double **const vector[] = {&p->mu,    &p->give, &p->g,      &p->own,    &p->diagonal,  &p->u,       &p->z,
                               &p->L,     &p->r,    &p->step,   &p->kept_u, &p->kept_z,    &p->row,     &p->force,
                               &p->rhs,   &p->best, &p->square, &p->all_L,  &p->all_sigma, &p->offer.L, &p->offer.sigma,
                               &p->Jstep, &p->at,   &p->from,   &p->trial};
    p->block = TG_TAKE(scratch, tg_soft_block, n, "soft: blocks");
    p->group = TG_TAKE(scratch, tg_soft_group, n, "soft: groups");
    p->factored = TG_TAKE(scratch, tg_phase, n, "soft: phases of the factor");
    p->source = TG_TAKE(scratch, int, n, "soft: rows of the island");
    p->left_out = TG_TAKE(scratch, bool, n, "soft: blocks that are left out");
    p->partial = false;
    p->support = TG_TAKE(scratch, int, p->narrow ? numbers : n *n, "soft: dofs of groups");
    p->pivot = TG_TAKE(scratch, int, n, "soft: exchanges");
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = TG_TAKE(scratch, double, ld, "soft: vector");
    p->J = TG_TAKE(scratch, double, numbers, "soft: rows of J");
    p->packed = TG_TAKE(scratch, double, numbers, "soft: rows of a group");
    p->H = TG_TAKE(scratch, double, p->narrow ? 0 : square, "soft: matrix");
    p->product = TG_TAKE(scratch, double, p->narrow ? wide *wide : square, "soft: matrix of a group");
    p->full = TG_TAKE(scratch, double, !p->narrow && dofs > rows ? n * (size_t)v4_pad(dofs) : numbers, "soft: matrix");
    p->dof = TG_TAKE(scratch, int, dofs, "soft: dofs");
    p->cones.block = TG_TAKE(scratch, tg_cone, n, "soft: cones");
    p->set = TG_TAKE(scratch, tg_set, n, "soft: sets");
    p->index = TG_TAKE(scratch, int, 2 * n, "soft: indices");
    p->interior = TG_TAKE(scratch, double, TG_INTERIOR_VECTORS *ld, "soft: interior point");
    p->E = TG_TAKE(scratch, double, TG_CONE_MAX *n, "soft: slacks");
    p->D = TG_TAKE(scratch, double, TG_CONE_MAX *n, "soft: slopes");
    return !scratch->failed;
}

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
}

/* The geometric mean of G_ii: of the normals of contacts, whose impulses carry weights; of all rows where there are
 * none. A power of two: scaling a problem by one scales its solution bit for bit. */
static double mean_size(const tg_soft *p, double fixed)
{
    long sum[2] = {0};
    int count[2] = {0};
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = b->row; i < b->row + b->dim; i++)
        {
            bool normal = b->contact && i == b->row;
            if (!(p->own[i] > fixed))
                continue;
            sum[normal] += ilogb(p->own[i]);
            count[normal]++;
        }
    int kind = count[1] > 0;
    return count[kind] > 0 ? ldexp(1, (int)floor((double)sum[kind] / count[kind])) : 1;
}

/* ---- J ---- */

/* Dofs that a row moves get a place each. */
static void number_dofs(tg_soft *p, const int *at)
{
    const tg_island *island = p->island;
    int first = 0;
    p->dims = 0;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
    {
        const tg_tree_rows *tree = &island->tree[t];
        for (int k = 0; k < tree->dofs; k++)
        {
            bool any = false;
            for (int j = 0; j < tree->columns && !any; j++)
                any = tree->Y[(ptrdiff_t)k * tree->ld + j] != 0 && at[tree->row[j] - island->first_row] >= 0;
            p->dof[first + k] = any ? p->dims++ : -1;
        }
    }
}

/* Rows of J from trees: row i, dof k is full[i * row + k * dof] */
static void copy_trees(tg_soft *p, const int *at, ptrdiff_t row, ptrdiff_t dof)
{
    const tg_island *island = p->island;
    int first = 0;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
    {
        const tg_tree_rows *tree = &island->tree[t];
        for (int j = 0; j < tree->columns; j++)
        {
            const int i = at[tree->row[j] - island->first_row], *place = p->dof + first;
            const double *Y = tree->Y + j;
            double *out = p->full + i * row;
            for (int k = 0; i >= 0 && k < tree->dofs; k++, Y += tree->ld)
                if (place[k] >= 0)
                    out[place[k] * dof] = *Y;
        }
    }
}

/* J <- (1 - Z Z^T) J of the rows of loops, a dof at a time; strides as above */
static void project_loops(tg_soft *p, const int *at, ptrdiff_t row, ptrdiff_t dof)
{
    const tg_island *island = p->island;
    int null = island->redundant, *place = p->support, first = 0; /* row of the island -> row of Z */
    double *along = p->row;                                       /* Z^T J */
    for (int i = 0; i < island->rows; i++)
        place[i] = -1;
    for (int i = 0; i < island->loops; i++)
        place[island->loop_row[i]] = i;
    for (int t = 0; t < island->trees; first += island->tree[t++].dofs)
    {
        const tg_tree_rows *tree = &island->tree[t];
        for (int k = 0; k < tree->dofs; k++)
        {
            const double *Y = tree->Y + (ptrdiff_t)k * tree->ld;
            int to = p->dof[first + k];
            bool any = false;
            memset(along, 0, sizeof(double) * (size_t)null);
            for (int j = 0; j < tree->columns && to >= 0; j++)
            {
                int from = Y[j] != 0 ? place[tree->row[j] - island->first_row] : -1;
                if (from < 0)
                    continue;
                for (int c = 0; c < null; c++)
                    along[c] += island->Z[from * null + c] * Y[j];
                any = true;
            }
            for (int i = 0; i < island->loops && any; i++)
            {
                double sum = 0;
                for (int c = 0; c < null; c++)
                    sum += island->Z[i * null + c] * along[c];
                if (at[island->loop_row[i]] >= 0)
                    p->full[at[island->loop_row[i]] * row + to * dof] -= sum;
            }
        }
    }
}

/* J^T = Q R has more dofs than rows: J = R^T serves as well, since Q^T u says all of u that J sees. Its rows reach one
 * dof further each, so that all of them form one group. */
static void reduce(tg_soft *p)
{
    int n = p->rows, m = p->dims;
    tg_qr(m, n, p->full, n, p->z, NULL, 0, p->row);
    p->dims = n;
    p->ld = v4_pad(n);
    for (int i = 0; i < n; i++)
    {
        double *J = p->J + (ptrdiff_t)i * p->ld;
        for (int k = 0; k <= i; k++)
            J[k] = p->full[(ptrdiff_t)k * n + i];
        memset(J + i + 1, 0, sizeof(double) * (size_t)(p->ld - i - 1));
        p->support[i] = i;
    }
    p->groups = 1;
    p->group[0] = (tg_soft_group){.rows = n, .blocks = p->blocks, .size = n, .ld = p->ld};
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
                f->offset[t] = f->size[t]++ == 0 ? p->dof[k] : f->offset[t];
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

/* dofs in which one of a block's rows is not zero; returns how many */
static int find_support(const tg_soft *p, const tg_soft_block *b, int *out)
{
    int count = 0, dims = p->dims, ld = p->ld;
    const double *J = p->full + (ptrdiff_t)b->row * ld, *end = J + (ptrdiff_t)b->dim * ld;
    for (int k = 0; k < dims; k++, J++)
    {
        const double *at = J;
        while (at < end && *at == 0)
            at += ld;
        if (at < end)
            out[count++] = k;
    }
    return count;
}

static void copy_row(const tg_soft *p, const tg_soft_group *g, int row, double *J)
{
    for (int c = 0; c < g->size; c++)
        J[c] = p->full[(ptrdiff_t)row * p->ld + p->support[g->support + c]];
}

/* ---- the same from lists of the rows' trees: all rows of a block have the same ---- */

/* false when there is no room for the lists */
static bool list_parts(tg_soft *p, const int *at)
{
    const tg_island *island = p->island;
    int *start = p->part_start, first = 0;
    memset(start, 0, sizeof(int) * (size_t)(p->rows + 1));
    for (const tg_tree_rows *tree = island->tree; tree < island->tree + island->trees; tree++)
        for (int j = 0; j < tree->columns; j++)
        {
            int i = at[tree->row[j] - island->first_row];
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
            int i = at[island->tree[t].row[j] - island->first_row];
            if (i >= 0)
                p->part[start[i]++] = (tg_soft_part){t, j, first};
        }
    memmove(start + 1, start, sizeof(int) * (size_t)p->rows);
    start[0] = 0;
    return true;
}

static double part_entry(const tg_soft *p, const tg_soft_part *part, int dof)
{
    const tg_tree_rows *tree = &p->island->tree[part->tree];
    return tree->Y[(ptrdiff_t)dof * tree->ld + part->column];
}

static int find_listed_support(const tg_soft *p, const tg_soft_block *b, int *out)
{
    int count = 0, parts = p->part_start[b->row + 1] - p->part_start[b->row];
    for (int q = 0; q < parts; q++)
    {
        const tg_soft_part *first = p->part + p->part_start[b->row] + q;
        for (int k = 0; k < p->island->tree[first->tree].dofs; k++)
        {
            bool any = false;
            for (int i = b->row; i < b->row + b->dim && !any; i++)
                any = part_entry(p, p->part + p->part_start[i] + q, k) != 0;
            if (any)
                out[count++] = p->dof[first->dof + k];
        }
    }
    return count;
}

static void copy_listed_row(const tg_soft *p, const tg_soft_group *g, int row, double *J)
{
    const int *support = p->support + g->support;
    int c = 0;
    for (const tg_soft_part *part = p->part + p->part_start[row]; part < p->part + p->part_start[row + 1]; part++)
        for (int k = 0; k < p->island->tree[part->tree].dofs && c < g->size; k++)
            if (p->dof[part->dof + k] == support[c])
                J[c++] = part_entry(p, part, k);
}

static bool gather_trees(tg_soft *p)
{
    const tg_island *island = p->island;
    int *at = p->pivot; /* row of the island -> row of J */
    for (int i = 0; i < island->rows; i++)
        at[i] = -1;
    for (int i = 0; i < p->rows; i++)
        at[p->source[i]] = i;
    number_dofs(p, at);
    p->sparse = p->narrow || (p->sparse && island->trees > 1 && p->dims > TG_SOFT_MANY);
    p->listed = p->sparse && island->loops == 0 && list_parts(p, at);
    p->ld = v4_pad(p->dims);
    if (p->listed || p->narrow)
        return p->listed;
    bool wide = p->dims > p->rows && !p->sparse;
    memset(p->full, 0, sizeof(double) * (size_t)p->rows * (size_t)p->ld);
    copy_trees(p, at, wide ? 1 : p->ld, wide ? p->rows : 1);
    if (island->loops > 0)
        project_loops(p, at, wide ? 1 : p->ld, wide ? p->rows : 1);
    if (wide)
        reduce(p);
    return true;
}

/* ---- groups ---- */

/* Operations of J^T D J of a group: a product, and its place in H is filled and read as often as a few rows are. */
static double cost(int rows, int size)
{
    return (double)(rows + TG_CONE_MAX) * size * size;
}

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
           (most == least || cost(last->rows + b->dim, most) <= cost(last->rows, last->size) + cost(b->dim, size));
}

/* false when one of them is too wide */
static bool find_groups(tg_soft *p)
{
    int used = 0;
    for (int k = 0; k < p->blocks; k++)
    {
        const tg_soft_block *b = &p->block[k];
        tg_soft_group *last = p->groups > 0 ? &p->group[p->groups - 1] : NULL;
        int *support = p->support + used;
        int size = p->listed ? find_listed_support(p, b, support) : find_support(p, b, support);
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
    }
    return true;
}

static bool make_groups(tg_soft *p)
{
    size_t J = 0;
    if (!find_groups(p))
        return false;
    for (tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        g->ld = v4_pad(g->size);
        g->J = J;
        for (int i = g->row; i < g->row + g->rows; i++, J += (size_t)g->ld)
        {
            memset(p->J + J, 0, sizeof(double) * (size_t)g->ld);
            if (p->listed)
                copy_listed_row(p, g, i, p->J + J);
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
    bool partial = p->partial;
    p->speed = 0;
    p->boxes = p->regular = p->built = false;
    find_diagonal(p, island);
    for (int i = 0; i < island->rows; i++)
    {
        largest = tg_larger(largest, p->diagonal[i]);
        p->speed = tg_larger(p->speed, fabs(island->g[i]));
    }
    p->partial = false;
    make_rows(p, TG_FIXED * largest, TG_IDLE * p->speed);
    p->size = mean_size(p, TG_FIXED * largest); /* of all rows */
    p->partial = partial;
    if (partial)
        make_rows(p, TG_FIXED * largest, TG_IDLE * p->speed);
}

bool tg_soft_build(tg_soft *p)
{
    bool gathered = true;
    if (p->built)
        return true;
    p->built = true;
    p->listed = false;
    if (p->island->tree != NULL)
        gathered = gather_trees(p);
    else
    {
        p->sparse = false;
        factor_delassus(p);
    }
    if (!gathered || (p->groups == 0 && !make_groups(p)))
        return false;
    p->sparse = p->sparse && analyse(p);
    return p->sparse || !p->narrow;
}

/* ---- products ---- */

void tg_soft_velocity(const tg_soft *p, const double *x, double *out)
{
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        const double *at = g->size == p->dims ? x : p->at;
        for (int c = 0; c < g->size && at != x; c++)
            p->at[c] = x[support[c]];
        v4_multiply(g->rows, g->size, p->J + g->J, g->ld, at, out + g->row);
    }
}

void tg_soft_push(const tg_soft *p, const double *L, double *x)
{
    memset(x, 0, sizeof(double) * (size_t)p->dims);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        double *at = g->size == p->dims ? x : p->at;
        if (at != x)
            memset(at, 0, sizeof(double) * (size_t)g->ld);
        for (int i = 0; i < g->rows; i++)
            if (L[g->row + i] != 0)
                v4_subtract_scaled(g->size, -L[g->row + i], p->J + g->J + (size_t)i * (size_t)g->ld, at);
        for (int c = 0; c < g->size && at != x; c++)
            x[support[c]] += at[c];
    }
}

void tg_soft_respond(tg_soft *p)
{
    for (tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        b->phase = tg_soft_response(b, p->mu + b->row, p->z + b->row, p->L + b->row, p->D + b->slope);
}

/* ---- H ---- */

/* D / eps times the rows of a block, behind those that are packed already; the rows themselves in front of p->product.
 * Rows of D that are zero are left out. */
static int pack_block(const tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, int packed, double *rows)
{
    const double *D = p->D + b->slope, *J = p->J + g->J + (size_t)(b->row - g->row) * (size_t)g->ld;
    int d = b->dim, ld = g->ld;
    for (int i = 0; i < d; i++)
    {
        double *out = p->packed + (ptrdiff_t)packed * ld;
        bool any = false;
        for (int j = 0; j < d; j++)
        {
            double factor = D[d * i + j] / tg_soft_eps(p, b->row + j);
            if (factor == 0)
                continue;
            if (any)
                v4_subtract_scaled(ld, -factor, J + (ptrdiff_t)j * ld, out);
            else
                for (int c = 0; c < ld; c++)
                    out[c] = factor * J[(ptrdiff_t)j * ld + c];
            any = true;
        }
        if (!any)
            continue;
        memcpy(rows + (ptrdiff_t)packed * ld, J + (ptrdiff_t)i * ld, sizeof(double) * (size_t)ld);
        packed++;
    }
    return packed;
}

/* the same of a group; returns how many rows there are */
static int pack_group(const tg_soft *p, const tg_soft_group *g, double *rows)
{
    int packed = 0;
    for (const tg_soft_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
        if (b->phase != TG_PHASE_BREAK)
            packed = pack_block(p, g, b, packed, rows);
    return packed;
}

/* adds J^T D J / eps of a group to A, in whose rows its dofs are at place[] */
static void add_group(const tg_soft *p, const tg_soft_group *g, const int *place, double *A, int ld)
{
    double *rows = p->full;
    int packed = pack_group(p, g, rows), size = g->size;
    if (packed == 0)
        return;
    if (size == p->dims && !p->sparse)
    {
        tg_gemm_tn(size, size, packed, rows, g->ld, p->packed, g->ld, TG_GEMM_ADD, A, ld);
        return;
    }
    tg_gemm_tn(size, size, packed, rows, g->ld, p->packed, g->ld, TG_GEMM_SET, p->product, g->ld);
    for (int a = 0; a < size; a++)
        for (int c = 0; c < size; c++)
            A[(ptrdiff_t)place[a] * ld + place[c]] += p->product[(ptrdiff_t)a * g->ld + c];
}

/* of fronts: the identity of a tree, or a group */
static void add_element(const void *context, int element, const int *at, double *A, int ld)
{
    const tg_soft *p = context;
    const tg_fronts *f = &p->fronts;
    if (element < f->nnode)
    {
        for (int k = at[0]; k < at[0] + f->size[element]; k++)
            A[(ptrdiff_t)k * (ld + 1)] += 1;
        return;
    }
    const tg_soft_group *g = &p->group[element - f->nnode];
    const int *node = f->element_node + f->element_start[element];
    for (int c = 0, k = 0; c < g->size; c++)
    {
        int dof = p->support[g->support + c];
        k += p->tree_of[dof] != node[k];
        p->place[c] = at[k] + dof - f->offset[node[k]];
    }
    add_group(p, g, p->place, A, ld);
}

/* H - 1 of one group with all dofs: nothing to add up */
static void fill_whole(const tg_soft *p)
{
    int n = p->dims, packed = pack_group(p, p->group, p->full), ld = p->group->ld;
    tg_gemm_tn(n, n, packed, p->full, ld, p->packed, ld, TG_GEMM_SET, p->H, p->ld);
}

static bool factor_dense(tg_soft *p)
{
    int n = p->dims;
    bool whole = p->groups == 1 && p->group->size == n;
    if (whole)
        fill_whole(p);
    else
        memset(p->H, 0, sizeof(double) * (size_t)n * (size_t)p->ld);
    for (int k = 0; k < n; k++)
        p->H[(ptrdiff_t)k * (p->ld + 1)] += 1;
    for (const tg_soft_group *g = p->group; g < p->group + p->groups && !whole; g++)
        add_group(p, g, p->support + g->support, p->H, p->ld);
    return (p->symmetric ? tg_chol(n, p->H, p->ld) : tg_lu(n, p->H, p->ld, p->pivot)) < 0;
}

/* what a block's normal does to its tangents: the part of D that is not symmetric */
static void uncouple(tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = 1; i < b->dim; i++)
            p->D[b->slope + b->dim * i] = 0;
}

static bool is_symmetric(const tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        if (b->phase == TG_PHASE_SLIDE && b->dim > 1)
            return false;
    return true;
}

bool tg_soft_factor(tg_soft *p, bool coupled)
{
    p->regular = false;
    if (p->factorisations >= p->limit)
        return false;
    if (!coupled)
        uncouple(p);
    p->symmetric = !coupled || is_symmetric(p);
    for (int k = 0; k < p->blocks; k++)
        p->factored[k] = p->block[k].phase;
    p->factorisations++;
    p->regular = p->sparse ? tg_fronts_factor(&p->fronts, p->symmetric, add_element, p) : factor_dense(p);
    return p->regular;
}

void tg_soft_solve(const tg_soft *p, double *x)
{
    if (p->sparse)
        tg_fronts_solve(&p->fronts, x);
    else if (p->symmetric)
        tg_chol_solve(p->dims, p->H, p->ld, 1, x, 1);
    else
        tg_lu_solve(p->dims, p->H, p->ld, p->pivot, 1, x, 1);
}

void tg_soft_scatter(const tg_soft *p, double *L)
{
    memset(L, 0, sizeof(double) * (size_t)p->island->rows);
    for (int i = 0; i < p->rows; i++)
        L[p->source[i]] = p->L[i];
}
