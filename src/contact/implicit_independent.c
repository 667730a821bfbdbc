/* The derivative of an island whose held rows are independent: unknowns are the impulses of held rows, and what sliding
 * contacts have across their slips. B and C have few entries a row and are never formed; the matrix is gathered from G.
 * When nothing slides it is G_RR. */
#include <math.h>
#include <string.h>

#include "contact/implicit_forms.h"
#include "math/dense.h"

static double diagonal(const tg_island *island, int row)
{
    return island->G[(size_t)row * (size_t)island->ldg + (size_t)row];
}

/* ---- unknowns ---- */

/* What nothing can move carries nothing. */
static bool moves(const tg_implicit *f, int row)
{
    return diagonal(f->island, row) > f->fixed;
}

/* size: of its pivot, if it depends on no other row */
static void hold(tg_implicit *f, int row, double size)
{
    if (!moves(f, row))
        return;
    f->work[f->held] = size;
    f->row[f->held++] = row;
}

/* direction of the friction impulse and softness across it, from the Alart-Curnier point */
static tg_cone_state direction_of(const tg_implicit *f, const tg_block *block, const tg_slider *s, double *rho)
{
    double x[TG_CONE_MAX] = {f->L[block->row]}, velocity[TG_CONE_MAX] = {f->sigma[block->row]}, trace = 0;
    for (int i = 0; i < s->tangents; i++)
    {
        double mu = block->mu[s->row[i] - block->row - 1];
        x[1 + i] = f->L[s->row[i]] / mu;
        velocity[1 + i] = mu * f->sigma[s->row[i]];
        trace += mu * mu * diagonal(f->island, s->row[i]);
    }
    tg_cone cone = {.kind = TG_CONE_UNIT, .dim = 1 + s->tangents};
    cone.rho_n = 1 / diagonal(f->island, block->row);
    cone.rho_t = s->tangents / trace;
    tg_cone_state state = {.phase = TG_PHASE_SLIDE, .direction = {1}};
    tg_newton_direction(&cone, x, velocity, &state);
    *rho = cone.rho_t;
    return state;
}

static void add_slider(tg_implicit *f, const tg_block *block, int normal)
{
    tg_slider *s = &f->slider[f->sliders];
    *s = (tg_slider){.normal = normal};
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0 && moves(f, block->row + i))
            s->row[s->tangents++] = block->row + i;
    if (s->tangents == 0)
        return;
    f->sliders++;
    double rho, R[(TG_CONE_MAX - 1) * (TG_CONE_MAX - 1)];
    tg_cone_state state = direction_of(f, block, s, &rho);
    tg_cone_frame(s->tangents, state.direction, R);
    s->ratio = state.ratio;
    s->softness = (1 - state.ratio) / rho;
    for (int i = 0; i < s->tangents; i++)
    {
        double mu = block->mu[s->row[i] - block->row - 1];
        s->along[i] = mu * state.direction[i];
        for (int j = 1; j < s->tangents; j++)
            s->across[j - 1][i] = mu * R[s->tangents * i + j];
    }
}

/* what sticks without force may slip */
static bool contact_slides(const tg_implicit *f, const tg_block *block, const tg_block_mode *mode)
{
    double sum = 0;
    if (mode->mode == TG_MODE_SLIDING)
        return true;
    if (!mode->immaterial && mode->margin > 0)
        return false;
    for (int i = 1; i < block->rows; i++)
        if (block->mu[i - 1] > 0)
            sum += f->sigma[block->row + i] * f->sigma[block->row + i];
    return sqrt(sum) >= TG_NO_SLIP;
}

bool tg_independent_is_open(const tg_implicit *f, int b, const tg_block_mode *mode)
{
    const tg_block *block = &f->island->block[b];
    bool unilateral = block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT;
    bool empty = diagonal(f->island, block->row) * f->L[block->row] <= tg_larger(f->sigma[block->row], 0);
    return unilateral && (mode->mode == TG_MODE_BREAKING || (mode->immaterial && empty));
}

bool tg_independent_is_whole(const tg_implicit *f, const tg_block_mode *mode)
{
    for (int b = 0; b < f->island->blocks; b++)
        if (mode[b].immaterial && mode[b].mode != TG_MODE_BREAKING && tg_independent_is_open(f, b, &mode[b]))
            return false;
    return true;
}

static void list_contact(tg_implicit *f, int b, const tg_block_mode *mode)
{
    const tg_block *block = &f->island->block[b];
    if (tg_independent_is_open(f, b, mode) || !moves(f, block->row))
        return;
    f->slides[b] = block->kind == TG_BLOCK_CONTACT && contact_slides(f, block, mode);
    hold(f, block->row, diagonal(f->island, block->row));
    if (f->slides[b])
        add_slider(f, block, f->held - 1);
    for (int i = 1; i < block->rows && !f->slides[b]; i++)
        if (block->mu[i - 1] > 0)
            hold(f, block->row + i, diagonal(f->island, block->row + i));
}

