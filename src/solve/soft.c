#include "solve/soft.h"

#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/ltl.h"

/* ---- memory ---- */

static void take_fronts(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    int dofs = size->dofs, trees = size->trees, parts = size->columns > 0 ? size->columns : size->rows * trees;
    p->narrow = size->columns > 0;
    p->sparse = p->narrow || (trees > 1 && dofs > TG_SOFT_MANY);
    p->most_parts = parts;
    p->part_start = TG_TAKE(scratch, int, size->rows + 1, "soft: trees of a row");
    p->part = TG_TAKE(scratch, tg_soft_part, parts, "soft: trees of rows");
    p->tree_of = TG_TAKE(scratch, int, dofs, "soft: trees of dofs");
    if (!p->sparse)
        return;
    tg_fronts_room room = tg_fronts_usual_room(trees, trees + size->rows, trees + parts, dofs, dofs);
    tg_fronts_place(&p->fronts, &room, scratch);
}

/* Narrow: a row has at most two trees, and nothing is as large as rows x rows. */
static void take(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    int dofs = size->dofs, rows = size->rows > dofs ? size->rows : dofs;
    take_fronts(p, size, scratch);
    size_t n = (size_t)rows, ld = (size_t)v4_pad(rows), square = n * ld, wide = 2 * (size_t)v4_pad(size->tree_dofs);
    size_t numbers = p->narrow ? (size_t)size->columns * (size_t)v4_pad(size->tree_dofs) : square;
    p->widest = p->narrow ? (int)wide : dofs;
    double **const vector[] = {&p->mu,    &p->give, &p->g,      &p->own,    &p->diagonal,  &p->u,       &p->z,
                               &p->L,     &p->r,    &p->step,   &p->kept_u, &p->kept_z,    &p->row,     &p->force,
                               &p->rhs,   &p->best, &p->square, &p->all_L,  &p->all_sigma, &p->offer.L, &p->offer.sigma,
                               &p->Jstep, &p->at,   &p->from,   &p->dz,     &p->trial,     &p->c};
    p->block = TG_TAKE(scratch, tg_soft_block, n, "soft: blocks");
    p->group = TG_TAKE(scratch, tg_soft_group, n, "soft: groups");
    p->factored = TG_TAKE(scratch, tg_phase, n, "soft: phases of the factor");
    p->source = TG_TAKE(scratch, int, n, "soft: rows of the island");
    p->row_of = TG_TAKE(scratch, int, n, "soft: the same, inverse");
    p->in_full = TG_TAKE(scratch, int, n, "soft: whole rows");
    p->left_out = TG_TAKE(scratch, bool, n, "soft: blocks that are left out");
    p->partial = false;
    p->support = TG_TAKE(scratch, int, p->narrow ? numbers : n *n, "soft: dofs of groups");
    p->place = TG_TAKE(scratch, int, n, "soft: places of dofs");
    p->pivot = TG_TAKE(scratch, int, n, "soft: exchanges");
    p->turning = TG_TAKE(scratch, int, n, "soft: blocks of a line search");
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = TG_TAKE(scratch, double, ld, "soft: vector");
    p->J = TG_TAKE(scratch, double, numbers, "soft: rows of J");
    p->transposed = TG_TAKE(scratch, double, p->narrow ? 0 : TG_CHAIN_BITS *ld, "soft: its transpose");
    p->packed = TG_TAKE(scratch, double, numbers, "soft: rows of a group");
    p->H = TG_TAKE(scratch, double, p->narrow ? 0 : square, "soft: matrix");
    tg_skyline_place(&p->skyline, p->narrow ? 0 : rows, scratch);
    p->product = TG_TAKE(scratch, double, p->narrow ? wide *wide : square, "soft: matrix of a group");
    p->full = TG_TAKE(scratch, double, numbers, "soft: whole rows");
    p->dof = TG_TAKE(scratch, int, dofs, "soft: dofs");
    p->dof_at = TG_TAKE(scratch, int, dofs, "soft: the same, inverse");
    p->cones.block = TG_TAKE(scratch, tg_cone, n, "soft: cones");
    p->set = TG_TAKE(scratch, tg_set, n, "soft: sets");
    p->index = TG_TAKE(scratch, int, 2 * n, "soft: indices");
    p->interior = TG_TAKE(scratch, double, TG_INTERIOR_VECTORS *ld, "soft: interior point");
    p->E = TG_TAKE(scratch, double, TG_CONE_MAX *n, "soft: slacks");
    p->D = TG_TAKE(scratch, double, TG_CONE_MAX *n, "soft: slopes");
    p->few = NULL;
}

