/* The interior point (interior.h) on the problem of soft.h without compliance.
 *
 * In scaled variables x = S^-1 L, s = S sigma. Slacks are eliminated block by block into W ds + E dx = rhs, or dx = k -
 * N ds with N = E^-1 W, k = E^-1 rhs, and with ds = S J du, du = J^T S dx,
 *     (1 + J^T S N S J) du = J^T S k,
 * which is H of soft.h with another D. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/interior.h"
#include "solve/soft.h"

enum
{
    STEPS = 40 /* of one run */
};

static const double redundant =
    1e-7; /* of G_ii: compliance of equalities, centred at x, so that it changes the path and not the end */

/* a row's own compliance in scaled variables; all tangents of a contact have that of the first */
static double compliance(const tg_soft *p, int row)
{
    return p->give[row] * p->square[row];
}

/* E^-1 and N = E^-1 W of a contact. With t = x_T / x_N, c the tangents' compliance,
 *     E = [z_N / x_N + c_N, 0; (eta - psi t) / x_N, (psi - t eta^T) / x_N + W c],   W = [1; 1 - t t^T]. */
TG_INLINE void eliminate_contact(int d, const double *x, const double *z, double psi, double normal, double tangent,
                                 double *E, double *N)
{
    double t[TG_CONE_MAX], u[TG_CONE_MAX], along[TG_CONE_MAX], share = 1 / x[0], dot = 0;
    int m = d - 1;
    E[0] = N[0] = 1 / (z[0] * share + normal);
    for (int i = 0; i < m; i++)
    {
        E[1 + i] = N[1 + i] = 0;
        t[i] = x[1 + i] * share;
        u[i] = z[1 + i] * share + tangent * t[i];
        along[i] = (z[1 + i] - psi * t[i]) * share * E[0];
        dot += t[i] * u[i];
    }
    double stiff = psi * share + tangent, soft = 1 / stiff, more = soft / (stiff - dot);
    for (int i = 0; i < m; i++)
    {
        double *e = E + d * (1 + i), *n = N + d * (1 + i), sum = 0;
        for (int j = 0; j < m; j++)
        {
            double one = i == j ? soft : 0;
            e[1 + j] = one + t[i] * u[j] * more;
            n[1 + j] = one - t[i] * (t[j] * soft - (u[j] - dot * t[j]) * more);
            sum += e[1 + j] * along[j];
        }
        e[0] = n[0] = -sum;
    }
}

void tg_interior_eliminate(int d, const double *x, const double *z, double psi, double normal, double tangent,
                           double *E, double *N)
{
    if (d == DIM)
        eliminate_contact(DIM, x, z, psi, normal, tangent, E, N);
    else
        eliminate_contact(d, x, z, psi, normal, tangent, E, N);
}

/* ---- the system ---- */

static void velocity(const tg_interior *q, const double *x, double *s)
{
    tg_soft *p = q->context;
    for (int i = 0; i < p->rows; i++)
        p->L[i] = p->mu[i] * x[i];
    tg_soft_push(p, p->L, p->u);
    tg_soft_velocity(p, p->u, p->row);
    for (int i = 0; i < p->rows; i++)
        s[i] = p->mu[i] * (p->row[i] + p->g[i]) + compliance(p, i) * x[i];
}

/* asked of the solution of the last system alone, whose J du is known: G dx = J du, and the compliance */
static void product(const tg_interior *q, const double *dx, double *out)
{
    const tg_soft *p = q->context;
    for (int i = 0; i < p->rows; i++)
        out[i] = p->mu[i] * p->Jstep[i] + compliance(p, i) * dx[i];
}

static void eliminate(tg_soft *p, const tg_interior *q, const tg_soft_block *b)
{
    int row = b->row, d = b->dim;
    double *E = p->E + b->slope, *N = p->D + b->slope, x = q->x[row];
    if (b->kind == TG_CONE_UNIT)
        tg_interior_eliminate(d, q->x + row, q->z + row, q->psi[row], compliance(p, row),
                              d > 1 ? compliance(p, row + 1) : 0, E, N);
    else if (b->kind == TG_CONE_BOX)
        E[0] = N[0] = 1 / (q->psi[row] / (b->bound + x) + q->z[row] / (b->bound - x) + compliance(p, row));
    else
        E[0] = N[0] = 1 / (redundant * p->own[row]);
    for (int i = 0; i < d; i++)
        for (int j = 0; j < d; j++)
            N[d * i + j] *= p->mu[row + i] * p->mu[row + j] * tg_soft_eps(p, row + j);
}

static bool factor(tg_interior *q)
{
    tg_soft *p = q->context;
    for (tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        eliminate(p, q, b);
        b->phase = TG_PHASE_SLIDE;
    }
    return tg_soft_factor(p, true);
}

static void solve(tg_interior *q, double *rhs)
{
    tg_soft *p = q->context;
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
    {
        double k[TG_CONE_MAX] = {0}, *at = rhs + b->row;
        for (int i = 0; i < b->dim; i++)
            for (int j = 0; j < b->dim; j++)
                k[i] += p->E[b->slope + b->dim * i + j] * at[j];
        for (int i = 0; i < b->dim; i++)
        {
            at[i] = k[i];
            p->row[b->row + i] = p->mu[b->row + i] * k[i];
        }
    }
    tg_soft_push(p, p->row, p->step);
    tg_soft_solve(p, p->step);
    tg_soft_velocity(p, p->step, p->Jstep);
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = 0; i < b->dim; i++)
            for (int j = 0; j < b->dim; j++)
                rhs[b->row + i] -= p->D[b->slope + b->dim * i + j] * p->Jstep[b->row + j] /
                                   (p->mu[b->row + i] * tg_soft_eps(p, b->row + j));
}

