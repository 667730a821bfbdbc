/* Known answers: problems small enough to be solved on paper. dt = 1 ms, g = 9.81 m/s^2 unless said otherwise. */
#include "contact_test.h"

static const double up[3] = {0, 0, 1};
static const double dt = 1e-3, gravity = 9.81;

/* a cube of edge a on the plane z = 0, four corners in the order ++, -+, --, +- */
static void cube_on_plane(scene *s, double mass, double edge, double mu, double angle)
{
    const double size[3] = {edge, edge, edge}, centre[3] = {0, 0, edge / 2};
    double inertia[3];
    box_inertia(mass, size, inertia);
    int b = add_body(s, mass, inertia, NULL, centre);
    const double sign[4][2] = {{1, 1}, {-1, 1}, {-1, -1}, {1, -1}};
    for (int k = 0; k < 4; k++)
    {
        const double p[3] = {sign[k][0] * edge / 2, sign[k][1] * edge / 2, 0};
        add_contact(s, WORLD, b, p, up, angle, 3, mu, 0, 0);
    }
    s->v[2] = -gravity * dt;
}

/* mu m g dt slows it, straight, in every direction */
static void block_slides(void **state)
{
    (void)state;
    scene *s = scene_new();
    for (int k = 0; k < 16; k++)
    {
        double a = 2 * 3.14159265358979323846 * k / 16;
        memset(s, 0, sizeof *s);
        cube_on_plane(s, 1, 0.2, 0.5, 0.3);
        s->v[0] = cos(a);
        s->v[1] = sin(a);
        solve(s);
        assert_solved(s);
        double speed = 1 - 0.5 * gravity * dt;
        assert_near(s->v_plus[0], speed * cos(a), 1e-12);
        assert_near(s->v_plus[1], speed * sin(a), 1e-12);
        for (int i = 2; i < 6; i++)
            assert_near(s->v_plus[i], 0, 1e-12);
    }
    free(s);
}

static void block_sticks(void **state)
{
    (void)state;
    scene *s = scene_new();
    cube_on_plane(s, 1, 0.2, 0.5, 0);
    s->v[0] = 0.9 * 0.5 * gravity * dt; /* pulled with 90 % of what friction holds */
    solve(s);
    assert_solved(s);
    for (int i = 0; i < 6; i++)
        assert_near(s->v_plus[i], 0, 1e-10); /* front corners creep in the compliant sense: held to the promise */
    free(s);
}

/* one point mass on a plane inclined by atan(mu) +- 1e-6 rad holds and slides */
static void incline(void **state)
{
    (void)state;
    const double inertia[3] = {1, 1, 1}, origin[3] = {0, 0, 0};
    scene *s = scene_new();
    for (double mu = 0.1; mu < 2; mu += 0.3)
        for (int side = -1; side <= 1; side += 2)
        {
            double angle = atan(mu) + side * 1e-6;
            memset(s, 0, sizeof *s);
            int b = add_body(s, 1, inertia, NULL, origin);
            add_contact(s, WORLD, b, origin, up, 0.4, 3, mu, 0, 0);
            s->v[0] = gravity * dt * sin(angle);
            s->v[2] = -gravity * dt * cos(angle);
            solve(s);
            assert_solved(s);
            double slides = gravity * dt * (sin(angle) - mu * cos(angle));
            assert_near(s->v_plus[0], side > 0 ? slides : 0, 1e-14);
        }
    free(s);
}

/* Painleve's rod: mass 1, half-length 1, at atan 2 to the ground, its centre at +x of the tip, the tip slides along -x
 * at 1 m/s. mu = 1 slides on; mu = 2 jams. Plane problem: the other coordinates do not couple. */
static void painleve(void **state)
{
    (void)state;
    const double angle = atan(2.0);
    const double centre[3] = {cos(angle), 0, sin(angle)}, tip[3] = {0, 0, 0}, inertia[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3};
    const double expected[2][3] = {{0.024525, 0.024525, -0.946045}, {0.402943, 0.308339, 0}};
    scene *s = scene_new();
    for (int k = 0; k < 2; k++)
        for (int start = 0; start < 3; start++)
        {
            memset(s, 0, sizeof *s);
            int b = add_body(s, 1, inertia, NULL, centre);
            int row = add_contact(s, WORLD, b, tip, up, 0, 3, k + 1, 0, 0);
            s->v[0] = -1;
            s->v[2] = -gravity * dt;
            s->warm[row] = start;
            s->warm[row + 1] = -0.3 * start;
            solve(s);
            assert_solved(s);
            double tangential = 0, tip_velocity = 0;
            for (int i = 1; i < 3; i++)
            {
                tangential += s->J[row + i][0] * s->L[row + i];
                tip_velocity += s->J[row + i][0] * s->sigma[row + i];
            }
            assert_near(tangential, expected[k][0], 1e-6); /* six decimals are given */
            assert_near(s->L[row], expected[k][1], 1e-6);
            assert_near(tip_velocity, expected[k][2], 1e-6);
        }
    free(s);
}

