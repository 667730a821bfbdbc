/* Islands of more rows than dense matrices are good for. */
#ifndef TG_CONTACT_LARGE_H
#define TG_CONTACT_LARGE_H

#include "contact/rows.h"

/* Solves one island without its Delassus matrix; L and sigma of its rows and island->result are written. effort: most
 * factorisations, 0: any number. before: NULL, or what led to L, which it starts from. After tg_fill_delassus and
 * tg_apply_laws. */
void tg_solve_large(const tg_model *m, tg_work *w, tg_rows_island *island, const double *v_free, double dt,
                    double tolerance, int effort, const tg_solve_result *before);

/* Bytes it needs; 0 where no island can be that large. */
size_t tg_large_bytes(const tg_model *m, const tg_capacity *capacity);

#endif
