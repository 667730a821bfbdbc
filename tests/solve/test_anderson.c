/* Anderson acceleration: an affine map ends after as many steps as it has dimensions, one that would diverge alone too;
 * a map that is not smooth converges where it does alone, and faster; what has changed is forgotten. */
#include "contact/contact_test.h"
#include "solve/anderson.h"

enum
{
    N = 8
};

typedef struct map
{
    double A[N][N], b[N];
    bool positive; /* T(y) = A max(y, 0) + b */
} map;

static void image_of(const map *m, const double *y, double *out)
{
    for (int i = 0; i < N; i++)
    {
        out[i] = m->b[i];
        for (int j = 0; j < N; j++)
            out[i] += m->A[i][j] * (m->positive ? fmax(y[j], 0) : y[j]);
    }
}

static double number(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return 2 * (double)(*seed >> 11) / 9007199254740992.0 - 1;
}

/* A = Q diag(l) Q with a reflection Q: eigenvalues from least to most */
static map make(uint64_t seed, double least, double most, bool positive)
{
    map m = {.positive = positive};
    double q[N], square = 0;
    for (int i = 0; i < N; i++)
    {
        q[i] = number(&seed);
        m.b[i] = number(&seed);
        square += q[i] * q[i];
    }
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++)
            for (int k = 0; k < N; k++)
                m.A[i][j] += ((i == k) - 2 * q[i] * q[k] / square) * (least + (most - least) * k / (N - 1)) *
                             ((k == j) - 2 * q[k] * q[j] / square);
    return m;
}

/* how many steps until a step is shorter than 1e-9, at most `most` */
static int steps(const map *m, int memory, int most, double *y)
{
    double dy[TG_ANDERSON_MEMORY * N], df[TG_ANDERSON_MEMORY * N], room[3][N], image[N];
    tg_anderson a = {
        .n = N, .ld = N, .memory = memory, .dy = dy, .df = df, .y = room[0], .f = room[1], .image = room[2]};
    tg_anderson_restart(&a);
    for (int k = 0; k < most; k++)
    {
        double worst = 0;
        image_of(m, y, image);
        for (int i = 0; i < N; i++)
            worst = fmax(worst, fabs(image[i] - y[i]));
        if (worst < 1e-9)
            return k;
        if (memory > 0)
            tg_anderson_next(&a, image, y);
        else
            memcpy(y, image, sizeof image);
    }
    return most;
}

static void affine(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
    {
        double y[N] = {0}, image[N];
        map slow = make(seed, 0.1, 0.999, false);
        assert_in_range(steps(&slow, N, 100, y), 2, N + 4);
        image_of(&slow, y, image);
        for (int i = 0; i < N; i++)
            assert_true(fabs(image[i] - y[i]) < 1e-9);
        memset(y, 0, sizeof y);
        assert_int_equal(steps(&slow, 0, 100, y), 100); /* alone it takes thousands */
    }
}

static void not_smooth(void **state)
{
    (void)state;
    double with = 0, without = 0;
    for (uint64_t seed = 1; seed <= 100; seed++)
    {
        map m = make(seed, -0.5, 0.98, true);
        double y[N] = {0}, z[N] = {0};
        int fast = steps(&m, 5, 5000, y), slow = steps(&m, 0, 5000, z);
        assert_true(fast < 5000 && slow < 5000);
        for (int i = 0; i < N; i++)
            assert_true(fabs(y[i] - z[i]) < 1e-6);
        with += fast;
        without += slow;
    }
    assert_true(with < 0.3 * without);
}

/* differences of another map do no harm once they are forgotten */
static void restart(void **state)
{
    (void)state;
    map first = make(1, 0.1, 0.99, false), second = make(2, -0.9, 0.9, false);
    double y[N] = {0};
    assert_in_range(steps(&first, N, 100, y), 2, N + 4);
    assert_in_range(steps(&second, N, 100, y), 2, N + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(affine), cmocka_unit_test(not_smooth),
                                       cmocka_unit_test(restart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
