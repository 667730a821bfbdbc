/* The factor of held rows from their levers, where matrices over rows have lost them: G has the squares, of which
 * rounding leaves nothing below 1e-8 of a row. With rows of Y (G = Y Y^T), normalised and as columns, Y^T = Q R, R is
 * the factor U of D G_RR D = U^T U (held.c), with levers to 1e-16. */
#include <math.h>
#include <string.h>

#include "math/dense.h"
#include "solve/held.h"

/* a row that has compliance has a dimension of its own */
static size_t dimensions(const tg_island *island)
{
    return (size_t)island->dofs + (size_t)island->rows;
}

bool tg_held_levers_take(tg_solve_work *w, tg_arena *scratch)
{
    size_t mark = tg_arena_mark(scratch);
    if (w->island->tree == NULL)
        return false;
    w->levers = TG_TAKE(scratch, double, dimensions(w->island) * (size_t)w->island->rows, "held rows: levers");
    if (!scratch->failed)
        return true;
    tg_arena_release(scratch, mark);
    scratch->failed = false;
    w->levers = NULL;
    return false;
}

/* x (rows of the island) <- (1 - Z Z^T) x in the rows of loops */
static void project(const tg_island *island, double *x)
{
    for (int c = 0; c < island->redundant && island->loops > 0; c++)
    {
        double along = 0;
        for (int l = 0; l < island->loops; l++)
            along += island->Z[(size_t)l * (size_t)island->redundant + (size_t)c] * x[island->loop_row[l]];
        for (int l = 0; l < island->loops; l++)
            x[island->loop_row[l]] -= island->Z[(size_t)l * (size_t)island->redundant + (size_t)c] * along;
    }
}

/* one dof of all held rows, from x (rows of the island) */
static void put(const tg_solve_work *w, const double *x, double *out)
{
    const tg_held *held = &w->held;
    for (int i = 0; i < held->count; i++)
    {
        int row = held->row[i];
        out[i] = x[w->cones.source[row]] * w->cones.scale[row] * held->size[i];
    }
}

/* Y^T, normalised: dimensions x held rows; returns how many dimensions there are */
static int fill(tg_solve_work *w)
{
    const tg_island *island = w->island;
    size_t bytes = sizeof(double) * (size_t)island->rows, n = (size_t)w->held.count;
    double *x = w->best, *next = w->levers;
    for (int t = 0; t < island->trees; t++)
        for (int k = 0; k < island->tree[t].dofs; k++, next += n)
        {
            const tg_tree_rows *tree = &island->tree[t];
            memset(x, 0, bytes);
            for (int j = 0; j < tree->columns; j++)
                x[tree->row[j] - island->first_row] = tree->Y[(ptrdiff_t)k * tree->ld + j];
            project(island, x);
            put(w, x, next);
        }
    for (int i = 0; i < island->rows; i++)
    {
        if (!(island->give[i] > 0))
            continue;
        memset(x, 0, bytes);
        x[i] = sqrt(island->give[i]);
        put(w, x, next);
        next += n;
    }
    return (int)((size_t)(next - w->levers) / n);
}

void tg_held_resolve(tg_solve_work *w)
{
    tg_held *held = &w->held;
    int n = held->count, *order = w->active, *row = w->pivot;
    size_t ld = (size_t)w->cones.ld;
    double *tau = w->rhs, *work = held->part, *size = held->gap;
    tg_qr(fill(w), n, w->levers, n, tau, order, 0, work);
    for (int i = 0; i < n; i++)
    {
        row[i] = held->row[order[i]];
        size[i] = held->size[order[i]];
    }
    memcpy(held->row, row, sizeof *row * (size_t)n);
    memcpy(held->size, size, sizeof *size * (size_t)n);
    for (int i = 0; i < n; i++)
        held->at[held->row[i]] = i;
    for (int k = 0; k < held->rank; k++)
        for (int i = 0; i < n; i++)
            held->factor[(size_t)k * ld + (size_t)i] = i < k ? 0 : w->levers[(size_t)k * (size_t)n + (size_t)i];
}
