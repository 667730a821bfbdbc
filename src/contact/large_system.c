#include "contact/large_system.h"

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    CONE = TG_CONE_MAX,
    NEIGHBOURS = 24,   /* trees that a tree touches, on average, at most: equal balls touch 12 others */
    TENDON_TREES = 16, /* trees that a tendon couples, at most */
    STRIP = 48,        /* rows that are multiplied at a time where a node is wide */
    WIDE = 16          /* unknowns of such a node */
};

/* ---- memory ---- */

typedef struct sizes
{
    size_t blocks, rows, parts, edges, tiles, values, masses, factors, most;
    int vector;
} sizes;

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static sizes sizes_of(const tg_model *m, const tg_capacity *c)
{
    sizes n = {0};
    size_t trees = (size_t)m->ntree, dofs = (size_t)m->nv, most = 0, padded = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        most = (size_t)larger((int)most, v4_pad(m->tree_ndof[t]));
        padded += (size_t)v4_pad(m->tree_ndof[t]);
        n.masses += (size_t)m->tree_ndof[t] * (size_t)v4_pad(m->tree_ndof[t]);
    }
    size_t pair = trees < 2 ? 1 : 2, many = m->ntendon > 0 ? smaller(trees, TENDON_TREES) : pair;
    size_t contacts = (size_t)c->contacts, others = (size_t)(c->blocks - c->contacts);
    n.most = most;
    n.vector = (int)padded;
    n.blocks = (size_t)c->blocks;
    n.parts = (size_t)c->columns - contacts * (size_t)(c->condim - 1) * pair;
    n.rows = (size_t)c->columns * most;
    n.edges = smaller(trees * (trees > 0 ? trees - 1 : 0), NEIGHBOURS * trees + 64);
    n.tiles = contacts * pair * pair + others * many * many;
    n.values = n.masses + smaller(dofs * padded, NEIGHBOURS * dofs * most);
    n.factors = smaller(2 * dofs * dofs, 700 * dofs) + 64;
    return n;
}

void tg_large_take(tg_large *p, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
    sizes n = sizes_of(m, c);
    size_t x = (size_t)c->rows, matrix = x * (size_t)c->condim;
    int trees = m->ntree;
    p->block = TG_TAKE(arena, tg_large_block, n.blocks, "large: blocks");
    p->part = TG_TAKE(arena, tg_large_part, n.parts, "large: parts");
    p->tile = TG_TAKE(arena, size_t, n.tiles, "large: tiles");
    p->max_tile = n.tiles;
    p->product = TG_TAKE(arena, double, (size_t)(2 * STRIP) * n.most, "large: product");
    p->J = TG_TAKE(arena, double, n.rows, "large: rows");
    p->X = TG_TAKE(arena, double, n.rows, "large: responses");
    double **const matrices[] = {&p->G, &p->N, &p->E};
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++)
        *matrices[i] = TG_TAKE(arena, double, matrix, "large: matrices of blocks");
    double **const vectors[] = {&p->bias, &p->x, &p->s, &p->k, &p->ds, &p->diagonal};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(arena, double, x, "large: vectors of rows");
    double **const velocities[] = {&p->v_free, &p->v, &p->dv};
    for (size_t i = 0; i < sizeof velocities / sizeof *velocities; i++)
        *velocities[i] = TG_TAKE(arena, double, n.vector, "large: velocities");
    int **const nodes[] = {&p->tree, &p->node, &p->first, &p->width, &p->seen};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        *nodes[i] = TG_TAKE(arena, int, trees, "large: nodes");
    p->mass = TG_TAKE(arena, double, n.masses, "large: masses");
    p->mass_at = TG_TAKE(arena, size_t, trees, "large: masses of nodes");
    p->use_start = TG_TAKE(arena, int, trees + 1, "large: blocks of a node");
    p->use = TG_TAKE(arena, int, n.parts, "large: blocks of the nodes");
    tg_fronts_place(&p->fronts, trees, (int)n.edges, n.vector, n.values, n.factors, arena);
}

/* ---- nodes ---- */

/* A += D_k l l^T for row k of L, on the path of k */
static void add_dof(const tg_ltl_pattern *pattern, const double *l, int k, double d, double *A, int ld)
{
    for (int i = k; i >= 0; i = pattern->parent[i])
        for (int j = k; j >= 0; j = pattern->parent[j])
            A[(ptrdiff_t)i * ld + j] += d * (i == k ? 1 : l[i]) * (j == k ? 1 : l[j]);
}

