/* Scenes for tests of the step that are larger than a few lines. All return an MJCF text that the caller frees. */
#ifndef TG_TEST_SCENES_H
#define TG_TEST_SCENES_H

/* Boxes in layers of side x side on the floor, every other layer shifted by a quarter of a box, so that each box lies
 * on up to four others: all of them are one island, at rest. 6 x 6 x 6 boxes have some 2,500 contact points. */
char *scene_pile(int side, int layers);

/* So many objects of different kinds (boxes, balls, arms that hit the floor, a loop), far enough apart never to meet.
 * only >= 0: that object alone, at the same place. */
char *scene_objects(int count, int only);

#endif
