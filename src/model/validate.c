#include "model/validate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "model/topology.h"

/* ---- refusing ---- */

static int count_of(const tg_builder *b, tg_element element)
{
    return b->list[element].count;
}

/* "joint 'knee'", or "joint #3" for one without a name */
static void write_label(const tg_builder *b, tg_element element, int id, char label[200])
{
    const char *name = tg_builder_name_of(b, element, id);
    if (name[0] != '\0')
        snprintf(label, 200, "%s '%.150s'", tg_element_string(element), name);
    else
        snprintf(label, 200, "%s #%d", tg_element_string(element), id);
}

static tg_status refuse_int(tg_builder *b, tg_element element, int id, const char *field, int value, tg_status status,
                            const char *must)
{
    char label[200];
    write_label(b, element, id, label);
    return tg_fail(&b->error, status, "%s: %s = %d: %s", label, field, value, must);
}

static tg_status refuse_number(tg_builder *b, tg_element element, int id, const char *field, double value,
                               const char *must)
{
    char label[200];
    write_label(b, element, id, label);
    return tg_fail(&b->error, TG_ERR_VALUE, "%s: %s = %.17g: %s", label, field, value, must);
}

static tg_status refuse_item(tg_builder *b, tg_element element, int id, const char *field, int item, double value,
                             const char *must)
{
    char at[80];
    snprintf(at, sizeof at, "%s[%d]", field, item);
    return refuse_number(b, element, id, at, value, must);
}

/* ---- what many elements have ---- */

/* field = reference to an element of kind target, from first (0, or 1 where the world is no answer) on */
static tg_status check_reference(tg_builder *b, tg_element element, int id, const char *field, int value,
                                 tg_element target)
{
    if (value >= 0 && value < count_of(b, target))
        return TG_OK;
    char must[80];
    snprintf(must, sizeof must, "there is no such %s, the model has %d", tg_element_string(target),
             count_of(b, target));
    return refuse_int(b, element, id, field, value, TG_ERR_ARGUMENT, must);
}

/* field = a value of an enum with count values */
static tg_status check_enum(tg_builder *b, tg_element element, int id, const char *field, int value, int count)
{
    if (value >= 0 && value < count)
        return TG_OK;
    return refuse_int(b, element, id, field, value, TG_ERR_ARGUMENT, "is no value of its enum");
}

static tg_status check_finite(tg_builder *b, tg_element element, int id, const char *field, const double *x, int count)
{
    for (int i = 0; i < count; i++)
    {
        if (!isfinite(x[i]))
            return refuse_item(b, element, id, field, i, x[i], "must be finite");
    }
    return TG_OK;
}

static tg_status check_condim(tg_builder *b, tg_element element, int id, int condim)
{
    if (condim == 1 || condim == 3 || condim == 4 || condim == 6)
        return TG_OK;
    return refuse_int(b, element, id, "condim", condim, TG_ERR_VALUE, "must be 1, 3, 4 or 6");
}

/* "#7" means element 7 wherever a name is looked up, so it cannot be the name of another. */
static tg_status check_name(tg_builder *b, tg_element element, int id)
{
    const char *name = tg_builder_name_of(b, element, id);
    if (name[0] != '#' || name[1] == '\0' || name[1 + strspn(name + 1, "0123456789")] != '\0')
        return TG_OK;
    return tg_fail(&b->error, TG_ERR_NAME,
                   "%s #%d: name = '%.200s': '#' and a number is kept for elements without a name",
                   tg_element_string(element), id, name);
}

/* ---- bodies and joints ---- */

static tg_status check_body(tg_builder *b, int id)
{
    if (id == 0)
        return TG_OK;
    return check_reference(b, TG_BODY, id, "parent", TG_ITEM(b, BODY, body, id)->def.parent, TG_BODY);
}

static bool is_rotation(tg_joint_type type)
{
    return type == TG_JOINT_BALL || type == TG_JOINT_HINGE;
}

static bool is_scalar(tg_joint_type type)
{
    return type == TG_JOINT_HINGE || type == TG_JOINT_SLIDE;
}

static tg_status check_free(tg_builder *b, int id)
{
    int body = TG_ITEM(b, JOINT, joint, id)->def.body;
    if (TG_ITEM(b, BODY, body, body)->def.parent != 0)
        return refuse_int(b, TG_JOINT, id, "body", body, TG_ERR_MODEL,
                          "a free joint belongs on a child of the world, not deeper");
    if (TG_ITEM(b, JOINT, joint, id)->def.limited)
        return refuse_int(b, TG_JOINT, id, "limited", 1, TG_ERR_MODEL, "a free joint has no limits");
    return TG_OK;
}

