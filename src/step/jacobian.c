/* Matrices of the step's derivatives: all columns of states, controls and forces at once (forward.h), those of dt and
 * parameters one by one, forward; rows of contacts' forces and points, and everything in models too large for dense
 * matrices, by one reverse sweep a row. */
#include "math/spatial.h"
#include "step/step.h"

/* ---- row by row ---- */

/* one output's matrices */
typedef struct block
{
    double *dq, *dv, *dact, *du, *dtau, *ddt, *dparams, *dcontact;
} block;

/* matrices without columns ask for nothing */
static block block_of(const tg_jacobian *j, double *dq, double *dv, double *dact, double *du, double *dtau, double *ddt,
                      double *dparams)
{
    return (block){dq, dv, dact, du, dtau, ddt, j->nindex > 0 ? dparams : NULL, NULL};
}

static bool wanted(const block *b)
{
    return b->dq != NULL || b->dv != NULL || b->dact != NULL || b->du != NULL || b->dtau != NULL || b->ddt != NULL ||
           b->dparams != NULL || b->dcontact != NULL;
}

static double *row_of(double *matrix, int row, int columns)
{
    return matrix == NULL ? NULL : matrix + (size_t)row * (size_t)columns;
}

static tg_status fill_row(const tg_model *m, tg_work *w, const tg_jacobian *j, const block *b, int row,
                          const tg_cotangent *unit)
{
    tg_cotangent in = {.q = row_of(b->dq, row, m->nv),
                       .v = row_of(b->dv, row, m->nv),
                       .act = row_of(b->dact, row, m->na),
                       .u = row_of(b->du, row, m->nu),
                       .tau = row_of(b->dtau, row, m->nv),
                       .dt = row_of(b->ddt, row, 1),
                       .contact = row_of(b->dcontact, row, TG_GIVEN_NUMBERS * w->rows->ngiven),
                       .params = b->dparams != NULL ? w->param_gradient : NULL};
    TG_TRY(tg_step_reverse(m, w, unit, &in));
    for (int i = 0; b->dparams != NULL && i < j->nindex; i++)
        b->dparams[(size_t)row * (size_t)j->nindex + (size_t)i] = w->param_gradient[j->index[i]];
    return TG_OK;
}

static tg_status fill_rows(const tg_model *m, tg_work *w, const tg_jacobian *j, const block *b, int rows,
                           double *unit_vector, const tg_cotangent *unit)
{
    for (int row = 0; row < rows && wanted(b); row++)
    {
        unit_vector[row] = 1;
        tg_status status = fill_row(m, w, j, b, row, unit);
        unit_vector[row] = 0;
        TG_TRY(status);
    }
    return TG_OK;
}

static tg_status check_indices(const tg_model *m, tg_work *w, const tg_jacobian *j)
{
    bool any = j->dq_dparams != NULL || j->dv_dparams != NULL || j->dact_dparams != NULL || j->dforce_dparams != NULL ||
               j->dpoint_dparams != NULL;
    if (any && (j->nindex < 0 || (j->index == NULL && j->nindex > 0)))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "jacobian: %d parameters%s", j->nindex,
                       j->index == NULL ? " at NULL" : "");
    for (int i = 0; any && i < j->nindex; i++)
        if (j->index[i] < 0 || j->index[i] >= m->nparams)
            return tg_fail(&w->error, TG_ERR_ARGUMENT, "jacobian: index[%d] = %d: the model has %d parameters", i,
                           j->index[i], m->nparams);
    return TG_OK;
}

/* ---- all columns at once ---- */

/* the derivatives of q+ from those of v+, which are in their place where they are not wanted themselves */
static tg_status integrate_columns(const tg_model *m, tg_work *w, int columns, bool of_q, const double *dv, double *dq)
{
    if (dq == NULL)
        return TG_OK;
    tg_integrator_forward(m, w, columns, of_q, dv != NULL ? dv : dq, dq);
    return tg_projects(m, w) ? tg_project_forward(m, w, columns, dq) : TG_OK;
}

