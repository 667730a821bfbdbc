/* The constraints of one step: what is near, touches, holds or rubs, row by row, cut into islands.
 *
 * A constraint is a contact point, a limit, a dry friction or an equality. Its rows are relative velocities
 *     sigma = J v+ + b,
 * with one law a block (problem.h). Trees that constraints couple form an island; the rows of an island are contiguous.
 * A row touches few trees, and a tree is in one island only, so the Jacobian is kept tree by tree and transposed:
 * J_t^T (dofs of the tree x columns), one column for each row that touches it. Then, with M = L^T D L,
 *     Y_t = D^-1/2 L^-T J_t^T,   G = sum over trees of Y_t^T Y_t   (scattered from columns to rows),
 * run four rows at a time. The laws: docs/contact.md. */
#ifndef TG_CONTACT_ROWS_H
#define TG_CONTACT_ROWS_H

#include "contact/cone_law.h"
#include "contact/space.h"
#include "solve/problem.h"
#include "tangere/contact.h"

typedef enum tg_source
{
    TG_SOURCE_EQUALITY,
    TG_SOURCE_JOINT_FRICTION,
    TG_SOURCE_TENDON_FRICTION,
    TG_SOURCE_JOINT_LIMIT,
    TG_SOURCE_TENDON_LIMIT,
    TG_SOURCE_CONTACT
} tg_source;

/* Two bodies held (or kept apart) at a point, along axes: rows axis . (velocity of body 2 - velocity of body 1 there),
 * then axis . (angular velocity 2 - 1). The point of an equality is that of body 2, also where the loop is open and
 * body 1 has its own, the anchor, elsewhere: seen from body 1 the error changes by v_2(point) - v_1(point), so that
 * what moves the two bodies together does not open the loop, and the forces on them are opposite and at the same point.
 */
typedef struct tg_bond
{
    v4 point;     /* world */
    v4 anchor;    /* of an equality: the point of body 1 that should be there */
    v4 axis[DIM]; /* unit, orthogonal; of a contact: n, t1, t2 */
    int body[2];
    int linear, angular; /* how many rows of each kind */
} tg_bond;

/* A contact from outside (given.c). Its law's numbers are the last eight: the indices of its law count from friction
 * on. */
typedef struct tg_given
{
    double number[TG_GIVEN_NUMBERS];   /* the normal of length 1 */
    double change[TG_GIVEN_NUMBERS];   /* along which a derivative is taken */
    double gradient[TG_GIVEN_NUMBERS]; /* added to */
    double length;                     /* of the normal that was given */
} tg_given;

enum
{
    TG_GIVEN_NORMAL = DIM,
    TG_GIVEN_GAP = TG_GIVEN_NORMAL + DIM,
    TG_GIVEN_LAW /* and what is behind it */
};

/* Which numbers a pair of geoms takes its law from: places in the parameter vector, or in those of a given contact. */
typedef struct tg_law
{
    tg_given *given; /* NULL: the parameter vector */
    int condim;
    int friction[DIM]; /* slide, spin, roll */
    int kinetic, slip_speed, restitution;
    int compliance[2], margin[2], damping[2]; /* these add; second -1: none */
} tg_law;

/* Friction coefficients of a block: one per row but the normal. */
enum
{
    TG_AXIS_SLIDE,
    TG_AXIS_SLIDE2,
    TG_AXIS_SPIN,
    TG_AXIS_ROLL,
    TG_AXIS_ROLL2,
    TG_AXES
};

/* Where the numbers of an equality are: a weld's anchor on body 1, its quaternion and its torque scale behind the
 * anchor on body 2; a connect has the anchors in the other order; a coupling has the coefficients of its polynomial. */
enum
{
    TG_EQUALITY_ANCHOR = DIM,
    TG_EQUALITY_QUAT = TG_EQUALITY_ANCHOR + DIM,
    TG_EQUALITY_TORQUE = TG_EQUALITY_QUAT + QUAT,
    TG_COEFFICIENTS = 5
};

