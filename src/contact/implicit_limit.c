/* Redundant rows at a solution, for their derivatives: the limit of compliant solutions in coordinates of the range of G_RR.
 *
 * A contact with compliance eps carries L = P(z), z = -sigma / eps, P its response: L_N = max(0, z_N), L_T = z_T while that is inside the cone, otherwise on the cone
 * where dissipation is largest (the contact creeps; in scaled variables x_i = S_i z_i / (S_i^2 + alpha), alpha >= 0 such that |x_T| = x_N). Consistent b_R makes
 * Z^T z = 0 for every eps, so z = Q^T d (inconsistent: z = Q^T d - Z Z^T b_R / eps, which opens contacts), and as eps -> 0 the equations are
 * Q sigma_R(P(Q^T d)) = 0, as many as the rank of G_RR. Outside of its cone a response has a slope, P + slope (identity - P). */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"
#include "math/lanes.h"

static const double inside_margin = 1e-7; /* of x_N */
static const double smallest_pivot = 1e-4;
static const double no_force = 1e-9; /* m/s: G_NN x_N */

typedef struct limit
{
    tg_solve_work *w;
    const tg_cones *cones;
    const tg_held *held;
    int ld, rank, count; /* of held rows */
    bool outside;        /* a response is outside of its cone */
    double *d, *z;       /* z: held rows, impulses that are not scaled */
    double *E;           /* rank x count: (dx / dd)^T */
    double slope;        /* of responses outside of their cones */
    double opening;      /* 1 / eps when held rows contradict each other, otherwise 0 */
} limit;

/* ---- the response of one contact ---- */

typedef struct response
{
    int m;
    double scale[TG_CONE_MAX - 1], x[TG_CONE_MAX], z[TG_CONE_MAX - 1]; /* z of the tangents */
    double inverse[TG_CONE_MAX - 1];                                   /* 1 / (S_i^2 + alpha) */
    double kept[TG_CONE_MAX - 1];                                      /* x_T without the slope outside */
    double slope;
    bool lifted, creeps;
} response;

/* |x_T(alpha)|^2 and half its derivative */
static double creep_square(const response *p, double alpha, double *slope)
{
    double square = 0;
    *slope = 0;
    for (int i = 0; i < p->m; i++)
    {
        double inverse = 1 / (p->scale[i] * p->scale[i] + alpha), x = p->scale[i] * p->z[i] * inverse;
        square += x * x;
        *slope -= x * x * inverse;
    }
    return square;
}

/* alpha with |x_T(alpha)| = x_N: Newton on 1 / |x_T| from alpha = 0, where it is convex: monotone */
static double creep_alpha(const response *p)
{
    double alpha = 0;
    for (int k = 0; k < 50; k++)
    {
        double slope, square = creep_square(p, alpha, &slope), size = sqrt(square);
        double step = (size / p->x[0] - 1) * square / -slope;
        alpha += step;
        if (step <= 1e-15 * alpha)
            break;
    }
    return alpha;
}

static void respond(response *p, double z_n)
{
    double slope;
    p->lifted = z_n <= 0;
    p->x[0] = p->lifted ? p->slope * z_n : z_n;
    p->creeps = !p->lifted && creep_square(p, 0, &slope) > z_n * z_n;
    double alpha = p->creeps ? creep_alpha(p) : 0;
    for (int i = 0; i < p->m; i++)
    {
        double free = p->z[i] / p->scale[i];
        p->inverse[i] = 1 / (p->scale[i] * p->scale[i] + alpha);
        p->kept[i] = p->lifted ? 0 : p->scale[i] * p->z[i] * p->inverse[i];
        p->x[1 + i] = p->kept[i] + p->slope * (free - p->kept[i]);
    }
}

/* dx / dz applied to q (m + 1 entries), in place */
static void respond_derivative(const response *p, double *q)
{
    double change = -p->x[0] * q[0], weight = 0;
    for (int i = 0; p->creeps && i < p->m; i++)
    {
        change += p->kept[i] * p->inverse[i] * p->scale[i] * q[1 + i];
        weight += p->inverse[i] * p->kept[i] * p->kept[i];
    }
    double d_alpha = p->creeps ? change / weight : 0;
    for (int i = 0; i < p->m; i++)
    {
        double free = q[1 + i] / p->scale[i];
        double kept = p->lifted ? 0 : p->inverse[i] * (p->scale[i] * q[1 + i] - p->kept[i] * d_alpha);
        q[1 + i] = kept + p->slope * (free - kept);
    }
    q[0] *= p->lifted ? p->slope : 1;
}

/* ---- all held rows ---- */

static bool has_held_rows(const tg_cone *cone, const tg_cone_state *state)
{
    return state->phase == TG_PHASE_STICK || (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT);
}

