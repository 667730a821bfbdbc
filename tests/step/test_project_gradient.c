/* Derivatives of steps that close their loops: off by no more than the size of the correction, and labelled so. */
#include "flight.h"
#include "support/dynamics_case.h"

static const char *const loops =
    "<mujoco><option timestep='0.001'/><default><joint damping='0.05'/></default><worldbody>"
    "<body name='crank' pos='0 0 1'><joint name='a' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0.2 0 0' "
    "size='0.02'/><body name='coupler' pos='0.2 0 0'><joint axis='0 1 0'/><geom type='capsule' "
    "fromto='0 0 0 0.3 0 0.3' size='0.02'/></body></body>"
    "<body name='rocker' pos='0.6 0 1'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 -0.1 0 0.3' "
    "size='0.02'/></body></worldbody><contact><exclude body1='coupler' body2='rocker'/></contact>"
    "<equality><connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/></equality></mujoco>";

static double worst_of(int n, const double *a, const double *b, double *largest)
{
    double worst = 0, size = 0;
    for (int i = 0; i < n; i++)
        size = fmax(size, fabs(b[i]));
    for (int i = 0; i < n; i++)
        if (!isnan(b[i]))
            worst = fmax(worst, fabs(a[i] - b[i]) / fmax(1, size));
    *largest = fmax(*largest, size);
    return worst;
}

/* how far the loops moved q+ (rad) */
static double correction(const sim *s, const double *q_next, const double *v_next)
{
    double *d = numbers(s->n.nv), *q = numbers(s->n.nq), size = 0;
    for (int i = 0; i < s->n.nv; i++)
        d[i] = 0.001 * v_next[i];
    assert_int_equal(tg_integrate(s->m, s->q, d, q, NULL), TG_OK);
    assert_int_equal(tg_difference(s->m, q, q_next, d, NULL), TG_OK);
    for (int i = 0; i < s->n.nv; i++)
        size = fmax(size, fabs(d[i]));
    free(d);
    free(q);
    return size;
}

static void test_reverse(void **state)
{
    (void)state;
    sim *s = sim_open(loops);
    tg_differences *d = NULL;
    tg_error error;
    int nv = s->n.nv, np = s->n.nparams;
    unsigned seed = 3;
    double *gq = numbers(nv), *g = numbers(2 * nv + np), *f = numbers(2 * nv + np), *J = numbers(2 * nv * nv),
           worst = 0, share = 0, largest[3] = {0, 0, 0};
    s->options.project = true;
    assert_int_equal(tg_differences_create(s->m, 0, &d, &error), TG_OK);
    for (int step = 0; step < 300; step++)
    {
        s->tau[0] = 0.2 * test_uniform(&seed);
        if (step % 20 == 0)
        {
            for (int i = 0; i < nv; i++)
                gq[i] = test_uniform(&seed);
            tg_state at = {s->q, s->v, s->act, NULL};
            tg_control control = {.tau = s->tau};
            tg_cotangent out = {.q = gq}, in = {.q = g, .v = g + nv, .params = g + 2 * nv},
                         fd = {.q = f, .v = f + nv, .params = f + 2 * nv};
            double *q = numbers(s->n.nq), *v = numbers(nv);
            tg_state next = {q, v, NULL, NULL};
            tg_label label;
            assert_int_equal(tg_step(s->m, s->w, &s->options, &at, &control, &next, NULL), TG_OK);
            assert_int_equal(tg_step_vjp(s->m, s->w, &out, &in, &label), TG_OK);
            assert_int_equal(label.kind, TG_LABEL_REGULARISED);
            tg_jacobian j = {.dq_dq = J, .dq_dv = J + nv * nv};
            assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
            for (int block = 0; block < 2; block++)
                for (int k = 0; k < nv; k++)
                {
                    double sum = 0;
                    for (int i = 0; i < nv; i++)
                        sum += gq[i] * J[block * nv * nv + i * nv + k];
                    check_near("matrix against reverse mode", sum, g[block * nv + k], 1e-10);
                }
            tg_differences_request request = {.options = &s->options, .state = &at, .control = &control};
            if (tg_step_differences(s->m, d, &request, &out, &fd, NULL) != TG_OK)
                fail_msg("%s", tg_differences_message(d));
            double off = worst_of(nv, g, f, &largest[0]);
            off = fmax(off, worst_of(nv, g + nv, f + nv, &largest[1]));
            off = fmax(off, worst_of(np, g + 2 * nv, f + 2 * nv, &largest[2]));
            worst = fmax(worst, off);
            double moved = correction(s, q, v);
            share = fmax(share, off / moved);
            check_below("error", off, 1e-6 + 20 * moved);
            free(q);
            free(v);
        }
        sim_step(s);
    }
    printf("worst %.1e, %.1f times the correction\n", worst, share);
    for (int i = 0; i < 3; i++)
        assert_true(largest[i] > 1e-4);
    double *owned[] = {gq, g, f, J};
    for (size_t i = 0; i < sizeof owned / sizeof owned[0]; i++)
        free(owned[i]);
    tg_differences_destroy(d);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_reverse)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
