/* An island in parts.
 *
 * Collision lists what may touch within the step, and a third of the contacts of a tumbling heap carry nothing. An
 * island that is held together by these alone falls into parts, which are solved one by one: matrices are smaller, and
 * a part that is hard to solve does not hold up the others. Contacts that carried nothing and are sure to open are left
 * out. If the solution of the parts has sigma_N >= 0 there, it is one of the whole island. Otherwise those that close
 * are taken back, and the parts that they join are solved once more, from the impulses that they had. */
#include "contact/parts.h"

#include <math.h>

#include "contact/large.h"
#include "math/lanes.h"
#include "math/support.h"
#include "solve/tolerance.h"

typedef struct splitting
{
    const tg_model *m;
    tg_work *w;
    tg_rows *r;
    tg_rows_island *island;
    tg_island whole;
    const double *v_free;
    const tg_solve_options *options;
    bool can_relax; /* the island can do without the push of its overlaps, */
    double push;    /* m/s: that of the part that is being solved; 0: it has none */
    bool *open;     /* blocks that are left out */
    bool *solved;   /* trees: the part whose root it is */
    int *place;     /* row of the part, -1: not in it */
    double *from;   /* impulses to start from */
    double *L, *sigma, *z;
    bool kept; /* z of some part */
    tg_solve_result result;
} splitting;

/* one part, as its solver sees it */
typedef struct part
{
    tg_island island;
    double work; /* as in tg_rows_island */
    int *row;    /* of the island */
    double *g, *speed, *bias, *give, *diagonal, *warm, *warm_z;
    double *L, *sigma, *z;
    int *column_row; /* of all trees, one behind the other */
    uint64_t *support;
    double *Y;
} part;

/* ---- which parts ---- */

static const tg_constraint *constraint_of(const splitting *s, int block)
{
    return &s->r->constraint[s->r->order[s->island->block + block]];
}

static int root_of_block(const splitting *s, int block)
{
    return tg_tree_root(s->r, s->r->part[constraint_of(s, block)->part].tree);
}

static bool is_of(const splitting *s, int tree)
{
    return s->r->tree_columns[tree] > 0 && &s->r->island[s->r->tree_island[tree]] == s->island;
}

/* Contacts that carried nothing, and open with the velocities before the step and without impulses: by more than what
 * is little beside the largest free velocity, `least`. */
static void find_open(splitting *s, double least)
{
    const tg_island *whole = &s->whole;
    for (int k = 0; k < whole->blocks; k++)
    {
        int row = whole->block[k].row;
        s->open[k] = whole->block[k].kind == TG_BLOCK_CONTACT &&
                     !(whole->diagonal[row] * whole->warm[row] > TG_NO_FORCE) && whole->g[row] > least &&
                     whole->speed[row] + whole->bias[row] > least;
    }
}

/* Of these, those that open with the impulses of the previous step, too. */
static void confirm_open(splitting *s, double least)
{
    tg_island_velocity(&s->whole, s->whole.warm, false, s->sigma);
    for (int k = 0; k < s->whole.blocks; k++)
        s->open[k] = s->open[k] && s->sigma[s->whole.block[k].row] > least;
}

static double largest_velocity(const tg_island *whole)
{
    double most = 0;
    for (int i = 0; i < whole->rows; i++)
        most = tg_larger(most, fabs(whole->g[i]));
    return most;
}

/* Joins the trees of all blocks that are not left out; a part that is joined is not solved. Returns the number of
 * parts. */
static int join(splitting *s)
{
    const tg_rows *r = s->r;
    int parts = 0;
    for (int k = 0; k < s->whole.blocks; k++)
    {
        const tg_constraint *c = constraint_of(s, k);
        for (int i = 1; i < c->parts && !s->open[k]; i++)
        {
            int first = r->part[c->part].tree, second = r->part[c->part + i].tree;
            if (tg_tree_root(r, first) != tg_tree_root(r, second))
                s->solved[tg_join_trees(r, first, second)] = false;
        }
    }
    for (int t = 0; t < s->m->ntree; t++)
        parts += is_of(s, t) && r->tree_root[t] == t;
    return parts;
}