/* at most half of all */
static void take_few(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    tg_soft few = {.room = {.rows = size->rows / 2,
                            .dofs = size->dofs / 2,
                            .trees = size->trees / 2,
                            .columns = size->columns / 2,
                            .tree_dofs = size->tree_dofs}};
    take(&few, &few.room, scratch);
    p->local = TG_TAKE(scratch, bool, size->trees, "soft: a few trees");
    p->near = TG_TAKE(scratch, bool, size->trees, "soft: the same and their neighbours");
    p->square_of = TG_TAKE(scratch, double, size->trees, "soft: residuals of trees");
    p->place_of = TG_TAKE(scratch, int, size->trees, "soft: places of trees");
    p->few = TG_TAKE(scratch, tg_soft, 1, "soft: the problem of a few trees");
    if (p->few != NULL)
        *p->few = few;
}

bool tg_soft_take(tg_soft *p, const tg_island_size *size, tg_arena *scratch)
{
    take(p, size, scratch);
    if (p->narrow)
        take_few(p, size, scratch);
    return !scratch->failed;
}

/* ---- products ---- */

void tg_soft_velocity(const tg_soft *p, const double *x, double *out)
{
    if (p->spread)
    {
        v4_multiply_transposed(p->dims, p->rows, p->transposed, v4_pad(p->rows), x, out);
        return;
    }
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        for (int c = 0; c < g->size; c++)
            p->at[c] = x[support[c]];
        v4_multiply(g->rows, g->size, p->J + g->J, g->ld, p->at, out + g->row);
    }
}

double tg_soft_bound(const tg_soft *p, const double *x)
{
    double worst = 0;
    for (int k = 0; k < p->dims; k++)
        p->at[k] = x[k] * x[k];
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        double square = 0;
        for (int c = 0; c < g->size; c++)
            square += p->at[support[c]];
        square *= g->own;
        worst = square <= worst ? worst : square; /* also NaN */
    }
    return sqrt(worst);
}

void tg_soft_push(const tg_soft *p, const double *L, double *x)
{
    if (p->spread)
    {
        v4_multiply(p->dims, p->rows, p->transposed, v4_pad(p->rows), L, x);
        return;
    }
    memset(x, 0, sizeof(double) * (size_t)p->dims);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        const int *support = p->support + g->support;
        const double *J = p->J + g->J, *force = L + g->row;
        int first = 0;
        while (first < g->rows && force[first] == 0)
            first++;
        if (first == g->rows)
            continue;
        if (g->rows == 1)
        {
            for (int c = 0; c < g->size; c++)
                x[support[c]] += *force * J[c];
            continue;
        }
        v4_multiply_transposed(g->rows - first, g->size, J + (ptrdiff_t)first * g->ld, g->ld, force + first, p->at);
        for (int c = 0; c < g->size; c++)
            x[support[c]] += p->at[c];
    }
}

/* ---- H ---- */

/* out = S J of a block's rows, S (d x d) */
TG_INLINE void combine_rows(int d, int ld, const double *S, const double *J, double *out)
{
    for (int c = 0; c < ld; c += V4_LANES)
    {
        v4 x[TG_CONE_MAX];
        for (int j = 0; j < d; j++)
            x[j] = v4_loadu(J + (ptrdiff_t)j * ld + c);
        for (int i = 0; i < d; i++)
        {
            v4 sum = v4_splat(S[d * i]) * x[0];
            for (int j = 1; j < d; j++)
                sum += v4_splat(S[d * i + j]) * x[j];
            v4_storeu(out + (ptrdiff_t)i * ld + c, sum);
        }
    }
}

/* D / eps times the rows of a block */
static void pack_block(const tg_soft *p, const tg_soft_group *g, const tg_soft_block *b, double *out)
{
    const double *D = p->D + b->slope, *J = p->J + g->J + (size_t)(b->row - g->row) * (size_t)g->ld;
    double S[TG_CONE_MAX * TG_CONE_MAX];
    int d = b->dim, ld = g->ld;
    for (int j = 0; j < d; j++)
    {
        double stiff = 1 / tg_soft_eps(p, b->row + j);
        for (int i = 0; i < d; i++)
            S[d * i + j] = D[d * i + j] * stiff;
    }
    if (d == 1)
        combine_rows(1, ld, S, J, out);
    else if (d == 1 + 2) /* a normal and two tangents */
        combine_rows(1 + 2, ld, S, J, out);
    else
        combine_rows(d, ld, S, J, out);
}

/* Whether D of a block is zero: it is open, or dry friction at its bound. */
static bool is_flat(const tg_soft *p, const tg_soft_block *b)
{
    return b->phase == TG_PHASE_BREAK || (b->kind == TG_CONE_BOX && p->D[b->slope] == 0);
}

/* The rows of a group that have slopes, where some have none in p->full, and D / eps times these in p->packed. Returns
 * the former, and how many there are. */
