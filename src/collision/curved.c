/* From an approximate normal to an exact answer.
 *
 * Nearest (or deepest) points of two convex shapes satisfy
 *
 *     s_b(-n) - s_a(n) = Phi n,      Phi = n . (s_b(-n) - s_a(n)),          (1)
 *
 * s the support points, n the unit normal from a to b: n is a stationary point of the separation Phi(n) on the unit
 * sphere. With S the Hessians of the two support functions Newton's step d, tangential, is
 *
 *     (S_a + S_b + Phi) d = residual of (1)          (2)
 *
 * which is also the equation of the derivative (narrow_deriv.c). On a line (an edge, a cylinder's side) n is
 * orthogonal to it and the points slide along it: one unknown is left, or none between two lines. On a plane n is
 * known.
 *
 * The search (GJK, EPA) only has to say about where n is. The pieces of the two surfaces there are tried; a pair
 * whose solution of (1) has its points on the pieces and n in their normal cones is the answer: for shapes that are
 * apart that is a proof, for shapes that overlap it is the extremum that the search found. */
#include "collision/curved.h"

#include <math.h>

#include "collision/gjk.h"
#include "collision/surface.h"

enum
{
    MAX_STEPS = 30,
    MAX_HALVINGS = 12
};

/* ---- pieces ---- */

static v4 rim_radial(const tg_piece *p, v4 d)
{
    v4 radial = d - p->axis * v4_splat(v4_dot(d, p->axis));
    double length2 = v4_dot(radial, radial);
    return length2 > 1e-24 ? tg_unit_across(radial, p->axis, sqrt(length2)) : tg_orthogonal(p->axis);
}

/* the support point along the unit vector d, and how the surface looks there */
static v4 piece_support(const tg_piece *p, v4 d, tg_surface *surface)
{
    switch (p->kind)
    {
    case TG_PIECE_POINT:
        *surface = tg_surface_round(p->radius);
        return p->centre + d * v4_splat(p->radius);
    case TG_PIECE_LINE:
        *surface = tg_surface_edge(p->axis, p->radius);
        return p->centre + d * v4_splat(p->radius);
    case TG_PIECE_PLANE:
        *surface = tg_surface_face();
        return p->centre;
    case TG_PIECE_RIM:
    {
        v4 radial = rim_radial(p, d);
        *surface = tg_surface_rim(p->axis, radial, d, p->radius);
        return p->centre + radial * v4_splat(p->radius);
    }
    default:
        *surface = tg_surface_ellipsoid(p->placed, d);
        return tg_support(p->placed, d, NULL);
    }
}

/* ---- Newton's method on (1) ---- */

typedef struct state
{
    v4 n, a, b, residual;
    double distance;
    tg_surface surface[2];
} state;

static void evaluate(const tg_piece *a, const tg_piece *b, v4 n, state *s)
{
    s->n = n;
    s->a = piece_support(a, n, &s->surface[0]);
    s->b = piece_support(b, -n, &s->surface[1]);
    v4 D = s->b - s->a;
    s->distance = v4_dot(n, D);
    s->residual = D - n * v4_splat(s->distance);
}

static v4 stiffness(const state *s, v4 x)
{
    return tg_bend(&s->surface[0], x) + tg_bend(&s->surface[1], x) + x * v4_splat(s->distance);
}

/* Step (2) along one tangent t. Where the extremum has the wrong curvature the step still goes uphill. */
static v4 step_along(const state *s, v4 t)
{
    double k = fabs(v4_dot(t, stiffness(s, t))), r = v4_dot(t, s->residual);
    return k > 1e-300 ? t * v4_splat(r / k) : v4_zero();
}

