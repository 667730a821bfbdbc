/* tangere fit: parameters from recorded trajectories. */
#include <string.h>

#include "cli/cli.h"
#include "cli/python.h"

enum
{
    OPTION_PARAMS,
    OPTION_BOUNDS,
    OPTION_TIE,
    OPTION_START,
    OPTION_PRIOR,
    OPTION_INITIAL,
    OPTION_NOISE,
    OPTION_METHOD,
    OPTION_HORIZON,
    OPTION_ROBUST,
    OPTION_ITERATIONS,
    OPTION_RATE,
    OPTION_DT,
    OPTION_IMPACT,
    OPTION_SOLVER,
    OPTION_COLUMNS,
    OPTION_MISSING,
    OPTION_WRITE,
    OPTION_REPORT,
    OPTION_OFFSET,
    OPTION_JSON
};

static int check_options(const char *const *option)
{
    double number;
    int count, code = TG_CLI_OK;
    if (option[OPTION_HORIZON] != NULL)
        code = tg_cli_count("--horizon", option[OPTION_HORIZON], 1000000, &count);
    if (code == TG_CLI_OK && option[OPTION_ITERATIONS] != NULL)
        code = tg_cli_count("--iterations", option[OPTION_ITERATIONS], 1000000, &count);
    if (code == TG_CLI_OK && option[OPTION_RATE] != NULL)
        code = tg_cli_real("--rate", option[OPTION_RATE], 1e-6, 1e9, &number);
    if (code == TG_CLI_OK && option[OPTION_DT] != NULL)
        code = tg_cli_real("--dt", option[OPTION_DT], 1e-9, 1, &number);
    return code;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    tg_cli_words words = {.count = 0};
    int code = check_options(call->option);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model); /* messages of models are those of the command */
    if (code != TG_CLI_OK)
        return code;
    tg_cli_add_word(&words, model.path);
    for (int i = 1; i < TG_CLI_MAX_ARGUMENTS && call->argument[i] != NULL; i++)
        tg_cli_add_word(&words, call->argument[i]);
    tg_cli_add_options(&words, &tg_cli_fit, call);
    tg_cli_add_reading(&words, &call->reading);
    code = tg_cli_run_python("fit", call->option[OPTION_REPORT] != NULL ? "plot" : NULL, &words);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_fit = {
    .name = "fit",
    .usage = "MODEL LOG... --params NAME,...",
    .summary = "parameters from recorded trajectories, with error bars",
    .details = "Finds parameters of a model from trajectories (.csv, .npz; docs/identify.md says which columns): "
               "Gauss-Newton\n"
               "with analytic derivatives, standard errors, and unobservable combinations.\n"
               "Needs Python with tangere; --report needs tangere[plot].",
    .required = 2,
    .allowed = TG_CLI_MAX_ARGUMENTS,
    .options = {[OPTION_PARAMS] = {"--params", "NAME,...", "names or patterns; inertia:BODY; wrench:BODY[i]", true},
                [OPTION_BOUNDS] = {"--bounds", "NAME=LO:HI,...", "bounds of parameters", true},
                [OPTION_TIE] = {"--tie", "NAME=NAME", "parameters that share one value", true},
                [OPTION_START] = {"--start", "NAME=X,...", "initial values (the model's values)", true},
                [OPTION_PRIOR] = {"--prior", "NAME=X:SD,...", "means and standard deviations", true},
                [OPTION_INITIAL] = {"--initial", "WHAT", "unknown initial states: all, q, v, or q[0],v[0],..."},
                [OPTION_NOISE] = {"--noise", "SD", "standard deviation, or CHANNEL=SD,... (estimated)", true},
                [OPTION_METHOD] = {"--method", "M", "gn, adam, adamw, lbfgs, descent (gn)"},
                [OPTION_HORIZON] = {"--horizon", "N", "windows of N rows; 1: one step (whole trajectories)"},
                [OPTION_ROBUST] = {"--robust", "LOSS", "huber or cauchy"},
                [OPTION_ITERATIONS] = {"--iterations", "N", "at most (100; 1000 of first-order methods)"},
                [OPTION_RATE] = {"--rate", "HZ", "rows per second, if there is no column 'time'"},
                [OPTION_DT] = {"--dt", "DT", "time step in s (the model's)"},
                [OPTION_IMPACT] = {"--impact", "WHEN", "end or within a step"},
                [OPTION_SOLVER] = {"--solver", "S", "newton, ipm or pgs"},
                [OPTION_COLUMNS] = {"--columns", "THEIRS=OURS,...", "other names of columns", true},
                [OPTION_MISSING] = {"--missing", "WORD", "skip: NaN and empty cells were not measured"},
                [OPTION_WRITE] = {"--write", "FILE", "the model with the estimates"},
                [OPTION_REPORT] = {"--report", "FILE", "a page with tables and plots"},
                [OPTION_OFFSET] = {"--time-offset", NULL, "an unknown time shift per log"},
                [OPTION_JSON] = {"--json", NULL, "the result as JSON"}},
    .run = run,
};
