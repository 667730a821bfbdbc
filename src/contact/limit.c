/* The limit of compliant solutions, in coordinates of the range of G_RR (see selection.c for R, Q and Z).
 *
 * A contact with compliance eps carries L = P(z), z = -sigma / eps, P its response: L_N = max(0, z_N), L_T = z_T while that
 * is inside the cone, otherwise on the cone where dissipation is largest (the contact creeps; in scaled variables
 * x_i = S_i z_i / (S_i^2 + alpha), alpha >= 0 such that |x_T| = x_N). Consistent b_R makes Z^T z = 0 for every eps, so
 * z = Q d (inconsistent: z = Q d - Z Z^T b_R / eps, which opens contacts), and as eps -> 0 the equations are
 *     F1 = Q^T sigma_R(P(Q d), x_T) = 0            as many as the rank of G_RR, for as many d
 *     F2 = Alart-Curnier rows of contacts that slide, for their tangents x_T
 * No eps is left, nothing is ill conditioned, and Z^T L_R = 0 wherever no contact creeps or is lifted. Newton, with a
 * slope outside of the cones, P + slope (identity - P), that falls from 0.1 to 1e-12: the way starts near Z^T L_R = 0,
 * and a contact which must be on its cone and has no freedom to creep does not make the matrix singular. */
#include <math.h>
#include <string.h>

#include "contact/solver.h"
#include "math/dense.h"
#include "math/lanes.h"

enum
{
    HALVINGS = 4
};

static const double settled = 1e-3; /* of the largest |g|: the slope may fall */
static const double first_slope = 0.1, last_slope = 1e-12, slope_factor = 1e-2;

typedef struct limit
{
    tg_solve_work *w;
    const tg_cones *cones;
    int ld, rank, size;       /* size: rank + tangents of sliding contacts */
    int *tangent;             /* row of the scaled problem of unknown rank + i */
    double *d, *z, *F, *step; /* z: held rows, impulses that are not scaled */
    double *E;                /* rank x held: (dx / dd)^T */
    double *B;                /* rank x rows: (ds / dd)^T */
    double slope;             /* of responses outside of their cones */
    double opening;           /* 1 / eps when held rows contradict each other, otherwise 0 */
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

/* the response of the block whose held rows start at index i, and how many these are */
static int block_response(const limit *l, const tg_cone *cone, const tg_cone_state *state, int i, response *p)
{
    p->m = state->phase == TG_PHASE_STICK ? cone->dim - 1 : 0;
    p->slope = l->slope;
    for (int k = 0; k < p->m; k++)
    {
        p->scale[k] = l->cones->scale[cone->row + 1 + k];
        p->z[k] = l->z[i + 1 + k];
    }
    respond(p, l->z[i]);
    return p->m + 1;
}

/* a row without cone: free, or a box that yields at its bound */
static double row_response(const tg_cone *cone, double z, double outside, double *slope)
{
    bool yields = cone->kind == TG_CONE_BOX && fabs(z) > cone->bound;
    *slope = yields ? outside : 1;
    double kept = yields ? copysign(cone->bound, z) : z;
    return kept + outside * (z - kept);
}

static bool has_held_rows(const tg_cone *cone, const tg_cone_state *state)
{
    return state->phase == TG_PHASE_STICK || (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT);
}

/* x = P(Q d) */
static void respond_all(limit *l)
{
    const tg_held *held = &l->w->held;
    int n = held->count, i = 0;
    tg_gemm_nn(1, n, l->rank, l->d, l->rank, held->basis, l->ld, TG_GEMM_SET, l->z, n);
    for (int k = 0; l->opening > 0 && k < n; k++)
        l->z[k] -= l->opening * held->gap[k];
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        response p;
        double slope;
        if (!has_held_rows(cone, &l->w->state[b]))
            continue;
        if (cone->kind != TG_CONE_UNIT)
        {
            l->w->x[cone->row] = row_response(cone, l->z[i++], l->slope, &slope);
            continue;
        }
        int rows = block_response(l, cone, &l->w->state[b], i, &p);
        memcpy(l->w->x + cone->row, p.x, (size_t)rows * sizeof *p.x);
        i += rows;
    }
}

