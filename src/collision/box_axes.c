/* Two boxes along the fifteen axes that can separate them: the normals of their faces and the products of their
 * edges (Gottschalk, Lin and Manocha, 1996).
 *
 * With C = R_a^T R_b, t the second centre in the first frame and h the half lengths, along a unit vector d
 *   s = |d.t| - sum_i h_a,i |d.a_i| - sum_j h_b,j |d.b_j|,
 * written for three axes at a time. */
#include <math.h>

#include "collision/polytope.h"
#include "math/lanes.h"

#define PARALLEL_SQUARED 1e-12 /* of the sine between two edges: below it their product says nothing new */

static v4 rotate1(v4 a)
{
    return V4_SHUFFLE(a, 1, 2, 0, 3);
}

static v4 rotate2(v4 a)
{
    return V4_SHUFFLE(a, 2, 0, 1, 3);
}

tg_box_axes tg_box_separations(const tg_placed *a, const tg_placed *b)
{
    tg_box_axes s;
    mat3 At = mat3_transpose(a->R), C = mat3_product(At, b->R), row = mat3_transpose(C), size;
    v4 ha = v4_load(a->size), hb = v4_load(b->size), across_a = v4_zero();
    s.t[0] = mat3_mul(At, b->x - a->x);
    s.t[1] = mat3_mul(row, s.t[0]);
    for (int i = 0; i < 3; i++)
    {
        size.c[i] = v4_absolute(row.c[i]); /* |C_ij| over j */
        across_a += size.c[i] * v4_splat(ha[i]);
    }
    v4 across_b = mat3_mul(mat3_transpose(size), hb);
    v4_storeu(s.separation, v4_absolute(s.t[0]) - ha - across_b);
    v4_storeu(s.separation + 3, v4_absolute(s.t[1]) - hb - across_a);
    for (int i = 0; i < 3; i++) /* d = a_i x b_j over j: d.t, d.a_k and d.b_k are entries of C */
    {
        int k = (i + 1) % 3, l = (i + 2) % 3;
        v4 centre = v4_absolute(row.c[k] * v4_splat(s.t[0][l]) - row.c[l] * v4_splat(s.t[0][k]));
        v4 from_a = size.c[l] * v4_splat(ha[k]) + size.c[k] * v4_splat(ha[l]);
        v4 from_b = rotate1(hb) * rotate2(size.c[i]) + rotate2(hb) * rotate1(size.c[i]);
        v4 sine = v4_splat(1) - row.c[i] * row.c[i];
        v4 separation = (centre - from_a - from_b) / v4_root(sine);
        for (int j = 0; j < 3; j++)
            s.separation[6 + 3 * i + j] = sine[j] > PARALLEL_SQUARED ? separation[j] : -INFINITY;
    }
    return s;
}

double tg_box_gap(const tg_placed *a, const tg_placed *b, v4 *n)
{
    v4 ha = v4_load(a->size), hb = v4_load(b->size), way = b->x - a->x, c[3], gap[2];
    v4 t[2] = {mat3_mul_t(a->R, way), mat3_mul_t(b->R, way)};
    for (int i = 0; i < 3; i++)
        c[i] = v4_absolute(mat3_mul_t(a->R, b->R.c[i]));
    gap[0] = v4_absolute(t[0]) - ha - mat3_mul_mem((mat3){{c[0], c[1], c[2]}}, b->size);
    gap[1] = v4_absolute(t[1]) - hb - v4_sum3(c[0] * ha, c[1] * ha, c[2] * ha);
    int best = 0;
    for (int k = 1; k < 6; k++)
        best = gap[k / 3][k % 3] > gap[best / 3][best % 3] ? k : best;
    *n = best < 3 ? a->R.c[best] : b->R.c[best - 3];
    *n = t[best / 3][best % 3] < 0 ? -*n : *n;
    return gap[best / 3][best % 3] - 2 * TG_TIE * (v4_length(way) + v4_sum(ha + hb));
}

