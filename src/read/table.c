#include "read/table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "base/status.h"
#include "model/number.h"

/* ---- looking up ---- */

int tg_table_count(const tg_table_row *rows)
{
    int n = 0;
    while (rows[n].name != NULL)
        n++;
    return n;
}

/* The row around a row. */
static const tg_table_row *around(const tg_table_row *row)
{
    const tg_table_row *r = row;
    while (r->depth > 0 && r->depth >= row->depth)
        r--;
    return r;
}

const tg_table_row *tg_table_child(const tg_table_row *parent, const char *name)
{
    if (parent->again)
        parent = around(parent);
    for (const tg_table_row *r = parent + 1; r->name != NULL && r->depth > parent->depth; r++)
    {
        if (r->depth == parent->depth + 1 && strcmp(r->name, name) == 0)
            return r;
    }
    return NULL;
}

const tg_table_attribute *tg_table_find(const tg_table_row *row, const char *name)
{
    for (int s = 0; s < TG_TABLE_SETS && row->set[s] != NULL; s++)
    {
        for (const tg_table_attribute *a = row->set[s]; a->name != NULL; a++)
        {
            if (strcmp(a->name, name) == 0)
                return a;
        }
    }
    return NULL;
}

static tg_table_hint hint_of(const tg_nearest *nearest)
{
    tg_table_hint hint = {""};
    if (nearest->name != NULL)
        snprintf(hint.text, sizeof hint.text, "; did you mean '%s'?", nearest->name);
    return hint;
}

tg_table_hint tg_table_child_hint(const tg_table_row *parent, const char *name)
{
    tg_nearest nearest = tg_nearest_begin(name);
    if (parent->again)
        parent = around(parent);
    for (const tg_table_row *r = parent + 1; r->name != NULL && r->depth > parent->depth; r++)
    {
        if (r->depth == parent->depth + 1)
            tg_nearest_try(&nearest, r->name);
    }
    return hint_of(&nearest);
}

tg_table_hint tg_table_attribute_hint(const tg_table_row *row, const char *name)
{
    tg_nearest nearest = tg_nearest_begin(name);
    for (int s = 0; s < TG_TABLE_SETS && row->set[s] != NULL; s++)
    {
        for (const tg_table_attribute *a = row->set[s]; a->name != NULL; a++)
            tg_nearest_try(&nearest, a->name);
    }
    return hint_of(&nearest);
}

/* Whether a list of words, separated by spaces, has this one. */
static bool is_one_of(const char *list, const char *value)
{
    size_t length = strlen(value);
    for (const char *c = list; *c != '\0';)
    {
        size_t n = strcspn(c, " ");
        if (n == length && memcmp(c, value, n) == 0)
            return true;
        c += n + (c[n] == ' ' ? 1 : 0);
    }
    return false;
}

bool tg_table_has_name(const tg_table_row *row, const char *name)
{
    return row->names != NULL && is_one_of(row->names, name);
}

/* ---- checking ---- */

bool tg_table_is_neutral(const tg_table_attribute *attribute, const char *value)
{
    if (attribute->neutral == NULL)
        return false;
    if (is_one_of(attribute->neutral, value) || *tg_skip_space(value) == '\0')
        return true;
    const char *text = attribute->neutral;
    double neutral, number;
    if (!tg_number_real(&text, &neutral))
        return false;
    for (text = tg_skip_space(value); *text != '\0'; text = tg_skip_space(text))
    {
        if (!tg_number_real(&text, &number) || number != neutral)
            return false;
    }
    return true;
}

tg_status tg_table_check_once(tg_error *error, const tg_xml *xml)
{
    for (const tg_xml *other = xml->parent->first; other != xml; other = other->next)
    {
        if (strcmp(other->name, xml->name) == 0)
            return tg_xml_fail(error, TG_ERR_PARSE, xml, "only one '%.60s' is allowed here; the first is in %s:%d",
                               xml->name, other->file, other->line);
    }
    return TG_OK;
}

/* ---- reading ---- */

static tg_status not_a_number(tg_error *error, const tg_xml *xml, const char *attribute, const char *text,
                              const char *what)
{
    return tg_xml_fail(error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\": %s", attribute, text, what);
}

/* Counts the words of a text, for the size of a list. */
static int count_words(const char *text)
{
    int n = 0;
    for (text = tg_skip_space(text); *text != '\0'; n++)
    {
        while (*text != '\0' && !tg_is_space(*text))
            text++;
        text = tg_skip_space(text);
    }
    return n;
}

/* One finite number, followed by a space or the end. */
static tg_status read_real(tg_error *error, const tg_xml *xml, const char *attribute, const char **text, double *number)
{
    const char *start = *text;
    if (!tg_number_real(text, number) || (**text != '\0' && !tg_is_space(**text)))
        return not_a_number(error, xml, attribute, start, "a number is expected");
    if (!isfinite(*number))
        return tg_xml_fail(error, TG_ERR_VALUE, xml, "attribute '%s': numbers must be finite, got \"%.80s\"", attribute,
                           start);
    *text = tg_skip_space(*text);
    return TG_OK;
}

