/* The largest stable time step of explicit springs, dampers and servos.
 *
 * A mode with mass m, stiffness k, damping d that acts on v and d' that acts on v+, in a semi-implicit Euler step: (m +
 * dt d') (v+ - v) = -dt (k x + (d + d') v), x+ = x + dt v+, is stable where
 *     dt^2 k + 2 dt d < 4 m + 2 dt d'.
 * For all modes: the largest eigenvalue of dt^2/4 K + dt/2 D against M + dt/2 D' is below 1; K and D are sums of moment
 * moment^T over joints, tendons and servos, M is that of the reference configuration. The eigenvalue by power iteration
 * with the factors of M + dt/2 D'; it only grows with dt. */
#include "step/stability.h"

#include <math.h>

#include "dynamics/actuation.h"
#include "dynamics/factors.h"
#include "dynamics/kinematics.h"
#include "dynamics/tendon.h"
#include "step/step.h"

enum
{
    POWERS = 40,   /* of the power iteration: well below a hundredth of the eigenvalue */
    HALVINGS = 30, /* of the interval of time steps */
};

/* Which parts count. */
typedef struct parts
{
    const tg_model *m;
    tg_work *w;
    const tg_options *o;
    double dt;
    bool servos; /* count, too; their work is that of controls */
} parts;

static double weight_of(const parts *p, double k, double d)
{
    return 0.25 * p->dt * p->dt * k + 0.5 * p->dt * d;
}

/* out += (dt^2/4 k + dt/2 d) moment (moment . x) */
static void add_moment(const parts *p, const double *moment, double k, double d, const double *x, double *out)
{
    double weight = weight_of(p, k, d), along = 0;
    for (int i = 0; i < p->m->nv && weight != 0; i++)
        along += moment[i] * x[i];
    for (int i = 0; i < p->m->nv && weight != 0; i++)
        out[i] += weight * along * moment[i];
}

/* dt^2/4 k + dt/2 d of a dof's own spring and damper, and of a tendon's */
static double joint_weight(const parts *p, int dof)
{
    const tg_params *par = p->w->params;
    bool late = tg_implicit_spring_of(p->m, p->w, dof) > 0;
    double stiffness = late ? 0 : TG_PARAM(par, joint_stiffness)[p->m->dof_joint[dof]];
    double damping = !p->o->implicit_damping ? par->dof_damping[dof] : 0;
    return weight_of(p, stiffness, damping);
}

static double tendon_weight(const parts *p, int tendon)
{
    const tg_params *par = p->w->params;
    return weight_of(p, TG_PARAM(par, tendon_stiffness)[tendon], TG_PARAM(par, tendon_damping)[tendon]);
}

static void add_servos(const parts *p, const double *x, double *out)
{
    for (int i = 0; i < p->m->nu && p->servos; i++)
    {
        const double *bias = TG_PARAM_OF(p->w->params, actuator_bias, i);
        bool axis = tg_actuator_has_axis(p->m, i), far = p->m->actuator_transmission[i] != TG_TRANSMISSION_JOINT;
        bool late = p->o->implicit_actuators == TG_ON && (axis || (far && tg_tendons_late(p->m, p->w)));
        add_moment(p, tg_actuator_row(p->m, p->w, i), fmax(0, -bias[1]), late ? 0 : fmax(0, -bias[2]), x, out);
    }
}

/* out = (dt^2/4 K + dt/2 D) x */
static void stiff_product(const parts *p, const double *x, double *out)
{
    const tg_model *m = p->m;
    for (int k = 0; k < m->nv; k++)
        out[k] = joint_weight(p, k) * x[k];
    for (int t = 0; t < m->ntendon && !tg_tendons_late(m, p->w); t++)
        tg_tendon_add(m, p->w, t, tendon_weight(p, t) * tg_tendon_rate(m, p->w, t, x), out);
    add_servos(p, x, out);
}

/* of tendons, and of actuators on tendons and sites */
static void fill_couplings(const parts *p, double *coupling)
{
    const tg_model *m = p->m;
    const tg_params *par = p->w->params;
    for (int t = 0; t < m->ntendon; t++)
        coupling[t] = tendon_weight(p, t);
    for (int i = 0; i < m->nu; i++)
    {
        bool far = m->actuator_transmission[i] != TG_TRANSMISSION_JOINT && m->actuator_drives[i] == TG_DRIVES_FORCE;
        bool late = far && p->o->implicit_actuators == TG_ON;
        coupling[m->ntendon + i] = late ? weight_of(p, 0, fmax(0, -TG_PARAM_OF(par, actuator_bias, i)[2])) : 0;
    }
}

/* M + dt/2 D' of what acts on v+ */
static tg_status factor(const parts *p)
{
    const tg_model *m = p->m;
    double *extra = p->w->step->extra;
    for (int k = 0; k < m->nv; k++)
        extra[k] = p->o->implicit_damping ? weight_of(p, 0, p->w->params->dof_damping[k]) : 0;
    for (int k = 0; k < m->nv; k++)
        extra[k] += weight_of(p, tg_implicit_spring_of(m, p->w, k), 0);
    for (int i = 0; i < m->nu && p->o->implicit_actuators == TG_ON; i++)
        if (tg_actuator_has_axis(m, i))
        {
            double gear = *TG_PARAM_OF(p->w->params, actuator_gear, i);
            double slope = fmax(0, -TG_PARAM_OF(p->w->params, actuator_bias, i)[2]);
            extra[m->joint_dof[m->actuator_target[i]]] += weight_of(p, 0, gear * gear * slope);
        }
    double *coupling = tg_tendons_late(m, p->w) ? p->w->step->coupling : NULL;
    if (coupling != NULL)
        fill_couplings(p, coupling);
    return tg_factor_mass(m, p->w, extra, coupling);
}

