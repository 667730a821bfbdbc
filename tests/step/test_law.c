/* Contact laws beside the unrelaxed one: known answers, what is refused, and derivatives against differences. */
#include "step_test.h"
#include "tangere/check.h"

static const char *const laws[] = {"ncp", "ccp", "lcp-box", "lcp-diamond"};

enum
{
    NCP,
    CCP,
    BOX,
    DIAMOND,
    LAWS,
    DIRECTIONS = 16
};

/* a point mass on three slides: a small ball that rests on the floor */
#define POINT                                                                                                          \
    "<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"                           \
    "<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><joint type='slide' axis='1 0 0'/>"                        \
    "<joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/><geom type='sphere' size='0.1' mass='1'/>"    \
    "</body></worldbody></mujoco>"

#define BLOCK                                                                                                          \
    "<mujoco><option timestep='0.001'/><default><geom friction='0.5'/></default><worldbody>"                           \
    "<geom type='plane' size='5 5 0.1'/><body pos='0 0 0.1'><freejoint/>"                                              \
    "<geom type='box' size='0.1 0.1 0.1' mass='1'/></body></worldbody></mujoco>"

static sim *open_law(const char *model, int law)
{
    sim *s = sim_open(model);
    s->options.law = laws[law];
    return s;
}

/* one step with 1 m/s along x; s_N = mu |s_T| of the convex law */
static void point_mass(void **state)
{
    (void)state;
    static const double x[LAWS] = {0.995095, 0.796076, 0.995095, 0.995095}, z[LAWS] = {0, 0.398038, 0, 0};
    for (int law = 0; law < LAWS; law++)
    {
        sim *s = open_law(POINT, law);
        s->v[0] = 1;
        sim_step(s);
        check_near("v_x", s->v[0], x[law], 1e-9);
        check_near("v_y", s->v[1], 0, 1e-12);
        check_near("v_z", s->v[2], z[law], 1e-9);
        assert_string_equal(s->info.law, laws[law]);
        check_below("residual", s->info.residual, 1e-12);
        if (law == CCP)
            /* L_N |s_T| over the impulse that stops 1 m/s */
            check_near("unrelaxed residual", s->info.unrelaxed, (0.398038 + 9.81e-3) * 0.398038, 1e-6);
        else
            check_below("unrelaxed residual", s->info.unrelaxed, 1e-12);
        sim_close(s);
    }
}

/* The largest pull that a law holds, over mu N: cone 1, box 1 / max(|cos|, |sin|), diamond 1 / (|cos| + |sin|). */
static double held_pull(int law, double angle)
{
    double c = fabs(cos(angle)), s = fabs(sin(angle));
    return law == BOX ? 1 / fmax(c, s) : law == DIAMOND ? 1 / (c + s) : 1;
}

/* Pulled at its centre along 16 directions from rest: held below that, and not above. */
static void check_pulls(const char *model, double least)
{
    for (int law = 0; law < LAWS; law++)
        for (int k = 0; k < DIRECTIONS; k++)
            for (int above = 0; above < 2; above++)
            {
                sim *s = open_law(model, law);
                double angle = 2 * PI * k / DIRECTIONS, off = 1e-3;
                double pull = 0.5 * gravity * held_pull(law, angle) * (above ? 1 + off : 1 - off);
                s->tau[0] = pull * cos(angle);
                s->tau[1] = pull * sin(angle);
                sim_step(s);
                double speed = hypot(s->v[0], s->v[1]);
                if (above)
                    assert_true(speed > least * off * 0.5 * gravity * 1e-3);
                else
                    check_below("speed", speed, 1e-11);
                sim_close(s);
            }
}

static void pulled_point(void **state)
{
    (void)state;
    check_pulls(POINT, 0.3);
}

static void pulled_block(void **state)
{
    (void)state;
    check_pulls(BLOCK, 0.3);
}

/* Friction of a point that slides: mu N against the slip, on the corner, or on the nearest axis; half and half on the
 * diagonal, where both are the same. */
