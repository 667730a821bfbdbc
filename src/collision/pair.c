/* Queries without a model: two shapes at two poses. */
#include <math.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/status.h"
#include "collision/narrow.h"
#include "collision/narrow_deriv.h"
#include "collision/patch.h"
#include "collision/polytope.h"
#include "collision/smoothing.h"
#include "tangere/algebra.h"
#include "tangere/collision.h"

static const uint32_t shape_cookie = 0x7a9e5a9eu, options_cookie = 0x7a9ec011u, smoothing_cookie = 0x7a9e5007u;

/* Lengths outside this range are refused: their squares and products would leave the range of what doubles resolve. */
#define SMALLEST 1e-12
#define LARGEST 1e12

struct tg_hull
{
    tg_allocator allocator;
    bool own_allocator; /* given by the caller, kept by value */
    tg_polytope *polytope;
};

tg_status tg_hull_create(const double *vertex, int nvertex, const tg_allocator *allocator, tg_hull **hull,
                         tg_error *error)
{
    if (hull == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_hull_create: hull is NULL");
    *hull = NULL;
    if (vertex == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_hull_create: vertex is NULL");
    tg_hull *h = tg_alloc(allocator, sizeof *h);
    if (h == NULL)
        return tg_fail(error, TG_ERR_MEMORY, "tg_hull_create: no memory for %zu bytes", sizeof *h);
    h->own_allocator = allocator != NULL;
    if (allocator != NULL)
        h->allocator = *allocator;
    tg_status status = tg_polytope_create(allocator, vertex, nvertex, &h->polytope, error);
    if (status != TG_OK)
    {
        tg_free(allocator, h);
        return status;
    }
    *hull = h;
    return TG_OK;
}

void tg_hull_destroy(tg_hull *hull)
{
    if (hull == NULL)
        return;
    tg_allocator copy = hull->allocator;
    const tg_allocator *allocator = hull->own_allocator ? &copy : NULL;
    tg_polytope_destroy(allocator, hull->polytope);
    tg_free(allocator, hull);
}

tg_shape tg_default_shape(void)
{
    return (tg_shape){.type = TG_GEOM_SPHERE, .size = {1, 1, 1}, .cookie = shape_cookie};
}

tg_collide_options tg_default_collide_options(void)
{
    return (tg_collide_options){.cookie = options_cookie};
}

tg_smoothing tg_default_smoothing(void)
{
    return (tg_smoothing){.width = 1e-3, .samples = 100, .cookie = smoothing_cookie};
}

/* ---- what is refused ---- */

static const char *const type_names[TG_GEOM_TYPE_COUNT] = {"plane",     "height field", "sphere", "capsule",
                                                           "ellipsoid", "cylinder",     "box",    "mesh"};
static const char *const which_name[2] = {"first shape", "second shape"};

static tg_status check_sizes(const tg_shape *s, int which, tg_error *error)
{
    static const int sizes[TG_GEOM_TYPE_COUNT] = {0, 0, 1, 2, 3, 2, 3, 3};
    for (int i = 0; i < sizes[s->type]; i++)
    {
        double size = s->type == TG_GEOM_MESH ? fabs(s->size[i]) : s->size[i];
        bool point = s->type == TG_GEOM_SPHERE && size == 0;
        if (!point && !(size >= SMALLEST && size <= LARGEST))
            return tg_fail(error, TG_ERR_VALUE, "%s (%s): size[%d] must be between %g and %g m, got %g",
                           which_name[which], type_names[s->type], i, SMALLEST, LARGEST, s->size[i]);
    }
    return TG_OK;
}

static tg_status check_terrain(const tg_shape *s, int which, tg_error *error)
{
    const char *name = which_name[which];
    if (s->elevation == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s (height field): elevation is NULL", name);
    if (s->nrow < 2 || s->ncol < 2)
        return tg_fail(error, TG_ERR_VALUE, "%s (height field): needs at least 2 x 2 elevations, got %d x %d", name,
                       s->nrow, s->ncol);
    for (int i = 0; i < 4; i++)
        if (!(s->terrain[i] >= SMALLEST && s->terrain[i] <= LARGEST))
            return tg_fail(error, TG_ERR_VALUE, "%s (height field): terrain[%d] must be between %g and %g m, got %g",
                           name, i, SMALLEST, LARGEST, s->terrain[i]);
    for (int i = 0; i < s->nrow; i++)
        for (int j = 0; j < s->ncol; j++)
        {
            double e = s->elevation[(size_t)i * (size_t)s->ncol + (size_t)j];
            if (!(e >= 0 && e <= 1))
                return tg_fail(error, TG_ERR_VALUE,
                               "%s (height field): elevation[%d][%d] must be between 0 and 1, got %g", name, i, j, e);
        }
    return TG_OK;
}

static tg_status check_shape(const tg_shape *s, int which, tg_error *error)
{
    if (s == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", which_name[which]);
    if (s->cookie != shape_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s was not made by tg_default_shape", which_name[which]);
    if ((int)s->type < 0 || s->type >= TG_GEOM_TYPE_COUNT)
        return tg_fail(error, TG_ERR_VALUE, "%s: type %d is none of tg_geom_type", which_name[which], (int)s->type);
    if (s->type == TG_GEOM_MESH && s->hull == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s (mesh): hull is NULL", which_name[which]);
    if (s->type == TG_GEOM_HFIELD)
        return check_terrain(s, which, error);
    return check_sizes(s, which, error);
}

static tg_status check_pose(const double *pose, int which, tg_error *error)
{
    if (pose == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "pose of the %s is NULL", which_name[which]);
    for (int i = 0; i < 7; i++)
        if (!(fabs(pose[i]) <= LARGEST))
            return tg_fail(error, TG_ERR_VALUE, "pose of the %s: entry %d must be a number up to %g, got %g",
                           which_name[which], i, LARGEST, pose[i]);
    double squared = pose[3] * pose[3] + pose[4] * pose[4] + pose[5] * pose[5] + pose[6] * pose[6];
    if (!(squared > SMALLEST))
        return tg_fail(error, TG_ERR_VALUE, "pose of the %s: the quaternion (%g %g %g %g) has no direction",
                       which_name[which], pose[3], pose[4], pose[5], pose[6]);
    return TG_OK;
}

static tg_status check_options(const tg_collide_options *o, tg_error *error)
{
    if (o == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "options are NULL");
    if (o->cookie != options_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "options were not made by tg_default_collide_options");
    if (isnan(o->reach))
        return tg_fail(error, TG_ERR_VALUE, "options: reach is not a number");
    if (!(o->dt >= 0 && o->dt < INFINITY))
        return tg_fail(error, TG_ERR_VALUE, "options: dt must be finite and not negative, got %g", o->dt);
    for (int i = 0; i < 6; i++)
        for (int which = 0; which < 2; which++)
        {
            double v = which == 0 ? o->velocity1[i] : o->velocity2[i];
            if (!(fabs(v) <= LARGEST))
                return tg_fail(error, TG_ERR_VALUE, "options: velocity%d[%d] must be a number up to %g, got %g",
                               which + 1, i, LARGEST, v);
        }
    return TG_OK;
}

static tg_status check_smoothing(const tg_smoothing *s, tg_error *error)
{
    if (s == NULL)
        return TG_OK;
    if (s->cookie != smoothing_cookie)
        return tg_fail(error, TG_ERR_ARGUMENT, "smoothing was not made by tg_default_smoothing");
    if ((int)s->order < 0 || s->order > TG_SMOOTHING_ORDER_1)
        return tg_fail(error, TG_ERR_VALUE, "smoothing: order %d is none of tg_smoothing_order", (int)s->order);
    if (!(s->width >= SMALLEST && s->width <= LARGEST))
        return tg_fail(error, TG_ERR_VALUE, "smoothing: width must be between %g and %g m, got %g", SMALLEST, LARGEST,
                       s->width);
    if (s->order == TG_SMOOTHING_ORDER_0 && s->samples < 1)
        return tg_fail(error, TG_ERR_VALUE, "smoothing: samples must be positive, got %d", s->samples);
    return TG_OK;
}

/* ---- one query ---- */

typedef struct request
{
    tg_query query;
    tg_terrain terrain[2];
    tg_patch patch;
} request;

static tg_placed place(const tg_shape *s, const double pose[7], tg_terrain *terrain)
{
    tg_placed p = {.R = mat3_from_quat(pose + 3), .x = v4_load3(pose), .type = s->type};
    for (int i = 0; i < 3; i++)
        p.size[i] = s->size[i];
    if (s->type == TG_GEOM_BOX)
        p.polytope = &tg_unit_cube;
    if (s->type == TG_GEOM_MESH)
        p.polytope = s->hull->polytope;
    if (s->type == TG_GEOM_HFIELD)
    {
        *terrain = (tg_terrain){.nrow = s->nrow, .ncol = s->ncol, .elevation = s->elevation};
        for (int i = 0; i < 4; i++)
            terrain->size[i] = s->terrain[i];
        p.terrain = terrain;
    }
    return p;
}

static tg_status run(const tg_shape *const shape[2], const double *const pose[2], const tg_collide_options *o,
                     request *r, tg_error *error)
{
    for (int i = 0; i < 2; i++)
    {
        tg_status status = check_shape(shape[i], i, error);
        if (status == TG_OK)
            status = check_pose(pose[i], i, error);
        if (status != TG_OK)
            return status;
    }
    tg_status status = check_options(o, error);
    if (status != TG_OK)
        return status;
    r->query = (tg_query){.reach = o->reach, .dt = o->dt, .slack = TG_SLACK};
    for (int i = 0; i < 2; i++)
    {
        const double *velocity = i == 0 ? o->velocity1 : o->velocity2;
        r->query.shape[i] = place(shape[i], pose[i], &r->terrain[i]);
        r->query.velocity[i] = v4_load3(velocity);
        r->query.spin[i] = v4_load3(velocity + 3);
    }
    if (!tg_narrow(&r->query, &r->patch))
        return tg_fail(error, TG_ERR_UNSUPPORTED, "a %s and a %s do not collide with each other",
                       type_names[shape[0]->type], type_names[shape[1]->type]);
    if (o->four)
        r->patch.count = tg_choose_points(r->patch.point, r->patch.count, 4, 0);
    return TG_OK;
}

static tg_contact contact_of(const tg_contact_point *c)
{
    tg_contact out = {
        .geom1 = -1, .geom2 = -1, .distance = c->distance, .margin = tg_most(0, c->margin), .id = c->feature};
    v4_store3(out.point, c->point);
    v4_store3(out.normal, c->normal);
    return out;
}

static tg_status check_output(const tg_contact *contact, int capacity, const int *count, tg_error *error)
{
    if (count == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "count is NULL");
    if (capacity < 0)
        return tg_fail(error, TG_ERR_ARGUMENT, "capacity must not be negative, got %d", capacity);
    if (contact == NULL && capacity > 0)
        return tg_fail(error, TG_ERR_ARGUMENT, "contact is NULL, but capacity is %d", capacity);
    return TG_OK;
}

tg_status tg_collide_pair(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2, const double pose2[7],
                          const tg_collide_options *options, tg_contact *contact, int capacity, int *count,
                          tg_error *error)
{
    request r;
    tg_status status = check_output(contact, capacity, count, error);
    if (status == TG_OK)
        status =
            run((const tg_shape *const[2]){shape1, shape2}, (const double *const[2]){pose1, pose2}, options, &r, error);
    if (status != TG_OK)
        return status;
    for (int i = 0; i < r.patch.count && i < capacity; i++)
        contact[i] = contact_of(&r.patch.point[i]);
    *count = r.patch.count;
    return TG_OK;
}

/* The deepest point of a patch, NULL: it is empty. */
static const tg_contact_point *deepest_of(const tg_patch *patch)
{
    const tg_contact_point *best = patch->count > 0 ? &patch->point[0] : NULL;
    for (int i = 1; i < patch->count; i++)
        if (patch->point[i].distance < best->distance)
            best = &patch->point[i];
    return best;
}

static tg_status run_nearest(const tg_shape *const shape[2], const double *const pose[2], request *r,
                             const tg_contact_point **nearest, tg_error *error)
{
    tg_collide_options options = tg_default_collide_options();
    options.reach = INFINITY;
    tg_status status = run(shape, pose, &options, r, error);
    if (status != TG_OK)
        return status;
    *nearest = deepest_of(&r->patch);
    if (*nearest == NULL)
        return tg_fail(error, TG_ERR_NUMERIC, "no nearest points of a %s and a %s were found",
                       type_names[shape[0]->type], type_names[shape[1]->type]);
    return TG_OK;
}

tg_status tg_distance(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2, const double pose2[7],
                      tg_contact *contact, tg_error *error)
{
    request r;
    const tg_contact_point *nearest = NULL;
    if (contact == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "contact is NULL");
    tg_status status = run_nearest((const tg_shape *const[2]){shape1, shape2}, (const double *const[2]){pose1, pose2},
                                   &r, &nearest, error);
    if (status == TG_OK)
        *contact = contact_of(nearest);
    return status;
}

/* ---- derivatives ---- */

/* A shape is displaced while its velocity stays the same: where it will be is displaced at its origin by the same
 * shift, and turned by E turn, E its rotation in dt. What differs from the shape's own displacement, as a field at
 * c->point. */
static tg_point_motion motion_by_course(const tg_query *q, const tg_contact_point *c, int which, v4 turn)
{
    tg_placed then = tg_advanced(q, which);
    v4 more = mat3_mul(then.R, mat3_mul_t(q->shape[which].R, turn)) - turn;
    v4 shift = v4_cross(more, c->point - then.x) - v4_cross(turn, then.x - q->shape[which].x);
    return tg_motion_by_course(c, which, shift, more);
}

/* The motion of a contact point when shape `which` is displaced by `shift` at its origin and turned. */
static tg_point_motion motion_by_pose(const tg_query *q, const tg_contact_point *c, int which, v4 shift, v4 turn)
{
    v4 at = shift + v4_cross(turn, c->point - q->shape[which].x);
    tg_point_motion m = which == 1 ? tg_motion_by_twist(c, at, turn) : tg_motion_by_twist(c, -at, -turn);
    if (which == 0) /* all with the first shape, the second back */
    {
        m.point += at;
        m.normal += v4_cross(turn, c->normal);
    }
    if (tg_has_course(c))
    {
        tg_point_motion more = motion_by_course(q, c, which, turn);
        m.point += more.point;
        m.normal += more.normal;
        m.distance += more.distance;
    }
    return m;
}

static void set_column(tg_contact_derivative *d, int column, const tg_point_motion *m)
{
    for (int i = 0; i < 3; i++)
    {
        d->point[i][column] = m->point[i];
        d->normal[i][column] = m->normal[i];
    }
    d->distance[column] = m->distance;
}

static void differentiate_by_poses(const tg_query *q, const tg_contact_point *c, tg_contact_derivative *d)
{
    for (int column = 0; column < 12; column++)
    {
        int k = column % 6;
        v4 unit = v4_zero();
        unit[k % 3] = 1;
        tg_point_motion m = motion_by_pose(q, c, column / 6, k < 3 ? unit : v4_zero(), k < 3 ? v4_zero() : unit);
        set_column(d, column, &m);
    }
}

static void differentiate(const tg_query *q, const tg_contact_point *c, tg_contact_derivative *d)
{
    differentiate_by_poses(q, c, d);
    for (int column = 12; column < 18; column++)
    {
        tg_point_motion m = tg_motion_by_size(q, c, (column - 12) / 3, column % 3);
        set_column(d, column, &m);
    }
}

tg_status tg_collide_pair_derivatives(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                                      const double pose2[7], const tg_collide_options *options, tg_contact *contact,
                                      tg_contact_derivative *derivative, int capacity, int *count, tg_error *error)
{
    request r;
    tg_status status = check_output(contact, capacity, count, error);
    if (status == TG_OK && derivative == NULL && capacity > 0)
        status = tg_fail(error, TG_ERR_ARGUMENT, "derivative is NULL, but capacity is %d", capacity);
    if (status == TG_OK)
        status =
            run((const tg_shape *const[2]){shape1, shape2}, (const double *const[2]){pose1, pose2}, options, &r, error);
    if (status != TG_OK)
        return status;
    for (int i = 0; i < r.patch.count && i < capacity; i++)
    {
        contact[i] = contact_of(&r.patch.point[i]);
        differentiate(&r.query, &r.patch.point[i], &derivative[i]);
    }
    *count = r.patch.count;
    return TG_OK;
}

/* ---- smoothed derivatives ---- */

/* The query with both poses displaced by width Z: rows of Z as the columns of a derivative. */
static tg_query displaced(const tg_query *q, const double *Z, double width)
{
    tg_query d = *q;
    for (int i = 0; i < 2; i++)
    {
        double w[3], turn[4];
        v4_store3(w, v4_load3(Z + 6 * i + 3) * v4_splat(width));
        tg_quat_exp(w, turn);
        d.shape[i].x += v4_load3(Z + 6 * i) * v4_splat(width);
        d.shape[i].R = mat3_product(mat3_from_quat(turn), d.shape[i].R);
    }
    return d;
}

static void add_sample(const tg_point_motion *difference, const double *Z, double weight, tg_contact_derivative *d)
{
    for (int column = 0; column < 12; column++)
    {
        double z = weight * Z[column];
        for (int i = 0; i < 3; i++)
        {
            d->point[i][column] += z * difference->point[i];
            d->normal[i][column] += z * difference->normal[i];
        }
        d->distance[column] += z * difference->distance;
    }
}

/* Samples in which no nearest point is found count as no change. */
static void sample_derivative(const tg_query *q, const tg_smoothing *s, tg_contact_derivative *d)
{
    uint64_t state = s->seed;
    const tg_point_motion none = {0};
    for (int column = 0; column < 12; column++)
        set_column(d, column, &none);
    for (int k = 0; k < s->samples; k++)
    {
        double Z[12];
        for (int i = 0; i < 12; i++)
            Z[i] = tg_next_normal(&state);
        tg_query up = displaced(q, Z, s->width), down = displaced(q, Z, -s->width);
        tg_patch above, below;
        tg_narrow(&up, &above);
        tg_narrow(&down, &below);
        const tg_contact_point *a = deepest_of(&above), *b = deepest_of(&below);
        if (a == NULL || b == NULL)
            continue;
        tg_point_motion difference = {a->point - b->point, a->normal - b->normal, a->distance - b->distance};
        add_sample(&difference, Z, 1 / (2 * s->width * s->samples), d);
    }
}

tg_status tg_distance_derivatives(const tg_shape *shape1, const double pose1[7], const tg_shape *shape2,
                                  const double pose2[7], const tg_smoothing *smoothing, tg_contact *contact,
                                  tg_contact_derivative *derivative, tg_error *error)
{
    request r;
    const tg_contact_point *nearest = NULL;
    if (contact == NULL || derivative == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", contact == NULL ? "contact" : "derivative");
    tg_status status = check_smoothing(smoothing, error);
    if (status == TG_OK)
        status = run_nearest((const tg_shape *const[2]){shape1, shape2}, (const double *const[2]){pose1, pose2}, &r,
                             &nearest, error);
    if (status != TG_OK)
        return status;
    *contact = contact_of(nearest);
    tg_smoothing_order order = smoothing != NULL ? smoothing->order : TG_SMOOTHING_NONE;
    differentiate(&r.query, nearest, derivative);
    if (order == TG_SMOOTHING_ORDER_1)
    {
        tg_contact_point smooth = tg_smooth_point(&r.query, nearest, smoothing->width);
        differentiate_by_poses(&r.query, &smooth, derivative);
    }
    if (order == TG_SMOOTHING_ORDER_0)
        sample_derivative(&r.query, smoothing, derivative);
    return TG_OK;
}
