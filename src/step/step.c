/* One step, from left to right: smooth dynamics, constraints, impulses, integration. */
#include "step/step.h"

#include <math.h>

#include "dynamics/kinematics.h"
#include "math/lanes.h"
#include "step/hold.h"
#include "step/stability.h"

/* ---- what goes in ---- */

static tg_status check_arrays(const tg_model *m, tg_work *w, const char *name, const tg_state *state)
{
    if (state == NULL || (state->q == NULL && m->nq > 0) || (state->v == NULL && m->nv > 0) ||
        (state->act == NULL && m->na > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s%s is NULL", name,
                       state == NULL                   ? ""
                       : state->q == NULL && m->nq > 0 ? ".q"
                       : state->v == NULL && m->nv > 0 ? ".v"
                                                       : ".act");
    const tg_cache *cache = state->cache;
    if (cache != NULL &&
        (cache->count < 0 || cache->count > cache->capacity || (cache->entry == NULL && cache->capacity > 0)))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s.cache: %d entries of %d%s", name, cache->count, cache->capacity,
                       cache->entry == NULL ? " at NULL" : "");
    return TG_OK;
}

static tg_status copy_vector(tg_work *w, const char *name, const double *from, int n, double *to)
{
    if (from == NULL)
    {
        memset(to, 0, sizeof(double) * (size_t)n);
        return TG_OK;
    }
    TG_TRY(tg_check_vector(w, name, from, n));
    memcpy(to, from, sizeof(double) * (size_t)n);
    return TG_OK;
}

tg_status tg_step_inputs(const tg_model *m, tg_work *w, const tg_state *in, const tg_control *control)
{
    tg_step_work *s = w->step;
    tg_tendon_forget(w);
    TG_TRY(tg_check_q(m, w, in->q));
    memcpy(s->q, in->q, sizeof(double) * (size_t)m->nq);
    TG_TRY(copy_vector(w, "in.v", in->v, m->nv, s->v));
    TG_TRY(copy_vector(w, "in.act", in->act, m->na, s->act));
    TG_TRY(copy_vector(w, "control.u", control == NULL ? NULL : control->u, m->nu, s->u));
    TG_TRY(copy_vector(w, "control.tau", control == NULL ? NULL : control->tau, m->nv, s->tau));
    s->has_wrench = control != NULL && control->wrench != NULL;
    if (s->has_wrench)
        TG_TRY(copy_vector(w, "control.wrench", control->wrench, TWIST * m->nbody, s->wrench));
    return TG_OK;
}

/* Time of impact needs to know how gaps move, which contacts from outside do not say. */
static tg_status take_contacts(const tg_model *m, tg_work *w, const tg_given_contacts *given)
{
    tg_step_work *s = w->step;
    if (s->options.backward == TG_BACKWARD_TOI)
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED,
                       "options: backward = toi with contacts from outside: how their gaps move is not known");
    TG_TRY(tg_check_given(m, w, given));
    s->settings.given = given;
    return TG_OK;
}

/* ---- what comes out ---- */

/* What rolls or relaxes to rest loses a share of its speed in every step, and would end in numbers below DBL_MIN, which
 * processors are slow with. Numbers whose square is no normal number are nothing to any force or energy: zero. */
static void settle(int n, double *x)
{
    const double least = 1e-150;
    const v4i magnitude = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}; /* all bits but the sign */
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
    {
        v4 lanes = v4_loadu(x + i);
        v4_storeu(x + i, v4_keep(~(v4_keep(magnitude, lanes) < v4_splat(least)), lanes));
    }
    for (; i < n; i++)
        x[i] = fabs(x[i]) < least ? 0 : x[i];
}

static void come_to_rest(const tg_model *m, tg_work *w)
{
    tg_step_work *s = w->step;
    settle(m->nv, s->v_next);
    settle(m->na, s->act_next);
    settle(w->rows->nrow, w->rows->L);
}

/* The largest number that went into a step: where a result is not finite, it is usually the cause. */
typedef struct input
{
    const char *name;
    int index;
    double value;
} input;

static void look_at(input *largest, const char *name, const double *x, int n)
{
    for (int i = 0; i < n; i++)
        if (fabs(x[i]) > fabs(largest->value))
            *largest = (input){name, i, x[i]};
}

static input largest_input(const tg_model *m, const tg_step_work *s)
{
    input largest = {"in.q", 0, 0};
    look_at(&largest, "in.q", s->q, m->nq);
    look_at(&largest, "in.v", s->v, m->nv);
    look_at(&largest, "in.act", s->act, m->na);
    look_at(&largest, "control.u", s->u, m->nu);
    look_at(&largest, "control.tau", s->tau, m->nv);
    if (s->has_wrench)
        look_at(&largest, "control.wrench", s->wrench, TWIST * m->nbody);
    return largest;
}

