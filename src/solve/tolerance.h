/* Numbers that several files decide by. */
#ifndef TG_SOLVE_TOLERANCE_H
#define TG_SOLVE_TOLERANCE_H

/* m/s: slower than this a contact neither slides nor opens. Ten certificates: what one of 1e-8 leaves open is below. */
#define TG_NO_SLIP 1e-7

/* m/s: faster than rounding: a contact that opens or creeps by this does so */
#define TG_OPENING 1e-12

/* m/s: what opened or slid slower than this at the impulses of the previous step may well be held now */
#define TG_NEARLY_STILL 1e-5

/* m/s: G_ii times an impulse, or times how far it is outside of its cone, that counts as nothing; a tenth of the
 * certificate */
#define TG_NO_FORCE 1e-9

/* m/s: below this inconsistency held rows agree. A patch that turns by h is off its plane by h^2. */
#define TG_CONSISTENT TG_NO_FORCE

/* of the largest free velocity: impulses with such a residual have nearly the phases of a solution */
#define TG_NEAR 0.03

/* of L_N: so near its cone an impulse is on it. The root of rounding: a cone is curved. */
#define TG_ON_CONE 1e-7

/* Below this share of the largest G_ii of the island a row is what rounding left of one that nothing can move: J to
 * 1e-16 gives 1e-32, and masses do not differ by 1e24. Its own size would make a row like others of it, and its
 * impulses 1e16 times too large. */
#define TG_FIXED 1e-24

/* Squares of levers, of a row's size. Below the first, rows are redundant, as far as matrices over rows tell: rounding
 * leaves six digits. Loops hold by smaller ones, too (select.c): the second is above rounding of G. Velocities that a
 * lever below the third decides are known to fewer than six digits. */
#define TG_RANK 1e-10
#define TG_LOOP_RANK 1e-13
#define TG_LEAST_LEVER 1e-12

/* of the largest |g|: such a row does not move */
#define TG_IDLE 1e-15

/* of the largest term of a sum: what rounding leaves, for each of its terms */
#define TG_ROUNDING 1e-15

enum
{
    TG_ELLIPSE_STEPS = 60 /* Newton on a convex function from the side where it converges; a few do */
};

#endif
