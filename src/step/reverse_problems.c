/* Reverse mode of steps that solve more than one problem: compression before restitution, implicit gyroscopic forces,
 * impacts within the step, alternations that are unrolled. Each is a sweep of its own at its velocities and impulses
 * (step_vjp.c). */
#include "dynamics/factors.h"
#include "step/gyroscopic.h"
#include "step/reverse.h"
#include "step/unrolled.h"

/* ---- compression and restitution ---- */

/* an island that has no compression */
static void leave_out(tg_reverse *r, int i)
{
    const tg_rows *rows = r->w->rows;
    const tg_rows_island *island = &rows->island[i];
    double *mu = r->s->block_gradient, *bound = mu + TG_AXES * rows->nblock;
    size_t blocks = (size_t)island->blocks, bytes = sizeof(double) * (size_t)island->rows;
    r->s->compression[i] = (tg_implicit){.turns = false};
    memset(mu + TG_AXES * island->block, 0, sizeof(double) * TG_AXES * blocks);
    memset(bound + island->block, 0, sizeof(double) * blocks);
    memset(r->z + island->row, 0, bytes);
    memset(r->turn + island->row, 0, bytes);
}

/* Impulses of compression; islands without have z = 0, and it does not matter which are theirs. */
static void compressed_impulses(const tg_reverse *r, double *L)
{
    const tg_rows *rows = r->w->rows;
    for (int i = 0; i < rows->nisland; i++)
    {
        const tg_rows_island *island = &rows->island[i];
        memcpy(L + island->row, (island->restituted ? rows->compressed : rows->L) + island->row,
               sizeof(double) * (size_t)island->rows);
    }
}

/* y . (dt f + J^T L - A (v_L - v)) + z . (J v_L + b) of one of the problems, which is a step of its own: v_L =
 * v_free + A^-1 J^T L, y = A^-1 J^T z. sum: of scaled */
static void sweep_at(const tg_reverse *r, tg_reverse *c, double *L, double *sum)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    tg_rows *rows = r->w->rows;
    double *v_next = s->v_next, *impulses = rows->L;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    memset(c->y, 0, bytes);
    tg_rows_other_half(m, r->w, c->z, c->y);
    memset(r->compressed_v, 0, bytes);
    tg_rows_other_half(m, r->w, L, r->compressed_v);
    for (int k = 0; k < m->nv; k++)
        r->compressed_v[k] += s->v_free[k];
    s->v_next = r->compressed_v;
    rows->L = L;
    tg_reverse_sweep(c);
    s->v_next = v_next;
    rows->L = impulses;
    for (int k = 0; k < m->nv; k++)
        sum[k] += c->scaled[k];
}

void tg_reverse_compression(const tg_reverse *r)
{
    tg_step_work *s = r->s;
    tg_rows *rows = r->w->rows;
    tg_reverse c = *r;
    c.y = r->compressed_y;
    c.z = r->compressed_z;
    c.turn = r->compressed_turn;
    c.scaled = r->compressed_scaled;
    c.Lbar = r->compressed_Lbar;
    c.factors = s->compression;
    c.touch = NULL;
    c.turns = c.starts = false;
    for (int i = 0; i < rows->nisland; i++)
    {
        if (rows->island[i].restituted)
            tg_reverse_coefficients(&c, i);
        else
            leave_out(&c, i);
        c.turns = c.turns || c.factors[i].turns;
    }
    compressed_impulses(r, rows->warm);
    sweep_at(r, &c, rows->warm, r->scaled);
}

/* ---- implicit gyroscopic forces ---- */

/* Implicit gyroscopic forces (gyroscopic.c): with x = v_free - v the step is A (v+ - v) = dt (f - D x) + J^T L, and B x
 * = dt f, B = A + dt D. The cotangent of x is -dt D^T y, so that l = -dt B^-T D^T y = B^-T A y - y belongs to the
 * second equation, whose terms are those of a step of its own without rows; -dt (y + l) . D x is the scalar of
 * tg_adjoint_gyroscopic. */
tg_status tg_reverse_gyroscopic(tg_reverse *r)
{
    const tg_model *m = r->m;
    tg_step_work *s = r->s;
    tg_reverse c = *r;
    size_t bytes = sizeof(double) * (size_t)m->nv;
    double *x = r->compressed_v, *ga = r->vbar, *v_next = s->v_next;
    for (int k = 0; k < m->nv; k++)
    {
        x[k] = s->v_free[k] - s->v[k];
        r->other[k] = r->scaled[k] / r->dt; /* y, with that of compression */
    }
    c.y = r->compressed_y;
    c.scaled = r->compressed_scaled;
    tg_gyroscopic_mass(m, r->w, r->other, c.y);
    tg_gyroscopic_solve_t(m, r->w, c.y);
    for (int k = 0; k < m->nv; k++)
        c.y[k] -= r->other[k];
    c.alone = true;
    c.turns = false;
    memcpy(ga, r->g.a, bytes); /* x does not move with v */
    s->v_next = s->v_free;
    tg_reverse_sweep(&c);
    s->v_next = v_next;
    for (int k = 0; k < m->nv; k++)
        r->scaled[k] += c.scaled[k];
    tg_adjoint_begin(m, r->w, r->scaled);
    tg_adjoint_second(m, r->w, x);
    *r->gdt += tg_adjoint_gyroscopic(m, r->w, 1, r->g.params) / r->dt;
    tg_reverse_end_pass(r, &(tg_adjoint_fields){.v = s->v, .y = r->scaled, .a = s->zeros, .second = x});
    memcpy(r->g.a, ga, bytes);
    return TG_OK;
}

