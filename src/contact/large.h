/* Islands of more rows than dense matrices are good for. */
#ifndef TG_CONTACT_LARGE_H
#define TG_CONTACT_LARGE_H

#include "contact/rows.h"

/* A part of an island (parts.c): the trees with this root, in tg_rows.tree_root, and blocks that are not left out. */
typedef struct tg_large_part_of
{
    int root;
    const bool *left_out; /* blocks, from the island's first */
    bool passes;          /* what it does not solve soon is left to the dense solver */
} tg_large_part_of;

/* Solves one island without its Delassus matrix; L and sigma of its rows and island->result are written. effort: most
 * factorisations, 0: any number. before: NULL, or what led to L, which it starts from. only: NULL, or a part of the
 * island: L and sigma of the other rows mean nothing then. After tg_fill_delassus and tg_apply_laws. */
void tg_solve_large(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free, double dt,
                    double tolerance, int effort, const tg_solve_result *before, const tg_large_part_of *only);

/* Bytes it needs; 0 where no island can be that large. */
size_t tg_large_bytes(const tg_model *m, const tg_capacity *capacity);

#endif
