/* Validation of a parameter vector: the one table of what numbers may be, for the builder and for tg_params_changed.
 * A message is "name = value: what it must be". */
#include <math.h>

#include "base/status.h"
#include "model/inertia.h"
#include "model/params.h"
#include "tangere/algebra.h"

/* One slice under test. */
typedef struct subject
{
    const tg_params *p;
    int slice;
    tg_field field;
    const double *x;
    int index, size;
    const tg_origin *origin;
    tg_error *error;
} subject;

/* Refuses number component of the slice, or the slice as a whole (-1; value then says what is wrong with it). */
static tg_status refuse(const subject *s, int component, double value, const char *must)
{
    char name[256];
    tg_slice_name(s->p->model, s->slice, s->size > 1 ? component : -1, s->origin, name, sizeof name);
    return tg_fail(s->error, TG_ERR_VALUE, "%s = %.17g: %s", name, value, must);
}

static tg_status refuse_pair(const subject *s, const char *must)
{
    char name[256];
    tg_slice_name(s->p->model, s->slice, -1, s->origin, name, sizeof name);
    return tg_fail(s->error, TG_ERR_VALUE, "%s = %.17g %.17g: %s", name, s->x[0], s->x[1], must);
}

/* ---- one number ---- */

static const char *wrong_number(tg_domain domain, double x)
{
    if (domain == TG_DOMAIN_NONNEGATIVE && x < 0)
        return "must not be negative";
    if (domain == TG_DOMAIN_POSITIVE && x <= 0)
        return "must be positive";
    if (domain == TG_DOMAIN_FRACTION && (x <= 0 || x > 1))
        return "must be above 0 and at most 1";
    if (domain == TG_DOMAIN_UNIT_INTERVAL && (x < 0 || x > 1))
        return "must be between 0 and 1";
    return NULL;
}

static tg_status check_numbers(const subject *s, tg_domain domain)
{
    for (int i = 0; i < s->size; i++)
    {
        const char *must = isfinite(s->x[i]) ? wrong_number(domain, s->x[i]) : "must be finite";
        if (must != NULL)
            return refuse(s, i, s->x[i], must);
    }
    return TG_OK;
}

/* ---- several numbers that belong together ---- */

static tg_status check_quaternion(const subject *s, const double q[4])
{
    double unit[4];
    double norm = tg_quat_normalise(q, unit);
    if (fabs(norm - 1) <= 1e-3)
        return TG_OK;
    char name[256];
    tg_slice_name(s->p->model, s->slice, -1, s->origin, name, sizeof name);
    return tg_fail(s->error, TG_ERR_VALUE, "%s = %g %g %g %g: quaternion of norm %.9g: must be within 1e-3 of 1", name,
                   q[0], q[1], q[2], q[3], norm);
}

static tg_status check_axis(const subject *s)
{
    int type = s->p->model->joint_type[s->index];
    if (type != TG_JOINT_HINGE && type != TG_JOINT_SLIDE)
        return TG_OK;
    double largest = fmax(fabs(s->x[0]), fmax(fabs(s->x[1]), fabs(s->x[2])));
    if (largest >= 1e-10)
        return TG_OK;
    char name[256];
    tg_slice_name(s->p->model, s->slice, -1, s->origin, name, sizeof name);
    return tg_fail(s->error, TG_ERR_VALUE, "%s = %g %g %g: an axis must not be zero", name, s->x[0], s->x[1], s->x[2]);
}

/* Positive semidefinite, and the principal moments of a mass distribution: A + B >= C. Both up to 1e-6 of the
 * largest, since files carry few digits. */
