/* The arrays of a workspace, and the checks that every public function starts with. */
#include "dynamics/work.h"

/* ---- arrays ---- */

typedef struct work_sizes
{
    int nblock;     /* blocks in all rows of all trees' patterns */
    size_t hessian; /* nv^2 if there are spatial tendons or actuators at sites */
} work_sizes;

/* The pattern row that serves every dof of a node: that of its last dof, which covers them all. */
static int last_dof(const tg_model *m, int dof)
{
    int node = m->dof_node[dof];
    return m->node_dof[node] + m->node_ndof[node] - 1;
}

static work_sizes count_sizes(const tg_model *m)
{
    work_sizes s = {0, 0};
    for (int t = 0; t < m->ntree; t++)
    {
        const tg_ltl_pattern *p = &m->tree_ltl[t];
        for (int k = 0; k < p->n; k++)
        {
            int row = last_dof(m, m->tree_dof[t] + k) - m->tree_dof[t];
            s.nblock += p->block_start[row + 1] - p->block_start[row];
        }
    }
    bool curved = false;
    for (int t = 0; t < m->ntendon; t++)
        curved |= m->tendon_type[t] == TG_TENDON_SPATIAL;
    for (int i = 0; i < m->nu; i++)
        curved |= m->actuator_transmission[i] == TG_TRANSMISSION_SITE;
    s.hessian = curved ? (size_t)m->nv * (size_t)m->nv : 0;
    return s;
}

void tg_work_place(tg_work *w, const tg_model *m, tg_arena *arena)
{
    work_sizes s = count_sizes(m);
    int nblock = s.nblock;
    size_t hessian_size = s.hessian;
#define X(type, name, count, doc) w->name = TG_TAKE(arena, type, count, #name);
    TG_WORK_FIELDS(X)
#undef X
}

/* Which of the four columns of each block belong to the path from the root to the node of the dof. */
static void fill_block_bits(tg_work *w)
{
    const tg_model *m = w->model;
    int next = 0;
    for (int t = 0; t < m->ntree; t++)
    {
        const tg_ltl_pattern *p = &m->tree_ltl[t];
        for (int k = 0; k < p->n; k++)
        {
            int row = last_dof(m, m->tree_dof[t] + k) - m->tree_dof[t];
            w->block_start[m->tree_dof[t] + k] = next;
            for (int b = p->block_start[row]; b < p->block_start[row + 1]; b++)
            {
                unsigned bits = 0;
                for (int j = row; j >= 0; j = p->parent[j])
                    if (j - j % V4_LANES == p->blocks[b])
                        bits |= 1u << (j % V4_LANES);
                w->block_bits[next++] = (uint8_t)bits;
            }
        }
    }
}

/* trees of groups as in the model, in no places yet; the others behind them */
static void fill_places(tg_work *w)
{
    const tg_model *m = w->model;
    int count = 0;
    for (int g = 0; g <= m->ngroup && m->ngroup > 0; g++)
        for (int t = 0; t < m->ntree; t++)
            if (m->tree_group[t] == (g < m->ngroup ? g : -1))
                w->place_tree[count++] = t;
    for (int g = 0; g < m->ngroup; g++)
        w->place_dof[m->group_start[g]] = -1;
}

void tg_work_init(tg_work *w, const tg_model *m)
{
    w->model = m;
    w->params = m->params;
    w->allocator = m->allocator;
    fill_block_bits(w);
    fill_places(w);
}

const char *tg_work_message(const tg_work *w)
{
    return w == NULL ? "" : w->error.message;
}

size_t tg_work_bytes(const tg_work *w)
{
    return w == NULL ? 0 : w->bytes;
}

tg_status tg_work_set_params(tg_work *w, const tg_params *params)
{
    if (w == NULL)
        return TG_ERR_ARGUMENT;
    if (params != NULL && params->model != w->model)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_work_set_params: the parameters belong to another model");
    w->params = params != NULL ? params : w->model->params;
    w->stage = TG_STAGE_NONE;
    return TG_OK;
}

/* ---- checks ---- */

tg_status tg_check_work(const tg_model *m, tg_work *w)
{
    if (m == NULL || w == NULL)
        return w == NULL ? TG_ERR_ARGUMENT : tg_fail(&w->error, TG_ERR_ARGUMENT, "m is NULL");
    if (w->model != m)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "w was created for another model");
    if (!w->params->ready)
        return tg_fail(&w->error, TG_ERR_STALE, "the parameters were changed without tg_params_changed");
    return TG_OK;
}

tg_status tg_check_vector(tg_work *w, const char *name, const double *x, int n)
{
    return tg_check_numbers(name, x, n, &w->error);
}

tg_status tg_check_q(const tg_model *m, tg_work *w, const double *q)
{
    return tg_check_configuration(m, "q", q, &w->error);
}

tg_status tg_check_output(tg_work *w, const char *name, const double *out, int n)
{
    return tg_check_present(name, out, n, &w->error);
}

tg_status tg_check_index(tg_work *w, const char *element, int index, int count)
{
    if (index >= 0 && index < count)
        return TG_OK;
    return tg_fail(&w->error, TG_ERR_ARGUMENT, "%s %d does not exist; the model has %d", element, index, count);
}

tg_status tg_check_state(const tg_model *m, tg_work *w, const double *q, const double *v)
{
    TG_TRY(tg_check_work(m, w));
    TG_TRY(tg_check_q(m, w, q));
    return tg_check_vector(w, "v", v, m->nv);
}
