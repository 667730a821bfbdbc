/* Newton's method on the equations of given phases; redundant rows: the limit of compliant solutions.
 *
 * Independent held rows (held.c: R) have s_R = 0. Redundant ones: a contact with compliance eps carries L = P(z), z =
 * -sigma / eps, P its response: L_N = max(0, z_N), L_T = z_T while that is inside the cone, otherwise on the cone where
 * dissipation is largest (the contact creeps; in scaled variables x_i = S_i z_i / (S_i^2 + alpha), alpha >= 0 such that
 * |x_T| = x_N). Consistent b_R makes Z^T z = 0 for every eps, so z = Q^T d, and as eps -> 0 the equations are Q
 * sigma_R(P(Q^T d)) = 0, as many as the rank of G_RR. No eps is left, nothing is ill conditioned, and Z^T L_R = 0
 * wherever no contact creeps or is lifted.
 *
 * Newton's method has P = 1: where an impulse leaves its cone it ends, and what the rule says is found with compliance
 * (soft.h). Of such a solution the derivative asks for P, with a slope outside of the cones, P + slope (identity - P):
 * a contact which must be on its cone and has no freedom to creep does not make the matrix singular.
 *
 * A contact that slides has e = y_T / |y_T| of its Alart-Curnier point, t_j across it, and dx_T = e v_0 + sum_j t_j
 * v_j:
 *     v_0 = dx_N - (e . x_T - x_N),      r t_j . s_T + (1 - r) / rho t_j . x_T = 0,     r = y_N / |y_T|.
 * With M = G_RT [e t] and the answer of held rows to velocities, dx_R = -H (s_R + M v), only the small system for v of
 * all sliding contacts is left (Y = H M, N picks normals of sliding contacts):
 *     v_0 + N Y v = -(N H s_R + e . x_T - x_N)
 *     r (t . G_TT [e t] - M_t^T Y) v + (1 - r) / rho v_t = r M_t^T H s_R - t . (r s_T + (1 - r) / rho x_T). */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "math/lanes.h"
#include "solve/held.h"

enum
{
    HALVINGS = 4,
    MOST_IDLE = 4, /* steps that do not halve the least violation: a cycle, or rounding, */
    ROUNDED = 2,   /* which it is near the aim: light bodies among heavy ones come no nearer */
    CHORDS = 3     /* steps with the same factors */
};

static const double rounding = 1e-3; /* of the aim */
static const double rounded = 30;    /* of the aim */
static const double smallest_pivot = 1e-4;

typedef struct limit
{
    tg_solve_work *w;
    const tg_cones *cones;
    const tg_held *held;
    int ld, rank, count; /* of held rows */
    int slides, size;    /* sliding contacts and their unknowns v */
    bool unique;         /* rank == count: no d */
    bool linear;         /* cones do not matter */
    bool outside;        /* redundant: an impulse is outside of its cone */
    double *base;        /* redundant: x_R = base + Q^T d */
    double *d, *z;       /* z: Q^T d */
    double *F;           /* s_R; redundant: Q sigma_R */
    double *f;           /* right-hand side of the small system, then v */
    double *step;        /* of x_R; redundant: of d */
    double *E;           /* rank x count: (dx / dd)^T */
    double *M, *X, *Y;   /* count x size, rank x size, count x size */
    double *small;       /* size x size */
    double slope;        /* of responses outside of their cones */
} limit;

/* ---- all held rows ---- */

static bool has_held_rows(const tg_cone *cone, const tg_cone_state *state)
{
    return state->phase == TG_PHASE_STICK || (state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT);
}

static bool slides(const tg_cone *cone, const tg_cone_state *state)
{
    return state->phase == TG_PHASE_SLIDE && cone->kind == TG_CONE_UNIT && cone->dim > 1;
}

/* what its phase holds of a block leaves its cone */
static bool is_outside(const tg_cone *cone, const tg_cone_state *state, const double *x)
{
    if (cone->kind == TG_CONE_FREE || !has_held_rows(cone, state))
        return false;
    if (cone->kind == TG_CONE_BOX)
        return fabs(x[0]) > cone->bound;
    return x[0] <= 0 || (state->phase == TG_PHASE_STICK && tg_cone_tangent(cone->dim, x) > x[0]);
}

