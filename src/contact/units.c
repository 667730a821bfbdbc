#include "contact/units.h"

#include <float.h>
#include <math.h>

#include "model/model.h"
#include "solve/tolerance.h"

/* At most by the digits of a number: beyond them nothing is left of one beside another, and products overflow. */
static double power_of_two(double x)
{
    return ldexp(1, (int)fmax(-DBL_MANT_DIG, fmin(rint(log2(x)), DBL_MANT_DIG)));
}

tg_units tg_units_of(double lever, double share)
{
    return (tg_units){.lever = power_of_two(lever), .speed = power_of_two(1 / share)};
}

/* ---- what every row counts by ---- */

static bool joint_turns(const tg_model *m, int dof)
{
    int joint = m->dof_joint[dof], type = m->joint_type[joint];
    return type == TG_JOINT_FREE ? dof >= m->joint_dof[joint] + DIM : type != TG_JOINT_SLIDE;
}

/* row k of a constraint */
static bool row_turns(const tg_model *m, const tg_rows *r, const tg_constraint *c, int k)
{
    if (c->source == TG_SOURCE_CONTACT)
        return k >= r->touch[c->index].bond.linear;
    if (c->source == TG_SOURCE_JOINT_FRICTION)
        return joint_turns(m, c->index);
    return c->bond >= 0 ? k >= r->bond[c->bond].linear : c->turns;
}

/* The directions Z in which loops do not count are orthogonal to the others: rows that are part of them count alike. */
static void level_loops(const tg_rows *r, const tg_rows_island *island, double *unit)
{
    const double *Z = r->Z + island->Z;
    for (int i = 0; i < island->loops && island->redundant > 0; i++)
    {
        double part = 0;
        for (int c = 0; c < island->redundant; c++)
            part = fmax(part, fabs(Z[i * island->redundant + c]));
        if (part > TG_ON_CONE)
            unit[r->loop_row[island->loop + i]] = 1;
    }
}

static void find_units(const tg_model *m, const tg_rows *r, const tg_rows_island *island, double lever, double *unit)
{
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        const tg_constraint *c = &r->constraint[r->order[b]];
        for (int k = 0; k < c->rows; k++)
            unit[c->row - island->row + k] = row_turns(m, r, c, k) ? lever : 1;
    }
    level_loops(r, island, unit);
}

/* ---- there and back ---- */

static void scale_matrices(tg_rows *r, const tg_rows_island *island, bool back)
{
    const double *unit = r->unit + island->row;
    int n = island->rows, ld = v4_pad(n);
    double *G = r->G + island->G;
    for (int i = 0; i < n && island->filled; i++)
        for (int j = 0; j < n; j++)
            G[(size_t)i * (size_t)ld + (size_t)j] *= back ? 1 / (unit[i] * unit[j]) : unit[i] * unit[j];
    for (int t = 0; t < island->trees && !tg_rows_are_whole(island); t++)
    {
        const tg_tree_rows *tree = &r->tree_rows[island->first_tree + t];
        double *Y = r->Y + (tree->Y - r->Y);
        for (int k = 0; k < tree->dofs; k++)
            for (int j = 0; j < tree->columns; j++)
                Y[(ptrdiff_t)k * tree->ld + j] *= back ? 1 / r->unit[tree->row[j]] : r->unit[tree->row[j]];
    }
}

static void scale_rows(tg_rows *r, const tg_rows_island *island, double speed, bool back)
{
    for (int i = island->row; i < island->row + island->rows; i++)
    {
        double unit = back ? 1 / r->unit[i] : r->unit[i];
        r->diagonal[i] *= unit * unit;
        r->give[i] *= unit * unit;
        r->g[i] *= speed * unit;
        r->speed[i] *= speed * unit;
        r->bias[i] *= speed * unit;
        r->warm[i] *= speed / unit;
        r->warm_z[i] *= speed / unit;
    }
    for (int b = island->block; b < island->block + island->blocks; b++)
    {
        tg_block *block = &r->block[b];
        const double *unit = r->unit + island->row + block->row;
        block->bound *= speed / (back ? 1 / unit[0] : unit[0]);
        for (int k = 1; k < block->rows && block->kind == TG_BLOCK_CONTACT; k++)
            block->mu[k - 1] *= back ? unit[k] : 1 / unit[k];
    }
}

void tg_units_enter(const tg_model *m, tg_rows *r, const tg_rows_island *island, const tg_units *u)
{
    find_units(m, r, island, u->lever, r->unit + island->row);
    scale_matrices(r, island, false);
    scale_rows(r, island, u->speed, false);
}

void tg_units_leave(tg_rows *r, tg_rows_island *island, const tg_units *u)
{
    tg_residual *residual = &island->result.residual;
    scale_matrices(r, island, true);
    scale_rows(r, island, 1 / u->speed, true);
    for (int i = island->row; i < island->row + island->rows; i++)
    {
        r->L[i] *= r->unit[i] / u->speed;
        r->z[i] *= r->unit[i] / u->speed; /* means nothing where result.z is false */
        r->sigma[i] /= r->unit[i] * u->speed;
    }
    residual->primal /= u->speed;
    residual->dual /= u->speed;
    residual->complementarity /= u->speed;
    residual->work /= u->speed * u->speed;
}
