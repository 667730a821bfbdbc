/* Reverse mode over the kinematic tree.
 *
 * A scalar is a sum over bodies of functions phi(X, V, A, Y) of pose, twist, acceleration and Y = sum of J y along the path, where y is a
 * generalised vector (the cotangent of the generalised forces). The functions that know phi seed its gradients, body by body:
 *
 *   Vbar, Abar, Ybar   d phi / d V, d A, d Y, wrenches at the origin of the tree
 *   Xbar               d phi / d (rigid displacement of the body) + V x* Vbar + A x* Abar + Y x* Ybar: what is left when V, A and Y turn with
 *                      the body; zero for everything that is fixed in the body, inertia and site wrenches included
 *
 * and one backward pass turns the seeds into gradients for q, v, a and every geometric parameter. Derivation: docs/dynamics.md. */
#ifndef TG_DYNAMICS_ADJOINT_H
#define TG_DYNAMICS_ADJOINT_H

#include "dynamics/work.h"

/* Adds a 3-vector to three numbers. */
static inline void tg_add3(double *sum, v4 x)
{
    v4_store3(sum, v4_load3(sum) + x);
}

/* Clears the seeds and makes Y from y (nv). After the velocity pass. */
void tg_adjoint_begin(const tg_model *m, tg_work *w, const double *y);

/* A second generalised vector x beside y: its twists Z, with seeds Zbar of their own that go into Xbar as Y x* Ybar does. After
 * tg_adjoint_begin. */
void tg_adjoint_second(const tg_model *m, tg_work *w, const double *x);

/* Adds wrenches to the seeds of a body. */
void tg_adjoint_seed(tg_work *w, int body, spatial Xbar, spatial Vbar, spatial Ybar);

/* Seeds scale * (y . RNEA) without armature; adds the gradients of the inertial parameters to gparams (may be NULL). */
void tg_adjoint_rnea(const tg_model *m, tg_work *w, double scale, double *gparams);

/* Seeds a spatial tendon's length, rate and moment . y with their cotangents; adds those of its sites and pulleys to gparams. */
void tg_adjoint_tendon(const tg_model *m, tg_work *w, int tendon, double g_length, double g_rate, double g_moment,
                       double *gparams);

/* The backward pass: adds to gq, gv, ga (nv each) and to the geometric parameters in gparams (may be NULL), whose turns are left to
 * tg_gradient_end (vjp.h). Where the scalar has no Abar, A need not be there: set use_a to false. */
void tg_adjoint_end(const tg_model *m, tg_work *w, const double *q, bool use_a, double *gq, double *gv, double *ga,
                    double *gparams);

/* The same with A and with the second vector. */
void tg_adjoint_end_both(const tg_model *m, tg_work *w, const double *q, double *gq, double *gv, double *ga,
                         double *gparams);

#endif
