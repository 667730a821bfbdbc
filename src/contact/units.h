/* The units in which the problem of an island is solved.
 *
 * Solvers compare rows with each other, with the tolerance, and with speeds that are so many tolerances (tolerance.h).
 * A row of an angular velocity counts by what it moves at a lever: its velocity times the lever, its impulse divided by
 * it (tg_options.lever). Speeds are measured so that the tolerance is that of tg_solve_default(). Both factors are
 * rounded to powers of two, which change no digit: a model in other units, with its law in these units, takes the same
 * steps. */
#ifndef TG_CONTACT_UNITS_H
#define TG_CONTACT_UNITS_H

#include "contact/rows.h"

typedef struct tg_units
{
    double lever; /* m */
    double speed; /* of the solver, by m/s */
} tg_units;

/* share: the tolerance, of the default one */
tg_units tg_units_of(double lever, double share);

/* The problem of an island (its matrices, velocities, bounds and warm start) in these units. */
void tg_units_enter(const tg_model *m, tg_rows *r, const tg_rows_island *island, const tg_units *u);

/* The problem, and what was solved for, in m and rad again. */
void tg_units_leave(tg_rows *r, tg_rows_island *island, const tg_units *u);

#endif
