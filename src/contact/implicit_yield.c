/* Dry friction that gives way: joints of a loop that are all held by friction, a joint at its limit held by friction.
 *
 * Such rows are redundant, J^T z = 0, and a displacement makes them inconsistent by c = d(z . (J v+ + b)). Friction
 * cannot hold against equalities and limits. Impulses L + t z do the same as L; where the rows disagree, t grows until
 * a friction is at its bound, at
 *     t = (F_i - L_i sign z_i) / |z_i|,
 * and that friction slips by as much as makes the others consistent. So the derivative is that of the other rows. With
 * one redundancy it is exact if the same friction is first at its bound for both signs of t; otherwise it is that of
 * one side. With several, frictions are released one after the other along a direction in the null space, which is that
 * of one displacement. Where a limit would open first the other sign is taken. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/lanes.h"
#include "math/random.h"

/* The null space of held rows of joints without released ones: vectors over held rows. */
typedef struct yielding
{
    const tg_implicit *f;
    tg_solve_work w; /* rows of equalities, limits and friction that hold */
    int count, most; /* of these rows; that can be released */
    int released;
    double *U;                      /* released x count: unit vectors that are left out */
    double *start, *z, *load, *one; /* a direction; its part in the null space; impulses; scratch */
    int *block;                     /* of the row's friction or limit, or -1 */
} yielding;

/* Contacts are left out: what braces a contact is not only held by joints. So are limits that carry nothing: they count
 * as open if other rows hold the joint, and then these must not give way. */
static bool find_held(yielding *y, const tg_implicit *f, const tg_block_mode *mode, tg_arena *arena)
{
    const tg_block *block = f->island->block;
    *y = (yielding){.f = f, .w = {.island = f->island}};
    if (!tg_solve_work_take(&y->w, f->island->rows, arena))
        return false;
    tg_redundant_phases(f, mode, &y->w, y->w.left_out);
    for (int c = 0; c < y->w.cones.blocks; c++)
    {
        const int b = y->w.cones.block[c].of;
        if (block[b].kind == TG_BLOCK_CONTACT || tg_independent_is_open(f, b, &mode[b]))
            y->w.state[c].phase = TG_PHASE_BREAK;
    }
    tg_held_build(&y->w);
    y->count = y->w.held.count;
    y->most = y->count - y->w.held.rank;
    return y->most > 0;
}

static bool take(yielding *y, tg_arena *arena)
{
    size_t n = (size_t)y->count;
    y->U = TG_TAKE(arena, double, n *(size_t)y->most, "implicit: released frictions");
    y->start = TG_TAKE(arena, double, n, "implicit: a direction");
    y->z = TG_TAKE(arena, double, n, "implicit: its part in the null space");
    y->load = TG_TAKE(arena, double, n, "implicit: impulses on the way to a bound");
    y->one = TG_TAKE(arena, double, n, "implicit: one row");
    y->block = TG_TAKE(arena, int, n, "implicit: blocks of held rows");
    return !arena->failed;
}

static bool is_friction(const yielding *y, int i)
{
    return i >= 0 && y->block[i] >= 0 && y->f->island->block[y->block[i]].kind == TG_BLOCK_FRICTION;
}

/* frictions and limits, and a random direction of them */
static void list_rows(yielding *y)
{
    const tg_block *block = y->f->island->block;
    tg_random_numbers(1, y->count, y->start);
    for (int i = 0; i < y->count; i++)
    {
        int b = 0, row = y->w.cones.source[y->w.held.row[i]];
        while (block[b].row + block[b].rows <= row)
            b++;
        y->block[i] = block[b].kind == TG_BLOCK_EQUALITY ? -1 : b;
        y->load[i] = y->f->L[row];
        y->start[i] *= y->block[i] >= 0;
    }
}

