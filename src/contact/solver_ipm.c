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
 * k is the same for all blocks when it is divided by rho = 1 / G_NN: light and heavy bodies are centred alike.
 * One LU for predictor and corrector (Mehrotra), one step length for everything. */
#include <math.h>
#include <string.h>

#include "contact/interior.h"
#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

enum
{
    MOST_IDLE = 20
};

static const double shortest_step = 0.1; /* below: the iterate is badly centred */

void tg_interior_vectors(tg_interior *p, double *memory)
{
    size_t ld = (size_t)p->cones->ld;
    p->x = memory;
    p->z = memory + ld;
    p->psi = memory + 2 * ld;
    p->dx = memory + 3 * ld;
    p->dz = memory + 4 * ld;
    p->dpsi = memory + 5 * ld;
    p->r = memory + 6 * ld;
    p->Gdx = memory + 7 * ld;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
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
        if (cone->kind == TG_CONE_FREE)
            continue;
        p->z[cone->row] = p->psi[cone->row] = v;
        if (cone->kind == TG_CONE_UNIT)
            p->x[cone->row] = v * cone->rho_n;
    }
}

/* slacks that agree with x where they can */
static void agree(tg_interior *p)
{
    double v = p->cones->velocity;
    p->system->velocity(p, p->x, p->r);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        if (cone->kind != TG_CONE_UNIT)
            continue;
        memcpy(p->z + cone->row, p->r + cone->row, (size_t)cone->dim * sizeof *p->z);
        p->z[cone->row] = tg_larger(p->z[cone->row], v);
        p->psi[cone->row] = v + 1.5 * tg_cone_tangent(cone->dim, p->z + cone->row);
    }
}

/* The same impulse for all, as large as the heaviest body's times size, and slacks that agree with it where they can: a
 * light body under a heavy one must carry impulses that its own mass does not suggest. */
static void start_heavy(tg_interior *p, double size)
{
    double v = p->cones->velocity, most = 0;
    start_cold(p);
    for (int b = 0; b < p->cones->blocks; b++)
        most = tg_larger(most, p->cones->block[b].rho_n);
    for (int b = 0; b < p->cones->blocks; b++)
        if (p->cones->block[b].kind == TG_CONE_UNIT)
            p->x[p->cones->block[b].row] = size * v * most;
    agree(p);
}

/* r = G x + g - (what the slacks say) */
static void infeasibility(tg_interior *p)
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

/* mean of the products, each divided by its block's rho (m^2/s^2), at (x, z, psi) + alpha (dx, dz, dpsi) */
static double mean_product(const tg_interior *p, double alpha)
{
    double sum = 0;
    int count = 0;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row;
        if (cone->kind == TG_CONE_FREE)
            continue;
        double x = p->x[row] + alpha * p->dx[row], z = p->z[row] + alpha * p->dz[row];
        double psi = p->psi[row] + alpha * p->dpsi[row];
        if (cone->kind == TG_CONE_BOX)
        {
            sum += ((cone->bound - x) * z + (cone->bound + x) * psi) / cone->rho_n;
            count += 2;
            continue;
        }
        sum += x * z / cone->rho_n;
        count++;
        if (cone->dim == 1)
            continue;
        sum += x * psi / cone->rho_n;
        count++;
        for (int i = row + 1; i < row + cone->dim; i++)
            sum += (p->x[i] + alpha * p->dx[i]) * (p->z[i] + alpha * p->dz[i]) / cone->rho_n;
    }
    return count > 0 ? sum / count : 0;
}

/* ---- the linear system ---- */

static void matrix_contact(const tg_interior *p, const tg_cone *cone, double *A, int ld)
{
    int row = cone->row, m = cone->dim - 1;
    const double *x_t = p->x + row + 1, *eta = p->z + row + 1;
    double x_n = p->x[row], psi = p->psi[row], t[TG_CONE_MAX];
    A += (size_t)row * (size_t)ld;
    A[row] += p->z[row] / x_n;
    if (m == 0)
        return;
    A += ld;
    for (int i = 0; i < m; i++)
        t[i] = x_t[i] / x_n;
    for (int j = 0; j < p->cones->rows; j++)
    {
        double along = 0;
        for (int i = 0; i < m; i++)
            along += t[i] * A[i * ld + j];
        for (int i = 0; i < m; i++)
            A[i * ld + j] -= t[i] * along;
    }
    for (int i = 0; i < m; i++)
    {
        double *entry = A + i * ld + row;
        entry[0] += (eta[i] - psi * t[i]) / x_n;
        entry[1 + i] += psi / x_n;
        for (int j = 0; j < m; j++)
            entry[1 + j] -= t[i] * eta[j] / x_n;
    }
}

