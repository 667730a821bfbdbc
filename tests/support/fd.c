#include "support/fd.h"

#include <math.h>
#include <stdlib.h>

static void central(const fd_problem *p, int input, double h, double *plus, double *minus, double *out)
{
    p->evaluate(p->context, input, h, plus);
    p->evaluate(p->context, input, -h, minus);
    for (int i = 0; i < p->nout; i++)
        out[i] = (plus[i] - minus[i]) / (2 * h);
}

void fd_matrix(const fd_problem *p, double h, double *F)
{
    size_t n = (size_t)p->nout;
    double *buffer = malloc((n > 0 ? 4 * n : 1) * sizeof *buffer);
    double *plus = buffer, *minus = buffer + n, *coarse = buffer + 2 * n, *fine = buffer + 3 * n;
    for (int j = 0; j < p->nin; j++)
    {
        central(p, j, h, plus, minus, coarse);
        central(p, j, h / 2, plus, minus, fine);
        for (int i = 0; i < p->nout; i++)
            F[i * p->nin + j] = (4 * fine[i] - coarse[i]) / 3;
    }
    free(buffer);
}

fd_result fd_compare(const fd_problem *p, const double *J)
{
    static const double steps[] = {1e-3, 1e-4, 1e-5, 1e-6};
    fd_result best = {INFINITY, 0, -1, -1};
    size_t size = (size_t)p->nout * (size_t)p->nin;
    double *F = malloc((size > 0 ? size : 1) * sizeof *F);
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
    {
        fd_result r = {0, 0, -1, -1};
        fd_matrix(p, steps[s], F);
        for (size_t i = 0; i < size; i++)
        {
            double error = fabs(J[i] - F[i]);
            if (isnan(error))
                error = INFINITY;
            if (error > r.error)
                r = (fd_result){error, r.largest, (int)(i / (size_t)p->nin), (int)(i % (size_t)p->nin)};
            if (fabs(F[i]) > r.largest)
                r.largest = fabs(F[i]);
        }
        r.error /= fmax(1, r.largest);
        if (r.error < best.error)
            best = r;
    }
    free(F);
    return best;
}