/* ---- impacts within the step ---- */

/* the second problem takes the place of the first, or gives it back */
static void exchange(tg_reverse *r)
{
    tg_within_exchange(r->w);
    r->factors = r->s->implicit;
}

static void add_scaled(const tg_reverse *r, double *sum)
{
    for (int k = 0; k < r->m->nv; k++)
        sum[k] += r->scaled[k];
}

/* q+ = q (+) dt v of the second problem */
static tg_status placing_reverse(tg_reverse *r, const tg_cotangent *out)
{
    memset(r->vbar, 0, sizeof(double) * (size_t)r->m->nv);
    tg_integrator_reverse(r->m, r->w, out->q, r->g.q, r->vbar, r->gdt);
    exchange(r);
    r->touch = NULL;
    r->turns = r->starts = false;
    tg_status status = tg_reverse_impulses(r, &(tg_cotangent){.q = NULL});
    if (status == TG_OK)
        tg_reverse_sweep(r);
    exchange(r);
    return status;
}

/* f_free . (J v_free): a step without impulses */
static void free_reverse(tg_reverse *r)
{
    memcpy(r->z, r->f_free, sizeof(double) * (size_t)r->w->rows->nrow);
    memset(r->y, 0, sizeof(double) * (size_t)r->m->nv);
    tg_rows_other_half(r->m, r->w, r->z, r->y);
    r->touch = NULL;
    r->turns = r->starts = false;
    r->bare = true;
    tg_within_free(r->w);
    tg_reverse_sweep(r);
    tg_within_free(r->w);
}

/* v+ of the first problem, q+ of the second, and the velocities without constraints on which the laws of both depend */
tg_status tg_reverse_within(tg_reverse *r, const tg_cotangent *out)
{
    double *sum = r->compressed_y; /* which Poisson's law alone has */
    memset(r->f_free, 0, sizeof(double) * (size_t)r->w->rows->nrow);
    memset(sum, 0, sizeof(double) * (size_t)r->m->nv);
    TG_TRY(tg_reverse_impulses(r, out));
    tg_reverse_sweep(r);
    add_scaled(r, sum);
    if (out->q != NULL)
    {
        TG_TRY(placing_reverse(r, out));
        add_scaled(r, sum);
    }
    free_reverse(r);
    add_scaled(r, sum);
    memcpy(r->scaled, sum, sizeof(double) * (size_t)r->m->nv);
    return TG_OK;
}

/* ---- alternations that are unrolled ---- */

/* one of the problems of an alternation */
static void problem_reverse(const tg_reverse *r, double *L, double *z, double *sum)
{
    tg_reverse c = *r;
    c.y = r->compressed_y;
    c.scaled = r->compressed_scaled;
    c.z = z;
    c.touch = NULL;
    c.turns = c.starts = false;
    sweep_at(r, &c, L, sum);
}

static tg_status alternations_reverse(tg_reverse *r, tg_unrolled *u, double *sum)
{
    size_t blocks = (size_t)r->w->rows->nblock;
    TG_TRY(tg_unrolled_begin(r->m, r->w, r->Lbar, u));
    memset(r->s->block_gradient, 0, sizeof(double) * (TG_AXES + 1) * blocks); /* added at the end */
    for (int k = u->alternations - 1; k >= 0; k--)
    {
        TG_TRY(tg_unrolled_back(r->w, k, u));
        for (int part = 0; part < 2; part++)
            problem_reverse(r, u->L[part], u->z[part], sum);
    }
    if (r->touch == NULL)
        memset(r->s->touch_gradient, 0, sizeof(double) * TG_TOUCH_GRADIENT * (size_t)r->w->rows->ntouch);
    r->touch = r->s->touch_gradient;
    tg_unrolled_start(r->w, u, r->s->touch_gradient);
    memcpy(r->s->block_gradient, u->mu, sizeof(double) * (TG_AXES + 1) * blocks);
    return TG_OK;
}

tg_status tg_reverse_unrolled(tg_reverse *r, const tg_cotangent *out)
{
    const tg_model *m = r->m;
    tg_unrolled u = {.mark = tg_arena_mark(&r->w->rows->scratch)};
    double *sum = r->vbar; /* has gone into y */
    memcpy(r->y, r->vbar, sizeof(double) * (size_t)m->nv);
    tg_rows_half(m, r->w, r->y, r->Lbar);
    tg_reverse_contacts(r, out);
    memset(r->z, 0, sizeof(double) * (size_t)r->w->rows->nrow);
    tg_rows_other_half(m, r->w, r->z, r->y);
    memset(sum, 0, sizeof(double) * (size_t)m->nv);
    tg_status status = alternations_reverse(r, &u, sum);
    tg_unrolled_end(r->w, &u);
    TG_TRY(status);
    tg_reverse_sweep(r);
    for (int k = 0; k < m->nv; k++)
        r->scaled[k] += sum[k];
    return TG_OK;
}
