/* The ten inertial parameters of a body by ten numbers without bounds. */
#ifndef TG_CONTROL_INERTIA_H
#define TG_CONTROL_INERTIA_H

#include <stdbool.h>

enum
{
    TG_INERTIA_SIZE = 10
};

/* z of x = (mass, centre of mass, inertia xx yy zz xy xz yz about it); false where x is no body that can be. */
bool tg_inertia_to_z(const double x[TG_INERTIA_SIZE], double z[TG_INERTIA_SIZE]);

/* x of z and, unless slope is NULL, slope[i][j] = dx_i / dz_j. */
void tg_inertia_to_x(const double z[TG_INERTIA_SIZE], double x[TG_INERTIA_SIZE],
                     double slope[TG_INERTIA_SIZE][TG_INERTIA_SIZE]);

#endif
