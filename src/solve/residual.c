/* The residual of the unrelaxed law, recomputed from the problem.
 *
 * gamma = sigma + |S sigma_T| n is De Saxce's corrected velocity; the law is L in K, gamma in K*, L . gamma = 0 with
 * K = {sum_i (L_i / mu_i)^2 <= L_N^2}. All three parts are velocities, and bounds from above of the exact distances:
 *     primal           max_i G_ii |L_i - P_i|, P the nearer of two points of K: L with its tangent shortened to the
 *                      cone, and L projected in scaled variables
 *     dual             max(0, -sigma_N): how far gamma must be lifted along n to lie in K*
 *     complementarity  |L . gamma| / max(L_N, L_ref), L_ref = max |g| / mean G_ii
 * Limits are contacts without tangents. Equalities: |sigma|. Joint friction: the law is f |sigma| + L sigma = 0,
 * divided by f. */
#include <math.h>
#include <string.h>

#include "math/lanes.h"
#include "solve/cone.h"

typedef struct measure
{
    const tg_island *island;
    const double *diagonal; /* of G, every `step` numbers */
    ptrdiff_t step;
    const double *L, *sigma;
    double reference; /* L_ref */
    tg_residual out;
} measure;

static double diagonal(const measure *m, int row)
{
    return m->diagonal[row * m->step];
}

static double reference_impulse(const measure *m)
{
    double trace = 0, velocity = 0;
    for (int i = 0; i < m->island->rows; i++)
    {
        trace += diagonal(m, i);
        velocity = tg_larger(velocity, fabs(m->island->g[i]));
    }
    return trace > 0 ? velocity * m->island->rows / trace : 0;
}

static double scaled_size(const tg_block *block, const double *L)
{
    double sum = 0;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += (L[i] / block->mu[i - 1]) * (L[i] / block->mu[i - 1]);
    return sqrt(sum);
}

/* max_i G_ii |L_i - P_i| for P = (normal, factor L_T); rows without friction must carry nothing */
static double cone_distance(const measure *m, const tg_block *block, double normal, double factor)
{
    const double *L = m->L + block->row;
    double worst = diagonal(m, block->row) * fabs(L[0] - normal);
    for (int i = 1; i < block->rows; i++)
    {
        double keep = block->mu[i - 1] > 0 ? factor : 0;
        worst = tg_larger(worst, diagonal(m, block->row + i) * fabs(L[i] - keep * L[i]));
    }
    return worst;
}

static double cone_primal(const measure *m, const tg_block *block, double tangent)
{
    double normal = m->L[block->row];
    double foot = 0.5 * (normal + tangent);
    double shortened = tangent > tg_larger(normal, 0) ? tg_larger(normal, 0) / tangent : 1;
    double by_tangent = cone_distance(m, block, tg_larger(normal, 0), shortened);
    if (tangent <= normal || foot <= 0)
        return by_tangent;
    return tg_smaller(by_tangent, cone_distance(m, block, foot, foot / tangent));
}

static void measure_contact(measure *m, const tg_block *block)
{
    const double *L = m->L + block->row, *sigma = m->sigma + block->row;
    int rows = block->kind == TG_BLOCK_LIMIT ? 1 : block->rows;
    double slip = 0, work = L[0] * sigma[0];
    for (int i = 1; i < rows; i++)
    {
        slip += block->mu[i - 1] * block->mu[i - 1] * sigma[i] * sigma[i];
        work += L[i] * sigma[i];
    }
    work = fabs(work + L[0] * sqrt(slip));
    double tangent = rows > 1 ? scaled_size(block, L) : 0;
    double scale = tg_larger(fabs(L[0]), m->reference);
    m->out.primal = tg_larger(m->out.primal, cone_primal(m, block, tangent));
    m->out.dual = tg_larger(m->out.dual, -sigma[0]);
    m->out.complementarity = tg_larger(m->out.complementarity, scale > 0 ? work / scale : 0);
    m->out.work = tg_larger(m->out.work, work);
}

static void measure_equality(measure *m, const tg_block *block)
{
    for (int i = 0; i < block->rows; i++)
        m->out.dual = tg_larger(m->out.dual, fabs(m->sigma[block->row + i]));
}

static void measure_friction(measure *m, const tg_block *block)
{
    double L = m->L[block->row], sigma = m->sigma[block->row];
    double excess = tg_larger(0, fabs(L) - block->bound);
    double work = fabs(block->bound * fabs(sigma) + L * sigma);
    m->out.primal = tg_larger(m->out.primal, diagonal(m, block->row) * excess);
    m->out.complementarity = tg_larger(m->out.complementarity, block->bound > 0 ? work / block->bound : 0);
    m->out.work = tg_larger(m->out.work, work);
}

/* sigma += Y^T (Y L) of `count` dofs of one tree of several: rows of columns are looked up once for all of them */
TG_INLINE void add_dofs(const tg_island *island, const tg_tree_rows *tree, int first, int count, const double *L,
                        double *sigma)
{
    const double *Y = tree->Y + (ptrdiff_t)first * tree->ld;
    double u[V4_LANES] = {0};
    for (int j = 0; j < tree->columns; j++)
        for (int k = 0; k < count; k++)
            u[k] += Y[(ptrdiff_t)k * tree->ld + j] * L[tree->row[j] - island->first_row];
    for (int j = 0; j < tree->columns; j++)
    {
        double sum = 0;
        for (int k = 0; k < count; k++)
            sum += Y[(ptrdiff_t)k * tree->ld + j] * u[k];
        sigma[tree->row[j] - island->first_row] += sum;
    }
}

