/* Forces and the motion between contacts (field.h). */
#include "cartesian/field.h"

#include <math.h>
#include <string.h>

#include "base/status.h"
#include "cartesian/saddle.h"

/* ---- forces ---- */

/* vector from the start of a spring to point i, its length */
static double spring_vector(const tg_cartesian *c, const tg_cartesian_spring *s, const double *x, double *u)
{
    int d = c->dim;
    double sum = 0;
    for (int a = 0; a < d; a++)
    {
        u[a] = x[s->i * d + a] - (s->j >= 0 ? x[s->j * d + a] : s->anchor[a]);
        sum += u[a] * u[a];
    }
    return sqrt(sum);
}

void tg_force(const tg_cartesian *c, const double *theta, const double *x, double *F)
{
    int d = c->dim;
    memset(F, 0, sizeof *F * (size_t)(c->points * d));
    for (int b = 0; b < c->bodies; b++)
        for (int a = 0; a < d; a++)
            F[c->first[b] * d + a] = theta[b] * c->gravity[a];
    for (int i = 0; i < c->springs; i++)
    {
        const tg_cartesian_spring *s = &c->spring[i];
        double u[3], l = spring_vector(c, s, x, u), tension = s->stiffness * (l - s->rest) / l;
        for (int a = 0; a < d; a++)
        {
            F[s->i * d + a] -= tension * u[a];
            if (s->j >= 0)
                F[s->j * d + a] += tension * u[a];
        }
    }
}

/* y += H z, H the (symmetric) derivative of the springs' forces with respect to x */
static void spring_product(const tg_cartesian *c, const double *x, const double *z, double *y)
{
    int d = c->dim;
    for (int i = 0; i < c->springs; i++)
    {
        const tg_cartesian_spring *s = &c->spring[i];
        double u[3], dz[3], l = spring_vector(c, s, x, u), along = 0;
        for (int a = 0; a < d; a++)
        {
            dz[a] = z[s->i * d + a] - (s->j >= 0 ? z[s->j * d + a] : 0);
            along += u[a] * dz[a] / l;
        }
        for (int a = 0; a < d; a++)
        {
            double t = u[a] / l * along, force = s->stiffness * (t + (1 - s->rest / l) * (dz[a] - t));
            y[s->i * d + a] -= force;
            if (s->j >= 0)
                y[s->j * d + a] += force;
        }
    }
}

void tg_force_vjp(const tg_cartesian *c, const double *x, const double *F_bar, double *x_bar, double *theta_bar)
{
    spring_product(c, x, F_bar, x_bar);
    for (int b = 0; b < c->bodies; b++)
        theta_bar[b] += tg_dot(c->dim, c->gravity, F_bar + c->first[b] * c->dim);
}

void tg_force_jvp(const tg_cartesian *c, const double *x, const double *dx, const double *dtheta, double *dF)
{
    memset(dF, 0, sizeof *dF * (size_t)(c->points * c->dim));
    spring_product(c, x, dx, dF);
    for (int b = 0; b < c->bodies; b++)
        for (int a = 0; a < c->dim; a++)
            dF[c->first[b] * c->dim + a] += dtheta[b] * c->gravity[a];
}

double tg_potential(const tg_cartesian *c, const double *theta, const double *x)
{
    double sum = 0, u[3];
    for (int b = 0; b < c->bodies; b++)
        sum -= theta[b] * tg_dot(c->dim, c->gravity, x + c->first[b] * c->dim);
    for (int i = 0; i < c->springs; i++)
    {
        double l = spring_vector(c, &c->spring[i], x, u) - c->spring[i].rest;
        sum += 0.5 * c->spring[i].stiffness * l * l;
    }
    return sum;
}

/* ---- acceleration ---- */

static void negate(int n, double *v)
{
    for (int i = 0; i < n; i++)
        v[i] = -v[i];
}

tg_status tg_acceleration(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                          const double *F, double *a)
{
    TG_TRY(tg_saddle_factor(lane, theta, x));
    tg_phi_xx(lane->c, v, v, lane->l2);
    negate(lane->E, lane->l2);
    tg_saddle_solve(lane, F, lane->l2, a, lane->l);
    return TG_OK;
}

