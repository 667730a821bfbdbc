/* Rigid-body dynamics and its derivatives.
 *
 * Every function takes the const model, a workspace and its inputs as arguments, and writes all of its outputs.
 * Matrices are row-major and dense: an a x b matrix has row i at out + i * b. Derivatives with respect to q are taken
 * in the tangent space (nv entries, in the frames of v; see tangere/model.h). Spatial vectors are (linear; angular) in
 * this interface.
 *
 * Inputs are checked: NULL where an array is needed, NaN or infinite numbers, quaternions whose norm is off by more
 * than 1e-3, parameters that were changed without tg_params_changed are refused with a message in tg_work_message. On
 * failure no output is written.
 *
 * M(q) a + bias(q, v) = passive(q, v) + tau, where M includes the armature on its diagonal and bias balances gravity,
 * Coriolis and centrifugal forces. Contacts, limits, dry friction and equalities are not included. */
#ifndef TANGERE_DYNAMICS_H
#define TANGERE_DYNAMICS_H

#include "tangere/base.h"
#include "tangere/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The scratch of one thread: one allocation when it is created (tg_work_create, tangere/step.h), none afterwards.
 * The model must outlive it. */
typedef struct tg_work tg_work;

TG_API const char *tg_work_message(const tg_work *w); /* of the last failure; "" if there was none */
TG_API size_t tg_work_bytes(const tg_work *w);        /* size of the allocation */

/* Sets the parameters that the workspace uses. They must belong to its model and outlive it; NULL: the model's own. */
TG_API tg_status tg_work_set_params(tg_work *w, const tg_params *params);

/* ---- kinematics ---- */

/* Poses of all bodies at q (nq). With v (nv, may be NULL) also their velocities. The queries below read the result;
 * they fail with TG_ERR_STALE when it is not there, or when the parameters have changed since. Every function that
 * takes q replaces it by its own. */
TG_API tg_status tg_kinematics(const tg_model *m, tg_work *w, const double *q, const double *v);

/* Position (m, world) and orientation (w x y z, body to world) of a body, site or geom frame. Outputs may be NULL. */
TG_API tg_status tg_body_pose(const tg_model *m, tg_work *w, int body, double pos[3], double quat[4]);
TG_API tg_status tg_site_pose(const tg_model *m, tg_work *w, int site, double pos[3], double quat[4]);
TG_API tg_status tg_geom_pose(const tg_model *m, tg_work *w, int geom, double pos[3], double quat[4]);

/* The frame in which a twist of a body is written. */
typedef enum tg_frame
{
    TG_FRAME_LOCAL,  /* axes of the body, velocity of the given point */
    TG_FRAME_WORLD,  /* world axes, velocity of the point of the body that is at the world's origin */
    TG_FRAME_ALIGNED /* world axes, velocity of the given point */
} tg_frame;

/* The Jacobian of a body's twist with respect to v: out is 6 x nv, (linear; angular). point: in the body's frame,
 * NULL: its origin; TG_FRAME_WORLD takes none. It is also the derivative of the pose with respect to q: of the
 * position of the point (TG_FRAME_ALIGNED, rows 0-2), and of the orientation as a rotation vector in world axes
 * (rows 3-5) or body axes (TG_FRAME_LOCAL). */
TG_API tg_status tg_body_jacobian(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                                  double *out);
/* The same for the frame of a site. */
TG_API tg_status tg_site_jacobian(const tg_model *m, tg_work *w, int site, tg_frame frame, double *out);

/* The twist itself, J v, and the part of its time derivative that does not need an acceleration, (dJ/dt) v: 6
 * numbers each. Both need v in tg_kinematics. */
TG_API tg_status tg_body_velocity(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                                  double out[6]);
TG_API tg_status tg_body_jacobian_dot_v(const tg_model *m, tg_work *w, int body, const double point[3], tg_frame frame,
                                        double out[6]);
TG_API tg_status tg_site_velocity(const tg_model *m, tg_work *w, int site, tg_frame frame, double out[6]);

/* The derivative of the twist with respect to q, 6 x nv; with respect to v it is the Jacobian. Both need v in
 * tg_kinematics. */
TG_API tg_status tg_body_velocity_derivative(const tg_model *m, tg_work *w, int body, const double point[3],
                                             tg_frame frame, double *out);
TG_API tg_status tg_site_velocity_derivative(const tg_model *m, tg_work *w, int site, tg_frame frame, double *out);

