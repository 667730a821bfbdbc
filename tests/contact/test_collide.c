/* The contacts of a model: which pairs, where, in which order; what is refused; no memory. */
#include "dynamics/dynamics_test.h"
#include "support/heap_watch.h"

enum
{
    ROOM = 512,
    STATES = 50
};

/* ---- small scenes ---- */

static void scene_ok(const tg_scene *s, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_scene_message(s));
}

static void scene_prop(tg_scene *s, const char *name, tg_geom_type type, const double size[3])
{
    tg_prop_def def = tg_default_prop();
    def.name = name;
    def.geom.type = type;
    memcpy(def.geom.size, size, sizeof def.geom.size);
    scene_ok(s, tg_scene_prop(s, &def, NULL));
}

typedef struct collide_case
{
    tg_model *m;
    tg_work *w;
    tg_sizes n;
    double *q;
    tg_contact contact[ROOM];
    int count;
} collide_case;

static collide_case *begin_case(tg_model *m)
{
    collide_case *c = calloc(1, sizeof *c);
    c->m = m;
    c->n = tg_model_sizes(m);
    c->q = numbers((size_t)c->n.nq);
    assert_int_equal(tg_work_create(m, &c->w, NULL), TG_OK);
    assert_int_equal(tg_default_q(m, c->q, NULL), TG_OK);
    return c;
}

static void end_case(collide_case *c)
{
    tg_work_destroy(c->w);
    tg_model_destroy(c->m);
    free(c->q);
    free(c);
}

static void collide(collide_case *c, double margin)
{
    if (tg_collide(c->m, c->w, c->q, margin, c->contact, ROOM, &c->count) != TG_OK)
        fail_msg("%s", tg_work_message(c->w));
    assert_in_range(c->count, 0, ROOM);
}

static collide_case *build_scene(tg_scene *s)
{
    tg_model *m = NULL;
    scene_ok(s, tg_scene_build(s, &m));
    tg_scene_destroy(s);
    return begin_case(m);
}

/* A floor, and a box of 0.4 x 0.6 x 0.2 m that moves freely. */
static collide_case *box_on_plane(void)
{
    tg_scene *s = NULL;
    assert_int_equal(tg_scene_create(&watched_allocator, &s, NULL), TG_OK);
    scene_ok(s, tg_scene_floor(s, NULL));
    scene_prop(s, "box", TG_GEOM_BOX, (const double[3]){0.2, 0.3, 0.1});
    return build_scene(s);
}

static int add_geom(small_model *s, int body, tg_geom_type type, double x, double y, double z)
{
    tg_geom_def geom = tg_default_geom();
    int id = 0;
    geom.body = body;
    geom.type = type;
    geom.size[0] = x;
    geom.size[1] = y;
    geom.size[2] = z;
    geom.pos[2] = -0.05;
    small_ok(s, tg_builder_geom(s->b, &geom, &id));
    return id;
}

/* A box that moves freely, with two legs of two capsules and a spherical foot each; no two axes are parallel: 7 geoms.
 */
static tg_model *legged_robot(void)
{
    small_model s = small_begin();
    tg_model *m = NULL;
    int base = small_body(&s, 0, 0, 0, 0.5);
    small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), base);
    add_geom(&s, base, TG_GEOM_BOX, 0.2, 0.1, 0.05);
    for (int leg = -1; leg <= 1; leg += 2)
    {
        int thigh = small_body(&s, base, 0.15 * leg, 0.1, 0), shank = small_body(&s, thigh, 0, 0.05, -0.25);
        small_joint(&s, plain_joint(TG_JOINT_HINGE, 0.2 * leg, 1, 0.3), thigh);
        small_joint(&s, plain_joint(TG_JOINT_HINGE, 1, 0.4 * leg, 0), shank);
        add_geom(&s, thigh, TG_GEOM_CAPSULE, 0.04, 0.1, 0);
        add_geom(&s, shank, TG_GEOM_CAPSULE, 0.03, 0.1, 0);
        add_geom(&s, shank, TG_GEOM_SPHERE, 0.05, 0, 0);
    }
    small_ok(&s, tg_builder_build(s.b, &m));
    tg_builder_destroy(s.b);
    return m;
}

