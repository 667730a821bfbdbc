/* What holds for every solver: invariance, modes, refusals, no memory asked for, the same bits twice. */
#include "contact_test.h"

static const double up[3] = {0, 0, 1};
static const char *const solvers[] = {"newton", "ipm", "pgs", "admm"};

/* boxes side by side and on each other, pushed about; scale of mass and length */
static void pile(scene *s, double mass_scale, double length_scale, double spin_frames)
{
    source r = {17};
    memset(s, 0, sizeof *s);
    for (int k = 0; k < 3; k++)
    {
        double mass = mass_scale * (1 + k), inertia[3], edge = 0.2 * length_scale;
        const double size[3] = {edge, edge, edge}, centre[3] = {0.03 * length_scale * k, 0, edge * (0.5 + k)};
        box_inertia(mass, size, inertia);
        int b = add_body(s, mass, inertia, NULL, centre);
        for (int c = 0; c < 4; c++)
        {
            const double p[3] = {centre[0] + (c % 2 ? 0.5 : -0.5) * edge, (c / 2 ? 0.5 : -0.5) * edge, edge * k};
            add_contact(s, b - 1, b, p, up, spin_frames * (k + c), 3, 0.4, 0, 0);
        }
        s->v[6 * b] = uniform(&r, -0.02, 0.02);
        s->v[6 * b + 1] = uniform(&r, -0.02, 0.02);
        s->v[6 * b + 2] = -0.0981;
        s->v[6 * b + 5] = uniform(&r, -0.2, 0.2) / length_scale;
    }
    assemble(s);
}

static void reorder(const scene *from, const int *order, scene *to)
{
    *to = *from;
    for (int b = 0, row = 0; b < from->blocks; b++)
    {
        const tg_block *block = &from->block[order[b]];
        to->block[b] = *block;
        to->block[b].row = row;
        for (int i = 0; i < block->rows; i++, row++)
        {
            memcpy(to->J[row], from->J[block->row + i], sizeof to->J[0]);
            to->bias[row] = from->bias[block->row + i];
        }
    }
    assemble(to);
}

static void assert_same_motion(const scene *a, const scene *b, double length, double tolerance)
{
    for (int i = 0; i < 6 * a->bodies; i++)
        assert_near(b->v_plus[i] * (i % 6 < 3 ? 1 / length : 1), a->v_plus[i], tolerance);
}

/* contacts in another order, tangents turned, mass x 1000, length x 10 (velocities scale with it): the same motion */
static void invariance(void **state)
{
    (void)state;
    scene *s = scene_new(), *other = scene_new();
    tg_solve_options options = tg_solve_default();
    pile(s, 1, 1, 0);
    solve_with(s, &options);
    assert_solved(s);
    const int order[12] = {7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 6, 4};
    reorder(s, order, other);
    solve_with(other, &options);
    assert_solved(other);
    assert_same_motion(s, other, 1, 1e-10);
    for (int k = 0; k < 12; k++)
        for (int i = 0; i < 3; i++)
            assert_near(other->L[3 * k + i], s->L[3 * order[k] + i], 1e-6 * 0.1);
    pile(other, 1, 1, 0.7);
    solve_with(other, &options);
    assert_solved(other);
    assert_same_motion(s, other, 1, 1e-10);
    pile(other, 1000, 1, 0);
    solve_with(other, &options);
    assert_solved(other);
    assert_same_motion(s, other, 1, 1e-10);
    pile(other, 1, 10, 0);
    for (int b = 0; b < other->bodies; b++)
        for (int i = 0; i < 3; i++)
        {
            other->v[6 * b + i] = 10 * s->v[6 * b + i];
            other->v[6 * b + 3 + i] = s->v[6 * b + 3 + i];
        }
    assemble(other);
    solve_with(other, &options);
    assert_solved(other);
    assert_same_motion(s, other, 10, 1e-10);
    free(s);
    free(other);
}

/* solvers agree on v+, where it is unique and where the rule selects it */
static void agreement(void **state)
{
    (void)state;
    scene *s = scene_new(), *other = scene_new();
    pile(s, 1, 1, 0);
    tg_solve_options options = tg_solve_default();
    solve_with(s, &options);
    for (int k = 1; k < 4; k++)
    {
        *other = *s;
        options.solver = solvers[k];
        options.max_sweeps = 20000;
        solve_with(other, &options);
        assert_solved(other);
        assert_same_motion(s, other, 1, 1e-10);
    }
    free(s);
    free(other);
}

