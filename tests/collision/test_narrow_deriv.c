/* Derivatives of contact points against central differences, for every pair and every feature that random poses
 * reach. */
#include "collision_test.h"

#include "collision/polytope.h"
#include "math/so3.h"
#include "tangere/algebra.h"

enum
{
    POSES = 150,
    MOVING = 90,
    POSE = 12,    /* columns: shift and turn of either shape, */
    SIZES = 18,   /* then sizes, */
    COLUMNS = 30, /* then velocity and spin */
    ROWS = 7      /* point, normal, distance */
};

/* ---- the analytic side: columns as in tg_contact_derivative, then velocities ---- */

/* The shape keeps its velocity when it turns: where it will be turns by E turn about the shape's own origin there. */
static tg_point_motion course_of(const tg_query *q, const tg_contact_point *c, int which, v4 turn)
{
    tg_placed then = tg_advanced(q, which);
    v4 more = mat3_mul(then.R, mat3_mul_t(q->shape[which].R, turn)) - turn;
    v4 shift = v4_cross(more, c->point - then.x) - v4_cross(turn, then.x - q->shape[which].x);
    return tg_motion_by_course(c, which, shift, more);
}

/* x' = x + dt v, R' = Exp(dt w) R: another w turns where the shape will be by dt Jl(dt w) dw about its origin there */
static tg_point_motion motion_by_velocity(const tg_query *q, const tg_contact_point *c, int which, int k)
{
    v4 unit = v4_zero();
    unit[k % 3] = q->dt;
    if (k < 3)
        return tg_motion_by_course(c, which, unit, v4_zero());
    double angle[3], Jl[9];
    v4_store3(angle, q->spin[which] * v4_splat(q->dt));
    tg_so3_left_jacobian(angle, Jl);
    v4 turn = v4_set(Jl[k - 3], Jl[3 + k - 3], Jl[6 + k - 3], 0) * v4_splat(q->dt);
    return tg_motion_by_course(c, which, v4_cross(turn, c->point - tg_advanced(q, which).x), turn);
}

static tg_point_motion motion_of(const tg_query *q, const tg_contact_point *c, int column)
{
    if (column >= SIZES)
        return motion_by_velocity(q, c, (column - SIZES) / 6, (column - SIZES) % 6);
    if (column >= POSE)
        return tg_motion_by_size(q, c, (column - POSE) / 3, (column - POSE) % 3);
    int which = column / 6, k = column % 6;
    v4 unit = v4_zero();
    unit[k % 3] = 1;
    v4 arm = c->point - q->shape[which].x;
    v4 shift = k < 3 ? unit : v4_cross(unit, arm), turn = k < 3 ? v4_zero() : unit;
    tg_point_motion m = which == 1 ? tg_motion_by_twist(c, shift, turn) : tg_motion_by_twist(c, -shift, -turn);
    if (which == 0) /* rigid with the first, less the second's share */
    {
        m.point += shift;
        m.normal += v4_cross(turn, c->normal);
    }
    tg_point_motion more = course_of(q, c, which, turn);
    m.point += more.point;
    m.normal += more.normal;
    m.distance += more.distance;
    return m;
}

/* ---- the numeric side ---- */

static tg_query displaced(const tg_query *q, int column, double h)
{
    tg_query d = *q;
    if (column >= SIZES)
    {
        int which = (column - SIZES) / 6;
        v4 *v = (column - SIZES) % 6 < 3 ? d.velocity : d.spin;
        v[which][column % 3] += h;
        return d;
    }
    if (column >= POSE)
    {
        d.shape[(column - POSE) / 3].size[(column - POSE) % 3] += h;
        return d;
    }
    tg_placed *p = &d.shape[column / 6];
    int k = column % 6;
    if (k < 3)
    {
        p->x[k] += h;
        return d;
    }
    double w[4] = {cos(0.5 * h), 0, 0, 0};
    w[k - 2] = sin(0.5 * h);
    p->R = mat3_product(mat3_from_quat(w), p->R);
    return d;
}

static const tg_contact_point *find(const tg_patch *patch, uint32_t feature)
{
    for (int i = 0; i < patch->count; i++)
        if (patch->point[i].feature == feature)
            return &patch->point[i];
    return NULL;
}

static void as_rows(v4 point, v4 normal, double distance, double *row)
{
    v4_store3(row, point);
    v4_store3(row + 3, normal);
    row[6] = distance;
}

static bool values(const tg_query *q, uint32_t feature, int column, double h, double *row)
{
    tg_query d = displaced(q, column, h);
    tg_patch patch;
    tg_narrow(&d, &patch);
    const tg_contact_point *c = find(&patch, feature);
    if (c == NULL)
        return false;
    as_rows(c->point, c->normal, c->distance, row);
    return true;
}

/* (4 D(h/2) - D(h)) / 3 */
static bool differences(const tg_query *q, uint32_t feature, int column, double h, double F[ROWS])
{
    double v[4][ROWS];
    const double step[4] = {h, -h, h / 2, -h / 2};
    for (int i = 0; i < 4; i++)
        if (!values(q, feature, column, step[i], v[i]))
            return false;
    for (int i = 0; i < ROWS; i++)
        F[i] = (4 * (v[2][i] - v[3][i]) / h - (v[0][i] - v[1][i]) / (2 * h)) / 3;
    return true;
}

