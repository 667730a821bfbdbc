/* Scenes: a builder, and data that needs all parts (keyframes). */
#include "tangere/scene.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/append.h"
#include "model/order.h"
#include "model/pool.h"
#include "model/topology.h"
#include "model/validate.h"
#include "tangere/algebra.h"

static const uint32_t attach_cookie = 0x7a9e4a77u, prop_cookie = 0x7a9e9409u;

/* A keyframe of a part. */
typedef struct part_key
{
    const char *own, *name; /* as in the part; with the prefix */
    double time;
    const double *q, *v, *act, *ctrl; /* as the part has them, moved to its pose */
} part_key;

/* A model that was added. */
typedef struct part part;
struct part
{
    const char *label;
    int first[TG_ELEMENT_COUNT], count[TG_ELEMENT_COUNT]; /* ids */
    const int *joint_type, *joint_q, *joint_dof, *actuator_act;
    int nkey;
    part_key *key;
    part *next;
};

struct tg_scene
{
    tg_builder *b;
    tg_pool pool;
    tg_allocator allocator;
    part *head, *tail; /* in the order in which they were added */
};

/* ---- definitions ---- */

tg_attach_def tg_default_attach(void)
{
    return (tg_attach_def){.quat = {1, 0, 0, 0}, .cookie = attach_cookie};
}

tg_prop_def tg_default_prop(void)
{
    return (tg_prop_def){.quat = {1, 0, 0, 0}, .geom = tg_default_geom(), .cookie = prop_cookie};
}

tg_geom_def tg_default_floor(void)
{
    tg_geom_def def = tg_default_geom();
    def.name = "floor";
    def.type = TG_GEOM_PLANE;
    def.size[2] = 1;
    return def;
}

/* ---- the scene itself ---- */

