/* Load a robot, look at its dynamics, and check one derivative against differences.
 *
 * The same in Python: 01_dynamics.py. Build it against an installed library with
 *     cc 01_dynamics.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>

#include "example.h"

static double largest(const double *x, int n)
{
    double value = 0;
    for (int i = 0; i < n; ++i)
        value = fmax(value, fabs(x[i]));
    return value;
}

/* Column i of d tau / d q by central differences on the manifold. */
static void difference_column(const tg_model *m, tg_work *w, const double *q, const double *v, int i, double *column)
{
    tg_sizes n = tg_model_sizes(m);
    const double h = 1e-5;
    double *step = array(n.nv), *moved = array(n.nq), *minus = array(n.nv);
    step[i] = h;
    check(tg_integrate(m, q, step, moved, NULL), "integrate");
    check(tg_rnea(m, w, moved, v, NULL, column), tg_work_message(w));
    step[i] = -h;
    check(tg_integrate(m, q, step, moved, NULL), "integrate");
    check(tg_rnea(m, w, moved, v, NULL, minus), tg_work_message(w));
    for (int k = 0; k < n.nv; ++k)
        column[k] = (column[k] - minus[k]) / (2 * h);
    free(step);
    free(moved);
    free(minus);
}

/* Largest deviation of dq (nv x nv) from differences, relative to the larger of 1 and the largest difference. */
static double derivative_error(const tg_model *m, tg_work *w, const double *q, const double *v, const double *dq)
{
    int nv = tg_model_sizes(m).nv;
    double *column = array(nv);
    double deviation = 0, size = 1;
    for (int i = 0; i < nv; ++i)
    {
        difference_column(m, w, q, v, i, column);
        size = fmax(size, largest(column, nv));
        for (int k = 0; k < nv; ++k)
            deviation = fmax(deviation, fabs(dq[k * nv + i] - column[k]));
    }
    free(column);
    return deviation / size;
}

/* What can be set can be differentiated: the force by the mass of every body. */
static void print_most_influential_mass(const tg_model *m, tg_work *w, const double *q, const double *v)
{
    tg_sizes n = tg_model_sizes(m);
    tg_error error;
    int count = 0, best = 0;
    int *index = calloc((size_t)n.nbody, sizeof *index);
    double *by_mass = array(n.nv * n.nbody), most = 0;
    char name[256];
    if (index == NULL)
        exit(1);
    check(tg_param_match(m, "body.*.mass", index, n.nbody, &count, &error), error.message);
    check(tg_rnea_param_derivatives(m, w, q, v, NULL, index, count, by_mass), tg_work_message(w));
    for (int i = 0; i < n.nv * count; ++i)
        if (fabs(by_mass[i]) > most)
        {
            most = fabs(by_mass[i]);
            best = i % count;
        }
    check(tg_param_name(m, index[best], false, name, sizeof name, NULL), "name of a parameter");
    printf("the most influential mass is %s\n", name);
    free(index);
    free(by_mass);
}

static void print_dynamics(const tg_model *m, tg_work *w)
{
    tg_sizes n = tg_model_sizes(m);
    double *q = array(n.nq), *v = array(n.nv), *tau = array(n.nv), *passive = array(n.nv);
    double *M = array(n.nv * n.nv), *dq = array(n.nv * n.nv), *back = array(n.nv);
    double kinetic = 0, potential = 0, vMv = 0;

    /* a random state, and what it takes to hold it there without acceleration */
    check(tg_random_state(m, 1, q, v, NULL), "random state");
    check(tg_rnea(m, w, q, v, NULL, tau), tg_work_message(w));
    printf("largest generalised force to keep the velocity: %.6f\n", largest(tau, n.nv));

    /* the mass matrix M: kinetic energy is v M v / 2; forward dynamics undoes inverse dynamics (and adds springs,
     * dampers) */
    check(tg_mass_matrix(m, w, q, M), tg_work_message(w));
    check(tg_energy(m, w, q, v, &kinetic, &potential), tg_work_message(w));
    for (int i = 0; i < n.nv; ++i)
        for (int k = 0; k < n.nv; ++k)
            vMv += v[i] * M[i * n.nv + k] * v[k];
    printf("v M v / 2 = %.6f J, kinetic energy = %.6f J\n", vMv / 2, kinetic);
    check(tg_passive(m, w, q, v, passive), tg_work_message(w));
    for (int i = 0; i < n.nv; ++i)
        tau[i] -= passive[i];
    check(tg_forward_dynamics(m, w, q, v, tau, back), tg_work_message(w));
    printf("acceleration after forward dynamics: %s\n", largest(back, n.nv) < 1e-6 ? "True" : "False");

    /* d tau / d q in the tangent space (nv columns), against central differences on the manifold */
    check(tg_rnea_derivatives(m, w, q, v, NULL, dq, NULL, NULL), tg_work_message(w));
    printf("derivative of rnea by q agrees with differences: %s\n",
           derivative_error(m, w, q, v, dq) < 1e-6 ? "True" : "False");
    print_most_influential_mass(m, w, q, v);

    double *all[] = {q, v, tau, passive, M, dq, back};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
        free(all[i]);
}

int main(int argc, char **argv)
{
    tg_model *m = load(argc > 1 ? argv[1] : "models/quadruped.xml");
    tg_work *w = workspace(m);
    tg_sizes n = tg_model_sizes(m);
    printf("%s: nq %d, nv %d, nu %d, %d bodies, %.6f kg, %d parameters\n", tg_model_name(m), n.nq, n.nv, n.nu, n.nbody,
           tg_model_mass(m), n.nparams);
    print_dynamics(m, w);
    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
