/* How contacts move with q, against central differences on the manifold: pairs of shapes on moving bodies, and the test
 * models. A column is skipped where the features of the contact change on the way of every step. Legs of a planar
 * robot that cross in its plane have no one normal; their contacts say so (margin 0) and are left out as undecided. */
#include "dynamics/dynamics_test.h"
#include "math/math_test.h"

enum
{
    ROOM = 256,
    ROWS = 7, /* point, normal, distance */
    STATES = 30
};

static const double tolerance = 1e-6, largest_share_skipped = 0.05, smallest_step = 1e-6;

typedef struct deriv_case
{
    const tg_model *m;
    tg_work *w;
    int nv;
    double margin;
    bool flat; /* a planar robot */
    double *q, *moved, *step;
    double *dpoint, *dnormal, *ddistance;
    tg_contact contact[ROOM], other[ROOM];
    int count;
    long columns, skipped; /* of all contacts but those without a choice of features of their own */
    int undecided;         /* contacts of that kind */
    double error, largest;
} deriv_case;

static deriv_case *begin_case(const tg_model *m, double margin)
{
    tg_sizes n = tg_model_sizes(m);
    size_t nv = (size_t)n.nv;
    deriv_case *c = calloc(1, sizeof *c);
    c->m = m;
    c->nv = n.nv;
    c->margin = margin;
    c->q = numbers((size_t)n.nq);
    c->moved = numbers((size_t)n.nq);
    c->step = numbers(nv);
    c->dpoint = numbers(ROOM * 3 * nv);
    c->dnormal = numbers(ROOM * 3 * nv);
    c->ddistance = numbers(ROOM * nv);
    assert_int_equal(tg_work_create(m, &c->w, NULL), TG_OK);
    return c;
}

static void end_case(deriv_case *c)
{
    tg_work_destroy(c->w);
    double *const owned[] = {c->q, c->moved, c->step, c->dpoint, c->dnormal, c->ddistance};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(c);
}

/* ---- one column of one contact ---- */

/* The contact of that id with dof k displaced by h. */
static bool contact_at(deriv_case *c, uint64_t id, int k, double h, double out[ROWS])
{
    int count = 0;
    memset(c->step, 0, sizeof(double) * (size_t)c->nv);
    c->step[k] = h;
    assert_int_equal(tg_integrate(c->m, c->q, c->step, c->moved, NULL), TG_OK);
    if (tg_collide(c->m, c->w, c->moved, c->margin, c->other, ROOM, &count) != TG_OK)
        fail_msg("%s", tg_work_message(c->w));
    for (int i = 0; i < count && i < ROOM; i++)
        if (c->other[i].id == id)
        {
            memcpy(out, c->other[i].point, sizeof(double[3]));
            memcpy(out + 3, c->other[i].normal, sizeof(double[3]));
            out[6] = c->other[i].distance;
            return true;
        }
    return false;
}

/* (4 D(h/2) - D(h)) / 3; false where the features change */
static bool difference(deriv_case *c, uint64_t id, int k, double h, double F[ROWS])
{
    double at[4][ROWS];
    const double shift[4] = {h, -h, 0.5 * h, -0.5 * h};
    for (int i = 0; i < 4; i++)
        if (!contact_at(c, id, k, shift[i], at[i]))
            return false;
    for (int r = 0; r < ROWS; r++)
        F[r] = (4 * (at[2][r] - at[3][r]) / h - (at[0][r] - at[1][r]) / (2 * h)) / 3;
    return true;
}

static double column_error(const deriv_case *c, int contact, int k, const double F[ROWS], double *size)
{
    double error = 0;
    *size = 0;
    for (int r = 0; r < ROWS; r++)
    {
        size_t row = 3 * (size_t)contact + (size_t)(r % 3), nv = (size_t)c->nv;
        double J = r < 3   ? c->dpoint[row * nv + (size_t)k]
                   : r < 6 ? c->dnormal[row * nv + (size_t)k]
                           : c->ddistance[(size_t)contact * nv + (size_t)k];
        error = worse(error, fabs(J - F[r]));
        *size = fmax(*size, fabs(F[r]));
    }
    return error / fmax(1, *size);
}

static void check_column(deriv_case *c, int contact, int k)
{
    static const double steps[] = {1e-4, 1e-3, 1e-5, 1e-6};
    double best = INFINITY, size = 0;
    bool compared = false;
    for (size_t s = 0; s < sizeof steps / sizeof *steps && best > 1e-9; s++)
    {
        double F[ROWS], norm;
        if (!difference(c, c->contact[contact].id, k, steps[s], F))
            continue;
        double error = column_error(c, contact, k, F, &norm);
        compared = true;
        if (error < best)
        {
            best = error;
            size = norm;
        }
    }
    c->columns++;
    c->skipped += !compared;
    if (compared && best > tolerance)
    {
        const tg_contact *x = &c->contact[contact];
        fail_msg("contact of geoms %d and %d, id %llx, distance %g, margin %g: column %d is wrong by %.3g (of %.3g)",
                 x->geom1, x->geom2, (unsigned long long)x->id, x->distance, x->margin, k, best, size);
    }
    if (compared)
    {
        c->error = worse(c->error, best);
        c->largest = fmax(c->largest, size);
    }
}

