/* keyframe, and custom numbers and words: parameters and laws. */
#include <stdlib.h>
#include <string.h>

#include "model/number.h"
#include "model/params.h"
#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

/* ---- keyframes ---- */

/* The numbers of an attribute, at most `size`, followed by zeros; NULL when it is absent. */
static tg_status read_state(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *text, int size,
                            double **numbers, int *count)
{
    *numbers = NULL;
    *count = 0;
    if (text == NULL || *tg_skip_space(text) == '\0')
        return TG_OK;
    double *list, *padded = TG_POOL_TAKE(r->pool, double, size);
    tg_status status = tg_table_reals(r->error, r->pool, xml, attribute, text, &list, count);
    if (status != TG_OK || padded == NULL)
        return status != TG_OK ? status : tg_mjcf_no_memory(r, xml);
    if (*count > size)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s' has %d numbers, the model needs %d", attribute,
                           *count, size);
    memcpy(padded, list, (size_t)*count * sizeof *list);
    *numbers = padded;
    return *count == size ? TG_OK
                          : tg_mjcf_report(r, TG_TABLE_NOTED, xml, attribute,
                                           "is shorter than the state; the rest is the reference configuration");
}

static int nq_of(tg_joint_type type)
{
    return type == TG_JOINT_FREE ? 7 : type == TG_JOINT_BALL ? 4 : 1;
}

static int nv_of(tg_joint_type type)
{
    return type == TG_JOINT_FREE ? 6 : type == TG_JOINT_BALL ? 3 : 1;
}

/* Numbers beyond those that were given are as in the reference configuration; quaternions, written with a few digits,
 * are normalised. Joints are in the order of q. */
static void complete_configuration(const tg_mjcf *r, double *q, int given)
{
    const tg_mjcf_joint_known *joint = r->joint.data;
    int start = 0;
    for (int i = 0; i < r->joint.count; i++)
    {
        int size = nq_of(joint[i].type);
        for (int k = 0; k < size; k++)
            q[start + k] = start + k < given ? q[start + k] : joint[i].q0[k];
        if (size >= 4)
            tg_quat_normalise(q + start + size - 4, q + start + size - 4);
        start += size;
    }
}

static tg_status add_key(tg_mjcf *r, const tg_xml *xml, const tg_key_def *def)
{
    int id = -1;
    tg_status status = tg_mjcf_builder_failed(r, xml, tg_builder_key(r->builder, def, &id));
    r->nkey++;
    return status == TG_OK ? tg_mjcf_remember(r, xml, TG_KEY, def->name, id) : status;
}

/* ---- keyframes of attached files ---- */

const tg_mjcf_key_map *tg_mjcf_key_map_of(const tg_mjcf *r, const tg_xml *key)
{
    return key->map > 0 ? (const tg_mjcf_key_map *)r->key_map.data + (key->map - 1) : NULL;
}

static int by_xml(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const tg_mjcf_thing *)a)->xml, y = (uintptr_t)((const tg_mjcf_thing *)b)->xml;
    return x < y ? -1 : x > y;
}

/* Joints and actuators, sorted by their elements. */
static tg_status index_things(tg_mjcf *r)
{
    for (int i = 0; i < r->thing.count; i++)
    {
        const tg_mjcf_thing *thing = (const tg_mjcf_thing *)r->thing.data + i;
        if (thing->element != TG_JOINT && thing->element != TG_ACTUATOR)
            continue;
        tg_mjcf_thing *item = tg_mjcf_append(r, &r->by_xml, sizeof *item);
        if (item == NULL)
            return tg_mjcf_no_memory(r, thing->xml);
        *item = *thing;
    }
    if (r->by_xml.count > 0)
        qsort(r->by_xml.data, (size_t)r->by_xml.count, sizeof(tg_mjcf_thing), by_xml);
    return TG_OK;
}

/* The id of the joint or actuator that was made from xml, -1 if none was. */
static int id_of(const tg_mjcf *r, const tg_xml *xml)
{
    tg_mjcf_thing key = {.xml = xml};
    const tg_mjcf_thing *found = r->by_xml.count > 0 && xml != NULL
                                     ? bsearch(&key, r->by_xml.data, (size_t)r->by_xml.count, sizeof key, by_xml)
                                     : NULL;
    return found != NULL ? found->id : -1;
}

/* The type of a joint that may not be in the model. */
static tg_status joint_type(tg_mjcf *r, const tg_xml *xml, tg_joint_type *type)
{
    const tg_mjcf_class *class;
    *type = TG_JOINT_FREE;
    if (strcmp(xml->name, "freejoint") == 0)
        return TG_OK;
    tg_status status = tg_mjcf_class_at(r, xml, &class);
    if (status != TG_OK)
        return status;
    tg_mjcf_joint written = class->joint;
    const tg_table_row *row = tg_table_child(tg_table_child(tg_mjcf_rows(), "worldbody"), "joint");
    status = tg_table_read(r->error, xml, row, true, &written);
    *type = (tg_joint_type)written.type;
    return status;
}

