/* Tables: on the terminal, as Markdown, as CSV. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"

static const double goal = 1.0, floor_ratio = 1.3;

static const char *const function_names[BENCH_FUNCTION_COUNT] = {
    [BENCH_EMPTY] = "clock",
    [BENCH_KINEMATICS_Q] = "kinematics q",
    [BENCH_KINEMATICS_QV] = "kinematics q, v",
    [BENCH_RNEA] = "RNEA",
    [BENCH_MASS_MATRIX] = "mass matrix (CRBA)",
    [BENCH_RNEA_DERIVATIVES] = "RNEA derivatives",
    [BENCH_FORWARD_DYNAMICS] = "forward dynamics",
    [BENCH_FORWARD_DYNAMICS_DERIVATIVES] = "forward dynamics derivatives",
};

static const char stage_legend[] =
    "used by: k kinematics q, kv kinematics q, v; t RNEA, T its derivatives; m mass matrix; "
    "a forward dynamics, A its derivatives";

/* The setting of Pinocchio with the smallest quiet median. */
static int best_peer(const bench_run *run, int function)
{
    int best = 1;
    for (int e = 1; e < run->nengine; e++)
        if (run->has[e][function] &&
            (!run->has[best][function] || run->times.time[e][function].quiet < run->times.time[best][function].quiet))
            best = e;
    return best;
}

static double ratio(const bench_run *run, int function)
{
    return run->times.time[0][function].quiet / run->times.time[best_peer(run, function)][function].quiet;
}

static const char *verdict(double r)
{
    return r <= goal ? "goal" : r <= floor_ratio ? "floor" : "MISSED";
}

void bench_print_run(FILE *out, const bench_run *run)
{
    fprintf(out, "\n### %s: %d dofs, %d bodies (%s)\n\n", run->robot, run->nv, run->nbody - 1, run->source);
    fprintf(out, "%-28s | %15s | %15s | %5s | %-6s | %s\n", "us: quiet (raw)", "Tangere", "Pinocchio", "ratio", "",
            "Pinocchio's setting");
    fprintf(out, "%s\n", "---------------------------- | --------------- | --------------- | ----- | ------ | ---");
    for (int f = BENCH_EMPTY + 1; f < BENCH_FUNCTION_COUNT; f++)
    {
        int peer = best_peer(run, f);
        bench_time ours = run->times.time[0][f], theirs = run->times.time[peer][f];
        fprintf(out, "%-28s | %6.2f (%6.2f) | %6.2f (%6.2f) | %5.2f | %-6s | %s\n", function_names[f], ours.quiet,
                ours.raw, theirs.quiet, theirs.raw, ratio(run, f), verdict(ratio(run, f)), run->setting[peer]);
    }
    fprintf(out, "\nResults agree to %.1e. One reading of the clock, %.3f us, is subtracted.\n", run->difference,
            run->times.clock.quiet);
    if (run->stages.n == 0)
        return;
    fprintf(out, "\nWhere Tangere's time goes (%s):\n", stage_legend);
    fprintf(out, "\n%-28s | %7s | %s\n", "stage", "us", "used by");
    fprintf(out, "---------------------------- | ------- | ---\n");
    for (int s = 0; s < run->stages.n; s++)
        fprintf(out, "%-28s | %7.3f | %s\n", run->stages.name[s], run->stages.quiet[s], run->stages.used_by[s]);
}

