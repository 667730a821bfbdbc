/* What derivatives of a step are labelled, where rows hold against each other: open loops, joints that friction holds,
 * patches whose impulses are on their cones although others inside would do the same. What is labelled exact is that,
 * by differences. */
#include "step_test.h"
#include "tangere/check.h"

/* ---- one step against differences ---- */

typedef struct outcome
{
    tg_label label;
    double worst;    /* |J - F| / max(1, max |F|) of all groups */
    double largest;  /* |F| */
    double disagree; /* reverse mode and matrices, the same */
} outcome;

static void compare(int n, const double *J, const double *F, outcome *o)
{
    double size = 0, worst = 0;
    for (int i = 0; i < n; i++)
        size = fmax(size, isnan(F[i]) ? 0 : fabs(F[i]));
    for (int i = 0; i < n; i++)
        worst = fmax(worst, isnan(F[i]) ? 0 : fabs(J[i] - F[i]));
    o->worst = fmax(o->worst, worst / fmax(1, size));
    o->largest = fmax(o->largest, size);
}

static double agreement(const sim *s, const double *gv, const double *reverse)
{
    int nv = s->n.nv;
    double *J = numbers(nv * nv), worst = 0;
    assert_int_equal(tg_step_jacobian(s->m, s->w, &(tg_jacobian){.dv_dq = J}), TG_OK);
    for (int k = 0; k < nv; k++)
    {
        double sum = 0, size = 1;
        for (int i = 0; i < nv; i++)
        {
            sum += gv[i] * J[i * nv + k];
            size += fabs(gv[i] * J[i * nv + k]);
        }
        worst = fmax(worst, fabs(sum - reverse[k]) / size);
    }
    free(J);
    return worst;
}

/* The derivatives of the step from where s is, with the parameters that match the pattern (NULL: none); s is behind it
 * then. */
static outcome differentiate(sim *s, const char *pattern)
{
    int nv = s->n.nv, np = s->n.nparams, nindex = 0, *index = calloc((size_t)np + 1, sizeof *index);
    double *q = numbers(s->n.nq), *v = numbers(nv), *gv = numbers(nv), *g = numbers(3 * nv + np + 1),
           *f = numbers(3 * nv + np + 1);
    tg_differences *d = NULL;
    outcome o = {0};
    assert_int_equal(tg_differences_create(s->m, 0, &d, NULL), TG_OK);
    if (pattern != NULL)
        assert_int_equal(tg_param_match(s->m, pattern, index, np, &nindex, NULL), TG_OK);
    memcpy(q, s->q, sizeof *q * (size_t)s->n.nq);
    memcpy(v, s->v, sizeof *v * (size_t)nv);
    for (int k = 0; k < nv; k++)
        gv[k] = cos(3 * k + 1);
    tg_cotangent out = {.v = gv}, in = {.q = g, .v = g + nv, .tau = g + 2 * nv, .params = g + 3 * nv};
    sim_step(s);
    assert_int_equal(tg_step_vjp(s->m, s->w, &out, &in, &o.label), TG_OK);
    tg_cotangent fd = {.q = f, .v = f + nv, .tau = f + 2 * nv, .params = pattern != NULL ? f + 3 * nv : NULL};
    tg_differences_request request = {.options = &s->options,
                                      .state = &(tg_state){q, v, s->act, NULL},
                                      .control = &(tg_control){.u = s->u, .tau = s->tau, .wrench = s->wrench},
                                      .index = index,
                                      .nindex = nindex};
    assert_int_equal(tg_step_differences(s->m, d, &request, &out, &fd, NULL), TG_OK);
    for (int group = 0; group < 3; group++)
        compare(nv, g + group * nv, f + group * nv, &o);
    for (int i = 0; i < nindex; i++)
        compare(1, g + 3 * nv + index[i], f + 3 * nv + index[i], &o);
    o.disagree = agreement(s, gv, g);
    tg_differences_destroy(d);
    double *owned[] = {q, v, gv, g, f};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(index);
    return o;
}

static void check_exact(const outcome *o)
{
    assert_int_equal(o->label.kind, TG_LABEL_EXACT);
    check_below("error of derivatives", o->worst, 1e-6);
    check_below("matrices and reverse mode", o->disagree, 1e-10);
    assert_true(o->largest > 1e-3);
}

/* ---- loops ---- */

/* a four-bar on an arm that turns; friction: of the joints in the loop; tilt: of one axis out of the plane; aside: how
 * far its last link is out of the plane (m) */
static sim *open_four_bar(double friction, double tilt, double aside)
{
    return sim_open(text(
        "<mujoco><option timestep='0.001'/><default><geom contype='0' conaffinity='0'/></default><worldbody>"
        "<body name='arm'><joint name='arm' axis='0.3 0.2 1'/><geom type='capsule' fromto='0 0 0 0.4 0 0' size='0.03'/>"
        "<body name='crank' pos='0 0 0.1'><joint name='crank' axis='0 1 %g' frictionloss='%g'/>"
        "<geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.02'/>"
        "<body name='coupler' pos='0.2 0 0'><joint name='coupler' axis='0 1 0' frictionloss='%g'/>"
        "<geom type='capsule' fromto='0 0 0 0.3 0 0.3' size='0.02'/></body></body>"
        "<body name='rocker' pos='0.6 %g 0.1'><joint name='rocker' axis='0 1 0' frictionloss='%g'/>"
        "<geom type='capsule' fromto='0 0 0 -0.1 0 0.3' size='0.02'/></body></body></worldbody>"
        "<equality><connect body1='coupler' body2='rocker' anchor='0.3 0 0.3'/></equality></mujoco>",
        tilt, friction, friction, aside, friction));
}

