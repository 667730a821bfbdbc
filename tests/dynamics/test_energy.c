/* Centre of mass, momentum and energy: against the sum over the bodies, each other, and along trajectories. */
#include "dynamics_test.h"
#include "support/reference.h"
#include "tangere/algebra.h"

/* ---- centre of mass and momentum ---- */

static double totals(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    reference *r = reference_create(c->m, tg_params_view(c->params));
    reference_total right = reference_sum(r, c->q, c->v);
    double com[3], momentum[6], Jv[3], *J = numbers(3 * nv);
    memset(J, 0xff, sizeof(double) * 3 * nv);
    check_ok(c, tg_com(c->m, c->w, c->q, com, J));
    check_ok(c, tg_momentum(c->m, c->w, c->q, c->v, momentum));
    multiply_matrix(J, c->v, 3, c->size.nv, Jv);
    double error = distance(com, right.com, 3) / fmax(1, largest(right.com, 3));
    double scale = fmax(1, largest(right.momentum, 6));
    error = worse(error, distance(momentum, right.momentum, 6) / scale);
    for (int i = 0; i < 3; i++)
        error = worse(error, fabs(right.mass * Jv[i] - momentum[i]) / scale);
    reference_destroy(r);
    free(J);
    return error;
}

static void test_totals(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, totals);
}

static void com_moved(void *context, int input, double h, double *out)
{
    dynamics_case *c = context;
    double *dv = c->moved + c->size.nq;
    memset(dv, 0, sizeof(double) * (size_t)c->size.nv);
    dv[input] = h;
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    check_ok(c, tg_com(c->m, c->w, c->moved, out, NULL));
}

static double com_jacobian(dynamics_case *c)
{
    double *J = numbers(3 * (size_t)c->size.nv);
    check_ok(c, tg_com(c->m, c->w, c->q, NULL, J));
    fd_problem p = {c->size.nv, 3, com_moved, c};
    double error = fd_compare(&p, J).error;
    free(J);
    return error;
}

static void test_com_jacobian(void **state)
{
    (void)state;
    check_models(5, false, 1e-9, com_jacobian);
}

/* ---- energy ---- */

static double kinetic_is_half_v_M_v(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *M = numbers(nv * nv), *p = numbers(nv), kinetic;
    check_ok(c, tg_mass_matrix(c->m, c->w, c->q, M));
    check_ok(c, tg_energy(c->m, c->w, c->q, c->v, &kinetic, NULL));
    multiply_matrix(M, c->v, c->size.nv, c->size.nv, p);
    double error = fabs(kinetic - 0.5 * dot_n(p, c->v, c->size.nv)) / kinetic;
    free(M);
    free(p);
    return error;
}

static void test_kinetic_energy(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, kinetic_is_half_v_M_v);
}

static void potential_moved(void *context, int input, double h, double *out)
{
    dynamics_case *c = context;
    double *dv = c->moved + c->size.nq, *zero = dv + c->size.nv;
    memset(dv, 0, sizeof(double) * 2 * (size_t)c->size.nv);
    dv[input] = h;
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    check_ok(c, tg_energy(c->m, c->w, c->moved, zero, NULL, out));
}

/* dU/dq = bias - passive at rest: what gravity and springs ask for */
static double potential_gradient(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    double *zero = numbers(nv), *h = numbers(nv), *springs = numbers(nv);
    check_ok(c, tg_rnea(c->m, c->w, c->q, zero, NULL, h));
    check_ok(c, tg_passive(c->m, c->w, c->q, zero, springs));
    for (size_t k = 0; k < nv; k++)
        h[k] -= springs[k];
    fd_problem p = {c->size.nv, 1, potential_moved, c};
    double error = fd_compare(&p, h).error;
    free(zero);
    free(h);
    free(springs);
    return error;
}

static void test_potential_gradient(void **state)
{
    (void)state;
    check_models(10, false, 1e-8, potential_gradient);
}

/* the energy a little later on the trajectory that starts with acceleration a; v: scratch */
typedef struct flow
{
    dynamics_case *c;
    double *a, *v;
} flow;

