/* Mass, centre of mass and inertia: of shapes, and their sums. */
#ifndef TG_MODEL_INERTIA_H
#define TG_MODEL_INERTIA_H

#include "model/model.h"

/* Inertia is about com: xx yy zz xy xz yz. All zeros is nothing at all. */
typedef struct tg_lump
{
    double mass, com[3], inertia[6];
} tg_lump;

/* a and b as one, in the same frame. */
void tg_lump_add(tg_lump *a, const tg_lump *b);

/* The lump seen from the frame in which its own has the rotation R (row-major) and the origin pos. */
tg_lump tg_lump_move(const tg_lump *a, const double R[9], const double pos[3]);

/* The moment of inertia about the axis through point. axis: unit. */
double tg_lump_about(const tg_lump *a, const double point[3], const double axis[3]);

/* Of a shape with unit density: volume, or area of a shell, in place of the mass. size as tg_geom_type says. */
tg_lump tg_shape_lump(tg_geom_type type, const double size[3], bool shell);

/* The same for a triangle mesh with scaled vertices. A shell, or a closed surface seen counter-clockwise from outside,
 * whose volume comes out negative where it is inside out. */
tg_lump tg_mesh_lump(const double *vertex, const int *face, int nface, const double scale[3], bool shell);

/* Principal moments of a symmetric matrix xx yy zz xy xz yz, ascending. */
void tg_principal_moments(const double inertia[6], double moment[3]);

/* The same descending, with their axes as the columns of R (row-major, right-handed). */
void tg_principal_axes(const double inertia[6], double moment[3], double R[9]);

#endif
