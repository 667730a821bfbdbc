/* Derivatives against differences. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "check/judge.h"

/* ---- names ---- */

typedef struct label
{
    char text[256];
} label;

/* "#3" for one without a name */
static label element_name(const tg_model *m, tg_element element, int index)
{
    label l;
    const char *name = tg_name(m, element, index);
    if (name != NULL && name[0] != '\0')
        snprintf(l.text, sizeof l.text, "%s", name);
    else
        snprintf(l.text, sizeof l.text, "#%d", index);
    return l;
}

static void name_entry(const tg_judge *c, int group, int i, char *name, size_t size)
{
    snprintf(name, size, "%d", i);
    if (group >= GROUP_PARAMS)
        tg_param_name(c->m, i, false, name, size, NULL);
    else if (group == GROUP_U)
        snprintf(name, size, "%s", element_name(c->m, TG_ACTUATOR, i).text);
    else if (group == GROUP_WRENCH)
        snprintf(name, size, "%.200s[%d]", element_name(c->m, TG_BODY, i / 6).text, i % 6);
    else if (group == GROUP_DT)
        snprintf(name, size, "dt");
    bool by_joint = group == GROUP_Q || group == GROUP_V || group == GROUP_TAU;
    for (int j = 0; by_joint && j < c->n.njoint; j++)
    {
        tg_joint_info joint;
        if (tg_joint_get(c->m, j, &joint, NULL) == TG_OK && joint.dof <= i)
            snprintf(name, size, "%.200s[%d]", element_name(c->m, TG_JOINT, j).text, i - joint.dof);
    }
}

/* ---- numbers and groups ---- */

/* |F|, 0 if it is not of the group or could not be taken */
static double size_in(const tg_judge *c, int group, int i)
{
    double F = tg_judge_numbers(&c->differences, group)[i];
    return (group < GROUP_PARAMS || c->kind[i] == group) && isfinite(F) ? fabs(F) : 0;
}

/* One number of a group, added to `to`; its error if it was judged. A judge must be finer than what is judged: where
 * differences are apart by more than a tenth of the tolerance, and derivatives are not within it, they are counted, not
 * judged. So are those by a parameter whose own label is not exact. */
static double compare_number(const tg_judge *c, int group, int i, double scale, tg_check_group *to)
{
    double J = tg_judge_numbers(&c->exact, group)[i], F = tg_judge_numbers(&c->differences, group)[i];
    double spread = tg_judge_numbers(&c->spread, group)[i] / scale, error = fabs(J - F) / scale;
    if (group >= GROUP_PARAMS && c->kind[i] != group)
        return 0;
    bool taken = isfinite(F), good = error <= TG_CHECK_TOLERANCE;
    bool one_sided = group >= GROUP_PARAMS && c->label.kind == TG_LABEL_EXACT && c->own[i] != TG_LABEL_EXACT;
    bool judged = taken && (good || !(one_sided || spread > 0.1 * TG_CHECK_TOLERANCE));
    to->skipped += !taken;
    to->unresolved += taken && !judged;
    to->compared += judged;
    to->largest = fmax(to->largest, size_in(c, group, i));
    if (judged && !(error <= to->error))
    {
        to->error = error;
        to->derivative = J;
        to->differences = F;
        to->state = c->r->states;
        to->params = c->walk.set;
        to->condition = c->label.condition;
        name_entry(c, group, i, to->entry, sizeof to->entry);
    }
    return judged ? error : 0;
}

/* One group at one state, added to `to`: the largest error. */
static double compare_group(const tg_judge *c, int group, tg_check_group *to)
{
    bool params = group >= GROUP_PARAMS;
    int count = params ? c->nindex : tg_judge_count(&c->n, group);
    const double *wanted = params ? NULL : tg_judge_numbers(&c->wanted, group);
    double scale = 1, worst = 0;
    for (int k = 0; k < count; k++)
        if (params || wanted[k] != 0)
            scale = fmax(scale, size_in(c, group, params ? c->index[k] : k));
    for (int k = 0; k < count; k++)
        if (params || wanted[k] != 0)
            worst = fmax(worst, compare_number(c, group, params ? c->index[k] : k, scale, to));
    return worst;
}

static tg_status difference(tg_judge *c, const tg_cotangent *out, tg_differences_count *count)
{
    tg_walk *walk = &c->walk;
    tg_state start = {walk->q_before, walk->v_before, walk->act_before, &walk->cache_before};
    tg_control control = {.u = walk->u, .tau = walk->tau, .wrench = walk->wrench};
    tg_differences_request request = {.params = walk->params[walk->set],
                                      .options = &walk->options,
                                      .state = &start,
                                      .control = &control,
                                      .index = c->index,
                                      .nindex = c->nindex,
                                      .chosen = &c->wanted,
                                      .spread = &c->spread,
                                      .judged = &c->exact,
                                      .label = c->label.kind,
                                      .own = c->own};
    return tg_step_differences(c->m, c->d, &request, out, &c->differences, count);
}

/* ---- what a state adds ---- */

static void add_group(const tg_check_group *from, tg_check_group *to)
{
    tg_check_group sum = !(from->error <= to->error) ? *from : *to; /* not finite: the worst */
    memcpy(sum.name, to->name, sizeof sum.name);
    sum.compared = to->compared + from->compared;
    sum.skipped = to->skipped + from->skipped;
    sum.unresolved = to->unresolved + from->unresolved;
    sum.largest = fmax(to->largest, from->largest);
    *to = sum;
}

static void add_state(tg_judge *c, const tg_differences_count *count)
{
    tg_check_result *r = c->r;
    for (int group = 0; group < r->ngroup; group++)
        add_group(&c->aside[group], &r->group[group]);
    r->refined += count->refined;
    r->switched += count->switched;
    r->tied += count->tied;
    r->outside += count->outside;
    r->kinked += count->kinked;
}

/* Differences do not agree, and the label has said so. */
static void leave_out(tg_judge *c)
{
    c->r->left_out[c->label.kind]++;
    for (int group = 0; group < c->r->ngroup; group++)
        c->r->beside += c->aside[group].compared + c->aside[group].skipped + c->aside[group].unresolved;
}

/* of the parameters that are differenced */
static tg_status own_labels(tg_judge *c)
{
    tg_label_kind kind[TG_JUDGE_A_KIND * TG_CHECK_GROUPS];
    tg_status status = tg_step_param_labels(c->m, c->walk.w, c->index, c->nindex, kind);
    for (int k = 0; k < c->nindex && status == TG_OK; k++)
        c->own[c->index[k]] = kind[k];
    return status;
}

/* A state whose derivative is not exact counts like any other where differences agree, and is skipped where they do
 * not, or where the step is not solved: then they mean nothing. */
tg_status tg_judge_compare(tg_judge *c, const tg_cotangent *out)
{
    bool exact = c->label.kind == TG_LABEL_EXACT;
    tg_differences_count count;
    if (!exact && c->label.residual > c->walk.options.tolerance)
    {
        c->r->unsolved++;
        return TG_OK;
    }
    TG_TRY(own_labels(c));
    tg_status status = difference(c, out, &count);
    if (status != TG_OK)
        return status;
    double worst = 0;
    memset(c->aside, 0, sizeof c->aside);
    for (int group = 0; group < c->r->ngroup; group++)
        worst = fmax(worst, compare_group(c, group, &c->aside[group]));
    if (exact || worst <= TG_CHECK_TOLERANCE)
        add_state(c, &count);
    else
        leave_out(c);
    return TG_OK;
}
