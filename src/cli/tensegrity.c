/* tangere tensegrity: SUPERball's data, identification and rolling, done by the Python package. */
#include <string.h>

#include "cli/cli.h"
#include "cli/python.h"

enum
{
    OPTION_OUT,
    OPTION_SEED,
    OPTION_READING,
    OPTION_SECONDS,
    OPTION_TRAIN,
    OPTION_VALIDATION,
    OPTION_TEST,
    OPTION_SPARSE,
    OPTION_VARIANT,
    OPTION_START,
    OPTION_TRAJECTORIES,
    OPTION_NOISE,
    OPTION_THREADS,
    OPTION_ENGINE,
    OPTION_FACTORS,
    OPTION_METHOD,
    OPTION_OPEN,
    OPTION_CONTROLS,
    OPTION_SAMPLES,
    OPTION_GROUND,
    OPTION_PAGE,
    OPTION_JSON,
    OPTIONS,
    MOST = 1000000000
};

#define BIT(option) (1U << (option))
#define FIT_OPTIONS                                                                                                    \
    (BIT(OPTION_START) | BIT(OPTION_TRAJECTORIES) | BIT(OPTION_NOISE) | BIT(OPTION_SEED) | BIT(OPTION_THREADS) |       \
     BIT(OPTION_JSON))

/* What follows `tangere tensegrity`. */
static const tg_cli_part parts[] = {
    {"data", "tangere tensegrity data --out FOLDER", 0, 0,
     BIT(OPTION_OUT) | BIT(OPTION_SEED) | BIT(OPTION_READING) | BIT(OPTION_SECONDS) | BIT(OPTION_TRAIN) |
         BIT(OPTION_VALIDATION) | BIT(OPTION_TEST) | BIT(OPTION_SPARSE),
     "mujoco", ""},
    {"fit", "tangere tensegrity fit FOLDER", 1, 1, FIT_OPTIONS | BIT(OPTION_VARIANT), NULL,
     "the folder of the data is missing"},
    {"compare", "tangere tensegrity compare FOLDER", 1, 1, FIT_OPTIONS, NULL, "the folder of the data is missing"},
    {"roll", "tangere tensegrity roll", 0, 0,
     BIT(OPTION_OUT) | BIT(OPTION_SEED) | BIT(OPTION_READING) | BIT(OPTION_THREADS) | BIT(OPTION_ENGINE) |
         BIT(OPTION_FACTORS) | BIT(OPTION_METHOD) | BIT(OPTION_OPEN) | BIT(OPTION_CONTROLS) | BIT(OPTION_SAMPLES) |
         BIT(OPTION_GROUND) | BIT(OPTION_PAGE) | BIT(OPTION_JSON),
     "mujoco", ""},
};

enum
{
    PARTS = sizeof parts / sizeof *parts
};

static int check_numbers(const tg_cli_call *call)
{
    static const int counts[] = {OPTION_TRAIN,   OPTION_VALIDATION, OPTION_TEST,   OPTION_TRAJECTORIES,
                                 OPTION_THREADS, OPTION_CONTROLS,   OPTION_SAMPLES};
    const char *seed = call->option[OPTION_SEED];
    double number;
    int count, code = TG_CLI_OK;
    for (size_t i = 0; i < sizeof counts / sizeof *counts && code == TG_CLI_OK; i++)
        if (call->option[counts[i]] != NULL)
            code = tg_cli_count(tg_cli_tensegrity.options[counts[i]].name, call->option[counts[i]], MOST, &count);
    if (code == TG_CLI_OK && seed != NULL && strcmp(seed, "0") != 0)
        code = tg_cli_count("--seed", seed, MOST, &count);
    if (code == TG_CLI_OK && call->option[OPTION_SECONDS] != NULL)
        code = tg_cli_real("--seconds", call->option[OPTION_SECONDS], 0, 1e6, &number);
    if (code == TG_CLI_OK && call->option[OPTION_NOISE] != NULL)
        code = tg_cli_real("--noise", call->option[OPTION_NOISE], 0, 1e6, &number);
    return code;
}

