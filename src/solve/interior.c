/* Interior point for Signorini-Coulomb contact, in variables without De Saxce's term (as Dojo's, Howell et al. 2022).
 *
 * A contact has x in the interior of the cone, s_N > 0 and z = (psi, eta) in the interior of the cone, with
 *     x_N s_N = k,     x_N psi + x_T . eta = k,     x_N eta + psi x_T = 0,     (s_N, eta) = G x + g,
 * which at k = 0 is exactly Signorini, Coulomb and maximum dissipation. A box has (f - x) z = k, (f + x) y = k,
 * y - z = G x + g; a free row 0 = G x + g. The start may violate the last equation of each (residual r below).
 *
 * Eliminated, with t = x_T / x_N and W = I - t t^T, r1, r2, r3 the right-hand sides of the linearised products:
 *     G_N dx + (s_N / x_N) dx_N                                           = r1 / x_N - r_N
 *     W G_T dx + ((eta - psi t) dx_N + (psi I - t eta^T) dx_T) / x_N      = (r3 - t r2) / x_N - W r_T
 *     G dx + (y / (f + x) + z / (f - x)) dx                               = ry / (f + x) - rz / (f - x) - r
 * k is the same for all blocks when it is divided by rho = 1 / G_NN: light and heavy bodies are centred alike. Near a
 * solution it is divided by impulses instead, so that velocities are alike: a light body under a heavy one carries much
 * more than its own mass suggests. One LU for predictor and corrector (Mehrotra), one step length for everything. Where
 * that ends too early, path.c. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/interior.h"

enum
{
    MOST_IDLE = 20,
    MOST_SHORT = 5,     /* steps in a row: the matrix is singular where the path turns back (path.c) */
    FREEZE_AT_ONCE = 4, /* blocks of one iteration */
    MOST_FROZEN = 24,
    NEAR_STARTS = 3
};

static const double end = 0.1; /* products in aims times the largest free velocity: what is not frozen holds */
static const double shortest_step = 0.1; /* below: the iterate is badly centred */
static const double stiffest = 10;       /* normals against tangents */
static const double nearer = 1e-2;       /* velocities of a start near a solution */

void tg_interior_vectors(tg_interior *p, double *memory)
{
    size_t ld = (size_t)p->cones->ld;
    double **const vector[] = {&p->x, &p->z, &p->psi, &p->dx, &p->dz, &p->dpsi, &p->r, &p->Gdx, &p->weight};
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++)
        *vector[i] = tg_next(&memory, ld);
    p->room = memory;
}

/* Impulse per velocity of a block alone. Where nothing can move along the normal, what its tangents suggest. */
static double own_impulse(const tg_cone *cone)
{
    return cone->dim > 1 ? tg_smaller(cone->rho_n, stiffest * cone->rho_t) : cone->rho_n;
}

/* x_N = v rho, s_N = psi = v, no tangents; v is the largest |g| */
static void start_cold(tg_interior *p)
{
    double v = p->cones->velocity;
    memset(p->x, 0,
           (size_t)TG_INTERIOR_VECTORS * (size_t)p->cones->ld * sizeof *p->x); /* all vectors, one behind the other */
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        p->weight[cone->row] = own_impulse(cone);
        if (cone->kind == TG_CONE_FREE)
            continue;
        p->z[cone->row] = p->psi[cone->row] = v;
        if (cone->kind == TG_CONE_UNIT)
            p->x[cone->row] = v * own_impulse(cone);
    }
}

/* inside of its cone, by what velocity v asks of the block alone */
static void step_inside(const tg_cone *cone, double v, double *x)
{
    double margin = v * own_impulse(cone), bound = cone->bound - tg_smaller(margin, 0.5 * cone->bound);
    if (cone->kind == TG_CONE_BOX)
        x[0] = tg_smaller(tg_larger(x[0], -bound), bound);
    if (cone->kind != TG_CONE_UNIT)
        return;
    x[0] = tg_larger(x[0], 0) + margin;
    double tangent = tg_cone_tangent(cone->dim, x), most = x[0] - 0.5 * margin;
    for (int i = 1; i < cone->dim && tangent > most; i++)
        x[i] *= most / tangent;
}

void tg_interior_near(tg_interior *p, const double *x, double v)
{
    memmove(p->x, x, (size_t)p->cones->rows * sizeof *x);
    for (int b = 0; b < p->cones->blocks; b++)
        step_inside(&p->cones->block[b], v, p->x + p->cones->block[b].row);
    p->system->velocity(p, p->x, p->z);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        double *z = p->z + cone->row, s = z[0];
        p->weight[cone->row] = cone->kind == TG_CONE_UNIT ? p->x[cone->row] / v : cone->rho_n;
        p->psi[cone->row] = v + tg_cone_tangent(cone->dim, z);
        z[0] = tg_larger(s, v);
        if (cone->kind != TG_CONE_BOX)
            continue;
        p->psi[cone->row] = tg_larger(s, 0) + v;
        z[0] = p->psi[cone->row] - s;
    }
}

