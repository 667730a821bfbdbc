/* Explicit laws of contact (explicit.h). */
#include "contact/explicit.h"

#include <math.h>

static const char *const names[] = {"compliant", "impulse"};

const char *tg_explicit_name(int index)
{
    return index >= 0 && index < 2 ? names[index] : NULL;
}

tg_explicit_law tg_explicit_find(const char *name)
{
    for (int i = 0; i < 2 && name != NULL; i++)
        if (strcmp(name, names[i]) == 0)
            return (tg_explicit_law)(TG_EXPLICIT_COMPLIANT + i);
    return TG_EXPLICIT_NONE;
}

/* ---- one contact ---- */

/* What a contact does, and how it would change. */
typedef struct push
{
    bool on;        /* it pushes */
    bool capped;    /* its friction is at its bound */
    vec3 L;         /* impulses of the normal and the sliding rows */
    double t[2];    /* direction of the slip */
    double slip;    /* |u_T| */
    double mass;    /* m_T eta */
    double turn[2]; /* |u_T| d(m_T eta) / du_T: slip in another direction meets another mass */
    double mu;
    double by_gap, by_speed, by_dt; /* of L_N */
    double by_first, by_second;     /* of L_N by compliance and damping, or restitution */
    double margin;                  /* m or m/s to the next branch */
} push;

static const double *row_of(const tg_rows *r, const tg_rows_island *island, int row)
{
    return r->G + island->G + (size_t)(row - island->row) * (size_t)v4_pad(island->rows) - island->row;
}

static void spring(const tg_work *w, const tg_contact_settings *s, const tg_touch *t, double u, push *p)
{
    double c = tg_law_compliance(w->params, &t->law), K = 1 / c, k = tg_law_damping(w->params, &t->law);
    double force = -K * t->phi - k * u;
    p->on = t->phi < 0 && force > 0;
    p->margin = fmin(fabs(t->phi), fabs(force) / (K + k)); /* the unit of K or of k: whichever is larger */
    if (!p->on)
        return;
    p->L[0] = s->dt * force;
    p->by_gap = -s->dt * K;
    p->by_speed = s->detach ? 0 : -s->dt * k;
    p->by_dt = force;
    p->by_first = s->dt * t->phi * K * K;
    p->by_second = -s->dt * u;
}

static void impulse(const tg_work *w, const tg_contact_settings *s, const tg_touch *t, double u, double G, push *p)
{
    double e = tg_law_number(w->params, &t->law, t->law.restitution), mass = 1 / G, depth = fmax(0, -t->phi);
    double in = fmin(u, 0), speed = -(1 + e) * in + s->push_gain * depth / s->dt;
    bool meets = t->phi < 0 || t->phi + s->dt * u < 0;
    p->on = meets && speed > 0;
    p->margin = fmin(fabs(t->phi), fmin(fabs(t->phi / s->dt + u), fabs(u)));
    if (!p->on)
        return;
    p->L[0] = mass * speed;
    p->by_gap = t->phi < 0 ? -mass * s->push_gain / s->dt : 0;
    p->by_speed = u < 0 && !s->detach ? -mass * (1 + e) : 0;
    p->by_dt = -mass * s->push_gain * depth / (s->dt * s->dt);
    p->by_first = -mass * in;
}

static void friction(const tg_rows *r, const tg_contact_settings *s, const tg_rows_island *island,
                     const tg_constraint *c, push *p)
{
    const double *u = r->speed + c->row;
    if (c->rows < DIM)
        return;
    const double *G1 = row_of(r, island, c->row + 1) + c->row + 1, *G2 = row_of(r, island, c->row + 2) + c->row + 1;
    p->slip = sqrt(u[1] * u[1] + u[2] * u[2]);
    p->t[0] = p->slip > 0 ? u[1] / p->slip : 1;
    p->t[1] = p->slip > 0 ? u[2] / p->slip : 0;
    double G = p->t[0] * (G1[0] * p->t[0] + G1[1] * p->t[1]) + p->t[1] * (G2[0] * p->t[0] + G2[1] * p->t[1]);
    p->mass = G > 0 ? s->friction_share / G : 0;
    /* m_T = |u_T|^2 / (u_T . G u_T): |u_T| dm_T / du_T = 2 m_T (t - G t / (t . G t)) */
    for (int i = 0; i < 2 && G > 0; i++)
        p->turn[i] = 2 * p->mass * (p->t[i] - (G1[i] * p->t[0] + G2[i] * p->t[1]) / G);
    double bound = p->mu * p->L[0], wanted = p->mass * p->slip;
    p->capped = wanted > bound;
    for (int i = 0; i < 2; i++)
        p->L[1 + i] = -(p->capped ? bound : wanted) * p->t[i];
    p->margin = fmin(p->margin, p->mass > 0 ? fabs(wanted - bound) / p->mass : INFINITY);
}