static int check(const tg_cli_call *call, const tg_cli_part **chosen)
{
    int code = tg_cli_choose_part(&tg_cli_tensegrity, call, parts, PARTS, "data, fit, compare or roll", chosen);
    if (code != TG_CLI_OK)
        return code;
    if (*chosen == &parts[0] && call->option[OPTION_OUT] == NULL)
        return tg_cli_fail(TG_CLI_USAGE, (*chosen)->hint, "tensegrity data: --out is missing");
    return check_numbers(call);
}

static int run(const tg_cli_call *call)
{
    tg_cli_words words = {.count = 0};
    const tg_cli_part *part = NULL;
    int code = check(call, &part);
    if (code != TG_CLI_OK)
        return code;
    for (int i = 0; i < 2 && call->argument[i] != NULL; i++)
        tg_cli_add_word(&words, call->argument[i]);
    tg_cli_add_options(&words, &tg_cli_tensegrity, call);
    return tg_cli_run_python("tensegrity", part->needs, &words);
}

const tg_cli_command tg_cli_tensegrity = {
    .name = "tensegrity",
    .usage = "data --out FOLDER | fit FOLDER | compare FOLDER | roll",
    .summary = "SUPERball from ten samples per second: data of MuJoCo, identification, rolling",
    .details = "data     MuJoCo hangs and rolls the robot: trajectories at 10 Hz and 1 kHz\n"
               "fit      stiffness, damping and mass from the hanging robot, and the error on test trajectories\n"
               "compare  the same with every variant of training, as a table\n"
               "roll     plans a roll at 1 m/s with MPPI and executes it on MuJoCo\n"
               "docs/tensegrity.md has more. Needs Python with tangere, data and roll with tangere[mujoco].",
    .required = 1,
    .allowed = 3, /* one more than any word takes: it says what is too much */
    .no_model = true,
    .options = {[OPTION_OUT] = {"--out", "PATH", "data: a folder; roll: FILE.npz"},
                [OPTION_SEED] = {"--seed", "S", "of controls and starts, of noise, or of the planner (0)"},
                [OPTION_READING] = {"--reading", "C|A", "of gain and friction: in decimetres, or metres (C)"},
                [OPTION_SECONDS] = {"--seconds", "S", "of a trajectory (5)"},
                [OPTION_TRAIN] = {"--train", "N", "trajectories for training (10)"},
                [OPTION_VALIDATION] = {"--validation", "N", "trajectories for validation (2)"},
                [OPTION_TEST] = {"--test", "N", "trajectories for tests (10)"},
                [OPTION_SPARSE] = {"--sparse", NULL, "data: 10 Hz only"},
                [OPTION_VARIANT] = {"--variant", "V", "progressive, implicit, feed-forward, explicit or dense"},
                [OPTION_START] = {"--start", "K,D,M", "first factors of stiffness, damping, mass (0.5,0.5,1.5)"},
                [OPTION_TRAJECTORIES] = {"--trajectories", "N", "how many to train with (all)"},
                [OPTION_NOISE] = {"--noise", "SD", "added to the training data: m and rad, tenfold per s (0)"},
                [OPTION_THREADS] = {"--threads", "N", "all processors"},
                [OPTION_ENGINE] = {"--engine", "E", "that plans: tangere, mujoco or random (tangere)"},
                [OPTION_FACTORS] = {"--factors", "K,D,M[,F[,R]]",
                                    "of stiffness, damping, mass, friction, rolling friction (1,1,1,1)"},
                [OPTION_METHOD] = {"--method", "M", "random, cem, mppi, ilqr or ilqg (mppi)"},
                [OPTION_OPEN] = {"--open", NULL, "plan with the engine as the robot, execute without looking"},
                [OPTION_CONTROLS] = {"--controls", "N", "of 0.1 s (50)"},
                [OPTION_SAMPLES] = {"--samples", "N", "rollouts of one of five iterations per control (40)"},
                [OPTION_GROUND] = {"--ground", "flat|hills", "a plane, or a height field with bumps of 0.1 m (flat)"},
                [OPTION_PAGE] = {"--page", "FILE", "an HTML page that shows the motion (needs tangere[view])"},
                [OPTION_JSON] = {"--json", NULL, "the result as JSON"}},
    .run = run,
};