/* ---- one state ---- */

/* The contacts that come with the derivatives are those of tg_collide. */
static void check_contacts(deriv_case *c)
{
    int count = 0;
    assert_int_equal(tg_collide(c->m, c->w, c->q, c->margin, c->other, ROOM, &count), TG_OK);
    assert_int_equal(count, c->count);
    assert_memory_equal(c->other, c->contact, sizeof *c->other * (size_t)(count < ROOM ? count : ROOM));
}

static void check_state(deriv_case *c)
{
    if (tg_collide_derivatives(c->m, c->w, c->q, c->margin, c->contact, ROOM, &c->count, c->dpoint, c->dnormal,
                               c->ddistance) != TG_OK)
        fail_msg("%s", tg_work_message(c->w));
    assert_in_range(c->count, 0, ROOM);
    check_contacts(c);
    for (int i = 0; i < c->count; i++)
    {
        bool undecided = c->flat && c->contact[i].margin < smallest_step;
        c->undecided += undecided;
        for (int k = 0; k < c->nv && !undecided; k++)
            check_column(c, i, k);
    }
}

static void report(const deriv_case *c, const char *name)
{
    double share = c->columns > 0 ? (double)c->skipped / (double)c->columns : 0;
    print_message("  %-28s %6ld columns, %.2g %% skipped, %d contacts undecided, worst error %.2g\n", name, c->columns,
                  100 * share, c->undecided, c->error);
    assert_true(c->columns > 0);
    assert_true(c->largest > 0.1);
    assert_true(share < largest_share_skipped);
}

/* ---- pairs of shapes ---- */

static int tetrahedron(const small_model *s)
{
    static const double vertex[4][3] = {
        {0.3, 0.02, -0.1}, {-0.2, 0.25, -0.12}, {-0.15, -0.3, -0.08}, {0.03, 0.01, 0.3}};
    tg_mesh_def mesh = tg_default_mesh();
    int id = 0;
    mesh.nvertex = 4;
    mesh.vertex = &vertex[0][0];
    small_ok(s, tg_builder_mesh(s->b, &mesh, &id));
    return id;
}

static void add_shape(small_model *s, int body, tg_geom_type type)
{
    static const double size[TG_GEOM_TYPE_COUNT][3] = {
        [TG_GEOM_SPHERE] = {0.25},        [TG_GEOM_CAPSULE] = {0.12, 0.3},  [TG_GEOM_ELLIPSOID] = {0.3, 0.2, 0.12},
        [TG_GEOM_CYLINDER] = {0.2, 0.25}, [TG_GEOM_BOX] = {0.3, 0.2, 0.12},
    };
    tg_geom_def geom = tg_default_geom();
    geom.body = body;
    geom.type = type;
    memcpy(geom.size, size[type], sizeof geom.size);
    if (type == TG_GEOM_MESH)
        geom.mesh = tetrahedron(s);
    if (body != 0)
    {
        geom.pos[0] = 0.05;
        geom.pos[1] = -0.03;
        geom.quat[0] = 0.8;
        geom.quat[2] = 0.6;
    }
    small_ok(s, tg_builder_geom(s->b, &geom, NULL));
}

/* The first shape on a free body (a plane: on the world), the second at the end of two hinges on another free body. */
static tg_model *pair_model(tg_geom_type first, tg_geom_type second)
{
    small_model s = small_begin();
    tg_model *m = NULL;
    int carrier = small_body(&s, 0, 0, 0, 0), link = small_body(&s, carrier, 0.1, 0.05, -0.1);
    small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), carrier);
    small_joint(&s, plain_joint(TG_JOINT_HINGE, 0.3, 1, 0.2), link);
    small_joint(&s, plain_joint(TG_JOINT_HINGE, 1, 0.1, -0.4), link);
    int other = 0;
    if (first != TG_GEOM_PLANE)
    {
        other = small_body(&s, 0, 0, 0, 0);
        small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), other);
    }
    add_shape(&s, other, first);
    add_shape(&s, link, second);
    small_ok(&s, tg_builder_build(s.b, &m));
    tg_builder_destroy(s.b);
    return m;
}

