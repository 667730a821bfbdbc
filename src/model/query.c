/* What a model tells about itself. */
#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "model/builder.h"
#include "model/params.h"

const char *tg_tendon_law_string(tg_tendon_law law)
{
    static const char *const name[] = {"two-sided", "spring", "all"};
    _Static_assert(sizeof name / sizeof name[0] == TG_TENDON_LAWS, "a name for every law");
    return (unsigned)law < TG_TENDON_LAWS ? name[law] : "unknown";
}

const char *tg_drives_string(tg_drives drives)
{
    static const char *const name[] = {"force", "rest"};
    _Static_assert(sizeof name / sizeof name[0] == TG_DRIVES_COUNT, "a name for each");
    return (unsigned)drives < TG_DRIVES_COUNT ? name[drives] : "unknown";
}

const char *tg_element_string(tg_element element)
{
    static const char *const names[] = {
#define X(ELEMENT, element) [TG_##ELEMENT] = #element,
        TG_ELEMENTS(X)
#undef X
    };
    _Static_assert(sizeof names / sizeof *names == TG_ELEMENT_COUNT, "one name an element kind");
    return (unsigned)element < TG_ELEMENT_COUNT ? names[element] : NULL;
}

tg_sizes tg_model_sizes(const tg_model *m)
{
    if (m == NULL)
        return (tg_sizes){0};
    return (tg_sizes){
        .nq = m->nq,
        .nv = m->nv,
        .nu = m->nu,
        .na = m->na,
        .nbody = m->nbody,
        .njoint = m->njoint,
        .ngeom = m->ngeom,
        .nsite = m->nsite,
        .ntendon = m->ntendon,
        .nequality = m->nequality,
        .npair = m->npair,
        .nexclude = m->nexclude,
        .nkey = m->nkey,
        .nmesh = m->nmesh,
        .nhfield = m->nhfield,
        .ntree = m->ntree,
        .nparams = m->nparams,
        .ncandidate = m->ncandidate,
        .nvisual = m->nvisual,
    };
}

void tg_model_destroy(tg_model *m)
{
    if (m == NULL)
        return;
    tg_allocator allocator = m->allocator;
    for (int i = 0; i < m->nmesh; i++)
        tg_polytope_destroy(&allocator, m->mesh_polytope[i]);
    tg_free(&allocator, m);
}

/* ---- names ---- */

const char *tg_model_name(const tg_model *m)
{
    return m != NULL ? m->text + m->model_name : NULL;
}

const char *tg_name(const tg_model *m, tg_element element, int index)
{
    if (m == NULL || (unsigned)element >= TG_ELEMENT_COUNT || index < 0 || index >= tg_element_count(m, element))
        return NULL;
    return m->text + m->name_start[m->name_base[element] + index];
}

/* strcmp of name[0 .. length) with a terminated string */
static int compare(const char *name, size_t length, const char *string)
{
    int order = strncmp(name, string, length);
    return order != 0 ? order : (string[length] != '\0' ? -1 : 0);
}

/* "#7" is 7, anything else -1. */
static int number_of(const char *name, size_t length)
{
    if (length < 2 || length > 10 || name[0] != '#')
        return -1;
    long number = 0;
    for (size_t i = 1; i < length; i++)
    {
        if (name[i] < '0' || name[i] > '9')
            return -1;
        number = 10 * number + (name[i] - '0');
    }
    return number <= 999999999 ? (int)number : -1;
}

