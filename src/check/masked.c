/* Parameters that cannot matter: in every contact that their geom can have, another number takes their place
 * (contact/touch.c, tg_law_of). */
#include "contact/rows.h"
#include "contact/space.h"
#include "model/candidates.h"
#include "tangere/check.h"

/* A number of a geom of which a contact takes one: that of the stronger geom, or that of the declared pair. */
typedef struct number
{
    int geom, place; /* place: among those of counting */
} number;

enum
{
    KINETIC = 3,
    SLIP_SPEED,
    RESTITUTION,
    PLACES
};

/* which parameter counts in each place */
static void counting(const tg_law *law, int which[PLACES])
{
    for (int i = 0; i < 3; i++)
        which[i] = law->friction[i];
    which[KINETIC] = law->kinetic;
    which[SLIP_SPEED] = law->slip_speed;
    which[RESTITUTION] = law->restitution;
}

static bool is_in(int index, int first, int count)
{
    return index >= first && index < first + count;
}

/* geom -1: none of these */
static number number_of(const tg_model *m, int index)
{
    const tg_param_offsets *at = &m->offset;
    if (is_in(index, at->geom_friction, 3 * m->ngeom))
        return (number){(index - at->geom_friction) / 3, (index - at->geom_friction) % 3};
    if (is_in(index, at->geom_kinetic, m->ngeom))
        return (number){index - at->geom_kinetic, KINETIC};
    if (is_in(index, at->geom_slip_speed, m->ngeom))
        return (number){index - at->geom_slip_speed, SLIP_SPEED};
    if (is_in(index, at->geom_restitution, m->ngeom))
        return (number){index - at->geom_restitution, RESTITUTION};
    return (number){-1, 0};
}

/* two geoms with the same number, neither before the other: either may count */
static bool is_tied(const tg_model *m, const tg_params *p, number x, int other)
{
    int place = x.place == KINETIC || x.place == SLIP_SPEED ? 0 : x.place; /* they come with the sliding friction */
    const double *e = TG_PARAM(p, geom_restitution), *friction = TG_PARAM(p, geom_friction) + place;
    if (place == RESTITUTION)
        return e[x.geom] == e[other];
    return m->geom_priority[x.geom] == m->geom_priority[other] && friction[3 * x.geom] == friction[3 * other];
}

/* the number that counts where two geoms meet; index itself where it does, or may */
static int counts_with(const tg_model *m, const tg_params *p, int index, number x, int other)
{
    tg_geom_pair pair = {x.geom < other ? x.geom : other, x.geom < other ? other : x.geom};
    int declared = m->npair > 0 ? tg_declared_pair(m, pair) : -1, which[PLACES];
    tg_law law = tg_law_of(m, p, pair, declared);
    counting(&law, which);
    return declared < 0 && is_tied(m, p, x, other) ? index : which[x.place];
}

tg_status tg_param_masked(const tg_model *m, const tg_params *params, int index, int *by, tg_error *error)
{
    if (m == NULL || by == NULL)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_param_masked: %s is NULL", m == NULL ? "m" : "by");
    if (index < 0 || index >= m->nparams)
        return tg_fail(error, TG_ERR_ARGUMENT, "tg_param_masked: index = %d: the model has %d parameters", index,
                       m->nparams);
    const tg_params *p = params != NULL ? params : tg_model_params(m);
    number x = number_of(m, index);
    *by = -1;
    for (int other = 0; x.geom >= 0 && other < m->ngeom; other++)
    {
        if (other == x.geom || !tg_geoms_may_meet(m, x.geom, other))
            continue;
        *by = counts_with(m, p, index, x, other);
        if (*by == index)
            break;
    }
    *by = *by == index ? -1 : *by;
    return TG_OK;
}
