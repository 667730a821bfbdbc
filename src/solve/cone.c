/* Scaling to unit cones, projection, and the exact solution of one block.
 *
 * One contact alone, s = G x + c with c_N < 0: eliminate x_N by s_N = 0,
 *     S = G_TT - G_TN G_NT / G_NN,   b = c_T - G_TN c_N / G_NN,   s_T = S x_T + b.
 * Maximum dissipation says s_T = -alpha x_T, alpha = |s_T| / x_N >= 0, so
 *     x_T(alpha) = -(S + alpha I)^-1 b,   x_N(alpha) = -(c_N + G_NT x_T) / G_NN,
 * and it sticks when |x_T(0)| <= x_N(0); otherwise a root of h = |x_T| - x_N exists in (0, inf), because h(0) > 0 and
 * h(inf) = c_N / G_NN < 0. Newton on 1/|x_T| - 1/x_N (nearly linear, as in trust-region methods) inside a bracket. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/cone.h"
#include "solve/tolerance.h"

enum
{
    TANGENT_MAX = TG_CONE_MAX - 1,
    ROOT_STEPS = 60
};

static const double root_rounding = 4e-16; /* of |x_T|, and of alpha */
static const double nearly = 1e-2;         /* of |x_T|: the next sweep changes it by more */

/* ---- scaling ---- */

bool tg_cones_take(tg_cones *cones, int rows, tg_arena *scratch)
{
    cones->ld = v4_pad(rows);
    cones->block = TG_TAKE(scratch, tg_cone, rows, "contact: blocks");
    cones->source = TG_TAKE(scratch, int, rows, "contact: rows");
    size_t ld = (size_t)cones->ld;
    double *numbers = TG_TAKE(scratch, double, ((size_t)rows + 1) * ld + 2 * ld, "contact: scaled problem");
    if (scratch->failed || numbers == NULL) /* no room, or it is only counted */
        return !scratch->failed;
    cones->G = numbers;
    cones->g = numbers + (size_t)rows * ld;
    cones->scale = cones->g + ld;
    cones->least = cones->scale + ld;
    return true;
}

static void add_row(tg_cones *cones, int source, double scale)
{
    cones->source[cones->rows] = source;
    cones->scale[cones->rows] = scale;
    cones->least[cones->rows] = 0;
    cones->rows++;
}

static void add_block(tg_cones *cones, tg_cone_kind kind, int row, int of, double bound)
{
    cones->block[cones->blocks++] =
        (tg_cone){.kind = kind, .row = row, .dim = cones->rows - row, .of = of, .bound = bound, .rho_n = 0, .rho_t = 0};
}

double tg_fixed_size(const tg_island *island)
{
    double largest = 0;
    for (int i = 0; i < island->rows; i++)
        largest = tg_larger(largest, island->G[(size_t)i * (size_t)(island->ldg + 1)]);
    return TG_FIXED * largest;
}

static void find_rounding(tg_cones *cones, const tg_island *island)
{
    double velocity = 0;
    for (int i = 0; i < island->rows; i++)
        velocity = tg_larger(velocity, fabs(island->g[i]));
    cones->fixed = tg_fixed_size(island);
    cones->idle = TG_IDLE * velocity;
}

static bool is_fixed(const tg_cones *cones, const tg_island *island, int row)
{
    return !(island->G[(size_t)row * (size_t)(island->ldg + 1)] > cones->fixed);
}

/* a row that nothing can move and that does not move: any impulse does, so none */
static bool is_idle(const tg_cones *cones, const tg_island *island, int row)
{
    return is_fixed(cones, island, row) && fabs(island->g[row]) <= cones->idle;
}

static void add_contact(tg_cones *cones, const tg_island *island, int of)
{
    const tg_block *block = &island->block[of];
    int first = cones->rows;
    if (is_fixed(cones, island, block->row))
        return;
    add_row(cones, block->row, 1);
    for (int i = 1; block->kind == TG_BLOCK_CONTACT && i < block->rows; i++)
        if (block->mu[i - 1] > 0 && !is_idle(cones, island, block->row + i))
            add_row(cones, block->row + i, block->mu[i - 1]);
    add_block(cones, TG_CONE_UNIT, first, of, 0);
    cones->block[cones->blocks - 1].parted = block->parted;
}

double tg_row_size(const tg_island *island, const tg_block *block, int i)
{
    double largest = 0;
    int together = block->kind == TG_BLOCK_EQUALITY ? tg_rows_together(block->rows) : 1,
        first = block->row + i - i % together;
    for (int k = first; k < first + together; k++)
        largest = tg_larger(largest, island->G[(size_t)k * (size_t)(island->ldg + 1)]);
    return largest;
}

