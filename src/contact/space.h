/* The geoms of a model in the world: where they are, what bounds them, which are near each other. */
#ifndef TG_CONTACT_SPACE_H
#define TG_CONTACT_SPACE_H

#include "collision/broad.h"
#include "collision/narrow.h"
#include "dynamics/work.h"

/* What the search between two geoms remembers. It does not change one bit of any answer, so that it may outlive a call.
 */
typedef struct tg_pair_hint
{
    tg_geom_pair pair; /* two equal numbers: empty */
    tg_hint hint;
} tg_pair_hint;

/* Words of the bit matrix of n geoms; more than a few colliders have none. */
static inline size_t tg_allowed_room(int n)
{
    int most = n > TG_SWEEP_ABOVE ? TG_SWEEP_ABOVE : n;
    return (size_t)most * (size_t)tg_allowed_words(most);
}

/* X(type, name, count, documentation) */
#define TG_SPACE_FIELDS(X)                                                                                             \
    X(tg_placed, placed, m->ngeom, "geoms in the world")                                                               \
    X(tg_terrain, terrain, m->nhfield, "height fields with their current size")                                        \
    X(double, bounds_memory, tg_bounds_size(m->ngeom), "behind bounds")                                                \
    X(uint64_t, allowed_bits, tg_allowed_room(m->ngeom), "candidate pairs of few geoms")                               \
    X(int, collider, m->ngeom, "geoms that can collide with any, ascending")                                           \
    X(int, place, m->ngeom, "of each geom among these, where its bounds are; -1: it is none of them")                  \
    X(double, margin, m->ngeom, "of each geom, and of the pairs declared for it (m)")                                  \
    X(double, grow, m->ngeom, "how much each geom's bounds are grown (m)")                                             \
    X(int, order, 2 * m->ngeom, "scratch of the broad phase")                                                          \
    X(int, touch_of, m->ngeom, "first touch of each geom, -1: none; scratch of touch.c")                               \
    X(tg_geom_pair, pair, tg_pair_capacity(m), "pairs that are near")                                                  \
    X(double, looked, tg_pair_capacity(m), "distance up to which each was looked at for the step, less margins (m)")   \
    X(tg_pair_hint, hint, tg_hint_capacity(m), "of pairs that are searched, each at a place that its numbers give")

typedef struct tg_space
{
#define X(type, name, count, doc) type *name;
    TG_SPACE_FIELDS(X)
#undef X
    const tg_model *model;
    tg_bounds bounds; /* of the colliders, in their order */
    tg_allowed allowed;
    int ncollider;
    int npair; /* pairs that are near; may exceed the capacity */
    int nhint;
    const tg_params *margin_params; /* of which the margins are, and their generation; NULL: none yet */
    uint64_t margin_generation;
    const tg_params *shape_params; /* the same of the shapes of placed */
    uint64_t shape_generation;
} tg_space;

/* How many near pairs a workspace has room for: all candidates of a small scene, 48 a geom of a large one. */
int tg_pair_capacity(const tg_model *m);

/* A power of two, at least as many as there are candidates (4,096 at most); 0: no two geoms of the model have to be
 * searched. */
int tg_hint_capacity(const tg_model *m);

/* The hint of a pair that has to be searched, NULL for others. A pair that takes another's place starts without. */
tg_hint *tg_hint_of(const tg_space *s, tg_geom_pair pair);

/* Lays the arrays out in the workspace's block (or counts them), and fills what does not change. */
void tg_space_place(tg_space *s, const tg_model *m, tg_arena *arena);
void tg_space_init(tg_space *s, const tg_model *m);

/* Geoms at the poses of the bodies (after tg_place). */
void tg_space_update(const tg_model *m, tg_work *w);

/* The same for two geoms alone. */
void tg_space_update_pair(const tg_model *m, tg_work *w, tg_geom_pair pair);

/* Centre of the sphere around a geom, in the world. After tg_space_update. */
static inline v4 tg_geom_centre(const tg_work *w, int geom)
{
    const tg_placed *s = &w->space->placed[geom];
    return s->x + mat3_mul_mem(s->R, w->params->geom_centre + V4_LANES * geom);
}

/* of the sphere around a geom, grown. After tg_space_near. */
static inline double tg_bound_radius(const tg_work *w, int geom)
{
    return w->space->bounds.radius[w->space->place[geom]];
}

/* Pairs whose bounds, grown by their margins and half of `grow` each, overlap. After tg_space_update. */
tg_status tg_space_near(const tg_model *m, tg_work *w, double grow);

/* The same with each geom's bounds grown by its own distance (ngeom). */
tg_status tg_space_near_each(const tg_model *m, tg_work *w, const double *grow);

/* The declared pair of two geoms, -1: none; and the margin that counts for them. */
int tg_declared_pair(const tg_model *m, tg_geom_pair pair);
double tg_pair_margin(const tg_model *m, const tg_params *p, tg_geom_pair pair);

#endif
