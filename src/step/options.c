/* Options of a step: defaults, checks, and the numbers that follow from the model. */
#include <math.h>
#include <string.h>

#include "contact/cone_law.h"
#include "contact/explicit.h"
#include "model/coupling.h"
#include "solve/soft.h"
#include "solve/tolerance.h"
#include "step/gyroscopic.h"
#include "step/step.h"

static const uint32_t options_cookie = 0x74674f50u;

tg_options tg_default_options(void)
{
    return (tg_options){.solver = "newton",
                        .law = "ncp",
                        .tolerance = 1e-8,
                        .implicit_damping = true,
                        .implicit_actuators = TG_AS_MODEL,
                        .implicit_gyroscopic = TG_AS_MODEL,
                        .implicit_tendons = TG_AS_MODEL,
                        .restitution = TG_RESTITUTION_NEWTON,
                        .push_speed = 0.05,
                        .push_rate = 0.05,
                        .lever = 1,
                        .push_gain = 1,
                        .friction_share = 1,
                        .reach = 0.001,
                        .smooth_speed = 0.01,
                        .smooth_width = 0.001,
                        .cookie = options_cookie};
}

const char *tg_solver_name(int index)
{
    const tg_solver *solver = tg_solver_at(index);
    return solver != NULL ? solver->name : NULL;
}

const char *tg_law_name(int index)
{
    int cones = 0;
    while (tg_cone_law_at(cones) != NULL)
        cones++;
    return index >= 0 && index < cones ? tg_cone_law_at(index)->name : tg_explicit_name(index - cones);
}

static tg_status check_positive(tg_work *w, const char *name, double value, double most)
{
    if (value > 0 && value <= most)
        return TG_OK;
    return tg_fail(&w->error, TG_ERR_VALUE, "options: %s = %g must be in (0, %g]", name, value, most);
}

static tg_status check_tendons(tg_work *w, const tg_options *o)
{
    int group = 0;
    if ((unsigned)o->implicit_tendons > TG_ON)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: implicit_tendons = %d is neither off nor on",
                       (int)o->implicit_tendons);
    if (o->implicit_tendons == TG_OFF || w->model->ngroup == 0)
        return TG_OK;
    if (!tg_groups_fit(w->model, &group))
        return tg_fail(
            &w->error, TG_ERR_UNSUPPORTED,
            "options: implicit_tendons: tendons couple trees with %d dofs, at most %d can be factored together",
            w->model->group_ndof[group], TG_GROUP_DOFS);
    if (o->implicit_gyroscopic == TG_ON)
        return tg_fail(
            &w->error, TG_ERR_UNSUPPORTED,
            "options: implicit_gyroscopic = on and implicit_tendons = on: one of them, where tendons couple trees");
    return TG_OK;
}

static tg_status check_explicit(tg_work *w, const tg_options *o)
{
    const char *what = o->restitution == TG_RESTITUTION_POISSON ? "Poisson's restitution"
                       : o->impact == TG_IMPACT_WITHIN          ? "impacts within a step"
                       : o->backward == TG_BACKWARD_SMOOTHED    ? "smoothed derivatives"
                       : o->backward == TG_BACKWARD_TOI         ? "toi derivatives"
                       : o->backward == TG_BACKWARD_ANI         ? "ani derivatives"
                       : o->backward == TG_BACKWARD_UNROLLED    ? "unrolled derivatives"
                                                                : NULL;
    return what == NULL ? TG_OK : tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: law '%s' with %s", o->law, what);
}

/* Other laws than the unrelaxed one are for comparison: what they do not have is refused. */
static tg_status check_law(tg_work *w, const tg_options *o)
{
    const tg_cone_law *law = tg_cone_law_find(o->law);
    if (tg_explicit_find(o->law) != TG_EXPLICIT_NONE)
        return check_explicit(w, o);
    if (law == NULL)
        return tg_fail(&w->error, TG_ERR_NAME, "options: unknown law '%s'", o->law == NULL ? "" : o->law);
    if (tg_cone_law_is_default(law))
        return TG_OK;
    const char *what = !tg_cone_law_takes(law, o->solver)                       ? "a solver other than newton and admm"
                       : o->restitution == TG_RESTITUTION_POISSON && law->shift ? "Poisson's restitution"
                       : o->impact == TG_IMPACT_WITHIN                          ? "impacts within a step"
                       : o->backward == TG_BACKWARD_SMOOTHED                    ? "smoothed derivatives"
                       : o->backward >= TG_BACKWARD_ANI ? "ani, detached or unrolled derivatives"
                                                        : NULL;
    return what == NULL ? TG_OK : tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: law '%s' with %s", o->law, what);
}

