/* The table of pairs, and mirroring. */
#include "collision/narrow.h"

#include <stddef.h>

#include "collision/ahead.h"
#include "collision/curved.h"

/* A pair: what finds its patch, and whether the normal is then chosen by tg_look_ahead (planes have one normal;
 * pairs of polytopes, and of spheres and capsules with polytopes, choose among their own features; height fields by
 * the faces of their triangles). */
typedef struct entry
{
    tg_narrow_function *find;
    bool look_ahead;
} entry;

/* First index: the type that comes first in tg_geom_type. NULL: the pair does not exist, or stands in the other
 * order. */
static const entry table[TG_GEOM_TYPE_COUNT][TG_GEOM_TYPE_COUNT] = {
    [TG_GEOM_PLANE] = {[TG_GEOM_SPHERE] = {tg_plane_sphere, false},
                       [TG_GEOM_CAPSULE] = {tg_plane_capsule, false},
                       [TG_GEOM_ELLIPSOID] = {tg_plane_ellipsoid, false},
                       [TG_GEOM_CYLINDER] = {tg_plane_cylinder, false},
                       [TG_GEOM_BOX] = {tg_plane_polytope, false},
                       [TG_GEOM_MESH] = {tg_plane_polytope, false}},
    [TG_GEOM_HFIELD] = {[TG_GEOM_SPHERE] = {tg_terrain_convex, false},
                        [TG_GEOM_CAPSULE] = {tg_terrain_convex, false},
                        [TG_GEOM_ELLIPSOID] = {tg_terrain_convex, false},
                        [TG_GEOM_CYLINDER] = {tg_terrain_convex, false},
                        [TG_GEOM_BOX] = {tg_terrain_convex, false},
                        [TG_GEOM_MESH] = {tg_terrain_convex, false}},
    [TG_GEOM_SPHERE] = {[TG_GEOM_SPHERE] = {tg_sphere_sphere, true},
                        [TG_GEOM_CAPSULE] = {tg_sphere_capsule, true},
                        [TG_GEOM_ELLIPSOID] = {tg_sphere_ellipsoid, true},
                        [TG_GEOM_CYLINDER] = {tg_sphere_cylinder, true},
                        [TG_GEOM_BOX] = {tg_sphere_polytope, false},
                        [TG_GEOM_MESH] = {tg_sphere_polytope, false}},
    [TG_GEOM_CAPSULE] = {[TG_GEOM_CAPSULE] = {tg_capsule_capsule, true},
                         [TG_GEOM_ELLIPSOID] = {tg_capsule_ellipsoid, true},
                         [TG_GEOM_CYLINDER] = {tg_capsule_cylinder, true},
                         [TG_GEOM_BOX] = {tg_capsule_polytope, false},
                         [TG_GEOM_MESH] = {tg_capsule_polytope, false}},
    [TG_GEOM_ELLIPSOID] = {[TG_GEOM_ELLIPSOID] = {tg_ellipsoid_ellipsoid, true},
                           [TG_GEOM_CYLINDER] = {tg_ellipsoid_cylinder, true},
                           [TG_GEOM_BOX] = {tg_ellipsoid_polytope, true},
                           [TG_GEOM_MESH] = {tg_ellipsoid_polytope, true}},
    [TG_GEOM_CYLINDER] = {[TG_GEOM_CYLINDER] = {tg_cylinder_cylinder, true},
                          [TG_GEOM_BOX] = {tg_cylinder_polytope, true},
                          [TG_GEOM_MESH] = {tg_cylinder_polytope, true}},
    [TG_GEOM_BOX] = {[TG_GEOM_BOX] = {tg_polytope_polytope, false}, [TG_GEOM_MESH] = {tg_polytope_polytope, false}},
    [TG_GEOM_MESH] = {[TG_GEOM_MESH] = {tg_polytope_polytope, false}},
};

static tg_query swapped(const tg_query *q)
{
    tg_query s = *q;
    for (int i = 0; i < 2; i++)
    {
        s.shape[i] = q->shape[1 - i];
        s.velocity[i] = q->velocity[1 - i];
        s.spin[i] = q->spin[1 - i];
    }
    return s;
}

static void swap_surfaces(tg_surface surface[2])
{
    tg_surface first = surface[0];
    surface[0] = surface[1];
    surface[1] = first;
}

static void mirror_course(tg_course *course)
{
    course->there.normal = -course->there.normal;
    course->there.reference = 1 - course->there.reference;
    swap_surfaces(course->there.surface);
    course->offset = -course->offset;
}

static void mirror(tg_patch *patch)
{
    for (int i = 0; i < patch->count; i++)
    {
        tg_contact_point *c = &patch->point[i];
        c->normal = -c->normal;
        c->reference = 1 - c->reference;
        swap_surfaces(c->surface);
        if (tg_has_course(c))
            mirror_course(&c->course);
    }
}

static inline void run(const entry *e, const tg_query *q, tg_patch *patch)
{
    e->find(q, patch);
    if (e->look_ahead && q->dt > 0)
        tg_look_ahead(q, e->find, patch);
}

/* The table holds the other order. Apart from tg_narrow, which needs no copy of the query then. */
static __attribute__((noinline)) void run_swapped(const entry *e, const tg_query *q, tg_patch *patch)
{
    tg_query s = swapped(q);
    run(e, &s, patch);
    mirror(patch);
}

bool tg_narrow(const tg_query *q, tg_patch *patch)
{
    const entry *e = &table[q->shape[0].type][q->shape[1].type], *other = &table[q->shape[1].type][q->shape[0].type];
    patch->count = 0;
    if (e->find != NULL)
        run(e, q, patch);
    else if (other->find != NULL)
        run_swapped(other, q, patch);
    return e->find != NULL || other->find != NULL;
}
