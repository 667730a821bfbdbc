/* tangere view: a model or a trajectory in the browser, or as a page, a picture or a film. */
#include <string.h>

#include "cli/cli.h"
#include "cli/python.h"

enum
{
    OPTION_HTML,
    OPTION_PNG,
    OPTION_MP4,
    OPTION_KEY,
    OPTION_TIME,
    OPTION_LIFT,
    OPTION_AT,
    OPTION_GRADIENT,
    OPTION_FPS,
    OPTION_SIZE,
    OPTION_CAMERA,
    OPTION_HOST,
    OPTION_PORT,
    OPTIONS
};

/* Numbers that need no model to be wrong. */
static int check_options(const char *const *option)
{
    double number;
    int count, code = TG_CLI_OK;
    if (option[OPTION_TIME] != NULL)
        code = tg_cli_real("--time", option[OPTION_TIME], 0, 1e6, &number);
    if (code == TG_CLI_OK && option[OPTION_LIFT] != NULL)
        code = tg_cli_real("--lift", option[OPTION_LIFT], -1e6, 1e6, &number);
    if (code == TG_CLI_OK && option[OPTION_AT] != NULL)
        code = tg_cli_real("--at", option[OPTION_AT], 0, 1e6, &number);
    if (code == TG_CLI_OK && option[OPTION_FPS] != NULL)
        code = tg_cli_real("--fps", option[OPTION_FPS], 0.1, 1000, &number);
    if (code == TG_CLI_OK && option[OPTION_PORT] != NULL && strcmp(option[OPTION_PORT], "0") != 0)
        code = tg_cli_count("--port", option[OPTION_PORT], 65535, &count);
    return code;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    tg_cli_words words = {.count = 0};
    int key, code = check_options(call->option);
    if (code == TG_CLI_OK)
        code = tg_cli_open(call->argument[0], &call->reading, &model); /* messages of models are those of the command */
    if (code != TG_CLI_OK)
        return code;
    if (call->option[OPTION_KEY] != NULL)
        code = tg_cli_find_key(model.m, call->option[OPTION_KEY], &key);
    tg_cli_add_word(&words, model.path);
    if (call->argument[1] != NULL)
        tg_cli_add_word(&words, call->argument[1]);
    tg_cli_add_options(&words, &tg_cli_view, call);
    tg_cli_add_reading(&words, &call->reading);
    if (code == TG_CLI_OK)
        code = tg_cli_run_python("viewer", "view", &words);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_view = {
    .name = "view",
    .usage = "MODEL [TRAJECTORY] [OPTIONS]",
    .summary = "shows a model or a trajectory in the browser; pages, pictures, videos",
    .details =
        "Shows a model in the browser, live, or plays a trajectory (.npz, .csv, as 'tangere sim --out' writes it),\n"
        "with contact points, forces, friction cones and margins, and the gradient of a scalar. Only this machine\n"
        "can reach it unless --host says otherwise. --html, --png and --mp4 write a file instead.\n"
        "Needs Python with tangere[view]; --png and --mp4 need chromium, --mp4 tangere[video].",
    .required = 1,
    .allowed = 2,
    .options = {[OPTION_HTML] = {"--html", "FILE", "one page that plays it, without a network"},
                [OPTION_PNG] = {"--png", "FILE", "a picture of the last state, or of the start without a time"},
                [OPTION_MP4] = {"--mp4", "FILE", "a video"},
                [OPTION_KEY] = {"--key", "NAME", "the initial keyframe; #0 is the first"},
                [OPTION_TIME] = {"--time", "T", "seconds to simulate for a file, without a trajectory (5; picture: 0)"},
                [OPTION_LIFT] = {"--lift", "H", "raise bodies with a free joint by H m at the start"},
                [OPTION_AT] = {"--at", "T", "s, the state of the picture (the last)"},
                [OPTION_GRADIENT] = {"--gradient", "OF", "com.z@50, site:NAME.x, body:NAME.y: after that many steps"},
                [OPTION_FPS] = {"--fps", "N", "states per second of a page or video (50)"},
                [OPTION_SIZE] = {"--size", "WxH", "of pictures and videos, in pixels (1200x800)"},
                [OPTION_CAMERA] = {"--camera", "A,E,D", "azimuth, elevation (deg), distance in sizes (-50,20,1.6)"},
                [OPTION_HOST] = {"--host", "ADDRESS", "address to listen at (127.0.0.1)"},
                [OPTION_PORT] = {"--port", "N", "port to listen at (8080 or the next free one)"}},
    .run = run,
};
