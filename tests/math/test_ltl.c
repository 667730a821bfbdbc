/* The tree-sparse factorisation on chains, stars, forests and random trees of 1 to 70 dofs: against the factors that
 * the matrix was made from, and against dense Cholesky. What must not be read is NaN; memory ends with the last row. */
#include "math_test.h"

#include "base/arena.h"
#include "base/simd.h"
#include "math/dense.h"
#include "math/ltl.h"

enum
{
    LARGEST = 70
};

typedef struct tree
{
    tg_ltl_pattern p;
    void *memory;
    int parent[LARGEST];
    double *M;                       /* sparse storage, lower */
    double dense[LARGEST * LARGEST]; /* the same, both triangles, ld n */
    double L[LARGEST * LARGEST], D[LARGEST];
} tree;

enum
{
    CHAIN,
    STAR,
    COMB, /* a spine with one leaf at each vertebra */
    RANDOM,
    FOREST,
    KINDS
};

static void random_parents(test_random *r, int kind, int n, int *parent)
{
    for (int k = 0; k < n; k++)
    {
        parent[k] = k - 1;
        if (kind == STAR && k > 0)
            parent[k] = 0;
        if (kind == COMB && k > 1)
            parent[k] = k % 2 ? k - 1 : k - 2;
        double climb = random_unit(r);
        while ((kind == RANDOM || kind == FOREST) && climb > 0.3 && parent[k] >= (kind == FOREST ? 0 : 1))
        {
            parent[k] = parent[parent[k]];
            climb -= 0.15;
        }
    }
}

static int is_ancestor(const int *parent, int a, int k)
{
    for (k = parent[k]; k >= 0; k = parent[k])
        if (k == a)
            return 1;
    return 0;
}

static void place_pattern(tree *t, int n)
{
    tg_arena count = {0};
    assert_int_equal(tg_ltl_pattern_place(&t->p, &count, n, t->parent), -1);
    assert_false(count.failed);
    t->memory = aligned_alloc(TG_ALIGN, count.used);
    assert_non_null(t->memory);
    tg_arena arena = {.base = t->memory, .capacity = count.used};
    assert_int_equal(tg_ltl_pattern_place(&t->p, &arena, n, t->parent), -1);
    assert_false(arena.failed);
    assert_true(arena.used == count.used);
}

/* M = L^T D L from random L and D, in long double; sparse storage is NaN wherever it must not be read. Entries of L
 * fall with the depth, so that M is well conditioned and the factors can be compared. */
static void fill_matrix(test_random *r, tree *t)
{
    int n = t->p.n, ld = t->p.ld;
    for (int k = 0; k < n; k++)
    {
        t->D[k] = 1.5 + random_unit(r);
        double size = 1 / sqrt(1 + t->p.depth[k]);
        for (int j = 0; j < n; j++)
            t->L[n * k + j] = j == k ? 1 : is_ancestor(t->parent, j, k) ? size * random_unit(r) : 0;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            long double sum = 0;
            for (int k = i > j ? i : j; k < n; k++)
                sum += (long double)t->L[n * k + i] * t->D[k] * t->L[n * k + j];
            t->dense[n * i + j] = (double)sum;
        }
    t->M = aligned_alloc(32, (size_t)n * (size_t)ld * sizeof(double));
    assert_non_null(t->M);
    for (int i = 0; i < n * ld; i++)
        t->M[i] = NAN;
    for (int k = 0; k < n; k++)
    {
        for (int b = t->p.block_start[k]; b < t->p.block_start[k + 1]; b++)
            v4_store(t->M + k * ld + t->p.blocks[b], v4_zero());
        for (int a = k; a >= 0; a = t->parent[a])
            t->M[k * ld + a] = t->dense[n * k + a];
        for (int j = k + 1; j < (k & ~3) + 4; j++)
            t->M[k * ld + j] = NAN;
    }
}

static void make_tree(test_random *r, int kind, int n, tree *t)
{
    random_parents(r, kind, n, t->parent);
    place_pattern(t, n);
    fill_matrix(r, t);
}

