/* What a tendon's spring, damper and actuators do, by its slack law. */
#ifndef TG_DYNAMICS_CABLE_H
#define TG_DYNAMICS_CABLE_H

#include "dynamics/actuation.h"
#include "dynamics/tendon.h"

/* When springs and dampers of tendons act: at length + ahead rate, rate = moment . x. At the start of a step x = v and
 * ahead = 0; at its end, to first order, x = v+ and ahead = dt. */
typedef struct tg_tendon_when
{
    const double *x;
    double ahead;
} tg_tendon_when;

/* What acts of one tendon. */
typedef struct tg_pull
{
    double stiffness, damping; /* 0: does not act */
    double stretch; /* rest - length where the spring acts, without what actuators add to rest (actuation.h) */
    double rate;    /* moment . x */
    double force;   /* stiffness (stretch - ahead rate) - damping rate */
    int end;        /* which rest length counts, 0 or 1; -1: none */
} tg_pull;

typedef struct tg_rest_lengths
{
    double low, high; /* without what actuators add */
} tg_rest_lengths;

static inline tg_rest_lengths tg_rest_of(const tg_work *w, int tendon)
{
    const double *rest = TG_PARAM(w->params, tendon_rest) + 2 * tendon, by = TG_PARAM(w->params, tendon_length)[tendon];
    return (tg_rest_lengths){rest[0] + by, rest[1] + by};
}

static inline tg_pull tg_tendon_pull(const tg_model *m, const tg_work *w, int tendon, tg_tendon_when when)
{
    int mode = w->tendon_mode[tendon];
    tg_pull p = {.end = mode >= 0 ? mode : -1};
    if (mode == TG_TENDON_SLACK)
        return p;
    p.rate = tg_tendon_rate_of(m, w, tendon, when.x);
    p.damping = TG_PARAM(w->params, tendon_damping)[tendon];
    if (mode >= 0)
    {
        tg_rest_lengths rest = tg_rest_of(w, tendon);
        p.stiffness = TG_PARAM(w->params, tendon_stiffness)[tendon];
        p.stretch = (mode == TG_TENDON_LOWER ? rest.low : rest.high) - w->tendon_length[tendon];
    }
    p.force = p.stiffness * (p.stretch - when.ahead * p.rate) - p.damping * p.rate;
    return p;
}

/* rest - length by the length alone, 0 where the spring does not act; *end: which rest length counts, -1: none. */
double tg_tendon_stretch(const tg_model *m, const tg_work *w, int tendon, int *end);

/* Which of spring, damper and actuators act at the velocities v; drive: what the actuators do (tg_drive_of), NULL:
 * there are none. Actuators that do not act have moment zero from then on. bounds (may be NULL): how near tendons are
 * to a change. After tg_tendons, or tg_transmissions. */
void tg_cables(const tg_model *m, tg_work *w, const double *v, const tg_drive *drive, tg_reserve *bounds);

/* A force along a tendon, and its slopes by length and rate. */
typedef struct tg_slopes
{
    double force, length, rate;
} tg_slopes;

/* dq (nv x nv, may be NULL) += d (moment f) / d q, dv += d (moment f) / d x of a cable (tg_cable_ends) whose force f
 * depends on its length and its rate moment . x. (tendon_slopes.c) */
void tg_cable_derivatives(const tg_model *m, const tg_work *w, int tendon, tg_slopes f, const double *x, double *dq,
                          double *dv);

/* tg_tendons and tg_cables without actuators. */
void tg_tendon_stage(const tg_model *m, tg_work *w, const double *q, const double *v);

#endif
