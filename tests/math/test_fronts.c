/* Sparse systems on random graphs: the order of elimination, and solutions that are known beforehand. */
#include <stdlib.h>

#include "math/fronts.h"
#include "math/lanes.h"
#include "math_test.h"

enum
{
    NODES = 40,
    LARGEST = 14,  /* unknowns of a node */
    ELEMENTS = 80, /* beside those of single nodes */
    MEMBERS = 4,   /* nodes of an element, at most */
    VECTOR = NODES * (LARGEST + 4),
    ROOM = 2000000
};

typedef struct element
{
    int count, node[MEMBERS];
    double value[MEMBERS * LARGEST][MEMBERS * LARGEST];
} element;

typedef struct system_of_elements
{
    int nodes, elements;
    int size[NODES];
    element *element; /* the first are those of the nodes */
} system_of_elements;

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static double uniform(unsigned *seed)
{
    return (double)next(seed) / 8388608.0 - 1;
}

/* ---- systems ---- */

static system_of_elements make_system(int nodes)
{
    system_of_elements s = {.nodes = nodes, .elements = nodes};
    s.element = calloc(NODES + ELEMENTS, sizeof *s.element);
    assert_non_null(s.element);
    for (int i = 0; i < nodes; i++)
    {
        s.size[i] = 1;
        s.element[i].count = 1;
        s.element[i].node[0] = i;
    }
    return s;
}

static void join(system_of_elements *s, int a, int b)
{
    s->element[s->elements++] = (element){.count = 2, .node = {a, b}};
}

static int unknowns_of(const system_of_elements *s, const element *e)
{
    int sum = 0;
    for (int i = 0; i < e->count; i++)
        sum += s->size[e->node[i]];
    return sum;
}

static void fill_values(const system_of_elements *s, double diagonal, unsigned *seed)
{
    for (int k = 0; k < s->elements; k++)
    {
        element *e = &s->element[k];
        int n = unknowns_of(s, e);
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                e->value[i][j] = uniform(seed) + (k < s->nodes && i == j ? diagonal : 0);
    }
}

/* what is below the diagonals from what is above */
static void make_symmetric(const system_of_elements *s)
{
    for (int k = 0; k < s->elements; k++)
    {
        element *e = &s->element[k];
        for (int i = unknowns_of(s, e) - 1; i > 0; i--)
            for (int j = 0; j < i; j++)
                e->value[i][j] = e->value[j][i];
    }
}

/* a few nodes, no one twice */
static element random_element(int nodes, unsigned *seed)
{
    element e = {0};
    for (int i = 2 + (int)(next(seed) % (MEMBERS - 1)); i > 0; i--)
    {
        int node = (int)(next(seed) % (unsigned)nodes), k = 0;
        while (k < e.count && e.node[k] != node)
            k++;
        e.node[k] = node;
        e.count += k == e.count;
    }
    return e;
}

/* most nodes: free bodies, as in contact problems, or all sizes */
static system_of_elements random_system(bool bodies, unsigned *seed)
{
    system_of_elements s = make_system(1 + (int)(next(seed) % NODES));
    for (int i = 0; i < s.nodes; i++)
        s.size[i] = bodies && next(seed) % 8 != 0 ? 6 : 1 + (int)(next(seed) % LARGEST);
    for (int k = (int)(next(seed) % ELEMENTS); k > 0; k--)
        s.element[s.elements++] = random_element(s.nodes, seed);
    return s;
}

/* ---- fronts of them ---- */

static tg_fronts make_fronts(size_t capacity, void **memory)
{
    tg_fronts_room room = {.nodes = NODES,
                           .elements = NODES + ELEMENTS,
                           .element_nodes = NODES + MEMBERS * ELEMENTS,
                           .edges = NODES * NODES,
                           .unknowns = NODES * LARGEST,
                           .capacity = capacity};
    tg_arena count = {0};
    tg_fronts f;
    tg_fronts_place(&f, &room, &count);
    size_t bytes = (count.used + 63) / 64 * 64;
    *memory = aligned_alloc(64, bytes);
    assert_non_null(*memory);
    tg_arena arena = {.base = *memory, .capacity = bytes};
    tg_fronts_place(&f, &room, &arena);
    return f;
}

