#include "read/mjcf/mjcf.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"

/* ---- failures ---- */

tg_status tg_mjcf_builder_failed(tg_mjcf *r, const tg_xml *xml, tg_status status)
{
    if (status == TG_OK)
        return TG_OK;
    return tg_xml_fail(r->error, status, xml, "%.350s", tg_builder_message(r->builder));
}

tg_status tg_mjcf_no_memory(tg_mjcf *r, const tg_xml *xml)
{
    return tg_xml_fail(r->error, TG_ERR_MEMORY, xml, "out of memory");
}

/* The element that a message about the model as a whole speaks of: it starts with "joint 'knee'", "joint #3",
 * "joint.knee.range" or "joint.#3.range". NULL if it speaks of none. */
static const tg_mjcf_thing *thing_in(const tg_mjcf *r, const char *message)
{
    for (int e = 0; e < TG_ELEMENT_COUNT; e++)
    {
        const char *kind = tg_element_string((tg_element)e);
        size_t length = strlen(kind);
        if (strncmp(message, kind, length) != 0 || (message[length] != ' ' && message[length] != '.'))
            continue;
        const char *name = message + length + 1;
        int id;
        if (sscanf(name, "#%d", &id) == 1)
            return tg_mjcf_thing_of(r, (tg_element)e, id);
        bool quoted = *name == '\'';
        name += quoted ? 1 : 0;
        for (int i = 0; i < r->thing.count; i++)
        {
            const tg_mjcf_thing *thing = (const tg_mjcf_thing *)r->thing.data + i;
            size_t n = strlen(thing->name);
            bool same = (int)thing->element == e && n > 0 && strncmp(name, thing->name, n) == 0;
            if (same && name[n] == (quoted ? '\'' : '.'))
                return thing;
        }
    }
    return NULL;
}

const tg_xml *tg_mjcf_section(const tg_mjcf *r, const char *name)
{
    const tg_xml *last = r->root;
    for (const tg_xml *e = r->root->first; e != NULL; e = e->next)
        last = strcmp(e->name, name) == 0 ? e : last;
    return last;
}

/* A failure of the finished model, with the place of the element it speaks of. */
static tg_status model_failed(tg_mjcf *r, tg_status status, const char *message)
{
    const tg_mjcf_thing *thing = thing_in(r, message);
    bool option = strncmp(message, "timestep", 8) == 0 || strncmp(message, "gravity", 7) == 0;
    const tg_xml *xml = thing != NULL ? thing->xml : option ? tg_mjcf_section(r, "option") : r->root;
    return tg_fail(r->error, status, "%s:%d: %.380s", xml->file, xml->line, message);
}

/* ---- settings ---- */

static tg_status read_compiler(tg_mjcf *r, const tg_xml *xml)
{
    tg_mjcf_compiler *c = &tg_mjcf_scope_of(r, xml)->compiler;
    tg_status status = tg_table_read(r->error, xml, tg_table_child(tg_mjcf_rows(), "compiler"), true, c);
    if (status != TG_OK)
        return status;
    if (c->coordinate != 0)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "attribute 'coordinate'=\"global\": only local is read");
    if (strlen(c->eulerseq) != 3 || strspn(c->eulerseq, "xyzXYZ") != 3)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'eulerseq'=\"%.20s\": three of x, y, z, X, Y, Z",
                           c->eulerseq);
    return TG_OK;
}

static tg_status read_option(tg_mjcf *r, const tg_xml *xml)
{
    const tg_table_row *row = tg_table_child(tg_mjcf_rows(), "option");
    tg_status status = tg_table_read(r->error, xml, row, true, &r->option);
    for (const tg_xml *flag = xml->first; flag != NULL && status == TG_OK; flag = flag->next)
        status = tg_table_read(r->error, flag, tg_table_child(row, flag->name), true, &r->option);
    return status;
}

static tg_status read_size(tg_mjcf *r, const tg_xml *xml)
{
    return tg_table_read(r->error, xml, tg_table_child(tg_mjcf_rows(), "size"), true, &r->option);
}

/* ---- sections ---- */

typedef tg_status (*section_reader)(tg_mjcf *r, const tg_xml *section);

/* All sections of one name, in their order. */
static tg_status read_sections(tg_mjcf *r, const char *name, section_reader read)
{
    tg_status status = TG_OK;
    for (const tg_xml *e = r->root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, name) == 0)
            status = read(r, e);
    }
    return status;
}

static tg_status read_contact(tg_mjcf *r, const tg_xml *section)
{
    const tg_xml *first = r->root->first;
    while (strcmp(first->name, section->name) != 0)
        first = first->next;
    return section == first ? tg_mjcf_contact(r, r->root) : TG_OK; /* all sections at once */
}

