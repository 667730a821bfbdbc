/* The pieces: projection, the exact solution of one contact in every dimension, the residual as a certificate. */
#include "contact_test.h"

#include "solve/cone.h"

/* the projection is the nearest point: the difference is normal to it and in the polar cone */
static void projection(void **state)
{
    (void)state;
    source r = {3};
    for (int k = 0; k < 2000; k++)
    {
        int d = 1 + below(&r, 6);
        double y[6], p[6], product = 0;
        for (int i = 0; i < d; i++)
            y[i] = p[i] = uniform(&r, -1, 1);
        tg_cone_project(d, p);
        assert_true(tg_cone_tangent(d, p) <= p[0] * (1 + 1e-15));
        double polar[6];
        for (int i = 0; i < d; i++)
        {
            polar[i] = p[i] - y[i];
            product += polar[i] * p[i];
        }
        assert_near(product, 0, 1e-15);
        assert_true(tg_cone_tangent(d, polar) <= polar[0] + 1e-15);
    }
}

/* A block that is solved nearly, from any alpha: s_N = 0, what slips does so against its friction, both to rounding, and
 * friction is within a hundredth of the cone. */
static void check_nearly(const tg_cones *cones, double alpha)
{
    const tg_cone *cone = cones->block;
    double x[6] = {0}, s[6], size = 0, along = 0, slip = 0, largest = 0;
    tg_cone_nearly(cone, cones->G, cones->ld, cones->g, &alpha, x);
    for (int i = 0; i < cone->dim; i++)
    {
        s[i] = cones->g[i];
        largest = fmax(largest, fabs(s[i]));
        for (int j = 0; j < cone->dim; j++)
            s[i] += cones->G[cones->ld * i + j] * x[j];
    }
    if (x[0] == 0)
        return;
    for (int i = 1; i < cone->dim; i++)
    {
        size += x[i] * x[i];
        along += x[i] * s[i];
        slip += s[i] * s[i];
    }
    assert_near(s[0], 0, 1e-9 * largest);
    assert_true(sqrt(size) <= 1.0101 * x[0] && (alpha == 0 || sqrt(size) >= 0.99 * x[0]));
    assert_near(along, -sqrt(size * slip), 1e-9 * largest * sqrt(size));
}

/* One body, one contact, random inertia, all dimensions, mu from 0 to 2, light and heavy: one block alone is solved to
 * rounding, which the residual, recomputed from G and g, says. */
static void one_contact(void **state)
{
    (void)state;
    static const int dims[4] = {1, 3, 4, 6};
    source r = {5};
    scene *s = scene_new();
    int modes[3] = {0};
    double worst = 0;
    for (int k = 0; k < 4000; k++)
    {
        double mass = pow(10, uniform(&r, -3, 3)), inertia[3], p[3], n[3] = {0, 0, 1};
        const double origin[3] = {0, 0, 0};
        s->bodies = s->rows = s->blocks = 0;
        for (int i = 0; i < 3; i++)
        {
            inertia[i] = mass * uniform(&r, 0.01, 0.1);
            p[i] = uniform(&r, -0.5, 0.5);
        }
        int b = add_body(s, mass, inertia, NULL, origin);
        int dim = dims[below(&r, 4)];
        add_contact(s, WORLD, b, p, n, uniform(&r, 0, 3), dim, uniform(&r, 0, 2), uniform(&r, 0, 0.1),
                    uniform(&r, 0, 0.1));
        for (int i = 0; i < 6; i++)
            s->v[i] = uniform(&r, -1, 1);
        assemble(s);
        tg_cones cones;
        tg_island island = island_of(s);
        size_t mark = tg_arena_mark(test_scratch());
        assert_true(tg_cones_take(&cones, s->rows, test_scratch()));
        tg_cones_build(&cones, &island, NULL);
        double x[6] = {0};
        tg_cone_solve(cones.block, cones.G, cones.ld, cones.g, x);
        check_nearly(&cones, below(&r, 2) == 0 ? 0 : cones.G[0] * pow(10, uniform(&r, -3, 3)));
        tg_cones_scatter(&cones, x, s->rows, s->L);
        tg_arena_release(test_scratch(), mark);
        worst = fmax(worst, residual_long_double(s));
        double slip = 0;
        tg_island_residual(&island, s->L, false, s->sigma);
        for (int i = 1; i < dim; i++)
            slip += fabs(s->sigma[i]);
        modes[s->L[0] == 0 ? 0 : slip > 1e-6 ? 2 : 1]++;
    }
    print_message("one contact: %d break, %d stick, %d slide, residual %.0e\n", modes[0], modes[1], modes[2], worst);
    assert_true(worst <= 1e-12);
    assert_true(modes[0] > 500 && modes[1] > 500 && modes[2] > 500);
    free(s);
}

/* Every part of the law, violated on purpose, shows in its part of the residual. */
static void certificate(void **state)
{
    (void)state;
    const double inertia[3] = {1, 1, 1}, origin[3] = {0, 0, 0}, up[3] = {0, 0, 1};
    scene *s = scene_new();
    tg_residual r;
    int b = add_body(s, 1, inertia, NULL, origin);
    add_contact(s, WORLD, b, origin, up, 0, 3, 0.5, 0, 0);
    assemble(s);
    tg_island island = island_of(s);
    const double slide[3] = {1, 0.5, 0};
    memcpy(s->g, (double[3]){-1, -2, 0}, 3 * sizeof *s->g);
    r = tg_island_residual(&island, slide, false, s->sigma); /* the solution */
    assert_true(tg_residual_max(&r) <= 1e-15);
    r = tg_island_residual(&island, (double[3]){1, 0.6, 0}, false, s->sigma);
    assert_true(r.primal > 0.05 && r.primal <= 0.1);
    r = tg_island_residual(&island, (double[3]){0.9, 0.45, 0}, false, s->sigma);
    assert_near(r.dual, 0.1, 1e-12);
    r = tg_island_residual(&island, (double[3]){1, 0.4, 0}, false, s->sigma); /* inside the cone and slipping */
    assert_near(r.complementarity, 0.08, 1e-12); /* (L_N mu |sigma_T| + L_T sigma_T) / L_ref, L_ref = 2 */
    r = tg_island_residual(&island, (double[3]){1.1, 0.55, 0}, false, s->sigma); /* pushes and separates */
    assert_near(r.complementarity, 0.055, 1e-12);
    r = tg_island_residual(&island, (double[3]){1, -0.5, 0}, false, s->sigma); /* pushes with the slip */
    assert_true(r.complementarity > 0.5);
    r = tg_island_residual(&island, (double[3]){NAN, 0, 0}, false, s->sigma);
    assert_false(tg_residual_max(&r) <= 1e300);
    s->block[0].mu[0] = s->block[0].mu[1] = 0;
    r = tg_island_residual(&island, (double[3]){1, 0.1, 0}, false, s->sigma); /* friction without friction */
    assert_near(r.primal, 0.1, 1e-12);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(projection),
        cmocka_unit_test(one_contact),
        cmocka_unit_test(certificate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