/* Apart, touching and deep, in turn: the free bodies within 0.5 m of the origin. */
static void randomise(deriv_case *c, unsigned seed)
{
    double *v = numbers((size_t)c->nv);
    assert_int_equal(tg_random_state(c->m, seed, c->q, v, NULL), TG_OK);
    for (int k = 0; k < 3; k++)
    {
        double near = 0.1 + 0.2 * (seed % 3);
        c->q[k] = near * tanh(c->q[k]);
        if (tg_model_sizes(c->m).njoint > 3)
            c->q[9 + k] = near * tanh(c->q[9 + k]);
    }
    free(v);
}

static void check_pair(tg_geom_type first, tg_geom_type second)
{
    static const char *const names[TG_GEOM_TYPE_COUNT] = {"plane",     "hfield",   "sphere", "capsule",
                                                          "ellipsoid", "cylinder", "box",    "mesh"};
    char name[64];
    tg_model *m = pair_model(first, second);
    deriv_case *c = begin_case(m, 3);
    for (unsigned seed = 0; seed < STATES; seed++)
    {
        randomise(c, seed);
        check_state(c);
    }
    snprintf(name, sizeof name, "%s, %s", names[first], names[second]);
    report(c, name);
    end_case(c);
    tg_model_destroy(m);
}

static void test_narrow(void **state)
{
    (void)state;
    for (int first = 0; first < TG_GEOM_TYPE_COUNT; first++)
        for (int second = first; second < TG_GEOM_TYPE_COUNT; second++)
            if (first != TG_GEOM_HFIELD && second != TG_GEOM_HFIELD && second != TG_GEOM_PLANE)
                check_pair((tg_geom_type)first, (tg_geom_type)second);
}

/* ---- sides in one plane ---- */

static double between(test_random *r, double low, double high)
{
    return low + 0.5 * (high - low) * (1 + random_unit(r));
}

/* Two boxes that slide along their common axes on a body that moves freely, one above the other. A side of both lies in
 * one plane up to rounding, across x or y: they are of one width along that, as the pads of a gripper, or one is beside
 * the other, so that the faces share no more than an edge. */
static tg_model *level_boxes(test_random *r, int kind)
{
    small_model s = small_begin();
    tg_model *m = NULL;
    int level = kind & 1, beside = kind & 2, back = kind & 4;
    double size[2][3], at[3];
    for (int i = 0; i < 6; i++)
        size[i / 3][i % 3] = between(r, 0.05, 0.2);
    size[1][level] = beside ? size[1][level] : size[0][level];
    at[level] = (beside ? size[0][level] + size[1][level] : 0) * (back ? -1 : 1);
    at[!level] = (size[0][!level] + size[1][!level]) * between(r, -0.9, 0.9);
    at[2] = size[0][2] + size[1][2] + between(r, -0.01, 0.01);
    int carrier = small_body(&s, 0, 0, 0, 0), slider = small_body(&s, carrier, at[0], at[1], at[2]),
        link = small_body(&s, slider, 0, 0, 0);
    small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), carrier);
    for (int k = 0; k < 3; k++)
        small_joint(&s, plain_joint(TG_JOINT_SLIDE, k == 0, k == 1, k == 2), k == 0 ? slider : link);
    for (int i = 0; i < 2; i++)
    {
        tg_geom_def geom = tg_default_geom();
        geom.body = i == 0 ? carrier : link;
        geom.type = TG_GEOM_BOX;
        memcpy(geom.size, size[i], sizeof geom.size);
        small_ok(&s, tg_builder_geom(s.b, &geom, NULL));
    }
    small_ok(&s, tg_builder_build(s.b, &m));
    tg_builder_destroy(s.b);
    return m;
}

/* the length of the column of a point by dof k */
static double point_speed(const deriv_case *c, int contact, int k)
{
    double square = 0;
    for (int i = 0; i < 3; i++)
    {
        double x = c->dpoint[(size_t)(3 * contact + i) * (size_t)c->nv + (size_t)k];
        square += x * x;
    }
    return sqrt(square);
}

/* Whatever makes a corner there, its points move with the body that carries both, and not faster than the shape that
 * slides: no edge is cut by the side that it lies in. */
static void test_level_sides(void **state)
{
    (void)state;
    test_random r = {1};
    int points = 0;
    for (int trial = 0; trial < 200; trial++)
    {
        tg_model *m = level_boxes(&r, trial);
        deriv_case *c = begin_case(m, 0.1);
        double *v = numbers((size_t)c->nv);
        assert_int_equal(tg_random_state(m, (unsigned)trial, c->q, v, NULL), TG_OK);
        for (int k = 7; k < 10; k++)
            c->q[k] = 0;
        assert_int_equal(tg_collide_derivatives(m, c->w, c->q, 0.1, c->contact, ROOM, &c->count, c->dpoint, c->dnormal,
                                                c->ddistance),
                         TG_OK);
        for (int i = 0; i < c->count; i++)
            for (int k = 0; k < 9; k++)
            {
                double speed = point_speed(c, i, k);
                if (k < 3 ? fabs(speed - 1) > 1e-9 : k >= 6 && !(speed < 1 + 1e-9))
                    fail_msg("boxes %d, contact %d: its point moves by %g along dof %d", trial, i, speed, k);
            }
        points += c->count;
        free(v);
        end_case(c);
        tg_model_destroy(m);
    }
    assert_true(points > 600);
}

