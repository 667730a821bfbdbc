#include "contact/large_cluster.h"

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    MOST_ROWS = 160 /* there is room for */
};

/* The problem of some blocks, in the scaled variables of large_system.h: in these every contact has friction
 * coefficients 1. */
typedef struct cluster
{
    const tg_large *p;
    int blocks, rows;
    int most;   /* rows */
    int effort; /* factorisations */
    int *index; /* of its blocks, in p */
    tg_block *block;
    double *G, *g, *warm, *L, *sigma;
} cluster;

/* ---- which blocks ---- */

static bool touches(const tg_large *p, const tg_large_block *b, const bool *node)
{
    for (int k = 0; k < b->parts; k++)
        if (node[p->part[b->part + k].node])
            return true;
    return false;
}

/* the nodes of the blocks that are listed */
static void mark_nodes(const cluster *c, bool *node)
{
    const tg_large *p = c->p;
    for (int i = 0; i < c->blocks; i++)
    {
        const tg_large_block *b = &p->block[c->index[i]];
        for (int k = 0; k < b->parts; k++)
            node[p->part[b->part + k].node] = true;
    }
}

/* Lists the blocks that are chosen, or at the nodes that are marked; false, and leaves the list as it is, when they
 * have too many rows. */
static bool list_blocks(cluster *c, const bool *chosen, const bool *node)
{
    const tg_large *p = c->p;
    int rows = 0, blocks = 0;
    for (int b = 0; b < p->nblock; b++)
        rows += chosen[b] || touches(p, &p->block[b], node) ? p->block[b].cone.dim : 0;
    if (rows > c->most)
        return false;
    for (int b = 0; b < p->nblock; b++)
        if (chosen[b] || touches(p, &p->block[b], node))
            c->index[blocks++] = b;
    c->rows = rows;
    c->blocks = blocks;
    return true;
}

/* the seeds, and neighbours of these, neighbours of neighbours, ..., as long as there is room */
static bool grow(cluster *c, const bool *seed, bool *node)
{
    memset(node, 0, (size_t)c->p->nnode * sizeof *node);
    if (!list_blocks(c, seed, node))
        return false;
    for (int before = 0; before < c->blocks;)
    {
        before = c->blocks;
        mark_nodes(c, node);
        if (!list_blocks(c, seed, node))
            break;
    }
    return true;
}

/* ---- the problem ---- */

/* one row of J M^-1 J^T between two blocks */
static double product(const tg_large *p, const tg_large_block *a, int i, const tg_large_block *b, int j)
{
    const double *left = p->half ? p->X : p->J; /* half: X^T X */
    v4 sum = v4_zero();
    for (int k = 0; k < a->parts; k++)
        for (int l = 0; l < b->parts; l++)
        {
            const tg_large_part *at = &p->part[a->part + k], *other = &p->part[b->part + l];
            if (at->node != other->node)
                continue;
            int width = p->width[at->node];
            const double *row = left + at->rows + (ptrdiff_t)i * width, *x = p->X + other->rows + (ptrdiff_t)j * width;
            for (int n = 0; n < width; n += V4_LANES)
                sum += v4_load(row + n) * v4_load(x + n);
        }
    return v4_sum(sum);
}

static tg_block law_of(const tg_large_block *b, int row)
{
    static const tg_block_kind kind[] = {
        [TG_CONE_UNIT] = TG_BLOCK_CONTACT, [TG_CONE_FREE] = TG_BLOCK_EQUALITY, [TG_CONE_BOX] = TG_BLOCK_FRICTION};
    tg_block law = {.kind = kind[b->cone.kind], .row = row, .rows = b->cone.dim, .bound = b->cone.bound};
    for (int i = 0; i + 1 < b->cone.dim; i++)
        law.mu[i] = 1;
    return law;
}

static void fill_rows(cluster *c, int block)
{
    const tg_large *p = c->p;
    const tg_large_block *b = &p->block[c->index[block]];
    int ld = v4_pad(c->rows);
    for (int i = 0; i < b->cone.dim; i++)
    {
        int row = c->block[block].row + i;
        double *G = c->G + (ptrdiff_t)row * ld, own = 0;
        for (int k = 0; k < c->blocks; k++)
            for (int j = 0; j < c->block[k].rows; j++)
                G[c->block[k].row + j] = product(p, b, i, &p->block[c->index[k]], j);
        G[row] += i == 0 ? b->soft : 0;
        for (int j = 0; j < c->rows; j++)
            own += G[j] * c->warm[j];
        c->g[row] = p->s[b->cone.row + i] - own;
    }
}

static void fill(cluster *c)
{
    const tg_large *p = c->p;
    for (int k = 0, row = 0; k < c->blocks; row += c->block[k++].rows)
    {
        const tg_large_block *b = &p->block[c->index[k]];
        c->block[k] = law_of(b, row);
        memcpy(c->warm + row, p->x + b->cone.row, sizeof(double) * (size_t)b->cone.dim);
    }
    for (int k = 0; k < c->blocks; k++)
        fill_rows(c, k);
}

static bool solve(cluster *c, double tolerance, tg_arena *scratch)
{
    tg_island island = {.rows = c->rows,
                        .blocks = c->blocks,
                        .block = c->block,
                        .G = c->G,
                        .ldg = v4_pad(c->rows),
                        .g = c->g,
                        .warm = c->warm};
    tg_solve_options options = tg_solve_default();
    tg_solve_result result;
    tg_error error;
    options.tolerance = tolerance;
    options.select = false;
    options.effort = c->effort;
    return tg_island_solve(&island, &options, scratch, c->L, c->sigma, &result, &error) == TG_OK &&
           result.status == TG_SOLVE_SOLVED;
}

/* A dense factorisation takes no more multiplications than a Newton step of all blocks. */
static int most_rows(const tg_large *p)
{
    double work = p->island->work + tg_fronts_work(&p->fronts);
    int rows = MOST_ROWS;
    while (tg_chol_work(rows) > work)
        rows--;
    return rows;
}

bool tg_large_solve_cluster(tg_large *p, const bool *seed, double tolerance, int effort)
{
    tg_arena *scratch = &p->r->scratch;
    size_t mark = tg_arena_mark(scratch), most = MOST_ROWS;
    cluster c = {.p = p, .most = most_rows(p), .effort = effort};
    bool *node = TG_TAKE(scratch, bool, p->nnode, "cluster: nodes"), solved = false;
    c.index = TG_TAKE(scratch, int, most, "cluster: blocks");
    c.block = TG_TAKE(scratch, tg_block, most, "cluster: laws");
    c.G = TG_TAKE(scratch, double, most *(size_t)v4_pad(MOST_ROWS), "cluster: matrix");
    double **const vectors[] = {&c.g, &c.warm, &c.L, &c.sigma};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(scratch, double, most, "cluster: vectors");
    if (!scratch->failed && grow(&c, seed, node))
    {
        fill(&c);
        solved = solve(&c, tolerance, scratch);
    }
    for (int k = 0; k < c.blocks && solved; k++)
        memcpy(p->x + p->block[c.index[k]].cone.row, c.L + c.block[k].row, sizeof(double) * (size_t)c.block[k].rows);
    tg_arena_release(scratch, mark);
    scratch->failed = false;
    return solved;
}
