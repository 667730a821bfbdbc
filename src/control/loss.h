/* Robust losses of residuals. */
#ifndef TG_CONTROL_LOSS_H
#define TG_CONTROL_LOSS_H

#include <math.h>

#include "tangere/control.h"

/* loss(r) */
static inline double tg_loss_value(tg_loss loss, double width, double r)
{
    double s = fabs(r);
    if (loss == TG_LOSS_HUBER && s > width)
        return 2 * width * s - width * width;
    if (loss == TG_LOSS_CAUCHY)
        return width * width * log1p((r / width) * (r / width));
    return r * r;
}

/* The weight of r^2 with the same derivative: loss'(r) / (2 r). */
static inline double tg_loss_weight(tg_loss loss, double width, double r)
{
    double s = fabs(r);
    if (loss == TG_LOSS_HUBER)
        return s > width ? width / s : 1;
    if (loss == TG_LOSS_CAUCHY)
        return 1 / (1 + (r / width) * (r / width));
    return 1;
}

#endif
