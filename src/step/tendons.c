/* Tendons that act at the end of a step. Spring and damper of a tendon with length l and moment m, at l + dt m . v+ and
 * m . v+, with m as it is at the start, pull with
 *     k (rest - l - dt m . v+) - d m . v+  =  k (rest - l - dt m . v) - d m . v - (dt k + d) m . (v+ - v):
 * the first part is a force at the start, dt times the second goes to the left of the step's equation, where c = dt d +
 * dt^2 k: A = M + sum c m m^T. It is positive definite whatever dt is. How m turns is left out: that part of the
 * stiffness, the tension's, is explicit, and indefinite. Damping of actuators does the same with c = dt slope. */
#include "step/step.h"

void tg_step_cables(const tg_model *m, tg_work *w, tg_reserve *bounds)
{
    tg_step_work *s = w->step;
    s->cables = 0;
    if (m->ntendon == 0)
        return;
    tg_cables(m, w, s->v, m->nu > 0 ? s->drive : NULL, bounds);
    for (int t = 0; t < m->ntendon; t++)
        s->cables = s->cables * 31 + (uint64_t)(w->tendon_mode[t] - TG_TENDON_SLACK);
}

double tg_late_slope(const tg_model *m, const tg_work *w, int i)
{
    const tg_step_work *s = w->step;
    bool late = tg_tendons_late(m, w) && s->options.implicit_actuators == TG_ON, fits = false;
    if (m->actuator_transmission[i] == TG_TRANSMISSION_TENDON)
        fits = m->actuator_drives[i] == TG_DRIVES_FORCE && w->tendon_mode[m->actuator_target[i]] != TG_TENDON_SLACK;
    else if (m->actuator_transmission[i] == TG_TRANSMISSION_SITE)
        fits = true;
    if (!late || !fits || s->drive[i].force_end >= 0)
        return 0;
    double slope = -(TG_PARAM_OF(w->params, actuator_bias, i)[2] +
                     TG_PARAM_OF(w->params, actuator_gain, i)[2] * s->drive[i].signal);
    return slope > 0 ? slope : 0;
}

tg_drive tg_late_drive(const tg_model *m, const tg_work *w, int i)
{
    const tg_step_work *s = w->step;
    tg_drive d = s->drive[i];
    double slope = tg_late_slope(m, w, i);
    if (slope == 0)
        return d;
    double rate = tg_actuator_along(m, w, i, s->v_next), faster = rate - d.rate;
    d.gain += TG_PARAM_OF(w->params, actuator_gain, i)[2] * faster;
    d.bias += TG_PARAM_OF(w->params, actuator_bias, i)[2] * faster;
    d.force -= slope * faster;
    d.rate = rate;
    d.late = true;
    return d;
}

/* dt (k (stretch - dt rate+) - d rate+), where s->force has k (stretch - dt rate) - d rate */
double tg_late_by_dt(const tg_model *m, const tg_work *w, int tendon)
{
    double dt = w->step->options.dt;
    tg_pull end = tg_tendon_pull(m, w, tendon, (tg_tendon_when){w->step->v_next, dt});
    tg_pull start = tg_tendon_pull(m, w, tendon, (tg_tendon_when){w->step->v, dt});
    return end.force - start.force - dt * end.stiffness * end.rate;
}

void tg_step_couplings(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    double dt = s->options.dt;
    const double *stiffness = TG_PARAM(w->params, tendon_stiffness), *damping = TG_PARAM(w->params, tendon_damping);
    for (int t = 0; t < m->ntendon; t++)
    {
        int mode = w->tendon_mode[t];
        s->coupling[t] = (mode != TG_TENDON_SLACK ? dt * damping[t] : 0) + (mode >= 0 ? dt * dt * stiffness[t] : 0);
    }
    memset(s->coupling + m->ntendon, 0, sizeof(double) * (size_t)m->nu);
    for (int i = 0; i < m->nu && s->options.implicit_actuators == TG_ON; i++)
        s->coupling[m->ntendon + i] = dt * tg_late_slope(m, w, i);
}