/* A contact point in the problem. */
typedef struct tg_touch
{
    tg_contact_point at;
    tg_bond bond;
    tg_geom_pair pair; /* -1, -1: given */
    tg_law law;
    double phi; /* distance - margin (m) */

    /* touch.c: scratch of the search for what a neighbour covers */
    int next[2];
    bool covered;
    bool turns_far; /* of the first touch of a pair: the end of the step is looked at (step/hold.c) */
    bool aside;     /* without rows: all points of its pair open at v_free and v+ */
    double opening; /* of what is aside: Phi / dt + J_N v+ (m/s) */

    /* law.c: at the velocities of the start of the step */
    double approach; /* J_N v (m/s) */
    double free;     /* J_N v_free (m/s) */
    double slip;     /* |J_T v| of the two sliding rows (m/s) */
    double factor;   /* of the sliding friction: 1 static .. kinetic */
    int regime;      /* explicit laws: 0 open, 1 pushes, 2 and its friction is at its bound */
    bool impact;     /* its gate is on: b_N = e J_N v */
    bool rebound;    /* separates while a gate is on in its island, and e J_N v counts */
} tg_touch;

typedef struct tg_constraint
{
    tg_source source;
    int index; /* of the equality, dof (joint friction), joint (limit), tendon or touch */
    int side;  /* limit: 0 lower, 1 upper */
    int rows;  /* of the block */
    int row;   /* its first, in the order of the islands */
    int part;  /* its trees: parts part .. part + parts - 1 */
    int parts;
    bool turns;  /* limit, coupling: of an angle (rad), not of a length (m) */
    int bond;    /* equality between bodies: its place in tg_rows.bond; -1: none */
    uint64_t id; /* for warm starts */
} tg_constraint;

/* One tree that a constraint touches. */
typedef struct tg_part
{
    int tree;
    int column; /* of the constraint's first row in the tree's J^T */
} tg_part;

/* What previous steps say about an attempt that may fail (problem.c): steps in which it is not made, from now on, and
 * how many there were the last time. */
typedef struct tg_pause
{
    int left, length;
    int work; /* of a warm start: factorisations of the last problem that was solved without it;
                 TG_ATTEMPT_REFINE: which compliance it takes (DBL_MAX_EXP less its exponent), 0: it fails */
} tg_pause;

typedef enum tg_attempt
{
    TG_ATTEMPT_WARM,         /* the warm start of a problem with its overlaps pushed out, */
    TG_ATTEMPT_WARM_RELAXED, /* and of one without the push */
    TG_ATTEMPT_PUSH,         /* to push them out */
    TG_ATTEMPT_REFINE,       /* to find the compliance at which rows that hold against each other give way */
    TG_ATTEMPTS
} tg_attempt;

typedef struct tg_rows_island
{
    int root; /* its first tree */
    tg_pause pause[TG_ATTEMPTS];
    int row, rows;            /* in the arrays over rows */
    int block, blocks;        /* in block and order */
    size_t G;                 /* where its matrix starts; leading dimension v4_pad(rows) */
    int tree;                 /* if it has one tree only, else -1 */
    int first_tree, trees;    /* in tree_rows */
    int dofs;                 /* of its trees */
    bool equality;            /* it has equalities */
    double work;              /* multiplications of J^T N J: of every row, the square of its dofs */
    bool dense;               /* small enough for dense matrices, and there is room for its G */
    bool sparse;              /* solved in velocity space: G is filled only on request */
    bool late;                /* its warm start may be left out: G is filled only on request */
    bool half;                /* sparse: Y of its trees is D^-1/2 L^-T J_t^T all the same */
    bool filled;              /* G is valid */
    bool sized;               /* G_ii of its rows are valid */
    bool impact;              /* a gate is on */
    bool within;              /* impacts within the step: placing_L, placing_sigma, placing_mode are valid */
    tg_selection placing;     /* how the impulses of the second problem were chosen */
    double removed;           /* m/s: of its equalities' bias, what no velocity can follow (consistent.c) */
    int redundant;            /* in how many directions of its equalities that is, */
    int loop, loops;          /* of rows loop_row[loop] .. */
    size_t Z;                 /* these directions: loops x redundant, orthonormal columns */
    bool relaxed;             /* has, or lately had, no solution with its overlaps pushed out: solved without that */
    double push;              /* m/s: the fastest of its pushes (tg_island_push), before it was relaxed */
    bool twofold;             /* another solution was met, elsewhere */
    double unrelaxed;         /* m/s: residual of the unrelaxed law where another one was solved (cone_law.h) */
    bool restituted;          /* by Poisson's law: compressed, compressed_sigma and leaves are valid */
    tg_selection restitution; /* how its impulses of restitution were chosen */
    tg_solve_result result;
} tg_rows_island;

