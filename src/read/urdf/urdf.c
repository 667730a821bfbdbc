#include "read/urdf/urdf.h"

#include <string.h>

#include "base/status.h"

/* ---- settings ---- */

static tg_status read_settings(tg_urdf *u)
{
    const tg_xml *mujoco = tg_urdf_child(u->root, "mujoco");
    const tg_table_row *row = tg_table_child(tg_urdf_rows(), "mujoco");
    tg_status status = TG_OK;
    for (const tg_xml *e = mujoco != NULL ? mujoco->first : NULL; e != NULL && status == TG_OK; e = e->next)
    {
        const tg_table_row *mjcf = tg_table_child(tg_mjcf_rows(), e->name);
        if (strcmp(e->name, "compiler") == 0)
            status = tg_urdf_read(u, e, row, &u->compiler);
        else if (strcmp(e->name, "option") == 0 || strcmp(e->name, "size") == 0)
            status = tg_table_read(u->base.error, e, mjcf, true, &u->base.option);
        for (const tg_xml *flag = e->first; flag != NULL && status == TG_OK && strcmp(e->name, "option") == 0;
             flag = flag->next)
        {
            if (tg_table_child(mjcf, flag->name) != NULL)
                status = tg_table_read(u->base.error, flag, tg_table_child(mjcf, flag->name), true, &u->base.option);
        }
    }
    return status;
}

/* The settings for the rules of MJCF: meshes come with their whole path, mass from geoms only on request. */
static void apply_settings(tg_urdf *u)
{
    tg_mjcf_compiler *compiler = &tg_mjcf_scope_of(&u->base, u->root)->compiler;
    *compiler = u->compiler.mjcf;
    compiler->meshdir = compiler->assetdir = NULL;
    compiler->inertiafromgeom = u->compiler.inertiafromgeom < 0 ? TG_MJCF_FALSE : u->compiler.inertiafromgeom;
    u->merge = !u->options->keep_fixed && u->compiler.fusestatic != 0;
}

/* ---- the whole ---- */

static tg_status read_robot(tg_urdf *u)
{
    tg_status status = read_settings(u);
    if (status != TG_OK)
        return status;
    apply_settings(u);
    tg_status (*const stage[])(tg_urdf *) = {tg_urdf_read_links,  tg_urdf_sort_links, tg_urdf_read_joints,
                                             tg_urdf_sort_joints, tg_urdf_link_tree,  tg_urdf_read_geoms,
                                             tg_urdf_bodies};
    for (size_t i = 0; i < sizeof stage / sizeof *stage && status == TG_OK; i++)
        status = stage[i](u);
    if (status == TG_OK && u->options->srdf != NULL)
        status = tg_urdf_srdf(u, u->options->srdf);
    if (status == TG_OK)
        status = tg_mjcf_missing_keys(&u->base);
    return status == TG_OK ? tg_urdf_report_counted(u) : status;
}

static tg_status set_globals(tg_urdf *u)
{
    static const double none[3] = {0, 0, 0};
    const tg_mjcf_option *o = &u->base.option;
    const char *name = tg_xml_get(u->root, "name");
    tg_status status = tg_builder_gravity(u->base.builder, o->flag_gravity ? o->gravity : none);
    if (status == TG_OK)
        status = tg_builder_timestep(u->base.builder, o->timestep);
    if (status == TG_OK)
        status = tg_builder_name(u->base.builder, name != NULL ? name : "");
    return tg_mjcf_builder_failed(&u->base, u->root, status);
}

/* Whether a message about the model speaks of "kind.name." or "kind 'name'". */
static bool speaks_of(const char *message, const char *kind, const char *name)
{
    size_t k = strlen(kind), n = strlen(name);
    if (strncmp(message, kind, k) != 0)
        return false;
    const char *at = message + k;
    return (at[0] == '.' && strncmp(at + 1, name, n) == 0 && at[1 + n] == '.') ||
           (at[0] == ' ' && at[1] == '\'' && strncmp(at + 2, name, n) == 0 && at[2 + n] == '\'');
}

/* A failure of the finished model, with the place of the link or joint it speaks of. */
static tg_status model_failed(tg_urdf *u, tg_status status, const char *message)
{
    const tg_xml *xml = u->root;
    for (int i = 0; i < u->nlink; i++)
        xml = speaks_of(message, "body", u->link[i].name) ? u->link[i].xml : xml;
    for (int i = 0; i < u->njoint; i++)
        xml = speaks_of(message, "joint", u->joint[i].name) ? u->joint[i].xml : xml;
    return tg_fail(u->base.error, status, "%s:%d: %.380s", xml->file, xml->line, message);
}

static tg_status finish(tg_urdf *u, tg_model **model)
{
    tg_model *m = NULL;
    tg_status status = set_globals(u);
    if (status != TG_OK)
        return status;
    status = tg_builder_build(u->base.builder, &m);
    if (status != TG_OK)
        return model_failed(u, status, tg_builder_message(u->base.builder));
    status = tg_mjcf_tune(&u->base, m);
    if (status != TG_OK)
        tg_model_destroy(m);
    else
        *model = m;
    return status;
}

static tg_status read_tree(tg_urdf *u, tg_xml *root, tg_model **model)
{
    const tg_mjcf_scope scope = {.name = "", .path = root->file, .dir = "", .root = root, .around = -1};
    tg_status status = tg_mjcf_add_scope(&u->base, &scope);
    if (status == TG_OK)
        status = tg_mjcf_classes(&u->base, tg_mjcf_scope_of(&u->base, root));
    if (status == TG_OK)
        status = tg_urdf_check(u, u->root, tg_urdf_rows());
    if (status == TG_OK)
        status = read_robot(u);
    return status == TG_OK ? finish(u, model) : status;
}

static tg_status check_options(const tg_load_options *options, tg_error *error)
{
    if (options->npackage_path < 0 || (options->npackage_path > 0 && options->package_path == NULL))
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_load: options: npackage_path is %d and package_path is %s",
                       options->npackage_path, options->package_path == NULL ? "NULL" : "a list");
    for (int i = 0; i < options->npackage_path; i++)
    {
        if (options->package_path[i] == NULL)
            return tg_fail(error, TG_ERR_ARGUMENT, "tg_load: options: package_path[%d] is NULL", i);
    }
    return TG_OK;
}

tg_status tg_urdf_load(tg_xml *root, const char *dir, const tg_load_options *options, tg_pool *pool, int nelement,
                       tg_model **model, tg_error *error)
{
    tg_urdf u = {
        .base = {.pool = pool,
                 .allocator = options->allocator,
                 .error = error,
                 .strict = options->strict,
                 .root = root,
                 .nelement = nelement,
                 .option = {.timestep = 0.002, .gravity = {0, 0, -9.81}, .flag_gravity = 1, .flag_clampctrl = 1},
                 .nbody = 1},
        .options = options,
        .dir = dir,
        .root = root,
        .compiler = {.mjcf = {.autolimits = 1, .inertiagrouprange = {0, 5}, .eulerseq = "XYZ"},
                     .inertiafromgeom = -1,
                     .fusestatic = -1,
                     .strippath = -1}};
    tg_status status = check_options(options, error);
    if (status == TG_OK)
        status = tg_builder_create(options->allocator, &u.base.builder, error);
    if (status != TG_OK)
        return status;
    status = read_tree(&u, root, model);
    tg_builder_destroy(u.base.builder);
    return status;
}