static void add_rows(tg_cones *cones, const tg_island *island, int of)
{
    const tg_block *block = &island->block[of];
    bool box = block->kind == TG_BLOCK_FRICTION;
    for (int i = 0; i < block->rows; i++)
    {
        if (is_fixed(cones, island, block->row + i) || (box && block->bound == 0))
            continue;
        add_row(cones, block->row + i, 1);
        cones->least[cones->rows - 1] = box ? 0 : tg_row_size(island, block, i);
        add_block(cones, box ? TG_CONE_BOX : TG_CONE_FREE, cones->rows - 1, of, box ? block->bound : 0);
    }
}

/* Gs = S G S, gs = S g */
static void scale_matrix(tg_cones *cones, const tg_island *island)
{
    cones->velocity = 0;
    const bool whole = cones->rows == island->rows;
    for (int i = 0; i < cones->rows; i++)
    {
        const double *from = island->G + (size_t)cones->source[i] * (size_t)island->ldg;
        double *to = cones->G + (size_t)i * (size_t)cones->ld, factor = cones->scale[i];
        if (whole)
            for (int j = 0; j < cones->rows; j++)
                to[j] = factor * from[j] * cones->scale[j];
        else
            for (int j = 0; j < cones->rows; j++)
                to[j] = factor * from[cones->source[j]] * cones->scale[j];
        for (int j = cones->rows; j < cones->ld; j++)
            to[j] = 0;
        cones->g[i] = factor * island->g[cones->source[i]];
        cones->velocity = tg_larger(cones->velocity, fabs(island->g[cones->source[i]]));
    }
}

static void step_sizes(const tg_cones *cones, tg_cone *block)
{
    const double *diagonal = cones->G + (size_t)block->row * (size_t)cones->ld + (size_t)block->row;
    double trace = 0;
    for (int i = 1; i < block->dim; i++)
        trace += diagonal[(size_t)i * (size_t)(cones->ld + 1)];
    block->rho_n = 1 / diagonal[0];
    block->rho_t = trace > 0 ? (block->dim - 1) / trace : block->rho_n;
}

void tg_cones_build(tg_cones *cones, const tg_island *island, const bool *left_out)
{
    cones->rows = cones->blocks = 0;
    cones->velocity = 0;
    find_rounding(cones, island);
    for (int b = 0; b < island->blocks; b++)
        if (left_out != NULL && left_out[b])
            continue;
        else if (island->block[b].kind == TG_BLOCK_CONTACT || island->block[b].kind == TG_BLOCK_LIMIT)
            add_contact(cones, island, b);
        else
            add_rows(cones, island, b);
    tg_cones_scale(cones, island);
}

void tg_cones_scale(tg_cones *cones, const tg_island *island)
{
    scale_matrix(cones, island);
    for (int b = 0; b < cones->blocks; b++)
        step_sizes(cones, &cones->block[b]);
}

void tg_cones_gather(const tg_cones *cones, const double *L, double *x)
{
    for (int i = 0; i < cones->rows; i++)
        x[i] = L[cones->source[i]] / cones->scale[i];
}

void tg_cones_scatter(const tg_cones *cones, const double *x, int rows, double *L)
{
    memset(L, 0, (size_t)rows * sizeof *L);
    for (int i = 0; i < cones->rows; i++)
        L[cones->source[i]] = cones->scale[i] * x[i];
}

void tg_cones_velocity(const tg_cones *cones, const double *x, double *s)
{
    int n = cones->rows, c = 0;
    for (; c + 2 * V4_LANES <= cones->ld; c += 2 * V4_LANES) /* G is symmetric, and zero where its rows are padded */
    {
        v4 low = v4_zero(), high = v4_zero();
        const double *column = cones->G + c;
        TG_NO_UNROLL
        for (int i = 0; i < n; i++, column += cones->ld)
        {
            low += v4_splat(x[i]) * v4_load(column);
            high += v4_splat(x[i]) * v4_load(column + V4_LANES);
        }
        v4_store(s + c, low);
        v4_store(s + c + V4_LANES, high);
    }
    if (c < cones->ld)
    {
        v4 sum = v4_zero();
        for (int i = 0; i < n; i++)
            sum += v4_splat(x[i]) * v4_load(cones->G + (ptrdiff_t)i * cones->ld + c);
        v4_store(s + c, sum);
    }
    for (int i = 0; i < n; i++)
        s[i] += cones->g[i];
}