/* What a workspace has room for. */
typedef struct tg_capacity
{
    int contacts, constraints, rows, parts, bonds;
    int blocks;      /* of one law each: constraints, but every row of an equality by itself */
    int condim;      /* the largest of a contact */
    int loop_rows;   /* of equalities */
    int columns;     /* of all J_t^T: a row has one in each tree it touches */
    int island_rows; /* of the largest problem that is solved with dense matrices */
    size_t jacobian; /* numbers in all J_t^T */
    size_t support;  /* words of all supports */
    size_t delassus; /* numbers in all G */
    size_t scratch;  /* bytes for one solve */
    size_t large;    /* bytes for an island with more rows than that */
} tg_capacity;

enum
{
    TG_DENSE_DOFS = 384,    /* the most dofs of one */
    TG_DENSE_ROWS = 384,    /* the most rows of a dense problem */
    TG_DENSE_COUPLED = 240, /* the same where several trees are coupled, whose matrices are sparse */
    TG_DENSE_ROOM = 96, /* numbers of G a row of a large workspace: most islands are smaller, and most rows not there */
    TG_SPARSE_ROWS = 192 /* up to so many rows no single tree is larger than dense matrices are good for */
};

tg_capacity tg_capacity_of(const tg_model *m, int contacts);

/* words of the supports of so many columns */
size_t tg_support_room(const tg_model *m, int columns);

/* bytes of scratch that tg_fill_delassus takes (delassus.c) */
size_t tg_delassus_scratch(const tg_model *m, const tg_capacity *c);

/* the number of contacts a workspace has room for when its maker does not say */
int tg_default_contacts(const tg_model *m);

/* How many slots of a table n things are found in: a power of two, at least twice as many. */
static inline int tg_slot_count(int n)
{
    int count = 2;
    while (count < 2 * n)
        count *= 2;
    return count;
}

