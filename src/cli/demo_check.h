/* Derivatives of the dynamics against central differences on the manifold. */
#ifndef TG_CLI_DEMO_CHECK_H
#define TG_CLI_DEMO_CHECK_H

#include "tangere/tangere.h"

/* One state with everything that the dynamics takes. */
typedef struct tg_cli_state
{
    double *q, *v, *a, *tau, *y; /* nq, then nv each */
} tg_cli_state;

/* A state made from a seed; all arrays are one allocation that starts at q. */
tg_cli_state tg_cli_random(const tg_model *m, unsigned seed);

typedef struct tg_cli_check
{
    double error;      /* of the worst block: max |J - F| / max(1, max |F|) for the best step of the differences */
    const char *block; /* its name */
    double adjoint;    /* worst |y^T J - vjp| / max(1, max |y^T J|) of inverse dynamics */
} tg_cli_check;

/* Adds one state to the worst so far. */
tg_status tg_cli_check_state(const tg_model *m, tg_work *w, const tg_cli_state *state, tg_cli_check *worst);

#endif