enum
{
    ROBOT_GEOMS = 7
};

/* Two robots, a box, a sphere and a floor: every filter has something to do. */
static collide_case *two_robots(void)
{
    tg_scene *s = NULL;
    tg_model *robot = legged_robot();
    tg_attach_def at = tg_default_attach();
    assert_int_equal(tg_scene_create(&watched_allocator, &s, NULL), TG_OK);
    scene_ok(s, tg_scene_floor(s, NULL));
    at.prefix = "left";
    scene_ok(s, tg_scene_add_model(s, robot, NULL, &at));
    at.prefix = "right";
    scene_ok(s, tg_scene_add_model(s, robot, NULL, &at));
    tg_model_destroy(robot);
    scene_prop(s, "box", TG_GEOM_BOX, (const double[3]){0.2, 0.1, 0.15});
    scene_prop(s, "ball", TG_GEOM_SPHERE, (const double[3]){0.2, 0, 0});
    return build_scene(s);
}

/* Everything near the origin, so that there is contact. */
static void crowd(collide_case *c, unsigned seed)
{
    double *v = numbers((size_t)c->n.nv);
    assert_int_equal(tg_random_state(c->m, seed, c->q, v, NULL), TG_OK);
    for (int j = 0; j < c->n.njoint; j++)
    {
        tg_joint_info joint;
        assert_int_equal(tg_joint_get(c->m, j, &joint, NULL), TG_OK);
        if (joint.type == TG_JOINT_FREE || joint.type == TG_JOINT_SLIDE)
            for (int k = 0; k < (joint.type == TG_JOINT_FREE ? 3 : 1); k++)
                c->q[joint.q + k] = 0.4 * fmod(fabs(c->q[joint.q + k]), 1);
    }
    free(v);
}

/* ---- where contacts are ---- */

static void test_box_on_plane(void **state)
{
    (void)state;
    collide_case *c = box_on_plane();
    c->q[0] = 5;
    c->q[2] = 0.099;
    collide(c, 0);
    assert_int_equal(c->count, 4);
    double sum[2] = {0};
    for (int i = 0; i < c->count; i++)
    {
        const tg_contact *x = &c->contact[i];
        assert_int_equal(x->geom1, 0);
        assert_int_equal(x->geom2, 1);
        check_numbers(x->normal, (const double[3]){0, 0, 1}, 3, 1e-14);
        check_numbers(&x->distance, (const double[1]){-0.001}, 1, 1e-14);
        const double corner[3] = {fabs(x->point[0] - 5), fabs(x->point[1]), x->point[2]};
        check_numbers(corner, (const double[3]){0.2, 0.3, -0.0005}, 3, 1e-14);
        sum[0] += x->point[0] - 5;
        sum[1] += x->point[1];
        for (int k = 0; k < i; k++)
            assert_true(c->contact[k].id != x->id);
    }
    check_numbers(sum, (const double[2]){0, 0}, 2, 1e-14); /* four different corners */
    end_case(c);
}

static void test_margins_decide_what_is_near(void **state)
{
    (void)state;
    collide_case *c = box_on_plane();
    tg_params *p = NULL;
    int offset = 0, size = 0;
    c->q[2] = 0.101;
    collide(c, 0);
    assert_int_equal(c->count, 0);
    collide(c, 0.0009);
    assert_int_equal(c->count, 0);
    collide(c, 0.0011);
    assert_int_equal(c->count, 4);
    check_numbers(&c->contact[0].distance, (const double[1]){0.001}, 1, 1e-14); /* without margins */
    assert_int_equal(tg_params_create(c->m, &p, NULL), TG_OK);
    const char *const names[2] = {"geom.floor.margin", "geom.box.margin"};
    for (int g = 0; g < 2; g++)
    {
        assert_int_equal(tg_param_find(c->m, names[g], &offset, &size, NULL), TG_OK);
        tg_params_data(p)[offset] = 0.0006;
    }
    assert_int_equal(tg_params_changed(p, NULL), TG_OK);
    assert_int_equal(tg_work_set_params(c->w, p), TG_OK);
    collide(c, 0);
    assert_int_equal(c->count, 4); /* 0.0006 + 0.0006 > 0.001 */
    collide(c, -0.0003);
    assert_int_equal(c->count, 0);
    assert_int_equal(tg_work_set_params(c->w, NULL), TG_OK);
    tg_params_destroy(p);
    end_case(c);
}

