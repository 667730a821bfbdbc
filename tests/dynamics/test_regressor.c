/* The regressor: linear in the inertial parameters, zero where it must be, and the derivative of RNEA by them. */
#include "dynamics_test.h"
#include "support/reference.h"

enum
{
    BASE = 10 /* numbers a body: m, m c, I about the origin of the body frame (xx yy zz xy xz yz) */
};

static const int row_of[6] = {0, 1, 2, 0, 0, 1}, column_of[6] = {0, 1, 2, 1, 2, 2};

/* m (c.c 1 - c c^T), as six numbers: what the shift from the centre of mass to the origin adds to the inertia */
static void shifted(double mass, const double *com, double out[6])
{
    double square = dot_n(com, com, 3);
    for (int i = 0; i < 6; i++)
        out[i] = mass * ((row_of[i] == column_of[i] ? square : 0) - com[row_of[i]] * com[column_of[i]]);
}

static void base_parameters(const reference *r, int nbody, double *pi)
{
    for (int i = 0; i < nbody; i++)
    {
        double mass = *reference_param(r, TG_BODY, i, "mass"), add[6];
        const double *com = reference_param(r, TG_BODY, i, "com");
        const double *inertia = reference_param(r, TG_BODY, i, "inertia");
        shifted(mass, com, add);
        pi[BASE * i] = mass;
        for (int k = 0; k < 3; k++)
            pi[BASE * i + 1 + k] = mass * com[k];
        for (int k = 0; k < 6; k++)
            pi[BASE * i + 4 + k] = inertia[k] + add[k];
    }
}

static double *regressor(dynamics_case *c)
{
    size_t n = (size_t)c->size.nv * BASE * (size_t)c->size.nbody;
    double *Y = numbers(n);
    memset(Y, 0xff, sizeof(double) * n);
    check_ok(c, tg_rnea_regressor(c->m, c->w, c->q, c->v, c->a, Y));
    return Y;
}

static double linear(dynamics_case *c)
{
    static const int dofs[TG_JOINT_TYPE_COUNT] = {6, 3, 1, 1};
    int columns = BASE * c->size.nbody;
    size_t nv = (size_t)c->size.nv;
    reference *r = reference_create(c->m, tg_params_view(c->params));
    double *pi = numbers((size_t)columns), *Y = regressor(c), *sum = numbers(nv), *tau = numbers(nv);
    base_parameters(r, c->size.nbody, pi);
    multiply_matrix(Y, pi, c->size.nv, columns, sum);
    for (int j = 0; j < c->size.njoint; j++)
    {
        tg_joint_info info;
        assert_int_equal(tg_joint_get(c->m, j, &info, NULL), TG_OK);
        for (int k = info.dof; k < info.dof + dofs[info.type]; k++)
            sum[k] += *reference_param(r, TG_JOINT, j, "armature") * c->a[k];
    }
    check_ok(c, tg_rnea(c->m, c->w, c->q, c->v, c->a, tau));
    double error = distance(sum, tau, nv) / largest(tau, nv);
    reference_destroy(r);
    free(pi);
    free(Y);
    free(sum);
    free(tau);
    return error;
}

static void test_linear_in_the_parameters(void **state)
{
    (void)state;
    check_models(20, false, 1e-13, linear);
}

/* A body has columns only in the rows of the dofs that move it; the world and what is fixed to it have none. */
static double structure(dynamics_case *c)
{
    size_t columns = BASE * (size_t)c->size.nbody;
    double *Y = regressor(c), *J = numbers(6 * (size_t)c->size.nv), wrong = 0;
    check_ok(c, tg_kinematics(c->m, c->w, c->q, NULL));
    for (int i = 0; i < c->size.nbody; i++)
    {
        tg_body_info info;
        assert_int_equal(tg_body_get(c->m, i, &info, NULL), TG_OK);
        check_ok(c, tg_body_jacobian(c->m, c->w, i, NULL, TG_FRAME_ALIGNED, J));
        double seen = 0;
        for (int k = 0; k < c->size.nv; k++)
        {
            double twist = 0, entry = largest(Y + (size_t)k * columns + BASE * (size_t)i, BASE);
            for (int a = 0; a < 6; a++)
                twist = fmax(twist, fabs(J[a * c->size.nv + k]));
            if (twist == 0)
                wrong = worse(wrong, entry);
            seen = worse(seen, entry);
        }
        if ((info.tree < 0) != (seen == 0))
            wrong = INFINITY;
    }
    free(Y);
    free(J);
    return wrong;
}

static void test_structure(void **state)
{
    (void)state;
    check_models(5, false, 0, structure);
}

