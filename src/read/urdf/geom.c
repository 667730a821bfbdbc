/* Collision shapes and meshes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "read/file.h"
#include "read/urdf/urdf.h"
#include "tangere/algebra.h"

/* ---- meshes ---- */

static bool is_readable(const char *filename)
{
    return tg_path_has_extension(filename, ".stl") || tg_path_has_extension(filename, ".obj") ||
           tg_path_has_extension(filename, ".msh") || tg_mesh_reads_others();
}

static const tg_urdf_mesh *known_mesh(const tg_urdf *u, const char *path, const double scale[3])
{
    for (int i = 0; i < u->mesh.count; i++)
    {
        const tg_urdf_mesh *mesh = (const tg_urdf_mesh *)u->mesh.data + i;
        bool scaled = mesh->scale[0] == scale[0] && mesh->scale[1] == scale[1] && mesh->scale[2] == scale[2];
        if (strcmp(mesh->path, path) == 0 && scaled)
            return mesh;
    }
    return NULL;
}

/* What the file is called, and a number when that is taken. */
static const char *mesh_name(tg_urdf *u, const char *stem)
{
    char text[300];
    int number = 0;
    snprintf(text, sizeof text, "%.250s", stem);
    for (int i = 0; i < u->mesh.count; i++)
    {
        if (strcmp(((const tg_urdf_mesh *)u->mesh.data)[i].name, text) != 0)
            continue;
        snprintf(text, sizeof text, "%.250s%d", stem, ++number);
        i = -1;
    }
    return tg_pool_string(u->base.pool, text, strlen(text));
}

/* Reads a mesh file by way of an MJCF asset that says the same. */
static tg_status load_mesh(tg_urdf *u, const tg_xml *xml, tg_urdf_mesh *mesh)
{
    tg_xml_attribute attribute[3] = {{"name", mesh->name}, {"file", mesh->path}, {"scale", tg_xml_get(xml, "scale")}};
    tg_xml asset = {.name = "asset", .file = xml->file, .line = xml->line};
    tg_xml *element = TG_POOL_TAKE(u->base.pool, tg_xml, 1); /* names refer to it later */
    if (element == NULL)
        return tg_mjcf_no_memory(&u->base, xml);
    tg_xml_attribute *kept = TG_POOL_TAKE(u->base.pool, tg_xml_attribute, 3);
    if (kept == NULL)
        return tg_mjcf_no_memory(&u->base, xml);
    memcpy(kept, attribute, sizeof attribute);
    *element = (tg_xml){.name = "mesh",
                        .file = xml->file,
                        .line = xml->line,
                        .nattribute = attribute[2].value != NULL ? 3 : 2,
                        .attribute = kept};
    asset.first = asset.last = element;
    mesh->id = u->base.mesh.count;
    return tg_mjcf_assets(&u->base, &asset);
}

