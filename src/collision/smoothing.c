/* Randomised smoothing of support functions.
 *
 * With noise added to the products d.v of the vertices of a polytope (Gumbel, of the given width eps) the expected
 * support function is
 *
 *     h(d) = eps log sum_k exp(d.v_k / eps),     Hessian S = Cov(v) / eps,
 *
 * the covariance taken with the weights exp(d.v_k / eps) / sum. A vertex gets a radius of curvature where a neighbour
 * is nearly as far, an edge has about l^2 / (4 eps) along itself in place of an infinite one. A cylinder is treated
 * alike: its axis is a segment of two points, its disc has r sqrt(rho^2 + (eps / r)^2) in place of r rho, rho = |d
 * across the axis|. What is round by itself stays. */
#include "collision/smoothing.h"

#include <math.h>

#include "collision/polytope.h"
#include "collision/surface.h"

static mat3 outer(v4 a, v4 b)
{
    return (mat3){{a * v4_splat(b[0]), a * v4_splat(b[1]), a * v4_splat(b[2])}};
}

static mat3 sum_of(mat3 A, mat3 B, double factor)
{
    v4 s = v4_splat(factor);
    return (mat3){{A.c[0] + B.c[0] * s, A.c[1] + B.c[1] * s, A.c[2] + B.c[2] * s}};
}

/* Cov(v) / eps over the vertices of a core; world. */
static mat3 vertex_hessian(const tg_placed *p, v4 d, double width)
{
    int count = tg_core_vertices(p), best = -1;
    v4 local = mat3_mul_t(p->R, d);
    tg_support(p, d, &best);
    v4 far = tg_core_local(p, best), mean = v4_zero();
    mat3 squares = {{v4_zero(), v4_zero(), v4_zero()}};
    double total = 0;
    for (int k = 0; k < count; k++) /* vertices relative to the farthest, so that no exponential overflows */
    {
        v4 v = tg_core_local(p, k) - far;
        double weight = exp(v4_dot(local, v) / width);
        total += weight;
        mean += v * v4_splat(weight);
        squares = sum_of(squares, outer(v, v), weight);
    }
    mean = mat3_mul(p->R, mean * v4_splat(1 / total));
    mat3 R = p->R, Rt = mat3_transpose(R), second = mat3_product(mat3_product(R, squares), Rt);
    mat3 S = sum_of((mat3){{v4_zero(), v4_zero(), v4_zero()}}, second, 1 / (total * width));
    return sum_of(S, outer(mean, mean), -1 / width);
}

static mat3 cylinder_hessian(const tg_placed *p, v4 d, double width)
{
    v4 axis = p->R.c[2];
    double along = v4_dot(axis, d), r = p->size[0], h = p->size[1], round = width / r;
    v4 across = d - axis * v4_splat(along);
    double length = sqrt(v4_dot(across, across) + round * round), c = cosh(tg_least(fabs(h * along / width), 300));
    mat3 S = sum_of(mat3_identity(), outer(axis, axis), -1);
    S = sum_of(S, outer(across, across), -1 / (length * length));
    S = sum_of((mat3){{v4_zero(), v4_zero(), v4_zero()}}, S, r / length);
    return sum_of(S, outer(axis, axis), h * h / (width * c * c));
}

/* of a Hessian, without its rows and columns along n */
static tg_surface tangential(mat3 S, v4 n)
{
    v4 t = tg_orthogonal(n), u = v4_cross(n, t), Su = mat3_mul(S, u);
    return tg_surface_of(t, u, v4_dot(t, mat3_mul(S, t)), v4_dot(t, Su), v4_dot(u, Su));
}

tg_surface tg_smooth_surface(const tg_placed *p, v4 d, double width)
{
    tg_surface s;
    switch (p->type)
    {
    case TG_GEOM_ELLIPSOID:
        return tg_surface_ellipsoid(p, d);
    case TG_GEOM_CYLINDER:
        return tangential(cylinder_hessian(p, d, width), d);
    case TG_GEOM_SPHERE:
        return tg_surface_round(p->size[0]);
    default:
        s = tangential(vertex_hessian(p, d, width), d);
        s.round += tg_rounding(p);
        return s;
    }
}

tg_contact_point tg_smooth_point(const tg_query *q, const tg_contact_point *c, double width)
{
    tg_contact_point out = *c;
    out.kind = TG_POINT_WITNESS;
    for (int i = 0; i < 2; i++)
    {
        bool flat = q->shape[i].type == TG_GEOM_PLANE || q->shape[i].type == TG_GEOM_HFIELD;
        v4 d = i == 0 ? c->normal : -c->normal;
        out.surface[i] = flat ? tg_surface_face() : tg_smooth_surface(&q->shape[i], d, width);
    }
    return out;
}

/* splitmix64 (Steele, Lea and Flood 2014), to a number in (0, 1) */
static double next_uniform(uint64_t *state)
{
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) / 9007199254740992.0;
}

/* Box and Muller 1958 */
double tg_next_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(next_uniform(state)));
    return radius * cos(6.283185307179586477 * next_uniform(state));
}
