/* Balance a pendulum upside down: linearise a step, solve the Riccati equation, close the loop.
 *
 * The same in Python: 10_balance.py. Build it against an installed library with
 *     cc 10_balance.c $(pkg-config --cflags --libs tangere) -lm */
#include <math.h>
#include <string.h>

#include "example.h"

enum
{
    ITERATIONS = 5000,
    STEPS = 2000
};

/* P = Q + A' P A - A' P B (R + B' P B)^-1 B' P A by iteration, with Q and R one; K: the gains. */
static void riccati(double A[2][2], const double B[2], double K[2])
{
    double P[2][2] = {{1, 0}, {0, 1}};
    for (int k = 0; k < ITERATIONS; k++)
    {
        double PA[2][2], PB[2], APB[2], next[2][2], scale = 1;
        for (int i = 0; i < 2; i++)
        {
            PB[i] = P[i][0] * B[0] + P[i][1] * B[1];
            for (int j = 0; j < 2; j++)
                PA[i][j] = P[i][0] * A[0][j] + P[i][1] * A[1][j];
        }
        scale += B[0] * PB[0] + B[1] * PB[1];
        for (int j = 0; j < 2; j++)
        {
            APB[j] = A[0][j] * PB[0] + A[1][j] * PB[1];
            K[j] = APB[j] / scale;
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                next[i][j] = (i == j) + A[0][i] * PA[0][j] + A[1][i] * PA[1][j] - APB[i] * K[j];
        memcpy(P, next, sizeof P);
    }
}

int main(void)
{
    const double upright = acos(-1.0);
    tg_model *m = load("models/pendulum.xml");
    tg_work *w = workspace(m);
    double q = upright, v = 0, u = 0, A[2][2], B[2], K[2] = {0, 0};
    tg_state state = {.q = &q, .v = &v};
    tg_control control = {.u = &u};

    /* A, B of one step about the upright state, where no torque is needed */
    tg_jacobian J = {
        .dq_dq = &A[0][0], .dq_dv = &A[0][1], .dv_dq = &A[1][0], .dv_dv = &A[1][1], .dq_du = &B[0], .dv_du = &B[1]};
    check(tg_step(m, w, NULL, &state, &control, &state, NULL), tg_work_message(w));
    check(tg_step_jacobian(m, w, &J), tg_work_message(w));
    riccati(A, B, K);
    printf("gains: %.3f %.3f\n", K[0], K[1]);

    /* from 0.15 rad off, with the torque of the motor bounded by its range */
    q = upright + 0.15;
    v = 0;
    for (int i = 0; i < STEPS; i++)
    {
        u = -K[0] * (q - upright) - K[1] * v;
        check(tg_step(m, w, NULL, &state, &control, &state, NULL), tg_work_message(w));
    }
    printf("after %.0f s: %.1e rad off\n", STEPS * tg_model_timestep(m), fabs(q - upright));
    printf("it stands: %s\n", fabs(q - upright) < 1e-3 ? "True" : "False");

    tg_work_destroy(w);
    tg_model_destroy(m);
    return 0;
}