/* the largest eigenvalue; beyond 1: not stable */
static tg_status sharpness(const parts *p, double *out)
{
    int nv = p->m->nv;
    double *x = p->w->step->cotangent, *y = x + nv, *s = x + 2 * nv;
    TG_TRY(factor(p));
    for (int k = 0; k < nv; k++)
        x[k] = 1 + 0.5 * sin(3.0 * k); /* along no mode in particular */
    *out = 0;
    for (int i = 0; i < POWERS; i++)
    {
        double size = 0, above = 0, below = 0;
        stiff_product(p, x, s);
        memcpy(y, s, sizeof(double) * (size_t)nv);
        tg_solve_mass(p->m, p->w, y); /* A y = s */
        for (int k = 0; k < nv; k++)
        {
            size = fmax(size, fabs(y[k]));
            below += y[k] * s[k];
        }
        stiff_product(p, y, s);
        for (int k = 0; k < nv; k++)
        {
            above += y[k] * s[k];
            x[k] = size > 0 ? y[k] / size : 0;
        }
        *out = below > 0 ? above / below : 0; /* Rayleigh's quotient: its error is the square of that of y */
    }
    return TG_OK;
}

static void place(const tg_model *m, tg_work *w)
{
    tg_position_stage(m, w, w->params->q0);
    tg_transmissions(m, w, w->params->q0);
}

/* springs, and dampers that act on v */
static bool has_any(const tg_model *m, const tg_params *p, bool damping, bool tendons)
{
    bool any = false;
    for (int j = 0; j < m->njoint && !any; j++)
        any = TG_PARAM(p, joint_stiffness)[j] > 0 || (damping && TG_PARAM(p, joint_damping)[j] > 0);
    for (int t = 0; t < m->ntendon && !any && tendons; t++)
        any = TG_PARAM(p, tendon_stiffness)[t] > 0 || TG_PARAM(p, tendon_damping)[t] > 0;
    return any;
}

tg_status tg_step_find_stiff(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double size = 0;
    bool late = tg_tendons_late(m, w);
    if (s->stiff_params == w->params && s->stiff_generation == w->params->generation && s->stiff_dt == s->options.dt &&
        s->stiff_late == late)
        return TG_OK;
    s->stiff_late = late;
    s->stiff_joints = has_any(m, w->params, !s->options.implicit_damping, false);
    if (has_any(m, w->params, !s->options.implicit_damping, !late))
    {
        place(m, w);
        TG_TRY(sharpness(&(parts){m, w, &s->options, 2 * s->options.dt, false}, &size));
    }
    s->stiff = size > 1;
    if (s->stiff)
        TG_TRY(sharpness(&(parts){m, w, &s->options, s->options.dt, false}, &size));
    s->too_long = size > 1;
    s->stiff_params = w->params;
    s->stiff_generation = w->params->generation;
    s->stiff_dt = s->options.dt;
    return TG_OK;
}

double tg_stiff_motion(const tg_model *m, tg_work *w, const double *v)
{
    const parts p = {m, w, &w->step->options, w->step->options.dt, false};
    bool late = tg_tendons_late(m, w);
    double sum = 0;
    for (int k = 0; k < m->nv && w->step->stiff_joints; k++)
        sum += joint_weight(&p, k) * v[k] * v[k];
    for (int t = 0; t < m->ntendon && !late; t++)
    {
        double rate = tg_tendon_rate_of(m, w, t, v);
        sum += tendon_weight(&p, t) * rate * rate;
    }
    return sum;
}

tg_status tg_stable_dt(const tg_model *m, tg_work *w, const tg_options *options, double *dt)
{
    const double longest = 1; /* s: what tg_options allows */
    TG_TRY(tg_check_work(m, w));
    if (dt == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_stable_dt: dt is NULL");
    TG_TRY(tg_step_options(m, w, options));
    w->step->done = false;
    place(m, w);
    double low = 0, high = longest, size;
    parts p = {m, w, &w->step->options, high, true};
    TG_TRY(sharpness(&p, &size));
    for (int i = 0; i < HALVINGS && size >= 1; i++)
    {
        double *end = &low;
        p.dt = low > 0 ? sqrt(low * high) : high / 10;
        double now;
        TG_TRY(sharpness(&p, &now));
        if (now >= 1)
            end = &high;
        *end = p.dt;
    }
    *dt = size < 1 ? INFINITY : low;
    return TG_OK;
}

tg_status tg_model_stable_dt(const tg_model *m, double *dt, tg_error *error)
{
    tg_work *w = NULL;
    if (m == NULL || dt == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_model_stable_dt: %s is NULL", m == NULL ? "m" : "dt");
    *dt = INFINITY;
    if (m->nu == 0 && !has_any(m, tg_model_params(m), true, true))
        return TG_OK;
    TG_TRY(tg_work_create_for(m, 1, &w, error));
    tg_status status = tg_stable_dt(m, w, NULL, dt);
    if (status != TG_OK)
        tg_fail(error, status, "%s", tg_work_message(w));
    tg_work_destroy(w);
    return status;
}