int tg_find_length(const tg_model *m, tg_element element, const char *name, size_t length)
{
    int count = tg_element_count(m, element);
    const int *sorted = m->name_sorted + m->name_base[element];
    int low = 0;
    int high = count;
    while (low < high)
    {
        int middle = low + (high - low) / 2;
        int order = compare(name, length, tg_name(m, element, sorted[middle]));
        if (order == 0 && length > 0)
            return sorted[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    int number = number_of(name, length);
    return number < count ? number : -1;
}

int tg_find(const tg_model *m, tg_element element, const char *name)
{
    if (m == NULL || (unsigned)element >= TG_ELEMENT_COUNT || name == NULL)
        return -1;
    return tg_find_length(m, element, name, strlen(name));
}

/* ---- numbers of the whole ---- */

double tg_model_mass(const tg_model *m)
{
    if (m == NULL)
        return 0;
    double sum = 0;
    for (int body = 1; body < m->nbody; body++)
        sum += TG_PARAM(m->params, body_mass)[body];
    return sum;
}

bool tg_model_implicit(const tg_model *m)
{
    return m != NULL && m->implicit;
}

bool tg_model_implicit_gyroscopic(const tg_model *m)
{
    return m != NULL && m->implicit_gyroscopic;
}

double tg_model_timestep(const tg_model *m)
{
    return m != NULL ? m->timestep : 0;
}

/* ---- elements ---- */

static tg_status check_query(const tg_model *m, const void *out, const char *element, int index, int count,
                             tg_error *error)
{
    if (m == NULL || out == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", m == NULL ? "m" : "the output");
    if (index < 0 || index >= count)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s %d does not exist; the model has %d", element, index, count);
    return TG_OK;
}

tg_status tg_body_get(const tg_model *m, int body, tg_body_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "body", body, m != NULL ? m->nbody : 0, error);
    if (status != TG_OK)
        return status;
    *info = (tg_body_info){
        .parent = m->body_parent[body],
        .tree = m->body_tree[body],
        .joint = m->body_joint[body],
        .njoint = m->body_njoint[body],
        .dof = m->body_dof[body],
        .ndof = m->body_ndof[body],
        .geom = m->body_geom[body],
        .ngeom = m->body_ngeom[body],
    };
    return TG_OK;
}

tg_status tg_joint_get(const tg_model *m, int joint, tg_joint_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "joint", joint, m != NULL ? m->njoint : 0, error);
    if (status != TG_OK)
        return status;
    *info = (tg_joint_info){
        .type = (tg_joint_type)m->joint_type[joint],
        .body = m->joint_body[joint],
        .q = m->joint_q[joint],
        .dof = m->joint_dof[joint],
        .limited = m->joint_limited[joint] != 0,
    };
    return TG_OK;
}

tg_status tg_geom_get(const tg_model *m, int geom, tg_geom_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "geom", geom, m != NULL ? m->ngeom : 0, error);
    if (status != TG_OK)
        return status;
    *info = (tg_geom_info){
        .type = (tg_geom_type)m->geom_type[geom],
        .body = m->geom_body[geom],
        .mesh = m->geom_mesh[geom],
        .hfield = m->geom_hfield[geom],
        .contype = m->geom_contype[geom],
        .conaffinity = m->geom_conaffinity[geom],
        .condim = m->geom_condim[geom],
        .priority = m->geom_priority[geom],
        .group = m->geom_group[geom],
    };
    memcpy(info->rgba, m->geom_rgba + 4 * geom, sizeof info->rgba);
    return TG_OK;
}

tg_status tg_actuator_get(const tg_model *m, int actuator, tg_actuator_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "actuator", actuator, m != NULL ? m->nu : 0, error);
    if (status != TG_OK)
        return status;
    *info = (tg_actuator_info){
        .transmission = (tg_transmission)m->actuator_transmission[actuator],
        .target = m->actuator_target[actuator],
        .dynamics = (tg_dynamics_type)m->actuator_dynamics[actuator],
        .act = m->actuator_act[actuator],
        .ctrl_limited = m->actuator_ctrl_limited[actuator] != 0,
        .force_limited = m->actuator_force_limited[actuator] != 0,
        .act_limited = m->actuator_act_limited[actuator] != 0,
        .drives = (tg_drives)m->actuator_drives[actuator],
    };
    return TG_OK;
}