static tg_status check_joint(tg_builder *b, int id)
{
    const tg_joint_def *def = &TG_ITEM(b, JOINT, joint, id)->def;
    tg_status status = check_reference(b, TG_JOINT, id, "body", def->body, TG_BODY);
    if (status == TG_OK)
        status = check_enum(b, TG_JOINT, id, "type", (int)def->type, TG_JOINT_TYPE_COUNT);
    if (status != TG_OK)
        return status;
    if (def->body == 0)
        return refuse_int(b, TG_JOINT, id, "body", 0, TG_ERR_MODEL, "the world cannot have a joint");
    if (def->force_limited && !is_scalar(def->type))
        return refuse_int(b, TG_JOINT, id, "force_limited", 1, TG_ERR_MODEL,
                          "only a hinge or slide has a bound on the actuator forces");
    return def->type == TG_JOINT_FREE ? check_free(b, id) : TG_OK;
}

/* What the joints of one body may be: at most 6 dofs, so a free joint alone; no rotation after a ball. `id` is the
 * joint to judge, dofs and ball what came before it on its body. */
static tg_status check_joint_after(tg_builder *b, int id, int dofs, bool ball)
{
    const tg_joint_def *def = &TG_ITEM(b, JOINT, joint, id)->def;
    int total = dofs + tg_joint_size_of(def->type).nv;
    if (dofs > 0 && total > 6)
        return refuse_int(b, TG_JOINT, id, "body", def->body, TG_ERR_MODEL,
                          "the body has more than 6 degrees of freedom (a free joint must be alone)");
    if (ball && is_rotation(def->type))
        return refuse_int(b, TG_JOINT, id, "type", (int)def->type, TG_ERR_MODEL,
                          "a ball cannot be followed by another rotation on the same body");
    return TG_OK;
}

/* The scratch of a body: dofs so far, and whether a ball is among them. */
typedef struct body_count
{
    int dofs;
    bool ball;
} body_count;

static tg_status check_joint_mixtures(tg_builder *b)
{
    body_count *count = tg_alloc(&b->allocator, (size_t)count_of(b, TG_BODY) * sizeof *count);
    if (count == NULL)
        return tg_fail(&b->error, TG_ERR_MEMORY, "model: out of memory for %d bodies", count_of(b, TG_BODY));
    tg_status status = TG_OK;
    for (int id = 0; id < count_of(b, TG_JOINT) && status == TG_OK; id++)
    {
        const tg_joint_def *def = &TG_ITEM(b, JOINT, joint, id)->def;
        body_count *body = &count[def->body];
        status = check_joint_after(b, id, body->dofs, body->ball);
        body->dofs += tg_joint_size_of(def->type).nv;
        body->ball = body->ball || def->type == TG_JOINT_BALL;
    }
    tg_free(&b->allocator, count);
    return status;
}

/* ---- geoms, meshes, height fields ---- */

static tg_status check_geom(tg_builder *b, int id)
{
    const tg_geom_def *def = &TG_ITEM(b, GEOM, geom, id)->def;
    tg_status status = check_reference(b, TG_GEOM, id, "body", def->body, TG_BODY);
    if (status == TG_OK)
        status = check_enum(b, TG_GEOM, id, "type", (int)def->type, TG_GEOM_TYPE_COUNT);
    if (status == TG_OK && def->type == TG_GEOM_MESH)
        status = check_reference(b, TG_GEOM, id, "mesh", def->mesh, TG_MESH);
    if (status == TG_OK && def->type == TG_GEOM_HFIELD)
        status = check_reference(b, TG_GEOM, id, "hfield", def->hfield, TG_HFIELD);
    if (status == TG_OK)
        status = check_condim(b, TG_GEOM, id, def->condim);
    if (status != TG_OK)
        return status;
    if (!isfinite(def->mass))
        return refuse_number(b, TG_GEOM, id, "mass", def->mass, "must be finite");
    if (!isfinite(def->density) || def->density < 0)
        return refuse_number(b, TG_GEOM, id, "density", def->density, "must be finite and not negative");
    if (!isfinite(def->gap))
        return refuse_number(b, TG_GEOM, id, "gap", def->gap, "must be finite");
    return check_finite(b, TG_GEOM, id, "rgba", def->rgba, 4);
}