/* X(type, name, count, documentation); c: the tg_capacity */
#define TG_ROWS_FIELDS(X)                                                                                              \
    X(tg_touch, touch, c->contacts, "contact points")                                                                  \
    X(tg_given, given, c->contacts, "contacts from outside")                                                           \
    X(tg_bond, bond, c->bonds, "of equalities between bodies")                                                         \
    X(tg_constraint, constraint, c->constraints, "in the order they were found")                                       \
    X(tg_part, part, c->parts, "trees of the constraints")                                                             \
    X(int, order, c->constraints, "constraints in the order of the islands")                                           \
    X(tg_block, block, c->constraints, "their laws, rows counted from the island's first")                             \
    X(tg_block_mode, mode, c->constraints, "what each does in the solution")                                           \
    X(tg_rows_island, island, m->ntree + 1, "")                                                                        \
    X(int, tree_island, m->ntree, "-1: no constraint touches the tree")                                                \
    X(int, tree_root, m->ntree, "scratch of the search for islands")                                                   \
    X(int, tree_columns, m->ntree, "")                                                                                 \
    X(bool, tree_touched, m->ntree, "has entries in J: a tree of a group may have columns and none")                   \
    X(size_t, tree_start, m->ntree + 1, "where J_t^T and Y_t start; leading dimension v4_pad(columns)")                \
    X(size_t, tree_support, m->ntree, "where its supports start")                                                      \
    X(uint64_t, support, c->support,                                                                                   \
      "of every four columns of J_t^T, the dofs that they involve, with their ancestors")                              \
    X(int, tree_column, m->ntree + 1, "where the tree's columns start in column_row")                                  \
    X(int, column_row, c->columns, "row of each column")                                                               \
    X(double, J, c->jacobian, "J_t^T, tree by tree")                                                                   \
    X(double, Y, c->jacobian, "D^-1/2 L^-T J_t^T; islands of several trees without dense matrices: M^-1 J_t^T")        \
    X(tg_tree_rows, tree_rows, m->ntree, "of the trees that constraints touch, island by island")                      \
    X(double, diagonal, c->rows, "G_ii")                                                                               \
    X(int, loop_row, c->loop_rows, "rows of equalities with redundant ones, counted from their island's first")        \
    X(int, loop_column, c->loop_rows, "first column of Z of the rows that no dof moves without these")                 \
    X(double, Z, (size_t)c->loop_rows *(size_t)c->loop_rows, "what no velocity follows of them")                       \
    X(double, unit, c->rows, "what a velocity counts by where the problem is solved (units.h)")                        \
    X(double, give, c->rows, "compliance of contacts (m/s per N s)")                                                   \
    X(double, G, c->delassus, "island by island")                                                                      \
    X(double, phi, c->rows, "position error of limits and equalities, gap of contacts (m, rad)")                       \
    X(double, speed, c->rows, "J v")                                                                                   \
    X(double, free, c->rows, "J v_free")                                                                               \
    X(double, bias, c->rows, "b")                                                                                      \
    X(double, unmet, c->rows, "equalities with redundant rows: of b, what no velocity can follow (consistent.c)")      \
    X(double, g, c->rows, "J v_free + b")                                                                              \
    X(double, warm, c->rows, "impulses to start from")                                                                 \
    X(double, warm_z, c->rows, "the same before the bounds of their laws")                                             \
    X(double, z, c->rows, "what the next step starts from as that, where a solve gives it")                            \
    X(double, L, c->rows, "impulses")                                                                                  \
    X(double, sigma, c->rows, "relative velocities with bias at the end")                                              \
    X(double, compressed, c->rows, "impulses of compression, where Poisson's law acts")                                \
    X(double, compressed_sigma, c->rows, "velocities after them")                                                      \
    X(double, placing_L, c->rows, "impulses of the motion of a step with impacts within it (within.h)")                \
    X(double, placing_sigma, c->rows, "their velocities")                                                              \
    X(double, placing_g, c->rows, "J v_free + b of that problem")                                                      \
    X(tg_block_mode, placing_mode, c->constraints, "what each block does in it")                                       \
    X(bool, leaves, c->constraints, "blocks that leave with their least impulse of restitution")                       \
    X(double, free_twist, SPATIAL_SIZE * m->nnode, "twists of the nodes: without constraints, then of v+")             \
    X(double, root_d, m->nv, "D^-1/2")                                                                                 \
    X(double, gathered, v4_pad(c->rows), "impulses of one tree's columns")                                             \
    X(int, slot, tg_slot_count(c->constraints), "entries of the cache by their ids")                                   \
    X(unsigned char, scratch_memory, c->scratch, "of one solve")                                                       \
    X(unsigned char, large_memory, c->large, "of one solve without a dense matrix")                                    \
    X(double, trial, c->large > 0 ? c->rows : 0, "impulses on trial")                                                  \
    X(double, trial_sigma, c->large > 0 ? c->rows : 0, "their velocities")

/* Problems of a step with impacts within it. Other steps have the first alone. */
typedef enum tg_problem_kind
{
    TG_PROBLEM_VELOCITIES, /* v+ */
    TG_PROBLEM_PLACING,    /* the velocities that displace the bodies */
    TG_PROBLEM_FREE        /* v_free, without impulses and laws: of it J v_free of what meets is wanted */
} tg_problem_kind;

typedef struct tg_rows
{
#define X(type, name, count, doc) type *name;
    TG_ROWS_FIELDS(X)
#undef X
    tg_capacity capacity;
    tg_arena scratch;
    int ntouch, nbond, nconstraint, npart, nrow, nisland;
    bool null_known;         /* Z is of the rows in J (consistent.c) */
    bool gives;              /* some contact has compliance: give is not all zero */
    bool explicit_law;       /* contacts push by a law of their own: compliance is not in G */
    double eps;              /* option of the convex law: on the diagonal in the rows of contacts */
    bool spins;              /* the law has sides: it matters how a contact's frame spins about its normal */
    int ngiven;              /* contacts from outside; the touches are these then */
    bool left_out;           /* pairs that do not close at v or v_free have no rows (touch.c) */
    int nblock;              /* constraints that are in an island: those of things that can move */
    int needed;              /* contacts that were met, also when there is no room for them */
    double dt;               /* of the compliances in G */
    double slack;            /* m: of the queries of a step's pairs (collision/narrow.h) */
    tg_problem_kind problem; /* whose derivatives are being taken */
    const tg_model *grouped; /* NULL, or the model: trees of a group are in every constraint that one of them is in */
    int large_factors;       /* island whose derivative is in large_memory, -1: none (implicit_large.c) */
} tg_rows;

