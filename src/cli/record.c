/* A trajectory: recorded in memory, written as .csv or .npz. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/sim.h"

enum
{
    FIELD_TIME,
    FIELD_Q,
    FIELD_V,
    FIELD_ACT,
    FIELD_U
};

tg_cli_record tg_cli_record_begin(const tg_model *m)
{
    tg_sizes n = tg_model_sizes(m);
    tg_cli_record record = {.field = {[FIELD_TIME] = {"time", false, 1},
                                      [FIELD_Q] = {"q", true, n.nq},
                                      [FIELD_V] = {"v", true, n.nv},
                                      [FIELD_ACT] = {"act", true, n.na},
                                      [FIELD_U] = {"u", true, n.nu},
                                      {"kinetic", false, 1},
                                      {"potential", false, 1},
                                      {"contacts", false, 1},
                                      {"iterations", false, 1},
                                      {"residual", false, 1},
                                      {"penetration", false, 1},
                                      {"work", false, 1},
                                      {"solved", false, 1}}};
    for (int k = 0; k < TG_CLI_RECORD_FIELDS; k++)
        record.width += record.field[k].width;
    return record;
}

static double *next_row(tg_cli_record *r)
{
    if (r->rows == r->capacity)
    {
        r->capacity = r->capacity > 0 ? 2 * r->capacity : 1024;
        double *grown = tg_cli_alloc(r->capacity * (size_t)r->width, sizeof *grown);
        if (r->rows > 0)
            memcpy(grown, r->value, r->rows * (size_t)r->width * sizeof *grown);
        free(r->value);
        r->value = grown;
    }
    return r->value + (size_t)r->width * r->rows++;
}

static double *put(double *to, const double *x, int n)
{
    if (n > 0 && x != NULL)
        memcpy(to, x, (size_t)n * sizeof *x);
    return to + n;
}

void tg_cli_record_add(tg_cli_record *r, double time, const tg_state *state, const double *u, const tg_info *info)
{
    const double told[] = {info->kinetic,  info->potential,   info->contacts, info->iterations,
                           info->residual, info->penetration, info->work,     info->status == TG_STEP_SOLVED};
    double *to = next_row(r);
    to = put(to, &time, 1);
    to = put(to, state->q, r->field[FIELD_Q].width);
    to = put(to, state->v, r->field[FIELD_V].width);
    to = put(to, state->act, r->field[FIELD_ACT].width);
    to = put(to, u, r->field[FIELD_U].width);
    put(to, told, sizeof told / sizeof told[0]);
}

void tg_cli_record_end(tg_cli_record *record)
{
    free(record->value);
    *record = (tg_cli_record){0};
}

/* ---- files ---- */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n > k && strcmp(text + n - k, end) == 0;
}

int tg_cli_check_record_path(const char *path)
{
    if (ends_with(path, ".csv") || ends_with(path, ".npz"))
        return TG_CLI_OK;
    return tg_cli_fail(TG_CLI_USAGE, NULL, "--out needs a file that ends in .csv or .npz, got '%s'", path);
}

/* time,q[0],q[1],...: a scalar has no index; arrays without numbers are left out */
static void write_names(FILE *file, const tg_cli_record *r)
{
    for (int k = 0; k < TG_CLI_RECORD_FIELDS; k++)
    {
        const tg_cli_record_field *c = &r->field[k];
        if (!c->vector)
            fprintf(file, "%s%s", k > 0 ? "," : "", c->name);
        for (int i = 0; c->vector && i < c->width; i++)
            fprintf(file, ",%s[%d]", c->name, i);
    }
    fputc('\n', file);
}

static bool write_csv(FILE *file, const tg_cli_record *r)
{
    write_names(file, r);
    for (size_t i = 0; i < r->rows; i++)
    {
        const double *row = r->value + i * (size_t)r->width;
        for (int k = 0; k < r->width; k++)
            fprintf(file, "%s%s", k > 0 ? "," : "", tg_cli_number_of(row[k]).text);
        fputc('\n', file);
    }
    return !ferror(file);
}

static bool write_npz(FILE *file, const tg_cli_record *r)
{
    tg_cli_array array[TG_CLI_RECORD_FIELDS];
    int offset = 0, count = 0;
    for (int k = 0; k < TG_CLI_RECORD_FIELDS; k++)
    {
        const tg_cli_record_field *c = &r->field[k];
        if (c->width > 0)
            array[count++] = (tg_cli_array){.name = c->name,
                                            .value = r->value + offset,
                                            .rows = r->rows,
                                            .stride = (size_t)r->width,
                                            .columns = c->vector ? c->width : 0};
        offset += c->width;
    }
    return tg_cli_write_npz(file, array, count);
}

int tg_cli_write_record(const char *path, const tg_cli_record *record)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "cannot write '%s': %s", path, strerror(errno));
    bool good = ends_with(path, ".csv") ? write_csv(file, record) : write_npz(file, record);
    good = fclose(file) == 0 && good;
    return good ? TG_CLI_OK
                : tg_cli_fail(TG_CLI_FAILED, "is the disk full, or the record over 4 GB (.npz)?", "cannot write '%s'",
                              path);
}
