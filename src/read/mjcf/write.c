/* tg_save: a model as MJCF. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/contact_order.h"
#include "model/params.h"
#include "read/mjcf/write.h"
#include "tangere/read.h"

/* ---- elements ---- */

enum
{
    MAX_INDENT = 40 /* deeper trees are not indented further */
};

static void indent(tg_mjcf_writer *w)
{
    tg_text_spaces(&w->text, 2 * w->depth < MAX_INDENT ? 2 * w->depth : MAX_INDENT);
}

void tg_mjcf_begin(tg_mjcf_writer *w, const char *name)
{
    indent(w);
    tg_text_string(&w->text, "<");
    tg_text_string(&w->text, name);
}

void tg_mjcf_end(tg_mjcf_writer *w)
{
    tg_text_string(&w->text, "/>\n");
}

void tg_mjcf_open(tg_mjcf_writer *w)
{
    tg_text_string(&w->text, ">\n");
    w->depth++;
}

void tg_mjcf_close(tg_mjcf_writer *w, const char *name)
{
    w->depth--;
    indent(w);
    tg_text_string(&w->text, "</");
    tg_text_string(&w->text, name);
    tg_text_string(&w->text, ">\n");
}

/* ---- attributes ---- */

static void begin_value(tg_mjcf_writer *w, const char *attribute)
{
    tg_text_string(&w->text, " ");
    tg_text_string(&w->text, attribute);
    tg_text_string(&w->text, "=\"");
}

static void end_value(tg_mjcf_writer *w)
{
    tg_text_string(&w->text, "\"");
}

void tg_mjcf_put_text(tg_mjcf_writer *w, const char *attribute, const char *value)
{
    begin_value(w, attribute);
    tg_text_escaped(&w->text, value);
    end_value(w);
}

void tg_mjcf_put_bool(tg_mjcf_writer *w, const char *attribute, bool value)
{
    tg_mjcf_put_text(w, attribute, value ? "true" : "false");
}

void tg_mjcf_put_integer(tg_mjcf_writer *w, const char *attribute, int value)
{
    begin_value(w, attribute);
    tg_text_integer(&w->text, value);
    end_value(w);
}

void tg_mjcf_put_reals(tg_mjcf_writer *w, const char *attribute, const double *value, int count)
{
    begin_value(w, attribute);
    for (int i = 0; i < count; i++)
    {
        if (i > 0)
            tg_text_string(&w->text, " ");
        tg_text_real(&w->text, value[i]);
    }
    end_value(w);
}

static bool same(const double *a, const double *b, int count)
{
    for (int i = 0; i < count; i++)
    {
        if (a[i] != b[i])
            return false;
    }
    return true;
}

void tg_mjcf_put_integer_unless(tg_mjcf_writer *w, const char *attribute, int value, int usual)
{
    if (value != usual)
        tg_mjcf_put_integer(w, attribute, value);
}

void tg_mjcf_put_real_unless(tg_mjcf_writer *w, const char *attribute, double value, double usual)
{
    if (value != usual)
        tg_mjcf_put_reals(w, attribute, &value, 1);
}

void tg_mjcf_put_reals_unless(tg_mjcf_writer *w, const char *attribute, const double *value, const double *usual,
                              int count)
{
    if (!same(value, usual, count))
        tg_mjcf_put_reals(w, attribute, value, count);
}

void tg_mjcf_put_limits(tg_mjcf_writer *w, const char *prefix, bool limited, const double range[2])
{
    char attribute[32];
    if (!limited && range[0] == 0 && range[1] == 0)
        return;
    snprintf(attribute, sizeof attribute, "%slimited", prefix);
    tg_mjcf_put_bool(w, attribute, limited);
    snprintf(attribute, sizeof attribute, "%srange", prefix);
    tg_mjcf_put_reals(w, attribute, range, 2);
}

void tg_mjcf_put_pose(tg_mjcf_writer *w, const double pos[3], const double quat[4])
{
    static const double origin[3] = {0, 0, 0}, identity[4] = {1, 0, 0, 0};
    tg_mjcf_put_reals_unless(w, "pos", pos, origin, 3);
    tg_mjcf_put_reals_unless(w, "quat", quat, identity, 4);
}

