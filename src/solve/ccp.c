/* The convex contact law: scaling, Newton's method on the natural map, the two phases (ccp.h). */
#include "solve/ccp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "math/dense.h"
#include "solve/ccp_interior.h"

/* Pivots below this part of their diagonal: the rows depend on each other, as far as impulses with half the digits can
 * tell. */
const double tg_ccp_redundant_pivot = 1e-9;
/* What a redundant problem adds to A, as a part of the least mean diagonal of a cone: velocities change by so much and
 * no more. */
static const double redundant_ridge = 1e-11;

/* How far above the rounding of one product a residual may stop: K has a condition of up to the inverse of
 * tg_ccp_redundant_pivot. */
static const double stalled = 1e3;

/* Diagonals are 1: steps along directions with eigenvalues above sqrt(proximal_term) are exact to 1e-4 and repeated. */
static const double proximal_term = 1e-8;
static const double certified = 1e-8; /* residual over the largest velocity: above it a problem counts as not solved */
static const double good = 1e-10;     /* the same: no better point is looked for */

enum
{
    NEWTON_COLD = 10,     /* active sets of a few contacts end within that; an interior point costs as much */
    NEWTON_POLISH = 6,    /* quadratic from an interior point's end */
    NEWTON_PROXIMAL = 30, /* linear, by 1e-4 or better where directions are either redundant or not */
};

bool tg_ccp_take(tg_ccp *c, int rows, tg_arena *arena)
{
    *c = (tg_ccp){.room = rows};
    c->unit = TG_TAKE(arena, tg_ccp_unit, rows, "ccp.unit");
    c->source = TG_TAKE(arena, int, rows, "ccp.source");
    c->tried = TG_TAKE(arena, tg_ccp_mode, rows, "ccp.tried");
    c->column = TG_TAKE(arena, int, rows, "ccp.column");
    for (int k = 0; k < 2; k++)
    {
        c->phase[k].f = TG_TAKE(arena, double, rows, "ccp.phase.f");
        c->phase[k].x = TG_TAKE(arena, double, rows, "ccp.phase.x");
        c->phase[k].s = TG_TAKE(arena, double, rows, "ccp.phase.s");
        c->phase[k].bound = TG_TAKE(arena, double, rows, "ccp.phase.bound");
        c->phase[k].mode = TG_TAKE(arena, tg_ccp_mode, rows, "ccp.phase.mode");
    }
    double **vectors[] = {&c->scale, &c->size, &c->f,      &c->sigma, &c->q, &c->y, &c->dx, &c->ds, &c->r,
                          &c->aux,   &c->eta,  &c->lambda, &c->wbar,  &c->w, &c->p, &c->dw, &c->dp, &c->scaled};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
        *vectors[i] = TG_TAKE(arena, double, rows, "ccp.vector");
    c->basis = TG_TAKE(arena, double, (size_t)rows *TG_CCP_ROWS, "ccp.basis");
    c->H = TG_TAKE(arena, double, (size_t)rows *(size_t)rows, "ccp.H");
    c->K = TG_TAKE(arena, double, (size_t)rows *(size_t)rows, "ccp.K");
    c->V = TG_TAKE(arena, double, (size_t)rows *(size_t)rows, "ccp.V");
    return !arena->failed;
}

/* ---- the unit problem ---- */

static double block_trace(const tg_ccp_problem *p, const tg_ccp_cone *cone)
{
    double trace = p->G[cone->row * (p->ldg + 1)] + p->eps;
    for (int i = 1; i < cone->rows; i++)
        trace += cone->mu[i - 1] * cone->mu[i - 1] * (p->G[(cone->row + i) * (p->ldg + 1)] + p->eps);
    return trace;
}

/* Rows with friction, and the scale with which the blocks of H have a mean diagonal of 1. A cone that nothing can move,
 * to rounding, has no rows. */
