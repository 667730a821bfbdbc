/* A geom of a primitive type that names a mesh is fitted to it: to the box with the mesh's inertia, or (fitaabb) to the
 * box around it, both along its principal axes. */
#include <math.h>
#include <string.h>

#include "read/mjcf/mjcf.h"
#include "tangere/algebra.h"

/* Half sizes of the box with mass m and moments I:  I_x = m (b_y^2 + b_z^2) / 3, so  b_x^2 = 3 (I_y + I_z - I_x) / (2
 * m). */
static void inertia_box(double mass, const double moment[3], double box[3])
{
    double sum = moment[0] + moment[1] + moment[2];
    for (int i = 0; i < 3; i++)
        box[i] = sqrt(fmax(0, 1.5 * (sum - 2 * moment[i]) / mass));
}

static void fit_inertia(int type, const double box[3], double size[3])
{
    double mean = (box[0] + box[1]) / 2;
    switch (type)
    {
    case TG_GEOM_SPHERE:
        size[0] = (box[0] + box[1] + box[2]) / 3;
        break;
    case TG_GEOM_CAPSULE:
        size[0] = mean;
        size[1] = fmax(0, box[2] - mean / 2);
        break;
    case TG_GEOM_CYLINDER:
        size[0] = mean;
        size[1] = box[2];
        break;
    default:
        memcpy(size, box, 3 * sizeof *size);
        break;
    }
}

/* The smallest shape whose box contains the mesh's. */
static void fit_box(int type, const double box[3], double size[3])
{
    double radius = fmax(box[0], box[1]);
    switch (type)
    {
    case TG_GEOM_SPHERE:
        size[0] = fmax(radius, box[2]);
        break;
    case TG_GEOM_CAPSULE:
    case TG_GEOM_CYLINDER:
        size[0] = radius;
        size[1] = type == TG_GEOM_CAPSULE ? box[2] - radius : box[2];
        break;
    default:
        memcpy(size, box, 3 * sizeof *size);
        break;
    }
}

/* The box around the vertices, seen from a frame: half sizes and centre. */
static void box_around(const tg_mesh_data *mesh, const double frame[7], double box[3], double centre[3])
{
    double low[3] = {HUGE_VAL, HUGE_VAL, HUGE_VAL}, high[3] = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}, inverse[7];
    tg_se3_inverse(frame, inverse);
    for (int i = 0; i < mesh->nvertex; i++)
    {
        double v[3];
        tg_se3_transform(inverse, mesh->vertex + 3 * (size_t)i, v);
        for (int k = 0; k < 3; k++)
        {
            low[k] = fmin(low[k], v[k]);
            high[k] = fmax(high[k], v[k]);
        }
    }
    for (int k = 0; k < 3; k++)
    {
        box[k] = (high[k] - low[k]) / 2;
        centre[k] = (high[k] + low[k]) / 2;
    }
}

tg_status tg_mjcf_fit(tg_mjcf *r, const tg_xml *xml, const tg_mjcf_geom *written, int mesh, double size[3],
                      double pose[7])
{
    tg_mjcf_mesh_known *known = (tg_mjcf_mesh_known *)r->mesh.data + mesh;
    tg_status status = tg_mjcf_weigh_mesh(r, xml, known);
    if (status != TG_OK)
        return status;
    double moment[3], R[9], box[3];
    tg_principal_axes(known->lump.inertia, moment, R);
    memcpy(pose, known->lump.com, sizeof known->lump.com);
    tg_quat_from_matrix(R, pose + 3);
    if (tg_mjcf_compiler_of(r, xml)->fitaabb)
    {
        double centre[3];
        box_around(&known->data, pose, box, centre);
        tg_se3_transform(pose, centre, pose);
        fit_box(written->type, box, size);
    }
    else
    {
        inertia_box(known->lump.mass, moment, box);
        fit_inertia(written->type, box, size);
    }
    for (int i = 0; i < 3; i++)
        size[i] *= written->fitscale;
    return TG_OK;
}
