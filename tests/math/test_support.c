/* Rows over random trees of 1 to 150 dofs (supports of up to three words), 1 to 30 columns: half of the solve,
 * products, velocities and squares against the dense formulas. Rows go to their places in order, and scattered. */
#include "math_test.h"

#include "math/support.h"

enum
{
    DOFS = 150,
    COLUMNS = 30,
    LD = 32,
    ROWS = 40,
    LDG = 40
};

typedef struct scene
{
    tg_ltl_pattern p;
    void *memory;
    int n, columns, words, parent[DOFS], row[COLUMNS];
    double L[DOFS * (DOFS + 4)], root[DOFS], J[DOFS * LD], Y[DOFS * LD];
    uint64_t support[LD / 4 * 3];
} scene;

static void place_tree(scene *s, test_random *r)
{
    for (int k = 0; k < s->n; k++)
        for (s->parent[k] = k - 1; s->parent[k] >= 0 && random_unit(r) > 0.5;)
            s->parent[k] = s->parent[s->parent[k]];
    tg_arena count = {0};
    tg_ltl_pattern_place(&s->p, &count, s->n, s->parent);
    s->memory = aligned_alloc(TG_ALIGN, count.used);
    assert_non_null(s->memory);
    tg_arena arena = {.base = s->memory, .capacity = count.used};
    assert_int_equal(tg_ltl_pattern_place(&s->p, &arena, s->n, s->parent), -1);
    random_fill(r, s->root, s->n);
    for (int i = 0; i < s->n * s->p.ld; i++)
        s->L[i] = NAN; /* what is no ancestor is not read */
    for (int k = 0; k < s->n; k++)
        for (int a = s->parent[k]; a >= 0; a = s->parent[a])
            s->L[k * s->p.ld + a] = 0.3 * random_unit(r);
}

/* a column acts on one chain or on two */
static void fill_columns(scene *s, test_random *r)
{
    memset(s->J, 0, sizeof s->J);
    memset(s->support, 0, sizeof s->support);
    for (int j = 0, row = 0; j < s->columns; j++)
    {
        s->row[j] = row += 1 + (s->columns <= 10 && random_unit(r) > 0.7);
        for (int chain = 0; chain < 2; chain++)
        {
            int dof = (int)(0.5 * (1 + random_unit(r)) * s->n);
            for (int w = 0; w < s->words; w++)
                s->support[j / 4 * s->words + w] |= s->p.chain[dof * s->words + w];
            for (; dof >= 0; dof = s->parent[dof])
                s->J[dof * LD + j] += random_unit(r);
        }
    }
}

/* x <- root L^-T x, from the leaves */
static void dense_half(const scene *s, double *x)
{
    for (int k = s->n - 1; k >= 0; k--)
        for (int a = s->parent[k]; a >= 0; a = s->parent[a])
            x[a * LD] -= s->L[k * s->p.ld + a] * x[k * LD];
    for (int k = 0; k < s->n; k++)
        x[k * LD] *= s->root[k];
}

static double dot_of(const scene *s, const double *A, int i, int j)
{
    double sum = 0;
    for (int k = 0; k < s->n; k++)
        sum += A[k * LD + i] * A[k * LD + j];
    return sum;
}

static void check_half(scene *s)
{
    static double expected[DOFS * LD];
    int list[DOFS], vectors = (s->columns + 3) / 4;
    for (int i = 0; i < DOFS * LD; i++)
        s->Y[i] = NAN;
    tg_support_half(&s->p, s->L, s->root, vectors, s->support, s->J, s->Y, LD, list);
    memcpy(expected, s->J, sizeof expected);
    for (int j = 0; j < s->columns; j++)
        dense_half(s, expected + j);
    for (int k = 0; k < s->n; k++)
        assert_close(s->Y + k * LD, expected + k * LD, 4 * vectors, 1e-12);
}

static void check_products(const scene *s)
{
    double G[ROWS * LDG], H[ROWS * LDG];
    for (int i = 0; i < ROWS * LDG; i++)
        G[i] = NAN, H[i] = 1;
    tg_support_product(s->n, s->columns, s->support, s->Y, LD, NULL, 0, G, LDG);
    tg_support_product(s->n, s->columns, s->support, s->Y, LD, s->row, 1, H, LDG);
    for (int i = 0; i < s->columns; i++)
        for (int j = 0; j < s->columns; j++)
        {
            double expected = dot_of(s, s->Y, i, j);
            assert_near(G[i * LDG + j], expected, 1e-12);
            assert_near(H[(s->row[i] - 1) * LDG + s->row[j] - 1], 1 + expected, 1e-12);
            assert_true(G[i * LDG + j] == G[j * LDG + i]);
        }
    int untouched = 0;
    for (int i = 0; i < ROWS * LDG; i++)
        untouched += H[i] == 1;
    assert_true(untouched >= ROWS * LDG - s->columns * s->columns);
}

static void check_sums(const scene *s, test_random *r)
{
    double x[2][DOFS], speed[3][ROWS + 1] = {0}, square[ROWS + 1] = {0};
    const double *const both[2] = {x[0], x[1]}, *const one[2] = {x[0], NULL};
    double *const to[2] = {speed[0], speed[1]}, *const third[2] = {speed[2], NULL};
    random_fill(r, x[0], s->n);
    random_fill(r, x[1], s->n);
    tg_support_velocity(s->n, s->columns, s->support, s->J, LD, one, s->row, third);
    tg_support_velocity(s->n, s->columns, s->support, s->J, LD, both, s->row, to);
    tg_support_squares(s->n, s->columns, s->support, s->Y, LD, s->row, square);
    for (int j = 0; j < s->columns; j++)
    {
        double sum[2] = {0, 0};
        for (int k = 0; k < s->n; k++)
            for (int i = 0; i < 2; i++)
                sum[i] += s->J[k * LD + j] * x[i][k];
        assert_near(speed[0][s->row[j]], sum[0], 1e-12);
        assert_near(speed[1][s->row[j]], sum[1], 1e-12);
        assert_near(speed[2][s->row[j]], sum[0], 1e-12);
        assert_near(square[s->row[j]], dot_of(s, s->Y, j, j), 1e-12);
    }
}

static void test_random_trees(void **state)
{
    (void)state;
    test_random r = {7};
    static scene s;
    for (int round = 0; round < 300; round++)
    {
        s.n = 1 + (round * 37) % DOFS;
        s.columns = 1 + round % COLUMNS;
        s.words = tg_chain_words(s.n);
        place_tree(&s, &r);
        fill_columns(&s, &r);
        check_half(&s);
        check_products(&s);
        check_sums(&s, &r);
        free(s.memory);
    }
}

/* the words of a chain: a dof and its ancestors */
static void test_chains(void **state)
{
    (void)state;
    test_random r = {8};
    static scene s;
    s.n = DOFS;
    place_tree(&s, &r);
    int words = tg_chain_words(s.n);
    for (int k = 0; k < s.n; k++)
    {
        uint64_t left[3];
        memcpy(left, s.p.chain + k * words, sizeof left);
        for (int a = k; a >= 0; a = s.parent[a])
            left[a / TG_CHAIN_BITS] ^= (uint64_t)1 << a % TG_CHAIN_BITS;
        assert_true(left[0] == 0 && left[1] == 0 && left[2] == 0);
    }
    free(s.memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_trees), cmocka_unit_test(test_chains)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
