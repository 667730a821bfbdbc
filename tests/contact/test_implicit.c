/* Derivatives of a solved island against central differences of the solver itself.
 *
 * A family of scenes depends smoothly on a number h: masses, velocities, biases, coefficients, bounds and Jacobians
 * change at once. At h = 0 the derivative of impulses and velocities is predicted; scenes at +-h are solved and
 * compared. */
#include "contact/implicit.h"
#include "contact/implicit_forms.h"
#include "contact_test.h"
#include "support/effort.h"

static const double up[3] = {0, 0, 1};

typedef void (*family)(scene *s, uint64_t seed, double h);

typedef struct count
{
    int compared, skipped, kinds[TG_GRADIENT_KINDS], modes[TG_MODES], redundant, immaterial,
        selections[TG_SELECT_KINDS];
    double worst_L, worst_v, worst_transpose, worst_motion, largest;
} count;

typedef struct sample
{
    scene s;
    tg_block_mode mode[SCENE_ROWS];
} sample;

static tg_arena *implicit_arena(void)
{
    static tg_arena arena;
    if (arena.base == NULL)
    {
        arena.capacity = tg_implicit_bytes(128) + (1 << 20);
        arena.base = tg_alloc(NULL, arena.capacity);
        assert_non_null(arena.base);
    }
    return &arena;
}

/* from: where the solver starts, NULL: from nothing. A problem may have several isolated solutions: what is
 * differentiated is the one that goes on from the solution at hand. */
static void solve_sample(sample *p, family make, uint64_t seed, double h, const scene *from)
{
    tg_error error;
    memset(&p->s, 0, sizeof p->s);
    make(&p->s, seed, h);
    if (from != NULL)
        memcpy(p->s.warm, from->L, sizeof p->s.warm);
    solve(&p->s);
    tg_island island = island_of(&p->s);
    assert_int_equal(tg_island_modes(&island, p->s.L, p->s.sigma, test_scratch(), p->mode, &error), TG_OK);
}

/* sigma and v+ of a scene when its impulses are L */
static void frozen(scene *s, const double *L, double *sigma, double *v_plus)
{
    assemble(s);
    memcpy(s->L, L, (size_t)s->rows * sizeof *L);
    for (int i = 0; i < s->rows; i++)
        sigma[i] = s->g[i] + dot_n(s->rows, s->G + i * s->rows, L);
    apply(s);
    memcpy(v_plus, s->v_plus, sizeof s->v_plus);
}

/* what the derivative predicts */
typedef struct prediction
{
    double w[SCENE_ROWS], n[SCENE_ROWS], l[SCENE_ROWS], dL[SCENE_ROWS], dv[SCENE_DOFS];
} prediction;

/* p = M^-1 J^T y */
static void motion_of(const scene *s, const double *y, double *p)
{
    double force[SCENE_DOFS] = {0};
    for (int i = 0; i < s->rows; i++)
        for (int j = 0; j < 6 * s->bodies; j++)
            force[j] += s->J[i][j] * y[i];
    inverse_mass(s, force, p);
}

/* w and l of a friction coefficient or the bound of dry friction, dL = l + D w */
static void law_change(const tg_implicit *f, int b, int axis, double *w, double *l)
{
    const tg_island *island = f->island;
    bool contact = island->block[b].kind == TG_BLOCK_CONTACT;
    int normal = island->block[b].row, row = normal + (contact ? 1 + axis : 0);
    double impulse = contact ? tg_implicit_unit_impulse(f, b, axis) : tg_implicit_bound_impulse(f, b);
    for (int i = 0; i < island->rows; i++)
    {
        l[i] = i == row ? impulse : 0;
        w[i] = impulse * island->G[(ptrdiff_t)row * island->ldg + i];
    }
    w[row] += contact ? tg_implicit_slip_change(f, b, axis) : 0;
    w[normal] += contact ? tg_implicit_normal_change(f, b, axis) : 0;
}

