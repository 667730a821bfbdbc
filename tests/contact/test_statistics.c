/* Many problems, stepped and random: the share that is certified, iterations, time, and that the result does not depend
 * on the impulses a solve starts from. Prints one line a set. */
#include "contact_test.h"
#include "support/effort.h"

static const double up[3] = {0, 0, 1};
static const double dt = 1e-3, gravity = 9.81;

/* a share of the samples, at least one */
static int effort(int samples)
{
    return samples > TEST_EFFORT ? samples / TEST_EFFORT : 1;
}

/* ---- what is counted ---- */

typedef struct tally
{
    const char *name;
    int problems, solved, by_selection[TG_SELECT_KINDS];
    long rows, sweeps, newton, interior;
    int most_newton, most_interior, needed_interior;
    double seconds, slowest, worst_residual;
    /* Other starts: those that moved v+ by more than 1e-10, L by more than 1e-6; and those that led to a second
     * solution, certified and more than 1e-6 m/s away. */
    int compared, different_v, different_L, twofold;
    double worst_v, worst_L;
} tally;

static void count(tally *t, const scene *s, double seconds)
{
    double residual = residual_long_double(s);
    t->problems++;
    t->solved += s->result.status == TG_SOLVE_SOLVED && residual <= 1e-8;
    t->by_selection[s->result.selection]++;
    t->rows += s->rows;
    t->sweeps += s->result.sweeps;
    t->newton += s->result.newton;
    t->interior += s->result.interior;
    t->needed_interior += s->result.interior > 0;
    t->most_newton = s->result.newton > t->most_newton ? s->result.newton : t->most_newton;
    t->most_interior = s->result.interior > t->most_interior ? s->result.interior : t->most_interior;
    t->seconds += seconds;
    t->slowest = fmax(t->slowest, seconds);
    t->worst_residual = fmax(t->worst_residual, residual);
}

static void print_tally(const tally *t)
{
    double n = t->problems;
    print_message(
        "%-26s %6d problems, %5.1f rows: solved %6.2f %%, worst %.0e; newton %.1f (max %d), sweeps %.1f, interior %.2f "
        "(max %d, in %.2f %%); %.1f us (max %.0f)\n",
        t->name, t->problems, (double)t->rows / n, 100 * t->solved / n, t->worst_residual, (double)t->newton / n,
        t->most_newton, (double)t->sweeps / n, (double)t->interior / n, t->most_interior, 100 * t->needed_interior / n,
        1e6 * t->seconds / n, 1e6 * t->slowest);
    print_message("%-26s unique %d, projected %d, compliant %d, unselected %d", "", t->by_selection[0],
                  t->by_selection[1], t->by_selection[2], t->by_selection[3]);
    if (t->compared > 0)
        print_message(
            "; other starts: %d compared, v+ differs in %d (worst %.0e; two solutions: %d), L in %d (worst %.0e)",
            t->compared, t->different_v, t->worst_v, t->twofold, t->different_L, t->worst_L);
    print_message("\n");
}

static void solve_counted(scene *s, const char *solver, tally *t)
{
    tg_solve_options options = tg_solve_default();
    options.solver = solver;
    double start = now();
    solve_with(s, &options);
    count(t, s, now() - start);
}

/* the same problem from random impulses: v+ to 1e-10, L to 1e-6 of the largest */
static void solve_again(scene *s, source *r, tally *t)
{
    static double L[SCENE_ROWS], warm[SCENE_ROWS], v[SCENE_DOFS];
    double largest = 0;
    tg_solve_options options = tg_solve_default();
    tg_solve_result result = s->result;
    memcpy(L, s->L, sizeof L);
    memcpy(v, s->v_plus, sizeof v);
    memcpy(warm, s->warm, sizeof warm);
    for (int i = 0; i < s->rows; i++)
        largest = fmax(largest, fabs(L[i]));
    bool cold = below(r, 2) == 0;
    for (int i = 0; i < s->rows; i++)
        s->warm[i] = cold ? 0 : uniform(r, -largest, largest);
    solve_with(s, &options);
    double v_change = 0, L_change = 0;
    for (int i = 0; i < 6 * s->bodies; i++)
        v_change = fmax(v_change, fabs(s->v_plus[i] - v[i]));
    for (int i = 0; i < s->rows; i++)
        L_change = fmax(L_change, fabs(s->L[i] - L[i]));
    L_change = largest > 0 ? L_change / largest : 0;
    t->compared++;
    t->different_v += v_change > 1e-10;
    t->different_L += L_change > 1e-6;
    t->twofold += v_change > 1e-6 && s->result.status == TG_SOLVE_SOLVED && result.status == TG_SOLVE_SOLVED;
    t->worst_v = fmax(t->worst_v, v_change);
    t->worst_L = fmax(t->worst_L, L_change);
    memcpy(s->L, L, sizeof L);
    memcpy(s->v_plus, v, sizeof v);
    memcpy(s->warm, warm, sizeof warm);
    s->result = result;
}

