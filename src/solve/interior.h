/* The interior point (interior.c), for matrices kept in any way. */
#ifndef TG_SOLVE_INTERIOR_H
#define TG_SOLVE_INTERIOR_H

#include "solve/cone.h"

enum
{
    TG_PATH_STEPS = 500, /* along one path */
    TG_PATH_VECTORS = 12,
    TG_INTERIOR_VECTORS = 9 + TG_PATH_VECTORS /* how many vectors tg_interior_vectors lays out */
};

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
    double *weight; /* of the products of a block */
    double *rhs, *best;
    double kappa;            /* mean of the products divided by their weights */
    double target;           /* the k of this right-hand side divided by the weight */
    double second;           /* 1: with the predictor's products (corrector), 0: without */
    double *goal, *goal_psi; /* path.c: products that the path started from; NULL: none */
    double share;            /* of these */
    bool tangent;            /* the right-hand side is that of the tangent: without the products of now */
    double *room;            /* path.c: TG_PATH_VECTORS vectors */
    bool *frozen;            /* blocks whose impulses stay as they are (tg_interior_iterate); NULL: none ever */
    int nfrozen;
    int max_steps, steps;
    int max_path;  /* steps along the path; 0: it is not followed */
    bool others;   /* if it does not arrive, others that start near the best point are followed, too */
    bool diverged; /* the path went to infinity: there is hardly a solution */
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

/* Lays out TG_INTERIOR_VECTORS vectors of cones->ld numbers. */
void tg_interior_vectors(tg_interior *p, double *memory);

/* ---- parts of the iteration, for path.c ---- */

/* r = G x + g - (what the slacks say) */
void tg_interior_infeasibility(tg_interior *p);

/* dx, dz, dpsi for the right-hand side that target, second, goal, share, tangent and r say, with the last factors */
void tg_interior_direction(tg_interior *p);

/* the longest step along dx, dz, dpsi that stays inside */
double tg_interior_longest(const tg_interior *p);

/* (x, z, psi) += alpha (dx, dz, dpsi) */
void tg_interior_move(tg_interior *p, double alpha);

/* Keeps x when its residual is below best; returns the smaller of the two. */
double tg_interior_note(tg_interior *p, double best);

/* Iterates from where p is until the residual is below aim or it makes no progress; returns the smaller of best and the
 * best residual met, whose x is in p->best. Where the path of a few blocks turns back no step can be taken. With
 * p->frozen (of all blocks, false before) such blocks stay as they are from then on, and it iterates until the others
 * hold; nfrozen says how many they are, and x is the solution of the others. */
double tg_interior_iterate(tg_interior *p, double best, double aim);

/* Starts near x, with slacks of velocity v: then the products are those of impulses that blocks have, and not of what
 * their own masses suggest. A light body under a heavy one carries much more. */
void tg_interior_near(tg_interior *p, const double *x, double v);

/* E^-1 and N = E^-1 W of a contact of d rows at (x, z, psi), with these compliances of its normal and its tangents: dx
 * = E^-1 rhs - N ds. */
void tg_interior_eliminate(int d, const double *x, const double *z, double psi, double normal, double tangent,
                           double *E, double *N);

/* ---- path.c ---- */

/* Follows the path from where p is (an interior point) until the residual is within the tolerance, also where the path
 * turns back; the iteration that ends it goes on to aim. Returns as above. */
double tg_interior_path(tg_interior *p, double best, double aim, double tolerance);

/* Iterates from cold starts until the residual is below aim, or no better than tolerance can be had; the best x is in
 * p->best. Returns its residual. */
double tg_interior_solve(tg_interior *p, double aim, double tolerance);

#endif
