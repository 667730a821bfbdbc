/* min 1/2 x'H x + g'x with lower <= x <= upper, by projected Newton steps (Tassa, Mansard and Todorov, 2014). */
#ifndef TG_CONTROL_BOX_QP_H
#define TG_CONTROL_BOX_QP_H

#include <stdbool.h>

typedef struct tg_box_qp
{
    int n;
    const double *H, *g, *lower, *upper; /* [n, n], [n]; lower <= 0 <= upper may be infinite */
    double *x;                           /* [n]: in: where to start, clipped to the bounds; out: the minimum */
    int *free;                           /* [n]: places of the numbers that are not held by a bound */
    int nfree;
    double *factor;     /* [n, n]: of H of those, nfree x nfree, lower triangle */
    double *work, *way; /* [n] each */
    double *next;       /* [2 n] */
} tg_box_qp;

/* False: H of the free numbers is not positive definite. */
bool tg_box_qp_solve(tg_box_qp *p);

#endif
