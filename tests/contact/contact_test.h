/* What the tests of the contact stage share: free rigid bodies, contacts between them, and the island they make.
 *
 * Bodies have velocities (linear; angular) in world axes; M^-1 = diag(1/m, R I^-1 R^T). Nothing here comes from the
 * library but the solver: the islands are assembled by hand. */
#ifndef TG_TESTS_CONTACT_TEST_H
#define TG_TESTS_CONTACT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solve/problem.h"

enum
{
    SCENE_BODIES = 24,
    SCENE_ROWS = 512,
    SCENE_DOFS = 6 * SCENE_BODIES,
    WORLD = -1
};

/* ---- random numbers: xorshift64* (Vigna 2016) ---- */

typedef struct source
{
    uint64_t state;
} source;

static inline uint64_t source_bits(source *r)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return r->state * 0x2545F4914F6CDD1DULL;
}

/* uniform in [low, high) */
static inline double uniform(source *r, double low, double high)
{
    return low + (high - low) * (double)(source_bits(r) >> 11) / 9007199254740992.0;
}

static inline int below(source *r, int n)
{
    return (int)(source_bits(r) % (uint64_t)n);
}

/* ---- bodies and rows ---- */

typedef struct scene
{
    int bodies, rows, blocks;
    double mass[SCENE_BODIES];
    double inverse_inertia[SCENE_BODIES][9]; /* world axes */
    double position[SCENE_BODIES][3];
    double v[SCENE_DOFS];     /* free velocity */
    double force[SCENE_DOFS]; /* of every step, beside gravity */
    bool coupled;             /* W is used in place of the bodies' own inverse masses */
    double W[SCENE_DOFS][SCENE_DOFS];
    tg_block block[SCENE_ROWS];
    double J[SCENE_ROWS][SCENE_DOFS];
    double bias[SCENE_ROWS];
    double G[SCENE_ROWS * SCENE_ROWS], g[SCENE_ROWS];
    double Y[SCENE_DOFS * SCENE_ROWS], diagonal[SCENE_ROWS], give[SCENE_ROWS]; /* G = Y^T Y */
    int column[SCENE_ROWS];
    tg_tree_rows tree;
    double warm[SCENE_ROWS], L[SCENE_ROWS], sigma[SCENE_ROWS];
    double v_plus[SCENE_DOFS];
    tg_solve_result result;
} scene;

static inline scene *scene_new(void)
{
    scene *s = calloc(1, sizeof *s);
    assert_non_null(s);
    return s;
}

static inline void cross3(const double a[3], const double b[3], double c[3])
{
    double x = a[1] * b[2] - a[2] * b[1], y = a[2] * b[0] - a[0] * b[2], z = a[0] * b[1] - a[1] * b[0];
    c[0] = x;
    c[1] = y;
    c[2] = z;
}

/* R from a unit quaternion */
static inline void rotation(const double q[4], double R[9])
{
    double w = q[0], x = q[1], y = q[2], z = q[3];
    const double m[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, m, sizeof m);
}

/* R (NULL: identity) diag(inertia) R^T */
static inline int add_body(scene *s, double mass, const double inertia[3], const double *R, const double position[3])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    int b = s->bodies++;
    assert_true(b < SCENE_BODIES);
    R = R == NULL ? identity : R;
    s->mass[b] = mass;
    memcpy(s->position[b], position, sizeof s->position[b]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
        {
            double sum = 0;
            for (int k = 0; k < 3; k++)
                sum += R[3 * i + k] * R[3 * j + k] / inertia[k];
            s->inverse_inertia[b][3 * i + j] = sum;
        }
    return b;
}

static inline void box_inertia(double mass, const double size[3], double inertia[3])
{
    for (int i = 0; i < 3; i++)
    {
        double a = size[(i + 1) % 3], b = size[(i + 2) % 3];
        inertia[i] = mass * (a * a + b * b) / 12;
    }
}

/* adds factor * (direction . velocity of the point) or, angular, factor * (direction . omega) to a row */
static inline void row_add(scene *s, int row, int body, const double point[3], const double direction[3], bool angular,
                           double factor)
{
    if (body == WORLD)
        return;
    double arm[3], moment[3];
    double *J = s->J[row] + 6 * body;
    for (int i = 0; i < 3; i++)
        arm[i] = point[i] - s->position[body][i];
    cross3(arm, direction, moment);
    for (int i = 0; i < 3; i++)
    {
        if (!angular)
            J[i] += factor * direction[i];
        J[3 + i] += factor * (angular ? direction[i] : moment[i]);
    }
}

