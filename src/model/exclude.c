#include "model/exclude.h"

#include "model/rebuild.h"

static tg_status add_excludes(tg_builder *b, const int *geom, int n)
{
    tg_status status = TG_OK;
    for (int i = 0; i < n && status == TG_OK; i++)
    {
        tg_exclude_def def = tg_default_exclude();
        def.geom1 = geom[2 * i];
        def.geom2 = geom[2 * i + 1];
        status = tg_builder_exclude(b, &def, NULL);
    }
    return status;
}

tg_status tg_model_exclude(const tg_model *m, const int *geom, int n, const tg_report_entry *report, int nreport,
                           tg_model **out, tg_error *error)
{
    tg_builder *b = NULL;
    tg_status status = tg_rebuild_begin(m, &m->allocator, &b, error);
    if (status != TG_OK)
        return status;
    status = add_excludes(b, geom, n); /* which have no parameters */
    for (int i = 0; i < nreport && status == TG_OK; i++)
        status = tg_builder_report(b, &report[i]);
    return tg_rebuild_end(b, status, m, out, error);
}
