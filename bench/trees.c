/* Trees of the shapes of the robots, for machines without the robots' files, and chains of any length for growth. */
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum
{
    LIMBS_MAX = 8,
    BODIES_MAX = 12
};

/* A chain of bodies. Each body is a string with a letter for each of its hinges: their axes x, y, z, or o for an
 * oblique one; "" is welded to its parent. */
typedef struct limb
{
    int attach; /* index of the body it hangs on; 0: the base */
    const char *body[BODIES_MAX];
} limb;

/* Bodies are counted from the base on, limb after limb. */
typedef struct shape
{
    const char *name;
    bool free;
    limb limbs[LIMBS_MAX];
} shape;

static const shape shapes[] = {
    {"humanoid",
     true,
     {{0, {""}},
      {0, {"zy", "x"}},
      {3, {"xzy", "y", "yo"}},
      {3, {"xzy", "y", "yo"}},
      {0, {"oo", "o", ""}},
      {0, {"oo", "o", ""}}}},
    {"go1", true, {{0, {"x", "y", "y"}}, {0, {"x", "y", "y"}}, {0, {"x", "y", "y"}}, {0, {"x", "y", "y"}}}},
    {"h1",
     true,
     {{0, {"z", "x", "y", "y", "y"}},
      {0, {"z", "x", "y", "y", "y"}},
      {0, {"z"}},
      {11, {"y", "x", "z", "y"}},
      {11, {"y", "x", "z", "y"}}}},
    {"atlas",
     true,
     {{0, {"z", "y", "x"}},
      {3, {"z", "x", "y", "x", "y", "x", "y"}},
      {3, {"y"}},
      {3, {"z", "x", "y", "x", "y", "x", "y"}},
      {0, {"z", "x", "y", "y", "y", "x"}},
      {0, {"z", "x", "y", "y", "y", "x"}}}},
    {"iiwa", false, {{0, {"z", "y", "z", "y", "z", "y", "z"}}}},
};

/* Uniform in [low, high); the same numbers on every machine. */
static double uniform(uint64_t *seed, double low, double high)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return low + (high - low) * (double)(*seed >> 11) * 0x1p-53;
}

static void check(tg_builder *b, tg_status status)
{
    if (status != TG_OK)
        bench_die("builder: %s", tg_builder_message(b));
}

/* A body with the inertia of a box, somewhere near its parent. */
static int add_body(tg_builder *b, int parent, uint64_t *seed)
{
    tg_body_def body = tg_default_body();
    body.parent = parent;
    body.inertial = true;
    body.mass = uniform(seed, 0.5, 3.0);
    double side[3];
    for (int i = 0; i < 3; i++)
    {
        body.pos[i] = parent == 0 ? 0.0 : uniform(seed, -0.3, 0.3);
        body.com[i] = uniform(seed, -0.05, 0.05);
        side[i] = uniform(seed, 0.05, 0.3);
    }
    for (int i = 0; i < 3; i++)
    {
        double s = side[(i + 1) % 3], t = side[(i + 2) % 3];
        body.inertia[i] = body.mass / 12.0 * (s * s + t * t);
    }
    int id;
    check(b, tg_builder_body(b, &body, &id));
    return id;
}

static void add_hinge(tg_builder *b, int body, char letter, uint64_t *seed)
{
    tg_joint_def joint = tg_default_joint();
    joint.body = body;
    for (int i = 0; i < 3; i++)
        joint.axis[i] = letter == 'o' ? uniform(seed, 0.3, 1.0) : (double)(letter == "xyz"[i]);
    joint.armature = 0.01;
    check(b, tg_builder_joint(b, &joint, NULL));
}

static void add_limb(tg_builder *b, const limb *l, int *bodies, int *nbody, uint64_t *seed)
{
    int parent = bodies[l->attach];
    for (int i = 0; i < BODIES_MAX && l->body[i] != NULL; i++)
    {
        parent = add_body(b, parent, seed);
        bodies[(*nbody)++] = parent;
        for (const char *letter = l->body[i]; *letter != 0; letter++)
            add_hinge(b, parent, *letter, seed);
    }
}

static void add_shape(tg_builder *b, const shape *s, uint64_t *seed)
{
    int bodies[LIMBS_MAX * BODIES_MAX + 1], nbody = 1;
    bodies[0] = add_body(b, 0, seed);
    if (s->free)
    {
        tg_joint_def joint = tg_default_joint();
        joint.type = TG_JOINT_FREE;
        joint.body = bodies[0];
        check(b, tg_builder_joint(b, &joint, NULL));
    }
    for (int i = 0; i < LIMBS_MAX; i++)
        add_limb(b, &s->limbs[i], bodies, &nbody, seed);
}

static void add_chain(tg_builder *b, int n, uint64_t *seed)
{
    int parent = 0;
    for (int i = 0; i < n; i++)
    {
        parent = add_body(b, parent, seed);
        add_hinge(b, parent, "zyx"[i % 3], seed);
    }
}

tg_model *bench_make_tree(const char *name)
{
    tg_error error;
    tg_builder *b;
    if (tg_builder_create(NULL, &b, &error) != TG_OK)
        bench_die("builder: %s", error.message);
    uint64_t seed = 0x9e3779b97f4a7c15u;
    const shape *found = NULL;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (strcmp(shapes[i].name, name) == 0)
            found = &shapes[i];
    if (found != NULL)
        add_shape(b, found, &seed);
    else if (strncmp(name, "chain", 5) == 0)
        add_chain(b, atoi(name + 5), &seed);
    else
        bench_die("no tree is called %s", name);
    check(b, tg_builder_name(b, name));
    tg_model *model;
    check(b, tg_builder_build(b, &model));
    tg_builder_destroy(b);
    return model;
}
