/* The rows held at zero, the rank of their part of G, and how impulses of these rows answer velocities.
 *
 * R: the rows held by the phases. A pivoted Cholesky factorisation of the normalised matrix,
 *     D G_RR D = U^T U,  D = diag(G_RR)^-1/2 (rows of an equality: the largest of those that belong together),
 *     U rank x count, rows in the order of their pivots,
 * finds the rank. Independent rows: x_R = -D U^-1 U^-T D s_R. Redundant rows: impulses that are not scaled (S x) must
 * have no part in the null space Z of G_RR. With V = L U D^-1 S^-1 (L: every row gets unit length), V V^T = C C^T,
 *     Q = C^-1 V has orthonormal rows that span the range of G_RR (Cholesky QR),
 *     Q G_RR = C^T L^-2 V,   G_RR without scaling,
 * so that S x_R = Q^T d and the velocities Q sigma_R = -C^T L^-2 C d. Z itself is never formed. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/held.h"

static const double small_pivot = 1e-6; /* below, G has fewer than ten digits of the levers of loops */
static const double pivot_slack = 0.25; /* a pivot this close to the largest stays where it is */
static const double rounding = 1e-14;   /* of the largest |g|: of Z Z^T g_R as a whole, and */
static const double takes_part = 1e-5;  /* of Z Z^T g_R */

static void add_held_rows(tg_held *held, int row, int count)
{
    for (int i = 0; i < count; i++)
        held->row[held->count++] = row + i;
}

static void list_held(tg_solve_work *w)
{
    w->held.count = 0;
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        if (w->state[b].phase == TG_PHASE_STICK)
            add_held_rows(&w->held, cone->row, cone->dim);
        else if (w->state[b].phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT)
            add_held_rows(&w->held, cone->row, 1);
    }
}

/* ---- pivoted Cholesky ---- */

/* the pivot of step k: the largest of what is left, or k itself when it is nearly as large; -1 when nothing is left */
static int choose_pivot(int k, int n, double threshold, const double *left)
{
    double most = left[k];
    for (int i = k + 1; i < n; i++)
        most = tg_larger(left[i], most);
    if (!(most > threshold))
        return -1;
    int p = k;
    if (left[k] < pivot_slack * most)
        while (left[p] < most)
            p++;
    return p;
}

/* the same of rows of loops alone, whose rank is known to smaller pivots */
static int choose_loop(const tg_cones *cones, const tg_held *held, int k, double threshold, const double *left)
{
    int p = -1;
    double most = threshold == TG_RANK ? TG_LOOP_RANK : threshold;
    for (int i = k; i < held->count; i++)
        if (cones->least[held->row[i]] > 0 && left[i] > most)
        {
            most = left[i];
            p = i;
        }
    return p;
}

static void exchange(double *a, int i, int j)
{
    double t = a[i];
    a[i] = a[j];
    a[j] = t;
}

static void exchange_held(tg_held *held, int k, int p, double *left, int ld)
{
    if (p == k)
        return;
    int row = held->row[k];
    held->row[k] = held->row[p];
    held->row[p] = row;
    exchange(left, k, p);
    exchange(held->size, k, p);
    for (int j = 0; j < k; j++)
        exchange(held->factor + (size_t)j * (size_t)ld, k, p);
}

/* u -= sum over j < k of U_jk U_j, in groups of four from the one that contains k on */
TG_INLINE void subtract_rows(int vectors, int k, const double *U, int ld, const double *column, double *u)
{
    v4 sum[V4_LANES];
    for (int c = 0; c < vectors; c++)
        sum[c] = v4_load(u + V4_LANES * c);
    TG_NO_UNROLL
    for (int j = 0; j < k; j++, U += ld, column += ld)
        for (int c = 0; c < vectors; c++)
            sum[c] -= *column * v4_load(U + V4_LANES * c);
    for (int c = 0; c < vectors; c++)
        v4_store(u + V4_LANES * c, sum[c]);
}

static void eliminate(int k, int padded, const double *U, int ld, double *u)
{
    int i = k & ~(V4_LANES - 1);
    for (; i + V4_LANES * V4_LANES <= padded; i += V4_LANES * V4_LANES)
        subtract_rows(V4_LANES, k, U + i, ld, U + k, u + i);
    for (; i + 2 * V4_LANES <= padded; i += 2 * V4_LANES)
        subtract_rows(2, k, U + i, ld, U + k, u + i);
    if (i < padded)
        subtract_rows(1, k, U + i, ld, U + k, u + i);
}