/* Where the numbers of an item are: in the attribute (in) and in the state of the model (out, -1: nowhere). */
typedef struct span
{
    int in, out, size;
} span;

typedef tg_status (*measurer)(tg_mjcf *r, const tg_mjcf_key_item *item, span *s);

static tg_status measure_q(tg_mjcf *r, const tg_mjcf_key_item *item, span *s)
{
    tg_joint_type type;
    tg_status status = joint_type(r, item->from, &type);
    int id = id_of(r, tg_mjcf_standing(item->now));
    s->size = nq_of(type);
    s->out = id < 0 ? -1 : ((const tg_mjcf_joint_known *)r->joint.data)[id].q;
    return status;
}

static tg_status measure_v(tg_mjcf *r, const tg_mjcf_key_item *item, span *s)
{
    tg_joint_type type;
    tg_status status = joint_type(r, item->from, &type);
    int id = id_of(r, tg_mjcf_standing(item->now));
    s->size = nv_of(type);
    s->out = id < 0 ? -1 : ((const tg_mjcf_joint_known *)r->joint.data)[id].dof;
    return status;
}

static tg_status measure_ctrl(tg_mjcf *r, const tg_mjcf_key_item *item, span *s)
{
    s->size = 1;
    s->out = id_of(r, tg_mjcf_standing(item->now));
    return TG_OK;
}

static tg_status measure_act(tg_mjcf *r, const tg_mjcf_key_item *item, span *s)
{
    bool has;
    tg_status status = tg_mjcf_actuator_has_act(r, item->from, &has);
    int id = id_of(r, tg_mjcf_standing(item->now));
    s->size = has ? 1 : 0;
    s->out = id < 0 ? -1 : ((const tg_mjcf_actuator_known *)r->actuator.data)[id].act;
    return status;
}

/* Numbers in the order of their own file, put where the model has them; `state` (size numbers) has the others. */
static tg_status scatter(tg_mjcf *r, const tg_xml *xml, const char *attribute, const char *text,
                         const tg_mjcf_list *items, measurer measure, double *state)
{
    double *numbers;
    int count, used = 0;
    tg_status status = tg_table_reals(r->error, r->pool, xml, attribute, text, &numbers, &count);
    for (int i = 0; i < items->count && status == TG_OK; i++)
    {
        span s = {.in = used};
        status = measure(r, (const tg_mjcf_key_item *)items->data + i, &s);
        used += s.size;
        if (status == TG_OK && s.out >= 0 && used <= count)
            memcpy(state + s.out, numbers + s.in, (size_t)s.size * sizeof *numbers);
    }
    if (status == TG_OK && used != count)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s' has %d numbers, its file needs %d", attribute,
                           count, used);
    return status;
}

static tg_status read_attached_key(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_key_map *map, const tg_mjcf_key *w,
                                   tg_key_def *def)
{
    const struct
    {
        const char *attribute, *text;
        const tg_mjcf_list *items;
        measurer measure;
        int size, *count;
        const double **out;
    } part[] = {{"qpos", w->qpos, &map->joint, measure_q, r->nq, &def->nq, &def->q},
                {"qvel", w->qvel, &map->joint, measure_v, r->nv, &def->nv, &def->v},
                {"act", w->act, &map->actuator, measure_act, r->na, &def->na, &def->act},
                {"ctrl", w->ctrl, &map->actuator, measure_ctrl, r->nu, &def->nu, &def->ctrl}};
    tg_status status = r->by_xml.count == 0 ? index_things(r) : TG_OK;
    for (size_t i = 0; i < sizeof part / sizeof *part && status == TG_OK; i++)
    {
        if (part[i].text == NULL || *tg_skip_space(part[i].text) == '\0')
            continue;
        double *state = TG_POOL_TAKE(r->pool, double, part[i].size);
        if (state == NULL)
            return tg_mjcf_no_memory(r, xml);
        if (part[i].measure == measure_q)
            complete_configuration(r, state, 0);
        status = scatter(r, xml, part[i].attribute, part[i].text, part[i].items, part[i].measure, state);
        if (part[i].measure == measure_q && status == TG_OK)
            complete_configuration(r, state, r->nq);
        *part[i].count = part[i].size;
        *part[i].out = state;
    }
    return status;
}

/* ---- any keyframe ---- */

