/* Slopes of the laws (law.c): how the bias of a row follows its gap and its velocity at the start of the step. */
#include <math.h>

#include "contact/rows.h"
#include "contact/within.h"
#include "solve/cone.h"

/* b = max(gain Phi / dt, -v_push) */
static double push_slope(const tg_contact_settings *s, double push, double phi)
{
    double gain = phi < 0 ? s->push_gain : 1;
    return gain * phi / s->dt <= -push ? 0 : gain / s->dt;
}

/* Where the law is smoothed a closed contact that opens is not drawn back: its gap counts as far as it is open, by more
 * than what the speed of smoothing closes in a step. */
static double smoothed_share(const tg_contact_settings *s, double phi)
{
    double scale = s->smooth * s->dt;
    return phi > 0 ? phi * phi / (phi * phi + scale * scale) : 0;
}

tg_bias_slope tg_contact_bias_slope(const tg_params *p, const tg_contact_settings *s, const tg_rows_island *island,
                                    const tg_touch *t, tg_problem_kind problem)
{
    bool placing = problem == TG_PROBLEM_PLACING;
    double e = tg_law_number(p, &t->law, t->law.restitution);
    if (problem == TG_PROBLEM_FREE)
        return (tg_bias_slope){0};
    bool bounces = t->impact || t->rebound;
    if (t->impact && island->within)
    {
        tg_within x = tg_within_of(s, t->phi, t->approach, t->free, e);
        if (island->relaxed && (placing ? x.placing : x.speed) > 0) /* the push is dropped */
            return (tg_bias_slope){0};
        return placing ? x.of_placing : x.of_speed;
    }
    if (island->relaxed && (bounces ? t->approach : t->phi) < 0)
        return (tg_bias_slope){0};
    if (t->impact && s->poisson) /* b = 0 in both phases */
        return (tg_bias_slope){0};
    if (bounces)
        return (tg_bias_slope){.start = e, .restitution = t->approach};
    bool plain = tg_law_compliance(p, &t->law) > 0 || (island->impact && !s->poisson && t->approach > 0);
    double gap = plain ? 1 / s->dt : push_slope(s, s->push_speed, t->phi);
    if (s->smooth > 0 && !plain)
        gap *= smoothed_share(s, t->phi);
    return (tg_bias_slope){.gap = gap, .dt = -gap * t->phi / s->dt};
}

double tg_limit_bias_slope(const tg_contact_settings *s, const tg_rows_island *island, double push, double phi)
{
    return island->relaxed && phi < 0 ? 0 : push_slope(s, push, phi);
}

/* b = Phi / dt, no longer than v_push */
void tg_equality_bias_slope(const tg_contact_settings *s, const tg_rows_island *island, double push, int n,
                            const double *phi, double *slope)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += phi[i] * phi[i];
    double length = sqrt(sum);
    bool bounded = length > push * s->dt;
    double scale = island->relaxed ? 0 : bounded ? push / length : 1 / s->dt;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            slope[n * i + j] = scale * ((i == j) - (bounded ? phi[i] * phi[j] / sum : 0));
}

/* ---- margins ---- */

/* The push of an island is dropped, or would be as soon as something overlaps: lately it had no solution with it. */
static bool drops_push(const tg_rows_island *island)
{
    return island->relaxed || island->pause[TG_ATTEMPT_PUSH].left > 0;
}

/* How far b = max(gain Phi / dt, -v_push) is from its kinks (m/s): at 0, unless gaps and overlaps count alike, and
 * where the push is at its bound. */
static double push_margin(const tg_contact_settings *s, const tg_rows_island *island, double push, double phi)
{
    double speed = phi / s->dt, gain = phi < 0 ? s->push_gain : 1;
    double from_zero = drops_push(island) || s->push_gain != 1 ? fabs(speed) : INFINITY;
    return island->relaxed ? from_zero : tg_smaller(from_zero, fabs(gain * speed + push));
}

/* of a contact that does not bounce, or a limit */
static double constraint_margin(const tg_params *p, const tg_contact_settings *s, const tg_rows *r,
                                const tg_rows_island *island, const tg_constraint *c)
{
    const double *phi = r->phi + c->row;
    const tg_touch *t = c->source == TG_SOURCE_CONTACT ? &r->touch[c->index] : NULL;
    if (c->source == TG_SOURCE_JOINT_LIMIT || c->source == TG_SOURCE_TENDON_LIMIT)
        return push_margin(s, island, tg_push_of(s, c, 0), phi[0]);
    if (t != NULL && (t->impact || t->rebound))
        return INFINITY;
    if (t != NULL && tg_law_compliance(p, &t->law) > 0)
        return drops_push(island) ? fabs(t->phi) / s->dt : INFINITY;
    return t != NULL ? push_margin(s, island, s->push_speed, t->phi) : INFINITY;
}

static bool acts(const tg_block_mode *mode)
{
    return mode->mode != TG_MODE_BREAKING && !mode->immaterial;
}

/* What opens may still act on where bodies are at the end of a step with impacts within it. */
double tg_bias_margin(const tg_work *w, const tg_contact_settings *s)
{
    const tg_rows *r = w->rows;
    double least = INFINITY;
    for (int i = 0; i < r->nisland; i++)
        for (int b = r->island[i].block; b < r->island[i].block + r->island[i].blocks; b++)
        {
            bool pushed = r->block[b].kind == TG_BLOCK_CONTACT || r->block[b].kind == TG_BLOCK_LIMIT;
            if (pushed && (acts(&r->mode[b]) || (r->island[i].within && acts(&r->placing_mode[b]))))
                least =
                    tg_smaller(least, constraint_margin(w->params, s, r, &r->island[i], &r->constraint[r->order[b]]));
        }
    return least;
}