static void matrix(const tg_interior *p, double *A)
{
    const tg_cones *cones = p->cones;
    memcpy(A, cones->G, (size_t)cones->rows * (size_t)cones->ld * sizeof *A);
    for (int b = 0; b < cones->blocks; b++)
    {
        const tg_cone *cone = &cones->block[b];
        double *diagonal = A + (size_t)cone->row * (size_t)(cones->ld + 1);
        double x = p->x[cone->row];
        if (cone->kind == TG_CONE_UNIT)
            matrix_contact(p, cone, A, cones->ld);
        else if (cone->kind == TG_CONE_BOX)
            *diagonal += p->psi[cone->row] / (cone->bound + x) + p->z[cone->row] / (cone->bound - x);
        else
            *diagonal *= 1 + 1e-9; /* redundant equalities; centred at x, so it changes the path and not the end */
    }
}

/* ---- right-hand sides and what follows from dx ---- */

/* products r1, r2, r3 of a contact; r3 has dim - 1 entries */
static void products(const tg_interior *p, const tg_cone *cone, double *r1, double *r2, double *r3)
{
    int row = cone->row, m = cone->dim - 1;
    const double *x = p->x + row, *z = p->z + row, *dx = p->dx + row, *dz = p->dz + row;
    double psi = p->psi[row], dpsi = p->dpsi[row], c = p->second;
    double target = p->target * cone->rho_n;
    *r1 = target - x[0] * z[0] - c * dx[0] * dz[0];
    *r2 = target - x[0] * psi - dot(m, x + 1, z + 1) - c * (dx[0] * dpsi + dot(m, dx + 1, dz + 1));
    for (int i = 0; i < m; i++)
        r3[i] = -x[0] * z[1 + i] - psi * x[1 + i] - c * (dx[0] * dz[1 + i] + dpsi * dx[1 + i]);
}

static void rhs_contact(const tg_interior *p, const tg_cone *cone, double *rhs)
{
    int row = cone->row, m = cone->dim - 1;
    double x_n = p->x[row], r1, r2, r3[TG_CONE_MAX], t[TG_CONE_MAX];
    products(p, cone, &r1, &r2, r3);
    rhs[row] = r1 / x_n - p->r[row];
    for (int i = 0; i < m; i++)
        t[i] = p->x[row + 1 + i] / x_n;
    double along = dot(m, t, p->r + row + 1);
    for (int i = 0; i < m; i++)
        rhs[row + 1 + i] = (r3[i] - t[i] * r2) / x_n - p->r[row + 1 + i] + t[i] * along;
}

static void box_products(const tg_interior *p, const tg_cone *cone, double *rz, double *ry)
{
    int i = cone->row;
    double target = p->target * cone->rho_n;
    *rz = target - (cone->bound - p->x[i]) * p->z[i] + p->second * p->dx[i] * p->dz[i];
    *ry = target - (cone->bound + p->x[i]) * p->psi[i] - p->second * p->dx[i] * p->dpsi[i];
}

static void right_hand_side(const tg_interior *p, double *rhs)
{
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row;
        rhs[row] = -p->r[row];
        if (cone->kind == TG_CONE_UNIT)
            rhs_contact(p, cone, rhs);
        else if (cone->kind == TG_CONE_BOX)
        {
            double rz, ry;
            box_products(p, cone, &rz, &ry);
            rhs[row] += ry / (cone->bound + p->x[row]) - rz / (cone->bound - p->x[row]);
        }
    }
}