/* Lays the arrays out in the workspace's block (or counts them); fills what does not change. */
void tg_rows_place(tg_rows *r, const tg_model *m, const tg_capacity *capacity, tg_arena *arena);
void tg_rows_init(tg_rows *r, const tg_capacity *capacity);

/* ---- what the step asks for ---- */

/* Laws by which contacts push each for itself. */
typedef enum tg_explicit_law
{
    TG_EXPLICIT_NONE,
    TG_EXPLICIT_COMPLIANT,
    TG_EXPLICIT_IMPULSE
} tg_explicit_law;

/* The laws' numbers that are the same for the whole step. */
typedef struct tg_contact_settings
{
    double dt;
    double push_speed;   /* m/s: how fast an overlap may be pushed out */
    double push_rate;    /* rad/s: the same for what turns */
    double push_gain;    /* which share of an overlap is pushed out in one step, 1 by default */
    double rest_speed;   /* m/s: slower impacts do not bounce */
    double reach;        /* m: what is nearer is in the problem at any speed */
    bool poisson;        /* impacts are stopped first, then restituted (poisson.c) */
    bool within;         /* impacts happen within the step (within.c) */
    double rest_within;  /* m/s: the least speed that counts as an impact there */
    double smooth;       /* m/s: by which derivatives smooth the laws; 0: they do not */
    double smooth_reach; /* m: gaps up to which contacts count in smoothed derivatives; 0: those that could close in the
                            step */
    tg_explicit_law explicit_law;   /* of contacts, in place of the laws above (explicit.h) */
    double friction_share;          /* eta of explicit laws */
    bool detach;                    /* derivatives hold the velocities of dampers (explicit laws) */
    const tg_given_contacts *given; /* in place of collision, during the step; NULL: none */
    bool closing;                   /* only pairs that close at v or v_free; tg_misses_touches asks for the rest */
    double open;                    /* m/s: what opens faster may do without rows; INFINITY: nothing does */
} tg_contact_settings;

/* Begins the list of constraints of this step: equalities, dry friction, and the limits that are near enough to matter.
 * After the velocity stage and tg_tendons; v_free: the velocities without constraints. (list.c) */
void tg_list_joints(const tg_model *m, tg_work *w, const double *q, const double *v, const double *v_free,
                    const tg_contact_settings *settings);

/* Lists the equalities alone. After the position stage and tg_tendons. (list.c) */
void tg_list_equalities(const tg_model *m, tg_work *w);

/* Adds a constraint with the trees that it touches. There is always room: see tg_capacity_of. */
/* what nothing else in a cache has */
uint64_t tg_constraint_id(tg_source source, int side, int index);

tg_constraint *tg_add_constraint(tg_rows *r, tg_source source, int index, int side, int rows);
void tg_add_part(tg_rows *r, tg_constraint *constraint, int tree);
void tg_add_tendon_parts(const tg_model *m, tg_work *w, tg_constraint *constraint, int tendon);

/* How far a joint or tendon is from a limit (m or rad, less its margin; infinite where there is none), and the row's
 * entries at the joint's dofs. */
double tg_joint_limit(const tg_model *m, const tg_work *w, int joint, int side, const double *q, vec3 J);
double tg_tendon_limit(const tg_work *w, int tendon, int side);

/* turn = Log q of a ball joint; returns its angle. */
double tg_ball_turn(const tg_model *m, int joint, const double *q, vec3 turn);

/* The touches that were given, in place of those of near pairs; checks of what was given. (given.c) */
tg_status tg_check_given(const tg_model *m, tg_work *w, const tg_given_contacts *given);
void tg_list_given(const tg_model *m, tg_work *w, const tg_given_contacts *given);

/* The numbers of the contacts that the touches of a restored step were given. (given.c) */
void tg_return_given(tg_rows *r, const tg_given_contacts *given);

/* Gradients of given contacts to zero; copied out; changes copied in (NULL: zero). (given.c) */
void tg_given_clear(tg_rows *r);
void tg_given_gradients(const tg_rows *r, double *out);
void tg_given_changes(tg_rows *r, const double *change);

