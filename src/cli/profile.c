/* tangere sim --profile: where the time of the steps went, and which contacts took most of it. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/sim.h"

enum
{
    SHOWN = 6 /* pairs of geoms that are printed */
};

/* The contacts of the costliest island of the last step. */
static void keep_contacts(tg_cli_profile *p, const tg_model *m, tg_work *w, const tg_profile *step)
{
    int count = 0;
    p->contacts = 0;
    free(p->pair);
    p->pair = NULL;
    if (tg_step_contacts(m, w, NULL, 0, &count) != TG_OK || count == 0)
        return;
    tg_step_contact *contact = tg_cli_alloc((size_t)count, sizeof *contact);
    p->pair = tg_cli_alloc((size_t)count, sizeof *p->pair);
    if (tg_step_contacts(m, w, contact, count, &count) != TG_OK)
        count = 0;
    for (int i = 0; i < count; i++)
        if (contact[i].island == step->costliest)
            p->pair[p->contacts++] = (tg_cli_geom_pair){contact[i].at.geom1, contact[i].at.geom2};
    free(contact);
}

void tg_cli_profile_add(tg_cli_profile *p, const tg_model *m, tg_work *w, const tg_profile *step, double time)
{
    for (int i = 0; i < TG_STEP_STAGES; i++)
        p->time[i] += step->time[i];
    p->steps++;
    if (step->costliest < 0 || step->costliest_time <= p->worst.costliest_time)
        return;
    p->worst = *step;
    p->when = time;
    keep_contacts(p, m, w, step);
}

void tg_cli_profile_end(tg_cli_profile *p)
{
    free(p->pair);
    *p = (tg_cli_profile){0};
}

static bool same(tg_cli_geom_pair a, tg_cli_geom_pair b)
{
    return a.geom1 == b.geom1 && a.geom2 == b.geom2;
}

/* The contacts of a pair follow each other: every pair once. */
static int unite(tg_cli_profile *p)
{
    int pairs = 0;
    for (int i = 0; i < p->contacts; i++)
        if (pairs == 0 || !same(p->pair[pairs - 1], p->pair[i]))
            p->pair[pairs++] = p->pair[i];
    return pairs;
}

/* A geom by its name, or by its number and its body's name. */
static tg_cli_label label_of(const tg_model *m, int geom)
{
    tg_cli_label label = tg_cli_label_of(m, TG_GEOM, geom);
    tg_geom_info info;
    if (label.text[0] == '#' && tg_geom_get(m, geom, &info, NULL) == TG_OK)
        snprintf(label.text, sizeof label.text, "%.200s #%d", tg_cli_label_of(m, TG_BODY, info.body).text, geom);
    return label;
}

static void print_pairs(const tg_cli_output *out, tg_cli_profile *p, const tg_model *m)
{
    int pairs = unite(p);
    for (int i = 0; i < pairs && i < SHOWN; i++)
        fprintf(out->file, "%s%s - %s", i > 0 ? ", " : ": ", label_of(m, p->pair[i].geom1).text,
                label_of(m, p->pair[i].geom2).text);
    if (pairs > SHOWN)
        fprintf(out->file, " and %d other pairs", pairs - SHOWN);
    fputc('\n', out->file);
}

void tg_cli_profile_print(const tg_cli_output *out, tg_cli_profile *p, const tg_model *m)
{
    double sum = 0;
    for (int i = 0; i < TG_STEP_STAGES; i++)
        sum += p->time[i];
    if (p->steps == 0 || sum <= 0)
        return;
    for (int i = 0; i < TG_STEP_STAGES; i++)
    {
        fprintf(out->file, "  ");
        tg_cli_column(out, TG_CLI_NAME, i == 0 ? "time" : "", 14);
        fprintf(out->file, "%-16s %9.2f us per step %5.1f %%\n", tg_step_stage_string((tg_step_stage)i),
                1e6 * p->time[i] / p->steps, 100 * p->time[i] / sum);
    }
    if (p->worst.costliest_time <= 0)
        return;
    fprintf(out->file, "  ");
    tg_cli_column(out, TG_CLI_NAME, "costliest", 14);
    fprintf(out->file, "island at %g s: %.3g ms, %d rows, %d factorisations, %d contacts", p->when,
            1e3 * p->worst.costliest_time, p->worst.rows, p->worst.factorisations, p->contacts);
    print_pairs(out, p, m);
}

void tg_cli_profile_write(tg_cli_json *json, tg_cli_profile *p, const tg_model *m)
{
    tg_cli_json_open(json, "profile", '{');
    for (int i = 0; i < TG_STEP_STAGES; i++)
        tg_cli_json_number(json, tg_step_stage_string((tg_step_stage)i), p->time[i]);
    if (p->worst.costliest_time > 0)
    {
        tg_cli_json_open(json, "costliest", '{');
        tg_cli_json_number(json, "time", p->when);
        tg_cli_json_number(json, "seconds", p->worst.costliest_time);
        tg_cli_json_integer(json, "rows", p->worst.rows);
        tg_cli_json_integer(json, "factorisations", p->worst.factorisations);
        tg_cli_json_integer(json, "contacts", p->contacts);
        tg_cli_json_open(json, "pairs", '[');
        for (int i = 0, pairs = unite(p); i < pairs; i++)
        {
            char text[600];
            snprintf(text, sizeof text, "%s - %s", label_of(m, p->pair[i].geom1).text,
                     label_of(m, p->pair[i].geom2).text);
            tg_cli_json_text(json, NULL, text);
        }
        tg_cli_json_close(json, ']');
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, '}');
}