/* What turns a loop as a whole does not pull at it, however far it is open: friction that holds its joints goes on
 * holding them. */
static void test_open_loop_held_by_friction(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++)
    {
        sim *s = open_four_bar(20, 0, 0);
        s->v[sim_v(s, "arm")] = 2;
        s->q[sim_q(s, "rocker")] = 1e-2 * k; /* the loop is open by 3 mm */
        s->options.push_speed = 1e-6;        /* and stays so */
        sim_step(s);
        check_near("crank", s->v[sim_v(s, "crank")], 0, 1e-4);
        check_near("rocker", s->v[sim_v(s, "rocker")], 0, 1e-4);
        check_below("speed of the arm", s->v[sim_v(s, "arm")], 2.1);
        sim_close(s);
    }
}

/* A closed loop whose joints friction holds: where it is opened by a hair it closes, and one of the joints gives way;
 * which one depends on the side. */
static void test_closed_loop_held_by_friction(void **state)
{
    (void)state;
    sim *s = open_four_bar(20, 0, 0);
    s->v[sim_v(s, "arm")] = 2;
    assert_int_equal(differentiate(s, NULL).label.kind, TG_LABEL_ONE_SIDED);
    sim_close(s);
}

/* Forces of an equality are opposite, and at the same point: free bodies keep their angular momentum also while a loop
 * closes. */
static void test_open_loop_keeps_angular_momentum(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom contype='0' conaffinity='0'/></default>"
        "<worldbody><body name='a'><freejoint/><geom type='box' size='0.1 0.2 0.15' mass='2'/></body>"
        "<body name='b' pos='0.5 0 0'><freejoint/><geom type='box' size='0.2 0.1 0.1' mass='1'/></body>"
        "</worldbody><equality><weld body1='a' body2='b'/></equality></mujoco>");
    const double inertia[2][3] = {{2 * (0.04 + 0.0225) / 3, 2 * (0.01 + 0.0225) / 3, 2 * (0.01 + 0.04) / 3},
                                  {(0.01 + 0.01) / 3, (0.04 + 0.01) / 3, (0.04 + 0.01) / 3}},
                 mass[2] = {2, 1};
    double before[3];
    s->v[1] = 1;
    s->v[4] = 2;
    s->v[9] = -3;
    s->q[7 + 2] = 0.01; /* open by 1 cm */
    for (int step = 0; step <= 1; step++)
    {
        double momentum[3] = {0, 0, 0};
        for (int b = 0; b < 2; b++) /* both are turned by next to nothing: body axes are world axes at the start */
        {
            const double *x = s->q + 7 * b, *v = s->v + 6 * b;
            momentum[0] += mass[b] * (x[1] * v[2] - x[2] * v[1]) + inertia[b][0] * v[3];
            momentum[1] += mass[b] * (x[2] * v[0] - x[0] * v[2]) + inertia[b][1] * v[4];
            momentum[2] += mass[b] * (x[0] * v[1] - x[1] * v[0]) + inertia[b][2] * v[5];
        }
        if (step == 0)
        {
            memcpy(before, momentum, sizeof before);
            double q[14];
            memcpy(q, s->q, sizeof q);
            s->v[3] = s->v[5] = 0;
            sim_step(s);
            memcpy(s->q, q, sizeof q);
            continue;
        }
        for (int i = 0; i < 3; i++)
            check_near("angular momentum", momentum[i], before[i], 1e-9);
    }
    sim_close(s);
}

/* An axis that is out of the plane by what six digits leave: the loop is as well conditioned as a plane one, and its
 * derivatives are exact, also by what tilts an axis, which turns the directions that the loop is held along. */
static void test_nearly_planar_loop(void **state)
{
    (void)state;
    const double tilt[] = {0, 1e-8, 1e-7, 1e-6, 5e-6};
    for (size_t k = 0; k < sizeof tilt / sizeof *tilt; k++)
    {
        sim *s = open_four_bar(0, tilt[k], 0);
        s->v[sim_v(s, "arm")] = 2;
        s->tau[sim_v(s, "crank")] = 10;
        sim_run(s, 5);
        s->q[sim_q(s, "rocker")] += 1e-4; /* opens the loop in its plane */
        outcome o = differentiate(s, "joint.*.axis");
        check_exact(&o);
        check_below("condition", o.label.condition, 1e3);
        check_below("speed", norm(s->n.nv, s->v), 10);
        sim_close(s);
    }
}

/* A link that is out of the plane of its loop: no velocity closes that gap. What the loop can follow turns with the
 * bodies, and the derivative with it. */
static void test_loop_that_cannot_close(void **state)
{
    (void)state;
    const double aside[] = {1e-5, 1e-3, -1e-3};
    for (size_t k = 0; k < sizeof aside / sizeof *aside; k++)
    {
        sim *s = open_four_bar(0, 0, aside[k]);
        s->v[sim_v(s, "arm")] = 2;
        s->tau[sim_v(s, "crank")] = 1;
        sim_run(s, 5);
        outcome o = differentiate(s, "joint.*.axis");
        check_exact(&o);
        sim_close(s);
    }
}

/* ---- loops that hold by small levers ---- */

/* A crank and a rod in one line but for an angle, and a foot that a spring presses into its limit: the loop holds the
 * crank by a lever as small as the angle. Along a trajectory, no derivative that is labelled exact is wrong. */