static void back_substitute(tg_interior *p, const double *dx)
{
    p->system->product(p, dx, p->Gdx);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row, m = cone->dim - 1;
        if (cone->kind == TG_CONE_UNIT)
        {
            double r1, r2, r3[TG_CONE_MAX];
            products(p, cone, &r1, &r2, r3);
            for (int i = row; i < row + cone->dim; i++)
                p->dz[i] = p->Gdx[i] + p->r[i];
            p->dpsi[row] = (r2 - p->psi[row] * dx[row] - dot(m, p->z + row + 1, dx + row + 1) -
                            dot(m, p->x + row + 1, p->dz + row + 1)) /
                           p->x[row];
        }
        else if (cone->kind == TG_CONE_BOX)
        {
            double rz, ry;
            box_products(p, cone, &rz, &ry);
            p->dz[row] = (rz + p->z[row] * dx[row]) / (cone->bound - p->x[row]);
            p->dpsi[row] = (ry - p->psi[row] * dx[row]) / (cone->bound + p->x[row]);
        }
    }
    memcpy(p->dx, dx, (size_t)p->cones->rows * sizeof *dx);
}

/* ---- step length ---- */

static double step_positive(double y, double dy)
{
    return dy < 0 ? -y / dy : INFINITY;
}

/* the first alpha > 0 at which (n, t) + alpha (dn, dt) leaves |t| <= n */
static double step_cone(int m, double n, const double *t, double dn, const double *dt)
{
    double a = dn * dn - dot(m, dt, dt), b = n * dn - dot(m, t, dt);
    double tangent = sqrt(dot(m, t, t)), c = (n - tangent) * (n + tangent);
    double discriminant = b * b - a * c;
    double first = step_positive(n, dn);
    if (a < 0 || (b < 0 && discriminant >= 0))
        first = tg_smaller(first, c / (-b + sqrt(tg_larger(discriminant, 0))));
    return first;
}

static double longest_step(const tg_interior *p)
{
    double alpha = INFINITY;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row, m = cone->dim - 1;
        if (cone->kind == TG_CONE_FREE)
            continue;
        alpha = tg_smaller(alpha, step_positive(p->z[row], p->dz[row]));
        if (cone->kind == TG_CONE_BOX)
        {
            alpha = tg_smaller(alpha, step_positive(p->psi[row], p->dpsi[row]));
            alpha = tg_smaller(alpha, step_positive(cone->bound - p->x[row], -p->dx[row]));
            alpha = tg_smaller(alpha, step_positive(cone->bound + p->x[row], p->dx[row]));
            continue;
        }
        alpha = tg_smaller(alpha, step_cone(m, p->x[row], p->x + row + 1, p->dx[row], p->dx + row + 1));
        if (m > 0)
            alpha = tg_smaller(alpha, step_cone(m, p->psi[row], p->z + row + 1, p->dpsi[row], p->dz + row + 1));
    }
    return alpha;
}

/* ---- iterations ---- */

static void solve_direction(tg_interior *p)
{
    right_hand_side(p, p->rhs);
    p->system->solve(p, p->rhs);
    back_substitute(p, p->rhs);
}

static double step_of(const tg_interior *p, double fraction)
{
    return tg_smaller(1, fraction * longest_step(p));
}

/* Predictor and corrector; when these leave little room, a step towards the centre instead. Returns its length. */
static double direction(tg_interior *p)
{
    p->target = p->second = 0;
    solve_direction(p);
    double affine = mean_product(p, step_of(p, 1));
    double share = p->kappa > 0 ? tg_smaller(tg_larger(affine / p->kappa, 0), 1) : 0;
    double cube = share * share * share;
    p->target = tg_larger(cube, 1e-8) * p->kappa;
    p->second = 1;
    solve_direction(p);
    double alpha = step_of(p, tg_smaller(tg_larger(0.95, 1 - 10 * cube), 0.9995));
    if (alpha >= shortest_step)
        return alpha;
    p->target = 0.8 * p->kappa;
    p->second = 0;
    solve_direction(p);
    return step_of(p, 0.9);
}

/* one iteration; false when the matrix is singular or no step is possible */
static bool iterate(tg_interior *p)
{
    if (!p->system->factor(p))
        return false;
    double alpha = direction(p);
    if (!(alpha > 1e-10))
        return false;
    for (int i = 0; i < p->cones->rows; i++)
    {
        p->x[i] += alpha * p->dx[i];
        p->z[i] += alpha * p->dz[i];
        p->psi[i] += alpha * p->dpsi[i];
    }
    return true;
}