/* ---- one part ---- */

/* the rows of its blocks */
static void list_blocks(splitting *s, int root, part *p, tg_block *block)
{
    for (int k = 0; k < s->whole.blocks; k++)
    {
        const tg_block *from = &s->whole.block[k];
        bool own = !s->open[k] && root_of_block(s, k) == root;
        for (int i = from->row; i < from->row + from->rows; i++)
            s->place[i] = own ? p->island.rows + i - from->row : -1;
        if (!own)
            continue;
        const tg_constraint *c = constraint_of(s, k);
        double dofs = 0;
        for (int i = 0; i < c->parts; i++)
            dofs += s->m->tree_ndof[s->r->part[c->part + i].tree];
        p->work += from->rows * dofs * dofs;
        for (int i = 0; i < from->rows; i++)
            p->row[p->island.rows + i] = from->row + i;
        block[p->island.blocks] = *from;
        block[p->island.blocks++].row = p->island.rows;
        p->island.rows += from->rows;
    }
}

static int count_columns(const splitting *s, int tree)
{
    const int *row = s->r->column_row + s->r->tree_column[tree];
    int columns = 0;
    for (int j = 0; j < s->r->tree_columns[tree]; j++)
        columns += s->place[row[j] - s->island->row] >= 0;
    return columns;
}

/* columns of a tree that are in the part, with their support, at the places that p->column_row, support and Y say */
static void copy_tree(const splitting *s, int tree, const part *p, tg_tree_rows *to)
{
    const tg_rows *r = s->r;
    const int *row = r->column_row + r->tree_column[tree], n = s->m->tree_ndof[tree], words = tg_chain_words(n);
    int columns = count_columns(s, tree), ld = v4_pad(columns), from_ld = v4_pad(r->tree_columns[tree]), at = 0;
    *to =
        (tg_tree_rows){.dofs = n, .columns = columns, .ld = ld, .row = p->column_row, .Y = p->Y, .support = p->support};
    memset(p->support, 0, sizeof *p->support * (size_t)(words * ld / V4_LANES));
    memset(p->Y, 0, sizeof *p->Y * (size_t)(n * ld));
    for (int j = 0; j < r->tree_columns[tree]; j++)
    {
        const uint64_t *bits = tg_tree_support(r, tree) + j / V4_LANES * words;
        const double *from = r->Y + r->tree_start[tree] + j;
        int place = s->place[row[j] - s->island->row];
        if (place < 0)
            continue;
        for (int w = 0; w < words; w++)
            p->support[at / V4_LANES * words + w] |= bits[w];
        for (int k = 0; k < n; k++)
            p->Y[k * ld + at] = from[(ptrdiff_t)k * from_ld];
        p->column_row[at++] = place;
    }
}

static void copy_trees(const splitting *s, int root, part *p, tg_tree_rows *tree)
{
    tg_island *to = &p->island;
    for (int t = 0; t < s->m->ntree; t++)
        if (is_of(s, t) && tg_tree_root(s->r, t) == root)
        {
            copy_tree(s, t, p, &tree[to->trees]);
            p->column_row += tree[to->trees].ld;
            p->support += tree[to->trees].ld / V4_LANES * tg_chain_words(s->m->tree_ndof[t]);
            p->Y += tree[to->trees].ld * s->m->tree_ndof[t];
            to->dofs += tree[to->trees++].dofs;
        }
}

