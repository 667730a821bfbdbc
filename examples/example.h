/* What the examples in C share: ends the program when a call fails, and memory that needs no check. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "tangere/tangere.h"

static inline void check(tg_status status, const char *message)
{
    if (status == TG_OK)
        return;
    fprintf(stderr, "%s: %s\n", tg_status_string(status), message);
    exit(1);
}

/* n zeros */
static inline double *array(int n)
{
    double *memory = calloc((size_t)n + 1, sizeof *memory);
    if (memory == NULL)
        exit(1);
    return memory;
}

static inline tg_model *load(const char *path)
{
    tg_error error;
    tg_model *m = NULL;
    check(tg_load(path, NULL, &m, &error), error.message);
    return m;
}

static inline tg_work *workspace(const tg_model *m)
{
    tg_error error;
    tg_work *w = NULL;
    check(tg_work_create(m, &w, &error), error.message);
    return w;
}

/* Where a parameter is in the vector. */
static inline int position_of(const tg_model *m, const char *name)
{
    tg_error error;
    int offset = 0;
    check(tg_param_find(m, name, &offset, NULL, &error), error.message);
    return offset;
}

/* Parameters of the cube's model with this friction of the floor. Of two coefficients the larger one counts, so the
 * cube's own is made small. */
static inline tg_params *floor_with(const tg_model *m, double friction)
{
    tg_error error;
    tg_params *params = NULL;
    check(tg_params_create(m, &params, &error), error.message);
    tg_params_data(params)[position_of(m, "geom.cube.friction")] = 0.1;
    tg_params_data(params)[position_of(m, "geom.floor.friction")] = friction;
    check(tg_params_changed(params, &error), error.message);
    return params;
}

#endif
