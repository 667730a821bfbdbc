#include "model/builder.h"

#include <limits.h>
#include <string.h>

#include "base/status.h"

/* ---- lists ---- */

static const size_t item_size[TG_LIST_COUNT] = {
#define X(ELEMENT, element) [TG_##ELEMENT] = sizeof(tg_##element##_item),
    TG_ELEMENTS(X)
#undef X
        [TG_LIST_TEXT] = sizeof(char),
    [TG_LIST_PATH] = sizeof(tg_path),
    [TG_LIST_VERTEX] = sizeof(double),
    [TG_LIST_FACE] = sizeof(int),
    [TG_LIST_ELEVATION] = sizeof(double),
    [TG_LIST_NUMBER] = sizeof(double),
    [TG_LIST_REPORT] = sizeof(tg_report_item),
    [TG_LIST_PLACE] = sizeof(tg_place),
};

/* Room for count more items at the end of a list, zeroed; NULL when memory or int runs out. */
static void *append(tg_builder *b, int list, int count)
{
    tg_list *l = &b->list[list];
    size_t size = item_size[list];
    if (count > INT_MAX / 2 - l->count)
        return NULL;
    int need = l->count + count;
    if (need > l->capacity || l->data == NULL)
    {
        int capacity = need > 2 * l->capacity ? need : 2 * l->capacity;
        if (capacity < 16)
            capacity = 16;
        void *data = tg_alloc(&b->allocator, (size_t)capacity * size);
        if (data == NULL)
            return NULL;
        if (l->count > 0)
            memcpy(data, l->data, (size_t)l->count * size);
        tg_free(&b->allocator, l->data);
        l->data = data;
        l->capacity = capacity;
    }
    void *place = (char *)l->data + (size_t)l->count * size;
    memset(place, 0, (size_t)count * size);
    l->count = need;
    return place;
}

/* Copies a string; returns its place in the text, -1 when memory runs out. NULL and "" are place 0. */
static int append_text(tg_builder *b, const char *string)
{
    if (string == NULL || string[0] == '\0')
        return 0;
    size_t length = strlen(string);
    if (length >= INT_MAX / 2)
        return -1;
    int start = b->list[TG_LIST_TEXT].count;
    char *place = append(b, TG_LIST_TEXT, (int)length + 1);
    if (place == NULL)
        return -1;
    memcpy(place, string, length + 1);
    return start;
}

static tg_status out_of_memory(tg_builder *b)
{
    return tg_fail(&b->error, TG_ERR_MEMORY, "builder: out of memory");
}

/* ---- adding an element ---- */

typedef struct array
{
    int list;
    const void *data; /* NULL: none */
    int64_t count;    /* items of the list */
} array;

/* Where the common parts of a definition are. */
typedef struct layout
{
    size_t def_in_item, def_size, name_in_def, cookie_in_def;
} layout;

static const layout layouts[TG_ELEMENT_COUNT] = {
#define X(ELEMENT, element)                                                                                            \
    [TG_##ELEMENT] = {offsetof(tg_##element##_item, def), sizeof(tg_##element##_def),                                  \
                      offsetof(tg_##element##_def, name), offsetof(tg_##element##_def, cookie)},
    TG_ELEMENTS(X)
#undef X
};

static const char *name_in(const void *def, tg_element element)
{
    const char *name;
    memcpy(&name, (const char *)def + layouts[element].name_in_def, sizeof name);
    return name;
}

static bool has_cookie(const void *def, tg_element element)
{
    uint32_t cookie;
    memcpy(&cookie, (const char *)def + layouts[element].cookie_in_def, sizeof cookie);
    return cookie == tg_cookie(element);
}

static tg_status check_def(tg_builder *b, tg_element element, const void *def)
{
    const char *kind = tg_element_string(element);
    if (def == NULL)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "%s definition: is NULL", kind);
    if (!has_cookie(def, element))
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "%s definition: does not start from tg_default_%s()", kind, kind);
    return TG_OK;
}

static bool append_array(tg_builder *b, const array *a, int *start)
{
    *start = -1;
    if (a->data == NULL)
        return true;
    *start = b->list[a->list].count;
    if (a->count > INT_MAX / 2)
        return false;
    void *place = append(b, a->list, (int)a->count);
    if (place != NULL && a->count > 0)
        memcpy(place, a->data, (size_t)a->count * item_size[a->list]);
    return place != NULL;
}

