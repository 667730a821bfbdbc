/* Boxes and spheres around geoms. */
#ifndef TG_MODEL_BOUNDS_H
#define TG_MODEL_BOUNDS_H

#include "model/model.h"

/* The box around a mesh's vertices, unscaled: centre (3), half lengths (3), radius of the sphere around that centre, 0.
 */
void tg_mesh_box(const tg_model *m, int mesh, double box[8]);

/* Fills geom_rot, geom_centre, geom_half and geom_radius of the parameters. */
void tg_params_bounds(tg_params *p);

#endif
