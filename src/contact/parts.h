/* An island in parts: bodies that only contacts couple which stay open. */
#ifndef TG_CONTACT_PARTS_H
#define TG_CONTACT_PARTS_H

#include "contact/rows.h"

typedef enum tg_parts
{
    TG_PARTS_NONE,   /* it has one part only, or one could not be solved: the island is to be solved as a whole */
    TG_PARTS_SOLVED, /* L, sigma, z and island->result are those of the island */
    TG_PARTS_PUSHED  /* a part with overlaps that are pushed out could not be solved: without the push it may be */
} tg_parts;

/* Solves an island of several trees in parts. Its result counts what was done. options: of the island. Y of its trees
 * must be D^-1/2 L^-T J_t^T. */
tg_parts tg_solve_parts(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free,
                        const tg_solve_options *options);

/* Bytes of scratch beside those of a solve. */
size_t tg_parts_scratch(const tg_model *m, const tg_capacity *c);

#endif
