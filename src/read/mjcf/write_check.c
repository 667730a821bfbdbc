/* What was written, read back: is it the same model? */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/params.h"
#include "read/mjcf/write.h"

/* The element that comes back as element i: pairs and excludes are sorted. */
static int origin_of(const tg_mjcf_writer *w, tg_element element, int i)
{
    if (element == TG_PAIR)
        return w->pair[i];
    return element == TG_EXCLUDE ? w->exclude[i] : i;
}

static tg_status refuse(const tg_mjcf_writer *w, tg_element element, int index, const char *what)
{
    return tg_fail(w->error, TG_ERR_UNSUPPORTED, "tg_save: %s '%.200s' (#%d): %s", tg_element_string(element),
                   tg_name(w->m, element, index), index, what);
}

static tg_status compare_names(const tg_mjcf_writer *w, const tg_model *back)
{
    for (tg_element element = 0; element < TG_ELEMENT_COUNT; element++)
    {
        int count = tg_element_count(w->m, element);
        if (tg_element_count(back, element) != count)
            return tg_fail(w->error, TG_ERR_UNSUPPORTED, "tg_save: of %d %s elements %d can be written as MJCF", count,
                           tg_element_string(element), tg_element_count(back, element));
        for (int i = 0; i < count; i++)
        {
            int index = origin_of(w, element, i);
            if (strcmp(tg_name(w->m, element, index), tg_name(back, element, i)) != 0)
                return refuse(w, element, index, "its name cannot be written as MJCF");
        }
    }
    return TG_OK;
}

/* Integers of an array over an element kind. */
typedef struct column
{
    tg_element element;
    const char *what;
    const int *here, *back;
} column;

static tg_status compare_columns(const tg_mjcf_writer *w, const tg_model *back)
{
    const tg_model *m = w->m;
#define COLUMN(ELEMENT, field)                                                                                         \
    {                                                                                                                  \
        TG_##ELEMENT, #field, m->field, back->field                                                                    \
    }
    const column columns[] = {
        COLUMN(BODY, body_parent),
        COLUMN(BODY, body_njoint),
        COLUMN(BODY, body_ngeom),
        COLUMN(JOINT, joint_type),
        COLUMN(JOINT, joint_limited),
        COLUMN(JOINT, joint_force_limited),
        COLUMN(GEOM, geom_type),
        COLUMN(GEOM, geom_mesh),
        COLUMN(GEOM, geom_hfield),
        COLUMN(GEOM, geom_contype),
        COLUMN(GEOM, geom_conaffinity),
        COLUMN(GEOM, geom_condim),
        COLUMN(GEOM, geom_priority),
        COLUMN(GEOM, geom_group),
        COLUMN(SITE, site_body),
        COLUMN(TENDON, tendon_type),
        COLUMN(TENDON, tendon_npath),
        COLUMN(TENDON, tendon_limited),
        COLUMN(TENDON, tendon_law),
        COLUMN(ACTUATOR, actuator_transmission),
        COLUMN(ACTUATOR, actuator_target),
        COLUMN(ACTUATOR, actuator_dynamics),
        COLUMN(ACTUATOR, actuator_act_early),
        COLUMN(ACTUATOR, actuator_ctrl_limited),
        COLUMN(ACTUATOR, actuator_force_limited),
        COLUMN(ACTUATOR, actuator_act_limited),
        COLUMN(ACTUATOR, actuator_drives),
        COLUMN(EQUALITY, equality_type),
        COLUMN(EQUALITY, equality_obj1),
        COLUMN(EQUALITY, equality_obj2),
        COLUMN(EQUALITY, equality_active),
        COLUMN(PAIR, pair_condim),
        COLUMN(EXCLUDE, exclude_geom1),
        COLUMN(EXCLUDE, exclude_geom2),
        COLUMN(MESH, mesh_nvertex),
        COLUMN(MESH, mesh_nface),
        COLUMN(HFIELD, hfield_nrow),
        COLUMN(HFIELD, hfield_ncol),
    };
#undef COLUMN
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
    {
        for (int i = 0; i < tg_element_count(m, columns[c].element); i++)
        {
            int index = origin_of(w, columns[c].element, i);
            char what[80];
            snprintf(what, sizeof what, "%s = %d reads back as %d", columns[c].what, columns[c].here[index],
                     columns[c].back[i]);
            if (columns[c].here[index] != columns[c].back[i])
                return refuse(w, columns[c].element, index, what);
        }
    }
    return TG_OK;
}

