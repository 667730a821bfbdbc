/* Randomised smoothing of collision derivatives: what it tends to, what it adds, and that it is never the default. */
#include "math/math_test.h"

#include "support/effort.h"
#include "tangere/algebra.h"
#include "tangere/collision.h"

enum
{
    POSES = 40,
    ROWS = 7,
    COLUMNS = 12
};

static tg_shape make(tg_geom_type type, double x, double y, double z)
{
    tg_shape s = tg_default_shape();
    s.type = type;
    s.size[0] = x;
    s.size[1] = y;
    s.size[2] = z;
    return s;
}

static void random_pose(test_random *r, double scale, double pose[7])
{
    double squared;
    do
    {
        random_fill(r, pose, 7);
        squared = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6];
    } while (squared < 0.1);
    for (int i = 0; i < 3; i++)
        pose[i] *= scale;
    for (int i = 3; i < 7; i++)
        pose[i] /= sqrt(squared);
}

typedef struct answer
{
    tg_contact contact;
    tg_contact_derivative d;
} answer;

static answer ask(const tg_shape shape[2], double pose[2][7], const tg_smoothing *s)
{
    answer a;
    tg_error error = {0};
    if (tg_distance_derivatives(&shape[0], pose[0], &shape[1], pose[1], s, &a.contact, &a.d, &error) != TG_OK)
        fail_msg("%s", error.message);
    return a;
}

static double entry(const tg_contact_derivative *d, int row, int column)
{
    return row < 3 ? d->point[row][column] : row < 6 ? d->normal[row - 3][column] : d->distance[column];
}

/* max |A - B| / max(1, max |B|) over the columns of the poses */
static double difference(const tg_contact_derivative *A, const tg_contact_derivative *B)
{
    double worst = 0, largest = 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
        {
            worst = fmax(worst, fabs(entry(A, i, j) - entry(B, i, j)));
            largest = fmax(largest, fabs(entry(B, i, j)));
        }
    return worst / largest;
}

/* Two shapes 1 to 6 cm apart, where every pair has one nearest point. */
static void place_apart(test_random *r, const tg_shape shape[2], double pose[2][7])
{
    tg_contact c;
    random_pose(r, 1, pose[0]);
    random_pose(r, 1, pose[1]);
    double wanted = 0.035 + 0.025 * random_unit(r);
    for (int step = 0; step < 3; step++)
    {
        assert_int_equal(tg_distance(&shape[0], pose[0], &shape[1], pose[1], &c, NULL), TG_OK);
        for (int k = 0; k < 3; k++)
            pose[1][k] += (wanted - c.distance) * c.normal[k];
    }
}

static void test_default_is_exact(void **state)
{
    (void)state;
    test_random r = {1};
    const tg_shape shape[2] = {make(TG_GEOM_BOX, 0.2, 0.15, 0.1), make(TG_GEOM_BOX, 0.1, 0.2, 0.15)};
    tg_smoothing s = tg_default_smoothing();
    assert_int_equal(s.order, TG_SMOOTHING_NONE);
    for (int k = 0; k < POSES; k++)
    {
        double pose[2][7];
        place_apart(&r, shape, pose);
        answer none = ask(shape, pose, NULL), standard = ask(shape, pose, &s);
        assert_memory_equal(&none.d, &standard.d, sizeof none.d);
        tg_collide_options o = tg_default_collide_options();
        tg_contact contact[TG_CONTACTS_A_PAIR];
        tg_contact_derivative d[TG_CONTACTS_A_PAIR];
        int count = 0;
        o.reach = INFINITY;
        assert_int_equal(tg_collide_pair_derivatives(&shape[0], pose[0], &shape[1], pose[1], &o, contact, d,
                                                     TG_CONTACTS_A_PAIR, &count, NULL),
                         TG_OK);
        for (int i = 0; i < count; i++)
            if (contact[i].id == none.contact.id)
                assert_memory_equal(&d[i], &none.d, sizeof none.d);
    }
}

