/* Derivatives whose equations are ill-conditioned: rows that are nearly redundant, impulses at their cones, contacts
 * that rigid rows bridge. Reverse mode, forward mode and matrices agree all the same. */
#include "step_test.h"

/* ---- reverse mode, forward mode and matrices of one step ---- */

typedef struct outcome
{
    tg_label label;
    double apart;   /* the largest difference, of blocks: relative to their largest entries, or to 1 */
    double largest; /* entry */
} outcome;

static double wave(int k)
{
    return cos(3 * k + 1);
}

/* out J against reverse mode: the block's relative error */
static void compare_block(int rows, int columns, const double *out, const double *J, const double *reverse, outcome *o)
{
    double apart = 0, largest = 1;
    for (int k = 0; k < columns; k++)
    {
        double sum = 0;
        for (int i = 0; i < rows; i++)
        {
            assert_true(isfinite(J[i * columns + k]));
            sum += out[i] * J[i * columns + k];
            largest = fmax(largest, fabs(J[i * columns + k]));
        }
        apart = fmax(apart, fabs(sum - reverse[k]));
    }
    o->apart = fmax(o->apart, apart / largest);
    o->largest = fmax(o->largest, largest);
}

/* forward mode along q, v, tau and a parameter's change */
static void compare_forward(const sim *s, const double *out, const double *g, outcome *o)
{
    int nv = s->n.nv, n = 3 * nv + s->n.nparams;
    double *along = numbers(n), *change = numbers(nv), reverse = 0, forward = 0, size = 1;
    for (int i = 0; i < n; i++)
    {
        along[i] = wave(2 * i) * (i < 3 * nv ? 1 : 1e-3);
        reverse += along[i] * g[i];
        size += fabs(along[i] * g[i]);
    }
    tg_cotangent in = {.q = along, .v = along + nv, .tau = along + 2 * nv, .params = along + 3 * nv};
    assert_int_equal(tg_step_jvp(s->m, s->w, &in, &(tg_cotangent){.v = change}, NULL), TG_OK);
    for (int i = 0; i < nv; i++)
        forward += out[i] * change[i];
    o->apart = fmax(o->apart, fabs(forward - reverse) / size);
    free(along);
    free(change);
}

/* of the step that was taken; pattern: parameters */
static outcome compare_modes(const sim *s, const char *pattern)
{
    int nv = s->n.nv, np = s->n.nparams, nindex = 0, *index = calloc((size_t)np + 1, sizeof *index);
    double *out = numbers(nv), *g = numbers(3 * nv + np),
           *J[3] = {numbers(nv * nv), numbers(nv * nv), numbers(nv * nv)};
    outcome o = {0};
    assert_int_equal(tg_param_match(s->m, pattern, index, np, &nindex, NULL), TG_OK);
    double *P = numbers(nv * nindex), *of = numbers(nindex);
    for (int i = 0; i < nv; i++)
        out[i] = wave(i);
    tg_cotangent in = {.q = g, .v = g + nv, .tau = g + 2 * nv, .params = g + 3 * nv};
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = out}, &in, &o.label), TG_OK);
    compare_forward(s, out, g, &o);
    tg_jacobian j = {.dv_dq = J[0], .dv_dv = J[1], .dv_dtau = J[2], .dv_dparams = P, .index = index, .nindex = nindex};
    assert_int_equal(tg_step_jacobian(s->m, s->w, &j), TG_OK);
    for (int i = 0; i < 3; i++)
        compare_block(nv, nv, out, J[i], g + i * nv, &o);
    for (int i = 0; i < nindex; i++)
        of[i] = g[3 * nv + index[i]];
    compare_block(nv, nindex, out, P, of, &o);
    double *owned[] = {out, g, J[0], J[1], J[2], P, of};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(index);
    return o;
}

/* ---- scenes ---- */

/* A loop of light rods in a plane, but for the tilt of one axis: the row across the plane has a lever of that size. */
static sim *open_four_bar(double tilt)
{
    return sim_open(text(
        "<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
        "<body name='base'><freejoint/><geom type='box' size='0.1 0.1 0.1'/>"
        "<body name='arm'><joint name='arm' axis='0.3 0.2 1'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.03'/>"
        "<body name='crank' pos='0 0 0.1'><joint name='crank' axis='0 1 %g'/>"
        "<geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.02'/>"
        "<body name='coupler' pos='0.2 0 0'><joint name='coupler' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0.3 0 0.3' size='0.02' density='10'/></body></body>"
        "<body name='rocker' pos='0.6 0 0.1'><joint name='rocker' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 -0.1 0 0.3' size='0.02' density='10'/></body></body></body></worldbody>"
        "<equality><connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/></equality></mujoco>",
        tilt));
}