static tg_status check_inertia(const subject *s)
{
    double moment[3];
    tg_principal_moments(s->x, moment);
    double slack = 1e-6 * fabs(moment[2]);
    const char *must = NULL;
    if (moment[0] < -slack)
        must = "an inertia must be positive semidefinite";
    else if (moment[0] + moment[1] < moment[2] - slack)
        must = "principal moments must satisfy A + B >= C";
    if (must == NULL)
        return TG_OK;
    char name[256];
    tg_slice_name(s->p->model, s->slice, -1, s->origin, name, sizeof name);
    return tg_fail(s->error, TG_ERR_VALUE, "%s = %g %g %g %g %g %g: principal moments %g %g %g: %s", name, s->x[0],
                   s->x[1], s->x[2], s->x[3], s->x[4], s->x[5], moment[0], moment[1], moment[2], must);
}

/* Is the limit on to which a range belongs? */
static bool is_limited(const tg_model *m, tg_field field, int index)
{
    switch (field)
    {
    case TG_FIELD_joint_range:
        return m->joint_limited[index] != 0;
    case TG_FIELD_joint_force_range:
        return m->joint_force_limited[index] != 0;
    case TG_FIELD_tendon_range:
        return m->tendon_limited[index] != 0;
    case TG_FIELD_actuator_ctrl_range:
        return m->actuator_ctrl_limited[index] != 0;
    case TG_FIELD_actuator_force_range:
        return m->actuator_force_limited[index] != 0;
    default:
        return m->actuator_act_limited[index] != 0;
    }
}

static tg_status check_range(const subject *s)
{
    const tg_model *m = s->p->model;
    if (!is_limited(m, s->field, s->index))
        return TG_OK;
    bool ball = s->field == TG_FIELD_joint_range && m->joint_type[s->index] == TG_JOINT_BALL;
    if (ball && !(s->x[0] == 0 && s->x[1] > 0))
        return refuse_pair(s, "the range of a ball must be 0 and a positive angle");
    if (!(s->x[0] < s->x[1]))
        return refuse_pair(s, "the first number must be below the second");
    return TG_OK;
}

static tg_status check_geom_size(const subject *s)
{
    static const int used[TG_GEOM_TYPE_COUNT] = {
        [TG_GEOM_PLANE] = 3,    [TG_GEOM_SPHERE] = 1, [TG_GEOM_CAPSULE] = 2, [TG_GEOM_ELLIPSOID] = 3,
        [TG_GEOM_CYLINDER] = 2, [TG_GEOM_BOX] = 3,    [TG_GEOM_MESH] = 3,
    };
    int type = s->p->model->geom_type[s->index];
    for (int i = 0; i < used[type]; i++)
    {
        if (type == TG_GEOM_MESH && s->x[i] == 0)
            return refuse(s, i, s->x[i], "the scale of a mesh must not be zero");
        bool zero_allowed = type == TG_GEOM_PLANE || type == TG_GEOM_SPHERE;
        if (type != TG_GEOM_MESH && (zero_allowed ? s->x[i] < 0 : s->x[i] <= 0))
            return refuse(s, i, s->x[i], zero_allowed ? "must not be negative" : "must be positive");
    }
    return TG_OK;
}

static tg_status check_coef(const subject *s)
{
    const tg_model *m = s->p->model;
    for (int i = 0; i < s->size; i++)
    {
        if (m->path_type[m->tendon_path[s->index] + i] == TG_PATH_PULLEY && s->x[i] <= 0)
            return refuse(s, i, s->x[i], "the divisor of a pulley must be positive");
    }
    return TG_OK;
}

static tg_status check_rest(const subject *s)
{
    if (s->x[0] > s->x[1])
        return refuse_pair(s, "the first number must not be above the second");
    bool spatial = s->p->model->tendon_type[s->index] == TG_TENDON_SPATIAL;
    return spatial && s->x[0] < 0 ? refuse_pair(s, "a spatial tendon has no negative length") : TG_OK;
}

static tg_status check_tau(const subject *s)
{
    int dynamics = s->p->model->actuator_dynamics[s->index];
    if ((dynamics == TG_DYNAMICS_FILTER || dynamics == TG_DYNAMICS_FILTEREXACT) && s->x[0] <= 0)
        return refuse(s, 0, s->x[0], "the time constant of a filter must be positive");
    return TG_OK;
}