/* Vectors over rows and trees of so many rows and columns; columns are padded to whole v4. */
static void take_vectors(const tg_model *m, part *p, int rows, size_t columns, tg_arena *arena)
{
    double **const vectors[] = {&p->g,    &p->speed,  &p->bias, &p->give,  &p->diagonal,
                                &p->warm, &p->warm_z, &p->L,    &p->sigma, &p->z};
    size_t most = 0;
    for (int t = 0; t < m->ntree; t++)
        most = (size_t)m->tree_ndof[t] > most ? (size_t)m->tree_ndof[t] : most;
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(arena, double, rows, "part: vectors");
    p->column_row = TG_TAKE(arena, int, columns, "part: rows of columns");
    p->support = TG_TAKE(arena, uint64_t, columns / V4_LANES * (size_t)tg_chain_words((int)most), "part: support");
    p->Y = TG_TAKE(arena, double, columns *most, "part: Y");
}

static void gather(const part *p, const double *from, double *to)
{
    for (int i = 0; i < p->island.rows; i++)
        to[i] = from[p->row[i]];
}

static void gather_vectors(const splitting *s, part *p)
{
    const tg_island *whole = &s->whole;
    tg_island *to = &p->island;
    gather(p, whole->g, p->g);
    gather(p, whole->speed, p->speed);
    gather(p, whole->bias, p->bias);
    gather(p, whole->give, p->give);
    gather(p, whole->diagonal, p->diagonal);
    gather(p, s->from, p->warm);
    gather(p, s->r->warm_z + s->island->row, p->warm_z);
    to->g = p->g;
    to->speed = p->speed;
    to->bias = p->bias;
    to->give = p->give;
    to->diagonal = p->diagonal;
    to->warm = p->warm;
    to->warm_z = p->warm_z;
    to->z = p->z;
}

/* the part of the tree `root`, in memory of the arena; false when there is too little */
static bool build(splitting *s, int root, part *p, tg_arena *arena)
{
    const tg_island *whole = &s->whole;
    tg_island *to = &p->island;
    tg_block *block = TG_TAKE(arena, tg_block, whole->blocks, "part: blocks");
    tg_tree_rows *tree = TG_TAKE(arena, tg_tree_rows, whole->trees, "part: trees");
    size_t columns = 0;
    *p = (part){.row = TG_TAKE(arena, int, whole->rows, "part: rows")};
    if (arena->failed)
        return false;
    list_blocks(s, root, p, block);
    for (int t = 0; t < s->m->ntree; t++)
        if (is_of(s, t) && tg_tree_root(s->r, t) == root)
            columns += (size_t)v4_pad(count_columns(s, t));
    take_vectors(s->m, p, to->rows, columns, arena);
    if (arena->failed)
        return false;
    copy_trees(s, root, p, tree);
    gather_vectors(s, p);
    to->block = block;
    to->tree = tree;
    to->ldg = v4_pad(to->rows);
    return true;
}

/* G of the part; NULL when there is no room */
static void fill_matrix(part *p, tg_arena *arena)
{
    tg_island *to = &p->island;
    double *G = TG_TAKE(arena, double, to->rows * to->ldg + V4_LANES, "part: G");
    if (G == NULL)
        return;
    memset(G, 0, sizeof(double) * (size_t)to->rows * (size_t)to->ldg);
    for (const tg_tree_rows *tree = to->tree; tree < to->tree + to->trees; tree++)
        tg_support_product(tree->dofs, tree->columns, tree->support, tree->Y, tree->ld, tree->row, 0, G, to->ldg);
    for (int i = 0; i < to->rows; i++)
        G[(ptrdiff_t)i * (to->ldg + 1)] += to->give[i];
    to->G = G;
}

static void count(splitting *s, const tg_solve_result *result)
{
    s->result.newton += result->newton;
    s->result.interior += result->interior;
    s->result.sweeps += result->sweeps;
}

