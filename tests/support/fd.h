/* Finite differences: the judge of every derivative.
 *
 * A problem evaluates nout numbers with one of its nin inputs displaced by h (input -1: nothing displaced). The
 * reference is Richardson's combination of central differences, (4 D(h/2) - D(h)) / 3; the error of a block is max |J -
 * F| / max(1, max |F|), for the best h of a sweep. */
#ifndef TG_TEST_FD_H
#define TG_TEST_FD_H

typedef struct fd_problem
{
    int nin, nout;
    void (*evaluate)(void *context, int input, double h, double *out);
    void *context;
} fd_problem;

typedef struct fd_result
{
    double error;    /* relative, best of the sweep */
    double largest;  /* max |F|: a derivative that is zero proves nothing */
    int row, column; /* worst entry */
} fd_result;

/* J: nout x nin, row-major */
fd_result fd_compare(const fd_problem *problem, const double *J);

/* F alone: nout x nin at one h */
void fd_matrix(const fd_problem *problem, double h, double *F);

#endif