static void load_system(tg_fronts *f, const system_of_elements *s)
{
    int length = 0, at = 0;
    f->nnode = s->nodes;
    f->nelement = s->elements;
    for (int i = 0; i < s->nodes; i++)
    {
        f->size[i] = s->size[i];
        f->offset[i] = length;
        length += v4_pad(s->size[i]);
    }
    for (int k = 0; k < s->elements; k++)
    {
        f->element_start[k] = at;
        for (int i = 0; i < s->element[k].count; i++)
            f->element_node[at++] = s->element[k].node[i];
    }
    f->element_start[s->elements] = at;
}

static void add_element(const void *context, int number, const int *at, double *A, int ld)
{
    const system_of_elements *s = context;
    const element *e = &s->element[number];
    for (int a = 0, i = 0; a < e->count; a++)
        for (int r = 0; r < s->size[e->node[a]]; r++, i++)
            for (int b = 0, j = 0; b < e->count; b++)
                for (int c = 0; c < s->size[e->node[b]]; c++, j++)
                    A[(at[a] + r) * ld + at[b] + c] += e->value[i][j];
}

/* b += E x of one element */
static void multiply_element(const tg_fronts *f, const element *e, const double *x, double *b)
{
    int place[MEMBERS * LARGEST], n = 0;
    for (int a = 0; a < e->count; a++)
        for (int r = 0; r < f->size[e->node[a]]; r++)
            place[n++] = f->offset[e->node[a]] + r;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            b[place[i]] += e->value[i][j] * x[place[j]];
}

/* ---- tests ---- */

static void check_solution(const system_of_elements *s, bool symmetric, unsigned *seed)
{
    void *memory;
    tg_fronts f = make_fronts(ROOM, &memory);
    double x[VECTOR] = {0}, b[VECTOR] = {0};
    load_system(&f, s);
    assert_true(tg_fronts_analyse(&f));
    fill_values(s, 100, seed);
    if (symmetric)
        make_symmetric(s);
    for (int i = 0; i < s->nodes; i++)
        for (int k = 0; k < s->size[i]; k++)
            x[f.offset[i] + k] = uniform(seed);
    for (int k = 0; k < s->elements; k++)
        multiply_element(&f, &s->element[k], x, b);
    assert_true(tg_fronts_factor(&f, symmetric, add_element, s));
    tg_fronts_solve(&f, b);
    for (int i = 0; i < VECTOR; i++)
        assert_true(fabs(b[i] - x[i]) < 1e-12);
    free(memory);
}

static void test_solutions(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 200; trial++)
    {
        unsigned seed = trial;
        system_of_elements s = random_system(trial % 2 == 0, &seed);
        check_solution(&s, false, &seed);
        check_solution(&s, true, &seed);
        free(s.element);
    }
}

/* rows whose pivots are elsewhere: every node's own matrix has zeros on its diagonal */
static void test_pivots(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int size = 2; size <= LARGEST; size += 2)
    {
        void *memory;
        system_of_elements s = make_system(2);
        tg_fronts f = make_fronts(ROOM, &memory);
        double x[VECTOR] = {0}, b[VECTOR] = {0};
        s.size[0] = s.size[1] = size;
        join(&s, 0, 1);
        load_system(&f, &s);
        assert_true(tg_fronts_analyse(&f));
        fill_values(&s, 0, &seed);
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < size; i++)
            {
                s.element[k].value[i][i] = -s.element[2].value[k * size + i][k * size + i];
                s.element[k].value[i][size - 1 - i] += 10;
            }
        for (int i = 0; i < 2 * size; i++)
            x[i / size * v4_pad(size) + i % size] = uniform(&seed);
        for (int k = 0; k < s.elements; k++)
            multiply_element(&f, &s.element[k], x, b);
        assert_true(tg_fronts_factor(&f, false, add_element, &s));
        tg_fronts_solve(&f, b);
        for (int i = 0; i < VECTOR; i++)
            assert_true(fabs(b[i] - x[i]) < 1e-12);
        free(memory);
        free(s.element);
    }
}

