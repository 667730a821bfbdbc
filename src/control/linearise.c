/* x = (q, v, act) in the tangent space; of the steps s of a row: A = A_h ... A_1, B = A_h ... A_2 B_1 + ... + B_h. */
#include "control/linearise.h"

#include <string.h>

#include "base/arena.h"
#include "base/status.h"
#include "dynamics/work.h"
#include "math/dense.h"
#include "model/check.h"

int tg_tangent_size(const tg_model *m)
{
    return m == NULL ? 0 : 2 * m->nv + m->na;
}

/* the blocks of one step [n, n + nu], its A [n, n] and B [n, nu], and a product [n, n + nu] */
size_t tg_linearise_scratch(const tg_model *m)
{
    size_t n = (size_t)tg_tangent_size(m), nu = (size_t)m->nu;
    return 3 * n * (n + nu);
}

/* The block of rows x columns at (row, column) of a matrix with ld columns. */
static void put(const double *block, int rows, int columns, double *to, int ld)
{
    for (int i = 0; i < rows; i++)
        memcpy(to + (size_t)i * (size_t)ld, block + (size_t)i * (size_t)columns, sizeof(double) * (size_t)columns);
}

/* A and B of the last step in the workspace. */
static tg_status step_matrices(const tg_model *m, tg_work *w, double *blocks, double *A, double *B)
{
    int nv = m->nv, na = m->na, nu = m->nu, n = 2 * nv + na;
    const int size[3] = {nv, nv, na}, first[3] = {0, nv, 2 * nv};
    double *at[3][4], *next = blocks;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
        {
            size_t count = (size_t)size[i] * (size_t)(j < 3 ? size[j] : nu);
            at[i][j] = count > 0 ? next : NULL;
            next += count;
        }
    tg_jacobian J = {.dq_dq = at[0][0],
                     .dq_dv = at[0][1],
                     .dq_dact = at[0][2],
                     .dq_du = at[0][3],
                     .dv_dq = at[1][0],
                     .dv_dv = at[1][1],
                     .dv_dact = at[1][2],
                     .dv_du = at[1][3],
                     .dact_dq = at[2][0],
                     .dact_dv = at[2][1],
                     .dact_dact = at[2][2],
                     .dact_du = at[2][3]};
    TG_TRY(tg_step_jacobian(m, w, &J));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 4; j++)
            if (at[i][j] != NULL && j < 3)
                put(at[i][j], size[i], size[j], A + (size_t)first[i] * (size_t)n + first[j], n);
            else if (at[i][j] != NULL)
                put(at[i][j], size[i], nu, B + (size_t)first[i] * (size_t)nu, nu);
    return TG_OK;
}

tg_status tg_linearise_in(const tg_model *m, tg_work *w, const tg_options *options, tg_state *state, const double *u,
                          int hold, double *scratch, double *A, double *B)
{
    int n = tg_tangent_size(m), nu = m->nu;
    size_t nn = (size_t)n * (size_t)n, nb = (size_t)n * (size_t)nu;
    double *blocks = scratch, *As = blocks + nn + nb, *Bs = As + nn, *product = Bs + nb;
    const tg_control control = {.u = u};
    for (int step = 0; step < hold; step++)
    {
        TG_TRY(tg_step(m, w, options, state, &control, state, NULL));
        TG_TRY(step_matrices(m, w, blocks, step == 0 ? A : As, step == 0 ? B : Bs));
        if (step == 0)
            continue;
        tg_gemm_nn(n, n, n, As, n, A, n, TG_GEMM_SET, product, n);
        memcpy(A, product, sizeof(double) * nn);
        tg_gemm_nn(n, nu, n, As, n, B, nu, TG_GEMM_ADD, Bs, nu);
        memcpy(B, Bs, sizeof(double) * nb);
    }
    return TG_OK;
}

/* ---- the public function ---- */

static tg_status check(const tg_model *m, tg_work *w, const tg_state *state, int hold, const double *A, const double *B)
{
    if (state == NULL || A == NULL || (B == NULL && m->nu > 0) || hold < 1)
        return tg_fail(&w->error, TG_ERR_ARGUMENT, "tg_linearise: %s",
                       state == NULL ? "state is NULL"
                       : hold < 1    ? "hold must be at least 1"
                                     : "A or B is NULL");
    TG_TRY(tg_check_configuration(m, "state.q", state->q, &w->error));
    TG_TRY(tg_check_numbers("state.v", state->v, m->nv, &w->error));
    return tg_check_numbers("state.act", state->act, m->na, &w->error);
}

tg_status tg_linearise(const tg_model *m, tg_work *w, const tg_options *options, const tg_state *state, const double *u,
                       int hold, double *A, double *B, tg_state *next)
{
    if (m == NULL || w == NULL)
        return TG_ERR_ARGUMENT;
    TG_TRY(check(m, w, state, hold, A, B));
    size_t nq = (size_t)m->nq, nv = (size_t)m->nv, na = (size_t)m->na;
    int room = state->cache != NULL ? state->cache->capacity : 0;
    double *memory = tg_alloc(&m->allocator, sizeof(double) * (tg_linearise_scratch(m) + nq + nv + na));
    tg_cache cache = {.capacity = room,
                      .entry = tg_alloc(&m->allocator, sizeof(tg_cache_entry) * (size_t)(room + 1)),
                      .count = room > 0 ? state->cache->count : 0};
    tg_status status = TG_ERR_MEMORY;
    if (memory != NULL && cache.entry != NULL)
    {
        double *q = memory + tg_linearise_scratch(m), *v = q + nq, *act = v + nv;
        tg_state now = {q, v, act, &cache};
        memcpy(q, state->q, sizeof(double) * nq);
        memcpy(v, state->v, sizeof(double) * nv);
        if (na > 0)
            memcpy(act, state->act, sizeof(double) * na);
        if (cache.count > 0)
            memcpy(cache.entry, state->cache->entry, sizeof(tg_cache_entry) * (size_t)cache.count);
        status = tg_linearise_in(m, w, options, &now, u, hold, memory, A, B);
        if (status == TG_OK && next != NULL)
        {
            memcpy(next->q, q, sizeof(double) * nq);
            memcpy(next->v, v, sizeof(double) * nv);
            if (na > 0)
                memcpy(next->act, act, sizeof(double) * na);
        }
    }
    else
        tg_fail(&w->error, TG_ERR_MEMORY, "tg_linearise: no memory for %d states", tg_tangent_size(m));
    tg_free(&m->allocator, memory);
    tg_free(&m->allocator, cache.entry);
    return status;
}
