/* Reverse mode of Poisson's law of restitution. */
#ifndef TG_CONTACT_POISSON_VJP_H
#define TG_CONTACT_POISSON_VJP_H

#include "contact/implicit.h"
#include "contact/rows.h"

/* Factors the two problems of an island that was restituted, each at its own solution. problem: the island's. */
tg_status tg_poisson_factor(tg_work *w, const tg_rows_island *island, const tg_island *problem, tg_implicit_use use,
                            const tg_cone_law *law, tg_arena *arena, tg_implicit *compression,
                            tg_implicit *restitution);

/* Rows of an island, one vector each. Lbar is given, the others are written. */
typedef struct tg_poisson_gradient
{
    const double *Lbar; /* gradient with respect to L, both phases */
    double *z, *turn;   /* of restitution, as in implicit.h: with respect to sigma at frozen L, at the velocities v+ */
    double *compressed_Lbar, *compressed_z, *compressed_turn; /* the same of compression, at the velocities after it */
} tg_poisson_gradient;

/* Adds the gradients of restitution coefficients to params (may be NULL). */
void tg_poisson_transpose(const tg_work *w, const tg_rows_island *island, const tg_implicit *compression,
                          const tg_implicit *restitution, const tg_poisson_gradient *g, double *params);

#endif
