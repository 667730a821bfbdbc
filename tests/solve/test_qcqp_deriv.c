/* Derivatives of quadratic programs: against differences, against each other, at degenerate points, and their labels.
 */
#include "qcqp_test.h"

typedef struct change
{
    double *G, *g, *mu, *l;
} change;

static change random_change(source *r, const program *p)
{
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks;
    change c = {numbers(n * n), numbers(n), numbers(blocks), numbers(blocks)};
    double scale = 0;
    for (size_t i = 0; i < n; i++)
        scale = fmax(scale, fabs(p->g[i]));
    for (size_t i = 0; i < n; i++)
    {
        c.g[i] = scale * normal(r);
        for (size_t j = 0; j <= i; j++)
            c.G[i * n + j] = c.G[j * n + i] = 0.3 * p->G[0] * normal(r);
    }
    for (size_t i = 0; i < blocks; i++)
        c.mu[i] = normal(r), c.l[i] = normal(r);
    return c;
}

static void drop_change(change *c)
{
    free(c->G), free(c->g), free(c->mu), free(c->l);
}

/* x of the problem moved by h along a change */
static bool moved(program *p, const change *c, double h, double *x)
{
    program q = *p;
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks;
    q.G = numbers(n * n), q.g = numbers(n), q.mu = numbers(blocks), q.l = numbers(blocks);
    q.x = x;
    for (size_t i = 0; i < n * n; i++)
        q.G[i] = p->G[i] + h * c->G[i];
    for (size_t i = 0; i < n; i++)
        q.g[i] = p->g[i] + h * c->g[i];
    for (size_t i = 0; i < blocks; i++)
        q.mu[i] = p->mu[i] + h * c->mu[i], q.l[i] = p->l[i] + h * c->l[i];
    bool solved = solve(&q).status == TG_QCQP_SOLVED;
    free(q.G), free(q.g), free(q.mu), free(q.l);
    return solved;
}

/* Richardson from central differences, the best over steps: max |d - F| / max(1, max |F|) */
static double error_of(program *p, const change *c, const double *dx, double *size)
{
    size_t n = (size_t)p->n;
    double best = INFINITY, *x[4];
    for (int k = 0; k < 4; k++)
        x[k] = numbers(n);
    for (double h = 1e-3; h > 1e-8; h *= 0.1)
    {
        bool solved =
            moved(p, c, h, x[0]) && moved(p, c, -h, x[1]) && moved(p, c, h / 2, x[2]) && moved(p, c, -h / 2, x[3]);
        double worst = 0, largest = 0;
        for (size_t i = 0; i < n; i++)
        {
            double F = (8 * (x[2][i] - x[3][i]) - (x[0][i] - x[1][i])) / (6 * h);
            largest = fmax(largest, fabs(F));
            worst = fmax(worst, fabs(dx[i] - F));
        }
        if (solved && worst / fmax(1, largest) < best)
            best = worst / fmax(1, largest), *size = largest;
    }
    for (int k = 0; k < 4; k++)
        free(x[k]);
    return best;
}

