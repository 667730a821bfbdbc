/* asset: meshes and height fields. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/builder.h"
#include "read/file.h"
#include "read/mjcf/mjcf.h"
#include "read/png.h"
#include "tangere/algebra.h"

/* Where a file of an asset is: in the folder of meshes, from the main file; or beside the file that names it. */
static tg_status find_file(tg_mjcf *r, const tg_xml *xml, const char *name, const char **path)
{
    const tg_mjcf_compiler *c = tg_mjcf_compiler_of(r, xml);
    if (c->strippath)
        name = tg_path_base(name);
    const char *folder = c->meshdir != NULL ? c->meshdir : c->assetdir != NULL ? c->assetdir : "";
    const char *dir = tg_path_join(r->pool, tg_mjcf_scope_of(r, xml)->dir, folder);
    *path = dir != NULL ? tg_path_join(r->pool, dir, name) : NULL;
    if (*path == NULL)
        return tg_mjcf_no_memory(r, xml);
    if (tg_file_exists(*path))
        return TG_OK;
    const char *beside = tg_path_dir(r->pool, xml->file);
    const char *other = beside != NULL ? tg_path_join(r->pool, beside, name) : NULL;
    if (other == NULL)
        return tg_mjcf_no_memory(r, xml);
    if (!tg_file_exists(other))
        return tg_xml_fail(r->error, TG_ERR_FILE, xml, "attribute 'file': cannot open %.250s", *path);
    *path = other;
    return TG_OK;
}

/* The name, or what the file is called. */
static const char *asset_name(tg_mjcf *r, const tg_xml *xml, const char *file)
{
    const char *name = tg_xml_get(xml, "name");
    if (name != NULL && name[0] != '\0')
        return name;
    return file != NULL ? tg_path_stem(r->pool, file) : "";
}

/* ---- meshes ---- */

typedef tg_status (*mesh_reader)(const char *data, size_t size, tg_pool *pool, tg_mesh_data *mesh, tg_error *error);

static mesh_reader reader_of(const char *path, const char *content_type)
{
    static const struct
    {
        const char *extension, *content_type;
        mesh_reader read;
    } readers[] = {{".stl", "model/stl", tg_mesh_read_stl},
                   {".obj", "model/obj", tg_mesh_read_obj},
                   {".msh", "model/vnd.mujoco.msh", tg_mesh_read_msh}};
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    {
        bool fits = content_type != NULL && content_type[0] != '\0' ? strcmp(content_type, readers[i].content_type) == 0
                                                                    : tg_path_has_extension(path, readers[i].extension);
        if (fits)
            return readers[i].read;
    }
    return NULL;
}

static tg_status read_mesh_file(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_mesh *w, tg_mesh_data *mesh)
{
    const char *path;
    tg_file file;
    tg_error inner = {0};
    mesh_reader read = reader_of(w->file, w->content_type);
    if (read == NULL && !tg_mesh_reads_others())
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "attribute 'file'=\"%.200s\": " TG_MESH_FORMATS, w->file);
    tg_status status = find_file(r, xml, w->file, &path);
    if (status != TG_OK)
        return status;
    status = tg_file_read(path, TG_MESH_MAX_BYTES, r->allocator, &file, &inner);
    if (status == TG_OK)
    {
        status = read != NULL ? read(file.data, file.size, r->pool, mesh, &inner)
                              : tg_mesh_read_other(file.data, file.size, path, r->pool, mesh, &inner);
        tg_file_free(&file, r->allocator);
    }
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'file'=\"%.150s\": %.200s", w->file, inner.message);
    return TG_OK;
}