static v4 step_in_plane(const state *s)
{
    v4 t, u;
    tg_tangents(s->n, &t, &u);
    v4 kt = stiffness(s, t), ku = stiffness(s, u);
    double a = v4_dot(t, kt), b = v4_dot(t, ku), c = v4_dot(u, ku), rt = v4_dot(t, s->residual),
           ru = v4_dot(u, s->residual);
    double spread = sqrt((a - c) * (a - c) + 4 * b * b), least = 0.5 * (a + c - spread), most = 0.5 * (a + c + spread);
    double bound = 1e-12 * tg_most(fabs(least), fabs(most));
    if (least < bound) /* not a maximum of the separation here: lift the spectrum, which keeps the step uphill */
    {
        double lift = tg_most(-2 * least, bound);
        a += lift;
        c += lift;
    }
    double det = a * c - b * b;
    if (!(det > 0))
        return v4_zero();
    return t * v4_splat((c * rt - b * ru) / det) + u * v4_splat((a * ru - b * rt) / det);
}

static v4 without(v4 x, v4 e)
{
    return x - e * v4_splat(v4_dot(x, e));
}

/* what is left of (1), sliding along the held direction aside */
static double residual_of(const state *s, v4 held)
{
    v4 r = without(s->residual, held);
    return sqrt(v4_dot(r, r));
}

/* Takes the step d (of that length, before it was cut), halved until the separation does not fall. False where it
 * falls however short the step is: the separation has a kink there, and no extremum of (1). */
static bool step_up(const tg_piece *a, const tg_piece *b, v4 held, double length, v4 d, const state *s, state *next)
{
    for (int k = 0; k < MAX_HALVINGS; k++)
    {
        evaluate(a, b, tg_unit(without(s->n + d, held)), next);
        if (next->distance >= s->distance || length < 1e-5)
            return true;
        d = d * v4_splat(0.5);
    }
    return false;
}

/* held: unit vector to which the normal is orthogonal, or zero. start: about the normal. */
static bool newton(const tg_piece *a, const tg_piece *b, v4 held, v4 start, state *result)
{
    bool line = v4_dot(held, held) > 0, done = false;
    state buffer[2], *s = &buffer[0], *next = &buffer[1];
    evaluate(a, b, tg_unit(without(start, held)), s);
    double rounding = 1e-16 * (sqrt(v4_dot(s->a, s->a)) + sqrt(v4_dot(s->b, s->b)));
    for (int i = 0; i < MAX_STEPS && !done; i++)
    {
        v4 d = line ? step_along(s, v4_cross(s->n, held)) : step_in_plane(s);
        double length = sqrt(v4_dot(d, d));
        if (!(length < INFINITY))
            return false;
        if (residual_of(s, held) < rounding)
        {
            done = true;
            break;
        }
        if (length > 0.5)
            d = d * v4_splat(0.5 / length);
        if (!step_up(a, b, held, length, d, s, next))
            return false;
        state *last = s;
        s = next;
        next = last;
        done = length < 1e-13;
    }
    *result = *s;
    return done;
}

/* ---- pairs of pieces with closed forms ---- */

/* The nearest point of a circle is in the direction of the point's projection on its plane. */
static v4 rim_point(const tg_piece *rim, v4 p)
{
    return rim->centre + rim_radial(rim, p - rim->centre) * v4_splat(rim->radius);
}

/* Core points of two pieces whose nearest points are known: the normal is the direction between them, or `start`
 * where they coincide (for a vertex on a rim: to 1e-9 of its radius, below which rounding decides the direction). */
static bool from_cores(const tg_piece *a, const tg_piece *b, v4 core_a, v4 core_b, v4 start, state *s)
{
    v4 D = core_b - core_a;
    double rounding_a = a->kind == TG_PIECE_RIM ? 0 : a->radius, rounding_b = b->kind == TG_PIECE_RIM ? 0 : b->radius;
    double length = sqrt(v4_dot(D, D)), sharp = rounding_a + rounding_b > 0 ? 1e-13 : 1e-9;
    bool clear = length > sharp * (a->radius + b->radius) && length > 0;
    v4 n = clear ? D * v4_splat(v4_dot(D, start) < 0 ? -1 / length : 1 / length) : start;
    s->n = n;
    piece_support(a, n, &s->surface[0]);
    piece_support(b, -n, &s->surface[1]);
    s->a = core_a + n * v4_splat(rounding_a);
    s->b = core_b - n * v4_splat(rounding_b);
    s->distance = v4_dot(n, s->b - s->a);
    return true;
}