/* In velocity space, from L (rows of the island); before: as in tg_solve_large. L becomes the solution. */
static void run_large(splitting *s, int root, bool passes, const tg_solve_result *before, double *L,
                      tg_solve_result *result)
{
    tg_rows *r = s->r;
    int row = s->island->row;
    size_t bytes = sizeof(double) * (size_t)s->island->rows;
    tg_large_part_of only = {root, s->open, passes};
    memcpy((before != NULL ? r->L : r->warm) + row, L, bytes);
    tg_need_whole(s->m, s->w, s->island);
    tg_solve_large(s->m, s->w, s->island, s->v_free, r->dt, s->options->tolerance, 0, before, &only);
    tg_need_half(s->m, s->w, s->island);
    memcpy(L, r->L + row, bytes);
    *result = s->island->result;
}

/* Many bodies: Newton on the problem with compliance, or velocity space, and the rule from there. False when neither
 * solves it. */
static bool run_sparse(splitting *s, int root, part *p, tg_arena *arena, tg_solve_result *result)
{
    size_t mark = tg_arena_mark(arena);
    double *L = TG_TAKE(arena, double, s->island->rows, "part: impulses of the island");
    bool found = tg_island_first(&p->island, s->options, arena, p->L, p->sigma, result);
    if (!found && result->status != TG_SOLVE_SOLVED && L != NULL)
    {
        const tg_solve_result before = *result;
        memset(L, 0, sizeof(double) * (size_t)s->island->rows);
        for (int i = 0; i < p->island.rows; i++)
            L[p->row[i]] = p->L[i];
        run_large(s, root, true, &before, L, result);
        for (int i = 0; i < p->island.rows; i++)
            p->L[i] = L[p->row[i]];
    }
    if (!found && result->status == TG_SOLVE_SOLVED)
        tg_island_select(&p->island, s->options, arena, p->L, p->sigma, result);
    tg_arena_release(arena, mark);
    return result->status == TG_SOLVE_SOLVED;
}

/* The solver of islands of its size. */
static bool run(splitting *s, int root, part *p, tg_arena *arena, tg_solve_result *result)
{
    tg_island *island = &p->island;
    tg_solve_options options = *s->options;
    tg_error error;
    bool sparse = island->trees > 1 && tg_is_loose(island->rows, island->dofs, p->work);
    options.relaxable = tg_is_strong_push(s->push);
    options.droppable = !sparse && s->push > 0;
    if (sparse && run_sparse(s, root, p, arena, result))
        return true;
    if (sparse)
        count(s, result);
    options.skip_warm = sparse || tg_island_is_wide(island);
    if (!options.skip_warm)
        fill_matrix(p, arena);
    return tg_island_solve(island, &options, arena, p->L, p->sigma, result, &error) == TG_OK &&
           result->status == TG_SOLVE_SOLVED;
}

/* rows and dofs of a part */
static bool is_small(const splitting *s, int root)
{
    int rows = 0, dofs = 0, trees = 0;
    for (int k = 0; k < s->whole.blocks; k++)
        rows += !s->open[k] && root_of_block(s, k) == root ? s->whole.block[k].rows : 0;
    for (int t = 0; t < s->m->ntree; t++)
        if (is_of(s, t) && tg_tree_root(s->r, t) == root)
        {
            dofs += s->m->tree_ndof[t];
            trees++;
        }
    return dofs <= TG_DENSE_DOFS && rows <= s->r->capacity.island_rows && (trees == 1 || rows <= TG_DENSE_COUPLED);
}

static bool solve_small(splitting *s, int root, tg_solve_result *result)
{
    tg_arena *arena = &s->r->scratch;
    size_t mark = tg_arena_mark(arena);
    part p;
    bool solved = build(s, root, &p, arena) && (p.island.rows == 0 || run(s, root, &p, arena, result));
    for (int i = 0; i < p.island.rows && solved; i++)
    {
        s->L[p.row[i]] = p.L[i];
        s->z[p.row[i]] = result->z ? p.z[i] : p.L[i];
    }
    tg_arena_release(arena, mark);
    arena->failed = false;
    return solved;
}

