#include "contact/large_system.h"

#include "math/dense.h"
#include "math/lanes.h"

enum
{
    CONE = TG_CONE_MAX,
    STRIP = 48,   /* rows that are multiplied at a time where a node is wide */
    WIDE = 16,    /* unknowns of such a node */
    FREE = TWIST, /* of a free body, and the width of its rows */
    PLAIN = 2 * V4_LANES,
    CONTACTS = 8 /* of free bodies that are multiplied at a time */
};

/* ---- memory ---- */

static int larger(int a, int b)
{
    return a > b ? a : b;
}

typedef struct sizes
{
    size_t parts, rows, masses, most, product;
    tg_fronts_room fronts;
} sizes;

static sizes sizes_of(const tg_model *m, const tg_capacity *c)
{
    sizes n = {0};
    int padded = 0;
    size_t trees = (size_t)m->ntree;
    for (int t = 0; t < m->ntree; t++)
    {
        n.most = (size_t)larger((int)n.most, v4_pad(m->tree_ndof[t]));
        padded += v4_pad(m->tree_ndof[t]);
        n.masses += (size_t)m->tree_ndof[t] * (size_t)v4_pad(m->tree_ndof[t]);
    }
    size_t pair = trees < 2 ? 1 : 2;
    n.parts = (size_t)c->columns - (size_t)c->contacts * (size_t)(c->condim - 1) * pair;
    n.rows = (size_t)c->columns * n.most;
    n.product = (size_t)larger(2 * STRIP * (int)n.most, 2 * CONTACTS * DIM * PLAIN);
    n.fronts = tg_fronts_usual_room(m->ntree, m->ntree + c->blocks, m->ntree + (int)n.parts, m->nv, padded);
    return n;
}

void tg_large_take(tg_large *p, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
    sizes n = sizes_of(m, c);
    size_t x = (size_t)c->rows, matrix = x * (size_t)c->condim;
    int trees = m->ntree;
    p->block = TG_TAKE(arena, tg_large_block, c->blocks, "large: blocks");
    p->group = TG_TAKE(arena, tg_large_group, c->blocks, "large: groups");
    p->part = TG_TAKE(arena, tg_large_part, n.parts, "large: parts");
    p->product = TG_TAKE(arena, double, n.product, "large: product");
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
        *velocities[i] = TG_TAKE(arena, double, n.fronts.unknowns, "large: velocities");
    int **const nodes[] = {&p->tree, &p->node, &p->first, &p->width};
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++)
        *nodes[i] = TG_TAKE(arena, int, trees, "large: nodes");
    p->mass = TG_TAKE(arena, double, n.masses, "large: masses");
    p->mass_at = TG_TAKE(arena, size_t, trees, "large: masses of nodes");
    tg_fronts_place(&p->fronts, &n.fronts, arena);
}

/* ---- nodes ---- */

