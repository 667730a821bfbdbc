/* Steps of one sample (step.h). */
#include "cartesian/step.h"

#include <string.h>

#include "base/status.h"
#include "cartesian/field.h"
#include "cartesian/jump.h"
#include "cartesian/saddle.h"

/* explicit Runge-Kutta: z_i = z + dt sum_j a_ij k_j, z+ = z + dt sum_i b_i k_i */
typedef struct tableau
{
    int stages;
    double a[4][4], b[4];
} tableau;

static const tableau tableaux[] = {
    [TG_CARTESIAN_RK38] = {4, {{0}, {1.0 / 3}, {-1.0 / 3, 1}, {1, -1, 1}}, {1.0 / 8, 3.0 / 8, 3.0 / 8, 1.0 / 8}},
    [TG_CARTESIAN_RK4] = {4, {{0}, {0.5}, {0, 0.5}, {0, 0, 1}}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}},
    [TG_CARTESIAN_EULER] = {1, {{0}}, {1}},
};

static void add(int n, double factor, const double *from, double *to)
{
    for (int i = 0; i < n && factor != 0; i++)
        to[i] += factor * from[i];
}

/* from lane->z to lane->z, the stages are kept */
static tg_status runge_kutta(tg_cartesian_lane *lane, const double *theta)
{
    const tableau *t = &tableaux[lane->options->integrator];
    int n = 2 * lane->n;
    double dt = lane->options->dt;
    for (int i = 0; i < t->stages; i++)
    {
        double *z = lane->stage_z + (size_t)i * (size_t)n;
        memcpy(z, lane->z, sizeof *z * (size_t)n);
        for (int j = 0; j < i; j++)
            add(n, dt * t->a[i][j], lane->stage_k + (size_t)j * (size_t)n, z);
        TG_TRY(tg_field(lane, theta, z, lane->stage_k + (size_t)i * (size_t)n));
    }
    for (int i = 0; i < t->stages; i++)
        add(n, dt * t->b[i], lane->stage_k + (size_t)i * (size_t)n, lane->z);
    return TG_OK;
}

/* lane->zb: gradient of the end on entry, of the start on return */
static tg_status runge_kutta_vjp(tg_cartesian_lane *lane, const double *theta, double *theta_bar)
{
    const tableau *t = &tableaux[lane->options->integrator];
    int n = 2 * lane->n;
    double dt = lane->options->dt;
    for (int i = 0; i < t->stages; i++)
    {
        double *k_bar = lane->stage_b + (size_t)i * (size_t)n;
        memset(k_bar, 0, sizeof *k_bar * (size_t)n);
        add(n, dt * t->b[i], lane->zb, k_bar);
    }
    for (int i = t->stages - 1; i >= 0; i--)
    {
        double *z_bar = lane->stage_k + (size_t)i * (size_t)n; /* the derivatives are not needed any more */
        memset(z_bar, 0, sizeof *z_bar * (size_t)n);
        TG_TRY(tg_field_vjp(lane, theta, lane->stage_z + (size_t)i * (size_t)n, lane->stage_b + (size_t)i * (size_t)n,
                            z_bar, theta_bar));
        add(n, 1, z_bar, lane->zb);
        for (int j = 0; j < i; j++)
            add(n, dt * t->a[i][j], z_bar, lane->stage_b + (size_t)j * (size_t)n);
    }
    return TG_OK;
}

static tg_status runge_kutta_jvp(tg_cartesian_lane *lane, const double *theta, const double *dtheta)
{
    const tableau *t = &tableaux[lane->options->integrator];
    int n = 2 * lane->n;
    double dt = lane->options->dt, *dz = lane->stage_k; /* the derivatives are not needed any more */
    for (int i = 0; i < t->stages; i++)
    {
        memcpy(dz, lane->zb, sizeof *dz * (size_t)n);
        for (int j = 0; j < i; j++)
            add(n, dt * t->a[i][j], lane->stage_b + (size_t)j * (size_t)n, dz);
        TG_TRY(tg_field_jvp(lane, theta, lane->stage_z + (size_t)i * (size_t)n, dz, dtheta,
                            lane->stage_b + (size_t)i * (size_t)n));
    }
    for (int i = 0; i < t->stages; i++)
        add(n, dt * t->b[i], lane->stage_b + (size_t)i * (size_t)n, lane->zb);
    return TG_OK;
}

