/* Forces that bring two geoms together, and make their contact stick, slide or break: for the trajectory of tg_check.
 *
 * For a contact point with normal n and a direction t along the surface, relative velocities are linear in v,
 *     sigma_N = n^T (J2 - J1) v,    sigma_T = t^T (J2 - J1) v,
 * and with x = (J2 - J1)^T n the force x f accelerates the gap by x^T M^-1 x f. */
#include <math.h>
#include <string.h>

#include "check/walk.h"

enum
{
    NEAR = 512,  /* contact points that are tested */
    TRIES = 600, /* random configurations of which one should touch something */
    PARTS = 16,  /* of the way there */
    HALVINGS = 14
};

static const double approach = 4;     /* m/s^2 along the normal */
static const double fastest = 400;    /* m/s^2 along the surface */
static const double hover = 4e-4;     /* m: a gap so small that its contact is in the problem */
static const double stiffness = 2500; /* 1/s^2 and 1/s, of the gap that hovers */
static const double damping = 60;

void tg_press_place(tg_press *press, const tg_sizes *n, tg_arena *arena)
{
    press->near = TG_TAKE(arena, tg_contact, NEAR, "near");
#define X(name, count) press->name = TG_TAKE(arena, double, count, #name);
    TG_PRESS_FIELDS(X)
#undef X
    press->geom1 = press->geom2 = -1;
}

/* ---- a configuration in which something touches ---- */

/* The smallest distance less margins of all pairs at q (+) share of the way; positive: nothing touches. */
static bool touches_at(tg_walk *walk, const double *way, double share)
{
    tg_press *press = &walk->press;
    int count = 0;
    for (int k = 0; k < walk->n.nv; k++)
        press->moved[k] = share * way[k];
    return tg_integrate(walk->m, walk->q, press->moved, press->q, NULL) == TG_OK &&
           tg_collide(walk->m, walk->w, press->q, 0, press->near, NEAR, &count) == TG_OK && count > 0;
}

/* Where on a way to a configuration that touches something the first contact is: q is brought there. */
static void move_to_first(tg_walk *walk, const double *way)
{
    tg_press *press = &walk->press;
    double high = 1;
    for (int i = 0; i < PARTS && high == 1; i++)
        if (touches_at(walk, way, (double)i / PARTS))
            high = (double)i / PARTS;
    double low = high - 1.0 / PARTS;
    for (int i = 0; i < HALVINGS && low >= 0; i++)
    {
        double middle = 0.5 * (low + high);
        if (touches_at(walk, way, middle))
            high = middle;
        else
            low = middle;
    }
    if (touches_at(walk, way, high))
        memcpy(walk->q, press->q, sizeof(double) * (size_t)walk->n.nq);
}

void tg_press_touch(tg_walk *walk)
{
    double *way = walk->press.tangent;
    memset(way, 0, sizeof(double) * (size_t)walk->n.nv);
    if (touches_at(walk, way, 0))
        return;
    for (int i = 0; i < TRIES; i++)
        if (tg_walk_way(walk, (uint64_t)TRIES * (uint64_t)walk->phase + (uint64_t)i, way) == TG_OK &&
            touches_at(walk, way, 1))
        {
            move_to_first(walk, way);
            return;
        }
}

/* ---- two geoms ---- */

/* Two of the geoms that are nearest to each other. Loops and limits keep some apart that are near: where such a pair
 * gave no sample, the next is from farther away. */
static void choose_pair(tg_walk *walk)
{
    static const double reach[] = {1e-3, 1e-2, 0.05, 0.2, 1};
    tg_press *press = &walk->press;
    const int reaches = sizeof reach / sizeof *reach;
    int count = 0;
    press->geom1 = press->geom2 = -1;
    press->taken = walk->taken;
    for (int i = press->given_up % reaches; i < reaches && count == 0; i++)
    {
        press->reach = reach[i];
        if (tg_collide(walk->m, walk->w, walk->q, reach[i], press->near, NEAR, &count) != TG_OK)
            return;
    }
    if (count == 0)
        return;
    count = count < NEAR ? count : NEAR;
    const tg_contact *one = &press->near[(int)(fabs(tg_walk_noise(walk)) * count) % count];
    press->geom1 = one->geom1;
    press->geom2 = one->geom2;
}

/* the nearest point of the two; NULL: they are too far apart */
static const tg_contact *nearest_point(tg_walk *walk)
{
    tg_press *press = &walk->press;
    const tg_contact *nearest = NULL;
    int count = 0;
    if (press->geom1 < 0 || tg_collide(walk->m, walk->w, walk->q, 2 * press->reach, press->near, NEAR, &count) != TG_OK)
        return NULL;
    for (int i = 0; i < count && i < NEAR; i++)
    {
        const tg_contact *point = &press->near[i];
        if (point->geom1 == press->geom1 && point->geom2 == press->geom2 &&
            (nearest == NULL || point->distance < nearest->distance))
            nearest = point;
    }
    return nearest;
}

/* ---- forces ---- */

