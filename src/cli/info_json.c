/* tangere info --json. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"

static void write_sizes(tg_cli_json *json, const tg_model *m)
{
    tg_sizes n = tg_model_sizes(m);
    const struct
    {
        const char *name;
        int value;
    } rows[] = {
        {"nq", n.nq},           {"nv", n.nv},
        {"nu", n.nu},           {"na", n.na},
        {"nbody", n.nbody},     {"njoint", n.njoint},
        {"ngeom", n.ngeom},     {"nsite", n.nsite},
        {"ntendon", n.ntendon}, {"nequality", n.nequality},
        {"npair", n.npair},     {"nexclude", n.nexclude},
        {"nkey", n.nkey},       {"nmesh", n.nmesh},
        {"nhfield", n.nhfield}, {"ntree", n.ntree},
        {"nparams", n.nparams}, {"ncandidate", n.ncandidate},
    };
    tg_cli_json_open(json, "sizes", '{');
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        tg_cli_json_integer(json, rows[i].name, rows[i].value);
    tg_cli_json_close(json, '}');
}

static void write_field(tg_cli_json *json, const tg_model *m, tg_element element, int index, const char *field)
{
    int size = 0;
    const double *values = tg_cli_field(m, element, index, field, &size);
    if (values != NULL)
        tg_cli_json_numbers(json, field, values, size, true);
}

/* ---- elements ---- */

static void write_joint(tg_cli_json *json, const tg_model *m, int joint)
{
    tg_joint_info info;
    if (tg_joint_get(m, joint, &info, NULL) != TG_OK)
        return;
    tg_cli_json_open(json, NULL, '{');
    tg_cli_json_text(json, "name", tg_name(m, TG_JOINT, joint));
    tg_cli_json_text(json, "type", tg_cli_joint_type(info.type));
    tg_cli_json_integer(json, "q", info.q);
    tg_cli_json_integer(json, "v", info.dof);
    tg_cli_json_flag(json, "limited", info.limited);
    if (info.limited)
        write_field(json, m, TG_JOINT, joint, "range");
    tg_cli_json_close(json, '}');
}

static void write_bodies(tg_cli_json *json, const tg_model *m)
{
    tg_cli_json_open(json, "bodies", '[');
    for (int body = 0; body < tg_model_sizes(m).nbody; body++)
    {
        tg_body_info info;
        if (tg_body_get(m, body, &info, NULL) != TG_OK)
            continue;
        tg_cli_json_open(json, NULL, '{');
        tg_cli_json_text(json, "name", tg_name(m, TG_BODY, body));
        tg_cli_json_integer(json, "parent", info.parent);
        tg_cli_json_integer(json, "tree", info.tree);
        write_field(json, m, TG_BODY, body, "mass");
        tg_cli_json_integer(json, "geoms", info.ngeom);
        tg_cli_json_open(json, "joints", '[');
        for (int j = info.joint; j < info.joint + info.njoint; j++)
            write_joint(json, m, j);
        tg_cli_json_close(json, ']');
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, ']');
}

static void write_actuators(tg_cli_json *json, const tg_model *m)
{
    tg_cli_json_open(json, "actuators", '[');
    for (int i = 0; i < tg_model_sizes(m).nu; i++)
    {
        tg_actuator_info info;
        if (tg_actuator_get(m, i, &info, NULL) != TG_OK)
            continue;
        tg_cli_json_open(json, NULL, '{');
        tg_cli_json_text(json, "name", tg_name(m, TG_ACTUATOR, i));
        tg_cli_json_text(json, "transmission", tg_cli_transmission(info.transmission));
        tg_cli_json_integer(json, "target", info.target);
        tg_cli_json_text(json, "dynamics", tg_cli_dynamics(info.dynamics));
        tg_cli_json_integer(json, "act", info.act);
        if (info.ctrl_limited)
            write_field(json, m, TG_ACTUATOR, i, "ctrl_range");
        if (info.force_limited)
            write_field(json, m, TG_ACTUATOR, i, "force_range");
        if (info.act_limited)
            write_field(json, m, TG_ACTUATOR, i, "act_range");
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, ']');
}

static void write_keys(tg_cli_json *json, const tg_model *m)
{
    tg_sizes n = tg_model_sizes(m);
    double *q = tg_cli_alloc((size_t)n.nq + (size_t)n.nv, sizeof *q), *v = q + n.nq, time = 0;
    tg_cli_json_open(json, "keyframes", '[');
    for (int i = 0; i < n.nkey; i++)
    {
        if (tg_key_get(m, i, &time, q, v, NULL, NULL, NULL) != TG_OK)
            continue;
        tg_cli_json_open(json, NULL, '{');
        tg_cli_json_text(json, "name", tg_name(m, TG_KEY, i));
        tg_cli_json_number(json, "time", time);
        tg_cli_json_numbers(json, "q", q, n.nq, false);
        tg_cli_json_numbers(json, "v", v, n.nv, false);
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, ']');
    free(q);
}

/* ---- parameters: for each field, how many elements have it and how many numbers that makes ---- */

static void write_parameters(tg_cli_json *json, const tg_model *m)
{
    int nslice = tg_param_slice_count(m), i = 0;
    tg_param_slice field, next;
    tg_cli_json_open(json, "parameters", '[');
    while (i < nslice && tg_param_slice_get(m, i, &field, NULL) == TG_OK)
    {
        int elements = 0, numbers = 0;
        for (; i < nslice && tg_param_slice_get(m, i, &next, NULL) == TG_OK; i++, elements++, numbers += next.size)
            if (next.element != field.element || strcmp(next.field, field.field) != 0)
                break;
        tg_cli_json_open(json, NULL, '{');
        tg_cli_json_text(json, "element",
                         field.element == TG_ELEMENT_COUNT ? "model" : tg_element_string(field.element));
        tg_cli_json_text(json, "field", field.field);
        tg_cli_json_integer(json, "offset", field.offset);
        tg_cli_json_integer(json, "elements", elements);
        tg_cli_json_integer(json, "numbers", numbers);
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, ']');
}

static void write_report(tg_cli_json *json, const tg_model *m)
{
    tg_cli_json_open(json, "report", '[');
    for (int i = 0; i < tg_report_count(m); i++)
    {
        tg_report_entry e;
        if (tg_report_get(m, i, &e, NULL) != TG_OK)
            continue;
        tg_cli_json_open(json, NULL, '{');
        tg_cli_json_text(json, "kind", tg_cli_report_kind(e.kind));
        tg_cli_json_text(json, "file", e.file);
        tg_cli_json_integer(json, "line", e.line);
        tg_cli_json_text(json, "element", e.element);
        tg_cli_json_text(json, "attribute", e.attribute);
        tg_cli_json_text(json, "note", e.note);
        tg_cli_json_close(json, '}');
    }
    tg_cli_json_close(json, ']');
}

void tg_cli_info_json(FILE *file, const tg_cli_model *model)
{
    const tg_model *m = model->m;
    tg_cli_json json = {.file = file};
    tg_cli_json_open(&json, NULL, '{');
    tg_cli_json_text(&json, "name", tg_model_name(m));
    tg_cli_json_text(&json, "file", model->path);
    write_sizes(&json, m);
    tg_cli_json_number(&json, "mass", tg_model_mass(m));
    tg_cli_json_number(&json, "timestep", tg_model_timestep(m));
    write_field(&json, m, TG_ELEMENT_COUNT, 0, "gravity");
    write_bodies(&json, m);
    write_actuators(&json, m);
    write_keys(&json, m);
    write_parameters(&json, m);
    write_report(&json, m);
    tg_cli_json_close(&json, '}');
}
