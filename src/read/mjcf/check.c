/* The table at work: a file is checked against it, reported by it and read through it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/number.h"
#include "read/mjcf/mjcf.h"

/* ---- the report ---- */

struct tg_mjcf_counter
{
    const tg_mjcf_attribute *attribute; /* NULL: the element itself */
    const tg_xml *first;
    int count;
    tg_mjcf_counter *next;
};

tg_status tg_mjcf_report(tg_mjcf *r, tg_mjcf_handling kind, const tg_xml *xml, const char *attribute, const char *note)
{
    if (kind == TG_MJCF_QUIET)
        return TG_OK;
    if (kind == TG_MJCF_IGNORED && r->strict)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "%s%s%sis ignored physics: %s",
                           attribute[0] != '\0' ? "attribute '" : "", attribute, attribute[0] != '\0' ? "' " : "",
                           note);
    if (xml->again)
        return TG_OK;
    char element[160];
    tg_xml_describe(xml, element, sizeof element);
    tg_report_entry entry = {(tg_report_kind)kind, xml->file, xml->line, element, attribute, note};
    return tg_mjcf_builder_failed(r, xml, tg_builder_report(r->builder, &entry));
}

/* Honoured attributes are counted; the report names the first place of each. */
static tg_status count_honoured(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row,
                                const tg_mjcf_attribute *attribute)
{
    tg_mjcf_counter **list = &r->counter[row - tg_mjcf_rows()];
    for (tg_mjcf_counter *c = *list; c != NULL; c = c->next)
    {
        if (c->attribute == attribute)
        {
            c->count++;
            return TG_OK;
        }
    }
    tg_mjcf_counter *c = TG_POOL_TAKE(r->pool, tg_mjcf_counter, 1);
    if (c == NULL)
        return tg_mjcf_no_memory(r, xml);
    *c = (tg_mjcf_counter){attribute, xml, 1, *list};
    *list = c;
    return TG_OK;
}

tg_status tg_mjcf_report_honoured(tg_mjcf *r)
{
    for (int i = 0; i < tg_mjcf_row_count(); i++)
    {
        for (const tg_mjcf_counter *c = r->counter[i]; c != NULL; c = c->next)
        {
            char note[200];
            const char *said = c->attribute != NULL && c->attribute->note != NULL ? c->attribute->note : "";
            snprintf(note, sizeof note, "%s%s%d in all", said, said[0] != '\0' ? "; " : "", c->count);
            tg_report_entry entry = {TG_REPORT_HONOURED,
                                     c->first->file,
                                     c->first->line,
                                     c->first->name,
                                     c->attribute != NULL ? c->attribute->name : "",
                                     note};
            tg_status status = tg_mjcf_builder_failed(r, c->first, tg_builder_report(r->builder, &entry));
            if (status != TG_OK)
                return status;
        }
    }
    return TG_OK;
}

/* ---- checking ---- */

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

/* Whether a value is the one with which the attribute has no effect: one of some words, or all numbers equal. */
static bool is_neutral(const tg_mjcf_attribute *attribute, const char *value)
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

static tg_status check_attribute(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row, const tg_xml_attribute *given)
{
    const tg_mjcf_attribute *attribute = tg_mjcf_find_attribute(row, given->name);
    if (attribute == NULL)
    {
        if (tg_mjcf_has_name(row, given->name))
            return TG_OK;
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "unknown attribute '%.60s'=\"%.60s\"", given->name,
                           given->value);
    }
    if (attribute->handling == TG_MJCF_UNSUPPORTED)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "attribute '%s'=\"%.60s\" is not built: %s", given->name,
                           given->value, attribute->note);
    if (attribute->handling == TG_MJCF_HONOURED)
        return row->handling == TG_MJCF_HONOURED ? count_honoured(r, xml, row, attribute) : TG_OK;
    if (is_neutral(attribute, given->value))
        return TG_OK;
    return tg_mjcf_report(r, attribute->handling, xml, attribute->name, attribute->note);
}

static tg_status check_once(tg_mjcf *r, const tg_xml *xml)
{
    for (const tg_xml *other = xml->parent->first; other != xml; other = other->next)
    {
        if (strcmp(other->name, xml->name) == 0)
            return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "only one '%s' is allowed here; the first is in %s:%d",
                               xml->name, other->file, other->line);
    }
    return TG_OK;
}

static tg_status check_element(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row)
{
    if (row->handling == TG_MJCF_UNSUPPORTED)
        return tg_xml_fail(r->error, TG_ERR_UNSUPPORTED, xml, "is not built: %s", row->note);
    tg_status status = row->once && xml->parent != NULL ? check_once(r, xml) : TG_OK;
    if (status == TG_OK && row->handling != TG_MJCF_HONOURED)
        status = tg_mjcf_report(r, row->handling, xml, "", row->note != NULL ? row->note : "");
    for (int i = 0; i < xml->nattribute && status == TG_OK; i++)
        status = check_attribute(r, xml, row, &xml->attribute[i]);
    for (const tg_xml *child = xml->first; child != NULL && status == TG_OK; child = child->next)
    {
        const tg_mjcf_row *child_row = tg_mjcf_child_row(row, child->name);
        status = child_row != NULL
                     ? check_element(r, child, child_row)
                     : tg_xml_fail(r->error, TG_ERR_PARSE, child, "unknown element inside '%s'", xml->name);
    }
    return status;
}