/* ---- names ---- */

void tg_mjcf_put_reference(tg_mjcf_writer *w, const char *attribute, tg_element element, int index)
{
    const char *name = tg_name(w->m, element, index);
    char label[16];
    snprintf(label, sizeof label, "#%d", index);
    tg_mjcf_put_text(w, attribute, name[0] != '\0' ? name : label);
}

void tg_mjcf_put_name(tg_mjcf_writer *w, tg_element element, int index)
{
    bool named = tg_name(w->m, element, index)[0] != '\0';
    if (named || w->referenced[w->m->name_base[element] + index])
        tg_mjcf_put_reference(w, "name", element, index);
}

/* ---- the whole ---- */

static void write_settings(tg_mjcf_writer *w)
{
    tg_mjcf_begin(w, "compiler");
    tg_mjcf_put_text(w, "angle", "radian");
    tg_mjcf_put_bool(w, "autolimits", false);
    tg_mjcf_put_bool(w, "inertiafromgeom", false);
    tg_mjcf_end(w);
    tg_mjcf_begin(w, "option");
    tg_mjcf_put_reals(w, "timestep", &w->m->timestep, 1);
    tg_mjcf_put_reals(w, "gravity", TG_PARAM(w->p, gravity_), 3);
    if (w->m->implicit)
        tg_mjcf_put_text(w, "integrator", w->m->implicit_gyroscopic ? "implicit" : "implicitfast");
    tg_mjcf_end(w);
    if (w->m->ngeom == 0)
        return;
    tg_mjcf_begin(w, "default"); /* bodies have their mass: that of geoms plays no role */
    tg_mjcf_open(w);
    tg_mjcf_begin(w, "geom");
    tg_mjcf_put_text(w, "mass", "0");
    tg_mjcf_end(w);
    tg_mjcf_close(w, "default");
}

/* All but the custom section and the end. */
static void write_sections(tg_mjcf_writer *w)
{
    tg_mjcf_begin(w, "mujoco");
    tg_mjcf_put_text(w, "model", tg_model_name(w->m));
    tg_mjcf_open(w);
    write_settings(w);
    tg_mjcf_write_assets(w);
    tg_mjcf_write_world(w);
    tg_mjcf_write_contact(w);
    tg_mjcf_write_tendons(w);
    tg_mjcf_write_equalities(w);
    tg_mjcf_write_actuators(w);
    tg_mjcf_write_keys(w);
}

static tg_status no_memory(const tg_mjcf_writer *w)
{
    return tg_fail(w->error, TG_ERR_MEMORY, "tg_save: out of memory");
}

/* Reads what was written so far. */
static tg_status read_back(tg_mjcf_writer *w, tg_model **back)
{
    tg_load_options options = tg_default_load_options();
    tg_error inner = {0};
    options.allocator = w->text.allocator;
    size_t length = w->text.length;
    int depth = w->depth;
    tg_mjcf_close(w, "mujoco");
    if (w->text.failed)
        return no_memory(w);
    tg_status status = tg_load_string(w->text.data, w->text.length, NULL, &options, back, &inner);
    w->text.length = length;
    w->depth = depth;
    if (status == TG_OK || status == TG_ERR_MEMORY)
        return status == TG_OK ? TG_OK : no_memory(w);
    return tg_fail(w->error, TG_ERR_UNSUPPORTED, "tg_save: the model cannot be written as MJCF: %.400s", inner.message);
}

static tg_status write_model(tg_mjcf_writer *w)
{
    tg_model *back = NULL;
    write_sections(w);
    tg_status status = read_back(w, &back);
    if (status == TG_OK)
        status = tg_mjcf_compare(w, back);
    if (status == TG_OK)
    {
        tg_mjcf_write_custom(w, back);
        tg_mjcf_close(w, "mujoco");
    }
    tg_model_destroy(back);
    if (status == TG_OK && w->text.failed)
        status = no_memory(w);
    return status;
}

