#include "model/params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"

/* ---- the table of fields ---- */

/* "mass", or the element's own name where the field has none ("gravity") */
#define FIELD_NAME(element, field) (sizeof(#field) > 1 ? #field : #element)

const tg_field_info tg_fields[TG_FIELD_COUNT] = {
#define X(ELEMENT, element, field, size, DOMAIN, doc)                                                                  \
    {TG_##ELEMENT, FIELD_NAME(element, field), size, TG_DOMAIN_##DOMAIN},
#include "model/params.def"
#undef X
};

int tg_element_count(const tg_model *m, tg_element element)
{
    switch (element)
    {
    case TG_BODY:
        return m->nbody;
    case TG_JOINT:
        return m->njoint;
    case TG_GEOM:
        return m->ngeom;
    case TG_SITE:
        return m->nsite;
    case TG_TENDON:
        return m->ntendon;
    case TG_ACTUATOR:
        return m->nu;
    case TG_EQUALITY:
        return m->nequality;
    case TG_PAIR:
        return m->npair;
    case TG_EXCLUDE:
        return m->nexclude;
    case TG_KEY:
        return m->nkey;
    case TG_MESH:
        return m->nmesh;
    case TG_HFIELD:
        return m->nhfield;
    default:
        return 1;
    }
}

int tg_field_size(const tg_model *m, tg_field field, int index)
{
    return field == TG_FIELD_tendon_coef ? m->tendon_npath[index] : tg_fields[field].size;
}

void tg_params_measure(tg_model *m)
{
    m->nparams = 0;
    m->nslice = 0;
#define X(ELEMENT, element, field, size, DOMAIN, doc)                                                                  \
    m->offset.element##_##field = m->nparams;                                                                          \
    m->nparams += (size) > 0 ? (size)*tg_element_count(m, TG_##ELEMENT) : m->npath;                                    \
    m->nslice += tg_element_count(m, TG_##ELEMENT);
#include "model/params.def"
#undef X
}

void tg_params_slices(tg_model *m)
{
    int slice = 0;
    int offset = 0;
    for (tg_field field = 0; field < TG_FIELD_COUNT; field++)
    {
        const tg_field_info *info = &tg_fields[field];
        int count = tg_element_count(m, info->element);
        for (int index = 0; index < count; index++)
        {
            int size = tg_field_size(m, field, index);
            m->slice[slice++] = (tg_param_slice){info->element, index, info->name, offset, size};
            offset += size;
        }
    }
}

int tg_param_slice_of(const tg_model *m, tg_field field, int index)
{
    int slice = index;
    for (tg_field before = 0; before < field; before++)
        slice += tg_element_count(m, tg_fields[before].element);
    return slice;
}

/* ---- names of slices ----
 *
 * A name is up to five pieces: element . name . field. They are never joined, so that names may have any length. */

enum
{
    PIECES = 5
};

typedef struct pieces
{
    const char *text[PIECES];
    size_t length[PIECES];
    size_t total;
    char number[16];
} pieces;

static void name_pieces(const tg_model *m, int slice, const tg_origin *origin, pieces *out)
{
    const tg_param_slice *s = &m->slice[slice];
    const char *text[PIECES] = {"", "", "", "", s->field};
    if (s->element != TG_ELEMENT_COUNT)
    {
        int number = origin != NULL && origin->of[s->element] != NULL ? origin->of[s->element][s->index] : s->index;
        const char *name = tg_name(m, s->element, s->index);
        snprintf(out->number, sizeof out->number, "#%d", number);
        text[0] = tg_element_string(s->element);
        text[1] = ".";
        text[2] = name[0] != '\0' ? name : out->number;
        text[3] = ".";
    }
    out->total = 0;
    for (int i = 0; i < PIECES; i++)
    {
        out->text[i] = text[i];
        out->length[i] = strlen(text[i]);
        out->total += out->length[i];
    }
}

static char piece_at(const pieces *name, size_t i)
{
    int k = 0;
    while (i >= name->length[k])
        i -= name->length[k++];
    return name->text[k][i];
}

/* Writes the name; returns how long the full name is. */
static size_t write_name(const pieces *name, int component, char *out, size_t size)
{
    const char *const *t = name->text;
    int written = component >= 0 ? snprintf(out, size, "%s%s%s%s%s[%d]", t[0], t[1], t[2], t[3], t[4], component)
                                 : snprintf(out, size, "%s%s%s%s%s", t[0], t[1], t[2], t[3], t[4]);
    return written < 0 ? 0 : (size_t)written;
}

void tg_slice_name(const tg_model *m, int slice, int component, const tg_origin *origin, char *name, size_t size)
{
    pieces p;
    name_pieces(m, slice, origin, &p);
    write_name(&p, component, name, size);
}

int tg_param_slice_count(const tg_model *m)
{
    return m != NULL ? m->nslice : 0;
}

tg_status tg_param_slice_get(const tg_model *m, int slice, tg_param_slice *out, tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", m == NULL ? "m" : "out");
    if (slice < 0 || slice >= m->nslice)
        return tg_fail(error, TG_ERR_ARGUMENT, "slice %d does not exist; the model has %d", slice, m->nslice);
    *out = m->slice[slice];
    return TG_OK;
}

/* The slice that holds number offset: the last that starts there or before, and is not empty. */
static int slice_at(const tg_model *m, int offset)
{
    int low = 0;
    int high = m->nslice - 1;
    while (low < high)
    {
        int middle = (low + high + 1) / 2;
        if (m->slice[middle].offset <= offset)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int tg_geom_of_param(const tg_model *m, int offset)
{
    const tg_param_slice *s = &m->slice[slice_at(m, offset)];
    return s->element == TG_GEOM ? s->index : -1;
}

tg_status tg_param_name(const tg_model *m, int offset, bool whole, char *name, size_t size, tg_error *error)
{
    if (m == NULL || name == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", m == NULL ? "m" : "name");
    if (size == 0 || offset < 0 || offset >= m->nparams)
        return tg_fail(error, TG_ERR_ARGUMENT, "offset = %d, size = %zu: the model has %d parameters", offset, size,
                       m->nparams);
    int slice = slice_at(m, offset);
    const tg_param_slice *s = &m->slice[slice];
    pieces p;
    name_pieces(m, slice, NULL, &p);
    int component = whole || s->size == 1 ? -1 : offset - s->offset;
    size_t needed = write_name(&p, component, name, size) + 1;
    if (needed > size)
        return tg_fail(error, TG_ERR_CAPACITY, "the name of parameter %d needs %zu bytes, there are %zu", offset,
                       needed, size);
    return TG_OK;
}

/* ---- finding ---- */

/* Cuts "[i]" from the end of text: returns the length without it and i, or the whole length and -1. */
static size_t cut_component(const char *text, int *component)
{
    size_t length = strlen(text);
    *component = -1;
    if (length < 4 || text[length - 1] != ']')
        return length;
    size_t start = length - 1;
    while (start > 0 && text[start - 1] >= '0' && text[start - 1] <= '9')
        start--;
    if (start < 2 || text[start - 1] != '[' || length - 1 - start < 1 || length - 1 - start > 6)
        return length;
    *component = (int)strtol(text + start, NULL, 10);
    return start - 1;
}

static bool same(const char *text, size_t length, const char *whole)
{
    return strlen(whole) == length && memcmp(text, whole, length) == 0;
}

/* The element kind named by text, TG_ELEMENT_COUNT if there is none. */
static tg_element element_named(const char *text, size_t length)
{
    tg_element element = 0;
    while (element < TG_ELEMENT_COUNT && !same(text, length, tg_element_string(element)))
        element++;
    return element;
}

static tg_field field_named(tg_element element, const char *text, size_t length)
{
    tg_field field = 0;
    while (field < TG_FIELD_COUNT &&
           !(tg_fields[field].element == element && same(text, length, tg_fields[field].name)))
        field++;
    return field;
}

static const char *last_dot(const char *text, size_t length)
{
    const char *dot = NULL;
    for (size_t i = 0; i < length; i++)
        dot = text[i] == '.' ? text + i : dot;
    return dot;
}

/* The slice named text[0 .. length): element, up to the first dot; field, from the last one; the name between. */
static tg_status find_slice(const tg_model *m, const char *text, size_t length, int *slice, tg_error *error)
{
    int shown = length < 200 ? (int)length : 200;
    const char *first = memchr(text, '.', length);
    const char *last = last_dot(text, length);
    if (first == NULL)
    {
        tg_field field = field_named(TG_ELEMENT_COUNT, text, length);
        if (field == TG_FIELD_COUNT)
            return tg_fail(error, TG_ERR_NAME, "parameter '%.*s': there is none of this name", shown, text);
        *slice = tg_param_slice_of(m, field, 0);
        return TG_OK;
    }
    tg_element element = element_named(text, (size_t)(first - text));
    if (element == TG_ELEMENT_COUNT)
        return tg_fail(error, TG_ERR_NAME, "parameter '%.*s': '%.*s' is no element kind", shown, text,
                       (int)(first - text), text);
    tg_field field = field_named(element, last + 1, (size_t)(text + length - last - 1));
    if (field == TG_FIELD_COUNT)
        return tg_fail(error, TG_ERR_NAME, "parameter '%.*s': a %s has no field '%.*s'", shown, text,
                       tg_element_string(element), (int)(text + length - last - 1), last + 1);
    int index = last > first ? tg_find_length(m, element, first + 1, (size_t)(last - first - 1)) : -1;
    if (index < 0)
        return tg_fail(error, TG_ERR_NAME, "parameter '%.*s': there is no %s '%.*s'", shown, text,
                       tg_element_string(element), last > first ? (int)(last - first - 1) : 0, first + 1);
    *slice = tg_param_slice_of(m, field, index);
    return TG_OK;
}

tg_status tg_param_find(const tg_model *m, const char *name, int *offset, int *size, tg_error *error)
{
    if (m == NULL || name == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_param_find: %s is NULL", m == NULL ? "model" : "name");
    int component;
    int slice = 0;
    size_t length = cut_component(name, &component);
    tg_status status = find_slice(m, name, length, &slice, error);
    if (status != TG_OK)
        return status;
    const tg_param_slice *s = &m->slice[slice];
    if (component >= s->size)
        return tg_fail(error, TG_ERR_NAME, "parameter '%.200s': the field has %d numbers", name, s->size);
    if (offset != NULL)
        *offset = s->offset + (component >= 0 ? component : 0);
    if (size != NULL)
        *size = component >= 0 ? 1 : s->size;
    return TG_OK;
}

/* Does the name match a pattern of the given length, with * for any characters and ? for one? On a mismatch the last *
 * takes one character more. */
static bool matches(const pieces *name, const char *pattern, size_t length)
{
    size_t i = 0;
    size_t k = 0;
    size_t star = SIZE_MAX;
    size_t resume = 0;
    while (i < name->total)
    {
        if (k < length && pattern[k] == '*')
        {
            star = k++;
            resume = i;
        }
        else if (k < length && (pattern[k] == '?' || pattern[k] == piece_at(name, i)))
        {
            i++;
            k++;
        }
        else if (star != SIZE_MAX)
        {
            k = star + 1;
            i = ++resume;
        }
        else
            return false;
    }
    while (k < length && pattern[k] == '*')
        k++;
    return k == length;
}

/* The numbers of the world body do nothing: a pattern means them where it says so, or is "*" and means everything. */
static bool means_world(const char *pattern)
{
    return strcmp(pattern, "*") == 0 || strpbrk(pattern, "*?") == NULL || strstr(pattern, "world") != NULL;
}

tg_status tg_param_match(const tg_model *m, const char *pattern, int *index, int capacity, int *count, tg_error *error)
{
    if (m == NULL || pattern == NULL || count == NULL || capacity < 0 || (capacity > 0 && index == NULL))
        return tg_fail(error, TG_ERR_ARGUMENT,
                       "tg_param_match: model, pattern and count are needed, and index where "
                       "capacity (%d) is not 0",
                       capacity);
    int component;
    size_t length = cut_component(pattern, &component);
    int found = 0;
    bool world = means_world(pattern);
    for (int slice = 0; slice < m->nslice; slice++)
    {
        const tg_param_slice *s = &m->slice[slice];
        pieces name;
        name_pieces(m, slice, NULL, &name);
        if (component >= s->size || !matches(&name, pattern, length) ||
            (!world && s->element == TG_BODY && s->index == 0))
            continue;
        int first = component >= 0 ? component : 0;
        int last = component >= 0 ? component : s->size - 1;
        for (int i = first; i <= last; i++, found++)
        {
            if (found < capacity)
                index[found] = s->offset + i;
        }
    }
    *count = found;
    if (found == 0)
        return tg_fail(error, TG_ERR_NAME, "parameter pattern '%.200s': matches nothing", pattern);
    return TG_OK;
}

/* ---- the object ---- */

/* A number that no parameters of the model have had: memory is used again, and what was kept for others at the same
 * place is not for these. */
static uint64_t next_generation(const tg_model *m)
{
    return (uint64_t)atomic_fetch_add_explicit(m->generations, 1, memory_order_relaxed) + 1;
}

tg_params *tg_params_place(tg_arena *arena, const tg_model *m)
{
    tg_params *p = TG_TAKE(arena, tg_params, 1, "params");
    tg_params arrays;
#define X(type, name, count, doc) arrays.name = TG_TAKE(arena, type, count, #name);
    TG_PARAMS_FIELDS(X)
#undef X
    if (p == NULL || arena->failed)
        return NULL;
#define X(type, name, count, doc) p->name = arrays.name;
    TG_PARAMS_FIELDS(X)
#undef X
    p->model = m;
    p->generation = next_generation(m);
    return p;
}

const tg_params *tg_model_params(const tg_model *m)
{
    return m != NULL ? m->params : NULL;
}

tg_status tg_params_create(const tg_model *m, tg_params **params, tg_error *error)
{
    if (m == NULL || params == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_params_create: %s is NULL", m == NULL ? "model" : "params");
    *params = NULL;
    tg_arena arena = {0};
    tg_params_place(&arena, m);
    size_t bytes = arena.used;
    void *memory = arena.failed ? NULL : tg_alloc(&m->allocator, bytes);
    if (memory == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "params: out of memory (%zu bytes)", bytes);
    arena = (tg_arena){.base = memory, .capacity = bytes};
    tg_params *p = tg_params_place(&arena, m);
    p->allocator = m->allocator;
    memcpy(p->value, m->params->value, (size_t)m->nparams * sizeof *p->value);
    tg_params_derive(p);
    p->ready = true;
    *params = p;
    return TG_OK;
}

void tg_params_destroy(tg_params *params)
{
    if (params == NULL)
        return;
    tg_allocator allocator = params->allocator;
    tg_free(&allocator, params);
}

double *tg_params_data(tg_params *params)
{
    if (params == NULL)
        return NULL;
    params->ready = false;
    return params->value;
}

const double *tg_params_view(const tg_params *params)
{
    return params != NULL ? params->value : NULL;
}

tg_status tg_params_changed(tg_params *params, tg_error *error)
{
    if (params == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_params_changed: params is NULL");
    params->ready = false;
    tg_status status = tg_params_check(params, NULL, error);
    if (status != TG_OK)
        return status;
    tg_params_derive(params);
    status = tg_params_check_inertia(params, NULL, error);
    if (status != TG_OK)
        return status;
    params->generation = next_generation(params->model);
    params->ready = true;
    return TG_OK;
}