/* explicit changes: w, n = dJ p and dv+ at frozen impulses, from differences of polynomials in h */
static void explicit_changes(const sample *at, family make, uint64_t seed, const tg_implicit *f, prediction *out)
{
    static scene plus, minus;
    static double sigma[2][SCENE_ROWS], v[2][SCENE_DOFS];
    const double h = 1e-5;
    double p[SCENE_DOFS];
    memset(&plus, 0, sizeof plus);
    memset(&minus, 0, sizeof minus);
    make(&plus, seed, h);
    make(&minus, seed, -h);
    motion_of(&at->s, f->spread, p);
    frozen(&plus, at->s.L, sigma[0], v[0]);
    frozen(&minus, at->s.L, sigma[1], v[1]);
    for (int i = 0; i < at->s.rows; i++)
    {
        out->w[i] = (sigma[0][i] - sigma[1][i]) / (2 * h);
        out->n[i] = (dot_n(6 * at->s.bodies, plus.J[i], p) - dot_n(6 * at->s.bodies, minus.J[i], p)) / (2 * h);
        out->l[i] = 0;
    }
    for (int i = 0; i < 6 * at->s.bodies; i++)
        out->dv[i] = (v[0][i] - v[1][i]) / (2 * h);
    for (int b = 0; b < at->s.blocks; b++)
    {
        double w[SCENE_ROWS], l[SCENE_ROWS];
        const tg_block *block = &at->s.block[b];
        int axes = block->kind == TG_BLOCK_CONTACT ? block->rows - 1 : block->kind == TG_BLOCK_FRICTION;
        for (int a = 0; a < axes; a++)
        {
            bool contact = block->kind == TG_BLOCK_CONTACT;
            double change = contact ? (plus.block[b].mu[a] - minus.block[b].mu[a]) / (2 * h)
                                    : (plus.block[b].bound - minus.block[b].bound) / (2 * h);
            if (change == 0)
                continue;
            law_change(f, b, a, w, l);
            for (int i = 0; i < at->s.rows; i++)
            {
                out->w[i] += change * w[i];
                out->l[i] += change * l[i];
            }
        }
    }
}

static void predict(const sample *at, family make, uint64_t seed, const tg_implicit *f, prediction *out)
{
    double dv[SCENE_DOFS], w[SCENE_ROWS], l[SCENE_ROWS] = {0}, work[2 * SCENE_ROWS];
    explicit_changes(at, make, seed, f, out);
    if (f->turns)
        tg_implicit_turned(f, 1, out->n, 1, work, l, 1);
    for (int i = 0; i < at->s.rows; i++)
        w[i] = out->w[i] + dot_n(at->s.rows, f->island->G + (ptrdiff_t)i * f->island->ldg, l);
    tg_implicit_forward(f, w, out->dL);
    for (int i = 0; i < at->s.rows; i++)
        out->dL[i] += l[i] + out->l[i];
    motion_of(&at->s, out->dL, dv);
    for (int i = 0; i < 6 * at->s.bodies; i++)
        out->dv[i] += dv[i];
}

/* Lbar . dL from the transpose, and gradients of coefficients and bounds from theirs */
static void check_transpose(const sample *at, const tg_implicit *f, const prediction *p, source *r, count *c)
{
    double Lbar[SCENE_ROWS] = {0}, z[SCENE_ROWS], turn[SCENE_ROWS], w[SCENE_ROWS], l[SCENE_ROWS];
    int n = at->s.rows;
    for (int i = 0; i < n; i++)
        Lbar[i] = uniform(r, -1, 1);
    tg_implicit_transpose(f, Lbar, z, turn);
    double forward = dot_n(n, Lbar, p->dL), size = 1;
    double back = dot_n(n, z, p->w) + dot_n(n, turn, p->n) + dot_n(n, Lbar, p->l);
    for (int i = 0; i < n; i++)
        size += fabs(z[i] * p->w[i]) + fabs(turn[i] * p->n[i]) + fabs(Lbar[i] * p->dL[i]);
    c->worst_transpose = fmax(c->worst_transpose, fabs(forward - back) / size);
    for (int b = 0; b < at->s.blocks; b++)
    {
        const tg_block *block = &at->s.block[b];
        for (int a = 0; block->kind == TG_BLOCK_CONTACT && a < block->rows - 1; a++)
        {
            law_change(f, b, a, w, l);
            double both = dot_n(n, z, w) + dot_n(n, Lbar, l), gradient = tg_implicit_mu_gradient(f, b, a, Lbar, z);
            c->worst_transpose = fmax(c->worst_transpose, fabs(both - gradient) / fmax(1, fabs(both)));
        }
        if (block->kind != TG_BLOCK_FRICTION)
            continue;
        law_change(f, b, 0, w, l);
        double both = dot_n(n, z, w) + dot_n(n, Lbar, l), gradient = tg_implicit_bound_gradient(f, b, Lbar, z);
        c->worst_transpose = fmax(c->worst_transpose, fabs(both - gradient) / fmax(1, fabs(both)));
    }
}

