/* Contact problems with thousands of rows, in velocity space: nothing dense but the fronts of a sparse factorisation.
 *
 * v = v_free + M^-1 J^T L is kept exact. A Newton step on the Alart-Curnier equations (alart_curnier.c; scaled variables x = S^-1 L,
 * s = S sigma) says of each block alone
 *     dx = k - N ds,   with the compliance p (proximal, centred at x) on its own diagonal:
 *     breaks   dx = -x
 *     sticks   dx = -(s + ds) / p
 *     slides   dx_N = -(s_N + ds_N) / p_N,   dx_T = e dx_N - beta (1 - e e^T) ds_T - T^-1 (x_T - e x_N) / rho_T,
 *              beta = r / t, T = e e^T / rho_T + t (1 - e e^T), t = (1 - r) / rho_T + r p_T,
 * and with ds = S J dv, M dv = J^T S dx:
 *     (M + J^T S N S J) dv = J^T S k,
 * a matrix over trees with a block for every two that touch. The interior point (solver_ipm.c) eliminates its slacks
 * block by block into W ds + E dx = rhs, which is the same system with N = E^-1 W, k = E^-1 rhs. Block Gauss-Seidel sweeps
 * come first, then Newton, then the interior point and Newton again from where it ends. Which of several solutions is returned is not selected: it depends on where the iteration starts. */
#include "contact/large.h"

#include <math.h>

#include "contact/interior.h"
#include "contact/solver.h"
#include "math/dense.h"
#include "math/fronts.h"
#include "math/lanes.h"

enum
{
    NEWTON = 12,   /* steps of one run */
    INTERIOR = 50, /* steps of the interior point from one start */
    CONE = TG_CONE_MAX
};

static const double proximal = 1e-4;

typedef struct tg_large_block
{
    tg_cone cone; /* row: its first in x and s */
    const tg_constraint *constraint;
    int source[CONE]; /* rows of the constraint, from its first */
    double scale[CONE], soft;
    double G[CONE * CONE]; /* its own part of the scaled Delassus matrix */
    double N[CONE * CONE]; /* dx = k - N ds */
    double E[CONE * CONE]; /* interior point: E^-1 */
    tg_cone_state state;
} tg_large_block;

typedef struct large
{
    const tg_model *m;
    tg_work *w;
    tg_rows *r;
    tg_rows_island *island;
    const double *v_free;
    double tolerance;
    tg_large_block *block;
    int nblock, nx;
    double *x, *s, *k; /* scaled impulses, velocities, constant part of dx */
    double *v;         /* nv */
    double *dv;
    tg_cones cones; /* the blocks' cones, for the interior point */
    double *interior, *rhs, *best;
    double *X;            /* M^-1 J_t^T, tree by tree */
    double *diagonal;     /* G_ii of the island's rows */
    int *node, *tree;     /* node of a tree in the graph, tree of a node */
    int *use_start, *use; /* blocks of each node */
    tg_fronts fronts;
    int newton, sweeps, interior_steps;
} large;

/* ---- memory ---- */

static void take(large *p, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
    size_t rows = (size_t)c->rows;
    p->block = TG_TAKE(arena, tg_large_block, rows, "large: blocks");
    p->x = TG_TAKE(arena, double, rows, "large: impulses");
    p->s = TG_TAKE(arena, double, rows, "large: velocities");
    p->k = TG_TAKE(arena, double, rows, "large: changes");
    p->v = TG_TAKE(arena, double, m->nv, "large: velocities of the dofs");
    p->dv = TG_TAKE(arena, double, m->nv, "large: their change");
    p->X = TG_TAKE(arena, double, c->jacobian, "large: responses");
    p->diagonal = TG_TAKE(arena, double, rows, "large: diagonal");
    p->cones = (tg_cones){.ld = v4_pad(c->rows)};
    p->cones.block = TG_TAKE(arena, tg_cone, rows, "large: cones");
    p->interior = TG_TAKE(arena, double, TG_INTERIOR_VECTORS *(size_t)p->cones.ld, "large: interior point");
    p->rhs = TG_TAKE(arena, double, rows, "large: right-hand side");
    p->best = TG_TAKE(arena, double, rows, "large: best impulses");
    p->node = TG_TAKE(arena, int, m->ntree, "large: nodes");
    p->tree = TG_TAKE(arena, int, m->ntree, "large: trees");
    p->use_start = TG_TAKE(arena, int, m->ntree + 1, "large: blocks of a node");
    p->use = TG_TAKE(arena, int, c->columns, "large: blocks of the nodes");
    tg_fronts_place(&p->fronts, m->ntree, c->columns, m->nv, (size_t)2000 * (size_t)m->nv, arena);
}