/* Centre of mass of all that moves (world, m) and its Jacobian (3 x nv). Outputs may be NULL. */
TG_API tg_status tg_com(const tg_model *m, tg_work *w, const double *q, double com[3], double *jacobian);

/* Linear momentum (kg m/s) and angular momentum about the centre of mass (kg m^2/s), world axes. Without armature. */
TG_API tg_status tg_momentum(const tg_model *m, tg_work *w, const double *q, const double *v, double momentum[6]);

/* Kinetic energy v M v / 2 (with armature) and potential energy of gravity, joint springs and tendon springs, J.
 * Outputs may be NULL. */
TG_API tg_status tg_energy(const tg_model *m, tg_work *w, const double *q, const double *v, double *kinetic,
                           double *potential);

/* ---- dynamics ---- */

/* M: nv x nv, both triangles, with armature. */
TG_API tg_status tg_mass_matrix(const tg_model *m, tg_work *w, const double *q, double *M);

/* tau = M a + bias, recursive Newton-Euler. a NULL: zero, so that tau is the bias. a and tau may be the same array. */
TG_API tg_status tg_rnea(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a, double *tau);

/* Springs and dampers of joints and tendons: force (nv). */
TG_API tg_status tg_passive(const tg_model *m, tg_work *w, const double *q, const double *v, double *force);

/* Actuators: generalised force (nv) and rate of the activations (na) for activations act (na) and controls u (nu).
 * Controls and forces are clamped to their ranges. act may be NULL when na is 0, act_rate when it is not wanted. */
TG_API tg_status tg_actuation(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                              const double *u, double *force, double *act_rate);

/* a = M^-1 (tau + passive - bias); tau NULL: zero. a and tau may be the same array. */
TG_API tg_status tg_forward_dynamics(const tg_model *m, tg_work *w, const double *q, const double *v, const double *tau,
                                     double *a);

/* ---- derivatives: matrices ----
 * Any output may be NULL. Shapes: d(nv numbers)/d(x) is nv x length of x. */

TG_API tg_status tg_rnea_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a,
                                     double *dtau_dq, double *dtau_dv, double *dtau_da);

/* The regressor: tau = Y pi + armature a, pi = for each body (the world included) m, m c (3), and the inertia about the
 * origin of the body frame xx yy zz xy xz yz, body axes. Y: nv x (10 nbody). */
TG_API tg_status tg_rnea_regressor(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a,
                                   double *Y);

TG_API tg_status tg_passive_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                        double *dforce_dq, double *dforce_dv);

/* dforce_dact: nv x na, dforce_du: nv x nu, drate_dact: na (the diagonal), drate_du: na (with respect to its own
 * control). */
TG_API tg_status tg_actuation_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                          const double *act, const double *u, double *dforce_dq, double *dforce_dv,
                                          double *dforce_dact, double *dforce_du, double *drate_dact, double *drate_du);

TG_API tg_status tg_forward_dynamics_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                                 const double *tau, double *da_dq, double *da_dv, double *da_dtau);

/* ---- derivatives: reverse mode ----
 * For a scalar function of the output with gradient y (nv): adds nothing, writes gq (nv), gv (nv), ... and gparams
 * (nparams, layout of tg_params). Cost is O(nv), independent of the number of parameters. Any output may be NULL. */

TG_API tg_status tg_rnea_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a,
                             const double *y, double *gq, double *gv, double *ga, double *gparams);

TG_API tg_status tg_passive_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *y,
                                double *gq, double *gv, double *gparams);

/* y_rate (na): gradient with respect to the rates; may be NULL (zero). */
TG_API tg_status tg_actuation_vjp(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                                  const double *u, const double *y, const double *y_rate, double *gq, double *gv,
                                  double *gact, double *gu, double *gparams);

TG_API tg_status tg_forward_dynamics_vjp(const tg_model *m, tg_work *w, const double *q, const double *v,
                                         const double *tau, const double *y, double *gq, double *gv, double *gtau,
                                         double *gparams);

/* ---- derivatives with respect to chosen parameters ----
 * index: n positions in the parameter vector (tg_param_find, tg_param_match). out: nv x n. One reverse sweep per
 * row. */

TG_API tg_status tg_rnea_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                           const double *a, const int *index, int n, double *out);

TG_API tg_status tg_forward_dynamics_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                                       const double *tau, const int *index, int n, double *out);

TG_API tg_status tg_passive_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                              const int *index, int n, double *out);

TG_API tg_status tg_actuation_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                                const double *act, const double *u, const int *index, int n,
                                                double *out);

#ifdef __cplusplus
}
#endif

#endif