/* Farthest along n is what was farthest along m = n + n x turn. */
double tg_box_gap_after(const tg_placed *a, const tg_placed *b, v4 n, const v4 move[2], const v4 turn[2])
{
    v4 m[2] = {n + v4_cross(n, turn[0]), n + v4_cross(n, turn[1])};
    v4 along = v4_absolute(mat3_mul_t(a->R, m[0])) * v4_load(a->size);
    along += v4_absolute(mat3_mul_t(b->R, m[1])) * v4_load(b->size);
    return v4_sum(n * (b->x + move[1] - a->x - move[0]) - along);
}

static int vertex_towards(const tg_placed *p, v4 d)
{
    v4 local = mat3_mul_t(p->R, d);
    return (local[0] > 0) | (local[1] > 0) << 1 | (local[2] > 0) << 2;
}

/* The edge of the box along its axis k that is farthest along d. */
static v4 edge_towards(const tg_placed *p, v4 d, int k, int vertex[2])
{
    int v = vertex_towards(p, d);
    vertex[0] = v & ~(1 << k);
    vertex[1] = v | 1 << k;
    v4 middle = tg_core_local(p, v);
    middle[k] = 0;
    return p->x + mat3_mul(p->R, middle);
}

static double clamp(double x, double bound)
{
    return x < -bound ? -bound : x > bound ? bound : x;
}

void tg_box_edges(const tg_placed *a, const tg_placed *b, int k, double ends, tg_axis *axis)
{
    int i = (k - 6) / 3, j = (k - 6) % 3;
    v4 n = axis->normal, e = a->R.c[i], f = b->R.c[j];
    v4 p = edge_towards(a, n, i, axis->vertex[0]), q = edge_towards(b, -n, j, axis->vertex[1]), d = q - p;
    double ef = v4_dot(e, f), de = v4_dot(d, e), df = v4_dot(d, f), det = 1 - ef * ef;
    double s = clamp((de - ef * df) / det, ends * a->size[i]), t = clamp((ef * de - df) / det, ends * b->size[j]);
    axis->count[0] = axis->count[1] = 2;
    axis->point[0] = p + e * v4_splat(s);
    axis->point[1] = q + f * v4_splat(t);
}

static void face_points(const tg_placed *a, const tg_placed *b, int face, tg_axis *axis)
{
    const tg_placed *shape[2] = {a, b};
    v4 n = axis->normal, x[2];
    for (int i = 0; i < 2; i++)
    {
        axis->vertex[i][0] = vertex_towards(shape[i], i == 0 ? n : -n);
        x[i] = tg_core_vertex(shape[i], axis->vertex[i][0]);
        axis->count[i] = i == face ? 3 : 1;
    }
    v4 gap = n * v4_splat(axis->separation);
    axis->point[0] = face == 0 ? x[1] - gap : x[0];
    axis->point[1] = face == 0 ? x[1] : x[0] + gap;
}

v4 tg_box_normal(const tg_placed *a, const tg_placed *b, int k)
{
    if (k < 6)
        return k < 3 ? a->R.c[k] : b->R.c[k - 3];
    v4 n = v4_cross(a->R.c[(k - 6) / 3], b->R.c[(k - 6) % 3]);
    return n * v4_splat(1 / sqrt(v4_dot(n, n)));
}

tg_axis tg_box_axis(const tg_placed *a, const tg_placed *b, const tg_box_axes *s, int k)
{
    tg_axis axis = {.separation = s->separation[k], .margin = INFINITY};
    v4 n = tg_box_normal(a, b, k);
    double towards = k < 6 ? s->t[k / 3][k % 3] : v4_dot(n, b->x - a->x);
    axis.normal = towards < 0 ? -n : n;
    if (k < 6)
        face_points(a, b, k / 3, &axis);
    else
        tg_box_edges(a, b, k, 1, &axis);
    return axis;
}
