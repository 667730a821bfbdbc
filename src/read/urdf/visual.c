/* Visual shapes. They are kept for viewers, and physics does not know them: one that cannot be understood is left out
 * and is no error; mesh files are found, not opened. */
#include <math.h>
#include <string.h>

#include "read/urdf/urdf.h"
#include "tangere/algebra.h"

/* ---- colours ---- */

/* The colour in a material; false: it has none. */
static bool read_colour(tg_urdf *u, const tg_xml *material, double rgba[4])
{
    const tg_xml *colour = tg_urdf_child(material, "color");
    const char *text = colour != NULL ? tg_xml_get(colour, "rgba") : NULL;
    tg_error ignored;
    double *value = NULL;
    int n = 0;
    if (text == NULL || tg_table_reals(&ignored, u->base.pool, colour, "rgba", text, &value, &n) != TG_OK || n != 4)
        return false;
    for (int i = 0; i < 4; i++)
        rgba[i] = isfinite(value[i]) ? fmin(fmax(value[i], 0), 1) : 1;
    return true;
}

/* The colour of a material: its own, or that of the robot's or of another link's material of its name. */
static void find_colour(tg_urdf *u, const tg_xml *visual, double rgba[4])
{
    const tg_xml *material = tg_urdf_child(visual, "material");
    const char *name = material != NULL ? tg_xml_get(material, "name") : NULL;
    if (material == NULL || read_colour(u, material, rgba) || name == NULL)
        return;
    for (const tg_xml *e = u->root->first; e != NULL; e = e->next)
    {
        const char *own = tg_xml_get(e, "name");
        if (strcmp(e->name, "material") == 0 && own != NULL && strcmp(own, name) == 0 && read_colour(u, e, rgba))
            return;
        for (const tg_xml *part = strcmp(e->name, "link") == 0 ? e->first : NULL; part != NULL; part = part->next)
        {
            const tg_xml *other = strcmp(part->name, "visual") == 0 ? tg_urdf_child(part, "material") : NULL;
            own = other != NULL ? tg_xml_get(other, "name") : NULL;
            if (own != NULL && strcmp(own, name) == 0 && read_colour(u, other, rgba))
                return;
        }
    }
}

/* ---- shapes ---- */

/* Type, size and file of a shape; false: it is none. */
static bool take_shape(tg_urdf *u, const tg_xml *xml, const tg_urdf_shape *shape, tg_visual_def *def)
{
    const char *path = NULL, *note;
    char looked[500];
    def->size[0] = shape->radius;
    def->size[1] = shape->length / 2;
    def->size[2] = 0;
    if (strcmp(xml->name, "mesh") == 0)
    {
        def->type = TG_GEOM_MESH;
        memcpy(def->size, shape->scale, sizeof def->size);
        if (tg_urdf_find_mesh(u, xml, shape->filename, &path, &note, looked, sizeof looked) != TG_OK)
            return false;
        def->file = path != NULL ? path : shape->filename; /* as written: a viewer says that it is missing */
        return true;
    }
    bool box = strcmp(xml->name, "box") == 0, sphere = strcmp(xml->name, "sphere") == 0;
    for (int i = 0; i < 3 && box; i++)
        def->size[i] = shape->size[i] / 2;
    def->type = box                                  ? TG_GEOM_BOX
                : sphere                             ? TG_GEOM_SPHERE
                : strcmp(xml->name, "cylinder") == 0 ? TG_GEOM_CYLINDER
                                                     : TG_GEOM_CAPSULE;
    int count = box ? 3 : sphere ? 1 : 2;
    for (int i = 0; i < count; i++)
    {
        if (!(def->size[i] > 0 && isfinite(def->size[i])))
            return false;
    }
    return true;
}

/* Its pose in the link, then in the body that the link belongs to. */
static bool take_pose(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const tg_urdf_link *link,
                      tg_visual_def *def)
{
    double pose[7];
    if (tg_urdf_read_origin(u, xml, row, pose) != TG_OK)
        return false;
    tg_se3_multiply(link->pose, pose, pose);
    memcpy(def->pos, pose, sizeof def->pos);
    memcpy(def->quat, pose + 3, sizeof def->quat);
    return true;
}

/* row: of a collision, which is written the same way */
static tg_status give_visual(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, const tg_urdf_link *link)
{
    const tg_xml *geometry = tg_urdf_child(xml, "geometry");
    const tg_table_row *shapes = tg_table_child(row, "geometry");
    const tg_xml *written = geometry != NULL ? geometry->first : NULL;
    while (written != NULL && tg_table_child(shapes, written->name) == NULL)
        written = written->next;
    tg_urdf_shape shape = {.scale = {1, 1, 1}};
    tg_visual_def def = tg_default_visual();
    tg_error kept = *u->base.error; /* a refusal is no failure */
    bool good = written != NULL && tg_urdf_read(u, written, shapes, &shape) == TG_OK &&
                take_shape(u, written, &shape, &def) && take_pose(u, xml, row, link, &def);
    *u->base.error = kept;
    if (!good)
        return TG_OK;
    find_colour(u, xml, def.rgba);
    def.name = tg_xml_get(xml, "name");
    def.body = link->body;
    return tg_mjcf_builder_failed(&u->base, xml, tg_builder_visual(u->base.builder, &def));
}

tg_status tg_urdf_give_visuals(tg_urdf *u, const tg_urdf_link *link)
{
    const tg_table_row *row = tg_table_child(tg_table_child(tg_urdf_rows(), "link"), "collision");
    tg_status status = TG_OK;
    for (const tg_xml *e = link->xml->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "visual") == 0)
            status = give_visual(u, e, row, link);
    }
    return status;
}