void tg_interior_infeasibility(tg_interior *p)
{
    p->system->velocity(p, p->x, p->r);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        if (cone->kind == TG_CONE_UNIT)
            for (int i = cone->row; i < cone->row + cone->dim; i++)
                p->r[i] -= p->z[i];
        else if (cone->kind == TG_CONE_BOX)
            p->r[cone->row] -= p->psi[cone->row] - p->z[cone->row];
    }
}

static bool is_frozen(const tg_interior *p, int block)
{
    return p->frozen != NULL && p->frozen[block];
}

/* mean of the products, each divided by its block's rho (m^2/s^2), at (x, z, psi) + alpha (dx, dz, dpsi) */
static double mean_product(const tg_interior *p, double alpha)
{
    double sum = 0;
    int count = 0;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row;
        if (cone->kind == TG_CONE_FREE || is_frozen(p, b))
            continue;
        double x = p->x[row] + alpha * p->dx[row], z = p->z[row] + alpha * p->dz[row];
        double psi = p->psi[row] + alpha * p->dpsi[row];
        if (cone->kind == TG_CONE_BOX)
        {
            sum += ((cone->bound - x) * z + (cone->bound + x) * psi) / p->weight[row];
            count += 2;
            continue;
        }
        sum += x * z / p->weight[row];
        count++;
        if (cone->dim == 1)
            continue;
        sum += x * psi / p->weight[row];
        count++;
        for (int i = row + 1; i < row + cone->dim; i++)
            sum += (p->x[i] + alpha * p->dx[i]) * (p->z[i] + alpha * p->dz[i]) / p->weight[row];
    }
    return count > 0 ? sum / count : 0;
}

/* ---- right-hand sides and what follows from dx ---- */

/* share of a product that the path started from */
static double goal(const tg_interior *p, const double *product, int row)
{
    return product != NULL ? p->share * product[row] : 0;
}

/* products r1, r2, r3 of a contact; r3 has dim - 1 entries */
TG_INLINE void products(const tg_interior *p, int dim, int row, double *r1, double *r2, double *r3)
{
    const double *x = p->x + row, *z = p->z + row, *dx = p->dx + row, *dz = p->dz + row;
    double psi = p->psi[row], dpsi = p->dpsi[row], c = p->second, own = p->tangent ? 0 : 1;
    double target = p->target * p->weight[row], along = x[0] * psi, moved = dx[0] * dpsi;
    *r1 = target + goal(p, p->goal, row) - own * x[0] * z[0] - c * dx[0] * dz[0];
    for (int i = 1; i < dim; i++)
    {
        along += x[i] * z[i];
        moved += dx[i] * dz[i];
        r3[i - 1] = goal(p, p->goal, row + i) - own * (x[0] * z[i] + psi * x[i]) - c * (dx[0] * dz[i] + dpsi * dx[i]);
    }
    *r2 = target + goal(p, p->goal_psi, row) - own * along - c * moved;
}

TG_INLINE void rhs_contact(const tg_interior *p, int dim, int row, double *rhs)
{
    double share = 1 / p->x[row], r1, r2, r3[TG_CONE_MAX], t[TG_CONE_MAX], along = 0;
    products(p, dim, row, &r1, &r2, r3);
    rhs[row] = r1 * share - p->r[row];
    for (int i = 1; i < dim; i++)
    {
        t[i] = p->x[row + i] * share;
        along += t[i] * p->r[row + i];
    }
    for (int i = 1; i < dim; i++)
        rhs[row + i] = (r3[i - 1] - t[i] * r2) * share - p->r[row + i] + t[i] * along;
}

static void box_products(const tg_interior *p, const tg_cone *cone, double *rz, double *ry)
{
    int i = cone->row;
    double target = p->target * p->weight[i], own = p->tangent ? 0 : 1;
    *rz = target + goal(p, p->goal, i) - own * (cone->bound - p->x[i]) * p->z[i] + p->second * p->dx[i] * p->dz[i];
    *ry = target + goal(p, p->goal_psi, i) - own * (cone->bound + p->x[i]) * p->psi[i] -
          p->second * p->dx[i] * p->dpsi[i];
}