/* rows first .. first + count - 1 of L and D L, of `length` numbers, with zeros where k has no ancestor */
static void copy_factor(const tg_large *p, int tree, int first, int count, int length, double *L, double *DL)
{
    const tg_model *m = p->m;
    const tg_ltl_pattern *pattern = &m->tree_ltl[tree];
    const double *dinv = p->w->dinv + m->tree_dof[tree];
    memset(L, 0, sizeof(double) * (size_t)count * (size_t)length);
    memset(DL, 0, sizeof(double) * (size_t)count * (size_t)length);
    for (int k = first; k < first + count; k++, L += length, DL += length)
    {
        const double *l = p->w->M + m->tree_matrix[tree] + (ptrdiff_t)k * m->tree_ld[tree];
        for (int i = k; i >= 0; i = pattern->parent[i])
        {
            L[i] = i == k ? 1 : l[i];
            DL[i] = L[i] / dinv[k];
        }
    }
}

/* M = L^T D L of a tree; row k of L ends with column k */
static void make_mass(const tg_large *p, int node)
{
    const tg_model *m = p->m;
    int tree = p->tree[node], n = m->tree_ndof[tree], ld = p->width[node];
    double *A = p->mass + p->mass_at[node], *L = p->product, *DL = L + (ptrdiff_t)STRIP * ld;
    memset(A, 0, sizeof(double) * (size_t)n * (size_t)ld);
    if (n <= WIDE)
        for (int k = 0; k < n; k++)
            add_dof(&m->tree_ltl[tree], p->w->M + m->tree_matrix[tree] + (ptrdiff_t)k * m->tree_ld[tree], k,
                    1 / p->w->dinv[m->tree_dof[tree] + k], A, ld);
    else
        for (int k = 0; k < n; k += STRIP)
        {
            int count = n - k < STRIP ? n - k : STRIP, length = k + count;
            copy_factor(p, tree, k, count, length, L, DL);
            tg_gemm_tn(length, length, count, L, length, DL, length, TG_GEMM_ADD, A, ld);
        }
}

static void make_nodes(tg_large *p, const double *v_free)
{
    const tg_model *m = p->m;
    size_t mass = 0;
    p->nnode = p->nv = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        if (p->r->tree_columns[t] == 0 || &p->r->island[p->r->tree_island[t]] != p->island)
            continue;
        int node = p->nnode++, n = m->tree_ndof[t];
        p->tree[node] = t;
        p->node[t] = node;
        p->first[node] = p->nv;
        p->width[node] = v4_pad(n);
        memset(p->v_free + p->nv, 0, sizeof(double) * (size_t)p->width[node]);
        if (v_free != NULL)
            memcpy(p->v_free + p->nv, v_free + m->tree_dof[t], sizeof(double) * (size_t)n);
        p->nv += p->width[node];
        p->mass_at[node] = mass;
        make_mass(p, node);
        mass += (size_t)n * (size_t)p->width[node];
    }
}

/* ---- one block's rows ---- */

/* sum_i += J_i v, dim rows of extent numbers, ld apart */
TG_INLINE void rows_dot(int dim, int extent, int ld, const double *J, const double *v, v4 *sum)
{
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < extent; k += V4_LANES)
            sum[i] += v4_load(J + (ptrdiff_t)i * ld + k) * v4_load(v + k);
}

/* v += sum_i J_i x_i */
TG_INLINE void rows_add(int dim, int extent, int ld, const double *J, const double *x, double *v)
{
    for (int k = 0; k < extent; k += V4_LANES)
    {
        v4 sum = v4_load(v + k);
        for (int i = 0; i < dim; i++)
            sum += v4_splat(x[i]) * v4_load(J + (ptrdiff_t)i * ld + k);
        v4_store(v + k, sum);
    }
}

/* contacts of free bodies, three rows of six dofs, are most of what there is */
static inline bool is_plain(int dim, int width)
{
    return dim == 3 && width == 2 * V4_LANES;
}