/* z after the flow in lane->z (x, v): p has become v. lane->before keeps the velocity before the jump. */
static tg_status flow(tg_cartesian_lane *lane, const double *theta, const double *state)
{
    int n = lane->n;
    memcpy(lane->z, state, sizeof *state * (size_t)(2 * n));
    if (lane->options->hamiltonian)
        tg_mass(lane->c, theta, state + n, lane->z + n);
    TG_TRY(runge_kutta(lane, theta));
    if (lane->options->hamiltonian)
        tg_mass_inverse(lane->c, theta, lane->z + n, lane->z + n);
    memcpy(lane->before, lane->z + n, sizeof *state * (size_t)n);
    memcpy(lane->x1, lane->z, sizeof *state * (size_t)n);
    return TG_OK;
}

tg_status tg_cartesian_advance(tg_cartesian_lane *lane, const double *theta, const double *state, double *next)
{
    int n = lane->n;
    TG_TRY(flow(lane, theta, state));
    TG_TRY(tg_jump(lane, theta, lane->x1, lane->before, lane->v1));
    memcpy(next, lane->x1, sizeof *next * (size_t)n);
    memcpy(next + n, lane->v1, sizeof *next * (size_t)n);
    return TG_OK;
}

tg_status tg_cartesian_advance_vjp(tg_cartesian_lane *lane, const double *theta, const double *state,
                                   const double *next_bar, double *state_bar, double *theta_bar)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n;
    double *zb = lane->zb, *turned = lane->n8;
    TG_TRY(flow(lane, theta, state));
    TG_TRY(tg_jump(lane, theta, lane->x1, lane->before, lane->v1));
    memcpy(zb, next_bar, sizeof *zb * (size_t)n);
    memset(zb + n, 0, sizeof *zb * (size_t)n);
    if (lane->options->toi)
        tg_jump_toi_vjp(lane, zb);
    TG_TRY(tg_jump_vjp(lane, theta, lane->x1, lane->before, next_bar + n, zb, zb + n, theta_bar));
    if (lane->options->hamiltonian)
    {
        /* v = M^-1 p */
        tg_mass_inverse(c, theta, zb + n, zb + n);
        tg_mass_gradient(c, theta, -1, zb + n, lane->before, theta_bar);
    }
    TG_TRY(runge_kutta_vjp(lane, theta, theta_bar));
    if (lane->options->hamiltonian)
    {
        tg_mass_gradient(c, theta, 1, zb + n, state + n, theta_bar);
        tg_mass(c, theta, zb + n, turned);
        memcpy(zb + n, turned, sizeof *zb * (size_t)n);
    }
    add(2 * n, 1, zb, state_bar);
    return TG_OK;
}

tg_status tg_cartesian_advance_jvp(tg_cartesian_lane *lane, const double *theta, const double *state,
                                   const double *dstate, const double *dtheta, double *dnext)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n;
    double *zb = lane->zb;
    TG_TRY(flow(lane, theta, state));
    memcpy(zb, dstate, sizeof *zb * (size_t)(2 * n));
    if (lane->options->hamiltonian)
    {
        tg_mass(c, theta, dstate + n, zb + n);
        tg_mass_change(c, theta, dtheta, 1, state + n, zb + n);
    }
    TG_TRY(runge_kutta_jvp(lane, theta, dtheta));
    if (lane->options->hamiltonian)
    {
        tg_mass_change(c, theta, dtheta, -1, lane->before, zb + n);
        tg_mass_inverse(c, theta, zb + n, zb + n);
    }
    TG_TRY(tg_jump(lane, theta, lane->x1, lane->before, lane->v1));
    TG_TRY(tg_jump_jvp(lane, theta, lane->x1, lane->before, zb, zb + n, dtheta, dnext + n));
    if (lane->options->toi)
        tg_jump_toi_jvp(lane, zb);
    memcpy(dnext, zb, sizeof *zb * (size_t)n);
    return TG_OK;
}
