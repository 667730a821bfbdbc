/* Mass and inertia by the rules of MJCF.
 *
 * A body weighs what its inertial element says, or what its geoms weigh, as compiler.inertiafromgeom decides; then
 * boundmass, boundinertia and balanceinertia correct it. */
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "model/hull.h"
#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

#define NOTHING 1e-14 /* a mass or volume below this is none */

/* ---- meshes ---- */

static void corner(const tg_mesh_data *mesh, int face, int i, const double origin[3], double out[3])
{
    const double *v = mesh->vertex + 3 * (size_t)mesh->face[3 * (size_t)face + (size_t)i];
    for (int k = 0; k < 3; k++)
        out[k] = v[k] - origin[k];
}

static void cross_edges(double t[3][3], double out[3])
{
    double a[3], b[3];
    for (int k = 0; k < 3; k++)
    {
        a[k] = t[1][k] - t[0][k];
        b[k] = t[2][k] - t[0][k];
    }
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void load(const tg_mesh_data *mesh, int face, const double origin[3], double t[3][3])
{
    for (int i = 0; i < 3; i++)
        corner(mesh, face, i, origin, t[i]);
}

/* |(b - a) x (c - a) . a| / 6 of a triangle seen from the origin. */
static double pyramid_volume(double t[3][3])
{
    double n[3];
    cross_edges(t, n);
    return fabs(n[0] * t[0][0] + n[1] * t[0][1] + n[2] * t[0][2]) / 6;
}

/* Centre of the surface: mean of the triangles' centres, weighed by area. */
static void surface_centre(const tg_mesh_data *mesh, double centre[3])
{
    const double zero[3] = {0, 0, 0};
    double total = 0, sum[3] = {0, 0, 0};
    for (int f = 0; f < mesh->nface; f++)
    {
        double t[3][3], n[3];
        load(mesh, f, zero, t);
        cross_edges(t, n);
        double area = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / 2;
        total += area;
        for (int k = 0; k < 3; k++)
            sum[k] += area * (t[0][k] + t[1][k] + t[2][k]) / 3;
    }
    for (int k = 0; k < 3; k++)
        centre[k] = total > 0 ? sum[k] / total : 0;
}

/* The mode "legacy": every triangle and a centre make a pyramid, and all pyramids count as positive. So meshes with
 * holes or with triangles inside out have a mass; where two pyramids overlap, space counts twice. The centre of mass is
 * that of the pyramids over the centre of the surface; volume and inertia those of the pyramids over the centre of
 * mass. */
static tg_lump legacy_lump(const tg_mesh_data *mesh)
{
    tg_lump lump = {0};
    double centre[3], sum[3] = {0, 0, 0}, volume = 0, second[6] = {0};
    surface_centre(mesh, centre);
    for (int f = 0; f < mesh->nface; f++)
    {
        double t[3][3];
        load(mesh, f, centre, t);
        double v = pyramid_volume(t);
        volume += v;
        for (int k = 0; k < 3; k++)
            sum[k] += v * (t[0][k] + t[1][k] + t[2][k]) / 4;
    }
    for (int k = 0; k < 3; k++)
        lump.com[k] = centre[k] + (volume > 0 ? sum[k] / volume : 0);
    for (int f = 0; f < mesh->nface; f++)
    {
        static const int pair[6][2] = {{0, 0}, {1, 1}, {2, 2}, {0, 1}, {0, 2}, {1, 2}};
        double t[3][3];
        load(mesh, f, lump.com, t);
        double v = pyramid_volume(t);
        lump.mass += v;
        for (int p = 0; p < 6; p++)
        {
            /* integral of x_i x_j over the tetrahedron 0, a, b, c: v/20 (s_i s_j + sum of corners x_i x_j) */
            int i = pair[p][0], j = pair[p][1];
            double s = (t[0][i] + t[1][i] + t[2][i]) * (t[0][j] + t[1][j] + t[2][j]);
            second[p] += v / 20 * (s + t[0][i] * t[0][j] + t[1][i] * t[1][j] + t[2][i] * t[2][j]);
        }
    }
    lump.inertia[0] = second[1] + second[2];
    lump.inertia[1] = second[0] + second[2];
    lump.inertia[2] = second[0] + second[1];
    for (int p = 3; p < 6; p++)
        lump.inertia[p] = -second[p];
    return lump;
}

tg_status tg_mjcf_weigh_mesh(tg_mjcf *r, const tg_xml *xml, tg_mjcf_mesh_known *mesh)
{
    static const double unit[3] = {1, 1, 1};
    if (mesh->weighed)
        return TG_OK;
    tg_mesh_data data = mesh->data;
    int *hull = NULL;
    if (data.nfirst > 0)
        data.nface = data.nfirst;
    if (mesh->inertia == TG_MJCF_CONVEX || data.nface == 0)
    {
        tg_error inner = {0};
        tg_status status = tg_convex_hull(r->allocator, data.vertex, data.nvertex, &hull, &data.nface, &inner);
        if (status != TG_OK)
            return tg_xml_fail(r->error, status, xml, "attribute 'mesh': %.250s", inner.message);
        data.face = hull;
    }
    mesh->lump = mesh->inertia == TG_MJCF_LEGACY
                     ? legacy_lump(&data)
                     : tg_mesh_lump(data.vertex, data.face, data.nface, unit, mesh->inertia == TG_MJCF_SHELL);
    tg_free(r->allocator, hull);
    if (!(mesh->lump.mass > 0))
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml,
                           "attribute 'mesh': its volume is %g; the triangles may be inside out", mesh->lump.mass);
    mesh->weighed = true;
    return TG_OK;
}

