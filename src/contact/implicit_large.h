/* Derivatives of an island that is solved in velocity space (large.h): reverse mode. */
#ifndef TG_CONTACT_IMPLICIT_LARGE_H
#define TG_CONTACT_IMPLICIT_LARGE_H

#include "contact/implicit.h"
#include "contact/rows.h"

/* Bytes of arena that tg_implicit_large takes for so many rows. */
size_t tg_implicit_large_bytes(int rows);

/* Factors the equations of an island at its solution into the memory of large solves, which holds one island at a time.
 * Where nothing slides v+ is the same for every solution; else it is labelled regularised, since no solution was
 * selected. speed: of every row, by which the law is smoothed (NULL: it is not). */
tg_status tg_implicit_large(const tg_model *m, tg_work *w, int island, const tg_island *problem, const double *speed,
                            tg_arena *arena, tg_implicit *out);

/* z = D^T Lbar (implicit.h), rows of the island; f: what tg_implicit_large filled. Lbar = J v_0, v_0 (nv); more: and
 * something else. */
tg_status tg_implicit_large_transpose(const tg_model *m, tg_work *w, int island, const tg_implicit *f,
                                      const double *Lbar, const double *v_0, bool more, double *z);

#endif