typedef struct tally
{
    int samples, skipped, kinds[5];
    double worst, largest[COLUMNS];
} tally;

/* Sizes that a shape does not have, and velocities where they do not count, are not compared. */
static bool exists(const tg_query *q, int column)
{
    if (column < POSE)
        return true;
    if (column >= SIZES)
        return q->dt > 0;
    return (column - POSE) % 3 < size_count(q->shape[(column - POSE) / 3].type);
}

static void differentiate(const tg_query *q, const tg_contact_point *c, tally *t, double J[COLUMNS][ROWS])
{
    for (int k = 0; k < COLUMNS; k++)
    {
        if (!exists(q, k))
            continue;
        tg_point_motion m = motion_of(q, c, k);
        as_rows(m.point, m.normal, m.distance, J[k]);
        for (int i = 0; i < ROWS; i++)
            t->largest[k] = fmax(t->largest[k], fabs(J[k][i]));
    }
}

static double apply(tg_point_motion g, tg_point_motion m)
{
    return v4_dot(g.point, m.point) + v4_dot(g.normal, m.normal) + g.distance * m.distance;
}

/* All units at once, and the transpose: the same numbers as one twist at a time. */
static void compare_units(const tg_contact_point *c)
{
    tg_point_motion by[6], g = {v4_set(0.3, -0.7, 0.5, 0), v4_set(-0.2, 0.9, 0.4, 0), 0.6};
    tg_motion_by_units(c, by);
    tg_twist_gradient back = tg_twist_reverse(c, g);
    for (int k = 0; k < 6; k++)
    {
        v4 unit = v4_zero();
        unit[k % 3] = 1;
        tg_point_motion m = k < 3 ? tg_motion_by_twist(c, unit, v4_zero()) : tg_motion_by_twist(c, v4_zero(), unit);
        double rows[2][ROWS], scale = 1;
        as_rows(by[k].point, by[k].normal, by[k].distance, rows[0]);
        as_rows(m.point, m.normal, m.distance, rows[1]);
        for (int i = 0; i < ROWS; i++)
        {
            scale = fmax(scale, fabs(rows[1][i]));
            assert_true(fabs(rows[0][i] - rows[1][i]) <= 1e-12 * scale);
        }
        assert_true(fabs((k < 3 ? back.shift : back.turn)[k % 3] - apply(g, m)) <= 1e-12 * scale);
    }
}

/* Skipped are points whose features change with every step, and points with margin zero that do not agree. */
static void compare_point(const tg_query *q, const tg_contact_point *c, tally *t)
{
    double J[COLUMNS][ROWS], F[COLUMNS][ROWS], best = INFINITY;
    int worst_column = -1, worst_row = -1;
    bool skipped = true;
    compare_units(c);
    differentiate(q, c, t, J);
    for (double h = 1e-4; h > 5e-9 && best > 1e-10; h /= 10)
    {
        double error = 0, scale = 1;
        bool ok = true;
        for (int k = 0; k < COLUMNS && ok; k++)
        {
            if (!exists(q, k))
                continue;
            ok = differences(q, c->feature, k, h, F[k]);
            for (int i = 0; i < ROWS && ok; i++)
            {
                scale = fmax(scale, fabs(F[k][i]));
                if (fabs(J[k][i] - F[k][i]) > error)
                {
                    error = fabs(J[k][i] - F[k][i]);
                    worst_column = k;
                    worst_row = i;
                }
            }
        }
        skipped = skipped && !ok;
        if (ok)
            best = fmin(best, error / scale);
    }
    t->samples++;
    skipped = skipped || (c->margin <= 0 && q->dt > 0 && best > 1e-6); /* 0, or TG_NO_DERIVATIVE */
    t->skipped += skipped;
    if (skipped)
        return;
    t->kinds[c->kind]++;
    t->worst = fmax(t->worst, best);
    if (best > 1e-6)
        print_error(
            "%s-%s kind %d flat %d %d feature %x distance %g margin %g: error %.3g, row %d column %d: %g not %g\n",
            type_name[q->shape[0].type], type_name[q->shape[1].type], (int)c->kind, c->surface[0].flat,
            c->surface[1].flat, c->feature, c->distance, c->margin, best, worst_row, worst_column,
            J[worst_column][worst_row], F[worst_column][worst_row]);
}