static void test_declared_pair_has_its_own_margin(void **state)
{
    (void)state;
    small_model s = small_begin();
    int ball = small_body(&s, 0, 0, 0, 0), id[2];
    small_joint(&s, plain_joint(TG_JOINT_FREE, 0, 0, 1), ball);
    for (int i = 0; i < 2; i++)
    {
        tg_geom_def geom = tg_default_geom();
        geom.body = i == 0 ? 0 : ball;
        geom.size[0] = 0.1;
        geom.margin = 0.5;
        geom.contype = geom.conaffinity = 0; /* but declared */
        small_ok(&s, tg_builder_geom(s.b, &geom, &id[i]));
    }
    tg_pair_def pair = tg_default_pair();
    pair.geom1 = id[1];
    pair.geom2 = id[0];
    pair.margin = 0.02;
    small_ok(&s, tg_builder_pair(s.b, &pair, NULL));
    small_build(&s);
    double q[7] = {0.215, 0, 0, 1, 0, 0, 0};
    tg_contact contact;
    int count = -1;
    small_ok(&s, tg_collide(s.m, s.w, q, 0, &contact, 1, &count));
    assert_int_equal(count, 1);
    check_numbers(&contact.distance, (const double[1]){0.015}, 1, 1e-14);
    q[0] = 0.225;
    small_ok(&s, tg_collide(s.m, s.w, q, 0, &contact, 1, &count));
    assert_int_equal(count, 0);
    small_end(&s);
}

/* ---- against all pairs, one by one ---- */

typedef struct placed_shape
{
    tg_shape shape;
    double pose[7];
    tg_geom_info info;
} placed_shape;

static placed_shape shape_of(collide_case *c, int g)
{
    placed_shape s = {.shape = tg_default_shape()};
    char name[64];
    int offset = 0, size = 0;
    assert_int_equal(tg_geom_get(c->m, g, &s.info, NULL), TG_OK);
    snprintf(name, sizeof name, "geom.#%d.size", g);
    assert_int_equal(tg_param_find(c->m, name, &offset, &size, NULL), TG_OK);
    memcpy(s.shape.size, tg_params_view(tg_model_params(c->m)) + offset, sizeof s.shape.size);
    s.shape.type = s.info.type;
    assert_int_equal(tg_kinematics(c->m, c->w, c->q, NULL), TG_OK);
    assert_int_equal(tg_geom_pose(c->m, c->w, g, s.pose, s.pose + 3), TG_OK);
    return s;
}

/* No body of these scenes is welded to another, none is excluded: what remains is the body itself and its parent. */
static bool may_collide(const collide_case *c, int body1, int body2)
{
    tg_body_info info[2];
    assert_int_equal(tg_body_get(c->m, body1, &info[0], NULL), TG_OK);
    assert_int_equal(tg_body_get(c->m, body2, &info[1], NULL), TG_OK);
    if (body1 == body2)
        return false;
    return body1 == 0 || body2 == 0 || (info[0].parent != body2 && info[1].parent != body1);
}

static int brute_force(collide_case *c, double margin, tg_contact *out)
{
    int count = 0;
    for (int g = 0; g < c->n.ngeom; g++)
        for (int h = g + 1; h < c->n.ngeom; h++)
        {
            placed_shape a = shape_of(c, g), b = shape_of(c, h);
            tg_collide_options options = tg_default_collide_options();
            tg_error error = {0};
            int found = 0;
            options.reach = margin;
            if (!may_collide(c, a.info.body, b.info.body))
                continue;
            if (tg_collide_pair(&a.shape, a.pose, &b.shape, b.pose, &options, out + count, ROOM - count, &found,
                                &error) != TG_OK)
                fail_msg("%s", error.message);
            for (int i = count; i < count + found; i++)
            {
                out[i].geom1 = g;
                out[i].geom2 = h;
            }
            count += found;
        }
    return count;
}

