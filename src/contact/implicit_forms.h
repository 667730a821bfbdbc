/* The forms in which the derivative of an island is kept (implicit.h). */
#ifndef TG_CONTACT_IMPLICIT_FORMS_H
#define TG_CONTACT_IMPLICIT_FORMS_H

#include "contact/cone_law.h"
#include "contact/implicit.h"
#include "solve/held.h"
#include "solve/tolerance.h"

#define TG_GOOD_PIVOT 1e-5 /* of the largest, or of its row's own size: elimination is accurate */
#define TG_WORST_PIVOT                                                                                                 \
    1e-9                /* of the largest, in orthogonal bases: below, the equations do not determine the derivative */
#define TG_NO_PART 1e-8 /* of z with J^T z = 0: a row that the others do not hold has less */
#define TG_SOFT 1e-4    /* where they do not: pivots below count as zero; slope of responses outside of their cones */

/* ---- implicit_independent.c ---- */

/* Lists held rows and sliding contacts by the modes and factors the equations, taking held rows for independent; false
 * when they are not, or nearly not. */
bool tg_independent_build(tg_implicit *f, const tg_block_mode *mode);

/* Whether these are all rows that the modes hold: no contact or limit is left out that carries nothing, but is closed.
 */
bool tg_independent_is_whole(const tg_implicit *f, const tg_block_mode *mode);

/* What counts as good: at a change of mode nothing is taken that is hardly determined. */
static inline double tg_good_pivot(const tg_implicit *f)
{
    return f->margin < TG_AT_SWITCH || f->yields ? TG_SOFT : TG_GOOD_PIVOT;
}

/* Whether block b is a contact or a limit that carries nothing: it breaks, or is immaterial, in which case independent
 * rows determine the motion without it. */
bool tg_independent_is_open(const tg_implicit *f, int b, const tg_block_mode *mode);

/* Factors f->A = P L U; whether its pivots exceed a share of the largest. Notes their ratio, infinite where there is no
 * such factor. */
bool tg_implicit_eliminate(tg_implicit *f, double share);

/* ---- implicit_creep.c ---- */

/* The modes with contacts that creep on their cone as sliding ones, with their margins; whether there are any. */
bool tg_creeping_modes(const tg_implicit *f, const tg_block_mode *mode, tg_block_mode *out);

/* ---- implicit_yield.c ---- */

/* The modes with dry friction that gives way as slipping, where held rows brace each other; whether there is any. */
bool tg_yielding_modes(const tg_implicit *f, const tg_block_mode *mode, tg_arena *arena, tg_block_mode *out);

/* ---- implicit_redundant.c ---- */

/* Takes what redundant rows need; false when the arena is too small. A counting arena counts the scratch, too. */
bool tg_redundant_take(tg_implicit *f, int rows, tg_arena *arena);

/* The part of it that is kept. */
bool tg_redundant_take_kept(tg_implicit *f, int rows, tg_arena *arena);

typedef struct tg_redundant_request
{
    bool selected; /* a rule has selected the impulses; if not, that of redundant rows that slide is a choice */
    bool attempt;  /* where the equations do not determine the derivative nothing is wanted */
    tg_implicit_use use;
} tg_redundant_request;

/* Finds the rank of held rows and factors the equations in the form that fits. False when the arena is too small;
 * *regular: whether they determine the derivative. */
bool tg_redundant_build(tg_implicit *f, const tg_block_mode *mode, tg_redundant_request asked, tg_arena *arena,
                        bool *regular);

/* Cones, solution and phases of these modes into w; slides: blocks that do. */
void tg_redundant_phases(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w, bool *slides);

/* ---- implicit_columns.c ---- */

/* Z Z^T n_R = n_R - Q^T Q n_R, in place (held x columns); part: rank x columns */
void tg_redundant_null_part(const tg_implicit *f, int columns, double *n, double *part);

/* ---- implicit_orthogonal.c ---- */

/* f->A = B G C^T + diag(extra); CG: scratch of unknowns x rows */
void tg_implicit_matrix(tg_implicit *f, const double *extra, double *CG);

/* The first rows of M (rows x n) become orthonormal; returns the smallest share of a row's length that is not in those
 * before. part: rows numbers. */
double tg_orthonormal_rows(int rows, int n, double *M, double *part);

/* The last of it: f->A = Q R with column exchanges, R in the place of A, Q^T B in that of B. all: nothing is wanted of
 * equations that do not determine all unknowns. */
bool tg_orthogonal_triangle(tg_implicit *f, double worst, bool all, int *order, double *space);

/* Factors the equations (f->B, f->C and the diagonal, the first f->rank of them held) in orthogonal bases, in the form
 * of redundant rows. Pivots below the share `worst` of the largest are left out; returns whether there were none.
 * extra: unknowns, is f->work and changes; order: unknowns, space: unknowns x rows. */
bool tg_orthogonal_factor(tg_implicit *f, double worst, bool all, double *extra, int *order, double *space);

/* ---- implicit_braces.c ---- */

/* Fills f->braced and f->brace; w: cones and phases of the solution, with the held rows of these phases. Changes w. */
void tg_find_braces(tg_implicit *f, tg_solve_work *w);

/* The same of these modes, also under a law of cone_law.h; false when the arena is too small. */
bool tg_find_braces_of(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena);

/* The same, with contacts that slide along tangents that nothing can move, under such a law. */
bool tg_law_find_braces(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena);

/* Cones, solution and phases of these modes under such a law into w. */
void tg_law_phases(const tg_implicit *f, const tg_block_mode *mode, tg_solve_work *w);

/* ---- implicit_ties.c ---- */

/* Fills f->ties: dry friction at its bound that other rows hold. False when the arena is too small. */
bool tg_find_ties(tg_implicit *f, const tg_block_mode *mode, tg_arena *arena);

/* x <- (1 - Q^T Q) x, Q: the range of the held rows in w (tg_held_build) */
void tg_held_null_part(const tg_solve_work *w, double *x);

/* Room for so many of them. */
bool tg_ties_take(tg_implicit *f, int count, int rows, tg_arena *arena);

/* ---- implicit_blocks.c ---- */

/* the equations of a block of the scaled problem at the solution x, s (all rows) */
typedef tg_block_equations tg_equations_of(const void *user, int block, const double *x, const double *s);

/* Builds f from the equations of its blocks, in the form of redundant rows, and the scaled problem for them in cones,
 * whose memory ends with the call. worst: pivots below that share of the largest are left out. False when the arena is
 * too small; *regular: whether they determine all impulses. */
bool tg_blocks_build(tg_implicit *f, tg_cones *cones, tg_equations_of *of, const void *user, double worst,
                     tg_arena *arena, bool *regular);

/* ---- implicit_law.c ---- */

/* The equations of a law that is not the unrelaxed one; false when the arena is too small. *regular: whether they
 * determine v+. */
bool tg_law_build(tg_implicit *f, const tg_cone_law *law, const tg_block_mode *mode, tg_arena *arena, bool *regular);

/* ---- implicit_smoothed.c ---- */

/* At the solution x, s (all rows) of the law without smoothing. excess: how far friction follows the normal impulse
 * beyond what is monotone, 1 as the law says; slide: x_T / x_N where it does, else zero. */
tg_block_equations tg_smoothed_law_of(const tg_cone *cone, const double *x, const double *s, double speed,
                                      double excess, double slide[TG_CONE_MAX]);

/* The equations of the smoothed law, in the form of redundant rows, with a gain that is bounded; false when the arena
 * is too small. */
bool tg_smoothed_build(tg_implicit *f, const double *speed, tg_arena *arena);

#endif