static push push_of(const tg_work *w, const tg_contact_settings *s, const tg_rows_island *island, int block)
{
    const tg_rows *r = w->rows;
    const tg_constraint *c = &r->constraint[r->order[block]];
    const tg_touch *t = &r->touch[c->index];
    push p = {.mu = r->block[block].mu[0], .margin = INFINITY};
    if (s->explicit_law == TG_EXPLICIT_COMPLIANT)
        spring(w, s, t, r->speed[c->row], &p);
    else
        impulse(w, s, t, r->speed[c->row], row_of(r, island, c->row)[c->row], &p);
    if (p.on)
        friction(r, s, island, c, &p);
    return p;
}

static bool is_contact(const tg_rows *r, int block)
{
    return r->constraint[r->order[block]].source == TG_SOURCE_CONTACT;
}

/* ---- the problem of the others ---- */

typedef struct others
{
    double *G, *g, *warm, *L, *sigma;
} others;

/* What contacts do is part of the others' free velocity; a contact touches nothing but itself, and opens at 1 m/s. */
static tg_island others_problem(const tg_rows *r, const tg_rows_island *island, others *x)
{
    tg_island problem = tg_island_problem(r, island);
    int n = island->rows, ld = problem.ldg;
    memcpy(x->G, problem.G, sizeof(double) * (size_t)n * (size_t)ld);
    memcpy(x->g, r->sigma + island->row, sizeof(double) * (size_t)n);
    memcpy(x->warm, problem.warm, sizeof(double) * (size_t)n);
    for (int b = 0; b < island->blocks; b++)
        for (int k = 0; k < problem.block[b].rows && is_contact(r, island->block + b); k++)
        {
            int row = problem.block[b].row + k;
            for (int i = 0; i < n; i++)
                x->G[(ptrdiff_t)row * ld + i] = x->G[(ptrdiff_t)i * ld + row] = i == row;
            x->g[row] = k == 0;
            x->warm[row] = 0;
        }
    problem.G = x->G;
    problem.g = x->g;
    problem.warm = x->warm;
    return problem;
}

static tg_status solve_others(tg_work *w, tg_rows_island *island, const char *solver, double tolerance)
{
    tg_rows *r = w->rows;
    tg_arena *arena = &r->scratch;
    size_t mark = arena->used, n = (size_t)island->rows;
    others x = {.G = TG_TAKE(arena, double, n *(size_t)v4_pad(island->rows), "explicit law: matrix")};
    double **vectors[] = {&x.g, &x.warm, &x.L, &x.sigma};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++)
        *vectors[i] = TG_TAKE(arena, double, n, "explicit law: rows");
    if (arena->failed)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "explicit law: no room for %d rows", island->rows);
    tg_solve_options options = tg_solve_default();
    options.solver = solver;
    options.tolerance = tolerance;
    tg_island problem = others_problem(r, island, &x);
    tg_status status = tg_island_solve(&problem, &options, arena, x.L, x.sigma, &island->result, &w->error);
    for (int i = 0; status == TG_OK && i < island->rows; i++)
        r->L[island->row + i] += x.L[i];
    arena->used = mark;
    return status;
}

/* sigma = G L + g */
static void set_velocities(const tg_rows *r, const tg_rows_island *island)
{
    for (int i = island->row; i < island->row + island->rows; i++)
    {
        const double *G = row_of(r, island, i);
        double sum = r->g[i];
        for (int j = island->row; j < island->row + island->rows; j++)
            sum += G[j] * r->L[j];
        r->sigma[i] = sum;
    }
}

static tg_status check_spring(const tg_work *w, const tg_contact_settings *s, int block, tg_error *error)
{
    const tg_rows *r = w->rows;
    const tg_touch *t = &r->touch[r->constraint[r->order[block]].index];
    if (s->explicit_law != TG_EXPLICIT_COMPLIANT || tg_law_compliance(w->params, &t->law) > 0)
        return TG_OK;
    return tg_fail(error, TG_ERR_VALUE, "law = compliant: geoms %d and %d touch with compliance 0: no stiffness",
                   t->pair.first, t->pair.second);
}

