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

static inline sim *open_heap(int bodies, const char *geom)
{
    char *scene = malloc(256 * (size_t)bodies + sizeof heap_start + 64);
    unsigned seed = 5;
    int at = sprintf(scene, "%s", heap_start);
    for (int i = 0; i < bodies; i++)
        at += sprintf(scene + at, "<body pos='%g %g %g'><freejoint/>%s</body>", 0.2 * test_uniform(&seed),
                      0.2 * test_uniform(&seed), 0.2 + 0.11 * i / 3, geom);
    sprintf(scene + at, "</worldbody></mujoco>");
    sim *s = sim_open(scene);
    free(scene);
    return s;
}

#endif
