/* Columns of parameters: those of the Jacobian, forward mode and reverse mode are the same map, on every kind of
 * parameter of models that stand, hang, slide and close loops; and differences agree where they can be taken. */
#include "support/models.h"

#include "flight.h"

static const double tolerance = 1e-10; /* of the largest of a kind, or of all terms */

/* All derivatives of v+ and q+ by all parameters, along one random cotangent. */
typedef struct columns
{
    int n;                  /* parameters */
    double *out, *along;    /* 2 nv, n: random */
    double *by_reverse;     /* n */
    double *by_matrix;      /* n: out times the Jacobian */
    double *quick, *slowly; /* 2 nv x n: with the matrices of tau, and without */
    double *forward;        /* 2 nv */
    tg_label label;
} columns;

static columns columns_of(sim *s)
{
    int nv = s->n.nv, n = s->n.nparams;
    columns c = {
        .n = n, .out = numbers(2 * nv), .along = numbers(n), .by_reverse = numbers(n), .by_matrix = numbers(n)};
    c.quick = numbers(2 * nv * n);
    c.slowly = numbers(2 * nv * n);
    c.forward = numbers(2 * nv);
    for (int i = 0; i < 2 * nv; i++)
        c.out[i] = noise();
    for (int i = 0; i < n; i++)
        c.along[i] = noise();
    return c;
}

static void free_columns(columns *c)
{
    double *owned[] = {c->out, c->along, c->by_reverse, c->by_matrix, c->quick, c->slowly, c->forward};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
}

static void succeed(const sim *s, tg_status status)
{
    if (status != TG_OK)
        fail_msg("%s", tg_work_message(s->w));
}

/* Jacobians of all parameters at once, with the matrix of tau (tg_forward_parameter) and without (tg_step_forward) */
static void take_matrices(sim *s, columns *c)
{
    int nv = s->n.nv;
    int *index = calloc((size_t)c->n, sizeof *index);
    double *tau = numbers(nv * nv);
    assert_non_null(index);
    for (int i = 0; i < c->n; i++)
        index[i] = i;
    tg_jacobian quick = {.dq_dparams = c->quick,
                         .dv_dparams = c->quick + (ptrdiff_t)nv * c->n,
                         .dv_dtau = tau,
                         .index = index,
                         .nindex = c->n};
    tg_jacobian slow = {
        .dq_dparams = c->slowly, .dv_dparams = c->slowly + (ptrdiff_t)nv * c->n, .index = index, .nindex = c->n};
    succeed(s, tg_step_jacobian(s->m, s->w, &quick));
    succeed(s, tg_step_jacobian(s->m, s->w, &slow));
    free(tau);
    free(index);
}

static void take_columns(sim *s, columns *c)
{
    int nv = s->n.nv;
    tg_cotangent out = {.q = c->out, .v = c->out + nv}, in = {.params = c->by_reverse};
    tg_cotangent change = {.params = c->along}, next = {.q = c->forward, .v = c->forward + nv};
    succeed(s, tg_step_vjp(s->m, s->w, &out, &in, &c->label));
    take_matrices(s, c);
    succeed(s, tg_step_jvp(s->m, s->w, &change, &next, NULL));
    for (int k = 0; k < 2 * nv; k++)
        for (int i = 0; i < c->n; i++)
            c->by_matrix[i] += c->out[k] * c->quick[(ptrdiff_t)k * c->n + i];
}

/* the parameters of a slice; its largest column */
static double largest_of(const sim *s, const columns *c, const tg_param_slice *slice)
{
    double largest = 1;
    for (int i = slice->offset; i < slice->offset + slice->size; i++)
    {
        double size = 0;
        for (int k = 0; k < 2 * s->n.nv; k++)
            size += fabs(c->out[k] * c->quick[(ptrdiff_t)k * c->n + i]);
        largest = fmax(largest, size);
    }
    return largest;
}

/* Every column, and the change along all of them. Returns how many are not zero. */
static int compare_columns(const char *model, const sim *s, const columns *c)
{
    int nv = s->n.nv, some = 0;
    double size = 1, reverse = 0, forward = 0;
    for (int slice = 0; slice < tg_param_slice_count(s->m); slice++)
    {
        tg_param_slice at;
        assert_int_equal(tg_param_slice_get(s->m, slice, &at, NULL), TG_OK);
        double largest = largest_of(s, c, &at);
        for (int i = at.offset; i < at.offset + at.size; i++)
        {
            double apart = fabs(c->by_matrix[i] - c->by_reverse[i]);
            for (int k = 0; k < 2 * nv; k++)
                apart = fmax(apart, fabs(c->quick[(ptrdiff_t)k * c->n + i] - c->slowly[(ptrdiff_t)k * c->n + i]));
            if (!(apart <= tolerance * largest))
                fail_msg("%s: %s[%d]: matrix %.15g, reverse mode %.15g, apart by %g of %g (label %s)", model, at.field,
                         i - at.offset, c->by_matrix[i], c->by_reverse[i], apart, largest,
                         tg_label_string(c->label.kind));
            some += c->by_matrix[i] != 0;
            reverse += c->by_reverse[i] * c->along[i];
            size += fabs(c->by_reverse[i] * c->along[i]);
        }
    }
    for (int k = 0; k < 2 * nv; k++)
        forward += c->out[k] * c->forward[k];
    check_below("forward and reverse mode apart", fabs(forward - reverse) / size, tolerance);
    return some;
}