/* Vertices and faces in the attributes; single precision, as in a file. */
static tg_status read_mesh_text(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_mesh *w, tg_mesh_data *mesh)
{
    int n = 0;
    tg_status status = tg_table_reals(r->error, r->pool, xml, "vertex", w->vertex, &mesh->vertex, &n);
    if (status != TG_OK)
        return status;
    if (n == 0 || n % 3 != 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'vertex': %d numbers are no list of points", n);
    for (int i = 0; i < n; i++)
        mesh->vertex[i] = (double)(float)mesh->vertex[i];
    mesh->nvertex = n / 3;
    if (w->face == NULL)
        return TG_OK;
    status = tg_table_integers(r->error, r->pool, xml, "face", w->face, &mesh->face, &n);
    if (status != TG_OK)
        return status;
    if (n % 3 != 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'face': %d numbers are no list of triangles", n);
    for (int i = 0; i < n; i++)
    {
        if (mesh->face[i] < 0 || mesh->face[i] >= mesh->nvertex)
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'face': names vertex %d of %d (from 0)",
                               mesh->face[i], mesh->nvertex);
    }
    mesh->nface = n / 3;
    return TG_OK;
}

/* v = scale * R(refquat)^T (v - refpos); a mirror turns the faces round. */
static tg_status transform_mesh(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_mesh *w, tg_mesh_data *mesh)
{
    double quat[4];
    if (tg_quat_normalise(w->refquat, quat) == 0)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'refquat': a zero quaternion is no orientation");
    for (int i = 0; i < 3; i++)
    {
        if (w->scale[i] == 0)
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'scale': number %d is zero", i + 1);
    }
    bool turned = quat[0] != 1 || quat[1] != 0 || quat[2] != 0 || quat[3] != 0;
    for (int i = 0; i < mesh->nvertex; i++)
    {
        double *v = mesh->vertex + 3 * (size_t)i;
        for (int k = 0; k < 3; k++)
            v[k] -= w->refpos[k];
        if (turned)
            tg_quat_rotate_inverse(quat, v, v);
        for (int k = 0; k < 3; k++)
            v[k] *= w->scale[k];
    }
    for (int i = 0; i < mesh->nface && w->scale[0] * w->scale[1] * w->scale[2] < 0; i++)
    {
        int *f = mesh->face + 3 * (size_t)i, swap = f[1];
        f[1] = f[2];
        f[2] = swap;
    }
    return TG_OK;
}

/* What of an OBJ file does not weigh anything. */
static tg_status report_obj(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_mesh *written, const tg_mesh_data *data)
{
    char note[160];
    tg_status status = TG_OK;
    if (written->inertia == TG_MJCF_CONVEX)
        return TG_OK;
    if (data->nfirst > 0)
        status = tg_mjcf_report(
            r, TG_TABLE_NOTED, xml, "file",
            "has several groups: mass and inertia are those of the first, as in MuJoCo; the hull is of all");
    snprintf(note, sizeof note, "%d polygons of it could not be cut into triangles and have no mass, as in MuJoCo",
             data->nlost);
    return status == TG_OK && data->nlost > 0 ? tg_mjcf_report(r, TG_TABLE_NOTED, xml, "file", note) : status;
}

static tg_status read_mesh(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    const tg_mjcf_class *class;
    tg_status status = tg_mjcf_find_class(r, xml, "class", NULL, &class);
    if (status != TG_OK)
        return status;
    tg_mjcf_mesh written = class->mesh;
    tg_mesh_data data = {0};
    status = tg_table_read(r->error, xml, row, true, &written);
    if (status != TG_OK)
        return status;
    if ((written.file == NULL) == (written.vertex == NULL))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "a mesh has either the attribute 'file' or 'vertex'");
    status = written.file != NULL ? read_mesh_file(r, xml, &written, &data) : read_mesh_text(r, xml, &written, &data);
    if (status == TG_OK)
        status = transform_mesh(r, xml, &written, &data);
    if (status != TG_OK)
        return status;
    status = report_obj(r, xml, &written, &data);
    if (status != TG_OK)
        return status;
    int id = -1;
    tg_mesh_def def = tg_default_mesh();
    def.name = asset_name(r, xml, written.file);
    def.nvertex = data.nvertex;
    def.vertex = data.vertex;
    def.nface = data.nface;
    def.face = data.face;
    status = tg_mjcf_builder_failed(r, xml, tg_builder_mesh(r->builder, &def, &id));
    if (status == TG_OK)
        status = tg_mjcf_builder_failed(r, xml, tg_builder_place(r->builder, TG_MESH, id, xml->file, xml->line));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, xml, TG_MESH, def.name, id);
    tg_mjcf_mesh_known *known = status == TG_OK ? tg_mjcf_append(r, &r->mesh, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    *known = (tg_mjcf_mesh_known){.inertia = (tg_mjcf_mesh_inertia)written.inertia, .data = data};
    return TG_OK;
}

/* ---- height fields ---- */

/* The binary format: rows, columns, then single-precision elevations, little-endian. */
static tg_status read_elevations(const tg_file *file, tg_pool *pool, tg_mjcf_hfield *w, double **elevation,
                                 tg_error *error)
{
    uint64_t nrow = file->size >= 8 ? tg_mesh_uint(file->data) : 0,
             ncol = file->size >= 8 ? tg_mesh_uint(file->data + 4) : 0;
    if (nrow == 0 || ncol == 0 || nrow > file->size || ncol > file->size || 8 + 4 * nrow * ncol != file->size)
        return tg_fail(error, TG_ERR_PARSE, "the header announces %llu x %llu elevations, the file has %zu bytes",
                       (unsigned long long)nrow, (unsigned long long)ncol, file->size);
    *elevation = TG_POOL_TAKE(pool, double, nrow *ncol);
    if (*elevation == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory");
    for (uint64_t i = 0; i < nrow * ncol; i++)
        (*elevation)[i] = (double)tg_mesh_float(file->data + 8 + 4 * i);
    w->nrow = (int)nrow;
    w->ncol = (int)ncol;
    return TG_OK;
}

/* An image: bright is high, the top row is the far one (+y). */
static tg_status read_image(const tg_file *file, tg_pool *pool, tg_mjcf_hfield *w, double **elevation, tg_error *error)
{
    tg_png image;
    tg_status status = tg_png_read(file->data, file->size, pool, &image, error);
    if (status != TG_OK)
        return status;
    size_t nrow = (size_t)image.height, ncol = (size_t)image.width;
    *elevation = TG_POOL_TAKE(pool, double, nrow *ncol);
    if (*elevation == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "out of memory");
    for (size_t i = 0; i < nrow; i++)
    {
        for (size_t j = 0; j < ncol; j++)
            (*elevation)[(nrow - 1 - i) * ncol + j] = image.grey[i * ncol + j];
    }
    w->nrow = image.height;
    w->ncol = image.width;
    return TG_OK;
}

static tg_status read_hfield_file(tg_mjcf *r, const tg_xml *xml, tg_mjcf_hfield *w, double **elevation)
{
    const char *path;
    tg_file file;
    tg_error inner = {0};
    tg_status status = find_file(r, xml, w->file, &path);
    if (status != TG_OK)
        return status;
    bool typed = w->content_type != NULL && w->content_type[0] != '\0';
    bool image = typed ? strcmp(w->content_type, "image/png") == 0 : tg_path_has_extension(w->file, ".png");
    status = tg_file_read(path, TG_MESH_MAX_BYTES, r->allocator, &file, &inner);
    if (status == TG_OK)
    {
        status = image ? read_image(&file, r->pool, w, elevation, &inner)
                       : read_elevations(&file, r->pool, w, elevation, &inner);
        tg_file_free(&file, r->allocator);
    }
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'file'=\"%.150s\": %.200s", w->file, inner.message);
    return TG_OK;
}

