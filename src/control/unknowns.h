/* From the numbers x that a user knows to the numbers z in which steps are taken: transforms, ties, bounds, priors. */
#ifndef TG_CONTROL_UNKNOWNS_H
#define TG_CONTROL_UNKNOWNS_H

#include "base/arena.h"
#include "tangere/control.h"

typedef struct tg_map
{
    tg_unknowns of;
    int nz;                /* x without those that are tied */
    int *z_of;             /* [n] the z on which x depends; of the ten of a body each its own */
    int *x_of;             /* [nz] */
    tg_transform *kind;    /* [n], of the nine followers of a body too */
    double *lower, *upper; /* [nz], bounds of z */
    double *slope;         /* [n] dx/dz, not of bodies */
    double *body;          /* [n, 10] rows of the slope of bodies; used where kind is INERTIA */
    int *body_first;       /* [n] z of the first of the ten of its body */
} tg_map;

/* Refuses what makes no sense; name of the argument in messages: x. */
tg_status tg_unknowns_check(const tg_unknowns *u, tg_error *error);

/* Takes the arrays of a map from the arena (which may be counting), and fills them. u must have been checked. */
void tg_map_place(tg_map *map, const tg_unknowns *u, tg_arena *arena);
void tg_map_fill(tg_map *map);

/* z of a start x; refused where x is not finite, outside its bounds, or not what its tie says. */
tg_status tg_map_start(const tg_map *map, const double *x, double *z, tg_error *error);

/* x of z; the slopes are kept in the map for the next two. */
void tg_map_x(tg_map *map, const double *z, double *x);

/* out += d/dz of what has the derivatives row [count] by x[first .. first + count]. The first `keep` z are at their
 * place in out, the others `skip` places earlier: rows of a group have its own unknowns behind the shared ones. 0, 0:
 * out is [nz]. */
void tg_map_row(const tg_map *map, const double *row, int first, int count, int keep, int skip, double *out);

/* 1/2 ((x - prior) / spread)^2 over all; adds to gradient [nz] by z unless it is NULL. */
double tg_map_prior(const tg_map *map, const double *x, double *gradient);

/* z projected onto its bounds; true if that moved something. */
bool tg_map_clip(const tg_map *map, double *z);

/* Whether z[i] is at a bound and a descent along -slope would leave it there. */
static inline bool tg_map_held(const tg_map *map, const double *z, double slope, int i)
{
    return (z[i] <= map->lower[i] && slope > 0) || (z[i] >= map->upper[i] && slope < 0);
}

/* Whether z[k] is the logarithm of something. */
bool tg_map_is_log(const tg_map *map, int k);

/* largest |change| / (1 + |z|) */
double tg_map_size(const tg_map *map, const double *z, const double *change);

#endif
