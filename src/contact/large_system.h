/* One island in velocity space: its blocks, J and M^-1 J^T row by row, and the sparse matrix over its trees.
 *
 * Trees of the island are the nodes of a graph; a vector of velocities has the dofs of node n from first[n] on, padded
 * to whole v4. Rows are scaled: J stands for S J of cone.h. */
#ifndef TG_CONTACT_LARGE_SYSTEM_H
#define TG_CONTACT_LARGE_SYSTEM_H

#include "contact/large.h"
#include "contact/rows.h"
#include "math/fronts.h"
#include "solve/held.h"

typedef struct tg_large_part
{
    int node;
    int extent;  /* of J, from there on zero */
    size_t rows; /* J and X of the block's rows at this node: dim rows of width[node] numbers */
} tg_large_part;

typedef struct tg_large_block
{
    tg_cone cone; /* row: its first in x and s */
    const tg_constraint *constraint;
    int source[TG_CONE_MAX]; /* rows of the constraint, from its first */
    double scale[TG_CONE_MAX], soft;
    int part, parts;
    size_t matrix; /* dim x dim: its G, N and E */
    tg_cone_state state;
} tg_large_block;

/* Blocks one behind the other that are at the same nodes: an element of the matrix. Their rows, their places in x and
 * their matrices follow each other. */
typedef struct tg_large_group
{
    int block, blocks;
    int row;     /* in x */
    int part;    /* of the first block */
    int parts;   /* of each */
    bool plain;  /* contacts of free bodies: three rows of six dofs */
    size_t rows; /* of the first block */
} tg_large_group;

typedef struct tg_large
{
    const tg_model *m;
    tg_work *w;
    tg_rows *r;
    tg_rows_island *island;
    const tg_large_part_of *only;      /* NULL: all of it */
    int nnode, nblock, ngroup, nx, nv; /* nv: numbers in a vector of velocities */
    tg_large_block *block;
    tg_large_part *part;
    tg_large_group *group;
    int *tree, *node;   /* tree of a node, node of a tree */
    int *first, *width; /* of a node, in vectors */
    bool half;          /* one tree only: X is D^-1/2 L^-T J^T, and there are no sweeps */
    double *J, *X;      /* rows of J, columns of M^-1 J^T */
    double *G, *N, *E;  /* blocks' own part of J M^-1 J^T; dx = k - N ds; interior point: E^-1 */
    double *mass;       /* M of the nodes: rows of width[node] numbers */
    size_t *mass_at;
    double *product;   /* scratch: N J */
    double *bias;      /* S b of the rows */
    double *x, *s, *k; /* scaled impulses, velocities J v + b, constant part of dx */
    double *ds;        /* J dv of the last solution */
    double *v_free, *v, *dv;
    double *diagonal; /* G_ii of the island's rows */
    tg_fronts fronts; /* elements: the masses of the nodes, then the groups */
} tg_large;

/* Takes or counts the arrays. */
void tg_large_take(tg_large *p, const tg_model *m, const tg_capacity *c, tg_arena *arena);

/* Blocks, rows and graph of p->island; v_free NULL: zero. False when the factors do not fit. */
bool tg_large_build(tg_large *p, const double *v_free, double dt);

/* s = J v + b + (compliance) x with v = v_free + M^-1 J^T x, which is left in p->v */
void tg_large_velocity(const tg_large *p, const double *x, double *s);

/* the velocity of one block at v, and v += M^-1 J^T dx of it */
void tg_large_block_velocity(const tg_large *p, const tg_large_block *b, const double *v, double *out);
void tg_large_block_respond(const tg_large *p, const tg_large_block *b, const double *dx, double *v);

/* Factors M + J^T N J, leaving out blocks that break. False when it is singular. */
bool tg_large_factor(tg_large *p);

/* k becomes dx = k - N ds, ds = J dv, (M + J^T N J) dv = J^T k */
void tg_large_solve(tg_large *p, double *k);

#endif