static void make_units(tg_ccp *c, const tg_ccp_problem *p)
{
    double largest = 0, least = INFINITY;
    for (int i = 0; i < p->cones; i++)
        largest = fmax(largest, block_trace(p, &p->cone[i]));
    c->rows = p->rows;
    c->cones = p->cones;
    c->units = 0;
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_cone *cone = &p->cone[i];
        double trace = block_trace(p, cone);
        tg_ccp_unit *unit = &c->unit[i];
        *unit = (tg_ccp_unit){.row = c->units};
        if (!(trace > DBL_EPSILON * largest))
            continue;
        for (int k = 0; k < cone->rows; k++)
            if (k == 0 || cone->mu[k - 1] > 0)
            {
                c->source[c->units] = cone->row + k;
                c->scale[c->units++] = k == 0 ? 1 : cone->mu[k - 1];
                unit->dim++;
            }
        c->size[i] = sqrt(unit->dim / trace);
        least = fmin(least, trace / unit->dim);
        for (int k = 0; k < unit->dim; k++)
            c->scale[unit->row + k] *= c->size[i];
    }
    c->ridge = c->units > 0 ? redundant_ridge * least : 0;
}

/* Makes the largest |q| 1: x and s are then numbers near 1 in every unit of mass, length and time. */
static bool scale_speed(tg_ccp *c, const tg_ccp_problem *p)
{
    double speed = 0;
    for (int i = 0; i < c->units; i++)
    {
        int row = c->source[i];
        double g = fabs(p->g[row]), target = p->target != NULL ? fabs(p->target[row]) : 0;
        double larger = c->scale[i] * (g > target ? g : target);
        speed = larger > speed ? larger : speed;
    }
    c->speed = speed;
    for (int i = 0; i < c->units; i++)
        c->scale[i] *= speed;
    for (int i = 0; i < c->cones; i++)
        c->size[i] *= speed;
    return speed > 0;
}

void tg_ccp_scale(tg_ccp *c, const tg_ccp_problem *p, double eps)
{
    int n = c->units;
    double inverse = 1 / (c->speed * c->speed);
    for (int i = 0; i < n; i++)
    {
        const double *G = p->G + c->source[i] * p->ldg;
        double a = c->scale[i] * inverse;
        for (int j = 0; j < n; j++)
            c->H[i * n + j] = a * G[c->source[j]] * c->scale[j];
        c->H[i * n + i] += a * eps * c->scale[i];
    }
}

static void scale_velocity(tg_ccp *c, const double *g)
{
    for (int i = 0; i < c->units; i++)
        c->q[i] = c->scale[i] * g[c->source[i]] / (c->speed * c->speed);
}

static void velocity(const tg_ccp *c, const double *x, double *s)
{
    int n = c->units;
    for (int i = 0; i < n; i++)
    {
        double sum = c->q[i];
        for (int j = 0; j < n; j++)
            sum += c->H[i * n + j] * x[j];
        s[i] = sum;
    }
}

/* ---- the natural map ---- */

static double length(int n, const double *v)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += v[i] * v[i];
    return sqrt(sum);
}

/* y <- its nearest point of { |x_t| <= x_n, x_n >= bound }; which part of the set that is. */
static tg_ccp_mode project(int d, double bound, double *y)
{
    double t = length(d - 1, y + 1), n = y[0];
    tg_ccp_mode mode = {.normal = TG_CCP_CLOSED, .slides = d > 1 && t > fabs(n)};
    double factor = 1;
    if (mode.slides)
        n = 0.5 * (n + t);
    else if (d == 1 ? n <= 0 : t <= -n)
        mode = (tg_ccp_mode){.normal = TG_CCP_OPEN}, n = 0;
    if (bound > 0 && n < bound)
    {
        mode = (tg_ccp_mode){.normal = TG_CCP_CLAMPED, .slides = d > 1 && t > bound};
        n = bound;
    }
    if (mode.normal == TG_CCP_OPEN)
        factor = 0;
    else if (mode.slides)
        factor = n / t;
    y[0] = n;
    for (int i = 1; i < d; i++)
        y[i] *= factor;
    return mode;
}

