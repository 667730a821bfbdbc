/* Normal equations with the shape of an arrow. */
#include "control/arrow.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"

static size_t square(int n)
{
    return (size_t)n * (size_t)n;
}

void tg_arrow_place(tg_arrow *a, int shared, int groups, const int *locals, tg_arena *arena)
{
    size_t d = 0, b = 0;
    *a = (tg_arrow){.shared = shared, .groups = groups, .locals = locals, .total = shared};
    for (int g = 0; g < groups; g++)
    {
        d += square(locals[g]);
        b += (size_t)locals[g] * (size_t)shared;
        a->total += locals[g];
        a->most = locals[g] > a->most ? locals[g] : a->most;
    }
    a->S = TG_TAKE(arena, double, square(shared) + 1, "S");
    a->schur = TG_TAKE(arena, double, square(shared) + 1, "schur");
    a->D = TG_TAKE(arena, double, d + 1, "D");
    a->factor = TG_TAKE(arena, double, d + 1, "factor");
    a->B = TG_TAKE(arena, double, b + 1, "B");
    a->lifted = TG_TAKE(arena, double, b + 1, "lifted");
    a->gradient = TG_TAKE(arena, double, a->total, "gradient");
    a->diagonal = TG_TAKE(arena, double, a->total, "diagonal");
    a->held = TG_TAKE(arena, bool, a->total, "held");
}

/* Where the blocks of a group start. */
typedef struct place
{
    size_t d, b;
    int first; /* of its unknowns */
} place;

static place place_of(const tg_arrow *a, int group)
{
    place at = {.first = a->shared};
    for (int g = 0; g < group; g++)
    {
        at.d += square(a->locals[g]);
        at.b += (size_t)a->locals[g] * (size_t)a->shared;
        at.first += a->locals[g];
    }
    return at;
}

static place next_place(const tg_arrow *a, place at, int g)
{
    at.d += square(a->locals[g]);
    at.b += (size_t)a->locals[g] * (size_t)a->shared;
    at.first += a->locals[g];
    return at;
}

void tg_arrow_clear(tg_arrow *a)
{
    place end = place_of(a, a->groups);
    memset(a->S, 0, square(a->shared) * sizeof *a->S);
    memset(a->D, 0, end.d * sizeof *a->D);
    memset(a->B, 0, end.b * sizeof *a->B);
    memset(a->gradient, 0, (size_t)a->total * sizeof *a->gradient);
}

void tg_arrow_add(tg_arrow *a, int group, int rows, const double *A, const double *r, double *scratch)
{
    int s = a->shared, l = a->locals[group], n = s + l;
    place at = place_of(a, group);
    double *H = scratch, *g = scratch + square(n);
    tg_syrk_t(n, rows, A, n, TG_GEMM_SET, H, n);
    tg_gemm_tn(n, 1, rows, A, n, r, 1, TG_GEMM_SET, g, 1);
    for (int i = 0; i < s; i++)
    {
        for (int j = 0; j < s; j++)
            a->S[i * s + j] += H[i * n + j];
        for (int j = 0; j < l; j++)
            a->B[at.b + (size_t)(i * l + j)] += H[i * n + s + j];
        a->gradient[i] += g[i];
    }
    for (int i = 0; i < l; i++)
    {
        for (int j = 0; j < l; j++)
            a->D[at.d + (size_t)(i * l + j)] += H[(s + i) * n + s + j];
        a->gradient[at.first + i] += g[s + i];
    }
}

void tg_arrow_add_square(tg_arrow *a, int group, const double *v, double w)
{
    int s = a->shared, l = group >= 0 ? a->locals[group] : 0;
    place at = place_of(a, group >= 0 ? group : 0);
    const double *vl = v + at.first;
    for (int i = 0; i < s; i++)
    {
        for (int j = 0; j < s; j++)
            a->S[i * s + j] += w * v[i] * v[j];
        for (int j = 0; j < l; j++)
            a->B[at.b + (size_t)(i * l + j)] += w * v[i] * vl[j];
    }
    for (int i = 0; i < l; i++)
        for (int j = 0; j < l; j++)
            a->D[at.d + (size_t)(i * l + j)] += w * vl[i] * vl[j];
}

/* The diagonal of H, and what the damping acts on: never less than rounding of the largest, so that what has no effect
 * can be damped. */
static void take_diagonal(tg_arrow *a)
{
    double largest = 0;
    place at = place_of(a, 0);
    for (int i = 0; i < a->shared; i++)
        a->diagonal[i] = a->S[i * a->shared + i];
    for (int g = 0; g < a->groups; at = next_place(a, at, g), g++)
        for (int i = 0; i < a->locals[g]; i++)
            a->diagonal[at.first + i] = a->D[at.d + (size_t)(i * a->locals[g] + i)];
    for (int i = 0; i < a->total; i++)
        largest = fmax(largest, a->diagonal[i]);
    for (int i = 0; i < a->total; i++)
        a->diagonal[i] = fmax(a->diagonal[i], DBL_EPSILON * largest + DBL_MIN);
}

