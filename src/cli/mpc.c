/* tangere mpc: a closed loop of plans. */
#include "cli/cli.h"
#include "cli/python.h"

enum
{
    OPTION_TASK,
    OPTION_CONTROLS,
    OPTION_THREADS,
    OPTION_SEED,
    OPTION_OUT,
    OPTION_PAGE,
    OPTION_JSON
};

static int check_options(const char *const *option)
{
    int count, code = TG_CLI_OK;
    if (option[OPTION_TASK] == NULL)
        return tg_cli_fail(TG_CLI_USAGE, "docs/control.md has tasks to start from", "mpc needs --task FILE");
    if (option[OPTION_CONTROLS] != NULL)
        code = tg_cli_count("--controls", option[OPTION_CONTROLS], 100000000, &count);
    if (code == TG_CLI_OK && option[OPTION_THREADS] != NULL)
        code = tg_cli_count("--threads", option[OPTION_THREADS], 1024, &count);
    return code;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    tg_cli_words words = {.count = 0};
    int code = check_options(call->option);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    tg_cli_add_word(&words, model.path);
    tg_cli_add_options(&words, &tg_cli_mpc, call);
    tg_cli_add_reading(&words, &call->reading);
    code = tg_cli_run_python("mpc", call->option[OPTION_PAGE] != NULL ? "view" : NULL, &words);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_mpc = {
    .name = "mpc",
    .usage = "MODEL --task FILE",
    .summary = "model-predictive control in closed loop",
    .details =
        "Plans with random shooting, CEM, MPPI, iLQR or max-entropy iLQG, applies the first controls, plans again\n"
        "(docs/control.md describes tasks). Needs Python with tangere; --page needs tangere[view].",
    .required = 1,
    .allowed = 1,
    .options = {[OPTION_TASK] = {"--task", "FILE", "JSON: method, horizon, cost, ..."},
                [OPTION_CONTROLS] = {"--controls", "N", "number of controls (the task's)"},
                [OPTION_THREADS] = {"--threads", "N", "of the planner (all processors)"},
                [OPTION_SEED] = {"--seed", "N", "of the samples (the task's)"},
                [OPTION_OUT] = {"--out", "FILE", "time, q, v, act, u, cost, seconds as .npz"},
                [OPTION_PAGE] = {"--page", "FILE", "an HTML page that shows the motion"},
                [OPTION_JSON] = {"--json", NULL, "the result as JSON"}},
    .run = run,
};