size_t tg_large_bytes(const tg_model *m, const tg_capacity *c)
{
    tg_arena count = {0};
    large p;
    if (c->rows <= (m->ntree > 1 ? TG_DENSE_COUPLED : TG_DENSE_ROWS))
        return 0;
    take(&p, m, c, &count);
    return count.used;
}

/* ---- one row ---- */

static const double *column_of(const large *p, const double *array, const tg_part *part, int row)
{
    return array + p->r->tree_start[part->tree] + part->column + row;
}

static int stride_of(const large *p, const tg_part *part)
{
    return v4_pad(p->r->tree_columns[part->tree]);
}

static double dot_column(const large *p, const double *column, const tg_part *part, const double *v)
{
    const double *vt = v + p->m->tree_dof[part->tree];
    int stride = stride_of(p, part);
    double sum = 0;
    for (int k = 0; k < p->m->tree_ndof[part->tree]; k++)
        sum += column[(ptrdiff_t)k * stride] * vt[k];
    return sum;
}

static double row_velocity(const large *p, const tg_constraint *c, int row, const double *v)
{
    double sum = 0;
    for (int i = c->part; i < c->part + c->parts; i++)
        sum += dot_column(p, column_of(p, p->r->J, &p->r->part[i], row), &p->r->part[i], v);
    return sum;
}

/* v += column impulse, with the columns of X (a velocity) or J (a force) */
static void add_row(const large *p, const double *array, const tg_constraint *c, int row, double impulse, double *v)
{
    for (int i = c->part; i < c->part + c->parts; i++)
    {
        const tg_part *part = &p->r->part[i];
        const double *column = column_of(p, array, part, row);
        double *vt = v + p->m->tree_dof[part->tree];
        int stride = stride_of(p, part);
        for (int k = 0; k < p->m->tree_ndof[part->tree]; k++)
            vt[k] += column[(ptrdiff_t)k * stride] * impulse;
    }
}

/* ---- blocks ---- */

static void begin_block(large *p, const tg_constraint *c, tg_cone_kind kind, double bound)
{
    p->block[p->nblock] = (tg_large_block){.cone = {.kind = kind, .row = p->nx, .bound = bound}, .constraint = c};
}

static void add_block_row(large *p, int source, double scale)
{
    tg_large_block *b = &p->block[p->nblock];
    b->source[b->cone.dim] = source;
    b->scale[b->cone.dim++] = scale;
}

static double own_entry(const large *p, const tg_constraint *c, int i, int j)
{
    double sum = 0;
    for (int k = c->part; k < c->part + c->parts; k++)
    {
        const tg_part *part = &p->r->part[k];
        const double *J = column_of(p, p->r->J, part, i), *X = column_of(p, p->X, part, j);
        int stride = stride_of(p, part);
        for (int d = 0; d < p->m->tree_ndof[part->tree]; d++)
            sum += J[(ptrdiff_t)d * stride] * X[(ptrdiff_t)d * stride];
    }
    return sum;
}

static void end_block(large *p, double soft)
{
    tg_large_block *b = &p->block[p->nblock];
    double trace = 0;
    for (int i = 0; i < b->cone.dim; i++)
        for (int j = 0; j < b->cone.dim; j++)
            b->G[CONE * i + j] = b->scale[i] * b->scale[j] * own_entry(p, b->constraint, b->source[i], b->source[j]);
    b->soft = soft;
    b->G[0] += soft;
    if (!(b->G[0] > 0))
        return; /* nothing moves it */
    for (int i = 1; i < b->cone.dim; i++)
        trace += b->G[(CONE + 1) * i];
    b->cone.rho_n = 1 / b->G[0];
    b->cone.rho_t = trace > 0 ? (b->cone.dim - 1) / trace : b->cone.rho_n;
    p->nx += b->cone.dim;
    p->nblock++;
}

static void add_contact(large *p, const tg_constraint *c, const tg_block *law, double soft)
{
    begin_block(p, c, TG_CONE_UNIT, 0);
    add_block_row(p, 0, 1);
    for (int i = 1; law->kind == TG_BLOCK_CONTACT && i < law->rows; i++)
        if (law->mu[i - 1] > 0)
            add_block_row(p, i, law->mu[i - 1]);
    end_block(p, soft);
}