/* A number of a law. */
static inline double tg_law_number(const tg_params *p, const tg_law *law, int index)
{
    return law->given != NULL ? law->given->number[TG_GIVEN_LAW + index] : p->value[index];
}

/* Where its gradient goes, NULL: nowhere; params: of the parameters, may be NULL. */
static inline double *tg_law_gradient_of(double *params, const tg_law *law, int index)
{
    if (index < 0)
        return NULL;
    if (law->given != NULL)
        return &law->given->gradient[TG_GIVEN_LAW + index];
    return params != NULL ? &params[index] : NULL;
}

/* How a contact's frame spins about its normal n when n changes: by spin . dn, as n alone decides the tangents. With
 * those of touch.c spin = (n x z) / (sign n_z + n_z). Zero where the law is round: it does not matter there. (touch.c)
 */
v4 tg_touch_spin(const tg_rows *r, v4 n);

/* Makes a touch of a contact point, and the constraint of one. (touch.c) */
void tg_set_touch(tg_touch *t, const tg_contact_point *at, tg_geom_pair pair, const int body[2], const tg_law *law,
                  double margin);
void tg_add_touch_constraint(const tg_model *m, tg_work *w, int touch, uint64_t id);

/* Contact points of all near pairs, those aside that do not close (after tg_space_update); then the constraints of the
 * others. (touch.c) */
tg_status tg_list_touches(const tg_model *m, tg_work *w, const double *v_free, const tg_contact_settings *settings);
void tg_add_touches(const tg_model *m, tg_work *w);

/* Touches of one pair follow each other, but for those beside a cover: the end of those from i on, of so many. */
int tg_end_of_pair(const tg_rows *r, int i, int touches);

/* for warm starts */
uint64_t tg_touch_id(const tg_model *m, const tg_touch *t);

/* After it, where pairs were left out or are aside: one of them would overlap at the end of a step with velocities v
 * (nv). Finds the openings of what is aside. (touch.c) */
bool tg_misses_touches(const tg_model *m, tg_work *w, const double *v, const tg_contact_settings *settings);

/* Cuts the constraints into islands and numbers rows and columns. (islands.c) */
void tg_make_islands(const tg_model *m, tg_work *w);

/* the root of the set of trees that a tree was joined to, in tree_root */
static inline int tg_tree_root(const tg_rows *r, int tree)
{
    while (r->tree_root[tree] != tree)
        tree = r->tree_root[tree] = r->tree_root[r->tree_root[tree]];
    return tree;
}

/* joins two of them: the smaller root is that of both */
static inline int tg_join_trees(const tg_rows *r, int a, int b)
{
    a = tg_tree_root(r, a);
    b = tg_tree_root(r, b);
    r->tree_root[a > b ? a : b] = a < b ? a : b;
    return a < b ? a : b;
}

/* Whether several trees are solved in velocity space; work: multiplications of J^T N J. (islands.c) */
bool tg_is_loose(int rows, int dofs, double work);

/* whether an island is solved with dense matrices, or can be */
static inline bool tg_island_is_dense(const tg_rows *r, const tg_rows_island *island)
{
    (void)r;
    return island->dense;
}

/* What a block of an island does, in the problem whose derivatives are being taken. */
static inline const tg_block_mode *tg_mode_of(const tg_rows *r, const tg_rows_island *island, int block)
{
    return (r->problem == TG_PROBLEM_PLACING && island->within ? r->placing_mode : r->mode) + block;
}

/* Whether the free velocity of a constraint has a part in the laws: of contacts that meet within the step. */
static inline bool tg_meets(const tg_rows *r, const tg_rows_island *island, const tg_constraint *c)
{
    return c->source == TG_SOURCE_CONTACT && island->within && r->touch[c->index].impact;
}

/* whether Y of the island's trees is all of M^-1 J^T */
static inline bool tg_rows_are_whole(const tg_rows_island *island)
{
    return island->sparse && !island->half && island->tree < 0;
}

/* An equality between two joints or tendons: x1 - x1_0 = polynomial of x = x2 - x2_0. */
typedef struct tg_coupling
{
    double error, x, slope, bend; /* slope, bend: p'(x), p''(x) */
} tg_coupling;

tg_coupling tg_coupling_of(const tg_model *m, const tg_work *w, int equality, const double *q);

/* The dofs of a tree that four columns of J_t^T involve, one bit each, with all their ancestors: what is not zero in
 * Y_t. (Not where tendons couple trees: Y of a group.) */
