/* The interior point (solver_ipm.c), for matrices kept in any way. */
#ifndef TG_CONTACT_INTERIOR_H
#define TG_CONTACT_INTERIOR_H

#include "contact/cone.h"

typedef struct tg_interior_system tg_interior_system;

typedef struct tg_interior
{
    const tg_interior_system *system;
    void *context;
    const tg_cones *cones;  /* blocks and rows; G and g only where the system reads them */
    double *x, *z, *psi;    /* z: s_N and eta, box: z; psi at the first row of a contact, box: y */
    double *dx, *dz, *dpsi; /* the predictor's, then the step */
    double *r;              /* G x + g minus what z and psi say */
    double *Gdx;
    double *rhs, *best;
    double kappa;  /* mean of the products divided by rho */
    double target; /* the k of this right-hand side divided by rho */
    double second; /* 1: with the predictor's products (corrector), 0: without */
    int max_steps, steps;
} tg_interior;

/* What the iteration asks of the matrices. */
struct tg_interior_system
{
    void (*velocity)(const tg_interior *p, const double *x, double *s);   /* s = G x + g */
    void (*product)(const tg_interior *p, const double *dx, double *Gdx); /* G dx */
    bool (*factor)(tg_interior *p);                                       /* the matrix at x, z, psi; false: singular */
    void (*solve)(tg_interior *p, double *rhs);                           /* rhs becomes dx */
    double (*residual)(tg_interior *p, const double *x);                  /* of the unrelaxed law, m/s */
};

/* Lays out eight vectors of cones->ld numbers. */
void tg_interior_vectors(tg_interior *p, double *memory);

/* Iterates from cold starts until the residual is below aim, or no better than tolerance can be had; the best x is in
 * p->best. Returns its residual. */
double tg_interior_solve(tg_interior *p, double aim, double tolerance);

#endif