/* the response of a block with held rows */
static void block_response(const limit *l, const tg_cone *cone, const tg_cone_state *state, response *p)
{
    const int *at = l->held->at + cone->row;
    p->m = state->phase == TG_PHASE_STICK ? cone->dim - 1 : 0;
    p->slope = l->slope;
    for (int k = 0; k < p->m; k++)
    {
        p->scale[k] = l->cones->scale[cone->row + 1 + k];
        p->z[k] = l->z[at[1 + k]];
    }
    respond(p, l->z[at[0]]);
}

/* a row without cone: free, or a box that yields at its bound */
static double row_response(const tg_cone *cone, double z, double outside, double *slope)
{
    bool yields = cone->kind == TG_CONE_BOX && fabs(z) > cone->bound;
    *slope = yields ? outside : 1;
    double kept = yields ? copysign(cone->bound, z) : z;
    return kept + outside * (z - kept);
}

/* x = P(Q^T d) */
static void respond_all(limit *l)
{
    const tg_held *held = l->held;
    l->outside = false;
    tg_gemm_nn(1, l->count, l->rank, l->d, l->rank, held->range, l->ld, TG_GEMM_SET, l->z, l->count);
    for (int i = 0; i < l->count; i++)
    {
        l->w->x[held->row[i]] = l->z[i];
        l->z[i] *= l->cones->scale[held->row[i]];
    }
    for (int i = 0; l->opening > 0 && i < l->count; i++)
        l->z[i] -= l->opening * held->gap[i];
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        response p;
        double slope;
        if (cone->kind == TG_CONE_FREE || !has_held_rows(cone, &l->w->state[b]))
            continue;
        if (cone->kind == TG_CONE_BOX)
        {
            l->w->x[cone->row] = row_response(cone, l->z[held->at[cone->row]], l->slope, &slope);
            l->outside = l->outside || slope < 1;
            continue;
        }
        block_response(l, cone, &l->w->state[b], &p);
        memcpy(l->w->x + cone->row, p.x, (size_t)(p.m + 1) * sizeof *p.x);
        l->outside = l->outside || p.lifted || p.creeps;
    }
}

/* Rows of Z, changes of z not scaled, times 1 / S, become changes of x (rows x count both, in place): only blocks
 * whose response is outside of its cone have more to do. */
static void respond_derivative_block(const limit *l, const tg_cone *cone, const tg_cone_state *state, int rows,
                                     double *Z)
{
    const int *at = l->held->at + cone->row;
    response p = {.m = 0};
    double slope = 1, q[TG_CONE_MAX] = {0};
    if (cone->kind == TG_CONE_UNIT)
        block_response(l, cone, state, &p);
    else
        row_response(cone, l->z[at[0]], l->slope, &slope);
    for (int k = 0; k < rows && (p.lifted || p.creeps || slope < 1); k++, Z += l->ld)
    {
        for (int i = 0; i <= p.m; i++)
            q[i] = Z[at[i]] * l->cones->scale[cone->row + i];
        if (cone->kind == TG_CONE_UNIT)
            respond_derivative(&p, q);
        else
            q[0] *= slope;
        for (int i = 0; i <= p.m; i++)
            Z[at[i]] = q[i];
    }
}

static void respond_derivatives(const limit *l, int rows, double *Z)
{
    for (int b = 0; b < l->cones->blocks; b++)
        if (has_held_rows(&l->cones->block[b], &l->w->state[b]))
            respond_derivative_block(l, &l->cones->block[b], &l->w->state[b], rows, Z);
}

/* E = (dx / dd)^T */
static void range_derivatives(limit *l)
{
    for (int k = 0; k < l->rank; k++)
        memcpy(l->E + (size_t)k * (size_t)l->ld, l->held->range + (size_t)k * (size_t)l->ld,
               (size_t)l->count * sizeof *l->E);
    respond_derivatives(l, l->rank, l->E);
}

static double opening(const tg_cones *cones)
{
    double trace = 0;
    for (int i = 0; i < cones->rows; i++)
        trace += cones->G[(size_t)i * (size_t)(cones->ld + 1)] / (cones->scale[i] * cones->scale[i]);
    return 1e8 * cones->rows / trace;
}

static limit limit_of(tg_solve_work *w, double slope)
{
    const tg_held *held = &w->held;
    return (limit){.w = w,
                   .cones = &w->cones,
                   .held = held,
                   .ld = w->cones.ld,
                   .rank = held->rank,
                   .count = held->count,
                   .slope = slope,
                   .opening = held->inconsistency >= TG_CONSISTENT ? opening(&w->cones) : 0,
                   .d = w->d,
                   .z = w->z,
                   .E = w->range};
}

