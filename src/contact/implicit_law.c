/* The derivative of an island's impulses under a law that is not the unrelaxed one: its equations at the solution
 * (cone_law.h).
 *
 * Redundant rows. The convex law has a unique G L: whichever solution of the equations is taken, v+ changes as it
 * should. The pyramids need not have one: where rows are redundant and friction follows the normal impulses, how these
 * are shared may move v+, and the derivative is a choice: that without the directions that are hardly determined. */
#include "contact/implicit_forms.h"

static const double most_condition = 1e6; /* forward and reverse mode agree to 1e-16 of that: 1e-10 */

typedef struct block_law
{
    const tg_cones *cones;
    const tg_cone_law *law;
    const tg_block_mode *mode;
} block_law;

/* Closed without a force: other parts of the derivative leave it out, too. Dry friction where other rows hold what it
 * holds, such as a limit of its joint: it follows these, and with both in the equations each would follow half. */
static bool is_left_out(const tg_cone *cone, const tg_block_mode *mode)
{
    return cone->kind == TG_CONE_UNIT ? mode->mode == TG_MODE_BREAKING : cone->kind == TG_CONE_BOX && mode->immaterial;
}

static tg_block_equations equations_of(const void *user, int block, const double *x, const double *s)
{
    const block_law *u = user;
    const tg_cone *cone = &u->cones->block[block];
    if (!is_left_out(cone, &u->mode[cone->of]))
        return tg_cone_law_equations(u->law, cone, x, s);
    tg_block_equations open = {.dim = cone->dim};
    for (int i = 0; i < cone->dim; i++)
        open.x[i][i] = 1 / cone->rho_n;
    return open;
}

bool tg_law_build(tg_implicit *f, const tg_cone_law *law, const tg_block_mode *mode, tg_arena *arena, bool *regular)
{
    tg_cones cones;
    block_law user = {&cones, law, mode};
    bool slides = false;
    for (int b = 0; b < f->island->blocks; b++)
    {
        f->slides[b] = mode[b].mode == TG_MODE_SLIDING;
        slides = slides || (f->slides[b] && f->island->block[b].kind == TG_BLOCK_CONTACT);
    }
    size_t mark = tg_arena_mark(arena);
    bool fits = tg_blocks_build(f, &cones, equations_of, &user, TG_LAW_PIVOT, arena, regular);
    f->redundant = !*regular;
    *regular = *regular || !law->shift || !slides;
    if (!fits || (*regular && f->condition <= most_condition))
        return fits;
    *regular = false;
    tg_arena_release(arena, mark);
    bool full;
    return tg_blocks_build(f, &cones, equations_of, &user, TG_SOFT, arena, &full);
}