static tg_status read_key(tg_mjcf *r, const tg_xml *xml, const tg_table_row *row)
{
    tg_mjcf_key w = {0};
    tg_key_def def = tg_default_key();
    double *q = NULL, *v = NULL, *act = NULL, *ctrl = NULL;
    const tg_mjcf_key_map *map = tg_mjcf_key_map_of(r, xml);
    tg_status status = tg_table_read(r->error, xml, row, true, &w);
    def.name = tg_xml_get(xml, "name");
    def.time = w.time;
    if (map != NULL && status == TG_OK)
    {
        status = read_attached_key(r, xml, map, &w, &def);
        return status == TG_OK ? add_key(r, xml, &def) : status;
    }
    if (status == TG_OK)
        status = read_state(r, xml, "qpos", w.qpos, r->nq, &q, &def.nq);
    if (status == TG_OK)
        status = read_state(r, xml, "qvel", w.qvel, r->nv, &v, &def.nv);
    if (status == TG_OK)
        status = read_state(r, xml, "act", w.act, r->na, &act, &def.na);
    if (status == TG_OK)
        status = read_state(r, xml, "ctrl", w.ctrl, r->nu, &ctrl, &def.nu);
    if (status != TG_OK)
        return status;
    if (q != NULL)
        complete_configuration(r, q, def.nq);
    def.nq = q != NULL ? r->nq : 0;
    def.nv = v != NULL ? r->nv : 0;
    def.na = act != NULL ? r->na : 0;
    def.nu = ctrl != NULL ? r->nu : 0;
    def.q = q;
    def.v = v;
    def.act = act;
    def.ctrl = ctrl;
    return add_key(r, xml, &def);
}

tg_status tg_mjcf_keys(tg_mjcf *r, const tg_xml *section)
{
    const tg_table_row *row = tg_table_child(tg_table_child(tg_mjcf_rows(), "keyframe"), "key");
    tg_status status = TG_OK;
    for (const tg_xml *e = section->first; e != NULL && status == TG_OK; e = e->next)
        status = read_key(r, e, row);
    return status;
}

/* size.nkey asks for at least so many; the missing ones are the reference configuration. */
tg_status tg_mjcf_missing_keys(tg_mjcf *r)
{
    enum
    {
        MAX_KEYS = 100000
    };
    if (r->option.nkey > MAX_KEYS)
        return tg_xml_fail(r->error, TG_ERR_VALUE, tg_mjcf_section(r, "size"), "attribute 'nkey': %d is more than %d",
                           r->option.nkey, MAX_KEYS);
    tg_status status = TG_OK;
    while (r->nkey < r->option.nkey && status == TG_OK)
    {
        tg_key_def def = tg_default_key();
        status = add_key(r, r->root, &def);
    }
    return status;
}

/* ---- custom numbers ---- */

static const char prefix[] = "tangere:";