tg_status tg_acceleration_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *v,
                              const double *F, const double *a_bar, double *x_bar, double *v_bar, double *F_bar,
                              double *theta_bar)
{
    double *a = lane->n1, *L = lane->l3;
    TG_TRY(tg_acceleration(lane, theta, x, v, F, a));
    tg_saddle_solve(lane, a_bar, NULL, F_bar, L);
    tg_saddle_gradient(lane, a, lane->l, F_bar, L, x_bar, theta_bar);
    tg_phi_xx_t(lane->c, v, -2, L, v_bar); /* b = -Q(v, v) */
    return TG_OK;
}

/* ---- Hamiltonian ---- */

/* v, (y, b) and (a, l) of field.h in n1 .. n3, l3, l4; F may be lane->force, which is overwritten */
static tg_status hamiltonian_parts(tg_cartesian_lane *lane, const double *theta, const double *x, const double *p,
                                   const double *F)
{
    const tg_cartesian *c = lane->c;
    double *v = lane->n1, *y = lane->n2, *a = lane->n3;
    TG_TRY(tg_saddle_factor(lane, theta, x));
    tg_mass_inverse(c, theta, p, v);
    tg_saddle_solve(lane, p, NULL, y, lane->l3);
    memmove(lane->force, F, sizeof *F * (size_t)lane->n);
    tg_phi_xx_t(c, v, 1, lane->l3, lane->force);
    tg_phi_xx(c, v, y, lane->l2);
    negate(lane->E, lane->l2);
    tg_saddle_solve(lane, lane->force, lane->l2, a, lane->l4);
    return TG_OK;
}

tg_status tg_hamiltonian(tg_cartesian_lane *lane, const double *theta, const double *x, const double *p,
                         const double *F, double *xdot, double *pdot)
{
    TG_TRY(hamiltonian_parts(lane, theta, x, p, F));
    memcpy(xdot, lane->n2, sizeof *xdot * (size_t)lane->n);
    tg_mass(lane->c, theta, lane->n3, pdot);
    return TG_OK;
}

tg_status tg_hamiltonian_vjp(tg_cartesian_lane *lane, const double *theta, const double *x, const double *p,
                             const double *F, const double *xdot_bar, const double *pdot_bar, double *x_bar,
                             double *p_bar, double *F_bar, double *theta_bar)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n;
    double *v = lane->n1, *y = lane->n2, *a = lane->n3, *A = lane->n4, *yb = lane->n5, *Y = lane->n6, *vb = lane->n7;
    double *L = lane->l, *bb = lane->l2;
    TG_TRY(hamiltonian_parts(lane, theta, x, p, F));
    memset(vb, 0, sizeof *vb * (size_t)n);
    /* pdot = M a */
    tg_mass_gradient(c, theta, 1, pdot_bar, a, theta_bar);
    tg_mass(c, theta, pdot_bar, A);
    tg_saddle_solve(lane, A, NULL, A, L);
    tg_saddle_gradient(lane, a, lane->l4, A, L, x_bar, theta_bar);
    /* f = F + Q(v, .)^T b,  rows -Q(v, y) */
    memcpy(F_bar, A, sizeof *A * (size_t)n);
    tg_phi_xx_t(c, A, 1, lane->l3, vb);
    tg_phi_xx_t(c, y, -1, L, vb);
    memcpy(yb, xdot_bar, sizeof *yb * (size_t)n);
    tg_phi_xx_t(c, v, -1, L, yb);
    tg_phi_xx(c, v, A, bb);
    /* (y, b) = solve(p, 0); v = M^-1 p */
    tg_saddle_solve(lane, yb, bb, Y, L);
    tg_saddle_gradient(lane, y, lane->l3, Y, L, x_bar, theta_bar);
    tg_mass_inverse(c, theta, vb, vb);
    tg_mass_gradient(c, theta, -1, vb, v, theta_bar);
    for (int i = 0; i < n; i++)
        p_bar[i] += Y[i] + vb[i];
    return TG_OK;
}