/* ---- the sliding, spinning cube: not unique without the selection rule ---- */

static void permute_contacts(const scene *from, const int order[4], scene *to)
{
    *to = *from;
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 3; i++)
        {
            memcpy(to->J[3 * k + i], from->J[3 * order[k] + i], sizeof to->J[0]);
            to->warm[3 * k + i] = from->warm[3 * order[k] + i];
        }
}

static void spinning_cube(void **state)
{
    (void)state;
    const double v_plus[6] = {0.9959527367, 0.2980290204, 0, 0, 0, 3.9713330966};
    const double normal[4] = {0.003957, 0.001933, 0.000948, 0.002972};
    const int orders[4][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}, {1, 3, 0, 2}};
    scene *s = scene_new(), *permuted = scene_new();
    double first[12] = {0}, first_v[6] = {0};
    source r = {7};
    cube_on_plane(s, 1, 0.2, 0.5, 0);
    s->v[0] = 1;
    s->v[1] = 0.3;
    s->v[5] = 4;
    for (int trial = 0; trial < 10; trial++)
        for (int o = 0; o < 4; o++)
        {
            for (int i = 0; i < 12; i++)
                s->warm[i] = trial == 0 ? 0 : uniform(&r, -0.01, 0.01) * (trial == 9 ? 100 : 1);
            permute_contacts(s, orders[o], permuted);
            solve(permuted);
            assert_solved(permuted);
            assert_int_equal(permuted->result.selection, TG_SELECT_PROJECTED);
            for (int i = 0; i < 6; i++)
                assert_near(permuted->v_plus[i], v_plus[i], 1e-10);
            for (int k = 0; k < 4; k++)
                assert_near(permuted->L[3 * k], normal[orders[o][k]], 1e-6);
            for (int k = 0; k < 12; k++)
            {
                int here = 3 * orders[o][k / 3] + k % 3;
                if (trial == 0 && o == 0)
                    first[here] = permuted->L[k];
                assert_near(permuted->L[k], first[here], 1e-12);
            }
            for (int i = 0; i < 6; i++)
            {
                if (trial == 0 && o == 0)
                    first_v[i] = permuted->v_plus[i];
                assert_near(permuted->v_plus[i], first_v[i], 1e-13);
            }
        }
    free(s);
    free(permuted);
}

/* disc on four rim points: the spin is slowed by mu m g R dt / I, I = m R^2 / 2, and 20 rad/s last 0.2039 s */
static void disc(void **state)
{
    (void)state;
    const double R = 0.1, m = 1, inertia[3] = {m * R * R / 4, m * R * R / 4, m * R * R / 2}, centre[3] = {0, 0, 0};
    scene *s = scene_new();
    double spin = 20;
    int steps = 0;
    for (; spin > 0 && steps < 1000; steps++)
    {
        double warm[12];
        memcpy(warm, s->L, sizeof warm);
        memset(s, 0, sizeof *s);
        int b = add_body(s, m, inertia, NULL, centre);
        for (int k = 0; k < 4; k++)
        {
            const double p[3] = {R * cos(1.57079632679489662 * k), R * sin(1.57079632679489662 * k), 0};
            add_contact(s, WORLD, b, p, up, 0, 3, 0.5, 0, 0);
        }
        memcpy(s->warm, warm, sizeof warm);
        s->v[2] = -gravity * dt;
        s->v[5] = spin;
        solve(s);
        assert_solved(s);
        double slower = spin - 0.5 * m * gravity * R * dt / inertia[2];
        assert_near(s->v_plus[5], slower > 0 ? slower : 0, 1e-12);
        spin = s->v_plus[5] > 1e-9 ? s->v_plus[5] : 0;
    }
    assert_near(steps * dt, 0.2039, dt);
    free(s);
}