/* d = Q L_R; blocks that carry nothing get their impulse */
static void start(limit *l)
{
    const tg_held *held = l->held;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        for (int i = cone->row; !has_held_rows(cone, state) && i < cone->row + cone->dim; i++)
            l->w->x[i] = state->phase == TG_PHASE_BREAK ? 0 : state->direction[0] * cone->bound;
    }
    for (int i = 0; i < l->count; i++)
    {
        double scale = l->cones->scale[held->row[i]];
        l->z[i] = scale * scale * l->w->x[held->row[i]];
    }
    tg_gemm_nt(l->rank, 1, l->count, held->range, l->ld, l->z, l->count, TG_GEMM_SET, l->d, 1);
}

/* whether the impulse of a held block is strictly inside of its cone */
static bool is_strict(const limit *l, const tg_cone *cone, const tg_cone_state *state)
{
    const double *x = l->w->x + cone->row;
    if (cone->kind == TG_CONE_BOX)
        return fabs(x[0]) < cone->bound * (1 - inside_margin);
    if (cone->kind == TG_CONE_FREE)
        return true;
    double tangent = state->phase == TG_PHASE_STICK ? tg_cone_tangent(cone->dim, x) : 0;
    return x[0] > 0 && tangent < x[0] * (1 - inside_margin);
}

/* rows of one block in the least squares for d: E gets Q_S (not scaled), z gets L_S; returns how many */
static int strict_rows(limit *l, const tg_cone *cone, int rows, int at)
{
    const tg_held *held = l->held;
    for (int i = 0; i < rows; i++)
    {
        double scale = l->cones->scale[cone->row + i];
        l->z[at + i] = scale * l->w->x[cone->row + i];
        for (int k = 0; k < l->rank; k++)
            l->E[(size_t)k * (size_t)l->ld + (size_t)(at + i)] =
                held->range[(size_t)k * (size_t)l->ld + (size_t)held->at[cone->row + i]] * scale;
    }
    return rows;
}

/* On its cone z_T = S x_T + alpha S^-1 x_T for some alpha: the part along S^-1 x_T says nothing. */
static void remove_creep(limit *l, const tg_cone *cone, int at)
{
    int m = cone->dim - 1;
    double c[TG_CONE_MAX - 1], square = 0;
    for (int i = 0; i < m; i++)
    {
        c[i] = l->w->x[cone->row + 1 + i] / l->cones->scale[cone->row + 1 + i];
        square += c[i] * c[i];
    }
    for (int k = 0; k <= l->rank; k++)
    {
        double *q = k < l->rank ? l->E + (size_t)k * (size_t)l->ld + at : l->z + at, along = 0;
        for (int i = 0; i < m; i++)
            along += c[i] * q[i] / square;
        for (int i = 0; i < m; i++)
            q[i] -= c[i] * along;
    }
}

/* When x is a solution with impulses on their cones, the others determine d, with what is known of those that creep: z of
 * the rest is not their impulse. Least squares by the normal equations Q_S Q_S^T d = Q_S L_S; left alone when these rows
 * do not suffice. */
static void start_strict(limit *l)
{
    int rows = 0;
    bool all = true;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        if (!has_held_rows(cone, state))
            continue;
        bool sticks = state->phase == TG_PHASE_STICK, strict = is_strict(l, cone, state);
        bool creeps = !strict && sticks && cone->kind == TG_CONE_UNIT && l->w->x[cone->row] / cone->rho_n > no_force;
        all = all && strict;
        if (!strict && !creeps)
            continue;
        int at = rows;
        rows += strict_rows(l, cone, sticks ? cone->dim : 1, at);
        if (creeps)
            remove_creep(l, cone, at + 1);
    }
    if (all || rows < l->rank)
        return;
    tg_syrk_n(l->rank, rows, l->E, l->ld, TG_GEMM_SET, l->w->A, l->ld);
    if (tg_chol(l->rank, l->w->A, l->ld) >= 0)
        return;
    for (int k = 0; k < l->rank; k++)
        if (l->w->A[(size_t)k * (size_t)(l->ld + 1)] < smallest_pivot)
            return;
    tg_gemm_nt(l->rank, 1, rows, l->E, l->ld, l->z, rows, TG_GEMM_SET, l->d, 1);
    tg_chol_solve(l->rank, l->w->A, l->ld, 1, l->d, 1);
}

bool tg_limit_derivative(tg_solve_work *w, double slope, double *d, double *E, double *K)
{
    limit l = limit_of(w, slope);
    size_t ld = (size_t)l.ld;
    start(&l);
    start_strict(&l);
    respond_all(&l);
    range_derivatives(&l);
    memcpy(d, l.d, (size_t)l.rank * sizeof *d);
    memcpy(E, l.E, (size_t)l.rank * ld * sizeof *E);
    memset(K, 0, (size_t)l.count * ld * sizeof *K);
    for (int i = 0; i < l.count; i++)
        K[(size_t)i * (ld + 1)] = 1 / l.cones->scale[l.held->row[i]];
    respond_derivatives(&l, l.count, K);
    return l.outside;
}
