/* Scenes nobody drew: trees of bodies of all shapes and sizes that fall onto a plane. */
#ifndef TG_TEST_RANDOM_SCENE_H
#define TG_TEST_RANDOM_SCENE_H

/* An MJCF text that the caller frees; the same for the same seed. Sizes of 3 mm to 20 cm, so masses from 0.01 g to 100
 * kg; joints of all kinds with damping, dry friction, armature, limits; servos and motors; condim 1 to 6, compliance,
 * kinetic friction. */
char *random_scene(unsigned seed);

#endif
