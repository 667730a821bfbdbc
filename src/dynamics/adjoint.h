/* Reverse mode over the kinematic tree.
 *
 * A scalar is a sum over bodies of functions phi(X, V, A, Y) of pose, twist, acceleration and Y = sum of J y along the
 * path, where y is a generalised vector (the cotangent of the generalised forces). The functions that know phi seed its
 * gradients, body by body:
 *
 *   Vbar, Abar, Ybar   d phi / d V, d A, d Y, wrenches at the origin of the tree
 *   Xbar               d phi / d (rigid displacement of the body), V, A and Y held fixed
 *
 * and one backward pass turns the seeds into gradients for q, v, a and every geometric parameter. Derivation:
 * docs/dynamics.md. */
#ifndef TG_DYNAMICS_ADJOINT_H
#define TG_DYNAMICS_ADJOINT_H

#include "dynamics/work.h"

/* Adds a 3-vector to three numbers of the parameters' gradient, and to nothing else: the number behind them, which is
 * there because gravity's are the last, gets the zero of the last lane. (Behind wrenches there may be those of another
 * thread.) */
static inline void tg_add3(double *sum, v4 x)
{
    v4_storeu(sum, v4_loadu(sum) + x);
}

/* Clears the seeds, those of tendons too, and makes Y from y (nv). After the velocity pass. */
void tg_adjoint_begin(const tg_model *m, tg_work *w, const double *y);

/* A second generalised vector x beside y: its twists Z, with seeds Zbar of their own. After tg_adjoint_begin. */
void tg_adjoint_second(const tg_model *m, tg_work *w, const double *x);

/* Adds wrenches to the seeds of a body. */
void tg_adjoint_seed(tg_work *w, int body, spatial Xbar, spatial Vbar, spatial Ybar);

/* To Zbar. */
void tg_adjoint_seed_second(tg_work *w, int body, spatial Zbar);

/* Seeds scale * (y . RNEA) without armature; adds the gradients of the inertial parameters to gparams (may be NULL). */
void tg_adjoint_rnea(const tg_model *m, tg_work *w, double scale, double *gparams);

/* Seeds scale times the sum over nodes of I w . (z x y), I about the node's centre of mass, w, y and z the angular
 * velocities of V, Y and the second vector (gyroscopic.c of the step); adds the gradients of the inertial parameters.
 * Returns the scalar. After tg_adjoint_second; Abar stays. */
double tg_adjoint_gyroscopic(const tg_model *m, tg_work *w, double scale, double *gparams);

/* Cotangents of a tendon's length, of its rate moment . v, and of its moment . y and moment . x. */
typedef struct tg_tendon_gradient
{
    double length, rate, moment, second;
} tg_tendon_gradient;

/* Adds to the cotangents of a tendon; what becomes of them is up to the backward pass. */
static inline void tg_adjoint_tendon(tg_work *w, int tendon, tg_tendon_gradient g)
{
    double *sum = w->tendon_gradient + 4 * tendon;
    v4_store(sum, v4_load(sum) + v4_set(g.length, g.rate, g.moment, g.second));
}

/* The generalised vectors behind V, Y, A (NULL: the scalar has no Abar) and, beside A, the second one (NULL: none). */
typedef struct tg_adjoint_fields
{
    const double *v, *y, *a, *second;
} tg_adjoint_fields;

/* The backward pass: adds to gq, gv, ga (nv each) and to the geometric parameters in gparams (may be NULL), whose turns
 * are left to tg_gradient_end (vjp.h). */
void tg_adjoint_end(const tg_model *m, tg_work *w, const double *q, const tg_adjoint_fields *x, double *gq, double *gv,
                    double *ga, double *gparams);

#endif
