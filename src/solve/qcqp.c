/* Quadratic programs of contact: one solve. docs/qcqp.md. */
#include "solve/qcqp.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "math/dense.h"

enum
{
    DESCENT_STEPS = 25, /* factorisations before the interior point, which needs 10 to 20 of whole matrices */
    POLISH_STEPS = 10   /* and after it */
};

void tg_qcqp_work_take(tg_qcqp_work *w, int n, int blocks, tg_arena *arena)
{
    double **vector[] = {&w->x, &w->s, &w->trial, &w->ds, &w->d, &w->best, &w->kept, &w->last, &w->r};
    for (size_t i = 0; i < sizeof vector / sizeof vector[0]; i++)
        *vector[i] = TG_TAKE(arena, double, n, "qcqp vector");
    w->y = TG_TAKE(arena, double, n, "qcqp vector");
    w->shifted = TG_TAKE(arena, double, n, "qcqp vector");
    w->c = TG_TAKE(arena, double, blocks, "qcqp c");
    w->lambda = TG_TAKE(arena, double, blocks, "qcqp lambda");
    w->touching = TG_TAKE(arena, bool, blocks, "qcqp touching");
    w->at = TG_TAKE(arena, tg_qcqp_at, blocks, "qcqp face");
    w->first = TG_TAKE(arena, int, blocks + 1, "qcqp first");
    w->basis = TG_TAKE(arena, double, (size_t)n *TG_QCQP_SIZE_MAX, "qcqp basis");
    w->A = TG_TAKE(arena, double, (size_t)n *(size_t)n, "qcqp A");
    w->H = TG_TAKE(arena, double, (size_t)n *(size_t)n, "qcqp H");
    w->block = TG_TAKE(arena, tg_qcqp_block, blocks, "qcqp block");
}

void tg_qcqp_measure(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    double largest = 0;
    w->scale = 0;
    for (int i = 0; i < p->n; i++)
        w->scale = fmax(w->scale, fabs(p->g[i]));
    for (int i = 0; i < p->blocks; i++)
    {
        const tg_qcqp_block *b = &p->block[i];
        w->c[i] = 0;
        for (int r = 0; r < b->rows; r++)
        {
            double sum = 0;
            for (int k = 0; k < b->rows; k++)
                sum += fabs(p->G[(ptrdiff_t)(b->row + r) * p->n + b->row + k]);
            w->c[i] = fmax(w->c[i], sum);
        }
        largest = fmax(largest, w->c[i]);
    }
    /* blocks without curvature of their own: any step length serves */
    for (int i = 0; i < p->blocks; i++)
        if (w->c[i] <= DBL_EPSILON * largest)
            w->c[i] = largest > 0 ? largest : 1;
}

/* G d = 0, g'd < 0 along d = last / |last|, where the last iterate ran away */
static bool unbounded(const tg_qcqp_problem *p, tg_qcqp_work *w)
{
    double size = 0, slope = 0, curvature = 0, largest = 0;
    for (int i = 0; i < p->n; i++)
        size = fmax(size, fabs(w->last[i]));
    if (!isfinite(size))
        return false;
    for (int i = 0; i < p->blocks; i++)
        largest = fmax(largest, w->c[i]);
    if (size * largest <= w->scale / sqrt(DBL_EPSILON))
        return false;
    for (int i = 0; i < p->n; i++)
    {
        w->last[i] /= size;
        slope += p->g[i] * w->last[i];
    }
    tg_gemm_nt(p->n, 1, p->n, p->G, p->n, w->last, p->n, TG_GEMM_SET, w->ds, 1);
    for (int i = 0; i < p->n; i++)
        curvature = fmax(curvature, fabs(w->ds[i]));
    return slope < 0 && curvature <= TG_QCQP_NULL * largest;
}

static double value_of(const tg_qcqp_problem *p, const tg_qcqp_work *w)
{
    double sum = 0;
    for (int i = 0; i < p->n; i++)
        sum += 0.5 * (w->s[i] + p->g[i]) * w->x[i];
    return sum;
}

void tg_qcqp_solve_one(const tg_qcqp_problem *p, tg_qcqp_work *w, tg_qcqp_info *info)
{
    tg_qcqp_measure(p, w);
    w->newton = w->interior = 0;
    w->factored = false;
    for (int i = 0; i < p->blocks; i++)
    {
        w->touching[i] = false;
        w->at[i] = TG_QCQP_INSIDE;
    }
    bool away = false, solved = tg_qcqp_descend(p, w, DESCENT_STEPS);
    if (!solved)
    {
        away = unbounded(p, w);
        if (!away)
        {
            tg_qcqp_interior(p, w);
            solved = tg_qcqp_descend(p, w, POLISH_STEPS);
        }
    }
    *info = (tg_qcqp_info){.status = away ? TG_QCQP_UNBOUNDED : TG_QCQP_PARTIAL, .least_norm = solved};
    if (solved)
    {
        /* the last factor is that of the solution's face, or is made */
        if (!tg_qcqp_classify(p, w) || !w->factored)
            tg_qcqp_factor(p, w, TG_QCQP_SHIFT_SINGULAR);
        info->redundant = w->null;
        info->least_norm = info->redundant == 0 || tg_qcqp_least_norm(p, w);
        info->status = TG_QCQP_SOLVED;
    }
    info->residual = tg_qcqp_residual(p, w);
    info->rounding = tg_qcqp_rounding(p, w->x);
    if (solved && !(info->residual <= fmax(p->tolerance * w->scale, 4 * info->rounding)))
        info->status = TG_QCQP_PARTIAL;
    info->value = value_of(p, w);
    info->newton = w->newton;
    info->interior = w->interior;
}
