/* The derivative of a fixed number of alternations of "staggered", on a cube that sticks, slides, or slides and spins:
 * against differences of these alternations, and against the derivative of the law, from which it differs where they
 * have not converged (the bias). */
#include "contact/contact_test.h"
#include "contact/implicit.h"
#include "solve/staggered.h"

enum
{
    ROWS = 16,
    COUNTS = 6
};

static const int alternations[COUNTS] = {1, 2, 3, 5, 10, 30};
static const double up[3] = {0, 0, 1};

typedef enum motion
{
    STICKS,
    SLIDES,
    SPINS,
    MOTIONS
} motion;

/* A cube on four corners, pushed above its floor so that normals and friction depend on each other; everything moves
 * with h. */
static void cube(scene *s, motion kind, uint64_t seed, double h)
{
    static const double size[3] = {0.1, 0.1, 0.1}, centre[3] = {0, 0, 0.05};
    source r = {seed * 7919 + 3};
    double inertia[3], mass = 1 + 0.3 * h * uniform(&r, -1, 1);
    memset(s, 0, sizeof *s);
    box_inertia(mass, size, inertia);
    int b = add_body(s, mass, inertia, NULL, centre);
    for (int c = 0; c < 4; c++)
    {
        const double p[3] = {c % 2 ? 0.05 : -0.05, c / 2 ? 0.05 : -0.05, 0};
        add_contact(s, WORLD, b, p, up, 0, 3, 0.3, 0, 0);
    }
    double angle = uniform(&r, 0, 6.28), speed = kind == STICKS ? 5e-4 : uniform(&r, 0.5, 1.5);
    const double v[6] = {speed * cos(angle), speed * sin(angle), -9.81e-3, 0, 0, kind == SPINS ? uniform(&r, 2, 6) : 0};
    for (int i = 0; i < 6; i++)
        s->v[i] = v[i] + h * uniform(&r, -1, 1) * (i < 3 ? 1e-2 : 1e-1);
    assemble(s);
}

typedef struct run
{
    scene s;
    tg_cones cones;
    tg_staggered staggered;
    _Alignas(64) double x[ROWS];
    _Alignas(64) double memory[3 * ROWS * ROWS + TG_STAGGERED_VECTORS * ROWS], cone_memory[64 * ROWS * ROWS];
    int indices[2 * ROWS];
    tg_set sets[ROWS];
} run;

static void start(run *u, motion kind, uint64_t seed, double h)
{
    tg_arena arena = {.base = (unsigned char *)u->cone_memory, .capacity = sizeof u->cone_memory};
    cube(&u->s, kind, seed, h);
    tg_island island = island_of(&u->s);
    assert_true(tg_cones_take(&u->cones, island.rows, &arena));
    tg_cones_build(&u->cones, &island, NULL);
    assert_true(u->cones.rows <= ROWS);
    memset(u->x, 0, sizeof u->x);
    u->staggered = (tg_staggered){.matrix = {u->memory, u->memory + ROWS * ROWS, u->memory + 2 * ROWS * ROWS},
                                  .vectors = u->memory + 3 * ROWS * ROWS,
                                  .indices = u->indices,
                                  .sets = u->sets};
    tg_staggered_start(&u->staggered, &u->cones, u->x);
}

/* s = G x + g */
static void velocity(const run *u, double *s)
{
    tg_cones_velocity(&u->cones, u->x, s);
}

typedef struct derivative
{
    int n;
    double G[ROWS][ROWS], g[ROWS];
} derivative;

static void change(void *user, const double *x, double *w)
{
    const derivative *d = user;
    for (int i = 0; i < d->n; i++)
    {
        w[i] = d->g[i];
        for (int j = 0; j < d->n; j++)
            w[i] += d->G[i][j] * x[j];
    }
}

static derivative changes(const run *a, const run *b, double h)
{
    derivative d = {.n = a->cones.rows};
    for (int i = 0; i < d.n; i++)
    {
        d.g[i] = (a->cones.g[i] - b->cones.g[i]) / (2 * h);
        for (int j = 0; j < d.n; j++)
            d.G[i][j] = (a->cones.G[i * a->cones.ld + j] - b->cones.G[i * b->cones.ld + j]) / (2 * h);
    }
    return d;
}

/* ds = w + G dx */
static void speed_change(const run *u, derivative *d, const double *x, const double *dx, double *ds)
{
    change(d, x, ds);
    for (int i = 0; i < d->n; i++)
        for (int j = 0; j < d->n; j++)
            ds[i] += u->cones.G[i * u->cones.ld + j] * dx[j];
}