static void sliding_directions(void **state)
{
    (void)state;
    const double loss = 0.5 * gravity * 1e-3;
    for (int law = 0; law < LAWS; law++)
        for (int k = 0; k < DIRECTIONS; k++)
        {
            sim *s = open_law(POINT, law);
            double angle = 2 * PI * k / DIRECTIONS, c = cos(angle), n = sin(angle), want[2];
            bool along_x = fabs(c) > fabs(n) + 1e-9, along_y = fabs(n) > fabs(c) + 1e-9;
            s->v[0] = c;
            s->v[1] = n;
            sim_step(s);
            want[0] = c - loss * c;
            want[1] = n - loss * n;
            if (law == BOX)
            {
                want[0] = fabs(c) > 1e-9 ? c - copysign(loss, c) : 0;
                want[1] = fabs(n) > 1e-9 ? n - copysign(loss, n) : 0;
            }
            if (law == DIAMOND)
            {
                double share_x = along_x ? 1 : along_y ? 0 : 0.5;
                want[0] = c - copysign(loss * share_x, c);
                want[1] = n - copysign(loss * (1 - share_x), n);
            }
            if (law == CCP) /* N = m (mu |v_T+| + g dt), v_T+ = v - mu N: |v_T+| = (1 - mu g dt) / (1 + mu^2) */
            {
                want[0] = (1 - loss) / 1.25 * c;
                want[1] = (1 - loss) / 1.25 * n;
            }
            check_near("v_x", s->v[0], want[0], 1e-9);
            check_near("v_y", s->v[1], want[1], 1e-9);
            sim_close(s);
        }
}

/* ---- derivatives ---- */

static int compared, skipped;
static int switched; /* differences that would go across a change of mode, or a kink */

/* dv+ by q, v, tau (nv columns each) and by all parameters, row by row */
typedef struct rows
{
    int nv, columns;
    double *number;
} rows;

static double *row_of(const rows *r, int row)
{
    return r->number + (ptrdiff_t)row * r->columns;
}

static tg_cotangent fields_of(const rows *r, int row)
{
    double *at = row_of(r, row);
    return (tg_cotangent){.q = at, .v = at + r->nv, .tau = at + 2 * r->nv, .params = at + 3 * r->nv};
}

/* Blocks agree to 1e-6 of their largest number (at least 1); differences are NaN across a change of mode. */
static void compare_blocks(const sim *s, const rows *found, const rows *expected)
{
    for (int block = 0; block < 4; block++)
    {
        int first = block * found->nv, last = block < 3 ? first + found->nv : found->columns;
        double size = 1;
        for (int row = 0; row < found->nv; row++)
            for (int k = first; k < last; k++)
                size = fmax(size, isnan(row_of(expected, row)[k]) ? 0 : fabs(row_of(expected, row)[k]));
        for (int row = 0; row < found->nv; row++)
            for (int k = first; k < last; k++)
            {
                double a = row_of(found, row)[k], b = row_of(expected, row)[k];
                assert_true(isfinite(a));
                skipped += isnan(b);
                compared += !isnan(b);
                if (!isnan(b) && !(fabs(a - b) <= 1e-6 * size))
                    fail_msg("%s: dv+[%d] / d number %d of block %d = %.10g, differences %.10g", s->options.law, row,
                             k - first, block, a, b);
            }
    }
}

/* The derivative of one step against differences, where its label is exact; *largest: of dv+ / dv. */
static tg_label compare(sim *s, double *largest)
{
    enum
    {
        MOST = 16
    };
    int nv = s->n.nv, columns = 3 * nv + s->n.nparams;
    double q0[MOST], v0[MOST], *memory = numbers(2 * nv * columns);
    rows found = {nv, columns, memory}, expected = {nv, columns, memory + (ptrdiff_t)nv * columns};
    tg_label label = {0};
    tg_differences *d;
    int across = 0;
    assert_true(nv <= MOST && s->n.nq <= MOST);
    assert_int_equal(tg_differences_create(s->m, 0, &d, NULL), TG_OK);
    memcpy(q0, s->q, sizeof(double) * (size_t)s->n.nq);
    memcpy(v0, s->v, sizeof(double) * (size_t)nv);
    sim_step(s);
    for (int row = 0; row < nv; row++)
    {
        double gv[MOST] = {0};
        tg_cotangent in = fields_of(&found, row), by_differences = fields_of(&expected, row);
        tg_differences_request request = {
            .options = &s->options, .state = &(tg_state){q0, v0, NULL, NULL}, .control = &(tg_control){.tau = s->tau}};
        gv[row] = 1;
        if (tg_step_vjp(s->m, s->w, &(tg_cotangent){.v = gv}, &in, &label) != TG_OK)
            fail_msg("%s", tg_work_message(s->w));
        tg_differences_count count;
        assert_int_equal(tg_step_differences(s->m, d, &request, &(tg_cotangent){.v = gv}, &by_differences, &count),
                         TG_OK);
        across += (int)(count.switched + count.kinked);
        for (int k = 0; k < nv; k++)
            *largest = fmax(*largest, fabs(in.v[k]));
    }
    for (int k = 0; k < nv * columns; k++)
        assert_true(isfinite(found.number[k]));
    if (label.kind == TG_LABEL_EXACT)
    {
        compare_blocks(s, &found, &expected);
        switched += across;
    }
    tg_differences_destroy(d);
    free(memory);
    return label;
}