static bool same_modes(const sample *a, const sample *b)
{
    if (a->s.result.status != b->s.result.status)
        return false;
    for (int k = 0; k < a->s.blocks; k++)
        if (a->mode[k].mode != b->mode[k].mode || a->mode[k].immaterial != b->mode[k].immaterial)
            return false;
    return true;
}

/* Richardson from central differences */
static double difference(const double y[4], double h)
{
    return (8 * (y[1] - y[2]) - (y[0] - y[3])) / (12 * h);
}

static bool unique_impulses(const sample *p)
{
    return p->s.result.selection == TG_SELECT_INDEPENDENT || p->s.result.selection == TG_SELECT_PROJECTED;
}

static void compare(const sample *at, sample *const step[4], double h, const prediction *p, count *c)
{
    double worst_L = 0, worst_v = 0, largest = 1e-2, y[4];
    for (int i = 0; i < at->s.rows; i++)
        largest = fmax(largest, fabs(p->dL[i]));
    for (int i = 0; unique_impulses(at) && i < at->s.rows; i++)
    {
        for (int k = 0; k < 4; k++)
            y[k] = step[k]->s.L[i];
        worst_L = fmax(worst_L, fabs(difference(y, h) - p->dL[i]) / largest);
    }
    double largest_v = 1;
    for (int i = 0; i < 6 * at->s.bodies; i++)
        largest_v = fmax(largest_v, fabs(p->dv[i]));
    for (int i = 0; i < 6 * at->s.bodies; i++)
    {
        for (int k = 0; k < 4; k++)
            y[k] = step[k]->s.v_plus[i];
        worst_v = fmax(worst_v, fabs(difference(y, h) - p->dv[i]) / largest_v);
    }
    c->worst_L = fmax(c->worst_L, worst_L);
    c->worst_v = fmax(c->worst_v, worst_v);
    c->largest = fmax(c->largest, largest_v);
}

static tg_implicit factors(const sample *at, const tg_island *island, tg_implicit_use use)
{
    tg_implicit f;
    tg_error error;
    if (tg_implicit_factor(island, at->s.L, at->s.sigma, at->mode, at->s.result.selection, use, implicit_arena(), &f,
                           &error) != TG_OK)
        fail_msg("%s", error.message);
    return f;
}

/* where only the motion is wanted, it is the same */
static void check_motion(const sample *at, const tg_island *island, family make, uint64_t seed, const prediction *p,
                         source *r, count *c)
{
    static prediction motion;
    tg_implicit f = factors(at, island, TG_IMPLICIT_MOTION);
    double largest = 1;
    predict(at, make, seed, &f, &motion);
    check_transpose(at, &f, &motion, r, c);
    for (int i = 0; i < 6 * at->s.bodies; i++)
        largest = fmax(largest, fabs(p->dv[i]));
    for (int i = 0; i < 6 * at->s.bodies; i++)
        c->worst_motion = fmax(c->worst_motion, fabs(motion.dv[i] - p->dv[i]) / largest);
}

static void check(family make, uint64_t seed, double least_margin, count *c)
{
    static sample at, step[4];
    static prediction p;
    const double h = 2e-6, steps[4] = {2 * h, h, -h, -2 * h};
    source r = {seed * 31 + 7};
    solve_sample(&at, make, seed, 0, NULL);
    size_t mark = tg_arena_mark(implicit_arena());
    tg_island island = island_of(&at.s);
    tg_implicit f = factors(&at, &island, TG_IMPLICIT_FORCES);
    c->kinds[f.kind]++;
    c->selections[at.s.result.selection]++;
    predict(&at, make, seed, &f, &p);
    if (f.kind == TG_GRADIENT_EXACT)
    {
        check_transpose(&at, &f, &p, &r, c);
        check_motion(&at, &island, make, seed, &p, &r, c);
    }
    for (int i = 0; i < at.s.rows; i++)
        assert_true(isfinite(p.dL[i]));
    tg_arena_release(implicit_arena(), mark);
    bool clear = f.margin >= least_margin && at.s.result.status == TG_SOLVE_SOLVED && f.kind == TG_GRADIENT_EXACT;
    for (int k = 0; clear && k < 4; k++)
    {
        solve_sample(&step[k], make, seed, steps[k], &at.s);
        clear = same_modes(&at, &step[k]);
    }
    if (!clear)
    {
        c->skipped++;
        return;
    }
    c->compared++;
    c->redundant += f.rank < f.held;
    for (int b = 0; b < at.s.blocks; b++)
    {
        c->modes[at.mode[b].mode]++;
        c->immaterial += at.mode[b].immaterial;
    }
    sample *const at_steps[4] = {&step[0], &step[1], &step[2], &step[3]};
    compare(&at, at_steps, h, &p, c);
}