/* ---- stepped: boxes that fall on a plane, vertex contacts ---- */

typedef struct falling_box
{
    double mass, half[3], position[3], quat[4], v[6]; /* v: world axes */
    double impulse[8][3];
} falling_box;

static void box_vertex(const falling_box *b, int k, double p[3])
{
    double R[9];
    rotation(b->quat, R);
    for (int i = 0; i < 3; i++)
        p[i] = b->position[i] + R[3 * i] * (k & 1 ? 1 : -1) * b->half[0] +
               R[3 * i + 1] * (k & 2 ? 1 : -1) * b->half[1] + R[3 * i + 2] * (k & 4 ? 1 : -1) * b->half[2];
}

static void integrate(falling_box *b, const double *v)
{
    memcpy(b->v, v, sizeof b->v);
    double angle = dt * sqrt(v[3] * v[3] + v[4] * v[4] + v[5] * v[5]), q[4], w[4];
    double factor = angle > 1e-12 ? sin(angle / 2) / angle * dt : dt / 2;
    w[0] = cos(angle / 2);
    for (int i = 0; i < 3; i++)
    {
        b->position[i] += dt * v[i];
        w[1 + i] = factor * v[3 + i];
    }
    memcpy(q, b->quat, sizeof q);
    b->quat[0] = w[0] * q[0] - w[1] * q[1] - w[2] * q[2] - w[3] * q[3];
    b->quat[1] = w[0] * q[1] + w[1] * q[0] + w[2] * q[3] - w[3] * q[2];
    b->quat[2] = w[0] * q[2] - w[1] * q[3] + w[2] * q[0] + w[3] * q[1];
    b->quat[3] = w[0] * q[3] + w[1] * q[2] - w[2] * q[1] + w[3] * q[0];
    double size =
        sqrt(b->quat[0] * b->quat[0] + b->quat[1] * b->quat[1] + b->quat[2] * b->quat[2] + b->quat[3] * b->quat[3]);
    for (int i = 0; i < 4; i++)
        b->quat[i] /= size;
}

/* body with mass and inertia of the box at its pose, and its contacts with the plane; ids of the contacts: vertex */
static void place_box(scene *s, const falling_box *b, double mu, int dim, int *vertex)
{
    double R[9], inertia[3], size[3] = {2 * b->half[0], 2 * b->half[1], 2 * b->half[2]};
    rotation(b->quat, R);
    box_inertia(b->mass, size, inertia);
    int body = add_body(s, b->mass, inertia, R, b->position);
    memcpy(s->v + 6 * body, b->v, sizeof b->v);
    s->v[6 * body + 2] -= gravity * dt;
    for (int k = 0; k < 8; k++)
    {
        double p[3];
        box_vertex(b, k, p);
        if (p[2] > 2e-3 + dt * 3)
            continue;
        int row = add_contact(s, WORLD, body, p, up, 0, dim, mu, 0.01, 0.005);
        s->bias[row] = fmax(p[2] / dt, -0.05);
        vertex[s->blocks - 1] = k;
        for (int i = 0; i < 3; i++)
            s->warm[row + i] = b->impulse[k][i];
    }
}

/* solved: the least share of certified problems. start_decides: the largest share of problems in which the impulses
 * that the solver starts from decide the answer. Unrelaxed friction has problems with several isolated solutions (a
 * body that can stick or tip), which no rule of redundant rows selects from: of the random problems with large friction
 * or mass ratios up to 3 % are such. In a simulation these impulses are those of the cache, so this is the share in
 * which the cache is a part of the state. It does not measure rounding: answers that differ are a second solution (v+
 * more than 1e-6 m/s away, both certified) in all but one of ten. Builds that take few samples do not count shares. */
static void assert_tally(const tally *t, double solved, double start_decides)
{
    assert_true(t->solved >= solved * t->problems);
    assert_true(t->different_v <= start_decides * t->compared);
    assert_true(t->different_L <= start_decides * t->compared);
    assert_true(TEST_EFFORT > 1 || t->different_v - t->twofold <= 0.1 * start_decides * t->compared);
}