static bool point_rim(const tg_piece *a, const tg_piece *b, v4 start, state *s)
{
    v4 core_a = a->kind == TG_PIECE_RIM ? rim_point(a, b->centre) : a->centre;
    v4 core_b = b->kind == TG_PIECE_RIM ? rim_point(b, a->centre) : b->centre;
    return from_cores(a, b, core_a, core_b, start, s);
}

static bool point_line(const tg_piece *a, const tg_piece *b, v4 start, state *s)
{
    v4 D = b->centre - a->centre, core_a = a->centre, core_b = b->centre;
    if (a->kind == TG_PIECE_LINE)
        core_a += a->axis * v4_splat(v4_dot(D, a->axis));
    else
        core_b -= b->axis * v4_splat(v4_dot(D, b->axis));
    v4 axis = a->kind == TG_PIECE_LINE ? a->axis : b->axis;
    return from_cores(a, b, core_a, core_b, tg_unit(without(start, axis)), s);
}

/* Two lines that are not parallel: n is their common normal. */
static bool line_line(const tg_piece *a, const tg_piece *b, v4 start, state *s)
{
    v4 N = v4_cross(a->axis, b->axis), D = b->centre - a->centre;
    double det = v4_dot(N, N), sign = v4_dot(N, start) < 0 ? -1 : 1;
    if (det < 1e-18)
        return false;
    s->n = N * v4_splat(sign / sqrt(det));
    s->a = piece_support(a, s->n, &s->surface[0]) + a->axis * v4_splat(v4_dot(v4_cross(D, b->axis), N) / det);
    s->b = piece_support(b, -s->n, &s->surface[1]) + b->axis * v4_splat(v4_dot(v4_cross(D, a->axis), N) / det);
    s->distance = v4_dot(s->n, s->b - s->a);
    return true;
}

/* A plane: n is its normal, the point is the other's support point. */
static bool plane_piece(const tg_piece *a, const tg_piece *b, state *s)
{
    if (a->kind == TG_PIECE_PLANE)
    {
        s->n = a->axis;
        s->b = piece_support(b, -s->n, &s->surface[1]);
        s->surface[0] = tg_surface_face();
        s->distance = v4_dot(s->n, s->b - a->centre);
        s->a = s->b - s->n * v4_splat(s->distance);
        return true;
    }
    s->n = -b->axis;
    s->a = piece_support(a, s->n, &s->surface[0]);
    s->surface[1] = tg_surface_face();
    s->distance = v4_dot(s->n, b->centre - s->a);
    s->b = s->a + s->n * v4_splat(s->distance);
    return true;
}

/* a curved piece and a line: n is orthogonal to the line, whose point slides to where the other's is */
static bool curved_line(const tg_piece *a, const tg_piece *b, v4 start, state *s)
{
    bool first = a->kind == TG_PIECE_LINE;
    v4 e = first ? a->axis : b->axis;
    if (!newton(a, b, e, start, s))
        return false;
    v4 slide = e * v4_splat(v4_dot(e, s->residual));
    if (first)
        s->a += slide;
    else
        s->b -= slide;
    return true;
}