static void print_count(const char *name, const count *c)
{
    print_message(
        "%-22s %4d compared, %d skipped (exact %d, one-sided %d, regularised %d), %d redundant; break %d stick "
        "%d slide %d immaterial %d; unique %d projected %d compliant %d unselected %d; worst L %.1e v %.1e "
        "(largest %.0e), transpose %.1e, motion alone %.1e\n",
        name, c->compared, c->skipped, c->kinds[0], c->kinds[1], c->kinds[2], c->redundant, c->modes[0], c->modes[1],
        c->modes[2], c->immaterial, c->selections[0], c->selections[1], c->selections[2], c->selections[3], c->worst_L,
        c->worst_v, c->largest, c->worst_transpose, c->worst_motion);
}

/* ---- families ---- */

/* everything moves */
static void perturb(scene *s, source *r, double h, bool jacobian)
{
    for (int b = 0; b < s->bodies; b++)
    {
        double factor = exp(h * uniform(r, -1, 1));
        s->mass[b] *= factor;
        for (int i = 0; i < 9; i++)
            s->inverse_inertia[b][i] /= factor;
    }
    for (int i = 0; i < 6 * s->bodies; i++)
        s->v[i] += h * uniform(r, -1, 1);
    for (int b = 0; b < s->blocks; b++)
    {
        for (int a = 0; a < TG_CONE_MAX - 1; a++)
            s->block[b].mu[a] *= 1 + h * uniform(r, -1, 1);
        s->block[b].bound *= 1 + h * uniform(r, -1, 1);
    }
    for (int i = 0; jacobian && i < s->rows; i++)
    {
        s->bias[i] += h * uniform(r, -1, 1);
        for (int j = 0; j < 6 * s->bodies; j++)
            s->J[i][j] += h * uniform(r, -1, 1);
    }
}

static void independent(scene *s, uint64_t seed, double h)
{
    source r = {seed * 7919 + 1};
    random_scene(s, &r, 3, 4, 1, 1, true);
    perturb(s, &r, h, true);
}

/* A box on four points of its face; points move in their plane with h. dim 3, 4 or 6. */
static void patch(scene *s, source *r, double h, int dim, double speed, double spin, double push)
{
    const double size[3] = {0.2, 0.24, 0.2}, centre[3] = {0, 0, 0.1};
    double inertia[3], mu = uniform(r, 0.3, 0.8);
    box_inertia(1, size, inertia);
    int b = add_body(s, 1, inertia, NULL, centre);
    for (int c = 0; c < 4; c++)
    {
        const double p[3] = {(c % 2 ? 0.1 : -0.1) + 0.1 * h * uniform(r, -1, 1),
                             (c / 2 ? 0.12 : -0.12) + 0.1 * h * uniform(r, -1, 1), 0};
        add_contact(s, WORLD, b, p, up, 0, dim, mu, 0.02, 0.01);
    }
    double angle = uniform(r, 0, 6.28), slide = speed * uniform(r, 0.5, 1.5);
    s->v[0] = slide * cos(angle) + push * mu * 9.81e-3 * cos(angle);
    s->v[1] = slide * sin(angle) + push * mu * 9.81e-3 * sin(angle);
    s->v[2] = -9.81e-3;
    s->v[3] = uniform(r, -1e-3, 1e-3);
    s->v[4] = uniform(r, -1e-3, 1e-3);
    s->v[5] = spin * uniform(r, 0.5, 1.5);
    perturb(s, r, 0.01 * h, false);
}

static void sticking(scene *s, uint64_t seed, double h)
{
    source r = {seed * 104729 + 3};
    patch(s, &r, h, (int[]){3, 4, 6}[seed % 3], 0, 0, 0.2);
}

