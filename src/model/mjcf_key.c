/* keyframe, and custom numbers that are parameters. */
#include <string.h>

#include "model/mjcf.h"
#include "model/number.h"
#include "model/params.h"
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
    tg_status status = tg_mjcf_reals(r, xml, attribute, text, &list, count);
    if (status != TG_OK || padded == NULL)
        return status != TG_OK ? status : tg_mjcf_no_memory(r, xml);
    if (*count > size)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute '%s' has %d numbers, the model needs %d", attribute,
                           *count, size);
    memcpy(padded, list, (size_t)*count * sizeof *list);
    *numbers = padded;
    return *count == size ? TG_OK
                          : tg_mjcf_report(r, TG_MJCF_NOTED, xml, attribute,
                                           "is shorter than the state; the rest is the reference configuration");
}

/* Numbers beyond those that were given are as in the reference configuration; quaternions, written with a few digits,
 * are normalised. Joints are in the order of q. */
static void complete_configuration(const tg_mjcf *r, double *q, int given)
{
    const tg_mjcf_joint_known *joint = r->joint.data;
    int start = 0;
    for (int i = 0; i < r->joint.count; i++)
    {
        bool free = joint[i].type == TG_JOINT_FREE, ball = joint[i].type == TG_JOINT_BALL;
        int size = free ? 7 : ball ? 4 : 1;
        for (int k = 0; k < size; k++)
            q[start + k] = start + k < given ? q[start + k] : joint[i].q0[k];
        if (free || ball)
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

static tg_status read_key(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_row *row)
{
    tg_mjcf_key w = {0};
    tg_key_def def = tg_default_key();
    double *q = NULL, *v = NULL, *act = NULL, *ctrl = NULL;
    tg_status status = tg_mjcf_read(r, xml, row, true, &w);
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
    def.name = tg_xml_get(xml, "name");
    def.time = w.time;
    def.q = q;
    def.v = v;
    def.act = act;
    def.ctrl = ctrl;
    return add_key(r, xml, &def);
}

tg_status tg_mjcf_keys(tg_mjcf *r, const tg_xml *section)
{
    const tg_mjcf_row *row = tg_mjcf_child_row(tg_mjcf_child_row(tg_mjcf_rows(), "keyframe"), "key");
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
    for (const tg_xml *e = section->first; e != NULL; e = e->next)
    {
        const char *name = strcmp(e->name, "numeric") == 0 ? tg_xml_get(e, "name") : NULL;
        if (name == NULL || strncmp(name, prefix, sizeof prefix - 1) != 0)
            continue;
        const tg_xml **item = tg_mjcf_append(r, &r->numeric, sizeof *item);
        if (item == NULL)
            return tg_mjcf_no_memory(r, e);
        *item = e;
        tg_status status = tg_mjcf_report(r, TG_MJCF_HONOURED, e, "data", "sets a parameter");
        if (status != TG_OK)
            return status;
    }
    return TG_OK;
}

/* "tangere:geom.floor.restitution" sets that parameter. */
static tg_status apply(tg_mjcf *r, tg_model *m, const tg_xml *xml)
{
    const char *name = tg_xml_get(xml, "name") + sizeof prefix - 1;
    const char *data = tg_xml_get(xml, "data");
    int offset, size, count = 0;
    double *numbers = NULL;
    tg_error inner = {0};
    tg_status status = tg_param_find(m, name, &offset, &size, &inner);
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'name': %.250s", inner.message);
    status = tg_mjcf_reals(r, xml, "data", data != NULL ? data : "", &numbers, &count);
    if (status != TG_OK)
        return status;
    if (count != size)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attribute 'data' has %d numbers, the parameter has %d", count,
                           size);
    memcpy(tg_params_data(m->params) + offset, numbers, (size_t)size * sizeof *numbers);
    status = tg_params_changed(m->params, &inner);
    if (status != TG_OK)
        return tg_xml_fail(r->error, status, xml, "attribute 'data'=\"%.60s\": %.250s", data, inner.message);
    return TG_OK;
}

tg_status tg_mjcf_custom_apply(tg_mjcf *r, tg_model *m)
{
    tg_status status = TG_OK;
    for (int i = 0; i < r->numeric.count && status == TG_OK; i++)
        status = apply(r, m, ((const tg_xml **)r->numeric.data)[i]);
    return status;
}
