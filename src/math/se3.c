/* SE(3): poses T = (p, q) and twists xi = (rho, phi), linear first.
 *
 * Exp(xi) = (J_l(phi) rho, Exp(phi)), Log(T) = (J_l(phi)^-1 p, phi).
 *
 * The matrix of the Lie bracket in the order linear; angular is ad = [ [phi], [rho] ; 0, [phi] ]: the one of so(3) with
 * [phi] replaced by the dual number [phi] + epsilon [rho]. Therefore every power series in ad has the block form
 *     f(ad) = [ f([phi]), d/dh f([phi + h rho]) at h = 0 ; 0, f([phi]) ],
 * and the Jacobians follow from those of SO(3) and their directional derivatives:
 *     J_r:     Q = -b [rho] - b' h [phi] + c ([phi][rho] + [rho][phi]) + c' h [phi]^2
 *     J_r^-1:  Q = [rho]/2               + d ([phi][rho] + [rho][phi]) + d' h [phi]^2
 * with h = d|phi|^2 = 2 phi.rho, b' = db/ds (so3.h). */
#include "math/so3.h"
#include "tangere/algebra.h"

enum
{
    POSE = DIM + QUAT, /* numbers of p, q */
    SQUARE = TWIST * TWIST
};

/* the 3 x 3 block of J (6 x 6) whose first entry is (row, column) */
static void set_block(double J[SQUARE], int row, int column, const mat33 block)
{
    for (int i = 0; i < DIM; i++)
        vec3_copy(block + DIM * i, J + TWIST * (row + i) + column);
}

static void set_block_triangular(double J[SQUARE], const mat33 diagonal, const mat33 upper)
{
    static const mat33 zero = {0};
    set_block(J, 0, 0, diagonal);
    set_block(J, 0, DIM, upper);
    set_block(J, DIM, 0, zero);
    set_block(J, DIM, DIM, diagonal);
}

void tg_se3_multiply(const double a[POSE], const double b[POSE], double out[POSE])
{
    vec3 p;
    quat4 q;
    tg_se3_transform(a, b, p);
    tg_quat_multiply(a + DIM, b + DIM, q);
    vec3_copy(p, out);
    tg_quat_normalise(q, out + DIM);
}

void tg_se3_inverse(const double T[POSE], double out[POSE])
{
    vec3 p;
    tg_quat_rotate_inverse(T + DIM, T, p);
    vec3_scale(-1, p, out);
    tg_quat_conjugate(T + DIM, out + DIM);
}

void tg_se3_transform(const double T[POSE], const vec3 u, vec3 out)
{
    vec3 r;
    tg_quat_rotate(T + DIM, u, r);
    vec3_axpy(1, T, r);
    vec3_copy(r, out);
}

void tg_se3_exp(const double xi[TWIST], double T[POSE])
{
    mat33 J;
    vec3 rho, phi;
    vec3_copy(xi, rho);
    vec3_copy(xi + DIM, phi);
    tg_so3_left_jacobian(phi, J);
    mat33_mul(J, rho, T);
    tg_quat_exp(phi, T + DIM);
}

void tg_se3_log(const double T[POSE], double xi[TWIST])
{
    mat33 J;
    vec3 phi;
    tg_quat_log(T + DIM, phi);
    tg_so3_left_jacobian_inverse(phi, J);
    mat33_mul(J, T, xi);
    vec3_copy(phi, xi + DIM);
}

void tg_se3_adjoint(const double T[POSE], double Ad[SQUARE])
{
    mat33 R, cross;
    const double *x = R, *y = R + DIM, *z = R + 2 * DIM; /* its rows */
    tg_quat_to_matrix(T + DIM, R);
    for (int j = 0; j < DIM; j++)
    {
        cross[j] = T[1] * z[j] - T[2] * y[j];
        cross[DIM + j] = T[2] * x[j] - T[0] * z[j];
        cross[2 * DIM + j] = T[0] * y[j] - T[1] * x[j];
    }
    set_block_triangular(Ad, R, cross);
}

/* The directional derivative along rho of first [phi] + second [phi]^2, where first and second change by first_h and
 * second_h. With [phi]^2 = phi phi^T - s I: [phi][rho] + [rho][phi] = rho phi^T + phi rho^T - 2 phi.rho I. */
typedef struct expansion
{
    double first, second, first_h, second_h;
} expansion;

static void upper_block(const vec3 rho, const vec3 phi, expansion f, mat33 Q)
{
    double h = 2 * vec3_dot(phi, rho);
    double s = vec3_dot(phi, phi);
    vec3 skew;
    for (int i = 0; i < DIM; i++)
        skew[i] = f.first * rho[i] + f.first_h * phi[i];
    for (int i = 0; i < DIM; i++)
        for (int j = 0; j < DIM; j++)
            Q[DIM * i + j] = f.second * (rho[i] * phi[j] + phi[i] * rho[j]) + f.second_h * phi[i] * phi[j];
    for (int i = 0; i < DIM; i++)
    {
        int j = (i + 1) % DIM, k = (i + 2) % DIM;
        Q[DIM * i + i] -= f.second * h + f.second_h * s;
        Q[DIM * j + k] -= skew[i];
        Q[DIM * k + j] += skew[i];
    }
}

void tg_se3_right_jacobian(const double xi[TWIST], double J[SQUARE])
{
    const double *rho = xi, *phi = xi + DIM;
    double h = 2 * vec3_dot(phi, rho);
    mat33 diagonal, upper;
    tg_so3_scalars f;
    tg_so3_scalars_exp(vec3_dot(phi, phi), &f);
    tg_so3_right_jacobian(phi, diagonal);
    upper_block(rho, phi, (expansion){-f.b, f.c, -f.b_s * h, f.c_s * h}, upper);
    set_block_triangular(J, diagonal, upper);
}

void tg_se3_right_jacobian_inverse(const double xi[TWIST], double J[SQUARE])
{
    const double *rho = xi, *phi = xi + DIM;
    double h = 2 * vec3_dot(phi, rho);
    mat33 diagonal, upper;
    tg_so3_scalars f;
    tg_so3_scalars_log(vec3_dot(phi, phi), &f);
    tg_so3_right_jacobian_inverse(phi, diagonal);
    upper_block(rho, phi, (expansion){0.5, f.d, 0, f.d_s * h}, upper);
    set_block_triangular(J, diagonal, upper);
}