/* E = (P' Q)^T: Q^T S^-1, and by blocks where a response is outside of its cone */
static void respond_derivatives(limit *l)
{
    const tg_held *held = &l->w->held;
    int n = held->count, i = 0;
    double *inverse = l->w->rhs;
    for (int k = 0; k < n; k++)
        inverse[k] = 1 / l->cones->scale[held->row[k]];
    for (int k = 0; k < l->rank; k++)
        for (int j = 0; j < n; j++)
            l->E[(size_t)k * (size_t)l->ld + (size_t)j] =
                held->basis[(size_t)k * (size_t)l->ld + (size_t)j] * inverse[j];
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        response p = {.m = 0};
        double slope = 1;
        if (!has_held_rows(cone, &l->w->state[b]))
            continue;
        if (cone->kind == TG_CONE_UNIT)
            block_response(l, cone, &l->w->state[b], i, &p);
        else
            row_response(cone, l->z[i], l->slope, &slope);
        for (int k = 0; k < l->rank && (p.lifted || p.creeps || slope < 1); k++)
        {
            double *E = l->E + (size_t)k * (size_t)l->ld + i;
            memcpy(E, held->basis + (size_t)k * (size_t)l->ld + i, (size_t)(p.m + 1) * sizeof *E);
            if (cone->kind == TG_CONE_UNIT)
                respond_derivative(&p, E);
            else
                E[0] *= slope;
        }
        i += p.m + 1;
    }
}

/* ---- Newton ---- */

static void list_unknowns(limit *l)
{
    l->size = l->rank;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        if (l->w->state[b].phase != TG_PHASE_SLIDE || cone->kind != TG_CONE_UNIT)
            continue;
        for (int i = 1; i < cone->dim; i++)
            l->tangent[l->size++ - l->rank] = cone->row + i;
    }
}

/* B = E G_R: rows of G that are held */
static void held_columns(limit *l)
{
    const tg_held *held = &l->w->held;
    int n = l->cones->rows;
    const double *G = l->cones->G;
    if (held->count < n)
    {
        double *gathered = l->w->A;
        for (int i = 0; i < held->count; i++)
            memcpy(gathered + (size_t)i * (size_t)l->ld, G + (size_t)held->row[i] * (size_t)l->ld,
                   (size_t)n * sizeof *gathered);
        G = gathered;
    }
    tg_gemm_nn(l->rank, n, held->count, l->E, l->ld, G, l->ld, TG_GEMM_SET, l->B, l->ld);
}

/* One row of the transposed matrix: how all equations depend on one unknown that moves s by `column` and the normals of
 * sliding contacts by `normal` (held order; NULL: not). */
static void equations(const limit *l, const double *column, const double *normal, double *out)
{
    const tg_held *held = &l->w->held;
    double *sigma = l->w->rhs;
    for (int i = 0; i < held->count; i++)
        sigma[i] = column[held->row[i]] / l->cones->scale[held->row[i]];
    tg_gemm_nt(1, l->rank, held->count, sigma, held->count, held->basis, l->ld, TG_GEMM_SET, out, l->rank);
    int at = l->rank, i = 0;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        if (!has_held_rows(cone, state))
            continue;
        if (state->phase == TG_PHASE_SLIDE)
        {
            const double *e = state->direction, *s = column + cone->row + 1;
            double along = 0;
            for (int k = 0; k < cone->dim - 1; k++)
                along += e[k] * s[k];
            for (int k = 0; k < cone->dim - 1; k++)
                out[at++] =
                    state->ratio * (s[k] - e[k] * along) - (normal != NULL ? e[k] * normal[i] / cone->rho_t : 0);
        }
        i += state->phase == TG_PHASE_STICK ? cone->dim : 1;
    }
}

/* what the tangents of a sliding contact add to their own equations */
static void own_tangents(const limit *l)
{
    int at = l->rank;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        if (state->phase != TG_PHASE_SLIDE || cone->kind != TG_CONE_UNIT)
            continue;
        int m = cone->dim - 1;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                l->w->A[(size_t)(at + j) * (size_t)l->ld + (size_t)(at + i)] +=
                    ((i == j ? 1 - state->ratio : 0) + state->ratio * state->direction[i] * state->direction[j]) /
                    cone->rho_t;
        at += m;
    }
}

static void transposed_matrix(limit *l)
{
    respond_derivatives(l);
    held_columns(l);
    for (int k = 0; k < l->rank; k++)
        equations(l, l->B + (size_t)k * (size_t)l->ld, l->E + (size_t)k * (size_t)l->ld,
                  l->w->A + (size_t)k * (size_t)l->ld);
    for (int k = l->rank; k < l->size; k++)
        equations(l, l->cones->G + (size_t)l->tangent[k - l->rank] * (size_t)l->ld, NULL,
                  l->w->A + (size_t)k * (size_t)l->ld);
    own_tangents(l);
}

/* F1, F2; returns the largest |F| (m/s) */
static double right_hand_side(limit *l)
{
    double *F = l->F, worst = 0;
    equations(l, l->w->s, NULL, F);
    int at = l->rank;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        if (state->phase != TG_PHASE_SLIDE || cone->kind != TG_CONE_UNIT)
            continue;
        for (int i = 1; i < cone->dim; i++)
            F[at++] = (l->w->x[cone->row + i] - state->direction[i - 1] * l->w->x[cone->row]) / cone->rho_t;
    }
    for (int i = 0; i < l->size; i++)
        worst = isfinite(F[i]) ? tg_larger(worst, fabs(F[i])) : INFINITY;
    return worst;
}