static void step_boxes(const char *name, const char *solver, double mu, int dim, int seeds, double solved)
{
    const int steps = 1200;
    const bool again = strcmp(solver, "newton") == 0;
    tally t = {.name = name};
    scene *s = scene_new();
    for (int seed = 1; seed <= effort(seeds); seed++)
    {
        source r = {(uint64_t)seed * 7919};
        falling_box b = {.mass = 1, .half = {0.1, 0.1, 0.1}, .position = {0, 0, 0.25}, .quat = {1, 0, 0, 0}};
        for (int i = 0; i < 3; i++)
            b.half[i] = uniform(&r, 0.05, 0.15);
        for (int i = 1; i < 4; i++)
            b.quat[i] = uniform(&r, -1, 1);
        for (int i = 0; i < 6; i++)
            b.v[i] = uniform(&r, i < 3 ? -1 : -8, i < 3 ? 1 : 8);
        double still[6] = {b.v[0], b.v[1], b.v[2], b.v[3], b.v[4], b.v[5]};
        integrate(&b, still);
        for (int k = 0; k < steps; k++)
        {
            int vertex[8] = {0};
            s->bodies = s->rows = s->blocks = 0;
            place_box(s, &b, mu, dim, vertex);
            assemble(s);
            if (s->rows == 0)
                apply(s);
            else
            {
                solve_counted(s, solver, &t);
                if (again)
                    solve_again(s, &r, &t);
            }
            memset(b.impulse, 0, sizeof b.impulse);
            for (int c = 0; c < s->blocks; c++)
                for (int i = 0; i < 3; i++)
                    b.impulse[vertex[c]][i] = s->L[s->block[c].row + i];
            integrate(&b, s->v_plus);
        }
    }
    print_tally(&t);
    free(s);
    assert_tally(&t, solved, 0);
}

static void tumbling(void **state)
{
    (void)state;
    step_boxes("box mu 0.5", "newton", 0.5, 3, 8, 1);
    step_boxes("box mu 1.5", "newton", 1.5, 3, 4, 1);
    step_boxes("box mu 0.1", "newton", 0.1, 3, 4, 1);
    step_boxes("box condim 4", "newton", 0.5, 4, 3, 1);
    step_boxes("box condim 6", "newton", 0.5, 6, 3, 1);
    step_boxes("box mu 0.5, ipm", "ipm", 0.5, 3, 2, 1);
    step_boxes("box mu 0.5, pgs", "pgs", 0.5, 3, 2, 0.99);
}

/* ---- stepped with frozen geometry: stacks, walkers, grippers ---- */

/* v of the next step: what came out, gravity, and random forces of the given size (times mass); geometry stays */
static void push(scene *s, source *r, double force)
{
    double p[SCENE_DOFS] = {0}, dv[SCENE_DOFS];
    for (int b = 0; b < s->bodies; b++)
        for (int i = 0; i < 6; i++)
        {
            double arm = i < 3 ? 1 : 0.1;
            p[6 * b + i] = s->mass[b] * dt * (force * arm * uniform(r, -1, 1) - (i == 2 ? gravity : 0));
            p[6 * b + i] += dt * s->force[6 * b + i];
        }
    inverse_mass(s, p, dv);
    for (int i = 0; i < 6 * s->bodies; i++)
        s->v[i] = s->v_plus[i] + dv[i];
}

static void step_frozen(tally *t, scene *s, source *r, const char *solver, int steps, double force, bool again)
{
    assemble(s);
    memcpy(s->v_plus, s->v, sizeof s->v);
    for (int k = 0; k < steps; k++)
    {
        push(s, r, force * (k % 50 < 25 ? 1 : 0.2));
        for (int i = 0; i < s->rows; i++)
            s->g[i] = dot_n(6 * s->bodies, s->J[i], s->v) + s->bias[i];
        solve_counted(s, solver, t);
        if (again)
            solve_again(s, r, t);
        memcpy(s->warm, s->L, sizeof s->warm);
    }
}