static void add_rows(large *p, const tg_constraint *c, const tg_block *law)
{
    bool box = law->kind == TG_BLOCK_FRICTION;
    for (int i = 0; i < law->rows; i++)
    {
        begin_block(p, c, box ? TG_CONE_BOX : TG_CONE_FREE, law->bound);
        add_block_row(p, i, 1);
        end_block(p, 0);
    }
}

static void make_blocks(large *p, double dt)
{
    p->nblock = p->nx = 0;
    for (int b = p->island->block; b < p->island->block + p->island->blocks; b++)
    {
        const tg_constraint *c = &p->r->constraint[p->r->order[b]];
        const tg_block *law = &p->r->block[b];
        bool contact = c->source == TG_SOURCE_CONTACT;
        double soft = contact ? tg_law_compliance(p->w->params, &p->r->touch[c->index].law) / (dt * dt) : 0;
        if (law->kind == TG_BLOCK_CONTACT || law->kind == TG_BLOCK_LIMIT)
            add_contact(p, c, law, soft);
        else
            add_rows(p, c, law);
        for (int i = 0; i < c->rows; i++)
            p->diagonal[c->row - p->island->row + i] = own_entry(p, c, i, i) + (i == 0 ? soft : 0);
    }
}

/* X = L^-1 D^-1/2 Y of the island's trees */
static void make_responses(large *p)
{
    const tg_model *m = p->m;
    for (int t = 0; t < m->ntree; t++)
    {
        if (p->r->tree_columns[t] == 0 || &p->r->island[p->r->tree_island[t]] != p->island)
            continue;
        int ld = v4_pad(p->r->tree_columns[t]), n = m->tree_ndof[t];
        const double *Y = p->r->Y + p->r->tree_start[t];
        double *X = p->X + p->r->tree_start[t];
        for (int k = 0; k < n; k++)
            for (int j = 0; j < ld; j++)
                X[(ptrdiff_t)k * ld + j] = p->r->root_d[m->tree_dof[t] + k] * Y[(ptrdiff_t)k * ld + j];
        tg_ltl_solve_l_many(&m->tree_ltl[t], p->w->M + m->tree_matrix[t], ld, X, ld);
    }
}

/* ---- the state of the iteration ---- */

static double block_velocity(const large *p, const tg_large_block *b, int i, const double *x, const double *v)
{
    int row = b->constraint->row + b->source[i];
    double soft = i == 0 ? b->soft * x[b->cone.row] : 0;
    return b->scale[i] * (row_velocity(p, b->constraint, b->source[i], v) + p->r->bias[row]) + soft;
}

/* v += M^-1 J^T S x */
static void respond(const large *p, const double *x, double *v)
{
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
            if (x[b->cone.row + i] != 0)
                add_row(p, p->X, b->constraint, b->source[i], b->scale[i] * x[b->cone.row + i], v);
    }
}

static void velocity_of(const large *p, const double *x, double *s)
{
    memcpy(p->v, p->v_free, sizeof(double) * (size_t)p->m->nv);
    respond(p, x, p->v);
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].cone.dim; i++)
            s[p->block[k].cone.row + i] = block_velocity(p, &p->block[k], i, x, p->v);
}

/* v and s from x alone */
static void refresh(large *p)
{
    velocity_of(p, p->x, p->s);
}

/* one block Gauss-Seidel sweep with exact solutions */
static void sweep(large *p)
{
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        double c[CONE], x[CONE], *now = p->x + b->cone.row;
        for (int i = 0; i < b->cone.dim; i++)
        {
            c[i] = block_velocity(p, b, i, p->x, p->v);
            for (int j = 0; j < b->cone.dim; j++)
                c[i] -= b->G[CONE * i + j] * now[j];
            x[i] = now[i];
        }
        tg_cone_solve(&b->cone, b->G, CONE, c, x);
        for (int i = 0; i < b->cone.dim; i++)
        {
            if (x[i] != now[i])
                add_row(p, p->X, b->constraint, b->source[i], b->scale[i] * (x[i] - now[i]), p->v);
            now[i] = x[i];
        }
    }
    p->sweeps++;
}

/* ---- one Newton step ---- */