/* Random, aligned (flat on each other, parallel), and nearly aligned poses; apart and overlapping. */
static tg_query random_query(test_random *r, tg_geom_type a, tg_geom_type b, int k, const tg_polytope *mesh)
{
    tg_query q = {.reach = 0.2};
    q.shape[0] = random_shape(r, a, mesh);
    q.shape[1] = random_shape(r, b, mesh);
    if (k % 3 > 0) /* axes parallel or crossed, and a little off */
    {
        mat3 R = q.shape[0].R;
        q.shape[1].R = k % 2 == 0 ? R : (mat3){{R.c[1], R.c[2], R.c[0]}};
        double tilt[4] = {1, 0, 0, 0};
        double size = k % 3 == 1 ? 3e-6 : 0.02;
        for (int i = 1; i < 4; i++)
            tilt[i] = size * random_unit(r);
        q.shape[1].R = mat3_product(mat3_from_quat(tilt), q.shape[1].R);
    }
    if (a == TG_GEOM_PLANE) /* a plane below: somewhere above it */
        q.shape[1].x += q.shape[0].R.c[2] * v4_splat(2);
    move_to_distance(&q, 0.02 * random_unit(r));
    return q;
}

/* Turning a sphere about its centre changes nothing; everything else must show. */
static bool matters(tg_geom_type a, tg_geom_type b, int column)
{
    tg_geom_type type = column < 6 || (column >= POSE && column < POSE + 3) ? a : b;
    if (column >= POSE)
        return (column - POSE) % 3 < size_count(type);
    return column % 6 < 3 || type != TG_GEOM_SPHERE;
}

static bool check_pair(tg_geom_type a, tg_geom_type b, const tg_polytope *mesh)
{
    test_random r = {0x9e3779b97f4a7c15u + 17 * (uint64_t)a + (uint64_t)b};
    tally t = {0};
    for (int k = 0; k < POSES; k++)
    {
        tg_query q = random_query(&r, a, b, k, mesh);
        tg_patch patch;
        tg_narrow(&q, &patch);
        for (int i = 0; i < patch.count; i++)
            compare_point(&q, &patch.point[i], &t);
    }
    double share = (double)t.skipped / t.samples;
    print_message("%9s-%-9s points %5d (witness %d, clipped %d, corner %d) skipped %4.1f %% worst error %.1e\n",
                  type_name[a], type_name[b], t.samples, t.kinds[0], t.kinds[1], t.kinds[2], 100 * share, t.worst);
    bool good = t.samples >= POSES && share < 0.05 && t.worst < 1e-6;
    for (int k = 0; k < SIZES; k++)
        good = good && (!matters(a, b, k) || t.largest[k] > 1e-3);
    return good;
}

/* Shapes that are apart and come closer while they turn: the normal may be that of where they will be. */
static bool check_moving_pair(tg_geom_type a, tg_geom_type b, const tg_polytope *mesh)
{
    test_random r = {0x9e3779b97f4a7c15u + 17 * (uint64_t)a + (uint64_t)b};
    tally t = {0};
    for (int k = 0; k < MOVING; k++)
    {
        tg_query q = random_query(&r, a, b, k, mesh);
        tg_patch patch;
        move_to_distance(&q, 0.02 + 0.01 * random_unit(&r));
        q.dt = 0.05;
        q.slack = TG_SLACK;
        v4 way = q.shape[1].x - q.shape[0].x;
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 3; j++)
            {
                q.velocity[i][j] = random_unit(&r) + (i == 0 ? 1 : -1) * way[j];
                q.spin[i][j] = 2 * random_unit(&r);
            }
        tg_narrow(&q, &patch);
        for (int i = 0; i < patch.count; i++)
            compare_point(&q, &patch.point[i], &t);
    }
    double share = (double)t.skipped / t.samples;
    print_message(
        "%9s-%-9s points %5d (witness %d, clipped %d, corner %d, ahead %d, sliding %d) skipped %4.1f %% worst "
        "error %.1e\n",
        type_name[a], type_name[b], t.samples, t.kinds[0], t.kinds[1], t.kinds[2], t.kinds[3], t.kinds[4], 100 * share,
        t.worst);
    bool good = t.samples >= MOVING && share < 0.05 && t.worst < 1e-6;
    for (int k = SIZES; k < SIZES + 3; k++) /* what follows the course moves with both velocities */
        good = good && (t.kinds[TG_POINT_AHEAD] == 0 || (t.largest[k] > 1e-3 && t.largest[k + 6] > 1e-3));
    return good && (a != TG_GEOM_CYLINDER || t.kinds[TG_POINT_SLIDING] > 0);
}

static void test_moving(void **state)
{
    tg_polytope *mesh = test_mesh();
    (void)state;
    bool good = true;
    for (tg_geom_type a = TG_GEOM_SPHERE; a <= TG_GEOM_MESH; a++)
        for (tg_geom_type b = a; b <= TG_GEOM_MESH; b++)
            good &= check_moving_pair(a, b, mesh);
    tg_polytope_destroy(NULL, mesh);
    assert_true(good);
}

static void test_derivatives(void **state)
{
    tg_polytope *mesh = test_mesh();
    (void)state;
    bool good = true;
    for (tg_geom_type a = TG_GEOM_PLANE; a <= TG_GEOM_MESH; a++)
        for (tg_geom_type b = a; b <= TG_GEOM_MESH; b++)
            if (a != TG_GEOM_HFIELD && b > TG_GEOM_HFIELD)
                good &= check_pair(a, b, mesh);
    tg_polytope_destroy(NULL, mesh);
    assert_true(good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_moving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