/* y = P(x - s) with its modes; the largest |x - y| */
static double natural_map(tg_ccp *c, const tg_ccp_phase *phase, const double *x, const double *s, double *y,
                          tg_ccp_mode *mode)
{
    double residual = 0;
    for (int i = 0; i < c->cones; i++)
    {
        int row = c->unit[i].row, dim = c->unit[i].dim;
        mode[i] = (tg_ccp_mode){.normal = TG_CCP_OPEN};
        if (dim == 0)
            continue;
        for (int k = row; k < row + dim; k++)
            y[k] = x[k] - s[k];
        mode[i] = project(dim, phase->bound[i], y + row);
        for (int k = row; k < row + dim; k++)
            residual = isnan(x[k] - y[k]) ? INFINITY : fmax(residual, fabs(x[k] - y[k]));
    }
    return residual;
}

/* ---- directions within the modes ---- */

/* Unit vectors that with u (m entries) are an orthonormal basis: Householder's reflection of u on an axis, without that
 * axis. */
static int complement(int m, const double *u, double *columns, int stride)
{
    double v[TG_CCP_ROWS], sign = u[0] < 0 ? -1 : 1;
    memcpy(v, u, sizeof *v * (size_t)m);
    v[0] += sign;
    for (int j = 1; j < m; j++)
        for (int i = 0; i < m; i++)
            columns[(j - 1) * stride + i] = (i == j) - v[i] * v[j] / (sign * v[0]);
    return m - 1;
}

/* Directions of one cone and their curvature: closed and sticking all rows, sliding (1, u) and what turns u, clamped
 * the same without n. */
static int cone_directions(const tg_ccp_unit *unit, tg_ccp_mode mode, const double *x, const double *s, double *column,
                           double *curvature)
{
    int d = unit->dim, count = 0, first = mode.normal == TG_CCP_CLAMPED ? 1 : 0;
    if (mode.normal == TG_CCP_OPEN || d == 0)
        return 0;
    memset(column, 0, sizeof *column * TG_CCP_ROWS * (size_t)d);
    if (!mode.slides)
    {
        for (int k = first; k < d; k++, count++)
            column[count * TG_CCP_ROWS + k] = 1, curvature[count] = 0;
        return count;
    }
    double u[TG_CCP_ROWS], t = length(d - 1, x + 1), b = 0;
    for (int k = 1; k < d; k++)
    {
        u[k - 1] = x[k] / t;
        b -= u[k - 1] * s[k];
    }
    if (first == 0)
    {
        column[0] = 1;
        memcpy(column + 1, u, sizeof *u * (size_t)(d - 1));
        curvature[count++] = 0;
    }
    int turns = complement(d - 1, u, column + count * TG_CCP_ROWS + 1, TG_CCP_ROWS);
    for (int k = 0; k < turns; k++)
        curvature[count++] = fmax(b, 0) / t;
    return count;
}

int tg_ccp_reduce(tg_ccp *c, const tg_ccp_phase *phase)
{
    int n = 0, units = c->units;
    double *curvature = c->aux;
    for (int i = 0; i < c->cones; i++)
    {
        int row = c->unit[i].row;
        int count = cone_directions(&c->unit[i], phase->mode[i], phase->x + row, phase->s + row,
                                    c->basis + (size_t)n * TG_CCP_ROWS, curvature + n);
        for (int k = 0; k < count; k++)
            c->column[n + k] = i;
        n += count;
    }
    for (int a = 0; a < n; a++)
    {
        const tg_ccp_unit *ua = &c->unit[c->column[a]];
        const double *Na = c->basis + a * TG_CCP_ROWS;
        for (int b = 0; b <= a; b++)
        {
            const tg_ccp_unit *ub = &c->unit[c->column[b]];
            const double *Nb = c->basis + b * TG_CCP_ROWS;
            double sum = 0;
            for (int i = 0; i < ua->dim; i++)
                for (int j = 0; j < ub->dim; j++)
                    sum += Na[i] * c->H[(ua->row + i) * units + ub->row + j] * Nb[j];
            c->K[a * n + b] = sum;
        }
        c->K[a * n + a] += curvature[a];
    }
    return n;
}

