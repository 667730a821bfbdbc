/* tangere params: the parameters of a model with their values. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

enum
{
    NAME_BYTES = 512
};

/* Numbers of the vector that are shown together: all of a field, or a single one of it. */
typedef struct row
{
    int offset, size;
    char name[NAME_BYTES];
} row;

/* The row that starts with the first of n matched numbers. A field stands for itself if all of its numbers matched. */
static row first_row(const tg_model *m, const int *index, int n)
{
    row r = {.offset = index[0], .size = 1};
    char whole[NAME_BYTES];
    int offset = 0, size = 0;
    tg_param_name(m, index[0], true, whole, sizeof whole, NULL);
    tg_param_name(m, index[0], false, r.name, sizeof r.name, NULL);
    if (tg_param_find(m, whole, &offset, &size, NULL) != TG_OK || offset != index[0] || size > n)
        return r;
    for (int i = 0; i < size; i++)
        if (index[i] != offset + i)
            return r;
    r.size = size;
    memcpy(r.name, whole, sizeof whole);
    return r;
}

static int name_width(const tg_model *m, const int *index, int n)
{
    int width = 0;
    for (int i = 0; i < n;)
    {
        row r = first_row(m, index + i, n - i);
        int length = tg_cli_width(r.name);
        width = length > width ? length : width;
        i += r.size;
    }
    return width;
}

static void print_rows(const tg_cli_output *out, const tg_model *m, const int *index, int n)
{
    const double *value = tg_params_view(tg_model_params(m));
    int width = name_width(m, index, n);
    for (int i = 0; i < n;)
    {
        row r = first_row(m, index + i, n - i);
        tg_cli_column(out, TG_CLI_NAME, r.name, width + 1);
        for (int k = 0; k < r.size; k++)
            fprintf(out->file, " %s", tg_cli_number_of(value[r.offset + k]).text);
        fputc('\n', out->file);
        i += r.size;
    }
}

static void write_rows(FILE *file, const tg_model *m, const int *index, int n)
{
    const double *value = tg_params_view(tg_model_params(m));
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    for (int i = 0; i < n;)
    {
        row r = first_row(m, index + i, n - i);
        tg_cli_json_numbers(&json, r.name, value + r.offset, r.size, true);
        i += r.size;
    }
    tg_cli_json_close(&json, '}');
}

enum
{
    OPTION_JSON
};

static int list(const tg_cli_call *call, const tg_model *m)
{
    const char *pattern = call->argument[1] != NULL ? call->argument[1] : "*";
    tg_error error;
    int n = tg_model_sizes(m).nparams, count = 0;
    int *index = tg_cli_alloc((size_t)n, sizeof *index);
    if (tg_param_match(m, pattern, index, n, &count, &error) != TG_OK)
    {
        free(index);
        return tg_cli_fail(TG_CLI_FAILED,
                           "a name is element.name.field, as in 'body.*.mass' or 'gravity'; without a pattern all are "
                           "listed",
                           "%s", error.message);
    }
    if (call->option[OPTION_JSON] != NULL)
        write_rows(call->out.file, m, index, count);
    else
        print_rows(&call->out, m, index, count);
    free(index);
    return TG_CLI_OK;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    int code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    code = list(call, model.m);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_params = {
    .name = "params",
    .usage = "MODEL [PATTERN] [--json]",
    .summary = "names and values of the parameters",
    .details = "Lists the numbers of a model by name: each of them can be set and differentiated. PATTERN has\n"
               "* and ?, and may pick one number of a field: 'body.*.mass', 'geom.floor.friction[0]'. Quote it.",
    .required = 1,
    .allowed = 2,
    .options = {[OPTION_JSON] = {"--json", NULL, "an object of names and values"}},
    .run = run,
};