/* row k of U, and what it leaves of the diagonal; zero left of k and in the padding */
static void next_row(const tg_cones *cones, tg_held *held, int k, double *left)
{
    int n = held->count, ld = cones->ld, padded = v4_pad(n), first = k & ~(V4_LANES - 1);
    double *u = held->factor + (size_t)k * (size_t)ld;
    const double *row = cones->G + (size_t)held->row[k] * (size_t)ld;
    memset(u, 0, (size_t)k * sizeof *u);
    for (int i = k; i < n; i++)
        u[i] = row[held->row[i]] * (held->size[i] * held->size[k]);
    for (int i = n; i < padded; i++)
        u[i] = 0;
    eliminate(k, padded, held->factor, ld, u);
    const v4 inverse = v4_splat(1 / sqrt(left[k]));
    const v4i here = v4_lanes_from(k - first);
    for (int i = first; i < padded; i += V4_LANES)
    {
        v4 value = v4_load(u + i) * inverse;
        value = i == first ? v4_keep(here, value) : value;
        v4_store(u + i, value);
        v4_store(left + i, v4_load(left + i) - value * value);
    }
}

static int pivoted_cholesky(const tg_cones *cones, tg_held *held, double threshold, double *left)
{
    int n = held->count, rank = 0;
    for (int i = 0; i < n; i++)
    {
        double own = cones->G[(size_t)held->row[i] * (size_t)(cones->ld + 1)];
        double least = cones->least[held->row[i]], whole = own < least ? least : own;
        held->size[i] = 1 / sqrt(whole);
        left[i] = own < least ? own / least : 1;
    }
    for (int i = n; i < v4_pad(n); i++)
        left[i] = 0;
    for (; rank < n; rank++)
    {
        int p = choose_pivot(rank, n, threshold, left);
        if (p < 0)
        {
            p = choose_loop(cones, held, rank, threshold, left);
            held->weak = held->weak || p >= 0;
        }
        if (p < 0)
            break;
        held->small = held->small || (left[p] < small_pivot && cones->least[held->row[p]] > 0);
        exchange_held(held, rank, p, left, cones->ld);
        next_row(cones, held, rank, left);
    }
    return rank;
}

static int find_rank(tg_solve_work *w, double threshold)
{
    list_held(w);
    w->held.inconsistency = 0;
    w->held.yields = w->held.small = w->held.weak = false;
    w->held.rank = pivoted_cholesky(&w->cones, &w->held, threshold, w->rhs);
    w->held.rest = 0;
    for (int i = w->held.rank; i < w->held.count; i++)
        w->held.rest = tg_larger(w->held.rest, w->rhs[i]);
    for (int i = 0; i < w->cones.rows; i++)
        w->held.at[i] = -1;
    for (int i = 0; i < w->held.count; i++)
        w->held.at[w->held.row[i]] = i;
    return w->held.rank;
}

int tg_held_rank(tg_solve_work *w)
{
    return find_rank(w, TG_RANK);
}

/* ---- the range ---- */

/* factor: U -> L U D^-1 = V S (rows of V have unit length); range: V */
static void unit_rows(const tg_cones *cones, tg_held *held)
{
    int n = held->count, ld = cones->ld;
    double *root = held->part, *inverse = held->gap; /* G_ii^1/2, 1 / S */
    for (int i = 0; i < n; i++)
    {
        root[i] = 1 / held->size[i];
        inverse[i] = 1 / cones->scale[held->row[i]];
    }
    for (int k = 0; k < held->rank; k++)
    {
        double *u = held->factor + (size_t)k * (size_t)ld, *v = held->range + (size_t)k * (size_t)ld;
        for (int i = 0; i < n; i++)
        {
            u[i] *= root[i];
            v[i] = u[i] * inverse[i];
        }
        double square = 1 / v4_dot_of(n, v, v), length = sqrt(square);
        held->square[k] = square;
        for (int i = 0; i < n; i++)
        {
            u[i] *= length;
            v[i] *= length;
        }
    }
}

double tg_orthogonalise(int n, int k, const double *Q, int ld, double *q, double *part)
{
    double before = INFINITY, square = v4_dot_of(n, q, q);
    for (int round = 0; k > 0 && round < 2 && square < 0.5 * before; round++)
    {
        before = square;
        tg_gemm_nt(1, k, n, q, n, Q, ld, TG_GEMM_SET, part, ld);
        tg_gemm_nn(1, n, k, part, ld, Q, ld, TG_GEMM_SUB, q, n);
        square = v4_dot_of(n, q, q);
    }
    double length = sqrt(square), inverse = length > 0 ? 1 / length : 0;
    for (int i = 0; i < n; i++)
        q[i] *= inverse;
    return length;
}