/* x = base + Q^T d */
static void follow(limit *l)
{
    tg_gemm_nn(1, l->count, l->rank, l->d, l->rank, l->held->range, l->ld, TG_GEMM_SET, l->z, l->count);
    for (int i = 0; i < l->count; i++)
        l->w->x[l->held->row[i]] = l->base[i] + l->z[i];
    l->outside = false;
    for (int b = 0; b < l->cones->blocks && !l->linear && !l->outside; b++)
        l->outside = is_outside(&l->cones->block[b], &l->w->state[b], l->w->x + l->cones->block[b].row);
}

/* ---- sliding contacts ---- */

static void list_slides(limit *l)
{
    l->slides = l->size = 0;
    double *frame = l->w->frames;
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        if (!slides(cone, &l->w->state[b]))
            continue;
        int m = cone->dim - 1;
        l->w->slide[l->slides++] =
            (tg_slide){.block = b, .tangent = cone->row + 1, .m = m, .first = l->size, .frame = frame};
        l->size += m;
        frame += m * m;
    }
}

/* what the unknowns of one sliding contact do to a row: [e t]^T row_T */
TG_INLINE void frame_row_of(int m, const double *R, const double *t, double *out)
{
    for (int j = 0; j < m; j++)
    {
        double sum = 0;
        for (int i = 0; i < m; i++)
            sum += R[m * i + j] * t[i];
        out[j] = sum;
    }
}

/* what unknown j of one sliding contact does to all rows: sum_i R_ij G_Ti (G is symmetric) */
TG_INLINE void slide_column_of(int m, const double *R, const double *G, int ld, int j, double *column)
{
    for (int c = 0; c < ld; c += V4_LANES)
    {
        v4 sum = v4_zero();
        for (int i = 0; i < m; i++)
            sum += R[m * i + j] * v4_load(G + (ptrdiff_t)i * ld + c);
        v4_store(column + c, sum);
    }
}

static void frame_row(const tg_slide *k, const double *row, double *out)
{
    TG_SIZED(k->m, TG_CONE_MAX - 1, frame_row_of, k->frame, row + k->tangent, out);
}

static void slide_column(const limit *l, const tg_slide *k, int j, double *column)
{
    const double *G = l->cones->G + (size_t)k->tangent * (size_t)l->ld;
    TG_SIZED(k->m, TG_CONE_MAX - 1, slide_column_of, k->frame, G, l->ld, j, column);
}

/* M, and G_TT in the frames */
static void slide_columns(limit *l)
{
    int n = l->size;
    double *column = l->w->rhs;
    for (int a = 0; a < l->slides; a++)
        for (int j = 0; j < l->w->slide[a].m; j++)
        {
            int c = l->w->slide[a].first + j;
            slide_column(l, &l->w->slide[a], j, column);
            for (int i = 0; i < l->count; i++)
                l->M[(size_t)i * (size_t)n + (size_t)c] = column[l->held->row[i]];
            for (int b = 0; b < l->slides; b++)
                frame_row(&l->w->slide[b], column, l->small + (size_t)c * (size_t)n + l->w->slide[b].first);
        }
}

/* rows of the small system, its entries holding t . G_TT [e t] - M^T Y */
static void small_rows(limit *l)
{
    for (int k = 0; k < l->slides; k++)
    {
        const tg_slide *slide = &l->w->slide[k];
        const tg_cone *cone = &l->cones->block[slide->block];
        double ratio = l->w->state[slide->block].ratio, *row = l->small + (size_t)slide->first * (size_t)l->size;
        memcpy(row, l->Y + (size_t)l->held->at[cone->row] * (size_t)l->size, (size_t)l->size * sizeof *row);
        row[slide->first] += 1;
        for (int j = 1; j < slide->m; j++)
        {
            row += l->size;
            for (int c = 0; c < l->size; c++)
                row[c] *= ratio;
            row[slide->first + j] += (1 - ratio) / cone->rho_t;
        }
    }
}

/* ---- answers of held rows ---- */

/* X (rank x columns), velocities Q sigma -> steps of d */
static void solve_range(const limit *l, int columns, double *X)
{
    tg_held_precondition(l->cones, l->held, columns, X, columns);
    tg_trsm(TG_TRI_LOWER, l->rank, l->held->chol, l->ld, columns, X, columns);
}

