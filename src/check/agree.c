/* Forward mode and matrices against reverse mode. */
#include <math.h>

#include "check/judge.h"

static void note_apart(tg_judge *c, double *most, double apart)
{
    if (apart > fmax(c->r->jvp, c->r->jacobian))
    {
        c->r->apart_state = c->r->states;
        c->r->apart_params = c->walk.set;
        c->r->apart_label = c->label.kind;
    }
    *most = fmax(*most, apart);
}

/* out . (J in) forwards and backwards */
static tg_status compare_forward(tg_judge *c)
{
    int nv = c->n.nv, na = c->n.na;
    double reverse = 0, forward = 0, size = 1;
    for (int group = 0; group <= GROUP_PARAMS; group++)
        for (int i = 0; i < tg_judge_count(&c->n, group); i++)
        {
            double *along = tg_judge_numbers(&c->along, group);
            along[i] = (group == GROUP_DT ? 1e-3 : 1) * tg_walk_noise(&c->walk);
            reverse += along[i] * tg_judge_numbers(&c->exact, group)[i];
            size += fabs(along[i] * tg_judge_numbers(&c->exact, group)[i]);
        }
    tg_cotangent change = {.q = c->change, .v = c->change + nv, .act = c->change + 2 * nv};
    tg_status status = tg_step_jvp(c->m, c->walk.w, &c->along, &change, NULL);
    for (int k = 0; k < 2 * nv + na && status == TG_OK; k++)
        forward += c->out[k] * c->change[k];
    note_apart(c, &c->r->jvp, fabs(forward - reverse) / size);
    return status;
}

/* out J of one column; size: 1 and that of its terms */
static double column_along(const tg_judge *c, double *const J[3], int columns, int k, double *size)
{
    const int rows[3] = {c->n.nv, c->n.nv, c->n.na};
    const double *out = c->out;
    double sum = 0;
    *size = 1;
    for (int block = 0; block < 3; out += rows[block], block++)
        for (int row = 0; row < rows[block]; row++)
        {
            double term = out[row] * J[block][row * columns + k];
            sum += term;
            *size += fabs(term);
        }
    return sum;
}

/* The largest size of a column. index: of parameters of one kind, of which the matrices have a few: |out J| of all
 * others, which is not above the size, is known from reverse mode. */
static double largest_column(const tg_judge *c, double *const J[3], int columns, const int *index, int kind)
{
    double largest = 0, size;
    for (int i = 0; i < c->n.nparams && index != NULL; i++)
        if (c->kind[i] == kind)
            largest = fmax(largest, fabs(c->exact.params[i]));
    for (int k = 0; k < columns; k++)
        if (index == NULL || c->kind[index[k]] == kind)
        {
            column_along(c, J, columns, k, &size);
            largest = fmax(largest, size);
        }
    return largest;
}

/* out J of the matrices of one input. Relative errors are those of a block: of the largest column, or that of the same
 * kind of parameters. */
static void compare_columns(tg_judge *c, double *const J[3], int columns, const double *g, const int *index)
{
    double largest = index == NULL ? largest_column(c, J, columns, NULL, 0) : 0, size;
    for (int k = 0; k < columns; k++)
    {
        double sum = column_along(c, J, columns, k, &size);
        if (index != NULL)
            largest = largest_column(c, J, columns, index, c->kind[index[k]]);
        note_apart(c, &c->r->jacobian, fabs(sum - g[index != NULL ? index[k] : k]) / largest);
    }
}

static tg_status compare_matrices(tg_judge *c)
{
    tg_jacobian *j = &c->jacobian;
    const tg_cotangent *g = &c->exact;
    j->index = c->index;
    j->nindex = c->nindex;
    tg_status status = tg_step_jacobian(c->m, c->walk.w, j);
    if (status != TG_OK)
        return status;
    compare_columns(c, (double *[]){j->dq_dq, j->dv_dq, j->dact_dq}, c->n.nv, g->q, NULL);
    compare_columns(c, (double *[]){j->dq_dv, j->dv_dv, j->dact_dv}, c->n.nv, g->v, NULL);
    compare_columns(c, (double *[]){j->dq_dact, j->dv_dact, j->dact_dact}, c->n.na, g->act, NULL);
    compare_columns(c, (double *[]){j->dq_du, j->dv_du, j->dact_du}, c->n.nu, g->u, NULL);
    compare_columns(c, (double *[]){j->dq_dtau, j->dv_dtau, j->dact_dtau}, c->n.nv, g->tau, NULL);
    compare_columns(c, (double *[]){j->dq_ddt, j->dv_ddt, j->dact_ddt}, 1, g->dt, NULL);
    compare_columns(c, (double *[]){j->dq_dparams, j->dv_dparams, j->dact_dparams}, c->nindex, g->params, c->index);
    return TG_OK;
}

tg_status tg_judge_agree(tg_judge *c)
{
    tg_status status = compare_forward(c);
    return status == TG_OK ? compare_matrices(c) : status;
}