static double product(size_t n, const double *a, const double *b)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* u.(J c) = (J'u).c, and both from the dense matrices */
static double disagreement(source *r, program *p, const change *c, const double *dx)
{
    size_t n = (size_t)p->n, blocks = (size_t)p->blocks;
    tg_qcqp_data data = data_of(p);
    double *u = numbers(n), *full = numbers(n), worst;
    change bar = {numbers(n * n), numbers(n), numbers(blocks), numbers(blocks)};
    change J = {numbers(n * n * n), numbers(n * n), numbers(n * blocks), numbers(n * blocks)};
    for (size_t i = 0; i < n; i++)
        u[i] = normal(r);
    assert_int_equal(tg_qcqp_vjp(p->q, &data, p->x, u, &(tg_qcqp_tangent){bar.G, bar.g, bar.mu, bar.l}, NULL), TG_OK);
    assert_int_equal(tg_qcqp_jacobians(p->q, &data, p->x, &(tg_qcqp_jacobian){J.G, J.g, J.mu, J.l}, NULL), TG_OK);
    bool balls = p->kind == TG_QCQP_BALLS;
    double left = product(n, u, dx), right = product(n * n, bar.G, c->G) + product(n, bar.g, c->g);
    right += balls ? product(blocks, bar.mu, c->mu) + product(blocks, bar.l, c->l) : 0;
    double size = fmax(1, fmax(sqrt(product(n, u, u) * product(n, dx, dx)), fabs(right)));
    worst = fabs(left - right) / size;
    for (size_t i = 0; i < n; i++)
    {
        full[i] = product(n * n, J.G + i * n * n, c->G) + product(n, J.g + i * n, c->g);
        full[i] += balls ? product(blocks, J.mu + i * blocks, c->mu) + product(blocks, J.l + i * blocks, c->l) : 0;
        worst = fmax(worst, fabs(full[i] - dx[i]) / size);
    }
    drop_change(&bar), drop_change(&J);
    free(u), free(full);
    return worst;
}

/* On smooth problems: differences to 1e-6, forward = reverse = dense to 1e-10; balls and rows in every state. */
static void differences(void **state)
{
    (void)state;
    source r = {31};
    int checked = 0, inside = 0, on = 0;
    double worst = 0, apart = 0;
    for (int k = 0; k < 400; k++)
    {
        program p = random_program(&r, &(program_want){.kind = k % 4 == 0 ? TG_QCQP_NONNEGATIVE : TG_QCQP_BALLS,
                                                       .blocks = 1 + below(&r, 12),
                                                       .largest = 5,
                                                       .digits = uniform(&r, 0, 3),
                                                       .threads = 1});
        tg_qcqp_data data = data_of(&p);
        tg_qcqp_label label;
        double *dx = numbers((size_t)p.n), size = 0;
        assert_int_equal(solve(&p).status, TG_QCQP_SOLVED);
        change c = random_change(&r, &p);
        assert_int_equal(tg_qcqp_jvp(p.q, &data, p.x, &(tg_qcqp_tangent){c.G, c.g, c.mu, c.l}, dx, &label), TG_OK);
        if (label.kind == TG_QCQP_EXACT && label.margin > 1e-3)
        {
            double e = error_of(&p, &c, dx, &size);
            checked++;
            worst = fmax(worst, e);
            if (!(e <= 1e-6))
                fail_msg("problem %d: kind %d, %d rows, condition %.1e, margin %.1e: error %.1e of %.1e", k,
                         (int)p.kind, p.n, label.condition, label.margin, e, size);
            for (int i = 0, row = 0; i < p.blocks; row += p.size[i], i++)
            {
                double xx = product((size_t)p.size[i], p.x + row, p.x + row);
                bool touches = p.kind == TG_QCQP_BALLS ? sqrt(xx) > p.mu[i] * p.l[i] * (1 - 1e-9) : xx == 0;
                on += touches, inside += !touches;
            }
        }
        apart = fmax(apart, disagreement(&r, &p, &c, dx));
        free(dx);
        drop_change(&c);
        drop(&p);
    }
    printf(
        "%d problems against differences, worst %.1e; %d blocks inside, %d on the boundary; forward, reverse and dense "
        "agree to %.1e\n",
        checked, worst, inside, on, apart);
    assert_true(checked > 150 && inside > 200 && on > 200);
    assert_true(apart <= 1e-10);
}

/* mu l = 0: the derivative of the side on which there is friction, labelled; never NaN */
static void no_radius(void **state)
{
    (void)state;
    int two = 2;
    double G[4] = {2, 0, 0, 1}, g[2] = {3, -4}, mu = 0.5, l = 0, x[2], dx[2] = {NAN, NAN}, one = 1;
    program p = {.kind = TG_QCQP_BALLS, .n = 2, .blocks = 1, .size = &two, .G = G, .g = g, .mu = &mu, .l = &l, .x = x};
    p.q = workspace(&p, 1);
    solve(&p);
    tg_qcqp_data data = data_of(&p);
    tg_qcqp_label label;
    assert_int_equal(tg_qcqp_jvp(p.q, &data, x, &(tg_qcqp_tangent){.l = &one}, dx, &label), TG_OK);
    assert_int_equal(label.kind, TG_QCQP_ONE_SIDED);
    assert_true(fabs(dx[0] + 0.5 * 0.6) < 1e-14 && fabs(dx[1] - 0.5 * 0.8) < 1e-14);
    /* forward difference */
    l = 1e-7;
    solve(&p);
    assert_true(fabs(x[0] / l - dx[0]) < 1e-6 && fabs(x[1] / l - dx[1]) < 1e-6);
    tg_qcqp_destroy(p.q);
}

/* on the boundary without a force: one of two sides, labelled */
static void weakly_active(void **state)
{
    (void)state;
    int two = 2;
    double G[4] = {1, 0, 0, 1}, g[2] = {-0.6, -0.8}, mu = 1, l = 1, x[2], dg[2] = {1, 0}, dx[2];
    program p = {.kind = TG_QCQP_BALLS, .n = 2, .blocks = 1, .size = &two, .G = G, .g = g, .mu = &mu, .l = &l, .x = x};
    p.q = workspace(&p, 1);
    solve(&p);
    tg_qcqp_data data = data_of(&p);
    tg_qcqp_label label;
    assert_int_equal(tg_qcqp_jvp(p.q, &data, x, &(tg_qcqp_tangent){.g = dg}, dx, &label), TG_OK);
    assert_int_equal(label.kind, TG_QCQP_ONE_SIDED);
    assert_true(fabs(dx[0] + 1) < 1e-12 && fabs(dx[1]) < 1e-12); /* the side inside */
    tg_qcqp_destroy(p.q);
}

/* Singular on the free rows: labelled, finite, G dx right where the change stays in the range of G, and dx of least
 * norm. */
static void singular(void **state)
{
    (void)state;
    source r = {41};
    int seen = 0;
    double worst = 0, least = 0;
    for (int k = 0; k < 100; k++)
    {
        program p = random_program(&r, &(program_want){.kind = TG_QCQP_BALLS,
                                                       .blocks = 2 + below(&r, 8),
                                                       .largest = 3,
                                                       .digits = 2,
                                                       .null = 0.6,
                                                       .threads = 1});
        size_t n = (size_t)p.n;
        for (int i = 0; i < p.blocks; i++)
            p.mu[i] = 1, p.l[i] = 1e3; /* all inside where g is in the range of G */
        double *z = numbers(n), *dg = numbers(n), *dx = numbers(n), *Gdx = numbers(n);
        for (size_t i = 0; i < n; i++)
            z[i] = normal(&r);
        for (size_t i = 0; i < n; i++)
        {
            dg[i] = product(n, p.G + i * n, z);
            p.g[i] = 0.5 * dg[i];
        }
        if (p.null > 0)
        {
            tg_qcqp_info info = solve(&p);
            tg_qcqp_data data = data_of(&p);
            tg_qcqp_label label;
            assert_int_equal(info.status, TG_QCQP_SOLVED);
            assert_int_equal(tg_qcqp_jvp(p.q, &data, p.x, &(tg_qcqp_tangent){.g = dg}, dx, &label), TG_OK);
            if (label.kind != TG_QCQP_REGULARISED)
                fail_msg("problem %d: %d rows, null %d, redundant %d: label %d, condition %.1e, margin %.1e", k, p.n,
                         p.null, info.redundant, (int)label.kind, label.condition, label.margin);
            for (size_t i = 0; i < n; i++)
            {
                Gdx[i] = product(n, p.G + i * n, dx);
                worst = fmax(worst, fabs(Gdx[i] + dg[i]) / sqrt(product(n, dg, dg)));
                /* x is linear in g here, and of least norm: dx = 2 x */
                if (info.least_norm)
                    least = fmax(least, fabs(dx[i] - 2 * p.x[i]) / sqrt(product(n, p.x, p.x)));
            }
            assert_true(info.least_norm);
            seen++;
        }
        free(z), free(dg), free(dx), free(Gdx);
        drop(&p);
    }
    printf("%d singular problems: G dx to %.1e, least norm to %.1e\n", seen, worst, least);
    assert_true(seen > 80 && worst <= 1e-8 && least <= 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences),
        cmocka_unit_test(no_radius),
        cmocka_unit_test(weakly_active),
        cmocka_unit_test(singular),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