static tg_check_result check_dead_centre(double angle, int seed)
{
    double bent = asin(0.5 * sin(angle)), x = 0.1 * cos(angle) + 0.2 * cos(bent),
           z = 0.2 * sin(bent) - 0.1 * sin(angle) - 0.2;
    sim *s = sim_open(text(
        "<mujoco><compiler angle='radian'/><option timestep='0.001' gravity='0 0 0'/>"
        "<default><geom contype='0' conaffinity='0'/></default><worldbody><body><joint axis='0.2 1 0.1' stiffness='5' "
        "damping='0.1'/><geom type='box' size='0.1 0.1 0.1'/><body quat='%.17g 0 %.17g 0'><joint name='crank' "
        "axis='0 1 0' damping='0.002'/><geom type='capsule' fromto='0 0 0 0.1 0 0' size='0.01'/>"
        "<body name='rod' pos='0.1 0 0' quat='%.17g 0 %.17g 0'><joint axis='0 1 0' damping='0.002'/>"
        "<geom type='capsule' fromto='0 0 0 0.2 0 0' size='0.01'/></body></body><body name='foot' pos='%.17g 0 %.17g'>"
        "<joint axis='0 1 0' range='-1 0' limited='true' stiffness='2' springref='1'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 0.2' size='0.02'/></body></body></worldbody>"
        "<equality><connect body1='rod' body2='foot' anchor='0.2 0 0'/></equality>"
        "<actuator><motor joint='crank' gear='0.05' ctrlrange='-1 1'/></actuator></mujoco>",
        cos(angle / 2), sin(angle / 2), cos((angle + bent) / 2), -sin((angle + bent) / 2), x, z));
    tg_check_options options = tg_default_check_options();
    tg_check_result r;
    options.states = 100 / TEST_EFFORT;
    options.seed = seed;
    assert_int_equal(tg_check(s->m, &options, &r, NULL), TG_OK);
    sim_close(s);
    return r;
}

static void test_small_levers(void **state)
{
    (void)state;
    for (double angle = 3e-5; angle < 5e-3; angle *= 3)
        for (int seed = 1; seed <= 2; seed++)
        {
            tg_check_result r = check_dead_centre(angle, seed);
            for (int i = 0; i < r.ngroup; i++)
                check_below(r.group[i].name, r.group[i].error, 1e-6);
            assert_true(r.labels[TG_LABEL_EXACT] >= r.states / 2);
            check_below("states of which nothing is known", r.states_skipped, 0.1);
        }
}

/* A biped on straight legs: along them the feet hold its trunk by levers that G hardly resolves, a foot may tip about
 * its edge at 1e-8 m/s, and land flat while it turns. What is labelled exact is right, forward and reverse mode agree,
 * and few states are left out. */
static void test_biped_on_straight_legs(void **state)
{
    (void)state;
    static const char leg[] =
        "<body pos='0 %g -0.1'><joint axis='0 0 1' armature='0.01'/><joint axis='1 0 0' armature='0.01'/>"
        "<joint axis='0 1 0' armature='0.01'/><geom type='capsule' fromto='0 0 0 0 0 -0.35' size='0.04' mass='4' "
        "contype='0' conaffinity='0'/><body pos='0 0 -0.36'><joint axis='0 1 0' armature='0.01'/>"
        "<geom type='capsule' fromto='0 0 0 0 0 -0.35' size='0.03' mass='2' contype='0' conaffinity='0'/>"
        "<body pos='0 0 -0.36'><joint axis='0 1 0' armature='0.01'/>"
        "<geom type='box' pos='0.03 0 -0.02' size='0.1 0.04 0.02' mass='0.7'/></body></body></body>";
    char left[1024], right[1024], all[4096];
    snprintf(left, sizeof left, leg, 0.1);
    snprintf(right, sizeof right, leg, -0.1);
    snprintf(all, sizeof all,
             "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/><body pos='0 0 0.86'>"
             "<freejoint/><geom type='box' size='0.1 0.15 0.15' mass='20'/>%s%s</body></worldbody></mujoco>",
             left, right);
    sim *s = sim_open(all);
    for (int seed = 1; seed <= 5; seed += 4)
    {
        tg_check_options options = tg_default_check_options();
        tg_check_result r;
        options.states = 60;
        options.seed = seed;
        assert_int_equal(tg_check(s->m, &options, &r, NULL), TG_OK);
        for (int i = 0; i < r.ngroup; i++)
            check_below(r.group[i].name, r.group[i].error, 1e-6);
        check_below("states of which nothing is known", r.states_skipped, 0.05);
        check_below("forward against reverse mode", fmax(r.jvp, r.jacobian), 1e-10);
    }
    sim_close(s);
}

/* ---- limits that contradict each other ---- */

/* Two limits that cannot both be met: the island goes on without its push, and nothing that follows from a push has a
 * gradient; restitution included. */
static void test_push_that_was_dropped(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.002'/><custom><numeric name='tangere:geom.foot.restitution' "
        "data='0.5'/></custom><worldbody>"
        "<geom name='floor' type='plane' size='5 5 0.1'/><body name='a' pos='0 0 0.0999'><freejoint/>"
        "<geom name='foot' type='sphere' size='0.1' mass='1'/>"
        "<body name='b' pos='0 0 0.3'><joint name='b' type='slide' axis='1 0 0' range='-1 -0.01' limited='true'/>"
        "<geom type='sphere' size='0.05' mass='0.5' contype='0' conaffinity='0'/>"
        "<body name='c'><joint name='c' type='slide' axis='1 0 0'/><geom type='sphere' size='0.05' mass='0.5' "
        "contype='0' "
        "conaffinity='0'/></body></body></body></worldbody>"
        "<tendon><fixed name='sum' range='0.01 1' limited='true'><joint joint='b' "
        "coef='1'/></fixed></tendon></mujoco>");
    s->v[2] = -1;
    outcome o = differentiate(s, "geom.foot.restitution");
    check_below("error of derivatives", o.worst, 1e-6);
    check_near("normal velocity, which does not bounce", s->v[2], 0, 1e-9);
    sim_close(s);
}

