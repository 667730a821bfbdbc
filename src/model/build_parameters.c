/* The parameter vector of a model from the definitions of its builder: copied, made from geoms, or taken from the
 * reference configuration. */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "model/build.h"
#include "model/inertia.h"
#include "model/params.h"
#include "model/reference.h"
#include "tangere/algebra.h"

/* ---- copied ---- */

static void put(double *field, int index, const void *from, size_t bytes)
{
    memcpy((char *)field + (size_t)index * bytes, from, bytes);
}

/* Field of element i in the vector = the same field of the definition `def`. */
#define PUT(element, field) put(TG_PARAM(p, element##_##field), i, &def->field, sizeof def->field)

static void put_bodies(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nbody; i++)
    {
        const tg_body_def *def = &TG_ITEM(w->b, BODY, body, tg_build_id(w, TG_BODY, i))->def;
        PUT(body, pos);
        PUT(body, quat);
        if (!def->inertial)
            continue; /* from the geoms, once these are known to be good */
        PUT(body, mass);
        PUT(body, com);
        PUT(body, inertia);
    }
}

static void put_joints(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->njoint; i++)
    {
        const tg_joint_def *def = &TG_ITEM(w->b, JOINT, joint, tg_build_id(w, TG_JOINT, i))->def;
        PUT(joint, pos);
        PUT(joint, axis);
        PUT(joint, ref);
        PUT(joint, springref);
        PUT(joint, stiffness);
        PUT(joint, damping);
        PUT(joint, armature);
        PUT(joint, frictionloss);
        PUT(joint, range);
        PUT(joint, margin);
        PUT(joint, force_range);
    }
}

static void put_geoms(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->ngeom; i++)
    {
        const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, tg_build_id(w, TG_GEOM, i))->def;
        PUT(geom, pos);
        PUT(geom, quat);
        PUT(geom, size);
        PUT(geom, friction);
        PUT(geom, kinetic);
        PUT(geom, slip_speed);
        PUT(geom, damping);
        PUT(geom, restitution);
        PUT(geom, compliance);
        PUT(geom, margin);
        double *size = TG_PARAM(p, geom_size) + 3 * i;
        if (def->type == TG_GEOM_MESH && size[0] == 0 && size[1] == 0 && size[2] == 0)
            size[0] = size[1] = size[2] = 1;
    }
}

static void put_sites(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nsite; i++)
    {
        const tg_site_def *def = &TG_ITEM(w->b, SITE, site, tg_build_id(w, TG_SITE, i))->def;
        PUT(site, pos);
        PUT(site, quat);
    }
}

/* Is the rest length left to the reference configuration of the springs? */
static bool is_rest_open(const tg_tendon_def *def)
{
    return def->rest[0] == -1 && def->rest[1] == -1;
}

static void put_tendons(const tg_build *w, tg_params *p)
{
    const tg_path *path = TG_LIST(w->b, PATH, tg_path);
    for (int i = 0; i < w->m->ntendon; i++)
    {
        const tg_tendon_def *def = &TG_ITEM(w->b, TENDON, tendon, i)->def;
        PUT(tendon, stiffness);
        PUT(tendon, damping);
        PUT(tendon, frictionloss);
        PUT(tendon, range);
        PUT(tendon, margin);
        if (!is_rest_open(def))
            PUT(tendon, rest);
    }
    for (int i = 0; i < w->m->npath; i++)
        TG_PARAM(p, tendon_coef)[i] = path[i].type == TG_PATH_SITE ? 0 : path[i].value;
}

static void put_actuators(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nu; i++)
    {
        const tg_actuator_def *def = &TG_ITEM(w->b, ACTUATOR, actuator, i)->def;
        PUT(actuator, gear);
        PUT(actuator, gain);
        PUT(actuator, bias);
        PUT(actuator, tau);
        PUT(actuator, ctrl_range);
        PUT(actuator, force_range);
        PUT(actuator, act_range);
    }
}

/* The numbers of an equality that may be left to the reference configuration: first, and how many. */
static int open_numbers(tg_equality_type type, int *count)
{
    *count = type == TG_EQUALITY_CONNECT ? 3 : type == TG_EQUALITY_WELD ? 7 : 0;
    return 3;
}

static bool is_open(const tg_equality_def *def)
{
    int count;
    int first = open_numbers(def->type, &count);
    for (int i = 0; i < count; i++)
    {
        if (!isnan(def->data[first + i]))
            return false;
    }
    return count > 0;
}

static void put_equalities(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->nequality; i++)
    {
        const tg_equality_def *def = &TG_ITEM(w->b, EQUALITY, equality, i)->def;
        PUT(equality, data);
        if (!is_open(def))
            continue;
        double *data = TG_PARAM(p, equality_data) + 11 * i; /* any valid numbers, until they are resolved */
        memcpy(data + 3, (const double[7]){0, 0, 0, 1, 0, 0, 0}, 7 * sizeof *data);
        if (def->type == TG_EQUALITY_CONNECT)
            memcpy(data + 6, def->data + 6, 4 * sizeof *data);
    }
}

