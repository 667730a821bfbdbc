/* Rotations and rigid motions: quaternions, SO(3), SE(3), their exponentials, logarithms and Jacobians.
 *
 * Conventions
 *   quaternion    q[4] = w x y z, unit. R(q) takes coordinates in the child (body) frame to the parent (world) frame.
 *   matrix        row-major: R[9] is 3 x 3, Ad[36] is 6 x 6.
 *   rotation vector  w[3] = axis times angle, in radians.
 *   tangent       a change of a rotation is a rotation vector in the body frame: R -> R Exp(w). Where a derivative is
 *                 taken on the left (parent frame), R -> Exp(w) R, the name or the comment says so.
 *   pose          T[7] = x y z, w x y z: origin of the child frame in the parent frame, then its rotation.
 *   twist         xi[6] = linear; angular. A change of a pose is T -> T Exp(xi), in the body frame.
 *
 * [w] is the matrix of the cross product: [w] u = w x u.
 *
 * All functions are pure, cannot fail and allocate nothing. Pointers must not be NULL unless the comment allows it. NaN
 * in gives NaN out. An output may be the same array as an input; two outputs must be different arrays. */
#ifndef TANGERE_ALGEBRA_H
#define TANGERE_ALGEBRA_H

#include "tangere/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- quaternions ---- */

/* out = a (x) b, so that R(out) = R(a) R(b). Not normalised. */
TG_API void tg_quat_multiply(const double a[4], const double b[4], double out[4]);

/* out = conjugate of q: the inverse rotation of a unit quaternion. */
TG_API void tg_quat_conjugate(const double q[4], double out[4]);

/* out = q / |q|, and |q| is returned. |q| = 0 gives the identity and returns 0. Neither overflows nor underflows. */
TG_API double tg_quat_normalise(const double q[4], double out[4]);

/* out = R(q) u: u in the body frame, out in the parent frame. q is unit. */
TG_API void tg_quat_rotate(const double q[4], const double u[3], double out[3]);

/* out = R(q)^T u: u in the parent frame, out in the body frame. q is unit. */
TG_API void tg_quat_rotate_inverse(const double q[4], const double u[3], double out[3]);

/* R = R(q) (3 x 3). q is unit. */
TG_API void tg_quat_to_matrix(const double q[4], double R[9]);

/* The unit quaternion with w >= 0 of a rotation matrix, accurate for every angle. R need only be a rotation up to
 * rounding: q is normalised. */
TG_API void tg_quat_from_matrix(const double R[9], double q[4]);

/* Rotation by angle (radians) about axis, which need not be unit; a zero axis gives the identity. */
TG_API void tg_quat_from_axis_angle(const double axis[3], double angle, double q[4]);

/* The smallest rotation that takes the direction of a to the direction of b (w >= 0), accurate also near opposite
 * directions; for exactly opposite ones, a half turn about some axis perpendicular to a. A zero vector gives the
 * identity. */
TG_API void tg_quat_from_vectors(const double a[3], const double b[3], double q[4]);

/* q = Exp(w): rotation by |w| about w. */
TG_API void tg_quat_exp(const double w[3], double q[4]);

/* w = Log(q), |w| <= pi: the rotation vector of q, the same for q and -q (at w = 0 exactly the axis is that of q as it
 * stands). q need not be normalised, but not zero. Accurate for every angle. */
TG_API void tg_quat_log(const double q[4], double w[3]);

/* out = q (x) Exp(w), normalised: the rotation q moved by w in its body frame. */
TG_API void tg_quat_integrate(const double q[4], const double w[3], double out[4]);

/* w = Log(q0^-1 q1), |w| <= pi: the shortest body-frame w for which integrate(q0, w) is the rotation q1. */
TG_API void tg_quat_difference(const double q0[4], const double q1[4], double w[3]);

/* Derivatives of integrate in the tangent space (body frames of input and output), 3 x 3 each, either may be NULL:
 * dq = d out / d q = Exp(w)^T,  dw = d out / d w = J_r(w). They do not depend on q. */
TG_API void tg_quat_integrate_derivatives(const double w[3], double dq[9], double dw[9]);

/* Derivatives of w = difference(q0, q1) by body-frame changes of q0 and q1, 3 x 3 each, either may be NULL:
 * d0 = -J_l(w)^-1,  d1 = J_r(w)^-1. At |w| = pi the difference jumps; these are the values of the branch taken. */
TG_API void tg_quat_difference_derivatives(const double q0[4], const double q1[4], double d0[9], double d1[9]);

/* How the rotation R(q / |q|) moves with the four raw numbers of a quaternion of any non-zero length:
 * T (3 x 4) maps dq to the rotation vector dtheta in the parent frame (dR = [dtheta] R), so that the rotated vector
 * r = R u changes by dtheta x r. T = 2 / |q|^2 [ -v | w I + [v] ] with q = (w, v); T q = 0: length does not matter.
 * The body-frame rotation vector is R^T T dq. */
TG_API void tg_quat_raw_tangent(const double q[4], double T[12]);

/* ---- SO(3) ---- */

/* R = Exp(w) (3 x 3). */
TG_API void tg_so3_exp(const double w[3], double R[9]);

/* w = Log(R), |w| <= pi, accurate for every angle. */
TG_API void tg_so3_log(const double R[9], double w[3]);

/* J_r(w) (3 x 3): Exp(w + dw) = Exp(w) Exp(J_r dw) to first order. */
TG_API void tg_so3_right_jacobian(const double w[3], double J[9]);

/* J_l(w) (3 x 3): Exp(w + dw) = Exp(J_l dw) Exp(w) to first order. J_l(w) = J_r(-w) = J_r(w)^T. */
TG_API void tg_so3_left_jacobian(const double w[3], double J[9]);

/* Inverses of the two, defined for |w| < 2 pi. */
TG_API void tg_so3_right_jacobian_inverse(const double w[3], double J[9]);
TG_API void tg_so3_left_jacobian_inverse(const double w[3], double J[9]);

/* ---- SE(3) ---- */

/* out = a b: the pose b, given in the frame a, in the parent frame of a. Quaternion normalised. */
TG_API void tg_se3_multiply(const double a[7], const double b[7], double out[7]);

/* out = T^-1. */
TG_API void tg_se3_inverse(const double T[7], double out[7]);

/* out = R u + p: a point given in the child frame, in the parent frame. */
TG_API void tg_se3_transform(const double T[7], const double u[3], double out[3]);

/* T = Exp(xi): the pose after moving for unit time with the constant body twist xi. */
TG_API void tg_se3_exp(const double xi[6], double T[7]);

/* xi = Log(T), angular part at most pi. */
TG_API void tg_se3_log(const double T[7], double xi[6]);

/* Ad (6 x 6) takes a twist in the child frame to the parent frame: [ R, [p] R ; 0, R ], order linear; angular.
 * T Exp(xi) T^-1 = Exp(Ad xi). */
TG_API void tg_se3_adjoint(const double T[7], double Ad[36]);

/* J_r(xi) (6 x 6): Exp(xi + dxi) = Exp(xi) Exp(J_r dxi) to first order; and its inverse, for angular part < 2 pi. */
TG_API void tg_se3_right_jacobian(const double xi[6], double J[36]);
TG_API void tg_se3_right_jacobian_inverse(const double xi[6], double J[36]);

#ifdef __cplusplus
}
#endif

#endif
