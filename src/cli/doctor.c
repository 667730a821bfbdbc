/* tangere doctor: what this installation is, and whether it works; one block to paste into a report. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/python.h"

enum
{
    STEPS = 500,
    STATES = 10 /* at which derivatives are compared; with STEPS about a second */
};

static const char built_in[] = "quadruped";

static void line(const tg_cli_output *out, const char *name)
{
    tg_cli_column(out, TG_CLI_NAME, name, 12);
}

static void print_build(const tg_cli_output *out)
{
    line(out, "tangere");
    fprintf(out->file, "%s\n", tg_version());
    const char *asked = getenv("TANGERE_CPU");
    bool known = asked == NULL || strcmp(asked, "baseline") == 0 || strcmp(asked, "avx2") == 0;
    line(out, "cpu path");
    fprintf(out->file, "%s", tg_cpu_path());
    if (!known)
        fprintf(out->file, "; TANGERE_CPU=%.40s has no effect, expected baseline or avx2", asked);
    fprintf(out->file, "\n");
    line(out, "compiler");
    fprintf(out->file, "%s\n", __VERSION__);
    line(out, "threads");
    fprintf(out->file, "%ld, one per processor\n", sysconf(_SC_NPROCESSORS_ONLN));
    fflush(out->file);
}

/* The package as the interpreter sees it, and which extras can be imported. */
static void print_python(const tg_cli_output *out)
{
    static const char script[] =
        "import importlib.util as u, sys\n"
        "def column(name, text): print(f'{name:<12}{text}')\n"
        "column('python', f'{sys.version.split()[0]} ({sys.executable})')\n"
        "try:\n"
        "    import numpy, tangere\n"
        "    column('package', f'tangere {tangere.__version__} for {tangere.cpu_path}, numpy {numpy.__version__}')\n"
        "except Exception as failure:\n"
        "    column('package', f'cannot be imported: {failure}')\n"
        "extras = dict(view='viser', plot='matplotlib', video='cv2', torch='torch', jax='jax', gym='gymnasium')\n"
        "here = [e for e, m in extras.items() if u.find_spec(m)]\n"
        "column('extras', ', '.join(here) or 'none')\n"
        "missing = [e for e in extras if e not in here]\n"
        "if missing: column('', 'missing: ' + ', '.join(missing) + \"; pip install 'tangere[\" + missing[0] + "
        "\"]'\")\n";
    fflush(out->file);
    if (tg_cli_run_script(script) != 0)
    {
        line(out, "python");
        fprintf(out->file, "none found; name one in TANGERE_PYTHON\n");
    }
}

static void print_verdict(const tg_cli_output *out, bool good, double seconds)
{
    tg_cli_print(out, good ? TG_CLI_GOOD : TG_CLI_BAD, "%s", good ? "good" : "BAD");
    fprintf(out->file, ", %.2f s\n", seconds);
}

/* Steps of the standing quadruped: solved, and it still stands. */
static tg_status try_steps(const tg_model *m, tg_work *w, double *worst, bool *good, tg_error *error)
{
    tg_sizes n = tg_model_sizes(m);
    double *q = tg_cli_alloc((size_t)(n.nq + n.nv + n.na + n.nu + 1), sizeof *q);
    tg_state state = {.q = q, .v = q + n.nq, .act = q + n.nq + n.nv};
    tg_control control = {.u = q + n.nq + n.nv + n.na};
    int unsolved = 0;
    tg_status status = tg_key_get(m, 0, NULL, state.q, state.v, state.act, q + n.nq + n.nv + n.na, error);
    double height = q[2];
    for (int i = 0; i < STEPS && status == TG_OK; i++)
    {
        tg_info info = {0};
        status = tg_step(m, w, NULL, &state, &control, &state, &info);
        unsolved += info.status != TG_STEP_SOLVED;
        *worst = fmax(*worst, info.residual);
        if (status != TG_OK)
            snprintf(error->message, sizeof error->message, "%s", tg_work_message(w));
    }
    *good = status == TG_OK && unsolved == 0 && fabs(q[2] - height) < height / 2;
    free(q);
    return status;
}

static int self_test(const tg_cli_output *out, const tg_model *m)
{
    tg_error error = {.message = ""};
    tg_work *w = NULL;
    bool stands = false;
    double start = tg_cli_clock(), residual = 0;
    tg_status status = tg_work_create(m, &w, &error);
    if (status == TG_OK)
        status = try_steps(m, w, &residual, &stands, &error);
    tg_work_destroy(w);
    if (status != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    line(out, "steps");
    fprintf(out->file, "%d of the %s, largest residual %.1e m/s: ", STEPS, built_in, residual);
    print_verdict(out, stands, tg_cli_clock() - start);

    tg_check_options options = tg_default_check_options();
    tg_check_result result;
    options.states = STATES;
    start = tg_cli_clock();
    status = tg_check(m, &options, &result, &error);
    if (status != TG_OK)
        return tg_cli_fail(TG_CLI_FAILED, NULL, "%s", error.message);
    double worst = 0;
    for (int i = 0; i < result.ngroup; i++)
        worst = fmax(worst, result.group[i].error);
    bool right = worst < TG_CHECK_TOLERANCE && result.infinite == 0;
    line(out, "gradients");
    fprintf(out->file, "at %d states, %.1e from differences: ", STATES, worst);
    print_verdict(out, right, tg_cli_clock() - start);
    return stands && right ? TG_CLI_OK : TG_CLI_FAILED;
}

static int run(const tg_cli_call *call)
{
    tg_cli_model model;
    print_build(&call->out);
    print_python(&call->out);
    int code = tg_cli_open(built_in, &call->reading, &model);
    if (code != TG_CLI_OK)
        return code;
    line(&call->out, "models");
    fprintf(call->out.file, "%s\n", model.path);
    fflush(call->out.file);
    code = self_test(&call->out, model.m);
    tg_cli_close(&model);
    return code;
}

const tg_cli_command tg_cli_doctor = {
    .name = "doctor",
    .usage = "",
    .summary = "this installation, and whether it works",
    .details =
        "Prints the version, the code path for this processor, the Python package and its extras, and the result of\n"
        "a short test of steps and of their derivatives: a block to paste into a report. Exit code 1 if the test\n"
        "fails.",
    .no_model = true,
    .run = run,
};