static inline const uint64_t *tg_tree_support(const tg_rows *r, int tree)
{
    return r->support + r->tree_support[tree];
}

/* J_t^T of all trees and phi of all rows. (fill.c) */
void tg_fill_jacobian(const tg_model *m, tg_work *w, const double *q);

/* Y_t (all of M^-1 J_t^T of islands that are too large for dense matrices), then G of islands with equalities and, with
 * `matrices`, of every island that is not sparse. After the mass matrix was factored. (delassus.c) */
void tg_fill_delassus(const tg_model *m, tg_work *w, double dt, bool matrices);

/* What derivatives ask of these beside Y and G, when both came from a record: compliances, and which part of Y is
 * whose. */
void tg_return_delassus(const tg_model *m, tg_work *w);

/* Y of an island's trees as D^-1/2 L^-T J_t^T, or as all of M^-1 J_t^T (of sparse islands of several trees). */
void tg_need_half(const tg_model *m, tg_work *w, tg_rows_island *island);
void tg_need_whole(const tg_model *m, tg_work *w, tg_rows_island *island);

/* G of an island that is small enough for dense matrices, if it is not there yet; Y of its trees is then D^-1/2 L^-T
 * J_t^T. */
void tg_need_delassus(const tg_model *m, tg_work *w, tg_rows_island *island);

/* The same for all islands; whether one was not there. */
bool tg_need_matrices(const tg_model *m, tg_work *w);

/* out (rows) = J x, x (nv); and x = M^-1 J^T L, both for all rows. */
void tg_rows_velocity(const tg_model *m, const tg_work *w, const double *x, double *out);
void tg_rows_velocities(const tg_model *m, const tg_work *w, const double *const x[2], double *const out[2]); /* two */
void tg_rows_response(const tg_model *m, const tg_work *w, const double *L, double *x);

/* M^-1 (x + J^T L) in two halves, where every island has its matrix (tg_need_matrices): x <- D^-1/2 L^-T x and out = J
 * M^-1 x of the x that was there; then the rest. */
void tg_rows_half(const tg_model *m, const tg_work *w, double *x, double *out);
void tg_rows_other_half(const tg_model *m, const tg_work *w, const double *L, double *x);

/* The problem of one island, as its solver sees it. (islands.c) */
tg_island tg_island_problem(const tg_rows *r, const tg_rows_island *island);

/* Bias, gates, friction: block, bias, g. After tg_fill_jacobian. (law.c) */
void tg_apply_laws(const tg_model *m, tg_work *w, const double *v, const double *v_free,
                   const tg_contact_settings *settings);

/* placing_g of an island with impacts within the step: its second problem is that of the velocities which displace the
 * bodies. After tg_apply_laws. (law.c) */
void tg_placing_laws(tg_work *w, const tg_contact_settings *settings, const tg_rows_island *island);

/* Overlaps that cannot all be pushed out (a body wedged between two others, a limit that forbids the way out) make a
 * problem without solution: J_N v+ >= -b_N contradict each other. Without the push, v+ = 0 is feasible. relax: does
 * without it; false when there is none. can_relax: whether that would make a difference, and takes no bounce away.
 * (law.c) */
bool tg_island_relax(tg_rows *r, tg_rows_island *island);
bool tg_island_can_relax(const tg_rows *r, const tg_rows_island *island);

/* m/s: the push of a constraint, and the fastest one that an island can do without for one step */
double tg_constraint_push(const tg_rows *r, const tg_constraint *c);
double tg_island_push(const tg_rows *r, const tg_rows_island *island);

/* whether doing without such a push would make a difference */
bool tg_is_strong_push(double push);

/* Poisson's law in an island with an impact: adds the impulses of restitution to those of compression in L, and makes
 * sigma and the island's result those of the sum. (poisson.c) */
tg_status tg_poisson_restitution(tg_work *w, tg_rows_island *island, const tg_cone_law *law, const char *solver,
                                 double tolerance);
size_t tg_poisson_scratch(int rows); /* bytes, beside those of a solve */

/* The problem of restitution of an island, at its solution, in memory of the arena. (poisson.c) */
typedef struct tg_restitution_problem
{
    tg_island problem;
    double *L, *sigma; /* rows: impulses (of dry friction: of both phases) and velocities of that problem */
    double margin;     /* how far contacts are from leaving, or from staying (m/s) */
} tg_restitution_problem;

