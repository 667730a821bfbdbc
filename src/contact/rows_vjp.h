/* Reverse mode of the rows and their laws. */
#ifndef TG_CONTACT_ROWS_VJP_H
#define TG_CONTACT_ROWS_VJP_H

#include "contact/rows.h"
#include "dynamics/vjp.h"

/* Where the twists of a vector x are, and its gradient goes. */
typedef enum tg_row_field
{
    TG_ROW_FIELD_Y, /* w->Y: x is held fixed (tg_adjoint_begin) */
    TG_ROW_FIELD_Z, /* w->Z: x is held fixed (tg_adjoint_second) */
    TG_ROW_FIELD_V  /* w->V: x is v, and its gradient goes to g.v; for rows of contacts only */
} tg_row_field;

/* The scalar f . (J x), f over all rows. */
typedef struct tg_row_term
{
    tg_row_field field;
    const double *x, *f;
} tg_row_term;

enum
{
    TG_ROW_TERMS = 3 /* at most */
};

/* Gradients with respect to the point of a contact, and to a turn of its frame (its normal; tangents do not turn about
 * it): two vectors of four numbers a contact. */
enum
{
    TG_TOUCH_GRADIENT = 8,
    TG_TOUCH_TURN = 4 /* where the turn is */
};

/* Seeds the sum of the terms + gphi . Phi of all rows (gphi NULL: zero) + the touches' own (NULL: zero), in the pass
 * that tg_adjoint_begin started; adds to g what does not go through the pass, and to *gdt: a contact that is apart may
 * depend on where the geoms will be after dt. */
void tg_rows_reverse(const tg_model *m, tg_work *w, const double *q, const tg_row_term *term, int terms,
                     const double *gphi, const double *touch, double dt, double *gdt, tg_gradient g);

/* Gradients of the laws from z (gradient with respect to sigma at frozen v+ and L), Lbar and the factors of each
 * island. gphi (rows): on to Phi; f_start (rows): on to J v at the start of the step; *gdt is added to. */
typedef struct tg_law_gradient
{
    const double *z;
    double *gphi, *f_start,
        *mu;       /* mu: 5 numbers a block, with respect to its friction coefficients; filled by the caller */
    double *bound; /* one a block: with respect to the bound of dry friction */
    double *gdt;
    double *params;        /* may be NULL */
    const double *impulse; /* rows: with respect to the impulses of explicit laws; NULL: there are none */
    double *f_free;        /* rows: on to J v_free, added to; NULL: no law depends on it, or it is not requested */
} tg_law_gradient;

void tg_laws_reverse(const tg_model *m, const tg_work *w, const tg_contact_settings *settings,
                     const tg_law_gradient *g);

#endif