/* Gram-Schmidt for ranges that Cholesky QR cannot resolve; C = V Q^T */
static void gram_schmidt(const tg_cones *cones, tg_held *held)
{
    int n = held->count, ld = cones->ld;
    for (int k = 0; k < held->rank; k++)
    {
        double *q = held->range + (size_t)k * (size_t)ld, *c = held->chol + (size_t)k * (size_t)ld;
        tg_orthogonalise(n, k, held->range, ld, q, c);
        const double *u = held->factor + (size_t)k * (size_t)ld;
        for (int j = 0; j <= k; j++)
        {
            c[j] = 0;
            for (int i = 0; i < n; i++)
                c[j] += u[i] / cones->scale[held->row[i]] * held->range[(size_t)j * (size_t)ld + (size_t)i];
        }
    }
}

/* Z Z^T g_R = g_R - Q^T Q g_R; twice, because Q is orthonormal only up to the condition of its factor */
static double inconsistency(const tg_cones *cones, const tg_held *held, double *part, double *g)
{
    int n = held->count, ld = cones->ld;
    for (int i = 0; i < n; i++)
        g[i] = cones->g[held->row[i]] / cones->scale[held->row[i]];
    for (int round = 0; round < 2; round++)
    {
        tg_gemm_nt(held->rank, 1, n, held->range, ld, g, n, TG_GEMM_SET, part, 1);
        tg_gemm_nn(1, n, held->rank, part, held->rank, held->range, ld, TG_GEMM_SUB, g, n);
    }
    return sqrt(v4_dot_of(n, g, g));
}

double tg_held_least_gap(const tg_solve_work *w)
{
    double whole = w->held.inconsistency, velocity = w->cones.velocity;
    if (whole <= tg_larger(w->inner, rounding * velocity))
        return INFINITY;
    return tg_larger(takes_part * whole, TG_ROUNDING * velocity);
}

/* Dry friction holds at zero velocity, exactly: where it contradicts other rows, something must yield. */
static bool friction_contradicts(const tg_solve_work *w)
{
    double least = tg_held_least_gap(w);
    for (int b = 0; b < w->cones.blocks; b++)
    {
        const tg_cone *cone = &w->cones.block[b];
        int at = w->held.at[cone->row];
        if (cone->kind == TG_CONE_BOX && at >= 0 && fabs(w->held.gap[at]) > least)
            return true;
    }
    return false;
}

/* range: Q -> Q S^-1, so that x_R = range^T d and Q sigma_R = range s_R */
static void scale_range(const tg_cones *cones, tg_held *held)
{
    double *inverse = held->part;
    for (int i = 0; i < held->count; i++)
        inverse[i] = 1 / cones->scale[held->row[i]];
    for (int k = 0; k < held->rank; k++)
    {
        double *q = held->range + (size_t)k * (size_t)cones->ld;
        for (int i = 0; i < held->count; i++)
            q[i] *= inverse[i];
    }
}

void tg_held_build(tg_solve_work *w)
{
    tg_held_build_to(w, TG_RANK);
}

void tg_held_build_to(tg_solve_work *w, double threshold)
{
    tg_held *held = &w->held;
    const tg_cones *cones = &w->cones;
    if (find_rank(w, threshold) == held->count && !held->small)
        return;
    if (held->small && w->levers != NULL)
        tg_held_resolve(w);
    unit_rows(cones, held);
    tg_syrk_n(held->rank, held->count, held->range, cones->ld, TG_GEMM_SET, held->chol, cones->ld);
    if (tg_chol(held->rank, held->chol, cones->ld) < 0)
        tg_trsm(TG_TRI_LOWER, held->rank, held->chol, cones->ld, held->count, held->range, cones->ld);
    else
        gram_schmidt(cones, held);
    held->inconsistency = inconsistency(cones, held, held->part, held->gap);
    held->yields = friction_contradicts(w);
    scale_range(cones, held);
}

double tg_held_smallest_pivot(const tg_solve_work *w)
{
    const tg_held *held = &w->held;
    double smallest = INFINITY;
    for (int k = 0; k < held->rank; k++)
    {
        double root = held->factor[(size_t)k * (size_t)(w->cones.ld + 1)] * held->size[k];
        smallest = tg_smaller(root * root / held->square[k], smallest);
    }
    return smallest;
}

/* ---- answers ---- */