tg_status tg_poisson_problem(tg_work *w, const tg_rows_island *island, const tg_cone_law *law, tg_arena *arena,
                             tg_restitution_problem *out);

/* Modes of an island's blocks by its impulses and velocities alone. (plain_modes.c) */
void tg_plain_modes(const tg_model *m, const tg_rows *r, const tg_rows_island *island, tg_block_mode *mode);

/* Takes out of the equalities' bias what no velocity can follow. After tg_apply_laws and tg_fill_delassus.
 * (consistent.c) */
void tg_make_consistent(const tg_model *m, tg_rows *r);

/* The same of G, where that is made later. (consistent.c) */
void tg_project_delassus(const tg_model *m, tg_rows *r, const tg_rows_island *island);

/* How P = 1 - Z Z^T turns with J. Z is what N = J_p J^T takes to zero, p the rows that were chosen as independent:
 *     dZ = -N^+ (dJ_p J^T + J_p dJ^T) Z.
 * answer (loops x loops) = P N^+ by the island's rows of equalities (loop_row), zero in columns that are not in p; Z
 * and loop_row are there afterwards. Returns whether rows are redundant only nearly: otherwise J^T Z = 0. For islands
 * in which rows are redundant and J is there. step/loops.c has what follows. (consistent.c) */
bool tg_consistent_turn(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *answer);

/* x (nv) = J^T f. Needs J. (consistent.c) */
void tg_consistent_motion(const tg_model *m, const tg_rows *r, const double *f, double *x);

/* x <- P x on the rows of an island's equalities, x over the rows of the island. Needs J. (consistent.c) */
void tg_consistent_part(const tg_model *m, tg_rows *r, const tg_rows_island *island, double *x);

/* Takes out of an island's impulses what acts along these directions, where no rule has selected them. (consistent.c)
 */
void tg_select_consistent(const tg_model *m, tg_rows *r, const tg_rows_island *island);

/* The query of a near pair, with the velocities at the start of the step. (touch.c) */
void tg_touch_query(const tg_model *m, const tg_work *w, tg_geom_pair pair, double dt, double reach, tg_query *query);

/* The law of two geoms; declared: their declared pair, -1: none. (touch.c) */
tg_law tg_law_of(const tg_model *m, const tg_params *p, tg_geom_pair pair, int declared);

/* Compliance of a contact (m/N), 0 for rigid ones. */
double tg_law_compliance(const tg_params *p, const tg_law *law);

/* Its damping (N s / m). */
double tg_law_damping(const tg_params *p, const tg_law *law);

/* How many numbers of its size a geom's surface depends on. (rows_vjp.c) */
int tg_size_count(int type);

/* Where the sizes of a geom are in the parameter vector: those of its terrain, if it is one. */
int tg_size_index(const tg_model *m, int geom);

/* ---- how the laws follow gaps and velocities, for derivatives (law_slopes.c) ---- */

/* b_N of a contact by its gap, by J_N v, by J_N v_free, by its restitution, and by dt. */
typedef struct tg_bias_slope
{
    double gap, start, free, restitution, dt;
} tg_bias_slope;

tg_bias_slope tg_contact_bias_slope(const tg_params *p, const tg_contact_settings *s, const tg_rows_island *island,
                                    const tg_touch *t, tg_problem_kind problem);

/* How fast row i of a constraint may be pushed: m/s, or rad/s of what turns (rows from 3 on of a weld are angles). */
static inline double tg_push_of(const tg_contact_settings *s, const tg_constraint *c, int i)
{
    return c->turns || i >= DIM ? s->push_rate : s->push_speed;
}

/* b of a limit by its gap; push: tg_push_of its row. */
double tg_limit_bias_slope(const tg_contact_settings *s, const tg_rows_island *island, double push, double phi);

/* How far the bias of what acts is from a kink of its law (m/s). */
double tg_bias_margin(const tg_work *w, const tg_contact_settings *s);

/* b of n <= 3 rows of an equality by their errors, n x n. */
void tg_equality_bias_slope(const tg_contact_settings *s, const tg_rows_island *island, double push, int n,
                            const double *phi, double *slope);

#endif
