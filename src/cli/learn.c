/* tangere learn: the learning tasks, done by the Python package. */
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
    OPTION_EPOCHS,
    OPTION_BATCH,
    OPTION_EVERY,
    OPTION_RATE,
    OPTION_PROPERTY_RATE,
    OPTION_NOISE,
    OPTION_SCHEDULE,
    OPTION_ITERATIONS,
    OPTION_DATA,
    OPTION_THREADS,
    OPTION_JOBS,
    OPTION_PUBLISHED,
    OPTION_FULL,
    OPTION_SMALL,
    OPTIONS,
    MOST = 1000000000
};

#define BIT(option) (1U << (option))
#define DATA_OPTIONS (BIT(OPTION_OUT) | BIT(OPTION_TRAJECTORIES) | BIT(OPTION_SEED) | BIT(OPTION_LAW) | BIT(OPTION_EPS))

/* What follows `tangere learn`. */
static const tg_cli_part parts[] = {
    {"data", "tangere learn data BP5 --out FILE.npz", 1, 1, DATA_OPTIONS | BIT(OPTION_FULL), NULL, "a task is missing"},
    {"table", "tangere learn table", 0, 0, BIT(OPTION_TRAJECTORIES) | BIT(OPTION_SEED), NULL, ""},
    {"train", "tangere learn train BP5-e CM-CLNN", 2, 2,
     DATA_OPTIONS | BIT(OPTION_EPOCHS) | BIT(OPTION_BATCH) | BIT(OPTION_EVERY) | BIT(OPTION_RATE) |
         BIT(OPTION_PROPERTY_RATE) | BIT(OPTION_SCHEDULE) | BIT(OPTION_NOISE) | BIT(OPTION_DATA) | BIT(OPTION_THREADS) |
         BIT(OPTION_PUBLISHED),
     "learn", "a task and a model are needed"},
    {"throw", "tangere learn throw [FOLDER]", 0, 1, BIT(OPTION_ITERATIONS), "learn", ""},
    {"report", "tangere learn report [FOLDER] [--out FILE.html]", 0, 1, BIT(OPTION_OUT), "plot", ""},
    {"all", "tangere learn all [FOLDER] [--small]", 0, 1, BIT(OPTION_SMALL) | BIT(OPTION_JOBS), "learn", ""},
};

enum
{
    PARTS = sizeof parts / sizeof *parts
};

static int check_numbers(const tg_cli_call *call, bool train)
{
    static const int counts[] = {OPTION_TRAJECTORIES, OPTION_EPOCHS, OPTION_BATCH,     OPTION_EVERY,
                                 OPTION_THREADS,      OPTION_JOBS,   OPTION_ITERATIONS};
    const char *seed = call->option[OPTION_SEED], *eps = call->option[OPTION_EPS];
    double number;
    int count, code = TG_CLI_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == TG_CLI_OK; i++)
        if (call->option[counts[i]] != NULL)
            code = tg_cli_count(tg_cli_learn.options[counts[i]].name, call->option[counts[i]], MOST, &count);
    if (code == TG_CLI_OK && seed != NULL && strcmp(seed, "0") != 0)
        code = tg_cli_count("--seed", seed, MOST, &count);
    if (code == TG_CLI_OK && eps != NULL && !(train && strcmp(eps, "learn") == 0))
        code = tg_cli_real("--eps", eps, 0, 1e6, &number);
    for (int i = OPTION_RATE; i <= OPTION_NOISE && code == TG_CLI_OK; i++)
        if (call->option[i] != NULL)
            code = tg_cli_real(tg_cli_learn.options[i].name, call->option[i], 0, 1e6, &number);
    return code;
}

static int check(const tg_cli_call *call, const tg_cli_part **chosen)
{
    int code =
        tg_cli_choose_part(&tg_cli_learn, call, parts, PARTS, "data, table, train, throw, report or all", chosen);
    if (code != TG_CLI_OK)
        return code;
    if (*chosen == &parts[0] && call->option[OPTION_OUT] == NULL)
        return tg_cli_fail(TG_CLI_USAGE, (*chosen)->hint, "learn data: --out is missing");
    return check_numbers(call, strcmp((*chosen)->name, "train") == 0);
}

