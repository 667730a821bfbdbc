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

/* ---- cables: tendons straight from one site to another, of bodies that move freely and alone, or of the world ---- */

/* The model's row of four numbers: the sites, and the first dofs of their bodies, -1: cannot move. NULL: no cable. */
static inline const int *tg_cable_ends(const tg_model *m, int tendon)
{
    const int *cable = m->tendon_cable + 4 * tendon;
    return cable[0] < 0 ? NULL : cable;
}

/* moment . x of a cable: up to two runs of six dofs */
static inline double tg_cable_rate(const int *ends, const double *moment, const double *x)
{
    v4 sum = v4_zero();
    v2 rest = {0, 0};
    for (int e = 0; e < 2; e++)
    {
        int dof = ends[2 + e];
        if (dof < 0)
            continue;
        sum += v4_loadu(moment + dof) * v4_loadu(x + dof);
        rest += v2_loadu(moment + dof + V4_LANES) * v2_loadu(x + dof + V4_LANES);
    }
    return v4_sum(sum) + (rest[0] + rest[1]);
}

/* sum += moment factor of a cable */
static inline void tg_cable_add(const int *ends, const double *moment, double factor, double *sum)
{
    for (int e = 0; e < 2; e++)
    {
        int dof = ends[2 + e];
        if (dof < 0)
            continue;
        v4_storeu(sum + dof, v4_loadu(sum + dof) + v4_loadu(moment + dof) * v4_splat(factor));
        double *rest = sum + dof + V4_LANES;
        v2_storeu(rest, v2_loadu(rest) + v2_loadu(moment + dof + V4_LANES) * factor);
    }
}

/* ---- all tendons ---- */

/* Lengths and moment arms of all tendons; everything acts until tg_cables (cable.h) has looked. After the position
 * stage. */
void tg_tendons(const tg_model *m, tg_work *w, const double *q);

/* Rate of the length for velocities v. */
double tg_tendon_rate(const tg_model *m, const tg_work *w, int tendon, const double *v);

/* rate (ntendon) = moments . x. */
void tg_tendon_all(const tg_model *m, const tg_work *w, const double *x, double *rate);

/* The rates of all tendons for v, once: tg_tendon_rate_of then knows them by the address of v, until tg_tendons or
 * tg_tendon_forget. v stays as it is meanwhile. */
void tg_tendon_rates(const tg_model *m, tg_work *w, const double *v);

static inline void tg_tendon_forget(tg_work *w)
{
    w->rate_of = w->arm_of = NULL;
}

/* The same for the y of a pass of reverse mode, until the next pass begins (adjoint.h). */
static inline void tg_tendon_arms(const tg_model *m, tg_work *w, const double *y)
{
    tg_tendon_all(m, w, y, w->tendon_arm);
    w->arm_of = y;
}

static inline double tg_tendon_rate_of(const tg_model *m, const tg_work *w, int tendon, const double *v)
{
    if (v == w->rate_of)
        return w->tendon_rate[tendon];
    return v == w->arm_of ? w->tendon_arm[tendon] : tg_tendon_rate(m, w, tendon, v);
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

/* Segments shorter than this have no direction; they pull nowhere. */
#define TG_SHORTEST_SEGMENT 1e-12

/* 1 / length of a segment: how fast the direction turns; 0 for one too short to have any. */
static inline double tg_curvature(double length)
{
    return length > TG_SHORTEST_SEGMENT ? 1 / length : 0;
}

/* Walks over the segments of a spatial tendon: start with *item = 0; false at the end. */
bool tg_next_segment(const tg_model *m, const tg_work *w, int tendon, int *item, tg_segment *segment);

#endif