/* x = (J2 - J1)^T d at the point; after tg_kinematics */
static tg_status project(tg_walk *walk, const tg_contact *at, const double d[3], double *x)
{
    tg_press *press = &walk->press;
    const double *p = at->point, *J = press->jacobian;
    const double moment[3] = {p[1] * d[2] - p[2] * d[1], p[2] * d[0] - p[0] * d[2], p[0] * d[1] - p[1] * d[0]};
    int nv = walk->n.nv;
    memset(x, 0, sizeof(double) * (size_t)nv);
    for (int side = 0; side < 2; side++)
    {
        tg_geom_info geom;
        tg_status status = tg_geom_get(walk->m, side == 0 ? at->geom1 : at->geom2, &geom, NULL);
        if (status == TG_OK)
            status = tg_body_jacobian(walk->m, walk->w, geom.body, NULL, TG_FRAME_WORLD, press->jacobian);
        if (status != TG_OK)
            return status;
        for (int k = 0; k < nv; k++)
            for (int i = 0; i < 3; i++)
                x[k] += (side == 0 ? -1 : 1) * (d[i] * J[i * nv + k] + moment[i] * J[(3 + i) * nv + k]);
    }
    return TG_OK;
}

/* x^T M^-1 x */
static double mobility(tg_walk *walk, const double *x)
{
    tg_press *press = &walk->press;
    double sum = 0;
    if (tg_forward_dynamics(walk->m, walk->w, walk->q, walk->v, NULL, press->rest) != TG_OK ||
        tg_forward_dynamics(walk->m, walk->w, walk->q, walk->v, x, press->moved) != TG_OK)
        return 0;
    for (int k = 0; k < walk->n.nv; k++)
        sum += x[k] * (press->moved[k] - press->rest[k]);
    return sum;
}

/* a direction along the surface */
static void along(const double n[3], double angle, double t[3])
{
    int least = fabs(n[0]) < fabs(n[1]) ? (fabs(n[0]) < fabs(n[2]) ? 0 : 2) : (fabs(n[1]) < fabs(n[2]) ? 1 : 2);
    double e[3] = {0}, size = 0;
    e[least] = 1;
    const double a[3] = {n[1] * e[2] - n[2] * e[1], n[2] * e[0] - n[0] * e[2], n[0] * e[1] - n[1] * e[0]};
    for (int i = 0; i < 3; i++)
        size += a[i] * a[i];
    size = 1 / sqrt(size);
    const double b[3] = {n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0]};
    for (int i = 0; i < 3; i++)
        t[i] = size * (cos(angle) * a[i] + sin(angle) * b[i]);
}

static double of_geoms(const tg_walk *walk, const char *field, bool sum)
{
    const int geom[2] = {walk->press.geom1, walk->press.geom2};
    double x[2];
    for (int i = 0; i < 2; i++)
        x[i] = tg_walk_field(walk, TG_GEOM, geom[i], field, 0, 0);
    return sum ? x[0] + x[1] : fmax(x[0], x[1]);
}

/* m/s^2: towards each other, or so that the gap hovers */
static double wanted(const tg_walk *walk, const tg_contact *at)
{
    const tg_press *press = &walk->press;
    if (walk->aim != TG_CONTACT_BREAKING)
        return -approach;
    double gap = at->distance - of_geoms(walk, "margin", true), rate = 0;
    for (int k = 0; k < walk->n.nv; k++)
        rate += press->normal[k] * walk->v[k];
    return fmin(fmax(stiffness * (hover - gap) - damping * rate, -approach), approach);
}

/* What dry friction of the joints holds back along the normal: the force at which the first joint yields. Less than
 * that would leave the contact closed without need, at the edge between two modes. */
static double held_back(const tg_walk *walk)
{
    double least = INFINITY;
    for (int k = 0; k < walk->n.nv; k++)
        if (fabs(walk->press.normal[k]) > 1e-9)
            least = fmin(least, walk->loss[k] / fabs(walk->press.normal[k]));
    return isfinite(least) ? least : 0;
}

/* Every 32 steps the direction and the size of what acts along the surface are drawn: at most half of what friction
 * holds, or more than it can. */
static void draw(tg_walk *walk)
{
    tg_press *press = &walk->press;
    if (walk->step % 32 != 0)
        return;
    double x = fabs(tg_walk_noise(walk));
    press->angle = 3.14159265358979 * tg_walk_noise(walk);
    press->share = walk->aim == TG_CONTACT_STICKING ? 0.5 * x : 1.5 + 2.5 * x;
}

tg_status tg_press_force(tg_walk *walk)
{
    tg_press *press = &walk->press;
    bool over = walk->step > 0 && walk->step % (walk->length / 4) == 0, idle = over && walk->taken == press->taken;
    press->given_up += idle;
    press->taken = over ? walk->taken : press->taken;
    if (idle || nearest_point(walk) == NULL)
        choose_pair(walk);
    const tg_contact *nearest = nearest_point(walk);
    if (nearest == NULL)
        return TG_OK;
    const tg_contact at = *nearest;
    tg_status status = tg_kinematics(walk->m, walk->w, walk->q, walk->v);
    if (status == TG_OK)
        status = project(walk, &at, at.normal, press->normal);
    double t[3];
    draw(walk);
    along(at.normal, press->angle, t);
    if (status == TG_OK)
        status = project(walk, &at, t, press->tangent);
    double moves = status == TG_OK ? mobility(walk, press->normal) : 0;
    double most = fastest / fmax(mobility(walk, press->tangent), 1e-9);
    if (moves < 1e-9 || approach / moves > most) /* what hardly moves along its normal is not pressed, */
        return status;
    double force = wanted(walk, &at) / moves;
    force += walk->aim == TG_CONTACT_BREAKING ? 0 : -2 * held_back(walk);
    force = fmin(fmax(force, -most), most); /* nor thrown along its surface */
    double friction = walk->aim == TG_CONTACT_BREAKING ? 0 : press->share * of_geoms(walk, "friction", false);
    for (int k = 0; k < walk->n.nv; k++)
        walk->tau[k] += force * press->normal[k] + friction * fabs(force) * press->tangent[k];
    return TG_OK;
}