static void finish(tree *t)
{
    free(t->M);
    free(t->memory);
}

/* for each kind of tree and each size: make, check, free */
static void for_all_trees(void (*check)(test_random *, tree *))
{
    test_random r = {99};
    tree *t = malloc(sizeof *t);
    assert_non_null(t);
    for (int kind = 0; kind < KINDS; kind++)
        for (int n = 1; n <= LARGEST; n++)
        {
            make_tree(&r, kind, n, t);
            check(&r, t);
            finish(t);
        }
    free(t);
}

static void factor(tree *t, double *dinv)
{
    assert_int_equal(tg_ltl_factor(&t->p, t->M, dinv), -1);
}

static void check_pattern(test_random *r, tree *t)
{
    (void)r;
    const tg_ltl_pattern *p = &t->p;
    assert_int_equal(p->ld % 4, 0);
    assert_true(p->ld >= p->n && p->ld < p->n + 4);
    for (int k = 0; k < p->n; k++)
    {
        int depth = 0, end = k + 1, blocks = 0;
        assert_int_equal(p->parent[k], t->parent[k]);
        for (int j = 0; j < p->n; j++)
        {
            if (is_ancestor(t->parent, j, k))
                assert_int_equal(p->path[p->path_start[k] + depth++], j);
            if (is_ancestor(t->parent, k, j))
                end = j + 1;
        }
        for (int first = 0; first < p->n; first += 4)
        {
            int needed = 0;
            for (int j = first; j < first + 4 && j < p->n; j++)
                needed |= j == k || is_ancestor(t->parent, j, k);
            if (needed)
                assert_int_equal(p->blocks[p->block_start[k] + blocks++], first);
        }
        assert_int_equal(p->depth[k], depth);
        assert_int_equal(p->path_start[k + 1] - p->path_start[k], depth);
        assert_int_equal(p->block_start[k + 1] - p->block_start[k], blocks);
        assert_int_equal(p->end[k], end);
    }
}

/* whatever the conditioning, the factors give the matrix back: |L^T D L - M| <= (terms + 3) u |L|^T D |L| (Higham,
 * Accuracy and Stability of Numerical Algorithms, theorem 10.3; three for the division and two scalings), u = 2^-53 */
static void check_backward_error(const tree *t, const double *dinv)
{
    int n = t->p.n, ld = t->p.ld;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
        {
            if (i != j && !is_ancestor(t->parent, j, i))
                continue;
            long double sum = 0, size = 0;
            for (int k = i; k < t->p.end[i]; k++)
            {
                long double left = k == i ? 1 : t->M[k * ld + i], right = k == j ? 1 : t->M[k * ld + j];
                sum += left / dinv[k] * right;
                size += fabsl(left / dinv[k] * right);
            }
            int terms = t->p.end[i] - i;
            assert_near((double)sum, t->dense[n * i + j], (terms + 3) * 1.12e-16 * (double)size);
        }
}

static void check_factor(test_random *r, tree *t)
{
    (void)r;
    int n = t->p.n, ld = t->p.ld;
    double dinv[LARGEST];
    factor(t, dinv);
    check_backward_error(t, dinv);
    for (int k = 0; k < n; k++)
    {
        assert_near(dinv[k] * t->D[k], 1, 1e-13);
        for (int b = t->p.block_start[k]; b < t->p.block_start[k + 1]; b++)
            for (int j = t->p.blocks[b]; j < t->p.blocks[b] + 4; j++)
            {
                if (j < k && is_ancestor(t->parent, j, k))
                    assert_near(t->M[k * ld + j], t->L[n * k + j], 1e-13);
                else
                    assert_true(t->M[k * ld + j] == 0);
            }
        for (int first = 0; first < ld; first += 4) /* blocks outside of the pattern are as they were */
        {
            int stored = 0;
            for (int b = t->p.block_start[k]; b < t->p.block_start[k + 1]; b++)
                stored |= t->p.blocks[b] == first;
            assert_true(stored || isnan(t->M[k * ld + first]));
        }
    }
}

