/* Colours of geoms. They are for looks alone: what cannot be read leaves the colour as it was, and is no error. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"

/* Up to four numbers of the attribute, in 0 .. 1. */
static void read_rgba(tg_mjcf *r, const tg_xml *xml, double rgba[4])
{
    const char *text = tg_xml_get(xml, "rgba");
    tg_error ignored;
    double *value = NULL;
    int n = 0;
    if (text == NULL || tg_table_reals(&ignored, r->pool, xml, "rgba", text, &value, &n) != TG_OK)
        return;
    for (int i = 0; i < n && i < 4; i++)
        rgba[i] = value[i];
}

/* The first element of that name below xml, and its attribute `name`; NULL: any. */
static const tg_xml *find_named(const tg_xml *xml, const char *element, const char *name)
{
    for (const tg_xml *e = xml->first; e != NULL; e = e->next)
    {
        const char *own = tg_xml_get(e, "name");
        if (strcmp(e->name, element) == 0 && (name == NULL || (own != NULL && strcmp(own, name) == 0)))
            return e;
    }
    return NULL;
}

/* Materials are looked up in the file that the geom comes from; a default class gives one that says nothing its colour.
 */
static bool read_material(tg_mjcf *r, const tg_xml *xml, const char *name, double rgba[4])
{
    const tg_xml *root = tg_mjcf_scope_of(r, xml)->root;
    const tg_xml *material = NULL, *common = NULL;
    for (const tg_xml *section = root->first; section != NULL; section = section->next)
    {
        if (strcmp(section->name, "default") == 0 && common == NULL)
            common = find_named(section, "material", NULL);
        if (strcmp(section->name, "asset") == 0 && material == NULL)
            material = find_named(section, "material", name);
    }
    if (material == NULL)
        return false;
    rgba[0] = rgba[1] = rgba[2] = rgba[3] = 1;
    if (common != NULL)
        read_rgba(r, common, rgba);
    read_rgba(r, material, rgba);
    return true;
}

void tg_mjcf_colour(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, double rgba[4])
{
    static const double grey[4] = {0.5, 0.5, 0.5, 1};
    bool own = !isnan(written->rgba[0]); /* overrides a material */
    bool painted = !own && written->material != NULL && read_material(r, xml, written->material, rgba);
    if (!painted)
        memcpy(rgba, own ? written->rgba : grey, sizeof grey);
    for (int i = 0; i < 4; i++)
        rgba[i] = isfinite(rgba[i]) ? fmin(fmax(rgba[i], 0), 1) : grey[i];
}