/* ---- patches ---- */

/* a box on a plane, after three steps */
static sim *open_box(int condim)
{
    sim *s = sim_open(
        text("<mujoco><option timestep='0.002'/><worldbody>"
             "<geom type='plane' size='5 5 0.1' condim='%d' friction='0.7 0.02 0.003'/>"
             "<body pos='0 0 0.05'><freejoint/><geom type='box' size='0.1 0.15 0.05' mass='1' condim='%d'/></body>"
             "</worldbody></mujoco>",
             condim, condim));
    sim_run(s, 3);
    return s;
}

/* Overlaps that are pushed out by a share: b has a kink where a ball touches, and where the push is at its bound. */
static void test_kinks_of_the_push(void **state)
{
    (void)state;
    const double gap[] = {0, -1e-6, 1e-6, -1e-4, -0.9e-4};
    for (int k = 0; k < 5; k++)
    {
        sim *s = open_box(3);
        s->options.push_gain = 0.5;
        s->options.push_speed = 0.025; /* at an overlap of 1e-4 */
        s->q[2] = 0.05 + gap[k];
        outcome o = differentiate(s, NULL);
        if (k == 0 || k == 3)
            assert_int_equal(o.label.kind, TG_LABEL_ONE_SIDED);
        else
            check_exact(&o);
        sim_close(s);
    }
}

/* A ball on a slide whose limit is exactly met bounces within the step: it leaves the limit, which still holds where
 * the ball is at the end, since it falls further than it comes back. There the push of the limit has its kink. */
static void test_kink_of_a_limit_that_opens(void **state)
{
    (void)state;
    const double beyond[] = {0, -2e-5, 2e-5}; /* m: of the limit */
    for (int k = 0; k < 3; k++)
    {
        sim *s = sim_open("<mujoco><option timestep='0.002' gravity='0 0 0'/><worldbody>"
                          "<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1018'>"
                          "<joint type='slide' axis='0 0 1' range='0 1' limited='true'/>"
                          "<geom name='ball' type='sphere' size='0.1' mass='1'/></body></worldbody>"
                          "<custom><numeric name='tangere:geom.ball.restitution' data='0.5'/></custom></mujoco>");
        s->options.impact = TG_IMPACT_WITHIN;
        s->options.push_gain = 0.5;
        s->q[0] = beyond[k];
        s->v[0] = -1;
        outcome o = differentiate(s, NULL);
        assert_true(s->v[0] > 0.1);
        if (k == 0)
            assert_int_equal(o.label.kind, TG_LABEL_ONE_SIDED);
        else
            check_exact(&o);
        sim_close(s);
    }
}

/* A ball that was wedged between two walls, whose push was dropped, comes to rest on the floor beside them: for some
 * steps the push of its tree stays dropped, so that b has a kink where it touches. */
static void test_kink_of_a_push_that_pauses(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        sim *s = sim_open("<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                          "<geom type='box' size='0.1 1 1' pos='-0.19 0 1'/><geom type='box' size='0.1 1 1' "
                          "pos='0.19 0 1'/><body pos='0 0 1'><freejoint/><geom type='sphere' size='0.1' mass='1'/>"
                          "</body></worldbody></mujoco>");
        if (k == 1)
            sim_run(s, 3);
        const double beside[7] = {2, 0, 0.1, 1, 0, 0, 0};
        memcpy(s->q, beside, sizeof beside);
        memset(s->v, 0, sizeof *s->v * 6);
        outcome o = differentiate(s, NULL);
        assert_int_equal(o.label.kind, k == 0 ? TG_LABEL_EXACT : TG_LABEL_ONE_SIDED);
        sim_close(s);
    }
}

/* A box that is turned about its normal: its points share the torque as the selection rule says, more about their
 * normals than their cones allow, so all of them are on their cones; along their tangents they would hold it easily. It
 * sticks, strictly. */
static void test_patch_with_friction_about_normals(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
    {
        sim *s = open_box(4);
        s->tau[5] = 0.1 * k;
        s->tau[0] = 0.3 * k;
        outcome o = differentiate(s, "body.*.mass");
        check_exact(&o);
        check_below("speed", norm(6, s->v), 1e-6);
        sim_close(s);
    }
}

/* Friction against rolling holds against the normals of a patch: when the box is tilted by a hair it falls back, and
 * rolls, to either side. */
static void test_patch_with_friction_against_rolling(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++)
    {
        sim *s = open_box(6);
        s->tau[0] = 0.3 * k;
        assert_int_equal(differentiate(s, NULL).label.kind, TG_LABEL_ONE_SIDED);
        check_below("speed", norm(6, s->v), 1e-6);
        sim_close(s);
    }
}

/* A box that tips over its edge turns about the normal too when the edge is tilted: friction about the normals of the
 * two points then slips, one way or the other. */
