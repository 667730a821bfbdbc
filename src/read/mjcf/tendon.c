/* tendon: fixed, and spatial through sites and pulleys. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"

tg_status tg_mjcf_read_tendon(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_tendon *into)
{
    double before[2] = {into->springlength[0], into->springlength[1]};
    into->springlength[0] = into->springlength[1] = (double)NAN;
    tg_status status = tg_table_read(r->error, xml, row, true, into);
    if (status != TG_OK)
        return status;
    bool given = !isnan(into->springlength[0]);
    if (given && isnan(into->springlength[1])) /* one number is both */
        into->springlength[1] = into->springlength[0];
    if (!given)
        memcpy(into->springlength, before, sizeof before);
    return TG_OK;
}

/* One item of a path; a geom adds none (and was reported). */
static tg_status read_item(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, tg_mjcf_list *path)
{
    if (row->handling != TG_TABLE_HONOURED)
        return TG_OK;
    tg_mjcf_path w = {0};
    tg_status status = tg_table_read(r->error, xml, row, true, &w);
    tg_path *item = status == TG_OK ? tg_mjcf_append(r, path, sizeof *item) : NULL;
    if (item == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    if (w.joint != NULL)
    {
        *item = (tg_path){TG_PATH_JOINT, -1, w.coef};
        return tg_mjcf_refer(r, xml, "joint", w.joint, TG_JOINT, &item->id);
    }
    if (w.site != NULL)
    {
        *item = (tg_path){TG_PATH_SITE, -1, 0};
        return tg_mjcf_refer(r, xml, "site", w.site, TG_SITE, &item->id);
    }
    *item = (tg_path){TG_PATH_PULLEY, -1, w.divisor};
    return TG_OK;
}

static tg_status check_numbers(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_tendon *w, const tg_tendon_def *def)
{
    if (def->npath == 0)
        return tg_xml_fail(r->error, TG_ERR_MODEL, xml, "the path is empty");
    if (def->limited && w->range[0] >= w->range[1])
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'range': %g is not below %g", w->range[0],
                           w->range[1]);
    if (w->springlength[0] > w->springlength[1])
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'springlength': %g is above %g", w->springlength[0],
                           w->springlength[1]);
    for (int i = 1; i < TG_MJCF_POLY; i++)
    {
        if (w->stiffness[i] == 0 && w->damping[i] == 0)
            continue;
        return tg_mjcf_report(r, TG_TABLE_IGNORED, xml, w->stiffness[i] != 0 ? "stiffness" : "damping",
                              "only the linear coefficient counts");
    }
    return TG_OK;
}

static tg_status read_tendon(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    const tg_mjcf_class *class;
    tg_mjcf_list path = {0};
    tg_tendon_def def = tg_default_tendon();
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status != TG_OK)
        return status;
    tg_mjcf_tendon w = class->tendon;
    status = tg_mjcf_read_tendon(r, xml, row, &w);
    if (status == TG_OK)
        status = tg_mjcf_limits(r, xml, "", w.limited, w.range, &def.limited);
    for (const tg_xml *e = xml->first; e != NULL && status == TG_OK; e = e->next)
        status = read_item(r, e, tg_table_child(row, e->name), &path);
    if (status != TG_OK)
        return status;
    def.name = tg_xml_get(xml, "name");
    def.type = strcmp(xml->name, "fixed") == 0 ? TG_TENDON_FIXED : TG_TENDON_SPATIAL;
    def.path = path.data;
    def.npath = path.count;
    def.stiffness = w.stiffness[0];
    def.damping = w.damping[0];
    def.frictionloss = w.frictionloss;
    def.margin = w.margin;
    memcpy(def.rest, w.springlength, sizeof def.rest);
    memcpy(def.range, w.range, sizeof def.range);
    status = check_numbers(r, xml, &w, &def);
    int id = -1;
    if (status == TG_OK)
        status = tg_mjcf_builder_failed(r, xml, tg_builder_tendon(r->builder, &def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, xml, TG_TENDON, def.name, id);
    tg_mjcf_tendon_known *known = status == TG_OK ? tg_mjcf_append(r, &r->tendon, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    *known = (tg_mjcf_tendon_known){def.type, {w.range[0], w.range[1]}};
    return TG_OK;
}

tg_status tg_mjcf_tendons(tg_mjcf *r, const tg_xml *section)
{
    const tg_table_row *row = tg_table_child(tg_mjcf_rows(), "tendon");
    tg_status status = TG_OK;
    for (const tg_xml *e = section->first; e != NULL && status == TG_OK; e = e->next)
        status = read_tendon(r, e, tg_table_child(row, e->name));
    return status;
}