/* three touching balls, e = 1 by bias e J_N v at the contact that closes: (-1/3, 2/3, 2/3) */
static void three_balls(void **state)
{
    (void)state;
    const double inertia[3] = {1, 1, 1}, x[3] = {1, 0, 0}, p[2][3] = {{0.5, 0, 0}, {1.5, 0, 0}};
    scene *s = scene_new();
    for (int k = 0; k < 3; k++)
    {
        const double centre[3] = {k, 0, 0};
        add_body(s, 1, inertia, NULL, centre);
    }
    for (int k = 0; k < 2; k++)
        add_contact(s, k, k + 1, p[k], x, 0, 1, 0, 0, 0);
    s->v[0] = 1;
    s->bias[0] = -1; /* e J_N v */
    solve(s);
    assert_solved(s);
    assert_near(s->v_plus[0], -1.0 / 3, 1e-14);
    assert_near(s->v_plus[6], 2.0 / 3, 1e-14);
    assert_near(s->v_plus[12], 2.0 / 3, 1e-14);
    free(s);
}

/* ---- rows that are not contacts ---- */

static scene *slider(double velocity)
{
    const double inertia[3] = {1, 1, 1}, origin[3] = {0, 0, 0};
    scene *s = scene_new();
    add_body(s, 2, inertia, NULL, origin);
    s->v[0] = velocity;
    return s;
}

/* dry friction of a joint holds up to its bound and takes the bound beyond */
static void joint_friction(void **state)
{
    (void)state;
    const double x[3] = {1, 0, 0}, origin[3] = {0, 0, 0}, bound = 0.3;
    const double velocity[5] = {0.1, 0.149, 0.151, 1, -1};
    for (int k = 0; k < 5; k++)
    {
        scene *s = slider(velocity[k]);
        int row = add_rows(s, TG_BLOCK_FRICTION, 1);
        row_add(s, row, 0, origin, x, false, 1);
        s->block[0].bound = bound;
        solve(s);
        assert_solved(s);
        double change = fmin(fmax(-velocity[k], -bound / 2), bound / 2);
        assert_near(s->v_plus[0], velocity[k] + change, 1e-15);
        free(s);
    }
}

static void limit(void **state)
{
    (void)state;
    const double x[3] = {1, 0, 0}, origin[3] = {0, 0, 0};
    for (int side = -1; side <= 1; side += 2)
    {
        scene *s = slider(side * 0.5);
        int row = add_rows(s, TG_BLOCK_LIMIT, 1);
        row_add(s, row, 0, origin, x, false, 1);
        s->bias[row] = 0.1; /* still 0.1 dt away */
        solve(s);
        assert_solved(s);
        assert_near(s->v_plus[0], side > 0 ? 0.5 : -0.1, 1e-15);
        free(s);
    }
}

/* two equal bodies made one by a weld of six rows: momentum is kept, both move alike. Six more rows at another point
 * say the same: redundant, and the impulses are shared by the rule Z^T L = 0. */
static void equality(void **state)
{
    (void)state;
    const double inertia[3] = {0.1, 0.2, 0.3}, at[2][3] = {{0, 0, 0}, {1, 0, 0}},
                 joint[2][3] = {{0.5, 0, 0}, {0.2, 1, 0}};
    double first[6] = {0};
    for (int copies = 1; copies <= 2; copies++)
    {
        scene *s = scene_new();
        for (int b = 0; b < 2; b++)
            add_body(s, 1 + b, inertia, NULL, at[b]);
        for (int c = 0; c < copies; c++)
        {
            int row = add_rows(s, TG_BLOCK_EQUALITY, 6);
            for (int i = 0; i < 6; i++)
                for (int b = 0; b < 2; b++)
                {
                    const double axis[3] = {i % 3 == 0, i % 3 == 1, i % 3 == 2};
                    row_add(s, row + i, b, joint[c], axis, i >= 3, b == 0 ? -1 : 1);
                }
        }
        const double v[12] = {0.1, 0.5, -0.3, 1, 2, 3, 0, 0.2, 0.1, -1, 0.5, 0.2};
        memcpy(s->v, v, sizeof v);
        solve(s);
        assert_solved(s);
        assert_int_equal(s->result.selection, TG_SELECT_PROJECTED);
        assert_near(s->v_plus[3], s->v_plus[9], 1e-13);
        for (int i = 0; i < 3; i++)
            assert_near(s->v_plus[i] + 2 * s->v_plus[6 + i], v[i] + 2 * v[6 + i], 1e-13);
        for (int i = 0; i < 6; i++)
        {
            if (copies == 1)
                first[i] = s->v_plus[i];
            assert_near(s->v_plus[i], first[i], 1e-12);
        }
        free(s);
    }
}