bool tg_piece_witness(const tg_piece *a, const tg_piece *b, v4 start, tg_witness *w)
{
    bool plane_a = a->kind == TG_PIECE_PLANE, plane_b = b->kind == TG_PIECE_PLANE;
    bool line_a = a->kind == TG_PIECE_LINE, line_b = b->kind == TG_PIECE_LINE;
    bool point_a = a->kind == TG_PIECE_POINT, point_b = b->kind == TG_PIECE_POINT;
    bool rim_a = a->kind == TG_PIECE_RIM, rim_b = b->kind == TG_PIECE_RIM;
    state s;
    bool found;
    if (plane_a || plane_b)
        found = !(plane_a && plane_b) && !line_a && !line_b && plane_piece(a, b, &s);
    else if (line_a && line_b)
        found = line_line(a, b, start, &s);
    else if ((point_a && line_b) || (line_a && point_b))
        found = point_line(a, b, start, &s);
    else if ((point_a && rim_b) || (rim_a && point_b))
        found = point_rim(a, b, start, &s);
    else if (point_a && point_b)
        found = from_cores(a, b, a->centre, b->centre, start, &s);
    else if (line_a || line_b)
        found = curved_line(a, b, start, &s);
    else
        found = newton(a, b, v4_zero(), start, &s);
    if (found)
        *w =
            (tg_witness){s.n, {s.a, s.b}, s.distance, {s.surface[0], s.surface[1]}, {a->feature, b->feature}, INFINITY};
    return found;
}

/* ---- which pieces ---- */

static int cylinder_pieces(const tg_placed *p, v4 d, double tolerance, tg_piece *piece)
{
    v4 axis = p->R.c[2];
    double along = v4_dot(axis, d), sign = along < 0 ? -1 : 1, h = p->size[1];
    v4 radial = d - axis * v4_splat(along);
    int count = 0;
    if (v4_dot(radial, radial) < tolerance * tolerance)
        piece[count++] =
            (tg_piece){.kind = TG_PIECE_PLANE, .feature = 4 + (sign > 0), .polygon = -1, .axis = axis * v4_splat(sign)};
    if (fabs(along) < tolerance)
        piece[count++] = (tg_piece){
            .kind = TG_PIECE_LINE, .feature = 2, .axis = axis, .half = h, .radius = p->size[0], .centre = p->x};
    piece[count++] = (tg_piece){.kind = TG_PIECE_RIM, .feature = sign > 0, .axis = axis, .radius = p->size[0]};
    if (fabs(along) < tolerance)
    {
        piece[count] = piece[count - 1];
        piece[count++].feature = sign < 0;
    }
    for (int i = 0; i < count; i++)
        if (piece[i].kind != TG_PIECE_LINE)
            piece[i].centre = p->x + axis * v4_splat((piece[i].feature & 1) != 0 ? h : -h);
    return count;
}

static int capsule_pieces(const tg_placed *p, v4 d, double tolerance, tg_piece *piece)
{
    tg_segment s = tg_axis_of(p);
    double along = v4_dot(s.axis, d);
    int count = 0;
    if (fabs(along) < tolerance)
        piece[count++] =
            (tg_piece){.kind = TG_PIECE_LINE, .feature = 2, .centre = s.centre, .axis = s.axis, .half = s.half};
    for (int end = 0; end < 2; end++)
        if ((end == 1 ? along : -along) > -tolerance)
            piece[count++] = (tg_piece){
                .kind = TG_PIECE_POINT, .feature = (uint32_t)end, .centre = tg_along(&s, end == 1 ? s.half : -s.half)};
    for (int i = 0; i < count; i++)
        piece[i].radius = p->size[0];
    return count;
}

static v4 corner(const tg_placed *p, int vertex)
{
    return p->x + mat3_mul(p->R, v4_load(p->polytope->vertex + 4 * vertex) * v4_load(p->size));
}

/* The pieces at the vertex farthest along d, and the vertices at the other ends of its edges. Ids: bits 30 and 31
 * say edge or face. */
