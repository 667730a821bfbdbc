/* Contact problems with hundreds to thousands of rows, in velocity space: nothing dense but the fronts of a sparse
 * factorisation.
 *
 * v = v_free + M^-1 J^T L is kept exact. A Newton step on the Alart-Curnier equations (alart_curnier.c; scaled
 * variables x = S^-1 L, s = S sigma) says of each block alone
 *     dx = k - N ds,   with the compliance p (proximal, centred at x) on its own diagonal:
 *     breaks   dx = -x
 *     sticks   dx = -(s + ds) / p
 *     slides   dx_N = -(s_N + ds_N) / p_N,   dx_T = e dx_N - beta (1 - e e^T) ds_T - T^-1 (x_T - e x_N) / rho_T,
 *              beta = r / t, T = e e^T / rho_T + t (1 - e e^T), t = (1 - r) / rho_T + r p_T,
 * and with ds = S J dv, M dv = J^T S dx:
 *     (M + J^T S N S J) dv = J^T S k,
 * a matrix over trees with a block for every two that touch (large_system.c). The interior point (solver_ipm.c)
 * eliminates its slacks block by block into W ds + E dx = rhs, which is the same system with N = E^-1 W, k = E^-1 rhs.
 *
 * If the phases of the previous step still hold, Newton alone converges in one to three steps. Otherwise: a few
 * Gauss-Seidel sweeps, the interior point from their result, and Newton again once it is close. Coulomb's law is not
 * monotone, and the path of the interior point may turn back; with many contacts it is likely that a few of them block
 * it. These contacts are frozen and the others solved; then the frozen ones and their neighbours are solved with dense
 * matrices (large_cluster.c), and all together again. What is left is solved with compliance (solve/multipliers.c), or
 * by the dense solver if the island is small enough for that.
 * Which of several solutions is returned depends on the start. */
#include "contact/large.h"

#include <limits.h>
#include <math.h>

#include "contact/large_cluster.h"
#include "contact/large_system.h"
#include "solve/interior.h"

enum
{
    SWEEPS = 3,    /* before the interior point */
    NEWTON = 12,   /* steps of one run */
    ASTRAY = 3,    /* of these, how many may fail to halve the violation */
    INTERIOR = 50, /* steps of the interior point from one start */
    CONE = TG_CONE_MAX
};

static const double proximal = 1e-3, least_proximal = 1e-6;
static const double inner = 1e-12; /* m/s: Newton's equations hold */
static const double spread = 3;    /* products that the interior point starts with, in squares of the residual */
static const double least_spread =
    1e-7; /* and at least, in squares of the largest free velocity: nearer to its end the path cannot be joined */
static const double exact = 1e-6; /* the same of an end of the interior point that Newton can sharpen */

typedef struct large
{
    tg_large p;
    double tolerance, aim;
    tg_cones cones; /* the blocks' cones, for the interior point */
    double *interior, *rhs, *best;
    double *kept;    /* impulses at which few blocks are wrong, */
    double disorder; /* and by how much: the root of the sum of their squares (m/s) */
    bool *frozen;    /* blocks that the interior point could not solve together with the others, and how many */
    int nfrozen;
    double speed; /* largest free velocity (m/s) */
    int limit;    /* factorisations; what is cut short is guarded */
    bool swept;   /* it starts from impulses that sweeps and Newton were tried from */
    bool passes;  /* on what it does not solve soon, to the dense solver */
    bool rounds;  /* multipliers follow */
    bool fits;    /* the factors */
    int newton, sweeps, interior_steps;
} large;

/* ---- memory ---- */

static void take(large *a, const tg_model *m, const tg_capacity *c, tg_arena *arena)
{
    size_t rows = (size_t)c->rows;
    a->cones = (tg_cones){.ld = v4_pad(c->rows)};
    a->cones.block = TG_TAKE(arena, tg_cone, c->blocks, "large: cones");
    a->interior = TG_TAKE(arena, double, TG_INTERIOR_VECTORS *(size_t)a->cones.ld, "large: interior point");
    a->rhs = TG_TAKE(arena, double, rows, "large: right-hand side");
    a->best = TG_TAKE(arena, double, rows, "large: best impulses");
    a->kept = TG_TAKE(arena, double, rows, "large: kept impulses");
    a->frozen = TG_TAKE(arena, bool, c->blocks, "large: frozen blocks");
    tg_large_take(&a->p, m, c, arena);
}