static void test_nearly_redundant_loop(void **state)
{
    (void)state;
    int labels[3] = {0};
    for (double tilt = 1e-5; tilt < 1e-2; tilt *= 1.1)
    {
        sim *s = open_four_bar(tilt);
        s->v[0] = 3;
        s->v[4] = 5;
        s->v[sim_v(s, "arm")] = 10;
        s->tau[sim_v(s, "crank")] = 10;
        sim_step(s);
        outcome o = compare_modes(s, "joint.*");
        check_below("modes of derivatives apart", o.apart, 1e-10);
        labels[o.label.kind]++;
        assert_true(tilt < 2e-4 || o.label.kind == TG_LABEL_EXACT);
        sim_close(s);
    }
    assert_true(labels[TG_LABEL_EXACT] > 0);
}

/* ---- light links ---- */

typedef enum beside
{
    NOTHING,
    BOX,    /* on a floor: an island of its own */
    TENDON, /* between the two: one group */
    BESIDE
} beside;

/* The same loop closed twice, with rods of next to no mass: of the inverse mass matrix hardly anything is left in what
 * the loop lets them do. */
static sim *open_light_loop(double tilt, double density, beside what)
{
    return sim_open(text(
        "<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0'/></default><worldbody>%s"
        "<body name='base'><freejoint/><geom type='box' size='0.1 0.1 0.1'/>"
        "<body name='arm'><joint name='arm' axis='0.3 0.2 1'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.03'/>"
        "<body name='crank' pos='0 0 0.1'><joint name='crank' axis='0 1 %g'/>"
        "<geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.02'/>"
        "<body name='coupler' pos='0.2 0 0'><joint name='coupler' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0.3 0 0.3' size='0.02' density='%g'/></body></body>"
        "<body name='rocker' pos='0.6 0 0.1'><joint name='rocker' axis='0 1 0'/>"
        "<geom type='capsule' fromto='0 0 0 -0.1 0 0.3' size='0.02' density='%g'/></body></body></body></worldbody>"
        "<equality><connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/>"
        "<connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/></equality>%s</mujoco>",
        what == NOTHING ? ""
                        : "<geom type='plane' size='1 1 1' pos='5 0 0' contype='1' conaffinity='1'/>"
                          "<body pos='5 0 0.5999'><joint name='slide' type='slide' axis='0.1 0 1'/><joint type='hinge' "
                          "axis='0 1 0'/>"
                          "<geom type='sphere' size='0.6' contype='1' conaffinity='1' friction='0.1 0 0'/></body>",
        tilt, density, density,
        what == TENDON
            ? "<tendon><fixed stiffness='10' damping='0.1'><joint joint='arm' coef='1'/><joint joint='slide' "
              "coef='1'/></fixed></tendon>"
            : ""));
}

static void test_light_loop(void **state)
{
    (void)state;
    int count = 0;
    for (double density = 1000; density > 5e-7; density *= 0.1)
        for (double tilt = 4e-5; tilt < 0.1; tilt *= 3)
        {
            sim *s = open_light_loop(tilt, density, (beside)(count++ % BESIDE));
            s->v[sim_v(s, "crank") - 7] = 3;
            s->v[sim_v(s, "crank") - 3] = 5;
            s->v[sim_v(s, "arm")] = 10;
            s->tau[sim_v(s, "crank")] = 10;
            sim_step(s);
            outcome o = compare_modes(s, "joint.*");
            check_below("modes of derivatives apart", o.apart, 1e-10);
            sim_close(s);
        }
}

/* ---- dead centre ---- */

/* Crank and rod in one line but for an angle, and a foot that its limit holds already: along the line the loop holds
 * nothing that is not held, but for the angle as a lever. Where that is so small that the rank of G does not show it,
 * what the loop bears still moves the crank. */
static tg_label label_at_dead_centre(double angle)
{
    sim *s = sim_open(
        "<mujoco><compiler angle='radian'/><option timestep='0.001' gravity='0 0 0'/>"
        "<default><geom contype='0' conaffinity='0'/></default><worldbody>"
        "<body><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0.1 0 0' size='0.01'/>"
        "<body name='rod' pos='0.1 0 0'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.01'/>"
        "</body></body><body name='foot' pos='0.3 0 -0.2'><joint name='foot' axis='0 1 0' range='-1 0'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 0.2' size='0.02'/></body></worldbody>"
        "<equality><connect body1='rod' body2='foot' anchor='0.2 0 0'/></equality></mujoco>");
    s->q[0] = angle;
    s->q[1] = -asin(0.5 * sin(angle)) - angle;
    s->tau[sim_v(s, "foot")] = 5;
    sim_step(s);
    outcome o = compare_modes(s, "joint.*");
    check_below("modes of derivatives apart", o.apart, 1e-10);
    sim_close(s);
    return o.label;
}

static void test_dead_centre(void **state)
{
    (void)state;
    assert_int_equal(label_at_dead_centre(0).kind, TG_LABEL_ONE_SIDED); /* joints that are placed elsewhere part them */
    /* below 3e-7 the lever is not resolved; above 1e-6 the loop lifts the foot off its limit, by next to nothing */
    for (double angle = 1e-8; angle < 5e-7; angle *= 3)
        assert_int_equal(label_at_dead_centre(angle).kind, TG_LABEL_REGULARISED);
    for (double angle = 1.5e-6; angle < 1e-5; angle *= 2)
        assert_int_equal(label_at_dead_centre(angle).kind, TG_LABEL_ONE_SIDED);
    for (double angle = 1e-4; angle < 0.1; angle *= 3)
        assert_int_equal(label_at_dead_centre(angle).kind, TG_LABEL_EXACT);
}