/* Some steps with random controls and velocities; what is compared in every one. */
static int follow(const char *model, sim *s, int steps)
{
    int some = 0;
    for (int t = 0; t < steps; t++)
    {
        for (int i = 0; i < s->n.nu; i++)
            s->u[i] += 0.1 * noise();
        for (int i = 0; i < s->n.nv; i++)
            s->v[i] += 0.1 * noise();
        sim_step(s);
        columns c = columns_of(s);
        take_columns(s, &c);
        some += compare_columns(model, s, &c);
        free_columns(&c);
    }
    return some;
}

static void test_models(void **state)
{
    (void)state;
    const char *const file[] = {"models/quadruped.xml", "models/planar_walker.xml", "models/cube.xml",
                                "models/cable_toy.xml", "models/arm.xml"};
    for (size_t k = 0; k < sizeof file / sizeof *file; k++)
    {
        sim *s = open_file(file[k]);
        assert_true(follow(file[k], s, 6 / TEST_EFFORT + 1) > 10);
        sim_close(s);
    }
    for (int which = 0; which < TG_TEST_MODEL_COUNT; which++)
    {
        sim *s = sim_open_model(tg_test_model(which));
        assert_true(follow(tg_test_model_name(which), s, 2) > 4);
        sim_close(s);
    }
}

/* ---- loops ---- */

/* A four-bar whose crank is out of the plane by tilt and whose rocker is beside it: rows that are redundant only
 * nearly, and cannot close. Their base slides or stands on a foot. */
static sim *open_loop(double tilt, double aside)
{
    return sim_open(
        text("<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
             "<geom name='floor' type='plane' size='5 5 0.1' contype='1' conaffinity='1'/>"
             "<body name='base' pos='0 0 0.099'><freejoint/>"
             "<geom name='foot' type='sphere' size='0.1' contype='1' conaffinity='1' mass='2'/>"
             "<body name='crank' pos='0 0 0.2'><joint name='crank' axis='0 1 %g' damping='0.01'/>"
             "<geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.02'/>"
             "<body name='coupler' pos='0.2 0 0'><joint name='coupler' axis='0 1 0'/>"
             "<geom type='capsule' fromto='0 0 0 0.3 0 0.3' size='0.02'/></body></body>"
             "<body name='rocker' pos='0.6 %g 0.2'><joint name='rocker' axis='0 1 0' stiffness='1' range='-1 1' "
             "limited='true'/><geom type='capsule' fromto='0 0 0 -0.1 0 0.3' size='0.02'/></body></body></worldbody>"
             "<equality><connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/>"
             "<joint joint1='crank' joint2='rocker' polycoef='0.01 0.8 0.1 0 0'/></equality>"
             "<actuator><motor joint='crank'/></actuator></mujoco>",
             tilt, aside));
}

/* All parameters by differences, where these are fine enough. A row of which next to nothing is left counts with 1 / dt
 * times its gap: an anchor that moves out of the plane moved v+ by 1e-3 too little, or too much. */
static void compare_differences(sim *s, const columns *c, const tg_state *start)
{
    tg_differences *d = NULL;
    tg_error error;
    int nv = s->n.nv, taken = 0;
    double *F = numbers(c->n), *spread = numbers(c->n);
    tg_cotangent out = {.q = c->out, .v = c->out + nv}, in = {.params = F}, apart = {.params = spread};
    tg_control control = {.u = s->u, .tau = s->tau, .wrench = s->wrench};
    tg_differences_request request = {.options = &s->options, .state = start, .control = &control, .spread = &apart};
    assert_int_equal(tg_differences_create(s->m, 0, &d, &error), TG_OK);
    assert_int_equal(tg_step_differences(s->m, d, &request, &out, &in, NULL), TG_OK);
    for (int i = 0; i < c->n; i++)
    {
        if (!isfinite(F[i]) || spread[i] > 1e-7 * fmax(1, fabs(F[i])))
            continue;
        char name[256];
        tg_param_name(s->m, i, false, name, sizeof name, NULL);
        check_near(name, c->by_matrix[i], F[i], 1e-6 * fmax(1, fabs(F[i])));
        taken += F[i] != 0;
    }
    assert_true(taken > 30);
    tg_differences_destroy(d);
    free(F);
    free(spread);
}

static void test_loops(void **state)
{
    (void)state;
    const double tilt[] = {0, 1e-6, 5e-6}, aside[] = {0, 1e-3};
    for (int k = 0; k < 6; k++)
    {
        sim *s = open_loop(tilt[k % 3], aside[k / 3]);
        s->v[0] = 0.5 * (k % 2); /* slides, or stands */
        s->u[0] = 0.3;
        sim_run(s, 4);
        s->q[sim_q(s, "rocker")] += 1e-4;
        double q[16], v[16];
        memcpy(q, s->q, sizeof(double) * (size_t)s->n.nq);
        memcpy(v, s->v, sizeof(double) * (size_t)s->n.nv);
        tg_cache_entry entry[SIM_CONTACTS];
        memcpy(entry, s->cache.entry, sizeof entry);
        tg_cache cache = {.capacity = SIM_CONTACTS, .count = s->cache.count, .entry = entry};
        tg_state start = {q, v, NULL, &cache};
        sim_step(s);
        columns c = columns_of(s);
        take_columns(s, &c);
        assert_true(compare_columns("loop", s, &c) > 30);
        if (c.label.kind == TG_LABEL_EXACT)
            compare_differences(s, &c, &start);
        free_columns(&c);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_models), cmocka_unit_test(test_loops)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