static void put_pairs(const tg_build *w, tg_params *p)
{
    for (int i = 0; i < w->m->npair; i++)
    {
        const tg_pair_def *def = &TG_ITEM(w->b, PAIR, pair, i)->def;
        PUT(pair, friction);
        PUT(pair, kinetic);
        PUT(pair, slip_speed);
        PUT(pair, damping);
        PUT(pair, restitution);
        PUT(pair, compliance);
        PUT(pair, margin);
    }
    for (int i = 0; i < w->m->nhfield; i++)
    {
        const tg_hfield_def *def = &TG_ITEM(w->b, HFIELD, hfield, i)->def;
        PUT(hfield, size);
    }
}

static void put_parameters(const tg_build *w)
{
    tg_params *p = w->m->params;
    put_bodies(w, p);
    put_joints(w, p);
    put_geoms(w, p);
    put_sites(w, p);
    put_tendons(w, p);
    put_actuators(w, p);
    put_equalities(w, p);
    put_pairs(w, p);
    memcpy(TG_PARAM(p, gravity_), w->b->gravity, sizeof w->b->gravity);
}

/* ---- mass from geoms ---- */

/* A height field counts as the box of its mean height. */
static tg_lump unit_lump(const tg_build *w, int geom)
{
    const tg_model *m = w->m;
    const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, tg_build_id(w, TG_GEOM, geom))->def;
    const double *size = TG_PARAM(m->params, geom_size) + 3 * geom;
    if (def->type == TG_GEOM_MESH)
        return tg_mesh_lump(m->vertex + 3 * (size_t)m->mesh_vertex[def->mesh],
                            m->face + 3 * (size_t)m->mesh_face[def->mesh], m->mesh_nface[def->mesh], size, def->shell);
    if (def->type == TG_GEOM_HFIELD)
    {
        const double *s = TG_PARAM(m->params, hfield_size) + 4 * def->hfield;
        const double box[3] = {s[0], s[1], s[2] / 4 + s[3] / 2};
        return tg_shape_lump(TG_GEOM_BOX, box, def->shell);
    }
    return tg_shape_lump(def->type, size, def->shell);
}

/* A geom with its mass (given, or from its density) in the frame of its body. */
static tg_status geom_lump(tg_build *w, int geom, tg_lump *out)
{
    const tg_params *p = w->m->params;
    int id = tg_build_id(w, TG_GEOM, geom);
    const tg_geom_def *def = &TG_ITEM(w->b, GEOM, geom, id)->def;
    *out = (tg_lump){0};
    if (def->mass == 0 || (def->mass < 0 && def->density == 0) || def->type == TG_GEOM_PLANE)
        return TG_OK;
    tg_lump unit = unit_lump(w, geom);
    if (def->type == TG_GEOM_MESH && !(unit.mass > 1e-15))
        return tg_fail(&w->b->error, TG_ERR_MODEL,
                       "geom '%.100s' (#%d): mesh = '%.100s' (#%d): its %s is %g: must be positive (faces counter-"
                       "clockwise seen from outside)",
                       tg_builder_name_of(w->b, TG_GEOM, id), id, tg_builder_name_of(w->b, TG_MESH, def->mesh),
                       def->mesh, def->shell ? "area" : "volume", unit.mass);
    double mass = def->mass >= 0 ? def->mass : def->density * unit.mass;
    double scale = unit.mass > 0 ? mass / unit.mass : 0; /* a sphere of radius 0 is a point */
    for (int i = 0; i < 6; i++)
        unit.inertia[i] *= scale;
    unit.mass = mass;
    double quat[4];
    double R[9];
    tg_quat_normalise(TG_PARAM(p, geom_quat) + 4 * geom, quat);
    tg_quat_to_matrix(quat, R);
    *out = tg_lump_move(&unit, R, TG_PARAM(p, geom_pos) + 3 * geom);
    return TG_OK;
}

static tg_status put_inertia_from_geoms(tg_build *w)
{
    const tg_model *m = w->m;
    tg_params *p = m->params;
    for (int body = 1; body < m->nbody; body++)
    {
        if (TG_ITEM(w->b, BODY, body, tg_build_id(w, TG_BODY, body))->def.inertial)
            continue;
        tg_lump sum = {0};
        for (int i = 0; i < m->body_ngeom[body]; i++)
        {
            tg_lump lump;
            tg_status status = geom_lump(w, m->body_geom[body] + i, &lump);
            if (status != TG_OK)
                return status;
            tg_lump_add(&sum, &lump);
        }
        TG_PARAM(p, body_mass)[body] = sum.mass;
        memcpy(TG_PARAM(p, body_com) + 3 * body, sum.com, sizeof sum.com);
        memcpy(TG_PARAM(p, body_inertia) + 6 * body, sum.inertia, sizeof sum.inertia);
    }
    return TG_OK;
}

/* ---- what the reference configuration decides ---- */

