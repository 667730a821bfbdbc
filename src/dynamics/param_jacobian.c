/* Derivatives with respect to chosen parameters: one reverse sweep a row, which gives every parameter at once. */
#include "dynamics/kinematics.h"
#include "dynamics/vjp.h"

static tg_status check_indices(const tg_model *m, tg_work *w, const int *index, int n, const double *out)
{
    TG_TRY(tg_check_work(m, w));
    if (n < 0 || (index == NULL && n > 0))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, n < 0 ? "n = %d is negative" : "index is NULL", n);
    for (int i = 0; i < n; i++)
        if (index[i] < 0 || index[i] >= m->nparams)
            return tg_fail(&w->error, TG_ERR_ARGUMENT, "index[%d] = %d: the model has %d parameters", i, index[i],
                           m->nparams);
    return tg_check_output(w, "out", out, n * m->nv);
}

/* The inputs of any of the functions below. */
typedef struct arguments
{
    const double *q, *v, *a, *act, *u;
} arguments;

typedef tg_status row_function(const tg_model *m, tg_work *w, arguments x, const double *y, double *gparams);

static tg_status rnea_row(const tg_model *m, tg_work *w, arguments x, const double *y, double *gparams)
{
    return tg_rnea_vjp(m, w, x.q, x.v, x.a, y, NULL, NULL, NULL, gparams);
}

static tg_status forward_row(const tg_model *m, tg_work *w, arguments x, const double *y, double *gparams)
{
    return tg_forward_dynamics_vjp(m, w, x.q, x.v, x.a, y, NULL, NULL, NULL, gparams);
}

static tg_status passive_row(const tg_model *m, tg_work *w, arguments x, const double *y, double *gparams)
{
    return tg_passive_vjp(m, w, x.q, x.v, y, NULL, NULL, gparams);
}

static tg_status actuation_row(const tg_model *m, tg_work *w, arguments x, const double *y, double *gparams)
{
    return tg_actuation_vjp(m, w, x.q, x.v, x.act, x.u, y, NULL, NULL, NULL, NULL, NULL, gparams);
}

static tg_status by_rows(const tg_model *m, tg_work *w, row_function *row, arguments x, const int *index, int n,
                         double *out)
{
    TG_TRY(check_indices(m, w, index, n, out));
    double *unit = w->unit;
    memset(unit, 0, sizeof(double) * (size_t)m->nv);
    for (int k = 0; k < m->nv; k++)
    {
        unit[k] = 1;
        TG_TRY(row(m, w, x, unit, w->param_gradient));
        unit[k] = 0;
        for (int i = 0; i < n; i++)
            out[(size_t)k * (size_t)n + (size_t)i] = w->param_gradient[index[i]];
    }
    return TG_OK;
}

tg_status tg_rnea_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v, const double *a,
                                    const int *index, int n, double *out)
{
    return by_rows(m, w, rnea_row, (arguments){.q = q, .v = v, .a = a}, index, n, out);
}

tg_status tg_forward_dynamics_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                                const double *tau, const int *index, int n, double *out)
{
    return by_rows(m, w, forward_row, (arguments){.q = q, .v = v, .a = tau}, index, n, out);
}

tg_status tg_passive_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                       const int *index, int n, double *out)
{
    return by_rows(m, w, passive_row, (arguments){.q = q, .v = v}, index, n, out);
}

tg_status tg_actuation_param_derivatives(const tg_model *m, tg_work *w, const double *q, const double *v,
                                         const double *act, const double *u, const int *index, int n, double *out)
{
    return by_rows(m, w, actuation_row, (arguments){.q = q, .v = v, .act = act, .u = u}, index, n, out);
}
