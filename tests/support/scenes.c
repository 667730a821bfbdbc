#include "support/scenes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer
{
    char *text;
    size_t length, room;
} writer;

static void put(writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(writer *w, const char *format, ...)
{
    if (w->room - w->length < 2048)
    {
        w->room = 2 * w->room + 4096;
        w->text = realloc(w->text, w->room);
        assert_non_null(w->text);
    }
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(w->text + w->length, w->room - w->length, format, arguments);
    va_end(arguments);
    assert_true(length >= 0 && (size_t)length < w->room - w->length);
    w->length += (size_t)length;
}

char *scene_pile(int side, int layers)
{
    writer w = {0};
    put(&w, "<mujoco><option timestep='0.001'/><default><geom friction='0.6'/></default><worldbody>"
            "<geom type='plane' size='10 10 0.1'/>");
    for (int z = 0; z < layers; z++)
        for (int y = 0; y < side; y++)
            for (int x = 0; x < side; x++)
                put(&w,
                    "<body pos='%.17g %.17g %.17g'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>",
                    0.202 * x + 0.05 * (z % 2), 0.202 * y + 0.05 * (z % 2), 0.1 + 0.2 * z);
    put(&w, "</worldbody></mujoco>");
    return w.text;
}

enum
{
    OBJECT_KINDS = 5
};

static void put_object(writer *w, int index)
{
    double x = 3.0 * index, tilt = 7.0 * index;
    switch (index % OBJECT_KINDS)
    {
    case 0:
        put(w,
            "<body name='o%d' pos='%g 0 0.4' euler='%g 20 0'><freejoint/>"
            "<geom type='box' size='0.1 0.15 0.2' mass='1'/></body>",
            index, x, tilt);
        break;
    case 1:
        put(w,
            "<body name='o%d' pos='%g 0 0.3'><freejoint/><geom name='ball%d' type='sphere' size='0.1' "
            "mass='2'/></body>",
            index, x, index);
        break;
    case 2:
        put(w,
            "<body name='o%d' pos='%g 0 0.6'><joint axis='0 1 0' damping='0.1'/>"
            "<geom type='capsule' size='0.05' fromto='0 0 0 0.5 0 0' mass='1'/>"
            "<body pos='0.5 0 0'><joint axis='0 1 0' frictionloss='0.2' limited='true' range='-60 60'/>"
            "<geom type='capsule' size='0.05' fromto='0 0 0 0.4 0 0' mass='1'/></body></body>",
            index, x);
        break;
    case 3:
        put(w, "<body name='o%d' pos='%g 0 0.25'><freejoint/><geom type='cylinder' size='0.1 0.15' mass='1'/></body>",
            index, x);
        break;
    default:
        put(w,
            "<body name='o%d' pos='%g 0 0.5'><joint axis='0 1 0'/>"
            "<geom type='capsule' contype='0' size='0.03' fromto='0 0 0 0.1 0 -0.3' mass='1'/>"
            "<body name='c%d' pos='0.1 0 -0.3'><joint axis='0 1 0'/>"
            "<geom type='capsule' contype='0' size='0.03' fromto='0 0 0 0.5 0 0' mass='1'/></body></body>"
            "<body name='p%d' pos='%g 0 0.5'><joint axis='0 1 0'/>"
            "<geom type='capsule' contype='0' size='0.03' fromto='0 0 0 0.1 0 -0.3' mass='1'/></body>",
            index, x, index, index, x + 0.5);
        break;
    }
}

char *scene_objects(int count, int only)
{
    writer w = {0};
    put(&w, "<mujoco><option timestep='0.001'/><default><geom friction='0.7'/></default><worldbody>"
            "<geom type='plane' size='1000 10 0.1'/>");
    for (int i = 0; i < count; i++)
        if (only < 0 || i == only)
            put_object(&w, i);
    put(&w, "</worldbody><equality>");
    for (int i = 0; i < count; i++)
        if ((only < 0 || i == only) && i % OBJECT_KINDS == 4)
            put(&w, "<connect body1='c%d' body2='p%d' anchor='0.5 0 0'/>", i, i);
    put(&w, "</equality><custom>");
    for (int i = 0; i < count; i++)
        if ((only < 0 || i == only) && i % OBJECT_KINDS == 1)
            put(&w, "<numeric name='tangere:geom.ball%d.restitution' data='0.8'/>", i);
    put(&w, "</custom></mujoco>");
    return w.text;
}