/* a tower of boxes with `points` contacts on every face; masses between 10^-spread/2 and 10^spread/2 */
static void tower(scene *s, source *r, int levels, int points, double mu, double spread)
{
    memset(s, 0, sizeof *s);
    for (int k = 0; k < levels; k++)
    {
        double mass = pow(10, uniform(r, -spread / 2, spread / 2)), inertia[3];
        const double size[3] = {0.2, 0.2, 0.2}, centre[3] = {0, 0, 0.1 + 0.2 * k};
        box_inertia(mass, size, inertia);
        int b = add_body(s, mass, inertia, NULL, centre);
        for (int c = 0; c < points; c++)
        {
            double angle = 2 * 3.14159265358979323846 * (c + 0.5) / points;
            double reach = 0.1 / fmax(fabs(cos(angle)), fabs(sin(angle)));
            const double p[3] = {reach * cos(angle), reach * sin(angle), 0.2 * k};
            add_contact(s, b - 1, b, p, up, 0, 3, mu, 0, 0);
        }
    }
}

static void add_ball_joint(scene *s, int a, int b, const double p[3])
{
    int row = add_rows(s, TG_BLOCK_EQUALITY, 3);
    for (int i = 0; i < 3; i++)
    {
        const double axis[3] = {i == 0, i == 1, i == 2};
        row_add(s, row + i, a, p, axis, false, -1);
        row_add(s, row + i, b, p, axis, false, 1);
    }
}

static void add_hinge(scene *s, int a, int b, const double p[3])
{
    add_ball_joint(s, a, b, p);
    int row = add_rows(s, TG_BLOCK_EQUALITY, 2);
    for (int i = 0; i < 2; i++)
    {
        const double axis[3] = {i == 0, 0, i == 1}; /* turns about y */
        row_add(s, row + i, a, p, axis, true, -1);
        row_add(s, row + i, b, p, axis, true, 1);
    }
}

/* trunk, thighs, shins, feet: hips are balls, knees and ankles hinges (minimal coordinates by projection), four points
 * a foot; knees with a limit and dry friction when `rows` */
static void walker(scene *s, source *r, double mu, bool rows)
{
    static const double trunk_size[3] = {0.2, 0.3, 0.5}, link_size[3] = {0.08, 0.08, 0.4},
                        foot_size[3] = {0.22, 0.1, 0.05};
    const double trunk_at[3] = {0, 0, 1.1};
    double inertia[3];
    memset(s, 0, sizeof *s);
    box_inertia(30, trunk_size, inertia);
    add_body(s, 30, inertia, NULL, trunk_at);
    double foot_at[2][3], knee[2][3];
    int shin[2], thigh[2];
    for (int side = 0; side < 2; side++)
    {
        double y = side == 0 ? 0.12 : -0.12, x = uniform(r, -0.15, 0.15), bend = uniform(r, 0.02, 0.1);
        const double hip[3] = {0, y, 0.85}, ankle[3] = {x, y, 0.05}, f[3] = {x + 0.03, y, 0.025};
        const double k[3] = {x / 2 + bend, y, 0.45};
        const double t_at[3] = {(hip[0] + k[0]) / 2, y, 0.65}, s_at[3] = {(k[0] + ankle[0]) / 2, y, 0.25};
        memcpy(foot_at[side], f, sizeof f);
        memcpy(knee[side], k, sizeof k);
        box_inertia(6, link_size, inertia);
        thigh[side] = add_body(s, 6, inertia, NULL, t_at);
        box_inertia(4, link_size, inertia);
        shin[side] = add_body(s, 4, inertia, NULL, s_at);
        box_inertia(1, foot_size, inertia);
        int foot = add_body(s, 1, inertia, NULL, f);
        add_ball_joint(s, 0, thigh[side], hip);
        add_hinge(s, thigh[side], shin[side], k);
        add_hinge(s, shin[side], foot, ankle);
    }
    make_joints(s);
    for (int side = 0; side < 2; side++)
        for (int c = 0; c < 4; c++)
        {
            const double p[3] = {foot_at[side][0] + (c % 2 ? 0.11 : -0.11), foot_at[side][1] + (c / 2 ? 0.05 : -0.05),
                                 0};
            add_contact(s, WORLD, 3 + 3 * side, p, up, 0, 3, mu, 0, 0);
        }
    for (int side = 0; rows && side < 2; side++)
    {
        const double y[3] = {0, 1, 0};
        for (int k = 0; k < 2; k++)
        {
            int row = add_rows(s, k == 0 ? TG_BLOCK_LIMIT : TG_BLOCK_FRICTION, 1);
            row_add(s, row, thigh[side], knee[side], y, true, -1);
            row_add(s, row, shin[side], knee[side], y, true, 1);
            s->bias[row] = k == 0 ? uniform(r, 0, 0.2) : 0;
            s->block[s->blocks - 1].bound = 5 * dt;
        }
    }
}