bool tg_ccp_factor(tg_ccp *c, int n, bool redundant)
{
    for (int a = 0; a < n; a++)
        c->aux[a] = c->K[a * n + a];
    if (tg_chol(n, c->K, n) >= 0)
        return false;
    for (int a = 0; a < n && !redundant; a++)
    {
        double pivot = c->K[a * n + a];
        if (pivot * pivot < tg_ccp_redundant_pivot * c->aux[a])
            return false;
    }
    return true;
}

void tg_ccp_expand(const tg_ccp *c, int n, const double *z, double *x)
{
    for (int a = 0; a < n; a++)
    {
        const tg_ccp_unit *unit = &c->unit[c->column[a]];
        for (int i = 0; i < unit->dim; i++)
            x[unit->row + i] += c->basis[a * TG_CCP_ROWS + i] * z[a];
    }
}

void tg_ccp_gather(const tg_ccp *c, int n, const double *r, double *z)
{
    for (int a = 0; a < n; a++)
    {
        const tg_ccp_unit *unit = &c->unit[c->column[a]];
        z[a] = 0;
        for (int i = 0; i < unit->dim; i++)
            z[a] += c->basis[a * TG_CCP_ROWS + i] * r[unit->row + i];
    }
}

/* ---- Newton ---- */

typedef enum newton_end
{
    NEWTON_DONE,
    NEWTON_STUCK,    /* not at the residual that rounding allows */
    NEWTON_REDUNDANT /* K is singular */
} newton_end;

/* One step from y = P(x - s): solve for the point where s is in the dual face, within the modes; then back into the
 * cone along the rows of friction. With a proximal term the step has no part along which s does not change. */
static bool newton_step(tg_ccp *c, tg_ccp_phase *phase, double proximal)
{
    int units = c->units;
    memcpy(phase->x, c->y, sizeof *c->y * (size_t)units);
    velocity(c, phase->x, phase->s);
    int n = tg_ccp_reduce(c, phase);
    for (int a = 0; a < n; a++)
        c->K[a * n + a] += proximal;
    if (!tg_ccp_factor(c, n, phase->redundant))
        return false;
    tg_ccp_gather(c, n, phase->s, c->r);
    tg_chol_solve(n, c->K, n, 1, c->r, 1);
    for (int a = 0; a < n; a++)
        c->r[a] = -c->r[a];
    tg_ccp_expand(c, n, c->r, phase->x);
    for (int i = 0; i < c->cones; i++)
    {
        double *x = phase->x + c->unit[i].row, t;
        if (c->unit[i].dim == 0)
            continue;
        x[0] = fmax(x[0], phase->bound[i]);
        t = length(c->unit[i].dim - 1, x + 1);
        for (int k = 1; k < c->unit[i].dim && (phase->mode[i].slides ? t > 0 : t > x[0]); k++)
            x[k] *= x[0] / t;
    }
    return true;
}

static double rounding(const tg_ccp *c, const double *x)
{
    double largest = 1;
    for (int i = 0; i < c->units; i++)
        largest = fmax(largest, fabs(x[i]));
    return DBL_EPSILON * (2 + c->units) * largest;
}

static bool same_modes(const tg_ccp *c, const tg_ccp_mode *a, const tg_ccp_mode *b)
{
    for (int i = 0; i < c->cones; i++)
        if (a[i].normal != b[i].normal || a[i].slides != b[i].slides)
            return false;
    return true;
}

/* From phase->x. It ends with modes whose K was factored: only then is it known whether held rows depend on each other.
 * The best point met is left in x, with its s and modes. */
