/* Coal (pip package coal) behind a C interface, for bench_pairs. */
#ifndef TANGERE_BENCH_ENGINE_COAL_H
#define TANGERE_BENCH_ENGINE_COAL_H

#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct coal_pair coal_pair;

/* Two shapes: types and sizes (2 x 3) as Tangere's; a mesh is the hull of nvertex x 3 numbers. NULL: Coal has no such
 * shape. */
coal_pair *coal_pair_create(const tg_geom_type type[2], const double *size, const double *vertex, int nvertex);
void coal_pair_destroy(coal_pair *pair);

/* Poses for the calls that follow: x y z, w x y z of either shape. */
void coal_pair_poses(coal_pair *pair, const double *pose1, const double *pose2, int count);

/* Signed distance and normal at pose i. */
typedef double coal_pair_function(coal_pair *pair, int i, double normal[3]);

coal_pair_function coal_pair_compute;  /* a ComputeDistance that was made with the pair */
coal_pair_function coal_pair_distance; /* coal::distance */
coal_pair_function coal_pair_collide;  /* coal::collide, one contact; apart: the lower bound of the distance */

#ifdef __cplusplus
}
#endif

#endif