/* out = J v */
static void multiply_rows(const tg_large *p, const tg_large_block *b, const double *v, double *out)
{
    v4 sum[CONE] = {{0}};
    int dim = b->cone.dim;
    for (const tg_large_part *part = p->part + b->part; part < p->part + b->part + b->parts; part++)
    {
        int width = p->width[part->node];
        const double *J = p->J + part->rows, *at = v + p->first[part->node];
        if (is_plain(dim, width))
            rows_dot(3, 2 * V4_LANES, 2 * V4_LANES, J, at, sum);
        else
            rows_dot(dim, part->extent, width, J, at, sum);
    }
    for (int i = 0; i < dim; i++)
        out[i] = v4_sum(sum[i]);
}

/* v += J^T x */
static void add_forces(const tg_large *p, const tg_large_block *b, const double *x, double *v)
{
    int dim = b->cone.dim;
    for (const tg_large_part *part = p->part + b->part; part < p->part + b->part + b->parts; part++)
    {
        int width = p->width[part->node];
        const double *J = p->J + part->rows;
        double *at = v + p->first[part->node];
        if (is_plain(dim, width))
            rows_add(3, 2 * V4_LANES, 2 * V4_LANES, J, x, at);
        else
            rows_add(dim, part->extent, width, J, x, at);
    }
}

void tg_large_block_velocity(const tg_large *p, const tg_large_block *b, const double *v, double *out)
{
    multiply_rows(p, b, v, out);
    for (int i = 0; i < b->cone.dim; i++)
        out[i] += p->bias[b->cone.row + i];
}

void tg_large_block_respond(const tg_large *p, const tg_large_block *b, const double *dx, double *v)
{
    int dim = b->cone.dim;
    for (const tg_large_part *part = p->part + b->part; part < p->part + b->part + b->parts; part++)
    {
        int width = p->width[part->node];
        const double *X = p->X + part->rows;
        double *at = v + p->first[part->node];
        if (is_plain(dim, width))
            rows_add(3, 2 * V4_LANES, 2 * V4_LANES, X, dx, at);
        else
            rows_add(dim, width, width, X, dx, at);
    }
}

/* ---- blocks ---- */

/* a column of J_t^T or X_t, scaled, becomes a row */
static void copy_column(const tg_large *p, const tg_part *part, const double *from, int row, double scale, double *to)
{
    int stride = v4_pad(p->r->tree_columns[part->tree]), n = p->m->tree_ndof[part->tree];
    from += p->r->tree_start[part->tree] + part->column + row;
    for (int k = 0; k < n; k++)
        to[k] = scale * from[(ptrdiff_t)k * stride];
    for (int k = n; k < v4_pad(n); k++)
        to[k] = 0;
}

/* numbers up to the last group of four that is not zero: a row of a deep tree ends where its body is */
static int extent_of(int width, const double *J)
{
    while (width > 2 * V4_LANES && J[width - 1] == 0 && J[width - 2] == 0 && J[width - 3] == 0 && J[width - 4] == 0)
        width -= V4_LANES;
    return width;
}

static void copy_rows(tg_large *p, tg_large_block *b, size_t *used, int *nparts)
{
    const tg_constraint *c = b->constraint;
    b->part = *nparts;
    b->parts = c->parts;
    for (int k = 0; k < c->parts; k++)
    {
        const tg_part *part = &p->r->part[c->part + k];
        int node = p->node[part->tree], width = p->width[node];
        tg_large_part *to = &p->part[(*nparts)++];
        *to = (tg_large_part){node, *used, 0};
        for (int i = 0; i < b->cone.dim; i++, *used += (size_t)width)
        {
            copy_column(p, part, p->r->J, b->source[i], b->scale[i], p->J + *used);
            to->extent = larger(to->extent, extent_of(width, p->J + *used));
            copy_column(p, part, p->r->Y, b->source[i], b->scale[i], p->X + *used);
        }
    }
}

/* its own part of J M^-1 J^T */
static void own_matrix(const tg_large *p, tg_large_block *b)
{
    int dim = b->cone.dim;
    double *G = p->G + b->matrix;
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++)
        {
            double sum = 0;
            for (const tg_large_part *a = p->part + b->part; a < p->part + b->part + b->parts; a++)
            {
                int width = p->width[a->node];
                const double *left = p->half ? p->X : p->J;
                sum += v4_dot_of(width, left + a->rows + (ptrdiff_t)i * width, p->X + a->rows + (ptrdiff_t)j * width);
            }
            G[dim * i + j] = G[dim * j + i] = sum;
        }
    G[0] += b->soft;
}

typedef struct builder
{
    tg_large *p;
    size_t rows, matrix;
    int parts;
} builder;

