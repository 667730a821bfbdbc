/* Small systems for the tests of Cartesian systems. Include cmocka.h (or heap_watch.h) before. */
#ifndef TG_TESTS_CARTESIAN_TEST_H
#define TG_TESTS_CARTESIAN_TEST_H

#include <math.h>
#include <string.h>

#include "tangere/cartesian.h"

typedef struct fixture
{
    tg_cartesian *c;
    tg_cartesian_work *w;
    tg_cartesian_sizes size;
    int n;
    double x[64], v[64];
} fixture;

static inline void finish_fixture(fixture *f, const tg_cartesian_def *def, tg_cartesian_options options)
{
    tg_error error = {0};
    assert_int_equal(tg_cartesian_create(def, NULL, &f->c, &error), TG_OK);
    assert_int_equal(tg_cartesian_work_create(f->c, &options, &f->w, &error), TG_OK);
    f->size = tg_cartesian_size(f->c);
    f->n = f->size.points * f->size.dim;
}

static inline void free_fixture(fixture *f)
{
    tg_cartesian_work_destroy(f->w);
    tg_cartesian_destroy(f->c);
}

/* Two disks and a ball over a floor, overlapping slightly; the ball hangs at a spring. */
static inline fixture three_bodies(double mu, double e, double eps, int hamiltonian)
{
    fixture f = {0};
    const double R = 0.1, axis[3][2] = {{0, 0}, {0.6, 0.8}, {-0.8, 0.6}},
                 at[3][2] = {{0.3, 0.0985}, {0.497, 0.12}, {0.6, 0.2885}};
    tg_cartesian_body body[3] = {{3, 0.2, {R * R / 4, R * R / 4}}, {3, 0.3, {R * R / 4, R * R / 5}}, {1, 0.1, {0}}};
    tg_cartesian_constraint constraint[6];
    for (int b = 0, k = 0; b < 2; b++)
    {
        constraint[k++] =
            (tg_cartesian_constraint){.kind = TG_CARTESIAN_DISTANCE, .i = 3 * b, .j = 3 * b + 1, .length = 1};
        constraint[k++] =
            (tg_cartesian_constraint){.kind = TG_CARTESIAN_DISTANCE, .i = 3 * b, .j = 3 * b + 2, .length = 1};
        constraint[k++] =
            (tg_cartesian_constraint){.kind = TG_CARTESIAN_DISTANCE, .i = 3 * b + 1, .j = 3 * b + 2, .length = sqrt(2)};
    }
    tg_cartesian_spring spring = {.i = 6, .j = -1, .stiffness = 3, .rest = 0.2, .anchor = {0.6, 0.7}};
    tg_cartesian_contact contact[4] = {
        {.kind = TG_CARTESIAN_WALL, .i = 0, .radius = R, .normal = {0, 1}},
        {.kind = TG_CARTESIAN_PAIR, .i = 0, .j = 1, .radius = R, .other = R, .type = 1},
        {.kind = TG_CARTESIAN_PAIR, .i = 1, .j = 2, .radius = R, .other = R, .type = 1},
        {.kind = TG_CARTESIAN_STRETCH, .i = -1, .j = 6, .low = 0.05, .high = 0.409, .anchor = {0.6, 0.7}},
    };
    double mus[2] = {mu, 0.7 * mu}, es[2] = {e, 0.8 * e};
    tg_cartesian_def def = {.name = "three bodies",
                            .dim = 2,
                            .bodies = 3,
                            .constraints = 6,
                            .springs = 1,
                            .contacts = 4,
                            .types = 2,
                            .body = body,
                            .constraint = constraint,
                            .spring = &spring,
                            .contact = contact,
                            .mu = mus,
                            .e = es,
                            .eps = eps,
                            .gravity = {0, -9.81}};
    tg_cartesian_options options = tg_cartesian_default_options();
    options.dt = 0.005;
    options.hamiltonian = hamiltonian;
    options.threads = 2;
    finish_fixture(&f, &def, options);
    const double speed[3][2] = {{0.7, -1.0}, {-0.6, -0.2}, {0.1, -0.9}}, spin[2] = {2, -3};
    for (int p = 0; p < 7; p++)
        for (int a = 0; a < 2; a++)
        {
            int b = p / 3, k = p % 3;
            f.x[2 * p + a] = at[b][a] + axis[k][a];
            f.v[2 * p + a] = speed[b][a] + (b < 2 ? spin[b] * (a == 0 ? -axis[k][1] : axis[k][0]) : 0);
        }
    return f;
}

#endif