static bool append_item(tg_builder *b, tg_element element, const void *def, const array *arrays, int narray)
{
    int head[1 + TG_ITEM_ARRAYS] = {0}; /* name and start of an item */
    head[0] = append_text(b, name_in(def, element));
    if (head[0] < 0)
        return false;
    for (int i = 0; i < narray; i++)
    {
        if (!append_array(b, &arrays[i], &head[1 + i]))
            return false;
    }
    char *item = append(b, (int)element, 1);
    if (item == NULL)
        return false;
    memcpy(item, head, sizeof head);
    memcpy(item + layouts[element].def_in_item, def, layouts[element].def_size);
    return true;
}

/* Copies a definition, its name and its arrays; all or nothing. */
static tg_status add(tg_builder *b, tg_element element, const void *def, const array *arrays, int narray, int *id)
{
    tg_builder_mark before = tg_builder_mark_of(b);
    if (!append_item(b, element, def, arrays, narray))
    {
        tg_builder_rewind(b, &before);
        return out_of_memory(b);
    }
    if (id != NULL)
        *id = before.count[element];
    return TG_OK;
}

static tg_status check_count(tg_builder *b, tg_element element, const void *def, const char *field, int64_t count)
{
    if (count >= 0 && count <= INT_MAX / 4)
        return TG_OK;
    const char *name = name_in(def, element);
    return tg_fail(&b->error, TG_ERR_ARGUMENT, "%s '%s': %s = %lld: not a count", tg_element_string(element),
                   name != NULL ? name : "", field, (long long)count);
}

static tg_status check_array(tg_builder *b, tg_element element, const void *def, const char *field, const void *data,
                             int64_t count)
{
    if (data != NULL || count == 0)
        return TG_OK;
    const char *name = name_in(def, element);
    return tg_fail(&b->error, TG_ERR_ARGUMENT, "%s '%s': %s is NULL, %lld expected", tg_element_string(element),
                   name != NULL ? name : "", field, (long long)count);
}

/* ---- the elements ---- */

#define ADD_PLAIN(ELEMENT, element)                                                                                    \
    tg_status tg_builder_##element(tg_builder *b, const tg_##element##_def *def, int *id)                              \
    {                                                                                                                  \
        if (b == NULL)                                                                                                 \
            return TG_ERR_ARGUMENT;                                                                                    \
        tg_status status = check_def(b, TG_##ELEMENT, def);                                                            \
        return status != TG_OK ? status : add(b, TG_##ELEMENT, def, NULL, 0, id);                                      \
    }

ADD_PLAIN(BODY, body)
ADD_PLAIN(JOINT, joint)
ADD_PLAIN(GEOM, geom)
ADD_PLAIN(SITE, site)
ADD_PLAIN(ACTUATOR, actuator)
ADD_PLAIN(EQUALITY, equality)
ADD_PLAIN(PAIR, pair)
ADD_PLAIN(EXCLUDE, exclude)

tg_status tg_builder_tendon(tg_builder *b, const tg_tendon_def *def, int *id)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = check_def(b, TG_TENDON, def);
    if (status == TG_OK)
        status = check_count(b, TG_TENDON, def, "npath", def->npath);
    if (status == TG_OK)
        status = check_array(b, TG_TENDON, def, "path", def->path, def->npath);
    if (status != TG_OK)
        return status;
    return add(b, TG_TENDON, def, &(array){TG_LIST_PATH, def->path, def->npath}, 1, id);
}

tg_status tg_builder_mesh(tg_builder *b, const tg_mesh_def *def, int *id)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = check_def(b, TG_MESH, def);
    if (status == TG_OK)
        status = check_count(b, TG_MESH, def, "nvertex", def->nvertex);
    if (status == TG_OK)
        status = check_count(b, TG_MESH, def, "nface", def->nface);
    if (status == TG_OK)
        status = check_array(b, TG_MESH, def, "vertex", def->vertex, def->nvertex);
    if (status == TG_OK)
        status = check_array(b, TG_MESH, def, "face", def->face, def->nface);
    if (status != TG_OK)
        return status;
    array arrays[] = {
        {TG_LIST_VERTEX, def->vertex, 3 * (int64_t)def->nvertex},
        {TG_LIST_FACE, def->face, 3 * (int64_t)def->nface},
    };
    return add(b, TG_MESH, def, arrays, 2, id);
}