/* a contact that is given eight times acts as one */
static void duplicates(void **state)
{
    (void)state;
    const double inertia[3] = {0.02, 0.03, 0.04}, centre[3] = {0.1, 0.05, 0.2}, tip[3] = {0, 0, 0};
    double first[6] = {0};
    for (int copies = 1; copies <= 8; copies *= 2)
    {
        scene *s = scene_new();
        int b = add_body(s, 1, inertia, NULL, centre);
        for (int c = 0; c < copies; c++)
            add_contact(s, WORLD, b, tip, up, 0.7 * c, 3, 0.6, 0, 0);
        s->v[0] = 0.1;
        s->v[2] = -0.5;
        s->v[4] = 0.2;
        solve(s);
        assert_solved(s);
        for (int i = 0; i < 6; i++)
        {
            if (copies == 1)
                first[i] = s->v_plus[i];
            assert_near(s->v_plus[i], first[i], 1e-12);
        }
        for (int c = 1; c < copies; c++)
            assert_near(s->L[3 * c], s->L[0], 1e-9);
        free(s);
    }
}

/* mu = 0 in every dimension: only the normal acts */
static void no_friction(void **state)
{
    (void)state;
    const int dims[4] = {1, 3, 4, 6};
    const double inertia[3] = {0.02, 0.03, 0.04}, centre[3] = {0, 0, 0.2}, tip[3] = {0, 0, 0};
    for (int k = 0; k < 4; k++)
    {
        scene *s = scene_new();
        int b = add_body(s, 1, inertia, NULL, centre);
        add_contact(s, WORLD, b, tip, up, 0, dims[k], 0, 0, 0);
        s->v[0] = 1;
        s->v[2] = -0.5;
        s->v[5] = 3;
        solve(s);
        assert_solved(s);
        assert_near(s->v_plus[0], 1, 0);
        assert_near(s->v_plus[2], 0, 1e-15);
        assert_near(s->v_plus[5], 3, 0);
        free(s);
    }
}

/* ball spinning on the spot, condim 4: the spin loses mu_spin N dt / I; and stops within a step when that is enough */
static void torsional(void **state)
{
    (void)state;
    const double inertia[3] = {0.004, 0.004, 0.004}, centre[3] = {0, 0, 0.1}, tip[3] = {0, 0, 0}, mu = 0.005;
    for (int k = 0; k < 2; k++)
    {
        scene *s = scene_new();
        int b = add_body(s, 1, inertia, NULL, centre);
        add_contact(s, WORLD, b, tip, up, 0, 4, 0.5, mu, 0);
        double loss = mu * gravity * dt / inertia[2];
        s->v[2] = -gravity * dt;
        s->v[5] = k == 0 ? 5 : 0.9 * loss;
        solve(s);
        assert_solved(s);
        assert_near(s->v_plus[5], k == 0 ? 5 - loss : 0, 1e-13);
        free(s);
    }
}

/* a cube on a cube on the ground; mass ratios from 1e-4 (1 g on 10 kg) to 1e6 either way: nothing moves */
static void mass_ratios(void **state)
{
    (void)state;
    const double masses[6][2] = {{10, 1e-3}, {1e-3, 10}, {1, 1e6}, {1e6, 1}, {1e-3, 1e3}, {1e3, 1e-3}};
    for (int k = 0; k < 6; k++)
    {
        scene *s = scene_new();
        for (int level = 0; level < 2; level++)
        {
            const double size[3] = {0.2, 0.2, 0.2}, centre[3] = {0, 0, 0.1 + 0.2 * level};
            double inertia[3];
            box_inertia(masses[k][level], size, inertia);
            int b = add_body(s, masses[k][level], inertia, NULL, centre);
            for (int c = 0; c < 4; c++)
            {
                const double p[3] = {c % 2 ? 0.1 : -0.1, c / 2 ? 0.1 : -0.1, 0.2 * level};
                add_contact(s, level == 0 ? WORLD : b - 1, b, p, up, 0, 3, 0.5, 0, 0);
            }
            s->v[6 * b + 2] = -gravity * dt;
        }
        solve(s);
        assert_solved(s);
        for (int i = 0; i < 12; i++)
            assert_near(s->v_plus[i], 0, 1e-9);
        free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(block_slides), cmocka_unit_test(block_sticks),   cmocka_unit_test(incline),
        cmocka_unit_test(painleve),     cmocka_unit_test(spinning_cube),  cmocka_unit_test(disc),
        cmocka_unit_test(three_balls),  cmocka_unit_test(joint_friction), cmocka_unit_test(limit),
        cmocka_unit_test(equality),     cmocka_unit_test(duplicates),     cmocka_unit_test(no_friction),
        cmocka_unit_test(torsional),    cmocka_unit_test(mass_ratios),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