static void test_edge_with_friction_about_normals(void **state)
{
    (void)state;
    for (int condim = 3; condim <= 4; condim++)
    {
        sim *s = open_box(condim);
        double angle = 0.4, height = 0.1 * sin(angle) + 0.05 * cos(angle);
        s->q[2] = height;
        s->q[3] = cos(angle / 2);
        s->q[5] = sin(angle / 2);
        s->v[4] = 0.3; /* about the edge, whose points stay where they are */
        s->v[0] = 0.3 * height;
        s->v[2] = 0.3 * (0.1 * cos(angle) - 0.05 * sin(angle));
        sim_step(s);
        outcome o = differentiate(s, "body.*.mass");
        assert_true(fabs(s->v[4]) > 0.1);
        if (condim == 3)
            check_exact(&o);
        else
            assert_int_equal(o.label.kind, TG_LABEL_ONE_SIDED);
        sim_close(s);
    }
}

/* A rod that lands on both ends, tilted by a hair, and is pushed along itself so that the end with the smaller load is
 * on its cone and the other one holds. Its ends would have to part for both to stick: the one on its cone creeps, far
 * slower than what counts as a slip, and its derivative is that of something that slides. */
static void test_rod_that_creeps(void **state)
{
    (void)state;
    for (int k = 0; k < 14; k++)
    {
        sim *s =
            sim_open("<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 0.1' friction='0.7'/>"
                     "<body pos='0 0 0.05'><freejoint/><geom type='capsule' fromto='-0.5 0 0 0.5 0 0' size='0.05' "
                     "mass='1'/></body></worldbody></mujoco>");
        double tilt = (k % 2 == 0 ? 1 : -1) * (3e-6 + 5e-7 * k);
        s->q[2] += 1e-5;
        s->q[3] = cos(tilt / 2);
        s->q[5] = sin(tilt / 2);
        s->tau[4] = 3; /* loads: about 2 N and 8 N */
        s->tau[0] = 4;
        s->tau[1] = 0.5;
        outcome o = differentiate(s, "body.*.mass");
        check_exact(&o);
        sim_close(s);
    }
}

/* How far v+ is from a line as q is displaced along a direction (nv), by the displacement: at a kink the difference of
 * the slopes of its sides. */
static double kink_along(sim *s, const double *q, const double *v, const double *direction)
{
    const double h = 1e-6;
    int nv = s->n.nv;
    double *next = numbers(3 * nv), *along = numbers(nv), worst = 0;
    for (int k = 0; k < 3; k++)
    {
        for (int i = 0; i < nv; i++)
            along[i] = (k - 1) * h * direction[i];
        assert_int_equal(tg_integrate(s->m, q, along, s->q, NULL), TG_OK);
        memcpy(s->v, v, sizeof *v * (size_t)nv);
        s->cache.count = 0;
        sim_step(s);
        memcpy(next + k * nv, s->v, sizeof *v * (size_t)nv);
    }
    for (int i = 0; i < nv; i++)
        worst = fmax(worst, fabs(next[i] - 2 * next[nv + i] + next[2 * nv + i]) / h);
    free(next);
    free(along);
    return worst;
}

/* Something that lies flat on a floor, bounces and goes on turning: its points move against the floor at velocities b_1
 * and b_2. Tilted by a they would have to slip against each other by a (b_1 - b_2), and which of them does so depends
 * on the side. */
static void test_patch_that_bounces_and_turns(void **state)
{
    (void)state;
    static const char *const shape[] = {"type='box' size='0.1 0.05 0.02'",
                                        "type='capsule' fromto='-0.1 0 0 0.1 0 0' size='0.02'"};
    int kinks = 0, exact = 0;
    for (int k = 0; k < 60; k++)
    {
        sim *s = sim_open(text(
            "<mujoco><option timestep='0.002'/><custom><numeric name='tangere:geom.foot.restitution' data='%.17g'/>"
            "</custom><worldbody><geom type='plane' size='5 5 0.1' friction='%.17g'/><body pos='0 0 0.02'><freejoint/>"
            "<geom name='foot' %s mass='1'/><body pos='0 0 0.1'><joint axis='0 1 0'/><geom type='capsule' fromto='0 0 "
            "0 0.05 0 0.2' size='0.02' contype='0' conaffinity='0'/></body></body></worldbody></mujoco>",
            0.5 + 0.4 * noise(), 0.6 + 0.4 * noise(), shape[k % 2]));
        double *q = numbers(s->n.nq), *v = numbers(s->n.nv), *direction = numbers(s->n.nv), kink = 0;
        for (int i = 0; i < s->n.nv; i++)
            v[i] = 0.5 * noise();
        v[2] = -0.3 - fabs(v[2]);
        if (k % 3 == 0) /* without turning it stays a patch */
            v[3] = v[4] = v[5] = v[6] = 0;
        memcpy(q, s->q, sizeof *q * (size_t)s->n.nq);
        memcpy(s->v, v, sizeof *v * (size_t)s->n.nv);
        outcome o = differentiate(s, NULL);
        for (int round = 0; round < 4; round++)
        {
            for (int i = 0; i < s->n.nv; i++)
                direction[i] = noise();
            kink = fmax(kink, kink_along(s, q, v, direction));
        }
        if (o.label.kind == TG_LABEL_EXACT)
            check_below("kink of a derivative that is labelled exact", kink, 1e-3);
        exact += o.label.kind == TG_LABEL_EXACT;
        kinks += kink > 1e-3;
        free(q);
        free(v);
        free(direction);
        sim_close(s);
    }
    assert_true(kinks > 20 && exact > 10);
}