/* ---- geoms ---- */

/* At unit density, in the frame of the geom. */
static tg_status unit_lump(tg_mjcf *r, const tg_xml *xml, const tg_geom_def *geom, tg_lump *lump)
{
    if (geom->type == TG_GEOM_MESH)
    {
        tg_mjcf_mesh_known *mesh = (tg_mjcf_mesh_known *)r->mesh.data + geom->mesh;
        tg_status status = tg_mjcf_weigh_mesh(r, xml, mesh);
        *lump = mesh->lump;
        return status;
    }
    if (geom->type == TG_GEOM_HFIELD) /* a box of its mean height */
    {
        const double *s = ((tg_mjcf_hfield_known *)r->hfield.data + geom->hfield)->size;
        double box[3] = {s[0], s[1], 0.25 * s[2] + 0.5 * s[3]};
        *lump = tg_shape_lump(TG_GEOM_BOX, box, geom->shell);
        return TG_OK;
    }
    *lump = geom->type == TG_GEOM_PLANE ? (tg_lump){0} : tg_shape_lump(geom->type, geom->size, geom->shell);
    return TG_OK;
}

tg_status tg_mjcf_geom_lump(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, const tg_geom_def *geom,
                            tg_lump *lump)
{
    *lump = (tg_lump){0};
    bool given = !isnan(written->mass);
    if ((given && written->mass < 0) || written->density < 0)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "attribute '%s' must not be negative, got %g",
                           given && written->mass < 0 ? "mass" : "density",
                           given && written->mass < 0 ? written->mass : written->density);
    if ((given ? written->mass : written->density) == 0 ||
        written->group < tg_mjcf_compiler_of(r, xml)->inertiagrouprange[0] ||
        written->group > tg_mjcf_compiler_of(r, xml)->inertiagrouprange[1])
        return TG_OK;
    tg_status status = unit_lump(r, xml, geom, lump);
    if (status != TG_OK)
        return status;
    double density = given ? (lump->mass > NOTHING ? written->mass / lump->mass : 0) : written->density;
    lump->mass *= density;
    for (int i = 0; i < 6; i++)
        lump->inertia[i] *= density;
    if (!(lump->mass > NOTHING))
        *lump = (tg_lump){0};
    double R[9];
    tg_quat_to_matrix(geom->quat, R);
    *lump = tg_lump_move(lump, R, geom->pos);
    return TG_OK;
}

/* ---- bodies ---- */

/* The inertial element as a lump in the body's frame. */
static tg_status written_lump(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_inertial *written, tg_lump *lump)
{
    double pose[7], R[9];
    const double zero[3] = {0, 0, 0};
    tg_status status = tg_mjcf_pose_resolve(r, xml, &written->pose, pose);
    if (status != TG_OK)
        return status;
    bool full = !isnan(written->fullinertia[0]);
    const double *d = written->diaginertia;
    if (full && (written->pose.form != TG_MJCF_QUAT || tg_xml_get(xml, "quat") != NULL))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml,
                           "attributes 'fullinertia' and an orientation exclude each other");
    if (full && (d[0] != 0 || d[1] != 0 || d[2] != 0))
        return tg_xml_fail(r->error, TG_ERR_PARSE, xml,
                           "attributes 'fullinertia' and 'diaginertia' exclude each other");
    *lump = (tg_lump){.mass = written->mass};
    memcpy(lump->inertia, full ? written->fullinertia : d, (full ? 6 : 3) * sizeof *d);
    tg_quat_to_matrix(pose + 3, R);
    *lump = tg_lump_move(lump, R, zero);
    memcpy(lump->com, pose, sizeof lump->com);
    return TG_OK;
}

/* Raises the principal moments of A to at least b: f(A), f(x) = max(x, b), as the polynomial through the eigenvalues
 * x0 <= x1 <= x2 in Newton's form:  f(x0) + f[x0,x1] (A - x0) + f[x0,x1,x2] (A - x0)(A - x1). */