static inline int add_rows(scene *s, tg_block_kind kind, int rows)
{
    tg_block *block = &s->block[s->blocks++];
    *block = (tg_block){.kind = kind, .row = s->rows, .rows = rows};
    for (int i = 0; i < rows; i++)
    {
        memset(s->J[s->rows + i], 0, sizeof s->J[0]);
        s->bias[s->rows + i] = s->warm[s->rows + i] = 0;
    }
    s->rows += rows;
    assert_true(s->rows <= SCENE_ROWS);
    return block->row;
}

/* tangents of a normal, turned by angle */
static inline void tangents(const double n[3], double angle, double t1[3], double t2[3])
{
    double axis[3] = {0, 0, 0}, a[3], b[3];
    axis[fabs(n[0]) < 0.6 ? 0 : 1] = 1;
    cross3(n, axis, a);
    double size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    for (int i = 0; i < 3; i++)
        a[i] /= size;
    cross3(n, a, b);
    for (int i = 0; i < 3; i++)
    {
        t1[i] = cos(angle) * a[i] + sin(angle) * b[i];
        t2[i] = cos(angle) * b[i] - sin(angle) * a[i];
    }
}

/* a contact of dimension 1, 3, 4 or 6 with normal from body1 to body2; mu slide, spin, roll */
static inline int add_contact(scene *s, int body1, int body2, const double point[3], const double n[3], double angle,
                              int dim, double slide, double spin, double roll)
{
    double axis[6][3];
    memcpy(axis[0], n, sizeof axis[0]);
    tangents(n, angle, axis[1], axis[2]);
    memcpy(axis[3], axis[0], sizeof axis[3]);
    memcpy(axis[4], axis[1], sizeof axis[4]);
    memcpy(axis[5], axis[2], sizeof axis[5]);
    const double mu[5] = {slide, slide, spin, roll, roll};
    int row = add_rows(s, TG_BLOCK_CONTACT, dim);
    for (int i = 0; i < dim; i++)
    {
        row_add(s, row + i, body1, point, axis[i], i > 2, -1);
        row_add(s, row + i, body2, point, axis[i], i > 2, 1);
        if (i > 0)
            s->block[s->blocks - 1].mu[i - 1] = mu[i - 1];
    }
    return row;
}