/* What is at the end of its friction as a whole has no impulses inside: the label says so. */
static void test_patch_at_the_end_of_its_friction(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1' friction='0.5'/>"
        "<body pos='0 0 0.05'><freejoint/><geom type='box' size='0.1 0.15 0.05' mass='1' friction='0.5'/></body>"
        "</worldbody></mujoco>");
    sim_run(s, 3);
    s->tau[0] = 0.5 * gravity;
    assert_true(differentiate(s, NULL).label.kind != TG_LABEL_EXACT);
    sim_close(s);
}

/* Two arms on a floor, each an island of its own: soft feet that stick hold the first link, which could only turn about
 * the vertical, and the second link slides; a joint of the first arm is at its limit, so that rows of the two islands
 * are numbered differently. Tangents of a patch are redundant, normals are not, and they differ from
 * each other by more than 1000. */
static void test_soft_patches_of_two_islands(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.001'/><default><geom mass='0.1'/></default><custom>"
        "<numeric name='tangere:geom.floor.compliance' data='1e-5'/></custom><worldbody>"
        "<geom name='floor' type='box' size='2 2 0.1' pos='0 0 -0.1' friction='0.1'/>"
        "<body pos='-0.5 0 0'><joint axis='0 0 1'/><geom type='box' size='0.03 0.02 0.05' pos='0.01 0.005 0.049' "
        "mass='1000' friction='0.8'/><body pos='0.1 0 0'><joint name='a' axis='0 0 1'/><geom type='sphere' size='0.05' "
        "pos='0.2 0 0.0495' friction='0.1'/></body><body pos='0 0 0.2'><joint axis='0 1 0' limited='true' range='-60 "
        "0'/>"
        "<geom type='capsule' size='0.01' fromto='0 0 0 0.1 0 0'/></body></body>"
        "<body pos='0.5 0 0'><joint axis='0 0 1'/><geom type='box' size='0.02 0.03 0.05' pos='0.02 0.01 0.0485' "
        "mass='1000' friction='0.8'/><body pos='0.1 0 0'><joint name='b' axis='0 0 1'/><geom type='sphere' size='0.05' "
        "pos='0.15 0 0.049' friction='0.1'/></body></body></worldbody></mujoco>");
    tg_step_contact contact[SIM_CONTACTS];
    int sticking = 0, sliding = 0;
    s->v[sim_v(s, "a")] = 3;
    s->v[sim_v(s, "b")] = -4;
    outcome o = differentiate(s, "geom.*.quat");
    for (int i = 0; i < sim_contacts(s, contact); i++)
    {
        sticking += contact[i].mode == TG_CONTACT_STICKING;
        sliding += contact[i].mode == TG_CONTACT_SLIDING;
    }
    assert_int_equal(s->info.islands, 2);
    assert_true(sticking >= 6 && sliding == 2);
    check_exact(&o);
    sim_close(s);
}

/* ---- rows between different bodies ---- */

/* A brick on two others: when one of these is lifted by a hair, the brick on it lifts off the other. The step has
 * another derivative on either side. */
static void test_brick_on_two_others(void **state)
{
    (void)state;
    sim *s =
        sim_open("<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                 "<body name='a' pos='-0.3 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>"
                 "<body name='b' pos='0.3 0 0.1'><freejoint/><geom type='box' size='0.1 0.1 0.1' mass='1'/></body>"
                 "<body name='c' pos='0 0 0.25'><freejoint/><geom type='box' size='0.4 0.1 0.05' mass='1'/></body>"
                 "</worldbody></mujoco>");
    sim_run(s, 5);
    outcome o = differentiate(s, NULL);
    assert_int_equal(o.label.kind, TG_LABEL_ONE_SIDED);
    sim_close(s);
}

/* Two bricks on each other do not hold against each other: each contact is a patch between two bodies. */
static void test_brick_on_another(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/>"
        "<body name='a' pos='0 0 0.1'><freejoint/><geom type='box' size='0.2 0.2 0.1' mass='1'/></body>"
        "<body name='b' pos='0.05 0.02 0.25'><freejoint/><geom type='box' size='0.1 0.1 0.05' mass='1'/></body>"
        "</worldbody></mujoco>");
    sim_run(s, 5);
    outcome o = differentiate(s, "body.*.mass");
    check_exact(&o);
    sim_close(s);
}

/* ---- rows that nearly agree ---- */

/* An arm on a cart that presses on it, its joints with dry friction. It is pushed out by what it overlaps, at 1e-8 m/s
 * and less, and friction gives way, however slowly: what is held holds to rounding, and derivatives are exact. */