static tg_status hamiltonian_jvp(tg_cartesian_lane *lane, const double *theta, const double *z, const double *dz,
                                 const double *dtheta, double *dzdot)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n, E = lane->E;
    const double *x = z, *dx = dz;
    double *v = lane->n1, *y = lane->n2, *a = lane->n3, *dv = lane->n4, *dy = dzdot, *f = lane->n5, *da = lane->n6;
    double *db = lane->l, *b = lane->l2;
    tg_force(c, theta, x, lane->force);
    TG_TRY(hamiltonian_parts(lane, theta, x, z + n, lane->force));
    memcpy(dv, dz + n, sizeof *dv * (size_t)n);
    tg_mass_change(c, theta, dtheta, -1, v, dv);
    tg_mass_inverse(c, theta, dv, dv);
    memcpy(f, dz + n, sizeof *f * (size_t)n);
    memset(b, 0, sizeof *b * (size_t)E);
    tg_saddle_change(lane, dx, dtheta, y, lane->l3, f, b);
    tg_saddle_solve(lane, f, b, dy, db);
    tg_force_jvp(c, x, dx, dtheta, f);
    tg_phi_xx_t(c, dv, 1, lane->l3, f);
    tg_phi_xx_t(c, v, 1, db, f);
    tg_phi_xx(c, dv, y, b);
    tg_phi_xx(c, v, dy, lane->rhs);
    for (int i = 0; i < E; i++)
        b[i] = -b[i] - lane->rhs[i];
    tg_saddle_change(lane, dx, dtheta, a, lane->l4, f, b);
    tg_saddle_solve(lane, f, b, da, db);
    tg_mass(c, theta, da, dzdot + n);
    tg_mass_change(c, theta, dtheta, 1, a, dzdot + n);
    return TG_OK;
}

/* ---- both ---- */

tg_status tg_field(tg_cartesian_lane *lane, const double *theta, const double *z, double *zdot)
{
    int n = lane->n;
    tg_force(lane->c, theta, z, lane->force);
    if (lane->options->hamiltonian)
        return tg_hamiltonian(lane, theta, z, z + n, lane->force, zdot, zdot + n);
    memcpy(zdot, z + n, sizeof *zdot * (size_t)n);
    return tg_acceleration(lane, theta, z, z + n, lane->force, zdot + n);
}

tg_status tg_field_vjp(tg_cartesian_lane *lane, const double *theta, const double *z, const double *zdot_bar,
                       double *z_bar, double *theta_bar)
{
    int n = lane->n;
    tg_force(lane->c, theta, z, lane->force);
    if (lane->options->hamiltonian)
    {
        double *F_bar = lane->n8;
        TG_TRY(tg_hamiltonian_vjp(lane, theta, z, z + n, lane->force, zdot_bar, zdot_bar + n, z_bar, z_bar + n, F_bar,
                                  theta_bar));
        tg_force_vjp(lane->c, z, F_bar, z_bar, theta_bar);
        return TG_OK;
    }
    TG_TRY(
        tg_acceleration_vjp(lane, theta, z, z + n, lane->force, zdot_bar + n, z_bar, z_bar + n, lane->n2, theta_bar));
    tg_force_vjp(lane->c, z, lane->n2, z_bar, theta_bar);
    for (int i = 0; i < n; i++)
        z_bar[n + i] += zdot_bar[i];
    return TG_OK;
}

tg_status tg_field_jvp(tg_cartesian_lane *lane, const double *theta, const double *z, const double *dz,
                       const double *dtheta, double *dzdot)
{
    const tg_cartesian *c = lane->c;
    int n = lane->n;
    double *a = lane->n1, *f = lane->n2, *b = lane->l2;
    if (lane->options->hamiltonian)
        return hamiltonian_jvp(lane, theta, z, dz, dtheta, dzdot);
    tg_force(c, theta, z, lane->force);
    TG_TRY(tg_acceleration(lane, theta, z, z + n, lane->force, a));
    tg_force_jvp(c, z, dz, dtheta, f);
    tg_phi_xx(c, z + n, dz + n, b);
    for (int i = 0; i < lane->E; i++)
        b[i] *= -2;
    tg_saddle_change(lane, dz, dtheta, a, lane->l, f, b);
    tg_saddle_solve(lane, f, b, dzdot + n, lane->l3);
    memcpy(dzdot, dz + n, sizeof *dz * (size_t)n);
    return TG_OK;
}