tg_status tg_builder_hfield(tg_builder *b, const tg_hfield_def *def, int *id)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = check_def(b, TG_HFIELD, def);
    if (status == TG_OK)
        status = check_count(b, TG_HFIELD, def, "nrow", def->nrow);
    if (status == TG_OK)
        status = check_count(b, TG_HFIELD, def, "ncol", def->ncol);
    if (status != TG_OK)
        return status;
    int64_t count = (int64_t)def->nrow * def->ncol;
    status = check_count(b, TG_HFIELD, def, "nrow x ncol", count);
    if (status == TG_OK)
        status = check_array(b, TG_HFIELD, def, "elevation", def->elevation, count);
    if (status != TG_OK)
        return status;
    return add(b, TG_HFIELD, def, &(array){TG_LIST_ELEVATION, def->elevation, count}, 1, id);
}

tg_status tg_builder_key(tg_builder *b, const tg_key_def *def, int *id)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    tg_status status = check_def(b, TG_KEY, def);
    if (status != TG_OK)
        return status;
    const char *const fields[] = {"nq", "nv", "na", "nu"};
    array arrays[] = {
        {TG_LIST_NUMBER, def->q, def->nq},
        {TG_LIST_NUMBER, def->v, def->nv},
        {TG_LIST_NUMBER, def->act, def->na},
        {TG_LIST_NUMBER, def->ctrl, def->nu},
    };
    for (int i = 0; i < TG_ITEM_ARRAYS && status == TG_OK; i++)
        status = check_count(b, TG_KEY, def, fields[i], arrays[i].count);
    return status != TG_OK ? status : add(b, TG_KEY, def, arrays, TG_ITEM_ARRAYS, id);
}

tg_status tg_builder_report(tg_builder *b, const tg_report_entry *entry)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (entry == NULL)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "report entry: is NULL");
    if ((unsigned)entry->kind > TG_REPORT_NOTED)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "report entry: kind = %d: is no value of its enum",
                       (int)entry->kind);
    tg_list *text = &b->list[TG_LIST_TEXT];
    int count = text->count;
    tg_report_item item = {.kind = entry->kind, .line = entry->line};
    item.file = append_text(b, entry->file);
    item.element = append_text(b, entry->element);
    item.attribute = append_text(b, entry->attribute);
    item.note = append_text(b, entry->note);
    bool complete = item.file >= 0 && item.element >= 0 && item.attribute >= 0 && item.note >= 0;
    tg_report_item *place = complete ? append(b, TG_LIST_REPORT, 1) : NULL;
    if (place == NULL)
    {
        text->count = count;
        return out_of_memory(b);
    }
    *place = item;
    return TG_OK;
}

/* ---- the builder itself ---- */

static tg_status add_world(tg_builder *b)
{
    if (append(b, TG_LIST_TEXT, 1) == NULL) /* place 0: the empty string */
        return out_of_memory(b);
    tg_body_def world = tg_default_body();
    world.name = "world";
    world.inertial = true;
    return tg_builder_body(b, &world, NULL);
}

tg_status tg_builder_create(const tg_allocator *allocator, tg_builder **b, tg_error *error)
{
    if (b == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_builder_create: b is NULL");
    *b = NULL;
    tg_builder *made = tg_alloc(allocator, sizeof *made);
    if (made == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "builder: out of memory");
    if (allocator != NULL)
        made->allocator = *allocator;
    made->gravity[2] = -9.81;
    made->timestep = 0.002;
    tg_status status = add_world(made);
    if (status != TG_OK)
    {
        tg_builder_destroy(made);
        return tg_fail(error, status, "builder: out of memory");
    }
    *b = made;
    return TG_OK;
}

void tg_builder_destroy(tg_builder *b)
{
    if (b == NULL)
        return;
    tg_allocator allocator = b->allocator;
    for (int i = 0; i < TG_LIST_COUNT; i++)
        tg_free(&allocator, b->list[i].data);
    tg_free(&allocator, b);
}

const char *tg_builder_message(const tg_builder *b)
{
    return b != NULL ? b->error.message : "";
}

tg_status tg_builder_name(tg_builder *b, const char *name)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    int start = append_text(b, name);
    if (start < 0)
        return out_of_memory(b);
    b->name = start;
    return TG_OK;
}