/* Order 1: nothing to smooth between round shapes; everything else tends to the exact derivative with the width. */
static void test_order_1_tends_to_exact(void **state)
{
    (void)state;
    const tg_shape shapes[] = {
        make(TG_GEOM_SPHERE, 0.2, 0, 0),         make(TG_GEOM_CAPSULE, 0.1, 0.2, 0),
        make(TG_GEOM_ELLIPSOID, 0.2, 0.15, 0.1), make(TG_GEOM_CYLINDER, 0.15, 0.2, 0),
        make(TG_GEOM_BOX, 0.2, 0.15, 0.1),
    };
    enum
    {
        COUNT = sizeof shapes / sizeof *shapes
    };
    for (int a = 0; a < COUNT; a++)
        for (int b = a; b < COUNT; b++)
        {
            test_random r = {7 + (uint64_t)(COUNT * a + b)};
            const tg_shape shape[2] = {shapes[a], shapes[b]};
            bool round = (a == 0 || a == 2) && (b == 0 || b == 2);
            double worst[3] = {0};
            int compared = 0;
            for (int k = 0; k < POSES; k++)
            {
                static const double width[3] = {1e-4, 1e-5, 1e-6};
                double pose[2][7];
                tg_smoothing s = tg_default_smoothing();
                place_apart(&r, shape, pose);
                answer exact = ask(shape, pose, NULL);
                s.order = TG_SMOOTHING_ORDER_1;
                if (exact.contact.margin < 5e-3) /* about to change its features: smoothed over a larger width */
                    continue;
                compared++;
                for (int i = 0; i < 3; i++)
                {
                    s.width = width[i];
                    answer smooth = ask(shape, pose, &s);
                    worst[i] = fmax(worst[i], difference(&smooth.d, &exact.d));
                    for (int j = COLUMNS; j < 18; j++)
                        assert_true(smooth.d.distance[j] == exact.d.distance[j]);
                }
            }
            print_message("  %d %d: %d poses, widths 1e-4, 1e-5, 1e-6: off by %.1e %.1e %.1e\n", a, b, compared,
                          worst[0], worst[1], worst[2]);
            assert_true(compared > POSES / 5);
            assert_true(worst[2] < (round ? 1e-12 : 3e-4)); /* proportional to the width */
            assert_true(round || worst[2] <= 0.02 * worst[0] + 1e-9);
        }
}

/* A box's corner inside another box's face: the exact normal is the face's whatever the corner does; the smoothed one
 * turns when the corner moves along the face. */
static void test_order_1_turns_the_normal_at_corners(void **state)
{
    (void)state;
    const tg_shape shape[2] = {make(TG_GEOM_BOX, 0.1, 0.1, 0.1), make(TG_GEOM_BOX, 0.3, 0.3, 0.1)};
    double pose[2][7] = {{0, 0, 0, 0.88, 0.36, 0.3, 0.1}, {0.05, 0.02, 0.26, 1, 0, 0, 0}};
    tg_smoothing s = tg_default_smoothing();
    double squared = 0;
    for (int i = 3; i < 7; i++)
        squared += pose[0][i] * pose[0][i];
    for (int i = 3; i < 7; i++)
        pose[0][i] /= sqrt(squared);
    answer exact = ask(shape, pose, NULL);
    assert_near(exact.contact.normal[2], 1, 1e-12);
    s.order = TG_SMOOTHING_ORDER_1;
    double last = 0;
    for (s.width = 1e-4; s.width < 0.1; s.width *= 10)
    {
        answer smooth = ask(shape, pose, &s);
        double turn = 0;
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
            {
                assert_near(exact.d.normal[i][j], 0, 1e-12);
                turn = fmax(turn, fabs(smooth.d.normal[i][j]));
            }
        assert_true(turn > last && turn > 1e-3);
        last = turn;
        assert_near(smooth.d.distance[2], exact.d.distance[2], 1e-12); /* dPhi is n . w either way */
    }
}

/* Order 0 at smooth features: the exact derivative, within five times its standard deviation. */
static void test_order_0_of_smooth_features(void **state)
{
    (void)state;
    test_random r = {3};
    const tg_shape shape[2] = {make(TG_GEOM_ELLIPSOID, 0.2, 0.15, 0.1), make(TG_GEOM_SPHERE, 0.2, 0, 0)};
    double pose[2][7];
    tg_smoothing s = tg_default_smoothing();
    place_apart(&r, shape, pose);
    answer exact = ask(shape, pose, NULL);
    s.order = TG_SMOOTHING_ORDER_0;
    s.width = 1e-4;
    s.samples = 10000 / TEST_EFFORT;
    answer first = ask(shape, pose, &s), again = ask(shape, pose, &s);
    assert_memory_equal(&first.d, &again.d, sizeof first.d);
    for (int i = 0; i < ROWS; i++)
    {
        double squares = 0; /* of the row: the variance of an entry is (|row|^2 + entry^2) / samples */
        for (int j = 0; j < COLUMNS; j++)
            squares += entry(&exact.d, i, j) * entry(&exact.d, i, j);
        for (int j = 0; j < COLUMNS; j++)
            assert_near(entry(&first.d, i, j), entry(&exact.d, i, j), 5 * sqrt(2 * squares / s.samples) + 1e-5);
    }
    s.seed = 1;
    again = ask(shape, pose, &s);
    assert_true(difference(&first.d, &again.d) > 1e-6);
    s.order = TG_SMOOTHING_ORDER_1;
    again = ask(shape, pose, &s);
    assert_true(difference(&again.d, &exact.d) < 1e-12);
}

