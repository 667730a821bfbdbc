/* Newton's steps of a few trees alone (soft.h).
 *
 * In a large heap the residual r is soon that of a few bodies, whose contacts change their phases again and again. The
 * line search then holds back all other bodies, and every step factors the matrix of all. So these trees take steps of
 * their own while the velocities of all others stay: with R the dofs of some trees, and the rows that move them,
 *     u_R = J_R^T P(z),     eps z + J_R u_R + (J u of the others + g) = 0,
 * which is the same problem with fewer dofs, for the same Newton (nonlinear elimination: Lanzkron, Rose and Wilkes
 * 1996). Afterwards what is left is at the border of R. */
#include <string.h>

#include "solve/soft.h"

static double square_of_tree(const tg_soft *p, int tree)
{
    double square = 0;
    for (int k = p->fronts.offset[tree]; k < p->fronts.offset[tree] + p->fronts.size[tree]; k++)
        square += p->r[k] * p->r[k];
    return square;
}

/* Marks those that have the most of |r|^2, half of it or more. */
static void mark_worst(tg_soft *p)
{
    double sum = 0, most = 0, rest;
    int trees = p->fronts.nnode;
    for (int t = 0; t < trees; t++)
    {
        p->square_of[t] = square_of_tree(p, t);
        sum += p->square_of[t];
        most = tg_larger(most, p->square_of[t]);
    }
    do
    {
        most *= 0.5;
        rest = 0;
        for (int t = 0; t < trees; t++)
        {
            p->local[t] = p->square_of[t] >= most;
            rest += p->local[t] ? 0 : p->square_of[t];
        }
    } while (rest > 0.5 * sum);
}

static bool carries(const tg_soft *p, const tg_soft_group *g)
{
    for (int i = g->row; i < g->row + g->rows; i++)
        if (p->L[i] != 0)
            return true;
    return false;
}

typedef struct trees
{
    const int *tree;
    int count, marked;
} trees;

/* of a group, and how many are marked: elements of the fronts are trees, then groups */
static trees trees_of(const tg_soft *p, const tg_soft_group *g)
{
    const tg_fronts *f = &p->fronts;
    const int *start = f->element_start + f->nnode + (g - p->group);
    trees of = {f->element_node + start[0], start[1] - start[0], 0};
    for (int k = 0; k < of.count; k++)
        of.marked += p->local[of.tree[k]];
    return of;
}

/* Marks what impulses connect with what is marked. */
static void mark_neighbours(tg_soft *p)
{
    bool *near = p->near;
    memcpy(near, p->local, sizeof(bool) * (size_t)p->fronts.nnode);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        trees of = trees_of(p, g);
        if (of.marked > 0 && carries(p, g))
            for (int k = 0; k < of.count; k++)
                near[of.tree[k]] = true;
    }
    memcpy(p->local, near, sizeof(bool) * (size_t)p->fronts.nnode);
}

/* whether there is room for what is marked */
static bool has_room(const tg_soft *p)
{
    tg_island_size size = {0};
    const tg_island_size *room = &p->few->room;
    for (int t = 0; t < p->fronts.nnode; t++)
        if (p->local[t])
        {
            size.trees++;
            size.dofs += p->fronts.size[t];
        }
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
    {
        int here = trees_of(p, g).marked;
        size.rows += here > 0 ? g->rows : 0;
        size.columns += here * g->rows;
    }
    return size.trees <= room->trees && size.dofs <= room->dofs && size.rows <= room->rows &&
           size.columns <= room->columns;
}

/* ---- the problem of what is marked ---- */

static void build_trees(const tg_soft *p, tg_soft *q)
{
    tg_fronts *f = &q->fronts;
    f->nnode = q->dims = 0;
    for (int t = 0; t < p->fronts.nnode; t++)
    {
        int first = p->fronts.offset[t], size = p->fronts.size[t], node = f->nnode;
        p->place_of[t] = p->local[t] ? q->dims - first : INT_MIN;
        if (!p->local[t])
            continue;
        f->size[node] = size;
        f->offset[node] = q->dims;
        f->element_start[node] = f->element_node[node] = node;
        for (int k = first; k < first + size; k++)
        {
            q->dof[q->dims] = k;
            q->tree_of[q->dims++] = node;
        }
        f->nnode++;
    }
    f->nelement = f->nnode;
    f->element_start[f->nnode] = f->nnode;
}