static void energy_along(void *context, int input, double t, double *out)
{
    (void)input;
    flow *f = context;
    dynamics_case *c = f->c;
    double *dv = c->moved + c->size.nq, kinetic, potential;
    for (int k = 0; k < c->size.nv; k++)
    {
        dv[k] = t * (c->v[k] + t / 2 * f->a[k]);
        f->v[k] = c->v[k] + t * f->a[k];
    }
    assert_int_equal(tg_integrate(c->m, c->q, dv, c->moved, NULL), TG_OK);
    check_ok(c, tg_energy(c->m, c->w, c->moved, f->v, &kinetic, &potential));
    out[0] = kinetic + potential;
}

/* d/dt (kinetic + potential) = v . (tau + damping forces), damping = passive(q, v) - passive(q, 0) */
static double energy_rate(dynamics_case *c)
{
    size_t nv = (size_t)c->size.nv;
    const double *tau = c->a;
    double *zero = numbers(nv), *with = numbers(nv), *without = numbers(nv);
    flow f = {c, numbers(nv), numbers(nv)};
    check_ok(c, tg_forward_dynamics(c->m, c->w, c->q, c->v, tau, f.a));
    check_ok(c, tg_passive(c->m, c->w, c->q, c->v, with));
    check_ok(c, tg_passive(c->m, c->w, c->q, zero, without));
    double dissipated = dot_n(c->v, with, c->size.nv) - dot_n(c->v, without, c->size.nv);
    assert_true(dissipated < 0);
    double power = dot_n(c->v, tau, c->size.nv) + dissipated;
    fd_problem p = {1, 1, energy_along, &f};
    double error = fd_compare(&p, &power).error;
    free(zero);
    free(with);
    free(without);
    free(f.a);
    free(f.v);
    return error;
}

static void test_energy_rate(void **state)
{
    (void)state;
    check_models(20, false, 1e-8, energy_rate);
}

/* ---- conservation over a trajectory ---- */

/* du/dt of a displacement u from q, in the tangent space, for velocity v: J_r(u)^-1 v for rotations (Munthe-Kaas),
 * v for the rest. */
static void displacement_rate(const tg_model *m, const double *u, const double *v, double *rate)
{
    tg_sizes size = tg_model_sizes(m);
    memcpy(rate, v, sizeof(double) * (size_t)size.nv);
    for (int j = 0; j < size.njoint; j++)
    {
        tg_joint_info info;
        tg_joint_get(m, j, &info, NULL);
        if (info.type != TG_JOINT_FREE && info.type != TG_JOINT_BALL)
            continue;
        int at = info.dof + (info.type == TG_JOINT_FREE ? 3 : 0);
        double J[9];
        tg_so3_right_jacobian_inverse(u + at, J);
        multiply_matrix(J, v + at, 3, 3, rate + at);
    }
}