/* the same bits twice, whatever was in the scratch */
static void deterministic(void **state)
{
    (void)state;
    scene *s = scene_new(), *other = scene_new();
    for (int k = 0; k < 4; k++)
    {
        tg_solve_options options = tg_solve_default();
        options.solver = solvers[k];
        pile(s, 1, 1, 0);
        pile(other, 1, 1, 0);
        solve_with(s, &options);
        size_t bytes = tg_island_scratch((tg_island_size){.rows = s->rows, .dofs = SCENE_DOFS, .trees = 1});
        size_t mark = tg_arena_mark(test_scratch());
        memset(tg_arena_take(test_scratch(), bytes, 1, "dirt"), 0xff, bytes);
        tg_arena_release(test_scratch(), mark);
        solve_with(other, &options);
        assert_memory_equal(s->L, other->L, (size_t)s->rows * sizeof *s->L);
        assert_memory_equal(s->sigma, other->sigma, (size_t)s->rows * sizeof *s->sigma);
    }
    free(s);
    free(other);
}

/* ---- modes ---- */

static void modes_of(scene *s, tg_block_mode *mode)
{
    tg_error error;
    tg_island island = island_of(s);
    solve(s);
    assert_solved(s);
    assert_int_equal(tg_island_modes(&island, s->L, s->sigma, test_scratch(), mode, &error), TG_OK);
}

/* one ball that leaves, one that sticks, one that slides; a limit, a joint with friction, an equality */
static void modes(void **state)
{
    (void)state;
    const double inertia[3] = {1, 1, 1}, x[3] = {1, 0, 0};
    scene *s = scene_new();
    tg_block_mode mode[8];
    for (int k = 0; k < 6; k++)
    {
        const double at[3] = {k, 0, 0};
        int b = add_body(s, 1, inertia, NULL, at);
        if (k < 3)
            add_contact(s, WORLD, b, at, up, 0, 3, 0.5, 0, 0);
        else
            row_add(s,
                    add_rows(s,
                             k == 3   ? TG_BLOCK_LIMIT
                             : k == 4 ? TG_BLOCK_FRICTION
                                      : TG_BLOCK_EQUALITY,
                             1),
                    b, at, x, false, 1);
        s->v[6 * b + 2] = k == 0 ? 0.2 : -0.1;
        s->v[6 * b] = k == 1 ? 0.01 : k == 2 ? 1 : k == 3 ? -0.3 : 0.25;
    }
    s->block[4].bound = 0.1;
    modes_of(s, mode);
    const tg_mode expected[6] = {TG_MODE_BREAKING, TG_MODE_STICKING, TG_MODE_SLIDING,
                                 TG_MODE_STICKING, TG_MODE_SLIDING,  TG_MODE_STICKING};
    const double margin[6] = {0.2, 0.1, 0.1, 0.3, 0.15, INFINITY};
    for (int k = 0; k < 6; k++)
    {
        assert_int_equal(mode[k].mode, expected[k]);
        assert_false(mode[k].immaterial);
        if (k < 5)
            assert_near(mode[k].margin, margin[k], 1e-12);
        else
            assert_true(isinf(mode[k].margin));
    }
    free(s);
}

/* A pulled block: corners on their cones without slip are immaterial as long as the others hold the block; a single
 * point on its cone is not. */
static void immaterial(void **state)
{
    (void)state;
    const double size[3] = {0.2, 0.2, 0.2}, centre[3] = {0, 0, 0.1};
    double inertia[3];
    tg_block_mode mode[4];
    scene *s = scene_new();
    box_inertia(1, size, inertia);
    int b = add_body(s, 1, inertia, NULL, centre);
    for (int c = 0; c < 4; c++)
    {
        const double p[3] = {c % 2 ? 0.1 : -0.1, c / 2 ? 0.1 : -0.1, 0};
        add_contact(s, WORLD, b, p, up, 0, 3, 0.5, 0, 0);
    }
    s->v[0] = 0.97 * 0.5 * 9.81e-3;
    s->v[2] = -9.81e-3;
    modes_of(s, mode);
    int count = 0;
    for (int c = 0; c < 4; c++)
    {
        assert_int_equal(mode[c].mode, TG_MODE_STICKING);
        assert_true(mode[c].immaterial ? isinf(mode[c].margin) : mode[c].margin > 0);
        count += mode[c].immaterial;
    }
    assert_true(count > 0 && count < 4);
    memset(s, 0, sizeof *s);
    const double origin[3] = {0, 0, 0};
    b = add_body(s, 1, inertia, NULL, origin);
    add_contact(s, WORLD, b, origin, up, 0, 3, 0.5, 0, 0);
    s->v[0] = 0.05;
    s->v[2] = -0.1;
    modes_of(s, mode);
    assert_false(mode[0].immaterial);
    assert_near(mode[0].margin, 0, 1e-12);
    free(s);
}