static void test_same_as_every_pair_alone(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    tg_contact *all = calloc(ROOM, sizeof *all);
    int most = 0, between = 0;
    for (unsigned seed = 0; seed < STATES; seed++)
    {
        double margin = 0.02 * (seed % 3);
        crowd(c, seed);
        int expected = brute_force(c, margin, all);
        collide(c, margin);
        assert_int_equal(c->count, expected);
        for (int i = 0; i < c->count; i++)
        {
            const tg_contact *x = &c->contact[i];
            assert_int_equal(x->geom1, all[i].geom1);
            assert_int_equal(x->geom2, all[i].geom2);
            assert_int_equal((uint32_t)x->id, (uint32_t)all[i].id);
            check_numbers(x->point, all[i].point, 3, 1e-10);
            check_numbers(x->normal, all[i].normal, 3, 1e-9);
            check_numbers(&x->distance, &all[i].distance, 1, 1e-11);
            between +=
                x->geom1 >= 1 && x->geom1 <= ROBOT_GEOMS && x->geom2 > ROBOT_GEOMS && x->geom2 <= 2 * ROBOT_GEOMS;
        }
        most = c->count > most ? c->count : most;
    }
    assert_true(most > 20);
    assert_true(between > STATES); /* of one robot with the other */
    free(all);
    end_case(c);
}

/* ---- order, ids, capacity ---- */

static void test_order_and_ids(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    for (unsigned seed = 0; seed < STATES; seed++)
    {
        crowd(c, seed);
        collide(c, 0.01);
        for (int i = 0; i < c->count; i++)
        {
            const tg_contact *x = &c->contact[i], *before = &c->contact[i > 0 ? i - 1 : 0];
            assert_true(x->geom1 < x->geom2);
            assert_true(before->geom1 < x->geom1 || (before->geom1 == x->geom1 && before->geom2 <= x->geom2));
            for (int k = 0; k < i; k++)
                assert_true(c->contact[k].id != x->id);
        }
    }
    end_case(c);
}

/* Ids stay while the state moves by less than the next choice of features is away. */
static void test_ids_are_stable(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    tg_contact *before = calloc(ROOM, sizeof *before);
    double *step = numbers((size_t)c->n.nv), *q = numbers((size_t)c->n.nq);
    int kept = 0, all = 0;
    for (unsigned seed = 0; seed < STATES; seed++)
    {
        crowd(c, seed);
        collide(c, 0.01);
        int count = c->count;
        memcpy(before, c->contact, sizeof c->contact);
        for (int k = 0; k < c->n.nv; k++)
            step[k] = 1e-9 * (k % 2 == 0 ? 1 : -1);
        memcpy(q, c->q, sizeof(double) * (size_t)c->n.nq);
        assert_int_equal(tg_integrate(c->m, q, step, c->q, NULL), TG_OK);
        collide(c, 0.01);
        for (int i = 0; i < count; i++)
        {
            bool found = false;
            for (int k = 0; k < c->count; k++)
                found = found || (c->contact[k].id == before[i].id && c->contact[k].geom1 == before[i].geom1 &&
                                  fabs(c->contact[k].distance - before[i].distance) < 1e-7);
            if (!found && before[i].margin > 1e-6 && before[i].distance < 0.01 - 1e-7)
                fail_msg("state %u: contact %d of geoms %d and %d is gone, margin %g", seed, i, before[i].geom1,
                         before[i].geom2, before[i].margin);
            kept += found;
            all++;
        }
    }
    print_message("  %d of %d contacts kept their id\n", kept, all);
    assert_true(kept > 0.99 * all);
    free(before);
    free(step);
    free(q);
    end_case(c);
}

static void test_counts_beyond_capacity(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    crowd(c, 3);
    collide(c, 0.02);
    assert_true(c->count > 4);
    for (int capacity = 0; capacity < c->count; capacity++)
    {
        tg_contact some[ROOM];
        int count = -1;
        memset(some, 0x5a, sizeof some);
        assert_int_equal(tg_collide(c->m, c->w, c->q, 0.02, capacity == 0 ? NULL : some, capacity, &count), TG_OK);
        assert_int_equal(count, c->count);
        assert_memory_equal(some, c->contact, sizeof *some * (size_t)capacity);
        for (size_t k = sizeof *some * (size_t)capacity; k < sizeof some; k++)
            assert_int_equal(((unsigned char *)some)[k], 0x5a);
    }
    end_case(c);
}