/* A damped copy of a diagonal block in which held unknowns are decoupled. */
static void damp_block(const tg_arrow *a, const double *from, int n, int first, double damping, double *to)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
        {
            bool out = a->held[first + i] || a->held[first + j];
            to[i * n + j] =
                out ? (i == j ? 1.0 : 0.0) : from[i * n + j] + (i == j ? damping * a->diagonal[first + i] : 0);
        }
}

/* Eliminates a group: factor D, lifted = D^-1 B', schur -= B lifted, gradient of the shared ones in step -= lifted' g.
 */
static bool eliminate(tg_arrow *a, int g, place at, double damping, double *step)
{
    int s = a->shared, l = a->locals[g];
    double *L = a->factor + at.d, *up = a->lifted + at.b;
    damp_block(a, a->D + at.d, l, at.first, damping, L);
    if (tg_chol(l, L, l) >= 0)
        return false;
    for (int i = 0; i < l; i++)
        for (int j = 0; j < s; j++)
        {
            bool out = a->held[at.first + i] || a->held[j];
            up[i * s + j] = out ? 0.0 : a->B[at.b + (size_t)(j * l + i)];
        }
    tg_trsm(TG_TRI_LOWER, l, L, l, s, up, s); /* L^-1 B' */
    for (int i = 0; i < l; i++)
        step[at.first + i] = a->held[at.first + i] ? 0.0 : -a->gradient[at.first + i];
    tg_trsm(TG_TRI_LOWER, l, L, l, 1, step + at.first, 1);
    tg_gemm_tn(s, s, l, up, s, up, s, TG_GEMM_SUB, a->schur, s);
    tg_gemm_tn(s, 1, l, up, s, step + at.first, 1, TG_GEMM_SUB, step, 1);
    return true;
}

bool tg_arrow_solve(tg_arrow *a, double damping, double *step)
{
    int s = a->shared;
    place at = place_of(a, 0);
    take_diagonal(a);
    damp_block(a, a->S, s, 0, damping, a->schur);
    for (int i = 0; i < s; i++)
        step[i] = a->held[i] ? 0.0 : -a->gradient[i];
    for (int g = 0; g < a->groups; at = next_place(a, at, g), g++)
        if (!eliminate(a, g, at, damping, step))
            return false;
    if (tg_chol(s, a->schur, s) >= 0)
        return false;
    tg_chol_solve(s, a->schur, s, 1, step, 1);
    at = place_of(a, 0);
    for (int g = 0; g < a->groups; at = next_place(a, at, g), g++)
    {
        int l = a->locals[g];
        tg_gemm_nn(l, 1, s, a->lifted + at.b, s, step, 1, TG_GEMM_SUB, step + at.first, 1);
        tg_trsm(TG_TRI_LOWER | TG_TRI_TRANSPOSED, l, a->factor + at.d, l, 1, step + at.first, 1);
    }
    for (int i = 0; i < a->total; i++)
        if (!isfinite(step[i]))
            return false;
    return true;
}

void tg_arrow_schur(tg_arrow *a)
{
    int s = a->shared;
    place at = place_of(a, 0);
    take_diagonal(a);
    memcpy(a->schur, a->S, square(s) * sizeof *a->S);
    for (int g = 0; g < a->groups; at = next_place(a, at, g), g++)
    {
        int l = a->locals[g];
        double *L = a->factor + at.d, *up = a->lifted + at.b;
        /* rounding of the diagonal as damping: a direction without information changes nothing then */
        damp_block(a, a->D + at.d, l, at.first, l * DBL_EPSILON, L);
        if (tg_chol(l, L, l) >= 0)
            continue;
        for (int i = 0; i < l; i++)
            for (int j = 0; j < s; j++)
                up[i * s + j] = a->B[at.b + (size_t)(j * l + i)];
        tg_trsm(TG_TRI_LOWER, l, L, l, s, up, s);
        tg_gemm_tn(s, s, l, up, s, up, s, TG_GEMM_SUB, a->schur, s);
    }
}

double tg_arrow_quadratic(const tg_arrow *a, const double *x)
{
    int s = a->shared;
    double sum = 0;
    place at = place_of(a, 0);
    for (int i = 0; i < s; i++)
        for (int j = 0; j < s; j++)
            sum += x[i] * a->S[i * s + j] * x[j];
    for (int g = 0; g < a->groups; at = next_place(a, at, g), g++)
        for (int j = 0; j < a->locals[g]; j++)
        {
            int l = a->locals[g];
            for (int i = 0; i < s; i++)
                sum += 2 * x[i] * a->B[at.b + (size_t)(i * l + j)] * x[at.first + j];
            for (int i = 0; i < l; i++)
                sum += x[at.first + i] * a->D[at.d + (size_t)(i * l + j)] * x[at.first + j];
        }
    return sum;
}