/* mean of the normal's x over poses displaced at random, with the second shape moved by h along x */
static double mean_normal(const tg_shape shape[2], double pose[2][7], double width, int samples, double h)
{
    test_random r = {5};
    double sum = 0;
    for (int k = 0; k < samples; k++)
    {
        double at[2][7];
        tg_contact c;
        memcpy(at, pose, sizeof at);
        for (int i = 0; i < 6; i++) /* the sphere's turning does not matter, the box's is small beside its moving */
        {
            double u = 0;
            for (int n = 0; n < 12; n++) /* nearly normal, of variance 1: 12 numbers of variance 1/3, halved */
                u += 0.5 * random_unit(&r);
            at[i / 3][i % 3] += width * u;
        }
        at[1][0] += h;
        assert_int_equal(tg_distance(&shape[0], at[0], &shape[1], at[1], &c, NULL), TG_OK);
        sum += c.normal[0];
    }
    return sum / samples;
}

/* Order 0 at a corner that is near: the slope of the mean, which differences of the mean show. */
static void test_order_0_is_the_slope_of_the_mean(void **state)
{
    (void)state;
    const tg_shape shape[2] = {make(TG_GEOM_BOX, 0.1, 0.1, 0.1), make(TG_GEOM_SPHERE, 0.05, 0, 0)};
    double pose[2][7] = {{0, 0, 0, 1, 0, 0, 0}, {0.1, 0, 0.16, 1, 0, 0, 0}}; /* over an edge, 1 cm above it */
    tg_smoothing s = tg_default_smoothing();
    s.order = TG_SMOOTHING_ORDER_0;
    s.width = 5e-3;
    s.samples = 40000 / TEST_EFFORT;
    answer smooth = ask(shape, pose, &s);
    double h = 3e-3, up = mean_normal(shape, pose, s.width, s.samples, h),
           down = mean_normal(shape, pose, s.width, s.samples, -h), slope = (up - down) / (2 * h);
    print_message("  slope of the mean %.4g, order 0 %.4g\n", slope, smooth.d.normal[0][6]);
    assert_true(slope > 1);
    assert_near(smooth.d.normal[0][6], slope, 0.1 * slope * sqrt(40000.0 / s.samples));
}

static void test_refusals(void **state)
{
    (void)state;
    const tg_shape shape[2] = {make(TG_GEOM_SPHERE, 0.1, 0, 0), make(TG_GEOM_SPHERE, 0.1, 0, 0)};
    const double pose[7] = {0, 0, 0, 1, 0, 0, 0}, other[7] = {1, 0, 0, 1, 0, 0, 0};
    tg_contact c;
    tg_contact_derivative d;
    for (int k = 0; k < 6; k++)
    {
        tg_smoothing s = tg_default_smoothing();
        s.order = TG_SMOOTHING_ORDER_0;
        tg_error error = {0};
        if (k == 0)
            s.width = 0;
        if (k == 1)
            s.width = NAN;
        if (k == 2)
            s.samples = 0;
        if (k == 3)
            s.order = (tg_smoothing_order)7;
        if (k == 4)
            s.cookie = 0;
        assert_true(tg_distance_derivatives(&shape[0], pose, &shape[1], other, &s, k == 5 ? NULL : &c, &d, &error) !=
                    TG_OK);
        assert_true(error.message[0] != '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_is_exact),
        cmocka_unit_test(test_order_1_tends_to_exact),
        cmocka_unit_test(test_order_1_turns_the_normal_at_corners),
        cmocka_unit_test(test_order_0_of_smooth_features),
        cmocka_unit_test(test_order_0_is_the_slope_of_the_mean),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
