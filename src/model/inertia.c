#include "model/inertia.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

/* ---- lumps ---- */

/* inertia += mass (|d|^2 1 - d d^T): a point mass at d, or the parallel-axis theorem */
static void add_point(double inertia[6], double mass, const double d[3])
{
    inertia[0] += mass * (d[1] * d[1] + d[2] * d[2]);
    inertia[1] += mass * (d[0] * d[0] + d[2] * d[2]);
    inertia[2] += mass * (d[0] * d[0] + d[1] * d[1]);
    inertia[3] -= mass * d[0] * d[1];
    inertia[4] -= mass * d[0] * d[2];
    inertia[5] -= mass * d[1] * d[2];
}

/* With d from a's centre to b's and the reduced mass m_a m_b / m, nothing cancels:
 * I = I_a + I_b + m_a m_b / m (|d|^2 1 - d d^T). */
void tg_lump_add(tg_lump *a, const tg_lump *b)
{
    for (int i = 0; i < 6; i++)
        a->inertia[i] += b->inertia[i];
    double mass = a->mass + b->mass;
    if (!(mass > 0))
        return;
    double share = b->mass / mass;
    double d[3];
    for (int i = 0; i < 3; i++)
    {
        d[i] = b->com[i] - a->com[i];
        a->com[i] = a->mass > 0 ? a->com[i] + share * d[i] : b->com[i];
    }
    if (a->mass > 0)
        add_point(a->inertia, a->mass * share, d);
    a->mass = mass;
}

static void unpack(const double s[6], double full[3][3])
{
    const double f[3][3] = {{s[0], s[3], s[4]}, {s[3], s[1], s[5]}, {s[4], s[5], s[2]}};
    memcpy(full, f, sizeof f);
}

/* out = R S R^T */
static void rotate_inertia(const double R[9], const double s[6], double out[6])
{
    double full[3][3];
    double RS[9];
    unpack(s, full);
    for (int i = 0; i < 3; i++)
    {
        for (int j = 0; j < 3; j++)
            RS[3 * i + j] = R[3 * i] * full[0][j] + R[3 * i + 1] * full[1][j] + R[3 * i + 2] * full[2][j];
    }
    static const int row[6] = {0, 1, 2, 0, 0, 1};
    static const int column[6] = {0, 1, 2, 1, 2, 2};
    for (int k = 0; k < 6; k++)
    {
        const double *a = RS + 3 * row[k];
        const double *b = R + 3 * column[k];
        out[k] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    }
}

tg_lump tg_lump_move(const tg_lump *a, const double R[9], const double pos[3])
{
    tg_lump out = {.mass = a->mass};
    for (int i = 0; i < 3; i++)
        out.com[i] = pos[i] + R[3 * i] * a->com[0] + R[3 * i + 1] * a->com[1] + R[3 * i + 2] * a->com[2];
    rotate_inertia(R, a->inertia, out.inertia);
    return out;
}

double tg_lump_about(const tg_lump *a, const double point[3], const double axis[3])
{
    double s[6];
    memcpy(s, a->inertia, sizeof s);
    const double d[3] = {a->com[0] - point[0], a->com[1] - point[1], a->com[2] - point[2]};
    add_point(s, a->mass, d);
    return s[0] * axis[0] * axis[0] + s[1] * axis[1] * axis[1] + s[2] * axis[2] * axis[2] +
           2 * (s[3] * axis[0] * axis[1] + s[4] * axis[0] * axis[2] + s[5] * axis[1] * axis[2]);
}

/* ---- primitives, about their centre: unit density ---- */

static tg_lump diagonal(double mass, double xx, double yy, double zz)
{
    return (tg_lump){.mass = mass, .inertia = {xx, yy, zz, 0, 0, 0}};
}

/* Solids of which the inertia follows from mean squares: I_xx = m (<y^2> + <z^2>). */
static tg_lump from_mean_squares(double mass, double x2, double y2, double z2)
{
    return diagonal(mass, mass * (y2 + z2), mass * (x2 + z2), mass * (x2 + y2));
}