/* N and k of a sliding block */
static void slide(const large *p, const tg_large_block *b, double pn, double pt, double *N, double *k)
{
    const double *x = p->x + b->cone.row, *s = p->s + b->cone.row, *e = b->state.direction;
    double r = b->state.ratio, t = (1 - r) / b->cone.rho_t + r * pt, beta = r / t, along = 0;
    int m = b->cone.dim - 1;
    N[0] = 1 / pn;
    k[0] = -s[0] / pn;
    for (int i = 0; i < m; i++)
        along += e[i] * (x[1 + i] - e[i] * x[0]);
    for (int i = 0; i < m; i++)
    {
        double F = x[1 + i] - e[i] * x[0];
        k[1 + i] = e[i] * k[0] - e[i] * along - (F - e[i] * along) / (b->cone.rho_t * t);
        N[CONE * (1 + i)] = e[i] / pn;
        for (int j = 0; j < m; j++)
            N[CONE * (1 + i) + 1 + j] = beta * ((i == j) - e[i] * e[j]);
    }
}

static void linearise(large *p, tg_large_block *b, double compliance)
{
    double pn = compliance / b->cone.rho_n + b->soft, pt = compliance / b->cone.rho_t;
    double *k = p->k + b->cone.row;
    const double *x = p->x + b->cone.row, *s = p->s + b->cone.row;
    memset(b->N, 0, sizeof b->N);
    if (b->state.phase == TG_PHASE_STICK)
        for (int i = 0; i < b->cone.dim; i++)
        {
            b->N[(CONE + 1) * i] = 1 / (i == 0 ? pn : pt);
            k[i] = -s[i] / (i == 0 ? pn : pt);
        }
    else if (b->state.phase == TG_PHASE_SLIDE && b->cone.kind == TG_CONE_UNIT)
        slide(p, b, pn, pt, b->N, k);
    else
        for (int i = 0; i < b->cone.dim; i++)
            k[i] = (b->state.phase == TG_PHASE_BREAK ? 0 : b->state.direction[0] * b->cone.bound) - x[i];
}

/* M = L^T D L of a tree into its block */
static void add_mass(const large *p, int tree, double *A, int ld)
{
    const tg_model *m = p->m;
    int n = m->tree_ndof[tree], ldm = m->tree_ld[tree];
    const double *L = p->w->M + m->tree_matrix[tree], *dinv = p->w->dinv + m->tree_dof[tree];
    const tg_ltl_pattern *pattern = &m->tree_ltl[tree];
    for (int k = 0; k < n; k++) /* D_k l l^T with l = row k of L, on the path of k */
    {
        double d = 1 / dinv[k];
        for (int i = k; i >= 0; i = pattern->parent[i])
            for (int j = k; j >= 0; j = pattern->parent[j])
            {
                double li = i == k ? 1 : L[(ptrdiff_t)k * ldm + i], lj = j == k ? 1 : L[(ptrdiff_t)k * ldm + j];
                A[(ptrdiff_t)i * ld + j] += d * li * lj;
            }
    }
}

/* A += J_a^T S N S J_b */
static void add_product(const large *p, const tg_large_block *b, const tg_part *first, const tg_part *second, double *A,
                        int ld)
{
    int na = p->m->tree_ndof[first->tree], nb = p->m->tree_ndof[second->tree];
    int stride_a = stride_of(p, first), stride_b = stride_of(p, second);
    for (int i = 0; i < b->cone.dim; i++)
        for (int j = 0; j < b->cone.dim; j++)
        {
            double N = b->scale[i] * b->N[CONE * i + j] * b->scale[j];
            if (N == 0)
                continue;
            const double *Ja = column_of(p, p->r->J, first, b->source[i]);
            const double *Jb = column_of(p, p->r->J, second, b->source[j]);
            for (int k = 0; k < na; k++)
            {
                double f = N * Ja[(ptrdiff_t)k * stride_a];
                for (int l = 0; l < nb; l++)
                    A[(ptrdiff_t)k * ld + l] += f * Jb[(ptrdiff_t)l * stride_b];
            }
        }
}

