#include "model/rebuild.h"

#include <string.h>

#include "base/status.h"
#include "model/append.h"

static tg_status copy_globals(tg_builder *b, const tg_model *m)
{
    tg_status status = tg_builder_name(b, tg_model_name(m));
    if (status == TG_OK)
        status = tg_builder_gravity(b, TG_PARAM(m->params, gravity_));
    if (status == TG_OK)
        status = tg_builder_implicit(b, m->implicit, m->implicit_gyroscopic);
    return status == TG_OK ? tg_builder_timestep(b, m->timestep) : status;
}

static tg_status copy_keys(tg_builder *b, const tg_model *m)
{
    tg_status status = TG_OK;
    for (int i = 0; i < m->nkey && status == TG_OK; i++)
    {
        size_t k = (size_t)i;
        tg_key_def def = tg_default_key();
        def.name = tg_name(m, TG_KEY, i);
        def.time = m->key_time[i];
        def.q = m->key_q + k * (size_t)m->nq;
        def.v = m->key_v + k * (size_t)m->nv;
        def.act = m->key_act + k * (size_t)m->na;
        def.ctrl = m->key_ctrl + k * (size_t)m->nu;
        def.nq = m->nq;
        def.nv = m->nv;
        def.na = m->na;
        def.nu = m->nu;
        status = tg_builder_key(b, &def, NULL);
    }
    return status;
}

static tg_status copy_report(tg_builder *b, const tg_model *m)
{
    tg_status status = TG_OK;
    for (int i = 0; i < m->nreport && status == TG_OK; i++)
        status = tg_builder_report(b, &m->report[i]);
    return status;
}

tg_status tg_rebuild_begin(const tg_model *m, const tg_allocator *allocator, tg_builder **b, tg_error *error)
{
    int first[TG_ELEMENT_COUNT];
    tg_status status = tg_builder_create(allocator, b, error);
    if (status != TG_OK)
        return status;
    status = copy_globals(*b, m);
    if (status == TG_OK)
        status = tg_builder_append(*b, m, m->params, "", NULL, first);
    if (status == TG_OK)
        status = copy_keys(*b, m);
    if (status == TG_OK)
        status = copy_report(*b, m);
    if (status == TG_OK)
        return TG_OK;
    status = tg_fail(error, status, "%s", tg_builder_message(*b));
    tg_builder_destroy(*b);
    *b = NULL;
    return status;
}

static tg_status copy_params(const tg_model *m, tg_model *copy, tg_error *error)
{
    if (copy->nparams != m->nparams || memcmp(&copy->offset, &m->offset, sizeof m->offset) != 0)
        return tg_fail(error, TG_ERR_MODEL, "model: %d parameters where %d are expected", copy->nparams, m->nparams);
    memcpy(tg_params_data(copy->params), m->params->value, (size_t)m->nparams * sizeof *m->params->value);
    return tg_params_changed(copy->params, error);
}

tg_status tg_rebuild_end(tg_builder *b, tg_status status, const tg_model *m, tg_model **out, tg_error *error)
{
    tg_model *copy = NULL;
    if (status == TG_OK)
        status = tg_builder_build(b, &copy);
    if (status != TG_OK)
        status = tg_fail(error, status, "%s", tg_builder_message(b));
    tg_builder_destroy(b);
    if (copy != NULL)
        status = copy_params(m, copy, error);
    if (status == TG_OK)
        *out = copy;
    else
        tg_model_destroy(copy);
    return status;
}