/* one vector of a few numbers, where tiles would be emptier than full */
static void solve_few(const tg_cones *cones, const tg_held *held, double *x)
{
    const double *U = held->factor;
    ptrdiff_t ld = cones->ld;
    int n = held->count;
    double inverse[TG_CONE_MAX]; /* ahead of the sums, which then wait for products alone */
    for (int i = 0; i < n; i++)
        inverse[i] = 1 / U[i * (ld + 1)];
    for (int i = 0; i < n; i++)
    {
        double sum = held->size[i] * x[i];
        for (int k = 0; k < i; k++)
            sum -= U[k * ld + i] * x[k];
        x[i] = sum * inverse[i];
    }
    for (int i = n - 1; i >= 0; i--)
    {
        double sum = x[i];
        for (int k = i + 1; k < n; k++)
            sum -= U[i * ld + k] * x[k];
        x[i] = sum * inverse[i];
    }
    for (int i = 0; i < n; i++)
        x[i] *= held->size[i];
}

void tg_held_solve(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx)
{
    int n = held->count;
    if (n == 1) /* the normal of one sliding contact */
    {
        double inverse = held->size[0] / held->factor[0];
        for (int c = 0; c < columns; c++)
            X[c] *= inverse * inverse;
        return;
    }
    if (n <= TG_CONE_MAX && columns == 1 && ldx == 1)
    {
        solve_few(cones, held, X);
        return;
    }
    for (int i = 0; i < n; i++)
        for (int c = 0; c < columns; c++)
            X[(size_t)i * (size_t)ldx + (size_t)c] *= held->size[i];
    tg_trsm(TG_TRI_UPPER | TG_TRI_TRANSPOSED, n, held->factor, cones->ld, columns, X, ldx);
    tg_trsm(TG_TRI_UPPER, n, held->factor, cones->ld, columns, X, ldx);
    for (int i = 0; i < n; i++)
        for (int c = 0; c < columns; c++)
            X[(size_t)i * (size_t)ldx + (size_t)c] *= held->size[i];
}

void tg_held_precondition(const tg_cones *cones, const tg_held *held, int columns, double *X, int ldx)
{
    tg_trsm(TG_TRI_LOWER | TG_TRI_TRANSPOSED, held->rank, held->chol, cones->ld, columns, X, ldx);
    for (int k = 0; k < held->rank; k++)
        for (int c = 0; c < columns; c++)
            X[(size_t)k * (size_t)ldx + (size_t)c] *= held->square[k];
}

/* ---- memory ---- */

bool tg_solve_work_take(tg_solve_work *w, int rows, tg_arena *scratch)
{
    size_t ld = (size_t)v4_pad(rows), n = (size_t)rows;
    double **const vector[] = {&w->x,   &w->s,         &w->best,        &w->held.gap, &w->L,
                               &w->rhs, &w->held.size, &w->held.square, &w->held.part};
    double **const matrix[] = {&w->A, &w->held.factor, &w->held.range, &w->held.chol};
    const size_t vectors = sizeof vector / sizeof *vector, matrices = sizeof matrix / sizeof *matrix;
    const size_t others = TG_LIMIT_VECTORS + TG_CONE_MAX - 1,
                 all = vectors + others + n * (matrices + TG_LIMIT_MATRICES);
    tg_cones_take(&w->cones, rows, scratch);
    double *next = TG_TAKE(scratch, double, all *ld, "held rows: vectors and matrices");
    w->state = TG_TAKE(scratch, tg_cone_state, n, "held rows: phases");
    w->slide = TG_TAKE(scratch, tg_slide, n, "held rows: sliding contacts");
    w->left_out = TG_TAKE(scratch, bool, n, "held rows: blocks left out");
    int **const list[] = {&w->held.row, &w->held.at, &w->active, &w->pivot};
    const size_t indices = sizeof list / sizeof *list;
    int *index = TG_TAKE(scratch, int, indices *n, "held rows");
    if (scratch->failed || next == NULL || index == NULL)
        return false;
    for (size_t i = 0; i < vectors; i++, next += ld)
        *vector[i] = next;
    w->limit = next;
    w->frames = w->limit + TG_LIMIT_VECTORS * ld;
    next += others * ld;
    for (size_t i = 0; i < matrices; i++, next += n * ld)
        *matrix[i] = next;
    w->range = next;
    for (size_t i = 0; i < indices; i++, index += n)
        *list[i] = index;
    w->inner = tg_solve_default().inner;
    w->levers = NULL;
    return true;
}