static void spinning(scene *s, uint64_t seed, double h)
{
    source r = {seed * 104729 + 5};
    patch(s, &r, h, (int[]){3, 4, 6}[seed % 3], 0.3, 4, 0);
}

/* pulled to nine tenths of what friction holds: some corners are on their cones */
static void pulled(scene *s, uint64_t seed, double h)
{
    source r = {seed * 104729 + 9};
    patch(s, &r, h, 3, 0, 0, 0.9);
}

/* ---- tests ---- */

static void run(const char *name, family make, int problems, double least_margin, count *c)
{
    *c = (count){0};
    for (int k = 0; k < problems / TEST_EFFORT; k++)
        check(make, (uint64_t)k + 1, least_margin, c);
    print_count(name, c);
    assert_true(c->worst_transpose <= 1e-12);
    assert_true(c->worst_motion <= 1e-9);
}

static void random_islands(void **state)
{
    (void)state;
    count c;
    run("independent rows", independent, 1000, 1e-3, &c);
    assert_true(c.compared >= 500 / TEST_EFFORT);
    assert_true(c.modes[0] > 0 && c.modes[1] > 0 && c.modes[2] > 0);
    assert_true(c.worst_L <= 1e-6 && c.worst_v <= 1e-6);
}

static void patches(void **state)
{
    (void)state;
    count c;
    run("sticking patch", sticking, 150, 1e-4, &c);
    assert_true(c.compared >= 100 / TEST_EFFORT && c.redundant == c.compared);
    assert_true(c.worst_L <= 1e-6 && c.worst_v <= 1e-6);
    run("sliding, spinning", spinning, 150, 1e-4, &c);
    assert_true(c.compared >= 100 / TEST_EFFORT && c.redundant == c.compared);
    assert_true(c.worst_L <= 1e-6 && c.worst_v <= 1e-6);
    run("pulled", pulled, 150, 1e-4, &c);
    assert_true(c.compared >= 50 / TEST_EFFORT && c.immaterial > 0);
    assert_true(c.worst_v <= 1e-6);
}

/* Rows that are independent by 3e-6, which the rank of G does not see, and velocities that only independent rows can
 * stop: v+ = v + J^T L = 0, and it stays there, dv + J^T dL = 0, across the soft direction too. The label says how
 * little is known of it. rows 3: the first row twice. */
static void barely_independent(void **state)
{
    (void)state;
    const double J[3][2] = {{1, 0}, {1, 3e-6}, {1, 0}}, v[2] = {0.3, 0.01}, dv[2] = {0.7, -0.2};
    for (int rows = 2; rows <= 3; rows++)
    {
        double G[9], g[3], w[3], dL[3], sigma[3] = {0};
        double L[3] = {-v[0] + v[1] / 3e-6, -v[1] / 3e-6, 0};
        tg_block block[3] = {0};
        tg_block_mode mode[3];
        for (int i = 0; i < rows; i++)
        {
            block[i] = (tg_block){.kind = TG_BLOCK_EQUALITY, .row = i, .rows = 1};
            g[i] = J[i][0] * v[0] + J[i][1] * v[1];
            w[i] = J[i][0] * dv[0] + J[i][1] * dv[1];
            for (int j = 0; j < rows; j++)
                G[i * rows + j] = J[i][0] * J[j][0] + J[i][1] * J[j][1];
        }
        if (rows == 3)
            L[0] = L[2] = 0.5 * L[0];
        tg_island island = {.rows = rows, .blocks = rows, .block = block, .G = G, .ldg = rows, .g = g};
        tg_arena *arena = implicit_arena();
        size_t mark = tg_arena_mark(arena);
        tg_implicit f;
        tg_error error;
        assert_int_equal(tg_island_modes(&island, L, sigma, test_scratch(), mode, &error), TG_OK);
        assert_int_equal(
            tg_implicit_factor(&island, L, sigma, mode, TG_SELECT_PROJECTED, TG_IMPLICIT_MOTION, arena, &f, &error),
            TG_OK);
        assert_int_equal(f.kind, TG_GRADIENT_REGULARISED);
        tg_implicit_forward(&f, w, dL);
        for (int k = 0; k < 2; k++)
        {
            double left = dv[k];
            for (int i = 0; i < rows; i++)
                left += J[i][k] * dL[i];
            assert_true(fabs(left) < 1e-3);
        }
        tg_arena_release(arena, mark);
    }
}