/* A += D_k l l^T for row k of L, on the path of k */
static void add_dof(const tg_ltl_pattern *pattern, const double *l, int k, double d, double *A, int ld)
{
    _Alignas(v4) double row[WIDE] = {0};
    for (int i = k; i >= 0; i = pattern->parent[i])
        row[i] = i == k ? 1 : l[i];
    for (int i = k; i >= 0; i = pattern->parent[i])
        for (int j = 0; j <= k; j += V4_LANES)
            v4_store(A + (ptrdiff_t)i * ld + j,
                     v4_load(A + (ptrdiff_t)i * ld + j) + v4_splat(d * row[i]) * v4_load(row + j));
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

/* whether a tree, a block is in the part */
static bool has_tree(const tg_large *p, int tree)
{
    return p->only == NULL || tg_tree_root(p->r, tree) == p->only->root;
}

static bool has_block(const tg_large *p, int block)
{
    const tg_constraint *c = &p->r->constraint[p->r->order[block]];
    return p->only == NULL || (!p->only->left_out[block - p->island->block] && has_tree(p, p->r->part[c->part].tree));
}

static void make_nodes(tg_large *p, const double *v_free)
{
    const tg_model *m = p->m;
    size_t mass = 0;
    p->nnode = p->nv = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        if (p->r->tree_columns[t] == 0 || &p->r->island[p->r->tree_island[t]] != p->island || !has_tree(p, t))
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
static inline bool is_short(int dim, int width)
{
    return dim == DIM && width == PLAIN;
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
        if (is_short(dim, width))
            rows_dot(DIM, PLAIN, PLAIN, J, at, sum);
        else
            rows_dot(dim, part->extent, width, J, at, sum);
    }
    for (int i = 0; i < dim; i++)
        out[i] = v4_sum(sum[i]);
}

/* v += A^T x, A = J or X */
static void add_rows_of(const tg_large *p, const tg_large_block *b, const double *A, const double *x, double *v)
{
    int dim = b->cone.dim;
    for (const tg_large_part *part = p->part + b->part; part < p->part + b->part + b->parts; part++)
    {
        int width = p->width[part->node];
        double *at = v + p->first[part->node];
        if (is_short(dim, width))
            rows_add(DIM, PLAIN, PLAIN, A + part->rows, x, at);
        else
            rows_add(dim, A == p->J ? part->extent : width, width, A + part->rows, x, at);
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
    add_rows_of(p, b, p->X, dx, v);
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
    while (width > 2 * V4_LANES && !v4_any(v4_loadu(J + width - V4_LANES) != 0))
        width -= V4_LANES;
    return width;
}

/* three columns of a free body become three rows of eight numbers, scaled */
static void copy_contact(const tg_large *p, const tg_part *part, const double *from, const double *scale, double *to)
{
    int ld = v4_pad(p->r->tree_columns[part->tree]);
    v4 a[PLAIN] = {{0}};
    from += p->r->tree_start[part->tree] + (size_t)part->column;
    for (int k = 0; k < FREE; k++)
        a[k] = v4_loadu(from + (ptrdiff_t)k * ld);
    v4_transpose_rows(a);
    v4_transpose_rows(a + V4_LANES);
    for (int i = 0; i < DIM; i++)
    {
        v4_store(to + PLAIN * i, v4_splat(scale[i]) * a[i]);
        v4_store(to + PLAIN * i + V4_LANES, v4_splat(scale[i]) * a[V4_LANES + i]);
    }
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
        *to = (tg_large_part){.node = node, .rows = *used};
        if (b->cone.dim == DIM && c->rows == DIM && p->m->tree_ndof[part->tree] == FREE)
        {
            copy_contact(p, part, p->r->J, b->scale, p->J + *used);
            copy_contact(p, part, p->r->Y, b->scale, p->X + *used);
            to->extent = PLAIN;
            *used += DIM * PLAIN;
            continue;
        }
        for (int i = 0; i < b->cone.dim; i++, *used += (size_t)width)
        {
            copy_column(p, part, p->r->J, b->source[i], b->scale[i], p->J + *used);
            to->extent = larger(to->extent, extent_of(width, p->J + *used));
            copy_column(p, part, p->r->Y, b->source[i], b->scale[i], p->X + *used);
        }
    }
}

/* sum_ij += A_i . B_j, j <= i: dim rows of width numbers */
TG_INLINE void add_products(int dim, int width, const double *A, const double *B, v4 *sum)
{
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < width; k += V4_LANES)
                sum[CONE * i + j] += v4_load(A + (ptrdiff_t)i * width + k) * v4_load(B + (ptrdiff_t)j * width + k);
}

/* its own part of J M^-1 J^T */
static void own_matrix(const tg_large *p, tg_large_block *b)
{
    int dim = b->cone.dim;
    double *G = p->G + b->matrix;
    const double *left = p->half ? p->X : p->J;
    v4 sum[CONE * CONE] = {{0}};
    for (const tg_large_part *a = p->part + b->part; a < p->part + b->part + b->parts; a++)
        if (is_short(dim, p->width[a->node]))
            add_products(DIM, PLAIN, left + a->rows, p->X + a->rows, sum);
        else
            add_products(dim, p->width[a->node], left + a->rows, p->X + a->rows, sum);
    for (int i = 0; i < dim; i++)
        for (int j = 0; j <= i; j++)
            G[dim * i + j] = G[dim * j + i] = v4_sum(sum[CONE * i + j]);
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
        if (!has_block(p, b))
            continue;
        bool contact = c->source == TG_SOURCE_CONTACT;
        double soft = contact ? tg_law_compliance(p->w->params, &p->r->touch[c->index].law) / (dt * dt) : 0;
        if (law->kind == TG_BLOCK_CONTACT || law->kind == TG_BLOCK_LIMIT)
            add_contact(&at, c, law, soft);
        else
            add_rows(&at, c, law);
    }
}

/* ---- elements ---- */

static bool same_nodes(const tg_large *p, const tg_large_block *a, const tg_large_block *b)
{
    if (a->parts != b->parts)
        return false;
    for (int i = 0; i < a->parts; i++)
        if (p->part[a->part + i].node != p->part[b->part + i].node)
            return false;
    return true;
}

