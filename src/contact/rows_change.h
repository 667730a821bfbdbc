/* Forward mode of the rows along parameters and dt: how rows, laws and the forces of constraints change at a frozen
 * state, frozen v+ and frozen impulses. The transpose of rows_vjp.h. */
#ifndef TG_CONTACT_ROWS_CHANGE_H
#define TG_CONTACT_ROWS_CHANGE_H

#include "contact/rows_forward.h"
#include "dynamics/change.h"

/* A velocity field, and the changes of its twists (tg_change_twists). */
typedef struct tg_field_change
{
    const double *x;    /* nv; NULL: there is no such field */
    const double *node; /* twists */
    const double *change;
} tg_field_change;

typedef struct tg_rows_change
{
    tg_change *c;                /* forces are subtracted from dF, or added to force */
    tg_field_change next, start; /* of v+ and v */
    tg_field_change spread;      /* of p, where redundant rows slide (implicit.h) */
    double *sigma, *turn;        /* rows, written: of J v+ + b; of J p (NULL without spread) */
    double *mu, *bound;          /* blocks, written: of five friction coefficients, of the bound of dry friction */
    bool open;                   /* those that break count, too: the law is smoothed */
    bool bare;                   /* J v+ alone, without the bias */
    const tg_contact_settings *settings;
} tg_rows_change;

void tg_rows_changes(const tg_model *m, tg_work *w, const double *q, const tg_rows_change *d);

/* The same for equalities in islands with redundant ones alone; d is bare, and sigma is zero elsewhere. */
void tg_loops_changes(const tg_model *m, tg_work *w, const double *q, const tg_rows_change *d);

#endif