/* The derivative of an island at some impulses and velocities, which its g makes a solution; it stays in the arena. */
static tg_implicit label_at(const tg_island *of, const double *L, const double *sigma, tg_selection selection)
{
    static double g[SCENE_ROWS];
    static tg_island kept;
    const tg_island *island = &kept;
    kept = *of;
    kept.g = g;
    for (int i = 0; i < of->rows; i++)
        g[i] = sigma[i] - dot_n(of->rows, of->G + (size_t)i * (size_t)of->ldg, L);
    tg_block_mode mode[SCENE_ROWS];
    tg_arena *arena = implicit_arena();
    tg_implicit f;
    tg_error error;
    assert_int_equal(tg_island_modes(island, L, sigma, test_scratch(), mode, &error), TG_OK);
    assert_int_equal(tg_implicit_factor(island, L, sigma, mode, selection, TG_IMPLICIT_MOTION, arena, &f, &error),
                     TG_OK);
    return f;
}

/* Two rows with a lever of 0.01 between them: impulses are off by 1e4 times what the rows move by. Exact as long as six
 * digits of them are known. */
static void few_digits(void **state)
{
    (void)state;
    const double G[4] = {1, 1, 1, 1 + 1e-4}, L[2] = {1, 1};
    const double rest[2] = {0}, moves[2] = {1e-9, -1e-9}, hardly[2] = {1e-12, -1e-12};
    const tg_block block[2] = {{.kind = TG_BLOCK_LIMIT, .row = 0, .rows = 1},
                               {.kind = TG_BLOCK_LIMIT, .row = 1, .rows = 1}};
    tg_island island = {.rows = 2, .blocks = 2, .block = block, .G = G, .ldg = 2};
    assert_int_equal(label_at(&island, L, rest, TG_SELECT_INDEPENDENT).kind, TG_GRADIENT_EXACT);
    assert_int_equal(label_at(&island, L, hardly, TG_SELECT_INDEPENDENT).kind, TG_GRADIENT_EXACT);
    assert_int_equal(label_at(&island, L, moves, TG_SELECT_INDEPENDENT).kind, TG_GRADIENT_REGULARISED);
}

/* Two equal rows that contradict each other by 1.4e-10 m/s beside a contact that slips: that is nothing, unless the
 * slip is so slow that its direction is off by it. */
static void slow_slip(void **state)
{
    (void)state;
    double G[25] = {0};
    const double L[5] = {1, 1, 1, -0.5, 0};
    const tg_block block[3] = {{.kind = TG_BLOCK_LIMIT, .row = 0, .rows = 1},
                               {.kind = TG_BLOCK_LIMIT, .row = 1, .rows = 1},
                               {.kind = TG_BLOCK_CONTACT, .row = 2, .rows = 3, .mu = {0.5, 0.5}}};
    for (int i = 0; i < 5; i++)
        G[6 * i] = 1;
    G[1] = G[5] = 1;
    tg_island island = {.rows = 5, .blocks = 3, .block = block, .G = G, .ldg = 5};
    const double fast[5] = {1e-10, -1e-10, 0, 0.1, 0}, slow[5] = {1e-10, -1e-10, 0, 1e-6, 0};
    assert_int_equal(label_at(&island, L, fast, TG_SELECT_PROJECTED).kind, TG_GRADIENT_EXACT);
    assert_int_equal(label_at(&island, L, slow, TG_SELECT_PROJECTED).kind, TG_GRADIENT_ONE_SIDED);
}

/* Three contacts that share one motion, of which two hold it, and the third carries nothing and creeps: it holds its
 * normal alone. (Held, too, its rows would contradict the others'.) */
static void creeping_without_load(void **state)
{
    (void)state;
    double G[81] = {0};
    const double L[9] = {1, 0.1, 0.1, 1, 0.1, 0.1, 0, 0, 0}, sigma[9] = {[7] = 3e-10, [8] = 4e-10};
    tg_block block[3];
    for (int b = 0; b < 3; b++)
        block[b] = (tg_block){.kind = TG_BLOCK_CONTACT, .row = 3 * b, .rows = 3, .mu = {0.8, 0.8}};
    for (int i = 0; i < 9; i++)
        for (int j = i % 3; j < 9; j += 3)
            G[9 * i + j] = 1;
    tg_island island = {.rows = 9, .blocks = 3, .block = block, .G = G, .ldg = 9};
    tg_implicit f = label_at(&island, L, sigma, TG_SELECT_COMPLIANT);
    assert_int_equal(f.kind, TG_GRADIENT_EXACT);
    assert_true(f.slides[2] && !f.slides[0] && !f.slides[1]);
    assert_true(f.conflict < 1e-12);
}

