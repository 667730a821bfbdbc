/* Loops of one robot that no dof moves together: the null space of its equalities comes group by group, and is that of
 * all of them. Two planar four-bars on a free body that tumbles, and a coupling of two further joints. */
#include "step_test.h"

#include "contact/rows.h"

enum
{
    ROWS = 7, /* of equalities: two connects and a coupling */
    DOFS = 14
};

/* crank and rocker of 0.2 m, coupler of 0.3 m, as a parallelogram: the connect has one redundant row, whatever turns */
static const char *four_bar(const char *name, double y)
{
    return text("<body name='%s1' pos='0 %g 0'><joint name='%s1'/><geom fromto='0 0 0 0 0 -0.2'/>"
                "<body name='%s2' pos='0 0 -0.2'><joint name='%s2'/><geom fromto='0 0 0 0.3 0 0'/></body></body>"
                "<body name='%s3' pos='0.3 %g 0'><joint name='%s3'/><geom fromto='0 0 0 0 0 -0.2'/></body>",
                name, y, name, name, name, name, y, name);
}

static sim *open_robot(void)
{
    char first[1024], second[1024];
    snprintf(first, sizeof first, "%s", four_bar("a", 0.2)); /* text has one buffer */
    snprintf(second, sizeof second, "%s", four_bar("b", -0.2));
    return sim_open(
        text("<mujoco><option timestep='0.001' gravity='0 0 0'/><default><geom type='capsule' size='0.02' mass='0.1' "
             "contype='0' conaffinity='0'/><joint type='hinge' axis='0 1 0'/></default><worldbody><body><freejoint/>"
             "<geom type='box' size='0.3 0.2 0.1' mass='2'/>%s%s"
             "<body pos='0 0 0.1'><joint name='c1' axis='0 0 1'/><geom fromto='0 0 0 0.2 0 0'/></body>"
             "<body pos='0.1 0 0.1'><joint name='c2' axis='0 0 1'/><geom fromto='0 0 0 0.2 0 0'/></body>"
             "</body></worldbody><equality><connect body1='a2' body2='a3' anchor='0.3 0 0'/>"
             "<connect body1='b2' body2='b3' anchor='0.3 0 0'/><joint joint1='c1' joint2='c2'/></equality></mujoco>",
             first, second));
}

/* entry of J (or of Y) of a row of the island, whose only tree has a column for every row */
static double entry(const sim *s, const double *J, int row, int dof)
{
    const tg_rows *r = s->w->rows;
    return J[r->tree_start[0] + (size_t)dof * (size_t)v4_pad(r->tree_columns[0]) + (size_t)row];
}

static double Z_of(const tg_rows *r, int i, int c)
{
    return r->Z[r->island[0].Z + (size_t)(i * r->island[0].redundant + c)];
}

/* orthonormal columns that J^T takes to zero, one of each loop, and zero in the rows of the other one */
static void check_null_space(const sim *s, int loops)
{
    const tg_rows *r = s->w->rows;
    const tg_rows_island *island = &r->island[0];
    assert_int_equal(r->nisland, 1);
    assert_int_equal(island->rows, ROWS);
    assert_int_equal(island->redundant, 2);
    assert_int_equal(island->loops, loops);
    for (int c = 0; c < 2; c++)
    {
        double products[2] = {0, 0};
        for (int i = 0; i < island->loops; i++)
        {
            int row = r->loop_row[island->loop + i];
            assert_true((row / 3 == c) || Z_of(r, i, c) == 0);
            for (int d = 0; d < 2; d++)
                products[d] += Z_of(r, i, c) * Z_of(r, i, d);
        }
        check_near("Z^T Z", products[c], 1, 1e-14);
        check_near("Z^T Z beside the diagonal", products[1 - c], 0, 1e-14);
        for (int k = 0; k < DOFS; k++)
        {
            double sum = 0;
            for (int i = 0; i < island->loops; i++)
                sum += Z_of(r, i, c) * entry(s, r->J, r->loop_row[island->loop + i], k);
            check_near("J^T Z", sum, 0, 1e-12);
        }
    }
}

/* G = (P Y^T) (P Y^T)^T, and its diagonal */
static void check_matrix(const sim *s)
{
    const tg_rows *r = s->w->rows;
    const tg_rows_island *island = &r->island[0];
    double Y[ROWS][DOFS];
    assert_true(island->filled);
    for (int k = 0; k < DOFS; k++)
    {
        double along[2] = {0, 0};
        for (int i = 0; i < ROWS; i++)
            Y[i][k] = entry(s, r->Y, i, k);
        for (int i = 0; i < island->loops; i++)
            for (int c = 0; c < 2; c++)
                along[c] += Z_of(r, i, c) * Y[r->loop_row[island->loop + i]][k];
        for (int i = 0; i < island->loops; i++)
            for (int c = 0; c < 2; c++)
                Y[r->loop_row[island->loop + i]][k] -= Z_of(r, i, c) * along[c];
    }
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < ROWS; j++)
        {
            double sum = 0;
            for (int k = 0; k < DOFS; k++)
                sum += Y[i][k] * Y[j][k];
            check_near("P G P", r->G[island->G + (size_t)(i * v4_pad(ROWS) + j)], sum, 1e-9);
            if (i == j)
                check_near("its diagonal", r->diagonal[i], sum, 1e-9);
        }
}

static void test_groups(void **state)
{
    (void)state;
    sim *s = open_robot();
    for (int k = 0; k < s->n.nv; k++)
        s->v[k] = k < 6 ? cos(1 + k) : 0;
    assert_int_equal(s->n.nv, DOFS);
    for (int i = 0; i < 200; i++)
    {
        s->tau[6] = 0.01 * sin(0.1 * i);
        s->tau[9] = -0.02 * cos(0.1 * i);
        s->tau[12] = 0.01;
        sim_step(s);
        /* At first axes are those of the world: of a loop one row alone is zero. Later all of its rows take part, and
         * never the coupling. */
        check_null_space(s, i == 0 ? 2 : ROWS - 1);
        check_matrix(s);
    }
    check_near("coupling", s->q[sim_q(s, "c1")] - s->q[sim_q(s, "c2")], 0, 1e-9);
    check_near("parallelogram", s->q[sim_q(s, "a1")] - s->q[sim_q(s, "a3")], 0, 1e-4);
    assert_true(fabs(s->q[sim_q(s, "a1")]) > 1e-3 && fabs(s->q[sim_q(s, "c1")]) > 1e-3);
    sim_close(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
