/* The interior point's path, followed by its length.
 *
 * From an interior point w_0 = (x, z, psi) the products and the infeasibility r are taken down to zero together,
 *     products(w) = t products(w_0),    r(w) = t r(w_0),    t from 1 to 0.
 * For t > 0 the products are positive, so the path stays inside of the cones. Coulomb's law is not monotone: the path
 * may turn back in t before it comes down (at a turn the matrix of the interior point is singular, and steps in t end
 * there), but it does not return to its start: it arrives, or goes to infinity, which is taken for a problem without a
 * solution. So its length is the parameter. One factorisation gives the tangent (w', t') of the linearised equations,
 * relative to the size of every variable, and a Newton step at right angles to the tangent before. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/held.h"
#include "solve/interior.h"

enum
{
    CORRECTIONS = 3
};

static const double most_correction = 0.5;                           /* of a variable: the previous step was too long */
static const double small_correction = 0.05;                         /* near enough to continue from there */
static const double good_correction = 0.2;                           /* the step may become longer */
static const double to_boundary = 0.9, longest = 4, shortest = 1e-7; /* steps */
static const double near_end = 0.1;              /* of t: the interior point tries to continue from there */
static const double growth = 100, little = 0.99; /* of impulses and of t: it goes to infinity */
static const double next_end = 0.02;             /* of t at the last attempt to end it */
static const double least_start = 1e-3;          /* velocity of such an attempt, of the largest |g| */

typedef struct path
{
    tg_interior *p;
    double t, length;            /* where it is, and how far to go next */
    double *tx, *tz, *tpsi, tt;  /* tangent; tt = 0: none yet */
    double *sx, *sz, *spsi;      /* change of w for a change of t by one */
    double *start;               /* r(w_0) */
    double *x, *z, *psi, t_kept; /* the last point that was good */
    double impulse, t_before;    /* largest impulse at the last check, and t then */
} path;

static void copy(const path *l, double *to, const double *from)
{
    memcpy(to, from, (size_t)l->p->cones->ld * sizeof *to);
}

static void keep_point(path *l)
{
    copy(l, l->x, l->p->x);
    copy(l, l->z, l->p->z);
    copy(l, l->psi, l->p->psi);
    l->t_kept = l->t;
}

static void restore_point(path *l)
{
    copy(l, l->p->x, l->x);
    copy(l, l->p->z, l->z);
    copy(l, l->p->psi, l->psi);
    l->t = l->t_kept;
}

/* ---- the start ---- */

static void contact_products(const tg_interior *p, const tg_cone *cone)
{
    int row = cone->row;
    p->goal[row] = p->x[row] * p->z[row];
    p->goal_psi[row] = p->x[row] * p->psi[row];
    for (int i = row + 1; i < row + cone->dim; i++)
    {
        p->goal_psi[row] += p->x[i] * p->z[i];
        p->goal[i] = p->x[row] * p->z[i] + p->psi[row] * p->x[i];
    }
}

static path path_from(tg_interior *p)
{
    double *room = p->room;
    size_t ld = (size_t)p->cones->ld;
    path l = {.p = p, .t = 1, .length = 0.1};
    double **const vector[TG_PATH_VECTORS] = {&l.tx,  &l.tz, &l.tpsi, &l.start, &l.x,     &l.z,
                                              &l.psi, &l.sx, &l.sz,   &l.spsi,  &p->goal, &p->goal_psi};
    memset(room, 0, (size_t)TG_PATH_VECTORS * ld * sizeof *room);
    for (int i = 0; i < TG_PATH_VECTORS; i++)
        *vector[i] = tg_next(&room, ld);
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int row = cone->row;
        if (cone->kind == TG_CONE_UNIT)
            contact_products(p, cone);
        else if (cone->kind == TG_CONE_BOX)
        {
            p->goal[row] = (cone->bound - p->x[row]) * p->z[row];
            p->goal_psi[row] = (cone->bound + p->x[row]) * p->psi[row];
        }
    }
    tg_interior_infeasibility(p);
    copy(&l, l.start, p->r);
    return l;
}