static tg_status check_mesh(tg_builder *b, int id)
{
    const tg_mesh_item *item = TG_ITEM(b, MESH, mesh, id);
    int nvertex = item->def.nvertex;
    if (nvertex < (item->def.nface > 0 ? 3 : 4))
        return refuse_int(b, TG_MESH, id, "nvertex", nvertex, TG_ERR_MODEL,
                          "a mesh needs 3 vertices, one without faces 4");
    tg_status status = check_finite(b, TG_MESH, id, "vertex", TG_LIST(b, VERTEX, double) + item->start[0], 3 * nvertex);
    for (int i = 0; i < 3 * item->def.nface && status == TG_OK; i++)
    {
        int vertex = TG_LIST(b, FACE, int)[item->start[1] + i];
        if (vertex < 0 || vertex >= nvertex)
            status = refuse_item(b, TG_MESH, id, "face", i, vertex, "there is no such vertex in the mesh");
    }
    return status;
}

static tg_status check_hfield(tg_builder *b, int id)
{
    const tg_hfield_item *item = TG_ITEM(b, HFIELD, hfield, id);
    const tg_hfield_def *def = &item->def;
    if (def->nrow < 2 || def->ncol < 2)
        return refuse_int(b, TG_HFIELD, id, def->nrow < 2 ? "nrow" : "ncol", def->nrow < 2 ? def->nrow : def->ncol,
                          TG_ERR_MODEL, "must be at least 2");
    const double *elevation = TG_LIST(b, ELEVATION, double) + item->start[0];
    for (int i = 0; i < def->nrow * def->ncol; i++)
    {
        if (!(elevation[i] >= 0 && elevation[i] <= 1))
            return refuse_item(b, TG_HFIELD, id, "elevation", i, elevation[i], "must be between 0 and 1");
    }
    return TG_OK;
}

static tg_status check_site(tg_builder *b, int id)
{
    return check_reference(b, TG_SITE, id, "body", TG_ITEM(b, SITE, site, id)->def.body, TG_BODY);
}

/* ---- tendons ---- */

static tg_status refuse_path(tg_builder *b, int id, int item, const char *part, int value, const char *must)
{
    char field[60];
    snprintf(field, sizeof field, "path[%d].%s", item, part);
    return refuse_int(b, TG_TENDON, id, field, value, TG_ERR_MODEL, must);
}

static tg_status check_fixed_path(tg_builder *b, int id, const tg_path *path, int count)
{
    for (int i = 0; i < count; i++)
    {
        if (path[i].type != TG_PATH_JOINT)
            return refuse_path(b, id, i, "type", (int)path[i].type, "the path of a fixed tendon has joints only");
        if (path[i].id < 0 || path[i].id >= count_of(b, TG_JOINT))
            return refuse_path(b, id, i, "id", path[i].id, "there is no such joint");
        if (!is_scalar(TG_ITEM(b, JOINT, joint, path[i].id)->def.type))
            return refuse_path(b, id, i, "id", path[i].id, "the joint must be a hinge or a slide");
        for (int j = 0; j < i; j++)
        {
            if (path[j].id == path[i].id)
                return refuse_path(b, id, i, "id", path[i].id, "the joint is already in the tendon");
        }
    }
    return TG_OK;
}

static bool is_site(const tg_path *path, int count, int i)
{
    return i >= 0 && i < count && path[i].type == TG_PATH_SITE;
}

static tg_status check_spatial_item(tg_builder *b, int id, const tg_path *path, int count, int i)
{
    if (path[i].type == TG_PATH_PULLEY)
    {
        bool last = i == count - 1;
        if (last || path[i + 1].type == TG_PATH_PULLEY)
            return refuse_path(b, id, i, "type", (int)path[i].type, "a pulley must be followed by a site");
        return TG_OK;
    }
    if (path[i].type != TG_PATH_SITE)
        return refuse_path(b, id, i, "type", (int)path[i].type, "the path of a spatial tendon has sites and pulleys");
    if (path[i].id < 0 || path[i].id >= count_of(b, TG_SITE))
        return refuse_path(b, id, i, "id", path[i].id, "there is no such site");
    if (!is_site(path, count, i - 1) && !is_site(path, count, i + 1))
        return refuse_path(b, id, i, "id", path[i].id, "a site needs another one before or behind it");
    if (is_site(path, count, i - 1) && path[i - 1].id == path[i].id)
        return refuse_path(b, id, i, "id", path[i].id, "is the same site as the one before");
    return TG_OK;
}