void bench_print_summary(FILE *out, const bench_run *runs, int nrun)
{
    fprintf(out, "\n### Ratios, Tangere / Pinocchio (goal: at most %.1f, floor: at most %.1f)\n\n", goal, floor_ratio);
    fprintf(out, "%-28s", "quiet medians");
    for (int i = 0; i < nrun; i++)
        fprintf(out, " | %9s", runs[i].robot);
    fprintf(out, "\n%s", "----------------------------");
    for (int i = 0; i < nrun; i++)
        fprintf(out, " | ---------");
    int missed = 0, reached = 0, total = 0;
    for (int f = BENCH_EMPTY + 1; f < BENCH_FUNCTION_COUNT; f++)
    {
        fprintf(out, "\n%-28s", function_names[f]);
        for (int i = 0; i < nrun; i++)
        {
            double r = ratio(&runs[i], f);
            char cell[16];
            snprintf(cell, sizeof cell, "%s%.2f", r <= goal ? "" : r <= floor_ratio ? "~" : "!", r);
            fprintf(out, " | %9s", cell);
            total++;
            reached += r <= goal;
            missed += r > floor_ratio;
        }
    }
    fprintf(out, "\n\nGoal reached: %d of %d. Above it but within the floor (~): %d. Floor missed (!): %d.\n", reached,
            total, total - reached - missed, missed);
}

/* ---- the machine ---- */

static void describe_machine(FILE *out, const bench_context *context)
{
    char model[128], family[16], number[16], date[32];
    time_t now = time(NULL);
    bench_cpu_field("model name", model, sizeof model);
    bench_cpu_field("cpu family", family, sizeof family);
    bench_cpu_field("model", number, sizeof number);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "- Date: %s. Processor: %s, family %s, model %s; the program is bound to core %d.\n", date, model,
            family, number, context->cpu);
    fprintf(out, "- Tangere %s, compiled by %s %s.\n", tg_version(),
#ifdef __clang__
            "clang", __clang_version__);
#else
            "gcc", __VERSION__);
#endif
    fprintf(out, "- Pinocchio %s, compiled here from its headers: %s, -O3 -march=native -DNDEBUG.\n",
            bench_pinocchio_version(), bench_pinocchio_build());
    fprintf(out,
            "- %d random states per robot; %d rounds of %d repetitions of the list, each round a process of its own.\n",
            context->states, context->rounds, context->repetitions);
    fprintf(out, "- quiet: each state keeps its smallest time, median over states; the best round counts. raw (in\n"
                 "  brackets): median of all times of that round.\n");
    fprintf(out, "- Of Pinocchio's settings the fastest counts, for each function by itself.\n");
}

static FILE *open_result(const char *folder, const char *name, const char *cpu, const char *extension)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s_%s.%s", folder, name, cpu, extension);
    FILE *file = fopen(path, "w");
    if (file == NULL)
        fprintf(stderr, "cannot write %s\n", path);
    else
        printf("wrote %s\n", path);
    return file;
}

static void write_csv(FILE *out, const bench_run *runs, int nrun)
{
    fprintf(out, "robot,nv,function,engine,setting,quiet_us,raw_us\n");
    for (int i = 0; i < nrun; i++)
        for (int f = BENCH_EMPTY + 1; f < BENCH_FUNCTION_COUNT; f++)
            for (int e = 0; e < runs[i].nengine; e++)
                if (runs[i].has[e][f])
                    fprintf(out, "%s,%d,\"%s\",%s,\"%s\",%.4f,%.4f\n", runs[i].robot, runs[i].nv, function_names[f],
                            e == 0 ? "Tangere" : "Pinocchio", e == 0 ? "" : runs[i].setting[e],
                            runs[i].times.time[e][f].quiet, runs[i].times.time[e][f].raw);
}

void bench_write_results(const char *folder, const char *name, const bench_context *context, const bench_run *runs,
                         int nrun)
{
    char cpu[96];
    bench_processor(cpu, sizeof cpu);
    FILE *md = open_result(folder, name, cpu, "md");
    if (md != NULL)
    {
        fprintf(md, "# Tangere beside Pinocchio: %s\n\n", name);
        describe_machine(md, context);
        bench_print_summary(md, runs, nrun);
        for (int i = 0; i < nrun; i++)
            bench_print_run(md, &runs[i]);
        fclose(md);
    }
    FILE *csv = open_result(folder, name, cpu, "csv");
    if (csv != NULL)
    {
        write_csv(csv, runs, nrun);
        fclose(csv);
    }
}