size_t tg_large_bytes(const tg_model *m, const tg_capacity *c)
{
    tg_arena count = {0};
    large a;
    if (m->ntree < 2 && c->rows <= TG_SPARSE_ROWS && m->nv <= TG_DENSE_DOFS)
        return 0;
    take(&a, m, c, &count);
    return count.used;
}

/* ---- the certificate ---- */

/* of x and these velocities; impulses and relative velocities are left in trial */
static tg_residual certificate(const large *a, const double *s)
{
    const tg_large *p = &a->p;
    tg_rows *r = p->r;
    int row = p->island->row;
    size_t bytes = sizeof(double) * (size_t)p->island->rows;
    double *L = r->trial + row, *sigma = r->trial_sigma + row;
    memset(L, 0, bytes);
    if (p->only == NULL)
        memcpy(sigma, r->g + row, bytes); /* of rows that nothing moves */
    else
        memset(sigma, 0, bytes); /* of rows that are not in the part, too */
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
        {
            int at = b->constraint->row + b->source[i] - row;
            L[at] = b->scale[i] * p->x[b->cone.row + i];
            sigma[at] = s[b->cone.row + i] / b->scale[i];
        }
    }
    tg_island problem = tg_island_problem(r, p->island);
    return tg_residual_of(&problem, p->diagonal, 1, L, sigma);
}

/* of x, s; keeps L and sigma of the best */
static double offer(large *a)
{
    tg_large *p = &a->p;
    tg_rows *r = p->r;
    int row = p->island->row;
    size_t bytes = sizeof(double) * (size_t)p->island->rows;
    tg_residual residual = certificate(a, p->s);
    double worst = tg_residual_max(&residual);
    if (!(worst < tg_residual_max(&p->island->result.residual)))
        return worst;
    p->island->result.residual = residual;
    memcpy(r->L + row, r->trial + row, bytes);
    memcpy(r->sigma + row, r->trial_sigma + row, bytes);
    return worst;
}

/* v and s from x alone */
static void refresh(large *a)
{
    tg_large_velocity(&a->p, a->p.x, a->p.s);
}

static void load_impulses(large *a, const double *L)
{
    tg_large *p = &a->p;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
            p->x[b->cone.row + i] = L[b->constraint->row + b->source[i]] / b->scale[i];
    }
    refresh(a);
}

static void forget_impulses(large *a)
{
    memset(a->p.x, 0, sizeof(double) * (size_t)a->p.nx);
    refresh(a);
}

static double best_residual(const large *a)
{
    return tg_residual_max(&a->p.island->result.residual);
}

/* ---- sweeps ---- */

/* one block Gauss-Seidel sweep with exact solutions; keeps p->v */
static void sweep(large *a)
{
    tg_large *p = &a->p;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        const double *G = p->G + b->matrix;
        double c[CONE], x[CONE], *now = p->x + b->cone.row;
        int dim = b->cone.dim;
        bool moved = false;
        tg_large_block_velocity(p, b, p->v, c);
        for (int i = 0; i < dim; i++)
        {
            for (int j = 0; j < dim; j++)
                c[i] -= (G[dim * i + j] - (i + j == 0 ? b->soft : 0)) * now[j];
            x[i] = now[i];
        }
        tg_cone_solve(&b->cone, G, dim, c, x);
        for (int i = 0; i < dim; i++)
        {
            double change = x[i] - now[i];
            moved = moved || change != 0;
            now[i] = x[i];
            x[i] = change;
        }
        if (moved)
            tg_large_block_respond(p, b, x, p->v);
    }
    a->sweeps++;
}

static void run_sweeps(large *a, int count)
{
    for (int k = 0; k < count; k++)
        sweep(a);
    refresh(a);
}

/* ---- Newton ---- */

