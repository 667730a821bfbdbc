/* tangere learn: data of the learning tasks, written by the Python package. */
#include <string.h>

#include "cli/cli.h"
#include "cli/python.h"

enum
{
    OPTION_OUT,
    OPTION_TRAJECTORIES,
    OPTION_SEED,
    OPTION_LAW,
    OPTION_EPS,
    OPTIONS,
    MOST = 1000000000
};

static int check_options(const tg_cli_call *call)
{
    bool data = strcmp(call->argument[0], "data") == 0;
    double number;
    int count, code = TG_CLI_OK;
    if (!data && strcmp(call->argument[0], "table") != 0)
        return tg_cli_fail(TG_CLI_USAGE, "tangere learn data TASK --out FILE.npz, or: tangere learn table",
                           "learn: '%s' is neither 'data' nor 'table'", call->argument[0]);
    if (data && call->argument[1] == NULL)
        return tg_cli_fail(TG_CLI_USAGE, "tangere learn data BP5 --out FILE.npz", "learn data: a task is missing");
    if (data && call->option[OPTION_OUT] == NULL)
        return tg_cli_fail(TG_CLI_USAGE, "tangere learn data BP5 --out FILE.npz", "learn data: --out is missing");
    if (call->option[OPTION_TRAJECTORIES] != NULL)
        code = tg_cli_count("--trajectories", call->option[OPTION_TRAJECTORIES], MOST, &count);
    if (code == TG_CLI_OK && call->option[OPTION_SEED] != NULL && strcmp(call->option[OPTION_SEED], "0") != 0)
        code = tg_cli_count("--seed", call->option[OPTION_SEED], MOST, &count);
    if (code == TG_CLI_OK && call->option[OPTION_EPS] != NULL)
        code = tg_cli_real("--eps", call->option[OPTION_EPS], 0, 1e6, &number);
    return code;
}

static int run(const tg_cli_call *call)
{
    tg_cli_words words = {.count = 0};
    int code = check_options(call);
    if (code != TG_CLI_OK)
        return code;
    for (int i = 0; i < 2 && call->argument[i] != NULL; i++)
        tg_cli_add_word(&words, call->argument[i]);
    for (int i = 0; i < OPTIONS; i++)
        tg_cli_add_option(&words, tg_cli_learn.options[i].name, call->option[i]);
    return tg_cli_run_python("learn", NULL, &words);
}

const tg_cli_command tg_cli_learn = {
    .name = "learn",
    .usage = "data TASK --out FILE.npz | table",
    .summary = "trajectories of the learning tasks, 5 states each, half with contacts",
    .details =
        "Writes chunks of 5 states of seeded random trajectories of a task: BP5-e, BP5, BD5, BD1, CP3-e, CP3, Gyro-e,\n"
        "Gyro, billiards, Rope-N (any length). 'table' prints dimensions, constraints and contacts of the tasks.\n"
        "Needs Python with tangere.",
    .required = 1,
    .allowed = 2,
    .options = {[OPTION_OUT] = {"--out", "FILE", "where the chunks go (.npz)"},
                [OPTION_TRAJECTORIES] = {"--trajectories", "N", "how many (data: 800, table: 100)"},
                [OPTION_SEED] = {"--seed", "S", "of the initial states and of the choice of chunks (0)"},
                [OPTION_LAW] = {"--law", "LAW", "ccp, or lcp: Coulomb with Newton's restitution (ccp)"},
                [OPTION_EPS] = {"--eps", "E", "regularisation of the contact problems (0)"}},
    .run = run,
};