/* Y = H M */
static void answer_slides(limit *l)
{
    int n = l->size;
    if (l->unique)
    {
        memcpy(l->Y, l->M, (size_t)l->count * (size_t)n * sizeof *l->Y);
        tg_held_solve(l->cones, l->held, n, l->Y, n);
        return;
    }
    tg_gemm_nn(l->rank, n, l->count, l->held->range, l->ld, l->M, n, TG_GEMM_SET, l->X, n);
    solve_range(l, n, l->X);
    tg_gemm_tn(l->count, n, l->rank, l->held->range, l->ld, l->X, n, TG_GEMM_SET, l->Y, n);
}

/* the matrices of the current phases and directions; false when one is singular */
static bool factorise(limit *l)
{
    l->w->newton++;
    if (l->size == 0)
        return true;
    for (int k = 0; k < l->slides; k++)
        tg_cone_frame(l->w->slide[k].m, l->w->state[l->w->slide[k].block].direction, l->w->slide[k].frame);
    slide_columns(l);
    answer_slides(l);
    tg_gemm_tn(l->size, l->size, l->count, l->M, l->size, l->Y, l->size, TG_GEMM_SUB, l->small, l->size);
    small_rows(l);
    return tg_lu(l->size, l->small, l->size, l->w->active) < 0;
}

/* ---- Newton ---- */

/* t . (r s_T + (1 - r) / rho x_T) with e and r of now and t of the last factorisation; first entry e . x_T - x_N */
static void slide_residual(const limit *l, const tg_slide *slide, double *f)
{
    const tg_cone *cone = &l->cones->block[slide->block];
    const tg_cone_state *state = &l->w->state[slide->block];
    const double *x = l->w->x + slide->tangent, *s = l->w->s + slide->tangent, *e = state->direction;
    double across[TG_CONE_MAX - 1], along = 0, along_x = 0;
    for (int i = 0; i < slide->m; i++)
    {
        across[i] = state->ratio * s[i] + (1 - state->ratio) / cone->rho_t * x[i];
        along += e[i] * across[i];
        along_x += e[i] * x[i];
    }
    for (int j = 1; j < slide->m; j++)
    {
        f[j] = 0;
        for (int i = 0; i < slide->m; i++)
            f[j] += slide->frame[slide->m * i + j] * (across[i] - e[i] * along);
    }
    f[0] = along_x - x[-1];
}

static void update_slides(limit *l)
{
    for (int k = 0; k < l->slides; k++)
    {
        const tg_cone *cone = &l->cones->block[l->w->slide[k].block];
        tg_newton_direction(cone, l->w->x + cone->row, l->w->s + cone->row, &l->w->state[l->w->slide[k].block]);
    }
}

/* F; the largest violation of all equations (m/s): held rows, normals of sliding contacts among them (redundant ones up
 * to what they contradict each other), and directions of slips */
static double measure(limit *l)
{
    double worst = 0;
    double *s = l->unique ? l->F : l->step;
    for (int i = 0; i < l->count; i++)
        s[i] = l->w->s[l->held->row[i]];
    if (!l->unique)
        tg_gemm_nt(l->rank, 1, l->count, l->held->range, l->ld, s, l->count, TG_GEMM_SET, l->F, 1);
    for (int i = 0; i < l->rank; i++)
    {
        double here = fabs(l->F[i]) / (l->unique ? l->cones->scale[l->held->row[i]] : 1);
        worst = here <= worst ? worst : here;
    }
    for (int k = 0; k < l->slides; k++)
    {
        int b = l->w->slide[k].block;
        double here = tg_newton_slide_violation(l->cones, &l->cones->block[b], &l->w->state[b], l->w->x);
        worst = here <= worst ? worst : here;
    }
    return worst;
}

/* x, s and F from d and x_T; returns the largest violation */
static double evaluate(limit *l)
{
    if (!l->unique)
        follow(l);
    tg_cones_velocity(l->cones, l->w->x, l->w->s);
    update_slides(l);
    return measure(l);
}