/* The order in which pairs and excludes are written. */
static bool order_contacts(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    tg_contact_key *key = tg_alloc(w->text.allocator, (size_t)(m->npair + m->nexclude) * sizeof *key);
    if (key == NULL)
        return false;
    for (int i = 0; i < m->npair; i++)
        key[i] = (tg_contact_key){
            .geoms = true, .body1 = m->geom_body[m->pair_geom1[i]], .body2 = m->geom_body[m->pair_geom2[i]]};
    tg_contact_sort(key, m->npair);
    for (int i = 0; i < m->npair; i++)
        w->pair[i] = key[i].index;
    for (int i = 0; i < m->nexclude; i++)
        key[i] = (tg_contact_key){
            .geoms = m->exclude_geom1[i] >= 0, .body1 = m->exclude_body1[i], .body2 = m->exclude_body2[i]};
    tg_contact_sort(key, m->nexclude);
    for (int i = 0; i < m->nexclude; i++)
        w->exclude[i] = key[i].index;
    tg_free(w->text.allocator, key);
    return true;
}

static tg_status prepare(tg_mjcf_writer *w)
{
    const tg_model *m = w->m;
    const tg_allocator *allocator = w->text.allocator;
    w->referenced = tg_alloc(allocator, (size_t)m->nname * sizeof *w->referenced);
    w->pair = tg_alloc(allocator, (size_t)m->npair * sizeof *w->pair);
    w->exclude = tg_alloc(allocator, (size_t)m->nexclude * sizeof *w->exclude);
    if (w->referenced == NULL || w->pair == NULL || w->exclude == NULL || !order_contacts(w))
        return no_memory(w);
    tg_mjcf_mark_references(w);
    return TG_OK;
}

/* Parameters of the model that can be used; NULL: its own. */
static tg_status choose_params(const tg_model *m, const tg_params **p, tg_error *error)
{
    *p = *p != NULL ? *p : m->params;
    if ((*p)->model != m)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_save: params belong to another model");
    if (!(*p)->ready)
        return tg_fail(error, TG_ERR_STALE, "tg_save: params were changed; call tg_params_changed first");
    return TG_OK;
}

tg_status tg_save_string(const tg_model *m, const tg_params *params, const tg_allocator *allocator, char **text,
                         size_t *length, tg_error *error)
{
    if (m == NULL || text == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_save_string: %s is NULL", m == NULL ? "model" : "text");
    tg_status status = choose_params(m, &params, error);
    if (status != TG_OK)
        return status;
    *text = NULL;
    tg_mjcf_writer w = {.m = m, .p = params, .text = {.allocator = allocator}, .error = error};
    status = prepare(&w);
    if (status == TG_OK)
        status = write_model(&w);
    tg_free(allocator, w.referenced);
    tg_free(allocator, w.pair);
    tg_free(allocator, w.exclude);
    if (status != TG_OK)
    {
        tg_text_free(&w.text);
        return status;
    }
    *text = w.text.data;
    if (length != NULL)
        *length = w.text.length;
    return TG_OK;
}

void tg_save_string_free(const tg_allocator *allocator, char *text)
{
    tg_free(allocator, text);
}

tg_status tg_save(const tg_model *m, const tg_params *params, const char *path, tg_error *error)
{
    if (m == NULL || path == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_save: %s is NULL", m == NULL ? "model" : "path");
    char *text = NULL;
    size_t length = 0;
    tg_status status = tg_save_string(m, params, &m->allocator, &text, &length, error);
    if (status != TG_OK)
        return status;
    FILE *file = fopen(path, "wb");
    bool written = file != NULL && fwrite(text, 1, length, file) == length;
    int reason = errno;
    if (file != NULL && fclose(file) != 0 && written)
    {
        reason = errno;
        written = false;
    }
    tg_save_string_free(&m->allocator, text);
    if (!written)
        return tg_fail(error, TG_ERR_FILE, "%.300s: cannot be written: %.100s", path, strerror(reason));
    return TG_OK;
}
