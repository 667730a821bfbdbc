#include "engine_coal.h"

#include <coal/collision.h>
#include <coal/distance.h>
#include <coal/shape/geometric_shapes.h>

#include <memory>
#include <vector>

using coal::Vec3s;

struct coal_pair
{
    std::unique_ptr<coal::CollisionGeometry> shape[2];
    std::unique_ptr<coal::ComputeDistance> compute;
    std::vector<coal::Transform3s> pose[2];
    coal::DistanceRequest request;
    coal::CollisionRequest collision;
};

static coal::CollisionGeometry *make_hull(const double *vertex, int nvertex)
{
    auto points = std::make_shared<std::vector<Vec3s>>();
    for (int i = 0; i < nvertex; i++)
        points->push_back(Vec3s(vertex[3 * i], vertex[3 * i + 1], vertex[3 * i + 2]));
    return coal::ConvexBase::convexHull(points, static_cast<unsigned>(nvertex), true);
}

static coal::CollisionGeometry *make_shape(tg_geom_type type, const double *s, const double *vertex, int nvertex)
{
    switch (type)
    {
    case TG_GEOM_PLANE:
        return new coal::Halfspace(Vec3s(0, 0, 1), 0);
    case TG_GEOM_SPHERE:
        return new coal::Sphere(s[0]);
    case TG_GEOM_CAPSULE:
        return new coal::Capsule(s[0], 2 * s[1]);
    case TG_GEOM_ELLIPSOID:
        return new coal::Ellipsoid(s[0], s[1], s[2]);
    case TG_GEOM_CYLINDER:
        return new coal::Cylinder(s[0], 2 * s[1]);
    case TG_GEOM_BOX:
        return new coal::Box(2 * s[0], 2 * s[1], 2 * s[2]);
    case TG_GEOM_MESH:
        return make_hull(vertex, nvertex);
    default:
        return nullptr;
    }
}

coal_pair *coal_pair_create(const tg_geom_type type[2], const double *size, const double *vertex, int nvertex)
{
    auto pair = std::make_unique<coal_pair>();
    for (int i = 0; i < 2; i++)
    {
        pair->shape[i].reset(make_shape(type[i], size + 3 * i, vertex, nvertex));
        if (!pair->shape[i])
            return nullptr;
    }
    pair->compute = std::make_unique<coal::ComputeDistance>(pair->shape[0].get(), pair->shape[1].get());
    pair->request.enable_signed_distance = true;
    return pair.release();
}

void coal_pair_destroy(coal_pair *pair)
{
    delete pair;
}

static void set_poses(std::vector<coal::Transform3s> &out, const double *pose, int count)
{
    out.clear();
    for (const double *p = pose; p < pose + 7 * count; p += 7)
        out.emplace_back(coal::Quatf(p[3], p[4], p[5], p[6]), Vec3s(p[0], p[1], p[2]));
}

void coal_pair_poses(coal_pair *pair, const double *pose1, const double *pose2, int count)
{
    set_poses(pair->pose[0], pose1, count);
    set_poses(pair->pose[1], pose2, count);
}

static double give(const coal::DistanceResult &result, double normal[3])
{
    for (int k = 0; k < 3; k++)
        normal[k] = result.normal[k];
    return result.min_distance;
}

double coal_pair_compute(coal_pair *pair, int i, double normal[3])
{
    coal::DistanceResult result;
    const size_t at = static_cast<size_t>(i);
    (*pair->compute)(pair->pose[0][at], pair->pose[1][at], pair->request, result);
    return give(result, normal);
}

double coal_pair_distance(coal_pair *pair, int i, double normal[3])
{
    coal::DistanceResult result;
    const size_t at = static_cast<size_t>(i);
    coal::distance(pair->shape[0].get(), pair->pose[0][at], pair->shape[1].get(), pair->pose[1][at], pair->request,
                   result);
    return give(result, normal);
}

double coal_pair_collide(coal_pair *pair, int i, double normal[3])
{
    coal::CollisionResult result;
    const size_t at = static_cast<size_t>(i);
    coal::collide(pair->shape[0].get(), pair->pose[0][at], pair->shape[1].get(), pair->pose[1][at], pair->collision,
                  result);
    if (!result.isCollision())
        return result.distance_lower_bound;
    const coal::Contact &contact = result.getContact(0);
    for (int k = 0; k < 3; k++)
        normal[k] = contact.normal[k];
    return contact.penetration_depth;
}
