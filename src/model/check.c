#include "model/check.h"

#include <math.h>

#include "base/simd.h"
#include "base/status.h"

/* 0 x is zero for finite numbers and NaN otherwise */
static bool all_finite(const double *x, int n)
{
    v4 sum = v4_zero();
    int i = 0;
    for (; i + V4_LANES <= n; i += V4_LANES)
        sum += v4_loadu(x + i) * v4_zero();
    double rest = v4_sum(sum);
    for (; i < n; i++)
        rest += x[i] * 0.0;
    return rest == 0;
}

tg_status tg_check_present(const char *name, const void *out, int n, tg_error *error)
{
    return out != NULL || n == 0 ? TG_OK : tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL", name);
}

tg_status tg_check_numbers(const char *name, const double *x, int n, tg_error *error)
{
    if (n == 0)
        return TG_OK;
    if (x == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "%s is NULL: expected %d numbers", name, n);
    if (all_finite(x, n))
        return TG_OK;
    int i = 0;
    while (isfinite(x[i]))
        i++;
    return tg_fail(error, TG_ERR_VALUE, "%s[%d] = %g: must be finite", name, i, x[i]);
}

tg_status tg_check_configuration(const tg_model *m, const char *name, const double *q, tg_error *error)
{
    tg_status status = tg_check_numbers(name, q, m->nq, error);
    for (int j = 0; j < m->nquat && status == TG_OK; j++)
    {
        const double *x = q + m->quat_q[j];
        double norm = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3]);
        if (fabs(norm - 1) > 1e-3)
            status = tg_fail(error, TG_ERR_VALUE, "%s[%d..%d]: a quaternion must have norm 1, got %.9g", name,
                             m->quat_q[j], m->quat_q[j] + 3, norm);
    }
    return status;
}