/* What was computed before does not matter. */
static void test_depends_on_the_arguments_alone(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    tg_work *fresh = NULL;
    tg_contact *again = calloc(ROOM, sizeof *again);
    for (unsigned seed = 0; seed < 5; seed++)
    {
        int count = 0;
        crowd(c, seed);
        collide(c, 0.02);
        assert_int_equal(tg_work_create(c->m, &fresh, NULL), TG_OK);
        assert_int_equal(tg_collide(c->m, fresh, c->q, 0.02, again, ROOM, &count), TG_OK);
        assert_int_equal(count, c->count);
        assert_memory_equal(again, c->contact, sizeof *again * (size_t)count);
        tg_work_destroy(fresh);
    }
    free(again);
    end_case(c);
}

#define TUMBLER                                                                                                        \
    "<body pos='%g 0 0.3'><freejoint/><geom type='mesh' mesh='m'/><geom type='capsule' size='0.02 0.1' pos='0 0 "      \
    "0.2'/>"                                                                                                           \
    "</body>"

/* Meshes and a capsule that tumble past each other in small steps, sometimes within reach: what the workspace remembers
 * of a search does not change one bit. */
static void test_hints_do_not_matter(void **state)
{
    (void)state;
    static const char scene[] =
        "<mujoco><asset><mesh name='m' vertex='0 0 0 .2 0 0 0 .2 0 0 0 .2 .15 .15 .1 .1 .2 .15'/></asset>"
        "<worldbody><geom type='box' size='1 1 0.1'/>" TUMBLER TUMBLER TUMBLER "</worldbody></mujoco>";
    char text[sizeof scene + 64];
    tg_model *m = NULL;
    snprintf(text, sizeof text, scene, 0.0, 0.22, 0.44);
    assert_int_equal(tg_load_string(text, strlen(text), NULL, NULL, &m, NULL), TG_OK);
    collide_case *c = begin_case(m);
    tg_contact *again = calloc(ROOM, sizeof *again);
    int some = 0, none = 0;
    for (int k = 0; k < 400; k++)
    {
        int count = 0;
        tg_work *fresh = NULL;
        for (int body = 0; body < 3; body++)
        {
            double *q = c->q + 7 * body, angle = 0.01 * (body + 1) * k;
            q[2] = 0.3 + 0.1 * sin(0.02 * k + body);
            q[3] = cos(angle);
            q[4] = sin(angle) * 0.6;
            q[5] = sin(angle) * 0.8;
        }
        collide(c, 0.01);
        assert_int_equal(tg_work_create(c->m, &fresh, NULL), TG_OK);
        assert_int_equal(tg_collide(c->m, fresh, c->q, 0.01, again, ROOM, &count), TG_OK);
        assert_int_equal(count, c->count);
        assert_memory_equal(again, c->contact, sizeof *again * (size_t)count);
        tg_work_destroy(fresh);
        some += count > 0;
        none += count == 0;
    }
    assert_true(some > 50 && none > 50);
    free(again);
    end_case(c);
}

/* ---- refusals ---- */

static void refused(collide_case *c, tg_status expected, tg_status got, const char *part)
{
    assert_int_equal(got, expected);
    if (strstr(tg_work_message(c->w), part) == NULL)
        fail_msg("'%s' does not say '%s'", tg_work_message(c->w), part);
}