/* the rows of a group, in the dofs that are marked */
static void build_rows(const tg_soft *p, const tg_soft_group *g, tg_soft *q, tg_soft_group *h)
{
    double *J = q->J + h->J;
    for (int i = 0; i < g->rows; i++, J += h->ld)
    {
        const double *from = p->J + g->J + (size_t)i * (size_t)g->ld;
        for (int c = 0; c < h->size; c++)
            J[c] = from[q->place[c]];
        for (int c = h->size; c < h->ld; c++)
            J[c] = 0;
    }
    for (int i = g->row; i < g->row + g->rows; i++, q->rows++)
    {
        q->source[q->rows] = i;
        q->mu[q->rows] = p->mu[i];
        q->give[q->rows] = p->give[i];
        q->own[q->rows] = p->own[i];
        q->z[q->rows] = q->kept_z[q->rows] = p->z[i];
    }
}

static void build_blocks(const tg_soft *p, const tg_soft_group *g, tg_soft *q, const tg_soft_group *h)
{
    for (const tg_soft_block *b = p->block + g->block; b < p->block + g->block + g->blocks; b++)
    {
        tg_soft_block *to = &q->block[q->blocks];
        *to = *b;
        to->row = h->row + b->row - g->row;
        to->slope = q->blocks > 0 ? to[-1].slope + to[-1].dim * to[-1].dim : 0;
        q->blocks++;
    }
}

static void build_group(const tg_soft *p, const tg_soft_group *g, tg_soft *q)
{
    tg_soft_group *h = &q->group[q->groups], *last = h - 1;
    tg_fronts *f = &q->fronts;
    bool first = q->groups == 0;
    int nodes = f->element_start[f->nelement];
    *h = *g;
    h->row = q->rows;
    h->block = q->blocks;
    h->support = first ? 0 : last->support + last->size;
    h->J = first ? 0 : last->J + (size_t)last->rows * (size_t)last->ld;
    h->size = 0;
    for (int c = 0; c < g->size; c++)
    {
        int dof = p->support[g->support + c], shift = p->place_of[p->tree_of[dof]];
        if (shift == INT_MIN)
            continue;
        int node = q->tree_of[dof + shift];
        q->place[h->size] = c;
        q->support[h->support + h->size++] = dof + shift;
        if (nodes == f->element_start[f->nelement] || f->element_node[nodes - 1] != node)
            f->element_node[nodes++] = node;
    }
    h->ld = v4_pad(h->size);
    f->element_start[++f->nelement] = nodes;
    q->groups++;
    build_rows(p, g, q, h);
    build_blocks(p, g, q, h);
}

static bool build(const tg_soft *p, tg_soft *q)
{
    q->island = p->island;
    q->eps = p->eps;
    q->speed = p->speed;
    q->size = p->size;
    q->sparse = q->narrow = true;
    q->spread = q->regular = false;
    q->rows = q->blocks = q->groups = q->free = 0;
    build_trees(p, q);
    for (const tg_soft_group *g = p->group; g < p->group + p->groups; g++)
        if (trees_of(p, g).marked > 0)
            build_group(p, g, q);
    for (int k = 0; k < q->dims; k++)
        q->u[k] = q->kept_u[k] = p->u[q->dof[k]];
    return tg_fronts_analyse(&q->fronts);
}

/* its u and z become those of all */
static void put_back(tg_soft *p, const tg_soft *q, const double *u, const double *z)
{
    for (int k = 0; k < q->dims; k++)
        p->u[q->dof[k]] = u[k];
    for (int i = 0; i < q->rows; i++)
        p->z[q->source[i]] = z[i];
    tg_soft_respond(p);
    tg_soft_measure(p);
}

/* Steps of the trees that hold most of the residual, and of two rings of their neighbours: about as much work as one
 * step of all, at most `run->steps`. */
tg_soft_end tg_soft_local(tg_soft *p, const tg_soft_run *run)
{
    tg_soft *q = p->few;
    double before = v4_dot_of(p->dims, p->r, p->r);
    mark_worst(p);
    for (int ring = 0; ring < 2; ring++)
        mark_neighbours(p);
    if (!has_room(p) || !build(p, q))
        return TG_SOFT_AS_BEFORE;
    double share = tg_fronts_work(&p->fronts) / tg_fronts_work(&q->fronts);
    q->factorisations = 0;
    q->limit = share < run->steps ? (int)share : run->steps;
    bool solved = tg_soft_newton(q, &(tg_soft_run){.steps = q->limit, .goal = run->goal});
    put_back(p, q, q->u, q->z);
    double after = v4_dot_of(p->dims, p->r, p->r);
    if (!(after < before))
        put_back(p, q, q->kept_u, q->kept_z);
    if (!solved && q->factorisations >= run->steps)
        return TG_SOFT_STUCK;
    return after < 0.5 * 0.5 * before ? TG_SOFT_NEARER : TG_SOFT_AS_BEFORE;
}