/* ---- the unit cone ---- */

double tg_cone_tangent(int d, const double *y)
{
    double sum = 0;
    for (int i = 1; i < d; i++)
        sum += y[i] * y[i];
    return sqrt(sum);
}

void tg_cone_project(int d, double *y)
{
    double tangent = tg_cone_tangent(d, y);
    if (tangent <= y[0])
        return;
    /* beyond the polar cone: the apex; otherwise the foot on the boundary ray */
    double normal = tangent <= -y[0] ? 0 : 0.5 * (y[0] + tangent);
    double factor = tangent > 0 ? normal / tangent : 0;
    y[0] = normal;
    for (int i = 1; i < d; i++)
        y[i] *= factor;
}

/* a reflection that takes the first axis to e */
void tg_cone_frame(int m, const double *e, double *R)
{
    if (m == 2)
    {
        R[0] = R[3] = e[0];
        R[1] = -e[1];
        R[2] = e[1];
        return;
    }
    double sign = e[0] > 0 ? -1 : 1, v[TG_CONE_MAX - 1] = {0};
    for (int i = 0; i < m; i++)
        v[i] = e[i];
    v[0] -= sign;
    double factor = 1 / (1 - sign * e[0]); /* 2 / |v|^2 */
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++)
            R[m * i + j] = ((i == j) - factor * v[i] * v[j]) * (j == 0 ? sign : 1);
}

/* ---- one block alone ---- */

typedef struct secular
{
    int m; /* d - 1 */
    double S[TANGENT_MAX * TANGENT_MAX], b[TANGENT_MAX];
    double diagonal[TANGENT_MAX]; /* of G_TT */
    double coupling[TANGENT_MAX]; /* G_NT / G_NN */
    double normal;                /* -c_N / G_NN */
    /* at the last alpha */
    double x[TANGENT_MAX];
    double size, x_n;   /* |x_T|, x_N */
    double d_size, d_n; /* their derivatives */
} secular;

static void secular_set(secular *f, int d, const double *G, int ld, const double *c)
{
    f->m = d - 1;
    f->normal = -c[0] / G[0];
    for (int i = 0; i < f->m; i++)
    {
        const double *row = G + (size_t)(i + 1) * (size_t)ld;
        f->coupling[i] = row[0] / G[0];
        f->diagonal[i] = row[i + 1];
        f->b[i] = c[i + 1] + row[0] * f->normal;
        for (int j = 0; j <= i; j++)
            f->S[f->m * i + j] = row[j + 1] - f->coupling[i] * G[j + 1];
    }
}

/* y <- (S + alpha I)^-1 y, from the factors C */
TG_INLINE void secular_solve(int m, const double *C, double *y)
{
    for (int i = 1; i < m; i++)
        for (int j = 0; j < i; j++)
            y[i] -= C[m * i + j] * y[j];
    for (int i = m - 1; i >= 0; i--)
    {
        y[i] *= C[m * i + i];
        for (int j = i + 1; j < m; j++)
            y[i] -= C[m * j + i] * y[j];
    }
}

/* S + alpha I = L D L^T: L below the diagonal, 1 / D on it, (L D)^T above. S is only semidefinite: a pivot below
 * rounding is replaced by it. */
TG_INLINE void secular_factor(int m, const double *S, const double *G_ii, double alpha, double *C)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j <= i; j++)
        {
            double sum = S[m * i + j] + (i == j ? alpha : 0);
            for (int k = 0; k < j; k++)
                sum -= C[m * i + k] * C[m * k + j];
            C[m * j + i] = i == j ? 1 / tg_larger(sum, 1e-13 * (G_ii[i] + alpha)) : sum;
            if (j < i)
                C[m * i + j] = sum * C[m * j + j];
        }
}

TG_INLINE void secular_of(secular *f, int m, double alpha)
{
    double C[TANGENT_MAX * TANGENT_MAX], dx[TANGENT_MAX];
    secular_factor(m, f->S, f->diagonal, alpha, C);
    for (int i = 0; i < m; i++)
        f->x[i] = -f->b[i];
    secular_solve(m, C, f->x);
    for (int i = 0; i < m; i++)
        dx[i] = -f->x[i];
    secular_solve(m, C, dx);
    double square = 0, product = 0;
    f->x_n = f->normal;
    f->d_n = 0;
    for (int i = 0; i < m; i++)
    {
        square += f->x[i] * f->x[i];
        product += f->x[i] * dx[i];
        f->x_n -= f->coupling[i] * f->x[i];
        f->d_n -= f->coupling[i] * dx[i];
    }
    f->size = sqrt(square);
    f->d_size = f->size > 0 ? product / f->size : 0;
}