/* ds of the law, at its solution */
static bool law_change(run *u, derivative *d, double *ds)
{
    static _Alignas(64) unsigned char memory[1 << 22];
    tg_arena arena = {.base = memory, .capacity = sizeof memory};
    tg_block_mode mode[ROWS];
    tg_implicit f;
    tg_error error;
    double x[ROWS], w[ROWS], dL[ROWS], dx[ROWS], unscaled[ROWS];
    solve(&u->s);
    tg_island island = island_of(&u->s);
    assert_int_equal(tg_island_modes(&island, u->s.L, u->s.sigma, test_scratch(), mode, &error), TG_OK);
    assert_int_equal(tg_implicit_factor(&island, u->s.L, u->s.sigma, mode, u->s.result.selection, TG_IMPLICIT_MOTION,
                                        &arena, &f, &error),
                     TG_OK);
    tg_cones_gather(&u->cones, u->s.L, x);
    change(d, x, w);
    for (int i = 0; i < d->n; i++)
        unscaled[u->cones.source[i]] = w[i] / u->cones.scale[i];
    tg_implicit_forward(&f, unscaled, dL);
    tg_cones_gather(&u->cones, dL, dx);
    speed_change(u, d, x, dx, ds);
    return f.kind == TG_GRADIENT_EXACT;
}

static double apart(int n, const double *a, const double *b)
{
    double worst = 0, size = 1;
    for (int i = 0; i < n; i++)
    {
        worst = fmax(worst, fabs(a[i] - b[i]));
        size = fmax(size, fabs(b[i]));
    }
    return worst / size;
}

typedef struct table
{
    double error[COUNTS], bias[COUNTS]; /* largest over seeds */
    int compared;
} table;

/* ds after `count` alternations through these points, the first the start, by reverse mode: row after row. Rows of a
 * contact are its normal and two tangents. */
static void alternations_change(const run *u, int count, double (*point)[ROWS], derivative *d, double *ds, double *work,
                                int *order)
{
    change(d, point[count], ds);
    for (int i = 0; i < d->n; i++)
    {
        double bar[ROWS], radius[ROWS] = {0}, z[2][ROWS], w[2][ROWS], x[ROWS];
        memcpy(bar, u->cones.G + (ptrdiff_t)i * u->cones.ld, sizeof(double) * (size_t)d->n);
        for (int k = count; k > 0; k--)
        {
            tg_staggered_vjp(&u->staggered, point[k - 1], point[k], bar, z[0], z[1], radius, work, order);
            for (int r = 0; r < d->n; r++)
                x[r] = point[r % 3 == 0 ? k : k - 1][r];
            change(d, x, w[0]);
            change(d, point[k], w[1]);
            ds[i] += dot_n(d->n, z[0], w[0]) + dot_n(d->n, z[1], w[1]);
        }
    }
}

static void look(motion kind, uint64_t seed, table *t)
{
    static run at, step[4];
    static double point[31][ROWS];
    static const double sign[4] = {2, 1, -1, -2};
    const double h = 1e-4, aim = 1e-15;
    _Alignas(64) double s[4][ROWS]; /* tg_cones_velocity stores whole vectors */
    double law[ROWS], ds[ROWS], work[ROWS * ROWS + 7 * ROWS];
    int order[ROWS], done = 0;
    start(&at, kind, seed, 0);
    for (int k = 0; k < 4; k++)
        start(&step[k], kind, seed, sign[k] * h);
    derivative d = changes(&step[1], &step[2], h);
    if (!law_change(&at, &d, law))
        return;
    t->compared++;
    for (int c = 0; c < COUNTS; c++)
    {
        for (; done < alternations[c]; done++)
        {
            tg_staggered_step(&at.staggered, aim, at.x);
            memcpy(point[done + 1], at.x, sizeof at.x);
            for (int k = 0; k < 4; k++)
                tg_staggered_step(&step[k].staggered, aim, step[k].x);
        }
        alternations_change(&at, done, point, &d, ds, work, order);
        double differences[ROWS];
        for (int k = 0; k < 4; k++)
            velocity(&step[k], s[k]);
        for (int i = 0; i < d.n; i++)
            differences[i] = (8 * (s[1][i] - s[2][i]) - (s[0][i] - s[3][i])) / (12 * h);
        t->error[c] = fmax(t->error[c], apart(d.n, ds, differences));
        t->bias[c] = fmax(t->bias[c], apart(d.n, ds, law));
    }
}

static void unrolled(void **state)
{
    (void)state;
    static const char *const names[MOTIONS] = {"sticks", "slides", "slides and spins"};
    print_message("| cube | alternations |");
    for (int c = 0; c < COUNTS; c++)
        print_message(" %d |", alternations[c]);
    print_message("\n");
    for (int kind = 0; kind < MOTIONS; kind++)
    {
        table t = {0};
        for (uint64_t seed = 1; seed <= 100; seed++)
            look((motion)kind, seed, &t);
        print_message("| %s, %d cubes | error |", names[kind], t.compared);
        for (int c = 0; c < COUNTS; c++)
            print_message(" %.1e |", t.error[c]);
        print_message("\n| | bias |");
        for (int c = 0; c < COUNTS; c++)
            print_message(" %.1e |", t.bias[c]);
        print_message("\n");
        assert_true(t.compared >= 50);
        for (int c = 0; c < COUNTS; c++)
            assert_true(t.error[c] < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unrolled)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
