/* The table of URDF at work. Unlike MJCF, URDF in the wild has anything in it: what the table does not know is reported
 * as ignored, and refused in strict mode only. What is honoured or noted is counted, and the report names the first
 * place. */
#include <stdio.h>
#include <string.h>

#include "read/urdf/urdf.h"

struct tg_urdf_counter
{
    const tg_table_row *row;
    const tg_table_attribute *attribute; /* NULL: the element itself */
    const char *name;                    /* of the attribute */
    tg_table_handling kind;
    const tg_xml *first;
    int count;
    tg_urdf_counter *next;
};

tg_status tg_urdf_report(tg_urdf *u, tg_table_handling kind, const tg_xml *xml, const char *attribute, const char *note)
{
    return tg_mjcf_report(&u->base, kind, xml, attribute, note);
}

static tg_status count(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const tg_table_attribute *attribute)
{
    for (tg_urdf_counter *c = u->counter; c != NULL; c = c->next)
    {
        if (c->row == row && c->attribute == attribute)
        {
            c->count++;
            return TG_OK;
        }
    }
    tg_urdf_counter *c = TG_POOL_TAKE(u->base.pool, tg_urdf_counter, 1);
    if (c == NULL)
        return tg_mjcf_no_memory(&u->base, xml);
    *c = (tg_urdf_counter){.row = row,
                           .attribute = attribute,
                           .name = attribute != NULL ? attribute->name : "",
                           .kind = attribute != NULL ? attribute->handling : row->handling,
                           .first = xml,
                           .count = 1};
    if (u->counter == NULL)
        u->counter = c;
    else
        u->last_counter->next = c;
    u->last_counter = c;
    return TG_OK;
}

tg_status tg_urdf_report_counted(tg_urdf *u)
{
    tg_status status = TG_OK;
    for (const tg_urdf_counter *c = u->counter; c != NULL && status == TG_OK; c = c->next)
    {
        char note[200];
        const char *said = c->attribute != NULL ? c->attribute->note : c->row->note;
        snprintf(note, sizeof note, "%.150s%s%d in all", said != NULL ? said : "", said != NULL ? "; " : "", c->count);
        tg_report_entry entry = {(tg_report_kind)c->kind, c->first->file, c->first->line,
                                 c->first->name,          c->name,        note};
        status = tg_mjcf_builder_failed(&u->base, c->first, tg_builder_report(u->base.builder, &entry));
    }
    return status;
}

/* What is done with an element or attribute that the table knows. */
static tg_status handle(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const tg_table_attribute *attribute)
{
    tg_table_handling kind = attribute != NULL ? attribute->handling : row->handling;
    const char *note = attribute != NULL ? attribute->note : row->note;
    if (kind == TG_TABLE_HONOURED || kind == TG_TABLE_NOTED)
        return count(u, xml, row, attribute);
    return tg_urdf_report(u, kind, xml, attribute != NULL ? attribute->name : "", note != NULL ? note : "");
}

static tg_status report_unknown(tg_urdf *u, const tg_xml *xml, const char *attribute, const char *what,
                                tg_table_hint hint)
{
    char note[100];
    snprintf(note, sizeof note, "unknown %s; it is not read%s", what, hint.text);
    return tg_urdf_report(u, TG_TABLE_IGNORED, xml, attribute, note);
}

static tg_status check_attribute(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const tg_xml_attribute *given)
{
    const tg_table_attribute *attribute = tg_table_find(row, given->name);
    if (attribute != NULL)
        return tg_table_is_neutral(attribute, given->value) ? TG_OK : handle(u, xml, row, attribute);
    if (tg_table_has_name(row, given->name) || strncmp(given->name, "xmlns", 5) == 0)
        return TG_OK;
    return report_unknown(u, xml, given->name, "attribute", tg_table_attribute_hint(row, given->name));
}

/* option and size of the <mujoco> element are those of MJCF. */
static const tg_table_row *mjcf_row(const tg_xml *xml)
{
    bool inside = xml->parent != NULL && strcmp(xml->parent->name, "mujoco") == 0;
    bool same = strcmp(xml->name, "option") == 0 || strcmp(xml->name, "size") == 0;
    return inside && same ? tg_table_child(tg_mjcf_rows(), xml->name) : NULL;
}

static tg_status check_element(tg_urdf *u, const tg_xml *xml, const tg_table_row *row);

static tg_status check_child(tg_urdf *u, const tg_xml *child, const tg_table_row *parent)
{
    const tg_table_row *row = tg_table_child(parent, child->name);
    const tg_table_row *mjcf = mjcf_row(child);
    if (strncmp(child->name, "xacro:", 6) == 0)
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, child,
                           "this file is a xacro; let xacro make a URDF of it first");
    if (row != NULL && mjcf != NULL)
        return check_element(u, child, mjcf);
    if (row != NULL)
        return check_element(u, child, row);
    if (parent->handling == TG_TABLE_NOTED) /* the whole was noted */
        return TG_OK;
    return report_unknown(u, child, "", "element", tg_table_child_hint(parent, child->name));
}

static tg_status check_element(tg_urdf *u, const tg_xml *xml, const tg_table_row *row)
{
    tg_status status = row->once && xml->parent != NULL ? tg_table_check_once(u->base.error, xml) : TG_OK;
    if (status == TG_OK)
        status = handle(u, xml, row, NULL);
    for (int i = 0; i < xml->nattribute && status == TG_OK && row->handling == TG_TABLE_HONOURED; i++)
        status = check_attribute(u, xml, row, &xml->attribute[i]);
    bool inside = row->handling == TG_TABLE_HONOURED || row->handling == TG_TABLE_NOTED;
    for (const tg_xml *child = xml->first; child != NULL && status == TG_OK && inside; child = child->next)
        status = check_child(u, child, row);
    return status;
}

tg_status tg_urdf_check(tg_urdf *u, const tg_xml *xml, const tg_table_row *rows)
{
    return check_element(u, xml, rows);
}