static void secular_at(secular *f, double alpha)
{
    if (f->m == 2) /* loops of a length that the compiler knows */
        secular_of(f, 2, alpha);
    else if (f->m == TANGENT_MAX)
        secular_of(f, TANGENT_MAX, alpha);
    else
        secular_of(f, f->m, alpha);
}

/* The root of |x_T| - x_N above 0, where it is positive, to `tolerance` of |x_T|, from `alpha` (where f was evaluated).
 */
static double secular_root(secular *f, double scale, double alpha, double tolerance)
{
    double low = 0, high = INFINITY;
    for (int k = 0; k < ROOT_STEPS && !(fabs(f->size - f->x_n) <= tolerance * f->size); k++)
    {
        double next = -1;
        if (f->size > f->x_n)
            low = alpha;
        else
            high = alpha;
        if (high < INFINITY && high - low <= root_rounding * high)
            break;
        if (f->x_n > 0)
        {
            double value = 1 / f->size - 1 / f->x_n;
            double slope = f->d_n / (f->x_n * f->x_n) - f->d_size / (f->size * f->size);
            next = alpha - value / slope;
        }
        if (!(next > low && next < high))
            next = high < INFINITY ? 0.5 * (low + high) : tg_larger(10 * alpha, scale);
        alpha = next;
        secular_at(f, alpha);
    }
    return alpha;
}

/* start: alpha to begin with, then the one that was found; NULL: from nothing */
static void solve_contact(int d, const double *G, int ld, const double *c, double tolerance, double *start, double *x)
{
    double alpha = start != NULL ? *start : 0;
    memset(x, 0, (size_t)d * sizeof *x);
    if (start != NULL)
        *start = 0;
    if (c[0] >= 0)
        return;
    if (d == 1)
    {
        x[0] = -c[0] / G[0];
        return;
    }
    secular f;
    secular_set(&f, d, G, ld, c);
    double trace = 0;
    for (int i = 0; i < f.m; i++)
        trace += G[(size_t)(i + 1) * (size_t)(ld + 1)];
    if (trace == 0) /* nothing moves the tangents: it slides if they move at all */
        trace = f.diagonal[0] = G[0];
    secular_at(&f, 0);
    bool slides = f.size > f.x_n;
    if (slides && alpha > 0)
        secular_at(&f, alpha);
    if (slides)
        alpha = secular_root(&f, trace, alpha, tolerance);
    x[0] = tg_larger(f.x_n, 0);
    bool near = start != NULL && fabs(f.size - x[0]) <= tolerance * f.size;
    double factor = slides && f.size > 0 && !near ? x[0] / f.size : 1;
    for (int i = 0; i < f.m; i++)
        x[i + 1] = factor * f.x[i];
    if (start != NULL && slides)
        *start = alpha;
}

static void solve_other(const tg_cone *cone, const double *G, const double *c, double *x)
{
    x[0] = -c[0] / G[0];
    if (cone->kind == TG_CONE_BOX)
        x[0] = tg_smaller(tg_larger(x[0], -cone->bound), cone->bound);
}

void tg_cone_solve(const tg_cone *cone, const double *G, int ld, const double *c, double *x)
{
    if (cone->kind == TG_CONE_UNIT)
        solve_contact(cone->dim, G, ld, c, root_rounding, NULL, x);
    else
        solve_other(cone, G, c, x);
}

void tg_cone_nearly(const tg_cone *cone, const double *G, int ld, const double *c, double *alpha, double *x)
{
    if (cone->kind == TG_CONE_UNIT)
        solve_contact(cone->dim, G, ld, c, nearly, alpha, x);
    else
        solve_other(cone, G, c, x);
}

void tg_cones_sweep(const tg_cones *cones, double *x)
{
    for (int b = 0; b < cones->blocks; b++)
    {
        const tg_cone *cone = &cones->block[b];
        int row = cone->row, d = cone->dim;
        const double *G = cones->G + (size_t)row * (size_t)cones->ld;
        double c[TG_CONE_MAX] = {0};
        /* the velocity of the block with its own impulse taken away */
        for (int i = 0; i < d; i++)
            x[row + i] = 0;
        for (int i = 0; i < d; i++)
            c[i] = cones->g[row + i] + v4_dot_of(cones->rows, G + (size_t)i * (size_t)cones->ld, x);
        tg_cone_solve(cone, G + row, cones->ld, c, x + row);
    }
}
