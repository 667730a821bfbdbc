/* What written values mean: angles, orientations, ends of a capsule, limits. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

#define PI 3.14159265358979323846
#define TOO_SMALL 1e-14 /* length below which a direction is none */

double tg_mjcf_angle(const tg_mjcf *r, const tg_xml *xml, double written)
{
    return tg_mjcf_compiler_of(r, xml)->degree ? written / 180 * PI : written;
}

tg_status tg_mjcf_pose_form(tg_mjcf *r, const tg_xml *xml, tg_mjcf_pose *pose)
{
    static const struct
    {
        const char *attribute;
        tg_mjcf_form form;
    } forms[] = {{"axisangle", TG_MJCF_AXISANGLE},
                 {"xyaxes", TG_MJCF_XYAXES},
                 {"zaxis", TG_MJCF_ZAXIS},
                 {"euler", TG_MJCF_EULER}};
    const char *first = tg_xml_get(xml, "quat") != NULL ? "quat" : NULL;
    if (first != NULL)
        pose->form = TG_MJCF_QUAT;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    {
        if (tg_xml_get(xml, forms[i].attribute) == NULL)
            continue;
        if (first != NULL)
            return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes '%s' and '%s' both give the orientation", first,
                               forms[i].attribute);
        first = forms[i].attribute;
        pose->form = forms[i].form;
    }
    return TG_OK;
}

/* v / |v|, and |v| */
static double normalise(double v[3])
{
    double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int i = 0; i < 3 && length >= TOO_SMALL; i++)
        v[i] /= length;
    return length;
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* The smallest rotation of +z to the unit vector v; about x when v is -z. */
static void quat_from_z(const double v[3], double quat[4])
{
    double axis[3] = {-v[1], v[0], 0}; /* z x v */
    double sine = sqrt(v[0] * v[0] + v[1] * v[1]);
    if (sine < 1e-10)
        axis[0] = 1, axis[1] = 0;
    tg_quat_from_axis_angle(axis, atan2(sine, v[2]), quat);
}

static bool quat_from_xyaxes(const double xyaxes[6], double quat[4])
{
    double x[3], y[3], z[3];
    memcpy(x, xyaxes, sizeof x);
    memcpy(y, xyaxes + 3, sizeof y);
    if (normalise(x) < TOO_SMALL)
        return false;
    double d = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    for (int i = 0; i < 3; i++)
        y[i] -= d * x[i];
    if (normalise(y) < TOO_SMALL)
        return false;
    cross(x, y, z);
    double R[9] = {x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]};
    tg_quat_from_matrix(R, quat);
    return true;
}

/* Three turns; small letters are axes that move along, capitals stay. */
static void quat_from_euler(const tg_mjcf *r, const tg_xml *xml, const double euler[3], double quat[4])
{
    double total[4] = {1, 0, 0, 0};
    for (int i = 0; i < 3; i++)
    {
        char letter = tg_mjcf_compiler_of(r, xml)->eulerseq[i];
        bool moving = letter >= 'x';
        double half = tg_mjcf_angle(r, xml, euler[i]) / 2;
        double turn[4] = {cos(half), 0, 0, 0};
        turn[1 + letter - (moving ? 'x' : 'X')] = sin(half);
        if (moving)
            tg_quat_multiply(total, turn, total);
        else
            tg_quat_multiply(turn, total, total);
    }
    tg_quat_normalise(total, quat);
}

tg_status tg_mjcf_pose_resolve(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_pose *written, double pose[7])
{
    double z[3];
    memcpy(pose, written->pos, sizeof written->pos);
    switch (written->form)
    {
    case TG_MJCF_QUAT:
        if (tg_quat_normalise(written->quat, pose + 3) < TOO_SMALL)
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'quat': a zero quaternion is no orientation");
        return TG_OK;
    case TG_MJCF_AXISANGLE:
        memcpy(z, written->axisangle, sizeof z);
        if (normalise(z) < TOO_SMALL)
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'axisangle': the axis is zero");
        tg_quat_from_axis_angle(z, tg_mjcf_angle(r, xml, written->axisangle[3]), pose + 3);
        return TG_OK;
    case TG_MJCF_XYAXES:
        if (!quat_from_xyaxes(written->xyaxes, pose + 3))
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'xyaxes': the axes are zero or parallel");
        return TG_OK;
    case TG_MJCF_ZAXIS:
        memcpy(z, written->zaxis, sizeof z);
        if (normalise(z) < TOO_SMALL)
            return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'zaxis': the axis is zero");
        quat_from_z(z, pose + 3);
        return TG_OK;
    case TG_MJCF_EULER:
        quat_from_euler(r, xml, written->euler, pose + 3);
        return TG_OK;
    }
    return TG_OK;
}

tg_status tg_mjcf_fromto(tg_mjcf *r, const tg_xml *xml, int type, const double fromto[6], const double pos[3],
                         double pose[7], double size[3])
{
    bool round = type == TG_GEOM_CAPSULE || type == TG_GEOM_CYLINDER;
    if (!round && type != TG_GEOM_ELLIPSOID && type != TG_GEOM_BOX)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml,
                           "attribute 'fromto' needs the type capsule, cylinder, ellipsoid or box");
    if (pos[0] != 0 || pos[1] != 0 || pos[2] != 0)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml, "attributes 'pos' and 'fromto' both give the position");
    double along[3];
    for (int i = 0; i < 3; i++)
    {
        along[i] = fromto[i] - fromto[3 + i];
        pose[i] = (fromto[i] + fromto[3 + i]) / 2;
    }
    double half = normalise(along) / 2;
    if (half < TOO_SMALL)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute 'fromto': the two points are the same");
    quat_from_z(along, pose + 3);
    size[2] = round ? size[2] : half;
    size[1] = round ? half : size[0];
    return TG_OK;
}

tg_status tg_mjcf_limits(tg_mjcf *r, const tg_xml *xml, const char *prefix, int limited, const double range[2],
                         bool *on)
{
    bool given = range[0] != 0 || range[1] != 0;
    if (limited == TG_MJCF_AUTO && given && !tg_mjcf_compiler_of(r, xml)->autolimits)
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml,
                           "attribute '%srange' without '%slimited', and the compiler's autolimits is false", prefix,
                           prefix);
    *on = limited == TG_MJCF_TRUE || (limited == TG_MJCF_AUTO && range[0] < range[1]);
    return TG_OK;
}