/* ---- lengths ---- */

/* (dx, dz, dpsi) . tangent, each variable divided by its size */
static double along_tangent(const path *l)
{
    const tg_interior *p = l->p;
    const double *x = l->tx, *z = l->tz, *psi = l->tpsi;
    double sum = 0;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int i = cone->row, m = cone->dim - 1;
        if (cone->kind == TG_CONE_FREE)
            continue;
        double size = cone->kind == TG_CONE_BOX ? cone->bound - fabs(p->x[i]) : p->x[i];
        sum += tg_dot(m + 1, x + i, p->dx + i) / (size * size);
        sum += z[i] * p->dz[i] / (p->z[i] * p->z[i]);
        if (m > 0 || cone->kind == TG_CONE_BOX)
            sum += (tg_dot(m, z + i + 1, p->dz + i + 1) + psi[i] * p->dpsi[i]) / (p->psi[i] * p->psi[i]);
    }
    return sum;
}

/* the largest change of a variable, divided by its size */
static double relative_size(const tg_interior *p)
{
    double most = 0;
    for (int b = 0; b < p->cones->blocks; b++)
    {
        const tg_cone *cone = &p->cones->block[b];
        int i = cone->row, m = cone->dim - 1;
        if (cone->kind == TG_CONE_FREE)
            continue;
        double size = cone->kind == TG_CONE_BOX ? cone->bound - fabs(p->x[i]) : p->x[i];
        most = tg_larger(most, sqrt(tg_dot(m + 1, p->dx + i, p->dx + i)) / size);
        most = tg_larger(most, fabs(p->dz[i]) / p->z[i]);
        if (m > 0 || cone->kind == TG_CONE_BOX)
            most = tg_larger(most, sqrt(tg_dot(m, p->dz + i + 1, p->dz + i + 1) + p->dpsi[i] * p->dpsi[i]) / p->psi[i]);
    }
    return most;
}

/* ---- one step ---- */

/* p->dx, ... = the change of w for a change of t by one */
static void find_slope(path *l)
{
    tg_interior *p = l->p;
    p->tangent = true;
    p->share = 1;
    for (int i = 0; i < p->cones->rows; i++)
        p->r[i] = -l->start[i];
    tg_interior_direction(p);
    p->tangent = false;
}

/* p->dx, ... = the Newton step to the path at this t */
static void find_correction(path *l)
{
    tg_interior *p = l->p;
    p->share = l->t;
    tg_interior_infeasibility(p);
    for (int i = 0; i < p->cones->rows; i++)
        p->r[i] -= l->t * l->start[i];
    tg_interior_direction(p);
}

static void keep_slope(path *l)
{
    copy(l, l->sx, l->p->dx);
    copy(l, l->sz, l->p->dz);
    copy(l, l->spsi, l->p->dpsi);
}

/* p->dx, ... += beta (x, z, psi) */
static void add(const path *l, double beta, const double *x, const double *z, const double *psi)
{
    tg_interior *p = l->p;
    for (int i = 0; i < p->cones->rows; i++)
    {
        p->dx[i] += beta * x[i];
        p->dz[i] += beta * z[i];
        p->dpsi[i] += beta * psi[i];
    }
}

static void clear(const path *l)
{
    size_t bytes = (size_t)l->p->cones->ld * sizeof *l->p->dx;
    memset(l->p->dx, 0, bytes);
    memset(l->p->dz, 0, bytes);
    memset(l->p->dpsi, 0, bytes);
}

/* Back to the path, at right angles to the last tangent, then the tangent there: of length one (largest relative
 * change) and onwards. Returns how far away the path was, INFINITY when too far. */
