/* Where the time of a step goes. The clock is read only when the option profile asks for it. */
#include <math.h>

#include "base/clock.h"
#include "step/step.h"

const char *tg_step_stage_string(tg_step_stage stage)
{
    static const char *const name[] = {"smooth dynamics", "collision", "assembly", "solve", "end"};
    _Static_assert(sizeof name / sizeof name[0] == TG_STEP_STAGES, "a name for every stage");
    return (unsigned)stage < TG_STEP_STAGES ? name[stage] : "unknown";
}

/* s since the last lap, less what reading the clock takes (0.7 us here and there, as much as a short stage); starts a
 * new one */
static double lap(tg_step_work *s)
{
    double now = tg_clock(), time = now - s->lap - s->reading;
    s->lap = now;
    return time > 0 ? time : 0;
}

void tg_profile_begin(tg_work *w)
{
    w->step->profile = (tg_profile){.costliest = -1};
    if (!w->step->options.profile)
        return;
    /* the less of two readings: the first after a pause may take ten times as long */
    double first = tg_clock(), second = tg_clock();
    w->step->lap = tg_clock();
    w->step->reading = fmin(second - first, w->step->lap - second);
}

void tg_profile_stage(tg_work *w, tg_step_stage stage)
{
    if (w->step->options.profile)
        w->step->profile.time[stage] += lap(w->step);
}

void tg_profile_island(tg_work *w, int island)
{
    tg_profile *p = &w->step->profile;
    const tg_rows_island *solved = &w->rows->island[island];
    if (!w->step->options.profile)
        return;
    double time = lap(w->step);
    p->time[TG_STEP_STAGE_SOLVE] += time;
    if (p->costliest >= 0 && time <= p->costliest_time)
        return;
    p->costliest = island;
    p->costliest_time = time;
    p->rows = solved->rows;
    p->factorisations = solved->result.newton + solved->result.interior;
}