static tg_status read_integer(tg_error *error, const tg_xml *xml, const char *attribute, const char **text, int *number)
{
    const char *start = *text;
    if (!tg_number_integer(text, number) || (**text != '\0' && !tg_is_space(**text)))
        return not_a_number(error, xml, attribute, start, "an integer is expected");
    *text = tg_skip_space(*text);
    return TG_OK;
}

tg_status tg_table_reals(tg_error *error, tg_pool *pool, const tg_xml *xml, const char *attribute, const char *text,
                         double **numbers, int *count)
{
    *count = count_words(text);
    *numbers = TG_POOL_TAKE(pool, double, *count);
    if (*numbers == NULL)
        return tg_xml_fail(error, TG_ERR_MEMORY, xml, "out of memory");
    text = tg_skip_space(text);
    tg_status status = TG_OK;
    for (int i = 0; i < *count && status == TG_OK; i++)
        status = read_real(error, xml, attribute, &text, *numbers + i);
    return status;
}

tg_status tg_table_integers(tg_error *error, tg_pool *pool, const tg_xml *xml, const char *attribute, const char *text,
                            int **numbers, int *count)
{
    *count = count_words(text);
    *numbers = TG_POOL_TAKE(pool, int, *count);
    if (*numbers == NULL)
        return tg_xml_fail(error, TG_ERR_MEMORY, xml, "out of memory");
    text = tg_skip_space(text);
    tg_status status = TG_OK;
    for (int i = 0; i < *count && status == TG_OK; i++)
        status = read_integer(error, xml, attribute, &text, *numbers + i);
    return status;
}

/* count numbers into their place; with `fewer`, fewer will do. */
static tg_status read_numbers(tg_error *error, const tg_xml *xml, const tg_table_attribute *attribute,
                              const char *value, void *place)
{
    const char *text = tg_skip_space(value);
    tg_status status = TG_OK;
    int n = 0;
    for (; *text != '\0' && n < attribute->count && status == TG_OK; n++)
    {
        status = attribute->type == TG_TABLE_REAL ? read_real(error, xml, attribute->name, &text, (double *)place + n)
                                                  : read_integer(error, xml, attribute->name, &text, (int *)place + n);
    }
    if (status != TG_OK)
        return status;
    if (*text != '\0')
        return tg_xml_fail(error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\" has more than %d number%s",
                           attribute->name, value, attribute->count, attribute->count == 1 ? "" : "s");
    if (n < attribute->count && !attribute->fewer)
        return tg_xml_fail(error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\" has %d of %d numbers", attribute->name,
                           value, n, attribute->count);
    return TG_OK;
}

static tg_status read_word(tg_error *error, const tg_xml *xml, const tg_table_attribute *attribute, const char *value,
                           int *place)
{
    for (const tg_table_word *w = attribute->words; w->word != NULL; w++)
    {
        if (strcmp(w->word, value) == 0)
        {
            *place = w->value;
            return TG_OK;
        }
    }
    char known[200];
    size_t used = 0;
    known[0] = '\0';
    for (const tg_table_word *w = attribute->words; w->word != NULL && used < sizeof known; w++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", w->word);
    return tg_xml_fail(error, TG_ERR_PARSE, xml, "attribute '%s': unknown word \"%.80s\"; it is one of %s",
                       attribute->name, value, known);
}

static tg_status read_attribute(tg_error *error, const tg_xml *xml, const tg_table_attribute *attribute,
                                const char *value, void *into)
{
    char *place = (char *)into + attribute->offset;
    switch (attribute->type)
    {
    case TG_TABLE_UNREAD:
        return TG_OK;
    case TG_TABLE_REAL:
    case TG_TABLE_INTEGER:
        /* an empty attribute is one that is not there */
        return *tg_skip_space(value) == '\0' ? TG_OK : read_numbers(error, xml, attribute, value, place);
    case TG_TABLE_WORD:
        return read_word(error, xml, attribute, value, (int *)(void *)place);
    case TG_TABLE_TEXT:
        memcpy(place, &value, sizeof value);
        return TG_OK;
    }
    return TG_OK;
}

static tg_status check_required(tg_error *error, const tg_xml *xml, const tg_table_row *row)
{
    for (int s = 0; s < TG_TABLE_SETS && row->set[s] != NULL; s++)
    {
        for (const tg_table_attribute *a = row->set[s]; a->name != NULL; a++)
        {
            const char *value = a->required ? tg_xml_get(xml, a->name) : "";
            if (value == NULL || (a->required && *tg_skip_space(value) == '\0'))
                return tg_xml_fail(error, TG_ERR_PARSE, xml, "attribute '%s' is missing", a->name);
        }
    }
    return TG_OK;
}

tg_status tg_table_read(tg_error *error, const tg_xml *xml, const tg_table_row *row, bool required, void *into)
{
    tg_status status = required ? check_required(error, xml, row) : TG_OK;
    for (int i = 0; i < xml->nattribute && status == TG_OK; i++)
    {
        const tg_table_attribute *attribute = tg_table_find(row, xml->attribute[i].name);
        if (attribute != NULL)
            status = read_attribute(error, xml, attribute, xml->attribute[i].value, into);
    }
    return status;
}
