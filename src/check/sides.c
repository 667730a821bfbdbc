#include "check/sides.h"

#include <math.h>
#include <stddef.h>

#include "base/status.h"

static tg_status extrapolate(const tg_line *line, double h, tg_side *side)
{
    double slope[3];
    tg_point point[3];
    side->taken = false;
    for (int i = 0; i < 3; i++)
    {
        double x = ldexp(h, -i);
        TG_TRY(line->at(line->user, x, &point[i]));
        if (!point[i].valid || point[i].signature != point[0].signature)
            return TG_OK;
        slope[i] = (point[i].value - line->middle) / x;
    }
    double wide = 2 * slope[1] - slope[0], narrow = 2 * slope[2] - slope[1];
    side->taken = true;
    side->home = point[0].signature == line->signature;
    side->value = narrow + (narrow - wide) / 3;
    side->spread = fmax(fabs(narrow - wide), 8 * line->noise / fabs(h));
    return TG_OK;
}

tg_status tg_side_of(const tg_line *line, double h, double fine, tg_side *side)
{
    static const double factor[] = {1, 1.0 / 8, 1.0 / 64, 8, 64};
    *side = (tg_side){.spread = INFINITY};
    for (size_t k = 0; k < sizeof factor / sizeof *factor && !(side->home && side->spread <= fine); k++)
    {
        tg_side next;
        TG_TRY(extrapolate(line, factor[k] * h, &next));
        if (next.taken && (next.home != side->home ? next.home : next.spread < side->spread))
            *side = next;
    }
    return TG_OK;
}

const tg_side *tg_side_to_judge(const tg_side side[2], double J, bool one_sided, double tolerance)
{
    double apart[2];
    for (int k = 0; k < 2; k++)
        apart[k] = side[k].taken ? fabs(side[k].value - J) : INFINITY;
    const tg_side *near = apart[0] < apart[1] ? &side[0] : &side[1], *far = near == &side[0] ? &side[1] : &side[0];
    if (one_sided)
        return near->taken ? near : NULL;
    if (side[0].home != side[1].home)
        return side[0].home ? &side[0] : &side[1];
    bool differentiable = side[0].taken && side[1].taken && fabs(side[0].value - side[1].value) <= tolerance;
    return differentiable ? far : NULL;
}