/* One step of the classical Runge-Kutta method on the manifold, no forces. */
static void runge_kutta(dynamics_case *c, double dt, double *scratch)
{
    static const double ahead[4] = {0, 0.5, 0.5, 1}, weight[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    int nv = c->size.nv;
    double *u = scratch, *v = u + nv, *du = v + nv, *dv = du + nv, *sum_u = dv + nv, *sum_v = sum_u + nv;
    memset(scratch, 0, sizeof(double) * 6 * (size_t)nv);
    for (int s = 0; s < 4; s++)
    {
        for (int k = 0; k < nv; k++)
        {
            u[k] = ahead[s] * dt * du[k];
            v[k] = c->v[k] + ahead[s] * dt * dv[k];
        }
        assert_int_equal(tg_integrate(c->m, c->q, u, c->moved, NULL), TG_OK);
        displacement_rate(c->m, u, v, du);
        check_ok(c, tg_forward_dynamics(c->m, c->w, c->moved, v, NULL, dv));
        for (int k = 0; k < nv; k++)
        {
            sum_u[k] += weight[s] * dt * du[k];
            sum_v[k] += weight[s] * dt * dv[k];
        }
    }
    assert_int_equal(tg_integrate(c->m, c->q, sum_u, c->q, NULL), TG_OK);
    for (int k = 0; k < nv; k++)
        c->v[k] += sum_v[k];
}

static void set_all(dynamics_case *c, const char *pattern, double value)
{
    int *index = calloc((size_t)c->size.nparams, sizeof(int)), count = 0;
    if (tg_param_match(c->m, pattern, index, c->size.nparams, &count, NULL) == TG_OK)
        for (int i = 0; i < count; i++)
            tg_params_data(c->params)[index[i]] = value;
    free(index);
}

/* Nothing acts from outside: no gravity, springs or dampers; no armature on free joints (that of the other joints
 * acts between two bodies). */
static void isolate(dynamics_case *c)
{
    static const char *const patterns[] = {"gravity", "*.stiffness", "*.damping"};
    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        set_all(c, patterns[i], 0);
    for (int j = 0; j < c->size.njoint; j++)
    {
        tg_joint_info info;
        char name[60];
        assert_int_equal(tg_joint_get(c->m, j, &info, NULL), TG_OK);
        snprintf(name, sizeof name, "joint.#%d.armature", j);
        int at = 0;
        assert_int_equal(tg_param_find(c->m, name, &at, NULL, NULL), TG_OK);
        if (info.type == TG_JOINT_FREE)
            tg_params_data(c->params)[at] = 0;
    }
    assert_int_equal(tg_params_changed(c->params, NULL), TG_OK);
}

typedef struct conserved
{
    double momentum[6], energy, com[3];
} conserved;

static conserved measure(dynamics_case *c)
{
    conserved now;
    double kinetic, potential;
    check_ok(c, tg_momentum(c->m, c->w, c->q, c->v, now.momentum));
    check_ok(c, tg_energy(c->m, c->w, c->q, c->v, &kinetic, &potential));
    check_ok(c, tg_com(c->m, c->w, c->q, now.com, NULL));
    now.energy = kinetic + potential;
    return now;
}

/* 10,000 steps of 1 ms: momentum and energy stay, the centre of mass moves uniformly. */
static void conserve(int model, double tolerance)
{
    const int steps = 10000;
    const double dt = 1e-3;
    tg_model *m = tg_test_model(model);
    dynamics_case *c = dynamics_case_create(m);
    double *scratch = numbers(6 * (size_t)c->size.nv), drift[4] = {0};
    isolate(c);
    dynamics_case_randomise(c, 42);
    conserved start = measure(c);
    reference *r = reference_create(m, tg_params_view(c->params));
    double mass = reference_sum(r, c->q, c->v).mass;
    reference_destroy(r);
    for (int s = 1; s <= steps; s++)
    {
        runge_kutta(c, dt, scratch);
        conserved now = measure(c);
        drift[0] = worse(drift[0], distance(now.momentum, start.momentum, 3) / largest(start.momentum, 3));
        drift[1] = worse(drift[1], distance(now.momentum + 3, start.momentum + 3, 3) / largest(start.momentum + 3, 3));
        drift[2] = worse(drift[2], fabs(now.energy - start.energy) / start.energy);
        for (int i = 0; i < 3; i++)
            drift[3] = worse(drift[3], fabs(now.com[i] - start.com[i] - s * dt * start.momentum[i] / mass));
    }
    print_message("  %s: linear momentum %.1e, angular %.1e, energy %.1e (relative), centre of mass %.1e m\n",
                  tg_test_model_name(model), drift[0], drift[1], drift[2], drift[3]);
    for (int i = 0; i < 4; i++)
        assert_true(drift[i] <= tolerance);
    free(scratch);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
}

static void test_conservation(void **state)
{
    (void)state;
    conserve(TG_TEST_FREE_BODIES, 1e-11);
    conserve(TG_TEST_QUADRUPED, 1e-11);
    conserve(TG_TEST_HUMANOID, 1e-11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_totals),         cmocka_unit_test(test_com_jacobian),
        cmocka_unit_test(test_kinetic_energy), cmocka_unit_test(test_potential_gradient),
        cmocka_unit_test(test_energy_rate),    cmocka_unit_test(test_conservation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