static void test_friction_that_gives_way_slowly(void **state)
{
    (void)state;
    sim *s = sim_open(
        "<mujoco><option timestep='0.002' gravity='0 0 0'/><default><joint frictionloss='1e-3' "
        "armature='0.1'/></default><worldbody><body><joint type='slide' axis='1 0.2 0' frictionloss='0'/>"
        "<geom type='box' size='2 2 0.1' pos='0 0 -0.1'/>"
        "<body pos='0 0 1'><joint name='a' axis='0 1 0'/><geom type='capsule' size='0.05' "
        "fromto='0 0 0 0.5 0 0' contype='0' conaffinity='0'/>"
        "<body pos='0.5 0 0'><joint name='b' axis='0 1 0.2'/><geom type='capsule' size='0.05' "
        "fromto='0 0 0 0.3 0 -0.3' contype='0' conaffinity='0'/>"
        "<body pos='0.3 0 -0.3'><joint name='c' axis='0.3 0.2 1'/>"
        "<geom type='sphere' pos='0.2 0.1 -0.5' size='0.2'/></body></body></body></body></worldbody></mujoco>");
    tg_step_contact contact[SIM_CONTACTS];
    int sticking = 0;
    for (int k = 0; k < 160 / TEST_EFFORT; k++)
    {
        sim_reset(s);
        for (int i = 0; i < 4; i++)
            s->tau[i] = i == 1 ? 20 : 2 * noise();
        sim_run(s, 6);
        s->q[1] += pow(10, -10 - k % 4) * noise();
        sim_step(s);
        s->q[1] += pow(10, -10 - k % 4) * noise();
        outcome o = differentiate(s, "joint.*.axis");
        if (sim_contacts(s, contact) != 1 || contact[0].mode != TG_CONTACT_STICKING)
            continue;
        sticking++;
        check_below("residual", s->info.residual, 1e-11);
        check_exact(&o);
    }
    assert_true(sticking > 100 / TEST_EFFORT);
    sim_close(s);
}

/* Four points that slide, one of them off the plane of the others by 1e-14 m and more, which is 1e-11 m/s: they share
 * their load as if it were in it. */
static void test_points_that_slide_off_their_plane(void **state)
{
    (void)state;
    for (double off = 1e-15; off < 1e-12; off *= 3)
    {
        sim *s = sim_open(text("<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='5 5 0.1'/>"
                               "<body pos='0 0 0.05'><freejoint/><geom type='sphere' size='0.05' pos='0.1 0.15 0'/>"
                               "<geom type='sphere' size='0.05' pos='-0.1 0.12 0'/><geom type='sphere' size='0.05' "
                               "pos='0.1 -0.15 0'/><geom type='sphere' size='0.05' pos='-0.12 -0.1 %.17g'/></body>"
                               "</worldbody></mujoco>",
                               off));
        s->v[0] = 1;
        s->v[1] = 0.3;
        s->v[5] = 2;
        outcome o = differentiate(s, "body.*.mass");
        check_below("iterations", s->info.iterations, 40);
        check_below("residual", s->info.residual, 1e-9);
        check_exact(&o);
        sim_close(s);
    }
}

/* ---- dry friction that others hold ---- */

/* slope of gv . v+ with the floor turned to one side, about its axis x */
static double floor_slope(sim *s, const double *q, const double *v, double h)
{
    double value[2];
    int offset = 0, size = 0;
    assert_int_equal(tg_param_find(s->m, "geom.floor.quat", &offset, &size, NULL), TG_OK);
    for (int side = 0; side < 2; side++)
    {
        tg_params *params = NULL;
        assert_int_equal(tg_params_create(s->m, &params, NULL), TG_OK);
        tg_params_data(params)[offset + 1] = side == 0 ? 0 : h;
        assert_int_equal(tg_params_changed(params, NULL), TG_OK);
        assert_int_equal(tg_work_set_params(s->w, params), TG_OK);
        memcpy(s->q, q, sizeof *q * (size_t)s->n.nq);
        memcpy(s->v, v, sizeof *v * (size_t)s->n.nv);
        sim_step(s);
        value[side] = 0;
        for (int k = 0; k < s->n.nv; k++)
            value[side] += cos(3 * k + 1) * s->v[k];
        assert_int_equal(tg_work_set_params(s->w, NULL), TG_OK);
        tg_params_destroy(params);
    }
    return (value[1] - value[0]) / h;
}

/* A ball whose joint has dry friction, on a floor that keeps it from falling: friction along the vertical is at its
 * bound and does not slip. Where the ball rolls, a floor that is tilted moves it up or down, and that friction turns
 * round; where it is at rest, nothing moves it. */
static void test_friction_that_a_floor_holds(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        sim *s =
            sim_open("<mujoco><option timestep='0.005'/><worldbody><geom name='floor' type='plane' size='5 5 0.1'/>"
                     "<body pos='0 0 0.1'><joint type='free' frictionloss='0.02'/>"
                     "<geom type='sphere' size='0.1' density='300'/></body></worldbody></mujoco>");
        double q[7], v[6] = {0.05 * k, 0.02 * k, 0, -0.2 * k, 0.5 * k, 0.3 * k};
        memcpy(s->v, v, sizeof v);
        memcpy(q, s->q, sizeof q);
        outcome o = differentiate(s, k == 0 ? "geom.floor.quat" : NULL);
        assert_int_equal(o.label.kind, k == 0 ? TG_LABEL_EXACT : TG_LABEL_ONE_SIDED);
        check_below("error of derivatives", o.worst, 1e-6);
        double kink = fabs(floor_slope(s, q, v, 1e-8) - floor_slope(s, q, v, -1e-8));
        print_message("  slopes apart by %.2g\n", kink);
        assert_true(k == 0 ? kink < 1e-6 : kink > 1e-4);
        sim_close(s);
    }
}

/* ---- features ---- */

/* Slides of 1 kg that equalities hold together; dry friction in each, bounds in N, large beside what a
 * displaced one needs to return within a step; 'push' (N) acts on the first. */
