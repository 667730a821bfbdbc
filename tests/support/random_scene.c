#include "support/random_scene.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum
{
    MOST = 64 /* joints */
};

typedef struct writer
{
    uint64_t random;
    char *text;
    size_t used, room;
    int tree, bodies, joints; /* so far */
    double height;            /* of what is there */
    bool single[MOST];        /* joints with one dof: they may have an actuator */
} writer;

static double uniform(writer *k, double low, double high)
{
    k->random = k->random * 6364136223846793005u + 1442695040888963407u;
    return low + (high - low) * (double)(k->random >> 11) * 0x1p-53;
}

/* the same share of every decade */
static double decades(writer *k, double low, double high)
{
    return low * pow(high / low, uniform(k, 0, 1));
}

static int choice(writer *k, int n)
{
    return (int)uniform(k, 0, n);
}

static void put(writer *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *k, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(k->text + k->used, k->room - k->used, format, arguments);
    va_end(arguments);
    if (n < 0 || (size_t)n >= k->room - k->used)
        abort();
    k->used += (size_t)n;
}

static void put_geom(writer *k, double size)
{
    static const char *const kind[] = {"sphere", "box", "capsule", "cylinder", "ellipsoid"};
    static const int condim[] = {3, 3, 3, 1, 4, 6};
    put(k,
        "<geom type='%s' size='%.4g %.4g %.4g' pos='%.4g %.4g %.4g' euler='%.3g %.3g 0' density='%.4g' friction='%.3g "
        "0.01 0.002' condim='%d' contype='%d' conaffinity='%d'/>",
        kind[choice(k, 5)], size, size * uniform(k, 0.3, 1), size * uniform(k, 0.3, 1), size * uniform(k, -0.3, 0.3),
        size * uniform(k, -0.3, 0.3), size * uniform(k, -0.3, 0.3), uniform(k, -90, 90), uniform(k, -90, 90),
        decades(k, 100, 8000), uniform(k, 0, 1.2), condim[choice(k, 6)], 1 << k->tree,
        255 & ~(1 << k->tree)); /* trees do not meet themselves: random ones would be wedged from the start */
}

static void put_joint(writer *k, double size)
{
    static const char *const kind[] = {"hinge", "hinge", "hinge", "slide", "ball"};
    int which = choice(k, 5), bounded = choice(k, 3);
    double inertia = 1000 * size * size * size * (which == 3 ? 1 : size * size);
    put(k, "<joint name='j%d' type='%s' axis='%.3g %.3g %.3g' damping='%.3g' ", k->joints, kind[which],
        uniform(k, -1, 1), uniform(k, -1, 1), uniform(k, 0.1, 1), choice(k, 2) * inertia * uniform(k, 0, 5));
    if (which != 4)
    {
        put(k, "armature='%.3g' frictionloss='%.3g' ", choice(k, 2) * inertia * uniform(k, 0, 1),
            choice(k, 3) == 0 ? inertia * uniform(k, 0, 20) : 0);
        if (bounded == 0)
            put(k, "limited='true' range='%.3g %.3g' ", which == 3 ? -size : -20 * uniform(k, 0.1, 1),
                which == 3 ? size : 20 * uniform(k, 0.1, 1));
    }
    put(k, "stiffness='%.3g'/>", choice(k, 3) == 0 ? inertia * uniform(k, 0, 100) : 0);
    k->single[k->joints++] = which != 4;
}

static void put_body(writer *k, double size, int depth)
{
    bool root = depth == 0;
    put(k, "<body name='b%d' pos='%.4g %.4g %.4g'>", k->bodies++, size * uniform(k, -0.7, 0.7),
        size * uniform(k, -0.7, 0.7), root ? k->height + 3 * size : -size * uniform(k, 0.5, 1.5));
    if (root)
        put(k, "<freejoint name='j%d'/>", k->joints++);
    else
        put_joint(k, size);
    put_geom(k, size);
    for (int i = choice(k, 3); i > 0 && depth < 3 && k->bodies < 10; i--)
        put_body(k, size * uniform(k, 0.4, 1), depth + 1);
    put(k, "</body>");
}

static void put_actuators(writer *k)
{
    for (int j = 0; j < k->joints; j++)
    {
        if (!k->single[j] || choice(k, 2) == 0)
            continue;
        if (choice(k, 2) == 0)
            put(k, "<motor joint='j%d' gear='%.3g' ctrllimited='true' ctrlrange='-1 1'/>", j, decades(k, 1e-4, 1));
        else
            put(k, "<position joint='j%d' kp='%.3g' timeconst='%.3g'/>", j, decades(k, 1e-3, 1),
                choice(k, 2) * uniform(k, 0.01, 0.1));
    }
}

char *random_scene(unsigned seed)
{
    writer k = {.random = 0x9e3779b97f4a7c15u * (seed + 1u), .room = 65536};
    k.text = malloc(k.room);
    if (k.text == NULL)
        abort();
    put(&k, "<mujoco><option timestep='%.4g'/><worldbody><geom type='plane' size='2 2 1' friction='%.3g'/>",
        decades(&k, 0.001, 0.01), uniform(&k, 0, 1));
    for (int i = 1 + choice(&k, 3); i > 0; i--)
    {
        double size = decades(&k, 0.003, 0.2);
        put_body(&k, size, 0);
        k.height += 5 * size;
        k.tree++;
    }
    put(&k, "</worldbody><actuator>");
    put_actuators(&k);
    put(&k, "</actuator></mujoco>");
    return k.text;
}