/* one vector, unaligned, in memory that ends with it */
static void check_solve(test_random *r, tree *t)
{
    int n = t->p.n;
    double dinv[LARGEST], b[LARGEST], expected[LARGEST];
    double *memory = malloc((size_t)(n + 1) * sizeof *memory), *x = memory + 1;
    assert_non_null(memory);
    factor(t, dinv);
    random_fill(r, b, n);

    memcpy(expected, b, (size_t)n * sizeof *b); /* dense Cholesky */
    assert_int_equal(tg_chol(n, t->dense, n), -1);
    tg_chol_solve(n, t->dense, n, 1, expected, 1);
    memcpy(x, b, (size_t)n * sizeof *b);
    tg_ltl_solve(&t->p, t->M, dinv, x);
    double size = 1;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(expected[i]));
    assert_close(x, expected, n, 1e-12 * size);

    memcpy(x, b, (size_t)n * sizeof *b); /* L^T y = b */
    tg_ltl_solve_lt(&t->p, t->M, x);
    for (int i = 0; i < n; i++)
    {
        long double sum = 0;
        for (int k = i; k < n; k++)
            sum += (long double)t->L[n * k + i] * x[k];
        assert_near((double)sum, b[i], 1e-12);
    }
    memcpy(x, b, (size_t)n * sizeof *b); /* L y = b */
    tg_ltl_solve_l(&t->p, t->M, x);
    for (int i = 0; i < n; i++)
    {
        long double sum = 0;
        for (int j = 0; j <= i; j++)
            sum += (long double)t->L[n * i + j] * x[j];
        assert_near((double)sum, b[i], 1e-12);
    }
    free(memory);
}

typedef void solve_one(const tree *t, const double *dinv, double *x);
typedef void solve_all(const tree *t, const double *dinv, int columns, double *X, int ldx);

static void one_full(const tree *t, const double *dinv, double *x)
{
    tg_ltl_solve(&t->p, t->M, dinv, x);
}

static void one_l(const tree *t, const double *dinv, double *x)
{
    (void)dinv;
    tg_ltl_solve_l(&t->p, t->M, x);
}

static void all_full(const tree *t, const double *dinv, int columns, double *X, int ldx)
{
    tg_ltl_solve_many(&t->p, t->M, dinv, columns, X, ldx);
}

static void all_l(const tree *t, const double *dinv, int columns, double *X, int ldx)
{
    (void)dinv;
    tg_ltl_solve_l_many(&t->p, t->M, columns, X, ldx);
}

static void compare_columns(test_random *r, const tree *t, const double *dinv, int columns, solve_one *one,
                            solve_all *all)
{
    int n = t->p.n, ldx = columns + columns % 3;
    size_t size = (size_t)(n - 1) * (size_t)ldx + (size_t)columns;
    double *memory = malloc((size + 1) * sizeof *memory), *X = memory + 1, x[LARGEST], before[LARGEST * 100];
    assert_non_null(memory);
    random_fill(r, X, (int)size);
    memcpy(before, X, size * sizeof *X);
    all(t, dinv, columns, X, ldx);
    for (int c = 0; c < columns; c++)
    {
        for (int i = 0; i < n; i++)
            x[i] = before[i * ldx + c];
        one(t, dinv, x);
        for (int i = 0; i < n; i++)
            assert_near(X[i * ldx + c], x[i], 1e-11);
    }
    for (size_t i = 0; i < size; i++) /* padding */
        assert_true((int)(i % (size_t)ldx) < columns || X[i] == before[i]);
    free(memory);
}

static void check_solve_many(test_random *r, tree *t)
{
    static const int widths[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 15, 19, 20, 24, 27, 28, 32, 36, 37, 40, 45, 72, 79};
    double dinv[LARGEST];
    factor(t, dinv);
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++)
    {
        compare_columns(r, t, dinv, widths[w], one_full, all_full);
        compare_columns(r, t, dinv, widths[w], one_l, all_l);
    }
}

