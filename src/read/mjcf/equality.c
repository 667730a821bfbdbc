/* equality: connect, weld, joint, tendon. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

static const tg_mjcf_site_known *site_of(const tg_mjcf *r, int id)
{
    return (const tg_mjcf_site_known *)r->site.data + id;
}

/* Both sites, and their bodies as the objects. */
static tg_status refer_sites(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, tg_equality_def *def,
                             const tg_mjcf_site_known *site[2])
{
    int id[2];
    tg_status status = tg_mjcf_refer(r, xml, "site1", w->site1, TG_SITE, &id[0]);
    if (status == TG_OK)
        status = tg_mjcf_refer(r, xml, "site2", w->site2, TG_SITE, &id[1]);
    if (status != TG_OK)
        return status;
    for (int i = 0; i < 2; i++)
        site[i] = site_of(r, id[i]);
    def->obj1 = site[0]->body;
    def->obj2 = site[1]->body;
    return TG_OK;
}

static tg_status refer_bodies(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, tg_equality_def *def)
{
    def->obj2 = 0; /* the world, if not said otherwise */
    tg_status status = tg_mjcf_refer(r, xml, "body1", w->body1, TG_BODY, &def->obj1);
    if (status == TG_OK && w->body2 != NULL)
        status = tg_mjcf_refer(r, xml, "body2", w->body2, TG_BODY, &def->obj2);
    return status;
}

/* Whether sites are given; bodies and sites exclude each other, and one of them must be there. */
static tg_status choose_sites(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, bool need_anchor, bool *sites)
{
    bool anchor = !isnan(w->anchor[0]);
    *sites = w->site1 != NULL && w->site2 != NULL;
    bool any_site = w->site1 != NULL || w->site2 != NULL;
    bool any_body = w->body1 != NULL || w->body2 != NULL || anchor;
    if (any_site && (any_body || !*sites))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "has either both sites, or bodies and an anchor");
    if (!*sites && (w->body1 == NULL || (need_anchor && !anchor)))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s' is missing",
                           w->body1 == NULL ? "body1" : "anchor");
    return TG_OK;
}

static tg_status read_connect(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, tg_equality_def *def)
{
    bool sites;
    def->type = TG_EQUALITY_CONNECT;
    tg_status status = choose_sites(r, xml, w, true, &sites);
    if (status != TG_OK)
        return status;
    if (!sites)
    {
        memcpy(def->data, w->anchor, sizeof w->anchor);
        for (int i = 3; i < 6; i++)
            def->data[i] = (double)NAN; /* where it is in the reference configuration */
        return refer_bodies(r, xml, w, def);
    }
    const tg_mjcf_site_known *site[2];
    status = refer_sites(r, xml, w, def, site);
    for (int i = 0; i < 6 && status == TG_OK; i++)
        def->data[i] = site[i / 3]->pose[i % 3];
    return status;
}

/* Sites that coincide:  X1 S1 = X2 S2,  so body 2 in body 1 is S1 S2^-1. */
static void weld_sites(const tg_mjcf_site_known *const site[2], tg_equality_def *def)
{
    double inverse[7], relative[7];
    tg_se3_inverse(site[1]->pose, inverse);
    tg_se3_multiply(site[0]->pose, inverse, relative);
    memcpy(def->data, site[1]->pose, 3 * sizeof *def->data);
    memcpy(def->data + 3, relative, sizeof relative);
}

/* A written relative pose has the anchor, not the origin of body 2, in the frame of body 1: x = p - R anchor. */
static void place_anchor(double data[11])
{
    double turned[3];
    tg_quat_normalise(data + 6, data + 6);
    tg_quat_rotate(data + 6, data, turned);
    for (int i = 0; i < 3; i++)
        data[3 + i] -= turned[i];
}

static tg_status read_weld(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, tg_equality_def *def)
{
    bool sites;
    def->type = TG_EQUALITY_WELD;
    def->data[10] = w->torquescale;
    tg_status status = choose_sites(r, xml, w, false, &sites);
    if (status != TG_OK)
        return status;
    if (sites)
    {
        const tg_mjcf_site_known *site[2];
        status = refer_sites(r, xml, w, def, site);
        if (status == TG_OK)
            weld_sites(site, def);
        return status;
    }
    for (int i = 0; i < 3; i++)
        def->data[i] = isnan(w->anchor[0]) ? 0 : w->anchor[i];
    const double *q = w->relpose + 3;
    bool given = !isnan(w->relpose[0]) && (q[0] != 0 || q[1] != 0 || q[2] != 0 || q[3] != 0);
    for (int i = 0; i < 7; i++)
        def->data[3 + i] = given ? w->relpose[i] : (double)NAN;
    if (given)
        place_anchor(def->data);
    return refer_bodies(r, xml, w, def);
}

/* A polynomial between two joints or two tendons. */
static tg_status read_polynomial(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_equality *w, tg_equality_def *def,
                                 bool joints)
{
    tg_element element = joints ? TG_JOINT : TG_TENDON;
    const char *second = joints ? w->joint2 : w->tendon2;
    def->type = joints ? TG_EQUALITY_JOINT : TG_EQUALITY_TENDON;
    def->obj2 = -1;
    memcpy(def->data, w->polycoef, sizeof w->polycoef);
    tg_status status =
        tg_mjcf_refer(r, xml, joints ? "joint1" : "tendon1", joints ? w->joint1 : w->tendon1, element, &def->obj1);
    if (status == TG_OK && second != NULL)
        status = tg_mjcf_refer(r, xml, joints ? "joint2" : "tendon2", second, element, &def->obj2);
    return status;
}

/* What an equality ties together. */
static const char *ends_of(const tg_equality_def *def)
{
    if (def->type == TG_EQUALITY_JOINT || def->type == TG_EQUALITY_TENDON)
        return tg_element_string(def->type == TG_EQUALITY_JOINT ? TG_JOINT : TG_TENDON);
    return tg_element_string(TG_BODY);
}

static tg_status read_equality(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    const tg_mjcf_class *class;
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status != TG_OK || row->handling != TG_TABLE_HONOURED)
        return status;
    tg_mjcf_equality w = class->equality;
    status = tg_table_read(r->error, xml, row, true, &w);
    if (status != TG_OK)
        return status;
    tg_equality_def def = tg_default_equality();
    def.name = tg_xml_get(xml, "name");
    def.active = w.active != 0;
    if (strcmp(xml->name, "connect") == 0)
        status = read_connect(r, xml, &w, &def);
    else if (strcmp(xml->name, "weld") == 0)
        status = read_weld(r, xml, &w, &def);
    else
        status = read_polynomial(r, xml, &w, &def, strcmp(xml->name, "joint") == 0);
    if (status == TG_OK && def.obj1 == def.obj2)
        status = tg_xml_fail(r->error, TG_ERR_MODEL, xml, "ties a %s to itself", ends_of(&def));
    int id = -1;
    if (status == TG_OK)
        status = tg_mjcf_builder_failed(r, xml, tg_builder_equality(r->builder, &def, &id));
    return status == TG_OK ? tg_mjcf_remember(r, xml, TG_EQUALITY, def.name, id) : status;
}

tg_status tg_mjcf_equality_section(tg_mjcf *r, const tg_xml *section)
{
    const tg_table_row *row = tg_table_child(tg_mjcf_rows(), "equality");
    tg_status status = TG_OK;
    for (const tg_xml *e = section->first; e != NULL && status == TG_OK; e = e->next)
        status = read_equality(r, e, tg_table_child(row, e->name));
    return status;
}