static bool is_plain(const tg_large *p, const tg_large_block *b)
{
    for (int i = 0; i < b->parts; i++)
        if (p->fronts.size[p->part[b->part + i].node] != FREE)
            return false;
    return b->cone.dim == DIM && b->parts <= 2;
}

static void begin_group(tg_large *p, int first)
{
    const tg_large_block *b = &p->block[first];
    tg_fronts *f = &p->fronts;
    int *at = &f->element_start[f->nelement++];
    p->group[p->ngroup++] = (tg_large_group){.block = first,
                                             .row = b->cone.row,
                                             .part = b->part,
                                             .parts = b->parts,
                                             .plain = true,
                                             .rows = p->part[b->part].rows};
    for (int i = 0; i < b->parts; i++)
        f->element_node[at[0] + i] = p->part[b->part + i].node;
    at[1] = at[0] + b->parts;
}

static void make_elements(tg_large *p)
{
    tg_fronts *f = &p->fronts;
    f->nnode = f->nelement = p->nnode;
    for (int n = 0; n < p->nnode; n++)
    {
        f->size[n] = p->m->tree_ndof[p->tree[n]];
        f->offset[n] = p->first[n];
        f->element_start[n] = f->element_node[n] = n;
    }
    f->element_start[p->nnode] = p->nnode;
    p->ngroup = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        if (k == 0 || !same_nodes(p, b, b - 1))
            begin_group(p, k);
        tg_large_group *g = &p->group[p->ngroup - 1];
        g->blocks++;
        g->plain = g->plain && is_plain(p, b);
    }
}

bool tg_large_build(tg_large *p, const double *v_free, double dt)
{
    p->half = p->island->tree >= 0;
    make_nodes(p, v_free);
    make_blocks(p, dt);
    make_elements(p);
    return tg_fronts_analyse(&p->fronts);
}

/* ---- products ---- */

/* J v of contacts between free bodies: each has 3 rows at one body, then 3 at the other */
TG_INLINE void multiply_contacts(int parts, int count, const double *J, const double *const *v, double *out)
{
    v4 at[2][2];
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < 2; j++)
            at[i][j] = v4_load(v[i] + V4_LANES * j);
    for (int c = 0; c < count; c++, J += DIM * PLAIN * parts, out += DIM)
    {
        v4 sum[V4_LANES] = {{0}};
        for (int k = 0; k < DIM; k++)
            for (int i = 0; i < parts; i++)
                for (int j = 0; j < 2; j++)
                    sum[k] += v4_load(J + (DIM * i + k) * PLAIN + V4_LANES * j) * at[i][j];
        v4_store3(out, v4_sums(sum));
    }
}

/* v += J^T x of the same */
TG_INLINE void add_contacts(int parts, int count, const double *J, const double *x, double *const *v)
{
    v4 at[2][2];
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < 2; j++)
            at[i][j] = v4_load(v[i] + V4_LANES * j);
    for (int c = 0; c < count; c++, J += DIM * PLAIN * parts, x += DIM)
        for (int k = 0; k < DIM; k++)
            for (int i = 0; i < parts; i++)
                for (int j = 0; j < 2; j++)
                    at[i][j] += v4_load(J + (DIM * i + k) * PLAIN + V4_LANES * j) * v4_splat(x[k]);
    for (int i = 0; i < parts; i++)
        for (int j = 0; j < 2; j++)
            v4_store(v[i] + V4_LANES * j, at[i][j]);
}