static tg_status new_mesh(tg_urdf *u, const tg_xml *xml, const char *path, const double scale[3], int *id)
{
    tg_urdf_mesh mesh = {.path = path, .stem = tg_path_stem(u->base.pool, path)};
    memcpy(mesh.scale, scale, sizeof mesh.scale);
    mesh.name = mesh.stem != NULL ? mesh_name(u, mesh.stem) : NULL;
    if (mesh.name == NULL)
        return tg_mjcf_no_memory(&u->base, xml);
    tg_status status = load_mesh(u, xml, &mesh);
    tg_urdf_mesh *kept = status == TG_OK ? tg_mjcf_append(&u->base, &u->mesh, sizeof *kept) : NULL;
    if (kept == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(&u->base, xml) : status;
    *kept = mesh;
    *id = mesh.id;
    return TG_OK;
}

/* A mesh that is nowhere. */
static tg_status missing_mesh(tg_urdf *u, const tg_xml *xml, const char *filename, const char *looked)
{
    char note[900];
    const char *advice = strncmp(filename, "package://", 10) == 0
                             ? "; give the folder of the package as package_path or in TANGERE_PACKAGE_PATH"
                             : "";
    if (!u->options->ignore_missing_meshes)
        return tg_xml_fail(u->base.error, TG_ERR_FILE, xml,
                           "filename=\"%.100s\": there is no such file%s; missing_meshes=\"ignore\" "
                           "(--ignore-missing-meshes) leaves it out; looked for %.200s",
                           filename, advice, looked);
    snprintf(note, sizeof note,
             "\"%.200s\": there is no such file, the link does not collide with it%s; looked for %.400s", filename,
             advice, looked);
    return tg_urdf_report(u, TG_TABLE_IGNORED, xml, "filename", note);
}

/* *id -1: the mesh cannot be had, and the report says so. */
static tg_status find_mesh(tg_urdf *u, const tg_xml *xml, const tg_urdf_shape *shape, int *id)
{
    const char *path, *note;
    char looked[500];
    *id = -1;
    if (!is_readable(shape->filename) && !u->options->ignore_missing_meshes)
        return tg_xml_fail(u->base.error, TG_ERR_UNSUPPORTED, xml,
                           "filename=\"%.200s\": " TG_MESH_FORMATS ", or leave it out "
                           "(missing_meshes=\"ignore\", --ignore-missing-meshes)",
                           shape->filename);
    if (!is_readable(shape->filename))
        return tg_urdf_report(u, TG_TABLE_IGNORED, xml, "filename",
                              TG_MESH_FORMATS "; the link does not collide with it");
    tg_status status = tg_urdf_find_mesh(u, xml, shape->filename, &path, &note, looked, sizeof looked);
    if (status == TG_OK && path == NULL)
        return missing_mesh(u, xml, shape->filename, looked);
    if (status == TG_OK && note != NULL)
        status = tg_urdf_report(u, TG_TABLE_NOTED, xml, "filename", note);
    if (status != TG_OK)
        return status;
    const tg_urdf_mesh *known = known_mesh(u, path, shape->scale);
    if (known == NULL)
        return new_mesh(u, xml, path, shape->scale, id);
    *id = known->id;
    return TG_OK;
}

/* ---- shapes ---- */

/* A radius or length that must not be negative; one that is 0 makes the shape nothing, but a sphere a point. */
static tg_status check_sizes(tg_urdf *u, const tg_xml *xml, const tg_geom_def *def, int count, bool *empty)
{
    for (int i = 0; i < count; i++)
    {
        if (def->size[i] < 0)
            return tg_xml_fail(u->base.error, TG_ERR_VALUE, xml, "sizes must not be negative, got %g",
                               def->type == TG_GEOM_BOX || i > 0 ? 2 * def->size[i] : def->size[i]);
        if (def->size[i] == 0 && def->type != TG_GEOM_SPHERE)
            *empty = true;
    }
    return *empty ? tg_urdf_report(u, TG_TABLE_IGNORED, xml, "", "a shape of size 0 is left out") : TG_OK;
}

/* Type and size of a shape. */
static tg_status take_shape(tg_urdf *u, const tg_xml *xml, const tg_urdf_shape *shape, tg_geom_def *def, bool *empty)
{
    int count = 2;
    def->size[0] = shape->radius;
    def->size[1] = shape->length / 2;
    def->size[2] = 0;
    if (strcmp(xml->name, "box") == 0)
    {
        def->type = TG_GEOM_BOX;
        count = 3;
        for (int i = 0; i < 3; i++)
            def->size[i] = shape->size[i] / 2;
    }
    else if (strcmp(xml->name, "sphere") == 0)
    {
        def->type = TG_GEOM_SPHERE;
        count = 1;
    }
    else if (strcmp(xml->name, "mesh") == 0)
    {
        def->type = TG_GEOM_MESH;
        def->size[0] = def->size[1] = def->size[2] = 1;
        tg_status status = find_mesh(u, xml, shape, &def->mesh);
        *empty = def->mesh < 0;
        return status;
    }
    else
    {
        def->type = strcmp(xml->name, "cylinder") == 0 ? TG_GEOM_CYLINDER : TG_GEOM_CAPSULE;
    }
    return check_sizes(u, xml, def, count, empty);
}

/* A geometry has one shape. */
static tg_status report_other_shapes(tg_urdf *u, const tg_xml *first)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = first->next; e != NULL && status == TG_OK; e = e->next)
        status = tg_urdf_report(u, TG_TABLE_IGNORED, e, "",
                                "a geometry has one shape, the first counts; give this one a collision of its own");
    return status;
}

