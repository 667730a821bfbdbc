/* Reverse mode of Poisson's law (poisson.c): two problems, one behind the other.
 *
 * With dL^c = D^c w^c of compression and dL' = D' w' of restitution, L = L^c + L' (of dry friction L = L'), p = e
 * L^c_N,
 *     w'_i = w_i + sum_j G_ij dL^c_j + sum_N G_iN dp_N    but for dry friction's dL^c, and for normal rows of contacts
 *     that leave: w'_N = -G_NN dp_N.
 * So z' = D'^T Lbar, and with z its part on rows that do not leave,
 *     pbar_N = (G z)_N - G_NN z'_N,    Lbar^c = Lbar + G z + e pbar,    z^c = D^c^T Lbar^c:    Lbar . dL = z . w + z^c
 *         . w^c + sum_N pbar_N L^c_N de. */
#include "contact/poisson_vjp.h"

#include "math/lanes.h"

static const tg_constraint *constraint_of(const tg_rows *r, const tg_rows_island *island, int b)
{
    return &r->constraint[r->order[island->block + b]];
}

static void leaving_reverse(const tg_work *w, const tg_rows_island *island, const tg_poisson_gradient *g,
                            double *params)
{
    const tg_rows *r = w->rows;
    tg_island problem = tg_island_problem(r, island);
    for (int b = 0; b < island->blocks; b++)
    {
        if (!r->leaves[island->block + b])
            continue;
        const tg_law *law = &r->touch[constraint_of(r, island, b)->index].law;
        double *g_e = tg_law_gradient_of(params, law, law->restitution);
        int row = problem.block[b].row;
        double pbar = g->compressed_Lbar[row] - g->Lbar[row] -
                      problem.G[(ptrdiff_t)row * (problem.ldg + 1)] * g->compressed_z[row];
        g->compressed_Lbar[row] += tg_law_number(w->params, law, law->restitution) * pbar;
        if (g_e != NULL)
            *g_e += pbar * r->compressed[island->row + row];
    }
}

void tg_poisson_transpose(const tg_work *w, const tg_rows_island *island, const tg_implicit *compression,
                          const tg_implicit *restitution, const tg_poisson_gradient *g, double *params)
{
    const tg_rows *r = w->rows;
    tg_island problem = tg_island_problem(r, island);
    tg_implicit_transpose(restitution, g->Lbar, g->z, g->turn);
    for (int b = 0; b < island->blocks; b++) /* z'_N of those that leave is put aside */
        if (r->leaves[island->block + b])
        {
            g->compressed_z[problem.block[b].row] = g->z[problem.block[b].row];
            g->z[problem.block[b].row] = 0;
        }
    for (int i = 0; i < island->rows; i++)
        g->compressed_Lbar[i] = g->Lbar[i] + v4_dot_of(island->rows, problem.G + (ptrdiff_t)i * problem.ldg, g->z);
    for (int b = 0; b < island->blocks && r->eps > 0; b++) /* what G has of eps counts within each phase alone */
        for (int i = problem.block[b].row;
             problem.block[b].kind == TG_BLOCK_CONTACT && i < problem.block[b].row + problem.block[b].rows; i++)
            g->compressed_Lbar[i] -= r->eps * g->z[i];
    leaving_reverse(w, island, g, params);
    for (int b = 0; b < island->blocks; b++)
        if (problem.block[b].kind == TG_BLOCK_FRICTION)
            g->compressed_Lbar[problem.block[b].row] = 0;
    tg_implicit_transpose(compression, g->compressed_Lbar, g->compressed_z, g->compressed_turn);
}

static bool any_immaterial(const tg_block_mode *mode, int blocks)
{
    for (int b = 0; b < blocks; b++)
        if (mode[b].immaterial)
            return true;
    return false;
}

/* Impulses of compression count, not only what they do: where one of them was chosen on its cone though nothing slips,
 * it follows the cone, which its derivative does not know. */
static bool is_chosen(const tg_rows_island *island, const tg_island *problem, const tg_block_mode *mode,
                      const double *L)
{
    for (int b = 0; b < island->blocks; b++)
        if (mode[b].immaterial && L[problem->block[b].row] != 0)
            return true;
    return false;
}

tg_status tg_poisson_factor(tg_work *w, const tg_rows_island *island, const tg_island *problem, tg_implicit_use use,
                            const tg_cone_law *law, tg_arena *arena, tg_implicit *compression, tg_implicit *restitution)
{
    tg_rows *r = w->rows;
    const double *L = r->compressed + island->row, *sigma = r->compressed_sigma + island->row;
    tg_restitution_problem *x = TG_TAKE(arena, tg_restitution_problem, 1, "restitution");
    tg_block_mode *mode = TG_TAKE(arena, tg_block_mode, 2 * island->blocks, "modes of the two phases");
    if (arena->failed)
        return tg_fail(&w->error, TG_ERR_CAPACITY, "derivatives of Poisson's law: no room for %d rows", island->rows);
    TG_TRY(tg_poisson_problem(w, island, law, arena, x));
    if (!tg_cone_law_is_default(law))
    {
        tg_block_mode *second = mode + island->blocks;
        TG_TRY(tg_cone_law_modes(law, problem, L, sigma, &r->scratch, mode, &w->error));
        TG_TRY(tg_cone_law_modes(law, &x->problem, x->L, x->sigma, &r->scratch, second, &w->error));
        TG_TRY(tg_implicit_law(problem, law, L, sigma, mode, arena, compression, &w->error));
        TG_TRY(tg_implicit_law(&x->problem, law, x->L, x->sigma, mode + island->blocks, arena, restitution, &w->error));
        tg_implicit_restrict(restitution, x->margin);
        /* which impulses of redundant rows were found, Poisson's bound sees, and the second phase starts there */
        if (compression->redundant || restitution->redundant || any_immaterial(mode, 2 * island->blocks))
            compression->kind = TG_GRADIENT_REGULARISED;
        return TG_OK;
    }
    TG_TRY(tg_island_modes(problem, L, sigma, &r->scratch, mode, &w->error));
    TG_TRY(tg_island_modes(&x->problem, x->L, x->sigma, &r->scratch, mode + island->blocks, &w->error));
    TG_TRY(tg_implicit_factor(problem, L, sigma, mode, island->result.selection, TG_IMPLICIT_FORCES, arena, compression,
                              &w->error));
    TG_TRY(tg_implicit_factor(&x->problem, x->L, x->sigma, mode + island->blocks, island->restitution, use, arena,
                              restitution, &w->error));
    for (int b = 0; b < island->blocks; b++) /* rows that stand by themselves do not turn with J */
        if (r->leaves[island->block + b])
            restitution->spread[problem->block[b].row] = 0;
    tg_implicit_restrict(restitution, x->margin);
    if (is_chosen(island, problem, mode, L))
        compression->kind = TG_GRADIENT_REGULARISED;
    return TG_OK;
}