/* ---- a patch whose points carry what they can ---- */

/* A box that leans by next to nothing on a floor that gives way: friction of four points that are nearly in one plane
 * resists its turning, with levers of 1e-5; pushed so hard that some slide, or are on their cones without. */
static void take_pushed_step(sim *s)
{
    double tilt = pow(10, -4.2 + 0.8 * noise());
    sim_reset(s);
    s->q[4] = 0.5 * tilt * noise();
    s->q[5] = 0.5 * tilt * noise();
    s->q[2] -= 1e-5 + 1e-5 * noise();
    for (int i = 0; i < 6; i++)
    {
        s->v[i] = 1e-5 * noise();
        s->tau[i] = (i < 3 ? 80 : 8) * noise();
    }
    s->tau[2] = -20 * fabs(noise());
    sim_step(s);
}

static void test_patch_at_its_cones(void **state)
{
    (void)state;
    int labels[3] = {0};
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><custom><numeric name='tangere:geom.cube.compliance' data='1e-6'/></custom>"
        "<worldbody><geom name='floor' type='plane' size='1 1 1'/><body pos='0 0 0.1'><freejoint/>"
        "<geom name='cube' type='box' size='0.1 0.1 0.1' density='1000'/></body></worldbody></mujoco>");
    for (int k = 0; k < 2000 / TEST_EFFORT; k++)
    {
        take_pushed_step(s);
        outcome o = compare_modes(s, "geom.*");
        check_below("modes of derivatives apart", o.apart, 1e-10);
        check_below("entries", o.largest, 1e8);
        labels[o.label.kind]++;
    }
    assert_true(labels[TG_LABEL_EXACT] > 0 && labels[TG_LABEL_REGULARISED] > 0);
    sim_close(s);
}

/* ---- a contact that others bridge ---- */

/* A link at its limit presses on a block that gives way: the limit alone holds it, and how soft the contact is does not
 * matter to the motion. */
static void test_bridged_compliance(void **state)
{
    (void)state;
    int index = -1, count = 0;
    sim *s =
        sim_open("<mujoco><compiler angle='radian'/><option timestep='0.001'/>"
                 "<custom><numeric name='tangere:geom.tip.compliance' data='1e-6'/></custom>"
                 "<worldbody><geom name='block' type='box' size='0.1 0.1 0.1' pos='0.5 0 -0.1'/>"
                 "<body><joint name='hinge' axis='0.1 1 0.2' range='0 0.02'/><inertial pos='0.25 0 0' mass='1' "
                 "diaginertia='0.01 0.02 0.02'/>"
                 "<geom name='tip' type='sphere' size='0.0505' pos='0.5 0.02 0.0602'/></body></worldbody></mujoco>");
    s->q[0] = 0.02;
    s->tau[0] = 300;
    sim_step(s);
    outcome o = compare_modes(s, "geom.*");
    check_below("modes of derivatives apart", o.apart, 1e-10);
    double gv = 1, *g = numbers(s->n.nparams);
    assert_int_equal(tg_param_match(s->m, "geom.tip.compliance", &index, 1, &count, NULL), TG_OK);
    tg_cotangent in = {.params = g};
    assert_int_equal(tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = &gv}, &in, NULL), TG_OK);
    tg_step_contact contact[SIM_CONTACTS];
    assert_int_equal(sim_contacts(s, contact), 1);
    assert_int_equal(contact[0].mode, TG_CONTACT_STICKING);
    assert_true(g[index] == 0);
    free(g);
    sim_close(s);
}

/* ---- the smoothed law ---- */

/* Contacts that are open count there: a box above a floor, one of two that are welded to each other by more than it
 * needs. */
static void test_smoothed(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><worldbody><geom type='plane' size='1 1 1'/>"
        "<body name='a' pos='0 0 0.1003'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body>"
        "<body name='b' pos='0.3 0 0.3'><freejoint/><geom type='box' size='0.1 0.1 0.1'/></body></worldbody>"
        "<equality><weld body1='a' body2='b'/><connect body1='a' body2='b' anchor='0.1 0 0'/></equality></mujoco>");
    s->options.backward = TG_BACKWARD_SMOOTHED;
    for (int k = 0; k < 12; k++)
    {
        s->v[0] = 0.01 * k;
        s->v[4] = 0.3;
        sim_step(s);
        outcome o = compare_modes(s, "*");
        check_below("modes of derivatives apart", o.apart, 1e-10);
        assert_true(o.largest > 2);
    }
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearly_redundant_loop), cmocka_unit_test(test_light_loop),
        cmocka_unit_test(test_dead_centre),           cmocka_unit_test(test_patch_at_its_cones),
        cmocka_unit_test(test_bridged_compliance),    cmocka_unit_test(test_smoothed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