static tg_lump solid_ellipsoid(const double r[3])
{
    return from_mean_squares(4.0 / 3 * PI * r[0] * r[1] * r[2], r[0] * r[0] / 5, r[1] * r[1] / 5, r[2] * r[2] / 5);
}

static tg_lump solid_box(const double h[3])
{
    return from_mean_squares(8 * h[0] * h[1] * h[2], h[0] * h[0] / 3, h[1] * h[1] / 3, h[2] * h[2] / 3);
}

static tg_lump solid_cylinder(double r, double h)
{
    return from_mean_squares(2 * PI * r * r * h, r * r / 4, r * r / 4, h * h / 3);
}

/* The cap is the half of a sphere: <z> = 3 r / 8 from the centre of the sphere, <z^2> = r^2 / 5. */
static tg_lump solid_capsule(double r, double h)
{
    double caps = 4.0 / 3 * PI * r * r * r;
    tg_lump c = solid_cylinder(r, h);
    tg_lump s = from_mean_squares(caps, r * r / 5, r * r / 5, r * r / 5 + h * h + 2 * h * (3 * r / 8));
    tg_lump_add(&c, &s);
    return c;
}

/* Area by Thomsen's approximation. The mass lies between the ellipsoid and the one whose radii are all longer by
 * eps -> 0 (for a sphere, evenly): with s = 1/a + 1/b + 1/c,  <x^2> = (a^2 + 2 a / s) / 5. */
static tg_lump shell_ellipsoid(const double r[3])
{
    const double p = 1.6075;
    double mean = (pow(r[0] * r[1], p) + pow(r[1] * r[2], p) + pow(r[2] * r[0], p)) / 3;
    double s = 1 / r[0] + 1 / r[1] + 1 / r[2];
    double square[3];
    for (int i = 0; i < 3; i++)
        square[i] = (r[i] * r[i] + 2 * r[i] / s) / 5;
    return from_mean_squares(4 * PI * pow(mean, 1 / p), square[0], square[1], square[2]);
}

static tg_lump shell_sphere(double r)
{
    return from_mean_squares(4 * PI * r * r, r * r / 3, r * r / 3, r * r / 3);
}

/* Six faces, two by two: on the faces across axis i, <x_i^2> = h_i^2, the other two <x_j^2> = h_j^2 / 3. */
static tg_lump shell_box(const double h[3])
{
    tg_lump sum = {0};
    for (int i = 0; i < 3; i++)
    {
        double area = 8 * h[(i + 1) % 3] * h[(i + 2) % 3];
        double square[3] = {h[0] * h[0] / 3, h[1] * h[1] / 3, h[2] * h[2] / 3};
        square[i] = h[i] * h[i];
        tg_lump faces = from_mean_squares(area, square[0], square[1], square[2]);
        tg_lump_add(&sum, &faces);
    }
    return sum;
}

static tg_lump shell_tube(double r, double h)
{
    return from_mean_squares(4 * PI * r * h, r * r / 2, r * r / 2, h * h / 3);
}

static tg_lump shell_cylinder(double r, double h)
{
    tg_lump sum = shell_tube(r, h);
    tg_lump disks = from_mean_squares(2 * PI * r * r, r * r / 4, r * r / 4, h * h);
    tg_lump_add(&sum, &disks);
    return sum;
}

/* Caps: <z> = r / 2 from the centre of the sphere, <z^2> = r^2 / 3. */
static tg_lump shell_capsule(double r, double h)
{
    tg_lump sum = shell_tube(r, h);
    tg_lump caps = from_mean_squares(4 * PI * r * r, r * r / 3, r * r / 3, r * r / 3 + h * h + h * r);
    tg_lump_add(&sum, &caps);
    return sum;
}