static tg_status check_equality(const subject *s)
{
    if (s->p->model->equality_type[s->index] != TG_EQUALITY_WELD)
        return TG_OK;
    if (s->x[10] < 0)
        return refuse(s, 10, s->x[10], "the torque scale of a weld must not be negative");
    return check_quaternion(s, s->x + 6);
}

static tg_status check_hfield_size(const subject *s)
{
    for (int i = 0; i < 4; i++)
    {
        if (i < 3 ? s->x[i] <= 0 : s->x[i] < 0)
            return refuse(s, i, s->x[i], i < 3 ? "must be positive" : "must not be negative");
    }
    return TG_OK;
}

/* What drives a rest length does not depend on length and velocity. */
static tg_status check_drive(const subject *s)
{
    bool law = s->field == TG_FIELD_actuator_gain || s->field == TG_FIELD_actuator_bias;
    if (!law || s->p->model->actuator_drives[s->index] != TG_DRIVES_REST)
        return TG_OK;
    for (int i = 1; i < 3; i++)
        if (s->x[i] != 0)
            return refuse(s, i, s->x[i], "must be 0 where an actuator drives a rest length");
    return TG_OK;
}

/* ---- a slice, the vector ---- */

static tg_status check_slice(const subject *s)
{
    tg_domain domain = tg_fields[s->field].domain;
    tg_status status = check_numbers(s, domain);
    if (status != TG_OK)
        return status;
    switch (domain)
    {
    case TG_DOMAIN_QUATERNION:
        return check_quaternion(s, s->x);
    case TG_DOMAIN_AXIS:
        return check_axis(s);
    case TG_DOMAIN_INERTIA:
        return check_inertia(s);
    case TG_DOMAIN_RANGE:
        return check_range(s);
    case TG_DOMAIN_ORDERED:
        return check_rest(s);
    case TG_DOMAIN_GEOM_SIZE:
        return check_geom_size(s);
    case TG_DOMAIN_COEF:
        return check_coef(s);
    case TG_DOMAIN_TAU:
        return check_tau(s);
    case TG_DOMAIN_EQUALITY:
        return check_equality(s);
    case TG_DOMAIN_HFIELD_SIZE:
        return check_hfield_size(s);
    default:
        return check_drive(s);
    }
}

tg_status tg_params_check(const tg_params *p, const tg_origin *origin, tg_error *error)
{
    const tg_model *m = p->model;
    subject s = {.p = p, .origin = origin, .error = error};
    for (s.field = 0; s.field < TG_FIELD_COUNT; s.field++)
    {
        int count = tg_element_count(m, tg_fields[s.field].element);
        for (s.index = 0; s.index < count; s.index++, s.slice++)
        {
            s.x = p->value + m->slice[s.slice].offset;
            s.size = m->slice[s.slice].size;
            tg_status status = check_slice(&s);
            if (status != TG_OK)
                return status;
        }
    }
    return TG_OK;
}

/* Below this, the mass matrix has no usable diagonal. */
#define SMALLEST_INERTIA 1e-15

tg_status tg_params_check_inertia(const tg_params *p, const tg_origin *origin, tg_error *error)
{
    const tg_model *m = p->model;
    for (int dof = 0; dof < m->nv; dof++)
    {
        if (p->dof_inertia[dof] >= SMALLEST_INERTIA)
            continue;
        int joint = m->dof_joint[dof];
        char name[200];
        tg_slice_name(m, tg_param_slice_of(m, TG_FIELD_joint_armature, joint), -1, origin, name, sizeof name);
        return tg_fail(
            error, TG_ERR_MODEL,
            "%s = %g: no inertia resists dof %d of the joint (%g in all): the bodies that it moves need mass "
            "or inertia, or the joint an armature",
            name, TG_PARAM(p, joint_armature)[joint], dof - m->joint_dof[joint], p->dof_inertia[dof]);
    }
    return TG_OK;
}