static void right_hand_side(const tg_interior *p, double *rhs)
{
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row;
        rhs[row] = -p->r[row];
        if (cone->kind == TG_CONE_UNIT && cone->dim == DIM)
            rhs_contact(p, DIM, row, rhs);
        else if (cone->kind == TG_CONE_UNIT)
            rhs_contact(p, cone->dim, row, rhs);
        else if (cone->kind == TG_CONE_BOX)
        {
            double rz, ry;
            box_products(p, cone, &rz, &ry);
            rhs[row] += ry / (cone->bound + p->x[row]) - rz / (cone->bound - p->x[row]);
        }
    }
}

TG_INLINE void contact_slacks(tg_interior *p, int dim, int row, bool frozen, const double *dx)
{
    double r1, r2, r3[TG_CONE_MAX], along = p->psi[row] * dx[row];
    products(p, dim, row, &r1, &r2, r3);
    p->dz[row] = p->Gdx[row] + p->r[row];
    for (int i = row + 1; i < row + dim; i++)
    {
        p->dz[i] = p->Gdx[i] + p->r[i];
        along += p->z[i] * dx[i] + p->x[i] * p->dz[i];
    }
    p->dpsi[row] = frozen ? 0 : (r2 - along) / p->x[row];
}

static void box_slacks(tg_interior *p, const tg_cone *cone, const double *dx)
{
    double rz, ry;
    int i = cone->row;
    box_products(p, cone, &rz, &ry);
    p->dz[i] = (rz + p->z[i] * dx[i]) / (cone->bound - p->x[i]);
    p->dpsi[i] = (ry - p->psi[i] * dx[i]) / (cone->bound + p->x[i]);
}

static void back_substitute(tg_interior *p, const double *dx)
{
    p->system->product(p, dx, p->Gdx);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        if (cone->kind == TG_CONE_UNIT && cone->dim == DIM)
            contact_slacks(p, DIM, cone->row, is_frozen(p, b), dx);
        else if (cone->kind == TG_CONE_UNIT)
            contact_slacks(p, cone->dim, cone->row, is_frozen(p, b), dx);
        else if (cone->kind == TG_CONE_BOX)
            box_slacks(p, cone, dx);
    }
    memcpy(p->dx, dx, (size_t)p->cones->rows * sizeof *dx);
}

/* ---- step length ---- */

static double step_positive(double y, double dy)
{
    return dy < 0 ? -y / dy : INFINITY;
}

/* the first alpha > 0 at which (n, t) + alpha (dn, dt) leaves |t| <= n */
TG_INLINE double step_cone(int m, double n, const double *t, double dn, const double *dt)
{
    double a = dn * dn - tg_dot(m, dt, dt), b = n * dn - tg_dot(m, t, dt);
    double tangent = sqrt(tg_dot(m, t, t)), c = (n - tangent) * (n + tangent);
    double discriminant = b * b - a * c;
    double first = step_positive(n, dn);
    if (a < 0 || (b < 0 && discriminant >= 0))
        first = tg_smaller(first, c / (-b + sqrt(tg_larger(discriminant, 0))));
    return first;
}

/* of one block; m: its tangents */
TG_INLINE double longest_of(const tg_interior *p, const tg_cone *cone, int m)
{
    int row = cone->row;
    double alpha = step_positive(p->z[row], p->dz[row]);
    if (cone->kind == TG_CONE_BOX)
    {
        alpha = tg_smaller(alpha, step_positive(p->psi[row], p->dpsi[row]));
        alpha = tg_smaller(alpha, step_positive(cone->bound - p->x[row], -p->dx[row]));
        return tg_smaller(alpha, step_positive(cone->bound + p->x[row], p->dx[row]));
    }
    alpha = tg_smaller(alpha, step_cone(m, p->x[row], p->x + row + 1, p->dx[row], p->dx + row + 1));
    if (m > 0)
        alpha = tg_smaller(alpha, step_cone(m, p->psi[row], p->z + row + 1, p->dpsi[row], p->dz + row + 1));
    return alpha;
}

static double longest_step(const tg_interior *p, const tg_cone *cone)
{
    return cone->dim == DIM ? longest_of(p, cone, DIM - 1) : longest_of(p, cone, cone->dim - 1);
}

double tg_interior_longest(const tg_interior *p)
{
    double alpha = INFINITY;
    for (int b = 0; b < p->cones->blocks; b++)
        if (p->cones->block[b].kind != TG_CONE_FREE && !is_frozen(p, b))
            alpha = tg_smaller(alpha, longest_step(p, &p->cones->block[b]));
    return alpha;
}

/* the contact that allows the shortest step is frozen; false when there is none */
static bool freeze_shortest(tg_interior *p)
{
    double least = INFINITY;
    int worst = -1;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        if (cone->kind != TG_CONE_UNIT || p->frozen[b])
            continue;
        double alpha = longest_step(p, cone);
        if (alpha < least)
        {
            least = alpha;
            worst = b;
        }
    }
    if (worst < 0)
        return false;
    p->frozen[worst] = true;
    p->nfrozen++;
    return true;
}