/* In an attribute the first row is the far one (+y). */
static tg_status read_hfield_text(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_hfield *w, double **elevation)
{
    if (w->nrow <= 0 || w->ncol <= 0 || w->nrow > (1 << 24) / w->ncol)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml,
                           "attributes 'nrow' and 'ncol': %d x %d is no field of 1 .. 2^24 numbers", w->nrow, w->ncol);
    size_t nrow = (size_t)w->nrow, ncol = (size_t)w->ncol;
    *elevation = TG_POOL_TAKE(r->pool, double, nrow *ncol);
    if (*elevation == NULL)
        return tg_mjcf_no_memory(r, xml);
    if (w->elevation == NULL)
        return TG_OK;
    double *given;
    int n;
    tg_status status = tg_table_reals(r->error, r->pool, xml, "elevation", w->elevation, &given, &n);
    if (status == TG_OK && (size_t)n != nrow * ncol)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'elevation': %d numbers for %d x %d", n, w->nrow,
                           w->ncol);
    for (size_t i = 0; i < nrow && status == TG_OK; i++)
    {
        for (size_t j = 0; j < ncol; j++)
            (*elevation)[(nrow - 1 - i) * ncol + j] = (double)(float)given[i * ncol + j];
    }
    return status;
}

/* Elevations are moved and scaled to 0 .. 1. */
static void normalise_elevation(double *elevation, size_t n)
{
    double low = elevation[0], high = elevation[0];
    for (size_t i = 1; i < n; i++)
    {
        low = fmin(low, elevation[i]);
        high = fmax(high, elevation[i]);
    }
    for (size_t i = 0; i < n; i++)
        elevation[i] = high > low ? (elevation[i] - low) / (high - low) : 0;
}

static tg_status read_hfield(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    tg_mjcf_hfield w = {0};
    double *elevation = NULL;
    tg_status status = tg_table_read(r->error, xml, row, true, &w);
    if (status != TG_OK)
        return status;
    if (w.file != NULL && (w.nrow != 0 || w.ncol != 0 || w.elevation != NULL))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'file' excludes 'nrow', 'ncol' and 'elevation'");
    status = w.file != NULL ? read_hfield_file(r, xml, &w, &elevation) : read_hfield_text(r, xml, &w, &elevation);
    if (status != TG_OK)
        return status;
    normalise_elevation(elevation, (size_t)w.nrow * (size_t)w.ncol);
    int id = -1;
    tg_hfield_def def = tg_default_hfield();
    def.name = asset_name(r, xml, w.file);
    def.nrow = w.nrow;
    def.ncol = w.ncol;
    def.elevation = elevation;
    memcpy(def.size, w.size, sizeof def.size);
    status = tg_mjcf_builder_failed(r, xml, tg_builder_hfield(r->builder, &def, &id));
    if (status == TG_OK)
        status = tg_mjcf_remember(r, xml, TG_HFIELD, def.name, id);
    tg_mjcf_hfield_known *known = status == TG_OK ? tg_mjcf_append(r, &r->hfield, sizeof *known) : NULL;
    if (known == NULL)
        return status == TG_OK ? tg_mjcf_no_memory(r, xml) : status;
    memcpy(known->size, w.size, sizeof known->size);
    return TG_OK;
}

tg_status tg_mjcf_assets(tg_mjcf *r, const tg_xml *section)
{
    const tg_table_row *asset = tg_table_child(tg_mjcf_rows(), "asset");
    tg_status status = TG_OK;
    for (const tg_xml *e = section->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "mesh") == 0)
            status = read_mesh(r, e, tg_table_child(asset, "mesh"));
        else if (strcmp(e->name, "hfield") == 0)
            status = read_hfield(r, e, tg_table_child(asset, "hfield"));
    }
    return status;
}