int tg_site_body(const tg_model *m, int site)
{
    return m != NULL && site >= 0 && site < m->nsite ? m->site_body[site] : -1;
}

/* ---- what a viewer draws ---- */

tg_status tg_mesh_get(const tg_model *m, int mesh, tg_mesh_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "mesh", mesh, m != NULL ? m->nmesh : 0, error);
    if (status == TG_OK)
        *info = (tg_mesh_info){m->mesh_nvertex[mesh], m->mesh_nface[mesh], m->vertex + 3 * (size_t)m->mesh_vertex[mesh],
                               m->face + 3 * (size_t)m->mesh_face[mesh]};
    return status;
}

tg_status tg_hull_get(const tg_model *m, int mesh, tg_hull_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "mesh", mesh, m != NULL ? m->nmesh : 0, error);
    if (status != TG_OK)
        return status;
    const tg_polytope *hull = m->mesh_polytope[mesh];
    *info = hull == NULL
                ? (tg_hull_info){0}
                : (tg_hull_info){hull->nvertex, hull->npolygon, hull->vertex, hull->polygon_start, hull->polygon};
    return TG_OK;
}

tg_status tg_hfield_get(const tg_model *m, int hfield, tg_hfield_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "hfield", hfield, m != NULL ? m->nhfield : 0, error);
    if (status == TG_OK)
        *info = (tg_hfield_info){m->hfield_nrow[hfield], m->hfield_ncol[hfield],
                                 m->elevation + m->hfield_elevation[hfield]};
    return status;
}

tg_status tg_tendon_get(const tg_model *m, int tendon, tg_tendon_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "tendon", tendon, m != NULL ? m->ntendon : 0, error);
    if (status == TG_OK)
        *info = (tg_tendon_info){(tg_tendon_type)m->tendon_type[tendon], m->tendon_npath[tendon],
                                 m->path_type + m->tendon_path[tendon], m->path_id + m->tendon_path[tendon],
                                 (tg_tendon_law)m->tendon_law[tendon]};
    return status;
}

tg_status tg_pair_get(const tg_model *m, int pair, tg_pair_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "pair", pair, m != NULL ? m->npair : 0, error);
    if (status == TG_OK)
        *info = (tg_pair_info){m->pair_geom1[pair], m->pair_geom2[pair], m->pair_condim[pair]};
    return status;
}

tg_status tg_visual_get(const tg_model *m, int visual, tg_visual_info *info, tg_error *error)
{
    tg_status status = check_query(m, info, "visual", visual, m != NULL ? m->nvisual : 0, error);
    if (status == TG_OK)
        *info = m->visual[visual];
    return status;
}

static void copy(double *out, const double *from, int key, int count)
{
    if (out != NULL && count > 0)
        memcpy(out, from + (size_t)key * count, (size_t)count * sizeof *out);
}

tg_status tg_key_get(const tg_model *m, int key, double *time, double *q, double *v, double *act, double *ctrl,
                     tg_error *error)
{
    tg_status status = check_query(m, m, "key", key, m != NULL ? m->nkey : 0, error);
    if (status != TG_OK)
        return status;
    copy(time, m->key_time, key, 1);
    copy(q, m->key_q, key, m->nq);
    copy(v, m->key_v, key, m->nv);
    copy(act, m->key_act, key, m->na);
    copy(ctrl, m->key_ctrl, key, m->nu);
    return TG_OK;
}

/* ---- the report ---- */

int tg_report_count(const tg_model *m)
{
    return m != NULL ? m->nreport : 0;
}

tg_status tg_report_get(const tg_model *m, int index, tg_report_entry *entry, tg_error *error)
{
    tg_status status = check_query(m, entry, "report entry", index, m != NULL ? m->nreport : 0, error);
    if (status != TG_OK)
        return status;
    *entry = m->report[index];
    return TG_OK;
}