/* out (n) = a M, M (rows x n): few of each */
static void row_product(int rows, int n, const double *a, const double *M, double *out)
{
    int c = 0;
    for (; c + V4_LANES <= n; c += V4_LANES)
    {
        v4 sum = v4_zero();
        for (int i = 0; i < rows; i++)
            sum += v4_splat(a[i]) * v4_loadu(M + (ptrdiff_t)i * n + c);
        v4_storeu(out + c, sum);
    }
    for (; c < n; c++)
    {
        out[c] = 0;
        for (int i = 0; i < rows; i++)
            out[c] += a[i] * M[(ptrdiff_t)i * n + c];
    }
}

/* the step of x_R or d in l->step, v in l->f, with the current factors */
static void direction(limit *l)
{
    int n = l->size;
    double *answer = l->unique ? l->step : l->z;
    memcpy(l->step, l->F, (size_t)l->rank * sizeof *l->step);
    if (l->unique)
        tg_held_solve(l->cones, l->held, 1, l->step, 1);
    else
        solve_range(l, 1, l->step);
    if (n == 0)
        return;
    if (!l->unique)
        tg_gemm_nn(1, l->count, l->rank, l->step, l->rank, l->held->range, l->ld, TG_GEMM_SET, answer, l->count);
    double *back = l->w->rhs;
    row_product(l->count, n, answer, l->M, back);
    for (int k = 0; k < l->slides; k++)
    {
        const tg_slide *slide = &l->w->slide[k];
        double *f = l->f + slide->first, ratio = l->w->state[slide->block].ratio;
        slide_residual(l, slide, f);
        f[0] = -(f[0] + answer[l->held->at[slide->tangent - 1]]);
        for (int j = 1; j < slide->m; j++)
            f[j] = ratio * back[slide->first + j] - f[j];
    }
    tg_lu_solve(n, l->small, n, l->w->active, 1, l->f, 1);
    const double *back_to = l->unique ? l->Y : l->X;
    for (int i = 0; i < l->rank; i++)
        l->step[i] += v4_dot_of(n, back_to + (ptrdiff_t)i * n, l->f);
}

/* x_T += share [e t] v of one sliding contact */
TG_INLINE void move_slide_of(int m, const double *R, double share, const double *v, double *x)
{
    for (int i = 0; i < m; i++)
    {
        double sum = 0;
        for (int j = 0; j < m; j++)
            sum += R[m * i + j] * v[j];
        x[i] += share * sum;
    }
}

static void move_slide(const tg_slide *k, double share, const double *v, double *x)
{
    if (k->m == TG_CONE_MAX - 1)
        move_slide_of(TG_CONE_MAX - 1, k->frame, share, v, x);
    else
        move_slide_of(k->m, k->frame, share, v, x);
}

/* `share` of the step, and all that follows from it */
static double move(limit *l, const double *step, double share)
{
    for (int k = 0; k < l->rank; k++)
    {
        double *unknown = l->unique ? l->w->x + l->held->row[k] : l->d + k;
        *unknown -= share * step[k];
    }
    for (int k = 0; k < l->slides; k++)
    {
        const tg_slide *slide = &l->w->slide[k];
        move_slide(slide, share, l->f + slide->first, l->w->x + slide->tangent);
    }
    return evaluate(l);
}

/* one step with the current factors, halved while the violation grows; returns it */
static double advance(limit *l, double before, int halvings)
{
    direction(l);
    double *step = l->w->best;
    memcpy(step, l->step, (size_t)l->rank * sizeof *step);
    double left = move(l, step, 1), share = 1;
    for (int k = 0; k < halvings && !(left < before); k++)
    {
        share *= 0.5;
        left = move(l, step, -share);
    }
    return left;
}

static limit limit_of(tg_solve_work *w)
{
    size_t ld = (size_t)w->cones.ld, n = (size_t)w->cones.rows;
    const tg_held *held = &w->held;
    limit l = {.w = w,
               .cones = &w->cones,
               .held = held,
               .ld = w->cones.ld,
               .rank = held->rank,
               .count = held->count,
               .unique = held->rank == held->count,
               .E = w->range,
               .small = w->range + n * ld,
               .M = w->range + 2 * n * ld};
    double *next = w->limit, **const vector[TG_LIMIT_VECTORS] = {&l.d, &l.z, &l.F, &l.f, &l.step, &l.base};
    for (int i = 0; i < TG_LIMIT_VECTORS; i++)
        *vector[i] = tg_next(&next, ld);
    list_slides(&l);
    l.Y = l.M + (size_t)l.count * (size_t)l.size;
    l.X = l.Y + (size_t)l.count * (size_t)l.size;
    return l;
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
    if (l->unique)
        return;
    memset(l->d, 0, (size_t)l->rank * sizeof *l->d);
    for (int i = 0; i < l->count; i++)
    {
        double scale = l->cones->scale[held->row[i]], x = l->w->x[held->row[i]];
        l->base[i] = l->linear ? x : 0;
        l->z[i] = scale * scale * x;
    }
    if (!l->linear)
        tg_gemm_nt(l->rank, 1, l->count, held->range, l->ld, l->z, l->count, TG_GEMM_SET, l->d, 1);
}

