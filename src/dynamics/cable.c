/* Slack laws. With rest = [low, high], both with tendon.length and with what actuators add to them:
 *
 *   two-sided   stiffness (rest - length) outside of the band low .. high, everywhere if low = high; -damping rate
 *   spring      stiffness (high - length) above high; -damping rate
 *   all         -max(0, stiffness (length - high) + damping rate - drive) above high, else 0; drive: force of the
 *       actuators, which is in the maximum
 *
 * The mode is found at the start of a step and holds throughout. Actuators that drive the rest length act as forces
 * stiffness times their output, where the spring does (actuation.h). */
#include "dynamics/cable.h"

#include <float.h>
#include <math.h>

/* which rest length counts for a length, -1: none */
static int end_of(const tg_model *m, const tg_work *w, int tendon, double length)
{
    tg_rest_lengths rest = tg_rest_of(w, tendon);
    if (m->tendon_law[tendon] != TG_TENDON_LAW_TWO_SIDED)
        return length > rest.high ? 1 : -1;
    bool band = rest.low < rest.high; /* without one the spring goes through its rest length like any other */
    return length < rest.low ? 0 : length > rest.high || !band ? 1 : -1;
}

double tg_tendon_stretch(const tg_model *m, const tg_work *w, int tendon, int *end)
{
    tg_rest_lengths rest = tg_rest_of(w, tendon);
    double length = w->tendon_length[tendon];
    *end = end_of(m, w, tendon, length);
    return *end < 0 ? 0 : (*end == 0 ? rest.low : rest.high) - length;
}

/* ---- modes ---- */

static void add_reserve(tg_reserve *bounds, double distance, double size)
{
    tg_reserve_add(bounds, (tg_reserve){fabs(distance), fabs(distance) <= FLT_EPSILON * size});
}

/* how far the length is from where the spring begins to act, and the tension of a cable from 0 as a length */
static void find_reserve(const tg_model *m, const tg_work *w, int t, double length, double tension, tg_reserve *bounds)
{
    tg_rest_lengths rest = tg_rest_of(w, t);
    double stiffness = TG_PARAM(w->params, tendon_stiffness)[t], damping = TG_PARAM(w->params, tendon_damping)[t];
    bool two_sided = m->tendon_law[t] == TG_TENDON_LAW_TWO_SIDED, all = m->tendon_law[t] == TG_TENDON_LAW_ALL;
    double size = fmax(fabs(rest.high), fabs(length));
    if ((stiffness == 0 && !all) || (stiffness == 0 && damping == 0) || (two_sided && rest.low == rest.high))
        return;
    add_reserve(bounds, length - rest.high, size);
    if (two_sided)
        add_reserve(bounds, length - rest.low, size);
    if (all && stiffness > 0 && length > rest.high)
        add_reserve(bounds, tension / stiffness, size);
}

static void sum_drives(const tg_model *m, const tg_work *w, const tg_drive *drive)
{
    for (int i = 0; i < m->nu; i++)
    {
        if (m->actuator_transmission[i] != TG_TRANSMISSION_TENDON)
            continue;
        double out = TG_PARAM(w->params, actuator_gear)[6 * i] * drive[i].force;
        bool rest = m->actuator_drives[i] == TG_DRIVES_REST;
        (rest ? w->tendon_shift : w->tendon_drive)[m->actuator_target[i]] += out;
    }
}

void tg_cables(const tg_model *m, tg_work *w, const double *v, const tg_drive *drive, tg_reserve *bounds)
{
    bool driven = drive != NULL && m->ntendon > 0;
    memset(w->tendon_shift, 0, sizeof(double) * (size_t)m->ntendon);
    memset(w->tendon_drive, 0, sizeof(double) * (size_t)m->ntendon);
    if (driven)
        sum_drives(m, w, drive);
    for (int t = 0; t < m->ntendon; t++)
    {
        double length = w->tendon_length[t] - w->tendon_shift[t], tension = 0;
        tg_rest_lengths rest = tg_rest_of(w, t);
        if (m->tendon_law[t] == TG_TENDON_LAW_TWO_SIDED && rest.low == rest.high) /* a spring, nothing else */
        {
            w->tendon_mode[t] = length < rest.low ? TG_TENDON_LOWER : TG_TENDON_UPPER;
            continue;
        }
        int mode = end_of(m, w, t, length);
        if (m->tendon_law[t] == TG_TENDON_LAW_ALL)
        {
            tension = TG_PARAM(w->params, tendon_stiffness)[t] * (length - rest.high) - w->tendon_drive[t] +
                      TG_PARAM(w->params, tendon_damping)[t] * tg_tendon_rate_of(m, w, t, v);
            mode = mode < 0 || tension <= 0 ? TG_TENDON_SLACK : mode;
        }
        w->tendon_mode[t] = mode;
        if (bounds != NULL)
            find_reserve(m, w, t, length, tension, bounds);
    }
}

void tg_tendon_stage(const tg_model *m, tg_work *w, const double *q, const double *v)
{
    if (m->ntendon == 0)
        return;
    tg_tendons(m, w, q);
    tg_cables(m, w, v, NULL, NULL);
}