static void resolve_equality(const tg_build *w, int equality, const double *pose)
{
    const tg_model *m = w->m;
    double *data = TG_PARAM(m->params, equality_data) + 11 * equality;
    double inverse[7];
    const double *pose1 = pose + 7 * m->equality_obj1[equality];
    const double *pose2 = pose + 7 * m->equality_obj2[equality];
    if (m->equality_type[equality] == TG_EQUALITY_CONNECT)
    {
        tg_se3_transform(pose1, data, data + 3);
        tg_se3_inverse(pose2, inverse);
        tg_se3_transform(inverse, data + 3, data + 3);
        return;
    }
    tg_se3_inverse(pose1, inverse);
    tg_se3_multiply(inverse, pose2, data + 3);
}

static tg_status resolve_reference(tg_build *w)
{
    tg_model *m = w->m;
    tg_params *p = m->params;
    double *pose = tg_alloc(&w->b->allocator, 7 * (size_t)m->nbody * sizeof *pose);
    if (pose == NULL)
        return tg_fail(&w->b->error, TG_ERR_MEMORY, "model: out of memory for the poses of %d bodies", m->nbody);
    tg_reference_poses(p, p->q0, pose);
    for (int i = 0; i < m->nequality; i++)
    {
        if (is_open(&TG_ITEM(w->b, EQUALITY, equality, i)->def))
            resolve_equality(w, i, pose);
    }
    tg_reference_poses(p, p->q_spring, pose);
    for (int i = 0; i < m->ntendon; i++)
    {
        double *rest = TG_PARAM(p, tendon_rest) + 2 * i;
        if (is_rest_open(&TG_ITEM(w->b, TENDON, tendon, i)->def))
            rest[0] = rest[1] = tg_reference_tendon_length(p, i, p->q_spring, pose);
    }
    tg_free(&w->b->allocator, pose);
    return TG_OK;
}

static tg_status fill_vector(tg_build *w)
{
    tg_params *p = w->m->params;
    tg_error *error = &w->b->error;
    const tg_origin *origin = &w->order.origin;
    put_parameters(w);
    tg_status status = tg_params_check(p, origin, error);
    if (status == TG_OK)
        status = put_inertia_from_geoms(w);
    if (status != TG_OK)
        return status;
    tg_params_derive(p);
    status = resolve_reference(w);
    if (status == TG_OK)
        status = tg_params_check(p, origin, error); /* once more, with what was computed */
    if (status == TG_OK)
        status = tg_params_check_inertia(p, origin, error);
    p->ready = status == TG_OK;
    return status;
}

/* ---- keyframes ---- */

static tg_status check_key_length(tg_build *w, int key, const char *field, int given, int expected)
{
    if (given == expected)
        return TG_OK;
    return tg_fail(&w->b->error, TG_ERR_MODEL, "key '%.200s' (#%d): %s = %d: the model has %d",
                   tg_builder_name_of(w->b, TG_KEY, key), key, field, given, expected);
}

static tg_status fill_key_part(tg_build *w, int key, int part, const char *field, int given, const double *fallback,
                               double *out, int expected)
{
    int start = TG_ITEM(w->b, KEY, key, key)->start[part];
    if (start < 0)
    {
        if (fallback != NULL && expected > 0)
            memcpy(out, fallback, (size_t)expected * sizeof *out);
        return TG_OK;
    }
    tg_status status = check_key_length(w, key, field, given, expected);
    if (status == TG_OK && expected > 0)
        memcpy(out, TG_LIST(w->b, NUMBER, double) + start, (size_t)expected * sizeof *out);
    return status;
}

static tg_status check_key_quaternions(tg_build *w, int key, const double *q)
{
    const tg_model *m = w->m;
    for (int i = 0; i < m->nquat; i++)
    {
        int at = m->quat_q[i];
        double unit[4];
        double norm = tg_quat_normalise(q + at, unit);
        if (fabs(norm - 1) > 1e-3)
            return tg_fail(&w->b->error, TG_ERR_VALUE,
                           "key '%.200s' (#%d): q[%d..%d]: quaternion of norm %g: must be 1",
                           tg_builder_name_of(w->b, TG_KEY, key), key, at, at + 3, norm);
    }
    return TG_OK;
}

static tg_status fill_key(tg_build *w, int key)
{
    tg_model *m = w->m;
    const tg_key_def *def = &TG_ITEM(w->b, KEY, key, key)->def;
    double *q = m->key_q + (size_t)key * m->nq;
    m->key_time[key] = def->time;
    tg_status status = fill_key_part(w, key, 0, "nq", def->nq, m->params->q0, q, m->nq);
    if (status == TG_OK)
        status = fill_key_part(w, key, 1, "nv", def->nv, NULL, m->key_v + (size_t)key * m->nv, m->nv);
    if (status == TG_OK)
        status = fill_key_part(w, key, 2, "na", def->na, NULL, m->key_act + (size_t)key * m->na, m->na);
    if (status == TG_OK)
        status = fill_key_part(w, key, 3, "nu", def->nu, NULL, m->key_ctrl + (size_t)key * m->nu, m->nu);
    return status != TG_OK ? status : check_key_quaternions(w, key, q);
}

tg_status tg_build_parameters(tg_build *w)
{
    tg_status status = fill_vector(w);
    for (int key = 0; key < w->m->nkey && status == TG_OK; key++)
        status = fill_key(w, key);
    return status;
}
