#include "collision/broad.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "math/lanes.h"

enum
{
    ROWS = 7 /* of a tg_bounds */
};

int tg_bounds_size(int n)
{
    return 2 * ROWS * v4_pad(n);
}

static tg_bounds place(double *memory, int n)
{
    int row = v4_pad(n);
    tg_bounds b = {.n = n, .radius = memory + 6 * row, .scratch = memory + ROWS * row};
    for (int i = 0; i < 3; i++)
    {
        b.centre[i] = memory + i * row;
        b.half[i] = memory + (3 + i) * row;
    }
    return b;
}

tg_bounds tg_bounds_place(double *memory, int n)
{
    tg_bounds b = place(memory, n);
    for (int k = n; k < v4_pad(n); k++)
    {
        for (int i = 0; i < 3; i++)
        {
            b.centre[i][k] = 0;
            b.half[i][k] = -INFINITY;
        }
        b.radius[k] = 0;
    }
    return b;
}

typedef struct pair_list
{
    tg_geom_pair *at;
    int capacity, count;
} pair_list;

static void append(pair_list *list, int first, int second)
{
    if (list->count < list->capacity)
        list->at[list->count] = (tg_geom_pair){first, second};
    list->count++;
}

static bool is_allowed(tg_allowed a, int i, int j)
{
    if (a.bits == NULL)
        return a.may(a.context, i, j);
    return (a.bits[(size_t)i * (size_t)a.words + (size_t)(j / 64)] >> (j % 64)) & 1;
}

/* ---- all with all ---- */

/* The bounds of one geom, in all lanes. */
typedef struct splat
{
    v4 centre[3], half[3], radius;
} splat;

TG_INLINE splat splat_of(const tg_bounds *b, int i)
{
    splat s = {.radius = v4_splat(b->radius[i])};
    for (int k = 0; k < 3; k++)
    {
        s.centre[k] = v4_splat(b->centre[k][i]);
        s.half[k] = v4_splat(b->half[k][i]);
    }
    return s;
}

/* lanes of geoms j .. j + 3 whose bounds overlap those of one, as four bits */
TG_INLINE unsigned overlaps(const tg_bounds *b, const splat *one, int j)
{
    v4 squared = v4_zero(), reach = one->radius + v4_load(b->radius + j);
    v4i hit = {1, 2, 4, 8};
    for (int k = 0; k < 3; k++)
    {
        v4 d = v4_load(b->centre[k] + j) - one->centre[k];
        v4 h = v4_load(b->half[k] + j) + one->half[k];
        squared += d * d;
        hit &= v4_absolute(d) < h;
    }
    hit &= squared < reach * reach;
    return (unsigned)((hit[0] | hit[2]) | (hit[1] | hit[3]));
}

static void compare_all(const tg_bounds *b, tg_allowed allowed, pair_list *list)
{
    for (int i = 0; i < b->n; i++)
        for (int word = 0; word < allowed.words; word++)
        {
            uint64_t left = allowed.bits[(size_t)i * (size_t)allowed.words + (size_t)word];
            if (left == 0)
                continue;
            splat one = splat_of(b, i);
            while (left != 0)
            {
                int at = __builtin_ctzll(left) & ~(V4_LANES - 1), j = 64 * word + at;
                unsigned wanted = (unsigned)(left >> at) & 15;
                left &= ~((uint64_t)15 << at);
                for (wanted &= overlaps(b, &one, j); wanted != 0; wanted &= wanted - 1)
                    append(list, i, j + __builtin_ctz(wanted));
            }
        }
}

/* ---- sweep ---- */

static int widest_axis(const tg_bounds *b)
{
    double most = -1;
    int axis = 0;
    for (int k = 0; k < 3; k++)
    {
        double sum = 0, squares = 0;
        int count = 0;
        for (int i = 0; i < b->n; i++)
            if (isfinite(b->half[k][i]))
            {
                sum += b->centre[k][i];
                squares += b->centre[k][i] * b->centre[k][i];
                count++;
            }
        double spread = count > 0 ? squares - sum * sum / count : 0;
        if (spread > most)
        {
            most = spread;
            axis = k;
        }
    }
    return axis;
}

/* Lower ends along the axis. */
static void find_low(const tg_bounds *b, int axis, double *low)
{
    for (int i = 0; i < v4_pad(b->n); i += V4_LANES)
        v4_store(low + i, v4_load(b->centre[axis] + i) - v4_load(b->half[axis] + i));
}

