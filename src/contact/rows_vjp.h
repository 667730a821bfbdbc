/* Reverse mode of the rows and their laws. */
#ifndef TG_CONTACT_ROWS_VJP_H
#define TG_CONTACT_ROWS_VJP_H

#include "contact/rows.h"
#include "dynamics/vjp.h"

/* What the scalar f . (J x) + gphi . Phi takes x from: the twists in w->Y (of a vector held fixed), or those in w->V (whose gradient goes to
 * g.v). */
typedef enum tg_row_field
{
    TG_ROW_FIELD_Y,
    TG_ROW_FIELD_V
} tg_row_field;

/* Seeds f . (J x) + gphi . Phi of all rows (gphi NULL: zero), in the pass that tg_adjoint_begin started; adds to g what does not go through the
 * pass, and to *gdt: the normal of a contact that is apart may be that of where the geoms will be after dt. With TG_ROW_FIELD_V f may be non-zero on rows
 * of contacts only. */
void tg_rows_reverse(const tg_model *m, tg_work *w, const double *q, const double *x, tg_row_field field,
                     const double *f, const double *gphi, double dt, double *gdt, tg_gradient g);

/* Gradients of the laws from z (gradient with respect to sigma at frozen v+ and L), Lbar and the factors of each island. gphi (rows): on to
 * Phi; f_start (rows): on to J v at the start of the step; *gdt is added to. */
typedef struct tg_law_gradient
{
    const double *z;
    double *gphi, *f_start,
        *mu;       /* mu: 5 numbers a block, with respect to its friction coefficients; filled by the caller */
    double *bound; /* one a block: with respect to the bound of dry friction */
    double *gdt;
    double *params; /* may be NULL */
} tg_law_gradient;

void tg_laws_reverse(const tg_model *m, const tg_work *w, const tg_contact_settings *settings,
                     const tg_law_gradient *g);

#endif
