/* Models in other units: parameters, states and options scaled by powers of two in length, mass and time. */
#ifndef TG_TEST_UNITS_H
#define TG_TEST_UNITS_H

#include "tangere/tangere.h"

typedef struct units
{
    double length, mass, time;
} units;

enum
{
    UNIT_SCALINGS = 6
};

/* 2^10 and 2^-10 in one of them. */
typedef struct unit_scaling
{
    const char *name;
    units by;
} unit_scaling;

extern const unit_scaling unit_scalings[UNIT_SCALINGS];

/* Robots that are run in other units. */
extern const char *const unit_models[];
extern const int unit_model_count;

/* A trajectory from the first keyframe, or the reference, in motion, with random controls. */
typedef struct unit_run
{
    const tg_model *m;
    tg_work *w;
    tg_params *params;
    tg_options options;
    tg_sizes n;
    double *q, *v, *act, *u, *q_unit, *v_unit;
    tg_cache cache;
} unit_run;

/* options are the default ones with the law's speeds and lengths in these units */
unit_run unit_run_open(const tg_model *m, const units *s);
void unit_run_close(unit_run *r);
void unit_run_step(unit_run *r, int step);

/* The scaled run gets the state of the other. */
void unit_run_follow(const unit_run *plain, unit_run *scaled);

/* Whether the last steps had other contact points, or elsewhere. */
bool unit_run_contacts_differ(unit_run *plain, unit_run *scaled, double length);

/* A file's model; fails the test where there is none. */
tg_model *unit_load(const char *path);

#endif
