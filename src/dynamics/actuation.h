/* Actuators. */
#ifndef TG_DYNAMICS_ACTUATION_H
#define TG_DYNAMICS_ACTUATION_H

#include <math.h>

#include "dynamics/tendon.h"

/* How near controls, forces and activations are to the bounds at which they are clamped. */
typedef struct tg_reserve
{
    double margin; /* the least distance, in units of what is clamped */
    bool at;       /* one is on its bound, to single precision */
} tg_reserve;

static inline tg_reserve tg_no_reserve(void)
{
    return (tg_reserve){INFINITY, false};
}

static inline void tg_reserve_add(tg_reserve *sum, tg_reserve b)
{
    sum->margin = b.margin < sum->margin ? b.margin : sum->margin;
    sum->at = sum->at || b.at;
}

/* What one actuator does in a state. */
typedef struct tg_drive
{
    double control;      /* clamped */
    double signal;       /* what the gain multiplies: control or activation */
    double length, rate; /* of the transmission, with gear */
    double gain, bias;
    double force; /* clamped */
    double act_rate;
    int control_end;        /* which bound of the control is exceeded: 0, 1, -1 none; none on the bound */
    int force_end;          /* the same for the force */
    int signal_end;         /* the same for an activation at the end of the step (act_early) */
    double signal_act;      /* d signal / d act */
    double signal_act_rate; /* d signal / d act_rate */
    double signal_tau;      /* d signal / d tau at a fixed act_rate */
    double signal_dt;       /* d signal / d dt: of an activation at the end of the step */
    bool late;              /* rate, gain, bias and force are those at the velocities of the end of a step */
    tg_reserve bounds;      /* of control, activation and force, where they matter */
} tg_drive;

static inline double *tg_actuator_moment(const tg_model *m, const tg_work *w, int actuator)
{
    return w->actuator_moment + (size_t)actuator * (size_t)v4_pad(m->nv);
}

/* The same, filled: of an actuator on a tendon it is made of the tendon's now. */
const double *tg_actuator_row(const tg_model *m, const tg_work *w, int actuator);

/* The dofs first .. last - 1 that an actuator can act on: its moment is zero outside of them. */
typedef struct tg_span
{
    int first, last;
} tg_span;

static inline tg_span tg_actuator_span(const tg_model *m, int actuator)
{
    int joint = m->actuator_target[actuator];
    if (m->actuator_transmission[actuator] != TG_TRANSMISSION_JOINT)
        return (tg_span){0, m->nv};
    int type = m->joint_type[joint], n = type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
    return (tg_span){m->joint_dof[joint], m->joint_dof[joint] + n};
}

/* Force along a tendon a unit of an actuator's output: gear, times the tendon's stiffness where the output is a change
 * of its rest length; 0 where the tendon is slack (cable.h). */
static inline double tg_tendon_gear(const tg_model *m, const tg_work *w, int i)
{
    int tendon = m->actuator_target[i], mode = w->tendon_mode[tendon];
    double gear = TG_PARAM(w->params, actuator_gear)[6 * i];
    if (m->actuator_drives[i] == TG_DRIVES_REST)
        return mode >= 0 ? gear * TG_PARAM(w->params, tendon_stiffness)[tendon] : 0;
    return mode != TG_TENDON_SLACK ? gear : 0;
}

/* Whether it acts on a joint with one axis. */
static inline bool tg_actuator_has_axis(const tg_model *m, int actuator)
{
    if (m->actuator_transmission[actuator] != TG_TRANSMISSION_JOINT)
        return false;
    int type = m->joint_type[m->actuator_target[actuator]];
    return type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE;
}

/* moment . x, over the dofs that an actuator has */
double tg_actuator_along_all(const tg_model *m, const tg_work *w, int i, const double *x);
static inline double tg_actuator_along(const tg_model *m, const tg_work *w, int actuator, const double *x)
{
    if (!tg_actuator_has_axis(m, actuator))
        return tg_actuator_along_all(m, w, actuator, x);
    int dof = m->joint_dof[m->actuator_target[actuator]];
    return tg_actuator_moment(m, w, actuator)[dof] * x[dof];
}

/* Lengths and moments of the transmissions. After the position stage. */
void tg_transmissions(const tg_model *m, tg_work *w, const double *q);

/* After tg_transmissions. dt: for actuators with act_early. act: NULL if na is 0. */
tg_drive tg_drive_of(const tg_model *m, const tg_work *w, int i, const double *v, const double *act, const double *u,
                     double dt);

/* Those of all actuators, and their bounds. */
void tg_drives_fill(const tg_model *m, const tg_work *w, const double *v, const double *act, const double *u, double dt,
                    tg_drive *drive, tg_reserve *bounds);

/* The activation at the end of a step of dt becomes the signal, with its derivatives; d as tg_drive_of left it. */
void tg_next_activation(const tg_model *m, const tg_work *w, int i, double act, double dt, tg_drive *d);

/* sum (nv) += moment of an actuator times its force. */
void tg_add_actuator_force(const tg_model *m, const tg_work *w, int i, double force, double *sum);

/* The same for all actuators; beside: without those on tendons. */
void tg_add_drives(const tg_model *m, const tg_work *w, const tg_drive *drive, bool beside, double *sum);

/* force (nv), before the joints' force ranges, and act_rate (na, may be NULL). */
void tg_actuator_forces(const tg_model *m, const tg_work *w, const double *v, const double *act, const double *u,
                        double dt, double *force, double *act_rate);

/* Clamps the forces on joints with a force range. bounds: added to; NULL: not wanted. */
void tg_clamp_joint_forces(const tg_model *m, const tg_work *w, double *force, tg_reserve *bounds);

/* Which bound of its joint's force range a generalised force is clamped to: 0, 1, -1 none. *bound gets it. */
int tg_joint_force_end(const tg_model *m, const tg_work *w, int dof, double force, double *bound);

/* The wrench a unit of force of a site transmission, at the origin of the site's tree. */
spatial tg_site_wrench(const tg_model *m, const tg_work *w, int actuator);

/* d length / d q of an actuator at a ball joint, three numbers. */
void tg_ball_length_gradient(const tg_model *m, const tg_work *w, int actuator, const double *q, double out[3]);

/* Derivatives of the actuators' forces on the joints; any may be NULL. */
typedef struct tg_actuation_deriv
{
    double *dq, *dv;   /* nv x nv, added to */
    double *dact, *du; /* nv x na, nv x nu, written */
} tg_actuation_deriv;

/* After tg_transmissions. dt: for actuators with act_early. drive: what they do (tg_drive_of), NULL: not known yet;
 * v_late: velocities of those that are late. */
void tg_add_actuation_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *v_late,
                                  const double *act, const double *u, double dt, const tg_drive *drive,
                                  const tg_actuation_deriv *out);

/* d signal / d act and d u of an actuator. */
void tg_signal_derivatives(const tg_model *m, const tg_work *w, int i, const tg_drive *d, double *by_act, double *by_u);

tg_status tg_check_actuation(const tg_model *m, tg_work *w, const double *q, const double *v, const double *act,
                             const double *u);

#endif