/* of the law, in m/s */
static double residual(tg_interior *q, const double *x)
{
    tg_soft *p = q->context;
    const tg_island *island = p->island;
    velocity(q, x, p->Jstep);
    memset(p->all_L, 0, sizeof(double) * (size_t)island->rows);
    memcpy(p->all_sigma, island->g, sizeof(double) * (size_t)island->rows);
    for (int i = 0; i < p->rows; i++)
    {
        p->all_L[p->source[i]] = p->L[i];
        p->all_sigma[p->source[i]] = p->Jstep[i] / p->mu[i];
    }
    tg_residual r = tg_residual_of(island, p->diagonal, 1, p->all_L, p->all_sigma);
    return tg_residual_max(&r);
}

/* ---- runs ---- */

static const tg_interior_system system_of_soft = {velocity, product, factor, solve, residual};

void tg_soft_cones(tg_soft *p)
{
    tg_cones *cones = &p->cones;
    cones->rows = p->rows;
    cones->ld = v4_pad(p->rows);
    cones->blocks = p->blocks;
    cones->velocity = p->speed;
    for (int k = 0; k < p->blocks; k++)
    {
        const tg_soft_block *b = &p->block[k];
        double trace = 0;
        p->square[b->row] = 1;
        for (int i = b->row + 1; i < b->row + b->dim; i++)
            p->square[i] = p->mu[b->row + 1] * p->mu[b->row + 1];
        for (int i = b->row + 1; i < b->row + b->dim; i++)
            trace += p->own[i] * p->mu[i] * p->mu[i];
        double normal = 1 / p->own[b->row];
        cones->block[k] = (tg_cone){.kind = b->kind,
                                    .row = b->row,
                                    .dim = b->dim,
                                    .bound = b->bound,
                                    .rho_n = normal,
                                    .rho_t = trace > 0 ? (b->dim - 1) / trace : normal};
    }
}

/* the island's G; false: it has none, or one that is not that of J */
static bool copy_matrix(const tg_soft *p, tg_cones *cones)
{
    const tg_island *island = p->island;
    if (island->G == NULL || island->loops > 0)
        return false;
    for (int i = 0; i < p->rows; i++)
    {
        const double *G = island->G + (ptrdiff_t)p->source[i] * island->ldg;
        double *row = cones->G + (ptrdiff_t)i * cones->ld;
        for (int j = 0; j < p->rows; j++)
            row[j] = p->mu[i] * p->mu[j] * G[p->source[j]];
        for (int j = p->rows; j < cones->ld; j++)
            row[j] = 0;
    }
    return true;
}

/* G = J J^T + give, scaled, a column at a time */
void tg_soft_dense_cones(tg_soft *p)
{
    tg_cones *cones = &p->cones;
    tg_soft_cones(p);
    cones->G = p->packed;
    cones->g = p->rhs;
    cones->scale = p->mu;
    for (int j = 0; j < p->rows; j++)
        cones->g[j] = p->mu[j] * p->g[j];
    if (copy_matrix(p, cones))
        return;
    tg_soft_build(p);
    memset(p->L, 0, sizeof(double) * (size_t)p->rows);
    for (int j = 0; j < p->rows; j++)
    {
        double *column = cones->G + (ptrdiff_t)j * cones->ld;
        p->L[j] = p->mu[j];
        tg_soft_push(p, p->L, p->u);
        tg_soft_velocity(p, p->u, p->row);
        p->L[j] = 0;
        memset(column, 0, sizeof(double) * (size_t)cones->ld);
        for (int i = 0; i < p->rows; i++)
            column[i] = p->mu[i] * p->row[i];
        column[j] += p->mu[j] * p->mu[j] * p->give[j];
    }
}

/* z = L - slack / eps, as in soft.h */
static void leave(tg_soft *p, const tg_interior *q)
{
    for (const tg_soft_block *b = p->block; b < p->block + p->blocks; b++)
        for (int i = b->row; i < b->row + b->dim; i++)
        {
            double slack = b->kind == TG_CONE_FREE ? 0 : b->kind == TG_CONE_BOX ? q->psi[i] - q->z[i] : q->z[i];
            p->L[i] = p->mu[i] * q->x[i];
            p->z[i] = p->L[i] - slack / p->mu[i] / tg_soft_eps(p, i);
        }
}

double tg_soft_interior(tg_soft *p, const tg_solve_options *o)
{
    int before = p->factorisations;
    tg_interior q = {.system = &system_of_soft,
                     .context = p,
                     .cones = &p->cones,
                     .rhs = p->rhs,
                     .best = p->best,
                     .max_steps = STEPS,
                     .max_path = TG_PATH_STEPS};
    tg_soft_cones(p);
    tg_interior_vectors(&q, p->interior);
    double best = tg_interior_solve(&q, 1e-2 * o->tolerance, o->tolerance);
    memcpy(q.x, q.best, sizeof(double) * (size_t)p->rows);
    leave(p, &q);
    p->regular = false;
    p->interior_steps += p->factorisations - before;
    return best;
}
