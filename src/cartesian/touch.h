/* Contacts and limits: which are active at x, their rows J, and how J changes with x.
 *
 * dist < -1e-12 is a contact: balls that touch exactly are apart, whatever rounding says. J_n v = d dist / dt. e_n
 * points from the first body to the second (or to the wall). The tangents turn with e_n and not about it, which the law
 * does not see. */
#ifndef TG_CARTESIAN_TOUCH_H
#define TG_CARTESIAN_TOUCH_H

#include "cartesian/system.h"

/* Fills lane->touch, lane->touches, lane->rows; TG_ERR_CAPACITY: more rows than there is room for. */
tg_status tg_touch_find(tg_cartesian_lane *lane, const double *x);

/* y = J z (rows); y += factor J^T f (n). touch: lane->touch, or lane->change for dJ */
void tg_touch_product(const tg_cartesian_lane *lane, const tg_touch *touch, const double *z, double *y);
void tg_touch_product_t(const tg_cartesian_lane *lane, const tg_touch *touch, double factor, const double *f,
                        double *y);

/* lane->change <- dJ along dx; and d dist per row (0 in rows of friction) */
void tg_touch_change(tg_cartesian_lane *lane, const double *x, const double *dx, double *distance);

/* Gradients: clear, add factor y z^T to that of J, and turn it (and that of the distances, per row of a normal) into
 * x_bar (added). */
void tg_touch_gradient_clear(tg_cartesian_lane *lane);
void tg_touch_gradient_add(tg_cartesian_lane *lane, double factor, const double *y, const double *z);
void tg_touch_gradient(tg_cartesian_lane *lane, const double *x, const double *distance_bar, double *x_bar);

#endif