tg_status tg_scene_create(const tg_allocator *allocator, tg_scene **s, tg_error *error)
{
    if (s == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_scene_create: s is NULL");
    *s = NULL;
    tg_scene *made = tg_alloc(allocator, sizeof *made);
    if (made == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "scene: out of memory");
    if (allocator != NULL)
        made->allocator = *allocator;
    made->pool.allocator = &made->allocator;
    tg_status status = tg_builder_create(allocator, &made->b, error);
    if (status == TG_OK)
        status = tg_builder_name(made->b, "scene");
    if (status != TG_OK)
    {
        tg_scene_destroy(made);
        return tg_fail(error, status, "scene: out of memory");
    }
    *s = made;
    return TG_OK;
}

void tg_scene_destroy(tg_scene *s)
{
    if (s == NULL)
        return;
    tg_builder_destroy(s->b);
    tg_pool_clear(&s->pool);
    tg_allocator allocator = s->allocator;
    tg_free(&allocator, s);
}

const char *tg_scene_message(const tg_scene *s)
{
    return s != NULL ? tg_builder_message(s->b) : "";
}

tg_builder *tg_scene_builder(tg_scene *s)
{
    return s != NULL ? s->b : NULL;
}

tg_status tg_scene_name(tg_scene *s, const char *name)
{
    return s != NULL ? tg_builder_name(s->b, name) : TG_ERR_ARGUMENT;
}

tg_status tg_scene_gravity(tg_scene *s, const double gravity[3])
{
    return s != NULL ? tg_builder_gravity(s->b, gravity) : TG_ERR_ARGUMENT;
}

tg_status tg_scene_timestep(tg_scene *s, double dt)
{
    return s != NULL ? tg_builder_timestep(s->b, dt) : TG_ERR_ARGUMENT;
}

static tg_status no_memory(tg_scene *s)
{
    return tg_fail(&s->b->error, TG_ERR_MEMORY, "scene: out of memory");
}

/* ---- adding a model: keyframes ---- */

static const void *keep(tg_scene *s, const void *data, int count, size_t size)
{
    void *copy = tg_pool_take(&s->pool, (size_t)count, size);
    if (copy != NULL && count > 0)
        memcpy(copy, data, (size_t)count * size);
    return copy;
}

/* The name with the prefix; "" stays. */
static const char *join(tg_scene *s, const char *prefix, const char *name)
{
    size_t size = strlen(prefix) + strlen(name) + 1;
    char *joined = tg_pool_take(&s->pool, size, 1);
    if (joined != NULL && name[0] != '\0')
        snprintf(joined, size, "%s%s", prefix, name);
    return joined;
}

/* Free joints of a state move with the pose: position and quaternion by P, linear velocity by its rotation. */
static void move_state(const tg_model *m, const double *pose, double *q, double *v)
{
    for (int i = 0; i < m->njoint && pose != NULL; i++)
    {
        if (m->joint_type[i] != TG_JOINT_FREE)
            continue;
        double *at = q + m->joint_q[i], *velocity = v + m->joint_dof[i];
        tg_se3_multiply(pose, at, at);
        tg_quat_rotate(pose + 3, velocity, velocity);
    }
}

static bool keep_key(tg_scene *s, const tg_model *m, int k, const char *prefix, const double *pose, part_key *key)
{
    const char *name = tg_name(m, TG_KEY, k);
    size_t at = (size_t)k;
    double *q = tg_pool_take(&s->pool, (size_t)m->nq, sizeof *q), *v = tg_pool_take(&s->pool, (size_t)m->nv, sizeof *v);
    key->own = keep(s, name, (int)strlen(name) + 1, 1);
    key->name = join(s, prefix, name);
    key->time = m->key_time[k];
    key->act = keep(s, m->key_act + at * (size_t)m->na, m->na, sizeof *key->act);
    key->ctrl = keep(s, m->key_ctrl + at * (size_t)m->nu, m->nu, sizeof *key->ctrl);
    if (q == NULL || v == NULL || key->own == NULL || key->name == NULL || key->act == NULL || key->ctrl == NULL)
        return false;
    tg_key_get(m, k, NULL, q, v, NULL, NULL, NULL);
    move_state(m, pose, q, v);
    key->q = q;
    key->v = v;
    return true;
}

static bool keep_keys(tg_scene *s, const tg_model *m, const char *prefix, const double *pose, part *p)
{
    p->nkey = m->nkey;
    p->key = TG_POOL_TAKE(&s->pool, part_key, m->nkey);
    p->joint_type = keep(s, m->joint_type, m->njoint, sizeof(int));
    p->joint_q = keep(s, m->joint_q, m->njoint, sizeof(int));
    p->joint_dof = keep(s, m->joint_dof, m->njoint, sizeof(int));
    p->actuator_act = keep(s, m->actuator_act, m->nu, sizeof(int));
    bool kept = p->key != NULL && p->joint_type != NULL && p->joint_q != NULL && p->joint_dof != NULL &&
                p->actuator_act != NULL;
    for (int k = 0; k < m->nkey && kept; k++)
        kept = keep_key(s, m, k, prefix, pose, &p->key[k]);
    return kept;
}

/* ---- adding a model: the report ---- */

static bool has_line(const tg_builder *b, const tg_report_entry *entry)
{
    const char *text = TG_LIST(b, TEXT, char);
    for (int i = 0; i < b->list[TG_LIST_REPORT].count; i++)
    {
        const tg_report_item *item = &TG_LIST(b, REPORT, tg_report_item)[i];
        if (item->kind == entry->kind && item->line == entry->line && strcmp(text + item->file, entry->file) == 0 &&
            strcmp(text + item->element, entry->element) == 0 &&
            strcmp(text + item->attribute, entry->attribute) == 0 && strcmp(text + item->note, entry->note) == 0)
            return true;
    }
    return false;
}

static tg_status add_report(tg_scene *s, const tg_model *m)
{
    tg_status status = TG_OK;
    for (int i = 0; i < m->nreport && status == TG_OK; i++)
    {
        if (!has_line(s->b, &m->report[i]))
            status = tg_builder_report(s->b, &m->report[i]);
    }
    return status;
}

/* ---- adding a model ---- */

/* Whatever the locale; bytes beyond ASCII are letters. */
static bool is_letter_or_digit(char c)
{
    unsigned char u = (unsigned char)c;
    return (u >= '0' && u <= '9') || (u >= 'A' && u <= 'Z') || (u >= 'a' && u <= 'z') || u >= 0x80;
}

/* The prefix as names get it: with '/' behind a letter or digit. NULL when memory runs out. */
static const char *make_prefix(tg_scene *s, const char *prefix)
{
    prefix = prefix != NULL ? prefix : "";
    size_t n = strlen(prefix);
    bool slash = n > 0 && is_letter_or_digit(prefix[n - 1]);
    char *made = tg_pool_take(&s->pool, n + 2, 1);
    if (made != NULL)
        snprintf(made, n + 2, "%s%s", prefix, slash ? "/" : "");
    return made;
}

static bool is_identity(const double pose[7])
{
    for (int i = 0; i < 7; i++)
    {
        if (pose[i] != (i == 3 ? 1 : 0))
            return false;
    }
    return true;
}

/* *at: the pose as seven numbers in pose, or NULL where it is the identity. */
static tg_status check_attach(tg_scene *s, const tg_attach_def *def, double pose[7], const double **at)
{
    if (def == NULL || def->cookie != attach_cookie)
        return tg_fail(&s->b->error, TG_ERR_ARGUMENT, "tg_scene_add: def does not start from tg_default_attach()");
    memcpy(pose, def->pos, sizeof def->pos);
    double norm = tg_quat_normalise(def->quat, pose + 3);
    for (int i = 0; i < 3; i++)
    {
        if (!(pose[i] - pose[i] == 0))
            return tg_fail(&s->b->error, TG_ERR_VALUE, "tg_scene_add: pos[%d] = %g: must be finite", i, pose[i]);
    }
    if (!(norm > 0.999 && norm < 1.001))
        return tg_fail(&s->b->error, TG_ERR_VALUE, "tg_scene_add: quat: quaternion of norm %g: must be 1", norm);
    *at = is_identity(pose) ? NULL : pose;
    return TG_OK;
}

static tg_status check_model(tg_scene *s, const tg_model *m, const tg_params **params)
{
    if (m == NULL)
        return tg_fail(&s->b->error, TG_ERR_ARGUMENT, "tg_scene_add_model: model is NULL");
    *params = *params != NULL ? *params : m->params;
    if ((*params)->model != m || !(*params)->ready)
        return tg_fail(
            &s->b->error, (*params)->model != m ? TG_ERR_ARGUMENT : TG_ERR_STALE, "tg_scene_add_model: params %s",
            (*params)->model != m ? "belong to another model" : "were changed; call tg_params_changed first");
    return TG_OK;
}

tg_status tg_scene_add_model(tg_scene *s, const tg_model *m, const tg_params *params, const tg_attach_def *def)
{
    double pose[7];
    const double *at = NULL;
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = check_model(s, m, &params);
    if (status == TG_OK)
        status = check_attach(s, def, pose, &at);
    if (status != TG_OK)
        return status;
    const char *prefix = make_prefix(s, def->prefix), *label = def->label != NULL ? def->label : tg_model_name(m);
    part *p = TG_POOL_TAKE(&s->pool, part, 1);
    tg_builder_mark before = tg_builder_mark_of(s->b);
    if (prefix == NULL || p == NULL || !keep_keys(s, m, prefix, at, p))
        return no_memory(s);
    p->label = keep(s, label, (int)strlen(label) + 1, 1);
    status = p->label != NULL ? tg_builder_append(s->b, m, params, prefix, at, p->first) : no_memory(s);
    if (status == TG_OK)
        status = add_report(s, m);
    if (status != TG_OK)
    {
        tg_builder_rewind(s->b, &before);
        return status;
    }
    for (int e = 0; e < TG_ELEMENT_COUNT; e++)
        p->count[e] = s->b->list[e].count - p->first[e];
    s->b->implicit = s->b->implicit || m->implicit;
    s->b->implicit_gyroscopic = s->b->implicit_gyroscopic || m->implicit_gyroscopic;
    if (s->tail != NULL)
        s->tail->next = p;
    else
        s->head = p;
    s->tail = p;
    return TG_OK;
}

/* ---- simple bodies ---- */

tg_status tg_scene_prop(tg_scene *s, const tg_prop_def *def, int *body)
{
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    if (def == NULL || def->cookie != prop_cookie)
        return tg_fail(&s->b->error, TG_ERR_ARGUMENT, "tg_scene_prop: def does not start from tg_default_prop()");
    int id = 0;
    tg_body_def b = tg_default_body();
    tg_joint_def joint = tg_default_joint();
    tg_geom_def geom = def->geom;
    b.name = joint.name = def->name;
    geom.name = geom.name != NULL ? geom.name : def->name;
    memcpy(b.pos, def->pos, sizeof b.pos);
    memcpy(b.quat, def->quat, sizeof b.quat);
    tg_builder_mark before = tg_builder_mark_of(s->b);
    tg_status status = tg_builder_body(s->b, &b, &id);
    joint.body = geom.body = id;
    joint.type = TG_JOINT_FREE;
    if (status == TG_OK && !def->fixed)
        status = tg_builder_joint(s->b, &joint, NULL);
    if (status == TG_OK)
        status = tg_builder_geom(s->b, &geom, NULL);
    if (status != TG_OK)
        tg_builder_rewind(s->b, &before);
    else if (body != NULL)
        *body = id;
    return status;
}

tg_status tg_scene_floor(tg_scene *s, const tg_geom_def *geom)
{
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    tg_geom_def def = geom != NULL ? *geom : tg_default_floor();
    def.body = 0;
    if (def.type != TG_GEOM_PLANE)
        return tg_fail(&s->b->error, TG_ERR_ARGUMENT, "tg_scene_floor: type = %d: a floor is a plane", (int)def.type);
    return tg_builder_geom(s->b, &def, NULL);
}

tg_status tg_scene_hfield(tg_scene *s, const tg_hfield_def *hfield, const tg_geom_def *geom)
{
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    tg_geom_def def = geom != NULL ? *geom : tg_default_geom();
    tg_builder_mark before = tg_builder_mark_of(s->b);
    tg_status status = tg_builder_hfield(s->b, hfield, &def.hfield);
    if (status != TG_OK)
        return status;
    def.body = 0;
    def.type = TG_GEOM_HFIELD;
    def.name = def.name != NULL ? def.name : hfield->name;
    def.size[0] = def.size[1] = def.size[2] = 1;
    status = tg_builder_geom(s->b, &def, NULL);
    if (status != TG_OK)
        tg_builder_rewind(s->b, &before);
    return status;
}

/* ---- building: keyframes ---- */

/* A state of the whole model. */
typedef struct state
{
    double *q, *v, *act, *ctrl;
} state;

typedef struct build
{
    tg_scene *s;
    const tg_model *m; /* without keyframes */
    tg_order order;
    state now;
} build;

static void reset(build *w)
{
    const tg_model *m = w->m;
    tg_default_q(m, w->now.q, NULL);
    memset(w->now.v, 0, (size_t)m->nv * sizeof *w->now.v);
    memset(w->now.act, 0, (size_t)m->na * sizeof *w->now.act);
    memset(w->now.ctrl, 0, (size_t)m->nu * sizeof *w->now.ctrl);
}

/* Puts the state of a part's keyframe into the whole. */
static void take_key(build *w, const part *p, const part_key *key)
{
    const tg_model *m = w->m;
    for (int i = 0; i < p->count[TG_JOINT]; i++)
    {
        int joint = tg_order_of(&w->order, TG_JOINT, p->first[TG_JOINT] + i);
        tg_joint_size size = tg_joint_size_of((tg_joint_type)p->joint_type[i]);
        memcpy(w->now.q + m->joint_q[joint], key->q + p->joint_q[i], (size_t)size.nq * sizeof *key->q);
        memcpy(w->now.v + m->joint_dof[joint], key->v + p->joint_dof[i], (size_t)size.nv * sizeof *key->v);
    }
    for (int i = 0; i < p->count[TG_ACTUATOR]; i++)
    {
        int actuator = p->first[TG_ACTUATOR] + i;
        w->now.ctrl[actuator] = key->ctrl[i];
        if (p->actuator_act[i] >= 0)
            w->now.act[m->actuator_act[actuator]] = key->act[p->actuator_act[i]];
    }
}

static tg_status add_key(build *w, const char *name, double time)
{
    const tg_model *m = w->m;
    tg_key_def def = tg_default_key();
    def.name = name;
    def.time = time;
    def.q = w->now.q;
    def.v = w->now.v;
    def.act = w->now.act;
    def.ctrl = w->now.ctrl;
    def.nq = m->nq;
    def.nv = m->nv;
    def.na = m->na;
    def.nu = m->nu;
    return tg_builder_key(w->s->b, &def, NULL);
}

static const part_key *key_named(const part *p, const char *own)
{
    for (int k = 0; k < p->nkey; k++)
    {
        if (strcmp(p->key[k].own, own) == 0)
            return &p->key[k];
    }
    return NULL;
}

/* All parts that have a keyframe of this name take it, if there are several and the name is free. */
static tg_status add_common_key(build *w, const char *own)
{
    int count = 0;
    double time = 0;
    if (own[0] == '\0' || tg_builder_find(w->s->b, TG_KEY, own) >= 0)
        return TG_OK;
    reset(w);
    for (const part *p = w->s->head; p != NULL; p = p->next)
    {
        const part_key *key = key_named(p, own);
        if (key == NULL)
            continue;
        take_key(w, p, key);
        time = count++ == 0 ? key->time : time;
    }
    return count > 1 ? add_key(w, own, time) : TG_OK;
}

static tg_status add_keys(build *w)
{
    tg_status status = TG_OK;
    for (const part *p = w->s->head; p != NULL; p = p->next)
    {
        for (int k = 0; k < p->nkey && status == TG_OK; k++)
        {
            reset(w);
            take_key(w, p, &p->key[k]);
            status = add_key(w, p->key[k].name, p->key[k].time);
        }
    }
    for (const part *p = w->s->head; p != NULL; p = p->next)
    {
        for (int k = 0; k < p->nkey && status == TG_OK; k++)
            status = add_common_key(w, p->key[k].own);
    }
    return status;
}

/* Adds the keyframes to the builder; m is the model without them. */
static tg_status make_keys(tg_scene *s, const tg_model *m)
{
    build w = {.s = s, .m = m};
    tg_pool pool = {.allocator = &s->allocator};
    w.now.q = TG_POOL_TAKE(&pool, double, m->nq);
    w.now.v = TG_POOL_TAKE(&pool, double, m->nv);
    w.now.act = TG_POOL_TAKE(&pool, double, m->na);
    w.now.ctrl = TG_POOL_TAKE(&pool, double, m->nu);
    bool memory = w.now.q != NULL && w.now.v != NULL && w.now.act != NULL && w.now.ctrl != NULL;
    tg_status status = memory ? tg_order_make(s->b, &w.order) : no_memory(s);
    if (status == TG_OK)
    {
        status = add_keys(&w);
        tg_order_free(s->b, &w.order);
    }
    tg_pool_clear(&pool);
    return status;
}

/* ---- building: messages ---- */

static const part *part_with(const tg_scene *s, tg_element element, int id)
{
    for (const part *p = s->head; p != NULL; p = p->next)
    {
        if (id >= p->first[element] && id < p->first[element] + p->count[element])
            return p;
    }
    return NULL;
}

static const char *label_of(const tg_scene *s, tg_element element, int id)
{
    const part *p = part_with(s, element, id);
    return p != NULL ? p->label : "the scene itself";
}

/* The id of the element that a message starts with: "joint #3: ...", "joint 'knee': ...", "joint.knee.range ..."; -1.
 */
static int id_in(const tg_builder *b, tg_element element, const char *rest)
{
    int id = -1;
    const char *number = rest[1] == '#' ? rest + 2 : NULL;
    if (number != NULL && sscanf(number, "%d", &id) == 1)
        return id >= 0 && id < b->list[element].count ? id : -1;
    const char *start = rest[0] == ' ' && rest[1] == '\'' ? rest + 2 : rest + 1;
    char end = rest[0] == ' ' ? '\'' : '.';
    for (id = b->list[element].count - 1; id >= 0; id--)
    {
        const char *name = tg_builder_name_of(b, element, id);
        size_t n = strlen(name);
        if (n > 0 && strncmp(start, name, n) == 0 && start[n] == end)
            break;
    }
    return id;
}

/* Names the parts that a failure of the build speaks of. */
static tg_status explain(tg_scene *s, tg_status status)
{
    tg_error *error = &s->b->error;
    char message[sizeof error->message];
    memcpy(message, error->message, sizeof message);
    for (tg_element e = 0; e < TG_ELEMENT_COUNT; e++)
    {
        size_t n = strlen(tg_element_string(e));
        if (strncmp(message, tg_element_string(e), n) != 0 || (message[n] != ' ' && message[n] != '.'))
            continue;
        int first = -1, second = -1;
        const char *twice = strstr(message, "name is used twice, by #");
        if (twice != NULL && sscanf(twice, "name is used twice, by #%d and #%d", &first, &second) == 2)
            return tg_fail(error, status, "%.250s, in %.80s and %.80s: give them different prefixes", message,
                           label_of(s, e, first), label_of(s, e, second));
        return tg_fail(error, status, "%.150s: %.330s", label_of(s, e, id_in(s->b, e, message + n)), message);
    }
    return status;
}

/* ---- building ---- */

static tg_status build_with_keys(tg_scene *s, tg_model **m)
{
    tg_model *bare = NULL;
    tg_status status = tg_builder_check(s->b);
    if (status == TG_OK)
        status = tg_builder_sort_contacts(s->b);
    if (status == TG_OK)
        status = tg_builder_build(s->b, &bare);
    bool keys = false;
    for (const part *p = s->head; p != NULL; p = p->next)
        keys = keys || p->nkey > 0;
    if (status != TG_OK || !keys)
    {
        *m = bare;
        return status;
    }
    status = make_keys(s, bare);
    tg_model_destroy(bare);
    return status == TG_OK ? tg_builder_build(s->b, m) : status;
}

tg_status tg_scene_build(tg_scene *s, tg_model **m)
{
    if (s == NULL)
        return TG_ERR_ARGUMENT;
    if (m == NULL)
        return tg_fail(&s->b->error, TG_ERR_ARGUMENT, "tg_scene_build: m is NULL");
    *m = NULL;
    tg_builder_mark before = tg_builder_mark_of(s->b);
    tg_status status = build_with_keys(s, m);
    if (status != TG_OK)
        status = explain(s, status);
    tg_builder_rewind(s->b, &before); /* the next build makes its own keyframes */
    return status;
}
