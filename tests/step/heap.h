/* Bodies that fall into a tray. */
#ifndef TG_TESTS_HEAP_H
#define TG_TESTS_HEAP_H

#include "step_test.h"
#include "support/dynamics_case.h"

static const char heap_start[] = "<mujoco><option timestep='0.002'/><worldbody>"
                                 "<geom type='plane' size='2 2 1' friction='0.4'/>"
                                 "<geom type='plane' size='2 2 1' pos='-0.35 0 0' zaxis='1 0 0.4'/>"
                                 "<geom type='plane' size='2 2 1' pos='0.35 0 0' zaxis='-1 0 0.4'/>"
                                 "<geom type='plane' size='2 2 1' pos='0 -0.3 0' zaxis='0 1 0.4'/>"
                                 "<geom type='plane' size='2 2 1' pos='0 0.3 0' zaxis='0 -1 0.4'/>";

/* before: more bodies; after: more sections */
static inline sim *open_heap_with(int bodies, const char *geom, const char *before, const char *after)
{
    char *scene = malloc(256 * (size_t)bodies + sizeof heap_start + strlen(before) + strlen(after) + 64);
    unsigned seed = 5;
    int at = sprintf(scene, "%s%s", heap_start, before);
    for (int i = 0; i < bodies; i++)
        at += sprintf(scene + at, "<body pos='%g %g %g'><freejoint/>%s</body>", 0.2 * test_uniform(&seed),
                      0.2 * test_uniform(&seed), 0.2 + 0.11 * i / 3, geom);
    sprintf(scene + at, "</worldbody>%s</mujoco>", after);
    sim *s = sim_open(scene);
    free(scene);
    return s;
}

static inline sim *open_heap(int bodies, const char *geom)
{
    return open_heap_with(bodies, geom, "", "");
}

#endif