static sim *open_held_slides(int count, const double *friction, double push)
{
    char bodies[2000] = "", ties[1000] = "";
    for (int i = 0; i < count; i++)
    {
        int at = (int)strlen(bodies), to = (int)strlen(ties);
        snprintf(bodies + at, sizeof bodies - (size_t)at,
                 "<body pos='0 %d 0'><joint name='slide%d' type='slide' axis='1 0 0' frictionloss='%g'/>"
                 "<geom type='sphere' size='0.1' mass='1'/></body>",
                 i, i, friction[i]);
        if (i > 0)
            snprintf(ties + to, sizeof ties - (size_t)to, "<joint joint1='slide%d' joint2='slide0'/>", i);
    }
    sim *s = sim_open(text("<mujoco><option timestep='0.001' gravity='0 0 0'/><worldbody>%s</worldbody>"
                           "<equality>%s</equality></mujoco>",
                           bodies, ties));
    s->tau[0] = push;
    return s;
}

/* How far velocities after the step, with all slides but the first displaced by h, are from what the derivative says;
 * of h / dt. */
static double off_by(sim *s, const double *dv_dq, double h)
{
    int n = s->n.nv;
    double worst = 0;
    memset(s->q, 0, sizeof *s->q * (size_t)n);
    memset(s->v, 0, sizeof *s->v * (size_t)n);
    for (int i = 1; i < n; i++)
        s->q[i] = h;
    sim_step(s);
    for (int i = 0; i < n; i++)
    {
        double v = 0;
        for (int k = 1; k < n; k++)
            v += h * dv_dq[i * n + k];
        worst = fmax(worst, fabs(s->v[i] - v));
    }
    return worst * tg_model_timestep(s->m) / fabs(h);
}

/* Friction at its bound that does not slip: where its slide is displaced against the push, it acts the other way as the
 * slide returns. If the first slide bears that, only the displaced one moves, on both sides. If not, the first one
 * gives way: a kink. Two such frictions may be borne each by itself, and not both. */
static void test_friction_that_others_bear(void **state)
{
    (void)state;
    static const struct
    {
        int count;
        double friction[3], push;
        tg_label_kind label;
    } cases[] = {
        {2, {5000, 1000}, 3500, TG_LABEL_EXACT},           /* 2500 N of 5000, 4500 when the other turns */
        {2, {3000, 1000}, 3500, TG_LABEL_ONE_SIDED},       /* of 3000 */
        {3, {8000, 1000, 1000}, 5000, TG_LABEL_EXACT},     /* 3000 N of 8000, 7000 when both turn */
        {3, {6000, 1000, 1000}, 5000, TG_LABEL_ONE_SIDED}, /* of 6000, 5000 when one does */
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    {
        sim *s = open_held_slides(cases[k].count, cases[k].friction, cases[k].push);
        double dv_dq[9], h = 1e-6;
        tg_jacobian J = {.dv_dq = dv_dq};
        sim_step(s);
        check_near("speed of the slides", s->v[0], 0, 1e-9);
        assert_int_equal(tg_step_jacobian(s->m, s->w, &J), TG_OK);
        assert_int_equal(J.label.kind, cases[k].label);
        check_below("along the push", off_by(s, dv_dq, -h), 1e-6);
        double against = off_by(s, dv_dq, h);
        assert_true(J.label.kind == TG_LABEL_EXACT ? against < 1e-6 : against > 0.1);
        sim_close(s);
    }
}

/* Two capsules that are pushed apart, up or down; where their axes cross it is either. */
static void test_capsules_that_cross(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++)
    {
        sim *s = sim_open(text("<mujoco><option timestep='0.002'/><worldbody>"
                               "<geom type='capsule' size='0.05' fromto='-0.5 0 0 0.5 0 0'/>"
                               "<body pos='0.1 0.05 %g'><joint name='lift' type='slide' axis='0 0 1'/><joint "
                               "axis='1 0.2 0.3'/><geom type='capsule' size='0.05' fromto='0 -0.5 0 0 0.5 0'/></body>"
                               "</worldbody></mujoco>",
                               0.03 * k));
        outcome o = differentiate(s, "geom.*.size");
        if (k == 0)
            assert_int_equal(o.label.kind, TG_LABEL_ONE_SIDED);
        else
            check_exact(&o);
        sim_close(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open_loop_held_by_friction),
        cmocka_unit_test(test_closed_loop_held_by_friction),
        cmocka_unit_test(test_open_loop_keeps_angular_momentum),
        cmocka_unit_test(test_nearly_planar_loop),
        cmocka_unit_test(test_loop_that_cannot_close),
        cmocka_unit_test(test_small_levers),
        cmocka_unit_test(test_biped_on_straight_legs),
        cmocka_unit_test(test_push_that_was_dropped),
        cmocka_unit_test(test_patch_with_friction_about_normals),
        cmocka_unit_test(test_patch_with_friction_against_rolling),
        cmocka_unit_test(test_edge_with_friction_about_normals),
        cmocka_unit_test(test_kinks_of_the_push),
        cmocka_unit_test(test_kink_of_a_push_that_pauses),
        cmocka_unit_test(test_kink_of_a_limit_that_opens),
        cmocka_unit_test(test_rod_that_creeps),
        cmocka_unit_test(test_patch_that_bounces_and_turns),
        cmocka_unit_test(test_patch_at_the_end_of_its_friction),
        cmocka_unit_test(test_soft_patches_of_two_islands),
        cmocka_unit_test(test_brick_on_two_others),
        cmocka_unit_test(test_brick_on_another),
        cmocka_unit_test(test_friction_that_gives_way_slowly),
        cmocka_unit_test(test_points_that_slide_off_their_plane),
        cmocka_unit_test(test_friction_that_a_floor_holds),
        cmocka_unit_test(test_friction_that_others_bear),
        cmocka_unit_test(test_capsules_that_cross),
    };
    return cmocka_run_group_tests_name("labels", tests, NULL, NULL);
}