tg_status tg_builder_gravity(tg_builder *b, const double gravity[3])
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    if (gravity == NULL)
        return tg_fail(&b->error, TG_ERR_ARGUMENT, "gravity: is NULL");
    memcpy(b->gravity, gravity, sizeof b->gravity);
    return TG_OK;
}

tg_status tg_builder_timestep(tg_builder *b, double dt)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    b->timestep = dt;
    return TG_OK;
}

tg_status tg_builder_implicit(tg_builder *b, bool implicit, bool gyroscopic)
{
    if (b == NULL)
        return TG_ERR_ARGUMENT;
    b->implicit = implicit;
    b->implicit_gyroscopic = gyroscopic;
    return TG_OK;
}

const char *tg_builder_name_of(const tg_builder *b, tg_element element, int id)
{
    int place;
    memcpy(&place, (const char *)b->list[element].data + (size_t)id * item_size[element], sizeof place);
    return TG_LIST(b, TEXT, char) + place;
}

void tg_builder_unname(tg_builder *b, tg_element element, int id)
{
    static const int none = 0;
    memcpy((char *)b->list[element].data + (size_t)id * item_size[element], &none, sizeof none);
}

tg_status tg_builder_place(tg_builder *b, tg_element element, int id, const char *file, int line)
{
    int name = append_text(b, file);
    tg_place *place = name >= 0 ? append(b, TG_LIST_PLACE, 1) : NULL;
    if (place == NULL)
        return out_of_memory(b);
    *place = (tg_place){element, id, line, name};
    return TG_OK;
}

const tg_place *tg_builder_place_of(const tg_builder *b, tg_element element, int id)
{
    const tg_place *place = TG_LIST(b, PLACE, tg_place);
    int count = b->list[TG_LIST_PLACE].count;
    if (id < count && place[id].element == element && place[id].id == id) /* as it is when one kind alone is placed */
        return &place[id];
    for (int i = 0; i < count; i++)
    {
        if (place[i].element == element && place[i].id == id)
            return &place[i];
    }
    return NULL;
}

/* Moves the numbers of a list from one place down to another; returns where they end. */
static int move_down(tg_builder *b, int list, int from, int to, int count)
{
    size_t size = item_size[list];
    char *data = b->list[list].data;
    memmove(data + (size_t)to * size, data + (size_t)from * size, (size_t)count * size);
    return to + count;
}

void tg_builder_keep_meshes(tg_builder *b, int *index)
{
    tg_mesh_item *mesh = b->list[TG_MESH].data;
    tg_geom_item *geom = b->list[TG_GEOM].data;
    tg_place *place = b->list[TG_LIST_PLACE].data;
    int kept = 0, vertices = 0, faces = 0;
    for (int i = 0; i < b->list[TG_MESH].count; i++)
    {
        if (index[i] < 0)
            continue;
        tg_mesh_item item = mesh[i];
        int start = item.start[0];
        item.start[0] = vertices;
        vertices = move_down(b, TG_LIST_VERTEX, start, vertices, 3 * item.def.nvertex);
        start = item.start[1];
        item.start[1] = start < 0 ? start : faces;
        faces = start < 0 ? faces : move_down(b, TG_LIST_FACE, start, faces, 3 * item.def.nface);
        index[i] = kept;
        mesh[kept++] = item;
    }
    for (int g = 0; g < b->list[TG_GEOM].count; g++)
        geom[g].def.mesh = geom[g].def.mesh < 0 ? -1 : index[geom[g].def.mesh];
    for (int p = 0; p < b->list[TG_LIST_PLACE].count; p++)
        place[p].id = place[p].element == TG_MESH ? index[place[p].id] : place[p].id;
    b->list[TG_MESH].count = kept;
    b->list[TG_LIST_VERTEX].count = vertices;
    b->list[TG_LIST_FACE].count = faces;
}

int tg_builder_find(const tg_builder *b, tg_element element, const char *name)
{
    if (b == NULL || (unsigned)element >= TG_ELEMENT_COUNT || name == NULL || name[0] == '\0')
        return -1;
    int id = b->list[element].count - 1;
    while (id >= 0 && strcmp(tg_builder_name_of(b, element, id), name) != 0)
        id--;
    return id;
}