tg_lump tg_shape_lump(tg_geom_type type, const double size[3], bool shell)
{
    const double ball[3] = {size[0], size[0], size[0]};
    switch (type)
    {
    case TG_GEOM_SPHERE:
        return shell ? shell_sphere(size[0]) : solid_ellipsoid(ball);
    case TG_GEOM_CAPSULE:
        return shell ? shell_capsule(size[0], size[1]) : solid_capsule(size[0], size[1]);
    case TG_GEOM_ELLIPSOID:
        return shell ? shell_ellipsoid(size) : solid_ellipsoid(size);
    case TG_GEOM_CYLINDER:
        return shell ? shell_cylinder(size[0], size[1]) : solid_cylinder(size[0], size[1]);
    case TG_GEOM_BOX:
        return shell ? shell_box(size) : solid_box(size);
    default:
        return (tg_lump){0};
    }
}

/* ---- meshes ---- */

static void load_triangle(const double *vertex, const int *face, const double scale[3], const double centre[3],
                          double t[3][3])
{
    for (int k = 0; k < 3; k++)
    {
        for (int i = 0; i < 3; i++)
            t[k][i] = scale[i] * vertex[3 * face[k] + i] - centre[i];
    }
}

static void cross(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Area of the triangle, or signed volume of the tetrahedron that it makes with the origin. */
static double triangle_measure(double t[3][3], bool shell)
{
    double normal[3];
    if (!shell)
    {
        cross(t[1], t[2], normal);
        return (t[0][0] * normal[0] + t[0][1] * normal[1] + t[0][2] * normal[2]) / 6;
    }
    double a[3];
    double b[3];
    for (int i = 0; i < 3; i++)
    {
        a[i] = t[1][i] - t[0][i];
        b[i] = t[2][i] - t[0][i];
    }
    cross(a, b, normal);
    return sqrt(normal[0] * normal[0] + normal[1] * normal[1] + normal[2] * normal[2]) / 2;
}

/* Adds the measure, first moments and second moments <x_i x_j> (xx yy zz xy xz yz) of one triangle or tetrahedron.
 * Over a simplex with n vertices p_k (the origin is one of a tetrahedron's) of measure V:
 * int x = V sum p / n,  int x x^T = V (sum_k p_k p_k^T + (sum p)(sum p)^T) / (n (n + 1)). */
static void add_simplex(double t[3][3], bool shell, double *measure, double first[3], double second[6])
{
    static const int row[6] = {0, 1, 2, 0, 0, 1};
    static const int column[6] = {0, 1, 2, 1, 2, 2};
    const double n = shell ? 3 : 4;
    double V = triangle_measure(t, shell);
    double sum[3];
    *measure += V;
    for (int i = 0; i < 3; i++)
    {
        sum[i] = t[0][i] + t[1][i] + t[2][i];
        first[i] += V * sum[i] / n;
    }
    for (int k = 0; k < 6; k++)
    {
        int i = row[k];
        int j = column[k];
        double squares = t[0][i] * t[0][j] + t[1][i] * t[1][j] + t[2][i] * t[2][j];
        second[k] += V * (squares + sum[i] * sum[j]) / (n * (n + 1));
    }
}

/* Two passes: the second is taken about the centre of mass that the first has found, so that a mesh far from its origin
 * loses no digits. The first starts at a vertex. */
tg_lump tg_mesh_lump(const double *vertex, const int *face, int nface, const double scale[3], bool shell)
{
    tg_lump out = {0};
    if (nface == 0)
        return out;
    double second[6];
    double side = scale[0] * scale[1] * scale[2] < 0 ? -1 : 1; /* a mirrored mesh is inside out */
    for (int i = 0; i < 3; i++)
        out.com[i] = scale[i] * vertex[3 * face[0] + i];
    for (int pass = 0; pass < 2; pass++)
    {
        double measure = 0;
        double first[3] = {0};
        memset(second, 0, sizeof second);
        for (int f = 0; f < nface; f++)
        {
            double t[3][3];
            load_triangle(vertex, face + 3 * f, scale, out.com, t);
            add_simplex(t, shell, &measure, first, second);
        }
        for (int i = 0; i < 3 && measure != 0; i++)
            out.com[i] += first[i] / measure;
        out.mass = shell ? measure : side * measure;
    }
    double sign = shell ? 1 : side;
    const double s[6] = {
        second[1] + second[2], second[0] + second[2], second[0] + second[1], -second[3], -second[4], -second[5]};
    for (int k = 0; k < 6; k++)
        out.inertia[k] = sign * s[k];
    return out;
}

/* ---- principal moments ---- */

/* One Jacobi rotation that makes full[p][q] zero; the columns of axes turn along. */
static void jacobi_rotate(double full[3][3], double axes[3][3], int p, int q)
{
    if (full[p][q] == 0)
        return;
    double theta = (full[q][q] - full[p][p]) / (2 * full[p][q]);
    double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
    double c = 1 / sqrt(t * t + 1);
    double s = t * c;
    for (int k = 0; k < 3; k++)
    {
        double kp = full[k][p];
        double kq = full[k][q];
        full[k][p] = c * kp - s * kq;
        full[k][q] = s * kp + c * kq;
    }
    for (int k = 0; k < 3; k++)
    {
        double pk = full[p][k];
        double qk = full[q][k];
        full[p][k] = c * pk - s * qk;
        full[q][k] = s * pk + c * qk;
    }
    for (int k = 0; k < 3; k++)
    {
        double kp = axes[k][p];
        double kq = axes[k][q];
        axes[k][p] = c * kp - s * kq;
        axes[k][q] = s * kp + c * kq;
    }
}

/* full becomes diagonal; the columns of axes are where its axes were. */
static void diagonalise(double full[3][3], double axes[3][3])
{
    for (int i = 0; i < 3; i++)
    {
        for (int j = 0; j < 3; j++)
            axes[i][j] = i == j;
    }
    for (int sweep = 0; sweep < 12; sweep++) /* converges quadratically: five or six sweeps reach rounding */
    {
        jacobi_rotate(full, axes, 0, 1);
        jacobi_rotate(full, axes, 0, 2);
        jacobi_rotate(full, axes, 1, 2);
    }
}

void tg_principal_moments(const double inertia[6], double moment[3])
{
    double full[3][3], axes[3][3];
    unpack(inertia, full);
    diagonalise(full, axes);
    for (int i = 0; i < 3; i++)
        moment[i] = full[i][i];
    for (int i = 0; i < 2; i++) /* three numbers, ascending */
    {
        for (int j = 0; j < 2 - i; j++)
        {
            if (moment[j] > moment[j + 1])
            {
                double swap = moment[j];
                moment[j] = moment[j + 1];
                moment[j + 1] = swap;
            }
        }
    }
}

void tg_principal_axes(const double inertia[6], double moment[3], double R[9])
{
    double full[3][3], axes[3][3];
    int order[3] = {0, 1, 2};
    unpack(inertia, full);
    diagonalise(full, axes);
    double slack = 1e-12 * (full[0][0] + full[1][1] + full[2][2]); /* equal moments stay in their order */
    for (int i = 0; i < 3; i++)
    {
        int j = i % 2; /* 0 1, 1 2, 0 1: enough for three */
        if (full[order[j]][order[j]] + slack < full[order[j + 1]][order[j + 1]])
        {
            int swap = order[j];
            order[j] = order[j + 1];
            order[j + 1] = swap;
        }
    }
    for (int i = 0; i < 3; i++)
    {
        moment[i] = full[order[i]][order[i]];
        for (int k = 0; k < 3; k++)
            R[3 * k + i] = axes[k][order[i]];
    }
    double handed =
        R[0] * (R[4] * R[8] - R[5] * R[7]) + R[1] * (R[5] * R[6] - R[3] * R[8]) + R[2] * (R[3] * R[7] - R[4] * R[6]);
    for (int k = 0; k < 3 && handed < 0; k++)
        R[3 * k + 2] = -R[3 * k + 2];
}