tg_status tg_mjcf_custom(tg_mjcf *r, const tg_xml *section)
{
    for (tg_xml *e = section->first; e != NULL; e = e->next)
    {
        bool word = strcmp(e->name, "text") == 0;
        const char *name = word || strcmp(e->name, "numeric") == 0 ? tg_xml_get(e, "name") : NULL;
        if (name == NULL || strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        if (!tg_mjcf_append_pointer(r, word ? &r->word : &r->numeric, e))
            return tg_mjcf_no_memory(r, e);
        tg_status status = tg_mjcf_report(r, TG_TABLE_HONOURED, e, "data", word ? "sets a law" : "sets a parameter");
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* "tangere:geom.floor.restitution" sets that parameter; it is validated later. */
static tg_status apply(tg_mjcf *r, tg_model *m, const tg_xml *xml)
{
    const char *name = tg_xml_get(xml, "name") + sizeof prefix - 1;
    const char *data = tg_xml_get(xml, "data");
    int offset, size, count = 0;
    double *numbers = NULL;
    tg_error inner = {0};
    tg_status status = tg_param_find(m, name, &offset, &size, &inner);
    if (status == TG_ERR_NAME && xml->scope != 0) /* of an attached file: its element was not attached */
        return TG_OK;
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'name': %.250s", inner.message);
    status = tg_table_reals(r->error, r->pool, xml, "data", data != NULL ? data : "", &numbers, &count);
    if (status != TG_OK)
        return status;
    if (count != size)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'data' has %d numbers, the parameter has %d", count,
                           size);
    memcpy(tg_params_data(m->params) + offset, numbers, (size_t)size * sizeof *numbers);
    return TG_OK;
}

/* The number that a message about the parameters starts with; the last one if it speaks of another. */
static const tg_xml *culprit(const tg_mjcf *r, const char *message)
{
    const tg_xml *xml = NULL;
    for (int i = 0; i < r->numeric.count; i++)
    {
        xml = tg_mjcf_pointer(&r->numeric, i);
        const char *name = tg_xml_get(xml, "name") + sizeof prefix - 1;
        if (strncmp(message, name, strlen(name)) == 0)
            break;
    }
    return xml;
}

/* ---- custom words ----
 *
 * "tangere:tendon.NAME.law" is two-sided, spring or all; "tangere:actuator.NAME.drives" is force or rest. NAME may be
 * *: all of them. */

typedef struct word_field
{
    tg_element element;
    const char *field;
    int count;
    const char *(*string)(int value);
} word_field;

static const char *law_string(int value)
{
    return tg_tendon_law_string((tg_tendon_law)value);
}

static const char *drives_string(int value)
{
    return tg_drives_string((tg_drives)value);
}

static const word_field word_fields[] = {{TG_TENDON, "law", TG_TENDON_LAWS, law_string},
                                         {TG_ACTUATOR, "drives", TG_DRIVES_COUNT, drives_string}};

/* the field that a name "element.NAME.field" has; where NAME is */
static const word_field *word_field_of(const char *name, const char **element, size_t *length)
{
    for (size_t i = 0; i < sizeof word_fields / sizeof *word_fields; i++)
    {
        const word_field *f = &word_fields[i];
        const char *kind = tg_element_string(f->element), *dot = strrchr(name, '.');
        size_t head = strlen(kind);
        if (strncmp(name, kind, head) != 0 || name[head] != '.' || dot == NULL || strcmp(dot + 1, f->field) != 0 ||
            dot <= name + head)
            continue;
        *element = name + head + 1;
        *length = (size_t)(dot - *element);
        return f;
    }
    return NULL;
}

static tg_status set_word(tg_mjcf *r, tg_model *m, const tg_xml *xml, const word_field *f, int index, int value)
{
    if (f->element == TG_TENDON)
        m->tendon_law[index] = value;
    else if (value == TG_DRIVES_REST && m->actuator_transmission[index] != TG_TRANSMISSION_TENDON)
        return tg_xml_fail(r->error, TG_ERR_MODEL, xml,
                           "actuator #%d '%s' acts on no tendon, whose rest length it could drive", index,
                           tg_name(m, TG_ACTUATOR, index));
    else
        m->actuator_drives[index] = value;
    return TG_OK;
}

static tg_status apply_word(tg_mjcf *r, tg_model *m, const tg_xml *xml)
{
    const char *name = tg_xml_get(xml, "name") + sizeof prefix - 1, *data = tg_xml_get(xml, "data"), *element = NULL;
    size_t length = 0;
    const word_field *f = word_field_of(name, &element, &length);
    if (f == NULL)
        return tg_xml_fail(r->error, TG_ERR_NAME, xml, "attribute 'name': '%.200s' is no word of this library", name);
    int value = 0, first = 0, last = f->element == TG_TENDON ? m->ntendon : m->nu;
    while (value < f->count && (data == NULL || strcmp(data, f->string(value)) != 0))
        value++;
    if (value == f->count)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'data'=\"%.60s\": unknown %s; there are %s, %s%s%s",
                           data != NULL ? data : "", f->field, f->string(0), f->string(1), f->count > 2 ? ", " : "",
                           f->count > 2 ? f->string(2) : "");
    if (!(length == 1 && element[0] == '*'))
    {
        first = tg_find_length(m, f->element, element, length);
        if (first < 0 && xml->scope != 0) /* of an attached file: its element was not attached */
            return TG_OK;
        if (first < 0)
            return tg_xml_fail(r->error, TG_ERR_NAME, xml, "attribute 'name': there is no %s '%.*s'",
                               tg_element_string(f->element), (int)length, element);
        last = first + 1;
    }
    tg_status status = TG_OK;
    for (int i = first; i < last && status == TG_OK; i++)
        status = set_word(r, m, xml, f, i, value);
    return status;
}

/* All of them are set, then the vector is validated as a whole. */
tg_status tg_mjcf_custom_apply(tg_mjcf *r, tg_model *m)
{
    tg_status status = TG_OK;
    tg_error inner = {0};
    for (int i = 0; i < r->word.count && status == TG_OK; i++)
        status = apply_word(r, m, tg_mjcf_pointer(&r->word, i));
    for (int i = 0; i < r->numeric.count && status == TG_OK; i++)
        status = apply(r, m, tg_mjcf_pointer(&r->numeric, i));
    if (status != TG_OK || r->numeric.count + r->word.count == 0)
        return status;
    status = tg_params_changed(m->params, &inner);
    if (status == TG_OK)
        return TG_OK;
    const tg_xml *xml = r->numeric.count > 0 ? culprit(r, inner.message) : tg_mjcf_pointer(&r->word, 0);
    const char *data = tg_xml_get(xml, "data");
    return tg_xml_fail(r->error, status, xml, "attribute 'data'=\"%.60s\": %.250s", data != NULL ? data : "",
                       inner.message);
}
