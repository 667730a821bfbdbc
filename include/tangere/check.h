/* What can be said about a model before it is used: geoms that overlap, and whether derivatives of its steps agree with differences. */
#ifndef TANGERE_CHECK_H
#define TANGERE_CHECK_H

#include "tangere/step.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- geoms that overlap ---- */

/* A copy of the model in which no two geoms collide that overlap (by more than 1e-6 m) in the reference configuration, as coarse
 * geoms of neighbouring links do. Only these pairs of geoms are excluded, not their bodies. Planes and height fields, and pairs
 * that are declared, still collide. The report gets a line a pair, with the depth; all else is as in the model: structure,
 * names, parameters, keyframes. */
TG_API tg_status tg_exclude_overlaps(const tg_model *m, tg_model **out, tg_error *error);

/* ---- central differences of a step ---- */

typedef struct tg_differences tg_differences;

/* Memory of its own, its workspace with room for so many contacts (0: a number chosen by the model). */
TG_API tg_status tg_differences_create(const tg_model *m, int contacts, tg_differences **d, tg_error *error);
TG_API void tg_differences_destroy(tg_differences *d); /* NULL is allowed */
TG_API const char *tg_differences_message(const tg_differences *d);

/* How many numbers were differenced, and why others were not. May be NULL. */
typedef struct tg_differences_count
{
    int taken;
    int switched; /* a mode, a feature or a gate changes within reach of the displacement: tg_step_signature differs */
    int tied;     /* of two equal coefficients of a contact either may count: the derivative has two sides */
    int outside;  /* a displaced parameter is outside its domain, or not finite */
    int kinked;   /* the slopes of the two sides differ, and no signature does */
    int refined;  /* of those taken: with several displacements, because the first two did not agree */
} tg_differences_count;

/* The gradient of out . (q+, v+, act+) with respect to what goes into a step, by Richardson's combination of central
 * differences with h and h/2: h = 1e-7 for q, 1e-6 for v and act, 1e-6 of the largest (at least 1) for u, tau and wrenches,
 * 1e-5 dt for dt, 1e-6 of a parameter's size (kept in 1e-3 .. 1; 0.1 for zeros) for parameters. Where the two are more
 * than 1e-7 apart, or rounding may do as much, 8, 64, 512, 1/8 and 1/64 times h are tried too, and the combination that agrees best with
 * its neighbour counts. Fills the fields of in that are not NULL; NaN where nothing could be differenced. Slow: four steps a number, up
 * to twenty-four. */
typedef struct tg_differences_request
{
    const tg_params *params;   /* those of the workspace; NULL: the model's */
    const tg_options *options; /* NULL: the default */
    const tg_state *state;
    const tg_control *control; /* NULL: none */
    const int *index;          /* nindex parameters, others are left alone; NULL: all */
    int nindex;
    const tg_cotangent *chosen; /* of q, v, act, u, tau, wrench and dt: numbers that are not 0 here are differenced, the
                                   others left alone; NULL, or a NULL field: all */
    const tg_cotangent *spread; /* NULL, or where to write how far the differences of each number are apart */
} tg_differences_request;

/* Fills the fields of in that are not NULL with the gradient of out . (q+, v+, act+) by differences; count may be NULL. */
TG_API tg_status tg_step_differences(const tg_model *m, tg_differences *d, const tg_differences_request *request,
                                     const tg_cotangent *out, tg_cotangent *in, tg_differences_count *count);

#ifdef __cplusplus
}
#endif

#endif
