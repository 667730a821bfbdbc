/* The kinematic tree as a drawing. */
#include <stdlib.h>

#include "cli/cli.h"

/* Pieces of the drawing: below a body that has a later sibling, below the last one, and the two branches. */
typedef struct strokes
{
    const char *pass, *empty, *branch, *last;
} strokes;

static const strokes ascii = {"|  ", "   ", "|- ", "`- "};
static const strokes boxes = {"\u2502  ", "   ", "\u251c\u2500 ", "\u2514\u2500 "};

enum
{
    MAX_INDENT = 40, /* levels that are drawn */
    MAX_WIDTH = 60   /* of what is aligned */
};

typedef struct drawing
{
    const tg_cli_output *out;
    const tg_model *m;
    const strokes *strokes;
    const int *last_child; /* of each body */
    int width;             /* of the branches with their names */
} drawing;

static int parent_of(const drawing *d, int body)
{
    tg_body_info info = {0};
    tg_body_get(d->m, body, &info, NULL);
    return info.parent;
}

static bool is_last(const drawing *d, int body)
{
    return d->last_child[parent_of(d, body)] == body;
}

static int depth_of(const drawing *d, int body)
{
    int depth = 0;
    for (int b = parent_of(d, body); b != 0 && depth < MAX_INDENT; b = parent_of(d, b))
        depth++;
    return depth;
}

/* characters of a branch with its name */
static int branch_width(const drawing *d, int body)
{
    return 3 * (depth_of(d, body) + 1) + tg_cli_width(tg_cli_label_of(d->m, TG_BODY, body).text);
}

/* Bodies are numbered depth first, so that each line follows from the path to the root. */
static void draw_indent(const drawing *d, int body)
{
    int path[MAX_INDENT], depth = 0;
    for (int b = parent_of(d, body); b != 0 && depth < MAX_INDENT; b = parent_of(d, b))
        path[depth++] = b;
    while (depth > 0)
        tg_cli_print(d->out, TG_CLI_QUIET, "%s", is_last(d, path[--depth]) ? d->strokes->empty : d->strokes->pass);
    tg_cli_print(d->out, TG_CLI_QUIET, "%s", is_last(d, body) ? d->strokes->last : d->strokes->branch);
}

static void draw_joint(const drawing *d, int joint)
{
    tg_joint_info info;
    if (tg_joint_get(d->m, joint, &info, NULL) != TG_OK)
        return;
    int ndof = info.type == TG_JOINT_FREE ? 6 : info.type == TG_JOINT_BALL ? 3 : 1;
    fprintf(d->out->file, "  ");
    tg_cli_print(d->out, TG_CLI_KIND, "%s", tg_cli_joint_type(info.type));
    fprintf(d->out->file, " %s ", tg_cli_label_of(d->m, TG_JOINT, joint).text);
    if (ndof == 1)
        tg_cli_print(d->out, TG_CLI_QUIET, "v[%d]", info.dof);
    else
        tg_cli_print(d->out, TG_CLI_QUIET, "v[%d..%d]", info.dof, info.dof + ndof - 1);
}

static void draw_body(const drawing *d, int body)
{
    tg_body_info info;
    int size;
    const double *mass = tg_cli_field(d->m, TG_BODY, body, "mass", &size);
    if (tg_body_get(d->m, body, &info, NULL) != TG_OK)
        return;
    draw_indent(d, body);
    tg_cli_print(d->out, TG_CLI_NAME, "%s", tg_cli_label_of(d->m, TG_BODY, body).text);
    int space = d->width - branch_width(d, body);
    fprintf(d->out->file, "%*s", space > 0 ? space : 0, "");
    if (mass != NULL)
        fprintf(d->out->file, "  %8.4g kg", *mass);
    if (info.njoint == 0)
        tg_cli_print(d->out, TG_CLI_QUIET, "  fixed");
    for (int j = info.joint; j < info.joint + info.njoint; j++)
        draw_joint(d, j);
    fputc('\n', d->out->file);
}

void tg_cli_draw_tree(const tg_cli_output *out, const tg_model *m)
{
    int nbody = tg_model_sizes(m).nbody;
    int *last_child = tg_cli_alloc((size_t)nbody, sizeof *last_child);
    drawing d = {out, m, out->utf8 ? &boxes : &ascii, last_child, 0};
    for (int body = 1; body < nbody; body++)
    {
        int width = branch_width(&d, body);
        last_child[parent_of(&d, body)] = body;
        d.width = width > d.width && width <= MAX_WIDTH ? width : d.width;
    }
    tg_cli_print(out, TG_CLI_NAME, "%s", tg_cli_label_of(m, TG_BODY, 0).text);
    fputc('\n', out->file);
    for (int body = 1; body < nbody; body++)
        draw_body(&d, body);
    free(last_child);
}
