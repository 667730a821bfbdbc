/* Throws of a spinning disk: with which spin does it leave the floor vertically, and with which throw does it hit a
 * mark after one bounce?
 *
 * The same in Python, with a picture: 12_throw.py. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "example.h"

enum
{
    STEPS = 150,
    N = 6 /* the disk's centre and the points of its two axes */
};

typedef struct scene
{
    tg_cartesian *c;
    tg_cartesian_work *w;
    double *states, *bar;
    int turn[8], turns; /* states at which the vertical velocity has changed its sign: bounce, apex, bounce, .. */
} scene;

static const double radius = 0.1, spun[N] = {0, 0, 0, 1, -1, 0}, points[N] = {0.25, 0.65, 1.25, 0.65, 0.25, 1.65};

static scene box(void)
{
    static const double wall[4][3] = {{1, 0, 0}, {0, 1, 0}, {-1, 0, 1}, {0, -1, 1}};
    tg_cartesian_body body = {3, 0.1, {radius * radius / 4, radius * radius / 4}};
    tg_cartesian_constraint rigid[3] = {
        {.i = 0, .j = 1, .length = 1}, {.i = 0, .j = 2, .length = 1}, {.i = 1, .j = 2, .length = sqrt(2)}};
    tg_cartesian_contact contact[4];
    double mu = 0.2, e = 0.8;
    for (int i = 0; i < 4; i++)
        contact[i] = (tg_cartesian_contact){
            .kind = TG_CARTESIAN_WALL, .radius = radius, .normal = {wall[i][0], wall[i][1]}, .offset = wall[i][2]};
    tg_cartesian_def def = {.name = "throw",
                            .dim = 2,
                            .bodies = 1,
                            .constraints = 3,
                            .contacts = 4,
                            .types = 1,
                            .body = &body,
                            .constraint = rigid,
                            .contact = contact,
                            .mu = &mu,
                            .e = &e,
                            .gravity = {0, -9.81}};
    tg_cartesian_options options = tg_cartesian_default_options();
    scene s = {.states = array((STEPS + 1) * 2 * N), .bar = array((STEPS + 1) * 2 * N)};
    tg_error error;
    options.toi = 1;
    options.threads = 1;
    check(tg_cartesian_create(&def, NULL, &s.c, &error), error.message);
    check(tg_cartesian_work_create(s.c, &options, &s.w, &error), error.message);
    return s;
}

static double *at(const scene *s, double *array_of, int state)
{
    (void)s;
    return array_of + state * 2 * N;
}

/* Rolls a throw (vx, vy, spin) out and finds bounce, apex, bounce. */
static void throw_disk(scene *s, const double u[3])
{
    double v[N];
    for (int i = 0; i < N; i++)
        v[i] = u[i % 2] + u[2] * spun[i];
    check(tg_cartesian_rollout(s->w, 1, STEPS, NULL, points, v, s->states, NULL, NULL), tg_cartesian_message(s->w));
    s->turns = 0;
    for (int k = 1; k <= STEPS && s->turns < 8; k++)
    {
        bool down = at(s, s->states, k)[N + 1] < 0, before = at(s, s->states, k - 1)[N + 1] < 0;
        if (down != before && (s->turns > 0 || !down))
            s->turn[s->turns++] = k;
    }
    memset(s->bar, 0, sizeof *s->bar * (STEPS + 1) * 2 * N);
}

static void gradient(scene *s, double g[3])
{
    double gx[N], gv[N], params[16];
    check(tg_cartesian_rollout_vjp(s->w, 1, STEPS, NULL, s->states, s->bar, gx, gv, params),
          tg_cartesian_message(s->w));
    memset(g, 0, sizeof *g * 3);
    for (int i = 0; i < N; i++)
    {
        g[i % 2] += gv[i];
        g[2] += gv[i] * spun[i];
    }
}

static double sign(double v)
{
    return (v > 0) - (v < 0);
}

/* |vx| after the bounce and how far the disk moves sideways until the apex */
static double vertical(scene *s, double spin, double *slope)
{
    throw_disk(s, (double[]){0.6, 0.4, spin});
    int after = s->turn[0] + 1, apex = s->turn[1] - 1;
    double vx = at(s, s->states, after)[N], moved = at(s, s->states, after)[0] - at(s, s->states, apex)[0], g[3];
    at(s, s->bar, after)[N] = sign(vx);
    at(s, s->bar, after)[0] = sign(moved);
    at(s, s->bar, apex)[0] = -sign(moved);
    gradient(s, g);
    *slope = g[2];
    return fabs(vx) + fabs(moved);
}

/* distance from the mark at the last state before the second bounce */
static double hit(scene *s, const double u[3], double g[3])
{
    throw_disk(s, u);
    int last = s->turns > 2 ? s->turn[2] - 1 : STEPS;
    double dx = at(s, s->states, last)[0] - 0.75, dy = at(s, s->states, last)[1] - 0.1;
    at(s, s->bar, last)[0] = sign(dx) / 2;
    at(s, s->bar, last)[1] = sign(dy) / 2;
    gradient(s, g);
    return (fabs(dx) + fabs(dy)) / 2;
}

int main(void)
{
    scene s = box();
    double spin = 0, slope, loss = vertical(&s, 0, &slope);
    printf("vertical: spin 0, loss %.6f, slope %.6f\n", loss, slope);
    for (int k = 0; k < 20 && loss > 1e-12 && slope != 0; k++)
    {
        spin -= loss / slope;
        loss = vertical(&s, spin, &slope);
    }
    printf("vertical: spin %.6f rad/s, loss %.1e, found: %s\n", spin, loss, fabs(spin - 12) < 1e-3 ? "True" : "False");
    double u[3] = {0}, g[3], m[3] = {0}, v[3] = {0}, best = INFINITY;
    int k = 1;
    for (; k <= 1000 && best >= 1e-3; k++)
    {
        best = fmin(best, hit(&s, u, g));
        double rate = 0.05 * (1 + cos(3.14159265358979 * k / 1000));
        for (int i = 0; i < 3; i++)
        {
            m[i] = 0.9 * m[i] + 0.1 * g[i];
            v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
            u[i] -= rate * m[i] / (1 - pow(0.9, k)) / (sqrt(v[i] / (1 - pow(0.999, k))) + 1e-8);
        }
    }
    printf("hit: loss %.2e after %d iterations, below 1e-3: %s\n", best, k - 1, best < 1e-3 ? "True" : "False");
    tg_cartesian_work_destroy(s.w);
    tg_cartesian_destroy(s.c);
    free(s.states);
    free(s.bar);
    return 0;
}
