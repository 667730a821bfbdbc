/* Contact problems in files: what a solver was given, to be solved again by another.
 *
 * A file is a sequence of records, each
 *     "TGP1"               four bytes
 *     int32 rows, blocks, warm (0 or 1)
 *     blocks times:        int32 kind, int32 rows; contact: rows - 1 doubles mu; joint friction: one double bound
 *     doubles              lower triangle of G by rows (rows (rows + 1) / 2), g (rows), the impulses to start from
 *         (rows, if warm)
 * in the byte order of the machine. Files can be joined with cat. */
#ifndef TG_BENCH_PROBLEMS_H
#define TG_BENCH_PROBLEMS_H

#include <stdbool.h>
#include <stdio.h>

#include "solve/problem.h"

/* a problem with its own memory */
typedef struct problem
{
    tg_island island;
    tg_block *block;
    double *numbers; /* G, g, warm */
} problem;

/* false when writing failed */
bool problem_write(FILE *file, const tg_island *island);

/* The next problem of a file: 1; 0 at its end; -1 when it is not such a file, or damaged, or there is no memory. */
int problem_read(FILE *file, problem *p);

void problem_free(problem *p);

#endif