/* iterations from where p is; returns the best residual so far, its x is in p->best */
static double run(tg_interior *p, double best, double aim)
{
    int idle = 0; /* iterations since the residual last fell by a tenth */
    for (int k = 0; k < p->max_steps && idle < MOST_IDLE; k++)
    {
        p->kappa = mean_product(p, 0);
        infeasibility(p);
        p->steps++;
        if (!iterate(p))
            break;
        double here = p->system->residual(p, p->x);
        idle = here < 0.9 * best ? 0 : idle + 1;
        if (here < best)
        {
            best = here;
            memcpy(p->best, p->x, (size_t)p->cones->rows * sizeof *p->best);
        }
        if (best <= aim || !isfinite(here))
            break;
    }
    return best;
}

double tg_interior_solve(tg_interior *p, double aim, double tolerance)
{
    start_cold(p);
    double best = run(p, INFINITY, aim);
    for (double size = 1; size < 200 && best > tolerance; size *= 100)
    {
        start_heavy(p, size);
        best = run(p, best, aim);
    }
    return best;
}

/* ---- with dense matrices ---- */

static void dense_velocity(const tg_interior *p, const double *x, double *s)
{
    tg_cones_velocity(p->cones, x, s);
}

static void dense_product(const tg_interior *p, const double *dx, double *out)
{
    int n = p->cones->rows;
    for (int i = 0; i < n; i++)
        out[i] = v4_dot_of(n, p->cones->G + (size_t)i * (size_t)p->cones->ld, dx);
}

static bool dense_factor(tg_interior *p)
{
    tg_solve_work *w = p->context;
    matrix(p, w->A);
    return tg_lu(p->cones->rows, w->A, p->cones->ld, w->pivot) < 0;
}

static void dense_solve(tg_interior *p, double *rhs)
{
    tg_solve_work *w = p->context;
    tg_lu_solve(p->cones->rows, w->A, p->cones->ld, w->pivot, 1, rhs, 1);
}

static double dense_residual(tg_interior *p, const double *x)
{
    tg_solve_work *w = p->context;
    tg_cones_velocity(p->cones, x, w->s);
    return tg_newton_residual(p->cones, x, w->s);
}

static const tg_interior_system dense = {dense_velocity, dense_product, dense_factor, dense_solve, dense_residual};

/* the normals of w->x, at least what the largest velocity asks of each alone; slacks that agree where they can */
static void start_from(tg_interior *p, const double *x)
{
    double v = p->cones->velocity;
    start_cold(p);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        if (cone->kind == TG_CONE_UNIT)
            p->x[cone->row] = tg_larger(2 * x[cone->row], v * cone->rho_n);
        else
            p->x[cone->row] = cone->kind == TG_CONE_FREE ? x[cone->row] : 0.5 * x[cone->row];
    }
    agree(p);
}

double tg_interior_from(tg_solve_work *w, double aim)
{
    tg_interior p = {.system = &dense,
                     .context = w,
                     .cones = &w->cones,
                     .rhs = w->rhs,
                     .best = w->best,
                     .max_steps = w->options->max_interior};
    tg_interior_vectors(&p, w->interior);
    start_from(&p, w->x);
    double best = run(&p, INFINITY, aim);
    w->interior_steps += p.steps;
    if (best < INFINITY)
        memcpy(w->x, w->best, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    return best;
}

double tg_interior_run(tg_solve_work *w, double aim)
{
    tg_interior p = {.system = &dense,
                     .context = w,
                     .cones = &w->cones,
                     .rhs = w->rhs,
                     .best = w->best,
                     .max_steps = w->options->max_interior};
    tg_interior_vectors(&p, w->interior);
    double best = tg_interior_solve(&p, aim, w->options->tolerance);
    w->interior_steps += p.steps;
    if (best < INFINITY)
        memcpy(w->x, w->best, (size_t)w->cones.rows * sizeof *w->x);
    tg_cones_velocity(&w->cones, w->x, w->s);
    return best;
}

void tg_solver_ipm(tg_solve_work *w)
{
    tg_interior_run(w, 1e-2 * w->options->tolerance);
    if (!tg_solve_accept(w) && w->options->select)
        tg_solve_compliant(w);
}