static const double *pack_group(const tg_soft *p, const tg_soft_group *g, int *packed)
{
    const double *J = p->J + g->J;
    int rows = 0;
    for (const tg_soft_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
        if (!is_flat(p, b))
        {
            pack_block(p, g, b, p->packed + (ptrdiff_t)rows * g->ld);
            rows += b->dim;
        }
    *packed = rows;
    if (rows == g->rows)
        return J;
    rows = 0;
    for (const tg_soft_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
        if (!is_flat(p, b))
        {
            memcpy(p->full + (ptrdiff_t)rows * g->ld, J + (ptrdiff_t)(b->row - g->row) * g->ld,
                   sizeof(double) * (size_t)(b->dim * g->ld));
            rows += b->dim;
        }
    return p->full;
}

/* adds J^T D J / eps of a group to A, in whose rows its dofs are at place[] */
static void add_group(const tg_soft *p, const tg_soft_group *g, const int *place, double *A, int ld)
{
    int packed;
    const double *J = pack_group(p, g, &packed);
    if (packed == 0)
        return;
    tg_gemm_tn(g->size, g->size, packed, J, g->ld, p->packed, g->ld, TG_GEMM_SET, p->product, g->ld);
    for (int a = 0; a < g->size; a++)
        for (int c = 0; c < g->size; c++)
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

/* whether D of so many blocks is symmetric */
static bool is_symmetric(const tg_soft_block *block, int blocks)
{
    for (const tg_soft_block *b = block; b < block + blocks; b++)
        if (b->phase == TG_PHASE_SLIDE && b->dim > 1)
            return false;
    return true;
}

static void add_to_skyline(tg_soft *p, const tg_soft_group *first, const tg_soft_group *end)
{
    for (const tg_soft_group *g = first; g < end; g++)
    {
        int packed;
        const double *J = pack_group(p, g, &packed);
        tg_skyline_add(&p->skyline, g->size, p->support + g->support, packed, J, p->packed, g->ld,
                       is_symmetric(p->block + g->block, g->blocks));
    }
}

/* The groups of equalities alone, which are the first ones: until where. None where their slopes are not 1, as for the
 * interior point. */
static const tg_soft_group *end_of_free(const tg_soft *p)
{
    const tg_soft_group *g = p->group;
    for (int i = 0; i < p->free; i++)
        if (p->D[i] != 1)
            return g;
    while (g < p->group + p->groups && g->block + g->blocks <= p->free)
        g++;
    return g;
}

/* What equalities add to H is the same as long as the compliance is. */
static bool factor_skyline(tg_soft *p)
{
    const tg_soft_group *first = end_of_free(p);
    if (first == p->group)
        tg_skyline_set_one(&p->skyline, p->symmetric);
    else
    {
        if (p->kept_eps != p->eps)
        {
            tg_skyline_set_one(&p->skyline, true);
            add_to_skyline(p, p->group, first);
            tg_skyline_keep(&p->skyline);
            p->kept_eps = p->eps;
        }
        tg_skyline_set_kept(&p->skyline, p->symmetric);
    }
    add_to_skyline(p, first, p->group + p->groups);
    return tg_skyline_factor(&p->skyline);
}

static bool factor_dense(tg_soft *p)
{
    int n = p->dims;
    memset(p->H, 0, sizeof(double) * (size_t)n * (size_t)p->ld);
    for (int k = 0; k < n; k++)
        p->H[(ptrdiff_t)k * (p->ld + 1)] = 1;
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
        add_group(p, g, p->support + g->support, p->H, p->ld);
    return tg_lu(n, p->H, p->ld, p->pivot) < 0;
}

/* what a block's normal does to its tangents: the part of D that is not symmetric */
static void uncouple(tg_soft *p)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = 1; i < b->dim; i++)
            p->D[b->slope + b->dim * i] = 0;
}

bool tg_soft_factor(tg_soft *p, bool coupled)
{
    p->regular = false;
    if (p->factorisations >= p->limit)
        return false;
    if (!coupled)
        uncouple(p);
    p->symmetric = !coupled || is_symmetric(p->block, p->blocks);
    for (int k = 0; k < p->blocks; k++)
        p->factored[k] = p->block[k].phase;
    p->factorisations++;
    p->regular = p->sparse ? tg_fronts_factor(&p->fronts, p->symmetric, add_element, p) : factor_skyline(p);
    p->dense = !p->regular && !p->sparse && !p->symmetric;
    if (p->dense)
        p->regular = factor_dense(p);
    return p->regular;
}

void tg_soft_solve(const tg_soft *p, double *x)
{
    if (p->sparse)
        tg_fronts_solve(&p->fronts, x);
    else if (p->dense)
        tg_lu_solve(p->dims, p->H, p->ld, p->pivot, 1, x, 1);
    else
        tg_skyline_solve(&p->skyline, x);
}

void tg_soft_scatter(const tg_soft *p, double *L)
{
    memset(L, 0, sizeof(double) * (size_t)p->island->rows);
    for (int i = 0; i < p->rows; i++)
        L[p->source[i]] = p->L[i];
}