static void list_unknowns(tg_implicit *f, const tg_block_mode *mode)
{
    f->held = f->sliders = 0;
    for (int b = 0; b < f->island->blocks; b++)
    {
        const tg_block *block = &f->island->block[b];
        f->slides[b] = mode[b].mode == TG_MODE_SLIDING;
        if (block->kind == TG_BLOCK_CONTACT || block->kind == TG_BLOCK_LIMIT)
            list_contact(f, b, &mode[b]);
        else if (block->kind == TG_BLOCK_EQUALITY || !f->slides[b])
            for (int i = 0; i < block->rows; i++)
                hold(f, block->row + i, tg_row_size(f->island, block, i));
    }
    f->unknowns = f->rank = f->held;
    for (int i = 0; i < f->sliders; i++)
    {
        f->slider[i].first = f->unknowns;
        f->unknowns += f->slider[i].tangents - 1;
    }
}

/* ---- the matrix ---- */

/* out (unknowns) = the velocity of a row for a unit of every unknown: G C^T */
static void answers(const tg_implicit *f, int row, double *out)
{
    const double *G = f->island->G + (size_t)row * (size_t)f->island->ldg;
    for (int k = 0; k < f->held; k++)
        out[k] = G[f->row[k]];
    for (int i = 0; i < f->sliders; i++)
    {
        const tg_slider *s = &f->slider[i];
        for (int t = 0; t < s->tangents; t++)
            out[s->normal] += s->along[t] * G[s->row[t]];
        for (int j = 0; j < s->tangents - 1; j++)
        {
            double sum = 0;
            for (int t = 0; t < s->tangents; t++)
                sum += s->across[j][t] * G[s->row[t]];
            out[s->first + j] = sum;
        }
    }
}

static void across_equations(const tg_implicit *f, const tg_slider *s)
{
    int q = f->unknowns;
    double *one = f->work;
    memset(f->A + (size_t)s->first * (size_t)q, 0, (size_t)(s->tangents - 1) * (size_t)q * sizeof *f->A);
    for (int t = 0; t < s->tangents; t++)
    {
        answers(f, s->row[t], one);
        for (int j = 0; j < s->tangents - 1; j++)
            for (int k = 0; k < q; k++)
                f->A[(size_t)(s->first + j) * (size_t)q + (size_t)k] += s->ratio * s->across[j][t] * one[k];
    }
    for (int j = s->first; j < s->first + s->tangents - 1; j++)
        f->A[(size_t)j * (size_t)(q + 1)] += s->softness;
}

/* Rows may depend on several others a little each: small shares that pivots have of their rows' sizes multiply. */
static bool factor_held(tg_implicit *f)
{
    const double small = 0.1;
    int q = f->unknowns;
    double largest = 0, smallest = INFINITY, left = 1;
    f->condition = INFINITY;
    for (int k = 0; k < q; k++)
    {
        const double *G = f->island->G + (size_t)f->row[k] * (size_t)f->island->ldg;
        for (int l = 0; l <= k; l++)
            f->A[(size_t)k * (size_t)q + (size_t)l] = G[f->row[l]];
    }
    if (tg_chol(q, f->A, q) >= 0)
        return false;
    for (int k = 0; k < q; k++)
    {
        double root = f->A[(size_t)k * (size_t)(q + 1)], pivot = root * root;
        if (pivot < small * f->work[k])
            left *= pivot / f->work[k];
        largest = tg_larger(pivot, largest);
        smallest = tg_smaller(pivot, smallest);
    }
    f->condition = q > 0 ? largest / smallest : 1;
    return left > tg_good_pivot(f);
}

bool tg_implicit_eliminate(tg_implicit *f, double share)
{
    int q = f->unknowns;
    double largest = 0, smallest = INFINITY;
    f->condition = INFINITY;
    if (tg_lu(q, f->A, q, f->pivot) >= 0)
        return false;
    for (int k = 0; k < q; k++)
    {
        double size = fabs(f->A[(size_t)k * (size_t)(q + 1)]);
        largest = tg_larger(size, largest);
        smallest = tg_smaller(size, smallest);
    }
    f->condition = q > 0 ? largest / smallest : 1;
    return smallest > share * largest;
}

static bool factor_sliding(tg_implicit *f)
{
    int q = f->unknowns;
    for (int k = 0; k < f->held; k++)
        answers(f, f->row[k], f->A + (size_t)k * (size_t)q);
    for (int i = 0; i < f->sliders; i++)
        across_equations(f, &f->slider[i]);
    return tg_implicit_eliminate(f, tg_good_pivot(f));
}

bool tg_independent_build(tg_implicit *f, const tg_block_mode *mode)
{
    f->form = TG_IMPLICIT_INDEPENDENT;
    f->turns = false;
    memset(f->spread, 0, (size_t)f->island->rows * sizeof *f->spread);
    list_unknowns(f, mode);
    f->symmetric = f->sliders == 0;
    return f->symmetric ? factor_held(f) : factor_sliding(f);
}