static tg_status fill_columns(const tg_model *m, tg_work *w, const tg_jacobian *j)
{
    tg_jacobian at = {.dv_dq = j->dv_dq != NULL ? j->dv_dq : j->dq_dq,
                      .dv_dv = j->dv_dv != NULL ? j->dv_dv : j->dq_dv,
                      .dv_dact = j->dv_dact != NULL ? j->dv_dact : j->dq_dact,
                      .dv_du = j->dv_du != NULL ? j->dv_du : j->dq_du,
                      .dv_dtau = j->dv_dtau != NULL ? j->dv_dtau : j->dq_dtau};
    if (at.dv_dq == NULL && at.dv_dv == NULL && at.dv_dact == NULL && at.dv_du == NULL && at.dv_dtau == NULL)
        return TG_OK;
    tg_forward_matrices(m, w, &at);
    TG_TRY(integrate_columns(m, w, m->nv, true, j->dv_dq, j->dq_dq));
    TG_TRY(integrate_columns(m, w, m->nv, false, j->dv_dv, j->dq_dv));
    TG_TRY(integrate_columns(m, w, m->na, false, j->dv_dact, j->dq_dact));
    TG_TRY(integrate_columns(m, w, m->nu, false, j->dv_du, j->dq_du));
    TG_TRY(integrate_columns(m, w, m->nv, false, j->dv_dtau, j->dq_dtau));
    return TG_OK;
}

/* a column of rows x columns */
static void put_column(double *matrix, int rows, int columns, int column, const double *x)
{
    for (int i = 0; i < rows && matrix != NULL; i++)
        matrix[(size_t)i * (size_t)columns + (size_t)column] = x[i];
}

/* column k of q+, v+ and act+ along a change */
static tg_status fill_column(const tg_model *m, tg_work *w, const tg_cotangent *in, tg_param_range range,
                             const block b[3], int columns, int k, bool dt)
{
    double *dq = w->step->forward, *dv = dq + m->nv, *dact = dq + 2 * m->nv;
    tg_cotangent out = {.q = dq, .v = dv, .act = dact};
    TG_TRY(tg_step_forward(m, w, 1, in, &range, &out));
    put_column(dt ? b[0].ddt : b[0].dparams, m->nv, columns, k, dq);
    put_column(dt ? b[1].ddt : b[1].dparams, m->nv, columns, k, dv);
    put_column(dt ? b[2].ddt : b[2].dparams, m->na, columns, k, dact);
    return TG_OK;
}

static tg_status fill_quick_parameters(const tg_model *m, tg_work *w, const tg_jacobian *j)
{
    double *units = w->step->unit_param, *dv = w->step->forward, *dact = dv + m->nv;
    double *first = j->dv_dparams != NULL ? j->dv_dparams : j->dq_dparams;
    const tg_cotangent in = {.params = units};
    for (int k = 0; k < j->nindex; k++)
    {
        units[j->index[k]] = 1;
        tg_param_range range = {j->index[k], j->index[k] + 1};
        tg_status status = tg_forward_parameter(m, w, &in, range, j->dv_dtau, dv);
        if (m->na > 0)
            tg_forward_activations(m, w, &in, dact);
        units[j->index[k]] = 0;
        TG_TRY(status);
        put_column(first, m->nv, j->nindex, k, dv);
        put_column(j->dact_dparams, m->na, j->nindex, k, dact);
    }
    return integrate_columns(m, w, j->nindex, false, j->dv_dparams, j->dq_dparams);
}

/* Columns of dt and, where there is no matrix of tau, of parameters. Where loops are projected q+ needs reverse mode.
 */
static tg_status fill_parameters(const tg_model *m, tg_work *w, const tg_jacobian *j, const block b[3])
{
    double *units = w->step->unit_param, one = 1;
    if (b[0].ddt != NULL || b[1].ddt != NULL || b[2].ddt != NULL)
        TG_TRY(fill_column(m, w, &(tg_cotangent){.dt = &one}, (tg_param_range){0, 0}, b, 1, 0, true));
    for (int k = 0; k < j->nindex && j->dv_dtau == NULL; k++)
    {
        units[j->index[k]] = 1;
        tg_param_range range = {j->index[k], j->index[k] + 1};
        tg_status status = fill_column(m, w, &(tg_cotangent){.params = units}, range, b, j->nindex, k, false);
        units[j->index[k]] = 0;
        TG_TRY(status);
    }
    return TG_OK;
}

/* Columns of the wrench on every body: A^-1 and what follows of it are those of tau; J^T of a unit at the centre of
 * mass. */
static void fill_wrenches(const tg_model *m, const tg_work *w, const double *by_tau, double *out)
{
    int columns = TWIST * m->nbody;
    memset(out, 0, sizeof(double) * (size_t)m->nv * (size_t)columns);
    for (int body = 1; body < m->nbody; body++)
    {
        int node = m->body_node[body];
        v4 com = tg_body_centre(m, w, body);
        for (int k = node == 0 ? -1 : m->node_dof[node] + m->node_ndof[node] - 1; k >= 0; k = m->dof_parent[k])
        {
            spatial J = spatial_load(w->J + SPATIAL_SIZE * k);
            v4 at = twist_at(J, com);
            for (int row = 0; row < m->nv; row++)
                for (int i = 0; i < DIM; i++)
                {
                    double *to = out + (size_t)row * (size_t)columns + TWIST * (size_t)body;
                    to[i] += by_tau[(size_t)row * (size_t)m->nv + (size_t)k] * at[i];
                    to[DIM + i] += by_tau[(size_t)row * (size_t)m->nv + (size_t)k] * J.ang[i];
                }
        }
    }
}

