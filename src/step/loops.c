/* How loops with redundant rows turn.
 *
 * Such loops are P (J v+ + b) = 0 with impulses P L, P = 1 - Z Z^T (contact/consistent.c), and P turns with J. With
 * answer = P N^+ (tg_consistent_turn), e = J v+ + b, Z^T L = 0 and Z^T z = 0,
 *
 *     dP e = answer (dJ (J^T d) + J dJ^T d)    in the rows' velocities, beside what Z^T z = 0 leaves out,
 *     J^T dP L = J^T Z Z^T (dJ (J^T a) + J dJ^T a)    in the forces,    a = answer^T L,   d = Z Z^T e,
 *
 * both as in forward mode: dJ x at a frozen velocity x, dJ^T f at frozen impulses f. Reverse mode has the same terms
 * with y and z in front (reverse_sweep.c). Where J^T Z = 0 only J dJ^T d is left.
 *
 * Of rows of which P leaves nothing but rounding a solver knows nothing: their part of z is that of P z. What their
 * bias changes by, 1 / dt times the gap, would otherwise be lost. */
#include <math.h>

#include "contact/rows_change.h"
#include "dynamics/kinematics.h"
#include "math/dense.h"
#include "math/lanes.h"
#include "step/step.h"

/* ---- rows ---- */

static double *answer_of(const tg_work *w, const tg_rows_island *island)
{
    return w->step->loops + (ptrdiff_t)island->loop * w->rows->capacity.loop_rows;
}

void tg_loops_prepare(const tg_model *m, tg_work *w)
{
    tg_rows *r = w->rows;
    tg_step_need_rows(m, w);
    w->step->loops_slack = false;
    for (int i = 0; i < r->nisland; i++)
        if (r->island[i].redundant > 0 && tg_consistent_turn(m, r, &r->island[i], answer_of(w, &r->island[i])))
            w->step->loops_slack = true;
}

/* the rows of an island's equalities, in x over all rows */
static double *row_of(const tg_rows *r, const tg_rows_island *island, double *x, int i)
{
    return x + island->row + r->loop_row[island->loop + i];
}

/* x (rows) <- the product with a square matrix over the equalities of every island with redundant ones; zero elsewhere
 */
typedef void square_product(const tg_work *w, const tg_rows_island *island, const double *x, double *out);

static void apply(const tg_work *w, square_product *of, double *x)
{
    tg_rows *r = w->rows;
    size_t mark = tg_arena_mark(&r->scratch);
    double *in = TG_TAKE(&r->scratch, double, r->capacity.loop_rows, "rows of equalities");
    double *out = TG_TAKE(&r->scratch, double, r->capacity.loop_rows, "their answer");
    for (int k = 0; k < r->nisland; k++)
    {
        const tg_rows_island *island = &r->island[k];
        int n = island->redundant > 0 ? island->loops : 0;
        for (int i = 0; i < n; i++)
            in[i] = *row_of(r, island, x, i);
        memset(x + island->row, 0, sizeof(double) * (size_t)island->rows);
        if (n > 0)
            of(w, island, in, out);
        for (int i = 0; i < n; i++)
            *row_of(r, island, x, i) = out[i];
    }
    tg_arena_release(&r->scratch, mark);
}

static void answer_forward(const tg_work *w, const tg_rows_island *island, const double *x, double *out)
{
    tg_gemm_nt(island->loops, 1, island->loops, answer_of(w, island), island->loops, x, island->loops, TG_GEMM_SET, out,
               1);
}

static void answer_reverse(const tg_work *w, const tg_rows_island *island, const double *x, double *out)
{
    tg_gemm_tn(island->loops, 1, island->loops, answer_of(w, island), island->loops, x, 1, TG_GEMM_SET, out, 1);
}

static void along(const tg_work *w, const tg_rows_island *island, const double *x, double *out)
{
    const double *Z = w->rows->Z + island->Z;
    memset(out, 0, sizeof(double) * (size_t)island->loops);
    for (int c = 0; c < island->redundant; c++)
    {
        double sum = 0;
        for (int i = 0; i < island->loops; i++)
            sum += Z[i * island->redundant + c] * x[i];
        for (int i = 0; i < island->loops; i++)
            out[i] += Z[i * island->redundant + c] * sum;
    }
}

void tg_loops_answer(const tg_work *w, double *x)
{
    apply(w, answer_reverse, x);
}

void tg_loops_along(const tg_work *w, double *x)
{
    apply(w, along, x);
}

void tg_loops_beside(const tg_work *w, double *x)
{
    const tg_rows *r = w->rows;
    for (int k = 0; k < r->nisland; k++)
    {
        const tg_rows_island *island = &r->island[k];
        const double *Z = r->Z + island->Z;
        for (int c = 0; c < island->redundant; c++)
        {
            double sum = 0;
            for (int i = 0; i < island->loops; i++)
                sum += Z[i * island->redundant + c] * *row_of(r, island, x, i);
            for (int i = 0; i < island->loops; i++)
                *row_of(r, island, x, i) -= Z[i * island->redundant + c] * sum;
        }
    }
}