/* the same numbers twice, also after another system was there */
static void test_repeats(void **state)
{
    (void)state;
    void *memory;
    unsigned seed = 8;
    tg_fronts f = make_fronts(ROOM, &memory);
    double first[VECTOR] = {0};
    system_of_elements s = random_system(true, &seed), other = random_system(false, &seed);
    fill_values(&s, 50, &seed);
    fill_values(&other, 50, &seed);
    for (int round = 0; round < 2; round++)
    {
        double x[VECTOR];
        for (int i = 0; i < VECTOR; i++)
            x[i] = i % 7;
        load_system(&f, &s);
        assert_true(tg_fronts_analyse(&f));
        assert_true(tg_fronts_factor(&f, false, add_element, &s));
        tg_fronts_solve(&f, x);
        if (round > 0)
            assert_memory_equal(x, first, sizeof x);
        memcpy(first, x, sizeof x);
        load_system(&f, &other);
        assert_true(tg_fronts_analyse(&f));
        assert_true(tg_fronts_factor(&f, false, add_element, &other));
    }
    free(memory);
    free(s.element);
    free(other.element);
}

/* a row of nodes, each touching the next: no node is ever connected to more than two others */
static void test_order_of_a_path(void **state)
{
    (void)state;
    void *memory;
    system_of_elements s = make_system(NODES);
    tg_fronts f = make_fronts(ROOM, &memory);
    for (int i = 1; i < NODES; i++)
        join(&s, i - 1, i);
    load_system(&f, &s);
    assert_true(tg_fronts_analyse(&f));
    bool seen[NODES] = {false};
    for (int i = 0; i < NODES; i++)
    {
        assert_false(seen[f.order.order[i]]);
        seen[f.order.order[i]] = true;
        assert_in_range(f.order.nbound[i], 0, 2);
    }
    free(memory);
    free(s.element);
}

static void test_star_is_eliminated_from_its_points(void **state)
{
    (void)state;
    void *memory;
    system_of_elements s = make_system(NODES);
    tg_fronts f = make_fronts(ROOM, &memory);
    for (int i = 1; i < NODES; i++)
        join(&s, 0, i);
    load_system(&f, &s);
    assert_true(tg_fronts_analyse(&f));
    assert_true(f.order.place[0] >= NODES - 2);
    free(memory);
    free(s.element);
}

/* all nodes touch all others: one front with more unknowns than are eliminated by hand */
static void test_not_positive_definite(void **state)
{
    (void)state;
    void *memory;
    unsigned seed = 6;
    system_of_elements s = make_system(MEMBERS);
    for (int i = 0; i < MEMBERS; i++)
        s.size[i] = LARGEST;
    s.element[s.elements++] = (element){.count = MEMBERS, .node = {0, 1, 2, 3}};
    tg_fronts f = make_fronts(ROOM, &memory);
    load_system(&f, &s);
    assert_true(tg_fronts_analyse(&f));
    for (int sign = -1; sign <= 1; sign += 2)
    {
        fill_values(&s, 100 * sign, &seed);
        make_symmetric(&s);
        assert_true(tg_fronts_factor(&f, true, add_element, &s) == (sign > 0));
        assert_true(tg_fronts_factor(&f, false, add_element, &s));
    }
    free(memory);
    free(s.element);
}

static void test_says_what_it_cannot_do(void **state)
{
    (void)state;
    void *memory;
    unsigned seed = 5;
    system_of_elements s = make_system(3);
    for (int i = 0; i < 3; i++)
        s.size[i] = 2;
    join(&s, 0, 1);
    join(&s, 1, 2);
    tg_fronts f = make_fronts(ROOM, &memory);
    load_system(&f, &s);
    assert_true(tg_fronts_analyse(&f));
    fill_values(&s, 10, &seed);
    for (int j = 0; j < 4; j++)
        s.element[0].value[0][j] = s.element[3].value[0][j] = 0;
    assert_false(tg_fronts_factor(&f, false, add_element, &s)); /* a row of zeros */
    fill_values(&s, 10, &seed);
    s.element[1].value[0][0] = NAN;
    assert_false(tg_fronts_factor(&f, false, add_element, &s));
    assert_false(tg_fronts_factor(&f, true, add_element, &s));
    free(memory);
    f = make_fronts(8, &memory);
    load_system(&f, &s);
    assert_false(tg_fronts_analyse(&f)); /* no room */
    free(memory);
    free(s.element);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_solutions),
        cmocka_unit_test(test_pivots),
        cmocka_unit_test(test_repeats),
        cmocka_unit_test(test_order_of_a_path),
        cmocka_unit_test(test_star_is_eliminated_from_its_points),
        cmocka_unit_test(test_not_positive_definite),
        cmocka_unit_test(test_says_what_it_cannot_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
