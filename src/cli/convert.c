/* tangere convert: a model in another file. */
#include <string.h>

#include "cli/cli.h"

/* What the reader left out is not in the new file either. */
static void warn_of_losses(const tg_cli_model *model)
{
    int count = 0;
    for (int i = 0; i < tg_report_count(model->m); i++)
    {
        tg_report_entry entry;
        count += tg_report_get(model->m, i, &entry, NULL) == TG_OK && entry.kind == TG_REPORT_IGNORED_PHYSICS;
    }
    if (count > 0)
        fprintf(stderr,
                "tangere: note: %d thing%s that would change the motion %s not read, and so not written\n"
                "  hint: tangere info %s shows them\n",
                count, count == 1 ? "" : "s", count == 1 ? "was" : "were", model->path);
}

static int fail(const tg_error *error)
{
    const char *hint = error->status == TG_ERR_FILE ? "does the folder exist, and may you write there?" : NULL;
    return tg_cli_fail(TG_CLI_FAILED, hint, "%s", error->message);
}

static int write_output(const tg_cli_call *call, const tg_model *m)
{
    char *text = NULL;
    size_t length = 0;
    tg_error error;
    if (tg_save_string(m, NULL, NULL, &text, &length, &error) != TG_OK)
        return fail(&error);
    fwrite(text, 1, length, call->out.file); /* main looks for a failed write */
    tg_save_string_free(NULL, text);
    return TG_CLI_OK;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    tg_error error;
    int code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    if (strcmp(call->argument[1], "-") == 0)
        code = write_output(call, model.m);
    else if (tg_save(model.m, NULL, call->argument[1], &error) != TG_OK)
        code = fail(&error);
    if (code == TG_CLI_OK)
        warn_of_losses(&model);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_convert = {
    .name = "convert",
    .usage = "MODEL FILE",
    .summary = "writes a model as MJCF",
    .details =
        "Writes a model to FILE as one MJCF file, with meshes inside; - is standard output. Every parameter is kept:\n"
        "parameters without an MJCF attribute are in the custom section.",
    .required = 2,
    .allowed = 2,
    .run = run,
};