/* a bar between two pads that slide along x and are pushed together with 12 N: four points a pad, condim 4 */
static void gripper(scene *s, double mu)
{
    const double pad[3] = {0.02, 0.04, 0.04}, bar[3] = {0.04, 0.03, 0.2};
    double inertia[3];
    memset(s, 0, sizeof *s);
    const double at[3][3] = {{0, 0, 0}, {-0.03, 0, 0}, {0.03, 0, 0}};
    box_inertia(0.3, bar, inertia);
    add_body(s, 0.3, inertia, NULL, at[0]);
    for (int k = 1; k < 3; k++)
    {
        box_inertia(0.1, pad, inertia);
        add_body(s, 0.1, inertia, NULL, at[k]);
        int row = add_rows(s, TG_BLOCK_EQUALITY, 5); /* slides along x */
        for (int i = 0; i < 5; i++)
        {
            const double axis[3] = {i % 3 == 2, i % 3 == 0, i % 3 == 1};
            row_add(s, row + i, k, at[k], axis, i >= 2, 1);
        }
    }
    make_joints(s);
    for (int k = 1; k < 3; k++)
        for (int c = 0; c < 4; c++)
        {
            const double n[3] = {k == 1 ? 1 : -1, 0, 0};
            const double p[3] = {k == 1 ? -0.02 : 0.02, c % 2 ? 0.015 : -0.015, c / 2 ? 0.02 : -0.02};
            add_contact(s, k, 0, p, n, 0, 4, mu, 0.01, 0);
            s->force[6 * k] = k == 1 ? 12 : -12;
        }
}

static void frozen_set(const char *name, const char *solver, int which, int seeds, double force, double solved)
{
    const int steps = 100;
    bool again = strcmp(solver, "newton") == 0;
    tally t = {.name = name};
    scene *s = scene_new();
    for (int seed = 1; seed <= effort(seeds); seed++)
    {
        source r = {(uint64_t)seed * 104729 + (uint64_t)which};
        double mu = uniform(&r, 0.2, 1);
        switch (which)
        {
        case 0:
            tower(s, &r, 2, 4, mu, 0);
            break;
        case 1:
            tower(s, &r, 5, 4, mu, 0);
            break;
        case 2:
            tower(s, &r, 3, 8, mu, 0);
            break;
        case 3:
            tower(s, &r, 3, 4, mu, 6);
            break;
        case 4:
            walker(s, &r, mu, false);
            break;
        case 5:
            walker(s, &r, mu, true);
            break;
        default:
            gripper(s, mu);
            break;
        }
        step_frozen(&t, s, &r, solver, steps, force, again);
    }
    print_tally(&t);
    free(s);
    assert_tally(&t, solved, 0.03);
}

/* forces on every link change at random every millisecond: far rougher than motion */
static void frozen(void **state)
{
    (void)state;
    frozen_set("tower of 2", "newton", 0, 5, 8, 1);
    frozen_set("tower of 5", "newton", 1, 1, 8, 0.99);
    frozen_set("tower of 3, 8 points", "newton", 2, 1, 8, 0.98);
    frozen_set("tower of 3, masses 1e6", "newton", 3, 5, 8, 0.99);
    frozen_set("walker", "newton", 4, 10, 8, 0.998);
    frozen_set("walker, knees", "newton", 5, 10, 8, 0.998);
    frozen_set("walker, pushed hard", "newton", 5, 120, 40, 0.998);
    frozen_set("gripper", "newton", 6, 4, 8, 0.99);
    frozen_set("walker, knees, ipm", "ipm", 5, 5, 8, 0.99);
    frozen_set("walker, knees, pgs", "pgs", 5, 3, 8, 0.8);
}

/* factorisations of Newton with compliance from the impulses of the solution, in frames that have turned */
static int from_turned(scene *s, double angle)
{
    double L[SCENE_ROWS];
    tg_solve_options options = tg_solve_default();
    options.skip_warm = true;
    memcpy(L, s->L, sizeof L);
    for (int b = 0; b < s->blocks; b++)
    {
        int n = s->block[b].row;
        bool contact = s->block[b].kind == TG_BLOCK_CONTACT && s->block[b].rows > 1;
        s->warm[n] = contact ? cos(angle) * L[n] - sin(angle) * L[n + 1] : L[n];
        for (int i = 1; i < s->block[b].rows; i++)
            s->warm[n + i] = i == 1 && contact ? cos(angle) * L[n + 1] + sin(angle) * L[n] : L[n + i];
    }
    solve_with(s, &options);
    return s->result.newton;
}

