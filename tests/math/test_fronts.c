/* Sparse systems on random graphs: the order of elimination, and solutions that are known beforehand. */
#include <stdlib.h>

#include "math/fronts.h"
#include "math/lanes.h"
#include "math_test.h"

enum
{
    NODES = 40,
    LARGEST = 14, /* unknowns of a node: fronts on both sides of what is done by calls */
    ROOM = 400000
};

typedef struct graph
{
    int n;
    bool edge[NODES][NODES];
    int size[NODES];
} graph;

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static double uniform(unsigned *seed)
{
    return (double)next(seed) / 8388608.0 - 1;
}

static graph random_graph(unsigned *seed)
{
    graph g = {.n = 1 + (int)(next(seed) % NODES)};
    int edges = (int)(next(seed) % (unsigned)(3 * g.n + 1));
    for (int k = 0; k < edges; k++)
    {
        int a = (int)(next(seed) % (unsigned)g.n), b = (int)(next(seed) % (unsigned)g.n);
        g.edge[a][b] = g.edge[b][a] = a != b;
    }
    for (int i = 0; i < g.n; i++)
        g.size[i] = 1 + (int)(next(seed) % LARGEST);
    return g;
}

static tg_fronts make_fronts(size_t capacity, void **memory)
{
    tg_arena count = {0};
    tg_fronts f;
    tg_fronts_place(&f, NODES, NODES * NODES, NODES * (LARGEST + 4), ROOM, capacity, &count);
    size_t bytes = (count.used + 63) / 64 * 64;
    *memory = aligned_alloc(64, bytes);
    assert_non_null(*memory);
    tg_arena arena = {.base = *memory, .capacity = bytes};
    tg_fronts_place(&f, NODES, NODES * NODES, NODES * (LARGEST + 4), ROOM, capacity, &arena);
    return f;
}

/* returns the length of a vector */
static int load_graph(tg_fronts *f, const graph *g)
{
    int edges = 0, length = 0;
    f->nnode = g->n;
    for (int i = 0; i < g->n; i++)
    {
        f->size[i] = g->size[i];
        f->offset[i] = length;
        length += v4_pad(g->size[i]);
        f->start[i] = edges;
        for (int j = 0; j < g->n; j++)
            if (g->edge[i][j])
                f->neighbour[edges++] = j;
    }
    f->start[g->n] = edges;
    return length;
}

static void random_values(const tg_fronts *f, double diagonal, unsigned *seed)
{
    for (size_t i = 0; i < f->values; i++)
        f->value[i] = uniform(seed);
    for (int i = 0; i < f->nnode; i++)
        for (int k = 0; k < f->size[i]; k++)
            f->value[f->node_block[i] + (size_t)(k * (v4_pad(f->size[i]) + 1))] += diagonal;
}

static double row_times(const double *row, const double *x, int n)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += row[k] * x[k];
    return sum;
}

/* b = A x */
static void multiply(const tg_fronts *f, const double *x, double *b)
{
    for (int i = 0; i < f->nnode; i++)
        for (int r = 0; r < f->size[i]; r++)
        {
            double *out = &b[f->offset[i] + r];
            *out =
                row_times(f->value + f->node_block[i] + (size_t)(r * v4_pad(f->size[i])), x + f->offset[i], f->size[i]);
            for (int e = f->start[i]; e < f->start[i + 1]; e++)
            {
                int j = f->neighbour[e];
                *out += row_times(f->value + f->edge_block[e] + (size_t)(r * v4_pad(f->size[j])), x + f->offset[j],
                                  f->size[j]);
            }
        }
}

static void test_solutions(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 100; trial++)
    {
        unsigned seed = trial;
        void *memory;
        graph g = random_graph(&seed);
        tg_fronts f = make_fronts(2 * ROOM, &memory);
        double x[NODES * (LARGEST + 4)] = {0}, b[NODES * (LARGEST + 4)] = {0};
        int length = load_graph(&f, &g);
        assert_true(tg_fronts_analyse(&f));
        random_values(&f, 40, &seed);
        for (int i = 0; i < g.n; i++)
            for (int k = 0; k < g.size[i]; k++)
                x[f.offset[i] + k] = uniform(&seed);
        multiply(&f, x, b);
        assert_true(tg_fronts_factor(&f));
        tg_fronts_solve(&f, b);
        for (int i = 0; i < length; i++)
            assert_true(fabs(b[i] - x[i]) < 1e-12);
        free(memory);
    }
}

/* a row of nodes, each touching the next: no node but the ends' neighbours is ever connected to more than two others */
static void test_order_of_a_path(void **state)
{
    (void)state;
    void *memory;
    graph g = {.n = NODES};
    tg_fronts f = make_fronts(ROOM, &memory);
    for (int i = 0; i < NODES; i++)
    {
        g.size[i] = 1;
        if (i > 0)
            g.edge[i][i - 1] = g.edge[i - 1][i] = true;
    }
    load_graph(&f, &g);
    assert_true(tg_fronts_analyse(&f));
    bool seen[NODES] = {false};
    for (int i = 0; i < NODES; i++)
    {
        assert_false(seen[f.order.order[i]]);
        seen[f.order.order[i]] = true;
        assert_in_range(f.order.nbound[i], 0, 2);
    }
    free(memory);
}

static void test_star_is_eliminated_from_its_points(void **state)
{
    (void)state;
    void *memory;
    graph g = {.n = NODES};
    tg_fronts f = make_fronts(ROOM, &memory);
    for (int i = 0; i < NODES; i++)
    {
        g.size[i] = 2;
        g.edge[0][i] = g.edge[i][0] = i > 0;
    }
    load_graph(&f, &g);
    assert_true(tg_fronts_analyse(&f));
    assert_true(f.order.place[0] >= NODES - 2);
    free(memory);
}

static void test_says_what_it_cannot_do(void **state)
{
    (void)state;
    void *memory;
    unsigned seed = 5;
    graph g = {.n = 3, .size = {2, 2, 2}};
    g.edge[0][1] = g.edge[1][0] = g.edge[1][2] = g.edge[2][1] = true;
    tg_fronts f = make_fronts(ROOM, &memory);
    load_graph(&f, &g);
    assert_true(tg_fronts_analyse(&f));
    random_values(&f, 10, &seed);
    for (int k = 0; k < 2 * v4_pad(2); k++)
        f.value[f.node_block[0] + (size_t)k] = 0;
    for (int k = 0; k < 2 * v4_pad(2); k++)
        f.value[f.edge_block[0] + (size_t)k] = 0;
    assert_false(tg_fronts_factor(&f)); /* two rows of zeros */
    free(memory);
    f = make_fronts(8, &memory);
    load_graph(&f, &g);
    assert_false(tg_fronts_analyse(&f)); /* no room */
    free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_order_of_a_path),
        cmocka_unit_test(test_star_is_eliminated_from_its_points),
        cmocka_unit_test(test_says_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
