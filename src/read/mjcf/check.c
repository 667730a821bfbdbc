/* A file is checked against the table of MJCF and reported by it. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "read/mjcf/mjcf.h"

/* ---- the report ---- */

struct tg_mjcf_counter
{
    const tg_table_attribute *attribute; /* NULL: the element itself */
    const tg_xml *first;
    int count;
    tg_mjcf_counter *next;
};

tg_status tg_mjcf_report(tg_mjcf *r, tg_table_handling kind, const tg_xml *xml, const char *attribute, const char *note)
{
    if (kind == TG_TABLE_QUIET)
        return TG_OK;
    if (kind == TG_TABLE_IGNORED && r->strict)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "%s%s%sis ignored physics: %s",
                           attribute[0] != '\0' ? "attribute '" : "", attribute, attribute[0] != '\0' ? "' " : "",
                           note);
    if (xml->again)
        return TG_OK;
    char element[160];
    tg_xml_describe(xml, element, sizeof element);
    tg_report_entry entry = {(tg_report_kind)kind, xml->file, xml->line, element, attribute, note};
    return tg_mjcf_builder_failed(r, xml, tg_builder_report(r->builder, &entry));
}

/* Honoured attributes are counted; the report names the first place of each. */
static tg_status count_honoured(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row,
                                const tg_table_attribute *attribute)
{
    tg_mjcf_counter **list = &r->counter[row - tg_mjcf_rows()];
    for (tg_mjcf_counter *c = *list; c != NULL; c = c->next)
    {
        if (c->attribute == attribute)
        {
            c->count++;
            return TG_OK;
        }
    }
    tg_mjcf_counter *c = TG_POOL_TAKE(r->pool, tg_mjcf_counter, 1);
    if (c == NULL)
        return tg_mjcf_no_memory(r, xml);
    *c = (tg_mjcf_counter){attribute, xml, 1, *list};
    *list = c;
    return TG_OK;
}

tg_status tg_mjcf_report_honoured(tg_mjcf *r)
{
    for (int i = 0; i < tg_table_count(tg_mjcf_rows()); i++)
    {
        for (const tg_mjcf_counter *c = r->counter[i]; c != NULL; c = c->next)
        {
            char note[200];
            const char *said = c->attribute != NULL && c->attribute->note != NULL ? c->attribute->note : "";
            snprintf(note, sizeof note, "%s%s%d in all", said, said[0] != '\0' ? "; " : "", c->count);
            tg_report_entry entry = {TG_REPORT_HONOURED,
                                     c->first->file,
                                     c->first->line,
                                     c->first->name,
                                     c->attribute != NULL ? c->attribute->name : "",
                                     note};
            tg_status status = tg_mjcf_builder_failed(r, c->first, tg_builder_report(r->builder, &entry));
            if (status != TG_OK)
                return status;
        }
    }
    return TG_OK;
}

/* ---- checking ---- */

static tg_status check_attribute(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row, const tg_xml_attribute *given)
{
    const tg_table_attribute *attribute = tg_table_find(row, given->name);
    if (attribute == NULL)
    {
        if (tg_table_has_name(row, given->name))
            return TG_OK;
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "unknown attribute '%.60s'=\"%.60s\"%s", given->name,
                           given->value, tg_table_attribute_hint(row, given->name).text);
    }
    if (attribute->handling == TG_TABLE_UNSUPPORTED)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "attribute '%s'=\"%.60s\" is not built: %s", given->name,
                           given->value, attribute->note);
    if (attribute->handling == TG_TABLE_HONOURED)
        return row->handling == TG_TABLE_HONOURED ? count_honoured(r, xml, row, attribute) : TG_OK;
    if (tg_table_is_neutral(attribute, given->value))
        return TG_OK;
    return tg_mjcf_report(r, attribute->handling, xml, attribute->name, attribute->note);
}

static tg_status check_element(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    if (row->handling == TG_TABLE_UNSUPPORTED)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "is not built: %s", row->note);
    tg_status status = row->once && xml->parent != NULL ? tg_table_check_once(r->error, xml) : TG_OK;
    if (status == TG_OK && row->handling != TG_TABLE_HONOURED)
        status = tg_mjcf_report(r, row->handling, xml, "", row->note != NULL ? row->note : "");
    for (int i = 0; i < xml->nattribute && status == TG_OK; i++)
        status = check_attribute(r, xml, row, &xml->attribute[i]);
    for (const tg_xml *child = xml->first; child != NULL && status == TG_OK; child = child->next)
    {
        const tg_table_row *child_row = tg_table_child(row, child->name);
        status = child_row != NULL ? check_element(r, child, child_row)
                                   : tg_xml_fail(r->error, TG_ERR_PARSE, child, "unknown element inside '%s'%s",
                                                 xml->name, tg_table_child_hint(row, child->name).text);
    }
    return status;
}

tg_status tg_mjcf_check(tg_mjcf *r, const tg_xml *root)
{
    if (r->counter == NULL)
        r->counter = TG_POOL_TAKE(r->pool, tg_mjcf_counter *, tg_table_count(tg_mjcf_rows()));
    if (r->counter == NULL)
        return tg_mjcf_no_memory(r, root);
    return check_element(r, root, tg_mjcf_rows());
}