static tg_large_block *begin_block(builder *at, const tg_constraint *c, tg_cone_kind kind, double bound)
{
    tg_large *p = at->p;
    tg_large_block *b = &p->block[p->nblock];
    *b = (tg_large_block){.cone = {.kind = kind, .row = p->nx, .bound = bound}, .constraint = c};
    return b;
}

static void add_row(tg_large_block *b, int source, double scale)
{
    b->source[b->cone.dim] = source;
    b->scale[b->cone.dim++] = scale;
}

static void end_block(builder *at, tg_large_block *b, double soft)
{
    tg_large *p = at->p;
    size_t rows = at->rows;
    int parts = at->parts, dim = b->cone.dim, row = b->constraint->row - p->island->row;
    double trace = 0;
    b->soft = soft;
    b->matrix = at->matrix;
    copy_rows(p, b, &rows, &parts);
    own_matrix(p, b);
    const double *G = p->G + b->matrix;
    for (int i = 0; i < dim; i++)
        p->diagonal[row + b->source[i]] = G[(dim + 1) * i] / (b->scale[i] * b->scale[i]);
    if (!(G[0] > 0))
        return; /* nothing moves it */
    for (int i = 1; i < dim; i++)
        trace += G[(dim + 1) * i];
    b->cone.rho_n = 1 / G[0];
    b->cone.rho_t = trace > 0 ? (dim - 1) / trace : b->cone.rho_n;
    for (int i = 0; i < dim; i++)
        p->bias[p->nx + i] = b->scale[i] * p->r->bias[b->constraint->row + b->source[i]];
    at->rows = rows;
    at->parts = parts;
    at->matrix += (size_t)dim * (size_t)dim;
    p->nx += dim;
    p->nblock++;
}

static void add_contact(builder *at, const tg_constraint *c, const tg_block *law, double soft)
{
    tg_large_block *b = begin_block(at, c, TG_CONE_UNIT, 0);
    add_row(b, 0, 1);
    for (int i = 1; law->kind == TG_BLOCK_CONTACT && i < law->rows; i++)
        if (law->mu[i - 1] > 0)
            add_row(b, i, law->mu[i - 1]);
    end_block(at, b, soft);
}

static void add_rows(builder *at, const tg_constraint *c, const tg_block *law)
{
    bool box = law->kind == TG_BLOCK_FRICTION;
    for (int i = 0; i < law->rows; i++)
    {
        tg_large_block *b = begin_block(at, c, box ? TG_CONE_BOX : TG_CONE_FREE, law->bound);
        add_row(b, i, 1);
        end_block(at, b, 0);
    }
}

/* G_ii of the rows that carry nothing (no friction) does not matter: 0 */
static void make_blocks(tg_large *p, double dt)
{
    builder at = {.p = p};
    p->nblock = p->nx = 0;
    memset(p->diagonal, 0, sizeof(double) * (size_t)p->island->rows);
    for (int b = p->island->block; b < p->island->block + p->island->blocks; b++)
    {
        const tg_constraint *c = &p->r->constraint[p->r->order[b]];
        const tg_block *law = &p->r->block[b];
        bool contact = c->source == TG_SOURCE_CONTACT;
        double soft = contact ? tg_law_compliance(p->w->params, &p->r->touch[c->index].law) / (dt * dt) : 0;
        if (law->kind == TG_BLOCK_CONTACT || law->kind == TG_BLOCK_LIMIT)
            add_contact(&at, c, law, soft);
        else
            add_rows(&at, c, law);
    }
}

/* ---- the graph ---- */

static void list_uses(tg_large *p)
{
    int n = p->nnode, sum = 0;
    memset(p->use_start, 0, sizeof(int) * (size_t)(n + 1));
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].parts; i++)
            p->use_start[p->part[p->block[k].part + i].node]++;
    for (int i = 0; i <= n; i++)
    {
        int count = i < n ? p->use_start[i] : 0;
        p->use_start[i] = sum;
        sum += count;
    }
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].parts; i++)
            p->use[p->use_start[p->part[p->block[k].part + i].node]++] = k;
    for (int i = n; i > 0; i--)
        p->use_start[i] = p->use_start[i - 1];
    p->use_start[0] = 0;
}

