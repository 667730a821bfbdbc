/* Billiards: where must the cue ball start, and how fast, for the last ball of the rack to be at the goal after 1,023
 * steps?
 *
 * Plain gradient descent with the derivative of the step, and with that of the motion (options.toi). The same in
 * Python, with DiffTaichi's step and a picture: 11_billiards.py. */
#include <math.h>
#include <string.h>

#include "example.h"

enum
{
    BALLS = 11,
    STEPS = 1023,
    ITERATIONS = 200,
    N = 2 * BALLS
};

static const double radius = 0.03, goal[2] = {0.9, 0.75};

static tg_cartesian *table(void)
{
    tg_cartesian_body body[BALLS];
    tg_cartesian_contact contact[BALLS * (BALLS - 1) / 2];
    double mu = 0, e = 0.8;
    int count = 0;
    for (int i = 0; i < BALLS; i++)
    {
        body[i] = (tg_cartesian_body){.points = 1, .mass = 1};
        for (int j = i + 1; j < BALLS; j++)
            contact[count++] =
                (tg_cartesian_contact){.kind = TG_CARTESIAN_PAIR, .i = i, .j = j, .radius = radius, .other = radius};
    }
    tg_cartesian_def def = {.name = "billiards",
                            .dim = 2,
                            .bodies = BALLS,
                            .contacts = count,
                            .types = 1,
                            .body = body,
                            .contact = contact,
                            .mu = &mu,
                            .e = &e};
    tg_cartesian *c = NULL;
    tg_error error;
    check(tg_cartesian_create(&def, NULL, &c, &error), error.message);
    return c;
}

static void rack(const double cue[4], double x[N], double v[N])
{
    int ball = 1;
    memset(v, 0, sizeof *v * N);
    memcpy(x, cue, sizeof *x * 2);
    memcpy(v, cue + 2, sizeof *v * 2);
    for (int i = 0; i < 4; i++)
        for (int j = 0; j <= i; j++, ball++)
        {
            x[2 * ball] = 0.5 + 2 * radius * i;
            x[2 * ball + 1] = 0.5 + 2 * radius * j - 0.7 * radius * i;
        }
}

static double best_loss(const tg_cartesian *c, int toi, double *first)
{
    double *states = array((STEPS + 1) * 2 * N), *bar = array((STEPS + 1) * 2 * N), params[64];
    double cue[4] = {0.1, 0.5, 0.3, 0}, x[N], v[N], gx[N], gv[N], best = INFINITY;
    tg_cartesian_options options = tg_cartesian_default_options();
    tg_cartesian_work *w = NULL;
    tg_error error;
    options.dt = 0.003;
    options.integrator = TG_CARTESIAN_EULER;
    options.toi = toi;
    options.threads = 1;
    check(tg_cartesian_work_create(c, &options, &w, &error), error.message);
    for (int k = 0; k < ITERATIONS; k++)
    {
        const double *end = states + STEPS * 2 * N + 2 * (BALLS - 1);
        double *end_bar = bar + STEPS * 2 * N + 2 * (BALLS - 1), loss = 0;
        rack(cue, x, v);
        check(tg_cartesian_rollout(w, 1, STEPS, NULL, x, v, states, NULL, NULL), tg_cartesian_message(w));
        for (int a = 0; a < 2; a++)
        {
            end_bar[a] = 2 * (end[a] - goal[a]);
            loss += (end[a] - goal[a]) * (end[a] - goal[a]);
        }
        if (k == 0)
            *first = loss;
        best = fmin(best, loss);
        check(tg_cartesian_rollout_vjp(w, 1, STEPS, NULL, states, bar, gx, gv, params), tg_cartesian_message(w));
        for (int a = 0; a < 2; a++)
        {
            cue[a] -= 0.01 * gx[a];
            cue[2 + a] -= 0.01 * gv[a];
        }
    }
    tg_cartesian_work_destroy(w);
    free(states);
    free(bar);
    return best;
}

int main(void)
{
    tg_cartesian *c = table();
    double first, naive = best_loss(c, 0, &first), toi = best_loss(c, 1, &first);
    printf("first loss %.8f, best with the derivative of the step %.2e, with the time of impact %.2e\n", first, naive,
           toi);
    printf("the time of impact leads below 1e-4: %s\n", toi < 1e-4 ? "True" : "False");
    tg_cartesian_destroy(c);
    return 0;
}