static inline double dot_n(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* ---- random scenes: bodies, contacts of all dimensions, limits, equalities, joint friction ---- */

static inline void random_direction(source *r, double n[3])
{
    double size;
    do
    {
        for (int i = 0; i < 3; i++)
            n[i] = uniform(r, -1, 1);
        size = sqrt(dot_n(3, n, n));
    } while (size < 0.1 || size > 1);
    for (int i = 0; i < 3; i++)
        n[i] /= size;
}

static inline void random_bodies(scene *s, source *r, int bodies, double spread)
{
    for (int b = 0; b < bodies; b++)
    {
        double mass = pow(10, uniform(r, -spread / 2, spread / 2)), p[3], q[4], R[9], inertia[3];
        for (int i = 0; i < 3; i++)
        {
            p[i] = uniform(r, -1, 1);
            inertia[i] = mass * uniform(r, 0.05, 0.1);
        }
        for (int i = 0; i < 4; i++)
            q[i] = uniform(r, -1, 1);
        double size = sqrt(dot_n(4, q, q)) + 1e-9;
        for (int i = 0; i < 4; i++)
            q[i] /= size;
        rotation(q, R);
        add_body(s, mass, inertia, R, p);
        for (int i = 0; i < 6; i++)
            s->v[6 * b + i] = uniform(r, -1, 1);
    }
}

static inline void random_contact(scene *s, source *r, double most_mu)
{
    static const int dims[4] = {1, 3, 4, 6};
    int b = below(r, s->bodies), other = below(r, s->bodies + 1) - 1;
    double n[3], p[3];
    random_direction(r, n);
    for (int i = 0; i < 3; i++)
        p[i] = s->position[b][i] + uniform(r, -0.3, 0.3);
    double mu = below(r, 10) == 0 ? 0 : uniform(r, 0, most_mu);
    add_contact(s, other == b ? WORLD : other, b, p, n, uniform(r, 0, 3), dims[below(r, 4)], mu, uniform(r, 0, 0.2),
                uniform(r, 0, 0.1));
}

static inline void random_row(scene *s, source *r, tg_block_kind kind)
{
    int b = below(r, s->bodies), row = add_rows(s, kind, 1);
    double n[3], p[3];
    random_direction(r, n);
    for (int i = 0; i < 3; i++)
        p[i] = s->position[b][i] + uniform(r, -0.3, 0.3);
    row_add(s, row, b, p, n, below(r, 2) == 0, 1);
    s->block[s->blocks - 1].bound = kind == TG_BLOCK_FRICTION ? uniform(r, 0, 0.5) * s->mass[b] : 0;
}

static inline void random_scene(scene *s, source *r, int bodies, int contacts, double most_mu, double spread,
                                bool others)
{
    memset(s, 0, offsetof(scene, G));
    memset(s->warm, 0, sizeof s->warm);
    random_bodies(s, r, 1 + below(r, bodies), spread);
    int count = 1 + below(r, contacts);
    for (int c = 0; c < count; c++)
        random_contact(s, r, most_mu);
    for (int c = below(r, 3); others && c > 0; c--)
        random_row(s, r, TG_BLOCK_LIMIT);
    for (int c = below(r, 3); others && c > 0; c--)
        random_row(s, r, TG_BLOCK_FRICTION);
    for (int c = below(r, 2); others && c > 0; c--)
        random_row(s, r, TG_BLOCK_EQUALITY);
}

/* ---- assembly, solution ---- */

/* y = M^-1 a for one row of J */
static inline void inverse_mass(const scene *s, const double *a, double *y)
{
    if (s->coupled)
    {
        for (int i = 0; i < 6 * s->bodies; i++)
            y[i] = dot_n(6 * s->bodies, s->W[i], a);
        return;
    }
    for (int b = 0; b < s->bodies; b++)
        for (int i = 0; i < 3; i++)
        {
            const double *W = s->inverse_inertia[b] + 3 * i, *w = a + 6 * b + 3;
            y[6 * b + i] = a[6 * b + i] / s->mass[b];
            y[6 * b + 3 + i] = W[0] * w[0] + W[1] * w[1] + W[2] * w[2];
        }
}

/* Y = C^T J^T with M^-1 = C C^T of each body */
static inline void take_roots(scene *s)
{
    int ld = (s->rows + 3) / 4 * 4; /* a tree's columns are padded */
    for (int b = 0; b < s->bodies && !s->coupled; b++)
    {
        double C[3][3] = {{0}};
        const double *W = s->inverse_inertia[b];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j <= i; j++)
            {
                double sum = W[3 * i + j];
                for (int k = 0; k < j; k++)
                    sum -= C[i][k] * C[j][k];
                C[i][j] = i == j ? sqrt(sum) : sum / C[j][j];
            }
        for (int i = 0; i < s->rows; i++)
            for (int k = 0; k < 3; k++)
            {
                const double *J = s->J[i] + 6 * b;
                s->Y[(6 * b + k) * ld + i] = J[k] / sqrt(s->mass[b]);
                s->Y[(6 * b + 3 + k) * ld + i] = C[0][k] * J[3] + C[1][k] * J[4] + C[2][k] * J[5];
            }
    }
    for (int i = 0; i < s->rows; i++)
    {
        s->diagonal[i] = s->G[i * s->rows + i];
        s->column[i] = i;
    }
    s->tree = (tg_tree_rows){.dofs = 6 * s->bodies, .columns = s->rows, .ld = ld, .row = s->column, .Y = s->Y};
}

static inline void assemble(scene *s)
{
    int n = 6 * s->bodies;
    static double Y[SCENE_ROWS][SCENE_DOFS];
    for (int i = 0; i < s->rows; i++)
        inverse_mass(s, s->J[i], Y[i]);
    for (int i = 0; i < s->rows; i++)
    {
        for (int j = 0; j <= i; j++)
            s->G[i * s->rows + j] = s->G[j * s->rows + i] = dot_n(n, s->J[i], Y[j]);
        s->g[i] = dot_n(n, s->J[i], s->v) + s->bias[i];
    }
    take_roots(s);
}

/* Makes joints of the rows given so far: W = M^-1 - M^-1 J^T (J M^-1 J^T)^-1 J M^-1, v loses what the joints forbid,
 * and the rows are taken away. Unpivoted Cholesky: the rows must be independent. */