static void update_slides(limit *l)
{
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        if (l->w->state[b].phase == TG_PHASE_SLIDE && cone->dim > 1)
            tg_newton_direction(cone, l->w->x + cone->row, l->w->s + cone->row, &l->w->state[b]);
    }
}

/* x, s and F from d and x_T; returns |F| */
static double limit_evaluate(limit *l)
{
    respond_all(l);
    tg_cones_velocity(l->cones, l->w->x, l->w->s);
    update_slides(l);
    return right_hand_side(l);
}

/* no response is outside of its cone: the slope does not matter */
static bool is_inside(const limit *l)
{
    int i = 0;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        response p;
        if (!has_held_rows(cone, &l->w->state[b]))
            continue;
        if (cone->kind == TG_CONE_UNIT)
            i += block_response(l, cone, &l->w->state[b], i, &p);
        else if (cone->kind == TG_CONE_BOX && fabs(l->z[i]) > cone->bound)
            return false;
        else
            i++;
        if (cone->kind == TG_CONE_UNIT && (p.lifted || p.creeps))
            return false;
    }
    return true;
}

/* 1 / (1e-8 mean G_ii) */
static double opening(const tg_cones *cones)
{
    double trace = 0;
    for (int i = 0; i < cones->rows; i++)
        trace += cones->G[(size_t)i * (size_t)(cones->ld + 1)] / (cones->scale[i] * cones->scale[i]);
    return 1e8 * cones->rows / trace;
}

static limit limit_of(tg_solve_work *w)
{
    size_t ld = (size_t)w->cones.ld;
    return (limit){.w = w,
                   .cones = &w->cones,
                   .ld = w->cones.ld,
                   .rank = w->held.rank,
                   .tangent = w->position,
                   .slope = first_slope,
                   .opening = w->held.inconsistency >= TG_CONSISTENT ? opening(&w->cones) : 0,
                   .d = w->interior,
                   .z = w->interior + ld,
                   .F = w->interior + 2 * ld,
                   .step = w->interior + 3 * ld,
                   .E = w->range,
                   .B = w->range + (size_t)w->cones.rows * ld};
}

/* d = Q^T L_R; blocks that carry nothing get their impulse */
static void limit_start(limit *l)
{
    const tg_held *held = &l->w->held;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        const tg_cone_state *state = &l->w->state[b];
        for (int i = cone->row; !has_held_rows(cone, state) && i < cone->row + cone->dim; i++)
            l->w->x[i] = state->phase == TG_PHASE_BREAK ? 0 : state->direction[0] * cone->bound;
    }
    for (int i = 0; i < held->count; i++)
        l->z[i] = l->cones->scale[held->row[i]] * l->w->x[held->row[i]];
    for (int k = 0; k < l->rank; k++)
        l->d[k] = v4_dot_of(held->count, held->basis + (size_t)k * (size_t)l->ld, l->z);
}

/* d and x_T minus `share` of the step in l->step, and all that follows from them */
static double limit_move(limit *l, double share)
{
    for (int k = 0; k < l->rank; k++)
        l->d[k] -= share * l->step[k];
    for (int k = l->rank; k < l->size; k++)
        l->w->x[l->tangent[k - l->rank]] -= share * l->step[k];
    return limit_evaluate(l);
}

/* one step with the factors in w->A, halved while |F| grows; returns |F| */
static double limit_advance(limit *l, double before, int halvings)
{
    memcpy(l->step, l->F, (size_t)l->size * sizeof *l->step);
    tg_lu_solve_t(l->size, l->w->A, l->ld, l->w->pivot, 1, l->step, 1);
    double left = limit_move(l, 1), share = 1;
    for (int k = 0; k < halvings && !(left < before); k++)
    {
        share *= 0.5;
        left = limit_move(l, -share);
    }
    return left;
}

bool tg_limit_newton(tg_solve_work *w, int steps, double aim)
{
    limit l = limit_of(w);
    list_unknowns(&l);
    limit_start(&l);
    double left = limit_evaluate(&l);
    for (int k = 0; k < steps; k++)
    {
        transposed_matrix(&l);
        w->newton++;
        if (tg_lu(l.size, w->A, l.ld, w->pivot) >= 0)
            return false;
        left = limit_advance(&l, left, HALVINGS);
        if (!isfinite(left))
            return false;
        if (left <= aim && (l.slope <= last_slope || is_inside(&l)))
        {
            /* once more with the same factors: Newton is quadratic, so this ends in rounding */
            limit_advance(&l, left, 0);
            return true;
        }
        if (l.slope > last_slope && left <= settled * w->cones.velocity)
        {
            l.slope = tg_larger(l.slope * slope_factor, last_slope);
            left = limit_evaluate(&l);
        }
    }
    return false;
}