/* N and k of a sliding block */
static void slide(const tg_large *p, const tg_large_block *b, double pn, double pt, double *N, double *k)
{
    const double *x = p->x + b->cone.row, *s = p->s + b->cone.row, *e = b->state.direction;
    double r = b->state.ratio, t = (1 - r) / b->cone.rho_t + r * pt, beta = r / t, along = 0;
    int m = b->cone.dim - 1, ld = b->cone.dim;
    N[0] = 1 / pn;
    k[0] = -s[0] / pn;
    for (int i = 0; i < m; i++)
        along += e[i] * (x[1 + i] - e[i] * x[0]);
    for (int i = 0; i < m; i++)
    {
        double F = x[1 + i] - e[i] * x[0];
        k[1 + i] = e[i] * k[0] - e[i] * along - (F - e[i] * along) / (b->cone.rho_t * t);
        N[ld * (1 + i)] = e[i] / pn;
        for (int j = 0; j < m; j++)
            N[ld * (1 + i) + 1 + j] = beta * ((i == j) - e[i] * e[j]);
    }
}

static void linearise(const tg_large *p, const tg_large_block *b, double compliance)
{
    double pn = compliance / b->cone.rho_n + b->soft, pt = compliance / b->cone.rho_t;
    double *k = p->k + b->cone.row, *N = p->N + b->matrix;
    const double *x = p->x + b->cone.row, *s = p->s + b->cone.row;
    int dim = b->cone.dim;
    memset(N, 0, sizeof(double) * (size_t)(dim * dim));
    if (b->state.phase == TG_PHASE_STICK)
        for (int i = 0; i < dim; i++)
        {
            N[(dim + 1) * i] = 1 / (i == 0 ? pn : pt);
            k[i] = -s[i] / (i == 0 ? pn : pt);
        }
    else if (b->state.phase == TG_PHASE_SLIDE && b->cone.kind == TG_CONE_UNIT)
        slide(p, b, pn, pt, N, k);
    else
        for (int i = 0; i < dim; i++)
            k[i] = (b->state.phase == TG_PHASE_BREAK ? 0 : b->state.direction[0] * b->cone.bound) - x[i];
}

/* phases of all blocks; how many are not what they were */
static int classify(tg_large *p)
{
    int changes = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        tg_large_block *b = &p->block[k];
        tg_phase before = b->state.phase;
        tg_newton_classify_block(&b->cone, p->x, p->s, &b->state);
        changes += b->state.phase != before;
    }
    return changes;
}

static bool may_factor(const large *a)
{
    return a->newton + a->interior_steps < a->limit;
}

static bool newton_step(large *a, double compliance)
{
    tg_large *p = &a->p;
    for (int k = 0; k < p->nblock; k++)
        linearise(p, &p->block[k], compliance);
    if (!may_factor(a))
        return false;
    a->newton++;
    if (!tg_large_factor(p))
        return false;
    tg_large_solve(p, p->k);
    for (int i = 0; i < p->nx; i++)
        p->x[i] += p->k[i];
    refresh(a);
    return true;
}

/* how much a block violates the equations of its phase: velocities of held rows, impulses times what they move (m/s) */
static double block_violation(const tg_large *p, const tg_large_block *b)
{
    const double *x = p->x + b->cone.row, *s = p->s + b->cone.row, *e = b->state.direction;
    double worst = 0, gap = 1 / b->cone.rho_n, slip = 1 / b->cone.rho_t;
    if (b->state.phase == TG_PHASE_SLIDE && b->cone.kind == TG_CONE_BOX)
        return gap * fabs(x[0] - e[0] * b->cone.bound);
    for (int i = 0; i < b->cone.dim; i++)
    {
        double here = b->state.phase == TG_PHASE_BREAK             ? (i == 0 ? gap : slip) * fabs(x[i])
                      : b->state.phase == TG_PHASE_STICK || i == 0 ? fabs(s[i])
                                                                   : slip * fabs(x[i] - e[i - 1] * x[0]);
        worst = tg_larger(worst, here / b->scale[i]);
    }
    return b->state.phase == TG_PHASE_BREAK ? tg_larger(worst, -s[0]) : worst;
}

static double violation(const tg_large *p)
{
    double worst = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        double here = block_violation(p, &p->block[k]);
        worst = here <= worst ? worst : here; /* also NaN */
    }
    return worst;
}

/* whether impulses are far larger than velocities ask for: they cancel each other */
static bool is_huge(const large *a, const double *x)
{
    for (int k = 0; k < a->p.nblock; k++)
    {
        const tg_large_block *b = &a->p.block[k];
        if (!(fabs(x[b->cone.row]) <= TG_MOST_IMPULSE * a->speed * b->cone.rho_n))
            return true;
    }
    return false;
}