static tg_status check_tendon(tg_builder *b, int id)
{
    const tg_tendon_item *item = TG_ITEM(b, TENDON, tendon, id);
    int count = item->def.npath;
    tg_status status = check_enum(b, TG_TENDON, id, "type", (int)item->def.type, TG_TENDON_SPATIAL + 1);
    if (status == TG_OK)
        status = check_enum(b, TG_TENDON, id, "law", (int)item->def.law, TG_TENDON_LAWS);
    if (status != TG_OK)
        return status;
    bool fixed = item->def.type == TG_TENDON_FIXED;
    if (count < (fixed ? 1 : 2))
        return refuse_int(b, TG_TENDON, id, "npath", count, TG_ERR_MODEL,
                          fixed ? "a fixed tendon needs a joint" : "a spatial tendon needs two sites");
    const tg_path *path = TG_LIST(b, PATH, tg_path) + item->start[0];
    if (fixed)
        return check_fixed_path(b, id, path, count);
    for (int i = 0; i < count && status == TG_OK; i++)
        status = check_spatial_item(b, id, path, count, i);
    return status;
}

/* ---- actuators, equalities ---- */

static tg_status check_actuator(tg_builder *b, int id)
{
    static const tg_element target[] = {TG_JOINT, TG_TENDON, TG_SITE};
    const tg_actuator_def *def = &TG_ITEM(b, ACTUATOR, actuator, id)->def;
    tg_status status = check_enum(b, TG_ACTUATOR, id, "transmission", (int)def->transmission, TG_TRANSMISSION_SITE + 1);
    if (status == TG_OK)
        status = check_reference(b, TG_ACTUATOR, id, "target", def->target, target[def->transmission]);
    if (status == TG_OK)
        status = check_enum(b, TG_ACTUATOR, id, "dynamics", (int)def->dynamics, TG_DYNAMICS_FILTEREXACT + 1);
    if (status == TG_OK && def->act_limited && def->dynamics == TG_DYNAMICS_NONE)
        status =
            refuse_int(b, TG_ACTUATOR, id, "act_limited", 1, TG_ERR_MODEL, "without dynamics there is no activation");
    if (status == TG_OK)
        status = check_enum(b, TG_ACTUATOR, id, "drives", (int)def->drives, TG_DRIVES_COUNT);
    if (status == TG_OK && def->drives == TG_DRIVES_REST && def->transmission != TG_TRANSMISSION_TENDON)
        status = refuse_int(b, TG_ACTUATOR, id, "drives", (int)def->drives, TG_ERR_MODEL,
                            "only a tendon has a rest length to drive");
    return status;
}

static tg_status check_equality_object(tg_builder *b, int id, const char *field, int value)
{
    static const tg_element object[] = {TG_BODY, TG_BODY, TG_JOINT, TG_TENDON};
    const tg_equality_def *def = &TG_ITEM(b, EQUALITY, equality, id)->def;
    tg_status status = check_reference(b, TG_EQUALITY, id, field, value, object[def->type]);
    if (status == TG_OK && def->type == TG_EQUALITY_JOINT && !is_scalar(TG_ITEM(b, JOINT, joint, value)->def.type))
        status = refuse_int(b, TG_EQUALITY, id, field, value, TG_ERR_MODEL, "the joint must be a hinge or a slide");
    return status;
}

static tg_status check_equality(tg_builder *b, int id)
{
    const tg_equality_def *def = &TG_ITEM(b, EQUALITY, equality, id)->def;
    tg_status status = check_enum(b, TG_EQUALITY, id, "type", (int)def->type, TG_EQUALITY_TENDON + 1);
    if (status == TG_OK)
        status = check_equality_object(b, id, "obj1", def->obj1);
    if (status != TG_OK)
        return status;
    bool single = def->obj2 == -1 && (def->type == TG_EQUALITY_JOINT || def->type == TG_EQUALITY_TENDON);
    if (!single)
        status = check_equality_object(b, id, "obj2", def->obj2);
    if (status == TG_OK && def->obj1 == def->obj2)
        status = refuse_int(b, TG_EQUALITY, id, "obj2", def->obj2, TG_ERR_MODEL, "is the same as obj1");
    return status;
}

/* ---- pairs, excludes, keyframes ---- */