/* Multipliers on what velocity space has not solved, from L (rows of the island), which becomes the solution. In the
 * memory of velocity space. */
static void run_compliant(splitting *s, int root, double *L, tg_solve_result *result)
{
    tg_arena arena = {.base = s->r->large_memory, .capacity = s->r->capacity.large};
    tg_solve_result before = *result;
    tg_error error;
    part p;
    if (before.status == TG_SOLVE_SOLVED || tg_is_strong_push(s->push) || !build(s, root, &p, &arena))
        return;
    tg_island *island = &p.island;
    gather(&p, L, p.warm);
    island->warm_z = island->z = NULL;
    for (const tg_tree_rows *tree = island->tree; tree < island->tree + island->trees; tree++)
    {
        island->columns += tree->columns;
        island->tree_dofs = tree->dofs > island->tree_dofs ? tree->dofs : island->tree_dofs;
    }
    if (tg_island_solve(island, s->options, &arena, p.L, p.sigma, result, &error) != TG_OK)
        *result = before;
    else
    {
        result->newton += before.newton;
        result->interior += before.interior;
        result->sweeps += before.sweeps;
    }
    for (int i = 0; i < island->rows && result->status == TG_SOLVE_SOLVED; i++)
        L[p.row[i]] = p.L[i];
}

static bool solve_big(splitting *s, int root, tg_solve_result *result)
{
    size_t mark = tg_arena_mark(&s->r->scratch);
    double *L = TG_TAKE(&s->r->scratch, double, s->island->rows, "part: impulses of the island");
    bool room = L != NULL;
    if (room)
    {
        memcpy(L, s->from, sizeof(double) * (size_t)s->island->rows);
        run_large(s, root, false, NULL, L, result);
        run_compliant(s, root, L, result);
    }
    for (int k = 0; k < s->whole.blocks && room; k++)
        if (!s->open[k] && root_of_block(s, k) == root)
            for (int i = s->whole.block[k].row; i < s->whole.block[k].row + s->whole.block[k].rows; i++)
                s->L[i] = s->z[i] = L[i];
    tg_arena_release(&s->r->scratch, mark);
    s->r->scratch.failed = false;
    return room && result->status == TG_SOLVE_SOLVED;
}

static double push_of(const splitting *s, int root)
{
    double most = 0;
    for (int k = 0; k < s->whole.blocks && s->can_relax; k++)
        if (!s->open[k] && root_of_block(s, k) == root)
            most = tg_larger(most, tg_constraint_push(s->r, constraint_of(s, k)));
    return most;
}

/* Solves a part; false when it could not be solved. */
static bool solve_part(splitting *s, int root)
{
    tg_solve_result result = {0};
    s->push = push_of(s, root);
    bool solved = (is_small(s, root) ? solve_small : solve_big)(s, root, &result);
    count(s, &result);
    s->kept = s->kept || result.z;
    s->result.selection = result.selection > s->result.selection ? result.selection : s->result.selection;
    s->result.stage = result.stage > s->result.stage ? result.stage : s->result.stage;
    s->solved[root] = solved;
    return solved;
}

/* ---- all ---- */

static bool solve_all(splitting *s)
{
    for (int t = 0; t < s->m->ntree; t++)
        if (is_of(s, t) && s->r->tree_root[t] == t && !s->solved[t] && !solve_part(s, t))
            return false;
    return true;
}

/* Takes back what closes; true when there is some. */
static bool take_back(splitting *s, const double *sigma)
{
    bool any = false;
    for (int k = 0; k < s->whole.blocks; k++)
        if (s->open[k] && !(sigma[s->whole.block[k].row] >= TG_NO_SLIP))
        {
            s->open[k] = false;
            s->solved[root_of_block(s, k)] = false;
            any = true;
        }
    return any;
}