/* Keeps x where fewer blocks are wrong, or by less, than at what was kept before. The largest residual does not tell:
 * on its way the interior point leaves all blocks a little wrong, in the end a frozen one as much. */
static void keep(large *a)
{
    double sum = 0;
    for (int k = 0; k < a->p.nblock; k++)
    {
        double here = block_violation(&a->p, &a->p.block[k]);
        sum += here * here;
    }
    if (!(sqrt(sum) < a->disorder) || is_huge(a, a->p.x))
        return;
    a->disorder = sqrt(sum);
    memcpy(a->kept, a->p.x, sizeof(double) * (size_t)a->p.nx);
}

/* 1e-12 m/s, or what rounding leaves of the largest velocity of an impulse, as everywhere */
static double least_violation(const tg_large *p)
{
    double largest = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        for (int i = 0; i < b->cone.dim; i++)
            largest = tg_larger(largest,
                                fabs(p->x[b->cone.row + i]) / (i == 0 ? b->cone.rho_n : b->cone.rho_t * b->scale[i]));
    }
    return tg_larger(inner, TG_ROUNDING * largest * p->nx);
}

/* how far the velocities that came in are from what the blocks' phases hold (m/s) */
static double unrest(const tg_large *p)
{
    double worst = 0;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        int held = b->state.phase == TG_PHASE_STICK ? b->cone.dim : b->cone.kind == TG_CONE_UNIT;
        for (int i = 0; i < held && b->state.phase != TG_PHASE_BREAK; i++)
        {
            int row = b->constraint->row + b->source[i];
            worst = tg_larger(worst, fabs(p->r->speed[row] + p->r->bias[row]));
        }
    }
    return worst;
}

/* The tolerance of Newton, where `least` is the level of rounding: ten times tighter where bodies start at rest.
 * Otherwise an error of the impulses persists: a step leaves the velocity e, the next reverses it to close the gap, and
 * the third stops it, with impulses that are wrong by e again. */
static double enough(const tg_large *p, double least)
{
    return tg_smaller(least, tg_larger(2 * unrest(p), 0.1 * least));
}

/* Steps from x, if it is within `reach` (m/s). The compliance falls with every step that pays: one that at least halves
 * the violation, or leaves all phases as they are. A contact that is closed and carries nothing may be held by mistake;
 * then its impulse becomes minus its velocity over the compliance, it opens in the next step, and the violation is
 * large in between. True when the certificate is good and the equations hold as far as rounding lets them. */
static bool run_newton(large *a, double reach)
{
    bool good = offer(a) <= a->aim;
    classify(&a->p);
    double before = violation(&a->p), compliance = good ? 0.1 * proximal : proximal,
           least = enough(&a->p, least_violation(&a->p));
    int astray = 0;
    for (int k = 0; k < NEWTON && before > least && before < reach; k++)
    {
        if (!newton_step(a, compliance))
            return good;
        good = offer(a) <= a->aim || good;
        bool same = classify(&a->p) == 0;
        keep(a);
        double now = violation(&a->p);
        bool pays = now < 0.5 * before || (same && now < before);
        if (pays)
            compliance = tg_larger(0.1 * compliance, least_proximal);
        else if (good || astray++ == ASTRAY)
            return good;
        before = now;
    }
    return good;
}

/* ---- the interior point ---- */

static void eliminate_slacks(const large *a, const tg_large_block *b, const tg_interior *q)
{
    const tg_large *p = &a->p;
    int row = b->cone.row;
    double x = q->x[row], bound = b->cone.bound, E;
    if (q->frozen != NULL && q->frozen[b - p->block])
    {
        memset(p->E + b->matrix, 0, sizeof(double) * (size_t)(b->cone.dim * b->cone.dim));
        memset(p->N + b->matrix, 0, sizeof(double) * (size_t)(b->cone.dim * b->cone.dim));
        return;
    }
    if (b->cone.kind == TG_CONE_UNIT)
    {
        tg_interior_eliminate(b->cone.dim, q->x + row, q->z + row, q->psi[row], b->soft, 0, p->E + b->matrix,
                              p->N + b->matrix);
        return;
    }
    if (b->cone.kind == TG_CONE_FREE)
        E = 1e-7 * p->G[b->matrix]; /* redundant equalities; centred at x, so it changes the path and not the end */
    else
        E = q->psi[row] / (bound + x) + q->z[row] / (bound - x);
    p->E[b->matrix] = p->N[b->matrix] = 1 / E;
}