/* Edges of a node, each once; tiles of its blocks get the edge's number. */
static bool add_edges(tg_large *p, int node, int *edges)
{
    tg_fronts *f = &p->fronts;
    f->start[node] = *edges;
    for (int u = p->use_start[node]; u < p->use_start[node + 1]; u++)
    {
        const tg_large_block *b = &p->block[p->use[u]];
        const tg_large_part *part = p->part + b->part;
        int own = 0;
        while (part[own].node != node)
            own++;
        for (int i = 0; i < b->parts; i++)
        {
            int other = part[i].node;
            if (i == own)
                continue;
            if (p->seen[other] < f->start[node])
            {
                if (*edges == f->max_edge)
                    return false;
                f->neighbour[*edges] = other;
                p->seen[other] = (*edges)++;
            }
            p->tile[b->tile + (size_t)(own * b->parts + i)] = (size_t)p->seen[other];
        }
    }
    return true;
}

static bool make_edges(tg_large *p)
{
    tg_fronts *f = &p->fronts;
    size_t tiles = 0;
    int edges = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        p->block[k].tile = tiles;
        tiles += (size_t)(p->block[k].parts * p->block[k].parts);
    }
    if (tiles > p->max_tile)
        return false;
    f->nnode = p->nnode;
    for (int n = 0; n < p->nnode; n++)
    {
        p->seen[n] = -1;
        f->size[n] = p->m->tree_ndof[p->tree[n]];
        f->offset[n] = p->first[n];
    }
    for (int n = 0; n < p->nnode; n++)
        if (!add_edges(p, n, &edges))
            return false;
    f->start[p->nnode] = edges;
    return true;
}

/* numbers of edges become places of their blocks */
static void place_tiles(tg_large *p)
{
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->parts; i++)
            for (int j = 0; j < b->parts; j++)
            {
                size_t *tile = &p->tile[b->tile + (size_t)(i * b->parts + j)];
                *tile = i == j ? p->fronts.node_block[p->part[b->part + i].node] : p->fronts.edge_block[*tile];
            }
    }
}

bool tg_large_build(tg_large *p, const double *v_free, double dt)
{
    p->half = p->island->tree >= 0;
    make_nodes(p, v_free);
    make_blocks(p, dt);
    list_uses(p);
    if (!make_edges(p) || !tg_fronts_analyse(&p->fronts))
        return false;
    place_tiles(p);
    return true;
}

/* ---- products ---- */

/* v = M^-1 J^T x of the only tree */
static void respond_tree(const tg_large *p, const double *x, double *v)
{
    int tree = p->tree[0];
    memset(v, 0, sizeof(double) * (size_t)p->nv);
    for (int k = 0; k < p->nblock; k++)
        add_forces(p, &p->block[k], x + p->block[k].cone.row, v);
    tg_ltl_solve(&p->m->tree_ltl[tree], p->w->M + p->m->tree_matrix[tree], p->w->dinv + p->m->tree_dof[tree], v);
    for (int k = 0; k < p->nv; k++)
        v[k] += p->v_free[k];
}

void tg_large_velocity(const tg_large *p, const double *x, double *s)
{
    if (p->half)
        respond_tree(p, x, p->v);
    else
    {
        memcpy(p->v, p->v_free, sizeof(double) * (size_t)p->nv);
        for (int k = 0; k < p->nblock; k++)
            if (x[p->block[k].cone.row] != 0)
                tg_large_block_respond(p, &p->block[k], x + p->block[k].cone.row, p->v);
    }
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        tg_large_block_velocity(p, b, p->v, s + b->cone.row);
        s[b->cone.row] += b->soft * x[b->cone.row];
    }
}

/* ---- the linear system ---- */

/* A += J_a^T T, J_a dim x n (rows of ld), T dim x width */
TG_INLINE void add_tile(int dim, int n, int ld, int width, const double *J, const double *T, double *A)
{
    for (int j = 0; j < width; j += V4_LANES)
    {
        v4 t[CONE];
        for (int i = 0; i < dim; i++)
            t[i] = v4_load(T + (ptrdiff_t)i * width + j);
        for (int k = 0; k < n; k++)
        {
            v4 sum = v4_load(A + (ptrdiff_t)k * width + j);
            for (int i = 0; i < dim; i++)
                sum += v4_splat(J[(ptrdiff_t)i * ld + k]) * t[i];
            v4_store(A + (ptrdiff_t)k * width + j, sum);
        }
    }
}