static tg_status read_collision(tg_urdf *u, const tg_xml *xml, const tg_table_row *row, int link)
{
    const tg_xml *geometry = tg_urdf_child(xml, "geometry");
    const tg_table_row *shapes = tg_table_child(row, "geometry");
    if (geometry == NULL || geometry->first == NULL)
        return tg_xml_fail(u->base.error, TG_ERR_PARSE, xml,
                           "link '%.80s': collision without a shape: element '%s' is %s", u->link[link].name,
                           "geometry", geometry == NULL ? "missing" : "empty");
    const tg_xml *xml_shape = geometry->first;
    while (xml_shape != NULL && tg_table_child(shapes, xml_shape->name) == NULL)
        xml_shape = xml_shape->next;
    if (xml_shape == NULL) /* the check has reported it */
        return TG_OK;
    tg_urdf_shape shape = {.scale = {1, 1, 1}};
    tg_geom_def def = tg_default_geom();
    double pose[7];
    bool empty = false;
    tg_status status = report_other_shapes(u, xml_shape);
    if (status == TG_OK)
        status = tg_urdf_read(u, xml_shape, shapes, &shape);
    if (status == TG_OK)
        status = tg_urdf_read_origin(u, xml, row, pose);
    if (status == TG_OK)
        status = take_shape(u, xml_shape, &shape, &def, &empty);
    tg_urdf_geom *geom = status == TG_OK && !empty ? tg_mjcf_append(&u->base, &u->geom, sizeof *geom) : NULL;
    if (geom == NULL)
        return status == TG_OK && !empty ? tg_mjcf_no_memory(&u->base, xml) : status;
    memcpy(def.pos, pose, sizeof def.pos);
    memcpy(def.quat, pose + 3, sizeof def.quat);
    def.body = link;
    def.name = tg_xml_get(xml, "name");
    *geom = (tg_urdf_geom){xml, def};
    u->link[link].ngeom++;
    return TG_OK;
}

/* Of collisions with the same name the first keeps it: names in URDF need not be unique. */
static tg_status unique_names(tg_urdf *u)
{
    tg_urdf_geom *geom = u->geom.data;
    tg_urdf_name *names = TG_POOL_TAKE(u->base.pool, tg_urdf_name, u->geom.count);
    if (names == NULL)
        return tg_mjcf_no_memory(&u->base, u->root);
    for (int i = 0; i < u->geom.count; i++)
        names[i] = (tg_urdf_name){geom[i].def.name != NULL ? geom[i].def.name : "", i};
    tg_urdf_sort(names, u->geom.count);
    tg_status status = TG_OK;
    for (int i = 1; i < u->geom.count && status == TG_OK; i++)
    {
        if (names[i].name[0] == '\0' || strcmp(names[i].name, names[i - 1].name) != 0)
            continue;
        geom[names[i].index].def.name = NULL;
        status =
            tg_urdf_report(u, TG_TABLE_NOTED, geom[names[i].index].xml, "name", "is used twice; the geom has no name");
    }
    return status;
}

tg_status tg_urdf_read_geoms(tg_urdf *u)
{
    const tg_table_row *row = tg_table_child(tg_table_child(tg_urdf_rows(), "link"), "collision");
    tg_status status = TG_OK;
    for (int i = 0; i < u->nlink; i++)
    {
        u->link[i].geom = u->geom.count;
        for (const tg_xml *e = u->link[i].xml->first; e != NULL && status == TG_OK; e = e->next)
        {
            if (strcmp(e->name, "collision") == 0)
                status = read_collision(u, e, row, i);
        }
    }
    return status == TG_OK ? unique_names(u) : status;
}
