#include "model/bounds.h"

#include <math.h>

#include "math/spatial.h"

void tg_mesh_box(const tg_model *m, int mesh, double box[8])
{
    const double *vertex = m->vertex + 3 * (size_t)m->mesh_vertex[mesh];
    int n = m->mesh_nvertex[mesh];
    for (int k = 0; k < 3; k++)
    {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < n; i++)
        {
            low = fmin(low, vertex[3 * i + k]);
            high = fmax(high, vertex[3 * i + k]);
        }
        box[k] = 0.5 * (low + high);
        box[3 + k] = 0.5 * (high - low);
    }
    double most = 0;
    for (int i = 0; i < n; i++)
    {
        double squared = 0;
        for (int k = 0; k < 3; k++)
            squared += (vertex[3 * i + k] - box[k]) * (vertex[3 * i + k] - box[k]);
        most = fmax(most, squared);
    }
    box[6] = sqrt(most);
    box[7] = 0;
}

static double norm3(const double x[3])
{
    return sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
}

/* half lengths of the box, in the frame of the geom around its centre, of everything that is centred there */
static void set_half(double *half, double x, double y, double z)
{
    half[0] = x;
    half[1] = y;
    half[2] = z;
}

static void mesh_bounds(const tg_params *p, int geom, double *centre, double *half, double *radius)
{
    const double *box = p->model->mesh_box + 8 * p->model->geom_mesh[geom], *scale = TG_PARAM(p, geom_size) + 3 * geom;
    double largest = 0;
    for (int k = 0; k < 3; k++)
    {
        centre[k] = scale[k] * box[k];
        half[k] = fabs(scale[k]) * box[3 + k];
        largest = fmax(largest, fabs(scale[k]));
    }
    *radius = fmin(norm3(half), largest * box[6]);
}

/* from the base below to the highest possible elevation */
static void hfield_bounds(const tg_params *p, int geom, double *centre, double *half, double *radius)
{
    const double *size = TG_PARAM(p, hfield_size) + 4 * p->model->geom_hfield[geom];
    set_half(half, size[0], size[1], 0.5 * (size[2] + size[3]));
    centre[2] = 0.5 * (size[2] - size[3]);
    *radius = norm3(half);
}

static void geom_bounds(tg_params *p, int geom)
{
    const double *size = TG_PARAM(p, geom_size) + 3 * geom;
    double *centre = p->geom_centre + 4 * geom, *half = p->geom_half + 4 * geom, *radius = &p->geom_radius[geom];
    set_half(centre, 0, 0, 0);
    switch (p->model->geom_type[geom])
    {
    case TG_GEOM_PLANE:
        set_half(half, INFINITY, INFINITY, INFINITY);
        *radius = INFINITY;
        break;
    case TG_GEOM_HFIELD:
        hfield_bounds(p, geom, centre, half, radius);
        break;
    case TG_GEOM_SPHERE:
        set_half(half, size[0], size[0], size[0]);
        *radius = size[0];
        break;
    case TG_GEOM_CAPSULE:
        set_half(half, size[0], size[0], size[0] + size[1]);
        *radius = size[0] + size[1];
        break;
    case TG_GEOM_ELLIPSOID:
        set_half(half, size[0], size[1], size[2]);
        *radius = fmax(size[0], fmax(size[1], size[2]));
        break;
    case TG_GEOM_CYLINDER:
        set_half(half, size[0], size[0], size[1]);
        *radius = sqrt(size[0] * size[0] + size[1] * size[1]);
        break;
    case TG_GEOM_BOX:
        set_half(half, size[0], size[1], size[2]);
        *radius = norm3(half);
        break;
    default: /* TG_GEOM_MESH */
        mesh_bounds(p, geom, centre, half, radius);
        break;
    }
}

void tg_params_bounds(tg_params *p)
{
    for (int g = 0; g < p->model->ngeom; g++)
    {
        mat3 R = mat3_from_quat(TG_PARAM(p, geom_quat) + 4 * g);
        for (int k = 0; k < 3; k++)
            v4_store(p->geom_rot + MAT3_SIZE * g + 4 * k, R.c[k]);
        geom_bounds(p, g);
    }
}