static int polytope_pieces(const tg_placed *p, v4 d, double tolerance, tg_piece *piece)
{
    const tg_polytope *t = p->polytope;
    int vertex = -1, count = 0;
    tg_support(p, d, &vertex);
    v4 local = mat3_mul_t(p->R, d), at = corner(p, vertex);
    for (int i = t->around_start[vertex]; i < t->around_start[vertex + 1] && count < TG_PIECES_MAX - 1; i++)
    {
        v4 n = tg_scaled_normal(p, t->around[i]), off = n - local;
        if (v4_dot(off, off) < tolerance * tolerance)
            piece[count++] = (tg_piece){.kind = TG_PIECE_PLANE,
                                        .feature = 0x80000000u | (uint32_t)t->around[i],
                                        .centre = at,
                                        .axis = mat3_mul(p->R, n),
                                        .polygon = t->around[i]};
    }
    for (int i = t->neighbour_start[vertex]; i < t->neighbour_start[vertex + 1] && count < TG_PIECES_MAX - 2; i++)
    {
        int other = t->neighbour[i];
        v4 far = corner(p, other), e = far - at;
        double length = sqrt(v4_dot(e, e));
        if (fabs(v4_dot(e, d)) > tolerance * length)
            continue;
        uint32_t low = (uint32_t)(vertex < other ? vertex : other), high = (uint32_t)(vertex < other ? other : vertex);
        piece[count++] = (tg_piece){.kind = TG_PIECE_LINE,
                                    .feature = 0x40000000u | (low * 32749u + high) % 0x40000000u,
                                    .centre = at + e * v4_splat(0.5),
                                    .axis = e * v4_splat(1 / length),
                                    .half = 0.5 * length};
        piece[count++] = (tg_piece){.kind = TG_PIECE_POINT, .feature = (uint32_t)other, .centre = far};
    }
    piece[count++] = (tg_piece){.kind = TG_PIECE_POINT, .feature = (uint32_t)vertex, .centre = at};
    return count;
}

int tg_pieces(const tg_placed *p, v4 d, double tolerance, tg_piece piece[TG_PIECES_MAX])
{
    int count = 1;
    switch (p->type)
    {
    case TG_GEOM_CYLINDER:
        count = cylinder_pieces(p, d, tolerance, piece);
        break;
    case TG_GEOM_CAPSULE:
        count = capsule_pieces(p, d, tolerance, piece);
        break;
    case TG_GEOM_ELLIPSOID:
        piece[0] = (tg_piece){.kind = TG_PIECE_ELLIPSOID};
        break;
    case TG_GEOM_SPHERE:
        piece[0] = (tg_piece){.kind = TG_PIECE_POINT, .centre = p->x, .radius = p->size[0]};
        break;
    default:
        count = polytope_pieces(p, d, tolerance, piece);
        break;
    }
    for (int i = 0; i < count; i++)
        piece[i].placed = p;
    return count;
}

/* ---- the conditions of an extremum ---- */

double tg_separation(const tg_placed *a, const tg_placed *b, v4 n)
{
    v4 D = tg_support(b, -n, NULL) - tg_support(a, n, NULL);
    return v4_dot(n, D) - tg_rounding(a) - tg_rounding(b);
}

tg_region tg_piece_region(const tg_piece *p)
{
    return (tg_region){.placed = p->placed,
                       .centre = p->centre,
                       .normal = p->axis,
                       .radius = p->placed->size[0],
                       .polygon = p->polygon,
                       .feature = p->feature};
}

/* The point lies on the piece, no further out than the whole shape reaches along d. *margin: how far the end of the
 * piece is. */
static bool on_piece(const tg_piece *p, v4 point, v4 d, double tolerance, double *margin)
{
    const tg_placed *shape = p->placed;
    if (p->kind == TG_PIECE_LINE)
    {
        double inside = p->half - fabs(v4_dot(point - p->centre, p->axis));
        if (inside < -tolerance)
            return false;
        *margin = tg_least(*margin, fabs(inside));
    }
    if (p->kind == TG_PIECE_PLANE)
    {
        tg_region region = tg_piece_region(p);
        double inside = tg_region_depth(&region, point);
        if (inside < -tolerance)
            return false;
        *margin = tg_least(*margin, fabs(inside));
    }
    if (p->kind == TG_PIECE_ELLIPSOID || shape->type == TG_GEOM_SPHERE)
        return true;
    v4 far = tg_support(shape, d, NULL) + d * v4_splat(tg_rounding(shape));
    return v4_dot(d, far - point) <= tolerance;
}