static void assemble_block(const large *p, const tg_fronts *f, int front, int node, const tg_large_block *b)
{
    const tg_constraint *c = b->constraint;
    const tg_part *own = NULL;
    int ld = f->front[front].f;
    for (int i = c->part; i < c->part + c->parts; i++)
        if (p->node[p->r->part[i].tree] == node)
            own = &p->r->part[i];
    for (int i = c->part; own != NULL && i < c->part + c->parts; i++)
    {
        const tg_part *other = &p->r->part[i];
        int node2 = p->node[other->tree];
        if (f->front_of[node2] < front)
            continue; /* it did both when it was eliminated */
        add_product(p, b, own, other, tg_front_block(f, front, node, node2), ld);
        if (f->front_of[node2] > front)
            add_product(p, b, other, own, tg_front_block(f, front, node2, node), ld);
    }
}

static void assemble(const tg_fronts *f, int front, void *context)
{
    const large *p = context;
    const tg_front *x = &f->front[front];
    for (int i = x->own; i < x->own + x->nown; i++)
    {
        int node = f->order[i];
        add_mass(p, p->tree[node], tg_front_block(f, front, node, node), x->f);
        for (int k = p->use_start[node]; k < p->use_start[node + 1]; k++)
            if (p->block[p->use[k]].state.phase != TG_PHASE_BREAK)
                assemble_block(p, f, front, node, &p->block[p->use[k]]);
    }
}

/* k becomes dx = k - N ds, with dv from the factors */
static void solve_system(large *p, double *k)
{
    memset(p->dv, 0, sizeof(double) * (size_t)p->m->nv);
    for (int i = 0; i < p->nblock; i++)
    {
        const tg_large_block *b = &p->block[i];
        for (int j = 0; j < b->cone.dim; j++)
            add_row(p, p->r->J, b->constraint, b->source[j], b->scale[j] * k[b->cone.row + j], p->dv);
    }
    tg_fronts_solve(&p->fronts, p->dv);
    for (int n = 0; n < p->nblock; n++)
    {
        const tg_large_block *b = &p->block[n];
        double ds[CONE];
        for (int i = 0; i < b->cone.dim; i++)
            ds[i] = b->scale[i] * row_velocity(p, b->constraint, b->source[i], p->dv);
        for (int i = 0; i < b->cone.dim; i++)
            for (int j = 0; j < b->cone.dim; j++)
                k[b->cone.row + i] -= b->N[CONE * i + j] * ds[j];
    }
}

static bool classify(large *p)
{
    bool same = true;
    for (int k = 0; k < p->nblock; k++)
    {
        tg_large_block *b = &p->block[k];
        tg_phase before = b->state.phase;
        tg_newton_classify_block(&b->cone, p->x, p->s, &b->state);
        same = same && b->state.phase == before;
    }
    return same;
}

static bool newton_step(large *p, double compliance)
{
    for (int k = 0; k < p->nblock; k++)
        linearise(p, &p->block[k], compliance);
    p->newton++;
    if (!tg_fronts_factor(&p->fronts, assemble, p))
        return false;
    solve_system(p, p->k);
    for (int i = 0; i < p->nx; i++)
        p->x[i] += p->k[i];
    refresh(p);
    return true;
}

/* ---- the interior point ---- */

/* E and W of a block at the point q, then E^-1 and N = E^-1 W; false when E is singular */
static bool eliminate_slacks(tg_large_block *b, const tg_interior *q)
{
    int row = b->cone.row, d = b->cone.dim, pivot[CONE];
    const double *x = q->x + row, *z = q->z + row;
    double psi = q->psi[row], E[CONE * CONE] = {0};
    memset(b->N, 0, sizeof b->N);
    memset(b->E, 0, sizeof b->E);
    for (int i = 0; i < d; i++)
        b->N[(CONE + 1) * i] = b->E[(CONE + 1) * i] = 1;
    if (b->cone.kind == TG_CONE_FREE)
        E[0] = 1e-7 * b->G[0]; /* redundant equalities; centred at x, so it changes the path and not the end */
    else if (b->cone.kind == TG_CONE_BOX)
        E[0] = psi / (b->cone.bound + x[0]) + z[0] / (b->cone.bound - x[0]);
    else
        E[0] = z[0] / x[0] + b->soft;
    for (int i = 1; i < d; i++)
    {
        double t = x[i] / x[0];
        E[CONE * i] = (z[i] - psi * t) / x[0];
        for (int j = 1; j < d; j++)
        {
            E[CONE * i + j] = ((i == j ? psi : 0) - t * z[j]) / x[0];
            b->N[CONE * i + j] -= t * x[j] / x[0];
        }
    }
    if (tg_lu(d, E, CONE, pivot) >= 0)
        return false;
    tg_lu_solve(d, E, CONE, pivot, d, b->N, CONE);
    tg_lu_solve(d, E, CONE, pivot, d, b->E, CONE);
    return true;
}