/* ---- the test models ---- */

static void test_models(void **state)
{
    (void)state;
    int checked = 0;
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        tg_model *m = tg_test_model(which);
        if (tg_model_sizes(m).ncandidate > 0)
        {
            deriv_case *c = begin_case(m, 0.3);
            c->flat = which == TG_TEST_WALKER;
            for (unsigned seed = 0; seed < STATES; seed++)
            {
                double *v = numbers((size_t)c->nv);
                assert_int_equal(tg_random_state(m, seed, c->q, v, NULL), TG_OK);
                check_state(c);
                free(v);
            }
            report(c, tg_test_model_name(which));
            end_case(c);
            checked++;
        }
        tg_model_destroy(m);
    }
    assert_true(checked > 0);
}

/* ---- outputs ---- */

/* Each may be left out; nothing is written beyond the capacity. */
static void test_outputs_are_optional(void **state)
{
    (void)state;
    tg_model *m = pair_model(TG_GEOM_PLANE, TG_GEOM_BOX);
    deriv_case *c = begin_case(m, 3);
    size_t nv = (size_t)c->nv;
    randomise(c, 1);
    assert_int_equal(
        tg_collide_derivatives(m, c->w, c->q, 3, c->contact, ROOM, &c->count, c->dpoint, c->dnormal, c->ddistance),
        TG_OK);
    assert_true(c->count > 2);
    double *alone = numbers(ROOM * 3 * nv);
    int count = 0;
    for (size_t i = 0; i < ROOM * 3 * nv; i++)
        alone[i] = 1e9;
    assert_int_equal(tg_collide_derivatives(m, c->w, c->q, 3, c->other, 2, &count, alone, NULL, NULL), TG_OK);
    assert_int_equal(count, c->count);
    assert_memory_equal(alone, c->dpoint, sizeof(double) * 2 * 3 * nv);
    assert_true(alone[2 * 3 * nv] == 1e9);
    assert_int_equal(tg_collide_derivatives(m, c->w, c->q, 3, NULL, 0, &count, NULL, NULL, NULL), TG_OK);
    assert_int_equal(tg_collide_derivatives(m, c->w, c->q, 3, c->other, ROOM, &count, NULL, NULL, alone), TG_OK);
    assert_memory_equal(alone, c->ddistance, sizeof(double) * (size_t)count * nv);
    free(alone);
    end_case(c);
    tg_model_destroy(m);
}

/* The gap of a pair is that of its nearest contact point, in either order. */
static void test_gap(void **state)
{
    (void)state;
    tg_model *m = pair_model(TG_GEOM_PLANE, TG_GEOM_BOX);
    deriv_case *c = begin_case(m, 3);
    randomise(c, 1);
    assert_int_equal(
        tg_collide_derivatives(m, c->w, c->q, 3, c->contact, ROOM, &c->count, c->dpoint, c->dnormal, c->ddistance),
        TG_OK);
    int least = 0;
    for (int k = 1; k < c->count; k++)
        least = c->contact[k].gap < c->contact[least].gap ? k : least;
    double gap = 0, *slope = numbers((size_t)c->nv);
    for (int swapped = 0; swapped < 2; swapped++)
    {
        assert_int_equal(tg_gap(m, c->w, c->q, swapped, 1 - swapped, &gap, slope), TG_OK);
        assert_true(gap == c->contact[least].gap);
        assert_memory_equal(slope, c->ddistance + (ptrdiff_t)least * c->nv, sizeof(double) * (size_t)c->nv);
    }
    assert_int_equal(tg_gap(m, c->w, c->q, 0, 1, &gap, NULL), TG_OK);
    assert_int_equal(tg_gap(m, c->w, c->q, 1, 1, &gap, slope), TG_ERR_VALUE);
    assert_non_null(strstr(tg_work_message(c->w), "never collide"));
    assert_int_equal(tg_gap(m, c->w, c->q, 0, 2, &gap, slope), TG_ERR_ARGUMENT);
    assert_non_null(strstr(tg_work_message(c->w), "the model has 2"));
    assert_int_equal(tg_gap(m, c->w, c->q, 0, 1, NULL, slope), TG_ERR_ARGUMENT);
    free(slope);
    end_case(c);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_narrow), cmocka_unit_test(test_level_sides),
        cmocka_unit_test(test_models), cmocka_unit_test(test_outputs_are_optional),
        cmocka_unit_test(test_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
