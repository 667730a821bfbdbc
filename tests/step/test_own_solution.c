/* Modes and derivatives are those of the solution of the step: where a contact creeps, because others contradict
 * each other by a hair (a foot that is tilted by 1e-6), it goes on creeping, and is not held against them although that
 * is within the tolerance. Its derivative would be another. */
#include "step_test.h"

#include "dynamics/work.h"
#include "step/work.h"

/* the largest residual of islands with dense matrices, of the impulses that are there now */
static double residual_of(const tg_rows *r)
{
    double worst = 0;
    for (int i = 0; i < r->nisland; i++)
    {
        if (!r->island[i].filled)
            continue;
        tg_island problem = tg_island_problem(r, &r->island[i]);
        int row = r->island[i].row;
        tg_residual now = tg_residual_of(&problem, problem.G, problem.ldg + 1, r->L + row, r->sigma + row);
        worst = fmax(worst, tg_residual_max(&now));
    }
    return worst;
}

static void test_solution_stays(void **state)
{
    (void)state;
    tg_model *m;
    tg_error error;
    if (tg_load(TANGERE_SHARED "/robots/atlas/scene.xml", NULL, &m, &error) != TG_OK)
        fail_msg("%s", error.message);
    tg_sizes n = tg_model_sizes(m);
    double *q = numbers(n.nq), *v = numbers(n.nv), *act = numbers(n.na), *u = numbers(n.nu), *J = numbers(n.nv * n.nv);
    tg_cache cache = {1024, 0, calloc(1024, sizeof(tg_cache_entry))};
    tg_state here = {q, v, act, &cache};
    tg_work *w;
    tg_info info;
    assert_int_equal(tg_work_create(m, &w, NULL), TG_OK);
    if (n.nkey > 0)
        assert_int_equal(tg_key_get(m, 0, NULL, q, v, act, u, &error), TG_OK);
    else
        assert_int_equal(tg_default_q(m, q, &error), TG_OK);
    for (int i = 0; i < 180; i++)
    {
        assert_int_equal(tg_step(m, w, NULL, &here, &(tg_control){.u = u}, &here, &info), TG_OK);
        assert_int_equal(tg_step_jacobian(m, w, &(tg_jacobian){.dv_dq = J}), TG_OK);
        check_below("how much worse the law holds", residual_of(w->rows), 2e-12 + info.residual);
    }
    double *owned[] = {q, v, act, u, J};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    free(cache.entry);
    tg_work_destroy(w);
    tg_model_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_solution_stays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
