/* What the reverse mode of a step hands from one part to the next (step_vjp.c). */
#ifndef TG_STEP_REVERSE_H
#define TG_STEP_REVERSE_H

#include "contact/implicit.h"
#include "step/step.h"

typedef struct tg_reverse
{
    const tg_model *m;
    tg_work *w;
    tg_step_work *s;
    double dt, *gdt;
    double *vbar, *y, *scaled, *other;            /* nv each; scaled = dt y */
    double *Lbar, *z, *turn, *gphi, *f, *f_start; /* rows each */
    double *impulse;                              /* rows: of impulses of explicit laws, or NULL */
    double *f_free;                               /* rows: of J v_free, where impacts happen within the step, or NULL */
    bool bare;                                    /* z . (J v+) alone, no laws */
    tg_gradient g;
    double *gact, *gu, *wrench;
    const double *touch; /* gradients of the contacts' frames, or NULL */
    bool turns;          /* redundant rows slide */
    bool large;          /* an island has no matrix */
    bool alone;          /* without rows, and with the step's change of velocity held fixed (tg_reverse_gyroscopic) */
    bool starts;         /* rows depend on the velocities at the start: f_start */
    const tg_implicit *factors; /* of the islands */

    /* compression, where Poisson's law acts: the same for its impulses and the velocities after it */
    bool compressed;
    double *compressed_Lbar, *compressed_z, *compressed_turn;
    double *compressed_y, *compressed_scaled, *compressed_v;
} tg_reverse;

/* Lbar, z of every island, y; gradients of friction coefficients and bounds */
tg_status tg_reverse_impulses(tg_reverse *r, const tg_cotangent *out);

/* requested forces and points of the contacts: parts of Lbar, and r->touch */
void tg_reverse_contacts(tg_reverse *r, const tg_cotangent *out);

/* gradients of friction coefficients and bounds of an island */
void tg_reverse_coefficients(tg_reverse *r, int island);

/* everything behind y, z and the impulses, at the velocities v+ */
void tg_reverse_sweep(tg_reverse *r);

/* the end of a pass over the trees with these fields */
void tg_reverse_end_pass(tg_reverse *r, const tg_adjoint_fields *x);

/* act+ */
void tg_reverse_activations(tg_reverse *r, const double *gact_next);

/* steps of more than one problem */
void tg_reverse_compression(const tg_reverse *r);
tg_status tg_reverse_gyroscopic(tg_reverse *r);
tg_status tg_reverse_within(tg_reverse *r, const tg_cotangent *out);
tg_status tg_reverse_unrolled(tg_reverse *r, const tg_cotangent *out);

#endif