/* More steps with the same factors, while they help: ends in rounding. */
static void polish(limit *l, double left, double aim)
{
    for (int c = 0; c < CHORDS && left > rounding * aim; c++)
    {
        double before = left;
        left = advance(l, left, 0);
        if (!(left < 0.5 * before))
            break;
    }
}

bool tg_limit_newton(tg_solve_work *w, tg_limit_way way, int steps, double aim)
{
    limit l = limit_of(w);
    l.linear = way == TG_LIMIT_LINEAR;
    start(&l);
    double left = evaluate(&l), least = INFINITY;
    if (!l.unique && left <= rounding * aim && !l.outside)
        return true;
    for (int k = 0, idle = 0; k < steps && idle < MOST_IDLE; k++)
    {
        if (l.outside || !factorise(&l))
            return false;
        left = advance(&l, left, l.unique ? 0 : HALVINGS);
        for (int c = 0; c < CHORDS && left > aim && l.size > 0 && !l.outside; c++)
        {
            double before = left;
            left = advance(&l, left, 0);
            if (!(left < 0.1 * before))
                break;
        }
        if (!isfinite(left))
            return false;
        if (left <= aim)
        {
            polish(&l, left, aim);
            return !l.outside;
        }
        idle = left < 0.5 * least ? 0 : idle + 1;
        least = tg_smaller(least, left);
        if (idle >= ROUNDED && left <= rounded * aim)
            return !l.outside;
    }
    return false;
}

/* ---- responses, for the derivative ---- */

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
    for (int k = 0; k < TG_ELLIPSE_STEPS; k++)
    {
        double slope, square = creep_square(p, alpha, &slope), size = sqrt(square);
        double step = (size / p->x[0] - 1) * square / -slope;
        alpha += step;
        if (step <= TG_ROUNDING * alpha)
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

/* x = P(Q^T d); z is scaled from here on */
static void respond_all(limit *l)
{
    follow(l);
    l->outside = false;
    for (int i = 0; i < l->count; i++)
        l->z[i] *= l->cones->scale[l->held->row[i]];
    for (int b = 0; b < l->cones->blocks; b++)
    {
        const tg_cone *cone = &l->cones->block[b];
        response p;
        double slope;
        if (cone->kind == TG_CONE_FREE || !has_held_rows(cone, &l->w->state[b]))
            continue;
        if (cone->kind == TG_CONE_BOX)
        {
            l->w->x[cone->row] = row_response(cone, l->z[l->held->at[cone->row]], l->slope, &slope);
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

/* whether the impulse of a held block is strictly inside of its cone */
static bool is_strict(const limit *l, const tg_cone *cone, const tg_cone_state *state)
{
    const double *x = l->w->x + cone->row;
    if (cone->kind == TG_CONE_BOX)
        return fabs(x[0]) < cone->bound * (1 - TG_ON_CONE);
    if (cone->kind == TG_CONE_FREE)
        return true;
    double tangent = state->phase == TG_PHASE_STICK ? tg_cone_tangent(cone->dim, x) : 0;
    return x[0] > 0 && tangent < x[0] * (1 - TG_ON_CONE);
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

/* When x is a solution with impulses on their cones, the others determine d, with what is known of those that creep: z
 * of the rest is not their impulse. Least squares by the normal equations Q_S Q_S^T d = Q_S L_S; left alone when these
 * rows do not suffice. */
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
        bool creeps = !strict && sticks && cone->kind == TG_CONE_UNIT && l->w->x[cone->row] / cone->rho_n > TG_NO_FORCE;
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
    limit l = limit_of(w);
    size_t ld = (size_t)l.ld;
    l.slope = slope;
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
