/* Inside of a Cartesian system: its description, one lane of scratch per thread. */
#ifndef TG_CARTESIAN_SYSTEM_H
#define TG_CARTESIAN_SYSTEM_H

#include <stdbool.h>

#include "base/threads.h"
#include "math/dense.h"
#include "solve/ccp.h"
#include "tangere/cartesian.h"

enum
{
    TG_TOUCH_POINTS = 8, /* of a contact: two bodies of 4 points */
    TG_TOUCH_ROWS = 3
};

struct tg_cartesian
{
    tg_allocator allocator;
    bool own_allocator; /* false: the C library's */
    char name[64];
    int dim, points, bodies, types, springs, contacts;
    int constraints, rows; /* of constraints, and their rows */
    int params;
    int contact_rows; /* of all contacts together */
    double gravity[3];
    tg_cartesian_body *body;
    int *first; /* [bodies] first point */
    int *owner; /* [points] body */
    tg_cartesian_constraint *constraint;
    int *row; /* [constraints] */
    tg_cartesian_spring *spring;
    tg_cartesian_contact *contact;
    double *value; /* [params] */
};

/* Where things are in the vector of parameters. */
static inline int tg_at_lambda(const tg_cartesian *c)
{
    return c->bodies;
}
static inline int tg_at_mu(const tg_cartesian *c)
{
    return c->bodies * (1 + c->dim);
}
static inline int tg_at_e(const tg_cartesian *c)
{
    return tg_at_mu(c) + c->types;
}
static inline int tg_at_eps(const tg_cartesian *c)
{
    return tg_at_e(c) + c->types;
}

/* A contact that is active: row r acts on point p with the vector coefficient[r][p]. */
typedef struct tg_touch
{
    int slot, rows, row, points;
    int point[TG_TOUCH_POINTS];
    double coefficient[TG_TOUCH_ROWS][TG_TOUCH_POINTS][3];
    double distance;
    int which;         /* limits: 1 upper, -1 lower; rim: the point of the mesh */
    double axis[3][3]; /* e_n, e_t1, e_t2 */
    double
        weight[TG_TOUCH_POINTS]; /* of the points in the velocity of the contact point, with the sign of their side */
} tg_touch;

/* [M Je^T; Je 0] at one x, factored */
typedef struct tg_saddle
{
    const double *x;     /* [n] */
    const double *theta; /* parameters */
    double *S;           /* Je M^-1 Je^T = L L^T */
} tg_saddle;

/* Scratch of one thread. n = points dim, E = rows of constraints, R = rows of contacts, T = contacts */
#define TG_LANE_ARRAYS(X)                                                                                              \
    X(stage_z, 4 * 2 * n) /* states of the stages */                                                                   \
    X(stage_k, 4 * 2 * n) /* their derivatives */                                                                      \
    X(stage_b, 4 * 2 * n) /* gradients or changes of them */                                                           \
    X(z, 2 * n)                                                                                                        \
    X(zb, 2 * n)                                                                                                       \
    X(bar, 2 * n)                                                                                                      \
    X(next, 2 * n)                                                                                                     \
    X(before, n) /* velocity before the jump */                                                                        \
    X(x1, n)                                                                                                           \
    X(v1, n)                                                                                                           \
    X(xb, n)                                                                                                           \
    X(vb, n)                                                                                                           \
    X(S, E *E)                                                                                                         \
    X(l, E)                                                                                                            \
    X(l2, E)                                                                                                           \
    X(l3, E)                                                                                                           \
    X(l4, E)                                                                                                           \
    X(rhs, E)                                                                                                          \
    X(column, n)                                                                                                       \
    X(force, n)                                                                                                        \
    X(n1, n)                                                                                                           \
    X(n2, n)                                                                                                           \
    X(n3, n)                                                                                                           \
    X(n4, n)                                                                                                           \
    X(n5, n)                                                                                                           \
    X(n6, n)                                                                                                           \
    X(n7, n)                                                                                                           \
    X(n8, n)                                                                                                           \
    X(theta_b, P)                                                                                                      \
    X(G, R *R)                                                                                                         \
    X(g, R)                                                                                                            \
    X(depth, R) /* v* before it is made reachable */                                                                   \
    X(target, R)                                                                                                       \
    X(JJ, R *R) /* J J^T = L L^T */                                                                                    \
    X(E2, E *E) /* Je Je^T = L L^T */                                                                                  \
    X(eta, R)                                                                                                          \
    X(zeta, R)                                                                                                         \
    X(reach, n)   /* w */                                                                                              \
    X(reached, n) /* w' */                                                                                             \
    X(kappa, E)                                                                                                        \
    X(yc, R)                                                                                                           \
    X(yr, R)                                                                                                           \
    X(r1, R)                                                                                                           \
    X(r2, R)                                                                                                           \
    X(r3, R)                                                                                                           \
    X(mu, R)                                                                                                           \
    X(e, R)

typedef struct tg_cartesian_lane
{
    const tg_cartesian *c;
    const tg_cartesian_options *options;
    int n, E, room; /* rows of contacts there is room for */
#define X(name, count) double *name;
    TG_LANE_ARRAYS(X)
#undef X
    tg_touch *touch;
    tg_touch *change; /* coefficients along a direction, or gradients of them */
    tg_ccp_cone *cone;
    double *tableau; /* of the LCP */
    tg_ccp ccp;
    int touches, rows;
    bool projected;  /* target is not depth itself */
    bool ridged;     /* J J^T needed a ridge */
    int regularised; /* derivatives of the current call that contain a ridge */
    double residual;
    tg_saddle saddle;
    int failed; /* sample */
    tg_error error;
} tg_cartesian_lane;

struct tg_cartesian_work
{
    const tg_cartesian *c;
    tg_cartesian_options options;
    tg_threads *pool;
    int threads;
    tg_cartesian_lane *lane;
    void *block; /* scratch of all lanes */
    tg_arena arena;
    tg_error error;
};

#endif
