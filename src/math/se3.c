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

static void multiply3(const double A[9], const double u[3], double out[3])
{
    const double x = u[0], y = u[1], z = u[2];
    for (int i = 0; i < 3; i++)
        out[i] = A[3 * i] * x + A[3 * i + 1] * y + A[3 * i + 2] * z;
}

/* the 3 x 3 block of J (6 x 6) whose first entry is (row, column) */
static void set_block(double J[36], int row, int column, const double block[9])
{
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            J[6 * (row + i) + column + j] = block[3 * i + j];
}

static void set_block_triangular(double J[36], const double diagonal[9], const double upper[9])
{
    static const double zero[9] = {0};
    set_block(J, 0, 0, diagonal);
    set_block(J, 0, 3, upper);
    set_block(J, 3, 0, zero);
    set_block(J, 3, 3, diagonal);
}

void tg_se3_multiply(const double a[7], const double b[7], double out[7])
{
    double p[3], q[4];
    tg_se3_transform(a, b, p);
    tg_quat_multiply(a + 3, b + 3, q);
    for (int i = 0; i < 3; i++)
        out[i] = p[i];
    tg_quat_normalise(q, out + 3);
}

void tg_se3_inverse(const double T[7], double out[7])
{
    double p[3];
    tg_quat_rotate_inverse(T + 3, T, p);
    for (int i = 0; i < 3; i++)
        out[i] = -p[i];
    tg_quat_conjugate(T + 3, out + 3);
}

void tg_se3_transform(const double T[7], const double u[3], double out[3])
{
    double r[3];
    tg_quat_rotate(T + 3, u, r);
    for (int i = 0; i < 3; i++)
        out[i] = r[i] + T[i];
}

void tg_se3_exp(const double xi[6], double T[7])
{
    double J[9], p[3], q[4];
    tg_so3_left_jacobian(xi + 3, J);
    multiply3(J, xi, p);
    tg_quat_exp(xi + 3, q);
    for (int i = 0; i < 3; i++)
        T[i] = p[i];
    for (int i = 0; i < 4; i++)
        T[3 + i] = q[i];
}

void tg_se3_log(const double T[7], double xi[6])
{
    double J[9], rho[3], phi[3];
    tg_quat_log(T + 3, phi);
    tg_so3_left_jacobian_inverse(phi, J);
    multiply3(J, T, rho);
    for (int i = 0; i < 3; i++)
    {
        xi[i] = rho[i];
        xi[3 + i] = phi[i];
    }
}

void tg_se3_adjoint(const double T[7], double Ad[36])
{
    double R[9], cross[9];
    tg_quat_to_matrix(T + 3, R);
    for (int j = 0; j < 3; j++)
    {
        cross[j] = T[1] * R[6 + j] - T[2] * R[3 + j];
        cross[3 + j] = T[2] * R[j] - T[0] * R[6 + j];
        cross[6 + j] = T[0] * R[3 + j] - T[1] * R[j];
    }
    set_block_triangular(Ad, R, cross);
}

/* The directional derivative along rho of first [phi] + second [phi]^2, where first and second change by first_h and
 * second_h. With [phi]^2 = phi phi^T - s I: [phi][rho] + [rho][phi] = rho phi^T + phi rho^T - 2 phi.rho I. */
typedef struct expansion
{
    double first, second, first_h, second_h;
} expansion;

static void upper_block(const double rho[3], const double phi[3], expansion f, double Q[9])
{
    double h = 2 * tg_dot3(phi, rho);
    double s = tg_dot3(phi, phi);
    double skew[3];
    for (int i = 0; i < 3; i++)
        skew[i] = f.first * rho[i] + f.first_h * phi[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            Q[3 * i + j] = f.second * (rho[i] * phi[j] + phi[i] * rho[j]) + f.second_h * phi[i] * phi[j];
    for (int i = 0; i < 3; i++)
        Q[4 * i] -= f.second * h + f.second_h * s;
    Q[1] -= skew[2];
    Q[2] += skew[1];
    Q[3] += skew[2];
    Q[5] -= skew[0];
    Q[6] -= skew[1];
    Q[7] += skew[0];
}

void tg_se3_right_jacobian(const double xi[6], double J[36])
{
    const double *rho = xi, *phi = xi + 3;
    double h = 2 * tg_dot3(phi, rho);
    double diagonal[9], upper[9];
    tg_so3_scalars f;
    tg_so3_scalars_exp(tg_dot3(phi, phi), &f);
    tg_so3_right_jacobian(phi, diagonal);
    upper_block(rho, phi, (expansion){-f.b, f.c, -f.b_s * h, f.c_s * h}, upper);
    set_block_triangular(J, diagonal, upper);
}

void tg_se3_right_jacobian_inverse(const double xi[6], double J[36])
{
    const double *rho = xi, *phi = xi + 3;
    double h = 2 * tg_dot3(phi, rho);
    double diagonal[9], upper[9];
    tg_so3_scalars f;
    tg_so3_scalars_log(tg_dot3(phi, phi), &f);
    tg_so3_right_jacobian_inverse(phi, diagonal);
    upper_block(rho, phi, (expansion){0.5, f.d, 0, f.d_s * h}, upper);
    set_block_triangular(J, diagonal, upper);
}
