/* Tendons: length, moment arms (d length / d q) and their derivative. */
#ifndef TG_DYNAMICS_TENDON_H
#define TG_DYNAMICS_TENDON_H

#include "dynamics/work.h"

/* What acts of a tendon (cable.h). */
typedef enum tg_tendon_mode
{
    TG_TENDON_SLACK = -2,  /* nothing */
    TG_TENDON_DAMPED = -1, /* its damper, and actuators that are forces */
    TG_TENDON_LOWER,       /* all, from the lower rest length */
    TG_TENDON_UPPER        /* all, from the upper one */
} tg_tendon_mode;

/* Row of moment arms of a tendon: nv numbers. */
static inline double *tg_tendon_moment(const tg_model *m, const tg_work *w, int tendon)
{
    return w->tendon_moment + (size_t)tendon * (size_t)v4_pad(m->nv);
}

/* The dofs on which a tendon acts: tendon_ndof of them. */
static inline const int *tg_tendon_dofs(const tg_model *m, int tendon)
{
    return m->tendon_dof + (size_t)tendon * (size_t)m->nv;
}

/* The same in runs of consecutive dofs of a tree, tendon_nrun of them: the first dof, and how many. */
static inline const int *tg_tendon_runs(const tg_model *m, int tendon)
{
    return m->tendon_run + (size_t)tendon * 2 * (size_t)m->nv;
}

/* Lengths and moment arms of all tendons; everything acts until tg_cables (cable.h) has looked. After the position
 * stage. */
void tg_tendons(const tg_model *m, tg_work *w, const double *q);

/* Rate of the length for velocities v. */
double tg_tendon_rate(const tg_model *m, const tg_work *w, int tendon, const double *v);

/* The rates of all tendons for v, once: tg_tendon_rate_of then knows them by the address of v, until tg_tendons or
 * tg_tendon_forget. v stays as it is meanwhile. */
void tg_tendon_rates(const tg_model *m, tg_work *w, const double *v);

static inline void tg_tendon_forget(tg_work *w)
{
    w->rate_of = NULL;
}

static inline double tg_tendon_rate_of(const tg_model *m, const tg_work *w, int tendon, const double *v)
{
    return v == w->rate_of ? w->tendon_rate[tendon] : tg_tendon_rate(m, w, tendon, v);
}

/* sum (nv) += moment factor. */
void tg_tendon_add(const tg_model *m, const tg_work *w, int tendon, double factor, double *sum);

/* d moment_j / d q_k of one tendon into w->hessian (nv x nv; row j), at the dofs that it has. False, and nothing
 * written, where it is zero: fixed tendons. After tg_tendons. */
bool tg_tendon_hessian(const tg_model *m, tg_work *w, int tendon);

/* ---- one straight piece of a spatial tendon ---- */

typedef struct tg_segment
{
    int site[2];
    int body[2];
    v4 point[2]; /* world */
    v4 direction;
    double length;
    double weight; /* 1 / divisor of the pulley before it */
    int divisor;   /* path item of that pulley, -1: none */
} tg_segment;

/* 1 / length: how fast the direction turns; 0 for a segment too short to have one. */
double tg_segment_curvature(const tg_segment *segment);

/* Walks over the segments of a spatial tendon: start with *item = 0; false at the end. */
bool tg_next_segment(const tg_model *m, const tg_work *w, int tendon, int *item, tg_segment *segment);

#endif