/* Gaps of a shell sort, 1, 4, 10, 23, ... (about 2.25 times the one before: Tokuda 1992): sorts in place without
 * memory, and the library's qsort may allocate. */
static int first_gap(int n)
{
    int gap = 1;
    while (gap < n / 2)
        gap = (9 * gap + 7) / 4;
    return gap;
}

static int next_gap(int gap)
{
    return gap == 1 ? 0 : gap < 5 ? 1 : (4 * gap - 3) / 9;
}

/* order by lower end, ties by number */
static void sort_by_low(const double *low, int n, int *order)
{
    for (int i = 0; i < n; i++)
        order[i] = i;
    for (int g = first_gap(n); g > 0; g = next_gap(g))
        for (int i = g; i < n; i++)
        {
            int moving = order[i], at = i;
            double key = low[moving];
            for (; at >= g; at -= g)
            {
                int before = order[at - g];
                double other = low[before];
                if (other < key || (other == key && before < moving))
                    break;
                order[at] = before;
            }
            order[at] = moving;
        }
}

/* The bounds in that order, so that neighbours can be compared four at a time. */
static tg_bounds in_order(const tg_bounds *b, const int *order)
{
    tg_bounds s = tg_bounds_place(b->scratch, b->n);
    for (int i = 0; i < b->n; i++)
    {
        for (int k = 0; k < 3; k++)
        {
            s.centre[k][i] = b->centre[k][order[i]];
            s.half[k][i] = b->half[k][order[i]];
        }
        s.radius[i] = b->radius[order[i]];
    }
    return s;
}

static void append_allowed(tg_allowed allowed, int i, int j, pair_list *list)
{
    int first = i < j ? i : j, second = i < j ? j : i;
    if (is_allowed(allowed, first, second))
        append(list, first, second);
}

static void sweep(const tg_bounds *b, tg_allowed allowed, int *order, pair_list *list)
{
    int axis = widest_axis(b);
    double *low = b->scratch; /* until the bounds are put in order */
    find_low(b, axis, low);
    sort_by_low(low, b->n, order);
    tg_bounds s = in_order(b, order);
    for (int i = 0; i < b->n; i++)
    {
        double high = s.centre[axis][i] + s.half[axis][i];
        splat one = splat_of(&s, i);
        unsigned behind = 15u << ((i + 1) % V4_LANES); /* of the first four, those that come after i */
        for (int j = (i + 1) & ~(V4_LANES - 1); j < b->n && !(s.centre[axis][j] - s.half[axis][j] >= high);
             j += V4_LANES, behind = 15)
            for (unsigned hit = overlaps(&s, &one, j) & behind; hit != 0; hit &= hit - 1)
                append_allowed(allowed, order[i], order[j + __builtin_ctz(hit)], list);
    }
}

static void sort_by_second(tg_geom_pair *pairs, int count)
{
    for (int g = first_gap(count); g > 0; g = next_gap(g))
        for (int i = g; i < count; i++)
        {
            tg_geom_pair moving = pairs[i];
            int at = i;
            for (; at >= g && moving.second < pairs[at - g].second; at -= g)
                pairs[at] = pairs[at - g];
            pairs[at] = moving;
        }
}

/* Puts the pairs of each first geom together, in place: whatever is where the pairs of `first` belong is exchanged for
 * what is where it belongs itself. */
static void sort_pairs(tg_geom_pair *pairs, int count, int n, int *filled, int *end)
{
    int sum = 0;
    memset(filled, 0, sizeof(int) * (size_t)n);
    for (int i = 0; i < count; i++)
        filled[pairs[i].first]++;
    for (int g = 0; g < n; g++)
    {
        int here = filled[g];
        filled[g] = sum;
        end[g] = sum += here;
    }
    for (int g = 0, start = 0; g < n; start = end[g++])
    {
        while (filled[g] < end[g])
        {
            tg_geom_pair here = pairs[filled[g]];
            int to = filled[here.first]++;
            if (here.first == g)
                continue;
            pairs[filled[g]] = pairs[to];
            pairs[to] = here;
        }
        sort_by_second(pairs + start, end[g] - start);
    }
}

int tg_broad_phase(const tg_bounds *b, tg_allowed allowed, int *order, tg_geom_pair *pairs, int capacity)
{
    pair_list list = {pairs, capacity, 0};
    if (b->n <= TG_SWEEP_ABOVE)
    {
        compare_all(b, allowed, &list);
        return list.count;
    }
    sweep(b, allowed, order, &list);
    if (list.count <= capacity)
        sort_pairs(pairs, list.count, b->n, order, order + b->n);
    return list.count;
}