/* ---- iterations ---- */

void tg_interior_direction(tg_interior *p)
{
    right_hand_side(p, p->rhs);
    p->system->solve(p, p->rhs);
    back_substitute(p, p->rhs);
}

static double step_of(const tg_interior *p, double fraction)
{
    return tg_smaller(1, fraction * tg_interior_longest(p));
}

/* Predictor and corrector; when these leave little room, a step towards the centre instead. Returns its length. */
static double direction(tg_interior *p)
{
    p->target = p->second = 0;
    tg_interior_direction(p);
    double affine = mean_product(p, step_of(p, 1));
    double share = p->kappa > 0 ? tg_smaller(tg_larger(affine / p->kappa, 0), 1) : 0;
    double cube = share * share * share;
    p->target = tg_larger(cube, 1e-8) * p->kappa;
    p->second = 1;
    tg_interior_direction(p);
    double alpha = step_of(p, tg_smaller(tg_larger(0.95, 1 - 10 * cube), 0.9995));
    if (alpha >= shortest_step)
        return alpha;
    p->target = 0.8 * p->kappa;
    p->second = 0;
    tg_interior_direction(p);
    return step_of(p, 0.9);
}

void tg_interior_move(tg_interior *p, double alpha)
{
    for (int i = 0; i < p->cones->rows; i++)
    {
        p->x[i] += alpha * p->dx[i];
        p->z[i] += alpha * p->dz[i];
        p->psi[i] += alpha * p->dpsi[i];
    }
}

static bool is_at_end(const tg_interior *p, double aim)
{
    return p->kappa <= end * aim * p->cones->velocity;
}

/* one iteration; the length of its step, 0 when the matrix is singular */
static double iterate(tg_interior *p, double aim)
{
    if (!p->system->factor(p))
        return 0;
    double alpha = direction(p);
    bool freezes = p->frozen != NULL && !is_at_end(p, aim); /* there degenerate contacts shorten steps */
    for (int k = 0; freezes && k < FREEZE_AT_ONCE && alpha < shortest_step; k++)
    {
        if (p->nfrozen == MOST_FROZEN || !freeze_shortest(p) || !p->system->factor(p))
            return 0;
        alpha = direction(p);
    }
    tg_interior_move(p, alpha);
    return alpha;
}

double tg_interior_note(tg_interior *p, double best)
{
    double here = p->system->residual(p, p->x);
    if (!(here < best))
        return best;
    memcpy(p->best, p->x, (size_t)p->cones->rows * sizeof *p->best);
    return here;
}

double tg_interior_iterate(tg_interior *p, double best, double aim)
{
    int idle = 0, brief = 0; /* iterations since the residual last fell by a tenth; since the last good step */
    for (int k = 0; k < p->max_steps && idle < MOST_IDLE && brief < MOST_SHORT; k++)
    {
        p->kappa = mean_product(p, 0);
        tg_interior_infeasibility(p);
        p->steps++;
        double alpha = iterate(p, aim);
        if (!(alpha > 1e-10))
            break;
        brief = alpha < shortest_step ? brief + 1 : 0;
        double before = best;
        best = tg_interior_note(p, best);
        idle = best < 0.9 * before ? 0 : idle + 1;
        if (best <= aim || (p->nfrozen > 0 && is_at_end(p, aim)))
            break;
    }
    return best;
}

/* Where one path goes to infinity, or on and on, another arrives. Each starts nearer to the best point. */
static double follow_others(tg_interior *p, double best, double aim, double tolerance)
{
    double v = p->cones->velocity;
    for (int k = 0; k < NEAR_STARTS && best > tolerance && best < p->cones->velocity; k++)
    {
        v *= sqrt(nearer);
        tg_interior_near(p, p->best, v);
        best = tg_interior_path(p, best, aim, tolerance);
    }
    return best;
}

double tg_interior_solve(tg_interior *p, double aim, double tolerance)
{
    double v = p->cones->velocity;
    start_cold(p);
    double best = tg_interior_iterate(p, INFINITY, aim);
    if (best > tolerance && p->max_path > 0)
    {
        start_cold(p);
        best = tg_interior_path(p, best, aim, tolerance);
    }
    for (int k = 0; k < NEAR_STARTS && best > tolerance && best < v && !p->diverged; k++)
    {
        v *= nearer;
        tg_interior_near(p, p->best, v);
        best = tg_interior_iterate(p, best, aim);
    }
    return p->others ? follow_others(p, best, aim, tolerance) : best;
}