/* ---- refusals ---- */

static void expect_refusal(const scene *s, const tg_island *island, const tg_solve_options *options, tg_status status,
                           const char *message)
{
    tg_error error;
    tg_solve_result result;
    double L[SCENE_ROWS], sigma[SCENE_ROWS];
    L[0] = 42;
    assert_int_equal(tg_island_solve(island, options, test_scratch(), L, sigma, &result, &error), status);
    assert_non_null(strstr(error.message, message));
    assert_true(L[0] == 42);
    (void)s;
}

static void refusals(void **state)
{
    (void)state;
    scene *s = scene_new();
    tg_solve_options good = tg_solve_default(), bad;
    pile(s, 1, 1, 0);
    tg_island island = island_of(s);
    bad = (tg_solve_options){.solver = "newton"};
    expect_refusal(s, &island, &bad, TG_ERR_ARGUMENT, "tg_solve_default");
    bad = good;
    bad.solver = "magic";
    expect_refusal(s, &island, &bad, TG_ERR_NAME, "'magic'");
    bad = good;
    bad.tolerance = -1;
    expect_refusal(s, &island, &bad, TG_ERR_VALUE, "tolerance");
    s->G[3 * s->rows + 5] = NAN;
    expect_refusal(s, &island, &good, TG_ERR_VALUE, "row 3");
    pile(s, 1, 1, 0);
    s->g[7] = INFINITY;
    expect_refusal(s, &island, &good, TG_ERR_VALUE, "row 7");
    pile(s, 1, 1, 0);
    s->warm[4] = NAN;
    expect_refusal(s, &island, &good, TG_ERR_VALUE, "row 4");
    pile(s, 1, 1, 0);
    s->block[2].mu[1] = -0.1;
    expect_refusal(s, &island, &good, TG_ERR_VALUE, "block 2");
    pile(s, 1, 1, 0);
    s->block[1].rows = 2;
    expect_refusal(s, &island, &good, TG_ERR_ARGUMENT, "block 1");
    pile(s, 1, 1, 0);
    unsigned char few[256];
    tg_arena small = {.base = few, .capacity = sizeof few};
    tg_error error;
    tg_solve_result result;
    assert_int_equal(tg_island_solve(&island, &good, &small, s->L, s->sigma, &result, &error), TG_ERR_CAPACITY);
    assert_non_null(strstr(error.message, "bytes"));
    assert_false(small.failed);
    tg_arena_close(&small);
    free(s);
}

/* no rows at all; rows that nothing can move; two equalities that contradict each other: labelled, with their residual
 */
static void degenerate(void **state)
{
    (void)state;
    scene *s = scene_new();
    const double inertia[3] = {1, 1, 1}, origin[3] = {0, 0, 0}, x[3] = {1, 0, 0};
    add_body(s, 1, inertia, NULL, origin);
    solve(s);
    assert_int_equal(s->result.status, TG_SOLVE_SOLVED);
    add_contact(s, WORLD, WORLD, origin, up, 0, 3, 0.5, 0, 0);
    solve(s);
    assert_solved(s);
    s->bias[0] = -1;
    solve(s);
    assert_int_equal(s->result.status, TG_SOLVE_PARTIAL);
    assert_near(s->result.residual.dual, 1, 0);
    memset(s, 0, sizeof *s);
    add_body(s, 1, inertia, NULL, origin);
    for (int k = 0; k < 2; k++)
    {
        int row = add_rows(s, TG_BLOCK_EQUALITY, 1);
        row_add(s, row, 0, origin, x, false, 1);
        s->bias[row] = k == 0 ? 0.1 : -0.1;
    }
    for (int k = 0; k < 4; k++)
    {
        tg_solve_options options = tg_solve_default();
        options.solver = solvers[k];
        assemble(s);
        solve_with(s, &options);
        assert_int_equal(s->result.status, TG_SOLVE_PARTIAL);
        assert_true(tg_residual_max(&s->result.residual) >= 0.1 - 1e-12);
        assert_true(isfinite(s->L[0]) && isfinite(s->L[1]));
    }
    free(s);
}