static void interior_velocity(const tg_interior *q, const double *x, double *s)
{
    velocity_of(q->context, x, s);
}

static void interior_product(const tg_interior *q, const double *dx, double *out)
{
    const large *p = q->context;
    memset(p->dv, 0, sizeof(double) * (size_t)p->m->nv);
    respond(p, dx, p->dv);
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
            out[b->cone.row + i] = b->scale[i] * row_velocity(p, b->constraint, b->source[i], p->dv);
        out[b->cone.row] += b->soft * dx[b->cone.row];
    }
}

static bool interior_factor(tg_interior *q)
{
    large *p = q->context;
    for (int k = 0; k < p->nblock; k++)
    {
        p->block[k].state.phase = TG_PHASE_STICK;
        if (!eliminate_slacks(&p->block[k], q))
            return false;
    }
    return tg_fronts_factor(&p->fronts, assemble, p);
}

static void interior_solve(tg_interior *q, double *rhs)
{
    large *p = q->context;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        double *at = rhs + b->cone.row, y[CONE] = {0};
        for (int i = 0; i < b->cone.dim; i++)
            for (int j = 0; j < b->cone.dim; j++)
                y[i] += b->E[CONE * i + j] * at[j];
        memcpy(at, y, sizeof(double) * (size_t)b->cone.dim);
    }
    solve_system(p, rhs);
}

static double offer(large *p);

static double interior_residual(tg_interior *q, const double *x)
{
    large *p = q->context;
    memcpy(p->x, x, sizeof(double) * (size_t)p->nx);
    refresh(p);
    return offer(p);
}

/* from a cold start; leaves the best impulses in x */
static void run_interior(large *p)
{
    static const tg_interior_system system = {interior_velocity, interior_product, interior_factor, interior_solve,
                                              interior_residual};
    tg_interior q = {
        .system = &system, .context = p, .cones = &p->cones, .rhs = p->rhs, .best = p->best, .max_steps = INTERIOR};
    p->cones.rows = p->nx;
    p->cones.blocks = p->nblock;
    p->cones.velocity = 0;
    for (int i = p->island->row; i < p->island->row + p->island->rows; i++)
        p->cones.velocity = tg_larger(p->cones.velocity, fabs(p->r->g[i]));
    for (int k = 0; k < p->nblock; k++)
        p->cones.block[k] = p->block[k].cone;
    tg_interior_vectors(&q, p->interior);
    if (tg_interior_solve(&q, 0.1 * p->tolerance, p->tolerance) < INFINITY)
        memcpy(p->x, p->best, sizeof(double) * (size_t)p->nx);
    refresh(p);
    p->interior_steps += q.steps;
}

/* ---- the graph ---- */

static bool add_edges(large *p)
{
    tg_fronts *f = &p->fronts;
    int edges = 0;
    for (int n = 0; n < f->nnode; n++)
    {
        f->start[n] = edges;
        for (int k = p->use_start[n]; k < p->use_start[n + 1]; k++)
        {
            const tg_constraint *c = p->block[p->use[k]].constraint;
            bool repeated = k > p->use_start[n] && p->block[p->use[k - 1]].constraint == c;
            for (int i = c->part; !repeated && i < c->part + c->parts; i++)
            {
                if (p->node[p->r->part[i].tree] == n)
                    continue;
                if (edges == f->max_edge)
                    return false;
                f->neighbour[edges++] = p->node[p->r->part[i].tree];
            }
        }
    }
    f->start[f->nnode] = edges;
    return true;
}

static void list_uses(large *p)
{
    int n = p->fronts.nnode, sum = 0;
    memset(p->use_start, 0, sizeof(int) * (size_t)(n + 1));
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].constraint->parts; i++)
            p->use_start[p->node[p->r->part[p->block[k].constraint->part + i].tree]]++;
    for (int i = 0; i <= n; i++)
    {
        int count = i < n ? p->use_start[i] : 0;
        p->use_start[i] = sum;
        sum += count;
    }
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].constraint->parts; i++)
            p->use[p->use_start[p->node[p->r->part[p->block[k].constraint->part + i].tree]]++] = k;
    for (int i = n; i > 0; i--)
        p->use_start[i] = p->use_start[i - 1];
    p->use_start[0] = 0;
}