/* the same of a tree whose columns are rows that follow each other: L and sigma of these; `count` dofs, at most
 * V4_STRIP */
TG_INLINE void add_rows(const tg_tree_rows *tree, int first, int count, const double *L, double *sigma)
{
    const double *Y = tree->Y + (ptrdiff_t)first * tree->ld;
    double u[V4_STRIP];
    v4_multiply(count, tree->columns, Y, tree->ld, L, u);
    for (int j = 0; j < tree->columns; j += V4_LANES)
    {
        int left = tree->columns - j;
        v4 sum = v4_load_part(sigma + j, left < V4_LANES ? left : V4_LANES);
        for (int k = 0; k < count; k++)
            sum += v4_splat(u[k]) * v4_loadu(Y + (ptrdiff_t)k * tree->ld + j);
        v4_store_part(sigma + j, sum, left);
    }
}

static void add_tree(const tg_island *island, const tg_tree_rows *tree, const double *L, double *sigma)
{
    int k = 0, row = tree->columns > 0 ? tree->row[0] - island->first_row : 0;
    bool follow = tree->columns > 0 && tree->row[tree->columns - 1] - tree->row[0] == tree->columns - 1;
    for (; follow && k + V4_STRIP <= tree->dofs; k += V4_STRIP)
        add_rows(tree, k, V4_STRIP, L + row, sigma + row);
    if (follow && k < tree->dofs)
        add_rows(tree, k, tree->dofs - k, L + row, sigma + row);
    k = follow ? tree->dofs : 0;
    for (; k + V4_LANES <= tree->dofs; k += V4_LANES)
        add_dofs(island, tree, k, V4_LANES, L, sigma);
    for (; k + 2 <= tree->dofs; k += 2)
        add_dofs(island, tree, k, 2, L, sigma);
    if (k < tree->dofs)
        add_dofs(island, tree, k, 1, L, sigma);
}

/* G L + g by way of the trees */
static void velocity_by_trees(const tg_island *island, const double *L, double *sigma)
{
    for (int i = 0; i < island->rows; i++)
        sigma[i] = island->give[i] * L[i];
    for (const tg_tree_rows *tree = island->tree; tree < island->tree + island->trees; tree++)
        add_tree(island, tree, L, sigma);
    for (int c = 0; c < island->redundant; c++)
    {
        double along = 0;
        for (int i = 0; i < island->loops; i++)
            along += island->Z[i * island->redundant + c] * sigma[island->loop_row[i]];
        for (int i = 0; i < island->loops; i++)
            sigma[island->loop_row[i]] -= island->Z[i * island->redundant + c] * along;
    }
    for (int i = 0; i < island->loops; i++)
        if (!(island->diagonal[island->loop_row[i]] > 0))
            sigma[island->loop_row[i]] = 0;
    for (int i = 0; i < island->rows; i++)
        sigma[i] += island->g[i];
}

void tg_island_velocity(const tg_island *island, const double *L, bool long_double, double *sigma)
{
    if (island->G == NULL)
    {
        velocity_by_trees(island, L, sigma);
        return;
    }
    if (!long_double)
    {
        v4_multiply(island->rows, island->rows, island->G, island->ldg, L, sigma);
        for (int i = 0; i < island->rows; i++)
            sigma[i] += island->g[i];
        return;
    }
    for (int i = 0; i < island->rows; i++)
    {
        const double *row = island->G + (size_t)i * (size_t)island->ldg;
        long double sum = island->g[i];
        for (int j = 0; j < island->rows; j++)
            sum += (long double)row[j] * L[j];
        sigma[i] = (double)sum;
    }
}

tg_residual tg_residual_of(const tg_island *island, const double *diagonal_of, int step, const double *L,
                           const double *sigma)
{
    measure m = {.island = island, .diagonal = diagonal_of, .step = step, .L = L, .sigma = sigma};
    m.reference = reference_impulse(&m);
    /* comparisons drop NaN: an impulse that is not finite has no certificate */
    if (!v4_all_finite(island->rows, L) || !v4_all_finite(island->rows, sigma))
        return (tg_residual){INFINITY, INFINITY, INFINITY, INFINITY};
    for (int b = 0; b < island->blocks; b++)
    {
        const tg_block *block = &island->block[b];
        switch (block->kind)
        {
        case TG_BLOCK_CONTACT:
        case TG_BLOCK_LIMIT:
            measure_contact(&m, block);
            break;
        case TG_BLOCK_EQUALITY:
            measure_equality(&m, block);
            break;
        default:
            measure_friction(&m, block);
            break;
        }
    }
    return m.out;
}

tg_residual tg_island_residual(const tg_island *island, const double *L, bool long_double, double *sigma)
{
    tg_island_velocity(island, L, long_double, sigma);
    if (island->G == NULL)
        return tg_residual_of(island, island->diagonal, 1, L, sigma);
    return tg_residual_of(island, island->G, island->ldg + 1, L, sigma);
}
