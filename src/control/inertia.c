/* Log-Cholesky parameters of a body's inertia (C. Rucker and P. Wensing, "Smooth parameterization of rigid-body
 * inertia", 2022).
 *
 * The pseudo-inertia [[S_o, h], [h^T, m]] is U U^T with U = e^a [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3,
 * t3], [0, 0, 0, 1]]. With L the upper left 3 x 3 part without e^a:
 *     m = e^2a,  c = t,  S_c = m L L^T (second moments about the centre of mass),  I_c = tr(S_c) 1 - S_c.
 * z = (a, d1, d2, d3, s12, s13, s23, t1, t2, t3). */
#include "control/inertia.h"

#include <math.h>
#include <string.h>

/* where xx yy zz xy xz yz stand in a matrix; the three s are the last three of them */
static const int row_of[6] = {0, 1, 2, 0, 0, 1}, column_of[6] = {0, 1, 2, 1, 2, 2};

bool tg_inertia_to_z(const double x[TG_INERTIA_SIZE], double z[TG_INERTIA_SIZE])
{
    double m = x[0], S[3][3], half = 0.5 * (x[4] + x[5] + x[6]);
    if (!(m > 0))
        return false;
    for (int k = 0; k < 6; k++) /* S_c / m = (1/2 tr(I) 1 - I) / m = L L^T */
        S[row_of[k]][column_of[k]] = S[column_of[k]][row_of[k]] = ((k < 3 ? half : 0.0) - x[4 + k]) / m;
    double l33 = sqrt(S[2][2]), s13 = S[0][2] / l33, s23 = S[1][2] / l33;
    double l22 = sqrt(S[1][1] - s23 * s23), s12 = (S[0][1] - s13 * s23) / l22;
    double l11 = sqrt(S[0][0] - s12 * s12 - s13 * s13);
    if (!(l11 > 0 && l22 > 0 && l33 > 0))
        return false;
    const double found[TG_INERTIA_SIZE] = {0.5 * log(m), log(l11), log(l22), log(l33), s12, s13, s23, x[1], x[2], x[3]};
    memcpy(z, found, sizeof found);
    return true;
}

/* Column j of the slope from the change of S_c that z_j makes: I_c = tr(S_c) 1 - S_c. */
static void put_change(double dS[3][3], int j, double slope[TG_INERTIA_SIZE][TG_INERTIA_SIZE])
{
    double trace = dS[0][0] + dS[1][1] + dS[2][2];
    for (int k = 0; k < 6; k++)
        slope[4 + k][j] = (k < 3 ? trace : 0.0) - dS[row_of[k]][column_of[k]];
}

void tg_inertia_to_x(const double z[TG_INERTIA_SIZE], double x[TG_INERTIA_SIZE],
                     double slope[TG_INERTIA_SIZE][TG_INERTIA_SIZE])
{
    double m = exp(2 * z[0]), S[3][3] = {{0}};
    const double L[3][3] = {{exp(z[1]), z[4], z[5]}, {0, exp(z[2]), z[6]}, {0, 0, exp(z[3])}};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                S[i][j] += m * L[i][k] * L[j][k];
    double trace = S[0][0] + S[1][1] + S[2][2];
    x[0] = m;
    memcpy(x + 1, z + 7, 3 * sizeof *x);
    for (int k = 0; k < 6; k++)
        x[4 + k] = (k < 3 ? trace : 0.0) - S[row_of[k]][column_of[k]];
    if (slope == NULL)
        return;

    memset(slope, 0, sizeof(double[TG_INERTIA_SIZE][TG_INERTIA_SIZE]));
    slope[0][0] = 2 * m;
    for (int k = 0; k < 6; k++)
        slope[4 + k][0] = 2 * x[4 + k];
    for (int i = 0; i < 3; i++)
        slope[1 + i][7 + i] = 1;
    for (int k = 0; k < 6; k++) /* dS = m (dL L^T + L dL^T), dL = e in entry (row, column) */
    {
        int row = row_of[k], column = column_of[k];
        double e = k < 3 ? L[row][row] : 1.0, dS[3][3] = {{0}};
        for (int j = 0; j < 3; j++)
        {
            dS[row][j] += m * e * L[j][column];
            dS[j][row] += m * e * L[j][column];
        }
        put_change(dS, 1 + k, slope);
    }
}
