/* Steps with impacts within them have two problems: v+ is of the first, q+ = q (+) dt v of the second, and the laws of
 * both follow the velocities without constraints.
 *
 * Forward mode takes J v_free first, then the two problems. What the matrices start from (forward.h) is made three
 * times for some directions at once. */
#include "step/step.h"

static void swap(double **a, double **b)
{
    double *kept = *a;
    *a = *b;
    *b = kept;
}

void tg_within_exchange(tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    tg_implicit *implicit = s->implicit;
    s->implicit = s->placing;
    s->placing = implicit;
    swap(&s->v_next, &s->v_placing);
    swap(&r->L, &r->placing_L);
    swap(&r->sigma, &r->placing_sigma);
    swap(&s->matrices.kept_K, &s->matrices.placing_K);
    swap(&s->matrices.kept_Z, &s->matrices.placing_Z);
    s->matrices.ready = false;
    s->exchanged = !s->exchanged;
    r->problem = r->problem == TG_PROBLEM_PLACING ? TG_PROBLEM_VELOCITIES : TG_PROBLEM_PLACING;
}

void tg_within_free(tg_work *w)
{
    tg_step_work *s = w->step;
    tg_rows *r = w->rows;
    bool begins = r->problem != TG_PROBLEM_FREE;
    swap(&s->v_next, &s->v_free);
    swap(&r->L, &r->warm);
    if (begins)
        memset(r->L, 0, sizeof(double) * (size_t)r->nrow);
    s->matrices.ready = false;
    r->problem = begins ? TG_PROBLEM_FREE : TG_PROBLEM_VELOCITIES;
}

/* Directions that are taken at once. */
typedef struct directions
{
    const tg_model *m;
    tg_work *w;
    int count;
    const tg_cotangent *in;
    const tg_param_range *range;
    tg_cotangent *out;
} directions;

static double *free_of(const directions *x, int d)
{
    return x->w->step->matrices.free_change + (ptrdiff_t)d * v4_pad(x->w->rows->nrow);
}

static tg_status velocities(const directions *x)
{
    tg_forward *f = &x->w->step->matrices;
    double *dv = x->w->step->forward_v;
    for (int d = 0; d < x->count; d++)
    {
        if (x->out[d].v == NULL)
            continue;
        f->free = free_of(x, d);
        TG_TRY(tg_forward_product(x->m, x->w, &x->in[d], x->range[d], dv));
        tg_gradient_copy(x->m, dv, x->out[d].v);
    }
    return TG_OK;
}

static tg_status places(const directions *x)
{
    tg_forward *f = &x->w->step->matrices;
    double *dv = x->w->step->forward_v;
    for (int d = 0; d < x->count; d++)
    {
        if (x->out[d].q == NULL)
            continue;
        f->free = free_of(x, d);
        TG_TRY(tg_forward_product(x->m, x->w, &x->in[d], x->range[d], dv));
        tg_integrator_change(x->m, x->w, x->in[d].q, x->in[d].dt, dv, x->out[d].q);
    }
    return TG_OK;
}

static tg_status take(const directions *x, bool by_u, bool by_act)
{
    tg_forward *f = &x->w->step->matrices;
    tg_within_free(x->w);
    tg_forward_begin(x->m, x->w, by_u, by_act);
    for (int d = 0; d < x->count; d++)
        tg_forward_free(x->m, x->w, &x->in[d], x->range[d], free_of(x, d));
    tg_within_free(x->w);
    tg_forward_begin(x->m, x->w, by_u, by_act);
    tg_status status = velocities(x);
    tg_within_exchange(x->w);
    tg_forward_begin(x->m, x->w, by_u, by_act);
    if (status == TG_OK)
        status = places(x);
    tg_within_exchange(x->w);
    f->free = NULL;
    return status;
}

tg_status tg_within_forward(const tg_model *m, tg_work *w, int count, const tg_cotangent *in,
                            const tg_param_range *range, bool by_u, bool by_act, tg_cotangent *out)
{
    tg_param_range own[TG_WITHIN_DIRECTIONS];
    tg_step_need_rows(m, w);
    for (int first = 0; first < count; first += TG_WITHIN_DIRECTIONS)
    {
        directions x = {m, w, count - first, in + first, range != NULL ? range + first : own, out + first};
        x.count = x.count < TG_WITHIN_DIRECTIONS ? x.count : TG_WITHIN_DIRECTIONS;
        for (int d = 0; d < x.count && range == NULL; d++)
            own[d] = tg_range_of(m, x.in[d].params);
        TG_TRY(take(&x, by_u, by_act));
        for (int d = 0; d < x.count; d++)
            if (x.out[d].act != NULL)
                tg_forward_activations(m, w, &x.in[d], x.out[d].act);
    }
    return TG_OK;
}
