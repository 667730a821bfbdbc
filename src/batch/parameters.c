/* Parameters of environments: names, values, gradients with respect to them. */
#include "batch/batch.h"

#include <string.h>

#include "base/arena.h"

/* ---- names ---- */

tg_status tg_names_copy(const tg_allocator *allocator, tg_names *to, const tg_names *from)
{
    int *index = tg_alloc(allocator, sizeof *index * (size_t)(from->k + 1));
    if (index == NULL)
        return TG_ERR_MEMORY;
    if (from->k > 0)
        memcpy(index, from->index, sizeof *index * (size_t)from->k);
    tg_free(allocator, to->index);
    *to = (tg_names){index, from->k, from->id};
    return TG_OK;
}

static tg_status check_names(tg_batch *b, const int *index, int k)
{
    if (k < 0 || (k > 0 && index == NULL))
        return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_name: %d parameters%s", k,
                       index == NULL ? ", index is NULL" : "");
    for (int i = 0; i < k; i++)
        if (index[i] < 0 || index[i] >= b->m->nparams)
            return tg_fail(&b->message, TG_ERR_ARGUMENT, "tg_batch_name: index[%d] = %d; the model has %d parameters",
                           i, index[i], b->m->nparams);
    return TG_OK;
}

tg_status tg_batch_name(tg_batch *b, const int *index, int k)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    TG_TRY(check_names(b, index, k));
    double *kept = tg_alloc(&b->allocator, sizeof(double) * (size_t)b->n * (size_t)k);
    int *copy = tg_alloc(&b->allocator, sizeof *copy * (size_t)(k + 1));
    if (kept == NULL || copy == NULL)
    {
        tg_free(&b->allocator, kept);
        tg_free(&b->allocator, copy);
        return tg_fail(&b->message, TG_ERR_MEMORY, "tg_batch_name: no memory for %d parameters", k);
    }
    if (k > 0)
        memcpy(copy, index, sizeof *copy * (size_t)k);
    tg_free(&b->allocator, b->names.index);
    tg_free(&b->allocator, b->kept.params);
    b->names = (tg_names){copy, k, b->names.id + 1};
    b->kept.params = kept;
    memset(b->kept.there, 0, (size_t)b->n);
    return TG_OK;
}

/* ---- values ---- */

tg_status tg_batch_ready_params(tg_batch *b, const tg_names *names)
{
    for (int i = 0; i < b->threads; i++)
    {
        tg_lane *lane = &b->lane[i];
        if (lane->names == names->id && lane->values != NULL)
            continue;
        tg_free(&b->allocator, lane->values);
        lane->base = NULL;
        lane->names = names->id;
        lane->values = tg_alloc(&b->allocator, sizeof(double) * (size_t)(names->k + 1));
        if (lane->values == NULL)
            return tg_fail(&b->message, TG_ERR_MEMORY, "no memory for %d parameters", names->k);
        if (lane->params == NULL)
            TG_TRY(tg_params_create(b->m, &lane->params, &b->message));
    }
    return TG_OK;
}

static bool as_shared(const tg_param_source *s, const double *values)
{
    const double *shared = tg_params_view(s->shared);
    for (int j = 0; j < s->names->k; j++)
        if (values[j] != shared[s->names->index[j]])
            return false;
    return true;
}

static tg_status load_values(tg_lane *lane, const tg_param_source *s, const double *values)
{
    const tg_names *names = s->names;
    double *vector = tg_params_data(lane->params);
    lane->base = NULL;
    memcpy(vector, tg_params_view(s->shared), sizeof(double) * (size_t)lane->work->model->nparams);
    for (int j = 0; j < names->k; j++)
        vector[names->index[j]] = values[j];
    TG_TRY(tg_params_changed(lane->params, &lane->error));
    memcpy(lane->values, values, sizeof(double) * (size_t)names->k);
    lane->base = s->shared;
    lane->generation = s->shared->generation;
    return TG_OK;
}

tg_status tg_lane_params(tg_lane *lane, const tg_param_source *s, int environment)
{
    const double *values = s->names == NULL ? NULL : tg_const_row(s->values, environment, (size_t)s->names->k);
    if (values == NULL || s->names->k == 0 || as_shared(s, values))
        return tg_work_set_params(lane->work, s->shared);
    bool there = lane->base == s->shared && lane->generation == s->shared->generation &&
                 memcmp(values, lane->values, sizeof(double) * (size_t)s->names->k) == 0;
    if (!there)
        TG_TRY(load_values(lane, s, values));
    return tg_work_set_params(lane->work, lane->params);
}

/* ---- gradients ---- */

void tg_pick_named(const tg_names *names, double *gradient, int nparams, double *to)
{
    for (int j = 0; j < names->k; j++)
        to[j] = gradient[names->index[j]];
    memset(gradient, 0, sizeof(double) * (size_t)nparams);
}

void tg_spread_named(const tg_names *names, const double *from, double *gradient)
{
    for (int j = 0; j < names->k; j++)
        gradient[names->index[j]] += from[j];
}

void tg_clear_named(const tg_names *names, double *gradient)
{
    for (int j = 0; j < names->k; j++)
        gradient[names->index[j]] = 0;
}

/* twice: gradients, and the tree that sums them */
static tg_status room_for_rows(tg_batch *b, size_t numbers)
{
    if (b->nrows >= numbers)
        return TG_OK;
    tg_free(&b->allocator, b->rows);
    b->rows = tg_alloc(&b->allocator, sizeof(double) * numbers);
    b->nrows = b->rows != NULL ? numbers : 0;
    if (b->rows == NULL)
        return tg_fail(&b->message, TG_ERR_MEMORY, "no memory for %zu gradients", numbers);
    return TG_OK;
}

tg_status tg_batch_rows(tg_batch *b, int count, int k, double *to, const double *sum, double **rows)
{
    *rows = to;
    if (sum == NULL)
        return TG_OK;
    TG_TRY(room_for_rows(b, 2 * (size_t)count * (size_t)k + 1));
    if (to == NULL)
        *rows = b->rows + (size_t)count * (size_t)k;
    return TG_OK;
}

tg_status tg_batch_sum(tg_batch *b, int count, int k, const double *rows, double *sum)
{
    if (sum == NULL)
        return TG_OK;
    size_t n = (size_t)k;
    for (int i = 0; i < count; i++)
    {
        if (b->error[i].status == TG_OK)
            tg_copy_row(b->rows + (size_t)i * n, rows + (size_t)i * n, k);
        else
            memset(b->rows + (size_t)i * n, 0, sizeof(double) * n);
    }
    for (int stride = 1; stride < count; stride *= 2)
        for (int i = 0; i + stride < count; i += 2 * stride)
            for (size_t j = 0; j < n; j++)
                b->rows[(size_t)i * n + j] += b->rows[(size_t)(i + stride) * n + j];
    memcpy(sum, b->rows, sizeof(double) * n);
    return TG_OK;
}
