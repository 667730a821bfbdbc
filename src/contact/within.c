/* An impact within the step.
 *
 * Along a normal, semi-implicit Euler's points lie on a parabola: with a = (J_N v_free - J_N v) / dt its speed at the
 * start of the step is w = J_N (v + v_free) / 2, and the gap Phi + w s + a s^2 / 2 after s. It is zero first at
 *     s = 2 Phi / (u - w),   where the speed is -u,   u = sqrt(w^2 - 2 a Phi).
 * The body leaves with e u; r = dt - s later its gap is e u r + a r^2 / 2, and the parabola's speed there, as Euler's
 * points have it, e u + a r - a dt / 2. That is the bounce of the continuous motion at any dt.
 *
 * Where the body would come back within the step (a < 0, e u < -a r / 2), the terms in a have the factor k = e u / (-a
 * r / 2): the gap is then zero at the end of the step, and the speed e u s / r, zero at e = 0. Both are continuous in e
 * and s.
 *
 * What rests, or lands as slowly as one that rests is pulled down in a step, has no impact: the share of the above is h
 * = u / v_rest - 1, within 0 .. 1, v_rest = max(|a| dt, rest_speed), the rest is the law without impact, which closes
 * the gap at the end of the step. (So a contact at rest has one law for gaps and overlaps, and an exact derivative.) */
#include "contact/within.h"

#include <math.h>

/* ---- numbers with their derivatives by phi, start, free, e, dt ---- */

enum
{
    BY_PHI,
    BY_START,
    BY_FREE,
    BY_E,
    BY_DT,
    INPUTS
};

typedef struct number
{
    double x, d[INPUTS];
} number;

static number input(double x, int which)
{
    number a = {.x = x};
    a.d[which] = 1;
    return a;
}

static number constant(double x)
{
    return (number){.x = x};
}

/* p a + q b at the value x: the chain rule of a function of two numbers */
static number chain(double x, double p, number a, double q, number b)
{
    number out = {.x = x};
    for (int i = 0; i < INPUTS; i++)
        out.d[i] = p * a.d[i] + q * b.d[i];
    return out;
}

static number add(number a, number b)
{
    return chain(a.x + b.x, 1, a, 1, b);
}

static number sub(number a, number b)
{
    return chain(a.x - b.x, 1, a, -1, b);
}

static number mul(number a, number b)
{
    return chain(a.x * b.x, b.x, a, a.x, b);
}

static number over(number a, number b)
{
    return chain(a.x / b.x, 1 / b.x, a, -a.x / (b.x * b.x), b);
}

static number scaled(double factor, number a)
{
    return chain(factor * a.x, factor, a, 0, a);
}

static number root(number a)
{
    double x = sqrt(a.x);
    return chain(x, x > 0 ? 0.5 / x : 0, a, 0, a);
}

/* ---- the law ---- */

/* The parabola of the free motion, and where it meets the surface. */
typedef struct meeting
{
    number phi, dt, a, w; /* phi: overlaps count as contact */
    number u, s, r;       /* speed, time, rest of the step */
} meeting;

static meeting meet(const tg_contact_settings *settings, double phi, double start, double free)
{
    meeting m = {.phi = phi > 0 ? input(phi, BY_PHI) : constant(0), .dt = input(settings->dt, BY_DT)};
    number v = input(start, BY_START), end = input(free, BY_FREE);
    m.a = over(sub(end, v), m.dt);
    m.w = scaled(0.5, add(v, end));
    number square = sub(mul(m.w, m.w), scaled(2, mul(m.a, m.phi)));
    m.u = phi > 0 && square.x > 0 ? root(square) : scaled(-1, m.w);
    m.s = constant(0);
    if (phi > 0 && m.u.x > m.w.x)
        m.s = over(scaled(2, m.phi), sub(m.u, m.w));
    m.r = sub(m.dt, m.s);
    return m;
}

/* v_rest */
static number rest_speed(const tg_contact_settings *s, const meeting *m)
{
    number pulled = mul(m->a, m->dt);
    if (pulled.x < 0)
        pulled = scaled(-1, pulled);
    return pulled.x > s->rest_within ? pulled : constant(s->rest_within);
}

bool tg_meets_within(const tg_contact_settings *s, double phi, double start, double free)
{
    if (phi + s->dt * free > 0)
        return false;
    meeting m = meet(s, phi, start, free);
    return m.u.x > 0 && m.u.x > rest_speed(s, &m).x;
}

static tg_bias_slope slope_of(number b)
{
    return (tg_bias_slope){
        .gap = b.d[BY_PHI], .start = b.d[BY_START], .free = b.d[BY_FREE], .restitution = b.d[BY_E], .dt = b.d[BY_DT]};
}

/* the law without impact: minus its bias */
static number closing_speed(const tg_contact_settings *s, double phi, const meeting *m)
{
    number gap = input(phi, BY_PHI);
    double gain = phi < 0 ? s->push_gain : 1;
    if (gain * phi / s->dt <= -s->push_speed)
        return constant(s->push_speed);
    return scaled(-gain, over(gap, m->dt));
}

tg_within tg_within_of(const tg_contact_settings *settings, double phi, double start, double free, double e)
{
    tg_within out = {.regime = 0};
    meeting m = meet(settings, phi, start, free);
    number leaves = mul(input(e, BY_E), m.u), rest = rest_speed(settings, &m);
    number k = constant(1), half_fall = scaled(-0.5, mul(m.a, m.r)), h = constant(1);
    bool back = half_fall.x > 0 && leaves.x < half_fall.x;
    if (back)
        k = over(leaves, half_fall);
    bool slow = rest.x > 0 && m.u.x < 2 * rest.x;
    if (slow)
        h = sub(over(m.u, rest), constant(1));
    number pull = mul(k, m.a);
    number speed = add(leaves, mul(pull, sub(m.r, scaled(0.5, m.dt))));
    number gap = add(mul(leaves, m.r), scaled(0.5, mul(pull, mul(m.r, m.r))));
    number placing = over(sub(gap, m.phi), m.dt), closing = closing_speed(settings, phi, &m);
    number other = mul(sub(constant(1), h), closing);
    speed = add(mul(h, speed), other);
    placing = add(mul(h, placing), other);
    out.speed = speed.x;
    out.placing = placing.x;
    out.of_speed = slope_of(scaled(-1, speed));
    out.of_placing = slope_of(scaled(-1, placing));
    out.regime = 1 + back + 2 * slow + 4 * (phi > 0);
    out.margin = fmin(fabs(m.u.x - 2 * rest.x), fabs(m.u.x - rest.x));
    out.margin = fmin(out.margin, fabs(leaves.x - half_fall.x));
    out.margin = fmin(out.margin, fabs(phi / settings->dt + free));
    out.margin = fmin(out.margin, fabs(phi / settings->dt)); /* overlaps meet at the start of the step */
    return out;
}