/* x without its part outside of the null space, and in what was released */
static void project(const yielding *y, double *x)
{
    tg_held_null_part(&y->w, x);
    for (int k = 0; k < y->released; k++)
    {
        const double *u = y->U + (size_t)k * (size_t)y->count;
        double along = v4_dot_of(y->count, u, x);
        for (int i = 0; i < y->count; i++)
            x[i] -= along * u[i];
    }
}

/* z; false when no friction is in it */
static bool find_direction(yielding *y)
{
    int n = y->count;
    double size = sqrt(v4_dot_of(n, y->start, y->start)), largest = 0;
    memcpy(y->z, y->start, (size_t)n * sizeof *y->z);
    project(y, y->z);
    for (int i = 0; i < n; i++)
        largest = y->block[i] >= 0 ? fmax(largest, fabs(y->z[i])) : largest;
    return largest > TG_NO_PART * size;
}

/* The row that is first at its bound along sign z, and how far that is. */
static int first_of(const yielding *y, double sign, double *reach)
{
    int first = -1;
    double size = sqrt(v4_dot_of(y->count, y->z, y->z));
    *reach = INFINITY;
    for (int i = 0; i < y->count; i++)
    {
        double z = sign * y->z[i];
        if (y->block[i] < 0 || fabs(z) <= TG_NO_PART * size || (!is_friction(y, i) && z > 0))
            continue;
        double bound = is_friction(y, i) ? y->f->island->block[y->block[i]].bound : 0;
        double t = fmax(0, (bound - copysign(1, z) * y->load[i]) / fabs(z));
        if (t < *reach)
        {
            *reach = t;
            first = i;
        }
    }
    return first;
}

/* The next row that gives way, friction rather than a limit; impulses with it at its bound. */
static int next_row(yielding *y)
{
    double reach, back, sign = 1;
    int first = first_of(y, 1, &reach), other = first_of(y, -1, &back);
    bool forward = is_friction(y, first), backward = is_friction(y, other);
    if (backward != forward ? backward : back < reach)
    {
        first = other;
        reach = back;
        sign = -1;
    }
    for (int i = 0; i < y->count; i++)
        y->load[i] += sign * reach * y->z[i];
    return first;
}

static void release(yielding *y, int row)
{
    int n = y->count;
    memset(y->one, 0, (size_t)n * sizeof *y->one);
    y->one[row] = 1;
    project(y, y->one);
    double inverse = 1 / sqrt(v4_dot_of(n, y->one, y->one)), *u = y->U + (size_t)y->released++ * (size_t)n;
    for (int i = 0; i < n; i++)
        u[i] = y->one[i] * inverse;
}

/* Whether rows of joints have a part in what braces, which is a random combination of all impulses that do nothing. */
static bool joints_brace(const tg_implicit *f)
{
    bool any = false;
    for (int b = 0; b < f->island->blocks && !any; b++)
    {
        const tg_block *block = &f->island->block[b];
        for (int i = block->row; block->kind != TG_BLOCK_CONTACT && i < block->row + block->rows; i++)
            any = any || fabs(f->brace[i]) > TG_NO_PART;
    }
    return any;
}

bool tg_yielding_modes(const tg_implicit *f, const tg_block_mode *mode, tg_arena *arena, tg_block_mode *out)
{
    size_t mark = tg_arena_mark(arena);
    yielding y;
    if (!joints_brace(f))
        return false;
    memcpy(out, mode, (size_t)f->island->blocks * sizeof *out);
    if (find_held(&y, f, mode, arena) && take(&y, arena))
    {
        list_rows(&y);
        while (y.released < y.most && find_direction(&y))
        {
            int row = next_row(&y);
            tg_mode does = is_friction(&y, row) ? TG_MODE_SLIDING : TG_MODE_BREAKING;
            release(&y, row);
            out[y.block[row]] = (tg_block_mode){.mode = does, .immaterial = true, .margin = INFINITY};
        }
    }
    arena->failed = false;
    tg_arena_release(arena, mark);
    return y.released > 0;
}
