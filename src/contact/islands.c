/* Islands: trees that constraints couple, found by joining sets, and the numbering of rows and columns that follows. */
#include "contact/rows.h"

#include "math/dense.h"

static void join_trees(const tg_model *m, tg_rows *r)
{
    for (int t = 0; t < m->ntree; t++)
    {
        r->tree_root[t] = t;
        r->tree_island[t] = -1;
        r->tree_columns[t] = 0;
    }
    for (int i = 0; i < r->nconstraint; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        for (int k = 1; k < c->parts; k++)
            tg_join_trees(r, r->part[c->part].tree,
                          r->part[c->part + k].tree); /* islands in the order of their first tree */
    }
}

static int island_of(const tg_rows *r, const tg_constraint *c)
{
    return r->tree_island[r->part[c->part].tree];
}

/* Islands are numbered in the order of their first constraint; a constraint between things that cannot move is left
 * out. */
static void count_islands(const tg_model *m, tg_rows *r)
{
    for (int i = 0; i < r->nconstraint; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        if (c->parts == 0)
            continue;
        int root = tg_tree_root(r, r->part[c->part].tree);
        if (r->tree_island[root] < 0)
        {
            r->island[r->nisland] = (tg_rows_island){.tree = root};
            r->tree_island[root] = r->nisland++;
        }
        double dofs = 0;
        for (int k = 0; k < c->parts; k++)
        {
            dofs += m->tree_ndof[r->part[c->part + k].tree];
            r->tree_island[r->part[c->part + k].tree] = r->tree_island[root];
            if (r->part[c->part + k].tree != root)
                r->island[r->tree_island[root]].tree = -1;
        }
        r->island[r->tree_island[root]].equality |= c->source == TG_SOURCE_EQUALITY;
        r->island[r->tree_island[root]].work += c->rows * dofs * dofs;
        r->island[r->tree_island[root]].rows += c->rows;
        r->island[r->tree_island[root]].blocks++;
    }
}

/* Gives an island room for G, if it is small enough and there is some left. */
static void place_matrix(const tg_rows *r, tg_rows_island *island, size_t *used)
{
    size_t size = (size_t)island->rows * (size_t)v4_pad(island->rows);
    bool small = island->rows <= r->capacity.island_rows && island->dofs <= TG_DENSE_DOFS &&
                 (island->tree >= 0 || r->grouped != NULL || island->rows <= TG_DENSE_COUPLED);
    island->dense = small && *used + size + V4_LANES <= r->capacity.delassus;
    island->G = *used;
    *used += island->dense ? size : 0;
}

/* Those with equalities first: loops need their null space, which dense matrices give (consistent.c). */
static void place_matrices(tg_rows *r)
{
    size_t used = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->nisland; i++)
            if (r->island[i].equality == (pass == 0))
                place_matrix(r, &r->island[i], &used);
}

/* Whether an island is solved in velocity space (large.c) although it is small enough for dense matrices. The warm
 * start factors a matrix over rows, rows^3 / 3 multiplications; velocity space forms J^T N J, and its sparse factors
 * take about as many again. It needs more steps: `more` was set on bench/wide.py (heaps and bins, seeds 0 to 5), where
 * with less than that bins, whose warm start mostly succeeds, take longer. Where most rows see most dofs (a hand and
 * what it holds), sparse factors are full, and the dense solver's matrix over dofs (soft.h) is the same. */
bool tg_is_loose(int rows, int dofs, double work)
{
    const double more = 8;
    return 2 * work < (double)rows * dofs * dofs && tg_chol_work(rows) > more * work;
}

static bool is_sparse(const tg_rows *r, const tg_rows_island *island)
{
    bool can = island->tree < 0 && !island->equality && r->grouped == NULL && r->capacity.large > 0;
    return !island->dense || (can && tg_is_loose(island->rows, island->dofs, island->work));
}

static void place_islands(const tg_model *m, tg_rows *r)
{
    int row = 0, block = 0, tree = 0;
    for (int t = 0; t < m->ntree; t++)
        if (r->tree_island[t] >= 0)
        {
            if (r->island[r->tree_island[t]].trees++ == 0)
                r->island[r->tree_island[t]].root = t;
            r->island[r->tree_island[t]].dofs += m->tree_ndof[t];
        }
    place_matrices(r);
    for (int i = 0; i < r->nisland; i++)
    {
        tg_rows_island *island = &r->island[i];
        island->row = row;
        island->block = block;
        island->sparse = is_sparse(r, island);
        island->first_tree = tree;
        tree += island->trees;
        row += island->rows;
        block += island->blocks;
        island->rows = island->blocks = 0;
    }
    r->nrow = row;
    r->nblock = block;
}

/* gives every constraint its rows in its island, and its columns in its trees */
static void number_rows(tg_rows *r)
{
    for (int i = 0; i < r->nconstraint; i++)
    {
        tg_constraint *c = &r->constraint[i];
        if (c->parts == 0)
            continue;
        tg_rows_island *island = &r->island[island_of(r, c)];
        c->row = island->row + island->rows;
        r->order[island->block + island->blocks++] = i;
        island->rows += c->rows;
        for (int k = 0; k < c->parts; k++)
        {
            tg_part *part = &r->part[c->part + k];
            part->column = r->tree_columns[part->tree];
            r->tree_columns[part->tree] += c->rows;
        }
    }
}

/* Matrices of the trees of a group follow each other in the order of its elimination. */
static void number_columns(const tg_model *m, const tg_work *w)
{
    tg_rows *r = w->rows;
    int column = 0;
    size_t start = 0;
    for (int i = 0; i < m->ntree; i++)
    {
        int t = w->grouped ? w->place_tree[i] : i;
        r->tree_column[t] = column;
        r->tree_start[t] = start;
        column += r->tree_columns[t];
        start += (size_t)m->tree_ndof[t] * (size_t)v4_pad(r->tree_columns[t]);
    }
    r->tree_start[m->ntree] = start;
    for (int i = 0; i < r->nconstraint; i++)
    {
        const tg_constraint *c = &r->constraint[i];
        for (int k = c->part; k < c->part + c->parts; k++)
        {
            int *row = r->column_row + r->tree_column[r->part[k].tree] + r->part[k].column;
            for (int j = 0; j < c->rows; j++)
                row[j] = c->row + j;
        }
    }
}

void tg_make_islands(const tg_model *m, tg_work *w)
{
    tg_rows *r = w->rows;
    r->large_factors = -1;
    join_trees(m, r);
    count_islands(m, r);
    place_islands(m, r);
    number_rows(r);
    number_columns(m, w);
}

tg_island tg_island_problem(const tg_rows *r, const tg_rows_island *island)
{
    return (tg_island){.rows = island->rows,
                       .blocks = island->blocks,
                       .block = r->block + island->block,
                       .G = island->filled ? r->G + island->G : NULL,
                       .ldg = v4_pad(island->rows),
                       .tree = tg_rows_are_whole(island) ? NULL : r->tree_rows + island->first_tree,
                       .trees = island->trees,
                       .dofs = island->dofs,
                       .first_row = island->row,
                       .give = r->give + island->row,
                       .diagonal = r->diagonal + island->row,
                       .loops = island->redundant > 0 ? island->loops : 0,
                       .redundant = island->redundant,
                       .loop_row = r->loop_row + island->loop,
                       .Z = r->Z + island->Z,
                       .speed = r->speed + island->row,
                       .bias = r->bias + island->row,
                       .g = r->g + island->row,
                       .warm = r->warm + island->row};
}