static tg_status check_pair(tg_builder *b, int id)
{
    const tg_pair_def *def = &TG_ITEM(b, PAIR, pair, id)->def;
    tg_status status = check_reference(b, TG_PAIR, id, "geom1", def->geom1, TG_GEOM);
    if (status == TG_OK)
        status = check_reference(b, TG_PAIR, id, "geom2", def->geom2, TG_GEOM);
    if (status == TG_OK && def->geom1 == def->geom2)
        status = refuse_int(b, TG_PAIR, id, "geom2", def->geom2, TG_ERR_MODEL, "is the same as geom1");
    if (status == TG_OK)
        status = check_condim(b, TG_PAIR, id, def->condim);
    if (status == TG_OK && !isfinite(def->gap))
        status = refuse_number(b, TG_PAIR, id, "gap", def->gap, "must be finite");
    return status;
}

static tg_status check_exclude(tg_builder *b, int id)
{
    const tg_exclude_def *def = &TG_ITEM(b, EXCLUDE, exclude, id)->def;
    if (def->geom1 != -1 || def->geom2 != -1)
    {
        tg_status first = check_reference(b, TG_EXCLUDE, id, "geom1", def->geom1, TG_GEOM);
        return first != TG_OK ? first : check_reference(b, TG_EXCLUDE, id, "geom2", def->geom2, TG_GEOM);
    }
    tg_status status = check_reference(b, TG_EXCLUDE, id, "body1", def->body1, TG_BODY);
    return status != TG_OK ? status : check_reference(b, TG_EXCLUDE, id, "body2", def->body2, TG_BODY);
}

/* The lengths are compared with the model's once these are known. */
static tg_status check_key(tg_builder *b, int id)
{
    static const char *const field[TG_ITEM_ARRAYS] = {"q", "v", "act", "ctrl"};
    const tg_key_item *item = TG_ITEM(b, KEY, key, id);
    const int count[TG_ITEM_ARRAYS] = {item->def.nq, item->def.nv, item->def.na, item->def.nu};
    if (!isfinite(item->def.time))
        return refuse_number(b, TG_KEY, id, "time", item->def.time, "must be finite");
    tg_status status = TG_OK;
    for (int i = 0; i < TG_ITEM_ARRAYS && status == TG_OK; i++)
    {
        if (item->start[i] >= 0)
            status = check_finite(b, TG_KEY, id, field[i], TG_LIST(b, NUMBER, double) + item->start[i], count[i]);
    }
    return status;
}

/* ---- looks ---- */

static tg_status check_visual(tg_builder *b, int i)
{
    const tg_visual_def *def = &TG_LIST(b, VISUAL, tg_visual_item)[i].def;
    bool shape = (unsigned)def->type < TG_GEOM_TYPE_COUNT && def->type != TG_GEOM_PLANE && def->type != TG_GEOM_HFIELD;
    if (!shape)
        return tg_fail(&b->error, TG_ERR_VALUE, "visual #%d: type = %d: is no shape of a visual", i, (int)def->type);
    if (def->body < 0 || def->body >= count_of(b, TG_BODY))
        return tg_fail(&b->error, TG_ERR_MODEL, "visual #%d: body = %d: there is no such body", i, def->body);
    const double *const field[] = {def->pos, def->quat, def->size, def->rgba};
    static const int count[] = {3, 4, 3, 4};
    static const char *const name[] = {"pos", "quat", "size", "rgba"};
    for (size_t f = 0; f < sizeof count / sizeof *count; f++)
    {
        for (int k = 0; k < count[f]; k++)
        {
            if (!isfinite(field[f][k]))
                return tg_fail(&b->error, TG_ERR_VALUE, "visual #%d: %s[%d] = %g: must be finite", i, name[f], k,
                               field[f][k]);
        }
    }
    return TG_OK;
}

/* ---- all of it ---- */

tg_status tg_builder_check(tg_builder *b)
{
    static tg_status (*const check[TG_ELEMENT_COUNT])(tg_builder *, int) = {
#define X(ELEMENT, element) [TG_##ELEMENT] = check_##element,
        TG_ELEMENTS(X)
#undef X
    };
    if (!(b->timestep > 0) || !isfinite(b->timestep))
        return tg_fail(&b->error, TG_ERR_VALUE, "timestep = %g: must be positive and finite", b->timestep);
    for (tg_element element = 0; element < TG_ELEMENT_COUNT; element++)
    {
        for (int id = 0; id < count_of(b, element); id++)
        {
            tg_status status = check_name(b, element, id);
            if (status == TG_OK)
                status = check[element](b, id);
            if (status != TG_OK)
                return status;
        }
    }
    for (int i = 0; i < b->list[TG_LIST_VISUAL].count; i++)
    {
        tg_status status = check_visual(b, i);
        if (status != TG_OK)
            return status;
    }
    return check_joint_mixtures(b);
}
