/* What a check has found, summed up. */
#include "check/judge.h"

int tg_judge_rare(const tg_check_result *r, double share)
{
    int rare = -1;
    for (int mode = 0; mode < TG_CONTACT_MODES && r->touching; mode++)
        if ((mode != TG_CONTACT_SLIDING || r->sliding) && r->with_mode[mode] < share * r->states &&
            (rare < 0 || r->with_mode[mode] < r->with_mode[rare]))
            rare = mode;
    return rare;
}

static bool passes(const tg_check_result *r)
{
    bool good = r->compared > 0 && r->infinite == 0 && r->jvp <= TG_CHECK_AGREEMENT &&
                r->jacobian <= TG_CHECK_AGREEMENT && r->states_skipped < TG_CHECK_SHARE && r->skipped < TG_CHECK_SHARE;
    for (int i = 0; i < r->ngroup; i++)
        good = good && r->group[i].error <= TG_CHECK_TOLERANCE;
    return good;
}

void tg_judge_sum_up(tg_check_result *r)
{
    int left_out = r->left_out[TG_LABEL_ONE_SIDED] + r->left_out[TG_LABEL_REGULARISED] + r->unsolved + r->refused;
    r->states_skipped = r->states == 0 ? 0 : (double)left_out / r->states;
    for (int i = 0; i < r->ngroup; i++)
    {
        r->compared += r->group[i].compared;
        r->unresolved += r->group[i].unresolved;
    }
    double skipped = (double)(r->switched + r->kinked + r->unresolved + r->beside);
    r->skipped = skipped == 0 ? 0 : skipped / (skipped + (double)r->compared);
    r->rare = tg_judge_rare(r, 0.1);
    r->passed = passes(r);
}