static bool make_graph(large *p)
{
    const tg_model *m = p->m;
    tg_fronts *f = &p->fronts;
    f->nnode = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        p->node[t] = -1;
        if (p->r->tree_columns[t] == 0 || &p->r->island[p->r->tree_island[t]] != p->island)
            continue;
        p->node[t] = f->nnode;
        p->tree[f->nnode] = t;
        f->size[f->nnode] = m->tree_ndof[t];
        f->offset[f->nnode] = m->tree_dof[t];
        memcpy(f->place + 3 * f->nnode, p->w->body_pos + 4 * m->tree_body[t], 3 * sizeof(double));
        f->nnode++;
    }
    list_uses(p);
    return add_edges(p) && tg_fronts_analyse(f);
}

/* ---- the solve ---- */

/* the certificate at x; keeps L and sigma of the best */
static double offer(large *p)
{
    tg_rows *r = p->r;
    int row = p->island->row;
    double *L = r->trial + row, *sigma = r->trial_sigma + row;
    memset(L, 0, sizeof(double) * (size_t)p->island->rows);
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].cone.dim; i++)
            L[p->block[k].constraint->row + p->block[k].source[i] - row] =
                p->block[k].scale[i] * p->x[p->block[k].cone.row + i];
    for (int b = p->island->block; b < p->island->block + p->island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        for (int i = 0; i < c->rows; i++)
            sigma[c->row + i - row] = row_velocity(p, c, i, p->v) + r->bias[c->row + i];
    }
    for (int k = 0; k < p->nblock; k++)
        sigma[p->block[k].constraint->row - row] += p->block[k].soft * p->x[p->block[k].cone.row];
    tg_island problem = tg_island_problem(r, p->island);
    tg_residual residual = tg_residual_of(&problem, p->diagonal, 1, L, sigma);
    double worst = tg_residual_max(&residual);
    if (!(worst < tg_residual_max(&p->island->result.residual)))
        return worst;
    p->island->result.residual = residual;
    memcpy(r->L + row, L, sizeof(double) * (size_t)p->island->rows);
    memcpy(r->sigma + row, sigma, sizeof(double) * (size_t)p->island->rows);
    return worst;
}

static void load_warm(large *p)
{
    for (int k = 0; k < p->nblock; k++)
        for (int i = 0; i < p->block[k].cone.dim; i++)
            p->x[p->block[k].cone.row + i] =
                p->r->warm[p->block[k].constraint->row + p->block[k].source[i]] / p->block[k].scale[i];
    refresh(p);
}

static bool run_newton(large *p)
{
    double compliance = proximal, before = INFINITY;
    int worse = 0;
    for (int k = 0; k < NEWTON && worse < 3; k++)
    {
        bool same = classify(p) && k > 0;
        if (same)
            compliance = 1e-2 * proximal;
        if (!newton_step(p, compliance))
            return false;
        double now = offer(p);
        if (now <= 0.1 * p->tolerance)
            return true;
        worse += !(now < before);
        before = now;
    }
    return false;
}

static void run_sweeps(large *p, int count)
{
    for (int k = 0; k < count; k++)
        sweep(p);
    refresh(p);
}

static void iterate(large *p, bool sparse)
{
    double aim = 0.1 * p->tolerance;
    if (offer(p) <= aim)
        return;
    run_sweeps(p, sparse ? 2 : 1000);
    if (offer(p) <= aim || !sparse || run_newton(p))
        return;
    run_interior(p);
    if (tg_residual_max(&p->island->result.residual) > p->tolerance)
        run_newton(p);
}

void tg_solve_large(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free, double dt,
                    double tolerance)
{
    tg_rows *r = w->rows;
    large p = {.m = m, .w = w, .r = r, .island = island, .v_free = v_free, .tolerance = tolerance};
    tg_arena arena = {.base = r->large_memory, .capacity = r->capacity.large};
    take(&p, m, &r->capacity, &arena);
    island->result =
        (tg_solve_result){.selection = TG_SELECT_UNSELECTED, .residual = {INFINITY, INFINITY, INFINITY, INFINITY}};
    make_responses(&p);
    make_blocks(&p, dt);
    load_warm(&p);
    iterate(&p, make_graph(&p));
    bool solved = tg_residual_max(&island->result.residual) <= tolerance;
    island->result.status = solved ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL;
    island->result.newton = p.newton;
    island->result.interior = p.interior_steps;
    island->result.sweeps = p.sweeps;
}
