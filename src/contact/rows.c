/* Sizes and memory of the constraints of a step. */
#include "contact/rows.h"

#include "contact/large.h"
#include "contact/parts.h"
#include "math/ltl.h"
#include "model/coupling.h"

static int most_tree_dofs(const tg_model *m)
{
    int most = 0;
    for (int t = 0; t < m->ntree; t++)
        most = m->tree_ndof[t] > most ? m->tree_ndof[t] : most;
    return most;
}

static int most_condim(const tg_model *m)
{
    int most = m->ngeom > 0 ? 1 : TG_CONE_MAX; /* contacts of bodies without geoms are given */
    for (int g = 0; g < m->ngeom; g++)
        most = m->geom_condim[g] > most ? m->geom_condim[g] : most;
    for (int i = 0; i < m->npair; i++)
        most = m->pair_condim[i] > most ? m->pair_condim[i] : most;
    return most;
}

static int count_true(const int *flag, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count += flag[i] != 0;
    return count;
}

int tg_default_contacts(const tg_model *m)
{
    int most = 64 + (m->ntree > 8 ? 16 : 2) * m->ngeom;
    return m->ncandidate < most / TG_PATCH_MAX ? TG_PATCH_MAX * m->ncandidate : most;
}

/* All rows in islands of the largest size, if they are few; otherwise two of those and what rows usually need
 * (islands.c finds out who gets it). */
static size_t delassus_room(const tg_capacity *c)
{
    size_t rows = (size_t)c->rows, most = (size_t)v4_pad(c->island_rows);
    size_t all = rows * most, usual = 2 * most * most + rows * TG_DENSE_ROOM;
    return (all < usual ? all : usual) + V4_LANES;
}

/* trees of the largest group, which is in all constraints of its trees; 1 without groups */
static int most_group_trees(const tg_model *m)
{
    int most = 1;
    for (int g = 0, group; g < m->ngroup && tg_groups_fit(m, &group); g++)
    {
        int trees = 0;
        for (int t = 0; t < m->ntree; t++)
            trees += m->tree_group[t] == g;
        most = trees > most ? trees : most;
    }
    return most;
}

size_t tg_support_room(const tg_model *m, int columns)
{
    return (size_t)(columns / V4_LANES + m->ntree) * (size_t)tg_chain_words(most_tree_dofs(m));
}

/* Every constraint but contacts has a place at all times: they are few. */
tg_capacity tg_capacity_of(const tg_model *m, int contacts)
{
    int all = m->ntree < 1 ? 1 : m->ntree, one = most_group_trees(m), pair = 2 * one < all ? 2 * one : all;
    int limits = 2 * count_true(m->joint_limited, m->njoint);
    int tendons = m->ntendon + 2 * count_true(m->tendon_limited, m->ntendon);
    int contact_rows = contacts * most_condim(m);
    tg_capacity c = {.contacts = contacts, .bonds = m->nequality};
    c.constraints = contacts + m->nequality + m->nv + limits + tendons;
    c.blocks = contacts + TWIST * m->nequality + m->nv + limits + tendons;
    c.condim = most_condim(m);
    c.loop_rows = TWIST * m->nequality;
    c.rows = contact_rows + TWIST * m->nequality + m->nv + limits + tendons;
    c.parts = contacts * pair + m->nequality * all + (m->nv + limits) * one + tendons * all;
    c.columns = contact_rows * pair + TWIST * m->nequality * all + (m->nv + limits) * one + tendons * all;
    c.island_rows = c.rows < TG_DENSE_ROWS ? c.rows : TG_DENSE_ROWS;
    size_t padding = 2 * V4_LANES * (size_t)(m->nv + 1);
    c.jacobian = (size_t)c.columns * (size_t)most_tree_dofs(m) + padding;
    c.support = tg_support_room(m, c.columns);
    c.delassus = delassus_room(&c);
    tg_island_size dense = {.rows = c.island_rows, .dofs = m->nv, .trees = m->ntree};
    dense.dofs = dense.dofs < TG_DENSE_DOFS ? dense.dofs : TG_DENSE_DOFS;
    dense.trees = dense.trees < TG_DENSE_DOFS ? dense.trees : TG_DENSE_DOFS;
    c.scratch = tg_island_scratch(dense) + tg_poisson_scratch(c.island_rows) + tg_delassus_scratch(m, &c) +
                tg_parts_scratch(m, &c);
    c.large = tg_large_bytes(m, &c);
    size_t compliant = tg_island_scratch((tg_island_size){
        .rows = c.rows, .dofs = m->nv, .trees = m->ntree, .columns = c.columns, .tree_dofs = most_tree_dofs(m)});
    c.large = c.large > 0 && compliant > c.large ? compliant : c.large;
    return c;
}

void tg_rows_place(tg_rows *r, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
#define X(type, name, count, doc) r->name = TG_TAKE(arena, type, count, #name);
    TG_ROWS_FIELDS(X)
#undef X
}

void tg_rows_init(tg_rows *r, const tg_capacity *capacity)
{
    r->capacity = *capacity;
    r->scratch = (tg_arena){.base = r->scratch_memory, .capacity = capacity->scratch};
}

uint64_t tg_constraint_id(tg_source source, int side, int index)
{
    return (uint64_t)1 << 63 | (uint64_t)source << 56 | (uint64_t)side << 48 | (uint64_t)index;
}

tg_constraint *tg_add_constraint(tg_rows *r, tg_source source, int index, int side, int rows)
{
    tg_constraint *c = &r->constraint[r->nconstraint++];
    *c = (tg_constraint){.source = source, .index = index, .side = side, .rows = rows, .part = r->npart, .bond = -1};
    c->id = tg_constraint_id(source, side, index);
    return c;
}

void tg_add_part(tg_rows *r, tg_constraint *c, int tree)
{
    if (tree < 0)
        return;
    for (int i = c->part; i < c->part + c->parts; i++)
        if (r->part[i].tree == tree)
            return;
    r->part[r->npart++] = (tg_part){tree, 0};
    c->parts++;
    int group = r->grouped != NULL ? r->grouped->tree_group[tree] : -1;
    for (int t = 0; group >= 0 && t < r->grouped->ntree; t++)
        if (r->grouped->tree_group[t] == group && t != tree)
        {
            r->part[r->npart++] = (tg_part){t, 0};
            c->parts++;
        }
}