/* ---- contradictions ---- */

static void solve_rows(int rows, const double *G, const double *g, const tg_block *block, double *L,
                       tg_solve_result *result)
{
    tg_solve_options options = tg_solve_default();
    tg_arena scratch = {.capacity = tg_island_scratch((tg_island_size){.rows = rows})};
    tg_island island = {.rows = rows, .blocks = 1, .block = block, .G = G, .ldg = rows, .g = g};
    double sigma[3];
    tg_error error;
    scratch.base = tg_alloc(NULL, scratch.capacity);
    assert_non_null(scratch.base);
    assert_int_equal(tg_island_solve(&island, &options, &scratch, L, sigma, result, &error), TG_OK);
    tg_arena_close(&scratch);
    tg_free(NULL, scratch.base);
}

/* A box between a floor and a ceiling, on four points of each that push it out: no impulse does both, which is known
 * without searching for one. With a ceiling that leaves room, the floor pushes it up. */
static void squeezed(void **state)
{
    (void)state;
    const double inertia[3] = {0.01, 0.01, 0.01}, origin[3] = {0, 0, 0}, down[3] = {0, 0, -1};
    for (int room = 0; room < 2; room++)
    {
        scene *s = scene_new();
        add_body(s, 1, inertia, NULL, origin);
        for (int k = 0; k < 8; k++)
        {
            const double point[3] = {k % 2 ? 0.1 : -0.1, k / 2 % 2 ? 0.1 : -0.1, k < 4 ? -0.1 : 0.1};
            int row = add_contact(s, WORLD, 0, point, k < 4 ? up : down, 0, 3, 0.5, 0, 0);
            s->bias[row] = k < 4 || !room ? -0.05 : 0.06;
        }
        s->v[0] = 0.3;
        solve(s);
        assert_int_equal(s->result.status, room ? TG_SOLVE_SOLVED : TG_SOLVE_PARTIAL);
        assert_true(s->result.interior == 0 && s->result.newton < 40);
        free(s);
    }
}

/* A contact whose body can only move along (0.1, 1, 0), n first, and must move up: it would slide, and friction 1 holds
 * more against that than the normal does for it. Without friction it moves. */
static void jammed(void **state)
{
    (void)state;
    const double d[3] = {0.1, 1, 0}, g[3] = {-0.05, 0, 0};
    double G[9], L[3];
    for (int i = 0; i < 9; i++)
        G[i] = d[i / 3] * d[i % 3];
    for (int friction = 0; friction < 2; friction++)
    {
        tg_block block = {.kind = TG_BLOCK_CONTACT, .rows = 3, .mu = {friction, friction}};
        tg_solve_result result;
        solve_rows(3, G, g, &block, L, &result);
        assert_int_equal(result.status, friction ? TG_SOLVE_PARTIAL : TG_SOLVE_SOLVED);
        assert_true(friction || fabs(L[0] - 5) < 1e-9);
    }
}

/* A normal that only rounding moves: what moves along the tangents is left alone. */
static void moved_by_rounding(void **state)
{
    (void)state;
    const double G[9] = {1e-35, 0, 0, 0, 1, 0, 0, 0, 1}, g[3] = {-1e-18, 0.3, 0};
    const tg_block block = {.kind = TG_BLOCK_CONTACT, .rows = 3, .mu = {0.5, 0.5}};
    double L[3];
    tg_solve_result result;
    solve_rows(3, G, g, &block, L, &result);
    assert_int_equal(result.status, TG_SOLVE_SOLVED);
    for (int i = 0; i < 3; i++)
        assert_near(L[i], 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariance),    cmocka_unit_test(agreement),
        cmocka_unit_test(deterministic), cmocka_unit_test(modes),
        cmocka_unit_test(immaterial),    cmocka_unit_test(refusals),
        cmocka_unit_test(degenerate),    cmocka_unit_test(squeezed),
        cmocka_unit_test(jammed),        cmocka_unit_test(moved_by_rounding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