static tg_status check_unrolled(tg_work *w, const tg_options *o)
{
    const char *what = strcmp(o->solver, "staggered") != 0        ? "needs solver = staggered"
                       : o->staggered_steps == 0                  ? "needs staggered_steps > 0"
                       : o->restitution == TG_RESTITUTION_POISSON ? "with Poisson's restitution"
                       : o->impact == TG_IMPACT_WITHIN            ? "with impact = within"
                                                                  : NULL;
    return what == NULL ? TG_OK : tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: backward = unrolled %s", what);
}

static const double most = 1e6; /* of any number, in its own unit: what is larger is a mistake */

static tg_status check_options(tg_work *w, const tg_options *o)
{
    if (o->cookie != options_cookie)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "options: not made with tg_default_options()");
    if (tg_solver_find(o->solver) == NULL)
        return tg_fail(&w->error, TG_ERR_NAME, "options: unknown solver '%s'", o->solver == NULL ? "" : o->solver);
    if (o->effort < 0)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: effort = %d must not be negative", o->effort);
    if (o->staggered_steps < 0 || o->staggered_steps > (int)most)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: staggered_steps = %d must be in [0, 1000000]",
                       o->staggered_steps);
    TG_TRY(check_law(w, o));
    if (!(o->eps >= 0) || !isfinite(o->eps))
        return tg_fail(&w->error, TG_ERR_VALUE, "options: eps = %g must be finite and not negative", o->eps);
    if (o->eps > 0 && (o->law == NULL || strcmp(o->law, "ccp") != 0))
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: eps = %g with law '%s': it belongs to ccp", o->eps,
                       o->law);
    if ((unsigned)o->implicit_actuators > TG_ON)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: implicit_actuators = %d is neither off nor on",
                       (int)o->implicit_actuators);
    if ((unsigned)o->implicit_gyroscopic > TG_ON)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: implicit_gyroscopic = %d is neither off nor on",
                       (int)o->implicit_gyroscopic);
    if (o->implicit_gyroscopic == TG_ON && !tg_gyroscopic_fits(w->model))
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: implicit_gyroscopic with a tree of more than %d dofs",
                       TG_GYROSCOPIC_DOFS);
    TG_TRY(check_tendons(w, o));
    if ((unsigned)o->restitution > TG_RESTITUTION_POISSON)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: restitution = %d is no law", (int)o->restitution);
    if ((unsigned)o->impact > TG_IMPACT_WITHIN)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: impact = %d is neither at the end nor within",
                       (int)o->impact);
    if (o->impact == TG_IMPACT_WITHIN && o->restitution == TG_RESTITUTION_POISSON)
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED, "options: impacts within a step have Newton's restitution");
    if ((unsigned)o->backward > TG_BACKWARD_UNROLLED)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: backward = %d is no kind of derivative", (int)o->backward);
    if (o->backward == TG_BACKWARD_UNROLLED)
        TG_TRY(check_unrolled(w, o));
    if (o->impact == TG_IMPACT_WITHIN && o->backward >= TG_BACKWARD_TOI)
        return tg_fail(
            &w->error, TG_ERR_UNSUPPORTED,
            "options: backward = %s belongs to impacts at the end of a step: with impact = within, exact derivatives "
            "have the time of impact in them",
            o->backward == TG_BACKWARD_TOI   ? "toi"
            : o->backward == TG_BACKWARD_ANI ? "ani"
                                             : "detach");
    if (o->restitution == TG_RESTITUTION_POISSON && o->backward == TG_BACKWARD_DETACH)
        return tg_fail(
            &w->error, TG_ERR_UNSUPPORTED,
            "options: backward = detach with Poisson's restitution: its two phases have no velocity to detach");
    /* edges that are hardly round turn their normals faster than a step can follow, and chains of steps grow without
     * bound */
    if (o->smooth_width != 0 && !(o->smooth_width >= 1e-4 && o->smooth_width <= most))
        return tg_fail(&w->error, TG_ERR_VALUE, "options: smooth_width = %g must be 0 or in [1e-4, 1e6]",
                       o->smooth_width);
    if (!(o->smooth_reach >= 0 && o->smooth_reach <= 1e3))
        return tg_fail(&w->error, TG_ERR_VALUE, "options: smooth_reach = %g must be in [0, 1e3]", o->smooth_reach);
    if (o->smooth_reach > 0 && o->backward != TG_BACKWARD_SMOOTHED)
        return tg_fail(&w->error, TG_ERR_VALUE, "options: smooth_reach = %g belongs to backward = smoothed",
                       o->smooth_reach);
    TG_TRY(check_positive(w, "smooth_speed", o->smooth_speed, most));
    TG_TRY(check_positive(w, "dt", o->dt, most));
    TG_TRY(check_positive(w, "tolerance", o->tolerance, most));
    TG_TRY(check_positive(w, "push_speed", o->push_speed, most));
    TG_TRY(check_positive(w, "push_rate", o->push_rate, most));
    TG_TRY(check_positive(w, "lever", o->lever, most));
    TG_TRY(check_positive(w, "push_gain", o->push_gain, 1));
    TG_TRY(check_positive(w, "friction_share", o->friction_share, 1));
    TG_TRY(check_positive(w, "reach", o->reach, most));
    return check_positive(w, "rest_speed", o->rest_speed, most);
}