static tg_status read_model(tg_mjcf *r)
{
    /* classes and settings first, then what others refer to before what refers to it */
    static const struct
    {
        const char *name;
        section_reader read;
    } order[] = {{"option", read_option},         {"size", read_size},
                 {"custom", tg_mjcf_custom},      {"asset", tg_mjcf_assets},
                 {"worldbody", tg_mjcf_world},    {"contact", read_contact},
                 {"tendon", tg_mjcf_tendons},     {"equality", tg_mjcf_equality_section},
                 {"actuator", tg_mjcf_actuators}, {"keyframe", tg_mjcf_keys}};
    tg_status status = TG_OK;
    for (int i = 0; i < r->scope.count && status == TG_OK; i++)
        status = tg_mjcf_classes(r, tg_mjcf_pointer(&r->scope, i));
    for (size_t i = 0; i < sizeof order / sizeof *order && status == TG_OK; i++)
        status = read_sections(r, order[i].name, order[i].read);
    if (status == TG_OK)
        status = tg_mjcf_geom_excludes(r, r->root);
    if (status == TG_OK)
        status = tg_mjcf_missing_keys(r);
    if (status == TG_OK)
        status = tg_mjcf_discard_meshes(r);
    return status == TG_OK ? tg_mjcf_report_honoured(r) : status;
}

static tg_status set_globals(tg_mjcf *r)
{
    static const double none[3] = {0, 0, 0};
    const tg_mjcf_option *o = &r->option;
    tg_status status = tg_builder_gravity(r->builder, o->flag_gravity ? o->gravity : none);
    if (status == TG_OK)
        status = tg_builder_timestep(r->builder, o->timestep);
    if (status == TG_OK)
        status = tg_builder_implicit(r->builder, o->implicit > 0, o->implicit > 1);
    const char *name = tg_xml_get(r->root, "model");
    if (status == TG_OK)
        status = tg_builder_name(r->builder, name != NULL ? name : "MuJoCo Model");
    return tg_mjcf_builder_failed(r, r->root, status);
}

/* ---- the whole ---- */

static tg_status finish(tg_mjcf *r, tg_model **model)
{
    tg_model *m = NULL;
    tg_status status = set_globals(r);
    if (status != TG_OK)
        return status;
    status = tg_builder_build(r->builder, &m);
    if (status != TG_OK)
        return model_failed(r, status, tg_builder_message(r->builder));
    status = tg_mjcf_check_moving(r, m);
    if (status == TG_OK)
        status = tg_mjcf_tune(r, m);
    if (status == TG_OK)
        status = tg_mjcf_custom_apply(r, m);
    if (status != TG_OK)
        tg_model_destroy(m);
    else
        *model = m;
    return status;
}

static void mark_scope(tg_xml *xml, int scope)
{
    xml->scope = scope;
    for (tg_xml *e = xml->first; e != NULL; e = e->next)
        mark_scope(e, scope);
}

tg_status tg_mjcf_add_scope(tg_mjcf *r, const tg_mjcf_scope *settings)
{
    tg_mjcf_scope *scope = TG_POOL_TAKE(r->pool, tg_mjcf_scope, 1);
    if (scope == NULL || !tg_mjcf_append_pointer(r, &r->scope, scope))
        return tg_mjcf_no_memory(r, settings->root);
    *scope = *settings;
    return TG_OK;
}

tg_status tg_mjcf_open_file(tg_mjcf *r, tg_xml *root, const char *name, const char *path, const char *dir, int around)
{
    const tg_mjcf_scope scope = {.name = name,
                                 .path = path,
                                 .dir = dir,
                                 .root = root,
                                 .compiler = {.autolimits = 1,
                                              .degree = 1,
                                              .inertiafromgeom = TG_MJCF_AUTO,
                                              .inertiagrouprange = {0, 5},
                                              .eulerseq = "xyz"},
                                 .around = around};
    int number = r->scope.count;
    tg_status status = tg_mjcf_add_scope(r, &scope);
    if (status == TG_OK)
        status = tg_mjcf_include(r, root, dir);
    if (status == TG_OK)
        status = tg_mjcf_check(r, root);
    mark_scope(root, number);
    for (const tg_xml *e = root->first; e != NULL && status == TG_OK; e = e->next)
    {
        if (strcmp(e->name, "compiler") == 0)
            status = read_compiler(r, e);
    }
    if (status == TG_OK)
        status = tg_mjcf_models(r, root);
    return status == TG_OK ? tg_mjcf_expand(r, root) : status;
}

static tg_status read_tree(tg_mjcf *r, tg_xml *root, const char *dir, tg_model **model)
{
    tg_status status = tg_mjcf_open_file(r, root, "", root->file, dir, -1);
    if (status == TG_OK)
        status = read_model(r);
    return status == TG_OK ? finish(r, model) : status;
}

tg_status tg_mjcf_load(tg_xml *root, const char *dir, const tg_load_options *options, tg_pool *pool, int nelement,
                       tg_model **model, tg_error *error)
{
    tg_mjcf r = {.pool = pool,
                 .allocator = options->allocator,
                 .error = error,
                 .strict = options->strict,
                 .root = root,
                 .nelement = nelement,
                 .option = {.timestep = 0.002, .gravity = {0, 0, -9.81}, .flag_gravity = 1, .flag_clampctrl = 1},
                 .nbody = 1};
    tg_status status = tg_builder_create(options->allocator, &r.builder, error);
    if (status != TG_OK)
        return status;
    status = read_tree(&r, root, dir, model);
    tg_builder_destroy(r.builder);
    return status;
}