static void test_refusals(void **state)
{
    (void)state;
    collide_case *c = box_on_plane();
    tg_contact *x = c->contact;
    int *n = &c->count;
    refused(c, TG_ERR_VALUE, tg_collide(c->m, c->w, c->q, NAN, x, ROOM, n), "margin");
    refused(c, TG_ERR_VALUE, tg_collide(c->m, c->w, c->q, INFINITY, x, ROOM, n), "margin");
    refused(c, TG_ERR_ARGUMENT, tg_collide(c->m, c->w, c->q, 0, NULL, ROOM, n), "contact is NULL");
    refused(c, TG_ERR_ARGUMENT, tg_collide(c->m, c->w, c->q, 0, x, -1, n), "capacity");
    refused(c, TG_ERR_ARGUMENT, tg_collide(c->m, c->w, c->q, 0, x, ROOM, NULL), "count is NULL");
    refused(c, TG_ERR_ARGUMENT, tg_collide(c->m, c->w, NULL, 0, x, ROOM, n), "q is NULL");
    assert_int_equal(tg_collide(NULL, c->w, c->q, 0, x, ROOM, n), TG_ERR_ARGUMENT);
    assert_int_equal(tg_collide(c->m, NULL, c->q, 0, x, ROOM, n), TG_ERR_ARGUMENT);
    refused(c, TG_ERR_ARGUMENT, tg_collide_derivatives(c->m, c->w, c->q, 0, NULL, ROOM, n, NULL, NULL, NULL),
            "contact is NULL");
    refused(c, TG_ERR_VALUE, tg_collide_derivatives(c->m, c->w, c->q, NAN, x, ROOM, n, NULL, NULL, NULL), "margin");
    c->q[1] = NAN;
    refused(c, TG_ERR_VALUE, tg_collide(c->m, c->w, c->q, 0, x, ROOM, n), "q");
    end_case(c);
}

/* More near pairs than the workspace holds: 48 a geom. */
static void test_too_many_near_pairs(void **state)
{
    (void)state;
    tg_scene *s = NULL;
    char name[16];
    assert_int_equal(tg_scene_create(NULL, &s, NULL), TG_OK);
    for (int i = 0; i < 100; i++)
    {
        snprintf(name, sizeof name, "ball%d", i);
        scene_prop(s, name, TG_GEOM_SPHERE, (const double[3]){0.1, 0, 0});
    }
    collide_case *c = build_scene(s);
    for (int i = 0; i < 100; i++)
        c->q[7 * i] = 0.001 * i;
    refused(c, TG_ERR_CAPACITY, tg_collide(c->m, c->w, c->q, 0, c->contact, ROOM, &c->count), "4950");
    for (int i = 0; i < 100; i++)
        c->q[7 * i] = 0.15 * i;
    collide(c, 0);
    assert_int_equal(c->count, 99); /* a chain */
    end_case(c);
}

/* ---- memory ---- */

static void test_no_allocation(void **state)
{
    (void)state;
    collide_case *c = two_robots();
    size_t nv = (size_t)c->n.nv;
    double *dpoint = numbers(ROOM * 3 * nv), *dnormal = numbers(ROOM * 3 * nv), *ddistance = numbers(ROOM * nv);
    for (unsigned seed = 0; seed < STATES; seed++)
    {
        int count = 0;
        crowd(c, seed);
        heap.asked = 0;
        heap.armed = true;
        tg_status first = tg_collide(c->m, c->w, c->q, 0.02, c->contact, ROOM, &c->count);
        tg_status second =
            tg_collide_derivatives(c->m, c->w, c->q, 0.02, c->contact, ROOM, &count, dpoint, dnormal, ddistance);
        heap.armed = false;
        assert_int_equal(first, TG_OK);
        assert_int_equal(second, TG_OK);
        assert_int_equal(heap.asked, 0);
        assert_int_equal(count, c->count);
    }
    free(dpoint);
    free(dnormal);
    free(ddistance);
    end_case(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_box_on_plane),
        cmocka_unit_test(test_margins_decide_what_is_near),
        cmocka_unit_test(test_declared_pair_has_its_own_margin),
        cmocka_unit_test(test_same_as_every_pair_alone),
        cmocka_unit_test(test_order_and_ids),
        cmocka_unit_test(test_ids_are_stable),
        cmocka_unit_test(test_counts_beyond_capacity),
        cmocka_unit_test(test_depends_on_the_arguments_alone),
        cmocka_unit_test(test_hints_do_not_matter),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_too_many_near_pairs),
        cmocka_unit_test(test_no_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