/* v_rest = max(2 |g| dt, 1 cm/s) */
static double default_rest_speed(const tg_work *w, double dt)
{
    const double *g = TG_PARAM(w->params, gravity_);
    return fmax(2 * dt * sqrt(vec3_dot(g, g)), 0.01);
}

static bool same_bytes(const void *a, const void *b, size_t bytes)
{
    return memcmp(a, b, bytes) == 0;
}

/* Whether these options were checked, and completed with these parameters, by the last call. */
static bool are_known(const tg_work *w, const tg_options *o)
{
    const tg_step_work *s = w->step;
    return s->options_params == w->params && s->options_generation == w->params->generation &&
           same_bytes(o, &s->options_given, sizeof *o) && strcmp(o->solver, s->options.solver) == 0 &&
           strcmp(o->law, s->options.law) == 0; /* the text at an address may be another now */
}

/* Contacts that open so fast, ten tolerances, do so in any solution within the tolerance. Poisson's compression has
 * velocities of its own; a cold step looks for the solution that the cache would lead to, which may close others. */
static double opening_speed(const tg_options *o)
{
    bool all = o->cold || o->restitution == TG_RESTITUTION_POISSON;
    return all ? INFINITY : TG_NO_SLIP * o->tolerance / tg_solve_default().tolerance;
}

tg_status tg_step_options(const tg_model *m, tg_work *w, const tg_options *options)
{
    tg_options o;
    if (options == NULL)
    {
        o = tg_default_options();
        return tg_step_options(m, w, &o);
    }
    if (are_known(w, options))
        return TG_OK;
    o = *options;
    if (o.dt == 0)
        o.dt = m->timestep;
    if (o.implicit_actuators == TG_AS_MODEL)
        o.implicit_actuators = m->implicit ? TG_ON : TG_OFF;
    int group;
    bool late = m->implicit && m->ngroup > 0 && tg_groups_fit(m, &group) && o.implicit_gyroscopic != TG_ON;
    if (o.implicit_tendons == TG_AS_MODEL)
        o.implicit_tendons = late ? TG_ON : TG_OFF;
    bool turns = m->implicit_gyroscopic && tg_gyroscopic_fits(m) && (o.implicit_tendons != TG_ON || m->ngroup == 0);
    if (o.implicit_gyroscopic == TG_AS_MODEL)
        o.implicit_gyroscopic = turns ? TG_ON : TG_OFF;
    double given = o.rest_speed;
    w->step->options_params = NULL;
    if (o.rest_speed == 0 && o.dt > 0)
        o.rest_speed = default_rest_speed(w, o.dt);
    TG_TRY(check_options(w, &o));
    tg_explicit_law explicit_law = tg_explicit_find(o.law); /* the caller's text need not last */
    bool solves = explicit_law == TG_EXPLICIT_NONE;
    o.solver = tg_solver_find(o.solver)->name;
    w->step->default_solver = strcmp(o.solver, tg_solve_default().solver) == 0;
    w->step->law = solves ? tg_cone_law_find(o.law) : tg_cone_law_at(0);
    o.law = solves ? w->step->law->name : tg_explicit_name((int)explicit_law - TG_EXPLICIT_COMPLIANT);
    bool smoothed = o.backward == TG_BACKWARD_SMOOTHED;
    w->step->options = o;
    w->rows->slack = 0.1 * o.reach;
    w->rows->explicit_law = !solves;
    w->rows->eps = o.eps;
    w->rows->spins = w->step->law->norm != TG_NORM_TWO;
    w->step->settings = (tg_contact_settings){.dt = o.dt,
                                              .push_speed = o.push_speed,
                                              .push_rate = o.push_rate,
                                              .push_gain = o.push_gain,
                                              .reach = o.reach,
                                              .rest_speed = o.rest_speed,
                                              .poisson = o.restitution == TG_RESTITUTION_POISSON,
                                              .smooth = smoothed ? o.smooth_speed : 0,
                                              .smooth_reach = smoothed ? o.smooth_reach : 0,
                                              .within = o.impact == TG_IMPACT_WITHIN,
                                              .rest_within = given,
                                              .explicit_law = explicit_law,
                                              .friction_share = o.friction_share,
                                              .detach = o.backward == TG_BACKWARD_DETACH,
                                              .open = opening_speed(&o),
                                              .closing = solves && !smoothed && tg_cone_law_is_default(w->step->law)};
    memcpy(&w->step->options_given, options, sizeof *options); /* and what is between its fields */
    w->step->options_params = w->params;
    w->step->options_generation = w->params->generation;
    return TG_OK;
}
