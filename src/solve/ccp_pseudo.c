/* The pseudo-inverse of a redundant K (ccp.h): Jacobi's method for symmetric matrices.
 *
 * A ridge d instead would multiply what a right hand side has along a redundant direction by 1 / d. Exactly on the
 * constraints it has nothing there. States that are rounded, or gradients by states off the constraints, have. */
#include <float.h>
#include <math.h>

#include "math/dense.h"
#include "solve/ccp.h"

/* rotates rows and columns i and j of K so that K_ij = 0 */
static void rotate(int n, int i, int j, double *K, double *V)
{
    double theta = (K[j * n + j] - K[i * n + i]) / (2 * K[i * n + j]);
    double t = copysign(1, theta) / (fabs(theta) + sqrt(1 + theta * theta)), cosine = 1 / sqrt(1 + t * t);
    double sine = t * cosine;
    for (int k = 0; k < n; k++)
    {
        double a = K[k * n + i], b = K[k * n + j];
        K[k * n + i] = cosine * a - sine * b;
        K[k * n + j] = sine * a + cosine * b;
    }
    for (int k = 0; k < n; k++)
    {
        double a = K[i * n + k], b = K[j * n + k], p = V[k * n + i], q = V[k * n + j];
        K[i * n + k] = cosine * a - sine * b;
        K[j * n + k] = sine * a + cosine * b;
        V[k * n + i] = cosine * p - sine * q;
        V[k * n + j] = sine * p + cosine * q;
    }
}

/* Sweeps converge quadratically, 6 to 10 are usual; a bit per sweep would be slow. */
void tg_ccp_diagonalise(tg_ccp *c, int n)
{
    double *K = c->K, *V = c->V, off = 1, trace = 0;
    for (int i = 0; i < n; i++)
    {
        trace += K[i * n + i];
        for (int j = 0; j < n; j++)
            V[i * n + j] = i == j;
        for (int j = 0; j < i; j++)
            K[j * n + i] = K[i * n + j];
    }
    for (int sweep = 0; sweep < DBL_MANT_DIG && off > DBL_EPSILON * trace; sweep++)
    {
        off = 0;
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
            {
                off = fmax(off, fabs(K[i * n + j]));
                if (fabs(K[i * n + j]) > DBL_MIN)
                    rotate(n, i, j, K, V);
            }
    }
    for (int i = 0; i < n; i++)
        c->aux[i] = K[i * n + i];
}

void tg_ccp_apply(const tg_ccp *c, int n, bool redundant, double *r)
{
    double largest = 0, *turned = c->K;
    if (!redundant)
    {
        tg_chol_solve(n, c->K, n, 1, r, 1);
        return;
    }
    for (int a = 0; a < n; a++)
        largest = fmax(largest, c->aux[a]);
    for (int a = 0; a < n; a++)
    {
        turned[a] = 0;
        for (int i = 0; i < n && c->aux[a] > tg_ccp_redundant_pivot * largest; i++)
            turned[a] += c->V[i * n + a] * r[i] / c->aux[a];
    }
    for (int i = 0; i < n; i++)
    {
        r[i] = 0;
        for (int a = 0; a < n; a++)
            r[i] += c->V[i * n + a] * turned[a];
    }
}