static newton_end newton(tg_ccp *c, tg_ccp_phase *phase, double proximal, int most)
{
    newton_end end = NEWTON_STUCK;
    double best = INFINITY;
    for (int i = 0; i < c->cones; i++)
        c->tried[i] = (tg_ccp_mode){.normal = TG_CCP_OPEN};
    for (int k = 0; k <= most; k++)
    {
        velocity(c, phase->x, phase->s);
        double residual = natural_map(c, phase, phase->x, phase->s, c->y, phase->mode);
        bool better = residual < best;
        if (better)
        {
            best = residual;
            memcpy(c->dx, phase->x, sizeof *c->dx * (size_t)c->units);
        }
        /* the last digits: a residual that no longer falls is what rounding leaves */
        double bar = rounding(c, phase->x);
        if (residual <= bar || (!better && best <= stalled * bar))
            end = NEWTON_DONE;
        if ((end == NEWTON_DONE && same_modes(c, phase->mode, c->tried)) || k == most)
            break;
        phase->newton++;
        memcpy(c->tried, phase->mode, sizeof *c->tried * (size_t)c->cones);
        if (!newton_step(c, phase, proximal))
        {
            end = NEWTON_REDUNDANT;
            break;
        }
    }
    memcpy(phase->x, c->dx, sizeof *c->dx * (size_t)c->units);
    velocity(c, phase->x, phase->s);
    phase->best = natural_map(c, phase, phase->x, phase->s, c->y, phase->mode);
    return end;
}

/* ---- a phase ---- */

/* x, s, modes and residual of a point, without the ridge */
static void judge(tg_ccp *c, const tg_ccp_problem *p, tg_ccp_phase *phase, const double *x)
{
    if (x != phase->x)
        memcpy(phase->x, x, sizeof *x * (size_t)c->units);
    tg_ccp_scale(c, p, p->eps);
    velocity(c, phase->x, phase->s);
    phase->best = natural_map(c, phase, phase->x, phase->s, c->y, phase->mode);
}

/* From an interior point's end: without the ridge; where held rows depend on each other, with it (least norm); where
 * that is on the boundary of other modes or changes velocities, to the nearest solution. The first that is good, or the
 * best. */
static void polish(tg_ccp *c, const tg_ccp_problem *p, tg_ccp_phase *phase)
{
    const struct
    {
        double ridge, proximal;
    } tries[] = {{0, 0}, {c->ridge, 0}, {0, proximal_term}};
    double *end = c->scaled, *kept = c->p;
    size_t size = sizeof *end * (size_t)c->units;
    memcpy(end, phase->x, size);
    memcpy(kept, end, size);
    judge(c, p, phase, end);
    double best = phase->best;
    for (int k = 0; k < 3; k++)
    {
        memcpy(phase->x, end, size);
        tg_ccp_scale(c, p, p->eps + tries[k].ridge);
        newton_end how = newton(c, phase, tries[k].proximal, tries[k].proximal > 0 ? NEWTON_PROXIMAL : NEWTON_POLISH);
        judge(c, p, phase, phase->x);
        if (phase->best < best)
        {
            best = phase->best;
            memcpy(kept, phase->x, size);
        }
        if (how == NEWTON_DONE && phase->best <= good)
            break;
        phase->redundant = phase->redundant || how == NEWTON_REDUNDANT;
    }
    judge(c, p, phase, phase->best <= good ? phase->x : kept);
}

static bool solve_phase(tg_ccp *c, const tg_ccp_problem *p, tg_ccp_phase *phase)
{
    bool ended = true;
    phase->newton = phase->interior = 0;
    phase->redundant = false;
    for (int i = 0; i < c->units; i++)
        phase->x[i] = 0;
    for (int i = 0; i < c->cones; i++)
        if (c->unit[i].dim > 0)
            phase->x[c->unit[i].row] = phase->bound[i];
    tg_ccp_scale(c, p, p->eps);
    if (newton(c, phase, 0, NEWTON_COLD) != NEWTON_DONE)
    {
        tg_ccp_scale(c, p, p->eps + c->ridge);
        tg_ccp_interior(c, phase);
        polish(c, p, phase);
        ended = phase->best <= certified;
    }
    phase->residual = 0;
    for (int i = 0; i < c->cones; i++)
        for (int k = c->unit[i].row; k < c->unit[i].row + c->unit[i].dim; k++)
            phase->residual = fmax(phase->residual, fabs(phase->x[k] - c->y[k]) * c->speed * c->speed / c->size[i]);
    memset(phase->f, 0, sizeof *phase->f * (size_t)c->rows);
    for (int i = 0; i < c->units; i++)
        phase->f[c->source[i]] = c->scale[i] * phase->x[i];
    return ended;
}