tg_status tg_mjcf_check(tg_mjcf *r, const tg_xml *root)
{
    if (r->counter == NULL)
        r->counter = TG_POOL_TAKE(r->pool, tg_mjcf_counter *, tg_mjcf_row_count());
    if (r->counter == NULL)
        return tg_mjcf_no_memory(r, root);
    return check_element(r, root, tg_mjcf_rows());
}

/* ---- reading ---- */

static tg_status not_a_number(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *text, const char *what)
{
    return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\": %s", attribute, text, what);
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
static tg_status read_real(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char **text, double *number)
{
    const char *start = *text;
    if (!tg_number_real(text, number) || (**text != '\0' && !tg_is_space(**text)))
        return not_a_number(r, xml, attribute, start, "a number is expected");
    if (!isfinite(*number))
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute '%s': numbers must be finite, got \"%.80s\"",
                           attribute, start);
    *text = tg_skip_space(*text);
    return TG_OK;
}

static tg_status read_integer(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char **text, int *number)
{
    const char *start = *text;
    if (!tg_number_integer(text, number) || (**text != '\0' && !tg_is_space(**text)))
        return not_a_number(r, xml, attribute, start, "an integer is expected");
    *text = tg_skip_space(*text);
    return TG_OK;
}

tg_status tg_mjcf_reals(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *text, double **numbers,
                        int *count)
{
    *count = count_words(text);
    *numbers = TG_POOL_TAKE(r->pool, double, *count);
    if (*numbers == NULL)
        return tg_mjcf_no_memory(r, xml);
    text = tg_skip_space(text);
    tg_status status = TG_OK;
    for (int i = 0; i < *count && status == TG_OK; i++)
        status = read_real(r, xml, attribute, &text, *numbers + i);
    return status;
}

tg_status tg_mjcf_integers(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *text, int **numbers,
                           int *count)
{
    *count = count_words(text);
    *numbers = TG_POOL_TAKE(r->pool, int, *count);
    if (*numbers == NULL)
        return tg_mjcf_no_memory(r, xml);
    text = tg_skip_space(text);
    tg_status status = TG_OK;
    for (int i = 0; i < *count && status == TG_OK; i++)
        status = read_integer(r, xml, attribute, &text, *numbers + i);
    return status;
}

/* count numbers into their place; with `fewer`, fewer will do. */
static tg_status read_numbers(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_attribute *attribute, const char *value,
                              void *place)
{
    const char *text = tg_skip_space(value);
    tg_status status = TG_OK;
    int n = 0;
    for (; *text != '\0' && n < attribute->count && status == TG_OK; n++)
    {
        status = attribute->type == TG_MJCF_REAL ? read_real(r, xml, attribute->name, &text, (double *)place + n)
                                                 : read_integer(r, xml, attribute->name, &text, (int *)place + n);
    }
    if (status != TG_OK)
        return status;
    if (*text != '\0')
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\" has more than %d number%s",
                           attribute->name, value, attribute->count, attribute->count == 1 ? "" : "s");
    if (n < attribute->count && !attribute->fewer)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s'=\"%.80s\" has %d of %d numbers",
                           attribute->name, value, n, attribute->count);
    return TG_OK;
}

static tg_status read_word(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_attribute *attribute, const char *value,
                           int *place)
{
    for (const tg_mjcf_word *w = attribute->words; w->word != NULL; w++)
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
    for (const tg_mjcf_word *w = attribute->words; w->word != NULL && used < sizeof known; w++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", used > 0 ? ", " : "", w->word);
    return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s': unknown word \"%.80s\"; it is one of %s",
                       attribute->name, value, known);
}

static tg_status read_attribute(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_attribute *attribute, const char *value,
                                void *into)
{
    char *place = (char *)into + attribute->offset;
    switch (attribute->type)
    {
    case TG_MJCF_UNREAD:
        return TG_OK;
    case TG_MJCF_REAL:
    case TG_MJCF_INTEGER:
        /* an empty attribute is one that is not there */
        return *tg_skip_space(value) == '\0' ? TG_OK : read_numbers(r, xml, attribute, value, place);
    case TG_MJCF_WORD:
        return read_word(r, xml, attribute, value, (int *)(void *)place);
    case TG_MJCF_TEXT:
        memcpy(place, &value, sizeof value);
        return TG_OK;
    }
    return TG_OK;
}

static tg_status check_required(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row)
{
    for (int s = 0; s < TG_MJCF_SETS && row->set[s] != NULL; s++)
    {
        for (const tg_mjcf_attribute *a = row->set[s]; a->name != NULL; a++)
        {
            const char *value = a->required ? tg_xml_get(xml, a->name) : "";
            if (value == NULL || (a->required && *tg_skip_space(value) == '\0'))
                return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s' is missing", a->name);
        }
    }
    return TG_OK;
}

tg_status tg_mjcf_read(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row, bool required, void *into)
{
    tg_status status = required ? check_required(r, xml, row) : TG_OK;
    for (int i = 0; i < xml->nattribute && status == TG_OK; i++)
    {
        const tg_mjcf_attribute *attribute = tg_mjcf_find_attribute(row, xml->attribute[i].name);
        if (attribute != NULL)
            status = read_attribute(r, xml, attribute, xml->attribute[i].value, into);
    }
    return status;
}
