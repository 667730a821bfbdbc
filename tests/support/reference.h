/* A second, plain opinion on kinematics and inverse dynamics, to judge the library by. It shares no code with it:
 * quaternions composed body by body and joint by joint as MuJoCo composes them, classical velocities and
 * accelerations of points, and the forces by virtual work (Kane). Slow, in long double, from public queries and
 * parameters only. */
#ifndef TG_TEST_REFERENCE_H
#define TG_TEST_REFERENCE_H

#include "tangere/model.h"

typedef long double real;

typedef struct reference reference;

/* How a body moves, world axes. Velocity and acceleration are those of the origin of its frame. */
typedef struct reference_body
{
    real pos[3], quat[4];
    real velocity[3], omega[3];
    real acceleration[3], alpha[3];
} reference_body;

/* A copy of the parameters is taken. */
reference *reference_create(const tg_model *m, const double *params);
void reference_destroy(reference *r);

/* v and a may be NULL: zero. out: nbody. */
void reference_motion(const reference *r, const double *q, const double *v, const double *a, reference_body *out);

/* tau = sum over bodies of force . dv/dv_k + moment . domega/dv_k, with armature. */
void reference_rnea(const reference *r, const double *q, const double *v, const double *a, double *tau);

/* A frame (pos, quat) fixed in a body, in the world; quat may be NULL (no turn), out_quat too. */
void reference_frame(const reference_body *b, const double *pos, const double *quat, double out_pos[3],
                     double out_quat[4]);

/* Velocity and acceleration of a point of a body, given in its frame; either may be NULL. */
void reference_point(const reference_body *b, const double point[3], double velocity[3], double acceleration[3]);

/* The sum over all bodies that move, at q, v: mass, centre of mass, momentum (linear; angular about it). */
typedef struct reference_total
{
    double mass, com[3], momentum[6];
} reference_total;

reference_total reference_sum(const reference *r, const double *q, const double *v);

/* The number(s) of a parameter: "mass" of TG_BODY 3. */
const double *reference_param(const reference *r, tg_element element, int index, const char *field);

#endif
