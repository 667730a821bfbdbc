/* Parts of `tangere sim`: controls from a file, the record of a trajectory, and its files. */
#ifndef TG_CLI_SIM_H
#define TG_CLI_SIM_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "tangere/tangere.h"

/* ---- controls (controls.c) ---- */

/* Rows of nu numbers, one per step, the last one held; or with the time (s) in front, each held from its time on. */
typedef struct tg_cli_controls
{
    int rows, columns;
    bool timed;
    double *value; /* rows x columns */
} tg_cli_controls;

/* Reads a file of numbers separated by commas, semicolons or blanks; lines that start with # and a first line of names
 * are passed over. A message if it is not one. Freed with free(controls->value). */
int tg_cli_read_controls(const char *path, int nu, tg_cli_controls *controls);

/* The controls of a step that starts at that time; NULL before the first time: zero. */
const double *tg_cli_controls_at(const tg_cli_controls *controls, int step, double time);

/* ---- the record (record.c) ---- */

/* An array of the record: a number a row, or a vector of so many. */
typedef struct tg_cli_record_field
{
    const char *name;
    bool vector;
    int width;
} tg_cli_record_field;

enum
{
    TG_CLI_RECORD_FIELDS = 13
};

/* States and what their steps told, a row each; the first row is the start. */
typedef struct tg_cli_record
{
    tg_cli_record_field field[TG_CLI_RECORD_FIELDS];
    int width; /* numbers per row */
    size_t rows, capacity;
    double *value;
} tg_cli_record;

tg_cli_record tg_cli_record_begin(const tg_model *m);
void tg_cli_record_add(tg_cli_record *record, double time, const tg_state *state, const double *u, const tg_info *info);
void tg_cli_record_end(tg_cli_record *record);

/* Whether a name ends in .csv or .npz; a message if not. */
int tg_cli_check_record_path(const char *path);

/* Writes the file. A message if it cannot. */
int tg_cli_write_record(const char *path, const tg_cli_record *record);

/* ---- where the time goes (profile.c) ---- */

typedef struct tg_cli_geom_pair
{
    int geom1, geom2;
} tg_cli_geom_pair;

/* Of all steps, and of the island that took longest in one of them. Starts zeroed. */
typedef struct tg_cli_profile
{
    int steps;
    double time[TG_STEP_STAGES]; /* s */
    tg_profile worst;            /* of the step with the costliest island */
    double when;                 /* s, simulated */
    int contacts;                /* of that island */
    tg_cli_geom_pair *pair;      /* theirs */
} tg_cli_profile;

/* After a step with the option profile, which w still holds; time: at its end. */
void tg_cli_profile_add(tg_cli_profile *profile, const tg_model *m, tg_work *w, const tg_profile *step, double time);
void tg_cli_profile_end(tg_cli_profile *profile);

void tg_cli_profile_print(const tg_cli_output *out, tg_cli_profile *profile, const tg_model *m);
void tg_cli_profile_write(tg_cli_json *json, tg_cli_profile *profile, const tg_model *m);

/* ---- files of arrays (npz.c) ---- */

/* An array of doubles: rows x columns, at a distance of stride numbers from row to row; columns 0: a vector of rows. */
typedef struct tg_cli_array
{
    const char *name;
    const double *value;
    size_t rows, stride;
    int columns;
} tg_cli_array;

/* NumPy's format: a zip file with one .npy for each array. False if the file could not be written. */
bool tg_cli_write_npz(FILE *file, const tg_cli_array *array, int count);

#endif