/* MJCF stretches the heights of a field to 0 .. 1. */
static tg_status compare_elevations(const tg_mjcf_writer *w, const tg_model *back)
{
    const tg_model *m = w->m;
    for (int h = 0; h < m->nhfield; h++)
    {
        int first = m->hfield_elevation[h];
        for (int i = first; i < first + m->hfield_nrow[h] * m->hfield_ncol[h]; i++)
        {
            if ((double)(float)m->elevation[i] != back->elevation[i])
                return refuse(
                    w, TG_HFIELD, h,
                    "its elevations do not span 0 .. 1, as MJCF needs: scale them, the height in size[2], and "
                    "move the geom");
        }
    }
    return TG_OK;
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

static tg_status compare_keys(const tg_mjcf_writer *w, const tg_model *back)
{
    const tg_model *m = w->m;
    for (int key = 0; key < m->nkey; key++)
    {
        size_t k = (size_t)key;
        if (m->key_time[key] != back->key_time[key] ||
            !same(m->key_v + k * (size_t)m->nv, back->key_v + k * (size_t)m->nv, m->nv) ||
            !same(m->key_act + k * (size_t)m->na, back->key_act + k * (size_t)m->na, m->na) ||
            !same(m->key_ctrl + k * (size_t)m->nu, back->key_ctrl + k * (size_t)m->nu, m->nu))
            return refuse(w, TG_KEY, key, "reads back with other numbers");
    }
    return TG_OK;
}

tg_status tg_mjcf_compare(const tg_mjcf_writer *w, const tg_model *back)
{
    tg_status status = compare_names(w, back);
    if (status == TG_OK)
        status = compare_columns(w, back);
    if (status == TG_OK)
        status = compare_elevations(w, back);
    return status == TG_OK ? compare_keys(w, back) : status;
}

/* ---- custom numbers ---- */

static void write_numeric(tg_mjcf_writer *w, tg_field field, int index, const double *value, int count)
{
    const tg_field_info *info = &tg_fields[field];
    tg_mjcf_begin(w, "numeric");
    tg_text_string(&w->text, " name=\"tangere:");
    if (info->element != TG_ELEMENT_COUNT)
    {
        int origin = origin_of(w, info->element, index);
        const char *name = tg_name(w->m, info->element, origin);
        tg_text_string(&w->text, tg_element_string(info->element));
        tg_text_string(&w->text, ".");
        if (name[0] == '\0')
            tg_text_string(&w->text, "#"), tg_text_integer(&w->text, index);
        else
            tg_text_escaped(&w->text, name);
        tg_text_string(&w->text, ".");
    }
    tg_text_string(&w->text, info->name);
    tg_text_string(&w->text, "\"");
    tg_mjcf_put_reals(w, "data", value, count);
    tg_mjcf_end(w);
}

void tg_mjcf_write_custom(tg_mjcf_writer *w, const tg_model *back)
{
    bool any = false;
    for (tg_field field = 0; field < TG_FIELD_COUNT; field++)
    {
        int count = tg_element_count(w->m, tg_fields[field].element);
        int first = tg_param_slice_of(w->m, field, 0);
        for (int i = 0; i < count; i++)
        {
            const tg_param_slice *here = &w->m->slice[first + origin_of(w, tg_fields[field].element, i)];
            const double *value = w->p->value + here->offset;
            if (same(value, back->params->value + back->slice[first + i].offset, here->size))
                continue;
            if (!any)
            {
                tg_mjcf_begin(w, "custom");
                tg_mjcf_open(w);
            }
            any = true;
            write_numeric(w, field, i, value, here->size);
        }
    }
    if (any)
        tg_mjcf_close(w, "custom");
}
