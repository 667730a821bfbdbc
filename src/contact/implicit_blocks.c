/* The derivative of an island whose blocks each have their own equations E_s ds + E_x dx = 0 (scaled variables,
 * cone.h).
 *
 * With s = G x + g that is (E_s G + E_x) dx = -E_s w: unknowns are the scaled impulses, in the form of redundant rows
 * (implicit.h). Equations that do not determine all unknowns (redundant rows) are met in the sense of least squares in
 * orthogonal bases (implicit_orthogonal.c). */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"

/* rows of A = E_s G + E_x, B = E_s S, C = S */
static void add_block(tg_implicit *f, const tg_cones *cones, int row, const tg_block_equations *e)
{
    int q = cones->rows, n = f->island->rows;
    for (int i = 0; i < e->dim; i++)
    {
        double *A = f->A + (size_t)(row + i) * (size_t)q, *B = f->B + (size_t)(row + i) * (size_t)n,
               *C = f->C + (size_t)(row + i) * (size_t)n;
        memset(A, 0, (size_t)q * sizeof *A);
        memset(B, 0, (size_t)n * sizeof *B);
        memset(C, 0, (size_t)n * sizeof *C);
        C[cones->source[row + i]] = cones->scale[row + i];
        for (int j = 0; j < e->dim; j++)
        {
            const double *G = cones->G + (size_t)(row + j) * (size_t)cones->ld;
            B[cones->source[row + j]] = e->s[i][j] * cones->scale[row + j];
            for (int k = 0; k < q && e->s[i][j] != 0; k++)
                A[k] += e->s[i][j] * G[k];
            A[row + j] += e->x[i][j];
        }
    }
}

static void equations(tg_implicit *f, const tg_cones *cones, tg_equations_of *of, const void *user, const double *x,
                      const double *s)
{
    for (int b = 0; b < cones->blocks; b++)
    {
        tg_block_equations e = of(user, b, x, s);
        add_block(f, cones, cones->block[b].row, &e);
    }
    f->unknowns = cones->rows;
}

/* unknowns for G_ii = 1, equations with coefficients up to 1 */
static void equilibrate(tg_implicit *f, const tg_cones *cones)
{
    int q = f->unknowns, n = f->island->rows;
    for (int k = 0; k < q; k++)
    {
        double size = tg_larger(cones->G[(size_t)k * (size_t)(cones->ld + 1)], cones->least[k]), unit = 1 / sqrt(size);
        f->C[(size_t)k * (size_t)n + (size_t)cones->source[k]] *= unit;
        for (int i = 0; i < q; i++)
            f->A[(size_t)i * (size_t)q + (size_t)k] *= unit;
    }
    for (int i = 0; i < q; i++)
    {
        double *A = f->A + (size_t)i * (size_t)q, *B = f->B + (size_t)i * (size_t)n, largest = 0;
        for (int k = 0; k < q; k++)
            largest = tg_larger(largest, fabs(A[k]));
        for (int k = 0; k < q; k++)
            A[k] /= largest;
        for (int k = 0; k < n; k++)
            B[k] /= largest;
    }
}

/* By elimination where that is accurate; false: the equations do not determine all unknowns. */
static bool build(tg_implicit *f, const tg_cones *cones, tg_equations_of *of, const void *user, double worst, double *x,
                  double *s, int *order, double *space)
{
    tg_cones_gather(cones, f->L, x);
    for (int i = 0; i < cones->rows; i++)
        s[i] = cones->scale[i] * f->sigma[cones->source[i]];
    equations(f, cones, of, user, x, s);
    if (tg_implicit_eliminate(f, TG_GOOD_PIVOT))
        return true;
    equations(f, cones, of, user, x, s);
    equilibrate(f, cones);
    return tg_orthogonal_triangle(f, worst, false, order, space);
}

bool tg_blocks_build(tg_implicit *f, tg_cones *cones, tg_equations_of *of, const void *user, double worst,
                     tg_arena *arena, bool *regular)
{
    int n = f->island->rows;
    bool fits = tg_redundant_take_kept(f, n, arena);
    size_t kept = tg_arena_mark(arena);
    fits = fits && tg_cones_take(cones, n, arena);
    double *x = TG_TAKE(arena, double, n, "implicit: scaled impulses"),
           *s = TG_TAKE(arena, double, n, "and velocities"),
           *space = TG_TAKE(arena, double, (size_t)n *(size_t)n, "implicit: impulses of unknowns");
    int *order = TG_TAKE(arena, int, n, "implicit: order of unknowns");
    if (!fits || arena->failed)
        return false;
    f->form = TG_IMPLICIT_REDUNDANT;
    memset(f->spread, 0, (size_t)n * sizeof *f->spread);
    tg_cones_build(cones, f->island, NULL);
    *regular = build(f, cones, of, user, worst, x, s, order, space);
    tg_arena_release(arena, kept);
    return true;
}