/* Normals turn with their bodies: what slides is found all the same. */
static void turned(void **state)
{
    (void)state;
    scene *s = scene_new();
    int straight = 0, left = 0, right = 0;
    for (int seed = 1; seed <= 10; seed++)
    {
        source r = {(uint64_t)seed * 7919};
        walker(s, &r, uniform(&r, 0.2, 1), false);
        for (int k = 0; k < 50; k++)
        {
            push(s, &r, 40);
            assemble(s);
            tg_solve_options options = tg_solve_default();
            memset(s->warm, 0, sizeof s->warm);
            solve_with(s, &options);
            double L[SCENE_ROWS], v[SCENE_DOFS];
            memcpy(L, s->L, sizeof L);
            memcpy(v, s->v_plus, sizeof v);
            straight += from_turned(s, 0);
            memcpy(s->L, L, sizeof L);
            left += from_turned(s, 0.005);
            memcpy(s->L, L, sizeof L);
            right += from_turned(s, -0.005);
            memcpy(s->v_plus, v, sizeof v);
        }
    }
    print_message("factorisations from their own impulses %d, turned %d, %d\n", straight, left, right);
    assert_true(left + right <= 4 * straight); /* ten times, if only what is on its cone to rounding slides */
    free(s);
}

/* ---- random islands: bodies, contacts of all dimensions, limits, equalities, joint friction ---- */

static void random_set(const char *name, const char *solver, int problems, int bodies, int contacts, double most_mu,
                       double spread, bool others, uint64_t seed, tally *t)
{
    source r = {seed};
    scene *s = scene_new();
    *t = (tally){.name = name};
    for (int k = 0; k < effort(problems); k++)
    {
        random_scene(s, &r, bodies, contacts, most_mu, spread, others);
        assemble(s);
        solve_counted(s, solver, t);
        if (strcmp(solver, "newton") == 0)
            solve_again(s, &r, t);
    }
    print_tally(t);
    free(s);
}

static void random_islands(void **state)
{
    (void)state;
    tally t;
    random_set("random, condim mix", "newton", 1000, 4, 6, 1, 1, false, 11, &t);
    assert_tally(&t, 1, 0.01);
    random_set("random, all rows", "newton", 1000, 4, 6, 1, 1, true, 12, &t);
    assert_tally(&t, 1, 0.01);
    random_set("random, mu to 2", "newton", 500, 4, 6, 2, 1, true, 13, &t);
    assert_tally(&t, 0.995, 0.03);
    random_set("random, mass ratio 1e6", "newton", 500, 4, 6, 1, 6, true, 14, &t);
    assert_tally(&t, 0.995, 0.03);
    random_set("random, all rows, ipm", "ipm", 500, 4, 6, 1, 1, true, 12, &t);
    assert_tally(&t, 0.995, 0);
    random_set("random, all rows, pgs", "pgs", 200, 4, 6, 1, 1, true, 12, &t);
    assert_tally(&t, 0.85, 0);
}

/* ---- time: min over batches, warm start one per cent off ---- */

static void print_time(const char *what, scene *s)
{
    tg_solve_options options = tg_solve_default();
    double best = INFINITY;
    solve_with(s, &options);
    for (int i = 0; i < s->rows; i++)
        s->warm[i] = 1.01 * s->L[i];
    for (int batch = 0; batch < effort(50); batch++)
    {
        double start = now();
        for (int k = 0; k < 20; k++)
            solve_with(s, &options);
        best = fmin(best, (now() - start) / 20);
    }
    print_message("%-10s %3d rows: %6.1f us, newton %d\n", what, s->rows, 1e6 * best, s->result.newton);
    assert_solved(s);
}

static void speed(void **state)
{
    (void)state;
    scene *s = scene_new();
    for (int levels = 1; levels <= 4; levels++)
    {
        source r = {1};
        tower(s, &r, levels, 4, 0.5, 0);
        for (int b = 0; b < s->bodies; b++)
            s->v[6 * b + 2] = -gravity * dt;
        assemble(s);
        print_time("resting", s);
    }
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tumbling),       cmocka_unit_test(frozen), cmocka_unit_test(turned),
        cmocka_unit_test(random_islands), cmocka_unit_test(speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