/* T = N J, dim x width */
TG_INLINE void times_rows(int dim, int width, const double *N, const double *J, double *T)
{
    for (int j = 0; j < width; j += V4_LANES)
        for (int i = 0; i < dim; i++)
        {
            v4 sum = v4_zero();
            for (int k = 0; k < dim; k++)
                sum += v4_splat(N[dim * i + k]) * v4_load(J + (ptrdiff_t)k * width + j);
            v4_store(T + (ptrdiff_t)i * width + j, sum);
        }
}

static void add_block(const tg_large *p, const tg_large_block *b)
{
    double *T = p->product;
    const tg_large_part *part = p->part + b->part;
    const size_t *tile = p->tile + b->tile;
    int dim = b->cone.dim;
    for (int j = 0; j < b->parts; j++)
    {
        int width = p->width[part[j].node];
        bool plain = is_plain(dim, width);
        if (plain)
            times_rows(3, 2 * V4_LANES, p->N + b->matrix, p->J + part[j].rows, T);
        else
            times_rows(dim, width, p->N + b->matrix, p->J + part[j].rows, T);
        for (int i = 0; i < b->parts; i++)
        {
            int n = p->fronts.size[part[i].node], ld = p->width[part[i].node];
            double *A = p->fronts.value + tile[i * b->parts + j];
            if (plain && n == 6)
                add_tile(3, 6, 2 * V4_LANES, 2 * V4_LANES, p->J + part[i].rows, T, A);
            else
                add_tile(dim, n, ld, width, p->J + part[i].rows, T, A);
        }
    }
}

/* the same for blocks of one wide node, as many as a strip holds; returns how many that were */
static int add_strip(const tg_large *p, int first)
{
    const tg_large_part *part = p->part + p->block[first].part;
    int node = part->node, width = p->width[node], rows = 0, extent = 0, count = 0;
    double *T = p->product;
    for (; first + count < p->nblock; count++)
    {
        const tg_large_block *b = &p->block[first + count];
        const tg_large_part *here = p->part + b->part;
        if (b->parts != 1 || here->node != node || rows + b->cone.dim > STRIP)
            break;
        if (b->state.phase == TG_PHASE_BREAK)
            memset(T + (ptrdiff_t)rows * width, 0, sizeof(double) * (size_t)b->cone.dim * (size_t)width);
        else
            times_rows(b->cone.dim, width, p->N + b->matrix, p->J + here->rows, T + (ptrdiff_t)rows * width);
        extent = larger(extent, here->extent);
        rows += b->cone.dim;
    }
    int n = extent < p->fronts.size[node] ? extent : p->fronts.size[node];
    tg_gemm_tn(n, n, rows, p->J + part->rows, width, T, width, TG_GEMM_ADD,
               p->fronts.value + p->tile[p->block[first].tile], width);
    return count;
}

static bool is_wide(const tg_large *p, const tg_large_block *b)
{
    return b->parts == 1 && p->width[p->part[b->part].node] > WIDE;
}

bool tg_large_factor(tg_large *p)
{
    tg_fronts *f = &p->fronts;
    memset(f->value, 0, sizeof(double) * f->values);
    for (int n = 0; n < p->nnode; n++)
        memcpy(f->value + f->node_block[n], p->mass + p->mass_at[n],
               sizeof(double) * (size_t)f->size[n] * (size_t)p->width[n]);
    for (int k = 0; k < p->nblock;)
        if (is_wide(p, &p->block[k]))
            k += add_strip(p, k);
        else
        {
            if (p->block[k].state.phase != TG_PHASE_BREAK)
                add_block(p, &p->block[k]);
            k++;
        }
    return tg_fronts_factor(f);
}

void tg_large_solve(tg_large *p, double *k)
{
    memset(p->dv, 0, sizeof(double) * (size_t)p->nv);
    for (int i = 0; i < p->nblock; i++)
        add_forces(p, &p->block[i], k + p->block[i].cone.row, p->dv);
    tg_fronts_solve(&p->fronts, p->dv);
    for (int i = 0; i < p->nblock; i++)
    {
        const tg_large_block *b = &p->block[i];
        double *ds = p->ds + b->cone.row;
        int dim = b->cone.dim;
        multiply_rows(p, b, p->dv, ds);
        if (b->state.phase == TG_PHASE_BREAK)
            continue;
        const double *N = p->N + b->matrix;
        for (int r = 0; r < dim; r++)
            for (int c = 0; c < dim; c++)
                k[b->cone.row + r] -= N[dim * r + c] * ds[c];
    }
}