static void interior_velocity(const tg_interior *q, const double *x, double *s)
{
    large *a = q->context;
    size_t bytes = sizeof(double) * (size_t)a->p.nx;
    if (memcmp(x, a->p.x, bytes) != 0)
    {
        memcpy(a->p.x, x, bytes);
        refresh(a);
    }
    memcpy(s, a->p.s, bytes);
}

/* asked of the solution of the last system alone, whose J dv is known: G dx = J dv, and the compliance */
static void interior_product(const tg_interior *q, const double *dx, double *out)
{
    const tg_large *p = &((const large *)q->context)->p;
    memcpy(out, p->ds, sizeof(double) * (size_t)p->nx);
    for (int k = 0; k < p->nblock; k++)
        out[p->block[k].cone.row] += p->block[k].soft * dx[p->block[k].cone.row];
}

static bool interior_factor(tg_interior *q)
{
    large *a = q->context;
    for (int k = 0; k < a->p.nblock; k++)
    {
        a->p.block[k].state.phase = TG_PHASE_STICK;
        eliminate_slacks(a, &a->p.block[k], q);
    }
    return a->newton + a->interior_steps + q->steps <= a->limit && tg_large_factor(&a->p);
}

static void interior_solve(tg_interior *q, double *rhs)
{
    large *a = q->context;
    tg_large *p = &a->p;
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_large_block *b = &p->block[k];
        const double *E = p->E + b->matrix;
        double *at = rhs + b->cone.row, y[CONE] = {0};
        int dim = b->cone.dim;
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++)
                y[i] += E[dim * i + j] * at[j];
        memcpy(at, y, sizeof(double) * (size_t)dim);
    }
    tg_large_solve(p, rhs);
}

static double interior_residual(tg_interior *q, const double *x)
{
    large *a = q->context;
    interior_velocity(q, x, a->rhs);
    return offer(a);
}

static tg_interior interior_of(large *a)
{
    static const tg_interior_system system = {interior_velocity, interior_product, interior_factor, interior_solve,
                                              interior_residual};
    tg_large *p = &a->p;
    tg_interior q = {
        .system = &system, .context = a, .cones = &a->cones, .rhs = a->rhs, .best = a->best, .max_steps = INTERIOR};
    a->cones.rows = p->nx;
    a->cones.ld = v4_pad(p->nx);
    a->cones.blocks = p->nblock;
    a->cones.velocity = a->speed;
    for (int k = 0; k < p->nblock; k++)
        a->cones.block[k] = p->block[k].cone;
    tg_interior_vectors(&q, a->interior);
    return q;
}

/* t in [0, 1) with t a + c t / (1 - t^2) = y: convex, so Newton from above stays above */
static double tangent_share(double a, double c, double y)
{
    if (!(y > 0))
        return 0;
    double t = 2 * y / (c + sqrt(c * c + 4 * y * y));
    t = tg_smaller(t, y / a);
    for (int k = 0; k < 6; k++)
    {
        double rest = 1 - t * t;
        t -= (t * a + c * t / rest - y) / (a + c * (1 + t * t) / (rest * rest));
    }
    return tg_smaller(tg_larger(t, 0), 1 - 1e-9);
}

/* The point of the path with products kappa rho whose x / rho - s is that of x, s, block by block (the smoothing of
 * Chen and Harker, Kanzow, and Smale): x_N = rho (y_N + sqrt(y_N^2 + 4 kappa)) / 2, s_N = kappa rho / x_N; x_T = t x_N
 * e, eta = -t psi e, psi = kappa rho / (x_N (1 - t^2)). */