static tg_status add_wrenches(const tg_model *m, tg_work *w, const tg_jacobian *j)
{
    if ((j->dq_dwrench != NULL && j->dq_dtau == NULL) || (j->dv_dwrench != NULL && j->dv_dtau == NULL))
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "jacobian: matrices of wrenches need those of tau");
    if (j->dq_dwrench != NULL)
        fill_wrenches(m, w, j->dq_dtau, j->dq_dwrench);
    if (j->dv_dwrench != NULL)
        fill_wrenches(m, w, j->dv_dtau, j->dv_dwrench);
    return TG_OK;
}

/* ---- all ---- */

tg_status tg_step_jacobian(const tg_model *m, tg_work *w, tg_jacobian *j)
{
    TG_TRY(tg_check_work(m, w));
    if (j == NULL)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "jacobian is NULL");
    TG_TRY(check_indices(m, w, j));
    const block force = block_of(j, j->dforce_dq, j->dforce_dv, j->dforce_dact, j->dforce_du, j->dforce_dtau,
                                 j->dforce_ddt, j->dforce_dparams);
    const block point = block_of(j, j->dpoint_dq, j->dpoint_dv, j->dpoint_dact, j->dpoint_du, j->dpoint_dtau,
                                 j->dpoint_ddt, j->dpoint_dparams);
    TG_TRY(wanted(&force) || wanted(&point) ? tg_step_prepare_forces(m, w) : tg_step_prepare(m, w));
    block q = block_of(j, j->dq_dq, j->dq_dv, j->dq_dact, j->dq_du, j->dq_dtau, j->dq_ddt, j->dq_dparams);
    block v = block_of(j, j->dv_dq, j->dv_dv, j->dv_dact, j->dv_du, j->dv_dtau, j->dv_ddt, j->dv_dparams);
    block act =
        block_of(j, j->dact_dq, j->dact_dv, j->dact_dact, j->dact_du, j->dact_dtau, j->dact_ddt, j->dact_dparams);
    q.dcontact = w->rows->ngiven > 0 ? j->dq_dcontact : NULL;
    v.dcontact = w->rows->ngiven > 0 ? j->dv_dcontact : NULL;
    bool quick = false;
    if (tg_matrices_fit(m, w) && !tg_projects(m, w))
    {
        tg_forward_begin(m, w, j->dv_du != NULL || j->dq_du != NULL, j->dv_dact != NULL || j->dq_dact != NULL);
        TG_TRY(fill_parameters(m, w, j, (const block[3]){q, v, act}));
        quick = j->dv_dtau != NULL && j->nindex > 0;
        q = (block){.dcontact = q.dcontact};
        v = (block){.dcontact = v.dcontact};
        act.ddt = act.dparams = NULL;
    }
    if (tg_matrices_fit(m, w))
    {
        TG_TRY(fill_columns(m, w, j));
        if (quick)
            TG_TRY(fill_quick_parameters(m, w, j));
        q = (block){.ddt = q.ddt, .dparams = q.dparams, .dcontact = q.dcontact};
        v = (block){.ddt = v.ddt, .dparams = v.dparams, .dcontact = v.dcontact};
    }
    double *unit = w->step->unit;
    TG_TRY(fill_rows(m, w, j, &q, m->nv, unit, &(tg_cotangent){.q = unit}));
    TG_TRY(fill_rows(m, w, j, &v, m->nv, unit, &(tg_cotangent){.v = unit}));
    TG_TRY(fill_rows(m, w, j, &act, m->na, unit, &(tg_cotangent){.act = unit}));
    int contacts = tg_contact_count(w) < j->ncontact ? tg_contact_count(w) : j->ncontact;
    TG_TRY(fill_rows(m, w, j, &force, DIM * contacts, unit, &(tg_cotangent){.force = unit}));
    TG_TRY(fill_rows(m, w, j, &point, DIM * contacts, unit, &(tg_cotangent){.point = unit}));
    if (tg_saltation_acts(w))
        TG_TRY(tg_saltation_jacobian(m, w, j));
    TG_TRY(add_wrenches(m, w, j));
    j->label = w->step->label;
    return TG_OK;
}