static double correct(path *l)
{
    tg_interior *p = l->p;
    double square = l->t * l->t;
    find_slope(l);
    keep_slope(l);
    double onwards = along_tangent(l) + l->tt / square, scale = tg_larger(relative_size(p), 1 / l->t);
    find_correction(l);
    double beta = l->tt != 0 ? -along_tangent(l) / onwards : 0;
    add(l, beta, l->sx, l->sz, l->spsi);
    double size = tg_larger(relative_size(p), fabs(beta) / l->t);
    if (!(size <= most_correction) || !(tg_interior_longest(p) > 1))
        return INFINITY;
    tg_interior_move(p, 1);
    l->t += beta;
    l->tt = (onwards > 0 ? 1 : -1) / scale;
    clear(l);
    add(l, l->tt, l->sx, l->sz, l->spsi);
    copy(l, l->tx, p->dx);
    copy(l, l->tz, p->dz);
    copy(l, l->tpsi, p->dpsi);
    return size;
}

/* to a point on the path that can be relied on; false when there is none near */
static bool settle(path *l)
{
    for (int k = 0; k < CORRECTIONS; k++)
    {
        l->p->steps++;
        double size = l->p->system->factor(l->p) ? correct(l) : INFINITY;
        if (k == 0 && size < INFINITY)
            l->length *= tg_smaller(tg_larger(sqrt(good_correction / tg_larger(size, 1e-10)), 0.5), 3);
        if (size <= small_correction)
            return true;
        if (!(size < INFINITY))
            return false;
    }
    return false;
}

static void predict(path *l)
{
    tg_interior *p = l->p;
    clear(l);
    add(l, 1, l->tx, l->tz, l->tpsi);
    double step = tg_smaller(tg_smaller(l->length, longest), to_boundary * tg_interior_longest(p));
    if (l->tt < 0)
        step = tg_smaller(step, -to_boundary * l->t / l->tt);
    l->length = step;
    tg_interior_move(p, step);
    l->t += step * l->tt;
}

static double largest_impulse(const tg_interior *p)
{
    double most = 0;
    for (int b = 0; b < p->cones->blocks; b++)
        if (p->cones->block[b].kind == TG_CONE_UNIT)
            most = tg_larger(most, p->x[p->cones->block[b].row]);
    return most;
}

/* impulses grow and t hardly falls: the path goes to infinity */
static bool diverges(path *l)
{
    double impulse = largest_impulse(l->p);
    if (l->impulse > 0 && impulse < growth * l->impulse)
        return false;
    bool same = l->impulse > 0 && l->t > little * l->t_before;
    l->impulse = impulse;
    l->t_before = l->t;
    return same;
}

/* the interior point from here; the path continues if that does not converge */
static double try_end(path *l, double best, double aim)
{
    tg_interior *p = l->p;
    double *goal = p->goal, *goal_psi = p->goal_psi;
    p->goal = p->goal_psi = NULL;
    tg_interior_near(p, p->x, tg_larger(l->t, least_start) * p->cones->velocity);
    best = tg_interior_iterate(p, best, aim);
    p->goal = goal;
    p->goal_psi = goal_psi;
    p->target = p->second = 0;
    restore_point(l);
    return best;
}

double tg_interior_path(tg_interior *p, double best, double aim, double tolerance)
{
    path l = path_from(p);
    double next_try = near_end;
    int most = p->steps + p->max_path;
    p->target = p->second = 0;
    keep_point(&l);
    while (p->steps < most && best > tolerance && l.length > shortest)
    {
        p->diverged = diverges(&l);
        if (p->diverged)
            break;
        if (settle(&l))
        {
            keep_point(&l);
            best = tg_interior_note(p, best);
        }
        else
        {
            restore_point(&l);
            l.length *= 0.25;
        }
        if (l.t < next_try && l.tt < 0)
        {
            best = try_end(&l, best, aim);
            next_try = next_end * l.t;
        }
        predict(&l);
    }
    p->goal = p->goal_psi = NULL;
    return best;
}