static inline void make_joints(scene *s)
{
    static double Y[SCENE_ROWS][SCENE_DOFS], K[64][64];
    int n = 6 * s->bodies, m = s->rows;
    assert_true(m <= 64);
    for (int i = 0; i < m; i++)
        inverse_mass(s, s->J[i], Y[i]);
    /* rows of Y become orthonormal in M, J with them: L^-1 Y, K = L L^T */
    for (int i = 0; i < m; i++)
    {
        for (int j = 0; j <= i; j++)
        {
            K[i][j] = dot_n(n, s->J[i], Y[j]);
            if (j == i)
                break;
            for (int k = 0; k < n; k++)
            {
                Y[i][k] -= K[i][j] * Y[j][k];
                s->J[i][k] -= K[i][j] * s->J[j][k];
            }
        }
        double size = sqrt(dot_n(n, s->J[i], Y[i]));
        assert_true(size > 1e-6);
        for (int k = 0; k < n; k++)
        {
            Y[i][k] /= size;
            s->J[i][k] /= size;
        }
    }
    for (int k = 0; k < n; k++)
    {
        double unit[SCENE_DOFS] = {0};
        unit[k] = 1;
        inverse_mass(s, unit, s->W[k]);
        for (int i = 0; i < m; i++)
            for (int l = 0; l < n; l++)
                s->W[k][l] -= Y[i][k] * Y[i][l];
    }
    for (int i = 0; i < m; i++)
    {
        double along = dot_n(n, s->J[i], s->v);
        for (int k = 0; k < n; k++)
            s->v[k] -= Y[i][k] * along;
    }
    s->coupled = true;
    s->rows = s->blocks = 0;
}

static inline tg_island island_of(const scene *s)
{
    return (tg_island){.rows = s->rows,
                       .blocks = s->blocks,
                       .block = s->block,
                       .G = s->G,
                       .ldg = s->rows,
                       .tree = s->coupled ? NULL : &s->tree,
                       .trees = 1,
                       .dofs = s->tree.dofs,
                       .diagonal = s->diagonal,
                       .give = s->give,
                       .g = s->g,
                       .warm = s->warm};
}

/* scratch for the largest scene, made once */
static inline tg_arena *test_scratch(void)
{
    static tg_arena arena;
    if (arena.base == NULL)
    {
        arena.capacity = tg_island_scratch((tg_island_size){.rows = SCENE_ROWS, .dofs = SCENE_DOFS, .trees = 1});
        arena.base = tg_alloc(NULL, arena.capacity);
        assert_non_null(arena.base);
    }
    return &arena;
}

/* v+ = v + M^-1 J^T L */
static inline void apply(scene *s)
{
    double p[SCENE_DOFS] = {0}, dv[SCENE_DOFS] = {0};
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < 6 * s->bodies; j++)
            p[j] += s->J[i][j] * s->L[i];
    inverse_mass(s, p, dv);
    for (int j = 0; j < 6 * s->bodies; j++)
        s->v_plus[j] = s->v[j] + dv[j];
}

static inline void solve_with(scene *s, const tg_solve_options *options)
{
    tg_error error;
    tg_island island = island_of(s);
    for (int i = 0; i < s->rows; i++)
        s->L[i] = s->sigma[i] = NAN;
    tg_status status = tg_island_solve(&island, options, test_scratch(), s->L, s->sigma, &s->result, &error);
    if (status != TG_OK)
        fail_msg("%s", error.message);
    apply(s);
}

static inline void solve(scene *s)
{
    tg_solve_options options = tg_solve_default();
    assemble(s);
    solve_with(s, &options);
}

static inline double residual_long_double(const scene *s)
{
    double sigma[SCENE_ROWS];
    tg_island island = island_of(s);
    tg_residual r = tg_island_residual(&island, s->L, true, sigma);
    return tg_residual_max(&r);
}

/* fails, and says where, unless |a - b| <= tolerance (NaN fails) */
#define assert_near(a, b, tolerance) check_near(a, b, tolerance, #a, __FILE__, __LINE__)

static inline void check_near(double a, double b, double tolerance, const char *what, const char *file, int line)
{
    if (fabs(a - b) <= tolerance)
        return;
    print_error("%s is %.17g, not %.17g: differs by %.3g > %.3g\n", what, a, b, a - b, tolerance);
    _fail(file, line);
}

#define assert_solved(s) check_solved(s, __FILE__, __LINE__)

static inline void check_solved(const scene *s, const char *file, int line)
{
    if (s->result.status == TG_SOLVE_SOLVED && residual_long_double(s) <= 1e-8)
        return;
    print_error("not solved: residual %g, in long double %g\n", tg_residual_max(&s->result.residual),
                residual_long_double(s));
    _fail(file, line);
}

static inline double now(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