static void raise_moments(double s[6], const double x[3], double b)
{
    double f[3], d01, d12, d012;
    for (int i = 0; i < 3; i++)
        f[i] = fmax(x[i], b);
    d01 = x[1] > x[0] ? (f[1] - f[0]) / (x[1] - x[0]) : (x[0] > b ? 1 : 0);
    d12 = x[2] > x[1] ? (f[2] - f[1]) / (x[2] - x[1]) : (x[1] > b ? 1 : 0);
    d012 = x[2] > x[0] ? (d12 - d01) / (x[2] - x[0]) : 0;
    double A[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}}, B[3][3];
    for (int i = 0; i < 3; i++)
    {
        for (int j = 0; j < 3; j++)
        {
            double product = 0; /* (A - x0)(A - x1) */
            for (int k = 0; k < 3; k++)
                product += (A[i][k] - (i == k ? x[0] : 0)) * (A[k][j] - (k == j ? x[1] : 0));
            B[i][j] = (i == j ? f[0] : 0) + d01 * (A[i][j] - (i == j ? x[0] : 0)) + d012 * product;
        }
    }
    double out[6] = {B[0][0], B[1][1], B[2][2], B[0][1], B[0][2], B[1][2]};
    memcpy(s, out, sizeof out);
}

/* boundmass, boundinertia, balanceinertia, and A + B >= C. */
static tg_status correct(tg_mjcf *r, const tg_xml *xml, tg_lump *lump)
{
    double moment[3];
    double sum = lump->mass;
    for (int i = 0; i < 6; i++)
        sum += fabs(lump->inertia[i]);
    if (!isfinite(sum))
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml,
                           "mass (%g) or inertia is not finite: sizes or masses are too large", lump->mass);
    if (lump->mass < 0)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "mass must not be negative, got %g", lump->mass);
    lump->mass = fmax(lump->mass, tg_mjcf_compiler_of(r, xml)->boundmass);
    tg_principal_moments(lump->inertia, moment);
    double slack = 1e-12 * moment[2];
    if (moment[0] < -slack)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml, "moments of inertia must not be negative, got %g", moment[0]);
    double bound = tg_mjcf_compiler_of(r, xml)->boundinertia;
    if (moment[0] < bound)
    {
        raise_moments(lump->inertia, moment, bound);
        for (int i = 0; i < 3; i++)
            moment[i] = fmax(moment[i], bound);
    }
    if (moment[0] + moment[1] >= moment[2] - slack)
        return TG_OK;
    if (!tg_mjcf_compiler_of(r, xml)->balanceinertia)
        return tg_xml_fail(r->error, TG_ERR_VALUE, xml,
                           "moments of inertia %g, %g, %g: the largest exceeds the sum of the others; compiler "
                           "balanceinertia=\"true\" would mend that",
                           moment[0], moment[1], moment[2]);
    double mean = (moment[0] + moment[1] + moment[2]) / 3;
    double balanced[6] = {mean, mean, mean, 0, 0, 0};
    memcpy(lump->inertia, balanced, sizeof balanced);
    return TG_OK;
}

tg_status tg_mjcf_body_inertia(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_inertial *written, const tg_lump *geoms,
                               const double pos[3], tg_body_def *body)
{
    int rule = tg_mjcf_compiler_of(r, xml)->inertiafromgeom;
    bool from_geoms = geoms->mass > 0 && (rule == TG_MJCF_TRUE || (rule == TG_MJCF_AUTO && written == NULL));
    tg_lump lump = {.com = {pos[0], pos[1], pos[2]}}; /* a massless body that boundmass fills: as MuJoCo has it */
    tg_status status = TG_OK;
    if (from_geoms)
        lump = *geoms;
    else if (written != NULL)
        status = written_lump(r, xml, written, &lump);
    if (status == TG_OK)
        status = correct(r, xml, &lump);
    if (status != TG_OK)
        return status;
    body->inertial = true;
    body->mass = lump.mass;
    memcpy(body->com, lump.com, sizeof lump.com);
    memcpy(body->inertia, lump.inertia, sizeof lump.inertia);
    if (lump.mass == 0)
        memset(body->com, 0, sizeof body->com);
    return TG_OK;
}

/* ---- bodies that move ---- */

bool tg_mjcf_has_mass(const tg_params *p, int body)
{
    double moment[3];
    tg_principal_moments(TG_PARAM(p, body_inertia) + 6 * body, moment);
    return TG_PARAM(p, body_mass)[body] >= TG_MJCF_MASS && moment[0] >= TG_MJCF_MASS;
}

/* The first body with a joint such that neither it nor what is fixed to it has mass and inertia; 0: there is none. */
static int find_ghost(const tg_model *m)
{
    for (int body = 1; body < m->nbody; body++)
    {
        bool solid = m->body_njoint[body] == 0;
        for (int fixed = body; fixed < m->nbody && !solid; fixed++) /* those come after it */
            solid = m->body_weld[fixed] == body && tg_mjcf_has_mass(m->params, fixed);
        if (!solid)
            return body;
    }
    return 0;
}

tg_status tg_mjcf_check_moving(tg_mjcf *r, const tg_model *m)
{
    int body = find_ghost(m);
    if (body == 0)
        return TG_OK;
    const tg_mjcf_thing *thing = tg_mjcf_thing_of(r, TG_BODY, body);
    return tg_xml_fail(
        r->error, TG_ERR_VALUE, thing != NULL ? thing->xml : r->root,
        "a body with a joint, or one that is fixed to it, needs a mass and moments of inertia of at least "
        "%g; its mass is %g",
        TG_MJCF_MASS, TG_PARAM(m->params, body_mass)[body]);
}