/* Of exact derivatives few differences are across a change of mode. Others that are skipped: numbers at the edge of
 * their domain (a compliance of 0), and geoms with the same number where the larger one counts. */
static void check_share(void)
{
    print_message("%d numbers compared, %d skipped, of these %d at a change of mode\n", compared, skipped, switched);
    assert_true(switched * 20 < compared + switched);
}

/* sticking, sliding along random directions, and lifting off */
static void derivatives(void **state)
{
    (void)state;
    static const char *const models[] = {POINT, BLOCK};
    int exact[LAWS] = {0};
    for (int law = CCP; law < LAWS; law++)
        for (int k = 0; k < 2; k++)
            for (int i = 0; i < 12; i++)
            {
                double largest = 0, speed = i % 3 == 0 ? 0 : 1;
                sim *s = open_law(models[k], law);
                for (int j = 0; j < s->n.nv; j++)
                {
                    s->v[j] = (j < 2 ? speed : 0.001 * speed) * noise();
                    s->tau[j] = j < 2 ? noise() : 0;
                }
                s->v[2] = i % 3 == 2 ? 0.5 : 0;
                tg_label label = compare(s, &largest);
                exact[law] += label.kind == TG_LABEL_EXACT && (speed == 0 || largest > 0.1);
                sim_close(s);
            }
    check_share();
    assert_true(compared > 10000);
    for (int law = CCP; law < LAWS; law++)
    {
        print_message("%s: %d of 24 exact and right\n", laws[law], exact[law]);
        assert_true(exact[law] >= 12);
    }
}

/* at the change between sticking and sliding, and on the diagonal of the diamond: finite, and labelled */
static void labels(void **state)
{
    (void)state;
    for (int law = CCP; law < LAWS; law++)
    {
        double largest = 0;
        sim *s = open_law(POINT, law);
        s->tau[0] = 0.5 * gravity;
        tg_label label = compare(s, &largest);
        assert_int_not_equal(label.kind, TG_LABEL_EXACT);
        sim_close(s);
    }
}

/* A joint that its weight, 9.81 N, presses against a limit, with dry friction. Both hold it, and as the limit moves it
 * is the joint that follows, all of it: both ways if friction cannot bear the weight, otherwise one way. */
static void limit_with_dry_friction(void **state)
{
    (void)state;
    static const struct
    {
        double friction;
        tg_label_kind label;
    } cases[] = {{3, TG_LABEL_EXACT}, {9, TG_LABEL_EXACT}, {30, TG_LABEL_ONE_SIDED}};
    for (int law = CCP; law < LAWS; law++)
        for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        {
            sim *s = open_law(text("<mujoco><option timestep='0.002'/><worldbody><body><joint name='j' type='slide' "
                                   "axis='0 0 1' limited='true' range='0 1' frictionloss='%g'/>"
                                   "<geom type='sphere' size='0.1' mass='1'/></body></worldbody></mujoco>",
                                   cases[k].friction),
                              law);
            int index, count;
            double dv;
            assert_int_equal(tg_param_match(s->m, "joint.j.range[0]", &index, 1, &count, NULL), TG_OK);
            tg_jacobian J = {.dv_dparams = &dv, .index = &index, .nindex = count};
            sim_step(s);
            check_near("speed", s->v[0], 0, 1e-9);
            assert_int_equal(tg_step_jacobian(s->m, s->w, &J), TG_OK);
            assert_int_equal(J.label.kind, cases[k].label);
            check_near("dt dv / d range", 0.002 * dv, 1, 1e-9);
            sim_close(s);
        }
}

/* ---- refusals ---- */

static void refuse(sim *s, tg_status expected, const char *part)
{
    tg_state at = {s->q, s->v, s->act, NULL};
    assert_int_equal(tg_step(s->m, s->w, &s->options, &at, NULL, &at, NULL), expected);
    if (strstr(tg_work_message(s->w), part) == NULL)
        fail_msg("'%s' is not in '%s'", part, tg_work_message(s->w));
}