static tg_status not_finite(const tg_model *m, tg_work *w, const char *name, int index, double after, double before)
{
    input largest = largest_input(m, w->step);
    return tg_fail(&w->error, TG_ERR_NUMERIC,
                   "%s[%d] after the step is %g: it was %g; the largest input is %s[%d] = %g, dt is %g s", name, index,
                   after, before, largest.name, largest.index, largest.value, w->step->options.dt);
}

static tg_status check_result(const tg_model *m, tg_work *w)
{
    const tg_step_work *s = w->step;
    if (v4_all_finite(m->nv, s->v_next) && v4_all_finite(m->nq, s->q_next))
        return TG_OK;
    for (int k = 0; k < m->nv; k++)
        if (!isfinite(s->v_next[k]))
            return not_finite(m, w, "v", k, s->v_next[k], s->v[k]);
    for (int i = 0; i < m->nq; i++)
        if (!isfinite(s->q_next[i]))
            return not_finite(m, w, "q", i, s->q_next[i], s->q[i]);
    return TG_OK;
}

static void hand_over(const tg_model *m, const tg_work *w, tg_state *out)
{
    const tg_step_work *s = w->step;
    memcpy(out->q, s->q_next, sizeof(double) * (size_t)m->nq);
    memcpy(out->v, s->v_next, sizeof(double) * (size_t)m->nv);
    if (m->na > 0)
        memcpy(out->act, s->act_next, sizeof(double) * (size_t)m->na);
    tg_cache_write(w, out->cache);
}

/* Some pair that was left out would be met */
static bool misses_touches(const tg_model *m, tg_work *w)
{
    const tg_step_work *s = w->step;
    const double *placing = tg_placing_velocity(s);
    return tg_misses_touches(m, w, placing, &s->settings) ||
           (placing != s->v_next && tg_misses_touches(m, w, s->v_next, &s->settings));
}

/* Where something left out would be met, the problem is solved again with all that could have been. */
static tg_status find_impulses(const tg_model *m, tg_work *w, const tg_cache *cache)
{
    tg_step_work *s = w->step;
    TG_TRY(tg_step_problem(m, w, cache));
    s->settings.given = NULL; /* they were the caller's */
    TG_TRY(tg_step_solve(m, w));
    if (!w->rows->left_out)
        return TG_OK;
    tg_profile_stage(w, TG_STEP_STAGE_SOLVE);
    bool misses = misses_touches(m, w);
    tg_profile_stage(w, TG_STEP_STAGE_COLLISION);
    misses = misses || tg_step_turns_aside(m, w);
    tg_profile_stage(w, TG_STEP_STAGE_END);
    if (!misses)
        return TG_OK;
    s->settings.closing = false;
    tg_status status = tg_step_problem(m, w, cache);
    s->settings.closing = true;
    return status == TG_OK ? tg_step_solve(m, w) : status;
}

tg_status tg_step(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *in,
                  const tg_control *control, tg_state *out, tg_info *info)
{
    TG_TRY(tg_check_work(m, w));
    tg_step_work *s = w->step;
    s->done = s->modes = s->factored = false;
    s->use = TG_IMPLICIT_MOTION;
    TG_TRY(tg_step_options(m, w, options));
    TG_TRY(check_arrays(m, w, "in", in));
    TG_TRY(check_arrays(m, w, "out", out));
    tg_profile_begin(w);
    TG_TRY(tg_step_inputs(m, w, in, control));
    if (control != NULL && control->contacts != NULL)
        TG_TRY(take_contacts(m, w, control->contacts));
    TG_TRY(tg_step_find_stiff(m, w));
    TG_TRY(tg_step_smooth(m, w));
    if (m->ncandidate > 0 && s->settings.given == NULL)
        tg_space_update(m, w);
    s->placement = w->placement;
    tg_profile_stage(w, TG_STEP_STAGE_SMOOTH);
    TG_TRY(find_impulses(m, w, in->cache));
    come_to_rest(m, w);
    tg_profile_stage(w, TG_STEP_STAGE_SOLVE);
    s->held = false;
    tg_step_integrate(m, w);
    if (w->rows->ntouch > 0 && w->rows->ngiven == 0 && !w->rows->explicit_law)
        tg_step_hold(m, w);
    if (s->options.project)
        TG_TRY(tg_step_project(m, w));
    TG_TRY(check_result(m, w));
    TG_TRY(tg_step_report(m, w));
    s->done = s->rows = true;
    s->left = w->placement;
    s->params = w->params;
    s->generation = w->params->generation;
    hand_over(m, w, out);
    tg_profile_stage(w, TG_STEP_STAGE_END);
    s->info.profile = s->profile;
    if (info != NULL)
        *info = s->info;
    return TG_OK;
}