/* dtau/dmass, dtau/dcom, dtau/dinertia of RNEA from the regressor by the chain rule of base_parameters */
static double chain_rule(dynamics_case *c)
{
    int nbody = c->size.nbody, nv = c->size.nv, columns = BASE * nbody;
    reference *r = reference_create(c->m, tg_params_view(c->params));
    double *Y = regressor(c), *D = numbers((size_t)nv * BASE), worst = 0;
    for (int i = 0; i < nbody; i++)
    {
        double mass = *reference_param(r, TG_BODY, i, "mass"), dm[6];
        const double *com = reference_param(r, TG_BODY, i, "com");
        int index[BASE], at[3] = {0};
        static const char *const field[3] = {"mass", "com", "inertia"};
        for (int f = 0; f < 3; f++)
        {
            char name[60];
            snprintf(name, sizeof name, "body.#%d.%s", i, field[f]);
            assert_int_equal(tg_param_find(c->m, name, &at[f], NULL, NULL), TG_OK);
        }
        for (int k = 0; k < BASE; k++)
            index[k] = k == 0 ? at[0] : k < 4 ? at[1] + k - 1 : at[2] + k - 4;
        check_ok(c, tg_rnea_param_derivatives(c->m, c->w, c->q, c->v, c->a, index, BASE, D));
        double scale = fmax(1, largest(D, (size_t)nv * BASE));
        shifted(1, com, dm);
        for (int row = 0; row < nv; row++)
        {
            const double *y = Y + (size_t)row * (size_t)columns + (size_t)(BASE * i);
            double by_mass = y[0] + dot_n(y + 1, com, 3) + dot_n(y + 4, dm, 6);
            worst = worse(worst, fabs(D[row * BASE] - by_mass) / scale);
            for (int k = 0; k < 3; k++)
            {
                double by_com = mass * y[1 + k];
                for (int e = 0; e < 6; e++) /* d/dc_k of c.c 1 - c c^T */
                    by_com += mass * y[4 + e] *
                              ((row_of[e] == column_of[e] ? 2 * com[k] : 0) - (row_of[e] == k ? com[column_of[e]] : 0) -
                               (column_of[e] == k ? com[row_of[e]] : 0));
                worst = worse(worst, fabs(D[row * BASE + 1 + k] - by_com) / scale);
            }
            worst = worse(worst, distance(D + row * BASE + 4, y + 4, 6) / scale);
        }
    }
    reference_destroy(r);
    free(Y);
    free(D);
    return worst;
}

static void test_derivatives_by_the_inertial_parameters(void **state)
{
    (void)state;
    check_models(5, false, 1e-12, chain_rule);
}

/* Rank of A (rows x n), which is destroyed: elimination with full pivoting. */
static int rank(double *A, int rows, int n)
{
    double first = largest(A, (size_t)rows * (size_t)n);
    for (int r = 0; r < n; r++)
    {
        int pr = -1, pc = -1;
        double most = 1e-9 * first;
        for (int i = r; i < rows; i++)
            for (int j = r; j < n; j++)
                if (fabs(A[i * n + j]) > most)
                {
                    most = fabs(A[i * n + j]);
                    pr = i;
                    pc = j;
                }
        if (pr < 0)
            return r;
        for (int j = 0; j < n; j++)
        {
            double t = A[r * n + j];
            A[r * n + j] = A[pr * n + j];
            A[pr * n + j] = t;
        }
        for (int i = 0; i < rows; i++)
        {
            double t = A[i * n + r];
            A[i * n + r] = A[i * n + pc];
            A[i * n + pc] = t;
        }
        for (int i = r + 1; i < rows; i++)
        {
            double f = A[i * n + r] / A[r * n + r];
            for (int j = r; j < n; j++)
                A[i * n + j] -= f * A[r * n + j];
        }
    }
    return n;
}

/* The columns of one body over many random states: how many numbers of it motion can tell. */
static int identifiable(int model, const char *body)
{
    enum
    {
        STATES = 30
    };
    tg_model *m = tg_test_model(model);
    dynamics_case *c = dynamics_case_create(m);
    int at = tg_find(m, TG_BODY, body), nv = c->size.nv, columns = BASE * c->size.nbody;
    double *A = numbers((size_t)(STATES * nv * BASE));
    for (unsigned s = 0; s < STATES; s++)
    {
        dynamics_case_randomise(c, s);
        double *Y = regressor(c);
        for (int k = 0; k < nv; k++)
            memcpy(A + ((int)s * nv + k) * BASE, Y + k * columns + BASE * at, BASE * sizeof(double));
        free(Y);
    }
    int found = rank(A, STATES * nv, BASE);
    free(A);
    dynamics_case_destroy(c);
    tg_model_destroy(m);
    return found;
}

static void test_rank(void **state)
{
    (void)state;
    assert_int_equal(identifiable(TG_TEST_FREE_BODIES, "stone"), 10); /* all there is */
    assert_int_equal(identifiable(TG_TEST_PENDULUM, "pole"), 3);      /* m c across the axis, I about it */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_linear_in_the_parameters),
        cmocka_unit_test(test_structure),
        cmocka_unit_test(test_derivatives_by_the_inertial_parameters),
        cmocka_unit_test(test_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