static void refusals(void **state)
{
    (void)state;
    sim *s = sim_open(POINT);
    tg_options plain = s->options;
    s->options.law = "cone";
    refuse(s, TG_ERR_NAME, "unknown law 'cone'");
    s->options.law = NULL;
    refuse(s, TG_ERR_NAME, "unknown law ''");
    s->options = plain;
    s->options.law = "ccp";
    s->options.solver = "ipm";
    refuse(s, TG_ERR_UNSUPPORTED, "law 'ccp'");
    s->options.solver = "newton";
    s->options.law = "lcp-diamond";
    s->options.restitution = TG_RESTITUTION_POISSON;
    refuse(s, TG_ERR_UNSUPPORTED, "Poisson");
    s->options.law = "ccp";
    s->options.restitution = TG_RESTITUTION_NEWTON;
    s->options.impact = TG_IMPACT_WITHIN;
    refuse(s, TG_ERR_UNSUPPORTED, "within");
    s->options.impact = TG_IMPACT_END;
    s->options.backward = TG_BACKWARD_SMOOTHED;
    refuse(s, TG_ERR_UNSUPPORTED, "smoothed");
    sim_close(s);
    for (int i = 0; i < LAWS; i++)
        assert_string_equal(tg_law_name(i), laws[i]);
    assert_string_equal(tg_law_name(LAWS), "compliant"); /* test_explicit.c */
    assert_string_equal(tg_law_name(LAWS + 1), "impulse");
    assert_null(tg_law_name(LAWS + 2));
}

/* Contacts whose normals turn: their frames spin about them, and the sides of a pyramid with them. */
static const char *const turning[] = {
    "<mujoco><worldbody><geom name='floor' type='plane' size='1 1 1' euler='20 10 0' friction='0.3'/>"
    "<body pos='0 0 0.1'><freejoint/><geom type='sphere' size='0.1' friction='0.31'/></body></worldbody></mujoco>",

    "<mujoco><worldbody><geom name='floor' type='sphere' size='0.5' friction='0.3'/>"
    "<body pos='0.2 0.1 0.56'><freejoint/><geom type='sphere' size='0.1' friction='0.31'/></body></worldbody></mujoco>",

    "<mujoco><worldbody><body pos='0 0 -0.1'><joint type='ball'/>"
    "<geom type='box' size='0.5 0.5 0.1' mass='2' friction='0.3'/></body>"
    "<body pos='0.05 0.02 0.1'><freejoint/><geom type='sphere' size='0.1' "
    "friction='0.31'/></body></worldbody></mujoco>",

    "<mujoco><worldbody><body pos='0 0 -0.1' euler='10 15 0'><joint type='ball'/>"
    "<geom type='capsule' size='0.1 0.5' euler='0 90 0' mass='2' friction='0.3'/></body>"
    "<body pos='0.02 0.02 0.11'><freejoint/><geom type='ellipsoid' size='0.1 0.12 0.1' friction='0.31' condim='6'/>"
    "</body></worldbody></mujoco>"};

static void frames_that_spin(void **state)
{
    (void)state;
    const int states = TEST_EFFORT > 1 ? 3 : 12;
    int found[LAWS] = {0}, touched = 0, models = (int)(sizeof turning / sizeof turning[0]);
    compared = skipped = switched = 0;
    for (int model = 0; model < models; model++)
        for (int law = CCP; law < LAWS; law++)
            for (int i = 0; i < states; i++)
            {
                double largest = 0;
                sim *s = open_law(turning[model], law);
                s->options.law = "ncp";
                for (int k = 0; k < 40 && (k == 0 || s->info.contacts == 0); k++)
                    sim_step(s);
                s->options.law = laws[law];
                for (int j = 0; j < s->n.nv; j++)
                    s->v[j] += (i % 3 == 0 ? 0.01 : 0.5) * noise();
                tg_label label = compare(s, &largest);
                touched += s->info.contacts > 0;
                found[law] += s->info.contacts > 0 && label.kind == TG_LABEL_EXACT && largest > 0.1;
                sim_close(s);
            }
    print_message("%d of %d touch\n", touched, (LAWS - CCP) * models * states);
    check_share();
    for (int law = CCP; law < LAWS; law++)
    {
        print_message("%s: %d of %d exact and right\n", laws[law], found[law], models * states);
        assert_true(2 * found[law] >= models * states);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(point_mass),
                                       cmocka_unit_test(pulled_point),
                                       cmocka_unit_test(pulled_block),
                                       cmocka_unit_test(sliding_directions),
                                       cmocka_unit_test(derivatives),
                                       cmocka_unit_test(labels),
                                       cmocka_unit_test(frames_that_spin),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(limit_with_dry_friction)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