/* Whether a contact on its cone that slips by `slip` creeps where all velocities of the solution are off by `off`. */
static bool creeps_roughly(double angle, double slip, double off)
{
    const double c = cos(angle), s = sin(angle);
    const double L[6] = {1, 0.1, 0.1, 1, 0.8 * c, 0.8 * s};
    const double sigma[6] = {off, 0, 0, -off, -slip * c + off * s, -slip * s - off * c};
    tg_block block[2];
    for (int b = 0; b < 2; b++)
        block[b] = (tg_block){.kind = TG_BLOCK_CONTACT, .row = 3 * b, .rows = 3, .mu = {0.8, 0.8}};
    const tg_island island = {.rows = 6, .blocks = 2, .block = block};
    const tg_implicit f = {.island = &island, .L = L, .sigma = sigma};
    const tg_block_mode sticks[2] = {{.mode = TG_MODE_STICKING}, {.mode = TG_MODE_STICKING}};
    tg_block_mode mode[2];
    bool any = tg_creeping_modes(&f, sticks, mode);
    assert_int_equal(mode[0].mode, TG_MODE_STICKING);
    assert_int_equal(mode[1].mode == TG_MODE_SLIDING, any);
    return any;
}

/* The direction of a creeping contact is known as well as the solution is: a thousandth off when velocities are off by
 * a thousandth of the creep, it creeps nevertheless. What moves by as much as the solution is off does not. */
static void creeping_roughly(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++)
        for (double slip = 1e-10; slip < 5e-8; slip *= 10)
        {
            assert_true(creeps_roughly(0.5 * i, slip, 0));
            assert_true(creeps_roughly(0.5 * i, slip, 1e-3 * slip));
            assert_false(creeps_roughly(0.5 * i, slip, 0.5 * slip));
        }
}

/* Dry friction at its bound in a joint that an equality holds has no part in the motion, also where a contact elsewhere
 * creeps on its cone, and is at a change of mode. */
static void friction_beside_creep(void **state)
{
    (void)state;
    const double slip = 2e-8, L[5] = {1, 0.48, -0.64, 0.3, 0.5}, sigma[5] = {0, -0.6 * slip, 0.8 * slip, 0, 0};
    double g[5], G[25] = {[3 * 5 + 4] = 1, [4 * 5 + 3] = 1};
    const tg_block block[3] = {{.kind = TG_BLOCK_CONTACT, .row = 0, .rows = 3, .mu = {0.8, 0.8}},
                               {.kind = TG_BLOCK_EQUALITY, .row = 3, .rows = 1},
                               {.kind = TG_BLOCK_FRICTION, .row = 4, .rows = 1, .bound = 0.5}};
    tg_block_mode mode[3];
    tg_error error;
    for (int i = 0; i < 5; i++)
        G[5 * i + i] = 1;
    for (int i = 0; i < 5; i++)
        g[i] = sigma[i] - dot_n(5, G + (size_t)i * 5, L);
    const tg_island island = {.rows = 5, .blocks = 3, .block = block, .G = G, .ldg = 5, .g = g};
    assert_int_equal(tg_island_modes(&island, L, sigma, test_scratch(), mode, &error), TG_OK);
    assert_int_equal(mode[0].mode, TG_MODE_SLIDING);
    assert_true(fabs(mode[0].margin - slip) < 1e-12 && !mode[0].immaterial);
    assert_true(mode[2].immaterial);
    assert_true(label_at(&island, L, sigma, TG_SELECT_PROJECTED).margin > 0.9 * slip);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_islands),     cmocka_unit_test(patches),
        cmocka_unit_test(barely_independent), cmocka_unit_test(few_digits),
        cmocka_unit_test(slow_slip),          cmocka_unit_test(creeping_without_load),
        cmocka_unit_test(creeping_roughly),   cmocka_unit_test(friction_beside_creep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