/* ---- fields and impulses ---- */

/* One of the two terms: d (0) and a (1). */
typedef struct term
{
    double *impulse;  /* rows: dt times d or a, since forces are impulses / dt */
    double *velocity; /* nv: J^T d or J^T a */
    double *twist;    /* of the nodes */
    double *force;    /* of the impulses on the nodes, taken out of zero, summed over subtrees */
} term;

static term term_of(const tg_forward *f, int which)
{
    ptrdiff_t nodes = SPATIAL_SIZE * f->m->nnode;
    return (term){f->loop_impulse + (ptrdiff_t)which * f->ldr, f->loop_velocity + (ptrdiff_t)which * f->m->nv,
                  f->loop_twist + which * nodes, f->loop_force + which * nodes};
}

static int terms(const tg_forward *f)
{
    return f->s->loops_slack ? 2 : 1;
}

static void exchange(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

static void fill_term(tg_forward *f, int which)
{
    const tg_rows *r = f->w->rows;
    term t = term_of(f, which);
    if (which == 0)
    {
        tg_unmet_velocities(f->m, f->w, t.impulse);
        tg_loops_along(f->w, t.impulse);
    }
    else
    {
        memcpy(t.impulse, r->L, sizeof(double) * (size_t)r->nrow);
        tg_loops_answer(f->w, t.impulse);
    }
    tg_consistent_motion(f->m, r, t.impulse, t.velocity);
    tg_node_twists(f->m, f->w, t.velocity, t.twist);
    for (int i = 0; i < r->nrow; i++)
        t.impulse[i] *= f->dt;
}

/* ---- matrices by q ---- */

/* dJ x, nv x ldr, and dJ^T f, nv x nv */
static void fill_derivatives(tg_forward *f, int which, double *rows_q, double *force_q)
{
    const tg_model *m = f->m;
    tg_work *w = f->w;
    term t = term_of(f, which);
    tg_clear(rows_q, m->nv, f->ldr);
    tg_clear(force_q, m->nv, m->nv);
    memset(w->F, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
    for (int i = 0; i < m->nnode; i++)
        f->stiffness[i].any = false;
    tg_twists_along(m, w, t.twist, f->along_next);
    tg_rows_forward d = {.next = {t.velocity, t.twist, f->along_next},
                         .stiffness = f->stiffness,
                         .force_q = force_q,
                         .sigma_q = rows_q,
                         .ld = f->ldr,
                         .bare = true,
                         .settings = &f->s->settings};
    exchange(&w->rows->L, &t.impulse);
    tg_loops_derivatives(m, w, f->s->q, &d);
    exchange(&w->rows->L, &t.impulse);
    tg_add_force_derivatives(m, w, f->stiffness, force_q);
    memcpy(t.force, w->F, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
}

/* the place of every row of an island among its equalities, or -1 */
static int *places(tg_rows *r, const tg_rows_island *island)
{
    int *at = TG_TAKE(&r->scratch, int, island->rows, "places of equalities");
    for (int i = 0; i < island->rows; i++)
        at[i] = -1;
    for (int i = 0; i < island->loops; i++)
        at[r->loop_row[island->loop + i]] = i;
    return at;
}

/* out (loops x nv) = dJ x + J dJ^T f */
static void rows_by_q(const tg_forward *f, const tg_rows_island *island, const double *rows_q, const double *force_q,
                      double *out)
{
    const tg_model *m = f->m;
    tg_rows *r = f->w->rows;
    size_t mark = tg_arena_mark(&r->scratch);
    const int *at = places(r, island);
    for (int i = 0; i < island->loops; i++)
        for (int k = 0; k < m->nv; k++)
            out[(ptrdiff_t)i * m->nv + k] = rows_q[(ptrdiff_t)k * f->ldr + island->row + r->loop_row[island->loop + i]];
    for (int t = 0; t < m->ntree; t++)
    {
        int columns = r->tree_columns[t];
        const int *row = r->column_row + r->tree_column[t];
        const double *J = r->J + r->tree_start[t];
        bool own = columns > 0 && &r->island[r->tree_island[t]] == island;
        for (int k = 0; own && k < m->tree_ndof[t]; k++, J += v4_pad(columns))
            for (int a = 0; a < columns; a++)
            {
                int i = at[row[a] - island->row];
                const double *force = force_q + (ptrdiff_t)(m->tree_dof[t] + k) * m->nv;
                for (int c = 0; i >= 0 && J[a] != 0 && c < m->nv; c++)
                    out[(ptrdiff_t)i * m->nv + c] += J[a] * force[c];
            }
    }
    tg_arena_release(&r->scratch, mark);
}

/* sigma_q += answer x, transposed */
static void add_velocities(const tg_forward *f, const tg_rows_island *island, const double *x, double *product)
{
    const tg_rows *r = f->w->rows;
    int n = island->loops, nv = f->m->nv;
    tg_gemm_nn(n, nv, n, answer_of(f->w, island), n, x, nv, TG_GEMM_SET, product, nv);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < nv; k++)
            f->sigma_q[(ptrdiff_t)k * f->ldr + island->row + r->loop_row[island->loop + i]] +=
                product[(ptrdiff_t)i * nv + k];
}

/* force_q += J^T Z Z^T x / dt */
static void add_forces(const tg_forward *f, const tg_rows_island *island, const double *x, double *product)
{
    const tg_model *m = f->m;
    tg_rows *r = f->w->rows;
    size_t mark = tg_arena_mark(&r->scratch);
    double *row = TG_TAKE(&r->scratch, double, r->nrow, "rows"), *motion = f->s->forward_v;
    const double *Z = r->Z + island->Z;
    tg_gemm_tn(island->redundant, m->nv, island->loops, Z, island->redundant, x, m->nv, TG_GEMM_SET, product, m->nv);
    for (int c = 0; c < island->redundant; c++)
    {
        memset(row, 0, sizeof(double) * (size_t)r->nrow);
        for (int i = 0; i < island->loops; i++)
            *row_of(r, island, row, i) = Z[i * island->redundant + c] / f->dt;
        tg_consistent_motion(m, r, row, motion);
        for (int k = 0; k < m->nv; k++)
            for (int j = 0; motion[k] != 0 && j < m->nv; j++)
                f->force_q[(ptrdiff_t)k * m->nv + j] += motion[k] * product[(ptrdiff_t)c * m->nv + j];
    }
    tg_arena_release(&r->scratch, mark);
}

void tg_loops_forces(tg_forward *f)
{
    const tg_rows *r = f->w->rows;
    double *rows_q = f->S_q, *force_q = f->R_q, *x = f->BS, *product = f->BJ; /* of what comes later */
    if (r->problem == TG_PROBLEM_FREE)
        return;
    for (int which = 0; which < terms(f); which++)
    {
        fill_term(f, which);
        fill_derivatives(f, which, rows_q, force_q);
        for (int i = 0; i < r->nisland; i++)
        {
            if (r->island[i].redundant == 0)
                continue;
            rows_by_q(f, &r->island[i], rows_q, force_q, x);
            (which == 0 ? add_velocities : add_forces)(f, &r->island[i], x, product);
        }
    }
}

/* ---- along parameters ---- */

/* out (rows) = dJ x + J dJ^T f */
static void change_of(tg_forward *f, int which, double *out)
{
    const tg_model *m = f->m;
    tg_work *w = f->w;
    tg_step_work *s = f->s;
    tg_change *c = &s->change;
    term t = term_of(f, which);
    double *force = c->arm, *velocities = f->work;
    tg_change_twists(m, c, t.velocity, c->dP);
    tg_rows_change d = {
        .c = c, .next = {t.velocity, t.twist, c->dP}, .sigma = out, .bare = true, .settings = &s->settings};
    memset(c->dN, 0, sizeof(double) * SPATIAL_SIZE * (size_t)m->nnode);
    memset(force, 0, sizeof(double) * (size_t)m->nv);
    exchange(&w->rows->L, &t.impulse);
    exchange(&w->F, &t.force);
    exchange(&c->dF, &c->dN); /* the rows are done with it */
    exchange(&c->force, &force);
    c->pushes = false;
    tg_loops_changes(m, w, s->q, &d);
    tg_change_end(m, w, c);
    exchange(&c->force, &force);
    exchange(&c->dF, &c->dN);
    exchange(&w->F, &t.force);
    exchange(&w->rows->L, &t.impulse);
    tg_rows_velocity(m, w, force, velocities);
    for (int i = 0; i < w->rows->nrow; i++)
        out[i] += velocities[i];
}

void tg_loops_change(tg_forward *f, double *sigma)
{
    const tg_model *m = f->m;
    const tg_rows *r = f->w->rows;
    tg_change *c = &f->s->change;
    double *x = f->turned, *force = c->arm;
    bool any = c->moves || c->pulls ||
               tg_changes(c, m->offset.equality_data, m->offset.pair_friction - m->offset.equality_data);
    if (!any || r->problem == TG_PROBLEM_FREE)
        return;
    change_of(f, 0, x);
    apply(f->w, answer_forward, x);
    for (int i = 0; i < r->nrow; i++)
        sigma[i] += x[i];
    if (terms(f) == 1)
        return;
    change_of(f, 1, x);
    tg_loops_along(f->w, x);
    tg_consistent_motion(m, r, x, force);
    for (int k = 0; k < m->nv; k++)
        c->force[k] += force[k] / f->dt;
}