tg_status tg_explicit_solve(const tg_model *m, tg_work *w, tg_rows_island *island, const tg_contact_settings *s,
                            const char *solver, double tolerance)
{
    tg_rows *r = w->rows;
    bool alone = true;
    if (!tg_island_is_dense(r, island))
        return tg_fail(&w->error, TG_ERR_UNSUPPORTED, "law: an island of %d rows; explicit laws have at most %d",
                       island->rows, r->capacity.island_rows);
    tg_need_delassus(m, w, island);
    memset(r->L + island->row, 0, sizeof(double) * (size_t)island->rows);
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        tg_constraint *c = &r->constraint[r->order[b]];
        alone = alone && is_contact(r, b);
        if (!is_contact(r, b))
            continue;
        TG_TRY(check_spring(w, s, b, &w->error));
        push p = push_of(w, s, island, b);
        for (int i = 0; i < c->rows && i < DIM; i++)
            r->L[c->row + i] = p.L[i];
        r->touch[c->index].regime = p.on ? (p.capped ? 2 : 1) : 0;
    }
    set_velocities(r, island);
    island->result = (tg_solve_result){.status = TG_SOLVE_SOLVED, .selection = TG_SELECT_INDEPENDENT};
    if (alone)
        return TG_OK;
    TG_TRY(solve_others(w, island, solver, tolerance));
    set_velocities(r, island);
    return TG_OK;
}

/* ---- derivatives ---- */

void tg_explicit_modes(tg_rows *r, const tg_rows_island *island)
{
    for (int b = island->block; b < island->block + island->blocks; b++)
        if (is_contact(r, b))
            r->mode[b] = (tg_block_mode){.mode = TG_MODE_BREAKING, .margin = INFINITY};
}

void tg_explicit_reverse(const tg_work *w, const tg_contact_settings *s, const tg_rows_island *island, int block,
                         const double *gL, const tg_law_gradient *g, double gmu[TG_AXES])
{
    const tg_rows *r = w->rows;
    const tg_constraint *c = &r->constraint[r->order[block]];
    const tg_touch *t = &r->touch[c->index];
    push p = push_of(w, s, island, block);
    double normal = gL[c->row], along = 0;
    memset(gmu, 0, sizeof(double) * TG_AXES);
    if (!p.on)
        return;
    if (c->rows >= DIM)
        along = gL[c->row + 1] * p.t[0] + gL[c->row + 2] * p.t[1];
    if (p.capped)
    {
        normal -= p.mu * along;
        gmu[0] = -p.L[0] * along;
    }
    for (int i = 0; i < 2 && c->rows >= DIM; i++)
    {
        double across = gL[c->row + 1 + i] - along * p.t[i];
        g->f_start[c->row + 1 + i] +=
            p.capped ? -p.mu * p.L[0] * across / p.slip : -p.mass * gL[c->row + 1 + i] - p.turn[i] * along;
    }
    g->gphi[c->row] += normal * p.by_gap;
    g->f_start[c->row] += normal * p.by_speed;
    *g->gdt += normal * p.by_dt;
    bool compliant = s->explicit_law == TG_EXPLICIT_COMPLIANT;
    for (int k = 0; k < 2; k++)
    {
        double *first = tg_law_gradient_of(g->params, &t->law,
                                           compliant ? t->law.compliance[k]
                                           : k == 0  ? t->law.restitution
                                                     : -1);
        double *second = tg_law_gradient_of(g->params, &t->law, compliant ? t->law.damping[k] : -1);
        if (first != NULL)
            *first += normal * p.by_first;
        if (second != NULL)
            *second += normal * p.by_second;
    }
}

tg_gradient_kind tg_explicit_label(const tg_work *w, const tg_rows_island *island, const tg_contact_settings *s,
                                   double *margin)
{
    const tg_rows *r = w->rows;
    const double least = 1e-10; /* m, m/s: a displacement by which differences see one branch alone */
    tg_gradient_kind kind = TG_GRADIENT_EXACT;
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        if (!is_contact(r, b))
            continue;
        push p = push_of(w, s, island, b);
        bool masses = p.on && (s->explicit_law == TG_EXPLICIT_IMPULSE || (!p.capped && p.mass > 0));
        bool near = p.margin < least;
        tg_gradient_kind own = masses || (p.on && s->detach) ? TG_GRADIENT_REGULARISED
                               : near                        ? TG_GRADIENT_ONE_SIDED
                                                             : TG_GRADIENT_EXACT;
        kind = own > kind ? own : kind;
        *margin = fmin(*margin, p.margin);
    }
    return kind;
}