double tg_least_curvature(v4 n, const tg_surface *a, const tg_surface *b)
{
    state s;
    s.distance = 0;
    s.surface[0] = *a;
    s.surface[1] = *b;
    if (a->flat + b->flat >= 2)
        return INFINITY;
    if (a->flat + b->flat == 1)
    {
        v4 t = v4_cross(n, a->flat == 1 ? a->edge : b->edge);
        return v4_dot(t, stiffness(&s, t));
    }
    v4 t = tg_orthogonal(n), u = v4_cross(n, t), kt = stiffness(&s, t), ku = stiffness(&s, u);
    double x = v4_dot(t, kt), y = v4_dot(t, ku), z = v4_dot(u, ku);
    return 0.5 * (x + z - sqrt((x - z) * (x - z) + 4 * y * y));
}

/* The first pair of pieces around a normal that satisfies the conditions: (1), points on the pieces and normals in
 * their cones, and, overlapping, a largest separation. */
static bool try_pieces(const tg_query *q, v4 start, double tolerance, double size, tg_witness *w)
{
    tg_piece a[TG_PIECES_MAX], b[TG_PIECES_MAX];
    int count_a = tg_pieces(&q->shape[0], start, tolerance, a), count_b = tg_pieces(&q->shape[1], -start, tolerance, b);
    for (int i = 0; i < count_a; i++)
        for (int j = 0; j < count_b; j++)
        {
            double margin = INFINITY;
            if (!tg_piece_witness(&a[i], &b[j], start, w) ||
                !on_piece(&a[i], w->point[0], w->normal, 1e-10 * size, &margin) ||
                !on_piece(&b[j], w->point[1], -w->normal, 1e-10 * size, &margin))
                continue;
            w->margin = margin;
            if (w->distance > -1e-9 * size ||
                tg_least_curvature(w->normal, &w->surface[0], &w->surface[1]) + w->distance > 0)
                return true;
        }
    return false;
}

bool tg_exact_witness(const tg_query *q, v4 start, tg_witness *w)
{
    double size = tg_extent(&q->shape[0]) + tg_extent(&q->shape[1]);
    return try_pieces(q, start, 3e-2, size, w) || try_pieces(q, start, 0.2, size, w);
}

/* Where the search ends before the last digits the exact separation along its normal counts: apart it is too small,
 * overlapping too deep, never the other way. */
tg_witness tg_search_witness(const tg_query *q, const tg_gjk_result *r)
{
    double ra = tg_rounding(&q->shape[0]), rb = tg_rounding(&q->shape[1]);
    double distance = tg_separation(&q->shape[0], &q->shape[1], r->normal);
    v4 middle = (r->point[0] + r->point[1] + r->normal * v4_splat(ra - rb)) * v4_splat(0.5);
    v4 half = r->normal * v4_splat(0.5 * distance);
    return (tg_witness){.normal = r->normal,
                        .point = {middle - half, middle + half},
                        .distance = distance,
                        .surface = {tg_surface_vertex(), tg_surface_vertex()},
                        .margin = TG_NO_DERIVATIVE};
}

void tg_add_witness(const tg_query *q, tg_patch *patch, const tg_witness *w, uint32_t base)
{
    if (!(w->distance < q->reach) || patch->count == TG_PATCH_MAX)
        return;
    tg_contact_point *c = &patch->point[patch->count++];
    tg_init_point(c, (w->point[0] + w->point[1]) * v4_splat(0.5), w->normal, w->distance, w->margin,
                  base + w->feature[0] * 0x9E3779B1u + w->feature[1]);
    for (int i = 0; i < 2; i++)
        c->surface[i] = w->surface[i];
}