static tg_parts iterate(splitting *s)
{
    size_t bytes = sizeof(double) * (size_t)s->whole.rows;
    while (join(s) > 1)
    {
        bool solved = solve_all(s);
        s->result.residual = tg_island_residual(&s->whole, s->L, false, s->sigma);
        if (!solved)
            return s->push > 0 ? TG_PARTS_PUSHED : TG_PARTS_NONE;
        if (!take_back(s, s->sigma))
            return tg_residual_max(&s->result.residual) <= s->options->tolerance ? TG_PARTS_SOLVED : TG_PARTS_NONE;
        memcpy(s->from, s->L, bytes);
    }
    return TG_PARTS_NONE;
}

/* what is kept of a splitting; false when there is no room */
static bool take(splitting *s, tg_arena *arena)
{
    size_t rows = (size_t)s->island->rows;
    double **const vectors[] = {&s->from, &s->L, &s->sigma, &s->z};
    s->open = TG_TAKE(arena, bool, s->island->blocks, "parts: blocks that are left out");
    s->solved = TG_TAKE(arena, bool, s->m->ntree, "parts: solved");
    s->place = TG_TAKE(arena, int, rows, "parts: rows");
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(arena, double, rows, "parts: vectors");
    if (arena->failed || arena->base == NULL)
        return false;
    memset(s->solved, 0, sizeof(bool) * (size_t)s->m->ntree);
    memcpy(s->from, s->whole.warm, sizeof(double) * rows);
    memset(s->L, 0, sizeof(double) * rows);
    memset(s->z, 0, sizeof(double) * rows);
    for (int t = 0; t < s->m->ntree; t++)
        s->r->tree_root[t] = t;
    return true;
}

tg_parts tg_solve_parts(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free,
                        const tg_solve_options *options)
{
    tg_rows *r = w->rows;
    tg_arena *arena = &r->scratch;
    size_t mark = tg_arena_mark(arena), bytes = sizeof(double) * (size_t)island->rows;
    splitting s = {.m = m,
                   .w = w,
                   .r = r,
                   .island = island,
                   .whole = tg_island_problem(r, island),
                   .v_free = v_free,
                   .options = options,
                   .can_relax = tg_island_push(r, island) > 0};
    tg_parts found = TG_PARTS_NONE;
    if (take(&s, arena))
    {
        double least = TG_NEAR * largest_velocity(&s.whole);
        find_open(&s, least);
        if (join(&s) > 1)
        {
            confirm_open(&s, least);
            found = iterate(&s);
        }
    }
    island->result = s.result;
    island->result.status = found == TG_PARTS_SOLVED ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL;
    island->result.z = s.kept;
    if (found != TG_PARTS_NONE)
    {
        memcpy(r->L + island->row, s.L, bytes);
        memcpy(r->sigma + island->row, s.sigma, bytes);
        memcpy(r->z + island->row, s.z, bytes);
    }
    tg_arena_release(arena, mark);
    arena->failed = false;
    return found;
}

size_t tg_parts_scratch(const tg_model *m, const tg_capacity *c)
{
    tg_arena count = {0};
    tg_rows_island island = {.rows = c->rows, .blocks = c->constraints};
    splitting s = {.m = m, .island = &island};
    part p;
    int rows = c->island_rows, trees = m->ntree < TG_DENSE_DOFS ? m->ntree : TG_DENSE_DOFS;
    if (m->ntree < 2)
        return 0;
    take(&s, &count);
    TG_TAKE(&count, double, c->rows, "part: impulses of the island");
    TG_TAKE(&count, tg_block, c->constraints, "part: blocks");
    TG_TAKE(&count, tg_tree_rows, m->ntree, "part: trees");
    TG_TAKE(&count, int, c->rows, "part: rows");
    take_vectors(m, &p, rows, 2 * (size_t)rows + V4_LANES * (size_t)trees, &count);
    TG_TAKE(&count, double, rows *v4_pad(rows) + V4_LANES, "part: G");
    return count.used;
}