static void centre_contact(const tg_cone *cone, double kappa, const double *x, const double *s, tg_interior *q)
{
    int row = cone->row;
    double rho = cone->rho_n, y = x[0] / rho - s[0], root = sqrt(y * y + 4 * kappa);
    double u = y > 0 ? 0.5 * (y + root) : 2 * kappa / (root - y), e[CONE], size = 0;
    q->x[row] = rho * u;
    q->z[row] = kappa / u;
    for (int i = 1; i < cone->dim; i++)
    {
        e[i] = x[i] / cone->rho_t - s[i];
        size += e[i] * e[i];
    }
    size = sqrt(size);
    double c = kappa / u, t = tangent_share(q->x[row] / cone->rho_t, c, size);
    q->psi[row] = c / (1 - t * t);
    for (int i = 1; i < cone->dim; i++)
    {
        double along = size > 0 ? t * e[i] / size : 0;
        q->x[row + i] = q->x[row] * along;
        q->z[row + i] = -q->psi[row] * along;
    }
}

static void centre(const large *a, double kappa, tg_interior *q)
{
    const tg_large *p = &a->p;
    memset(a->interior, 0, sizeof(double) * TG_INTERIOR_VECTORS * (size_t)a->cones.ld);
    for (int k = 0; k < p->nblock; k++)
    {
        const tg_cone *cone = &p->block[k].cone;
        const double *x = p->x + cone->row;
        double bound = cone->bound;
        q->weight[cone->row] = cone->rho_n;
        if (cone->kind == TG_CONE_UNIT)
            centre_contact(cone, kappa, x, p->s + cone->row, q);
        else if (cone->kind == TG_CONE_FREE)
            q->x[cone->row] = x[0];
        else
        {
            q->x[cone->row] = tg_larger(tg_smaller(x[0], 0.9 * bound), -0.9 * bound);
            q->z[cone->row] = kappa * cone->rho_n / (bound - q->x[cone->row]);
            q->psi[cone->row] = kappa * cone->rho_n / (bound + q->x[cone->row]);
        }
    }
}

static void set_impulses(large *a, const double *x)
{
    memcpy(a->p.x, x, sizeof(double) * (size_t)a->p.nx);
    refresh(a);
}

/* one that may not be factored is no step */
static void count_interior(large *a, const tg_interior *q)
{
    int left = a->limit - a->newton - a->interior_steps;
    a->interior_steps += q->steps < left ? q->steps : left;
}

/* From x, s, which have the residual `error` (m/s), to the best x that it meets, or to the solution of all blocks but
 * those that are frozen; false when it met none. */
static bool iterate_interior(large *a, double error, double aim)
{
    tg_interior q = interior_of(a);
    memset(a->frozen, 0, (size_t)a->p.nblock * sizeof *a->frozen);
    q.frozen = a->frozen;
    centre(a, tg_larger(spread * error * error, least_spread * a->speed * a->speed), &q);
    double best = tg_interior_iterate(&q, INFINITY, aim);
    count_interior(a, &q);
    a->nfrozen = best <= aim ? 0 : q.nfrozen;
    if (best < INFINITY)
        set_impulses(a, a->nfrozen > 0 ? q.x : a->best);
    return best < INFINITY;
}

/* The blocks that the interior point could not solve together with the others, and what is around them, alone; then all
 * together, from there. */
static bool run_cluster(large *a)
{
    tg_large_solve_cluster(&a->p, a->frozen, a->aim, INTERIOR);
    refresh(a);
    return run_newton(a, TG_NEAR * a->speed) || best_residual(a) <= a->tolerance;
}

/* Degenerate contacts make the end of the interior point linear, so it goes no further than it must: Newton does the
 * rest where it can. */
static bool run_interior(large *a, double error)
{
    if (!iterate_interior(a, error, a->tolerance))
        return false;
    if (a->nfrozen > 0)
    {
        classify(&a->p);
        keep(a);
        return !a->rounds && run_cluster(a);
    }
    return run_newton(a, (best_residual(a) <= a->tolerance ? exact : TG_NEAR) * a->speed) ||
           best_residual(a) <= a->tolerance;
}

/* from cold starts, and along the path where it turns back */
static void run_cold(large *a)
{
    tg_interior q = interior_of(a);
    q.max_path = TG_PATH_STEPS;
    q.others = true;
    if (tg_interior_solve(&q, a->aim, a->tolerance) < INFINITY)
        memcpy(a->p.x, a->best, sizeof(double) * (size_t)a->p.nx);
    refresh(a);
    count_interior(a, &q);
    run_newton(a, exact * a->speed);
}