/* out = J v of all rows */
static void multiply_all(const tg_large *p, const double *v, double *out)
{
    for (const tg_large_group *g = p->group; g < p->group + p->ngroup; g++)
    {
        const tg_large_part *part = p->part + g->part;
        const double *at[2] = {v + p->first[part[0].node], g->parts > 1 ? v + p->first[part[1].node] : NULL};
        if (g->plain && g->parts == 2)
            multiply_contacts(2, g->blocks, p->J + g->rows, at, out + g->row);
        else if (g->plain)
            multiply_contacts(1, g->blocks, p->J + g->rows, at, out + g->row);
        else
            for (const tg_large_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
                multiply_rows(p, b, v, out + b->cone.row);
    }
}

/* v += A^T x of all rows, A = J or X */
static void add_all(const tg_large *p, const double *A, const double *x, double *v)
{
    for (const tg_large_group *g = p->group; g < p->group + p->ngroup; g++)
    {
        const tg_large_part *part = p->part + g->part;
        double *const at[2] = {v + p->first[part[0].node], g->parts > 1 ? v + p->first[part[1].node] : NULL};
        if (g->plain && g->parts == 2)
            add_contacts(2, g->blocks, A + g->rows, x + g->row, at);
        else if (g->plain)
            add_contacts(1, g->blocks, A + g->rows, x + g->row, at);
        else
            for (const tg_large_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
                add_rows_of(p, b, A, x + b->cone.row, v);
    }
}

/* v = M^-1 J^T x of the only tree */
static void respond_tree(const tg_large *p, const double *x, double *v)
{
    int tree = p->tree[0];
    memset(v, 0, sizeof(double) * (size_t)p->nv);
    add_all(p, p->J, x, v);
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
        add_all(p, p->X, x, p->v);
    }
    multiply_all(p, p->v, s);
    for (int i = 0; i < p->nx; i++)
        s[i] += p->bias[i];
    for (int k = 0; k < p->nblock; k++)
        s[p->block[k].cone.row] += p->block[k].soft * x[p->block[k].cone.row];
}

/* ---- the linear system ---- */

/* A += J_a^T T, J_a dim x n (rows of width numbers), T dim x columns, rows of A ld apart */
TG_INLINE void add_tile(int dim, int n, int width, int columns, const double *J, const double *T, double *A, int ld)
{
    for (int j = 0; j < columns; j += V4_LANES)
    {
        v4 t[CONE];
        for (int i = 0; i < dim; i++)
            t[i] = v4_load(T + (ptrdiff_t)i * columns + j);
        for (int k = 0; k < n; k++)
        {
            v4 sum = v4_loadu(A + (ptrdiff_t)k * ld + j);
            for (int i = 0; i < dim; i++)
                sum += v4_splat(J[(ptrdiff_t)i * width + k]) * t[i];
            v4_storeu(A + (ptrdiff_t)k * ld + j, sum);
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

static void add_block(const tg_large *p, const tg_large_block *b, const int *at, double *A, int ld)
{
    double *T = p->product;
    const tg_large_part *part = p->part + b->part;
    int dim = b->cone.dim;
    for (int j = 0; j < b->parts; j++)
    {
        int columns = p->width[part[j].node];
        times_rows(dim, columns, p->N + b->matrix, p->J + part[j].rows, T);
        for (int i = 0; i < b->parts; i++)
            add_tile(dim, p->fronts.size[part[i].node], p->width[part[i].node], columns, p->J + part[i].rows, T,
                     A + (ptrdiff_t)at[i] * ld + at[j], ld);
    }
}

/* the same for blocks of one wide node, as many as a strip holds; returns how many that were */
static int add_strip(const tg_large *p, const tg_large_group *g, int first, double *A, int ld)
{
    const tg_large_part *part = p->part + p->block[first].part;
    int node = part->node, width = p->width[node], rows = 0, extent = 0, k = first;
    double *T = p->product;
    for (; k < g->block + g->blocks && rows + p->block[k].cone.dim <= STRIP; k++)
    {
        const tg_large_block *b = &p->block[k];
        const tg_large_part *here = p->part + b->part;
        if (b->state.phase == TG_PHASE_BREAK)
            memset(T + (ptrdiff_t)rows * width, 0, sizeof(double) * (size_t)b->cone.dim * (size_t)width);
        else
            times_rows(b->cone.dim, width, p->N + b->matrix, p->J + here->rows, T + (ptrdiff_t)rows * width);
        extent = larger(extent, here->extent);
        rows += b->cone.dim;
    }
    int n = extent < p->fronts.size[node] ? extent : p->fronts.size[node];
    tg_gemm_tn(n, n, rows, p->J + part->rows, width, T, width, TG_GEMM_ADD, A, ld);
    return k - first;
}

/* contacts of free bodies: A += sum over contacts of J_a^T T_b, T and J `step` numbers apart */
TG_INLINE void add_contact_tile(int count, const double *const *J, const double *T, int step, double *A, int ld)
{
    v4 sum[FREE][2] = {{{0}}};
    for (int c = 0; c < count; c++, T += step)
        for (int r = 0; r < DIM; r++)
        {
            v4 t0 = v4_load(T + PLAIN * r), t1 = v4_load(T + PLAIN * r + V4_LANES);
            for (int k = 0; k < FREE; k++)
            {
                v4 j = v4_splat(J[c][PLAIN * r + k]);
                sum[k][0] += j * t0;
                sum[k][1] += j * t1;
            }
        }
    for (int k = 0; k < FREE; k++, A += ld)
    {
        v4_storeu(A, v4_loadu(A) + sum[k][0]);
        v4_storeu(A + V4_LANES, v4_loadu(A + V4_LANES) + sum[k][1]);
    }
}

/* up to CONTACTS of them from block `first` on */
TG_INLINE void add_contact_strip(const tg_large *p, int parts, int first, int count, const double *J, const int *at,
                                 double *A, int ld)
{
    double *T = p->product;
    const double *rows[2][CONTACTS], *N = p->N + p->block[first].matrix;
    int kept = 0, step = DIM * PLAIN * parts;
    for (int c = 0; c < count; c++, J += step, N += DIM * DIM)
    {
        if (p->block[first + c].state.phase == TG_PHASE_BREAK)
            continue;
        for (int i = 0; i < parts; i++)
        {
            rows[i][kept] = J + DIM * PLAIN * i;
            times_rows(DIM, PLAIN, N, rows[i][kept], T + kept * step + DIM * PLAIN * i);
        }
        kept++;
    }
    for (int i = 0; i < parts && kept > 0; i++)
        for (int j = 0; j < parts; j++)
            add_contact_tile(kept, rows[i], T + DIM * PLAIN * j, step, A + (ptrdiff_t)at[i] * ld + at[j], ld);
}

static void add_contact_group(const tg_large *p, const tg_large_group *g, const int *at, double *A, int ld)
{
    for (int k = 0; k < g->blocks; k += CONTACTS)
    {
        int count = g->blocks - k < CONTACTS ? g->blocks - k : CONTACTS;
        const double *J = p->J + g->rows + (size_t)(k * DIM * PLAIN * g->parts);
        if (g->parts == 2)
            add_contact_strip(p, 2, g->block + k, count, J, at, A, ld);
        else
            add_contact_strip(p, 1, g->block + k, count, J, at, A, ld);
    }
}

static void add_mass(const tg_large *p, int node, double *A, int ld)
{
    const double *M = p->mass + p->mass_at[node];
    int n = p->fronts.size[node], width = p->width[node];
    for (int i = 0; i < n; i++, A += ld, M += width)
        for (int j = 0; j < width; j += V4_LANES)
            v4_storeu(A + j, v4_loadu(A + j) + v4_load(M + j));
}

/* a mass, or J^T N J of a group */
static void add_element(const void *context, int element, const int *at, double *A, int ld)
{
    const tg_large *p = context;
    double *first = A + (ptrdiff_t)at[0] * (ld + 1);
    if (element < p->nnode)
    {
        add_mass(p, element, first, ld);
        return;
    }
    const tg_large_group *g = &p->group[element - p->nnode];
    bool wide = g->parts == 1 && p->width[p->part[g->part].node] > WIDE;
    if (g->plain)
        add_contact_group(p, g, at, A, ld);
    else
        for (int k = g->block; k < g->block + g->blocks;)
            if (wide)
                k += add_strip(p, g, k, first, ld);
            else
            {
                if (p->block[k].state.phase != TG_PHASE_BREAK)
                    add_block(p, &p->block[k], at, A, ld);
                k++;
            }
}

/* whether J^T N J is: contacts that hold or break, none that slides */
static bool is_symmetric(const tg_large *p)
{
    for (const tg_large_block *b = p->block; b < p->block + p->nblock; b++)
    {
        const double *N = p->N + b->matrix;
        int dim = b->cone.dim;
        for (int i = 1; i < dim && b->state.phase != TG_PHASE_BREAK; i++)
            for (int j = 0; j < i; j++)
                if (N[dim * i + j] != N[dim * j + i])
                    return false;
    }
    return true;
}

bool tg_large_factor(tg_large *p)
{
    return tg_fronts_factor(&p->fronts, is_symmetric(p), add_element, p);
}

void tg_large_solve(tg_large *p, double *k)
{
    memset(p->dv, 0, sizeof(double) * (size_t)p->nv);
    add_all(p, p->J, k, p->dv);
    tg_fronts_solve(&p->fronts, p->dv);
    multiply_all(p, p->dv, p->ds);
    for (int i = 0; i < p->nblock; i++)
    {
        const tg_large_block *b = &p->block[i];
        const double *N = p->N + b->matrix, *ds = p->ds + b->cone.row;
        int dim = b->cone.dim;
        if (b->state.phase == TG_PHASE_BREAK)
            continue;
        for (int r = 0; r < dim; r++)
            for (int c = 0; c < dim; c++)
                k[b->cone.row + r] -= N[dim * r + c] * ds[c];
    }
}