static int run(const tg_cli_call *call)
{
    tg_cli_words words = {.count = 0};
    const tg_cli_part *part = NULL;
    int code = check(call, &part);
    if (code != TG_CLI_OK)
        return code;
    for (int i = 0; i < 3 && call->argument[i] != NULL; i++)
        tg_cli_add_word(&words, call->argument[i]);
    tg_cli_add_options(&words, &tg_cli_learn, call);
    return tg_cli_run_python("learn", part->needs, &words);
}

const tg_cli_command tg_cli_learn = {
    .name = "learn",
    .usage = "data TASK --out FILE.npz | table | train TASK MODEL | throw [FOLDER] | report [FOLDER] | all [FOLDER]",
    .summary = "dynamics and contact learned from trajectories: data, training, a report",
    .details = "data    writes chunks of 5 states of seeded random trajectories of a task\n"
               "table   prints dimensions, constraints and contacts of the tasks\n"
               "train   trains a model on a task; the same command continues an interrupted run\n"
               "throw   plans two throws of a disk with the model of a run of BD1 and makes them in the true system\n"
               "report  writes a page about the runs of a folder (learn-runs)\n"
               "all     all runs of the report, in order, resumable\n"
               "Tasks: BP5-e, BP5, BD5, BD1, CP3-e, CP3, Gyro-e, Gyro, billiards (data only), Rope-N (any length).\n"
               "Models: CM-CLNN, CM-CHNN, CMr-CLNN, CMr-CHNN, MLP-CD-CLNN, IN-CP-CLNN, IN-CP-SP (docs/learn.md).\n"
               "Needs Python with tangere, train, throw and all with tangere[learn], report with tangere[plot].",
    .required = 1,
    .allowed = 3,
    .no_model = true,
    .options = {[OPTION_OUT] = {"--out", "PATH", "data: FILE.npz; train: the folder of the run; report: FILE.html"},
                [OPTION_TRAJECTORIES] = {"--trajectories", "N", "how many (data, train: 800, table: 100)"},
                [OPTION_SEED] = {"--seed", "S", "of initial states, chunks, weights and batches (0)"},
                [OPTION_LAW] = {"--law", "LAW", "of the data: ccp, or lcp: Coulomb with Newton's restitution (ccp)"},
                [OPTION_EPS] = {"--eps", "E", "data: regularisation (0); train: that of CMr, or 'learn' (0.01)"},
                [OPTION_EPOCHS] = {"--epochs", "N", "of training (1000)"},
                [OPTION_BATCH] = {"--batch", "N", "chunks per iteration (200)"},
                [OPTION_EVERY] = {"--every", "N", "epochs per validation (1)"},
                [OPTION_RATE] = {"--rate", "R", "learning rate of the networks' weights (0.001)"},
                [OPTION_PROPERTY_RATE] = {"--property-rate", "R", "of masses, moments, mu, e and eps (0.01)"},
                [OPTION_SCHEDULE] = {"--schedule", "WORD", "cosine: rates fall to 0; or constant (cosine)"},
                [OPTION_ITERATIONS] = {"--iterations", "N", "throw: steps of the optimiser (1000)"},
                [OPTION_NOISE] = {"--noise", "SD", "added to the training data (0)"},
                [OPTION_DATA] = {"--data", "FILE", "training chunks that 'data' wrote (made from the seed)"},
                [OPTION_THREADS] = {"--threads", "N", "of the contact law (1); torch has one"},
                [OPTION_JOBS] = {"--jobs", "N", "all: runs at a time (1)"},
                [OPTION_PUBLISHED] = {"--as-published", NULL,
                                      "validation and test are the same; CMr has its own truth; one constant rate"},
                [OPTION_FULL] = {"--full", NULL, "data: whole trajectories"},
                [OPTION_SMALL] = {"--small", NULL, "all: a tenth of the data, three tasks (ten minutes)"}},
    .run = run,
};