/* Fewer blocks that are wrong leave less to do than a smaller residual. */
static void offer_kept(large *a)
{
    set_impulses(a, a->kept);
    a->p.island->result.residual = (tg_residual){INFINITY, INFINITY, INFINITY, INFINITY};
    offer(a);
}

/* ---- the solve ---- */

static double largest_velocity(const tg_large *p)
{
    double most = 0;
    for (int i = p->island->row; i < p->island->row + p->island->rows; i++)
        most = tg_larger(most, fabs(p->r->g[i]));
    return most;
}

/* the previous step's impulses, swept if they are far from a solution; returns their residual */
static double start(large *a)
{
    if (!a->swept)
        load_impulses(a, a->p.r->warm);
    double error = offer(a);
    if (a->swept || a->p.half || (a->fits && error < TG_NEAR * a->speed))
        return error;
    run_sweeps(a, a->fits ? SWEEPS : 1000);
    return offer(a);
}

/* Where an easier problem (tg_island_relax) or another solver can take its place the search is short. Of a single tree
 * path-following solves what the others of soft.h may have no room for. */
static void iterate(large *a)
{
    if (a->fits && !a->swept && run_newton(a, TG_NEAR * a->speed))
        return;
    double error = start(a);
    if (error <= a->aim || !a->fits || run_interior(a, error) || a->passes || !may_factor(a))
        return;
    if (tg_island_can_relax(a->p.r, a->p.island) || !a->p.half)
        return;
    forget_impulses(a);
    run_cold(a);
}

/* ---- what is cut short ---- */

/* huge impulses that cancel each other, or add energy, as in solvers.c */
static bool is_unsafe(const large *a)
{
    const tg_rows *r = a->p.r;
    double work = 0;
    for (int i = 0; i < a->p.island->rows; i++)
    {
        double L = r->L[a->p.island->row + i];
        work += L * r->sigma[a->p.island->row + i];
        if (a->p.diagonal[i] * fabs(L) > TG_MOST_IMPULSE * a->speed)
            return true;
    }
    return work > 0;
}

/* one sweep from zero impulses instead */
static void replace_unsafe(large *a)
{
    forget_impulses(a);
    run_sweeps(a, 1);
    a->p.island->result.residual = (tg_residual){INFINITY, INFINITY, INFINITY, INFINITY};
    offer(a);
}

void tg_solve_large(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free, double dt,
                    double tolerance, int effort, const tg_solve_result *before, const tg_large_part_of *only)
{
    tg_rows *r = w->rows;
    large a = {.p = {.m = m, .w = w, .r = r, .island = island, .only = only},
               .tolerance = tolerance,
               .aim = 0.1 * tolerance,
               .disorder = INFINITY,
               .limit = effort > 0 ? effort : INT_MAX,
               .passes = (only != NULL ? only->passes : island->dense) && effort == 0,
               .swept = before != NULL};
    if (before != NULL)
    {
        a.newton = before->newton;
        a.sweeps = before->sweeps;
    }
    tg_arena arena = {.base = r->large_memory, .capacity = r->capacity.large};
    take(&a, m, &r->capacity, &arena);
    island->result =
        (tg_solve_result){.selection = TG_SELECT_UNSELECTED, .residual = {INFINITY, INFINITY, INFINITY, INFINITY}};
    a.fits = tg_large_build(&a.p, v_free, dt);
    a.rounds = effort == 0 && !a.passes && !a.p.half && !tg_island_can_relax(r, island);
    a.speed = largest_velocity(&a.p);
    load_impulses(&a, before != NULL ? r->L : r->warm);
    iterate(&a);
    bool solved = best_residual(&a) <= tolerance;
    if (!solved && a.disorder < INFINITY && effort == 0)
        offer_kept(&a);
    island->result.guarded = !solved && effort > 0 && is_unsafe(&a);
    if (island->result.guarded)
        replace_unsafe(&a);
    island->result.status = solved ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL;
    island->result.stage = solved ? a.interior_steps > 0 ? TG_ENDED_INTERIOR : TG_ENDED_WARM : TG_ENDED_NONE;
    island->result.newton = a.newton;
    island->result.interior = a.interior_steps;
    island->result.sweeps = a.sweeps;
}