static void check_inverse(test_random *r, tree *t)
{
    (void)r;
    int n = t->p.n, ldw = n + n % 3;
    double dinv[LARGEST];
    size_t size = (size_t)(n - 1) * (size_t)ldw + (size_t)n;
    double *memory = malloc((size + 1) * sizeof *memory), *W = memory + 1;
    assert_non_null(memory);
    for (size_t i = 0; i < size; i++)
        W[i] = NAN;
    factor(t, dinv);
    tg_ltl_inverse(&t->p, t->M, dinv, W, ldw);
    double largest = 1;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            assert_true(W[i * ldw + j] == W[j * ldw + i]);
            largest = fmax(largest, fabs(W[i * ldw + j]));
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            long double sum = 0;
            for (int k = 0; k < n; k++)
                sum += (long double)t->dense[n * i + k] * W[k * ldw + j];
            assert_near((double)sum, i == j, 1e-13 * n * largest);
        }
    for (size_t i = 0; i < size; i++)
        assert_true((int)(i % (size_t)ldw) < n || isnan(W[i]));
    free(memory);
}

/* every dof in turn gets a pivot that is not positive: row k of M has D_k + (what descendants add) on its diagonal */
static void check_bad_pivot(test_random *r, tree *t)
{
    (void)r;
    static const double bad_values[] = {-0.5, 0, NAN, INFINITY};
    int n = t->p.n, ld = t->p.ld;
    double dinv[LARGEST], *copy = aligned_alloc(32, (size_t)n * (size_t)ld * sizeof *copy);
    assert_non_null(copy);
    for (int k = 0; k<n; k += n> 20 ? 7 : 1)
    {
        memcpy(copy, t->M, (size_t)n * (size_t)ld * sizeof *copy);
        double bad = bad_values[k % 4];
        /* without the couplings of its descendants, the pivot is the entry itself */
        for (int d = k + 1; d < t->p.end[k]; d++)
            copy[d * ld + k] = 0;
        copy[k * ld + k] = bad;
        assert_int_equal(tg_ltl_factor(&t->p, copy, dinv), k);
    }
    free(copy);
}

static void test_pattern(void **state)
{
    (void)state;
    for_all_trees(check_pattern);
}

static void test_factor(void **state)
{
    (void)state;
    for_all_trees(check_factor);
}

static void test_solve(void **state)
{
    (void)state;
    for_all_trees(check_solve);
}

static void test_solve_many(void **state)
{
    (void)state;
    for_all_trees(check_solve_many);
}

static void test_inverse(void **state)
{
    (void)state;
    for_all_trees(check_inverse);
}

static void test_bad_pivot(void **state)
{
    (void)state;
    for_all_trees(check_bad_pivot);
}

static void test_order_is_checked(void **state)
{
    (void)state;
    tg_ltl_pattern p;
    tg_arena count = {0};
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 3, (int[]){-1, 0, 2}), 2);    /* its own parent */
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 3, (int[]){1, 0, 1}), 0);     /* a parent that comes later */
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 4, (int[]){-1, 0, 0, 1}), 3); /* back to a branch that was left */
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 3, (int[]){-1, -2, 0}), 1);   /* not a dof */
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 3, (int[]){-1, -1, 0}), 2);   /* back to a tree that was left */
    assert_true(count.used == 0);
    assert_int_equal(tg_ltl_pattern_place(&p, &count, 0, NULL), -1);
    assert_int_equal(p.n, 0);
}

static void test_arena_too_small(void **state)
{
    (void)state;
    tg_ltl_pattern p;
    int parent[10] = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8};
    void *memory = aligned_alloc(TG_ALIGN, TG_ALIGN);
    assert_non_null(memory);
    tg_arena arena = {.base = memory, .capacity = TG_ALIGN};
    assert_int_equal(tg_ltl_pattern_place(&p, &arena, 10, parent), -1);
    assert_true(arena.failed);
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_factor),
        cmocka_unit_test(test_solve),
        cmocka_unit_test(test_solve_many),
        cmocka_unit_test(test_inverse),
        cmocka_unit_test(test_bad_pivot),
        cmocka_unit_test(test_order_is_checked),
        cmocka_unit_test(test_arena_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