static void nothing(tg_ccp *c, tg_ccp_phase *phase)
{
    phase->newton = phase->interior = 0;
    phase->redundant = false;
    phase->residual = phase->best = 0;
    memset(phase->f, 0, sizeof *phase->f * (size_t)c->rows);
    memset(phase->x, 0, sizeof *phase->x * (size_t)c->units);
    memset(phase->s, 0, sizeof *phase->s * (size_t)c->units);
    for (int i = 0; i < c->cones; i++)
        phase->mode[i] = (tg_ccp_mode){.normal = TG_CCP_OPEN}, phase->bound[i] = 0;
}

static void add_product(const tg_ccp_problem *p, const double *f, double *v)
{
    for (int i = 0; i < p->rows; i++)
        for (int j = 0; j < p->rows; j++)
            v[i] += p->G[i * p->ldg + j] * f[j];
}

static tg_status check(const tg_ccp *c, const tg_ccp_problem *p, tg_error *error)
{
    if (p->rows > c->room)
        return tg_fail(error, TG_ERR_CAPACITY, "ccp: %d rows, room for %d", p->rows, c->room);
    if (!(p->eps >= 0) || isinf(p->eps))
        return tg_fail(error, TG_ERR_VALUE, "ccp: eps is %g, must be at least 0", p->eps);
    for (int i = 0; i < p->cones; i++)
    {
        const tg_ccp_cone *cone = &p->cone[i];
        if (!(cone->e >= 0) || isinf(cone->e))
            return tg_fail(error, TG_ERR_VALUE, "ccp: cone %d: e is %g, must be at least 0", i, cone->e);
        for (int k = 0; k + 1 < cone->rows; k++)
            if (!(cone->mu[k] >= 0) || isinf(cone->mu[k]))
                return tg_fail(error, TG_ERR_VALUE, "ccp: cone %d: mu[%d] is %g, must be at least 0", i, k,
                               cone->mu[k]);
    }
    for (int i = 0; i < p->rows; i++)
    {
        double sum = p->g[i] + (p->target != NULL ? p->target[i] : 0);
        for (int j = 0; j < p->rows; j++)
            sum += fabs(p->G[i * p->ldg + j]);
        if (!isfinite(sum))
            return tg_fail(error, TG_ERR_VALUE, "ccp: row %d of G, g or v* is not finite", i);
    }
    return TG_OK;
}

tg_status tg_ccp_solve(tg_ccp *c, const tg_ccp_problem *p, tg_error *error)
{
    TG_TRY(check(c, p, error));
    bool ended = true;
    make_units(c, p);
    bool moves = scale_speed(c, p);
    nothing(c, &c->phase[0]);
    nothing(c, &c->phase[1]);
    if (moves)
    {
        scale_velocity(c, p->g);
        ended = solve_phase(c, p, &c->phase[0]);
    }
    memcpy(c->sigma, p->g, sizeof *c->sigma * (size_t)p->rows);
    add_product(p, c->phase[0].f, c->sigma);
    if (moves && !p->compression)
    {
        for (int i = 0; i < p->rows; i++)
            c->f[i] = c->sigma[i] - (p->target != NULL ? p->target[i] : 0);
        for (int i = 0; i < p->cones; i++)
            if (c->unit[i].dim > 0)
                c->phase[1].bound[i] = fmax(p->cone[i].e * c->phase[0].x[c->unit[i].row], 0);
        scale_velocity(c, c->f);
        ended = solve_phase(c, p, &c->phase[1]) && ended;
        add_product(p, c->phase[1].f, c->sigma);
    }
    for (int i = 0; i < p->rows; i++)
        c->f[i] = c->phase[0].f[i] + c->phase[1].f[i];
    if (!ended)
        return tg_fail(error, TG_ERR_NUMERIC, "ccp: not solved; residual %.3g m/s",
                       fmax(c->phase[0].residual, c->phase[1].residual));
    return TG_OK;
}
